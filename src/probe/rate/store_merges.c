/* Finds out whether the L1 merges stores of two warps to the same line, and within which time.
 *
 * The warps of one SM store whole lines, one after the other. If they store more than the SM can
 * send, the time until all stores are complete is proportional to what is sent. Two warps that
 * store to the same lines at the same time take as long as one of them if their stores are merged.
 * The second warp then begins later by a lag: beyond a certain lag, the stores take as long as
 * stores to different lines. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

enum {
    LINES = 256, /* of a warp. Chosen: much longer than the latency of a store. */
    REPEATS = 5, /* chosen, not derived */
    LAGS = 31,
    SAMPLES = 3 /* of a repeat */
};
/* Numbers of warps that are tried. The first three with which merging makes a difference must give
 * the same window: where stores wait for each other, it depends on how many there are. On an H200,
 * it is 60 to 90 cycles with 4 warps and 40 to 70 with 6, so that two of them can agree by chance.
 * The last number is only tried if it is needed. */
static const uint32_t warps[] = {2, 4, 6, 8};
enum { FIRST_WARPS = 3, WINDOWS = 3 };
/* Maximum difference of the two windows. Chosen: the distance of two lags on simulated GPUs. */
static const double max_difference_cycles = 8;
/* Ratio of the times of stores to different lines and to the same lines if they are merged, at
 * least. Chosen: between 1 and 2, which are the limits. */
static const double min_ratio = 1.3;
/* Fraction of the difference between merged stores and others up to which a lag counts as merged.
 */
static const double merged_part = 0.5;
/* Maximum number of lags that are merged although a shorter one is not, or the reverse. Chosen: one
 * on each side of the limit, whose time lies between the two. */
enum { MAX_EXCEPTIONS = 2 };

static struct fth_request make_request(uint32_t warp_count, uint32_t lag, bool shared)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_MERGE;
    request.merge = (struct fth_merge_stores){
        .lines = LINES, .warps = warp_count, .lag = lag, .repeats = REPEATS, .shared = shared};
    return request;
}

/* The median over the repeats: of the end of all stores or, with `lag`, of the time from the first
 * store of the first warp to that of the second one. */
static enum fth_status find_median(const struct fth_samples *answer, bool lag, double *cycles,
                                   struct fth_error *error)
{
    double values[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        const uint32_t *samples = &answer->cycles[SAMPLES * i];
        values[i] = lag ? (double)samples[1] - samples[0] : samples[2];
    }
    return fth_quantile_f64(values, REPEATS, 0.5, cycles, error);
}

/* ---- decisions ---- */

enum fth_status fth_decide_store_merges(const double *lags, const double *parts, size_t count,
                                        struct fth_store_merges *found, struct fth_error *error)
{
    static const char operation[] = "find merged stores";
    size_t best = 0, fewest = count + 1;
    /* The lags before `limit` are merged, the others are not. */
    for (size_t limit = 0; limit <= count; limit++) {
        size_t exceptions = 0;
        for (size_t i = 0; i < count; i++)
            exceptions += (parts[i] < merged_part) != (i < limit);
        if (exceptions < fewest) {
            fewest = exceptions;
            best = limit;
        }
    }
    if (fewest > MAX_EXCEPTIONS)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "%zu of %zu lags contradict the others", fewest, count);
    if (best == count)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "stores are merged up to a lag of %.0f cycles, the longest that was tried",
                        lags[count - 1]);
    found->low = best ? lags[best - 1] : 0;
    found->high = lags[best];
    found->window_cycles = (found->low + found->high) / 2;
    return FTH_OK;
}

/* ---- experiments ---- */

/* The end of merged stores and of stores to different lines, with a number of warps. */
struct store_ends {
    uint32_t warp_count;
    double merged, different;
};

/* The numbers of warps with which merging makes a difference. */
struct merging_warps {
    struct store_ends ends[FTH_COUNT(warps)];
    size_t count;
};

