/* stats/: numbers in, a result and how sure it is out. It reads and prints nothing, takes its seed
 * from the caller, and does not know where the numbers come from. docs/methods.md has the sources
 * and the assumptions.
 *
 *   sort.c      sorted copies                   cluster.c   plateaus of latencies, thresholds
 *   summary.c   median, quantiles, spread       change.c    where a series jumps
 *   reduce.c    a row of samples, one number    ks.c        do two samples differ
 *   bootstrap.c how sure a number is            period.c    does a sequence repeat itself
 *   nearest.c   which of the known it is like   gf2.c       hashes that are XORs of bits
 *
 * What holds for every function here:
 *   - The caller's arrays are only read.
 *   - No input at all, or numbers that are not finite, are FTH_INVALID; too little memory is
 *     FTH_NO_MEMORY. `error` may be NULL. After a failure nothing was written to the results.
 *   - The same input (and seed) gives the same result, bit by bit.
 */
#ifndef FTH_STATS_H
#define FTH_STATS_H

#include "base/base.h"

/* ---- sort.c ---- */

/* Sorts in place, ascending, in O(count); `scratch` has room for as many. */
void fth_sort_f64(double *values, double *scratch, size_t count);
/* A sorted copy, to be freed with free(), with room for as many values behind it. `operation` goes
 * into the error. */
FTH_MUST_USE enum fth_status fth_sorted_f64(const double *values, size_t count,
                                            const char *operation, double **sorted,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_sorted_u32(const uint32_t *values, size_t count,
                                            const char *operation, double **sorted,
                                            struct fth_error *error);
/* FTH_INVALID where there are none or one of them is not finite. */
FTH_MUST_USE enum fth_status fth_check_f64(const double *values, size_t count,
                                           const char *operation, struct fth_error *error);

/* ---- summary.c ---- */

/* In the unit of the samples. Quantiles are of type 7 of Hyndman and Fan (see fth_quantile_sorted).
 * `mad` is the median of the absolute deviations from the median, as it is: times 1.4826 it
 * estimates the standard deviation of a normal distribution. */
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

/* The quantile of `count` > 0 ascending numbers at 0 <= p <= 1: linear between the order statistics
 * at (count - 1) p, counted from 0 (Hyndman and Fan's type 7; the default of R and NumPy). */
double fth_quantile_sorted(const double *sorted, size_t count, double p);
FTH_MUST_USE enum fth_status fth_quantile_f64(const double *samples, size_t count, double p,
                                              double *quantile, struct fth_error *error);
/* The mean without the lowest and the highest floor(share * count) samples; 0 <= share < 0.5. */
FTH_MUST_USE enum fth_status fth_trimmed_mean_f64(const double *samples, size_t count, double share,
                                                  double *mean, struct fth_error *error);

/* The mean of the samples within three median absolute deviations of the median, and within 2 at
 * least: as steady as the median, and finer than the samples' own steps, as for cycles that are
 * counted whole. */
FTH_MUST_USE enum fth_status fth_core_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                               struct fth_error *error);

/* The mean of the samples that nothing disturbed, where disturbances only make longer and leave at
 * least a quarter alone: those up to as far above the lower quartile as a spread like that below it
 * goes (four times the distance of the 5 % quantile, and 1), and up to a gap of once that. */
FTH_MUST_USE enum fth_status fth_clean_mean_u32(const uint32_t *samples, size_t count, double *mean,
                                                struct fth_error *error);

/* The value that occurs most often, the lowest of those where there are several. */
struct fth_mode {
    uint32_t value;
    size_t count; /* how often */
};

FTH_MUST_USE enum fth_status fth_mode_u32(const uint32_t *samples, size_t count,
                                          struct fth_mode *mode, struct fth_error *error);

/* ---- cluster.c ---- */

#define FTH_CLUSTER_MAX 12

/* What makes two groups of samples two plateaus. 0 in a member stands for the default. */
struct fth_cluster_options {
    size_t max_clusters; /* at most FTH_CLUSTER_MAX, the default */
    double min_share;    /* of the samples that strays may have; a plateau holds more, and 4 at
                            least; default 0.02 */
    double min_gap; /* between the plateaus' near edges, in the unit of the samples; default 2 */
    double min_gap_relative; /* the same as a share of the lower plateau's median; default 0.02 */
};

