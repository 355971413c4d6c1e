/* Tests of model/, the cache model: the worked examples of the RDGC paper step by step (Tables 1
 * and 3), reuse distances against naive counting, the extensions for newer GPUs on small traces,
 * and invalid parameters. tests/oracle/test_model_oracle.c compares the model with an oracle on
 * random inputs. */
#include "check.h"
#include "folder.h"
#include "model/level/level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn static void fail_with(const struct fth_error *error)
{
    char text[700];
    fail_msg("%s", fth_error_text(error, text, sizeof text));
    abort(); /* not reached: cmocka left the test */
}

/* The default parameters, changed by `sets`: alternating names and values that end with NULL.
 * `sets` itself may be NULL. */
static struct fth_model_params *default_params(const char *const *sets)
{
    struct fth_model_params *params;
    struct fth_error error = NO_ERROR;
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK)
        fail_with(&error);
    for (size_t i = 0; sets && sets[i]; i += 2)
        if (fth_model_set(params, sets[i], sets[i + 1], &error) != FTH_OK)
            fail_with(&error);
    return params;
}

/* ---- Table 1 ---- */

static const uint64_t table_1[] = {'A', 'B', 'C', 'D', 'A', 'A', 'D', 'C'};

static void distances_match_table_1(void **state)
{
    (void)state;
    const uint64_t never = UINT64_MAX;
    const uint64_t expected[] = {never, never, never, never, 3, 0, 1, 2};
    uint64_t found[8];
    struct fth_distances *distances;
    assert_int_equal(fth_distances_create(&distances, NULL), FTH_OK);
    assert_true(fth_distances_add(distances, table_1, 8, found));
    assert_memory_equal(found, expected, sizeof found);
    fth_distances_destroy(distances);
}

/* Runs reads of the lines, one after the other, through a new cache. Returns the number of hits. */
static uint64_t count_hits(const struct fth_shape *shape, const uint64_t *lines, size_t count)
{
    struct fth_cache_level *level;
    struct fth_error error = NO_ERROR;
    struct fth_model_counts counts = {{0}, {0}, {0}, {0}};
    if (fth_cache_level_create(shape, &level, &error) != FTH_OK)
        fail_with(&error);
    for (size_t i = 0; i < count; i++) {
        struct fth_line_request request = {.line = lines[i] * shape->line_bytes, .sectors = 1};
        assert_true(fth_cache_level_run(level, &request, 1, NULL, &counts, NULL));
    }
    fth_cache_level_destroy(level);
    return counts.hits[FTH_TRACE_READ];
}

static struct fth_shape plain_shape(uint64_t ways)
{
    return (struct fth_shape){.line_bytes = 128,
                              .sector_bytes = 128,
                              .fill_bytes = 128,
                              .line_shift = 7,
                              .sector_shift = 7,
                              .sets = 1,
                              .ways = ways,
                              .lines = ways,
                              .partitions = 1,
                              .banks = 1,
                              .ports = 1,
                              .partition_bytes = 128,
                              .bank_bytes = 128,
                              .index = "mod",
                              .policy = "lru",
                              .mshr_sets = 1,
                              .latency_fixed = 1,
                              .write = FTH_WRITE_EVICT};
}

/* The paper: "In the case of caches with four blocks, the hit ratio equals 50 % …, for a cache with
 * two blocks … 25 %." An access of distance 3 hits with four ways and misses with three. */
static void hit_ratios_match_table_1(void **state)
{
    (void)state;
    const uint64_t expected[] = {0, 1, 2, 3, 4};
    for (uint64_t ways = 1; ways <= 4; ways++) {
        struct fth_shape shape = plain_shape(ways);
        assert_int_equal(count_hits(&shape, table_1, 8), expected[ways]);
    }
}

/* ---- Table 3 ---- */

/* The misses in the order in which the level reports them. */
struct missed {
    struct fth_cache_level *level;
    struct {
        uint64_t step;
        char block;
        size_t bank;
    } at[16];
    size_t count;
};

