/* Plateaus: around which levels do latencies cluster, and which thresholds separate the levels?
 *
 * Dynamic programming finds the partition of sorted numbers into k groups with the smallest squared
 * deviation exactly, for every k up to a maximum (W. D. Fisher, "On Grouping for Maximum
 * Homogeneity", JASA 53, 1958; H. Wang and M. Song, "Ckmeans.1d.dp", The R Journal 3, 2011). The
 * optimal split increases monotonically, so divide and conquer makes it O(k u log u) for u distinct
 * values. k-means does not determine k. We use the partition with the most groups in which each
 * pair of adjacent groups is *separated*:
 *
 *       p05   p95            p05      p95
 *        |▃▇█▅▂|  ← gap →     |▂▄▆█▇▃▁|          gap >= c √(spread spread')
 *        ←spread→             ←spread'→
 *
 * A single mode has no gap inside, however wide or skewed it is: pieces of a uniform mode have a
 * gap of a tenth of their spread, and pieces of an exponential tail have a smaller one. Because the
 * edges are quantiles, 5 % of each group on each side can be stray samples. The geometric mean of
 * the spreads allows a narrow level next to a wide one.
 *
 * Outliers are samples far above all others that are too few for a plateau. Let m be the minimum
 * number of samples of a plateau and h the m-th largest sample. A sample is an outlier if it
 * exceeds h by more than half of h and by more than the range from the smallest sample to h.
 * Outliers are excluded first, because they would dominate the squared deviations.
 *
 * Assumptions: levels differ by more than the width of the noise on each, and the noise does not
 * depend on the share of a level. Modes that touch are one plateau. Modes that are separated by an
 * empty interval of half their width are several plateaus. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "find plateaus"

/* Minimum gap between two plateaus in units of their spread (c in the formula above). Between
 * pieces of one uniform mode the gap is 0.1. Two normal modes of equal width must be 4.9 standard
 * deviations apart. Heuristic. */
#define MIN_SEPARATION 0.5
/* Small groups have gaps by chance. The required gap, in units of the spread, is therefore larger
 * by the square of (this number / size of the smaller group). Chosen by simulation, see
 * tests/unit/stats/test_plateaus.c. */
#define SMALL_GROUP_SCALE 8.0
/* Minimum number of samples of a plateau, whatever min_share is. Heuristic. */
#define MIN_PLATEAU_SAMPLES 4
/* Maximum density of samples in the middle half of a gap, as a fraction of the density of the
 * sparser of the two groups. Without this limit, a narrow level with a long flat tail would be
 * split in two. Heuristic. */
#define MAX_VALLEY_DENSITY 0.5
/* Added to the number of samples in the middle half of a gap before it is compared with that limit.
 * If only a few samples would be expected there, their absence is not significant. Heuristic. */
#define VALLEY_MARGIN 2.0

/* The distinct values in ascending order, as prefix sums: element i covers the first i values. */
struct levels {
    size_t *samples; /* number of samples */
    double *sum;     /* of (value - origin) */
    double *square;  /* of (value - origin)² */
    size_t count;
};

/* Returns the squared deviation of the samples of levels [from, to) from their mean. */
static double cost(const struct levels *levels, size_t from, size_t to)
{
    double sum = levels->sum[to] - levels->sum[from];
    double squares = levels->square[to] - levels->square[from];
    double samples = (double)(levels->samples[to] - levels->samples[from]);
    return fmax(squares - sum * sum / samples, 0);
}

/* One row of the dynamic programming table: best[t] = min over s of previous[s] + cost(s, t), where
 * choice[t] is the s of the minimum. choice[t] does not decrease with t. fill_row computes the
 * entry in the middle of [low, high) first, which limits the search on each side of it. */
struct row {
    const struct levels *levels;
    const double *previous;
    double *best;
    uint32_t *choice;
};

static void fill_row(const struct row *row, size_t low, size_t high, size_t first, size_t last)
{
    while (low < high) {
        size_t t = low + (high - low) / 2;
        double best = INFINITY;
        size_t choice = first;
        for (size_t s = first; s <= last && s < t; s++) {
            double sum = row->previous[s] + cost(row->levels, s, t);
            if (sum < best) {
                best = sum;
                choice = s;
            }
        }
        row->best[t] = best;
        row->choice[t] = (uint32_t)choice;
        fill_row(row, low, t, first, choice);
        low = t + 1;
        first = choice;
    }
}

/* A group of sorted samples, [begin, end). */
struct group {
    size_t begin;
    size_t end;
};

/* Returns the quantile p of a group. */
static double edge(const double *sorted, struct group group, double p)
{
    return fth_quantile_sorted(sorted + group.begin, group.end - group.begin, p);
}

/* Returns the number of samples that are at most `value`. */
static size_t count_up_to(const double *sorted, size_t count, double value)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The central 90 % of a group, between its 5 % and 95 % quantiles. The spread is at least `grid`,
 * because a level without noise is still as wide as the step between possible values. Callers pass
 * half the minimum gap. */
struct bulk {
    size_t count;
    double low;
    double high;
    double spread;
};

