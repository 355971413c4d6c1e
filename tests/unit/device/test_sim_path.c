/* Tests of the paths of accesses in simulated GPUs (device/sim/): the L2 and its partitions, TLBs,
 * and the latency of an access. Times are in thousandths of a cycle. */
#include "simulated.h"

static void plan_init(struct fth_sim_plan *plan, const char *elements, const char *device)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = read_gpu(elements, device, "");
    if (fth_sim_plan_init(plan, gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(gpu);
}

/* ---- L2 ---- */

#define TWO_PARTITIONS                                                                             \
    "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"sector_bytes\": 32, "                  \
    "\"partitions\": 2, \"home_mask\": 4096, \"latency_cycles\": 200, "                            \
    "\"far_latency_cycles\": 300}, "                                                               \
    "\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 620}"

enum { READ, WRITE, ATOMIC };
static const struct {
    int kind;
    uint32_t sm;
    uint64_t address, bytes;
    int64_t latency;
} steps[] = {
    {READ, 0, 0, 4, 500000},
    {READ, 0, 28, 4, 200000},
    {READ, 0, 32, 4, 500000}, /* another sector */
    {READ, 1, 0, 4, 300000},  /* in the home partition, which is far */
    {READ, 1, 0, 4, 200000},  /* its copy is near */
    {READ, 0, 4096, 4, 620000},
    {READ, 1, 4096, 4, 200000},
    {READ, 0, 4096, 4, 200000},
    {READ, 3, 4096 + 32, 4, 500000},
    {READ, 2, 4096 + 32, 4, 300000},
    /* Writes go to the home and drop copies. */
    {WRITE, 0, 0, 4, 200000},
    {READ, 0, 0, 4, 200000},
    {READ, 1, 0, 4, 300000},
    {WRITE, 1, 0, 4, 300000},
    {READ, 1, 0, 4, 300000},
    {WRITE, 1, 4096, 4, 200000},
    {WRITE, 0, 4096, 4, 300000},
    {READ, 0, 4096, 4, 300000},
    /* A partial write of a sector: the rest is missing. */
    {WRITE, 0, 256, 4, 200000},
    {READ, 0, 256, 4, 500000},
    {READ, 0, 256, 4, 200000},
    /* Atomics are executed in the home, and drop copies as well. */
    {ATOMIC, 0, 512, 4, 500000},
    {ATOMIC, 0, 512, 4, 200000},
    {ATOMIC, 1, 512, 4, 300000},
    {READ, 1, 512, 4, 300000},
    {READ, 1, 512, 4, 200000},
    {ATOMIC, 0, 512, 4, 200000},
    {READ, 1, 512, 4, 300000},
    {ATOMIC, 0, 8192 + 4096, 4, 620000},
    {ATOMIC, 0, 8192 + 4096, 4, 300000},
    /* A range of several lines: the slowest one counts. */
    {READ, 0, 1024, 128, 500000},
    {READ, 0, 1024 + 64, 128, 500000},
    {READ, 0, 1024, 192, 200000},
    {READ, 0, 20480 - 64, 128, 620000},
    {WRITE, 0, 4096 - 4, 8, 300000},
    {WRITE, 0, 2048, 256, 200000},
    {READ, 0, 2048, 256, 200000},
};

/* SM 0 is near partition 0. Bit 12 of the address selects the home. */
static void the_home_of_a_line_is_near_or_far(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan, TWO_PARTITIONS, "\"sms\": 4");
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    assert_int_equal(l2.sharers, 4);
    for (size_t i = 0; i < FTH_COUNT(steps); i++) {
        const int64_t latency =
            steps[i].kind == READ
                ? fth_sim_l2_read(&l2, steps[i].sm, steps[i].address, steps[i].bytes, 0)
            : steps[i].kind == WRITE
                ? fth_sim_l2_write(&l2, steps[i].sm, steps[i].address, steps[i].bytes, NULL, 0)
                : fth_sim_l2_atomic(&l2, steps[i].sm, steps[i].address, steps[i].bytes, 0);
        if (latency != steps[i].latency)
            fail_msg("row %zu: %lld", i, (long long)latency);
    }
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* With three partitions, the number of address bits under the mask selects the home. */
static void more_partitions_count_the_bits(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan,
              "\"l2\": {\"size_bytes\": 98304, \"partitions\": 3, \"home_mask\": 12288, "
              "\"latency_cycles\": 200, \"far_latency_cycles\": 300}, "
              "\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 620}",
              "\"sms\": 3");
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    static const struct {
        uint64_t address;
        uint32_t home;
    } rows[] = {{0, 0}, {4096, 1}, {8192, 1}, {12288, 2}, {16384, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint32_t sm = 0; sm < 3; sm++)
            assert_int_equal(fth_sim_l2_read(&l2, sm, rows[i].address + (uint64_t)1024 * sm, 4, 0),
                             sm == rows[i].home ? 500000 : 620000);
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* Another program reads nothing, a part of the L2, or all of it. */
static void a_sweep_replaces_lines(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned left; /* of 64 lines */
    } rows[] = {{0, 64}, {1, 63}, {128, 63}, {129, 62}, {4096, 32}, {8191, 0}, {8192, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sim_plan plan;
        struct fth_sim_l2 l2;
        plan_init(&plan,
                  "\"l2\": {\"size_bytes\": 8192, \"line_bytes\": 128, \"sets\": 4, "
                  "\"latency_cycles\": 200}, \"memory\": {\"latency_cycles\": 500}",
                  "");
        assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
        for (uint64_t line = 0; line < 64; line++)
            assert_int_equal(fth_sim_l2_read(&l2, 0, line * 128, 4, 0), 500000);
        fth_sim_l2_sweep(&l2, rows[i].bytes);
        unsigned left = 0;
        for (uint64_t line = 0; line < 64; line++)
            left += fth_cache_probe(l2.partitions[0], line * 128, 4) == FTH_CACHE_HIT;
        assert_int_equal(left, rows[i].left);
        fth_sim_l2_fini(&l2);
        fth_sim_plan_fini(&plan);
    }
}

/* At 1 GHz, with two SMs in the launch: a byte takes 2 * 0.001 cycles of an SM's share of the L2,
 * and 2 * 0.01 cycles of its share of memory. The latencies are 1 and 2 cycles. */
static void bandwidth_is_shared_by_the_sms(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan,
              "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 4096, \"latency_cycles\": 1, "
              "\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 5e11}, "
              "\"memory\": {\"latency_cycles\": 2, \"read_bytes_per_s\": 1e11, "
              "\"write_bytes_per_s\": 5e10}",
              "\"sms\": 8");
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    fth_sim_l2_launch(&l2, 2);
    /* 500 bytes take 1 cycle of the L2. A miss fetches a line, which takes 81.92 cycles. */
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 500, 0), 2000);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 0, 500, 0), 1000 + 1000);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 4096, 500, 0), 2000 + 81920);
    /* A write takes 2 cycles of the L2. A line that becomes dirty takes 163.84 cycles. */
    assert_int_equal(fth_sim_l2_write(&l2, 0, 0, 500, NULL, 0), 1000 + 163840);
    assert_int_equal(fth_sim_l2_write(&l2, 0, 0, 500, NULL, 0), 1000 + 5000);
    assert_int_equal(fth_sim_l2_read(&l2, 0, 8192, 500, 0), 2000 + 327680);
    /* Each SM has its own share. */
    assert_int_equal(fth_sim_l2_read(&l2, 1, 0, 500, 0), 1000);
    assert_int_equal(fth_sim_l2_atomic(&l2, 1, 12288, 500, 0), 2000 + 1000);
    /* The atomic has fetched a line and made it dirty: 81.92 + 163.84 cycles. */
    assert_int_equal(fth_sim_l2_read(&l2, 1, 16384, 500, 0), 2000 + 245760);
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* A copy in a launch pairs the reads and writes of that launch only. */
static void a_launch_forgets_unpaired_reads(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    struct fth_sim_l2 l2;
    plan_init(&plan,
              "\"l2\": {\"read_bytes_per_s\": 1e12}, \"memory\": {\"read_bytes_per_s\": 1e12}",
              "\"sms\": 2");
    assert_int_equal(fth_sim_l2_init(&l2, &plan, NULL), FTH_OK);
    for (uint32_t sm = 0; sm < 2; sm++)
        (void)fth_sim_l2_read(&l2, sm, (uint64_t)4096 * sm, 64, 0);
    for (uint32_t sm = 0; sm < 2; sm++) {
        assert_int_equal(l2.ports[sm].l2.unpaired_reads, 64);
        assert_int_equal(l2.ports[sm].memory.unpaired_reads, 128);
    }
    fth_sim_l2_launch(&l2, 1);
    assert_int_equal(l2.sharers, 1);
    for (uint32_t sm = 0; sm < 2; sm++)
        assert_int_equal(l2.ports[sm].l2.unpaired_reads | l2.ports[sm].memory.unpaired_reads, 0);
    fth_sim_l2_fini(&l2);
    fth_sim_plan_fini(&plan);
}

