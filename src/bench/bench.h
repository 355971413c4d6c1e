/* bench/: throughput and latency tables in the layout that papers use. Each bench plans
 * experiments, has the device run them, and produces tables with every measured point and the
 * figures derived from them.
 *
 *   bench_run.c            the list of benches, and the storage of their results
 *   bench_arith.c          arithmetic
 *   bench_atomics.c        atomic operations
 *   bench_atomic_tables.c  where they execute; their throughput by scope, type and contention
 *   bench_banks.c          shared memory under bank conflicts
 *   bench_copies.c         copies by the TMA
 *   bench_copies_cluster.c copies in clusters, cp.async; bench_copies.h
 *   bench_global.c         memory by CTAs, their size and ILP
 *   bench_latency.c        latency by footprint
 *   bench_link.c           copies between host and GPU, and between GPUs
 *   bench_memory.c         memory by stride, with mixed reads and writes, and its refresh
 *   bench_scaling.c        bandwidth of caches by the number of blocks
 *   bench_shared.c         throughput of shared memory
 *   bench_stream.c         STREAM's kernels
 *   bench_stream_tables.c  their tables
 *   bench_zero_copy.c      accesses of kernels to host memory
 *   bench_describe.c       bandwidths for the GPU's description
 */
#ifndef FTH_BENCH_H
#define FTH_BENCH_H

#include "probe/rate/probe_rate.h"

/* The state that a bench works with. */
struct fth_bench_run {
    struct fth_prober prober;
    const struct fth_gpu *gpu; /* what the driver reports, and what earlier benches measured */
    struct fth_gpu *described; /* the same document, for adding results */
    struct fth_bench *bench;
    double memory_limit; /* theoretical bandwidth of memory in bytes per second; NAN: unknown */
    uint64_t l2_bytes;
    bool quick;      /* measure less: the GPU is simulated, which is slow, and not --thorough */
    bool opencl;     /* an OpenCL device: it executes only some requests */
    bool cpu;        /* it is a CPU */
    double from, to; /* the part of the overall progress, 0 to 1, that this bench covers */
};

/* Reports the progress of this bench; `part` goes from 0 to 1. Fails with FTH_INTERRUPTED if the
 * user has interrupted the run. */
FTH_MUST_USE enum fth_status fth_bench_progress(const struct fth_bench_run *run, const char *what,
                                                double part, struct fth_error *error);

/* Whether a bench with this status has results although it did not complete: the user has
 * interrupted it, or the device has failed. Its complete points are then still reported. */
bool fth_bench_ended_early(enum fth_status status);

/* Fails with FTH_INCONCLUSIVE if a bandwidth is more than 2 %, the uncertainty of the clocks, above
 * the theoretical bandwidth of memory. */
FTH_MUST_USE enum fth_status fth_bench_check_rate(const struct fth_bench_run *run,
                                                  double bytes_per_s, struct fth_error *error);

/* ---- results ---- */

/* Adds a series. Its name and title are copied. `columns` must live as long as the bench. */
FTH_MUST_USE enum fth_status fth_bench_add_series(struct fth_bench *bench, const char *name,
                                                  const char *title,
                                                  const struct fth_column *columns,
                                                  size_t column_count, struct fth_error *error);
/* Shows the last series as a grid: the column `down` gives the rows, `across` the columns and
 * `value` the cells. */
void fth_bench_show_grid(struct fth_bench *bench, size_t down, size_t across, size_t value);
/* Does not print the last series as a table in text output, because it would be too long. */
void fth_bench_hide_table(struct fth_bench *bench);
/* Draws the last series in text output: column `y` over column `x`, both on logarithmic axes, with
 * one curve for each text in column `by`. */
void fth_bench_show_plot(struct fth_bench *bench, size_t x, size_t y, size_t by);
/* Adds a row to the last series. `cells` has one cell per column. Texts are copied. */
FTH_MUST_USE enum fth_status fth_bench_add_row(struct fth_bench *bench,
                                               const struct fth_cell *cells,
                                               struct fth_error *error);
/* Adds a figure derived from the last series, with its unit and method. */
FTH_MUST_USE enum fth_status fth_bench_add_figure(struct fth_bench *bench, const char *key,
                                                  double value, const char *unit,
                                                  const char *method, struct fth_error *error);
