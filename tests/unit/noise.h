/* Helpers for tests that need noise: seeded random numbers that resemble the latencies of a GPU,
 * comparison within a tolerance, and a reference implementation of the median. */
#ifndef FTH_TESTS_NOISE_H
#define FTH_TESTS_NOISE_H

#include "base/base.h"
#include "check.h"

#include <math.h>

/* A random integer from -width to width; all are equally likely. */
static inline double jitter(struct fth_rng *rng, unsigned width)
{
    return (double)fth_rng_below(rng, 2 * width + 1) - width;
}

/* Normal distribution with mean 0 and standard deviation 1 (Box-Muller transform). */
static inline double normal(struct fth_rng *rng)
{
    double radius = sqrt(-2 * log(1 - fth_rng_unit(rng)));
    return radius * cos(6.283185307179586 * fth_rng_unit(rng));
}

/* Exponential distribution with mean 1. */
static inline double exponential(struct fth_rng *rng)
{
    return -log(1 - fth_rng_unit(rng));
}

/* A latency of `level` cycles with a jitter of ±2 cycles. One in 100 takes ten times as long. */
static inline uint32_t latency(struct fth_rng *rng, double level)
{
    double cycles = level + jitter(rng, 2);
    return (uint32_t)(fth_rng_below(rng, 100) == 0 ? 10 * cycles : cycles);
}

static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g to within %g", value, expected, tolerance);
}

/* Returns the value at index `rank` of the sorted values, without sorting: counts the smaller
 * values for each one. */
static inline double value_at_rank(const double *values, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            below += values[j] < values[i];
            equal += values[j] == values[i];
        }
        if (below <= rank && rank < below + equal)
            return values[i];
    }
    fail();
    return NAN;
}

/* Reference implementation of the median, in O(count²). */
static inline double slow_median(const double *values, size_t count)
{
    return (value_at_rank(values, count, (count - 1) / 2) +
            value_at_rank(values, count, count / 2)) /
           2;
}

#endif
