/* Makes the reference of a fleet. Each GPU counts once per figure: with the median of its numbers,
 * or with its most frequent value. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "make the reference of a fleet";

/* What is needed to add the GPUs of a cohort. */
struct maker {
    const struct fth_fleet *fleet;
    struct fth_fleet_reference *reference;
    struct fth_reference_cohort *cohort;
    uint32_t *position;             /* [figures of the fleet] in the cohort; UINT32_MAX: none */
    struct fth_fleet_value *values; /* of one GPU, ordered by figure */
    double *numbers;                /* of one figure of one GPU */
};

/* Adds the figures that the GPUs of a cohort have to its reference. */
static enum fth_status list_figures(struct maker *maker, uint32_t cohort, struct fth_error *error)
{
    const struct fth_fleet *fleet = maker->fleet;
    struct fth_reference_figure *added = NULL;
    for (size_t i = 0; i < fleet->figure_count; i++)
        maker->position[i] = UINT32_MAX;
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const struct fth_fleet_measurement *measurement = &fleet->measurements[i];
        if (fleet->gpus[measurement->gpu].cohort != cohort)
            continue;
        for (size_t j = 0; j < measurement->value_count; j++) {
            const uint32_t figure = measurement->values[j].figure;
            if (maker->position[figure] == 0 || fleet->figures[figure].kind == FTH_FLEET_CONTEXT)
                continue;
            FTH_TRY(fth_reference_add_figure(maker->reference, maker->cohort,
                                             fleet->figures[figure].name,
                                             fleet->figures[figure].kind, &added, error));
            maker->position[figure] = 0;
        }
    }
    for (size_t i = 0; i < fleet->figure_count; i++)
        if (maker->position[i] == 0)
            maker->position[i] =
                (uint32_t)(fth_reference_find(maker->cohort, fleet->figures[i].name) -
                           maker->cohort->figures);
    return FTH_OK;
}

static int compare_values(const void *a, const void *b)
{
    const struct fth_fleet_value *left = a, *right = b;
    if (left->figure != right->figure)
        return left->figure < right->figure ? -1 : 1;
    if (isnan(left->number) != isnan(right->number))
        return isnan(left->number) ? 1 : -1;
    if (isnan(left->number))
        return strcmp(left->text ? left->text : "", right->text ? right->text : "");
    return (left->number > right->number) - (left->number < right->number);
}

/* Adds numbers of a figure of one GPU, in ascending order. */
static enum fth_status add_numbers(struct maker *maker, struct fth_reference_figure *figure,
                                   const struct fth_fleet_value *values, size_t count,
                                   struct fth_error *error)
{
    for (size_t i = 0; i < count; i++)
        maker->numbers[i] = values[i].number;
    const double median = fth_fleet_median(maker->numbers, count);
    if (!(median > 0) || !isfinite(median))
        return FTH_OK; /* its logarithm is not in a distribution */
    FTH_TRY(fth_sketch_add(&figure->gpus, median, error));
    figure->repeated_gpus += count > 1;
    for (size_t i = 0; i < count && count > 1; i++)
        if (values[i].number > 0 && isfinite(values[i].number))
            FTH_TRY(fth_sketch_add(&figure->repeats, fabs(log(values[i].number) - log(median)) + 1,
                                   error));
    return FTH_OK;
}

/* Adds the most frequent of the values of a figure of one GPU, which are ordered; the first of
 * several. */
static enum fth_status add_exact(struct maker *maker, struct fth_reference_figure *figure,
                                 const struct fth_fleet_value *values, size_t count,
                                 struct fth_error *error)
{
    size_t best = 0, best_count = 0;
    for (size_t i = 0, first = 0; i < count; i++) {
        if (compare_values(&values[first], &values[i]) != 0)
            first = i;
        if (i - first + 1 > best_count) {
            best_count = i - first + 1;
            best = first;
        }
    }
    char number[32];
    if (figure->kind == FTH_FLEET_STATE && values[best].number >= 0 &&
        isfinite(values[best].number))
        FTH_TRY(fth_sketch_add(&figure->gpus, 1 + fth_reference_round(values[best].number), error));
    const char *text = values[best].text
                           ? values[best].text
                           : fth_number_format(values[best].number, number, sizeof number);
    return fth_reference_add_value(maker->reference, figure, text, 1, error);
}

