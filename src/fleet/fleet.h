/* fleet/: finds the GPUs of a fleet that differ from the others of their model (docs/fleets.md).
 *
 *   fleet.c             the fleet: GPUs, their measurements, names of figures
 *   fleet_arrange.c     cohorts, and the order of the measurements
 *   fleet_figures.c     what is known about a figure: its kind, unit, and which direction is better
 *   read/               files and folders of descriptions and records
 *     fleet_read.c        threads that read, and merging of what they read
 *     fleet_source.c      the files, as a sequence of documents and groups of lines
 *     fleet_builder.c     collects the values of one measurement
 *     fleet_description.c descriptions as measurements
 *     fleet_records.c     measurements as JSON lines (fathom-fleet-record/1), written and read
 *   sketch.c            mergeable distributions: histograms of logarithms
 *   reference.c         the distribution of each figure in each cohort; merging
 *   reference_make.c    the reference of a fleet
 *   reference_json.c    references as documents (fathom-fleet-reference/1)
 *   judge/              the judgement (judge/judge.h)
 *     judge.c             one verdict per GPU
 *     judge_model.c       the distribution of a number on healthy GPUs
 *     judge_numbers.c     numbers: robust distance from the reference, p-values
 *     judge_exact.c       sizes, counts and texts, which are equal on all healthy GPUs of a model
 *     judge_state.c       states that are faults by themselves: ECC errors, links, throttling
 *     judge_groups.c      whole groups (node, rack, driver, board) that differ
 *     causes.c            a cause that explains several findings
 *   history/            the history of a fleet: an SQLite file (history/history.h)
 *   generate/           fleets made from measurements of real GPUs, with faults
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
    FTH_FLEET_KINDS
};

/* A figure, such as "memory.read_bytes_per_s" (element, dot, attribute). */
struct fth_fleet_figure {
    const char *name;
    enum fth_fleet_kind kind;
};
/* Returns the kind of a figure, by its name. */
enum fth_fleet_kind fth_fleet_kind_of(const char *name);
/* Returns the name of a kind in documents: "rate", "time", "exact", "state", "context". */
const char *fth_fleet_kind_name(enum fth_fleet_kind kind);
/* Returns false if the name is not that of a kind. */
bool fth_fleet_kind_parse(const char *name, enum fth_fleet_kind *kind);

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
    /* Where the GPU was, and with which software, when it was measured; interned, NULL: unknown.
     * They can differ between the measurements of a GPU. */
    const char *host, *slot, *driver, *board;
};

/* One GPU. Texts are interned; NULL: unknown. GPUs with the same UUID and backend are one GPU;
 * without a UUID, each file is a GPU of its own. */
struct fth_fleet_gpu {
    const char *name;                   /* for the output: the UUID, or the file */
    const char *uuid, *host, *slot;     /* slot: PCI address */
    const char *group;                  /* given by the user, such as a rack (--groups) */
    const char *model, *driver, *board; /* board: part number, with the VBIOS version */
    const char *backend;                /* "cuda", "opencl", "simulated" */
    bool simulated;
    uint32_t cohort;                             /* index into fth_fleet.cohorts */
    size_t first_measurement, measurement_count; /* in fth_fleet.by_gpu */
    /* Time of the latest measurement; 0: unknown. Host, slot, driver and board above are those of
     * this measurement, or of the last one that was added if the times are unknown. */
    int64_t time;
    const char *path; /* identifies the GPU if it has no UUID; otherwise NULL */
};

/* GPUs that are compared with each other: the same model, backend and, unless the user mixes them,
 * driver and board. */
struct fth_fleet_cohort {
    const char *model, *backend, *driver, *board; /* driver, board NULL: mixed or unknown */
    bool simulated;
    size_t gpu_count;
    bool mixed_drivers, mixed_boards; /* `driver`, `board` are NULL because they are mixed */
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
    size_t by_gpu_count; /* of measurements when the fleet was arranged */
    /* Space for one number of each measurement of a GPU, which fth_fleet_gpu_median and
     * fth_fleet_gpu_mode use; valid after fth_fleet_arrange. */
    double *numbers;
    size_t number_capacity;
    struct fth_fleet_cohort *cohorts;
    size_t cohort_count, cohort_capacity;
    struct fth_fleet_problem *problems; /* files that could not be read or are not of a GPU */
    size_t problem_count, problem_capacity;
    void *index; /* hash table of fleet.c: texts, figures, GPUs */
    /* Each measurement has a GPU of its own, also if the UUID is the same. For parts that threads
     * read (fleet_read.c). */
    bool separate;
};

/* A file that gives no measurement, or of which some lines give none. */
struct fth_fleet_problem {
    const char *file, *reason; /* the reason of the first of these lines */
    size_t lines;              /* that cannot be read; 0: the whole file */
};

