/* Copies by the Tensor Memory Accelerator (TMA), the copy engine of an SM: cp.async.bulk and
 * cp.async.bulk.tensor. The tables show the cycles of one copy by its size, the cycles until n
 * copies are complete, and the bytes per cycle by the number of copies in flight.
 * bench_copies_cluster.c measures copies within clusters and by threads (cp.async).
 *
 * A latency includes what the thread does: it issues the copy, and then tests an mbarrier in a
 * loop. A rate is the slope between two numbers of copies, so that the latency of the first one
 * does not count. One thread cannot issue copies as fast as the engine executes small ones: on an
 * H200, it needs more than 50 cycles for each. Up to MAX_WARPS warps therefore issue copies. */
#include "bench/bench_copies.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

enum { MAX_WARPS = 16, LINE = 128, MAX_DIMENSIONS = 5 };
/* Bytes of the L2 that each SM copies, which all SMs together find in the L2: 17 MB on an H200. */
static const uint64_t l2_span_bytes = 128 << 10;
/* A row of the boxes of tensors: a line. */
static const uint32_t row_bytes = 128;

static const struct fth_column latency_columns[] = {
    {"bytes", "Bytes", FTH_COLUMN_BYTES},
    {"load_l2_cycles", "L2", FTH_COLUMN_NUMBER},
    {"load_memory_cycles", "memory", FTH_COLUMN_NUMBER},
    {"store_cycles", "store", FTH_COLUMN_NUMBER},
};
static const struct fth_column curve_columns[] = {
    {"copy", "Copy", FTH_COLUMN_TEXT},
    {"bytes", "Bytes", FTH_COLUMN_BYTES},
    {"cycles", "Cycles", FTH_COLUMN_NUMBER},
};
static const struct fth_column tensor_columns[] = {
    {"bytes", "Bytes", FTH_COLUMN_BYTES},        {"rank_1_cycles", "1-D", FTH_COLUMN_NUMBER},
    {"rank_2_cycles", "2-D", FTH_COLUMN_NUMBER}, {"rank_3_cycles", "3-D", FTH_COLUMN_NUMBER},
    {"rank_4_cycles", "4-D", FTH_COLUMN_NUMBER}, {"rank_5_cycles", "5-D", FTH_COLUMN_NUMBER},
};
static const struct fth_column burst_columns[] = {
    {"in_flight", "Copies", FTH_COLUMN_NUMBER},
    {"bytes", "Bytes", FTH_COLUMN_BYTES},
    {"cycles", "Cycles", FTH_COLUMN_NUMBER},
};
static const struct fth_column rate_columns[] = {
    {"in_flight", "In flight", FTH_COLUMN_NUMBER},
    {"bytes", "Bytes", FTH_COLUMN_BYTES},
    {"bytes_per_cycle", "B/cycle", FTH_COLUMN_NUMBER},
};

/* ---- one measurement ---- */

struct fth_request fth_copies_request(enum fth_copies_kind kind, uint32_t bytes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_COPIES;
    request.copies = (struct fth_copies){
        .kind = kind, .bytes = bytes, .depth = 1, .count = 1, .threads = 1, .passes = 1};
    return request;
}

enum fth_status fth_copies_cycles(const struct fth_bench_run *run,
                                  const struct fth_request *request,
                                  struct fth_copies_result *result, struct fth_error *error)
{
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, request, 1, &answers, error);
    const size_t count = status == FTH_OK ? answers.items[0].count : 0;
    double sorted[FTH_COPIES_PASSES], scratch[FTH_COPIES_PASSES];
    if (status == FTH_OK && (count == 0 || count > FTH_COPIES_PASSES))
        status = fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL, "unexpected number of samples");
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        sorted[i] = answers.items[0].cycles[i];
    if (status == FTH_OK) {
        fth_sort_f64(sorted, scratch, count);
        *result = (struct fth_copies_result){.median = sorted[count / 2],
                                             .low = sorted[count / 10],
                                             .high = sorted[count - 1 - count / 10],
                                             .min = sorted[0],
                                             .samples = count,
                                             .clock_mhz = answers.items[0].clock_mhz};
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_copies_measure_rate(const struct fth_bench_run *run,
                                        const struct fth_request *request,
                                        struct fth_copies_rate *rate, struct fth_error *error)
{
    struct fth_request longer = *request;
    const struct fth_copies *copies = &request->copies;
    struct fth_copies_result short_result, long_result;
    longer.copies.count *= FTH_COPIES_LENGTH_RATIO;
    if (request->cold)
        longer.copies.span_bytes *= FTH_COPIES_LENGTH_RATIO;
    FTH_TRY(fth_copies_cycles(run, request, &short_result, error));
    FTH_TRY(fth_copies_cycles(run, &longer, &long_result, error));
    const double bytes =
        (double)copies->bytes * copies->threads * copies->count * (FTH_COPIES_LENGTH_RATIO - 1);
    const double cycles = long_result.min - short_result.min;
    if (!(cycles > 0))
        return fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL,
                        "the longer sequence of copies took no more time");
    rate->best = bytes / cycles;
    const double median_cycles = long_result.median - short_result.median;
    rate->median = median_cycles > 0 ? bytes / median_cycles : rate->best;
    return FTH_OK;
}

