/* Tests a simulated GPU as a whole (device/sim/): noise, bandwidth, memory, faults, the speed of
 * the simulation, and that every description of the catalogue and unusual descriptions can be
 * simulated. The description of the simulated GPU gives the expected values. */
#include "simulated.h"

#include <stdlib.h>
#include <time.h>

/* ---- noise ---- */

static void the_same_seed_gives_the_same_noise(void **state)
{
    (void)state;
    uint64_t total_cycles[4];
    static const char *const noises[] = {
        "\"seed\": 1, \"jitter_cycles\": 3, \"outlier_rate\": 0.01",
        "\"seed\": 1, \"jitter_cycles\": 3, \"outlier_rate\": 0.01",
        "\"seed\": 2, \"jitter_cycles\": 3, \"outlier_rate\": 0.01", ""};
    for (size_t i = 0; i < 4; i++) {
        struct gpu gpu;
        open_gpu(&gpu, L1_16K L2_64K MEMORY, "\"sms\": 4", noises[i]);
        uint64_t start = make_chain(&gpu, 64, 128);
        total_cycles[i] = launch_walk(
            &gpu, (struct walk){.kernel = "ca", .start = start, .warm = 64, .hops = 10000});
        close_gpu(&gpu);
    }
    assert_int_equal(total_cycles[0], total_cycles[1]);
    assert_int_not_equal(total_cycles[0], total_cycles[2]);
    assert_true(total_cycles[3] >= 334000 && total_cycles[3] < 334020);
    /* One load in a hundred is an outlier and takes ten times as long, which adds 9 %. */
    double slowdown = (double)total_cycles[0] / (double)total_cycles[3];
    assert_true(slowdown > 1.07 && slowdown < 1.11);
}

/* ---- bandwidth ---- */

/* Every thread reads `count` words of 4 bytes, one grid of threads apart. Thread 0 of each block
 * stores its cycles. */
static const char stream[] = HEAD
    ".visible .entry stream(.param .u64 data, .param .u64 count, .param .u64 out)\n{\n"
    "  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<16>;\n"
    "  ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [count]; ld.param.u64 %rd3, [out];\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x;\n"
    "  mad.lo.u32 %r5, %r2, %r3, %r1; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd1, %rd1, %rd4;\n"
    "  mul.lo.u32 %r6, %r3, %r4; mul.wide.u32 %rd5, %r6, 4; mov.u32 %r7, 0;\n"
    "  mov.u64 %rd6, %clock64;\n"
    "again: ld.global.cg.u32 %r8, [%rd1]; add.u64 %rd1, %rd1, %rd5;\n"
    "  ld.global.cg.u32 %r9, [%rd1]; add.u64 %rd1, %rd1, %rd5;\n"
    "  ld.global.cg.u32 %r10, [%rd1]; add.u64 %rd1, %rd1, %rd5;\n"
    "  ld.global.cg.u32 %r11, [%rd1]; add.u64 %rd1, %rd1, %rd5;\n"
    "  add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10;\n"
    "  add.u32 %r7, %r7, %r11; sub.u64 %rd2, %rd2, 4; setp.ne.u64 %p1, %rd2, 0; @%p1 bra again;\n"
    "  mov.u64 %rd7, %clock64; sub.u64 %rd7, %rd7, %rd6; mul.wide.u32 %rd8, %r2, 8;\n"
    "  add.u64 %rd3, %rd3, %rd8; setp.ne.u32 %p2, %r1, 0; @%p2 exit;\n"
    "  st.global.u64 [%rd3], %rd7; ret;\n}\n";

