/* fathom: measures and describes the memory system of GPUs, simulates GPUs from such descriptions,
 * and models how kernels use the caches. This is the only public header of the library.
 *
 * Sections
 *   Status and error            Log and progress            GPU descriptions
 *   Catalogue of descriptions   Reports                     Devices and measurement
 *   Benches                     Fingerprints                Dissecting caches
 *   Launching kernels           Traces of memory accesses   Cache model
 *   Exploring cache designs     Utilities
 *
 * Errors
 *   A function that can fail returns enum fth_status: FTH_OK (0) or the kind of failure. It also
 *   fills the caller's struct fth_error with a message. The caller may pass NULL for the error.
 *   Every such function can return FTH_NO_MEMORY, and every function that reads or writes files can
 *   return FTH_IO; the comments below list the other statuses.
 *
 * Ownership
 *   A function with an out-parameter such as `struct fth_gpu **`, `char **` or `void **` gives the
 *   caller ownership of what the pointer refers to. Release objects with the destroy or close
 *   function of their type, and texts and other memory with fth_free. All of these accept NULL. If
 *   a function fails, there is nothing to release, unless its comment says otherwise.
 *   A pointer to `const` that a function returns, or stores in an out-parameter such as
 *   `const char **`, is borrowed: it is valid until the object that it came from is released.
 *   Texts are UTF-8 and end with a NUL; `*size` does not count the NUL. Pointer parameters must not
 *   be NULL unless the comment says so. Indices start at 0.
 *
 * Threads
 *   The library has no mutable global state. Different objects can be used by different threads at
 *   the same time. One object must not be used by two threads at the same time, with these
 *   exceptions: any number of threads can read the same fth_gpu, fth_catalogue, fth_model_params,
 *   fth_model_result, fth_bench or fth_trace (each thread with its own cursor).
 *
 * The library never prints, exits or installs signal handlers. It reports warnings and progress
 * through struct fth_log. */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a function: the compiler warns if the caller ignores its result. */
#if defined(__GNUC__)
#define FTH_MUST_USE __attribute__((warn_unused_result))
#else
#define FTH_MUST_USE
#endif

/* Returns the version of the library, "MAJOR.MINOR.PATCH". The text is static. */
const char *fth_version(void);

/* ---- Status and error ------------------------------------------------------------------------ */

enum fth_status {
    FTH_OK = 0,
    FTH_NO_MEMORY,    /* the host is out of memory */
    FTH_IO,           /* the operating system refused: disk full, permission, broken pipe */
    FTH_INVALID,      /* the input is wrong: malformed file, unknown option, contradiction */
    FTH_NOT_FOUND,    /* there is no such name, file or device */
    FTH_UNSUPPORTED,  /* this build, driver or device lacks the function */
    FTH_UNAVAILABLE,  /* supported, but not possible now: no driver, GPU memory full, store busy */
    FTH_INCONCLUSIVE, /* it was measured, but the samples do not support an answer */
    FTH_INTERRUPTED   /* fth_log.interrupted returned true */
};

/* The message of a failure. Initialise it with FTH_NO_ERROR. The first failure wins: a function
 * that fails does not change a struct that already holds an error. The texts contain no control
 * characters, except for one line break in `excerpt`, so a malicious file cannot send escape
 * sequences to the terminal through an error message. */
struct fth_error {
    enum fth_status status; /* FTH_OK: no error */
    char operation[64];     /* what failed: "read", "open device" */
    char argument[256];     /* what it failed on, such as a path; "": nothing in particular */
    char cause[512];        /* why it failed */
    char excerpt[256];      /* for errors in PTX: the line and, on the next line, a caret; or "" */
};
#define FTH_NO_ERROR ((struct fth_error){.status = FTH_OK})

/* Writes "operation 'argument': cause" to `text`, truncated to `size` bytes including the NUL.
 * Returns `text`. */
const char *fth_error_text(const struct fth_error *error, char *text, size_t size);

/* ---- Log and progress ------------------------------------------------------------------------ */

enum fth_level {
    FTH_LOG_ERROR,
    FTH_LOG_WARNING, /* the operation continues, but its result may be incomplete or doubtful */
    FTH_LOG_INFO,
    FTH_LOG_DEBUG
};

/* Callbacks that long operations call. Each of them may be NULL, and so may every pointer to a
 * struct fth_log in this header. The struct must stay valid while the operation runs. */
struct fth_log {
    /* A message in one line, without a line break. The text is valid during the call. */
    void (*message)(void *user, enum fth_level level, const char *text);
    /* `what` names the current step; `fraction` is the completed part of the operation, 0 to 1. */
    void (*progress)(void *user, const char *what, double fraction);
    /* Returns true to stop the operation, which then fails with FTH_INTERRUPTED. Worker threads
     * call it too, possibly several at the same time. */
    bool (*interrupted)(void *user);
    void *user; /* passed to each callback */
};

/* ---- GPU descriptions ------------------------------------------------------------------------ */

/* A description of a GPU, a fathom-gpu/1 document (docs/gpu-description.md). It consists of
 * sections: "device", "noise" and one per element of the memory system ("l1", "l2", "tlb_l1", …).
 * Each section has attributes. It can also list attributes that are unknown, each with the reason
 * ("unknown" in the document). */
struct fth_gpu;

/* The type of an attribute's value, and the members of struct fth_attribute that hold it. */
enum fth_kind {
    FTH_NUMBER,  /* `number` */
    FTH_TEXT,    /* `text` */
    FTH_NUMBERS, /* a list: `numbers` and `count` */
    FTH_TEXTS,   /* a list: `texts` and `count` */
    FTH_RAW      /* JSON in `text`: an attribute that this version of fathom does not know */
};

/* Where a value comes from. */
enum fth_source {
    FTH_SOURCE_NONE,     /* not stated */
    FTH_SOURCE_MEASURED, /* measured by fathom */
    FTH_SOURCE_DRIVER,   /* reported by the vendor's driver */
    FTH_SOURCE_DERIVED,  /* computed from other attributes */
    FTH_SOURCE_PUBLISHED /* from a publication, named by `reference` */
};

/* An attribute: a value and its provenance. Members that do not apply or are unknown are NAN
 * (numbers) or NULL (pointers). The unit of a number is part of the name, such as "size_bytes". */
struct fth_attribute {
    const char *name;
    enum fth_kind kind;
    double number;
    const char *text;
    size_t count; /* length of `numbers` or `texts` */
    const double *numbers;
    const char *const *texts;

    enum fth_source source;
    const char *method;    /* how the value was obtained, in words */
    const char *reference; /* "KEY, locator; KEY, locator". The member "references" of the document
                            * explains the keys; no function of this header returns it. */
    const char *note;
    double confidence; /* how certain the value is, 0 to 1 */
    double samples;    /* number of raw samples that the value is based on */
    double low, high;  /* the interval that the number stands for; how it is computed depends on
                        * the method */
};

/* Reads a description from a file and validates it. `path` "-" is standard input; files compressed
 * with zstd are recognised. Unknown attributes and elements are kept, with a warning to `log`.
 * FTH_NOT_FOUND: there is no such file. FTH_INVALID: the file is not a valid description or larger
 * than 16 MiB. */
FTH_MUST_USE enum fth_status fth_gpu_read_file(const char *path, const struct fth_log *log,
                                               struct fth_gpu **gpu, struct fth_error *error);
/* Reads a description from `size` bytes of JSON text, as fth_gpu_read_file does. `name` replaces
 * the path in messages. */
FTH_MUST_USE enum fth_status fth_gpu_read_text(const char *name, const char *text, size_t size,
                                               const struct fth_log *log, struct fth_gpu **gpu,
                                               struct fth_error *error);
void fth_gpu_destroy(struct fth_gpu *gpu);

/* Writes a description as JSON in canonical form: reading the text and writing it again gives the
 * same bytes. */
FTH_MUST_USE enum fth_status fth_gpu_write_text(const struct fth_gpu *gpu, char **text,
                                                size_t *size, struct fth_error *error);

/* Checks every value and every relation between values, such as size = sets x ways x line size.
 * FTH_INVALID: the error names the first violation. Reading a description includes this check. */
FTH_MUST_USE enum fth_status fth_gpu_validate(const struct fth_gpu *gpu, struct fth_error *error);

/* Returns the name of the `index`-th element that a description can have, in the order in which
 * reports show them; NULL past the last. The text is static. */