static void store_miss(void *context, const struct fth_port_access *access, uint64_t sectors)
{
    struct missed *missed = context;
    assert_true(missed->count < FTH_COUNT(missed->at));
    assert_int_equal(sectors, 1);
    missed->at[missed->count].step = fth_cache_level_totals(missed->level)->steps;
    missed->at[missed->count].block = (char)('A' + access->request->line / 128);
    missed->at[missed->count++].bank = access->unit;
}

/* Issues one read for each letter, which names a block of memory; four reads per warp. Returns the
 * number of hits. */
static uint64_t issue_blocks(struct missed *missed, const char *blocks)
{
    struct fth_line_request requests[16];
    struct fth_model_counts counts = {{0}, {0}, {0}, {0}};
    const struct fth_next_level next_level = {.context = missed, .miss = store_miss};
    size_t count = 0;
    for (; blocks[count]; count++)
        requests[count] = (struct fth_line_request){.line = (uint64_t)(blocks[count] - 'A') * 128,
                                                    .sectors = 1,
                                                    .warp = (uint32_t)count / 4};
    assert_true(fth_cache_level_run(missed->level, requests, count, NULL, &counts, &next_level));
    return counts.hits[FTH_TRACE_READ];
}

/* The paper's table lists every attempt. The level reports when and where each block misses; the
 * attempts that fail for lack of an MSHR are those before, and are counted. */
static void misses_match_table_3(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        char block;
        size_t bank;
    } expected[] = {{0, 'A', 0}, {0, 'C', 0}, {1, 'B', 1}, {1, 'D', 1},
                    {2, 'E', 0}, {2, 'G', 0}, {3, 'F', 1}, {3, 'H', 1}};
    struct fth_shape shape = plain_shape(8);
    struct missed missed = {.count = 0};
    struct fth_error error = NO_ERROR;
    shape.banks = 2;
    shape.ports = 2;
    shape.mshr_size = 2;
    shape.latency_fixed = 2;
    if (fth_cache_level_create(&shape, &missed.level, &error) != FTH_OK)
        fail_with(&error);
    const struct fth_cache_level_totals *totals = fth_cache_level_totals(missed.level);
    /* There are two schedulers: they issue the first two warps together, then the third. */
    assert_int_equal(issue_blocks(&missed, "ABCDEFGH"), 0);
    assert_int_equal(totals->steps, 4);
    assert_int_equal(totals->fails, 6);
    assert_int_equal(issue_blocks(&missed, "AD"), 2);
    assert_int_equal(totals->steps, 5);
    assert_int_equal(totals->fails, 6);
    assert_int_equal(missed.count, FTH_COUNT(expected));
    for (size_t i = 0; i < missed.count; i++) {
        /* The table does not define the order of attempts within a step. */
        size_t e = 0;
        while (e < FTH_COUNT(expected) && expected[e].block != missed.at[i].block)
            e++;
        assert_true(e < FTH_COUNT(expected));
        assert_int_equal(missed.at[i].step, expected[e].step);
        assert_int_equal(missed.at[i].bank, expected[e].bank);
    }
    /* A hits at the distance 3 in its bank, D at the distance 2. */
    for (uint64_t distance = 0; distance < 8; distance++)
        assert_int_equal(totals->profile[0][distance], distance == 2 || distance == 3);
    assert_int_equal(totals->profile[0][8], 8);
    fth_cache_level_destroy(missed.level);
}

/* In each step, requests are sorted by their warps, whatever their order in the group. */
static void warps_of_a_step_go_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *warps, *misses; /* of the blocks A, B, C and D */
    } rows[] = {
        {"0123", "ABCD"}, {"1032", "BADC"}, {"1100", "ABCD"}, {"3210", "BADC"}, {"0010", "ABDC"}};
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        struct fth_shape shape = plain_shape(8);
        struct missed missed = {.count = 0};
        struct fth_line_request requests[4];
        struct fth_model_counts counts = {{0}, {0}, {0}, {0}};
        const struct fth_next_level next_level = {.context = &missed, .miss = store_miss};
        shape.ports = 2;
        assert_int_equal(fth_cache_level_create(&shape, &missed.level, NULL), FTH_OK);
        for (size_t i = 0; i < 4; i++)
            requests[i] = (struct fth_line_request){
                .line = i * 128, .sectors = 1, .warp = (uint32_t)(rows[row].warps[i] - '0')};
        assert_true(fth_cache_level_run(missed.level, requests, 4, NULL, &counts, &next_level));
        assert_int_equal(missed.count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(missed.at[i].block, rows[row].misses[i]);
            assert_int_equal(missed.at[i].step, i / 2);
        }
        fth_cache_level_destroy(missed.level);
    }
}

