/* Bandwidth by parallelism: how many blocks and threads are needed for the full bandwidth of
 * the L1, the L2 and memory (Section III of Qiu, Jo and Goswami, "Microbenchmarking NVIDIA
 * GPUs").
 *
 *   L1      one array per block; the arrays of all blocks on an SM fit into its L1
 *   L2      one array for all blocks, a part of the L2, read past the L1
 *   memory  one array for all blocks, which is not cached at the beginning
 *
 * Each point is the slope between a stream and one that is four times as long. The knee is the
 * smallest number of blocks that reaches 95 % of the maximum.
 *
 * A second table compares L2 reads when each line is read by one SM and when it is read by many
 * SMs. The footprints are larger than any L1, and the loads bypass the L1. Not every read by many
 * SMs reaches the L2: on an H200, whose counters show no L1 hits, 9 to 41 % did not, although the
 * SMs start at different offsets. The table therefore shows the bandwidth that the SMs observe, not
 * the bandwidth that the L2 delivers.
 */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_PER_SM = 4,  /* maximum number of blocks per SM */
    MAX_POINTS = 64, /* per curve */
    REPEATS = 3,     /* odd, for the median */
    LENGTH_RATIO = 4,
    LINE = 128
};
/* The fraction of the maximum bandwidth that defines the knee. Heuristic. */
static const double knee_fraction = 0.95;
/* A stream moves at least `min_bytes` bytes (`min_cold_bytes` from memory), and the two streams of
 * a point differ by at least `min_ticks` ticks of the timer. Heuristic. */
static const double min_ticks = 500;
static const uint64_t min_bytes = 4 << 20, min_cold_bytes = 32 << 20;
/* The number of groups of loads per warp on a simulated GPU. Its timing is exact, so few suffice.
 */
static const uint64_t quick_rounds = 12, quick_cold_rounds = 2;

enum level { IN_L1, IN_L2, IN_MEMORY, LEVELS };
static const char *const level_names[LEVELS] = {"l1", "l2", "memory"};

static const struct fth_column columns[] = {
    {"blocks", "Blocks", FTH_COLUMN_NUMBER},
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
};
static const struct fth_column sharing_columns[] = {
    {"footprint_bytes", "Footprint", FTH_COLUMN_BYTES},
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"own_gb_per_s", "one SM/line", FTH_COLUMN_NUMBER},
    {"shared_gb_per_s", "many SMs", FTH_COLUMN_NUMBER},
    {"apart_bytes", "offset", FTH_COLUMN_BYTES},
    {"at_once_bytes", "in flight", FTH_COLUMN_BYTES},
};

/* ---- one point ---- */

static double moved_bytes(const struct fth_bench_run *run, const struct fth_stream *stream)
{
    const uint64_t sms = stream->sms ? stream->sms : run->prober.sms;
    return (double)stream->bytes * (double)stream->passes *
           (stream->shared_by_all ? 1 : (double)sms * stream->blocks_per_sm);
}

/* Returns a stream that is `times` as long: with more bytes if it reads from memory, otherwise with
 * more passes. */
static struct fth_request lengthen(const struct fth_request *request, uint64_t times)
{
    struct fth_request more = *request;
    if (request->cold)
        more.stream.bytes *= times;
    else
        more.stream.passes *= times;
    return more;
}

static enum fth_status run_streams(const struct fth_bench_run *run,
                                   const struct fth_request *requests, size_t count, double *ns,
                                   double *tick, struct fth_error *error)
{
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        ns[i] = answers.items[i].cycles[0];
        *tick = answers.items[i].cycles[2];
    }
    fth_answers_fini(&answers);
    return status;
}