const char *fth_element_name(size_t index);

/* The elements of a description, and the attributes of a section, in the order of the document. The
 * functions with an index return NULL past the last. `section` is "device", "noise" or the name of
 * an element; a section that the description lacks counts as empty. */
size_t fth_gpu_element_count(const struct fth_gpu *gpu);
const char *fth_gpu_element_name(const struct fth_gpu *gpu, size_t index);
size_t fth_gpu_attribute_count(const struct fth_gpu *gpu, const char *section);
const struct fth_attribute *fth_gpu_attribute_at(const struct fth_gpu *gpu, const char *section,
                                                 size_t index);
/* Returns the attribute with this name, or NULL if the section does not have it. */
const struct fth_attribute *fth_gpu_attribute(const struct fth_gpu *gpu, const char *section,
                                              const char *name);
/* Returns the value of an attribute of kind FTH_NUMBER, or `absent` if there is none. */
double fth_gpu_number(const struct fth_gpu *gpu, const char *section, const char *name,
                      double absent);
/* Returns the value of an attribute of kind FTH_TEXT, or NULL if there is none. */
const char *fth_gpu_text(const struct fth_gpu *gpu, const char *section, const char *name);
/* Returns the reason why an attribute is unknown, or NULL if the description gives none. */
const char *fth_gpu_unknown(const struct fth_gpu *gpu, const char *section, const char *name);
/* Returns the reason for the `index`-th unknown attribute of a section and stores the name of the
 * attribute in *name. Returns NULL past the last, and leaves *name unchanged. */
const char *fth_gpu_unknown_at(const struct fth_gpu *gpu, const char *section, size_t index,
                               const char **name);

/* One difference between two descriptions. Numbers are compared as intervals (fth_attribute.low and
 * high; without them, the number itself): they differ if their intervals do not overlap. */
struct fth_difference {
    const char *section;
    const char *name;              /* of the attribute */
    const struct fth_attribute *a; /* NULL: only the second description has the attribute */
    const struct fth_attribute *b; /* NULL: only the first description has the attribute */
    double apart;      /* gap between the two intervals (0 if they overlap), divided by the larger
                        * absolute value of the two numbers; NAN: not numbers, or only one
                        * description has the attribute */
    bool circumstance; /* the attribute identifies the individual card or its state (UUID, driver,
                        * power, …), or is raw data that varies from run to run; it does not
                        * characterise the GPU model */
};
/* Calls `each` (NULL: nothing is called) for every difference and returns their number. The
 * differences come in the order of description `a`, followed by what only `b` has. The struct is
 * valid during the call; its pointers are valid as long as both descriptions. */
size_t fth_gpu_compare(const struct fth_gpu *a, const struct fth_gpu *b,
                       void (*each)(void *user, const struct fth_difference *difference),
                       void *user);

/* ---- Catalogue of descriptions --------------------------------------------------------------- */

/* The descriptions that come with fathom, and those that a site has added to the folders below. */
struct fth_catalogue;

/* Collects the names of descriptions from three places, in this order:
 *
 *     1. the folder PREFIX/share/fathom/gpus, where PREFIX/bin contains the running program
 *     2. the data folder of the installation, which is fixed when fathom is built
 *     3. the library itself
 *
 * A name that occurs in several places stands for the description in the first of them. Folders
 * that cannot be read are skipped; the descriptions are not read yet. Fails only with
 * FTH_NO_MEMORY. */
FTH_MUST_USE enum fth_status fth_catalogue_open(struct fth_catalogue **catalogue,
                                                struct fth_error *error);
void fth_catalogue_close(struct fth_catalogue *catalogue);
/* The number of descriptions, and their names in alphabetical order; NULL past the last. */
size_t fth_catalogue_count(const struct fth_catalogue *catalogue);
const char *fth_catalogue_name(const struct fth_catalogue *catalogue, size_t index);
/* Returns the file of a description, or NULL if it is built into the library. */
const char *fth_catalogue_path(const struct fth_catalogue *catalogue, size_t index);
/* Reads a description by its name in the catalogue (ignoring case), from a file, or from standard
 * input ("-"). FTH_NOT_FOUND: there is neither such a name nor such a file; the error names the
 * most similar name. Otherwise as fth_gpu_read_file. */
FTH_MUST_USE enum fth_status fth_catalogue_read(const struct fth_catalogue *catalogue,
                                                const char *name_or_path, const struct fth_log *log,
                                                struct fth_gpu **gpu, struct fth_error *error);

/* ---- Reports --------------------------------------------------------------------------------- */

/* Options of the format "text"; other formats ignore them. A NULL pointer to this struct means that
 * all members are 0. */
struct fth_report_options {
    bool utf8;      /* use box-drawing characters; otherwise ASCII */
    bool colour;    /* use ANSI escape sequences */
    unsigned width; /* maximum width of drawings in columns; less than 80, such as 0, means 80 */
    bool replayed;  /* the title states that the figures come from a recording */
};

/* Returns the name of the `index`-th format ("text", "json", "csv", "hwloc", "mt4g"); NULL past the
 * last. *summary gets a description of one line; `summary` may be NULL. The texts are static. */
const char *fth_report_format(size_t index, const char **summary);
/* What a report shows: FTH_REPORT_GPU is a description, which can be shown in all formats.
 * FTH_REPORT_TABLE is a table, or any other result for which a format can be chosen (benches, the
 * model, points of an exploration). These can be shown only in "text", "json" and "csv". */
enum fth_report_subject { FTH_REPORT_GPU, FTH_REPORT_TABLE };
/* Checks a format before the work of producing a result. FTH_INVALID: there is no such format, or
 * it cannot show the subject; the error suggests a similar name. */
FTH_MUST_USE enum fth_status fth_report_check(const char *format, enum fth_report_subject subject,
                                              struct fth_error *error);
/* Shows a description. FTH_INVALID: there is no such format. */
FTH_MUST_USE enum fth_status fth_report_gpu(const char *format, const struct fth_gpu *gpu,
                                            const struct fth_report_options *options, char **text,
                                            size_t *size, struct fth_error *error);

/* The type of the cells in a column of struct fth_table. */
enum fth_column_kind {
    FTH_COLUMN_TEXT,    /* fth_cell.text */
    FTH_COLUMN_NUMBERS, /* fth_cell.text: numbers separated by single spaces; a list in JSON */
    FTH_COLUMN_NUMBER,  /* fth_cell.number */
    FTH_COLUMN_BYTES    /* fth_cell.number; the text format shows it as a size, such as "32 KiB" */
};
struct fth_column {
    const char *key;  /* name in JSON and CSV */
    const char *head; /* heading in the text format */
    enum fth_column_kind kind;
};
struct fth_cell {
    const char *text; /* NULL: the cell is empty */
    double number;    /* NAN: the cell is empty */
};
/* A table of any content. In JSON it is a list with one object per row; in CSV it has a header
 * line. The text format shows at most 32 columns. */
