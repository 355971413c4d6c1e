/* stats/: statistics on arrays of samples. Each function takes numbers and returns a result, most
 * of them with a measure of confidence. This module performs no I/O, takes random seeds from the
 * caller, and does not know where the numbers come from. docs/methods.md lists the sources and
 * assumptions of the methods.
 *
 *   sort.c       sorted copies                      plateaus.c  plateaus of latencies
 *   summary.c    median, quantiles, spread          valley.c    wide modes that touch each other
 *   bootstrap.c  confidence of a mean               change.c    change points of a series
 *   nearest.c    distances from known classes       ks.c        test whether two samples differ
 *   gf2.c        hashes that are XORs of bits       period.c    events that come periodically
 *   vectors.c    groups of equal vectors
 *
 * The following holds for every function:
 *   - Input arrays are not modified.
 *   - Empty input and numbers that are not finite give FTH_INVALID. Failed allocations give
 *     FTH_NO_MEMORY. `error` may be NULL. After a failure, the results are unchanged.
 *   - The same input (and seed) gives the same result, bit for bit.
 */
#ifndef FTH_STATS_H
#define FTH_STATS_H

#include "base/base.h"

/* ---- sort.c ---- */

/* Sorts in place, ascending, in O(count). `scratch` has space for `count` values. */
void fth_sort_f64(double *values, double *scratch, size_t count);
/* Creates a sorted copy, which the caller frees with free(). The allocation has space for another
 * `count` values after the copy. `operation` is the operation that an error reports. */
FTH_MUST_USE enum fth_status fth_sorted_f64(const double *values, size_t count,
                                            const char *operation, double **sorted,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_sorted_u32(const uint32_t *values, size_t count,
                                            const char *operation, double **sorted,
                                            struct fth_error *error);
/* Returns FTH_INVALID if `count` is 0 or if a value is not finite. */
FTH_MUST_USE enum fth_status fth_check_f64(const double *values, size_t count,
                                           const char *operation, struct fth_error *error);

/* ---- summary.c ---- */

/* All members except `count` are in the unit of the samples. Quantiles are of type 7 of Hyndman and
 * Fan (see fth_quantile_sorted). `mad` is the median of the absolute deviations from the median. It
 * is not scaled: 1.4826 * mad estimates the standard deviation of a normal distribution. */
struct fth_summary {
    size_t count;
    double min;
    double max;
    double mean;
    double median;
    double p05;
    double p95;
    double mad;
};

FTH_MUST_USE enum fth_status fth_summary_f64(const double *samples, size_t count,
                                             struct fth_summary *summary, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_summary_u32(const uint32_t *samples, size_t count,
                                             struct fth_summary *summary, struct fth_error *error);

/* Returns the quantile p, 0 <= p <= 1, of `count` > 0 ascending numbers. It is interpolated
 * linearly at index (count - 1) p, counted from 0 (Hyndman and Fan's type 7, the default of R and
 * NumPy). */
double fth_quantile_sorted(const double *sorted, size_t count, double p);
FTH_MUST_USE enum fth_status fth_quantile_f64(const double *samples, size_t count, double p,
                                              double *quantile, struct fth_error *error);
/* Computes the mean of the samples whose distance from the median is at most max(2, 3 MAD), where
 * MAD is the median absolute deviation. The result is about as robust as the median. It also
 * resolves fractions of a cycle although the samples are whole cycles. */
FTH_MUST_USE enum fth_status fth_core_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                               struct fth_error *error);

/* Computes the mean of the undisturbed samples. It assumes that disturbances only increase a sample
 * and that at least a quarter of the samples is undisturbed. With d the distance between the 5 %
 * quantile and the lower quartile, it keeps samples up to 4 d + 1 above the lower quartile. It also
 * stops at the first gap above the quartile that is wider than d + 1. */
FTH_MUST_USE enum fth_status fth_clean_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                                struct fth_error *error);

/* ---- period.c ---- */

/* The period of events and the length of the mean of their unit vectors, 0 to 1: how well the
 * events keep to the period. */
struct fth_period {
    double period, coherence;
};
/* Finds the period between `min_period` and `max_period` that fits the ascending times best.
 * FTH_INCONCLUSIVE: there are fewer than two events. */
FTH_MUST_USE enum fth_status fth_find_period(const double *times, size_t count, double min_period,
                                             double max_period, struct fth_period *found,
                                             struct fth_error *error);

