/* At which indices does the level of a series change?
 *
 * The answer is the partition of the series that minimizes the squared deviation from the mean of
 * each part, plus a penalty for each change. It is found by optimal partitioning with the pruning
 * of R. Killick, P. Fearnhead and I. A. Eckley, "Optimal Detection of Changepoints With a Linear
 * Computational Cost", JASA 107 (2012), known as PELT.
 *
 * Assumptions: the values around each level have the same distribution and are independent. An
 * extreme outlier becomes a level of its own, unless `min_part` prevents that. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "find a change point"

/* Prefix sums of the series minus its mean. */
struct sums {
    double *value;
    double *square;
};

/* Returns the squared deviation of series[from .. to) from its mean. */
static double cost(const struct sums *sums, size_t from, size_t to)
{
    double sum = sums->value[to] - sums->value[from];
    double squares = sums->square[to] - sums->square[from];
    return fmax(squares - sum * sum / (double)(to - from), 0);
}

/* The candidates for the last change before index t. A candidate that costs more than the best
 * partition of the first t values can be replaced by a change at t, so it is no longer needed. But
 * a change at t is only possible once the part after it has min_part values, so the candidate stays
 * until t + min_part (`expiry`; SIZE_MAX means that it does not expire yet). */
struct candidates {
    size_t *index;
    size_t *expiry;
    size_t count;
};

static void prune(struct candidates *candidates, size_t t)
{
    size_t kept = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->expiry[i] <= t)
            continue;
        candidates->index[kept] = candidates->index[i];
        candidates->expiry[kept++] = candidates->expiry[i];
    }
    candidates->count = kept;
}

/* Computes best[t], the minimum cost of the first t values, and last[t], the last change before t
 * in that partition (0 if there is none). */
static void partition(const struct sums *sums, size_t count, size_t min_part, double penalty,
                      struct candidates *candidates, double *best, size_t *last)
{
    double slack = 1e-9 * sums->square[count]; /* tolerance for rounding errors of the sums */
    best[0] = -penalty;
    for (size_t t = 1; t <= count; t++) {
        best[t] = INFINITY;
        last[t] = 0;
        if (t < min_part)
            continue;
        size_t newest = t - min_part;
        if (newest == 0 || newest >= min_part) {
            candidates->index[candidates->count] = newest;
            candidates->expiry[candidates->count++] = SIZE_MAX;
        }
        prune(candidates, t);
        for (size_t i = 0; i < candidates->count; i++) {
            size_t from = candidates->index[i];
            double sum = best[from] + cost(sums, from, t) + penalty;
            if (sum < best[t]) {
                best[t] = sum;
                last[t] = from;
            }
        }
        for (size_t i = 0; i < candidates->count; i++) {
            size_t from = candidates->index[i];
            if (candidates->expiry[i] == SIZE_MAX &&
                best[from] + cost(sums, from, t) > best[t] + slack)
                candidates->expiry[i] = t + min_part;
        }
    }
}

/* Follows `last` from the end of the series and stores the changes in ascending order. */
static enum fth_status collect(const size_t *last, size_t count, struct fth_changes *changes,
                               struct fth_error *error)
{
    size_t found = 0;
    for (size_t t = last[count]; t > 0; t = last[t])
        found++;
    size_t *indices = NULL;
    if (found > 0 && !(indices = malloc(found * sizeof *indices)))
        return fth_no_memory(error, OPERATION, NULL);
    size_t at = last[count];
    for (size_t i = found; i-- > 0; at = last[at])
        indices[i] = at;
    *changes = (struct fth_changes){indices, found};
    return FTH_OK;
}

