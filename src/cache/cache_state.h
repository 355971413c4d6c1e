/* The structure of a cache, and the functions on it that are inline because they are called for
 * every access. Only for the files of this module and for units of the model that keep more state
 * per slot. */
#ifndef FTH_CACHE_STATE_H
#define FTH_CACHE_STATE_H

#include "cache/cache.h"

/* The line number of an empty slot. Lines have at least 4 bytes, so no line has this number. */
#define FTH_NO_LINE UINT64_MAX

/* If no set has more than this number of ways, the sets are *narrow*: lookups compare short tags of
 * the ways. Otherwise, the sets are *wide*, and lookups use a hash table. 16 is the maximum that
 * struct fth_narrow_set can represent. The limit is not critical: in measurements, even a linear
 * search without tags was faster than the hash table below 12 ways, and equally fast with 12 to 20.
 */
#define FTH_NARROW_WAYS 16

/* The state of a narrow set, except for its lines. */
struct fth_narrow_set {
    uint64_t tags[2];    /* 8 bits of the hash of each way's line; way 0 is in the lowest bits */
    uint64_t order;      /* order.c: ways, 4 bits each, newest in the lowest bits */
    uint32_t count;      /* number of ways in `order` */
    uint32_t first_free; /* as in struct fth_cache */
};

struct fth_order;

/* The part of a slot that every access needs. */
struct fth_line {
    uint64_t number;
    uint64_t valid; /* mask of the sectors of which all bytes are present */
};

/* A slot of a cache with dirty sectors: together with the extra bytes of the configuration, it
 * fills one line of the host's caches. */
struct fth_changed_line {
    struct fth_line line;
    uint64_t dirty; /* dirty sectors */
    bool partial;   /* whether `written` of the cache is in use */
    _Alignas(8) char extra[];
};

struct fth_cache {
    struct fth_arena arena; /* owns all arrays of this struct */
    struct fth_index index;
    const struct fth_policy *policy;
    void *policy_state;
    const struct fth_write_policy *write;
    uint64_t seed;
    unsigned line_shift;
    unsigned sector_shift;
    uint32_t copy_sets; /* sets of one copy */
    uint32_t sets;      /* of all copies */
    uint32_t slots;
    uint32_t min_ways, max_ways;
    uint32_t uniform_ways; /* ways of every set; 0 if they differ */
    bool distances;

    uint32_t *first; /* [sets + 1] first slot of each set; the last element is `slots` */
    /* [sets] Lower bound: no slot of the set below it is free. Narrow sets have their own one; see
     * fth_first_free. */
    uint32_t *first_free;
    /* [slots + FTH_NARROW_WAYS] elements of 1 << slot_shift bytes: struct fth_changed_line if the
     * write policy has dirty sectors, otherwise struct fth_line. See fth_line_of. The
     * FTH_NARROW_WAYS elements at the end stay empty. They exist because fth_lookup_find reads past
     * the end of a set. */
    char *memory;
    unsigned slot_shift;
    bool has_dirty;         /* the elements are struct fth_changed_line */
    uint32_t extra_bytes;   /* of a slot, behind its struct fth_changed_line */
    uint8_t *priorities;    /* [slots] enum fth_cache_priority; NULL: all are NORMAL */
    uint8_t priority;       /* of lines that are allocated */
    bool *partial;          /* of slot 0: whether `written` is in use; NULL without byte masks */
    unsigned partial_shift; /* the one of slot s is 1 << partial_shift times s bytes further on */
    uint64_t *written; /* [slots][byte_words] mask of written bytes; ignored for valid sectors */
    size_t byte_words; /* 64-bit words of the byte mask of a line */
    struct fth_narrow_set *narrow_sets; /* [sets]; NULL if the sets are not narrow */
    uint32_t *heads; /* [1 << head_bits] first slot of each hash bucket; NULL with narrow sets */
    uint32_t *chain; /* [slots] next slot of the same bucket */
    unsigned head_bits;
    struct fth_clock *clock; /* state of the policy clock, whose rows replace both; else NULL */
    /* With narrow sets and `distances`: the sets to which lines were added since the cache was
     * cleared, some more than once. If it has as many elements as there are sets, it may be
     * incomplete. */
    uint32_t *used_sets;
    uint32_t used_set_count;
};

