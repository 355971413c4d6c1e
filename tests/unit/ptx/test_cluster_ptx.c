/* Tests clusters of blocks in the PTX engine: special registers, access to the shared memory of
 * other blocks, the cluster barrier, errors and observers. The expected results follow from the PTX
 * specification. test_cluster.c tests clusters on simulated GPUs and through the driver. */
#include "ptx_job.h"
#include "refused.h"

#include <stdio.h>

/* ---- the PTX engine ---- */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* Prepares a launch of the kernel k(.param .u64 out), where `out` is a buffer of 64 KiB. */
static void job_init(struct job *job, const char *text)
{
    job_open(job, text, 1, 65536);
    job->launch.sms = 16;
}

/* Each block writes its special registers to its 64 bytes of the buffer. */
static const char special_registers[] =
    HEAD ".visible .entry k(.param .u64 out)\n{\n"
         "  .reg .b32 %r<20>; .reg .b64 %rd<4>;\n"
         "  ld.param.u64 %rd1, [out];\n"
         "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
         "  mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;\n"
         "  mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;\n"
         "  mad.wide.u32 %rd1, %r6, 64, %rd1;\n"
         "  mov.b32 %r7, %cluster_ctaid.x; st.global.u32 [%rd1], %r7;\n"
         "  mov.b32 %r7, %cluster_ctaid.y; st.global.u32 [%rd1+4], %r7;\n"
         "  mov.b32 %r7, %cluster_ctaid.z; st.global.u32 [%rd1+8], %r7;\n"
         "  mov.b32 %r7, %cluster_nctaid.x; st.global.u32 [%rd1+12], %r7;\n"
         "  mov.b32 %r7, %cluster_nctaid.y; st.global.u32 [%rd1+16], %r7;\n"
         "  mov.b32 %r7, %cluster_nctaid.z; st.global.u32 [%rd1+20], %r7;\n"
         "  mov.b32 %r7, %cluster_ctarank; st.global.u32 [%rd1+24], %r7;\n"
         "  mov.b32 %r7, %cluster_nctarank; st.global.u32 [%rd1+28], %r7;\n"
         "  mov.b32 %r7, %clusterid.x; st.global.u32 [%rd1+32], %r7;\n"
         "  mov.b32 %r7, %clusterid.y; st.global.u32 [%rd1+36], %r7;\n"
         "  mov.b32 %r7, %clusterid.z; st.global.u32 [%rd1+40], %r7;\n"
         "  mov.b32 %r7, %nclusterid.x; st.global.u32 [%rd1+44], %r7;\n"
         "  mov.b32 %r7, %nclusterid.y; st.global.u32 [%rd1+48], %r7;\n"
         "  mov.b32 %r7, %nclusterid.z; st.global.u32 [%rd1+52], %r7;\n"
         "  mov.b32 %r7, %ctaid.x; st.global.u32 [%rd1+56], %r7;\n"
         "  ret;\n}\n";

static void special_registers_locate_the_block(void **state)
{
    (void)state;
    static const uint32_t shapes[][2][3] = {{{6, 1, 1}, {1, 1, 1}},
                                            {{8, 1, 1}, {4, 1, 1}},
                                            {{4, 6, 2}, {2, 2, 2}},
                                            {{3, 2, 4}, {1, 1, 4}},
                                            {{16, 1, 2}, {16, 1, 1}}};
    for (size_t i = 0; i < FTH_COUNT(shapes); i++) {
        const uint32_t *grid = shapes[i][0], *size = shapes[i][1];
        struct job job;
        job_init(&job, special_registers);
        memcpy(job.launch.grid, grid, sizeof job.launch.grid);
        memcpy(job.launch.cluster, size, sizeof job.launch.cluster);
        const uint32_t *out = run_job(&job);
        for (uint32_t z = 0; z < grid[2]; z++)
            for (uint32_t y = 0; y < grid[1]; y++)
                for (uint32_t x = 0; x < grid[0]; x++, out += 16) {
                    const uint32_t at[3] = {x % size[0], y % size[1], z % size[2]};
                    const uint32_t expected[] = {at[0],
                                                 at[1],
                                                 at[2],
                                                 size[0],
                                                 size[1],
                                                 size[2],
                                                 at[0] + size[0] * (at[1] + size[1] * at[2]),
                                                 size[0] * size[1] * size[2],
                                                 x / size[0],
                                                 y / size[1],
                                                 z / size[2],
                                                 grid[0] / size[0],
                                                 grid[1] / size[1],
                                                 grid[2] / size[2],
                                                 x};
                    for (size_t j = 0; j < FTH_COUNT(expected); j++)
                        if (out[j] != expected[j])
                            fail_msg("shape %zu, block (%u,%u,%u): word %zu is %u, not %u", i, x, y,
                                     z, j, out[j], expected[j]);
                }
        job_fini(&job);
    }
}

