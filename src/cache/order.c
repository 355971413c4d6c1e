/* A list of ways for each set, newest first: what LRU and FIFO go by.
 *
 * The list of a narrow set is one word, four bits a way, newest lowest, in which a way is found and
 * moved without a loop:
 *
 *   ways 2 0 3 1, newest first     0x1302       renew 3 -> 0x1023
 *
 * A wide set has a clock and a bit for each tick. The last use of a way is a set bit: how many are
 * newer is how many bits are set past its own, which a machine counts 64 at a time, and the oldest
 * is the first that is set:
 *
 *     tick    0 1 2 3 4 5 6 7 …
 *     way     - B - A - C D -      behind B there are 3, behind D none
 *     bits    0 1 0 1 0 1 1 0
 *
 * When the ticks are used up, those that are set move to the front in their order. With twice as
 * many ticks as ways that is at most once in as many uses as there are ways. */
#include "cache/cache.h"

#include <string.h>

/* ---- wide ---- */

void fth_wide_compact(struct fth_wide *wide, uint32_t *ticks)
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

static uint32_t oldest_wide(struct fth_wide *wide)
{
    while (!wide->bits[wide->low])
        wide->low++;
    return wide->slots[wide->low * 64 + (uint32_t)__builtin_ctzll(wide->bits[wide->low])];
}

/* ---- both ---- */

static bool make_wide(struct fth_cache *cache)
{
    struct fth_order *order = fth_arena_alloc(&cache->arena, sizeof *order);
    cache->policy_state = order;
    if (!order)
        return false;
    order->wide = fth_arena_array(&cache->arena, cache->sets, sizeof *order->wide);
    order->ticks = fth_arena_array(&cache->arena, cache->slots, sizeof *order->ticks);
    for (uint32_t set = 0; order->wide && set < cache->sets; set++) {
        struct fth_wide *wide = &order->wide[set];
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
    return cache->rows || make_wide(cache)
               ? FTH_OK
               : fth_fail(error, FTH_NO_MEMORY, "build a cache", "policy",
                          "out of memory for the order of %u lines", cache->slots);
}

void fth_order_clear(struct fth_cache *cache)
{
    for (uint32_t set = 0; set < cache->sets; set++) {
        if (cache->rows) {
            cache->rows[set].order = cache->rows[set].count = 0;
            continue;
        }
        struct fth_wide *wide = fth_wide_of(cache, set);
        wide->now = wide->low = 0;
        memset(wide->bits, 0, wide->words * sizeof *wide->bits);
    }
}

void fth_order_add(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (!cache->rows) {
        fth_wide_add(fth_wide_of(cache, set), fth_ticks_of(cache), slot);
        return;
    }
    struct fth_row *row = &cache->rows[set];
    row->order = row->order << 4 | (slot - fth_set_first(cache, set));
    row->count++;
}

void fth_order_remove(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (!cache->rows) {
        fth_wide_remove(fth_wide_of(cache, set), fth_ticks_of(cache)[slot]);
        return;
    }
    struct fth_row *row = &cache->rows[set];
    const unsigned place = fth_order_place(row->order, slot - fth_set_first(cache, set));
    row->order = fth_order_older(row->order, place) << place | fth_order_newer(row->order, place);
    row->count--;
}

void fth_order_renew(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->rows) {
        fth_row_renew(&cache->rows[set], slot - fth_set_first(cache, set));
        return;
    }
    struct fth_wide *wide = fth_wide_of(cache, set);
    const uint32_t tick = fth_ticks_of(cache)[slot];
    if (tick + 1 == wide->now)
        return; /* the newest already */
    fth_wide_remove(wide, tick);
    fth_wide_add(wide, fth_ticks_of(cache), slot);
}

uint32_t fth_order_victim(struct fth_cache *cache, uint32_t set)
{
    if (!cache->rows) {
        struct fth_wide *wide = fth_wide_of(cache, set);
        const uint32_t slot = oldest_wide(wide);
        fth_order_renew(cache, set, slot);
        return slot;
    }
    struct fth_row *row = &cache->rows[set];
    const uint32_t way = row->order >> 4 * (row->count - 1) & 15;
    fth_row_renew(row, way);
    return fth_set_first(cache, set) + way;
}

uint32_t fth_order_list(const struct fth_cache *cache, uint32_t set, uint32_t *slots)
{
    const struct fth_row *row = &cache->rows[set];
    for (uint32_t i = 0; i < row->count; i++)
        slots[i] = fth_set_first(cache, set) + (row->order >> 4 * i & 15);
    return row->count;
}
