/* Tests launches that skip data (slice/ of the PTX engine): what is computed, what is skipped, and
 * when the engine refuses to skip. tests/kernels compares the accesses of many kernels with those
 * of full executions. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

enum { WORDS = 64, BYTES = 4 * WORDS, BUFFERS = 3 };

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffers[BUFFERS]; /* the arguments a, b and c */
    uint32_t *words[BUFFERS];
    uint64_t sum; /* of the addresses that the observer saw */
    struct fth_ptx_observer observer;
};

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct job *job = user;
    for (uint32_t left = access->mask; left; left &= left - 1)
        job->sum = job->sum * 31 + access->addresses[__builtin_ctz(left)];
    return true;
}

/* Loads a module and allocates three buffers of 64 words: a has 63, 62, ..., 0. */
static void job_init(struct job *job, const char *text)
{
    struct fth_error error = NO_ERROR;
    *job = (struct job){0};
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    for (size_t i = 0; i < BUFFERS; i++) {
        assert_int_equal(fth_ptx_alloc(job->machine, BYTES, &job->buffers[i], NULL), FTH_OK);
        job->words[i] = fth_ptx_host(job->machine, job->buffers[i], BYTES);
    }
    for (uint32_t i = 0; i < WORDS; i++)
        job->words[0][i] = WORDS - 1 - i;
    job->observer = (struct fth_ptx_observer){.user = job, .access = on_access};
}

static void job_fini(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

static struct fth_ptx_launch launch_of(struct job *job, const char *kernel, bool skip_data)
{
    return (struct fth_ptx_launch){.kernel = kernel,
                                   .block = {WORDS, 1, 1},
                                   .arguments = job->buffers,
                                   .argument_bytes = sizeof job->buffers,
                                   .max_instructions = 100000,
                                   .skip_data = skip_data,
                                   .observer = &job->observer};
}

/* Runs a kernel. Returns the digest of its accesses. */
static uint64_t run(struct job *job, const char *kernel, bool skip_data, enum fth_status expected)
{
    struct fth_error error = NO_ERROR;
    const struct fth_ptx_launch launch = launch_of(job, kernel, skip_data);
    job->sum = 0;
    if (fth_ptx_run(job->machine, &launch, NULL, &error) != expected)
        fail_msg("%s: %s", kernel, error.cause);
    return job->sum;
}

/* The accesses of a full execution of one kernel. */
static uint64_t full_accesses(const char *text, const char *kernel)
{
    struct job job;
    job_init(&job, text);
    const uint64_t sum = run(&job, kernel, false, FTH_OK);
    job_fini(&job);
    return sum;
}

/* A kernel k(a, b, c). %rd1 to %rd3 are the addresses of the thread's words in the buffers, %r1 is
 * the number of the thread. */
#define KERNEL(NAME, BODY)                                                                         \
    ".visible .entry " NAME "(.param .u64 a, .param .u64 b, .param .u64 c)\n"                      \
    "{ .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"                                   \
    "  .shared .align 16 .b8 s[512];\n"                                                            \
    "  ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; ld.param.u64 %rd6, [c];\n"                  \
    "  mov.u32 %r1, %tid.x; mul.wide.u32 %rd7, %r1, 4;\n"                                          \
    "  add.u64 %rd1, %rd4, %rd7; add.u64 %rd2, %rd5, %rd7; add.u64 %rd3, %rd6, %rd7;\n" BODY       \
    "  ret; }\n"

/* Arithmetic on data, its loads and its store are skipped. */
static void data_is_skipped(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1]; mad.lo.u32 %r3, %r2, %r2, %r2;\n"
                         "atom.global.add.u32 %r4, [%rd2], %r3; st.global.u32 [%rd3], %r4;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    for (size_t i = 0; i < WORDS; i++) {
        assert_int_equal(job.words[1][i], 0);
        assert_int_equal(job.words[2][i], 0);
    }
    assert_false(fth_ptx_is_exact(job.machine, job.buffers[2]));
    run(&job, "k", false, FTH_OK);
    assert_int_equal(job.words[1][0], 63 * 64);
    job_fini(&job);
}

/* Gather: the indices in a are needed, the data in b and c are not. */
static void indices_are_read(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1]; mul.wide.u32 %rd8, %r2, 4;\n"
                         "add.u64 %rd9, %rd5, %rd8; ld.global.u32 %r3, [%rd9];\n"
                         "st.global.u32 [%rd3], 7;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    assert_true(fth_ptx_is_exact(job.machine, job.buffers[0]));
    assert_false(fth_ptx_is_exact(job.machine, job.buffers[1]));
    assert_int_equal(job.words[2][5], 0);
    job_fini(&job);
}

