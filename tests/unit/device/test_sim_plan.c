/* Tests of the parameters of simulated GPUs (device/sim/sim_plan.c): what is taken from the
 * description, and what replaces figures that it lacks. docs/simulator.md lists the defaults. */
#include "simulated.h"

static void plan_init(struct fth_sim_plan *plan, const char *elements, const char *device)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = read_gpu(elements, device, "");
    if (fth_sim_plan_init(plan, gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
}

static void append(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* Describes a shape in one line. */
static const char *shape_text(const struct fth_sim_shape *shape, char *text, size_t size)
{
    static const char *const scopes[] = {"sm", "gpc", "group", "gpu"};
    *text = '\0';
    append(text, size, "%llu/%llu/%llu/%llu %llux%llu", (unsigned long long)shape->size_bytes,
           (unsigned long long)shape->line_bytes, (unsigned long long)shape->sector_bytes,
           (unsigned long long)shape->fill_bytes, (unsigned long long)shape->sets,
           (unsigned long long)shape->ways);
    for (uint64_t i = 0; shape->set_ways && i < shape->sets; i++)
        append(text, size, "%s%llu", i ? "," : " (", (unsigned long long)shape->set_ways[i]);
    append(text, size, "%s %s %s", shape->set_ways ? ")" : "", shape->index, shape->policy);
    for (size_t i = 0; i < shape->way_weight_count; i++)
        append(text, size, "%s%g", i ? "," : " ", shape->way_weights[i]);
    if (shape->rows || shape->row_ways)
        append(text, size, " %llux%llu", (unsigned long long)shape->rows,
               (unsigned long long)shape->row_ways);
    for (size_t i = 0; shape->masks && i < shape->masks->set_count; i++)
        append(text, size, "%s%llu", i ? "," : " set ", (unsigned long long)shape->masks->set[i]);
    for (size_t i = 0; shape->masks && i < shape->masks->row_count; i++)
        append(text, size, "%s%llu", i ? "," : " row ", (unsigned long long)shape->masks->row[i]);
    append(text, size, " %s %u", scopes[shape->scope], shape->per_sm);
    return text;
}

static void check_shape(const struct fth_sim_shape *shape, const char *expected)
{
    char text[256];
    assert_string_equal(shape_text(shape, text, sizeof text), expected);
}

/* ---- caches ---- */

static const struct {
    const char *l1, *shape;
} caches[] = {
    {"\"size_bytes\": 16384", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 384, \"line_bytes\": 128", "384/128/128/128 1x3 mod lru sm 1"},
    {"\"size_bytes\": 768, \"line_bytes\": 128", "768/128/128/128 2x3 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 8", "16384/128/128/128 8x16 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 5", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 1", "16384/128/128/128 1x128 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"ways\": 8", "16384/128/128/128 16x8 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"ways\": 5", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 8, \"ways\": 16", "16384/128/128/128 8x16 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 8, \"ways\": 8", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 5, \"ways\": 8", "16384/128/128/128 4x32 mod lru sm 1"},
    /* index functions */
    {"\"size_bytes\": 16384, \"index\": \"xor\"", "16384/128/128/128 4x32 xor lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[7,8,9]\"",
     "16384/128/128/128 8x16 bits:[7,8,9] lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[9]\"", "16384/128/128/128 2x64 bits:[9] lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[6,8,9]\"", "16384/128/128/128 8x16 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[8,9,6]\"", "16384/128/128/128 8x16 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[7,8,9]\", \"sets\": 8",
     "16384/128/128/128 8x16 bits:[7,8,9] lru sm 1"},
    {"\"size_bytes\": 16384, \"index\": \"bits:[7,8,9]\", \"ways\": 32",
     "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 768, \"line_bytes\": 128, \"index\": \"bits:[7,8]\"",
     "768/128/128/128 2x3 mod lru sm 1"},
    /* sets that differ */
    {"\"size_bytes\": 16384, \"set_ways\": [30, 34, 63, 1]",
     "16384/128/128/128 4x30 (30,34,63,1) mod lru sm 1"},
    {"\"size_bytes\": 16384, \"set_ways\": [30, 34, 64, 1]", "16384/128/128/128 4x32 mod lru sm 1"},
    /* policies */
    {"\"size_bytes\": 16384, \"policy\": \"fifo\"", "16384/128/128/128 4x32 mod fifo sm 1"},
    {"\"size_bytes\": 512, \"policy\": \"weighted\", \"ways\": 4, "
     "\"way_weights\": [1, 3, 1, 2]",
     "512/128/128/128 1x4 mod weighted 1,3,1,2 sm 1"},
    {"\"size_bytes\": 512, \"policy\": \"weighted\", \"way_weights\": [1, 3, 1]",
     "512/128/128/128 4x1 mod lru sm 1"},
    {"\"size_bytes\": 512, \"policy\": \"weighted\", \"set_ways\": [2, 2], "
     "\"way_weights\": [1, 3]",
     "512/128/128/128 2x2 (2,2) mod lru sm 1"},
    {"\"size_bytes\": 16384, \"policy\": \"clock\"", "16384/128/128/128 4x32 mod clock sm 1"},
    {"\"size_bytes\": 16384, \"policy\": \"clock\", \"rows\": 32, \"row_ways\": 2",
     "16384/128/128/128 4x32 mod clock 32x2 sm 1"},
    /* masks, if the array has the sets that they select */
    {"\"size_bytes\": 16384, \"sets\": 4, \"set_masks\": [128, 768]",
     "16384/128/128/128 4x32 mod lru set 128,768 sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 4, \"policy\": \"clock\", \"rows\": 32, "
     "\"row_ways\": 2, \"set_masks\": [128, 768], \"row_masks\": [256, 1024, 2048, 4096, 8192]",
     "16384/128/128/128 4x32 mod clock 32x2 set 128,768 row 256,1024,2048,4096,8192 sm 1"},
    {"\"size_bytes\": 384, \"line_bytes\": 128, \"sets\": 2, \"set_masks\": [128]",
     "384/128/128/128 1x3 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sets\": 4, \"set_masks\": [64, 128]",
     "16384/128/128/128 4x32 mod lru sm 1"},
    /* lines and sectors: powers of two, at most 64 sectors per line */
    {"\"size_bytes\": 15360, \"line_bytes\": 96", "15360/64/64/64 4x60 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"line_bytes\": 64", "16384/64/64/64 4x64 mod lru sm 1"},
    {"\"size_bytes\": 64, \"line_bytes\": 2", "64/4/4/4 4x4 mod lru sm 1"},
    {"\"size_bytes\": 1000", "1000/8/8/8 1x125 mod lru sm 1"},
    {"\"size_bytes\": 1002", "1000/4/4/4 2x125 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 32", "16384/128/32/32 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 64", "16384/128/64/64 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 256", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 2", "16384/128/2/2 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 1", "16384/128/2/2 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"sector_bytes\": 32, \"fill_bytes\": 64",
     "16384/128/32/64 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"per_sm\": 2", "16384/128/128/128 4x32 mod lru sm 2"},
    {"\"size_bytes\": 16384, \"per_sm\": 33", "16384/128/128/128 4x32 mod lru sm 32"},
    {"\"size_bytes\": 16384, \"scope\": \"sm\"", "16384/128/128/128 4x32 mod lru sm 1"},
    {"\"size_bytes\": 16384, \"scope\": \"gpc\"", "16384/128/128/128 4x32 mod lru gpc 1"},
    {"\"size_bytes\": 16384, \"scope\": \"gpu\"", "16384/128/128/128 4x32 mod lru gpu 1"},
};

/* An L1 of 16 KiB with 128-byte lines, unless the row says otherwise: 128 lines, 4 sets. */
static void the_sets_follow_from_what_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        char elements[300];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements, "\"l1\": {%s}", caches[i].l1);
        plan_init(&plan, elements, "");
        assert_int_equal(plan.array_count, 1);
        check_shape(&plan.arrays[0], caches[i].shape);
        fth_sim_plan_fini(&plan);
    }
}

