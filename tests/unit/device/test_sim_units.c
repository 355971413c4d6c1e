/* Tests of the parts of simulated GPUs (device/sim/), each on its own: ports, slots, noise, caches,
 * and copies. Times are in thousandths of a cycle. */
#include "simulated.h"

static void plan_init(struct fth_sim_plan *plan, const char *elements, const char *device)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = read_gpu(elements, device, "");
    if (fth_sim_plan_init(plan, gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
}

/* ---- ports ---- */

/* A bucket has 256 cycles. Times and waits here are in cycles. */
static int64_t take(struct fth_sim_port *port, int64_t cycle, double cycles)
{
    const int64_t wait = fth_sim_port_take(port, cycle * 1000, (uint32_t)(cycles * 1e6));
    assert_int_equal(wait % 1000, 0);
    return wait / 1000;
}

static void a_transfer_waits_for_a_bucket_that_is_not_full(void **state)
{
    (void)state;
    struct fth_sim_port port = {.bits = 3};
    static const struct {
        int64_t cycle;
        double cycles;
        int64_t wait;
    } rows[] = {
        {1000, 0, 0},                 /* takes nothing */
        {10, 100, 0},                 /* bucket 0 from 0 to 100 */
        {10, 100, 90},                /* to 200 */
        {250, 56, 0},                 /* to 256: later than 200, so it does not wait */
        {250, 1, 6},                  /* bucket 1 to 257 */
        {0, 200, 257},                /* to 457 */
        {511, 255, 0},                /* bucket 1 to 512, and 200 cycles of bucket 2 */
        {256, 56, 456},               /* bucket 2 from 712 to 768 */
        {256, 1, 512},                /* bucket 3 */
        {0, 1, 769},                  /* skips the full buckets */
        {512, 1, 258},  {2048, 2, 0}, /* bucket 8 replaces bucket 0 */
        {5, 1, 0},                    /* the ring no longer covers bucket 0 */
        {300, 1, 471},                /* but it covers bucket 1 */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const int64_t wait = take(&port, rows[i].cycle, rows[i].cycles);
        if (wait != rows[i].wait)
            fail_msg("row %zu: %lld", i, (long long)wait);
    }
    assert_false(port.failed);
    fth_sim_port_fini(&port);
    assert_null(port.ring);
    assert_int_equal(port.bits, 3);
    /* All 8 buckets are full: the transfer is not limited. */
    for (int i = 0; i < 8; i++)
        assert_int_equal(take(&port, 0, 256), 256 * i);
    assert_int_equal(take(&port, 0, 1), 0);
    assert_int_equal(take(&port, 256, 1), 2048 - 256);
    fth_sim_port_fini(&port);
}

static void a_copy_pairs_reads_and_writes(void **state)
{
    (void)state;
    struct fth_sim_port port = {.bits = 3};
    const struct fth_sim_rates free_of_charge = {0, 0, 0};
    assert_int_equal(fth_sim_port_move(&port, &free_of_charge, 1, 5, 1 << 20, 0), 0);
    assert_null(port.ring);
    assert_int_equal(port.unpaired_reads, 0);
    /* 1, 2 and 4 cycles per byte. */
    const struct fth_sim_rates rates = {1e6, 2e6, 4e6};
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 10, 0), 0);
    assert_int_equal(port.unpaired_reads, 10);
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 0, 4), 10000);
    assert_int_equal(port.unpaired_reads, 6);
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 0, 8), 34000); /* 10 + 4 * 6 */
    assert_int_equal(port.unpaired_reads, 0);
    assert_int_equal(fth_sim_port_move(&port, &rates, 2, 0, 1, 0), 74000); /* 34 + 8 * 2 + 6 * 4 */
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 0, 1), 76000); /* twice as long */
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 1, 1), 82000); /* 76 + 2 + 4 */
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 1, 0), 89000); /* 82 + 1 + 2 + 4 */
    fth_sim_port_fini(&port);
    /* A transfer takes at most one bucket. */
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 1 << 20, 0), 0);
    assert_int_equal(fth_sim_port_move(&port, &rates, 1, 0, 1, 0), 256000);
    fth_sim_port_fini(&port);
}

/* ---- slots ---- */

