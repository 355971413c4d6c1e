/* Finds the capacity of a cache: the largest footprint that can be walked repeatedly without a
 * miss.
 *
 * Footprints are doubled until one has misses. This brackets the edge between footprints that fit
 * and footprints that miss. The bracket is then divided until it is one stride wide. This is the
 * doubling and bisection of D. Größler's thesis ("Capturing the Memory Topology of GPUs"), but with
 * several footprints per batch, each on its own SM.
 *
 * A slow hop is a miss or a disturbance. If nothing disturbs the measurement, one slow hop is
 * sufficient evidence of a miss. Otherwise a footprint has misses if one of these holds:
 *   - The same hops are slow in most passes. This detects policies that evict the same lines in
 *     every pass.
 *   - More hops are slow than disturbances explain. The rate of disturbances is measured with a
 *     footprint that certainly fits.
 *   - More hops take as long as a miss than disturbances explain. The latency of a miss is measured
 *     with first loads; few disturbances take as long. With one line too many, every pass has at
 *     least one miss under any policy, because the line that is not resident is accessed once per
 *     pass. The number of passes is chosen such that these misses are significant. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find capacity";

/* ---- passes of a walk ---- */

enum {
    /* Minimum number of evaluated passes if there are disturbances. One more timed pass precedes
     * them and is ignored. With three, a majority can outvote one disturbed pass. */
    TIMED_PASSES = 3,
    MAX_PASSES = 64, /* evaluated passes per walk. Chosen to limit the time. */
    /* Standard deviations, and events more, by which the misses of one line too many must exceed
     * the expected number of disturbances: the five and the one of fth_max_by_chance, and two and
     * one as a margin. */
    MIN_DEVIATIONS = 7,
    MIN_EVENTS = 2,
    /* A pass with more slow hops than this many times the median of all passes, plus EMPTIED_HOPS,
     * walked a cache that another program had emptied. Chosen, not derived. */
    EMPTIED_FACTOR = 3,
    EMPTIED_HOPS = 8
};
/* Misses per pass that a footprint of one line too many is expected to have at least. Random
 * replacement has 2 on average; a policy may have slightly more or less. */
static const double min_misses = 1.5;

/* ---- the search ---- */

enum {
    MAX_BATCH = 8,            /* footprints in one batch of requests: the larger of the next two */
    FOOTPRINTS_PER_BATCH = 3, /* while doubling: each is twice the previous one. Chosen. */
    /* Footprints per batch inside the bracket. More of them need fewer batches but more loads. With
     * 4, a bracket of 4096 strides needs 6 batches. */
    MAX_CUTS = 4,
    REPEATS = 5,           /* walks on each side of the edge, for the confidence. Chosen. */
    THOROUGH_REPEATS = 50, /* the same with --thorough. Chosen. */
    MAX_SEARCHES = 3,      /* searches, if too few walks agree. Chosen. */
    MAX_CONTRADICTED = 2   /* searches, if more lines are resident than fit. Chosen. */
};
/* Minimum fraction of the walks that must agree with a capacity; below it, the search is repeated
 * and finally refused. With ten walks, it allows for two that contradict the result. Chosen, not
 * derived. */
static const double min_agreement = 0.75;

/* ---- disturbances ---- */

enum {
    /* Hops to measure the rate of disturbances, if there are any, and the requests that they are
     * divided into. Chosen: a rate of 1 in 1000 is then known to a quarter. */
    RATE_HOPS = 16384,
    RATE_PARTS = 8,
    /* Times that passes are left out and the rate is computed again. Chosen: if a few of the passes
     * walked an emptied cache, the second rate is nearly that of the others. */
    RATE_ROUNDS = 2,
    /* First loads that measure the latency of a miss. The stride is 4 KiB plus a line, so that the
     * lines come from near and far L2 partitions. The number is chosen. */
    COLD_HOPS = 96,
    COLD_STRIDE_BYTES = 4096 + 128
};
/* The range of miss latencies: from the 5 % to the 95 % quantile of first loads, widened on both
 * sides by 5 % of the median and 4 cycles. Chosen, not derived. */
static const double tail_fraction = 0.05, margin_fraction = 0.05, margin_cycles = 4;

/* ---- further evidence ---- */

