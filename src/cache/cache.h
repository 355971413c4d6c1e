/* cache/: how caches behave. It knows which lines an array holds and nothing of data or time.
 *
 *   cache.c   an array from its configuration       access.c  reads, writes, probes, invalidation
 *   index.c   which set a line falls into           batch.c   long streams of whole-line reads
 *   lookup.c  which way holds a line                order.c   a list of ways for each set
 *   slot.c    one way: fill, fetch, bytes written   policy.c  the policies by name
 *   packed.c  ... through rows of 16 bits a line
 *   replacement, one policy a file: lru.c, fifo.c, lfu.c, plru.c, random.c, weighted.c
 *   writing, one policy a file: write_evict.c, write_through.c, write_back.c
 *
 * The words. A *line* has one tag; its *sectors* are fetched one by one. A *set* is where a line
 * may stand, a *way* one place in it, and a *slot* a way counted over all sets:
 *
 *      set 0      set 1    set 2           sets may differ in size
 *   | 0  1  2 | 3  4 | 5  6  7  8 |        slots
 *     0  1  2   0  1   0  1  2  3          ways
 *
 * A TLB is an array whose line is the page, without sectors, that is only read; there is nothing
 * else to it, so it has no type of its own.
 */
#ifndef FTH_CACHE_H
#define FTH_CACHE_H

#include "base/base.h"

/* ---- what a cache is ---- */

enum fth_write {
    /* Nothing is allocated and everything goes below; a line that is hit is thrown out (Fermi's and
     * Maxwell's L1). The one to take for an array that is never written. */
    FTH_WRITE_EVICT,
    /* Allocated and sent below. A sector that was written as a whole is valid without a fetch; one
     * written in part remembers which bytes it has. */
    FTH_WRITE_THROUGH,
    /* Allocated and kept; what was written goes below when the line is evicted. Bytes as above. */
    FTH_WRITE_BACK
};

struct fth_cache_config {
    uint64_t line_bytes;   /* a power of two from 4; a TLB's page */
    uint64_t sector_bytes; /* divides the line into at most 64; 0: the line is one sector */
    uint64_t sets;
    uint64_t ways;            /* of every set, or */
    const uint64_t *set_ways; /* of each of the `sets`, where they differ; NULL: they do not */
    const char *index;        /* as in a GPU description, see index.c; NULL: "mod" */
    const char *policy;       /* "lru", "fifo", "lfu", "plru", "random", "weighted"; NULL: "lru" */
    const double *way_weights;
    size_t way_weight_count; /* the ways, with "weighted"; 0 otherwise */
    enum fth_write write;
    uint64_t seed;  /* of "random" and "weighted" */
    bool distances; /* results have them; only "lru" can */
};

struct fth_cache;

/* Refuses what cannot be; the argument of the error names the member. Nothing of `config` is kept.
 */
FTH_MUST_USE enum fth_status fth_cache_create(const struct fth_cache_config *config,
                                              struct fth_cache **cache, struct fth_error *error);
void fth_cache_destroy(struct fth_cache *cache);
/* Drops every line, dirty ones too, and goes on with the random numbers where they are. */
void fth_cache_clear(struct fth_cache *cache);
/* As it was created: empty, and at the start of the random numbers. */
void fth_cache_reset(struct fth_cache *cache);

/* ---- access ---- */

enum fth_cache_kind { FTH_CACHE_READ, FTH_CACHE_WRITE };

/* What the array held before the access, whether that is a read or a write. */
enum fth_cache_outcome {
    FTH_CACHE_HIT,         /* every byte */
    FTH_CACHE_SECTOR_MISS, /* the tag, but not every byte */
    FTH_CACHE_LINE_MISS    /* not the tag */
};

#define FTH_CACHE_NOWHERE UINT32_MAX
#define FTH_NO_SLOT UINT32_MAX

/* Masks have a bit a sector, bit 0 for the one at the lowest address. */
struct fth_cache_result {
    enum fth_cache_outcome outcome;
    uint32_t set;
    uint32_t way;           /* where the line stands now; FTH_CACHE_NOWHERE: it is not held */
    uint64_t sectors;       /* touched */
    uint64_t fetch;         /* to be read from below; counted as here from now on */
    uint64_t below;         /* of a write: passed on below at once */
    uint64_t dirtied;       /* of a write: to be written below some time, and were not before */
    uint64_t evicted_line;  /* address of the first byte of the line thrown out, where */
    bool evicted;           /* there was one */
    uint64_t evicted_dirty; /* its sectors with bytes that must be written below */
    /* With `distances`: how many other lines of the set were used since this one was; UINT32_MAX:
     * it was not held. */
    uint32_t distance;
};

