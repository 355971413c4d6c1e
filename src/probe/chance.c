/* Statistics with which several probes decide: how certain is a figure, how many events does chance
 * explain, are counts uniform, and which distance between slow hops prevails? */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum { BOOTSTRAP_DRAWS = 200 }; /* resamples of a bootstrap. Chosen: a resolution of 0.5 %. */
/* Level of the bootstrap intervals, and their half-width in standard deviations of a normal
 * distribution. */
#define INTERVAL_LEVEL 0.9
#define INTERVAL_DEVIATIONS 1.645
/* Two medians count as the same if they differ by at most 0.5 % or 0.5 cycles, whichever is
 * larger. */
static const double same_fraction = 0.005, same_cycles = 0.5;

double fth_agreement(const double *values, size_t count, double tolerance)
{
    double median, *drawn = count ? calloc(count, sizeof *drawn) : NULL;
    struct fth_rng rng;
    size_t same = 0;
    fth_rng_init(&rng, count);
    bool fine = drawn && fth_quantile_f64(values, count, 0.5, &median, NULL) == FTH_OK;
    for (size_t draw = 0; fine && draw < BOOTSTRAP_DRAWS; draw++) {
        double other = NAN;
        for (size_t i = 0; i < count; i++)
            drawn[i] = values[fth_rng_below(&rng, count)];
        fine = fth_quantile_f64(drawn, count, 0.5, &other, NULL) == FTH_OK;
        same += fabs(other - median) <= tolerance;
    }
    free(drawn);
    return fine ? (double)(same + 1) / (BOOTSTRAP_DRAWS + 2) : NAN;
}

double fth_cycles_agreement(const double *values, size_t count)
{
    double median;
    if (fth_quantile_f64(values, count, 0.5, &median, NULL) != FTH_OK)
        return NAN;
    return fth_agreement(values, count, fmax(same_cycles, same_fraction * median));
}

double fth_latency_confidence(double value, double low, double high)
{
    const double max = 0.995;
    double tolerance = fmax(same_fraction * value, same_cycles),
           deviation = (high - low) / (2 * INTERVAL_DEVIATIONS);
    return deviation > 0 ? fmin(max, erf(tolerance / deviation / sqrt(2))) : max;
}

/* The confidence is computed from the samples that fth_core_mean_u32 averages: those within three
 * median absolute deviations, and at least 2 cycles, of the median. */
enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count, double overhead_cycles,
                                   struct fth_figure *figure, struct fth_error *error)
{
    struct fth_summary summary;
    struct fth_interval interval;
    double mean = NAN, *core = NULL;
    enum fth_status status = fth_summary_u32(cycles, count, &summary, error);
    if (status == FTH_OK)
        status = fth_core_mean_u32(cycles, count, &mean, error);
    if (status != FTH_OK)
        return status;
    core = calloc(count + 1, sizeof *core);
    if (!core)
        return fth_no_memory(error, "find latency", NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(cycles[i] - summary.median) <= fmax(2, 3 * summary.mad))
            core[kept++] = cycles[i];
    status =
        fth_bootstrap_interval(core, kept, INTERVAL_LEVEL, BOOTSTRAP_DRAWS, 1, &interval, error);
    if (status == FTH_OK)
        *figure = (struct fth_figure){.value = mean - overhead_cycles,
                                      .low = fmin(summary.p05, mean) - overhead_cycles,
                                      .high = fmax(summary.p95, mean) - overhead_cycles,
                                      .samples = count,
                                      .confidence = fth_latency_confidence(
                                          mean - overhead_cycles, interval.low, interval.high)};
    free(core);
    return status;
}

double fth_max_by_chance(double expected)
{
    return expected > 0 ? expected + 5 * sqrt(expected) + 1 : 0;
}

/* The statistic of the G-test, 2 Σ n ln(n / expected), has approximately a chi-squared distribution
 * with count - 1 degrees of freedom, which in turn is approximated by the formula of Wilson and
 * Hilferty. */
double fth_uniform_p_value(const uint64_t *counts, size_t count, uint64_t total)
{
    double g = 0, expected = (double)total / (double)count, degrees = (double)count - 1;
    for (size_t i = 0; i < count; i++)
        g += counts[i] ? 2 * (double)counts[i] * log((double)counts[i] / expected) : 0;
    if (degrees < 1)
        return 1;
    double z = (cbrt(g / degrees) - (1 - 2 / (9 * degrees))) / sqrt(2 / (9 * degrees));
    return erfc(z / sqrt(2)) / 2;
}

unsigned fth_majority(const unsigned *counts, unsigned size)
{
    unsigned best = 0, total = 0;
    for (unsigned i = 1; i < size; i++) {
        total += counts[i];
        best = counts[i] > counts[best] ? i : best;
    }
    return total && 2 * counts[best] > total ? best : 0;
}

void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts)
{
    size_t last = 0;
    for (size_t hop = 1; hop < walk->count; hop++)
        if (walk->cycles[hop] > threshold_cycles) {
            counts[hop - last]++;
            last = hop;
        }
}
