/* explore/: many models of one or several traces, on all cores of one machine or of many
 * (docs/explore.md).
 *
 *   plan.c    what is explored: studies, and their points in an order that stays
 *   spec.c    ... from a file, or a preset         subject.c traces, and what they are known by
 *   shard.c   the part of a process among many     line.c    a point as a line of JSON, and back
 *   ledger.c  the file of finished points          run.c     workers
 *   merge.c   parts into a whole                   bundle.c  jobs that are run together
 *
 * A *point* is one run of the model: a trace, perhaps one of its kernels, and a value for each
 * parameter that varies. Points that come to the same run (the baseline belongs to several studies)
 * are a *job* and computed once; the jobs are dealt out to the shards in turn. Jobs that share the
 * reading of a trace are a *bundle*, which a worker runs in one pass. */
#ifndef FTH_EXPLORE_H
#define FTH_EXPLORE_H

#include "model/model.h"

extern const struct fth_embedded fth_embedded_presets[];
extern const size_t fth_embedded_preset_count;

/* ---- plan.c ---- */

struct fth_explore_setting {
    const char *name, *value;
};

/* Names that take values together, one of `values` at a time; a value has as many parts as there
 * are names, or one for all of them. */
struct fth_axis {
    const char **names, **values;
    size_t name_count, value_count;
};

struct fth_subject {
    const char *name; /* without the folder */
    char *path;       /* of the trace */
    bool temporary;
    struct fth_trace *trace;
    uint64_t accesses, content; /* a checksum of these */
    uint64_t *lines;            /* [launches] of 128 bytes that warps ask for: what models take */
};

struct fth_study {
    const char *name;
    const char *kernel; /* of each source; NULL: all of them */
    bool l1_off;
    size_t *sources;
    const char **kernels; /* of each, where it is not NULL */
    size_t source_count;
    struct fth_explore_setting *settings;
    size_t setting_count;
    struct fth_axis *axes;
    size_t axis_count;
    size_t first, points; /* points */
};

struct fth_exploration {
    struct fth_arena arena;
    struct fth_model_params *base;
    struct fth_subject *sources;
    size_t source_count, source_capacity;
    struct fth_study *studies;
    size_t study_count, study_capacity;
    struct fth_explore_setting *settings; /* that hold for all studies */
    size_t setting_count, setting_capacity;

    /* Once it is complete. */
    size_t points;
    size_t *job_of; /* [points] */
    size_t *head;   /* [jobs] the first point */
    size_t jobs;
    char *header; /* of the file, without shard and checksum */
    uint64_t identity;
};

/* A point, by its number. */
struct fth_point {
    size_t number;
    const struct fth_study *study;
    const struct fth_subject *source;
    const char *kernel;
    size_t values[16]; /* of each axis */
};

enum { FTH_MAX_AXES = 16, FTH_MAX_POINTS = 1 << 22 };

