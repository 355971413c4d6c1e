/* Reports: descriptions, comparisons and tables in several formats. */
#ifndef FATHOM_REPORTS_H
#define FATHOM_REPORTS_H

#include <fathom/descriptions.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of the format "text"; other formats ignore them. Initialise the struct with
 * FTH_REPORT_OPTIONS. A NULL pointer to it means that all options are 0. */
struct fth_report_options {
    size_t size;      /* of this struct in bytes */
    bool utf8;        /* use box-drawing characters; otherwise ASCII */
    bool colour;      /* use ANSI escape sequences */
    unsigned width;   /* maximum width of drawings in columns; less than 80, such as 0, means 80 */
    bool replayed;    /* the title states that the figures come from a recording */
    unsigned columns; /* width of text tables in characters; 0: 80 */
    /* Keys of the columns that fth_report_table leaves out if a text table is too wide, up to a
     * NULL: those without values first, then in this order. A line below the table names them.
     * NULL: no column is left out; a table that is too wide is written in several parts below each
     * other. */
    const char *const *drop;
    bool all; /* of a judgement of a fleet: also list GPUs that are healthy; not only for "text" */
};
/* Initialises a struct fth_report_options; the arguments are designated initialisers. */
#define FTH_REPORT_OPTIONS(...) FTH_OPTIONS(struct fth_report_options, __VA_ARGS__)

/* Returns the name of the `index`-th format ("text", "json", "csv", "hwloc", "mt4g", "accel-sim",
 * "gem5"); NULL past the last. *summary gets a description of one line; `summary` may be NULL. The
 * texts are static. */
FTH_API const char *fth_report_format(size_t index, const char **summary);
/* What a report shows: FTH_REPORT_GPU is a description, which can be shown in all formats.
 * FTH_REPORT_TABLE is a table, or any other result for which a format can be chosen (benches, the
 * model, points of an exploration). These can be shown only in "text", "json" and "csv".
 * FTH_REPORT_FLEET is a judgement of a fleet (fth_report_judgement), which has formats of its own.
 */
enum fth_report_subject { FTH_REPORT_GPU, FTH_REPORT_TABLE, FTH_REPORT_FLEET };
/* Checks a format before the work of producing a result. FTH_INVALID: there is no such format, or
 * it cannot show the subject; the error suggests a similar name. */
FTH_API FTH_MUST_USE enum fth_status fth_report_check(const char *format,
                                                      enum fth_report_subject subject,
                                                      struct fth_error *error);
/* Shows a description. `options` may be NULL. FTH_INVALID: there is no such format. */
FTH_API FTH_MUST_USE enum fth_status fth_report_gpu(const char *format, const struct fth_gpu *gpu,
                                                    const struct fth_report_options *options,
                                                    char **text, size_t *size,
                                                    struct fth_error *error);

/* The type of the cells in a column of struct fth_table. */
enum fth_column_kind {
    FTH_COLUMN_TEXT,    /* fth_cell.text */
    FTH_COLUMN_NUMBERS, /* fth_cell.text: numbers separated by single spaces; a list in JSON */
    FTH_COLUMN_NUMBER,  /* fth_cell.number */
    FTH_COLUMN_BYTES,   /* fth_cell.number; the text format shows it as a size, such as "32 KiB" */
    /* fth_cell.text: the name of a kernel. The text format shows the short C++ name (fth_demangle).
     * JSON and CSV have the name as it is, and the short C++ name as `demangled`; in CSV, this is
     * the last column. A table has at most one such column. */
    FTH_COLUMN_KERNEL,
    /* fth_cell.text: a number with a remark, such as "7 (6-8)". The text format aligns it to the
     * right. */
    FTH_COLUMN_REMARK
};
/* A column of struct fth_table. */
struct fth_column {
    const char *key;  /* name in JSON and CSV */
    const char *head; /* heading in the text format */
    enum fth_column_kind kind;
};
/* A cell of struct fth_table. The kind of its column determines which member counts. */
struct fth_cell {
    const char *text; /* NULL: the cell is empty */
    double number;    /* NAN: the cell is empty */
};
/* A table of any content. In JSON it is a list with one object per row; in CSV it has a header
 * line. The text format shows at most 128 columns. */
struct fth_table {
    const struct fth_column *columns;
    size_t column_count;
    const struct fth_cell *cells; /* row by row, [row_count * column_count] */
    size_t row_count;
};
/* Shows a table. `options` may be NULL. FTH_INVALID: there is no such format, or it cannot show
 * tables. */