static void many_warps_reach_but_do_not_exceed_the_bandwidth(void **state)
{
    (void)state;
    /* 64 GB/s at 1 GHz are 64 bytes per cycle. */
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l2\": {\"latency_cycles\": 200, \"size_bytes\": 65536, \"line_bytes\": 128}, "
             "\"memory\": {\"latency_cycles\": 500, \"read_bytes_per_s\": 64e9}",
             "\"sms\": 8, \"clock_mhz\": 1000", "");
    struct fth_machine_module *module;
    struct fth_error error = NO_ERROR;
    if (gpu.ops->load(gpu.machine, "stream", stream, strlen(stream), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    uint64_t data = allocate(&gpu, 32 << 20), cycles[16];
    const uint64_t arguments[] = {data, 512, gpu.out};
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "stream",
                                              .blocks = 16,
                                              .threads = 512,
                                              .carveout_percent = -1,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    if (gpu.ops->launch(gpu.machine, &launch, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(gpu.ops->download(gpu.machine, cycles, gpu.out, sizeof cycles, &error),
                     FTH_OK);
    uint64_t longest = 0;
    for (size_t i = 0; i < 16; i++)
        longest = cycles[i] > longest ? cycles[i] : longest;
    double rate = 16.0 * 512 * 512 * 4 / (double)longest;
    if (rate < 58 || rate > 65)
        fail_msg("%g bytes per cycle", rate);
    /* A single chain does not reach the bandwidth, so its hops take just the latency. */
    uint64_t start = make_chain(&gpu, 4096, 128);
    ASSERT_NEAR(cycles_per_hop(
                    &gpu, (struct walk){.kernel = "cg", .start = start, .warm = 0, .hops = 4096}),
                500);
    gpu.ops->unload(gpu.machine, module);
    close_gpu(&gpu);
}

/* ---- memory and faults ---- */

static void allocations_are_limited_to_the_memory_size(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, "\"memory\": {\"size_bytes\": 1048576}", "", "");
    uint64_t address = 1, bytes;
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &bytes, &error), FTH_OK);
    assert_int_equal(bytes, 1048576 - 4096);
    assert_int_equal(gpu.ops->alloc(gpu.machine, 1048576, &address, &error), FTH_NO_MEMORY);
    assert_int_equal(address, 0);
    assert_int_equal(gpu.ops->alloc(gpu.machine, 1048576 - 4095, &address, NULL), FTH_NO_MEMORY);
    assert_int_equal(gpu.ops->alloc(gpu.machine, 1048576 - 4096, &address, NULL), FTH_OK);
    gpu.ops->free(gpu.machine, address);
    assert_contains(error.cause, "1 MiB requested, 1020 KiB free");
    error = NO_ERROR;
    assert_int_equal(gpu.ops->alloc(gpu.machine, 524288, &address, &error), FTH_OK);
    gpu.ops->free(gpu.machine, address);
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &bytes, &error), FTH_OK);
    assert_int_equal(bytes, 1048576 - 4096);
    assert_int_equal(gpu.ops->upload(gpu.machine, gpu.out + 4090, &bytes, 8, &error), FTH_INVALID);
    close_gpu(&gpu);
}

static void a_huge_buffer_needs_host_memory_only_where_it_is_touched(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, L2_64K "\"memory\": {\"latency_cycles\": 500, \"size_bytes\": 150109880320}", "",
             "");
    uint64_t stride = (uint64_t)32 << 20, bytes = (uint64_t)100 << 30;
    uint64_t start = allocate(&gpu, bytes);
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->fill(gpu.machine, start, 0, bytes, &error), FTH_OK);
    write_chain(&gpu, start, bytes / stride, stride);
    ASSERT_NEAR(
        cycles_per_hop(&gpu,
                       (struct walk){.kernel = "cg", .start = start, .warm = 3200, .hops = 3200}),
        500);
    gpu.ops->free(gpu.machine, start);
    close_gpu(&gpu);
}

