/* Statistics with which several probes decide: how certain is a figure, how many events does chance
 * explain, are counts uniform, and which distance between slow hops prevails? */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- confidence ---- */

/* Level of the bootstrap intervals, and their half-width in standard deviations of a normal
 * distribution. The level is chosen, not derived. */
static const double interval_level = 0.9, interval_deviations = 1.645;
/* Of more values than this, the interval of the mean follows from their standard deviation, because
 * such a mean is normally distributed (central limit theorem). Chosen: resamples give the same
 * interval to within their own resolution, and 200 resamples of 20,000 values take 20 ms. */
enum { MANY_VALUES = 1000 };
/* Two medians count as the same if they differ by at most 0.5 % or 0.5 cycles, whichever is larger.
 * Chosen, not derived. */
static const double same_fraction = 0.005, same_cycles = 0.5;
/* Maximum confidence of a latency: 1 minus the resolution of FTH_BOOTSTRAP_DRAWS resamples. */
static const double max_confidence = 0.995;
enum {
    /* The core of samples that a latency is computed from: those within CORE_DEVIATIONS median
     * absolute deviations, and at least CORE_CYCLES cycles, of the median. The same values as in
     * fth_core_mean_u32 (stats/), which computes the mean of these samples. */
    CORE_DEVIATIONS = 3,
    CORE_CYCLES = 2
};

/* ---- chance ---- */

enum {
    /* Standard deviations, and events beyond them, that chance explains; see fth_max_by_chance. A
     * conventional limit: five are exceeded once in 3.5 million cases of a normal distribution. */
    CHANCE_DEVIATIONS = 5,
    CHANCE_EVENTS = 1
};

/* Sorts the values in place and returns their median. `scratch` has space for as many values. */
static double median_in_place(double *values, double *scratch, size_t count)
{
    fth_sort_f64(values, scratch, count);
    return fth_quantile_sorted(values, count, 0.5);
}

enum fth_status fth_agreement(const double *values, size_t count, double tolerance,
                              double *confidence, struct fth_error *error)
{
    struct fth_rng rng;
    size_t same = 0;
    *confidence = NAN;
    if (fth_check_f64(values, count, "compute a confidence", NULL) != FTH_OK)
        return FTH_OK;
    double *drawn = calloc(2 * count, sizeof *drawn);
    uint32_t *numbers = calloc(count, sizeof *numbers);
    if (!drawn || !numbers || count > UINT32_MAX) {
        free(drawn);
        free(numbers);
        return fth_no_memory(error, "compute a confidence", NULL);
    }
    memcpy(drawn, values, count * sizeof *drawn);
    const double median = median_in_place(drawn, drawn + count, count);
    fth_rng_init(&rng, count);
    for (size_t draw = 0; draw < FTH_BOOTSTRAP_DRAWS; draw++) {
        fth_rng_fill_below(&rng, (uint32_t)count, numbers, count);
        for (size_t i = 0; i < count; i++)
            drawn[i] = values[numbers[i]];
        same += fabs(median_in_place(drawn, drawn + count, count) - median) <= tolerance;
    }
    free(drawn);
    free(numbers);
    *confidence = (double)(same + 1) / (FTH_BOOTSTRAP_DRAWS + 2);
    return FTH_OK;
}

enum fth_status fth_cycles_agreement(const double *values, size_t count, double *confidence,
                                     struct fth_error *error)
{
    double median;
    *confidence = NAN;
    if (fth_check_f64(values, count, "compute a confidence", NULL) != FTH_OK)
        return FTH_OK;
    FTH_TRY(fth_quantile_f64(values, count, 0.5, &median, error));
    return fth_agreement(values, count, fmax(same_cycles, same_fraction * median), confidence,
                         error);
}

/* Returns the probability that a normally distributed estimate of the value is off by at most 0.5
 * cycles or 0.5 %, whichever is larger. From `low` to `high` is the 90 % bootstrap interval of the
 * estimate, from which its standard deviation is computed. (These are not the percentiles of the
 * samples in struct fth_figure.) The result is at most 0.995, the resolution of the resamples. */
static double latency_confidence(double value, double low, double high)
{
    const double tolerance = fmax(same_fraction * value, same_cycles);
    const double deviation = (high - low) / (2 * interval_deviations);
    return deviation > 0 ? fmin(max_confidence, erf(tolerance / deviation / sqrt(2)))
                         : max_confidence;
}

enum fth_status fth_mean_interval(const double *values, size_t count, struct fth_interval *interval,
                                  struct fth_error *error)
{
    if (count <= MANY_VALUES)
        return fth_bootstrap_interval(values, count, interval_level, FTH_BOOTSTRAP_DRAWS, 1,
                                      interval, error);
    FTH_TRY(fth_check_f64(values, count, "compute an interval", error));
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    const double half = interval_deviations * sqrt(squares / (double)(count - 1) / (double)count);
    *interval = (struct fth_interval){mean, mean - half, mean + half};
    return FTH_OK;
}

/* The confidence is computed from the samples that fth_core_mean_u32 averages. */
enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count, double overhead_cycles,
                                   struct fth_figure *figure, struct fth_error *error)
{
    struct fth_summary summary;
    struct fth_interval interval;
    double mean = NAN, *core = NULL;
    FTH_TRY(fth_summary_u32(cycles, count, &summary, error));
    FTH_TRY(fth_core_mean_u32(cycles, count, &mean, error));
    core = calloc(count + 1, sizeof *core);
    if (!core)
        return fth_no_memory(error, "find latency", NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(cycles[i] - summary.median) <= fmax(CORE_CYCLES, CORE_DEVIATIONS * summary.mad))
            core[kept++] = cycles[i];
    enum fth_status status = fth_mean_interval(core, kept, &interval, error);
    if (status == FTH_OK)
        *figure = (struct fth_figure){
            .value = mean - overhead_cycles,
            .low = fmin(summary.p05, mean) - overhead_cycles,
            .high = fmax(summary.p95, mean) - overhead_cycles,
            .samples = count,
            .confidence = latency_confidence(mean - overhead_cycles, interval.low, interval.high)};
    free(core);
    return status;
}

double fth_max_by_chance(double expected)
{
    return expected > 0 ? expected + CHANCE_DEVIATIONS * sqrt(expected) + CHANCE_EVENTS : 0;
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
