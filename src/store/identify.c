/* Which of the enrolled GPUs is it?
 *
 * The one with the nearest centroid (stats/nearest.c), in units that the enrolled runs teach: what
 * scatters from run to run counts little. How near is near is learned from them, too. Each enrolled
 * run is taken out, and its distance from the others of its GPU taken: twice what nine of ten of
 * these stay below is the limit. A GPU beyond it is none of those that are known, and that is said.
 */
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "identify";

static const double limit_quantile = 0.9, limit_factor = 2;
/* In units of a standard deviation, where hardly anything scatters. */
static const double min_limit = 1;
/* Two GPUs within the limit are told apart where one is nearer by this: see the margin of stats.h.
 */
static const double min_margin = 0.1;

/* ---- the runs that a row of features can be compared with ---- */

struct circle {
    size_t features, rows, classes;
    double *examples; /* [rows][features] */
    size_t *labels;   /* of each row */
    size_t *run;      /* of each row: its index */
    size_t *first;    /* of each class: the index of its first run */
    double *weights;  /* of each feature */
    double *distance; /* of each class, from what was compared last; INFINITY: nothing in common */
    struct fth_arena arena;
};

static bool allocate(struct circle *circle, size_t runs)
{
    struct fth_arena *arena = &circle->arena;
    circle->examples = fth_arena_array(arena, runs, circle->features * sizeof(double));
    circle->labels = fth_arena_array(arena, runs, sizeof(size_t));
    circle->run = fth_arena_array(arena, runs, sizeof(size_t));
    circle->first = fth_arena_array(arena, runs, sizeof(size_t));
    circle->distance = fth_arena_array(arena, runs, sizeof(double));
    circle->weights = fth_arena_array(arena, circle->features, sizeof(double));
    return circle->examples && circle->labels && circle->run && circle->first && circle->distance &&
           circle->weights;
}

/* Which features a run has: those of an older version are taken for what they are of the present
 * one. */
static unsigned meaning(const struct fth_run *run, size_t *count)
{
    const size_t upgraded = fth_features_upgrade(run->version, run->features, run->count, NULL);
    *count = upgraded ? upgraded : run->count;
    return upgraded ? FTH_FEATURES_VERSION : run->version;
}

/* Those with features of the same meaning: of the same version, and as many. */
static enum fth_status gather(const struct fth_runs *runs, unsigned version, size_t features,
                              struct circle *circle, struct fth_error *error)
{
    *circle = (struct circle){.features = features};
    if (!allocate(circle, runs->count))
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    for (size_t first = 0; first < runs->count; first = fth_runs_end(runs, first)) {
        const size_t before = circle->rows;
        for (size_t i = first; i < fth_runs_end(runs, first); i++) {
            const struct fth_run *run = &runs->items[i];
            double *row = &circle->examples[circle->rows * features];
            size_t count;
            if (meaning(run, &count) != version || count != features)
                continue;
            if (!fth_features_upgrade(run->version, run->features, run->count, row))
                memcpy(row, run->features, features * sizeof *row);
            circle->run[circle->rows] = i;
            circle->labels[circle->rows++] = circle->classes;
        }
        if (circle->rows > before)
            circle->first[circle->classes++] = first;
    }
    for (size_t i = 0; i < features; i++)
        circle->weights[i] = fth_feature_weight(i, features);
    return FTH_OK;
}

/* Distances of a row of features from all classes, of which the first `rows` rows are examples. */
static enum fth_status compare(struct circle *circle, size_t rows, const double *features,
                               struct fth_error *error)
{
    struct fth_nearest *nearest = NULL;
    for (size_t i = 0; i < circle->classes; i++)
        circle->distance[i] = INFINITY;
    if (rows == 0)
        return FTH_OK;
    enum fth_status status =
        fth_nearest_fit(circle->examples, circle->labels, rows, circle->features, circle->weights,
                        circle->classes, &nearest, error);
    for (size_t i = 0; i < circle->classes && status == FTH_OK; i++)
        circle->distance[i] = fth_nearest_distance(nearest, i, features, NULL);
    fth_nearest_destroy(nearest);
    return status;
}

/* Exchanges two rows. */
static void exchange(struct circle *circle, size_t a, size_t b)
{
    for (size_t i = 0; i < circle->features; i++) {
        double *x = &circle->examples[a * circle->features + i];
        double *y = &circle->examples[b * circle->features + i];
        const double kept = *x;
        *x = *y;
        *y = kept;
    }
    const size_t label = circle->labels[a];
    circle->labels[a] = circle->labels[b];
    circle->labels[b] = label;
}

/* The same for a row of the circle, which is left out of it. */
static enum fth_status compare_without(struct circle *circle, size_t row, struct fth_error *error)
{
    const size_t last = circle->rows - 1;
    exchange(circle, row, last);
    enum fth_status status =
        compare(circle, last, circle->examples + last * circle->features, error);
    exchange(circle, row, last);
    return status;
}

