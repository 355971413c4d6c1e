/* Throughput of global memory: copies by the number of CTAs, their size and the ILP (Mei and Chu,
 * section 5.1: Fig. 12 and Table 6). The bytes in flight that were needed for the maximum
 * throughput are compared with Little's law. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REPEATS = 3,
    ITERATIONS = 64,
    QUICK_ITERATIONS = 4,
    MIN_L2_MULTIPLE = 4,
    SHORT_LINES = 256,
    LONG_LINES = 1024
};
/* The size of an array: enough for ITERATIONS iterations of every thread, but at most `max_bytes`,
 * and source and destination together are at least MIN_L2_MULTIPLE times the L2, so that little of
 * them stays cached. On a simulated GPU the arrays are not cached at the beginning and writes count
 * when they are issued, so smaller arrays suffice. The values are heuristic. */
static const uint64_t min_bytes = 1 << 20, max_bytes = UINT64_C(512) << 20,
                      quick_bytes = UINT64_C(8) << 20;
/* The bytes in flight that are "needed" are those that reach this fraction of the maximum
 * throughput. Heuristic. */
static const double needed_fraction = 0.95;

/* The numbers of CTAs, per eight SMs. */
static const uint32_t ctas_per_8_sms[] = {1, 2, 4, 8, 16, 32, 64, 128, 256},
                      quick_ctas_per_8_sms[] = {4, 8, 16};
static const uint32_t thread_counts[] = {32, 64, 128, 256, 512, 1024},
                      quick_thread_counts[] = {64, 256, 1024};
/* ILP is the number of 4-byte words that a thread copies at a time. The last entry copies four
 * words as one vector. */
static const struct ilp {
    const char *name, *title;
    uint32_t vector_bytes, unroll;
    bool quick;
} ilps[] = {
    {"global.ilp1", "1 word", 4, 1, true},
    {"global.ilp2", "2 words", 4, 2, false},
    {"global.ilp4", "4 words", 4, 4, true},
    {"global.ilp8", "8 words", 4, 8, false},
    {"global.vector", "one 16-byte vector", 16, 1, true},
};

