/* Clusters of blocks, from the PTX engine to the probe: blocks that see each other's shared memory
 * and wait for each other, simulated GPUs whose latencies are found again, and the same through the
 * stand-in for NVIDIA's driver (tests/standin), which LD_LIBRARY_PATH names. */
#include "check.h"
#include "device/cuda/cuda.h"
#include "device/sim/sim.h"
#include "probe/probe.h"
#include "ptx/ptx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

static struct fth_request chase(uint32_t size, uint32_t target, uint64_t count, uint64_t passes)
{
    return (struct fth_request){.family = FTH_FAMILY_CLUSTER,
                                .cluster = {.size = size,
                                            .target = target,
                                            .chain = {.stride_bytes = 8, .count = count},
                                            .passes = passes},
                                .sm = FTH_ANY_SM,
                                .carveout_percent = -1};
}

static void requests_are_checked(void **state)
{
    (void)state;
    struct fth_request fine[] = {chase(2, 0, 1, 1), chase(8, 7, 1024, 15), chase(16, 15, 7, 1)};
    fine[2].cluster.chain.step = 3;
    for (size_t i = 0; i < FTH_COUNT(fine); i++) {
        assert_int_equal(fth_request_check(&fine[i], NULL), FTH_OK);
        assert_int_equal(fth_request_samples(&fine[i]), fine[i].cluster.passes);
    }
    struct fth_request faults[12];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = chase(4, 1, 16, 2);
    faults[0].cluster.size = 1;
    faults[1].cluster.size = 6;
    faults[2].cluster.size = 32;
    faults[3].cluster.target = 4;
    faults[4].cluster.passes = 0;
    faults[5].cluster.chain.count = 0;
    faults[6].cluster.chain.stride_bytes = 12;
    faults[7].cluster.chain.start_bytes = 4;
    faults[8].cluster.chain.count = (1 << 17) + 1;
    faults[9].cluster.chain.step = 6;
    faults[10].sm = 0;
    faults[11].carveout_percent = 101;
    static const char *const members[FTH_COUNT(faults)] = {"cluster.size",
                                                           "cluster.size",
                                                           "cluster.size",
                                                           "cluster.target",
                                                           "cluster.passes",
                                                           "cluster.chain.count",
                                                           "cluster.chain.stride_bytes",
                                                           "cluster.chain.start_bytes",
                                                           "cluster.chain.count",
                                                           "cluster.chain.step",
                                                           "sm",
                                                           "carveout_percent"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&faults[i], &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
    }
}

static void the_text_is_canonical(void **state)
{
    (void)state;
    struct fth_request request = chase(4, 3, 1024, 15);
    struct fth_buffer text = {0};
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "cluster 4 target 3 8x1024 passes 15");
    request = chase(2, 0, 7, 1);
    request.cluster.chain.start_bytes = 64;
    request.cluster.chain.step = 3;
    request.carveout_percent = 50;
    text.size = 0;
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "cluster 2 target 0 +64:8x7 step 3; carveout 50");
    fth_buffer_fini(&text);
}

/* ---- the PTX engine ---- */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffer;
    struct fth_ptx_launch launch;
};

/* Kernel k(.param .u64 out), with a buffer of 64 KiB. */
static void job_init(struct job *job, const char *text)
{
    struct fth_error error = NO_ERROR;
    *job = (struct job){0};
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, 65536, &job->buffer, NULL), FTH_OK);
    job->launch = (struct fth_ptx_launch){.kernel = "k",
                                          .arguments = &job->buffer,
                                          .argument_bytes = sizeof job->buffer,
                                          .sms = 16,
                                          .most_instructions = 1000000};
}

