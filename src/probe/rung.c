/* Which loads missed a level of TLBs. What they pay comes in steps: nothing, the first level's
 * penalty, the first's and the second's, …
 *
 *      ▁▇█▇▁          ▂▆▂                          ▁▅▁
 *       below  threshold  value
 *
 * Where the steps are wide against what a load differs by from pass to pass, single loads tell;
 * otherwise the means over passes do, provided that the same pages miss in each of them. */
#include "probe/tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "tell TLB misses";

enum {
    MIN_RISE = 3, /* cycles: a penalty less than this is not looked for */
    RATE_PASSES = 15,
    CLEAR = 5 /* standard deviations that no load is above by chance */
};
/* Of what loads pay already, that a step is at least: so well is the last one known. */
static const double min_part = 0.08;
/* Of the loads, that a step has at least: a page of one level may hold 16 of another's. */
static const double min_share = 0.04;
/* A normal distribution's standard deviation in median absolute deviations. */
static const double deviations = 1.4826;

/* The numbers of `values` that are above `least`, sorted; *sorted is to be freed. */
static enum fth_status sort_above(const double *values, size_t count, double min, double **sorted,
                                  size_t *above, struct fth_error *error)
{
    double *kept = calloc(count, sizeof *kept);
    if (!kept)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    *above = 0;
    *sorted = NULL;
    for (size_t i = 0; i < count; i++)
        if (values[i] > min) /* NAN is not */
            kept[(*above)++] = values[i];
    enum fth_status status = FTH_OK;
    if (*above)
        status = fth_sorted_f64(kept, *above, operation, sorted, error);
    free(kept);
    return status;
}

enum fth_status fth_page_spread(const struct fth_page_walk *walk, struct fth_page_spread *spread,
                                struct fth_error *error)
{
    const size_t loads = walk->passes * walk->count;
    double *off = calloc(loads, sizeof *off), *sorted = NULL;
    size_t kept = 0;
    struct fth_summary summary = {.mad = 0};
    if (!off)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    for (size_t i = 0; i < loads; i++)
        off[i] = walk->excess[i] - walk->mean[i % walk->count];
    enum fth_status status = sort_above(off, loads, -INFINITY, &sorted, &kept, error);
    if (status == FTH_OK && kept)
        status = fth_summary_f64(sorted, kept, &summary, error);
    free(sorted);
    free(off);
    /* Each load is compared with a mean of five, each mean with another. */
    spread->single = deviations * summary.mad * sqrt(1.2);
    spread->mean = deviations * summary.mad * sqrt(0.4);
    return status;
}

/* The median of the lowest group of numbers above `least` that has its share; NAN: there is none.
 * Groups are apart by half of what the lower one is above `below`. */
static enum fth_status lowest_group(const double *values, size_t count, double below, double min,
                                    double *median, struct fth_error *error)
{
    double *sorted = NULL;
    size_t above = 0;
    enum fth_status status = sort_above(values, count, min, &sorted, &above, error);
    *median = NAN;
    for (size_t from = 0, to; status == FTH_OK && from < above && isnan(*median); from = to) {
        for (to = from + 1; to < above; to++)
            if (sorted[to] - sorted[to - 1] > fmax(MIN_RISE, (sorted[to - 1] - below) / 2))
                break;
        if (to - from >= 2 && (double)(to - from) >= min_share * (double)count)
            *median = fth_quantile_sorted(sorted + from, to - from, 0.5);
    }
    free(sorted);
    return status;
}

enum fth_status fth_rung_find(const struct fth_page_walk *walk, double below,
                              const struct fth_page_spread *spread, struct fth_rung *rung,
                              bool *found, struct fth_error *error)
{
    double value;
    const double rise = fmax(MIN_RISE, min_part * below);
    enum fth_status status =
        lowest_group(walk->excess, walk->passes * walk->count, below,
                     below + fmax(rise, CLEAR * spread->single), &value, error);
    bool single = value - below > (CLEAR + 1) * spread->single;
    if (status == FTH_OK && !single)
        status = lowest_group(walk->mean, walk->count, below,
                              below + fmax(rise, (CLEAR - 1) * spread->mean), &value, error);
    *found = !isnan(value);
    if (*found)
        *rung = (struct fth_rung){.below = below, .value = value, .single = single};
    return status;
}

double fth_rung_threshold(const struct fth_rung *rung)
{
    return (rung->below + rung->value) / 2;
}

/* How often a place missed, of the passes in which nothing disturbed it. */
static unsigned times_missed(const struct fth_page_walk *walk, const struct fth_rung *rung,
                             uint64_t place, unsigned *of)
{
    const double threshold = fth_rung_threshold(rung);
    unsigned times = 0;
    *of = 0;
    for (unsigned pass = 0; pass < walk->passes; pass++) {
        double excess = walk->excess[pass * walk->count + place];
        *of += isnan(excess) ? 0 : 1;
        times += excess > threshold;
    }
    return times;
}

bool fth_rung_missed(const struct fth_page_walk *walk, const struct fth_rung *rung, uint64_t place)
{
    unsigned of, times = times_missed(walk, rung, place, &of);
    return rung->single ? 2 * times > of : walk->mean[place] > fth_rung_threshold(rung);
}

struct fth_page_misses fth_rung_misses(const struct fth_page_walk *walk,
                                       const struct fth_rung *rung)
{
    struct fth_page_misses misses = {0};
    for (uint64_t i = 0; i < walk->count; i++) {
        unsigned of, times = times_missed(walk, rung, i, &of);
        bool missed = fth_rung_missed(walk, rung, i);
        misses.steady += missed;
        misses.all += rung->single ? times : missed;
        misses.loads += rung->single ? of : 1;
        if (rung->single)
            misses.unsteady += missed ? of - times : times;
    }
    return misses;
}

bool fth_rung_over(const struct fth_page_misses *misses, uint64_t count,
                   const struct fth_rung *rung)
{
    /* Of five loads three are so by chance in ten ways. A single place may always be. */
    const double rate = rung->rate, steady_rate = rung->single ? 10 * rate * rate * rate : rate;
    const double expected = (double)count * steady_rate, all = (double)misses->loads * rate;
    return (double)misses->steady > fmax(1, fth_max_by_chance(expected)) ||
           (rung->single && (double)misses->all > fmax(2, fth_max_by_chance(all)));
}

/* How often a load pays as much though it fits: from a walk over less. At least what so many loads
 * cannot rule out. */
enum fth_status fth_rung_learn_rate(struct fth_pages *pages, uint64_t fits, struct fth_rung *rung,
                                    struct fth_error *error)
{
    struct fth_page_walk walk = {.count = fits, .passes = fth_page_passes(fits, RATE_PASSES)};
    enum fth_status status = fth_pages_walk(pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses misses = fth_rung_misses(&walk, rung);
    const double loads = (double)misses.loads, seen = (double)misses.all;
    /* A few may be misses: where pages fall into sets unevenly some of these overflow early. */
    rung->rate = fmin(fmax(seen, 0.5) / fmax(loads, 64), 0.05);
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}