/* `bytes` is at least 1. An access does not straddle a line: what lies past the end of the line is
 * not looked at, and the caller comes again with it. `result` may be NULL. */
enum fth_cache_outcome fth_cache_access(struct fth_cache *cache, uint64_t address, uint64_t bytes,
                                        enum fth_cache_kind kind, struct fth_cache_result *result);
/* A run of bytes within a line, from its first byte on. */
struct fth_cache_run {
    uint32_t from, bytes;
};
/* An access in steps, for whom it matters what is missing before it is brought in: */
struct fth_cache_spot {
    uint64_t line;      /* its number */
    uint32_t set, slot; /* FTH_NO_SLOT: not held */
};
static inline struct fth_cache_spot fth_cache_look(const struct fth_cache *cache, uint64_t address);
/* Lines by their numbers, so many at the most. */
enum { FTH_LOOK_MAX = 64 };
void fth_cache_look_all(const struct fth_cache *cache, const uint64_t *lines, size_t count,
                        struct fth_cache_spot *spots);
/* After others: lines may have come and gone. */
static inline void fth_cache_look_again(const struct fth_cache *cache, struct fth_cache_spot *spot);
/* The sectors that are not here. Of a sector that was written in part, only the bytes of the `runs`
 * that lie in it are wanted; without runs all are. */
static inline uint64_t fth_cache_missing(const struct fth_cache *cache,
                                         const struct fth_cache_spot *spot, uint64_t sectors,
                                         const struct fth_cache_run *runs, size_t count);
/* Uses the line, which takes its place if it had none, and has the sectors from now on; those that
 * it had not as a whole. Of the result only the distance and what was evicted are filled in. */
static inline uint64_t fth_cache_bring(struct fth_cache *cache, struct fth_cache_spot *spot,
                                       uint64_t sectors, struct fth_cache_result *result);
/* Writes bytes of the line. Of the result only the sectors, the distance and what was evicted are
 * filled in. */
enum fth_cache_outcome fth_cache_write(struct fth_cache *cache, struct fth_cache_spot *spot,
                                       struct fth_cache_run run, struct fth_cache_result *result);
/* The line leaves, if it is held. */
void fth_cache_drop(struct fth_cache *cache, struct fth_cache_spot *spot);
/* What an access would find, without a trace. */
enum fth_cache_outcome fth_cache_probe(const struct fth_cache *cache, uint64_t address,
                                       uint64_t bytes);
/* Drops the line of `address`; false where it was not held. `dirty` (which may be NULL) gets the
 * sectors with bytes that only this cache had. */
bool fth_cache_invalidate(struct fth_cache *cache, uint64_t address, uint64_t *dirty);

/* Reads `count` whole lines, given by their numbers (address / line_bytes), one after the other,
 * and returns how many were hits. Bit i % 64 of hit_bits[i / 64] says whether reference i was one;
 * `hit_bits` may be NULL. Does what fth_cache_access does for each, faster, but does not tell what
 * was evicted, and lines of an LRU array may stand in other ways of their sets afterwards. */
uint64_t fth_cache_read_lines(struct fth_cache *cache, const uint64_t *lines, size_t count,
                              uint64_t *hit_bits);

/* Lines held, and lines that there is room for. */
size_t fth_cache_held(const struct fth_cache *cache);
size_t fth_cache_capacity(const struct fth_cache *cache);
/* The way in which the line of an address stands; FTH_CACHE_NOWHERE: it is not held. */
uint32_t fth_cache_way(const struct fth_cache *cache, uint64_t address);
/* The set of an address. */
uint32_t fth_cache_set(const struct fth_cache *cache, uint64_t address);

/* ---- index.c ---- */

enum fth_index_kind {
    FTH_INDEX_MASK, /* (line >> shift) & modulus - 1, the modulus a power of two */
    FTH_INDEX_MOD,  /* (line >> shift) % modulus */
    FTH_INDEX_DEAL, /* deal[(line >> shift) % modulus] */
    FTH_INDEX_FOLD, /* (groups of `shift` bits, XORed) % modulus */
    FTH_INDEX_BITS  /* bits of the line number */
};

