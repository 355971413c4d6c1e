/* Operations on one slot: allocating it for a line, marking written bytes, and freeing it. */
#include "cache/cache.h"

#include <string.h>

/* Returns the bits of the bytes [from, to) in one 64-bit word of a byte mask. At least one of these
 * bytes must be in the word. */
static uint64_t word_part(uint64_t word, uint64_t from, uint64_t to)
{
    uint64_t start = word * 64;
    uint64_t low = from > start ? from - start : 0;
    uint64_t high = to < start + 64 ? to - start : 64;
    return ~(uint64_t)0 >> (64 - (high - low)) << low;
}

/* Whether the bytes [from, to) are in one 64-bit word of a byte mask. Most accesses write a few
 * bytes, and a sector has 32; the functions below avoid their loops for these. */
static inline bool in_one_word(uint64_t from, uint64_t to)
{
    return from / 64 == (to - 1) / 64;
}

/* Returns the bits of the bytes [from, to) in their word, if there is only one. */
static inline uint64_t bits_in_word(uint64_t from, uint64_t to)
{
    return ~(uint64_t)0 >> (64 - (to - from)) << from % 64;
}

/* Returns whether all bytes [from, to) are set in a byte mask. */
static inline bool bytes_are_set(const uint64_t *bytes, uint64_t from, uint64_t to)
{
    if (in_one_word(from, to))
        return !(~bytes[from / 64] & bits_in_word(from, to));
    for (uint64_t word = from / 64; word * 64 < to; word++) {
        uint64_t part = word_part(word, from, to);
        if ((bytes[word] & part) != part)
            return false;
    }
    return true;
}

/* Returns whether any of the bytes [from, to) is set in a byte mask. */
static inline bool any_byte_is_set(const uint64_t *bytes, uint64_t from, uint64_t to)
{
    if (in_one_word(from, to))
        return bytes[from / 64] & bits_in_word(from, to);
    for (uint64_t word = from / 64; word * 64 < to; word++)
        if (bytes[word] & word_part(word, from, to))
            return true;
    return false;
}

/* Sets the bytes [from, to) in a byte mask. */
static inline void set_bytes(uint64_t *bytes, uint64_t from, uint64_t to)
{
    if (in_one_word(from, to)) {
        bytes[from / 64] |= bits_in_word(from, to);
        return;
    }
    for (uint64_t word = from / 64; word * 64 < to; word++)
        bytes[word] |= word_part(word, from, to);
}

/* Clears a byte mask. Lines of 128 bytes are the most frequent ones. */
static inline void clear_words(uint64_t *bytes, size_t count)
{
    if (count == 2)
        bytes[0] = bytes[1] = 0;
    else
        memset(bytes, 0, count * sizeof *bytes);
}

static inline void report_eviction(const struct fth_cache *cache, uint32_t slot,
                                   struct fth_cache_result *result)
{
    result->evicted = true;
    result->evicted_line = fth_line_of(cache, slot)->number << cache->line_shift;
    result->evicted_dirty = cache->has_dirty ? *fth_dirty_of(cache, slot) : 0;
}

/* Returns the first free slot of the set, or FTH_NO_SLOT. */
static uint32_t find_free(struct fth_cache *cache, uint32_t set)
{
    const uint32_t end = fth_set_first(cache, set + 1);
    uint32_t slot = *fth_first_free(cache, set);
    while (slot < end && fth_line_of(cache, slot)->number != FTH_NO_LINE)
        slot++;
    *fth_first_free(cache, set) = slot < end ? slot + 1 : slot;
    return slot < end ? slot : FTH_NO_SLOT;
}

bool fth_cache_prioritize(struct fth_cache *cache, enum fth_cache_priority priority)
{
    if (!cache->priorities && priority != FTH_CACHE_NORMAL) {
        const size_t slots = fth_set_first(cache, cache->sets);
        cache->priorities = fth_arena_array(&cache->arena, slots, sizeof *cache->priorities);
        if (!cache->priorities)
            return false;
        memset(cache->priorities, FTH_CACHE_NORMAL, slots);
    }
    cache->priority = (uint8_t)priority;
    return true;
}

/* Returns the first slot of a full set whose line is, or is not, of this priority; FTH_NO_SLOT if
 * there is none. */
