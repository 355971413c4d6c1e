/* The tables of the STREAM bench: kernels, comparison with the driver's copy, by array size, and by
 * threads per block. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>

enum { KERNELS = FTH_STREAM_KERNELS, DRIVER = FTH_STREAM_DRIVER, MIN_L2_MULTIPLE = 4 };

static const struct fth_column columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_TEXT},
    {"best_gb_per_s", "Best GB/s", FTH_COLUMN_NUMBER},
    {"median_gb_per_s", "Median", FTH_COLUMN_NUMBER},
    {"spread_percent", "Spread %", FTH_COLUMN_NUMBER},
    {"of_theory_percent", "of theory %", FTH_COLUMN_NUMBER},
    {"array_mib", "MiB", FTH_COLUMN_NUMBER},
    {"blocks", "Blocks", FTH_COLUMN_NUMBER},
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"unroll", "Unroll", FTH_COLUMN_NUMBER},
    {"hinted", "Hints", FTH_COLUMN_TEXT},
    {"repeats", "Repeats", FTH_COLUMN_NUMBER},
};
static const struct fth_column size_columns[] = {
    {"array_mib", "MiB", FTH_COLUMN_NUMBER},
    {"kernel", "kernel", FTH_COLUMN_TEXT},
    {"best_gb_per_s", "Best GB/s", FTH_COLUMN_NUMBER},
    {"median_gb_per_s", "Median", FTH_COLUMN_NUMBER},
    {"spread_percent", "Spread %", FTH_COLUMN_NUMBER},
};
static const struct fth_column thread_columns[] = {
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"kernel", "kernel", FTH_COLUMN_TEXT},
    {"best_gb_per_s", "Best GB/s", FTH_COLUMN_NUMBER},
    {"blocks", "Blocks", FTH_COLUMN_NUMBER},
};
static const struct fth_column driver_columns[] = {
    {"array_mib", "MiB", FTH_COLUMN_NUMBER},
    {"copy_gb_per_s", "COPY GB/s", FTH_COLUMN_NUMBER},
    {"driver_gb_per_s", "Driver GB/s", FTH_COLUMN_NUMBER},
    {"ratio_percent", "COPY of driver %", FTH_COLUMN_NUMBER},
    {"median_ratio_percent", "Medians %", FTH_COLUMN_NUMBER},
};

static double rounded(double value, double parts)
{
    return round(value * parts) / parts;
}

static bool exceeds_l2(const struct fth_stream_work *work, uint64_t bytes, unsigned arrays)
{
    return work->run->quick || bytes * arrays >= MIN_L2_MULTIPLE * work->run->l2_bytes;
}

enum fth_status fth_stream_add_series(struct fth_bench *bench, struct fth_error *error)
{
    return fth_bench_add_series(bench, "stream", "STREAM: bytes read and written per second",
                                columns, FTH_COUNT(columns), error);
}

static enum fth_status note_kernel(const struct fth_stream_work *work, size_t kernel,
                                   struct fth_error *error)
{
    const unsigned arrays = fth_sweep_arrays(fth_stream_kernels[kernel].kind);
    const struct fth_stream_shape *shape = &work->best[kernel];
    const struct fth_stream_point *best = NULL;
    for (size_t i = 0; i < work->size_count; i++) {
        const struct fth_stream_point *point = &work->points[i][kernel];
        if (exceeds_l2(work, point->bytes, arrays) && !isnan(point->best) &&
            (!best || point->best > best->best))
            best = point;
    }
    char reason[sizeof work->reasons[0] + 100];
    if (!best || work->missing[kernel]) {
        snprintf(reason, sizeof reason, "%s: %s", fth_stream_kernels[kernel].title,
                 work->reasons[kernel][0] ? work->reasons[kernel]
                 : work->ended_early      ? "the bench ended before"
                                          : "memory is too small for arrays of four times L2");
        return fth_bench_add_missing(work->run->bench, reason, error);
    }
    struct fth_error fault = FTH_NO_ERROR;
    const enum fth_status possible = fth_bench_check_rate(work->run, best->best, &fault);
    if (possible != FTH_OK)
        return fth_bench_keep_failure(work->run->bench, fth_stream_kernels[kernel].title, possible,
                                      &fault);
    const struct fth_cell cells[] = {
        {.text = fth_stream_kernels[kernel].title, .number = NAN},
        {.number = rounded(best->best / 1e9, 10)},
        {.number = rounded(best->median / 1e9, 10)},
        {.number = rounded(100 * (best->best - best->worst) / best->best, 100)},
        {.number = rounded(100 * best->best / work->run->memory_limit, 100)},
        {.number = (double)best->bytes / (1 << 20)},
        {.number = best->blocks},
        {.number = shape->threads},
        {.number = shape->unroll},
        {.text = shape->hinted ? "yes" : "no", .number = NAN},
        {.number = fth_stream_repeats(work->run, best->bytes)},
    };
    return fth_bench_add_row(work->run->bench, cells, error);
}

static enum fth_status note_kernels(const struct fth_stream_work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    FTH_TRY(fth_stream_add_series(bench, error));
    for (size_t i = 0; i < KERNELS; i++)
        FTH_TRY(note_kernel(work, i, error));
    if (!isnan(work->run->memory_limit))
        FTH_TRY(fth_bench_add_figure(bench, "theoretical_gb_per_s",
                                     rounded(work->run->memory_limit / 1e9, 10), "GB/s",
                                     "memory clock x 2 x bus width", error));
    char note[200];
    fth_format(note, sizeof note,
               "simulated GPU: only arrays of %.4g MiB, not cached at the beginning, one launch "
               "configuration; use --thorough for all",
               (double)work->sizes[0] / (1 << 20));
    if (work->run->cpu)
        FTH_TRY(fth_bench_add_missing(bench,
                                      "CPU: one launch configuration, with one work-item per "
                                      "compute unit",
                                      error));
    return work->run->quick ? fth_bench_add_missing(bench, note, error) : FTH_OK;
}

static enum fth_status note_sizes(const struct fth_stream_work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    FTH_TRY(fth_bench_add_series(bench, "stream.sizes",
                                 "STREAM: GB/s by the size of an array (MiB)", size_columns,
                                 FTH_COUNT(size_columns), error));
    fth_bench_show_grid(bench, 0, 1, 2);
    for (size_t i = 0; i < work->size_count; i++)
        for (size_t kernel = 0; kernel < KERNELS; kernel++) {
            const struct fth_stream_point *point = &work->points[i][kernel];
            const struct fth_cell cells[] = {
                {.number = (double)point->bytes / (1 << 20)},
                {.text = fth_stream_kernels[kernel].title, .number = (double)kernel},
                {.number = rounded(point->best / 1e9, 10)},
                {.number = rounded(point->median / 1e9, 10)},
                {.number = rounded(100 * (point->best - point->worst) / point->best, 100)},
            };
            if (!isnan(point->best))
                FTH_TRY(fth_bench_add_row(bench, cells, error));
        }
    return FTH_OK;
}

static enum fth_status note_threads(const struct fth_stream_work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    FTH_TRY(fth_bench_add_series(bench, "stream.threads",
                                 "STREAM: GB/s by threads per block, with as many blocks as an SM "
                                 "holds",
                                 thread_columns, FTH_COUNT(thread_columns), error));
    fth_bench_show_grid(bench, 0, 1, 2);
    for (size_t i = 0; i < FTH_COUNT(work->threads); i++)
        for (size_t kernel = 0; kernel < KERNELS; kernel++) {
            const struct fth_stream_point *point = &work->threads[i][kernel];
            const struct fth_cell cells[] = {
                {.number = (double)(1u << i)},
                {.text = fth_stream_kernels[kernel].title, .number = (double)kernel},
                {.number = rounded(point->best / 1e9, 10)},
                {.number = point->blocks},
            };
            if (!isnan(point->best))
                FTH_TRY(fth_bench_add_row(bench, cells, error));
        }
    return FTH_OK;
}

/* The copy against the driver's copy of the same size; the two were measured alternately. */
static enum fth_status note_driver(const struct fth_stream_work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    FTH_TRY(fth_bench_add_series(bench, "stream.driver",
                                 "STREAM: COPY fp32 against the driver's copy of the same size",
                                 driver_columns, FTH_COUNT(driver_columns), error));
    double largest = NAN, min = NAN;
    for (size_t i = 0; i < work->size_count; i++) {
        const struct fth_stream_point *copy = &work->points[i][0],
                                      *driver = &work->points[i][DRIVER];
        const double ratio = copy->best / driver->best;
        const struct fth_cell cells[] = {
            {.number = (double)work->sizes[i] / (1 << 20)},
            {.number = rounded(copy->best / 1e9, 10)},
            {.number = rounded(driver->best / 1e9, 10)},
            {.number = rounded(100 * ratio, 100)},
            {.number = rounded(100 * copy->median / driver->median, 100)},
        };
        if (isnan(ratio))
            continue;
        if (exceeds_l2(work, work->sizes[i], 2)) {
            largest = ratio;
            min = fmin(min, ratio);
        }
        FTH_TRY(fth_bench_add_row(bench, cells, error));
    }
    if (!isnan(largest))
        FTH_TRY(fth_bench_add_figure(bench, "copy_of_driver_copy", rounded(largest, 10000), "",
                                     "best COPY fp32 / driver's best copy from device to device, "
                                     "of the largest size",
                                     error));
    if (!isnan(min))
        FTH_TRY(fth_bench_add_figure(
            bench, "least_copy_of_driver_copy", rounded(min, 10000), "",
            "minimum of these ratios over all sizes whose two arrays together are at least four "
            "times L2",
            error));
    return work->reasons[DRIVER][0] ? fth_bench_add_missing(bench, work->reasons[DRIVER], error)
                                    : FTH_OK;
}

enum fth_status fth_stream_add_tables(const struct fth_stream_work *work, struct fth_error *error)
{
    FTH_TRY(note_kernels(work, error));
    FTH_TRY(note_driver(work, error));
    FTH_TRY(note_sizes(work, error));
    return work->run->cpu ? FTH_OK : note_threads(work, error);
}