/* A branch that depends on data, through a shuffle and a predicate. */
static void branches_are_followed(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1];\n"
                         "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; setp.lt.u32 %p1, %r3, 20;\n"
                         "@%p1 bra skip; st.global.u32 [%rd2], %r3;\nskip:\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    job_fini(&job);
}

/* Pointer chasing through shared memory: all that is stored there is computed. */
static void chains_in_shared_memory_are_followed(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1]; shl.b32 %r3, %r1, 2; mov.u32 %r4, s;\n"
                         "add.u32 %r5, %r4, %r3; st.shared.u32 [%r5], %r2; bar.sync 0;\n"
                         "mov.u32 %r6, 0; mov.u32 %r7, %r1;\n"
                         "loop: shl.b32 %r8, %r7, 2; add.u32 %r9, %r4, %r8;\n"
                         "ld.shared.u32 %r7, [%r9]; mul.wide.u32 %rd8, %r7, 4;\n"
                         "add.u64 %rd9, %rd5, %rd8; st.global.u32 [%rd9], %r6;\n"
                         "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 5; @%p1 bra loop;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    job_fini(&job);
}

/* A value at a constant shared address is computed; the data next to it is skipped. The branch has
 * data at other addresses that are not constant. */
static void constant_shared_addresses_are_told_apart(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1]; shl.b32 %r3, %r1, 2; mov.u32 %r4, s;\n"
                         "add.u32 %r5, %r4, %r3; mul.lo.u32 %r6, %r2, %r2;\n"
                         "st.shared.u32 [%r5+16], %r6; setp.ne.u32 %p1, %r1, 3;\n"
                         "@%p1 bra wait; st.shared.u32 [s], %r1;\nwait: bar.sync 0;\n"
                         "ld.shared.u32 %r7, [s]; mul.wide.u32 %rd8, %r7, 4;\n"
                         "add.u64 %rd9, %rd5, %rd8; ld.shared.u32 %r8, [%r5+16];\n"
                         "st.global.u32 [%rd9], %r8;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    assert_false(fth_ptx_is_exact(job.machine, job.buffers[0]));
    job_fini(&job);
}

/* The threads up to LAST read their element of a table in shared memory, which is written at
 * constant addresses and has four elements. */
#define TABLE(LAST)                                                                                \
    HEAD KERNEL("k",                                                                               \
                "ld.global.u32 %r2, [%rd1]; shl.b32 %r3, %r1, 2; mov.u32 %r4, s;\n"                \
                "add.u32 %r5, %r4, %r3; mul.lo.u32 %r6, %r2, %r2;\n"                               \
                "st.shared.u32 [%r5], %r6; st.shared.v2.u32 [s+256], {3, 4};\n"                    \
                "st.shared.v2.u32 [s+264], {5, 6}; bar.sync 0;\n"                                  \
                "setp.gt.u32 %p1, %r1, " LAST "; @%p1 bra end; ld.shared.u32 %r7, [%r5+256];\n"    \
                "mul.wide.u32 %rd8, %r7, 4; add.u64 %rd9, %rd5, %rd8;\n"                           \
                "st.global.u32 [%rd9], %r6;\nend:\n")

static void tables_in_shared_memory_are_told_apart(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, TABLE("3"));
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(TABLE("3"), "k"));
    assert_false(fth_ptx_is_exact(job.machine, job.buffers[0]));
    job_fini(&job);
    job_init(&job, TABLE("4")); /* the last thread reads past the table */
    run(&job, "k", true, FTH_INCONCLUSIVE);
    job_fini(&job);
}

/* An address that leaves its buffer: the store goes to a, whose contents are needed. */
static void stores_to_other_buffers_are_found(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd1]; mul.wide.u32 %rd8, %r2, 4;\n"
                         "add.u64 %rd9, %rd6, %rd8; ld.global.u32 %r3, [%rd9];\n"
                         "st.global.u32 [%rd2-512], %r3;\n");
    struct job job;
    job_init(&job, text);
    assert_int_equal(job.buffers[1] - job.buffers[0], 512);
    run(&job, "k", true, FTH_INCONCLUSIVE);
    job_fini(&job);
}

