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

void fth_timed_cache_clear(struct fth_timed_cache *timed)
{
    struct fth_cache *cache = timed->cache;
    const uint32_t *sets = cache->used_sets;
    if (!sets || cache->used_set_count == cache->sets)
        memset(timed->flight, 0, timed->slots * sizeof *timed->flight);
    for (uint32_t i = 0; sets && i < cache->used_set_count; i++) {
        const uint32_t end = fth_set_used_end(cache, sets[i]);
        for (uint32_t slot = cache->first[sets[i]]; slot < end; slot++)
            timed->flight[slot].partial = 0;
    }
    fth_cache_clear(cache);
}

void fth_timed_cache_prepare(const struct fth_timed_cache *timed, const struct fth_shadow *shadow,
                             const struct fth_timed_line *line)
{
    fth_cache_prepare(timed->cache, 0, line->line);
    if (shadow)
        fth_shadow_prepare(shadow, line->line, FTH_NO_SLOT);
}

bool fth_timed_cache_prepare_slot(const struct fth_timed_cache *timed,
                                  const struct fth_shadow *shadow,
                                  const struct fth_timed_line *line, bool writes)
{
    const struct fth_cache *cache = timed->cache;
    bool found = false;
    const uint32_t slot = fth_cache_prepare_slot(cache, line->line, writes, &found);
    fth_prefetch(&timed->flight[slot]);
    if (writes && line->run_count && cache->written)
        fth_prefetch(&cache->written[slot * cache->byte_words]);
    if (shadow) {
        fth_shadow_prepare(shadow, line->line, slot);
        fth_shadow_prepare_entry(shadow, line->line, FTH_NO_SLOT);
    }
    return found;
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