static void job_fini(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

static const uint32_t *run_job(struct job *job)
{
    struct fth_error error = NO_ERROR;
    char text[1024];
    if (fth_ptx_run(job->machine, &job->launch, NULL, &error) != FTH_OK)
        fail_msg("%s", fth_error_text(&error, text, sizeof text));
    return fth_ptx_host(job->machine, job->buffer, 65536);
}

static void fail_job(struct job *job, const char *cause)
{
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_run(job->machine, &job->launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, cause);
}

/* Every thread writes the special registers of its block. */
static const char who[] =
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

static void blocks_know_their_place(void **state)
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
        job_init(&job, who);
        memcpy(job.launch.grid, grid, sizeof job.launch.grid);
        memcpy(job.launch.cluster, size, sizeof job.launch.cluster);
        const uint32_t *out = run_job(&job);
        for (uint32_t z = 0; z < grid[2]; z++)
            for (uint32_t y = 0; y < grid[1]; y++)
                for (uint32_t x = 0; x < grid[0]; x++, out += 16) {
                    const uint32_t at[3] = {x % size[0], y % size[1], z % size[2]};
                    const uint32_t want[] = {at[0],
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
                    for (size_t j = 0; j < FTH_COUNT(want); j++)
                        if (out[j] != want[j])
                            fail_msg("shape %zu, block (%u,%u,%u): word %zu is %u, not %u", i, x, y,
                                     z, j, out[j], want[j]);
                }
        job_fini(&job);
    }
}

/* Each thread leaves 100 * rank + thread in its block's shared memory, through an address of its
 * own block; the next block reads it with `LOAD`, after mapa has made %rd5 of the place. */
#define NEIGHBOUR(PLACE, LOAD)                                                                     \
    HEAD ".visible .entry k(.param .u64 out)\n{\n"                                                 \
         "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<4>;\n"                              \
         "  .shared .align 8 .u32 words[64];\n"                                                    \
         "  ld.param.u64 %rd1, [out];\n"                                                           \
         "  mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;\n" \
         "  mad.lo.u32 %r4, %r2, 100, %r1; mul.wide.u32 %rd2, %r1, 4;\n"                           \
         "  mov.u64 %rd3, words; add.u64 %rd3, %rd3, %rd2; st.shared::cta.u32 [%rd3], %r4;\n"      \
         "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"    \
         "  add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, %r3;\n"                                         \
         "  " PLACE "\n  " LOAD "\n"                                                               \
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
    /* Through a third block's address, and pushed rather than fetched. */
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
                uint32_t rank = j / THREADS % size, want = (rank + 1) % size * 100 + j % THREADS;
                if (out[j] != want)
                    fail_msg("kernel %zu, clusters of %u, thread %u: %u, not %u", i, size, j,
                             out[j], want);
            }
            job_fini(&job);
        }
}

/* Lanes of one load go to different blocks, and the rank of an address is told. */
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

/* Threads arrive, do something else, and wait; some leave before. A counter in block 0, which each
 * phase adds to and then reads, shows whether anybody was let go too early. */
static void barriers_wait_for_all(void **state)
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
        "  barrier.cluster.arrive; barrier.cluster.wait;\n" /* shared memory is there */
        "  setp.eq.u32 %p1, %r1, 3; @%p1 exit;\n" /* one of each block, in the middle of a warp */
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

static void what_a_kernel_asks_for_is_taken(void **state)
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
    fail_job(&job, "clusters of another size than .reqnctapercluster asks for");
    job.launch.cluster[0] = 0;
    job.launch.grid[0] = 3;
    fail_job(&job, "3 blocks are not whole clusters of 2");
    job_fini(&job);
    job_init(&job, who);
    job.launch.grid[0] = job.launch.cluster[0] = 32;
    fail_job(&job, "a cluster of more than 16 blocks");
    job.launch.cluster[0] = 2;
    job.launch.dynamic_shared_bytes = (1 << 24) + 1;
    fail_job(&job, "bytes of shared memory, and a block of a cluster can have 16777216");
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

