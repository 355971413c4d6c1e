/* explore/: runs the cache model for many parameter values, over one or several traces, on all
 * cores of one machine or of many (docs/explore.md).
 *
 *   study_plan.c   studies, and the numbering of their points
 *   value_range.c  ranges of values such as 16K..256K
 *   spec.c         studies from a file or a preset
 *   input.c        the traces, and their checksums
 *   shard.c        the share of one process
 *   point_line.c   a point as a line of JSON, and back
 *   points_file.c  the file of finished points
 *   bundle.c       jobs that are run together
 *   explore_run.c  the threads that run the models
 *   merge.c        joins the files of all shards
 *
 * A *study* is a grid: a list of traces and, for each parameter that varies, a list of values. A
 * *point* is one combination of these: a trace, possibly limited to one kernel, a GPU, and one
 * value for each varied parameter. Points with the same trace and the same values of all parameters
 * are one *job*, which is computed once; for example, the baseline belongs to several studies. Jobs
 * are distributed to the *shards* (processes) round robin. Jobs that can share one pass over a
 * trace are a *bundle*, which one thread runs in one pass. A job with time is a bundle of its own.
 */
#ifndef FTH_EXPLORE_H
#define FTH_EXPLORE_H

#include "model/model.h"

extern const struct fth_embedded fth_embedded_presets[];
extern const size_t fth_embedded_preset_count;

/* ---- study_plan.c ---- */

/* A parameter that does not vary, and its value. */
struct fth_explore_setting {
    const char *name, *value;
};

/* Parameters that vary together, and the values that they take one after the other. With several
 * names, a value is a text of one part per name, separated by '+', or a single part for all names.
 */
struct fth_axis {
    const char **names, **values;
    size_t name_count, value_count;
};

/* A GPU of the exploration: its name and its parameters, before any setting. */
struct fth_explored_gpu {
    const char *name;
    struct fth_model_params *params;
};

/* A trace of the exploration. */
struct fth_input {
    const char *name; /* file name without the folder; unique in the exploration */
    const char *key;  /* path and launch options, to find an input that was opened before */
    struct fth_trace *trace;
    uint64_t accesses; /* number of accesses of warps */
    uint64_t content;  /* checksum of all accesses and launches */
    uint64_t *lines;   /* [launches] estimated number of 128-byte lines that warps request */
};

struct fth_study {
    const char *name;
    bool l1_off;          /* also count the L2 as if the L1 were off */
    size_t *inputs;       /* [input_count] indices of the exploration's inputs */
    const char **kernels; /* [input_count] the only kernel to model; NULL: all */
    size_t input_count;
    struct fth_explore_setting *settings;
    size_t setting_count;
    struct fth_axis *axes;
    size_t axis_count;
    size_t first, points; /* number of its first point, and how many it has */
};

struct fth_exploration {
    struct fth_arena arena;
    struct fth_model_params *base; /* parameters before any setting */
    struct fth_explored_gpu *gpus; /* if there are some, each replaces `base` */
    size_t gpu_count, gpu_capacity;
    struct fth_input *inputs;
    size_t input_count, input_capacity;
    struct fth_study *studies;
    size_t study_count, study_capacity;
    struct fth_explore_setting *settings; /* of all studies */
    size_t setting_count, setting_capacity;
    uint64_t max_instructions; /* of a warp, in launches that are traced; 0: the default */

    /* Set by fth_plan_complete. */
    size_t points;
    size_t *job_of;      /* [points] job that computes the point */
    size_t *first_point; /* [jobs] lowest point of the job */
    size_t jobs;
    char *header;      /* first line of the output, up to the number of points */
    uint64_t identity; /* checksum of `header`: equal for the same exploration */
};

/* A point, decoded from its number. */
struct fth_point {
    size_t number;
    const struct fth_study *study;
    const struct fth_input *input;
    const char *kernel;
    const struct fth_explored_gpu *gpu; /* NULL: the exploration has only `base` */
    size_t values[16];                  /* index of the value of each axis */
};

/* Maximum number of axes of a study and of points of an exploration, which is also that of shards.
 * Chosen, not derived: they bound the memory that a plan takes. */
