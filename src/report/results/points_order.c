/* The order of points by an objective, and those points that no other point dominates. */
#include "report/results/points_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "show points";

/* MAX_FIGURES: of a Pareto table. MAX_NAME: bytes of the name of one. NO_PARAMETER: it is not a
 * parameter. */
enum { MAX_FIGURES = 8, MAX_NAME = 64 };
#define NO_PARAMETER SIZE_MAX

static const struct objective {
    const char *name;
    enum fth_point_figure figure;
    bool more; /* more is better */
    const char *unit;
} objectives[] = {
    {"time", FTH_POINT_TIME, false, "us"},
    {"floor", FTH_POINT_FLOOR, false, "us"},
    {"dram", FTH_POINT_DRAM_BYTES, false, "bytes"},
    {"l2_bytes", FTH_POINT_L2_BYTES, false, "bytes"},
    {"l1_hit", FTH_POINT_L1_HIT, true, "%"},
    {"l2_hit", FTH_POINT_L2_HIT, true, "%"},
};

/* A figure by which points are compared. */
struct criterion {
    const struct objective *objective; /* NULL: a parameter */
    char name[MAX_NAME];
    size_t parameter; /* index of fth_point_rows.names, or NO_PARAMETER */
};

static const struct objective *find_objective(const char *name)
{
    for (size_t i = 0; i < FTH_COUNT(objectives); i++)
        if (strcmp(objectives[i].name, name) == 0)
            return &objectives[i];
    return NULL;
}

static enum fth_status refuse_objective(const char *name, const char *also, struct fth_error *error)
{
    return fth_fail(error, FTH_NOT_FOUND, operation, name,
                    "it is not one of time, floor, dram, l2_bytes, l1_hit, l2_hit%s", also);
}

/* Divides the text of a Pareto table into criteria; parameters are not looked up yet. */
static enum fth_status parse_pareto(const char *text, struct criterion criteria[MAX_FIGURES],
                                    size_t *count, struct fth_error *error)
{
    *count = 0;
    for (const char *at = text; at;) {
        const size_t size = strcspn(at, ",");
        if (*count == MAX_FIGURES || size == 0 || size >= MAX_NAME)
            break;
        struct criterion *criterion = &criteria[(*count)++];
        memcpy(criterion->name, at, size);
        criterion->name[size] = '\0';
        criterion->objective = find_objective(criterion->name);
        criterion->parameter = NO_PARAMETER;
        at = at[size] ? at + size + 1 : NULL;
        if (!at && *count >= 2)
            return FTH_OK;
    }
    return fth_fail(error, FTH_INVALID, operation, text,
                    "expected 2 to %d figures or parameters, such as l1.size_bytes,time",
                    MAX_FIGURES);
}

static bool is_parameter(const char *name)
{
    struct fth_model_parameter parameter;
    for (size_t i = 0; fth_model_parameter(i, &parameter); i++)
        if (strcmp(parameter.name, name) == 0)
            return true;
    return false;
}

enum fth_status fth_points_view_check(const struct fth_points_view *given, struct fth_error *error)
{
    struct fth_points_view view;
    struct criterion criteria[MAX_FIGURES] = {{0}};
    size_t count = 0;
    FTH_TRY(fth_options_read("fth_points_view", given, &view, sizeof view, error));
    if (view.objective && !find_objective(view.objective))
        return refuse_objective(view.objective, "", error);
    if (view.pareto)
        FTH_TRY(parse_pareto(view.pareto, criteria, &count, error));
    for (size_t i = 0; i < count; i++)
        if (!criteria[i].objective && !is_parameter(criteria[i].name))
            return refuse_objective(criteria[i].name, " or a parameter of the model", error);
    return FTH_OK;
}