static void faults_are_told(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {BODY("  @%p1 barrier.cluster.arrive;\n  @%p1 barrier.cluster.arrive;\n"),
         "block (0,0,0), thread (0,0,0): comes to the barrier of its cluster twice"},
        {BODY("  @%p1 bra there; bar.sync 0; there: barrier.cluster.arrive; barrier.cluster.wait;\n"
              "  bar.sync 1;\n"),
         NULL},
        {BODY("  @%p1 bra there; mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;\n"
              "  @%p2 bar.sync 1, 64;\n"
              "there: barrier.cluster.arrive; barrier.cluster.wait;\n"),
         "the barrier of the cluster cannot complete"},
        {BODY("  mapa.shared::cluster.u64 %rd2, %rd1, 2;\n"), "block 2 of a cluster of 2"},
        {BODY("  mapa.u64 %rd2, %rd1, 1;\n"), "there is none"},
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
            fail_job(&job, rows[i][1]);
        else
            run_job(&job);
        job_fini(&job);
    }
}

static void what_is_not_there_is_refused(void **state)
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
        struct fth_ptx_module *module = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_INVALID)
            fail_msg("accepted: %s", bodies[i]);
        assert_contains(error.cause, "not supported");
    }
}

struct seen {
    char log[1024];
};

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct seen *seen = user;
    size_t used = strlen(seen->log);
    if (access->space == FTH_SPACE_SHARED)
        snprintf(seen->log + used, sizeof seen->log - used, "%u to %u kind %d x%d @%llx\n",
                 access->who.rank, access->target, access->kind, __builtin_popcount(access->mask),
                 (unsigned long long)access->addresses[__builtin_ctz(access->mask)]);
    return true;
}

static bool on_cluster_barrier(void *user, const struct fth_ptx_warp_id *who_, uint32_t phase,
                               bool waited)
{
    struct seen *seen = user;
    size_t used = strlen(seen->log);
    snprintf(seen->log + used, sizeof seen->log - used, "%u %s phase %u\n", who_->rank,
             waited ? "waited for" : "came to", phase);
    return true;
}

