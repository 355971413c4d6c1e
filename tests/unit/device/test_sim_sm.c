/* Tests the SMs of simulated GPUs (device/sim/) apart from the data caches: banks of shared memory,
 * the clock, the instruction caches, constants and local memory. Kernels in PTX measure their own
 * cycles. The description of the simulated GPU gives the expected values. */
#include "simulated.h"

#include <stdlib.h>

/* ---- shared memory, the clock ---- */

/* Lane i reads the word at i * stride of shared memory `hops` times. The words are 0, so adding the
 * loaded value to the address only makes each load wait for the previous one. */
static const char banks[] =
    HEAD ".extern .shared .align 16 .b8 dynamic[];\n"
         ".visible .entry banks(.param .u64 stride, .param .u64 hops, .param .u64 out)\n{\n"
         "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"
         "  ld.param.u64 %rd1, [stride]; ld.param.u64 %rd2, [hops]; ld.param.u64 %rd3, [out];\n"
         "  mov.u32 %r1, %tid.x; cvt.u32.u64 %r2, %rd1; mul.lo.u32 %r3, %r1, %r2;\n"
         "  mov.u32 %r4, dynamic; add.u32 %r3, %r3, %r4; mov.u64 %rd4, %clock64;\n"
         "again: ld.shared.u32 %r5, [%r3]; add.u32 %r3, %r3, %r5; sub.u64 %rd2, %rd2, 1;\n"
         "  setp.ne.u64 %p1, %rd2, 0; @%p1 bra again;\n"
         "  add.u32 %r6, %r3, 0; mov.u64 %rd5, %clock64; sub.u64 %rd5, %rd5, %rd4;\n"
         "  setp.ne.u32 %p2, %r1, 0; @%p2 exit; st.global.u64 [%rd3], %rd5; ret;\n}\n";

static void bank_conflicts_take_conflict_cycles(void **state)
{
    (void)state;
    static const struct {
        const char *shared;
        uint64_t stride;
        double cycles;
    } rows[] = {
        {"\"banks\": 32, \"bank_bytes\": 4", 4, 24.5},
        {"\"banks\": 32, \"bank_bytes\": 4", 0, 24.5},
        {"\"banks\": 32, \"bank_bytes\": 4", 8, 26.75},
        {"\"banks\": 32, \"bank_bytes\": 4", 128, 94.25},
        {"\"banks\": 32, \"bank_bytes\": 8", 8, 24.5},
        {"\"banks\": 16, \"bank_bytes\": 4", 4, 26.75},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        snprintf(elements, sizeof elements,
                 "\"shared\": {\"latency_cycles\": 24.5, \"conflict_cycles\": 2.25, %s}",
                 rows[i].shared);
        struct gpu gpu;
        open_gpu(&gpu, elements, "", "");
        struct fth_machine_module *module;
        struct fth_error error = NO_ERROR;
        if (gpu.ops->load(gpu.machine, "banks", banks, strlen(banks), &module, &error) != FTH_OK)
            fail_msg("%s\n%s", error.cause, error.excerpt);
        uint64_t cycles[2];
        for (uint64_t k = 0; k < 2; k++) {
            const uint64_t arguments[] = {rows[i].stride, 100 + 100 * k, gpu.out};
            const struct fth_machine_launch launch = {.module = module,
                                                      .kernel = "banks",
                                                      .blocks = 1,
                                                      .threads = 32,
                                                      .shared_bytes = 32768,
                                                      .carveout_percent = -1,
                                                      .arguments = arguments,
                                                      .argument_bytes = sizeof arguments};
            if (gpu.ops->launch(gpu.machine, &launch, &error) != FTH_OK)
                fail_msg("%s", error.cause);
            assert_int_equal(gpu.ops->download(gpu.machine, &cycles[k], gpu.out, 8, &error),
                             FTH_OK);
        }
        ASSERT_NEAR((double)(cycles[1] - cycles[0]) / 100, rows[i].cycles + LOOP_END);
        close_gpu(&gpu);
    }
}