static void a_fault_makes_the_machine_unusable(void **state)
{
    (void)state;
    static const struct {
        const char *body, *cause;
    } rows[] = {
        {"again: bra again;", "more than 100000 instructions"},
        {"ld.global.u64 %rd3, [%rd1+4096]; st.global.u64 [%rd2], %rd3;", "read of 8 bytes at 0x"},
        {"trap;", "trap"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct gpu gpu;
        open_gpu(&gpu, "", "", "");
        fth_sim_set_limit(gpu.machine, 100000, NULL);
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 a, .param .u64 out)\n{\n"
                      ".reg .b64 %%rd<8>;\nld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, [out];\n"
                      "%s\nret;\n}\n",
                 rows[i].body);
        struct fth_machine_module *module;
        struct fth_error error = NO_ERROR;
        assert_int_equal(gpu.ops->load(gpu.machine, "k", text, strlen(text), &module, &error),
                         FTH_OK);
        const uint64_t arguments[] = {gpu.out, gpu.out};
        const struct fth_machine_launch launch = {.module = module,
                                                  .kernel = "k",
                                                  .blocks = 4,
                                                  .threads = 64,
                                                  .arguments = arguments,
                                                  .argument_bytes = sizeof arguments};
        assert_int_equal(gpu.ops->launch(gpu.machine, &launch, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        error = NO_ERROR;
        assert_int_equal(gpu.ops->wait(gpu.machine, 1, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        close_gpu(&gpu);
    }
}

/* ---- whole GPUs ---- */

/* Returns the CPU time of this process in seconds. Unlike the time of day, it does not include the
 * time that other processes take. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the CPU time of a launch with `blocks` blocks, in which only SM 3 does any work. */
static double launch_seconds(struct gpu *gpu, uint64_t start, uint32_t blocks)
{
    const double begin = cpu_seconds();
    launch_walk(
        gpu,
        (struct walk){
            .kernel = "ca", .start = start, .warm = 64, .hops = 10000, .sm = 3, .blocks = blocks});
    return cpu_seconds() - begin;
}

/* Compares the fastest of 20 launches on a GPU with 4 and on one with 132 SMs. The launches
 * alternate, so that a change of the processor's clock affects both. */
static void idle_sms_do_not_slow_down_the_simulation(void **state)
{
    (void)state;
    static const char *const devices[] = {"\"sms\": 4", "\"sms\": 132"};
    static const uint32_t blocks[] = {4, 132};
    struct gpu gpus[2];
    uint64_t starts[2];
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < 2; i++) {
        open_gpu(&gpus[i], L1_16K "\"instruction_l0\": {}, \"instruction_l1\": {}, " L2_64K MEMORY,
                 devices[i], "");
        starts[i] = make_chain(&gpus[i], 64, 128);
    }
    for (int i = 0; i < 40; i++) {
        double taken = launch_seconds(&gpus[i % 2], starts[i % 2], blocks[i % 2]);
        best[i % 2] = taken < best[i % 2] ? taken : best[i % 2];
    }
    for (int i = 0; i < 2; i++)
        close_gpu(&gpus[i]);
    if (best[1] > 2 * best[0])
        fail_msg("%g s with 132 SMs, %g s with 4", best[1], best[0]);
}

static void every_gpu_of_the_catalogue_can_be_simulated(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_catalogue_open(&catalogue, &error), FTH_OK);
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        const char *name = fth_catalogue_name(catalogue, i);
        struct fth_gpu *description = NULL, *reported = NULL;
        struct gpu gpu;
        if (fth_catalogue_read(catalogue, name, NULL, &description, &error) != FTH_OK ||
            fth_sim_machine_create(description, &gpu.ops, &gpu.machine, &error) != FTH_OK) {
            fail_msg("%s: %s", name, error.cause);
            return;
        }
        load_chases(&gpu);
        uint64_t start = make_chain(&gpu, 16, 128), bank = constant_bank(&gpu);
        write_chain(&gpu, bank, 16, 64);
        static const char *const kernels[] = {"ca", "cg", "nc", "constant"};
        /* One block per SM: in which order SMs receive blocks depends on the description. */
        const uint32_t sms = (uint32_t)fth_gpu_number(description, "device", "sms", 16);
        for (size_t k = 0; k < FTH_COUNT(kernels); k++) {
            double cycles = cycles_per_hop(&gpu, (struct walk){.kernel = kernels[k],
                                                               .start = k == 3 ? bank : start,
                                                               .warm = 64,
                                                               .hops = 160,
                                                               .sm = 1,
                                                               .blocks = sms});
            if (cycles < 8 || cycles > 1000)
                fail_msg("%s: %g cycles per hop of kernel %s", name, cycles, kernels[k]);
        }
        struct fth_machine_facts facts;
        gpu.ops->facts(gpu.machine, &facts);
        assert_int_equal(facts.sms, fth_gpu_number(description, "device", "sms", 0));
        assert_int_equal(fth_gpu_create(&reported, &error), FTH_OK);
        assert_int_equal(gpu.ops->describe(gpu.machine, reported, &error), FTH_OK);
        assert_int_equal(fth_gpu_validate(reported, &error), FTH_OK);
        assert_string_equal(fth_gpu_text(reported, "device", "backend"), "simulated");
        assert_null(fth_gpu_attribute(reported, "l2", "latency_cycles"));
        assert_null(fth_gpu_attribute(reported, "l1", "size_bytes"));
        fth_gpu_destroy(reported);
        fth_gpu_destroy(description);
        close_gpu(&gpu);
    }
    fth_catalogue_close(catalogue);
}

static void unusual_descriptions_can_be_simulated(void **state)
{
    (void)state;
    static const char everything[] =
        "\"l1\": {}, \"texture\": {}, \"readonly\": {}, \"constant_l1\": {}, \"constant_l15\": {}, "
        "\"instruction_l0\": {}, \"instruction_l1\": {}, \"instruction_l15\": {}, \"shared\": {}, "
        "\"l2\": {}, \"tlb_l1\": {}, \"tlb_l2\": {}, \"tlb_l3\": {}, \"memory\": {}";
    const char *const rows[] = {
        "",
        everything,
        "\"l1\": {\"size_bytes\": 9600, \"line_bytes\": 96, \"sector_bytes\": 48}",
        "\"l1\": {\"size_bytes\": 1, \"per_sm\": 100}, \"l2\": {\"size_bytes\": 12345}",
        "\"l1\": {\"size_bytes\": 8192, \"line_bytes\": 4096, \"sector_bytes\": 1}",
        "\"l1\": {\"policy\": \"weighted\", \"way_weights\": [1, 2, 3]}",
        "\"l1\": {\"index\": \"bits:[1,2]\", \"scope\": \"gpu\"}",
        "\"l1\": {\"set_ways\": [3, 5], \"sets\": 2}, \"constant_l1\": {\"scope\": \"gpc\"}",
        "\"l2\": {\"partitions\": 3, \"home_mask\": 0, \"size_bytes\": 30000}",
        "\"l2\": {\"line_bytes\": 32, \"fill_bytes\": 4096}",
        "\"tlb_l1\": {\"page_bytes\": 3000000, \"reach_bytes\": 6000000, \"scope\": \"sm\"}",
        "\"tlb_l1\": {\"sets\": 3, \"ways\": 5, \"index\": \"xor\", \"policy\": \"random\"}",
        "\"shared\": {\"banks\": 1000, \"bank_bytes\": 3, \"carveout_bytes\": [0]}",
        "\"memory\": {\"latency_cycles\": 0.001, \"read_bytes_per_s\": 1000000000}",
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct gpu gpu;
        open_gpu(&gpu, rows[i], "\"sms\": 20", "");
        uint64_t start = make_chain(&gpu, 16, 128), bank = constant_bank(&gpu);
        write_chain(&gpu, bank, 16, 64);
        static const char *const kernels[] = {"ca", "cg", "nc", "atomic", "constant"};
        for (size_t k = 0; k < FTH_COUNT(kernels); k++)
            launch_walk(&gpu, (struct walk){.kernel = kernels[k],
                                            .start = k == 4 ? bank : start,
                                            .warm = 32,
                                            .hops = 32,
                                            .sm = 17,
                                            .warp = 3,
                                            .carveout_percent = (int)i * 10,
                                            .shared_bytes = 1000});
        close_gpu(&gpu);
    }
}

/* Each row is refused because of one figure that no GPU has. */
static void extreme_figures_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *device, *argument, *cause;
    } rows[] = {
        {"", "\"clock_mhz\": 4503599627370496", "Test",
         "device.clock_mhz: 4503599627370496 is above 10000, the limit of simulated GPUs"},
        {"", "\"clock_mhz\": 0.001", "Test", "device.clock_mhz: 0.001 is below 1, the limit"},
        {"", "\"sms\": 70368744177664", "Test", "device.sms: 70368744177664 is above 1024"},
        {"", "\"warp_size\": 7", "Test", "device.warp_size: 7 is below 32"},
        {"\"l2\": {\"size_bytes\": 1099511627776}", "", "Test",
         "elements.l2.size_bytes: 1099511627776"},
        {"\"l1\": {\"size_bytes\": 536870912}", "", "Test", "elements.l1.size_bytes: 536870912"},
        {"\"l1\": {\"line_bytes\": 1073741824}", "", "Test", "elements.l1.line_bytes"},
        {"\"l2\": {\"fill_bytes\": 9007199254740992}", "", "Test", "elements.l2.fill_bytes"},
        {"\"l2\": {\"partitions\": 65}", "", "Test", "elements.l2.partitions: 65 is above 64"},
        {"\"l1\": {\"per_sm\": 1000000}", "", "Test", "elements.l1.per_sm: 1000000 is above 1024"},
        {"\"l1\": {\"set_ways\": [1, 9007199254740992]}", "", "Test", "elements.l1.set_ways"},
        {"\"memory\": {\"latency_cycles\": 4503599627370496}", "", "Test",
         "elements.memory.latency_cycles: 4503599627370496 is above 1000000"},
        {"\"tlb_l1\": {\"page_bytes\": 9007199254740992}", "", "Test",
         "elements.tlb_l1.page_bytes"},
        {"\"tlb_l1\": {\"entries\": 4294967296}", "", "Test", "elements.tlb_l1.entries"},
        {"\"tlb_l1\": {\"page_bytes\": 4, \"reach_bytes\": 70368744177664}", "", "tlb_l1",
         "17592186044416 lines or entries in each of 1 instances"},
        {"\"l1\": {\"size_bytes\": 16777216, \"line_bytes\": 32}", "\"sms\": 1024", "l1",
         "524288 lines or entries in each of 1024 instances"},
        {"\"shared\": {\"banks\": 5000}", "", "Test", "elements.shared.banks: 5000 is above 1024"},
        {"\"shared\": {\"size_bytes\": 4294967296}", "", "Test", "elements.shared.size_bytes"},
        {"\"memory\": {\"size_bytes\": 9007199254740992}", "", "Test",
         "elements.memory.size_bytes"},
        {"\"memory\": {\"read_bytes_per_s\": 1}", "", "Test",
         "elements.memory.read_bytes_per_s: 1 is below 1000000000, the limit of simulated GPUs"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *description = read_gpu(rows[i].elements, rows[i].device, "");
        const struct fth_machine_ops *ops;
        void *machine;
        struct fth_error error = NO_ERROR;
        if (fth_sim_machine_create(description, &ops, &machine, &error) != FTH_INVALID)
            fail_msg("not refused: %s %s", rows[i].elements, rows[i].device);
        assert_null(machine);
        assert_string_equal(error.argument, rows[i].argument);
        assert_contains(error.cause, rows[i].cause);
        fth_gpu_destroy(description);
    }
}

