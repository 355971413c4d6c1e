/* Tests the search for races on shared memory: kernels that lack one barrier each, and the same
 * kernels with it. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n"
/* A kernel of 128 threads. %r0 is the index of the thread, %r1 the shared address of its 4 bytes,
 * %r2 that of its neighbour in the warp, and %r3 that of the thread with the opposite index. p0 is
 * true in thread 0, p1 in the lower half of each warp. %r6 is 0 and stays so. The body begins in
 * line 16. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 buffer) {\n"                                               \
         ".shared .align 16 .b8 s[2048];\n"                                                        \
         ".shared .align 8 .b64 m;\n"                                                              \
         ".reg .pred p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<8>;\n"                 \
         ".reg .f32 %f<8>;\n"                                                                      \
         "ld.param.u64 %rd0, [buffer];\n"                                                          \
         "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2;\n"                                             \
         "xor.b32 %r2, %r1, 4; xor.b32 %r3, %r1, 508;\n"                                           \
         "setp.eq.u32 p0, %r0, 0; and.b32 %r5, %r0, 16; setp.eq.u32 p1, %r5, 0;\n"                 \
         "mov.u32 %r6, 0;\n"                                                                       \
         "add.u32 %r7, %r0, 1;\n" BODY "\nret;\n}\n"

enum { MAX_TEXT = 16384, THREADS = 128 };

static void keep_message(void *user, enum fth_level level, const char *text)
{
    char *all = user;
    const size_t used = strlen(all);
    assert_int_equal(level, FTH_LOG_WARNING);
    snprintf(all + used, MAX_TEXT - used, "%s\n", text);
}

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    unsigned char arguments[8];
    struct fth_log log;
    struct fth_ptx_launch launch;
    char text[MAX_TEXT]; /* the findings */
};

/* Prepares a kernel. One with mapa runs in a cluster of two blocks. */
static void open_job(struct job *job, const char *code)
{
    struct fth_error error = NO_ERROR;
    uint64_t buffer;
    const uint32_t blocks = strstr(code, "mapa") ? 2 : 1;
    *job = (struct job){.log = {.message = keep_message, .user = job->text}};
    if (fth_ptx_read_text("k.ptx", code, strlen(code), &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, 4096, &buffer, NULL), FTH_OK);
    memcpy(job->arguments, &buffer, sizeof buffer);
    job->launch = (struct fth_ptx_launch){.kernel = "k",
                                          .grid = {blocks},
                                          .cluster = {blocks},
                                          .block = {THREADS},
                                          .arguments = job->arguments,
                                          .argument_bytes = sizeof job->arguments,
                                          .max_instructions = 100000,
                                          .log = &job->log,
                                          .check_races = true};
}

static void close_job(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

/* Runs a kernel. If `expected` is NULL, nothing may be found; otherwise one race, whose message
 * contains the text. */
static void check_kernel(const char *name, const char *code, const char *expected)
{
    static struct job job;
    struct fth_error error = NO_ERROR;
    struct fth_ptx_totals totals;
    open_job(&job, code);
    const enum fth_status status = fth_ptx_run(job.machine, &job.launch, &totals, &error);
    close_job(&job);
    const char *end = strchr(job.text, '\n');
    if (!expected) {
        if (status != FTH_OK || job.text[0] || totals.race_count)
            fail_msg("%s: %s: %s", name, error.cause, job.text);
        return;
    }
    if (status != FTH_INVALID || !end || end[1] || !strstr(job.text, expected))
        fail_msg("%s: not '%s', but %s: %s", name, expected, error.cause, job.text);
    assert_contains(error.cause, "1 pair of instructions race; add the barriers");
    assert_int_equal(totals.race_count, 1);
    assert_int_equal(totals.fault, FTH_FAULT_NONE);
}

/* A kernel in two parts with something between them that must not be missing. */
struct race {
    const char *name;
    const char *correct, *faulty;
    const char *expected; /* in the message; NULL: the second kernel has no race either */
};
#define LACKS(BEFORE, MISSING, AFTER) KERNEL(BEFORE MISSING AFTER), KERNEL(BEFORE AFTER)
#define DIFFERS(BEFORE, RIGHT, WRONG, AFTER) KERNEL(BEFORE RIGHT AFTER), KERNEL(BEFORE WRONG AFTER)
/* Both kernels are correct. */
#define TWO(FIRST, SECOND) KERNEL(FIRST), KERNEL(SECOND), NULL

static void check_races(const struct race *races, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_kernel(races[i].name, races[i].correct, NULL);
        check_kernel(races[i].name, races[i].faulty, races[i].expected);
    }
}

