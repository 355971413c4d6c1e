/* How are the values of a figure distributed on healthy GPUs?
 *
 * The logarithms of the GPUs' medians are assumed to follow Student's t distribution around the
 * cohort's median. Its scale and its degrees of freedom come from the cohort itself:
 *
 *   - Scale: the median absolute deviation, times 1.4826. It is bounded as long as fewer than half
 *     of the GPUs are faulty. In small cohorts, the standard deviation without the worst quarter is
 *     used, which is more precise. It is still uncertain, and therefore combined with a
 *     default spread as in the moderated t test (G. K. Smyth, "Linear Models and Empirical Bayes
 *     Methods for Assessing Differential Expression in Microarray Experiments", Statistical
 *     Applications in Genetics and Molecular Biology 3, 2004): variances are averaged with their
 *     degrees of freedom as weights, and the degrees of freedom add up.
 *   - Tail: an outer quantile on each side of the median. The t distribution has the degrees of
 *     freedom that give this quantile; if three are not enough, the scale grows. A group of GPUs
 *     that is separated from the others by a gap is not part of the tail if it is small: these are
 *     the faults. The quantile on the worse side is nearer to the centre, because faults make
 *     figures worse.
 *     An outer quantile of one figure is uncertain. The tail is therefore also estimated from all
 *     figures together, on the better side; the heavier one counts.
 *   - Noise: the upper quartile of the deviations of measurements from the median of their GPU.
 */
#include "fleet/judge/judge.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* 75 % quantile of |x| for the standard normal distribution. */
#define UPPER_QUARTILE 1.1503
/* The deviations of n measurements from their own median are too small by the factor 1.4 for n = 2,
 * 1.24 for 3, 1.11 for 5 and 1.05 for 10: simulated. 1 + OWN_MEDIAN / n is 1 % below to 5 % above
 * these factors. */
#define OWN_MEDIAN 0.8
/* The default spread of a figure between GPUs of a cohort, and how many degrees of freedom it
 * counts as. Chosen: the spread of the figures of four H200s, with run-to-run noise, is 0.05 % to
 * 2.7 %, that of most bandwidths 0.2 % to 1 %. */
#define DEFAULT_SPREAD 0.008
#define DEFAULT_FREEDOM 8
/* If the figures of a cohort vary more, the upper quartile of their spreads is the default, but at
 * most this. Chosen: GPUs of one model differ by up to 22 % (P. Sinha et al., "Not All GPUs Are
 * Created Equal: Characterizing Variability in Large-Scale, Accelerator-Rich Systems", SC 2022),
 * which is five standard deviations of 5 % from end to end. */
#define MAX_DEFAULT 0.05
/* The default spread between GPUs without the noise, for cohorts whose noise is known. Chosen: the
 * largest of four H200s is 0.4 %. */
#define DEFAULT_BETWEEN 0.005
/* Without the worst part d, the standard deviation of a normal distribution is too small by the
 * factor 1 + 1.37 d (d up to 1/4), and as precise as one from 0.6 N values: simulated. */
#define TRIMMED_CORRECTION 1.37
#define TRIMMED_EFFICIENCY 0.6
/* Smallest standard deviation, for figures that are equal on all GPUs. Chosen: numbers have at
 * least four significant digits, so that rounding contributes up to 0.03 %. */
#define MIN_SPREAD 0.0005
/* Tail: the quantile that TAIL_GPUS of the GPUs exceed. Chosen: five values are the fewest that
 * give the quantile with a standard deviation of about 6 % (1,000 GPUs). */
#define TAIL_GPUS 5.0
/* The larger of two such quantiles can be above the true one by this factor. Chosen: two standard
 * deviations. All figures together (below) give a better estimate. */
#define TAIL_ALLOWANCE 1.15
/* Likewise, for quantiles that are exceeded by more than 1 %: they vary more than those of heavy
 * tails differ from those of the normal distribution. They only show separate clusters. */
#define SMALL_ALLOWANCE 1.35
/* The tail on the worse side is a quantile that at least this part exceeds, so that a few faults do
 * not change it. Chosen. */
#define WORSE_LEVEL 0.02
/* A gap of this many standard deviations separates faults from the tail, beyond GAP_BEGIN. Chosen:
 * among 1,000 values of a normal distribution, neighbours beyond 2.5 are closer than 1.5 except in
 * 1 of 1,000 cases. */
#define GAP 1.5
#define GAP_BEGIN 2.5
/* Largest part of a cohort that can be separated: on the worse side, and on the better one. Chosen;
 * a larger part is a second kind of healthy GPUs. */
#define MAX_SEPARATED_WORSE 0.25
#define MAX_SEPARATED_BETTER 0.05
/* Tail of all figures of a cohort together (fth_judge_common_tail): the quantile that COMMON_TAIL
 * values exceed. All chosen. */
