/* Finds the sector and the line of a cache.
 *
 * Sector: the number of bytes that one miss fetches. A first walk over a cold cache visits one
 * element after the other. The distance between slow hops is the sector.
 *
 * Line: the number of bytes that are evicted together, which can be several sectors. The cache is
 * filled, one other line is loaded, and a walk over the filled memory finds a gap: consecutive
 * sectors that miss. The length of the gap is the line. This walk goes backwards. If the oldest
 * line is replaced, each miss of the walk then evicts a line that was already checked. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

enum {
    FIRST_WALK_BYTES = 2048,   /* fits in the smallest cache, a constant L1 of 2 KiB */
    REPEATS = 8,               /* requests with the same steps, each on its own SM. Chosen. */
    MAX_RUN = 64,              /* maximum number of sectors per line. Chosen. */
    ELEMENT_BYTES = 8,         /* stride of the first walk: the smallest element of a chain */
    TEXTURE_ELEMENT_BYTES = 4, /* the same for textures */
    /* Hops of the longest first walk, plus one. */
    MAX_COUNTS = FIRST_WALK_BYTES / TEXTURE_ELEMENT_BYTES + 1,
    /* Passes that fill the cache. The second shows which loads are slow although they hit. */
    FILL_PASSES = 2
};

/* Minimum fraction of all runs of slow hops that must have a certain length for it to be taken as
 * the line. Chosen, not derived. */
static const double min_run_fraction = 0.2;
/* Minimum fraction of the repeats with evictions that lead to the line. On an idle H200, it is 6 of
 * 8 for the L1, and next to other programs it was 4 of 8 for one wrong line. Chosen between the
 * two.
 */
static const double min_line_share = 0.625;

static enum fth_status ask_repeats(const struct fth_prober *prober,
                                   const struct fth_request *request, struct fth_answers *answers,
                                   struct fth_error *error)
{
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = *request;
    return fth_ask(prober, requests, REPEATS, answers, error);
}

/* Selects an index (1 or above) from a histogram: the length, in hops, that represents it. Returns
 * 0 if no length does. */
typedef unsigned selector(const unsigned *counts, unsigned size);

/* Selects the length from the histogram `all`. A repeat agrees if its own histogram gives the same
 * length. It says nothing if it has no length or a multiple of the length: lines can be evicted
 * together. `unit`: bytes per hop. Returns the fraction of the repeats with any length that agree.
 */
static double decide(selector *select_length, const unsigned all[MAX_COUNTS],
                     const unsigned counts[REPEATS][MAX_COUNTS], uint64_t unit,
                     struct fth_length *length)
{
    unsigned answer = select_length(all, MAX_COUNTS), same = 0, contradict = 0;
    unsigned without_evictions = 0;
    for (size_t i = 0; i < REPEATS; i++) {
        unsigned any = 0;
        for (size_t j = 1; j < MAX_COUNTS; j++)
            any += counts[i][j];
        without_evictions += any == 0; /* this repeat does not count: a way was free */
        const unsigned own = answer ? select_length(counts[i], MAX_COUNTS) : 0;
        same += own && own == answer;
        contradict += own && own % answer;
    }
    length->bytes = answer * unit;
    length->evidence = (struct fth_evidence){.repeats = same + contradict, .agree = same};
    return without_evictions < REPEATS ? same / (double)(REPEATS - without_evictions) : 0;
}

/* Combines the first walks of all SMs, which should be identical: a hop is slow (UINT32_MAX) if it
 * is slow on most SMs, and fast (0) otherwise. */
static void vote(const struct fth_answers *answers, double threshold, uint32_t *hops)
{
    for (size_t hop = 0; hop < answers->items[0].count; hop++) {
        size_t slow = 0;
        for (size_t i = 0; i < answers->count; i++)
            slow += answers->items[i].cycles[hop] > threshold;
        hops[hop] = 2 * slow > answers->count ? UINT32_MAX : 0;
    }
}

enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                      const struct fth_line_plan *plan, struct fth_length *length,
                                      struct fth_error *error)
{
    const uint64_t stride = plan->path == FTH_PATH_TEXTURE ? TEXTURE_ELEMENT_BYTES : ELEMENT_BYTES;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = stride, .count = FIRST_WALK_BYTES / stride};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    struct fth_answers answers = {0};
    *length = (struct fth_length){0};
    FTH_TRY(ask_repeats(prober, &request, &answers, error));
    unsigned counts[REPEATS][MAX_COUNTS] = {{0}}, all[MAX_COUNTS] = {0};
    uint32_t hops[MAX_COUNTS];
    for (size_t i = 0; i < answers.count; i++) {
        length->samples += answers.items[i].count;
        fth_count_distances(&answers.items[i], plan->threshold_cycles, counts[i]);
    }
    const struct fth_samples voted = {.cycles = hops, .count = answers.items[0].count};
    vote(&answers, plan->threshold_cycles, hops);
    fth_count_distances(&voted, plan->threshold_cycles, all);
    fth_answers_fini(&answers);
    decide(fth_majority, all, (const unsigned(*)[MAX_COUNTS])counts, stride, length);
    if (length->bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the sector", NULL,
                        "the misses of a first walk are not at regular distances");
    return FTH_OK;
}

/* Fills a histogram of the lengths of runs of slow hops. Hop 0 is ignored: the timing code is not
 * cached yet, and it visits the newest line. A hop above `high` was disturbed and may or may not be
 * a miss. It does not end a run, because that would make the line too short. But a run must have at
 * least one hop between `low` and `high` to count. */
static void count_runs(const uint32_t *hops, size_t count, double low, double high,
                       unsigned counts[MAX_COUNTS])
{
    size_t run = 0, misses = 0;
    for (size_t hop = 1; hop <= count; hop++) {
        if (hop < count && hops[hop] > low) {
            run++;
            misses += hops[hop] <= high;
            continue;
        }
        if (misses && run <= MAX_RUN)
            counts[run]++;
        run = misses = 0;
    }
}

/* Returns the length of the shortest run that is frequent enough; 0: none. Longer runs can occur:
 * neighbouring lines of one set are evicted together if the refill of one evicts the other. Shorter
 * runs cannot: a part of a line is never evicted alone. */
static unsigned shortest_frequent(const unsigned *counts, unsigned size)
{
    unsigned total = 0;
    for (unsigned i = 1; i < size; i++)
        total += counts[i];
    for (unsigned i = 1; i < size && total; i++)
        if ((double)counts[i] >= min_run_fraction * total)
            return i;
    return 0;
}

/* Removes the runs that disturbances explain. If single hops are slow with probability `rate`, a
 * run of n slow hops has probability rate^n per hop. If no run longer than one hop remains, the
 * runs of one hop are kept: the line is one sector then, because a longer line would have been
 * seen. `hops` is the number of hops per repeat. */
static void remove_chance_runs(unsigned counts[REPEATS][MAX_COUNTS], double hops, double rate)
{
    bool longer = false;
    for (size_t run = MAX_RUN; run >= 1; run--) {
        unsigned all = 0;
        for (size_t i = 0; i < REPEATS; i++)
            all += counts[i][run];
        const bool by_chance = all <= fth_max_by_chance(REPEATS * hops * pow(rate, (double)run));
        longer = longer || !by_chance;
        for (size_t i = 0; by_chance && (run > 1 || longer) && i < REPEATS; i++)
            counts[i][run] = 0;
    }
}

/* Counts the repeats that have a run of each length, in `having`, and returns the number of those
 * with any run. */
static unsigned count_having(const unsigned counts[REPEATS][MAX_COUNTS],
                             unsigned having[MAX_RUN + 1])
{
    unsigned with_runs = 0;
    for (size_t i = 0; i < REPEATS; i++) {
        bool any = false;
        for (size_t run = 1; run <= MAX_RUN; run++) {
            having[run] += counts[i][run] > 0;
            any = any || counts[i][run] > 0;
        }
        with_runs += any;
    }
    return with_runs;
}

