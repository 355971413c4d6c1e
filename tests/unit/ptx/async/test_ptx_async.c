/* Tests asynchronous copies and mbarriers in the PTX engine. The expected results follow from the
 * PTX specification; where that leaves open when a copy takes place, the engine executes it as late
 * as possible, so that a missing wait shows. */
#include "../ptx_job.h"
#include "../refused.h"

#include <stdio.h>

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"
/* A kernel with the address of 4 KiB of input in %rd0, that of 4 KiB of output in %rd1, the
 * thread's part of each in %rd2 and %rd3 (16 bytes per thread), and the thread's index in %r0. `s`
 * is shared memory, `m` an mbarrier. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n"                                  \
         ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 m;\n"                              \
         ".reg .pred p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n"                                 \
         "ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];\n"                                    \
         "mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd1, %rd2;\n"            \
         "add.u64 %rd2, %rd0, %rd2; shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, "       \
         "%r2;\n" BODY "\nret;\n}\n"
/* Stores the thread's 16 bytes of shared memory to the output. */
#define STORE                                                                                      \
    "ld.shared.v4.u32 {%r28,%r29,%r30,%r31}, [%r1];\n"                                             \
    "st.global.v4.u32 [%rd3], {%r28,%r29,%r30,%r31};\n"

enum { WORDS = 1024 };

/* Prepares a launch with a block of `threads` threads. Word i of the input is i + 1. */
static void job_init(struct job *job, const char *text, uint32_t threads)
{
    job_open(job, text, 2, WORDS * sizeof(uint32_t));
    uint32_t *in = fth_ptx_host(job->machine, job->buffers[0], WORDS * sizeof *in);
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i + 1;
    job->launch.block[0] = threads;
}

/* Runs a kernel with 64 threads and checks that word i of the output is first + i for `count`
 * words. first 0: the words are 0. */
static void check_words(const char *text, uint32_t first, size_t count)
{
    struct job job;
    job_init(&job, text, 64);
    const uint32_t *out = run_job(&job);
    for (size_t i = 0; i < count; i++)
        if (out[i] != (first ? first + i : 0))
            fail_msg("word %zu is %u in\n%s", i, out[i], text);
    job_fini(&job);
}

static void check_fault(const char *text, const char *cause)
{
    struct job job;
    job_init(&job, text, 64);
    expect_failure(&job, cause);
    job_fini(&job);
}

/* ---- cp.async ---- */

#define COPY "cp.async.ca.shared.global [%r1], [%rd2], 16;\n"

static void copies_of_threads_arrive_at_the_wait(void **state)
{
    (void)state;
    check_words(KERNEL(COPY "cp.async.commit_group; cp.async.wait_group 0;\n" STORE), 1, 256);
    check_words(KERNEL(COPY "cp.async.wait_all;\n" STORE), 1, 256);
    check_words(KERNEL(COPY "cp.async.commit_group; cp.async.wait_group 1;\n" STORE), 0, 256);
    /* A wait for groups does not wait for copies that are in no group. */
    check_words(KERNEL(COPY "cp.async.wait_group 0;\n" STORE), 0, 256);
    /* Without a wait, the old contents are seen. */
    check_words(KERNEL(COPY "cp.async.commit_group;\n" STORE), 0, 256);
}

/* A copy into the second half of the shared memory, from word 256 of the input on. */
#define SECOND "cp.async.cg.shared.global [%r1+1024], [%rd2+1024], 16;\n"

static void groups_are_complete_in_order(void **state)
{
    (void)state;
    check_words(KERNEL(COPY "cp.async.commit_group;\n" SECOND
                            "cp.async.commit_group; cp.async.wait_group 1;\n" STORE),
                1, 256);
    check_words(KERNEL(COPY "cp.async.commit_group;\n" SECOND "cp.async.commit_group;\n"
                            "cp.async.wait_group 1; add.u32 %r1, %r1, 1024;\n" STORE),
                0, 256);
    check_words(KERNEL(COPY "cp.async.commit_group;\n" SECOND "cp.async.commit_group;\n"
                            "cp.async.wait_group 0; add.u32 %r1, %r1, 1024;\n" STORE),
                257, 256);
}

static void parts_of_a_copy_become_zero(void **state)
{
    (void)state;
    struct job job;
    job_init(&job,
             KERNEL("mov.u32 %r5, 7; st.shared.v4.u32 [%r1], {%r5,%r5,%r5,%r5};\n"
                    "and.b32 %r6, %r0, 3; shl.b32 %r6, %r6, 2;\n" /* 0, 4, 8 or 12 bytes */
                    "cp.async.cg.shared.global [%r1], [%rd2], 16, %r6; cp.async.wait_all;\n" STORE),
             64);
    const uint32_t *out = run_job(&job);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], i % 4 < i / 4 % 4 ? i + 1 : 0);
    job_fini(&job);
    /* A copy of no bytes has no source, wherever its address points. */
    check_words(KERNEL("mov.u64 %rd5, 64; cp.async.cg.shared.global [%r1], [%rd5], 16, 0;\n"
                       "cp.async.wait_all;\n" STORE),
                0, 256);
    /* The predicate says that the source is ignored. */
    check_words(
        KERNEL("setp.eq.u32 p1, %r0, %r0;\n"
               "cp.async.ca.shared.global [%r1], [%rd2], 16, p1; cp.async.wait_all;\n" STORE),
        0, 256);
    check_words(
        KERNEL("setp.eq.u32 p1, %r0, %r0;\n"
               "cp.async.ca.shared.global [%r1], [%rd2], 16, !p1; cp.async.wait_all;\n" STORE),
        1, 256);
    check_fault(KERNEL("mov.u64 %rd5, 64; cp.async.ca.shared.global [%r1], [%rd5], 16;"),
                "read of 16 bytes at 0x40, outside the global memory");
    check_fault(KERNEL("cp.async.ca.shared.global [%r1], [%rd2], 12;"), "it must be 4, 8 or 16");
}