struct fth_table {
    const struct fth_column *columns;
    size_t column_count;
    const struct fth_cell *cells; /* row by row, [row_count * column_count] */
    size_t row_count;
};
/* Shows a table. FTH_INVALID: there is no such format, or it cannot show tables. */
FTH_MUST_USE enum fth_status fth_report_table(const char *format, const struct fth_table *table,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

/* Writes one self-contained HTML page with charts of `count` files, in any mix: JSON documents of
 * fathom (descriptions, bench results, comparisons, model results), recordings, points of
 * explorations, and the CSV of 'fathom dissect --series'. FTH_INVALID: a file is none of these.
 * FTH_NOT_FOUND: a file does not exist. FTH_UNSUPPORTED: the library was built without D3, the
 * JavaScript library that draws the charts. */
FTH_MUST_USE enum fth_status fth_report_html(const char *const *paths, size_t count,
                                             const struct fth_log *log, char **text, size_t *size,
                                             struct fth_error *error);

/* Which differences between descriptions are reported. */
struct fth_compare_options {
    /* Also report circumstances (fth_difference.circumstance) and, when two descriptions are
     * compared, attributes that only one of them has. */
    bool all;
    double within; /* numbers whose `apart` (see fth_difference) is at most this do not differ */
    const struct fth_report_options *report; /* may be NULL */
};
/* Shows the differences between two descriptions as a table; in JSON, as a fathom-comparison/1
 * document. `names` are the column headings. *count gets the number of differences shown.
 * FTH_INVALID: as for fth_report_table. */
FTH_MUST_USE enum fth_status fth_report_compare(const char *format,
                                                const struct fth_compare_options *options,
                                                const struct fth_gpu *const gpus[2],
                                                const char *const names[2], char **text,
                                                size_t *size, size_t *count,
                                                struct fth_error *error);
/* Compares many GPUs: shows which ones differ from the others with the same device name, and in
 * which attributes. Each attribute is compared with its usual value, which is determined as
 * follows. Two values agree if their `apart` is at most `within` or, if they are not numbers, if
 * they are equal. The usual value is the one that agrees with the largest number of other values.
 * If it agrees with no more than half of the other values, there is no usual value and the
 * attribute is not reported. If only two GPUs have the attribute, the value of the first one is the
 * usual value. `names` identify the GPUs in the table; *count gets the number of its rows.
 * FTH_INVALID: as for fth_report_table. */
FTH_MUST_USE enum fth_status fth_report_fleet(const char *format,
                                              const struct fth_compare_options *options,
                                              const struct fth_gpu *const *gpus,
                                              const char *const *names, size_t gpu_count,
                                              char **text, size_t *size, size_t *count,
                                              struct fth_error *error);

/* ---- Devices and measurement ----------------------------------------------------------------- */

/* A GPU that can be measured or, if `id` is NULL, a backend that cannot be used. */
struct fth_device_info {
    const char *backend; /* "cuda" */
    const char *id;      /* for fth_device_open: "cuda:0" */
    const char *name;    /* "NVIDIA H200"; NULL if `id` is NULL */
    const char *detail;  /* further facts in words; if `id` is NULL, why it cannot be used */
};
/* Calls `each` for every real GPU and for every backend that cannot be used. The struct and its
 * texts are valid during the call. Fails only with FTH_NO_MEMORY. */
FTH_MUST_USE enum fth_status fth_device_list(void (*each)(void *user,
                                                          const struct fth_device_info *device),
                                             void *user, struct fth_error *error);

/* A real GPU, a simulated GPU, or a recording of one. */
struct fth_device;

/* Opens a device by its id:
 *
 *     cuda:0, cuda:GPU-<uuid>, cuda:MIG-<uuid>   an NVIDIA GPU, or a MIG slice of one
 *     sim:v100, sim:path/to/gpu.json             a GPU simulated from a description
 *     replay:file                                a recording (fth_device_record)
 *
 * NULL opens the first real GPU or, if there is none that works, "sim:h200". `log` must stay valid
 * until the device is closed: the device reports warnings to it, and calls its `interrupted`
 * between experiments. To open a MIG slice, the function sets the environment variable
 * CUDA_VISIBLE_DEVICES of this process.
 *
 * FTH_NOT_FOUND: the id has none of these forms, or there is no such GPU, description or file.
 * FTH_UNAVAILABLE: there is no usable driver. FTH_UNSUPPORTED: the driver lacks functions that
 * fathom needs. FTH_INVALID: the description or recording is malformed. */
FTH_MUST_USE enum fth_status fth_device_open(const char *id, const struct fth_log *log,
                                             struct fth_device **device, struct fth_error *error);
/* Returns the id of the device, also if NULL was passed to fth_device_open. */
const char *fth_device_id(const struct fth_device *device);
/* From now on, records every request to the device and its answer, for "replay:path". The file
 * appears only when fth_device_finish succeeds. FTH_INVALID: the device is already being recorded.
 */
FTH_MUST_USE enum fth_status fth_device_record(struct fth_device *device, const char *path,
                                               struct fth_error *error);
/* Completes the recording, if there is one, and writes its file. Returns the first error that
 * occurred while recording. */
FTH_MUST_USE enum fth_status fth_device_finish(struct fth_device *device, struct fth_error *error);
/* Closes the device. A recording that was not finished is discarded. */
void fth_device_close(struct fth_device *device);

struct fth_discover_options {
    const char *only;          /* elements to measure, separated by commas: "l1,l2"; NULL: all */
    const struct fth_log *log; /* progress, warnings; `interrupted` is not called */
    /* Repeat bandwidth measurements more often. On a simulated GPU, bandwidths are measured only
     * with this option, because that takes long. */
    bool thorough;
};
/* Measures the memory system of a device. Attributes that could not be measured are unknown in
 * the description, which gives the reason (fth_gpu_unknown). Interruption is requested through the
 * log of fth_device_open; after FTH_INTERRUPTED, *gpu holds what was measured so far, and the
 * caller must destroy it. FTH_INVALID: `only` contains a name that is not an element
 * (fth_element_name). FTH_UNAVAILABLE: a recording lacks the answer to a request, or the device
 * failed. */
FTH_MUST_USE enum fth_status fth_discover(struct fth_device *device,
                                          const struct fth_discover_options *options,
                                          struct fth_gpu **gpu, struct fth_error *error);

/* ---- Benches --------------------------------------------------------------------------------- */

/* The results of one or more benches. A bench measures how performance depends on a parameter, such
 * as the number of threads or the footprint. */
struct fth_bench;

/* Returns the name of the `index`-th bench; NULL past the last. *summary gets a description of one
 * line; `summary` may be NULL. The texts are static. */
const char *fth_bench_name(size_t index, const char **summary);
/* Checks the name of a bench. FTH_INVALID: `name` is neither a bench nor "all"; the error suggests
 * a similar name. */
FTH_MUST_USE enum fth_status fth_bench_check_name(const char *name, struct fth_error *error);

struct fth_bench_options {
    const char *const *names; /* benches to run, [count]; "all" selects all of them */
    size_t count;             /* 0: all benches */
    const struct fth_log *log;
    bool thorough; /* measure a simulated GPU as extensively as a real one; this takes long */
};
/* Runs benches. Results that a device cannot give are in fth_bench_series.missing. Interruption can
 * be requested through options->log and through the log of fth_device_open; after FTH_INTERRUPTED,
 * *bench holds what was measured so far, and the caller must destroy it. FTH_INVALID: a name is
 * wrong. */
FTH_MUST_USE enum fth_status fth_bench_create(struct fth_device *device,
                                              const struct fth_bench_options *options,
                                              struct fth_bench **bench, struct fth_error *error);
void fth_bench_destroy(struct fth_bench *bench);

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
/* The series of all benches that were run, in the order of fth_bench_name; NULL past the last. */
size_t fth_bench_series_count(const struct fth_bench *bench);
const struct fth_bench_series *fth_bench_series_at(const struct fth_bench *bench, size_t index);
/* Returns a description of the device: what the driver reports, and those results that are
 * attributes of a description, such as banks and bandwidths. */
const struct fth_gpu *fth_bench_gpu(const struct fth_bench *bench);
/* Shows the results. `options` may be NULL. FTH_INVALID: the format is not text, json or csv. */
FTH_MUST_USE enum fth_status fth_report_bench(const char *format, const struct fth_bench *bench,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

/* ---- Fingerprints ---------------------------------------------------------------------------- */

/* Several runs of the same measurements on one GPU, with the GPU's name, UUID, driver and the time.
 * Small differences between cards of the same model make it possible to recognise a GPU
 * (docs/fingerprints.md). */
struct fth_fingerprint;

/* Measures a fingerprint of `runs` runs (at least 1). FTH_INCONCLUSIVE: the latencies of the L2
 * could not be measured. FTH_INTERRUPTED: there is no fingerprint. */
FTH_MUST_USE enum fth_status fth_fingerprint_measure(struct fth_device *device, size_t runs,
                                                     const struct fth_log *log,
                                                     struct fth_fingerprint **fingerprint,
                                                     struct fth_error *error);
void fth_fingerprint_destroy(struct fth_fingerprint *fingerprint);

/* A file of fingerprints. Each function below that changes the file does so completely or not at
 * all, even if the process or the machine fails meanwhile. Several processes can use one file. All
 * functions can return FTH_UNAVAILABLE (another process keeps the file locked) and FTH_INVALID (the
 * file is damaged). */
struct fth_store;

/* Writes the default path to `path`: "$XDG_DATA_HOME/fathom/fingerprints.db", or
 * "$HOME/.local/share/fathom/fingerprints.db" if XDG_DATA_HOME is not an absolute path.
 * FTH_INVALID: neither variable is an absolute path, or the result does not fit `size` bytes. */
FTH_MUST_USE enum fth_status fth_store_default_path(char *path, size_t size,
                                                    struct fth_error *error);
/* Opens a store; `path` NULL is the default path. If the file does not exist, it is created if
 * `create` is true (for the default path, with its folders); otherwise the function fails with
 * FTH_NOT_FOUND. A file of an older version of fathom is migrated. FTH_INVALID: the file is not a
 * store. FTH_UNSUPPORTED: a newer version of fathom created it. In both cases, the file is not
 * changed. */
FTH_MUST_USE enum fth_status fth_store_open(const char *path, bool create, struct fth_store **store,
                                            struct fth_error *error);
/* Returns the path of the file, also if NULL was passed to fth_store_open. */
const char *fth_store_path(const struct fth_store *store);
void fth_store_close(struct fth_store *store);

/* Adds the runs of a fingerprint under a name, which the user chooses. A name belongs to one GPU
 * and a GPU has one name. *total gets the number of runs that the name has now; `total` may be
 * NULL. FTH_INVALID: the name already belongs to a GPU with another device name or UUID, the UUID
 * already belongs to another name, or the name is not valid (fth_store_check_name). */
FTH_MUST_USE enum fth_status fth_store_enroll(struct fth_store *store, const char *name,
                                              const struct fth_fingerprint *fingerprint,
                                              size_t *total, struct fth_error *error);
/* Checks a name before anything is measured. FTH_INVALID: it is not 1 to 64 bytes of printable
 * text. */
FTH_MUST_USE enum fth_status fth_store_check_name(const char *name, struct fth_error *error);
/* Removes a GPU and all its runs; *runs gets their number, and `runs` may be NULL. FTH_NOT_FOUND:
 * there is no such name; the error suggests a similar one. */
FTH_MUST_USE enum fth_status fth_store_forget(struct fth_store *store, const char *name,
                                              size_t *runs, struct fth_error *error);

/* An enrolled GPU that a fingerprint was compared with. */
struct fth_candidate {
    const char *name;
    const char *device; /* the driver's name of the GPU; NULL: unknown */
    size_t runs;        /* enrolled runs */
    double distance;    /* in standard deviations of the enrolled runs; NAN: cannot be compared */
    bool same_uuid;     /* the driver reports the same UUID */
};
/* Which enrolled GPU produced a fingerprint. */
struct fth_identification {
    const char *name;      /* NULL: none of them, or it is not clear which one */
    double limit_distance; /* largest distance that counts as a match; NAN: too few runs */
    const struct fth_candidate *candidates; /* all enrolled GPUs, the nearest first */
    size_t count;                           /* length of `candidates` */
    char reason[256];                       /* if `name` is NULL, why; otherwise "" */
    void *memory; /* owned by the library; holds the texts and candidates */
};
/* Compares a fingerprint with all enrolled GPUs. The result is FTH_OK also if no GPU matches. The
 * caller releases *identification with fth_identification_fini. FTH_NOT_FOUND: no GPU is enrolled.
 * FTH_INVALID: the fingerprint has no runs. */
FTH_MUST_USE enum fth_status fth_store_identify(struct fth_store *store,
                                                const struct fth_fingerprint *fingerprint,
                                                struct fth_identification *identification,
                                                struct fth_error *error);
/* Releases an identification that fth_store_identify has filled. */
void fth_identification_fini(struct fth_identification *identification);

/* One enrolled GPU. */
struct fth_enrolled {
    const char *name;
    const char *device, *uuid, *driver; /* NULL: unknown. `driver` is that of the last run. */
    size_t runs;
    char first_time[24], last_time[24]; /* of the runs; ISO 8601 in UTC */
    /* Set only if fth_store_list was called with `accuracy`, otherwise 0. Each run of the GPU is
     * identified by means of all other runs of the store. The members count the runs that are
     * identified correctly, identified as another GPU, and not identified. */
    size_t right, wrong, refused;
};
/* Calls `each` for every enrolled GPU, in the order of their names. With `accuracy`, it also
 * computes the members `right`, `wrong` and `refused`. The struct and its texts are valid during
 * the call. */
FTH_MUST_USE enum fth_status fth_store_list(struct fth_store *store, bool accuracy,
                                            void (*each)(void *user,
                                                         const struct fth_enrolled *enrolled),
                                            void *user, struct fth_error *error);

/* Writes all runs as one JSON document, fathom-fingerprints/1. */
FTH_MUST_USE enum fth_status fth_store_export(struct fth_store *store, char **text, size_t *size,
                                              struct fth_error *error);
/* Adds the runs of an exported document; `path` "-" is standard input. Runs that the store already
 * has are skipped. *added gets the number of new runs; `added` may be NULL. FTH_NOT_FOUND: there is
 * no such file. FTH_INVALID: the document is malformed, or contradicts the store (as in
 * fth_store_enroll). */
FTH_MUST_USE enum fth_status fth_store_import(struct fth_store *store, const char *path,
                                              size_t *added, struct fth_error *error);

/* ---- Dissecting caches ----------------------------------------------------------------------- */

/* Loads that show the replacement policy of a cache or TLB. A chain with more lines than fit is
 * walked several times, and every load is timed. For a cache, the chain has one line more than
 * fits, and the first pass finds the cache cold. For a TLB, the lines are pages, at least one more
 * than fit, and the timed passes follow a warm-up. */
struct fth_series {
    const char *element;
    uint64_t stride_bytes;   /* distance between lines in bytes; for a TLB, the page size */
    size_t lines;            /* lines per pass: load i accesses line i % lines */
    size_t count;            /* number of loads */
    const uint32_t *cycles;  /* [count] cycles of each load */
    double threshold_cycles; /* a load that took longer is a miss; NAN if `missed` is set */
    const bool *missed; /* [count] for a TLB: whether each load missed; NULL: use the threshold */
    /* A second experiment, if it was possible to find which way each miss replaces: loads of
     * ways + 1 lines that all belong to one set. The lines and ways are numbered from 0 within this
     * experiment. At the start, way i holds line i. (The members replay_… have nothing to do with
     * replays of recordings.) */
    size_t ways;                  /* ways of the set */
    size_t replay_count;          /* number of loads; 0: there is no such experiment */
    const uint32_t *replay_lines; /* [replay_count] line that each load accesses */
    const int *replay_ways; /* [replay_count] way that each load fills; -1: a hit, or not known */
};

/* Returns whether load `load` of the series was a miss. */
static inline bool fth_series_missed(const struct fth_series *series, size_t load)
{
    return series->missed ? series->missed[load] : series->cycles[load] > series->threshold_cycles;
}

struct fth_dissect_options {
    const char *only; /* elements, separated by commas: "l1,texture"; NULL: all possible ones */
    const struct fth_log *log;
    /* Called with the loads of each cache or TLB after it was measured; may be NULL. The series is
     * valid during the call. */
    void (*series)(void *user, const struct fth_series *series);
    void *user;
};
/* Returns whether fth_dissect supports an element. */
bool fth_can_dissect(const char *element);
/* Measures the elements as fth_discover does, without bandwidths, and then their sets, ways, index
 * functions and replacement policies. Attributes that could not be found ("sets", "policy",
 * …) are unknown in the description, which gives the reason (fth_gpu_unknown). Statuses and
 * interruption are as for fth_discover; after FTH_INTERRUPTED, *gpu holds what was measured so far.
 */
FTH_MUST_USE enum fth_status fth_dissect(struct fth_device *device,
                                         const struct fth_dissect_options *options,
                                         struct fth_gpu **gpu, struct fth_error *error);

/* Shows the sets, ways, index functions and policies of a description as text. `options` may be
 * NULL. */
FTH_MUST_USE enum fth_status fth_report_dissection(const struct fth_gpu *gpu,
                                                   const struct fth_report_options *options,
                                                   char **text, size_t *size,
                                                   struct fth_error *error);
/* Shows a series as text: which loads of each pass miss, and which ways are replaced. `options` may
 * be NULL. */
FTH_MUST_USE enum fth_status fth_report_series(const struct fth_series *series,
                                               const struct fth_report_options *options,
                                               char **text, size_t *size, struct fth_error *error);

/* ---- Launching kernels ----------------------------------------------------------------------- */

/* A list of kernel launches, called steps, with their arguments and the buffers that they share.
 * The kernels come from one PTX file. The steps run one after the other, on fathom's PTX engine,
 * which needs no GPU, or on a device. */
struct fth_launch;

/* Reads a PTX file and creates one step that launches `kernel`; NULL selects the only kernel of the
 * file. Add arguments with fth_launch_argument; the grid is one block of 32 threads unless
 * fth_launch_set_shape changes it. `seed` determines the contents of random buffers.
 * FTH_INVALID: the file is not PTX that the engine implements, or has no kernel. FTH_NOT_FOUND:
 * there is no such file or kernel, or `kernel` is NULL and the file has several. */
FTH_MUST_USE enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                               struct fth_launch **launch, struct fth_error *error);
/* Reads a launch file (docs/launch-files.md). A launch file can define named numbers, called sizes,
 * such as N, and compute buffers, grids and arguments from them. Each of `sizes` has the form
 * "NAME=VALUE" and replaces the value that the file gives to the size NAME. Statuses are as for
 * fth_launch_create; also FTH_INVALID if the file has no size NAME. */
FTH_MUST_USE enum fth_status fth_launch_read(const char *path, const char *const *sizes,
                                             size_t size_count, struct fth_launch **launch,
                                             struct fth_error *error);
void fth_launch_destroy(struct fth_launch *launch);
/* Appends an argument to the step of fth_launch_create. It is a number ("i32:4096", "f32:1.5") or a
 * new buffer with its initial contents ("ptr:f32[64*64]=random"; zeros if none are given). With
 * empty brackets, the buffer is as large as its file ("ptr:u32[]=file:data.bin"). FTH_INVALID: the
 * text has none of these forms, or the file has too few bytes. FTH_NOT_FOUND: there is no such
 * file. */
FTH_MUST_USE enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                                 struct fth_error *error);