/* Runs a kernel with one thread. Its body finds `argument` in %rd1 and the address for its results
 * in %rd2. Copies `count` results to `values`. */
static void run_thread(struct gpu *gpu, const char *body, uint64_t argument, uint64_t *values,
                       size_t count)
{
    char text[2048];
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 a, .param .u64 out)\n{\n"
                  ".reg .pred %%p<8>; .reg .b32 %%r<8>; .reg .b64 %%rd<32>;\n"
                  "ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, [out];\n%s\nret;\n}\n",
             body);
    struct fth_machine_module *module;
    struct fth_error error = NO_ERROR;
    if (gpu->ops->load(gpu->machine, "k", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    const uint64_t arguments[] = {argument, gpu->out};
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "k",
                                              .blocks = 1,
                                              .threads = 1,
                                              .carveout_percent = -1,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    if (gpu->ops->launch(gpu->machine, &launch, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(
        gpu->ops->download(gpu->machine, values, gpu->out, count * sizeof *values, &error), FTH_OK);
    gpu->ops->unload(gpu->machine, module);
}

static void reading_the_clock_waits_for_used_results_but_not_for_loads_in_flight(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, "\"l2\": {\"latency_cycles\": 200}, \"memory\": {\"latency_cycles\": 500}",
             "\"clock_mhz\": 2000", "");
    uint64_t data = allocate(&gpu, 4096), v[8];
    run_thread(
        &gpu,
        "add.u64 %rd1, %rd1, 0; add.u64 %rd3, %rd1, 0; mov.u64 %rd3, %clock64;\n"
        "ld.global.u64 %rd4, [%rd1];\n" /* stays in flight */
        "mov.u64 %rd5, %clock64;\n"
        "add.u64 %rd6, %rd4, 1;\n" /* waits for the load */
        "mov.u64 %rd7, %clock64;\n"
        "ld.global.u64 %rd8, [%rd1+512]; setp.eq.u64 %p1, %rd8, 0;\n"
        "@%p1 bra there;\nthere: mov.u64 %rd9, %clock64;\n" /* the branch waits for its predicate */
        "ld.global.u64 %rd10, [%rd1+1024]; fence.acq_rel.gpu;\n"
        "mov.u64 %rd11, %clock64; mov.u64 %rd12, %globaltimer;\n"
        "st.global.u64 [%rd2], %rd3; st.global.u64 [%rd2+8], %rd5;\n"
        "st.global.u64 [%rd2+16], %rd7; st.global.u64 [%rd2+24], %rd9;\n"
        "st.global.u64 [%rd2+32], %rd11; st.global.u64 [%rd2+40], %rd12;",
        data, v, 6);
    assert_int_equal(v[1] - v[0], 2);
    assert_int_equal(v[2] - v[0], 1 + 500 + 1);
    assert_int_equal(v[3] - v[2], 1 + 500 + 4 + 1);
    assert_int_equal(v[4] - v[3], 1 + 500 + 1);
    assert_int_equal(v[5], (v[4] + 1) / 2); /* nanoseconds at 2 GHz */
    close_gpu(&gpu);
}

/* Runs the kernel `k` of a PTX text in one block. Its only argument is the address of its result.
 * Returns the result. */
static uint64_t run_text(struct gpu *gpu, const struct fth_buffer *text, uint32_t threads)
{
    struct fth_machine_module *module;
    struct fth_error error = NO_ERROR;
    uint64_t result = 0;
    if (gpu->ops->load(gpu->machine, "k", text->data, text->size, &module, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "k",
                                              .blocks = 1,
                                              .threads = threads,
                                              .carveout_percent = -1,
                                              .arguments = &gpu->out,
                                              .argument_bytes = 8};
    assert_int_equal(gpu->ops->launch(gpu->machine, &launch, &error), FTH_OK);
    assert_int_equal(gpu->ops->download(gpu->machine, &result, gpu->out, 8, &error), FTH_OK);
    gpu->ops->unload(gpu->machine, module);
    return result;
}

static void code_that_exceeds_an_instruction_cache_is_slower(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"instruction_l0\": {\"size_bytes\": 1024, \"line_bytes\": 128, "
             "\"cycles_per_instruction\": 1.5}, \"instruction_l1\": {\"size_bytes\": 4096, "
             "\"cycles_per_instruction\": 3}",
             "", "");
    static const struct {
        unsigned count;
        double cycles;
    } rows[] = {{40, 1.5}, {200, 3}, {1000, 7.5}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer text = {0};
        fth_buffer_text(&text, HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<8>;"
                                    ".reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
                                    "ld.param.u64 %rd2, [out]; mov.u32 %r1, 4;\n"
                                    "again: mov.u64 %rd3, %clock64;\n");
        for (unsigned k = 0; k < rows[i].count; k++)
            fth_buffer_text(&text, "mov.u32 %r2, 5;\n");
        fth_buffer_text(&text, "mov.u64 %rd4, %clock64; sub.u64 %rd5, %rd4, %rd3;\n"
                               "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;\n"
                               "st.global.u64 [%rd2], %rd5; ret;\n}\n");
        const uint64_t cycles = run_text(&gpu, &text, 32);
        /* The end of the loop waits for the results of sub and setp, 4 cycles each. Fetch continues
         * during this time, so a pass can take up to 8 cycles less. */
        double expected = (rows[i].count + 1) * rows[i].cycles;
        if ((double)cycles > 1.02 * expected || (double)cycles < 0.98 * expected - 8)
            fail_msg("%u instructions: %g cycles per instruction", rows[i].count,
                     (double)cycles / (rows[i].count + 1));
        fth_buffer_fini(&text);
    }
    close_gpu(&gpu);
}

static void l1_caches_local_memory_if_the_description_lists_it(void **state)
{
    (void)state;
    static const struct {
        const char *caches;
        double cycles;
    } rows[] = {{"\"local\"", 30}, {"\"global\"", 200}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        snprintf(elements, sizeof elements,
                 "\"l1\": {\"latency_cycles\": 30, \"caches\": [%s]}, "
                 "\"l2\": {\"latency_cycles\": 200}",
                 rows[i].caches);
        struct gpu gpu;
        open_gpu(&gpu, elements, "", "");
        uint64_t cycles;
        run_thread(&gpu,
                   ".local .align 8 .u64 own; mov.u64 %rd3, own; st.local.u64 [%rd3], %rd3;\n"
                   "ld.local.u64 %rd3, [%rd3]; add.u64 %rd4, %rd3, 0; mov.u64 %rd4, %clock64;\n"
                   "ld.local.u64 %rd3, [%rd3]; add.u64 %rd5, %rd3, 0; mov.u64 %rd5, %clock64;\n"
                   "sub.u64 %rd5, %rd5, %rd4; st.global.u64 [%rd2], %rd5;",
                   0, &cycles, 1);
        /* Adjacent words of one lane are in different lines, because the words of the 32 lanes are
         * interleaved. A load of 8 bytes makes two requests, one cycle apart. */
        assert_int_equal(cycles, (uint64_t)rows[i].cycles + 1 + 2);
        close_gpu(&gpu);
    }
}

/* 6 KiB of straight-line code evict a constant from an L1.5 of 4 KiB if code and constants share
 * its storage. */
static void code_evicts_constants_from_shared_storage(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct gpu gpu;
        open_gpu(&gpu,
                 shared ? "\"constant_l15\": {\"size_bytes\": 4096, \"line_bytes\": 64, "
                          "\"latency_cycles\": 100, \"shared_with\": [\"instruction_l15\"]}, "
                          "\"instruction_l15\": {\"shared_with\": [\"constant_l15\"]}, "
                          "\"l2\": {\"latency_cycles\": 300}"
                        : "\"constant_l15\": {\"size_bytes\": 4096, \"line_bytes\": 64, "
                          "\"latency_cycles\": 100}, \"instruction_l15\": {}, "
                          "\"l2\": {\"latency_cycles\": 300}",
                 "", "");
        struct fth_buffer text = {0};
        fth_buffer_text(&text, HEAD ".const .u64 value;\n.visible .entry k(.param .u64 out)\n{\n"
                                    ".reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
                                    "ld.param.u64 %rd2, [out]; ld.const.u64 %rd3, [value];\n");
        for (unsigned k = 0; k < 384; k++)
            fth_buffer_text(&text, "mov.u32 %r2, 5;\n");
        fth_buffer_text(&text, "add.u64 %rd4, %rd3, 0; mov.u64 %rd4, %clock64;\n"
                               "ld.const.u64 %rd3, [value]; add.u64 %rd5, %rd3, 0;\n"
                               "mov.u64 %rd5, %clock64; sub.u64 %rd5, %rd5, %rd4;\n"
                               "st.global.u64 [%rd2], %rd5; ret;\n}\n");
        const uint64_t cycles = run_text(&gpu, &text, 1);
        assert_in_range(cycles, shared ? 301 : 101, shared ? 320 : 120);
        fth_buffer_fini(&text);
        close_gpu(&gpu);
    }
}

/* ---- the observer, called directly ---- */

static struct fth_sim_timing timing;

static void start_timing(struct fth_sim_plan *plan, const char *elements, const char *device,
                         uint32_t threads)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = read_gpu(elements, device, "");
    if (fth_sim_plan_init(plan, gpu, &error) != FTH_OK ||
        fth_sim_timing_init(&timing, plan, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
    fth_sim_timing_launch(&timing, 0, 1, threads, 1, 0, -1);
}

static void end_timing(struct fth_sim_plan *plan)
{
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(plan);
}

/* An instruction that reads and writes at most one register each; -1: none. */
struct instruction {
    int reads, writes;
    bool accesses, drains, skipped; /* skipped: no lane is active */
};

/* Issues an instruction of the warp. Returns the time at which it issues. */
static int64_t issue(uint32_t warp, const struct instruction *instruction, bool alone)
{
    const uint32_t read = (uint32_t)instruction->reads, written = (uint32_t)instruction->writes;
    const struct fth_ptx_operands operands = {.accesses = instruction->accesses,
                                              .drains = instruction->drains,
                                              .read_count = instruction->reads >= 0,
                                              .write_count = instruction->writes >= 0,
                                              .reads = &read,
                                              .writes = &written};
    const int last =
        instruction->reads > instruction->writes ? instruction->reads : instruction->writes;
    const struct fth_ptx_issue event = {.who = {.warp = warp},
                                        .mask = instruction->skipped ? 0 : 1,
                                        .operands = &operands,
                                        .operand_end = last < 4 ? 4 : (uint32_t)last + 1,
                                        .alone = alone};
    assert_true(fth_sim_observer.issue(&timing, &event));
    const int64_t issued = timing.warps[warp].issued;
    assert_int_equal(fth_sim_observer.clock(&timing, &event.who, false), issued / 1000);
    assert_int_equal(fth_sim_observer.clock(&timing, &event.who, true), issued / 1000);
    assert_int_equal(fth_sim_observer.time(&timing, &event.who), issued + 1000);
    if (instruction->accesses && !instruction->skipped) {
        const uint64_t addresses[32] = {4096};
        const struct fth_ptx_access access = {.who = {.warp = warp},
                                              .space = FTH_SPACE_GLOBAL,
                                              .kind = FTH_ACCESS_READ,
                                              .mask = 1,
                                              .bytes = 4,
                                              .addresses = addresses};
        assert_true(fth_sim_observer.access(&timing, &access));
        timing.warps[warp].operands = NULL; /* those of this function end here */
    }
    return issued;
}

/* Results of arithmetic are ready after 4 cycles. Memory takes 500 cycles, and 200 in the L2. */
static void instructions_wait_for_their_operands(void **state)
{
    (void)state;
    static const struct {
        struct instruction instruction;
        int64_t cycle;
    } rows[] = {
        {{-1, 0, false, false, false}, 1},   {{0, 1, false, false, false}, 5},
        {{-1, 2, false, false, false}, 6},   {{1, -1, false, false, false}, 9},
        {{-1, 3, true, false, false}, 10}, /* a load from memory */
        {{2, 2, false, false, false}, 11}, /* does not need it */
        {{3, -1, false, false, false}, 510}, {{-1, 3, true, false, false}, 511}, /* hits the L2 */
        {{-1, -1, false, true, false}, 711},                                     /* a fence */
        {{-1, 0, false, false, true}, 712}, /* not executed: register 0 keeps its time */
        {{0, -1, false, false, false}, 713}, {{-1, 0, true, false, true}, 714},
        {{0, -1, false, false, false}, 715},
    };
    struct fth_sim_plan plan;
    start_timing(&plan, "\"l2\": {\"latency_cycles\": 200}, \"memory\": {\"latency_cycles\": 500}",
                 "", 32);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const int64_t issued = issue(0, &rows[i].instruction, true);
        if (issued != rows[i].cycle * 1000)
            fail_msg("row %zu: %lld", i, (long long)issued);
    }
    /* The block ends with its last instruction, and all its accesses. */
    assert_true(fth_sim_timing_finish(&timing));
    assert_int_equal(timing.end, 716000);
    end_timing(&plan);
}

/* A register that was never written is ready, whatever the memory for its time contained before.
 * The times of the other registers stay when there are more of them. */
static void registers_are_ready_at_first(void **state)
{
    (void)state;
    static const struct {
        int reads, writes;
        int64_t cycle;
    } rows[] = {{3, 0, 1},  {7, 1, 2},   {0, -1, 5},  {-1, 7, 6},
                {8, 17, 7}, {7, -1, 10}, {17, -1, 11}};
    struct fth_sim_plan plan;
    start_timing(&plan, "", "", 32);
    /* As large as the times of four registers and four more. volatile: the writes must stay. */
    volatile unsigned char *used = malloc(64);
    assert_non_null(used);
    for (size_t i = 0; i < 64; i++)
        used[i] = 0x7f;
    free((void *)used);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct instruction instruction = {.reads = rows[i].reads, .writes = rows[i].writes};
        const int64_t issued = issue(0, &instruction, true);
        if (issued != rows[i].cycle * 1000)
            fail_msg("row %zu: %lld", i, (long long)issued);
    }
    end_timing(&plan);
}

