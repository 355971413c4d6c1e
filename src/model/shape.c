/* What the parameters come to for a launch: the geometry of the caches, the L1 beside the carve-out
 * that the driver picks, and how many blocks an SM has at a time (Algorithm 3, and the shared
 * memory and registers that the paper leaves out). */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_CARVEOUT = 32 << 10 };

static enum fth_status refuse(const char *name, const char *cause, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "model caches", name, "%s", cause);
}

static bool power_of_two(uint64_t number)
{
    return number && (number & (number - 1)) == 0;
}

static const char *text_of(const struct fth_model_params *params, size_t key)
{
    return params->values[key].text;
}

/* "2", "a2", "4,0.5": K1 and K2. */
static bool parse_latency(const char *text, double *fixed, double *per_busy)
{
    char *end;
    *per_busy = 0;
    if ((text[0] == 'a' || text[0] == 'A') && text[1] >= '1' && text[1] <= '4' && !text[2]) {
        *fixed = (double)(1 << (text[1] - '1'));
        *per_busy = *fixed / 8; /* (1, 0.125) to (8, 1), Section 5.1 */
        return true;
    }
    *fixed = strtod(text, &end);
    if (end == text)
        return false;
    if (*end == ',')
        *per_busy = strtod(end + 1, &end);
    return !*end && *fixed >= 1 && *fixed <= 1e6 && *per_busy >= 0 && *per_busy <= 1e6;
}

static enum fth_status set_sizes(const struct fth_model_params *params, enum fth_model_level level,
                                 struct fth_shape *shape, struct fth_error *error)
{
    const size_t base = fth_model_key(level, FTH_KEY_SIZE);
    const char *lines = level == FTH_MODEL_L1 ? "l1.line_bytes" : "l2.line_bytes";
    const char *sectors = level == FTH_MODEL_L1 ? "l1.sector_bytes" : "l2.sector_bytes";
    shape->line_bytes = fth_model_whole(params, base + FTH_KEY_LINE);
    shape->sector_bytes = fth_model_whole(params, base + FTH_KEY_SECTOR);
    shape->fill_bytes = fth_model_whole(params, base + FTH_KEY_FILL);
    if (!shape->sector_bytes)
        shape->sector_bytes = shape->line_bytes;
    if (!power_of_two(shape->line_bytes) || shape->line_bytes < 4)
        return refuse(lines, "a line has a power of two of bytes, 4 at least", error);
    if (!power_of_two(shape->sector_bytes) || shape->sector_bytes > shape->line_bytes ||
        shape->line_bytes / shape->sector_bytes > 64)
        return refuse(sectors, "sectors divide a line, into at most 64", error);
    if (shape->fill_bytes < shape->sector_bytes)
        shape->fill_bytes = shape->sector_bytes;
    if (shape->fill_bytes > shape->line_bytes)
        shape->fill_bytes = shape->line_bytes;
    if (!power_of_two(shape->fill_bytes))
        return refuse(level == FTH_MODEL_L1 ? "l1.fill_bytes" : "l2.fill_bytes",
                      "a fill has a power of two of bytes", error);
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
    shape->partitions = fth_model_whole(params, base + FTH_KEY_PARTITIONS);
    shape->banks = fth_model_whole(params, base + FTH_KEY_BANKS);
    shape->ports = fth_model_whole(params, base + FTH_KEY_PORTS);
    shape->partition_bytes = fth_model_whole(params, base + FTH_KEY_PARTITION_BYTES);
    shape->bank_bytes = fth_model_whole(params, base + FTH_KEY_BANK_BYTES);
    if (!shape->partition_bytes)
        shape->partition_bytes = shape->line_bytes;
    if (!shape->bank_bytes)
        shape->bank_bytes = shape->line_bytes;
    if (shape->partition_bytes % shape->line_bytes || shape->bank_bytes % shape->line_bytes)
        return refuse(first ? "l1.partition_bytes, l1.bank_bytes"
                            : "l2.partition_bytes, l2.bank_bytes",
                      "addresses are dealt out in whole lines", error);
    if (shape->partitions * shape->banks > 4096)
        return refuse(first ? "l1.banks" : "l2.banks", "more than 4096 in all", error);
    shape->lines = size_bytes / shape->line_bytes / (shape->partitions * shape->banks);
    const uint64_t sets = fth_model_whole(params, base + FTH_KEY_SETS);
    const uint64_t ways = fth_model_whole(params, base + FTH_KEY_WAYS);
    if (shape->lines == 0 || shape->lines > (UINT64_C(1) << 26))
        return refuse(first ? "l1.size_bytes" : "l2.size_bytes",
                      "a bank holds from 1 to 2^26 lines, and this is none or more", error);
    if (!sets && !ways)
        return refuse(first ? "l1.ways" : "l2.ways", "ways and sets are both 0", error);
    shape->sets = sets ? sets : shape->lines / ways;
    if (sets > shape->lines || ways > shape->lines)
        return refuse(first ? "l1.ways" : "l2.ways", "more than there are lines", error);
    if (!sets && shape->lines % ways)
        return refuse(first ? "l1.ways" : "l2.ways",
                      "the lines of a bank are no multiple of the ways", error);
    shape->ways = (shape->lines + shape->sets - 1) / shape->sets;
    return FTH_OK;
}

