/* Compares the model with time of src/model/timed with the oracle of timed_oracle.h, on random GPUs
 * and random launches. All counts and the duration must be equal.
 *
 * usage: test_timed_oracle [FIRST LAST]      the range of seeds; 1 to 250 by default */
#include "../unit/check.h"
#include "../unit/folder.h"
#include "miss_oracle.h"
#include "model/model.h"
#include "timed_oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned first_seed = 1, last_seed = 250;

static uint64_t below(struct fth_rng *rng, uint64_t bound)
{
    return fth_rng_below(rng, bound);
}

/* One of the numbers at random. */
#define PICK(rng, ...)                                                                             \
    ((const uint64_t[]){                                                                           \
        __VA_ARGS__}[below(rng, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

/* ---- random GPUs ---- */

/* Gives an L1 the policy clock, with few rows, so that rows as well as sets become full. */
static void random_clock(struct fth_rng *rng, const struct timed_gpu *gpu,
                         struct timed_cache_config *cache)
{
    const uint64_t sets = cache->size_bytes / gpu->line_bytes / cache->ways;
    uint64_t bit = gpu->line_bytes;
    cache->policy = "clock";
    cache->index = "description";
    cache->row_ways = PICK(rng, 2, 3, 4);
    for (; (UINT64_C(1) << cache->masks.set_count) < sets; bit *= 2)
        cache->masks.set[cache->masks.set_count++] = bit * PICK(rng, 1, 5, 9);
    do { /* at least two rows, so that there are masks */
        cache->masks.row[cache->masks.row_count++] = bit * PICK(rng, 1, 3, 5);
        bit *= 2;
    } while ((cache->row_ways << cache->masks.row_count) <= cache->ways);
}

static void random_caches(struct fth_rng *rng, struct timed_gpu *gpu)
{
    static const char *const indices[] = {"mod", "shift:1", "prime", "xor"};
    static const char *const policies[] = {"lru", "lru", "lru", "fifo", "random"};
    static const char *const bypasses[] = {"off", "off", "off", "won", "rwon"};
    gpu->line_bytes = PICK(rng, 64, 128, 128);
    gpu->sector_bytes = gpu->line_bytes / PICK(rng, 1, 2, 4, 4);
    gpu->fill_bytes = gpu->sector_bytes * PICK(rng, 1, 2);
    if (gpu->fill_bytes > gpu->line_bytes)
        gpu->fill_bytes = gpu->line_bytes;
    gpu->sides = PICK(rng, 1, 2, 2, 3);
    gpu->home_mask = PICK(rng, 128, 256, 0x180, 0x380);
    gpu->l1_bypass = bypasses[below(rng, 5)];
    for (int level = 0; level < 2; level++) {
        struct timed_cache_config *cache = level ? &gpu->l2 : &gpu->l1;
        cache->ways = PICK(rng, 1, 2, 4, 8);
        cache->size_bytes = gpu->line_bytes * cache->ways * PICK(rng, 1, 2, 4) *
                            (level ? PICK(rng, 2, 4) * gpu->sides : 1);
        cache->index = indices[below(rng, 4)];
        cache->policy = policies[below(rng, 5)];
        if (level == 0 && below(rng, 3) == 0)
            random_clock(rng, gpu, cache);
        cache->merged_hits = below(rng, 3) > 0;
    }
}

static void random_sms(struct fth_rng *rng, struct timed_gpu *gpu)
{
    gpu->sms = PICK(rng, 1, 2, 3, 5, 8);
    gpu->schedulers = PICK(rng, 1, 2, 4);
    gpu->max_warps = PICK(rng, 4, 6, 16);
    gpu->max_blocks = PICK(rng, 1, 2, 3);
    gpu->seed = below(rng, 1000);
    gpu->mapped = gpu->sms;
    gpu->grouped = below(rng, 3) > 0;
    gpu->joins = below(rng, 3) > 0;
    const uint64_t gpcs = PICK(rng, 1, 2, 3), groups = PICK(rng, 1, 2);
    for (uint32_t sm = 0; sm < gpu->sms; sm++) {
        gpu->gpc[sm] = (uint32_t)(sm / 2 % gpcs);
        gpu->tpc[sm] = sm / 2;
        gpu->join_group[sm] = gpu->joins ? (uint32_t)(sm % groups) : 0;
        gpu->side_of[sm] = below(rng, gpu->sides);
        gpu->sm_of_block[sm] = (uint32_t)(gpu->sms - 1 - sm);
    }
    if (below(rng, 2))
        for (uint32_t sm = 0; sm < gpu->sms; sm++)
            gpu->sm_of_block[sm] = sm;
}

/* Times are short or long compared with each other, so that units are idle or busy. */
static void random_times(struct fth_rng *rng, struct timed_gpu *gpu)
{
    gpu->cold = below(rng, 2);
    gpu->clock_hz = 1e9;
    gpu->l1_cycles = (double)PICK(rng, 1, 5, 32);
    gpu->l2_cycles = (double)PICK(rng, 10, 61, 250);
    gpu->far_cycles = gpu->sides > 1 && below(rng, 4)
                          ? gpu->l2_cycles + (double)PICK(rng, 0, 7, 200)
                          : (double)PICK(rng, 0, 1);
    gpu->memory_cycles = gpu->l2_cycles + (double)PICK(rng, 0, 20, 400, 12000);
    gpu->l2_bytes_per_s = (double)PICK(rng, 4000, 128000, 10000000) * 1e6;
    gpu->memory_bytes_per_s = (double)PICK(rng, 2000, 64000, 5000000) * 1e6;
    gpu->memory_percent = (double)PICK(rng, 100, 90, 50);
    gpu->issue_cycles = (double)PICK(rng, 0, 2, 5, 9) / 2;
    gpu->port_cycles = (double)PICK(rng, 0, 2, 7, 60) / 2;
    gpu->store_cycles = (double)PICK(rng, 0, 1, 4, 30) / 2;
    gpu->write_bytes_per_s = (double)PICK(rng, 0, 2000, 64000, 5000000) * 1e6;
    gpu->join_cycles = (double)PICK(rng, 0, 3, 20, 125);
    gpu->join_reads = PICK(rng, 1, 2, 4, 100);
    gpu->queue_accesses = PICK(rng, 0, 1, 2, 8);
    gpu->merge_cycles = (double)PICK(rng, 0, 34, 500);
    gpu->store_merge_cycles = (double)PICK(rng, 0, 30, 400);
    gpu->atomic_cycles[0] = (double)PICK(rng, 0, 13, 500) / 10;
    gpu->atomic_cycles[1] = (double)PICK(rng, 0, 32, 700) / 10;
    gpu->constant_cycles = (double)PICK(rng, 0, 4, 5, 60) / 2;
    gpu->block_cycles = (double)PICK(rng, 0, 1, 20) / 2;
    gpu->dispatch_cycles = (double)PICK(rng, 0, 10, 12, 70) / 10;
    gpu->start_cycles = (double)PICK(rng, 0, 1, 300);
    gpu->jitter_cycles = (double)PICK(rng, 0, 1, 100);
    gpu->spread_cycles = (double)PICK(rng, 0, 20, 90);
    gpu->warp_cycles = (double)PICK(rng, 0, 8, 17);
    gpu->partial_ways = PICK(rng, 0, 1, 2);
    gpu->launch_sectors = PICK(rng, 0, 80);
    gpu->refill_cycles = (double)PICK(rng, 0, 10, 260);
    gpu->refill_period = (double)PICK(rng, 0, 1, 150, 301) / 2;
    gpu->launch_ns = (double)PICK(rng, 0, 2000);
    gpu->local.stack = PICK(rng, 0, 16, 64, 80, 1024);
    gpu->local.reserved = PICK(rng, 0, 16, 576);
}

/* ---- parameters of the model ---- */

static void set(struct fth_model_params *params, const char *name, const char *value)
{
    struct fth_error error = NO_ERROR;
    if (fth_model_set(params, name, value, &error) != FTH_OK)
        fail_msg("%s=%s: %s", name, value, error.cause);
}

static void set_number(struct fth_model_params *params, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    set(params, name, text);
}

static void set_list(struct fth_model_params *params, const char *name, const uint32_t *numbers,
                     uint64_t count)
{
    char text[128] = "";
    for (uint64_t i = 0; i < count; i++)
        snprintf(strchr(text, 0), 16, "%s%u", i ? "," : "", numbers[i]);
    set(params, name, text);
}

static void set_cache(struct fth_model_params *params, const char *level,
                      const struct timed_gpu *gpu, const struct timed_cache_config *cache)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"size_bytes", cache->size_bytes},
                   {"ways", cache->ways},
                   {"line_bytes", gpu->line_bytes},
                   {"sector_bytes", gpu->sector_bytes},
                   {"fill_bytes", cache == &gpu->l2 ? gpu->fill_bytes : 0}};
    const char *const texts[][2] = {{"index", cache->index},
                                    {"policy", cache->policy},
                                    {"merged", cache->merged_hits ? "hit" : "miss"},
                                    {"bypass", cache == &gpu->l2 ? "off" : gpu->l1_bypass}};
    char name[64];
    for (size_t i = 0; i < FTH_COUNT(numbers); i++) {
        snprintf(name, sizeof name, "%s.%s", level, numbers[i].name);
        set_number(params, name, (double)numbers[i].value);
    }
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        snprintf(name, sizeof name, "%s.%s", level, texts[i][0]);
        set(params, name, texts[i][1]);
    }
}

