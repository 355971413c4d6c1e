/* STREAM (McCalpin): COPY, MUL, ADD and TRIAD in fp32 and fp64, and memory only read or only
 * written, by threads of a block and by size; what they leave is checked. The copy stands beside
 * the driver's own. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REPEATS = 10,
    MORE_REPEATS = 50,
    SEARCH_REPEATS = 3,
    TURN_REPEATS = 2, /* of the copy, then of the driver's, and again */
    MAX_THREADS = 1024
};
/* Arrays: the smallest; those on which shapes are tried, where there is room; and the part of
 * memory that three of them may fill. */
static const uint64_t min_bytes = 1 << 20, search_bytes = UINT64_C(1) << 30;
static const double memory_part = 0.9;
/* Of a simulated GPU: as much as memory moves in that time, some twenty latencies. */
static const double quick_s = 10e-6;
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

/* The bytes that the kernel counts for: each array once. */
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

/* The first that every GPU of this kind can run; of a simulated one with few threads, which has
 * less to simulate. */
static const struct fth_stream_shape *usual_shape(const struct fth_stream_work *work)
{
    enum { FEW_THREADS = 512 };
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

/* What cannot be measured is missing, with its reason, and all is well; the rest stays. */
static enum fth_status excuse(struct fth_stream_work *work, size_t kernel, enum fth_status status,
                              struct fth_error *error)
{
    if (status != FTH_UNSUPPORTED && status != FTH_UNAVAILABLE && status != FTH_INCONCLUSIVE)
        return status;
    snprintf(work->reasons[kernel], sizeof work->reasons[kernel], "%s", error->cause);
    *error = FTH_NO_ERROR;
    return FTH_OK;
}

/* ---- sizes ---- */

/* What takes little time is repeated more often. */
uint32_t fth_stream_repeats(const struct fth_bench_run *run, uint64_t bytes)
{
    return run->quick ? 1 : bytes < search_bytes ? MORE_REPEATS : REPEATS;
}

static uint64_t power_below(double value)
{
    uint64_t power = 1;
    while ((double)(2 * power) <= value)
        power *= 2;
    return power;
}

static void find_sizes(struct fth_stream_work *work)
{
    const struct fth_gpu *gpu = work->run->gpu;
    double max = fth_gpu_number(gpu, "memory", "size_bytes", 1 << 30) * memory_part / 3;
    uint64_t from = min_bytes;
    if (work->run->quick) {
        const double moved =
            isnan(work->run->memory_limit) ? 0 : work->run->memory_limit * quick_s / 2;
        max = fmin(max, fmin((double)max_quick_bytes, fmax(moved, (double)min_quick_bytes)));
        from = power_below(fmax(max, (double)min_bytes));
    }
    for (uint64_t bytes = from;
         (double)bytes <= fmax(max, (double)min_bytes) && work->size_count < FTH_STREAM_SIZES;
         bytes *= 2)
        work->sizes[work->size_count++] = bytes;
}

/* The size on which shapes are tried. */
static uint64_t search_size(const struct fth_stream_work *work)
{
    const uint64_t max = work->sizes[work->size_count - 1];
    return max < search_bytes ? max : search_bytes;
}

/* The largest arrays that there is room for; the rest of the sizes goes. Memory is then there for
 * all that comes. */
static enum fth_status fit(struct fth_stream_work *work, struct fth_error *error)
{
    static const struct fth_stream_kernel largest = {"TRIAD fp32", FTH_SWEEP_TRIAD, false};
    enum fth_status status = FTH_OK;
    while (work->size_count) {
        struct fth_stream_point point;
        status = measure(work, &largest, usual_shape(work), work->sizes[work->size_count - 1], 1,
                         &point, error);
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
    if (status == FTH_UNSUPPORTED && shape->hinted) { /* an older GPU */
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
    const bool two = fth_sweep_arrays(fth_stream_kernels[kernel].kind) == 3;
    size_t count, usual;
    const struct fth_stream_shape *shapes = fth_sweep_shapes(&count, &usual);
    enum fth_status status = FTH_OK;
    work->best[kernel] = *usual_shape(work);
    if (work->run->quick)
        return FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (shapes[i].threads <= max_threads(work) && !(two && shapes[i].unroll > 4))
            status = try_shape(work, kernel, &shapes[i], &best, error);
    work->missing[kernel] = isnan(best);
    return excuse(work, kernel, status, error);
}

/* From one thread a block on, as many blocks as an SM holds. */
static enum fth_status try_threads(struct fth_stream_work *work, size_t kernel,
                                   struct fth_error *error)
{
    const struct fth_gpu *gpu = work->run->gpu;
    const double per_sm = fth_gpu_number(gpu, "device", "max_threads_per_sm", 1024);
    const double blocks = fth_gpu_number(gpu, "device", "max_blocks_per_sm", 16);
    enum fth_status status = FTH_OK;
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
    return excuse(work, kernel, status, error);
}

/* ---- all of it ---- */

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
    return excuse(work, DRIVER, status, error);
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
    return excuse(work, kernel, status, error);
}

/* The copy and the driver's by turns, so that what changes meanwhile changes for both: on an H200
 * any launch takes 1.8 us more for some milliseconds, and less for the next. */
static enum fth_status measure_copies(struct fth_stream_work *work, size_t size,
                                      struct fth_error *error)
{
    const uint64_t bytes = work->sizes[size];
    const size_t turns = work->run->quick ? 1 : fth_stream_repeats(work->run, bytes) / TURN_REPEATS;
    const struct fth_request requests[] = {
        driver_request(work, bytes, TURN_REPEATS),
        make_request(work, &fth_stream_kernels[COPY], &work->best[COPY], bytes, TURN_REPEATS)};
    struct fth_durations durations[2];
    enum fth_status status = work->missing[COPY] ? FTH_UNSUPPORTED
                                                 : fth_probe_in_turns(&work->run->prober, requests,
                                                                      2, turns, durations, error);
    if (status == FTH_OK) {
        work->points[size][DRIVER] = make_point(&durations[0], bytes, 2);
        work->points[size][COPY] = make_point(&durations[1], bytes, 2);
        work->points[size][COPY].blocks = requests[1].sweep.blocks;
        return FTH_OK;
    }
    /* One of them cannot be had: each for itself. */
    *error = FTH_NO_ERROR;
    status = measure_driver(work, size, error);
    return status == FTH_OK ? measure_kernel(work, COPY, size, error) : status;
}

/* Every kernel of a size, the largest sizes first. */
static enum fth_status measure_sizes(struct fth_stream_work *work, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t left = work->size_count; left > 0 && status == FTH_OK; left--) {
        const size_t size = left - 1;
        status = fth_bench_progress(work->run, "STREAM, by size",
                                    1 - 0.5 * (double)left / (double)work->size_count, error);
        if (status == FTH_OK)
            status = measure_copies(work, size, error);
        for (size_t i = COPY + 1; i < KERNELS && status == FTH_OK; i++)
            status = measure_kernel(work, i, size, error);
    }
    return status;
}

/* Where not even the smallest arrays fit. */
static enum fth_status give_up(struct fth_stream_work *work, enum fth_status status,
                               struct fth_error *error)
{
    struct fth_error fault = *error;
    *error = FTH_NO_ERROR;
    enum fth_status added = fth_stream_add(work->run->bench, error);
    if (added != FTH_OK)
        return added;
    *error = fault;
    return fth_bench_failure(work->run->bench, "arrays of 1 MiB", status, error);
}

static enum fth_status measure_kernels(struct fth_stream_work *work, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < KERNELS && status == FTH_OK; i++) {
        status = fth_bench_progress(work->run, fth_stream_kernels[i].title,
                                    0.5 * (double)i / KERNELS, error);
        if (status == FTH_OK)
            status = try_threads(work, i, error);
        if (status == FTH_OK)
            status = find_shape(work, i, error);
    }
    return status == FTH_OK ? measure_sizes(work, error) : status;
}