#define COMMON_TAIL 20.0
/* The quantile can be above the true one by chance: one standard deviation. The second number is
 * for quantiles that more than 1 % of the values exceed. */
#define COMMON_ALLOWANCE 1.08
#define COMMON_SMALL_ALLOWANCE 1.22
/* Figures with fewer GPUs do not take part, because their spread is uncertain. */
#define COMMON_MIN_GPUS 20
/* Figures with a smaller spread do not take part, because they are rounded: as a fraction and, for
 * latencies, in cycles or ns (three times the unit to which they are rounded). */
#define COMMON_MIN 0.002
#define COMMON_STEPS 0.3
/* The histogram of distances, in units of the median absolute deviation. */
#define COMMON_BINS 1000
#define COMMON_BINS_PER_UNIT 25.0
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

/* Returns the standard deviation of a small cohort, from all GPUs but the worst quarter, which may
 * be faulty. It is more precise than the median absolute deviation. *freedom gets its degrees of
 * freedom. */
static double trimmed_of(const struct fth_judge_figure *figure, size_t without, double gpus,
                         double *freedom)
{
    const double dropped = floor(gpus / 4), kept = gpus - dropped;
    const size_t count = figure->point_count;
    double left = dropped, sum = 0, squares = 0;
    *freedom = dropped > 0 ? TRIMMED_EFFICIENCY * (gpus - 1) : fmax(0, gpus - 1);
    if (kept < 2)
        return 0;
    for (size_t k = 0; k < count; k++) {
        const size_t i = figure->direction > 0 ? count - 1 - k : k; /* the worst first */
        const double all = weight(figure, i, without), gone = fmin(left, all);
        const double x = figure->points[i].x - figure->points[0].x;
        left -= gone;
        sum += (all - gone) * x;
        squares += (all - gone) * x * x;
    }
    const double variance = fmax(0, squares - sum * sum / kept) / (kept - 1);
    return (1 + TRIMMED_CORRECTION * dropped / gpus) * sqrt(variance);
}

/* Returns the distance from the centre, in standard deviations, that the part `level` of the GPUs
 * exceeds on one side (`sign` 1 or -1). GPUs beyond a gap do not count if they are at most
 * `max_separated` of all. */
static double tail_of(const struct fth_judge_figure *figure, const struct fth_judge_model *model,
                      double scale, double sign, double level, double max_separated)
{
    const size_t count = figure->point_count;
    double separated = 0, beyond = 0, last = 0;
    /* Goes from the outermost GPU towards the centre, and finds the innermost gap with few GPUs
     * beyond it. */
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

/* Returns the degrees of freedom of the t distribution whose outer quantile, which the part `level`
 * exceeds, is `ratio` times its inner quantile. `ratios` has this ratio for each candidate
 * (student_ratios). If even the heaviest tail has a smaller ratio, *stretch gets the factor by
 * which it is smaller; otherwise 1. */
static double freedom_for(const double *ratios, double level, double ratio, double *stretch)
{
    *stretch = fmax(1, ratio / ratios[0]);
    size_t i = 0;
    while (i + 1 < FTH_JUDGE_FREEDOMS && ratio < ratios[i + 1])
        i++;
    /* The nearer the quantile is to the centre, the less it tells about the tail. Chosen. */
    return fmax(freedoms[i], level > 0.03 ? 5 : level > 0.01 ? 4 : 3);
}

/* Chooses degrees of freedom, and perhaps a larger scale, so that the distribution has the tail of
 * the cohort. */
static void fit_tail(const struct fth_judge_figure *figure, struct fth_judge_tails *tails,
                     struct fth_judge_model *model, double *scale)
{
    const double unit = *scale / FTH_JUDGE_MAD_SCALE; /* the median absolute deviation */
    const double level = fmin(0.1, fmax(TAIL_GPUS / model->gpus, 5e-4));
    const double worse_level = fmax(level, WORSE_LEVEL);
    const double allowance = level > 0.01 ? SMALL_ALLOWANCE : TAIL_ALLOWANCE;
    double stretch, worse_stretch;
    const double better =
        tail_of(figure, model, unit, -figure->direction, level, MAX_SEPARATED_BETTER);
    const double freedom =
        freedom_for(student_ratios(&tails[0], level, 0.25), level, better / allowance, &stretch);
    const double worse =
        tail_of(figure, model, unit, figure->direction, worse_level, MAX_SEPARATED_WORSE);
    const double worse_freedom = freedom_for(student_ratios(&tails[2], worse_level, 0.25),
                                             worse_level, worse / allowance, &worse_stretch);
    model->freedom = fmin(model->freedom, fmin(freedom, worse_freedom));
    *scale *= fmax(stretch, worse_stretch);
}

/* Returns the bin of a distance in the histogram of fth_judge_common_tail. */
static size_t bin_of(double z)
{
    return (size_t)fmin(COMMON_BINS - 1, z * COMMON_BINS_PER_UNIT);
}

enum fth_status fth_judge_common_spread(struct fth_judge *judge)
{
    struct fth_judge_cohort *cohort = &judge->cohort;
    double *spreads = calloc(cohort->figure_count + 1, sizeof *spreads);
    size_t count = 0;
    if (!spreads)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t f = 0; f < cohort->figure_count; f++)
        if (cohort->figures[f].point_count && !cohort->figures[f].why &&
            cohort->figures[f].model.gpus >= 4)
            spreads[count++] = cohort->figures[f].model.raw;
    qsort(spreads, count, sizeof *spreads, fth_fleet_compare_numbers);
    const double common = count ? fmin(spreads[3 * count / 4], MAX_DEFAULT) : 0;
    free(spreads);
    for (size_t f = 0; f < cohort->figure_count && common > DEFAULT_SPREAD; f++) {
        struct fth_judge_figure *figure = &cohort->figures[f];
        figure->model.default_spread = common;
        if (figure->point_count && !figure->why)
            fth_judge_model_fit(figure, SIZE_MAX, judge->tails, &figure->model);
    }
    return FTH_OK;
}