enum {
    ALIGN_BYTES = 1024, /* footprints that must consist of whole lines are rounded to this */
    /* Footprint of the walk that finds the resident lines: 5/4 of what fits. Chosen. */
    RESIDENT_NUMERATOR = 5,
    RESIDENT_DENOMINATOR = 4,
    /* Resolution of full_miss_bytes: one part of FULL_MISS_PARTS of what fits. Chosen. */
    FULL_MISS_PARTS = 64
};
/* Walks that find at least this part of the largest number of resident lines agree with it. Chosen:
 * on an H200, the walks of different SMs differ by 1 %. */
static const double same_resident = 0.95;
/* Minimum fraction of positions that must be slow for a footprint to have no hit. Even if every
 * load misses, a few hops can be fast because a buffer on the way has the data. Chosen. */
static const double min_full_miss = 0.999;

/* The bracket of the edge, and what distinguishes misses from disturbances. */
struct capacity_edge {
    uint64_t fits;         /* largest footprint known to fit, in strides */
    uint64_t misses;       /* smallest footprint known to have misses, in strides; 0: none found */
    bool disturbed;        /* some hits are slow */
    double low, high;      /* range of miss latencies, cycles */
    double slow_rate;      /* fraction of hits that are above the threshold */
    double like_miss_rate; /* fraction of hits that take between low and high */
    bool interrupted;      /* another program interrupted a walk each time it was tried */
};

struct capacity_search {
    const struct fth_prober *prober;
    const struct fth_capacity_plan *plan;
    struct fth_capacity *capacity;
    double threshold; /* cycles; a hop above it is slow */
};

/* Returns the number of passes to evaluate over a chain of `count` hops, so that the misses of one
 * line too many clearly exceed the expected number of disturbances. */
static unsigned passes_for(const struct capacity_edge *edge, uint64_t count)
{
    if (!edge->disturbed)
        return 1;
    unsigned passes = TIMED_PASSES;
    for (; passes < MAX_PASSES; passes++) {
        const double expected = passes * (double)count * edge->like_miss_rate;
        if (passes * min_misses > MIN_DEVIATIONS * sqrt(expected) + MIN_EVENTS)
            break;
    }
    return passes;
}

/* Makes a request for `passes` evaluated passes over `count` strides. The first timed pass is not
 * evaluated: its instructions are not cached yet, and the stores of the samples start to pass
 * through the cache, which evicts a few lines once on an H200. */
static struct fth_request make_walk(const struct fth_capacity_plan *plan, uint64_t count,
                                    unsigned passes)
{
    struct fth_chain chain = {.stride_bytes = plan->stride_bytes, .count = count};
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1 + passes);
    return request;
}

/* ---- one walk ---- */

/* Stands for the cycles of a hop that says nothing about the cache. */
enum { NO_EVIDENCE = 0 };

/* Removes the hops that an interruption affects. It empties the cache, so each line misses once
 * more: from the interrupted hop to the same position in the next pass. Returns whether the walk
 * was interrupted. */
static bool remove_interrupted(struct fth_samples *samples, uint64_t positions)
{
    bool interrupted = false;
    for (size_t hop = 0; hop < samples->count; hop++) {
        if (samples->cycles[hop] <= FTH_INTERRUPTED_CYCLES)
            continue;
        interrupted = true;
        const size_t end = FTH_MIN(hop + positions, samples->count);
        for (; hop < end; hop++)
            samples->cycles[hop] = NO_EVIDENCE;
        hop--;
    }
    return interrupted;
}

/* The slow hops of a walk. */
struct slow_hops {
    uint64_t positions; /* hops per pass; without those that were removed in every pass */
    unsigned passes;
    uint64_t all;        /* hops above the threshold */
    uint64_t like_miss;  /* hops within the range of miss latencies */
    uint64_t persistent; /* positions that are slow in most passes */
};

static int compare_counts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median_count(const uint64_t *counts, unsigned passes)
{
    uint64_t sorted[MAX_PASSES] = {0};
    for (unsigned i = 0; i < passes; i++)
        sorted[i] = counts[i];
    qsort(sorted, passes, sizeof *sorted, compare_counts);
    return sorted[passes / 2];
}

/* Finds the passes that walked an emptied cache. If another program used the SM in between, one or
 * two passes have a miss per line. They say nothing about the size of the cache. `slow` has the
 * number of slow hops of each pass. */