/* Each thread stores 100 * rank + thread in the shared memory of its own block, at the address
 * %rd3. After a barrier it reads the word of the same thread in the next block (rank %r5): ADDRESS
 * computes the address of that word from %rd3, usually with mapa and into %rd5, and LOAD loads the
 * word into %r6. */
#define NEIGHBOUR(ADDRESS, LOAD)                                                                   \
    HEAD ".visible .entry k(.param .u64 out)\n{\n"                                                 \
         "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<4>;\n"                              \
         "  .shared .align 8 .u32 words[64];\n"                                                    \
         "  ld.param.u64 %rd1, [out];\n"                                                           \
         "  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;\n" \
         "  mad.lo.u32 %r4, %r2, 100, %r1; mul.wide.u32 %rd2, %r1, 4;\n"                           \
         "  mov.u64 %rd3, words; add.u64 %rd3, %rd3, %rd2; st.shared::cta.u32 [%rd3], %r4;\n"      \
         "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"    \
         "  add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, %r3;\n"                                         \
         "  " ADDRESS "\n  " LOAD "\n"                                                             \
         "  mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ntid.x; mad.lo.u32 %r9, %r7, %r8, %r1;\n"         \
         "  mad.wide.u32 %rd1, %r9, 4, %rd1; st.global.u32 [%rd1], %r6;\n"                         \
         "  barrier.cluster.arrive.relaxed;\n  barrier.cluster.wait;\n  ret;\n}\n"

static const char *const neighbours[] = {
    NEIGHBOUR("mapa.shared::cluster.u64 %rd5, %rd3, %r5;", "ld.shared::cluster.u32 %r6, [%rd5];"),
    NEIGHBOUR("cvt.u32.u64 %r10, %rd3; mapa.shared::cluster.u32 %r11, %r10, %r5;",
              "ld.shared::cluster.u32 %r6, [%r11];"),
    NEIGHBOUR("cvta.shared.u64 %rd5, %rd3; mapa.u64 %rd5, %rd5, %r5;", "ld.u32 %r6, [%rd5];"),
    NEIGHBOUR("mapa.shared::cluster.u64 %rd5, %rd3, %r5; cvta.shared::cluster.u64 %rd5, %rd5;",
              "atom.add.u32 %r6, [%rd5], 5000;"),
    /* mapa of an address of block 0, and a store through the cluster address of the own block. */
    NEIGHBOUR("mapa.shared::cluster.u64 %rd5, %rd3, 0; mapa.shared::cluster.u64 %rd5, %rd5, %r5;"
              "mapa.shared::cluster.u64 %rd6, %rd3, %r2;",
              "ld.shared::cluster.u32 %r6, [%rd5]; barrier.cluster.arrive; barrier.cluster.wait;"
              "st.shared::cluster.u32 [%rd6], %r6;"
              "barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r6, [%rd3];"),
};

static void blocks_reach_each_others_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(neighbours); i++)
        for (uint32_t size = 1; size <= 16; size *= 2) {
            enum { THREADS = 64, BLOCKS = 32 };
            struct job job;
            job_init(&job, neighbours[i]);
            job.launch.grid[0] = BLOCKS;
            job.launch.block[0] = THREADS;
            job.launch.cluster[0] = size;
            const uint32_t *out = run_job(&job);
            for (uint32_t j = 0; j < BLOCKS * THREADS; j++) {
                uint32_t rank = j / THREADS % size,
                         expected = (rank + 1) % size * 100 + j % THREADS;
                if (out[j] != expected)
                    fail_msg("kernel %zu, clusters of %u, thread %u: %u, not %u", i, size, j,
                             out[j], expected);
            }
            job_fini(&job);
        }
}

