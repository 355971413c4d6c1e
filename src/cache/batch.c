/* Long streams of whole-line reads.
 *
 * An LRU set of few ways is fastest as a row of line numbers, newest first. A reference puts its
 * line in front and moves every line before its old place back by one; a line that falls off the
 * end is the one evicted, and no list or time stamp is touched:
 *
 *   read c:   a b c d  ->  c a b d      hit
 *   read e:   c a b d  ->  e c a b      miss, d is gone
 *
 * Before the stream the lines of each set are sorted by recency into rows, after it lines and order
 * are written back. From one reference a slot on that is worth it (64 sets of 4 ways: 104 M/s
 * against 76 with as many references as slots, 260 against 76 in the long run). Shorter streams,
 * wider sets and other policies go line by line.
 *
 * Measured on a Neoverse V1, 64 sets, on the mix of bench/: with 4 ways it is fastest to move the
 * whole row without a branch (270 M/s, against 250 when leaving at the old place of the line), with
 * 8 ways to leave (180 against 145). Sets of 5 to 16 ways are
 * faster still eight at a time, where few bits tell their lines apart: packed.c. */
#include "cache/cache.h"

#include <stdlib.h>

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* A word of hit_bits. */
#define BLOCK 64

#define BRANCH_FREE_WAYS 4

static FTH_INLINE bool shift_without_branch(uint64_t *row, uint32_t ways, uint64_t line)
{
    uint64_t old[BRANCH_FREE_WAYS];
    UNROLL for (uint32_t way = 0; way < ways; way++) old[way] = row[way];
    uint64_t carry = line, stays = 0; /* all ones behind the place where the line was */
    UNROLL for (uint32_t way = 0; way < ways; way++)
    {
        row[way] = carry ^ ((carry ^ old[way]) & stays);
        stays |= -(uint64_t)(old[way] == line);
        carry = old[way];
    }
    return stays & 1;
}

static FTH_INLINE bool shift(uint64_t *row, uint32_t ways, uint64_t line)
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

/* `ways` of every set, or 0 where they differ. Inlined with a constant, the rows are unrolled. */
static FTH_INLINE uint64_t run_rows(const struct fth_cache *cache, uint64_t *rows,
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
                hit = shift(rows + first[sets[i]], first[sets[i] + 1] - first[sets[i]], line);
            else if (ways <= BRANCH_FREE_WAYS)
                hit = shift_without_branch(rows + (size_t)sets[i] * ways, ways, line);
            else
                hit = shift(rows + (size_t)sets[i] * ways, ways, line);
            word |= (uint64_t)hit << i;
        }
        hits += (uint64_t)__builtin_popcountll(word);
        if (hit_bits)
            hit_bits[done / BLOCK] = word;
    }
    return hits;
}

/* Rows can stand for the array where the order of the lines is all there is to say of them. */
static bool can_be_rows(const struct fth_cache *cache)
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

static void sort_rows(const struct fth_cache *cache, uint64_t *rows)
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

static void take_slot(struct fth_cache *cache, uint32_t slot, uint64_t line)
{
    cache->lines[slot].number = line;
    cache->lines[slot].valid = cache->all_sectors;
    if (cache->dirty)
        cache->dirty[slot] = 0; /* of a line that was here before */
}

static void take_rows(struct fth_cache *cache, const uint64_t *rows)
{
    fth_order_clear(cache);
    cache->held = 0;
    for (uint32_t set = 0; set < cache->sets; set++) {
        uint32_t first = cache->first[set], end = first;
        for (; end < cache->first[set + 1] && rows[end] != FTH_NO_LINE; end++)
            take_slot(cache, end, rows[end]);
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
    switch (cache->even_ways) {
    case 1: return run_rows(cache, rows, lines, count, hit_bits, 1);
    case 2: return run_rows(cache, rows, lines, count, hit_bits, 2);
    case 3: return run_rows(cache, rows, lines, count, hit_bits, 3);
    case 4: return run_rows(cache, rows, lines, count, hit_bits, 4);
    case 8: return run_rows(cache, rows, lines, count, hit_bits, 8);
    case 16: return run_rows(cache, rows, lines, count, hit_bits, 16);
    default: return run_rows(cache, rows, lines, count, hit_bits, 0);
    }
}

/* A read of a whole line as fth_cache_access does it, without a word on what happened. */
static bool read_line(struct fth_cache *cache, uint32_t set, uint64_t line)
{
    uint32_t slot = fth_lookup_find(cache, set, line);
    uint64_t missing = cache->all_sectors;
    if (slot == FTH_NO_SLOT) {
        struct fth_cache_result ignored;
        slot = fth_slot_fill(cache, set, line, &ignored);
    } else {
        missing &=
            ~cache->lines[slot].valid; /* a sector of which every byte was written is valid */
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
        count >= cache->slots && can_be_rows(cache) ? malloc(cache->slots * sizeof *rows) : NULL;
    if (!rows)
        return read_singly(cache, lines, count, hit_bits);
    sort_rows(cache, rows);
    uint64_t hits = 0;
    const size_t done = fth_packed_run(cache, rows, lines, count, hit_bits, &hits);
    hits += read_rows(cache, rows, lines + done, count - done,
                      hit_bits ? hit_bits + done / BLOCK : NULL);
    take_rows(cache, rows);
    free(rows);
    return hits;
}
