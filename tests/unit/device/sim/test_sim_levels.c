/* Tests of simulated devices of other vendors than NVIDIA (device/sim/): AMD's caches, a cache
 * behind the L2, caches that groups of SMs share, coarse clocks, and chains in pseudo-random order
 * through all levels. */
#include "described_device.h"
#include "device/simulated.h"

/* Eight compute units, two of which share a scalar L1, and four an L2. */
#define AMD                                                                                        \
    "\"vector_l1\": {\"size_bytes\": 16384, \"line_bytes\": 64, \"sets\": 64, \"ways\": 4, "       \
    "\"latency_cycles\": 116.5, \"scope\": \"sm\"}, "                                              \
    "\"scalar_l1\": {\"size_bytes\": 16384, \"line_bytes\": 64, \"sets\": 64, \"ways\": 4, "       \
    "\"latency_cycles\": 50, \"scope\": \"group\", \"sms_per_instance\": 2}, "                     \
    "\"lds\": {\"size_bytes\": 65536, \"latency_cycles\": 64, \"scope\": \"sm\"}, "                \
    "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"sets\": 32, \"ways\": 16, "            \
    "\"latency_cycles\": 240, \"scope\": \"group\", \"instances\": 2, \"sms_per_instance\": 4}, "  \
    "\"l3\": {\"size_bytes\": 262144, \"line_bytes\": 64, \"sets\": 256, \"ways\": 16, "           \
    "\"latency_cycles\": 480, \"scope\": \"gpu\"}, "                                               \
    "\"memory\": {\"size_bytes\": 8589934592, \"latency_cycles\": 800, \"scope\": \"gpu\"}"
#define AMD_DEVICE "\"vendor\": \"AMD\", \"kind\": \"gpu\", \"sms\": 8, \"warp_size\": 64"

