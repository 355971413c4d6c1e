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
    TIMED_PASSES = 3, /* that count: before them goes one that does not */
    MOST_TRIES = 40,  /* of one batch: a factor of two from one to the next, or a bracket's cuts */
    REPEATS = 5,
    WHOLE = 1024, /* bytes: so many whole lines */
    CUTS = 4,     /* fewer batches with more, and fewer loads with less: 6 batches from 4096 on */
};

struct edge {
    uint64_t fits, misses; /* in strides; misses 0: not found */
    double slow_rate;      /* of hops that are slow by disturbance; below 0: not known yet */
    unsigned passes;       /* that count: one where nothing disturbs */
};

static double threshold_of(const struct fth_capacity_plan *plan)
{
    return sqrt(plan->hit_cycles * plan->miss_cycles);
}

/* The first timed pass does not count either: its instructions come from memory, and with the
 * samples something else goes through the cache from then on, which on an H200 costs a few lines
 * once. */
static struct fth_request walk_over(const struct fth_capacity_plan *plan, uint64_t count,
                                    unsigned passes)
{
    struct fth_chain chain = {.stride_bytes = plan->stride_bytes, .count = count};
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1 + passes);
    return request;
}

/* What is slow in a walk of so many passes over `count` hops. */
struct slow {
    uint64_t all;    /* hops */
    uint64_t steady; /* places that are slow in most passes */
};

