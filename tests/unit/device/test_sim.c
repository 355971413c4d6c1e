/* Tests the memory hierarchy of simulated GPUs (device/sim/): latencies, capacities, sectors,
 * shared storage, carve-outs, TLBs and L2 partitions. Kernels in PTX walk chains and measure their
 * own cycles. The description of the simulated GPU gives the expected values. */
#include "simulated.h"

/* ---- latency ---- */

static void a_hop_takes_the_latency_of_its_level(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, L1_16K L2_64K MEMORY, "\"sms\": 4", "");
    static const struct {
        const char *kernel;
        uint64_t bytes;
        double cycles;
    } rows[] = {{"ca", 16384, 33.4},     {"ca", 32768, 200.5},   {"cg", 16384, 200.5},
                {"ca", 131072, 500.25},  {"cg", 131072, 500.25}, {"nc", 16384, 33.4},
                {"atomic", 16384, 200.5}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t count = rows[i].bytes / 128, start = make_chain(&gpu, count, 128);
        ASSERT_NEAR(cycles_per_hop(&gpu, (struct walk){.kernel = rows[i].kernel,
                                                       .start = start,
                                                       .warm = 2 * count,
                                                       .hops = 4 * count}),
                    rows[i].cycles);
    }
    close_gpu(&gpu);
}

/* ---- capacity ---- */

static void a_cache_holds_exactly_its_size(void **state)
{
    (void)state;
    static const char *const caches[] = {
        "\"policy\": \"lru\"",
        "\"policy\": \"fifo\"",
        "\"policy\": \"lru\", \"sets\": 32, \"ways\": 4",
        "\"policy\": \"random\"",
        "\"policy\": \"lfu\"",
        "\"policy\": \"weighted\", \"sets\": 32, \"ways\": 4, \"way_weights\": [1, 3, 1, 1]",
    };
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        char elements[512];
        snprintf(elements, sizeof elements,
                 "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 30, %s},"
                 "\"l2\": {\"latency_cycles\": 200}",
                 caches[i]);
        struct gpu gpu;
        open_gpu(&gpu, elements, "\"sms\": 2", "");
        uint64_t fits = make_chain(&gpu, 128, 128), too_large = make_chain(&gpu, 129, 128);
        ASSERT_NEAR(
            cycles_per_hop(
                &gpu,
                (struct walk){.kernel = "ca", .start = fits, .warm = 128, .hops = 1280, .sm = 1}),
            30);
        double beyond = cycles_per_hop(
            &gpu,
            (struct walk){.kernel = "ca", .start = too_large, .warm = 1290, .hops = 1290, .sm = 1});
        assert_true(beyond > 30.5);
        close_gpu(&gpu);
    }
}

static void a_miss_fills_one_l1_sector_and_fill_bytes_of_l2(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sector_bytes\": 32, "
             "\"latency_cycles\": 30}, \"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, "
             "\"sector_bytes\": 32, \"fill_bytes\": 64, \"latency_cycles\": 200}, "
             "\"memory\": {\"latency_cycles\": 600}",
             "", "");
    /* A cold chain with a stride of 16 bytes. Two hops share a sector, so every second hop hits in
     * L1. Memory fills 64 bytes of the L2 at a time, so only every fourth hop goes to memory. */
    uint64_t start = make_chain(&gpu, 1024, 16);
    double mean =
        (double)launch_walk(
            &gpu, (struct walk){.kernel = "ca", .start = start, .warm = 0, .hops = 1024}) /
        1024;
    assert_true(fabs(mean - (30 * 2 + 200 + 600) / 4.0) < 0.05);
    close_gpu(&gpu);
}

/* ---- sharing and instances ---- */

static const char many_caches[] =
    "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 30, "
    "\"shared_with\": [\"readonly\"]}, "
    "\"readonly\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 40, "
    "\"shared_with\": [\"l1\", \"texture\"]}, "
    "\"texture\": {\"latency_cycles\": 50.5, \"shared_with\": [\"readonly\"]}, "
    "\"constant_l1\": {\"size_bytes\": 2048, \"line_bytes\": 64, \"latency_cycles\": 20, "
    "\"per_sm\": 2}, "
    "\"constant_l15\": {\"size_bytes\": 32768, \"line_bytes\": 256, \"latency_cycles\": 100}, "
    "\"l2\": {\"latency_cycles\": 200, \"size_bytes\": 1048576}, "
    "\"memory\": {\"latency_cycles\": 500}";

