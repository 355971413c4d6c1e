/* Write-through with allocation: written bytes stay in this cache and also go to the next level at
 * once, so a line can be evicted without a write. A write fetches nothing. */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_access_range range, uint32_t slot,
                  struct fth_cache_result *result)
{
    if (slot == FTH_NO_SLOT)
        slot = fth_slot_allocate(cache, range.set, range.line, result);
    fth_slot_write(cache, slot, range);
    result->way = slot - fth_set_first(cache, range.set);
    result->below = range.sectors;
}

const struct fth_write_policy fth_write_through = {.keeps_bytes = true, .write = write};