/* Fetching an instruction takes 3 cycles. While a warp waits, 16 instructions are fetched. Then one
 * instruction issues per cycle, until fetch is no longer ahead: 3 * 25 cycles are 48 + 25 + 2. */
static void fetch_is_ahead_of_issue(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    start_timing(&plan,
                 "\"instruction_l0\": {\"cycles_per_instruction\": 3}, "
                 "\"memory\": {\"latency_cycles\": 500}",
                 "", 32);
    static const struct instruction load = {-1, 0, true, false, false},
                                    use = {0, -1, false, false, false},
                                    other = {-1, -1, false, false, false};
    for (int i = 0; i < 4; i++) {
        const int64_t issued = issue(0, &other, true);
        if (i > 0) /* the first fetch misses the cache */
            assert_int_equal(issued % 1500, 0);
    }
    const int64_t start = issue(0, &load, true), waited = issue(0, &use, true);
    assert_int_equal(waited - start, 500000);
    int64_t last = waited;
    for (int i = 1; i <= 40; i++) {
        const int64_t issued = issue(0, &other, true);
        if (issued - last != (i <= 25 ? 1000 : 3000))
            fail_msg("instruction %d: %lld", i, (long long)(issued - last));
        last = issued;
    }
    end_timing(&plan);
}

/* Warps 0 and 4 have the same scheduler. An arithmetic instruction takes 2 of its cycles, because
 * the SM has 64 cores; an access takes one. */
