/* Shared memory with bank conflicts: the latency of a load by the number of threads and the stride
 * between them, for words of 4 and 8 bytes (Tables I and II of Qiu, Jo and Goswami,
 * "Microbenchmarking NVIDIA GPUs", measured on an RTX 2060). */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* Latencies are slopes between MIN_ROUNDS and MAX_ROUNDS rounds, the medians of PASSES samples. The
 * strides, in words, are those of the paper's Table I. */
enum { MIN_ROUNDS = 1, MAX_ROUNDS = 4, PASSES = 3, MAX_STRIDE = 32, WARP = 32 };

static const struct fth_column columns[] = {
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"stride_words", "Stride", FTH_COLUMN_NUMBER},
    {"latency_cycles", "Cycles", FTH_COLUMN_NUMBER},
};
static const struct fth_column ways_columns[] = {
    {"ways", "Ways", FTH_COLUMN_NUMBER},
    {"latency_cycles", "Cycles", FTH_COLUMN_NUMBER},
};

/* Measures the cycles of one load. *cycles is NAN if a block cannot have enough shared memory. */
static enum fth_status latency(const struct fth_bench_run *run, unsigned word_bytes,
                               uint32_t threads, uint32_t stride, double *cycles,
                               struct fth_error *error)
{
    const struct fth_operate_plan plan = {
        .operate = {.operation = word_bytes == 4 ? FTH_LOAD_SHARED_4 : FTH_LOAD_SHARED_8,
                    .chains = 1,
                    .threads = threads,
                    .sms = 1,
                    .passes = run->quick ? 1 : PASSES,
                    .stride_bytes = (uint64_t)stride * word_bytes},
        .rounds = MIN_ROUNDS,
        .more_rounds = MAX_ROUNDS,
        .carveout_percent = -1};
    struct fth_figure figure;
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_probe_operate(&run->prober, &plan, &figure, &fault);
    *cycles = status == FTH_OK ? round(100 * figure.value) / 100 : NAN;
    if (status == FTH_OK || status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK;
    return fth_error_move(error, &fault);
}

/* The table of threads and strides. */
static enum fth_status tabulate(const struct fth_bench_run *run, unsigned word_bytes, double from,
                                struct fth_error *error)
{
    char name[32], title[80];
    snprintf(name, sizeof name, "banks.%u", word_bytes);
    snprintf(title, sizeof title,
             "Shared memory: cycles per load of %u bytes, by threads and stride", word_bytes);
    FTH_TRY(fth_bench_add_series(run->bench, name, title, columns, FTH_COUNT(columns), error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    const double max_threads = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    bool missing = false;
    for (uint32_t threads = 1; threads <= max_threads; threads *= 2) {
        FTH_TRY(fth_bench_progress(run, "bank conflicts", from + log2(threads) / 34, error));
        for (uint32_t stride = 1; stride <= MAX_STRIDE; stride *= 2) {
            double cycles;
            FTH_TRY(latency(run, word_bytes, threads, stride, &cycles, error));
            missing = missing || isnan(cycles);
            const struct fth_cell cells[] = {
                {.number = threads}, {.number = stride}, {.number = cycles}};
            FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        }
    }
    return missing ? fth_bench_add_missing(
                         run->bench,
                         "empty cells: they need more shared memory than a block can have", error)
                   : FTH_OK;
}

/* Adds the properties of the banks to the series and to the description. */
static enum fth_status note_banks(const struct fth_bench_run *run, const struct fth_banks *banks,
                                  struct fth_error *error)
{
    static const char fit_method[] =
        "best fit to the latencies of one warp at strides of 1 to 128 words";
    const struct {
        const char *name, *unit, *method;
        double value, low, high;
        const struct fth_evidence *evidence; /* NULL: the figure has an interval */
    } rows[] = {
        {"banks", "", fit_method, banks->banks, NAN, NAN, &banks->evidence},
        {"bank_bytes", "B", "whether a warp's loads of adjacent 8-byte words conflict",
         banks->bank_bytes, NAN, NAN, &banks->width_evidence},
        {"conflict_cycles", "cycles", fit_method, round(100 * banks->conflict_cycles) / 100,
         round(100 * banks->conflict_low) / 100, round(100 * banks->conflict_high) / 100, NULL},
        {"latency_cycles", "cycles", "dependent loads of adjacent words by one warp",
         round(100 * banks->first_cycles) / 100, round(100 * banks->first_low) / 100,
         round(100 * banks->first_high) / 100, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        if (rows[i].value == 0) /* not found */
            continue;
        FTH_TRY(fth_bench_add_figure(run->bench, rows[i].name, rows[i].value, rows[i].unit,
                                     rows[i].method, error));
        const double interval[] = {rows[i].low, rows[i].high};
        FTH_TRY(fth_note(run->described,
                         &(struct fth_note){.element = "shared",
                                            .attribute = rows[i].name,
                                            .number = rows[i].value,
                                            .interval = rows[i].evidence ? NULL : interval,
                                            .evidence = rows[i].evidence,
                                            .samples = banks->samples,
                                            .method = rows[i].method},
                         error));
    }
    return FTH_OK;
}

/* The latency of one warp by the number of lanes that use the same bank, and the properties of the
 * banks. */
static enum fth_status tabulate_ways(const struct fth_bench_run *run, struct fth_error *error)
{
    struct fth_banks banks;
    FTH_TRY(fth_bench_add_series(run->bench, "banks.ways",
                                 "Shared memory: cycles per load by conflict", ways_columns,
                                 FTH_COUNT(ways_columns), error));
    enum fth_status status = fth_probe_banks(&run->prober, &banks, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, "banks", status, error);
    const uint32_t words =
        banks.bank_bytes > 4 ? banks.bank_bytes / 4 : 1; /* 4-byte words per bank */
    for (uint32_t ways = 1; ways <= WARP; ways *= 2) {
        double cycles;
        FTH_TRY(latency(run, 4, WARP, ways * banks.banks / WARP * words, &cycles, error));
        const struct fth_cell cells[] = {{.number = ways}, {.number = cycles}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    return note_banks(run, &banks, error);
}

enum fth_status fth_bench_banks(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(tabulate_ways(run, error));
    FTH_TRY(tabulate(run, 4, 0.3, error));
    return tabulate(run, 8, 0.6, error);
}
