/* At which indices does the level of a series change?
 *
 * One change point: the split with the smallest squared deviation from two levels, which D.
 * Größler's thesis calls Opt (3.3.3, after C. Truong, L. Oudre and N. Vayatis, "Selective review of
 * offline change point detection methods", Signal Processing 167, 2020). The algorithm of the
 * thesis takes O(n²); with prefix sums it takes O(n). If the mean of the series is 0 and S_k is the
 * sum of the first k of n values, the total sum of squares is
 *
 *      total = within + S_k² n / (k (n - k))
 *
 * The total does not depend on k, so the best split maximizes the last term.
 *
 * The robust variant uses absolute deviations from two medians instead (J. Bai, "Least Absolute
 * Deviation Estimation of a Shift", Econometric Theory 11, 1995). The cost of an outlier then
 * hardly depends on where the series is split: it changes by at most the step between the two
 * levels. A rank test (A. N. Pettitt, 1979) is not suitable: in rank, the highest values of the low
 * part are adjacent to the high part, however far apart the values are.
 *
 * Several change points: optimal partitioning with the pruning of R. Killick, P. Fearnhead and I.
 * A. Eckley, "Optimal Detection of Changepoints With a Linear Computational Cost", JASA 107 (2012),
 * known as PELT.
 *
 * Assumptions: the values around each level have the same distribution and are independent. Least
 * squares treats an extreme outlier as a level of its own; the robust variant and `min_part`
 * prevent that. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "find a change point"

static enum fth_status check(const double *series, size_t count, size_t min_part, size_t parts,
                             struct fth_error *error)
{
    FTH_TRY(fth_check_f64(series, count, OPERATION, error));
    if (min_part == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, "min_part", "must be at least 1");
    if (count / parts < min_part)
        return fth_fail(error, FTH_INVALID, OPERATION, "min_part",
                        "%zu values are too few for %zu parts of %zu", count, parts, min_part);
    return FTH_OK;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Finds the best split by least squares; see the formula above. */
static struct fth_change split(const double *series, size_t count, size_t min_part)
{
    double level = mean(series, count);
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += (series[i] - level) * (series[i] - level);
    struct fth_change change = {.index = min_part};
    double best = -1;
    double sum = 0;
    double left_sum = 0;
    for (size_t k = 1; k + min_part <= count; k++) {
        sum += series[k - 1] - level;
        if (k < min_part)
            continue;
        double between = sum * sum * (double)count / ((double)k * (double)(count - k));
        if (between > best) {
            best = between;
            change.index = k;
            left_sum = sum;
        }
    }
    change.left = level + left_sum / (double)change.index;
    change.right = level - left_sum / (double)(count - change.index);
    change.gain = total > 0 ? fmin(best / total, 1) : 0;
    return change;
}

enum fth_status fth_change_find(const double *series, size_t count, size_t min_part,
                                struct fth_change *change, struct fth_error *error)
{
    enum fth_status status = check(series, count, min_part, 2, error);
    if (status == FTH_OK)
        *change = split(series, count, min_part);
    return status;
}

/* The values seen so far, indexed by their rank in the sorted series. This is a Fenwick tree of
 * counts and sums (P. M. Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994). It
 * gives the median, and the count and sum of the values below it, in O(log n). Ranks start at 1. */
struct tree {
    size_t size;
    size_t *count;
    double *sum;
};

static void tree_add(struct tree *tree, size_t rank, double value)
{
    for (; rank <= tree->size; rank += rank & -rank) {
        tree->count[rank]++;
        tree->sum[rank] += value;
    }
}

/* Returns the sum of the absolute deviations from the median of the `seen` values in the tree.
 * `total` is the sum of these values. */