/* ---- TLBs ---- */

/* Pages have 4 KiB and page tables 1 MiB. Each SM has a TLB of two entries. */
static void a_miss_adds_the_penalty_of_its_level(void **state)
{
    (void)state;
    enum { LOOK_UP, LAUNCH, EMPTY };
    static const struct {
        int action;
        uint32_t sm;
        uint64_t address;
        int64_t penalty;
    } rows[] = {
        {LAUNCH, 0, 0, 0},
        {LOOK_UP, 0, 0, 110000},
        {LOOK_UP, 0, 4095, 0},
        {EMPTY, 0, 0, 0}, /* SM 1 has no TLB yet */
        {LOOK_UP, 0, 0, 110000},
        {LOOK_UP, 0, 4096, 110000},
        {LOOK_UP, 1, 0, 10000}, /* in the second TLB */
        {LOOK_UP, 0, 8191, 0},
        {LOOK_UP, 0, 8192, 110000}, /* replaces page 0 */
        {LOOK_UP, 0, 0, 10000},
        {LOOK_UP, 0, 1 << 20, 1110000}, /* another page table */
        {LOOK_UP, 0, 0x101000, 110000},
        {LOOK_UP, 0, 2 << 20, 1110000},
        {LAUNCH, 0, 0, 0},
        {LOOK_UP, 0, 2 << 20, 0},      /* the TLBs keep their entries */
        {LOOK_UP, 0, 3 << 20, 110000}, /* the first page table of the launch */
        {LOOK_UP, 0, 4 << 20, 1110000},
        {EMPTY, 0, 0, 0},
        {LOOK_UP, 0, 4 << 20, 110000},
        {LOOK_UP, 1, 4 << 20, 10000},
        {EMPTY, 0, 0, 0},
        {LOOK_UP, 1, 4 << 20, 110000},
    };
    struct fth_sim_plan plan;
    struct fth_sim_tlbs tlbs;
    plan_init(&plan,
              "\"tlb_l1\": {\"entries\": 2, \"page_bytes\": 4096, \"scope\": \"sm\", "
              "\"miss_penalty_cycles\": 10}, \"tlb_l3\": {\"entries\": 4, \"page_bytes\": 4096, "
              "\"miss_penalty_cycles\": 100}, \"memory\": {\"page_table_bytes\": 1048576}",
              "\"sms\": 2");
    assert_int_equal(fth_sim_tlbs_init(&tlbs, &plan, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        if (rows[i].action == LAUNCH)
            fth_sim_tlbs_launch(&tlbs);
        else if (rows[i].action == EMPTY)
            fth_sim_tlbs_empty(&tlbs);
        else if (fth_sim_tlbs_look_up(&tlbs, rows[i].sm, rows[i].address) != rows[i].penalty)
            fail_msg("row %zu", i);
    }
    assert_false(tlbs.failed);
    fth_sim_tlbs_fini(&tlbs);
    fth_sim_plan_fini(&plan);
}

/* ---- the latency of an access ---- */

/* Lane i accesses the address start + stride * i. */
struct pattern {
    enum fth_ptx_space space;
    enum fth_ptx_access_kind kind;
    uint32_t mask, bytes;
    uint64_t start;
    int64_t stride;
    uint32_t rank, target;
    int64_t latency; /* in cycles */
};

static int64_t latency_of(struct fth_sim_timing *timing, const struct pattern *pattern,
                          int64_t time)
{
    uint64_t addresses[32];
    for (int64_t i = 0; i < 32; i++)
        addresses[i] = pattern->start + (uint64_t)(i * pattern->stride);
    const struct fth_ptx_access access = {.who = {.rank = pattern->rank},
                                          .space = pattern->space,
                                          .kind = pattern->kind,
                                          .mask = pattern->mask,
                                          .bytes = pattern->bytes,
                                          .target = pattern->target,
                                          .addresses = addresses};
    return fth_sim_path_latency(timing, &access, time);
}

static struct fth_sim_timing timing;

/* Executes the patterns, far apart in time. */
static void check_patterns(const char *elements, const struct pattern *patterns, size_t count)
{
    struct fth_sim_plan plan;
    plan_init(&plan, elements, "\"sms\": 2");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    for (size_t i = 0; i < count; i++) {
        const int64_t latency = latency_of(&timing, &patterns[i], (int64_t)i * 1000000);
        if (latency != patterns[i].latency * 1000)
            fail_msg("row %zu: %lld", i, (long long)latency);
    }
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

#define ALL UINT32_MAX
#define READ_SHARED FTH_SPACE_SHARED, FTH_ACCESS_READ

/* A bank delivers one word of 4 bytes per cycle. Each further word adds 2 cycles. */
static void bank_conflicts_add_cycles(void **state)
{
    (void)state;
    static const struct pattern patterns[] = {
        {READ_SHARED, 1, 4, 0, 0, 0, 0, 20},
        {READ_SHARED, 0x80, 16, 64, 0, 0, 0, 20},
        {READ_SHARED, ALL, 4, 0, 4, 0, 0, 20},
        {READ_SHARED, ALL, 4, 128, 4, 0, 0, 20},
        {READ_SHARED, ALL, 8, 0, 8, 0, 0, 22},
        {READ_SHARED, ALL, 16, 0, 16, 0, 0, 26},
        {READ_SHARED, ALL, 2, 0, 2, 0, 0, 20},
        {READ_SHARED, ALL, 2, 2, 2, 0, 0, 20}, /* words 0 to 16; not aligned to a word */
        {READ_SHARED, ALL, 4, 0, 8, 0, 0, 22},
        {READ_SHARED, 0xffff, 4, 0, 8, 0, 0, 20},
        {READ_SHARED, 0x1ffff, 4, 0, 8, 0, 0, 22},
        {READ_SHARED, ALL, 4, 0, 128, 0, 0, 82},
        {READ_SHARED, ALL, 4, 0, 132, 0, 0, 20},
        {READ_SHARED, ALL, 4, 64, 0, 0, 0, 20},
        {READ_SHARED, ALL, 4, 4096, -4, 0, 0, 20},
        {FTH_SPACE_SHARED, FTH_ACCESS_ATOMIC, ALL, 4, 64, 0, 0, 0, 82},
        {FTH_SPACE_SHARED, FTH_ACCESS_ATOMIC, 7, 4, 64, 0, 0, 0, 24},
        {FTH_SPACE_SHARED, FTH_ACCESS_WRITE, ALL, 4, 0, 8, 0, 0, 22},
        /* other blocks of the cluster: the neighbour, and others */
        {READ_SHARED, 1, 4, 0, 0, 0, 1, 190},
        {READ_SHARED, 1, 4, 0, 0, 1, 0, 190},
        {READ_SHARED, 1, 4, 0, 0, 2, 3, 190},
        {READ_SHARED, 1, 4, 0, 0, 0, 2, 210},
        {READ_SHARED, 1, 4, 0, 0, 1, 2, 210},
        {READ_SHARED, 1, 4, 0, 0, 3, 3, 20},
        {READ_SHARED, ALL, 4, 0, 8, 1, 0, 192},
        {FTH_SPACE_PARAM, FTH_ACCESS_READ, ALL, 4, 0, 8, 0, 0, 0},
    };
    check_patterns("\"shared\": {\"latency_cycles\": 20, \"conflict_cycles\": 2}, "
                   "\"cluster_shared\": {\"latency_cycles\": 190, \"far_latency_cycles\": 210}",
                   patterns, FTH_COUNT(patterns));
}

/* With one bank of 4 bytes, every lane has its own cycle. */
static void one_bank_serves_one_word_at_a_time(void **state)
{
    (void)state;
    static const struct pattern patterns[] = {
        {READ_SHARED, ALL, 4, 0, 4, 0, 0, 82},
        {READ_SHARED, ALL, 2, 0, 2, 0, 0, 50},
        {READ_SHARED, 0x7fffffff, 4, 0, 4, 0, 0, 80},
    };
    check_patterns("\"shared\": {\"latency_cycles\": 20, \"conflict_cycles\": 2, \"banks\": 1}",
                   patterns, FTH_COUNT(patterns));
}

#define READ_GLOBAL FTH_SPACE_GLOBAL, FTH_ACCESS_READ
#define WRITE_GLOBAL FTH_SPACE_GLOBAL, FTH_ACCESS_WRITE

/* Requests have at most 128 bytes and leave the SM one per cycle. L2 and memory take 200 cycles. */
static void accesses_are_coalesced(void **state)
{
    (void)state;
    static const struct pattern patterns[] = {
        {READ_GLOBAL, 1, 4, 0, 0, 0, 0, 200},
        {READ_GLOBAL, ALL, 4, 0, 4, 0, 0, 200},
        {READ_GLOBAL, ALL, 4, 4, 4, 0, 0, 201},
        {READ_GLOBAL, ALL, 4, 124, 4, 0, 0, 201},
        {READ_GLOBAL, ALL, 8, 0, 8, 0, 0, 201},
        {READ_GLOBAL, ALL, 16, 0, 16, 0, 0, 203},
        {READ_GLOBAL, ALL, 16, 64, 16, 0, 0, 204},
        {READ_GLOBAL, ALL, 1, 96, 1, 0, 0, 200},
        {READ_GLOBAL, ALL, 4, 0, 0, 0, 0, 200}, /* the same word */
        {READ_GLOBAL, 0x8001, 4, 0, 0, 0, 0, 200},
        {READ_GLOBAL, 0xffff, 4, 0, 4, 0, 0, 200},
        {READ_GLOBAL, 0xff0ff, 4, 0, 4, 0, 0, 201}, /* a gap */
        {READ_GLOBAL, ALL, 4, 124, -4, 0, 0, 200},
        {READ_GLOBAL, ALL, 4, 252, -4, 0, 0, 200},
        {READ_GLOBAL, ALL, 4, 128, -4, 0, 0, 201},
        {READ_GLOBAL, ALL, 4, 0, 2, 0, 0, 200}, /* overlapping */
        {READ_GLOBAL, ALL, 4, 0, 8, 0, 0, 231},
        {READ_GLOBAL, ALL, 4, 0, 128, 0, 0, 231},
        {READ_GLOBAL, ALL, 4, 8192, -128, 0, 0, 231},
        {READ_GLOBAL, 3, 4, 0, 128, 0, 0, 201},
        {WRITE_GLOBAL, ALL, 4, 0, 4, 0, 0, 200},
        {WRITE_GLOBAL, ALL, 4, 0, 128, 0, 0, 231},
        {WRITE_GLOBAL, 1, 4, 0, 0, 0, 0, 200},
        {FTH_SPACE_GLOBAL, FTH_ACCESS_ATOMIC, ALL, 4, 0, 256, 0, 0, 231},
        /* Words of local memory with the same offset are adjacent. */
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, ALL, 4, 0, 0, 0, 0, 200},
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, ALL, 8, 0, 0, 0, 0, 201},
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, ALL, 16, 16, 0, 0, 0, 203},
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, ALL, 1, 5, 0, 0, 0, 231},
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, ALL, 4, 0, 4, 0, 0, 231},
        {FTH_SPACE_LOCAL, FTH_ACCESS_READ, 1, 4, 0, 4, 0, 0, 200},
        {FTH_SPACE_LOCAL, FTH_ACCESS_WRITE, ALL, 4, 64, 0, 0, 0, 200},
    };
    check_patterns("\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 200}, "
                   "\"memory\": {\"latency_cycles\": 200}",
                   patterns, FTH_COUNT(patterns));
}

