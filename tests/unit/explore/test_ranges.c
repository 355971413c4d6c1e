/* Tests what an exploration is made of: ranges of values, GPUs, and points that are not possible.
 */
#include "explore/explore.h"
#include "folder.h"

static struct fth_model_params *default_params(void)
{
    struct fth_model_params *params = NULL;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    return params;
}

static struct fth_exploration *create(void)
{
    struct fth_model_params *params = default_params();
    struct fth_exploration *exploration = NULL;
    assert_int_equal(fth_explore_create(params, &exploration, NULL), FTH_OK);
    fth_model_params_destroy(params);
    return exploration;
}

static void ranges_are_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *values;
    } rows[] = {
        {"l1.size_bytes=16K..128K", "16K 32K 64K 128K "},
        {"l1.size_bytes=16K..200K:x3", "16K 48K 144K "},
        {"l1.size_bytes=512..4K", "512 1K 2K 4K "},
        {"l1.size_bytes=1M..3M:+512K", "1M 1536K 2M 2560K 3M "},
        {"l2.ways=1..9:+2", "1 3 5 7 9 "},
        {"l2.ways=4..4", "4 "},
        {"l2.ways=1024..2048", "1024 2048 "},
        {"l2.ways=3,8..16,64", "3 8 16 64 "},
        {"l2.ways+l1.ways=2..8", "2 4 8 "},
        {"l1.mshr_size=0..4:+4", "0 4 "},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = NO_ERROR;
        struct fth_buffer values = {0};
        if (fth_explore_vary(exploration, rows[i].text, &error) != FTH_OK)
            fail_msg("%s: %s", rows[i].text, error.cause);
        const struct fth_axis *axis = &exploration->studies[0].axes[0];
        for (size_t v = 0; v < axis->value_count; v++)
            fth_buffer_format(&values, "%s ", axis->values[v]);
        assert_string_equal(values.data, rows[i].values);
        fth_buffer_fini(&values);
        fth_explore_destroy(exploration);
    }
}

static void wrong_ranges_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"l2.ways=8..4", "the range ends before it begins"},
        {"l2.ways=0..4", "the values of the range would not increase"},
        {"l2.ways=1..4:x1", "the values of the range would not increase"},
        {"l2.ways=1..4:+0", "the values of the range would not increase"},
        {"l2.ways=1..4:-1", "expected a range of whole numbers"},
        {"l2.ways=1..", "expected a range of whole numbers"},
        {"l2.ways=..4", "expected a range of whole numbers"},
        {"l2.ways=1..4:", "expected a range of whole numbers"},
        {"l2.ways=1..4:x2:x2", "expected a range of whole numbers"},
        {"l2.ways=1..a", "expected a range of whole numbers"},
        {"l2.ways=1..18446744073709551615:+1", "more than 4096 values"},
        {"l2.ways=2,1..4", "the value 2 is listed twice"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_explore_vary(exploration, rows[i].text, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        fth_explore_destroy(exploration);
    }
}

/* The greatest values do not overflow. */
static void ranges_end_at_the_greatest_value(void **state)
{
    (void)state;
    static const char *const ranges[] = {"9223372036854775808..18446744073709551615",
                                         "18446744073709551614..18446744073709551615:+1"};
    static const size_t counts[] = {1, 2};
    for (size_t i = 0; i < 2; i++) {
        struct fth_arena arena = {0};
        const char **values = NULL;
        size_t count = 0;
        assert_int_equal(fth_values_expand(&arena, &ranges[i], 1, &values, &count, NULL), FTH_OK);
        assert_int_equal(count, counts[i]);
        free(values);
        fth_arena_fini(&arena);
    }
}

static char *run(struct fth_exploration *exploration, const char *output, enum fth_status expected,
                 struct fth_explore_outcome *outcome, struct fth_error *error)
{
    const struct fth_explore_options options = FTH_EXPLORE_OPTIONS(.threads = 1, .output = output);
    assert_int_equal(fth_explore_run(exploration, &options, outcome, error), expected);
    return outcome->text;
}

