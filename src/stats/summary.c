/* What are the location and the spread of a set of samples? The answers are order statistics of a
 * sorted copy.
 *
 * Quantiles are type 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The
 * American Statistician 50 (1996). The median absolute deviation is F. R. Hampel's, "The Influence
 * Curve and Its Role in Robust Estimation", JASA 69 (1974). It remains bounded as long as fewer
 * than half of the samples are arbitrary. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "summarise samples"

double fth_quantile_sorted(const double *sorted, size_t count, double p)
{
    double place = (double)(count - 1) * p;
    size_t below = (size_t)place;
    if (below >= count - 1)
        return sorted[count - 1];
    double part = place - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/* Returns the median of the distances from `median`. The distances increase from the middle
 * outwards on both sides, so two indices that move outwards visit them in ascending order. */
static double mad_sorted(const double *sorted, size_t count, double median)
{
    size_t right = 0;
    for (size_t low = 0, high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < median)
            low = middle + 1;
        else
            high = middle;
        right = low;
    }
    size_t left = right;
    double lower = 0, upper = 0; /* the distances of rank floor and ceil of (count - 1) / 2 */
    for (size_t i = 0; i <= count / 2; i++) {
        bool from_left =
            right == count || (left > 0 && median - sorted[left - 1] <= sorted[right] - median);
        double distance = from_left ? median - sorted[--left] : sorted[right++] - median;
        if (i == (count - 1) / 2)
            lower = distance;
        upper = distance;
    }
    return lower + (upper - lower) / 2;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static void summarise(const double *sorted, size_t count, struct fth_summary *summary)
{
    double median = fth_quantile_sorted(sorted, count, 0.5);
    *summary = (struct fth_summary){
        .count = count,
        .min = sorted[0],
        .max = sorted[count - 1],
        .mean = mean(sorted, count),
        .median = median,
        .p05 = fth_quantile_sorted(sorted, count, 0.05),
        .p95 = fth_quantile_sorted(sorted, count, 0.95),
        .mad = mad_sorted(sorted, count, median),
    };
}

enum fth_status fth_summary_f64(const double *samples, size_t count, struct fth_summary *summary,
                                struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status = fth_sorted_f64(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        summarise(sorted, count, summary);
    free(sorted);
    return status;
}

enum fth_status fth_summary_u32(const uint32_t *samples, size_t count, struct fth_summary *summary,
                                struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status = fth_sorted_u32(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        summarise(sorted, count, summary);
    free(sorted);
    return status;
}

enum fth_status fth_quantile_f64(const double *samples, size_t count, double p, double *quantile,
                                 struct fth_error *error)
{
    if (!(p >= 0 && p <= 1))
        return fth_fail(error, FTH_INVALID, OPERATION, "p", "%g is not between 0 and 1", p);
    double *sorted = NULL;
    enum fth_status status = fth_sorted_f64(samples, count, OPERATION, &sorted, error);
    if (status == FTH_OK)
        *quantile = fth_quantile_sorted(sorted, count, p);
    free(sorted);
    return status;
}

enum fth_status fth_core_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                  struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_u32(samples, count, &summary, error));
    const double reach = fmax(2, 3 * summary.mad);
    double sum = 0;
    size_t within = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(samples[i] - summary.median) <= reach) {
            sum += samples[i];
            within++;
        }
    *mean = sum / (double)within;
    return FTH_OK;
}

enum fth_status fth_clean_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                   struct fth_error *error)
{
    double *sorted = NULL, sum = 0;
    FTH_TRY(fth_sorted_u32(samples, count, "compute an undisturbed mean", &sorted, error));
    const double quartile = fth_quantile_sorted(sorted, count, 0.25);
    const double below = quartile - fth_quantile_sorted(sorted, count, 0.05);
    size_t kept = 0;
    /* If only about a quarter of the samples is undisturbed, the quartile is at their upper end and
     * the first limit includes disturbed samples. A gap therefore also ends the kept samples. */
    while (kept < count && sorted[kept] <= quartile + 4 * below + 1 &&
           (sorted[kept] <= quartile || sorted[kept] - sorted[kept - 1] <= below + 1))
        sum += sorted[kept++];
    *mean = sum / (double)kept;
    free(sorted);
    return FTH_OK;
}
