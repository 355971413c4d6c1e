/* fathom: the memory topology of GPUs, measured and described.
 *
 * This is the one public header. Everything a program needs to read, check, compare and show a GPU
 * description, and to ask which GPUs are here, stands below.
 *
 * Conventions
 *   - A function that can fail returns enum fth_status (0 is fine) and fills the caller's
 *     struct fth_error. Passing NULL for the error is allowed.
 *   - `create`, `open`, `read` and `char **` out-parameters give ownership: what is made is given
 *     back to `destroy`, `close` or `fini` of its kind, texts to fth_free, and all of these take
 *     NULL. `const` pointers are borrowed and live as long as the object they came from.
 *   - The library never prints, exits or keeps mutable globals. What it has to say on the way goes
 *     through struct fth_log.
 */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FTH_MUST_USE __attribute__((warn_unused_result))
#else
#define FTH_MUST_USE
#endif

/* The version of the library, "MAJOR.MINOR.PATCH". */
const char *fth_version(void);

/* ---- status and error ----------------------------------------------------------------------- */

/* Unsupported (this build or device cannot), unavailable (not now, not here) and inconclusive (it
 * was tried and the answer is not certain) are three different answers. */
enum fth_status {
    FTH_OK = 0,
    FTH_NO_MEMORY,
    FTH_IO,           /* the operating system refused: disk full, permission, broken pipe */
    FTH_INVALID,      /* the input is wrong */
    FTH_NOT_FOUND,    /* no such name or file */
    FTH_UNSUPPORTED,  /* never works here */
    FTH_UNAVAILABLE,  /* does not work now */
    FTH_INCONCLUSIVE, /* measured, but not certain */
    FTH_INTERRUPTED
};

/* What failed (operation), on what (argument), and why (cause). The first error wins: a caller may
 * add context in front of the cause, never replace it. Holds no control characters, so that a
 * hostile file cannot write to the terminal through its error message. */
struct fth_error {
    enum fth_status status;
    char operation[64];
    char argument[256];
    char cause[512];
    char excerpt[256]; /* where a text is at fault: its line and, below, a caret; else empty */
};
#define FTH_NO_ERROR ((struct fth_error){.status = FTH_OK})

/* "operation 'argument': cause" in one line, cut to `size`; returns `text`. */
const char *fth_error_text(const struct fth_error *error, char *text, size_t size);

/* ---- log and progress ------------------------------------------------------------------------ */

enum fth_level { FTH_LOG_ERROR, FTH_LOG_WARNING, FTH_LOG_INFO, FTH_LOG_DEBUG };

/* Each callback may be NULL; `fraction` runs from 0 to 1. `interrupted` is asked on long ways:
 * where it says true, what is under way ends with FTH_INTERRUPTED and what is complete is kept. */
struct fth_log {
    void (*message)(void *user, enum fth_level level, const char *text);
    void (*progress)(void *user, const char *what, double fraction);
    bool (*interrupted)(void *user);
    void *user;
};

/* ---- the GPU description, fathom-gpu/1 (docs/gpu-description.md) -------------------------------
 */

struct fth_gpu;

enum fth_kind {
    FTH_NUMBER,
    FTH_TEXT,
    FTH_NUMBERS, /* list */
    FTH_TEXTS,   /* list */
    FTH_RAW      /* an attribute that this version does not know, kept as JSON text in `text` */
};

enum fth_source {
    FTH_SOURCE_NONE, /* a plain value, without provenance */
    FTH_SOURCE_MEASURED,
    FTH_SOURCE_DRIVER,
    FTH_SOURCE_DERIVED,
    FTH_SOURCE_PUBLISHED
};

/* One figure and where it came from. Numbers that are not there are NAN, texts NULL. */
struct fth_attribute {
    const char *name;
    enum fth_kind kind;
    double number;
    const char *text;
    size_t count; /* of `numbers` or `texts` */
    const double *numbers;
    const char *const *texts;

    enum fth_source source;
    const char *method;
    const char *reference; /* "KEY, locator; KEY, locator" with KEY from "references" */
    const char *note;
    double confidence; /* 0 to 1 */
    double samples;
    double low, high; /* the interval that `number` stands for */
};

/* Reads a description. `path` may be "-" for standard input; zstd-compressed files are recognised.
 * Warnings about attributes that are not known go to `log`, which may be NULL. */
FTH_MUST_USE enum fth_status fth_gpu_read_file(const char *path, const struct fth_log *log,
                                               struct fth_gpu **gpu, struct fth_error *error);
/* The same from memory; `name` stands for the file in messages. */
FTH_MUST_USE enum fth_status fth_gpu_read_text(const char *name, const char *text, size_t size,
                                               const struct fth_log *log, struct fth_gpu **gpu,
                                               struct fth_error *error);
void fth_gpu_destroy(struct fth_gpu *gpu);

/* Canonical JSON text: reading it back and writing it again gives the same bytes. */
FTH_MUST_USE enum fth_status fth_gpu_write_text(const struct fth_gpu *gpu, char **text,
                                                size_t *size, struct fth_error *error);

/* Every relation that a description must satisfy; reading a file includes it. */
FTH_MUST_USE enum fth_status fth_gpu_validate(const struct fth_gpu *gpu, struct fth_error *error);

/* The names of the elements that a description can have, in the order in which they are shown;
 * NULL past the last. */
const char *fth_element_name(size_t index);

/* The elements of a description and, of each section, the attributes, both in the order of the
 * document; NULL past the last. A section is "device", "noise" or the name of an element ("l1",
 * "tlb_l2", …). */