/* A request of 4 bytes occupies the port of the L1 for 2 cycles, but the requests leave one per
 * cycle: request i, from 0 on, leaves after i cycles and waits for i more. */
static void writes_wait_for_the_port_of_the_l1(void **state)
{
    (void)state;
    static const struct pattern patterns[] = {
        {WRITE_GLOBAL, ALL, 4, 0, 128, 0, 0, 262},
    };
    check_patterns("\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 30, "
                   "\"write_bytes_per_s\": 4e9}, "
                   "\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 200}, "
                   "\"memory\": {\"latency_cycles\": 200}",
                   patterns, FTH_COUNT(patterns));
}

/* Accesses at the same time: each one waits until the banks, or the request port, are free. */
static void accesses_wait_for_each_other(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan,
              "\"shared\": {\"latency_cycles\": 20, \"conflict_cycles\": 2}, "
              "\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 200}, "
              "\"memory\": {\"latency_cycles\": 200}",
              "\"sms\": 2");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    static const struct pattern patterns[] = {
        {READ_SHARED, ALL, 4, 0, 4, 0, 0, 20},   {READ_SHARED, ALL, 4, 0, 4, 0, 0, 21},
        {READ_SHARED, ALL, 4, 0, 128, 0, 0, 84}, /* 32 cycles of the banks */
        {READ_SHARED, 1, 4, 0, 0, 0, 0, 54},     {READ_GLOBAL, 1, 4, 0, 0, 0, 0, 200},
        {READ_GLOBAL, 1, 4, 0, 0, 0, 0, 201},    {READ_GLOBAL, ALL, 4, 0, 128, 0, 0, 233},
        {READ_GLOBAL, 1, 4, 0, 0, 0, 0, 234},
    };
    for (size_t i = 0; i < FTH_COUNT(patterns); i++)
        assert_int_equal(latency_of(&timing, &patterns[i], 0), patterns[i].latency * 1000);
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

