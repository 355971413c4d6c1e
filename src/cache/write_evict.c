/* Write-evict without allocation: the write goes below, and a line that was here is thrown out,
 * since it is no longer what is below (RDGC, Section 3.1: in NVIDIA's L1 "a write hit imposes an
 * eviction"). */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_place place, uint32_t slot,
                  struct fth_cache_result *result)
{
    result->below = place.sectors;
    result->way = FTH_CACHE_NOWHERE;
    if (slot != FTH_NO_SLOT)
        fth_slot_free(cache, place.set, slot, result);
}

const struct fth_write_policy fth_write_evict = {.write = write};