size_t fth_gpu_element_count(const struct fth_gpu *gpu);
const char *fth_gpu_element_name(const struct fth_gpu *gpu, size_t index);
size_t fth_gpu_attribute_count(const struct fth_gpu *gpu, const char *section);
const struct fth_attribute *fth_gpu_attribute_at(const struct fth_gpu *gpu, const char *section,
                                                 size_t index);
/* NULL where the attribute is absent. */
const struct fth_attribute *fth_gpu_attribute(const struct fth_gpu *gpu, const char *section,
                                              const char *name);
/* The number, or `absent` (NAN, say) where there is none. */
double fth_gpu_number(const struct fth_gpu *gpu, const char *section, const char *name,
                      double absent);
/* The text, or NULL. */
const char *fth_gpu_text(const struct fth_gpu *gpu, const char *section, const char *name);
/* Why the attribute is not known, or NULL where nothing is said of it. */
const char *fth_gpu_unknown(const struct fth_gpu *gpu, const char *element, const char *name);
/* The reasons one after the other, NULL past the last; the attribute goes to *name. */
const char *fth_gpu_unknown_at(const struct fth_gpu *gpu, const char *element, size_t index,
                               const char **name);

/* One difference between two descriptions. `a` or `b` is NULL where only the other has the
 * attribute. A figure with an interval differs only when the intervals do not meet. */
struct fth_difference {
    const char *section;
    const char *name;
    const struct fth_attribute *a;
    const struct fth_attribute *b;
    double apart; /* of numbers: what is between the intervals, as a part of the larger number */
    bool circumstance; /* which card it was, and how it was then (uuid, power, driver, …), or what a
                        * figure was read off; not what such a GPU is like */
};
/* Calls `each` for every difference, in the order of `a`, and returns how many there were. */
size_t fth_gpu_compare(const struct fth_gpu *a, const struct fth_gpu *b,
                       void (*each)(void *user, const struct fth_difference *difference),
                       void *user);

/* ---- the catalogue of descriptions that come with fathom ---------------------------------------
 */

struct fth_catalogue;

/* Finds the descriptions beside the program, where it was installed, and those built into it. */
FTH_MUST_USE enum fth_status fth_catalogue_open(struct fth_catalogue **catalogue,
                                                struct fth_error *error);
void fth_catalogue_close(struct fth_catalogue *catalogue);
/* How many there are, and their names, sorted; NULL past the last. */
size_t fth_catalogue_count(const struct fth_catalogue *catalogue);
const char *fth_catalogue_name(const struct fth_catalogue *catalogue, size_t index);
/* The file, or NULL where the description is built into the program. */
const char *fth_catalogue_path(const struct fth_catalogue *catalogue, size_t index);
/* `what` is a name of the catalogue, a path, or "-". A name that is not there gets the nearest one
 * in the error. */
FTH_MUST_USE enum fth_status fth_catalogue_read(const struct fth_catalogue *catalogue,
                                                const char *what, const struct fth_log *log,
                                                struct fth_gpu **gpu, struct fth_error *error);

/* ---- reports -----------------------------------------------------------------------------------
 */

struct fth_report_options {
    bool utf8;      /* box drawing characters; ASCII otherwise */
    bool colour;    /* ANSI escapes */
    unsigned width; /* columns; 0 stands for 80 */
    bool replayed;  /* the title says that the figures come from a recording */
};

/* The formats: name and one line about it, for index 0, 1, … until NULL. */
const char *fth_report_format(size_t index, const char **summary);
/* What is to be shown. Some formats are for descriptions alone. */
enum fth_report_subject { FTH_REPORT_GPU, FTH_REPORT_TABLE };
/* FTH_INVALID, with what was perhaps meant, where there is no such format for it. */
FTH_MUST_USE enum fth_status fth_report_check(const char *format, enum fth_report_subject subject,
                                              struct fth_error *error);
/* Shows a description in the format of that name. */
FTH_MUST_USE enum fth_status fth_report_gpu(const char *format, const struct fth_gpu *gpu,
                                            const struct fth_report_options *options, char **text,
                                            size_t *size, struct fth_error *error);

