/* cache/: simulates which lines and sectors a cache holds. It models neither data nor timing.
 *
 *   cache.c   creates a cache from its configuration   access.c        reads, writes, invalidation
 *   index.c   maps a line to a set                     lookup.c        finds the way of a line
 *   slot.c    allocates and frees ways, marks bytes    order.c         a list of ways per set
 *   cache_state.h   structure and inline functions
 *   policy/policy_names.c   replacement policies by name
 *   replacement policies, one per file in policy/: lru.c, fifo.c, lfu.c, plru.c, random.c,
 *                                       weighted.c, clock.c, srrip.c, drrip.c
 *   write policies, one per file:       write_evict.c, write_through.c, write_back.c
 *
 * Terms: a *line* has one tag, and its *sectors* are fetched separately. A line can be placed in
 * any *way* of its *set*. A *slot* is a way with a number that is unique over all sets:
 *
 *      set 0   set 1     set 2           sets may differ in size
 *   | 0  1  2 | 3  4 | 5  6  7  8 |        slots
 *     0  1  2   0  1   0  1  2  3          ways
 *
 * The *next level* is the cache or memory that serves the misses.
 *
 * A TLB is modelled as a cache whose line is a page, without sectors, and which is only read.
 */
#ifndef FTH_CACHE_H
#define FTH_CACHE_H

#include "base/base.h"

/* ---- configuration ---- */

enum fth_write {
    /* A write does not allocate a line and goes to the next level. A line that is hit is evicted
     * (L1 of Fermi and Maxwell). Also use this policy for a cache that is never written. */
    FTH_WRITE_EVICT,
    /* A write allocates the line and also goes to the next level. A sector that was written
     * completely is valid without a fetch. For a partly written sector, the cache keeps a mask of
     * the written bytes. */
    FTH_WRITE_THROUGH,
    /* A write allocates the line. Written sectors go to the next level when the line is evicted.
     * Partly written sectors are handled as above. */
    FTH_WRITE_BACK
};

enum { FTH_MAX_HASH_MASKS = 16 }; /* of sets or rows, whose numbers are 16 bits of a word */

/* Masks of address bits without bits inside a line. There are log2(sets) masks of the set and, with
 * "clock", log2(rows) of the row; without "clock", those of the row are ignored. */
struct fth_hash_masks {
    uint64_t set[FTH_MAX_HASH_MASKS], row[FTH_MAX_HASH_MASKS];
    size_t set_count, row_count;
};

struct fth_cache_config {
    uint64_t line_bytes;   /* a power of two, at least 4; the page size of a TLB */
    uint64_t sector_bytes; /* a line has at most 64 sectors; 0: the line is one sector */
    uint64_t sets;
    uint64_t ways;            /* ways of every set, if set_ways is NULL */
    const uint64_t *set_ways; /* [sets] ways of each set, if they differ; otherwise NULL */
    const char *index;        /* index function as in a GPU description, see index.c; NULL: "mod" */
    const char *policy;       /* "lru", "fifo", "lfu", "plru", "random", "weighted", "clock",
                                 "srrip", "drrip"; NULL: "lru" */
    const double *way_weights; /* relative probability of each way to be the victim */
    size_t way_weight_count;   /* number of ways if the policy is "weighted"; otherwise 0 */
    uint64_t rows;             /* with "clock": rows per set, a power of two; see clock.c */
    uint64_t row_ways;         /* with "clock": tags per row; both are 0 otherwise or by default */
    /* A hash that replaces `index` and, with "clock", selects the row. Bit i of the set is the
     * parity of (address & masks->set[i]), and bit i of the row that of (address & masks->row[i]).
     * NULL: none. */
    const struct fth_hash_masks *masks;
    enum fth_write write;
    uint64_t seed; /* for "random" and "weighted" */
    /* Number of equal caches in one structure, which share tables. They need less memory than
     * caches of their own. The sets of copy i are those from i x sets on. 0: one cache. Others
     * only with "clock". See fth_cache_locate_in. */
    uint64_t copies;
    bool distances; /* report reuse distances in results; only valid with "lru" */
    /* Bytes that the caller keeps for each slot (fth_changed_of()); only with FTH_WRITE_BACK. They
     * are all zeros when the cache is empty. */
    uint32_t extra_bytes;
};

/* Maximum of the members `rows` and `row_ways`. The tags of a row are the bits of a word. */
#define FTH_CLOCK_MAX_ROWS 65536u
#define FTH_CLOCK_MAX_ROW_WAYS 32u

struct fth_cache;

/* Creates an empty cache. Returns FTH_INVALID for an invalid configuration; the argument of the
 * error is the name of the invalid member. The cache keeps no pointer into `config`. */
