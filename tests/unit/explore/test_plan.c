/* Tests the plan of an exploration: inputs and their checksums, axes and points, limits, and the
 * files of many shards. */
#include "explore/explore.h"
#include "folder.h"

static struct fth_exploration *create(void)
{
    struct fth_model_params *params = NULL;
    struct fth_exploration *exploration = NULL;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    assert_int_equal(fth_explore_create(params, &exploration, NULL), FTH_OK);
    fth_model_params_destroy(params);
    return exploration;
}

static const struct fth_input *open_text(struct fth_exploration *exploration, const char *path,
                                         const char *text)
{
    struct fth_error error = NO_ERROR;
    size_t number = 0;
    write_plain(path, text, strlen(text));
    if (fth_input_open(exploration, path, NULL, NULL, &number, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return &exploration->inputs[number];
}

/* The expected checksum was computed with another program. */
static void inputs_have_a_checksum(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    const struct fth_input *input =
        open_text(exploration, "text",
                  "# kernel k\n# grid 2 3 1\n# block 64 1 1\n"
                  "0 5 1 R 3/0x7 0 128 129\n1 5 1 W 1/0x80000000 0x1ffff\n"
                  "# kernel m\n0 0 0 R 4\n");
    assert_true(input->content == UINT64_C(0x58912dff711adaf5));
    assert_int_equal(input->accesses, 3);
    assert_int_equal(input->lines[0], 3); /* two lines of 128 bytes, and one */
    assert_int_equal(input->lines[1], 1);
    fth_explore_destroy(exploration);
}

/* Each text differs from the first one in one number. */
static void checksums_depend_on_everything(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel j\n# grid 2 2 2\n# block 64 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 3 2 2\n# block 64 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 3 2\n# block 64 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 3\n# block 64 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 65 2 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 3 2\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 3\n0 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n1 0 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 1 0 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 0 1 R 2/0x3 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 0 0 R 2/0x5 0 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 0 0 R 2/0x3 1 4\n",
        "# kernel k\n# grid 2 2 2\n# block 64 2 2\n0 0 0 R 2/0x3 0 5\n",
    };
    uint64_t contents[FTH_COUNT(texts)];
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        struct fth_exploration *exploration = create();
        contents[i] = open_text(exploration, "text", texts[i])->content;
        for (size_t k = 0; k < i; k++)
            assert_true(contents[i] != contents[k]);
        fth_explore_destroy(exploration);
    }
}

/* A kernel that loads from an address which depends on its argument and on the random contents of
 * its buffer. Each option of the launch changes the trace, so each gives another input. The target
 * "debug" keeps the last load, whose result is not used. */
#define KERNEL(name)                                                                               \
    ".visible .entry " name "(.param .u64 p, .param .u32 x)\n{\n.reg .b64 %rd<4>;\n"               \
    ".reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [x];\n"                          \
    "ld.global.u32 %r2, [%rd1];\nand.b32 %r2, %r2, 1023;\nadd.u32 %r2, %r2, %r1;\n"                \
    "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\nld.global.u32 %r3, [%rd3];\n"          \
    "ret;\n}\n"