/* Removes short runs that only some repeats have, if all repeats have a longer one, and if
 * disturbances can explain the short ones: the fill, with as many hops, saw `slow` of them, so that
 * up to max_slow are expected. All repeats execute the same request: what evicts a line does it in
 * each of them. A repeat without any run does not count: a way was free. */
static void remove_uneven_runs(unsigned counts[REPEATS][MAX_COUNTS], double hops, double slow)
{
    unsigned having[MAX_RUN + 1] = {0};
    const unsigned with_runs = count_having((const unsigned(*)[MAX_COUNTS])counts, having);
    /* Few events: with an expectation of 7, none is seen once in a thousand times. */
    const double max_slow = slow + 5 * sqrt(slow) + 7;
    size_t common = 1;
    while (common <= MAX_RUN && having[common] < with_runs)
        common++;
    for (size_t run = 1; run < common && common <= MAX_RUN; run++) {
        const double expected = REPEATS * hops * pow(max_slow / (REPEATS * hops), (double)run);
        unsigned all = 0;
        for (size_t i = 0; i < REPEATS; i++)
            all += counts[i][run];
        for (size_t i = 0; i < REPEATS && all <= fth_max_by_chance(expected); i++)
            counts[i][run] = 0;
    }
}

enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                     const struct fth_line_plan *plan, uint64_t fetch_bytes,
                                     struct fth_length *length, struct fth_error *error)
{
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = fetch_bytes, .count = plan->size_bytes / fetch_bytes};
    struct fth_chain other = {.array = 1, .stride_bytes = fetch_bytes, .count = 1};
    if (plan->path == FTH_PATH_CONSTANT) { /* there is one array only: use a line after the chain */
        other.array = 0;
        other.start_bytes = chain.count * chain.stride_bytes;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, FILL_PASSES);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, other, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    request.chase.steps[2].reverse = true;
    const double low = fmax(plan->threshold_cycles, plan->miss_low_cycles);
    const double high = plan->miss_high_cycles > 0 ? plan->miss_high_cycles : INFINITY;
    struct fth_answers answers = {0};
    *length = (struct fth_length){0};
    FTH_TRY(ask_repeats(prober, &request, &answers, error));
    unsigned counts[REPEATS][MAX_COUNTS] = {{0}};
    uint64_t slow = 0;
    for (size_t i = 0; i < answers.count; i++) {
        length->samples += answers.items[i].count;
        if (fth_request_was_interrupted(&request, &answers.items[i]))
            continue;
        /* In the last pass of the fill, everything is resident: a slow hop is a disturbance. */
        const uint32_t *again = answers.items[i].cycles + (FILL_PASSES - 1) * chain.count;
        for (size_t hop = 0; hop < chain.count; hop++)
            slow += again[hop] > low && again[hop] <= high;
        count_runs(again + chain.count, chain.count, low, high, counts[i]);
    }
    fth_answers_fini(&answers);
    const double hops = (double)chain.count;
    if (slow)
        remove_chance_runs(counts, hops, (double)slow / (REPEATS * hops));
    remove_uneven_runs(counts, hops, (double)slow);
    unsigned all[MAX_COUNTS] = {0};
    for (size_t i = 0; i < REPEATS; i++)
        for (size_t run = 1; run <= MAX_RUN; run++)
            all[run] += counts[i][run];
    const double share =
        decide(shortest_frequent, all, (const unsigned(*)[MAX_COUNTS])counts, fetch_bytes, length);
    if (length->bytes & (length->bytes - 1))
        length->evidence.doubt = "it is not a power of two";
    if (length->bytes == 0 || share < min_line_share)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the line", NULL,
                        "the runs of evicted sectors have no common length");
    return FTH_OK;
}
