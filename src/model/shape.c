/* Derives what a launch needs from the parameters: the geometry of the caches, the size of the L1
 * that the driver's carve-out leaves, and the number of resident blocks per SM. The latter is
 * Algorithm 3 of the paper, plus the limits by shared memory and registers, which the paper leaves
 * out. */
#include "model/level/level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The carve-out above which the driver of an H200 reserves no shared memory for blocks that are not
 * resident, in bytes (see wanted_carveout). */
enum { SPARE_CARVEOUT = 132 << 10 };

/* Limits of the parameters. They only refuse mistakes and sizes that would exhaust the memory;
 * chosen, not derived. */
#define MAX_LATENCY 1e6                      /* steps of a miss; further steps per busy MSHR */
#define MAX_UNITS 4096                       /* banks of all partitions of a cache */
#define MAX_BANK_LINES (UINT64_C(1) << 26)   /* also the limit of src/cache */
#define MAX_ALL_L1_LINES (UINT64_C(1) << 28) /* lines of the L1s of all SMs */
#define MAX_SECTORS 64                       /* of a line: the bits of a mask of sectors */

/* Tags per row of the policy "clock" if the description does not have them, as in
 * cache/policy/clock.c. */
enum { DEFAULT_ROW_WAYS = 4 };

/* `name` is that of a kernel or of a parameter. */
static enum fth_status refuse(const char *name, const char *cause, struct fth_error *error)
{
    char text[FTH_NAME_BYTES];
    fth_demangle(name, FTH_NAME_SHORT, text, sizeof text);
    return fth_fail(error, FTH_INVALID, "model caches", text, "%s", cause);
}

static bool power_of_two(uint64_t number)
{
    return number && (number & (number - 1)) == 0;
}

static const char *text_of(const struct fth_model_params *params, size_t key)
{
    return params->values[key].text;
}

/* Parses a latency such as "2" (fixed), "a2" or "4,0.5" into K1 (`latency_fixed`) and K2
 * (`latency_per_busy`), in steps. */
static bool parse_latency(const char *text, double *latency_fixed, double *latency_per_busy)
{
    char *end;
    *latency_per_busy = 0;
    if ((text[0] == 'a' || text[0] == 'A') && text[1] >= '1' && text[1] <= '4' && !text[2]) {
        *latency_fixed = (double)(1 << (text[1] - '1'));
        *latency_per_busy = *latency_fixed / 8; /* A1 = (1, 0.125) to A4 = (8, 1), Section 5.1 */
        return true;
    }
    *latency_fixed = fth_strtod(text, &end);
    if (end == text)
        return false;
    if (*end == ',')
        *latency_per_busy = fth_strtod(end + 1, &end);
    return !*end && *latency_fixed >= 1 && *latency_fixed <= MAX_LATENCY &&
           *latency_per_busy >= 0 && *latency_per_busy <= MAX_LATENCY;
}

static enum fth_status set_sizes(const struct fth_model_params *params, enum fth_model_level level,
                                 struct fth_shape *shape, struct fth_error *error)
{
    const size_t base = fth_model_key(level, FTH_KEY_SIZE);
    const char *lines = level == FTH_MODEL_L1 ? "l1.line_bytes" : "l2.line_bytes";
    const char *sectors = level == FTH_MODEL_L1 ? "l1.sector_bytes" : "l2.sector_bytes";
    shape->line_bytes = fth_model_integer(params, base + FTH_KEY_LINE);
    shape->sector_bytes = fth_model_integer(params, base + FTH_KEY_SECTOR);
    shape->fill_bytes = fth_model_integer(params, base + FTH_KEY_FILL);
    if (!shape->sector_bytes)
        shape->sector_bytes = shape->line_bytes;
    if (!power_of_two(shape->line_bytes) || shape->line_bytes < 4)
        return refuse(lines, "the line size must be a power of two, at least 4 bytes", error);
    if (!power_of_two(shape->sector_bytes) || shape->sector_bytes > shape->line_bytes ||
        shape->line_bytes / shape->sector_bytes > MAX_SECTORS)
        return refuse(
            sectors,
            "the sector size must be a power of two that divides the line into at most 64 sectors",
            error);
    if (shape->fill_bytes < shape->sector_bytes)
        shape->fill_bytes = shape->sector_bytes;
    if (shape->fill_bytes > shape->line_bytes)
        shape->fill_bytes = shape->line_bytes;
    if (!power_of_two(shape->fill_bytes))
        return refuse(level == FTH_MODEL_L1 ? "l1.fill_bytes" : "l2.fill_bytes",
                      "the fill size must be a power of two", error);
    while ((UINT64_C(1) << shape->line_shift) < shape->line_bytes)
        shape->line_shift++;
    while ((UINT64_C(1) << shape->sector_shift) < shape->sector_bytes)
        shape->sector_shift++;
    return FTH_OK;
}