struct fth_launch_shape {
    uint32_t grid[3], block[3]; /* blocks and threads in x, y and z; 0 means 1 */
    size_t shared_bytes;        /* dynamic shared memory per block */
};
/* Sets the shape of the first step. Meant for launches of fth_launch_create; a launch file states
 * the shapes itself. */
void fth_launch_set_shape(struct fth_launch *launch, const struct fth_launch_shape *shape);

/* Returns the number of steps. */
size_t fth_launch_step_count(const struct fth_launch *launch);
/* Returns the name of the kernel of a step; NULL past the last. */
const char *fth_launch_kernel(const struct fth_launch *launch, size_t step);
/* Returns the value of a size (see fth_launch_read); 0 if there is none with this name. */
double fth_launch_size(const struct fth_launch *launch, const char *name);

struct fth_run_options {
    unsigned threads;          /* host threads of the PTX engine; 0: one per core */
    const struct fth_log *log; /* `interrupted` is called between steps */
    /* Device to run on: "cuda:0", "sim:h200". NULL: the PTX engine. fth_launch_trace ignores it. */
    const char *device;
};
/* Executed instructions, counted by the PTX engine; 0 if a device ran the kernels. */
struct fth_launch_totals {
    uint64_t warp_instructions;   /* each counts once per warp */
    uint64_t thread_instructions; /* each counts once per active thread */
};
/* Allocates the buffers with their initial contents and runs all steps. Running again starts from
 * the initial contents. `options` and `totals` may be NULL. FTH_INVALID: the arguments do not match
 * the kernel, or the kernel is faulty (an access out of bounds, a barrier that cannot complete);
 * the PTX engine's error names kernel, line, block and thread. FTH_INTERRUPTED: the remaining steps
 * were not run. With a device, also the statuses of fth_device_open. */
