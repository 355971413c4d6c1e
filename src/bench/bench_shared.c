/* The throughput of shared memory (Mei and Chu, Section 6.1): copies from one region to another, by
 * the size and number of blocks per SM and the number of words that each thread has in flight
 * (ILP). The paper copies words of 4 bytes. Vectors of 16 bytes are measured as well, because some
 * GPUs need them to reach the full throughput of the banks.
 *
 * The time of an SM is from the start of its first block to the end of its last. Throughput is the
 * slope between two numbers of rounds, so that the overhead at the start and end cancels out. */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_ROUNDS = 8, /* long enough that the blocks overlap: they start up to some thousand cycles
                       apart */
    MAX_ROUNDS = 136,
    QUICK_ROUNDS = 2, /* on a simulated GPU; with 1, the blocks hardly overlap, so that the further
                         rounds seem faster than the banks */
    QUICK_MAX_ROUNDS = 6,
    MAX_BLOCKS = 6,
    MAX_WARPS = 64,
    WARP = 32
};
/* A throughput more than 1 % above theory, the uncertainty of the clock, is not trusted. */
static const double tolerance = 1.01;

static const uint32_t word_ilps[] = {1, 2, 4, 6, 8}, vector_ilps[] = {1, 2, 4};
static const struct kind {
    enum fth_operation operation;
    const uint32_t *ilps;
    size_t ilp_count;
} kinds[] = {{FTH_COPY_SHARED_4, word_ilps, FTH_COUNT(word_ilps)},
             {FTH_COPY_SHARED_16, vector_ilps, FTH_COUNT(vector_ilps)}};

static const struct fth_column point_columns[] = {
    {"word_bytes", "Word", FTH_COLUMN_BYTES},
    {"threads", "CTA size", FTH_COLUMN_NUMBER},
    {"blocks_per_sm", "CTAs/SM", FTH_COLUMN_NUMBER},
    {"ilp", "ILP", FTH_COLUMN_NUMBER},
    {"warps", "Warps", FTH_COLUMN_NUMBER},
    {"bytes_per_cycle", "B/cycle", FTH_COLUMN_NUMBER},
    {"bytes_per_s", "B/s", FTH_COLUMN_NUMBER},
};
static const struct fth_column peak_columns[] = {
    {"warps", "Warps", FTH_COLUMN_NUMBER},
    {"ilp", "ILP", FTH_COLUMN_NUMBER},
    {"gb_per_s", "GB/s", FTH_COLUMN_NUMBER},
};
static const struct fth_column summary_columns[] = {
    {"quantity", "Per SM", FTH_COLUMN_TEXT},
    {"value", "Value", FTH_COLUMN_NUMBER},
};

/* One launch and its result. */
struct point {
    unsigned word_bytes;
    uint32_t threads, blocks, ilp, warps;
    double bytes_per_cycle, bytes_per_s;
    double low_bytes_per_s, high_bytes_per_s; /* of the slowest and of the fastest repeat */
};

struct sweep {
    struct point *points;
    size_t count;
    double clock_mhz;
};

/* Returns whether a launch is measured. On a simulated GPU only some are, because they are slow. */
static bool is_selected(const struct fth_bench_run *run, uint32_t threads, uint32_t blocks,
                        uint32_t ilp)
{
    return !run->quick || ((blocks & (blocks - 1)) == 0 && ilp != 6 && threads != 64);
}

/* Returns whether all blocks of a launch can be resident at the same time. */
static bool fits(const struct fth_bench_run *run, const struct point *point)
{
    const double threads = fth_gpu_number(run->gpu, "device", "max_threads_per_sm", 1024);
    const double block = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    const double sm_bytes = fth_gpu_number(run->gpu, "shared", "size_bytes", 16384);
    const double max = fth_gpu_number(run->gpu, "shared", "max_block_bytes", sm_bytes);
    /* Since Ampere, 1 KiB of shared memory is reserved for each block. GPUs with more than 96 KiB
     * of shared memory per SM are Ampere or later. */
    const double reserved = sm_bytes > 98304 ? 1024 : 0;
    const double bytes = 2.0 * point->word_bytes * point->ilp * point->threads;
    return point->threads <= block && (double)point->threads * point->blocks <= threads &&
           bytes <= max && (bytes + reserved) * point->blocks <= sm_bytes;
}

