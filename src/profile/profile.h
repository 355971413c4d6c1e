/* profile/: compares what the cache model predicts with the counters of a GPU.
 *
 *   csv_reader.c       records and fields of CSV (RFC 4180)
 *   ncu_read.c         counters of Nsight Compute: 'ncu --csv', in both of its layouts
 *   model_totals.c     predictions per kernel, from a fathom-model/1 document
 *   profile_compare.c  pairs the kernels of both and computes the errors of the predictions
 *
 * report/results/accuracy_results.c writes the comparison. */
#ifndef FTH_PROFILE_H
#define FTH_PROFILE_H

#include "base/json.h"

/* ---- csv_reader.c ---- */

/* Reads the records of a CSV text. The text is changed: fields end with NUL in place. Initialise
 * `at` with the beginning of the text, which must end with NUL. */
struct fth_csv_reader {
    char *at;      /* the rest of the text */
    char **fields; /* of the last record, in the text */
    size_t count, capacity;
    uint64_t line; /* of the last record, counted from 1; 0 before the first record */
    uint64_t next_line;
};

/* Reads the next record. *more is false at the end of the text. FTH_NO_MEMORY is the only failure:
 * a quote that does not end is taken to end with the text. */
FTH_MUST_USE enum fth_status fth_csv_next(struct fth_csv_reader *reader, bool *more,
                                          struct fth_error *error);
void fth_csv_fini(struct fth_csv_reader *reader);

/* ---- ncu_read.c ---- */

/* What fathom reads from a profile. All but times, percentages and bytes are numbers of sectors. */
enum fth_profile_counter {
    FTH_PROFILE_L1_READ_SECTORS,
    FTH_PROFILE_L1_READ_HITS,
    FTH_PROFILE_L1_READ_HIT_PERCENT,
    FTH_PROFILE_L1_WRITE_SECTORS,
    FTH_PROFILE_L2_READ_SECTORS,
    FTH_PROFILE_L2_READ_HITS,
    FTH_PROFILE_L2_READ_HIT_PERCENT,
    FTH_PROFILE_L2_WRITE_SECTORS,
    FTH_PROFILE_DRAM_READ_BYTES,
    FTH_PROFILE_DRAM_WRITE_BYTES,
    FTH_PROFILE_TIME_US,
    FTH_PROFILE_COUNT
};

/* A kernel of a profile or of a model run, with its sums over all of its launches. */
struct fth_profile_kernel {
    char *name;                        /* as in the file: mangled or in C++ */
    uint64_t launches;                 /* that were counted */
    uint64_t known[FTH_PROFILE_COUNT]; /* launches that have the counter */
    double values[FTH_PROFILE_COUNT];  /* sums over these; of percentages, too; NAN: none has it */
};

/* The kernels of a profile, in the order of their first launches. Initialised with {0}. */
struct fth_profile {
    struct fth_profile_kernel *kernels;
    size_t count, capacity;
};

/* Returns the kernel with a name, and adds it if there is none; NULL: out of memory. Its values are
 * NAN at first. */
struct fth_profile_kernel *fth_profile_kernel(struct fth_profile *profile, const char *name);
/* Adds the value of a counter in `launches` launches. */
void fth_profile_count(struct fth_profile_kernel *kernel, enum fth_profile_counter counter,
                       double value, uint64_t launches);
void fth_profile_fini(struct fth_profile *profile);

/* Reads the output of 'ncu --csv', with the page raw (a launch per record) or details (a metric per
 * record); "-" is standard input. Lines before the table, such as ncu's messages, are skipped.
 * FTH_INVALID: the file has no such table, or none of the counters that fathom compares; the error
 * says how to measure them. */
FTH_MUST_USE enum fth_status fth_ncu_read(const char *path, struct fth_profile *profile,
                                          struct fth_error *error);
/* Like fth_ncu_read, for a text that is in memory and ends with NUL. The text is changed. `path` is
 * used in messages. */
FTH_MUST_USE enum fth_status fth_ncu_parse(const char *path, char *text,
                                           struct fth_profile *profile, struct fth_error *error);
/* Returns the metrics that fathom compares, for ncu's option --metrics. The text is static. */
const char *fth_ncu_metrics(void);

/* ---- model_totals.c ---- */

/* Reads the kernels of a fathom-model/1 document. *gpu gets the name of the GPU, to be released
 * with free; NULL if the document has none. FTH_INVALID: it is another document. */
FTH_MUST_USE enum fth_status fth_model_totals_read(const char *path, struct fth_profile *profile,
                                                   char **gpu, struct fth_error *error);

/* ---- profile_compare.c ---- */

/* A figure that is compared. Ratios are in percent, and their errors in percentage points. The
 * errors of the others are in percent of what the GPU counted. */
struct fth_profile_figure {
    const char *key;  /* in JSON and CSV */
    const char *head; /* in text */
    bool is_ratio;
    enum fth_profile_counter value;   /* the sum, of the launches, or the hits of a ratio */
    enum fth_profile_counter sectors; /* of a ratio: what the hits are divided by */
    enum fth_profile_counter
        percent; /* of a ratio: the counter that states it, if hits are unknown */
};
extern const struct fth_profile_figure fth_profile_figures[];
extern const size_t fth_profile_figure_count;

/* A figure of a kernel: the mean per launch, or the ratio over all launches. */
struct fth_profile_pair {
    const struct fth_profile_kernel *gpu, *model;
    const struct fth_profile_figure *figure;
    double measured, predicted;
    double error; /* predicted minus measured, in points or percent; NAN: measured is 0 */
    /* The figure counts in the mean errors. False if the GPU counted too few sectors, because what
     * a launch itself reads (code, constants, parameters) is then not negligible. */
    bool counts;
};

/* The mean and the maximum of the absolute errors of a figure over all kernels that count. */
struct fth_profile_error {
    size_t kernels;
    double mean, maximum; /* NAN without kernels */
};

/* The comparison of all kernels. Initialised with {0}; borrows the kernels. */
struct fth_profile_comparison {
    struct fth_profile_pair *pairs; /* by kernel, then by figure */
    size_t count, capacity;
    struct fth_profile_error *errors; /* [fth_profile_figure_count] */
    /* Kernels of the GPU without a prediction, or without a figure that both have. */
    const struct fth_profile_kernel **unpaired;
    size_t unpaired_count;
};

/* Pairs the kernels by name and compares the figures that both have. FTH_INVALID: no figure is in
 * both, or a name of the profile stands for several kernels of the model. */
FTH_MUST_USE enum fth_status fth_profile_compare(const struct fth_profile *gpu,
                                                 const struct fth_profile *model,
                                                 struct fth_profile_comparison *comparison,
                                                 struct fth_error *error);
void fth_profile_comparison_fini(struct fth_profile_comparison *comparison);

#endif
