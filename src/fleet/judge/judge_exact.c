/* Does a size, a count or a text of a GPU differ from what its cohort has?
 *
 * Such figures are equal on all healthy GPUs of a model. The usual value is the one that more than
 * half of the GPUs have. A value that the driver reports and that differs is a finding. A measured
 * value can be wrong by chance. The probability of this is estimated in two ways, of which the
 * smaller one counts: 1 - confidence of the value, and the rate of unusual values in the cohort.
 * The number of wrong values among the measurements of a healthy GPU then follows the binomial
 * distribution.
 *
 * A value that many GPUs share is not a fault: it is a variant of the model. */
#include "fleet/judge/judge.h"

#include <math.h>
#include <string.h>

/* A value is a variant if this part of the GPUs, and at least this many, share it. Chosen. A
 * missing part of the GPU is a fault even on many of them. */
#define VARIANT_PART 0.05
#define VARIANT_PART_STRUCTURE 0.25
#define VARIANT_GPUS 5
/* From this confidence on, the rate of wrong values is taken from all figures of the cohort
 * together. Chosen: measured sizes have 0.99 to 0.9993; a probe that states less has a rate of its
 * own. */
#define SURE 0.99

/* Figures of which less means that a part of the GPU is missing. */
static const char *const structure[] = {
    "device.sms",      "device.memory_bus_bits", "device.copy_engines", "memory.size_bytes",
    "memory.channels", "l2.size_bytes",          "l2.partitions",       "l2.slices",
    "device.nvlinks",
};

static bool is_structure(const char *name)
{
    for (size_t i = 0; i < FTH_COUNT(structure); i++)
        if (strcmp(structure[i], name) == 0)
            return true;
    return false;
}

static bool is_variant(const struct fth_judge_figure *figure, uint64_t gpus)
{
    const double part = is_structure(figure->name) ? VARIANT_PART_STRUCTURE : VARIANT_PART;
    return gpus >= VARIANT_GPUS && (double)gpus >= part * (double)figure->known_gpus;
}

/* Returns why the usual value cannot be trusted; NULL: it can. Of two GPUs that differ, the one
 * with more of a part of the GPU is right. Of other figures, either value can be right. */
static const char *missing_majority(const struct fth_judge_figure *figure)
{
    if (2 * figure->usual_gpus > figure->known_gpus)
        return NULL;
    if (figure->known_gpus > 2)
        return "no value is shared by more than half of the GPUs";
    return is_structure(figure->name) && !isnan(figure->usual_number)
               ? NULL
               : "the two GPUs differ, and which one is right is unknown";
}

enum fth_status fth_judge_exact_prepare(struct fth_judge *judge, struct fth_judge_figure *figure)
{
    const struct fth_reference_figure *reference = figure->reference;
    const struct fth_fleet_occurrence *best = NULL;
    figure->known_gpus = reference->other_gpus;
    for (size_t i = 0; i < reference->value_count; i++) {
        figure->known_gpus += reference->values[i].gpus;
        /* Of equally common numbers, the largest one counts. They are in ascending order. */
        if (!best || reference->values[i].gpus >= best->gpus)
            best = &reference->values[i];
    }
    if (!best || figure->known_gpus < (judge->own ? 2U : 1U)) {
        figure->why = best ? "only one GPU has it" : "no GPU has it";
        return FTH_OK;
    }
    figure->usual = fth_fleet_intern(judge->fleet, best->text);
    if (!figure->usual)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    char *end = NULL;
    figure->usual_number = fth_strtod(best->text, &end);
    if (end == best->text || *end != '\0')
        figure->usual_number = NAN;
    figure->usual_gpus = best->gpus;
    for (size_t i = 0; i < reference->value_count; i++)
        if (&reference->values[i] != best && is_variant(figure, reference->values[i].gpus))
            figure->variant_gpus += reference->values[i].gpus;
    if (reference->kind != FTH_FLEET_EXACT)
        return FTH_OK; /* judge_state.c judges it */
    figure->why = missing_majority(figure);
    if (figure->why || figure->index == UINT32_MAX)
        return FTH_OK;
    struct fth_judge_cohort *cohort = &judge->cohort;
    cohort->exact_figures++;
    cohort->exact_known += (double)figure->known_gpus;
    cohort->exact_odd += (double)(figure->known_gpus - figure->usual_gpus - figure->variant_gpus);
    return FTH_OK;
}

static bool is_usual(const struct fth_judge_figure *figure, const struct fth_fleet_value *value)
{
    return isnan(value->number) ? value->text == figure->usual
                                : value->number == figure->usual_number;
}

/* Returns the number of GPUs of the reference with a value. */
static uint64_t gpus_with(const struct fth_judge_figure *figure,
                          const struct fth_fleet_value *value)
{
    const struct fth_reference_figure *reference = figure->reference;
    for (size_t i = 0; i < reference->value_count; i++) {
        const struct fth_fleet_occurrence *occurrence = &reference->values[i];
        if (isnan(value->number) ? strcmp(occurrence->text, value->text) == 0
                                 : fth_strtod(occurrence->text, NULL) == value->number)
            return occurrence->gpus;
    }
    return 0;
}