/* ---- reuse distances ---- */

static void distances_match_naive_counting(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    static uint64_t numbers[COUNT], found[COUNT];
    static const uint64_t spans[] = {1, 7, 300, 5000};
    for (size_t s = 0; s < FTH_COUNT(spans); s++) {
        struct fth_rng rng;
        struct fth_distances *distances;
        fth_rng_init(&rng, s);
        for (size_t i = 0; i < COUNT; i++)
            numbers[i] = fth_rng_below(&rng, 3) ? fth_rng_below(&rng, spans[s])
                                                : fth_rng_below(&rng, spans[s] / 8 + 1);
        assert_int_equal(fth_distances_create(&distances, NULL), FTH_OK);
        assert_true(fth_distances_add(distances, numbers, COUNT, found));
        static size_t last[5000];
        memset(last, 0, sizeof last);
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t distance = UINT64_MAX;
            if (last[numbers[i]]) {
                distance = 0;
                for (size_t k = last[numbers[i]]; k < i; k++)
                    distance += last[numbers[k]] == k + 1; /* last access to that line so far */
            }
            assert_int_equal(found[i], distance);
            last[numbers[i]] = i + 1;
        }
        fth_distances_destroy(distances);
    }
}

/* Enough accesses that every level of the tree has several nodes: one pass over all lines in
 * ascending order, and two in descending order. */
static void distances_of_many_lines_are_exact(void **state)
{
    (void)state;
    enum { COUNT = 600000, PART = 999 };
    struct fth_distances *distances;
    uint64_t numbers[PART], found[PART];
    assert_int_equal(fth_distances_create(&distances, NULL), FTH_OK);
    for (int pass = 0; pass < 3; pass++)
        for (uint64_t done = 0; done < COUNT;) {
            const size_t size = COUNT - done < PART ? (size_t)(COUNT - done) : PART;
            for (size_t i = 0; i < size; i++)
                numbers[i] = pass ? COUNT - 1 - done - i : done + i;
            assert_true(fth_distances_add(distances, numbers, size, found));
            for (size_t i = 0; i < size; i++)
                assert_int_equal(found[i], pass == 0   ? UINT64_MAX
                                           : pass == 1 ? done + i
                                                       : COUNT - 1);
            done += size;
        }
    size_t size;
    uint64_t fresh;
    const uint64_t *profile = fth_distances_profile(distances, &size, &fresh);
    assert_int_equal(fresh, COUNT);
    assert_int_equal(size, COUNT);
    assert_int_equal(profile[0], 1);
    assert_int_equal(profile[COUNT - 1], COUNT + 1);
    fth_distances_destroy(distances);
}

/* ---- traces of a few accesses ---- */

/* One access of a warp: `lanes` lanes access `bytes` bytes each, `stride` bytes apart. */
struct step {
    uint64_t block;
    enum fth_trace_access_kind kind;
    uint64_t address;
    uint32_t bytes, lanes, stride;
};

/* Writes a trace (t.trace) of the steps, in their order and with one warp per block, and runs the
 * model on it. `totals` gets the row of the whole trace. */
