/* Which loads of a walk missed a TLB level? The excess of a load (pages.c) is near zero where it
 * hits the first level, near the first level's penalty where it misses that one only, near the
 * sum of two penalties where it misses two levels, and so on. A histogram of the excess shows one
 * step per level:
 *
 *      ▁▇█▇▁               ▂▆▂                          ▁▅▁
 *    hit_excess  threshold  miss_excess
 *
 * Where a step is high compared with the noise of single loads, each load is classified separately.
 * Otherwise the mean over the passes is classified, which requires that the same pages miss in each
 * pass. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "detect TLB misses";

/* ---- what is a step ---- */

enum {
    /* Standard deviations above the hits at which a load is not noise any more. A conventional
     * limit: with five, one hit in 3.5 million is above it. */
    MIN_LOAD_SIGMAS = 5,
    /* Standard deviations that a step must exceed to classify each load separately, and those that
     * the mean over the passes must exceed otherwise. One more and one fewer than for a single
     * load; chosen, not derived. */
    MIN_STEP_SIGMAS = MIN_LOAD_SIGMAS + 1,
    MIN_MEAN_SIGMAS = MIN_LOAD_SIGMAS - 1,
    MIN_GROUP_VALUES = 2 /* minimum values of a step: a single one may be a disturbance */
};
/* Minimum height of a step relative to the excess below it. The previous step is not known more
 * precisely. Chosen by experiment. */
static const double min_relative_rise = 0.08;
/* Minimum fraction of loads that a step must contain. One page may hold 16 loads, of which only one
 * (6 %) misses. */
static const double min_share = 0.04;
/* A gap between two groups is at least this fraction of the distance between the hits and the lower
 * group. Chosen, not derived: two levels whose penalties are closer than that are one step. */
static const double min_gap_fraction = 0.5;

/* ---- noise ---- */

/* Standard deviation of a normal distribution divided by its median absolute deviation. */
static const double sigma_per_mad = 1.4826;
/* Variance of the excess, relative to that of the cycles of a load. An excess is the difference
 * between a load and a baseline, which is a mean of five loads: 1 + 1/5. A mean excess is the
 * difference between two means of five: 1/5 + 1/5. */
static const double load_variance = 1.2, mean_variance = 0.4;

/* ---- false misses ---- */

enum {
    /* Timed passes to measure the false miss rate. Chosen, not derived: three times as many as a
     * walk has. A walk over more than FTH_TLB_MANY_LOADS loads has enough loads with
     * FTH_TLB_PASSES. */
    RATE_PASSES = 15,
    /* Minimum number of loads that the rate is divided by. A rate from fewer loads would be too
     * high: the walk over four pages has 60 loads. Chosen. */
    MIN_RATE_LOADS = 64,
    /* Pages and loads that may look like misses in any walk. Chosen: data of the launch itself
     * occasionally evicts a page. */
    TOLERATED_PAGES = 1,
    TOLERATED_LOADS = 2
};
/* The false miss rate is at least that of this many events in all loads, since a walk without any
 * cannot rule out less. */
static const double min_rate_events = 0.5;
/* Maximum false miss rate. Where pages are unevenly distributed, a few sets may overflow even in
 * the walk that measures the rate, and their misses are not false. Chosen, not derived. */
static const double max_false_miss_rate = 0.05;

/* Sorts those of `values` that are greater than `min`, without NANs. The caller frees *sorted,
 * which is NULL where there are none. */
static enum fth_status sort_above(const double *values, size_t count, double min, double **sorted,
                                  size_t *above, struct fth_error *error)
{
    double *kept = calloc(count, sizeof *kept);
    if (!kept)
        return fth_no_memory(error, operation, NULL);
    *above = 0;
    *sorted = NULL;
    for (size_t i = 0; i < count; i++)
        if (values[i] > min) /* false for NAN */
            kept[(*above)++] = values[i];
    enum fth_status status = FTH_OK;
    if (*above)
        status = fth_sorted_f64(kept, *above, operation, sorted, error);
    free(kept);
    return status;
}

enum fth_status fth_page_noise(const struct fth_page_walk *walk, struct fth_page_noise *noise,
                               struct fth_error *error)
{
    const size_t loads = walk->passes * walk->count;
    double *deviation = calloc(loads, sizeof *deviation), *sorted = NULL;
    size_t kept = 0;
    struct fth_summary summary = {.mad = 0};
    if (!deviation)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < loads; i++)
        deviation[i] = walk->excess[i] - walk->mean[i % walk->count];
    enum fth_status status = sort_above(deviation, loads, -INFINITY, &sorted, &kept, error);
    if (status == FTH_OK && kept)
        status = fth_summary_f64(sorted, kept, &summary, error);
    free(sorted);
    free(deviation);
    noise->load = sigma_per_mad * summary.mad * sqrt(load_variance);
    noise->mean = sigma_per_mad * summary.mad * sqrt(mean_variance);
    return status;
}

/* Whether there is a gap between two groups of values; `low` and `high` are consecutive. */
static bool is_gap(double low, double high, double hit_excess)
{
    return high - low > fmax(FTH_TLB_MIN_RISE, (low - hit_excess) * min_gap_fraction);
}

/* Whether a group of values, of `all` values in total, is large enough to be a step. */
static bool is_step(size_t group, size_t all)
{
    return group >= MIN_GROUP_VALUES && (double)group >= min_share * (double)all;
}

/* Splits the values above `min` at the gaps into groups, and computes the median of the lowest
 * group that is large enough. NAN: there is none. */