/* A table of any kind, shown in the same formats: in JSON a list of objects, in CSV with a head. */
enum fth_column_kind {
    FTH_COLUMN_TEXT,
    FTH_COLUMN_NUMBERS, /* text with numbers and spaces between: in JSON a list */
    FTH_COLUMN_NUMBER,
    FTH_COLUMN_BYTES
};
struct fth_column {
    const char *key;  /* in JSON and CSV */
    const char *head; /* in text */
    enum fth_column_kind kind;
};
struct fth_cell {
    const char *text; /* of a column of texts or lists; NULL: nothing */
    double number;    /* of the others; NAN: nothing */
};
struct fth_table {
    const struct fth_column *columns;
    size_t column_count;
    const struct fth_cell *cells; /* row by row */
    size_t row_count;
};
/* Shows a table in the format of that name, where that is not for descriptions alone. */
FTH_MUST_USE enum fth_status fth_report_table(const char *format, const struct fth_table *table,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

/* One self-contained HTML page of any mix of files: documents of fathom (descriptions, benches,
 * comparisons, model runs), recordings, the points of explorations, and the loads of
 * fth_dissect_options.series as the command line writes them. FTH_UNSUPPORTED where the library was
 * built without D3. */
FTH_MUST_USE enum fth_status fth_report_html(const char *const *paths, size_t count,
                                             const struct fth_log *log, char **text, size_t *size,
                                             struct fth_error *error);

/* What differs between descriptions. */
struct fth_compare_options {
    bool all;      /* circumstances, and what only one of them says, too */
    double within; /* numbers that are no more apart than this part of the larger do not differ */
    const struct fth_report_options *report; /* may be NULL */
};
/* A table of what differs between two, which are called so; in JSON a fathom-comparison/1 document.
 * *count is how many differences there are, as far as they are asked for. */
FTH_MUST_USE enum fth_status fth_report_compare(const char *format,
                                                const struct fth_compare_options *options,
                                                const struct fth_gpu *const gpus[2],
                                                const char *const names[2], char **text,
                                                size_t *size, size_t *count,
                                                struct fth_error *error);
/* The same of many: which GPUs are not like their siblings, those of the same name, and in what.
 * The usual figure is that of the GPU that agrees with most, more than half of the others; of two
 * that differ, that of the first. */
FTH_MUST_USE enum fth_status fth_report_fleet(const char *format,
                                              const struct fth_compare_options *options,
                                              const struct fth_gpu *const *gpus,
                                              const char *const *names, size_t gpu_count,
                                              char **text, size_t *size, size_t *count,
                                              struct fth_error *error);

/* ---- devices -----------------------------------------------------------------------------------
 */

/* One GPU that a backend can reach, or (id NULL) a backend that is not usable, with the reason. */
struct fth_device_info {
    const char *backend;
    const char *id;     /* "cuda:0" */
    const char *name;   /* "NVIDIA H200" */
    const char *detail; /* what else is known of it; where id is NULL, why there is none */
};
/* Asks every backend and calls `each` once a device or unusable backend. */
FTH_MUST_USE enum fth_status fth_device_list(void (*each)(void *user,
                                                          const struct fth_device_info *device),
                                             void *user, struct fth_error *error);

struct fth_device;

/* Opens "cuda:0", "sim:v100", "sim:path/to/gpu.json", "replay:file". NULL: the first real GPU or,
 * where there is none, "sim:h200". `log` may be NULL and is kept. */
FTH_MUST_USE enum fth_status fth_device_open(const char *id, const struct fth_log *log,
                                             struct fth_device **device, struct fth_error *error);
/* "cuda:0", "sim:h200": also where NULL was asked for. */
const char *fth_device_id(const struct fth_device *device);
/* From now on everything asked of the device and answered is kept, for "replay:path". */
FTH_MUST_USE enum fth_status fth_device_record(struct fth_device *device, const char *path,
                                               struct fth_error *error);
/* Writes what fth_device_record promised. */
FTH_MUST_USE enum fth_status fth_device_finish(struct fth_device *device, struct fth_error *error);
void fth_device_close(struct fth_device *device);

/* Measures the memory topology of a device. */
struct fth_discover_options {
    const char *only;          /* "l1,l2": these elements; NULL: all */
    const struct fth_log *log; /* may be NULL */
    bool thorough;             /* more repeats for bandwidths, and those of a simulated GPU, too */
};
/* With FTH_INTERRUPTED there is a description too, of what was measured until then. */
FTH_MUST_USE enum fth_status fth_discover(struct fth_device *device,
                                          const struct fth_discover_options *options,
                                          struct fth_gpu **gpu, struct fth_error *error);

/* ---- benches -----------------------------------------------------------------------------------
 */

struct fth_bench;

/* The benches: name and one line about it, for index 0, 1, … until NULL. `summary` may be NULL. */
const char *fth_bench_name(size_t index, const char **summary);
/* Refuses a name that is none of them, nor "all", with the one that may have been meant. */
FTH_MUST_USE enum fth_status fth_bench_check_name(const char *name, struct fth_error *error);

struct fth_bench_options {
    const char *const *names; /* which; "all" stands for all of them, and so does none */
    size_t count;
    const struct fth_log *log; /* may be NULL */
    bool thorough;             /* of a simulated GPU, too, as much as of a real one */
};
/* With FTH_INTERRUPTED there are results too, of what was measured until then. */
FTH_MUST_USE enum fth_status fth_bench_create(struct fth_device *device,
                                              const struct fth_bench_options *options,
                                              struct fth_bench **bench, struct fth_error *error);
void fth_bench_destroy(struct fth_bench *bench);

/* What follows from a series. */
struct fth_bench_figure {
    const char *key;
    double value;
    const char *unit;
    const char *method;
};
/* Every point that was measured, a row each. As a grid it is read by two of its columns, down and
 * across, with a third in the cells. */
struct fth_bench_series {
    const char *name, *title;
    struct fth_table table;
    bool grid;
    size_t down, across, value;
    bool plot; /* drawn in text: one column over another, a curve for each text of a third */
    size_t x, y, by;
    bool detail; /* no table in text: too long */
    const struct fth_bench_figure *figures;
    size_t figure_count;
    const char *const *missing; /* what is not there, and why */
    size_t missing_count;
};
/* The series of all benches that were run, in the order of fth_bench_name. */
size_t fth_bench_series_count(const struct fth_bench *bench);
const struct fth_bench_series *fth_bench_series_at(const struct fth_bench *bench, size_t index);
/* What the driver tells of the device, and what of the results belongs into a description: banks,
 * bandwidths. */
const struct fth_gpu *fth_bench_gpu(const struct fth_bench *bench);
/* Shows the results in a format of fth_report_format. */
FTH_MUST_USE enum fth_status fth_report_bench(const char *format, const struct fth_bench *bench,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);
/* ---- fingerprints: GPUs that can be known again (docs/fingerprints.md) -------------------------
 */

/* Several runs of measurements of one GPU, with its name, UUID, driver and the time. */
struct fth_fingerprint;

/* Measures so many runs. `log` may be NULL. */
FTH_MUST_USE enum fth_status fth_fingerprint_measure(struct fth_device *device, size_t runs,
                                                     const struct fth_log *log,
                                                     struct fth_fingerprint **fingerprint,
                                                     struct fth_error *error);
void fth_fingerprint_destroy(struct fth_fingerprint *fingerprint);

/* A file of fingerprints. Each function below is done wholly or not at all, whatever happens to the
 * process or the machine meanwhile, and several processes can use one file. */
struct fth_store;

/* "$XDG_DATA_HOME/fathom/fingerprints.db", or below "$HOME/.local/share". */
FTH_MUST_USE enum fth_status fth_store_default_path(char *path, size_t size,
                                                    struct fth_error *error);
/* `path` NULL: the default one. Where there is no file: with `create` a new one, and its folder,
 * otherwise FTH_NOT_FOUND. One of an older fathom is brought up to date; what is no store, damaged,
 * or of a newer fathom is refused and left as it is. */
FTH_MUST_USE enum fth_status fth_store_open(const char *path, bool create, struct fth_store **store,
                                            struct fth_error *error);
/* The file, also where the default one was asked for. */
const char *fth_store_path(const struct fth_store *store);
void fth_store_close(struct fth_store *store);

/* Adds the runs under that name. A name stands for one GPU, and a GPU has one name: FTH_INVALID
 * where the device's name or UUID say otherwise. `total` (may be NULL) gets how many runs it has
 * now. */
FTH_MUST_USE enum fth_status fth_store_enroll(struct fth_store *store, const char *name,
                                              const struct fth_fingerprint *fingerprint,
                                              size_t *total, struct fth_error *error);
/* Whether such an enrolment would be refused, before anything is measured. */
FTH_MUST_USE enum fth_status fth_store_check_name(const char *name, struct fth_error *error);
/* Takes the GPU and all its runs out; `runs` (may be NULL) gets how many. FTH_NOT_FOUND, with the
 * nearest name, where there is none. */
FTH_MUST_USE enum fth_status fth_store_forget(struct fth_store *store, const char *name,
                                              size_t *runs, struct fth_error *error);

/* Which of the enrolled GPUs it is. */
struct fth_candidate {
    const char *name;
    const char *device; /* what the driver calls it */
    size_t runs;
    double distance; /* in standard deviations of enrolled runs; NAN: cannot be compared */
    bool same_uuid;  /* the driver says that it is this one */
};
struct fth_identification {
    const char *name;                       /* NULL: none of them, or it cannot be told which */
    double limit_distance;                  /* farther is not near; NAN: too few runs to know */
    const struct fth_candidate *candidates; /* the nearest first */
    size_t count;
    char reason[256]; /* where name is NULL, why */
    void *memory;     /* what the texts lie in */
};
/* FTH_NOT_FOUND where nothing is enrolled. A refusal is an answer: FTH_OK, and no name. */
FTH_MUST_USE enum fth_status fth_store_identify(struct fth_store *store,
                                                const struct fth_fingerprint *fingerprint,
                                                struct fth_identification *identification,
                                                struct fth_error *error);
void fth_identification_fini(struct fth_identification *identification);

/* One enrolled GPU. With `accuracy`, what came of each of its runs when all but that one were
 * enrolled: identified rightly, as another, or refused. */
struct fth_enrolled {
    const char *name, *device, *uuid, *driver; /* NULL: not known; the driver of the last run */
    size_t runs;
    char first_time[24], last_time[24]; /* ISO 8601, UTC */
    size_t right, wrong, refused;
};
/* Calls `each` for all, by name. */
FTH_MUST_USE enum fth_status fth_store_list(struct fth_store *store, bool accuracy,
                                            void (*each)(void *user,
                                                         const struct fth_enrolled *enrolled),
                                            void *user, struct fth_error *error);

/* All runs as one JSON document, and the other way: runs that are there already are passed over.
 * `added` (may be NULL) gets how many were not. `path` is a file or "-". */
FTH_MUST_USE enum fth_status fth_store_export(struct fth_store *store, char **text, size_t *size,
                                              struct fth_error *error);
FTH_MUST_USE enum fth_status fth_store_import(struct fth_store *store, const char *path,
                                              size_t *added, struct fth_error *error);
/* Loads of a cache that overflows by one line, each timed, from the first on: passes over `lines`
 * lines `stride_bytes` apart. */
struct fth_series {
    const char *element;
    uint64_t stride_bytes;
    size_t lines;
    size_t count; /* of loads */
    const uint32_t *cycles;
    double threshold_cycles; /* above: a miss */
    const bool *missed;      /* [count] of a TLB: loads differ by their lines; NULL: see above */
    /* Where the ways that are replaced were followed: loads of one set after its ways were filled
     * with the lines 0, 1, … in turn. */
    size_t ways;
    size_t replay_count;
    const uint32_t *replay_lines;
    const int *replay_ways; /* the way that the line went into; -1: it was there */
};

/* Whether a load of it was a miss. */
static inline bool fth_series_missed(const struct fth_series *series, size_t load)
{
    return series->missed ? series->missed[load] : series->cycles[load] > series->threshold_cycles;
}

/* Dissects caches: sets, ways, which address bits choose a set, which line is replaced. */
struct fth_dissect_options {
    const char *only;          /* "l1,texture": these elements; NULL: all that can be dissected */
    const struct fth_log *log; /* may be NULL */
    /* Hears of the loads of each cache, after it was dissected; may be NULL. */
    void (*series)(void *user, const struct fth_series *series);
    void *user;
};
/* Whether an element is of a kind that can be dissected. */
bool fth_can_dissect(const char *element);
/* Discovers the elements and dissects them. What cannot be found out, and why, is in the unknown of
 * the element (attribute "sets", "policy", …). With FTH_INTERRUPTED there is a description too. */
FTH_MUST_USE enum fth_status fth_dissect(struct fth_device *device,
                                         const struct fth_dissect_options *options,
                                         struct fth_gpu **gpu, struct fth_error *error);

/* The sets, ways, index functions and policies of a description, as a table for people. */
FTH_MUST_USE enum fth_status fth_report_dissection(const struct fth_gpu *gpu,
                                                   const struct fth_report_options *options,
                                                   char **text, size_t *size,
                                                   struct fth_error *error);
/* A series: which loads miss, as a strip, and which ways are replaced. */
FTH_MUST_USE enum fth_status fth_report_series(const struct fth_series *series,
                                               const struct fth_report_options *options,
                                               char **text, size_t *size, struct fth_error *error);

/* ---- kernels, executed without a GPU --------------------------------------------------------- */

/* Kernels of one PTX file, launched one after the other on buffers that they share. */
struct fth_launch;

/* Reads a PTX file and chooses a kernel of it; NULL: the only one. It is launched once, with the
 * arguments and the shape that follow. `seed` is for random buffers. */
FTH_MUST_USE enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                               struct fth_launch **launch, struct fth_error *error);
/* Reads a launch file (docs/launch-files.md). `sizes`, each "NAME=VALUE", go before the file's. */
FTH_MUST_USE enum fth_status fth_launch_read(const char *path, const char *const *sizes,
                                             size_t size_count, struct fth_launch **launch,
                                             struct fth_error *error);
