/* Benches: series of measurements, such as bandwidth by footprint. */
#ifndef FATHOM_BENCHES_H
#define FATHOM_BENCHES_H

#include <fathom/devices.h>
#include <fathom/reports.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The results of one or more benches. A bench measures how performance depends on a parameter, such
 * as the number of threads or the footprint. */
struct fth_bench;

/* Returns the name of the `index`-th bench; NULL past the last. *summary gets a description of one
 * line; `summary` may be NULL. The texts are static. */
FTH_API const char *fth_bench_name(size_t index, const char **summary);
/* Checks the name of a bench. FTH_INVALID: `name` is neither a bench nor "all"; the error suggests
 * a similar name. */
FTH_API FTH_MUST_USE enum fth_status fth_bench_check_name(const char *name,
                                                          struct fth_error *error);

/* Which benches fth_bench_create runs. Initialise it with FTH_BENCH_OPTIONS. */
struct fth_bench_options {
    size_t size;              /* of this struct in bytes */
    const char *const *names; /* benches to run, [count]; "all" selects all of them */
    size_t count;             /* 0: all benches */
    const struct fth_log *log;
    bool thorough; /* measure a simulated GPU as extensively as a real one; this takes long */
};
/* Initialises a struct fth_bench_options; the arguments are designated initialisers. */
#define FTH_BENCH_OPTIONS(...) FTH_OPTIONS(struct fth_bench_options, __VA_ARGS__)

/* Runs benches; all of them if `options` is NULL. Results that a device cannot give are in
 * fth_bench_series.missing. Interruption can be requested through options->log and through the log
 * of fth_device_open. After FTH_INTERRUPTED and after FTH_UNAVAILABLE (the device failed, or a
 * recording lacks the answer to a request), *bench holds what was measured so far, and the caller
 * must destroy it; `missing` of its last series says that points are missing. FTH_INVALID: a name
 * is wrong. */
FTH_API FTH_MUST_USE enum fth_status fth_bench_create(struct fth_device *device,
                                                      const struct fth_bench_options *options,
                                                      struct fth_bench **bench,
                                                      struct fth_error *error);
/* Releases results and all that was borrowed from them. */
FTH_API void fth_bench_destroy(struct fth_bench *bench);

/* A single result that was derived from a series. */
struct fth_bench_figure {
    const char *key;
    double value;
    const char *unit; /* "": none */
    const char *method;
};
/* A series of measured points, one per row of `table`, with hints for showing it as text. Indices
 * of columns refer to `table`. */
struct fth_bench_series {
    const char *name;  /* such as "banks.ways" */
    const char *title; /* heading in the text format */
    struct fth_table table;
    bool grid;                  /* show it as a grid instead of a list of rows */
    size_t down, across, value; /* columns of the grid: row heading, column heading, cell */
    bool plot;                  /* also draw it */
    size_t x, y, by; /* columns of the plot: x axis, y axis, and the name of the point's curve */
    bool detail;     /* too long for a table in text; JSON and CSV contain it */
    const struct fth_bench_figure *figures;
    size_t figure_count;
    const char *const *missing; /* what could not be measured, each with its reason */
    size_t missing_count;
};
/* Returns the number of series of all benches that were run. */
FTH_API size_t fth_bench_series_count(const struct fth_bench *bench);
/* Returns the `index`-th series, in the order of fth_bench_name; NULL past the last. */
FTH_API const struct fth_bench_series *fth_bench_series_at(const struct fth_bench *bench,
                                                           size_t index);
/* Returns a description of the device: what the driver reports, and those results that are
 * attributes of a description, such as banks and bandwidths. */
FTH_API const struct fth_gpu *fth_bench_gpu(const struct fth_bench *bench);
/* Shows the results. `options` may be NULL. FTH_INVALID: the format is not text, json or csv. */
FTH_API FTH_MUST_USE enum fth_status fth_report_bench(const char *format,
                                                      const struct fth_bench *bench,
                                                      const struct fth_report_options *options,
                                                      char **text, size_t *size,
                                                      struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
