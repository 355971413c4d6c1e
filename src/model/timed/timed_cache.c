/* A cache that also knows which of its sectors are in flight. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_timed_cache_init(struct fth_timed_cache *cache, const struct fth_shape *shape,
                                     uint64_t seed, uint64_t copies, struct fth_error *error)
{
    FTH_TRY(fth_shape_create_cache(shape, seed, copies, sizeof(struct fth_slot_extra),
                                   &cache->cache, error));
    cache->slots = cache->cache->slots;
    if (cache->cache->has_dirty) {
        cache->flight = fth_changed_of(cache->cache, 0)->extra;
        cache->flight_shift = cache->cache->slot_shift;
        return FTH_OK;
    }
    while ((size_t)1 << cache->flight_shift < sizeof(struct fth_slot_flight))
        cache->flight_shift++;
    cache->flight = fth_cache_array(cache->cache, cache->slots, (size_t)1 << cache->flight_shift);
    return cache->flight ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

void fth_timed_cache_fini(struct fth_timed_cache *cache)
{
    fth_cache_destroy(cache->cache);
    *cache = (struct fth_timed_cache){0};
}

void fth_timed_cache_land(struct fth_timed_cache *timed)
{
    const struct fth_cache *cache = timed->cache;
    const bool all = !cache->used_sets || cache->used_set_count == cache->sets;
    for (uint32_t i = 0; i < (all ? cache->sets : cache->used_set_count); i++) {
        const uint32_t set = all ? i : cache->used_sets[i];
        for (uint32_t slot = cache->first[set]; slot < cache->first[set + 1]; slot++)
            fth_flight_of(timed, slot)->ready = 0;
    }
}

bool fth_totals_init(struct fth_cache_level_totals *totals, const struct fth_shape *shape)
{
    *totals = (struct fth_cache_level_totals){.profile_size = (size_t)shape->ways + 1};
    for (int i = 0; i < 2; i++)
        totals->profile[i] = calloc(totals->profile_size, sizeof *totals->profile[i]);
    return totals->profile[0] && totals->profile[1];
}

void fth_totals_fini(struct fth_cache_level_totals *totals)
{
    for (int i = 0; i < 2; i++)
        free(totals->profile[i]);
    *totals = (struct fth_cache_level_totals){0};
}

void fth_totals_clear(struct fth_cache_level_totals *totals)
{
    for (int i = 0; i < 2 && totals->profile_size; i++)
        memset(totals->profile[i], 0, totals->profile_size * sizeof *totals->profile[i]);
}
