/* The ways and sets of a cache whose size and line are known.
 *
 * Elements whose distance is sets * line, the size of a way, compete for one set, and as many fit
 * as there are ways. With half the distance they are in two sets, and twice as many fit; with twice
 * the distance they are in one set, and as many fit as before. So if the number of sets is a power
 * of two, exactly size / stride elements fit at each stride, a power of two, up to the size of a
 * way, and more at longer strides. The way is the longest stride for which size / stride + 1
 * elements do not fit. Half, once and twice this stride must confirm it.
 *
 * Whether elements fit follows from the comparison with a chain of as many elements in nearly the
 * same pages whose stride is a line longer: its elements are in different sets. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>

enum {
    MAX_WAYS = 64,
    MAX_STRIDES = 16,
    ROUNDS = 8, /* in different memory */
    /* Rounds that must agree. If pages are not contiguous, the elements fit in some rounds only. */
    MIN_AGREEING = 7,
    MIN_STRIDE_BYTES = 256
};
/* Misses per pass above which elements do not fit, and below which they do. One more element than
 * fits causes at least one miss per pass, with every policy. Chosen. */
static const double min_missed = 0.8, max_missed = 0.4;

/* A chain whose elements may or may not fit. */
struct conflict {
    uint64_t stride_bytes, count;
    double misses[ROUNDS]; /* per pass, in each round */
};

static void add_conflict(struct conflict *conflicts, size_t *count, uint64_t stride_bytes,
                         uint64_t elements)
{
    conflicts[*count] = (struct conflict){.stride_bytes = stride_bytes, .count = elements};
    ++*count;
}

/* Measures the misses of each conflict in each round. */
static enum fth_status measure(const struct fth_prober *prober, const struct fth_edge_plan *plan,
                               struct conflict *conflicts, size_t count,
                               struct fth_hierarchy_ways *ways, struct fth_error *error)
{
    struct fth_pass passes[2 * MAX_STRIDES];
    struct fth_pass_time times[2 * MAX_STRIDES];
    const double difference = plan->miss_cycles - plan->hit_cycles;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++)
            for (size_t spread = 0; spread < 2; spread++)
                passes[2 * i + spread] = (struct fth_pass){
                    .path = plan->first->path,
                    .stride_bytes = conflicts[i].stride_bytes + (spread ? plan->line_bytes : 0),
                    .count = conflicts[i].count,
                    .round = round,
                    .offset_bytes = (1 + 3 * round) * plan->line_bytes};
        FTH_TRY(fth_time_passes(prober, plan->first->resolution, passes, 2 * count, times, error));
        for (size_t i = 0; i < 2 * count; i++)
            ways->samples += times[i].samples;
        for (size_t i = 0; i < count; i++)
            conflicts[i].misses[round] =
                (times[2 * i].cycles - times[2 * i + 1].cycles) / difference;
    }
    return FTH_OK;
}

/* Returns the number of rounds in which the elements miss (or fit). */
static unsigned count_rounds(const struct conflict *conflict, bool miss)
{
    unsigned rounds = 0;
    for (size_t i = 0; i < ROUNDS; i++)
        rounds += miss ? conflict->misses[i] >= min_missed : conflict->misses[i] <= max_missed;
    return rounds;
}

/* Finds the longest stride for which size / stride + 1 elements miss in most rounds; 0: none. */
static enum fth_status find_way(const struct fth_prober *prober, const struct fth_edge_plan *plan,
                                uint64_t size_bytes, uint64_t *way_bytes,
                                struct fth_hierarchy_ways *ways, struct fth_error *error)
{
    struct conflict conflicts[MAX_STRIDES];
    size_t count = 0;
    *way_bytes = 0;
    for (uint64_t stride = MIN_STRIDE_BYTES; stride <= size_bytes && count < MAX_STRIDES;
         stride *= 2)
        if (size_bytes % stride == 0 && size_bytes / stride <= MAX_WAYS &&
            stride >= 2 * plan->line_bytes)
            add_conflict(conflicts, &count, stride, size_bytes / stride + 1);
    FTH_TRY(measure(prober, plan, conflicts, count, ways, error));
    for (size_t i = 0; i < count; i++)
        if (2 * count_rounds(&conflicts[i], true) > ROUNDS)
            *way_bytes = conflicts[i].stride_bytes;
    return FTH_OK;
}

/* Tests half, once and twice the size of a way: how many elements fit in each case. */
static enum fth_status confirm(const struct fth_prober *prober, const struct fth_edge_plan *plan,
                               uint64_t way_bytes, struct fth_hierarchy_ways *ways,
                               struct fth_error *error)
{
    struct conflict conflicts[6] = {{0}};
    unsigned agree = ROUNDS;
    size_t count = 0;
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t stride = way_bytes / 2 << i, fit = i == 0 ? 2 * ways->ways : ways->ways;
        if (stride <= plan->line_bytes) /* a single set: half of its way does not exist */
            continue;
        add_conflict(conflicts, &count, stride, fit);
        add_conflict(conflicts, &count, stride, fit + 1);
    }
    FTH_TRY(measure(prober, plan, conflicts, count, ways, error));
    for (size_t i = 0; i < count; i++) {
        const unsigned rounds = count_rounds(&conflicts[i], i % 2 == 1);
        agree = rounds < agree ? rounds : agree;
    }
    ways->evidence = (struct fth_evidence){.repeats = ROUNDS, .agree = agree};
    return FTH_OK;
}

enum fth_status fth_probe_hierarchy_ways(const struct fth_prober *prober,
                                         const struct fth_edge_plan *plan, uint64_t size_bytes,
                                         struct fth_hierarchy_ways *ways, struct fth_error *error)
{
    uint64_t way_bytes = 0;
    *ways = (struct fth_hierarchy_ways){0};
    FTH_TRY(find_way(prober, plan, size_bytes, &way_bytes, ways, error));
    if (way_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the ways", NULL,
                        "no stride that is a power of two makes elements evict each other");
    ways->ways = size_bytes / way_bytes;
    ways->sets = way_bytes / plan->line_bytes;
    FTH_TRY(confirm(prober, plan, way_bytes, ways, error));
    if (ways->evidence.agree < MIN_AGREEING)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the ways", NULL,
                        "strides of half, once and twice %llu bytes contradict each other: the "
                        "index is not a part of the address, or the pages are not contiguous",
                        (unsigned long long)way_bytes);
    return FTH_OK;
}