/* The lanes of one load read the shared memory of different blocks. getctarank returns the block of
 * an address, and isspacep distinguishes the own block from the others. */
static void lanes_reach_different_blocks(void **state)
{
    (void)state;
    struct job job;
    job_init(
        &job, HEAD
        ".visible .entry k(.param .u64 out)\n{\n"
        "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<4>;\n"
        "  .shared .align 8 .u32 word;\n"
        "  ld.param.u64 %rd1, [out];\n"
        "  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;\n"
        "  add.u32 %r3, %r2, 70; st.shared.u32 [word], %r3;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n"
        "  and.b32 %r4, %r1, 3; mov.u64 %rd2, word; mapa.shared::cluster.u64 %rd3, %rd2, %r4;\n"
        "  ld.shared::cluster.u32 %r5, [%rd3];\n"
        "  getctarank.shared::cluster.u64 %r6, %rd3; mad.lo.u32 %r5, %r6, 1000, %r5;\n"
        "  cvta.shared::cluster.u64 %rd4, %rd3; isspacep.shared::cluster %p1, %rd4;\n"
        "  isspacep.shared::cta %p2, %rd4; getctarank.u64 %r7, %rd4;\n"
        "  mad.lo.u32 %r5, %r7, 10000, %r5;\n"
        "  @%p1 add.u32 %r5, %r5, 100000; @%p2 add.u32 %r5, %r5, 1000000;\n"
        "  getctarank.shared::cluster.u64 %r8, %rd2; mad.lo.u32 %r5, %r8, 10000000, %r5;\n"
        "  mad.lo.u32 %r9, %r2, 32, %r1; mad.wide.u32 %rd1, %r9, 4, %rd1;\n"
        "  st.global.u32 [%rd1], %r5;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n  ret;\n}\n");
    job.launch.grid[0] = job.launch.cluster[0] = 4;
    job.launch.block[0] = 32;
    const uint32_t *out = run_job(&job);
    for (uint32_t i = 0; i < 4 * 32; i++) {
        uint32_t rank = i / 32, target = i % 4;
        assert_int_equal(out[i], 70 + target + 11000 * target + 100000 +
                                     (target == rank ? 1000000 : 0) + 10000000 * rank);
    }
    job_fini(&job);
}

/* Threads arrive at the barrier, work for different times, and wait. One thread of each block exits
 * before. In each phase every thread increments a counter in block 0, waits, and reads it: a value
 * that is too small means that the barrier released a thread too early. */
static void barriers_wait_for_all_threads(void **state)
{
    (void)state;
    struct job job;
    job_init(
        &job, HEAD
        ".visible .entry k(.param .u64 out)\n{\n"
        "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<4>;\n"
        "  .shared .align 8 .u32 counter;\n"
        "  ld.param.u64 %rd1, [out];\n"
        "  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %ctaid.x;\n"
        "  mov.u64 %rd2, counter; mapa.shared::cluster.u64 %rd2, %rd2, 0;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n" /* all blocks have started */
        "  setp.eq.u32 %p1, %r1, 3; @%p1 exit;\n"           /* one thread per block, mid-warp */
        "  mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
        "phase:\n"
        "  atom.shared::cluster.add.u32 %r7, [%rd2], 1;\n"
        "  barrier.cluster.arrive;\n"
        "  mul.lo.u32 %r10, %r2, 37; add.u32 %r10, %r10, %r1;\n"
        "work:\n  setp.eq.u32 %p2, %r10, 0; @%p2 bra worked; sub.u32 %r10, %r10, 1; bra work;\n"
        "worked:\n  barrier.cluster.wait;\n"
        "  ld.shared::cluster.u32 %r8, [%rd2]; add.u32 %r6, %r6, %r8;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n"
        "  add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 3; @%p2 bra phase;\n"
        "  mov.u32 %r8, %ntid.x; mad.lo.u32 %r9, %r3, %r8, %r1;\n"
        "  mad.wide.u32 %rd1, %r9, 4, %rd1; st.global.u32 [%rd1], %r6;\n  ret;\n}\n");
    enum { THREADS = 70, SIZE = 4, BLOCKS = 8 };
    job.launch.grid[0] = BLOCKS;
    job.launch.cluster[0] = SIZE;
    job.launch.block[0] = THREADS;
    const uint32_t *out = run_job(&job), all = (THREADS - 1) * SIZE;
    for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(out[i], i % THREADS == 3 ? 0 : 6 * all);
    job_fini(&job);
}

