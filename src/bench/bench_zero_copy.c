/* Accesses of kernels to host memory through the link: the latency of single accesses, the
 * bandwidth of loads and stores by the number of blocks and the width of an access, and the faults
 * of managed memory, which moves to the GPU when it is accessed. */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

enum {
    STRIDE_BYTES = 4224, /* 33 lines of 128 bytes */
    WORDS = 512,
    QUICK_WORDS = 64,
    PASSES = 3,
    THREADS = 1024,
    REPEATS = 3,
    MAX_WRITES = 32,        /* of struct fth_traffic: all accesses are stores */
    FAULT_STEP_BYTES = 4096 /* the pages of most hosts */
};
#define BYTES (UINT64_C(64) << 20) /* per launch; long compared with the latency */
#define QUICK_BYTES (UINT64_C(256) << 10)
/* Maximum number of blocks on a simulated GPU. Chosen: with their threads, more bytes are in flight
 * than a link of 64 GB/s with a latency of 2 us needs. */
enum { QUICK_BLOCKS = 16 };
#define FAULT_BYTES (UINT64_C(16) << 20) /* eight of the largest blocks that the driver moves */

/* ---- latency ---- */

static const struct fth_column latency_columns[] = {
    {"operation", "Access", FTH_COLUMN_TEXT},    {"first_ns", "First ns", FTH_COLUMN_NUMBER},
    {"p10_ns", "Again 10 %", FTH_COLUMN_NUMBER}, {"median_ns", "Median", FTH_COLUMN_NUMBER},
    {"p90_ns", "90 %", FTH_COLUMN_NUMBER},
};

static enum fth_status add_latency(const struct fth_bench_run *run,
                                   enum fth_visit_operation operation, double *first_ns,
                                   struct fth_error *error)
{
    const struct fth_visit visit = {.operation = operation,
                                    .residence = FTH_RESIDES_HOST,
                                    .stride_bytes = STRIDE_BYTES,
                                    .count = run->quick ? QUICK_WORDS : WORDS,
                                    .passes = PASSES};
    struct fth_access_times times;
    *first_ns = NAN;
    enum fth_status status = fth_probe_visits(&run->prober, &visit, false, &times, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, fth_visit_title(operation), status, error);
    const double ns = 1e3 / times.clock_mhz;
    *first_ns = times.first.median * ns;
    const struct fth_cell cells[] = {{.text = fth_visit_title(operation), .number = NAN},
                                     {.number = round(times.first.median * ns)},
                                     {.number = round(times.p10 * ns)},
                                     {.number = round(times.median * ns)},
                                     {.number = round(times.p90 * ns)}};
    FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    if (operation != FTH_VISIT_CG)
        return FTH_OK;
    const double interval[] = {round(times.p10 * ns), round(times.p90 * ns)};
    const struct fth_note note = {
        .element = "device",
        .attribute = "link_load_latency_ns",
        .number = round(times.median * ns),
        .interval = interval,
        .samples = times.samples,
        .method = "loads of one thread from pinned host memory, past the L1; interval: 10 % and "
                  "90 % quantiles"};
    return fth_note(run->described, &note, error);
}

static enum fth_status add_latencies(const struct fth_bench_run *run, struct fth_error *error)
{
    static const enum fth_visit_operation operations[] = {FTH_VISIT_CG, FTH_VISIT_CA, FTH_VISIT_CTA,
                                                          FTH_VISIT_GPU, FTH_VISIT_SYS};
    FTH_TRY(fth_bench_add_series(run->bench, "link.latency",
                                 "Link: ns of single accesses to pinned host memory",
                                 latency_columns, FTH_COUNT(latency_columns), error));
    for (size_t i = 0; i < FTH_COUNT(operations); i++) {
        double first_ns;
        FTH_TRY(add_latency(run, operations[i], &first_ns, error));
        if (i == 0 && isnan(first_ns))
            break; /* There is no such memory; one reason is enough. */
    }
    return FTH_OK;
}

/* ---- bandwidth ---- */