static uint32_t find_priority(const struct fth_cache *cache, uint32_t set,
                              enum fth_cache_priority priority, bool is)
{
    const uint32_t end = fth_set_first(cache, set + 1);
    for (uint32_t slot = fth_set_first(cache, set); slot < end; slot++)
        if ((cache->priorities[slot] == priority) == is)
            return slot;
    return FTH_NO_SLOT;
}

/* Informs the policy that the line of a slot is replaced. */
static uint32_t replace(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->policy->removed)
        cache->policy->removed(cache, set, slot);
    if (cache->policy->added)
        cache->policy->added(cache, set, slot);
    return slot;
}

/* Returns the slot to be replaced in a full set, and informs the policy about it. */
static uint32_t choose_victim(struct fth_cache *cache, uint32_t set)
{
    if (!cache->priorities)
        return cache->policy->victim(cache, set);
    uint32_t slot = find_priority(cache, set, FTH_CACHE_FIRST, true);
    if (slot != FTH_NO_SLOT)
        return replace(cache, set, slot);
    /* The policy continues as if it had replaced the LAST lines that it chooses. */
    const uint32_t ways = fth_set_first(cache, set + 1) - fth_set_first(cache, set);
    slot = cache->policy->victim(cache, set);
    for (uint32_t i = 1; i < ways && cache->priorities[slot] == FTH_CACHE_LAST; i++)
        slot = cache->policy->victim(cache, set);
    if (cache->priorities[slot] != FTH_CACHE_LAST)
        return slot;
    /* A random policy can choose LAST lines each time. */
    const uint32_t other = find_priority(cache, set, FTH_CACHE_LAST, false);
    return other == FTH_NO_SLOT ? slot : replace(cache, set, other);
}

/* Notes that a line is added to a set. */
static inline void note_used_set(struct fth_cache *cache, uint32_t set)
{
    if (cache->used_sets && !cache->narrow_sets[set].count && cache->used_set_count < cache->sets)
        cache->used_sets[cache->used_set_count++] = set;
}

/* Returns a slot for a new line: a free one or that of the victim. */
static uint32_t place(struct fth_cache *cache, uint32_t set, struct fth_cache_result *result)
{
    uint32_t slot = find_free(cache, set);
    if (slot == FTH_NO_SLOT) {
        slot = choose_victim(cache, set);
        report_eviction(cache, slot, result);
        fth_lookup_remove(cache, slot);
        return slot;
    }
    note_used_set(cache, set);
    if (cache->policy->added)
        cache->policy->added(cache, set, slot);
    return slot;
}

static inline uint32_t replace_oldest(struct fth_cache *cache, struct fth_narrow_set *narrow,
                                      uint32_t first, struct fth_cache_result *result)
{
    const uint64_t way = narrow->order >> 4 * (narrow->count - 1) & 15;
    const uint64_t in_use = UINT64_MAX >> (64 - 4 * narrow->count);
    const uint32_t slot = first + (uint32_t)way;
    narrow->order = (narrow->order << 4 & in_use) | way;
    report_eviction(cache, slot, result);
    return slot;
}

/* The most frequent case of place(): a narrow set of an LRU cache without priorities. */
static inline uint32_t place_narrow(struct fth_cache *cache, uint32_t set,
                                    struct fth_cache_result *result)
{
    struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    const uint32_t first = fth_set_first(cache, set);
    if (narrow->count == fth_set_first(cache, set + 1) - first)
        return replace_oldest(cache, narrow, first, result);
    note_used_set(cache, set);
    uint32_t slot = narrow->first_free;
    /* All slots before `slot` are in use. If their number is also the number of lines in the set,
     * `slot` itself is free and the search is not necessary. */
    if (narrow->count != slot - first)
        while (fth_line_of(cache, slot)->number != FTH_NO_LINE)
            slot++;
    narrow->first_free = slot + 1;
    narrow->order = narrow->order << 4 | (slot - first);
    narrow->count++;
    return slot;
}

