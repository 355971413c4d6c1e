/* stats/: statistics on arrays of samples. Each function takes numbers and returns a result, most
 * of them with a measure of confidence. This module performs no I/O, takes random seeds from the
 * caller, and does not know where the numbers come from. docs/methods.md lists the sources and
 * assumptions of the methods.
 *
 *   sort.c       sorted copies                      cluster.c  plateaus of latencies, thresholds
 *   summary.c    median, quantiles, spread          valley.c   wide modes that touch each other
 *   reduce.c     one number per row of samples      change.c   change points of a series
 *   bootstrap.c  confidence of a number             ks.c       test whether two samples differ
 *   nearest.c    nearest of several known classes   period.c   period of a sequence
 *   gf2.c        hashes that are XORs of bits
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
/* Computes the mean without the floor(share * count) lowest and the floor(share * count) highest
 * samples; 0 <= share < 0.5. */
FTH_MUST_USE enum fth_status fth_trimmed_mean_f64(const double *samples, size_t count, double share,
                                                  double *mean, struct fth_error *error);

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

/* The value that occurs most often; the lowest one if several are equally frequent. */
struct fth_mode {
    uint32_t value;
    size_t count; /* number of samples with this value */
};

FTH_MUST_USE enum fth_status fth_mode_u32(const uint32_t *samples, size_t count,
                                          struct fth_mode *mode, struct fth_error *error);

/* ---- cluster.c ---- */

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
    double separations[FTH_CLUSTER_MAX - 1]; /* gap around each threshold / spread of plateaus */
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
 * the fence is infinite. `separations` are 0. */
FTH_MUST_USE enum fth_status fth_modes_u32(const uint32_t *samples, size_t count, double min_share,
                                           struct fth_clusters *clusters, struct fth_error *error);
/* Returns the index of the plateau of a sample, or clusters->count for an outlier. */
size_t fth_cluster_of(const struct fth_clusters *clusters, double sample);

/* Divides samples into low ones (hits) and high ones (misses). The low samples are those of the
 * lowest plateau; all others, outliers included, are high. */
struct fth_threshold {
    double value; /* a sample is low if it is at most this value */
    double low_median;
    double high_median;
    double low_share;  /* low samples / all samples */
    double separation; /* as in struct fth_clusters */
};

/* Returns FTH_INCONCLUSIVE if the samples form one plateau. A few misses among many hits count as
 * outliers. To find the first miss, compute the threshold from many samples of both kinds (for
 * example those of all footprints) and count with FTH_REDUCE_ABOVE. */
FTH_MUST_USE enum fth_status fth_threshold_u32(const uint32_t *samples, size_t count,
                                               const struct fth_cluster_options *options,
                                               struct fth_threshold *threshold,
                                               struct fth_error *error);

/* ---- change.c ---- */

struct fth_change {
    size_t index; /* of the first value of the right part */
    double left;  /* level of the left part: mean, or median with fth_change_find_robust */
    double right; /* level of the right part */
    double gain;  /* fraction of the squared (robust: absolute) deviations that the change explains,
                     0 to 1 */
};

/* Finds the single change point that minimizes the squared deviation from two levels. The result is
 * exact and takes O(count). Each part has at least `min_part` (> 0) values. If several points are
 * equally good, the first one is returned. A best point always exists; use fth_change_test to
 * decide whether it is significant. Returns FTH_INVALID for fewer than 2 * min_part values. */
FTH_MUST_USE enum fth_status fth_change_find(const double *series, size_t count, size_t min_part,
                                             struct fth_change *change, struct fth_error *error);
/* Does the same with absolute deviations from two medians, exactly, in O(count log count). The
 * magnitude of an outlier has almost no influence, provided `min_part` is large enough that
 * outliers cannot form a part of their own. */
FTH_MUST_USE enum fth_status fth_change_find_robust(const double *series, size_t count,
                                                    size_t min_part, struct fth_change *change,
                                                    struct fth_error *error);

/* Change points in ascending order. The levels of each are those of the two adjacent parts. The
 * gain of each refers to the sum of squares of these two parts. */
struct fth_changes {
    struct fth_change *items;
    size_t count;
};

/* Finds any number of change points: the partition that minimizes the squared deviation plus
 * `penalty` per change. The result is exact. It takes O(count) if changes are frequent and
 * O(count²) if there are none. Returns FTH_INVALID for fewer than `min_part` values or a penalty
 * that is not positive. The caller releases the result with fth_changes_fini. */
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
/* Computes the smallest D that is significant at level 0 < alpha < 1 for samples without ties. The
 * test rejects if d >= *critical, which is the same as p <= alpha except for rounding. *critical is
 * INFINITY if the samples are too small for any D to be significant. */
FTH_MUST_USE enum fth_status fth_ks_critical(size_t a_count, size_t b_count, double alpha,
                                             double *critical, struct fth_error *error);
/* Returns P(K > lambda) for Kolmogorov's distribution. */
double fth_kolmogorov_tail(double lambda);
/* Tests whether the values before `index` differ from those at and after it. `candidates` is the
 * number of indices from which this one was chosen as the best; pass 1 if the index was known in
 * advance. p is multiplied by it (Bonferroni correction), because the best of many indices can look
 * significant by chance. */
FTH_MUST_USE enum fth_status fth_change_test(const double *series, size_t count, size_t index,
                                             size_t candidates, struct fth_ks *result,
                                             struct fth_error *error);

/* ---- reduce.c ---- */

enum fth_reduction_kind {
    FTH_REDUCE_MEAN,
    FTH_REDUCE_MEDIAN,
    FTH_REDUCE_DISTANCE, /* root mean square of min(sample, cap) - reference */
    FTH_REDUCE_ABOVE     /* fraction of the samples above the threshold */
};

