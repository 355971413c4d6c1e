/* Where a series jumps.
 *
 * One change point: the split that leaves the least squared deviation from two levels, the optimum
 * that D. Größler's thesis calls Opt (3.3.3, after C. Truong, L. Oudre and N. Vayatis, "Selective
 * review of offline change point detection methods", Signal Processing 167, 2020). The thesis takes
 * O(n²) for it; with running sums it is O(n). With the series centred, S_k the sum of the first k
 * of n values,
 *
 *      total = within + S_k² n / (k (n - k))
 *
 * so that the last term is what to maximise.
 *
 * The robust one takes absolute deviations from two medians instead (J. Bai, "Least Absolute
 * Deviation Estimation of a Shift", Econometric Theory 11, 1995): an outlier costs the same
 * wherever the series is split, but for the step between the levels. Ranks (A. N. Pettitt's test,
 * 1979) will not do: the highest values of the low part are nearer to the high part in rank,
 * however far they are in value.
 *
 * Many: optimal partitioning with the pruning of R. Killick, P. Fearnhead and I. A. Eckley,
 * "Optimal Detection of Changepoints With a Linear Computational Cost", JASA 107 (2012): PELT.
 *
 * Assumed: values around each level scatter alike and independently. An outlier far out is a level
 * of its own to least squares; ranks and `min_part` are against that. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "find a change point"

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, OPERATION, NULL, "out of memory");
}

static enum fth_status check(const double *series, size_t count, size_t min_part, size_t parts,
                             struct fth_error *error)
{
    enum fth_status status = fth_check_f64(series, count, OPERATION, error);
    if (status != FTH_OK)
        return status;
    if (min_part == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, "min_part", "a part has at least 1 value");
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

/* The values seen so far, by their place in the sorted series: a tree of running counts and sums
 * (P. M. Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994), which gives the
 * median, and what lies below it, in O(log n). Places count from 1. */
struct tree {
    size_t size;
    size_t *count;
    double *sum;
};

static void tree_add(struct tree *tree, size_t place, double value)
{
    for (; place <= tree->size; place += place & -place) {
        tree->count[place]++;
        tree->sum[place] += value;
    }
}

/* The sum of absolute deviations from the median of the `seen` values in the tree; `total` is their
 * sum. */
static double tree_deviation(const struct tree *tree, const double *sorted, size_t seen,
                             double total)
{
    size_t below = 0, place = 0, step = 1;
    double sum = 0;
    while (step <= tree->size / 2)
        step *= 2;
    for (; step > 0; step /= 2) {
        size_t next = place + step;
        if (next <= tree->size && below + tree->count[next] <= (seen - 1) / 2) {
            place = next;
            below += tree->count[next];
            sum += tree->sum[next];
        }
    }
    double median = sorted[place]; /* place + 1, counted from 1 */
    return (total - sum) - median * (double)(seen - below) + median * (double)below - sum;
}

/* deviations[k] of the first k values, or, backwards, of those from k on. */
static void deviations(const double *series, const double *sorted, const size_t *places,
                       size_t count, bool backwards, struct tree *tree, double *result)
{
    memset(tree->count, 0, (count + 1) * sizeof *tree->count);
    memset(tree->sum, 0, (count + 1) * sizeof *tree->sum);
    double total = 0;
    for (size_t seen = 1; seen <= count; seen++) {
        size_t i = backwards ? count - seen : seen - 1;
        double value = series[i] - sorted[0];
        total += value;
        tree_add(tree, places[i], value);
        result[backwards ? i : seen] = tree_deviation(tree, sorted + count, seen, total);
    }
}

/* Where each value stands in the sorted series, counted from 1; equal ones in the order of the
 * series. `used` has room for `count` and is zero. */
static void find_places(const double *series, const double *sorted, size_t count, size_t *used,
                        size_t *places)
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
        places[i] = low + ++used[low];
    }
}

