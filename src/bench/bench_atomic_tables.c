/* Where atomics execute, and their throughput by type, scope and contention.
 *
 * One thread times atomics on many lines, one after the other. The lines are in the L2 or only in
 * memory. Loads leave a copy of a line in the partition of the L2 that is near the SM; an atomic
 * has to go to the line's home partition. The latency of atomics therefore has the two values of
 * near and far L2 hits if they execute in the L2, and one value near that of the L1 if they execute
 * in the SM. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>

enum {
    STRIDE_BYTES = 4224, /* 33 lines of 128 bytes, so that all slices of the L2 are visited */
    LINES = 1024,
    QUICK_LINES = 64,
    PASSES = 3, /* the last one is reported */
    LINE_BYTES = 128,
    BLOCK_BYTES = 1 << 18, /* between the words of two blocks: more than 1024 lines */
    SHARED_THREADS = 256,
    QUICK_THREADS = 64
};

/* ---- latency ---- */

static const struct fth_column latency_columns[] = {
    {"operation", "Access", FTH_COLUMN_TEXT},  {"data", "Data in", FTH_COLUMN_TEXT},
    {"p10_cycles", "10 %", FTH_COLUMN_NUMBER}, {"median_cycles", "Median", FTH_COLUMN_NUMBER},
    {"p90_cycles", "90 %", FTH_COLUMN_NUMBER},
};

/* Measures an access with the data in the L2, or in memory if `cold`. */
static enum fth_status add_latency(const struct fth_bench_run *run,
                                   enum fth_visit_operation operation, bool cold, double *median,
                                   struct fth_error *error)
{
    const struct fth_visit visit = {.operation = operation,
                                    .stride_bytes = STRIDE_BYTES,
                                    .count = run->quick ? QUICK_LINES : LINES,
                                    .passes = cold ? 1 : PASSES};
    struct fth_access_times times;
    const char *title = fth_visit_title(operation);
    *median = NAN;
    enum fth_status status = fth_probe_visits(&run->prober, &visit, cold, &times, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, title, status, error);
    *median = times.median;
    const struct fth_cell cells[] = {{.text = title, .number = NAN},
                                     {.text = cold ? "memory" : "L2", .number = NAN},
                                     {.number = round(times.p10)},
                                     {.number = round(times.median)},
                                     {.number = round(times.p90)}};
    return fth_bench_add_row(run->bench, cells, error);
}

static enum fth_status add_latencies(const struct fth_bench_run *run, struct fth_error *error)
{
    static const enum fth_visit_operation operations[] = {
        FTH_VISIT_CG, FTH_VISIT_CTA, FTH_VISIT_CLUSTER, FTH_VISIT_GPU, FTH_VISIT_SYS};
    FTH_TRY(fth_bench_add_series(run->bench, "atomics.latency",
                                 "Atomics: cycles of single accesses by one thread",
                                 latency_columns, FTH_COUNT(latency_columns), error));
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < 2 * FTH_COUNT(operations); i++) {
        const size_t index = i % FTH_COUNT(operations);
        double median;
        FTH_TRY(add_latency(run, operations[index], i >= FTH_COUNT(operations), &median, error));
        if (index == 0 || i >= FTH_COUNT(operations) || isnan(median))
            continue;
        low = fmin(low, median);
        high = fmax(high, median);
    }
    return high > 0 ? fth_bench_add_figure(run->bench, "scope_effect_percent",
                                           round(1000 * (high / low - 1)) / 10, "%",
                                           "largest difference of the medians of two scopes", error)
                    : FTH_OK;
}

/* ---- throughput ---- */

static const struct fth_column global_columns[] = {
    {"operation", "Operation", FTH_COLUMN_TEXT},
    {"one_word_per_s", "One word", FTH_COLUMN_NUMBER},
    {"per_sm_per_s", "One per SM", FTH_COLUMN_NUMBER},
    {"per_warp_per_s", "per warp", FTH_COLUMN_NUMBER},
    {"per_thread_per_s", "per thread", FTH_COLUMN_NUMBER},
    {"per_line_per_s", "per line", FTH_COLUMN_NUMBER},
};
static const struct fth_column shared_columns[] = {
    {"operation", "Operation", FTH_COLUMN_TEXT},
    {"one_word_per_cycle", "One word", FTH_COLUMN_NUMBER},
    {"per_warp_per_cycle", "One per warp", FTH_COLUMN_NUMBER},
    {"per_thread_per_cycle", "per thread", FTH_COLUMN_NUMBER},
    {"per_bank_row_per_cycle", "per 128 B", FTH_COLUMN_NUMBER},
};