FTH_MUST_USE enum fth_status fth_launch_run(struct fth_launch *launch,
                                            const struct fth_run_options *options,
                                            struct fth_launch_totals *totals,
                                            struct fth_error *error);

/* Returns the time of a step in the last run, in seconds; NAN unless a real GPU ran it. */
double fth_launch_seconds(const struct fth_launch *launch, size_t step);

/* The properties of a buffer. The texts are valid as long as the launch. */
struct fth_launch_view {
    const char *name;     /* in the launch file; NULL: an argument of fth_launch_argument */
    size_t number;        /* position of that argument, from 1; 0 if `name` is set */
    const char *type;     /* type of an element: "f32" */
    size_t element_bytes; /* bytes per element */
    uint64_t count;       /* number of elements */
};
/* Returns the number of buffers. */
size_t fth_launch_buffer_count(const struct fth_launch *launch);
/* Describes a buffer after a run. *values gets its first `max_values` values (0: all) as text,
 * separated by spaces. `index` must be less than fth_launch_buffer_count. FTH_UNAVAILABLE: the
 * launch was not run. */
FTH_MUST_USE enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index,
                                             uint64_t max_values, struct fth_launch_view *view,
                                             char **values, struct fth_error *error);
/* Copies the contents of a buffer of the launch file, after a run. *values gets view->count
 * elements of view->element_bytes; release it with fth_free. FTH_NOT_FOUND: there is no buffer with
 * this name. FTH_UNAVAILABLE: the launch was not run. */
FTH_MUST_USE enum fth_status fth_launch_values(const struct fth_launch *launch, const char *name,
                                               struct fth_launch_view *view, void **values,
                                               struct fth_error *error);
/* Copies the initial contents of a buffer, that is, those before a run. The launch need not have
 * been run. Otherwise as fth_launch_values. */
FTH_MUST_USE enum fth_status fth_launch_first_values(struct fth_launch *launch, const char *name,
                                                     struct fth_launch_view *view, void **values,
                                                     struct fth_error *error);

/* The result of comparing a buffer with what the launch file expects. */
struct fth_verdict {
    const char *buffer; /* its name */
    bool matches;
    char text[192]; /* the result in words */
};
/* Returns the number of expectations that apply to the current sizes. (In a launch file, an
 * expectation can be limited to certain sizes.) */
size_t fth_launch_expectation_count(const struct fth_launch *launch);
/* Compares a buffer with its expectation, after a run. The result is FTH_OK also if they do not
 * match. FTH_NOT_FOUND: there is no such expectation, or its file does not exist. FTH_INVALID: its
 * file has the wrong size. FTH_UNAVAILABLE: the launch was not run. */
FTH_MUST_USE enum fth_status fth_launch_verify(const struct fth_launch *launch, size_t index,
                                               struct fth_verdict *verdict,
                                               struct fth_error *error);

/* ---- Traces of memory accesses --------------------------------------------------------------- */

/* The comments of this section and the next one use these terms:
 *
 *     warp access     one memory instruction executed by one warp ("request" in docs/glossary.md)
 *     thread access   the part of a warp access that belongs to one active lane
 *     line request    the part of a warp access that touches one cache line
 *
 * "Access" alone is a warp access. The names of members do not always follow these terms, but each
 * comment states what is counted.
 *
 * "The RDGC paper" is M. Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based Approach to GPU Cache
 * Performance Analysis". */

/* Runs a launch on the PTX engine and writes every warp access to global memory to a trace file
 * (docs/traces.md). The file appears only if all steps succeed. The buffers can be read
 * afterwards, as after fth_launch_run. `options` and `totals` may be NULL. Statuses are those of
 * fth_launch_run. */
FTH_MUST_USE enum fth_status fth_launch_trace(struct fth_launch *launch, const char *path,
                                              const struct fth_run_options *options,
                                              struct fth_launch_totals *totals,
                                              struct fth_error *error);
/* An open trace file. */
struct fth_trace;

/* Opens a trace. The accesses stay in the file, which must not change while the trace is open. A
 * truncated file can be opened; its complete parts can be read. FTH_NOT_FOUND: there is no such
 * file. FTH_INVALID: it is not a trace of fathom, or it is damaged. */
FTH_MUST_USE enum fth_status fth_trace_open(const char *path, struct fth_trace **trace,
                                            struct fth_error *error);
void fth_trace_close(struct fth_trace *trace);
/* If the file is truncated, returns a message that says how much is left; otherwise NULL. */
const char *fth_trace_truncated(const struct fth_trace *trace);
/* Returns the size of the trace file in bytes. */
uint64_t fth_trace_bytes(const struct fth_trace *trace);

/* The kind of an access. It is also the index of the arrays with three elements below. */
enum fth_trace_access_kind { FTH_TRACE_READ, FTH_TRACE_WRITE, FTH_TRACE_ATOMIC };

/* One launch of a kernel. If the trace is truncated before the end of the launch, `longest` and
 * `accesses` are those of the part that is left, and the counts of other memories are 0. */