static void each_path_has_its_latency(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, many_caches, "\"sms\": 4", "");
    uint64_t start = make_chain(&gpu, 64, 128), bank = constant_bank(&gpu);
    ASSERT_NEAR(cycles_per_hop(
                    &gpu, (struct walk){.kernel = "ca", .start = start, .warm = 64, .hops = 640}),
                30);
    ASSERT_NEAR(cycles_per_hop(
                    &gpu, (struct walk){.kernel = "nc", .start = start, .warm = 64, .hops = 640}),
                40);
    static const struct {
        uint64_t count, stride;
        double cycles;
    } rows[] = {{32, 64, 20}, {64, 64, 100}, {128, 256, 100}, {256, 256, 200}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        write_chain(&gpu, bank, rows[i].count, rows[i].stride);
        ASSERT_NEAR(cycles_per_hop(&gpu, (struct walk){.kernel = "constant",
                                                       .start = bank,
                                                       .warm = 4 * rows[i].count,
                                                       .hops = 1024}),
                    rows[i].cycles);
    }
    /* The elements of a texture chain are texel indices. The loop converts the index before the
     * fetch, which takes 4 cycles. The conversion after the fetch waits for its result, so the
     * instructions at the end of the loop do not overlap with the fetch and add LOOP_END. */
    uint32_t texels[1024];
    for (uint32_t i = 0; i < 1024; i++)
        texels[i] = (i + 32) % 1024;
    uint64_t memory = allocate(&gpu, sizeof texels), handle;
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->upload(gpu.machine, memory, texels, sizeof texels, &error), FTH_OK);
    assert_int_equal(gpu.ops->texture(gpu.machine, memory, 1024, &handle, &error), FTH_OK);
    ASSERT_NEAR(cycles_per_hop(&gpu, (struct walk){.kernel = "texture",
                                                   .start = 0,
                                                   .warm = 32,
                                                   .hops = 320,
                                                   .texture = handle}),
                4 + 50.5 + LOOP_END);
    gpu.ops->texture_free(gpu.machine, handle);
    close_gpu(&gpu);
}

/* Lane 0 of warp 0 loads `n` elements of the chain `a` with ld.global.ca. After a barrier, lane 0
 * of warp `second` loads `n` elements of the chain `b` with ld.global.LOOK and stores the cycles
 * that this took. LOOK is a placeholder for the cache operator. */
static const char pairs[] =
    HEAD ".visible .entry pair(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 out,\n"
         "  .param .u64 second)\n{\n"
         "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"
         "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [n];\n"
         "  ld.param.u64 %rd4, [out]; ld.param.u64 %rd5, [second];\n"
         "  mov.u32 %r1, %tid.x; cvt.u64.u32 %rd6, %r1; shl.b64 %rd5, %rd5, 5;\n"
         "  mov.u64 %rd7, %rd3; setp.ne.u32 %p1, %r1, 0; @%p1 bra met;\n"
         "fill: ld.global.ca.u64 %rd1, [%rd1]; sub.u64 %rd7, %rd7, 1; setp.ne.u64 %p2, %rd7, 0;\n"
         "  @%p2 bra fill;\n"
         "met: bar.sync 0; setp.ne.u64 %p1, %rd5, %rd6; @%p1 exit;\n"
         "  mov.u64 %rd8, %clock64;\n"
         "look: ld.global.LOOK.u64 %rd2, [%rd2]; sub.u64 %rd3, %rd3, 1; setp.ne.u64 %p2, %rd3, 0;\n"
         "  @%p2 bra look;\n"
         "  add.u64 %rd9, %rd2, 0; mov.u64 %rd9, %clock64; sub.u64 %rd9, %rd9, %rd8;\n"
         "  st.global.u64 [%rd4], %rd9; ret;\n}\n";

