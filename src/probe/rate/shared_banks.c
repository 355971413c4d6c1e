/* Finds the banks of shared memory: their number, their width, and the cost of a bank conflict.
 *
 * One warp loads from shared memory, with a fixed stride between its lanes. Loads of different
 * words of one bank are executed one after the other. n is the number of lanes that access the same
 * bank.
 *
 *   4-byte words, strides of 1, 2, 4 … words   latency = first + (n - 1) * cost. The cost is the
 *                                              slope. The stride from which on the latency is
 *                                              constant is the number of banks: all lanes then
 *                                              access the same bank.
 *   8-byte words, adjacent                     A full warp is slower than half a warp if a bank is
 *                                              4 bytes wide, and equally fast if it is 8 bytes
 *                                              wide.
 *
 * Mei and Chu (2017, Section 6.2) measure the latency of bank conflicts in the same way. The number
 * of banks is assumed to be a power of two. */
#include "probe/rate/probe_rate.h"

#include <math.h>

enum {
    WARP_LANES = 32,
    /* Rounds of the two timed runs. The latency is computed from their difference. */
    SHORT_ROUNDS = 1,
    LONG_ROUNDS = 2,
    PASSES = 3,  /* repeats of each run; odd, for the median. Chosen. */
    STRIDES = 8, /* strides of 1 to 128 words */
    /* Numbers of banks that are tried. Chosen: far below and far above the 16 and 32 that GPUs have
     * had (CUDA C++ Programming Guide, "Compute Capabilities"). */
    MIN_BANKS = 4,
    MAX_BANKS = 128,
    /* Widths of a bank that are tried: that of most GPUs, and that of Kepler. */
    NARROW_BYTES = 4,
    WIDE_BYTES = 8
};

/* Measures the cycles of one load by `threads` lanes of a warp, `stride_bytes` apart. */
static enum fth_status latency(const struct fth_prober *prober, enum fth_operation operation,
                               uint32_t threads, uint64_t stride_bytes, struct fth_figure *cycles,
                               struct fth_error *error)
{
    const struct fth_operate_plan plan = {.operate = {.operation = operation,
                                                      .chains = 1,
                                                      .threads = threads,
                                                      .sms = 1,
                                                      .passes = PASSES,
                                                      .stride_bytes = stride_bytes},
                                          .rounds = SHORT_ROUNDS,
                                          .more_rounds = LONG_ROUNDS,
                                          .carveout_percent = -1};
    return fth_probe_operate(prober, &plan, cycles, error);
}

/* Returns the number of lanes of a warp that access the same bank. `stride` is in words; it and
 * `banks` are powers of two. */
static unsigned conflict_ways(unsigned stride, unsigned banks)
{
    unsigned effective = stride > banks ? banks : stride;
    unsigned ways = WARP_LANES * effective / banks;
    return ways < 1 ? 1 : ways > WARP_LANES ? WARP_LANES : ways;
}

/* Fits the line first + slope * (n - 1) to the latencies, for each possible number of banks, and
 * keeps the number with the smallest squared error. cycles[i] is the latency with a stride of 2^i
 * words. */
static void fit(const double *cycles, struct fth_banks *found)
{
    double best = INFINITY;
    for (unsigned banks = MIN_BANKS; banks <= MAX_BANKS; banks *= 2) {
        double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, error = 0;
        for (unsigned i = 0; i < STRIDES; i++) {
            double x = conflict_ways(1u << i, banks) - 1;
            sum_x += x;
            sum_y += cycles[i];
            sum_xx += x * x;
            sum_xy += x * cycles[i];
        }
        const double spread = STRIDES * sum_xx - sum_x * sum_x;
        const double slope = spread > 0 ? (STRIDES * sum_xy - sum_x * sum_y) / spread : 0;
        const double first = (sum_y - slope * sum_x) / STRIDES;
        for (unsigned i = 0; i < STRIDES; i++) {
            double x = conflict_ways(1u << i, banks) - 1, off = cycles[i] - first - slope * x;
            error += off * off;
        }
        if (error < best) {
            best = error;
            found->banks = banks;
            found->conflict_cycles = slope;
        }
    }
}

enum fth_status fth_probe_banks(const struct fth_prober *prober, struct fth_banks *found,
                                struct fth_error *error)
{
    double cycles[STRIDES];
    *found = (struct fth_banks){0};
    for (unsigned i = 0; i < STRIDES; i++) {
        struct fth_figure figure = {0};
        FTH_TRY(latency(prober, FTH_LOAD_SHARED_4, WARP_LANES, (uint64_t)NARROW_BYTES << i, &figure,
                        error));
        cycles[i] = figure.value;
        found->samples += figure.samples;
    }
    struct fth_figure half_warp = {0}, full_warp = {0}, spaced = {0};
    FTH_TRY(latency(prober, FTH_LOAD_SHARED_8, WARP_LANES / 2, WIDE_BYTES, &half_warp, error));
    FTH_TRY(latency(prober, FTH_LOAD_SHARED_8, WARP_LANES, WIDE_BYTES, &full_warp, error));
    FTH_TRY(
        latency(prober, FTH_LOAD_SHARED_8, WARP_LANES, UINT64_C(2) * WIDE_BYTES, &spaced, error));
    found->samples += half_warp.samples + full_warp.samples + spaced.samples;
    fit(cycles, found);
    found->first_cycles = cycles[0];
    if (found->conflict_cycles <= 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find banks", NULL,
                        "the latency does not increase with the stride");
    /* Half a warp with 8-byte words accesses each bank at most once, with either width. A full warp
     * has a conflict if banks are 4 bytes wide. If they are 8 bytes wide, it has one only with
     * twice the stride. */
    const double half = found->conflict_cycles / 2;
    if (full_warp.value - half_warp.value > half) {
        found->bank_bytes = NARROW_BYTES;
    } else if (spaced.value - full_warp.value > half) {
        found->bank_bytes = WIDE_BYTES;
        found->banks /= 2; /* the fit above counted 4-byte banks */
    }
    return FTH_OK;
}