/* Returns a figure of a point, so that less is better; NAN: it does not have it. */
static double cost_of(const struct fth_point_entry *point, const struct criterion *criterion)
{
    uint64_t number;
    if (criterion->parameter != NO_PARAMETER) {
        const char *value = point->values[criterion->parameter];
        return value && fth_size_parse(value, &number, NULL) == FTH_OK ? (double)number
                                                                       : (double)NAN;
    }
    const enum fth_point_figure figure = criterion->objective->figure;
    if (figure == FTH_POINT_L1_HIT || figure == FTH_POINT_L2_HIT) {
        const struct fth_point_reads *reads = figure == FTH_POINT_L1_HIT ? &point->l1 : &point->l2;
        return reads->sectors > 0 ? -100 * reads->hits / reads->sectors : (double)NAN;
    }
    return point->count ? point->totals[figure] : (double)NAN;
}

/* Looks up a parameter of a criterion, and checks that some point has the figure. */
static enum fth_status find_criterion(const struct fth_point_rows *rows,
                                      struct criterion *criterion, struct fth_error *error)
{
    for (size_t i = 0; i < rows->name_count && !criterion->objective; i++)
        if (strcmp(rows->names[i], criterion->name) == 0)
            criterion->parameter = i;
    if (!criterion->objective && criterion->parameter == NO_PARAMETER)
        return fth_fail(error, FTH_NOT_FOUND, operation, criterion->name,
                        "the parameter does not vary in these points");
    for (size_t i = 0; i < rows->point_count; i++)
        if (!isnan(cost_of(&rows->points[i], criterion)))
            return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, criterion->name, "%s",
                    criterion->objective ? "no point has this figure; a time needs a model with "
                                           "time (gpu.timing), a floor needs bandwidths"
                                         : "its values are not whole numbers");
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Returns 0 for points that can be compared: of the same study and trace. */
static int compare_groups(const struct fth_point_entry *a, const struct fth_point_entry *b)
{
    const int study = compare_texts(a->study, b->study);
    return study ? study : compare_texts(a->trace, b->trace);
}

/* ---- Pareto ---- */

/* Whether `other` is at least as good as `point` in all criteria, and better in one. */
static bool dominates(const struct fth_point_entry *other, const struct fth_point_entry *point,
                      const struct criterion *criteria, size_t count)
{
    bool better = false;
    for (size_t i = 0; i < count; i++) {
        const double its = cost_of(other, &criteria[i]), own = cost_of(point, &criteria[i]);
        if (!(its <= own))
            return false;
        better = better || its < own;
    }
    return better;
}

/* Keeps the points that have all figures and that no other point dominates. */
static void keep_best(const struct fth_point_rows *rows, const struct criterion *criteria,
                      size_t count, struct fth_point_order *order)
{
    order->count = 0;
    for (size_t i = 0; i < rows->point_count; i++) {
        const struct fth_point_entry *point = &rows->points[i];
        bool kept = true;
        for (size_t c = 0; c < count; c++)
            kept = kept && !isnan(cost_of(point, &criteria[c]));
        for (size_t k = 0; k < rows->point_count && kept; k++)
            kept = compare_groups(&rows->points[k], point) != 0 ||
                   !dominates(&rows->points[k], point, criteria, count);
        if (kept)
            order->points[order->count++] = i;
    }
}

/* ---- sorting ---- */