/* Which differences make separate cohorts. */
struct fth_fleet_mixing {
    bool drivers; /* GPUs with different drivers are compared with each other */
    bool boards;  /* likewise, boards */
};

/* Returns a text in the fleet that equals `text`; equal texts give equal addresses. NULL: no
 * memory. */
const char *fth_fleet_intern(struct fth_fleet *fleet, const char *text);
/* Returns the index of a figure, which is added if it is new. UINT32_MAX: no memory, or the fleet
 * has FTH_FLEET_MAX_FIGURES already. */
uint32_t fth_fleet_figure_index(struct fth_fleet *fleet, const char *name);
/* Returns the index of a figure, UINT32_MAX if the fleet does not have it. */
uint32_t fth_fleet_figure_find(const struct fth_fleet *fleet, const char *name);
/* Maximum number of figures of a fleet. Chosen: ten times as many as descriptions have. It limits
 * the memory and the time that damaged files can take. */
enum { FTH_FLEET_MAX_FIGURES = 4096 };
/* Removes the figures from `count` on, which no measurement may have. */
void fth_fleet_forget_figures(struct fth_fleet *fleet, size_t count);
/* A measurement to be added; all texts are copied. */
struct fth_fleet_draft {
    struct fth_fleet_gpu gpu; /* without cohort and measurements */
    int64_t time;
    const char *file;
    const struct fth_fleet_value *values; /* any order; texts are copied */
    size_t value_count;
    const double *fingerprint;
    size_t fingerprint_count;
    const char *path; /* identifies a GPU without a UUID; NULL: `file` does */
};
/* Adds a measurement and, if it is new, its GPU. FTH_INVALID: a figure occurs twice, or a figure of
 * kind RATE or TIME is not a number of at least 0. */
FTH_MUST_USE enum fth_status fth_fleet_add(struct fth_fleet *fleet,
                                           const struct fth_fleet_draft *draft,
                                           struct fth_error *error);
/* Adds a problem; both texts are copied. */
FTH_MUST_USE enum fth_status fth_fleet_add_problem(struct fth_fleet *fleet, const char *file,
                                                   const char *reason, struct fth_error *error);
/* Assigns GPUs to cohorts and orders the measurements. To be called after the last one was added
 * and before the fleet is judged. `mixing` NULL: nothing is mixed. */
FTH_MUST_USE enum fth_status fth_fleet_arrange(struct fth_fleet *fleet,
                                               const struct fth_fleet_mixing *mixing,
                                               struct fth_error *error);
/* Returns the value of a figure in a measurement, NULL if it has none. */
const struct fth_fleet_value *fth_fleet_find(const struct fth_fleet_measurement *measurement,
                                             uint32_t figure);
/* Returns the median of a figure over the measurements of a GPU; *count gets the number of
 * measurements that have a number. NAN: none has. The fleet is arranged. */
double fth_fleet_gpu_median(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                            uint32_t figure, size_t *count);
/* Returns the number that most measurements of a GPU have, and the smallest of several such
 * numbers. NAN: none has a number. */
double fth_fleet_gpu_mode(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                          uint32_t figure);
/* Orders numbers, none of which is NAN, in ascending order, for qsort. */
int fth_fleet_compare_numbers(const void *a, const void *b);
/* Returns the median of at least one number, none of which is NAN. Changes their order. */
double fth_fleet_median(double *numbers, size_t count);
/* Sets the groups of GPUs whose host has one (fth_fleet_read_groups). */
void fth_fleet_apply_groups(struct fth_fleet *fleet);
/* Orders cohorts by model, backend and the other properties that distinguish them. Returns a number
 * as strcmp does. */
int fth_fleet_cohort_compare(const struct fth_fleet_cohort *a, const struct fth_fleet_cohort *b);

/* ---- reading (read/) ---- */

/* Maximum size of the name of a figure, with a NUL. Chosen: twice the longest one. */
enum { FTH_FIGURE_NAME = 120 };

/* Collects the values of one measurement and adds it to the fleet; can then be used for the next
 * one. Initialised with {.fleet = fleet}. */
struct fth_fleet_builder {
    struct fth_fleet *fleet;
    struct fth_fleet_draft draft; /* texts are those of the document until it is finished */
    struct fth_fleet_value *values;
    size_t value_count, value_capacity;
    double *fingerprint;
    size_t fingerprint_count;
    const char *part_number, *vbios, *measured_at;
    struct fth_buffer text; /* for temporary use */
};
/* The value of an attribute of a description: a number or, if it is NAN, a text or a list. */
struct fth_fleet_attribute {
    const char *name;
    double number;
    const char *text;
    const double *numbers;
    const char *const *texts;
    size_t count; /* of `numbers` or `texts` */
    double confidence;
};
/* Begins a measurement. The texts must live until it is finished; `path` may be NULL (struct
 * fth_fleet_draft). */
