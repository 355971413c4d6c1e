/* Tests of ptx/, the PTX engine: rejected files and their error messages, faults while a kernel
 * runs, the events that observers receive, and control flow. tests/kernels and tests/differential
 * check the results of the instructions. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
/* A kernel that declares some registers. BODY begins at line 6. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 p, .param .u32 n) {\n"                                     \
         ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n" BODY            \
         "\nret;\n}\n"

static struct fth_ptx_module *read_valid(const char *text)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    return module;
}

/* ---- reading ---- */

/* Five instructions. */
#define ADD "add.s32 %r0, %r1, 1; "
#define ADDS ADD ADD ADD ADD ADD

/* Texts that are rejected, with parts of the cause and of the excerpt. */
static const struct {
    const char *text, *cause, *excerpt;
} rejected[] = {
    {"", "line 1: a PTX file must begin with .version", "^"},
    {"garbage", "a PTX file must begin with .version", "  garbage\n  ^"},
    {".version 7.0\n.target sm_70\n.address_size 32\n", "only 64-bit addresses",
     "  .address_size 32\n                ^"},
    {HEAD "/* a comment", "line 4: unterminated comment", "/* a comment\n  ^"},
    {KERNEL("wgmma.frob.sync.aligned;"), "line 6: '.frob' of 'wgmma.frob.sync.aligned'",
     "  wgmma.frob.sync.aligned;\n        ^"},
    {KERNEL("   frob.u32 %r1, %r2;"), "line 6: 'frob.u32' with these operands",
     "  frob.u32 %r1, %r2;\n  ^"},
    {KERNEL("add.s32 %r1, %r2;"), "'add.s32' with these operands", "^"},
    {KERNEL("add.s32 %r1, %r2, %r3, %r4;"), "'add.s32' with these operands", "^"},
    {KERNEL("add.s32 %p1, %r2, %r3;"), "'add.s32' with these operands", "^"},
    {KERNEL("mov.v4.b64 %rd1, %rd2;"), "'mov.v4.b64' with these operands", "^"},
    {KERNEL("mov.b64 %rd1, {%r1, %r2, %r3};"), "'mov.b64' with these operands", "^"},
    {KERNEL("add.s32 5, %r2, %r3;"), "the destination must be a register", "  add.s32 5"},
    {KERNEL("add.s32 %r1, %r2, %r99;"), "'%r99' is not declared",
     "  add.s32 %r1, %r2, %r99;\n                    ^"},
    {KERNEL("ld.global.v4.u32 {%r1, %r2}, [%rd1];"),
     "the vector has 2 elements; this instruction takes 4",
     "  ld.global.v4.u32 {%r1, %r2}, [%rd1];\n                   ^"},
    {KERNEL("ld.global.u32 {%r1, %r2}, [%rd1];"),
     "the vector has 2 elements; this instruction takes 1", "^"},
    {KERNEL("st.global.u32 [%rd1], {%r1, %r2};"),
     "the vector has 2 elements; this instruction takes 1", "^"},
    {KERNEL("ld.global.v2.u32 %r1, [%rd1];"), "expected a vector of 2 elements in braces", "^"},
    {KERNEL("cvt.rn.satfinite.e2m3x2.f32 %r1, %f1, %f2;"), "'.satfinite' of", "^"},
    {KERNEL("bra nowhere;"), "label 'nowhere' is not defined", "  bra nowhere;\n      ^"},
    {KERNEL("x:\nret;\nx: ret;\nret;\n"), "line 8: duplicate label", "  x: ret;\n  ^"},
    {KERNEL(".reg .b32 %r<3>;"), "'%r' is declared twice", "^"},
    {KERNEL("@%r1 ret;"), "expected a predicate register as the guard", "^"},
    {KERNEL("call nothing;"), "expected a declared function or a register", "^"},
    {HEAD ".func (.reg .b32 r) f() { mov.u32 r, 1; ret; }\n.entry k() { call (5), f, (); ret; }",
     "a result must be a register or a .param variable", "call (5), f, ();"},
    /* Sixteen instructions fill the code array, so that one more would move it. */
    {HEAD ".func (.reg .b32 r) f() { mov.u32 r, 1; ret; }\n"
          ".entry k() { .reg .b32 %r<2>; " ADDS ADDS ADDS "call (%tid.x), f, (); ret; }",
     "a result must be a register or a .param variable", "call (%tid.x), f, ();"},
    {KERNEL("mov.u32 %r1, 12ab;"), "invalid number", "^"},
    {KERNEL("add.s32 %r1, %r2, 1"), "expected ';'", "^"},
    {HEAD ".extern .func (.param .b64 r) memcpy(.param .b64 a);\n"
          ".entry k() { .param .b64 a; .param .b64 r; call (r), memcpy, (a); ret; }",
     "line 5: 'memcpy' is called, but this file does not define it",
     "call (r), memcpy, (a); ret; }\n                                                       ^"},
    /* malloc of the CUDA runtime has an argument of 64 bits. */
    {HEAD ".extern .func (.param .b64 r) malloc(.param .b32 a);\n"
          ".entry k() { .param .b32 a; .param .b64 r; call (r), malloc, (a); ret; }",
     "line 5: 'malloc' is called, but this file does not define it", "^"},
    {HEAD ".func f(.reg .b32 a);\n.entry k() { call f, (1); ret; }\n.func f() { ret; }",
     "line 5: 'f' is defined below with other arguments and results", "call f, (1);"},
    {HEAD ".func f();\n.entry k() { call f, (); ret; }\n.entry f() { ret; }",
     "line 5: 'f' is defined below with other arguments and results", "call f, ();"},
    {HEAD ".extern .global .u32 other;\n", "external variables are not supported", "^"},
    {HEAD ".global .b8 big[99999999999999];\n", "expected an integer of at most 68719476736", "^"},
    {HEAD ".global .u32 a[2] = {1, 2, 3};\n", "more initial values than the variable has elements",
     "^"},
    {HEAD ".frob x;\n", "expected a module directive", "  .frob x;\n  ^"},
    {HEAD ".entry k() { .reg .b32 %r<99999999>; }", "expected an integer of at most", "^"},
    {HEAD ".entry k() {", "expected", ""},
    {HEAD ".entry k() { ret; }\n.entry k() { ret; }", "function 'k' already has a body", "^"},
};