/* Allocates an array that begins with a line of the host's caches. It is all zeros. */
void *fth_cache_array(struct fth_cache *cache, size_t count, size_t size);

static inline struct fth_line *fth_line_of(const struct fth_cache *cache, size_t slot)
{
    return (struct fth_line *)(void *)(cache->memory + (slot << cache->slot_shift));
}

/* The slot of a cache with dirty sectors. */
static inline struct fth_changed_line *fth_changed_of(const struct fth_cache *cache, size_t slot)
{
    return (struct fth_changed_line *)(void *)(cache->memory + (slot << cache->slot_shift));
}

static inline uint64_t *fth_dirty_of(const struct fth_cache *cache, size_t slot)
{
    return &fth_changed_of(cache, slot)->dirty;
}

static inline bool *fth_partial_of(const struct fth_cache *cache, size_t slot)
{
    return cache->partial + (slot << cache->partial_shift);
}

static inline uint32_t fth_set_first(const struct fth_cache *cache, uint32_t set)
{
    return cache->uniform_ways ? set * cache->uniform_ways : cache->first[set];
}

static inline uint32_t *fth_first_free(const struct fth_cache *cache, uint32_t set)
{
    return cache->narrow_sets ? &cache->narrow_sets[set].first_free : &cache->first_free[set];
}

/* Returns an upper bound: the slot after the last one of the set that is in use. Only for caches
 * with `used_sets`. */
static inline uint32_t fth_set_used_end(const struct fth_cache *cache, uint32_t set)
{
    /* Slots are used in their order. If as many lines as slots before the first free one are in the
     * set, none is behind it. */
    const uint32_t free = cache->narrow_sets[set].first_free;
    return cache->narrow_sets[set].count == free - fth_set_first(cache, set)
               ? free
               : fth_set_first(cache, set + 1);
}

/* A replacement policy. It is notified of every change of a set and chooses the victim. NULL
 * functions are not called; `init` and either `victim` or `place` are required. */
struct fth_policy {
    const char *name;
    /* Allocates policy_state from the arena of the cache. clear and reset are called next. */
    enum fth_status (*init)(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error);
    void (*clear)(struct fth_cache *cache); /* all lines were removed */
    void (*reset)(struct fth_cache *cache); /* seeds the random number generator */
    /* A line was placed in a free slot. */
    void (*added)(struct fth_cache *cache, uint32_t set, uint32_t slot);
    /* A line in the cache was accessed. */
    void (*used)(struct fth_cache *cache, uint32_t set, uint32_t slot);
    /* A line was invalidated. */
    void (*removed)(struct fth_cache *cache, uint32_t set, uint32_t slot);
    /* Returns the slot to be replaced in a set without a free slot. The policy updates its state as
     * if the new line were already in this slot; `added` is not called. */
    uint32_t (*victim)(struct fth_cache *cache, uint32_t set);
    /* Changes which slots the sets have, before anything is allocated for the slots. */
    enum fth_status (*lay_out)(struct fth_cache *cache, const struct fth_cache_config *config,
                               struct fth_error *error);
    /* Returns the free slot for a new line, after freeing slots if necessary. A policy with this
     * function needs no `victim`; `added` is not called. */
    uint32_t (*place)(struct fth_cache *cache, uint32_t set, uint64_t line,
                      struct fth_cache_result *result);
};

extern const struct fth_policy fth_policy_lru, fth_policy_fifo, fth_policy_lfu, fth_policy_plru,
    fth_policy_random, fth_policy_weighted, fth_policy_clock, fth_policy_srrip, fth_policy_drrip;
