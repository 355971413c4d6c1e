/* How similar is a feature vector to each of several known classes? The answers are the distances
 * of the nearest-centroid classifier with normalised features. The centroid of a class is the mean
 * of its examples. The unit of a feature is the standard deviation of the examples from the
 * centroid of their class, over all classes (R. O. Duda, P. E. Hart and D. G. Stork, "Pattern
 * Classification", 2001, 4.6 for the minimum-distance classifier and 2.6.2 for the common
 * deviation). If no class has two examples, the unit is the standard deviation of all examples.
 *
 * A feature may be unknown (NAN). The distance is the root mean square over the features that are
 * known on both sides, so an unknown feature favours no class.
 *
 * Assumptions: the features are independent of each other, and all classes have about the same
 * spread. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "fit a classifier"

/* Minimum unit of a feature, as a fraction of its mean. A feature that is equal in all examples
 * still distinguishes them from other vectors, so its unit must not be 0. The value is the smallest
 * difference observed between consecutive passes over one chain in the L2 of an H200: 0.05 %. */
#define MIN_UNIT 0.0005

struct fth_nearest {
    size_t features;
    size_t classes;
    double *center;   /* of each feature: the mean of all examples */
    double *unit;     /* of each feature: the distance that counts as 1 */
    double *weight;   /* of each feature */
    double *centroid; /* [classes][features], normalised; NAN if no example has the feature */
    struct fth_arena arena;
};

/* One feature of all examples. */
struct column {
    const double *examples;
    const size_t *labels;
    size_t count, stride;
    double *mean;  /* of each class */
    size_t *known; /* of each class: number of examples in which the feature is known */
    size_t classes;
};

/* Computes the mean and the number of known examples of each class. Returns the mean of all
 * examples. */
static double find_means(const struct column *column)
{
    size_t known = 0;
    double sum = 0;
    for (size_t class = 0; class < column->classes; class ++) {
        column->mean[class] = 0;
        column->known[class] = 0;
    }
    for (size_t i = 0; i < column->count; i++) {
        double value = column->examples[i * column->stride];
        if (isnan(value))
            continue;
        column->mean[column->labels[i]] += value;
        column->known[column->labels[i]]++;
        sum += value;
        known++;
    }
    for (size_t class = 0; class < column->classes; class ++)
        column->mean[class] /= (double)column->known[class]; /* NAN if there are none */
    return sum / (double)known;
}

/* Returns the standard deviation within the classes or, if no class has two examples, that of all
 * examples, which is 0 for a single example. */
static double find_deviation(const struct column *column, double center)
{
    double within = 0, all = 0;
    size_t known = 0, classes = 0;
    for (size_t i = 0; i < column->count; i++) {
        double value = column->examples[i * column->stride];
        if (isnan(value))
            continue;
        double difference = value - column->mean[column->labels[i]];
        within += difference * difference;
        all += (value - center) * (value - center);
        known++;
    }
    for (size_t class = 0; class < column->classes; class ++)
        classes += column->known[class] > 0;
    if (known > classes)
        return sqrt(within / (double)(known - classes));
    return known > 0 ? sqrt(all / (double)known) : 0;
}

static enum fth_status check(const double *examples, const size_t *labels, size_t count,
                             size_t features, size_t classes, struct fth_error *error)
{
    if (count == 0 || features == 0 || classes == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "no examples, features or classes");
    for (size_t i = 0; i < count; i++)
        if (labels[i] >= classes)
            return fth_fail(error, FTH_INVALID, OPERATION, "labels",
                            "%zu is not below the %zu classes", labels[i], classes);
    for (size_t i = 0; i < count * features; i++)
        if (isinf(examples[i]))
            return fth_fail(error, FTH_INVALID, OPERATION, "examples", "value %zu is not finite",
                            i);
    return FTH_OK;
}

enum fth_status fth_nearest_fit(const double *examples, const size_t *labels, size_t count,
                                size_t features, const double *weights, size_t classes,
                                struct fth_nearest **nearest, struct fth_error *error)
{
    FTH_TRY(check(examples, labels, count, features, classes, error));
    struct fth_nearest *made = calloc(1, sizeof *made);
    double *mean = calloc(classes, sizeof *mean);
    size_t *known = calloc(classes, sizeof *known);
    if (!made || !mean || !known)
        goto no_memory;
    made->features = features;
    made->classes = classes;
    made->center = fth_arena_array(&made->arena, features, sizeof(double));
    made->unit = fth_arena_array(&made->arena, features, sizeof(double));
    made->centroid = fth_arena_array(&made->arena, features, classes * sizeof(double));
    made->weight = fth_arena_array(&made->arena, features, sizeof(double));
    if (!made->center || !made->unit || !made->centroid || !made->weight)
        goto no_memory;
    for (size_t feature = 0; feature < features; feature++) {
        const struct column column = {
            examples + feature, labels, count, features, mean, known, classes};
        const double center = find_means(&column);
        double unit = fmax(find_deviation(&column, center), MIN_UNIT * fabs(center));
        unit = unit > 0 ? unit : 1;
        made->center[feature] = center;
        made->unit[feature] = unit;
        made->weight[feature] = weights ? weights[feature] : 1;
        for (size_t class = 0; class < classes; class ++)
            made->centroid[class * features + feature] = (mean[class] - center) / unit;
    }
    free(mean);
    free(known);
    *nearest = made;
    return FTH_OK;
no_memory:
    free(mean);
    free(known);
    fth_nearest_destroy(made);
    return fth_no_memory(error, OPERATION, NULL);
}

void fth_nearest_destroy(struct fth_nearest *nearest)
{
    if (!nearest)
        return;
    fth_arena_fini(&nearest->arena);
    free(nearest);
}

double fth_nearest_distance(const struct fth_nearest *nearest, size_t class, const double *features)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < nearest->features; i++) {
        double centroid = nearest->centroid[class * nearest->features + i];
        if (isnan(centroid) || isnan(features[i]))
            continue;
        double difference = (features[i] - nearest->center[i]) / nearest->unit[i] - centroid;
        sum += nearest->weight[i] * difference * difference;
        weights += nearest->weight[i];
    }
    return weights > 0 ? sqrt(sum / weights) : INFINITY;
}
