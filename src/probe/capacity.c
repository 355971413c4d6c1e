/* How much a cache holds: the largest footprint that can be walked over and over without a miss.
 *
 * Footprints from small to large are tried in one batch, an SM each, which brackets the edge; the
 * bracket is then cut into parts until it is one stride wide (doubling and bisection of the topology
 * thesis, several cuts at a time). A hop is a miss where it is slow in most of the passes, so that a
 * disturbance that hits one of them does not count. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    WARM_PASSES = 2,
    TIMED_PASSES = 3,
    FIRST_CUTS = 48, /* of the whole range: a factor of about 1.2 between 1 KiB and 4 MiB */
    CUTS = 16,       /* of a bracket: 3 rounds from there to one stride */
};

struct edge {
    uint64_t fits, misses; /* in strides; misses 0: not found */
};

/* Hops that are slow in most passes. */
static uint64_t steady_misses(const struct fth_samples *samples, uint64_t count, double threshold)
{
    uint64_t misses = 0;
    for (uint64_t hop = 0; hop < count; hop++) {
        unsigned slow = 0;
        for (uint64_t pass = 0; pass < TIMED_PASSES; pass++)
            slow += samples->cycles[pass * count + hop] > threshold;
        misses += slow > TIMED_PASSES / 2;
    }
    return misses;
}

/* Tries the footprints, ascending, and narrows the edge. */
static enum fth_status try_counts(const struct fth_prober *prober,
                                  const struct fth_capacity_plan *plan, const uint64_t *counts,
                                  size_t count, struct edge *edge, struct fth_capacity *capacity,
                                  struct fth_error *error)
{
    struct fth_request requests[FIRST_CUTS];
    for (size_t i = 0; i < count; i++) {
        struct fth_chain chain = {.stride_bytes = plan->stride_bytes, .count = counts[i]};
        requests[i] = fth_request_make(plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, WARM_PASSES);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, TIMED_PASSES);
    }
    const double threshold = sqrt(plan->hit_cycles * plan->miss_cycles);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        capacity->samples += answers.items[i].count;
        capacity->footprints++;
        if (steady_misses(&answers.items[i], counts[i], threshold)) {
            edge->misses = counts[i];
            break;
        }
        edge->fits = counts[i];
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                   const struct fth_capacity_plan *plan,
                                   struct fth_capacity *capacity, struct fth_error *error)
{
    *capacity = (struct fth_capacity){0};
    struct edge edge = {0, 0};
    uint64_t counts[FIRST_CUTS];
    const double ratio = (double)plan->largest_bytes / (double)plan->smallest_bytes;
    for (size_t i = 0; i < FIRST_CUTS; i++)
        counts[i] = (uint64_t)((double)plan->smallest_bytes *
                               pow(ratio, (double)i / (FIRST_CUTS - 1))) /
                    plan->stride_bytes;
    enum fth_status status =
        try_counts(prober, plan, counts, FIRST_CUTS, &edge, capacity, error);
    while (status == FTH_OK && edge.fits && edge.misses && edge.misses - edge.fits > 1) {
        uint64_t width = edge.misses - edge.fits, cuts = width - 1 < CUTS ? width - 1 : CUTS;
        for (uint64_t i = 0; i < cuts; i++)
            counts[i] = edge.fits + width * (i + 1) / (cuts + 1);
        status = try_counts(prober, plan, counts, cuts, &edge, capacity, error);
    }
    if (status == FTH_OK && edge.fits == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find capacity", NULL,
                        "even %llu bytes have misses", (unsigned long long)plan->smallest_bytes);
    capacity->fits_bytes = edge.fits * plan->stride_bytes;
    capacity->misses_bytes = edge.misses * plan->stride_bytes;
    return status;
}
