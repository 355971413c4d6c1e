/* Tests of launches in ptx/: the limits of their sizes, special registers, what observers receive
 * about warps, the order in which warps run, calls, and messages about faults. */
#include "ptx_job.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS                                                                                  \
    ".reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<8>;\nld.param.u64 %rd0, [out];\n"
#define KERNEL(BODY) HEAD ".visible .entry k(.param .u64 out) {\n" REGISTERS BODY "\nret;\n}\n"

/* Prepares a launch with a buffer of 4 KiB. */
static void job_init(struct job *job, const char *text)
{
    job_open(job, text, 1, 4096);
    job->launch.threads = 1;
}

/* Runs the text with `threads` threads. It must fail with exactly this cause. */
static void expect_fault(const char *text, uint32_t threads, const char *cause)
{
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, text);
    job.launch.block[0] = threads;
    if (fth_ptx_run(job.machine, &job.launch, NULL, &error) != FTH_INVALID)
        fail_msg("ran: %s", text);
    assert_string_equal(error.cause, cause);
    assert_string_equal(error.operation, "run kernel");
    job_fini(&job);
}

/* ---- limits ---- */

#define GRID_OR_BLOCK                                                                              \
    "the grid exceeds 2147483647x65535x65535 or the block exceeds 1024 in a dimension"

/* The limits of a launch, and the first value above each. The grids that are valid would take long
 * to run, so an observer stops them at the first instruction. */
static const struct {
    uint32_t grid[3], block[3], cluster[3];
    size_t shared;
    const char *kernel, *cause; /* NULL: valid */
} limits[] = {
    {{0x7fffffff, 1, 1}, {1, 1, 1}, {0}, 0, "k", NULL},
    {{0x80000000, 1, 1}, {1, 1, 1}, {0}, 0, "k", GRID_OR_BLOCK},
    {{1, 65535, 1}, {1, 1, 1}, {0}, 0, "k", NULL},
    {{1, 65536, 1}, {1, 1, 1}, {0}, 0, "k", GRID_OR_BLOCK},
    {{1, 1, 65535}, {1, 1, 1}, {0}, 0, "k", NULL},
    {{1, 1, 65536}, {1, 1, 1}, {0}, 0, "k", GRID_OR_BLOCK},
    {{0, 0, 0}, {0, 0, 0}, {0}, 0, "k", NULL},
    {{1, 1, 1}, {1024, 1, 1}, {0}, 0, "k", NULL},
    {{1, 1, 1}, {1025, 1, 1}, {0}, 0, "k", GRID_OR_BLOCK},
    {{1, 1, 1}, {1, 1, 1024}, {0}, 0, "k", NULL},
    {{1, 1, 1}, {1, 1, 1025}, {0}, 0, "k", GRID_OR_BLOCK},
    {{1, 1, 1}, {32, 8, 4}, {0}, 0, "k", NULL},
    {{1, 1, 1}, {33, 8, 4}, {0}, 0, "k", "1056 threads per block exceed the limit of 1024"},
    {{1, 1, 1}, {8, 4, 2}, {0}, 0, "most", NULL},
    {{1, 1, 1}, {64, 1, 1}, {0}, 0, "most", NULL},
    {{1, 1, 1},
     {65, 1, 1},
     {0},
     0,
     "most",
     "65 threads per block exceed the kernel's .maxntid of 64"},
    {{1, 1, 1}, {4, 3, 2}, {0}, 0, "exact", NULL},
    {{1, 1, 1},
     {5, 3, 2},
     {0},
     0,
     "exact",
     "the block is 5x3x2, but the kernel's .reqntid is 4x3x2"},
    {{1, 1, 1},
     {4, 2, 2},
     {0},
     0,
     "exact",
     "the block is 4x2x2, but the kernel's .reqntid is 4x3x2"},
    {{1, 1, 1},
     {4, 3, 1},
     {0},
     0,
     "exact",
     "the block is 4x3x1, but the kernel's .reqntid is 4x3x2"},
    {{1, 1, 1}, {1, 1, 1}, {0}, (size_t)1 << 30, "k", NULL},
    {{1, 1, 1},
     {1, 1, 1},
     {0},
     ((size_t)1 << 30) + 1,
     "k",
     "1073741825 bytes of dynamic shared memory exceed the limit of 1 GiB"},
    /* clusters */
    {{4, 2, 2}, {1, 1, 1}, {4, 2, 2}, 0, "k", NULL},
    {{4, 4, 2}, {1, 1, 1}, {4, 4, 2}, 0, "k", "a cluster can have at most 16 blocks"},
    {{6, 3, 1}, {1, 1, 1}, {2, 0, 0}, 0, "k", NULL},
    {{6, 3, 1}, {1, 1, 1}, {0, 3, 0}, 0, "k", NULL},
    {{6, 3, 2}, {1, 1, 1}, {0, 0, 2}, 0, "k", NULL},
    {{6, 3, 1},
     {1, 1, 1},
     {4, 0, 0},
     0,
     "k",
     "the grid size 6 is not a multiple of the cluster size 4"},
    {{6, 3, 1},
     {1, 1, 1},
     {2, 2, 0},
     0,
     "k",
     "the grid size 3 is not a multiple of the cluster size 2"},
    {{6, 3, 3},
     {1, 1, 1},
     {2, 1, 2},
     0,
     "k",
     "the grid size 3 is not a multiple of the cluster size 2"},
    {{4, 2, 1}, {1, 1, 1}, {0, 0, 0}, 0, "clustered", NULL},
    {{4, 2, 1}, {1, 1, 1}, {2, 2, 1}, 0, "clustered", NULL},
    {{4, 2, 1},
     {1, 1, 1},
     {2, 1, 1},
     0,
     "clustered",
     "the cluster size differs from the kernel's .reqnctapercluster"},
    {{4, 2, 1},
     {1, 1, 1},
     {4, 2, 1},
     0,
     "clustered",
     "the cluster size differs from the kernel's .reqnctapercluster"},
    {{3, 2, 1},
     {1, 1, 1},
     {0, 0, 0},
     0,
     "clustered",
     "the grid size 3 is not a multiple of the cluster size 2"},
    {{2, 1, 1}, {1, 1, 1}, {2, 1, 1}, ((size_t)1 << 24) - 128, "k", NULL},
    {{2, 1, 1},
     {1, 1, 1},
     {2, 1, 1},
     ((size_t)1 << 24) - 127,
     "k",
     "16777217 bytes of shared memory exceed the limit of 16777216 per block of a cluster"},
    {{2, 1, 1}, {1, 1, 1}, {1, 1, 1}, ((size_t)1 << 24) - 127, "k", NULL},
};