static void set_times(struct fth_model_params *params, const struct timed_gpu *gpu)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"gpu.clock_hz", gpu->clock_hz},
                {"l1.latency_cycles", gpu->l1_cycles},
                {"l2.latency_cycles", gpu->l2_cycles},
                {"l2.far_latency_cycles", gpu->far_cycles},
                {"memory.latency_cycles", gpu->memory_cycles},
                {"l2.bytes_per_s", gpu->l2_bytes_per_s},
                {"memory.bytes_per_s", gpu->memory_bytes_per_s},
                {"time.memory_percent", gpu->memory_percent},
                {"time.issue_cycles", gpu->issue_cycles},
                {"time.port_cycles", gpu->port_cycles},
                {"time.store_cycles", gpu->store_cycles},
                {"l2.write_bytes_per_s", gpu->write_bytes_per_s},
                {"time.join_cycles", gpu->join_cycles},
                {"time.join_reads", (double)gpu->join_reads},
                {"time.queue_accesses", (double)gpu->queue_accesses},
                {"time.merge_cycles", gpu->merge_cycles},
                {"time.store_merge_cycles", gpu->store_merge_cycles},
                {"time.atomic_cycles", gpu->atomic_cycles[0]},
                {"time.atomic_float_cycles", gpu->atomic_cycles[1]},
                {"time.constant_cycles", gpu->constant_cycles},
                {"time.block_cycles", gpu->block_cycles},
                {"time.dispatch_cycles", gpu->dispatch_cycles},
                {"time.start_cycles", gpu->start_cycles},
                {"time.jitter_cycles", gpu->jitter_cycles},
                {"time.spread_cycles", gpu->spread_cycles},
                {"time.warp_cycles", gpu->warp_cycles},
                {"l2.partial_ways", (double)gpu->partial_ways},
                {"time.launch_sectors", (double)gpu->launch_sectors},
                {"time.refill_cycles", gpu->refill_cycles},
                {"time.refill_period_cycles", gpu->refill_period},
                {"time.launch_ns", gpu->launch_ns}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        set_number(params, rows[i].name, rows[i].value);
    set(params, "gpu.timing", "on");
}

