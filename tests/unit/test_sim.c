/* device/sim/: a simulated GPU keeps the times that its description says, and what leaves its
 * caches is exact. Everything is asked through the machine's operations, by kernels that time
 * themselves. */
#include "check.h"
#include "device/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- kernels ---- */

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Walks a chain `warm` times and then `hops` times, and stores the cycles of the latter. Only warp
 * `warp` of block `sm` does anything. LOAD reads %rd1 and writes it. */
#define CHASE(NAME, LOAD)                                                                          \
    ".visible .entry " NAME "(.param .u64 start, .param .u64 warm, .param .u64 hops,\n"            \
    "  .param .u64 out, .param .u64 sm, .param .u64 warp, .param .u64 texture)\n{\n"               \
    "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"                                    \
    "  ld.param.u64 %rd1, [start]; ld.param.u64 %rd2, [warm]; ld.param.u64 %rd3, [hops];\n"        \
    "  ld.param.u64 %rd4, [out]; ld.param.u64 %rd5, [sm]; ld.param.u64 %rd9, [texture];\n"         \
    "  ld.param.u64 %rd10, [warp]; mov.u32 %r3, %tid.x; cvt.u64.u32 %rd11, %r3;\n"                 \
    "  shl.b64 %rd10, %rd10, 5; setp.ne.u64 %p2, %rd10, %rd11; @%p2 exit;\n"                       \
    "  mov.u32 %r1, %smid; cvt.u64.u32 %rd6, %r1; setp.ne.u64 %p1, %rd5, %rd6; @%p1 exit;\n"       \
    "first:\n  setp.eq.u64 %p1, %rd2, 0; @%p1 bra timed;\n"                                        \
    "  " LOAD "\n  sub.u64 %rd2, %rd2, 1; bra first;\n"                                            \
    "timed:\n  add.u64 %rd8, %rd1, 0; mov.u64 %rd7, %clock64;\n"                                   \
    "second:\n  " LOAD "\n  sub.u64 %rd3, %rd3, 1; setp.ne.u64 %p1, %rd3, 0; @%p1 bra second;\n"   \
    "  add.u64 %rd8, %rd1, 0;\n  mov.u64 %rd8, %clock64; sub.u64 %rd7, %rd8, %rd7;\n"              \
    "  st.global.u64 [%rd4], %rd7; ret;\n}\n"

static const char chases[] =
    HEAD ".const .align 256 .b8 bank[65536];\n.extern .shared .align 16 .b8 dynamic[];\n" CHASE(
        "ca", "ld.global.ca.u64 %rd1, [%rd1];") CHASE("cg", "ld.global.cg.u64 %rd1, [%rd1];")
        CHASE("nc", "ld.global.nc.u64 %rd1, [%rd1];")
            CHASE("constant", "ld.const.u64 %rd1, [%rd1];")
                CHASE("texture", "cvt.u32.u64 %r4, %rd1; tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, "
                                 "[%rd9, {%r4}]; cvt.u64.u32 %rd1, %r4;")
                    CHASE("atomic", "atom.global.add.u64 %rd1, [%rd1], 0;");

/* ---- a machine ---- */

struct gpu {
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    uint64_t out;
};

static struct fth_gpu *read_gpu(const char *elements, const char *device, const char *noise)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\"%s%s}, "
             "\"noise\": {%s}, \"elements\": {%s}}",
             *device ? ", " : "", device, noise, elements);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