static bool stop(void *user, const struct fth_ptx_issue *issue)
{
    (void)user;
    (void)issue;
    return false;
}

static void sizes_are_limited(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".entry k(.param .u64 out) { ret; }\n"
                        ".entry most(.param .u64 out) .maxntid 16, 4 { ret; }\n"
                        ".entry exact(.param .u64 out) .reqntid 4, 3, 2 { ret; }\n"
                        ".entry clustered(.param .u64 out) .reqnctapercluster 2, 2 { ret; }\n"
                        ".extern .shared .align 128 .b8 dynamic[];\n.shared .b8 some[3];\n");
    const struct fth_ptx_observer observer = {.issue = stop};
    job.launch.observer = &observer;
    for (size_t i = 0; i < FTH_COUNT(limits); i++) {
        struct fth_error error = NO_ERROR;
        memcpy(job.launch.grid, limits[i].grid, sizeof job.launch.grid);
        memcpy(job.launch.block, limits[i].block, sizeof job.launch.block);
        memcpy(job.launch.cluster, limits[i].cluster, sizeof job.launch.cluster);
        job.launch.dynamic_shared_bytes = limits[i].shared;
        job.launch.kernel = limits[i].kernel;
        const enum fth_status status = fth_ptx_run(job.machine, &job.launch, NULL, &error);
        if (status != (limits[i].cause ? FTH_INVALID : FTH_INTERRUPTED) ||
            strcmp(error.cause, limits[i].cause ? limits[i].cause : "stopped by the observer") != 0)
            fail_msg("row %zu: status %d: %s", i, status, error.cause);
        assert_string_equal(error.argument, limits[i].kernel);
        assert_string_equal(error.operation, limits[i].cause ? "launch kernel" : "run kernel");
    }
    struct fth_error error = NO_ERROR;
    job.launch.kernel = "nothing";
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_NOT_FOUND);
    assert_string_equal(error.cause, "'test.ptx' has no kernel of this name");
    job_fini(&job);
}