struct fth_reduction {
    enum fth_reduction_kind kind;
    double reference; /* FTH_REDUCE_DISTANCE, in the unit of the samples */
    double cap;       /* FTH_REDUCE_DISTANCE; INFINITY for no cap */
    double threshold; /* FTH_REDUCE_ABOVE */
};

/* Chooses the parameters of FTH_REDUCE_DISTANCE for these samples (all rows together). The
 * reference is the smallest sample. The cap is 1.5 times as far above the reference as the quantile
 * at 1 - outlier_share, and at least a tenth of the reference plus 1 above it. outlier_share = 0
 * means no cap. */
FTH_MUST_USE enum fth_status fth_reduction_geometric(const uint32_t *samples, size_t count,
                                                     double outlier_share,
                                                     struct fth_reduction *reduction,
                                                     struct fth_error *error);
/* Reduces samples[rows][columns] to series[rows]. A row has the samples of one footprint. */
FTH_MUST_USE enum fth_status fth_reduce_u32(const uint32_t *samples, size_t rows, size_t columns,
                                            const struct fth_reduction *reduction, double *series,
                                            struct fth_error *error);
/* Reduces one row of `columns` > 0 samples. `scratch` has space for 2 * columns values. */
double fth_reduce_row(const struct fth_reduction *reduction, const uint32_t *row, size_t columns,
                      double *scratch);

/* ---- bootstrap.c ---- */

struct fth_bootstrap {
    size_t min_part; /* as in fth_change_find */
    bool robust;     /* use fth_change_find_robust instead of fth_change_find */
    size_t repeats;  /* number of resamples; with 200, the standard error of `confidence` is about
                        0.03 */
    uint64_t seed;
};

struct fth_change_location {
    size_t index;      /* of the change point in the original samples */
    double confidence; /* fraction of the resamples with the same index */
    double within_one; /* fraction of the resamples with this index or an adjacent one */
    size_t low;        /* 5 % quantile of the indices of the resamples */
    size_t high;       /* 95 % quantile */
};

/* Reduces samples[rows][columns] to a series, finds its change point, and estimates how certain the
 * location of the change point is. */
FTH_MUST_USE enum fth_status fth_bootstrap_change(const uint32_t *samples, size_t rows,
                                                  size_t columns,
                                                  const struct fth_reduction *reduction,
                                                  const struct fth_bootstrap *options,
                                                  struct fth_change_location *location,
                                                  struct fth_error *error);

enum fth_statistic { FTH_STATISTIC_MEAN, FTH_STATISTIC_MEDIAN };

struct fth_interval {
    double estimate;
    double low;
    double high;
};

/* Computes a percentile interval that contains the true value with probability `level`, for example
 * 0.95, from `repeats` resamples. */
FTH_MUST_USE enum fth_status fth_bootstrap_interval(const double *samples, size_t count,
                                                    enum fth_statistic statistic, double level,
                                                    size_t repeats, uint64_t seed,
                                                    struct fth_interval *interval,
                                                    struct fth_error *error);

/* ---- period.c ---- */

struct fth_period {
    bool periodic;
    size_t period;     /* the smallest period that matches, or the best one if none matches */
    double match;      /* agreement beyond chance: 1 is exact, 0 is that of a shuffled sequence */
    double confidence; /* 1 - probability that a shuffled sequence matches as well at any period */
};

/* Finds the smallest period up to `max_period` whose match is at least 1 - tolerance. `max_period`
 * is limited to half the sequence, which is also the meaning of 0. A constant sequence has period 1
 * with confidence 0, because shuffling does not change it. Takes O(count * max_period). */
FTH_MUST_USE enum fth_status fth_period_find(const uint32_t *sequence, size_t count,
                                             size_t max_period, double tolerance,
                                             struct fth_period *period, struct fth_error *error);

/* ---- nearest.c ---- */

struct fth_nearest;

struct fth_nearest_match {
    size_t class;
    double distance;      /* root mean square over the features, in standard deviations */
    size_t next_class;    /* the second nearest class; the number of classes if there is none */
    double next_distance; /* INFINITY if there is no second class */
    double margin;   /* (next_distance - distance) / (next_distance + distance): 0 is undecided,
                        1 is certain; 1 if there is no second class */
    size_t compared; /* number of features that are known here and in the class */
};

/* Creates a classifier from examples[count][features], with NAN for an unknown feature, and
 * labels[count], each less than `classes`. `weights` has the weight of each feature in a distance;
 * NULL means equal weights. The classifier keeps no pointer to its arguments. The caller releases
 * it with fth_nearest_destroy. */
FTH_MUST_USE enum fth_status fth_nearest_fit(const double *examples, const size_t *labels,
                                             size_t count, size_t features, const double *weights,
                                             size_t classes, struct fth_nearest **nearest,
                                             struct fth_error *error);
void fth_nearest_destroy(struct fth_nearest *nearest);
/* Returns the distance from the centroid of a class in standard deviations, or INFINITY if no
 * feature is known on both sides. `compared` (may be NULL) receives the number of features that are
 * known on both sides. */
double fth_nearest_distance(const struct fth_nearest *nearest, size_t class, const double *features,
                            size_t *compared);
/* Finds the nearest class. Returns FTH_INCONCLUSIVE if no class shares a known feature with
 * `features`. */
FTH_MUST_USE enum fth_status fth_nearest_classify(const struct fth_nearest *nearest,
                                                  const double *features,
                                                  struct fth_nearest_match *match,
                                                  struct fth_error *error);

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