FTH_API FTH_MUST_USE enum fth_status fth_report_table(const char *format,
                                                      const struct fth_table *table,
                                                      const struct fth_report_options *options,
                                                      char **text, size_t *size,
                                                      struct fth_error *error);

/* Writes one self-contained HTML page with charts of `count` files, in any mix: JSON documents of
 * fathom (descriptions, bench results, comparisons, model results), recordings, points of
 * explorations, and the CSV of 'fathom dissect --series'. FTH_INVALID: a file is none of these.
 * FTH_NOT_FOUND: a file does not exist. FTH_UNSUPPORTED: the library was built without D3, the
 * JavaScript library that draws the charts. */
FTH_API FTH_MUST_USE enum fth_status fth_report_html(const char *const *paths, size_t count,
                                                     const struct fth_log *log, char **text,
                                                     size_t *size, struct fth_error *error);

/* Which differences between descriptions are reported. Initialise it with FTH_COMPARE_OPTIONS. */
struct fth_compare_options {
    size_t size; /* of this struct in bytes */
    /* Also report circumstances (fth_difference.circumstance) and, when two descriptions are
     * compared, attributes that only one of them has. */
    bool all;
    double within; /* numbers whose `apart` (see fth_difference) is at most this do not differ */
    const struct fth_report_options *report; /* may be NULL */
};
/* Initialises a struct fth_compare_options; the arguments are designated initialisers. */
#define FTH_COMPARE_OPTIONS(...) FTH_OPTIONS(struct fth_compare_options, __VA_ARGS__)

/* Shows the differences between two descriptions as a table; in JSON, as a fathom-comparison/1
 * document. `names` are the column headings. *count gets the number of differences shown. `options`
 * may be NULL.
 * FTH_INVALID: as for fth_report_table. */
FTH_API FTH_MUST_USE enum fth_status fth_report_compare(const char *format,
                                                        const struct fth_compare_options *options,
                                                        const struct fth_gpu *const gpus[2],
                                                        const char *const names[2], char **text,
                                                        size_t *size, size_t *count,
                                                        struct fth_error *error);
/* Options of fth_report_accuracy. Initialise it with FTH_ACCURACY_OPTIONS. */
struct fth_accuracy_options {
    size_t size;   /* of this struct in bytes */
    double within; /* percentage points or percent; a larger error is beyond it; 0: none is */
    const struct fth_report_options *report; /* may be NULL */
};
/* Initialises a struct fth_accuracy_options; the arguments are designated initialisers. */
#define FTH_ACCURACY_OPTIONS(...) FTH_OPTIONS(struct fth_accuracy_options, __VA_ARGS__)

/* Returns whether a file is a result of the model ('fathom model --json', fathom-model/1). False
 * also if it cannot be read. */
FTH_API bool fth_is_model_result(const char *path);
/* Returns the metrics of Nsight Compute that fth_report_accuracy compares, separated by commas, for
 * ncu's option --metrics. The text is static. */
FTH_API const char *fth_accuracy_metrics(void);
/* Compares what the model predicts with what a GPU counted, as a table of the figures of each
 * kernel; in JSON, as a fathom-accuracy/1 document. `model_path` is a fathom-model/1 document,
 * `counters_path` the output of 'ncu --csv'; "-" is standard input. *beyond gets the number of
 * errors larger than options->within, of figures of which the GPU counted at least 10,000 sectors
 * per launch, and of times. `options` may be NULL. FTH_INVALID: a file is not what it
 * should be, has none of the counters, or no kernel is in both files. FTH_NOT_FOUND: a file does
 * not exist. */
FTH_API FTH_MUST_USE enum fth_status fth_report_accuracy(
    const char *format, const struct fth_accuracy_options *options, const char *model_path,
    const char *counters_path, char **text, size_t *size, size_t *beyond, struct fth_error *error);

/* Judges GPUs as a fleet, as fth_fleet_judge does (fathom/fleets.h), and writes the judgement in a
 * format of fth_report_judgement. `names` identify the descriptions; descriptions with the same
 * UUID are measurements of one GPU. Numbers that differ by less than `within` from the usual value
 * are ignored (0: 2 %); with `all`, healthy GPUs are listed, too. *count gets the number of GPUs
 * that are suspect or failed. `options` may be NULL. FTH_INVALID: there is no such format. */
FTH_API FTH_MUST_USE enum fth_status fth_report_fleet(const char *format,
                                                      const struct fth_compare_options *options,
                                                      const struct fth_gpu *const *gpus,
                                                      const char *const *names, size_t gpu_count,
                                                      char **text, size_t *size, size_t *count,
                                                      struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