/* A warp may issue exactly as many instructions as the launch allows. */
static void the_instructions_of_a_warp_are_limited(void **state)
{
    (void)state;
    for (uint64_t limit = 3; limit <= 5; limit += 2) {
        struct job job;
        struct fth_ptx_totals totals;
        struct fth_error error = NO_ERROR;
        job_init(&job, HEAD ".entry k(.param .u64 out) { .reg .b32 %r<2>;\nmov.u32 %r0, 1;\n"
                            "mov.u32 %r0, 2;\nmov.u32 %r0, 3;\nmov.u32 %r0, 4;\nret; }");
        job.launch.block[0] = 40;
        job.launch.max_instructions = limit;
        const enum fth_status status = fth_ptx_run(job.machine, &job.launch, &totals, &error);
        if (limit < 5) {
            assert_int_equal(status, FTH_INVALID);
            assert_contains(error.cause, "the warp has issued more than 3 instructions");
        } else {
            assert_int_equal(status, FTH_OK);
            assert_int_equal(totals.warp_instructions, 10);
            assert_int_equal(totals.thread_instructions, 200);
        }
        job_fini(&job);
    }
    /* The limit of the launch does not overflow. */
    struct job job;
    job_init(&job, KERNEL("st.global.u32 [%rd0], 7;"));
    job.launch.max_instructions = UINT64_MAX;
    assert_int_equal(run_job(&job)[0], 7);
    job_fini(&job);
}

/* ---- special registers ---- */

static uint64_t tell_time(void *user, const struct fth_ptx_warp_id *who, bool global)
{
    (void)user;
    return (global ? UINT64_C(0x900000000) : UINT64_C(0x500000000)) + UINT64_C(16) * who->warp +
           who->rank;
}

/* Block (1,2,1) of a grid of 2x3x2 blocks is block 11. Thread 37 of its 5x3x3 threads is
 * thread (2,1,2), and lane 5 of warp 1. Clusters have 2x3x1 blocks. */
static const struct {
    const char *name;
    uint64_t value;
} specials[] = {
    {"%tid.x", 2},
    {"%tid.y", 1},
    {"%tid.z", 2},
    {"%ntid.x", 5},
    {"%ntid.y", 3},
    {"%ntid.z", 3},
    {"%ctaid.x", 1},
    {"%ctaid.y", 2},
    {"%ctaid.z", 1},
    {"%nctaid.x", 2},
    {"%nctaid.y", 3},
    {"%nctaid.z", 2},
    {"%laneid", 5},
    {"%warpid", 1},
    {"%nwarpid", 2},
    {"%smid", 4}, /* 11 modulo 7 */
    {"%nsmid", 7},
    {"%gridid", 0},
    {"%lanemask_eq", 0x20},
    {"%lanemask_le", 0x3f},
    {"%lanemask_lt", 0x1f},
    {"%lanemask_ge", 0xffffffe0},
    {"%lanemask_gt", 0xffffffc0},
    {"%clock", 16 + 5},
    {"%clock_hi", 5},
    {"%clock64", UINT64_C(0x500000015)},
    {"%globaltimer", UINT64_C(0x900000015)},
    {"%globaltimer_lo", 16 + 5},
    {"%globaltimer_hi", 9},
    {"%dynamic_smem_size", 48},
    {"%total_smem_size", 128 + 48},
    {"WARP_SZ", 32},
    {"%cluster_ctaid.x", 1},
    {"%cluster_ctaid.y", 2},
    {"%cluster_ctaid.z", 0},
    {"%cluster_nctaid.x", 2},
    {"%cluster_nctaid.y", 3},
    {"%cluster_nctaid.z", 1},
    {"%cluster_ctarank", 5},
    {"%cluster_nctarank", 6},
    {"%clusterid.x", 0},
    {"%clusterid.y", 0},
    {"%clusterid.z", 1},
    {"%nclusterid.x", 1},
    {"%nclusterid.y", 1},
    {"%nclusterid.z", 2},
};

/* All blocks of a cooperative launch run at the same time: each waits for the number of those that
 * have arrived, in both warps. */