/* Policies have no effect on values. Their registers become the number of their first priority, 4
 * for evict_last (enum fth_ptx_priority). */
static void policies_are_priorities(void **state)
{
    (void)state;
    check_words(KERNEL("mov.u64 %rd10, 5; createpolicy.fractional.L2::evict_last.b64 %rd10, 1.0;\n"
                       "sub.u64 %rd10, %rd10, 4; st.global.u64 [%rd3], %rd10;"),
                0, 256);
    check_words(KERNEL("createpolicy.fractional.L2::evict_last.b64 %rd10, 1.0;\n"
                       "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %rd10;\n"
                       "cp.async.wait_all;\n" STORE),
                1, 256);
}

/* ---- mbarriers ---- */

#define INIT(COUNT)                                                                                \
    "setp.eq.u32 p0, %r0, 0; @p0 mbarrier.init.shared.b64 [m], " COUNT "; bar.sync 0;\n"
#define WAIT "wait: mbarrier.try_wait.parity.shared.b64 p2, [m], 0; @!p2 bra wait;\n"

static void copies_of_threads_arrive_at_an_mbarrier(void **state)
{
    (void)state;
    /* With .noinc, the arrivals are among those that the mbarrier waits for. */
    check_words(
        KERNEL(INIT("64") COPY "cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n" WAIT STORE), 1,
        256);
    /* Without it, the thread itself must arrive, too. */
    check_words(KERNEL(INIT("64") COPY "cp.async.mbarrier.arrive.shared.b64 [m];\n"
                                       "mbarrier.arrive.shared.b64 %rd10, [m];\n" WAIT STORE),
                1, 256);
    check_fault(KERNEL(INIT("64") COPY "cp.async.mbarrier.arrive.shared.b64 [m];\n" WAIT),
                "waits for an mbarrier whose phase no thread and no copy completes");
}

/* Thread 0 arrives at an mbarrier after its copies and stores whether the phase is complete. */
#define ARRIVED(COPIES)                                                                            \
    KERNEL(INIT("1") "@!p0 bra end;\n" COPIES "mbarrier.test_wait.parity.shared.b64 p2, [m], 0;\n" \
                     "selp.u32 %r5, 1, 0, p2; st.global.u32 [%rd1], %r5; end:\n")
#define ARRIVE "cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n"

static void arrivals_follow_the_copies_before_them(void **state)
{
    (void)state;
    check_words(ARRIVED(COPY ARRIVE "cp.async.wait_all;\n"), 1, 1);
    check_words(ARRIVED(COPY "cp.async.commit_group;\n" ARRIVE "cp.async.wait_group 0;\n"), 1, 1);
    check_words(ARRIVED(COPY "cp.async.commit_group;\n" ARRIVE SECOND "cp.async.wait_group 0;\n"),
                1, 1);
    /* A copy before it is not complete. */
    check_words(ARRIVED(COPY ARRIVE), 0, 1);
    check_words(ARRIVED(COPY "cp.async.commit_group;\n" SECOND ARRIVE "cp.async.wait_group 0;\n"),
                0, 1);
    /* The threads wait for no copy, so the arrival is as late as possible. */
    check_words(ARRIVED(ARRIVE "cp.async.wait_all;\n"), 0, 1);
    check_words(ARRIVED(COPY "cp.async.wait_all;\n" ARRIVE "cp.async.wait_all;\n"), 0, 1);
}

static void phases_complete_with_all_arrivals(void **state)
{
    (void)state;
    /* 64 arrivals complete the phase; the token of an arrival belongs to the phase before. */
    check_words(
        KERNEL(INIT("64") "mbarrier.arrive.shared.b64 %rd10, [m];\n"
                          "wait: mbarrier.test_wait.shared.b64 p2, [m], %rd10; @!p2 bra wait;\n"
                          "mov.u32 %r5, 1; add.u32 %r5, %r5, %r0; shl.b32 %r6, %r0, 2;\n"
                          "cvt.u64.u32 %rd6, %r6; add.u64 %rd6, %rd1, %rd6;\n"
                          "st.global.u32 [%rd6], %r5;"),
        1, 64);
    /* One thread arrives for all; the pending count of a token is that before the arrival. */
    check_words(
        KERNEL(
            INIT("64") "@p0 mbarrier.arrive.shared.b64 %rd10, [m], 64;\n" WAIT
                       "mbarrier.pending_count.b64 %r5, %rd10; @p0 st.global.u32 [%rd1], %r5;\n"),
        64, 1);
    /* arrive_drop: later phases wait for fewer arrivals. */
    check_words(
        KERNEL(INIT("2") "@p0 mbarrier.arrive.shared.b64 _, [m];\n"
                         "@p0 mbarrier.arrive_drop.shared.b64 _, [m];\n"
                         "@p0 mbarrier.arrive.shared.b64 %rd10, [m];\n"
                         "wait: mbarrier.try_wait.parity.shared.b64 p2, [m], 1; @!p2 bra wait;\n"
                         "mbarrier.pending_count.b64 %r5, %rd10; @p0 st.global.u32 [%rd1], %r5;\n"),
        1, 1);
}

