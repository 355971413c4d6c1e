/* fleet/: finds the GPUs of a fleet that differ from the others of their model (docs/fleets.md).
 *
 *   fleet.c             the fleet: GPUs, their measurements, names of figures
 *   fleet_figures.c     what is known about a figure: its kind, unit, and which direction is better
 *   fleet_read.c        descriptions as measurements; folders, with threads
 *   fleet_records.c     measurements as JSON lines (fathom-fleet-record/1), written and read
 *   sketch.c            mergeable distributions: histograms of logarithms
 *   reference.c         the distribution of each figure in each cohort; merging
 *   reference_json.c    references as documents (fathom-fleet-reference/1)
 *   judge.c             the judgement: one verdict per GPU
 *   judge_numbers.c     numbers: robust distance from the reference, p-values
 *   judge_exact.c       sizes, counts and texts, which are equal on all healthy GPUs of a model
 *   judge_state.c       states that are faults by themselves: ECC errors, links, throttling
 *   judge_groups.c      whole groups (node, rack, driver, board) that differ
 *   causes.c            a cause that explains several findings
 *   history.c           the history of a fleet, an SQLite file: opening, adding, forgetting
 *   history_read.c      reading measurements of the history into a fleet; the list of its GPUs
 *   history_values.c    the values of a measurement as bytes, and back
 *   history_change.c    the figures of a GPU against its own earlier measurements
 *   history_cards.c     cards that were swapped or moved; fingerprints
 *   history_judge.c     the two above, as findings of a judgement (history.h declares all of them)
 *   generate.c          fleets made from measurements of real GPUs, with faults
 *
 * Data flow:
 *
 *   descriptions, records --> fleet (measurements of GPUs) --> reference (distributions)
 *                               |                                 |
 *                               +---------------> judge <---------+
 *                                                   |
 *                                                judgement --> report/fleet/
 *
 * A reference holds only mergeable counts. Parts of a fleet can therefore be read on many nodes,
 * their references merged, and each part be judged against the merged reference.
 */
#ifndef FTH_FLEET_H
#define FTH_FLEET_H

#include "base/base.h"
#include "base/json.h"
#include "gpu/gpu.h"

#include <fathom/fathom.h>

/* ---- figures (fleet_figures.c) ---- */

/* How a figure is judged. */
enum fth_fleet_kind {
    FTH_FLEET_RATE,  /* positive number, the higher the better: bandwidths, clocks under load */
    FTH_FLEET_TIME,  /* positive number, the lower the better: latencies, penalties */
    FTH_FLEET_EXACT, /* equal on all healthy GPUs of a model: sizes, counts, structure, texts */
    FTH_FLEET_STATE, /* a value that may be a fault by itself: ECC errors, link width, throttling */
    FTH_FLEET_CONTEXT, /* not judged: temperature, power; shown beside the findings */
};

/* A figure, such as "memory.read_bytes_per_s" (element, dot, attribute). */
struct fth_fleet_figure {
    const char *name;
    enum fth_fleet_kind kind;
};
/* Returns the kind of a figure, by its name and the source of its value. */
enum fth_fleet_kind fth_fleet_kind_of(const char *name);

/* ---- the fleet (fleet.c) ---- */

/* The value of a figure in one measurement. */
struct fth_fleet_value {
    uint32_t figure;  /* index into fth_fleet.figures */
    float confidence; /* that the value is right, 0 to 1; NAN: unknown */
    double number;    /* NAN: the value is `text` */
    const char *text; /* interned in the fleet, so that equal texts have equal addresses; or NULL */
};

/* One measurement of one GPU. */
struct fth_fleet_measurement {
    uint32_t gpu;                         /* index into fth_fleet.gpus */
    int64_t time;                         /* seconds since 1970, UTC; 0: unknown */
    const char *file;                     /* where it comes from, for messages; never NULL */
    const struct fth_fleet_value *values; /* in ascending order of `figure` */
    size_t value_count;
    const double *fingerprint; /* latency of the L2 from each SM in cycles; NULL: unknown */
    size_t fingerprint_count;
    const char *host, *slot, *driver, *board; /* at the time of this measurement; NULL: unknown */
};

/* One GPU. Texts are interned; NULL: unknown. GPUs with the same UUID are one GPU; without a UUID,
 * each file is a GPU of its own. */
struct fth_fleet_gpu {
    const char *name;                   /* for the output: the UUID, or the file */
    const char *uuid, *host, *slot;     /* slot: PCI address */
    const char *group;                  /* given by the user, such as a rack (--groups) */
    const char *model, *driver, *board; /* board: part number, with the VBIOS version */
    const char *backend;                /* "cuda", "opencl", "simulated" */
    bool simulated;
    uint32_t cohort;                             /* index into fth_fleet.cohorts */
    size_t first_measurement, measurement_count; /* in fth_fleet.by_gpu */
};