static struct fth_model_params *params_of(const struct timed_gpu *gpu)
{
    struct fth_model_params *params;
    uint32_t sides[TIMED_MAX_SMS] = {0};
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    set_cache(params, "l1", gpu, &gpu->l1);
    set_cache(params, "l2", gpu, &gpu->l2);
    set_times(params, gpu);
    params->l1_masks = gpu->l1.masks;
    params->l1_row_ways = gpu->l1.row_ways;
    set_number(params, "gpu.sms", (double)gpu->sms);
    set_number(params, "gpu.schedulers", (double)gpu->schedulers);
    set_number(params, "gpu.max_warps", (double)gpu->max_warps);
    set_number(params, "gpu.local_stack_bytes", (double)gpu->local.stack);
    set_number(params, "gpu.local_reserved_bytes", (double)gpu->local.reserved);
    set_number(params, "gpu.max_blocks", (double)gpu->max_blocks);
    set_number(params, "gpu.seed", (double)gpu->seed);
    set_number(params, "l2.sides", (double)gpu->sides);
    set_number(params, "l2.home_mask", (double)gpu->home_mask);
    set_number(params, "l2.cold", gpu->cold);
    for (uint64_t sm = 0; sm < gpu->sms; sm++)
        sides[sm] = (uint32_t)gpu->side_of[sm];
    set_list(params, "gpu.mapping", gpu->sm_of_block, gpu->mapped);
    set_list(params, "l2.side_of_sm", sides, gpu->sms);
    if (gpu->joins)
        set_list(params, "l2.joins", gpu->join_group, gpu->sms);
    else
        set(params, "l2.joins", "none");
    params->sm_map.sms = gpu->grouped ? (uint32_t)gpu->sms : 0;
    for (uint64_t sm = 0; sm < gpu->sms; sm++) {
        params->sm_map.gpc[sm] = (uint16_t)gpu->gpc[sm];
        params->sm_map.tpc[sm] = (uint16_t)gpu->tpc[sm];
    }
    /* Effects of the cache operators and hints that random_instructions() uses. */
    params->variants.l1[FTH_VARIANT_LD_CG] = FTH_L1_RULE_EVICT;
    params->variants.l1[FTH_VARIANT_LD_LU] = FTH_L1_RULE_NO_ALLOCATE;
    params->variants.l1[FTH_VARIANT_ST_CS] = FTH_L1_RULE_NO_ALLOCATE;
    params->variants.l2_fill[FTH_VARIANT_LD_L2_128B] = 128;
    return params;
}

