/* Times whole passes over chains in pseudo-random order.
 *
 * Other programs share the device: they evict lines, and they stop the program for a while. Both
 * only make passes longer. A request therefore times many passes, and the mean of the fast ones is
 * its result. The clock may be coarse (on some CPUs one tick takes 20 cycles and more). The mean of
 * samples that differ by a tick has a finer resolution than the clock. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdlib.h>

enum {
    /* Loads that a request times, at least, and the limits of its passes. Chosen: enough for
     * averages of coarse ticks; long chains need few passes. */
    TIMED_HOPS = 16384,
    MAX_PASSES = 128,
    MIN_PASSES = 6,
    LONG_CHAIN = 1 << 15, /* elements from which on 3 passes have to do, because they take long */
    LONG_PASSES = 3,
    LONGEST_CHAIN = 1 << 20, /* ... and one pass, without a walk before */
    /* Distance in bytes of the memory of consecutive rounds: 17 pages of 4 KiB, so that chains of
     * different rounds are in different pages and begin in different sets. */
    ROUND_BYTES = 17 * 4096,
    ROUND_PLACES = 8, /* rounds that have memory of their own */
    BATCH = 32        /* requests that are sent together */
};

uint64_t fth_pass_count(uint64_t count)
{
    if (count >= LONGEST_CHAIN)
        return 1;
    if (count >= LONG_CHAIN)
        return LONG_PASSES;
    const uint64_t passes = TIMED_HOPS / (count ? count : 1);
    return passes < MIN_PASSES ? MIN_PASSES : passes > MAX_PASSES ? MAX_PASSES : passes;
}

enum fth_status fth_low_mean(const uint32_t *cycles, size_t count, double resolution, double *mean,
                             struct fth_error *error)
{
    double *sorted = NULL, sum = 0;
    size_t kept = 0;
    FTH_TRY(fth_sorted_u32(cycles, count, "time passes", &sorted, error));
    const double low = fth_quantile_sorted(sorted, count, 0.05),
                 quartile = fth_quantile_sorted(sorted, count, 0.25),
                 limit = quartile + fmax(resolution, 2 * (quartile - low));
    while (kept < count && (kept == 0 || sorted[kept] <= limit))
        sum += sorted[kept++];
    free(sorted);
    *mean = sum / (double)kept;
    return FTH_OK;
}

/* Returns the request for a chain. */
static struct fth_request make_request(const struct fth_pass *pass)
{
    const bool ordered = pass->path != FTH_PATH_CA && pass->path != FTH_PATH_CG;
    struct fth_chain chain = {.stride_bytes = pass->stride_bytes, .count = pass->count};
    if (!ordered) {
        chain.start_bytes =
            (uint64_t)(pass->round % ROUND_PLACES) * ROUND_BYTES + pass->offset_bytes;
        chain.seed = 1 + pass->round;
    }
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    if (pass->count < LONGEST_CHAIN) /* longer ones hardly leave anything in caches */
        fth_request_add(&request, FTH_STEP_WALK, pass->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, pass->path, chain, fth_pass_count(pass->count));
    return request;
}

enum fth_status fth_ask_passes(const struct fth_prober *prober, const struct fth_pass *passes,
                               size_t count, struct fth_answers *answers, struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, "time passes", NULL);
    for (size_t i = 0; i < count; i++)
        requests[i] = make_request(&passes[i]);
    const enum fth_status status = fth_ask_once(prober, requests, count, answers, error);
    free(requests);
    return status;
}

/* Times at most BATCH chains. */
static enum fth_status time_batch(const struct fth_prober *prober, double resolution,
                                  const struct fth_pass *passes, size_t count,
                                  struct fth_pass_time *times, struct fth_error *error)
{
    struct fth_answers answers = {NULL, 0};
    enum fth_status status = fth_ask_passes(prober, passes, count, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++) {
        const struct fth_samples *item = &answers.items[i];
        times[i].clock_mhz = item->clock_mhz;
        times[i].samples = item->count;
        status = fth_low_mean(item->cycles, item->count, resolution, &times[i].cycles, error);
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_time_passes(const struct fth_prober *prober, double resolution,
                                const struct fth_pass *passes, size_t count,
                                struct fth_pass_time *times, struct fth_error *error)
{
    for (size_t first = 0; first < count; first += BATCH)
        FTH_TRY(time_batch(prober, resolution, passes + first,
                           count - first < BATCH ? count - first : BATCH, times + first, error));
    return FTH_OK;
}