static struct bulk bulk(const double *sorted, struct group group, double grid)
{
    double low = edge(sorted, group, 0.05);
    double high = edge(sorted, group, 0.95);
    return (struct bulk){group.end - group.begin, low, high, fmax(high - low, grid)};
}

/* Returns whether two adjacent groups are separated. */
static bool separated(const double *sorted, struct group low_group, struct group high_group,
                      const struct fth_cluster_options *options)
{
    struct bulk low = bulk(sorted, low_group, options->min_gap / 2);
    struct bulk high = bulk(sorted, high_group, options->min_gap / 2);
    double gap = high.low - low.high;
    double min_gap =
        fmax(options->min_gap, options->min_gap_relative * fabs(edge(sorted, low_group, 0.5)));
    double chance = SMALL_GROUP_SCALE / (double)(low.count < high.count ? low.count : high.count);
    double ratio = gap / sqrt(low.spread * high.spread);
    if (gap < min_gap || ratio < MIN_SEPARATION + chance * chance)
        return false;
    size_t strays =
        count_up_to(sorted + low_group.begin, low.count + high.count, high.low - gap / 4) -
        count_up_to(sorted + low_group.begin, low.count + high.count, low.high + gap / 4);
    double expected =
        fmin((double)low.count / low.spread, (double)high.count / high.spread) * gap / 2;
    return (double)strays + VALLEY_MARGIN <= MAX_VALLEY_DENSITY * expected;
}

/* Merges each group with too few samples into the adjacent group whose median is nearer. Returns
 * the new number of groups. */
static size_t merge_small_groups(const double *sorted, struct group *groups, size_t count,
                                 size_t min_samples)
{
    for (size_t i = 0; i < count && count > 1;) {
        if (groups[i].end - groups[i].begin >= min_samples) {
            i++;
            continue;
        }
        double here = edge(sorted, groups[i], 0.5);
        bool down = i + 1 == count || (i > 0 && here - edge(sorted, groups[i - 1], 0.5) <=
                                                    edge(sorted, groups[i + 1], 0.5) - here);
        size_t keep = down ? i - 1 : i;
        groups[keep].end = groups[keep + 1].end;
        memmove(&groups[keep + 1], &groups[keep + 2], (count - keep - 2) * sizeof *groups);
        count--;
        i = 0;
    }
    return count;
}

static bool all_separated(const double *sorted, const struct group *groups, size_t count,
                          const struct fth_cluster_options *options)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (!separated(sorted, groups[i], groups[i + 1], options))
            return false;
    return true;
}

/* Computes the best partition for each k. Stores the one with the most separated groups in `groups`
 * and returns the number of its groups. */
static size_t choose_groups(const double *sorted, size_t count, const struct levels *levels,
                            const struct fth_cluster_options *options, double *rows,
                            uint32_t *choices, size_t min_samples,
                            struct group groups[FTH_CLUSTER_MAX])
{
    size_t width = levels->count + 1;
    double *previous = rows;
    double *best = rows + width;
    for (size_t t = 0; t < width; t++)
        previous[t] = t == 0 ? INFINITY : cost(levels, 0, t);
    groups[0] = (struct group){0, count};
    size_t chosen = 1;
    for (size_t k = 2; k <= options->max_clusters && k <= levels->count; k++) {
        uint32_t *choice = choices + (k - 2) * width;
        for (size_t t = 0; t < k; t++)
            best[t] = INFINITY;
        fill_row(&(struct row){levels, previous, best, choice}, k, width, k - 1, levels->count - 1);
        double *swap = previous;
        previous = best;
        best = swap;

        struct group trial[FTH_CLUSTER_MAX];
        size_t end = levels->count;
        for (size_t i = k; i-- > 0;) {
            size_t begin = i > 0 ? choices[(i - 1) * width + end] : 0;
            trial[i] = (struct group){levels->samples[begin], levels->samples[end]};
            end = begin;
        }
        size_t left = merge_small_groups(sorted, trial, k, min_samples);
        if (left > chosen && all_separated(sorted, trial, left, options)) {
            memcpy(groups, trial, left * sizeof *groups);
            chosen = left;
        }
    }
    return chosen;
}

/* Returns the minimum number of samples of a plateau. The number of stray samples, a share of
 * `min_share`, exceeds it only by chance: it is the expected number plus 2 standard deviations. */
static size_t min_plateau_samples(size_t count, double min_share)
{
    double expected = min_share * (double)count;
    size_t min_samples = (size_t)ceil(expected + 2 * sqrt(expected));
    return min_samples > MIN_PLATEAU_SAMPLES ? min_samples : MIN_PLATEAU_SAMPLES;
}

/* Returns the value above which samples are outliers; see the top of the file. */
static double outlier_fence(const double *sorted, size_t count, size_t min_samples)
{
    double high = sorted[count > min_samples ? count - min_samples : 0];
    return high + fmax(high - sorted[0], 0.5 * fabs(high));
}