FTH_MUST_USE enum fth_status fth_policy_find(const char *name, const struct fth_policy **policy,
                                             struct fth_error *error);

/* ---- srrip.c ---- */

/* Predictions of when a line is used again: of two bits. */
enum { FTH_RRPV_LONG = 2, FTH_RRPV_DISTANT = 3 };
/* Returns the victim among the slots of a set, whose RRPVs are increased. */
uint32_t fth_rrip_victim(uint8_t *rrpv, uint32_t first, uint32_t end);

/* The part of a line that one access touches. */
struct fth_access_range {
    uint64_t line;     /* line number */
    uint64_t from, to; /* bytes [from, to) of the line */
    uint64_t sectors;  /* mask of the sectors of these bytes */
    uint32_t set;
};

struct fth_write_policy {
    bool keeps_bytes; /* the cache keeps a mask of written bytes for partly written sectors */
    bool keeps_dirty; /* lines can have dirty sectors */
    /* `slot` is the slot of the line, or FTH_NO_SLOT. In `result`, the function sets `way`,
     * `below` or `dirtied`, and, if it evicts a line, the members about that line. */
    void (*write)(struct fth_cache *cache, struct fth_access_range range, uint32_t slot,
                  struct fth_cache_result *result);
};

extern const struct fth_write_policy fth_write_evict, fth_write_through, fth_write_back;

/* ---- lookup.c ---- */

/* Returns log2 of the number of buckets of a hash table for `slots` slots. */
unsigned fth_lookup_bits(uint32_t slots);
/* Call fth_lookup_add after the line number of the slot was set, and fth_lookup_remove before it is
 * changed. */
void fth_lookup_add(struct fth_cache *cache, uint32_t set, uint32_t slot);
void fth_lookup_remove(struct fth_cache *cache, uint32_t slot);
void fth_lookup_clear(struct fth_cache *cache);

/* Fibonacci hashing: multiplying by 2^64 / (golden ratio) distributes consecutive lines evenly
 * (Knuth, The Art of Computer Programming 3, 6.4). */
static inline uint64_t fth_lookup_hash(uint64_t line, unsigned bits)
{
    return line * 0x9e3779b97f4a7c15u >> (64 - bits);
}

/* Sets the tag of a way of a narrow set. */
static inline void fth_narrow_set_tag(struct fth_narrow_set *narrow, uint32_t way, uint64_t line)
{
    uint64_t *tags = &narrow->tags[way / 8];
    *tags = (*tags & ~((uint64_t)0xff << way % 8 * 8)) | fth_lookup_hash(line, 8) << way % 8 * 8;
}

/* ---- clock.c: inline functions ---- */

/* The tags of a row. */
struct fth_row {
    uint32_t valid;      /* tags that are in use, one bit per tag */
    uint32_t hit;        /* those of them whose lines were hit since they were filled */
    uint64_t last_use[]; /* [row_ways] value of `now` at the last use of each line */
};

struct fth_hand_set {
    uint32_t hand;     /* the row that the hand visits next */
    uint32_t lines;    /* number of lines in the set */
    uint32_t capacity; /* maximum number of lines, with those that were evicted while pinned */
    bool pressed;      /* the last access was a miss for which the hand evicted one line */
    /* Lines that were evicted while they were pinned, and still are. The ends of their pins are in
     * a ring, the earliest first. */
    uint32_t held, first_held;
};

/* The state of the policy clock. Rows are counted over all sets. The slots of a row are row x
 * row_ways and the following ones. */