static enum fth_status set_geometry(const struct fth_model_params *params,
                                    enum fth_model_level level, uint64_t size_bytes,
                                    struct fth_shape *shape, struct fth_error *error)
{
    const size_t base = fth_model_key(level, FTH_KEY_SIZE);
    const bool first = level == FTH_MODEL_L1;
    shape->partitions = fth_model_integer(params, base + FTH_KEY_PARTITIONS);
    shape->banks = fth_model_integer(params, base + FTH_KEY_BANKS);
    shape->ports = fth_model_integer(params, base + FTH_KEY_PORTS);
    shape->partition_bytes = fth_model_integer(params, base + FTH_KEY_PARTITION_BYTES);
    shape->bank_bytes = fth_model_integer(params, base + FTH_KEY_BANK_BYTES);
    if (!shape->partition_bytes)
        shape->partition_bytes = shape->line_bytes;
    if (!shape->bank_bytes)
        shape->bank_bytes = shape->line_bytes;
    if (shape->partition_bytes % shape->line_bytes || shape->bank_bytes % shape->line_bytes)
        return refuse(first ? "l1.partition_bytes, l1.bank_bytes"
                            : "l2.partition_bytes, l2.bank_bytes",
                      "must be multiples of the line size", error);
    if (shape->partitions * shape->banks > MAX_UNITS)
        return refuse(first ? "l1.banks" : "l2.banks", "partitions x banks must be at most 4096",
                      error);
    shape->lines = size_bytes / shape->line_bytes / (shape->partitions * shape->banks);
    const uint64_t sets = fth_model_integer(params, base + FTH_KEY_SETS);
    const uint64_t ways = fth_model_integer(params, base + FTH_KEY_WAYS);
    if (shape->lines == 0 || shape->lines > MAX_BANK_LINES)
        return refuse(first ? "l1.size_bytes" : "l2.size_bytes", "a bank must hold 1 to 2^26 lines",
                      error);
    if (!sets && !ways)
        return refuse(first ? "l1.ways" : "l2.ways", "ways and sets are both 0; set one of them",
                      error);
    shape->sets = sets ? sets : shape->lines / ways;
    if (sets > shape->lines || ways > shape->lines)
        return refuse(first ? "l1.ways" : "l2.ways",
                      "there are more ways or sets than lines in a bank", error);
    if (!sets && shape->lines % ways)
        return refuse(first ? "l1.ways" : "l2.ways",
                      "the number of lines in a bank is not a multiple of the ways", error);
    shape->ways = (shape->lines + shape->sets - 1) / shape->sets;
    return FTH_OK;
}

/* Resolves l1.index if it is "description". The masks apply if the L1 has as many sets as they
 * select, one bank, and not more ways than the rows have tags. Otherwise, the index function is the
 * default of the model. */
static enum fth_status set_hash(const struct fth_model_params *params, struct fth_shape *shape,
                                struct fth_error *error)
{
    const struct fth_hash_masks *masks = &params->l1_masks;
    const bool clock = strcmp(shape->policy, "clock") == 0;
    const uint64_t row_ways = params->l1_row_ways ? params->l1_row_ways : DEFAULT_ROW_WAYS;
    const uint64_t rows = UINT64_C(1) << masks->row_count;
    if (strcmp(shape->index, "description") != 0)
        return FTH_OK;
    if (masks->set_count + masks->row_count == 0)
        return refuse("l1.index", "the description of the GPU has no set_masks", error);
    shape->index = "xor";
    if (shape->partitions * shape->banks > 1 ||
        !fth_hash_masks_fit(masks, shape->line_bytes, shape->sets, clock ? rows : 0) ||
        (clock && shape->ways > rows * row_ways))
        return FTH_OK;
    shape->masks = masks;
    shape->row_ways = clock ? row_ways : 0;
    return FTH_OK;
}

