/* A cache that also knows which of its sectors are in flight. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_timed_cache_init(struct fth_timed_cache *cache, const struct fth_shape *shape,
                                     uint64_t seed, struct fth_error *error)
{
    FTH_TRY(fth_shape_create_cache(shape, seed, &cache->cache, error));
    cache->slots = (size_t)(shape->sets * shape->ways);
    cache->flight = calloc(cache->slots, sizeof *cache->flight);
    return cache->flight ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

void fth_timed_cache_fini(struct fth_timed_cache *cache)
{
    fth_cache_destroy(cache->cache);
    free(cache->flight);
    *cache = (struct fth_timed_cache){0};
}

void fth_timed_cache_clear(struct fth_timed_cache *cache)
{
    fth_cache_clear(cache->cache);
    memset(cache->flight, 0, cache->slots * sizeof *cache->flight);
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
