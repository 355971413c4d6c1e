/* Finds the index function of a cache from the lines that further lines evict.
 *
 * The lines [0, C) fit into the cache together (C is `fits` in the code). If they fill the set of a
 * further line x, then x evicts lines y of this set. So every eviction gives pairs (x, y) of lines
 * that share a set. The pairs determine a mapping of each known form:
 *
 *   (line >> n) % T     T divides (x >> n) - (y >> n) for every pair: T is the greatest common
 *                       divisor
 *   XORs of bits        the x ^ y of all pairs span the kernel of the hash (over GF(2)); its masks
 *                       are the vectors orthogonal to the kernel
 *   (fold ^ c) % T      fold is the XOR of all groups of bits of the line. Each group has as many
 *                       bits as T - 1 needs. The line is an index in an array; c is the fold of
 *                       the array's own address. All T and all c are tried
 *   round robin         sets with different numbers of ways are filled in rotation, skipping full
 *                       ones, and the sequence repeats after C lines; found only if each
 *                       eviction removes all lines of its set, and if every line of [0, C)
 *                       occurs as a y or as x % C
 *
 * The probe takes the mapping with the most sets among those that explain all evictions. A coarser
 * mapping, which merges sets of the true one, also explains every pair. A mapping with twice the
 * true number of sets explains a pair only by chance, with probability 1/2. Mei and Chu (2017,
 * Section 4.3) derive an index function by hand. */
#include "probe/structure/probe_structure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find sets";

enum {
    /* Limits of the search, which limit its time. Chosen, not derived. */
    MAX_SHIFT = 12,     /* n in (line >> n) % T */
    MAX_FOLD_BITS = 9,  /* bits per group of a folded mapping: up to 511 sets */
    MAX_HASH_BITS = 16, /* bits of the set index of a linear hash */
    /* `fits` is limited by the first set that overflows. The other sets can still be empty then, so
     * a mapping may have more sets than `fits`. More than MAX_SETS_PER_LINE times as many, and as
     * many more, are considered implausible. Chosen, not derived. */
    MAX_SETS_PER_LINE = 64,
    /* Bits of a line index. A mapping whose `bits` field is ALL_BITS is known for all lines, not
     * only for the low bits that were tested. 63 rather than 64, because 1 << bits must not
     * overflow. */
    ALL_BITS = 63,
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

/* Returns the XOR of all groups of `bits` bits of the line index. */
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
    case FTH_MAPPING_ROUND_ROBIN: return mapping->table[line % mapping->modulus];
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
    case FTH_MAPPING_ROUND_ROBIN:
        for (uint64_t i = 0; i < mapping->modulus; i++)
            sets = mapping->table[i] >= sets ? mapping->table[i] + 1 : sets;
        return sets;
    default: return mapping->modulus;
    }
}

/* ---- whether a mapping explains the evictions ---- */

/* The state of one set after the lines that fit were loaded. */
struct set_state {
    uint32_t lines;   /* lines of the set among those that fit */
    uint32_t ignored; /* lines among them that miss even if nothing evicts them */
    bool has_space;   /* a further line of the set evicted no line */
    bool is_full;     /* a further line of the set evicted at least one line */
};

/* Returns one state per set, with `lines` and `ignored` set, or NULL when out of memory. The caller
 * frees it. */
static struct set_state *count_lines(const struct fth_mapping *mapping,
                                     const struct fth_evictions *evictions)
{
    struct set_state *states = calloc(fth_mapping_sets(mapping) + 1, sizeof *states);
    for (uint64_t line = 0; states && line < evictions->fits; line++) {
        struct set_state *set_state = &states[fth_mapping_set(mapping, line)];
        set_state->lines++;
        set_state->ignored += evictions->ignored && evictions->ignored[line];
    }
    return states;
}

/* Whether the mapping puts all victims into the set of the line that evicted them. */
static bool is_same_set(const struct fth_mapping *mapping, const struct fth_eviction *eviction)
{
    uint64_t set = fth_mapping_set(mapping, eviction->line);
    for (size_t i = 0; i < eviction->count; i++)
        if (fth_mapping_set(mapping, eviction->victims[i]) != set)
            return false;
    return true;
}

