/* Tests of ptx/: the functions of the CUDA runtime that kernels call. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"                       \
    ".extern .func __assertfail(.param .b64 e, .param .b64 f, .param .b32 l, .param .b64 n,"       \
    " .param .b64 s);\n"                                                                           \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                                       \
    ".extern .func (.param .b64 r) __cuda_syscall_aligned_malloc(.param .b64 n, .param .b64 a);\n" \
    ".extern .func free(.param .b64 p);\n"
/* A kernel with parameters and results for calls of each function. */
#define KERNEL(body)                                                                               \
    ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n"   \
    ".reg .f64 %d;\n.param .b64 x; .param .b64 y; .param .b32 i; .param .b64 z; .param .b64 w;\n"  \
    ".local .align 8 .b8 values[64]; .reg .b64 v;\nld.param.u64 %rd1, [p]; mov.u64 v, values;\n"   \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" body "\nret; }\n"
/* Prints with the format `text` and the arguments in the local variable `values`. */
#define PRINT(text)                                                                                \
    "mov.u64 %rd2, " text "; cvta.global.u64 %rd2, %rd2; st.param.b64 [x], %rd2;\n"                \
    "cvta.local.u64 %rd3, v; st.param.b64 [y], %rd3;\ncall (i), vprintf, (x, y);\n"                \
    "ld.param.b32 %r8, [i];\n"

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffer;
    struct fth_ptx_launch launch;
    struct fth_buffer output;
};

static void collect(void *user, const char *text, size_t size)
{
    assert_true(size > 0);
    fth_buffer_append(user, text, size);
}

/* Loads the declarations of the runtime, the variables `text` with these bytes, and the kernel. */
static void job_init(struct job *job, const char *const texts[], const char *kernel)
{
    struct fth_error error = NO_ERROR;
    struct fth_buffer ptx = {0};
    fth_buffer_text(&ptx, HEAD);
    for (size_t i = 0; texts[i]; i++) {
        fth_buffer_format(&ptx, ".global .b8 t%zu[%zu] = {", i, strlen(texts[i]) + 1);
        for (const char *at = texts[i]; *at; at++)
            fth_buffer_format(&ptx, "%d, ", *at);
        fth_buffer_text(&ptx, "0};\n");
    }
    fth_buffer_text(&ptx, kernel);
    *job = (struct job){0};
    if (fth_ptx_read_text("test.ptx", ptx.data, ptx.size, &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, 8192, &job->buffer, NULL), FTH_OK);
    job->launch = (struct fth_ptx_launch){.kernel = "k",
                                          .arguments = &job->buffer,
                                          .argument_bytes = sizeof job->buffer,
                                          .print = collect,
                                          .max_instructions = 1000000};
    fth_buffer_fini(&ptx);
}

static void job_fini(struct job *job)
{
    fth_buffer_fini(&job->output);
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

static enum fth_status job_run(struct job *job, struct fth_error *error)
{
    job->launch.print_user = &job->output;
    return fth_ptx_run(job->machine, &job->launch, NULL, error);
}

static const char *output_of(const struct job *job)
{
    return job->output.data ? job->output.data : "";
}

/* ---- printf ---- */

/* The values are one after the other, each aligned to its size. */
static void printf_converts_all_types(void **state)
{
    (void)state;
    static const char *const texts[] = {"%d|%5u|%-4x|%llX|%8.3f|%c|%s|%.2s|%*d|%%|%q|%5", "text",
                                        NULL};
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, texts,
             KERNEL("mov.u32 %r3, -7; st.local.u32 [v], %r3; mov.u32 %r3, 42;"
                    "st.local.u32 [v+4], %r3; st.local.u32 [v+8], 255;"
                    "st.local.u64 [v+16], 0x123456789AB; mov.f64 %d, 0d4005BF0A8B145769;"
                    "st.local.f64 [v+24], %d; st.local.u32 [v+32], 65;"
                    "mov.u64 %rd4, t1; st.local.u64 [v+40], %rd4; st.local.u64 [v+48], %rd4;"
                    "st.local.u32 [v+56], 3; st.local.u32 [v+60], 9;\n" PRINT(
                        "t0") "st.global.u32 [%rd1], %r8;"));
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_string_equal(output_of(&job),
                        "-7|   42|ff  |123456789AB|   2.718|A|text|te|  9|%|%q|%5");
    assert_int_equal(*(uint32_t *)fth_ptx_host(job.machine, job.buffer, 4), 10); /* arguments */
    job_fini(&job);
}