static enum fth_status measure(const struct fth_bench_run *run, enum fth_operation operation,
                               struct sweep *sweep, struct point *point, struct fth_error *error)
{
    const struct fth_operate_plan plan = {.operate = {.operation = operation,
                                                      .chains = point->ilp,
                                                      .threads = point->threads,
                                                      .sms = run->quick ? 1 : 0,
                                                      .per_sm = point->blocks,
                                                      .passes = 1,
                                                      .stride_bytes = point->word_bytes},
                                          .rounds = run->quick ? QUICK_ROUNDS : MIN_ROUNDS,
                                          .more_rounds = run->quick ? QUICK_MAX_ROUNDS : MAX_ROUNDS,
                                          .carveout_percent = 100};
    struct fth_figure cycles;
    FTH_TRY(fth_probe_operate(&run->prober, &plan, &cycles, error));
    if (!(cycles.value > 0))
        return fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL, "more rounds took no more time");
    point->bytes_per_cycle =
        2.0 * point->word_bytes * point->threads * point->blocks / cycles.value;
    point->bytes_per_s = point->bytes_per_cycle * cycles.clock_mhz * 1e6;
    point->low_bytes_per_s = point->bytes_per_s * cycles.value / cycles.high;
    point->high_bytes_per_s =
        cycles.low > 0 ? point->bytes_per_s * cycles.value / cycles.low : point->bytes_per_s;
    sweep->clock_mhz = cycles.clock_mhz;
    return FTH_OK;
}

static enum fth_status note_point(const struct fth_bench_run *run, const struct point *point,
                                  struct fth_error *error)
{
    const struct fth_cell cells[] = {{.number = point->word_bytes},
                                     {.number = point->threads},
                                     {.number = point->blocks},
                                     {.number = point->ilp},
                                     {.number = point->warps},
                                     {.number = round(100 * point->bytes_per_cycle) / 100},
                                     {.number = round(point->bytes_per_s / 1e6) * 1e6}};
    return fth_bench_add_row(run->bench, cells, error);
}

/* Measures all launches of one kind. */
static enum fth_status sweep_kind(const struct fth_bench_run *run, const struct kind *kind,
                                  struct sweep *sweep, double from, struct fth_error *error)
{
    for (uint32_t threads = WARP; threads <= 1024; threads *= 2) {
        FTH_TRY(fth_bench_progress(run, "shared memory", from + log2(threads / 32.0) / 12, error));
        for (uint32_t i = 0; i < MAX_BLOCKS * kind->ilp_count; i++) {
            struct point point = {.word_bytes = fth_operation_bytes(kind->operation),
                                  .threads = threads,
                                  .blocks = i / (uint32_t)kind->ilp_count + 1,
                                  .ilp = kind->ilps[i % kind->ilp_count]};
            point.warps = threads / WARP * point.blocks;
            if (!fits(run, &point) || !is_selected(run, threads, point.blocks, point.ilp))
                continue;
            enum fth_status status = measure(run, kind->operation, sweep, &point, error);
            if (status != FTH_OK)
                return fth_bench_keep_failure(run->bench, fth_operation_title(kind->operation),
                                              status, error);
            FTH_TRY(note_point(run, &point, error));
            sweep->points[sweep->count++] = point;
        }
    }
    return FTH_OK;
}

static const struct point *best_of(const struct sweep *sweep)
{
    const struct point *best = NULL;
    for (size_t i = 0; i < sweep->count; i++)
        if (!best || sweep->points[i].bytes_per_cycle > best->bytes_per_cycle)
            best = &sweep->points[i];
    return best;
}