FTH_MUST_USE enum fth_status fth_cache_create(const struct fth_cache_config *config,
                                              struct fth_cache **cache, struct fth_error *error);
void fth_cache_destroy(struct fth_cache *cache);
/* Invalidates every line and discards dirty sectors. Does not restart the random numbers. */
void fth_cache_clear(struct fth_cache *cache);
/* Clears the cache and restarts the random numbers from the seed. */
void fth_cache_reset(struct fth_cache *cache);

/* ---- access ---- */

enum fth_cache_kind { FTH_CACHE_READ, FTH_CACHE_WRITE };

/* What the cache held before a read or write. */
enum fth_cache_outcome {
    FTH_CACHE_HIT,         /* the line and every byte of the access */
    FTH_CACHE_SECTOR_MISS, /* the line, but not every byte of the access */
    FTH_CACHE_LINE_MISS    /* not the line */
};

#define FTH_NO_WAY UINT32_MAX  /* the line is not in the cache */
#define FTH_NO_SLOT UINT32_MAX /* the line is not in the cache */

/* Masks of sectors have one bit per sector. Bit 0 is the sector at the lowest address. */
struct fth_cache_result {
    enum fth_cache_outcome outcome;
    uint32_t set;
    uint32_t way;          /* way (with "clock": tag) of the line after the access, or FTH_NO_WAY */
    uint64_t sectors;      /* sectors that the access touches */
    uint64_t fetch;        /* sectors to fetch from the next level; already marked as valid */
    uint64_t below;        /* sectors that a write passes on to the next level at once */
    uint64_t dirtied;      /* sectors that a write makes dirty and that were not dirty before */
    uint64_t evicted_line; /* if `evicted`: address of the first byte of the evicted line */
    bool evicted;          /* whether the access evicted a line */
    uint64_t evicted_dirty; /* if `evicted`: sectors to be written to the next level */
    /* With config.distances: the number of other lines of the set that were accessed since the last
     * access to this line. UINT32_MAX if the line was not in the cache. */
    uint32_t distance;
};

/* Reads or writes `bytes` bytes; at least 1. Bytes past the end of the line are ignored; the caller
 * accesses the next line separately. `result` may be NULL. */
enum fth_cache_outcome fth_cache_access(struct fth_cache *cache, uint64_t address, uint64_t bytes,
                                        enum fth_cache_kind kind, struct fth_cache_result *result);

/* The following functions, up to fth_cache_write, perform an access in steps, so that the caller
 * can inspect which sectors are missing before they are filled. */

/* A range of bytes within a line. `from` is the offset of its first byte. */
struct fth_cache_run {
    uint32_t from, bytes;
};
/* A location tells where a line is. */
struct fth_cache_location {
    uint64_t line;      /* line number: address / line_bytes */
    uint32_t set, slot; /* slot is FTH_NO_SLOT if the cache does not hold the line */
};
/* Returns the location of the line of an address; in the copy of the cache that begins with the set
 * `first`. */
static inline struct fth_cache_location fth_cache_locate(const struct fth_cache *cache,
                                                         uint64_t address);
static inline struct fth_cache_location fth_cache_locate_in(const struct fth_cache *cache,
                                                            uint32_t first, uint64_t address);
/* The same without a search for the line: the caller calls fth_cache_locate_again() later. */
static inline struct fth_cache_location fth_cache_locate_set(const struct fth_cache *cache,
                                                             uint64_t address);
enum { FTH_LOCATE_MAX = 64 };
/* Finds the locations of `count` lines, given by their numbers; at most FTH_LOCATE_MAX. */
void fth_cache_locate_all(const struct fth_cache *cache, const uint64_t *lines, size_t count,
                          struct fth_cache_location *locations);
/* Prefetch the state that an access to the line of an address will need into the host's caches:
 * first that of the set, some time later that of the slot. `first` is as above; `set` is the set of
 * the address. Both return the slot that the access will probably use, or one near it. *found: the
 * cache probably holds the line. */
static inline uint32_t fth_cache_prepare(const struct fth_cache *cache, uint32_t first,
                                         uint64_t address);
static inline uint32_t fth_cache_prepare_slot(const struct fth_cache *cache, uint32_t set,
                                              uint64_t address, bool *found);
/* Updates location->slot. Call this if other accesses occurred since the line was located. */
static inline void fth_cache_locate_again(const struct fth_cache *cache,
                                          struct fth_cache_location *location);
/* Returns those of `sectors` that are missing. `runs` are the bytes of the access: a partly written
 * sector is missing only if it contains a byte of a run that was not written. Without runs (count =
 * 0), every partly written sector is missing. */
static inline uint64_t fth_cache_missing(const struct fth_cache *cache,
                                         const struct fth_cache_location *location,
                                         uint64_t sectors, const struct fth_cache_run *runs,
                                         size_t count);
