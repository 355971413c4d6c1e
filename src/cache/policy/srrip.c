/* SRRIP: static re-reference interval prediction with hit priority (A. Jaleel, K. B. Theobald, S.
 * C. Steely Jr., J. Emer, "High Performance Cache Replacement Using Re-Reference Interval
 * Prediction (RRIP)", ISCA 2010, Section 4). Each line has a prediction of two bits, its RRPV:
 *
 *   0  it is used again soon     3  it is used again in the distant future
 *
 * A new line gets 2, a line that is hit gets 0. The victim is the first way with 3; if there is
 * none, all RRPVs of the set are increased by 1 until there is one. A single pass over many lines
 * therefore does not displace lines that were hit. */
#include "cache/cache.h"

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    cache->policy_state = fth_arena_alloc(&cache->arena, cache->slots);
    return cache->policy_state ? FTH_OK : fth_no_memory(error, "build a cache", "policy");
}

static void added(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    ((uint8_t *)cache->policy_state)[slot] = FTH_RRPV_LONG;
}

static void used(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    ((uint8_t *)cache->policy_state)[slot] = 0;
}

uint32_t fth_rrip_victim(uint8_t *rrpv, uint32_t first, uint32_t end)
{
    uint32_t victim = first;
    for (uint32_t slot = first; slot < end; slot++)
        if (rrpv[slot] > rrpv[victim])
            victim = slot;
    /* Increasing all by 1 until one is FTH_RRPV_DISTANT leads to the same result. */
    const uint8_t increase = (uint8_t)(FTH_RRPV_DISTANT - rrpv[victim]);
    for (uint32_t slot = first; slot < end && increase; slot++)
        rrpv[slot] = (uint8_t)(rrpv[slot] + increase);
    return victim;
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    const uint32_t slot =
        fth_rrip_victim(cache->policy_state, cache->first[set], cache->first[set + 1]);
    added(cache, set, slot);
    return slot;
}

const struct fth_policy fth_policy_srrip = {
    .name = "srrip",
    .init = init,
    .added = added,
    .used = used,
    .victim = victim,
};