struct fth_clock {
    uint32_t rows, row_ways;   /* per set and per row */
    unsigned row_bits;         /* log2(rows) */
    unsigned row_shift;        /* log2(row_ways) */
    bool shifts;               /* row_ways is a power of two */
    uint32_t *order;           /* [rows] row of each value of the folded number; see fth_row_of */
    struct fth_hand_set *sets; /* [sets] */
    char *memory;              /* [sets * rows] struct fth_row of row_bytes each */
    size_t row_bytes;
    uint64_t now; /* number of fills and hits so far */
    /* Pinned lines; see fth_cache_pin(). */
    uint64_t time;        /* of the current access */
    uint64_t *pinned;     /* [slots] until when the line is pinned */
    uint64_t *held_until; /* [sets * max_ways] the rings of the sets */
    /* Rows to which lines were added since the cache was cleared, some more than once. If it has as
     * many elements as there are rows, it may be incomplete. */
    uint32_t *used_rows;
    uint32_t used_row_count;
};

/* Returns the number of the line among the lines of its set, for index functions other than XOR and
 * masks. */
uint64_t fth_clock_number(const struct fth_cache *cache, uint64_t line);

/* Returns the row of a line, by masks if there are any. Otherwise, its number in the set is folded:
 * all groups of row_bits bits are XORed. A table maps the result to a row. Any `rows` consecutive
 * and aligned numbers have different rows. */
static inline uint32_t fth_row_of(const struct fth_cache *cache, uint32_t set, uint64_t line)
{
    const struct fth_clock *clock = cache->clock;
    if (cache->index.kind == FTH_INDEX_PARITY)
        return set * clock->rows + (fth_parities_of(cache->index.parities, line) & UINT16_MAX);
    uint64_t number = cache->index.kind == FTH_INDEX_FOLD && cache->index.shift < 64
                          ? line >> cache->index.shift
                          : fth_clock_number(cache, line);
    if (clock->row_bits == 7) { /* the most frequent case: the L1 of the H200 has 128 rows */
        number ^= number >> 7;
        number ^= number >> 14;
        number ^= number >> 28;
        number ^= number >> 56;
    } else {
        for (unsigned step = clock->row_bits; step && step < 64; step *= 2)
            number ^= number >> step;
    }
    return set * clock->rows + clock->order[number & (clock->rows - 1)];
}

static inline struct fth_row *fth_row_at(const struct fth_clock *clock, uint32_t row)
{
    return (struct fth_row *)(void *)(clock->memory + row * clock->row_bytes);
}

static inline uint32_t fth_row_of_slot(const struct fth_clock *clock, uint32_t slot)
{
    return clock->shifts ? slot >> clock->row_shift : slot / clock->row_ways;
}

/* Marks the line of a slot as used. */
static inline void fth_clock_use(struct fth_clock *clock, uint32_t set, uint32_t slot)
{
    const uint32_t index = fth_row_of_slot(clock, slot), way = slot - index * clock->row_ways;
    struct fth_row *row = fth_row_at(clock, index);
    row->hit |= (uint32_t)1 << way;
    row->last_use[way] = ++clock->now;
    clock->sets[set].pressed = false;
}

/* Computes the rows of lines, from their addresses, for a cache with the policy clock and at most
 * 2^16 rows in each copy: the rows in the first copy. */
void fth_clock_rows(const struct fth_cache *cache, const uint64_t *addresses, size_t count,
                    uint16_t *rows);

/* Returns the slot of a row that holds the line, or FTH_NO_SLOT. */
static inline uint32_t fth_row_find(const struct fth_cache *cache, uint32_t row, uint64_t line)
{
    const uint32_t ways = cache->clock->row_ways, start = row * ways;
    const struct fth_line *lines = fth_line_of(cache, start);
    if (ways == 4) { /* as in an H200: without branches that depend on the way */
        const uint32_t found =
            (uint32_t)(lines[0].number == line) | (uint32_t)(lines[1].number == line) << 1 |
            (uint32_t)(lines[2].number == line) << 2 | (uint32_t)(lines[3].number == line) << 3;
        return found ? start + (uint32_t)__builtin_ctz(found) : FTH_NO_SLOT;
    }
    for (uint32_t way = 0; way < ways; way++)
        if (lines[way].number == line)
            return start + way;
    return FTH_NO_SLOT;
}