/* The edges are quantiles: a plateau may hold a few strays. */
struct fth_cluster {
    size_t count;
    double share; /* of all samples, outliers included */
    double median;
    double min;
    double max;
    double p05;
    double p95;
};

/* Plateaus in ascending order. A sample x belongs to plateau i where
 * thresholds[i - 1] < x <= thresholds[i]; above `fence` it is an outlier and belongs to none.
 *
 *      ▂█▃                 ▁▅▁                       ▆▂▁         .   .      .
 *            thresholds[0]       thresholds[1]             fence
 */
struct fth_clusters {
    size_t count; /* at least 1 */
    struct fth_cluster items[FTH_CLUSTER_MAX];
    double thresholds[FTH_CLUSTER_MAX - 1];
    double separations[FTH_CLUSTER_MAX - 1]; /* the gap around each, in units of the spread */
    double fence;
    size_t outliers;
};

/* `options` may be NULL. Takes some 40 bytes a sample and 64 a distinct value, and O(u log u) in
 * the number u of distinct values: 2 ms for 100,000 samples of whole cycles. */
FTH_MUST_USE enum fth_status fth_cluster_f64(const double *samples, size_t count,
                                             const struct fth_cluster_options *options,
                                             struct fth_clusters *clusters,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cluster_u32(const uint32_t *samples, size_t count,
                                             const struct fth_cluster_options *options,
                                             struct fth_clusters *clusters,
                                             struct fth_error *error);
/* valley.c: modes that are wide and touch, split where the density has a valley. Each has that
 * share of the samples at least. Nothing is an outlier: the fence is infinite. */
FTH_MUST_USE enum fth_status fth_modes_u32(const uint32_t *samples, size_t count, double min_share,
                                           struct fth_clusters *clusters, struct fth_error *error);
/* The plateau of a sample, by the thresholds; clusters->count: an outlier. */
size_t fth_cluster_of(const struct fth_clusters *clusters, double sample);

/* Two kinds of samples, low ones (hits) and high ones (misses: all that is not in the lowest
 * plateau, outliers included). */
struct fth_threshold {
    double value; /* low: sample <= value */
    double low_median;
    double high_median;
    double low_share;
    double separation; /* as in struct fth_clusters */
};

/* FTH_INCONCLUSIVE where the samples are one plateau. A few misses among many hits are outliers: to
 * find the first miss, take the threshold from samples of both kinds (those of all footprints
 * together) and count with FTH_REDUCE_ABOVE. */
FTH_MUST_USE enum fth_status fth_threshold_u32(const uint32_t *samples, size_t count,
                                               const struct fth_cluster_options *options,
                                               struct fth_threshold *threshold,
                                               struct fth_error *error);

/* ---- change.c ---- */

struct fth_change {
    size_t index; /* of the first value of the right part */
    double left;  /* the level of either part: mean, or median with fth_change_find_robust */
    double right;
    double gain; /* share of the squared (absolute) deviations that the change explains, 0 to 1 */
};

/* The one change point that leaves the least squared deviation from two levels; exact, in O(count).
 * Each part has at least `min_part` (> 0) values; of equally good points the first is taken. There
 * is always a best one: whether it is real is for fth_change_test to say. FTH_INVALID with fewer
 * than 2 * min_part values. */
FTH_MUST_USE enum fth_status fth_change_find(const double *series, size_t count, size_t min_part,
                                             struct fth_change *change, struct fth_error *error);
/* The same with absolute deviations from two medians, exact, in O(count log count). It hardly
 * matters how far out an outlier lies, as long as `min_part` keeps it from being a part of its own.
 */
FTH_MUST_USE enum fth_status fth_change_find_robust(const double *series, size_t count,
                                                    size_t min_part, struct fth_change *change,
                                                    struct fth_error *error);

/* Change points in ascending order, their levels those of the parts on either side, the gain of
 * each the share of the sum of squares of these two parts. */
struct fth_changes {
    struct fth_change *items;
    size_t count;
};

/* Any number of change points: the partition with the least squared deviation plus `penalty` for
 * each change. Exact; O(count) where changes are frequent, O(count²) where there are none.
 * FTH_INVALID where there are fewer than `min_part` values or the penalty is not positive. */
FTH_MUST_USE enum fth_status fth_changes_find(const double *series, size_t count, size_t min_part,
                                              double penalty, struct fth_changes *changes,
                                              struct fth_error *error);
void fth_changes_fini(struct fth_changes *changes);
/* A penalty for fth_changes_find, from the noise between neighbours, whose smaller four fifths of
 * differences are taken to be no jumps. `resolution` > 0 is the step that the values are rounded
 * to, in the unit of the series. */
FTH_MUST_USE enum fth_status fth_change_penalty(const double *series, size_t count,
                                                double resolution, double *penalty,
                                                struct fth_error *error);

/* ---- ks.c ---- */

struct fth_ks {
    double d;   /* the largest distance between the empirical distribution functions, 0 to 1 */
    double p;   /* the probability of such a distance, or a larger one, between samples of one
                   distribution */
    bool exact; /* p is not from the limit distribution */
};

FTH_MUST_USE enum fth_status fth_ks_test(const double *a, size_t a_count, const double *b,
                                         size_t b_count, struct fth_ks *result,
                                         struct fth_error *error);
/* The least D that is significant at 0 < alpha < 1 for samples without ties: reject where
 * d >= *critical (but for rounding, p <= alpha). INFINITY where samples so small cannot be. */
FTH_MUST_USE enum fth_status fth_ks_critical(size_t a_count, size_t b_count, double alpha,
                                             double *critical, struct fth_error *error);
/* P(K > lambda) of Kolmogorov's distribution. */
double fth_kolmogorov_tail(double lambda);
/* Whether the values before `index` and those from it differ. Where the index was chosen as the
 * best of several, `candidates` says of how many: p is multiplied with it (Bonferroni), since the
 * best of many looks good by chance; 1 for an index known beforehand. */
FTH_MUST_USE enum fth_status fth_change_test(const double *series, size_t count, size_t index,
                                             size_t candidates, struct fth_ks *result,
                                             struct fth_error *error);

/* ---- reduce.c ---- */

enum fth_reduction_kind {
    FTH_REDUCE_MEAN,
    FTH_REDUCE_MEDIAN,
    FTH_REDUCE_DISTANCE, /* root mean square of min(sample, cap) - reference */
    FTH_REDUCE_ABOVE     /* share of the samples above the threshold */
};

struct fth_reduction {
    enum fth_reduction_kind kind;
    double reference; /* FTH_REDUCE_DISTANCE, in the unit of the samples */
    double cap;       /* FTH_REDUCE_DISTANCE; INFINITY: none */
    double threshold; /* FTH_REDUCE_ABOVE */
};

/* The geometric reduction for these samples (all rows together): the reference is the least one,
 * the cap 1.5 times as far above it as the quantile at 1 - outlier_share; 0 for no cap. */
FTH_MUST_USE enum fth_status fth_reduction_geometric(const uint32_t *samples, size_t count,
                                                     double outlier_share,
                                                     struct fth_reduction *reduction,
                                                     struct fth_error *error);
/* samples[rows][columns], a row a size, to series[rows]. */
FTH_MUST_USE enum fth_status fth_reduce_u32(const uint32_t *samples, size_t rows, size_t columns,
                                            const struct fth_reduction *reduction, double *series,
                                            struct fth_error *error);
/* One row of `columns` > 0; `scratch` has room for twice as many. */
double fth_reduce_row(const struct fth_reduction *reduction, const uint32_t *row, size_t columns,
                      double *scratch);

/* ---- bootstrap.c ---- */

struct fth_bootstrap {
    size_t min_part; /* as in fth_change_find */
    bool robust;     /* fth_change_find_robust instead */
    size_t repeats;  /* draws; some 200 give a confidence to within 0.03 */
    uint64_t seed;
};

struct fth_location {
    size_t index;      /* of the change point in the samples as they are */
    double confidence; /* share of the draws with the same index */
    double within_one; /* share of the draws with this index or one beside it */
    size_t low;        /* 90 % of the draws lie from here */
    size_t high;       /* to here */
};

/* The change point of samples[rows][columns] after the reduction, and how sure its place is. */
FTH_MUST_USE enum fth_status fth_bootstrap_change(
    const uint32_t *samples, size_t rows, size_t columns, const struct fth_reduction *reduction,
    const struct fth_bootstrap *options, struct fth_location *location, struct fth_error *error);

enum fth_statistic { FTH_STATISTIC_MEAN, FTH_STATISTIC_MEDIAN };

struct fth_interval {
    double estimate;
    double low;
    double high;
};

/* A percentile interval that holds the true value with probability `level`, such as 0.95. */
FTH_MUST_USE enum fth_status fth_bootstrap_interval(const double *samples, size_t count,
                                                    enum fth_statistic statistic, double level,
                                                    size_t repeats, uint64_t seed,
                                                    struct fth_interval *interval,
                                                    struct fth_error *error);

/* ---- period.c ---- */

struct fth_period {
    bool periodic;
    size_t period;     /* the least one that matches; where none does, the one that comes closest */
    double match;      /* agreement beyond chance: 1 is exact, 0 what a shuffled sequence has */
    double confidence; /* 1 less the chance that a shuffled sequence matches so well anywhere */
};

/* The least period up to `max_period` (0: half the sequence, which is the most there can be) whose
 * match is at least 1 - tolerance. A constant sequence has period 1 with confidence 0: shuffled, it
 * is the same. O(count * max_period). */
FTH_MUST_USE enum fth_status fth_period_find(const uint32_t *sequence, size_t count,
                                             size_t max_period, double tolerance,
                                             struct fth_period *period, struct fth_error *error);

/* ---- nearest.c ---- */

struct fth_nearest;

struct fth_nearest_match {
    size_t class;
    double distance;      /* root mean square over the features, in standard deviations */
    size_t next_class;    /* the second nearest; the number of classes where there is none */
    double next_distance; /* INFINITY where there is none */
    double margin;   /* (next_distance - distance) / their sum: 0 undecided, 1 beyond doubt, and
                        where there is no other class */
    size_t compared; /* features known on both sides */
};

/* examples[count][features], NAN where unknown; labels[count] below `classes`. What each feature
 * counts in a distance is in `weights`; NULL: all the same. Nothing is kept of the arguments. */
FTH_MUST_USE enum fth_status fth_nearest_fit(const double *examples, const size_t *labels,
                                             size_t count, size_t features, const double *weights,
                                             size_t classes, struct fth_nearest **nearest,
                                             struct fth_error *error);
void fth_nearest_destroy(struct fth_nearest *nearest);
/* From the centroid of a class; INFINITY where nothing is known on both sides. `compared` (which
 * may be NULL) gets the number of features that are. */
double fth_nearest_distance(const struct fth_nearest *nearest, size_t class, const double *features,
                            size_t *compared);
/* FTH_INCONCLUSIVE where no feature is known here and in any class. */
FTH_MUST_USE enum fth_status fth_nearest_classify(const struct fth_nearest *nearest,
                                                  const double *features,
                                                  struct fth_nearest_match *match,
                                                  struct fth_error *error);

/* ---- gf2.c ---- */

/* A space of bit vectors, empty where all is 0. */
struct fth_gf2 {
    uint64_t rows[64]; /* by highest bit, where `pivots` has it */
    uint64_t pivots;
};

/* Adds a vector; false where the space had it already. */
bool fth_gf2_add(struct fth_gf2 *space, uint64_t vector);
/* What is left of a vector without its part in the space: the same for two vectors that differ by
 * one of the space, and 0 for those in it. */
uint64_t fth_gf2_reduce(const struct fth_gf2 *space, uint64_t vector);
unsigned fth_gf2_rank(const struct fth_gf2 *space);
/* The vectors of so many bits that have an even number of ones in common with every one of the
 * space. */
void fth_gf2_orthogonal(const struct fth_gf2 *space, unsigned bits, struct fth_gf2 *orthogonal);
bool fth_gf2_equal(const struct fth_gf2 *a, const struct fth_gf2 *b);

#endif
