/* Atomic operations: what one costs that waits for the one before, and how many pass in a cycle;
 * every thread with a place of its own, and all of them after the same. */
#include "bench/bench.h"

#include <math.h>

enum { MIN_ROUNDS = 1, MAX_ROUNDS = 2, PASSES = 2, APART = 8, BLOCK_APART = 1 << 16 };

static const struct fth_column columns[] = {
    {"operation", "Operation", FTH_COLUMN_TEXT}, {"contended", "Contended", FTH_COLUMN_TEXT},
    {"sms", "SMs", FTH_COLUMN_NUMBER},           {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"cycles", "Cycles", FTH_COLUMN_NUMBER},     {"per_cycle", "a cycle", FTH_COLUMN_NUMBER},
    {"per_s", "G/s", FTH_COLUMN_NUMBER},
};

struct shape {
    enum fth_operation operation;
    bool contended;
    uint32_t sms, threads; /* 0: all */
};

static enum fth_status measure(const struct fth_bench_run *run, const struct shape *shape,
                               struct fth_error *error)
{
    const uint32_t sms = shape->sms ? shape->sms : (uint32_t)run->prober.sms;
    const bool apart = !shape->contended && fth_operation_in_global(shape->operation);
    const struct fth_operate_plan plan = {
        .operate = {.operation = shape->operation,
                    .chains = 1,
                    .threads = shape->threads,
                    .sms = sms,
                    .passes = run->quick ? 1 : PASSES,
                    .stride_bytes = shape->contended ? 0 : APART,
                    .block_stride_bytes = apart ? BLOCK_APART : 0},
        .rounds = MIN_ROUNDS,
        .more_rounds = MAX_ROUNDS,
        .carveout_percent = -1};
    struct fth_figure cycles;
    enum fth_status status = fth_probe_operate(&run->prober, &plan, &cycles, error);
    if (status != FTH_OK)
        return fth_bench_failure(run->bench, fth_operation_title(shape->operation), status, error);
    const double per_cycle = (double)shape->threads * sms / cycles.value;
    const struct fth_cell cells[] = {
        {.text = fth_operation_title(shape->operation), .number = NAN},
        {.text = shape->contended ? "yes" : "no", .number = NAN},
        {.number = sms},
        {.number = shape->threads},
        {.number = round(10 * cycles.value) / 10},
        {.number = round(1000 * per_cycle) / 1000},
        {.number = round(1000 * per_cycle * cycles.clock_mhz / 1e3) / 1000},
    };
    return fth_bench_row(run->bench, cells, error);
}

enum fth_status fth_bench_atomics(const struct fth_bench_run *run, struct fth_error *error)
{
    static const enum fth_operation operations[] = {FTH_ATOMIC_SHARED, FTH_ATOMIC_GLOBAL,
                                                    FTH_ATOMIC_CAS};
    static const struct {
        uint32_t sms, threads;
    } sizes[] = {{1, 1}, {1, 32}, {1, 1024}, {0, 256}};
    enum fth_status status = fth_bench_add(run->bench, "atomics", "Atomic operations", columns,
                                           FTH_COUNT(columns), error);
    const double max = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    const size_t all = 2 * FTH_COUNT(operations) * FTH_COUNT(sizes);
    for (size_t i = 0; i < all && status == FTH_OK; i++) {
        const size_t size = i % FTH_COUNT(sizes);
        struct shape shape = {operations[i / FTH_COUNT(sizes) / 2], i / FTH_COUNT(sizes) % 2 == 1,
                              sizes[size].sms, sizes[size].threads};
        if (shape.threads > max)
            shape.threads = (uint32_t)max;
        /* The SMs do not share their shared memory, and a simulated GPU's are many. */
        if (shape.sms == 0 && (fth_operation_in_shared(shape.operation) || run->quick))
            continue;
        status = fth_bench_progress(run, fth_operation_title(shape.operation),
                                    (double)i / (double)all, error);
        if (status == FTH_OK)
            status = measure(run, &shape, error);
    }
    return status;
}
