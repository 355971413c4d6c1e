/* Distributed shared memory, and copies by threads.
 *
 * In a cluster, a block accesses the shared memory of the others, which are on other SMs of the
 * same GPC. The tables show the latency of a load by the rank of the other block, half the round
 * trip of an asynchronous store (st.async) and of a bulk copy, and the bytes per cycle by the size
 * of the cluster. A multicast copies from global memory to all blocks of the cluster.
 *
 * cp.async copies 4, 8 or 16 bytes per thread from global to shared memory without registers. It is
 * compared with loads past the L1 that are followed by stores. */
#include "bench/bench_copies.h"

#include <math.h>
#include <stdio.h>

enum {
    MAX_CLUSTER = 16,
    STORE_BYTES = 8,
    BULK_BYTES = 128,
    TRIPS = 16, /* per pass */
    CHAIN = 64, /* elements of the chain of a chase, of 8 bytes each */
    CHAIN_PASSES = 8,
    WARP = 32
};

static const struct fth_column latency_columns[] = {
    {"cluster", "Cluster", FTH_COLUMN_NUMBER},
    {"rank", "Rank", FTH_COLUMN_NUMBER},
    {"load_cycles", "load", FTH_COLUMN_NUMBER},
    {"store_async_cycles", "st.async", FTH_COLUMN_NUMBER},
    {"bulk_cycles", "bulk copy", FTH_COLUMN_NUMBER},
};
static const struct fth_column rate_columns[] = {
    {"cluster", "Cluster", FTH_COLUMN_NUMBER},
    {"load_bytes_per_cycle", "loads", FTH_COLUMN_NUMBER},
    {"store_bytes_per_cycle", "stores", FTH_COLUMN_NUMBER},
    {"bulk_bytes_per_cycle", "bulk copies", FTH_COLUMN_NUMBER},
    {"multicast_bytes_per_cycle", "multicast", FTH_COLUMN_NUMBER},
};
static const struct fth_column thread_columns[] = {
    {"bytes", "Bytes", FTH_COLUMN_NUMBER},
    {"async_ca_cycles", "cp.async.ca", FTH_COLUMN_NUMBER},
    {"async_cg_cycles", "cp.async.cg", FTH_COLUMN_NUMBER},
    {"load_store_cycles", "ld + st", FTH_COLUMN_NUMBER},
};
static const struct fth_column thread_rate_columns[] = {
    {"in_flight_bytes", "In flight", FTH_COLUMN_BYTES},
    {"async_ca_4_bytes_per_cycle", "ca 4 B", FTH_COLUMN_NUMBER},
    {"async_ca_16_bytes_per_cycle", "ca 16 B", FTH_COLUMN_NUMBER},
    {"async_cg_16_bytes_per_cycle", "cg 16 B", FTH_COLUMN_NUMBER},
    {"load_store_16_bytes_per_cycle", "ld + st 16 B", FTH_COLUMN_NUMBER},
};

/* ---- clusters ---- */

/* Measures half a round trip between block 0 and the block `partner`. */
static enum fth_status exchange(const struct fth_bench_run *run, enum fth_copies_kind kind,
                                uint32_t bytes, uint32_t cluster, uint32_t partner, double *cycles,
                                struct fth_error *error)
{
    struct fth_request request = fth_copies_request(kind, bytes);
    struct fth_copies_result result;
    request.copies.cluster = cluster;
    request.copies.partner = partner;
    request.copies.count = TRIPS;
    request.copies.passes = run->quick ? 1 : FTH_COPIES_RATE_PASSES;
    FTH_TRY(fth_copies_cycles(run, &request, &result, error));
    *cycles = result.median / TRIPS / (kind == FTH_COPIES_MULTICAST ? 1 : 2);
    return FTH_OK;
}

static double smallest(const struct fth_samples *samples)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < samples->count; i++)
        least = samples->cycles[i] < least ? samples->cycles[i] : least;
    return least;
}