static void phases_wait_for_bytes(void **state)
{
    (void)state;
    check_words(KERNEL(INIT("1") "@p0 mbarrier.arrive.expect_tx.shared.b64 %rd10, [m], 64;\n"
                                 "@p0 mbarrier.complete_tx.shared.b64 [m], 64;\n" WAIT
                                 "mov.u32 %r5, 1; @p0 st.global.u32 [%rd1], %r5;"),
                1, 1);
    check_words(KERNEL(INIT("1") "@p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 64;\n"
                                 "@p0 mbarrier.arrive.shared.b64 %rd10, [m];\n"
                                 "mbarrier.test_wait.parity.shared.b64 p2, [m], 0;\n"
                                 "selp.u32 %r5, 1, 0, p2; @p0 st.global.u32 [%rd1], %r5;"),
                0, 1);
}

/* Thread 0 stores a word: the number of arrivals that the phase still waits for at last. */
#define PENDING                                                                                    \
    "@p0 mbarrier.arrive.shared.b64 %rd10, [m]; mbarrier.pending_count.b64 %r5, %rd10;\n"          \
    "@p0 st.global.u32 [%rd1], %r5;"

static void mbarriers_count_up_to_their_limits(void **state)
{
    (void)state;
    check_words(KERNEL(INIT("1048575") PENDING), 1048575, 1);
    check_words(KERNEL(INIT("1048574") "@p0 cp.async.mbarrier.arrive.shared.b64 [m];\n" PENDING),
                1048575, 1);
    check_words(KERNEL(INIT("9") "@p0 mbarrier.arrive.noComplete.shared.b64 %rd10, [m], 8;\n"
                                 "@p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 1048575;\n"
                                 "@p0 mbarrier.complete_tx.shared.b64 [m], 1048575;\n" PENDING),
                1, 1);
    check_words(KERNEL(INIT("9") "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [m], 1048575;\n"
                                 "@p0 mbarrier.complete_tx.shared.b64 [m], 1048574;\n" PENDING),
                8, 1);
    check_words(
        KERNEL(INIT("9") "@p0 mbarrier.complete_tx.shared.b64 [m], 1048575;\n"
                         "@p0 mbarrier.arrive_drop.shared.b64 _, [m], 4;\n"
                         "@p0 mbarrier.arrive.shared.b64 _, [m], 5;\n"
                         "@p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 1048575;\n" PENDING),
        5, 1);
    check_words(KERNEL(INIT("9") "@p0 mbarrier.arrive_drop.expect_tx.shared.b64 _, [m], 16;\n"
                                 "@p0 mbarrier.arrive.shared.b64 _, [m], 8;\n"
                                 "@p0 mbarrier.complete_tx.shared.b64 [m], 16;\n" PENDING),
                8, 1);
}

