/* One access at a time. A read brings in what it misses, a write is left to the write policy. */
#include "cache/cache.h"

static inline struct fth_place find_place(const struct fth_cache *cache, uint64_t address,
                                          uint64_t bytes)
{
    uint64_t line_bytes = (uint64_t)1 << cache->line_shift;
    struct fth_place place;
    place.line = address >> cache->line_shift;
    place.set = fth_index_set(&cache->index, place.line);
    place.from = address & (line_bytes - 1);
    place.to = bytes < line_bytes - place.from ? place.from + bytes : line_bytes;
    place.sectors = fth_sectors_of(cache->sector_shift, place.from, place.to);
    return place;
}

/* The sectors of the place with a byte that is not here. */
static inline uint64_t find_missing(const struct fth_cache *cache, uint32_t slot,
                                    struct fth_place place)
{
    if (slot == FTH_NO_SLOT)
        return place.sectors;
    uint64_t missing = place.sectors & ~cache->lines[slot].valid;
    return missing && cache->write->keeps_bytes ? fth_slot_unwritten(cache, slot, place, missing)
                                                : missing;
}

static inline enum fth_cache_outcome judge(uint32_t slot, uint64_t missing)
{
    if (slot == FTH_NO_SLOT)
        return FTH_CACHE_LINE_MISS;
    return missing ? FTH_CACHE_SECTOR_MISS : FTH_CACHE_HIT;
}

static enum fth_cache_outcome write_place(struct fth_cache *cache, struct fth_cache_spot *spot,
                                          struct fth_place place, struct fth_cache_result *result)
{
    const enum fth_cache_outcome outcome =
        judge(spot->slot, find_missing(cache, spot->slot, place));
    result->sectors = place.sectors;
    result->evicted = false;
    result->distance = UINT32_MAX;
    if (spot->slot != FTH_NO_SLOT)
        result->distance = fth_slot_use(cache, spot->set, spot->slot);
    cache->write->write(cache, place, spot->slot, result);
    spot->slot = result->way == FTH_CACHE_NOWHERE ? FTH_NO_SLOT
                                                  : fth_set_first(cache, spot->set) + result->way;
    return outcome;
}

enum fth_cache_outcome fth_cache_access(struct fth_cache *cache, uint64_t address, uint64_t bytes,
                                        enum fth_cache_kind kind, struct fth_cache_result *result)
{
    struct fth_cache_result ignored;
    if (!result)
        result = &ignored;
    const struct fth_place place = find_place(cache, address, bytes);
    struct fth_cache_spot spot = {place.line, place.set,
                                  fth_lookup_find(cache, place.set, place.line)};
    *result = (struct fth_cache_result){.set = place.set, .sectors = place.sectors};
    if (kind == FTH_CACHE_WRITE)
        return result->outcome = write_place(cache, &spot, place, result);
    const uint64_t missing = find_missing(cache, spot.slot, place);
    result->outcome = judge(spot.slot, missing);
    fth_cache_bring(cache, &spot, missing, result);
    result->fetch = missing;
    result->way = spot.slot - fth_set_first(cache, place.set);
    return result->outcome;
}

enum fth_cache_outcome fth_cache_probe(const struct fth_cache *cache, uint64_t address,
                                       uint64_t bytes)
{
    struct fth_place place = find_place(cache, address, bytes);
    uint32_t slot = fth_lookup_find(cache, place.set, place.line);
    return judge(slot, find_missing(cache, slot, place));
}

uint64_t fth_slot_lacks(const struct fth_cache *cache, uint32_t slot, uint64_t missing,
                        const struct fth_cache_run *runs, size_t count)
{
    uint64_t wanted = 0;
    if (!cache->partial[slot])
        return missing;
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = runs[i].from, to = from + runs[i].bytes;
        const struct fth_place place = {.from = from, .to = to};
        const uint64_t sectors = fth_sectors_of(cache->sector_shift, from, to) & missing;
        if (sectors)
            wanted |= fth_slot_unwritten(cache, slot, place, sectors);
    }
    return wanted;
}

enum fth_cache_outcome fth_cache_write(struct fth_cache *cache, struct fth_cache_spot *spot,
                                       struct fth_cache_run run, struct fth_cache_result *result)
{
    const struct fth_place place = {
        .line = spot->line,
        .from = run.from,
        .to = run.from + run.bytes,
        .sectors = fth_sectors_of(cache->sector_shift, run.from, run.from + run.bytes),
        .set = spot->set};
    return write_place(cache, spot, place, result);
}

void fth_cache_drop(struct fth_cache *cache, struct fth_cache_spot *spot)
{
    struct fth_cache_result ignored;
    if (spot->slot != FTH_NO_SLOT)
        fth_slot_free(cache, spot->set, spot->slot, &ignored);
    spot->slot = FTH_NO_SLOT;
}

bool fth_cache_invalidate(struct fth_cache *cache, uint64_t address, uint64_t *dirty)
{
    struct fth_place place = find_place(cache, address, 1);
    uint32_t slot = fth_lookup_find(cache, place.set, place.line);
    struct fth_cache_result result = {.evicted = false};
    if (slot != FTH_NO_SLOT)
        fth_slot_free(cache, place.set, slot, &result);
    if (dirty)
        *dirty = result.evicted_dirty;
    return result.evicted;
}

uint32_t fth_cache_way(const struct fth_cache *cache, uint64_t address)
{
    uint64_t line = address >> cache->line_shift;
    uint32_t set = fth_index_set(&cache->index, line), slot = fth_lookup_find(cache, set, line);
    return slot == FTH_NO_SLOT ? FTH_CACHE_NOWHERE : slot - fth_set_first(cache, set);
}

uint32_t fth_cache_set(const struct fth_cache *cache, uint64_t address)
{
    return fth_index_set(&cache->index, address >> cache->line_shift);
}