static void inputs_depend_on_the_options(void **state)
{
    (void)state;
    static const char ptx[] =
        ".version 8.0\n.target sm_80, debug\n.address_size 64\n" KERNEL("a") KERNEL("b");
    static const char *const arguments[][2] = {{"ptr:u32[2048]=random", "u32:1"},
                                               {"ptr:u32[2048]=random", "u32:2"}};
    static const uint64_t seeds[] = {5, 6};
#define WITH(...) FTH_LAUNCH_OPTIONS(.argument_count = 2, .arguments = arguments[0], __VA_ARGS__)
    const struct fth_launch_options options[] = {
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "a"),
        FTH_LAUNCH_OPTIONS(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "a",
                           .argument_count = 2, .arguments = arguments[1]),
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "b"),
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "a", .seed = &seeds[0]),
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "a", .seed = &seeds[1]),
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernel = "a", .shared_bytes = 4),
        WITH(.grid = {2, 1, 1}, .block = {1, 1, 1}, .kernel = "a"),
        WITH(.grid = {1, 2, 1}, .block = {1, 1, 1}, .kernel = "a"),
        WITH(.grid = {1, 1, 2}, .block = {1, 1, 1}, .kernel = "a"),
        WITH(.grid = {1, 1, 1}, .block = {2, 1, 1}, .kernel = "a"),
        WITH(.grid = {1, 1, 1}, .block = {1, 2, 1}, .kernel = "a"),
        WITH(.grid = {1, 1, 1}, .block = {1, 1, 2}, .kernel = "a"),
    };
    struct fth_exploration *exploration = create();
    write_plain("k.ptx", ptx, strlen(ptx));
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < FTH_COUNT(options); i++) {
            size_t number = 99;
            struct fth_error error = NO_ERROR;
            if (fth_input_open(exploration, "k.ptx", &options[i], NULL, &number, &error) != FTH_OK)
                fail_msg("%zu: %s", i, error.cause);
            assert_int_equal(number, i);
        }
    fth_explore_destroy(exploration);
}

static void incomplete_plans_are_refused(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    struct fth_exploration *exploration = create();
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_INVALID);
    assert_string_equal(error.cause, "nothing to explore: there is no trace");
    struct fth_study *study = fth_study_add(exploration, "s");
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_study_vary(exploration, study, "l1.ways", none, 0, &error), FTH_INVALID);
    assert_string_equal(error.cause, "it has no values");
    static const char *const twice[] = {"2", "4", "2"};
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_study_vary(exploration, study, "l1.ways", twice, 3, &error), FTH_INVALID);
    assert_string_equal(error.operation, "explore");
    assert_string_equal(error.argument, "l1.ways");
    assert_string_equal(error.cause, "the value 2 is listed twice");
    static const char *const parts[] = {"2+3"};
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_study_vary(exploration, study, "l1.ways", parts, 1, &error), FTH_INVALID);
    assert_string_equal(error.operation, "explore");
    assert_string_equal(error.argument, "2+3");
    assert_string_equal(error.cause, "2 values for 1 parameters");
    fth_explore_destroy(exploration);
}

/* 16 axes are allowed, and 2^22 points. */
static void axes_and_points_are_limited(void **state)
{
    (void)state;
    static const char *const names[] = {"l1.ways=1,2,3,4",
                                        "l2.ways=1,2,3,4",
                                        "l1.sets=1,2,4,8",
                                        "l2.sets=1,2,4,8",
                                        "l1.mshr_sets=1,2,4,8",
                                        "l2.mshr_sets=1,2,4,8",
                                        "l1.mshr_size=1,2,3,4",
                                        "l2.mshr_size=1,2,3,4",
                                        "l1.mshr_merges=1,2,3,4",
                                        "l2.mshr_merges=1,2,3,4",
                                        "l1.latency=1,2,3,4",
                                        "l2.latency=1",
                                        "gpu.sms=1",
                                        "gpu.seed=1",
                                        "l1.latency_cycles=1",
                                        "l2.latency_cycles=1",
                                        "memory.latency_cycles=1"};
    struct fth_exploration *exploration = create();
    struct fth_error error = NO_ERROR;
    write_plain("text", "0 0 0 R 4\n", 10);
    assert_int_equal(fth_explore_trace(exploration, "text", NULL, NULL, NULL), FTH_OK);
    for (size_t i = 0; i < 17; i++) {
        const enum fth_status status = fth_explore_vary(exploration, names[i], &error);
        if (status != (i < 16 ? FTH_OK : FTH_INVALID))
            fail_msg("%s: %s", names[i], error.cause);
    }
    assert_string_equal(error.cause,
                        "more than 16 axes; vary fewer parameters, or some together (A+B)");
    /* There are 4^11 = 2^22 points; a second trace makes them 2^23. */
    write_plain("other", "0 0 0 R 8\n", 10);
    assert_int_equal(fth_explore_trace(exploration, "other", NULL, NULL, NULL), FTH_OK);
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_INVALID);
    assert_string_equal(error.cause, "more than 4194304 points; vary fewer parameters or values");
    fth_explore_destroy(exploration);
}