static void warps_share_schedulers(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    static const struct instruction add = {-1, -1, false, false, false},
                                    load = {-1, 0, true, false, false};
    start_timing(&plan, "\"memory\": {\"latency_cycles\": 500}", "\"cores_per_sm\": 64", 160);
    assert_true(timing.schedulers_shared);
    static const struct {
        uint32_t warp;
        bool load, alone;
        int64_t cycle;
    } rows[] = {
        {0, false, false, 1}, {1, false, false, 1}, {4, false, false, 3}, {4, true, false, 5},
        {0, true, false, 6},  {4, false, true, 6},  {0, false, false, 7},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const int64_t issued = issue(rows[i].warp, rows[i].load ? &load : &add, rows[i].alone);
        if (issued != rows[i].cycle * 1000)
            fail_msg("row %zu: %lld", i, (long long)issued);
    }
    /* At a barrier, the warps that waited continue with the last of them. */
    const int64_t latest = timing.warps[0].now;
    assert_true(timing.warps[1].now < latest);
    assert_true(fth_sim_observer.barrier(&timing, 0, 3, 0x3));
    assert_int_equal(timing.warps[1].now, latest);
    assert_int_equal(timing.warps[0].now, latest);
    assert_true(timing.warps[4].now != latest);
    end_timing(&plan);
}