static void rejects_ptx_that_cannot_be_executed(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rejected); i++) {
        struct fth_error error = NO_ERROR;
        if (!is_refused(rejected[i].text, strlen(rejected[i].text), &error))
            fail_msg("accepted: %s", rejected[i].text);
        assert_contains(error.cause, rejected[i].cause);
        assert_contains(error.excerpt, rejected[i].excerpt);
    }
}

static void describes_the_kernels_of_a_module(void **state)
{
    (void)state;
    struct fth_ptx_module *module = read_valid(
        HEAD ".shared .align 8 .b8 common[24];\n"
             ".func (.param .b32 r) helper(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a];"
             " st.param.b32 [r], %x; ret; }\n"
             ".visible .entry first(.param .u32 a, .param .align 8 .b8 b[12], .param .u64 .ptr "
             ".global .align 4 c) .maxntid 64, 2, 1 { .shared .f64 own; ret; }\n"
             ".visible .entry second() .reqntid 32 { ret; }\n");
    const struct fth_ptx_kernel *kernel = fth_ptx_kernel_at(module, 0);
    assert_string_equal(kernel->name, "first");
    assert_int_equal(kernel->parameter_count, 3);
    assert_int_equal(kernel->parameters[1].offset, 8);
    assert_int_equal(kernel->parameters[1].bytes, 12);
    assert_int_equal(kernel->parameters[2].offset, 24);
    assert_string_equal(kernel->parameters[2].type, "u64");
    assert_int_equal(kernel->parameter_bytes, 32);
    assert_int_equal(kernel->shared_bytes, 32);
    assert_int_equal(kernel->max_block[0], 64);
    assert_int_equal(kernel->max_block[2], 1);
    assert_int_equal(fth_ptx_kernel(module, "second")->required_block[0], 32);
    assert_null(fth_ptx_kernel(module, "helper"));
    assert_null(fth_ptx_kernel_at(module, 2));
    fth_ptx_destroy(module);
    fth_ptx_destroy(NULL);
}