/* GPUs that are compared with each other: the same model, backend and, unless the user mixes them,
 * driver and board. */
struct fth_fleet_cohort {
    const char *model, *backend, *driver, *board; /* driver, board NULL: mixed or unknown */
    bool simulated;
    size_t gpu_count;
};

struct fth_fleet {
    struct fth_arena arena; /* owns all texts and values */
    struct fth_fleet_figure *figures;
    size_t figure_count, figure_capacity;
    struct fth_fleet_gpu *gpus;
    size_t gpu_count, gpu_capacity;
    struct fth_fleet_measurement *measurements;
    size_t measurement_count, measurement_capacity;
    /* Indices of the measurements, ordered by GPU and time; valid after fth_fleet_arrange. */
    size_t *by_gpu;
    struct fth_fleet_cohort *cohorts;
    size_t cohort_count, cohort_capacity;
    struct fth_fleet_problem *problems; /* files that could not be read or are not of a GPU */
    size_t problem_count, problem_capacity;
    void *index; /* hash tables of fleet.c: texts, figures, GPUs */
};

/* A file that gives no measurement. */
struct fth_fleet_problem {
    const char *file, *reason;
};

/* Which differences make separate cohorts. */
struct fth_fleet_mixing {
    bool drivers; /* GPUs with different drivers are compared with each other */
    bool boards;  /* likewise, boards */
};

/* Returns a text in the fleet that equals `text`; equal texts give equal addresses. NULL: no
 * memory. */
const char *fth_fleet_intern(struct fth_fleet *fleet, const char *text);
/* Returns the index of a figure, which is added if it is new. UINT32_MAX: no memory. */
uint32_t fth_fleet_figure_index(struct fth_fleet *fleet, const char *name);
/* A measurement to be added; all texts are copied. */
struct fth_fleet_draft {
    struct fth_fleet_gpu gpu; /* without cohort and measurements */
    int64_t time;
    const char *file;
    const struct fth_fleet_value *values; /* any order; texts are copied */
    size_t value_count;
    const double *fingerprint;
    size_t fingerprint_count;
};
/* Adds a measurement and, if it is new, its GPU. */
FTH_MUST_USE enum fth_status fth_fleet_add(struct fth_fleet *fleet,
                                           const struct fth_fleet_draft *draft,
                                           struct fth_error *error);
/* Assigns GPUs to cohorts and orders the measurements. To be called after the last one was added
 * and before the fleet is judged or written. */
FTH_MUST_USE enum fth_status fth_fleet_arrange(struct fth_fleet *fleet,
                                               const struct fth_fleet_mixing *mixing,
                                               struct fth_error *error);
/* Returns the value of a figure in a measurement, NULL if it has none. */
const struct fth_fleet_value *fth_fleet_find(const struct fth_fleet_measurement *measurement,
                                             uint32_t figure);
/* Returns the median over a GPU's measurements of a number; *count gets the number of measurements
 * that have it. NAN: none has it. */
double fth_fleet_gpu_median(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                            uint32_t figure, size_t *count);

/* ---- distributions (sketch.c, reference.c) ---- */

/* A distribution of positive numbers: counts per interval of the logarithm, each 0.02 % wide.
 * Merging adds counts, so that the order does not matter. */
