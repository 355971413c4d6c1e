/* Write-back with allocation: written bytes stay in this cache and go to the next level when the
 * line is evicted. A write fetches nothing. A partly written sector is fetched when other bytes of
 * it are read, and it remains dirty. */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_access_range range, uint32_t slot,
                  struct fth_cache_result *result)
{
    if (slot == FTH_NO_SLOT)
        slot = fth_slot_allocate(cache, range.set, range.line, result);
    fth_slot_write(cache, slot, range);
    uint64_t *dirty = fth_dirty_of(cache, slot);
    result->dirtied = range.sectors & ~*dirty;
    *dirty |= range.sectors;
    result->way = slot - fth_set_first(cache, range.set);
}

const struct fth_write_policy fth_write_back = {
    .keeps_bytes = true, .keeps_dirty = true, .write = write};
