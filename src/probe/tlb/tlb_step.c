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

enum {
    MIN_RISE = 3,     /* cycles: the probe does not look for smaller penalties */
    RATE_PASSES = 15, /* timed passes to measure the false miss rate */
    /* Standard deviations above the hits at which a load is not noise any more. A conventional
     * limit; (CLEAR + 1) is required of a step and (CLEAR - 1) of means. */
    CLEAR = 5
};
/* Minimum height of a step relative to the excess below it. The previous step is not known more
 * precisely. Chosen by experiment. */
static const double min_relative_rise = 0.08;
/* Minimum fraction of loads that a step must contain. One page may hold 16 loads, of which only one
 * (6 %) misses. */
static const double min_share = 0.04;
/* Standard deviation of a normal distribution divided by its median absolute deviation. */
static const double sigma_per_mad = 1.4826;

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
    /* An excess is the difference between a load and a baseline, which is a mean of five loads:
     * variance 1 + 1/5. A mean excess is the difference between two means of five: 1/5 + 1/5. */
    noise->load = sigma_per_mad * summary.mad * sqrt(1.2);
    noise->mean = sigma_per_mad * summary.mad * sqrt(0.4);
    return status;
}

/* Splits the values above `min` into groups and computes the median of the lowest group with at
 * least two values and `min_share` of all values. NAN: there is none. A new group begins at a gap
 * of more than MIN_RISE cycles and of more than half the distance between `hit_excess` and the
 * value before the gap. */
static enum fth_status lowest_group(const double *values, size_t count, double hit_excess,
                                    double min, double *median, struct fth_error *error)
{
    double *sorted = NULL;
    size_t above = 0;
    enum fth_status status = sort_above(values, count, min, &sorted, &above, error);
    *median = NAN;
    for (size_t from = 0, to; status == FTH_OK && from < above && isnan(*median); from = to) {
        for (to = from + 1; to < above; to++)
            if (sorted[to] - sorted[to - 1] > fmax(MIN_RISE, (sorted[to - 1] - hit_excess) / 2))
                break;
        if (to - from >= 2 && (double)(to - from) >= min_share * (double)count)
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
    const double rise = fmax(MIN_RISE, min_relative_rise * hit_excess);
    enum fth_status status =
        lowest_group(walk->excess, walk->passes * walk->count, hit_excess,
                     hit_excess + fmax(rise, CLEAR * noise->load), &miss_excess, error);
    bool per_load = miss_excess - hit_excess > (CLEAR + 1) * noise->load;
    if (status == FTH_OK && !per_load)
        status =
            lowest_group(walk->mean, walk->count, hit_excess,
                         hit_excess + fmax(rise, (CLEAR - 1) * noise->mean), &miss_excess, error);
    *found = !isnan(miss_excess);
    if (*found)
        *step = (struct fth_tlb_step){
            .hit_excess = hit_excess, .miss_excess = miss_excess, .per_load = per_load};
    return status;
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

struct fth_page_misses fth_tlb_step_count_misses(const struct fth_page_walk *walk,
                                                 const struct fth_tlb_step *step)
{
    struct fth_page_misses misses = {0};
    for (uint64_t i = 0; i < walk->count; i++) {
        unsigned passes, times = times_missed(walk, step, i, &passes);
        bool missed = fth_tlb_step_missed(walk, step, i);
        misses.missed_pages += missed;
        misses.missed_loads += step->per_load ? times : missed;
        misses.loads += step->per_load ? passes : 1;
        if (step->per_load)
            misses.inconsistent_loads += missed ? passes - times : times;
    }
    return misses;
}

bool fth_tlb_step_overflows(const struct fth_page_misses *misses, uint64_t count,
                            const struct fth_tlb_step *step)
{
    /* A position counts as missed if at least three of its five loads do. There are ten ways to
     * choose three of five, so false misses cause that with a probability of about 10 rate^3. One
     * position is always tolerated. */
    const double rate = step->false_miss_rate;
    const double page_rate = step->per_load ? 10 * rate * rate * rate : rate;
    const double expected_pages = (double)count * page_rate;
    const double expected_loads = (double)misses->loads * rate;
    return (double)misses->missed_pages > fmax(1, fth_max_by_chance(expected_pages)) ||
           (step->per_load &&
            (double)misses->missed_loads > fmax(2, fth_max_by_chance(expected_loads)));
}

enum fth_status fth_tlb_step_learn_rate(struct fth_pages *pages, uint64_t fits,
                                        struct fth_tlb_step *step, struct fth_error *error)
{
    struct fth_page_walk walk = {.count = fits, .passes = fth_page_passes(fits, RATE_PASSES)};
    FTH_TRY(fth_pages_walk(pages, &walk, 1, error));
    struct fth_page_misses misses = fth_tlb_step_count_misses(&walk, step);
    const double loads = (double)misses.loads, seen = (double)misses.missed_loads;
    /* The rate is at least half an event in all loads, since the walk cannot rule out less. It is
     * at most 5 %: where pages are unevenly distributed, a few sets may overflow even here, and
     * their misses are not false. */
    step->false_miss_rate = fmin(fmax(seen, 0.5) / fmax(loads, 64), 0.05);
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}