/* Measures the bandwidth of a stream in bytes per second. */
static enum fth_status measure(const struct fth_bench_run *run, struct fth_request request,
                               double *bytes_per_s, struct fth_error *error)
{
    struct fth_request pairs[2 * REPEATS];
    double ns[2 * REPEATS], tick = 1, rates[REPEATS], scratch[REPEATS];
    /* The first run warms up code and data, and determines how long the streams must be. */
    FTH_TRY(run_streams(run, &request, 1, ns, &tick, error));
    const double times = ceil(min_ticks * tick / (LENGTH_RATIO - 1) / fmax(ns[0], 1));
    if (times > 1)
        request = lengthen(&request, (uint64_t)times);
    const size_t repeats = run->quick ? 1 : REPEATS;
    for (size_t i = 0; i < 2 * repeats; i++)
        pairs[i] = i % 2 ? lengthen(&request, LENGTH_RATIO) : request;
    FTH_TRY(run_streams(run, pairs, 2 * repeats, ns, &tick, error));
    const double more = moved_bytes(run, &pairs[1].stream) - moved_bytes(run, &pairs[0].stream);
    for (size_t i = 0; i < repeats; i++)
        rates[i] = ns[2 * i + 1] > ns[2 * i] ? more / (ns[2 * i + 1] - ns[2 * i]) * 1e9 : INFINITY;
    fth_sort_f64(rates, scratch, repeats);
    *bytes_per_s = rates[repeats / 2];
    return isfinite(*bytes_per_s) ? FTH_OK
                                  : fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL,
                                             "the longer stream took no more time");
}

/* ---- bandwidth by blocks ---- */

struct sweep {
    enum level level;
    uint64_t footprint_bytes; /* per SM for the L1, otherwise of the whole GPU */
    uint32_t vector_bytes;
};

static uint64_t round_to(uint64_t bytes, uint64_t unit)
{
    return bytes < unit ? unit : bytes / unit * unit;
}

/* Makes the request for a number of blocks, which the GPU distributes over the SMs. */
static struct fth_request make_request(const struct fth_bench_run *run, const struct sweep *sweep,
                                       uint32_t blocks, uint32_t threads)
{
    const uint32_t sms = (uint32_t)run->prober.sms, per_sm = (blocks + sms - 1) / sms;
    const uint64_t group = (uint64_t)32 * FTH_STREAM_UNROLL * sweep->vector_bytes;
    const uint64_t round_bytes = (uint64_t)blocks * threads / 32 * group; /* one group per warp */
    struct fth_request request = fth_request_make(sweep->level == IN_L1 ? 0 : -1);
    request.family = FTH_FAMILY_STREAM;
    struct fth_stream *stream = &request.stream;
    *stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                  .path = sweep->level == IN_L1 ? FTH_PATH_CA : FTH_PATH_CG,
                                  .shared_by_all = sweep->level != IN_L1,
                                  .sms = blocks / per_sm,
                                  .blocks_per_sm = per_sm,
                                  .threads = threads,
                                  .vector_bytes = sweep->vector_bytes,
                                  .passes = 1};
    const uint64_t min = run->quick ? quick_rounds * round_bytes : min_bytes;
    switch (sweep->level) {
    case IN_L1:
        stream->bytes = round_to(sweep->footprint_bytes / MAX_PER_SM, group);
        stream->passes = 1 + min / stream->bytes / blocks;
        break;
    case IN_L2:
        stream->bytes = round_to(sweep->footprint_bytes, group);
        stream->passes = run->quick ? 2 : 1 + min / stream->bytes;
        break;
    default:
        stream->bytes = run->quick ? quick_cold_rounds * round_bytes : 0;
        while (stream->bytes < (run->quick ? 1 : min_cold_bytes))
            stream->bytes += round_bytes;
        request.cold = true;
        break;
    }
    return request;
}

/* Chooses the numbers of blocks to measure, in ascending order. Returns how many there are. */
static size_t choose_blocks(const struct fth_bench_run *run, uint32_t *blocks)
{
    const uint32_t sms = (uint32_t)run->prober.sms;
    const uint32_t steps = run->quick ? 4 : 16; /* up to one block per SM */
    size_t count = 0;
    for (uint32_t i = 1; i < sms && i < (run->quick ? 2 : 8); i *= 2)
        blocks[count++] = i;
    for (uint32_t i = 1; i <= steps * (run->quick ? 2 : MAX_PER_SM); i++) {
        uint32_t next = sms * i / steps, per_sm = (next + sms - 1) / sms;
        if (i > steps && i % (steps / 4))
            continue; /* a quarter of the steps beyond one block per SM */
        next = per_sm ? next / per_sm * per_sm : 0;
        if (count < MAX_POINTS && next > (count ? blocks[count - 1] : 0))
            blocks[count++] = next;
    }
    return count;
}

