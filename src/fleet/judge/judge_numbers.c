/* Does a number of a GPU differ from what its cohort has?
 *
 * The test is one-sided: only the worse direction makes a GPU suspect. A value counts if it is
 * worse by min_effect at least, and if its p-value is below a threshold. The threshold shares the
 * permitted false alarms among the figures: figure f raises a false alarm with probability
 * min(threshold, P_f), where P_f is the probability that a healthy GPU is worse by min_effect. The
 * threshold is the largest for which the sum over the figures is within the permitted rate
 * (Bonferroni's inequality, which holds for figures that depend on each other). Figures that hardly
 * vary need next to nothing of the permitted rate, and leave it to those that vary.
 *
 * A GPU with several measurements is judged by its median. Its worst measurement is judged, too, so
 * that intermittent faults are found; it must pass a threshold of its own, with the p-value
 * multiplied by the number of measurements. */
#include "fleet/judge/judge.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Latencies in descriptions are rounded to this unit. A difference of one unit can come from
 * rounding; a finding needs MIN_UNITS. */
#define RESOLUTION 0.1
#define MIN_UNITS 1.5
/* A finding is severe only if its effect is at least this large (docs/fleets.md). */
#define SEVERE_EFFECT 0.05
/* Rate of false discoveries among severe findings (Y. Benjamini and Y. Hochberg, "Controlling the
 * False Discovery Rate", Journal of the Royal Statistical Society B 57, 1995). */
#define SEVERE_RATE 0.01
/* 99 % quantile of the standard normal distribution. */
#define NORMAL_99 2.3263
/* If only a value that differs by more than this factor is found in 99 % of cases, no effect is
 * detectable. Chosen: figures of two to four GPUs that differ widely would have effects of many
 * thousand percent, or of nearly -100 %. */
#define MAX_DETECTABLE 10.0
/* Rounds in which a threshold is computed (threshold_for), and by how much it must grow for another
 * round. Chosen: 0.1 % of a p-value makes no difference. */
enum { MAX_ROUNDS = 30 };
#define MIN_GROWTH 1.001
/* The histogram of a figure reaches from the median to this many standard deviations, or to this
 * many times the smallest effect. Chosen: outliers beyond are in the outermost bins, so that the
 * others remain distinguishable. */
#define HISTOGRAM_DEVIATIONS 12.0
#define HISTOGRAM_EFFECTS 5.0
/* Maximum number of measurements for which majority_tail() is computed: the number of ways to
 * choose a majority of 1,030 exceeds the largest double. With as many, the majority has no effect.
 */
#define MAX_MAJORITY_RUNS 1000
/* Below this many standard deviations, the p-value is above 0.02 and thus above every threshold. It
 * is not computed. */
#define NOTABLE 2.0

/* Returns the smallest effect that counts for a figure. */
static double smallest_effect(const struct fth_judge *judge, const char *name, double median)
{
    double effect = judge->min_effect;
    if (fth_ends_with(name, "_cycles") || fth_ends_with(name, "_ns") ||
        fth_ends_with(name, "cycles_per_instruction"))
        effect = fmax(effect, MIN_UNITS * RESOLUTION / median);
    return effect;
}

enum fth_status fth_judge_number_prepare(struct fth_judge *judge, struct fth_judge_figure *figure)
{
    const struct fth_reference_figure *reference = figure->reference;
    const size_t count = reference->gpus.bin_count;
    figure->direction = reference->kind == FTH_FLEET_RATE ? -1 : 1;
    if (reference->gpus.count < (judge->own ? 2 : 1)) {
        figure->why = reference->gpus.count ? "only one GPU has it" : "no GPU has it";
        return FTH_OK;
    }
    figure->points = calloc(count, sizeof *figure->points);
    if (!figure->points)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct fth_sketch_bin *bin = &reference->gpus.bins[i];
        figure->points[i] = (struct fth_judge_point){fth_sketch_bin_log(bin), bin->count};
    }
    figure->point_count = count;
    fth_judge_model_begin(&figure->model);
    fth_judge_model_fit(figure, SIZE_MAX, judge->tails, &figure->model);
    figure->min_effect = smallest_effect(judge, reference->name, exp(figure->model.centre));
    return FTH_OK;
}

static bool is_number(const struct fth_judge_figure *figure)
{
    return figure->point_count > 0 && !figure->why;
}

/* Returns the probability that the median of `runs` measurements deviates by `deviation` because
 * most of them do, by how often single measurements of the reference deviate so much from the
 * median of their GPU. Noise with rare large deviations gives the median a heavier tail than the
 * spread of the medians shows. Fewer than three measurements have no majority: 0. */