/* Until something is measured. */
static void forget_points(struct fth_stream_work *work)
{
    const struct fth_stream_point none = {0, NAN, NAN, NAN, 0};
    for (size_t i = 0; i < sizeof work->points / sizeof none; i++)
        (&work->points[0][0])[i] = none;
    for (size_t i = 0; i < sizeof work->threads / sizeof none; i++)
        (&work->threads[0][0])[i] = none;
}

/* What is complete is told also where the rest is not to come. */
static enum fth_status measure_all(struct fth_stream_work *work, struct fth_error *error)
{
    forget_points(work);
    find_sizes(work);
    enum fth_status status = fit(work, error);
    if (status != FTH_OK)
        return give_up(work, status, error);
    status = measure_kernels(work, error);
    work->interrupted = status == FTH_INTERRUPTED;
    if (status != FTH_OK && !work->interrupted)
        return status;
    enum fth_status noted = fth_stream_note(work, work->interrupted ? NULL : error);
    return work->interrupted ? status : noted;
}

enum fth_status fth_bench_stream(const struct fth_bench_run *run, struct fth_error *error)
{
    struct fth_stream_work *work = calloc(1, sizeof *work);
    if (!work)
        return fth_fail(error, FTH_NO_MEMORY, "bench", "stream", "out of memory");
    work->run = run;
    enum fth_status status = measure_all(work, error);
    free(work);
    return status;
}
