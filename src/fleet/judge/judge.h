/* What the files of the judgement share (judge.c, judge_model.c, judge_numbers.c, judge_exact.c,
 * judge_state.c, judge_groups.c, causes.c). docs/methods/fleet.md explains the statistics. */
#ifndef FTH_FLEET_JUDGE_H
#define FTH_FLEET_JUDGE_H

#include "fleet/fleet.h"

/* What fails, for error messages. */
#define FTH_JUDGE_OPERATION "judge a fleet"

/* Shares of the permitted false alarms. Chosen: half for numbers and half for exact figures; of the
 * numbers' half, a fifth for the worst of several measurements. */
#define FTH_JUDGE_SHARE_NUMBERS 0.5
#define FTH_JUDGE_SHARE_WORST 0.2
#define FTH_JUDGE_SHARE_EXACT 0.5

/* Cohorts that are judged against themselves and have fewer GPUs are judged without the GPU in
 * question, which would otherwise hide itself. Chosen: in larger cohorts, one GPU changes the
 * robust spread by about 1 %. */
enum { FTH_JUDGE_LEAVE_OUT = 100 };
/* Measurements of a GPU beyond this number do not make its median more precise in the model. */
enum { FTH_JUDGE_MAX_RUNS = 32 };

/* Standard deviation / median absolute deviation of a normal distribution: 1 / 0.67449, where
 * 0.67449 is its upper quartile. */
#define FTH_JUDGE_MAD_SCALE 1.4826
/* Efficiency of the median absolute deviation for a normal distribution (P. J. Huber, "Robust
 * Statistics", 1981, section 5.1): with N values it is as precise as a standard deviation from
 * 0.37 N values. */
#define FTH_JUDGE_MAD_EFFICIENCY 0.37
/* Variance of the median / variance of the mean, for many values of a normal distribution: pi / 2.
 * The median of N values has the variance 1 / (4 N f^2), where f = 1 / sqrt(2 pi) is the density of
 * the distribution at its centre. */
#define FTH_JUDGE_MEDIAN_VARIANCE 1.5708

/* Quantiles of Student's t distribution that were computed last (judge_model.c). */
enum { FTH_JUDGE_FREEDOMS = 11 };
struct fth_judge_tails {
    double level; /* 0: none */
    double ratios[FTH_JUDGE_FREEDOMS];
};

/* Part of a distribution: `count` GPUs whose figure has the logarithm `x`. */
struct fth_judge_point {
    double x;
    uint32_t count;
};
/* The distribution of a figure on healthy GPUs, as far as it is known. All numbers are those of
 * logarithms. */
struct fth_judge_model {
    double centre;
    double total2;         /* variance of the medians of the GPUs in the reference */
    double noise2;         /* variance of one measurement; NAN: unknown */
    double noise_part;     /* `noise2` times this is the mean variance that the noise adds to the
                            * medians of the GPUs in the reference */
    double freedom;        /* degrees of freedom of Student's t distribution */
    double single_freedom; /* likewise, for single measurements */
    double raw;            /* standard deviation between GPUs, without assumptions */
    double default_spread; /* assumed before anything is measured */
    /* Limit of the degrees of freedom, and factor of the spread, from all figures together. */
    double common_freedom, common_stretch;
    double noise_freedom; /* degrees of freedom of the noise */
    double gpus;          /* in the reference */
};
/* A figure of a cohort. */
struct fth_judge_figure {
    const struct fth_reference_figure *reference;
    const char *name;  /* of the figure, as long as the judgement exists */
    uint32_t index;    /* in fth_fleet.figures; UINT32_MAX: the fleet does not have it */
    uint32_t column;   /* of the heat map; UINT32_MAX: none */
    const char *why;   /* why it is not judged; NULL: judged */
    double direction;  /* 1: a larger value is worse; -1: a smaller one */
    double min_effect; /* as a difference of logarithms; smaller ones never count */
    struct fth_judge_point *points; /* numbers; in ascending order */
    size_t point_count;
    struct fth_judge_model model;
    /* Exact figures. */
    const char *usual; /* the most common value, interned in the fleet */
    double usual_number;
    uint64_t usual_gpus, known_gpus; /* with this value; with any value */
    uint64_t variant_gpus;           /* with a value that is not usual, but shared by many */
};
/* The cohort that is being judged. */
struct fth_judge_cohort {
    const struct fth_reference_cohort *reference; /* NULL: none */
    struct fth_judge_figure *figures;
    size_t figure_count;
    uint32_t *slots; /* [figures of the fleet] index into `figures`; UINT32_MAX: none */
    /* Thresholds for p-values of numbers, for GPUs with 1 + index measurements; 0: not computed */
    double thresholds[FTH_JUDGE_MAX_RUNS], worst_thresholds[FTH_JUDGE_MAX_RUNS];
    size_t exact_figures;  /* that are judged */
    double exact_odd;      /* values of these that are neither usual nor shared by many */
    double exact_known;    /* values of these */
    size_t judged_figures; /* numbers and exact figures */
    double tests;          /* numbers of its GPUs that were tested */
};
/* A judgement in progress. */
struct fth_judge {
    struct fth_fleet *fleet;
    const struct fth_fleet_reference *reference;
    bool own; /* the reference was made from the fleet */
    double false_alarms, min_effect;
    struct fth_fleet_judgement *judgement;
    uint32_t *columns;        /* [figures] column of the heat map; UINT32_MAX: none */
    float *ratios;            /* [gpus][columns] ln(value / usual); NAN: none */
    uint32_t *order;          /* GPUs, ordered by cohort */
    const char *real_backend; /* of a GPU that is not simulated; NULL: all are simulated */
    struct fth_judge_cohort cohort;
    struct fth_judge_tails tails[3];
    double *small_p; /* all p-values of numbers below 0.01, for the severity */
    size_t small_count, small_capacity;
    double tests; /* numbers that were tested, of all GPUs of the fleet or of the reference */
    struct fth_error *error;
};

