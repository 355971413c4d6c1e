/* Modes of a distribution that are wide against what lies between them, as the latencies of memory
 * that is near and far: they are told apart where few samples fall, not by an empty gap (which
 * cluster.c asks for).
 *
 *      ▁▄▇█▆▂        ▁▃▆█▇▄▂▁▁▁
 *              ▁▁▁▁              a valley: less than a quarter of the lower of the peaks beside it
 *
 * The density is a histogram of cells of 1.5 % of the median, smoothed over three. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find modes";
static const double cell_part = 0.015, deepest = 0.25;
enum { MAX_CELLS = 4096 };

struct histogram {
    double cells[MAX_CELLS];
    size_t count;
    double low, width;
};

static void make_histogram(const double *sorted, size_t count, struct histogram *histogram)
{
    double median = fth_quantile_sorted(sorted, count, 0.5);
    /* What lies far out would only make the histogram long. */
    double high = fmin(sorted[count - 1], 3 * median);
    histogram->width = fmax(1, cell_part * fabs(median));
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

/* The deepest valley within cells [from, to) with enough samples on either side; false: none. */
static bool find_valley(const struct histogram *histogram, size_t from, size_t to, double min,
                        size_t *valley)
{
    double best = deepest, left_sum = 0, left_peak = 0, total = 0;
    bool found = false;
    for (size_t i = from; i < to; i++)
        total += histogram->cells[i];
    for (size_t i = from; i + 1 < to; i++) {
        double right_peak = 0;
        left_sum += histogram->cells[i];
        left_peak = fmax(left_peak, histogram->cells[i]);
        if (left_sum < min || total - left_sum < min)
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

/* Splits at the deepest valleys, then each side again. */
static void split(const struct histogram *histogram, size_t from, size_t to, double min,
                  struct fth_clusters *clusters)
{
    size_t valley;
    if (clusters->count == FTH_CLUSTER_MAX || !find_valley(histogram, from, to, min, &valley))
        return;
    clusters->thresholds[clusters->count++ - 1] =
        histogram->low + ((double)valley + 0.5) * histogram->width;
    split(histogram, from, valley + 1, min, clusters);
    split(histogram, valley + 1, to, min, clusters);
}

enum fth_status fth_modes_u32(const uint32_t *samples, size_t count, double min_share,
                              struct fth_clusters *clusters, struct fth_error *error)
{
    double *sorted = NULL;
    struct histogram *histogram = calloc(1, sizeof *histogram);
    if (!histogram)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    enum fth_status status = fth_sorted_u32(samples, count, operation, &sorted, error);
    if (status == FTH_OK) {
        *clusters = (struct fth_clusters){.count = 1, .fence = INFINITY};
        make_histogram(sorted, count, histogram);
        split(histogram, 0, histogram->count, min_share * (double)count, clusters);
        double scratch[FTH_COUNT(clusters->thresholds)];
        fth_sort_f64(clusters->thresholds, scratch, clusters->count - 1);
        size_t begin = 0;
        for (size_t i = 0; i < clusters->count; i++) {
            size_t end = begin;
            while (end < count &&
                   (i + 1 == clusters->count || sorted[end] <= clusters->thresholds[i]))
                end++;
            const double *mode = sorted + begin;
            size_t size = end - begin;
            clusters->items[i] =
                (struct fth_cluster){.count = size,
                                     .share = (double)size / (double)count,
                                     .median = fth_quantile_sorted(mode, size, 0.5),
                                     .min = mode[0],
                                     .max = mode[size - 1],
                                     .p05 = fth_quantile_sorted(mode, size, 0.05),
                                     .p95 = fth_quantile_sorted(mode, size, 0.95)};
            begin = end;
        }
    }
    free(sorted);
    free(histogram);
    return status;
}
