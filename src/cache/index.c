/* Index functions: which set a line falls into.
 *
 *   mod        line % sets
 *   shift:N    (line >> N) % sets: RDGC's SMODn (Kiani and Rajabzadeh, Table 2), whose index bits
 *              begin n bits higher
 *   prime      line % p, with p the largest prime that is not above the number of sets, so that
 *              some sets may stay empty: RDGC's PRI, the prime modulo of Kharbutli et al. ("Using
 *              Prime Numbers for Cache Indexing to Eliminate Conflict Misses", HPCA 2004)
 *   xor        the line number in groups of log2(sets) bits, all of them XORed. Where the number
 *              of sets is no power of two the groups have ceil(log2(sets)) bits and the result is
 *              taken modulo the sets, so that the first few sets get twice their share. The paper
 *              names XOR and does not define it; folding all bits leaves none without a say
 *   bits:[...] bits of the byte address, lowest first, are the set number (Mei and Chu, Fig. 7)
 *
 * Sets of different sizes. Mei and Chu (Section 4.4) find a TLB of one set of 17 ways and six of 8
 * that holds any 65 pages in a row and, one page more at a time, overflows one set after the
 * other, the large one first. Under line % 7 it would overflow at 57 pages. So with unequal sets
 * `mod` and `shift` deal lines out like cards, one a set and round, passing over the sets that are
 * full, and begin again after as many lines as there are ways:
 *
 *   line      0 1 2 3 4 5 6   7 … 55   56 … 64   65 66
 *   set       0 1 2 3 4 5 6   0 … 6     0 … 0     0  1      17, 8, 8, 8, 8, 8, 8 ways
 *
 * With equal sets that is line % sets. The other functions choose a set whatever its size. */
#include "cache/cache.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

/* How many bits it takes to count to `count`: ceil(log2). */
static unsigned bits_for(uint64_t count)
{
    unsigned bits = 0;
    while (bits < 64 && (uint64_t)1 << bits < count)
        bits++;
    return bits;
}

static bool is_prime(uint64_t number)
{
    for (uint64_t i = 2; i * i <= number; i++)
        if (number % i == 0)
            return false;
    return number >= 2;
}

/* 1 where there is no prime: all lines fall into the one set. */
static uint64_t prime_up_to(uint64_t limit)
{
    while (limit > 1 && !is_prime(limit))
        limit--;
    return limit;
}

static void set_modulus(struct fth_index *index, uint64_t modulus)
{
    index->modulus = modulus;
    index->inverse = modulus ? UINT64_MAX / modulus : 0; /* there is a set at least */
}

static enum fth_status init_deal(struct fth_index *index, const uint32_t *first, uint32_t sets,
                                 struct fth_arena *arena, struct fth_error *error)
{
    uint32_t slots = first[sets];
    uint32_t *deal = fth_arena_array(arena, slots, sizeof *deal);
    if (!deal)
        return fth_fail(error, FTH_NO_MEMORY, "build a cache", "index", "out of memory for %u ways",
                        slots);
    uint32_t dealt = 0;
    for (uint32_t round = 0; dealt < slots; round++)
        for (uint32_t set = 0; set < sets; set++)
            if (round < first[set + 1] - first[set])
                deal[dealt++] = set;
    index->kind = FTH_INDEX_DEAL;
    set_modulus(index, slots);
    index->deal = deal;
    return FTH_OK;
}

static enum fth_status init_bits(struct fth_index *index, unsigned count, unsigned line_shift,
                                 uint32_t sets, const char *text, struct fth_error *error)
{
    if (count >= 32 || (uint32_t)1 << count != sets)
        return fth_fail(error, FTH_INVALID, "build a cache", "index",
                        "the %u bits of %s do not select among %u sets", count, text, sets);
    for (unsigned i = 0; i < count; i++) {
        if (index->bits[i] < line_shift)
            return fth_fail(error, FTH_INVALID, "build a cache", "index",
                            "bit %u of %s lies within a line of %llu bytes", index->bits[i], text,
                            1ull << line_shift);
        index->bits[i] -= line_shift;
    }
    index->kind = FTH_INDEX_BITS;
    index->bit_count = count;
    return FTH_OK;
}

static bool sets_are_equal(const uint32_t *first, uint32_t sets)
{
    for (uint32_t set = 0; set < sets; set++)
        if (first[set + 1] - first[set] != first[1])
            return false;
    return true;
}

enum fth_status fth_index_init(struct fth_index *index, const char *text, unsigned line_shift,
                               const uint32_t *first, uint32_t sets, struct fth_arena *arena,
                               struct fth_error *error)
{
    *index = (struct fth_index){.kind = FTH_INDEX_MOD};
    set_modulus(index, sets);
    int bits = fth_index_parse(text, index->bits);
    if (bits < 0)
        return fth_fail(error, FTH_INVALID, "build a cache", "index",
                        "'%s' is none of mod, shift:N, xor, prime, bits:[N,N,…]", text);
    if (bits > 0)
        return init_bits(index, (unsigned)bits, line_shift, sets, text, error);
    if (strcmp(text, "xor") == 0) {
        index->kind = FTH_INDEX_FOLD;
        index->shift = bits_for(sets);
        return FTH_OK;
    }
    if (strcmp(text, "prime") == 0) {
        set_modulus(index, prime_up_to(sets));
    } else {
        if (strcmp(text, "mod") != 0)
            index->shift = (unsigned)strtoul(text + strlen("shift:"), NULL, 10);
        if (!sets_are_equal(first, sets))
            return init_deal(index, first, sets, arena, error);
    }
    if ((index->modulus & (index->modulus - 1)) == 0)
        index->kind = FTH_INDEX_MASK;
    return FTH_OK;
}

static inline uint32_t gather(const struct fth_index *index, uint64_t line)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < index->bit_count; i++)
        set |= (line >> index->bits[i] & 1) << i;
    return (uint32_t)set;
}

uint32_t fth_index_other(const struct fth_index *index, uint64_t line)
{
    return index->kind == FTH_INDEX_DEAL ? index->deal[fth_index_mod(index, line)]
                                         : gather(index, line);
}

void fth_index_sets(const struct fth_index *index, const uint64_t *lines, size_t count,
                    uint32_t *sets)
{
    /* A copy that nothing aliases stays in registers over the loop. */
    const struct fth_index copy = *index;
    switch (copy.kind) {
    case FTH_INDEX_MASK:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_index_mask(&copy, lines[i]);
        break;
    case FTH_INDEX_MOD:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_index_mod(&copy, lines[i]);
        break;
    case FTH_INDEX_FOLD:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_index_fold(&copy, lines[i]);
        break;
    case FTH_INDEX_DEAL:
    case FTH_INDEX_BITS:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_index_set(index, lines[i]);
        break;
    }
}