/* Runs that kernel over one chain. Returns the cycles per load of warp `second`. */
static double time_second_walk(struct gpu *gpu, const char *cache_operator, uint64_t start,
                               uint64_t count, uint64_t second)
{
    char text[sizeof pairs + 8];
    const char *at = strstr(pairs, "LOOK");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - pairs), pairs, cache_operator, at + 4);
    struct fth_machine_module *module;
    struct fth_error error = NO_ERROR;
    if (gpu->ops->load(gpu->machine, "pair", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    const uint64_t arguments[] = {start, start, count, gpu->out, second};
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "pair",
                                              .blocks = 1,
                                              .threads = 256,
                                              .carveout_percent = -1,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    if (gpu->ops->launch(gpu->machine, &launch, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    uint64_t cycles = 0;
    assert_int_equal(gpu->ops->download(gpu->machine, &cycles, gpu->out, sizeof cycles, &error),
                     FTH_OK);
    gpu->ops->unload(gpu->machine, module);
    return (double)cycles / (double)count;
}

static void a_load_hits_only_in_the_storage_that_was_filled(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *readonly, *cache_operator;
        uint64_t second;
        double cycles;
    } rows[] = {
        {"\"shared_with\": [\"readonly\"]", "\"shared_with\": [\"l1\"]", "nc", 0, 40},
        {"\"per_sm\": 1", "\"per_sm\": 1", "nc", 0, 200},
        {"\"per_sm\": 1", "\"per_sm\": 1", "ca", 1, 30},
        /* Two instances per SM: the warps 0, 2, 4 … use the first one. */
        {"\"per_sm\": 2", "\"per_sm\": 1", "ca", 1, 200},
        {"\"per_sm\": 2", "\"per_sm\": 1", "ca", 2, 30},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[600];
        snprintf(elements, sizeof elements,
                 "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 30, %s},"
                 "\"readonly\": {\"size_bytes\": 16384, \"line_bytes\": 128, "
                 "\"latency_cycles\": 40, %s}, \"l2\": {\"latency_cycles\": 200}",
                 rows[i].l1, rows[i].readonly);
        struct gpu gpu;
        open_gpu(&gpu, elements, "", "");
        uint64_t start = make_chain(&gpu, 100, 128);
        double cycles = time_second_walk(&gpu, rows[i].cache_operator, start, 100, rows[i].second);
        if (fabs(cycles - rows[i].cycles) > 0.2)
            fail_msg("row %zu: %g cycles per load instead of %g", i, cycles, rows[i].cycles);
        close_gpu(&gpu);
    }
}

/* ---- the rest of the hierarchy ---- */

static void the_carve_out_shrinks_l1(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l1\": {\"size_bytes\": 131072, \"default_size_bytes\": 32768, "
             "\"unified_bytes\": 131072, \"line_bytes\": 128, \"latency_cycles\": 30}, "
             "\"shared\": {\"size_bytes\": 98304, \"carveout_bytes\": [0, 8192, 16384, 32768, "
             "65536, 98304]}, \"l2\": {\"latency_cycles\": 200, \"size_bytes\": 1048576}",
             "\"sms\": 2", "");
    static const struct {
        int percent;
        uint64_t shared, l1;
    } rows[] = {{-1, 0, 131072},    {0, 0, 131072},    {100, 0, 32768},
                {50, 0, 65536},     {34, 0, 65536},    {33, 0, 98304},
                {-1, 4096, 122880}, {0, 70000, 32768}, {10, 20000, 98304}};
    uint64_t start = allocate(&gpu, 262144);
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint64_t extra_lines = 0; extra_lines < 2; extra_lines++) {
            uint64_t count = rows[i].l1 / 128 + extra_lines;
            write_chain(&gpu, start, count, 128);
            double cycles = cycles_per_hop(&gpu, (struct walk){.kernel = "ca",
                                                               .start = start,
                                                               .warm = count * 2,
                                                               .hops = count * 2,
                                                               .carveout_percent = rows[i].percent,
                                                               .shared_bytes = rows[i].shared});
            if (extra_lines ? cycles < 30.5 : cycles != 30)
                fail_msg("row %zu: %g cycles for %llu lines", i, cycles, (unsigned long long)count);
        }
    const struct fth_machine_launch launch = {.module = gpu.module,
                                              .kernel = "ca",
                                              .blocks = 1,
                                              .threads = 32,
                                              .shared_bytes = 98305,
                                              .argument_bytes = 56};
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->launch(gpu.machine, &launch, &error), FTH_INVALID);
    assert_contains(error.cause,
                    "98305 bytes of shared memory exceed the maximum of 98304 per block");
    close_gpu(&gpu);
}