static void printf_checks_the_memory_that_it_reads(void **state)
{
    (void)state;
    static const char *const texts[] = {"%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", "%s", NULL};
    static const struct {
        const char *kernel, *cause;
    } rows[] = {
        {KERNEL(PRINT("t0")), "read of 1 bytes at 0x40, outside the local memory"},
        {KERNEL("st.local.u64 [v], 1;\n" PRINT("t1")), "read of 1 bytes at 0x1, outside"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, texts, rows[i].kernel);
        assert_int_equal(job_run(&job, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        assert_string_equal(output_of(&job), "");
        job_fini(&job);
    }
}

/* Blocks end in any order on the host threads, but their output is in the order of the blocks. The
 * first blocks run longest, and one in eight prints nothing. */
static void printf_keeps_the_order_of_blocks(void **state)
{
    (void)state;
    static const char *const texts[] = {"%d:%d ", NULL};
    enum { BLOCKS = 40, THREADS = 3 };
    struct job job;
    struct fth_error error = NO_ERROR;
    char expected[2048] = "";
    job_init(&job, texts,
             KERNEL("sub.u32 %r3, 40, %r2; mul.lo.u32 %r3, %r3, 300;\n"
                    "loop: sub.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra loop;\n"
                    "and.b32 %r4, %r2, 7; setp.eq.u32 %p2, %r4, 5; @%p2 exit;\n"
                    "st.local.u32 [v], %r2; st.local.u32 [v+4], %r1;\n" PRINT("t0")));
    job.launch.grid[0] = BLOCKS;
    job.launch.block[0] = THREADS;
    job.launch.threads = 4;
    assert_int_equal(job_run(&job, &error), FTH_OK);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        if (i / THREADS % 8 != 5)
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%d:%d ",
                     i / THREADS, i % THREADS);
    assert_string_equal(output_of(&job), expected);
    job_fini(&job);
}

static void on_message(void *user, enum fth_level level, const char *text)
{
    (void)level;
    fth_buffer_text(user, text);
}

static void printf_says_what_it_drops(void **state)
{
    (void)state;
    static const char *const texts[] = {"%0999999d%0999999d", NULL};
    struct job job;
    struct fth_error error = NO_ERROR;
    struct fth_buffer messages = {0};
    const struct fth_log log = {.user = &messages, .message = on_message};
    job_init(&job, texts, KERNEL(PRINT("t0")));
    job.launch.log = &log;
    job.launch.block[0] = 40; /* all but the first thread print nothing */
    assert_int_equal(job_run(&job, &error), FTH_OK);
    assert_int_equal(job.output.size, 1 << 20);
    assert_contains(messages.data, "kernel 'k' prints more than 1 MiB per block");
    job_fini(&job);
    fth_buffer_fini(&messages);
    job_init(&job, texts, KERNEL(PRINT("t0")));
    job.launch.log = &log;
    job.launch.print = NULL;
    assert_int_equal(job_run(&job, &error), FTH_OK);
    assert_contains(messages.data, "kernel 'k' calls printf; its output is dropped");
    job_fini(&job);
    fth_buffer_fini(&messages);
}

/* ---- assert ---- */

static void assert_names_file_line_and_expression(void **state)
{
    (void)state;
    static const char *const texts[] = {"x > 0", "file.cu", "void f(int)", "before ", NULL};
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, texts,
             KERNEL(PRINT("t3") "mov.u64 %rd4, t0; st.param.b64 [x], %rd4;"
                                "mov.u64 %rd4, t1; st.param.b64 [y], %rd4; st.param.b32 [i], 17;"
                                "mov.u64 %rd4, t2; st.param.b64 [z], %rd4; st.param.b64 [w], 1;"
                                "setp.eq.u32 %p1, %r1, 5;\n"
                                "@%p1 call __assertfail, (x, y, i, z, w);"));
    job.launch.block[0] = 8;
    assert_int_equal(job_run(&job, &error), FTH_INVALID);
    assert_contains(error.cause,
                    "block (0,0,0), thread (5,0,0): assertion failed: file.cu:17: void "
                    "f(int): x > 0");
    /* The output before the fault is not lost. */
    assert_contains(output_of(&job), "before before ");
    job_fini(&job);
}

/* ---- malloc and free ---- */

#define MALLOC(bytes)                                                                              \
    "st.param.b64 [x], " bytes "; call (y), malloc, (x); ld.param.b64 %rd4, [y];\n"
#define FREE(address) "st.param.b64 [x], " address "; call free, (x);\n"
/* Stores a value in the buffer, at the index of the thread. */
#define KEEP(value)                                                                                \
    "mul.wide.u32 %rd5, %r1, 8; add.u64 %rd5, %rd5, %rd1; st.global.u64 [%rd5], " value ";\n"

static const char *const no_texts[] = {NULL};

