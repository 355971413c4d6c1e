/* Write-through with allocation: the bytes are kept here and also go below, so that a line can
 * always be dropped. Nothing is fetched for a write. */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_place place, uint32_t slot,
                  struct fth_cache_result *result)
{
    if (slot == FTH_NO_SLOT)
        slot = fth_slot_fill(cache, place.set, place.line, result);
    fth_slot_write(cache, slot, place);
    result->way = slot - fth_set_first(cache, place.set);
    result->below = place.sectors;
}

const struct fth_write_policy fth_write_through = {.keeps_bytes = true, .write = write};