/* Returns those of `sectors` that the cache holds completely or, after writes, in part. */
uint64_t fth_cache_held(const struct fth_cache *cache, const struct fth_cache_location *location,
                        uint64_t sectors);
/* Accesses the line: updates the replacement state, allocates the line if it is not in the cache,
 * and marks the sectors as valid. Returns those of `sectors` that were not valid before. In
 * `result`, it sets only `distance` and the members about the evicted line. */
static inline uint64_t fth_cache_fill(struct fth_cache *cache, struct fth_cache_location *location,
                                      uint64_t sectors, struct fth_cache_result *result);
/* The next three functions tell a cache with the policy clock which lines wait for data; clock.c
 * describes what it does with them. Other policies ignore it.
 *
 * Sets the time of the next accesses. */
static inline void fth_cache_set_time(struct fth_cache *cache, uint64_t now);
/* Returns the time of the last access: the one that was set, `now`, or a later one if the line had
 * to wait for storage. */
static inline uint64_t fth_cache_time(const struct fth_cache *cache, uint64_t now);
/* Pins the line of a slot: its storage is in use until a time, even if the line is evicted. */
static inline void fth_cache_pin(struct fth_cache *cache, uint32_t slot, uint64_t until);
/* Writes bytes of the line. In `result`, it sets sectors, way, distance, the members about the
 * evicted line, and either below (write-evict, write-through) or dirtied (write-back). */
void fth_cache_write(struct fth_cache *cache, struct fth_cache_location *location,
                     struct fth_cache_run run, struct fth_cache_result *result);
/* The eviction priority of a line. It changes the victim that the policy would choose: a FIRST line
 * is evicted before all others, a LAST line only if the set has no other lines. */
enum fth_cache_priority { FTH_CACHE_NORMAL, FTH_CACHE_FIRST, FTH_CACHE_LAST };
/* Sets the priority of the lines that are allocated from now on; at first it is NORMAL. Returns
 * false without memory. */
bool fth_cache_prioritize(struct fth_cache *cache, enum fth_cache_priority priority);
/* Invalidates the line if the cache holds it, and sets location->slot to FTH_NO_SLOT. Dirty sectors
 * are lost. */
void fth_cache_drop(struct fth_cache *cache, struct fth_cache_location *location);
/* Returns what an access would find, without changing the cache. */
enum fth_cache_outcome fth_cache_probe(const struct fth_cache *cache, uint64_t address,
                                       uint64_t bytes);
/* Like fth_cache_drop, for the line of an address instead of a location. Returns false if the cache
 * does not hold it. `dirty` (may be NULL) receives the dirty sectors that are lost. */
bool fth_cache_invalidate(struct fth_cache *cache, uint64_t address, uint64_t *dirty);

/* Writes back the changes of a slot, which then holds the complete line of its next level as far as
 * it has been written: partly written sectors become valid. Returns the sectors that were dirty. */
uint64_t fth_cache_write_back(struct fth_cache *cache, uint32_t slot);
/* Invalidates the sectors of a range of bytes, which ends with the line at the latest. Dirty
 * sectors are lost. The line stays, even without valid sectors. Returns false if the cache holds
 * none of the sectors, completely or in part. */
bool fth_cache_invalidate_sectors(struct fth_cache *cache, uint64_t address, uint64_t bytes);

/* Returns the set of an address. */
static inline uint32_t fth_cache_set(const struct fth_cache *cache, uint64_t address);

/* ---- index.c ---- */

enum fth_index_kind {
    FTH_INDEX_MASK,        /* (line >> shift) & (modulus - 1); modulus is a power of two */
    FTH_INDEX_MOD,         /* (line >> shift) % modulus */
    FTH_INDEX_ROUND_ROBIN, /* round_robin[(line >> shift) % modulus] */
    FTH_INDEX_FOLD,        /* (XOR of all groups of `shift` bits of the line number) % modulus */
    FTH_INDEX_BITS,        /* bit i of the set is bit bits[i] of the line number */
    FTH_INDEX_PARITY       /* fth_parities_of(parities, line) >> 16 */
};

/* Set and row of a line by masks: the XOR of one element for each byte of the line number. The row
 * is in the low 16 bits of an element, the set in the high ones. */
struct fth_parities {
    uint32_t of_byte[sizeof(uint64_t)][256];
    unsigned bytes; /* the bytes of the line number that count; the first four always do */
};

struct fth_attribute;
/* Copies the attributes set_masks and row_masks of a description, of which either may be NULL.
 * Returns false if both are NULL or one has too many masks. */
bool fth_hash_masks_read(struct fth_hash_masks *masks, const struct fth_attribute *set_masks,
                         const struct fth_attribute *row_masks);