static double majority_tail(const struct fth_judge_figure *figure, size_t runs, double deviation)
{
    const struct fth_sketch *repeats = &figure->reference->repeats;
    uint64_t beyond = 0;
    if (runs < 3 || runs > MAX_MAJORITY_RUNS || !repeats->count)
        return 0;
    for (size_t i = repeats->bin_count; i > 0; i--) {
        /* The sketch holds 1 + deviation. */
        if (expm1(fth_sketch_bin_log(&repeats->bins[i - 1])) < deviation)
            break;
        beyond += repeats->bins[i - 1].count;
    }
    const double share = (double)beyond / (double)repeats->count;
    double ways = 1; /* to choose the majority among the measurements */
    const size_t majority = runs / 2 + 1;
    for (size_t i = 0; i < majority; i++)
        ways *= (double)(runs - i) / (double)(i + 1);
    return fmin(1, ways * pow(share, (double)majority));
}

/* Returns the p-value of the median of `runs` measurements that is `deviation` from the centre. */
static double median_p(const struct fth_judge_figure *figure, const struct fth_judge_model *model,
                       size_t runs, double deviation)
{
    const double p = fth_student_tail(deviation / fth_judge_spread(model, runs), model->freedom);
    return fmax(p, majority_tail(figure, runs, deviation));
}

/* Returns the probability that a healthy GPU, or one measurement of it, is worse by min_effect. */
static double natural_alarms(const struct fth_judge_figure *figure, size_t runs, bool single)
{
    const struct fth_judge_model *model = &figure->model;
    const double deviation = log1p(figure->min_effect);
    if (!single)
        return median_p(figure, model, runs, deviation);
    return fth_student_tail(deviation / fth_judge_spread(model, 1), model->single_freedom);
}

/* Returns the threshold for p-values (see the top of the file). `single`: for the worst of `runs`
 * measurements, whose p-value is multiplied by their number. */
static double threshold_for(const struct fth_judge_cohort *cohort, double permitted, size_t runs,
                            bool single)
{
    size_t figures = 0;
    for (size_t i = 0; i < cohort->figure_count; i++)
        figures += is_number(&cohort->figures[i]);
    double threshold = permitted / (double)(figures ? figures : 1);
    /* The threshold grows in each round, as figures that need less than it leave the rest to the
     * others. */
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double taken = 0;
        size_t open = 0;
        for (size_t i = 0; i < cohort->figure_count; i++) {
            if (!is_number(&cohort->figures[i]))
                continue;
            const double p =
                natural_alarms(&cohort->figures[i], runs, single) * (single ? (double)runs : 1);
            if (p > threshold)
                open++;
            else
                taken += p;
        }
        const double next = open ? (permitted - taken) / (double)open : permitted;
        if (!(next > threshold * MIN_GROWTH))
            break;
        threshold = next;
    }
    return threshold;
}

/* Returns the threshold for the median of `runs` measurements and, in *worst, for the worst of
 * them. */
static double thresholds(struct fth_judge *judge, size_t runs, double *worst)
{
    struct fth_judge_cohort *cohort = &judge->cohort;
    const size_t at = FTH_MIN(runs, FTH_JUDGE_MAX_RUNS) - 1;
    const double numbers = FTH_JUDGE_SHARE_NUMBERS * judge->false_alarms;
    const double share = runs > 1 ? FTH_JUDGE_SHARE_WORST : 0;
    if (!(cohort->thresholds[at] > 0)) {
        cohort->thresholds[at] = threshold_for(cohort, (1 - share) * numbers, at + 1, false);
        if (runs > 1)
            cohort->worst_thresholds[at] = threshold_for(cohort, share * numbers, at + 1, true);
    }
    *worst = cohort->worst_thresholds[at];
    return cohort->thresholds[at];
}

/* A number of a GPU that is compared. */
struct test {
    const struct fth_judge_figure *figure;
    struct fth_judge_model model;
    const struct fth_fleet_gpu *gpu;
    size_t runs;
    double value; /* median of the measurements */
};

static enum fth_status note_small(struct fth_judge *judge, double p)
{
    if (!(p < SEVERE_RATE))
        return FTH_OK;
    if (!fth_grow((void **)&judge->small_p, judge->small_count, &judge->small_capacity,
                  sizeof *judge->small_p))
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    judge->small_p[judge->small_count++] = p;
    return FTH_OK;
}

/* Returns how many measurements of a GPU differ in the same direction by half as much as `value`
 * or more. */
static size_t count_deviating(const struct fth_fleet *fleet, const struct test *test, double value)
{
    const double limit = (log(value) - test->model.centre) / 2;
    size_t count = 0;
    for (size_t i = 0; i < test->gpu->measurement_count; i++) {
        const struct fth_fleet_value *v =
            fth_fleet_find(fth_judge_measurement(fleet, test->gpu, i), test->figure->index);
        if (!v || isnan(v->number))
            continue;
        const double ratio = v->number > 0 ? log(v->number) - test->model.centre : -INFINITY;
        count += limit < 0 ? ratio <= limit : ratio >= limit;
    }
    return count;
}

