/* bench/: throughput and latency as people tabulate them. Each bench plans experiments, has them
 * measured, and gives tables with every point, and what follows from them.
 *
 *   bench.c    the benches, and what holds their results
 *   arith.c    arithmetic             banks.c    shared memory under bank conflicts
 *   atomics.c  atomic operations      global.c   memory by CTAs, their size and ILP
 *   stream.c   STREAM's kernels       stream_tables.c  their tables
 *   link.c     copies from and to the host
 *   shared.c   throughput of shared memory
 *   scaling.c  bandwidth of caches by the number of blocks
 *   latency.c  latency by footprint   describe.c what of it belongs into the GPU's description
 */
#ifndef FTH_BENCH_H
#define FTH_BENCH_H

#include "probe/probe.h"

/* What a bench works with. */
struct fth_bench_run {
    struct fth_prober prober;
    const struct fth_gpu *gpu; /* what the driver tells, and what benches described before */
    struct fth_gpu *described; /* the same, to be added to (describe.c) */
    struct fth_bench *bench;
    double memory_limit; /* bytes a second that memory's clock and bus allow; NAN: not known */
    uint64_t l2_bytes;
    bool quick;      /* a simulated GPU, where every operation is simulated one by one */
    double from, to; /* of the progress */
};

/* Tells how far the bench is, from 0 to 1, and whether it is to go on. */
FTH_MUST_USE enum fth_status fth_bench_progress(const struct fth_bench_run *run, const char *what,
                                                double part, struct fth_error *error);

/* Whether so many bytes a second can come from memory: clocks are known to 2 %. Above that there is
 * a fault somewhere, which the error tells. */
FTH_MUST_USE enum fth_status fth_bench_check_rate(const struct fth_bench_run *run,
                                                  double bytes_per_s, struct fth_error *error);

/* ---- results ---- */

/* Adds a series; its name and texts are copied. `columns` must live as long as the bench. */
FTH_MUST_USE enum fth_status fth_bench_add(struct fth_bench *bench, const char *name,
                                           const char *title, const struct fth_column *columns,
                                           size_t column_count, struct fth_error *error);
/* Has the last series shown as a grid: rows by one column, columns by another. */
void fth_bench_grid(struct fth_bench *bench, size_t down, size_t across, size_t value);
/* Has the last series not shown as a table in text, where it would be too long. */
void fth_bench_detail(struct fth_bench *bench);
/* Has the last series drawn in text: one column against another, both by their logarithms, a curve
 * for each text of a third. */
void fth_bench_plot(struct fth_bench *bench, size_t x, size_t y, size_t by);
/* Adds a row to the last series; as many cells as it has columns. Texts are copied. */
FTH_MUST_USE enum fth_status fth_bench_row(struct fth_bench *bench, const struct fth_cell *cells,
                                           struct fth_error *error);
/* Adds what follows from the last series: a number with its unit, and how it was got. */
FTH_MUST_USE enum fth_status fth_bench_figure(struct fth_bench *bench, const char *key,
                                              double value, const char *unit, const char *method,
                                              struct fth_error *error);
/* Why the last series, or a part of it, is missing. */
FTH_MUST_USE enum fth_status fth_bench_missing(struct fth_bench *bench, const char *reason,
                                               struct fth_error *error);
/* Where the answer was that this device cannot (or that it is not certain), the reason is kept and
 * all is well; other failures stay. */
FTH_MUST_USE enum fth_status fth_bench_failure(struct fth_bench *bench, const char *what,
                                               enum fth_status status, struct fth_error *error);

/* ---- describe.c ---- */

/* A number of the GPU's description that was measured. */
FTH_MUST_USE enum fth_status fth_bench_describe(const struct fth_bench_run *run,
                                                const char *element, const char *attribute,
                                                double value, size_t samples, const char *method,
                                                struct fth_error *error);
/* Measures a bandwidth for the description, and adds it to the last series: as `key`, and as
 * `key`_of_theory against so many bytes a cycle and SM (NAN: not known). */
FTH_MUST_USE enum fth_status fth_bench_rate(const struct fth_bench_run *run,
                                            enum fth_bandwidth_target target, const char *key,
                                            double bytes_per_cycle, struct fth_error *error);
/* How much L1 keeps of global loads, to a power of two or one and a half times that, where shared
 * memory leaves it the most room; 0: nothing. */
FTH_MUST_USE enum fth_status fth_bench_l1_bytes(const struct fth_bench_run *run, uint64_t *bytes,
                                                struct fth_error *error);

/* ---- stream.c, stream_tables.c ---- */

enum { FTH_STREAM_KERNELS = 10, FTH_STREAM_DRIVER = FTH_STREAM_KERNELS, FTH_STREAM_SIZES = 40 };
extern const struct fth_stream_kernel {
    const char *title;
    enum fth_sweep_kind kind;
    bool wide;
} fth_stream_kernels[FTH_STREAM_KERNELS];

/* One size of one kernel. */
struct fth_stream_point {
    uint64_t bytes;
    double best, median, worst; /* bytes a second; NAN: not measured */
    uint32_t blocks;
};
/* What was measured; the driver's copy is behind the kernels. */
struct fth_stream_work {
    const struct fth_bench_run *run;
    uint64_t sizes[FTH_STREAM_SIZES];
    size_t size_count;
    struct fth_stream_shape best[FTH_STREAM_KERNELS];
    bool missing[FTH_STREAM_KERNELS], interrupted;
    struct fth_stream_point points[FTH_STREAM_SIZES][FTH_STREAM_KERNELS + 1];
    struct fth_stream_point threads[11][FTH_STREAM_KERNELS]; /* 1, 2, … 1024 */
    /* Why something is missing. */
    char reasons[FTH_STREAM_KERNELS + 1][sizeof((struct fth_error *)0)->cause];
};
/* How often a size is measured. */
uint32_t fth_stream_repeats(const struct fth_bench_run *run, uint64_t bytes);
/* Adds the table of kernels, without a row. */
FTH_MUST_USE enum fth_status fth_stream_add(struct fth_bench *bench, struct fth_error *error);
/* All tables of it; `error` may be NULL. */
FTH_MUST_USE enum fth_status fth_stream_note(const struct fth_stream_work *work,
                                             struct fth_error *error);

/* ---- the benches ---- */

typedef enum fth_status fth_bench_function(const struct fth_bench_run *run,
                                           struct fth_error *error);
fth_bench_function fth_bench_arith, fth_bench_banks, fth_bench_atomics;
fth_bench_function fth_bench_global, fth_bench_link, fth_bench_stream;
fth_bench_function fth_bench_shared, fth_bench_scaling, fth_bench_latency;

#endif
