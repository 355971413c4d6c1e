/* Weighted: way i goes with probability weight[i] / sum of the weights. Mei and Chu (Section 4.5)
 * find that Fermi's L1 replaces its four ways with 1/6, 1/2, 1/6 and 1/6.
 *
 * Each replacement takes u = fth_rng_unit * sum and the first way whose weight, added to those of
 * the ways before it, is above u. */
#include "cache/cache.h"

#include <math.h>

struct weighted {
    struct fth_rng rng;
    uint32_t ways;
    double up_to[]; /* weights added up to and with each way */
};

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    uint32_t ways = cache->max_ways;
    if (cache->min_ways != ways)
        return fth_fail(error, FTH_INVALID, "build a cache", "policy",
                        "weighted, but the sets have from %u to %u ways", cache->min_ways, ways);
    if (!config->way_weights || config->way_weight_count != ways)
        return fth_fail(error, FTH_INVALID, "build a cache", "way_weights",
                        "%zu of them, but there are %u ways", config->way_weight_count, ways);
    struct weighted *weighted =
        fth_arena_alloc(&cache->arena, sizeof *weighted + ways * sizeof weighted->up_to[0]);
    if (!weighted)
        return fth_fail(error, FTH_NO_MEMORY, "build a cache", "policy",
                        "out of memory for %u weights", ways);
    double sum = 0;
    for (uint32_t way = 0; way < ways; way++) {
        double weight = config->way_weights[way];
        if (!(weight > 0) || !isfinite(sum + weight))
            return fth_fail(error, FTH_INVALID, "build a cache", "way_weights",
                            "%g of way %u is not above 0 and finite", weight, way);
        weighted->up_to[way] = sum += weight;
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
    double u = fth_rng_unit(&weighted->rng) * weighted->up_to[last];
    while (way < last && weighted->up_to[way] <= u)
        way++;
    return cache->first[set] + way;
}

const struct fth_policy fth_policy_weighted = {
    .name = "weighted",
    .init = init,
    .reset = reset,
    .victim = victim,
};