/* ---- random launches ---- */

enum { INSTRUCTIONS = 6, LAUNCHES = 3, MAX_ACCESSES = 400, MAX_PACE = 64 };

struct program {
    struct timed_instruction instructions[INSTRUCTIONS];
    struct timed_launch launches[LAUNCHES];
    size_t launch_count;
    struct timed_oracle_access accesses[LAUNCHES][MAX_ACCESSES];
    struct timed_pace pace[LAUNCHES][MAX_PACE];
    uint64_t footprint;
};

/* Makes an instruction on a texture: 1, 2 or 4 texels per lane, requests of 1 to 8 lanes. */
static void make_texture(struct fth_rng *rng, struct timed_instruction *instruction)
{
    const uint32_t texels = (uint32_t)below(rng, 3), lanes = (uint32_t)below(rng, 4);
    const bool continues = below(rng, 3) == 0;
    *instruction =
        (struct timed_instruction){.kind = instruction->kind,
                                   .bytes = (uint32_t)PICK(rng, 1, 4, 16),
                                   .hints = FTH_TRACE_TEXTURE | texels << 14 | lanes << 16 |
                                            (continues ? FTH_TRACE_CONTINUES : 0),
                                   .together = 1u << (texels + lanes),
                                   .continues = continues};
}

static void random_instructions(struct fth_rng *rng, struct timed_instruction *instructions)
{
    static const struct timed_instruction variants[] = {
        {.kind = FTH_TRACE_READ, .cache_op = 2, .l1 = ORACLE_EVICT},
        {.kind = FTH_TRACE_READ, .cache_op = 5, .l1 = ORACLE_BYPASS},
        {.kind = FTH_TRACE_READ, .cache_op = 4, .l1 = ORACLE_NO_ALLOCATE},
        {.kind = FTH_TRACE_READ, .hints = 2 << 6, .l2_fill_bytes = 128},
        {.kind = FTH_TRACE_WRITE, .cache_op = 3, .l1 = ORACLE_NO_ALLOCATE}};
    for (size_t i = 0; i < INSTRUCTIONS; i++) {
        const enum fth_trace_access_kind kinds[] = {FTH_TRACE_READ, FTH_TRACE_READ, FTH_TRACE_READ,
                                                    FTH_TRACE_WRITE, FTH_TRACE_ATOMIC};
        instructions[i] = (struct timed_instruction){.kind = kinds[below(rng, 5)]};
        if (below(rng, 4) == 0)
            instructions[i] = variants[below(rng, FTH_COUNT(variants))];
        instructions[i].bytes = (uint32_t)PICK(rng, 4, 4, 8);
        if (instructions[i].kind == FTH_TRACE_ATOMIC && below(rng, 2)) {
            instructions[i].is_float = true;
            instructions[i].hints = FTH_TRACE_FLOAT;
        }
        if (below(rng, 6) == 0 && instructions[i].kind != FTH_TRACE_ATOMIC) {
            instructions[i] =
                (struct timed_instruction){.kind = instructions[i].kind,
                                           .bytes = (uint32_t)PICK(rng, 1, 2, 4, 4, 8, 16),
                                           .hints = FTH_TRACE_LOCAL,
                                           .local = true};
            /* The L1 does not keep a store of a part of a word. */
            if (instructions[i].bytes < 4 && instructions[i].kind == FTH_TRACE_WRITE)
                instructions[i].l1 = ORACLE_NO_ALLOCATE;
        }
        if (below(rng, 6) == 0 && instructions[i].kind != FTH_TRACE_ATOMIC)
            make_texture(rng, &instructions[i]);
        instructions[i].wait = below(rng, 5) ? (uint32_t)PICK(rng, 0, 1, 5, 40) : UINT32_MAX;
    }
}