static void cluster_directives_and_limits_are_enforced(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, HEAD ".visible .entry k(.param .u64 out)\n.explicitcluster\n"
                        ".reqnctapercluster 2, 1, 1\n.maxclusterrank 8\n{\n"
                        "  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                        "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %cluster_nctarank;\n"
                        "  st.global.u32 [%rd1], %r1; ret;\n}\n");
    job.launch.grid[0] = 4;
    assert_int_equal(run_job(&job)[0], 2);
    job.launch.cluster[0] = 4;
    expect_failure(&job, "the cluster size differs from the kernel's .reqnctapercluster");
    job.launch.cluster[0] = 0;
    job.launch.grid[0] = 3;
    expect_failure(&job, "the grid size 3 is not a multiple of the cluster size 2");
    job_fini(&job);
    job_init(&job, special_registers);
    job.launch.grid[0] = job.launch.cluster[0] = 32;
    expect_failure(&job, "a cluster can have at most 16 blocks");
    job.launch.cluster[0] = 2;
    job.launch.dynamic_shared_bytes = (1 << 24) + 1;
    expect_failure(&job,
                   "bytes of shared memory exceed the limit of 16777216 per block of a cluster");
    job.launch.cluster[0] = 0;
    run_job(&job);
    job_fini(&job);
}

#define BODY(TEXT)                                                                                 \
    HEAD ".visible .entry k(.param .u64 out)\n{\n"                                                 \
         "  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"                                \
         "  .shared .align 8 .u32 words[4];\n"                                                     \
         "  mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; mov.u64 %rd1, words;\n" TEXT   \
         "  ret;\n}\n"

static void reports_faults(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {BODY("  @%p1 barrier.cluster.arrive;\n  @%p1 barrier.cluster.arrive;\n"),
         "block (0,0,0), thread (0,0,0): arrives at the cluster barrier twice"},
        {BODY("  @%p1 bra there; bar.sync 0; there: barrier.cluster.arrive; barrier.cluster.wait;\n"
              "  bar.sync 1;\n"),
         NULL},
        {BODY("  @%p1 bra there; mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;\n"
              "  @%p2 bar.sync 1, 64;\n"
              "there: barrier.cluster.arrive; barrier.cluster.wait;\n"),
         "the cluster barrier cannot complete"},
        {BODY("  mapa.shared::cluster.u64 %rd2, %rd1, 2;\n"), "block 2 of a cluster of 2"},
        {BODY("  mapa.u64 %rd2, %rd1, 1;\n"), "cannot map"},
        {BODY("  mapa.shared::cluster.u64 %rd2, %rd1, 1; ld.shared.u32 %r2, [%rd2];\n"),
         "outside the shared memory"},
        {BODY("  mapa.shared::cluster.u64 %rd2, %rd1, 1; ld.shared::cluster.u32 %r2, [%rd2+16];\n"),
         "at 0x10, outside the shared memory"},
        {BODY("  mapa.shared::cluster.u64 %rd2, %rd1, 1; ld.shared::cluster.u32 %r2, [%rd2+2];\n"),
         "not aligned"},
        {BODY("  mov.u64 %rd2, 0x5000000; ld.shared::cluster.u32 %r2, [%rd2];\n"),
         "at 0x5000000, outside the shared memory"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct job job;
        job_init(&job, rows[i][0]);
        job.launch.grid[0] = job.launch.cluster[0] = 2;
        job.launch.block[0] = 64;
        if (rows[i][1])
            expect_failure(&job, rows[i][1]);
        else
            run_job(&job);
        job_fini(&job);
    }
}