/* The L2 has 16 ways, or as many sets as the largest power of two that divides its lines. */
static void the_l2_has_sixteen_ways(void **state)
{
    (void)state;
    static const struct {
        const char *l2, *shape;
        uint32_t partitions;
    } rows[] = {
        {"", "2097152/128/128/128 1024x16 mod lru gpu 1", 1},
        {"\"size_bytes\": 6144", "6144/128/128/128 3x16 mod lru gpu 1", 1},
        {"\"size_bytes\": 5120", "5120/128/128/128 8x5 mod lru gpu 1", 1},
        {"\"size_bytes\": 6144, \"partitions\": 2", "3072/128/128/128 8x3 mod lru gpu 1", 2},
        {"\"size_bytes\": 65536, \"partitions\": 2, \"sector_bytes\": 32, \"fill_bytes\": 64",
         "32768/128/32/64 16x16 mod lru gpu 1", 2},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements, "\"l2\": {%s}", rows[i].l2);
        plan_init(&plan, elements, "");
        check_shape(&plan.l2, rows[i].shape);
        assert_int_equal(plan.partitions, rows[i].partitions);
        assert_int_equal(plan.home_mask, 0xffffff000);
        fth_sim_plan_fini(&plan);
    }
}

/* ---- defaults ---- */

