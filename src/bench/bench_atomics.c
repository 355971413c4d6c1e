/* Latency and throughput of atomic operations in shared and global memory. Each thread executes a
 * chain of dependent operations. Uncontended, every thread has an address of its own; contended,
 * all threads use the same address. */
#include "bench/bench.h"

#include <math.h>

/* The cycles of an operation are the slope between MIN_ROUNDS and MAX_ROUNDS rounds, the medians of
 * PASSES samples. The strides are the distances in bytes between the addresses of neighbouring
 * threads and of neighbouring blocks without contention. */
enum { MIN_ROUNDS = 1, MAX_ROUNDS = 2, PASSES = 2, STRIDE_BYTES = 8, BLOCK_STRIDE_BYTES = 1 << 16 };

static const struct fth_column columns[] = {
    {"operation", "Operation", FTH_COLUMN_TEXT}, {"contended", "Contended", FTH_COLUMN_TEXT},
    {"sms", "SMs", FTH_COLUMN_NUMBER},           {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"cycles", "Cycles", FTH_COLUMN_NUMBER},     {"per_cycle", "/cycle", FTH_COLUMN_NUMBER},
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
    const bool separate_blocks = !shape->contended && fth_operation_in_global(shape->operation);
    const struct fth_operate_plan plan = {
        .operate = {.operation = shape->operation,
                    .chains = 1,
                    .threads = shape->threads,
                    .sms = sms,
                    .passes = run->quick ? 1 : PASSES,
                    .stride_bytes = shape->contended ? 0 : STRIDE_BYTES,
                    .block_stride_bytes = separate_blocks ? BLOCK_STRIDE_BYTES : 0},
        .rounds = MIN_ROUNDS,
        .more_rounds = MAX_ROUNDS,
        .carveout_percent = -1};
    struct fth_figure cycles;
    enum fth_status status = fth_probe_operate(&run->prober, &plan, &cycles, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, fth_operation_title(shape->operation), status,
                                      error);
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
    return fth_bench_add_row(run->bench, cells, error);
}

enum fth_status fth_bench_atomics(const struct fth_bench_run *run, struct fth_error *error)
{
    static const enum fth_operation operations[] = {FTH_ATOMIC_SHARED, FTH_ATOMIC_GLOBAL,
                                                    FTH_ATOMIC_CAS};
    static const struct {
        uint32_t sms, threads;
    } sizes[] = {{1, 1}, {1, 32}, {1, 1024}, {0, 256}};
    FTH_TRY(fth_bench_add_series(run->bench, "atomics", "Atomic operations", columns,
                                 FTH_COUNT(columns), error));
    const double max_threads = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    const size_t all = 2 * FTH_COUNT(operations) * FTH_COUNT(sizes);
    for (size_t i = 0; i < all; i++) {
        const size_t size = i % FTH_COUNT(sizes);
        struct shape shape = {operations[i / FTH_COUNT(sizes) / 2], i / FTH_COUNT(sizes) % 2 == 1,
                              sizes[size].sms, sizes[size].threads};
        if (shape.threads > max_threads)
            shape.threads = (uint32_t)max_threads;
        /* Shared memory is per SM, so that one SM is enough. On a simulated GPU, all SMs would take
         * too long. */
        if (shape.sms == 0 && (fth_operation_in_shared(shape.operation) || run->quick))
            continue;
        FTH_TRY(fth_bench_progress(run, fth_operation_title(shape.operation),
                                   0.5 * (double)i / (double)all, error));
        FTH_TRY(measure(run, &shape, error));
    }
    return fth_bench_atomic_tables(run, error);
}
