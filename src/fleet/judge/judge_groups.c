/* Which groups of GPUs differ together?
 *
 * Hosts and groups of the user (racks): the mean of the GPUs' distances from their cohort, each
 * limited so that one GPU cannot make the group stand out, times the square root of their number,
 * is nearly normal if the GPUs differ independently. Drivers and boards are cohorts of their own:
 * the medians of cohorts of the same model are compared. The p-values are multiplied by the number
 * of groups and figures (Bonferroni). A group is reported if the median of its GPUs differs by
 * min_effect at least, and if p is below the permitted rate of false alarms. */
#include "fleet/judge/judge.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limit of a distance. Chosen: in a group of two, one GPU alone does not reach significance. */
#define MAX_DISTANCE 4.0
/* Degrees of freedom for the sums. Chosen: sums of limited numbers have light tails. */
#define GROUP_FREEDOM 30
/* Cohorts with fewer GPUs are not compared with others. Chosen. */
#define MIN_COHORT 5
/* Smallest spread of a cohort, for figures that are equal on all of its GPUs. Chosen: twice the
 * smallest spread of judge_model.c, because a cohort also differs by circumstances. */
#define MIN_COHORT_SPREAD 0.001
/* Degrees of freedom that are added to those of the smaller cohort. Chosen: they stand for the
 * larger cohort and for the smallest spread. */
#define COHORT_FREEDOM 4.0

/* A GPU with the name of its group, ordered by name. */
struct member {
    const char *name;
    uint32_t gpu;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns the median; reorders the values. */
static double median_of(float *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_floats);
    return ((double)values[(count - 1) / 2] + (double)values[count / 2]) / 2;
}

static enum fth_status add_group(struct fth_judge *judge,
                                 const struct fth_fleet_group_finding *group)
{
    struct fth_fleet_judgement *judgement = judge->judgement;
    if (!fth_grow((void **)&judgement->groups, judgement->group_count, &judgement->group_capacity,
                  sizeof *judgement->groups))
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    judgement->groups[judgement->group_count++] = *group;
    return FTH_OK;
}

/* Returns the usual value of a column. If the members are of several cohorts, it is that of the
 * cohort which most of those with a value are of. */
static double usual_of(const struct fth_judge *judge, const struct member *members, size_t count,
                       size_t column)
{
    const struct fth_fleet_judgement *judgement = judge->judgement;
    const struct fth_fleet_cohort_summary *cohort = NULL;
    for (size_t c = 0, most = 0; c < judgement->cohort_count; c++) {
        size_t known = 0;
        for (size_t i = 0; i < count; i++)
            known += judge->fleet->gpus[members[i].gpu].cohort == c &&
                     !isnan(judgement->results[members[i].gpu].scores[column]);
        if (known > most) {
            most = known;
            cohort = &judgement->cohorts[c];
        }
    }
    for (size_t i = 0; cohort && i < cohort->figure_count; i++)
        if (strcmp(cohort->figures[i].name, judgement->columns[column]) == 0)
            return cohort->figures[i].median;
    return NAN;
}

/* Compares the members of one group with their cohorts. `ratios`: space for their number. */
static enum fth_status judge_group(struct fth_judge *judge, const char *kind,
                                   const struct member *members, size_t count, float *ratios,
                                   double tests)
{
    const struct fth_fleet_judgement *judgement = judge->judgement;
    const size_t columns = judgement->column_count;
    for (size_t c = 0; c < columns; c++) {
        double sum = 0;
        size_t known = 0;
        for (size_t i = 0; i < count; i++) {
            const double score = (double)judgement->results[members[i].gpu].scores[c];
            if (isnan(score))
                continue;
            sum += fmax(-MAX_DISTANCE, fmin(MAX_DISTANCE, score));
            ratios[known++] = judge->ratios[members[i].gpu * columns + c];
        }
        if (known < 2 || sum <= 0)
            continue;
        const double p = tests * fth_student_tail(sum / sqrt((double)known), GROUP_FREEDOM);
        if (!(p < judge->false_alarms))
            continue;
        const double effect = expm1(median_of(ratios, known));
        if (fabs(effect) < judge->min_effect)
            continue;
        const double usual = usual_of(judge, members, count, c);
        FTH_TRY(add_group(judge, &(struct fth_fleet_group_finding){
                                     .kind = kind,
                                     .name = members[0].name,
                                     .figure = judgement->columns[c],
                                     .gpu_count = known,
                                     .value = usual * (1 + effect),
                                     .usual = usual,
                                     .effect = effect,
                                     .p = p,
                                 }));
    }
    return FTH_OK;
}

