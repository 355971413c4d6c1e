/* Identifies a GPU: which of the enrolled GPUs has produced a fingerprint?
 *
 * The method is nearest centroid (stats/nearest.c). Features are measured in units of their
 * standard deviation over the enrolled runs of a GPU, so features with much noise count little. The
 * largest distance that counts as a match is also derived from the enrolled runs: each run is left
 * out, and its distance from the centroid of the other runs of its GPU is computed. The limit is
 * twice the 90 % quantile of these distances. A fingerprint beyond the limit is reported as
 * unknown. */
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "identify";

/* The limit is limit_factor times this quantile of the leave-one-out distances. Chosen, not
 * derived; with these values, all 26 runs of two H200s are identified correctly
 * (docs/fingerprints.md). */
static const double limit_quantile = 0.9, limit_factor = 2;
/* Lower bound of the limit in standard deviations, for runs that hardly differ. Chosen, not
 * derived. */
static const double min_limit = 1;
/* Smallest margin between the two nearest GPUs within the limit: the difference of their distances
 * divided by the sum (as in stats.h). 0.1 means that one is nearer by about a fifth. Chosen, not
 * derived. */
static const double min_margin = 0.1;
/* Limit of the work of leaving out each run, in features that are visited: the square of the number
 * of runs times their number of features. Chosen: about ten minutes. It allows 26,000 runs of
 * GPUs with 132 SMs. */
static const double max_comparison = 1e11;
/* Limit of the number of different layouts of features in a store: each is looked for in all runs.
 * Chosen: more than GPUs with different numbers of SMs exist. */
enum { MAX_LAYOUTS = 1000 };

/* ---- the runs that a fingerprint can be compared with ---- */

/* Runs with comparable features, as examples for the classifier: a row per run, a class per GPU. */
struct sample_set {
    size_t features, rows, classes;
    double *examples; /* [rows][features] */
    size_t *labels;   /* [rows] class */
    size_t *run;      /* [rows] index in the list of runs */
    size_t *first;    /* [classes] index of the first run of the GPU */
    double *weights;  /* [features] */
    double *distance; /* [classes] result of the last comparison; INFINITY: no common feature */
    struct fth_arena arena;
};

static enum fth_status fail_work(size_t runs, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, operation, NULL,
                    "comparing %zu runs takes too long: the square of their number, times the "
                    "number of features, exceeds %g; distribute the GPUs over several stores",
                    runs, max_comparison);
}

static bool allocate(struct sample_set *sample_set, size_t runs)
{
    struct fth_arena *arena = &sample_set->arena;
    sample_set->examples = fth_arena_array(arena, runs, sample_set->features * sizeof(double));
    sample_set->labels = fth_arena_array(arena, runs, sizeof(size_t));
    sample_set->run = fth_arena_array(arena, runs, sizeof(size_t));
    sample_set->first = fth_arena_array(arena, runs, sizeof(size_t));
    sample_set->distance = fth_arena_array(arena, runs, sizeof(double));
    sample_set->weights = fth_arena_array(arena, sample_set->features, sizeof(double));
    return sample_set->examples && sample_set->labels && sample_set->run && sample_set->first &&
           sample_set->distance && sample_set->weights;
}

/* Returns the version of a run's features, and their number in *count. Features of an older version
 * that can be converted count as those of the current version. */
static unsigned feature_layout(const struct fth_run *run, size_t *count)
{
    const size_t upgraded = fth_features_upgrade(run->version, run->features, run->count, NULL);
    *count = upgraded ? upgraded : run->count;
    return upgraded ? FTH_FEATURES_VERSION : run->version;
}

/* Returns whether the features of a run have this version and number. Those that have are
 * comparable. */
static bool has_layout(const struct fth_run *run, unsigned version, size_t features)
{
    size_t count;
    return feature_layout(run, &count) == version && count == features;
}