static double tree_deviation(const struct tree *tree, const double *sorted, size_t seen,
                             double total)
{
    size_t below = 0, rank = 0, step = 1;
    double sum = 0;
    while (step <= tree->size / 2)
        step *= 2;
    for (; step > 0; step /= 2) {
        size_t next = rank + step;
        if (next <= tree->size && below + tree->count[next] <= (seen - 1) / 2) {
            rank = next;
            below += tree->count[next];
            sum += tree->sum[next];
        }
    }
    double median = sorted[rank]; /* the value of rank `rank` + 1 */
    return (total - sum) - median * (double)(seen - below) + median * (double)below - sum;
}

/* Computes result[k], the sum of absolute deviations of the first k values from their median; or,
 * if `backwards`, that of the values from index k on. */
static void deviations(const double *series, const double *sorted, const size_t *ranks,
                       size_t count, bool backwards, struct tree *tree, double *result)
{
    memset(tree->count, 0, (count + 1) * sizeof *tree->count);
    memset(tree->sum, 0, (count + 1) * sizeof *tree->sum);
    double total = 0;
    for (size_t seen = 1; seen <= count; seen++) {
        size_t i = backwards ? count - seen : seen - 1;
        double value = series[i] - sorted[0];
        total += value;
        tree_add(tree, ranks[i], value);
        result[backwards ? i : seen] = tree_deviation(tree, sorted + count, seen, total);
    }
}

/* Computes the rank of each value in the sorted series, starting at 1. Equal values are ranked in
 * the order of the series. `used` has `count` elements, all 0. */
static void find_ranks(const double *series, const double *sorted, size_t count, size_t *used,
                       size_t *ranks)
{
    for (size_t i = 0; i < count; i++) {
        size_t low = 0;
        for (size_t high = count; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (sorted[middle] < series[i])
                low = middle + 1;
            else
                high = middle;
        }
        ranks[i] = low + ++used[low];
    }
}

enum fth_status fth_change_find_robust(const double *series, size_t count, size_t min_part,
                                       struct fth_change *change, struct fth_error *error)
{
    enum fth_status status = check(series, count, min_part, 2, error);
    if (status != FTH_OK)
        return status;
    double *sorted = NULL; /* 2 * count values; the second half is scratch space, reused below */
    struct fth_arena arena = {NULL};
    size_t *ranks = fth_arena_array(&arena, count, sizeof *ranks);
    double *before = fth_arena_array(&arena, count + 1, sizeof *before);
    double *after = fth_arena_array(&arena, count + 1, sizeof *after);
    struct tree tree = {count, fth_arena_array(&arena, count + 1, sizeof(size_t)),
                        fth_arena_array(&arena, count + 1, sizeof(double))};
    if (!ranks || !before || !after || !tree.count || !tree.sum) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    if ((status = fth_sorted_f64(series, count, OPERATION, &sorted, error)) != FTH_OK)
        goto out;
    find_ranks(series, sorted, count, tree.count, ranks);
    /* Subtracting the smallest value from all values reduces rounding errors in the sums. */
    for (size_t i = 0; i < count; i++)
        sorted[count + i] = sorted[i] - sorted[0];
    deviations(series, sorted, ranks, count, false, &tree, before);
    deviations(series, sorted, ranks, count, true, &tree, after);
    struct fth_change found = {.index = min_part};
    for (size_t k = min_part; k + min_part <= count; k++)
        if (before[k] + after[k] < before[found.index] + after[found.index])
            found.index = k;
    double parts = before[found.index] + after[found.index];
    found.gain = before[count] > 0 ? fmax(1 - parts / before[count], 0) : 0;
    /* Compute the medians of the parts. `sorted` and `before` are no longer needed: reuse them. */
    memcpy(sorted, series, count * sizeof *sorted);
    fth_sort_f64(sorted, before, found.index);
    fth_sort_f64(sorted + found.index, before, count - found.index);
    found.left = fth_quantile_sorted(sorted, found.index, 0.5);
    found.right = fth_quantile_sorted(sorted + found.index, count - found.index, 0.5);
    *change = found;
out:
    free(sorted);
    fth_arena_fini(&arena);
    return status;
}