static void each_cycle_serves_one_request(void **state)
{
    (void)state;
    struct fth_sim_slots slots = {.bits = 2}; /* 4 words of 64 cycles */
    static const struct {
        int64_t time;
        unsigned count;
        int64_t wait;
    } rows[] = {
        {10000, 1, 0},                    /* cycle 10 */
        {10000, 1, 1000},                 /* cycle 11 */
        {9500, 3, 0},                     /* cycles 9, 12 and 13 */
        {9500, 1, 4500},                  /* cycle 14 */
        {0, 9, 0},                        /* cycles 0 to 8 */
        {0, 1, 15000},                    /* cycle 15 */
        {62000, 3, 0},                    /* cycles 62 to 64, across words */
        {62000, 1, 3000},                 /* cycle 65 */
        {16000, 46, 0},                   /* cycles 16 to 61 */
        {0, 1, 66000},    {320000, 1, 0}, /* word 5 replaces word 1 */
        {70000, 1, 0},                    /* which the ring no longer covers */
        {63000, 1, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const int64_t wait = fth_sim_slots_take(&slots, rows[i].time, rows[i].count);
        if (wait != rows[i].wait)
            fail_msg("row %zu: %lld", i, (long long)wait);
    }
    assert_false(slots.failed);
    fth_sim_slots_fini(&slots);
    assert_null(slots.ring);
    /* Three words of the ring are used at most. A request beyond them is not limited. */
    assert_int_equal(fth_sim_slots_take(&slots, 0, 192), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 0, 1), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 64000, 1), 128000);
    fth_sim_slots_fini(&slots);
}

/* ---- noise ---- */

static void noise_deviates_within_its_limits(void **state)
{
    (void)state;
    struct fth_sim_plan plan = {.memory_latency = 400000, .memory_far_latency = 500000, .seed = 7};
    struct fth_sim_noise noise;
    plan.tlbs[1].present = true;
    plan.tlbs[1].penalty = 30000;
    plan.tlbs[0].penalty = 99000; /* not present */
    fth_sim_noise_init(&noise, &plan);
    assert_int_equal(noise.max_latency, 530000);
    uint64_t bytes = 1;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fth_sim_noise_add(&noise, 12345), 12345);
        assert_int_equal(fth_sim_noise_neighbour(&noise, 1000, &bytes), 0);
    }
    assert_int_equal(fth_sim_noise_add(&noise, 999), 1000); /* at least one cycle */
    assert_int_equal(fth_sim_noise_add(&noise, -5000), 1000);
    plan.memory_far_latency = 300000;
    plan.jitter = 2;
    fth_sim_noise_init(&noise, &plan);
    assert_int_equal(noise.max_latency, 430000);
    unsigned seen = 0; /* one bit per deviation from -2 to 2 cycles */
    for (int i = 0; i < 200; i++) {
        const int64_t deviation = fth_sim_noise_add(&noise, 50500) - 50500;
        assert_int_equal(deviation % 1000, 0);
        assert_in_range(deviation + 2000, 0, 4000);
        seen |= 1u << (deviation / 1000 + 2);
    }
    assert_int_equal(seen, 0x1f);
    /* Outliers take ten times as long, but at most nine times the highest latency more. */
    plan.jitter = 0;
    plan.outlier_rate = 1;
    fth_sim_noise_init(&noise, &plan);
    assert_int_equal(fth_sim_noise_add(&noise, 20000), 200000);
    assert_int_equal(fth_sim_noise_add(&noise, 430000), 4300000);
    assert_int_equal(fth_sim_noise_add(&noise, 500000), 500000 + 9 * 430000);
    plan.outlier_rate = 0.25;
    fth_sim_noise_init(&noise, &plan);
    int outliers = 0;
    for (int i = 0; i < 1000; i++)
        outliers += fth_sim_noise_add(&noise, 20000) == 200000;
    assert_in_range(outliers, 200, 300);
}

