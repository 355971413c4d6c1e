/* Tests capsules without the contents of memory: which launches can be replayed from them; traces
 * of capsules, and the table of results. */
#include "capsule_builder.h"
#include "folder.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define OUT 0x7f0000000000
#define IN 0x7f0000100000
#define SIZE_VARIABLE 0x7f0000200000
enum { BYTES = 4096 };

/* `copy` adds an element of `in` to one of `out`. `gather` takes the index of the element from
 * memory. `limit` and `count` have the number of elements in a constant and in a variable. */
static const char text[] = HEAD ".const .u32 size = 2;\n.global .u32 extent = 2;\n"
#define BODY(name, before)                                                                         \
    ".visible .entry " name "(.param .u64 out, .param .u64 in)\n"                                  \
    "{ .reg .b32 %r<4>; .reg .b64 %w<5>; .reg .pred %p;\n"                                         \
    "  ld.param.u64 %w0, [out]; ld.param.u64 %w1, [in]; mov.u32 %r0, %tid.x;\n" before             \
    "  mul.wide.u32 %w2, %r0, 4; add.u64 %w0, %w0, %w2; add.u64 %w1, %w1, %w2;\n"                  \
    "  ld.global.u32 %r1, [%w0]; ld.global.u32 %r2, [%w1]; add.u32 %r1, %r1, %r2;\n"               \
    "  st.global.u32 [%w0], %r1; ret; }\n"
    BODY("copy", "") BODY("gather", "ld.global.u32 %r0, [%w1];\n")
        BODY("limit", "ld.const.u32 %r3, [size]; setp.ge.u32 %p, %r0, %r3; @%p ret;\n") BODY(
            "count",
            "ld.global.u32 %r3, [extent]; setp.ge.u32 %p, %r0, %r3; @%p ret;\n") ".visible .entry "
                                                                                 "trap() { trap; "
                                                                                 "}\n";

static const uint64_t parameters[] = {OUT, IN};

/* Adds a launch of a kernel; `variable` NULL: without a variable. */
static void put(struct fth_capsule_writer *writer, uint64_t number, const char *kernel,
                const char *variable, const void *contents)
{
    static const uint32_t size = 4;
    const struct fth_capsule_launch launch = {.number = number,
                                              .kernel = kernel,
                                              .module = 1,
                                              .grid = {1, 1, 1},
                                              .block = {32, 1, 1},
                                              .parameters = parameters,
                                              .parameter_bytes = sizeof parameters};
    put_launch(writer, launch,
               (struct memory[]){
                   {OUT, contents, NULL, BYTES, NULL},
                   {IN, contents, NULL, BYTES, NULL},
                   {SIZE_VARIABLE, contents ? &size : NULL, NULL, variable ? 4 : 0, variable},
                   {0}});
}

/* ---- missing contents ---- */

static size_t warnings;
static char last_warning[1024];

static void count_warning(void *user, enum fth_level level, const char *message)
{
    (void)user;
    warnings += level == FTH_LOG_WARNING;
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

static const struct fth_log logger = {.message = count_warning};

static void missing_data_is_reported(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *variable;
        bool lacks_data; /* if the capsule has no contents */
    } rows[] = {
        {"copy", NULL, false},  {"gather", NULL, true},    {"limit", "size", true},
        {"limit", NULL, false}, {"count", "extent", true}, {"copy", "extent", false},
    };
    static const unsigned char zeros[BYTES];
    for (size_t i = 0; i < 2 * FTH_COUNT(rows); i++) {
        const bool is_light = i % 2;
        struct fth_capsule_writer *writer = create_capsule("a.capsule", is_light);
        struct fth_replay *replay = NULL;
        put_ptx(writer, text);
        put(writer, 0, rows[i / 2].kernel, rows[i / 2].variable, is_light ? NULL : zeros);
        put(writer, 1, rows[i / 2].kernel, rows[i / 2].variable, is_light ? NULL : zeros);
        assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
        const struct fth_replay_options options =
            FTH_REPLAY_OPTIONS(.verifies = true, .log = &logger);
        warnings = 0;
        assert_int_equal(fth_capsule_replay("a.capsule", &options, &replay, NULL), FTH_OK);
        for (size_t k = 0; k < 2; k++) {
            const struct fth_replay_launch *launch = fth_replay_launch_at(replay, k);
            assert_int_equal(launch->outcome, FTH_REPLAY_NOT_VERIFIED);
            assert_int_equal(launch->lacks_data, is_light && rows[i / 2].lacks_data);
        }
        /* Once for each kernel. */
        assert_int_equal(warnings, is_light && rows[i / 2].lacks_data ? 1 : 0);
        if (warnings)
            assert_contains(last_warning, "depend on data that the capsule does not contain");
        fth_replay_destroy(replay);
    }
}