static void rejects_unsupported_instructions(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "barrier.cluster;",
        "barrier.cluster.arrive 0;",
        "barrier.cluster.sync 0;",
        "barrier.wait 0;",
        "barrier.cluster.arrive.wait;",
        "mapa.shared.u64 %rd1, %rd1, 0;",
        "mapa.shared::cluster.u64 %rd1, %rd1;",
        "mapa.shared::cluster.f32 %rd1, %rd1, 0;",
        "getctarank.u64 %r1, %rd1, 0;",
        "ld.shared::cluster.u32.wait %r1, [%rd1];",
    };
    for (size_t i = 0; i < FTH_COUNT(bodies); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k() {\n.reg .b32 %%r<8>; .reg .b64 %%rd<8>;\n%s\nret;\n}\n",
                 bodies[i]);
        struct fth_error error = NO_ERROR;
        if (!is_refused(text, strlen(text), &error))
            fail_msg("accepted: %s", bodies[i]);
        assert_contains(error.cause, "not supported");
    }
}

/* A log of what the engine reported to its observer, one event per line. */
struct events {
    char log[1024];
};

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct events *events = user;
    size_t used = strlen(events->log);
    if (access->space == FTH_SPACE_SHARED)
        snprintf(events->log + used, sizeof events->log - used, "%u to %u kind %d x%d @%llx\n",
                 access->who.rank, access->target, access->kind, __builtin_popcount(access->mask),
                 (unsigned long long)access->addresses[__builtin_ctz(access->mask)]);
    return true;
}

static bool on_cluster_barrier(void *user, const struct fth_ptx_warp_id *warp, uint32_t phase,
                               bool waited)
{
    struct events *events = user;
    size_t used = strlen(events->log);
    snprintf(events->log + used, sizeof events->log - used, "%u %s phase %u\n", warp->rank,
             waited ? "waited for" : "came to", phase);
    return true;
}

static void observers_see_the_block_that_owns_the_memory(void **state)
{
    (void)state;
    struct job job;
    job_init(&job,
             BODY("  st.shared.u32 [words], %r1; barrier.cluster.arrive; barrier.cluster.wait;\n"
                  "  mov.u32 %r2, %tid.x; and.b32 %r2, %r2, 1;\n"
                  "  mapa.shared::cluster.u64 %rd2, %rd1, %r2;\n"
                  "  @%p1 ld.shared::cluster.u32 %r3, [%rd2+4];\n"
                  "  barrier.cluster.arrive; barrier.cluster.wait;\n"));
    struct events events = {.log = ""};
    const struct fth_ptx_observer observer = {
        .user = &events, .access = on_access, .cluster_barrier = on_cluster_barrier};
    job.launch.observer = &observer;
    job.launch.grid[0] = job.launch.cluster[0] = 2;
    job.launch.block[0] = 32;
    run_job(&job);
    assert_string_equal(events.log, "0 to 0 kind 1 x32 @0\n"
                                    "0 came to phase 0\n"
                                    "1 to 1 kind 1 x32 @0\n"
                                    "1 came to phase 0\n"
                                    "0 waited for phase 0\n"
                                    "1 waited for phase 0\n"
                                    "0 to 0 kind 0 x16 @4\n"
                                    "0 to 1 kind 0 x16 @4\n"
                                    "0 came to phase 1\n"
                                    "1 came to phase 1\n"
                                    "0 waited for phase 1\n"
                                    "1 waited for phase 1\n");
    job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_registers_locate_the_block),
        cmocka_unit_test(blocks_reach_each_others_memory),
        cmocka_unit_test(lanes_reach_different_blocks),
        cmocka_unit_test(barriers_wait_for_all_threads),
        cmocka_unit_test(cluster_directives_and_limits_are_enforced),
        cmocka_unit_test(reports_faults),
        cmocka_unit_test(rejects_unsupported_instructions),
        cmocka_unit_test(observers_see_the_block_that_owns_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