static enum fth_status set_level(const struct fth_model_params *params, enum fth_model_level level,
                                 uint64_t size_bytes, struct fth_shape *shape,
                                 struct fth_error *error)
{
    const size_t base = fth_model_key(level, FTH_KEY_SIZE);
    *shape =
        (struct fth_shape){.index = text_of(params, base + FTH_KEY_INDEX),
                           .policy = text_of(params, base + FTH_KEY_POLICY),
                           .mshr_sets = fth_model_integer(params, base + FTH_KEY_MSHR_SETS),
                           .mshr_size = fth_model_integer(params, base + FTH_KEY_MSHR_SIZE),
                           .mshr_merges = fth_model_integer(params, base + FTH_KEY_MSHR_MERGES),
                           .seed = fth_model_integer(params, FTH_KEY_SEED),
                           .variants = &params->variants,
                           .request_flags = level == FTH_MODEL_L1 ? FTH_LINE_REQUEST_L1_FLAGS
                                                                  : FTH_LINE_REQUEST_L2_FLAGS};
    const char *bypass = text_of(params, base + FTH_KEY_BYPASS);
    shape->bypass = strcmp(bypass, "rwon") == 0  ? FTH_BYPASS_ALL
                    : strcmp(bypass, "won") == 0 ? FTH_BYPASS_WRITES
                                                 : FTH_BYPASS_OFF;
    shape->write = shape->bypass != FTH_BYPASS_OFF ? FTH_WRITE_EVICT
                   : level == FTH_MODEL_L1         ? FTH_WRITE_THROUGH
                                                   : FTH_WRITE_BACK;
    shape->merged_hits = strcmp(text_of(params, base + FTH_KEY_MERGED), "hit") == 0;
    if (!parse_latency(text_of(params, base + FTH_KEY_LATENCY), &shape->latency_fixed,
                       &shape->latency_per_busy))
        return refuse(level == FTH_MODEL_L1 ? "l1.latency" : "l2.latency",
                      "must be a number of steps (at least 1), a1 to a4, or K1,K2", error);
    FTH_TRY(set_sizes(params, level, shape, error));
    FTH_TRY(set_geometry(params, level, size_bytes, shape, error));
    return set_hash(params, shape, error);
}

/* Returns how many blocks fit on an SM, limited by its warps, blocks and registers. */
static uint64_t blocks_by_threads(const struct fth_model_params *params, uint64_t warps)
{
    uint64_t blocks = fth_model_integer(params, FTH_KEY_MAX_WARPS) / warps;
    const uint64_t max_blocks = fth_model_integer(params, FTH_KEY_MAX_BLOCKS);
    const uint64_t registers = fth_model_integer(params, FTH_KEY_KERNEL_REGISTERS);
    blocks = blocks < max_blocks ? blocks : max_blocks;
    if (registers) {
        /* Registers are allocated per warp in units of 256 (CUDA occupancy calculator). */
        const uint64_t warp_registers = (registers * 32 + 255) / 256 * 256;
        const uint64_t fit = fth_model_integer(params, FTH_KEY_REGISTERS) / warp_registers / warps;
        blocks = blocks < fit ? blocks : fit;
    }
    return blocks;
}

/* Returns the carve-out that a launch wants: what the driver of an H200 chooses when the program
 * does not request one, as observed with ncu. `block_bytes` is the shared memory of a block with
 * what the driver reserves (`reserved`). A kernel without shared memory gets four times what the
 * driver reserves for its resident blocks. Others get twice the shared memory of their resident
 * blocks, but for blocks that are not resident at most up to SPARE_CARVEOUT. Both count at most 32
 * blocks. The rule was found with 34 kernels and gives the carve-out of 65 of 66 others
 * (docs/results/model-heldout.md). Why the driver chooses so is not known. */
static uint64_t wanted_carveout(uint64_t blocks, uint64_t block_bytes, uint64_t reserved)
{
    const uint64_t times = block_bytes > reserved ? 2 : 4;
    const uint64_t counted = times * blocks < 32 ? times * blocks : 32;
    const uint64_t resident = blocks * block_bytes;
    uint64_t wanted = counted * block_bytes;
    if (wanted > SPARE_CARVEOUT)
        wanted = SPARE_CARVEOUT;
    return wanted > resident ? wanted : resident;
}

/* Limits the blocks per SM by shared memory, and finds the size of the L1 that the carve-out
 * leaves. */
static void choose_carveout(const struct fth_model_params *params, uint64_t block_bytes,
                            uint64_t *blocks, uint64_t *l1_bytes)
{
    const size_t size = fth_model_key(FTH_MODEL_L1, FTH_KEY_SIZE);
    const uint64_t sm_shared_bytes = fth_model_integer(params, FTH_KEY_SHARED);
    *l1_bytes = fth_model_integer(params, size);
    if (sm_shared_bytes && block_bytes && *blocks > sm_shared_bytes / block_bytes)
        *blocks = sm_shared_bytes / block_bytes;
    uint64_t wanted =
        wanted_carveout(*blocks, block_bytes, fth_model_integer(params, FTH_KEY_RESERVED));
    if (sm_shared_bytes && wanted > sm_shared_bytes)
        wanted = sm_shared_bytes;
    if (params->values[size].source == FTH_MODEL_SET)
        return;
    for (size_t i = 0; i < params->carveout_count; i++)
        if (params->carveout_bytes[i] >= wanted || i + 1 == params->carveout_count) {
            *l1_bytes = params->carveout_l1_bytes[i];
            return;
        }
}

/* Local memory is above all addresses of global memory, which have at most 57 bits. The limit of
 * the bytes per thread is chosen far above that of GPUs (512 KiB). It ensures that addresses do not
 * overflow with 2^28 resident warps. */
