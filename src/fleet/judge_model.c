/* How are the values of a figure distributed on healthy GPUs?
 *
 * The logarithms of the GPUs' medians are assumed to follow Student's t distribution around the
 * cohort's median. Its scale and its degrees of freedom come from the cohort itself:
 *
 *   - Scale: the median absolute deviation, times 1.4826. It is bounded as long as fewer than half
 *     of the GPUs are faulty. In small cohorts it is uncertain; it is therefore combined with a
 *     default spread as in the moderated t test (G. K. Smyth, "Linear Models and Empirical Bayes
 *     Methods for Assessing Differential Expression in Microarray Experiments", Statistical
 *     Applications in Genetics and Molecular Biology 3, 2004): variances are averaged with their
 *     degrees of freedom as weights, and the degrees of freedom add up.
 *   - Tail: an outer quantile on each side of the median. The t distribution has the degrees of
 *     freedom that give this quantile; if three are not enough, the scale grows. A group of GPUs
 *     that is separated from the others by a gap is not part of the tail if it is small: these are
 *     the faults. The worse side counts at most MAX_SKEW times as much as the better side, because
 *     faults make figures worse.
 *   - Noise: the upper quartile of the deviations of measurements from the median of their GPU.
 */
#include "fleet/judge.h"
#include "stats/stats.h"

#include <math.h>

/* Standard deviation / median absolute deviation of a normal distribution. */
#define MAD_SCALE 1.4826
/* 75 % quantile of |x| for the standard normal distribution. */
#define UPPER_QUARTILE 1.1503
/* The default spread of a figure between GPUs of a cohort, and how many degrees of freedom it
 * counts as. Chosen: the spread of the figures of four H200s, with run-to-run noise, is 0.05 % to
 * 2.7 %, that of most bandwidths 0.2 % to 1 %. */
#define DEFAULT_SPREAD 0.01
#define DEFAULT_FREEDOM 8
/* Efficiency of the median absolute deviation (P. J. Huber, "Robust Statistics", 1981, section
 * 5.1): with N values it is as precise as a standard deviation from 0.37 N values. */
#define MAD_EFFICIENCY 0.37
/* Smallest standard deviation, for figures that are equal on all GPUs. Chosen: numbers have four
 * significant digits at least, so that rounding contributes up to 0.03 %. */
#define MIN_SPREAD 0.0005
/* Efficiency of the median: its variance is pi / 2 times that of the mean. */
#define MEDIAN_FACTOR 1.5708
/* Tail: the quantile that TAIL_GPUS of the GPUs exceed. Chosen: five values are the fewest that
 * give the quantile with a standard deviation of about 6 % (1,000 GPUs). */
#define TAIL_GPUS 5.0
/* A gap of this many standard deviations separates faults from the tail, beyond GAP_BEGIN. Chosen:
 * among 1,000 values of a normal distribution, neighbours beyond 2.5 are closer than 1.5 except in
 * 1 of 1,000 cases. */
#define GAP 1.5
#define GAP_BEGIN 2.5
/* Largest part of a cohort that can be separated: on the worse side, and on the better one. Chosen;
 * a larger part is a second kind of healthy GPUs. */
#define MAX_SEPARATED_WORSE 0.25
#define MAX_SEPARATED_BETTER 0.05
#define MAX_SKEW 2.0
/* Largest degrees of freedom. Chosen: more make no difference for the probabilities in use. */
#define MAX_FREEDOM 60.0

/* Returns how many GPUs a point has, without the one that is left out. */
static double weight(const struct fth_judge_figure *figure, size_t i, size_t without)
{
    return figure->points[i].count - (i == without ? 1.0 : 0.0);
}

static double gpus_of(const struct fth_judge_figure *figure, size_t without)
{
    double sum = 0;
    for (size_t i = 0; i < figure->point_count; i++)
        sum += weight(figure, i, without);
    return sum;
}

/* Returns the median of the points: the mean of the two middle values for an even number. */
static double median_of(const struct fth_judge_figure *figure, size_t without, double gpus)
{
    const double low_rank = floor((gpus - 1) / 2), high_rank = floor(gpus / 2);
    double below = 0, low = NAN;
    for (size_t i = 0; i < figure->point_count; i++) {
        below += weight(figure, i, without);
        if (isnan(low) && below > low_rank)
            low = figure->points[i].x;
        if (below > high_rank)
            return low + (figure->points[i].x - low) / 2;
    }
    return low;
}