/* Each point has the parameters of its GPU, and the settings and values of the exploration. */
static void gpus_are_part_of_points(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_explore_outcome outcome;
    struct fth_error error = NO_ERROR;
    write_plain("two", "# kernel k\n0 0 0 R 0\n1 0 0 R 4096\n2 0 0 R 0\n", 43);
    static const char *const names[] = {"small", "large"}, *const sizes[] = {"128", "64K"};
    for (size_t i = 0; i < 2; i++) {
        struct fth_model_params *params = default_params();
        assert_int_equal(fth_model_set(params, "l1.size_bytes", sizes[i], NULL), FTH_OK);
        assert_int_equal(fth_model_set(params, "l1.ways", "1", NULL), FTH_OK);
        assert_int_equal(fth_explore_gpu(exploration, names[i], params, NULL), FTH_OK);
        if (i == 1)
            assert_int_equal(fth_explore_gpu(exploration, "small", params, &error), FTH_INVALID);
        fth_model_params_destroy(params);
    }
    assert_contains(error.cause, "the GPU is listed twice");
    assert_int_equal(fth_explore_trace(exploration, "two", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l2.ways=8,16", NULL), FTH_OK);
    char *text = run(exploration, NULL, FTH_OK, &outcome, NULL);
    assert_int_equal(outcome.computed, 4);
    assert_contains(text, "\"gpus\": [{\"name\": \"small\", \"parameters\": {\"l1.size_bytes\": ");
    static const struct {
        const char *start, *hits;
    } points[] = {
        {"{\"point\": 0, \"study\": \"\", \"gpu\": \"small\", \"trace\": \"two\", \"values\": "
         "{\"l2.ways\": \"8\"}",
         "\"hits\": [0, 0, 0]"},
        {"{\"point\": 1, \"study\": \"\", \"gpu\": \"small\", \"trace\": \"two\", \"values\": "
         "{\"l2.ways\": \"16\"}",
         "\"hits\": [0, 0, 0]"},
        {"{\"point\": 2, \"study\": \"\", \"gpu\": \"large\", \"trace\": \"two\", \"values\": "
         "{\"l2.ways\": \"8\"}",
         "\"hits\": [1, 0, 0]"},
        {"{\"point\": 3, \"study\": \"\", \"gpu\": \"large\"", "\"hits\": [1, 0, 0]"},
    };
    for (size_t i = 0; i < FTH_COUNT(points); i++) {
        const char *line = strstr(text, points[i].start);
        assert_non_null(line);
        /* The first hits are those of the L1. */
        const char *hits = strstr(line, "\"hits\"");
        assert_memory_equal(hits, points[i].hits, strlen(points[i].hits));
    }
    fth_free(text);
    fth_explore_destroy(exploration);
}

/* A point that is not possible does not end the exploration, and is not tried again. */
static void impossible_points_are_skipped(void **state)
{
    (void)state;
    for (int time = 0; time < 2; time++) {
        struct fth_exploration *exploration = create();
        struct fth_explore_outcome outcome;
        size_t skipped = 0;
        char *reasons = NULL;
        write_plain("one", "# kernel k\n0 0 0 R 0\n", 21);
        assert_int_equal(fth_explore_trace(exploration, "one", NULL, NULL, NULL), FTH_OK);
        assert_int_equal(fth_explore_vary(exploration, "l1.size_bytes=1536,1024", NULL), FTH_OK);
        assert_int_equal(fth_explore_vary(exploration, "l1.ways=3,4,5", NULL), FTH_OK);
        char *text = run(exploration, "points.jsonl", FTH_OK, &outcome, NULL);
        assert_int_equal(outcome.found, time ? 6 : 0);
        assert_int_equal(outcome.computed, time ? 0 : 3);
        assert_int_equal(outcome.jobs, time ? 0 : 3);
        assert_int_equal(fth_points_skipped(text, outcome.size, 1, &skipped, &reasons, NULL),
                         FTH_OK);
        assert_int_equal(skipped, 3); /* 12 lines in 5 ways, and 8 lines in 3 or 5 ways */
        assert_string_equal(reasons, "point 2 of one, l1.size_bytes=1536, l1.ways=5: l1.ways: "
                                     "launch 1, k: the number of lines in a bank is not a multiple "
                                     "of the ways\n");
        fth_free(reasons);
        fth_free(text);
        fth_explore_destroy(exploration);
    }
}

static void an_exploration_needs_a_possible_point(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_explore_outcome outcome;
    struct fth_error error = NO_ERROR;
    write_plain("one", "# kernel k\n0 0 0 R 0\n", 21);
    assert_int_equal(fth_explore_trace(exploration, "one", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l1.ways=3,5", NULL), FTH_OK);
    fth_free(run(exploration, NULL, FTH_INVALID, &outcome, &error));
    assert_int_equal(outcome.computed, 0);
    assert_contains(error.cause, "no point is possible; point 0: l1.ways: ");
    fth_explore_destroy(exploration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_expanded),
        cmocka_unit_test(wrong_ranges_are_refused),
        cmocka_unit_test(ranges_end_at_the_greatest_value),
        cmocka_unit_test(gpus_are_part_of_points),
        cmocka_unit_test(impossible_points_are_skipped),
        cmocka_unit_test(an_exploration_needs_a_possible_point),
    };
    return cmocka_run_group_tests_name("ranges", tests, enter_folder, leave_folder);
}
