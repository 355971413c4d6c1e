/* Which modes does a distribution have if they are wide and touch each other, as the latencies of
 * near and far memory do? plateaus.c separates groups only at an empty gap. This file splits at a
 * valley: a point where the density is less than a quarter of the lower of the highest peaks on its
 * two sides.
 *
 *      ▁▄▇█▆▂▁▁▁▁▁▁▃▆█▇▄▂▁▁▁
 *             ^^^^
 *            valley
 *
 * The density is a histogram with cells of 1.5 % of the median, smoothed over three cells. The
 * method and its constants are heuristic; docs/methods.md, "Memory", describes their use. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find modes";
static const double cell_share = 0.015;      /* width of a cell / median of the samples */
static const double max_valley_ratio = 0.25; /* density in a valley / density of the lower peak */
/* Space for the histogram. Samples up to 3 medians need about 200 cells of 1.5 % of the median. */
enum { MAX_CELLS = 4096 };

struct histogram {
    double cells[MAX_CELLS];
    size_t count;
    double low, width; /* lower end of cell 0 and width of each cell, in the unit of the samples */
};

static void make_histogram(const double *sorted, size_t count, struct histogram *histogram)
{
    double median = fth_quantile_sorted(sorted, count, 0.5);
    /* The histogram omits samples above 3 medians, which would only make it long. */
    double high = fmin(sorted[count - 1], 3 * median);
    histogram->width = fmax(1, cell_share * fabs(median));
    histogram->low = sorted[0] - histogram->width;
    double cells = ceil((high - histogram->low) / histogram->width) + 2;
    histogram->count = cells < MAX_CELLS ? (size_t)cells : MAX_CELLS;
    double raw[MAX_CELLS] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t cell = (size_t)((sorted[i] - histogram->low) / histogram->width);
        if (cell < histogram->count)
            raw[cell]++;
    }
    for (size_t i = 0; i < histogram->count; i++)
        histogram->cells[i] =
            (raw[i] * 2 + (i ? raw[i - 1] : 0) + (i + 1 < histogram->count ? raw[i + 1] : 0)) / 4;
}

/* Finds the deepest valley in the cells [from, to) with at least `min_samples` samples on each
 * side. Returns false if there is none. */
static bool find_valley(const struct histogram *histogram, size_t from, size_t to,
                        double min_samples, size_t *valley)
{
    double best = max_valley_ratio, left_sum = 0, left_peak = 0, total = 0;
    bool found = false;
    for (size_t i = from; i < to; i++)
        total += histogram->cells[i];
    for (size_t i = from; i + 1 < to; i++) {
        double right_peak = 0;
        left_sum += histogram->cells[i];
        left_peak = fmax(left_peak, histogram->cells[i]);
        if (left_sum < min_samples || total - left_sum < min_samples)
            continue;
        for (size_t j = i + 1; j < to; j++)
            right_peak = fmax(right_peak, histogram->cells[j]);
        double depth = histogram->cells[i] / fmin(left_peak, right_peak);
        if (depth < best) {
            best = depth;
            *valley = i;
            found = true;
        }
    }
    return found;
}

/* Splits the cells [from, to) at the deepest valley and then each side recursively. Appends the
 * thresholds, unsorted, to `clusters`. */
static void split(const struct histogram *histogram, size_t from, size_t to, double min_samples,
                  struct fth_clusters *clusters)
{
    size_t valley;
    if (clusters->count == FTH_CLUSTER_MAX ||
        !find_valley(histogram, from, to, min_samples, &valley))
        return;
    clusters->thresholds[clusters->count++ - 1] =
        histogram->low + ((double)valley + 0.5) * histogram->width;
    split(histogram, from, valley + 1, min_samples, clusters);
    split(histogram, valley + 1, to, min_samples, clusters);
}

/* Computes the figures of each mode from the sorted samples and the thresholds. */
static void describe_modes(const double *sorted, size_t count, struct fth_clusters *clusters)
{
    size_t begin = 0;
    for (size_t i = 0; i < clusters->count; i++) {
        size_t end = begin;
        while (end < count && (i + 1 == clusters->count || sorted[end] <= clusters->thresholds[i]))
            end++;
        const double *mode = sorted + begin;
        size_t size = end - begin;
        clusters->items[i] = (struct fth_cluster){.count = size,
                                                  .share = (double)size / (double)count,
                                                  .median = fth_quantile_sorted(mode, size, 0.5),
                                                  .min = mode[0],
                                                  .max = mode[size - 1],
                                                  .p05 = fth_quantile_sorted(mode, size, 0.05),
                                                  .p95 = fth_quantile_sorted(mode, size, 0.95)};
        begin = end;
    }
}

enum fth_status fth_modes_u32(const uint32_t *samples, size_t count, double min_share,
                              struct fth_clusters *clusters, struct fth_error *error)
{
    double *sorted = NULL, scratch[FTH_COUNT(clusters->thresholds)];
    FTH_TRY(fth_sorted_u32(samples, count, operation, &sorted, error));
    struct histogram *histogram = calloc(1, sizeof *histogram);
    if (!histogram) {
        free(sorted);
        return fth_no_memory(error, operation, NULL);
    }
    *clusters = (struct fth_clusters){.count = 1, .fence = INFINITY};
    make_histogram(sorted, count, histogram);
    split(histogram, 0, histogram->count, min_share * (double)count, clusters);
    fth_sort_f64(clusters->thresholds, scratch, clusters->count - 1);
    describe_modes(sorted, count, clusters);
    free(sorted);
    free(histogram);
    return FTH_OK;
}
