/* Exploring cache designs: the cache model for many traces and parameter values. */
#ifndef FATHOM_EXPLORATION_H
#define FATHOM_EXPLORATION_H

#include <fathom/cache_model.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An exploration runs the cache model for every combination of traces and parameter values
 * (docs/explore.md). A combination is a point. Points are organised in studies: each study has its
 * own traces and its own values. fth_explore_trace, fth_explore_vary and fth_explore_scope apply to
 * one unnamed study; files and presets add further studies. Nothing can be added after
 * fth_explore_run. */
struct fth_exploration;

/* Creates an exploration without points. `base` holds the values of parameters that are not set or
 * varied; it is copied. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_create(const struct fth_model_params *base,
                                                        struct fth_exploration **exploration,
                                                        struct fth_error *error);
/* Adds a GPU. The points are all combinations with the GPUs; its parameters, which are copied, take
 * the place of `base`. The results contain the name. FTH_INVALID: there is a GPU of this name
 * already. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_gpu(struct fth_exploration *exploration,
                                                     const char *name,
                                                     const struct fth_model_params *params,
                                                     struct fth_error *error);
/* Releases an exploration. */
FTH_API void fth_explore_destroy(struct fth_exploration *exploration);
/* Sets the maximum number of instructions of a warp in the launches of launch files and PTX files,
 * as in struct fth_run_options; 0: 2^30. It applies to traces that are added later. */
FTH_API void fth_explore_max_instructions(struct fth_exploration *exploration,
                                          uint64_t max_instructions);
/* Adds a trace to the unnamed study. `path` is any input of fth_trace_obtain; `options` are those
 * for launch files and PTX files and may be NULL. In the results, a trace has its file name without
 * the folder; a second, different trace with the same file name gets the name "FILE#2", and so on.
 * The same path with the same options is read only once. FTH_INVALID: also if the trace is
 * truncated. Otherwise the statuses of fth_trace_obtain. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_trace(struct fth_exploration *exploration,
                                                       const char *path,
                                                       const struct fth_launch_options *options,
                                                       const struct fth_log *log,
                                                       struct fth_error *error);
/* Varies parameters of the unnamed study. With several calls, the points are all combinations.
 *
 *     l1.size_bytes=8K,16K              one parameter with two values
 *     l2.partitions+l2.banks=1+1,4+2    two parameters that vary together
 *     l1.latency=4,0.5;8,1              values that contain commas, separated by ';'
 *     l1.size_bytes=16K..64K            16K, 32K, 64K
 *     l1.size_bytes=16K..256K:x4        16K, 64K, 256K
 *     l1.ways=1..8:+3                   1, 4, 7
 *
 * FTH_NOT_FOUND: there is no such parameter. FTH_INVALID: the text has none of these forms, a value
 * is not valid or occurs twice, or this is the 17th call (16 is the maximum). */
FTH_API FTH_MUST_USE enum fth_status fth_explore_vary(struct fth_exploration *exploration,
                                                      const char *text, struct fth_error *error);
/* Sets a parameter for all studies. It takes precedence over the value that a study from a file or
 * preset sets for itself. If the study varies the parameter, the varied values take precedence.
 * Statuses are those of fth_model_set. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_set(struct fth_exploration *exploration,
                                                     const char *name, const char *value,
                                                     struct fth_error *error);
/* Sets whether the unnamed study also counts the L2 as if the L1 were off (`l1_off`). */
FTH_API void fth_explore_scope(struct fth_exploration *exploration, bool l1_off);
/* Adds the studies of a file (docs/explore.md). Paths of traces are relative to the folder of the
 * file. `sizes` and `allow_files` of the options apply to its launch files; the other options are
 * ignored. `options` may be NULL. FTH_NOT_FOUND: a file, kernel or parameter does not exist.
 * FTH_INVALID: the file is malformed. Otherwise as fth_explore_trace. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_read(struct fth_exploration *exploration,
                                                      const char *path,
                                                      const struct fth_launch_options *options,
                                                      const struct fth_log *log,
                                                      struct fth_error *error);
/* Adds the studies of a preset: a file of studies that is built into the library. `name` is one of
 * fth_explore_preset_at; `folder` contains the launch files of the preset. Statuses are those of
 * fth_explore_read. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_preset(struct fth_exploration *exploration,
                                                        const char *name, const char *folder,
                                                        const struct fth_launch_options *options,
                                                        const struct fth_log *log,
                                                        struct fth_error *error);
/* Returns the name of the `index`-th preset; NULL past the last. */
FTH_API const char *fth_explore_preset_at(size_t index);