static void random_addresses(struct fth_rng *rng, uint64_t footprint,
                             struct timed_oracle_access *access)
{
    const uint64_t stride = PICK(rng, 0, 4, 4, 8, 40, 256), same = PICK(rng, 1, 1, 1, 2);
    const uint64_t base = 2048 + below(rng, footprint / 4) * 4;
    const bool scattered = below(rng, 12) == 0;
    access->threads = (uint32_t)PICK(rng, 1, 3, 8, 32, 32);
    for (uint32_t t = 0; t < access->threads; t++)
        access->addresses[t] =
            scattered ? 2048 + below(rng, footprint / 4) * 4 : base + t / same * stride;
}

/* Whether an access of the launch has this instruction. Others must not be in its pace. */
static bool uses(const struct timed_launch *launch, uint32_t instruction)
{
    for (size_t i = 0; i < launch->access_count; i++)
        if (launch->accesses[i].instruction == instruction)
            return true;
    return false;
}

static void random_launch(struct fth_rng *rng, struct program *program, size_t index,
                          uint64_t max_warps)
{
    struct timed_launch *launch = &program->launches[index];
    struct timed_oracle_access *accesses = program->accesses[index];
    const uint64_t numbers = PICK(rng, 1, 4, 20);
    *launch = (struct timed_launch){.blocks = PICK(rng, 1, 4, 12, 30),
                                    .warps = PICK(rng, 1, 2, 3, 4),
                                    .accesses = accesses,
                                    .pace = program->pace[index]};
    launch->warps = launch->warps < max_warps ? launch->warps : max_warps;
    if (below(rng, 20) == 0)
        launch->blocks = 7000; /* most of them without accesses */
    for (uint64_t block = 0; block < launch->blocks; block++)
        for (uint32_t warp = 0; warp < launch->warps; warp++) {
            const uint64_t count = launch->blocks > 100 ? below(rng, 200) == 0
                                   : below(rng, 4)      ? numbers
                                                        : below(rng, numbers + 1);
            for (uint64_t number = 0; number < count && launch->access_count < MAX_ACCESSES;
                 number++) {
                struct timed_oracle_access *access = &accesses[launch->access_count++];
                *access = (struct timed_oracle_access){
                    .number = number,
                    .block = block,
                    .warp = warp,
                    .instruction = (uint32_t)((number + (below(rng, 6) == 0)) % INSTRUCTIONS)};
                random_addresses(rng, program->footprint, access);
            }
        }
    if (below(rng, 5) == 0)
        return; /* without a pace */
    for (uint32_t from = 0; from <= INSTRUCTIONS; from++)
        for (uint32_t to = 0; to <= INSTRUCTIONS; to++)
            if (below(rng, 6) && (to == INSTRUCTIONS || uses(launch, to)) &&
                (from == INSTRUCTIONS || uses(launch, from))) {
                const uint64_t count = 1 + below(rng, 9);
                program->pace[index][launch->pace_count++] = (struct timed_pace){
                    .from = from < INSTRUCTIONS ? from : UINT32_MAX,
                    .to = to < INSTRUCTIONS ? to : UINT32_MAX,
                    .count = count,
                    .instructions = below(rng, PICK(rng, 2, 12, 60) * count),
                    .shared = below(rng, 3) ? 0 : below(rng, 4 * count),
                    .latency_cycles = below(rng, 2) ? 0 : below(rng, 100 * count),
                    .barriers = below(rng, 3) ? 0 : below(rng, 3 * count),
                    .constants = below(rng, 4) ? 0 : below(rng, 33 * count)};
            }
}