static void blocks_of_a_cooperative_launch_wait(void **state)
{
    (void)state;
    struct job job;
    job_init(&job,
             HEAD ".entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %w;\n"
                  "ld.param.u64 %w, [out]; atom.global.add.u32 %r0, [%w], 1;\n"
                  "wait: ld.acquire.gpu.global.u32 %r1, [%w]; setp.ne.u32 %p, %r1, 192;\n"
                  "@%p bra wait; atom.global.add.u32 %r0, [%w+4], 1; ret; }");
    job.launch.grid[0] = 3;
    job.launch.block[0] = 64;
    job.launch.cooperative = true;
    const uint32_t *out = run_job(&job);
    assert_int_equal(out[0], 192);
    assert_int_equal(out[1], 192);
    job.launch.grid[0] = 6;
    job.launch.block[0] = 32; /* one warp per block */
    memset(fth_ptx_host(job.machine, job.buffers[0], 8), 0, 8);
    assert_int_equal(run_job(&job)[1], 192);
    job_fini(&job);
}

static void special_registers_have_values(void **state)
{
    (void)state;
    const struct fth_ptx_observer observer = {.clock = tell_time};
    for (size_t i = 0; i < FTH_COUNT(specials); i++) {
        char text[1024];
        struct job job;
        /* Block 11 stores the values of its threads, 8 bytes each. */
        snprintf(text, sizeof text,
                 HEAD ".extern .shared .b8 dynamic[];\n.shared .b8 some[3];\n"
                      ".entry k(.param .u64 out) { .reg .pred %%p<4>; .reg .b32 %%r<4>;\n"
                      ".reg .b64 %%rd<4>; ld.param.u64 %%rd0, [out]; mov.u64 %%rd1, %s;\n"
                      "mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ctaid.y; mov.u32 %%r3, %%ctaid.z;\n"
                      "setp.eq.u32 %%p1, %%r1, 1; setp.eq.and.u32 %%p1, %%r2, 2, %%p1;\n"
                      "setp.eq.and.u32 %%p1, %%r3, 1, %%p1;\n"
                      "mov.u32 %%r1, %%tid.z; mad.lo.u32 %%r1, %%r1, 3, %%tid.y;\n"
                      "mad.lo.u32 %%r1, %%r1, 5, %%tid.x; mad.wide.u32 %%rd0, %%r1, 8, %%rd0;\n"
                      "@%%p1 st.global.u64 [%%rd0], %%rd1;\nret; }",
                 specials[i].name);
        job_init(&job, text);
        memcpy(job.launch.grid, (uint32_t[]){2, 3, 2}, sizeof job.launch.grid);
        memcpy(job.launch.block, (uint32_t[]){5, 3, 3}, sizeof job.launch.block);
        memcpy(job.launch.cluster, (uint32_t[]){2, 3, 1}, sizeof job.launch.cluster);
        job.launch.dynamic_shared_bytes = 48;
        job.launch.sms = 7;
        job.launch.observer = &observer;
        const uint64_t value = ((const uint64_t *)run_job(&job))[37];
        if (value != specials[i].value)
            fail_msg("%s is 0x%llx", specials[i].name, (unsigned long long)value);
        job_fini(&job);
    }
}

/* Without an observer, the clocks count the instructions that the block has issued. */
static void clocks_count_instructions(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, KERNEL("mov.u64 %rd1, %clock64; mov.u64 %rd2, %globaltimer; mov.u32 %r3, "
                          "%clock;\nst.global.v2.u64 [%rd0], {%rd1, %rd2}; "
                          "st.global.u32 [%rd0+16], %r3;"));
    const uint32_t *words = run_job(&job);
    assert_int_equal(words[2] - words[0], 1);
    assert_int_equal(words[4] - words[2], 1);
    assert_int_equal(words[1] | words[3], 0);
    assert_in_range(words[0], 1, 2);
    job_fini(&job);
}

/* ---- observers ---- */

struct observed {
    char text[4096];
    int64_t times[2];
    uint64_t stop_after; /* the cluster whose end stops the launch */
};

static void append(struct observed *observed, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(observed->text);
    va_start(arguments, format);
    vsnprintf(observed->text + used, sizeof observed->text - used, format, arguments);
    va_end(arguments);
}