/* ---- running ---- */

/* A module, a machine that runs it, and a launch of kernel `k` with a buffer of WORDS words. */
struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffer;
    struct {
        uint64_t p;
        uint32_t n;
    } arguments;
    struct fth_ptx_launch launch;
};

enum { WORDS = 256 };

static void job_init(struct job *job, const char *text)
{
    *job = (struct job){.module = read_valid(text)};
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, (uint64_t)4 * WORDS, &job->buffer, NULL), FTH_OK);
    job->arguments.p = job->buffer;
    job->arguments.n = WORDS;
    job->launch = (struct fth_ptx_launch){.kernel = "k",
                                          .grid = {1, 1, 1},
                                          .block = {64, 1, 1},
                                          .arguments = &job->arguments,
                                          .argument_bytes = 12,
                                          .max_instructions = 1000000};
}

static void job_fini(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

static void faults_name_line_block_and_thread(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {KERNEL("ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 32;\n"
                "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;"),
         "line 7 (st.global.u32), block (0,0,0), thread (32,0,0): write of 4 bytes at 0x"},
        {KERNEL("ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1+2];"),
         "thread (0,0,0): read of 4 bytes at 0x7f0000200002, which is not aligned to 4"},
        {KERNEL("ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1-4];"),
         "outside the global memory"},
        {KERNEL("mov.u64 %rd1, 0; ld.u32 %r1, [%rd1];"), "read of 4 bytes at 0x0, outside"},
        {KERNEL("st.shared.u32 [64], %r1;"), "write of 4 bytes at 0x40, outside the shared memory"},
        {KERNEL("mov.u64 %rd1, 0xffffffffffffff00; st.local.u64 [%rd1], %rd2;"),
         "outside the local memory"},
        {KERNEL("trap;"), "line 6 (trap), block (0,0,0), thread (0,0,0): trap"},
        {KERNEL("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0;\n"
                "@!%p1 bar.sync 1;"),
         "line 7 (bar.sync), block (0,0,0), thread (0,0,0): barrier 0 cannot complete: 32 threads"},
        {KERNEL("mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 8; @%p1 bra a;\n"
                "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; bra b;\na: bar.warp.sync -1;\nb:"),
         "waits for lanes 0xff of its warp, which never reach this instruction"},
        {KERNEL("again: bra again;"),
         "issued more than 1000000 instructions, the limit of a warp; if it is not in an endless "
         "loop, raise the limit with --max-instructions"},
        {KERNEL("bar.sync 99;"), "barrier 99"},
        {KERNEL("brkpt;"), "breakpoint"},
        {HEAD ".const .u32 c = 5;\n.entry k(.param .u64 p, .param .u32 n) { .reg .b64 %a;"
              " mov.u64 %a, c; .reg .b32 %x; st.global.u32 [%a+4], %x; ret; }",
         "outside the global memory"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, rows[i].text);
        if (fth_ptx_run(job.machine, &job.launch, NULL, &error) == FTH_OK)
            fail_msg("ran: %s", rows[i].text);
        assert_string_equal(error.argument, "k");
        assert_contains(error.cause, rows[i].cause);
        job_fini(&job);
    }
}

