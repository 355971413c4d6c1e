/* How certain is a number that was computed from samples? The bootstrap draws new samples from the
 * existing ones, with replacement, and observes how much the number varies: B. Efron, "Bootstrap
 * Methods: Another Look at the Jackknife", Annals of Statistics 7 (1979), with percentile intervals
 * (B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).
 *
 * For the location of a change point, each resample draws the samples of each footprint (row) from
 * the samples of that footprint, reduces the rows to a series, and finds the change point again.
 * The confidence is the fraction of the resamples that find it at the same index.
 *
 * Assumption: the samples of one row are independent. If they are the hops of one pointer chase,
 * the misses are at fixed positions. Resampling then adds a variation that the hardware does not
 * have, so the confidence is a conservative estimate. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "bootstrap samples"

static enum fth_status check(size_t count, size_t repeats, struct fth_error *error)
{
    if (count == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no values");
    if (repeats == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, "repeats", "must be at least 1");
    return FTH_OK;
}

static enum fth_status find(const double *series, size_t rows, const struct fth_bootstrap *options,
                            struct fth_change *change, struct fth_error *error)
{
    return options->robust ? fth_change_find_robust(series, rows, options->min_part, change, error)
                           : fth_change_find(series, rows, options->min_part, change, error);
}

/* Summarises the indices that the resamples found, relative to location->index. Sorts `found`,
 * which has space for 2 * repeats values. */
static void summarise_locations(double *found, size_t repeats, struct fth_change_location *location)
{
    size_t same = 0, adjacent = 0;
    fth_sort_f64(found, found + repeats, repeats);
    for (size_t i = 0; i < repeats; i++) {
        double distance = fabs(found[i] - (double)location->index);
        same += distance < 0.5;
        adjacent += distance < 1.5;
    }
    location->confidence = (double)same / (double)repeats;
    location->within_one = (double)adjacent / (double)repeats;
    location->low = (size_t)floor(fth_quantile_sorted(found, repeats, 0.05));
    location->high = (size_t)ceil(fth_quantile_sorted(found, repeats, 0.95));
}

enum fth_status fth_bootstrap_change(const uint32_t *samples, size_t rows, size_t columns,
                                     const struct fth_reduction *reduction,
                                     const struct fth_bootstrap *options,
                                     struct fth_change_location *location, struct fth_error *error)
{
    enum fth_status status = check(rows && columns, options->repeats, error);
    if (status != FTH_OK)
        return status;
    struct fth_arena arena = {NULL};
    double *series = fth_arena_array(&arena, rows, sizeof *series);
    double *scratch = fth_arena_array(&arena, columns, 2 * sizeof *scratch);
    uint32_t *row = fth_arena_array(&arena, columns, sizeof *row);
    double *found = fth_arena_array(&arena, options->repeats, 2 * sizeof *found);
    if (!series || !scratch || !row || !found) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    struct fth_change change;
    for (size_t i = 0; i < rows; i++)
        series[i] = fth_reduce_row(reduction, samples + i * columns, columns, scratch);
    if ((status = find(series, rows, options, &change, error)) != FTH_OK)
        goto out;
    struct fth_change_location result = {.index = change.index};
    struct fth_rng rng;
    fth_rng_init(&rng, options->seed);
    for (size_t repeat = 0; repeat < options->repeats; repeat++) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < columns; j++)
                row[j] = samples[i * columns + fth_rng_below(&rng, columns)];
            series[i] = fth_reduce_row(reduction, row, columns, scratch);
        }
        if ((status = find(series, rows, options, &change, error)) != FTH_OK)
            goto out;
        found[repeat] = (double)change.index;
    }
    summarise_locations(found, options->repeats, &result);
    *location = result;
out:
    fth_arena_fini(&arena);
    return status;
}

/* ---- intervals ---- */

/* A resample is represented by how often each of the sorted values was drawn: times[i] for
 * sorted[i]. The sum of `times` is `count`. These functions compute the statistic of a resample. */
static double resampled_median(const double *sorted, const uint32_t *times, size_t count)
{
    size_t lower = (count - 1) / 2, upper = count / 2;
    double low = 0;
    for (size_t i = 0, before = 0; i < count; i++) {
        size_t after = before + times[i];
        if (before <= lower && lower < after)
            low = sorted[i];
        if (upper < after)
            return low + (sorted[i] - low) / 2;
        before = after;
    }
    return low;
}

static double resampled_mean(const double *sorted, const uint32_t *times, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times[i] * sorted[i];
    return sum / (double)count;
}

enum fth_status fth_bootstrap_interval(const double *samples, size_t count,
                                       enum fth_statistic statistic, double level, size_t repeats,
                                       uint64_t seed, struct fth_interval *interval,
                                       struct fth_error *error)
{
    enum fth_status status = check(count, repeats, error);
    if (status != FTH_OK)
        return status;
    if (!(level > 0 && level < 1))
        return fth_fail(error, FTH_INVALID, OPERATION, "level", "%g is not between 0 and 1", level);
    struct fth_arena arena = {NULL};
    double *sorted = NULL;
    uint32_t *times = fth_arena_array(&arena, count, sizeof *times);
    double *found = fth_arena_array(&arena, repeats, 2 * sizeof *found);
    if (!times || !found) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    if ((status = fth_sorted_f64(samples, count, OPERATION, &sorted, error)) != FTH_OK)
        goto out;
    double (*compute)(const double *, const uint32_t *, size_t) =
        statistic == FTH_STATISTIC_MEDIAN ? resampled_median : resampled_mean;
    for (size_t i = 0; i < count; i++)
        times[i] = 1;
    double estimate = compute(sorted, times, count);
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    for (size_t repeat = 0; repeat < repeats; repeat++) {
        for (size_t i = 0; i < count; i++)
            times[i] = 0;
        for (size_t i = 0; i < count; i++)
            times[fth_rng_below(&rng, count)]++;
        found[repeat] = compute(sorted, times, count);
    }
    fth_sort_f64(found, found + repeats, repeats);
    *interval = (struct fth_interval){
        .estimate = estimate,
        .low = fth_quantile_sorted(found, repeats, (1 - level) / 2),
        .high = fth_quantile_sorted(found, repeats, (1 + level) / 2),
    };
out:
    free(sorted);
    fth_arena_fini(&arena);
    return status;
}
