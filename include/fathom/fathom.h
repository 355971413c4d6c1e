/* fathom: the memory topology of GPUs, measured and described.
 *
 * This is the one public header. Everything a program needs to read, check, compare and show a GPU
 * description, and to ask which GPUs are here, stands below.
 *
 * Conventions
 *   - A function that can fail returns enum fth_status (0 is fine) and fills the caller's
 *     struct fth_error. Passing NULL for the error is allowed.
 *   - `create`, `open`, `read` and `char **` out-parameters give ownership; `const` pointers are
 *     borrowed and live as long as the object they came from. `destroy` takes NULL.
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

/* A section is "device", "noise" or the name of an element ("l1", "tlb_l2", …). */
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
size_t fth_catalogue_count(const struct fth_catalogue *catalogue);
/* Sorted by name. */
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
FTH_MUST_USE enum fth_status fth_report_table(const char *format, const struct fth_table *table,
                                              const struct fth_report_options *options, char **text,
                                              size_t *size, struct fth_error *error);

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
    bool thorough;             /* what takes long, too: the bandwidth of a simulated GPU */
};
/* With FTH_INTERRUPTED there is a description too, of what was measured until then. */
FTH_MUST_USE enum fth_status fth_discover(struct fth_device *device,
                                          const struct fth_discover_options *options,
                                          struct fth_gpu **gpu, struct fth_error *error);

/* Loads of a cache that overflows by one line, each timed, from the first on: passes over `lines`
 * lines `stride_bytes` apart. */
struct fth_series {
    const char *element;
    uint64_t stride_bytes;
    size_t lines;
    size_t count; /* of loads */
    const uint32_t *cycles;
    double threshold_cycles; /* above: a miss */
    /* Where the ways that are replaced were followed: loads of one set after its ways were filled
     * with the lines 0, 1, … in turn. */
    size_t ways;
    size_t replay_count;
    const uint32_t *replay_lines;
    const int *replay_ways; /* the way that the line went into; -1: it was there */
};

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

struct fth_launch;

/* Reads a PTX file and chooses a kernel of it; NULL: the only one. `seed` is for random buffers. */
FTH_MUST_USE enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                               struct fth_launch **launch, struct fth_error *error);
void fth_launch_destroy(struct fth_launch *launch);
/* The next argument: "i32:4096", "f32:1.5", "ptr:f32[64*64]=random", "ptr:u32[]=file:data.bin". */
FTH_MUST_USE enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                                 struct fth_error *error);

struct fth_launch_shape {
    uint32_t grid[3], block[3]; /* 0 counts as 1 */
    size_t shared_bytes;        /* dynamic */
    unsigned threads;           /* of the host; 0: all cores */
    const struct fth_log *log;  /* hears of the progress; may be NULL */
};
struct fth_launch_totals {
    uint64_t warp_instructions, thread_instructions;
};
/* Runs the kernel to its end; an access out of bounds, a barrier that cannot complete and the like
 * are errors that name line, block and thread. `totals` may be NULL. */
FTH_MUST_USE enum fth_status fth_launch_run(struct fth_launch *launch,
                                            const struct fth_launch_shape *shape,
                                            struct fth_launch_totals *totals,
                                            struct fth_error *error);

const char *fth_launch_kernel(const struct fth_launch *launch);
size_t fth_launch_argument_count(const struct fth_launch *launch);
/* What an argument is, and the first `most` (0: all) of its values as text with spaces between. */
struct fth_launch_view {
    const char *type;
    bool is_buffer;
    uint64_t count;
};
FTH_MUST_USE enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index,
                                             uint64_t most, struct fth_launch_view *view,
                                             char **values, struct fth_error *error);

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