/* Collects the runs whose features have this version and number. */
static enum fth_status collect_runs(const struct fth_runs *runs, unsigned version, size_t features,
                                    struct sample_set *sample_set, struct fth_error *error)
{
    size_t rows = 0;
    *sample_set = (struct sample_set){.features = features};
    for (size_t i = 0; i < runs->count; i++)
        rows += has_layout(&runs->items[i], version, features);
    if ((double)rows * (double)rows * (double)features > max_comparison)
        return fail_work(rows, error);
    if (!allocate(sample_set, rows))
        return fth_no_memory(error, operation, NULL);
    for (size_t first = 0, end; first < runs->count; first = end) {
        const size_t before = sample_set->rows;
        end = fth_runs_end(runs, first);
        for (size_t i = first; i < end; i++) {
            const struct fth_run *run = &runs->items[i];
            if (!has_layout(run, version, features))
                continue;
            double *row = &sample_set->examples[sample_set->rows * features];
            if (!fth_features_upgrade(run->version, run->features, run->count, row))
                memcpy(row, run->features, features * sizeof *row);
            sample_set->run[sample_set->rows] = i;
            sample_set->labels[sample_set->rows++] = sample_set->classes;
        }
        if (sample_set->rows > before)
            sample_set->first[sample_set->classes++] = first;
    }
    for (size_t i = 0; i < features; i++)
        sample_set->weights[i] = fth_feature_weight(i, features);
    return FTH_OK;
}

/* Computes the distances of a feature vector from all classes. The first `rows` rows are the
 * examples. */
static enum fth_status compare(struct sample_set *sample_set, size_t rows, const double *features,
                               struct fth_error *error)
{
    struct fth_nearest *nearest = NULL;
    for (size_t i = 0; i < sample_set->classes; i++)
        sample_set->distance[i] = INFINITY;
    if (rows == 0)
        return FTH_OK;
    enum fth_status status =
        fth_nearest_fit(sample_set->examples, sample_set->labels, rows, sample_set->features,
                        sample_set->weights, sample_set->classes, &nearest, error);
    for (size_t i = 0; i < sample_set->classes && status == FTH_OK; i++)
        sample_set->distance[i] = fth_nearest_distance(nearest, i, features);
    fth_nearest_destroy(nearest);
    return status;
}

/* Exchanges two rows. */
static void swap_rows(struct sample_set *sample_set, size_t a, size_t b)
{
    for (size_t i = 0; i < sample_set->features; i++) {
        double *x = &sample_set->examples[a * sample_set->features + i];
        double *y = &sample_set->examples[b * sample_set->features + i];
        const double kept = *x;
        *x = *y;
        *y = kept;
    }
    const size_t label = sample_set->labels[a];
    sample_set->labels[a] = sample_set->labels[b];
    sample_set->labels[b] = label;
}

/* Computes the distances of one row from all classes, with this row left out of the examples. */
static enum fth_status compare_without(struct sample_set *sample_set, size_t row,
                                       struct fth_error *error)
{
    const size_t last = sample_set->rows - 1;
    swap_rows(sample_set, row, last);
    enum fth_status status =
        compare(sample_set, last, sample_set->examples + last * sample_set->features, error);
    swap_rows(sample_set, row, last);
    return status;
}

/* ---- deciding ---- */

/* The nearest and the second nearest class, with their distances. If there is none: the number of
 * classes, and INFINITY. */
struct nearest_two {
    size_t best, next;
    double distance, next_distance;
};

static struct nearest_two find_nearest(const struct sample_set *sample_set)
{
    struct nearest_two two = {sample_set->classes, sample_set->classes, INFINITY, INFINITY};
    for (size_t i = 0; i < sample_set->classes; i++) {
        const double distance = sample_set->distance[i];
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

/* Returns whether two classes within the limit are about equally near. */
static bool is_undecided(struct nearest_two two, double limit)
{
    return two.next_distance <= limit &&
           two.next_distance - two.distance <= min_margin * (two.next_distance + two.distance);
}

/* Leaves out each row: two[row] gets the nearest classes, and own[row] the distance from the other
 * rows of its class (INFINITY if there are none). */
static enum fth_status leave_out(struct sample_set *sample_set, struct nearest_two *two,
                                 double *own, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < sample_set->rows && status == FTH_OK; i++) {
        status = compare_without(sample_set, i, error);
        two[i] = find_nearest(sample_set);
        own[i] = sample_set->distance[sample_set->labels[i]];
    }
    return status;
}

/* Computes the limit of the distance between a run and its GPU. NAN if no GPU has two runs.
 * Overwrites `own`. */
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
    FTH_TRY(fth_quantile_f64(own, known, limit_quantile, &usual, error));
    *limit = fmax(limit_factor * usual, min_limit);
    return FTH_OK;
}