static void plan_init(struct fth_sim_plan *plan, const char *elements, const char *device)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = read_gpu(elements, device, "");
    if (fth_sim_plan_init(plan, gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
}

/* ---- levels ---- */

struct level_row {
    const char *kernel;
    uint64_t bytes;
    double cycles;
};

/* Walks chains of these sizes, with one element per 128 bytes. */
static void check_levels(const char *elements, const struct level_row *rows, size_t count)
{
    struct gpu gpu;
    open_gpu(&gpu, elements, AMD_DEVICE, "");
    for (size_t i = 0; i < count; i++) {
        const bool constant = strcmp(rows[i].kernel, "constant") == 0;
        const uint64_t elements_count = rows[i].bytes / 128;
        uint64_t start = constant ? constant_bank(&gpu) : make_chain(&gpu, elements_count, 128);
        if (constant)
            write_chain(&gpu, start, elements_count, 128);
        const double cycles = cycles_per_hop(&gpu, (struct walk){.kernel = rows[i].kernel,
                                                                 .start = start,
                                                                 .warm = 2 * elements_count,
                                                                 .hops = 2 * elements_count});
        if (fabs(cycles - rows[i].cycles) > 0.011)
            fail_msg("%s, %llu bytes: %g cycles", rows[i].kernel, (unsigned long long)rows[i].bytes,
                     cycles);
    }
    close_gpu(&gpu);
}

static void a_hop_takes_the_latency_of_its_level(void **state)
{
    (void)state;
    /* Lines of 64 bytes and a stride of 128 use every second set of the L1s and of the L3. */
    static const struct level_row rows[] = {
        {"ca", 16384 / 2, 116.5}, {"ca", 65536, 240},           {"ca", 131072, 480},
        {"ca", 524288, 800},      {"cg", 16384 / 2, 240},       {"cg", 131072, 480},
        {"cg", 524288, 800},      {"constant", 16384 / 2, 50},  {"constant", 65536, 240},
        {"atomic", 65536, 240},   {"atomic", 131072 + 128, 480}};
    check_levels(AMD, rows, FTH_COUNT(rows));
}

/* With a vector L1 and an L1, that L1 is between the caches of the SM and the L2. */
static void an_l1_can_be_behind_a_vector_l1(void **state)
{
    (void)state;
    static const struct level_row rows[] = {
        {"ca", 8192, 100},      {"ca", 16384, 150},       {"ca", 32768, 150},
        {"ca", 65536, 240},     {"ca", 131072, 500},      {"cg", 8192, 240},
        {"constant", 4096, 50}, {"constant", 32768, 150}, {"constant", 65536, 240}};
    check_levels("\"vector_l1\": {\"size_bytes\": 8192, \"line_bytes\": 128, "
                 "\"latency_cycles\": 100}, "
                 "\"scalar_l1\": {\"size_bytes\": 4096, \"line_bytes\": 128, "
                 "\"latency_cycles\": 50}, "
                 "\"l1\": {\"size_bytes\": 32768, \"line_bytes\": 128, \"latency_cycles\": 150, "
                 "\"scope\": \"group\", \"sms_per_instance\": 4}, "
                 "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"latency_cycles\": 240}, "
                 "\"memory\": {\"latency_cycles\": 500}",
                 rows, FTH_COUNT(rows));
}

/* A store evicts the line from both L1s, so that the next load comes from the L2. */
static void stores_evict_lines_of_an_l1_behind_another(void **state)
{
    (void)state;
    static struct fth_sim_timing timing;
    struct fth_sim_plan plan;
    plan_init(&plan, "\"vector_l1\": {}, \"l1\": {}, \"l2\": {\"latency_cycles\": 240}", "");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    const uint64_t address = 4096;
    struct fth_ptx_access access = {
        .space = FTH_SPACE_GLOBAL, .mask = 1, .bytes = 4, .addresses = &address};
    static const struct {
        enum fth_ptx_access_kind kind;
        int64_t latency;
    } rows[] = {{FTH_ACCESS_READ, 450000},
                {FTH_ACCESS_READ, 32000},
                {FTH_ACCESS_WRITE, 240000},
                {FTH_ACCESS_READ, 240000},
                {FTH_ACCESS_READ, 32000}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        access.kind = rows[i].kind;
        const int64_t time = (int64_t)(i + 1) * 1000000000;
        assert_int_equal(fth_sim_path_latency(&timing, &access, time), rows[i].latency);
    }
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

/* ---- L2s of groups of SMs, and the L3 ---- */

enum { READ, WRITE, ATOMIC };

/* SMs 0 to 3 have one L2, SMs 4 to 7 another one. */
static void groups_have_their_own_l2(void **state)
{
    (void)state;
    static const struct {
        int kind;
        uint32_t sm;
        uint64_t address;
        int64_t latency;
    } rows[] = {
        {READ, 0, 0, 800000},       {READ, 0, 0, 240000},         {READ, 3, 0, 240000},
        {READ, 4, 0, 480000},                              /* in the L3, but not in its own L2 */
        {READ, 7, 0, 240000},       {READ, 0, 64, 240000}, /* a line of the L2 is two of the L3 */
        {READ, 0, 4096, 800000},    {READ, 4, 4096 + 64, 480000}, {WRITE, 0, 8192, 240000},
        {READ, 4, 8192, 800000}, /* a write enters the L3, but a read needs all of the line */
        {READ, 0, 8192, 480000},    {WRITE, 4, 8192, 240000}, /* evicts the line from the other L2
                                                               */
        {READ, 0, 8192, 480000},    {ATOMIC, 4, 12288, 800000},   {ATOMIC, 4, 12288, 240000},
        {ATOMIC, 0, 12288, 480000}, {READ, 4, 12288, 480000},
    };
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan, AMD, AMD_DEVICE);
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    assert_null(l2.partitions[1]); /* not used yet */
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const int64_t latency =
            rows[i].kind == READ    ? fth_sim_l2_read(&l2, rows[i].sm, rows[i].address, 4, 0)
            : rows[i].kind == WRITE ? fth_sim_l2_write(&l2, rows[i].sm, rows[i].address, 4, NULL, 0)
                                    : fth_sim_l2_atomic(&l2, rows[i].sm, rows[i].address, 4, 0);
        if (latency != rows[i].latency)
            fail_msg("row %zu: %lld", i, (long long)latency);
    }
    assert_non_null(l2.partitions[1]);
    /* A discarded line is nowhere; without its own sweep, another program leaves the L3 alone. */
    fth_sim_l2_discard(&l2, 0, 128);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 4, 0), 800000);
    fth_sim_l2_sweep(&l2, 65536);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 4, 0), 480000);
    fth_sim_l2_sweep(&l2, 262144);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 4, 0), 800000);
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* The L3 can be that of a group, too, and limits the bandwidth of what it serves. */
static void an_l3_has_groups_and_a_bandwidth(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan,
              "\"l2\": {\"size_bytes\": 8192, \"line_bytes\": 64, \"scope\": \"sm\", "
              "\"latency_cycles\": 20}, "
              "\"l3\": {\"size_bytes\": 65536, \"line_bytes\": 64, \"latency_cycles\": 80, "
              "\"instances\": 2, \"read_bytes_per_s\": 1e9}, \"memory\": {\"latency_cycles\": 300}",
              "\"vendor\": \"Intel\", \"kind\": \"cpu\", \"sms\": 4, \"clock_mhz\": 1000");
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    fth_sim_l2_launch(&l2, 1);
    assert_int_equal(plan.partitions, 4);
    assert_int_equal(l2.l3_count, 2);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 4, 0), 300000);
    assert_int_equal(fth_sim_l2_read(&l2, 1, 0, 4, 0), 80000);
    assert_int_equal(fth_sim_l2_read(&l2, 2, 0, 4, 0), 300000);
    /* 16 lines of 64 bytes at a byte per cycle. */
    int64_t latency = 0;
    for (uint64_t i = 0; i < 16; i++)
        latency = fth_sim_l2_read(&l2, 3, 4096 + i * 64, 4, 10000000);
    assert_true(latency > 300000 + 500000);
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* ---- parameters ---- */