static void wrong_uses_of_mbarriers_are_faults(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {KERNEL("mbarrier.arrive.shared.b64 %rd10, [m];"), "this is not an mbarrier"},
        {KERNEL("mbarrier.test_wait.parity.shared.b64 p2, [m], 0;"), "this is not an mbarrier"},
        {KERNEL("mbarrier.init.shared.b64 [m], 0;"), "must be from 1 to 1048575"},
        {KERNEL("mbarrier.init.shared.b64 [m], 1048576;"), "must be from 1 to 1048575"},
        {KERNEL(INIT("1") "mbarrier.inval.shared.b64 [m]; mbarrier.arrive.shared.b64 _, [m];"),
         "this is not an mbarrier"},
        {KERNEL(INIT("32") "mbarrier.arrive.shared.b64 _, [m], 33;"), "more arrivals than"},
        {KERNEL(INIT("1") "@p0 mbarrier.arrive.noComplete.shared.b64 %rd10, [m], 1;"),
         "which .noComplete excludes"},
        {KERNEL(INIT("64") "mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 0x100000;"),
         "exceed 1048575"},
        {KERNEL(INIT("2") WAIT), "waits for an mbarrier whose phase"},
        {KERNEL(INIT("2") "@p0 mbarrier.arrive.shared.b64 _, [m], 0;"), "more arrivals than"},
        {KERNEL(INIT("2") "@p0 mbarrier.arrive.shared.b64 _, [m], 3;"), "more arrivals than"},
        /* The phase waits for 2 arrivals and the next one for 1. */
        {KERNEL(INIT("1") "@p0 cp.async.mbarrier.arrive.shared.b64 [m];\n"
                          "@p0 mbarrier.arrive_drop.shared.b64 _, [m], 2;"),
         "more arrivals than"},
        {KERNEL(INIT("3") "@p0 mbarrier.arrive.noComplete.shared.b64 %rd10, [m], 3;"),
         "which .noComplete excludes"},
        {KERNEL(INIT("3") "@p0 mbarrier.complete_tx.shared.b64 [m], 1048576;"), "exceed 1048575"},
        {KERNEL(INIT("3") "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [m], 1048575;\n"
                          "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [m], 1;"),
         "exceed 1048575"},
        {KERNEL(INIT("3") "mov.u64 %rd10, 5; mbarrier.test_wait.shared.b64 p2, [m], %rd10;"),
         "this is not an mbarrier"},
        {KERNEL("cp.async.mbarrier.arrive.shared.b64 [m];"), "this is not an mbarrier"},
        {KERNEL(INIT("1048575") "@p0 cp.async.mbarrier.arrive.shared.b64 [m];"),
         "this is not an mbarrier"},
        {KERNEL(INIT("1") "@p0 cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n"
                          "@p0 mbarrier.inval.shared.b64 [m];"),
         "expects no more arrivals"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        check_fault(rows[i][0], rows[i][1]);
}

/* ---- bulk copies ---- */

#define BULK_LOAD                                                                                  \
    "@p0 mbarrier.arrive.expect_tx.shared.b64 %rd10, [m], 1024;\n"                                 \
    "@p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], 1024, "    \
    "[m];\n"

static void bulk_copies_complete_at_an_mbarrier(void **state)
{
    (void)state;
    check_words(KERNEL(INIT("1") BULK_LOAD WAIT STORE), 1, 256);
    /* Without a wait, the old contents are seen. */
    check_words(KERNEL(INIT("1") BULK_LOAD STORE), 0, 256);
    check_fault(KERNEL(INIT("1") "@p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                 "bytes [s+8], [%rd0], 1024, [m];"),
                "address and size must be multiples of 16");
    check_fault(KERNEL(INIT("1") "@p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                 "bytes [s], [%rd0], 8192, [m];"),
                "outside the global memory");
    check_fault(KERNEL("setp.eq.u32 p0, %r0, 0;\n" BULK_LOAD), "this is not an mbarrier");
    check_fault(KERNEL(INIT("1") "@p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
                                 "complete_tx::bytes [s], [s+1024], 512, [m];"),
                "requires a launch with clusters");
}

static void bulk_copies_to_global_memory_are_groups(void **state)
{
    (void)state;
    static const char store[] =
        KERNEL("ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2]; st.shared.v4.u32 [%r1], "
               "{%r4,%r5,%r6,%r7}; bar.sync 0; setp.eq.u32 p0, %r0, 0;\n"
               "@p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 1024;\n"
               "@p0 cp.async.bulk.commit_group; @p0 cp.async.bulk.wait_group.read 0;\n"
               "bar.sync 0; mov.u32 %r5, 99; st.shared.u32 [%r1], %r5;");
    check_words(store, 1, 256);
    /* A copy that nobody waits for is executed when the source has already changed. */
    static const char late[] =
        KERNEL("ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2]; st.shared.v4.u32 [%r1], "
               "{%r4,%r5,%r6,%r7}; bar.sync 0; setp.eq.u32 p0, %r0, 0;\n"
               "@p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 1024;\n"
               "@p0 cp.async.bulk.commit_group;\n"
               "bar.sync 0; mov.u32 %r5, 0; st.shared.v4.u32 [%r1], {%r5,%r5,%r5,%r5};");
    check_words(late, 0, 256);
}

static void bulk_reductions_combine_with_the_destination(void **state)
{
    (void)state;
    static const char body[] =
        KERNEL("ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2]; st.shared.v4.u32 [%r1], "
               "{%r4,%r5,%r6,%r7}; st.global.v4.u32 [%rd3], {%r4,%r5,%r6,%r7}; bar.sync 0;\n"
               "setp.eq.u32 p0, %r0, 0;\n"
               "@p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [s], 512;\n"
               "@p0 cp.async.bulk.commit_group; @p0 cp.async.bulk.wait_group 0;");
    struct job job;
    job_init(&job, body, 64);
    const uint32_t *out = run_job(&job);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], (i < 128 ? 2 : 1) * (i + 1));
    job_fini(&job);
}

/* ---- clusters ---- */

/* Block 0 copies to both blocks of a cluster. Each block waits at its own mbarrier. */
static void multicast_reaches_all_blocks(void **state)
{
    (void)state;
    static const char body[] = KERNEL(
        "mov.u32 %r9, %cluster_ctarank; setp.eq.u32 p0, %r0, 0;\n"
        "@p0 mbarrier.init.shared.b64 [m], 1;\n"
        "@p0 mbarrier.arrive.expect_tx.shared.b64 %rd10, [m], 1024;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\n"
        "setp.eq.and.u32 p3, %r9, 0, p0; mov.b16 h, 3;\n"
        "@p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[s], [%rd0], 1024, [m], h;\n" WAIT
        "mul.wide.u32 %rd7, %r9, 1024; add.u64 %rd3, %rd3, %rd7;\n" STORE
        "barrier.cluster.arrive; barrier.cluster.wait;");
    char text[4096];
    const char *reg = strstr(body, ".reg .pred");
    snprintf(text, sizeof text, "%.*s.reg .b16 h; %s", (int)(reg - body), body, reg);
    struct job job;
    job_init(&job, text, 64);
    job.launch.grid[0] = 2;
    job.launch.cluster[0] = 2;
    const uint32_t *out = run_job(&job);
    for (uint32_t i = 0; i < 512; i++)
        assert_int_equal(out[i], i % 256 + 1);
    job_fini(&job);
}

/* Threads of block 1 arrive at the mbarrier of block 0. */
static void other_blocks_arrive_at_an_mbarrier(void **state)
{
    (void)state;
    static const char body[] =
        KERNEL("mov.u32 %r9, %cluster_ctarank; setp.eq.u32 p0, %r0, 0; mov.u32 %r8, m;\n"
               "@p0 mbarrier.init.shared.b64 [m], 128;\n"
               "barrier.cluster.arrive; barrier.cluster.wait;\n"
               "mapa.shared::cluster.u32 %r8, %r8, 0;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];\n"
               "setp.ne.u32 p4, %r9, 0; @p4 bra end;\n" WAIT
               "mov.u32 %r5, 1; @p0 st.global.u32 [%rd1], %r5;\n"
               "end: barrier.cluster.arrive; barrier.cluster.wait;");
    struct job job;
    job_init(&job, body, 64);
    job.launch.grid[0] = 2;
    job.launch.cluster[0] = 2;
    assert_int_equal(run_job(&job)[0], 1);
    job_fini(&job);
}

/* ---- orders ---- */

/* Copies with and without a wait. Word i of the output is i + 1 if the copy has taken place. */
static void copies_are_executed_early_or_late(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool waits;
    } rows[] = {
        {KERNEL(COPY "cp.async.commit_group;\n" STORE), false},
        {KERNEL(COPY "cp.async.wait_all;\n" STORE), true},
        {KERNEL(INIT("1") BULK_LOAD STORE), false},
        {KERNEL(INIT("1") BULK_LOAD WAIT STORE), true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int order = FTH_COPY_LATE; order <= FTH_COPY_EARLY; order++) {
            struct job job;
            job_init(&job, rows[i].text, 64);
            job.launch.copy_order = (enum fth_copy_order)order;
            const uint32_t *out = run_job(&job);
            for (uint32_t word = 0; word < 256; word++)
                assert_int_equal(out[word],
                                 rows[i].waits || order == FTH_COPY_EARLY ? word + 1 : 0);
            job_fini(&job);
        }
}

/* Runs 64 blocks that each copy a word, execute some instructions without waiting, and store what
 * they see: 1, or 0 if the copy has not taken place. Returns one bit per block. */
static uint64_t random_blocks(uint64_t seed, unsigned threads)
{
    static const char text[] = KERNEL(
        COPY "mov.u32 %r8, 20;\n"
             "loop: sub.u32 %r8, %r8, 1; setp.ne.u32 p1, %r8, 0; @p1 bra loop;\n"
             "mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd4, %r9, 4; add.u64 %rd4, %rd1, %rd4;\n"
             "setp.eq.u32 p0, %r0, 0; ld.shared.u32 %r10, [%r1]; @p0 st.global.u32 [%rd4], %r10;");
    struct job job;
    uint64_t seen = 0;
    job_init(&job, text, 32);
    job.launch.grid[0] = 64;
    job.launch.threads = threads;
    job.launch.copy_order = FTH_COPY_RANDOM;
    job.launch.copy_seed = seed;
    const uint32_t *out = run_job(&job);
    for (unsigned i = 0; i < 64; i++) {
        assert_true(out[i] <= 1);
        seen |= (uint64_t)out[i] << i;
    }
    job_fini(&job);
    return seen;
}

static void random_orders_depend_on_the_seed_only(void **state)
{
    (void)state;
    const uint64_t seen = random_blocks(1, 1);
    assert_true(seen != 0 && seen != UINT64_MAX);
    assert_int_equal(random_blocks(1, 4), seen);
    assert_int_not_equal(random_blocks(2, 1), seen);
    /* A kernel that waits has the same results. */
    static const char *const texts[] = {KERNEL(COPY "cp.async.wait_all;\n" STORE),
                                        KERNEL(INIT("1") BULK_LOAD WAIT STORE)};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct job job;
        job_init(&job, texts[seed % 2], 64);
        job.launch.copy_order = FTH_COPY_RANDOM;
        job.launch.copy_seed = seed;
        const uint32_t *out = run_job(&job);
        for (uint32_t word = 0; word < 256; word++)
            assert_int_equal(out[word], word + 1);
        job_fini(&job);
    }
}

