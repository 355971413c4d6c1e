/* Do two samples come from the same distribution? This is the two-sample Kolmogorov-Smirnov test: D
 * is the largest distance between their empirical distribution functions (N. Smirnov, 1939).
 *
 * Small samples: the p-value is exact. The pooled sample in ascending order is a path on a grid:
 * one step to the right for each value of the first sample, one step up for each value of the
 * second. If both have one distribution, every order is equally likely. D >= d if the path leaves a
 * band around the diagonal. The recursion below computes the fraction of such paths.
 *
 *      n ┌───────/──●    U(i, j): the fraction of paths to (i, j) that have left the band
 *        │     /  / │    U(i, j) = 1                                        outside,
 *        │   / ┌─/  │            = i/(i+j) U(i-1, j) + j/(i+j) U(i, j-1)    inside.
 *        │ / ┌─┘    │
 *      0 ●───┘──────┘    Within a run of equal values, only the last point is compared with the
 *        0          m    band. This makes the test exact in the presence of ties.
 *
 * J. L. Hodges, "The significance probability of the Smirnov two-sample test", Arkiv för Matematik
 * 3 (1958); G. Schröer and D. Trenkler, "Exact and randomization distributions of
 * Kolmogorov-Smirnov tests two or three samples", Computational Statistics & Data Analysis 20
 * (1995). The recursion contains no subtractions, so p-values as small as 1e-40 are still accurate.
 *
 * Large samples: the limit distribution with the correction of M. A. Stephens, "Use of the
 * Kolmogorov-Smirnov, Cramér-von Mises and related statistics without extensive tables", JRSS B 32
 * (1970). With ties it is conservative.
 *
 * Assumption: the values within each sample are independent. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "compare two samples"
/* Maximum number of steps of the exact recursion, about half a millisecond. The limit distribution
 * is accurate to a few per cent from about 50 values per sample. */
#define EXACT_LIMIT 100000

double fth_kolmogorov_tail(double lambda)
{
    if (lambda <= 0)
        return 1;
    if (lambda < 1.18) {
        /* The other form of the theta function, which converges fast for small lambda. */
        const double pi = 3.14159265358979323846;
        double x = exp(-pi * pi / (8 * lambda * lambda));
        double sum = x + pow(x, 9) + pow(x, 25) + pow(x, 49);
        return 1 - sqrt(2 * pi) / lambda * sum;
    }
    double x = exp(-2 * lambda * lambda);
    return 2 * (x - pow(x, 4) + pow(x, 9) - pow(x, 16));
}

/* Returns the factor from D to the argument of Kolmogorov's distribution, after Stephens. */
static double effective(size_t m, size_t n)
{
    double root = sqrt((double)m * (double)n / ((double)m + (double)n));
    return root + 0.12 + 0.11 / root;
}

/* Returns P(D >= distance / (m n)). tie_end[k] is true if the first k values of the pooled sample
 * do not end within a run of equal values. `row` is scratch space for n + 1 values. */
static double exact_tail(size_t m, size_t n, uint64_t distance, const bool *tie_end, double *row)
{
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            uint64_t right = (uint64_t)i * n;
            uint64_t up = (uint64_t)j * m;
            bool outside = (right > up ? right - up : up - right) >= distance && tie_end[i + j];
            double from_left = i > 0 ? (double)i / (double)(i + j) * row[j] : 0;
            double from_below = j > 0 ? (double)j / (double)(i + j) * row[j - 1] : 0;
            row[j] = outside ? 1 : from_left + from_below;
        }
    }
    return row[n];
}

/* Returns the largest distance times m n. Sets tie_end[k] (see exact_tail), which is zero before;
 * `tie_end` may be NULL. */
static uint64_t largest_distance(const double *a, size_t m, const double *b, size_t n,
                                 bool *tie_end)
{
    uint64_t largest = 0;
    size_t i = 0, j = 0;
    while (i < m || j < n) {
        double value = j == n || (i < m && a[i] <= b[j]) ? a[i] : b[j];
        while (i < m && a[i] == value)
            i++;
        while (j < n && b[j] == value)
            j++;
        uint64_t right = (uint64_t)i * n;
        uint64_t up = (uint64_t)j * m;
        uint64_t distance = right > up ? right - up : up - right;
        if (distance > largest)
            largest = distance;
        if (tie_end)
            tie_end[i + j] = true;
    }
    return largest;
}

enum fth_status fth_ks_test(const double *a, size_t m, const double *b, size_t n,
                            struct fth_ks *result, struct fth_error *error)
{
    if (m == 0 || n == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no values");
    if (m > UINT32_MAX || n > UINT32_MAX)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "more than 2^32 - 1 values");
    enum fth_status status = FTH_OK;
    bool exact = (uint64_t)m * n <= EXACT_LIMIT;
    double *sorted_a = NULL, *sorted_b = NULL, *row = NULL;
    bool *tie_end = NULL;
    if ((status = fth_sorted_f64(a, m, OPERATION, &sorted_a, error)) != FTH_OK ||
        (status = fth_sorted_f64(b, n, OPERATION, &sorted_b, error)) != FTH_OK)
        goto out;
    if (exact) {
        row = calloc(n + 1, sizeof *row);
        tie_end = calloc(m + n + 1, sizeof *tie_end);
        if (!row || !tie_end) {
            status = fth_no_memory(error, OPERATION, NULL);
            goto out;
        }
    }
    uint64_t distance = largest_distance(sorted_a, m, sorted_b, n, tie_end);
    double d = (double)distance / ((double)m * (double)n);
    double p = 1;
    if (exact && distance > 0)
        p = exact_tail(m, n, distance, tie_end, row);
    else if (!exact)
        p = fth_kolmogorov_tail(effective(m, n) * d);
    *result = (struct fth_ks){.d = d, .p = fmin(p, 1), .exact = exact};
out:
    free(sorted_a);
    free(sorted_b);
    free(row);
    free(tie_end);
    return status;
}