/* Adds the reason why the last series, or a part of it, is missing. */
FTH_MUST_USE enum fth_status fth_bench_add_missing(struct fth_bench *bench, const char *reason,
                                                   struct fth_error *error);
/* If `status` is FTH_UNSUPPORTED, FTH_UNAVAILABLE or FTH_INCONCLUSIVE, adds "`what`: cause" as a
 * reason to the last series, clears the error and returns FTH_OK. Otherwise returns `status`. */
FTH_MUST_USE enum fth_status fth_bench_keep_failure(struct fth_bench *bench, const char *what,
                                                    enum fth_status status,
                                                    struct fth_error *error);

/* ---- bench_describe.c ---- */

/* Measures a bandwidth. Adds it to the description and, as the figure `key`_tb_per_s, to the last
 * series. The figure `key`_of_theory is its ratio to `bytes_per_cycle` per SM (NAN: unknown). */
FTH_MUST_USE enum fth_status fth_bench_add_bandwidth(const struct fth_bench_run *run,
                                                     enum fth_bandwidth_target target,
                                                     const char *key, double bytes_per_cycle,
                                                     struct fth_error *error);
/* Estimates the capacity of the L1 for global loads, with the carve-out that gives the L1 the most
 * space: the largest of 4, 8, 16, 32, 64, 128 and 192 KiB that fits. 0: global loads are not cached
 * in the L1. */
FTH_MUST_USE enum fth_status fth_bench_l1_bytes(const struct fth_bench_run *run, uint64_t *bytes,
                                                struct fth_error *error);

/* ---- bench_stream.c, bench_stream_tables.c ---- */

enum { FTH_STREAM_KERNELS = 10, FTH_STREAM_DRIVER = FTH_STREAM_KERNELS, FTH_STREAM_SIZES = 40 };
extern const struct fth_stream_kernel {
    const char *title;
    enum fth_sweep_kind kind;
    bool wide;
} fth_stream_kernels[FTH_STREAM_KERNELS];

/* The result of one kernel for one array size. */
struct fth_stream_point {
    uint64_t bytes;
    double best, median, worst; /* bytes per second; NAN: not measured */
    uint32_t blocks;
};
/* All measurements of the bench. In `points` and `reasons`, the driver's copy follows the kernels
 * (index FTH_STREAM_DRIVER). */
struct fth_stream_work {
    const struct fth_bench_run *run;
    uint64_t sizes[FTH_STREAM_SIZES];
    size_t size_count;
    struct fth_stream_shape best[FTH_STREAM_KERNELS]; /* the fastest launch configuration */
    bool missing[FTH_STREAM_KERNELS], ended_early;
    struct fth_stream_point points[FTH_STREAM_SIZES][FTH_STREAM_KERNELS + 1];
    struct fth_stream_point threads[11][FTH_STREAM_KERNELS]; /* 1, 2, … 1024 threads per block */
    /* Why a kernel, or a part of its results, is missing; empty if nothing is missing. */
    char reasons[FTH_STREAM_KERNELS + 1][sizeof((struct fth_error *)0)->cause];
};
/* Returns the number of timed launches for an array size. */
uint32_t fth_stream_repeats(const struct fth_bench_run *run, uint64_t bytes);
/* Adds the table of kernels, without rows. */
FTH_MUST_USE enum fth_status fth_stream_add_series(struct fth_bench *bench,
                                                   struct fth_error *error);
/* Adds all tables. `error` can be NULL. */
FTH_MUST_USE enum fth_status fth_stream_add_tables(const struct fth_stream_work *work,
                                                   struct fth_error *error);

/* ---- the benches ---- */

typedef enum fth_status fth_bench_function(const struct fth_bench_run *run,
                                           struct fth_error *error);
fth_bench_function fth_bench_arith, fth_bench_banks, fth_bench_atomics;
fth_bench_function fth_bench_global, fth_bench_link, fth_bench_stream;
fth_bench_function fth_bench_shared, fth_bench_scaling, fth_bench_latency, fth_bench_memory;
fth_bench_function fth_bench_copies;

/* Parts of the benches `atomics` and `link`. */
fth_bench_function fth_bench_atomic_tables, fth_bench_zero_copy;

#endif
