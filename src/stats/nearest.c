/* Which of the known is it most like? The nearest centroid, in features that are brought to one
 * scale: the mean of each class's examples is its centroid, a feature's unit the standard deviation
 * over all examples (R. O. Duda, P. E. Hart and D. G. Stork, "Pattern Classification", 2001, 4.6,
 * for the minimum-distance classifier).
 *
 * A feature may be unknown (NAN): the distance is the root mean square over those that are known on
 * both sides, so that what could not be measured speaks for nobody.
 *
 * Assumed: features are independent of one another and the classes about equally wide. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "fit a classifier"

/* A feature that all examples agree on still tells them from a stranger: its unit is this share of
 * its value. One per cent is what repeated measurements of a latency scatter by. */
#define LEAST_UNIT 0.01

struct fth_nearest {
    size_t features;
    size_t classes;
    double *center;   /* of each feature */
    double *unit;     /* of each feature */
    double *centroid; /* [classes][features], normalised; NAN: no example has the feature */
    struct fth_arena arena;
};

/* Mean and standard deviation of what is known of one feature; false where nothing is. */
static bool scale(const double *examples, size_t count, size_t features, size_t feature,
                  double *center, double *unit)
{
    size_t known = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double value = examples[i * features + feature];
        if (isnan(value))
            continue;
        known++;
        sum += value;
    }
    if (known == 0)
        return false;
    *center = sum / (double)known;
    for (size_t i = 0; i < count; i++) {
        double value = examples[i * features + feature];
        if (!isnan(value))
            squares += (value - *center) * (value - *center);
    }
    *unit = fmax(sqrt(squares / (double)known), LEAST_UNIT * fabs(*center));
    if (*unit == 0)
        *unit = 1;
    return true;
}

static enum fth_status check(const double *examples, const size_t *labels, size_t count,
                             size_t features, size_t classes, struct fth_error *error)
{
    if (count == 0 || features == 0 || classes == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no examples, features or classes");
    for (size_t i = 0; i < count; i++)
        if (labels[i] >= classes)
            return fth_fail(error, FTH_INVALID, OPERATION, "labels", "%zu of %zu classes",
                            labels[i], classes);
    for (size_t i = 0; i < count * features; i++)
        if (isinf(examples[i]))
            return fth_fail(error, FTH_INVALID, OPERATION, "examples", "value %zu is not finite",
                            i);
    return FTH_OK;
}

enum fth_status fth_nearest_fit(const double *examples, const size_t *labels, size_t count,
                                size_t features, size_t classes, struct fth_nearest **nearest,
                                struct fth_error *error)
{
    enum fth_status status = check(examples, labels, count, features, classes, error);
    if (status != FTH_OK)
        return status;
    struct fth_nearest *made = calloc(1, sizeof *made);
    size_t *known = calloc(classes, sizeof *known);
    if (!made || !known)
        goto no_memory;
    made->features = features;
    made->classes = classes;
    made->center = fth_arena_array(&made->arena, features, sizeof(double));
    made->unit = fth_arena_array(&made->arena, features, sizeof(double));
    made->centroid = fth_arena_array(&made->arena, features, classes * sizeof(double));
    if (!made->center || !made->unit || !made->centroid)
        goto no_memory;
    for (size_t feature = 0; feature < features; feature++) {
        if (!scale(examples, count, features, feature, &made->center[feature],
                   &made->unit[feature])) {
            made->unit[feature] = 1;
            made->center[feature] = 0;
        }
        for (size_t class = 0; class < classes; class ++)
            known[class] = 0;
        for (size_t i = 0; i < count; i++) {
            double value = examples[i * features + feature];
            if (isnan(value))
                continue;
            known[labels[i]]++;
            made->centroid[labels[i] * features + feature] +=
                (value - made->center[feature]) / made->unit[feature];
        }
        for (size_t class = 0; class < classes; class ++) {
            double *at = &made->centroid[class * features + feature];
            *at = known[class] > 0 ? *at / (double)known[class] : NAN;
        }
    }
    free(known);
    *nearest = made;
    return FTH_OK;
no_memory:
    free(known);
    fth_nearest_destroy(made);
    return fth_fail(error, FTH_NO_MEMORY, OPERATION, NULL, "out of memory");
}

void fth_nearest_destroy(struct fth_nearest *nearest)
{
    if (!nearest)
        return;
    fth_arena_fini(&nearest->arena);
    free(nearest);
}

/* INFINITY where nothing is known on both sides. */
static double distance(const struct fth_nearest *nearest, size_t class, const double *features,
                       size_t *compared)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < nearest->features; i++) {
        double centroid = nearest->centroid[class * nearest->features + i];
        if (isnan(centroid) || isnan(features[i]))
            continue;
        double apart = (features[i] - nearest->center[i]) / nearest->unit[i] - centroid;
        sum += apart * apart;
        known++;
    }
    *compared = known;
    return known > 0 ? sqrt(sum / (double)known) : INFINITY;
}

enum fth_status fth_nearest_classify(const struct fth_nearest *nearest, const double *features,
                                     struct fth_nearest_match *match, struct fth_error *error)
{
    struct fth_nearest_match best = {.class = nearest->classes,
                                     .distance = INFINITY,
                                     .next_class = nearest->classes,
                                     .next_distance = INFINITY};
    for (size_t class = 0; class < nearest->classes; class ++) {
        size_t compared;
        double apart = distance(nearest, class, features, &compared);
        if (apart < best.distance) {
            best.next_class = best.class;
            best.next_distance = best.distance;
            best.class = class;
            best.distance = apart;
            best.compared = compared;
        } else if (apart < best.next_distance) {
            best.next_class = class;
            best.next_distance = apart;
        }
    }
    if (best.class == nearest->classes)
        return fth_fail(error, FTH_INCONCLUSIVE, "classify", NULL,
                        "no feature is known here and in an example");
    double sum = best.distance + best.next_distance;
    best.margin = isinf(sum) ? 1 : sum > 0 ? (best.next_distance - best.distance) / sum : 0;
    *match = best;
    return FTH_OK;
}
