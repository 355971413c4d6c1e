/* Tree pseudo-LRU: a bit for every pair of halves, quarters, … of a set says which of the two was
 * used less recently; the bits lead to the way that goes. It needs a bit less than the ways, where
 * LRU needs the order of all of them. The first constant cache of an H200 does this
 * (docs/results/h200.md).
 *
 *             1              nodes of a set of 4 ways; node n has the children 2n and 2n + 1,
 *          2     3           and node 4 + w is way w
 *        0   1 2   3
 */
#include "cache/cache.h"

#include <string.h>

/* By slot: the first of a set is not used, the others are its nodes from 1 on. */
static uint8_t *nodes_of(struct fth_cache *cache, uint32_t set)
{
    return (uint8_t *)cache->policy_state + cache->first[set];
}

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    for (uint32_t set = 0; set < cache->sets; set++) {
        uint32_t ways = cache->first[set + 1] - cache->first[set];
        if (ways & (ways - 1))
            return fth_fail(error, FTH_INVALID, "build a cache", "policy",
                            "plru, but %u ways are no power of two", ways);
    }
    cache->policy_state = fth_arena_alloc(&cache->arena, cache->slots);
    return cache->policy_state ? FTH_OK
                               : fth_fail(error, FTH_NO_MEMORY, "build a cache", "policy",
                                          "out of memory for the trees of %u lines", cache->slots);
}

static void clear(struct fth_cache *cache)
{
    memset(cache->policy_state, 0, cache->slots);
}

/* All nodes above the way lead away from it. */
static void used(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    uint32_t first = cache->first[set], ways = cache->first[set + 1] - first;
    uint8_t *nodes = nodes_of(cache, set);
    for (uint32_t node = ways + slot - first; node > 1; node /= 2)
        nodes[node / 2] = node % 2 == 0;
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    uint32_t first = cache->first[set], ways = cache->first[set + 1] - first, node = 1;
    const uint8_t *nodes = nodes_of(cache, set);
    while (node < ways)
        node = 2 * node + nodes[node];
    used(cache, set, first + node - ways);
    return first + node - ways;
}

const struct fth_policy fth_policy_plru = {
    .name = "plru",
    .init = init,
    .clear = clear,
    .added = used,
    .used = used,
    .victim = victim,
};
