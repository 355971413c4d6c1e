/* Throughput of global memory: a copy over the number of CTAs, their size and ILP (section 5.1 of
 * Mei and Chu: Fig. 12 and Table 6), and what Little's law asks to be under way against what was
 * needed. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 3, TURNS = 64, QUICK_TURNS = 4, L2_SIZES = 4, CHAIN = 256, LONG_CHAIN = 1024 };
/* An array: each thread goes on TURNS times, within this; and two are four times L2, so that what
 * stays in it is little. Those of a simulated GPU are in no cache at the begin, and what is written
 * counts at once. */
static const uint64_t min_bytes = 1 << 20, max_bytes = UINT64_C(512) << 20,
                      quick_bytes = UINT64_C(8) << 20;
/* As much is needed as gives this part of the most. */
static const double enough = 0.95;

/* CTAs, in eighths of the number of SMs. */
static const uint32_t counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256}, quick_counts[] = {4, 8, 16};
static const uint32_t sizes[] = {32, 64, 128, 256, 512, 1024}, quick_sizes[] = {64, 256, 1024};
/* ILP is the number of 4-byte words that a thread copies at a time; the last as one vector. */
static const struct ilp {
    const char *name, *title;
    uint32_t vector_bytes, unroll;
    bool quick;
} ilps[] = {
    {"global.ilp1", "1 word", 4, 1, true},
    {"global.ilp2", "2 words", 4, 2, false},
    {"global.ilp4", "4 words", 4, 4, true},
    {"global.ilp8", "8 words", 4, 8, false},
    {"global.vector", "a vector of 16 bytes", 16, 1, true},
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
    {"under_way_bytes", "Under way", FTH_COLUMN_NUMBER},
    {"array_mib", "MiB", FTH_COLUMN_NUMBER},
};

struct point {
    uint32_t ctas, threads, ilp;
    uint64_t bytes;
    double best, median; /* bytes a second */
    double under_way;    /* bytes that loads wait for, at most */
};
enum { MAX_POINTS = FTH_COUNT(counts) * FTH_COUNT(sizes) * FTH_COUNT(ilps) };

struct work {
    const struct fth_bench_run *run;
    double latency_ns;
    struct point points[MAX_POINTS];
    size_t count, failures;
    char reason[sizeof((struct fth_error *)0)->cause + 100]; /* of the first */
};

/* ---- measuring ---- */