/* Tries the numbers of warps from warps[first] to the one before warps[end]. */
static enum fth_status try_warps(const struct fth_prober *prober, size_t first, size_t end,
                                 struct merging_warps *merging, size_t *samples,
                                 struct fth_error *error)
{
    struct fth_request requests[2 * FTH_COUNT(warps)] = {0};
    struct fth_answers answers = {0};
    const size_t tried = end - first;
    for (size_t i = 0; i < tried; i++) {
        requests[2 * i] = make_request(warps[first + i], 0, true);
        requests[2 * i + 1] = make_request(warps[first + i], 0, false);
    }
    FTH_TRY(fth_ask(prober, requests, 2 * tried, &answers, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < tried && status == FTH_OK; i++) {
        struct store_ends own = {.warp_count = warps[first + i]};
        status = find_median(&answers.items[2 * i], false, &own.merged, error);
        if (status == FTH_OK)
            status = find_median(&answers.items[2 * i + 1], false, &own.different, error);
        if (status == FTH_OK && own.different >= min_ratio * own.merged)
            merging->ends[merging->count++] = own;
    }
    for (size_t i = 0; i < answers.count; i++)
        *samples += answers.items[i].count;
    fth_answers_fini(&answers);
    return status;
}

/* Finds the window with one number of warps. */
static enum fth_status find_window(const struct fth_prober *prober, const struct store_ends *ends,
                                   struct fth_store_merges *found, struct fth_error *error)
{
    double lags[LAGS], parts[LAGS];
    struct fth_request requests[LAGS];
    struct fth_answers answers = {0};
    for (uint32_t i = 0; i < LAGS; i++)
        requests[i] = make_request(ends->warp_count, 2 * (i + 1), true);
    FTH_TRY(fth_ask(prober, requests, LAGS, &answers, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < LAGS && status == FTH_OK; i++) {
        double end = 0;
        status = find_median(&answers.items[i], true, &lags[i], error);
        if (status == FTH_OK)
            status = find_median(&answers.items[i], false, &end, error);
        parts[i] = (end - lags[i] - ends->merged) / (ends->different - ends->merged);
        found->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    FTH_TRY(status);
    return fth_decide_store_merges(lags, parts, LAGS, found, error);
}

/* Finds the window with another number of warps. It must be the same, and extends the interval. */
static enum fth_status confirm_window(const struct fth_prober *prober,
                                      const struct merging_warps *merging, size_t which,
                                      struct fth_store_merges *found, struct fth_error *error)
{
    struct fth_store_merges other = {.samples = 0};
    FTH_TRY(find_window(prober, &merging->ends[which], &other, error));
    found->samples += other.samples;
    if (fabs(found->window_cycles - other.window_cycles) > max_difference_cycles)
        return fth_fail(error, FTH_INCONCLUSIVE, "find merged stores", NULL,
                        "stores are merged within %.0f cycles with %u warps, but %.0f with %u",
                        found->window_cycles, merging->ends[0].warp_count, other.window_cycles,
                        merging->ends[which].warp_count);
    found->low = fmin(found->low, other.low);
    found->high = fmax(found->high, other.high);
    return FTH_OK;
}

enum fth_status fth_probe_store_merges(const struct fth_prober *prober,
                                       struct fth_store_merges *found, struct fth_error *error)
{
    static const char operation[] = "find merged stores";
    struct merging_warps merging = {.count = 0};
    *found = (struct fth_store_merges){.samples = 0};
    FTH_TRY(try_warps(prober, 0, FIRST_WARPS, &merging, &found->samples, error));
    if (merging.count == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "stores of two warps to the same lines take as long as stores to different "
                        "lines");
    if (merging.count == 1)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "only with %u warps do stores to the same lines take less time",
                        merging.ends[0].warp_count);
    FTH_TRY(find_window(prober, &merging.ends[0], found, error));
    for (size_t i = 1; i < WINDOWS; i++) {
        if (i == merging.count)
            FTH_TRY(
                try_warps(prober, FIRST_WARPS, FTH_COUNT(warps), &merging, &found->samples, error));
        if (i == merging.count)
            return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                            "only with %u and %u warps do stores to the same lines take less time",
                            merging.ends[0].warp_count, merging.ends[1].warp_count);
        FTH_TRY(confirm_window(prober, &merging, i, found, error));
    }
    found->window_cycles = (found->low + found->high) / 2;
    return FTH_OK;
}