uint32_t fth_slot_allocate(struct fth_cache *cache, uint32_t set, uint64_t line,
                           struct fth_cache_result *result)
{
    const uint32_t slot = cache->used_sets && !cache->priorities ? place_narrow(cache, set, result)
                          : cache->policy->place ? cache->policy->place(cache, set, line, result)
                                                 : place(cache, set, result);
    fth_line_of(cache, slot)->number = line;
    fth_line_of(cache, slot)->valid = 0;
    if (cache->priorities)
        cache->priorities[slot] = cache->priority;
    if (cache->has_dirty)
        *fth_dirty_of(cache, slot) = 0;
    if (cache->partial)
        *fth_partial_of(cache, slot) = false;
    if (cache->narrow_sets)
        fth_narrow_set_tag(&cache->narrow_sets[set], slot - fth_set_first(cache, set), line);
    else
        fth_lookup_add(cache, set, slot);
    return slot;
}

void fth_slot_free(struct fth_cache *cache, uint32_t set, uint32_t slot,
                   struct fth_cache_result *result)
{
    report_eviction(cache, slot, result);
    fth_lookup_remove(cache, slot);
    if (cache->policy->removed)
        cache->policy->removed(cache, set, slot);
    fth_line_of(cache, slot)->number = FTH_NO_LINE;
    if (slot < *fth_first_free(cache, set))
        *fth_first_free(cache, set) = slot;
}

uint64_t fth_slot_unwritten(const struct fth_cache *cache, uint32_t slot,
                            struct fth_access_range range, uint64_t sectors)
{
    const uint64_t *bytes = cache->written + slot * cache->byte_words;
    if (!*fth_partial_of(cache, slot))
        return sectors;
    uint64_t sector_bytes = (uint64_t)1 << cache->sector_shift;
    for (uint64_t start = range.from & -sector_bytes; start < range.to; start += sector_bytes) {
        uint64_t from = start > range.from ? start : range.from;
        uint64_t to = start + sector_bytes < range.to ? start + sector_bytes : range.to;
        if (bytes_are_set(bytes, from, to))
            sectors &= ~((uint64_t)1 << (start >> cache->sector_shift));
    }
    return sectors;
}

uint64_t fth_slot_written(const struct fth_cache *cache, uint32_t slot, uint64_t sectors)
{
    const uint64_t *bytes = cache->written + slot * cache->byte_words;
    uint64_t written = 0;
    if (!*fth_partial_of(cache, slot))
        return 0;
    for (uint64_t left = sectors; left; left &= left - 1) {
        const unsigned sector = (unsigned)__builtin_ctzll(left);
        const uint64_t from = (uint64_t)sector << cache->sector_shift;
        if (any_byte_is_set(bytes, from, from + ((uint64_t)1 << cache->sector_shift)))
            written |= (uint64_t)1 << sector;
    }
    return written;
}

void fth_slot_write_part(struct fth_cache *cache, uint32_t slot, uint64_t from, uint64_t to,
                         uint64_t part)
{
    const uint64_t sector_bytes = (uint64_t)1 << cache->sector_shift;
    uint64_t *bytes = cache->written + slot * cache->byte_words, complete = 0;
    bool *partial = fth_partial_of(cache, slot);
    if (!*partial)
        clear_words(bytes, cache->byte_words);
    *partial = true;
    set_bytes(bytes, from, to);
    for (; part; part &= part - 1) {
        const uint64_t start = (uint64_t)__builtin_ctzll(part) << cache->sector_shift;
        if (bytes_are_set(bytes, start, start + sector_bytes))
            complete |= part & -part;
    }
    fth_line_of(cache, slot)->valid |= complete;
}

void fth_slot_erase(struct fth_cache *cache, uint32_t slot, uint64_t sectors)
{
    fth_line_of(cache, slot)->valid &= ~sectors;
    if (cache->has_dirty)
        *fth_dirty_of(cache, slot) &= ~sectors;
    if (!cache->partial || !*fth_partial_of(cache, slot))
        return;
    uint64_t *bytes = cache->written + slot * cache->byte_words;
    for (uint64_t left = sectors; left; left &= left - 1) {
        const uint64_t from = (uint64_t)__builtin_ctzll(left) << cache->sector_shift;
        const uint64_t to = from + ((uint64_t)1 << cache->sector_shift);
        for (uint64_t word = from / 64; word * 64 < to; word++)
            bytes[word] &= ~word_part(word, from, to);
    }
}
