/* How much a cache holds: the largest footprint that can be walked over and over without a miss.
 *
 * Footprints that double are tried in one batch, an SM each, which brackets the edge; the bracket
 * is then cut into parts until it is one stride wide (doubling and bisection of the topology
 * thesis, several cuts at a time).
 *
 * A slow hop is a miss or a disturbance. Misses of a cache that always replaces the same way come
 * again at the same hop in every pass; others do not, and are told by their number: how many hops
 * are slow by disturbance alone is seen where the footprint fits for sure. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    WARM_PASSES = 1, /* what fits is there after one */
    TIMED_PASSES = 3,
    MOST_TRIES = 40, /* of one batch: a factor of two from one to the next, or a bracket's cuts */
    CUTS = 4, /* fewer batches with more, and fewer loads with less: 6 batches from 4096 on */
};

struct edge {
    uint64_t fits, misses; /* in strides; misses 0: not found */
    double slow_rate;      /* of hops that are slow by disturbance; below 0: not known yet */
};

/* What is slow in a walk of so many passes over `count` hops. The very first hop does not count:
 * the instructions that time it come from memory. */
struct slow {
    uint64_t all;    /* hops */
    uint64_t steady; /* places that are slow in most passes */
};

static struct slow count_slow(const struct fth_samples *samples, uint64_t count, double threshold)
{
    struct slow slow = {0, 0};
    for (uint64_t hop = 0; hop < count; hop++) {
        unsigned times = 0;
        for (uint64_t pass = hop == 0; pass < TIMED_PASSES; pass++)
            times += samples->cycles[pass * count + hop] > threshold;
        slow.all += times;
        slow.steady += times > TIMED_PASSES / 2;
    }
    return slow;
}

double fth_most_by_chance(double expected)
{
    return expected > 0 ? expected + 5 * sqrt(expected) + 1 : 0;
}

/* Whether a walk had misses, where a hop is slow by disturbance at that rate: more than this
 * explains. Of three passes over a place, two are so by chance in three ways. */
static bool has_misses(struct slow slow, uint64_t hops, double rate)
{
    const double expected = (double)hops * rate;
    return (double)slow.steady > fth_most_by_chance(expected * rate) ||
           (double)slow.all > fth_most_by_chance(expected);
}

/* Tries the footprints, ascending, and narrows the edge. */
static enum fth_status try_counts(const struct fth_prober *prober,
                                  const struct fth_capacity_plan *plan, const uint64_t *counts,
                                  size_t count, struct edge *edge, struct fth_capacity *capacity,
                                  struct fth_error *error)
{
    struct fth_request requests[MOST_TRIES];
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
        struct slow slow = count_slow(&answers.items[i], counts[i], threshold);
        if (edge->slow_rate < 0)
            edge->slow_rate = (double)slow.all / (double)(TIMED_PASSES * counts[i]);
        if (has_misses(slow, TIMED_PASSES * counts[i], edge->slow_rate)) {
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
    struct edge edge = {0, 0, plan->slow_rate > 0 ? plan->slow_rate : -1};
    uint64_t counts[MOST_TRIES];
    size_t tries = 0;
    for (uint64_t bytes = plan->smallest_bytes; tries < MOST_TRIES && bytes < plan->largest_bytes;
         bytes *= 2)
        counts[tries++] = bytes / plan->stride_bytes;
    if (tries < MOST_TRIES)
        counts[tries++] = plan->largest_bytes / plan->stride_bytes;
    enum fth_status status = try_counts(prober, plan, counts, tries, &edge, capacity, error);
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