struct fth_index {
    enum fth_index_kind kind;
    unsigned shift;
    uint64_t modulus;
    uint64_t inverse;     /* of the modulus: (2^64 - 1) / modulus */
    const uint32_t *deal; /* in the arena */
    unsigned bit_count;
    unsigned bits[64]; /* of the line number, lowest of the set number first */
};

/* `first` has the first slot of each set, and of one more. */
FTH_MUST_USE enum fth_status fth_index_init(struct fth_index *index, const char *text,
                                            unsigned line_shift, const uint32_t *first,
                                            uint32_t sets, struct fth_arena *arena,
                                            struct fth_error *error);
uint32_t fth_index_other(const struct fth_index *index, uint64_t line);

__extension__ typedef unsigned __int128 fth_wide_word;

static inline uint32_t fth_index_mask(const struct fth_index *index, uint64_t line)
{
    return (uint32_t)(line >> index->shift & (index->modulus - 1));
}

static inline uint32_t fth_index_mod(const struct fth_index *index, uint64_t line)
{
    /* A division without one: what is left is less than twice the modulus. */
    const uint64_t number = line >> index->shift;
    const uint64_t quotient = (uint64_t)((fth_wide_word)number * index->inverse >> 64);
    const uint64_t left = number - quotient * index->modulus;
    return (uint32_t)(left < index->modulus ? left : left - index->modulus);
}

/* After the steps 1, 2, 4, … groups, the lowest group has every group in it. */
static inline uint32_t fth_index_fold(const struct fth_index *index, uint64_t line)
{
    if (index->shift == 0)
        return 0;
    if (index->shift == 2) { /* mostly: the L1 of a GPU has four sets */
        line ^= line >> 32;
        line ^= line >> 16;
        line ^= line >> 8;
        line ^= line >> 4;
        line ^= line >> 2;
    } else {
        for (unsigned step = index->shift; step < 64; step *= 2)
            line ^= line >> step;
    }
    line &= ((uint64_t)1 << index->shift) - 1;
    return (uint32_t)(line < index->modulus ? line : line % index->modulus);
}

static inline uint32_t fth_index_set(const struct fth_index *index, uint64_t line)
{
    switch (index->kind) {
    case FTH_INDEX_MASK: return fth_index_mask(index, line);
    case FTH_INDEX_MOD: return fth_index_mod(index, line);
    case FTH_INDEX_FOLD: return fth_index_fold(index, line);
    case FTH_INDEX_DEAL:
    case FTH_INDEX_BITS: break;
    }
    return fth_index_other(index, line);
}

/* The same for many, which is faster. */
void fth_index_sets(const struct fth_index *index, const uint64_t *lines, size_t count,
                    uint32_t *sets);

/* The sectors of the bytes [from, to) of a line, of which there is one. */
static inline uint64_t fth_sectors_of(unsigned sector_shift, uint64_t from, uint64_t to)
{
    const uint64_t first = from >> sector_shift, last = (to - 1) >> sector_shift;
    return ~UINT64_C(0) >> (63 - (last - first)) << first;
}

/* ---- the array, for the files of this module ---- */

/* The number of no line: with lines of 4 bytes or more none reaches it. */
#define FTH_NO_LINE UINT64_MAX

/* Sets of at most this many ways are searched way by way, larger ones through a hash table. The two
 * meet between 12 and 20 ways. */
#define FTH_NARROW_WAYS 16

/* What a narrow set has beside its lines. */
struct fth_row {
    uint64_t tags[2]; /* eight bits of each way's line, way 0 lowest: which way may hold it */
    uint64_t order;   /* order.c: ways, four bits each, newest lowest */
    uint32_t count;   /* of the ways in the order */
    uint32_t unused;
};

struct fth_order;

/* What a slot holds, as far as every access asks for it. */
struct fth_line {
    uint64_t number;
    uint64_t valid; /* sectors held as a whole */
};