static void observers_see_whose_memory_it_is(void **state)
{
    (void)state;
    struct job job;
    job_init(&job,
             BODY("  st.shared.u32 [words], %r1; barrier.cluster.arrive; barrier.cluster.wait;\n"
                  "  mov.u32 %r2, %tid.x; and.b32 %r2, %r2, 1;\n"
                  "  mapa.shared::cluster.u64 %rd2, %rd1, %r2;\n"
                  "  @%p1 ld.shared::cluster.u32 %r3, [%rd2+4];\n"
                  "  barrier.cluster.arrive; barrier.cluster.wait;\n"));
    struct seen seen = {.log = ""};
    const struct fth_ptx_observer observer = {
        .user = &seen, .access = on_access, .cluster_barrier = on_cluster_barrier};
    job.launch.observer = &observer;
    job.launch.grid[0] = job.launch.cluster[0] = 2;
    job.launch.block[0] = 32;
    run_job(&job);
    assert_string_equal(seen.log, "0 to 0 kind 1 x32 @0\n"
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

/* ---- simulated GPUs ---- */

static struct fth_gpu *read_gpu(const char *device, const char *cluster, const char *noise)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"clock_mhz\": 1500, %s},"
        "\"noise\": {%s}, \"elements\": {\"shared\": {\"size_bytes\": 233472,"
        "\"max_block_bytes\": 232448, \"latency_cycles\": 29}%s}}",
        device, noise, cluster);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

static struct fth_device *open_gpu(const char *device, const char *cluster, const char *noise)
{
    struct fth_gpu *gpu = read_gpu(device, cluster, noise);
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_device *opened = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_sim_machine_create(gpu, &ops, &machine, &error) != FTH_OK ||
        fth_batch_device("sim:test", ops, machine, NULL, &opened, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
    return opened;
}

#define HOPPER "\"sms\": 16, \"compute_capability\": \"9.0\""

static void latencies_are_found_again(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *noise;
        double near_cycles, far_cycles, tolerance; /* far NAN: no other than near */
    } rows[] = {
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213", "", 181, 213, 1e-9},
        {"\"latency_cycles\": 190.5, \"far_latency_cycles\": 230.25", "", 190.5, 230.25, 2e-3},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 188", "", 181, 188, 1e-9},
        {"\"latency_cycles\": 400, \"far_latency_cycles\": 1000", "", 400, 1000, 1e-9},
        {"\"latency_cycles\": 200", "", 200, NAN, 1e-9},
        {"\"latency_cycles\": 200, \"far_latency_cycles\": 200", "", 200, NAN, 1e-9},
        {"\"latency_ns\": 100", "", 150, NAN, 1e-9},
        {"\"scope\": \"gpc\"", "", 180, NAN, 1e-9},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213",
         "\"seed\": 7, \"jitter_cycles\": 10", 181, 213, 1},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213",
         "\"seed\": 8, \"jitter_cycles\": 2, \"outlier_rate\": 0.0002", 181, 213, 2},
        {"\"latency_cycles\": 200", "\"seed\": 9, \"jitter_cycles\": 20", 200, NAN, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char cluster[256];
        snprintf(cluster, sizeof cluster, ", \"cluster_shared\": {%s}", rows[i].cluster);
        const struct fth_prober prober = {.device = open_gpu(HOPPER, cluster, rows[i].noise),
                                          .sms = 16};
        struct fth_cluster_latency found;
        struct fth_error error = NO_ERROR;
        if (fth_probe_cluster(&prober, &found, &error) != FTH_OK)
            fail_msg("row %zu: %s", i, error.cause);
        const double tolerance = rows[i].tolerance;
        if (fabs(found.own.value - 29) > tolerance ||
            fabs(found.near_cycles.value - rows[i].near_cycles) > tolerance ||
            isnan(found.far_cycles.value) != isnan(rows[i].far_cycles) ||
            fabs(found.far_cycles.value - rows[i].far_cycles) > tolerance)
            fail_msg("row %zu: own %g, near %g, far %g", i, found.own.value,
                     found.near_cycles.value, found.far_cycles.value);
        assert_int_equal(found.target_count, FTH_CLUSTER_TARGETS);
        for (size_t j = 0; j < found.target_count; j++) {
            const struct fth_cluster_target *target = &found.targets[j];
            const double far = isnan(rows[i].far_cycles) ? rows[i].near_cycles : rows[i].far_cycles;
            const double want = target->target == 0   ? 29
                                : target->target == 1 ? rows[i].near_cycles
                                                      : far;
            if (fabs(target->cycles.value - want) > tolerance)
                fail_msg("row %zu, block %u of %u: %g, not %g", i, target->target, target->size,
                         target->cycles.value, want);
            assert_int_equal(target->cycles.samples, 15);
            assert_true(target->cycles.low <= target->cycles.value &&
                        target->cycles.value <= target->cycles.high);
        }
        fth_device_close(prober.device);
    }
}

static void old_gpus_have_no_clusters(void **state)
{
    (void)state;
    static const struct {
        const char *device, *cluster, *cause;
    } rows[] = {
        {"\"sms\": 16, \"compute_capability\": \"8.9\"", ", \"cluster_shared\": {}",
         "clusters came with compute capability 9.0"},
        {"\"sms\": 16", ", \"cluster_shared\": {}", "clusters came with compute capability 9.0"},
        {HOPPER, "", "the GPU has no clusters of 2 blocks"},
        {"\"sms\": 1, \"compute_capability\": \"9.0\"", ", \"cluster_shared\": {}",
         "a cluster of more blocks than there are SMs"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_prober prober = {.device = open_gpu(rows[i].device, rows[i].cluster, ""),
                                          .sms = 16};
        struct fth_cluster_latency found;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_probe_cluster(&prober, &found, &error), FTH_UNSUPPORTED);
        assert_contains(error.cause, rows[i].cause);
        /* The device is as good as before. */
        struct fth_request request = {.steps = {{.kind = FTH_STEP_TIME_PASS,
                                                 .path = FTH_PATH_SHARED,
                                                 .chain = {.stride_bytes = 8, .count = 4},
                                                 .passes = 1}},
                                      .step_count = 1,
                                      .sm = FTH_ANY_SM,
                                      .carveout_percent = -1};
        struct fth_answers answers = {0};
        assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
        fth_answers_fini(&answers);
        fth_device_close(prober.device);
    }
}