static void describe(const double *sorted, size_t count, const struct group *groups,
                     struct fth_clusters *clusters)
{
    for (size_t i = 0; i + 1 < clusters->count; i++) {
        double low = edge(sorted, groups[i], 0.95);
        clusters->thresholds[i] = low + (edge(sorted, groups[i + 1], 0.05) - low) / 2;
    }
    /* Each sample is assigned by the thresholds, so that counts and thresholds are consistent. */
    size_t begin = 0;
    for (size_t i = 0; i < clusters->count; i++) {
        struct group group = {begin, i + 1 < clusters->count
                                         ? count_up_to(sorted, count, clusters->thresholds[i])
                                         : count - clusters->outliers};
        clusters->items[i] = (struct fth_cluster){
            .count = group.end - group.begin,
            .share = (double)(group.end - group.begin) / (double)count,
            .median = edge(sorted, group, 0.5),
            .min = sorted[group.begin],
            .max = sorted[group.end - 1],
            .p05 = edge(sorted, group, 0.05),
            .p95 = edge(sorted, group, 0.95),
        };
        begin = group.end;
    }
}

/* Replaces members that are 0 by their defaults and checks the result. */
static enum fth_status apply_defaults(const struct fth_cluster_options *given,
                                      struct fth_cluster_options *options, struct fth_error *error)
{
    *options = given ? *given : (struct fth_cluster_options){0};
    if (options->max_clusters == 0)
        options->max_clusters = FTH_CLUSTER_MAX;
    if (options->min_share == 0)
        options->min_share = 0.02;
    if (options->min_gap == 0)
        options->min_gap = 2;
    if (options->min_gap_relative == 0)
        options->min_gap_relative = 0.02;
    if (options->max_clusters > FTH_CLUSTER_MAX)
        return fth_fail(error, FTH_INVALID, OPERATION, "max_clusters",
                        "%zu exceeds the maximum of %d", options->max_clusters, FTH_CLUSTER_MAX);
    if (!(options->min_share > 0 && options->min_share < 0.5))
        return fth_fail(error, FTH_INVALID, OPERATION, "min_share", "%g is not between 0 and 0.5",
                        options->min_share);
    if (!(options->min_gap > 0 && options->min_gap_relative > 0))
        return fth_fail(error, FTH_INVALID, OPERATION, "min_gap", "a gap must be positive");
    return FTH_OK;
}

static enum fth_status cluster(const double *sorted, size_t count,
                               const struct fth_cluster_options *given,
                               struct fth_clusters *clusters, struct fth_error *error)
{
    struct fth_cluster_options options;
    enum fth_status status = FTH_OK;
    FTH_TRY(apply_defaults(given, &options, error));
    size_t min_samples = min_plateau_samples(count, options.min_share);
    double fence = outlier_fence(sorted, count, min_samples);
    size_t inside = count_up_to(sorted, count, fence);

    struct fth_arena arena = {NULL};
    struct levels levels = {fth_arena_array(&arena, inside + 1, sizeof(size_t)),
                            fth_arena_array(&arena, inside + 1, sizeof(double)),
                            fth_arena_array(&arena, inside + 1, sizeof(double)), 0};
    if (!levels.samples || !levels.sum || !levels.square) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    double origin = fth_quantile_sorted(sorted, inside, 0.5);
    for (size_t i = 0, end; i < inside; i = end) {
        for (end = i + 1; end < inside && sorted[end] == sorted[i];)
            end++;
        double value = sorted[i] - origin;
        size_t at = levels.count++;
        levels.samples[at + 1] = end;
        levels.sum[at + 1] = levels.sum[at] + (double)(end - i) * value;
        levels.square[at + 1] = levels.square[at] + (double)(end - i) * value * value;
    }
    double *rows = fth_arena_array(&arena, 2 * (levels.count + 1), sizeof *rows);
    uint32_t *choices =
        fth_arena_array(&arena, options.max_clusters * (levels.count + 1), sizeof *choices);
    if (!rows || !choices || levels.count >= UINT32_MAX) {
        status = fth_no_memory(error, OPERATION, NULL);
        goto out;
    }
    struct group groups[FTH_CLUSTER_MAX];
    struct fth_clusters found = {.fence = fence, .outliers = count - inside};
    found.count =
        choose_groups(sorted, inside, &levels, &options, rows, choices, min_samples, groups);
    describe(sorted, count, groups, &found);
    *clusters = found;
out:
    fth_arena_fini(&arena);
    return status;
}

enum fth_status fth_cluster_f64(const double *samples, size_t count,
                                const struct fth_cluster_options *options,
                                struct fth_clusters *clusters, struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status = fth_sorted_f64(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        status = cluster(sorted, count, options, clusters, error);
    free(sorted);
    return status;
}

enum fth_status fth_cluster_u32(const uint32_t *samples, size_t count,
                                const struct fth_cluster_options *options,
                                struct fth_clusters *clusters, struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status = fth_sorted_u32(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        status = cluster(sorted, count, options, clusters, error);
    free(sorted);
    return status;
}

size_t fth_cluster_of(const struct fth_clusters *clusters, double sample)
{
    if (sample > clusters->fence)
        return clusters->count;
    size_t at = 0;
    while (at + 1 < clusters->count && sample > clusters->thresholds[at])
        at++;
    return at;
}