/* Adds the knee of one curve as a figure. */
static enum fth_status note_knee(const struct fth_bench_run *run, uint32_t threads,
                                 const uint32_t *blocks, const double *rates, size_t count,
                                 struct fth_error *error)
{
    double max = 0;
    size_t knee = 0;
    for (size_t i = 0; i < count; i++)
        max = isfinite(rates[i]) ? fmax(max, rates[i]) : max;
    while (knee < count && !(rates[knee] >= knee_fraction * max))
        knee++;
    char key[40], method[120];
    snprintf(key, sizeof key, "knee_%u_threads", threads);
    fth_format(method, sizeof method, "fewest blocks with 95 %% of the maximum of %.4g GB/s",
               max / 1e9);
    return knee == count || max == 0
               ? FTH_OK
               : fth_bench_add_figure(run->bench, key, blocks[knee], "blocks", method, error);
}

/* Measures one curve: bandwidth by the number of blocks. */
static enum fth_status sweep_threads(const struct fth_bench_run *run, const struct sweep *sweep,
                                     uint32_t threads, struct fth_error *error)
{
    uint32_t blocks[MAX_POINTS];
    double rates[MAX_POINTS];
    const size_t count = choose_blocks(run, blocks);
    const double max_threads = fth_gpu_number(run->gpu, "device", "max_threads_per_sm", 1024);
    size_t done = 0;
    for (; done < count; done++) {
        const uint64_t per_sm = (blocks[done] + run->prober.sms - 1) / run->prober.sms;
        if ((double)(per_sm * threads) > max_threads) {
            char reason[96];
            snprintf(reason, sizeof reason,
                     "%u threads, more than %u blocks: not all can be resident", threads,
                     blocks[done ? done - 1 : 0]);
            FTH_TRY(fth_bench_add_missing(run->bench, reason, error));
            break;
        }
        const struct fth_request request = make_request(run, sweep, blocks[done], threads);
        enum fth_status status = measure(run, request, &rates[done], error);
        if (status != FTH_OK)
            return fth_bench_keep_failure(run->bench, level_names[sweep->level], status, error);
        const struct fth_cell cells[] = {{.number = blocks[done]},
                                         {.number = threads},
                                         {.number = round(rates[done] / 1e7) / 100}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return note_knee(run, threads, blocks, rates, done, error);
}

/* Returns the widest vector, in bytes, with which the array is still large enough to give every
 * warp of `blocks` blocks of 512 threads a group of loads. */
static uint32_t vector_for(const struct fth_bench_run *run, uint64_t capacity_bytes,
                           uint32_t blocks)
{
    uint32_t vector = 16;
    while (vector > 4 && (uint64_t)blocks * 512 * FTH_STREAM_UNROLL * vector > capacity_bytes)
        vector /= 2;
    return run->quick ? 4 : vector;
}

static enum fth_status sweep_level(const struct fth_bench_run *run, const struct sweep *sweep,
                                   struct fth_error *error)
{
    static const uint32_t all_threads[] = {128, 256, 512};
    char name[32], title[120], size[40];
    snprintf(name, sizeof name, "scaling.%s", level_names[sweep->level]);
    snprintf(title, sizeof title, "Bandwidth of %s in GB/s by blocks and threads, %s%s",
             sweep->level == IN_L1   ? "L1"
             : sweep->level == IN_L2 ? "L2"
                                     : "memory",
             sweep->level == IN_MEMORY ? "not cached"
                                       : fth_size_format((double)sweep->footprint_bytes, size, 40),
             sweep->level == IN_L1 ? " per SM" : "");
    FTH_TRY(fth_bench_add_series(run->bench, name, title, columns, FTH_COUNT(columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    if (sweep->footprint_bytes == 0)
        return fth_bench_add_missing(run->bench, "global loads are not cached in L1", error);
    for (size_t i = 0; i < FTH_COUNT(all_threads); i++) {
        FTH_TRY(fth_bench_progress(run, title, 0.25 * (int)sweep->level + 0.08 * (double)i, error));
        if (!(run->quick && all_threads[i] == 256))
            FTH_TRY(sweep_threads(run, sweep, all_threads[i], error));
    }
    return run->quick ? fth_bench_add_missing(
                            run->bench,
                            "simulated GPU: fewer points and shorter streams; use --thorough for "
                            "all",
                            error)
                      : FTH_OK;
}

/* ---- L2 reads by one SM or by many SMs per line ---- */

/* Every block reads a quarter of the array, starting at an offset of its own, so that each line is
 * read by many blocks at different times. */
static struct fth_request overlapping(const struct fth_bench_run *run, uint64_t footprint_bytes,
                                      uint32_t threads)
{
    const uint64_t group = (uint64_t)threads * FTH_STREAM_UNROLL * 16;
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_STREAM;
    request.stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                         .path = FTH_PATH_CG,
                                         .bytes = round_to(footprint_bytes / 4, group),
                                         .blocks_per_sm = 1,
                                         .threads = threads,
                                         .vector_bytes = 16,
                                         .passes = 1};
    request.stream.block_stride_bytes =
        (footprint_bytes - request.stream.bytes) / (run->prober.sms - 1) / LINE * LINE;
    return request;
}

/* The blocks divide the array among them, so that each line is read by one block. */
static struct fth_request partitioned(const struct fth_bench_run *run, uint64_t footprint_bytes,
                                      uint32_t threads)
{
    const uint64_t group = (uint64_t)threads * FTH_STREAM_UNROLL * 16 * run->prober.sms;
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_STREAM;
    request.stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                         .path = FTH_PATH_CG,
                                         .bytes = round_to(footprint_bytes, group),
                                         .shared_by_all = true,
                                         .blocks_per_sm = 1,
                                         .threads = threads,
                                         .vector_bytes = 16,
                                         .passes = 4};
    return request;
}

/* Measures one footprint in both ways. Raises *own_best and *shared_best to the measured
 * bandwidths, *shared_best only if the offset between two SMs is at least the bytes that one has in
 * flight. */
static enum fth_status compare_sharing(const struct fth_bench_run *run, uint64_t footprint_bytes,
                                       uint32_t threads, double *own_best, double *shared_best,
                                       struct fth_error *error)
{
    const struct fth_request own = partitioned(run, footprint_bytes, threads);
    const struct fth_request shared = overlapping(run, footprint_bytes, threads);
    const uint64_t in_flight = (uint64_t)threads * FTH_STREAM_UNROLL * 16;
    double own_rate = NAN, shared_rate = NAN;
    enum fth_status status = measure(run, own, &own_rate, error);
    if (status == FTH_OK)
        status = measure(run, shared, &shared_rate, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "l2", status, error);
    *own_best = fmax(*own_best, own_rate);
    if (shared.stream.block_stride_bytes >= in_flight)
        *shared_best = fmax(*shared_best, shared_rate);
    const struct fth_cell cells[] = {{.number = (double)footprint_bytes},
                                     {.number = threads},
                                     {.number = round(own_rate / 1e8) / 10},
                                     {.number = round(shared_rate / 1e8) / 10},
                                     {.number = (double)shared.stream.block_stride_bytes},
                                     {.number = (double)in_flight}};
    return fth_bench_add_row(run->bench, cells, error);
}

/* Measures footprints from a tenth to two thirds of the L2: 6 to 40 MB on an H200. */
static enum fth_status tabulate_sharing(const struct fth_bench_run *run, uint64_t l1_bytes,
                                        struct fth_error *error)
{
    static const double parts[] = {0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.667};
    static const uint32_t all_threads[] = {256, 512, 1024};
    const double l2 = fth_gpu_number(run->gpu, "l2", "size_bytes", NAN);
    FTH_TRY(fth_bench_add_series(run->bench, "scaling.sharing",
                                 "L2 reads in GB/s: lines read by one SM, and by many",
                                 sharing_columns, FTH_COUNT(sharing_columns), error));
    if (run->quick || !isfinite(l2) || run->prober.sms < 2)
        return fth_bench_add_missing(run->bench,
                                     run->quick
                                         ? "simulated GPU: measured only with --thorough"
                                         : "the size of L2 is unknown, or there is only one SM",
                                     error);
    double own_min = INFINITY, shared_min = INFINITY;
    for (size_t i = 0; i < FTH_COUNT(parts); i++) {
        const uint64_t footprint = (uint64_t)(parts[i] * l2) / LINE * LINE;
        double own = 0, shared = 0;
        FTH_TRY(
            fth_bench_progress(run, "L2, lines that SMs share", 0.75 + 0.02 * (double)i, error));
        /* The quarter that an SM reads must be at least four times its L1. */
        for (size_t k = 0; k < FTH_COUNT(all_threads); k++)
            if (footprint / 4 >= 4 * l1_bytes)
                FTH_TRY(compare_sharing(run, footprint, all_threads[k], &own, &shared, error));
        own_min = own > 0 ? fmin(own_min, own) : own_min;
        shared_min = shared > 0 ? fmin(shared_min, shared) : shared_min;
    }
    if (isfinite(own_min))
        FTH_TRY(fth_bench_add_figure(run->bench, "own_tb_per_s", round(own_min / 1e9) / 1e3, "TB/s",
                                     "past L1, each line read by one SM; best launch of each "
                                     "footprint, minimum over the footprints",
                                     error));
    if (isfinite(shared_min))
        FTH_TRY(fth_bench_add_figure(
            run->bench, "shared_tb_per_s", round(shared_min / 1e9) / 1e3, "TB/s",
            "past L1, each line read by a quarter of the SMs, which start "
            "at least as far apart as the bytes they have in flight; observed by the SMs: "
            "requests can join before L2",
            error));
    return FTH_OK;
}

/* Measures the bandwidth of the L1. The probe reads the L1's size from the description, so if it is
 * not there, the estimate is added for the time of the probe and then removed. */
static enum fth_status note_l1_rate(const struct fth_bench_run *run, uint64_t l1_bytes,
                                    struct fth_error *error)
{
    static const double sm_bytes_per_cycle = 128; /* 32 lanes of 4 bytes */
    const bool known = fth_gpu_attribute(run->gpu, "l1", "size_bytes") != NULL;
    const struct fth_note estimate = {.element = "l1",
                                      .attribute = "size_bytes",
                                      .number = (double)l1_bytes,
                                      .method = "at least"};
    if (!known)
        FTH_TRY(fth_note(run->described, &estimate, error));
    enum fth_status status =
        fth_bench_add_bandwidth(run, FTH_BANDWIDTH_L1_READ, "l1_read", sm_bytes_per_cycle, error);
    if (!known)
        fth_note_remove(run->described, "l1", "size_bytes");
    return status;
}

enum fth_status fth_bench_scaling(const struct fth_bench_run *run, struct fth_error *error)
{
    const uint32_t max = MAX_PER_SM * (uint32_t)run->prober.sms;
    const double l2 = fth_gpu_number(run->gpu, "l2", "size_bytes", 1 << 20);
    uint64_t l1 = 0;
    FTH_TRY(fth_bench_l1_bytes(run, &l1, error));
    struct sweep sweep = {.level = IN_L1,
                          .footprint_bytes = l1 * 3 / 4,
                          .vector_bytes = vector_for(run, l1, MAX_PER_SM)};
    FTH_TRY(sweep_level(run, &sweep, error));
    if (l1)
        FTH_TRY(note_l1_rate(run, l1, error));
    /* 30 % of the L2 fit into one of two partitions, including copies of lines from the other. */
    sweep = (struct sweep){.level = IN_L2, .footprint_bytes = (uint64_t)(0.3 * l2)};
    sweep.vector_bytes = vector_for(run, sweep.footprint_bytes, max);
    if (run->quick)
        sweep.footprint_bytes = (uint64_t)fmin((double)sweep.footprint_bytes, max / 2.0 * 512 * 16);
    FTH_TRY(sweep_level(run, &sweep, error));
    sweep = (struct sweep){.level = IN_MEMORY, .footprint_bytes = 1};
    sweep.vector_bytes = vector_for(run, UINT64_MAX, max);
    FTH_TRY(sweep_level(run, &sweep, error));
    return tabulate_sharing(run, l1, error);
}