static void find_emptied(const uint64_t *slow, unsigned passes, bool *emptied)
{
    const uint64_t max = passes < TIMED_PASSES
                             ? UINT64_MAX
                             : EMPTIED_FACTOR * median_count(slow, passes) + EMPTIED_HOPS;
    for (unsigned i = 0; i < passes; i++)
        emptied[i] = slow[i] > max;
}

/* Returns the sum of the counts of all passes. The median of all passes takes the place of the
 * count of a pass that walked an emptied cache. */
static uint64_t sum_counts(const uint64_t *counts, const bool *emptied, unsigned passes)
{
    const uint64_t median = median_count(counts, passes);
    uint64_t sum = 0;
    for (unsigned i = 0; i < passes; i++)
        sum += emptied[i] ? median : counts[i];
    return sum;
}

/* Counts the slow hops of the evaluated passes; pass 0 of the samples is skipped. */
static struct slow_hops count_slow(const struct fth_samples *samples, uint64_t positions,
                                   unsigned passes, double threshold,
                                   const struct capacity_edge *edge)
{
    uint64_t all[MAX_PASSES] = {0}, like_miss[MAX_PASSES] = {0};
    bool emptied[MAX_PASSES] = {false};
    struct slow_hops slow_hops = {.positions = 0, .passes = passes};
    const uint32_t *evaluated = samples->cycles + positions;
    for (unsigned pass = 0; pass < passes; pass++)
        for (uint64_t position = 0; position < positions; position++) {
            const double cycles = evaluated[pass * positions + position];
            all[pass] += cycles > threshold;
            like_miss[pass] += cycles >= edge->low && cycles <= edge->high;
        }
    find_emptied(all, passes, emptied);
    for (uint64_t position = 0; position < positions; position++) {
        unsigned times = 0, valid = 0;
        for (unsigned pass = 0; pass < passes; pass++) {
            const double cycles = evaluated[pass * positions + position];
            times += !emptied[pass] && cycles > threshold;
            valid += !emptied[pass] && cycles > NO_EVIDENCE;
        }
        slow_hops.positions += valid > 0;
        slow_hops.persistent += times > valid / 2;
    }
    slow_hops.all = sum_counts(all, emptied, passes);
    slow_hops.like_miss = sum_counts(like_miss, emptied, passes);
    return slow_hops;
}

/* Returns the probability that a position is slow in most passes although its line is resident:
 * approximately the binomial term of the smallest majority. `rate` is the probability that one hit
 * is slow. */
static double persistent_rate(double rate, unsigned passes)
{
    const double majority = floor(passes / 2.0) + 1;
    const double log_ways =
        lgamma(passes + 1.0) - lgamma(majority + 1) - lgamma(passes - majority + 1);
    return exp(log_ways + majority * log(rate));
}

/* Whether a walk had misses, that is, more slow hops than disturbances explain. */
static bool has_misses(struct slow_hops slow_hops, const struct capacity_edge *edge)
{
    if (!edge->disturbed)
        return slow_hops.all > 0;
    const double positions = (double)slow_hops.positions, hops = positions * slow_hops.passes;
    return (double)slow_hops.all > fth_max_by_chance(hops * edge->slow_rate) ||
           (double)slow_hops.like_miss > fth_max_by_chance(hops * edge->like_miss_rate) ||
           (double)slow_hops.persistent >
               fth_max_by_chance(positions * persistent_rate(edge->slow_rate, slow_hops.passes));
}

/* Which footprints a search looks for: the first with a miss, or the first without a hit. */
enum miss_criterion { ANY_MISS, ALL_MISS };

static bool meets_criterion(enum miss_criterion what, struct slow_hops slow_hops,
                            const struct capacity_edge *edge)
{
    return what == ANY_MISS
               ? has_misses(slow_hops, edge)
               : (double)slow_hops.persistent > min_full_miss * (double)slow_hops.positions;
}

/* Whether the rest of an interrupted walk is insufficient: for ANY_MISS, if it has no miss; for
 * ALL_MISS, if less than half of the positions remain. */
static bool is_undecided(enum miss_criterion what, struct slow_hops slow_hops, uint64_t positions,
                         const struct capacity_edge *edge)
{
    return what == ANY_MISS ? !has_misses(slow_hops, edge) : 2 * slow_hops.positions < positions;
}

/* ---- disturbances ---- */

/* Fills in the range of miss latencies from the plan or, if it has none, from first loads. The
 * constant bank is too small for lines that are certainly not cached. There, every slow hop can be
 * a miss. */