static void run_steps(const struct step *steps, size_t count, uint32_t blocks,
                      const struct fth_model_params *params, struct fth_model_row *totals)
{
    struct fth_trace_writer *writer;
    struct fth_trace *trace;
    struct fth_records records = {0};
    struct fth_error error = NO_ERROR;
    struct fth_model_result *result = NULL;
    const uint32_t grid[3] = {blocks, 1, 1}, block[3] = {32, 1, 1};
    if (fth_trace_writer_create("t.trace", &writer, &error) != FTH_OK ||
        fth_trace_writer_begin(writer, "k", grid, block, &error) != FTH_OK)
        fail_with(&error);
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        uint64_t addresses[32];
        for (uint32_t lane = 0; lane < step->lanes; lane++)
            addresses[lane] = step->address + (uint64_t)lane * step->stride;
        const size_t instruction = fth_trace_writer_instruction(
            writer, &(struct fth_trace_instruction){
                        .line = (uint32_t)i + 1, .kind = step->kind, .bytes = step->bytes});
        assert_true(fth_records_add(
            &records,
            &(struct fth_record){.number = i,
                                 .block = step->block,
                                 .instruction = (uint32_t)instruction,
                                 .mask = step->lanes == 32 ? UINT32_MAX : (1u << step->lanes) - 1},
            addresses));
    }
    if (fth_trace_writer_add(writer, &records, &error) != FTH_OK ||
        fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared_bytes = 0}, &error) !=
            FTH_OK ||
        fth_trace_writer_commit(writer, &error) != FTH_OK ||
        fth_trace_open("t.trace", &trace, &error) != FTH_OK ||
        fth_model_run(trace, params, NULL, &result, &error) != FTH_OK)
        fail_with(&error);
    *totals = *fth_model_row(result, 0);
    assert_null(totals->instruction);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
    fth_records_fini(&records);
}

/* The same with the default parameters, changed by `sets` (default_params). */
static struct fth_model_row run_with_values(const struct step *steps, size_t count, uint32_t blocks,
                                            const char *const *sets)
{
    struct fth_model_params *params = default_params(sets);
    struct fth_model_row row;
    run_steps(steps, count, blocks, params, &row);
    fth_model_params_destroy(params);
    return row;
}

static void misses_fill_sectors(void **state)
{
    (void)state;
    const struct step steps[] = {
        {0, FTH_TRACE_READ, 0, 4, 1, 0},     /* one sector */
        {0, FTH_TRACE_READ, 0, 4, 32, 4},    /* the line: one of its four sectors hits */
        {0, FTH_TRACE_READ, 4096, 4, 32, 4}, /* another line: four misses */
        {0, FTH_TRACE_READ, 4096, 16, 8, 16},
    };
    const struct fth_model_row row = run_with_values(steps, FTH_COUNT(steps), 1, NULL);
    assert_int_equal(row.l1.sectors[FTH_TRACE_READ], 1 + 4 + 4 + 4);
    assert_int_equal(row.l1.hits[FTH_TRACE_READ], 0 + 1 + 0 + 4);
    /* The first access filled 64 bytes of the L2, so one sector of the second access hits there. */
    assert_int_equal(row.l2.sectors[FTH_TRACE_READ], 1 + 3 + 4);
    assert_int_equal(row.l2.hits[FTH_TRACE_READ], 1);
    assert_int_equal(row.dram_reads, 2 + 2 + 4);
}

static void reads_hit_what_was_written(void **state)
{
    (void)state;
    const struct step steps[] = {
        {0, FTH_TRACE_WRITE, 0, 4, 8, 4},    /* a whole sector */
        {0, FTH_TRACE_READ, 0, 4, 8, 4},     /* hits */
        {0, FTH_TRACE_WRITE, 1024, 4, 1, 4}, /* a part of a sector */
        {0, FTH_TRACE_READ, 1024, 4, 1, 4},  /* the written bytes hit */
        {0, FTH_TRACE_READ, 1028, 4, 1, 4},  /* the other bytes of the sector miss */
        {0, FTH_TRACE_READ, 1032, 4, 1, 4},  /* and hit after the fill */
    };
    struct fth_model_row row = run_with_values(steps, FTH_COUNT(steps), 1, NULL);
    assert_int_equal(row.l1.sectors[FTH_TRACE_READ], 4);
    assert_int_equal(row.l1.hits[FTH_TRACE_READ], 3);
    assert_int_equal(row.l2.sectors[FTH_TRACE_WRITE], 2);
    /* Memory returns the sector that was written in part, and the other sector of its fill. */
    assert_int_equal(row.dram_reads, 2);
    /* If writes bypass the L1, it does not keep the written data. */
    const char *const won[] = {"l1.bypass", "won", NULL};
    row = run_with_values(steps, FTH_COUNT(steps), 1, won);
    assert_int_equal(row.l1.hits[FTH_TRACE_READ], 2);
    const char *const rwon[] = {"l1.bypass", "rwon", NULL};
    row = run_with_values(steps, FTH_COUNT(steps), 1, rwon);
    assert_int_equal(row.l1.hits[FTH_TRACE_READ], 0);
    assert_int_equal(row.l2.sectors[FTH_TRACE_READ], 4);
}