/* With fewer SMs the larger clusters are left out. */
static void small_gpus_have_small_clusters(void **state)
{
    (void)state;
    const struct fth_prober prober = {
        .device = open_gpu("\"sms\": 4, \"compute_capability\": \"9.0\"",
                           ", \"cluster_shared\": {\"latency_cycles\": 190}", ""),
        .sms = 4};
    struct fth_cluster_latency found;
    assert_int_equal(fth_probe_cluster(&prober, &found, NULL), FTH_OK);
    assert_int_equal(found.target_count, 2 + 4);
    assert_true(fabs(found.near_cycles.value - 190) < 1e-9 && isnan(found.far_cycles.value));
    fth_device_close(prober.device);
}

static void requests_that_do_not_fit_are_told(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu(HOPPER, ", \"cluster_shared\": {}", "");
    struct fth_request requests[] = {chase(16, 9, 29056, 1), chase(2, 1, 29057, 1),
                                     chase(2, 1, 5, 3)};
    requests[2].cluster.chain.step = 3;
    requests[2].cluster.chain.start_bytes = 64;
    struct fth_samples samples[3] = {{0}};
    assert_int_equal(fth_device_measure(device, requests, 3, samples, NULL), FTH_OK);
    assert_int_equal(samples[0].status, FTH_OK);
    assert_int_equal(samples[0].count, 1);
    assert_true(samples[0].cycles[0] >= 29056 * 180);
    assert_int_equal(samples[1].status, FTH_UNSUPPORTED);
    assert_contains(samples[1].cause, "more shared memory than a block can have");
    assert_int_equal(samples[2].count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(samples[2].cycles[i] >= 5 * 180 && samples[2].cycles[i] < 5 * 180 + 40);
    for (size_t i = 0; i < 3; i++)
        fth_samples_fini(&samples[i]);
    fth_device_close(device);
}

/* The barrier of a cluster brings its blocks to the time of the latest, also where several clusters
 * follow each other. Block r of each is busy for r * 1000 turns of a loop before it. */
static void barriers_keep_time(void **state)
{
    (void)state;
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 out)\n{\n"
        "  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
        "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, 24, %rd1;\n"
        "  mov.u32 %r2, %cluster_ctarank; mul.lo.u32 %r3, %r2, 1000;\n"
        "work:\n  setp.eq.u32 %p1, %r3, 0; @%p1 bra worked; sub.u32 %r3, %r3, 1; bra work;\n"
        "worked:\n  mov.u64 %rd2, %clock64; st.global.u64 [%rd1], %rd2;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n"
        "  mov.u64 %rd3, %clock64; st.global.u64 [%rd1+8], %rd3;\n"
        "  mov.u32 %r3, %smid; st.global.u32 [%rd1+16], %r3;\n  ret;\n}\n";
    struct fth_gpu *gpu = read_gpu(HOPPER, ", \"cluster_shared\": {}", "");
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    enum { SIZE = 4, BLOCKS = 32 };
    uint64_t out, times[BLOCKS][3];
    assert_int_equal(fth_sim_machine_create(gpu, &ops, &machine, NULL), FTH_OK);
    assert_int_equal(ops->load(machine, "test", text, strlen(text), &module, NULL), FTH_OK);
    assert_int_equal(ops->alloc(machine, sizeof times, &out, NULL), FTH_OK);
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "k",
                                              .blocks = BLOCKS,
                                              .threads = 1,
                                              .cluster = SIZE,
                                              .shared_bytes = 200000, /* one block an SM */
                                              .carveout_percent = -1,
                                              .arguments = &out,
                                              .argument_bytes = sizeof out};
    assert_int_equal(ops->launch(machine, &launch, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, times, out, sizeof times, NULL), FTH_OK);
    for (int first = 0; first < BLOCKS; first += SIZE) {
        uint64_t latest = 0;
        for (int i = first; i < first + SIZE; i++)
            latest = times[i][0] > latest ? times[i][0] : latest;
        assert_true(latest >= times[first][0] + 3000);
        for (int i = first; i < first + SIZE; i++) {
            assert_int_equal((uint32_t)times[i][2], i % 16);
            assert_true(times[i][1] >= latest && times[i][1] < latest + 100);
        }
        /* Those of the other SMs ran at the same time; those of these SMs before. */
        if (first < 16)
            assert_int_equal(times[first][0], times[0][0]);
        else
            assert_true(times[first][0] >= times[first - 16][1]);
    }
    ops->close(machine);
    fth_gpu_destroy(gpu);
}

