/* Weighted: the victim is way i with probability weight[i] / sum of the weights. Mei and Chu
 * (Section 4.5) find that Fermi's L1 replaces its four ways with probabilities 1/6, 1/2, 1/6 and
 * 1/6.
 *
 * Each replacement draws u = fth_rng_unit * sum. The victim is the first way whose cumulative
 * weight is greater than u. */
#include "cache/cache.h"

#include <math.h>

struct weighted {
    struct fth_rng rng;
    uint32_t ways;
    double cumulative[]; /* [ways] sum of the weights up to and including each way */
};

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    uint32_t ways = cache->max_ways;
    if (cache->min_ways != ways)
        return fth_fail(error, FTH_INVALID, "build a cache", "policy",
                        "weighted needs sets of equal size, but they have %u to %u ways",
                        cache->min_ways, ways);
    if (!config->way_weights || config->way_weight_count != ways)
        return fth_fail(error, FTH_INVALID, "build a cache", "way_weights",
                        "%zu weights given for %u ways", config->way_weight_count, ways);
    struct weighted *weighted =
        fth_arena_alloc(&cache->arena, sizeof *weighted + ways * sizeof weighted->cumulative[0]);
    if (!weighted)
        return fth_no_memory(error, "build a cache", "policy");
    double sum = 0;
    for (uint32_t way = 0; way < ways; way++) {
        double weight = config->way_weights[way];
        if (!(weight > 0) || !isfinite(sum + weight))
            return fth_fail(error, FTH_INVALID, "build a cache", "way_weights",
                            "weight %g of way %u is not positive and finite", weight, way);
        weighted->cumulative[way] = sum += weight;
    }
    weighted->ways = ways;
    cache->policy_state = weighted;
    return FTH_OK;
}

static void reset(struct fth_cache *cache)
{
    struct weighted *weighted = cache->policy_state;
    fth_rng_init(&weighted->rng, cache->seed);
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    struct weighted *weighted = cache->policy_state;
    uint32_t last = weighted->ways - 1, way = 0;
    double u = fth_rng_unit(&weighted->rng) * weighted->cumulative[last];
    while (way < last && weighted->cumulative[way] <= u)
        way++;
    return cache->first[set] + way;
}

const struct fth_policy fth_policy_weighted = {
    .name = "weighted",
    .init = init,
    .reset = reset,
    .victim = victim,
};