static enum fth_status lowest_group(const double *values, size_t count, double hit_excess,
                                    double min, double *median, struct fth_error *error)
{
    double *sorted = NULL;
    size_t above = 0;
    enum fth_status status = sort_above(values, count, min, &sorted, &above, error);
    *median = NAN;
    for (size_t from = 0, to; status == FTH_OK && from < above && isnan(*median); from = to) {
        to = from + 1;
        while (to < above && !is_gap(sorted[to - 1], sorted[to], hit_excess))
            to++;
        if (is_step(to - from, count))
            *median = fth_quantile_sorted(sorted + from, to - from, 0.5);
    }
    free(sorted);
    return status;
}

enum fth_status fth_tlb_step_find(const struct fth_page_walk *walk, double hit_excess,
                                  const struct fth_page_noise *noise, struct fth_tlb_step *step,
                                  bool *found, struct fth_error *error)
{
    double miss_excess;
    const double rise = fmax(FTH_TLB_MIN_RISE, min_relative_rise * hit_excess);
    FTH_TRY(lowest_group(walk->excess, walk->passes * walk->count, hit_excess,
                         hit_excess + fmax(rise, MIN_LOAD_SIGMAS * noise->load), &miss_excess,
                         error));
    const bool per_load = miss_excess - hit_excess > MIN_STEP_SIGMAS * noise->load;
    if (!per_load)
        FTH_TRY(lowest_group(walk->mean, walk->count, hit_excess,
                             hit_excess + fmax(rise, MIN_MEAN_SIGMAS * noise->mean), &miss_excess,
                             error));
    *found = !isnan(miss_excess);
    if (*found)
        *step = (struct fth_tlb_step){
            .hit_excess = hit_excess, .miss_excess = miss_excess, .per_load = per_load};
    return FTH_OK;
}

double fth_tlb_step_threshold(const struct fth_tlb_step *step)
{
    return (step->hit_excess + step->miss_excess) / 2;
}

/* In how many passes a position missed. *passes is the number of passes without an outlier there.
 */
static unsigned times_missed(const struct fth_page_walk *walk, const struct fth_tlb_step *step,
                             uint64_t position, unsigned *passes)
{
    const double threshold = fth_tlb_step_threshold(step);
    unsigned times = 0;
    *passes = 0;
    for (unsigned pass = 0; pass < walk->passes; pass++) {
        double excess = walk->excess[pass * walk->count + position];
        *passes += isnan(excess) ? 0 : 1;
        times += excess > threshold;
    }
    return times;
}

bool fth_tlb_step_missed(const struct fth_page_walk *walk, const struct fth_tlb_step *step,
                         uint64_t position)
{
    unsigned passes, times = times_missed(walk, step, position, &passes);
    return step->per_load ? 2 * times > passes
                          : walk->mean[position] > fth_tlb_step_threshold(step);
}

/* A position is mixed if the numbers of its hits and of its misses differ by less than this
 * fraction of the passes. Chosen: where a page misses in every other pass, they differ by at most
 * one. */
static const double max_mixed_part = 0.2;

struct fth_page_misses fth_tlb_step_count_misses(const struct fth_page_walk *walk,
                                                 const struct fth_tlb_step *step)
{
    struct fth_page_misses misses = {.passes = walk->passes};
    for (uint64_t i = 0; i < walk->count; i++) {
        unsigned passes, times = times_missed(walk, step, i, &passes);
        bool missed = fth_tlb_step_missed(walk, step, i);
        misses.missed_pages += missed;
        misses.missed_loads += step->per_load ? times : missed;
        misses.loads += step->per_load ? passes : 1;
        if (!step->per_load)
            continue;
        misses.inconsistent_loads += missed ? passes - times : times;
        misses.mixed_pages += fabs(2.0 * times - passes) < max_mixed_part * passes;
    }
    return misses;
}

/* The probability that a position counts as missed because of false misses. If single loads are
 * classified, more than half of its loads must be false misses: about C(passes, k) * rate^k for the
 * smallest such number k. */
static double false_page_rate(const struct fth_tlb_step *step, unsigned passes)
{
    const unsigned majority = passes / 2 + 1;
    double rate = 1;
    if (!step->per_load)
        return step->false_miss_rate;
    for (unsigned i = 0; i < majority; i++)
        rate *= step->false_miss_rate * (passes - i) / (i + 1);
    return rate;
}

bool fth_tlb_step_overflows(const struct fth_page_misses *misses, uint64_t count,
                            const struct fth_tlb_step *step)
{
    const double expected_pages = (double)count * false_page_rate(step, misses->passes);
    const double expected_loads = (double)misses->loads * step->false_miss_rate;
    const double max_pages = fmax(TOLERATED_PAGES, fth_max_by_chance(expected_pages));
    const double max_loads = fmax(TOLERATED_LOADS, fth_max_by_chance(expected_loads));
    return (double)misses->missed_pages > max_pages ||
           (step->per_load && (double)misses->missed_loads > max_loads);
}

enum fth_status fth_tlb_step_learn_rate(struct fth_pages *pages, uint64_t fits,
                                        struct fth_tlb_step *step, struct fth_error *error)
{
    const unsigned wanted = fits > FTH_TLB_MANY_LOADS ? FTH_TLB_PASSES : RATE_PASSES;
    struct fth_page_walk walk = {.count = fits, .passes = fth_page_passes(fits, wanted)};
    FTH_TRY(fth_pages_walk(pages, &walk, 1, error));
    const struct fth_page_misses misses = fth_tlb_step_count_misses(&walk, step);
    const double events = fmax((double)misses.missed_loads, min_rate_events);
    const double loads = fmax((double)misses.loads, MIN_RATE_LOADS);
    step->false_miss_rate = fmin(events / loads, max_false_miss_rate);
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}
