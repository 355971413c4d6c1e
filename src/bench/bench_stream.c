/* STREAM (McCalpin): the kernels COPY, MUL, ADD and TRIAD in fp32 and fp64, and kernels that only
 * read or only write, by threads per block and by array size. The results in memory are checked.
 * The copy is compared with the driver's copy. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REPEATS = 10,         /* timed launches per size; these numbers are heuristic */
    SMALL_REPEATS = 50,   /* for arrays smaller than `search_bytes` */
    SEARCH_REPEATS = 3,   /* per launch configuration in the search for the best one */
    REPEATS_PER_TURN = 2, /* when the copy and the driver's copy alternate */
    MAX_THREADS = 1024
};
/* Array sizes: the smallest, and the one for which launch configurations are searched if memory is
 * large enough. `memory_fraction` is the part of memory that three arrays can occupy. Heuristic. */
static const uint64_t min_bytes = 1 << 20, search_bytes = UINT64_C(1) << 30;
static const double memory_fraction = 0.9;
/* The array size on a simulated GPU: what memory can move in `quick_s` seconds, which are about
 * twenty memory latencies, within these limits. */
static const double quick_s = 10e-6;
/* On a CPU, whose memory other programs need: the largest array, and the part of memory that it can
 * occupy. One work-item per compute unit processes its part of the arrays (kernels/opencl), so that
 * there is only one launch configuration. Chosen. */
static const double max_cpu_bytes = 512 << 20, cpu_memory_fraction = 1.0 / 16;
static const uint64_t many_cpu_repeats_bytes = 32 << 20;
static const struct fth_stream_shape cpu_shape = {1, 1, 16, 4, false};
static const uint64_t min_quick_bytes = 4 << 20, max_quick_bytes = UINT64_C(32) << 20;

const struct fth_stream_kernel fth_stream_kernels[FTH_STREAM_KERNELS] = {
    {"COPY fp32", FTH_SWEEP_COPY, false}, {"MUL fp32", FTH_SWEEP_MUL, false},
    {"ADD fp32", FTH_SWEEP_ADD, false},   {"TRIAD fp32", FTH_SWEEP_TRIAD, false},
    {"COPY fp64", FTH_SWEEP_COPY, true},  {"MUL fp64", FTH_SWEEP_MUL, true},
    {"ADD fp64", FTH_SWEEP_ADD, true},    {"TRIAD fp64", FTH_SWEEP_TRIAD, true},
    {"read", FTH_SWEEP_READ, false},      {"write", FTH_SWEEP_WRITE, false},
};
enum { COPY, KERNELS = FTH_STREAM_KERNELS, DRIVER = FTH_STREAM_DRIVER };

/* ---- one measurement ---- */

/* Computes the bandwidths. As in STREAM, each array counts once. */
static struct fth_stream_point make_point(const struct fth_durations *durations, uint64_t bytes,
                                          unsigned arrays)
{
    const double moved = (double)bytes * arrays * 1e9;
    return (struct fth_stream_point){bytes, moved / durations->best_ns,
                                     moved / durations->median_ns, moved / durations->worst_ns, 0};
}

static double max_threads(const struct fth_stream_work *work)
{
    return fth_gpu_number(work->run->gpu, "device", "max_threads_per_block", MAX_THREADS);
}

static bool is_cold(const struct fth_stream_work *work)
{
    return work->run->quick;
}

/* Returns the first launch configuration that this GPU can run and that uses no hints. For a
 * simulated GPU, one with few threads, which is simulated faster. */
static const struct fth_stream_shape *first_usable_shape(const struct fth_stream_work *work)
{
    enum { FEW_THREADS = 512 };
    if (work->run->cpu)
        return &cpu_shape;
    const bool quick = work->run->quick;
    const double max = quick ? fmin(FEW_THREADS, max_threads(work)) : max_threads(work);
    size_t count, usual, i = 0;
    const struct fth_stream_shape *shapes = fth_sweep_shapes(&count, &usual);
    while (i + 1 < count &&
           (shapes[i].threads > max || shapes[i].hinted || (quick && shapes[i].blocks_per_sm == 0)))
        i++;
    return &shapes[i];
}