static bool store_issue(void *user, const struct fth_ptx_issue *issue)
{
    const struct fth_ptx_warp_id *who = &issue->who;
    append(user, "%llu (%u,%u,%u) warp %u sm %u rank %u: %u line %u %s %x\n",
           (unsigned long long)who->block, who->block_xyz[0], who->block_xyz[1], who->block_xyz[2],
           who->warp, who->sm, who->rank, issue->instruction, issue->line, issue->opcode,
           issue->mask);
    return true;
}

static bool store_end(void *user, uint64_t index)
{
    append(user, "end %llu\n", (unsigned long long)index);
    return ((struct observed *)user)->stop_after != index;
}

/* Clusters are numbered with x fastest, and so are the blocks of a cluster. */
static void observers_see_blocks_in_order(void **state)
{
    (void)state;
    struct job job;
    struct observed observed = {.stop_after = UINT64_MAX};
    const struct fth_ptx_observer observer = {
        .user = &observed, .issue = store_issue, .done = store_end};
    job_init(&job, HEAD ".entry k(.param .u64 out) {\nret;\n}\n");
    memcpy(job.launch.grid, (uint32_t[]){2, 2, 2}, sizeof job.launch.grid);
    memcpy(job.launch.block, (uint32_t[]){7, 5, 1}, sizeof job.launch.block);
    memcpy(job.launch.cluster, (uint32_t[]){1, 2, 1}, sizeof job.launch.cluster);
    job.launch.sms = 3;
    job.launch.observer = &observer;
    (void)run_job(&job);
    static const char expected[] = "0 (0,0,0) warp 0 sm 0 rank 0: 0 line 5 ret ffffffff\n"
                                   "0 (0,0,0) warp 1 sm 0 rank 0: 0 line 5 ret 7\n"
                                   "2 (0,1,0) warp 0 sm 2 rank 1: 0 line 5 ret ffffffff\n"
                                   "2 (0,1,0) warp 1 sm 2 rank 1: 0 line 5 ret 7\nend 0\n"
                                   "1 (1,0,0) warp 0 sm 1 rank 0: 0 line 5 ret ffffffff\n"
                                   "1 (1,0,0) warp 1 sm 1 rank 0: 0 line 5 ret 7\n"
                                   "3 (1,1,0) warp 0 sm 0 rank 1: 0 line 5 ret ffffffff\n"
                                   "3 (1,1,0) warp 1 sm 0 rank 1: 0 line 5 ret 7\nend 1\n"
                                   "4 (0,0,1) warp 0 sm 1 rank 0: 0 line 5 ret ffffffff\n"
                                   "4 (0,0,1) warp 1 sm 1 rank 0: 0 line 5 ret 7\n"
                                   "6 (0,1,1) warp 0 sm 0 rank 1: 0 line 5 ret ffffffff\n"
                                   "6 (0,1,1) warp 1 sm 0 rank 1: 0 line 5 ret 7\nend 2\n"
                                   "5 (1,0,1) warp 0 sm 2 rank 0: 0 line 5 ret ffffffff\n"
                                   "5 (1,0,1) warp 1 sm 2 rank 0: 0 line 5 ret 7\n"
                                   "7 (1,1,1) warp 0 sm 1 rank 1: 0 line 5 ret ffffffff\n"
                                   "7 (1,1,1) warp 1 sm 1 rank 1: 0 line 5 ret 7\nend 3\n";
    assert_string_equal(observed.text, expected);
    /* The end of a cluster can stop the launch. */
    struct fth_error error = NO_ERROR;
    struct observed stopping = {.stop_after = 1};
    const struct fth_ptx_observer ends = {.user = &stopping, .done = store_end};
    job.launch.observer = &ends;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INTERRUPTED);
    assert_string_equal(error.cause, "stopped by the observer");
    assert_string_equal(stopping.text, "end 0\nend 1\n");
    job_fini(&job);
}

static bool store_step(void *user, const struct fth_ptx_issue *issue)
{
    struct observed *observed = user;
    append(observed, "%u%s", issue->who.warp, issue->alone ? "!" : "");
    observed->times[issue->who.warp] += issue->who.warp ? 10 : 3;
    return true;
}

static int64_t warp_time(void *user, const struct fth_ptx_warp_id *who)
{
    return ((struct observed *)user)->times[who->warp];
}