/* Returns the median of the distances from the centre. Two indices that move outwards from the
 * centre visit the distances in ascending order. */
static double deviation_of(const struct fth_judge_figure *figure, size_t without, double gpus,
                           double centre)
{
    const double low_rank = floor((gpus - 1) / 2), high_rank = floor(gpus / 2);
    size_t right = 0;
    while (right < figure->point_count && figure->points[right].x < centre)
        right++;
    size_t left = right;
    double below = 0, low = NAN, distance = 0;
    while (left > 0 || right < figure->point_count) {
        const bool from_left =
            right == figure->point_count ||
            (left > 0 && centre - figure->points[left - 1].x <= figure->points[right].x - centre);
        const size_t i = from_left ? --left : right++;
        distance = fabs(figure->points[i].x - centre);
        below += weight(figure, i, without);
        if (isnan(low) && below > low_rank)
            low = distance;
        if (below > high_rank)
            break;
    }
    return isnan(low) ? 0 : low + (distance - low) / 2;
}

/* Returns the distance from the centre, in standard deviations, that the part `level` of the GPUs
 * exceeds on one side (`sign` 1 or -1). GPUs beyond a gap do not count if they are at most
 * `max_separated` of all. */
static double tail_of(const struct fth_judge_figure *figure, const struct fth_judge_model *model,
                      double scale, double sign, double level, double max_separated)
{
    const size_t count = figure->point_count;
    double separated = 0, beyond = 0, last = 0;
    /* Outwards in: finds the innermost gap with few GPUs beyond it. */
    for (size_t k = 0; k < count; k++) {
        const size_t i = sign > 0 ? count - 1 - k : k;
        const double z = sign * (figure->points[i].x - model->centre) / scale;
        if (z < 0)
            break;
        if (k > 0 && last - z > GAP && last > GAP_BEGIN && beyond <= max_separated * model->gpus)
            separated = beyond;
        beyond += figure->points[i].count;
        last = z;
    }
    beyond = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t i = sign > 0 ? count - 1 - k : k;
        beyond += figure->points[i].count;
        if (beyond > separated + level * (model->gpus - separated))
            return fmax(0, sign * (figure->points[i].x - model->centre) / scale);
    }
    return 0;
}

/* Candidates for the degrees of freedom, from the heaviest tail to one that is nearly normal. */
static const double freedoms[FTH_JUDGE_FREEDOMS] = {3, 3.5, 4, 5, 6, 8, 11, 16, 25, 40, 60};

/* Returns the quantiles of Student's t distribution that the part `level` exceeds, divided by the
 * quantile that the part `inner` exceeds, for each candidate. They are kept for the next figure,
 * which usually has as many GPUs. */
static const double *student_ratios(struct fth_judge_tails *tails, double level, double inner)
{
    if (tails->level != level) {
        for (size_t i = 0; i < FTH_JUDGE_FREEDOMS; i++)
            tails->ratios[i] =
                fth_student_quantile(level, freedoms[i]) / fth_student_quantile(inner, freedoms[i]);
        tails->level = level;
    }
    return tails->ratios;
}

/* Returns the degrees of freedom with which the ratio of two quantiles is `ratio`. *stretch gets
 * how much larger the ratio is than any distribution has it, otherwise 1. */
static double freedom_for(const double *ratios, double ratio, double *stretch)
{
    *stretch = fmax(1, ratio / ratios[0]);
    size_t i = 0;
    while (i + 1 < FTH_JUDGE_FREEDOMS && ratio < ratios[i + 1])
        i++;
    return freedoms[i];
}

/* Chooses degrees of freedom, and perhaps a larger scale, so that the distribution has the tail of
 * the cohort. */
static void fit_tail(const struct fth_judge_figure *figure, struct fth_judge_tails *tails,
                     struct fth_judge_model *model, double *scale)
{
    const double level = fmin(0.1, fmax(TAIL_GPUS / model->gpus, 5e-4));
    /* The scale is that of a normal distribution with this median absolute deviation. */
    const double *ratios = student_ratios(tails, level, 0.25);
    const double unit = *scale / MAD_SCALE;
    const double worse =
        tail_of(figure, model, unit, figure->direction, level, MAX_SEPARATED_WORSE);
    const double better =
        tail_of(figure, model, unit, -figure->direction, level, MAX_SEPARATED_BETTER);
    const double normal = ratios[FTH_JUDGE_FREEDOMS - 1];
    double stretch;
    const double freedom =
        freedom_for(ratios, fmax(better, fmin(worse, MAX_SKEW * fmax(better, normal))), &stretch);
    model->freedom = fmin(model->freedom, freedom);
    *scale *= stretch;
}