/* Adds an empty study, to be filled in; NULL without memory. */
struct fth_study *fth_study_add(struct fth_exploration *exploration, const char *name);
FTH_MUST_USE enum fth_status fth_study_vary(struct fth_exploration *exploration,
                                            struct fth_study *study, const char *names,
                                            const char *const *values, size_t count,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_study_set(struct fth_exploration *exploration,
                                           struct fth_study *study, const char *name,
                                           const char *value, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_study_source(struct fth_exploration *exploration,
                                              struct fth_study *study, size_t source,
                                              const char *kernel, struct fth_error *error);
/* Counts the points and finds the jobs; nothing is added afterwards. */
FTH_MUST_USE enum fth_status fth_plan_complete(struct fth_exploration *exploration,
                                               struct fth_error *error);
void fth_point_at(const struct fth_exploration *exploration, size_t number,
                  struct fth_point *point);
/* The parameters of a point, to be destroyed by the caller. */
FTH_MUST_USE enum fth_status fth_point_params(const struct fth_exploration *exploration,
                                              const struct fth_point *point,
                                              struct fth_model_params **params,
                                              struct fth_error *error);
/* Part `part` of a text that '+' parts; the only one where there is no '+'. */
void fth_part_of(const char *text, size_t part, char *out, size_t size);

/* ---- subject.c ---- */

/* The number of the source that this file is, which is opened at its first use. */
FTH_MUST_USE enum fth_status fth_subject_open(struct fth_exploration *exploration, const char *path,
                                              const char *const *sizes, size_t size_count,
                                              const struct fth_log *log, size_t *number,
                                              struct fth_error *error);
void fth_subject_close(struct fth_subject *source);

/* ---- line.c ---- */

uint64_t fth_line_checksum(const void *data, size_t size, uint64_t start);
#define FTH_LINE_START UINT64_C(0xcbf29ce484222325)

/* A line as text, without its end, sealed with a checksum. */
void fth_line_seal(struct fth_buffer *line, size_t from);
bool fth_line_sealed(const char *line, size_t size);
/* The line of a point. */
void fth_line_write(struct fth_buffer *out, const struct fth_point *point,
                    const struct fth_model_result *result, const struct fth_model_params *params);
/* The first line of a file. */
void fth_line_header(struct fth_buffer *out, const char *header, uint64_t identity, size_t shard,
                     size_t shards);
/* What the exploration is, as the members of an object. */
void fth_line_describe(struct fth_buffer *out, const struct fth_exploration *exploration);
/* The number of the point of a sealed line; SIZE_MAX: it has none. */
size_t fth_line_point(const char *line, size_t size);

/* ---- ledger.c ---- */

/* A file of points as it was read. */
struct fth_points {
    struct fth_buffer text;
    size_t header_size, description_size; /* of the first line; without name and shard */
    size_t header_points;                 /* of the exploration */
    uint64_t identity;
    size_t shard, shards; /* 1 of 1: the whole */
    size_t *at, *size;    /* [header_points] where the line of each is; size 0: not there */
    size_t found, damaged;
    size_t good_bytes; /* all up to there are whole lines */
};

FTH_MUST_USE enum fth_status fth_points_read(const char *path, struct fth_points *points,
                                             struct fth_error *error);
/* The same of a text that was read already, which it takes over; `path` is for its errors. */
FTH_MUST_USE enum fth_status fth_points_parse(const char *path, struct fth_buffer *text,
                                              struct fth_points *points, struct fth_error *error);
void fth_points_fini(struct fth_points *points);
/* fth_merge, of parts that were read; at least one. */
FTH_MUST_USE enum fth_status fth_points_join(struct fth_points *parts, const char *const *paths,
                                             size_t count, bool partial, const struct fth_log *log,
                                             char **text, size_t *size, struct fth_error *error);

struct fth_ledger;

/* Opens the file of a shard, or makes it; what is in it already is kept. A NULL path keeps all in
 * memory. */
FTH_MUST_USE enum fth_status fth_ledger_open(const struct fth_exploration *exploration,
                                             const char *path, size_t shard, size_t shards,
                                             const struct fth_log *log, struct fth_ledger **store,
                                             struct fth_error *error);
bool fth_ledger_has(const struct fth_ledger *store, size_t point);
size_t fth_ledger_count(const struct fth_ledger *store);
/* Takes the text of a line (without its end), and has it on disk when it returns. */
FTH_MUST_USE enum fth_status fth_ledger_add(struct fth_ledger *store, size_t point, char *line,
                                            size_t size, struct fth_error *error);
/* Puts the points in order, in the file as well. */
FTH_MUST_USE enum fth_status fth_ledger_finish(struct fth_ledger *store, struct fth_error *error);
/* All of it as text, in order: header and points. */
void fth_ledger_text(const struct fth_ledger *store, struct fth_buffer *out);
void fth_ledger_close(struct fth_ledger *store);

/* ---- bundle.c ---- */

/* Jobs that get the same requests, from `first` on. */
struct fth_bundle {
    size_t first, count;
    uint64_t work; /* lines that are asked for, times jobs */
};

/* Puts the jobs in the order of their bundles, which are given with the largest first, to be freed
 * by the caller. */
FTH_MUST_USE enum fth_status fth_explore_bundles(const struct fth_exploration *exploration,
                                                 size_t *jobs, size_t count, unsigned threads,
                                                 struct fth_bundle **bundles, size_t *bundle_count,
                                                 struct fth_error *error);

/* ---- run.c ---- */

/* The jobs of a shard that are not complete, to be freed by the caller. */
FTH_MUST_USE enum fth_status fth_explore_jobs(const struct fth_exploration *exploration,
                                              const struct fth_ledger *store, size_t shard,
                                              size_t shards, size_t **jobs, size_t *count,
                                              struct fth_error *error);

#endif
