/* Index functions: map a line number to a set.
 *
 *   mod        line % sets
 *   shift:N    (line >> N) % sets: SMODn of RDGC (Kiani and Rajabzadeh, Table 2). The index bits
 *              start n bits higher
 *   prime      line % p, where p is the largest prime that is not greater than the number of sets.
 *              Sets p and above stay empty. PRI of RDGC, the prime modulo of Kharbutli et al.
 *              ("Using Prime Numbers for Cache Indexing to Eliminate Conflict Misses", HPCA 2004)
 *   xor        the XOR of all groups of log2(sets) bits of the line number. If the number of sets
 *              is not a power of two, the groups have ceil(log2(sets)) bits and the result is taken
 *              modulo the number of sets; the first few sets then get twice their share. The RDGC
 *              paper names XOR but does not define it. Here, every bit affects the result
 *   bits:[...] the given bits of the byte address, lowest first, are the set number (Mei and Chu,
 *              Fig. 7)
 *
 * A cache can have masks instead of an index function: each bit of the set number is the parity of
 * the address bits under a mask. The L1 of an H200 has such a hash.
 *
 * Sets of different sizes: Mei and Chu (Section 4.4) find a TLB with one set of 17 ways and six
 * sets of 8 ways. It holds any 65 consecutive pages. With each additional page, one more set
 * overflows, the large set first. With line % 7, it would overflow at 57 pages. For unequal sets,
 * `mod` and `shift` therefore distribute lines to the sets round-robin and skip the sets that are
 * full. The sequence restarts after as many lines as there are ways in total:
 *
 *   line      0 1 2 3 4 5 6   7 … 55   56 … 64   65 66
 *   set       0 1 2 3 4 5 6   0 … 6     0 … 0     0  1      17, 8, 8, 8, 8, 8, 8 ways
 *
 * For equal sets, this is line % sets. The other functions do not take the size of a set into
 * account. */
#include "cache/cache.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

/* Returns ceil(log2(count)). */
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

/* Returns the largest prime up to `limit`, or 1 if there is none: all lines map to set 0. */
static uint64_t prime_up_to(uint64_t limit)
{
    while (limit > 1 && !is_prime(limit))
        limit--;
    return limit;
}

static void set_modulus(struct fth_index *index, uint64_t modulus)
{
    index->modulus = modulus;
    index->inverse = modulus ? UINT64_MAX / modulus : 0; /* callers pass at least 1 */
}

/* Fills the table of the round-robin distribution, which has one element per way of the cache. */
static enum fth_status init_round_robin(struct fth_index *index, const uint32_t *first,
                                        uint32_t sets, struct fth_arena *arena,
                                        struct fth_error *error)
{
    uint32_t slots = first[sets];
    uint32_t *round_robin = fth_arena_array(arena, slots, sizeof *round_robin);
    if (!round_robin)
        return fth_no_memory(error, "build a cache", "index");
    uint32_t filled = 0;
    for (uint32_t round = 0; filled < slots; round++)
        for (uint32_t set = 0; set < sets; set++)
            if (round < first[set + 1] - first[set])
                round_robin[filled++] = set;
    index->kind = FTH_INDEX_ROUND_ROBIN;
    set_modulus(index, slots);
    index->round_robin = round_robin;
    return FTH_OK;
}

static enum fth_status init_bits(struct fth_index *index, unsigned count, unsigned line_shift,
                                 uint32_t sets, const char *text, struct fth_error *error)
{
    if (count >= 32 || (uint32_t)1 << count != sets)
        return fth_fail(error, FTH_INVALID, "build a cache", "index",
                        "the %u bits of %s do not match %u sets", count, text, sets);
    for (unsigned i = 0; i < count; i++) {
        if (index->bits[i] < line_shift)
            return fth_fail(error, FTH_INVALID, "build a cache", "index",
                            "bit %u of %s is inside a line of %llu bytes", index->bits[i], text,
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
                        "'%s' is not one of mod, shift:N, xor, prime, bits:[N,N,…]", text);
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
            return init_round_robin(index, first, sets, arena, error);
    }
    if ((index->modulus & (index->modulus - 1)) == 0)
        index->kind = FTH_INDEX_MASK;
    return FTH_OK;
}