static void an_empty_description_gets_defaults(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan, "", "");
    char text[1024] = "";
    append(text, sizeof text, "%u SMs, %u warps, %u, %g MHz; %u arrays, %d %d %d; %lld %lld\n",
           plan.sms, plan.warps_per_sm, plan.issue_cycles, plan.clock_mhz, plan.array_count,
           plan.l1_caches_global, plan.l1_caches_local, plan.l1_physical,
           (long long)plan.fetch_miss_cost, (long long)plan.l1_tlb_extra);
    append(text, sizeof text, "%llu %llu %llu %zu; %lld %lld %ux%u; %d %lld %lld\n",
           (unsigned long long)plan.shared_bytes, (unsigned long long)plan.shared_block_bytes,
           (unsigned long long)plan.unified_bytes, plan.carveout_count,
           (long long)plan.shared_latency, (long long)plan.conflict, plan.banks, plan.bank_bytes,
           plan.has_clusters, (long long)plan.cluster_latency, (long long)plan.cluster_far_latency);
    append(text, sizeof text, "%lld %lld %lld %lld %llu; %llu %lld; %llu %lld %g %g\n",
           (long long)plan.l2_latency, (long long)plan.l2_far_latency,
           (long long)plan.memory_latency, (long long)plan.memory_far_latency,
           (unsigned long long)plan.memory_bytes, (unsigned long long)plan.page_table_bytes,
           (long long)plan.page_table_switch, (unsigned long long)plan.seed, (long long)plan.jitter,
           plan.outlier_rate, plan.neighbour_rate);
    assert_string_equal(text, "16 SMs, 64 warps, 1, 1000 MHz; 0 arrays, 0 0 0; 1000 0\n"
                              "49152 49152 0 0; 28000 2000 32x4; 0 180000 180000\n"
                              "220000 220000 450000 450000 17179869184; 0 1000000; 0 0 0 0\n");
    for (size_t i = 0; i < FTH_SIM_ELEMENTS; i++)
        assert_false(plan.levels[i].present);
    for (size_t i = 0; i < FTH_SIM_TLBS; i++)
        assert_false(plan.tlbs[i].present);
    assert_int_equal(fth_sim_plan_l1_bytes(&plan, 50, 1024), 0);
    fth_sim_plan_fini(&plan);
}

static void noise_is_that_of_the_description(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_gpu *gpu = read_gpu("", "",
                                   "\"seed\": 7, \"jitter_cycles\": 3, \"outlier_rate\": 0.25, "
                                   "\"neighbour_rate\": 0.125");
    assert_int_equal(fth_sim_plan_init(&plan, gpu, NULL), FTH_OK);
    assert_int_equal(plan.seed, 7);
    assert_int_equal(plan.jitter, 3);
    assert_true(plan.outlier_rate == 0.25 && plan.neighbour_rate == 0.125);
    fth_sim_plan_fini(&plan);
    fth_gpu_destroy(gpu);
}