/* Adds a finding for a value. */
static enum fth_status report(struct fth_judge *judge, struct fth_fleet_result *result,
                              const struct test *test, double value, double distance, double p,
                              double threshold)
{
    const double usual = exp(test->model.centre);
    struct fth_fleet_finding finding = {
        .figure = test->figure->name,
        .kind = test->figure->reference->kind,
        .value = value,
        .usual = usual,
        .effect = value / usual - 1,
        .worse = distance * test->figure->direction > 0,
        .distance = distance,
        .p = fmin(1, p * judge->false_alarms / threshold),
        .single_p = p,
        .measurements = test->runs,
        .deviating = count_deviating(judge->fleet, test, value),
    };
    return fth_judge_add(judge, result, &finding);
}

/* Returns whether no working GPU can have the value: zero, or an infinite one. */
static bool is_impossible(double value)
{
    return !(value > 0) || !isfinite(value);
}

/* Adds a finding for an impossible value, which is a fault by itself. */
static enum fth_status report_impossible(struct fth_judge *judge, struct fth_fleet_result *result,
                                         const struct test *test, double value)
{
    struct fth_fleet_finding finding = {
        .figure = test->figure->name,
        .kind = test->figure->reference->kind,
        .value = value,
        .usual = exp(test->model.centre),
        .effect = value > 0 ? INFINITY : -1,
        .worse = true,
        .distance = NAN,
        .measurements = test->runs,
        .severe = true,
        .note = value > 0 ? "The figure is infinite." : "The figure is zero.",
    };
    for (size_t i = 0; i < test->gpu->measurement_count; i++) {
        const struct fth_fleet_value *v =
            fth_fleet_find(fth_judge_measurement(judge->fleet, test->gpu, i), test->figure->index);
        finding.deviating += v && v->number == value;
    }
    return fth_judge_add(judge, result, &finding);
}

/* Returns the worst measurement of a figure. */
static double worst_of(const struct fth_fleet *fleet, const struct test *test)
{
    double worst = test->value;
    for (size_t i = 0; i < test->gpu->measurement_count; i++) {
        const struct fth_fleet_value *v =
            fth_fleet_find(fth_judge_measurement(fleet, test->gpu, i), test->figure->index);
        if (v && !isnan(v->number) && (v->number - worst) * test->figure->direction > 0)
            worst = v->number;
    }
    return worst;
}

/* Judges the worst of several measurements. */
static enum fth_status test_worst(struct fth_judge *judge, struct fth_fleet_result *result,
                                  const struct test *test, double threshold)
{
    const double value = worst_of(judge->fleet, test);
    if (is_impossible(value))
        return report_impossible(judge, result, test, value);
    const double ratio = log(value) - test->model.centre;
    if (fabs(expm1(ratio)) < test->figure->min_effect)
        return FTH_OK;
    const double distance = ratio / fth_judge_spread(&test->model, 1);
    if (distance * test->figure->direction < NOTABLE)
        return FTH_OK;
    const double p =
        (double)test->runs * fth_student_tail(fabs(distance), test->model.single_freedom);
    return p < threshold ? report(judge, result, test, value, distance, p, threshold) : FTH_OK;
}

static enum fth_status test_number(struct fth_judge *judge, struct fth_fleet_result *result,
                                   struct test *test)
{
    const struct fth_judge_figure *figure = test->figure;
    test->model = figure->model;
    if (is_impossible(test->value))
        return report_impossible(judge, result, test, test->value);
    const double x = log(test->value);
    if (judge->own && figure->model.gpus < FTH_JUDGE_LEAVE_OUT)
        fth_judge_model_fit(figure, fth_judge_point_near(figure, x), NULL, &test->model);
    const double ratio = x - test->model.centre;
    const double distance = ratio / fth_judge_spread(&test->model, test->runs);
    const size_t at = result->gpu * judge->judgement->column_count + figure->column;
    judge->ratios[at] = (float)ratio;
    result->scores[figure->column] = (float)(distance * figure->direction);
    judge->cohort.tests++;
    double worst_threshold;
    const double threshold = thresholds(judge, test->runs, &worst_threshold);
    if (fabs(distance) >= NOTABLE) {
        const double p = median_p(figure, &test->model, test->runs, fabs(ratio));
        if (distance * figure->direction > 0)
            FTH_TRY(note_small(judge, p));
        if (p < threshold && fabs(expm1(ratio)) >= figure->min_effect) {
            FTH_TRY(report(judge, result, test, test->value, distance, p, threshold));
            if (distance * figure->direction > 0)
                return FTH_OK;
        }
    }
    return test->runs > 1 ? test_worst(judge, result, test, worst_threshold) : FTH_OK;
}