/* Measures a dependent load from the shared memory of the block `target`. */
static enum fth_status chase(const struct fth_bench_run *run, uint32_t cluster, uint32_t target,
                             double *cycles, struct fth_error *error)
{
    struct fth_request requests[2];
    for (int i = 0; i < 2; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_CLUSTER;
        requests[i].cluster =
            (struct fth_cluster_chase){.size = cluster,
                                       .target = target,
                                       .chain = {.stride_bytes = 8, .count = (uint64_t)CHAIN << i},
                                       .passes = run->quick ? 1 : CHAIN_PASSES};
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, requests, 2, &answers, error);
    *cycles = status == FTH_OK ? (smallest(&answers.items[1]) - smallest(&answers.items[0])) / CHAIN
                               : NAN;
    fth_answers_fini(&answers);
    return status;
}

/* Measures the latencies between block 0 and another block, and adds a row. */
static enum fth_status add_distance(const struct fth_bench_run *run, uint32_t cluster,
                                    uint32_t rank, double *load, struct fth_error *error)
{
    double store, bulk;
    FTH_TRY(chase(run, cluster, rank, load, error));
    FTH_TRY(exchange(run, FTH_COPIES_STORE_ASYNC, STORE_BYTES, cluster, rank, &store, error));
    FTH_TRY(exchange(run, FTH_COPIES_CLUSTER, BULK_BYTES, cluster, rank, &bulk, error));
    const struct fth_cell cells[] = {{.number = cluster},
                                     {.number = rank},
                                     {.number = fth_copies_round(*load)},
                                     {.number = fth_copies_round(store)},
                                     {.number = fth_copies_round(bulk)}};
    return fth_bench_add_row(run->bench, cells, error);
}

/* Adds the reason why there are no clusters of this size. */
static enum fth_status keep_failure(const struct fth_bench_run *run, uint32_t cluster,
                                    enum fth_status status, struct fth_error *error)
{
    char what[40];
    snprintf(what, sizeof what, "clusters of %u blocks", (unsigned)cluster);
    return fth_bench_keep_failure(run->bench, what, status, error);
}

static enum fth_status tabulate_distances(const struct fth_bench_run *run, struct fth_error *error)
{
    double min = INFINITY, max = 0;
    enum fth_status status = FTH_OK;
    FTH_TRY(fth_bench_add_series(run->bench, "copies.cluster",
                                 "Clusters: cycles of a load from another block, and half a round "
                                 "trip of copies to it, by its rank",
                                 latency_columns, FTH_COUNT(latency_columns), error));
    for (uint32_t cluster = 2; cluster <= MAX_CLUSTER && status == FTH_OK; cluster *= 2) {
        FTH_TRY(fth_bench_progress(run, "clusters, latency", 0.7 + cluster / 200.0, error));
        for (uint32_t rank = 1; rank < cluster && status == FTH_OK;
             rank += run->quick && rank > 2 ? 4 : 1) {
            double load = NAN;
            status = add_distance(run, cluster, rank, &load, error);
            min = fmin(min, load);
            max = fmax(max, load);
        }
        if (status != FTH_OK)
            FTH_TRY(keep_failure(run, cluster, status, error));
    }
    if (!isfinite(min))
        return FTH_OK;
    FTH_TRY(fth_bench_add_figure(run->bench, "min_load_cycles", fth_copies_round(min), "cycles",
                                 "the lowest of the table", error));
    return fth_bench_add_figure(run->bench, "max_load_cycles", fth_copies_round(max), "cycles",
                                "the highest of the table", error);
}

/* Measures loads or stores of all threads of a cluster, each block in the memory of its neighbour.
 */