struct fth_trace_launch {
    const char *kernel;
    uint32_t grid[3], block[3]; /* blocks and threads in x, y and z */
    uint64_t longest;           /* maximum warp accesses of one warp (L in the RDGC paper) */
    uint64_t accesses;          /* warp accesses to global memory, contained in the trace */
    /* Warp accesses to other memories. They are counted but not contained in the trace. */
    uint64_t shared, local, constant, texture;
    uint64_t shared_bytes; /* static and dynamic shared memory per block; UINT64_MAX: unknown */
};
/* The launches of a trace, in the order of execution; NULL past the last. */
size_t fth_trace_launch_count(const struct fth_trace *trace);
const struct fth_trace_launch *fth_trace_launch_at(const struct fth_trace *trace, size_t index);

/* A memory instruction of a kernel. Line numbers start at 1; 0 means unknown. */
struct fth_trace_instruction {
    uint32_t line; /* line in the PTX file; for an imported .traceg, the program counter */
    /* Position in the source, from the .loc directives of the PTX. The file is the number that a
     * .file directive gives to it; 0 means unknown. A trace does not contain the name. */
    uint32_t source_file, source_line;
    uint32_t index; /* index in its function, which distinguishes instructions on the same line */
    enum fth_trace_access_kind kind;
    uint32_t bytes; /* bytes per lane, 1 to 64 */
    /* Cache operator, or another modifier of similar effect: 0 none, 1 .ca, 2 .cg, 3 .cs, 4 .lu,
     * 5 .cv, 6 .wb, 7 .wt, 8 .nc, 9 .volatile. */
    uint32_t cache_op;
};
/* The instructions of all kernels; NULL past the last. fth_trace_access.instruction is the index of
 * an instruction. */
size_t fth_trace_instruction_count(const struct fth_trace *trace);
const struct fth_trace_instruction *fth_trace_instruction_at(const struct fth_trace *trace,
                                                             size_t index);

/* One access of one warp: the tuple {AN, BID, WID, S, NT, {ADD}} of the RDGC paper. */
struct fth_trace_access {
    uint64_t number;        /* AN: index of the access within its warp, from 0 */
    uint64_t block;         /* BID: linear index of the block */
    uint32_t warp;          /* WID: index of the warp within the block */
    uint32_t instruction;   /* index of the instruction; its `kind` is S of the paper */
    uint32_t mask;          /* one bit per lane that takes part */
    uint32_t threads;       /* NT: number of these lanes */
    uint64_t addresses[32]; /* ADD: [threads] byte addresses, in the order of the lanes */
};

/* A cursor reads accesses in the order of number, then block, then warp. */
struct fth_trace_cursor;
/* Opens a cursor for the accesses of the blocks `first` to `last`, inclusive, of one launch; 0 and
 * UINT64_MAX select all blocks. The trace must stay open. FTH_NOT_FOUND: there is no such launch.
 * FTH_INVALID: the trace is damaged. */
FTH_MUST_USE enum fth_status fth_trace_cursor_open(const struct fth_trace *trace, size_t launch,
                                                   uint64_t first, uint64_t last,
                                                   struct fth_trace_cursor **cursor,
                                                   struct fth_error *error);
/* Reads the next access. *access is valid until the next call; it is NULL at the end. FTH_INVALID:
 * the trace is damaged. */
FTH_MUST_USE enum fth_status fth_trace_next(struct fth_trace_cursor *cursor,
                                            const struct fth_trace_access **access,
                                            struct fth_error *error);
void fth_trace_cursor_close(struct fth_trace_cursor *cursor);

/* Totals of a kernel, or of one of its instructions, over all launches of the kernel. The arrays
 * are indexed by enum fth_trace_access_kind. */
struct fth_trace_row {
    const char *kernel;
    const struct fth_trace_instruction *instruction; /* NULL: the row of the whole kernel */
    uint64_t launches;                               /* launches of the kernel */
    uint64_t longest;             /* maximum warp accesses of one warp; 0 for an instruction */
    uint64_t requests[3];         /* warp accesses, as in fth_trace_launch.accesses */
    uint64_t accesses[3];         /* thread accesses */
    uint64_t sectors[3];          /* 32-byte sectors, counted separately for each warp access */
    uint64_t lines[3];            /* 128-byte lines, counted likewise */
    uint64_t footprint_bytes[3];  /* distinct sectors that accesses of each kind touch, in bytes */
    uint64_t footprint_all_bytes; /* distinct sectors that accesses of any kind touch, in bytes */
};
struct fth_trace_stats;
/* Reads all accesses of a trace and counts them. FTH_INVALID: the trace is damaged.
 * FTH_INTERRUPTED: there is no result. */
FTH_MUST_USE enum fth_status fth_trace_stats_create(const struct fth_trace *trace,
                                                    const struct fth_log *log,
                                                    struct fth_trace_stats **stats,
                                                    struct fth_error *error);
/* Returns the `index`-th row; NULL past the last. Each kernel is followed by its instructions. The
 * trace must stay open as long as the row's names and instructions are used. */
const struct fth_trace_row *fth_trace_stats_row(const struct fth_trace_stats *stats, size_t index);
void fth_trace_stats_destroy(struct fth_trace_stats *stats);

/* How to launch kernels, for inputs that are launch files or PTX files. Set `size`; members that
 * are 0 or NULL have their default. */
struct fth_launch_options {
    size_t size; /* sizeof(struct fth_launch_options) */
    /* For launch files: texts "NAME=VALUE", as for fth_launch_read. */
    const char *const *sizes;
    size_t size_count;
    /* For PTX files. */
    const char *kernel;           /* default: the only kernel of the file */
    uint32_t grid[3], block[3];   /* blocks and threads; default: 1 and 32, in y and z 1 */
    size_t shared_bytes;          /* dynamic shared memory per block */
    const char *const *arguments; /* of the kernel, as for fth_launch_argument */
    size_t argument_count;
    const uint64_t *seed; /* of random buffers; default: 1 */
};
/* Reads a launch file or a PTX file; fathom recognises which by the content. "-" is standard input.
 * `options` may be NULL. FTH_INVALID: also if an option does not apply to this kind of file, or the
 * file is a trace. Otherwise the statuses of fth_launch_read, fth_launch_create and
 * fth_launch_argument. */
FTH_MUST_USE enum fth_status fth_launch_open(const char *path,
                                             const struct fth_launch_options *options,
                                             struct fth_launch **launch, struct fth_error *error);

/* Options of fth_trace_obtain. Set `size`; members that are 0 or NULL have their default. */
struct fth_trace_options {
    size_t size;                             /* sizeof(struct fth_trace_options) */
    const struct fth_launch_options *launch; /* for launch files and PTX files */
    /* File that a new trace is written to. Default: a temporary file in $TMPDIR or /tmp, which has
     * no name and disappears when the trace is closed or the process ends. */
    const char *output;
    unsigned threads;          /* host threads of the PTX engine; default: one per core */
    const struct fth_log *log; /* `interrupted` is called while a trace is made */
    /* If not NULL: gets the launch that was run, whose buffers can be read, or NULL if none was.
     * The caller destroys it. */
    struct fth_launch **traced;
};
/* Obtains a trace from whatever `path` is; fathom recognises it by its content:
 *
 *   - a trace of fathom, which is opened as by fth_trace_open,
 *   - a launch file, or PTX of a kernel, which is run as by fth_launch_trace,
 *   - a trace of another tool, which is converted: tuples as text, or a .traceg file of Accel-Sim,
 *   - "-": one of these on standard input.
 *
 * Launch options that do not apply to the input are refused for launch files and PTX files, and
 * ignored for traces. `options` may be NULL. *trace is NULL if `output` is standard output ("-"), a
 * pipe or a device, which cannot be read back. FTH_NOT_FOUND: there is no such file. FTH_INVALID:
 * the input has none of these formats or is malformed, or it is a trace of fathom and `output` is
 * set. FTH_INTERRUPTED: there is no trace. Otherwise the statuses of fth_launch_open and
 * fth_launch_trace. */
FTH_MUST_USE enum fth_status fth_trace_obtain(const char *path,
                                              const struct fth_trace_options *options,
                                              struct fth_trace **trace, struct fth_error *error);

/* ---- Cache model ----------------------------------------------------------------------------- */

/* The parameters of the cache model (docs/model.md): each has a name such as "l1.size_bytes", a
 * value, and the source of the value. */
