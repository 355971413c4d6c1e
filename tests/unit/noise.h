/* What the tests of stats/ share: seeded noise that looks like a GPU's latencies, comparison within
 * a tolerance, and a median by counting. */
#ifndef FTH_TESTS_NOISE_H
#define FTH_TESTS_NOISE_H

#include "base/base.h"
#include "check.h"

#include <math.h>

/* Up to `width` either way, every whole number as likely. */
static inline double jitter(struct fth_rng *rng, unsigned width)
{
    return (double)fth_rng_below(rng, 2 * width + 1) - width;
}

static inline double normal(struct fth_rng *rng)
{
    double radius = sqrt(-2 * log(1 - fth_rng_unit(rng)));
    return radius * cos(6.283185307179586 * fth_rng_unit(rng));
}

static inline double exponential(struct fth_rng *rng)
{
    return -log(1 - fth_rng_unit(rng));
}

/* A latency with 2 cycles of jitter, ten times as long in 1 of 100 cases. */
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

/* The value with `rank` others before it, by counting. */
static inline double by_rank(const double *values, size_t count, size_t rank)
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

static inline double slow_median(const double *values, size_t count)
{
    return (by_rank(values, count, (count - 1) / 2) + by_rank(values, count, count / 2)) / 2;
}

#endif