static void rejects_invalid_launches(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".entry k(.param .u64 p, .param .u32 n) .maxntid 128 { ret; }\n"
                        ".entry r(.param .u64 p, .param .u32 n) .reqntid 32, 2 { ret; }");
    struct fth_error error = NO_ERROR;
    job.launch.block[0] = 1025;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "the grid exceeds 2147483647x65535x65535 or the block");
    error = NO_ERROR;
    job.launch.block[0] = 256;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, ".maxntid of 128");
    error = NO_ERROR;
    job.launch.kernel = "r";
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, ".reqntid is 32x2x1");
    error = NO_ERROR;
    job.launch.kernel = "nothing";
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_NOT_FOUND);
    error = NO_ERROR;
    job.launch.kernel = "k";
    job.launch.block[0] = 32;
    job.launch.argument_bytes = 8;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "8 bytes of arguments were passed, but the kernel takes 12");
    job_fini(&job);
}

static void device_memory_is_allocated_and_freed(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".global .align 4 .u32 table[3] = {7, 8, 9};\n.global .u64 where = "
                        "generic(table)+4;\n.entry k(.param .u64 p, .param .u32 n) { ret; }");
    uint64_t address, bytes, other;
    assert_true(fth_ptx_symbol(job.machine, "table", &address, &bytes));
    assert_int_equal(bytes, 12);
    assert_int_equal(((uint32_t *)fth_ptx_host(job.machine, address, 12))[2], 9);
    assert_null(fth_ptx_host(job.machine, address, 13));
    assert_true(fth_ptx_symbol(job.machine, "where", &other, &bytes));
    assert_true(*(uint64_t *)fth_ptx_host(job.machine, other, 8) == address + 4);
    assert_false(fth_ptx_symbol(job.machine, "nothing", &address, &bytes));
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_alloc(job.machine, 0, &address, &error), FTH_INVALID);
    error = NO_ERROR;
    assert_int_equal(fth_ptx_alloc(job.machine, (uint64_t)1 << 60, &address, &error),
                     FTH_NO_MEMORY);
    assert_int_equal(fth_ptx_free(job.machine, job.buffer, NULL), FTH_OK);
    assert_null(fth_ptx_host(job.machine, job.buffer, 1));
    error = NO_ERROR;
    assert_int_equal(fth_ptx_free(job.machine, job.buffer, &error), FTH_INVALID);
    uint64_t texture;
    assert_int_equal(fth_ptx_texture(job.machine, job.buffer, 4, FTH_TEXEL_F32, 1, &texture, NULL),
                     FTH_INVALID);
    job_fini(&job);
}

/* ---- observers ---- */

/* What an observer has received. */
struct observed {
    char log[2048];
    uint64_t issues, threads; /* warp instructions, and the sum of their active threads */
    int stop_after;           /* end the launch at this number of issues; 0: never */
};

static bool on_issue(void *user, const struct fth_ptx_issue *issue)
{
    struct observed *observed = user;
    observed->issues++;
    observed->threads += (uint64_t)__builtin_popcount(issue->mask);
    return observed->stop_after == 0 || observed->issues < (uint64_t)observed->stop_after;
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct observed *observed = user;
    size_t used = strlen(observed->log);
    uint64_t first = access->addresses[__builtin_ctz(access->mask)];
    snprintf(observed->log + used, sizeof observed->log - used,
             "%u:%u line %u space %d op %d kind %d x%d+%u @%llx\n", (unsigned)access->who.block,
             access->who.warp, access->line, access->space, access->cache_op, access->kind,
             __builtin_popcount(access->mask), access->bytes, (unsigned long long)(first & 0xffff));
    return true;
}

static bool on_barrier(void *user, uint64_t block, uint32_t barrier, uint32_t warps)
{
    (void)warps;
    struct observed *observed = user;
    size_t used = strlen(observed->log);
    snprintf(observed->log + used, sizeof observed->log - used, "barrier %u of %u\n", barrier,
             (unsigned)block);
    return true;
}

static uint64_t on_clock(void *user, const struct fth_ptx_warp_id *who, bool global)
{
    (void)user;
    return global ? 77 : 1000 + who->warp;
}