/* Sets the variance of one measurement, and how many there are per GPU. */
static void fit_noise(const struct fth_reference_figure *reference, struct fth_judge_tails *tails,
                      struct fth_judge_model *model)
{
    model->noise2 = NAN;
    model->runs = 1;
    model->single_freedom = model->freedom;
    if (reference->repeats.count < 4 || !reference->gpus.count)
        return;
    const double count = (double)reference->repeats.count;
    model->runs = fmax(1, count / (double)reference->gpus.count);
    /* The deviations are from the GPU's own median, which makes them too small by the factor
     * 1.4 (2 measurements), 1.24 (3), 1.11 (5), 1.05 (10): simulated. */
    const double correction = 1 + 0.8 / fmax(2, model->runs);
    const double quartile = fth_sketch_quantile(&reference->repeats, 0.75) - 1;
    model->noise2 = pow(correction * quartile / UPPER_QUARTILE, 2);
    if (count < FTH_JUDGE_LEAVE_OUT || !(quartile > 0))
        return;
    /* The tail of single measurements: an outer quantile of the deviations in both directions. */
    const double level = fmax(2 * TAIL_GPUS / count, 1e-3);
    const double outer = fth_sketch_quantile(&reference->repeats, 1 - level) - 1;
    double stretch;
    const double freedom =
        freedom_for(student_ratios(tails, level / 2, 0.125), outer / quartile, &stretch);
    model->single_freedom = fmin(model->freedom, freedom);
    model->noise2 *= stretch * stretch;
}

void fth_judge_model_fit(const struct fth_judge_figure *figure, size_t without,
                         struct fth_judge_tails tails[2], struct fth_judge_model *model)
{
    const double gpus = gpus_of(figure, without);
    *model = figure->model;
    model->gpus = gpus;
    model->centre = median_of(figure, without, gpus);
    const double deviation = deviation_of(figure, without, gpus, model->centre);
    const double freedom = MAD_EFFICIENCY * fmax(0, gpus - 1);
    double scale = MAD_SCALE * deviation;
    scale = sqrt((DEFAULT_FREEDOM * DEFAULT_SPREAD * DEFAULT_SPREAD + freedom * scale * scale) /
                 (DEFAULT_FREEDOM + freedom));
    scale = fmax(scale, MIN_SPREAD);
    /* The fewer GPUs there are, the less is known about the tail. Chosen: 10 degrees of freedom
     * without any knowledge, 60 with 1,000 GPUs. */
    model->freedom = fmin(DEFAULT_FREEDOM + freedom, fmin(10 + gpus / 20, MAX_FREEDOM));
    if (tails && gpus >= FTH_JUDGE_LEAVE_OUT)
        fit_tail(figure, &tails[0], model, &scale);
    model->total2 = scale * scale;
    if (tails)
        fit_noise(figure->reference, &tails[1], model);
}

/* Returns the variance of the median of n values of variance 1. Exact for 1 value, within 2 % for
 * larger odd numbers, too large by up to 22 % for even numbers. */
static double median_variance(double runs)
{
    return MEDIAN_FACTOR / (runs + MEDIAN_FACTOR - 1);
}

double fth_judge_spread(const struct fth_judge_model *model, size_t runs)
{
    double variance = model->total2;
    if (!isnan(model->noise2)) {
        const double noise2 = model->noise2 * median_variance((double)runs);
        const double between2 =
            fmax(0, model->total2 - model->noise2 * median_variance(model->runs));
        variance = fmax(between2 + noise2, MIN_SPREAD * MIN_SPREAD);
    }
    /* The centre is uncertain, too. */
    variance += model->total2 * (model->gpus > 2 ? MEDIAN_FACTOR : 1) / fmax(1, model->gpus);
    return sqrt(variance);
}

size_t fth_judge_point_near(const struct fth_judge_figure *figure, double x)
{
    size_t low = 0, high = figure->point_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (figure->points[middle].x < x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == figure->point_count ||
        (low > 0 && x - figure->points[low - 1].x < figure->points[low].x - x))
        low--;
    return low;
}
