/* Behaviour of the GPU's memory: the bandwidth of accesses that use a part of each stride, the
 * bandwidth of mixed reads and writes, and the delays of loads by refresh. */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

enum {
    THREADS = 1024,
    BLOCKS_PER_SM = 2,
    QUICK_THREADS = 256,
    REPEATS = 3,
    VECTOR_BYTES = 16,
    MIN_USED_BYTES = 32, /* a sector */
    MAX_USED_BYTES = 256,
    MAX_STRIDE_BYTES = 4096,
    QUICK_MAX_STRIDE_BYTES = 512,
    ALL_WRITES = 32, /* of struct fth_traffic */
    WRITE_STEP = 4
};
/* The bytes that are accessed, and the array that they lie in, at most. The accesses of the largest
 * stride then take about 40 us on an H200, more than the start of a launch. */
#define BYTES (UINT64_C(1) << 30)
#define FOOTPRINT (UINT64_C(8) << 30)
#define QUICK_BYTES (UINT64_C(2) << 20)
#define QUICK_FOOTPRINT (UINT64_C(16) << 20)
/* An access uses the whole bandwidth if it reaches this fraction of that of full lines. */
static const double full_rate = 0.9;

static struct fth_traffic make_traffic(const struct fth_bench_run *run, uint64_t used,
                                       uint64_t stride, uint32_t writes)
{
    const uint64_t memory = (uint64_t)fth_gpu_number(run->gpu, "memory", "size_bytes", 0);
    uint64_t footprint = run->quick ? QUICK_FOOTPRINT : FOOTPRINT;
    while (memory && footprint > memory / 16)
        footprint /= 2;
    uint64_t bytes = run->quick ? QUICK_BYTES : BYTES;
    while (bytes / used * stride > footprint)
        bytes /= 2;
    return (struct fth_traffic){.bytes = bytes,
                                .used_bytes = used,
                                .stride_bytes = stride,
                                .vector_bytes = VECTOR_BYTES,
                                .blocks = run->quick ? (uint32_t)run->prober.sms
                                                     : BLOCKS_PER_SM * (uint32_t)run->prober.sms,
                                .threads = run->quick ? QUICK_THREADS : THREADS,
                                .writes = writes,
                                .repeats = run->quick ? 1 : REPEATS};
}

/* ---- strides ---- */