void fth_launch_destroy(struct fth_launch *launch);
/* The next argument: "i32:4096", "f32:1.5", "ptr:f32[64*64]=random", "ptr:u32[]=file:data.bin". */
FTH_MUST_USE enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                                 struct fth_error *error);

struct fth_launch_shape {
    uint32_t grid[3], block[3]; /* 0 counts as 1 */
    size_t shared_bytes;        /* dynamic */
};
/* Of what fth_launch_create made; one block of one warp otherwise. */
void fth_launch_set_shape(struct fth_launch *launch, const struct fth_launch_shape *shape);

/* How many launches there are, one after the other. */
size_t fth_launch_step_count(const struct fth_launch *launch);
/* The kernel of a step; NULL past the last. */
const char *fth_launch_kernel(const struct fth_launch *launch, size_t step);
/* A size of the launch file; 0 where there is none of that name. */
double fth_launch_size(const struct fth_launch *launch, const char *name);

struct fth_run_options {
    unsigned threads;          /* of the host; 0: all cores */
    const struct fth_log *log; /* hears of the progress; may be NULL */
    const char *device;        /* of fth_launch_run: "cuda:0"; NULL: the PTX engine */
};
/* What the PTX engine counts; a device does not. */
struct fth_launch_totals {
    uint64_t warp_instructions, thread_instructions;
};
/* Fills the buffers and runs every step to its end; an access out of bounds, a barrier that cannot
 * complete and the like are errors that name kernel, line, block and thread. `options` and `totals`
 * may be NULL. Running again begins from the first contents. */