struct fth_cache {
    struct fth_arena arena; /* every array below */
    struct fth_index index;
    const struct fth_policy *policy;
    void *policy_state;
    const struct fth_write_policy *write;
    uint64_t seed;
    unsigned line_shift;
    unsigned sector_shift;
    uint64_t all_sectors; /* the mask of a whole line */
    uint32_t sets;
    uint32_t slots;
    uint32_t min_ways, max_ways;
    uint32_t even_ways; /* of every set; 0: they differ */
    uint32_t held;      /* lines */
    bool distances;

    uint32_t *first;        /* [sets + 1] the first slot of each set */
    uint32_t *first_free;   /* [sets] no slot of the set before this one is free */
    struct fth_line *lines; /* [slots], and FTH_NARROW_WAYS that hold none */
    uint64_t *dirty;        /* [slots] sectors to be written back; NULL: nothing is ever dirty */
    bool *partial;          /* [slots] `written` holds; NULL: the write policy keeps no bytes */
    uint64_t *written;      /* [slots][byte_words] a bit a byte; means nothing for valid sectors */
    size_t byte_words;
    struct fth_row *rows; /* [sets]; NULL: the sets are not narrow */
    uint32_t *heads;      /* [1 << head_bits] hash table of slots; NULL: the sets are narrow */
    uint32_t *chain;      /* [slots] the next slot of the same bucket */
    unsigned head_bits;
};

static inline uint32_t fth_set_first(const struct fth_cache *cache, uint32_t set)
{
    return cache->even_ways ? set * cache->even_ways : cache->first[set];
}

/* A replacement policy. It hears of every change of a set and names the way to be replaced. */
struct fth_policy {
    const char *name;
    /* Allocates from the arena of the cache; reset follows. */
    enum fth_status (*init)(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error);
    void (*clear)(struct fth_cache *cache); /* every line is gone */
    void (*reset)(struct fth_cache *cache); /* seeds the random numbers; NULL: there are none */
    void (*added)(struct fth_cache *cache, uint32_t set, uint32_t slot); /* to a free slot */
    void (*used)(struct fth_cache *cache, uint32_t set, uint32_t slot);  /* found again */
    void (*removed)(struct fth_cache *cache, uint32_t set, uint32_t slot);
    /* Chooses the slot to be replaced in a set without a free one, and takes it that the new line
     * is in it. */
    uint32_t (*victim)(struct fth_cache *cache, uint32_t set);
};

extern const struct fth_policy fth_policy_lru, fth_policy_fifo, fth_policy_lfu, fth_policy_plru,
    fth_policy_random, fth_policy_weighted;
/* NULL, and the error, where there is no such policy. */
const struct fth_policy *fth_policy_find(const char *name, struct fth_error *error);

/* Where one access goes. */
struct fth_place {
    uint64_t line;
    uint64_t from, to; /* bytes of the line, `to` past the last */
    uint64_t sectors;
    uint32_t set;
};

/* A write policy. */
struct fth_write_policy {
    bool keeps_bytes; /* sectors can be written in part */
    bool keeps_dirty; /* what is evicted may have to be written */
    /* `slot` is where the line stands, or FTH_NO_SLOT; fills below, way and evicted. */
    void (*write)(struct fth_cache *cache, struct fth_place place, uint32_t slot,
                  struct fth_cache_result *result);
};

extern const struct fth_write_policy fth_write_evict, fth_write_through, fth_write_back;

/* ---- lookup.c ---- */

/* How many bits a hash table for that many slots has. */
unsigned fth_lookup_bits(uint32_t slots);
/* To be called after the line of the slot is set, and before it is set to FTH_NO_LINE. */
void fth_lookup_add(struct fth_cache *cache, uint32_t set, uint32_t slot);
void fth_lookup_remove(struct fth_cache *cache, uint32_t slot);
void fth_lookup_clear(struct fth_cache *cache);

/* Fibonacci hashing: 2^64 over the golden ratio spreads consecutive lines evenly (Knuth, The Art of
 * Computer Programming 3, 6.4). */
static inline uint64_t fth_lookup_hash(uint64_t line, unsigned bits)
{
    return line * 0x9e3779b97f4a7c15u >> (64 - bits);
}