static enum fth_status stream(const struct fth_bench_run *run, enum fth_stream_kind kind,
                              uint32_t cluster, double *bytes_per_cycle, struct fth_error *error)
{
    struct fth_request requests[2];
    for (uint64_t i = 0; i < 2; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_STREAM;
        requests[i].stream = (struct fth_stream){.kind = kind,
                                                 .path = FTH_PATH_SHARED,
                                                 .bytes = 32 << 10,
                                                 .sms = cluster,
                                                 .blocks_per_sm = 1,
                                                 .threads = 512,
                                                 .vector_bytes = 16,
                                                 .cluster = cluster,
                                                 .passes = (run->quick ? 2 : 16) * (1 + 2 * i)};
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, requests, 2, &answers, error);
    if (status == FTH_OK) {
        const double cycles =
            (double)answers.items[1].cycles[1] - (double)answers.items[0].cycles[1];
        const double passes = (double)(requests[1].stream.passes - requests[0].stream.passes);
        *bytes_per_cycle = cycles > 0 ? (double)requests[0].stream.bytes * passes / cycles : NAN;
    }
    fth_answers_fini(&answers);
    return status;
}

/* Measures the bytes per cycle that bulk copies move, as the slope between two sizes. */
static enum fth_status bulk_rate(const struct fth_bench_run *run, enum fth_copies_kind kind,
                                 uint32_t cluster, double *bytes_per_cycle, struct fth_error *error)
{
    /* A wait for an mbarrier ends up to about 150 cycles late on an H200, so that the sizes must be
     * far from each other. */
    const double shared = fth_gpu_number(run->gpu, "shared", "max_block_bytes", 0);
    const uint32_t sizes[2] = {16384, shared > 132 << 10 ? 131072 : 32768};
    double cycles[2];
    for (int i = 0; i < 2; i++)
        FTH_TRY(exchange(run, kind, sizes[i], cluster, kind == FTH_COPIES_MULTICAST ? 0 : 1,
                         &cycles[i], error));
    *bytes_per_cycle =
        cycles[1] > cycles[0] ? (sizes[1] - sizes[0]) / (cycles[1] - cycles[0]) : NAN;
    return FTH_OK;
}