static enum fth_status ask(const struct work *work, const struct point *point, uint64_t bytes,
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

/* Loads that are under way at once: of all threads that the SMs hold. */
static double under_way(const struct work *work, const struct point *point)
{
    const struct fth_gpu *gpu = work->run->gpu;
    const double sms = (double)work->run->prober.sms;
    const double threads = fth_gpu_number(gpu, "device", "max_threads_per_sm", 1024);
    const double blocks = fth_gpu_number(gpu, "device", "max_blocks_per_sm", 32);
    const double held = fmin(blocks, floor(threads / point->threads)) * sms;
    return fmin(point->ctas, held) * point->threads * ilps[point->ilp].vector_bytes *
           ilps[point->ilp].unroll;
}

static enum fth_status measure(struct work *work, uint32_t ctas, uint32_t threads, uint32_t ilp,
                               struct fth_error *error)
{
    const bool quick = work->run->quick;
    struct point point = {.ctas = ctas, .threads = threads, .ilp = ilp};
    const uint64_t turn = (uint64_t)ctas * threads * ilps[ilp].vector_bytes * ilps[ilp].unroll;
    const uint64_t max = quick ? quick_bytes : max_bytes;
    const uint64_t min = quick ? min_bytes : work->run->l2_bytes * L2_SIZES / 2;
    uint64_t bytes = turn * (quick ? QUICK_TURNS : TURNS);
    bytes = bytes > max ? max : bytes;
    bytes = bytes < min ? min : bytes;
    point.bytes = (bytes + min_bytes - 1) / min_bytes * min_bytes;
    struct fth_durations durations;
    enum fth_status status =
        ask(work, &point, point.bytes, quick, quick ? 1 : REPEATS, &durations, error);
    point.best = 2e9 * (double)point.bytes / durations.best_ns;
    point.median = 2e9 * (double)point.bytes / durations.median_ns;
    point.under_way = under_way(work, &point);
    if (status == FTH_OK)
        status = fth_bench_check_rate(work->run, point.best, error);
    if (status == FTH_OK)
        work->points[work->count++] = point;
    if (status != FTH_UNSUPPORTED && status != FTH_UNAVAILABLE && status != FTH_INCONCLUSIVE)
        return status;
    if (work->failures++ == 0)
        snprintf(work->reason, sizeof work->reason, "%u CTAs of %u threads, %s: %s", (unsigned)ctas,
                 (unsigned)threads, ilps[ilp].title, error->cause);
    *error = FTH_NO_ERROR;
    return FTH_OK;
}

/* One warp that copies a line at a time waits for each: what a turn takes, from chains of two
 * lengths. */
static enum fth_status find_latency(struct work *work, struct fth_error *error)
{
    const struct point point = {.ctas = 1, .threads = 32};
    struct fth_durations shorter, longer;
    const uint64_t line = UINT64_C(32) * 4;
    const uint32_t repeats = work->run->quick ? 1 : REPEATS;
    enum fth_status status = ask(work, &point, CHAIN * line, true, repeats, &shorter, error);
    if (status == FTH_OK)
        status = ask(work, &point, LONG_CHAIN * line, true, repeats, &longer, error);
    work->latency_ns =
        status == FTH_OK ? (longer.median_ns - shorter.median_ns) / (LONG_CHAIN - CHAIN) : NAN;
    return status == FTH_OK
               ? FTH_OK
               : fth_bench_failure(work->run->bench, "latency of memory", status, error);
}

/* The largest first, so that memory is taken once. */
static enum fth_status measure_points(struct work *work, struct fth_error *error)
{
    const bool quick = work->run->quick;
    const double max = fth_gpu_number(work->run->gpu, "device", "max_threads_per_block", 1024);
    const uint32_t *count_list = quick ? quick_counts : counts;
    const uint32_t *size_list = quick ? quick_sizes : sizes;
    const size_t count_count = quick ? FTH_COUNT(quick_counts) : FTH_COUNT(counts);
    const size_t size_count = quick ? FTH_COUNT(quick_sizes) : FTH_COUNT(sizes);
    const size_t all = FTH_COUNT(ilps) * count_count * size_count;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < all && status == FTH_OK; i++) {
        const size_t back = all - 1 - i;
        const uint32_t ilp = (uint32_t)(back / count_count / size_count);
        const uint32_t threads = size_list[back % size_count];
        const double ctas =
            (double)count_list[back / size_count % count_count] * (double)work->run->prober.sms / 8;
        if (threads > max || ctas < 1 || (quick && !ilps[ilp].quick))
            continue;
        status = fth_bench_progress(work->run, "copies of global memory", (double)i / (double)all,
                                    error);
        if (status == FTH_OK)
            status = measure(work, (uint32_t)ctas, threads, ilp, error);
    }
    return status;
}

/* ---- the tables ---- */

static enum fth_status add(const struct work *work, const char *quantity, double value,
                           struct fth_error *error)
{
    const struct fth_cell cells[] = {{.text = quantity, .number = NAN},
                                     {.number = round(100 * value) / 100}};
    return isnan(value) ? FTH_OK : fth_bench_row(work->run->bench, cells, error);
}

/* The least that is under way where nearly as much passes as at most. */
static const struct point *find_needed(const struct work *work, double max)
{
    const struct point *needed = NULL;
    for (size_t i = 0; i < work->count; i++)
        if (work->points[i].best >= enough * max &&
            (!needed || work->points[i].under_way < needed->under_way))
            needed = &work->points[i];
    return needed;
}