static enum fth_status find_miss_cycles(const struct capacity_search *search,
                                        struct capacity_edge *edge, struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    edge->low = plan->miss_low_cycles;
    edge->high = plan->miss_high_cycles;
    if (edge->high > 0)
        return FTH_OK;
    edge->low = search->threshold;
    edge->high = INFINITY;
    if (plan->path == FTH_PATH_CONSTANT)
        return FTH_OK;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.array = 1, .stride_bytes = COLD_STRIDE_BYTES, .count = COLD_HOPS};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    struct fth_answers answers = {0};
    /* Measure twice and use the second result: the first time, the lines may come from memory. */
    FTH_TRY(fth_ask(search->prober, &request, 1, &answers, error));
    fth_answers_fini(&answers);
    FTH_TRY(fth_ask(search->prober, &request, 1, &answers, error));
    double sorted[COLD_HOPS], scratch[COLD_HOPS];
    size_t count = 0;
    for (size_t i = 1; i < answers.items[0].count; i++)
        if (answers.items[0].cycles[i] > search->threshold)
            sorted[count++] = answers.items[0].cycles[i];
    fth_answers_fini(&answers);
    if (count == 0)
        return FTH_OK;
    search->capacity->samples += COLD_HOPS;
    fth_sort_f64(sorted, scratch, count);
    const double margin = margin_fraction * fth_quantile_sorted(sorted, count, 0.5) + margin_cycles;
    const double low = fth_quantile_sorted(sorted, count, tail_fraction) - margin;
    /* If hardly any of these loads is as fast as a miss is known to be, most of them missed the L2
     * as well. Then they do not show the latency of the fastest misses. */
    if (low <= plan->miss_cycles)
        edge->low = fmax(edge->low, low);
    edge->high = fth_quantile_sorted(sorted, count, 1 - tail_fraction) + margin;
    return FTH_OK;
}

/* Hops of a footprint that should fit. */
struct rate_counts {
    uint64_t hops, all, like_miss; /* as in struct slow_hops */
};

/* Counts the hops of all passes with at most `max_slow` slow hops. */
static struct rate_counts count_rates(const struct capacity_search *search,
                                      const struct fth_answers *answers, uint64_t positions,
                                      const struct capacity_edge *edge, double max_slow)
{
    struct rate_counts sum = {0};
    for (size_t i = 0; i < answers->count; i++)
        for (size_t start = positions; start < answers->items[i].count; start += positions) {
            struct rate_counts pass = {0};
            for (size_t hop = start; hop < start + positions; hop++) {
                const double cycles = answers->items[i].cycles[hop];
                pass.all += cycles > search->threshold;
                pass.like_miss += cycles >= edge->low && cycles <= edge->high;
                pass.hops += cycles > NO_EVIDENCE;
            }
            if ((double)pass.all > max_slow)
                continue;
            sum.hops += pass.hops;
            sum.all += pass.all;
            sum.like_miss += pass.like_miss;
        }
    return sum;
}

/* Measures how often a hop is slow in the smallest footprint, which should fit. Sets *fits to false
 * if most hops are slow, that is, if it does not fit. Leaves out the passes with more slow hops
 * than the rate explains: another program had emptied the cache before them. The rate that counts
 * these passes is too high, and misses would later be taken for disturbances. */
static enum fth_status find_rates(const struct capacity_search *search, struct capacity_edge *edge,
                                  bool *fits, struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    const uint64_t positions = plan->smallest_bytes / plan->stride_bytes;
    /* Normally one walk; RATE_HOPS hops, divided into several requests, if there are disturbances.
     */
    const uint64_t passes = edge->disturbed ? RATE_HOPS / RATE_PARTS / positions + 1 : TIMED_PASSES;
    const size_t parts = edge->disturbed ? RATE_PARTS : 1;
    struct fth_request requests[RATE_PARTS];
    for (size_t i = 0; i < parts; i++)
        requests[i] = make_walk(plan, positions, (unsigned)passes);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(search->prober, requests, parts, &answers, error));
    for (size_t i = 0; i < parts; i++) {
        remove_interrupted(&answers.items[i], positions);
        search->capacity->samples += answers.items[i].count;
    }
    struct rate_counts counts = count_rates(search, &answers, positions, edge, INFINITY);
    *fits = 2 * counts.all < counts.hops;
    edge->disturbed = edge->disturbed || counts.all > 0;
    for (unsigned i = 0; i < RATE_ROUNDS; i++) {
        const double rate = counts.hops ? (double)counts.all / (double)counts.hops : 0;
        const double max = fth_max_by_chance((double)positions * rate);
        counts = count_rates(search, &answers, positions, edge, max);
    }
    fth_answers_fini(&answers);
    /* Laplace's rule: the rate is not 0 even if no slow hop was seen. */
    edge->slow_rate = ((double)counts.all + 1) / ((double)counts.hops + 2);
    edge->like_miss_rate = ((double)counts.like_miss + 1) / ((double)counts.hops + 2);
    return FTH_OK;
}