static void observers_see_every_access_in_order(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".shared .u32 s[64];\n.visible .entry k(.param .u64 p, .param .u32 n) {\n"
                        ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b32 %v<4>;\n"
                        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16;\n"
                        "add.s64 %rd3, %rd1, %rd2; mov.u64 %rd6, %clock64;\n"
                        "ld.global.cg.v4.u32 {%v0, %v1, %v2, %v3}, [%rd3];\n"
                        "setp.lt.u32 %p1, %r1, 4;\n"
                        "@%p1 st.shared.u32 [s+4], %v0;\n"
                        "bar.sync 0;\n"
                        "atom.global.add.u32 %r2, [%rd1+8], 1;\n"
                        "ld.global.nc.u32 %r3, [%rd1+8];\n"
                        "@!%p1 ret;\n st.global.wt.u64 [%rd1], %rd6;\nret;\n}\n");
    struct observed observed = {.log = ""};
    const struct fth_ptx_observer observer = {.user = &observed,
                                              .issue = on_issue,
                                              .access = on_access,
                                              .barrier = on_barrier,
                                              .clock = on_clock};
    struct fth_ptx_totals totals;
    job.launch.observer = &observer;
    job.launch.block[0] = 40;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, NULL), FTH_OK);
    assert_string_equal(observed.log, "0:0 line 9 space 1 op 2 kind 0 x32+16 @0\n"
                                      "0:0 line 11 space 2 op 0 kind 1 x4+4 @4\n"
                                      "0:1 line 9 space 1 op 2 kind 0 x8+16 @200\n"
                                      "barrier 0 of 0\n"
                                      "0:0 line 13 space 1 op 0 kind 2 x32+4 @8\n"
                                      "0:0 line 14 space 1 op 8 kind 0 x32+4 @8\n"
                                      "0:0 line 16 space 1 op 7 kind 1 x4+8 @0\n"
                                      "0:1 line 13 space 1 op 0 kind 2 x8+4 @8\n"
                                      "0:1 line 14 space 1 op 8 kind 0 x8+4 @8\n");
    assert_int_equal(totals.warp_instructions, observed.issues);
    assert_int_equal(totals.thread_instructions, observed.threads);
    const uint32_t *words = fth_ptx_host(job.machine, job.buffer, 16);
    assert_int_equal(words[0], 1000); /* the clock of warp 0 */
    assert_int_equal(words[2], 40);
    job_fini(&job);
}

/* Blocks that each stay below the limit of a warp, but together exceed that of the launch. */
static void the_instructions_of_a_launch_are_limited(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 3};
    for (size_t i = 0; i < FTH_COUNT(threads); i++) {
        struct job job;
        struct fth_ptx_totals totals;
        struct fth_error error = NO_ERROR;
        job_init(&job, KERNEL("mov.u32 %r1, 0;\nagain: add.u32 %r1, %r1, 1;\n"
                              "setp.lt.u32 %p1, %r1, 20; @%p1 bra again;"));
        job.launch.threads = threads[i];
        job.launch.max_instructions = 100;
        job.launch.grid[0] = 400; /* of 2 warps with 62 instructions each: 49,600 in all */
        assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, NULL), FTH_OK);
        assert_int_equal(totals.warp_instructions, 49600);
        job.launch.grid[0] = 100000;
        assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, &error), FTH_INVALID);
        assert_contains(error.cause, "the launch has issued more than 102400 warp instructions");
        assert_contains(error.cause, "raise it with --max-instructions");
        assert_in_range(totals.warp_instructions, 102400, 102400 + 5 * 20000);
        job_fini(&job);
    }
}

static bool interrupt_at_zero(void *user)
{
    int *left = user;
    return __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) < 0;
}

/* One endless warp, warps that wait for it, and several host threads. */
static void the_log_interrupts_endless_kernels(void **state)
{
    (void)state;
    static const char *const texts[] = {
        KERNEL("again: bra again;"),
        KERNEL("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\nagain: @%p1 bra again;\n"
               "bar.sync 0;"),
        KERNEL("mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra end;\n"
               "again: bra again;\nend:"),
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        int left = 3;
        const struct fth_log log = {.interrupted = interrupt_at_zero, .user = &left};
        job_init(&job, texts[i]);
        job.launch.grid[0] = 4;
        job.launch.threads = 3;
        job.launch.max_instructions = 0;
        job.launch.log = &log;
        assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INTERRUPTED);
        assert_string_equal(error.cause, "interrupted");
        job_fini(&job);
    }
}

