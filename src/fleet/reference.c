/* References: how common each value of each figure is in each cohort. A reference holds counts
 * only, and what it keeps does not depend on the order in which GPUs are added. Merging the
 * references of the parts of a fleet therefore gives the reference of the whole. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "make the reference of a fleet";

enum fth_status fth_reference_create(struct fth_fleet_reference **reference,
                                     struct fth_error *error)
{
    *reference = calloc(1, sizeof **reference);
    return *reference ? FTH_OK : fth_no_memory(error, operation, NULL);
}

void fth_fleet_reference_destroy(struct fth_fleet_reference *reference)
{
    if (!reference)
        return;
    for (size_t i = 0; i < reference->cohort_count; i++) {
        struct fth_reference_cohort *cohort = &reference->cohorts[i];
        for (size_t j = 0; j < cohort->figure_count; j++) {
            fth_sketch_fini(&cohort->figures[j].gpus);
            fth_sketch_fini(&cohort->figures[j].repeats);
            free(cohort->figures[j].values);
        }
        free(cohort->figures);
    }
    free(reference->cohorts);
    fth_arena_fini(&reference->arena);
    free(reference);
}

/* ---- cohorts ---- */

/* Copies a text that may be NULL. Returns false without memory. */
static bool copy_text(struct fth_fleet_reference *reference, const char **text)
{
    if (*text)
        *text = fth_arena_text(&reference->arena, *text);
    return *text != NULL;
}

enum fth_status fth_reference_add_cohort(struct fth_fleet_reference *reference,
                                         const struct fth_fleet_cohort *cohort,
                                         struct fth_reference_cohort **added,
                                         struct fth_error *error)
{
    size_t at = 0;
    int order = 1;
    while (at < reference->cohort_count &&
           (order = fth_fleet_cohort_compare(cohort, &reference->cohorts[at].cohort)) > 0)
        at++;
    if (at < reference->cohort_count && order == 0) {
        *added = &reference->cohorts[at];
        (*added)->cohort.gpu_count += cohort->gpu_count;
        return FTH_OK;
    }
    struct fth_fleet_cohort copy = *cohort;
    const bool copied = (!copy.model || copy_text(reference, &copy.model)) &&
                        (!copy.backend || copy_text(reference, &copy.backend)) &&
                        (!copy.driver || copy_text(reference, &copy.driver)) &&
                        (!copy.board || copy_text(reference, &copy.board));
    if (!copied || !fth_grow((void **)&reference->cohorts, reference->cohort_count,
                             &reference->cohort_capacity, sizeof *reference->cohorts))
        return fth_no_memory(error, operation, NULL);
    *added = &reference->cohorts[at];
    memmove(*added + 1, *added, (reference->cohort_count - at) * sizeof **added);
    **added = (struct fth_reference_cohort){.cohort = copy};
    reference->cohort_count++;
    return FTH_OK;
}

/* Returns whether two cohorts are equal but for what is mixed in one of them. */
static bool is_comparable(const struct fth_fleet_cohort *a, const struct fth_fleet_cohort *b)
{
    struct fth_fleet_cohort left = *a, right = *b;
    if (left.mixed_drivers || right.mixed_drivers) {
        left.driver = right.driver = NULL;
        left.mixed_drivers = right.mixed_drivers = true;
    }
    if (left.mixed_boards || right.mixed_boards) {
        left.board = right.board = NULL;
        left.mixed_boards = right.mixed_boards = true;
    }
    return fth_fleet_cohort_compare(&left, &right) == 0;
}

const struct fth_reference_cohort *fth_reference_cohort_for(
    const struct fth_fleet_reference *reference, const struct fth_fleet_cohort *cohort)
{
    const struct fth_reference_cohort *best = NULL;
    for (size_t i = 0; i < reference->cohort_count; i++) {
        const struct fth_reference_cohort *candidate = &reference->cohorts[i];
        if (fth_fleet_cohort_compare(&candidate->cohort, cohort) == 0)
            return candidate;
        if (is_comparable(&candidate->cohort, cohort) &&
            (!best || candidate->cohort.gpu_count > best->cohort.gpu_count))
            best = candidate;
    }
    return best;
}

/* ---- figures ---- */