/* One of several processes that share an exploration. */
struct fth_shard {
    size_t number, count; /* `number` is from 1 to `count`; 1 of 1: the whole exploration */
    const char *who;      /* the launcher that defined it, a static text; NULL: none, or 1 of 1 */
};
/* Derives the shard of this process from the environment variables of its launcher (Open MPI, PMI,
 * PMIx, Slurm). It is 1 of 1 without a launcher. FTH_INVALID: the variables are incomplete or
 * contradict each other. */
FTH_API FTH_MUST_USE enum fth_status fth_shard_find(struct fth_shard *shard,
                                                    struct fth_error *error);
/* Parses a shard such as "2/4". FTH_INVALID: the text does not have this form. */
FTH_API FTH_MUST_USE enum fth_status fth_shard_parse(const char *text, struct fth_shard *shard,
                                                     struct fth_error *error);
/* Derives the file name of a shard: each "%r" in the pattern becomes the number of the shard.
 * Without "%r", ".NUMBER" is appended if there is more than one shard. */
FTH_API FTH_MUST_USE enum fth_status fth_shard_path(const char *pattern,
                                                    const struct fth_shard *shard, char **path,
                                                    struct fth_error *error);

/* Maximum size in bytes of the files with points that fth_explore_run and fth_merge read, after
 * decompression, unless `max_bytes` is set. It bounds the memory that a small compressed file can
 * take. Chosen: about a million points of one kernel. */
#define FTH_MAX_POINTS_BYTES (UINT64_C(1) << 30)

/* What fth_explore_run computes. Initialise it with FTH_EXPLORE_OPTIONS. */
struct fth_explore_options {
    size_t size;          /* of this struct in bytes */
    size_t shard, shards; /* as in struct fth_shard; 0 of 0: the whole exploration */
    unsigned threads;     /* host threads; 0: one per core. Results do not depend on it. */
    const char *output;   /* file that each finished point is added to; NULL: none */
    const struct fth_log *log;
    uint64_t max_bytes; /* maximum size of `output` when it is read; 0: FTH_MAX_POINTS_BYTES */
};
/* Initialises a struct fth_explore_options; the arguments are designated initialisers. */
#define FTH_EXPLORE_OPTIONS(...) FTH_OPTIONS(struct fth_explore_options, __VA_ARGS__)

/* What fth_explore_run has done, and the points. */
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
/* Computes the points of a shard that the output file does not contain yet. A point whose
 * parameters contradict each other, or whose block does not fit an SM, is skipped: the text has the
 * reason (fth_points_skipped), and `computed` does not include it. Finished points are on disk even
 * if the process is killed; running the same exploration again continues it. *outcome is filled in
 * also after a failure; outcome->text can then be NULL. The caller must release outcome->text in
 * any case. FTH_INVALID: there is nothing to explore, there are more than 2^22 points, all points
 * were skipped and there is only one shard, or the output file belongs to another exploration or
 * shard, is compressed or too large; it is not changed then. FTH_UNAVAILABLE: another process keeps
 * the output file locked, because it is writing to it. FTH_INTERRUPTED: the finished points are
 * kept. `options` may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_explore_run(struct fth_exploration *exploration,
                                                     const struct fth_explore_options *options,
                                                     struct fth_explore_outcome *outcome,
                                                     struct fth_error *error);
/* After fth_explore_run: returns the number of points of the whole exploration. *jobs gets the
 * number of models to run for them; `jobs` may be NULL. */