static void reads_use_the_near_side_of_the_l2(void **state)
{
    (void)state;
    /* Block 0 runs on SM 0, which is near side 0. Block 1 runs on SM 1, which is near side 1. Side
     * 1 is the home of odd 4 KiB pages. Two accesses form a round; in each round, side 0 processes
     * its requests before side 1. */
    const struct step steps[] = {
        {0, FTH_TRACE_READ, 0x1000, 4, 1, 0},  /* home is far: read from memory through the home */
        {1, FTH_TRACE_READ, 0x1000, 4, 1, 0},  /* home is near: hits there */
        {1, FTH_TRACE_READ, 0x2000, 4, 1, 0},  /* home is far: hits there (after the next access) */
        {0, FTH_TRACE_READ, 0x2000, 4, 1, 0},  /* home is near: read from memory */
        {0, FTH_TRACE_READ, 0x1020, 4, 1, 0},  /* hits: the near copy has 64 bytes */
        {1, FTH_TRACE_WRITE, 0x1000, 4, 8, 4}, /* written at home; side 0 drops its copy */
        {0, FTH_TRACE_READ, 0x1040, 4, 1, 0},  /* misses on both sides: read from memory */
        {0, FTH_TRACE_READ, 0x1000, 4, 1, 0},  /* hits in the L1 of SM 0, which keeps its copy */
    };
    const char *const sets[] = {"gpu.sms", "2", "l2.sides", "2", "l2.home_mask", "0x1000", NULL};
    const struct fth_model_row row = run_with_values(steps, FTH_COUNT(steps), 2, sets);
    assert_int_equal(row.l2.sectors[FTH_TRACE_READ], 6);
    assert_int_equal(row.l2.hits[FTH_TRACE_READ], 2);
    assert_int_equal(row.far_hits, 1);
    assert_int_equal(row.dram_reads, 2 + 2 + 2);
    assert_int_equal(row.l1.hits[FTH_TRACE_READ], 1);
}

/* If SMs of one group read exactly the same sectors together, the L2 receives one request. */
static void equal_reads_of_a_group_are_joined(void **state)
{
    (void)state;
    const struct step steps[] = {
        {0, FTH_TRACE_READ, 0, 4, 32, 4},    {1, FTH_TRACE_READ, 0, 4, 32, 4},
        {2, FTH_TRACE_READ, 0, 4, 32, 4},    {0, FTH_TRACE_READ, 4096, 4, 32, 4},
        {1, FTH_TRACE_READ, 4096, 4, 16, 4}, {2, FTH_TRACE_READ, 8192, 4, 32, 4}};
    const char *const sets[] = {"gpu.sms", "3", "l2.joins", "0,0,1", NULL};
    struct fth_model_row row = run_with_values(steps, FTH_COUNT(steps), 3, sets);
    assert_int_equal(row.l1.sectors[FTH_TRACE_READ], 22);
    assert_int_equal(row.l2.sectors[FTH_TRACE_READ], 22 - 4);
    row = run_with_values(steps, FTH_COUNT(steps), 3, sets + 4);
    assert_int_equal(row.l2.sectors[FTH_TRACE_READ], 22);
}