bool fth_hash_masks_read(struct fth_hash_masks *masks, const struct fth_attribute *set_masks,
                         const struct fth_attribute *row_masks)
{
    *masks = (struct fth_hash_masks){.set_count = set_masks ? set_masks->count : 0,
                                     .row_count = row_masks ? row_masks->count : 0};
    if (masks->set_count > FTH_MAX_HASH_MASKS || masks->row_count > FTH_MAX_HASH_MASKS) {
        *masks = (struct fth_hash_masks){.set_count = 0};
        return false;
    }
    for (size_t i = 0; i < masks->set_count; i++)
        masks->set[i] = (uint64_t)set_masks->numbers[i];
    for (size_t i = 0; i < masks->row_count; i++)
        masks->row[i] = (uint64_t)row_masks->numbers[i];
    return masks->set_count + masks->row_count > 0;
}

bool fth_hash_masks_fit(const struct fth_hash_masks *masks, uint64_t line_bytes, uint64_t sets,
                        uint64_t rows)
{
    uint64_t used = 0;
    for (size_t i = 0; i < masks->set_count; i++)
        used |= masks->set[i];
    for (size_t i = 0; i < masks->row_count; i++)
        used |= masks->row[i];
    return (used & (line_bytes - 1)) == 0 && (uint64_t)1 << masks->set_count == sets &&
           (rows == 0 || (uint64_t)1 << masks->row_count == rows);
}

bool fth_hash_masks_copy(struct fth_arena *arena, const struct fth_attribute *set_masks,
                         const struct fth_attribute *row_masks, uint64_t line_bytes, uint64_t sets,
                         uint64_t rows, const struct fth_hash_masks **masks)
{
    struct fth_hash_masks found;
    *masks = NULL;
    if (!fth_hash_masks_read(&found, set_masks, row_masks) ||
        !fth_hash_masks_fit(&found, line_bytes, sets, rows))
        return true;
    struct fth_hash_masks *copy = fth_arena_alloc(arena, sizeof *copy);
    if (copy)
        *copy = found;
    *masks = copy;
    return copy != NULL;
}

void fth_parities_fill(struct fth_parities *parities, const struct fth_hash_masks *masks,
                       unsigned line_shift)
{
    *parities = (struct fth_parities){.bytes = 4};
    for (unsigned i = 0; i < sizeof(uint64_t); i++)
        for (unsigned value = 0; value < 256; value++) {
            const uint64_t line = (uint64_t)value << 8 * i;
            uint32_t *found = &parities->of_byte[i][value];
            for (size_t bit = 0; bit < masks->row_count; bit++)
                *found |= (uint32_t)__builtin_parityll(line & masks->row[bit] >> line_shift) << bit;
            for (size_t bit = 0; bit < masks->set_count; bit++)
                *found |= (uint32_t)__builtin_parityll(line & masks->set[bit] >> line_shift)
                          << (bit + 16);
            if (*found && parities->bytes <= i)
                parities->bytes = i + 1;
        }
}

bool fth_index_init_masks(struct fth_index *index, const struct fth_hash_masks *masks,
                          unsigned line_shift, struct fth_arena *arena)
{
    struct fth_parities *parities = fth_arena_alloc(arena, sizeof *parities);
    if (!parities)
        return false;
    fth_parities_fill(parities, masks, line_shift);
    *index = (struct fth_index){.kind = FTH_INDEX_PARITY, .parities = parities};
    return true;
}

/* Combines the selected bits of the line number to a set number. */
static inline uint32_t gather(const struct fth_index *index, uint64_t line)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < index->bit_count; i++)
        set |= (line >> index->bits[i] & 1) << i;
    return (uint32_t)set;
}

uint32_t fth_index_other(const struct fth_index *index, uint64_t line)
{
    return index->kind == FTH_INDEX_ROUND_ROBIN ? index->round_robin[fth_index_mod(index, line)]
                                                : gather(index, line);
}

void fth_index_sets(const struct fth_index *index, const uint64_t *lines, size_t count,
                    uint32_t *sets)
{
    /* Nothing can alias a local copy, so the compiler keeps it in registers during the loops. */
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
    case FTH_INDEX_PARITY:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_parities_of(copy.parities, lines[i]) >> 16;
        break;
    case FTH_INDEX_ROUND_ROBIN:
    case FTH_INDEX_BITS:
        for (size_t i = 0; i < count; i++)
            sets[i] = fth_index_set(index, lines[i]);
        break;
    }
}
