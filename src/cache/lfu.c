/* LFU: the line that was used least often since it came goes; of several, the one whose last use is
 * longest ago. A line that comes back starts anew. Finding the victim looks at every way of the
 * set. */
#include "cache/cache.h"

struct use {
    uint64_t count;
    uint64_t last; /* in accesses of the whole cache */
};

struct lfu {
    uint64_t now;
    struct use uses[]; /* by slot */
};

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    cache->policy_state = fth_arena_alloc(
        &cache->arena, sizeof(struct lfu) + (size_t)cache->slots * sizeof(struct use));
    return cache->policy_state ? FTH_OK
                               : fth_fail(error, FTH_NO_MEMORY, "build a cache", "policy",
                                          "out of memory for the uses of %u lines", cache->slots);
}

static void clear(struct fth_cache *cache)
{
    struct lfu *lfu = cache->policy_state;
    lfu->now = 0;
}

static void start(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    struct lfu *lfu = cache->policy_state;
    lfu->uses[slot] = (struct use){.count = 1, .last = ++lfu->now};
}

static void used(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    struct lfu *lfu = cache->policy_state;
    lfu->uses[slot].count++;
    lfu->uses[slot].last = ++lfu->now;
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    const struct use *uses = ((const struct lfu *)cache->policy_state)->uses;
    uint32_t min = cache->first[set];
    for (uint32_t slot = min + 1; slot < cache->first[set + 1]; slot++)
        if (uses[slot].count < uses[min].count ||
            (uses[slot].count == uses[min].count && uses[slot].last < uses[min].last))
            min = slot;
    start(cache, set, min);
    return min;
}

const struct fth_policy fth_policy_lfu = {
    .name = "lfu",
    .init = init,
    .clear = clear,
    .added = start,
    .used = used,
    .victim = victim,
};