static struct slow count_slow(const struct fth_samples *samples, uint64_t count, unsigned passes,
                              double threshold)
{
    struct slow slow = {0, 0};
    for (uint64_t hop = 0; hop < count; hop++) {
        unsigned times = 0;
        for (uint64_t pass = 1; pass <= passes; pass++)
            times += samples->cycles[pass * count + hop] > threshold;
        slow.all += times;
        slow.steady += times > passes / 2;
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

/* What makes a footprint lie beyond the edge. */
enum beyond { ANY_MISS, ALL_MISS };

static bool is_beyond(enum beyond what, struct slow slow, uint64_t hops, double rate)
{
    /* A few hops may be fast where everything misses: what comes from a buffer on the way. */
    return what == ANY_MISS ? has_misses(slow, hops, rate)
                            : (double)slow.all > 0.999 * (double)hops;
}

/* Tries the footprints, ascending, and narrows the edge. */
static enum fth_status try_counts(const struct fth_prober *prober,
                                  const struct fth_capacity_plan *plan, const uint64_t *counts,
                                  size_t count, enum beyond what, struct edge *edge,
                                  struct fth_capacity *capacity, struct fth_error *error)
{
    struct fth_request requests[MOST_TRIES] = {{0}};
    for (size_t i = 0; i < count; i++)
        requests[i] = walk_over(plan, counts[i], edge->passes);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        capacity->samples += answers.items[i].count;
        uint64_t hops = edge->passes * counts[i];
        struct slow slow =
            count_slow(&answers.items[i], counts[i], edge->passes, threshold_of(plan));
        if (edge->slow_rate < 0)
            edge->slow_rate = (double)slow.all / (double)hops;
        if (is_beyond(what, slow, hops, edge->slow_rate)) {
            edge->misses = counts[i];
            break;
        }
        edge->fits = counts[i];
    }
    fth_answers_fini(&answers);
    return status;
}

/* Cuts the bracket. */
static size_t cut(const struct edge *edge, uint64_t *counts)
{
    uint64_t width = edge->misses - edge->fits, cuts = width - 1 < CUTS ? width - 1 : CUTS;
    for (uint64_t i = 0; i < cuts; i++)
        counts[i] = edge->fits + width * (i + 1) / (cuts + 1);
    return (size_t)cuts;
}

/* The footprint that nothing hits any more, between the first miss and twice that. */
static enum fth_status find_full_miss(const struct fth_prober *prober,
                                      const struct fth_capacity_plan *plan, struct edge *edge,
                                      struct fth_capacity *capacity, struct fth_error *error)
{
    struct edge some = {edge->fits, 0, edge->slow_rate, edge->passes};
    uint64_t high = 2 * edge->misses;
    enum fth_status status = try_counts(prober, plan, &high, 1, ALL_MISS, &some, capacity, error);
    while (status == FTH_OK && some.misses && some.misses - some.fits > edge->fits / 64 + 1) {
        uint64_t counts[CUTS];
        size_t tries = cut(&some, counts);
        status = try_counts(prober, plan, counts, tries, ALL_MISS, &some, capacity, error);
    }
    capacity->full_miss_bytes = some.misses * plan->stride_bytes;
    return status;
}

/* How much a walk back finds after a walk over a quarter more than fits. */
static enum fth_status find_resident(const struct fth_prober *prober,
                                     const struct fth_capacity_plan *plan, const struct edge *edge,
                                     struct fth_capacity *capacity, struct fth_error *error)
{
    struct fth_request requests[REPEATS];
    struct fth_chain chain = {.stride_bytes = plan->stride_bytes,
                              .count = (edge->fits * plan->stride_bytes * 5 / 4 / WHOLE + 1) *
                                       WHOLE / plan->stride_bytes};
    for (size_t i = 0; i < REPEATS; i++) {
        requests[i] = fth_request_make(plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, 1);
        requests[i].steps[1].reverse = true;
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, REPEATS, &answers, error);
    const double threshold = threshold_of(plan);
    for (size_t i = 0; i < answers.count; i++) {
        uint64_t hits = 1; /* the first hop, the newest line, whose timing is that of cold code */
        for (size_t hop = 1; hop < answers.items[i].count; hop++)
            hits += answers.items[i].cycles[hop] <= threshold;
        capacity->samples += answers.items[i].count;
        if (hits * plan->stride_bytes > capacity->resident_bytes)
            capacity->resident_bytes = hits * plan->stride_bytes;
    }
    fth_answers_fini(&answers);
    return status;
}

/* Asks again, several times, on either side of the edge: how often the verdict is the same, by
 * Laplace's rule. */
static enum fth_status confirm(const struct fth_prober *prober,
                               const struct fth_capacity_plan *plan, const struct edge *edge,
                               struct fth_capacity *capacity, struct fth_error *error)
{
    struct fth_request requests[2 * REPEATS];
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = walk_over(plan, i % 2 ? edge->misses : edge->fits, edge->passes);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FTH_COUNT(requests), &answers, error);
    unsigned same = 0;
    for (size_t i = 0; i < answers.count; i++) {
        uint64_t count = i % 2 ? edge->misses : edge->fits;
        struct slow slow = count_slow(&answers.items[i], count, edge->passes, threshold_of(plan));
        same += has_misses(slow, edge->passes * count, edge->slow_rate) == (i % 2 == 1);
        capacity->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    capacity->confidence = (same + 1.0) / (2 * REPEATS + 2.0);
    return status;
}

enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                   const struct fth_capacity_plan *plan,
                                   struct fth_capacity *capacity, struct fth_error *error)
{
    *capacity = (struct fth_capacity){.confidence = NAN};
    struct edge edge = {0, 0, plan->slow_rate > 0 ? plan->slow_rate : -1, TIMED_PASSES};
    uint64_t counts[MOST_TRIES] = {plan->smallest_bytes / plan->stride_bytes};
    size_t tries = 0;
    enum fth_status status = try_counts(prober, plan, counts, 1, ANY_MISS, &edge, capacity, error);
    if (edge.slow_rate == 0)
        edge.passes = 1;
    for (uint64_t bytes = 2 * plan->smallest_bytes;
         tries < MOST_TRIES && bytes < plan->largest_bytes; bytes *= 2)
        counts[tries++] = bytes / plan->stride_bytes;
    if (tries < MOST_TRIES)
        counts[tries++] = plan->largest_bytes / plan->stride_bytes;
    if (status == FTH_OK && edge.fits)
        status = try_counts(prober, plan, counts, tries, ANY_MISS, &edge, capacity, error);
    while (status == FTH_OK && edge.fits && edge.misses && edge.misses - edge.fits > 1) {
        tries = cut(&edge, counts);
        status = try_counts(prober, plan, counts, tries, ANY_MISS, &edge, capacity, error);
    }
    if (status == FTH_OK && edge.fits == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find capacity", NULL,
                        "even %llu bytes have misses", (unsigned long long)plan->smallest_bytes);
    capacity->fits_bytes = edge.fits * plan->stride_bytes;
    capacity->misses_bytes = edge.misses * plan->stride_bytes;
    if (status != FTH_OK || edge.misses == 0 || !plan->evidence)
        return status;
    status = confirm(prober, plan, &edge, capacity, error);
    if (status == FTH_OK)
        status = find_resident(prober, plan, &edge, capacity, error);
    if (status == FTH_OK)
        status = find_full_miss(prober, plan, &edge, capacity, error);
    return status;
}