enum { FTH_MAX_AXES = 16, FTH_MAX_POINTS = 1 << 22 };

/* Adds an empty study. Returns NULL without memory. The pointer is valid until the next call. */
struct fth_study *fth_study_add(struct fth_exploration *exploration, const char *name);
/* Adds an axis: `names` and each of `values` have their parts separated by '+'; a value can be a
 * range. FTH_INVALID or FTH_NOT_FOUND if a name or a value is wrong. */
FTH_MUST_USE enum fth_status fth_study_vary(struct fth_exploration *exploration,
                                            struct fth_study *study, const char *names,
                                            const char *const *values, size_t count,
                                            struct fth_error *error);
/* Adds a setting of one study. */
FTH_MUST_USE enum fth_status fth_study_set(struct fth_exploration *exploration,
                                           struct fth_study *study, const char *name,
                                           const char *value, struct fth_error *error);
/* Adds an input by its index. `kernel` NULL: all kernels. FTH_NOT_FOUND if the trace does not
 * launch the kernel. */
FTH_MUST_USE enum fth_status fth_study_input(struct fth_exploration *exploration,
                                             struct fth_study *study, size_t input,
                                             const char *kernel, struct fth_error *error);
/* Numbers the points and finds the jobs. Nothing may be added afterwards. Further calls do nothing.
 */
FTH_MUST_USE enum fth_status fth_plan_complete(struct fth_exploration *exploration,
                                               struct fth_error *error);
void fth_point_at(const struct fth_exploration *exploration, size_t number,
                  struct fth_point *point);
/* Returns the parameters of a point; the caller destroys them. Values of axes override
 * settings of the exploration, and these override settings of the study. */
FTH_MUST_USE enum fth_status fth_point_params(const struct fth_exploration *exploration,
                                              const struct fth_point *point,
                                              struct fth_model_params **params,
                                              struct fth_error *error);
/* Copies part `part` of a text that is divided by '+'. A text without '+' is its own part for every
 * `part`. */
void fth_value_part(const char *text, size_t part, char *out, size_t size);

/* ---- value_range.c ---- */

/* Copies values and expands the ranges among them. The texts live in the arena; the caller frees
 * *expanded, also after a failure. FTH_INVALID: a range is malformed. */
FTH_MUST_USE enum fth_status fth_values_expand(struct fth_arena *arena, const char *const *values,
                                               size_t count, const char ***expanded,
                                               size_t *expanded_count, struct fth_error *error);

/* ---- input.c ---- */

/* Returns in *number the index of the input that fth_trace_obtain makes of the path and the
 * options, which may be NULL. The same path with the same options is opened only once. */
FTH_MUST_USE enum fth_status fth_input_open(struct fth_exploration *exploration, const char *path,
                                            const struct fth_launch_options *options,
                                            const struct fth_log *log, size_t *number,
                                            struct fth_error *error);
void fth_input_close(struct fth_input *input);

/* ---- point_line.c ---- */

/* Continues the checksum `start` over some bytes. A checksum begins with FTH_LINE_START. */
uint64_t fth_line_checksum(const void *data, size_t size, uint64_t start);
#define FTH_LINE_START UINT64_C(0xcbf29ce484222325)

/* Ends the line that begins at `from`, except for its line break: appends the checksum of its text
 * and closes the JSON object. fth_line_verify returns whether the checksum of a line is right. */
void fth_line_add_checksum(struct fth_buffer *line, size_t from);
bool fth_line_verify(const char *line, size_t size);
/* Appends the line of a point, with checksum. */
void fth_line_write(struct fth_buffer *out, const struct fth_point *point,
                    const struct fth_model_result *result, const struct fth_model_params *params);
/* Appends the line of a point that cannot be computed, with the reason and the checksum.
 * fth_line_is_skipped returns whether a line is one. */
void fth_line_write_skipped(struct fth_buffer *out, const struct fth_point *point,
                            const char *reason);
bool fth_line_is_skipped(const char *line, size_t size);
/* Appends the first line of a file, with checksum. `header` is what fth_line_describe wrote. */
void fth_line_header(struct fth_buffer *out, const char *header, uint64_t identity, size_t shard,
                     size_t shards);
