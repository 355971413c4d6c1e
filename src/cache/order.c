/* A list of the ways of each set, newest first. LRU and FIFO use it.
 *
 * The list of a narrow set is one 64-bit word with four bits per way and the newest way in the
 * lowest bits. A way is found and moved without a loop:
 *
 *   ways 2 0 3 1, newest first     0x1302       make 3 the newest -> 0x1023
 *
 * A wide set has a clock and one bit per tick of the clock. Making a way the newest takes the next
 * tick, sets its bit, and clears the bit of the way's previous tick. The number of ways that are
 * newer than a way is the number of bits set after its own, which are counted 64 at a time. The
 * oldest way is the one of the first bit that is set:
 *
 *     tick    0 1 2 3 4 5 6 7 …
 *     way     - B - A - C D -      3 ways are newer than B, none is newer than D
 *     bits    0 1 0 1 0 1 1 0
 *
 * When all ticks are used, the ticks that are set are renumbered from 0 in their order. There are
 * at least twice as many ticks as ways, so this happens at most once in as many operations as the
 * set has ways. */
#include "cache/cache.h"

#include <string.h>

/* ---- wide sets ---- */

void fth_wide_compact(struct fth_wide_set *wide, uint32_t *ticks)
{
    uint32_t count = 0;
    for (uint32_t word = wide->low; word < wide->words; word++)
        for (uint64_t left = wide->bits[word]; left; left &= left - 1) {
            const uint32_t slot = wide->slots[word * 64 + (uint32_t)__builtin_ctzll(left)];
            wide->slots[count] = slot;
            ticks[slot] = count++;
        }
    for (uint32_t word = 0; word < wide->words; word++)
        wide->bits[word] = count >= 64 * (word + 1) ? UINT64_MAX
                           : count > 64 * word      ? ((uint64_t)1 << (count % 64)) - 1
                                                    : 0;
    wide->now = count;
    wide->low = 0;
}

static uint32_t oldest_slot(struct fth_wide_set *wide)
{
    while (!wide->bits[wide->low])
        wide->low++;
    return wide->slots[wide->low * 64 + (uint32_t)__builtin_ctzll(wide->bits[wide->low])];
}

/* ---- all sets ---- */

static bool allocate_wide_sets(struct fth_cache *cache)
{
    struct fth_order *order = fth_arena_alloc(&cache->arena, sizeof *order);
    cache->policy_state = order;
    if (!order)
        return false;
    order->wide = fth_arena_array(&cache->arena, cache->sets, sizeof *order->wide);
    order->ticks = fth_arena_array(&cache->arena, cache->slots, sizeof *order->ticks);
    for (uint32_t set = 0; order->wide && set < cache->sets; set++) {
        struct fth_wide_set *wide = &order->wide[set];
        wide->words = (2 * (cache->first[set + 1] - cache->first[set]) + 63) / 64;
        wide->bits = fth_arena_array(&cache->arena, wide->words, sizeof *wide->bits);
        wide->slots = fth_arena_array(&cache->arena, (size_t)wide->words * 64, sizeof *wide->slots);
        if (!wide->bits || !wide->slots)
            return false;
    }
    return order->wide && order->ticks;
}

enum fth_status fth_order_init(struct fth_cache *cache, struct fth_error *error)
{
    return cache->narrow_sets || allocate_wide_sets(cache)
               ? FTH_OK
               : fth_no_memory(error, "build a cache", "policy");
}

void fth_order_clear(struct fth_cache *cache)
{
    for (uint32_t set = 0; set < cache->sets; set++) {
        if (cache->narrow_sets) {
            cache->narrow_sets[set].order = cache->narrow_sets[set].count = 0;
            continue;
        }
        struct fth_wide_set *wide = fth_wide_set_of(cache, set);
        wide->now = wide->low = 0;
        memset(wide->bits, 0, wide->words * sizeof *wide->bits);
    }
}

void fth_order_add(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (!cache->narrow_sets) {
        fth_wide_add(fth_wide_set_of(cache, set), fth_ticks_of(cache), slot);
        return;
    }
    struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    narrow->order = narrow->order << 4 | (slot - fth_set_first(cache, set));
    narrow->count++;
}

void fth_order_remove(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (!cache->narrow_sets) {
        fth_wide_remove(fth_wide_set_of(cache, set), fth_ticks_of(cache)[slot]);
        return;
    }
    struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    const unsigned position = fth_order_position(narrow->order, slot - fth_set_first(cache, set));
    narrow->order = fth_order_older(narrow->order, position) << position |
                    fth_order_newer(narrow->order, position);
    narrow->count--;
}

void fth_order_move_to_front(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->narrow_sets) {
        fth_narrow_move_to_front(&cache->narrow_sets[set], slot - fth_set_first(cache, set));
        return;
    }
    struct fth_wide_set *wide = fth_wide_set_of(cache, set);
    const uint32_t tick = fth_ticks_of(cache)[slot];
    if (tick + 1 == wide->now)
        return; /* it already is the newest */
    fth_wide_remove(wide, tick);
    fth_wide_add(wide, fth_ticks_of(cache), slot);
}

uint32_t fth_order_victim(struct fth_cache *cache, uint32_t set)
{
    if (!cache->narrow_sets) {
        struct fth_wide_set *wide = fth_wide_set_of(cache, set);
        const uint32_t slot = oldest_slot(wide);
        fth_order_move_to_front(cache, set, slot);
        return slot;
    }
    struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    const uint32_t way = narrow->order >> 4 * (narrow->count - 1) & 15;
    fth_narrow_move_to_front(narrow, way);
    return fth_set_first(cache, set) + way;
}