void fth_fleet_builder_reset(struct fth_fleet_builder *builder, const char *file, const char *path);
/* Adds an attribute of a section of a description. */
FTH_MUST_USE enum fth_status fth_fleet_builder_put(struct fth_fleet_builder *builder,
                                                   const char *section,
                                                   const struct fth_fleet_attribute *attribute,
                                                   struct fth_error *error);
/* Adds the value of a figure. `text` must live until the measurement is finished. */
FTH_MUST_USE enum fth_status fth_fleet_builder_add(struct fth_fleet_builder *builder,
                                                   const char *name, double number,
                                                   const char *text, double confidence,
                                                   struct fth_error *error);
/* Adds a value of another fleet. *figure is the index of the figure, or UINT32_MAX, and then gets
 * the index. */
FTH_MUST_USE enum fth_status fth_fleet_builder_copy(struct fth_fleet_builder *builder,
                                                    const char *name, uint32_t *figure,
                                                    const struct fth_fleet_value *value,
                                                    struct fth_error *error);
/* Adds the measurement to the fleet. */
FTH_MUST_USE enum fth_status fth_fleet_builder_finish(struct fth_fleet_builder *builder,
                                                      struct fth_error *error);
/* Releases what the builder has allocated. */
void fth_fleet_builder_fini(struct fth_fleet_builder *builder);
/* Adds the measurement of a document of one of these kinds, given as text. FTH_INVALID: it is
 * neither, or damaged; the fleet is then unchanged. */
FTH_MUST_USE enum fth_status fth_fleet_add_document(struct fth_fleet_builder *builder,
                                                    const char *file, const char *path,
                                                    const char *text, size_t size,
                                                    struct fth_error *error);
/* Adds the measurement of a document fathom-gpu/1, and of a document fathom-fleet-record/1. */
FTH_MUST_USE enum fth_status fth_fleet_add_description(struct fth_fleet_builder *builder,
                                                       const struct fth_json *root,
                                                       struct fth_error *error);
FTH_MUST_USE enum fth_status fth_fleet_add_record(struct fth_fleet_builder *builder,
                                                  const struct fth_json *root,
                                                  struct fth_error *error);

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
/* Releases the bins and empties the sketch. */
void fth_sketch_fini(struct fth_sketch *sketch);
/* Adds a number; those that are not positive and finite are refused with FTH_INVALID. */
FTH_MUST_USE enum fth_status fth_sketch_add(struct fth_sketch *sketch, double number,
                                            struct fth_error *error);
/* Adds `count` numbers to the bin with this index. FTH_INVALID: the count overflows. */
FTH_MUST_USE enum fth_status fth_sketch_put(struct fth_sketch *sketch, int32_t index,
                                            uint32_t count, struct fth_error *error);
/* Adds the numbers of another sketch. */
FTH_MUST_USE enum fth_status fth_sketch_merge(struct fth_sketch *sketch,
                                              const struct fth_sketch *other,
                                              struct fth_error *error);
/* Returns a quantile (0 to 1); NAN if the sketch is empty. */
double fth_sketch_quantile(const struct fth_sketch *sketch, double fraction);
/* Returns the smallest number that at least this fraction of the numbers does not exceed, if one
 * number that equals `without` is left out; NAN: none is left out. Returns NAN if none remains. */
double fth_sketch_upper(const struct fth_sketch *sketch, double fraction, double without);
/* Returns the median of |ln(x / centre)|. */
double fth_sketch_deviation(const struct fth_sketch *sketch, double centre);
/* Returns the logarithm of the centre of an interval. */
double fth_sketch_bin_log(const struct fth_sketch_bin *bin);

/* How often an exact value occurs. */
struct fth_fleet_occurrence {
    const char *text; /* the value as text; numbers with all digits */
    uint64_t gpus;
};

/* What a cohort has of one figure. */
struct fth_reference_figure {
    const char *name; /* of the figure */
    enum fth_fleet_kind kind;
    /* RATE and TIME: one number per GPU, its median over the measurements. STATE: 1 + the rounded
     * number of the GPU (fth_reference_round), for counters. */
    struct fth_sketch gpus;
    /* RATE and TIME: |ln(x / median of the GPU)| + 1 of each measurement of GPUs with several
     * (1 is added because a sketch holds positive numbers). Gives the noise from run to run. */
    struct fth_sketch repeats;
    uint64_t repeated_gpus; /* GPUs with several measurements; 0 with `repeats`: unknown */
    /* EXACT and STATE: the values that occur: numbers in ascending order, then texts (strcmp). Of
     * more than FTH_REFERENCE_MAX_VALUES, the first are kept, so that merging in any order keeps
     * the same ones. A GPU with several measurements has the value that most of them have. */
    struct fth_fleet_occurrence *values;
    size_t value_count, value_capacity;
    uint64_t other_gpus; /* with values beyond these */
};
/* Maximum number of different values of a figure in a reference. Chosen: a figure with more of them
 * has no usual value. */