enum fth_status fth_changes_find(const double *series, size_t count, size_t min_part,
                                 double penalty, struct fth_changes *changes,
                                 struct fth_error *error)
{
    FTH_TRY(fth_check_f64(series, count, OPERATION, error));
    if (min_part == 0 || count < min_part)
        return fth_fail(error, FTH_INVALID, OPERATION, "min_part",
                        "%zu is not between 1 and the number of values, %zu", min_part, count);
    if (!(penalty > 0) || !isfinite(penalty))
        return fth_fail(error, FTH_INVALID, OPERATION, "penalty", "%g is not positive and finite",
                        penalty);
    enum fth_status status = FTH_OK;
    struct fth_arena arena = {NULL};
    struct sums sums = {fth_arena_array(&arena, count + 1, sizeof(double)),
                        fth_arena_array(&arena, count + 1, sizeof(double))};
    struct candidates candidates = {fth_arena_array(&arena, count + 1, sizeof(size_t)),
                                    fth_arena_array(&arena, count + 1, sizeof(size_t)), 0};
    double *best = fth_arena_array(&arena, count + 1, sizeof *best);
    size_t *last = fth_arena_array(&arena, count + 1, sizeof *last);
    if (!sums.value || !sums.square || !candidates.index || !candidates.expiry || !best || !last) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    double level = 0;
    for (size_t i = 0; i < count; i++)
        level += series[i];
    level /= (double)count;
    for (size_t i = 0; i < count; i++) {
        double value = series[i] - level;
        sums.value[i + 1] = sums.value[i] + value;
        sums.square[i + 1] = sums.square[i] + value * value;
    }
    partition(&sums, count, min_part, penalty, &candidates, best, last);
    status = collect(last, count, changes, error);
out:
    fth_arena_fini(&arena);
    return status;
}

void fth_changes_fini(struct fth_changes *changes)
{
    free(changes->indices);
    *changes = (struct fth_changes){NULL, 0};
}

/* Estimates the noise variance of a series from the absolute differences of adjacent values.
 * Differences that contain no jump are noise with twice the variance of the values. To exclude the
 * jumps, only the smallest 80 % of the differences are used. For normal noise, the mean square of
 * these is 0.4377 of the variance of all: 1 - 2 a φ(a) / 0.8 with a = 1.2816. (The MAD, for which
 * half of the differences suffice, is wrong by a factor of two for differences of a few whole
 * cycles.) */
static double noise_variance(const double *sorted_steps, size_t count)
{
    size_t kept = (size_t)(0.8 * (double)count);
    double squares = 0;
    for (size_t i = 0; i < kept; i++)
        squares += sorted_steps[i] * sorted_steps[i];
    return kept > 0 ? squares / (double)kept / 0.4377 / 2 : 0;
}

/* Computes the variance of the noise from the absolute differences of adjacent values. */
static enum fth_status find_variance(const double *series, size_t count, double *variance,
                                     struct fth_error *error)
{
    double *steps = malloc(count * sizeof *steps), *sorted = NULL;
    if (!steps)
        return fth_no_memory(error, OPERATION, NULL);
    for (size_t i = 0; i + 1 < count; i++)
        steps[i] = fabs(series[i + 1] - series[i]);
    enum fth_status status = fth_sorted_f64(steps, count - 1, OPERATION, &sorted, error);
    if (status == FTH_OK)
        *variance = noise_variance(sorted, count - 1);
    free(sorted);
    free(steps);
    return status;
}

enum fth_status fth_change_penalty(const double *series, size_t count, double resolution,
                                   double *penalty, struct fth_error *error)
{
    FTH_TRY(fth_check_f64(series, count, OPERATION, error));
    if (!(resolution > 0) || !isfinite(resolution))
        return fth_fail(error, FTH_INVALID, OPERATION, "resolution",
                        "%g is not positive and finite", resolution);
    double variance = 0;
    if (count > 1)
        FTH_TRY(find_variance(series, count, &variance, error));
    variance = fmax(variance, resolution * resolution / 12); /* that of the rounding error */
    /* 3 ln n: N. R. Zhang and D. O. Siegmund, "A Modified Bayes Information Criterion", Biometrics
     * 63 (2007). The 2 ln n of the plain criterion finds too many changes. 20 / n: the estimated
     * variance of few values can be too small. The 20 was chosen by simulation such that 1 of 100
     * series without a change, of 6 values or more, is reported to have one. */
    *penalty = 3 * log((double)count + 1) * (1 + 20 / (double)count) * variance;
    return FTH_OK;
}
