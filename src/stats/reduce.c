/* A row of samples, one number: what becomes of the latencies of all hops at one footprint.
 *
 * The geometric reduction is that of T. Grundy, R. Killick and G. Mihaylov, "High-dimensional
 * changepoint detection via a geometrically inspired mapping", Statistics and Computing 30 (2020),
 * as D. Größler used it for cache sizes (thesis, 3.3.2): the row is a point with a coordinate a
 * hop, and its number is the distance from a reference point, here the one with the least sample
 * everywhere. The first misses are few and far out; squared, they move the distance much more than
 * they move the mean (thesis, figures 4.5 and 4.6). We divide by the root of the hops, which makes
 * it a number of the samples' unit that does not grow with the row.
 *
 * The same square lets one interrupt of ten thousand cycles stand above a thousand misses. So
 * samples count up to a cap only: half as much again above the reference as what all but
 * `outlier_share` of them keep below, and a tenth of the reference at least. A jump that few rows
 * show is cut too, but stays the highest thing there is.
 *
 * Where a threshold between hits and misses is known, the share above it is the better number: to
 * it every outlier is one miss. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "reduce samples"

enum fth_status fth_reduction_geometric(const uint32_t *samples, size_t count, double outlier_share,
                                        struct fth_reduction *reduction, struct fth_error *error)
{
    if (!(outlier_share >= 0 && outlier_share < 0.5))
        return fth_fail(error, FTH_INVALID, OPERATION, "outlier_share", "%g is not from 0 to 0.5",
                        outlier_share);
    double *sorted = NULL;
    enum fth_status status = fth_sorted_u32(samples, count, OPERATION, &sorted, error);
    if (status != FTH_OK)
        return status;
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
        return fth_fail(error, FTH_NO_MEMORY, OPERATION, NULL, "out of memory");
    for (size_t i = 0; i < rows; i++)
        series[i] = fth_reduce_row(reduction, samples + i * columns, columns, scratch);
    free(scratch);
    return FTH_OK;
}