static void random_program(struct fth_rng *rng, struct program *program, uint64_t max_warps)
{
    memset(program, 0, sizeof *program);
    program->footprint = PICK(rng, 512, 2048, 8192, 65536);
    program->launch_count = (size_t)PICK(rng, 1, 1, 2, 3);
    random_instructions(rng, program->instructions);
    for (size_t i = 0; i < program->launch_count; i++)
        random_launch(rng, program, i, max_warps);
    /* A trace has the wait of an instruction only if a pace has a step that ends there. */
    bool known[INSTRUCTIONS] = {false};
    for (size_t i = 0; i < program->launch_count; i++)
        for (size_t k = 0; k < program->launches[i].pace_count; k++)
            if (program->pace[i][k].to != UINT32_MAX)
                known[program->pace[i][k].to] = true;
    for (size_t i = 0; i < INSTRUCTIONS; i++)
        if (!known[i])
            program->instructions[i].wait = UINT32_MAX;
}

/* ---- the trace ---- */

static void write_launch(struct fth_trace_writer *writer, const struct program *program,
                         size_t index)
{
    const struct timed_launch *launch = &program->launches[index];
    const uint32_t grid[3] = {(uint32_t)launch->blocks, 1, 1};
    const uint32_t block[3] = {32 * (uint32_t)launch->warps, 1, 1};
    const struct fth_trace_launch totals = {.local_bytes = ORACLE_LOCAL_BYTES};
    size_t numbers[INSTRUCTIONS];
    char kernel[8];
    struct fth_records records = {0};
    struct fth_pace pace = {0};
    struct fth_error error = NO_ERROR;
    snprintf(kernel, sizeof kernel, "k%zu", index);
    assert_int_equal(fth_trace_writer_begin(writer, kernel, grid, block, &error), FTH_OK);
    for (size_t i = 0; i < INSTRUCTIONS; i++) {
        const struct timed_instruction *from = &program->instructions[i];
        numbers[i] = fth_trace_writer_instruction(
            writer, &(struct fth_trace_instruction){.line = (uint32_t)i + 1,
                                                    .kind = from->kind,
                                                    .bytes = from->bytes,
                                                    .cache_op = from->cache_op,
                                                    .hints = from->hints,
                                                    .wait = from->wait});
    }
    for (size_t i = 0; i < launch->access_count; i++) {
        const struct timed_oracle_access *a = &launch->accesses[i];
        const struct fth_record record = {.number = a->number,
                                          .block = a->block,
                                          .instruction = (uint32_t)numbers[a->instruction],
                                          .warp = a->warp,
                                          .mask = a->threads == 32 ? UINT32_MAX
                                                                   : (1u << a->threads) - 1};
        assert_true(fth_records_add(&records, &record, a->addresses));
    }
    for (size_t i = 0; i < launch->pace_count; i++) {
        const struct timed_pace *row = &launch->pace[i];
        struct fth_pace_step *step = fth_pace_step(
            &pace, row->from == UINT32_MAX ? FTH_PACE_START : (uint32_t)numbers[row->from],
            row->to == UINT32_MAX ? FTH_PACE_END : (uint32_t)numbers[row->to]);
        step->count = row->count;
        step->instructions = row->instructions;
        step->shared = row->shared;
        step->barriers = row->barriers;
        step->latency_cycles = row->latency_cycles;
        step->constants = row->constants;
    }
    if (launch->pace_count)
        fth_trace_writer_set_pace(writer, &pace);
    assert_int_equal(fth_trace_writer_add(writer, &records, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_end(writer, &totals, &error), FTH_OK);
    fth_records_fini(&records);
    fth_pace_fini(&pace);
}

static struct fth_trace *make_trace(const struct program *program)
{
    struct fth_trace_writer *writer;
    struct fth_trace *trace;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_trace_writer_create("o.trace", &writer, NULL), FTH_OK);
    for (size_t i = 0; i < program->launch_count; i++)
        write_launch(writer, program, i);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    if (fth_trace_open("o.trace", &trace, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return trace;
}

/* ---- comparison ---- */

static void check_equal(unsigned seed, size_t launch, const char *what, uint64_t found,
                        uint64_t expected)
{
    if (found != expected)
        fail_msg("seed %u, launch %zu, %s: %llu, but the oracle has %llu", seed, launch, what,
                 (unsigned long long)found, (unsigned long long)expected);
}

static void check_level(unsigned seed, size_t launch, const char *level,
                        const struct fth_model_counts *found,
                        const struct timed_oracle_counts *expected)
{
    static const char *const kinds[] = {"read", "write", "atomic"};
    char what[64];
    for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, "%s %s requests", level, kinds[k]);
        check_equal(seed, launch, what, found->requests[k], expected->requests[k]);
        snprintf(what, sizeof what, "%s %s sectors", level, kinds[k]);
        check_equal(seed, launch, what, found->sectors[k], expected->sectors[k]);
        snprintf(what, sizeof what, "%s %s merges", level, kinds[k]);
        check_equal(seed, launch, what, found->merges[k], expected->merges[k]);
        snprintf(what, sizeof what, "%s %s hits", level, kinds[k]);
        check_equal(seed, launch, what, found->hits[k], expected->hits[k]);
    }
}