/* The maximum for each number of warps and ILP (Fig. 16 of the paper; the maximum of each row is
 * its Fig. 15). */
static enum fth_status tabulate_peaks(const struct fth_bench_run *run, const struct sweep *sweep,
                                      unsigned word_bytes, struct fth_error *error)
{
    char name[32], title[80];
    snprintf(name, sizeof name, "shared.peak%u", word_bytes);
    snprintf(title, sizeof title,
             "Shared memory: GB/s per SM by active warps and ILP, words of %u bytes", word_bytes);
    FTH_TRY(fth_bench_add_series(run->bench, name, title, peak_columns, FTH_COUNT(peak_columns),
                                 error));
    fth_bench_show_grid(run->bench, 0, 1, 2);
    for (uint32_t warps = 1; warps <= MAX_WARPS; warps++)
        for (uint32_t ilp = 1; ilp <= FTH_MAX_CHAINS; ilp++) {
            double max = 0;
            for (size_t i = 0; i < sweep->count; i++) {
                const struct point *point = &sweep->points[i];
                if (point->word_bytes == word_bytes && point->warps == warps && point->ilp == ilp)
                    max = fmax(max, point->bytes_per_s);
            }
            const struct fth_cell cells[] = {
                {.number = warps}, {.number = ilp}, {.number = round(max / 1e7) / 100}};
            if (max > 0)
                FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        }
    return FTH_OK;
}

/* Returns the bytes that a bank delivers per cycle; NAN: unknown. On Fermi, a bank needs two core
 * clock cycles for its 4 bytes. */
static double bank_bytes(const struct fth_bench_run *run, const struct fth_banks *banks)
{
    const char *capability = fth_gpu_text(run->gpu, "device", "compute_capability");
    const bool fermi = capability && strncmp(capability, "2.", 2) == 0;
    return banks->bank_bytes ? banks->bank_bytes / (fermi ? 2.0 : 1.0) : NAN;
}

/* Writes the bandwidth of the best copy. Its interval has the slowest and the fastest repeat. */
static enum fth_status note_copy(const struct fth_bench_run *run, const struct point *best,
                                 size_t samples, struct fth_error *error)
{
    const double sms = (double)run->prober.sms;
    const double rate = round(best->bytes_per_s / 1e8) * 1e8 * sms;
    const double interval[] = {fmin(round(best->low_bytes_per_s / 1e8) * 1e8 * sms, rate),
                               fmax(round(best->high_bytes_per_s / 1e8) * 1e8 * sms, rate)};
    return fth_note(run->described,
                    &(struct fth_note){.element = "shared",
                                       .attribute = "copy_bytes_per_s",
                                       .number = rate,
                                       .interval = interval,
                                       .samples = samples,
                                       .method = "best copy per SM x number of SMs"},
                    error);
}