FTH_API size_t fth_explore_points(const struct fth_exploration *exploration, size_t *jobs);

/* How fth_merge reads files. Initialise it with FTH_MERGE_OPTIONS. */
struct fth_merge_options {
    size_t size;  /* of this struct in bytes */
    bool partial; /* points may be missing */
    const struct fth_log *log;
    uint64_t max_bytes; /* maximum size of all files together; 0: FTH_MAX_POINTS_BYTES */
};
/* Initialises a struct fth_merge_options; the arguments are designated initialisers. */
#define FTH_MERGE_OPTIONS(...) FTH_OPTIONS(struct fth_merge_options, __VA_ARGS__)

/* Merges the output files of shards into the text that a single process would have written.
 * `options` may be NULL. FTH_INVALID: the files belong to different explorations, contradict each
 * other, are not output files, or are too large. FTH_INCONCLUSIVE: points are missing, and
 * `partial` is false. FTH_NOT_FOUND: a file does not exist. */
FTH_API FTH_MUST_USE enum fth_status fth_merge(const char *const *paths, size_t count,
                                               const struct fth_merge_options *options, char **text,
                                               size_t *text_size, struct fth_error *error);
/* Counts the points that were skipped in the text of fth_explore_run or fth_merge. *reasons, if
 * `reasons` is not NULL, gets one line for each of the first `max` of them: its number, trace and
 * values, and why it was skipped. Release it with fth_free. FTH_INVALID: the text is malformed. */
FTH_API FTH_MUST_USE enum fth_status fth_points_skipped(const char *points, size_t points_size,
                                                        size_t max, size_t *count, char **reasons,
                                                        struct fth_error *error);
/* What fth_report_points_view shows. Initialise it with FTH_POINTS_VIEW. */
struct fth_points_view {
    size_t size; /* of this struct in bytes */
    /* Sort the points by a figure, best first: "time", "floor" (time floor), "dram" (bytes),
     * "l2_bytes", "l1_hit" or "l2_hit" (ratio of the reads). Times and bytes are sums over the
     * kernels of a point. Points of different studies or traces are sorted separately. NULL: by
     * number */
    const char *objective;
    /* Show only the points that no other point of the same study and trace dominates: is at least
     * as good in each figure, and better in one. 2 to 8 figures, separated by commas: those above
     * or parameters, of which less is better. NULL: show all points */
    const char *pareto;
    bool rdgc; /* text: also show merges, fails, steps and the L2 without L1 */
};
/* Initialises a struct fth_points_view; the arguments are designated initialisers. */
#define FTH_POINTS_VIEW(...) FTH_OPTIONS(struct fth_points_view, __VA_ARGS__)
/* Checks a view before the work of an exploration. FTH_NOT_FOUND: there is no such figure or
 * parameter. FTH_INVALID: `pareto` has fewer than 2 or more than 8 figures. */
FTH_API FTH_MUST_USE enum fth_status fth_points_view_check(const struct fth_points_view *view,
                                                           struct fth_error *error);
/* As fth_report_points, in the order of a view, which may be NULL, and only the points of the view.
 * FTH_INVALID: also if no point has a figure of the view, or a value is not a number.
 * FTH_NOT_FOUND: also if a parameter of `pareto` does not vary. */
FTH_API FTH_MUST_USE enum fth_status fth_report_points_view(
    const char *format, const char *points, size_t points_size, const struct fth_points_view *view,
    const struct fth_report_options *options, char **text, size_t *size, struct fth_error *error);
/* Shows the points of an exploration as a table. Skipped points are left out. `points` is the text
 * of fth_explore_run or fth_merge, of `points_size` bytes; `options` may be NULL. FTH_INVALID: the
 * text is malformed, or the format is not text, json or csv. */
FTH_API FTH_MUST_USE enum fth_status fth_report_points(const char *format, const char *points,
                                                       size_t points_size,
                                                       const struct fth_report_options *options,
                                                       char **text, size_t *size,
                                                       struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