/* Returns the i-th measurement of a GPU. */
static inline const struct fth_fleet_measurement *fth_judge_measurement(
    const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu, size_t i)
{
    return &fleet->measurements[fleet->by_gpu[gpu->first_measurement + i]];
}
/* Adds a finding to the result of a GPU. */
FTH_MUST_USE enum fth_status fth_judge_add(struct fth_judge *judge, struct fth_fleet_result *result,
                                           const struct fth_fleet_finding *finding);
/* Copies a text into the judgement; NULL: no memory. */
const char *fth_judge_text(struct fth_judge *judge, const char *text);

/* ---- judge_numbers.c ---- */

/* Computes the distribution of a number from the reference. */
FTH_MUST_USE enum fth_status fth_judge_number_prepare(struct fth_judge *judge,
                                                      struct fth_judge_figure *figure);
/* Returns the standard deviation of ln(median of `runs` measurements) around the centre. */
double fth_judge_spread(const struct fth_judge_model *model, size_t runs);
/* Judges the numbers of a GPU. Adds the number of figures that were tested to *judged. */
FTH_MUST_USE enum fth_status fth_judge_numbers(struct fth_judge *judge,
                                               struct fth_fleet_result *result, size_t *judged);
/* Fills the summary of a number. */
void fth_judge_number_summary(struct fth_judge *judge, const struct fth_judge_figure *figure,
                              struct fth_fleet_figure_summary *summary);
/* Adds the tests of the cohort to those of the fleet. To be called after its GPUs were judged. */
void fth_judge_count_tests(struct fth_judge *judge);
/* Decides which findings are severe. To be called after all GPUs were judged. */
void fth_judge_severity(struct fth_judge *judge);

/* ---- judge_model.c ---- */

/* Computes the distribution from the points of a figure. `without`: index of a point from which one
 * GPU is removed; SIZE_MAX: none. `tails` NULL: noise and tail of single measurements are those of
 * figure->model, and the tail of GPUs is not fitted. */
void fth_judge_model_fit(const struct fth_judge_figure *figure, size_t without,
                         struct fth_judge_tails tails[3], struct fth_judge_model *model);
/* Initialises a distribution about which nothing is known yet. */
void fth_judge_model_begin(struct fth_judge_model *model);
/* Raises the default spread if most figures of the cohort vary more. */
FTH_MUST_USE enum fth_status fth_judge_common_spread(struct fth_judge *judge);
/* Estimates the tail of all figures of a cohort together, and applies it to each of them. */
void fth_judge_common_tail(struct fth_judge_cohort *cohort);
/* Returns the point that is nearest to a logarithm. */
size_t fth_judge_point_near(const struct fth_judge_figure *figure, double x);

/* ---- judge_exact.c ---- */

/* Determines the usual value of an exact figure. */
FTH_MUST_USE enum fth_status fth_judge_exact_prepare(struct fth_judge *judge,
                                                     struct fth_judge_figure *figure);
/* Judges the sizes, counts and texts of a GPU. Adds the number of figures that were tested to
 * *judged. */
FTH_MUST_USE enum fth_status fth_judge_exact(struct fth_judge *judge,
                                             struct fth_fleet_result *result, size_t *judged);

/* ---- judge_state.c ---- */

/* Applies the rules about states. */
FTH_MUST_USE enum fth_status fth_judge_state(struct fth_judge *judge,
                                             struct fth_fleet_result *result);

/* ---- judge_groups.c ---- */

/* Finds groups that differ. To be called after all GPUs were judged. */
FTH_MUST_USE enum fth_status fth_judge_groups(struct fth_judge *judge);

/* ---- causes.c ---- */

/* Sets the causes of all GPUs with findings. To be called last. */
FTH_MUST_USE enum fth_status fth_judge_causes(struct fth_judge *judge);

#endif
