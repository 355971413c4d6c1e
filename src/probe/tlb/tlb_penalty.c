/* How many cycles does a miss of a TLB level add? The penalty is the excess of loads that miss this
 * level minus that of loads that hit it, from a walk over twice as many pages as the onset.
 *
 * A direct-mapped first level (one way per set) needs special care. Writing the samples into page 0
 * evicts all other pages of its set, so that loads of these pages miss even while their baseline is
 * measured. Let the level have N sets.
 *   - Pages N, 2N and so on seem to hit, because their excess is 0. Therefore page N seems to fit,
 *     and N + 1 entries are found instead of N (is_one_too_many()).
 *   - Their excess for a miss of an outer level is too low by the penalty of the first level. They
 *     do not count for the penalty of the outer level (has_miss_in_baseline()). */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find TLBs";

enum {
    WALK_FACTOR = 2, /* the walk covers this many times the onset: pages 0, N and 2N are in it */
    MIN_SEEMING_HITS = 2 /* pages that must seem to hit in a direct-mapped level: N and 2N */
};
/* Tolerance with which an excess is too low by the first level's penalty: this fraction of the
 * penalty, and at most FTH_TLB_MIN_RISE cycles. Chosen, not derived. */
static const double shortfall_tolerance = 0.25;

/* Whether a load's page is in the same set as page 0, into which the GPU writes the samples. The
 * TLB is assumed to have `entries` sets with one way each, and to assign consecutive pages to
 * consecutive sets. False if `entries` is 0 (unknown). */
static bool is_in_samples_set(const struct fth_pages *pages, uint64_t position, uint64_t page_bytes,
                              uint64_t entries)
{
    return entries &&
           (FTH_HEADER_BYTES + position * pages->stride_bytes) / page_bytes % entries == 0;
}

/* Whether level->entries, as found for the first level, is one too high because the level is
 * direct-mapped. In the walk, exactly the pages whose number is a multiple of N = entries - 1 must
 * seem to hit. */
static bool is_one_too_many(const struct fth_tlb_search *search, const struct fth_page_walk *walk,
                            const struct fth_tlb_level *level)
{
    unsigned hits = 0;
    if (level->entries < 2 || !level->periodic)
        return false;
    for (uint64_t i = 1; i < walk->count; i++) {
        const bool seems_to_hit =
            is_in_samples_set(search->pages, i, level->page_bytes, level->entries - 1);
        if (fth_tlb_step_missed(walk, search->step, i) == seems_to_hit)
            return false;
        hits += seems_to_hit;
    }
    return hits >= MIN_SEEMING_HITS;
}

/* Whether the baseline of a load already contains a miss of a direct-mapped first level, because
 * the load's page is in the set of page 0. Its excess for a miss of an outer level is then lower
 * than `typical`, the excess of most loads, by the first level's penalty. typical 0: unknown. */
static bool has_miss_in_baseline(const struct fth_tlb_survey *survey,
                                 const struct fth_tlb_search *search,
                                 const struct fth_page_walk *walk, uint64_t position,
                                 double typical)
{
    const double shortfall = typical - walk->mean[position];
    const double first_penalty = survey->first_step.miss_excess;
    return typical > 0 &&
           fabs(shortfall - first_penalty) <
               fmin(FTH_TLB_MIN_RISE, shortfall_tolerance * first_penalty) &&
           is_in_samples_set(search->pages, position, survey->first_page, survey->first_entries);
}

/* The range of excesses, in cycles, that are misses of a level but not of a further one: symmetric
 * around the miss excess. */
struct range {
    double low, high;
};

static bool is_in(struct range range, double excess)
{
    return excess > range.low && excess < range.high;
}

/* The median of the mean excesses in the range; 0: there are none. Position 0 is left out: it is in
 * the page of the samples. */
static enum fth_status find_typical_excess(const struct fth_page_walk *walk, struct range range,
                                           double *typical, struct fth_error *error)
{
    double *means = calloc(walk->count, sizeof *means);
    size_t count = 0;
    struct fth_summary summary = {.median = 0};
    if (!means)
        return fth_no_memory(error, operation, NULL);
    for (uint64_t i = 1; i < walk->count; i++)
        if (is_in(range, walk->mean[i]))
            means[count++] = walk->mean[i];
    enum fth_status status = count ? fth_summary_f64(means, count, &summary, error) : FTH_OK;
    *typical = summary.median;
    free(means);
    return status;
}

/* Collects the penalties of the loads that miss, at most one per load of the walk. Returns their
 * number. */
static size_t collect_penalties(const struct fth_tlb_survey *survey,
                                const struct fth_tlb_search *search,
                                const struct fth_page_walk *walk, struct range range,
                                double typical, double *penalties)
{
    const struct fth_tlb_step *step = search->step;
    const double *values = step->per_load ? walk->excess : walk->mean;
    const uint64_t loads = (step->per_load ? walk->passes : 1) * walk->count;
    size_t found = 0;
    for (uint64_t i = 0; i < loads; i++)
        if (i % walk->count && is_in(range, values[i]) &&
            !has_miss_in_baseline(survey, search, walk, i % walk->count, typical))
            penalties[found++] = values[i] - step->hit_excess;
    return found;
}

enum fth_status fth_tlb_find_penalty(const struct fth_tlb_survey *survey,
                                     const struct fth_tlb_search *search,
                                     struct fth_tlb_level *level, struct fth_tlb_onset *onset,
                                     struct fth_error *error)
{
    const struct fth_tlb_step *step = search->step;
    const uint64_t count = FTH_MIN(WALK_FACTOR * search->onset, search->pages->max_loads);
    struct fth_page_walk walk = {.count = count, .passes = fth_page_passes(count, FTH_TLB_PASSES)};
    FTH_TRY(fth_pages_walk(search->pages, &walk, 1, error));
    const double threshold = fth_tlb_step_threshold(step);
    const struct range range = {threshold, 2 * step->miss_excess - threshold};
    struct fth_interval interval = {step->miss_excess - step->hit_excess, NAN, NAN};
    const bool is_first = step->hit_excess == 0;
    enum fth_status status = FTH_OK;
    double typical = 0, *penalties = calloc(count * walk.passes, sizeof *penalties);
    size_t found;
    if (!penalties) {
        status = fth_no_memory(error, operation, NULL);
        goto out;
    }
    if (!is_first)
        status = find_typical_excess(&walk, range, &typical, error);
    if (status != FTH_OK)
        goto out;
    found = collect_penalties(survey, search, &walk, range, typical, penalties);
    if (found >= 2)
        status = fth_mean_interval(penalties, found, &interval, error);
    if (status != FTH_OK)
        goto out;
    level->penalty_cycles = interval.estimate;
    level->penalty_low = interval.low;
    level->penalty_high = interval.high;
    *onset = (struct fth_tlb_onset){search->onset, found};
    if (is_first && is_one_too_many(search, &walk, level))
        level->entries--;
out:
    free(penalties);
    fth_page_walks_fini(&walk, 1);
    return status;
}