/* ---- plateaus.c ---- */

#define FTH_CLUSTER_MAX 12

/* The conditions for two groups of samples to be separate plateaus. A member that is 0 takes its
 * default. */
struct fth_cluster_options {
    size_t max_clusters; /* at most FTH_CLUSTER_MAX, which is the default */
    /* The share of all samples that stray samples may make up. A plateau must have significantly
     * more samples than that, and at least 4. Default 0.02. */
    double min_share;
    /* Minimum gap between the 95 % quantile of one plateau and the 5 % quantile of the next one, in
     * the unit of the samples. Default 2. */
    double min_gap;
    /* The same as a fraction of the lower plateau's median. Default 0.02. */
    double min_gap_relative;
};

/* One plateau. Use p05 and p95 as its edges: min and max can be those of a few stray samples. */
struct fth_cluster {
    size_t count;
    double share; /* count / number of all samples, outliers included */
    double median;
    double min;
    double max;
    double p05;
    double p95;
};

/* Plateaus in ascending order. A sample x belongs to plateau i if
 * thresholds[i - 1] < x <= thresholds[i]. A sample above `fence` is an outlier and belongs to no
 * plateau.
 *
 *      ▂█▃                 ▁▅▁                       ▆▂▁         .   .      .
 *            thresholds[0]       thresholds[1]             fence
 */
struct fth_clusters {
    size_t count; /* at least 1 */
    struct fth_cluster items[FTH_CLUSTER_MAX];
    double thresholds[FTH_CLUSTER_MAX - 1];
    double fence;
    size_t outliers; /* number of samples above the fence */
};

/* Finds the plateaus of the samples. `options` may be NULL. Allocates about 40 bytes per sample and
 * 64 bytes per distinct value temporarily. Takes O(u log u) for u distinct values after sorting:
 * 2 ms for 100,000 samples of whole cycles. */