/* Lanes that access segments in any order: a range that touches an earlier one extends it. */
static void ranges_are_merged_in_any_order(void **state)
{
    (void)state;
    static const struct {
        uint64_t addresses[5];
        int64_t requests;
    } rows[] = {
        {{128, 0, 132, 136, 4}, 2},     {{0, 128, 4, 132, 256}, 3}, {{256, 128, 0, 260, 132}, 3},
        {{0, 8, 4, 12, 16}, 2},         {{0, 8, 16, 24, 4}, 4},     {{124, 128, 120, 132, 252}, 3},
        {{512, 0, 4, 516, 8}, 2},       {{0, 0, 0, 0, 4}, 1},       {{64, 68, 60, 72, 56}, 1},
        {{1024, 512, 1028, 516, 0}, 3},
    };
    struct fth_sim_plan plan;
    plan_init(&plan,
              "\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 200}, "
              "\"memory\": {\"latency_cycles\": 200}",
              "\"sms\": 2");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t addresses[32];
        memcpy(addresses + 3, rows[i].addresses, sizeof rows[i].addresses);
        const struct fth_ptx_access access = {.space = FTH_SPACE_GLOBAL,
                                              .kind = FTH_ACCESS_READ,
                                              .mask = 0xf8,
                                              .bytes = 4,
                                              .addresses = addresses};
        const int64_t latency = fth_sim_path_latency(&timing, &access, (int64_t)i * 1000000);
        if (latency != (199 + rows[i].requests) * 1000)
            fail_msg("row %zu: %lld", i, (long long)latency);
    }
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