/* Appends the description of the exploration: the beginning of a JSON object, without the closing
 * brace.
 */
void fth_line_describe(struct fth_buffer *out, const struct fth_exploration *exploration);
/* Returns the number of the point in a verified line; SIZE_MAX: it is not the line of a point. */
size_t fth_line_point(const char *line, size_t size);

/* ---- points_file.c ---- */

/* A file of points that was read. */
struct fth_points {
    struct fth_buffer text;
    size_t header_size;      /* of the first line */
    size_t description_size; /* of the part of the first line that `identity` covers */
    size_t header_points;    /* points of the whole exploration */
    uint64_t identity;
    size_t shard, shards; /* 1 of 1: the whole exploration */
    size_t *at, *size; /* [header_points] offset and size of each point's line; size 0: missing */
    size_t found, damaged; /* points found; lines cut off or with a wrong checksum */
    size_t good_bytes;     /* size of the text up to its last line break */
};

/* Reads a file of at most `max_bytes`. */
FTH_MUST_USE enum fth_status fth_points_read(const char *path, uint64_t max_bytes,
                                             struct fth_points *points, struct fth_error *error);
/* Fails with FTH_INVALID: the files `name` are larger than the limit. */
enum fth_status fth_points_too_large(const char *name, uint64_t max_bytes, struct fth_error *error);
/* The same for a text in memory, of which it takes ownership. `path` is used in errors. */
FTH_MUST_USE enum fth_status fth_points_parse(const char *path, struct fth_buffer *text,
                                              struct fth_points *points, struct fth_error *error);
void fth_points_fini(struct fth_points *points);
/* fth_merge for parts that were already read; `count` is at least 1. */
FTH_MUST_USE enum fth_status fth_points_join(struct fth_points *parts, const char *const *paths,
                                             size_t count, bool partial, const struct fth_log *log,
                                             char **text, size_t *size, struct fth_error *error);

/* The file that a shard writes its finished points to. */
struct fth_output;

/* Which file to write, and for which shard. */
struct fth_output_plan {
    const char *path; /* NULL: the points are only kept in memory */
    size_t shard, shards;
    uint64_t max_bytes; /* maximum size of an existing file */
    const struct fth_log *log;
};

/* Opens or creates the file of a shard. Points that it contains already are kept. FTH_INVALID if
 * the file is that of another exploration or shard, is compressed or is too large, FTH_UNAVAILABLE
 * if another process has locked it; the file is not changed then. */
FTH_MUST_USE enum fth_status fth_output_open(const struct fth_exploration *exploration,
                                             const struct fth_output_plan *plan,
                                             struct fth_output **output, struct fth_error *error);
bool fth_output_has(const struct fth_output *output, size_t point);
size_t fth_output_count(const struct fth_output *output);
/* Returns the line of a point; NULL: it is not finished. */
const char *fth_output_line(const struct fth_output *output, size_t point, size_t *size);
/* Adds the line of a point (malloced, without its line break), and takes ownership of it. The line
 * is on disk when the function returns. */
FTH_MUST_USE enum fth_status fth_output_add(struct fth_output *output, size_t point, char *line,
                                            size_t size, struct fth_error *error);
/* Rewrites the file with its points in order, if they are not. */
FTH_MUST_USE enum fth_status fth_output_finish(struct fth_output *output, struct fth_error *error);
/* Appends the header and all points, in order. */
void fth_output_text(const struct fth_output *output, struct fth_buffer *out);
void fth_output_close(struct fth_output *output);

/* ---- bundle.c ---- */

/* Jobs that share one pass over a trace: `count` of the sorted jobs from index `first` on. */
struct fth_bundle {
    size_t first, count;
    uint64_t work; /* requested lines times jobs */
};

/* Groups jobs into bundles: sorts `jobs` so that each bundle is contiguous, and returns the bundles
 * with the largest first. The caller frees them, also after a failure. */
FTH_MUST_USE enum fth_status fth_explore_bundles(const struct fth_exploration *exploration,
                                                 size_t *jobs, size_t count, unsigned threads,
                                                 struct fth_bundle **bundles, size_t *bundle_count,
                                                 struct fth_error *error);

#endif