static const char *value_of(const struct fth_model_params *params, const char *name)
{
    struct fth_model_parameter parameter;
    size_t i = 0;
    while (fth_model_parameter(i, &parameter) && strcmp(parameter.name, name) != 0)
        i++;
    return fth_model_value(params, i, NULL);
}

/* The last axis varies fastest, then the axis before it, and the trace slowest. Values of axes
 * override settings. */
static void points_are_numbered(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_model_params *params = NULL;
    struct fth_point point;
    size_t jobs = 0;
    static const char *const expected[] = {"one 2 4 1", "one 2 4 8", "one 3 5 1", "one 3 5 8",
                                           "two 2 4 1", "two 2 4 8", "two 3 5 1", "two 3 5 8"};
    write_plain("one", "0 0 0 R 4\n", 10);
    write_plain("two", "0 0 0 R 8\n", 10);
    assert_int_equal(fth_explore_trace(exploration, "one", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_trace(exploration, "two", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l1.ways+l2.ways=2+4,3+5", NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "gpu.sms=1,8", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "gpu.sms", "77", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "l1.latency", "16", NULL), FTH_OK);
    assert_int_equal(fth_plan_complete(exploration, NULL), FTH_OK);
    assert_int_equal(fth_explore_points(exploration, &jobs), 8);
    assert_int_equal(jobs, 8);
    assert_int_equal(fth_explore_points(exploration, NULL), 8);
    for (size_t i = 0; i < 8; i++) {
        char text[80];
        fth_point_at(exploration, i, &point);
        assert_int_equal(point.number, i);
        assert_int_equal(fth_point_params(exploration, &point, &params, NULL), FTH_OK);
        const struct fth_model_value *values = params->values;
        snprintf(text, sizeof text, "%s %g %g %g", point.input->name,
                 values[fth_model_key(FTH_MODEL_L1, FTH_KEY_WAYS)].number,
                 values[fth_model_key(FTH_MODEL_L2, FTH_KEY_WAYS)].number,
                 values[FTH_KEY_SMS].number);
        assert_string_equal(text, expected[i]);
        assert_string_equal(value_of(params, "l1.latency"), "16");
        fth_model_params_destroy(params);
    }
    fth_explore_destroy(exploration);
}

static void parts_of_values_are_divided_by_plus(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t part;
        const char *result;
    } rows[] = {{"a+b+c", 0, "a"}, {"a+b+c", 1, "b"}, {"a+b+c", 2, "c"}, {"a+b+c", 3, ""},
                {"abc", 0, "abc"}, {"abc", 5, "abc"}, {"+b", 0, ""},     {"+b", 1, "b"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[8];
        fth_value_part(rows[i].text, rows[i].part, text, sizeof text);
        assert_string_equal(text, rows[i].result);
    }
    char cut[3];
    fth_value_part("abc", 0, cut, sizeof cut);
    assert_string_equal(cut, "ab");
}

/* Runs a shard of an exploration with 12 points. */
static void run_shard(size_t shard, size_t shards, const char *output)
{
    struct fth_exploration *exploration = create();
    struct fth_explore_outcome outcome;
    struct fth_error error = NO_ERROR;
    const struct fth_explore_options options =
        FTH_EXPLORE_OPTIONS(.shard = shard, .shards = shards, .threads = 1, .output = output);
    write_plain("tuples", "0 0 0 R 4\n", 10);
    assert_int_equal(fth_explore_trace(exploration, "tuples", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l1.latency=1,2,3,4,5,6,7,8,9,10,11,12", NULL),
                     FTH_OK);
    const enum fth_status status = fth_explore_run(exploration, &options, &outcome, &error);
    assert_int_equal(status, shard <= shards ? FTH_OK : FTH_INVALID);
    if (status == FTH_OK)
        fth_free(outcome.text);
    else
        assert_string_equal(error.cause, "there is no shard 13 of 12");
    fth_explore_destroy(exploration);
}

static void merge_fails(const char *const *paths, size_t count, const char *cause)
{
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    assert_int_not_equal(fth_merge(paths, count, NULL, &text, &size, &error), FTH_OK);
    assert_contains(error.cause, cause);
    assert_null(text);
}

static void missing_shards_are_listed(void **state)
{
    (void)state;
    static const char *const paths[] = {"s1", "s2", "s3", "s4", "half", "other"};
    run_shard(1, 12, "s1");
    run_shard(3, 12, "s2");
    run_shard(4, 12, "s3");
    run_shard(5, 12, "s4");
    run_shard(2, 2, "half");
    run_shard(13, 12, "none");
    merge_fails(paths, 3,
                "9 of 12 points are missing, the first is 1: no file of shard 2/12, 5/12, 6/12, "
                "7/12, 8/12, 9/12, 10/12, 11/12 and 1 more was given");
    merge_fails(paths, 4,
                "8 of 12 points are missing, the first is 1: no file of shard 2/12, 6/12, 7/12, "
                "8/12, 9/12, 10/12, 11/12, 12/12 was given");
    /* Parts of different divisions: the shards are not listed. */
    static const char *const mixed[] = {"half", "s1"};
    merge_fails(mixed, 2, "5 of 12 points are missing, the first is 2: a shard is not finished");
}

/* Two files that contain the same point with different results. */
static void different_points_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"a", "b"};
    run_shard(1, 1, "a");
    struct fth_buffer text = {0};
    struct fth_buffer line = {0}, changed = {0};
    assert_int_equal(fth_file_read("a", FTH_FILE_LIMIT("a file of the test", 1 << 20), &text, NULL),
                     FTH_OK);
    /* Changes the last line, point 11, and gives it a valid checksum. */
    char *last = text.data + text.size - 1;
    while (last[-1] != '\n')
        last--;
    char *steps = strstr(last, "\"l1_steps\":");
    assert_non_null(steps);
    char *digit = steps + strlen("\"l1_steps\":");
    *digit = *digit == '9' ? '8' : '9';
    char *check = strstr(last, ",\"check\":\"");
    assert_non_null(check);
    fth_buffer_append(&changed, text.data, (size_t)(last - text.data));
    fth_buffer_append(&line, last, (size_t)(check - last));
    fth_buffer_append(&changed, line.data, line.size);
    fth_buffer_format(&changed, ",\"check\":\"%016llx\"}\n",
                      (unsigned long long)fth_line_checksum(line.data, line.size, FTH_LINE_START));
    write_plain("b", changed.data, changed.size);
    merge_fails(paths, 2, "point 11 differs from the one in a");
    fth_buffer_fini(&text);
    fth_buffer_fini(&line);
    fth_buffer_fini(&changed);
}

/* The kernel of an input can be given by its C++ name. */
static void kernels_are_found_by_their_names(void **state)
{
    (void)state;
    static const char text[] =
        "# kernel _Z3mapIfEvPT_\n0 0 0 R 8\n# kernel _Z3mapIiEvPT_\n0 0 0 R 8\n"
        "# kernel _Z3mapIfEvPT_\n0 0 0 R 8\n";
    struct fth_exploration *exploration = create();
    struct fth_error error = NO_ERROR;
    size_t number = 0;
    write_plain("names", text, sizeof text - 1);
    struct fth_study *study = fth_study_add(exploration, "names");
    assert_int_equal(fth_input_open(exploration, "names", NULL, NULL, &number, NULL), FTH_OK);
    assert_int_equal(fth_study_input(exploration, study, number, "map", &error), FTH_NOT_FOUND);
    assert_string_equal(error.cause,
                        "several kernels match 'map': map<float>(float*), map<int>(int*)");
    assert_int_equal(study->input_count, 0);
    assert_int_equal(fth_study_input(exploration, study, number, "map<f", NULL), FTH_OK);
    assert_int_equal(study->input_count, 1);
    assert_string_equal(study->kernels[0], "_Z3mapIfEvPT_");
    /* The same trace with another kernel is another job, and with the same kernel it is not. */
    assert_int_equal(fth_study_input(exploration, study, number, "map<i", NULL), FTH_OK);
    assert_int_equal(fth_study_input(exploration, study, number, "map<f", NULL), FTH_OK);
    assert_int_equal(fth_study_input(exploration, study, number, NULL, NULL), FTH_OK);
    assert_int_equal(fth_plan_complete(exploration, NULL), FTH_OK);
    assert_int_equal(exploration->points, 4);
    assert_int_equal(exploration->jobs, 3);
    assert_int_equal(exploration->job_of[2], exploration->job_of[0]);
    fth_explore_destroy(exploration);
}

/* Adds a second study, whose points follow those of the first. Settings of all studies override
 * those of one study. */
static void studies_follow_each_other(void **state)
{
    (void)state;
    static const char *const ways[] = {"2", "4", "8"};
    static const char *const expected[] = {"one 1 3", "one 8 3", "two 7 2", "two 7 4", "two 7 8"};
    struct fth_exploration *exploration = create();
    size_t number = 0;
    write_plain("one", "0 0 0 R 4\n", 10);
    write_plain("two", "# kernel k\n0 0 0 R 8\n", 21);
    assert_int_equal(fth_explore_trace(exploration, "one", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "gpu.sms=1,8", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "l1.latency", "16", NULL), FTH_OK);
    struct fth_study *study = fth_study_add(exploration, "second");
    assert_int_equal(fth_input_open(exploration, "two", NULL, NULL, &number, NULL), FTH_OK);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_study_input(exploration, study, number, "none", &error), FTH_NOT_FOUND);
    assert_string_equal(error.argument, "two");
    assert_string_equal(error.cause, "the trace does not launch a kernel 'none'");
    assert_int_equal(fth_study_input(exploration, study, number, "k", NULL), FTH_OK);
    assert_int_equal(fth_study_set(exploration, study, "gpu.sms", "7", NULL), FTH_OK);
    assert_int_equal(fth_study_set(exploration, study, "l1.latency", "17", NULL), FTH_OK);
    assert_int_equal(fth_study_vary(exploration, study, "l2.ways", ways, 3, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l2.ways=3", NULL), FTH_OK);
    assert_int_equal(fth_plan_complete(exploration, NULL), FTH_OK);
    assert_int_equal(fth_explore_points(exploration, NULL), 5);
    for (size_t i = 0; i < 5; i++) {
        struct fth_model_params *params = NULL;
        struct fth_point point;
        char text[80];
        fth_point_at(exploration, i, &point);
        assert_int_equal(fth_point_params(exploration, &point, &params, NULL), FTH_OK);
        snprintf(text, sizeof text, "%s %s %s", point.input->name, value_of(params, "gpu.sms"),
                 value_of(params, "l2.ways"));
        assert_string_equal(text, expected[i]);
        assert_string_equal(value_of(params, "l1.latency"), "16");
        if (i < 2)
            assert_null(point.kernel);
        else
            assert_string_equal(point.kernel, "k");
        fth_model_params_destroy(params);
    }
    fth_explore_destroy(exploration);
}

/* The complete output of two points. The first read misses in L1 and L2, the second one waits for
 * it, and the write hits: the reads take (600 + 30) / 2 cycles. A miss of the L2 fetches two
 * sectors. */
static void points_are_written_completely(void **state)
{
    (void)state;
    char path[512];
    struct fth_buffer expected = {0};
    struct fth_exploration *exploration = create();
    struct fth_explore_outcome outcome;
    const struct fth_explore_options options = FTH_EXPLORE_OPTIONS(.threads = 1);
    write_plain("tuples", "# kernel k\n0 0 0 R 4\n1 0 0 R 4\n2 0 0 W 4\n", 41);
    assert_int_equal(fth_explore_trace(exploration, "tuples", NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l1.ways=1,2", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "l1.latency_cycles", "30", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "l2.latency_cycles", "200", NULL), FTH_OK);
    assert_int_equal(fth_explore_set(exploration, "memory.latency_cycles", "600", NULL), FTH_OK);
    fth_explore_scope(exploration, true);
    assert_int_equal(fth_explore_run(exploration, &options, &outcome, NULL), FTH_OK);
    snprintf(path, sizeof path, "%s/tests/unit/explore/points.txt", FTH_SOURCE_ROOT);
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 20), &expected, NULL),
        FTH_OK);
    const char *header_end = strchr(outcome.text, '\n');
    assert_non_null(header_end);
    assert_string_equal(header_end + 1, expected.data);
    static const char start[] = "{\"schema\": \"fathom-explore/1\", \"fathom\": \"";
    assert_memory_equal(outcome.text, start, strlen(start));
    assert_contains(outcome.text, "\", \"traces\": [{\"name\": \"tuples\", \"accesses\": 3, "
                                  "\"content\": \"0bafde1b911ba5a4\"}], \"base\": {"
                                  "\"l1.size_bytes\": \"131072\", ");
    assert_contains(outcome.text,
                    "}, \"set\": [{\"l1.latency_cycles\": \"30\"}, {\"l2.latency_cycles\": "
                    "\"200\"}, {\"memory.latency_cycles\": \"600\"}], \"studies\": [{\"name\": "
                    "\"\", \"l1_off\": true, \"traces\": [{\"name\": \"tuples\"}], \"set\": [], "
                    "\"vary\": [{\"names\": [\"l1.ways\"], \"values\": [\"1\", \"2\"]}]}], "
                    "\"points\": 2,\"exploration\":\"");
    fth_free(outcome.text);
    fth_buffer_fini(&expected);
    fth_explore_destroy(exploration);
}

/* Jobs with time share no work, so that each of them is a bundle. They do not separate the jobs
 * without time. */
static void jobs_with_time_are_bundles_of_their_own(void **state)
{
    (void)state;
    static const char *const times[][2] = {
        {"l1.latency_cycles", "30"},      {"l2.latency_cycles", "200"},
        {"memory.latency_cycles", "600"}, {"l2.bytes_per_s", "5e12"},
        {"memory.bytes_per_s", "3e12"},   {"gpu.clock_hz", "1.5e9"}};
    struct fth_exploration *exploration = create();
    struct fth_bundle *bundles = NULL;
    size_t jobs[8], count = 0, alone = 0, together = 0;
    write_plain("tuples", "0 0 0 R 0\n", strlen("0 0 0 R 0\n"));
    assert_int_equal(fth_explore_trace(exploration, "tuples", NULL, NULL, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(times); i++)
        assert_int_equal(fth_explore_set(exploration, times[i][0], times[i][1], NULL), FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "l2.size_bytes=64K,128K,256K,512K", NULL),
                     FTH_OK);
    assert_int_equal(fth_explore_vary(exploration, "gpu.timing=auto,off", NULL), FTH_OK);
    assert_int_equal(fth_plan_complete(exploration, NULL), FTH_OK);
    assert_int_equal(exploration->jobs, 8);
    for (size_t i = 0; i < 8; i++)
        jobs[i] = i;
    assert_int_equal(fth_explore_bundles(exploration, jobs, 8, 1, &bundles, &count, NULL), FTH_OK);
    for (size_t i = 0; i < count; i++) {
        const bool timed = jobs[bundles[i].first] % 2 == 0;
        assert_int_equal(bundles[i].count, timed ? 1 : 4);
        alone += timed;
        together += !timed;
    }
    assert_int_equal(alone, 4);
    assert_int_equal(together, 1);
    free(bundles);
    fth_explore_destroy(exploration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_have_a_checksum),
        cmocka_unit_test(checksums_depend_on_everything),
        cmocka_unit_test(inputs_depend_on_the_options),
        cmocka_unit_test(incomplete_plans_are_refused),
        cmocka_unit_test(axes_and_points_are_limited),
        cmocka_unit_test(points_are_numbered),
        cmocka_unit_test(parts_of_values_are_divided_by_plus),
        cmocka_unit_test(missing_shards_are_listed),
        cmocka_unit_test(different_points_are_refused),
        cmocka_unit_test(studies_follow_each_other),
        cmocka_unit_test(kernels_are_found_by_their_names),
        cmocka_unit_test(points_are_written_completely),
        cmocka_unit_test(jobs_with_time_are_bundles_of_their_own),
    };
    return cmocka_run_group_tests_name("plan", tests, enter_folder, leave_folder);
}