/* Table 6, and Little's law. A copy's loads are half of what passes. */
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
        {"with CTAs", best->ctas},
        {"of threads", best->threads},
        {"that copy at a time (bytes)", ilps[best->ilp].vector_bytes * ilps[best->ilp].unroll},
        {"Latency of a copied line (ns)", work->latency_ns},
        {"Little's law: loads under way (KiB)",
         work->run->memory_limit / 2 * work->latency_ns / 1e9 / 1024},
        {"the same for the maximum (KiB)", best->best / 2 * work->latency_ns / 1e9 / 1024},
        {"under way where 95 % pass (KiB)", needed->under_way / 1024},
    };
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(rows) && status == FTH_OK; i++)
        status = add(work, rows[i].quantity, rows[i].value, error);
    if (status == FTH_OK && !isnan(work->run->memory_limit))
        status = fth_bench_figure(work->run->bench, "efficiency",
                                  round(1e4 * best->best / work->run->memory_limit) / 1e4, "",
                                  "maximum throughput over memory clock x 2 x bus", error);
    if (status == FTH_OK && !isnan(work->latency_ns))
        status = fth_bench_figure(
            work->run->bench, "needed_of_little",
            round(100 * needed->under_way / (best->best / 2 * work->latency_ns / 1e9)) / 100, "",
            "the least bytes of loads under way that give 95 % of the maximum, over the maximum's "
            "half x latency",
            error);
    return status;
}

static enum fth_status note_ilp(const struct work *work, uint32_t ilp, struct fth_error *error)
{
    char title[100];
    snprintf(title, sizeof title, "Global memory: GB/s of a copy by CTAs and threads, %s at a time",
             ilps[ilp].title);
    bool added = false;
    enum fth_status status = FTH_OK;
    for (size_t left = work->count; left > 0 && status == FTH_OK; left--) {
        const struct point *point = &work->points[left - 1];
        if (point->ilp != ilp)
            continue;
        if (!added) {
            status = fth_bench_add(work->run->bench, ilps[ilp].name, title, point_columns,
                                   FTH_COUNT(point_columns), error);
            if (status == FTH_OK)
                fth_bench_grid(work->run->bench, 0, 1, 2);
            added = true;
        }
        const struct fth_cell cells[] = {
            {.number = point->ctas},
            {.number = point->threads},
            {.number = round(point->best / 1e8) / 10},
            {.number = round(point->median / 1e8) / 10},
            {.number = point->under_way},
            {.number = (double)point->bytes / (1 << 20)},
        };
        if (status == FTH_OK)
            status = fth_bench_row(work->run->bench, cells, error);
    }
    return status;
}

/* What could not be measured, with the reason of the first. */
static enum fth_status note_failures(const struct work *work, struct fth_error *error)
{
    char text[sizeof work->reason + 60];
    snprintf(text, sizeof text, "%zu points are missing; %s", work->failures, work->reason);
    return work->failures ? fth_bench_missing(work->run->bench, text, error) : FTH_OK;
}

static enum fth_status measure_all(struct work *work, struct fth_error *error)
{
    struct fth_bench *bench = work->run->bench;
    enum fth_status status =
        fth_bench_add(bench, "global", "Global memory: theoretical and achieved bandwidth", columns,
                      FTH_COUNT(columns), error);
    work->latency_ns = NAN;
    if (status == FTH_OK)
        status = measure_points(work, error);
    if (status == FTH_OK)
        status = find_latency(work, error);
    /* What is complete is told also where the rest is not to come. */
    const bool interrupted = status == FTH_INTERRUPTED;
    if (interrupted) {
        status = fth_bench_missing(bench, "interrupted: points are missing", NULL);
        error = NULL;
    }
    if (status == FTH_OK)
        status = note_summary(work, error);
    if (status == FTH_OK)
        status = note_failures(work, error);
    if (status == FTH_OK && work->run->quick)
        status = fth_bench_missing(bench,
                                   "simulated: fewer CTAs, sizes and ILPs, and copies of 1 to 8 "
                                   "MiB; --thorough has all",
                                   error);
    for (uint32_t i = 0; i < FTH_COUNT(ilps) && status == FTH_OK; i++)
        status = note_ilp(work, i, error);
    return interrupted ? FTH_INTERRUPTED : status;
}

enum fth_status fth_bench_global(const struct fth_bench_run *run, struct fth_error *error)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        return fth_fail(error, FTH_NO_MEMORY, "bench", "global", "out of memory");
    work->run = run;
    enum fth_status status = measure_all(work, error);
    free(work);
    return status;
}