static bool store_barrier(void *user, uint64_t block, uint32_t barrier, uint32_t warps)
{
    struct observed *observed = user;
    append(observed, " barrier %u of %llu for %x ", barrier, (unsigned long long)block, warps);
    observed->times[0] = observed->times[1] = 100;
    return true;
}

/* An observer with a time: the warp with the lowest time runs, for 8 instructions if others can
 * run. Instructions of warp 0 take 3, those of warp 1 take 10. */
static void warps_run_in_the_order_of_their_times(void **state)
{
    (void)state;
    struct job job;
    struct observed observed = {.stop_after = UINT64_MAX};
    const struct fth_ptx_observer observer = {
        .user = &observed, .issue = store_step, .time = warp_time, .barrier = store_barrier};
#define FIVE                                                                                       \
    "add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 " \
    "%r1, %r1, 1;\n"
    job_init(&job, HEAD ".entry k(.param .u64 out) { .reg .b32 %r<2>;\n" FIVE FIVE FIVE FIVE
                        "bar.sync 2;\n" FIVE "ret; }");
    job.launch.block[0] = 64;
    job.launch.observer = &observer;
    (void)run_job(&job);
    /* Warp 0 to time 24, warp 1 to 80, warp 0 to 48 and to the barrier at 63. Then warp 1 is
     * alone. After the barrier, both have 6 instructions left, and warp 0 is the first one. */
    assert_string_equal(observed.text, "00000000"
                                       "11111111"
                                       "00000000"
                                       "00000"
                                       "1!1!1!1!1!1!1!1!1!1!1!1!1!"
                                       " barrier 2 of 0 for 3 "
                                       "000000"
                                       "1!1!1!1!1!1!");
    job_fini(&job);
}

/* ---- messages ---- */

struct messages {
    char text[1024];
    int count;
};

static void store_message(void *user, enum fth_level level, const char *text)
{
    struct messages *messages = user;
    assert_int_equal(level, FTH_LOG_WARNING);
    snprintf(messages->text, sizeof messages->text, "%s", text);
    messages->count++;
}

/* A kernel that calls printf gets a warning, once per kernel and machine. */
static void printf_is_reported_once(void **state)
{
    (void)state;
    struct job job;
    struct messages messages = {"", 0};
    const struct fth_log log = {.message = store_message, .user = &messages};
#define PRINT                                                                                      \
    "{ .reg .b64 %rd<2>; .param .b64 f; .param .b64 v; .param .b32 r;\n"                           \
    "call (r), vprintf, (f, v); ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], 7; ret; }\n"
    job_init(&job, HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
                        ".entry quiet(.param .u64 out) { ret; }\n"
                        ".entry k(.param .u64 out) " PRINT ".entry other(.param .u64 out) " PRINT);
    job.launch.log = &log;
    job.launch.kernel = "quiet";
    (void)run_job(&job);
    assert_int_equal(messages.count, 0);
    job.launch.kernel = "k";
    job.launch.grid[0] = 3;
    assert_int_equal(run_job(&job)[0], 7);
    (void)run_job(&job);
    assert_int_equal(messages.count, 1);
    assert_string_equal(messages.text,
                        "kernel 'k' calls printf; its output is dropped; 'fathom run' prints it");
    job.launch.kernel = "other";
    (void)run_job(&job);
    (void)run_job(&job);
    assert_int_equal(messages.count, 2);
    assert_contains(messages.text, "kernel 'other' calls printf");
    job_fini(&job);
}

/* Complete messages: the position in the source, the block and the thread in three dimensions. */
static void faults_name_the_thread(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job,
             KERNEL("mov.u32 %r1, %ctaid.z; mov.u32 %r2, %tid.z; mul.lo.u32 %r1, %r1, %r2;\n"
                    "setp.eq.u32 %p1, %r1, 2;\n.loc 1 12 3\n@%p1 trap;") ".file 1 \"a.cu\"\n");
    memcpy(job.launch.grid, (uint32_t[]){3, 1, 2}, sizeof job.launch.grid);
    memcpy(job.launch.block, (uint32_t[]){5, 4, 3}, sizeof job.launch.block);
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, NULL, &error), FTH_INVALID);
    assert_string_equal(error.cause,
                        "line 10 (trap), source a.cu:12, block (0,0,1), thread (0,0,2): trap");
    job_fini(&job);