/* A thread writes to its memory and reads it back; blocks of different threads do not overlap. */
static void malloc_returns_separate_blocks(void **state)
{
    (void)state;
    enum { THREADS = 256 };
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, no_texts,
             KERNEL("add.u32 %r3, %r1, 1; cvt.u64.u32 %rd6, %r3;\n" MALLOC("%rd6") KEEP("%rd4")));
    job.launch.block[0] = THREADS;
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const uint64_t *addresses = fth_ptx_host(job.machine, job.buffer, (uint64_t)8 * THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(addresses[i] % 16, 0);
        for (int k = 0; k < i; k++)
            assert_true(addresses[i] >= addresses[k] + (uint64_t)k + 1 ||
                        addresses[k] >= addresses[i] + (uint64_t)i + 1);
    }
    /* Memory that a kernel has allocated is no allocation of the host. */
    assert_int_equal(fth_ptx_free(job.machine, addresses[0], &error), FTH_INVALID);
    job_fini(&job);
}

/* The heap is large enough for two of these blocks, but not for three; freed memory is used again,
 * also by the next launch, and adjacent free blocks are merged. */
static void malloc_reuses_freed_memory(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(
        &job, no_texts,
        KERNEL(MALLOC("4194304") "mov.u64 %rd6, %rd4;\n" MALLOC(
            "4194304") "mov.u64 %rd7, %rd4;\n" MALLOC("16") "st.global.u64 [%rd1], %rd4;\n" FREE("%"
                                                                                                 "r"
                                                                                                 "d"
                                                                                                 "7")
                   FREE("%rd6") MALLOC(
                       "8388608") "st.global.u64 [%rd1+8], %rd4; st.u32 [%rd4+8388604], "
                                  "5;\n" FREE("%rd4") MALLOC(
                                      "8388609") "st.global.u64 [%rd1+16], "
                                                 "%rd4;\n" MALLOC("0") "st.global.u64 [%rd1+24], "
                                                                       "%rd4;\n" FREE("0")));
    for (int i = 0; i < 2; i++) {
        if (job_run(&job, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        const uint64_t *results = fth_ptx_host(job.machine, job.buffer, 32);
        assert_int_equal(results[0], 0);
        assert_int_not_equal(results[1], 0);
        assert_int_equal(results[2], 0);
        assert_int_equal(results[3], 0);
    }
    job_fini(&job);
}

static void aligned_malloc_aligns(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, no_texts,
             KERNEL(MALLOC("16") "st.param.b64 [x], 100; st.param.b64 [y], 1024;\n"
                                 "call (z), __cuda_syscall_aligned_malloc, (x, y);\n"
                                 "ld.param.b64 %rd4, [z];\n" KEEP("%rd4")));
    job.launch.block[0] = 4;
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const uint64_t *addresses = fth_ptx_host(job.machine, job.buffer, 32);
    for (int i = 0; i < 4; i++) {
        assert_int_not_equal(addresses[i], 0);
        assert_int_equal(addresses[i] % 1024, 0);
    }
    job_fini(&job);
}

static void free_refuses_what_malloc_has_not_returned(void **state)
{
    (void)state;
    static const char *const kernels[] = {
        KERNEL(MALLOC("32") FREE("%rd4") FREE("%rd4")),
        KERNEL(MALLOC("32") "add.u64 %rd4, %rd4, 16;\n" FREE("%rd4")),
        KERNEL(MALLOC("32") "add.u64 %rd4, %rd4, 1;\n" FREE("%rd4")),
        KERNEL(FREE("%rd1")),
        KERNEL(FREE("0xfffffffffffffff0")),
    };
    for (size_t i = 0; i < FTH_COUNT(kernels); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, no_texts, kernels[i]);
        assert_int_equal(job_run(&job, &error), FTH_INVALID);
        assert_contains(error.cause, "which malloc has not returned or which is already free");
        job_fini(&job);
    }
}

/* ---- refused by name ---- */

static void unsupported_features_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 a);\n"
         ".visible .entry k(.param .u64 p) { .param .b64 a; .param .b64 r;\n"
         "call (r), __cudaCDP2GetParameterBufferV2, (a); ret; }",
         "'__cudaCDP2GetParameterBufferV2' is called: kernels that launch kernels (dynamic "
         "parallelism) are not supported"},
        {".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
         ".visible .entry k(.param .u64 p) { .param .b64 a; .param .b64 b; .param .b32 r;\n"
         "call (r), cudaLaunchDeviceV2, (a, b); ret; }",
         "'cudaLaunchDeviceV2' is called: kernels that launch kernels"},
        {".visible .entry k(.param .u64 p) { .shared .b64 m[4];\n"
         "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
         "[m], [m+16]; ret; }",
         "'clusterlaunchcontrol' is not supported: it exists from sm_100 on"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, no_texts, rows[i].text);
        const enum fth_status status = job_run(&job, &error);
        assert_contains(error.cause, rows[i].cause);
        assert_int_equal(status, FTH_INVALID);
        job_fini(&job);
    }
}

/* ---- the stack ---- */

