/* Finds out how many loads a warp can track with one scoreboard, and how many sectors an SM can
 * have in flight.
 *
 * A warp waits for its loads with a few counters, the scoreboards. The compiler assigns a
 * scoreboard to each load, and the same one to independent loads in a row. One warp issues n
 * independent loads of lines that are in memory, and reads the clock after the last one is issued.
 * This takes a few cycles per load. If the scoreboard can count L loads, the load L + 1 is issued
 * only when the first one has returned:
 *
 *   cycles until n loads are issued
 *      |                    _______     the latency of a load
 *      |                   |
 *      |         __..--''--'
 *      +---------------------------- n
 *                          L
 *
 * For an SM, several warps read many sectors, and the time until all of them have returned grows by
 * s cycles per sector. If the number of sectors in flight is the limit, this number is the latency
 * divided by s, both for lines in the L2 and for lines in memory, whose latencies differ (Little's
 * law). If the SM sends or receives sectors at a limited rate, s does not depend on the latency. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

enum {
    REPEATS = 8, /* of each number of loads. Chosen, not derived. */
    SM_WARPS = 8,
    SM_LANES = 32,
    SM_LOADS = 32, /* loads per warp, in steps */
    SM_STEP = 8,
    SM_REPEATS = 4
};
/* Minimum of the jump in cycles. Chosen: several times what an instruction line takes that is
 * fetched from an outer cache. */
static const double min_jump_cycles = 64;
/* The load that waits is issued when the first one returns: after this fraction of the latency at
 * least, and this multiple at most. Chosen, not derived. */
static const double min_latency_part = 0.5, max_latency_part = 2;
/* Minimum size of the first jump, as a fraction of the largest one. Chosen: all jumps are about one
 * latency. */
static const double min_first_part = 0.5;
/* Maximum deviation below and above the jump, as a fraction of it. Chosen, not derived. */
static const double max_before = 0.25, min_after = 0.5;
/* Ratio of the cycles per sector from memory to those from the L2, up to which the rate is the
 * limit; and maximum ratio of the two numbers of sectors in flight. Chosen, not derived. */
static const double max_rate_ratio = 1.2, max_estimate_ratio = 1.15;
/* Fraction of the sectors that all warps together can have in flight, from which on the warps may
 * be the limit. Chosen, not derived. */
static const double min_warp_part = 0.8;

/* ---- loads of a warp ---- */

/* Returns the number of loads before the first large jump. Load 2 L + 1 waits as long for load
 * L + 1 as that one waits for the first, so that the largest jump need not be the first one. */
static size_t find_jump(const double *cycles, size_t loads)
{
    double largest = 0;
    for (size_t n = 1; n < loads; n++)
        largest = fmax(largest, cycles[n] - cycles[n - 1]);
    size_t first = 1;
    while (first + 1 < loads && cycles[first] - cycles[first - 1] < min_first_part * largest)
        first++;
    return first;
}

bool fth_decide_warp_loads(const double *cycles, size_t loads, double latency_cycles,
                           uint32_t *limit)
{
    const size_t before = find_jump(cycles, loads);
    const double low = cycles[before - 1], jump = cycles[before] - low;
    bool clear = jump >= min_jump_cycles && cycles[before] >= min_latency_part * latency_cycles &&
                 cycles[before] <= max_latency_part * latency_cycles;
    for (size_t n = 1; n <= loads; n++)
        clear = clear && (n <= before ? cycles[n - 1] <= low + max_before * jump
                                      : cycles[n - 1] >= low + min_after * jump);
    *limit = (uint32_t)before;
    return clear;
}

/* The median over the repeats of the samples `which` (0: issued, 1: returned) of a trial. */
static enum fth_status find_median(const struct fth_samples *answer, size_t trials, size_t trial,
                                   size_t which, double *cycles, struct fth_error *error)
{
    double values[REPEATS];
    const size_t repeats = answer->count / (2 * trials);
    for (size_t i = 0; i < repeats; i++)
        values[i] = answer->cycles[2 * (i * trials + trial) + which];
    return fth_quantile_f64(values, repeats, 0.5, cycles, error);
}

static struct fth_request make_request(struct fth_flight flight, bool cold)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_FLIGHT;
    request.flight = flight;
    request.cold = cold;
    return request;
}