#define AT "line 7 (" /* the line of BODY */
#define WHERE "), block (0,0,0), thread (0,0,0): "
    static const char *const rows[][2] = {
        {KERNEL("bar.sync 16;"),
         AT "bar.sync" WHERE "invalid barrier 16 for 0 threads: the index must be below 16, and "
            "the threads must be whole warps of the block"},
        {KERNEL("bar.sync 1, 33;"),
         AT "bar.sync" WHERE "invalid barrier 1 for 33 threads: the index must be below 16, and "
            "the threads must be whole warps of the block"},
        {KERNEL("bar.sync 15, 96;"),
         AT "bar.sync" WHERE "invalid barrier 15 for 96 threads: the index must be below 16, and "
            "the threads must be whole warps of the block"},
        {KERNEL("bar.arrive 3, 64; bar.sync 4, 64;\nbar.sync 3, 64;"), ""},
        {KERNEL(".shared .b8 s[64]; ld.shared.u32 %r1, [s+64];"),
         AT "ld.shared.u32" WHERE "read of 4 bytes at 0x40, outside the shared memory"},
        {KERNEL(".shared .b8 s[64]; st.shared.u64 [s+60], %rd1;"),
         AT "st.shared.u64" WHERE "write of 8 bytes at 0x3c, which is not aligned to 8"},
        {KERNEL(".local .b8 l[16]; ld.local.u32 %r1, [l+16];"),
         AT "ld.local.u32" WHERE "read of 4 bytes at 0x10, outside the local memory"},
        {KERNEL("ld.param.u32 %r1, [out+8];"),
         AT "ld.param.u32" WHERE "read of 4 bytes at 0x8, outside the parameter memory"},
        {KERNEL("mov.u64 %rd1, 8; ld.param.u32 %r1, [%rd1];"),
         AT "ld.param.u32" WHERE "read of 4 bytes at 0x8, outside the parameter memory"},
        {KERNEL("ld.const.u32 %r1, [16];"),
         AT "ld.const.u32" WHERE "read of 4 bytes at 0x10, outside the constant memory"},
        {KERNEL("ld.global.u32 %r1, [%rd0+4096];"),
         AT "ld.global.u32" WHERE "read of 4 bytes at 0x7f0000201000, outside the global memory"},
        {KERNEL("atom.global.add.u32 %r1, [%rd0+4096], 1;"),
         AT "atom.global.add.u32" WHERE
            "write of 4 bytes at 0x7f0000201000, outside the global memory"},
        {KERNEL("mov.u32 %r1, 6; cp.async.ca.shared.global [%r2], [%rd0], %r1;"), ""},
        {KERNEL("mov.u32 %r3, 2; t: .branchtargets a, b; brx.idx %r3, t;\na: b:"),
         AT "brx.idx" WHERE "branch index 2 is out of range: the list has 2 labels"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        if (*rows[i][1])
            expect_fault(rows[i][0], 64, rows[i][1]);
}

/* ---- calls ---- */

/* Sums 1 to n by recursion. Each activation keeps its n in local memory, which grows. */
#define RECURSION                                                                                  \
    ".func (.reg .b32 s) sum(.reg .b32 n);\n"                                                      \
    ".func (.reg .b32 s) sum(.reg .b32 n) { .local .align 4 .b8 kept[4]; .reg .b32 %m; "           \
    ".reg .pred %z;\nmov.u32 s, 0; setp.eq.u32 %z, n, 0; @%z ret; st.local.u32 [kept], n;\n"       \
    "sub.u32 %m, n, 1; call (s), sum, (%m); ld.local.u32 %m, [kept]; add.u32 s, s, %m; ret; }\n"

static void recursion_is_limited(void **state)
{
    (void)state;
    static const char pattern[] = HEAD RECURSION
        ".entry k(.param .u64 out) {\n" REGISTERS
        "mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r1, STEP, 1; call (%r3), sum, (%r2);\n"
        "mad.wide.u32 %rd0, %r1, 4, %rd0; st.global.u32 [%rd0], %r3; ret; }\n";
    char text[1024];
    const char *place = strstr(pattern, "STEP");
    snprintf(text, sizeof text, "%.*s%d%s", (int)(place - pattern), pattern, 3, place + 4);
    struct job job;
    job_init(&job, text);
    job.launch.block[0] = 40;
    const uint32_t *words = run_job(&job);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(words[i], (3 * i + 1) * (3 * i + 2) / 2);
    job_fini(&job);
    /* The kernel calls the first activation; a thousand of them are allowed. */
    snprintf(text, sizeof text, "%.*s%d%s", (int)(place - pattern), pattern, 998, place + 4);
    job_init(&job, text);
    job.launch.block[0] = 2;
    assert_int_equal(run_job(&job)[1], 999 * 1000 / 2);
    job_fini(&job);
    snprintf(text, sizeof text, "%.*s%d%s", (int)(place - pattern), pattern, 999, place + 4);
    expect_fault(text, 2,
                 "line 7 (call), block (0,0,0), thread (1,0,0): calls are nested more than 1000 "
                 "deep");
}

/* Lanes call different functions by address, some of them none. */
static void lanes_call_different_functions(void **state)
{
    (void)state;
    struct job job;
    job_init(&job,
             HEAD ".func (.reg .b32 y) twice(.reg .b32 x) { add.u32 y, x, x; ret; }\n"
                  ".func (.reg .b32 y) thrice(.reg .b32 x) { mul.lo.u32 y, x, 3; ret; }\n"
                  ".entry k(.param .u64 out) {\n" REGISTERS
                  "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mov.u64 %rd1, twice;\n"
                  "setp.eq.u32 %p1, %r2, 1; mov.u64 %rd2, thrice; selp.u64 %rd1, %rd2, %rd1, %p1;\n"
                  "setp.ne.u32 %p2, %r2, 3; mov.u32 %r3, 1000;\n"
                  "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
                  "@%p2 call (%r3), %rd1, (%r1), proto;\nactivemask.b32 %r4;\n"
                  "mad.wide.u32 %rd0, %r1, 8, %rd0; st.global.v2.u32 [%rd0], {%r3, %r4}; ret; }\n");
    job.launch.block[0] = 32;
    const uint32_t *words = run_job(&job);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t expected[] = {2 * i, 3 * i, 2 * i, 1000};
        assert_int_equal(words[(size_t)2 * i], expected[i % 4]);
        assert_int_equal(words[(size_t)2 * i + 1], 0xffffffff);
    }
    job_fini(&job);
}