static const struct fth_column columns[] = {
    {"quantity", "Global memory", FTH_COLUMN_TEXT},
    {"value", "", FTH_COLUMN_NUMBER},
};
static const struct fth_column point_columns[] = {
    {"ctas", "CTAs", FTH_COLUMN_NUMBER},
    {"threads", "threads", FTH_COLUMN_NUMBER},
    {"best_gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
    {"median_gb_per_s", "Median", FTH_COLUMN_NUMBER},
    {"under_way_bytes", "In flight", FTH_COLUMN_NUMBER},
    {"array_mib", "MiB", FTH_COLUMN_NUMBER},
};

struct point {
    uint32_t ctas, threads, ilp;
    uint64_t bytes;
    double best, median;    /* bytes per second */
    double in_flight_bytes; /* maximum number of bytes that loads in flight request */
};
enum { MAX_POINTS = FTH_COUNT(ctas_per_8_sms) * FTH_COUNT(thread_counts) * FTH_COUNT(ilps) };

struct work {
    const struct fth_bench_run *run;
    double latency_ns;
    struct point points[MAX_POINTS];
    size_t count, failures;
    char reason[sizeof((struct fth_error *)0)->cause + 100]; /* of the first failure */
};

/* ---- measuring ---- */

static enum fth_status time_copy(const struct work *work, const struct point *point, uint64_t bytes,
                                 bool cold, uint32_t repeats, struct fth_durations *durations,
                                 struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SWEEP;
    request.cold = cold;
    request.sweep = (struct fth_sweep){.kind = FTH_SWEEP_COPY,
                                       .bytes = bytes,
                                       .blocks = point->ctas,
                                       .threads = point->threads,
                                       .vector_bytes = ilps[point->ilp].vector_bytes,
                                       .unroll = ilps[point->ilp].unroll,
                                       .repeats = repeats};
    return fth_probe_durations(&work->run->prober, &request, durations, error);
}

/* Returns the bytes that the loads of all resident threads request at the same time. */
static double in_flight_bytes(const struct work *work, const struct point *point)
{
    const struct fth_gpu *gpu = work->run->gpu;
    const double sms = (double)work->run->prober.sms;
    const double threads = fth_gpu_number(gpu, "device", "max_threads_per_sm", 1024);
    const double blocks = fth_gpu_number(gpu, "device", "max_blocks_per_sm", 32);
    const double resident = fmin(blocks, floor(threads / point->threads)) * sms;
    return fmin(point->ctas, resident) * point->threads * ilps[point->ilp].vector_bytes *
           ilps[point->ilp].unroll;
}

static enum fth_status measure(struct work *work, uint32_t ctas, uint32_t threads, uint32_t ilp,
                               struct fth_error *error)
{
    const bool quick = work->run->quick;
    struct point point = {.ctas = ctas, .threads = threads, .ilp = ilp};
    const uint64_t iteration_bytes =
        (uint64_t)ctas * threads * ilps[ilp].vector_bytes * ilps[ilp].unroll;
    const uint64_t max = quick ? quick_bytes : max_bytes;
    const uint64_t min = quick ? min_bytes : work->run->l2_bytes * MIN_L2_MULTIPLE / 2;
    uint64_t bytes = iteration_bytes * (quick ? QUICK_ITERATIONS : ITERATIONS);
    bytes = bytes > max ? max : bytes;
    bytes = bytes < min ? min : bytes;
    point.bytes = (bytes + min_bytes - 1) / min_bytes * min_bytes;
    struct fth_durations durations;
    enum fth_status status =
        time_copy(work, &point, point.bytes, quick, quick ? 1 : REPEATS, &durations, error);
    if (status == FTH_OK) {
        point.best = 2e9 * (double)point.bytes / durations.best_ns;
        point.median = 2e9 * (double)point.bytes / durations.median_ns;
        point.in_flight_bytes = in_flight_bytes(work, &point);
        status = fth_bench_check_rate(work->run, point.best, error);
    }
    if (status == FTH_OK)
        work->points[work->count++] = point;
    if (status != FTH_UNSUPPORTED && status != FTH_INCONCLUSIVE)
        return status;
    if (work->failures++ == 0)
        snprintf(work->reason, sizeof work->reason, "%u CTAs of %u threads, %s: %s", (unsigned)ctas,
                 (unsigned)threads, ilps[ilp].title, error->cause);
    *error = FTH_NO_ERROR;
    return FTH_OK;
}

/* Measures the time per iteration of one warp that copies one line at a time and waits for each:
 * the slope between two numbers of lines. */
static enum fth_status find_latency(struct work *work, struct fth_error *error)
{
    const struct point point = {.ctas = 1, .threads = 32};
    struct fth_durations shorter, longer;
    const uint64_t line = UINT64_C(32) * 4;
    const uint32_t repeats = work->run->quick ? 1 : REPEATS;
    enum fth_status status =
        time_copy(work, &point, SHORT_LINES * line, true, repeats, &shorter, error);
    if (status == FTH_OK)
        status = time_copy(work, &point, LONG_LINES * line, true, repeats, &longer, error);
    work->latency_ns = status == FTH_OK
                           ? (longer.median_ns - shorter.median_ns) / (LONG_LINES - SHORT_LINES)
                           : NAN;
    return status == FTH_OK
               ? FTH_OK
               : fth_bench_keep_failure(work->run->bench, "memory latency", status, error);
}

/* Measures all points, the largest first, so that memory is allocated only once. */
static enum fth_status measure_points(struct work *work, struct fth_error *error)
{
    const bool quick = work->run->quick;
    const double max = fth_gpu_number(work->run->gpu, "device", "max_threads_per_block", 1024);
    const uint32_t *cta_list = quick ? quick_ctas_per_8_sms : ctas_per_8_sms;
    const uint32_t *thread_list = quick ? quick_thread_counts : thread_counts;
    const size_t cta_count = quick ? FTH_COUNT(quick_ctas_per_8_sms) : FTH_COUNT(ctas_per_8_sms);
    const size_t thread_count = quick ? FTH_COUNT(quick_thread_counts) : FTH_COUNT(thread_counts);
    const size_t all = FTH_COUNT(ilps) * cta_count * thread_count;
    for (size_t i = 0; i < all; i++) {
        const size_t reverse = all - 1 - i;
        const uint32_t ilp = (uint32_t)(reverse / cta_count / thread_count);
        const uint32_t threads = thread_list[reverse % thread_count];
        const double ctas = (double)cta_list[reverse / thread_count % cta_count] *
                            (double)work->run->prober.sms / 8;
        if (threads > max || ctas < 1 || (quick && !ilps[ilp].quick))
            continue;
        FTH_TRY(fth_bench_progress(work->run, "copies of global memory", (double)i / (double)all,
                                   error));
        FTH_TRY(measure(work, (uint32_t)ctas, threads, ilp, error));
    }
    return FTH_OK;
}

/* ---- the tables ---- */

static enum fth_status add(const struct work *work, const char *quantity, double value,
                           struct fth_error *error)
{
    const struct fth_cell cells[] = {{.text = quantity, .number = NAN},
                                     {.number = round(100 * value) / 100}};
    return isnan(value) ? FTH_OK : fth_bench_add_row(work->run->bench, cells, error);
}

/* Returns the point with the fewest bytes in flight among those that reach `needed_fraction` of the
 * maximum throughput. */
static const struct point *find_needed(const struct work *work, double max)
{
    const struct point *needed = NULL;
    for (size_t i = 0; i < work->count; i++)
        if (work->points[i].best >= needed_fraction * max &&
            (!needed || work->points[i].in_flight_bytes < needed->in_flight_bytes))
            needed = &work->points[i];
    return needed;
}

/* Table 6 of the paper, and Little's law. Half of the bytes that a copy moves are loads. */
static enum fth_status note_summary(const struct work *work, struct fth_error *error)
{
    const struct fth_gpu *gpu = work->run->gpu;
    const struct point *best = NULL;
    for (size_t i = 0; i < work->count; i++)
        if (!best || work->points[i].best > best->best)
            best = &work->points[i];
    if (!best)
        return FTH_OK;
    const struct point *needed = find_needed(work, best->best);
    const struct {
        const char *quantity;
        double value;
    } rows[] = {
        {"f_mem (MHz)", fth_gpu_number(gpu, "device", "memory_clock_mhz", NAN)},
        {"Bus width (bits)", fth_gpu_number(gpu, "device", "memory_bus_bits", NAN)},
        {"Theoretical bandwidth (GB/s)", work->run->memory_limit / 1e9},
        {"Maximum throughput (GB/s)", best->best / 1e9},
        {"Efficiency (%)", 100 * best->best / work->run->memory_limit},
        {"  with CTAs", best->ctas},
        {"  threads per CTA", best->threads},
        {"  bytes per thread at a time", ilps[best->ilp].vector_bytes * ilps[best->ilp].unroll},
        {"Latency of a copied line (ns)", work->latency_ns},
        {"Little's law: in flight (KiB)",
         work->run->memory_limit / 2 * work->latency_ns / 1e9 / 1024},
        {"  for the maximum (KiB)", best->best / 2 * work->latency_ns / 1e9 / 1024},
        {"In flight at 95 % of maximum (KiB)", needed->in_flight_bytes / 1024},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        FTH_TRY(add(work, rows[i].quantity, rows[i].value, error));
    if (!isnan(work->run->memory_limit))
        FTH_TRY(fth_bench_add_figure(work->run->bench, "efficiency",
                                     round(1e4 * best->best / work->run->memory_limit) / 1e4, "",
                                     "maximum throughput / (memory clock x 2 x bus width)", error));
    if (!isnan(work->latency_ns))
        FTH_TRY(fth_bench_add_figure(
            work->run->bench, "needed_of_little",
            round(100 * needed->in_flight_bytes / (best->best / 2 * work->latency_ns / 1e9)) / 100,
            "",
            "minimum bytes in flight for 95 % of the maximum throughput / (half of the maximum x "
            "latency)",
            error));
    return FTH_OK;
}

static enum fth_status note_ilp(const struct work *work, uint32_t ilp, struct fth_error *error)
{
    char title[100];
    snprintf(title, sizeof title, "Global memory: GB/s of copies by CTAs and threads, %s at a time",
             ilps[ilp].title);
    bool added = false;
    for (size_t left = work->count; left > 0; left--) {
        const struct point *point = &work->points[left - 1];
        if (point->ilp != ilp)
            continue;
        if (!added) {
            FTH_TRY(fth_bench_add_series(work->run->bench, ilps[ilp].name, title, point_columns,
                                         FTH_COUNT(point_columns), error));
            fth_bench_show_grid(work->run->bench, 0, 1, 2);
            added = true;
        }
        const struct fth_cell cells[] = {
            {.number = point->ctas},
            {.number = point->threads},
            {.number = round(point->best / 1e8) / 10},
            {.number = round(point->median / 1e8) / 10},
            {.number = point->in_flight_bytes},
            {.number = (double)point->bytes / (1 << 20)},
        };
        FTH_TRY(fth_bench_add_row(work->run->bench, cells, error));
    }
    return FTH_OK;
}

/* Adds the number of points that failed and the reason of the first failure. */
static enum fth_status note_failures(const struct work *work, struct fth_error *error)
{
    char text[sizeof work->reason + 60];
    snprintf(text, sizeof text, "%zu points are missing; %s", work->failures, work->reason);
    return work->failures ? fth_bench_add_missing(work->run->bench, text, error) : FTH_OK;
}

/* Adds the tables of the points that were measured. */
static enum fth_status note_all(const struct work *work, struct fth_error *error)
{
    FTH_TRY(note_summary(work, error));
    FTH_TRY(note_failures(work, error));
    if (work->run->quick)
        FTH_TRY(fth_bench_add_missing(work->run->bench,
                                      "simulated GPU: fewer CTAs, sizes and ILPs, and copies of 1 "
                                      "to 8 MiB; use --thorough for all",
                                      error));
    for (uint32_t i = 0; i < FTH_COUNT(ilps); i++)
        FTH_TRY(note_ilp(work, i, error));
    return FTH_OK;
}

/* If the bench ends early, the complete points are still reported. */
static enum fth_status measure_all(struct work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    FTH_TRY(fth_bench_add_series(bench, "global",
                                 "Global memory: theoretical and achieved bandwidth", columns,
                                 FTH_COUNT(columns), error));
    work->latency_ns = NAN;
    enum fth_status status = measure_points(work, error);
    if (status == FTH_OK)
        status = find_latency(work, error);
    if (fth_bench_ended_early(status)) {
        (void)note_all(work, NULL); /* without memory, tables are missing */
        return status;
    }
    return status == FTH_OK ? note_all(work, error) : status;
}

enum fth_status fth_bench_global(const struct fth_bench_run *run, struct fth_error *error)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        return fth_no_memory(error, "bench", "global");
    work->run = run;
    enum fth_status status = measure_all(work, error);
    free(work);
    return status;
}