enum { FTH_REFERENCE_MAX_VALUES = 64 };
/* A cohort of a reference, in which the texts are the reference's. */
struct fth_reference_cohort {
    struct fth_fleet_cohort cohort;
    struct fth_reference_figure *figures; /* in the order of their names (strcmp) */
    size_t figure_count, figure_capacity;
};
struct fth_fleet_reference {
    struct fth_arena arena;               /* owns the texts */
    struct fth_reference_cohort *cohorts; /* in the order of model, backend, driver, board */
    size_t cohort_count, cohort_capacity;
};
/* Returns the cohort of a reference that a cohort of a fleet is judged against: the one with the
 * same model, backend, driver and board or, if there is none and one of the two is mixed, the
 * largest that differs only in what is mixed. NULL: none. */
const struct fth_reference_cohort *fth_reference_cohort_for(
    const struct fth_fleet_reference *reference, const struct fth_fleet_cohort *cohort);
/* Rounds the number of a STATE to two significant digits, so that counters that differ on all GPUs
 * need few intervals of a distribution. */
double fth_reference_round(double number);
/* Returns a figure of a cohort, NULL if none. */
const struct fth_reference_figure *fth_reference_find(const struct fth_reference_cohort *cohort,
                                                      const char *name);

/* Reads a reference from a document in memory. `name` identifies it in messages. */
FTH_MUST_USE enum fth_status fth_reference_read_text(const char *name, const char *text,
                                                     size_t size,
                                                     struct fth_fleet_reference **reference,
                                                     struct fth_error *error);
/* Creates an empty reference. */
FTH_MUST_USE enum fth_status fth_reference_create(struct fth_fleet_reference **reference,
                                                  struct fth_error *error);
/* Makes the reference of a fleet that is arranged (fth_fleet_arrange). */
FTH_MUST_USE enum fth_status fth_reference_make(const struct fth_fleet *fleet,
                                                struct fth_fleet_reference **reference,
                                                struct fth_error *error);
/* Adds a cohort or, if the reference has it, its number of GPUs. Pointers to other cohorts become
 * invalid. */
FTH_MUST_USE enum fth_status fth_reference_add_cohort(struct fth_fleet_reference *reference,
                                                      const struct fth_fleet_cohort *cohort,
                                                      struct fth_reference_cohort **added,
                                                      struct fth_error *error);
/* Adds a figure to a cohort, or finds it. Pointers to other figures of the cohort become invalid.
 * FTH_INVALID: the cohort has the figure with another kind. */
FTH_MUST_USE enum fth_status fth_reference_add_figure(struct fth_fleet_reference *reference,
                                                      struct fth_reference_cohort *cohort,
                                                      const char *name, enum fth_fleet_kind kind,
                                                      struct fth_reference_figure **added,
                                                      struct fth_error *error);
/* Adds GPUs with an exact value. */
FTH_MUST_USE enum fth_status fth_reference_add_value(struct fth_fleet_reference *reference,
                                                     struct fth_reference_figure *figure,
                                                     const char *text, uint64_t gpus,
                                                     struct fth_error *error);

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
    size_t deviating;              /* of these, how many differ */
    bool severe;                   /* makes the verdict "failed" */
    const char *note; /* a sentence about the rule that applies, such as "The link has fewer lanes
                       * than it can have.", or what else changed since the earlier measurements,
                       * such as "driver 580.1 -> 590.2"; NULL: none */
    double single_p;  /* p before the adjustment for the number of figures */
    bool history;     /* compared with the GPU's own earlier measurements */
    bool lasting;     /* a state: all measurements since the first one that differs do. Otherwise, a
                       * finding of some measurements only is intermittent. */
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
    double detectable;     /* smallest effect that is found in 99 % of cases; NAN: none is (the
                            * figure is not judged, or few GPUs have it and these differ) */
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

/* A host without measurements or, if `gpu` is not NULL, a GPU. `host` NULL: unknown. */
struct fth_fleet_missing {
    const char *host, *gpu;
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
    const char *
        *notes; /* sentences about cards that were swapped or moved (history/history_judge.c) */
    size_t note_count, note_capacity;
    /* What is missing (history/history_expected.c). */
    bool expects;         /* the members below are set */
    size_t expected_gpus; /* 0: any number */
    size_t found_gpus;    /* that were judged or, if `counts_measured` is set, measured */
    bool counts_measured;
    struct fth_fleet_missing *missing;
    size_t missing_count;
};

#endif