/* ---- forms ---- */

#define BULK "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
#define TO_GLOBAL "cp.async.bulk.global.shared::cta.bulk_group"
#define REDUCE "cp.reduce.async.bulk.global.shared::cta.bulk_group"
#define STORE_ASYNC "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
#define RED_ASYNC "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster"

/* Part of the message with which a statement is refused; NULL: it is accepted. */
static const struct {
    const char *statement, *cause;
} forms[] = {
    {"cp.async.ca.shared.global [%r1], [%rd2], 4;", NULL},
    {"cp.async.cg.shared.global.L2::128B [%r1], [%rd2], 16, %r3;", NULL},
    {"cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %rd4;", NULL},
    {"cp.async.cg.shared.global.L2::cache_hint.L2::64B [%r1], [%rd2], 16, %r3, %rd4;", NULL},
    {"cp.async.cg.shared.global [%r1], [%rd2], 16, %r3, %rd4;", "takes 3 operands"},
    {"cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %r3, %rd4, 1;",
     "takes 3 operands"},
    {"cp.async.cg.shared.global [%r1], [%rd2];", "takes 3 operands"},
    {"cp.async.cg.shared.global %r1, [%rd2], 16;", "operand 1 of"},
    {"cp.async.cg.shared.global [%r1], %rd2, 16;", "operand 2 of"},
    {"cp.async.cg.shared.global [%r1], [%rd2], {%r1, %r2};", "operand 3 of"},
    {"cp.async.cg.shared.global [%r1], [%rd2], 16, {%r1, %r2};", "operand 4 of"},
    {"cp.async.cs.shared.global [%r1], [%rd2], 16;", "'.cs' of"},
    {"cp.async.cg.global.shared [%rd2], [%r1], 16;", "not supported"},
    {"cp.async.cg.shared.shared [%r1], [%r1], 16;", "not supported"},
    {"cp.async.cg.shared.global.L2::32B [%r1], [%rd2], 16;", "'.L2::32B' of"},
    {"cp.sync.cg.shared.global [%r1], [%rd2], 16;", "'.sync' of"},
    {"cp.async.commit_group;", NULL},
    {"cp.async.commit_group 0;", "takes 0 operands"},
    {"cp.async.commit_group.read;", "'.read' of"},
    {"cp.async.wait_group 3;", NULL},
    {"cp.async.wait_group;", "takes 1 operands"},
    {"cp.async.wait_group {%r1, %r2};", "operand 1 of"},
    {"cp.async.wait_all;", NULL},
    {"cp.async.wait_all 0;", "takes 0 operands"},
    {"cp.async.mbarrier.arrive.b64 [%rd2];", NULL},
    {"cp.async.mbarrier.arrive.noinc.b64 [%rd2];", NULL},
    {"cp.async.mbarrier.arrive.b32 [%rd2];", "'.b32' of"},
    {"cp.async.mbarrier.arrive.b64.noinc [%rd2];", "'.noinc' of"},
    {"cp.async.mbarrier.noinc.b64 [%rd2];", "'.noinc' of"},
    {"cp.async.mbarrier.arrive.b64 %rd2;", "operand 1 of"},
    {"cp.async.mbarrier.arrive.b64 [%rd2], 1;", "takes 1 operands"},
    /* bulk copies */
    {BULK " [s], [%rd2], 16, [m];", NULL},
    {BULK ".multicast::cluster [s], [%rd2], 16, [m], %r3;", NULL},
    {BULK ".multicast::cluster.L2::cache_hint [s], [%rd2], 16, [m], %r3, %rd4;", NULL},
    {BULK ".L2::cache_hint [s], [%rd2], 16, [m];", "takes 5 operands"},
    {BULK " [s], [%rd2], 16, [m], %r3;", "takes 4 operands"},
    {BULK " [s], [%rd2], 16;", "operand 4 of"},
    {BULK " [s], [%rd2], 16, %r3;", "operand 4 of"},
    {BULK " [s], [%rd2], {%r3, %r4}, [m];", "operand 3 of"},
    {BULK " [s], %rd2, 16, [m];", "operand 2 of"},
    {BULK " %r1, [%rd2], 16, [m];", "operand 1 of"},
    {BULK ".multicast::cluster [s], [%rd2], 16, [m], {%r3, %r4};", "operand 5 of"},
    {BULK ".read [s], [%rd2], 16, [m];", "'.read' of"},
    {"cp.async.bulk.shared::cluster.global [s], [%rd2], 16;", "not supported"},
    {"cp.async.bulk.shared::cluster.global.bulk_group [s], [%rd2], 16;", "'.bulk_group' of"},
    {"cp.async.bulk.shared::cluster [s], [%rd2], 16;", "not supported"},
    {TO_GLOBAL " [%rd2], [s], 16;", NULL},
    {TO_GLOBAL ".L2::cache_hint [%rd2], [s], 16, %rd4;", NULL},
    {TO_GLOBAL ".cp_mask [%rd2], [s], 16, %r3;", NULL},
    {TO_GLOBAL ".cp_mask [%rd2], [s], 16, {%r3, %r4};", "operand 4 of"},
    {TO_GLOBAL " [%rd2], [s], 16, [m];", "takes 3 operands"},
    {"cp.async.bulk.global.shared::cta [%rd2], [s], 16;", "not supported"},
    {"cp.async.bulk.global.global.bulk_group [%rd2], [%rd2], 16;", "not supported"},
    {"cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd2], [s], 16, [m];",
     "not supported"},
    {"cp.async.bulk.commit_group;", NULL},
    {"cp.async.bulk.commit_group 0;", "takes 0 operands"},
    {"cp.async.bulk.wait_group.read 0;", NULL},
    {"cp.async.bulk.wait_group;", "takes 1 operands"},
    {"cp.async.bulk.wait_group {%r3, %r4};", "operand 1 of"},
    {REDUCE ".add.u32 [%rd2], [s], 16;", NULL},
    {REDUCE ".add.noftz.f16 [%rd2], [s], 16;", NULL},
    {REDUCE ".L2::cache_hint.max.s64 [%rd2], [s], 16, %rd4;", NULL},
    {REDUCE ".u32 [%rd2], [s], 16;", "'.u32' of"},
    {REDUCE ".add [%rd2], [s], 16;", "not supported"},
    {REDUCE ".cas.u32 [%rd2], [s], 16;", "'.cas' of"},
    {REDUCE ".add.u8 [%rd2], [s], 16;", "'.u8' of"},
    {"cp.reduce.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [s], 16;", "'.bulk' of"},
    {"cp.reduce.async.global.shared::cta.bulk_group.add.u32 [%rd2], [s], 16;", "'.global' of"},
    /* asynchronous stores */
    {STORE_ASYNC ".b32 [%r1], %r3, [%r4];", NULL},
    {STORE_ASYNC ".v2.u64 [%r1], {%rd3, %rd4}, [%r4];", NULL},
    {STORE_ASYNC ".v4.f32 [%r1], {%r3, %r4, %r5, %r6}, [%r4];", NULL},
    {STORE_ASYNC ".v4.f32 [%r1], {%r3, %r4}, [%r4];", "operand 2 of"},
    {STORE_ASYNC ".b32 [%r1], {%r3, %r4}, [%r4];", "operand 2 of"},
    {STORE_ASYNC ".b32 %r1, %r3, [%r4];", "operand 1 of"},
    {STORE_ASYNC ".b32 [%r1], %r3, %r4;", "operand 3 of"},
    {STORE_ASYNC ".b32 [%r1], %r3;", "takes 3 operands"},
    {STORE_ASYNC ".f16 [%r1], %r3, [%r4];", "not supported"},
    {STORE_ASYNC " [%r1], %r3, [%r4];", "not supported"},
    {STORE_ASYNC ".b32.v2 [%r1], %r3, [%r4];", "'.v2' of"},
    {"st.async.weak.shared::cluster.b32 [%r1], %r3, [%r4];", "not supported"},
    {"st.async.weak.global.mbarrier::complete_tx::bytes.b32 [%rd1], %r3, [%r4];", "not supported"},
    {RED_ASYNC ".add.u32 [%r1], %r3, [%r4];", NULL},
    {RED_ASYNC ".inc.u32 [%r1], %r3, [%r4];", NULL},
    {RED_ASYNC ".u32 [%r1], %r3, [%r4];", "'.u32' of"},
    {RED_ASYNC ".v2.add.u32 [%r1], {%r3, %r4}, [%r4];", "not supported"},
    /* mbarriers */
    {"mbarrier.init.shared.b64 [m], %r3;", NULL},
    {"mbarrier.init.shared.b64 [m];", "takes 2 operands"},
    {"mbarrier.init.global.b64 [%rd2], 1;", "not supported"},
    {"mbarrier.init.b64 [%rd2], 1;", NULL},
    {"mbarrier.init.shared.b32 [m], 1;", "'.b32' of"},
    {"mbarrier.init.shared.b64.cta [m], 1;", "'.cta' of"},
    {"mbarrier.frob.shared.b64 [m], 1;", "'.frob' of"},
    {"mbarrier.inval.shared.b64 [m];", NULL},
    {"mbarrier.inval.shared.b64 [m], 1;", "takes 1 operands"},
    {"mbarrier.arrive.shared.b64 %rd3, [m];", NULL},
    {"mbarrier.arrive.release.cta.shared.b64 _, [m], %r3;", NULL},
    {"mbarrier.arrive.shared.b64 [m];", "takes 2 operands"},
    {"mbarrier.arrive.shared.b64 5, [m];", "operand 1 of"},
    {"mbarrier.arrive.shared.b64 p1, [m];", "operand 1 of"},
    {"mbarrier.arrive.shared.b64 %rd3, %rd4;", "operand 2 of"},
    {"mbarrier.arrive.shared.b64 %rd3, [m], {%r3, %r4};", "operand 3 of"},
    {"mbarrier.arrive.shared.b64 %rd3, [m], 1, 1;", "takes 2 operands"},
    {"mbarrier.arrive.expect_tx.shared.b64 %rd3, [m], 16;", NULL},
    {"mbarrier.arrive.expect_tx.shared.b64 %rd3, [m];", "takes 3 operands"},
    {"mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [m], 16;", NULL},
    {"mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [m];", "takes 3 operands"},
    {"mbarrier.arrive.parity.shared.b64 %rd3, [m];", "'.parity' of"},
    {"mbarrier.init.expect_tx.shared.b64 [m], 1;", "'.expect_tx' of"},
    {"mbarrier.test_wait.shared.b64 p1, [m], %rd3;", NULL},
    {"mbarrier.test_wait.parity.acquire.cta.shared.b64 p1, [m], %r3;", NULL},
    {"mbarrier.test_wait.shared.b64 %r3, [m], %rd3;", "must be a predicate"},
    {"mbarrier.test_wait.shared.b64 !p1, [m], %rd3;", "must be a predicate"},
    {"mbarrier.test_wait.shared.b64 p1, [m];", "takes 3 operands"},
    {"mbarrier.test_wait.shared.b64 p1, [m], %rd3, 100;", "takes 3 operands"},
    {"mbarrier.try_wait.shared.b64 p1, [m], %rd3, 100;", NULL},
    {"mbarrier.try_wait.shared.b64 p1, [m], %rd3, 100, 1;", "takes 3 operands"},
    {"mbarrier.pending_count.b64 %r3, %rd3;", NULL},
    {"mbarrier.pending_count.b64 _, %rd3;", "must be a register"},
    {"mbarrier.pending_count.b64 %r3, [m];", "operand 2 of"},
    /* without effect */
    {"fence.proxy.async.shared::cta;", NULL},
    {"fence.proxy.frob;", "'.frob' of"},
    {"griddepcontrol.wait;", NULL},
    {"griddepcontrol.frob;", "'.frob' of"},
    {"createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;", NULL},
    {"createpolicy.fractional.L2::evict_last.b64 _, 1.0;", "must be a register"},
    {"createpolicy.fractional.L2::evict_last.b64 p1, 1.0;", "operand 1 of"},
    {"createpolicy.frob.b64 %rd3, 1.0;", "'.frob' of"},
};