static struct fth_request make_request(const struct fth_stream_work *work,
                                       const struct fth_stream_kernel *kernel,
                                       const struct fth_stream_shape *shape, uint64_t bytes,
                                       uint32_t repeats)
{
    struct fth_request request =
        fth_sweep_request(&work->run->prober, kernel->kind, kernel->wide, bytes, shape);
    request.cold = is_cold(work);
    request.sweep.repeats = work->run->quick ? 1 : repeats;
    return request;
}

static enum fth_status measure(const struct fth_stream_work *work,
                               const struct fth_stream_kernel *kernel,
                               const struct fth_stream_shape *shape, uint64_t bytes,
                               uint32_t repeats, struct fth_stream_point *point,
                               struct fth_error *error)
{
    const struct fth_request request = make_request(work, kernel, shape, bytes, repeats);
    struct fth_durations durations;
    *point = (struct fth_stream_point){bytes, NAN, NAN, NAN, 0};
    enum fth_status status = fth_probe_durations(&work->run->prober, &request, &durations, error);
    if (status == FTH_OK)
        *point = make_point(&durations, bytes, fth_sweep_arrays(kernel->kind));
    point->blocks = request.sweep.blocks;
    return status;
}

/* If a kernel cannot be measured, stores the reason, clears the error and returns FTH_OK. Returns
 * other failures unchanged. */
static enum fth_status keep_reason(struct fth_stream_work *work, size_t kernel,
                                   enum fth_status status, struct fth_error *error)
{
    if (status != FTH_UNSUPPORTED && status != FTH_INCONCLUSIVE)
        return status;
    snprintf(work->reasons[kernel], sizeof work->reasons[kernel], "%s", error->cause);
    *error = FTH_NO_ERROR;
    return FTH_OK;
}

/* ---- sizes ---- */

/* Short launches are repeated more often. */
uint32_t fth_stream_repeats(const struct fth_bench_run *run, uint64_t bytes)
{
    const uint64_t many = run->cpu ? many_cpu_repeats_bytes : search_bytes;
    return run->quick ? 1 : bytes < many ? SMALL_REPEATS : REPEATS;
}

static uint64_t largest_power_of_two(double value)
{
    uint64_t power = 1;
    while ((double)(2 * power) <= value)
        power *= 2;
    return power;
}

static void choose_sizes(struct fth_stream_work *work)
{
    const struct fth_gpu *gpu = work->run->gpu;
    double max = fth_gpu_number(gpu, "memory", "size_bytes", 1 << 30) * memory_fraction / 3;
    uint64_t from = min_bytes;
    if (work->run->cpu)
        max = fmin(max * 3 / memory_fraction * cpu_memory_fraction, max_cpu_bytes);
    if (work->run->quick) {
        const double moved =
            isnan(work->run->memory_limit) ? 0 : work->run->memory_limit * quick_s / 2;
        max = fmin(max, fmin((double)max_quick_bytes, fmax(moved, (double)min_quick_bytes)));
        from = largest_power_of_two(fmax(max, (double)min_bytes));
    }
    for (uint64_t bytes = from;
         (double)bytes <= fmax(max, (double)min_bytes) && work->size_count < FTH_STREAM_SIZES;
         bytes *= 2)
        work->sizes[work->size_count++] = bytes;
}

/* Returns the array size for the search of launch configurations. */
static uint64_t search_size(const struct fth_stream_work *work)
{
    const uint64_t max = work->sizes[work->size_count - 1];
    return max < search_bytes ? max : search_bytes;
}

/* Removes sizes from the largest on until three arrays fit into memory. The memory is then
 * allocated for all following measurements. */
static enum fth_status drop_sizes_that_do_not_fit(struct fth_stream_work *work,
                                                  struct fth_error *error)
{
    static const struct fth_stream_kernel largest = {"TRIAD fp32", FTH_SWEEP_TRIAD, false};
    enum fth_status status = FTH_OK;
    while (work->size_count) {
        struct fth_stream_point point;
        status = measure(work, &largest, first_usable_shape(work),
                         work->sizes[work->size_count - 1], 1, &point, error);
        if (status != FTH_INCONCLUSIVE || work->size_count == 1)
            return status;
        *error = FTH_NO_ERROR;
        work->size_count--;
    }
    return status;
}

/* ---- shapes ---- */