/* The slot that holds the line, or FTH_NO_SLOT. */
static inline uint32_t fth_lookup_find(const struct fth_cache *cache, uint32_t set, uint64_t line)
{
    if (cache->heads) {
        uint32_t slot = cache->heads[fth_lookup_hash(line, cache->head_bits)];
        while (slot != FTH_NO_SLOT && cache->lines[slot].number != line)
            slot = cache->chain[slot];
        return slot;
    }
    const uint64_t ones = 0x0101010101010101u, key = fth_lookup_hash(line, 8) * ones;
    const struct fth_row *row = &cache->rows[set];
    uint32_t first = fth_set_first(cache, set);
    for (uint32_t half = 0; half < 2; half++, first += 8) {
        const uint64_t differ = row->tags[half] ^ key;
        /* The bytes that are 0, and perhaps some above one that is: there is a second look. What
         * lies past the set is of other sets, or of none. */
        for (uint64_t found = (differ - ones) & ~differ & ones << 7; found; found &= found - 1) {
            const uint32_t slot = first + (uint32_t)__builtin_ctzll(found) / 8;
            if (cache->lines[slot].number == line)
                return slot;
        }
    }
    return FTH_NO_SLOT;
}

/* ---- packed.c ---- */

/* Reads lines as far as it can: how many, a multiple of 64 or all. `held` has the lines of each
 * set, newest first, before and after. Adds to the hits. */
size_t fth_packed_run(const struct fth_cache *cache, uint64_t *held, const uint64_t *lines,
                      size_t count, uint64_t *hit_bits, uint64_t *hits);

/* ---- slot.c ---- */

/* Puts the line, still without a sector, into the first free way of its set or else in place of the
 * one that the policy names, which is then reported as evicted. */
uint32_t fth_slot_fill(struct fth_cache *cache, uint32_t set, uint64_t line,
                       struct fth_cache_result *result);
/* Makes the slot free and reports what was in it as evicted. */
void fth_slot_free(struct fth_cache *cache, uint32_t set, uint32_t slot,
                   struct fth_cache_result *result);
/* Of the sectors given, those with a byte of the place that was not written. */
uint64_t fth_slot_unwritten(const struct fth_cache *cache, uint32_t slot, struct fth_place place,
                            uint64_t sectors);
/* Marks the bytes of the place as written. */
void fth_slot_write(struct fth_cache *cache, uint32_t slot, struct fth_place place);

/* ---- order.c: a list for each set, newest first ---- */

FTH_MUST_USE enum fth_status fth_order_init(struct fth_cache *cache, struct fth_error *error);
/* These are the policy's functions as they stand. */
void fth_order_clear(struct fth_cache *cache);
void fth_order_add(struct fth_cache *cache, uint32_t set, uint32_t slot); /* as the newest */
void fth_order_remove(struct fth_cache *cache, uint32_t set, uint32_t slot);
void fth_order_renew(struct fth_cache *cache, uint32_t set, uint32_t slot); /* to the front */
uint32_t fth_order_victim(struct fth_cache *cache, uint32_t set); /* the oldest, renewed */
/* Writes the slots of the set, newest first, and returns how many there are. */
uint32_t fth_order_list(const struct fth_cache *cache, uint32_t set, uint32_t *slots);

/* ---- order.c, what of it is inlined ---- */

/* The list of a wide set. */
struct fth_wide {
    uint32_t now; /* ticks so far */
    uint32_t low; /* no word before this one has a bit set */
    uint64_t *bits;
    uint32_t *slots; /* of each tick */
    uint32_t words;
};

struct fth_order {
    struct fth_wide *wide; /* [sets] */
    uint32_t *ticks;       /* [slots] */
};

/* Moves the ticks that are set to the front. */
void fth_wide_compact(struct fth_wide *wide, uint32_t *ticks);

/* Where the way is, in bits. The lowest group of four that is 0 is always told as such. */
static inline unsigned fth_order_place(uint64_t order, uint32_t way)
{
    const uint64_t ones = 0x1111111111111111u, differ = order ^ way * ones;
    return (unsigned)__builtin_ctzll((differ - ones) & ~differ & ones << 3) & ~3u;
}

static inline uint64_t fth_order_older(uint64_t order, unsigned place)
{
    return order >> place >> 4;
}

static inline uint64_t fth_order_newer(uint64_t order, unsigned place)
{
    return order & (((uint64_t)1 << place) - 1);
}

/* To the front; how many were newer. */
static inline uint32_t fth_row_renew(struct fth_row *row, uint32_t way)
{
    const unsigned place = fth_order_place(row->order, way);
    row->order = fth_order_older(row->order, place) << 4 << place |
                 fth_order_newer(row->order, place) << 4 | way;
    return place / 4;
}