/* Whether a cache can have the masks. `rows` is 0 without the policy "clock". */
bool fth_hash_masks_fit(const struct fth_hash_masks *masks, uint64_t line_bytes, uint64_t sets,
                        uint64_t rows);
/* Does both: *masks is allocated from the arena, or NULL if they do not fit. Returns false without
 * memory. */
bool fth_hash_masks_copy(struct fth_arena *arena, const struct fth_attribute *set_masks,
                         const struct fth_attribute *row_masks, uint64_t line_bytes, uint64_t sets,
                         uint64_t rows, const struct fth_hash_masks **masks);

/* Fills the table. */
void fth_parities_fill(struct fth_parities *parities, const struct fth_hash_masks *masks,
                       unsigned line_shift);

static inline uint32_t fth_parities_of(const struct fth_parities *parities, uint64_t line)
{
    uint32_t found = parities->of_byte[0][line & 255] ^ parities->of_byte[1][line >> 8 & 255] ^
                     parities->of_byte[2][line >> 16 & 255] ^
                     parities->of_byte[3][line >> 24 & 255];
    for (unsigned i = 4; i < parities->bytes; i++)
        found ^= parities->of_byte[i][line >> 8 * i & 255];
    return found;
}

struct fth_index {
    enum fth_index_kind kind;
    unsigned shift; /* bits to shift right; with FTH_INDEX_FOLD, bits per group */
    uint64_t modulus;
    uint64_t inverse;                    /* (2^64 - 1) / modulus */
    const uint32_t *round_robin;         /* [modulus] see index.c; owned by the arena */
    const struct fth_parities *parities; /* owned by the arena */
    unsigned bit_count;
    unsigned bits[64]; /* bit i of the set number is bit bits[i] of the line number */
};

/* Parses an index function. `first` has sets + 1 elements: the first slot of each set and, last,
 * the number of slots. Tables are allocated from `arena`. */
FTH_MUST_USE enum fth_status fth_index_init(struct fth_index *index, const char *text,
                                            unsigned line_shift, const uint32_t *first,
                                            uint32_t sets, struct fth_arena *arena,
                                            struct fth_error *error);
/* Initialises an index function from masks, which have been checked. Returns false without memory.
 */
bool fth_index_init_masks(struct fth_index *index, const struct fth_hash_masks *masks,
                          unsigned line_shift, struct fth_arena *arena);
/* Returns the set of a line for FTH_INDEX_ROUND_ROBIN and FTH_INDEX_BITS. */
uint32_t fth_index_other(const struct fth_index *index, uint64_t line);

__extension__ typedef unsigned __int128 fth_wide_word;

static inline uint32_t fth_index_mask(const struct fth_index *index, uint64_t line)
{
    return (uint32_t)(line >> index->shift & (index->modulus - 1));
}

static inline uint32_t fth_index_mod(const struct fth_index *index, uint64_t line)
{
    /* Multiplying by the inverse replaces a division. The quotient can be too small by 1, so the
     * remainder is less than twice the modulus. */
    const uint64_t number = line >> index->shift;
    const uint64_t quotient = (uint64_t)((fth_wide_word)number * index->inverse >> 64);
    const uint64_t left = number - quotient * index->modulus;
    return (uint32_t)(left < index->modulus ? left : left - index->modulus);
}

/* Each step XORs the number with itself shifted by 1, 2, 4, … groups. After the last step, the
 * lowest group is the XOR of all groups. */
static inline uint32_t fth_index_fold(const struct fth_index *index, uint64_t line)
{
    if (index->shift == 0)
        return 0;
    if (index->shift == 2) { /* the most frequent case: the L1 of the H200 has four sets */
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

/* Returns the set of a line. */
static inline uint32_t fth_index_set(const struct fth_index *index, uint64_t line)
{
    switch (index->kind) {
    case FTH_INDEX_MASK: return fth_index_mask(index, line);
    case FTH_INDEX_MOD: return fth_index_mod(index, line);
    case FTH_INDEX_FOLD: return fth_index_fold(index, line);
    case FTH_INDEX_PARITY: return fth_parities_of(index->parities, line) >> 16;
    case FTH_INDEX_ROUND_ROBIN:
    case FTH_INDEX_BITS: break;
    }
    return fth_index_other(index, line);
}

/* Computes the sets of many lines. This is faster than one call per line. */
void fth_index_sets(const struct fth_index *index, const uint64_t *lines, size_t count,
                    uint32_t *sets);

/* Returns the mask of the sectors of the bytes [from, to) of a line; from < to. */
static inline uint64_t fth_sectors_of(unsigned sector_shift, uint64_t from, uint64_t to)
{
    const uint64_t first = from >> sector_shift, last = (to - 1) >> sector_shift;
    return ~UINT64_C(0) >> (63 - (last - first)) << first;
}

#include "cache/cache_state.h"

#endif
