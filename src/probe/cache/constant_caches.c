/* Measures the constant caches. A walk over the constant bank of 64 KiB, 8 bytes at a time, shows
 * all of them at once: a hop is fast if its line is in L1, slower if it is in L1.5, and slowest if
 * it is in L2. In a walk that starts with cold caches (a *first walk*), the distance between the
 * slower hops is the number of bytes that one miss fetches. The sizes are then found as for any
 * other cache (capacity.c). constant_code.c finds out whether L1.5 also holds code. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find constant caches";

/* ---- walks over the bank ---- */

enum {
    WORD_BYTES = 8, /* stride of the walks: the smallest element of a chain */
    WORDS = FTH_CONSTANT_BANK_BYTES / WORD_BYTES,
    REPEATS = 3,            /* of each walk; the median of a hop's times counts */
    FIRST_FOOTPRINT = 1024, /* bytes of the smallest footprint: half of the smallest constant L1 */
    FOOTPRINTS = 7,         /* each twice as large as the previous one, up to the bank */
    /* All footprints together have 127 KiB, less than two banks, so they have fewer than 2 * WORDS
     * hops (one per word). Therefore MAX_FOOTPRINT_HOPS exceeds the hops of all repeats of all
     * footprints, and MAX_MEDIANS exceeds the hops of one first walk and one walk over each
     * footprint. */
    MAX_FOOTPRINT_HOPS = 2 * REPEATS * WORDS,
    MAX_MEDIANS = 3 * WORDS
};

/* ---- levels ---- */

/* Maximum latency of a constant cache as a fraction of the L2's latency. Chosen, not derived. */
static const double max_l2_fraction = 0.8;
/* The same for an L1.5 if a slower plateau is the L2's: it is within range_fraction of the L2's
 * latency, and nearer to it. Chosen: two plateaus are at least plateau_min_gap apart. */
static const double max_l15_fraction = 0.95;
/* Conditions for a plateau of hops (struct fth_cluster_options). Chosen, not derived. */
static const double plateau_min_share = 0.001, plateau_min_gap = 0.1;
/* The same in the hops of one footprint. Chosen: a line has at most 256 bytes, 32 words, and all
 * lines of a footprint of twice the L1 miss it under most policies. The median of three repeats is
 * disturbed far less often. */
static const double footprint_min_share = 0.01;
/* A hop is taken as a hop of L1.5 if it is within the 5th to 95th percentile of the plateau of L1.5
 * or at most range_cycles outside. It is taken as a hop of L2 if it differs from the typical hop of
 * L2 by at most the fraction range_fraction of it; the latencies of the L2's slices differ. Chosen,
 * not derived. */
static const double range_cycles = 6, range_fraction = 0.15;

/* ---- line ---- */

enum { MAX_LINE = 4096 }; /* bytes of the longest line that is looked for. Chosen. */
/* The line size is the shortest distance for which more than this fraction of the hops that are
 * this far apart are slow. Chosen, not derived. */
static const double line_share = 0.75;

/* ---- latency ---- */

enum {
    /* Parts that the hops of L1.5 are divided into, for the confidence; TIMED_PASSES in
     * load_latency.c is the same number. */
    HOP_PARTS = 15,
    UNROLLED_LOADS = 32,   /* by the kernel; the fixed cost of other chains differs */
    MIN_L15_BYTES = 16384, /* in a smaller L1.5, the code of the walk may evict constants */
    /* Footprints for the latency and the size of L1.5, relative to the size of L1: at least
     * MIN_BEYOND_L1 times as large, and MANY_L1 times if L1.5 holds as much. L1 holds almost
     * nothing of them. Chosen. */
    MIN_BEYOND_L1 = 2,
    MANY_L1 = 4,
    /* The longer footprint for the latency of L1.5 is at most MAX_L15_QUARTERS quarters of L1.5, so
     * that the code of the walk fits, too. Chosen. */
    MAX_L15_QUARTERS = 3,
    /* The smallest footprint of L1 for its size: MIN_LINES lines, at least MIN_L1_BYTES. */
    MIN_LINES = 4,
    MIN_L1_BYTES = 256
};
/* Chains of 256 and 512 bytes, which fit into every constant L1. */
static const struct fth_latency_plan l1_plan = {
    .path = FTH_PATH_CONSTANT,
    .carveout_percent = -1,
    .stride_bytes = WORD_BYTES,
    .short_count = 32,
    .long_count = 64,
};
/* Chains of 8 and 32 KiB, which fit into every L2. */
static const struct fth_latency_plan l2_plan = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 64,
    .long_count = 256,
};