FTH_MUST_USE enum fth_status fth_launch_run(struct fth_launch *launch,
                                            const struct fth_run_options *options,
                                            struct fth_launch_totals *totals,
                                            struct fth_error *error);

/* How long a step took in the last run, where a GPU ran and timed it; NAN otherwise. */
double fth_launch_seconds(const struct fth_launch *launch, size_t step);

struct fth_launch_view {
    const char *name; /* in the launch file, else NULL */
    size_t number;    /* else: which argument it is, from 1 */
    const char *type;
    size_t element_bytes;
    uint64_t count;
};
/* The buffers, for fth_launch_show. */
size_t fth_launch_buffer_count(const struct fth_launch *launch);
/* What a buffer is, and the first `most` (0: all) of its values as text with spaces between. */
FTH_MUST_USE enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index,
                                             uint64_t max, struct fth_launch_view *view,
                                             char **values, struct fth_error *error);
/* A buffer as it is after a run, and as it was before the first; to be freed with fth_free. */
FTH_MUST_USE enum fth_status fth_launch_values(const struct fth_launch *launch, const char *name,
                                               struct fth_launch_view *view, void **values,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_launch_first_values(struct fth_launch *launch, const char *name,
                                                     struct fth_launch_view *view, void **values,
                                                     struct fth_error *error);

/* Whether a buffer holds what the launch file says it must, and in words how. */
struct fth_verdict {
    const char *buffer;
    bool matches;
    char text[192];
};
/* How many there are at these sizes. */
size_t fth_launch_expectation_count(const struct fth_launch *launch);
/* Compares one of them with its buffer after a run. FTH_OK also where it does not match. */
FTH_MUST_USE enum fth_status fth_launch_verify(const struct fth_launch *launch, size_t index,
                                               struct fth_verdict *verdict,
                                               struct fth_error *error);

/* ---- traces: what kernels access ------------------------------------------------------------- */

/* Runs a launch and writes every access to global memory that its warps make, in the order in which
 * the logical model of RDGC has them (docs/traces.md). The launch's buffers can be looked at
 * afterwards. */
FTH_MUST_USE enum fth_status fth_launch_trace(struct fth_launch *launch, const char *path,
                                              const struct fth_run_options *options,
                                              struct fth_launch_totals *totals,
                                              struct fth_error *error);
/* Writes such a trace from one of another kind: tuples as text, or .traceg of Accel-Sim. Which one
 * it is, its first line says. */
FTH_MUST_USE enum fth_status fth_trace_import(const char *from, const char *path,
                                              struct fth_error *error);

struct fth_trace;

/* What `path` seems to be: the bytes at its beginning. */
enum fth_trace_kind { FTH_TRACE_NONE, FTH_TRACE_OWN, FTH_TRACE_TEXT, FTH_TRACE_TRACEG };
enum fth_trace_kind fth_trace_recognise(const char *path);

/* Reads the heads; the accesses stay in the file. One that is cut off is opened as far as it goes.
 */
FTH_MUST_USE enum fth_status fth_trace_open(const char *path, struct fth_trace **trace,
                                            struct fth_error *error);
void fth_trace_close(struct fth_trace *trace);
/* Where the file is cut off: in words; NULL where it is whole. */
const char *fth_trace_truncated(const struct fth_trace *trace);
/* Of the file. */
uint64_t fth_trace_bytes(const struct fth_trace *trace);

enum fth_trace_access_kind { FTH_TRACE_READ, FTH_TRACE_WRITE, FTH_TRACE_ATOMIC };

/* One launch. What is not known (of a launch that is cut off, or of another's trace) is counted
 * from what is there. */
struct fth_trace_launch {
    const char *kernel;
    uint32_t grid[3], block[3];
    uint64_t longest;  /* L: the most accesses of a warp */
    uint64_t accesses; /* of warps */
    /* Requests of warps to other memories, which the trace does not hold. */
    uint64_t shared, local, constant, texture;
    /* What a block has of shared memory, static and dynamic; UINT64_MAX: not known. */
    uint64_t shared_bytes;
};
/* The launches of a trace; what `at` gives lives as long as the trace is open. */
size_t fth_trace_launch_count(const struct fth_trace *trace);
const struct fth_trace_launch *fth_trace_launch_at(const struct fth_trace *trace, size_t index);

/* A memory instruction of a kernel. Lines count from 1; 0: not known. */
struct fth_trace_instruction {
    uint32_t line; /* in the PTX; of a .traceg, the program counter */
    uint32_t source_file, source_line;
    uint32_t index; /* in its function, to tell apart two on one line */
    enum fth_trace_access_kind kind;
    uint32_t bytes;    /* a lane */
    uint32_t cache_op; /* as in the PTX engine: 0 default, 1 .ca, 2 .cg, … */
};
/* The instructions of all kernels; fth_trace_access.instruction is an index into them. */
size_t fth_trace_instruction_count(const struct fth_trace *trace);
const struct fth_trace_instruction *fth_trace_instruction_at(const struct fth_trace *trace,
                                                             size_t index);

/* {AN, BID, WID, S, NT, {ADD}}: one access of one warp. */
struct fth_trace_access {
    uint64_t number; /* AN: which one of its warp, from 0 */
    uint64_t block;  /* BID, linear */
    uint32_t warp;   /* WID, in the block */
    uint32_t instruction;
    uint32_t mask;          /* lanes that take part */
    uint32_t threads;       /* NT, as many */
    uint64_t addresses[32]; /* of these, in the order of lanes */
};

/* The accesses of blocks `first` to `last` of a launch, by number, then block, then warp. */
struct fth_trace_cursor;
FTH_MUST_USE enum fth_status fth_trace_cursor_open(const struct fth_trace *trace, size_t launch,
                                                   uint64_t first, uint64_t last,
                                                   struct fth_trace_cursor **cursor,
                                                   struct fth_error *error);
/* *access lives until the next call; it is NULL at the end. */
FTH_MUST_USE enum fth_status fth_trace_next(struct fth_trace_cursor *cursor,
                                            const struct fth_trace_access **access,
                                            struct fth_error *error);
void fth_trace_cursor_close(struct fth_trace_cursor *cursor);

/* What the accesses of a kernel, or of one of its instructions, come to over all its launches. */
struct fth_trace_row {
    const char *kernel;
    const struct fth_trace_instruction *instruction; /* NULL: of the whole kernel */
    uint64_t launches, longest;
    /* By enum fth_trace_access_kind: requests of warps, accesses of threads, and the sectors of 32
     * and lines of 128 bytes that the requests touch. */
    uint64_t requests[3], accesses[3], sectors[3], lines[3];
    uint64_t footprint_bytes[3]; /* distinct sectors of each kind, in bytes */
    uint64_t footprint_all_bytes;
};
struct fth_trace_stats;
/* Goes through all accesses once. `log` may be NULL. */
FTH_MUST_USE enum fth_status fth_trace_stats_create(const struct fth_trace *trace,
                                                    const struct fth_log *log,
                                                    struct fth_trace_stats **stats,
                                                    struct fth_error *error);
/* NULL past the last: each kernel, and behind it its instructions. Names are the trace's, which
 * must be open as long. */
const struct fth_trace_row *fth_trace_stats_row(const struct fth_trace_stats *stats, size_t index);
void fth_trace_stats_destroy(struct fth_trace_stats *stats);

/* ---- the cache model: how accesses fare on a GPU (docs/model.md) ------------------------------
 */

/* The parameters, each with a name such as "l1.size_bytes", a value, and where that came from. */
struct fth_model_params;

enum fth_model_source { FTH_MODEL_DEFAULT, FTH_MODEL_DESCRIPTION, FTH_MODEL_SET };

/* What a parameter is. */
struct fth_model_parameter {
    char name[40];
    const char *unit;      /* "bytes", "cycles", … or the words it can be; "" for plain counts */
    const char *what;      /* in a few words */
    const char *otherwise; /* the value where nothing says another */
    const char *from;      /* the attribute of a description that it is taken from, or NULL */
};
/* False past the last. */
bool fth_model_parameter(size_t index, struct fth_model_parameter *parameter);

/* All defaults, or what a description (which may be NULL) says in their place. */
FTH_MUST_USE enum fth_status fth_model_params_create(const struct fth_gpu *gpu,
                                                     struct fth_model_params **params,
                                                     struct fth_error *error);
/* The same values with the same sources, to be changed apart. */
FTH_MUST_USE enum fth_status fth_model_params_copy(const struct fth_model_params *params,
                                                   struct fth_model_params **copy,
                                                   struct fth_error *error);
void fth_model_params_destroy(struct fth_model_params *params);
/* "l1.size_bytes", "32K". What can only be wrong together with others is told by fth_model_run. */
FTH_MUST_USE enum fth_status fth_model_set(struct fth_model_params *params, const char *name,
                                           const char *value, struct fth_error *error);
/* The value of a parameter as text, and where it came from; NULL past the last. */
const char *fth_model_value(const struct fth_model_params *params, size_t index,
                            enum fth_model_source *source);

/* By enum fth_trace_access_kind: lines looked up, sectors of these, those that were there, and
 * sectors that were already on their way (which count as hits or not, as "l1.merged" says). */
struct fth_model_counts {
    uint64_t requests[3], sectors[3], hits[3], merges[3];
};

/* C1R and the like: how many sectors were found at each distance within their set; the last entry
 * counts those that were not. */
struct fth_model_profile {
    uint64_t *counts;
    size_t count;
};

/* What was found for a kernel over all its launches, for one launch, or for one instruction. */
struct fth_model_row {
    const char *kernel;
    size_t launch;                                   /* SIZE_MAX: all of them */
    const struct fth_trace_instruction *instruction; /* NULL: all of them */
    uint64_t launches;
    uint64_t warps[3]; /* requests of warps */
    struct fth_model_counts l1, l2;
    struct fth_model_counts bypassed; /* of the L2, had the L1 been off; where that was asked for */
    uint64_t far_hits;                /* read sectors that the other side of the L2 had */
    uint64_t dram_reads, dram_writes; /* sectors */
    /* Not of instructions: steps (of the slowest SM), attempts that found no MSHR free. */
    uint64_t l1_steps, l2_steps, l1_fails, l2_fails;
    uint64_t l1_bytes; /* the L1 that the launch had */
    uint64_t blocks_at_once;
    struct fth_model_profile l1_profile[2], l2_profile[2]; /* reads, writes */
};

/* Sectors of a level that would hit in a fully associative LRU cache of so many sectors. */
struct fth_model_curve {
    uint64_t *profile; /* by stack distance */
    size_t count;
    uint64_t fresh; /* never seen before */
};

struct fth_model_options {
    unsigned threads;   /* 0: all cores */
    bool bypassed;      /* also count the L2 as if the L1 were off */
    bool curves;        /* also exact stack distances */
    const char *kernel; /* only its launches; NULL: all */
    const struct fth_log *log;
};

struct fth_model_result;

/* Takes the accesses of a trace through the caches. `options` may be NULL. */
FTH_MUST_USE enum fth_status fth_model_run(const struct fth_trace *trace,
                                           const struct fth_model_params *params,
                                           const struct fth_model_options *options,
                                           struct fth_model_result **result,
                                           struct fth_error *error);
void fth_model_result_destroy(struct fth_model_result *result);
/* For each kernel a row, its launches behind it where there are several, then its instructions;
 * NULL past the last. The trace must outlive them. */
const struct fth_model_row *fth_model_row(const struct fth_model_result *result, size_t index);
/* 1: of the reads of the L1s, each SM's its own; 2: of what reaches the L2. NULL where it was not
 * asked for. */
const struct fth_model_curve *fth_model_curve(const struct fth_model_result *result, int level);

/* The metrics of a row; NAN where there is nothing to divide by. */
double fth_model_hit_ratio(const struct fth_model_counts *counts, bool reads_only);
/* Cycles of an average read: the latencies of where its sectors were found. NAN where one that is
 * needed is not known. */
double fth_model_access_cycles(const struct fth_model_row *row,
                               const struct fth_model_params *params);

/* What of a result is shown as text or CSV; JSON has all of it. */
enum fth_model_view {
    FTH_MODEL_VIEW_KERNELS,
    FTH_MODEL_VIEW_LAUNCHES,
    FTH_MODEL_VIEW_LINES, /* instructions */
    FTH_MODEL_VIEW_PROFILE,
    FTH_MODEL_VIEW_CURVE,
    FTH_MODEL_VIEW_PARAMETERS /* needs no result */
};
/* Shows a result in a format of fth_report_format. `result` is NULL for the parameters alone. */
FTH_MUST_USE enum fth_status fth_report_model(const char *format, enum fth_model_view view,
                                              const struct fth_model_result *result,
                                              const struct fth_model_params *params,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

/* ---- exploring: many models of some traces (docs/explore.md) -----------------------------------
 */

/* What is explored: traces, and the values that parameters take. */
struct fth_exploration;

/* `base`: the parameters as they are where nothing says otherwise; copied. */
FTH_MUST_USE enum fth_status fth_explore_create(const struct fth_model_params *base,
                                                struct fth_exploration **exploration,
                                                struct fth_error *error);
void fth_explore_destroy(struct fth_exploration *exploration);
/* A trace, or a launch file with other sizes, such as "N=256". */
FTH_MUST_USE enum fth_status fth_explore_trace(struct fth_exploration *exploration,
                                               const char *path, const char *const *sizes,
                                               size_t size_count, const struct fth_log *log,
                                               struct fth_error *error);
/* "l1.size_bytes=8K,16K": a value after the other, each with every value of what varies besides.
 * "l2.partitions+l2.banks=1+1,4+2": together. ';' stands between values that have commas. */
FTH_MUST_USE enum fth_status fth_explore_vary(struct fth_exploration *exploration, const char *text,
                                              struct fth_error *error);
/* A parameter that is the same for all points, before what varies. */
FTH_MUST_USE enum fth_status fth_explore_set(struct fth_exploration *exploration, const char *name,
                                             const char *value, struct fth_error *error);
/* Of what fth_explore_vary says: whether the L2 is also looked at as if the L1 were off. */
void fth_explore_scope(struct fth_exploration *exploration, bool l1_off);
/* Studies from a file, or a preset with the folder where its traces are. */
FTH_MUST_USE enum fth_status fth_explore_read(struct fth_exploration *exploration, const char *path,
                                              const char *const *sizes, size_t size_count,
                                              const struct fth_log *log, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_explore_preset(struct fth_exploration *exploration,
                                                const char *name, const char *folder,
                                                const char *const *sizes, size_t size_count,
                                                const struct fth_log *log, struct fth_error *error);
/* The names of the presets; NULL past the last. */
const char *fth_explore_preset_at(size_t index);

/* One of several processes that share an exploration. */
struct fth_shard {
    size_t number, count; /* 1 of 1: all of it */
    const char *who;      /* the launcher that said so; NULL: none did */
};
/* As the launcher's environment says (Open MPI, PMI, PMIx, Slurm); "2/4" as text. */
FTH_MUST_USE enum fth_status fth_shard_find(struct fth_shard *shard, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_shard_parse(const char *text, struct fth_shard *shard,
                                             struct fth_error *error);
/* The file of a shard: %r in the pattern becomes its number; without one it is put at the end. To
 * be freed with fth_free. */
FTH_MUST_USE enum fth_status fth_shard_path(const char *pattern, const struct fth_shard *shard,
                                            char **path, struct fth_error *error);

struct fth_explore_options {
    size_t shard, shards; /* from 1 on; 0 of 0: all of it */
    unsigned threads;     /* 0: all cores */
    const char *output;   /* where the points are kept as they come, and gone on from; or NULL */
    const struct fth_log *log;
};
struct fth_explore_outcome {
    size_t found, computed; /* points that were there already, and those that are new */
    size_t jobs;            /* models run for these */
    size_t l1_shared;       /* ... whose L1s were those of another model, and run once */
    size_t l1_one_pass;     /* ... whose L1s, alike but for their ways, were run in one pass */
    char *text;             /* header and points, a line of JSON each; freed with fth_free */
    size_t size;
};
/* Computes what is not there yet. `outcome` is filled in as far as it came also on failure. */
FTH_MUST_USE enum fth_status fth_explore_run(struct fth_exploration *exploration,
                                             const struct fth_explore_options *options,
                                             struct fth_explore_outcome *outcome,
                                             struct fth_error *error);
/* How many points there are, and models to run for them, once it has run. */
size_t fth_explore_points(const struct fth_exploration *exploration, size_t *jobs);

/* Joins the files of shards into the text that one process would have written; refuses parts that
 * do not belong together and, unless `partial`, those that lack points. */
FTH_MUST_USE enum fth_status fth_merge(const char *const *paths, size_t count, bool partial,
                                       const struct fth_log *log, char **text, size_t *size,
                                       struct fth_error *error);
/* The text of an exploration as a table. */
FTH_MUST_USE enum fth_status fth_report_points(const char *format, const char *points,
                                               size_t points_size,
                                               const struct fth_report_options *options,
                                               char **text, size_t *size, struct fth_error *error);

/* ---- small things that a program around the library needs too -----------------------------------
 */

/* Frees a `char **` that the library gave. */
void fth_free(void *memory);

/* "32K", "1.5M", "64KiB", "4096": binary units, as GPU vendors mean them. Refuses what is no whole
 * number of bytes or does not fit. */
FTH_MUST_USE enum fth_status fth_size_parse(const char *text, uint64_t *bytes,
                                            struct fth_error *error);

/* The one of `count` words nearest to `word`, or NULL where none is near enough to be a slip. */
const char *fth_suggest(const char *word, const char *const *words, size_t count);

/* Writes beside, flushes to disk and renames, so that `path` holds the old bytes or the new ones
 * and nothing between; "-" is standard output. */
FTH_MUST_USE enum fth_status fth_file_write(const char *path, const void *data, size_t size,
                                            struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