#define WRITE_OWN "st.shared.u32 [%r1], %r7;\n"
#define READ_NEXT "ld.shared.u32 %r8, [%r2];\n"
#define READ_OTHER "ld.shared.u32 %r8, [%r3];\n"
#define BARRIER "bar.sync 0;\n"
#define WARP_BARRIER "bar.warp.sync 0xffffffff;\n"

static void barriers_of_blocks(void **state)
{
    (void)state;
    static const struct race races[] = {
        /* Warp 0 reads before warp 3 has written. */
        {"read before write", LACKS(WRITE_OWN, BARRIER, READ_OTHER),
         "kernel 'k': line 16 (st.shared.u32), block (0,0,0), thread (64,0,0): write of shared "
         "address 0x100 races with the read of line 17 (ld.shared.u32), block (0,0,0), thread "
         "(63,0,0); add __syncthreads() between them (128 times)"},
        {"read after write",
         LACKS("@p0 st.shared.u32 [%r6], %r7;\n", BARRIER, "ld.shared.u32 %r8, [%r6];\n"),
         "line 17 (ld.shared.u32), block (0,0,0), thread (1,0,0): read of shared address 0x0 races "
         "with the write of line 16 (st.shared.u32), block (0,0,0), thread (0,0,0); add "
         "__syncthreads() between them (127 times)"},
        {"write after read",
         LACKS(WRITE_OWN BARRIER READ_OTHER, BARRIER, "st.shared.u32 [%r1], 0;\n"),
         "read of shared address 0xfc races with the write of line 19"},
        {"write after write", LACKS(WRITE_OWN, BARRIER, "st.shared.u32 [%r3], %r0;\n"),
         "races with the write of line 17 (st.shared.u32)"},
        {"another barrier", DIFFERS(WRITE_OWN, "bar.sync 1;\n", WARP_BARRIER, READ_OTHER),
         "add __syncthreads() between them"},
        {"part of the block",
         DIFFERS("setp.lt.u32 p2, %r0, 64;\n" WRITE_OWN,
                 "xor.b32 %r3, %r1, 252; @p2 bar.sync 1, 64; "
                 "@!p2 bar.sync 2, 64;\n",
                 "@p2 bar.sync 1, 64; @!p2 bar.sync 2, 64;\n", READ_OTHER),
         "add __syncthreads() between them"},
        {"arrival",
         DIFFERS("setp.lt.u32 p2, %r0, 64; @p2 bra FIRST;\n", "bar.sync 1, 128;\n",
                 "bar.sync 2, 64;\n",
                 READ_OTHER "bra END;\nFIRST:\n" WRITE_OWN "bar.arrive 1, 128;\nEND:"),
         "read of shared address 0xfc races with the write of line 21"},
        {"vectors",
         LACKS("shl.b32 %r9, %r0, 4; st.shared.v2.u32 [%r9], {%r7, %r7};\n", BARRIER,
               "xor.b32 %r9, %r9, 2032; ld.shared.u32 %r8, [%r9+4];\n"),
         "address 0x404"},
        {"bytes", TWO("st.shared.u8 [%r0], %r7;\n" BARRIER "ld.shared.u8 %h1, [%r3];\n",
                      "st.shared.u8 [%r0], %r7; ld.shared.u8 %h1, [%r0];\n")},
    };
    check_races(races, FTH_COUNT(races));
}

