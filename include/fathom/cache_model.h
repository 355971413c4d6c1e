/* The cache model: hit ratios and traffic of kernels, computed from a trace. */
#ifndef FATHOM_CACHE_MODEL_H
#define FATHOM_CACHE_MODEL_H

#include <fathom/descriptions.h>
#include <fathom/reports.h>
#include <fathom/traces.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters of the cache model (docs/model.md): each has a name such as "l1.size_bytes", a
 * value, and the source of the value. */
struct fth_model_params;

/* The source of a value. */
enum fth_model_source {
    FTH_MODEL_DEFAULT,     /* the default value of the model */
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
FTH_API bool fth_model_parameter(size_t index, struct fth_model_parameter *parameter);

/* Creates parameters with the default values. If `gpu` is not NULL, the attributes of the
 * description replace them. `gpu` is not needed afterwards.
 * FTH_UNSUPPORTED: the description is of a CPU, or of a GPU of another vendor than NVIDIA. */
FTH_API FTH_MUST_USE enum fth_status fth_model_params_create(const struct fth_gpu *gpu,
                                                             struct fth_model_params **params,
                                                             struct fth_error *error);
/* Creates an independent copy of parameters. */
FTH_API FTH_MUST_USE enum fth_status fth_model_params_copy(const struct fth_model_params *params,
                                                           struct fth_model_params **copy,
                                                           struct fth_error *error);
/* Releases parameters. */
FTH_API void fth_model_params_destroy(struct fth_model_params *params);
/* Sets a parameter from text: "l1.size_bytes", "32K". If a cache's number of sets is set, its
 * number of ways is computed from its size. If its number of ways is set, its number of sets is
 * computed. So the one that is set last counts. FTH_NOT_FOUND: there is no such parameter.
 * FTH_INVALID: it cannot have this value. Contradictions between parameters are reported by
 * fth_model_run. */
FTH_API FTH_MUST_USE enum fth_status fth_model_set(struct fth_model_params *params,
                                                   const char *name, const char *value,
                                                   struct fth_error *error);
/* Returns the value of the `index`-th parameter as text, valid until the parameter is set; NULL
 * past the last. *source gets its source; `source` may be NULL. */
FTH_API const char *fth_model_value(const struct fth_model_params *params, size_t index,
                                    enum fth_model_source *source);

/* Returns whether the model runs with time for these parameters (docs/model.md). Otherwise *reason
 * gets the reason, such as "gpu.timing is off"; it is static text, and NULL if the model runs with
 * time. `reason` may be NULL. If gpu.timing is "on" but a value that the model needs is unknown,
 * this function returns true, and fth_model_run fails. */
FTH_API bool fth_model_timed(const struct fth_model_params *params, const char **reason);

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

/* Read sectors that missed in a level, by cause (docs/model/misses.md). The sum is
 * sectors[FTH_TRACE_READ] - hits[FTH_TRACE_READ] of the level. All are 0 unless
 * fth_model_options.diagnose is set. */
struct fth_model_misses {
    uint64_t cold;     /* the first read of the sector in this cache, whose line is not present */
    uint64_t capacity; /* a fully associative LRU cache of the same size would miss, too */
    uint64_t
        conflict; /* such a cache would hit: the sets or the replacement policy are the cause */
    uint64_t coherence; /* a write or an atomic had removed the line */
    uint64_t sector;    /* the line was present, but this sector of it had never been fetched */
};

/* Accesses of warps to shared memory. A wavefront is one pass through the banks; an access takes
 * several if lanes access different words of the same bank, or if it is wide. */
struct fth_shared_counts {
    uint64_t requests[3]; /* warp accesses, by enum fth_trace_access_kind */
    uint64_t wavefronts;
    uint64_t ideal_wavefronts;  /* wavefronts without bank conflicts */
    uint64_t padded_wavefronts; /* wavefronts if the rows of the array were one element longer */
};

/* What the threads of a kernel need. All are 0 unless fth_model_options.diagnose is set. The arrays
 * are indexed by enum fth_trace_access_kind. */
struct fth_model_demand {
    uint64_t requested_bytes[3]; /* bytes that threads access, summed over the threads */
    uint64_t used_bytes[3];      /* different bytes within each warp access */
    uint64_t ideal_sectors[3];   /* sectors if the used bytes of each warp access were adjacent */
    uint64_t touched_bytes[3];   /* different bytes over all launches, by kind */
    uint64_t touched_all_bytes;  /* different bytes over all launches, of all kinds together */
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
    struct fth_model_counts l1, l2; /* sums over all L1s, and over all sides of the L2 */
    /* The L2 if the L1 were off (fth_model_options.bypassed); always computed without time. */
    struct fth_model_counts bypassed;
    /* Read sectors that missed in the near side of the L2 and hit in the far one. */
    uint64_t far_hits;
    /* Sectors read from and written to memory. Write-backs of evicted lines are contained in the
     * rows of kernels and launches, but not in those of instructions. */
    uint64_t dram_reads, dram_writes;
    /* The following members are set only in rows of kernels and launches. The model
     * without time counts steps (docs/model.md); with time, steps and fails are 0. For a launch,
     * l1_steps are the steps of the L1 that takes the most, and l2_steps those of the L2 side that
     * takes the most; for a kernel, the sum over its launches. l1_fails and l2_fails count the
     * attempts in all L1s, or in all sides, that were repeated because no MSHR was free or an MSHR
     * could not take another merge. */
    uint64_t l1_steps, l2_steps, l1_fails, l2_fails;
    uint64_t l1_bytes;       /* capacity of the L1; for a kernel, in its last launch */
    uint64_t blocks_at_once; /* resident blocks per SM; for a kernel, in its last launch */
    struct fth_model_profile l1_profile[2], l2_profile[2]; /* [0] reads, [1] writes and atomics */
    size_t last_launch; /* for a kernel: index of its last launch in the trace */
    /* Read sectors of the L1s divided by the SMs that have blocks; for a kernel, the sum over its
     * launches. */
    double l1_read_sectors_per_sm;
    /* Estimated time of a launch, or of all launches of a kernel, in seconds; NAN: the model ran
     * without time, or the row is that of an instruction. */
    double seconds;
    /* The part of `warps` and `l1` that accesses to local memory have. */
    uint64_t local_warps[3];
    struct fth_model_counts local;
    /* The same for accesses to textures and surfaces. */
    uint64_t texture_warps[3];
    struct fth_model_counts texture;
    /* Expected errors of the read sectors that hit in the L1s and in the L2, in sectors, if only
     * a part of the accesses was simulated (fth_model_options.sample); otherwise 0. Set only in
     * rows of kernels and launches. */
    double l1_error_sectors, l2_error_sectors;
    /* Accesses of warps that were simulated: the sum of `warps`, or less with
     * fth_model_options.sample. Set only in rows of kernels and launches of the model with time. */
    uint64_t simulated_warps;
    struct fth_model_misses l1_misses, l2_misses;
    struct fth_model_demand demand; /* 0 in rows of single launches, and with sampling */
    /* Accesses to shared memory, which `warps` leaves out. */
    struct fth_shared_counts shared;
    /* Instructions that all warps issue, as estimated from the PTX; NAN: unknown. Set only in rows
     * of kernels and launches. */
    double warp_instructions;
    /* Wavefronts of shared memory and instructions, divided by the SMs that have blocks; for a
     * kernel, the sum over its launches. */
    double wavefronts_per_sm, warp_instructions_per_sm;
};

/* Exact stack distances of the reads of a level, in sectors. A fully associative LRU cache of N
 * sectors would hit profile[0] + … + profile[N - 1] of them. */
struct fth_model_curve {
    uint64_t *profile; /* number of sectors by stack distance */
    size_t count;      /* length of `profile` */
    uint64_t fresh;    /* sectors that were read for the first time */
};

/* What fth_model_run computes. Initialise it with FTH_MODEL_OPTIONS. A NULL pointer to this struct
 * means that all options are 0. */
struct fth_model_options {
    size_t size; /* of this struct in bytes */
    /* Host threads; 0: one per core. Results do not depend on it. The model with time uses one. */
    unsigned threads;
    bool bypassed;      /* also simulate the L2 as if the L1 were off (fth_model_row.bypassed) */
    bool curves;        /* also compute exact stack distances (fth_model_curve) */
    const char *kernel; /* simulate only the launches of this kernel; NULL: all */
    const struct fth_log *log;
    /* How many times the model runs, each time with another order of blocks and accesses, for
     * fth_model_intervals(). The result is that of the plain order. 0 or 1: once; at most 1000.
     * Runs are distributed over the threads. */
    unsigned orders;
    /* Simulate only some launches of each kernel, and only the beginning of each launch: at least
     * half of 1/sample of its accesses, and until the hit ratios are steady. Estimate the other
     * counts; `demand` remains 0. 2 to 64; 0 or 1: simulate all launches completely. Only with
     * time, and not together with `bypassed` and `curves`. */
    unsigned sample;
    /* Also compute why reads miss and what the threads need (struct fth_model_misses and
     * fth_model_demand). */
    bool diagnose;
};
/* Initialises a struct fth_model_options; the arguments are designated initialisers. */
#define FTH_MODEL_OPTIONS(...) FTH_OPTIONS(struct fth_model_options, __VA_ARGS__)

/* The results of the model for all kernels of a trace, in rows. */
struct fth_model_result;

/* Simulates the caches for the accesses of a trace. The trace must stay open as long as the result
 * is used. FTH_INVALID: parameters contradict each other, a block does not fit an SM, or the trace
 * is damaged. FTH_INTERRUPTED: there is no result. */
FTH_API FTH_MUST_USE enum fth_status fth_model_run(const struct fth_trace *trace,
                                                   const struct fth_model_params *params,
                                                   const struct fth_model_options *options,
                                                   struct fth_model_result **result,
                                                   struct fth_error *error);
/* Releases results and all that was borrowed from them. */
FTH_API void fth_model_result_destroy(struct fth_model_result *result);
/* Returns the `index`-th row; NULL past the last. The row of each kernel is followed by the rows of
 * its launches, if there are several, and those of its instructions. */
FTH_API const struct fth_model_row *fth_model_row(const struct fth_model_result *result,
                                                  size_t index);
/* The least and the greatest value of a figure over the runs of a model. Both are NAN if the figure
 * is. */
struct fth_model_interval {
    double min, max;
};
/* The figures of a row that depend on the order of blocks and accesses, over all orders. The names
 * are those of struct fth_model_row and of the functions below. */
struct fth_model_intervals {
    struct fth_model_interval l1_read_hit_ratio; /* fth_model_hit_ratio of `l1`, reads only */
    struct fth_model_interval l2_hit_ratio;      /* of `l2`, reads, writes and atomics */
    struct fth_model_interval l2_read_hit_ratio; /* of `l2`, reads only */
    struct fth_model_interval l2_sectors;        /* of reads, writes and atomics */
    struct fth_model_interval dram_read_sectors, dram_write_sectors, seconds;
};
/* Returns the intervals of the `index`-th row; NULL past the last, and if the model ran only once
 * (fth_model_options.orders). */
FTH_API const struct fth_model_intervals *fth_model_intervals(const struct fth_model_result *result,
                                                              size_t index);
/* Returns a curve. `level` is 1 for the reads of each SM, summed over the SMs, or 2 for the reads
 * that reach the L2. NULL: curves were not requested, or there is no such level. */
FTH_API const struct fth_model_curve *fth_model_curve(const struct fth_model_result *result,
                                                      int level);

/* Returns the hits divided by the sectors, 0 to 1; NAN without sectors. `reads_only` leaves out
 * writes and atomics. */
FTH_API double fth_model_hit_ratio(const struct fth_model_counts *counts, bool reads_only);
/* Returns the expected error of fth_model_hit_ratio of reads, if only a part of the accesses was
 * simulated (docs/model/precision.md). `level` is 1 for the L1s and 2 for the L2. 0: all
 * accesses were simulated; NAN: there are no reads, or the row is that of an instruction. */
FTH_API double fth_model_sample_error(const struct fth_model_row *row, int level);
/* Returns the average latency of a read sector in cycles, from the latencies of the levels where
 * the sectors were found. NAN: there are no reads, or a latency that is needed is unknown. */
FTH_API double fth_model_access_cycles(const struct fth_model_row *row,
                                       const struct fth_model_params *params);

/* What can limit the time of a kernel. FTH_LIMIT_ISSUE: the instructions that the schedulers of an
 * SM issue per cycle. FTH_LIMIT_LATENCY: no unit is busy most of the time, so the kernel waits: for
 * single accesses, atomics on the same address, barriers, or its own launch. */
enum fth_model_limit {
    FTH_LIMIT_NONE,
    FTH_LIMIT_L1,
    FTH_LIMIT_L2,
    FTH_LIMIT_MEMORY,
    FTH_LIMIT_SHARED,
    FTH_LIMIT_ISSUE,
    FTH_LIMIT_LATENCY,
    FTH_LIMITS /* number of limits */
};
/* Returns the name of a limit, such as "memory"; NULL for FTH_LIMIT_NONE. */
FTH_API const char *fth_model_limit_name(enum fth_model_limit limit);
/* Lower bounds of the time that a kernel or a launch takes, in seconds. */
struct fth_model_floors {
    /* The time that the work of each unit takes at its full rate. NAN: the rate or the work is
     * unknown. Those of FTH_LIMIT_NONE and FTH_LIMIT_LATENCY are always NAN. */
    double seconds[FTH_LIMITS];
    enum fth_model_limit longest; /* FTH_LIMIT_NONE: all are 0 or unknown */
    /* The longest one or, if it is less than half of the estimated time, FTH_LIMIT_LATENCY. */
    enum fth_model_limit bottleneck;
};
/* Computes the floors of a row of a kernel or a launch. For an instruction, all are unknown. */
FTH_API void fth_model_floors(const struct fth_model_row *row,
                              const struct fth_model_params *params,
                              struct fth_model_floors *floors);
/* Returns the longest floor in seconds; NAN: none is known. *limit gets the unit that it belongs
 * to; `limit` may be NULL. */
FTH_API double fth_model_floor_s(const struct fth_model_row *row,
                                 const struct fth_model_params *params,
                                 enum fth_model_limit *limit);

/* Bytes that are moved at the levels of the memory system, and how many of them are used. */
struct fth_model_traffic {
    uint64_t l1_bytes;     /* sectors that accesses read and write in the L1s */
    uint64_t l2_bytes;     /* sectors that the L2 receives and sends */
    uint64_t memory_bytes; /* sectors that are read from and written to memory */
    /* fth_model_demand.used_bytes per byte of l1_bytes and l2_bytes. That of the L2 exceeds 1 if
     * the L1s serve accesses. NAN: nothing is moved, or the demand is unknown. */
    double l1_efficiency, l2_efficiency;
    /* Different bytes that are read per byte read from memory. */
    double memory_efficiency;
};
/* Computes the traffic of any row. */
FTH_API void fth_model_traffic(const struct fth_model_row *row,
                               const struct fth_model_params *params,
                               struct fth_model_traffic *traffic);

/* The part of a result that text and CSV show. JSON contains all parts. */
enum fth_model_view {
    FTH_MODEL_VIEW_KERNELS,    /* one row per kernel */
    FTH_MODEL_VIEW_LAUNCHES,   /* one row per launch */
    FTH_MODEL_VIEW_LINES,      /* instructions, with their lines in the PTX file */
    FTH_MODEL_VIEW_PROFILE,    /* fth_model_profile */
    FTH_MODEL_VIEW_CURVE,      /* fth_model_curve */
    FTH_MODEL_VIEW_PARAMETERS, /* the parameters; needs no result */
    /* The following views need a result of a run with fth_model_options.diagnose. Their text fits
     * fth_report_options.columns. In CSV, the first two have the columns of
     * FTH_MODEL_VIEW_KERNELS and FTH_MODEL_VIEW_LAUNCHES, and the others those of the lines. */
    FTH_MODEL_VIEW_SUMMARY,        /* kernels, and the figures per level of the longest ones */
    FTH_MODEL_VIEW_LAUNCH_SUMMARY, /* launches */
    FTH_MODEL_VIEW_SOURCE_LINES,   /* one row per source line */
    FTH_MODEL_VIEW_SOURCE          /* the source with the figures of each line in the margin */
};
/* Hints for kernels; see advice.h. */
struct fth_hints;

/* What fth_report_diagnosis shows besides a result. Initialise it with FTH_MODEL_REPORT. */
struct fth_model_report {
    size_t size; /* of this struct in bytes */
    /* Folders in which source files are searched that do not exist at their own paths, up to a
     * NULL; NULL: none. */
    const char *const *folders;
    /* Path of the PTX file, whose lines are shown for kernels without source; NULL: unknown. */
    const char *ptx;
    bool sources; /* JSON: also write the text of the source files */
    /* Hints for the kernels of the result (advice.h), which text and JSON show; NULL: none. */
    const struct fth_hints *hints;
};
/* Initialises a struct fth_model_report; the arguments are designated initialisers. */
#define FTH_MODEL_REPORT(...) FTH_OPTIONS(struct fth_model_report, __VA_ARGS__)

/* Shows a result. `result` may be NULL if only parameters are shown. `options` may be NULL.
 * FTH_INVALID: the format is not text, json or csv. */
FTH_API FTH_MUST_USE enum fth_status fth_report_model(const char *format, enum fth_model_view view,
                                                      const struct fth_model_result *result,
                                                      const struct fth_model_params *params,
                                                      const struct fth_report_options *options,
                                                      char **text, size_t *size,
                                                      struct fth_error *error);
/* The same with what `more` adds, which may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_report_diagnosis(
    const char *format, enum fth_model_view view, const struct fth_model_result *result,
    const struct fth_model_params *params, const struct fth_model_report *more,
    const struct fth_report_options *options, char **text, size_t *size, struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
