/* Write-back with allocation: the bytes stay here and go below when the line is evicted. Nothing is
 * fetched for a write; a sector written in part is completed when other bytes of it are read, and
 * is dirty before and after. */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_place place, uint32_t slot,
                  struct fth_cache_result *result)
{
    if (slot == FTH_NO_SLOT)
        slot = fth_slot_fill(cache, place.set, place.line, result);
    fth_slot_write(cache, slot, place);
    uint64_t *dirty = &cache->dirty[slot];
    result->dirtied = place.sectors & ~*dirty;
    *dirty |= place.sectors;
    result->way = slot - fth_set_first(cache, place.set);
}

const struct fth_write_policy fth_write_back = {
    .keeps_bytes = true, .keeps_dirty = true, .write = write};
