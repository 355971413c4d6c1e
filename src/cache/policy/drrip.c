/* DRRIP: dynamic re-reference interval prediction (Jaleel and others, ISCA 2010, Section 5; see
 * srrip.c). It chooses between two policies while it runs:
 *
 *   SRRIP   as in srrip.c: a new line gets the RRPV 2
 *   BRRIP   a new line gets 3, and only one of 32 new lines gets 2. Of lines that are used in turn
 *           and do not fit the cache, some then stay.
 *
 * Set dueling decides: up to 32 leader sets always use SRRIP, as many always use BRRIP, and a
 * counter of 10 bits compares their misses. It increases with each miss in a leader of SRRIP and
 * decreases with each miss in one of BRRIP. All other sets use BRRIP while its highest bit is set.
 *
 * The paper leaves open which sets lead. Here the sets are divided into regions of equal size: the
 * first set of a region leads for SRRIP, and the one in its middle for BRRIP. A cache with fewer
 * than 128 sets has one region per four sets, so that half of the sets follow, but at least one
 * region. A cache with one set has no sets to compare and is SRRIP. The new lines that BRRIP gives
 * 2 are every 32nd, where the paper draws lots. */
#include "cache/cache.h"

enum {
    MAX_LEADERS = 32,    /* per policy */
    SETS_PER_REGION = 4, /* in small caches */
    COUNTER_MAX = 1023,  /* 10 bits */
    COUNTER_START = 511, /* the followers begin with SRRIP */
    BRRIP_PERIOD = 32    /* BRRIP: every 32nd new line gets FTH_RRPV_LONG */
};

struct drrip {
    uint32_t region, regions; /* sets per region; number of regions, 0: no set leads */
    uint32_t counter;
    uint32_t insertions; /* by BRRIP */
    uint8_t rrpv[];      /* by slot */
};

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    struct drrip *drrip = fth_arena_alloc(&cache->arena, sizeof *drrip + cache->slots);
    if (!drrip)
        return fth_no_memory(error, "build a cache", "policy");
    uint32_t regions = cache->sets / SETS_PER_REGION;
    regions = regions > MAX_LEADERS ? MAX_LEADERS : regions;
    drrip->regions = cache->sets < 2 ? 0 : regions ? regions : 1;
    drrip->region = drrip->regions ? cache->sets / drrip->regions : 0;
    cache->policy_state = drrip;
    return FTH_OK;
}

static void reset(struct fth_cache *cache)
{
    struct drrip *drrip = cache->policy_state;
    drrip->counter = COUNTER_START;
    drrip->insertions = 0;
}

/* Chooses the policy for a new line of the set, and counts the miss. */
static bool uses_brrip(struct drrip *drrip, uint32_t set)
{
    if (drrip->regions && set / drrip->region < drrip->regions) {
        const uint32_t place = set % drrip->region;
        if (place == 0) {
            drrip->counter += drrip->counter < COUNTER_MAX;
            return false;
        }
        if (place == drrip->region / 2) {
            drrip->counter -= drrip->counter > 0;
            return true;
        }
    }
    return drrip->counter > COUNTER_MAX / 2;
}

static void added(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    struct drrip *drrip = cache->policy_state;
    const bool distant =
        uses_brrip(drrip, set) && drrip->insertions++ % BRRIP_PERIOD != BRRIP_PERIOD - 1;
    drrip->rrpv[slot] = distant ? FTH_RRPV_DISTANT : FTH_RRPV_LONG;
}

static void used(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    ((struct drrip *)cache->policy_state)->rrpv[slot] = 0;
}

static uint32_t victim(struct fth_cache *cache, uint32_t set)
{
    struct drrip *drrip = cache->policy_state;
    const uint32_t slot = fth_rrip_victim(drrip->rrpv, cache->first[set], cache->first[set + 1]);
    added(cache, set, slot);
    return slot;
}

const struct fth_policy fth_policy_drrip = {
    .name = "drrip",
    .init = init,
    .reset = reset,
    .added = added,
    .used = used,
    .victim = victim,
};