double fth_copies_round(double number)
{
    return round(10 * number) / 10;
}

/* ---- latency ---- */

/* Makes the request for the latency of one copy. Each pass copies other bytes. */
static struct fth_request one_copy(const struct fth_bench_run *run, enum fth_copies_kind kind,
                                   uint32_t bytes, bool cold)
{
    struct fth_request request = fth_copies_request(kind, bytes);
    request.copies.sms = 1;
    request.copies.passes = run->quick ? FTH_COPIES_QUICK_PASSES : FTH_COPIES_PASSES;
    request.copies.span_bytes =
        (uint64_t)(request.copies.passes + 1) * (bytes < LINE ? LINE : bytes);
    request.cold = cold;
    return request;
}

/* Measures a latency. *cycles is NAN if the block has not enough shared memory. */
static enum fth_status latency(const struct fth_bench_run *run, const struct fth_request *request,
                               struct fth_copies_result *result, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    *result = (struct fth_copies_result){.median = NAN};
    enum fth_status status = fth_copies_cycles(run, request, result, &fault);
    if (status == FTH_OK || status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK;
    return fth_error_move(error, &fault);
}

/* Writes a latency as an attribute of the copy engine, with the range of most samples. */
static enum fth_status note_latency(const struct fth_bench_run *run, const char *attribute,
                                    const struct fth_copies_result *result, const char *method,
                                    struct fth_error *error)
{
    const double interval[2] = {result->low, result->high};
    FTH_TRY(fth_bench_add_figure(run->bench, attribute, fth_copies_round(result->median), "cycles",
                                 method, error));
    return fth_note(run->described,
                    &(struct fth_note){.element = "tma",
                                       .attribute = attribute,
                                       .number = fth_copies_round(result->median),
                                       .interval = interval,
                                       .samples = result->samples,
                                       .method = method},
                    error);
}

/* The latencies of the copies in the columns of the table, by size. */
enum { WAYS = 3, MAX_SIZES = 16 };
struct latency_curves {
    double bytes[MAX_SIZES], cycles[WAYS][MAX_SIZES];
    size_t count;
};

/* Draws the latencies as curves. */
static enum fth_status draw_latency(const struct fth_bench_run *run,
                                    const struct latency_curves *curves, struct fth_error *error)
{
    static const char *const ways[WAYS] = {"load from L2", "load from memory", "store"};
    FTH_TRY(fth_bench_add_series(run->bench, "copies.curve", "TMA: cycles by bytes of a bulk copy",
                                 curve_columns, FTH_COUNT(curve_columns), error));
    fth_bench_hide_table(run->bench);
    fth_bench_show_plot(run->bench, 1, 2, 0);
    for (size_t way = 0; way < WAYS; way++)
        for (size_t i = 0; i < curves->count; i++) {
            const struct fth_cell cells[] = {{.text = ways[way]},
                                             {.number = curves->bytes[i]},
                                             {.number = fth_copies_round(curves->cycles[way][i])}};
            if (isfinite(curves->cycles[way][i]))
                FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        }
    return FTH_OK;
}

static enum fth_status tabulate_latency(const struct fth_bench_run *run, struct fth_error *error)
{
    struct latency_curves curves = {.count = 0};
    const uint32_t max = run->quick ? 16384 : 131072, factor = run->quick ? 4 : 2;
    FTH_TRY(fth_bench_add_series(run->bench, "copies.latency",
                                 "TMA: cycles of one bulk copy by its size, from L2 and from "
                                 "memory, and to memory",
                                 latency_columns, FTH_COUNT(latency_columns), error));
    struct fth_copies_result load = {.median = NAN}, store = {.median = NAN};
    struct fth_copies_result results[WAYS];
    for (uint32_t bytes = run->quick ? 32 : 16; bytes <= max && curves.count < MAX_SIZES;
         bytes *= factor) {
        FTH_TRY(fth_bench_progress(run, "TMA, latency", log2(bytes) / 170, error));
        for (int i = 0; i < WAYS; i++) {
            const struct fth_request request =
                one_copy(run, i == 2 ? FTH_COPIES_BULK_STORE : FTH_COPIES_BULK_LOAD, bytes, i == 1);
            FTH_TRY(latency(run, &request, &results[i], error));
            curves.cycles[i][curves.count] = results[i].median;
        }
        curves.bytes[curves.count++] = bytes;
        const struct fth_cell cells[] = {{.number = bytes},
                                         {.number = fth_copies_round(results[0].median)},
                                         {.number = fth_copies_round(results[1].median)},
                                         {.number = fth_copies_round(results[2].median)}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        if (bytes == LINE) {
            load = results[0];
            store = results[2];
        }
    }
    if (isfinite(load.median))
        FTH_TRY(note_latency(run, "latency_cycles", &load,
                             "one bulk copy of 128 bytes from L2 to shared memory, from its issue "
                             "until a thread sees its mbarrier complete; median, and the range of "
                             "80 % of the copies",
                             error));
    if (isfinite(store.median))
        FTH_TRY(note_latency(run, "store_latency_cycles", &store,
                             "one bulk copy of 128 bytes from shared to global memory, until its "
                             "group is complete; median, and the range of 80 % of the copies",
                             error));
    return draw_latency(run, &curves, error);
}

static enum fth_status tabulate_tensors(const struct fth_bench_run *run, struct fth_error *error)
{
    const uint32_t max = run->quick ? 4096 : 32768, factor = run->quick ? 8 : 2;
    FTH_TRY(fth_bench_add_series(run->bench, "copies.tensor",
                                 "TMA: cycles of one tensor copy from L2 by its size and the "
                                 "dimensions of the tensor, rows of 128 bytes",
                                 tensor_columns, FTH_COUNT(tensor_columns), error));
    for (uint32_t bytes = row_bytes; bytes <= max; bytes *= factor) {
        struct fth_cell cells[1 + MAX_DIMENSIONS] = {{.number = bytes}};
        FTH_TRY(fth_bench_progress(run, "TMA, tensors", 0.1 + log2(bytes) / 200, error));
        for (uint32_t rank = 1; rank <= MAX_DIMENSIONS; rank++) {
            struct fth_request request = one_copy(run, FTH_COPIES_TENSOR_LOAD, bytes, false);
            struct fth_copies_result result = {.median = NAN};
            request.copies.rank = rank;
            request.copies.row_bytes = rank == 1 ? bytes : row_bytes;
            /* A box has at most 256 elements of 4 bytes per dimension. */
            if (rank > 1 || bytes <= 1024)
                FTH_TRY(latency(run, &request, &result, error));
            cells[rank].number = fth_copies_round(result.median);
        }
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return FTH_OK;
}

/* ---- copies in flight ---- */

/* Distributes `in_flight` copies over warps. Returns false if they do not fit into shared memory.
 */
static bool put_in_flight(const struct fth_bench_run *run, uint32_t in_flight,
                          struct fth_copies *copies)
{
    const double shared =
        fth_gpu_number(run->gpu, "shared", "max_block_bytes",
                       fth_gpu_number(run->gpu, "shared", "size_bytes", 48 << 10));
    copies->threads = in_flight < MAX_WARPS ? in_flight : MAX_WARPS;
    copies->depth = in_flight / copies->threads;
    copies->count = copies->depth;
    return (double)in_flight * (copies->bytes < LINE ? LINE : copies->bytes) +
               FTH_COPIES_HEAD_BYTES <=
           shared;
}

/* The cycles until n copies, issued at once, are complete. */
static enum fth_status tabulate_bursts(const struct fth_bench_run *run, struct fth_error *error)
{
    static const uint32_t sizes[] = {128, 1024, 4096, 16384};
    FTH_TRY(fth_bench_add_series(run->bench, "copies.burst",
                                 "TMA: cycles until all of n bulk copies from L2 are complete, by "
                                 "n and size",
                                 burst_columns, FTH_COUNT(burst_columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    for (uint32_t in_flight = 1; in_flight <= 64; in_flight *= run->quick ? 4 : 2) {
        FTH_TRY(fth_bench_progress(run, "TMA, bursts", 0.2 + log2(in_flight) / 60, error));
        for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
            struct fth_request request = one_copy(run, FTH_COPIES_BULK_LOAD, sizes[i], false);
            struct fth_copies_result result;
            if (!put_in_flight(run, in_flight, &request.copies))
                continue;
            request.copies.span_bytes = l2_span_bytes * 2;
            FTH_TRY(latency(run, &request, &result, error));
            const struct fth_cell cells[] = {{.number = in_flight},
                                             {.number = sizes[i]},
                                             {.number = fth_copies_round(result.median)}};
            FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        }
    }
    return FTH_OK;
}

/* One table of rates. */
struct rate_table {
    const char *name, *title;
    enum fth_copies_kind kind;
    uint32_t sms; /* 0: all */
    bool cold;
};

/* Makes the request for a rate. */
static bool make_rate(const struct fth_bench_run *run, const struct rate_table *table,
                      uint32_t bytes, uint32_t in_flight, struct fth_request *request)
{
    /* Bytes per SM of the shorter sequence. A simulated GPU is exact, so that few copies suffice.
     */
    const uint64_t moved = run->quick ? 32 << 10 : table->cold ? 2 << 20 : 256 << 10;
    const uint32_t min_turns = run->quick ? 2 : 8;
    *request = fth_copies_request(table->kind, bytes);
    struct fth_copies *copies = &request->copies;
    if (!put_in_flight(run, in_flight, copies))
        return false;
    const uint32_t turns = (uint32_t)(moved / ((uint64_t)bytes * in_flight));
    copies->count = copies->depth * (turns < min_turns ? min_turns : turns > 512 ? 512 : turns);
    copies->sms = table->sms;
    copies->passes = run->quick ? 1 : FTH_COPIES_RATE_PASSES;
    copies->span_bytes =
        l2_span_bytes * ((uint64_t)bytes * copies->threads > l2_span_bytes ? 2 : 1);
    request->cold = table->cold;
    if (table->cold)
        copies->span_bytes = (uint64_t)(copies->passes + 1) * copies->count * copies->threads *
                             (bytes < LINE ? LINE : bytes);
    return true;
}

/* The points of a table of rates. */
enum { MAX_POINTS = 64 };
struct rate_points {
    struct fth_copies_rate rates[MAX_POINTS];
    double bytes[MAX_POINTS]; /* of one copy */
    double in_flight_bytes[MAX_POINTS];
    size_t count;
};

/* Adds a figure to the table and to the description of the copy engine. The fastest passes and the
 * medians give the ends of its interval. */
static enum fth_status note_rate(const struct fth_bench_run *run, const char *attribute,
                                 double best, double median, size_t samples, const char *unit,
                                 const char *method, struct fth_error *error)
{
    const double interval[2] = {fth_copies_round(fmin(best, median)),
                                fth_copies_round(fmax(best, median))};
    FTH_TRY(
        fth_bench_add_figure(run->bench, attribute, fth_copies_round(best), unit, method, error));
    return fth_note(run->described,
                    &(struct fth_note){.element = "tma",
                                       .attribute = attribute,
                                       .number = fth_copies_round(best),
                                       .interval = interval,
                                       .samples = samples,
                                       .method = method},
                    error);
}

/* Adds the highest rate and the fewest bytes in flight that reach 95 % of it and, for one SM, the
 * minimum cycles per copy. */
static enum fth_status note_rates(const struct fth_bench_run *run, const struct rate_table *table,
                                  const struct rate_points *points, struct fth_error *error)
{
    static const char method[] =
        "bulk copies of one SM, the slope between two numbers of copies; the highest rate of all "
        "sizes and numbers of copies in flight";
    const bool stores = table->kind == FTH_COPIES_BULK_STORE;
    struct fth_copies_rate max = {0, 0};
    double needed = INFINITY, copy_cycles = INFINITY, median_cycles = INFINITY;
    for (size_t i = 0; i < points->count; i++) {
        const struct fth_copies_rate *rate = &points->rates[i];
        max = rate->best > max.best ? *rate : max;
        copy_cycles = fmin(copy_cycles, points->bytes[i] / rate->best);
        median_cycles = fmin(median_cycles, points->bytes[i] / rate->median);
    }
    for (size_t i = 0; i < points->count; i++)
        if (points->rates[i].best >= 0.95 * max.best)
            needed = fmin(needed, points->in_flight_bytes[i]);
    if (points->count == 0)
        return FTH_OK;
    if (table->sms == 1)
        FTH_TRY(note_rate(run, stores ? "store_bytes_per_cycle" : "bytes_per_cycle", max.best,
                          max.median, points->count, "B/cycle", method, error));
    else
        FTH_TRY(fth_bench_add_figure(run->bench, "bytes_per_cycle", fth_copies_round(max.best),
                                     "B/cycle", "per SM, the highest of the table", error));
    FTH_TRY(fth_bench_add_figure(run->bench, "in_flight_bytes", needed, "B",
                                 "per SM, the fewest bytes in flight with 95 % of the highest rate",
                                 error));
    return table->sms == 1 && !stores
               ? note_rate(run, "copy_cycles", copy_cycles, median_cycles, points->count, "cycles",
                           "cycles per bulk copy at the highest rate of small copies, issued by up "
                           "to 16 warps of one SM",
                           error)
               : FTH_OK;
}

static enum fth_status tabulate_rates(const struct fth_bench_run *run,
                                      const struct rate_table *table, double from,
                                      struct fth_error *error)
{
    static const uint32_t sizes[] = {128, 1024, 4096, 16384, 65536};
    /* A simulated GPU needs more time the more SMs copy. */
    const bool few = run->quick && table->sms != 1;
    const uint64_t max_bytes = few ? 16 << 10 : UINT64_MAX;
    const uint32_t max_in_flight = few ? 32 : FTH_COPIES_MAX_STAGES;
    struct rate_points points = {.count = 0};
    FTH_TRY(fth_bench_add_series(run->bench, table->name, table->title, rate_columns,
                                 FTH_COUNT(rate_columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    for (uint32_t in_flight = run->quick ? 2 : 1; in_flight <= max_in_flight;
         in_flight *= run->quick ? 4 : 2) {
        FTH_TRY(fth_bench_progress(run, table->title, from + log2(in_flight) / 90, error));
        for (size_t i = 0; i < FTH_COUNT(sizes) && points.count < MAX_POINTS; i++) {
            struct fth_request request;
            struct fth_copies_rate *rate = &points.rates[points.count];
            if (!make_rate(run, table, sizes[i], in_flight, &request) ||
                (uint64_t)sizes[i] * in_flight > max_bytes)
                continue;
            enum fth_status status = fth_copies_measure_rate(run, &request, rate, error);
            if (status != FTH_OK)
                return fth_bench_keep_failure(run->bench, "TMA", status, error);
            const struct fth_cell cells[] = {{.number = in_flight},
                                             {.number = sizes[i]},
                                             {.number = round(100 * rate->best) / 100}};
            FTH_TRY(fth_bench_add_row(run->bench, cells, error));
            points.bytes[points.count] = sizes[i];
            points.in_flight_bytes[points.count++] = (double)in_flight * sizes[i];
        }
    }
    return note_rates(run, table, &points, error);
}

/* Measures whether the GPU has a TMA. *status tells why it has none. */
static enum fth_status find_engine(const struct fth_bench_run *run, bool *present,
                                   struct fth_error *error)
{
    const struct fth_request request = one_copy(run, FTH_COPIES_BULK_LOAD, LINE, false);
    struct fth_copies_result result;
    enum fth_status status = fth_copies_cycles(run, &request, &result, error);
    *present = status == FTH_OK;
    if (status == FTH_OK)
        return FTH_OK;
    FTH_TRY(fth_bench_add_series(run->bench, "copies.latency",
                                 "TMA: cycles of one bulk copy by its size", latency_columns,
                                 FTH_COUNT(latency_columns), NULL));
    return fth_bench_keep_failure(run->bench, "TMA", status, error);
}

enum fth_status fth_bench_copies(const struct fth_bench_run *run, struct fth_error *error)
{
    static const struct rate_table tables[] = {
        {"copies.one_sm", "TMA: bytes per cycle of one SM from L2, by bulk copies in flight",
         FTH_COPIES_BULK_LOAD, 1, false},
        {"copies.l2", "TMA: bytes per cycle and SM of all SMs from L2, by bulk copies in flight",
         FTH_COPIES_BULK_LOAD, 0, false},
        {"copies.memory", "TMA: bytes per cycle and SM of all SMs from memory",
         FTH_COPIES_BULK_LOAD, 0, true},
        {"copies.store", "TMA: bytes per cycle of one SM to L2, by bulk copies in flight",
         FTH_COPIES_BULK_STORE, 1, false},
        {"copies.store_all", "TMA: bytes per cycle and SM of all SMs to L2", FTH_COPIES_BULK_STORE,
         0, false},
    };
    bool present = false;
    FTH_TRY(find_engine(run, &present, error));
    if (present) {
        FTH_TRY(tabulate_latency(run, error));
        FTH_TRY(tabulate_tensors(run, error));
        FTH_TRY(tabulate_bursts(run, error));
    }
    for (size_t i = 0; present && i < FTH_COUNT(tables); i++)
        if (!(run->quick && i == FTH_COUNT(tables) - 1))
            FTH_TRY(tabulate_rates(run, &tables[i], 0.3 + 0.08 * (double)i, error));
    FTH_TRY(fth_bench_cluster_copies(run, error));
    return fth_bench_thread_copies(run, error);
}
