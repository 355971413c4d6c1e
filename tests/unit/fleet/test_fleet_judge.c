/* Tests the judgement of fleets: which faults are found, how often healthy GPUs are not judged
 * healthy, and which causes are named. The fleets have the spreads of real H200s. */
#include "made_fleet.h"

#include <math.h>
#include <stdlib.h>

struct tally {
    size_t found, false_alarms; /* faulty and healthy GPUs that are suspect or failed */
    size_t failed;              /* faulty GPUs that are failed */
};

static bool is_bad(const struct fth_fleet_result *result)
{
    return result->verdict == FTH_FLEET_SUSPECT || result->verdict == FTH_FLEET_FAILED;
}

static struct tally tally_of(const struct fth_fleet_judgement *judgement, size_t faulty)
{
    struct tally tally = {0, 0, 0};
    for (size_t i = 0; i < judgement->fleet->gpu_count; i++) {
        const struct fth_fleet_result *result = &judgement->results[i];
        if (i >= faulty)
            tally.false_alarms += is_bad(result);
        else
            tally.found += is_bad(result);
        tally.failed += i < faulty && result->verdict == FTH_FLEET_FAILED;
    }
    return tally;
}

static void release(struct fth_fleet_judgement *judgement, struct fth_fleet *fleet)
{
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* 500 copies of a GPU with bandwidths that vary by 1 %, one with 20 % less memory bandwidth. */
static void test_one_of_500(void **state)
{
    (void)state;
    const struct made_plan plan = {.gpus = 500,
                                   .runs = 1,
                                   .seed = 5,
                                   .jitter = 0.01,
                                   .faulty = 1,
                                   .faults = {{"memory.read_bytes", 0.8, 0},
                                              {"memory.write_bytes", 0.8, 0},
                                              {"memory.copy_bytes", 0.8, 0}}};
    struct fth_fleet *fleet;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    const struct fth_fleet_counts counts = fth_fleet_judgement_counts(judgement);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.suspect, 0);
    assert_int_equal(counts.healthy, 499);
    assert_int_equal(counts.not_judged, 0);
    const struct fth_fleet_result *result = &judgement->results[0];
    assert_int_equal(result->verdict, FTH_FLEET_FAILED);
    assert_true(result->finding_count >= 3);
    assert_contains(result->findings[0].figure, "memory.");
    assert_near(result->findings[0].effect, -0.2, 0.012);
    assert_true(result->findings[0].worse && result->findings[0].severe);
    assert_contains(result->cause, "Only the memory bandwidth is lower");
    release(judgement, fleet);
}