static enum fth_status add_gpu(struct maker *maker, const struct fth_fleet_gpu *gpu,
                               struct fth_error *error)
{
    const struct fth_fleet *fleet = maker->fleet;
    size_t count = 0;
    for (size_t i = 0; i < gpu->measurement_count; i++) {
        const struct fth_fleet_measurement *measurement =
            &fleet->measurements[fleet->by_gpu[gpu->first_measurement + i]];
        for (size_t j = 0; j < measurement->value_count; j++)
            maker->values[count++] = measurement->values[j];
    }
    if (gpu->measurement_count > 1)
        qsort(maker->values, count, sizeof *maker->values, compare_values);
    for (size_t first = 0, end; first < count; first = end) {
        const uint32_t figure = maker->values[first].figure;
        for (end = first + 1; end < count && maker->values[end].figure == figure; end++)
            continue;
        if (maker->position[figure] == UINT32_MAX)
            continue;
        struct fth_reference_figure *target = &maker->cohort->figures[maker->position[figure]];
        FTH_TRY(target->kind <= FTH_FLEET_TIME
                    ? add_numbers(maker, target, &maker->values[first], end - first, error)
                    : add_exact(maker, target, &maker->values[first], end - first, error));
    }
    return FTH_OK;
}

/* Allocates space for the values of the GPU that has most of them. */
static enum fth_status maker_init(struct maker *maker, struct fth_error *error)
{
    const struct fth_fleet *fleet = maker->fleet;
    size_t largest = 0, most = 0;
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        size_t count = 0;
        for (size_t j = 0; j < gpu->measurement_count; j++)
            count += fleet->measurements[fleet->by_gpu[gpu->first_measurement + j]].value_count;
        largest = count > largest ? count : largest;
        most = gpu->measurement_count > most ? gpu->measurement_count : most;
    }
    maker->position = calloc(fleet->figure_count + 1, sizeof *maker->position);
    maker->values = calloc(largest + 1, sizeof *maker->values);
    maker->numbers = calloc(most + 1, sizeof *maker->numbers);
    return maker->position && maker->values && maker->numbers
               ? FTH_OK
               : fth_no_memory(error, operation, NULL);
}

enum fth_status fth_reference_make(const struct fth_fleet *fleet,
                                   struct fth_fleet_reference **reference, struct fth_error *error)
{
    struct maker maker = {.fleet = fleet};
    *reference = NULL;
    enum fth_status status = fth_reference_create(&maker.reference, error);
    if (status == FTH_OK)
        status = maker_init(&maker, error);
    for (uint32_t i = 0; status == FTH_OK && i < fleet->cohort_count; i++) {
        status =
            fth_reference_add_cohort(maker.reference, &fleet->cohorts[i], &maker.cohort, error);
        if (status == FTH_OK)
            status = list_figures(&maker, i, error);
        for (size_t j = 0; status == FTH_OK && j < fleet->gpu_count; j++)
            if (fleet->gpus[j].cohort == i)
                status = add_gpu(&maker, &fleet->gpus[j], error);
    }
    free(maker.position);
    free(maker.values);
    free(maker.numbers);
    if (status == FTH_OK)
        *reference = maker.reference;
    else
        fth_fleet_reference_destroy(maker.reference);
    return status;
}

enum fth_status fth_fleet_refer(struct fth_fleet *fleet,
                                const struct fth_fleet_judge_options *options,
                                struct fth_fleet_reference **reference, struct fth_error *error)
{
    struct fth_fleet_judge_options known;
    *reference = NULL;
    FTH_TRY(fth_options_read("fth_fleet_judge_options", options, &known, sizeof known, error));
    const struct fth_fleet_mixing mixing = {known.mix_drivers, known.mix_boards};
    FTH_TRY(fth_fleet_arrange(fleet, &mixing, error));
    return fth_reference_make(fleet, reference, error);
}
