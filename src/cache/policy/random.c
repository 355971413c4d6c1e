/* Random: the victim is a random way; all ways are equally likely. Each replacement draws one
 * number, fth_rng_below(ways), from a generator that belongs to the cache and has no other use. The
 * same seed and the same accesses therefore give the same victims. */
#include "cache/cache.h"

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    cache->policy_state = fth_arena_alloc(&cache->arena, sizeof(struct fth_rng));
    return cache->policy_state ? FTH_OK : fth_no_memory(error, "build a cache", "policy");
}

static void reset(struct fth_cache *cache)
{
    fth_rng_init(cache->policy_state, cache->seed);
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    uint32_t first = cache->first[set];
    return first + (uint32_t)fth_rng_below(cache->policy_state, cache->first[set + 1] - first);
}

const struct fth_policy fth_policy_random = {
    .name = "random",
    .init = init,
    .reset = reset,
    .victim = victim,
};