/* Returns the slot that holds the line, or FTH_NO_SLOT. */
static inline uint32_t fth_lookup_find(const struct fth_cache *cache, uint32_t set, uint64_t line)
{
    if (cache->clock)
        return fth_row_find(cache, fth_row_of(cache, set, line), line);
    if (cache->heads) {
        uint32_t slot = cache->heads[fth_lookup_hash(line, cache->head_bits)];
        while (slot != FTH_NO_SLOT && fth_line_of(cache, slot)->number != line)
            slot = cache->chain[slot];
        return slot;
    }
    const uint64_t ones = 0x0101010101010101u, key = fth_lookup_hash(line, 8) * ones;
    const struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    const uint32_t halves = cache->max_ways > 8 ? 2 : 1;
    uint32_t first = fth_set_first(cache, set);
    for (uint32_t half = 0; half < halves; half++, first += 8) {
        const uint64_t differ = narrow->tags[half] ^ key;
        /* `found` marks the bytes of `differ` that are 0, and possibly some bytes above such a
         * byte. The comparison of line numbers below rejects these. It also rejects slots past the
         * end of the set, which belong to other sets or are empty. */
        for (uint64_t found = (differ - ones) & ~differ & ones << 7; found; found &= found - 1) {
            const uint32_t slot = first + (uint32_t)__builtin_ctzll(found) / 8;
            if (fth_line_of(cache, slot)->number == line)
                return slot;
        }
    }
    return FTH_NO_SLOT;
}

/* ---- slot.c ---- */

/* Places the line, without valid sectors, in the first free way of its set. If no way is free, it
 * replaces the victim of the policy and reports it as evicted. A policy can evict further lines;
 * only the last one is reported. Returns the slot. */
uint32_t fth_slot_allocate(struct fth_cache *cache, uint32_t set, uint64_t line,
                           struct fth_cache_result *result);
/* Frees the slot and reports its line as evicted. */
void fth_slot_free(struct fth_cache *cache, uint32_t set, uint32_t slot,
                   struct fth_cache_result *result);
/* Returns those of `sectors` that contain a byte of `range` that was not written. */
uint64_t fth_slot_unwritten(const struct fth_cache *cache, uint32_t slot,
                            struct fth_access_range range, uint64_t sectors);
/* Returns those of `sectors` that contain a byte that was written. */
uint64_t fth_slot_written(const struct fth_cache *cache, uint32_t slot, uint64_t sectors);
/* Marks the bytes [from, to) of the line of a slot as written. `part`: their sectors that are not
 * valid. They become valid if all their bytes are written. */
void fth_slot_write_part(struct fth_cache *cache, uint32_t slot, uint64_t from, uint64_t to,
                         uint64_t part);

/* Returns the sectors that lie completely within the bytes [from, to) of a line. */
static inline uint64_t fth_whole_sectors(unsigned sector_shift, uint64_t from, uint64_t to)
{
    const uint64_t first = (from + ((uint64_t)1 << sector_shift) - 1) >> sector_shift;
    const uint64_t end = to >> sector_shift;
    return first < end ? ~(uint64_t)0 >> (64 - (end - first)) << first : 0;
}

/* Marks the bytes of the range as written. */
static inline void fth_slot_write(struct fth_cache *cache, uint32_t slot,
                                  struct fth_access_range range)
{
    uint64_t *valid = &fth_line_of(cache, slot)->valid;
    *valid |= fth_whole_sectors(cache->sector_shift, range.from, range.to);
    const uint64_t part = range.sectors & ~*valid;
    if (part) /* valid sectors need no byte mask */
        fth_slot_write_part(cache, slot, range.from, range.to, part);
}