static void forms_are_checked(void **state)
{
    (void)state;
    static const char whole[] = KERNEL("BODY");
    const char *body = strstr(whole, "BODY");
    for (size_t i = 0; i < FTH_COUNT(forms); i++) {
        char text[2048];
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(body - whole), whole, forms[i].statement,
                 body + 4);
        const bool refused = is_refused(text, strlen(text), &error);
        if (refused != (forms[i].cause != NULL) ||
            (refused && !strstr(error.cause, forms[i].cause)))
            fail_msg("%s: %s: %s", forms[i].statement, refused ? "refused" : "accepted",
                     error.cause);
    }
}

/* Stores to an address or an mbarrier that is invalid, in the first thread or in the second one. */
static void invalid_stores_are_not_executed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {KERNEL(INIT("1") "xor.b32 %r3, %r1, 0x100000; " STORE_ASYNC ".b32 [%r3], %r0, [m];"),
         "outside"},
        {KERNEL(INIT("1") "mad.lo.u32 %r3, %r0, 0x100000, %r1; " RED_ASYNC
                          ".add.u32 [%r3], %r0, [m];"),
         "outside"},
        {KERNEL(INIT("1") STORE_ASYNC ".b32 [%r1], %r0, [m+4];"), "is not aligned to 8"},
        {KERNEL(INIT("1") "mov.u32 %r4, m; add.u32 %r4, %r4, %r0; " STORE_ASYNC
                          ".b32 [%r1], %r0, [%r4];"),
         "is not aligned to 8"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int order = FTH_COPY_LATE; order <= FTH_COPY_EARLY; order++) {
            struct job job;
            job_init(&job, rows[i][0], 2);
            job.launch.copy_order = (enum fth_copy_order)order;
            expect_failure(&job, rows[i][1]);
            job_fini(&job);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_threads_arrive_at_the_wait),
        cmocka_unit_test(groups_are_complete_in_order),
        cmocka_unit_test(parts_of_a_copy_become_zero),
        cmocka_unit_test(policies_are_priorities),
        cmocka_unit_test(copies_of_threads_arrive_at_an_mbarrier),
        cmocka_unit_test(arrivals_follow_the_copies_before_them),
        cmocka_unit_test(phases_complete_with_all_arrivals),
        cmocka_unit_test(phases_wait_for_bytes),
        cmocka_unit_test(mbarriers_count_up_to_their_limits),
        cmocka_unit_test(wrong_uses_of_mbarriers_are_faults),
        cmocka_unit_test(forms_are_checked),
        cmocka_unit_test(invalid_stores_are_not_executed),
        cmocka_unit_test(bulk_copies_complete_at_an_mbarrier),
        cmocka_unit_test(bulk_copies_to_global_memory_are_groups),
        cmocka_unit_test(bulk_reductions_combine_with_the_destination),
        cmocka_unit_test(multicast_reaches_all_blocks),
        cmocka_unit_test(other_blocks_arrive_at_an_mbarrier),
        cmocka_unit_test(copies_are_executed_early_or_late),
        cmocka_unit_test(random_orders_depend_on_the_seed_only),
    };
    return cmocka_run_group_tests_name("ptx_async", tests, NULL, NULL);
}