/* A load whose address leaves its buffer, and whose value is needed. */
static void loads_from_other_buffers_are_found(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k", "ld.global.u32 %r2, [%rd2-512]; mul.wide.u32 %rd8, %r2, 4;\n"
                         "add.u64 %rd9, %rd6, %rd8; ld.global.u32 %r3, [%rd9];\n");
    struct job job;
    job_init(&job, text);
    run(&job, "k", true, FTH_INCONCLUSIVE);
    job_fini(&job);
}

#define WRITER                                                                                     \
    KERNEL("first", "sub.u32 %r2, 63, %r1; st.global.u32 [%rd2], %r2;\n"                           \
                    "st.global.u32 [%rd3], %r2;\n")
#define READER                                                                                     \
    KERNEL("second", "ld.global.u32 %r2, [%rd2]; mul.wide.u32 %rd8, %r2, 4;\n"                     \
                     "add.u64 %rd9, %rd4, %rd8; ld.global.u32 %r3, [%rd9];\n")

/* The second launch needs what the first one writes to b, but not what it writes to c. */
static void plans_include_later_launches(void **state)
{
    (void)state;
    static const char *const names[] = {"second", "first"};
    struct job job;
    job_init(&job, HEAD WRITER READER);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_ptx_launch launch = launch_of(&job, names[i], true);
        bool changed = false;
        assert_int_equal(fth_ptx_plan(job.machine, &launch, &changed, NULL), FTH_OK);
        assert_int_equal(changed, i == 0);
    }
    assert_true(fth_ptx_is_needed(job.machine, job.buffers[1]));
    assert_false(fth_ptx_is_needed(job.machine, job.buffers[2]));
    assert_false(fth_ptx_omit(job.machine, job.buffers[1]));
    assert_true(fth_ptx_omit(job.machine, job.buffers[2]));
    run(&job, "first", true, FTH_OK);
    assert_int_equal(job.words[1][0], 63);
    assert_int_equal(job.words[2][0], 0);
    run(&job, "second", true, FTH_OK);
    job_fini(&job);
}

/* What a launch depends on can be found out without running it, one launch after the other. */
static void plans_can_be_cleared(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD WRITER READER);
    bool changed = false;
    const struct fth_ptx_launch launches[] = {launch_of(&job, "second", true),
                                              launch_of(&job, "first", true)};
    for (int i = 0; i < 2; i++) {
        fth_ptx_clear_plan(job.machine);
        assert_int_equal(fth_ptx_plan(job.machine, &launches[i], &changed, NULL), FTH_OK);
        assert_int_equal(fth_ptx_is_needed(job.machine, job.buffers[1]), i == 0);
    }
    run(&job, "first", true, FTH_OK);
    fth_ptx_clear_plan(job.machine);
    run(&job, "second", true, FTH_OK); /* although b was not computed */
    job_fini(&job);
}

/* Without a plan, the first launch skips b. */
static void unplanned_launches_are_refused(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD WRITER READER);
    run(&job, "first", true, FTH_OK);
    run(&job, "second", true, FTH_INCONCLUSIVE);
    job_fini(&job);
}