static void parameters_follow_from_the_description(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan, AMD, AMD_DEVICE);
    const struct fth_sim_level *levels = plan.levels;
    assert_string_equal(levels[FTH_SIM_L1].name, "vector_l1");
    assert_string_equal(levels[FTH_SIM_CONSTANT_L1].name, "scalar_l1");
    assert_int_equal(plan.shared_bytes, 65536);
    assert_int_equal(plan.shared_latency, 64000);
    assert_int_equal(fth_sim_owner_count(&plan.arrays[levels[FTH_SIM_CONSTANT_L1].array], 8), 4);
    assert_int_equal(plan.partitions, 2);
    for (uint32_t sm = 0; sm < 8; sm++)
        assert_int_equal(plan.near_partitions[sm], sm / 4);
    /* LDS takes nothing from the vector L1. */
    assert_int_equal(fth_sim_plan_l1_bytes(&plan, 100, 65536), 16384);
    assert_int_equal(fth_sim_plan_l1_bytes(&plan, -1, 0), 16384);
    fth_sim_plan_fini(&plan);
    /* Defaults: an L3 halfway between L2 and memory, and memory behind an L3 that is slow. */
    plan_init(&plan, "\"l3\": {}", "");
    assert_int_equal(plan.l3.size_bytes, 32 << 20);
    assert_int_equal(plan.l3.line_bytes, 64);
    assert_int_equal(plan.l3.ways, 16);
    assert_int_equal(plan.l3_latency, (220000 + 450000) / 2);
    fth_sim_plan_fini(&plan);
    plan_init(&plan, "\"l3\": {\"latency_cycles\": 700}", "");
    assert_int_equal(plan.memory_latency, 800000);
    fth_sim_plan_fini(&plan);
}

/* The SMs of a group share a scalar L1, and it is empty in the next launch. */
static void a_group_shares_a_scalar_l1(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_caches caches;
    plan_init(&plan, AMD, AMD_DEVICE);
    assert_int_equal(fth_sim_caches_init(&caches, &plan, NULL), FTH_OK);
    fth_sim_caches_launch(&caches, 16384);
    struct fth_cache *first = fth_sim_caches_get(&caches, FTH_SIM_CONSTANT_L1, 0, 0);
    fth_cache_access(first, 128, 4, FTH_CACHE_READ, NULL);
    assert_ptr_equal(first, fth_sim_caches_get(&caches, FTH_SIM_CONSTANT_L1, 1, 0));
    assert_ptr_not_equal(first, fth_sim_caches_get(&caches, FTH_SIM_CONSTANT_L1, 2, 0));
    assert_int_equal(fth_cache_probe(first, 128, 4), FTH_CACHE_HIT);
    fth_sim_caches_launch(&caches, 16384);
    first = fth_sim_caches_get(&caches, FTH_SIM_CONSTANT_L1, 1, 0);
    assert_int_not_equal(fth_cache_probe(first, 128, 4), FTH_CACHE_HIT);
    fth_sim_caches_fini(&caches);
    fth_sim_plan_fini(&plan);
}