/* Another program runs for 100,000 to 4 million cycles, with uniformly distributed logarithms. */
static void a_neighbour_runs_at_times(void **state)
{
    (void)state;
    const struct fth_sim_plan plan = {.neighbour_rate = 0.5, .seed = 3};
    struct fth_sim_noise noise;
    fth_sim_noise_init(&noise, &plan);
    int runs = 0, none = 0, part = 0, twice = 0, below_half = 0;
    uint64_t most = 0;
    for (int i = 0; i < 4000; i++) {
        uint64_t bytes = 12345678;
        const int64_t time = fth_sim_noise_neighbour(&noise, 1000, &bytes);
        if (time == 0) {
            assert_int_equal(bytes, 12345678);
            continue;
        }
        runs++;
        assert_int_equal(time % 1000, 0);
        assert_in_range(time, 100000000, 4000000000);
        below_half += time < 632456000; /* the geometric mean */
        none += bytes == 0;
        part += bytes > 0 && bytes <= 500;
        twice += bytes == 2000;
        most = bytes <= 500 && bytes > most ? bytes : most;
    }
    assert_in_range(runs, 1850, 2150);
    assert_int_equal(none + part + twice, runs);
    assert_in_range(none, runs / 5, runs * 3 / 10);
    assert_in_range(part, runs / 5, runs * 3 / 10);
    assert_in_range(most, 490, 500);
    assert_in_range(below_half, runs * 45 / 100, runs * 55 / 100);
}

/* ---- caches ---- */

/* A range that misses is extended to whole sectors, and to units of fill_bytes of the line. */
static void a_read_reports_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        uint64_t fill, address, bytes, from, missing; /* missing: 0 if all hits */
    } rows[] = {
        {32, 1000, 8, 992, 32},
        {32, 1000, 8, 0, 0},
        {32, 992, 33, 1024, 32},    /* the first sector hits */
        {32, 1020, 8, 0, 0},        /* across two lines */
        {32, 1055, 2, 1056, 32},    /* in the line that begins at 1024 */
        {32, 1024, 128, 1088, 64},  /* sectors 2 and 3 miss */
        {32, 2040, 264, 2016, 288}, /* three lines */
        {32, 2300, 8, 2304, 32},
        {64, 4096 + 40, 4, 4096, 64},
        {64, 4096 + 64, 4, 4160, 64},
        {64, 4096, 128, 0, 0},
        {64, 4224 + 60, 8, 4224, 128},
        {96, 4352, 4, 4352, 96},
        {96, 4352 + 96, 4, 4448, 32}, /* not beyond the end of the line */
        {128, 4480 + 64, 4, 4480, 128},
    };
    struct fth_sim_shape shape = {.line_bytes = 128,
                                  .sector_bytes = 32,
                                  .sets = 8,
                                  .ways = 8,
                                  .index = "mod",
                                  .policy = "lru"};
    struct fth_cache *cache = NULL;
    assert_int_equal(fth_sim_cache_create(&shape, 0, &cache, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t address = rows[i].address, bytes = rows[i].bytes;
        shape.fill_bytes = rows[i].fill;
        const bool hit = fth_sim_cache_read(cache, &shape, &address, &bytes);
        if (hit != (rows[i].missing == 0) ||
            (!hit && (address != rows[i].from || bytes != rows[i].missing)))
            fail_msg("row %zu: %d %llu %llu", i, hit, (unsigned long long)address,
                     (unsigned long long)bytes);
    }
    fth_cache_destroy(cache);
}

static void scopes_have_instances(void **state)
{
    (void)state;
    static const struct {
        uint32_t sm, sm_owner, gpc_owner, group_owner; /* groups of 3 SMs */
    } rows[] = {{0, 0, 0, 0},   {2, 2, 0, 0},   {3, 3, 0, 1},
                {15, 15, 0, 5}, {16, 16, 1, 5}, {33, 33, 2, 11}};
    const struct fth_sim_shape sm = {.scope = FTH_SIM_SCOPE_SM};
    const struct fth_sim_shape gpc = {.scope = FTH_SIM_SCOPE_GPC};
    const struct fth_sim_shape gpu = {.scope = FTH_SIM_SCOPE_GPU};
    const struct fth_sim_shape group = {.scope = FTH_SIM_SCOPE_GROUP, .sms_per_instance = 3};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        assert_int_equal(fth_sim_owner(&sm, rows[i].sm), rows[i].sm_owner);
        assert_int_equal(fth_sim_owner(&gpc, rows[i].sm), rows[i].gpc_owner);
        assert_int_equal(fth_sim_owner(&group, rows[i].sm), rows[i].group_owner);
        assert_int_equal(fth_sim_owner(&gpu, rows[i].sm), 0);
        assert_int_equal(fth_sim_owner_count(&sm, rows[i].sm + 1), rows[i].sm + 1);
        assert_int_equal(fth_sim_owner_count(&gpc, rows[i].sm + 1), rows[i].gpc_owner + 1);
        assert_int_equal(fth_sim_owner_count(&group, rows[i].sm + 1), rows[i].group_owner + 1);
        assert_int_equal(fth_sim_owner_count(&gpu, rows[i].sm + 1), 1);
    }
}