/* Marks the sectors as neither valid nor written. */
void fth_slot_erase(struct fth_cache *cache, uint32_t slot, uint64_t sectors);

/* ---- order.c: a list of ways per set, newest first ---- */

FTH_MUST_USE enum fth_status fth_order_init(struct fth_cache *cache, struct fth_error *error);
/* These functions can be used directly as members of struct fth_policy. */
void fth_order_clear(struct fth_cache *cache);
void fth_order_add(struct fth_cache *cache, uint32_t set, uint32_t slot); /* as the newest */
void fth_order_remove(struct fth_cache *cache, uint32_t set, uint32_t slot);
/* Makes the slot the newest one. */
void fth_order_move_to_front(struct fth_cache *cache, uint32_t set, uint32_t slot);
/* Returns the oldest slot and makes it the newest one. */
uint32_t fth_order_victim(struct fth_cache *cache, uint32_t set);

/* ---- order.c: inline functions ---- */

/* The list of a wide set (one that is not narrow); see order.c. A tick is the number of an
 * operation that makes a slot the newest. */
struct fth_wide_set {
    uint32_t now;    /* the next tick */
    uint32_t low;    /* all words of `bits` before this one are 0 */
    uint64_t *bits;  /* [words] bit t is set if tick t is the last one of its slot */
    uint32_t *slots; /* [64 * words] slot of each tick */
    uint32_t words;  /* length of `bits` */
};

struct fth_order {
    struct fth_wide_set *wide; /* [sets] */
    uint32_t *ticks;           /* [slots] tick at which each slot last became the newest */
};

/* Renumbers the ticks whose bit is set to 0, 1, 2, …, in the same order, to make space for new
 * ticks. */
void fth_wide_compact(struct fth_wide_set *wide, uint32_t *ticks);

/* Returns the bit position of a way in `order`, which must contain it. The expression marks the
 * groups of four bits of `differ` that are 0. Only the lowest mark is used; others can be wrong. */
static inline unsigned fth_order_position(uint64_t order, uint32_t way)
{
    const uint64_t ones = 0x1111111111111111u, differ = order ^ way * ones;
    return (unsigned)__builtin_ctzll((differ - ones) & ~differ & ones << 3) & ~3u;
}

/* Returns the ways that are older than the one at a bit position of `order`, shifted to bit 0. */
static inline uint64_t fth_order_older(uint64_t order, unsigned position)
{
    return order >> position >> 4;
}

/* Returns the ways that are newer than the one at a bit position of `order`: the bits below it. */
static inline uint64_t fth_order_newer(uint64_t order, unsigned position)
{
    return order & (((uint64_t)1 << position) - 1);
}

/* Makes the way the newest one. Returns how many ways were newer before. */
static inline uint32_t fth_narrow_move_to_front(struct fth_narrow_set *narrow, uint32_t way)
{
    const unsigned position = fth_order_position(narrow->order, way);
    narrow->order = fth_order_older(narrow->order, position) << 4 << position |
                    fth_order_newer(narrow->order, position) << 4 | way;
    return position / 4;
}

static inline struct fth_wide_set *fth_wide_set_of(const struct fth_cache *cache, uint32_t set)
{
    return &((const struct fth_order *)cache->policy_state)->wide[set];
}

static inline uint32_t *fth_ticks_of(const struct fth_cache *cache)
{
    return ((const struct fth_order *)cache->policy_state)->ticks;
}

static inline void fth_wide_add(struct fth_wide_set *wide, uint32_t *ticks, uint32_t slot)
{
    if (wide->now == wide->words * 64)
        fth_wide_compact(wide, ticks);
    const uint32_t tick = wide->now++;
    wide->bits[tick / 64] |= (uint64_t)1 << (tick % 64);
    wide->slots[tick] = slot;
    ticks[slot] = tick;
}

static inline void fth_wide_remove(struct fth_wide_set *wide, uint32_t tick)
{
    wide->bits[tick / 64] &= ~((uint64_t)1 << (tick % 64));
}

