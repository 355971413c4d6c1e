/* From what one more line evicts to how addresses choose a set.
 *
 * A line x beyond those that fit evicts lines y of its own set, so every eviction is a pair x ~ y.
 * Pairs determine a mapping of a known form:
 *
 *   (line >> n) % T     T divides (x >> n) - (y >> n) of every pair: their greatest common divisor
 *   XORs of bits        x ^ y of every pair span the kernel; the hash is what is orthogonal to it
 *   folded, % T         tried one by one, with every constant that the array's address may add
 *   dealt (unequal)     where all sets were seen as a whole, lines repeat after as many as fit
 *
 * The finest of those that explain everything is taken: a pair falls into one set of a mapping that
 * is twice too fine by chance only every second time, while coarser ones explain every pair. Mei
 * and Chu (2017, 4.3) read off such mappings by eye. */
#include "probe/structure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SHIFT = 12,     /* of a modulo */
    MAX_FOLD_BITS = 9,  /* sets that are no power of two, folded: up to 511 */
    MAX_HASH_BITS = 16, /* of a set's number */
};

void fth_mapping_fini(struct fth_mapping *mapping)
{
    free(mapping->table);
    *mapping = (struct fth_mapping){.modulus = 1};
}

void fth_evictions_fini(struct fth_evictions *evictions)
{
    for (size_t i = 0; i < evictions->count; i++)
        free(evictions->items[i].victims);
    free(evictions->items);
    free(evictions->ignored);
    *evictions = (struct fth_evictions){0};
}

static uint64_t fold(uint64_t line, unsigned bits)
{
    uint64_t folded = 0;
    for (; line; line >>= bits)
        folded ^= line & (((uint64_t)1 << bits) - 1);
    return folded;
}

uint64_t fth_mapping_set(const struct fth_mapping *mapping, uint64_t line)
{
    uint64_t set = 0;
    unsigned row = 0;
    switch (mapping->kind) {
    case FTH_MAPPING_MOD: return (line >> mapping->shift) % mapping->modulus;
    case FTH_MAPPING_FOLD: return (fold(line, mapping->shift) ^ mapping->offset) % mapping->modulus;
    case FTH_MAPPING_DEAL: return mapping->table[line % mapping->modulus];
    case FTH_MAPPING_LINEAR: break;
    }
    for (uint64_t left = mapping->hash.pivots; left; left &= left - 1, row++) {
        uint64_t mask = mapping->hash.rows[__builtin_ctzll(left)];
        set |= (uint64_t)(__builtin_popcountll(line & mask) & 1) << row;
    }
    return set;
}

uint64_t fth_mapping_sets(const struct fth_mapping *mapping)
{
    uint64_t sets = 0;
    switch (mapping->kind) {
    case FTH_MAPPING_LINEAR: return (uint64_t)1 << fth_gf2_rank(&mapping->hash);
    case FTH_MAPPING_DEAL:
        for (uint64_t i = 0; i < mapping->modulus; i++)
            sets = mapping->table[i] >= sets ? mapping->table[i] + 1 : sets;
        return sets;
    default: return mapping->modulus;
    }
}

/* ---- does a mapping explain what was seen? ---- */

/* Of each set: its lines among those that fit, those that cannot be judged, and whether another
 * line was seen to find room or not. */
struct tally {
    uint32_t lines, ignored;
    bool has_room, is_full;
};

static struct tally *count_lines(const struct fth_mapping *mapping,
                                 const struct fth_evictions *evictions)
{
    struct tally *tallies = calloc(fth_mapping_sets(mapping) + 1, sizeof *tallies);
    for (uint64_t line = 0; tallies && line < evictions->fits; line++) {
        struct tally *tally = &tallies[fth_mapping_set(mapping, line)];
        tally->lines++;
        tally->ignored += evictions->ignored && evictions->ignored[line];
    }
    return tallies;
}