#define LOCAL_MEMORY (UINT64_C(1) << 60)
#define MAX_LOCAL_BYTES (UINT64_C(1) << 24)

uint64_t fth_local_address(const struct fth_setting *setting, uint64_t sm, uint64_t place,
                           uint64_t warp)
{
    const uint64_t number = sm * setting->local_warps + place * setting->warps_per_block + warp;
    return LOCAL_MEMORY + number * setting->local_bytes + setting->local_first;
}

/* Lays out local memory as on an H200 (docs/results/counting-rules.md): the driver allocates as
 * many bytes for each warp that fits on an SM as the stack limit or the largest kernel needs, and
 * the stack grows down from the reserved bytes at their end. `bytes`: those of the kernel, per
 * thread. */
static void place_local(const struct fth_model_params *params, uint64_t bytes,
                        struct fth_setting *setting)
{
    const uint64_t stack = fth_model_integer(params, FTH_KEY_LOCAL_STACK);
    const uint64_t most = bytes > stack ? bytes : stack;
    setting->local_bytes = 32 * bytes;
    setting->local_warps = setting->blocks_at_once * setting->warps_per_block;
    if (!stack)
        return;
    setting->local_bytes = 32 * (most + fth_model_integer(params, FTH_KEY_LOCAL_RESERVED));
    setting->local_first = 32 * (most - bytes);
    setting->local_warps = fth_model_integer(params, FTH_KEY_MAX_WARPS);
}

enum fth_status fth_model_setting(const struct fth_model_params *params,
                                  const struct fth_trace_launch *launch,
                                  struct fth_setting *setting, struct fth_error *error)
{
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    *setting = (struct fth_setting){.sms = fth_model_integer(params, FTH_KEY_SMS),
                                    .schedulers = fth_model_integer(params, FTH_KEY_SCHEDULERS),
                                    .warps_per_block = (threads + 31) / 32,
                                    .sides = fth_model_integer(params, FTH_KEY_SIDES),
                                    .home_mask = fth_model_integer(params, FTH_KEY_HOME_MASK),
                                    .cold = fth_model_integer(params, FTH_KEY_COLD) != 0};
    if (launch->local_bytes > MAX_LOCAL_BYTES)
        return refuse(launch->kernel, "a thread uses more than 16 MiB of local memory", error);
    setting->blocks = launch->grid[0];
    for (int i = 1; i < 3; i++) {
        if (launch->grid[i] && setting->blocks > UINT64_MAX / launch->grid[i])
            return refuse(launch->kernel, "the number of blocks in the grid exceeds 64 bits",
                          error);
        setting->blocks *= launch->grid[i];
    }
    if (setting->blocks == 0 || setting->warps_per_block == 0)
        return refuse(launch->kernel, "the grid has no blocks, or its blocks have no threads",
                      error);
    const uint64_t kernel_shared_bytes = launch->shared_bytes != UINT64_MAX
                                             ? launch->shared_bytes
                                             : fth_model_integer(params, FTH_KEY_KERNEL_SHARED);
    uint64_t blocks = blocks_by_threads(params, setting->warps_per_block);
    choose_carveout(params, kernel_shared_bytes + fth_model_integer(params, FTH_KEY_RESERVED),
                    &blocks, &setting->l1_bytes);
    if (blocks == 0)
        return refuse(
            launch->kernel,
            "no block fits on an SM: too many warps (gpu.max_warps), registers or shared memory",
            error);
    setting->blocks_at_once = blocks;
    place_local(params, launch->local_bytes, setting);
    const uint64_t l2_bytes = fth_model_integer(params, fth_model_key(FTH_MODEL_L2, FTH_KEY_SIZE));
    FTH_TRY(set_level(params, FTH_MODEL_L1, setting->l1_bytes, &setting->l1, error));
    FTH_TRY(set_level(params, FTH_MODEL_L2, l2_bytes / setting->sides, &setting->l2, error));
    /* Section 4.4.1. The latency of the L1 is K1 + K2 x busy MSHRs x active SMs / parallelism of
     * the L2. That of the L2 is K1 + K2 x busy MSHRs, with its own constants. */
    const uint64_t active = setting->blocks < setting->sms ? setting->blocks : setting->sms;
    const double parallel =
        (double)(setting->sides * setting->l2.partitions * setting->l2.banks * setting->l2.ports);
    setting->l1.latency_per_busy *= (double)active / parallel;
    if (setting->l1.lines * setting->l1.partitions * setting->l1.banks * active > MAX_ALL_L1_LINES)
        return refuse("gpu.sms",
                      "all L1s together have more than 2^28 lines; use fewer SMs or smaller L1s",
                      error);
    return FTH_OK;
}