static enum fth_status set_level(const struct fth_model_params *params, enum fth_model_level level,
                                 uint64_t size_bytes, struct fth_shape *shape,
                                 struct fth_error *error)
{
    const size_t base = fth_model_key(level, FTH_KEY_SIZE);
    *shape = (struct fth_shape){.index = text_of(params, base + FTH_KEY_INDEX),
                                .policy = text_of(params, base + FTH_KEY_POLICY),
                                .mshr_sets = fth_model_whole(params, base + FTH_KEY_MSHR_SETS),
                                .mshr_size = fth_model_whole(params, base + FTH_KEY_MSHR_SIZE),
                                .mshr_merges = fth_model_whole(params, base + FTH_KEY_MSHR_MERGES),
                                .seed = fth_model_whole(params, FTH_KEY_SEED)};
    const char *bypass = text_of(params, base + FTH_KEY_BYPASS);
    shape->bypass = strcmp(bypass, "rwon") == 0  ? FTH_BYPASS_ALL
                    : strcmp(bypass, "won") == 0 ? FTH_BYPASS_WRITES
                                                 : FTH_BYPASS_OFF;
    shape->write = shape->bypass != FTH_BYPASS_OFF ? FTH_WRITE_EVICT
                   : level == FTH_MODEL_L1         ? FTH_WRITE_THROUGH
                                                   : FTH_WRITE_BACK;
    shape->merged_hits = strcmp(text_of(params, base + FTH_KEY_MERGED), "hit") == 0;
    if (!parse_latency(text_of(params, base + FTH_KEY_LATENCY), &shape->fixed, &shape->per_busy))
        return refuse(level == FTH_MODEL_L1 ? "l1.latency" : "l2.latency",
                      "neither steps, from 1 on, nor a1 to a4, nor K1,K2", error);
    enum fth_status status = set_sizes(params, level, shape, error);
    if (status == FTH_OK)
        status = set_geometry(params, level, size_bytes, shape, error);
    return status;
}

/* How many blocks an SM can have by warps, blocks and registers. */
static uint64_t blocks_by_threads(const struct fth_model_params *params, uint64_t warps)
{
    uint64_t blocks = fth_model_whole(params, FTH_KEY_MAX_WARPS) / warps;
    const uint64_t max = fth_model_whole(params, FTH_KEY_MAX_BLOCKS);
    const uint64_t registers = fth_model_whole(params, FTH_KEY_KERNEL_REGISTERS);
    blocks = blocks < max ? blocks : max;
    if (registers) {
        /* A warp's are given in units of 256 (CUDA's occupancy calculator). */
        const uint64_t of_warp = (registers * 32 + 255) / 256 * 256;
        const uint64_t fit = fth_model_whole(params, FTH_KEY_REGISTERS) / of_warp / warps;
        blocks = blocks < fit ? blocks : fit;
    }
    return blocks;
}