/* ---- several change points ---- */

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

/* Follows `last` from the end of the series and computes the level and gain of each change. */
static enum fth_status collect(const struct sums *sums, double level, const size_t *last,
                               size_t count, struct fth_changes *changes, struct fth_error *error)
{
    size_t found = 0;
    for (size_t t = last[count]; t > 0; t = last[t])
        found++;
    struct fth_change *items = NULL;
    if (found > 0 && !(items = malloc(found * sizeof *items)))
        return fth_no_memory(error, OPERATION, NULL);
    size_t end = count;
    for (size_t i = found; i-- > 0;) {
        size_t at = i + 1 < found ? last[items[i + 1].index] : last[count];
        size_t begin = last[at];
        double parts = cost(sums, begin, at) + cost(sums, at, end);
        double whole = cost(sums, begin, end);
        items[i] = (struct fth_change){
            .index = at,
            .left = level + (sums->value[at] - sums->value[begin]) / (double)(at - begin),
            .right = level + (sums->value[end] - sums->value[at]) / (double)(end - at),
            .gain = whole > 0 ? fmax(1 - parts / whole, 0) : 0,
        };
        end = at;
    }
    *changes = (struct fth_changes){items, found};
    return FTH_OK;
}

enum fth_status fth_changes_find(const double *series, size_t count, size_t min_part,
                                 double penalty, struct fth_changes *changes,
                                 struct fth_error *error)
{
    enum fth_status status = check(series, count, min_part, 1, error);
    if (status != FTH_OK)
        return status;
    if (!(penalty > 0) || !isfinite(penalty))
        return fth_fail(error, FTH_INVALID, OPERATION, "penalty", "%g is not positive and finite",
                        penalty);
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
    double level = mean(series, count);
    for (size_t i = 0; i < count; i++) {
        double value = series[i] - level;
        sums.value[i + 1] = sums.value[i] + value;
        sums.square[i + 1] = sums.square[i] + value * value;
    }
    partition(&sums, count, min_part, penalty, &candidates, best, last);
    status = collect(&sums, level, last, count, changes, error);
out:
    fth_arena_fini(&arena);
    return status;
}

void fth_changes_fini(struct fth_changes *changes)
{
    free(changes->items);
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

enum fth_status fth_change_penalty(const double *series, size_t count, double resolution,
                                   double *penalty, struct fth_error *error)
{
    enum fth_status status = fth_check_f64(series, count, OPERATION, error);
    if (status != FTH_OK)
        return status;
    if (!(resolution > 0) || !isfinite(resolution))
        return fth_fail(error, FTH_INVALID, OPERATION, "resolution",
                        "%g is not positive and finite", resolution);
    double variance = resolution * resolution / 12; /* of the rounding error */
    if (count > 1) {
        double *steps = malloc(count * sizeof *steps);
        double *sorted = NULL;
        if (!steps)
            return fth_no_memory(error, OPERATION, NULL);
        for (size_t i = 0; i + 1 < count; i++)
            steps[i] = fabs(series[i + 1] - series[i]);
        status = fth_sorted_f64(steps, count - 1, OPERATION, &sorted, error);
        if (status == FTH_OK)
            variance = fmax(variance, noise_variance(sorted, count - 1));
        free(sorted);
        free(steps);
        if (status != FTH_OK)
            return status;
    }
    /* 3 ln n: N. R. Zhang and D. O. Siegmund, "A Modified Bayes Information Criterion", Biometrics
     * 63 (2007). The 2 ln n of the plain criterion finds too many changes. 20 / n: the estimated
     * variance of few values can be too small. The 20 was chosen by simulation such that 1 of 100
     * series without a change, of 6 values or more, is reported to have one. */
    *penalty = 3 * log((double)count + 1) * (1 + 20 / (double)count) * variance;
    return FTH_OK;
}
