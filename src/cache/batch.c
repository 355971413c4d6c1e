/* Simulates long streams of whole-line reads.
 *
 * For an LRU set with few ways, the fastest representation is a row of line numbers, newest first.
 * A read moves its line to the front and shifts the lines that were before it back by one. On a
 * miss, the line that is shifted out of the row is evicted. No list or time stamp is needed:
 *
 *   read c:   a b c d  ->  c a b d      hit
 *   read e:   c a b d  ->  e c a b      miss, d is evicted
 *
 * Before the stream, the lines of each set are copied to a row in order of recency. After the
 * stream, lines and order are copied back. This is faster if the stream has at least one read per
 * slot: for 64 sets of 4 ways, 104 M reads/s instead of 76 with one read per slot, and 260 instead
 * of 76 with very long streams. Shorter streams, wider sets and other policies are simulated line
 * by line.
 *
 * Measured on a Neoverse V1 with 64 sets and the access mix of bench/: with 4 ways, moving the
 * whole row without a branch is fastest (270 M reads/s, compared with 250 if the loop ends at the
 * old position of the line). With 8 ways, ending the loop is faster (180 compared with 145). For
 * sets of 5 to 16 ways, packed.c is faster still if 16 bits suffice to distinguish the lines. */
#include "cache/cache.h"

#include <stdlib.h>

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Reads per word of hit_bits. */
#define BLOCK 64

/* Maximum number of ways for which moving the whole row without a branch is faster; see above. */
#define BRANCH_FREE_WAYS 4

/* Moves the line to the front of the row. Returns whether it was in the row. */
static FTH_INLINE bool move_to_front_branch_free(uint64_t *row, uint32_t ways, uint64_t line)
{
    uint64_t old[BRANCH_FREE_WAYS];
    UNROLL for (uint32_t way = 0; way < ways; way++) old[way] = row[way];
    uint64_t carry = line, stays = 0; /* `stays`: all ones after the old position of the line */
    UNROLL for (uint32_t way = 0; way < ways; way++)
    {
        row[way] = carry ^ ((carry ^ old[way]) & stays);
        stays |= -(uint64_t)(old[way] == line);
        carry = old[way];
    }
    return stays & 1;
}

static FTH_INLINE bool move_to_front(uint64_t *row, uint32_t ways, uint64_t line)
{
    uint64_t carry = line;
    UNROLL for (uint32_t way = 0; way < ways; way++)
    {
        uint64_t old = row[way];
        row[way] = carry;
        if (old == line)
            return true;
        carry = old;
    }
    return false;
}

/* Reads all lines and returns the number of hits. `ways` is the number of ways of every set, or 0
 * if they differ. It is a constant in each inlined copy, so that the compiler unrolls the rows. */
static FTH_INLINE uint64_t read_stream(const struct fth_cache *cache, uint64_t *rows,
                                       const uint64_t *lines, size_t count, uint64_t *hit_bits,
                                       uint32_t ways)
{
    const uint32_t *first = cache->first;
    uint64_t hits = 0;
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t size = count - done < BLOCK ? count - done : BLOCK;
        uint32_t sets[BLOCK];
        fth_index_sets(&cache->index, lines + done, size, sets);
        uint64_t word = 0;
        for (size_t i = 0; i < size; i++) {
            uint64_t line = lines[done + i];
            bool hit;
            if (ways == 0)
                hit =
                    move_to_front(rows + first[sets[i]], first[sets[i] + 1] - first[sets[i]], line);
            else if (ways <= BRANCH_FREE_WAYS)
                hit = move_to_front_branch_free(rows + (size_t)sets[i] * ways, ways, line);
            else
                hit = move_to_front(rows + (size_t)sets[i] * ways, ways, line);
            word |= (uint64_t)hit << i;
        }
        hits += (uint64_t)__builtin_popcountll(word);
        if (hit_bits)
            hit_bits[done / BLOCK] = word;
    }
    return hits;
}

/* Rows can represent the cache if the recency of the lines is its only state: with LRU, narrow
 * sets, and only complete and clean lines. */
static bool can_use_rows(const struct fth_cache *cache)
{
    if (cache->policy != &fth_policy_lru || cache->max_ways > FTH_NARROW_WAYS)
        return false;
    for (uint32_t slot = 0; slot < cache->slots; slot++)
        if (cache->lines[slot].number != FTH_NO_LINE &&
            (cache->lines[slot].valid != cache->all_sectors ||
             (cache->dirty && cache->dirty[slot])))
            return false;
    return true;
}