static bool is_same_set(const struct fth_mapping *mapping, const struct fth_eviction *eviction)
{
    uint64_t set = fth_mapping_set(mapping, eviction->line);
    for (size_t i = 0; i < eviction->count; i++)
        if (fth_mapping_set(mapping, eviction->victims[i]) != set)
            return false;
    return true;
}

static bool fits_tally(const struct fth_mapping *mapping, const struct fth_evictions *evictions,
                       const struct fth_eviction *eviction, struct tally *tallies)
{
    struct tally *tally = &tallies[fth_mapping_set(mapping, eviction->line)];
    if (eviction->count == 0 && tally->ignored == 0)
        tally->has_room = true;
    if (eviction->count)
        tally->is_full = true;
    if (evictions->whole && eviction->count && eviction->count != tally->lines - tally->ignored)
        return false;
    return !(tally->has_room && tally->is_full);
}

bool fth_mapping_explains(const struct fth_mapping *mapping, const struct fth_evictions *evictions,
                          const struct fth_eviction *eviction)
{
    struct tally *tallies = count_lines(mapping, evictions);
    bool explains = tallies && is_same_set(mapping, eviction);
    for (size_t i = 0; explains && i < evictions->count; i++)
        explains = fits_tally(mapping, evictions, &evictions->items[i], tallies);
    explains = explains && fits_tally(mapping, evictions, eviction, tallies);
    free(tallies);
    return explains;
}

/* How many sets there are, or 0 where the mapping does not explain it all. */
static uint64_t judge(const struct fth_mapping *mapping, const struct fth_evictions *evictions)
{
    /* Lines that fit may fill one set first, but with so many sets it would be chance. */
    if (fth_mapping_sets(mapping) > 64 * evictions->fits + 64)
        return 0;
    for (size_t i = 0; i < evictions->count; i++)
        if (!is_same_set(mapping, &evictions->items[i]))
            return 0;
    struct tally *tallies = count_lines(mapping, evictions);
    bool explains = tallies != NULL;
    for (size_t i = 0; explains && i < evictions->count; i++)
        explains = fits_tally(mapping, evictions, &evictions->items[i], tallies);
    free(tallies);
    return explains ? fth_mapping_sets(mapping) : 0;
}

/* ---- candidates ---- */

static struct fth_mapping guess_modulo(const struct fth_evictions *evictions, unsigned shift)
{
    struct fth_mapping mapping = {.kind = FTH_MAPPING_MOD, .shift = shift, .modulus = 0};
    for (size_t i = 0; i < evictions->count; i++)
        for (size_t k = 0; k < evictions->items[i].count; k++) {
            uint64_t x = evictions->items[i].line >> shift;
            uint64_t y = (uint64_t)evictions->items[i].victims[k] >> shift;
            mapping.modulus = fth_common_factor(mapping.modulus, x > y ? x - y : y - x);
        }
    mapping.modulus = mapping.modulus ? mapping.modulus : 1;
    return mapping;
}