static void load_chases(struct gpu *gpu)
{
    struct fth_error error = NO_ERROR;
    if (gpu->ops->load(gpu->machine, "chases", chases, strlen(chases), &gpu->module, &error) !=
        FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    if (gpu->ops->alloc(gpu->machine, 4096, &gpu->out, &error) != FTH_OK)
        fail_msg("%s", error.cause);
}

static void open_gpu(struct gpu *gpu, const char *elements, const char *device, const char *noise)
{
    struct fth_gpu *description = read_gpu(elements, device, noise);
    struct fth_error error = NO_ERROR;
    enum fth_status status = fth_sim_machine_create(description, &gpu->ops, &gpu->machine, &error);
    fth_gpu_destroy(description);
    if (status == FTH_OK)
        load_chases(gpu);
    else
        fail_msg("%s", error.cause);
}

static void close_gpu(struct gpu *gpu)
{
    gpu->ops->unload(gpu->machine, gpu->module);
    gpu->ops->close(gpu->machine);
}

struct walk {
    const char *kernel;
    uint64_t start, warm, hops, sm, warp, texture;
    int carveout_percent;
    uint64_t shared_bytes;
    uint32_t blocks; /* 0: up to the SM */
};

static uint64_t launch_walk(struct gpu *gpu, struct walk walk)
{
    const uint64_t arguments[] = {walk.start, walk.warm, walk.hops,   gpu->out,
                                  walk.sm,    walk.warp, walk.texture};
    const struct fth_machine_launch launch = {.module = gpu->module,
                                              .kernel = walk.kernel,
                                              .blocks =
                                                  walk.blocks ? walk.blocks : (uint32_t)walk.sm + 1,
                                              .threads = 32 * ((uint32_t)walk.warp + 1),
                                              .shared_bytes = walk.shared_bytes,
                                              .carveout_percent = walk.carveout_percent,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    struct fth_error error = NO_ERROR;
    if (gpu->ops->launch(gpu->machine, &launch, &error) != FTH_OK ||
        gpu->ops->wait(gpu->machine, 60, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    uint64_t cycles = 0;
    if (gpu->ops->download(gpu->machine, &cycles, gpu->out, sizeof cycles, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return cycles;
}

/* Cycles a hop, what stands around the loop taken off. */
static double cycles_per_hop(struct gpu *gpu, struct walk walk)
{
    uint64_t hops = walk.hops;
    double once = (double)launch_walk(gpu, walk);
    walk.hops = 2 * hops;
    return ((double)launch_walk(gpu, walk) - once) / (double)hops;
}

static uint64_t allocate(struct gpu *gpu, uint64_t bytes)
{
    uint64_t address;
    struct fth_error error = NO_ERROR;
    if (gpu->ops->alloc(gpu->machine, bytes, &address, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return address;
}

/* A chain of `count` elements `stride` apart at the address. */
static void write_chain(struct gpu *gpu, uint64_t address, uint64_t count, uint64_t stride)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next = address + (i + 1) % count * stride;
        struct fth_error error = NO_ERROR;
        if (gpu->ops->upload(gpu->machine, address + i * stride, &next, sizeof next, &error) !=
            FTH_OK)
            fail_msg("%s", error.cause);
    }
}

static uint64_t make_chain(struct gpu *gpu, uint64_t count, uint64_t stride)
{
    uint64_t address = allocate(gpu, count * stride);
    write_chain(gpu, address, count, stride);
    return address;
}

static uint64_t constant_bank(struct gpu *gpu)
{
    uint64_t address, bytes;
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu->ops->symbol(gpu->machine, gpu->module, "bank", &address, &bytes, &error),
                     FTH_OK);
    assert_int_equal(bytes, 65536);
    return address;
}

#define ASSERT_NEAR(value, expected)                                                               \
    do {                                                                                           \
        double value_ = (value), expected_ = (expected);                                           \
        if (fabs(value_ - expected_) > 0.011)                                                      \
            fail_msg("%s is %g, not %g", #value, value_, expected_);                               \
    } while (0)

/* An instruction that waits for a load, and behind it sub, setp and bra, each of which waits for
 * the one before. */
#define LOOP_END (1 + 4 + 4 + 1)

#define L1_16K                                                                                     \
    "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sector_bytes\": 32, "                  \
    "\"latency_cycles\": 33.4}, "
#define L2_64K "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"latency_cycles\": 200.5}, "
#define MEMORY "\"memory\": {\"latency_cycles\": 500.25, \"size_bytes\": 1073741824}"

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

static void a_cache_holds_its_size_and_no_line_more(void **state)
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
        uint64_t fits = make_chain(&gpu, 128, 128), over = make_chain(&gpu, 129, 128);
        ASSERT_NEAR(
            cycles_per_hop(
                &gpu,
                (struct walk){.kernel = "ca", .start = fits, .warm = 128, .hops = 1280, .sm = 1}),
            30);
        double beyond = cycles_per_hop(
            &gpu,
            (struct walk){.kernel = "ca", .start = over, .warm = 1290, .hops = 1290, .sm = 1});
        assert_true(beyond > 30.5);
        close_gpu(&gpu);
    }
}

static void a_miss_fetches_its_sectors(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu,
             "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sector_bytes\": 32, "
             "\"latency_cycles\": 30}, \"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, "
             "\"sector_bytes\": 32, \"fill_bytes\": 64, \"latency_cycles\": 200}, "
             "\"memory\": {\"latency_cycles\": 600}",
             "", "");
    /* Cold, 16 bytes a hop: every second one begins a sector, every fourth comes from memory. */
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
    /* A texture's elements are indices of texels: a conversion before the fetch, and one behind it
     * that waits for it, so that the end of the loop comes on top. */
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

/* Two warps, one after the other with a barrier between: the first fills, the second looks. */
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

static double look_after(struct gpu *gpu, const char *look, uint64_t start, uint64_t count,
                         uint64_t second)
{
    char text[sizeof pairs + 8];
    const char *at = strstr(pairs, "LOOK");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - pairs), pairs, look, at + 4);
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

static void what_is_one_array_is_filled_by_either_name(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *readonly, *look;
        uint64_t second;
        double cycles;
    } rows[] = {
        {"\"shared_with\": [\"readonly\"]", "\"shared_with\": [\"l1\"]", "nc", 0, 40},
        {"\"per_sm\": 1", "\"per_sm\": 1", "nc", 0, 200},
        {"\"per_sm\": 1", "\"per_sm\": 1", "ca", 1, 30},
        /* Two instances: warps 0, 2, 4 use the first. */
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
        double cycles = look_after(&gpu, rows[i].look, start, 100, rows[i].second);
        if (fabs(cycles - rows[i].cycles) > 0.2)
            fail_msg("row %zu: %g, not %g", i, cycles, rows[i].cycles);
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
        for (uint64_t over = 0; over < 2; over++) {
            uint64_t count = rows[i].l1 / 128 + over;
            write_chain(&gpu, start, count, 128);
            double cycles = cycles_per_hop(&gpu, (struct walk){.kernel = "ca",
                                                               .start = start,
                                                               .warm = count * 2,
                                                               .hops = count * 2,
                                                               .carveout_percent = rows[i].percent,
                                                               .shared_bytes = rows[i].shared});
            if (over ? cycles < 30.5 : cycles != 30)
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
    assert_contains(error.cause, "98305 bytes of shared memory, and a block can have 98304");
    close_gpu(&gpu);
}

static void translation_costs_where_l1_misses(void **state)
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
        /* A line further in each page, so that they do not fall into one set. */
        write_chain(&gpu, start, rows[i].pages, (2 << 20) + 128);
        ASSERT_NEAR(cycles_per_hop(&gpu, (struct walk){.kernel = "ca",
                                                       .start = start,
                                                       .warm = 4 * rows[i].pages,
                                                       .hops = 1000}),
                    rows[i].cycles);
    }
    close_gpu(&gpu);
}

/* 64 hops of so many cycles, and what stands around the loop. */
static void assert_hops(uint64_t cycles, uint64_t each)
{
    if (cycles < 64 * each || cycles > 64 * each + 100)
        fail_msg("%llu cycles for 64 hops, not of %llu", (unsigned long long)cycles,
                 (unsigned long long)each);
}

static void partitions_are_near_and_far(void **state)
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
    /* SM 0 reads what is at home with it, and what is not. */
    uint64_t first =
        launch_walk(&gpu, (struct walk){.kernel = "cg", .start = near, .warm = 0, .hops = 64});
    assert_hops(first, 500);
    first = launch_walk(&gpu, (struct walk){.kernel = "cg", .start = far, .warm = 0, .hops = 64});
    assert_hops(first, 640);
    /* SM 1 finds the first where SM 0 left it, and the second at its own home. */
    first = launch_walk(
        &gpu, (struct walk){.kernel = "cg", .start = near, .warm = 0, .hops = 64, .sm = 1});
    assert_hops(first, 350);
    first = launch_walk(
        &gpu, (struct walk){.kernel = "cg", .start = far, .warm = 0, .hops = 64, .sm = 1});
    assert_hops(first, 200);
    /* By now both have copies. */
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

/* ---- shared memory, the clock ---- */

/* Lane i reads shared memory at i * stride modulo 32 KiB, again and again. */
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

static void banks_conflict(void **state)
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

static void run_alone(struct gpu *gpu, const char *body, uint64_t argument, uint64_t *values,
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

static void the_clock_waits_for_what_is_used_before_it(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, "\"l2\": {\"latency_cycles\": 200}, \"memory\": {\"latency_cycles\": 500}",
             "\"clock_mhz\": 2000", "");
    uint64_t data = allocate(&gpu, 4096), v[8];
    run_alone(&gpu,
              "add.u64 %rd1, %rd1, 0; add.u64 %rd3, %rd1, 0; mov.u64 %rd3, %clock64;\n"
              "ld.global.u64 %rd4, [%rd1];\n" /* in flight */
              "mov.u64 %rd5, %clock64;\n"
              "add.u64 %rd6, %rd4, 1;\n" /* waits */
              "mov.u64 %rd7, %clock64;\n"
              "ld.global.u64 %rd8, [%rd1+512]; setp.eq.u64 %p1, %rd8, 0;\n"
              "@%p1 bra there;\nthere: mov.u64 %rd9, %clock64;\n" /* the guard waits */
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
    assert_int_equal(v[5], (v[4] + 1) / 2); /* at 2 GHz */
    close_gpu(&gpu);
}

static void code_that_does_not_fit_is_slower(void **state)
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
        struct fth_machine_module *module;
        struct fth_error error = NO_ERROR;
        if (gpu.ops->load(gpu.machine, "k", text.data, text.size, &module, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        const struct fth_machine_launch launch = {.module = module,
                                                  .kernel = "k",
                                                  .blocks = 1,
                                                  .threads = 32,
                                                  .carveout_percent = -1,
                                                  .arguments = &gpu.out,
                                                  .argument_bytes = 8};
        assert_int_equal(gpu.ops->launch(gpu.machine, &launch, &error), FTH_OK);
        uint64_t cycles;
        assert_int_equal(gpu.ops->download(gpu.machine, &cycles, gpu.out, 8, &error), FTH_OK);
        /* While the loop's branch waits for its predicate, fetch gets ahead by two results. */
        double expected = (rows[i].count + 1) * rows[i].cycles;
        if ((double)cycles > 1.02 * expected || (double)cycles < 0.98 * expected - 8)
            fail_msg("%u instructions: %g cycles each", rows[i].count,
                     (double)cycles / (rows[i].count + 1));
        gpu.ops->unload(gpu.machine, module);
        fth_buffer_fini(&text);
    }
    close_gpu(&gpu);
}

static void local_memory_is_kept_where_l1_keeps_it(void **state)
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
        run_alone(&gpu,
                  ".local .align 8 .u64 own; mov.u64 %rd3, own; st.local.u64 [%rd3], %rd3;\n"
                  "ld.local.u64 %rd3, [%rd3]; add.u64 %rd4, %rd3, 0; mov.u64 %rd4, %clock64;\n"
                  "ld.local.u64 %rd3, [%rd3]; add.u64 %rd5, %rd3, 0; mov.u64 %rd5, %clock64;\n"
                  "sub.u64 %rd5, %rd5, %rd4; st.global.u64 [%rd2], %rd5;",
                  0, &cycles, 1);
        /* Two words of a lane lie in two lines, so there are two requests, a cycle apart. */
        assert_int_equal(cycles, (uint64_t)rows[i].cycles + 1 + 2);
        close_gpu(&gpu);
    }
}

/* Straight-line code of 6 KiB drives constants out of an array that they share. */
static void code_and_constants_share_an_array(void **state)
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
        struct fth_machine_module *module;
        struct fth_error error = NO_ERROR;
        if (gpu.ops->load(gpu.machine, "k", text.data, text.size, &module, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        const struct fth_machine_launch launch = {.module = module,
                                                  .kernel = "k",
                                                  .blocks = 1,
                                                  .threads = 1,
                                                  .carveout_percent = -1,
                                                  .arguments = &gpu.out,
                                                  .argument_bytes = 8};
        assert_int_equal(gpu.ops->launch(gpu.machine, &launch, &error), FTH_OK);
        uint64_t cycles;
        assert_int_equal(gpu.ops->download(gpu.machine, &cycles, gpu.out, 8, &error), FTH_OK);
        assert_in_range(cycles, shared ? 301 : 101, shared ? 320 : 120);
        fth_buffer_fini(&text);
        close_gpu(&gpu);
    }
}

/* ---- noise ---- */

static void noise_repeats_with_its_seed(void **state)
{
    (void)state;
    uint64_t seen[4];
    static const char *const noises[] = {
        "\"seed\": 1, \"jitter_cycles\": 3, \"outlier_rate\": 0.01",
        "\"seed\": 1, \"jitter_cycles\": 3, \"outlier_rate\": 0.01",
        "\"seed\": 2, \"jitter_cycles\": 3, \"outlier_rate\": 0.01", ""};
    for (size_t i = 0; i < 4; i++) {
        struct gpu gpu;
        open_gpu(&gpu, L1_16K L2_64K MEMORY, "\"sms\": 4", noises[i]);
        uint64_t start = make_chain(&gpu, 64, 128);
        seen[i] = launch_walk(
            &gpu, (struct walk){.kernel = "ca", .start = start, .warm = 64, .hops = 10000});
        close_gpu(&gpu);
    }
    assert_int_equal(seen[0], seen[1]);
    assert_int_not_equal(seen[0], seen[2]);
    assert_true(seen[3] >= 334000 && seen[3] < 334020);
    /* One in a hundred takes ten times as long: 9 % more. */
    double more = (double)seen[0] / (double)seen[3];
    assert_true(more > 1.07 && more < 1.11);
}

/* ---- bandwidth ---- */

/* Every thread reads `count` times 4 bytes, a grid apart, and stores the cycles of the block. */
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

static void many_warps_reach_the_bandwidth_and_no_more(void **state)
{
    (void)state;
    /* 64 bytes a cycle from memory at 1 GHz. */
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
        fail_msg("%g bytes a cycle", rate);
    /* A chain through the same memory does not notice. */
    uint64_t start = make_chain(&gpu, 4096, 128);
    ASSERT_NEAR(cycles_per_hop(
                    &gpu, (struct walk){.kernel = "cg", .start = start, .warm = 0, .hops = 4096}),
                500);
    gpu.ops->unload(gpu.machine, module);
    close_gpu(&gpu);
}

/* ---- memory and faults ---- */

static void memory_ends_somewhere(void **state)
{
    (void)state;
    struct gpu gpu;
    open_gpu(&gpu, "\"memory\": {\"size_bytes\": 1048576}", "", "");
    uint64_t address, bytes;
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &bytes, &error), FTH_OK);
    assert_int_equal(bytes, 1048576 - 4096);
    assert_int_equal(gpu.ops->alloc(gpu.machine, 1048576, &address, &error), FTH_NO_MEMORY);
    assert_contains(error.cause, "1 MiB asked for, 1020 KiB free");
    error = NO_ERROR;
    assert_int_equal(gpu.ops->alloc(gpu.machine, 524288, &address, &error), FTH_OK);
    gpu.ops->free(gpu.machine, address);
    assert_int_equal(gpu.ops->free_bytes(gpu.machine, &bytes, &error), FTH_OK);
    assert_int_equal(bytes, 1048576 - 4096);
    assert_int_equal(gpu.ops->upload(gpu.machine, gpu.out + 4090, &bytes, 8, &error), FTH_INVALID);
    close_gpu(&gpu);
}

