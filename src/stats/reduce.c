/* How are the latencies of all hops at one footprint (one row) reduced to one number?
 *
 * The geometric reduction (FTH_REDUCE_DISTANCE) is that of T. Grundy, R. Killick and G. Mihaylov,
 * "High-dimensional changepoint detection via a geometrically inspired mapping", Statistics and
 * Computing 30 (2020), as D. Größler applied it to cache sizes (thesis, 3.3.2). A row is a point
 * with one coordinate per hop. Its number is the distance from a reference point. Here, each
 * coordinate of the reference point is the smallest of all samples. The first misses are few and
 * much slower than the hits. Because they are squared, they increase the distance much more than
 * the mean (thesis, figures 4.5 and 4.6). The distance is divided by the square root of the number
 * of hops, so it has the unit of the samples and does not grow with the length of the row.
 *
 * For the same reason, one interrupt of ten thousand cycles would outweigh a thousand misses.
 * Samples are therefore limited to a cap. With q the quantile at 1 - outlier_share, the cap exceeds
 * the reference by 1.5 (q - reference), and by at least a tenth of the reference plus 1. A jump
 * that occurs in few rows is capped as well, but it remains the largest value.
 *
 * If a threshold between hits and misses is known, the fraction of samples above it
 * (FTH_REDUCE_ABOVE) is better: an outlier then counts as only one miss. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "reduce samples"

enum fth_status fth_reduction_geometric(const uint32_t *samples, size_t count, double outlier_share,
                                        struct fth_reduction *reduction, struct fth_error *error)
{
    if (!(outlier_share >= 0 && outlier_share < 0.5))
        return fth_fail(error, FTH_INVALID, OPERATION, "outlier_share",
                        "%g is not at least 0 and below 0.5", outlier_share);
    double *sorted = NULL;
    FTH_TRY(fth_sorted_u32(samples, count, OPERATION, &sorted, error));
    double reference = sorted[0];
    double above = fth_quantile_sorted(sorted, count, 1 - outlier_share) - reference;
    *reduction = (struct fth_reduction){
        .kind = FTH_REDUCE_DISTANCE,
        .reference = reference,
        .cap = outlier_share > 0 ? reference + fmax(1.5 * above, 0.1 * reference + 1) : INFINITY,
    };
    free(sorted);
    return FTH_OK;
}

double fth_reduce_row(const struct fth_reduction *reduction, const uint32_t *row, size_t columns,
                      double *scratch)
{
    double sum = 0;
    switch (reduction->kind) {
    case FTH_REDUCE_MEAN:
        for (size_t i = 0; i < columns; i++)
            sum += row[i];
        return sum / (double)columns;
    case FTH_REDUCE_MEDIAN:
        for (size_t i = 0; i < columns; i++)
            scratch[i] = row[i];
        fth_sort_f64(scratch, scratch + columns, columns);
        return fth_quantile_sorted(scratch, columns, 0.5);
    case FTH_REDUCE_DISTANCE:
        for (size_t i = 0; i < columns; i++) {
            double distance = fmin(row[i], reduction->cap) - reduction->reference;
            sum += distance * distance;
        }
        return sqrt(sum / (double)columns);
    case FTH_REDUCE_ABOVE:
        for (size_t i = 0; i < columns; i++)
            sum += row[i] > reduction->threshold;
        return sum / (double)columns;
    }
    return NAN;
}

enum fth_status fth_reduce_u32(const uint32_t *samples, size_t rows, size_t columns,
                               const struct fth_reduction *reduction, double *series,
                               struct fth_error *error)
{
    if (rows == 0 || columns == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no values");
    double *scratch = calloc(columns, 2 * sizeof *scratch);
    if (!scratch)
        return fth_no_memory(error, OPERATION, NULL);
    for (size_t i = 0; i < rows; i++)
        series[i] = fth_reduce_row(reduction, samples + i * columns, columns, scratch);
    free(scratch);
    return FTH_OK;
}