/* ---- the search ---- */

/* Walks footprints of `counts` strides, in ascending order, and narrows the bracket of the edge, or
 * sets edge->interrupted. */
static enum fth_status try_counts(const struct capacity_search *search, const uint64_t *counts,
                                  size_t count, enum miss_criterion what,
                                  struct capacity_edge *edge, struct fth_error *error)
{
    struct fth_request requests[MAX_BATCH] = {{0}};
    for (size_t i = 0; i < count; i++)
        requests[i] = make_walk(search->plan, counts[i], passes_for(edge, counts[i]));
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(search->prober, requests, count, &answers, error));
    for (size_t i = 0; i < count; i++) {
        search->capacity->samples += answers.items[i].count;
        const bool interrupted = remove_interrupted(&answers.items[i], counts[i]);
        struct slow_hops slow_hops = count_slow(
            &answers.items[i], counts[i], passes_for(edge, counts[i]), search->threshold, edge);
        /* What an interrupted walk does not show may be in the part that was removed. */
        if (interrupted && is_undecided(what, slow_hops, counts[i], edge)) {
            edge->interrupted = true;
            break;
        }
        if (meets_criterion(what, slow_hops, edge)) {
            edge->misses = counts[i];
            break;
        }
        edge->fits = counts[i];
    }
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Fills `counts` with at most MAX_CUTS footprints that divide the bracket evenly, and returns their
 * number. */
static size_t cut(const struct capacity_edge *edge, uint64_t *counts)
{
    uint64_t width = edge->misses - edge->fits, cuts = width - 1 < MAX_CUTS ? width - 1 : MAX_CUTS;
    for (uint64_t i = 0; i < cuts; i++)
        counts[i] = edge->fits + width * (i + 1) / (cuts + 1);
    return (size_t)cuts;
}

/* Doubles the footprint from the smallest one on, several per batch, until one has misses. Then
 * divides the bracket until it is one stride wide. */
static enum fth_status find_edge(const struct capacity_search *search, struct capacity_edge *edge,
                                 struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    uint64_t counts[MAX_BATCH], bytes = plan->smallest_bytes;
    edge->fits = bytes / plan->stride_bytes;
    edge->misses = 0;
    edge->interrupted = false;
    while (edge->misses == 0 && !edge->interrupted && bytes < plan->largest_bytes) {
        size_t tries = 0;
        while (tries < FOOTPRINTS_PER_BATCH && bytes < plan->largest_bytes) {
            bytes = 2 * bytes < plan->largest_bytes ? 2 * bytes : plan->largest_bytes;
            counts[tries++] = bytes / plan->stride_bytes;
        }
        FTH_TRY(try_counts(search, counts, tries, ANY_MISS, edge, error));
    }
    while (edge->misses && !edge->interrupted && edge->misses - edge->fits > 1) {
        size_t tries = cut(edge, counts);
        FTH_TRY(try_counts(search, counts, tries, ANY_MISS, edge, error));
    }
    if (edge->interrupted)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "another program used the GPU during each walk over more than %llu bytes",
                        (unsigned long long)edge->fits * plan->stride_bytes);
    return FTH_OK;
}

/* Whether most hops of a walk over a footprint that fits take clearly longer than a hit. Another
 * cache behind the measured one serves them, and the footprint is that of both. */
static bool is_served_behind(const struct capacity_search *search,
                             const struct fth_samples *samples)
{
    struct fth_summary summary;
    return fth_summary_u32(samples->cycles, samples->count, &summary, NULL) == FTH_OK &&
           summary.median > sqrt(search->plan->hit_cycles * search->threshold);
}