static bool always(void *user)
{
    (void)user;
    return true;
}

static void the_log_interrupts_a_launch(void **state)
{
    (void)state;
    static const char text[] = HEAD ".visible .entry k()\n{\nagain: bra again;\n}\n";
    static const struct fth_log log = {.interrupted = always};
    struct gpu gpu;
    struct fth_machine_module *module;
    struct fth_error error = NO_ERROR;
    open_gpu(&gpu, "", "", "");
    fth_sim_set_limit(gpu.machine, 0, &log);
    assert_int_equal(gpu.ops->load(gpu.machine, "k", text, strlen(text), &module, &error), FTH_OK);
    const struct fth_machine_launch launch = {
        .module = module, .kernel = "k", .blocks = 4, .threads = 64};
    assert_int_equal(gpu.ops->launch(gpu.machine, &launch, &error), FTH_INTERRUPTED);
    assert_string_equal(error.cause, "interrupted");
    close_gpu(&gpu);
}

/* A cache whose description has neither sets, ways nor an index function gets several sets. */
static void caches_have_default_sets(void **state)
{
    (void)state;
    static const struct {
        const char *l1;
        uint64_t sets;
    } rows[] = {
        {"", 4},
        {", \"index\": \"bits:[7,8,9,10,11]\"", 32},
        {", \"sets\": 8", 8},
        {", \"ways\": 4", 32},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        struct fth_sim_plan plan = {0};
        struct fth_error error = NO_ERROR;
        snprintf(elements, sizeof elements,
                 "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128%s}", rows[i].l1);
        struct fth_gpu *gpu = read_gpu(elements, "", "");
        if (fth_sim_plan_init(&plan, gpu, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        uint64_t sets = 0;
        for (unsigned k = 0; k < plan.array_count; k++)
            if (plan.arrays[k].size_bytes == 16384 && plan.arrays[k].line_bytes == 128)
                sets = plan.arrays[k].sets;
        assert_int_equal(sets, rows[i].sets);
        fth_sim_plan_fini(&plan);
        fth_gpu_destroy(gpu);
    }
}

/* ---- limits of launches and copies ---- */

static const char small[] = HEAD ".visible .entry k() {\n.shared .b8 s[16];\nret;\n}\n"
                                 ".visible .entry c() .reqnctapercluster 2, 3 { ret; }\n";

/* Launches the kernel with this configuration on a GPU with or without clusters. */
static const struct {
    struct fth_machine_launch launch;
    bool clusters;
    enum fth_status status;
    const char *cause;
} launches[] = {
    {{.kernel = "k", .shared_bytes = 49152 - 16}, false, FTH_OK, ""},
    {{.kernel = "k", .shared_bytes = 49152 - 15},
     false,
     FTH_INVALID,
     "49153 bytes of shared memory exceed the maximum of 49152 per block"},
    {{.kernel = "k", .shared_bytes = UINT64_MAX},
     false,
     FTH_INVALID,
     "15 bytes of shared memory exceed the maximum of 49152 per block"},
    {{.kernel = "k", .cluster = 1}, false, FTH_OK, ""},
    {{.kernel = "k", .cluster = 2, .blocks = 2},
     false,
     FTH_UNSUPPORTED,
     "the GPU does not support clusters of 2 blocks"},
    {{.kernel = "k", .cluster = 16, .blocks = 16}, true, FTH_OK, ""},
    {{.kernel = "k", .cluster = 17, .blocks = 17},
     true,
     FTH_UNSUPPORTED,
     "the GPU does not support clusters of 17 blocks"},
    {{.kernel = "c", .blocks = 2, .blocks_yz = {3}},
     false,
     FTH_UNSUPPORTED,
     "the GPU does not support clusters of 6 blocks"},
    {{.kernel = "c", .blocks = 2, .blocks_yz = {3}}, true, FTH_OK, ""},
    {{.kernel = "k", .threads = 1024}, false, FTH_OK, ""},
    {{.kernel = "k", .threads = 1025},
     false,
     FTH_INVALID,
     "1025 threads per block exceed the maximum of 1024"},
    {{.kernel = "k", .threads = 32, .threads_yz = {8, 4}}, false, FTH_OK, ""},
    {{.kernel = "k", .threads = 32, .threads_yz = {8, 5}},
     false,
     FTH_INVALID,
     "1280 threads per block exceed the maximum of 1024"},
    {{.kernel = "k", .blocks = 65536, .blocks_yz = {65536, 1}},
     false,
     FTH_INVALID,
     "more than 2^32 - 1 blocks"},
    {{.kernel = "k", .blocks = 65536, .blocks_yz = {65535, 2}},
     false,
     FTH_INVALID,
     "more than 2^32 - 1 blocks"},
    {{.kernel = "k", .blocks = UINT32_MAX, .blocks_yz = {UINT32_MAX, UINT32_MAX}},
     false,
     FTH_INVALID,
     "more than 2^32 - 1 blocks"},
    {{.kernel = "x"}, false, FTH_NOT_FOUND, "the module has no kernel of this name"},
};

static void launches_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(launches); i++) {
        struct gpu gpu;
        struct fth_machine_module *module;
        struct fth_error error = NO_ERROR;
        open_gpu(&gpu, launches[i].clusters ? "\"cluster_shared\": {}" : "", "", "");
        assert_int_equal(gpu.ops->load(gpu.machine, "small", small, strlen(small), &module, NULL),
                         FTH_OK);
        struct fth_machine_launch launch = launches[i].launch;
        launch.module = module;
        const enum fth_status status = gpu.ops->launch(gpu.machine, &launch, &error);
        if (status != launches[i].status || strcmp(error.cause, launches[i].cause) != 0)
            fail_msg("row %zu: status %d: %s", i, (int)status, error.cause);
        if (status != FTH_OK) {
            assert_string_equal(error.operation, "launch kernel");
            assert_string_equal(error.argument, launch.kernel);
        }
        /* The machine can still be used. */
        assert_int_equal(gpu.ops->check(gpu.machine, NULL), FTH_OK);
        gpu.ops->unload(gpu.machine, module);
        close_gpu(&gpu);
    }
}

