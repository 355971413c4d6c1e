/* Tree pseudo-LRU. The ways of a set are the leaves of a binary tree. Each inner node has one bit
 * that selects the half that was accessed less recently. Following the bits from the root leads to
 * the victim. A set of n ways needs n - 1 bits, whereas LRU needs the order of all ways. The
 * constant L1 of an H200 uses this policy (docs/results/h200.md).
 *
 *             1              nodes of a set of 4 ways: node n has the children 2n and 2n + 1,
 *          2     3           and node 4 + w is way w
 *        0   1 2   3
 */
#include "cache/cache.h"

#include <string.h>

/* Returns the bits of the inner nodes of a set, indexed by node. There is one element per slot;
 * element 0 is not used. A bit of 1 selects the upper half. */
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
                            "plru needs a power of two as the number of ways, not %u", ways);
    }
    cache->policy_state = fth_arena_alloc(&cache->arena, cache->slots);
    return cache->policy_state ? FTH_OK : fth_no_memory(error, "build a cache", "policy");
}

static void clear(struct fth_cache *cache)
{
    memset(cache->policy_state, 0, cache->slots);
}

/* Sets all nodes above the way to select the other half. */
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