/* Intermediate results. The times of hops are in cycles and include the overhead of timing. */
struct constant_study {
    const struct fth_prober *prober;
    struct fth_constants *found;
    double l1_hop, l15_hop, l2_hop;     /* l15_hop NAN: there is no L1.5 */
    double l1_threshold, l15_threshold; /* slower hops miss; l15_threshold NAN: no L1.5 */
    double overhead;                    /* of timing a hop */
    double slow_rate;                   /* fraction of L1 hits that are slow */
    bool disturbed;                     /* slow_rate > 0, or the passes that timed L1 vary */
    double l15_low, l15_high;           /* range of nearly all hops of L1.5 */
    double l2_low, l2_high;             /* range of nearly all hops of L2 */
    uint64_t l15_fits_bytes; /* largest of the footprints of measure_levels() that fits into L1.5 */
};

static enum fth_status out_of_memory(struct fth_error *error)
{
    return fth_no_memory(error, operation, NULL);
}

/* Returns the median of three values that are `stride` entries apart. */
static uint32_t median(const uint32_t *values, size_t stride)
{
    uint32_t a = values[0], b = values[stride], c = values[2 * stride];
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Returns the chain of all words of the first `bytes` of the bank. */
static struct fth_chain words(uint64_t bytes)
{
    return (struct fth_chain){.stride_bytes = WORD_BYTES, .count = bytes / WORD_BYTES};
}

/* ---- levels ---- */

/* Sets the ranges of the hops of L1.5 and of L2. With them, capacity.c distinguishes misses from
 * hops that are slow because of a disturbance. */
static void find_ranges(struct constant_study *study, const struct fth_clusters *clusters)
{
    study->l15_low = study->l15_high = 0;
    for (size_t i = 1; i < clusters->count; i++) {
        const struct fth_cluster *cluster = &clusters->items[i];
        if (cluster->median == study->l15_hop) {
            study->l15_low = cluster->p05 - range_cycles;
            study->l15_high = cluster->p95 + range_cycles;
        }
    }
    study->l2_low = fmax(study->l2_hop * (1 - range_fraction), study->l15_high);
    study->l2_high = study->l2_hop * (1 + range_fraction);
}

/* Returns the plateau with the most hops among those after the first one that are below
 * max_l2_fraction of the L2's latency; NULL: there is none. */
static const struct fth_cluster *find_fast_plateau(const struct constant_study *study,
                                                   const struct fth_clusters *clusters)
{
    const struct fth_cluster *found = NULL, *items = clusters->items;
    for (size_t i = 1; i < clusters->count; i++)
        if (items[i].median < max_l2_fraction * study->l2_hop &&
            (!found || items[i].count > found->count))
            found = &items[i];
    return found;
}

/* Returns the plateau of L1.5 among those after the first one; NULL: there is none. If there is no
 * fast one, it may be a plateau below max_l15_fraction that is followed by the plateau of the L2.
 */
static const struct fth_cluster *find_l15_plateau(const struct constant_study *study,
                                                  const struct fth_clusters *clusters)
{
    const struct fth_cluster *found = find_fast_plateau(study, clusters), *items = clusters->items;
    for (size_t i = 1; i + 1 < clusters->count && !found; i++) {
        const double next_distance = fabs(items[i + 1].median - study->l2_hop);
        if (items[i].median < max_l15_fraction * study->l2_hop &&
            next_distance < range_fraction * study->l2_hop &&
            next_distance < study->l2_hop - items[i].median)
            found = &items[i];
    }
    return found;
}

/* Searches for the plateau of a small L1.5 in the hops of one footprint after the other, and sets
 * *found to it or to NULL. An L1.5 of two or three times the size of L1 is visible in one footprint
 * only, and its hops are too few among the hops of all footprints. `hops` begins with the first
 * walk. `clusters` has the plateaus of the last footprint that was searched. */
static enum fth_status find_small_l15(const struct constant_study *study, const uint32_t *hops,
                                      struct fth_clusters *clusters,
                                      const struct fth_cluster **found, struct fth_error *error)
{
    const struct fth_cluster_options options = {.min_share = footprint_min_share,
                                                .min_gap_relative = plateau_min_gap};
    size_t start = WORDS;
    *found = NULL;
    for (size_t i = 0; i < FOOTPRINTS && !*found; i++) {
        const size_t count = (size_t)(FIRST_FOOTPRINT / WORD_BYTES) << i;
        FTH_TRY(fth_cluster_u32(hops + start, count, &options, clusters, error));
        if (fabs(clusters->items[0].median - study->l1_hop) < plateau_min_gap * study->l1_hop)
            *found = find_fast_plateau(study, clusters);
        start += count;
    }
    return FTH_OK;
}

/* Finds the levels from the plateaus of the hops. The first plateau is L1.
 * The threshold between two levels is the geometric mean of their hops, as in capacity.c. */
static enum fth_status find_levels(struct constant_study *study, const uint32_t *hops, size_t count,
                                   struct fth_error *error)
{
    const struct fth_cluster_options options = {.min_share = plateau_min_share,
                                                .min_gap_relative = plateau_min_gap};
    struct fth_clusters clusters;
    FTH_TRY(fth_cluster_u32(hops, count, &options, &clusters, error));
    study->l1_hop = clusters.items[0].median;
    study->l15_hop = NAN;
    if (study->l1_hop > max_l2_fraction * study->l2_hop)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "constant loads take as long as L2 loads");
    if (clusters.count < 2)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "all constant loads take equally long");
    const struct fth_cluster *l15 = find_l15_plateau(study, &clusters);
    if (!l15)
        FTH_TRY(find_small_l15(study, hops, &clusters, &l15, error));
    if (l15)
        study->l15_hop = l15->median;
    find_ranges(study, &clusters);
    study->l15_threshold = sqrt(study->l15_hop * study->l2_hop);
    study->l1_threshold = sqrt(study->l1_hop * (l15 ? study->l15_hop : study->l2_hop));
    study->found->has_l15 = l15 != NULL;
    return FTH_OK;
}

