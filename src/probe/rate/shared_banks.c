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
 * words. The stride with the index `left_out` is not used, if there is one. */
static void fit(const double *cycles, unsigned left_out, struct fth_banks *found)
{
    const unsigned used = STRIDES - (left_out < STRIDES);
    double best = INFINITY;
    for (unsigned banks = MIN_BANKS; banks <= MAX_BANKS; banks *= 2) {
        double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, error = 0;
        for (unsigned i = 0; i < STRIDES; i++) {
            if (i == left_out)
                continue;
            double x = conflict_ways(1u << i, banks) - 1;
            sum_x += x;
            sum_y += cycles[i];
            sum_xx += x * x;
            sum_xy += x * cycles[i];
        }
        const double spread = used * sum_xx - sum_x * sum_x;
        const double slope = spread > 0 ? (used * sum_xy - sum_x * sum_y) / spread : 0;
        const double first = (sum_y - slope * sum_x) / used;
        for (unsigned i = 0; i < STRIDES; i++) {
            double x = conflict_ways(1u << i, banks) - 1, off = cycles[i] - first - slope * x;
            error += i == left_out ? 0 : off * off;
        }
        if (error < best) {
            best = error;
            found->banks = banks;
            found->conflict_cycles = slope;
        }
    }
}

/* The latencies of a warp that reads words of 8 bytes. */
struct wide_loads {
    struct fth_figure half_warp, full_warp, spaced; /* spaced: with twice the stride */
};

/* Decides about the width of the banks. Half a warp with 8-byte words accesses each bank at most
 * once, with either width. A full warp has a conflict if banks are 4 bytes wide. If they are 8
 * bytes wide, it has one only with twice the stride. */
static void find_width(const struct wide_loads *loads, struct fth_banks *found)
{
    const double half = found->conflict_cycles / 2;
    if (loads->full_warp.value - loads->half_warp.value > half) {
        found->bank_bytes = NARROW_BYTES;
    } else if (loads->spaced.value - loads->full_warp.value > half) {
        found->bank_bytes = WIDE_BYTES;
        found->banks /= 2; /* fit() counted 4-byte banks */
    }
}

/* Fits again without each of the strides in turn, and compares the results with `found`. */
static void leave_one_out(const double *cycles, const struct wide_loads *loads,
                          struct fth_banks *found)
{
    found->evidence = found->width_evidence = (struct fth_evidence){.repeats = STRIDES};
    found->conflict_low = found->conflict_high = found->conflict_cycles;
    for (unsigned i = 0; i < STRIDES; i++) {
        struct fth_banks again = {0};
        fit(cycles, i, &again);
        find_width(loads, &again);
        found->evidence.agree += again.banks == found->banks;
        found->width_evidence.agree += again.bank_bytes == found->bank_bytes;
        found->conflict_low = fmin(found->conflict_low, again.conflict_cycles);
        found->conflict_high = fmax(found->conflict_high, again.conflict_cycles);
    }
}

enum fth_status fth_probe_banks(const struct fth_prober *prober, struct fth_banks *found,
                                struct fth_error *error)
{
    double cycles[STRIDES];
    struct fth_figure first = {0};
    *found = (struct fth_banks){0};
    for (unsigned i = 0; i < STRIDES; i++) {
        struct fth_figure figure = {0};
        FTH_TRY(latency(prober, FTH_LOAD_SHARED_4, WARP_LANES, (uint64_t)NARROW_BYTES << i, &figure,
                        error));
        first = i ? first : figure;
        cycles[i] = figure.value;
        found->samples += figure.samples;
    }
    struct wide_loads loads = {.half_warp = {.value = NAN}};
    FTH_TRY(
        latency(prober, FTH_LOAD_SHARED_8, WARP_LANES / 2, WIDE_BYTES, &loads.half_warp, error));
    FTH_TRY(latency(prober, FTH_LOAD_SHARED_8, WARP_LANES, WIDE_BYTES, &loads.full_warp, error));
    FTH_TRY(latency(prober, FTH_LOAD_SHARED_8, WARP_LANES, UINT64_C(2) * WIDE_BYTES, &loads.spaced,
                    error));
    found->samples += loads.half_warp.samples + loads.full_warp.samples + loads.spaced.samples;
    fit(cycles, STRIDES, found);
    /* With fewer banks than lanes, adjacent words conflict as well. */
    const double conflicts = (conflict_ways(1, found->banks) - 1) * found->conflict_cycles;
    found->first_cycles = first.value - conflicts;
    found->first_low = first.low - conflicts;
    found->first_high = first.high - conflicts;
    if (found->conflict_cycles <= 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find banks", NULL,
                        "the latency does not increase with the stride");
    find_width(&loads, found);
    leave_one_out(cycles, &loads, found);
    return FTH_OK;
}