static inline struct fth_wide *fth_wide_of(const struct fth_cache *cache, uint32_t set)
{
    return &((const struct fth_order *)cache->policy_state)->wide[set];
}

static inline uint32_t *fth_ticks_of(const struct fth_cache *cache)
{
    return ((const struct fth_order *)cache->policy_state)->ticks;
}

static inline void fth_wide_add(struct fth_wide *wide, uint32_t *ticks, uint32_t slot)
{
    if (wide->now == wide->words * 64)
        fth_wide_compact(wide, ticks);
    const uint32_t tick = wide->now++;
    wide->bits[tick / 64] |= (uint64_t)1 << (tick % 64);
    wide->slots[tick] = slot;
    ticks[slot] = tick;
}

static inline void fth_wide_remove(struct fth_wide *wide, uint32_t tick)
{
    wide->bits[tick / 64] &= ~((uint64_t)1 << (tick % 64));
}

/* How many bits are set past the tick. */
static inline uint32_t fth_wide_newer(const struct fth_wide *wide, uint32_t tick)
{
    const uint32_t last = (wide->now - 1) / 64;
    uint32_t word = tick / 64;
    uint32_t count = (uint32_t)__builtin_popcountll(wide->bits[word] >> (tick % 64) >> 1);
    while (++word <= last)
        count += (uint32_t)__builtin_popcountll(wide->bits[word]);
    return count;
}

/* Renews, and says how many were newer. */
static inline uint32_t fth_order_touch(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->rows)
        return fth_row_renew(&cache->rows[set], slot - fth_set_first(cache, set));
    struct fth_wide *wide = fth_wide_of(cache, set);
    uint32_t *ticks = fth_ticks_of(cache);
    const uint32_t tick = ticks[slot];
    if (tick + 1 == wide->now)
        return 0; /* the newest already */
    const uint32_t position = fth_wide_newer(wide, tick);
    fth_wide_remove(wide, tick);
    fth_wide_add(wide, ticks, slot);
    return position;
}

/* ---- access.c, and what of it is inlined ---- */

/* Of the sectors that are not whole, those with a byte of the runs that was not written either. */
uint64_t fth_slot_lacks(const struct fth_cache *cache, uint32_t slot, uint64_t missing,
                        const struct fth_cache_run *runs, size_t count);

/* The line is found again; how many of its set are newer, where that is wanted. */
static inline uint32_t fth_slot_use(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->distances)
        return fth_order_touch(cache, set, slot);
    if (cache->policy->used)
        cache->policy->used(cache, set, slot);
    return UINT32_MAX;
}

static inline struct fth_cache_spot fth_cache_look(const struct fth_cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    const uint32_t set = fth_index_set(&cache->index, line);
    return (struct fth_cache_spot){line, set, fth_lookup_find(cache, set, line)};
}

static inline void fth_cache_look_again(const struct fth_cache *cache, struct fth_cache_spot *spot)
{
    if (spot->slot == FTH_NO_SLOT || cache->lines[spot->slot].number != spot->line)
        spot->slot = fth_lookup_find(cache, spot->set, spot->line);
}

static inline uint64_t fth_cache_missing(const struct fth_cache *cache,
                                         const struct fth_cache_spot *spot, uint64_t sectors,
                                         const struct fth_cache_run *runs, size_t count)
{
    if (spot->slot == FTH_NO_SLOT)
        return sectors;
    const uint64_t missing = sectors & ~cache->lines[spot->slot].valid;
    return missing && count && cache->write->keeps_bytes
               ? fth_slot_lacks(cache, spot->slot, missing, runs, count)
               : missing;
}

static inline uint64_t fth_cache_bring(struct fth_cache *cache, struct fth_cache_spot *spot,
                                       uint64_t sectors, struct fth_cache_result *result)
{
    result->distance = UINT32_MAX;
    result->evicted = false;
    if (spot->slot == FTH_NO_SLOT)
        spot->slot = fth_slot_fill(cache, spot->set, spot->line, result);
    else
        result->distance = fth_slot_use(cache, spot->set, spot->slot);
    uint64_t *valid = &cache->lines[spot->slot].valid;
    sectors &= ~*valid;
    if (sectors)
        *valid |= sectors;
    return sectors;
}

#endif
