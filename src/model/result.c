/* The results of the model as rows of counts, and the metrics that are computed from a row. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

void fth_counts_add(struct fth_model_counts *to, const struct fth_model_counts *from)
{
    for (int kind = 0; kind < 3; kind++) {
        to->requests[kind] += from->requests[kind];
        to->sectors[kind] += from->sectors[kind];
        to->hits[kind] += from->hits[kind];
        to->merges[kind] += from->merges[kind];
    }
}

void fth_misses_add(struct fth_model_misses *to, const struct fth_model_misses *from)
{
    to->cold += from->cold;
    to->capacity += from->capacity;
    to->conflict += from->conflict;
    to->coherence += from->coherence;
    to->sector += from->sector;
}

void fth_shared_counts_add(struct fth_shared_counts *to, const struct fth_shared_counts *from)
{
    for (int kind = 0; kind < 3; kind++)
        to->requests[kind] += from->requests[kind];
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
    to->padded_wavefronts += from->padded_wavefronts;
}

/* Adds `count` entries to a profile, which is enlarged if needed. The last entry of each profile
 * counts the misses, so it is added to the last entry even if the profiles have different lengths
 * (caches with different numbers of ways). Returns false without memory. */
bool fth_profile_add(struct fth_model_profile *to, const uint64_t *from, size_t count)
{
    if (count == 0)
        return true;
    if (count > to->count) {
        uint64_t *counts = calloc(count, sizeof *counts);
        if (!counts)
            return false;
        for (size_t i = 0; i + 1 < to->count; i++)
            counts[i] = to->counts[i];
        if (to->count)
            counts[count - 1] = to->counts[to->count - 1];
        free(to->counts);
        to->counts = counts;
        to->count = count;
    }
    for (size_t i = 0; i + 1 < count; i++)
        to->counts[i] += from[i];
    to->counts[to->count - 1] += from[count - 1];
    return true;
}

bool fth_row_add(struct fth_model_row *row, const struct fth_model_row *from)
{
    bool made = true;
    row->launches += from->launches;
    for (int kind = 0; kind < 3; kind++) {
        row->warps[kind] += from->warps[kind];
        row->local_warps[kind] += from->local_warps[kind];
        row->texture_warps[kind] += from->texture_warps[kind];
    }
    fth_counts_add(&row->l1, &from->l1);
    fth_counts_add(&row->local, &from->local);
    fth_counts_add(&row->texture, &from->texture);
    fth_counts_add(&row->l2, &from->l2);
    fth_counts_add(&row->bypassed, &from->bypassed);
    fth_misses_add(&row->l1_misses, &from->l1_misses);
    fth_misses_add(&row->l2_misses, &from->l2_misses);
    fth_shared_counts_add(&row->shared, &from->shared);
    row->far_hits += from->far_hits;
    row->dram_reads += from->dram_reads;
    row->dram_writes += from->dram_writes;
    row->l1_steps += from->l1_steps;
    row->l2_steps += from->l2_steps;
    row->l1_fails += from->l1_fails;
    row->l2_fails += from->l2_fails;
    row->l1_read_sectors_per_sm += from->l1_read_sectors_per_sm;
    row->seconds += from->seconds;
    row->simulated_warps += from->simulated_warps;
    row->l1_error_sectors += from->l1_error_sectors;
    row->l2_error_sectors += from->l2_error_sectors;
    row->last_launch = from->launch;
    row->l1_bytes = from->l1_bytes;
    row->blocks_at_once = from->blocks_at_once;
    for (int i = 0; i < 2; i++)
        made = made &&
               fth_profile_add(&row->l1_profile[i], from->l1_profile[i].counts,
                               from->l1_profile[i].count) &&
               fth_profile_add(&row->l2_profile[i], from->l2_profile[i].counts,
                               from->l2_profile[i].count);
    return made;
}

void fth_model_result_destroy(struct fth_model_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->row_count; i++)
        for (int k = 0; k < 2; k++) {
            free(result->rows[i].l1_profile[k].counts);
            free(result->rows[i].l2_profile[k].counts);
        }
    for (int level = 0; level < FTH_MODEL_LEVELS; level++)
        free(result->curves[level].profile);
    free(result->intervals);
    free(result->rows);
    free(result);
}

const struct fth_model_row *fth_model_row(const struct fth_model_result *result, size_t index)
{
    return index < result->row_count ? &result->rows[index] : NULL;
}

const struct fth_model_intervals *fth_model_intervals(const struct fth_model_result *result,
                                                      size_t index)
{
    return result->intervals && index < result->row_count ? &result->intervals[index] : NULL;
}