/* ---- through a driver ---- */

static struct fth_device *open_cuda(const char *gpu)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    setenv("FATHOM_STANDIN_GPU", gpu, 1);
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK)
        fail_msg("%s: %s", gpu, error.cause);
    return device;
}

static void the_driver_launches_clusters(void **state)
{
    (void)state;
    struct fth_prober prober = {.device = open_cuda("h200"), .sms = 132};
    struct fth_cluster_latency found;
    struct fth_error error = NO_ERROR;
    if (fth_probe_cluster(&prober, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    double near = fth_gpu_number(gpu, "cluster_shared", "latency_cycles", NAN);
    double far = fth_gpu_number(gpu, "cluster_shared", "far_latency_cycles", NAN);
    assert_true(fabs(found.near_cycles.value - near) < 0.05);
    assert_true(fabs(found.far_cycles.value - far) < 0.05);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    /* 16 blocks have to be asked for. */
    struct fth_request request = chase(16, 9, 32, 1);
    struct fth_answers answers = {0};
    assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
    fth_answers_fini(&answers);
    fth_device_close(prober.device);

    prober = (struct fth_prober){.device = open_cuda("a100"), .sms = 108};
    assert_int_equal(fth_probe_cluster(&prober, &found, &error), FTH_UNSUPPORTED);
    assert_contains(error.cause, "clusters came with compute capability 9.0");
    fth_device_close(prober.device);
    unsetenv("FATHOM_STANDIN_GPU");
}

static fth_cu_result launch_nothing(fth_cu_function function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, void *stream,
                                    void **arguments, void **extra)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
    (void)block_z, (void)shared_bytes, (void)stream, (void)arguments, (void)extra;
    return 0;
}

static fth_cu_result refuse_clusters(const struct fth_cu_launch_config *config,
                                     fth_cu_function function, void **arguments, void **extra)
{
    (void)config, (void)function, (void)arguments, (void)extra;
    return 912;
}

static void a_driver_may_have_no_clusters(void **state)
{
    (void)state;
    struct fth_cuda cuda = {.launch = launch_nothing};
    struct fth_cuda_launch launch = {.grid = {2}, .cluster = 1};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_OK);
    launch.cluster = 2;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_contains(error.cause, "it has no such function: too old");
    cuda.launch_with = refuse_clusters;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuLaunchKernelEx");
    launch.cluster = 16;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuFuncSetAttribute");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_checked),
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(blocks_know_their_place),
        cmocka_unit_test(blocks_reach_each_others_memory),
        cmocka_unit_test(lanes_reach_different_blocks),
        cmocka_unit_test(barriers_wait_for_all),
        cmocka_unit_test(what_a_kernel_asks_for_is_taken),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(observers_see_whose_memory_it_is),
        cmocka_unit_test(latencies_are_found_again),
        cmocka_unit_test(old_gpus_have_no_clusters),
        cmocka_unit_test(small_gpus_have_small_clusters),
        cmocka_unit_test(requests_that_do_not_fit_are_told),
        cmocka_unit_test(barriers_keep_time),
        cmocka_unit_test(the_driver_launches_clusters),
        cmocka_unit_test(a_driver_may_have_no_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