static void load_rows(const struct fth_cache *cache, uint64_t *rows)
{
    for (uint32_t set = 0; set < cache->sets; set++) {
        uint32_t slots[FTH_NARROW_WAYS];
        uint32_t first = cache->first[set], ways = cache->first[set + 1] - first;
        uint64_t *row = rows + first;
        uint32_t count = fth_order_list(cache, set, slots);
        for (uint32_t way = 0; way < ways; way++)
            row[way] = FTH_NO_LINE;
        for (uint32_t i = 0; i < count; i++)
            row[i] = cache->lines[slots[i]].number;
    }
}

static void store_line(struct fth_cache *cache, uint32_t slot, uint64_t line)
{
    cache->lines[slot].number = line;
    cache->lines[slot].valid = cache->all_sectors;
    if (cache->dirty)
        cache->dirty[slot] = 0; /* may be left over from a previous line */
}

static void store_rows(struct fth_cache *cache, const uint64_t *rows)
{
    fth_order_clear(cache);
    cache->held = 0;
    for (uint32_t set = 0; set < cache->sets; set++) {
        uint32_t first = cache->first[set], end = first;
        for (; end < cache->first[set + 1] && rows[end] != FTH_NO_LINE; end++)
            store_line(cache, end, rows[end]);
        for (uint32_t slot = end; slot < cache->first[set + 1]; slot++)
            cache->lines[slot].number = FTH_NO_LINE;
        for (uint32_t slot = end; slot-- > first;) {
            fth_lookup_add(cache, set, slot);
            fth_order_add(cache, set, slot);
        }
        cache->first_free[set] = end;
        cache->held += end - first;
    }
}

static uint64_t read_rows(const struct fth_cache *cache, uint64_t *rows, const uint64_t *lines,
                          size_t count, uint64_t *hit_bits)
{
    switch (cache->uniform_ways) {
    case 1: return read_stream(cache, rows, lines, count, hit_bits, 1);
    case 2: return read_stream(cache, rows, lines, count, hit_bits, 2);
    case 3: return read_stream(cache, rows, lines, count, hit_bits, 3);
    case 4: return read_stream(cache, rows, lines, count, hit_bits, 4);
    case 8: return read_stream(cache, rows, lines, count, hit_bits, 8);
    case 16: return read_stream(cache, rows, lines, count, hit_bits, 16);
    default: return read_stream(cache, rows, lines, count, hit_bits, 0);
    }
}

/* Reads a whole line like fth_cache_access, but without a result. Returns whether it is a hit. */
static bool read_line(struct fth_cache *cache, uint32_t set, uint64_t line)
{
    uint32_t slot = fth_lookup_find(cache, set, line);
    uint64_t missing = cache->all_sectors;
    if (slot == FTH_NO_SLOT) {
        struct fth_cache_result ignored;
        slot = fth_slot_allocate(cache, set, line, &ignored);
    } else {
        /* Byte masks need no check: a sector of which every byte was written is valid. */
        missing &= ~cache->lines[slot].valid;
        if (cache->policy->used)
            cache->policy->used(cache, set, slot);
    }
    cache->lines[slot].valid |= missing;
    return !missing;
}

static uint64_t read_singly(struct fth_cache *cache, const uint64_t *lines, size_t count,
                            uint64_t *hit_bits)
{
    uint64_t hits = 0;
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t size = count - done < BLOCK ? count - done : BLOCK;
        uint32_t sets[BLOCK];
        fth_index_sets(&cache->index, lines + done, size, sets);
        uint64_t word = 0;
        for (size_t i = 0; i < size; i++)
            word |= (uint64_t)read_line(cache, sets[i], lines[done + i]) << i;
        hits += (uint64_t)__builtin_popcountll(word);
        if (hit_bits)
            hit_bits[done / BLOCK] = word;
    }
    return hits;
}

uint64_t fth_cache_read_lines(struct fth_cache *cache, const uint64_t *lines, size_t count,
                              uint64_t *hit_bits)
{
    uint64_t *rows =
        count >= cache->slots && can_use_rows(cache) ? malloc(cache->slots * sizeof *rows) : NULL;
    if (!rows)
        return read_singly(cache, lines, count, hit_bits);
    load_rows(cache, rows);
    uint64_t hits = 0;
    const size_t done = fth_packed_run(cache, rows, lines, count, hit_bits, &hits);
    hits += read_rows(cache, rows, lines + done, count - done,
                      hit_bits ? hit_bits + done / BLOCK : NULL);
    store_rows(cache, rows);
    free(rows);
    return hits;
}