static void access_cycles_are_averaged(void **state)
{
    (void)state;
    const struct step steps[] = {{0, FTH_TRACE_READ, 0, 4, 1, 0}, /* memory */
                                 {0, FTH_TRACE_READ, 0, 4, 1, 0}, /* L1 */
                                 {1, FTH_TRACE_READ, 0, 4, 1, 0}, /* L2 */
                                 {1, FTH_TRACE_READ, 0, 4, 1, 0}};
    const char *const sets[] = {"l1.latency_cycles",
                                "10",
                                "l2.latency_cycles",
                                "100",
                                "memory.latency_cycles",
                                "1000",
                                NULL};
    struct fth_model_params *params = default_params(sets);
    struct fth_model_row row;
    run_steps(steps, FTH_COUNT(steps), 2, params, &row);
    assert_true(fabs(fth_model_access_cycles(&row, params) - (1000 + 10 + 100 + 10) / 4.0) < 1e-9);
    fth_model_params_destroy(params);
    params = default_params(NULL);
    assert_true(isnan(fth_model_access_cycles(&row, params))); /* the latencies are unknown */
    fth_model_params_destroy(params);
}

/* ---- parameters ---- */

static struct fth_model_params *params_of_gpu(const char *name)
{
    struct fth_catalogue *catalogue;
    struct fth_gpu *gpu;
    struct fth_model_params *params;
    struct fth_error error = NO_ERROR;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK ||
        fth_catalogue_read(catalogue, name, NULL, &gpu, &error) != FTH_OK ||
        fth_model_params_create(gpu, &params, &error) != FTH_OK)
        fail_with(&error);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return params;
}

/* The carve-outs that an H200 chose for kernels of examples/workloads
 * (tests/model/h200-counters.csv): 32 KiB of shared memory for kernels that use none, 64 KiB for
 * `forward` of BP, 100 KiB for `moments` of SRAD, and 132 KiB for NW. */
static void carve_outs_match_those_of_an_h200(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads;
        uint64_t shared_bytes, blocks, l1_kib;
    } cases[] = {{256, 0, 8, 217},      {32, 0, 32, 217},    {256, 1088, 8, 185},
                 {256, 4096, 8, 149},   {16, 2180, 32, 117}, {256, 1024, 8, 217},
                 {1024, 100000, 2, 21}, {256, 150000, 1, 85}};
    struct fth_model_params *params = params_of_gpu("h200");
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_trace_launch launch = {.kernel = "k",
                                                .grid = {1000, 1, 1},
                                                .block = {cases[i].threads, 1, 1},
                                                .shared_bytes = cases[i].shared_bytes};
        struct fth_setting setting;
        struct fth_error error = NO_ERROR;
        if (fth_model_setting(params, &launch, &setting, &error) != FTH_OK)
            fail_with(&error);
        assert_int_equal(setting.blocks_at_once, cases[i].blocks);
        assert_int_equal(setting.l1_bytes, cases[i].l1_kib * 1024);
        assert_int_equal(setting.sides, 2);
    }
    fth_model_params_destroy(params);
}

/* Whether the description is of another vendor than NVIDIA. If so, the model must refuse it. */
static bool refuses_gpu(const struct fth_catalogue *catalogue, size_t index)
{
    struct fth_gpu *gpu = NULL;
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(
        fth_catalogue_read(catalogue, fth_catalogue_name(catalogue, index), NULL, &gpu, NULL),
        FTH_OK);
    const char *vendor = fth_gpu_text(gpu, "device", "vendor");
    const bool other = vendor && strcmp(vendor, "NVIDIA") != 0;
    if (other) {
        assert_int_equal(fth_model_params_create(gpu, &params, &error), FTH_UNSUPPORTED);
        assert_contains(error.cause, "the model covers GPUs of NVIDIA only");
        assert_null(params);
    }
    fth_gpu_destroy(gpu);
    return other;
}

static void every_gpu_of_nvidia_in_the_catalogue_can_be_modelled(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        if (refuses_gpu(catalogue, i))
            continue;
        struct fth_model_params *params = params_of_gpu(fth_catalogue_name(catalogue, i));
        const struct step steps[] = {{0, FTH_TRACE_READ, 0, 4, 32, 4}};
        struct fth_model_row row;
        run_steps(steps, 1, 1, params, &row);
        assert_true(row.dram_reads > 0);
        fth_model_params_destroy(params);
    }
    fth_catalogue_close(catalogue);
}