static enum fth_status tabulate_cluster_rates(const struct fth_bench_run *run,
                                              struct fth_error *error)
{
    FTH_TRY(fth_bench_add_series(run->bench, "copies.cluster_rate",
                                 "Clusters: bytes per cycle that each SM of one cluster reads, "
                                 "writes, or receives",
                                 rate_columns, FTH_COUNT(rate_columns), error));
    for (uint32_t cluster = 2; cluster <= MAX_CLUSTER; cluster *= 2) {
        double rates[4];
        FTH_TRY(fth_bench_progress(run, "clusters, bandwidth", 0.8 + cluster / 200.0, error));
        enum fth_status status = stream(run, FTH_STREAM_READ, cluster, &rates[0], error);
        if (status == FTH_OK)
            status = stream(run, FTH_STREAM_WRITE, cluster, &rates[1], error);
        if (status == FTH_OK)
            status = bulk_rate(run, FTH_COPIES_CLUSTER, cluster, &rates[2], error);
        if (status == FTH_OK)
            status = bulk_rate(run, FTH_COPIES_MULTICAST, cluster, &rates[3], error);
        if (status != FTH_OK)
            return keep_failure(run, cluster, status, error);
        const struct fth_cell cells[] = {{.number = cluster},
                                         {.number = fth_copies_round(rates[0])},
                                         {.number = fth_copies_round(rates[1])},
                                         {.number = fth_copies_round(rates[2])},
                                         {.number = fth_copies_round(rates[3])}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return FTH_OK;
}

enum fth_status fth_bench_cluster_copies(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(tabulate_distances(run, error));
    return tabulate_cluster_rates(run, error);
}

/* ---- threads ---- */

/* Makes the request for copies by `threads` threads of one SM. */
static struct fth_request by_threads(const struct fth_bench_run *run, enum fth_copies_kind kind,
                                     uint32_t bytes, uint32_t threads, uint32_t depth)
{
    struct fth_request request = fth_copies_request(kind, bytes);
    request.copies.threads = threads;
    request.copies.depth = request.copies.count = depth;
    request.copies.sms = 1;
    request.copies.passes = run->quick ? FTH_COPIES_QUICK_PASSES : FTH_COPIES_PASSES;
    request.copies.span_bytes = 64 << 10;
    return request;
}

static enum fth_status tabulate_thread_latency(const struct fth_bench_run *run,
                                               struct fth_error *error)
{
    static const enum fth_copies_kind kinds[] = {FTH_COPIES_ASYNC_CA, FTH_COPIES_ASYNC_CG,
                                                 FTH_COPIES_LOAD_STORE};
    FTH_TRY(fth_bench_add_series(run->bench, "copies.threads",
                                 "cp.async: cycles of one copy by a warp from L2 to shared memory, "
                                 "by bytes per thread",
                                 thread_columns, FTH_COUNT(thread_columns), error));
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
        struct fth_cell cells[1 + FTH_COUNT(kinds)] = {{.number = bytes}};
        for (size_t i = 0; i < FTH_COUNT(kinds); i++) {
            struct fth_copies_result result;
            const struct fth_request request = by_threads(run, kinds[i], bytes, WARP, 1);
            cells[1 + i].number = NAN;
            if (kinds[i] == FTH_COPIES_ASYNC_CG && bytes != 16)
                continue; /* .cg copies 16 bytes only */
            enum fth_status status = fth_copies_cycles(run, &request, &result, error);
            if (status != FTH_OK)
                return fth_bench_keep_failure(run->bench, "cp.async", status, error);
            cells[1 + i].number = fth_copies_round(result.median);
        }
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return FTH_OK;
}

/* Measures the highest rate of all numbers of threads with these bytes in flight. */
static enum fth_status thread_rate(const struct fth_bench_run *run, enum fth_copies_kind kind,
                                   uint32_t bytes, uint32_t in_flight, double *best,
                                   struct fth_error *error)
{
    static const uint32_t depths[] = {1, 2, 4, 8};
    *best = NAN;
    for (size_t i = 0; i < FTH_COUNT(depths); i++) {
        const uint32_t threads = in_flight / bytes / depths[i];
        struct fth_copies_rate rate;
        if (threads < WARP || threads > 1024 || (run->quick && depths[i] > 2))
            continue;
        struct fth_request request = by_threads(run, kind, bytes, threads, depths[i]);
        request.copies.count = depths[i] * (run->quick ? 2 : 32);
        request.copies.passes = run->quick ? 1 : FTH_COPIES_RATE_PASSES;
        request.copies.span_bytes = 128 << 10;
        FTH_TRY(fth_copies_measure_rate(run, &request, &rate, error));
        *best = rate.best > *best || isnan(*best) ? rate.best : *best;
    }
    return FTH_OK;
}

static enum fth_status tabulate_thread_rates(const struct fth_bench_run *run,
                                             struct fth_error *error)
{
    static const struct {
        enum fth_copies_kind kind;
        uint32_t bytes;
    } ways[] = {{FTH_COPIES_ASYNC_CA, 4},
                {FTH_COPIES_ASYNC_CA, 16},
                {FTH_COPIES_ASYNC_CG, 16},
                {FTH_COPIES_LOAD_STORE, 16}};
    FTH_TRY(fth_bench_add_series(run->bench, "copies.threads_rate",
                                 "cp.async: bytes per cycle of one SM from L2, by bytes in flight",
                                 thread_rate_columns, FTH_COUNT(thread_rate_columns), error));
    for (uint32_t in_flight = 512; in_flight <= 65536; in_flight *= run->quick ? 4 : 2) {
        struct fth_cell cells[1 + FTH_COUNT(ways)] = {{.number = in_flight}};
        FTH_TRY(fth_bench_progress(run, "cp.async", 0.9 + log2(in_flight) / 200, error));
        for (size_t i = 0; i < FTH_COUNT(ways); i++) {
            double rate;
            enum fth_status status =
                thread_rate(run, ways[i].kind, ways[i].bytes, in_flight, &rate, error);
            if (status != FTH_OK)
                return fth_bench_keep_failure(run->bench, "cp.async", status, error);
            cells[1 + i].number = round(100 * rate) / 100;
        }
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return FTH_OK;
}

enum fth_status fth_bench_thread_copies(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(tabulate_thread_latency(run, error));
    return tabulate_thread_rates(run, error);
}