/* Function i has the address 0x2030000000000 + 16 * i. Here, 0 is `f`, 1 is `g`, which has a
 * result, 2 is the kernel, and 3 is not defined. */
static void calls_by_address_are_checked(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {0, 8, 15, 0x10, 0x20, 0x30, 0x40, (uint64_t)-16};
    for (size_t i = 1; i < FTH_COUNT(wrong); i++) {
        char text[1024], cause[200];
        const unsigned long long target = UINT64_C(0x2030000000000) + wrong[i];
        snprintf(text, sizeof text,
                 HEAD ".func f(.reg .b32 x) { ret; }\n"
                      ".func (.reg .b32 y) g(.reg .b32 x) { mov.u32 y, 1; ret; }\n"
                      ".entry k(.param .u64 out) {\n.reg .b64 %%rd<2>;\n"
                      "p: .callprototype _ (.reg .b32 _);\nmov.u64 %%rd1, 0x%llx;\n"
                      "call %%rd1, (5), p;\nret; }\n.extern .func h(.reg .b32 x);\n",
                 target);
        snprintf(cause, sizeof cause,
                 "line 10 (call), block (0,0,0), thread (0,0,0): 0x%llx is not a function with "
                 "these arguments and results",
                 target);
        expect_fault(text, 1, cause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(the_instructions_of_a_warp_are_limited),
        cmocka_unit_test(blocks_of_a_cooperative_launch_wait),
        cmocka_unit_test(special_registers_have_values),
        cmocka_unit_test(clocks_count_instructions),
        cmocka_unit_test(observers_see_blocks_in_order),
        cmocka_unit_test(warps_run_in_the_order_of_their_times),
        cmocka_unit_test(printf_is_reported_once),
        cmocka_unit_test(faults_name_the_thread),
        cmocka_unit_test(recursion_is_limited),
        cmocka_unit_test(lanes_call_different_functions),
        cmocka_unit_test(calls_by_address_are_checked),
    };
    return cmocka_run_group_tests_name("ptx_launch", tests, NULL, NULL);
}