/* Returns the number of slots that became the newest after the tick. */
static inline uint32_t fth_wide_newer(const struct fth_wide_set *wide, uint32_t tick)
{
    const uint32_t last = (wide->now - 1) / 64;
    uint32_t word = tick / 64;
    uint32_t count = (uint32_t)__builtin_popcountll(wide->bits[word] >> (tick % 64) >> 1);
    while (++word <= last)
        count += (uint32_t)__builtin_popcountll(wide->bits[word]);
    return count;
}

/* Makes the slot the newest one of its set. Returns how many slots were newer before. */
static inline uint32_t fth_order_touch(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->narrow_sets)
        return fth_narrow_move_to_front(&cache->narrow_sets[set], slot - fth_set_first(cache, set));
    struct fth_wide_set *wide = fth_wide_set_of(cache, set);
    uint32_t *ticks = fth_ticks_of(cache);
    const uint32_t tick = ticks[slot];
    if (tick + 1 == wide->now)
        return 0; /* it already is the newest */
    const uint32_t position = fth_wide_newer(wide, tick);
    fth_wide_remove(wide, tick);
    fth_wide_add(wide, ticks, slot);
    return position;
}

/* ---- access.c and its inline functions ---- */

/* Returns those of `missing` (sectors that are not valid) that contain a byte of the runs that was
 * not written. */
uint64_t fth_slot_unwritten_runs(const struct fth_cache *cache, uint32_t slot, uint64_t missing,
                                 const struct fth_cache_run *runs, size_t count);

/* Updates the replacement state after an access to the line of the slot. Returns the reuse distance
 * if the cache reports distances, otherwise UINT32_MAX. A cache that reports distances has the
 * policy LRU, so the order can be updated directly. */
static inline uint32_t fth_slot_use(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    if (cache->distances)
        return fth_order_touch(cache, set, slot);
    if (cache->clock)
        fth_clock_use(cache->clock, set, slot);
    else if (cache->policy->used)
        cache->policy->used(cache, set, slot);
    return UINT32_MAX;
}

static inline uint32_t fth_cache_set(const struct fth_cache *cache, uint64_t address)
{
    return fth_index_set(&cache->index, address >> cache->line_shift);
}

static inline struct fth_cache_location fth_cache_locate_in(const struct fth_cache *cache,
                                                            uint32_t first, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    const uint32_t set = first + fth_index_set(&cache->index, line);
    return (struct fth_cache_location){line, set, fth_lookup_find(cache, set, line)};
}

/* The same for a line whose row is known, with the policy clock. */
static inline struct fth_cache_location fth_cache_locate_row(const struct fth_cache *cache,
                                                             uint32_t row, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    return (struct fth_cache_location){line, row >> cache->clock->row_bits,
                                       fth_row_find(cache, row, line)};
}

static inline struct fth_cache_location fth_cache_locate(const struct fth_cache *cache,
                                                         uint64_t address)
{
    return fth_cache_locate_in(cache, 0, address);
}

static inline struct fth_cache_location fth_cache_locate_set(const struct fth_cache *cache,
                                                             uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    return (struct fth_cache_location){line, fth_index_set(&cache->index, line), FTH_NO_SLOT};
}

/* The same as fth_cache_prepare() for a row of the policy clock. */
static inline uint32_t fth_cache_prepare_row(const struct fth_cache *cache, uint32_t row)
{
    const uint32_t slot = row * cache->clock->row_ways;
    __builtin_prefetch(fth_line_of(cache, slot));
    __builtin_prefetch(fth_row_at(cache->clock, row));
    return slot;
}