/* Returns the bytes that one miss fetches: the shortest power-of-two distance at which more than
 * line_share of the hops of a first walk are slow; 0: none. The first slow hop may be anywhere
 * within this distance (`phase`). */
static uint64_t line_of_walk(const uint32_t *hops, double threshold)
{
    for (uint64_t line = 1; line <= MAX_LINE / WORD_BYTES; line *= 2)
        for (uint64_t phase = 0; phase < line; phase++) {
            uint64_t slow = 0, all = 0;
            for (uint64_t i = phase; i < WORDS; i += line) {
                slow += hops[i] > threshold;
                all++;
            }
            if ((double)slow > line_share * (double)all)
                return line * WORD_BYTES;
        }
    return 0;
}

/* Finds the line size from the medians of the first walks. The evidence is the number
 * of single walks that lead to the same size. */
static void find_line_size(const uint32_t *hops, double threshold,
                           const struct fth_answers *answers, struct fth_constant_cache *cache)
{
    unsigned same = 0;
    cache->line_bytes = line_of_walk(hops, threshold);
    for (size_t i = 0; i < REPEATS; i++)
        same += line_of_walk(answers->items[i].cycles, threshold) == cache->line_bytes;
    cache->line_evidence = (struct fth_evidence){.repeats = REPEATS, .agree = same};
}

static bool is_l15(const struct constant_study *study, uint32_t cycles)
{
    return cycles > study->l1_threshold && cycles <= study->l15_threshold;
}

/* Computes the latency of L1.5 from single hops that hit it. They are divided into parts, and the
 * confidence expresses how well the means of the parts agree. */
static enum fth_status set_l15_latency(struct constant_study *study, const uint32_t *hops,
                                       size_t count, struct fth_error *error)
{
    double mean, values[HOP_PARTS], confidence = 0;
    struct fth_summary summary;
    const size_t part = count / HOP_PARTS;
    FTH_TRY(fth_summary_u32(hops, count, &summary, error));
    FTH_TRY(fth_core_mean_u32(hops, count, &mean, error));
    for (size_t i = 0; i < HOP_PARTS && part; i++)
        FTH_TRY(fth_core_mean_u32(hops + i * part, part, &values[i], error));
    if (part)
        FTH_TRY(fth_cycles_agreement(values, HOP_PARTS, &confidence, error));
    study->found->l15.cycles =
        (struct fth_figure){.value = mean - study->overhead,
                            .low = fmin(summary.p05, mean) - study->overhead,
                            .high = fmax(summary.p95, mean) - study->overhead,
                            .samples = count,
                            .clock_mhz = study->found->l1.cycles.clock_mhz,
                            .confidence = confidence};
    return FTH_OK;
}