static void elements_without_figures_get_defaults(void **state)
{
    (void)state;
    static const struct {
        int64_t latency, fetch_cost;
        const char *shape;
    } levels[FTH_SIM_OUTER_L1] = {
        {32000, 0, "32768/128/128/128 4x64 mod lru sm 1"},
        {80000, 0, "24576/128/128/128 4x48 mod lru sm 1"},
        {80000, 0, "24576/128/128/128 4x48 mod lru sm 1"},
        {32000, 0, "2048/64/64/64 4x8 mod lru sm 1"},
        {105000, 0, "65536/256/256/256 4x64 mod lru sm 1"},
        {0, 1000, "16384/128/128/128 4x32 mod lru sm 1"},
        {0, 2000, "131072/128/128/128 4x256 mod lru sm 1"},
        {0, 4000, "131072/128/128/128 4x256 mod lru sm 1"},
    };
    static const struct {
        int64_t penalty;
        const char *shape;
    } tlbs[FTH_SIM_TLBS] = {
        {20000, "33554432/2097152/2097152/2097152 1x16 mod lru gpu 1"},
        {100000, "268435456/2097152/2097152/2097152 1x128 mod lru gpu 1"},
        {200000, "2147483648/2097152/2097152/2097152 1x1024 mod lru gpu 1"},
    };
    struct fth_sim_plan plan;
    plan_init(&plan,
              "\"l1\": {}, \"texture\": {}, \"readonly\": {}, \"constant_l1\": {}, "
              "\"constant_l15\": {}, \"instruction_l0\": {}, \"instruction_l1\": {}, "
              "\"instruction_l15\": {}, \"tlb_l1\": {}, \"tlb_l2\": {}, \"tlb_l3\": {}, "
              "\"cluster_shared\": {}",
              "");
    assert_int_equal(plan.array_count, FTH_SIM_OUTER_L1);
    for (unsigned i = 0; i < FTH_SIM_OUTER_L1; i++) {
        assert_true(plan.levels[i].present);
        assert_int_equal(plan.levels[i].array, i);
        assert_int_equal(plan.levels[i].latency, levels[i].latency);
        assert_int_equal(plan.levels[i].fetch_cost, levels[i].fetch_cost);
        assert_true(plan.levels[i].rates.read == 0 && plan.levels[i].rates.write == 0);
        check_shape(&plan.arrays[i], levels[i].shape);
    }
    for (size_t i = 0; i < FTH_SIM_TLBS; i++) {
        assert_true(plan.tlbs[i].present);
        assert_int_equal(plan.tlbs[i].penalty, tlbs[i].penalty);
        check_shape(&plan.tlbs[i].shape, tlbs[i].shape);
    }
    assert_false(plan.levels[FTH_SIM_OUTER_L1].present || plan.has_l3 || plan.l2_by_sm);
    assert_true(plan.l1_caches_global && plan.l1_caches_local && plan.has_clusters);
    assert_int_equal(plan.fetch_miss_cost, 10000);
    fth_sim_plan_fini(&plan);
}

/* A cache that is missing between two others does not change their rates. */
static void fetch_costs_double_with_each_cache(void **state)
{
    (void)state;
    static const struct {
        const char *elements;
        int64_t costs[3], miss;
    } rows[] = {
        {"\"instruction_l0\": {}, \"instruction_l15\": {}", {1000, 0, 2000}, 5000},
        {"\"instruction_l1\": {\"cycles_per_instruction\": 1.5}", {0, 1500, 0}, 3750},
        {"\"instruction_l0\": {\"cycles_per_instruction\": 1.1}, "
         "\"instruction_l1\": {\"cycles_per_instruction\": 3}, \"instruction_l15\": {}",
         {1100, 3000, 6000},
         15000},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        plan_init(&plan, rows[i].elements, "");
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(plan.levels[FTH_SIM_INSTRUCTION_L0 + k].fetch_cost, rows[i].costs[k]);
        assert_int_equal(plan.fetch_miss_cost, rows[i].miss);
        fth_sim_plan_fini(&plan);
    }
}

/* ---- figures of the whole device ---- */

static void device_figures_are_converted(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        uint32_t sms, warps, issue;
        double clock_mhz;
    } rows[] = {
        {"\"sms\": 3, \"clock_mhz\": 1755.5", 3, 64, 1, 1755.5},
        {"\"max_threads_per_sm\": 31", 16, 1, 1, 1000},
        {"\"max_threads_per_sm\": 32", 16, 1, 1, 1000},
        {"\"max_threads_per_sm\": 95", 16, 2, 1, 1000},
        {"\"max_threads_per_sm\": 1536", 16, 48, 1, 1000},
        {"\"cores_per_sm\": 128", 16, 64, 1, 1000},
        {"\"cores_per_sm\": 127", 16, 64, 1, 1000},
        {"\"cores_per_sm\": 64", 16, 64, 2, 1000},
        {"\"cores_per_sm\": 44", 16, 64, 2, 1000},
        {"\"cores_per_sm\": 32", 16, 64, 4, 1000},
        {"\"cores_per_sm\": 192", 16, 64, 1, 1000},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        plan_init(&plan, "", rows[i].device);
        if (plan.sms != rows[i].sms || plan.warps_per_sm != rows[i].warps ||
            plan.issue_cycles != rows[i].issue || plan.clock_mhz != rows[i].clock_mhz)
            fail_msg("%s: %u %u %u %g", rows[i].device, plan.sms, plan.warps_per_sm,
                     plan.issue_cycles, plan.clock_mhz);
        fth_sim_plan_fini(&plan);
    }
}

