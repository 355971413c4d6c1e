/* Measures the constant caches. A walk over the constant bank of 64 KiB, 8 bytes at a time, shows
 * all of them at once: a hop is fast if its line is in L1, slower if it is in L1.5, and slowest if
 * it is in L2. In a walk that starts with cold caches (a *first walk*), the distance between the
 * slower hops is the number of bytes that one miss fetches. The sizes are then found as for any
 * other cache (capacity.c).
 *
 * The constant bank has 64 KiB, and L1.5 may be larger. If L1.5 also holds instructions, the rest
 * of it can be filled with code (Wong et al., "Demystifying GPU Microarchitecture through
 * Microbenchmarking", 2010, who found in this way that the two share a cache): constants are
 * loaded, code is executed, and the constants are timed again.
 *
 *   |<--------------- L1.5 --------------->|
 *   | constants         | code             |        all constants hit
 *   | constants         | code                |     some constants were evicted
 *
 * Constants are evicted when the sum of both exceeds the size of L1.5. A second measurement with
 * fewer constants shows that it is the sum, and not the code alone. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find constant caches";

/* ---- walks over the bank ---- */

enum {
    BANK_BYTES = 65536, /* CUDA C++ Programming Guide, "Compute Capabilities" */
    WORD_BYTES = 8,     /* stride of the walks: the smallest element of a chain */
    WORDS = BANK_BYTES / WORD_BYTES,
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

/* ---- constants and code ---- */

enum {
    KIB = 1024,      /* bytes; amounts of constants are rounded to it */
    CODE_PASSES = 2, /* executions of the code between two walks over the constants */
    MAX_CUTS = 4,    /* lengths of code that find_code_edge() tries at once to narrow its range */
    MAX_TRIES = 16,  /* lengths of code that double, from FTH_FETCH_BLOCK to FTH_MAX_FETCH: 9 */
    SAME_BLOCKS = 2  /* see same_sum */
};
/* Confidence of the result about code and constants: by Laplace's rule, two measurements that agree
 * give (2 + 1) / (2 + 2). If code and constants share storage, the two measurements are those with
 * two amounts of constants. If they do not share it, there is only one measurement, with one amount
 * of constants; it gets the same confidence, which is chosen, not derived. */
static const double two_agree_confidence = 0.75;
/* Maximum confidence of the size of L1.5 if it is not known whether it also holds code. Chosen: the
 * two cases are equally likely. */
static const double unknown_code_confidence = 0.5;
/* Code and constants share a cache if the longest code evicts at least this fraction of the
 * constant lines. The sum of the constants and the code that fit together is the size of this
 * cache. Two such sums belong to the same cache if they differ by at most the fraction same_sum or
 * by at most SAME_BLOCKS FTH_FETCH_BLOCKs of code. A sum is the size of an instruction cache if the
 * two differ by less than the fraction same_cache. Chosen, not derived. */
static const double min_evicted_share = 0.25, same_sum = 0.05, same_cache = 0.1;

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

/* Returns the plateau of L1.5 among those after the first one; NULL: there is none. It is the one
 * with the most hops below max_l2_fraction of the L2's latency. If there is none, it may be a
 * plateau below max_l15_fraction that is followed by the plateau of the L2. */
static const struct fth_cluster *find_l15_plateau(const struct constant_study *study,
                                                  const struct fth_clusters *clusters)
{
    const struct fth_cluster *found = NULL, *items = clusters->items;
    for (size_t i = 1; i < clusters->count; i++)
        if (items[i].median < max_l2_fraction * study->l2_hop &&
            (!found || items[i].count > found->count))
            found = &items[i];
    for (size_t i = 1; i + 1 < clusters->count && !found; i++) {
        const double next_distance = fabs(items[i + 1].median - study->l2_hop);
        if (items[i].median < max_l15_fraction * study->l2_hop &&
            next_distance < range_fraction * study->l2_hop &&
            next_distance < study->l2_hop - items[i].median)
            found = &items[i];
    }
    return found;
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

/* Finds the line size from the medians of the first walks. The confidence follows from Laplace's
 * rule, applied to the number of single walks that lead to the same size. */
static void find_line_size(const uint32_t *hops, double threshold,
                           const struct fth_answers *answers, struct fth_constant_cache *cache)
{
    unsigned same = 0;
    cache->line_bytes = line_of_walk(hops, threshold);
    for (size_t i = 0; i < REPEATS; i++)
        same += line_of_walk(answers->items[i].cycles, threshold) == cache->line_bytes;
    cache->line_confidence = (same + 1.0) / (REPEATS + 2.0);
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

/* Finds the latency of L1.5 from all hops of the footprints that hit it. Hop 0 is skipped: its time
 * includes the fetch of the code that does the timing. */
static enum fth_status find_l15_hops(struct constant_study *study,
                                     const struct fth_answers *answers, struct fth_error *error)
{
    uint32_t *hops = calloc(MAX_FOOTPRINT_HOPS, sizeof *hops);
    size_t count = 0;
    if (!hops)
        return out_of_memory(error);
    for (size_t i = REPEATS; i < answers->count; i++)
        for (size_t hop = 1; hop < answers->items[i].count; hop++)
            if (is_l15(study, answers->items[i].cycles[hop]) && count < MAX_FOOTPRINT_HOPS)
                hops[count++] = answers->items[i].cycles[hop];
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
            fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, words(BANK_BYTES),
                            1);
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
        .largest_bytes = BANK_BYTES,
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
    const uint64_t stride = l1_stride(study->found);
    /* The longer footprint is twice the shorter one. */
    uint64_t shorter = MANY_L1 * l1->capacity.fits_bytes;
    if (2 * shorter > l15->capacity.fits_bytes / 4 * MAX_L15_QUARTERS)
        shorter = l15->capacity.fits_bytes / 8 * MAX_L15_QUARTERS;
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
        .smallest_bytes = MANY_L1 * study->found->l1.capacity.fits_bytes,
        .largest_bytes = BANK_BYTES,
        .hit_cycles = study->l15_hop,
        .miss_cycles = study->l2_hop,
        .disturbed = study->disturbed,
        .miss_low_cycles = study->l2_low,
        .miss_high_cycles = study->l2_high,
    };
    struct fth_error *fault = &study->found->l15_error;
    enum fth_status status = fth_probe_capacity(study->prober, &plan, &l15->capacity, fault);
    if (status == FTH_INCONCLUSIVE) {
        /* An L1.5 of less than MANY_L1 times its L1 does not hold this footprint. What L1 holds is
         * certainly less. */
        *fault = FTH_NO_ERROR;
        plan.smallest_bytes = study->found->l1.capacity.fits_bytes;
        status = fth_probe_capacity(study->prober, &plan, &l15->capacity, fault);
    }
    study->found->l15_status = status;
    if (status == FTH_INCONCLUSIVE)
        return FTH_OK;
    if (status != FTH_OK)
        return fth_error_move(error, fault);
    return find_l15_latency(study, error);
}

/* ---- constants and code ---- */

/* For `bytes` of constants: the longest code (in instructions) after which all constants hit, and
 * the shortest that evicts some; 0: none. */
struct code_edge {
    uint64_t bytes, fits, evicts;
};

/* Counts the constant lines that code of each length evicts; 0 if disturbances explain all slow
 * hops. The samples of a request are the times of the CODE_PASSES passes of the code, then those of
 * the hops over the constants. The first hop does not count because the code that times it is
 * fetched then. */
static enum fth_status count_evicted(const struct constant_study *study, uint64_t bytes,
                                     const uint64_t *lengths, size_t count, uint64_t *evicted,
                                     struct fth_error *error)
{
    const struct fth_constants *found = study->found;
    const uint64_t stride = l1_stride(found);
    struct fth_request *requests = calloc(REPEATS * count, sizeof *requests);
    if (!requests)
        return out_of_memory(error);
    for (size_t i = 0; i < REPEATS * count; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_FETCH;
        requests[i].fetch = (struct fth_fetch){
            .instructions = lengths[i / REPEATS],
            .passes = CODE_PASSES,
            .constants = {.stride_bytes = stride, .count = bytes / stride},
        };
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(study->prober, requests, REPEATS * count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        const struct fth_samples *samples = &answers.items[REPEATS * i];
        const double hops = (double)(samples->count - CODE_PASSES), rate = study->slow_rate;
        uint64_t all = 0, steady = 0;
        for (size_t hop = CODE_PASSES + 1; hop < samples->count; hop++) {
            unsigned times = 0;
            for (size_t j = 0; j < REPEATS; j++)
                times += samples[j].cycles[hop] > study->l15_threshold;
            all += times;
            steady += times > REPEATS / 2;
        }
        /* As in capacity.c: there are more slow hops than disturbances explain, in total or at
         * positions that are slow in most repeats. The rate of disturbances was measured
         * with hits of L1 and is assumed to be the same here. Three repeats form three pairs (so
         * REPEATS is also the number of pairs). By disturbances alone, a position is therefore slow
         * in two of the three repeats with a probability of about 3 * rate * rate. */
        bool some = (double)all > fth_max_by_chance(REPEATS * hops * rate) ||
                    (double)steady > fth_max_by_chance(REPEATS * hops * rate * rate);
        evicted[i] = some ? (all + REPEATS - 1) / REPEATS : 0;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Finds the edge: tries lengths of code that double. Then tries up to MAX_CUTS lengths between
 * `fits` and `evicts`, again and again, until these differ by one FTH_FETCH_BLOCK of instructions.
 * `max_evicted` receives the number of lines that the longest code evicts. */
static enum fth_status find_code_edge(const struct constant_study *study, struct code_edge *edge,
                                      uint64_t *max_evicted, struct fth_error *error)
{
    uint64_t lengths[MAX_TRIES], evicted[MAX_TRIES];
    size_t count = 0;
    for (uint64_t n = FTH_FETCH_BLOCK; n <= FTH_MAX_FETCH && count < MAX_TRIES; n *= 2)
        lengths[count++] = n;
    *max_evicted = 0;
    for (bool first = true; count > 0; first = false) {
        FTH_TRY(count_evicted(study, edge->bytes, lengths, count, evicted, error));
        if (first)
            *max_evicted = evicted[count - 1];
        for (size_t i = 0; i < count; i++) {
            if (evicted[i]) {
                edge->evicts = lengths[i];
                break;
            }
            edge->fits = lengths[i];
        }
        uint64_t blocks =
            edge->evicts > edge->fits ? (edge->evicts - edge->fits) / FTH_FETCH_BLOCK : 0;
        count = blocks <= 1 ? 0 : blocks - 1 < MAX_CUTS ? blocks - 1 : MAX_CUTS;
        for (size_t i = 0; i < count; i++)
            lengths[i] = edge->fits + blocks * (i + 1) / (count + 1) * FTH_FETCH_BLOCK;
    }
    return FTH_OK;
}

/* Returns the bytes of constants and code that fit together. */
static double sum_of(const struct code_edge *edge, const struct fth_code_size *code)
{
    return (double)edge->bytes +
           (double)edge->fits * (double)code->bytes / (double)code->instructions;
}

/* Returns the index of the instruction cache whose size is nearest to `bytes`; -1: none is near. */
static int find_level(const struct fth_fetch_levels *code, double bytes)
{
    int level = -1;
    double nearest = same_cache;
    for (size_t i = 0; i < code->count; i++) {
        double off = fabs((double)code->items[i].fits_bytes / bytes - 1);
        if (off < nearest) {
            nearest = off;
            level = (int)i;
        }
    }
    return level;
}

/* Returns the larger amount of constants for the test of sharing: half of L1.5, but more than L1
 * holds, because constants in L1 would hit even if L1.5 has evicted them. 0: L1.5 is too small. */
static uint64_t shared_amount(const struct fth_constants *found)
{
    const uint64_t l15 = found->l15.capacity.fits_bytes;
    const uint64_t min = MIN_BEYOND_L1 * found->l1.capacity.fits_bytes;
    uint64_t bytes = BANK_BYTES / 2;
    while (bytes > l15 / 2)
        bytes /= 2;
    if (bytes < min)
        bytes = (min + KIB - 1) / KIB * KIB;
    return bytes <= l15 / 4 * MAX_L15_QUARTERS ? bytes : 0;
}

/* Finds out whether L1.5 shares its storage with code: with two amounts of constants, the sum of
 * constants and code that fits must be the same. The result stays FTH_SHARING_UNKNOWN if L1.5 is
 * too small for the test or if the sums differ. */
static enum fth_status find_sharing(struct constant_study *study,
                                    const struct fth_fetch_levels *code, struct fth_error *error)
{
    struct fth_constants *found = study->found;
    struct fth_capacity *capacity = &found->l15.capacity;
    struct code_edge more = {.bytes = shared_amount(found)}, less;
    found->with_code_reason = "the L1.5 is too small, compared with the L1, to find out whether it "
                              "also holds code";
    if (more.bytes == 0)
        return FTH_OK;
    less.bytes = more.bytes / 2;
    if (less.bytes < MIN_BEYOND_L1 * found->l1.capacity.fits_bytes)
        less.bytes = more.bytes / 4 * 3; /* the other amount must be clearly smaller */
    less.fits = less.evicts = 0;
    uint64_t max_evicted;
    FTH_TRY(find_code_edge(study, &more, &max_evicted, error));
    const uint64_t lines =
        more.bytes / (found->l15.line_bytes ? found->l15.line_bytes : l1_stride(found));
    if ((double)max_evicted < min_evicted_share * (double)lines) {
        found->with_code = FTH_SHARING_NO;
        found->with_code_reason = NULL;
        found->with_code_confidence = two_agree_confidence;
        return FTH_OK;
    }
    FTH_TRY(find_code_edge(study, &less, &max_evicted, error));
    const double first = sum_of(&more, &code->code), second = sum_of(&less, &code->code);
    const double block =
        FTH_FETCH_BLOCK * (double)code->code.bytes / (double)code->code.instructions;
    found->with_code_reason = "code evicts constants, but the sum of code and constants that fits "
                              "depends on the number of constants";
    if (more.fits == 0 || less.fits == 0 ||
        fabs(first - second) > fmax(SAME_BLOCKS * block, same_sum * first))
        return FTH_OK;
    found->with_code_reason = NULL;
    found->with_code = FTH_SHARING_YES;
    found->with_code_confidence = two_agree_confidence;
    const double bytes = fmax(first, second);
    found->code_level = find_level(code, bytes);
    /* The capacity found with constants alone is at most the size of the bank, and the code of the
     * walk takes a part of L1.5 as well. The sum replaces it if the whole bank fits or if the sum
     * is larger. */
    if (capacity->misses_bytes == 0 || bytes > (double)capacity->fits_bytes) {
        capacity->fits_bytes = (uint64_t)bytes;
        capacity->misses_bytes = (uint64_t)(bytes + block);
        capacity->confidence = two_agree_confidence;
    }
    return FTH_OK;
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
    FTH_TRY(find_sharing(&study, code, error));
    /* If it is not known whether code occupies a part of L1.5, the size is only a lower limit. */
    if (constants->with_code == FTH_SHARING_UNKNOWN)
        constants->l15.capacity.confidence =
            fmin(constants->l15.capacity.confidence, unknown_code_confidence);
    return FTH_OK;
}