/* Repeats the walks on both sides of the edge, and counts those that agree with it. */
static enum fth_status confirm(const struct capacity_search *search,
                               const struct capacity_edge *edge, struct fth_error *error)
{
    struct fth_request requests[2 * THOROUGH_REPEATS];
    const size_t asked = search->prober->thorough ? 2 * THOROUGH_REPEATS : 2 * REPEATS;
    for (size_t i = 0; i < asked; i++) {
        uint64_t count = i % 2 ? edge->misses : edge->fits;
        requests[i] = make_walk(search->plan, count, passes_for(edge, count));
    }
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(search->prober, requests, asked, &answers, error));
    unsigned same = 0, behind = 0;
    for (size_t i = 0; i < answers.count; i++) {
        uint64_t count = i % 2 ? edge->misses : edge->fits;
        behind += i % 2 == 0 && is_served_behind(search, &answers.items[i]);
        const bool interrupted = remove_interrupted(&answers.items[i], count);
        const struct slow_hops slow_hops =
            count_slow(&answers.items[i], count, passes_for(edge, count), search->threshold, edge);
        same += !(interrupted && is_undecided(ANY_MISS, slow_hops, count, edge)) &&
                has_misses(slow_hops, edge) == (i % 2 == 1);
        search->capacity->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    search->capacity->evidence = (struct fth_evidence){
        .repeats = (double)asked,
        .agree = same,
        .doubt = 4 * (size_t)behind > asked ? "most loads take longer than a hit" : NULL};
    return FTH_OK;
}

/* ---- further evidence ---- */

/* Finds the smallest footprint without a hit, between the first one with a miss and twice that. */
static enum fth_status find_full_miss(const struct capacity_search *search,
                                      const struct capacity_edge *edge, struct fth_error *error)
{
    struct fth_capacity *capacity = search->capacity;
    struct capacity_edge partial = *edge;
    uint64_t counts[MAX_CUTS + 1];
    /* The first division is tried together with the largest footprint, to save a launch. */
    partial.misses = 2 * edge->misses;
    size_t tries = cut(&partial, counts);
    counts[tries++] = partial.misses;
    partial.misses = 0;
    FTH_TRY(try_counts(search, counts, tries, ALL_MISS, &partial, error));
    while (partial.misses && !partial.interrupted &&
           partial.misses - partial.fits > edge->fits / FULL_MISS_PARTS + 1) {
        tries = cut(&partial, counts);
        FTH_TRY(try_counts(search, counts, tries, ALL_MISS, &partial, error));
    }
    capacity->full_miss_interrupted = partial.interrupted;
    if (partial.interrupted || !partial.misses)
        return FTH_OK;
    capacity->full_miss_low_bytes = partial.fits * search->plan->stride_bytes;
    capacity->full_miss_bytes = partial.misses * search->plan->stride_bytes;
    return FTH_OK;
}

/* Walks a quarter more than fits, then walks back, and returns the number of lines that are still
 * resident. */
static enum fth_status count_resident(const struct capacity_search *search,
                                      const struct capacity_edge *edge, uint64_t *hits,
                                      struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    const uint64_t bytes =
        edge->fits * plan->stride_bytes * RESIDENT_NUMERATOR / RESIDENT_DENOMINATOR;
    const struct fth_chain chain = {.stride_bytes = plan->stride_bytes,
                                    .count = (bytes / ALIGN_BYTES + 1) * ALIGN_BYTES /
                                             plan->stride_bytes};
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    request.chase.steps[1].reverse = true;
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(search->prober, &request, 1, &answers, error));
    *hits = 1; /* hop 0, the newest line, is slow only because the timing code is not cached yet */
    for (size_t hop = 1; hop < answers.items[0].count; hop++)
        *hits += answers.items[0].cycles[hop] <= search->threshold;
    search->capacity->samples += answers.items[0].count;
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Counts the resident lines several times. An interruption of the first walk, which is not timed,
 * leaves only the lines that were loaded after it. Each repeat is a launch of its own, so that one
 * interruption does not affect all of them. The result is the maximum. It is rejected if a repeat
 * does not agree with it, or if fewer than half of the lines that fit are resident: after the walk
 * the cache is full under any policy, and the walk back meets most of the lines. */
