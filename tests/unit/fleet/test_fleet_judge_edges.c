/* Tests cases at the edges of the judgement: counters that grow, GPUs with different numbers of
 * measurements, figures of zero, cohorts of two, references with other figures, hosts with several
 * kinds of GPUs, fleets of simulated GPUs, and cohorts in which nothing can be detected. */
#include "few_figures.h"
#include "made_fleet.h"

#include <math.h>
#include <time.h>

static const struct fth_fleet_figure_summary *summary_of(
    const struct fth_fleet_judgement *judgement, const char *name)
{
    const struct fth_fleet_cohort_summary *cohort = &judgement->cohorts[0];
    for (size_t i = 0; i < cohort->figure_count; i++)
        if (strcmp(cohort->figures[i].name, name) == 0)
            return &cohort->figures[i];
    fail_msg("no figure %s", name);
    return NULL;
}

/* States of GPU 0 in three measurements: in how many they are a fault, and whether the fault is
 * intermittent. A counter that grows is not, and neither is a fault that has stayed since it
 * appeared. */
static void test_states_over_time(void **state)
{
    (void)state;
    static const struct {
        struct cell cells[3];
        size_t count, deviating;
        bool intermittent;
    } cases[] = {
        {{{.figure = "device.ecc_uncorrectable_volatile", .number = 1, .step = 1}}, 1, 3, false},
        {{{.figure = "device.ecc_uncorrectable_volatile", .number = 5, .first = 2}}, 1, 1, false},
        {{{.figure = "memory.ecc_correctable", .number = 900, .step = 40}}, 1, 3, false},
        {{{.figure = "device.pcie_lanes", .number = 8, .first = 1}}, 1, 2, false},
        {{{.figure = "device.pcie_lanes", .number = 8},
          {.figure = "device.pcie_lanes", .number = 16, .first = 1},
          {.figure = "device.pcie_lanes", .number = 4, .first = 2}},
         3,
         2,
         true},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_fleet *fleet = create();
        add_gpus(fleet, 20, 3, cases[i].cells, cases[i].count);
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        const struct fth_fleet_result *result = &judgement->results[0];
        assert_int_equal(result->finding_count, 1);
        assert_int_equal(result->findings[0].measurements, 3);
        if (result->findings[0].deviating != cases[i].deviating)
            fail_msg("case %zu: %zu measurements deviate", i, result->findings[0].deviating);
        if ((strstr(result->cause, "intermittent") != NULL) != cases[i].intermittent)
            fail_msg("case %zu: %s", i, result->cause);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* A counter that is different on all of 300 GPUs, more than a reference keeps as exact values. */
static void test_many_counts(void **state)
{
    (void)state;
    struct cell cells[300];
    for (size_t i = 0; i < FTH_COUNT(cells); i++)
        cells[i] = (struct cell){i, "memory.ecc_correctable", (double)i, NULL, 0, 0, 0};
    for (size_t far = 0; far < 2; far++) {
        struct fth_fleet *fleet = create();
        cells[7].number = far ? 3000 : 2800; /* 95 % of the others have at most 285 */
        add_gpus(fleet, FTH_COUNT(cells), 1, cells, FTH_COUNT(cells));
        struct fth_fleet_judgement *judgement = judge(fleet, NULL);
        assert_int_equal(judgement->suspect, far);
        if (far) {
            assert_int_equal(judgement->results[7].verdict, FTH_FLEET_SUSPECT);
            assert_near(judgement->results[7].findings[0].usual, 290, 0);
        }
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* References of earlier versions have the values of counters, but not their distribution. */
static void test_counts_of_earlier_versions(void **state)
{
    (void)state;
    const struct cell many = {0, "device.pcie_replays", 1000000, NULL, 0, 0, 0};
    struct fth_fleet *others = create(), *fleet = create();
    struct fth_fleet_reference *reference = NULL;
    add_gpus(others, 20, 1, NULL, 0);
    add_gpus(fleet, 1, 1, &many, 1);
    assert_int_equal(fth_fleet_refer(others, NULL, &reference, NULL), FTH_OK);
    for (size_t i = 0; i < reference->cohorts[0].figure_count; i++)
        if (strcmp(reference->cohorts[0].figures[i].name, "device.pcie_replays") == 0) {
            assert_int_equal(reference->cohorts[0].figures[i].gpus.count, 20);
            fth_sketch_fini(&reference->cohorts[0].figures[i].gpus);
        }
    const struct fth_fleet_judge_options options = FTH_FLEET_JUDGE_OPTIONS(.reference = reference);
    struct fth_fleet_judgement *judgement = judge(fleet, &options);
    assert_int_equal(judgement->suspect, 1);
    assert_near(judgement->results[0].findings[0].usual, 12, 0);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(fleet);
    fth_fleet_destroy(others);
}

/* A counter near the largest number does not prevent the judgement. */
static void test_largest_count(void **state)
{
    (void)state;
    const struct cell largest = {0, "device.pcie_replays", 1.79e308, NULL, 0, 0, 0};
    struct fth_fleet *fleet = create();
    add_gpus(fleet, 20, 1, &largest, 1);
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    assert_int_equal(judgement->results[0].verdict, FTH_FLEET_SUSPECT);
    assert_int_equal(judgement->healthy, 19);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* Measurements that are added after the fleet was arranged are not read beyond its space. */
static void test_grown(void **state)
{
    (void)state;
    struct fth_fleet *fleet = create();
    size_t count = 0;
    add_gpus(fleet, 2, 2, NULL, 0);
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    add_gpus(fleet, 2, 40, NULL, 0);
    const uint32_t figure = fth_fleet_figure_find(fleet, "device.sms");
    assert_near(fth_fleet_gpu_median(fleet, &fleet->gpus[1], figure, &count), 132, 0);
    assert_int_equal(count, 2);
    assert_near(fth_fleet_gpu_mode(fleet, &fleet->gpus[0], figure), 132, 0);
    fth_fleet_destroy(fleet);
}

/* Only every tenth GPU was measured several times. The noise is that of these. */
static void test_some_repeated(void **state)
{
    (void)state;
    const struct made_plan once = {.gpus = 900, .runs = 1, .seed = 3};
    const struct made_plan often = {.gpus = 100, .runs = 10, .seed = 5, .first = 900};
    struct fth_fleet *fleet = create();
    made_add(fleet, &once);
    made_add(fleet, &often);
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    assert_near(summary_of(judgement, "l2.copy_bytes_per_s")->noise, 0.0145, 0.001);
    assert_near(summary_of(judgement, "memory.read_bytes_per_s")->noise, 0.0052, 0.0004);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* A figure of zero, or an infinite one, in some of five measurements. */
static void test_zero(void **state)
{
    (void)state;
    static const struct {
        struct made_fault fault;
        double value, effect;
        size_t deviating;
        const char *note;
    } cases[] = {
        {{"memory.read_bytes", 0, 1}, 0, -1, 1, "The figure is zero."},
        {{"memory.read_bytes", 0, 4}, 0, -1, 4, "The figure is zero."},
        {{"memory.read_bytes", 0, 5}, 0, -1, 5, "The figure is zero."},
        {{"memory.latency_cycles", INFINITY, 1}, INFINITY, INFINITY, 1, "The figure is infinite."},
        {{"memory.latency_cycles", INFINITY, 3}, INFINITY, INFINITY, 3, "The figure is infinite."},
        {{"memory.read_bytes", INFINITY, 4}, INFINITY, INFINITY, 4, "The figure is infinite."},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct made_plan plan = {
            .gpus = 30, .runs = 5, .seed = 2, .faulty = 1, .faults = {cases[i].fault}};
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
        const struct fth_fleet_result *result = &judgement->results[0];
        assert_int_equal(result->verdict, FTH_FLEET_FAILED);
        const struct fth_fleet_finding *finding = &result->findings[0];
        assert_true(strncmp(finding->figure, cases[i].fault.figures, 12) == 0);
        assert_true(finding->value == cases[i].value && finding->effect == cases[i].effect);
        assert_int_equal(finding->measurements, 5);
        assert_int_equal(finding->deviating, cases[i].deviating);
        assert_string_equal(finding->note, cases[i].note);
        assert_contains(result->cause, cases[i].note);
        assert_int_equal(judgement->healthy, 29);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

/* Two GPUs that differ: which of them is wrong is only known for parts of the GPU. */
static void test_two(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {0, "memory.ecc", NAN, "no", 0, 0, 0},
        {1, "memory.ecc", NAN, "maybe", 0, 0, 0},
        {0, "l1.line_bytes", 64, NULL, 0, 0, 0},
    };
    struct fth_fleet *fleet = create();
    add_gpus(fleet, 2, 3, cells, FTH_COUNT(cells));
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    assert_int_equal(judgement->healthy, 2);
    assert_contains(summary_of(judgement, "memory.ecc")->reason, "the two GPUs differ");
    assert_contains(summary_of(judgement, "l1.line_bytes")->reason, "the two GPUs differ");
    assert_null(summary_of(judgement, "device.sms")->reason);
    fth_fleet_judgement_destroy(judgement);
    /* States have rules of their own, also if all GPUs differ. */
    assert_int_equal(fth_fleet_kind_of("device.nvlinks"), FTH_FLEET_EXACT);
    assert_int_equal(fth_fleet_kind_of("device.nvlinks_active"), FTH_FLEET_STATE);
    fth_fleet_destroy(fleet);
    fleet = create();
    struct cell counters[9];
    for (size_t i = 0; i < FTH_COUNT(counters); i++)
        counters[i] = (struct cell){i, "device.pcie_replays", (double)i, NULL, 0, 0, 0};
    add_gpus(fleet, 9, 1, counters, FTH_COUNT(counters));
    judgement = judge(fleet, NULL);
    assert_null(summary_of(judgement, "device.pcie_replays")->reason);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* Adds figures "l2.extra0" and so on, equal on all GPUs. */
static void add_extra(struct fth_fleet *fleet, size_t gpus, size_t count)
{
    for (size_t g = 0; g < gpus; g++) {
        struct fth_fleet_value values[100];
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-%zu", g);
        for (size_t i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof name, "l2.extra%zu", i);
            values[i] = (struct fth_fleet_value){
                .figure = fth_fleet_figure_index(fleet, name), .confidence = 0.9993F, .number = 7};
        }
        const struct fth_fleet_draft draft = {
            .gpu = {.name = uuid, .uuid = uuid, .model = "H200", .backend = "cuda"},
            .time = 9,
            .file = uuid,
            .values = values,
            .value_count = count,
        };
        assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
    }
}

/* Figures of the reference that the fleet does not have are not tests. */
static void test_missing_figures(void **state)
{
    (void)state;
    double p[2];
    for (size_t i = 0; i < 2; i++) {
        static const struct cell cell = {0, "l1.size_bytes", 200000, NULL, 0.9993F, 0, 0};
        struct fth_fleet *others = create(), *fleet = create();
        struct fth_fleet_reference *reference = NULL;
        add_gpus(others, 20, 1, NULL, 0);
        if (i)
            add_extra(others, 20, 100);
        assert_int_equal(fth_fleet_refer(others, NULL, &reference, NULL), FTH_OK);
        add_gpus(fleet, 1, 3, &cell, 1);
        const struct fth_fleet_judge_options options =
            FTH_FLEET_JUDGE_OPTIONS(.reference = reference);
        struct fth_fleet_judgement *judgement = judge(fleet, &options);
        assert_int_equal(judgement->results[0].finding_count, 1);
        p[i] = judgement->results[0].findings[0].p;
        assert_true(p[i] > 0);
        if (i)
            assert_contains(summary_of(judgement, "l2.extra7")->reason, "no GPU of the fleet");
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_reference_destroy(reference);
        fth_fleet_destroy(fleet);
        fth_fleet_destroy(others);
    }
    assert_near(p[1], p[0], 0);
}

/* A host with one GPU of one cohort and seven of another, which differ together. The usual value is
 * that of the seven. */
static void test_mixed_host(void **state)
{
    (void)state;
    const struct made_plan older = {.gpus = 161, .runs = 1, .seed = 4, .gpus_per_host = 8};
    const struct made_plan slower = {.gpus = 7,
                                     .runs = 1,
                                     .seed = 5,
                                     .gpus_per_host = 8,
                                     .first = 161,
                                     .driver = "590",
                                     .faulty = 7,
                                     .faults = {{"memory.read_bytes", 0.5 * 0.95, 0}}};
    struct made_plan newer = slower;
    newer.gpus = newer.faulty = 120;
    newer.first = 168;
    newer.faults[0].factor = 0.5;
    struct fth_fleet *fleet = create();
    made_add(fleet, &older);
    made_add(fleet, &slower);
    made_add(fleet, &newer);
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    size_t hosts = 0;
    for (size_t i = 0; i < judgement->group_count; i++) {
        const struct fth_fleet_group_finding *group = &judgement->groups[i];
        if (strcmp(group->kind, "host") != 0)
            continue;
        hosts++;
        assert_string_equal(group->name, "node20");
        assert_int_equal(group->gpu_count, 8);
        assert_near(group->usual, 0.5 * 4.6075e12, 0.02e12);
        assert_near(group->value, 0.475 * 4.6075e12, 0.02e12);
    }
    assert_int_equal(hosts, 1);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
}

/* Returns the processor time that judging this number of simulated GPUs takes. */
static double simulated_seconds(size_t gpus)
{
    struct fth_fleet *fleet = create();
    const struct fth_fleet_value value = {
        .figure = fth_fleet_figure_index(fleet, "memory.read_bytes_per_s"),
        .confidence = NAN,
        .number = 4e12};
    for (size_t i = 0; i < gpus; i++) {
        char file[32];
        snprintf(file, sizeof file, "%zu.json", i);
        const struct fth_fleet_draft draft = {
            .gpu = {.model = "H200", .backend = "simulated", .simulated = true},
            .file = file,
            .values = &value,
            .value_count = 1,
        };
        assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
    }
    const clock_t begin = clock();
    struct fth_fleet_judgement *judgement = judge(fleet, NULL);
    const clock_t end = clock();
    assert_int_equal(judgement->healthy, gpus);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
    return (double)(end - begin) / CLOCKS_PER_SEC;
}

/* Four times as many simulated GPUs take about four times as long, not sixteen times. */
static void test_only_simulated(void **state)
{
    (void)state;
    const double few = simulated_seconds(15000), many = simulated_seconds(60000);
    if (many > 9 * few + 0.05)
        fail_msg("15,000 GPUs take %g s, 60,000 take %g s", few, many);
}

/* Three GPUs that differ by 40 % say nothing about a fourth one. The same holds for two. */
static void test_nothing_detectable(void **state)
{
    (void)state;
    for (size_t gpus = 2; gpus <= 3; gpus++) {
        const struct made_plan plan = {.gpus = gpus, .runs = 1, .seed = 4, .scale = 60};
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = made_judge(&plan, NULL, &fleet);
        size_t none = 0;
        for (size_t i = 0; i < judgement->cohorts[0].figure_count; i++) {
            const struct fth_fleet_figure_summary *figure = &judgement->cohorts[0].figures[i];
            if (figure->kind > FTH_FLEET_TIME)
                continue;
            none += isnan(figure->detectable) ? 1 : 0;
            assert_false(figure->detectable > (figure->kind == FTH_FLEET_RATE ? 0.9 : 9));
        }
        assert_true(none > 0);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_counts),
        cmocka_unit_test(test_counts_of_earlier_versions),
        cmocka_unit_test(test_largest_count),
        cmocka_unit_test(test_grown),
        cmocka_unit_test(test_states_over_time),
        cmocka_unit_test(test_some_repeated),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_missing_figures),
        cmocka_unit_test(test_mixed_host),
        cmocka_unit_test(test_only_simulated),
        cmocka_unit_test(test_nothing_detectable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