void fth_judge_model_begin(struct fth_judge_model *model)
{
    model->default_spread = DEFAULT_SPREAD;
    model->common_freedom = INFINITY;
    model->common_stretch = 1;
}

void fth_judge_common_tail(struct fth_judge_cohort *cohort)
{
    double bins[COMMON_BINS] = {0}, all = 0;
    for (size_t f = 0; f < cohort->figure_count; f++) {
        const struct fth_judge_figure *figure = &cohort->figures[f];
        if (figure->why || !(figure->model.gpus >= COMMON_MIN_GPUS))
            continue;
        const double deviation =
            deviation_of(figure, SIZE_MAX, figure->model.gpus, figure->model.centre);
        if (deviation * FTH_JUDGE_MAD_SCALE < COMMON_MIN ||
            (figure->direction > 0 && deviation * exp(figure->model.centre) < COMMON_STEPS))
            continue;
        for (size_t i = 0; i < figure->point_count; i++) {
            const double z = -figure->direction * (figure->points[i].x - figure->model.centre);
            if (z > 0) {
                bins[bin_of(z / deviation)] += figure->points[i].count;
                all += 2 * figure->points[i].count;
            }
        }
    }
    if (all < 4 * COMMON_TAIL)
        return;
    struct fth_judge_tails tails = {0};
    const double level = fmax(COMMON_TAIL / all, 5e-4);
    double beyond = 0, stretch;
    size_t bin = COMMON_BINS;
    while (bin > 0 && beyond <= level * all)
        beyond += bins[--bin];
    const double allowance = level > 0.01 ? COMMON_SMALL_ALLOWANCE : COMMON_ALLOWANCE;
    const double tail = (double)bin / COMMON_BINS_PER_UNIT / allowance;
    const double freedom = freedom_for(student_ratios(&tails, level, 0.25), level, tail, &stretch);
    for (size_t f = 0; f < cohort->figure_count; f++) {
        struct fth_judge_model *model = &cohort->figures[f].model;
        if (cohort->figures[f].why)
            continue;
        model->common_freedom = freedom;
        model->common_stretch = stretch;
        model->total2 *= stretch * stretch;
        model->freedom = fmin(model->freedom, freedom);
        model->single_freedom = fmin(model->single_freedom, freedom);
    }
}

/* Returns the variance of the median of n values of variance 1. Exact for 1 value, within 2 % for
 * larger odd numbers, too large by up to 22 % for even numbers. */
static double median_variance(double runs)
{
    return FTH_JUDGE_MEDIAN_VARIANCE / (runs + FTH_JUDGE_MEDIAN_VARIANCE - 1);
}

/* Returns the deviation that the part `level` of the measurements exceeds. Deviations beyond a gap
 * do not count if they are few: these are intermittent faults. */
static double outer_deviation(const struct fth_sketch *repeats, double level, double gap)
{
    const double all = (double)repeats->count;
    double beyond = 0, separated = 0, last = 0;
    for (size_t i = repeats->bin_count; i > 0; i--) {
        const double deviation = fth_sketch_bin_log(&repeats->bins[i - 1]);
        if (last - deviation > gap && beyond <= MAX_SEPARATED_BETTER * all)
            separated = beyond;
        beyond += repeats->bins[i - 1].count;
        last = deviation;
    }
    beyond = 0;
    for (size_t i = repeats->bin_count; i > 0; i--) {
        beyond += repeats->bins[i - 1].count;
        if (beyond > separated + level * (all - separated))
            return expm1(fth_sketch_bin_log(&repeats->bins[i - 1]));
    }
    return 0;
}