static void a_huge_buffer_takes_what_is_touched(void **state)
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

static void faults_end_the_machine(void **state)
{
    (void)state;
    static const struct {
        const char *body, *cause;
    } rows[] = {
        {"again: bra again;", "it hangs"},
        {"ld.global.u64 %rd3, [%rd1+4096]; st.global.u64 [%rd2], %rd3;", "read of 8 bytes at 0x"},
        {"trap;", "trap"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct gpu gpu;
        open_gpu(&gpu, "", "", "");
        fth_sim_set_limit(gpu.machine, 100000);
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

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The fastest of several launches over all SMs, of which one does something. */
static double launch_seconds(const char *device, uint64_t blocks)
{
    struct gpu gpu;
    open_gpu(&gpu, L1_16K "\"instruction_l0\": {}, \"instruction_l1\": {}, " L2_64K MEMORY, device,
             "");
    uint64_t start = make_chain(&gpu, 64, 128);
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double begin = seconds();
        launch_walk(&gpu, (struct walk){.kernel = "ca",
                                        .start = start,
                                        .warm = 64,
                                        .hops = 10000,
                                        .sm = 3,
                                        .blocks = (uint32_t)blocks});
        double taken = seconds() - begin;
        best = taken < best ? taken : best;
    }
    close_gpu(&gpu);
    return best;
}

static void a_large_gpu_is_as_fast_as_a_small_one(void **state)
{
    (void)state;
    double small = launch_seconds("\"sms\": 4", 4), large = launch_seconds("\"sms\": 132", 132);
    if (large > 2 * small + 1e-3)
        fail_msg("%g s with 132 SMs, %g s with 4", large, small);
}

static void every_description_makes_a_gpu(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_catalogue_open(&catalogue, &error), FTH_OK);
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        const char *name = fth_catalogue_name(catalogue, i);
        struct fth_gpu *description = NULL, *told = NULL;
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
        for (size_t k = 0; k < FTH_COUNT(kernels); k++) {
            double cycles = cycles_per_hop(&gpu, (struct walk){.kernel = kernels[k],
                                                               .start = k == 3 ? bank : start,
                                                               .warm = 64,
                                                               .hops = 160,
                                                               .sm = 1});
            if (cycles < 8 || cycles > 1000)
                fail_msg("%s: %g cycles a hop of %s", name, cycles, kernels[k]);
        }
        struct fth_machine_facts facts;
        gpu.ops->facts(gpu.machine, &facts);
        assert_int_equal(facts.sms, fth_gpu_number(description, "device", "sms", 0));
        assert_int_equal(fth_gpu_create(&told, &error), FTH_OK);
        assert_int_equal(gpu.ops->describe(gpu.machine, told, &error), FTH_OK);
        assert_int_equal(fth_gpu_validate(told, &error), FTH_OK);
        assert_string_equal(fth_gpu_text(told, "device", "backend"), "simulated");
        assert_null(fth_gpu_attribute(told, "l2", "latency_cycles"));
        assert_null(fth_gpu_attribute(told, "l1", "size_bytes"));
        fth_gpu_destroy(told);
        fth_gpu_destroy(description);
        close_gpu(&gpu);
    }
    fth_catalogue_close(catalogue);
}

