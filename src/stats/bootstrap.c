/* How certain is a mean of samples? The bootstrap draws new samples from the existing ones, with
 * replacement, and observes how much the mean varies: B. Efron, "Bootstrap Methods: Another Look at
 * the Jackknife", Annals of Statistics 7 (1979), with percentile intervals (B. Efron and R.
 * Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).
 *
 * Assumption: the samples are independent. */
#include "stats/stats.h"

#include <stdlib.h>

#define OPERATION "bootstrap samples"

/* Random numbers that are drawn at once, to save time. Chosen, not derived. */
enum { DRAWS_AT_ONCE = 256 };

/* Returns the mean of a resample, which is represented by how often each of the sorted values was
 * drawn: times[i] for sorted[i]. The sum of `times` is `count`. */
static double resampled_mean(const double *sorted, const uint32_t *times, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times[i] * sorted[i];
    return sum / (double)count;
}

/* Draws `count` of `count` values, and adds to times[i] how often value i was drawn. */
static void draw(struct fth_rng *rng, size_t count, uint32_t *times)
{
    uint32_t numbers[DRAWS_AT_ONCE];
    for (size_t drawn = 0; drawn < count; drawn += DRAWS_AT_ONCE) {
        const size_t part = FTH_MIN(count - drawn, DRAWS_AT_ONCE);
        fth_rng_fill_below(rng, (uint32_t)count, numbers, part);
        for (size_t i = 0; i < part; i++)
            times[numbers[i]]++;
    }
}

enum fth_status fth_bootstrap_interval(const double *samples, size_t count, double level,
                                       size_t repeats, uint64_t seed, struct fth_interval *interval,
                                       struct fth_error *error)
{
    if (count == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no values");
    if (count > UINT32_MAX)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "too many values");
    if (repeats == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, "repeats", "must be at least 1");
    if (!(level > 0 && level < 1))
        return fth_fail(error, FTH_INVALID, OPERATION, "level", "%g is not between 0 and 1", level);
    enum fth_status status = FTH_OK;
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
    for (size_t i = 0; i < count; i++)
        times[i] = 1;
    double estimate = resampled_mean(sorted, times, count);
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    for (size_t repeat = 0; repeat < repeats; repeat++) {
        for (size_t i = 0; i < count; i++)
            times[i] = 0;
        draw(&rng, count, times);
        found[repeat] = resampled_mean(sorted, times, count);
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
