/* Tests of buffers whose contents are in the memory of the caller. The kernel `next` runs with one
 * thread: it stores from[0] + 1 to to[1], and then to[0] + 10 to from[2]. */
#include "check.h"
#include "folder.h"

static const char module[] =
    ".version 8.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry next(.param .u64 to, .param .u64 from)\n{\n"
    "    .reg .b64 %rd<3>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [from];\n"
    "    ld.global.u32 %r1, [%rd2];\n    add.u32 %r1, %r1, 1;\n    st.global.u32 [%rd1+4], %r1;\n"
    "    ld.global.u32 %r2, [%rd1];\n    add.u32 %r2, %r2, 10;\n"
    "    st.global.u32 [%rd2+8], %r2;\n    ret;\n}\n";

/* Opens the kernel with two arguments and their contents. */
static enum fth_status open_kernel(const char *to, const char *from, const void *to_memory,
                                   const void *from_memory, struct fth_launch **launch,
                                   struct fth_error *error)
{
    const char *const arguments[] = {to, from};
    const void *const contents[] = {to_memory, from_memory};
    write_plain("k.ptx", module, sizeof module - 1);
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.block = {1}, .arguments = arguments, .argument_count = 2,
                           .contents = contents);
    return fth_launch_open("k.ptx", &options, launch, error);
}

static void check_values(const struct fth_launch *launch, size_t index, const int *wanted,
                         size_t count)
{
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    int values[8];
    assert_int_equal(fth_launch_copy(launch, index, &view, values, count * sizeof *values, &error),
                     FTH_OK);
    assert_null(view.name);
    assert_int_equal(view.number, index + 1);
    assert_string_equal(view.type, "s32");
    assert_int_equal(view.count, count);
    assert_memory_equal(values, wanted, count * sizeof *values);
}

/* Where the arguments point to in an array of 6 numbers, and the results. */
static void arguments_share_memory(void **state)
{
    (void)state;
    static const struct {
        size_t to, to_count, from, from_count;
        int to_values[6], from_values[6];
    } cases[] = {
        {0, 2, 2, 4, {1, 4}, {3, 4, 11, 6}},                    /* nothing in common */
        {0, 6, 0, 6, {1, 2, 11, 4, 5, 6}, {1, 2, 11, 4, 5, 6}}, /* the same */
        {0, 6, 2, 4, {1, 4, 3, 4, 11, 6}, {3, 4, 11, 6}},       /* the second within */
        {1, 3, 0, 6, {2, 12, 4}, {1, 2, 12, 4, 5, 6}},          /* the first within */
    };
    static const char *const devices[] = {NULL, "sim:gtx980"};
    static const int initial[6] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t at = i / 2;
        char to[32], from[32], text[1200];
        int memory[6];
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        const struct fth_run_options options = FTH_RUN_OPTIONS(.device = devices[i % 2]);
        memcpy(memory, initial, sizeof memory);
        snprintf(to, sizeof to, "ptr:s32[%zu]", cases[at].to_count);
        snprintf(from, sizeof from, "ptr:s32[%zu]=iota", cases[at].from_count);
        if (open_kernel(to, from, memory + cases[at].to, memory + cases[at].from, &launch,
                        &error) != FTH_OK ||
            fth_launch_run(launch, &options, NULL, &error) != FTH_OK)
            fail_msg("%s", fth_error_text(&error, text, sizeof text));
        check_values(launch, 0, cases[at].to_values, cases[at].to_count);
        check_values(launch, 1, cases[at].from_values, cases[at].from_count);
        assert_memory_equal(memory, initial, sizeof memory); /* the library only reads it */
        fth_launch_destroy(launch);
    }
}

static void a_part_can_be_within_several(void **state)
{
    (void)state;
    static const char three[] =
        ".version 8.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
        "    .reg .b64 %rd<2>;\n    ld.param.u64 %rd1, [a];\n"
        "    st.global.u32 [%rd1], 7;\n    ret;\n}\n";
    const char *const arguments[] = {"ptr:s32[1]", "ptr:s32[3]", "ptr:s32[6]"};
    const int memory[6] = {1, 2, 3, 4, 5, 6}, wanted[6] = {1, 2, 3, 7, 5, 6};
    const void *const contents[] = {memory + 3, memory + 2, memory};
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.block = {1}, .arguments = arguments, .argument_count = 3,
                           .contents = contents);
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    write_plain("three.ptx", three, sizeof three - 1);
    assert_int_equal(fth_launch_open("three.ptx", &options, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    check_values(launch, 0, wanted + 3, 1);
    check_values(launch, 1, wanted + 2, 3);
    check_values(launch, 2, wanted, 6);
    fth_launch_destroy(launch);
}

static void wrong_memory_is_refused(void **state)
{
    (void)state;
    const int memory[6] = {0};
    static const struct {
        const char *to, *from, *message;
        size_t to_at, from_at;
    } cases[] = {
        {"ptr:s32[4]", "ptr:s32[4]", "arguments 1 and 2 share only a part of their memory", 0, 2},
        {"ptr:s32[4]", "null", "is not a buffer", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(open_kernel(cases[i].to, cases[i].from, memory + cases[i].to_at,
                                     memory + cases[i].from_at, &launch, &error),
                         FTH_INVALID);
        assert_null(launch);
        assert_contains(error.cause, cases[i].message);
    }
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(open_kernel("ptr:s32[2]", "ptr:s32[4]", memory, memory + 2, &launch, &error),
                     FTH_OK);
    fth_launch_destroy(launch); /* neighbours do not overlap */
}

static void copies_are_checked(void **state)
{
    (void)state;
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    int values[8];
    assert_int_equal(open_kernel("ptr:s32[2]", "ptr:s32[4]", NULL, NULL, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_copy(launch, 1, &view, NULL, 0, &error), FTH_OK);
    assert_int_equal(view.count, 4);
    assert_int_equal(fth_launch_copy(launch, 0, &view, values, 4, &error), FTH_UNAVAILABLE);
    error = NO_ERROR;
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_launch_copy(launch, 0, &view, values, 9, &error), FTH_INVALID);
    assert_contains(error.cause, "it has 8 bytes, fewer than 9");
    error = NO_ERROR;
    assert_int_equal(fth_launch_copy(launch, 2, &view, values, 4, &error), FTH_NOT_FOUND);
    error = NO_ERROR;
    assert_int_equal(fth_launch_copy(launch, 1, &view, values, sizeof(int[3]), &error), FTH_OK);
    assert_int_equal(values[2], 10);
    fth_launch_destroy(launch);
}

/* A flag stops a run, and the flag 0 does not. */
static void a_flag_interrupts(void **state)
{
    (void)state;
    int flag = 0;
    const struct fth_log log = {.interrupted = fth_interrupted_by_flag, .user = &flag};
    const struct fth_run_options options = FTH_RUN_OPTIONS(.log = &log);
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(open_kernel("ptr:s32[2]", "ptr:s32[4]", NULL, NULL, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_run(launch, &options, NULL, &error), FTH_OK);
    flag = 1;
    assert_int_equal(fth_launch_run(launch, &options, NULL, &error), FTH_INTERRUPTED);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_share_memory),  cmocka_unit_test(a_part_can_be_within_several),
        cmocka_unit_test(wrong_memory_is_refused), cmocka_unit_test(copies_are_checked),
        cmocka_unit_test(a_flag_interrupts),
    };
    return cmocka_run_group_tests_name("launch_memory", tests, enter_folder, leave_folder);
}