enum fth_status fth_change_find_robust(const double *series, size_t count, size_t min_part,
                                       struct fth_change *change, struct fth_error *error)
{
    enum fth_status status = check(series, count, min_part, 2, error);
    if (status != FTH_OK)
        return status;
    double *sorted = NULL; /* with the room behind it that the sort needed */
    struct fth_arena arena = {NULL};
    size_t *places = fth_arena_array(&arena, count, sizeof *places);
    double *before = fth_arena_array(&arena, count + 1, sizeof *before);
    double *after = fth_arena_array(&arena, count + 1, sizeof *after);
    struct tree tree = {count, fth_arena_array(&arena, count + 1, sizeof(size_t)),
                        fth_arena_array(&arena, count + 1, sizeof(double))};
    if (!places || !before || !after || !tree.count || !tree.sum) {
        status = no_memory(error);
        goto out;
    }
    if ((status = fth_sorted_f64(series, count, OPERATION, &sorted, error)) != FTH_OK)
        goto out;
    find_places(series, sorted, count, tree.count, places);
    /* Deviations are taken from the least value on, for the sake of the sums' last digits. */
    for (size_t i = 0; i < count; i++)
        sorted[count + i] = sorted[i] - sorted[0];
    deviations(series, sorted, places, count, false, &tree, before);
    deviations(series, sorted, places, count, true, &tree, after);
    struct fth_change found = {.index = min_part};
    for (size_t k = min_part; k + min_part <= count; k++)
        if (before[k] + after[k] < before[found.index] + after[found.index])
            found.index = k;
    double parts = before[found.index] + after[found.index];
    found.gain = before[count] > 0 ? fmax(1 - parts / before[count], 0) : 0;
    /* The parts' medians; `sorted` and `before` have served. */
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

/* ---- many ---- */

/* Running sums of the centred series. */
struct sums {
    double *value;
    double *square;
};

/* The squared deviation of series[from .. to) from its mean. */
static double cost(const struct sums *sums, size_t from, size_t to)
{
    double sum = sums->value[to] - sums->value[from];
    double squares = sums->square[to] - sums->square[from];
    return fmax(squares - sum * sum / (double)(to - from), 0);
}

/* The candidates for the last change before t. One that costs more than the best way to t cannot
 * win any more, except against parts that would be shorter than min_part: it stays until then. */
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

/* best[t]: the least cost of the first t values, and last[t] the change it ends with. */
static void partition(const struct sums *sums, size_t count, size_t min_part, double penalty,
                      struct candidates *candidates, double *best, size_t *last)
{
    double slack = 1e-9 * sums->square[count]; /* what rounding may do to the sums */
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

/* The changes from the chain of last ones, their levels and gains. */
static enum fth_status collect(const struct sums *sums, double level, const size_t *last,
                               size_t count, struct fth_changes *changes, struct fth_error *error)
{
    size_t found = 0;
    for (size_t t = last[count]; t > 0; t = last[t])
        found++;
    struct fth_change *items = NULL;
    if (found > 0 && !(items = malloc(found * sizeof *items)))
        return no_memory(error);
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
        return fth_fail(error, FTH_INVALID, OPERATION, "penalty", "%g is not positive", penalty);
    struct fth_arena arena = {NULL};
    struct sums sums = {fth_arena_array(&arena, count + 1, sizeof(double)),
                        fth_arena_array(&arena, count + 1, sizeof(double))};
    struct candidates candidates = {fth_arena_array(&arena, count + 1, sizeof(size_t)),
                                    fth_arena_array(&arena, count + 1, sizeof(size_t)), 0};
    double *best = fth_arena_array(&arena, count + 1, sizeof *best);
    size_t *last = fth_arena_array(&arena, count + 1, sizeof *last);
    if (!sums.value || !sums.square || !candidates.index || !candidates.expiry || !best || !last) {
        status = no_memory(error);
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

enum fth_status fth_change_penalty(const double *series, size_t count, double resolution,
                                   double *penalty, struct fth_error *error)
{
    enum fth_status status = fth_check_f64(series, count, OPERATION, error);
    if (status != FTH_OK)
        return status;
    if (!(resolution > 0) || !isfinite(resolution))
        return fth_fail(error, FTH_INVALID, OPERATION, "resolution", "%g is not positive",
                        resolution);
    /* Differences of neighbours are noise but for the few jumps, which a median does not see; their
     * variance is twice that of the values. 1.4826: from the MAD to the standard deviation of a
     * normal distribution. Half a step more, since the median of whole numbers may lie so far
     * below that of what was rounded to them; so the noise is never nothing. */
    double mad = 0;
    if (count > 1) {
        double *steps = malloc(count * sizeof *steps);
        if (!steps)
            return no_memory(error);
        for (size_t i = 0; i + 1 < count; i++)
            steps[i] = series[i + 1] - series[i];
        struct fth_summary summary;
        status = fth_summary_f64(steps, count - 1, &summary, error);
        free(steps);
        if (status != FTH_OK)
            return status;
        mad = summary.mad;
    }
    double deviation = 1.4826 * (mad + resolution / 2);
    double variance = deviation * deviation / 2;
    /* 3 ln n: N. R. Zhang and D. O. Siegmund, "A Modified Bayes Information Criterion", Biometrics
     * 63 (2007); the plain criterion's 2 ln n finds too many. */
    *penalty = 3 * log((double)count + 1) * variance;
    return FTH_OK;
}