/* Kinds of faults. */
static const struct {
    const char *name;
    size_t gpus, runs;
    struct made_fault faults[8];
    const char *cause; /* part of it; NULL: not tested */
    double found;      /* part of the faulty GPUs that must be found */
    bool failed;       /* each of them must be failed */
} faults[] = {
    {"bandwidth -5 %",
     500,
     1,
     {{"memory.read_bytes", 0.95, 0},
      {"memory.write_bytes", 0.95, 0},
      {"memory.copy_bytes", 0.95, 0}},
     "memory bandwidth",
     0.99,
     false},
    {"bandwidth -5 %, one figure", 1000, 1, {{"memory.read_bytes", 0.95, 0}}, NULL, 0.99, false},
    {"bandwidth -3 %, five measurements",
     500,
     5,
     {{"memory.read_bytes", 0.97, 0},
      {"memory.write_bytes", 0.97, 0},
      {"memory.copy_bytes", 0.97, 0}},
     "memory bandwidth",
     0.99,
     false},
    {"bandwidth -20 %", 200, 1, {{"memory.read_bytes", 0.8, 0}}, "memory bandwidth", 1, true},
    {"latency +5 %", 200, 1, {{"memory.latency", 1.05, 0}}, NULL, 1, false},
    {"latency +2.5 %", 500, 1, {{"memory.latency", 1.025, 0}}, NULL, 0.99, false},
    {"SMs missing",
     200,
     1,
     {{"device.sms", 130.0 / 132, 0}, {"shared.read", 130.0 / 132, 0}, {"l1.read", 130.0 / 132, 0}},
     "The GPU has 130 instead of 132 SMs.",
     1,
     true},
    {"SMs idle",
     500,
     1,
     {{"shared.", 0.95, 0},
      {"shared.latency", 1 / 0.95, 0},
      {"l1.read", 0.95, 0},
      {"texture.read", 0.95, 0}},
     "as if SMs were missing",
     1,
     false},
    {"lower clock",
     500,
     1,
     {{"shared.latency_ns", 1 / 0.945, 0},
      {"l1.latency_ns", 1 / 0.945, 0},
      {"texture.latency_ns", 1 / 0.945, 0},
      {"shared.read", 0.945, 0},
      {"shared.write", 0.945, 0},
      {"shared.copy", 0.945, 0},
      {"l1.read", 0.945, 0},
      {"texture.read", 0.945, 0}},
     "The SM clock is lower by 5.",
     1,
     false},
    {"slow partition",
     500,
     1,
     {{"l2.far_latency", 1.04, 0}, {"l2.read", 0.93, 0}},
     "One L2 partition is slower",
     1,
     false},
    {"TLB", 500, 1, {{"tlb_l2.miss", 1.3, 0}}, "Only the TLB differs", 1, false},
    {"link", 200, 1, {{"device.pcie_lanes", 0.5, 0}}, "has 8 of 16 lanes", 1, true},
    {"intermittent", 200, 5, {{"memory.read_bytes", 0.8, 1}}, "intermittent", 1, false},
    {"no bandwidth", 200, 1, {{"memory.read_bytes", 0, 0}}, "The figure is zero.", 1, true},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct tally sum = {0, 0, 0};
        size_t faulty = 0, causes = 0, gpus = 0;
        for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 4); seed++) {
            struct made_plan plan = {.gpus = faults[i].gpus,
                                     .runs = faults[i].runs,
                                     .seed = 100 * i + seed,
                                     .faulty = faults[i].gpus / 20};
            memcpy(plan.faults, faults[i].faults, sizeof plan.faults);
            struct fth_fleet *fleet;
            struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
            const struct tally tally = tally_of(judgement, plan.faulty);
            sum.found += tally.found;
            sum.failed += tally.failed;
            sum.false_alarms += tally.false_alarms;
            faulty += plan.faulty;
            gpus += plan.gpus;
            for (size_t g = 0; g < plan.faulty; g++) {
                const char *cause = judgement->results[g].cause;
                causes += cause && faults[i].cause && strstr(cause, faults[i].cause);
            }
            release(judgement, fleet);
        }
        print_message("# %s: %zu of %zu found, %zu failed, %zu with the cause, %zu false\n",
                      faults[i].name, sum.found, faulty, sum.failed, causes, sum.false_alarms);
        if ((double)sum.found < faults[i].found * (double)faulty)
            fail_msg("%s: %zu of %zu GPUs were found", faults[i].name, sum.found, faulty);
        if (faults[i].failed && sum.failed < faulty)
            fail_msg("%s: %zu of %zu GPUs are failed", faults[i].name, sum.failed, faulty);
        if (faults[i].cause && (double)causes < 0.95 * (double)sum.found)
            fail_msg("%s: the cause is named for %zu of %zu GPUs", faults[i].name, causes,
                     sum.found);
        /* At most 0.1 %, plus three standard deviations of chance. */
        const double expected = 0.001 * (double)gpus;
        if ((double)sum.false_alarms > expected + 3 * sqrt(expected))
            fail_msg("%s: %zu false alarms", faults[i].name, sum.false_alarms);
    }
}

/* Healthy fleets: as measured, with a larger spread (up to 15 %), and with heavy tails. */
static const struct {
    size_t gpus, runs;
    double scale, freedom;
    size_t repeats;
} healthy[] = {
    {4, 1, 1, 0, 200},   {7, 3, 1, 0, 100},   {20, 1, 1, 0, 60},  {200, 1, 1, 0, 10},
    {2000, 1, 1, 0, 2},  {300, 5, 1, 0, 2},   {30, 1, 4, 0, 40},  {100, 1, 10, 0, 10},
    {100, 1, 10, 3, 20}, {1000, 1, 10, 5, 2}, {1000, 1, 4, 3, 2}, {100, 5, 4, 3, 4},
};

static void test_healthy(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(healthy); i++) {
        size_t alarms = 0, gpus = 0;
        const size_t repeats = SANITIZED ? (healthy[i].repeats + 3) / 4 : healthy[i].repeats;
        for (size_t r = 0; r < repeats; r++) {
            const struct made_plan plan = {.gpus = healthy[i].gpus,
                                           .runs = healthy[i].runs,
                                           .seed = 1000 * i + r,
                                           .scale = healthy[i].scale,
                                           .freedom = healthy[i].freedom,
                                           .gpus_per_host = 8};
            struct fth_fleet *fleet;
            struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
            alarms += judgement->suspect + judgement->failed;
            gpus += plan.gpus;
            assert_int_equal(judgement->not_judged, 0);
            assert_int_equal(judgement->group_count, 0);
            release(judgement, fleet);
        }
        const double expected = 0.001 * (double)gpus;
        print_message("# row %zu: %zu false alarms of %zu GPUs\n", i, alarms, gpus);
        if ((double)alarms > expected + 3 * sqrt(expected))
            fail_msg("row %zu: %zu false alarms of %zu GPUs", i, alarms, gpus);
    }
}

/* Up to a quarter of the GPUs may be faulty. */
static void test_quarter(void **state)
{
    (void)state;
    const struct made_plan plan = {.gpus = 400,
                                   .runs = 1,
                                   .seed = 3,
                                   .faulty = 100,
                                   .faults = {{"memory.read_bytes", 0.9, 0}}};
    struct fth_fleet *fleet;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    const struct tally tally = tally_of(judgement, 100);
    assert_int_equal(tally.found, 100);
    assert_true(tally.false_alarms <= 1);
    release(judgement, fleet);
}