struct sorted {
    const struct fth_point_entry *point;
    size_t index, group; /* `group`: index of the first point of its study and trace */
    double cost;
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (isnan(x->cost) != isnan(y->cost))
        return isnan(x->cost) ? 1 : -1;
    if (!isnan(x->cost) && x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Names the best point of a study and trace. */
static void put_best(struct fth_buffer *out, const struct fth_point_rows *rows,
                     const struct sorted *best, const struct objective *objective, bool several)
{
    char number[32];
    if (isnan(best->cost))
        return;
    fth_number_format(round(fabs(best->cost) * 1000) / 1000, number, sizeof number);
    fth_buffer_format(out, "Best %s", objective->name);
    if (several)
        fth_buffer_format(out, " of %s%s%s",
                          best->point->study && *best->point->study ? best->point->study : "",
                          best->point->study && *best->point->study ? ", " : "",
                          best->point->trace ? best->point->trace : "-");
    fth_buffer_format(out, ": point %.0f, %s %s", best->point->number, number, objective->unit);
    if (best->point->gpu)
        fth_buffer_format(out, ", %s", best->point->gpu);
    for (size_t i = 0; i < rows->name_count; i++)
        if (best->point->values[i])
            fth_buffer_format(out, ", %s=%s", rows->names[i], best->point->values[i]);
    fth_buffer_text(out, ".\n");
}

/* Sorts the points by a criterion. `name_best`: it is an objective; name the best points. */
static enum fth_status sort_points(const struct fth_point_rows *rows,
                                   const struct criterion *criterion, bool name_best,
                                   struct fth_point_order *order, struct fth_error *error)
{
    struct sorted *sorted = calloc(order->count + 1, sizeof *sorted);
    if (!sorted)
        return fth_no_memory(error, operation, NULL);
    bool several = false;
    for (size_t i = 0; i < order->count; i++) {
        const struct fth_point_entry *point = &rows->points[order->points[i]];
        size_t group = 0;
        while (compare_groups(&rows->points[group], point) != 0)
            group++;
        sorted[i] = (struct sorted){point, order->points[i], group, cost_of(point, criterion)};
        several = several || group != sorted[0].group;
    }
    qsort(sorted, order->count, sizeof *sorted, compare_sorted);
    for (size_t i = 0; i < order->count; i++) {
        order->points[i] = sorted[i].index;
        if (name_best && (i == 0 || sorted[i].group != sorted[i - 1].group))
            put_best(&order->notes, rows, &sorted[i], criterion->objective, several);
    }
    free(sorted);
    return FTH_OK;
}

/* ---- the view ---- */

/* Keeps the points of a Pareto table, and sorts them by its first figure. */
static enum fth_status apply_pareto(const struct fth_point_rows *rows, const char *text,
                                    struct fth_point_order *order, struct fth_error *error)
{
    struct criterion criteria[MAX_FIGURES] = {{0}};
    size_t count;
    FTH_TRY(parse_pareto(text, criteria, &count, error));
    for (size_t i = 0; i < count; i++)
        FTH_TRY(find_criterion(rows, &criteria[i], error));
    keep_best(rows, criteria, count, order);
    fth_buffer_text(&order->notes, "Pareto points of ");
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(&order->notes, "%s%s",
                          i == 0           ? ""
                          : i + 1 == count ? " and "
                                           : ", ",
                          criteria[i].name);
    fth_buffer_format(&order->notes, ": %zu of %zu points.\n", order->count, rows->point_count);
    return sort_points(rows, &criteria[0], false, order, error);
}

enum fth_status fth_point_order_find(const struct fth_point_rows *rows,
                                     const struct fth_points_view *view,
                                     struct fth_point_order *order, struct fth_error *error)
{
    *order = (struct fth_point_order){.points = calloc(rows->point_count + 1, sizeof(size_t))};
    if (!order->points)
        return fth_no_memory(error, operation, NULL);
    for (; order->count < rows->point_count; order->count++)
        order->points[order->count] = order->count;
    if (view->pareto)
        FTH_TRY(apply_pareto(rows, view->pareto, order, error));
    if (!view->objective)
        return FTH_OK;
    struct criterion criterion = {.objective = find_objective(view->objective),
                                  .parameter = NO_PARAMETER};
    snprintf(criterion.name, sizeof criterion.name, "%s", view->objective);
    if (!criterion.objective)
        return refuse_objective(view->objective, "", error);
    FTH_TRY(find_criterion(rows, &criterion, error));
    return sort_points(rows, &criterion, true, order, error);
}

void fth_point_order_fini(struct fth_point_order *order)
{
    free(order->points);
    fth_buffer_fini(&order->notes);
}