/* Warps wait for the latest arrival of their phase. */
static void cluster_barriers_have_phases(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    static const struct instruction add = {-1, -1, false, false, false};
    const struct fth_ptx_warp_id first = {.warp = 0}, second = {.warp = 1};
    start_timing(&plan, "", "", 64);
    (void)issue(0, &add, true);
    (void)issue(1, &add, true);
    timing.warps[0].now = 50000;
    timing.warps[1].now = 80000;
    assert_true(fth_sim_observer.cluster_barrier(&timing, &second, 0, false));
    assert_true(fth_sim_observer.cluster_barrier(&timing, &first, 0, false));
    assert_true(fth_sim_observer.cluster_barrier(&timing, &first, 0, true));
    assert_int_equal(timing.warps[0].now, 80000);
    timing.warps[1].now = 90000;
    assert_true(fth_sim_observer.cluster_barrier(&timing, &second, 0, true));
    assert_int_equal(timing.warps[1].now, 90000);
    assert_true(fth_sim_observer.cluster_barrier(&timing, &first, 1, false));
    assert_true(fth_sim_observer.cluster_barrier(&timing, &second, 1, false));
    assert_true(fth_sim_observer.cluster_barrier(&timing, &first, 1, true));
    assert_int_equal(timing.warps[0].now, 90000);
    assert_int_equal(timing.cluster_complete[0], 80000);
    end_timing(&plan);
}

