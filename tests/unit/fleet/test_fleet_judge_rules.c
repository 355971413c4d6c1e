/* Tests the rules of the judgement: exact figures, states, simulated GPUs, groups, and judging
 * against a reference. Tests Student's t distribution, too. */
#include "few_figures.h"
#include "made_fleet.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* One GPU of a fleet differs in one figure. */
static const struct {
    size_t gpus, runs;
    struct cell cell; /* of GPU 0 */
    enum fth_fleet_verdict verdict;
    const char *cause; /* part of it; NULL: none is expected */
} rows[] = {
    /* Values of the driver: a part that is missing is severe, more of it is not a fault. */
    {20, 1, {0, "device.sms", 130, NULL, 0, 0, 0}, FTH_FLEET_FAILED, "130 instead of 132"},
    {20, 1, {0, "device.sms", 134, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {3, 1, {0, "device.sms", 130, NULL, 0, 0, 0}, FTH_FLEET_FAILED, "130 instead of 132"},
    {2, 1, {0, "device.sms", 130, NULL, 0, 0, 0}, FTH_FLEET_FAILED, "130 instead of 132"},
    {20, 1, {0, "memory.ecc", NAN, "no", 0, 0, 0}, FTH_FLEET_SUSPECT, NULL},
    {20, 1, {0, "device.nvlinks", 17, NULL, 0, 0, 0}, FTH_FLEET_FAILED, NULL},
    /* A single measured value can be wrong by chance; two of two are not. */
    {20, 1, {0, "l1.size_bytes", 200000, NULL, 0.9993F, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 2, {0, "l1.size_bytes", 200000, NULL, 0.9993F, 0, 0}, FTH_FLEET_SUSPECT, NULL},
    {20, 2, {0, "l1.line_bytes", 64, NULL, 0.9F, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 5, {0, "l1.line_bytes", 64, NULL, 0.9F, 0, 0}, FTH_FLEET_SUSPECT, NULL},
    /* States. */
    {20, 1, {0, "device.pcie_lanes", 8, NULL, 0, 0, 0}, FTH_FLEET_FAILED, "has 8 of 16 lanes"},
    {20, 1, {0, "device.pcie_generation", 4, NULL, 0, 0, 0}, FTH_FLEET_FAILED, "lower generation"},
    {20,
     1,
     {0, "device.nvlinks_active", 17, NULL, 0, 0, 0},
     FTH_FLEET_FAILED,
     "NVLinks are inactive"},
    {20,
     1,
     {0, "device.ecc_uncorrectable_volatile", 1, NULL, 0, 0, 0},
     FTH_FLEET_FAILED,
     "since the driver was loaded: reset the GPU"},
    /* Errors of the years before, which a reset has repaired. */
    {20, 1, {0, "device.ecc_uncorrectable", 1, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 1, {0, "memory.ecc_uncorrectable", 2, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 1, {0, "memory.ecc_correctable", 20, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20,
     1,
     {0, "memory.ecc_correctable", 5000, NULL, 0, 0, 0},
     FTH_FLEET_SUSPECT,
     "far more errors"},
    {5,
     1,
     {0, "memory.ecc_correctable", 5000, NULL, 0, 0, 0},
     FTH_FLEET_SUSPECT,
     "far more errors"},
    {2,
     1,
     {0, "memory.ecc_correctable", 5000, NULL, 0, 0, 0},
     FTH_FLEET_SUSPECT,
     "far more errors"},
    {5, 3, {0, "memory.ecc_correctable", 5000, NULL, 0, 7, 0}, FTH_FLEET_SUSPECT, "far more"},
    {2, 1, {0, "memory.ecc_correctable", 20, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 1, {0, "memory.remap_failure", NAN, "yes", 0, 0, 0}, FTH_FLEET_FAILED, "not be remapped"},
    {20, 1, {0, "memory.remap_pending", NAN, "yes", 0, 0, 0}, FTH_FLEET_SUSPECT, "is reset"},
    {20, 1, {0, "device.throttling", NAN, "power cap", 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20,
     1,
     {0, "device.throttling", NAN, "idle, thermal", 0, 0, 0},
     FTH_FLEET_SUSPECT,
     "temperature"},
    {20,
     1,
     {0, "device.throttling", NAN, "power brake", 0, 0, 0},
     FTH_FLEET_SUSPECT,
     "power brake"},
    {20, 1, {0, "device.pcie_replays", 1000, NULL, 0, 0, 0}, FTH_FLEET_HEALTHY, NULL},
    {20, 1, {0, "device.pcie_replays", 1000000, NULL, 0, 0, 0}, FTH_FLEET_SUSPECT, "packets"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fleet *fleet = create();
        add_gpus(fleet, rows[i].gpus, rows[i].runs, &rows[i].cell, 1);
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        const struct fth_fleet_result *result = &judgement->results[0];
        if (result->verdict != rows[i].verdict)
            fail_msg("row %zu (%s): the verdict is %d", i, rows[i].cell.figure,
                     (int)result->verdict);
        if (result->verdict != FTH_FLEET_HEALTHY)
            assert_string_equal(result->findings[0].figure, rows[i].cell.figure);
        if (rows[i].cause)
            assert_contains(result->cause, rows[i].cause);
        if (judgement->healthy < rows[i].gpus - 1)
            fail_msg("row %zu: %zu of %zu are healthy", i, judgement->healthy, rows[i].gpus);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* Without the counter of errors since the driver was loaded, those since the GPU was made count. */
static void test_errors_without_time(void **state)
{
    (void)state;
    static const struct {
        const char *figure, *cause;
    } cases[] = {{"device.ecc_uncorrectable", "could not correct."},
                 {"memory.ecc_uncorrectable", "of the memory that it could not correct."}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct cell cell = {0, cases[i].figure, 1, NULL, 0, 0, 0};
        struct fth_fleet *fleet = create();
        add_gpus(fleet, 20, 1, &cell, 1);
        const uint32_t recent = fth_fleet_figure_find(fleet, "device.ecc_uncorrectable_volatile");
        for (size_t m = 0; m < fleet->measurement_count; m++) {
            struct fth_fleet_value *values; /* the library keeps them as constants */
            memcpy(&values, &fleet->measurements[m].values, sizeof values);
            const size_t at = (size_t)(fth_fleet_find(&fleet->measurements[m], recent) - values);
            const size_t after = --fleet->measurements[m].value_count - at;
            memmove(&values[at], &values[at + 1], after * sizeof *values);
        }
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        assert_int_equal(judgement->results[0].verdict, FTH_FLEET_FAILED);
        assert_contains(judgement->results[0].cause, cases[i].cause);
        assert_int_equal(judgement->healthy, 19);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* A value that many GPUs share is a variant. A figure without a usual value is not judged. */
static void test_variants(void **state)
{
    (void)state;
    struct cell cells[30];
    for (size_t i = 0; i < 30; i++)
        cells[i] = i < 10 ? (struct cell){i, "device.sms", 130, NULL, 0, 0, 0}
                          : (struct cell){i - 10, "memory.ecc", NAN, "no", 0, 0, 0};
    struct fth_fleet *fleet = create();
    add_gpus(fleet, 40, 1, cells, 30);
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    assert_int_equal(judgement->healthy, 40);
    fth_fleet_judgement_destroy(judgement);
    /* 20 of 40 have "no", which is half; of 39 GPUs, a value of 19 is not. */
    for (size_t i = 0; i < 15; i++)
        cells[i] = (struct cell){i, "l1.size_bytes", 1000.0 + (double)i, NULL, 0, 0, 0};
    fth_fleet_destroy(fleet);
    fleet = create();
    add_gpus(fleet, 20, 1, cells, 15);
    judgement = judge(fleet, NULL);
    const char *reason = NULL;
    for (size_t i = 0; i < judgement->cohorts[0].figure_count; i++)
        if (strcmp(judgement->cohorts[0].figures[i].name, "l1.size_bytes") == 0)
            reason = judgement->cohorts[0].figures[i].reason;
    assert_non_null(reason);
    assert_contains(reason, "half");
    assert_int_equal(judgement->healthy, 20);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* A simulated GPU among real ones is suspect. Without real ones it is judged as any other. */
static void test_simulated(void **state)
{
    (void)state;
    for (size_t real = 0; real <= 5; real += 5) {
        struct fth_fleet *fleet = create();
        add_gpus(fleet, real, 1, NULL, 0);
        const struct fth_fleet_value value = {
            .figure = fth_fleet_figure_index(fleet, "memory.read_bytes_per_s"),
            .confidence = NAN,
            .number = 4e12};
        for (size_t i = 0; i < 2; i++) {
            const struct fth_fleet_draft draft = {
                .gpu = {.model = "H200", .backend = "simulated", .simulated = true},
                .file = i ? "b.json" : "a.json",
                .values = &value,
                .value_count = 1,
            };
            assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
        }
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        assert_int_equal(judgement->suspect, real ? 2 : 0);
        assert_int_equal(judgement->healthy, real ? real : 2);
        if (real) {
            assert_string_equal(judgement->results[5].findings[0].figure, "device.backend");
            assert_string_equal(judgement->results[5].findings[0].usual_text, "cuda");
            assert_contains(judgement->results[5].cause, "simulated GPU");
        }
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* All GPUs of a host are slower, and one driver is slower than the other. */
static void test_groups(void **state)
{
    (void)state;
    const struct made_plan plan = {.gpus = 160,
                                   .runs = 1,
                                   .seed = 4,
                                   .gpus_per_host = 8,
                                   .faulty = 8,
                                   .faults = {{"memory.read_bytes", 0.96, 0}}};
    const struct made_plan newer = {.gpus = 40,
                                    .runs = 1,
                                    .seed = 9,
                                    .gpus_per_host = 8,
                                    .first = 160,
                                    .driver = "590",
                                    .faulty = 40,
                                    .faults = {{"l2.read_bytes", 0.97, 0}}};
    struct fth_fleet *fleet = create();
    made_add(fleet, &plan);
    made_add(fleet, &newer);
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    assert_int_equal(judgement->cohort_count, 2);
    size_t hosts = 0, drivers = 0;
    for (size_t i = 0; i < judgement->group_count; i++) {
        const struct fth_fleet_group_finding *group = &judgement->groups[i];
        if (strcmp(group->kind, "host") == 0) {
            hosts++;
            assert_string_equal(group->name, "node0");
            assert_string_equal(group->figure, "memory.read_bytes_per_s");
            assert_int_equal(group->gpu_count, 8);
            assert_near(group->effect, -0.04, 0.006);
        } else {
            drivers++;
            assert_string_equal(group->kind, "driver");
            assert_string_equal(group->name, "590");
            assert_string_equal(group->figure, "l2.read_bytes_per_s");
            assert_near(group->effect, -0.03, 0.003);
        }
        assert_true(group->p < 0.001);
    }
    assert_int_equal(hosts, 1);
    assert_int_equal(drivers, 1);
    for (size_t i = 0; i < 8; i++)
        if (judgement->results[i].cause)
            assert_contains(judgement->results[i].cause, "GPUs of the host differ together");
    /* GPUs of the other driver are as usual in their cohort. */
    for (size_t i = 160; i < 200; i++)
        assert_int_equal(judgement->results[i].verdict, FTH_FLEET_HEALTHY);
    fth_fleet_judgement_destroy(judgement);
    /* If drivers are mixed, the slower GPUs stand out. */
    const struct fth_fleet_judge_options mix = FTH_FLEET_JUDGE_OPTIONS(.mix_drivers = true);
    judgement = judge(fleet, &mix);
    assert_int_equal(judgement->cohort_count, 1);
    assert_true(judgement->suspect + judgement->failed > 20);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* One GPU against a reference of others, with one measurement and with many. */
static void test_reference(void **state)
{
    (void)state;
    struct fth_fleet *others = create();
    const struct made_plan many = {.gpus = 300, .runs = 3, .seed = 2};
    struct fth_fleet_reference *reference = NULL;
    made_add(others, &many);
    assert_int_equal(fth_fleet_refer(others, NULL, &reference, NULL), FTH_OK);
    const struct fth_fleet_judge_options options = FTH_FLEET_JUDGE_OPTIONS(.reference = reference);
    for (size_t seed = 0; seed < 40; seed++) {
        const struct made_plan one = {
            .gpus = 1,
            .runs = seed % 2 ? 1 : 5,
            .seed = 100 + seed,
            .first = 1000,
            .faulty = seed < 20,
            .faults = {{"memory.read_bytes", 0.94, 0}, {"memory.copy_bytes", 0.94, 0}}};
        struct fth_fleet *fleet = NULL;
        struct fth_fleet_judgement *judgement = made_judge(&one, &options, &fleet);
        assert_int_equal(judgement->healthy, seed >= 20);
        assert_int_equal(judgement->not_judged, 0);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
    const struct made_plan strange = {.gpus = 1, .runs = 1, .seed = 1, .driver = "100"};
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_judgement *judgement = made_judge(&strange, &options, &fleet);
    assert_int_equal(judgement->not_judged, 1);
    assert_contains(judgement->results[0].reason, "the reference has no GPUs");
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(others);
}

static void test_options(void **state)
{
    (void)state;
    const struct made_plan plan = {
        .gpus = 100, .runs = 1, .seed = 2, .faulty = 1, .faults = {{"memory.latency", 1.04, 0}}};
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
    assert_int_equal(judgement->suspect, 1);
    assert_near(judgement->min_effect, 0.02, 0);
    assert_near(judgement->false_alarms, 0.001, 0);
    fth_fleet_judgement_destroy(judgement);
    const struct fth_fleet_judge_options large = FTH_FLEET_JUDGE_OPTIONS(.min_effect = 0.05);
    judgement = judge(fleet, &large);
    assert_int_equal(judgement->healthy, 100);
    fth_fleet_judgement_destroy(judgement);
    struct fth_error error = NO_ERROR;
    const struct fth_fleet_judge_options wrong = FTH_FLEET_JUDGE_OPTIONS(.false_alarms = 1.5);
    assert_int_equal(fth_fleet_judge(fleet, &wrong, &judgement, &error), FTH_INVALID);
    assert_null(judgement);
    assert_contains(error.cause, "between 0 and 1");
    fth_fleet_judgement_destroy(NULL);
    fth_fleet_destroy(fleet);
    fleet = create();
    judgement = judge(fleet, NULL);
    assert_int_equal(judgement->healthy + judgement->not_judged, 0);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* Quantiles from tables of Student's t distribution; the last rows are the normal one. */
static void test_student(void **state)
{
    (void)state;
    static const struct {
        double tail, freedom, t;
    } table[] = {
        {0.025, 1, 12.7062}, {0.025, 5, 2.57058},   {0.0005, 5, 6.86883},   {0.005, 10, 3.16927},
        {0.25, 3, 0.764892}, {0.0005, 30, 3.64596}, {0.025, 1e7, 1.959964}, {1e-6, 1e7, 4.753424},
    };
    for (size_t i = 0; i < FTH_COUNT(table); i++) {
        assert_near(fth_student_quantile(table[i].tail, table[i].freedom), table[i].t,
                    2e-5 * table[i].t);
        assert_near(fth_student_tail(table[i].t, table[i].freedom), table[i].tail,
                    1e-4 * table[i].tail);
        assert_near(fth_student_tail(-table[i].t, table[i].freedom), 1 - table[i].tail, 1e-5);
    }
    assert_near(fth_student_tail(0, 4), 0.5, 1e-12);
    assert_near(fth_student_quantile(0.5, 4), 0, 0);
}

/* A GPU whose value is rare, but to be expected among 2000 GPUs that differ that much, is suspect
 * and has not failed: also if its node judges it alone, against the reference of the fleet. */
static void test_severity_of_a_node(void **state)
{
    (void)state;
    struct made_plan plan = {.gpus = 2000, .runs = 1, .seed = 6, .scale = 3};
    struct fth_fleet *others, *fleet;
    struct fth_fleet_reference *reference = NULL;
    fth_fleet_judgement_destroy(made_judge(&plan, NULL, &others));
    assert_int_equal(fth_fleet_refer(others, NULL, &reference, NULL), FTH_OK);
    const struct fth_fleet_judge_options options = FTH_FLEET_JUDGE_OPTIONS(.reference = reference);
    static const struct {
        double factor;
        enum fth_fleet_verdict verdict;
    } cases[] = {{0.93, FTH_FLEET_SUSPECT}, {0.8, FTH_FLEET_FAILED}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        plan = (struct made_plan){.gpus = 1,
                                  .runs = 1,
                                  .seed = 3,
                                  .faulty = 1,
                                  .faults = {{"memory.read_bytes", cases[i].factor, 0}}};
        struct fth_fleet_judgement *judgement = made_judge(&plan, &options, &fleet);
        assert_int_equal(judgement->results[0].verdict, cases[i].verdict);
        assert_string_equal(judgement->results[0].findings[0].figure, "memory.read_bytes_per_s");
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(others);
}

/* A GPU without a main figure that the others have is suspect. If many GPUs lack the figure, it is
 * one that the model does not always have. */
static void test_lacking_figures(void **state)
{
    (void)state;
    static const struct {
        size_t gpus, without, suspect;
    } cases[] = {{20, 0, 0}, {20, 1, 1}, {41, 3, 3}, {41, 5, 0}, {3, 1, 1}, {2, 1, 0}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct made_plan plan = {.gpus = cases[i].gpus, .runs = 2, .seed = 6};
        struct fth_fleet *fleet = create();
        made_add(fleet, &plan);
        /* The first GPUs lose the first two figures, which are bandwidths of the memory. */
        for (size_t j = 0; j < 2 * cases[i].without; j++) {
            fleet->measurements[j].values += 2;
            fleet->measurements[j].value_count -= 2;
        }
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        if (judgement->suspect != cases[i].suspect)
            fail_msg("case %zu: %zu GPUs are suspect", i, judgement->suspect);
        assert_int_equal(judgement->healthy, cases[i].gpus - cases[i].suspect);
        const struct fth_fleet_result *result = &judgement->results[0];
        assert_int_equal(result->finding_count, cases[i].suspect ? 2 : 0);
        if (result->finding_count) {
            assert_string_equal(result->findings[0].figure, "memory.read_bytes_per_s");
            assert_string_equal(result->findings[1].figure, "memory.write_bytes_per_s");
            assert_string_equal(result->findings[1].text, "unknown");
            assert_near(result->findings[0].usual, 4.6e12, 0.1e12);
            assert_contains(result->cause, "could not be measured completely");
        }
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_errors_without_time),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_simulated),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_severity_of_a_node),
        cmocka_unit_test(test_lacking_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