/* ---- leave-one-out ---- */

/* Leaves out each row, and derives the limit from the results. *two is in the arena of the set. */
static enum fth_status calibrate(struct sample_set *sample_set, struct nearest_two **two,
                                 double *limit, struct fth_error *error)
{
    double *own = fth_arena_array(&sample_set->arena, sample_set->rows, sizeof *own);
    *two = fth_arena_array(&sample_set->arena, sample_set->rows, sizeof **two);
    if (!own || !*two)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(leave_out(sample_set, *two, own, error));
    return find_limit(own, sample_set->rows, limit, error);
}

static enum fth_status leave_out_all(struct sample_set *sample_set, size_t none, size_t *found,
                                     struct fth_error *error)
{
    struct nearest_two *two = NULL;
    double limit = NAN;
    enum fth_status status = calibrate(sample_set, &two, &limit, error);
    for (size_t i = 0; i < sample_set->rows && status == FTH_OK; i++)
        found[sample_set->run[i]] = is_near(two[i], limit) && !is_undecided(two[i], limit)
                                        ? sample_set->first[two[i].best]
                                        : none;
    return status;
}

enum fth_status fth_leave_one_out(const struct fth_runs *runs, size_t *found,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    size_t layouts = 0;
    for (size_t i = 0; i < runs->count; i++)
        found[i] = SIZE_MAX;
    for (size_t i = 0; i < runs->count && status == FTH_OK; i++) {
        struct sample_set sample_set;
        size_t count;
        if (found[i] != SIZE_MAX)
            continue; /* it was in the set of an earlier run */
        if (++layouts > MAX_LAYOUTS)
            return fth_fail(
                error, FTH_INVALID, operation, NULL,
                "the runs have more than %d different versions and numbers of features; "
                "distribute the GPUs over several stores",
                MAX_LAYOUTS);
        const unsigned version = feature_layout(&runs->items[i], &count);
        status = collect_runs(runs, version, count, &sample_set, error);
        if (status == FTH_OK)
            status = leave_out_all(&sample_set, runs->count, found, error);
        fth_arena_fini(&sample_set.arena);
    }
    return status;
}

/* ---- identifying ---- */