/* Two SMs at 1 GHz; a warp accesses 128 bytes. Waits of accesses at the same time. */
static void the_bandwidth_of_shared_memory_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *rates;
        enum fth_ptx_access_kind kind;
        uint32_t target;
        int64_t waits[3]; /* in thousandths of a cycle */
    } rows[] = {
        /* 128 bytes per cycle and SM: one row of the banks */
        {"\"read_bytes_per_s\": 2.56e11", FTH_ACCESS_READ, 0, {0, 1000, 2000}},
        {"\"read_bytes_per_s\": 1.28e11", FTH_ACCESS_READ, 0, {0, 2000, 4000}},
        {"\"read_bytes_per_s\": 1.28e11", FTH_ACCESS_WRITE, 0, {0, 1000, 2000}},
        {"\"write_bytes_per_s\": 1.28e11", FTH_ACCESS_WRITE, 0, {0, 2000, 4000}},
        {"\"read_bytes_per_s\": 5.12e11", FTH_ACCESS_READ, 0, {0, 1000, 2000}},
        /* 100 bytes per cycle are not whole rows: 1.28 cycles */
        {"\"read_bytes_per_s\": 2e11", FTH_ACCESS_READ, 0, {0, 1280, 2560}},
        {"\"write_bytes_per_s\": 2e11", FTH_ACCESS_WRITE, 0, {0, 1280, 2560}},
        {"\"write_bytes_per_s\": 2e11", FTH_ACCESS_READ, 0, {0, 1000, 2000}},
        /* another block of the cluster, which has 64 bytes per cycle */
        {"\"latency_cycles\": 20", FTH_ACCESS_READ, 1, {0, 2000, 4000}},
        {"\"latency_cycles\": 20", FTH_ACCESS_WRITE, 1, {0, 4000, 8000}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[400];
        struct fth_sim_plan plan;
        snprintf(elements, sizeof elements,
                 "\"shared\": {%s}, \"cluster_shared\": {\"read_bytes_per_s\": 1.28e11, "
                 "\"write_bytes_per_s\": 6.4e10}",
                 rows[i].rates);
        plan_init(&plan, elements, "\"sms\": 2");
        assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
        fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
        const struct pattern pattern = {
            FTH_SPACE_SHARED, rows[i].kind, UINT32_MAX, 4, 0, 4, 0, rows[i].target, 0};
        const int64_t first = latency_of(&timing, &pattern, 0);
        assert_int_equal(first, rows[i].target ? plan.cluster_latency : plan.shared_latency);
        for (size_t k = 1; k < 3; k++) {
            const int64_t wait = latency_of(&timing, &pattern, 0) - first;
            if (wait != rows[i].waits[k])
                fail_msg("row %zu: %lld", i, (long long)wait);
        }
        fth_sim_timing_fini(&timing);
        fth_sim_plan_fini(&plan);
    }
}