/* Collects the hops of the footprints that hit L1.5; with `steady`, only those at positions where
 * the median of the repeats is a hit of L1.5. Returns their number. Hop 0 is skipped: its time
 * includes the fetch of the code that does the timing. */
static size_t collect_l15_hops(const struct constant_study *study,
                               const struct fth_answers *answers, bool steady, uint32_t *hops)
{
    size_t count = 0;
    for (size_t i = REPEATS; i < answers->count; i++) {
        const uint32_t *cycles = answers->items[i].cycles;
        const size_t positions = answers->items[i].count / REPEATS;
        for (size_t hop = 1; hop < answers->items[i].count; hop++)
            if (is_l15(study, cycles[hop]) && count < MAX_FOOTPRINT_HOPS &&
                (!steady || is_l15(study, median(cycles + hop % positions, positions))))
                hops[count++] = cycles[hop];
    }
    return count;
}

/* Finds the latency of L1.5 from the hops of the footprints that hit it. A disturbed hit of L1 can
 * take as long, and there can be more of these than hits of a small L1.5. Therefore, if there are
 * disturbances, only hops at steady positions count, if any. */
static enum fth_status find_l15_hops(struct constant_study *study,
                                     const struct fth_answers *answers, struct fth_error *error)
{
    uint32_t *hops = calloc(MAX_FOOTPRINT_HOPS, sizeof *hops);
    if (!hops)
        return out_of_memory(error);
    size_t count = collect_l15_hops(study, answers, study->slow_rate > 0, hops);
    if (count == 0)
        count = collect_l15_hops(study, answers, false, hops);
    enum fth_status status = set_l15_latency(study, hops, count, error);
    free(hops);
    return status;
}

/* Returns the fraction of slow hops among those that must hit L1 because the previous hop was in
 * the same line. */
static double find_slow_rate(const struct constant_study *study, const struct fth_answers *answers)
{
    const uint64_t line = study->found->l1.line_bytes / WORD_BYTES;
    uint64_t slow = 0, all = 0;
    for (size_t i = REPEATS; i < answers->count && line > 1; i++)
        for (size_t hop = 1; hop < answers->items[i].count; hop++)
            if (hop % line) {
                slow += answers->items[i].cycles[hop] > study->l1_threshold;
                all++;
            }
    return all ? (double)slow / (double)all : 0;
}

/* Returns the largest of the footprints up to which all hit L1.5; 0: none. Disturbances explain all
 * hops that take longer. Hop 0 is skipped, as in find_l15_hops(). */
static uint64_t find_l15_footprint(const struct constant_study *study,
                                   const struct fth_answers *answers)
{
    uint64_t bytes = 0;
    for (size_t i = REPEATS; i < answers->count; i++) {
        const struct fth_samples *walk = &answers->items[i];
        uint64_t slow = 0;
        for (size_t hop = 1; hop < walk->count; hop++)
            slow += walk->cycles[hop] > study->l15_threshold;
        if ((double)slow > fth_max_by_chance((double)walk->count * study->slow_rate))
            break;
        bytes = (uint64_t)FIRST_FOOTPRINT << (i - REPEATS);
    }
    return bytes;
}

/* Computes the median of each hop over its repeats. The hops of the first walks (cold caches) come
 * before those of the footprints. Returns the number of medians. */
static size_t median_hops(const struct fth_answers *answers, uint32_t *hops)
{
    size_t count = 0;
    for (size_t i = 0; i < WORDS; i++)
        hops[count++] =
            median((const uint32_t[]){answers->items[0].cycles[i], answers->items[1].cycles[i],
                                      answers->items[2].cycles[i]},
                   1);
    for (size_t i = REPEATS; i < answers->count; i++) {
        size_t hop_count = answers->items[i].count / REPEATS;
        for (size_t hop = 0; hop < hop_count; hop++)
            hops[count++] = median(answers->items[i].cycles + hop, hop_count);
    }
    return count;
}

/* Times first walks over the whole bank, and walks over growing footprints after a warm-up. Finds
 * levels, lines, the latency of L1.5 and the rate of disturbances. */