/* ---- chains with a seed, through a device ---- */

#define DESCRIPTION(ELEMENTS, DEVICE)                                                              \
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", " DEVICE "}, "                \
    "\"elements\": {" ELEMENTS "}}"

static struct fth_samples measure_chain(struct fth_device *device, enum fth_step_kind kind,
                                        struct fth_chain chain, bool warm)
{
    struct fth_request request = {.sm = FTH_ANY_SM, .carveout_percent = -1, .alone = true};
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    if (warm)
        request.chase.steps[request.chase.step_count++] = (struct fth_step){
            .kind = FTH_STEP_WALK, .path = FTH_PATH_CA, .chain = chain, .passes = 2};
    request.chase.steps[request.chase.step_count++] =
        (struct fth_step){.kind = kind, .path = FTH_PATH_CA, .chain = chain, .passes = 1};
    if (fth_device_measure(device, &request, 1, &samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(samples.status, FTH_OK);
    return samples;
}

/* Passes of a seeded chain inside each level take the level's latency per hop. The kernel's own
 * data take a little space in the L2 and the L3. */
static void seeded_chains_find_the_levels(void **state)
{
    (void)state;
    static const struct {
        uint64_t stride, bytes;
        double cycles;
    } rows[] = {{64, 4096, 116.5},  {64, 16384, 116.5}, {128, 61440, 240},
                {128, 131072, 480}, {64, 245760, 480},  {64, 1048576, 800}};
    struct fth_device *device = open_simulated(DESCRIPTION(AMD, AMD_DEVICE));
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_chain chain = {
            .stride_bytes = rows[i].stride, .count = rows[i].bytes / rows[i].stride, .seed = i + 1};
        struct fth_samples samples = measure_chain(device, FTH_STEP_TIME_PASS, chain, true);
        assert_int_equal(samples.count, 1);
        const double cycles = (double)samples.cycles[0] / (double)chain.count;
        /* A few hits in the cache before remain if the chain is not much larger than that. */
        if (cycles > rows[i].cycles + 1 || cycles < rows[i].cycles * 0.9)
            fail_msg("%llu bytes: %g cycles", (unsigned long long)rows[i].bytes, cycles);
        fth_samples_fini(&samples);
    }
    fth_device_close(device);
}

/* Four elements share a line. The first pass misses where its pseudo-random order first visits a
 * line, and only there. */
static void hops_follow_the_order_of_the_seed(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static uint8_t missed[3][COUNT];
    static const uint64_t seeds[3] = {5, 6, 5};
    struct fth_device *device = open_simulated(DESCRIPTION(AMD, AMD_DEVICE));
    for (size_t k = 0; k < FTH_COUNT(seeds); k++) {
        const struct fth_chain chain = {.stride_bytes = 16, .count = COUNT, .seed = seeds[k]};
        uint32_t order[COUNT];
        bool visited[COUNT] = {false};
        struct fth_samples samples = measure_chain(device, FTH_STEP_TIME_HOPS, chain, false);
        assert_int_equal(samples.count, COUNT);
        fth_chain_order(&chain, order);
        for (size_t i = 0; i < COUNT; i++) {
            missed[k][i] = samples.cycles[i] > 200;
            if (missed[k][i] == visited[order[i] / 4])
                fail_msg("seed %llu, hop %zu: %u cycles", (unsigned long long)seeds[k], i,
                         samples.cycles[i]);
            visited[order[i] / 4] = true;
        }
        fth_samples_fini(&samples);
    }
    assert_memory_not_equal(missed[0], missed[1], COUNT);
    assert_memory_equal(missed[0], missed[2], COUNT);
    fth_device_close(device);
}

/* A chain of two elements more than a cache of four sets holds: in memory order, all hops in the
 * two sets with too many lines miss; in pseudo-random order, the same ones do, but at other times.
 */
static void seeds_change_when_few_sets_miss(void **state)
{
    (void)state;
    enum { LINES = 64, COUNT = LINES + 2 };
    uint32_t cycles[2][COUNT];
    struct fth_device *device = open_simulated(
        DESCRIPTION("\"l1\": {\"size_bytes\": 4096, \"line_bytes\": 64, \"sets\": 4, "
                    "\"ways\": 16, \"latency_cycles\": 4}, \"l2\": {\"latency_cycles\": 40}, "
                    "\"memory\": {\"latency_cycles\": 200}",
                    "\"vendor\": \"ARM\", \"kind\": \"cpu\", \"sms\": 2"));
    for (size_t k = 0; k < 2; k++) {
        const struct fth_chain chain = {.stride_bytes = 64, .count = COUNT, .seed = k + 1};
        struct fth_samples samples = measure_chain(device, FTH_STEP_TIME_HOPS, chain, true);
        size_t misses = 0;
        assert_int_equal(samples.count, COUNT);
        memcpy(cycles[k], samples.cycles, sizeof cycles[k]);
        for (size_t i = 0; i < COUNT; i++)
            misses += samples.cycles[i] > 35;
        assert_int_equal(misses, 2 * 17);
        fth_samples_fini(&samples);
    }
    assert_memory_not_equal(cycles[0], cycles[1], sizeof cycles[0]);
    fth_device_close(device);
}

/* ---- the clock and the limits ---- */

static void a_coarse_clock_advances_in_steps(void **state)
{
    (void)state;
    struct fth_device *device = open_simulated(
        DESCRIPTION(AMD, AMD_DEVICE ", \"clock_mhz\": 2000, \"clock_resolution_cycles\": 25"));
    const struct fth_chain chain = {.stride_bytes = 64, .count = 100, .seed = 3};
    struct fth_samples samples = measure_chain(device, FTH_STEP_TIME_PASS, chain, true);
    assert_int_equal(samples.count, 1);
    assert_int_equal(samples.cycles[0] % 25, 0);
    assert_true(fabs(samples.cycles[0] / 100.0 - 116.5) < 0.5);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

static void wavefronts_of_other_vendors_have_any_size(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        enum fth_status status;
    } rows[] = {{"\"vendor\": \"AMD\", \"warp_size\": 64", FTH_OK},
                {"\"vendor\": \"Intel\", \"warp_size\": 1", FTH_OK},
                {"\"vendor\": \"NVIDIA\", \"warp_size\": 64", FTH_INVALID},
                {"\"warp_size\": 64", FTH_INVALID},
                {"\"vendor\": \"NVIDIA\", \"warp_size\": 32", FTH_OK}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = read_gpu("", rows[i].device, "");
        assert_int_equal(fth_sim_check_description(gpu, NULL), rows[i].status);
        fth_gpu_destroy(gpu);
    }
}

/* All instances of a cache count for the limit of lines. */
static void instances_count_as_lines(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *device;
        enum fth_status status;
    } rows[] = {
        {"\"l2\": {\"size_bytes\": 16777216, \"line_bytes\": 64, \"scope\": \"sm\"}", "\"sms\": 32",
         FTH_OK},
        {"\"l2\": {\"size_bytes\": 16777216, \"line_bytes\": 64, \"scope\": \"sm\"}",
         "\"sms\": 128", FTH_INVALID},
        {"\"l3\": {\"size_bytes\": 536870912, \"line_bytes\": 64}", "\"sms\": 8", FTH_OK},
        {"\"l3\": {\"size_bytes\": 536870912, \"line_bytes\": 64, \"instances\": 4}", "\"sms\": 8",
         FTH_INVALID},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        plan_init(&plan, rows[i].elements, rows[i].device);
        assert_int_equal(fth_sim_check_plan(&plan, NULL), rows[i].status);
        fth_sim_plan_fini(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hop_takes_the_latency_of_its_level),
        cmocka_unit_test(an_l1_can_be_behind_a_vector_l1),
        cmocka_unit_test(stores_evict_lines_of_an_l1_behind_another),
        cmocka_unit_test(groups_have_their_own_l2),
        cmocka_unit_test(an_l3_has_groups_and_a_bandwidth),
        cmocka_unit_test(parameters_follow_from_the_description),
        cmocka_unit_test(a_group_shares_a_scalar_l1),
        cmocka_unit_test(seeded_chains_find_the_levels),
        cmocka_unit_test(hops_follow_the_order_of_the_seed),
        cmocka_unit_test(seeds_change_when_few_sets_miss),
        cmocka_unit_test(a_coarse_clock_advances_in_steps),
        cmocka_unit_test(wavefronts_of_other_vendors_have_any_size),
        cmocka_unit_test(instances_count_as_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