/* A region of any size takes no memory where nothing is written. */
static void light_regions_can_be_larger_than_the_memory(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer = create_capsule("a.capsule", true);
    struct fth_replay *replay = NULL;
    const struct fth_capsule_launch launch = {.kernel = "copy",
                                              .module = 1,
                                              .grid = {1, 1, 1},
                                              .block = {32, 1, 1},
                                              .parameters = parameters,
                                              .parameter_bytes = sizeof parameters};
    put_ptx(writer, text);
    put_launch(writer, launch,
               (struct memory[]){
                   {OUT, NULL, NULL, BYTES, NULL}, {IN, NULL, NULL, (uint64_t)1 << 36, NULL}, {0}});
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.max_memory_bytes = 1);
    assert_int_equal(fth_capsule_replay("a.capsule", &options, &replay, NULL), FTH_OK);
    assert_int_equal(fth_replay_launch_at(replay, 0)->outcome, FTH_REPLAY_RAN);
    fth_replay_destroy(replay);
}

/* ---- traces ---- */

/* Writes a capsule with four launches, of which the third one cannot be replayed. */
static void write_four(const char *last)
{
    static const unsigned char zeros[BYTES];
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, text);
    put(writer, 0, "copy", NULL, zeros);
    put(writer, 1, "count", "extent", zeros);
    put(writer, 5, "absent", NULL, zeros);
    put(writer, 6, last, NULL, zeros);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
}

static struct fth_trace *trace(const struct fth_launch_options *launch, enum fth_status expected,
                               struct fth_error *error)
{
    const struct fth_trace_options options = FTH_TRACE_OPTIONS(.launch = launch, .log = &logger);
    struct fth_trace *result = NULL;
    warnings = 0;
    assert_int_equal(fth_trace_obtain("a.capsule", &options, &result, error), expected);
    return result;
}