/* The same for a set of another policy. */
static inline uint32_t fth_cache_prepare_set(const struct fth_cache *cache, uint32_t set,
                                             uint64_t line)
{
    if (cache->heads)
        __builtin_prefetch(&cache->heads[fth_lookup_hash(line, cache->head_bits)]);
    else
        __builtin_prefetch(&cache->narrow_sets[set]);
    return fth_set_first(cache, set);
}

static inline uint32_t fth_cache_prepare(const struct fth_cache *cache, uint32_t first,
                                         uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    const uint32_t set = first + fth_index_set(&cache->index, line);
    if (cache->clock)
        return fth_cache_prepare_row(cache, fth_row_of(cache, set, line));
    return fth_cache_prepare_set(cache, set, line);
}

static inline uint32_t fth_cache_prepare_slot(const struct fth_cache *cache, uint32_t set,
                                              uint64_t address, bool *found)
{
    *found = false;
    const uint64_t line = address >> cache->line_shift;
    uint32_t slot = fth_set_first(cache, set);
    if (!cache->narrow_sets)
        return slot;
    /* The first way whose tag matches, else a free way or the oldest one. */
    const struct fth_narrow_set *narrow = &cache->narrow_sets[set];
    const uint64_t ones = 0x0101010101010101u, key = fth_lookup_hash(line, 8) * ones;
    const uint64_t low = narrow->tags[0] ^ key, high = narrow->tags[1] ^ key;
    const uint64_t low_found = (low - ones) & ~low & ones << 7;
    const uint64_t high_found = (high - ones) & ~high & ones << 7;
    *found = low_found || high_found;
    if (low_found)
        slot += (uint32_t)__builtin_ctzll(low_found) / 8;
    else if (high_found)
        slot += 8 + (uint32_t)__builtin_ctzll(high_found) / 8;
    else if (narrow->count)
        slot += narrow->count < cache->min_ways
                    ? narrow->count
                    : (uint32_t)(narrow->order >> 4 * (narrow->count - 1) & 15);
    __builtin_prefetch(fth_line_of(cache, slot));
    return slot;
}

static inline void fth_cache_locate_again(const struct fth_cache *cache,
                                          struct fth_cache_location *location)
{
    if (location->slot == FTH_NO_SLOT ||
        fth_line_of(cache, location->slot)->number != location->line)
        location->slot = fth_lookup_find(cache, location->set, location->line);
}

static inline uint64_t fth_cache_missing(const struct fth_cache *cache,
                                         const struct fth_cache_location *location,
                                         uint64_t sectors, const struct fth_cache_run *runs,
                                         size_t count)
{
    if (location->slot == FTH_NO_SLOT)
        return sectors;
    const uint64_t missing = sectors & ~fth_line_of(cache, location->slot)->valid;
    return missing && count && cache->write->keeps_bytes
               ? fth_slot_unwritten_runs(cache, location->slot, missing, runs, count)
               : missing;
}

static inline void fth_cache_set_time(struct fth_cache *cache, uint64_t now)
{
    if (cache->clock)
        cache->clock->time = now;
}

static inline uint64_t fth_cache_time(const struct fth_cache *cache, uint64_t now)
{
    return cache->clock ? cache->clock->time : now;
}

static inline void fth_cache_pin(struct fth_cache *cache, uint32_t slot, uint64_t until)
{
    if (cache->clock && until > cache->clock->pinned[slot])
        cache->clock->pinned[slot] = until;
}

static inline uint64_t fth_cache_fill(struct fth_cache *cache, struct fth_cache_location *location,
                                      uint64_t sectors, struct fth_cache_result *result)
{
    result->distance = UINT32_MAX;
    result->evicted = false;
    if (location->slot == FTH_NO_SLOT)
        location->slot = fth_slot_allocate(cache, location->set, location->line, result);
    else
        result->distance = fth_slot_use(cache, location->set, location->slot);
    uint64_t *valid = &fth_line_of(cache, location->slot)->valid;
    sectors &= ~*valid;
    if (sectors)
        *valid |= sectors;
    return sectors;
}

#endif
