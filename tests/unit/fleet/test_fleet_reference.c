/* Tests references (fleet/reference.c, reference_make.c, reference_json.c). */
#include "fleet_parts.h"
#include "folder.h"

#include <math.h>
#include <stdlib.h>

enum { GPUS = 90, PARTS = 3 };

/* Adds the measurements of a GPU: figures of each kind, some GPUs measured three times, two
 * drivers, and a counter with more values than a reference holds. */
static void add_gpu(struct fth_fleet *fleet, int gpu)
{
    struct fth_rng rng;
    fth_rng_init(&rng, (uint64_t)gpu);
    for (int i = 0; i < (gpu % 4 == 0 ? 3 : 1); i++) {
        char members[512], counter[32];
        fth_number_format(1000 * fth_rng_unit(&rng), counter, sizeof counter);
        snprintf(members, sizeof members,
                 "\"gpu\": \"G%d\", \"model\": \"M\", \"backend\": \"cuda\", \"driver\": \"%d\", "
                 "\"figures\": {\"memory.read_bytes_per_s\": %d, \"l2.ways\": %d, "
                 "\"memory.ecc_correctable\": %s, \"device.power_w\": 7, \"l2.latency_ns\": 0}, "
                 "\"texts\": {\"device.throttling\": \"%s\"}",
                 gpu, gpu % 2, 4600000 + (int)fth_rng_below(&rng, 100000), i == 2 ? 8 : 16,
                 gpu == 1 ? "0" : counter, gpu == 5 ? "power" : "none");
        add_record(fleet, "file", members);
    }
}

static struct fth_fleet_reference *refer(struct fth_fleet *fleet, bool mix_drivers)
{
    struct fth_fleet_reference *reference = NULL;
    struct fth_fleet_judge_options options = FTH_FLEET_JUDGE_OPTIONS(.mix_drivers = mix_drivers);
    assert_int_equal(fth_fleet_refer(fleet, &options, &reference, NULL), FTH_OK);
    return reference;
}

static char *text_of(const struct fth_fleet_reference *reference)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_fleet_reference_text(reference, &text, &size, NULL), FTH_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

static void references_count_gpus(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    for (int i = 0; i < GPUS; i++)
        add_gpu(fleet, i);
    struct fth_fleet_reference *reference = refer(fleet, true);
    assert_int_equal(reference->cohort_count, 1);
    const struct fth_reference_cohort *cohort = &reference->cohorts[0];
    assert_int_equal(cohort->cohort.gpu_count, GPUS);
    assert_true(cohort->cohort.mixed_drivers);
    const struct fth_reference_figure *rate = fth_reference_find(cohort, "memory.read_bytes_per_s");
    assert_int_equal(rate->kind, FTH_FLEET_RATE);
    assert_int_equal(rate->gpus.count, GPUS);
    assert_int_equal(rate->repeats.count, 3 * ((GPUS + 3) / 4));
    assert_int_equal(rate->repeated_gpus, (GPUS + 3) / 4);
    assert_true(fth_sketch_quantile(&rate->repeats, 0) >= 1);
    const double median = fth_sketch_quantile(&rate->gpus, 0.5);
    assert_true(median > 4640000 && median < 4660000);
    const struct fth_reference_figure *ways = fth_reference_find(cohort, "l2.ways");
    assert_int_equal(ways->value_count, 1);
    assert_string_equal(ways->values[0].text, "16");
    assert_int_equal(ways->values[0].gpus, GPUS);
    const struct fth_reference_figure *throttling = fth_reference_find(cohort, "device.throttling");
    assert_int_equal(throttling->kind, FTH_FLEET_STATE);
    assert_int_equal(throttling->value_count, 2);
    assert_string_equal(throttling->values[0].text, "none");
    assert_int_equal(throttling->values[0].gpus, GPUS - 1);
    assert_string_equal(throttling->values[1].text, "power");
    const struct fth_reference_figure *errors =
        fth_reference_find(cohort, "memory.ecc_correctable");
    assert_int_equal(errors->value_count, FTH_REFERENCE_MAX_VALUES);
    assert_int_equal(errors->other_gpus, GPUS - FTH_REFERENCE_MAX_VALUES);
    assert_string_equal(errors->values[0].text, "0");
    for (size_t i = 1; i < errors->value_count; i++)
        assert_true(fth_strtod(errors->values[i - 1].text, NULL) <
                    fth_strtod(errors->values[i].text, NULL));
    assert_null(fth_reference_find(cohort, "device.power_w"));
    assert_int_equal(fth_reference_find(cohort, "l2.latency_ns")->gpus.count, 0);
    assert_null(fth_reference_find(cohort, "l2.way"));
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(fleet);
}

/* The references of parts, merged in any order, and read from documents, give the document of the
 * whole. */