enum fth_status fth_probe_warp_loads(const struct fth_prober *prober, struct fth_warp_loads *found,
                                     struct fth_error *error)
{
    enum { LOADS = FTH_FLIGHT_LOADS };
    const struct fth_request request = make_request(
        (struct fth_flight){.loads = LOADS, .step = 1, .warps = 1, .lanes = 1, .repeats = REPEATS},
        true);
    struct fth_answers answers = {0};
    double medians[LOADS], latency = 0;
    *found = (struct fth_warp_loads){.loads = 0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    const struct fth_samples *answer = &answers.items[0];
    found->samples = answer->count;
    enum fth_status status = find_median(answer, LOADS, 0, 1, &latency, error);
    for (size_t n = 0; n < LOADS && status == FTH_OK; n++)
        status = find_median(answer, LOADS, n, 0, &medians[n], error);
    const bool clear =
        status == FTH_OK && fth_decide_warp_loads(medians, LOADS, latency, &found->loads);
    found->evidence.repeats = REPEATS;
    for (size_t i = 0; i < REPEATS && clear; i++) {
        /* The first number of loads that takes longer than half of the jump. */
        const double middle = (medians[found->loads - 1] + medians[found->loads]) / 2;
        size_t n = 0;
        while (n < LOADS && answer->cycles[2 * (i * LOADS + n)] < middle)
            n++;
        found->evidence.agree += n == found->loads;
    }
    const bool never =
        status == FTH_OK && !clear && medians[LOADS - 1] < min_latency_part * latency;
    if (!clear)
        found->loads = never ? LOADS : 0;
    if (status == FTH_OK && !clear)
        status = never ? fth_fail(error, FTH_INCONCLUSIVE, "find loads in flight", NULL,
                                  "a warp can have at least %d loads in flight", LOADS)
                       : fth_fail(error, FTH_INCONCLUSIVE, "find loads in flight", NULL,
                                  "no number of loads from which on a warp waits");
    fth_answers_fini(&answers);
    return status;
}

/* ---- sectors of an SM ---- */

/* What the reads of an SM show: cycles per sector, and the latency of one load. */
struct sector_times {
    double cycles_per_sector, latency_cycles;
};

static enum fth_status find_times(const struct fth_samples *one, const struct fth_samples *many,
                                  struct sector_times *times, struct fth_error *error)
{
    enum { TRIALS = SM_LOADS / SM_STEP };
    double first, last;
    FTH_TRY(find_median(one, 1, 0, 1, &times->latency_cycles, error));
    FTH_TRY(find_median(many, TRIALS, 0, 1, &first, error));
    FTH_TRY(find_median(many, TRIALS, TRIALS - 1, 1, &last, error));
    times->cycles_per_sector =
        (last - first) / ((double)SM_WARPS * SM_LANES * (SM_LOADS - SM_STEP));
    return FTH_OK;
}

enum fth_status fth_probe_sm_sectors(const struct fth_prober *prober, uint32_t warp_loads,
                                     struct fth_sm_sectors *found, struct fth_error *error)
{
    const struct fth_flight one = {
        .loads = 1, .step = 1, .warps = 1, .lanes = 1, .repeats = REPEATS};
    const struct fth_flight many = {.loads = SM_LOADS,
                                    .step = SM_STEP,
                                    .warps = SM_WARPS,
                                    .lanes = SM_LANES,
                                    .repeats = SM_REPEATS};
    struct fth_request requests[4] = {make_request(one, true), make_request(many, true),
                                      make_request(one, false), make_request(many, false)};
    struct fth_answers answers = {0};
    struct sector_times memory = {0}, l2 = {0};
    requests[2].flight.warm = requests[3].flight.warm = true;
    *found = (struct fth_sm_sectors){.sectors = 0};
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    enum fth_status status = find_times(&answers.items[0], &answers.items[1], &memory, error);
    if (status == FTH_OK)
        status = find_times(&answers.items[2], &answers.items[3], &l2, error);
    fth_answers_fini(&answers);
    FTH_TRY(status);
    FTH_TRY(fth_decide_sm_sectors((const double[]){memory.cycles_per_sector, memory.latency_cycles},
                                  (const double[]){l2.cycles_per_sector, l2.latency_cycles}, found,
                                  error));
    const double loads = warp_loads < SM_LOADS ? warp_loads : SM_LOADS;
    return found->sectors < min_warp_part * loads * SM_WARPS * SM_LANES
               ? FTH_OK
               : fth_fail(error, FTH_INCONCLUSIVE, "find sectors in flight", NULL,
                          "the loads of a warp in flight may be the limit");
}

enum fth_status fth_decide_sm_sectors(const double memory[2], const double l2[2],
                                      struct fth_sm_sectors *found, struct fth_error *error)
{
    static const char operation[] = "find sectors in flight";
    if (!(memory[0] > 0) || !(l2[0] > 0))
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "more sectors do not take longer");
    const double estimates[2] = {memory[1] / memory[0], l2[1] / l2[0]};
    if (memory[0] <= max_rate_ratio * l2[0])
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "at least %.0f sectors are in flight; their number does not limit the rate "
                        "of an SM",
                        estimates[0]);
    const double ratio = estimates[0] / estimates[1];
    if (ratio > max_estimate_ratio || ratio < 1 / max_estimate_ratio)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "%.0f sectors are in flight from memory, and %.0f from the L2",
                        estimates[0], estimates[1]);
    found->sectors = sqrt(estimates[0] * estimates[1]);
    found->low = fmin(estimates[0], estimates[1]);
    found->high = fmax(estimates[0], estimates[1]);
    return FTH_OK;
}