/* The clock is 2 GHz: 10 ns are 20 cycles. */
static void latencies_are_in_cycles(void **state)
{
    (void)state;
    static const struct {
        const char *elements;
        int64_t l2, l2_far, memory, memory_far;
    } rows[] = {
        {"", 220000, 220000, 450000, 450000},
        {"\"l2\": {\"latency_ns\": 10}", 20000, 20000, 450000, 450000},
        {"\"l2\": {\"latency_ns\": 10, \"latency_cycles\": 33.4}", 33400, 33400, 450000, 450000},
        {"\"l2\": {\"latency_cycles\": 351}", 351000, 351000, 451000, 451000},
        {"\"l2\": {\"latency_cycles\": 100, \"partitions\": 2}", 100000, 160000, 450000, 510000},
        {"\"l2\": {\"latency_cycles\": 100, \"partitions\": 2, \"far_latency_cycles\": 130}",
         100000, 130000, 450000, 480000},
        {"\"l2\": {\"latency_cycles\": 300, \"partitions\": 2}", 300000, 480000, 580000, 760000},
        {"\"memory\": {\"latency_cycles\": 200}", 100000, 100000, 200000, 200000},
        {"\"memory\": {\"latency_cycles\": 220}", 110000, 110000, 220000, 220000},
        {"\"memory\": {\"latency_cycles\": 221}", 220000, 220000, 221000, 221000},
        {"\"memory\": {\"latency_ns\": 300}", 220000, 220000, 600000, 600000},
        {"\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 777}", 220000, 220000,
         500000, 777000},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        plan_init(&plan, rows[i].elements, "\"clock_mhz\": 2000");
        if (plan.l2_latency != rows[i].l2 || plan.l2_far_latency != rows[i].l2_far ||
            plan.memory_latency != rows[i].memory || plan.memory_far_latency != rows[i].memory_far)
            fail_msg("%s: %lld %lld %lld %lld", rows[i].elements, (long long)plan.l2_latency,
                     (long long)plan.l2_far_latency, (long long)plan.memory_latency,
                     (long long)plan.memory_far_latency);
        fth_sim_plan_fini(&plan);
    }
}

/* At 1 GHz, 1e12 bytes per second are 1000 bytes per cycle: 1000 millionths of a cycle per byte. A
 * copy counts the bytes that it reads and those that it writes. */
static void bandwidths_become_times_per_byte(void **state)
{
    (void)state;
    static const struct {
        const char *attributes;
        double read, write, copy_extra;
    } rows[] = {
        {"\"read_bytes_per_s\": 1e12", 1000, 0, 0},
        {"\"write_bytes_per_s\": 2e12", 0, 500, 0},
        {"\"peak_bytes_per_s\": 4e12", 250, 250, 0},
        {"\"peak_bytes_per_s\": 4e12, \"read_bytes_per_s\": 1e12", 1000, 250, 0},
        {"\"peak_bytes_per_s\": 4e12, \"write_bytes_per_s\": 1e12", 250, 1000, 0},
        {"\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 2e12, \"copy_bytes_per_s\": 1e12",
         1000, 500, 500},
        {"\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 2e12, \"copy_bytes_per_s\": 1.6e12",
         1000, 500, -250},
        {"\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 2e12, \"copy_bytes_per_s\": 8e12",
         1000, 500, -500},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[800];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements,
                 "\"l1\": {%s}, \"shared\": {%s}, \"cluster_shared\": {%s}, \"l2\": {%s}, "
                 "\"memory\": {%s}",
                 rows[i].attributes, rows[i].attributes, rows[i].attributes, rows[i].attributes,
                 rows[i].attributes);
        plan_init(&plan, elements, "\"sms\": 4");
        /* The bandwidth of an SM is a quarter of that of the GPU. */
        const struct {
            const struct fth_sim_rates *rates;
            double factor;
        } parts[] = {{&plan.levels[FTH_SIM_L1].rates, 4},
                     {&plan.shared_rates, 4},
                     {&plan.cluster_rates, 4},
                     {&plan.l2_rates, 1},
                     {&plan.memory_rates, 1}};
        /* Only memory has a peak bandwidth. */
        const bool has_peak = strstr(rows[i].attributes, "peak") != NULL;
        for (size_t k = has_peak ? FTH_COUNT(parts) - 1 : 0; k < FTH_COUNT(parts); k++) {
            const struct fth_sim_rates *rates = parts[k].rates;
            const double factor = parts[k].factor;
            if (fabs(rates->read - factor * rows[i].read) > 1e-9 ||
                fabs(rates->write - factor * rows[i].write) > 1e-9 ||
                fabs(rates->copy_extra - factor * rows[i].copy_extra) > 1e-9)
                fail_msg("row %zu, part %zu: %g %g %g", i, k, rates->read, rates->write,
                         rates->copy_extra);
        }
        fth_sim_plan_fini(&plan);
    }
}