FTH_MUST_USE enum fth_status fth_cluster_f64(const double *samples, size_t count,
                                             const struct fth_cluster_options *options,
                                             struct fth_clusters *clusters,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cluster_u32(const uint32_t *samples, size_t count,
                                             const struct fth_cluster_options *options,
                                             struct fth_clusters *clusters,
                                             struct fth_error *error);
/* valley.c: finds modes that are wide and touch each other by splitting the samples where their
 * density has a valley. Each mode has at least `min_share` of the samples. No sample is an outlier:
 * the fence is infinite. */
FTH_MUST_USE enum fth_status fth_modes_u32(const uint32_t *samples, size_t count, double min_share,
                                           struct fth_clusters *clusters, struct fth_error *error);
/* Returns the index of the plateau of a sample, or clusters->count for an outlier. */
size_t fth_cluster_of(const struct fth_clusters *clusters, double sample);

/* ---- change.c ---- */

/* Indices at which a series changes, in ascending order. Each is that of the first value after the
 * change. */
struct fth_changes {
    size_t *indices;
    size_t count;
};

/* Finds the change points: the partition that minimizes the squared deviation from the mean of each
 * part, plus `penalty` per change. Each part has at least `min_part` > 0 values. The result is
 * exact. It takes O(count) if changes are frequent and O(count²) if there are none. Returns
 * FTH_INVALID for fewer than `min_part` values or a penalty that is not positive. The caller
 * releases the result with fth_changes_fini. */
FTH_MUST_USE enum fth_status fth_changes_find(const double *series, size_t count, size_t min_part,
                                              double penalty, struct fth_changes *changes,
                                              struct fth_error *error);
void fth_changes_fini(struct fth_changes *changes);
/* Computes a penalty for fth_changes_find from the noise of the series. The noise is estimated from
 * the differences of adjacent values, of which the smallest 80 % are assumed to contain no jumps.
 * `resolution` > 0 is the step to which the values are rounded, in the unit of the series. */
FTH_MUST_USE enum fth_status fth_change_penalty(const double *series, size_t count,
                                                double resolution, double *penalty,
                                                struct fth_error *error);

/* ---- ks.c ---- */

struct fth_ks {
    double d;   /* largest distance between the two empirical distribution functions, 0 to 1 */
    double p;   /* probability of at least this distance if both samples have one distribution */
    bool exact; /* p is exact, not computed from the limit distribution */
};

/* Performs the two-sample Kolmogorov-Smirnov test. */
FTH_MUST_USE enum fth_status fth_ks_test(const double *a, size_t a_count, const double *b,
                                         size_t b_count, struct fth_ks *result,
                                         struct fth_error *error);
/* Returns P(K > lambda) for Kolmogorov's distribution. */
double fth_kolmogorov_tail(double lambda);

/* ---- student.c ---- */

/* Returns the probability that a value of Student's t distribution is above `t`. `freedom`:
 * degrees of freedom, a positive number. */
double fth_student_tail(double t, double freedom);
/* Returns the value that is exceeded with probability `tail`; 0 for 0.5 and more. */
double fth_student_quantile(double tail, double freedom);

/* ---- bootstrap.c ---- */

struct fth_interval {
    double estimate;
    double low;
    double high;
};

/* Computes the mean and a percentile interval that contains the true mean with probability `level`,
 * for example 0.95, from `repeats` resamples. */
FTH_MUST_USE enum fth_status fth_bootstrap_interval(const double *samples, size_t count,
                                                    double level, size_t repeats, uint64_t seed,
                                                    struct fth_interval *interval,
                                                    struct fth_error *error);

/* ---- nearest.c ---- */

struct fth_nearest;

/* Creates a classifier from examples[count][features], with NAN for an unknown feature, and
 * labels[count], each less than `classes`. `weights` has the weight of each feature in a distance;
 * NULL means equal weights. The classifier keeps no pointer to its arguments. The caller releases
 * it with fth_nearest_destroy. */
FTH_MUST_USE enum fth_status fth_nearest_fit(const double *examples, const size_t *labels,
                                             size_t count, size_t features, const double *weights,
                                             size_t classes, struct fth_nearest **nearest,
                                             struct fth_error *error);
void fth_nearest_destroy(struct fth_nearest *nearest);
/* Returns the distance from the centroid of a class: the root mean square over the features that
 * are known on both sides, in standard deviations; INFINITY if there is no such feature. */
double fth_nearest_distance(const struct fth_nearest *nearest, size_t class,
                            const double *features);

/* ---- vectors.c ---- */

/* Vectors in groups. A zero-initialized struct has none. */
struct fth_vector_groups {
    size_t count, size; /* groups; components of a vector */
    uint32_t *group_of; /* [vectors] */
    double *centres;    /* [count][size] mean of the members */
    size_t *members;    /* [count] */
    double nearest;     /* smallest distance between two centres; INFINITY for one group */
    double farthest;    /* largest distance of a vector from its centre */
};
/* Returns the mean absolute difference of the components. */
double fth_vector_distance(const double *a, const double *b, size_t size);
/* Groups vectors[count][size] that differ by at most `max_distance` from the centre of their group.
 * FTH_INCONCLUSIVE: there are more than `max_groups`. The caller releases the result with
 * fth_vector_groups_fini. */
FTH_MUST_USE enum fth_status fth_vectors_group(const double *vectors, size_t count, size_t size,
                                               double max_distance, size_t max_groups,
                                               struct fth_vector_groups *groups,
                                               struct fth_error *error);
void fth_vector_groups_fini(struct fth_vector_groups *groups);

/* ---- gf2.c ---- */

/* A vector space over GF(2), stored as a basis. A zero-initialized struct is the space {0}. */
struct fth_gf2 {
    uint64_t rows[64]; /* basis vectors; rows[b] has highest bit b and is in use if pivots has b */
    uint64_t pivots;   /* mask of the highest bits of the basis vectors */
};

/* Extends the space by a vector. Returns false if the space already contains it. */
bool fth_gf2_add(struct fth_gf2 *space, uint64_t vector);
/* Reduces a vector modulo the space. Two vectors have the same result if and only if their
 * difference is in the space. The result is 0 for vectors of the space. */
uint64_t fth_gf2_reduce(const struct fth_gf2 *space, uint64_t vector);
/* Returns the dimension of the space. */
unsigned fth_gf2_rank(const struct fth_gf2 *space);
/* Computes the orthogonal space: the vectors of `bits` bits that have an even number of ones in
 * common with every vector of `space`. */
void fth_gf2_orthogonal(const struct fth_gf2 *space, unsigned bits, struct fth_gf2 *orthogonal);
bool fth_gf2_equal(const struct fth_gf2 *a, const struct fth_gf2 *b);

#endif