struct fth_model_params;

/* The source of a value. */
enum fth_model_source {
    FTH_MODEL_DEFAULT,
    FTH_MODEL_DESCRIPTION, /* from the GPU description */
    FTH_MODEL_SET          /* set by fth_model_set */
};

/* A parameter that the model has. The texts are static. */
struct fth_model_parameter {
    char name[40];
    const char *unit; /* "bytes", "cycles", …; "" for counts. If the value is one of several
                       * words, the list of these words; if it is another text, its forms. */
    const char *what; /* its meaning in a few words */
    const char *default_value; /* the default value */
    /* The attribute of a description that replaces the default: "SECTION.ATTRIBUTE" or, for a
     * parameter "l1.…" or "l2.…", an attribute of that element. NULL: none. */
    const char *from;
};
/* Describes the `index`-th parameter. Returns false past the last. */
bool fth_model_parameter(size_t index, struct fth_model_parameter *parameter);

/* Creates parameters with the default values. If `gpu` is not NULL, the attributes of the
 * description replace them. `gpu` is not needed afterwards. */
FTH_MUST_USE enum fth_status fth_model_params_create(const struct fth_gpu *gpu,
                                                     struct fth_model_params **params,
                                                     struct fth_error *error);
/* Creates an independent copy of parameters. */
FTH_MUST_USE enum fth_status fth_model_params_copy(const struct fth_model_params *params,
                                                   struct fth_model_params **copy,
                                                   struct fth_error *error);
void fth_model_params_destroy(struct fth_model_params *params);
/* Sets a parameter from text: "l1.size_bytes", "32K". If a cache's number of sets is set, its
 * number of ways is computed from its size. If its number of ways is set, its number of sets is
 * computed. So the one that is set last counts. FTH_NOT_FOUND: there is no such parameter.
 * FTH_INVALID: it cannot have this value. Contradictions between parameters are reported by
 * fth_model_run. */
FTH_MUST_USE enum fth_status fth_model_set(struct fth_model_params *params, const char *name,
                                           const char *value, struct fth_error *error);
/* Returns the value of the `index`-th parameter as text, valid until the parameter is set; NULL
 * past the last. *source gets its source; `source` may be NULL. */
const char *fth_model_value(const struct fth_model_params *params, size_t index,
                            enum fth_model_source *source);

/* Counts of one cache level, indexed by enum fth_trace_access_kind. */
struct fth_model_counts {
    uint64_t requests[3]; /* line requests that reached the level */
    uint64_t sectors[3];  /* sectors that these line requests need */
    uint64_t hits[3];     /* sectors that were present */
    /* Sectors that an earlier miss was already fetching. The parameters "l1.merged" and "l2.merged"
     * decide whether `hits` includes them. */
    uint64_t merges[3];
};

/* A histogram of reuse distances within the sets of a level (C1R, C1W, C2R and C2W in the RDGC
 * paper). counts[d] is the number of sectors that hit at distance d, in lines. The last entry
 * counts the misses and, in a cache that is not LRU, all hits as well. */
struct fth_model_profile {
    uint64_t *counts;
    size_t count; /* length of `counts`; 0: the row has no profile */
};

/* The results of a kernel over all its launches, of one launch, or of one instruction over all
 * launches of its kernel. In the model, the near and the far partition of an L2
 * (docs/glossary.md) are called sides. */
struct fth_model_row {
    const char *kernel;
    size_t launch; /* index of the launch in the trace; SIZE_MAX: not a row of a single launch */
    const struct fth_trace_instruction *instruction; /* NULL: all instructions */
    uint64_t launches;                               /* number of launches; 0 for an instruction */
    uint64_t warps[3];                               /* number of warp accesses, by access kind */
    struct fth_model_counts l1, l2;   /* sums over all L1s, and over all sides of the L2 */
    struct fth_model_counts bypassed; /* the L2 if the L1 were off; see fth_model_options */
    /* Read sectors that missed in the near side of the L2 and hit in the far one. */
    uint64_t far_hits;
    /* Sectors read from and written to memory. Write-backs of evicted lines are contained in the
     * rows of kernels and launches, but not in those of instructions. */
    uint64_t dram_reads, dram_writes;
    /* The following members are set only in rows of kernels and launches. A step is the model's
     * time unit (docs/model.md). For a launch, l1_steps are the steps of the L1 that takes the
     * most, and l2_steps those of the L2 side that takes the most; for a kernel, the sum over its
     * launches. l1_fails and l2_fails count the attempts, of all L1s or sides, that had to be
     * repeated because no MSHR was free or an MSHR could not take another merge. */
    uint64_t l1_steps, l2_steps, l1_fails, l2_fails;
    size_t last_launch;      /* for a kernel: index of its last launch in the trace */
    uint64_t l1_bytes;       /* capacity of the L1; for a kernel, in its last launch */
    uint64_t blocks_at_once; /* resident blocks per SM; for a kernel, in its last launch */
    struct fth_model_profile l1_profile[2], l2_profile[2]; /* [0] reads, [1] writes and atomics */
};

/* Exact stack distances of the reads of a level, in sectors. A fully associative LRU cache of N
 * sectors would hit profile[0] + … + profile[N - 1] of them. */
struct fth_model_curve {
    uint64_t *profile; /* number of sectors by stack distance */
    size_t count;      /* length of `profile` */
    uint64_t fresh;    /* sectors that were read for the first time */
};

/* A NULL pointer to this struct means that all members are 0. */
struct fth_model_options {
    unsigned threads;   /* host threads; 0: one per core. Results do not depend on it. */
    bool bypassed;      /* also simulate the L2 as if the L1 were off (fth_model_row.bypassed) */
    bool curves;        /* also compute exact stack distances (fth_model_curve) */
    const char *kernel; /* simulate only the launches of this kernel; NULL: all */
    const struct fth_log *log;
};

struct fth_model_result;

/* Simulates the caches for the accesses of a trace. The trace must stay open as long as the result
 * is used. FTH_INVALID: parameters contradict each other, a block does not fit an SM, or the trace
 * is damaged. FTH_INTERRUPTED: there is no result. */
FTH_MUST_USE enum fth_status fth_model_run(const struct fth_trace *trace,
                                           const struct fth_model_params *params,
                                           const struct fth_model_options *options,
                                           struct fth_model_result **result,
                                           struct fth_error *error);
void fth_model_result_destroy(struct fth_model_result *result);
/* Returns the `index`-th row; NULL past the last. The row of each kernel is followed by the rows of
 * its launches, if there are several, and those of its instructions. */
const struct fth_model_row *fth_model_row(const struct fth_model_result *result, size_t index);
/* Returns a curve. `level` is 1 for the reads of each SM, summed over the SMs, or 2 for the reads
 * that reach the L2. NULL: curves were not requested, or there is no such level. */
const struct fth_model_curve *fth_model_curve(const struct fth_model_result *result, int level);

/* Returns the hits divided by the sectors, 0 to 1; NAN without sectors. `reads_only` leaves out
 * writes and atomics. */
double fth_model_hit_ratio(const struct fth_model_counts *counts, bool reads_only);
/* Returns the average latency of a read sector in cycles, from the latencies of the levels where
 * the sectors were found. NAN: there are no reads, or a latency that is needed is unknown. */
double fth_model_access_cycles(const struct fth_model_row *row,
                               const struct fth_model_params *params);

/* The part of a result that text and CSV show. JSON contains all parts. */
enum fth_model_view {
    FTH_MODEL_VIEW_KERNELS,
    FTH_MODEL_VIEW_LAUNCHES,
    FTH_MODEL_VIEW_LINES,     /* instructions, with their lines in the PTX file */
    FTH_MODEL_VIEW_PROFILE,   /* fth_model_profile */
    FTH_MODEL_VIEW_CURVE,     /* fth_model_curve */
    FTH_MODEL_VIEW_PARAMETERS /* the parameters; needs no result */
};
/* Shows a result. `result` may be NULL if only parameters are shown. `options` may be NULL.
 * FTH_INVALID: the format is not text, json or csv. */