/* ---- shared storage ---- */

static void elements_share_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *arrays; /* of each element, by name; '-': absent */
        unsigned count;
    } rows[] = {
        {"\"l1\": {\"shared_with\": [\"texture\"]}, \"texture\": {\"shared_with\": [\"l1\"]}, "
         "\"readonly\": {}",
         "001------", 2},
        {"\"l1\": {\"shared_with\": [\"readonly\"]}, "
         "\"texture\": {\"shared_with\": [\"readonly\"]}, "
         "\"readonly\": {\"shared_with\": [\"l1\", \"texture\"]}",
         "000------", 1},
        {"\"l1\": {}, "
         "\"texture\": {\"shared_with\": [\"readonly\"]}, "
         "\"readonly\": {\"shared_with\": [\"texture\"]}",
         "011------", 2},
        {"\"l1\": {\"caches\": [], \"shared_with\": [\"texture\"]}, "
         "\"texture\": {\"shared_with\": [\"l1\", \"readonly\"]}, "
         "\"readonly\": {\"shared_with\": [\"texture\"]}",
         "-00------", 1},
        {"\"constant_l1\": {}, \"constant_l15\": {\"shared_with\": [\"instruction_l15\"]}, "
         "\"instruction_l0\": {}, \"instruction_l1\": {\"shared_with\": [\"instruction_l15\"]}, "
         "\"instruction_l15\": {\"shared_with\": [\"constant_l15\", \"instruction_l1\"]}",
         "---01211-", 3},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        char arrays[FTH_SIM_ELEMENTS + 1] = "";
        plan_init(&plan, rows[i].elements, "");
        for (size_t k = 0; k < FTH_SIM_ELEMENTS; k++)
            arrays[k] = plan.levels[k].present ? (char)('0' + plan.levels[k].array) : '-';
        assert_string_equal(arrays, rows[i].arrays);
        assert_int_equal(plan.array_count, rows[i].count);
        fth_sim_plan_fini(&plan);
    }
    /* What one element lacks is taken from the next one that has it. */
    struct fth_sim_plan plan;
    plan_init(&plan,
              "\"l1\": {\"shared_with\": [\"texture\", \"readonly\"], \"line_bytes\": 64}, "
              "\"texture\": {\"size_bytes\": 8192, \"line_bytes\": 32, \"policy\": \"fifo\", "
              "\"shared_with\": [\"l1\"]}, "
              "\"readonly\": {\"size_bytes\": 4096, \"scope\": \"gpc\", \"policy\": \"lfu\", "
              "\"shared_with\": [\"l1\"]}",
              "");
    check_shape(&plan.arrays[0], "8192/64/64/64 4x32 mod fifo gpc 1");
    fth_sim_plan_fini(&plan);
}

static void the_l1_caches_the_listed_spaces(void **state)
{
    (void)state;
    static const struct {
        const char *l1;
        bool present, global, local;
    } rows[] = {
        {"", true, true, true},
        {"\"caches\": [\"global\"]", true, true, false},
        {"\"caches\": [\"local\"]", true, false, true},
        {"\"caches\": [\"local\", \"global\"]", true, true, true},
        {"\"caches\": [\"global\", \"local\"]", true, true, true},
        {"\"caches\": []", false, false, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[200];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements, "\"l1\": {%s}", rows[i].l1);
        plan_init(&plan, elements, "");
        assert_int_equal(plan.levels[FTH_SIM_L1].present, rows[i].present);
        assert_int_equal(plan.l1_caches_global, rows[i].global);
        assert_int_equal(plan.l1_caches_local, rows[i].local);
        fth_sim_plan_fini(&plan);
    }
}

/* ---- carve-outs ---- */