static enum fth_status try_shape(struct fth_stream_work *work, size_t kernel,
                                 const struct fth_stream_shape *shape, double *best,
                                 struct fth_error *error)
{
    struct fth_stream_point point;
    enum fth_status status = measure(work, &fth_stream_kernels[kernel], shape, search_size(work),
                                     SEARCH_REPEATS, &point, error);
    if (status == FTH_UNSUPPORTED && shape->hinted) { /* an older GPU without hints */
        *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status == FTH_OK && !(point.best <= *best)) {
        *best = point.best;
        work->best[kernel] = *shape;
    }
    return status;
}

static enum fth_status find_shape(struct fth_stream_work *work, size_t kernel,
                                  struct fth_error *error)
{
    double best = NAN;
    const bool has_three_arrays = fth_sweep_arrays(fth_stream_kernels[kernel].kind) == 3;
    size_t count, usual;
    const struct fth_stream_shape *shapes = fth_sweep_shapes(&count, &usual);
    enum fth_status status = FTH_OK;
    work->best[kernel] = *first_usable_shape(work);
    if (work->run->quick || work->run->cpu)
        return FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (shapes[i].threads <= max_threads(work) && !(has_three_arrays && shapes[i].unroll > 4))
            status = try_shape(work, kernel, &shapes[i], &best, error);
    work->missing[kernel] = isnan(best);
    return keep_reason(work, kernel, status, error);
}

/* Measures 1, 2, 4, … threads per block, with as many blocks as an SM can hold. */
static enum fth_status try_threads(struct fth_stream_work *work, size_t kernel,
                                   struct fth_error *error)
{
    const struct fth_gpu *gpu = work->run->gpu;
    const double per_sm = fth_gpu_number(gpu, "device", "max_threads_per_sm", 1024);
    const double blocks = fth_gpu_number(gpu, "device", "max_blocks_per_sm", 16);
    enum fth_status status = FTH_OK;
    if (work->run->cpu)
        return FTH_OK;
    for (uint32_t i = 0; i < FTH_COUNT(work->threads) && status == FTH_OK; i++) {
        const uint32_t threads = 1u << i;
        const struct fth_stream_shape shape = {(uint32_t)fmax(fmin(blocks, per_sm / threads), 1),
                                               threads, 16, 4, false};
        if (threads > max_threads(work) || (work->run->quick && kernel != 0))
            continue;
        uint64_t bytes = search_size(work);
        if (work->run->quick && threads < 32)
            bytes = min_bytes;
        status = measure(work, &fth_stream_kernels[kernel], &shape, bytes, SEARCH_REPEATS,
                         &work->threads[i][kernel], error);
    }
    return keep_reason(work, kernel, status, error);
}

/* ---- all kernels and sizes ---- */

static struct fth_request driver_request(const struct fth_stream_work *work, uint64_t bytes,
                                         uint32_t repeats)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_TRANSFER;
    request.transfer = (struct fth_transfer){
        .kind = FTH_TRANSFER_WITHIN, .repeats = work->run->quick ? 1 : repeats, .bytes = bytes};
    return request;
}

static enum fth_status measure_driver(struct fth_stream_work *work, size_t size,
                                      struct fth_error *error)
{
    const uint64_t bytes = work->sizes[size];
    const struct fth_request request =
        driver_request(work, bytes, fth_stream_repeats(work->run, bytes));
    struct fth_durations durations;
    enum fth_status status = fth_probe_durations(&work->run->prober, &request, &durations, error);
    if (status == FTH_OK)
        work->points[size][DRIVER] = make_point(&durations, bytes, 2);
    return keep_reason(work, DRIVER, status, error);
}

static enum fth_status measure_kernel(struct fth_stream_work *work, size_t kernel, size_t size,
                                      struct fth_error *error)
{
    if (work->missing[kernel])
        return FTH_OK;
    const uint64_t bytes = work->sizes[size];
    enum fth_status status =
        measure(work, &fth_stream_kernels[kernel], &work->best[kernel], bytes,
                fth_stream_repeats(work->run, bytes), &work->points[size][kernel], error);
    return keep_reason(work, kernel, status, error);
}

/* Measures the copy and the driver's copy alternately, so that changes over time affect both: on an
 * H200 every launch takes 1.8 us more for some milliseconds, then less for some milliseconds. */