static enum fth_status measure_levels(struct constant_study *study, struct fth_error *error)
{
    struct fth_request requests[REPEATS + FOOTPRINTS];
    struct fth_constants *found = study->found;
    for (size_t i = 0; i < REPEATS + FOOTPRINTS; i++) {
        requests[i] = fth_request_make(-1);
        if (i < REPEATS) {
            /* No walk on another SM may load constants into a cache that SMs share. */
            requests[i].alone = true;
            requests[i].sm = 0;
            fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT,
                            words(FTH_CONSTANT_BANK_BYTES), 1);
            continue;
        }
        struct fth_chain chain = words((uint64_t)FIRST_FOOTPRINT << (i - REPEATS));
        fth_request_add(&requests[i], FTH_STEP_WALK, FTH_PATH_CONSTANT, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, chain, REPEATS);
    }
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    uint32_t *hops = calloc(MAX_MEDIANS, sizeof *hops);
    enum fth_status status = hops ? FTH_OK : out_of_memory(error);
    if (status == FTH_OK)
        status = find_levels(study, hops, median_hops(&answers, hops), error);
    if (status != FTH_OK)
        goto out;
    find_line_size(hops, study->l1_threshold, &answers, &found->l1);
    if (found->has_l15)
        find_line_size(hops, study->l15_threshold, &answers, &found->l15);
    study->slow_rate = find_slow_rate(study, &answers);
    study->l15_fits_bytes = find_l15_footprint(study, &answers);
    study->disturbed = study->disturbed || study->slow_rate > 0;
    if (found->has_l15)
        status = find_l15_hops(study, &answers, error);
out:
    free(hops);
    fth_answers_fini(&answers);
    return status;
}

/* ---- each cache ---- */

/* Returns the stride of one L1 line, so that a walk loads every line of its footprint. With a
 * longer stride, all lines of a walk might fit into L1 although the footprint is larger than L1. */
static uint64_t l1_stride(const struct fth_constants *found)
{
    return found->l1.line_bytes ? found->l1.line_bytes : WORD_BYTES;
}

static enum fth_status find_l1_latency(struct constant_study *study, struct fth_error *error)
{
    struct fth_figure *cycles = &study->found->l1.cycles;
    FTH_TRY(fth_probe_latency(study->prober, &l1_plan, cycles, error));
    FTH_TRY(fth_probe_overhead(study->prober, &l1_plan, cycles->value, &study->overhead, error));
    study->disturbed = cycles->disturbed;
    study->found->overhead_cycles = study->overhead;
    return FTH_OK;
}

static enum fth_status find_l1(struct constant_study *study, struct fth_error *error)
{
    struct fth_constant_cache *l1 = &study->found->l1;
    const uint64_t stride = l1_stride(study->found), lines = MIN_LINES * stride;
    const struct fth_capacity_plan plan = {
        .path = FTH_PATH_CONSTANT,
        .carveout_percent = -1,
        .stride_bytes = stride,
        .smallest_bytes = lines < MIN_L1_BYTES ? MIN_L1_BYTES : lines,
        .largest_bytes = FTH_CONSTANT_BANK_BYTES,
        .hit_cycles = study->l1_hop,
        .miss_cycles = isnan(study->l15_hop) ? study->l2_hop : study->l15_hop,
        .disturbed = study->disturbed,
        .miss_low_cycles = isnan(study->l15_hop) ? study->l2_low : study->l15_low,
        .miss_high_cycles = isnan(study->l15_hop) ? study->l2_high : study->l15_high,
    };
    return fth_probe_capacity(study->prober, &plan, &l1->capacity, error);
}

/* Finds out whether every load of repeated walks over `bytes`, far more than L1 holds, misses L1.
 * This need not be so if L1 does not replace the least recently used line. */
static enum fth_status always_misses_l1(const struct constant_study *study, uint64_t bytes,
                                        bool *yes, struct fth_error *error)
{
    const uint64_t stride = l1_stride(study->found);
    struct fth_chain chain = {.stride_bytes = stride, .count = bytes / stride};
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CONSTANT, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, chain, REPEATS);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(study->prober, &request, 1, &answers, error));
    *yes = true;
    for (size_t i = 0; i < answers.items[0].count; i++)
        *yes = *yes && answers.items[0].cycles[i] > study->l1_threshold;
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Measures the latency of L1.5 with whole passes over two footprints that are far larger than L1
 * and fit into L1.5. This is more precise than single hops. If it is not possible, the latency from
 * single hops (find_l15_hops) stays. */