#define UNIFIED "\"unified_bytes\": 131072"
#define SHARED_96K "\"shared\": {\"size_bytes\": 98304"
/* The size of L1 for a preferred carve-out and a size of shared memory. */
static const struct {
    const char *elements;
    int percent;
    uint64_t shared, l1;
} carveouts[] = {
    /* An L1 without a size has what the largest carve-out leaves. */
    {"\"l1\": {" UNIFIED "}, " SHARED_96K "}", 0, 0, 32768},
    {"\"l1\": {\"unified_bytes\": 98304}, " SHARED_96K "}", 0, 0, 32768},
    {"\"l1\": {\"unified_bytes\": 98432}, " SHARED_96K "}", 0, 0, 128},
    /* Without a list of carve-outs, they are multiples of 8 KiB. */
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", -1, 0, 131072},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 0, 0, 131072},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 0, 1, 122880},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 0, 8192, 122880},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 0, 8193, 114688},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 50, 0, 81920},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 50, 49152, 81920},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 50, 49153, 73728},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 100, 0, 32768},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 200, 0, 32768},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K "}", 0, 200000, 32768},
    {"\"l1\": {\"size_bytes\": 65536, " UNIFIED "}, " SHARED_96K "}", 50, 0, 65536},
    {"\"l1\": {\"size_bytes\": 65536}, " SHARED_96K "}", 50, 0, 65536},
    {"\"l1\": {\"size_bytes\": 131072}, " SHARED_96K ", " UNIFIED "}", 50, 0, 81920},
    /* The size of L1 at the largest carve-out. */
    {"\"l1\": {\"size_bytes\": 131072, \"default_size_bytes\": 24576}, " SHARED_96K "}", 100, 0,
     24576},
    {"\"l1\": {\"size_bytes\": 131072, \"default_size_bytes\": 24576}, " SHARED_96K "}", 99, 0,
     131072},
    {"\"l1\": {\"size_bytes\": 131072, \"default_size_bytes\": 65536, " UNIFIED "}, " SHARED_96K
     "}",
     90, 0, 65536},
    /* A list of carve-outs. */
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K
     ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 1, 114688},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K
     ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 16384, 114688},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K
     ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 16385, 65536},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K
     ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 65537, 32768},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K
     ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 999999, 32768},
    {"\"l1\": {\"size_bytes\": 131072, " UNIFIED "}, " SHARED_96K ", \"carveout_bytes\": [0]}", 0,
     4096, 131072},
    /* The sizes of L1 at the carve-outs are listed, too. */
    {"\"l1\": {\"size_bytes\": 131072, \"carveout_size_bytes\": [122880, 102400, 51200, "
     "20480]}, " SHARED_96K ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 0, 122880},
    {"\"l1\": {\"size_bytes\": 131072, \"carveout_size_bytes\": [122880, 102400, 51200, "
     "20480]}, " SHARED_96K ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     0, 16384, 102400},
    {"\"l1\": {\"size_bytes\": 131072, \"carveout_size_bytes\": [122880, 102400, 51200, "
     "20480]}, " SHARED_96K ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     50, 0, 51200},
    {"\"l1\": {\"size_bytes\": 131072, \"carveout_size_bytes\": [122880, 102400, 51200, "
     "20480]}, " SHARED_96K ", \"carveout_bytes\": [0, 16384, 65536, 98304]}",
     100, 0, 20480},
    {"\"l1\": {\"size_bytes\": 65536, \"carveout_size_bytes\": [122880, 20480]}, " SHARED_96K
     ", \"carveout_bytes\": [0, 98304]}",
     0, 0, 65536},
};

static void the_carve_out_determines_the_l1(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(carveouts); i++) {
        struct fth_sim_plan plan;
        plan_init(&plan, carveouts[i].elements, "");
        const uint64_t bytes =
            fth_sim_plan_l1_bytes(&plan, carveouts[i].percent, carveouts[i].shared);
        if (bytes != carveouts[i].l1)
            fail_msg("row %zu: %llu, not %llu", i, (unsigned long long)bytes,
                     (unsigned long long)carveouts[i].l1);
        fth_sim_plan_fini(&plan);
    }
}

static void shared_memory_has_its_figures(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan,
              "\"shared\": {\"size_bytes\": 65536, \"max_block_bytes\": 50000, \"banks\": 16, "
              "\"bank_bytes\": 8, \"conflict_cycles\": 1.5, \"latency_cycles\": 23.4}, "
              "\"cluster_shared\": {\"latency_cycles\": 190, \"far_latency_cycles\": 210.5}",
              "");
    assert_int_equal(plan.shared_bytes, 65536);
    assert_int_equal(plan.shared_block_bytes, 50000);
    assert_int_equal(plan.banks, 16);
    assert_int_equal(plan.bank_bytes, 8);
    assert_int_equal(plan.conflict, 1500);
    assert_int_equal(plan.shared_latency, 23400);
    assert_int_equal(plan.cluster_latency, 190000);
    assert_int_equal(plan.cluster_far_latency, 210500);
    fth_sim_plan_fini(&plan);
    plan_init(&plan, "\"cluster_shared\": {\"latency_cycles\": 190}", "");
    assert_int_equal(plan.cluster_far_latency, 190000);
    fth_sim_plan_fini(&plan);
}

