/* LFU: the victim is the line with the fewest accesses since it was allocated. If several lines
 * have the same number, it is the one that was not accessed for the longest time. The count of an
 * evicted line is lost. Finding the victim examines every way of the set. */
#include "cache/cache.h"

struct use {
    uint64_t count; /* accesses since the line was allocated */
    uint64_t last;  /* time of the last access, in accesses of the whole cache */
};

struct lfu {
    uint64_t now;      /* number of accesses so far */
    struct use uses[]; /* by slot */
};

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    cache->policy_state = fth_arena_alloc(
        &cache->arena, sizeof(struct lfu) + (size_t)cache->slots * sizeof(struct use));
    return cache->policy_state ? FTH_OK : fth_no_memory(error, "build a cache", "policy");
}

static void clear(struct fth_cache *cache)
{
    struct lfu *lfu = cache->policy_state;
    lfu->now = 0;
}

static void reset_use(struct fth_cache *cache, uint32_t set, uint32_t slot)
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
    uint32_t victim_slot = cache->first[set];
    for (uint32_t slot = victim_slot + 1; slot < cache->first[set + 1]; slot++)
        if (uses[slot].count < uses[victim_slot].count ||
            (uses[slot].count == uses[victim_slot].count &&
             uses[slot].last < uses[victim_slot].last))
            victim_slot = slot;
    reset_use(cache, set, victim_slot);
    return victim_slot;
}

const struct fth_policy fth_policy_lfu = {
    .name = "lfu",
    .init = init,
    .clear = clear,
    .added = reset_use,
    .used = used,
    .victim = victim,
};