static void merging_gives_the_reference_of_the_whole(void **state)
{
    (void)state;
    static const int orders[][PARTS] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    struct fth_fleet *whole = new_fleet(), *parts[PARTS];
    struct fth_fleet_reference *references[PARTS], *reference;
    for (int part = 0; part < PARTS; part++) {
        parts[part] = new_fleet();
        for (int i = 0; i < GPUS; i++)
            if (i % 7 % PARTS == part)
                add_gpu(parts[part], i);
    }
    for (int i = GPUS; i-- > 0;)
        add_gpu(whole, i);
    reference = refer(whole, false);
    char *expected = text_of(reference);
    assert_int_equal(reference->cohort_count, 2);
    fth_fleet_reference_destroy(reference);
    for (size_t i = 0; i < FTH_COUNT(orders); i++) {
        struct fth_fleet_reference *merged = NULL;
        for (int j = 0; j < PARTS; j++) {
            references[j] = refer(parts[orders[i][j]], false);
            char *text = text_of(references[j]);
            write_plain("part.ref.json", text, strlen(text));
            fth_free(text);
            assert_int_equal(fth_fleet_reference_read("part.ref.json", &reference, NULL), FTH_OK);
            if (merged) {
                assert_int_equal(fth_fleet_reference_merge(merged, reference, NULL), FTH_OK);
                fth_fleet_reference_destroy(reference);
            } else {
                merged = reference;
            }
        }
        char *text = text_of(merged);
        assert_string_equal(text, expected);
        fth_free(text);
        fth_fleet_reference_destroy(merged);
        for (int j = 0; j < PARTS; j++)
            fth_fleet_reference_destroy(references[j]);
    }
    fth_free(expected);
    for (int part = 0; part < PARTS; part++)
        fth_fleet_destroy(parts[part]);
    fth_fleet_destroy(whole);
}

/* The cohort of a reference for a cohort of a fleet. */
static void cohorts_find_their_reference(void **state)
{
    (void)state;
    static const struct fth_fleet_cohort cohorts[] = {
        {.model = "M", .backend = "cuda", .driver = "1", .board = "x", .gpu_count = 5},
        {.model = "M", .backend = "cuda", .driver = "2", .board = "x", .gpu_count = 7},
        {.model = "M", .backend = "simulated", .simulated = true, .gpu_count = 9},
        {.model = "N", .backend = "cuda", .mixed_drivers = true, .board = "x", .gpu_count = 9},
    };
    static const struct {
        struct fth_fleet_cohort cohort;
        int found; /* index in cohorts; -1: none */
    } cases[] = {
        {{.model = "M", .backend = "cuda", .driver = "1", .board = "x"}, 0},
        {{.model = "M", .backend = "cuda", .driver = "3", .board = "x"}, -1},
        {{.model = "M", .backend = "cuda", .board = "x"}, -1},
        {{.model = "M", .backend = "cuda", .mixed_drivers = true, .board = "x"}, 1},
        {{.model = "M", .backend = "cuda", .driver = "1", .mixed_boards = true}, 0},
        {{.model = "M", .backend = "cuda", .driver = "1", .board = "y"}, -1},
        {{.model = "M", .backend = "opencl", .driver = "1", .board = "x"}, -1},
        {{.model = "M", .backend = "cuda", .simulated = true, .driver = "1", .board = "x"}, -1},
        {{.model = "M", .backend = "simulated", .simulated = true}, 2},
        {{.model = "N", .backend = "cuda", .driver = "1", .board = "x"}, 3},
        {{.model = "N", .backend = "cuda", .driver = "1", .board = "y"}, -1},
    };
    struct fth_fleet_reference *reference = NULL;
    struct fth_reference_cohort *added = NULL;
    assert_int_equal(fth_reference_create(&reference, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(cohorts); i++)
        assert_int_equal(fth_reference_add_cohort(reference, &cohorts[i], &added, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_reference_cohort *found =
            fth_reference_cohort_for(reference, &cases[i].cohort);
        if (cases[i].found < 0)
            assert_null(found);
        else
            assert_int_equal(fth_fleet_cohort_compare(&found->cohort, &cohorts[cases[i].found]), 0);
    }
    fth_fleet_reference_destroy(reference);
    fth_fleet_reference_destroy(NULL);
}

#define HEAD "{\"schema\": \"fathom-fleet-reference/1\", \"cohorts\": "
#define FIGURE(members)                                                                            \
    HEAD "[{\"figures\": [{\"figure\": \"a\", \"kind\": \"rate\", " members "}]}]}"

static void damaged_references_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {"", "'[' or '{' expected"},
        {"[]", "it is not a reference (fathom-fleet-reference/1): its \"schema\" is missing"},
        {"{\"schema\": \"fathom-gpu/1\"}", "its \"schema\" is fathom-gpu/1"},
        {HEAD "{}}", "cohorts: expected a list"},
        {HEAD "[1]}", "cohorts[0].figures: expected a list"},
        {HEAD "[{\"model\": 1}]}", "cohorts[0].model: expected a string"},
        {HEAD "[{\"gpus\": -1}]}", "cohorts[0].gpus: expected a whole number"},
        {HEAD "[{\"gpus\": 1.5}]}", "cohorts[0].gpus: expected a whole number"},
        {HEAD "[{\"figures\": []}, {\"figures\": []}]}", "cohorts[1]: the cohort occurs twice"},
        {HEAD "[{\"figures\": [1]}]}", "cohorts[0].figures[0].figure: expected a string"},
        {HEAD "[{\"figures\": [{\"figure\": \"a\", \"kind\": \"b\"}]}]}", "'b' is not one of"},
        {HEAD "[{\"figures\": [{\"figure\": \"a\", \"kind\": \"rate\"}, "
              "{\"figure\": \"a\", \"kind\": \"rate\"}]}]}",
         "cohorts[0].figures[1]: figure 'a' occurs twice"},
        {FIGURE("\"gpus\": 1"), "gpus: expected a list of pairs"},
        {FIGURE("\"gpus\": [1, 2, 3]"), "gpus: expected a list of pairs"},
        {FIGURE("\"gpus\": [1, 0]"), "the count of interval 0 is wrong"},
        {FIGURE("\"gpus\": [1, 4294967296]"), "the count of interval 0 is wrong"},
        {FIGURE("\"gpus\": [5, 1, 0, 1]"), "the index of interval 1 is wrong"},
        {FIGURE("\"repeats\": [99999999999, 1]"), "the index of interval 0 is wrong"},
        {FIGURE("\"repeats\": [\"1\", 1]"), "the index of interval 0 is wrong"},
        {FIGURE("\"values\": [{\"value\": 1}]"), "values[0].value: expected a string"},
        {FIGURE("\"values\": [{\"value\": \"1\", \"gpus\": -2}]"), "values[0].gpus: expected"},
        {FIGURE("\"gpus\": [1, 2], \"repeated_gpus\": 3"),
         "repeated_gpus: expected a whole number"},
        {FIGURE("\"other_gpus\": \"2\""), "other_gpus: expected a whole number"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_fleet_reference *reference = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_reference_read_text("fleet.ref", cases[i].text, strlen(cases[i].text),
                                                 &reference, &error),
                         FTH_INVALID);
        assert_null(reference);
        assert_contains(error.cause, cases[i].cause);
        assert_string_equal(error.argument, "fleet.ref");
    }
    struct fth_fleet_reference *reference = NULL;
    assert_int_equal(fth_fleet_reference_read("missing", &reference, NULL), FTH_NOT_FOUND);
}