static void capsules_are_traced(void **state)
{
    (void)state;
    const struct fth_launch_options options[] = {
        FTH_LAUNCH_OPTIONS(), FTH_LAUNCH_OPTIONS(.first_launch = 1, .end_launch = 6),
        FTH_LAUNCH_OPTIONS(.kernels = "gather")};
    static const char *const kernels[][4] = {{"copy", "count", "gather"}, {"count"}, {"gather"}};
    static const size_t left_out[] = {1, 1, 0};
    write_four("gather");
    for (size_t i = 0; i < FTH_COUNT(options); i++) {
        struct fth_trace *result = trace(&options[i], FTH_OK, NULL);
        for (size_t k = 0; k < 4; k++) {
            const struct fth_trace_launch *launch = fth_trace_launch_at(result, k);
            assert_int_equal(launch != NULL, kernels[i][k] != NULL);
            if (!launch)
                break;
            assert_string_equal(launch->kernel, kernels[i][k]);
            assert_true(launch->accesses > 0);
        }
        assert_int_equal(warnings, left_out[i]);
        if (left_out[i])
            assert_contains(last_warning, "absent is left out from launch 5 on: the PTX of its "
                                          "module does not have the kernel");
        fth_trace_close(result);
    }
    /* The addresses are those of the program. */
    struct fth_trace *result = trace(&options[2], FTH_OK, NULL);
    struct fth_trace_cursor *cursor;
    const struct fth_trace_access *access;
    assert_int_equal(fth_trace_cursor_open(result, 0, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
    assert_int_equal(fth_trace_next(cursor, &access, NULL), FTH_OK);
    assert_true(access->addresses[0] == IN);
    fth_trace_cursor_close(cursor);
    fth_trace_close(result);
}

static void traces_that_cannot_be_made_are_refused(void **state)
{
    (void)state;
    static const char *const sizes[] = {"N=1"}, *const arguments[] = {"i32:5"};
    static const uint64_t seed = 1;
    static const uint32_t cluster[3] = {1, 1, 1};
    const struct {
        struct fth_launch_options options;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {FTH_LAUNCH_OPTIONS(), FTH_INVALID, "launch 6: "},
        {FTH_LAUNCH_OPTIONS(.kernels = "absent"), FTH_NOT_FOUND,
         "none of the 1 selected launches can be replayed"},
        {FTH_LAUNCH_OPTIONS(.kernels = "nothing"), FTH_NOT_FOUND, "no launch is selected"},
        {FTH_LAUNCH_OPTIONS(.kernels = "["), FTH_INVALID, "not a regular expression"},
        {FTH_LAUNCH_OPTIONS(.sizes = sizes, .size_count = 1), FTH_INVALID, "--set"},
        {FTH_LAUNCH_OPTIONS(.kernel = "copy"), FTH_INVALID, "--entry"},
        {FTH_LAUNCH_OPTIONS(.grid = {1}), FTH_INVALID, "--grid"},
        {FTH_LAUNCH_OPTIONS(.block = {1}), FTH_INVALID, "--block"},
        {FTH_LAUNCH_OPTIONS(.cluster = cluster), FTH_INVALID, "--cluster"},
        {FTH_LAUNCH_OPTIONS(.shared_bytes = 1), FTH_INVALID, "--shared"},
        {FTH_LAUNCH_OPTIONS(.arguments = arguments, .argument_count = 1), FTH_INVALID, "--arg"},
        {FTH_LAUNCH_OPTIONS(.seed = &seed), FTH_INVALID, "--seed"},
    };
    write_four("trap");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_null(trace(&rows[i].options, rows[i].status, &error));
        assert_contains(error.cause, rows[i].cause);
    }
}

/* Options for capsules do not apply to other inputs. */
static void options_for_capsules_are_refused(void **state)
{
    (void)state;
    const struct {
        struct fth_launch_options options;
        const char *cause;
    } rows[] = {{FTH_LAUNCH_OPTIONS(.kernels = "k"), "--kernel only applies to capsules; --entry"},
                {FTH_LAUNCH_OPTIONS(.first_launch = 1), "--launch only applies to capsules"},
                {FTH_LAUNCH_OPTIONS(.end_launch = 1), "--launch only applies to capsules"},
                {FTH_LAUNCH_OPTIONS(.max_memory_bytes = 1), "--max-memory only applies"}};
    write_plain("k.ptx", text, sizeof text - 1);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_launch_open("k.ptx", &rows[i].options, &launch, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
}

/* ---- results ---- */

static void results_are_shown(void **state)
{
    (void)state;
    static const char expected[] =
        "Launch  Kernel  Grid   Block   Result   Reason\n"
        "     0  copy    1 1 1  32 1 1  ran      -\n"
        "     1  count   1 1 1  32 1 1  ran      -\n"
        "     5  absent  1 1 1  32 1 1  skipped  the PTX of its module does not have the kernel\n"
        "     6  copy    1 1 1  32 1 1  ran      -\n"
        "\n"
        "Kernel  Launches  Exact  Differs  Not compared  Failed  Skipped  Reason\n"
        "copy           2      0        0             2       0        0  -\n"
        "count          1      0        0             1       0        0  -\n"
        "absent         1      0        0             0       0        1  the PTX of its module "
        "does not have the kernel\n";
    struct fth_replay *replay = NULL;
    char *shown = NULL;
    size_t size = 0;
    write_four("copy");
    assert_int_equal(fth_capsule_replay("a.capsule", NULL, &replay, NULL), FTH_OK);
    const struct fth_report_options wide = FTH_REPORT_OPTIONS(.columns = 120);
    assert_int_equal(fth_report_replay("text", replay, &wide, &shown, &size, NULL), FTH_OK);
    assert_string_equal(shown, expected);
    fth_free(shown);
    assert_int_equal(fth_report_replay("csv", replay, NULL, &shown, &size, NULL), FTH_OK);
    assert_contains(shown, "\n1,count,1 1 1,32 1 1,ran,,count\n");
    fth_free(shown);
    assert_int_equal(fth_report_replay("json", replay, NULL, &shown, &size, NULL), FTH_OK);
    assert_contains(shown, "\"schema\": \"fathom-replay/1\"");
    assert_contains(shown, "\"result\": \"skipped\"");
    assert_contains(shown, "\"grid\": [1, 1, 1]");
    fth_free(shown);
    assert_int_equal(fth_report_replay("xml", replay, NULL, &shown, &size, NULL), FTH_INVALID);
    fth_replay_destroy(replay);
}

/* What a program that was killed has captured is replayed. */
static void truncated_capsules_are_replayed(void **state)
{
    (void)state;
    static const unsigned char zeros[BYTES];
    struct fth_replay *replay = NULL;
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, text);
    put(writer, 0, "copy", NULL, zeros);
    fth_capsule_abandon(writer);
    assert_int_equal(fth_capsule_replay("a.capsule", NULL, &replay, NULL), FTH_OK);
    assert_int_equal(fth_replay_launch_count(replay), 1);
    assert_contains(fth_replay_truncated(replay), "ended before the capsule was complete");
    fth_replay_destroy(replay);
    fth_trace_close(trace(NULL, FTH_OK, NULL));
    assert_int_equal(warnings, 1);
    assert_true(fth_capsule_is("a.capsule"));
    assert_false(fth_capsule_is("absent"));
    assert_int_equal(fth_capsule_replay("absent", NULL, &replay, NULL), FTH_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_data_is_reported),
        cmocka_unit_test(light_regions_can_be_larger_than_the_memory),
        cmocka_unit_test(capsules_are_traced),
        cmocka_unit_test(traces_that_cannot_be_made_are_refused),
        cmocka_unit_test(options_for_capsules_are_refused),
        cmocka_unit_test(results_are_shown),
        cmocka_unit_test(truncated_capsules_are_replayed),
    };
    return cmocka_run_group_tests_name("capsule_light", tests, enter_folder, leave_folder);
}