static unsigned bits_of(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

static struct fth_mapping guess_linear(const struct fth_evictions *evictions)
{
    struct fth_mapping mapping = {.kind = FTH_MAPPING_LINEAR, .modulus = 1};
    struct fth_gf2 kernel = {0};
    uint64_t highest = 0;
    for (size_t i = 0; i < evictions->count; i++)
        for (size_t k = 0; k < evictions->items[i].count; k++) {
            fth_gf2_add(&kernel, evictions->items[i].line ^ evictions->items[i].victims[k]);
            highest |= evictions->items[i].line;
        }
    mapping.bits = bits_of(highest);
    fth_gf2_orthogonal(&kernel, mapping.bits, &mapping.hash);
    return mapping;
}

/* Sets that are no power of two, folded; more of them than `most`. */
static struct fth_mapping guess_folded(const struct fth_evictions *evictions, uint64_t max)
{
    struct fth_mapping best = {.kind = FTH_MAPPING_MOD, .modulus = 1};
    for (unsigned bits = 2; bits <= MAX_FOLD_BITS; bits++)
        for (uint64_t sets = ((uint64_t)1 << (bits - 1)) + 1; sets < (uint64_t)1 << bits; sets++)
            for (uint64_t offset = 0; offset < (uint64_t)1 << bits; offset++) {
                struct fth_mapping mapping = {
                    .kind = FTH_MAPPING_FOLD, .shift = bits, .modulus = sets, .offset = offset};
                uint64_t count = sets > max ? judge(&mapping, evictions) : 0;
                if (count > max) {
                    max = count;
                    best = mapping;
                }
            }
    return best;
}

static uint32_t root_of(uint32_t *parents, uint32_t line)
{
    while (parents[line] != line)
        line = parents[line] = parents[parents[line]];
    return line;
}

/* Whether the sets of the table, read from place `from` on, are dealt in turn, one a set and round,
 * passing over those that are full. Then `names` has their numbers in the order of dealing. */
static bool is_dealt(const uint32_t *table, uint64_t period, uint64_t from, const uint32_t *ways,
                     uint32_t sets, uint32_t *names)
{
    uint32_t named = 0;
    for (uint32_t set = 0; set < sets; set++)
        names[set] = UINT32_MAX;
    uint32_t *order = calloc(sets, sizeof *order);
    bool dealt = order != NULL;
    for (uint64_t i = 0; dealt && i < sets; i++) { /* the first round has each of them */
        uint32_t set = table[(from + i) % period];
        dealt = names[set] == UINT32_MAX;
        names[set] = named;
        order[named++] = set;
    }
    uint64_t at = 0;
    for (uint32_t round = 0; dealt && at < period; round++)
        for (uint32_t i = 0; dealt && i < sets; i++)
            if (round < ways[order[i]])
                dealt = table[(from + at++) % period] == order[i];
    free(order);
    return dealt;
}

/* Numbers the sets as they are dealt; false where they are not. */
static bool number_dealt(uint32_t *table, uint64_t period, uint32_t sets)
{
    uint32_t *ways = calloc(sets, sizeof *ways), *names = calloc(sets, sizeof *names);
    bool dealt = false;
    for (uint64_t line = 0; ways && line < period; line++)
        ways[table[line]]++;
    for (uint64_t from = 0; ways && names && !dealt && from < period; from++)
        dealt = is_dealt(table, period, from, ways, sets, names);
    for (uint64_t line = 0; dealt && line < period; line++)
        table[line] = names[table[line]];
    free(ways);
    free(names);
    return dealt;
}

/* The lines that fit, dealt to sets, and after as many from the beginning. */
static struct fth_mapping guess_dealt(const struct fth_evictions *evictions)
{
    struct fth_mapping one = {.kind = FTH_MAPPING_MOD, .modulus = 1};
    uint64_t fits = evictions->fits;
    uint32_t *parents = calloc(fits, sizeof *parents);
    bool *seen = calloc(fits, sizeof *seen);
    uint32_t *table = calloc(fits, sizeof *table);
    bool complete = parents && seen && table;
    for (uint32_t line = 0; complete && line < fits; line++)
        parents[line] = line;
    for (size_t i = 0; complete && i < evictions->count; i++) {
        const struct fth_eviction *eviction = &evictions->items[i];
        for (size_t k = 0; k < eviction->count; k++) {
            uint32_t at = (uint32_t)(eviction->line % fits);
            parents[root_of(parents, eviction->victims[k])] = root_of(parents, at);
            seen[eviction->victims[k]] = seen[at] = true;
        }
    }
    uint32_t sets = 0;
    for (uint32_t line = 0; complete && line < fits; line++) {
        complete = seen[line];
        if (root_of(parents, line) == line)
            table[line] = sets++;
    }
    for (uint32_t line = 0; complete && line < fits; line++)
        if (root_of(parents, line) != line)
            table[line] = table[root_of(parents, line)];
    free(parents);
    free(seen);
    if (complete && sets > 1 && number_dealt(table, fits, sets))
        return (struct fth_mapping){.kind = FTH_MAPPING_DEAL, .modulus = fits, .table = table};
    free(table);
    return one;
}

/* Keeps the better of two mappings: true where it is the new one. */
static bool consider(const struct fth_evictions *evictions, struct fth_mapping candidate,
                     struct fth_mapping *best, uint64_t *max)
{
    bool possible =
        candidate.kind != FTH_MAPPING_LINEAR || fth_gf2_rank(&candidate.hash) <= MAX_HASH_BITS;
    uint64_t sets = possible ? judge(&candidate, evictions) : 0;
    if (sets <= *max)
        return false;
    *best = candidate;
    *max = sets;
    return true;
}

enum fth_status fth_mapping_fit(const struct fth_evictions *evictions, struct fth_mapping *mapping,
                                struct fth_error *error)
{
    uint64_t max = 0;
    *mapping = (struct fth_mapping){.kind = FTH_MAPPING_MOD, .modulus = 1};
    consider(evictions, guess_modulo(evictions, 0), mapping, &max);
    consider(evictions, guess_linear(evictions), mapping, &max);
    for (unsigned shift = 1; shift <= MAX_SHIFT; shift++)
        consider(evictions, guess_modulo(evictions, shift), mapping, &max);
    consider(evictions, guess_folded(evictions, max), mapping, &max);
    /* Pairs alone would be taken for sets of their own. */
    if (evictions->whole) {
        struct fth_mapping dealt = guess_dealt(evictions);
        if (!consider(evictions, dealt, mapping, &max))
            free(dealt.table);
    }
    if (max == 0)
        consider(evictions, (struct fth_mapping){.modulus = 1}, mapping, &max);
    if (max == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "no mapping of lines to sets explains which lines evict which");
    return FTH_OK;
}

/* ---- names ---- */

/* The folded XOR of that many bits, over the bits that were looked at. */
static struct fth_gf2 folding(unsigned set_bits, unsigned bits)
{
    struct fth_gf2 space = {0};
    for (unsigned row = 0; row < set_bits; row++) {
        uint64_t mask = 0;
        for (unsigned bit = row; bit < bits; bit += set_bits)
            mask |= (uint64_t)1 << bit;
        fth_gf2_add(&space, mask);
    }
    return space;
}

/* "a7^a9, a8^a10": the parities, by bits of the byte address. */
static void write_parities(const struct fth_gf2 *hash, unsigned line_bits, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint64_t left = hash->pivots; left && used < size; left &= left - 1) {
        const char *before = used ? ", " : "";
        for (uint64_t row = hash->rows[__builtin_ctzll(left)]; row && used < size; row &= row - 1) {
            int more = snprintf(text + used, size - used, "%sa%u", before,
                                (unsigned)__builtin_ctzll(row) + line_bits);
            used += more > 0 ? (size_t)more : 0;
            before = "^";
        }
    }
}