static void check_profile(unsigned seed, size_t launch, const char *what,
                          const struct fth_model_profile *found, const uint64_t *expected,
                          uint64_t ways)
{
    for (size_t i = 0; i <= ways; i++)
        check_equal(seed, launch, what, i < found->count ? found->counts[i] : 0, expected[i]);
}

/* Returns the row of the kernel of a launch. */
static const struct fth_model_row *find_row(const struct fth_model_result *result, size_t launch)
{
    char kernel[8];
    snprintf(kernel, sizeof kernel, "k%zu", launch);
    for (size_t i = 0; fth_model_row(result, i); i++)
        if (!fth_model_row(result, i)->instruction &&
            strcmp(fth_model_row(result, i)->kernel, kernel) == 0)
            return fth_model_row(result, i);
    fail_msg("no row for %s", kernel);
    return NULL;
}

/* How often random programs had what the test is for. */
static struct {
    uint64_t misses[2][MISS_CAUSES];
    uint64_t joined, l1_merges, l2_merges, far_hits, dram_writes, uncounted_stores, waves;
} seen;

/* The causes of misses of all reads must be those of the oracle, and each read that misses must
 * have one in the row of its instruction. */
static void check_misses(unsigned seed, size_t launch, const struct fth_model_result *result,
                         const struct fth_model_row *kernel,
                         const struct timed_oracle_result *expected)
{
    static const char *const names[] = {"cold", "capacity", "conflict", "coherence", "sector"};
    uint64_t found[2][MISS_CAUSES];
    for (size_t i = 0; fth_model_row(result, i); i++) {
        const struct fth_model_row *row = fth_model_row(result, i);
        miss_counts(&row->l1_misses, found[0]);
        miss_counts(&row->l2_misses, found[1]);
        for (int level = 0; level < 2; level++) {
            const struct fth_model_counts *counts = level ? &row->l2 : &row->l1;
            uint64_t sum = 0;
            for (int cause = 0; cause < MISS_CAUSES; cause++)
                sum += found[level][cause];
            check_equal(seed, launch, "misses of a row", sum, counts->sectors[0] - counts->hits[0]);
        }
    }
    miss_counts(&kernel->l1_misses, found[0]);
    miss_counts(&kernel->l2_misses, found[1]);
    for (int cause = 0; cause < MISS_CAUSES; cause++) {
        check_equal(seed, launch, names[cause], found[0][cause], expected->l1.misses[cause]);
        check_equal(seed, launch, names[cause], found[1][cause], expected->l2.misses[cause]);
        seen.misses[0][cause] += found[0][cause];
        seen.misses[1][cause] += found[1][cause];
    }
}