/* Which threads share a word, and the distance of the words: the columns of the tables. */
struct contention {
    uint64_t stride, block_stride; /* bytes; UINT64_MAX: as many as the operand has */
    bool per_warp;
    uint32_t threads; /* Few if many threads share a word, because that takes long. */
};
#define OPERAND UINT64_MAX
static const struct contention global_contentions[] = {
    {0, 0, false, 128},
    {0, BLOCK_BYTES, false, 256},
    {LINE_BYTES, BLOCK_BYTES, true, 1024},
    {OPERAND, BLOCK_BYTES, false, 1024},
    {LINE_BYTES, BLOCK_BYTES, false, 1024},
};
static const struct contention shared_contentions[] = {
    {0, 0, false, SHARED_THREADS},
    {LINE_BYTES, 0, true, SHARED_THREADS},
    {OPERAND, 0, false, SHARED_THREADS},
    {LINE_BYTES, 0, false, SHARED_THREADS},
};
static const enum fth_operation global_operations[] = {
    FTH_ATOM_CTA, FTH_ATOM_CLUSTER, FTH_ATOM_GPU, FTH_ATOM_SYS,    FTH_ATOM_U64, FTH_ATOM_F16X2,
    FTH_ATOM_F32, FTH_ATOM_F64,     FTH_RED_CTA,  FTH_RED_CLUSTER, FTH_RED_GPU,  FTH_RED_SYS,
    FTH_RED_U64,  FTH_RED_F16X2,    FTH_RED_F32,  FTH_RED_F64};
static const enum fth_operation shared_operations[] = {FTH_ATOM_SHARED_U32,   FTH_ATOM_SHARED_U64,
                                                       FTH_ATOM_SHARED_F16X2, FTH_ATOM_SHARED_F32,
                                                       FTH_ATOM_SHARED_F64,   FTH_RED_SHARED_U32};

/* Measures the operations per cycle of all SMs. A failure is kept as a reason; *per_cycle is then
 * NAN. */
static enum fth_status measure(const struct fth_bench_run *run, enum fth_operation operation,
                               const struct contention *contention, uint32_t sms, double *per_cycle,
                               double *clock_mhz, struct fth_error *error)
{
    const uint32_t bytes = fth_operation_bytes(operation);
    const uint32_t threads = run->quick ? QUICK_THREADS : contention->threads;
    const struct fth_operate_plan plan = {
        .operate = {.operation = operation,
                    .chains = 1,
                    .threads = threads,
                    .sms = sms,
                    .passes = 1,
                    .stride_bytes = contention->stride == OPERAND ? bytes : contention->stride,
                    .block_stride_bytes = contention->block_stride,
                    .per_warp = contention->per_warp},
        .rounds = 1,
        .more_rounds = 2,
        .carveout_percent = -1};
    struct fth_figure cycles;
    *per_cycle = NAN;
    enum fth_status status = fth_probe_operate(&run->prober, &plan, &cycles, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, fth_operation_title(operation), status, error);
    *per_cycle = (double)threads * sms / cycles.value;
    *clock_mhz = cycles.clock_mhz;
    return FTH_OK;
}

/* Adds the row of an operation: one cell per contention. */
static enum fth_status add_throughput(const struct fth_bench_run *run, enum fth_operation operation,
                                      const struct contention *contentions, size_t count,
                                      uint32_t sms, bool per_second, struct fth_error *error)
{
    struct fth_cell cells[1 + FTH_COUNT(global_contentions)] = {
        {.text = fth_operation_title(operation), .number = NAN}};
    for (size_t i = 0; i < count; i++) {
        double per_cycle, clock_mhz = NAN;
        FTH_TRY(measure(run, operation, &contentions[i], sms, &per_cycle, &clock_mhz, error));
        if (isnan(per_cycle))
            return FTH_OK;
        cells[1 + i].number = round(1000 * per_cycle * (per_second ? clock_mhz / 1e3 : 1)) / 1000;
    }
    return fth_bench_add_row(run->bench, cells, error);
}

enum fth_status fth_bench_atomic_tables(const struct fth_bench_run *run, struct fth_error *error)
{
    /* On a simulated GPU, all SMs would take too long. */
    const uint32_t sms = run->quick ? 1 : (uint32_t)run->prober.sms;
    FTH_TRY(add_latencies(run, error));
    FTH_TRY(fth_bench_add_series(run->bench, "atomics.global",
                                 "Atomics in global memory: G/s of all SMs, by words",
                                 global_columns, FTH_COUNT(global_columns), error));
    const size_t count = FTH_COUNT(global_operations);
    for (size_t i = 0; i < count; i++) {
        FTH_TRY(fth_bench_progress(run, fth_operation_title(global_operations[i]),
                                   0.5 + 0.4 * (double)i / (double)count, error));
        FTH_TRY(add_throughput(run, global_operations[i], global_contentions,
                               FTH_COUNT(global_contentions), sms, true, error));
    }
    FTH_TRY(fth_bench_add_series(run->bench, "atomics.shared",
                                 "Atomics in shared memory: per cycle and SM, by words",
                                 shared_columns, FTH_COUNT(shared_columns), error));
    for (size_t i = 0; i < FTH_COUNT(shared_operations); i++)
        FTH_TRY(add_throughput(run, shared_operations[i], shared_contentions,
                               FTH_COUNT(shared_contentions), 1, false, error));
    return FTH_OK;
}