static void a_tlb_miss_adds_its_penalty_only_to_l1_misses(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l1\": {\"size_bytes\": 1024, \"line_bytes\": 128, \"latency_cycles\": 30}, "
             "\"l2\": {\"latency_cycles\": 200, \"size_bytes\": 1048576}, "
             "\"tlb_l1\": {\"page_bytes\": 2097152, \"entries\": 16, \"miss_penalty_cycles\": 27}, "
             "\"tlb_l2\": {\"page_bytes\": 2097152, \"set_ways\": [17, 8, 8], "
             "\"miss_penalty_cycles\": 100.5}, " MEMORY,
             "\"sms\": 2", "");
    static const struct {
        uint64_t pages;
        double cycles;
    } rows[] = {{8, 30}, {16, 200}, {17, 227}, {33, 227}, {66, 327.5}};
    uint64_t start = allocate(&gpu, (uint64_t)67 << 21);
    assert_int_equal(start % (2 << 20), 0);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        /* The offset within the page grows by one line per page, so that the lines are not all in
         * the same set of L1. */
        write_chain(&gpu, start, rows[i].pages, (2 << 20) + 128);
        ASSERT_NEAR(cycles_per_hop(&gpu, (struct walk){.kernel = "ca",
                                                       .start = start,
                                                       .warm = 4 * rows[i].pages,
                                                       .hops = 1000}),
                    rows[i].cycles);
    }
    close_gpu(&gpu);
}

/* Checks that 64 hops took `each` cycles per hop. The instructions around the loop may add up to
 * 100 cycles in total. */
static void assert_hops(uint64_t cycles, uint64_t each)
{
    if (cycles < 64 * each || cycles > 64 * each + 100)
        fail_msg("%llu cycles for 64 hops instead of %llu per hop", (unsigned long long)cycles,
                 (unsigned long long)each);
}

static void near_and_far_partitions_have_their_latencies(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 350, \"size_bytes\": "
             "131072, \"line_bytes\": 128, \"partitions\": 2, \"home_mask\": 65536}, "
             "\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 640}",
             "\"sms\": 4", "");
    uint64_t low = allocate(&gpu, 1 << 18);
    uint64_t near = low & 65536 ? low + 65536 : low, far = near ^ 65536;
    if (far < low)
        far += 131072;
    write_chain(&gpu, near, 64, 128);
    write_chain(&gpu, far, 64, 128);
    /* Both chains are read from memory. The home of the chain `near` is the partition near SM 0,
     * the home of the chain `far` is the other partition. */
    uint64_t first =
        launch_walk(&gpu, (struct walk){.kernel = "cg", .start = near, .warm = 0, .hops = 64});
    assert_hops(first, 500);
    first = launch_walk(&gpu, (struct walk){.kernel = "cg", .start = far, .warm = 0, .hops = 64});
    assert_hops(first, 640);
    /* SM 1 is at the other partition. It hits in the home partitions, which hold the lines since
     * SM 0 read them: far from SM 1 for the first chain, near SM 1 for the second one. */
    first = launch_walk(
        &gpu, (struct walk){.kernel = "cg", .start = near, .warm = 0, .hops = 64, .sm = 1});
    assert_hops(first, 350);
    first = launch_walk(
        &gpu, (struct walk){.kernel = "cg", .start = far, .warm = 0, .hops = 64, .sm = 1});
    assert_hops(first, 200);
    /* Now each partition also has a copy of the lines whose home is the other one. */
    ASSERT_NEAR(
        cycles_per_hop(&gpu,
                       (struct walk){.kernel = "cg", .start = far, .warm = 0, .hops = 64, .sm = 2}),
        200);
    ASSERT_NEAR(
        cycles_per_hop(
            &gpu, (struct walk){.kernel = "cg", .start = near, .warm = 0, .hops = 64, .sm = 3}),
        200);
    close_gpu(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hop_takes_the_latency_of_its_level),
        cmocka_unit_test(a_cache_holds_exactly_its_size),
        cmocka_unit_test(a_miss_fills_one_l1_sector_and_fill_bytes_of_l2),
        cmocka_unit_test(each_path_has_its_latency),
        cmocka_unit_test(a_load_hits_only_in_the_storage_that_was_filled),
        cmocka_unit_test(the_carve_out_shrinks_l1),
        cmocka_unit_test(a_tlb_miss_adds_its_penalty_only_to_l1_misses),
        cmocka_unit_test(near_and_far_partitions_have_their_latencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