enum fth_status fth_judge_numbers(struct fth_judge *judge, struct fth_fleet_result *result,
                                  size_t *judged)
{
    const struct fth_fleet_gpu *gpu = &judge->fleet->gpus[result->gpu];
    struct test test = {.gpu = gpu};
    for (size_t i = 0; i < judge->cohort.figure_count; i++) {
        const struct fth_judge_figure *figure = &judge->cohort.figures[i];
        if (!is_number(figure))
            continue;
        test.figure = figure;
        test.value = fth_fleet_gpu_median(judge->fleet, gpu, figure->index, &test.runs);
        if (isnan(test.value))
            continue;
        ++*judged;
        FTH_TRY(test_number(judge, result, &test));
    }
    return FTH_OK;
}

/* ---- severity ---- */

/* A node that judges itself tests few numbers, but so does each other node of the fleet. As many
 * tests count as if all GPUs of the reference were judged together, so that a GPU has the same
 * verdict in both cases. */
void fth_judge_count_tests(struct fth_judge *judge)
{
    const struct fth_judge_cohort *cohort = &judge->cohort;
    double all = 0;
    for (size_t i = 0; i < cohort->figure_count && !judge->own; i++)
        if (is_number(&cohort->figures[i]))
            all += cohort->figures[i].model.gpus;
    judge->tests += fmax(cohort->tests, all);
}

void fth_judge_severity(struct fth_judge *judge)
{
    double limit = 0;
    if (judge->small_count)
        qsort(judge->small_p, judge->small_count, sizeof *judge->small_p,
              fth_fleet_compare_numbers);
    for (size_t i = judge->small_count; i > 0 && !(limit > 0); i--)
        if (judge->small_p[i - 1] <= SEVERE_RATE * (double)i / judge->tests)
            limit = judge->small_p[i - 1];
    for (size_t g = 0; g < judge->fleet->gpu_count; g++) {
        struct fth_fleet_result *result = &judge->judgement->results[g];
        for (size_t i = 0; i < result->finding_count; i++) {
            struct fth_fleet_finding *finding = &result->findings[i];
            if ((finding->kind == FTH_FLEET_RATE || finding->kind == FTH_FLEET_TIME) &&
                finding->worse && fabs(finding->effect) >= SEVERE_EFFECT &&
                finding->single_p <= limit)
                finding->severe = true;
        }
    }
}

/* ---- summaries ---- */

/* Counts the GPUs in bins of equal width. Values beyond the ends are in the outermost bins. */
static void fill_bins(const struct fth_judge_figure *figure,
                      struct fth_fleet_figure_summary *summary)
{
    const struct fth_judge_point *points = figure->points;
    const double reach = fmax(HISTOGRAM_DEVIATIONS * sqrt(figure->model.total2),
                              HISTOGRAM_EFFECTS * figure->min_effect);
    const double low = exp(fmax(points[0].x, figure->model.centre - reach) - 1e-4);
    const double high =
        exp(fmin(points[figure->point_count - 1].x, figure->model.centre + reach) + 1e-4);
    summary->from = low;
    summary->to = high;
    summary->bin_count = FTH_COUNT(summary->bins);
    const size_t bins = FTH_COUNT(summary->bins);
    for (size_t i = 0; i < figure->point_count; i++) {
        const double place = (exp(points[i].x) - low) / (high - low) * (double)bins;
        summary->bins[(size_t)fmax(0, fmin((double)(bins - 1), floor(place)))] += points[i].count;
    }
}

void fth_judge_number_summary(struct fth_judge *judge, const struct fth_judge_figure *figure,
                              struct fth_fleet_figure_summary *summary)
{
    const struct fth_reference_figure *reference = figure->reference;
    summary->gpu_count = (size_t)reference->gpus.count;
    if (!reference->gpus.count)
        return;
    summary->median = fth_sketch_quantile(&reference->gpus, 0.5);
    summary->spread = FTH_JUDGE_MAD_SCALE * fth_sketch_deviation(&reference->gpus, summary->median);
    summary->low = fth_sketch_quantile(&reference->gpus, 0.01);
    summary->high = fth_sketch_quantile(&reference->gpus, 0.99);
    if (!is_number(figure))
        return;
    summary->noise = sqrt(figure->model.noise2);
    double unused;
    const double spread = fth_judge_spread(&figure->model, 1);
    const double threshold = thresholds(judge, 1, &unused);
    const double reach = fmax(log1p(figure->min_effect),
                              spread * fth_student_quantile(threshold, figure->model.freedom)) +
                         NORMAL_99 * spread;
    if (reach <= log(MAX_DETECTABLE))
        summary->detectable = fabs(expm1(figure->direction * reach));
    fill_bins(figure, summary);
}