/* A larger part is a second kind of healthy GPUs: the tail of the distribution covers it. */
static void test_clusters(void **state)
{
    (void)state;
    for (size_t gpus = 100; gpus <= 1000; gpus += 300) {
        const struct made_plan plan = {.gpus = gpus,
                                       .runs = 1,
                                       .seed = 3,
                                       .faulty = 35 * gpus / 100,
                                       .faults = {{"memory.read_bytes", 0.92, 0}}};
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
        const struct tally tally = tally_of(judgement, plan.faulty);
        if (tally.found + tally.false_alarms > 1)
            fail_msg("%zu GPUs: %zu and %zu are suspect", gpus, tally.found, tally.false_alarms);
        release(judgement, fleet);
    }
}

/* Small cohorts: large differences are found from two GPUs on. */
static void test_small(void **state)
{
    (void)state;
    for (size_t gpus = 2; gpus <= 60; gpus++) {
        const struct made_plan plan = {.gpus = gpus,
                                       .runs = 1,
                                       .seed = gpus,
                                       .faulty = 1,
                                       .faults = {{"memory.read_bytes", 0.8, 0}}};
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
        const struct tally tally = tally_of(judgement, 1);
        if (tally.found != 1 || tally.false_alarms != 0)
            fail_msg("%zu GPUs: %zu found, %zu false", gpus, tally.found, tally.false_alarms);
        release(judgement, fleet);
    }
    const struct made_plan plan = {.gpus = 1, .runs = 3, .seed = 1};
    struct fth_fleet *fleet;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    assert_int_equal(judgement->not_judged, 1);
    assert_contains(judgement->results[0].reason, "the only GPU");
    assert_contains(judgement->cohorts[0].reason, "the only GPU");
    release(judgement, fleet);
}

/* A better value is listed, but the GPU is healthy. */
static void test_better(void **state)
{
    (void)state;
    const struct made_plan plan = {
        .gpus = 200, .runs = 1, .seed = 8, .faulty = 1, .faults = {{"memory.read_bytes", 1.2, 0}}};
    struct fth_fleet *fleet;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    assert_int_equal(judgement->results[0].verdict, FTH_FLEET_HEALTHY);
    assert_int_equal(judgement->results[0].finding_count, 1);
    assert_false(judgement->results[0].findings[0].worse);
    assert_false(judgement->results[0].findings[0].severe);
    release(judgement, fleet);
}

/* Several measurements show whether a fault is intermittent. */
static void test_deviating(void **state)
{
    (void)state;
    for (size_t runs = 1; runs <= 5; runs++) {
        const struct made_plan plan = {.gpus = 100,
                                       .runs = 5,
                                       .seed = 8,
                                       .faulty = 1,
                                       .faults = {{"memory.read_bytes", 0.8, runs}}};
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
        const struct fth_fleet_result *result = &judgement->results[0];
        assert_true(is_bad(result));
        assert_string_equal(result->findings[0].figure, "memory.read_bytes_per_s");
        assert_int_equal(result->findings[0].measurements, 5);
        assert_int_equal(result->findings[0].deviating, runs);
        assert_near(result->findings[0].effect, -0.2, 0.02);
        release(judgement, fleet);
    }
}

/* The summary of a figure: its distribution, the smallest effect that is found, and its histogram.
 */
static void test_summary(void **state)
{
    (void)state;
    const struct made_plan plan = {.gpus = 500, .runs = 3, .seed = 21};
    struct fth_fleet *fleet;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    const struct fth_fleet_figure_summary *found = NULL;
    for (size_t i = 0; i < judgement->cohorts[0].figure_count; i++)
        if (strcmp(judgement->cohorts[0].figures[i].name, "memory.read_bytes_per_s") == 0)
            found = &judgement->cohorts[0].figures[i];
    assert_non_null(found);
    assert_int_equal(judgement->cohorts[0].measurement_count, 1500);
    assert_int_equal(found->gpu_count, 500);
    assert_near(found->median, 4.6075e12, 0.002e12);
    /* sqrt(0.18² + 0.449 0.52²) % */
    assert_near(found->spread, 0.0039, 0.0005);
    assert_near(found->noise, 0.0052, 0.0005);
    assert_true(found->low < found->median && found->median < found->high);
    assert_true(found->detectable > 0.02 && found->detectable < 0.05);
    size_t sum = 0;
    for (size_t i = 0; i < found->bin_count; i++)
        sum += found->bins[i];
    assert_int_equal(sum, 500);
    assert_true(found->from < found->low && found->high < found->to);
    assert_null(found->reason);
    assert_int_equal(judgement->column_count, 30);
    for (size_t i = 0; i < 500; i++)
        for (size_t c = 0; c < judgement->column_count; c++)
            assert_true(!isnan(judgement->results[i].scores[c]));
    release(judgement, fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_500), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_healthy),    cmocka_unit_test(test_quarter),
        cmocka_unit_test(test_small),      cmocka_unit_test(test_better),
        cmocka_unit_test(test_deviating),  cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