/* ---- TLBs ---- */

static void the_entries_follow_from_what_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *tlb, *shape;
    } rows[] = {
        {"\"entries\": 24, \"page_bytes\": 65536", "1572864/65536/65536/65536 1x24 mod lru gpu 1"},
        {"\"entries\": 24, \"page_bytes\": 65537, \"sets\": 8",
         "1572864/65536/65536/65536 8x3 mod lru gpu 1"},
        {"\"reach_bytes\": 1048576, \"page_bytes\": 65536",
         "1048576/65536/65536/65536 1x16 mod lru gpu 1"},
        {"\"reach_bytes\": 1100000, \"page_bytes\": 65536",
         "1048576/65536/65536/65536 1x16 mod lru gpu 1"},
        {"\"reach_bytes\": 1000, \"page_bytes\": 65536",
         "65536/65536/65536/65536 1x1 mod lru gpu 1"},
        {"\"sets\": 4, \"ways\": 5, \"page_bytes\": 65536",
         "1310720/65536/65536/65536 4x5 mod lru gpu 1"},
        {"\"set_ways\": [3, 4], \"page_bytes\": 65536",
         "458752/65536/65536/65536 2x3 (3,4) mod lru gpu 1"},
        {"\"entries\": 8, \"page_bytes\": 65536, \"scope\": \"sm\", \"policy\": \"fifo\"",
         "524288/65536/65536/65536 1x8 mod fifo sm 1"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements, "\"tlb_l2\": {%s, \"miss_penalty_cycles\": 7.5}",
                 rows[i].tlb);
        plan_init(&plan, elements, "");
        assert_false(plan.tlbs[0].present || plan.tlbs[2].present);
        assert_int_equal(plan.tlbs[1].penalty, 7500);
        check_shape(&plan.tlbs[1].shape, rows[i].shape);
        fth_sim_plan_fini(&plan);
    }
}

static void a_physical_l1_pays_for_translation(void **state)
{
    (void)state;
    static const struct {
        const char *l1;
        bool physical;
        int64_t extra;
    } rows[] = {
        {"\"addressing\": \"physical\", \"tlb_miss_cycles\": 50", true, 30000},
        {"\"addressing\": \"physical\", \"tlb_miss_cycles\": 20", true, 0},
        {"\"addressing\": \"physical\", \"tlb_miss_cycles\": 5", true, 0},
        {"\"addressing\": \"virtual\"", false, 0},
        {"\"addressing\": \"physical\"", true, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[300];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements,
                 "\"l1\": {%s}, \"tlb_l1\": {}, \"memory\": {\"page_table_bytes\": 536870912, "
                 "\"page_table_switch_cycles\": 250}",
                 rows[i].l1);
        plan_init(&plan, elements, "");
        assert_int_equal(plan.l1_physical, rows[i].physical);
        assert_int_equal(plan.l1_tlb_extra, rows[i].extra);
        assert_int_equal(plan.page_table_bytes, 536870912);
        assert_int_equal(plan.page_table_switch, 250000);
        fth_sim_plan_fini(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sets_follow_from_what_is_known),
        cmocka_unit_test(the_l2_has_sixteen_ways),
        cmocka_unit_test(an_empty_description_gets_defaults),
        cmocka_unit_test(noise_is_that_of_the_description),
        cmocka_unit_test(elements_without_figures_get_defaults),
        cmocka_unit_test(fetch_costs_double_with_each_cache),
        cmocka_unit_test(device_figures_are_converted),
        cmocka_unit_test(latencies_are_in_cycles),
        cmocka_unit_test(bandwidths_become_times_per_byte),
        cmocka_unit_test(elements_share_arrays),
        cmocka_unit_test(the_l1_caches_the_listed_spaces),
        cmocka_unit_test(the_carve_out_determines_the_l1),
        cmocka_unit_test(shared_memory_has_its_figures),
        cmocka_unit_test(the_entries_follow_from_what_is_known),
        cmocka_unit_test(a_physical_l1_pays_for_translation),
    };
    return cmocka_run_group_tests_name("sim_plan", tests, NULL, NULL);
}