/* ---- deciding ---- */

/* The nearest class and the next, with their distances; the number of classes and INFINITY where
 * there is none. */
struct nearest_two {
    size_t best, next;
    double distance, next_distance;
};

static struct nearest_two find_nearest(const struct circle *circle)
{
    struct nearest_two two = {circle->classes, circle->classes, INFINITY, INFINITY};
    for (size_t i = 0; i < circle->classes; i++) {
        const double distance = circle->distance[i];
        if (distance < two.distance) {
            two.next = two.best;
            two.next_distance = two.distance;
            two.best = i;
            two.distance = distance;
        } else if (distance < two.next_distance) {
            two.next = i;
            two.next_distance = distance;
        }
    }
    return two;
}

static bool is_near(struct nearest_two two, double limit)
{
    return isfinite(two.distance) && two.distance <= limit;
}

/* As near to one as to another. */
static bool is_undecided(struct nearest_two two, double limit)
{
    return two.next_distance <= limit &&
           two.next_distance - two.distance <= min_margin * (two.next_distance + two.distance);
}

/* What each row is when it is left out: the nearest classes, and its distance from the rest of its
 * own (INFINITY where there is none). */
static enum fth_status leave_out(struct circle *circle, struct nearest_two *two, double *own,
                                 struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < circle->rows && status == FTH_OK; i++) {
        status = compare_without(circle, i, error);
        two[i] = find_nearest(circle);
        own[i] = circle->distance[circle->labels[i]];
    }
    return status;
}

/* How far a run may be from its GPU; NAN where no GPU has two runs. Moves what is finite of `own`
 * to the front. */
static enum fth_status find_limit(double *own, size_t rows, double *limit, struct fth_error *error)
{
    size_t known = 0;
    for (size_t i = 0; i < rows; i++)
        if (isfinite(own[i]))
            own[known++] = own[i];
    *limit = NAN;
    if (known == 0)
        return FTH_OK;
    double usual;
    enum fth_status status = fth_quantile_f64(own, known, limit_quantile, &usual, error);
    if (status == FTH_OK)
        *limit = fmax(limit_factor * usual, min_limit);
    return status;
}

/* ---- leaving one out ---- */

/* Leaves each row out in turn: which classes it is near to then, and the limit that follows. */
static enum fth_status learn(struct circle *circle, struct nearest_two **two, double *limit,
                             struct fth_error *error)
{
    double *own = fth_arena_array(&circle->arena, circle->rows, sizeof *own);
    *two = fth_arena_array(&circle->arena, circle->rows, sizeof **two);
    if (!own || !*two)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    enum fth_status status = leave_out(circle, *two, own, error);
    return status == FTH_OK ? find_limit(own, circle->rows, limit, error) : status;
}

static enum fth_status leave_out_all(struct circle *circle, size_t none, size_t *found,
                                     struct fth_error *error)
{
    struct nearest_two *two = NULL;
    double limit = NAN;
    enum fth_status status = learn(circle, &two, &limit, error);
    for (size_t i = 0; i < circle->rows && status == FTH_OK; i++)
        found[circle->run[i]] = is_near(two[i], limit) && !is_undecided(two[i], limit)
                                    ? circle->first[two[i].best]
                                    : none;
    return status;
}

enum fth_status fth_leave_one_out(const struct fth_runs *runs, size_t *found,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < runs->count; i++)
        found[i] = SIZE_MAX;
    for (size_t i = 0; i < runs->count && status == FTH_OK; i++) {
        struct circle circle;
        size_t count;
        if (found[i] != SIZE_MAX)
            continue; /* it was in the circle of one before it */
        const unsigned version = meaning(&runs->items[i], &count);
        status = gather(runs, version, count, &circle, error);
        if (status == FTH_OK)
            status = leave_out_all(&circle, runs->count, found, error);
        fth_arena_fini(&circle.arena);
    }
    return status;
}

/* ---- identifying ---- */

/* The medians of the runs, feature by feature. */
static enum fth_status summarize(const struct fth_runs *runs, double *features,
                                 struct fth_error *error)
{
    const size_t count = runs->items[0].count;
    double *known = calloc(runs->count + 1, sizeof *known);
    enum fth_status status = FTH_OK;
    if (!known)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        size_t size = 0;
        for (size_t j = 0; j < runs->count; j++)
            if (isfinite(runs->items[j].features[i]))
                known[size++] = runs->items[j].features[i];
        features[i] = NAN;
        if (size > 0)
            status = fth_quantile_f64(known, size, 0.5, &features[i], error);
    }
    free(known);
    return status;
}