FTH_MUST_USE enum fth_status fth_report_model(const char *format, enum fth_model_view view,
                                              const struct fth_model_result *result,
                                              const struct fth_model_params *params,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

/* ---- Exploring cache designs ----------------------------------------------------------------- */

/* An exploration runs the cache model for every combination of traces and parameter values
 * (docs/explore.md). A combination is a point. Points are organised in studies: each study has its
 * own traces and its own values. fth_explore_trace, fth_explore_vary and fth_explore_scope apply to
 * one unnamed study; files and presets add further studies. Nothing can be added after
 * fth_explore_run. */
struct fth_exploration;

/* Creates an exploration without points. `base` holds the values of parameters that are not set or
 * varied; it is copied. */
FTH_MUST_USE enum fth_status fth_explore_create(const struct fth_model_params *base,
                                                struct fth_exploration **exploration,
                                                struct fth_error *error);
void fth_explore_destroy(struct fth_exploration *exploration);
/* Adds a trace to the unnamed study. `path` is any input of fth_trace_obtain; `options` are those
 * for launch files and PTX files and may be NULL. In the results, a trace has its file name without
 * the folder; a second, different trace with the same file name gets the name "FILE#2", and so on.
 * The same path with the same options is read only once. FTH_INVALID: also if the trace is
 * truncated. Otherwise the statuses of fth_trace_obtain. */
FTH_MUST_USE enum fth_status fth_explore_trace(struct fth_exploration *exploration,
                                               const char *path,
                                               const struct fth_launch_options *options,
                                               const struct fth_log *log, struct fth_error *error);
/* Varies parameters of the unnamed study. With several calls, the points are all combinations.
 *
 *     l1.size_bytes=8K,16K              one parameter with two values
 *     l2.partitions+l2.banks=1+1,4+2    two parameters that vary together
 *     l1.latency=4,0.5;8,1              values that contain commas, separated by ';'
 *
 * FTH_NOT_FOUND: there is no such parameter. FTH_INVALID: the text has none of these forms, a value
 * is not valid or occurs twice, or this is the 17th call (16 is the maximum). */
FTH_MUST_USE enum fth_status fth_explore_vary(struct fth_exploration *exploration, const char *text,
                                              struct fth_error *error);
/* Sets a parameter for all studies. It takes precedence over the value that a study from a file or
 * preset sets for itself. If the study varies the parameter, the varied values take precedence.
 * Statuses are those of fth_model_set. */
FTH_MUST_USE enum fth_status fth_explore_set(struct fth_exploration *exploration, const char *name,
                                             const char *value, struct fth_error *error);
/* Sets whether the unnamed study also counts the L2 as if the L1 were off (`l1_off`). */
void fth_explore_scope(struct fth_exploration *exploration, bool l1_off);
/* Adds the studies of a file (docs/explore.md). Paths of traces are relative to the folder of the
 * file. `sizes` apply to its launch files. FTH_NOT_FOUND: a file, kernel or parameter does not
 * exist. FTH_INVALID: the file is malformed. Otherwise as fth_explore_trace. */
FTH_MUST_USE enum fth_status fth_explore_read(struct fth_exploration *exploration, const char *path,
                                              const char *const *sizes, size_t size_count,
                                              const struct fth_log *log, struct fth_error *error);
/* Adds the studies of a preset: a file of studies that is built into the library. `name` is one of
 * fth_explore_preset_at; `folder` contains the launch files of the preset. Statuses are those of
 * fth_explore_read. */
FTH_MUST_USE enum fth_status fth_explore_preset(struct fth_exploration *exploration,
                                                const char *name, const char *folder,
                                                const char *const *sizes, size_t size_count,
                                                const struct fth_log *log, struct fth_error *error);
/* Returns the name of the `index`-th preset; NULL past the last. */
const char *fth_explore_preset_at(size_t index);

/* One of several processes that share an exploration. */
struct fth_shard {
    size_t number, count; /* `number` is from 1 to `count`; 1 of 1: the whole exploration */
    const char *who;      /* the launcher that defined it, a static text; NULL: none, or 1 of 1 */
};
/* Derives the shard of this process from the environment variables of its launcher (Open MPI, PMI,
 * PMIx, Slurm). It is 1 of 1 without a launcher. FTH_INVALID: the variables are incomplete or
 * contradict each other. */
FTH_MUST_USE enum fth_status fth_shard_find(struct fth_shard *shard, struct fth_error *error);
/* Parses a shard such as "2/4". FTH_INVALID: the text does not have this form. */
FTH_MUST_USE enum fth_status fth_shard_parse(const char *text, struct fth_shard *shard,
                                             struct fth_error *error);
/* Derives the file name of a shard: each "%r" in the pattern becomes the number of the shard.
 * Without "%r", ".NUMBER" is appended if there is more than one shard. */
FTH_MUST_USE enum fth_status fth_shard_path(const char *pattern, const struct fth_shard *shard,
                                            char **path, struct fth_error *error);

struct fth_explore_options {
    size_t shard, shards; /* as in struct fth_shard; 0 of 0: the whole exploration */
    unsigned threads;     /* host threads; 0: one per core. Results do not depend on it. */
    const char *output;   /* file that each finished point is added to; NULL: none */
    const struct fth_log *log;
};
struct fth_explore_outcome {
    size_t found;       /* points that the output file already contained */
    size_t computed;    /* points that were computed now */
    size_t jobs;        /* models that were run for them; equal points share one model */
    size_t l1_shared;   /* jobs that used the L1 results of another job with equal L1s */
    size_t l1_one_pass; /* jobs whose L1s were simulated in one pass, together with L1s that differ
                         * from them only in the ways */
    char *text;         /* header and points, one JSON object per line; release it with fth_free */
    size_t size;        /* of `text` */
};
/* Computes the points of a shard that the output file does not contain yet. Finished points are on
 * disk even if the process is killed; running the same exploration again continues it. *outcome is
 * filled in also after a failure; outcome->text can then be NULL. The caller must release
 * outcome->text in any case. FTH_INVALID: there is nothing to explore, there are more than 2^22
 * points, parameters contradict each other, or the output file belongs to another exploration or
 * shard. FTH_IO: also if another process keeps the output file locked, because it is writing to it.
 * FTH_INTERRUPTED: the finished points are kept. */
FTH_MUST_USE enum fth_status fth_explore_run(struct fth_exploration *exploration,
                                             const struct fth_explore_options *options,
                                             struct fth_explore_outcome *outcome,
                                             struct fth_error *error);
/* After fth_explore_run: returns the number of points of the whole exploration. *jobs gets the
 * number of models to run for them; `jobs` may be NULL. */
size_t fth_explore_points(const struct fth_exploration *exploration, size_t *jobs);

/* Merges the output files of shards into the text that a single process would have written. With
 * `partial`, points may be missing. FTH_INVALID: the files belong to different explorations,
 * contradict each other, or are not output files. FTH_INCONCLUSIVE: points are missing, and
 * `partial` is false. FTH_NOT_FOUND: a file does not exist. */
FTH_MUST_USE enum fth_status fth_merge(const char *const *paths, size_t count, bool partial,
                                       const struct fth_log *log, char **text, size_t *size,
                                       struct fth_error *error);
/* Shows the points of an exploration as a table. `points` is the text of fth_explore_run or
 * fth_merge, of `points_size` bytes; `options` may be NULL. FTH_INVALID: the text is malformed, or
 * the format is not text, json or csv. */
FTH_MUST_USE enum fth_status fth_report_points(const char *format, const char *points,
                                               size_t points_size,
                                               const struct fth_report_options *options,
                                               char **text, size_t *size, struct fth_error *error);

/* ---- Utilities ------------------------------------------------------------------------------- */

/* Releases memory that the library allocated for the caller; NULL is allowed. */
void fth_free(void *memory);

/* Parses a size: "4096", "32K", "1.5M", "64KiB". Units are powers of 1024, as GPU vendors use them;
 * case does not matter. FTH_INVALID: the text is not such a size, is not a whole number of bytes,
 * or does not fit 64 bits. */
FTH_MUST_USE enum fth_status fth_size_parse(const char *text, uint64_t *bytes,
                                            struct fth_error *error);

/* Returns the one of `count` words that `word` is probably a misspelling of, or NULL if none is
 * similar enough. */
const char *fth_suggest(const char *word, const char *const *words, size_t count);

/* Writes a file atomically: `path` holds either the old contents or all of the new ones, even after
 * a crash. Pipes and devices are written directly; "-" is standard output. Fails only with FTH_IO
 * or FTH_NO_MEMORY. */
FTH_MUST_USE enum fth_status fth_file_write(const char *path, const void *data, size_t size,
                                            struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