/* Updates the state of the set with the eviction. An eviction without victims shows that the set
 * has space, unless the set contains ignored lines: their eviction would not be noticed. Returns
 * false if the evictions so far show that the set is full and also that it has space. Also returns
 * false if an eviction should remove all lines of the set (`whole_sets`) but removed another number
 * of lines. */
static bool is_consistent(const struct fth_mapping *mapping, const struct fth_evictions *evictions,
                          const struct fth_eviction *eviction, struct set_state *states)
{
    struct set_state *set_state = &states[fth_mapping_set(mapping, eviction->line)];
    if (eviction->count == 0 && set_state->ignored == 0)
        set_state->has_space = true;
    if (eviction->count)
        set_state->is_full = true;
    if (evictions->whole_sets && eviction->count &&
        eviction->count != set_state->lines - set_state->ignored)
        return false;
    return !(set_state->has_space && set_state->is_full);
}

enum fth_status fth_mapping_explains(const struct fth_mapping *mapping,
                                     const struct fth_evictions *evictions,
                                     const struct fth_eviction *eviction, bool *explains,
                                     struct fth_error *error)
{
    struct set_state *states = count_lines(mapping, evictions);
    if (!states)
        return fth_no_memory(error, operation, NULL);
    *explains = is_same_set(mapping, eviction);
    for (size_t i = 0; *explains && i < evictions->count; i++)
        *explains = is_consistent(mapping, evictions, &evictions->items[i], states);
    *explains = *explains && is_consistent(mapping, evictions, eviction, states);
    free(states);
    return FTH_OK;
}

/* The search for the mapping with the most sets that explains all evictions. */
struct fit {
    const struct fth_evictions *evictions;
    struct fth_mapping best;
    uint64_t best_sets; /* 0: no mapping explains the evictions so far */
    bool no_memory;     /* an allocation has failed; the best mapping may not have been tried */
};

/* Returns the number of sets of the mapping, or 0 if it does not explain all evictions. */
static uint64_t count_explained_sets(const struct fth_mapping *mapping, struct fit *fit)
{
    const struct fth_evictions *evictions = fit->evictions;
    if (fth_mapping_sets(mapping) > MAX_SETS_PER_LINE * (evictions->fits + 1))
        return 0;
    for (size_t i = 0; i < evictions->count; i++)
        if (!is_same_set(mapping, &evictions->items[i]))
            return 0;
    struct set_state *states = count_lines(mapping, evictions);
    bool explains = states != NULL;
    fit->no_memory = fit->no_memory || !states;
    for (size_t i = 0; explains && i < evictions->count; i++)
        explains = is_consistent(mapping, evictions, &evictions->items[i], states);
    free(states);
    return explains ? fth_mapping_sets(mapping) : 0;
}

/* ---- candidates ---- */

/* Returns the modulo mapping with the most sets that puts the two lines of each pair into the same
 * set. */
static struct fth_mapping find_modulo(const struct fth_evictions *evictions, unsigned shift)
{
    struct fth_mapping mapping = {.kind = FTH_MAPPING_MOD, .shift = shift, .modulus = 0};
    for (size_t i = 0; i < evictions->count; i++)
        for (size_t k = 0; k < evictions->items[i].count; k++) {
            uint64_t x = evictions->items[i].line >> shift;
            uint64_t y = (uint64_t)evictions->items[i].victims[k] >> shift;
            mapping.modulus = fth_gcd(mapping.modulus, x > y ? x - y : y - x);
        }
    mapping.modulus = mapping.modulus ? mapping.modulus : 1;
    return mapping;
}