static void rejects_invalid_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *cause;
    } cases[] = {
        {"gpu.sms", "1000000000", "not between 1 and 65536"},
        {"gpu.sms", "0", "not between"},
        {"l1.line_bytes", "3", "not between 4"},
        {"l1.policy", "mru", "not one of: lru"},
        {"l1.index", "hash", "not one of: mod"},
        {"l1.bypass", "o", "not one of: off"},
        {"l1.bypass", "", "not one of: off"},
        {"l2.ports", "-1", "is not a valid number"},
        {"l1.size_bytes", "many", "not a size"},
        {"l1.wayz", "4", "did you mean l1.ways"},
    };
    struct fth_model_params *params = default_params(NULL);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_error error = NO_ERROR;
        assert_true(fth_model_set(params, cases[i].name, cases[i].value, &error) != FTH_OK);
        assert_contains(error.cause, cases[i].cause);
    }
    fth_model_params_destroy(params);
}

static void rejects_contradictory_values(void **state)
{
    (void)state;
    static const struct {
        const char *sets[5], *cause;
    } cases[] = {
        {{"l1.line_bytes", "48"}, "power of two"},
        {{"l1.sector_bytes", "256"}, "divides the line"},
        {{"l1.sets", "0", "l1.ways", "0"}, "both 0"},
        {{"l1.ways", "7"}, "not a multiple of the ways"},
        {{"l1.ways", "65536"}, "more ways or sets than lines"},
        {{"l2.size_bytes", "64"}, "1 to 2^26 lines"},
        {{"l2.banks", "1024", "l2.partitions", "1024"}, "at most 4096"},
        {{"l1.latency", "0"}, "must be a number of steps"},
        {{"l1.latency", "a5"}, "must be a number of steps"},
        {{"gpu.mapping", "nowhere"}, "not a number below 16"},
        {{"gpu.mapping", "0,16"}, "not a number below 16"},
        {{"gpu.max_warps", "1", "kernel.registers", "1024"}, NULL},
        {{"gpu.registers", "100", "kernel.registers", "255"}, "no block fits"},
        {{"l1.partition_bytes", "100"}, "multiples of the line size"},
        {{"gpu.sms", "65536", "l1.size_bytes", "1G"}, NULL},
        {{"l2.side_of_sm", "0,1"}, "not a number below 1"},
    };
    const struct step steps[] = {{0, FTH_TRACE_READ, 0, 4, 32, 4}};
    struct fth_model_row row = run_with_values(steps, 1, 1, NULL); /* leaves t.trace */
    assert_int_equal(row.dram_reads, 4);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_model_params *params = default_params(cases[i].sets);
        struct fth_trace *trace;
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_trace_open("t.trace", &trace, NULL), FTH_OK);
        const enum fth_status status = fth_model_run(trace, params, NULL, &result, &error);
        assert_int_equal(status == FTH_OK, cases[i].cause == NULL);
        if (cases[i].cause)
            assert_contains(error.cause, cases[i].cause);
        fth_model_result_destroy(result);
        fth_trace_close(trace);
        fth_model_params_destroy(params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_match_table_1),
        cmocka_unit_test(hit_ratios_match_table_1),
        cmocka_unit_test(misses_match_table_3),
        cmocka_unit_test(warps_of_a_step_go_in_order),
        cmocka_unit_test(distances_match_naive_counting),
        cmocka_unit_test(distances_of_many_lines_are_exact),
        cmocka_unit_test(misses_fill_sectors),
        cmocka_unit_test(reads_hit_what_was_written),
        cmocka_unit_test(reads_use_the_near_side_of_the_l2),
        cmocka_unit_test(equal_reads_of_a_group_are_joined),
        cmocka_unit_test(access_cycles_are_averaged),
        cmocka_unit_test(carve_outs_match_those_of_an_h200),
        cmocka_unit_test(every_gpu_of_nvidia_in_the_catalogue_can_be_modelled),
        cmocka_unit_test(rejects_invalid_values),
        cmocka_unit_test(rejects_contradictory_values),
    };
    return cmocka_run_group_tests_name("model", tests, enter_folder, leave_folder);
}
