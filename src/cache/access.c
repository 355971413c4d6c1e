/* Single accesses. A read fills the sectors that it misses. The write policy handles writes. */
#include "cache/cache.h"

static inline struct fth_access_range find_range(const struct fth_cache *cache, uint64_t address,
                                                 uint64_t bytes)
{
    uint64_t line_bytes = (uint64_t)1 << cache->line_shift;
    struct fth_access_range range;
    range.line = address >> cache->line_shift;
    range.set = fth_index_set(&cache->index, range.line);
    range.from = address & (line_bytes - 1);
    range.to = bytes < line_bytes - range.from ? range.from + bytes : line_bytes;
    range.sectors = fth_sectors_of(cache->sector_shift, range.from, range.to);
    return range;
}

/* Returns the sectors of the range with a byte that is not in the cache. */
static inline uint64_t find_missing(const struct fth_cache *cache, uint32_t slot,
                                    struct fth_access_range range)
{
    if (slot == FTH_NO_SLOT)
        return range.sectors;
    uint64_t missing = range.sectors & ~fth_line_of(cache, slot)->valid;
    return missing && cache->write->keeps_bytes ? fth_slot_unwritten(cache, slot, range, missing)
                                                : missing;
}

static inline enum fth_cache_outcome classify(uint32_t slot, uint64_t missing)
{
    if (slot == FTH_NO_SLOT)
        return FTH_CACHE_LINE_MISS;
    return missing ? FTH_CACHE_SECTOR_MISS : FTH_CACHE_HIT;
}

FTH_CLONES
static void write_range(struct fth_cache *cache, struct fth_cache_location *location,
                        struct fth_access_range range, struct fth_cache_result *result)
{
    result->sectors = range.sectors;
    result->evicted = false;
    result->distance = UINT32_MAX;
    if (location->slot != FTH_NO_SLOT)
        result->distance = fth_slot_use(cache, location->set, location->slot);
    cache->write->write(cache, range, location->slot, result);
    location->slot =
        result->way == FTH_NO_WAY ? FTH_NO_SLOT : fth_set_first(cache, location->set) + result->way;
}

enum fth_cache_outcome fth_cache_access(struct fth_cache *cache, uint64_t address, uint64_t bytes,
                                        enum fth_cache_kind kind, struct fth_cache_result *result)
{
    struct fth_cache_result ignored;
    if (!result)
        result = &ignored;
    const struct fth_access_range range = find_range(cache, address, bytes);
    struct fth_cache_location location = {range.line, range.set,
                                          fth_lookup_find(cache, range.set, range.line)};
    *result = (struct fth_cache_result){.set = range.set, .sectors = range.sectors};
    const uint64_t missing = find_missing(cache, location.slot, range);
    result->outcome = classify(location.slot, missing);
    if (kind == FTH_CACHE_WRITE) {
        write_range(cache, &location, range, result);
        return result->outcome;
    }
    fth_cache_fill(cache, &location, missing, result);
    result->fetch = missing;
    result->way = location.slot - fth_set_first(cache, range.set);
    return result->outcome;
}

enum fth_cache_outcome fth_cache_probe(const struct fth_cache *cache, uint64_t address,
                                       uint64_t bytes)
{
    struct fth_access_range range = find_range(cache, address, bytes);
    uint32_t slot = fth_lookup_find(cache, range.set, range.line);
    return classify(slot, find_missing(cache, slot, range));
}

uint64_t fth_slot_unwritten_runs(const struct fth_cache *cache, uint32_t slot, uint64_t missing,
                                 const struct fth_cache_run *runs, size_t count)
{
    uint64_t wanted = 0;
    if (!*fth_partial_of(cache, slot))
        return missing;
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = runs[i].from, to = from + runs[i].bytes;
        const struct fth_access_range range = {.from = from, .to = to};
        const uint64_t sectors = fth_sectors_of(cache->sector_shift, from, to) & missing;
        if (sectors)
            wanted |= fth_slot_unwritten(cache, slot, range, sectors);
    }
    return wanted;
}

void fth_cache_write(struct fth_cache *cache, struct fth_cache_location *location,
                     struct fth_cache_run run, struct fth_cache_result *result)
{
    const struct fth_access_range range = {
        .line = location->line,
        .from = run.from,
        .to = run.from + run.bytes,
        .sectors = fth_sectors_of(cache->sector_shift, run.from, run.from + run.bytes),
        .set = location->set};
    write_range(cache, location, range, result);
}

uint64_t fth_cache_held(const struct fth_cache *cache, const struct fth_cache_location *location,
                        uint64_t sectors)
{
    if (location->slot == FTH_NO_SLOT)
        return 0;
    const uint64_t valid = sectors & fth_line_of(cache, location->slot)->valid;
    return valid == sectors || !cache->write->keeps_bytes
               ? valid
               : valid | fth_slot_written(cache, location->slot, sectors & ~valid);
}

void fth_cache_drop(struct fth_cache *cache, struct fth_cache_location *location)
{
    struct fth_cache_result ignored;
    if (location->slot != FTH_NO_SLOT)
        fth_slot_free(cache, location->set, location->slot, &ignored);
    location->slot = FTH_NO_SLOT;
}

bool fth_cache_invalidate(struct fth_cache *cache, uint64_t address, uint64_t *dirty)
{
    struct fth_access_range range = find_range(cache, address, 1);
    uint32_t slot = fth_lookup_find(cache, range.set, range.line);
    struct fth_cache_result result = {.evicted = false};
    if (slot != FTH_NO_SLOT)
        fth_slot_free(cache, range.set, slot, &result);
    if (dirty)
        *dirty = result.evicted_dirty;
    return result.evicted;
}

bool fth_cache_invalidate_sectors(struct fth_cache *cache, uint64_t address, uint64_t bytes)
{
    const struct fth_access_range range = find_range(cache, address, bytes);
    const struct fth_cache_location location = {range.line, range.set,
                                                fth_lookup_find(cache, range.set, range.line)};
    if (!fth_cache_held(cache, &location, range.sectors))
        return false;
    fth_slot_erase(cache, location.slot, range.sectors);
    return true;
}

uint64_t fth_cache_write_back(struct fth_cache *cache, uint32_t slot)
{
    const uint64_t dirty = cache->has_dirty ? *fth_dirty_of(cache, slot) : 0;
    fth_line_of(cache, slot)->valid |= dirty;
    if (cache->has_dirty)
        *fth_dirty_of(cache, slot) = 0;
    return dirty;
}