static void barriers_of_warps(void **state)
{
    (void)state;
    static const struct race races[] = {
        {"__syncwarp", LACKS(WRITE_OWN, WARP_BARRIER, READ_NEXT),
         "line 17 (ld.shared.u32), block (0,0,0), thread (0,0,0): read of shared address 0x4 races "
         "with the write of line 16 (st.shared.u32), block (0,0,0), thread (1,0,0); add "
         "__syncwarp() or __syncthreads() between them (128 times)"},
        {"shuffle", LACKS(WRITE_OWN, "shfl.sync.idx.b32 %r9, %r0, 0, 31, 0xffffffff;\n", READ_NEXT),
         "add __syncwarp()"},
        /* Each half of a warp synchronises with itself. */
        {"halves",
         DIFFERS(WRITE_OWN "selp.b32 %r9, 0xffff, 0xffff0000, p1; bar.warp.sync %r9;\n", "",
                 "xor.b32 %r2, %r1, 64;\n", READ_NEXT),
         "thread (16,0,0); add __syncwarp() or __syncthreads() between them (128 times)"},
        /* Lane 0 learns of lane 31 through lane 1. */
        {"chain",
         LACKS("and.b32 %r9, %r0, 31; setp.eq.u32 p3, %r9, 0; setp.eq.u32 p4, %r9, 1;\n"
               "setp.eq.u32 p5, %r9, 31; or.pred p4, p4, p5; setp.le.u32 p6, %r9, 1;\n"
               "@p5 st.shared.u32 [%r1], %r7;\n"
               "@p4 bar.warp.sync 0x80000002;\n",
               "@p6 bar.warp.sync 3;\n", "@p3 ld.shared.u32 %r8, [%r1+124];\n"),
         "add __syncwarp()"},
    };
    check_races(races, FTH_COUNT(races));
}

static void atomic_operations(void **state)
{
    (void)state;
    static const struct race races[] = {
        {"counter",
         LACKS("@p0 st.shared.u32 [%r6], 0;\n", BARRIER, "red.shared.add.u32 [%r6], 1;\n"),
         "line 17 (red.shared.add.u32), block (0,0,0), thread (1,0,0): atomic access of shared "
         "address 0x0 races with the write of line 16"},
        {"total", LACKS("red.shared.add.u32 [%r6], 1;\n", BARRIER, "ld.shared.u32 %r8, [%r6];\n"),
         "races with the"},
        {"reset", LACKS("red.shared.add.u32 [%r6], 1;\n", BARRIER, "@p0 st.shared.u32 [%r6], 0;\n"),
         "races with the"},
        /* Thread 0 sets a flag that thread 127 waits for. */
        {"flag",
         DIFFERS("setp.eq.u32 p2, %r0, 127; @p0 bra SET; @p2 bra WAIT; bra END;\n",
                 "SET: membar.cta; st.volatile.shared.u32 [%r6+512], 1;\n",
                 "SET: membar.cta; st.shared.u32 [%r6+512], 1;\n",
                 "bra END;\nWAIT: ld.volatile.shared.u32 %r8, [%r6+512]; setp.eq.u32 p3, %r8, 0;\n"
                 "@p3 bra WAIT;\nEND:"),
         "races with"},
        {"data and flag",
         TWO("setp.eq.u32 p2, %r0, 127; @p0 bra SET; @p2 bra WAIT; bra END;\n"
             "SET: st.shared.u32 [%r1], 5; membar.cta; st.volatile.shared.u32 [%r6+512], 1;\n"
             "bra END;\nWAIT: ld.volatile.shared.u32 %r8, [%r6+512]; setp.eq.u32 p3, %r8, 0;\n"
             "@p3 bra WAIT; ld.shared.u32 %r9, [%r3];\nEND:",
             "@p0 st.relaxed.cta.shared.u32 [%r6], 5; ld.relaxed.cta.shared.u32 %r8, [%r6];\n")},
        {"lock",
         TWO("and.b32 %r9, %r0, 31; setp.ne.u32 p5, %r9, 0; @p5 bra END;\n"
             "LOCK: atom.shared.cas.b32 %r8, [%r6], 0, 1; setp.ne.u32 p2, %r8, 0; @p2 bra LOCK;\n"
             "membar.cta; ld.shared.u32 %r9, [%r6+4]; add.u32 %r9, %r9, 1;\n"
             "st.shared.u32 [%r6+4], %r9; membar.cta; atom.shared.exch.b32 %r8, [%r6], 0;\n"
             "END:",
             "atom.shared.add.u32 %r8, [%r6], 1; atom.shared.max.u32 %r8, [%r6], 1;\n")},
        {"in global memory",
         DIFFERS(
             "setp.eq.u32 p2, %r0, 127; @p0 bra SET; @p2 bra WAIT; bra END;\n"
             "SET: st.shared.u32 [%r1], 5; membar.cta; st.release.gpu.global.u32 [%rd0], 1;\n"
             "bra END;\n",
             "WAIT: ld.acquire.gpu.global.u32 %r8, [%rd0]; setp.eq.u32 p3, %r8, 0; @p3 bra WAIT;\n",
             "WAIT:\n", "ld.shared.u32 %r9, [%r3];\nEND:"),
         "races with"},
    };
    check_races(races, FTH_COUNT(races));
}