static const struct fth_column stride_columns[] = {
    {"stride_bytes", "stride", FTH_COLUMN_NUMBER},
    {"used_bytes", "used", FTH_COLUMN_TEXT},
    {"gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
};

static enum fth_status add_stride(const struct fth_bench_run *run, uint64_t used, uint64_t stride,
                                  double *rate, struct fth_error *error)
{
    const struct fth_traffic traffic = make_traffic(run, used, stride, 0);
    struct fth_durations durations;
    char title[32];
    snprintf(title, sizeof title, "%llu B", (unsigned long long)used);
    FTH_TRY(fth_probe_traffic(&run->prober, &traffic, true, &durations, error));
    *rate = (double)traffic.bytes / durations.best_ns;
    const struct fth_cell cells[] = {{.number = (double)stride},
                                     {.text = title, .number = (double)used},
                                     {.number = round(10 * *rate) / 10}};
    return fth_bench_add_row(run->bench, cells, error);
}

static enum fth_status add_strides(const struct fth_bench_run *run, struct fth_error *error)
{
    const uint64_t largest = run->quick ? QUICK_MAX_STRIDE_BYTES : MAX_STRIDE_BYTES;
    double full = NAN, smallest = NAN;
    enum fth_status status = FTH_OK;
    FTH_TRY(fth_bench_add_series(run->bench, "memory.strides",
                                 "Memory: GB/s of used bytes, by stride and bytes used",
                                 stride_columns, FTH_COUNT(stride_columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    /* The largest array comes first, so that memory is allocated once. */
    for (uint64_t stride = largest; stride >= MIN_USED_BYTES && status == FTH_OK; stride /= 2) {
        FTH_TRY(fth_bench_progress(run, "strides", 0.5 - 0.1 * log2((double)stride) / 12, error));
        for (uint64_t used = FTH_MIN(stride, (uint64_t)MAX_USED_BYTES);
             used >= MIN_USED_BYTES && status == FTH_OK; used /= 2) {
            double rate = NAN;
            status = add_stride(run, used, stride, &rate, error);
            if (stride != largest || status != FTH_OK)
                continue;
            if (used == MAX_USED_BYTES)
                full = rate;
            if (rate >= full_rate * full)
                smallest = (double)used;
        }
    }
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "strides", status, error);
    return isnan(smallest) ? FTH_OK
                           : fth_bench_add_figure(run->bench, "efficient_bytes", smallest, "bytes",
                                                  "smallest part of a large stride that is read at "
                                                  "90 % of the rate of 256 bytes",
                                                  error);
}

/* ---- reads and writes ---- */

static const struct fth_column mix_columns[] = {
    {"write_percent", "Writes %", FTH_COLUMN_NUMBER},
    {"gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
    {"of_reads_percent", "of reads %", FTH_COLUMN_NUMBER},
};

static enum fth_status add_mixes(const struct fth_bench_run *run, struct fth_error *error)
{
    double reads = NAN, worst = INFINITY, worst_percent = NAN;
    FTH_TRY(fth_bench_add_series(run->bench, "memory.mix", "Memory: GB/s of mixed reads and writes",
                                 mix_columns, FTH_COUNT(mix_columns), error));
    FTH_TRY(fth_bench_progress(run, "reads and writes", 0.6, error));
    for (uint32_t writes = 0; writes <= ALL_WRITES; writes += WRITE_STEP) {
        const struct fth_traffic traffic =
            make_traffic(run, MAX_USED_BYTES, MAX_USED_BYTES, writes);
        struct fth_durations durations;
        enum fth_status status = fth_probe_traffic(&run->prober, &traffic, true, &durations, error);
        if (status != FTH_OK)
            return fth_bench_keep_failure(run->bench, "reads and writes", status, error);
        const double rate = (double)traffic.bytes / durations.best_ns;
        const double percent = 100.0 * writes / ALL_WRITES;
        reads = writes == 0 ? rate : reads;
        if (rate < worst) {
            worst = rate;
            worst_percent = percent;
        }
        const struct fth_cell cells[] = {{.number = percent},
                                         {.number = round(10 * rate) / 10},
                                         {.number = round(1000 * rate / reads) / 10}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return fth_bench_add_figure(run->bench, "slowest_write_percent", worst_percent, "%",
                                "share of writes with the lowest bandwidth", error);
}

/* ---- refresh ---- */

static const struct fth_column refresh_columns[] = {
    {"delay", "Delay", FTH_COLUMN_TEXT},
    {"period_ns", "Period ns", FTH_COLUMN_NUMBER},
    {"low_ns", "Low", FTH_COLUMN_NUMBER},
    {"high_ns", "High", FTH_COLUMN_NUMBER},
    {"cycles", "Longest cycles", FTH_COLUMN_NUMBER},
    {"delayed_percent", "Loads %", FTH_COLUMN_NUMBER},
};

/* Adds a row for a kind of delay, and writes its attributes. */
static enum fth_status add_delays(const struct fth_bench_run *run, const char *title,
                                  const char *period_name, const char *cycles_name,
                                  const struct fth_delays *delays, struct fth_error *error)
{
    if (isnan(delays->period_ns)) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s: %s", title, delays->reason);
        FTH_TRY(fth_bench_add_missing(run->bench, reason, error));
        FTH_TRY(fth_note_unknown(run->described, "memory", period_name, delays->reason, error));
        return fth_note_unknown(run->described, "memory", cycles_name, delays->reason, error);
    }
    /* Three repeats, of which one has `events`. */
    const double part =
        (double)delays->events / ((double)delays->samples / delays->evidence.repeats);
    const struct fth_cell cells[] = {{.text = title, .number = NAN},
                                     {.number = round(100 * delays->period_ns) / 100},
                                     {.number = round(100 * delays->period_low_ns) / 100},
                                     {.number = round(100 * delays->period_high_ns) / 100},
                                     {.number = round(delays->cycles)},
                                     {.number = round(10000 * part) / 100}};
    FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    const double interval[] = {round(10 * delays->period_low_ns) / 10,
                               round(10 * delays->period_high_ns) / 10};
    const struct fth_note notes[] = {
        {.element = "memory",
         .attribute = period_name,
         .number = round(10 * delays->period_ns) / 10,
         .interval = interval,
         .evidence = &delays->evidence,
         .samples = delays->samples,
         .method = "period of the delays of loads that miss the L2, one thread"},
        {.element = "memory",
         .attribute = cycles_name,
         .number = round(delays->cycles),
         .evidence = &delays->cycles_evidence,
         .samples = delays->samples,
         .method = "98 % quantile of these delays: a lower bound, because loads can fall into step "
                   "with them"}};
    FTH_TRY(fth_note(run->described, &notes[0], error));
    return fth_note(run->described, &notes[1], error);
}

static enum fth_status add_refresh(const struct fth_bench_run *run, struct fth_error *error)
{
    struct fth_delays refresh, pauses;
    FTH_TRY(fth_bench_add_series(run->bench, "memory.refresh", "Memory: periodic delays of loads",
                                 refresh_columns, FTH_COUNT(refresh_columns), error));
    FTH_TRY(fth_bench_progress(run, "refresh", 0.8, error));
    enum fth_status status = fth_probe_refresh(&run->prober, &refresh, &pauses, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "refresh", status, error);
    FTH_TRY(add_delays(run, "refresh", "refresh_period_ns", "refresh_cycles", &refresh, error));
    return add_delays(run, "pause", "pause_period_ns", "pause_cycles", &pauses, error);
}

enum fth_status fth_bench_memory(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(add_strides(run, error));
    FTH_TRY(add_mixes(run, error));
    return add_refresh(run, error);
}