/* Returns the position of the first figure whose name is not less than `name`. */
static size_t find_figure(const struct fth_reference_cohort *cohort, const char *name)
{
    size_t low = 0, high = cohort->figure_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(cohort->figures[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fth_reference_figure *fth_reference_find(const struct fth_reference_cohort *cohort,
                                                      const char *name)
{
    const size_t at = find_figure(cohort, name);
    return at < cohort->figure_count && strcmp(cohort->figures[at].name, name) == 0
               ? &cohort->figures[at]
               : NULL;
}

enum fth_status fth_reference_add_figure(struct fth_fleet_reference *reference,
                                         struct fth_reference_cohort *cohort, const char *name,
                                         enum fth_fleet_kind kind,
                                         struct fth_reference_figure **added,
                                         struct fth_error *error)
{
    const size_t at = find_figure(cohort, name);
    if (at < cohort->figure_count && strcmp(cohort->figures[at].name, name) == 0) {
        *added = &cohort->figures[at];
        if ((*added)->kind != kind)
            return fth_fail(error, FTH_INVALID, "merge references", name,
                            "its kind is %s in one of them, and %s in another",
                            fth_fleet_kind_name((*added)->kind), fth_fleet_kind_name(kind));
        return FTH_OK;
    }
    const char *copy = name;
    if (!copy_text(reference, &copy) ||
        !fth_grow((void **)&cohort->figures, cohort->figure_count, &cohort->figure_capacity,
                  sizeof *cohort->figures))
        return fth_no_memory(error, operation, name);
    *added = &cohort->figures[at];
    memmove(*added + 1, *added, (cohort->figure_count - at) * sizeof **added);
    **added = (struct fth_reference_figure){.name = copy, .kind = kind};
    cohort->figure_count++;
    return FTH_OK;
}

/* Orders exact values: numbers, in ascending order, come before other texts. */
static int compare_exact(const char *a, const char *b)
{
    char *end_a, *end_b;
    const double left = fth_strtod(a, &end_a), right = fth_strtod(b, &end_b);
    const bool left_is_text = end_a == a || *end_a || isnan(left);
    const bool right_is_text = end_b == b || *end_b || isnan(right);
    if (left_is_text != right_is_text)
        return left_is_text ? 1 : -1;
    if (!left_is_text && left != right)
        return left < right ? -1 : 1;
    return strcmp(a, b);
}

enum fth_status fth_reference_add_value(struct fth_fleet_reference *reference,
                                        struct fth_reference_figure *figure, const char *text,
                                        uint64_t gpus, struct fth_error *error)
{
    size_t at = 0;
    int order = 1;
    while (at < figure->value_count && (order = strcmp(text, figure->values[at].text)) != 0 &&
           (order = compare_exact(text, figure->values[at].text)) > 0)
        at++;
    if (at < figure->value_count && order == 0) {
        figure->values[at].gpus += gpus;
        return FTH_OK;
    }
    if (at == FTH_REFERENCE_MAX_VALUES) {
        figure->other_gpus += gpus;
        return FTH_OK;
    }
    const char *copy = text;
    if (!copy_text(reference, &copy) || !fth_grow((void **)&figure->values, figure->value_count,
                                                  &figure->value_capacity, sizeof *figure->values))
        return fth_no_memory(error, operation, figure->name);
    if (figure->value_count == FTH_REFERENCE_MAX_VALUES)
        figure->other_gpus += figure->values[--figure->value_count].gpus;
    memmove(&figure->values[at + 1], &figure->values[at],
            (figure->value_count - at) * sizeof *figure->values);
    figure->values[at] = (struct fth_fleet_occurrence){copy, gpus};
    figure->value_count++;
    return FTH_OK;
}

double fth_reference_round(double number)
{
    if (!(number >= 100))
        return number;
    number = fmin(number, 1e300); /* so that rounding does not overflow */
    const double unit = pow(10, floor(log10(number)) - 1);
    return round(number / unit) * unit;
}

/* ---- merging ---- */

static enum fth_status merge_figure(struct fth_fleet_reference *reference,
                                    struct fth_reference_cohort *cohort,
                                    const struct fth_reference_figure *other,
                                    struct fth_error *error)
{
    struct fth_reference_figure *figure = NULL;
    FTH_TRY(fth_reference_add_figure(reference, cohort, other->name, other->kind, &figure, error));
    FTH_TRY(fth_sketch_merge(&figure->gpus, &other->gpus, error));
    const bool known = (figure->repeated_gpus || !figure->repeats.count) &&
                       (other->repeated_gpus || !other->repeats.count);
    figure->repeated_gpus = known ? figure->repeated_gpus + other->repeated_gpus : 0;
    FTH_TRY(fth_sketch_merge(&figure->repeats, &other->repeats, error));
    for (size_t i = 0; i < other->value_count; i++)
        FTH_TRY(fth_reference_add_value(reference, figure, other->values[i].text,
                                        other->values[i].gpus, error));
    figure->other_gpus += other->other_gpus;
    return FTH_OK;
}

enum fth_status fth_fleet_reference_merge(struct fth_fleet_reference *reference,
                                          const struct fth_fleet_reference *other,
                                          struct fth_error *error)
{
    for (size_t i = 0; i < other->cohort_count; i++) {
        const struct fth_reference_cohort *from = &other->cohorts[i];
        struct fth_reference_cohort *cohort = NULL;
        FTH_TRY(fth_reference_add_cohort(reference, &from->cohort, &cohort, error));
        for (size_t j = 0; j < from->figure_count; j++)
            FTH_TRY(merge_figure(reference, cohort, &from->figures[j], error));
    }
    return FTH_OK;
}