static const struct fth_column bandwidth_columns[] = {
    {"blocks", "blocks", FTH_COLUMN_NUMBER},
    {"access", "access", FTH_COLUMN_TEXT},
    {"gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
};

struct best_rates {
    double rates[2];   /* bytes per second of loads and stores */
    double medians[2]; /* of the repeats of the launch that reached this rate */
    size_t repeats;    /* of each launch */
};

static enum fth_status add_bandwidth(const struct fth_bench_run *run, uint32_t blocks,
                                     uint32_t vector_bytes, bool stores, double column,
                                     struct best_rates *best, struct fth_error *error)
{
    const uint64_t bytes = run->quick ? QUICK_BYTES : BYTES;
    const struct fth_traffic traffic = {.residence = FTH_RESIDES_HOST,
                                        .bytes = bytes,
                                        .used_bytes = bytes,
                                        .stride_bytes = bytes,
                                        .vector_bytes = vector_bytes,
                                        .blocks = blocks,
                                        .threads = THREADS,
                                        .writes = stores ? MAX_WRITES : 0,
                                        .repeats = run->quick ? 1 : REPEATS};
    struct fth_durations durations;
    char title[32];
    snprintf(title, sizeof title, "%s %u B", stores ? "store" : "load", (unsigned)vector_bytes);
    FTH_TRY(fth_probe_traffic(&run->prober, &traffic, false, &durations, error));
    const double rate = (double)bytes / durations.best_ns * 1e9;
    if (rate > best->rates[stores]) {
        best->rates[stores] = rate;
        best->medians[stores] = (double)bytes / durations.median_ns * 1e9;
    }
    best->repeats = durations.count;
    const struct fth_cell cells[] = {
        {.number = blocks}, {.text = title, .number = column}, {.number = round(rate / 1e7) / 100}};
    return fth_bench_add_row(run->bench, cells, error);
}

static enum fth_status note_bandwidth(const struct fth_bench_run *run, const char *attribute,
                                      const struct best_rates *best, bool stores,
                                      struct fth_error *error)
{
    const double rate = round(best->rates[stores] / 1e6) * 1e6;
    const double interval[] = {round(best->medians[stores] / 1e6) * 1e6, rate};
    const struct fth_note note = {
        .element = "device",
        .attribute = attribute,
        .number = rate,
        .interval = interval,
        .samples = best->repeats,
        .method =
            "kernel on pinned host memory, best number of blocks and width; the median of the "
            "repeats is the other end of the interval"};
    return rate > 0 ? fth_note(run->described, &note, error) : FTH_OK;
}

static enum fth_status add_bandwidths(const struct fth_bench_run *run, struct fth_error *error)
{
    const uint32_t sms = (uint32_t)run->prober.sms;
    struct best_rates best = {.repeats = 0};
    enum fth_status status = FTH_OK;
    FTH_TRY(fth_bench_add_series(run->bench, "link.kernels",
                                 "Link: GB/s of kernels on pinned host memory, by blocks",
                                 bandwidth_columns, FTH_COUNT(bandwidth_columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    const uint32_t max_blocks = run->quick && sms > QUICK_BLOCKS ? QUICK_BLOCKS : sms;
    for (uint32_t blocks = 1; blocks <= max_blocks && status == FTH_OK;
         blocks = blocks < sms && 4 * blocks > sms ? sms : 4 * blocks) {
        FTH_TRY(fth_bench_progress(run, "host memory", 0.8, error));
        double column = 0;
        for (int stores = 0; stores < 2; stores++)
            for (uint32_t bytes = 4; bytes <= 16 && status == FTH_OK; bytes *= 2)
                status = add_bandwidth(run, blocks, bytes, stores, column++, &best, error);
    }
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "host memory", status, error);
    FTH_TRY(note_bandwidth(run, "link_load_bytes_per_s", &best, false, error));
    return note_bandwidth(run, "link_store_bytes_per_s", &best, true, error);
}

/* ---- managed memory ---- */

static const struct fth_column managed_columns[] = {
    {"access", "Access", FTH_COLUMN_TEXT},
    {"first_gb_per_s", "First GB/s", FTH_COLUMN_NUMBER},
    {"later_gb_per_s", "Later GB/s", FTH_COLUMN_NUMBER},
};

static enum fth_status add_managed_reads(const struct fth_bench_run *run, bool prefetched,
                                         struct fth_error *error)
{
    const uint64_t bytes = run->quick ? QUICK_BYTES : BYTES;
    const struct fth_traffic traffic = {.residence = FTH_RESIDES_MANAGED,
                                        .prefetched = prefetched,
                                        .bytes = bytes,
                                        .used_bytes = bytes,
                                        .stride_bytes = bytes,
                                        .vector_bytes = 16,
                                        .blocks = run->quick ? 1 : (uint32_t)run->prober.sms,
                                        .threads = THREADS,
                                        .repeats = REPEATS};
    struct fth_durations durations;
    const char *title = prefetched ? "read, prefetched" : "read, moved by faults";
    enum fth_status status = fth_probe_traffic(&run->prober, &traffic, false, &durations, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, title, status, error);
    /* The first launch, which moves the memory, is the slowest one. */
    const struct fth_cell cells[] = {
        {.text = title, .number = NAN},
        {.number = round(100 * (double)bytes / durations.worst_ns) / 100},
        {.number = round(100 * (double)bytes / durations.best_ns) / 100}};
    return fth_bench_add_row(run->bench, cells, error);
}

static enum fth_status note_faults(const struct fth_bench_run *run, const struct fth_faults *faults,
                                   struct fth_error *error)
{
    const double interval[] = {round(faults->low_ns), round(faults->high_ns)};
    const struct fth_note notes[] = {
        {.element = "device",
         .attribute = "managed_fault_ns",
         .number = round(faults->fault_ns),
         .interval = interval,
         .samples = faults->count,
         .method = "first loads of managed memory in steps of 4 KiB, in order: median of those "
                   "that moved pages; interval: 5 % and 95 % quantiles"},
        {.element = "device",
         .attribute = "managed_page_bytes",
         .number = (double)faults->page_bytes,
         .evidence = &faults->page_evidence,
         .samples = faults->count,
         .method =
             "first loads of managed memory in steps of 4 KiB, in order: smallest distance of "
             "two loads that moved pages"}};
    FTH_TRY(fth_bench_add_figure(run->bench, "fault_us", round(faults->fault_ns / 10) / 100, "us",
                                 "median of the first loads that moved pages", error));
    FTH_TRY(fth_bench_add_figure(run->bench, "page_kib", (double)faults->page_bytes / 1024, "KiB",
                                 "smallest distance of two such loads", error));
    FTH_TRY(
        fth_bench_add_figure(run->bench, "kib_per_fault",
                             round(10 * (double)FAULT_BYTES / 1024 / (double)faults->count) / 10,
                             "KiB", "moved per such load, in order", error));
    for (size_t i = 0; i < FTH_COUNT(notes); i++)
        FTH_TRY(fth_note(run->described, &notes[i], error));
    return FTH_OK;
}

static enum fth_status add_managed(const struct fth_bench_run *run, struct fth_error *error)
{
    struct fth_faults faults;
    FTH_TRY(fth_bench_add_series(run->bench, "link.managed",
                                 "Link: managed memory, read by all SMs", managed_columns,
                                 FTH_COUNT(managed_columns), error));
    FTH_TRY(fth_bench_progress(run, "managed memory", 0.9, error));
    enum fth_status status =
        fth_probe_faults(&run->prober, FAULT_BYTES, FAULT_STEP_BYTES, &faults, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "faults", status, error);
    FTH_TRY(add_managed_reads(run, false, error));
    FTH_TRY(add_managed_reads(run, true, error));
    return note_faults(run, &faults, error);
}

enum fth_status fth_bench_zero_copy(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(add_latencies(run, error));
    FTH_TRY(add_bandwidths(run, error));
    return add_managed(run, error);
}