/* Table 7 of the paper: the theoretical and the achieved throughput. */
static enum fth_status summarize(const struct fth_bench_run *run, const struct sweep *sweep,
                                 const struct fth_banks *banks, struct fth_error *error)
{
    const struct point *best = best_of(sweep);
    const double clock_mhz = isfinite(sweep->clock_mhz)
                                 ? sweep->clock_mhz
                                 : fth_gpu_number(run->gpu, "device", "clock_mhz", NAN);
    const double bank = bank_bytes(run, banks);
    const double theory = bank * banks->banks * clock_mhz * 1e6;
    const double part = best ? best->bytes_per_s / theory : NAN;
    const struct {
        const char *quantity;
        double value;
    } rows[] = {{"W_bank (byte/cycle)", bank},
                {"f_core (GHz)", round(clock_mhz) / 1e3},
                {"W_SM (GB/s)", round(theory / 1e7) / 100},
                {"W'_SM (GB/s)", best ? round(best->bytes_per_s / 1e7) / 100 : NAN},
                {"Efficiency (%)", round(1000 * part) / 10},
                {"  with CTA size", best ? (double)best->threads : NAN},
                {"  CTAs per SM", best ? (double)best->blocks : NAN},
                {"  ILP", best ? (double)best->ilp : NAN},
                {"  bytes per word", best ? (double)best->word_bytes : NAN}};
    FTH_TRY(fth_bench_add_series(run->bench, "shared.theory",
                                 "Theoretical and achieved throughput of shared memory",
                                 summary_columns, FTH_COUNT(summary_columns), error));
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_cell cells[] = {{.text = rows[i].quantity, .number = NAN},
                                         {.number = rows[i].value}};
        FTH_TRY(fth_bench_add_row(run->bench, cells, error));
    }
    if (part > tolerance)
        return fth_bench_add_missing(
            run->bench, "not trustworthy: measured more than the banks can deliver", error);
    if (isfinite(part))
        FTH_TRY(fth_bench_add_figure(run->bench, "copy_of_theory", round(1000 * part) / 1000, "",
                                     "best copy / (banks x width x clock)", error));
    if (best)
        FTH_TRY(note_copy(run, best, sweep->count, error));
    /* Little's law: the bytes in flight are the latency times the throughput. */
    if (isfinite(bank))
        FTH_TRY(fth_bench_add_figure(run->bench, "warps_needed",
                                     round(banks->first_cycles * bank * banks->banks / (4 * WARP)),
                                     "warps", "with ILP 1, by Little's law: latency x W_SM / 128 B",
                                     error));
    return FTH_OK;
}

/* Measures reads and writes separately, in vectors of 16 bytes. */
static enum fth_status note_rates(const struct fth_bench_run *run, const struct fth_banks *banks,
                                  struct fth_error *error)
{
    static const struct {
        enum fth_bandwidth_target target;
        const char *key;
    } rates[] = {{FTH_BANDWIDTH_SHARED_READ, "read"}, {FTH_BANDWIDTH_SHARED_WRITE, "write"}};
    for (size_t i = 0; i < FTH_COUNT(rates); i++)
        FTH_TRY(fth_bench_add_bandwidth(run, rates[i].target, rates[i].key,
                                        bank_bytes(run, banks) * banks->banks, error));
    return FTH_OK;
}

/* Measures all points, which `sweep` has space for, and adds the tables. */
static enum fth_status measure_all(const struct fth_bench_run *run, struct sweep *sweep,
                                   struct fth_error *error)
{
    FTH_TRY(fth_bench_add_series(run->bench, "shared.points",
                                 "Shared memory: copies of every shape", point_columns,
                                 FTH_COUNT(point_columns), error));
    fth_bench_hide_table(run->bench);
    for (size_t i = 0; i < FTH_COUNT(kinds); i++)
        FTH_TRY(sweep_kind(run, &kinds[i], sweep, 0.45 * (double)i, error));
    if (run->quick)
        FTH_TRY(fth_bench_add_missing(
            run->bench, "simulated GPU: one SM, and fewer shapes; use --thorough for all", error));
    struct fth_banks banks = {0};
    enum fth_status status = fth_probe_banks(&run->prober, &banks, error);
    if (status != FTH_OK)
        FTH_TRY(fth_bench_keep_failure(run->bench, "banks", status, error));
    FTH_TRY(summarize(run, sweep, &banks, error));
    FTH_TRY(note_rates(run, &banks, error));
    for (size_t i = 0; i < FTH_COUNT(kinds); i++)
        FTH_TRY(tabulate_peaks(run, sweep, fth_operation_bytes(kinds[i].operation), error));
    return FTH_OK;
}

enum fth_status fth_bench_shared(const struct fth_bench_run *run, struct fth_error *error)
{
    struct sweep sweep = {.clock_mhz = NAN};
    sweep.points = calloc((size_t)MAX_BLOCKS * 6 * 2 * FTH_MAX_CHAINS, sizeof *sweep.points);
    if (!sweep.points)
        return fth_no_memory(error, "measure", NULL);
    enum fth_status status = measure_all(run, &sweep, error);
    free(sweep.points);
    return status;
}