static bool is_bits(const struct fth_gf2 *hash)
{
    for (uint64_t left = hash->pivots; left; left &= left - 1) {
        uint64_t row = hash->rows[__builtin_ctzll(left)];
        if (row & (row - 1))
            return false;
    }
    return true;
}

static bool name_linear(const struct fth_mapping *mapping, unsigned line_bits, char *text,
                        size_t size)
{
    unsigned set_bits = fth_gf2_rank(&mapping->hash);
    struct fth_gf2 folded = folding(set_bits, mapping->bits);
    if (fth_gf2_equal(&mapping->hash, &folded)) {
        snprintf(text, size, "xor");
        return true;
    }
    if (!is_bits(&mapping->hash)) {
        write_parities(&mapping->hash, line_bits, text, size);
        return false;
    }
    size_t used = (size_t)snprintf(text, size, "bits:[");
    for (uint64_t left = mapping->hash.pivots; left && used < size; left &= left - 1)
        used += (size_t)snprintf(text + used, size - used, "%u%s",
                                 (unsigned)__builtin_ctzll(left) + line_bits,
                                 left & (left - 1) ? "," : "]");
    return used < size;
}

bool fth_mapping_name(const struct fth_mapping *mapping, uint64_t line_bytes, bool equal_sets,
                      char *text, size_t size)
{
    switch (mapping->kind) {
    case FTH_MAPPING_FOLD: snprintf(text, size, "xor"); return true;
    case FTH_MAPPING_DEAL: snprintf(text, size, "mod"); return true;
    case FTH_MAPPING_LINEAR: return name_linear(mapping, bits_of(line_bytes) - 1, text, size);
    case FTH_MAPPING_MOD: break;
    }
    if (equal_sets) {
        if (mapping->shift)
            snprintf(text, size, "shift:%u", mapping->shift);
        else
            snprintf(text, size, "mod");
        return true;
    }
    /* With sets of different sizes `mod` means to deal; bits choose whatever the size. */
    unsigned set_bits = bits_of(mapping->modulus) - 1, line_bits = bits_of(line_bytes) - 1;
    if ((mapping->modulus & (mapping->modulus - 1)) == 0) {
        struct fth_mapping same = {.kind = FTH_MAPPING_LINEAR, .bits = 63};
        for (unsigned i = 0; i < set_bits; i++)
            fth_gf2_add(&same.hash, (uint64_t)1 << (mapping->shift + i));
        return name_linear(&same, line_bits, text, size);
    }
    snprintf(text, size, "modulo %" PRIu64 ", whatever the size of a set", mapping->modulus);
    return false;
}