static void odd_descriptions_make_a_gpu_too(void **state)
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
        "\"shared\": {\"banks\": 5000, \"bank_bytes\": 3, \"carveout_bytes\": [0]}",
        "\"memory\": {\"latency_cycles\": 0.001, \"read_bytes_per_s\": 1}",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hop_takes_the_latency_of_its_level),
        cmocka_unit_test(a_cache_holds_its_size_and_no_line_more),
        cmocka_unit_test(a_miss_fetches_its_sectors),
        cmocka_unit_test(each_path_has_its_latency),
        cmocka_unit_test(what_is_one_array_is_filled_by_either_name),
        cmocka_unit_test(the_carve_out_shrinks_l1),
        cmocka_unit_test(translation_costs_where_l1_misses),
        cmocka_unit_test(partitions_are_near_and_far),
        cmocka_unit_test(banks_conflict),
        cmocka_unit_test(the_clock_waits_for_what_is_used_before_it),
        cmocka_unit_test(code_that_does_not_fit_is_slower),
        cmocka_unit_test(local_memory_is_kept_where_l1_keeps_it),
        cmocka_unit_test(code_and_constants_share_an_array),
        cmocka_unit_test(noise_repeats_with_its_seed),
        cmocka_unit_test(many_warps_reach_the_bandwidth_and_no_more),
        cmocka_unit_test(memory_ends_somewhere),
        cmocka_unit_test(a_huge_buffer_takes_what_is_touched),
        cmocka_unit_test(faults_end_the_machine),
        cmocka_unit_test(a_large_gpu_is_as_fast_as_a_small_one),
        cmocka_unit_test(every_description_makes_a_gpu),
        cmocka_unit_test(odd_descriptions_make_a_gpu_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
