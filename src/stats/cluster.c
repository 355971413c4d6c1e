/* Plateaus: which levels a heap of latencies has, and where to cut between them.
 *
 * The partition of sorted numbers into k groups with the least squared deviation is found exactly
 * by dynamic programming, for every k up to a maximum (W. D. Fisher, "On Grouping for Maximum
 * Homogeneity", JASA 53, 1958; H. Wang and M. Song, "Ckmeans.1d.dp", The R Journal 3, 2011, with
 * the divide and conquer over a monotone choice that makes it O(k u log u)). What k-means does not
 * say is k. We take the partition with the most groups of which each neighbouring pair is
 * *separated*:
 *
 *       p05   p95            p05      p95
 *        |▃▇█▅▂|  ← gap →     |▂▄▆█▇▃▁|          gap >= c √(spread spread')
 *        ←spread→             ←spread'→
 *
 * A single mode, however wide or skewed, has no gap inside: the pieces of a uniform one have a gap
 * of a tenth of their spread, those of an exponential tail less. Quantiles as edges let each group
 * have 5 % of strays. The geometric mean of the spreads lets a sharp level stand beside a wide one.
 *
 * Outliers are few and far above everything: too few for a plateau, and above the sample that
 * leaves so many by half its value and by the range below it. They are put aside before anything
 * else, since squared deviations would be all about them.
 *
 * Assumed: levels differ by more than the noise on each is wide; noise is independent of the
 * level's share. Bumps that touch are one plateau; bumps with an empty valley of half their width
 * are several. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "find plateaus"

/* The gap between two plateaus in units of their spread (c above). Between the pieces of one mode
 * it is 0.1; for two normal ones it asks for a distance of 4.9 standard deviations. */
#define MIN_SEPARATION 0.5
/* Few samples leave gaps by chance: the gap asked for grows by the square of this over the size of
 * the smaller group. Found by simulation, see tests/unit/test_plateaus.c. */
#define SMALL_SAMPLE 8.0
/* Fewer samples than these are no plateau, whatever min_share says. */
#define FEWEST 4
/* How empty the middle of a gap is, at most, in units of the density of the thinner neighbour.
 * Without this a sharp level with a long flat tail would be two. */
#define MAX_VALLEY 0.5
/* That nobody stands there tells nothing where only a few would: as many are added to the count. */
#define VALLEY_CHANCE 2.0

/* Distinct values, ascending, as running sums over the samples up to each. */
struct levels {
    size_t *samples;
    double *sum;    /* of (value - origin) */
    double *square; /* of (value - origin)² */
    size_t count;
};

/* The squared deviation of levels[from .. to) from their mean. */
static double cost(const struct levels *levels, size_t from, size_t to)
{
    double sum = levels->sum[to] - levels->sum[from];
    double squares = levels->square[to] - levels->square[from];
    double samples = (double)(levels->samples[to] - levels->samples[from]);
    return fmax(squares - sum * sum / samples, 0);
}

/* One row of the dynamic programme: row[t] = min over s of previous[s] + cost(s, t), choice[t] the
 * s. The choice does not decrease with t, so that the middle one halves what is left to look at. */
struct row {
    const struct levels *levels;
    const double *previous;
    double *best;
    uint32_t *choice;
};

static void fill(const struct row *row, size_t low, size_t high, size_t first, size_t last)
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
        fill(row, low, t, first, choice);
        low = t + 1;
        first = choice;
    }
}

/* A group of sorted samples, [begin, end). */
struct group {
    size_t begin;
    size_t end;
};

static double edge(const double *sorted, struct group group, double p)
{
    return fth_quantile_sorted(sorted + group.begin, group.end - group.begin, p);
}

static size_t at_most(const double *sorted, size_t count, double value)
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

/* One group's bulk, between its quantiles. A level without noise is as wide as the grid that its
 * numbers stand on, for which half the least gap is taken. */
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

/* How far apart two neighbours are in units of their spread; 0 where they are one plateau. */
static double separation(const double *sorted, struct group low_group, struct group high_group,
                         const struct fth_cluster_options *options)
{
    struct bulk low = bulk(sorted, low_group, options->min_gap / 2);
    struct bulk high = bulk(sorted, high_group, options->min_gap / 2);
    double gap = high.low - low.high;
    double min =
        fmax(options->min_gap, options->min_gap_relative * fabs(edge(sorted, low_group, 0.5)));
    double chance = SMALL_SAMPLE / (double)(low.count < high.count ? low.count : high.count);
    double ratio = gap / sqrt(low.spread * high.spread);
    if (gap < min || ratio < MIN_SEPARATION + chance * chance)
        return 0;
    size_t strays = at_most(sorted + low_group.begin, low.count + high.count, high.low - gap / 4) -
                    at_most(sorted + low_group.begin, low.count + high.count, low.high + gap / 4);
    double expected =
        fmin((double)low.count / low.spread, (double)high.count / high.spread) * gap / 2;
    return (double)strays + VALLEY_CHANCE <= MAX_VALLEY * expected ? ratio : 0;
}