/* Returns the probability that at least `wrong` of `all` measurements have a wrong value. */
static double binomial_tail(size_t wrong, size_t all, double chance)
{
    double sum = 0;
    if (!(chance > 0))
        return wrong ? 0 : 1;
    if (chance >= 1)
        return 1;
    for (size_t k = wrong; k <= all; k++)
        sum += exp(lgamma((double)all + 1) - lgamma((double)k + 1) - lgamma((double)(all - k) + 1) +
                   (double)k * log(chance) + (double)(all - k) * log1p(-chance));
    return fmin(1, sum);
}

/* The values of a figure on a GPU. */
struct sample {
    const struct fth_fleet_value *odd; /* the latest value that is not the usual one; or NULL */
    size_t known, deviating;           /* measurements */
    double confidence;                 /* smallest of the deviating ones; NAN: the driver's */
};

static struct sample sample_of(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                               const struct fth_judge_figure *figure)
{
    struct sample sample = {.confidence = NAN};
    for (size_t i = 0; i < gpu->measurement_count; i++) {
        const struct fth_fleet_value *value =
            fth_fleet_find(fth_judge_measurement(fleet, gpu, i), figure->index);
        if (!value || (isnan(value->number) && !value->text))
            continue;
        sample.known++;
        if (is_usual(figure, value))
            continue;
        sample.deviating++;
        sample.odd = value;
        if (!isnan(value->confidence))
            sample.confidence = fmin(value->confidence, sample.confidence);
    }
    return sample;
}

/* Returns the probability that the values of a healthy GPU differ as much. `odd_figures`: number of
 * figures in which this GPU differs. */
static double chance_of(const struct fth_judge *judge, const struct fth_judge_figure *figure,
                        const struct sample *sample, size_t odd_figures)
{
    if (isnan(sample->confidence))
        return 0;
    /* A rate is estimated as (odd + 0.5) / (all + 1): the mean of the posterior distribution with
     * the prior of Jeffreys. If the cohort is its own reference, the GPU itself does not count. */
    const double own = judge->own ? 1 : 0;
    const double odd =
        fmax(0, (double)(figure->known_gpus - figure->usual_gpus - figure->variant_gpus) - own);
    const double pooled = (fmax(0, judge->cohort.exact_odd - own * (double)odd_figures) + 0.5) /
                          (judge->cohort.exact_known + 1);
    const double rate = sample->confidence < SURE ? (odd + 0.5) / ((double)figure->known_gpus + 1)
                                                  : fmax(pooled, odd / (double)figure->known_gpus);
    return binomial_tail(sample->deviating, sample->known, fmin(1 - sample->confidence, rate));
}

static enum fth_status report(struct fth_judge *judge, struct fth_fleet_result *result,
                              const struct fth_judge_figure *figure, const struct sample *sample,
                              double p)
{
    const struct fth_fleet_value *value = sample->odd;
    const bool numbers = !isnan(value->number) && !isnan(figure->usual_number);
    const bool less = numbers && value->number < figure->usual_number;
    const bool structural = is_structure(figure->name);
    struct fth_fleet_finding finding = {
        .figure = figure->name,
        .kind = FTH_FLEET_EXACT,
        .value = numbers ? value->number : NAN,
        .usual = numbers ? figure->usual_number : NAN,
        .text = numbers ? NULL : value->text,
        .usual_text = numbers ? NULL : figure->usual,
        .effect =
            numbers && figure->usual_number > 0 ? value->number / figure->usual_number - 1 : NAN,
        .worse = !(structural && !less),
        .distance = NAN,
        .p = fmin(1, p * (double)judge->cohort.exact_figures / FTH_JUDGE_SHARE_EXACT),
        .single_p = p,
        .measurements = sample->known,
        .deviating = sample->deviating,
        .severe = structural && less && sample->deviating == sample->known,
    };
    /* A number among texts, or the reverse. */
    if (!numbers && !isnan(value->number)) {
        char text[40];
        finding.text = fth_judge_text(judge, fth_number_format(value->number, text, sizeof text));
        if (!finding.text)
            return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    }
    return fth_judge_add(judge, result, &finding);
}

static bool is_exact(const struct fth_judge_figure *figure)
{
    return figure->reference->kind == FTH_FLEET_EXACT && !figure->why && figure->usual;
}

enum fth_status fth_judge_exact(struct fth_judge *judge, struct fth_fleet_result *result,
                                size_t *judged)
{
    const struct fth_fleet_gpu *gpu = &judge->fleet->gpus[result->gpu];
    const struct fth_judge_cohort *cohort = &judge->cohort;
    size_t odd = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < cohort->figure_count; i++) {
            const struct fth_judge_figure *figure = &cohort->figures[i];
            if (!is_exact(figure))
                continue;
            const struct sample sample = sample_of(judge->fleet, gpu, figure);
            if (pass == 0) {
                *judged += sample.known > 0;
                odd += sample.deviating > 0;
                continue;
            }
            if (!sample.deviating || is_variant(figure, gpus_with(figure, sample.odd)))
                continue;
            const double p = chance_of(judge, figure, &sample, odd);
            if (p * (double)cohort->exact_figures < FTH_JUDGE_SHARE_EXACT * judge->false_alarms)
                FTH_TRY(report(judge, result, figure, &sample, p));
        }
        if (!odd)
            break;
    }
    return FTH_OK;
}