static void an_observer_can_end_the_launch(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, KERNEL("again: bra again;"));
    struct observed observed = {.stop_after = 100};
    const struct fth_ptx_observer observer = {.user = &observed, .issue = on_issue};
    struct fth_error error = NO_ERROR;
    job.launch.observer = &observer;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INTERRUPTED);
    assert_int_equal(observed.issues, 100);
    job_fini(&job);
}

static void store_progress(void *user, const char *what, double fraction)
{
    assert_string_equal(what, "k");
    *(double *)user = fraction;
}

static void reports_progress(void **state)
{
    (void)state;
    struct job job;
    double last = 0;
    const struct fth_log log = {NULL, store_progress, NULL, &last};
    job_init(&job, KERNEL(""));
    job.launch.grid[0] = 10;
    job.launch.log = &log;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    assert_true(last == 1);
    job_fini(&job);
}

/* ---- control flow ---- */

/* Lanes that diverge reconverge where their paths join: the instructions after the join are issued
 * once, with all lanes active. */
static void divergence_reconverges(void **state)
{
    (void)state;
    static const char text[] = KERNEL("mov.u32 %r1, %laneid; and.b32 %r2, %r1, 3; mov.u32 %r3, 0;\n"
                                      "again: add.s32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2;\n"
                                      "@%p1 bra again;\n"
                                      "setp.eq.u32 %p2, %r2, 0; @%p2 bra zero;\n"
                                      "mul.lo.s32 %r3, %r3, 2; bra join;\n"
                                      "zero: mul.lo.s32 %r3, %r3, 3;\n"
                                      "join: activemask.b32 %r4;\n"
                                      "ld.param.u64 %rd1, [p]; mul.wide.u32 %rd2, %r1, 8;\n"
                                      "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4;\n"
                                      "st.global.u32 [%rd3+4], %r3;");
    struct job job;
    job_init(&job, text);
    job.launch.block[0] = 32;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    const uint32_t *words = fth_ptx_host(job.machine, job.buffer, 256);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t steps = lane % 4 > 1 ? lane % 4 : 1;
        assert_int_equal(words[(size_t)2 * lane], 0xffffffff);
        assert_int_equal(words[(size_t)2 * lane + 1], lane % 4 ? 2 * steps : 3);
    }
    job_fini(&job);
}

/* An operand that must be computed first, such as a special register, is computed before the
 * instruction that uses it, also if this is a call or a branch. */
static void special_registers_are_read_before_their_use(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t result;
    } rows[] = {
        {HEAD ".func (.reg .b32 r) f(.reg .b32 a) { add.u32 r, a, 1; ret; }\n"
              ".entry k(.param .u64 p, .param .u32 n) { .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
              "ld.param.u64 %rd1, [p]; call (%r1), f, (%ntid.x); st.global.u32 [%rd1], %r1; ret; }",
         65},
        {KERNEL("ld.param.u64 %rd1, [p]; table: .branchtargets a, b; brx.idx %ctaid.x, table;\n"
                "a: st.global.u32 [%rd1], 5; ret;\nb: st.global.u32 [%rd1], 6;"),
         6},
        /* A register that has received a special register keeps its value. */
        {KERNEL("ld.param.u64 %rd1, [p]; mov.u32 %r1, %ntid.x; mov.u32 %r2, %r1;\n"
                "add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;"),
         128},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, rows[i].text);
        job.launch.grid[0] = 2;
        if (fth_ptx_run(job.machine, &job.launch, NULL, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_int_equal(*(uint32_t *)fth_ptx_host(job.machine, job.buffer, 4), rows[i].result);
        job_fini(&job);
    }
}