static enum fth_status find_resident(const struct capacity_search *search,
                                     const struct capacity_edge *edge, struct fth_error *error)
{
    struct fth_capacity *capacity = search->capacity;
    uint64_t hits[REPEATS] = {0}, most = 0;
    unsigned same = 0;
    for (size_t i = 0; i < REPEATS; i++) {
        FTH_TRY(count_resident(search, edge, &hits[i], error));
        most = hits[i] > most ? hits[i] : most;
    }
    for (size_t i = 0; i < REPEATS; i++)
        same += (double)hits[i] >= same_resident * (double)most;
    capacity->resident_evidence = (struct fth_evidence){.repeats = REPEATS, .agree = same};
    const bool found = same == REPEATS && 2 * most >= edge->fits;
    capacity->resident_bytes = found ? most * search->plan->stride_bytes : 0;
    return FTH_OK;
}

/* ---- the probe ---- */

/* Searches the edge once and fills in fits_bytes, misses_bytes and the evidence. If disturbances
 * show up that were not known before, starts again with the methods that tolerate them. */
static enum fth_status search_once(const struct capacity_search *search, struct capacity_edge *edge,
                                   struct fth_error *error)
{
    bool fits = true;
    const bool known = edge->disturbed;
    /* Discard the evidence of an earlier search. */
    search->capacity->evidence = (struct fth_evidence){0};
    if (edge->disturbed)
        FTH_TRY(find_miss_cycles(search, edge, error));
    FTH_TRY(find_rates(search, edge, &fits, error));
    if (!fits)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "even a footprint of %llu bytes has misses",
                        (unsigned long long)search->plan->smallest_bytes);
    if (edge->disturbed && !known)
        return search_once(search, edge, error);
    FTH_TRY(find_edge(search, edge, error));
    search->capacity->fits_bytes = edge->fits * search->plan->stride_bytes;
    search->capacity->misses_bytes = edge->misses * search->plan->stride_bytes;
    return edge->misses ? confirm(search, edge, error) : FTH_OK;
}

/* Whether too many of the repeated walks contradict the edge. */
static bool contradicts(const struct fth_capacity *capacity)
{
    return capacity->evidence.repeats > 0 && fth_evidence_share(capacity->evidence) < min_agreement;
}

/* Searches the edge until repeated walks agree with it. A single slow hop ends the search too early
 * if no disturbances were seen before. Walks that do not agree reveal this; then searches again and
 * assumes disturbances. */
static enum fth_status search_edge(const struct capacity_search *search, struct capacity_edge *edge,
                                   struct fth_error *error)
{
    struct fth_capacity *capacity = search->capacity;
    FTH_TRY(search_once(search, edge, error));
    for (unsigned searches = 1; searches < MAX_SEARCHES && contradicts(capacity); searches++) {
        edge->disturbed = true;
        FTH_TRY(search_once(search, edge, error));
    }
    if (edge->disturbed) {
        capacity->miss_low_cycles = edge->low;
        capacity->miss_high_cycles = edge->high;
    }
    if (contradicts(capacity))
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "when repeated, %.0f %% of the walks contradict a capacity of %llu bytes",
                        100 * (1 - fth_evidence_share(capacity->evidence)),
                        (unsigned long long)capacity->fits_bytes);
    return FTH_OK;
}

/* If walks are disturbed and more lines are resident than are said to fit, another program evicted
 * lines during the search; the search is repeated then. Without disturbances this is no
 * contradiction: a cache with hashed sets has misses before it is full. */
enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                   const struct fth_capacity_plan *plan,
                                   struct fth_capacity *capacity, struct fth_error *error)
{
    *capacity = (struct fth_capacity){0};
    const struct capacity_search search = {prober, plan, capacity,
                                           sqrt(plan->hit_cycles * plan->miss_cycles)};
    struct capacity_edge edge = {
        .disturbed = plan->disturbed, .low = search.threshold, .high = INFINITY};
    for (unsigned searches = 0; searches < MAX_CONTRADICTED; searches++) {
        FTH_TRY(search_edge(&search, &edge, error));
        if (edge.misses == 0 || !plan->evidence)
            return FTH_OK;
        FTH_TRY(find_resident(&search, &edge, error));
        if (!edge.disturbed || capacity->resident_bytes <= capacity->fits_bytes)
            return find_full_miss(&search, &edge, error);
    }
    return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                    "a reverse walk hits %llu bytes, more than the capacity of %llu bytes; another "
                    "program seems to use the GPU",
                    (unsigned long long)capacity->resident_bytes,
                    (unsigned long long)capacity->fits_bytes);
}