static bool holds(struct fth_sim_caches *caches, enum fth_sim_element element, uint32_t sm,
                  uint32_t warp, uint64_t address)
{
    uint64_t bytes = 4;
    struct fth_cache *cache = fth_sim_caches_get(caches, element, sm, warp);
    assert_non_null(cache);
    const unsigned array = caches->plan->levels[element].array;
    return fth_sim_cache_read(cache, &caches->plan->arrays[array], &address, &bytes);
}

/* A launch empties the caches of the SMs, but not those that several SMs share. */
static void warps_use_their_instances(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_caches caches;
    plan_init(&plan,
              "\"l1\": {\"size_bytes\": 4096, \"sets\": 4}, "
              "\"constant_l1\": {\"size_bytes\": 2048, \"per_sm\": 2}, "
              "\"constant_l15\": {\"scope\": \"gpc\"}, \"instruction_l15\": {\"scope\": \"gpu\"}",
              "\"sms\": 40");
    assert_int_equal(fth_sim_caches_init(&caches, &plan, NULL), FTH_OK);
    fth_sim_caches_launch(&caches, 4096);
    static const struct {
        enum fth_sim_element element;
        uint32_t sm, warp;
        bool hit;
    } rows[] = {
        {FTH_SIM_L1, 0, 0, false},
        {FTH_SIM_L1, 0, 1, true},
        {FTH_SIM_L1, 39, 0, false},
        {FTH_SIM_L1, 1, 0, false},
        {FTH_SIM_L1, 39, 5, true},
        {FTH_SIM_CONSTANT_L1, 3, 0, false},
        {FTH_SIM_CONSTANT_L1, 3, 1, false},
        {FTH_SIM_CONSTANT_L1, 3, 2, true},
        {FTH_SIM_CONSTANT_L1, 3, 3, true},
        {FTH_SIM_CONSTANT_L1, 4, 0, false},
        {FTH_SIM_CONSTANT_L1, 39, 1, false},
        {FTH_SIM_CONSTANT_L15, 0, 0, false},
        {FTH_SIM_CONSTANT_L15, 15, 0, true},
        {FTH_SIM_CONSTANT_L15, 16, 0, false},
        {FTH_SIM_CONSTANT_L15, 39, 0, false},
        {FTH_SIM_INSTRUCTION_L15, 7, 0, false},
        {FTH_SIM_INSTRUCTION_L15, 39, 3, true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        if (holds(&caches, rows[i].element, rows[i].sm, rows[i].warp, 8192) != rows[i].hit)
            fail_msg("row %zu", i);
    fth_sim_caches_launch(&caches, 4096);
    assert_false(holds(&caches, FTH_SIM_L1, 0, 0, 8192));
    assert_true(holds(&caches, FTH_SIM_L1, 0, 0, 8192));
    assert_false(holds(&caches, FTH_SIM_CONSTANT_L1, 3, 2, 8192));
    assert_true(holds(&caches, FTH_SIM_CONSTANT_L15, 15, 0, 8192));
    assert_true(holds(&caches, FTH_SIM_INSTRUCTION_L15, 1, 0, 8192));
    fth_sim_caches_empty(&caches);
    assert_false(holds(&caches, FTH_SIM_L1, 0, 0, 8192));
    fth_sim_caches_fini(&caches);
    fth_sim_plan_fini(&plan);
}

/* Counts the lines from address 0 on that an L1 with 4 sets of 8 ways keeps if its size is
 * reduced. */
static void a_smaller_l1_has_fewer_ways(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned ways[4]; /* of each set */
    } rows[] = {{4096, {8, 8, 8, 8}}, {2048, {4, 4, 4, 4}}, {2176, {5, 4, 4, 4}},
                {2432, {5, 5, 5, 4}}, {512, {1, 1, 1, 1}},  {4095, {8, 8, 8, 7}}};
    struct fth_sim_plan plan;
    struct fth_sim_caches caches;
    plan_init(&plan, "\"l1\": {\"size_bytes\": 4096, \"line_bytes\": 128, \"sets\": 4}", "");
    assert_int_equal(fth_sim_caches_init(&caches, &plan, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        fth_sim_caches_launch(&caches, rows[i].bytes);
        for (uint64_t set = 0; set < 4; set++) {
            unsigned ways = 0;
            for (uint64_t line = 0; line < 8; line++)
                (void)holds(&caches, FTH_SIM_L1, 2, 0, (line * 4 + set) * 128);
            for (uint64_t line = 8; line-- > 0;)
                ways += fth_cache_probe(fth_sim_caches_get(&caches, FTH_SIM_L1, 2, 0),
                                        (line * 4 + set) * 128, 4) == FTH_CACHE_HIT;
            /* With unequal sets, lines are distributed in proportion to the ways. */
            if (rows[i].bytes % 512 == 0)
                assert_int_equal(ways, rows[i].ways[set]);
        }
        unsigned all = 0;
        for (uint64_t line = 0; line < 64; line++)
            (void)holds(&caches, FTH_SIM_L1, 2, 0, line * 128);
        for (uint64_t line = 0; line < 64; line++)
            all += fth_cache_probe(fth_sim_caches_get(&caches, FTH_SIM_L1, 2, 0), line * 128, 4) ==
                   FTH_CACHE_HIT;
        const unsigned *ways = rows[i].ways;
        assert_int_equal(all, ways[0] + ways[1] + ways[2] + ways[3]);
    }
    /* Fewer lines than sets: one set. */
    fth_sim_caches_launch(&caches, 384);
    for (uint64_t line = 0; line < 3; line++)
        (void)holds(&caches, FTH_SIM_L1, 2, 0, line * 512);
    for (uint64_t line = 0; line < 3; line++)
        assert_true(holds(&caches, FTH_SIM_L1, 2, 0, line * 512));
    assert_false(holds(&caches, FTH_SIM_L1, 2, 0, 1536)); /* evicts the first one */
    assert_false(holds(&caches, FTH_SIM_L1, 2, 0, 0));
    fth_sim_caches_launch(&caches, 100);
    (void)holds(&caches, FTH_SIM_L1, 2, 0, 0);
    assert_true(holds(&caches, FTH_SIM_L1, 2, 0, 0));
    (void)holds(&caches, FTH_SIM_L1, 2, 0, 128);
    assert_false(holds(&caches, FTH_SIM_L1, 2, 0, 0));
    fth_sim_caches_fini(&caches);
    fth_sim_plan_fini(&plan);
}

/* ---- copies ---- */

static void a_copy_takes_latency_and_bytes(void **state)
{
    (void)state;
    static const struct {
        enum fth_transfer_kind kind;
        bool pinned;
        uint64_t bytes;
        uint32_t ns;
    } rows[] = {
        {FTH_TRANSFER_TO_DEVICE, true, 1000, 2000},
        {FTH_TRANSFER_FROM_DEVICE, true, 1000, 1500},
        {FTH_TRANSFER_BOTH, true, 1000, 1500},
        {FTH_TRANSFER_TO_DEVICE, false, 1000, 3000},
        {FTH_TRANSFER_FROM_DEVICE, false, 1000, 5000},
        {FTH_TRANSFER_FROM_DEVICE, true, 1, 1001}, /* 1000.5, rounded up */
        {FTH_TRANSFER_TO_DEVICE, true, 4294966295, UINT32_MAX},
        {FTH_TRANSFER_TO_DEVICE, true, UINT64_C(1) << 40, UINT32_MAX},
        {FTH_TRANSFER_TO_DEVICE, true, 4294966000, 4294967000},
    };
    struct fth_gpu *gpu = read_gpu("",
                                   "\"link_to_device_bytes_per_s\": 1e9, "
                                   "\"link_from_device_bytes_per_s\": 2e9, "
                                   "\"link_both_bytes_per_s\": 4e9, "
                                   "\"link_pageable_to_device_bytes_per_s\": 5e8, "
                                   "\"link_pageable_from_device_bytes_per_s\": 2.5e8, "
                                   "\"link_latency_ns\": 1000",
                                   "");
    struct fth_sim_host_link link;
    fth_sim_host_link_init(&link, gpu, 1000);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint32_t samples[4] = {1, 1, 1, 1};
        const struct fth_transfer transfer = {
            .kind = rows[i].kind, .pinned = rows[i].pinned, .bytes = rows[i].bytes, .repeats = 3};
        assert_int_equal(fth_sim_transfer(&link, &transfer, samples, NULL), FTH_OK);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(samples[k], rows[i].ns);
        assert_int_equal(samples[3], 1);
    }
    static const char no_link[] = "the description has no latency or bandwidth of the host link";
    struct fth_error error = NO_ERROR;
    struct fth_transfer transfer = {.kind = FTH_TRANSFER_BOTH, .bytes = 1, .repeats = 1};
    assert_int_equal(fth_sim_transfer(&link, &transfer, NULL, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.cause, no_link);
    error = NO_ERROR;
    transfer.kind = FTH_TRANSFER_BOTH + 1;
    assert_int_equal(fth_sim_transfer(&link, &transfer, NULL, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.cause, "there is no other GPU");
    error = NO_ERROR;
    transfer.kind = FTH_TRANSFER_TO_DEVICE;
    link.latency_ns = NAN;
    assert_int_equal(fth_sim_transfer(&link, &transfer, NULL, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.cause, no_link);
    fth_gpu_destroy(gpu);
}

/* ---- limits ---- */

static void figures_are_limited_on_both_sides(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *device, *cause; /* NULL: accepted */
    } rows[] = {
        {"", "\"sms\": 1024", NULL},
        {"", "\"sms\": 1025", "device.sms: 1025 is above 1024, the limit of simulated GPUs"},
        {"", "\"clock_mhz\": 1", NULL},
        {"", "\"clock_mhz\": 10000", NULL},
        {"", "\"clock_mhz\": 0.5", "device.clock_mhz: 0.5 is below 1, the limit of simulated GPUs"},
        {"", "\"warp_size\": 32", NULL},
        {"", "\"warp_size\": 64", "device.warp_size: 64 is above 32, the limit of simulated GPUs"},
        {"\"l2\": {\"size_bytes\": 536870912}", "", NULL},
        {"\"l2\": {\"size_bytes\": 536870944}", "",
         "elements.l2.size_bytes: 536870944 is above 536870912, the limit of simulated GPUs"},
        {"\"l1\": {\"size_bytes\": 16777216}", "", NULL},
        {"\"l1\": {\"size_bytes\": 16777232}", "",
         "elements.l1.size_bytes: 16777232 is above 16777216, the limit of simulated GPUs"},
        {"\"registers\": {\"size_bytes\": 1e15}", "", NULL},
        {"\"shared\": {\"carveout_bytes\": [0, 16777216]}", "", NULL},
        {"\"shared\": {\"carveout_bytes\": [0, 16777217]}", "",
         "elements.shared.carveout_bytes: 16777217 is above 16777216, the limit of simulated GPUs"},
        {"\"memory\": {\"read_bytes_per_s\": 1e9}", "", NULL},
        {"\"memory\": {\"write_bytes_per_s\": 999999999}", "",
         "elements.memory.write_bytes_per_s: 999999999 is below 1000000000, the limit of simulated "
         "GPUs"},
        {"\"memory\": {\"copy_bytes_per_s\": 5}", "",
         "elements.memory.copy_bytes_per_s: 5 is below 1000000000, the limit of simulated GPUs"},
        {"\"l1\": {\"latency_cycles\": 1000000}", "", NULL},
        {"\"l1\": {\"latency_cycles\": 1000001}", "",
         "elements.l1.latency_cycles: 1000001 is above 1000000, the limit of simulated GPUs"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_gpu *gpu = read_gpu(rows[i].elements, rows[i].device, "");
        const enum fth_status status = fth_sim_check_description(gpu, &error);
        fth_gpu_destroy(gpu);
        assert_int_equal(status, rows[i].cause ? FTH_INVALID : FTH_OK);
        if (rows[i].cause) {
            assert_string_equal(error.cause, rows[i].cause);
            assert_string_equal(error.operation, "simulate GPU");
            assert_string_equal(error.argument, "Test");
        }
    }
}

/* All caches and TLBs together have at most 2^24 lines. */
static void the_lines_of_all_caches_are_limited(void **state)
{
    (void)state;
    enum { MOST = 1 << 24 };
    const uint64_t uneven[] = {MOST - 300, 100};
    struct fth_sim_plan plan = {.sms = 20, .partitions = 2};
    struct fth_error error = NO_ERROR;
    plan.l2 = (struct fth_sim_shape){.sets = MOST / 2, .ways = 1};
    assert_int_equal(fth_sim_check_plan(&plan, NULL), FTH_OK);
    plan.l2.sets++;
    assert_int_equal(fth_sim_check_plan(&plan, &error), FTH_INVALID);
    assert_string_equal(error.argument, "l2");
    assert_string_equal(
        error.cause,
        "8388609 lines or entries in each of 2 instances; together with those of the other caches "
        "and TLBs, they exceed 16777216, the limit of simulated GPUs");
    /* 20 SMs with two L1s of one line each, which the texture cache shares; one TLB per 16 SMs */
    plan.levels[FTH_SIM_L1] = plan.levels[FTH_SIM_TEXTURE] =
        (struct fth_sim_level){.present = true, .array = 0};
    plan.levels[FTH_SIM_READONLY].array = 0; /* not present */
    plan.arrays[0] = (struct fth_sim_shape){.sets = 1, .ways = 1, .per_sm = 2};
    plan.tlbs[1].present = true;
    plan.tlbs[1].shape = (struct fth_sim_shape){.sets = 5, .ways = 16, .scope = FTH_SIM_SCOPE_GPC};
    plan.partitions = 1;
    plan.l2 = (struct fth_sim_shape){.sets = 2, .set_ways = uneven};
    assert_int_equal(fth_sim_check_plan(&plan, NULL), FTH_OK); /* 40 + MOST - 200 + 2 * 80 */
    error = NO_ERROR;
    plan.tlbs[1].shape.ways = 17;
    assert_int_equal(fth_sim_check_plan(&plan, &error), FTH_INVALID);
    assert_string_equal(error.argument, "tlb_l2");
}

/* ---- facts ---- */

/* Appends "section.attribute=value" for each attribute of a section, with its source. */
static void list_facts(const struct fth_gpu *gpu, const char *section, char *text, size_t size)
{
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(gpu, section, i)); i++) {
        const size_t used = strlen(text);
        const char *source = a->source == FTH_SOURCE_DRIVER    ? ""
                             : a->source == FTH_SOURCE_DERIVED ? " (derived)"
                                                               : " (none)";
        if (a->kind == FTH_TEXT)
            snprintf(text + used, size - used, "%s.%s=%s%s\n", section, a->name, a->text, source);
        else
            snprintf(text + used, size - used, "%s.%s=%.12g%s\n", section, a->name, a->number,
                     source);
    }
}

/* Checks the facts that the GPU reports, and a copy of them. */
static void assert_facts(const char *elements, const char *device, const char *expected)
{
    struct fth_sim_plan plan;
    struct fth_gpu *gpu = read_gpu(elements, device, ""), *facts = NULL, *copy = NULL;
    char text[2048] = "", copied[2048] = "";
    assert_int_equal(fth_sim_plan_init(&plan, gpu, NULL), FTH_OK);
    assert_int_equal(fth_sim_facts_create(gpu, &plan, &facts, NULL), FTH_OK);
    assert_int_equal(fth_gpu_create(&copy, NULL), FTH_OK);
    assert_int_equal(fth_sim_facts_copy(facts, copy, NULL), FTH_OK);
    list_facts(facts, "device", text, sizeof text);
    list_facts(copy, "device", copied, sizeof copied);
    for (size_t k = 0; k < fth_gpu_element_count(facts); k++) {
        list_facts(facts, fth_gpu_element_name(facts, k), text, sizeof text);
        list_facts(copy, fth_gpu_element_name(facts, k), copied, sizeof copied);
    }
    assert_string_equal(text, expected);
    assert_string_equal(copied, expected);
    fth_gpu_destroy(gpu);
    fth_gpu_destroy(facts);
    fth_gpu_destroy(copy);
    fth_sim_plan_fini(&plan);
}

/* A simulated GPU reports what a driver would: no latencies and no sizes of caches in the SM. */
static void facts_are_those_of_a_driver(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *device, *facts;
    } rows[] = {
        {"", "",
         "device.name=Test\ndevice.sms=16\ndevice.backend=simulated\nmemory.scope=gpu (none)\n"
         "memory.size_bytes=17179869184\n"},
        {"\"l1\": {\"size_bytes\": 1024}, \"l2\": {\"size_bytes\": 2048, \"latency_cycles\": 9}, "
         "\"shared\": {\"size_bytes\": 4096, \"max_block_bytes\": 512, \"banks\": 8}, "
         "\"registers\": {\"size_bytes\": 8192}, \"memory\": {\"size_bytes\": 16384, "
         "\"peak_bytes_per_s\": 1e12}",
         "\"vendor\": \"NVIDIA\", \"architecture\": \"Volta\", \"compute_capability\": \"7.0\", "
         "\"sms\": 5, \"warp_size\": 32, \"clock_mhz\": 1500, \"memory_clock_mhz\": 1, "
         "\"memory_bus_bits\": 1000, \"max_threads_per_block\": 64, \"max_threads_per_sm\": 128, "
         "\"cores_per_sm\": 64",
         "device.name=Test\ndevice.vendor=NVIDIA\ndevice.architecture=Volta (derived)\n"
         "device.compute_capability=7.0\ndevice.sms=5\ndevice.warp_size=32\n"
         "device.clock_mhz=1500\ndevice.memory_clock_mhz=4000\ndevice.memory_bus_bits=1000\n"
         "device.max_threads_per_block=64\ndevice.max_threads_per_sm=128\n"
         "device.backend=simulated\n"
         "shared.scope=sm (none)\nshared.size_bytes=4096\nshared.max_block_bytes=512\n"
         "l2.scope=gpu (none)\nl2.size_bytes=2048\nmemory.scope=gpu (none)\n"
         "memory.size_bytes=16384\nregisters.scope=sm (none)\nregisters.size_bytes=8192\n"},
        /* Through OpenCL, a device of another vendor reports no caches. */
        {"\"vector_l1\": {\"size_bytes\": 1024}, \"lds\": {\"size_bytes\": 4096}, "
         "\"l2\": {\"size_bytes\": 2048}, \"l3\": {\"size_bytes\": 4096}, "
         "\"registers\": {\"size_bytes\": 8192}, \"memory\": {\"size_bytes\": 16384}",
         "\"vendor\": \"AMD\", \"kind\": \"gpu\", \"architecture\": \"CDNA 3\", \"sms\": 5, "
         "\"warp_size\": 64, \"clock_mhz\": 1500, \"memory_bus_bits\": 1000, "
         "\"max_threads_per_block\": 64, \"max_threads_per_sm\": 128, \"xcds\": 2",
         "device.name=Test\ndevice.vendor=AMD\ndevice.kind=gpu\ndevice.sms=5\n"
         "device.warp_size=64\ndevice.clock_mhz=1500\ndevice.max_threads_per_block=64\n"
         "device.unit_source=%smid\ndevice.instruction_bytes=4\ndevice.backend=simulated\n"
         "memory.scope=gpu (none)\nmemory.size_bytes=16384\n"},
        {"", "\"memory_clock_mhz\": 7, \"memory_bus_bits\": 128",
         "device.name=Test\ndevice.memory_clock_mhz=7\ndevice.memory_bus_bits=128\n"
         "device.sms=16\ndevice.backend=simulated\nmemory.scope=gpu (none)\n"
         "memory.size_bytes=17179869184\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_facts(rows[i].elements, rows[i].device, rows[i].facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_waits_for_a_bucket_that_is_not_full),
        cmocka_unit_test(a_copy_pairs_reads_and_writes),
        cmocka_unit_test(each_cycle_serves_one_request),
        cmocka_unit_test(noise_deviates_within_its_limits),
        cmocka_unit_test(a_neighbour_runs_at_times),
        cmocka_unit_test(a_read_reports_what_is_missing),
        cmocka_unit_test(scopes_have_instances),
        cmocka_unit_test(warps_use_their_instances),
        cmocka_unit_test(a_smaller_l1_has_fewer_ways),
        cmocka_unit_test(a_copy_takes_latency_and_bytes),
        cmocka_unit_test(figures_are_limited_on_both_sides),
        cmocka_unit_test(the_lines_of_all_caches_are_limited),
        cmocka_unit_test(facts_are_those_of_a_driver),
    };
    return cmocka_run_group_tests_name("sim_units", tests, NULL, NULL);
}