/* Offsets wrap around, as addresses do. The offset here is the smallest 64-bit number. */
static void offsets_of_any_size_are_added(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, KERNEL("ld.param.u64 %rd1, [p]; add.u64 %rd2, %rd1, 0x8000000000000000;\n"
                          "st.global.u32 [%rd2-9223372036854775808], 7;\n"
                          "st.global.u32 [%rd2+-9223372036854775808+4], 8;"));
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    const uint32_t *words = fth_ptx_host(job.machine, job.buffer, 8);
    assert_int_equal(words[0], 7);
    assert_int_equal(words[1], 8);
    job_fini(&job);
}

/* The shared variables of a function that is defined after the kernel, and a module variable that
 * only this function uses, do not overlap those of the kernel. */
static void shared_variables_of_functions_do_not_overlap(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".func f();\n"
                        ".entry k(.param .u64 p, .param .u32 n) { .shared .b32 own; .reg .b32 %r1; "
                        ".reg .b64 %rd1; st.shared.u32 [own], 1; call f;\n"
                        "ld.shared.u32 %r1, [own]; ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], "
                        "%r1; ret; }\n"
                        ".entry other() { .shared .b32 own; ret; }\n"
                        ".shared .b32 between;\n"
                        ".func f() { .shared .b32 inner; st.shared.u32 [inner], 2; "
                        "st.shared.u32 [between], 3; ret; }\n");
    job.launch.block[0] = 1;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    assert_int_equal(*(uint32_t *)fth_ptx_host(job.machine, job.buffer, 4), 1);
    assert_int_equal(fth_ptx_kernel(job.module, "k")->shared_bytes, 12);
    job_fini(&job);
}

/* A kernel cannot call a function that is declared only after it, so their shared memory overlaps.
 */
static void shared_memory_of_later_functions_can_overlap(void **state)
{
    (void)state;
    struct fth_ptx_module *module =
        read_valid(HEAD ".entry a() { .shared .b32 own[4]; ret; }\n"
                        ".func f() { .shared .b32 inner; st.shared.u32 [inner], 2; ret; }\n"
                        ".entry b() { .shared .b32 own; call f; ret; }\n");
    assert_int_equal(fth_ptx_kernel(module, "a")->shared_bytes, 16);
    assert_int_equal(fth_ptx_kernel(module, "b")->shared_bytes, 8);
    fth_ptx_destroy(module);
}

/* PTX for GPUs before Volta has shuffles and votes without .sync, among the active lanes. */
static void shuffles_and_votes_without_sync_work(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, KERNEL("mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 8; @!%p1 bra done;\n"
                          "vote.ballot.b32 %r2, %p1; shfl.down.b32 %r3|%p2, %r1, 2, 31;\n"
                          "shfl.bfly.b32 %r4, %r1, 1, 31; vote.all.pred %p3, %p1;\n"
                          "selp.u32 %r5, 100, 0, %p3; add.u32 %r3, %r3, %r5;\n"
                          "ld.param.u64 %rd1, [p]; mul.wide.u32 %rd2, %r1, 16;\n"
                          "add.s64 %rd3, %rd1, %rd2;\n"
                          "st.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r4};\ndone:"));
    job.launch.block[0] = 32;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    const uint32_t *words = fth_ptx_host(job.machine, job.buffer, 128);
    for (uint32_t lane = 0; lane < 6; lane++) {
        const uint32_t *row = words + (size_t)4 * lane;
        assert_int_equal(row[1], 0xff);
        assert_int_equal(row[2], lane + 2 + 100);
        assert_int_equal(row[3], lane ^ 1);
    }
    job_fini(&job);
}