/* A copy of a million bytes at 1 TB/s in each direction takes 2 us, whatever the clock is. */
static void copies_take_the_time_of_the_memory(void **state)
{
    (void)state;
    static const char *const clocks[] = {"\"clock_mhz\": 1000", "\"clock_mhz\": 2000"};
    for (size_t i = 0; i < FTH_COUNT(clocks); i++) {
        struct gpu gpu;
        double ns = 1;
        struct fth_error error = NO_ERROR;
        open_gpu(&gpu,
                 "\"memory\": {\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 1e12, "
                 "\"size_bytes\": 16777216}",
                 clocks[i], "");
        const uint64_t a = allocate(&gpu, 1000000), b = allocate(&gpu, 1000000);
        unsigned char byte = 0;
        assert_int_equal(gpu.ops->fill(gpu.machine, a, 7, 1000000, NULL), FTH_OK);
        assert_int_equal(gpu.ops->mark(gpu.machine, false, NULL), FTH_OK);
        assert_int_equal(gpu.ops->copy(gpu.machine, b, a, 1000000, NULL), FTH_OK);
        assert_int_equal(gpu.ops->mark(gpu.machine, true, NULL), FTH_OK);
        assert_int_equal(gpu.ops->marked_ns(gpu.machine, &ns, NULL), FTH_OK);
        assert_true(fabs(ns - 2000) < 1e-6);
        assert_int_equal(gpu.ops->download(gpu.machine, &byte, b + 999999, 1, NULL), FTH_OK);
        assert_int_equal(byte, 7);
        /* The start of the next launch is after the end of the last one. */
        assert_int_equal(gpu.ops->mark(gpu.machine, false, NULL), FTH_OK);
        assert_int_equal(gpu.ops->marked_ns(gpu.machine, &ns, NULL), FTH_OK);
        assert_true(ns == 0);
        char cause[100];
        assert_int_equal(gpu.ops->copy(gpu.machine, b + 1, a, 1000000, &error), FTH_INVALID);
        snprintf(cause, sizeof cause, "1000000 bytes at 0x%llx are not allocated completely",
                 (unsigned long long)b + 1);
        assert_string_equal(error.cause, cause);
        error = NO_ERROR;
        assert_int_equal(gpu.ops->copy(gpu.machine, b, a + 2, 1000000, &error), FTH_INVALID);
        snprintf(cause, sizeof cause, "1000000 bytes at 0x%llx are not allocated completely",
                 (unsigned long long)a + 2);
        assert_string_equal(error.cause, cause);
        close_gpu(&gpu);
    }
    struct gpu gpu;
    struct fth_error error = NO_ERROR;
    open_gpu(&gpu, "", "", "");
    const uint64_t a = allocate(&gpu, 256), b = allocate(&gpu, 256);
    assert_int_equal(gpu.ops->copy(gpu.machine, b, a, 256, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.cause, "the description has no memory bandwidth");
    close_gpu(&gpu);
}

static void memory_is_accessed_within_allocations(void **state)
{
    (void)state;
    struct gpu gpu;
    unsigned char bytes[257] = {1};
    uint64_t handle = 0, all = 0, left = 0;
    open_gpu(&gpu, MEMORY, "", "");
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &all, NULL), FTH_OK);
    const uint64_t a = allocate(&gpu, 256);
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &left, NULL), FTH_OK);
    assert_int_equal(all - left, 256);
    for (uint64_t size = 256; size <= 257; size++) {
        const enum fth_status expected = size == 256 ? FTH_OK : FTH_INVALID;
        assert_int_equal(gpu.ops->upload(gpu.machine, a, bytes, size, NULL), expected);
        assert_int_equal(gpu.ops->download(gpu.machine, bytes, a, size, NULL), expected);
        assert_int_equal(gpu.ops->fill(gpu.machine, a, 3, size, NULL), expected);
    }
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->texture(gpu.machine, a, 64, &handle, NULL), FTH_OK);
    gpu.ops->texture_free(gpu.machine, handle);
    assert_int_equal(gpu.ops->texture(gpu.machine, a, 65, &handle, NULL), FTH_INVALID);
    assert_int_equal(gpu.ops->texture(gpu.machine, a, (1 << 27) + 1, &handle, &error), FTH_INVALID);
    assert_string_equal(error.cause, "134217729 texels exceed the maximum of 134217728");
    gpu.ops->free(gpu.machine, a + 1); /* not an allocation */
    assert_int_equal(gpu.ops->upload(gpu.machine, a, bytes, 1, NULL), FTH_OK);
    gpu.ops->free(gpu.machine, a);
    assert_int_equal(gpu.ops->upload(gpu.machine, a, bytes, 1, NULL), FTH_INVALID);
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &left, NULL), FTH_OK);
    assert_int_equal(left, all);
    close_gpu(&gpu);
}