const struct fth_model_curve *fth_model_curve(const struct fth_model_result *result, int level)
{
    if (level < 1 || level > FTH_MODEL_LEVELS || !result->curves[level - 1].profile)
        return NULL;
    return &result->curves[level - 1];
}

double fth_model_hit_ratio(const struct fth_model_counts *counts, bool reads_only)
{
    uint64_t sectors = 0, hits = 0;
    for (int kind = 0; kind < (reads_only ? 1 : 3); kind++) {
        sectors += counts->sectors[kind];
        hits += counts->hits[kind];
    }
    return sectors ? (double)hits / (double)sectors : (double)NAN;
}

double fth_model_sample_error(const struct fth_model_row *row, int level)
{
    const struct fth_model_counts *counts = level == 1 ? &row->l1 : &row->l2;
    const double sectors = (double)counts->sectors[FTH_TRACE_READ];
    const double error = level == 1 ? row->l1_error_sectors : row->l2_error_sectors;
    return row->instruction || !(sectors > 0) ? (double)NAN : fmin(1, error / sectors);
}

/* The total latency of some sectors. 0 sectors need no latency, so an unknown one (NAN) does no
 * harm. */
static double cycles(const struct fth_model_params *params, size_t key, uint64_t sectors)
{
    return sectors ? params->values[key].number * (double)sectors : 0;
}

double fth_model_access_cycles(const struct fth_model_row *row,
                               const struct fth_model_params *params)
{
    const uint64_t all = row->l1.sectors[FTH_TRACE_READ], l1 = row->l1.hits[FTH_TRACE_READ];
    const uint64_t l2 = row->l2.hits[FTH_TRACE_READ], far = row->far_hits;
    const uint64_t asked = row->l2.sectors[FTH_TRACE_READ];
    const uint64_t memory = asked > l2 + far ? asked - l2 - far : 0;
    /* An L1 whose fills are larger than a sector requests more sectors from the L2 than it missed.
     * The latencies of all requested sectors are scaled to the number that was missed. */
    const double scale = asked ? (double)(all - l1) / (double)asked : 0;
    if (!all)
        return (double)NAN;
    const double below = cycles(params, fth_model_key(FTH_MODEL_L2, FTH_KEY_LATENCY_CYCLES), l2) +
                         cycles(params, FTH_KEY_FAR_CYCLES, far) +
                         cycles(params, FTH_KEY_MEMORY_CYCLES, memory);
    return (cycles(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_LATENCY_CYCLES), l1) +
            scale * below) /
           (double)all;
}

/* ---- time floor ---- */

/* Returns the bytes of a sector; a line without sectors is one sector. */
static double sector_bytes(const struct fth_model_params *params, enum fth_model_level level)
{
    const double sector = params->values[fth_model_key(level, FTH_KEY_SECTOR)].number;
    return sector > 0 ? sector : params->values[fth_model_key(level, FTH_KEY_LINE)].number;
}

double fth_model_floor_s(const struct fth_model_row *row, const struct fth_model_params *params,
                         enum fth_model_limit *limit)
{
    const struct fth_model_value *values = params->values;
    const double l1_sector = sector_bytes(params, FTH_MODEL_L1);
    const double l2_sector = sector_bytes(params, FTH_MODEL_L2);
    const double l2_sectors = (double)row->l2.sectors[FTH_TRACE_READ] +
                              (double)row->l2.sectors[FTH_TRACE_WRITE] +
                              (double)row->l2.sectors[FTH_TRACE_ATOMIC];
    /* The bandwidth of the L1s is that of all SMs together, of which a launch may use only some. */
    const double seconds[] = {
        [FTH_LIMIT_L1] = row->l1_read_sectors_per_sm * l1_sector * values[FTH_KEY_SMS].number /
                         values[fth_model_key(FTH_MODEL_L1, FTH_KEY_BYTES_PER_S)].number,
        [FTH_LIMIT_L2] = l2_sectors * l2_sector /
                         values[fth_model_key(FTH_MODEL_L2, FTH_KEY_BYTES_PER_S)].number,
        [FTH_LIMIT_MEMORY] = (double)(row->dram_reads + row->dram_writes) * l2_sector /
                             values[FTH_KEY_MEMORY_BYTES_PER_S].number,
    };
    double floor_s = (double)NAN;
    enum fth_model_limit longest = FTH_LIMIT_NONE;
    for (int i = FTH_LIMIT_L1; i <= FTH_LIMIT_MEMORY && !row->instruction; i++) {
        if (!isfinite(seconds[i]))
            continue; /* the bandwidth is unknown */
        if (seconds[i] > 0 && !(seconds[i] <= floor_s))
            longest = (enum fth_model_limit)i;
        floor_s = seconds[i] <= floor_s ? floor_s : seconds[i];
    }
    if (limit)
        *limit = longest;
    return floor_s;
}