/* nvcc uses instructions on pairs of 16-bit integers from sm_90 on. */
static void computes_pairs_of_16_bit_integers(void **state)
{
    (void)state;
    static const struct {
        const char *opcode;
        uint32_t result; /* for the operands 0xfffe0003 and 0x00010004 */
    } rows[] = {
        {"add.u16x2", 0xffff0007},      {"add.s16x2", 0xffff0007}, {"min.u16x2", 0x00010003},
        {"min.s16x2", 0xfffe0003},      {"max.u16x2", 0xfffe0004}, {"max.s16x2", 0x00010004},
        {"min.relu.s16x2", 0x00000003},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        static const char pattern[] =
            KERNEL("ld.param.u64 %rd1, [p]; mov.b32 %r1, 0xfffe0003;\n"
                   "OPCODE %r2, %r1, 0x00010004; st.global.u32 [%rd1], %r2;");
        const char *place = strstr(pattern, "OPCODE");
        char text[1024];
        struct job job;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pattern), pattern, rows[i].opcode,
                 place + strlen("OPCODE"));
        job_init(&job, text);
        assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
        assert_int_equal(*(uint32_t *)fth_ptx_host(job.machine, job.buffer, 4), rows[i].result);
        job_fini(&job);
    }
}

/* The lanes of a warp take a lock one after the other. The lane that holds it must be able to
 * proceed and release it while the others spin. */
static void a_spinning_lane_does_not_block_its_warp(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, KERNEL("ld.param.u64 %rd1, [p];\n"
                          "spin: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0;\n"
                          "@%p1 bra spin;\n"
                          "ld.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1;\n"
                          "st.global.u32 [%rd1+4], %r2; atom.global.exch.b32 %r3, [%rd1], 0;"));
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, NULL), FTH_OK);
    assert_int_equal(((uint32_t *)fth_ptx_host(job.machine, job.buffer, 8))[1], 64);
    job_fini(&job);
}

static void results_do_not_depend_on_host_threads(void **state)
{
    (void)state;
    static const char text[] =
        KERNEL("ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n"
               "mad.lo.u32 %r3, %r1, 7, %r2; and.b32 %r4, %r3, 255; mul.wide.u32 %rd2, %r4, 4;\n"
               "add.s64 %rd3, %rd1, %rd2; atom.global.add.u32 %r5, [%rd3], %r3;");
    uint32_t first[WORDS];
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct job job;
        struct fth_ptx_totals totals;
        job_init(&job, text);
        job.launch.grid[0] = 50;
        job.launch.threads = threads;
        assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, NULL), FTH_OK);
        const uint32_t *words = fth_ptx_host(job.machine, job.buffer, sizeof first);
        if (threads == 1)
            memcpy(first, words, sizeof first);
        assert_memory_equal(first, words, sizeof first);
        assert_int_equal(totals.warp_instructions, 50u * 2u * 9u);
        job_fini(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejects_ptx_that_cannot_be_executed),
        cmocka_unit_test(describes_the_kernels_of_a_module),
        cmocka_unit_test(faults_name_line_block_and_thread),
        cmocka_unit_test(rejects_invalid_launches),
        cmocka_unit_test(device_memory_is_allocated_and_freed),
        cmocka_unit_test(observers_see_every_access_in_order),
        cmocka_unit_test(the_instructions_of_a_launch_are_limited),
        cmocka_unit_test(the_log_interrupts_endless_kernels),
        cmocka_unit_test(an_observer_can_end_the_launch),
        cmocka_unit_test(reports_progress),
        cmocka_unit_test(divergence_reconverges),
        cmocka_unit_test(special_registers_are_read_before_their_use),
        cmocka_unit_test(offsets_of_any_size_are_added),
        cmocka_unit_test(shared_variables_of_functions_do_not_overlap),
        cmocka_unit_test(shared_memory_of_later_functions_can_overlap),
        cmocka_unit_test(shuffles_and_votes_without_sync_work),
        cmocka_unit_test(computes_pairs_of_16_bit_integers),
        cmocka_unit_test(a_spinning_lane_does_not_block_its_warp),
        cmocka_unit_test(results_do_not_depend_on_host_threads),
    };
    return cmocka_run_group_tests_name("ptx", tests, NULL, NULL);
}