/* Compares all hosts, or all groups of the user, with their cohorts. */
static enum fth_status judge_members(struct fth_judge *judge, bool hosts)
{
    const struct fth_fleet *fleet = judge->fleet;
    struct member *members = calloc(fleet->gpu_count + 1, sizeof *members);
    float *ratios = calloc(fleet->gpu_count + 1, sizeof *ratios);
    enum fth_status status = FTH_OK;
    size_t count = 0, groups = 0;
    if (!members || !ratios) {
        status = fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
        goto out;
    }
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const char *name = hosts ? fleet->gpus[i].host : fleet->gpus[i].group;
        if (name)
            members[count++] = (struct member){name, (uint32_t)i};
    }
    qsort(members, count, sizeof *members, compare_members);
    for (size_t i = 0; i < count; i++)
        groups += i == 0 || strcmp(members[i].name, members[i - 1].name) != 0;
    /* With a single group there is nothing to compare it with, unless there is a reference. */
    for (size_t i = 0, end; i < count && (groups > 1 || !judge->own); i = end) {
        for (end = i + 1; end < count && strcmp(members[end].name, members[i].name) == 0;)
            end++;
        if (end - i < 2)
            continue;
        const double tests = (double)groups * (double)judge->judgement->column_count;
        status = judge_group(judge, hosts ? "host" : "group", &members[i], end - i, ratios, tests);
        if (status != FTH_OK)
            goto out;
    }
out:
    free(members);
    free(ratios);
    return status;
}

/* ---- drivers and boards ---- */

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the variance of the median of a figure in a cohort. */
static double median_variance(const struct fth_fleet_figure_summary *figure)
{
    return FTH_JUDGE_MEDIAN_VARIANCE * pow(fmax(figure->spread, MIN_COHORT_SPREAD), 2) /
           (double)figure->gpu_count;
}

/* Compares the medians of two cohorts. */
static enum fth_status compare_cohorts(struct fth_judge *judge, const char *kind, const char *name,
                                       const struct fth_fleet_cohort_summary *cohort,
                                       const struct fth_fleet_cohort_summary *base)
{
    for (size_t i = 0; i < cohort->figure_count; i++) {
        const struct fth_fleet_figure_summary *a = &cohort->figures[i], *b = NULL;
        if ((a->kind != FTH_FLEET_RATE && a->kind != FTH_FLEET_TIME) || a->reason)
            continue;
        for (size_t j = 0; j < base->figure_count && !b; j++)
            if (strcmp(base->figures[j].name, a->name) == 0)
                b = &base->figures[j];
        if (!b || b->reason || a->gpu_count < MIN_COHORT || b->gpu_count < MIN_COHORT)
            continue;
        const double variance = median_variance(a) + median_variance(b);
        const double effect = a->median / b->median - 1;
        const double smaller = (double)FTH_MIN(a->gpu_count, b->gpu_count);
        const double freedom = FTH_JUDGE_MAD_EFFICIENCY * (smaller - 1) + COHORT_FREEDOM;
        const double p = 2 * (double)cohort->figure_count * (double)judge->judgement->cohort_count *
                         fth_student_tail(fabs(log1p(effect)) / sqrt(variance), freedom);
        if (fabs(effect) < judge->min_effect || !(p < judge->false_alarms))
            continue;
        FTH_TRY(add_group(judge, &(struct fth_fleet_group_finding){
                                     .kind = kind,
                                     .name = name,
                                     .figure = a->name,
                                     .gpu_count = a->gpu_count,
                                     .value = a->median,
                                     .usual = b->median,
                                     .effect = effect,
                                     .p = p,
                                 }));
    }
    return FTH_OK;
}

/* Compares each cohort with the largest one of its model that differs only in the driver, or only
 * in the board. */
static enum fth_status judge_cohorts(struct fth_judge *judge)
{
    const struct fth_fleet_judgement *judgement = judge->judgement;
    for (size_t i = 0; i < judgement->cohort_count; i++) {
        const struct fth_fleet_cohort *a = &judgement->cohorts[i].cohort;
        const struct fth_fleet_cohort_summary *base[2] = {NULL, NULL};
        if (a->gpu_count < MIN_COHORT)
            continue;
        for (size_t j = 0; j < judgement->cohort_count; j++) {
            const struct fth_fleet_cohort *b = &judgement->cohorts[j].cohort;
            if (j == i || b->gpu_count < a->gpu_count || (b->gpu_count == a->gpu_count && j > i) ||
                a->simulated != b->simulated || !same(a->model, b->model) ||
                !same(a->backend, b->backend))
                continue;
            const bool driver = same(a->driver, b->driver), board = same(a->board, b->board);
            if (driver == board)
                continue;
            if (!base[driver] || b->gpu_count > base[driver]->cohort.gpu_count)
                base[driver] = &judgement->cohorts[j];
        }
        if (base[0] && a->driver)
            FTH_TRY(compare_cohorts(judge, "driver", a->driver, &judgement->cohorts[i], base[0]));
        if (base[1] && a->board)
            FTH_TRY(compare_cohorts(judge, "board", a->board, &judgement->cohorts[i], base[1]));
    }
    return FTH_OK;
}

enum fth_status fth_judge_groups(struct fth_judge *judge)
{
    FTH_TRY(judge_members(judge, true));
    FTH_TRY(judge_members(judge, false));
    return judge_cohorts(judge);
}
