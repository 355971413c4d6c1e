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
    uint64_t first = place.from >> cache->sector_shift;
    uint64_t last = (place.to - 1) >> cache->sector_shift;
    place.sectors = (((uint64_t)2 << (last - first)) - 1) << first;
    return place;
}

/* The sectors of the place with a byte that is not here. */
static inline uint64_t find_missing(const struct fth_cache *cache, uint32_t slot,
                                    struct fth_place place)
{
    if (slot == FTH_NO_SLOT)
        return place.sectors;
    uint64_t missing = place.sectors & ~fth_slot_state(cache, slot)[FTH_STATE_VALID];
    return missing && cache->write->keeps_bytes ? fth_slot_unwritten(cache, slot, place, missing)
                                                : missing;
}

static inline enum fth_cache_outcome judge(uint32_t slot, uint64_t missing)
{
    if (slot == FTH_NO_SLOT)
        return FTH_CACHE_LINE_MISS;
    return missing ? FTH_CACHE_SECTOR_MISS : FTH_CACHE_HIT;
}

enum fth_cache_outcome fth_cache_access(struct fth_cache *cache, uint64_t address, uint64_t bytes,
                                        enum fth_cache_kind kind, struct fth_cache_result *result)
{
    struct fth_cache_result ignored;
    if (!result)
        result = &ignored;
    struct fth_place place = find_place(cache, address, bytes);
    uint32_t slot = fth_lookup_find(cache, place.set, place.line);
    uint64_t missing = find_missing(cache, slot, place);
    *result = (struct fth_cache_result){.outcome = judge(slot, missing),
                                        .set = place.set,
                                        .sectors = place.sectors,
                                        .distance = UINT32_MAX};
    if (slot != FTH_NO_SLOT)
        result->distance = fth_slot_use(cache, place.set, slot);
    if (kind == FTH_CACHE_WRITE) {
        cache->write->write(cache, place, slot, result);
        return result->outcome;
    }
    if (slot == FTH_NO_SLOT)
        slot = fth_slot_fill(cache, place.set, place.line, result);
    fth_slot_state(cache, slot)[FTH_STATE_VALID] |= missing;
    result->fetch = missing;
    result->way = slot - fth_set_first(cache, place.set);
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
    for (size_t i = 0; i < count; i++) {
        struct fth_place place = find_place(cache, runs[i].from, runs[i].bytes);
        uint64_t sectors = place.sectors & missing;
        if (sectors)
            wanted |= fth_slot_unwritten(cache, slot, place, sectors);
    }
    return wanted;
}

enum fth_cache_outcome fth_cache_read(struct fth_cache *cache, uint64_t address, uint64_t sectors,
                                      const struct fth_cache_run *runs, size_t count,
                                      struct fth_cache_result *result)
{
    struct fth_cache_spot spot = fth_cache_look(cache, address);
    const uint64_t missing = fth_cache_missing(cache, &spot, sectors, runs, count);
    *result = (struct fth_cache_result){.outcome = judge(spot.slot, missing),
                                        .set = spot.set,
                                        .sectors = sectors,
                                        .fetch = missing};
    fth_cache_bring(cache, &spot, missing, result);
    result->way = spot.slot - fth_set_first(cache, spot.set);
    return result->outcome;
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

void fth_cache_fetch(const struct fth_cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    if (cache->heads) {
        __builtin_prefetch(&cache->heads[fth_lookup_hash(line, cache->head_bits)]);
        return;
    }
    const uint32_t set = fth_index_set(&cache->index, line), first = fth_set_first(cache, set);
    __builtin_prefetch(&cache->rows[set], 1);
    __builtin_prefetch(&cache->lines[first], 1);
    __builtin_prefetch(&cache->lines[first + 8], 1);
}

void fth_cache_fetch_state(const struct fth_cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    uint32_t slot;
    if (cache->heads) {
        slot = cache->heads[fth_lookup_hash(line, cache->head_bits)];
        if (slot == FTH_NO_SLOT)
            return;
        __builtin_prefetch(&cache->lines[slot]);
        if (cache->distances)
            fth_order_fetch(cache, slot);
    } else {
        const uint32_t set = fth_index_set(&cache->index, line);
        const struct fth_row *row = &cache->rows[set];
        slot = fth_lookup_find(cache, set, line);
        if (slot == FTH_NO_SLOT && row->count)
            slot = fth_set_first(cache, set) + (row->order >> 4 * (row->count - 1) & 15);
        if (slot == FTH_NO_SLOT)
            return;
    }
    __builtin_prefetch(fth_slot_state(cache, slot), 1);
}
