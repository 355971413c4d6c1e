/* The banks of shared memory: how many, how wide, and what a conflict costs. One warp loads with
 * lanes a stride apart; loads of different words of one bank are served one after the other.
 *
 *   words of 4 bytes, stride 1, 2, 4 …     latency = first + (ways - 1) * cost: the cost is the
 *                                          slope, and the stride from which on it stays the same is
 *                                          the number of banks (all lanes meet one)
 *   words of 8 bytes, side by side         twice as many cycles where a bank gives 4 bytes at a
 *                                          time, as many where it gives 8
 */
#include "probe/probe.h"

#include <math.h>

enum { WARP = 32, MIN_ROUNDS = 1, MAX_ROUNDS = 2, PASSES = 3, STRIDES = 8 };

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
                                          .rounds = MIN_ROUNDS,
                                          .more_rounds = MAX_ROUNDS,
                                          .carveout_percent = -1};
    return fth_probe_operate(prober, &plan, cycles, error);
}

/* As many lanes as meet in a bank, by the stride in words. */
static unsigned ways_at(unsigned stride, unsigned banks)
{
    unsigned apart = stride > banks ? banks : stride; /* powers of two */
    unsigned ways = WARP * apart / banks;
    return ways < 1 ? 1 : ways > WARP ? WARP : ways;
}

/* The number of banks, a power of two, that the latencies fit best, and the slope then. */
static void fit(const double *cycles, struct fth_banks *found)
{
    double best = INFINITY;
    for (unsigned banks = 4; banks <= 128; banks *= 2) {
        double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, error = 0;
        for (unsigned i = 0; i < STRIDES; i++) {
            double x = ways_at(1u << i, banks) - 1;
            sum_x += x;
            sum_y += cycles[i];
            sum_xx += x * x;
            sum_xy += x * cycles[i];
        }
        const double spread = STRIDES * sum_xx - sum_x * sum_x;
        const double slope = spread > 0 ? (STRIDES * sum_xy - sum_x * sum_y) / spread : 0;
        const double first = (sum_y - slope * sum_x) / STRIDES;
        for (unsigned i = 0; i < STRIDES; i++) {
            double x = ways_at(1u << i, banks) - 1, off = cycles[i] - first - slope * x;
            error += off * off;
        }
        if (error < best) {
            best = error;
            found->banks = banks;
            found->conflict_cycles = slope;
            found->residual_cycles = sqrt(error / STRIDES);
        }
    }
}

enum fth_status fth_probe_banks(const struct fth_prober *prober, struct fth_banks *found,
                                struct fth_error *error)
{
    double cycles[STRIDES];
    *found = (struct fth_banks){0};
    enum fth_status status = FTH_OK;
    for (unsigned i = 0; i < STRIDES && status == FTH_OK; i++) {
        struct fth_figure figure = {0};
        status = latency(prober, FTH_LOAD_SHARED_4, WARP, UINT64_C(4) << i, &figure, error);
        cycles[i] = figure.value;
        found->samples += figure.samples;
    }
    struct fth_figure narrow = {0}, wide = {0}, apart = {0};
    if (status == FTH_OK)
        status = latency(prober, FTH_LOAD_SHARED_8, WARP / 2, 8, &narrow, error);
    if (status == FTH_OK)
        status = latency(prober, FTH_LOAD_SHARED_8, WARP, 8, &wide, error);
    if (status == FTH_OK)
        status = latency(prober, FTH_LOAD_SHARED_8, WARP, 16, &apart, error);
    if (status != FTH_OK)
        return status;
    found->samples += narrow.samples + wide.samples + apart.samples;
    fit(cycles, found);
    found->first_cycles = cycles[0];
    if (found->conflict_cycles <= 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find banks", NULL,
                        "no stride is slower than another");
    /* Half a warp fits into one row either way. A whole one takes a second where banks give four
     * bytes at a time; where they give eight, only the next stride does. */
    const double half = found->conflict_cycles / 2;
    if (wide.value - narrow.value > half) {
        found->bank_bytes = 4;
    } else if (apart.value - wide.value > half) {
        found->bank_bytes = 8;
        found->banks /= 2; /* two words of four bytes are one of the bank's */
    }
    return FTH_OK;
}