struct fth_sketch {
    struct fth_sketch_bin {
        int32_t index;
        uint32_t count;
    } * bins; /* in ascending order of index */
    size_t bin_count, bin_capacity;
    uint64_t count;
};
void fth_sketch_fini(struct fth_sketch *sketch);
/* Adds a number; those that are not positive and finite are refused with FTH_INVALID. */
FTH_MUST_USE enum fth_status fth_sketch_add(struct fth_sketch *sketch, double number,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_sketch_merge(struct fth_sketch *sketch,
                                              const struct fth_sketch *other,
                                              struct fth_error *error);
/* Returns a quantile (0 to 1); NAN if the sketch is empty. */
double fth_sketch_quantile(const struct fth_sketch *sketch, double fraction);
/* Returns the median of |ln(x / centre)|. */
double fth_sketch_deviation(const struct fth_sketch *sketch, double centre);

/* How often an exact value occurs. */
struct fth_fleet_occurrence {
    const char *text; /* the value as text; numbers with all digits */
    uint64_t gpus;
};

/* What a cohort has of one figure. */
struct fth_reference_figure {
    const char *name; /* of the figure */
    enum fth_fleet_kind kind;
    /* RATE and TIME: one number per GPU, its median over the measurements. */
    struct fth_sketch gpus;
    /* RATE and TIME: |ln(x / median of the GPU)| + 1 of each measurement of GPUs with several
     * (1 is added because a sketch holds positive numbers). Gives the noise from run to run. */
    struct fth_sketch repeats;
    /* EXACT and STATE: the values that occur, at most 64 of them. */
    struct fth_fleet_occurrence *values;
    size_t value_count, value_capacity;
    uint64_t other_gpus; /* with values beyond these 64 */
};
struct fth_reference_cohort {
    struct fth_fleet_cohort cohort;
    struct fth_reference_figure *figures; /* in the order of their names (strcmp) */
    size_t figure_count, figure_capacity;
};
struct fth_fleet_reference {
    struct fth_arena arena; /* owns the texts */
    struct fth_reference_cohort *cohorts;
    size_t cohort_count, cohort_capacity;
};
/* Returns the cohort of a reference that a cohort of a fleet is judged against, NULL if none. */
const struct fth_reference_cohort *fth_reference_cohort_for(
    const struct fth_fleet_reference *reference, const struct fth_fleet_cohort *cohort);
/* Returns a figure of a cohort, NULL if none. */
const struct fth_reference_figure *fth_reference_find(const struct fth_reference_cohort *cohort,
                                                      const char *name);

/* ---- the judgement (judge.c ...) ---- */

/* A figure of a GPU that differs. */
struct fth_fleet_finding {
    const char *figure;
    enum fth_fleet_kind kind;
    double value, usual;           /* NAN: texts */
    const char *text, *usual_text; /* NULL: numbers */
    double effect;                 /* value / usual - 1; NAN: not a number */
    bool worse;                    /* in the direction that is worse; true for exact figures */
    double distance;               /* robust standard deviations from the median; NAN: none */
    double p;                      /* probability of such a value on a healthy GPU, adjusted for the
                                    * number of figures */
    size_t measurements;           /* of this GPU that have the figure */
    size_t deviating;              /* of these, how many differ; fewer than all: intermittent */
    bool severe;                   /* makes the verdict "failed" */
    bool history;     /* compared with earlier measurements of the same GPU; `usual` is theirs */
    const char *note; /* what else changed since then, such as "driver 580.1 -> 590.2"; or NULL */
};

/* The verdict for a GPU. */
enum fth_fleet_verdict {
    FTH_FLEET_HEALTHY,
    FTH_FLEET_SUSPECT,
    FTH_FLEET_FAILED,
    FTH_FLEET_NOT_JUDGED
};

struct fth_fleet_result {
    uint32_t gpu; /* index into the fleet's GPUs */
    enum fth_fleet_verdict verdict;
    struct fth_fleet_finding *findings; /* the most important first */
    size_t finding_count, finding_capacity;
    const char *cause;  /* a sentence, such as "One L2 partition is slower."; NULL: none */
    const char *reason; /* NOT_JUDGED: why; otherwise NULL */
    float *scores;      /* per column of the heat map (struct fth_fleet_judgement.columns): distance
                         * in robust standard deviations, positive: worse; NAN: no value */
};

/* A figure of a cohort. */
struct fth_fleet_figure_summary {
    const char *name;
    enum fth_fleet_kind kind;
    size_t gpu_count;
    double median, spread; /* spread: robust standard deviation / median, GPU to GPU with noise */
    double noise;          /* likewise, from run to run; NAN: no GPU has several measurements */
    double low, high;      /* 1 % and 99 % quantiles */
    double detectable;     /* smallest effect that is found in 99 % of cases; NAN: not judged */
    const char *usual;     /* EXACT and STATE: the usual value; otherwise NULL */
    const char *reason;    /* why the figure could not be judged; NULL: judged */
    /* Histogram for plots: `bin_count` equal bins from `from` to `to`. */
    double from, to;
    uint32_t bins[40];
    size_t bin_count;
};
struct fth_fleet_cohort_summary {
    struct fth_fleet_cohort cohort;
    size_t measurement_count, healthy, suspect, failed, not_judged;
    struct fth_fleet_figure_summary *figures;
    size_t figure_count, figure_capacity;
    const char *reason; /* why the cohort could not be judged (too few GPUs); NULL: judged */
};

/* A group (host, rack, driver, board) whose GPUs differ together from the rest of the cohort or,
 * for drivers and boards, from the other cohorts of the model. */
struct fth_fleet_group_finding {
    const char *kind; /* "host", "group", "driver", "board" */
    const char *name, *figure;
    size_t gpu_count;
    double value, usual, effect, p;
};

struct fth_fleet_judgement {
    struct fth_arena arena;
    const struct fth_fleet *fleet;    /* borrowed; must outlive the judgement */
    double false_alarms, min_effect;  /* the options used */
    struct fth_fleet_result *results; /* one per GPU, in the order of the fleet's GPUs */
    struct fth_fleet_cohort_summary *cohorts;
    size_t cohort_count;
    struct fth_fleet_group_finding *groups;
    size_t group_count, group_capacity;
    const char **columns; /* figures of the heat map: RATE and TIME */
    size_t column_count;
    size_t healthy, suspect, failed, not_judged;
    const char **notes; /* sentences about cards that were swapped or moved (history_judge.c) */
    size_t note_count, note_capacity;
};

#endif