/* Sets the variance of one measurement, how much of it is in the medians of the GPUs, and the tail
 * of single measurements. */
static void fit_noise(const struct fth_reference_figure *reference, struct fth_judge_tails *tails,
                      struct fth_judge_model *model)
{
    model->noise2 = NAN;
    model->noise_part = 1;
    model->noise_freedom = MAX_FREEDOM;
    if (reference->repeats.count < 4 || !reference->gpus.count)
        return;
    const double count = (double)reference->repeats.count;
    const double gpus = (double)reference->gpus.count;
    /* A reference can lack the number of GPUs with several measurements (files of an earlier form).
     * All GPUs are then assumed to have several. */
    const double repeated =
        fmin(reference->repeated_gpus ? (double)reference->repeated_gpus : gpus, count / 2);
    const double runs = count / repeated; /* of each of these GPUs, on average; at least 2 */
    model->noise_part = fmin(1, (gpus - repeated + repeated * median_variance(runs)) / gpus);
    const double correction = 1 + OWN_MEDIAN / runs;
    const double quartile = fth_sketch_quantile(&reference->repeats, 0.75) - 1;
    model->noise2 = pow(correction * quartile / UPPER_QUARTILE, 2);
    if (count < FTH_JUDGE_LEAVE_OUT || !(quartile > 0))
        return;
    /* The tail of single measurements: an outer quantile of the deviations in both directions. */
    const double level = fmax(2 * TAIL_GPUS / count, 1e-3);
    const double outer = outer_deviation(&reference->repeats, level, GAP * quartile);
    double stretch;
    model->noise_freedom =
        freedom_for(student_ratios(tails, level / 2, 0.125), level / 2, outer / quartile, &stretch);
    model->noise2 *= stretch * stretch;
}

/* Returns the spread of the GPUs, which has `measured` degrees of freedom, combined with the
 * default spread. *freedom gets the degrees of freedom of the result. */
static double combine(const struct fth_judge_model *model, double scale, double measured,
                      double *freedom)
{
    double default2 = model->default_spread * model->default_spread;
    /* If the noise is known, only the difference between GPUs is assumed. */
    if (!isnan(model->noise2) && model->default_spread <= DEFAULT_SPREAD)
        default2 = DEFAULT_BETWEEN * DEFAULT_BETWEEN + model->noise2 * model->noise_part;
    /* A default that the measurements contradict counts less. */
    const double weight = DEFAULT_FREEDOM * fmin(1, default2 / fmax(scale * scale, 1e-12));
    *freedom = fmax(1, weight + measured);
    return sqrt((weight * default2 + measured * scale * scale) / (weight + measured));
}

void fth_judge_model_fit(const struct fth_judge_figure *figure, size_t without,
                         struct fth_judge_tails tails[3], struct fth_judge_model *model)
{
    *model = figure->model;
    model->gpus = gpus_of(figure, without);
    model->centre = median_of(figure, without, model->gpus);
    if (tails)
        fit_noise(figure->reference, &tails[1], model);
    double measured = FTH_JUDGE_MAD_EFFICIENCY * (model->gpus - 1), freedom;
    double scale =
        model->gpus < FTH_JUDGE_LEAVE_OUT
            ? trimmed_of(figure, without, model->gpus, &measured)
            : FTH_JUDGE_MAD_SCALE * deviation_of(figure, without, model->gpus, model->centre);
    model->raw = scale;
    scale = fmax(combine(model, scale, measured, &freedom), MIN_SPREAD);
    /* The fewer GPUs there are, the less is known about the tail. Chosen: 10 degrees of freedom
     * without any knowledge, 60 with 1,000 GPUs. */
    model->freedom = fmin(freedom, fmin(10 + model->gpus / 20, MAX_FREEDOM));
    model->freedom = fmin(model->freedom, model->common_freedom);
    if (tails && model->gpus >= FTH_JUDGE_LEAVE_OUT)
        fit_tail(figure, tails, model, &scale);
    scale *= model->common_stretch;
    model->total2 = scale * scale;
    model->single_freedom = fmin(model->freedom, model->noise_freedom);
}

double fth_judge_spread(const struct fth_judge_model *model, size_t runs)
{
    double variance = model->total2;
    if (!isnan(model->noise2)) {
        const double noise2 = model->noise2 * median_variance((double)runs);
        const double between2 = fmax(0, model->total2 - model->noise2 * model->noise_part);
        variance = fmax(between2 + noise2, MIN_SPREAD * MIN_SPREAD);
    }
    /* The centre is uncertain, too. */
    variance +=
        model->total2 * (model->gpus > 2 ? FTH_JUDGE_MEDIAN_VARIANCE : 1) / fmax(1, model->gpus);
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