/* Stores %rd2 to %rd5 of thread i in the buffer, at 32 * i. */
#define STORE_FOUR                                                                                 \
    "mad.wide.u32 %rd8, %r1, 32, %rd1; st.global.v2.u64 [%rd8], {%rd2, %rd3};"                     \
    "st.global.v2.u64 [%rd8+16], {%rd4, %rd5};"

/* The variable `values` occupies the first 64 bytes of local memory. The largest size of the
 * threads is 32 bytes. Two pairs of threads then allocate separately. */
static void alloca_gives_each_activation_its_own_memory(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, no_texts,
             KERNEL("stacksave.u64 %rd2; mad.wide.u32 %rd6, %r1, 8, 8;"
                    "alloca.u64 %rd3, %rd6, 32; st.local.u64 [%rd3+24], %rd6;"
                    "setp.lt.u32 %p1, %r1, 2; @%p1 bra low;\n"
                    "alloca.u64 %rd4, 16; stackrestore.u64 %rd2; bra end;\n"
                    "low: alloca.u64 %rd4, 1;\n"
                    "end: bar.warp.sync 15; stacksave.u64 %rd5;\n" STORE_FOUR
                    "stackrestore.u64 %rd2; stacksave.u64 %rd5; st.global.u64 [%rd1+128], %rd5;"));
    job.launch.block[0] = 4;
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const uint64_t *got = fth_ptx_host(job.machine, job.buffer, 136);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(got[4 * i], 64);
        assert_int_equal(got[4 * i + 1], 64);
        assert_int_equal(got[4 * i + 2], i < 2 ? 112 : 96);
        /* The two threads that restore the stack alone do not free the memory of the others. */
        assert_int_equal(got[4 * i + 3], 113);
    }
    assert_int_equal(got[16], 64); /* all threads together do */
    job_fini(&job);
}

/* A function that allocates does not overwrite the memory that its caller has allocated. */
static void alloca_keeps_the_memory_of_callers(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, no_texts,
             ".func (.reg .b64 r) f (.reg .b64 n) { .reg .b64 p; alloca.u64 p, n, 8;"
             "st.local.u64 [p], 99; mov.u64 r, p; ret; }\n" KERNEL(
                 "alloca.u64 %rd2, 8, 8; st.local.u64 [%rd2], 7; call (%rd3), f, (40);"
                 "call (%rd4), f, (40); ld.local.u64 %rd5, [%rd2];\n" STORE_FOUR));
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const uint64_t *got = fth_ptx_host(job.machine, job.buffer, 32);
    assert_int_equal(got[0], 64);
    assert_int_equal(got[1], 80); /* the end, 72, rounded up to 16 */
    assert_int_equal(got[2], 80); /* freed by the return */
    assert_int_equal(got[3], 7);
    job_fini(&job);
}

static void the_stack_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *cause;
    } rows[] = {
        {KERNEL("alloca.u64 %rd2, 524225, 8;"), "524225 bytes do not fit on the stack of a thread"},
        {KERNEL("alloca.u64 %rd2, 8, 1048576;"), "8 bytes do not fit on the stack"},
        {KERNEL("alloca.u64 %rd2, 8, 12;"), "the alignment 12 is not a power of 2"},
        {KERNEL("alloca.u64 %rd2, 8, 16777216;"), "the alignment 16777216 is not a power of 2"},
        {KERNEL("stackrestore.u64 65;"), "0x41 is not an earlier end of the stack"},
        {KERNEL("stackrestore.u64 63;"), "0x3f is not an earlier end of the stack"},
    };
    struct job job;
    struct fth_error error = NO_ERROR;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        error = NO_ERROR;
        job_init(&job, no_texts, rows[i].kernel);
        assert_int_equal(job_run(&job, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        job_fini(&job);
    }
    job_init(&job, no_texts,
             KERNEL("alloca.u64 %rd2, 524224, 8; st.local.u8 [%rd2+524223], 1;"
                    "stackrestore.u64 64; alloca.u64 %rd2, 524224;"));
    if (job_run(&job, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printf_converts_all_types),
        cmocka_unit_test(printf_checks_the_memory_that_it_reads),
        cmocka_unit_test(printf_keeps_the_order_of_blocks),
        cmocka_unit_test(printf_says_what_it_drops),
        cmocka_unit_test(assert_names_file_line_and_expression),
        cmocka_unit_test(malloc_returns_separate_blocks),
        cmocka_unit_test(malloc_reuses_freed_memory),
        cmocka_unit_test(aligned_malloc_aligns),
        cmocka_unit_test(free_refuses_what_malloc_has_not_returned),
        cmocka_unit_test(alloca_gives_each_activation_its_own_memory),
        cmocka_unit_test(alloca_keeps_the_memory_of_callers),
        cmocka_unit_test(the_stack_is_limited),
        cmocka_unit_test(unsupported_features_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