static enum fth_status measure_copies(struct fth_stream_work *work, size_t size,
                                      struct fth_error *error)
{
    const uint64_t bytes = work->sizes[size];
    const size_t turns =
        work->run->quick ? 1 : fth_stream_repeats(work->run, bytes) / REPEATS_PER_TURN;
    const struct fth_request requests[] = {
        driver_request(work, bytes, REPEATS_PER_TURN),
        make_request(work, &fth_stream_kernels[COPY], &work->best[COPY], bytes, REPEATS_PER_TURN)};
    struct fth_durations durations[2];
    enum fth_status status =
        work->missing[COPY]
            ? FTH_UNSUPPORTED
            : fth_probe_interleaved(&work->run->prober, requests, 2, turns, durations, error);
    if (status == FTH_OK) {
        work->points[size][DRIVER] = make_point(&durations[0], bytes, 2);
        work->points[size][COPY] = make_point(&durations[1], bytes, 2);
        work->points[size][COPY].blocks = requests[1].sweep.blocks;
        return FTH_OK;
    }
    if (status != FTH_INCONCLUSIVE && status != FTH_UNSUPPORTED)
        return status;
    /* One of the two cannot be measured, so measure them separately. */
    *error = FTH_NO_ERROR;
    FTH_TRY(measure_driver(work, size, error));
    return measure_kernel(work, COPY, size, error);
}

/* Measures all kernels for each size, the largest size first. */
static enum fth_status measure_sizes(struct fth_stream_work *work, struct fth_error *error)
{
    for (size_t left = work->size_count; left > 0; left--) {
        const size_t size = left - 1;
        FTH_TRY(fth_bench_progress(work->run, "STREAM, by size",
                                   1 - 0.5 * (double)left / (double)work->size_count, error));
        FTH_TRY(measure_copies(work, size, error));
        for (size_t i = COPY + 1; i < KERNELS; i++)
            FTH_TRY(measure_kernel(work, i, size, error));
    }
    return FTH_OK;
}

/* Reports that not even the smallest arrays fit into memory. */
static enum fth_status give_up(struct fth_stream_work *work, enum fth_status status,
                               struct fth_error *error)
{
    struct fth_error fault = *error;
    *error = FTH_NO_ERROR;
    FTH_TRY(fth_stream_add_series(work->run->bench, error));
    *error = fault;
    return fth_bench_keep_failure(work->run->bench, "arrays of 1 MiB", status, error);
}

static enum fth_status measure_kernels(struct fth_stream_work *work, struct fth_error *error)
{
    for (size_t i = 0; i < KERNELS; i++) {
        FTH_TRY(fth_bench_progress(work->run, fth_stream_kernels[i].title,
                                   0.5 * (double)i / KERNELS, error));
        FTH_TRY(try_threads(work, i, error));
        FTH_TRY(find_shape(work, i, error));
    }
    return measure_sizes(work, error);
}

/* Marks all points as not measured. */
static void clear_points(struct fth_stream_work *work)
{
    const struct fth_stream_point none = {0, NAN, NAN, NAN, 0};
    for (size_t i = 0; i < sizeof work->points / sizeof none; i++)
        (&work->points[0][0])[i] = none;
    for (size_t i = 0; i < sizeof work->threads / sizeof none; i++)
        (&work->threads[0][0])[i] = none;
}

/* If the bench ends early, the complete measurements are still reported. */
static enum fth_status measure_all(struct fth_stream_work *work, struct fth_error *error)
{
    clear_points(work);
    choose_sizes(work);
    enum fth_status status = drop_sizes_that_do_not_fit(work, error);
    if (status != FTH_OK)
        return give_up(work, status, error);
    status = measure_kernels(work, error);
    work->ended_early = fth_bench_ended_early(status);
    if (status != FTH_OK && !work->ended_early)
        return status;
    enum fth_status noted = fth_stream_add_tables(work, work->ended_early ? NULL : error);
    return work->ended_early ? status : noted;
}

enum fth_status fth_bench_stream(const struct fth_bench_run *run, struct fth_error *error)
{
    struct fth_stream_work *work = calloc(1, sizeof *work);
    if (!work)
        return fth_no_memory(error, "bench", "stream");
    work->run = run;
    enum fth_status status = measure_all(work, error);
    free(work);
    return status;
}