/* ---- chains that stay in one set ---- */

static bool stays(const struct fth_mapping *mapping, uint64_t line, uint64_t stride, uint64_t count,
                  uint64_t limit)
{
    if (stride == 0 || line + (count - 1) * stride >= limit)
        return false;
    /* What is folded to the same stays together wherever the array lies. */
    struct fth_mapping whole = *mapping;
    if (mapping->kind == FTH_MAPPING_FOLD)
        whole.modulus = (uint64_t)1 << mapping->shift;
    uint64_t set = fth_mapping_set(&whole, line);
    for (uint64_t i = 1; i < count; i++)
        if (fth_mapping_set(&whole, line + i * stride) != set)
            return false;
    return true;
}

uint64_t fth_mapping_stride(const struct fth_mapping *mapping, uint64_t line, uint64_t count,
                            uint64_t limit, unsigned skip)
{
    if (mapping->kind == FTH_MAPPING_LINEAR && mapping->bits < 63 &&
        limit > (uint64_t)1 << mapping->bits)
        limit = (uint64_t)1 << mapping->bits; /* what lies above is not known */
    if (mapping->kind == FTH_MAPPING_MOD || mapping->kind == FTH_MAPPING_DEAL) {
        uint64_t round = mapping->modulus << mapping->shift;
        for (uint64_t times = 1; times * round < limit; times++)
            if (stays(mapping, line, times * round, count, limit) && skip-- == 0)
                return times * round;
        return 0;
    }
    /* Sums of one to three powers of two: what is XORed with itself drops out. */
    unsigned bits = bits_of(limit);
    for (unsigned i = 0; i < bits; i++)
        for (unsigned j = 0; j <= i; j++)
            for (unsigned k = 0; k <= j; k++) {
                uint64_t stride = (uint64_t)1 << i;
                stride |= j < i ? (uint64_t)1 << j : 0;
                stride |= k < j ? (uint64_t)1 << k : 0;
                if (j == i && k < j)
                    continue; /* the same as two of them */
                if (stays(mapping, line, stride, count, limit) && skip-- == 0)
                    return stride;
            }
    return 0;
}