/* Arguments and results of functions, in registers and in parameter memory. */
static void calls_are_followed(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".func (.reg .b32 r) twice(.reg .b32 x) { add.u32 r, x, x; ret; }\n"
             ".func (.param .b32 r) half(.param .b32 x)\n"
             "{ .reg .b32 %t; ld.param.b32 %t, [x]; shr.u32 %t, %t, 1; st.param.b32 [r], %t; ret; "
             "}\n" KERNEL("k", "ld.global.u32 %r2, [%rd1]; call (%r3), twice, (%r2);\n"
                               "{ .param .b32 x; .param .b32 r; st.param.b32 [x], %r3;\n"
                               "  call (r), half, (x); ld.param.b32 %r4, [r]; }\n"
                               "mul.wide.u32 %rd8, %r4, 4; add.u64 %rd9, %rd5, %rd8;\n"
                               "st.global.u32 [%rd9], %r3;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    job_fini(&job);
}

/* A function returns the address of an index. The result of the call is the first register of the
 * kernel; the argument and the result of the function are its only ones. */
static void results_can_be_the_first_register(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".func (.reg .b64 r) same(.reg .b64 x) { mov.u64 r, x; ret; }\n"
             ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n"
             "{ .reg .b64 %first, %rd<9>; .reg .b32 %r<4>;\n"
             "  ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; mov.u32 %r1, %tid.x;\n"
             "  mul.wide.u32 %rd7, %r1, 4; add.u64 %rd1, %rd4, %rd7;\n"
             "  call (%first), same, (%rd1); ld.global.u32 %r2, [%first];\n"
             "  mul.wide.u32 %rd8, %r2, 4; add.u64 %rd8, %rd5, %rd8;\n"
             "  ld.global.u32 %r3, [%rd8]; ret; }\n";
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    assert_true(fth_ptx_is_exact(job.machine, job.buffers[0]));
    assert_false(fth_ptx_is_exact(job.machine, job.buffers[1]));
    job_fini(&job);
}

/* A copy whose data is not needed still completes at its mbarrier. */
static void copies_complete(void **state)
{
    (void)state;
    static const char text[] = HEAD KERNEL(
        "k", "setp.ne.u32 %p1, %r1, 0; @%p1 bra wait; mbarrier.init.shared.b64 [s+256], 1;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [s+256], 256;\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd4], 256, "
             "[s+256];\n"
             "wait: bar.sync 0;\n"
             "again: mbarrier.try_wait.parity.shared.b64 %p2, [s+256], 0; @!%p2 bra again;\n"
             "mov.u32 %r4, s; shl.b32 %r3, %r1, 2; add.u32 %r5, %r4, %r3;\n"
             "ld.shared.u32 %r2, [%r5]; st.global.u32 [%rd2], %r2;\n");
    struct job job;
    job_init(&job, text);
    assert_true(run(&job, "k", true, FTH_OK) == full_accesses(text, "k"));
    assert_int_equal(job.words[1][0], 0);
    run(&job, "k", false, FTH_OK);
    assert_int_equal(job.words[1][0], 63);
    job_fini(&job);
}

/* Accesses outside of shared and global memory, and unaligned ones, fail as in a full execution.
 * The buffers have 256 bytes. */
static void faults_are_found_without_data(void **state)
{
    (void)state;
    static const struct {
        int shared_bytes;
        const char *statement;
        bool is_valid;
    } rows[] = {
        {512, "ld.shared.u32 %r2, [s+508];", true},
        {512, "ld.shared.u32 %r2, [s+509];", false},
        {512, "ld.shared.u32 %r2, [s+512];", false},
        {512, "st.shared.u32 [s+508], %r1;", true},
        {512, "st.shared.u32 [s+512], %r1;", false},
        {512, "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s+496];", true},
        {512, "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s+504];", false},
        {16, "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s];", true},
        {8, "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s];", false},
        {1, "ld.shared.u32 %r2, [s];", false},
        {512, "ld.global.u32 %r2, [%rd4+252];", true},
        {512, "ld.global.u32 %r2, [%rd4+256];", false},
        {512, "ld.global.u32 %r2, [%rd4+2];", false},
        {512, "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4+240];", true},
        {512, "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4+256];", false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        struct fth_error errors[2] = {NO_ERROR, NO_ERROR};
        char text[600];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n"
                      "{ .reg .b32 %%r<8>; .reg .b64 %%rd<8>; .shared .align 16 .b8 s[%d];\n"
                      "  ld.param.u64 %%rd4, [a]; mov.u32 %%r1, %%tid.x;\n  %s\n  ret; }\n",
                 rows[i].shared_bytes, rows[i].statement);
        job_init(&job, text);
        for (int skip_data = 0; skip_data < 2; skip_data++) {
            struct fth_ptx_launch launch = launch_of(&job, "k", skip_data);
            launch.block[0] = 1;
            if (fth_ptx_run(job.machine, &launch, NULL, &errors[skip_data]) !=
                (rows[i].is_valid ? FTH_OK : FTH_INVALID))
                fail_msg("%s, skip_data %d: %s", rows[i].statement, skip_data,
                         errors[skip_data].cause);
        }
        assert_string_equal(errors[0].cause, errors[1].cause);
        job_fini(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_skipped),
        cmocka_unit_test(indices_are_read),
        cmocka_unit_test(branches_are_followed),
        cmocka_unit_test(chains_in_shared_memory_are_followed),
        cmocka_unit_test(constant_shared_addresses_are_told_apart),
        cmocka_unit_test(tables_in_shared_memory_are_told_apart),
        cmocka_unit_test(stores_to_other_buffers_are_found),
        cmocka_unit_test(loads_from_other_buffers_are_found),
        cmocka_unit_test(plans_include_later_launches),
        cmocka_unit_test(plans_can_be_cleared),
        cmocka_unit_test(unplanned_launches_are_refused),
        cmocka_unit_test(calls_are_followed),
        cmocka_unit_test(results_can_be_the_first_register),
        cmocka_unit_test(faults_are_found_without_data),
        cmocka_unit_test(copies_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