/* Returns the number of bits of the number without leading zeros. */
static unsigned bit_length(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Returns the linear hash with the most sets that puts the two lines of each pair into the same
 * set. */
static struct fth_mapping find_linear(const struct fth_evictions *evictions)
{
    struct fth_mapping mapping = {.kind = FTH_MAPPING_LINEAR, .modulus = 1};
    struct fth_gf2 kernel = {0};
    uint64_t all_bits = 0;
    for (size_t i = 0; i < evictions->count; i++)
        for (size_t k = 0; k < evictions->items[i].count; k++) {
            fth_gf2_add(&kernel, evictions->items[i].line ^ evictions->items[i].victims[k]);
            all_bits |= evictions->items[i].line;
        }
    mapping.bits = bit_length(all_bits);
    fth_gf2_orthogonal(&kernel, mapping.bits, &mapping.hash);
    return mapping;
}

/* Returns the folded mapping with the most sets that explains all evictions, if it has more sets
 * than the best mapping so far; otherwise a mapping to one set. Powers of two are left to
 * find_linear. */
static struct fth_mapping find_folded(struct fit *fit)
{
    struct fth_mapping best = {.kind = FTH_MAPPING_MOD, .modulus = 1};
    uint64_t best_sets = fit->best_sets;
    for (unsigned bits = 2; bits <= MAX_FOLD_BITS; bits++)
        for (uint64_t sets = ((uint64_t)1 << (bits - 1)) + 1; sets < (uint64_t)1 << bits; sets++)
            for (uint64_t offset = 0; offset < (uint64_t)1 << bits; offset++) {
                struct fth_mapping mapping = {
                    .kind = FTH_MAPPING_FOLD, .shift = bits, .modulus = sets, .offset = offset};
                uint64_t count = sets > best_sets ? count_explained_sets(&mapping, fit) : 0;
                if (count > best_sets) {
                    best_sets = count;
                    best = mapping;
                }
            }
    return best;
}

/* Returns the line that represents the group of a line (union-find). */
static uint32_t root_of(uint32_t *parents, uint32_t line)
{
    while (parents[line] != line)
        line = parents[line] = parents[parents[line]];
    return line;
}

/* Whether the table, read cyclically from index `from` on, fills the sets in rotation, one line per
 * set and round, skipping sets that are full. If so, numbers[set] is the position of the set in the
 * rotation. `order` has space for one number per set. */
static bool is_round_robin(const uint32_t *table, uint64_t period, uint64_t from,
                           const uint32_t *ways, uint32_t sets, uint32_t *numbers, uint32_t *order)
{
    uint32_t numbered = 0;
    bool round_robin = true;
    for (uint32_t set = 0; set < sets; set++)
        numbers[set] = UINT32_MAX;
    for (uint64_t i = 0; round_robin && i < sets; i++) { /* the first round visits each set once */
        uint32_t set = table[(from + i) % period];
        round_robin = numbers[set] == UINT32_MAX;
        numbers[set] = numbered;
        order[numbered++] = set;
    }
    uint64_t at = 0;
    for (uint32_t round = 0; round_robin && at < period; round++)
        for (uint32_t i = 0; round_robin && i < sets; i++)
            if (round < ways[order[i]])
                round_robin = table[(from + at++) % period] == order[i];
    return round_robin;
}

/* Renumbers the sets of the table in the order of rotation. Returns false if it is no rotation. */
static bool number_round_robin(uint32_t *table, uint64_t period, uint32_t sets, bool *no_memory)
{
    uint32_t *ways = calloc(sets, sizeof *ways), *numbers = calloc(sets, sizeof *numbers);
    uint32_t *order = calloc(sets, sizeof *order);
    bool round_robin = false;
    const bool allocated = ways && numbers && order;
    *no_memory = *no_memory || !allocated;
    for (uint64_t line = 0; allocated && line < period; line++)
        ways[table[line]]++;
    for (uint64_t from = 0; allocated && !round_robin && from < period; from++)
        round_robin = is_round_robin(table, period, from, ways, sets, numbers, order);
    for (uint64_t line = 0; round_robin && line < period; line++)
        table[line] = numbers[table[line]];
    free(ways);
    free(numbers);
    free(order);
    return round_robin;
}

/* Returns the round-robin mapping that repeats after `fits` lines, or a mapping to one set if there
 * is none. It groups the lines [0, fits) into sets: line x has the same set as line x % `fits`, so
 * that x % `fits` and the victims of x are in one group. */
static struct fth_mapping find_round_robin(struct fit *fit)
{
    const struct fth_evictions *evictions = fit->evictions;
    struct fth_mapping one = {.kind = FTH_MAPPING_MOD, .modulus = 1};
    uint64_t fits = evictions->fits;
    uint32_t *parents = calloc(fits, sizeof *parents);
    bool *seen = calloc(fits, sizeof *seen);
    uint32_t *table = calloc(fits, sizeof *table);
    bool complete = parents && seen && table;
    fit->no_memory = fit->no_memory || !complete;
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
    if (complete && sets > 1 && number_round_robin(table, fits, sets, &fit->no_memory))
        return (struct fth_mapping){
            .kind = FTH_MAPPING_ROUND_ROBIN, .modulus = fits, .table = table};
    free(table);
    return one;
}

/* Replaces the best mapping by the candidate if that explains all evictions and has more sets.
 * Returns whether it was replaced. */
static bool consider(struct fit *fit, struct fth_mapping candidate)
{
    bool possible =
        candidate.kind != FTH_MAPPING_LINEAR || fth_gf2_rank(&candidate.hash) <= MAX_HASH_BITS;
    uint64_t sets = possible ? count_explained_sets(&candidate, fit) : 0;
    if (sets <= fit->best_sets)
        return false;
    fit->best = candidate;
    fit->best_sets = sets;
    return true;
}

enum fth_status fth_mapping_fit(const struct fth_evictions *evictions, struct fth_mapping *mapping,
                                struct fth_error *error)
{
    const struct fth_mapping one = {.kind = FTH_MAPPING_MOD, .modulus = 1};
    struct fit fit = {.evictions = evictions, .best = one};
    /* If two candidates have the same number of sets, the earlier one is kept. So `mod` has
     * priority, and a linear hash that selects bits has priority over the equivalent shifted
     * modulo. */
    consider(&fit, find_modulo(evictions, 0));
    consider(&fit, find_linear(evictions));
    for (unsigned shift = 1; shift <= MAX_SHIFT; shift++)
        consider(&fit, find_modulo(evictions, shift));
    consider(&fit, find_folded(&fit));
    /* The groups of find_round_robin() are complete only if each eviction shows all lines of its
     * set. Otherwise one set could appear as several groups. */
    if (evictions->whole_sets) {
        struct fth_mapping round_robin = find_round_robin(&fit);
        if (!consider(&fit, round_robin))
            free(round_robin.table);
    }
    /* If all candidates have more sets and fail, a single set may still explain the evictions. */
    if (fit.best_sets == 0)
        consider(&fit, one);
    *mapping = fit.best;
    if (fit.no_memory) {
        fth_mapping_fini(mapping);
        return fth_no_memory(error, operation, NULL);
    }
    if (fit.best_sets == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "no mapping of lines to sets explains which lines evict each other");
    return FTH_OK;
}

/* ---- names ---- */

/* Returns the masks of a folded XOR with `set_bits` bits per group, over `bits` bits. */
static struct fth_gf2 folded_xor(unsigned set_bits, unsigned bits)
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

/* Writes the masks as parities of bits of the byte address, such as "a7^a9, a8^a10". */
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

/* Whether each mask of the hash has a single bit. */
static bool selects_bits(const struct fth_gf2 *hash)
{
    for (uint64_t left = hash->pivots; left; left &= left - 1) {
        uint64_t row = hash->rows[__builtin_ctzll(left)];
        if (row & (row - 1))
            return false;
    }
    return true;
}

/* fth_mapping_name() for a linear hash: writes the name that a GPU description uses for it and
 * returns true; if there is no such name, writes a readable formula and returns false. `line_bits`
 * is log2 of the line size. */
static bool name_linear(const struct fth_mapping *mapping, unsigned line_bits, char *text,
                        size_t size)
{
    unsigned set_bits = fth_gf2_rank(&mapping->hash);
    struct fth_gf2 folded = folded_xor(set_bits, mapping->bits);
    if (fth_gf2_equal(&mapping->hash, &folded)) {
        snprintf(text, size, "xor");
        return true;
    }
    if (!selects_bits(&mapping->hash)) {
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
    case FTH_MAPPING_ROUND_ROBIN: snprintf(text, size, "mod"); return true; /* see below */
    case FTH_MAPPING_LINEAR: return name_linear(mapping, bit_length(line_bytes) - 1, text, size);
    case FTH_MAPPING_MOD: break;
    }
    if (equal_sets) {
        if (mapping->shift)
            snprintf(text, size, "shift:%u", mapping->shift);
        else
            snprintf(text, size, "mod");
        return true;
    }
    /* In a GPU description, `mod` means round robin if the sets have different numbers of ways. The
     * mapping here, (line >> shift) % modulus, needs another name then. If the modulus is a power
     * of two, that is `bits`: the remainder consists of bits of the line. With ALL_BITS,
     * name_linear() cannot mistake these bits for a folded XOR of few bits. */
    unsigned set_bits = bit_length(mapping->modulus) - 1, line_bits = bit_length(line_bytes) - 1;
    if ((mapping->modulus & (mapping->modulus - 1)) == 0) {
        struct fth_mapping same = {.kind = FTH_MAPPING_LINEAR, .bits = ALL_BITS};
        for (unsigned i = 0; i < set_bits; i++)
            fth_gf2_add(&same.hash, (uint64_t)1 << (mapping->shift + i));
        return name_linear(&same, line_bits, text, size);
    }
    snprintf(text, size, "line modulo %" PRIu64 ", although the sets have different ways",
             mapping->modulus);
    return false;
}

/* ---- chains that stay in one set ---- */

/* Whether `count` lines from `line` on, `stride` lines apart, are below `limit` and in one set. */
static bool stays_in_set(const struct fth_mapping *mapping, uint64_t line, uint64_t stride,
                         uint64_t count, uint64_t limit)
{
    if (stride == 0 || line + (count - 1) * stride >= limit)
        return false;
    /* The constant of a folded mapping (`offset`) is different for another array. Lines whose
     * folded values are equal are in one set whatever the constant is. So the folded values are
     * compared, without the modulo. */
    struct fth_mapping unreduced = *mapping;
    if (mapping->kind == FTH_MAPPING_FOLD)
        unreduced.modulus = (uint64_t)1 << mapping->shift;
    uint64_t set = fth_mapping_set(&unreduced, line);
    for (uint64_t i = 1; i < count; i++)
        if (fth_mapping_set(&unreduced, line + i * stride) != set)
            return false;
    return true;
}

uint64_t fth_mapping_stride(const struct fth_mapping *mapping, uint64_t line, uint64_t count,
                            uint64_t limit, unsigned skip)
{
    if (mapping->kind == FTH_MAPPING_LINEAR && mapping->bits < ALL_BITS &&
        limit > (uint64_t)1 << mapping->bits)
        limit = (uint64_t)1 << mapping->bits; /* higher bits are unknown */
    if (mapping->kind == FTH_MAPPING_MOD || mapping->kind == FTH_MAPPING_ROUND_ROBIN) {
        uint64_t period = mapping->modulus << mapping->shift; /* lines */
        for (uint64_t times = 1; times * period < limit; times++)
            if (stays_in_set(mapping, line, times * period, count, limit) && skip-- == 0)
                return times * period;
        return 0;
    }
    /* Try strides with one to three bits set: the bits i >= j >= k, where equal indices stand for
     * strides with fewer bits. If two bits of the stride belong to the same XOR and a line has
     * neither, adding the stride sets both, and the XOR stays the same. stays_in_set() tests all
     * lines of the chain. */
    unsigned bits = bit_length(limit);
    for (unsigned i = 0; i < bits; i++)
        for (unsigned j = 0; j <= i; j++)
            for (unsigned k = 0; k <= j; k++) {
                uint64_t stride = (uint64_t)1 << i;
                stride |= j < i ? (uint64_t)1 << j : 0;
                stride |= k < j ? (uint64_t)1 << k : 0;
                if (j == i && k < j)
                    continue; /* the same stride as with j equal to this k */
                if (stays_in_set(mapping, line, stride, count, limit) && skip-- == 0)
                    return stride;
            }
    return 0;
}