/* Combines the measured runs: takes the median of each feature, NAN if no run has it. */
static enum fth_status summarize(const struct fth_runs *runs, double *features,
                                 struct fth_error *error)
{
    const size_t count = runs->items[0].count;
    double *known = calloc(runs->count + 1, sizeof *known);
    enum fth_status status = FTH_OK;
    if (!known)
        return fth_no_memory(error, operation, NULL);
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

/* Owns what struct fth_identification points to. */
struct identified {
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

/* Lists all enrolled GPUs, the nearest first. */
static void rank_candidates(struct identified *answer, const struct sample_set *sample_set,
                            const char *uuid, struct fth_identification *identification)
{
    const struct fth_runs *runs = &answer->runs;
    size_t count = 0, class = 0;
    for (size_t first = 0, end; first < runs->count; first = end) {
        const struct fth_run *run = &runs->items[first];
        end = fth_runs_end(runs, first);
        struct fth_candidate *candidate = &answer->candidates[count++];
        *candidate =
            (struct fth_candidate){.name = run->name,
                                   .device = run->device,
                                   .runs = end - first,
                                   .distance = NAN,
                                   .same_uuid = uuid && run->uuid && !strcmp(uuid, run->uuid)};
        /* The classes are in the order of the runs. */
        if (class < sample_set->classes && sample_set->first[class] == first) {
            if (isfinite(sample_set->distance[class]))
                candidate->distance = sample_set->distance[class];
            class ++;
        }
    }
    qsort(answer->candidates, count, sizeof *answer->candidates, by_distance);
    identification->candidates = answer->candidates;
    identification->count = count;
}

/* Names the nearest GPU, or gives the reason why none is named. */
static void conclude(const struct sample_set *sample_set, const struct identified *answer,
                     struct fth_identification *identification)
{
    const struct nearest_two two = find_nearest(sample_set);
    const double limit = identification->limit_distance;
    const struct fth_candidate *candidates = answer->candidates;
    const size_t size = sizeof identification->reason;
    char *reason = identification->reason;
    if (two.best == sample_set->classes)
        snprintf(reason, size, "no enrolled GPU has the same number of SMs");
    else if (isnan(limit))
        snprintf(reason, size,
                 "no GPU has two runs, so the limit for a match is unknown; enroll more runs");
    else if (!is_near(two, limit))
        fth_format(reason, size,
                   "no enrolled GPU matches: the nearest, '%s', has a distance of %.3g, and the "
                   "limit is %.3g",
                   candidates[0].name, candidates[0].distance, limit);
    else if (is_undecided(two, limit))
        fth_format(reason, size, "'%s' (distance %.3g) and '%s' (%.3g) are equally near",
                   candidates[0].name, candidates[0].distance, candidates[1].name,
                   candidates[1].distance);
    else
        identification->name = candidates[0].name;
}

static enum fth_status identify(struct identified *answer, const struct fth_runs *measured,
                                struct fth_identification *identification, struct fth_error *error)
{
    struct sample_set sample_set;
    const struct fth_run *run = measured->items;
    answer->candidates = calloc(answer->runs.count + 1, sizeof *answer->candidates);
    answer->features = calloc(run->count + 1, sizeof *answer->features);
    if (!answer->candidates || !answer->features)
        return fth_no_memory(error, operation, NULL);
    struct nearest_two *two = NULL;
    enum fth_status status =
        collect_runs(&answer->runs, run->version, run->count, &sample_set, error);
    if (status != FTH_OK)
        goto out;
    status = calibrate(&sample_set, &two, &identification->limit_distance, error);
    if (status != FTH_OK)
        goto out;
    status = summarize(measured, answer->features, error);
    if (status != FTH_OK)
        goto out;
    status = compare(&sample_set, sample_set.rows, answer->features, error);
    if (status != FTH_OK)
        goto out;
    rank_candidates(answer, &sample_set, run->uuid, identification);
    conclude(&sample_set, answer, identification);
out:
    fth_arena_fini(&sample_set.arena);
    return status;
}

enum fth_status fth_store_identify(struct fth_store *store,
                                   const struct fth_fingerprint *fingerprint,
                                   struct fth_identification *identification,
                                   struct fth_error *error)
{
    *identification = (struct fth_identification){.limit_distance = NAN};
    struct identified *answer = calloc(1, sizeof *answer);
    if (!answer)
        return fth_no_memory(error, operation, NULL);
    identification->memory = answer;
    enum fth_status status = fth_store_read(store, operation, &answer->runs, error);
    if (status == FTH_OK && answer->runs.count == 0)
        status = fth_fail(error, FTH_NOT_FOUND, operation, store->path,
                          "no GPU is enrolled in it; enroll the GPUs to be recognised");
    if (status == FTH_OK && fingerprint->runs.count == 0)
        status = fth_fail(error, FTH_INVALID, operation, NULL, "the fingerprint has no runs");
    if (status == FTH_OK)
        status = identify(answer, &fingerprint->runs, identification, error);
    if (status != FTH_OK)
        fth_identification_fini(identification);
    return status;
}

void fth_identification_fini(struct fth_identification *identification)
{
    struct identified *answer = identification->memory;
    if (answer) {
        fth_runs_fini(&answer->runs);
        free(answer->candidates);
        free(answer->features);
        free(answer);
    }
    *identification = (struct fth_identification){.limit_distance = NAN};
}