/* Merges two references of a figure. Returns its number of GPUs with several measurements. */
static uint64_t merged_repeated(const char *first, const char *second)
{
    struct fth_fleet_reference *a = NULL, *b = NULL;
    assert_int_equal(fth_reference_read_text("a", first, strlen(first), &a, NULL), FTH_OK);
    assert_int_equal(fth_reference_read_text("b", second, strlen(second), &b, NULL), FTH_OK);
    assert_int_equal(fth_fleet_reference_merge(a, b, NULL), FTH_OK);
    const uint64_t repeated = a->cohorts[0].figures[0].repeated_gpus;
    fth_fleet_reference_destroy(a);
    fth_fleet_reference_destroy(b);
    return repeated;
}

/* The number of GPUs with several measurements is unknown if it is missing in one reference that
 * has such GPUs. */
static void repeated_gpus_can_be_unknown(void **state)
{
    (void)state;
    static const char known[] =
        FIGURE("\"gpus\": [1, 5], \"repeats\": [0, 6], \"repeated_gpus\": 2");
    static const char unknown[] = FIGURE("\"gpus\": [1, 5], \"repeats\": [0, 6]");
    static const char none[] = FIGURE("\"gpus\": [1, 5]");
    assert_int_equal(merged_repeated(known, known), 4);
    assert_int_equal(merged_repeated(known, none), 2);
    assert_int_equal(merged_repeated(none, known), 2);
    assert_int_equal(merged_repeated(known, unknown), 0);
    assert_int_equal(merged_repeated(unknown, known), 0);
}

/* References with different kinds of a figure cannot be merged. */
static void kinds_must_agree(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD "[{\"figures\": [{\"figure\": \"a\", \"kind\": \"rate\"}]}]}",
        HEAD "[{\"figures\": [{\"figure\": \"a\", \"kind\": \"time\"}]}]}"};
    struct fth_fleet_reference *references[2] = {NULL, NULL};
    struct fth_error error = NO_ERROR;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            fth_reference_read_text("text", texts[i], strlen(texts[i]), &references[i], NULL),
            FTH_OK);
    assert_int_equal(fth_fleet_reference_merge(references[0], references[1], &error), FTH_INVALID);
    assert_contains(error.cause, "its kind is rate in one of them, and time in another");
    fth_fleet_reference_destroy(references[0]);
    fth_fleet_reference_destroy(references[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_count_gpus),
        cmocka_unit_test(merging_gives_the_reference_of_the_whole),
        cmocka_unit_test(cohorts_find_their_reference),
        cmocka_unit_test(damaged_references_are_refused),
        cmocka_unit_test(repeated_gpus_can_be_unknown),
        cmocka_unit_test(kinds_must_agree),
    };
    return cmocka_run_group_tests_name("fleet-reference", tests, enter_folder, leave_folder);
}