/* ---- instruction fetch ---- */

/* Fetches `count` instructions from `first` on; each must take `cycles`. */
static void fetch(uint32_t sm, unsigned first, unsigned count, int64_t cycles)
{
    const struct fth_ptx_warp_id who = {.sm = sm};
    for (unsigned i = first; i < first + count; i++) {
        const int64_t cost = fth_sim_fetch(&timing, &timing.warps[sm], &who,
                                           (uint64_t)i * FTH_PTX_INSTRUCTION_BYTES);
        if (cost != cycles * 1000)
            fail_msg("instruction %u: %lld", i, (long long)cost);
    }
}

static void start_fetching(struct fth_sim_plan *plan, const char *elements, const char *device)
{
    start_timing(plan, elements, device, 32);
    for (size_t i = 0; i < 2; i++)
        timing.warps[i].fetch_line = timing.warps[i].fetch_next = UINT64_MAX;
}

/* The L0 has 2 lines of 8 instructions and takes 1 cycle per instruction. The L1 has 4 lines of 16
 * and takes 2 cycles. Memory takes 5 cycles, which is 2.5 times as long as the L1. */
static void an_instruction_takes_the_time_of_its_cache(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    start_fetching(&plan,
                   "\"instruction_l0\": {\"size_bytes\": 256, \"line_bytes\": 128}, "
                   "\"instruction_l1\": {\"size_bytes\": 1024, \"line_bytes\": 256}",
                   "\"compute_capability\": \"7.0\"");
    struct fth_sim_warp *warp = &timing.warps[0];
    fetch(0, 0, 7, 5);
    assert_int_equal(warp->fetch_from, 0);
    assert_int_equal(warp->fetch_span, 128);
    /* The rest of the L1's line is still arriving. */
    fetch(0, 7, 25, 5);
    assert_int_equal(warp->fetch_from, 24 * 16);
    assert_int_equal(warp->fetch_span, 128);
    /* The L0 holds the last two of four lines, and the L1 all of them. */
    fetch(0, 0, 16, 2);
    fetch(0, 0, 16, 1);
    fetch(0, 4, 8, 1);
    /* A jump within a line that was just fetched finds it in the L0. */
    fetch(0, 20, 1, 2);
    fetch(0, 21, 2, 2);
    fetch(0, 22, 1, 1);
    /* A jump into a line that is still arriving does not wait for it. */
    fetch(0, 32, 4, 5);
    fetch(0, 44, 2, 2);
    /* Each SM has caches of its own. */
    fetch(1, 0, 9, 5);
    fetch(1, 1, 1, 1);
    assert_false(timing.failed);
    end_timing(&plan);
}