/* Frees addresses that are not allocated, while the list of allocations grows and shrinks. */
static void only_allocations_are_freed(void **state)
{
    (void)state;
    enum { COUNT = 70, BYTES = 256 };
    struct gpu gpu;
    uint64_t addresses[COUNT], all = 0, left = 0;
    open_gpu(&gpu, MEMORY, "", "");
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &all, NULL), FTH_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        addresses[i] = allocate(&gpu, BYTES);
        gpu.ops->free(gpu.machine, addresses[i] + 1);
        gpu.ops->free(gpu.machine, 0);
        assert_int_equal(gpu.ops->free_bytes(gpu.machine, &left, NULL), FTH_OK);
        assert_int_equal(all - left, (i + 1) * BYTES);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t address = addresses[i * 11 % COUNT]; /* each one once, out of order */
        gpu.ops->free(gpu.machine, address);
        gpu.ops->free(gpu.machine, address); /* again */
        assert_int_equal(gpu.ops->free_bytes(gpu.machine, &left, NULL), FTH_OK);
        assert_int_equal(all - left, (COUNT - i - 1) * BYTES);
    }
    close_gpu(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_noise),
        cmocka_unit_test(many_warps_reach_but_do_not_exceed_the_bandwidth),
        cmocka_unit_test(allocations_are_limited_to_the_memory_size),
        cmocka_unit_test(a_huge_buffer_needs_host_memory_only_where_it_is_touched),
        cmocka_unit_test(a_fault_makes_the_machine_unusable),
        cmocka_unit_test(idle_sms_do_not_slow_down_the_simulation),
        cmocka_unit_test(every_gpu_of_the_catalogue_can_be_simulated),
        cmocka_unit_test(unusual_descriptions_can_be_simulated),
        cmocka_unit_test(extreme_figures_are_refused),
        cmocka_unit_test(the_log_interrupts_a_launch),
        cmocka_unit_test(caches_have_default_sets),
        cmocka_unit_test(launches_are_checked),
        cmocka_unit_test(copies_take_the_time_of_the_memory),
        cmocka_unit_test(memory_is_accessed_within_allocations),
        cmocka_unit_test(only_allocations_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