/* ---- launches ---- */

/* An SM holds 64 warps and 48 KiB of shared memory. It has four schedulers. */
static void blocks_share_an_sm(void **state)
{
    (void)state;
    static const struct {
        uint32_t blocks, threads;
        uint64_t shared_bytes;
        uint32_t warps, resident, sharers;
        bool shared_schedulers;
    } rows[] = {
        {1, 1, 0, 1, 32, 1, false},       {1, 32, 0, 1, 32, 1, false},
        {1, 33, 0, 2, 32, 1, false},      {1, 128, 0, 4, 16, 1, false},
        {1, 129, 0, 5, 12, 1, true},      {1, 1024, 0, 32, 2, 1, true},
        {2, 128, 0, 4, 16, 2, false},     {3, 128, 0, 4, 16, 2, true},
        {9, 32, 0, 1, 32, 2, true},       {8, 32, 0, 1, 32, 2, false},
        {8, 32, 49152, 1, 1, 2, false},   {8, 32, 16384, 1, 3, 2, false},
        {100, 32, 8192, 1, 6, 2, true},   {1, 32, 49153, 1, 1, 1, false},
        {100, 64, 24576, 2, 2, 2, false},
    };
    struct fth_sim_plan plan;
    plan_init(&plan, "", "\"sms\": 2");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        fth_sim_timing_launch(&timing, 0, rows[i].blocks, rows[i].threads, 1, rows[i].shared_bytes,
                              -1);
        if (timing.warp_count != rows[i].warps || timing.max_resident != rows[i].resident ||
            timing.l2.sharers != rows[i].sharers ||
            timing.schedulers_shared != rows[i].shared_schedulers)
            fail_msg("row %zu: %u %u %u %d", i, timing.warp_count, timing.max_resident,
                     timing.l2.sharers, timing.schedulers_shared);
    }
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

