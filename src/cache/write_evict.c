/* Write-evict without allocation: the write goes to the next level. If this cache holds the line,
 * it evicts the line, which no longer matches the next level (RDGC, Section 3.1: in NVIDIA's L1 "a
 * write hit imposes an eviction"). */
#include "cache/cache.h"

static void write(struct fth_cache *cache, struct fth_access_range range, uint32_t slot,
                  struct fth_cache_result *result)
{
    result->below = range.sectors;
    result->way = FTH_NO_WAY;
    if (slot != FTH_NO_SLOT)
        fth_slot_free(cache, range.set, slot, result);
}

const struct fth_write_policy fth_write_evict = {.write = write};