/* What an answer lies in. */
struct answer {
    struct fth_runs runs;
    struct fth_candidate *candidates;
    double *features;
};

static int by_distance(const void *a, const void *b)
{
    const struct fth_candidate *x = a, *y = b;
    if (isnan(x->distance) != isnan(y->distance))
        return isnan(x->distance) ? 1 : -1;
    return (x->distance > y->distance) - (x->distance < y->distance);
}

/* All GPUs, the nearest first. */
static void rank(struct answer *answer, const struct circle *circle, const char *uuid,
                 struct fth_identification *identification)
{
    const struct fth_runs *runs = &answer->runs;
    size_t count = 0;
    for (size_t first = 0; first < runs->count; first = fth_runs_end(runs, first)) {
        const struct fth_run *run = &runs->items[first];
        struct fth_candidate *candidate = &answer->candidates[count++];
        *candidate =
            (struct fth_candidate){.name = run->name,
                                   .device = run->device,
                                   .runs = fth_runs_end(runs, first) - first,
                                   .distance = NAN,
                                   .same_uuid = uuid && run->uuid && !strcmp(uuid, run->uuid)};
        for (size_t i = 0; i < circle->classes; i++)
            if (circle->first[i] == first && isfinite(circle->distance[i]))
                candidate->distance = circle->distance[i];
    }
    qsort(answer->candidates, count, sizeof *answer->candidates, by_distance);
    identification->candidates = answer->candidates;
    identification->count = count;
}

static void conclude(const struct circle *circle, const struct answer *answer,
                     struct fth_identification *identification)
{
    const struct nearest_two two = find_nearest(circle);
    const double limit = identification->limit_distance;
    const struct fth_candidate *candidates = answer->candidates;
    const size_t size = sizeof identification->reason;
    char *reason = identification->reason;
    if (two.best == circle->classes)
        snprintf(reason, size, "no GPU that is enrolled has as many SMs");
    else if (isnan(limit))
        snprintf(reason, size,
                 "no GPU has two runs, so how near is near is not known; enroll more");
    else if (!is_near(two, limit))
        snprintf(
            reason, size,
            "no GPU that is enrolled is near: the nearest, '%s', is %.3g away, and %.3g is the "
            "limit",
            candidates[0].name, candidates[0].distance, limit);
    else if (is_undecided(two, limit))
        snprintf(reason, size, "it is as near to '%s' (%.3g) as to '%s' (%.3g)", candidates[0].name,
                 candidates[0].distance, candidates[1].name, candidates[1].distance);
    else
        identification->name = candidates[0].name;
}

static enum fth_status identify(struct answer *answer, const struct fth_runs *measured,
                                struct fth_identification *identification, struct fth_error *error)
{
    struct circle circle;
    const struct fth_run *run = measured->items;
    answer->candidates = calloc(answer->runs.count + 1, sizeof *answer->candidates);
    answer->features = calloc(run->count + 1, sizeof *answer->features);
    if (!answer->candidates || !answer->features)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    enum fth_status status = gather(&answer->runs, run->version, run->count, &circle, error);
    struct nearest_two *two = NULL;
    if (status == FTH_OK)
        status = learn(&circle, &two, &identification->limit_distance, error);
    if (status == FTH_OK)
        status = summarize(measured, answer->features, error);
    if (status == FTH_OK)
        status = compare(&circle, circle.rows, answer->features, error);
    if (status == FTH_OK) {
        rank(answer, &circle, run->uuid, identification);
        conclude(&circle, answer, identification);
    }
    fth_arena_fini(&circle.arena);
    return status;
}

enum fth_status fth_store_identify(struct fth_store *store,
                                   const struct fth_fingerprint *fingerprint,
                                   struct fth_identification *identification,
                                   struct fth_error *error)
{
    *identification = (struct fth_identification){.limit_distance = NAN};
    struct answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    identification->memory = answer;
    enum fth_status status = fth_store_read(store, operation, &answer->runs, error);
    if (status == FTH_OK && answer->runs.count == 0)
        status = fth_fail(error, FTH_NOT_FOUND, operation, store->path,
                          "no GPU is enrolled there; enroll those that are to be known");
    if (status == FTH_OK && fingerprint->runs.count == 0)
        status = fth_fail(error, FTH_INVALID, operation, NULL, "there is no run");
    if (status == FTH_OK)
        status = identify(answer, &fingerprint->runs, identification, error);
    if (status != FTH_OK)
        fth_identification_fini(identification);
    return status;
}

void fth_identification_fini(struct fth_identification *identification)
{
    struct answer *answer = identification->memory;
    if (answer) {
        fth_runs_fini(&answer->runs);
        free(answer->candidates);
        free(answer->features);
        free(answer);
    }
    *identification = (struct fth_identification){.limit_distance = NAN};
}