static enum fth_status find_l15_latency(const struct constant_study *study, struct fth_error *error)
{
    const struct fth_constant_cache *l1 = &study->found->l1;
    struct fth_constant_cache *l15 = &study->found->l15;
    const uint64_t stride = l1_stride(study->found), unit = UNROLLED_LOADS * stride;
    /* The longer footprint is twice the shorter one. */
    uint64_t shorter = MANY_L1 * l1->capacity.fits_bytes;
    if (2 * shorter > l15->capacity.fits_bytes / 4 * MAX_L15_QUARTERS)
        shorter = l15->capacity.fits_bytes / 8 * MAX_L15_QUARTERS;
    shorter = shorter / unit * unit;
    const struct fth_latency_plan plan = {.path = FTH_PATH_CONSTANT,
                                          .carveout_percent = -1,
                                          .stride_bytes = stride,
                                          .short_count = shorter / stride,
                                          .long_count = 2 * (shorter / stride)};
    bool all_miss = false;
    /* Whole passes are not used if hops are disturbed, if the shorter footprint is not far larger
     * than L1, or if L1.5 is too small for the constants and the code of the walk, which may be in
     * the same cache. */
    if (study->disturbed || shorter < MIN_BEYOND_L1 * l1->capacity.fits_bytes ||
        l15->capacity.fits_bytes < MIN_L15_BYTES)
        return FTH_OK;
    FTH_TRY(always_misses_l1(study, shorter, &all_miss, error));
    study->found->l15_by_passes = all_miss;
    return all_miss ? fth_probe_latency(study->prober, &plan, &l15->cycles, error) : FTH_OK;
}

static enum fth_status find_l15(struct constant_study *study, struct fth_error *error)
{
    struct fth_constant_cache *l15 = &study->found->l15;
    const uint64_t stride = l1_stride(study->found);
    struct fth_capacity_plan plan = {
        .path = FTH_PATH_CONSTANT,
        .carveout_percent = -1,
        .stride_bytes = stride,
        /* capacity.c measures the rate of disturbances with the smallest footprint. L1 holds
         * almost nothing of this one, so nearly all its hops are hits in L1.5. */
        .smallest_bytes =
            FTH_MIN(MANY_L1 * study->found->l1.capacity.fits_bytes, study->l15_fits_bytes),
        .largest_bytes = FTH_CONSTANT_BANK_BYTES,
        .hit_cycles = study->l15_hop,
        .miss_cycles = study->l2_hop,
        .disturbed = study->disturbed,
        .miss_low_cycles = study->l2_low,
        .miss_high_cycles = study->l2_high,
    };
    /* What L1 holds is less than what L1.5 holds. */
    if (plan.smallest_bytes < study->found->l1.capacity.fits_bytes)
        plan.smallest_bytes = study->found->l1.capacity.fits_bytes;
    struct fth_error *fault = &study->found->l15_error;
    enum fth_status status = fth_probe_capacity(study->prober, &plan, &l15->capacity, fault);
    study->found->l15_status = status;
    if (status == FTH_INCONCLUSIVE)
        return FTH_OK;
    if (status != FTH_OK)
        return fth_error_move(error, fault);
    return find_l15_latency(study, error);
}

/* ---- the probe ---- */

enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                    const struct fth_fetch_levels *code,
                                    struct fth_constants *constants, struct fth_error *error)
{
    *constants = (struct fth_constants){
        .code_level = -1, .with_code_reason = "the instruction caches were not measured"};
    struct constant_study study = {.prober = prober, .found = constants};
    struct fth_figure l2;
    FTH_TRY(find_l1_latency(&study, error));
    FTH_TRY(fth_probe_latency(prober, &l2_plan, &l2, error));
    study.l2_hop = l2.value + study.overhead;
    FTH_TRY(measure_levels(&study, error));
    FTH_TRY(find_l1(&study, error));
    if (constants->has_l15)
        FTH_TRY(find_l15(&study, error));
    if (!constants->has_l15 || constants->l15_status != FTH_OK || !code)
        return FTH_OK;
    const struct fth_constant_code_plan plan = {.stride_bytes = l1_stride(constants),
                                                .threshold_cycles = study.l15_threshold,
                                                .slow_rate = study.slow_rate};
    return fth_probe_constant_code(prober, &plan, code, constants, error);
}