/* Groups with too few samples join the neighbour whose median is nearer. */
static size_t dissolve(const double *sorted, struct group *groups, size_t count, size_t fewest)
{
    for (size_t i = 0; i < count && count > 1;) {
        if (groups[i].end - groups[i].begin >= fewest) {
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

static bool separated(const double *sorted, const struct group *groups, size_t count,
                      const struct fth_cluster_options *options)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (separation(sorted, groups[i], groups[i + 1], options) == 0)
            return false;
    return true;
}

/* Every k in turn; leaves the best groups in `groups` and returns how many. */
static size_t choose(const double *sorted, size_t count, const struct levels *levels,
                     const struct fth_cluster_options *options, double *rows, uint32_t *choices,
                     size_t fewest, struct group groups[FTH_CLUSTER_MAX])
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
        fill(&(struct row){levels, previous, best, choice}, k, width, k - 1, levels->count - 1);
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
        size_t left = dissolve(sorted, trial, k, fewest);
        if (left > chosen && separated(sorted, trial, left, options)) {
            memcpy(groups, trial, left * sizeof *groups);
            chosen = left;
        }
    }
    return chosen;
}

/* The fewest samples of a plateau: more than strays of a share of min_share are, but for 2 of their
 * standard deviations. */
static size_t fewest_samples(size_t count, double min_share)
{
    double expected = min_share * (double)count;
    size_t fewest = (size_t)ceil(expected + 2 * sqrt(expected));
    return fewest > FEWEST ? fewest : FEWEST;
}

/* Above it, samples too few for a plateau are outliers. */
static double outlier_fence(const double *sorted, size_t count, size_t fewest)
{
    double high = sorted[count > fewest ? count - fewest : 0];
    return high + fmax(high - sorted[0], 0.5 * fabs(high));
}

static void describe(const double *sorted, size_t count, const struct group *groups,
                     const struct fth_cluster_options *options, struct fth_clusters *clusters)
{
    for (size_t i = 0; i + 1 < clusters->count; i++) {
        clusters->separations[i] = separation(sorted, groups[i], groups[i + 1], options);
        double low = edge(sorted, groups[i], 0.95);
        clusters->thresholds[i] = low + (edge(sorted, groups[i + 1], 0.05) - low) / 2;
    }
    /* Strays on the wrong side of a threshold change over, so that counts and thresholds agree. */
    size_t begin = 0;
    for (size_t i = 0; i < clusters->count; i++) {
        struct group group = {begin, i + 1 < clusters->count
                                         ? at_most(sorted, count, clusters->thresholds[i])
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

static enum fth_status complete(const struct fth_cluster_options *given,
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
        return fth_fail(error, FTH_INVALID, OPERATION, "max_clusters", "%zu is above %d",
                        options->max_clusters, FTH_CLUSTER_MAX);
    if (!(options->min_share > 0 && options->min_share < 0.5))
        return fth_fail(error, FTH_INVALID, OPERATION, "min_share", "%g is not between 0 and 0.5",
                        options->min_share);
    if (!(options->min_gap > 0 && options->min_gap_relative > 0))
        return fth_fail(error, FTH_INVALID, OPERATION, "min_gap", "a gap is positive");
    return FTH_OK;
}

static enum fth_status cluster(const double *sorted, size_t count,
                               const struct fth_cluster_options *given,
                               struct fth_clusters *clusters, struct fth_error *error)
{
    struct fth_cluster_options options;
    enum fth_status status = complete(given, &options, error);
    if (status != FTH_OK)
        return status;
    size_t fewest = fewest_samples(count, options.min_share);
    double fence = outlier_fence(sorted, count, fewest);
    size_t inside = at_most(sorted, count, fence);

    struct fth_arena arena = {NULL};
    struct levels levels = {fth_arena_array(&arena, inside + 1, sizeof(size_t)),
                            fth_arena_array(&arena, inside + 1, sizeof(double)),
                            fth_arena_array(&arena, inside + 1, sizeof(double)), 0};
    if (!levels.samples || !levels.sum || !levels.square) {
        status = fth_fail(error, FTH_NO_MEMORY, OPERATION, NULL, "out of memory");
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
        status = fth_fail(error, FTH_NO_MEMORY, OPERATION, NULL, "out of memory");
        goto out;
    }
    struct group groups[FTH_CLUSTER_MAX];
    struct fth_clusters found = {.fence = fence, .outliers = count - inside};
    found.count = choose(sorted, inside, &levels, &options, rows, choices, fewest, groups);
    describe(sorted, count, groups, &options, &found);
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

enum fth_status fth_threshold_u32(const uint32_t *samples, size_t count,
                                  const struct fth_cluster_options *options,
                                  struct fth_threshold *threshold, struct fth_error *error)
{
    double *sorted = NULL;
    struct fth_clusters clusters = {0};
    enum fth_status status = fth_sorted_u32(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        status = cluster(sorted, count, options, &clusters, error);
    if (status != FTH_OK)
        goto out;
    if (clusters.count < 2) {
        status = fth_fail(error, FTH_INCONCLUSIVE, "tell hits from misses", NULL,
                          "the samples are one plateau around %g", clusters.items[0].median);
        goto out;
    }
    *threshold = (struct fth_threshold){
        .value = clusters.thresholds[0],
        .low_median = clusters.items[0].median,
        .high_median = edge(sorted, (struct group){clusters.items[0].count, count}, 0.5),
        .low_share = clusters.items[0].share,
        .separation = clusters.separations[0],
    };
out:
    free(sorted);
    return status;
}