/* The carve-out that the driver gives where nobody asks for one, as an H200's shows under ncu
 * (tests/ model/h200-counters.csv): room for twice as many blocks as an SM can have, for 32 at
 * most, and 32 KiB at least. Seen with blocks of 16 and 256 threads and 0 to 4 KiB of their own;
 * why twice is not known.
 */
static void share(const struct fth_model_params *params, uint64_t of_block, uint64_t *blocks,
                  uint64_t *l1_bytes)
{
    const size_t size = fth_model_key(FTH_MODEL_L1, FTH_KEY_SIZE);
    const uint64_t whole = fth_model_whole(params, FTH_KEY_SHARED);
    *l1_bytes = fth_model_whole(params, size);
    if (whole && of_block && *blocks > whole / of_block)
        *blocks = whole / of_block;
    uint64_t wanted = (*blocks < 16 ? 2 * *blocks : 32) * of_block;
    if (wanted < MIN_CARVEOUT)
        wanted = MIN_CARVEOUT;
    if (whole && wanted > whole)
        wanted = whole;
    if (params->values[size].source == FTH_MODEL_SET)
        return;
    for (size_t i = 0; i < params->carveout_count; i++)
        if (params->carveout_bytes[i] >= wanted || i + 1 == params->carveout_count) {
            *l1_bytes = params->carveout_l1_bytes[i];
            return;
        }
}

enum fth_status fth_model_setting(const struct fth_model_params *params,
                                  const struct fth_trace_launch *launch,
                                  struct fth_setting *setting, struct fth_error *error)
{
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    *setting = (struct fth_setting){.sms = fth_model_whole(params, FTH_KEY_SMS),
                                    .schedulers = fth_model_whole(params, FTH_KEY_SCHEDULERS),
                                    .warps_per_block = (threads + 31) / 32,
                                    .sides = fth_model_whole(params, FTH_KEY_SIDES),
                                    .home_mask = fth_model_whole(params, FTH_KEY_HOME_MASK),
                                    .cold = fth_model_whole(params, FTH_KEY_COLD) != 0};
    setting->blocks = launch->grid[0];
    for (int i = 1; i < 3; i++) {
        if (launch->grid[i] && setting->blocks > UINT64_MAX / launch->grid[i])
            return refuse(launch->kernel, "the grid has more blocks than can be counted", error);
        setting->blocks *= launch->grid[i];
    }
    if (setting->blocks == 0 || setting->warps_per_block == 0)
        return refuse(launch->kernel, "a grid without blocks, or blocks without threads", error);
    const uint64_t known = launch->shared_bytes != UINT64_MAX
                               ? launch->shared_bytes
                               : fth_model_whole(params, FTH_KEY_KERNEL_SHARED);
    uint64_t blocks = blocks_by_threads(params, setting->warps_per_block);
    share(params, known + fth_model_whole(params, FTH_KEY_RESERVED), &blocks, &setting->l1_bytes);
    if (blocks == 0)
        return refuse(
            launch->kernel,
            "not one block fits an SM: too many warps (gpu.max_warps), registers or shared memory",
            error);
    setting->blocks_at_once = blocks;
    enum fth_status status =
        set_level(params, FTH_MODEL_L1, setting->l1_bytes, &setting->l1, error);
    const uint64_t l2_bytes = fth_model_whole(params, fth_model_key(FTH_MODEL_L2, FTH_KEY_SIZE));
    if (status == FTH_OK)
        status = set_level(params, FTH_MODEL_L2, l2_bytes / setting->sides, &setting->l2, error);
    if (status != FTH_OK)
        return status;
    /* Section 4.4.1: L1: K1 + K2 x busy x SMs that are active / parallelism of the L2. Of the L2,
     * the same with its own. */
    const uint64_t active = setting->blocks < setting->sms ? setting->blocks : setting->sms;
    const double parallel =
        (double)(setting->sides * setting->l2.partitions * setting->l2.banks * setting->l2.ports);
    setting->l1.per_busy *= (double)active / parallel;
    if (setting->l1.lines * setting->l1.partitions * setting->l1.banks * active >
        (UINT64_C(1) << 28))
        return refuse("gpu.sms", "with L1s of that size, more lines than can be kept (2^28)",
                      error);
    return FTH_OK;
}
