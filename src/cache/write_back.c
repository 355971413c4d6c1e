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
    result->dirtied = place.sectors & ~cache->dirty[slot];
    cache->dirty[slot] |= place.sectors;
    result->way = slot - cache->first[place.set];
}

const struct fth_write_policy fth_write_back = {
    .keeps_bytes = true, .keeps_dirty = true, .write = write};