/* A write of what another thread has written is no race; one of another value is. */
static void equal_values(void **state)
{
    (void)state;
    static const struct race races[] = {
        {"flag", DIFFERS("", "st.shared.u32 [%r6], 1;\n", "st.shared.u32 [%r6], %r0;\n", ""),
         "races with the write of line 16"},
        {"read of it",
         DIFFERS("mov.u32 %r9, %ntid.x;\n", "st.shared.u32 [%r6], %r9; ld.shared.u32 %r8, [%r6];\n",
                 "st.shared.u32 [%r6+4], %r9; @p0 st.shared.u32 [%r6], %r9; "
                 "ld.shared.u32 %r8, [%r6];\n",
                 ""),
         "races with the write of line 17"},
        /* The lanes of a warp write the same value; other warps must wait for it. */
        {"read by other warps",
         LACKS(
             "setp.lt.u32 p2, %r0, 32; @p2 st.shared.u32 [%r6], 1; @p2 ld.shared.u32 %r8, [%r6];\n",
             BARRIER, "@!p2 ld.shared.u32 %r8, [%r6];\n"),
         "races with the write of line 16"},
    };
    check_races(races, FTH_COUNT(races));
}

static void mbarriers_and_clusters(void **state)
{
    (void)state;
    static const struct race races[] = {
        {"mbarrier",
         LACKS("@p0 mbarrier.init.shared.b64 [m], 128;\n" BARRIER WRITE_OWN
               "mbarrier.arrive.shared.b64 %rd1, [m];\n",
               "WAIT: mbarrier.test_wait.shared.b64 p2, [m], %rd1; @!p2 bra WAIT;\n", READ_OTHER),
         "races with the"},
        {"cluster",
         DIFFERS(WRITE_OWN, "barrier.cluster.arrive; barrier.cluster.wait;\n", BARRIER,
                 "mov.u32 %r9, %cluster_ctarank; xor.b32 %r9, %r9, 1;\n"
                 "mapa.shared::cluster.u32 %r10, %r1, %r9; ld.shared::cluster.u32 %r8, [%r10];\n"
                 "barrier.cluster.arrive; barrier.cluster.wait;\n"),
         "add cluster.sync() between them"},
    };
    check_races(races, FTH_COUNT(races));
}

/* Races between copies of the same two source lines are one race, and a machine reports each race
 * once. Without the option, nothing is checked. */
static void reported_once(void **state)
{
    (void)state;
    static struct job job;
    static const char code[] =
        KERNEL(".loc 1 7 1\n" WRITE_OWN ".loc 1 8 1\n" READ_OTHER "ld.shared.u32 %r9, [%r2];\n"
               "xor.b32 %r9, %r2, 128; ld.shared.u32 %r9, [%r9];\n");
    struct fth_error error = NO_ERROR;
    struct fth_ptx_totals totals;
    open_job(&job, code);
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, &error), FTH_INVALID);
    assert_int_equal(totals.race_count, 1);
    assert_contains(job.text, "source k.cu:7, block");
    assert_contains(job.text, "source k.cu:8, block");
    assert_contains(job.text, "; add __syncthreads() between them");
    job.text[0] = '\0';
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, &error), FTH_INVALID);
    assert_int_equal(totals.race_count, 1);
    assert_string_equal(job.text, "");
    job.launch.check_races = false;
    job.launch.check_async = true;
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals, &error), FTH_OK);
    assert_int_equal(totals.race_count, 0);
    close_job(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_of_blocks),     cmocka_unit_test(barriers_of_warps),
        cmocka_unit_test(atomic_operations),      cmocka_unit_test(equal_values),
        cmocka_unit_test(mbarriers_and_clusters), cmocka_unit_test(reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
