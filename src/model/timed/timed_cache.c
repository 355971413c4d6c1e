/* A cache that also knows which of its sectors are in flight. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_timed_cache_init(struct fth_timed_cache *cache, const struct fth_shape *shape,
                                     uint64_t seed, uint64_t copies, struct fth_error *error)
{
    FTH_TRY(fth_shape_create_cache(shape, seed, copies, &cache->cache, error));
    cache->slots = cache->cache->slots;
    cache->flight = fth_cache_array(cache->cache, cache->slots, sizeof *cache->flight);
    return cache->flight ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

void fth_timed_cache_fini(struct fth_timed_cache *cache)
{
    fth_cache_destroy(cache->cache);
    *cache = (struct fth_timed_cache){0};
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