static void compare_launch(unsigned seed, const struct timed_gpu *gpu,
                           const struct fth_model_result *result, size_t launch,
                           const struct timed_oracle_result *expected)
{
    const struct fth_model_row *row = find_row(result, launch);
    check_level(seed, launch, "L1", &row->l1, &expected->l1);
    check_level(seed, launch, "L2", &row->l2, &expected->l2);
    for (int k = 0; k < 2; k++) {
        check_profile(seed, launch, "L1 profile", &row->l1_profile[k], expected->l1.profile[k],
                      gpu->l1.ways);
        check_profile(seed, launch, "L2 profile", &row->l2_profile[k], expected->l2.profile[k],
                      gpu->l2.ways);
    }
    check_equal(seed, launch, "far hits", row->far_hits, expected->far_hits);
    check_equal(seed, launch, "memory reads", row->dram_reads, expected->dram_reads);
    check_equal(seed, launch, "memory writes", row->dram_writes, expected->dram_writes);
    check_equal(seed, launch, "ticks", (uint64_t)llround(row->seconds * gpu->clock_hz * 4096),
                expected->ticks);
    const uint64_t misses = expected->l1.sectors[0] - expected->l1.hits[0] -
                            (gpu->l1.merged_hits ? 0 : expected->l1.merges[0]);
    seen.joined += misses - expected->l2.sectors[0];
    seen.l1_merges += expected->l1.merges[0];
    seen.l2_merges += expected->l2.merges[0];
    seen.far_hits += expected->far_hits;
    seen.dram_writes += expected->dram_writes;
    seen.uncounted_stores += expected->l1.sectors[1] - expected->l2.sectors[1];
}

static void compare(unsigned seed)
{
    static struct program program;
    struct timed_gpu gpu = {0};
    struct timed_oracle_result expected[LAUNCHES];
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    random_caches(&rng, &gpu);
    random_sms(&rng, &gpu);
    random_times(&rng, &gpu);
    random_program(&rng, &program, gpu.max_warps);
    struct fth_model_params *params = params_of(&gpu);
    struct fth_trace *trace = make_trace(&program);
    timed_oracle_run(&gpu, program.instructions, program.launches, program.launch_count, expected);
    for (int diagnose = 0; diagnose < 2; diagnose++) {
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.diagnose = diagnose);
        if (fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
            fail_msg("seed %u: %s: %s", seed, error.argument, error.cause);
        for (size_t i = 0; i < program.launch_count; i++) {
            compare_launch(seed, &gpu, result, i, &expected[i]);
            if (diagnose)
                check_misses(seed, i, result, find_row(result, i), &expected[i]);
        }
        fth_model_result_destroy(result);
    }
    for (size_t i = 0; i < program.launch_count; i++)
        seen.waves += program.launches[i].blocks > gpu.sms * gpu.max_blocks;
    fth_trace_close(trace);
    fth_model_params_destroy(params);
}

static void all_counts_and_times_match_the_oracle(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    for (unsigned seed = first_seed; seed <= last_seed; seed++)
        compare(seed);
    /* The random programs must not leave out what is difficult. */
    if (last_seed - first_seed < 200)
        return;
    assert_true(seen.joined > 500 && seen.l1_merges > 200 && seen.l2_merges > 500);
    assert_true(seen.far_hits > 500 && seen.dram_writes > 1000);
    assert_true(seen.uncounted_stores > 100 && seen.waves > 10);
    for (int cause = 0; cause < MISS_CAUSES; cause++)
        assert_true(seen.misses[0][cause] > 100 && seen.misses[1][cause] > 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_counts_and_times_match_the_oracle)};
    if (argc == 3) {
        first_seed = (unsigned)strtoul(argv[1], NULL, 10);
        last_seed = (unsigned)strtoul(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests_name("timed oracle", tests, enter_folder, leave_folder);
}