/* The next launch starts 3 us later, at a multiple of 256 cycles. */
static void launches_follow_each_other(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan, "\"memory\": {\"read_bytes_per_s\": 1e12, \"write_bytes_per_s\": 1e12}", "");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    assert_int_equal(timing.start, 0);
    assert_true(fth_sim_timing_finish(&timing));
    assert_int_equal(timing.start, 3072 * 1000); /* 3001 cycles, rounded up */
    fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
    assert_int_equal(timing.end, timing.start);
    for (size_t i = 0; i < (size_t)plan.sms * FTH_SIM_MAX_RESIDENT; i++)
        assert_int_equal(timing.free_at[i], timing.start);
    assert_true(fth_sim_timing_finish(&timing));
    assert_int_equal(timing.start, 2 * 3072 * 1000);
    /* A copy of 500 bytes takes one cycle. */
    assert_true(fth_sim_timing_copy(&timing, 500));
    assert_int_equal(timing.end, (2 * 3072 + 1) * 1000);
    assert_int_equal(timing.start, 3 * 3072 * 1000);
    assert_false(fth_sim_timing_copy(&timing, 0));
    timing.tlbs.failed = true;
    assert_false(fth_sim_timing_finish(&timing));
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

/* Whatever had no memory, the launch fails. */
static void a_lack_of_memory_is_reported(void **state)
{
    (void)state;
    struct fth_sim_plan plan;
    plan_init(&plan, "", "\"sms\": 2");
    assert_int_equal(fth_sim_timing_init(&timing, &plan, NULL), FTH_OK);
    struct fth_sim_sm *sm = &timing.sms[1];
    bool *const flags[] = {&timing.failed,
                           &timing.tlbs.failed,
                           &sm->requests.failed,
                           &sm->l1.failed,
                           &sm->shared.failed,
                           &sm->cluster.failed,
                           &sm->banks.failed,
                           &sm->issue[0].failed,
                           &sm->issue[3].failed,
                           &timing.l2.ports[1].l2.failed,
                           &timing.l2.ports[1].l3.failed,
                           &timing.l2.ports[1].memory.failed,
                           &timing.l2.failed,
                           &timing.sms[0].l1.failed};
    for (size_t i = 0; i < FTH_COUNT(flags); i++) {
        fth_sim_timing_launch(&timing, 0, 1, 32, 1, 0, -1);
        assert_true(fth_sim_timing_finish(&timing));
        *flags[i] = true;
        assert_false(fth_sim_timing_finish(&timing));
        *flags[i] = false;
    }
    fth_sim_timing_fini(&timing);
    fth_sim_plan_fini(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_home_of_a_line_is_near_or_far),
        cmocka_unit_test(more_partitions_count_the_bits),
        cmocka_unit_test(a_sweep_replaces_lines),
        cmocka_unit_test(bandwidth_is_shared_by_the_sms),
        cmocka_unit_test(a_launch_forgets_unpaired_reads),
        cmocka_unit_test(a_miss_adds_the_penalty_of_its_level),
        cmocka_unit_test(bank_conflicts_add_cycles),
        cmocka_unit_test(one_bank_serves_one_word_at_a_time),
        cmocka_unit_test(accesses_are_coalesced),
        cmocka_unit_test(writes_wait_for_the_port_of_the_l1),
        cmocka_unit_test(accesses_wait_for_each_other),
        cmocka_unit_test(ranges_are_merged_in_any_order),
        cmocka_unit_test(the_bandwidth_of_shared_memory_is_limited),
        cmocka_unit_test(blocks_share_an_sm),
        cmocka_unit_test(launches_follow_each_other),
        cmocka_unit_test(a_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("sim_path", tests, NULL, NULL);
}