/* Seven instructions take 64 bytes, so two lines of 32 bytes hold four and three instructions. */
static void lines_hold_a_fraction_of_instructions(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    start_fetching(&plan,
                   "\"instruction_l1\": {\"cycles_per_instruction\": 2, \"size_bytes\": 128, "
                   "\"line_bytes\": 32}",
                   "\"compute_capability\": \"3.5\"");
    static const unsigned starts[] = {0, 4, 7, 11, 14};
    for (unsigned i = 0; i < 14; i++) {
        const unsigned line = i < 4 ? 0 : i < 7 ? 1 : i < 11 ? 2 : 3;
        fetch(0, i, 1, 5);
        assert_int_equal(timing.warps[0].fetch_line, 32 * line);
        assert_int_equal(timing.warps[0].fetch_from, 16 * starts[line]);
        assert_int_equal(timing.warps[0].fetch_span, 16 * (starts[line + 1] - starts[line]));
    }
    fetch(0, 0, 14, 2);
    assert_false(timing.failed);
    end_timing(&plan);
    /* Without an instruction cache, each instruction takes one cycle. */
    start_fetching(&plan, "", "");
    fetch(0, 1000, 3, 1);
    assert_int_equal(timing.warps[0].fetch_from, 0);
    assert_true(timing.warps[0].fetch_span == UINT64_MAX);
    assert_false(timing.failed);
    end_timing(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bank_conflicts_take_conflict_cycles),
        cmocka_unit_test(reading_the_clock_waits_for_used_results_but_not_for_loads_in_flight),
        cmocka_unit_test(code_that_exceeds_an_instruction_cache_is_slower),
        cmocka_unit_test(l1_caches_local_memory_if_the_description_lists_it),
        cmocka_unit_test(code_evicts_constants_from_shared_storage),
        cmocka_unit_test(instructions_wait_for_their_operands),
        cmocka_unit_test(registers_are_ready_at_first),
        cmocka_unit_test(fetch_is_ahead_of_issue),
        cmocka_unit_test(warps_share_schedulers),
        cmocka_unit_test(cluster_barriers_have_phases),
        cmocka_unit_test(an_instruction_takes_the_time_of_its_cache),
        cmocka_unit_test(lines_hold_a_fraction_of_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
