/* Exact stack distances: for each number in a stream, how many different numbers occurred since its
 * previous occurrence (Mattson et al., 1970). They are counted with a tree over time, as Bennett
 * and Kruskal do (1975).
 *
 * Time is an array of bits, one per access since the last compaction. A bit is set if its access is
 * the last occurrence of its number so far. The distance of an access is the number of set bits
 * after the previous occurrence. A tree with 16 children per node stores prefix sums: for each
 * child, how many bits are set in the children to its left within the same node.
 *
 *     lowest level   one node covers 16 words of 64 bits    0  61  120  150 ...
 *     middle level   one node covers 16 lowest nodes        0  700  1320 ...
 *     upper levels   the same, with 32-bit counts
 *
 * The number of set bits up to a time is the sum of one prefix per level, plus a population count
 * within the word. Clearing a bit decrements the prefixes of all children to its right, in one node
 * per level; this is a vector subtraction over 16 elements without branches. Setting a bit at the
 * current end of time changes no prefix, because the prefix of a child is computed when time enters
 * it. When the bit array is full, the set bits are compacted to its beginning, and the array
 * doubles if at least half of them are set. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

enum { FANOUT_BITS = 4, FANOUT = 1 << FANOUT_BITS, LOWEST_BITS = 6 + FANOUT_BITS };
/* LARGE_LEVELS: with two levels of 16-bit counts and five of 32-bit counts the tree can cover
 * 2^(10 + 4 + 20) bits, more than `span` can hold.
 * TABLE_AHEAD, TREE_AHEAD: how many accesses ahead the hash table and the tree are prefetched.
 * PENDING: how many distances wait for the prefetch of their profile entry. All three are
 * chosen, not derived. */
enum { LARGE_LEVELS = 5, TABLE_AHEAD = 48, TREE_AHEAD = 16, PENDING = 16 };

struct last_use {
    uint64_t number;
    uint32_t time; /* of the last occurrence, plus 1; 0: the entry is free */
};

/* Nodes of the tree: for each child, the number of bits set in the children before it. */
struct small_node {
    uint16_t prefix[FANOUT];
};

struct large_node {
    uint32_t prefix[FANOUT];
};

struct fth_distances {
    struct last_use *table;
    size_t capacity; /* of the hash table, a power of two */
    size_t used;     /* different numbers so far, which is also the number of set bits */
    unsigned shift;  /* of the hash: 64 - log2(capacity) */
    uint64_t *bits;
    struct small_node *lowest, *middle; /* lowest and middle level: [span >> 10], [span >> 14] */
    struct large_node *upper[LARGE_LEVELS];
    int levels;         /* upper levels in use, until one node covers everything */
    uint32_t span, now; /* size of the bit array; the next time, which is the next bit */
    uint64_t *profile;  /* number of accesses by distance */
    size_t profile_count, profile_capacity;
    uint64_t fresh; /* first occurrences */
};

static size_t hash(const struct fth_distances *distances, uint64_t number)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> distances->shift);
}

static bool allocate_time(struct fth_distances *distances, uint32_t span)
{
    distances->span = span;
    distances->bits = calloc(span / 64 + 1, sizeof *distances->bits);
    distances->lowest = calloc((span >> LOWEST_BITS) + 1, sizeof *distances->lowest);
    distances->middle =
        calloc((span >> (LOWEST_BITS + FANOUT_BITS)) + 1, sizeof *distances->middle);
    bool made = distances->bits && distances->lowest && distances->middle;
    size_t nodes = span >> (LOWEST_BITS + FANOUT_BITS);
    distances->levels = 0;
    for (int level = 0; level < LARGE_LEVELS; level++) {
        distances->levels += nodes > 1;
        nodes >>= FANOUT_BITS;
        distances->upper[level] = calloc(nodes + 1, sizeof *distances->upper[level]);
        made = made && distances->upper[level];
    }
    return made;
}

static void release_time(struct fth_distances *distances)
{
    free(distances->bits);
    free(distances->lowest);
    free(distances->middle);
    for (int level = 0; level < LARGE_LEVELS; level++)
        free(distances->upper[level]);
}

/* Computes the prefixes of the word that `now` enters, and of the nodes that begin with this word.
 * `carry` is the number of bits set in the subtree before it. */
static void enter_word(struct fth_distances *distances)
{
    size_t at = distances->now / 64;
    uint32_t carry = at ? (uint32_t)__builtin_popcountll(distances->bits[at - 1]) : 0;
    for (int level = -2; level < distances->levels; level++) {
        const size_t child = at % FANOUT, node = at / FANOUT;
        if (level < 0) {
            struct small_node *nodes = level == -2 ? distances->lowest : distances->middle;
            if (child) {
                nodes[node].prefix[child] = (uint16_t)(nodes[node].prefix[child - 1] + carry);
                return;
            }
            carry += node ? nodes[node - 1].prefix[FANOUT - 1] : 0;
        } else {
            struct large_node *nodes = distances->upper[level];
            if (child) {
                nodes[node].prefix[child] = nodes[node].prefix[child - 1] + carry;
                return;
            }
            carry += node ? nodes[node - 1].prefix[FANOUT - 1] : 0;
        }
        at = node;
    }
}

static void set_bit(struct fth_distances *distances, uint32_t time)
{
    if (time % 64 == 0)
        enter_word(distances);
    distances->bits[time / 64] |= UINT64_C(1) << (time % 64);
}

/* Decrements the prefixes to the right of a child. Written so that compilers vectorise it. */
static inline void decrement_small(struct small_node *node, uint32_t child)
{
    for (uint32_t i = 0; i < FANOUT; i++)
        node->prefix[i] = (uint16_t)(node->prefix[i] - (i > child));
}

static inline void decrement_large(struct large_node *node, uint32_t child)
{
    for (uint32_t i = 0; i < FANOUT; i++)
        node->prefix[i] -= i > child;
}

/* Returns the number of bits set up to and including `time`. With `clear`, clears that bit
 * afterwards. */
static inline uint32_t count_older(struct fth_distances *distances, uint32_t time, bool clear)
{
    uint64_t *word = &distances->bits[time / 64];
    uint32_t older = (uint32_t)__builtin_popcountll(*word << (63 - time % 64));
    uint32_t at = time / 64;
    struct small_node *lowest_node = &distances->lowest[at / FANOUT];
    older += lowest_node->prefix[at % FANOUT];
    if (clear) {
        *word &= ~(UINT64_C(1) << (time % 64));
        decrement_small(lowest_node, at % FANOUT);
    }
    at /= FANOUT;
    struct small_node *middle_node = &distances->middle[at / FANOUT];
    older += middle_node->prefix[at % FANOUT];
    if (clear)
        decrement_small(middle_node, at % FANOUT);
    for (int level = 0; level < distances->levels; level++) {
        at /= FANOUT;
        struct large_node *child = &distances->upper[level][at / FANOUT];
        older += child->prefix[at % FANOUT];
        if (clear)
            decrement_large(child, at % FANOUT);
    }
    return older;
}

enum fth_status fth_distances_create(struct fth_distances **out, struct fth_error *error)
{
    struct fth_distances *distances = calloc(1, sizeof *distances);
    *out = NULL;
    if (distances) {
        distances->capacity = 1 << 12;
        distances->shift = 64 - 12;
        distances->table = calloc(distances->capacity, sizeof *distances->table);
    }
    if (!distances || !distances->table || !allocate_time(distances, 1 << 12)) {
        fth_distances_destroy(distances);
        return fth_no_memory(error, "count distances", NULL);
    }
    *out = distances;
    return FTH_OK;
}

void fth_distances_destroy(struct fth_distances *distances)
{
    if (!distances)
        return;
    release_time(distances);
    free(distances->table);
    free(distances->profile);
    free(distances);
}

/* Doubles the hash table. Returns false without memory, or with too many different numbers. */
static bool grow_table(struct fth_distances *distances)
{
    struct last_use *prefix = distances->table;
    const size_t count = distances->capacity;
    struct last_use *table = calloc(2 * count, sizeof *table);
    if (!table || distances->used >= UINT32_MAX / 4) {
        free(table);
        return false;
    }
    fth_memory_use_large_pages(table, 2 * count * sizeof *table);
    distances->table = table;
    distances->capacity = 2 * count;
    distances->shift--;
    for (size_t i = 0; i < count; i++) {
        if (!prefix[i].time)
            continue;
        size_t at = hash(distances, prefix[i].number);
        while (table[at].time)
            at = (at + 1) & (distances->capacity - 1);
        table[at] = prefix[i];
    }
    free(prefix);
    return true;
}

/* Fills the new arrays after a compaction: the first `used` bits are set, and no other bit is. */
static void rebuild_time(struct fth_distances *distances)
{
    memset(distances->bits, 0xff, distances->used / 64 * sizeof *distances->bits);
    distances->now = (uint32_t)distances->used;
    if (distances->now % 64)
        distances->bits[distances->now / 64] = (UINT64_C(1) << (distances->now % 64)) - 1;
    const uint32_t end = distances->now;
    for (uint32_t i = 0; i <= end >> 6; i++)
        distances->lowest[i / FANOUT].prefix[i % FANOUT] = (uint16_t)(i % FANOUT << 6);
    for (uint32_t i = 0; i <= end >> LOWEST_BITS; i++)
        distances->middle[i / FANOUT].prefix[i % FANOUT] = (uint16_t)(i % FANOUT << LOWEST_BITS);
    unsigned width = LOWEST_BITS + FANOUT_BITS; /* log2 of the bits that one child covers */
    for (int level = 0; level < distances->levels; level++, width += FANOUT_BITS)
        for (uint32_t i = 0; i <= end >> width; i++)
            distances->upper[level][i / FANOUT].prefix[i % FANOUT] = i % FANOUT << width;
}

/* Moves the set bits to the beginning of time. Doubles the array if at least half of it is in use.
 */
static bool compact(struct fth_distances *distances)
{
    struct fth_distances old = *distances;
    uint32_t span = old.span;
    if (distances->used >= span / 2) {
        if (span >= UINT32_C(1) << 31)
            return false;
        span *= 2;
    }
    if (!allocate_time(distances, span)) {
        release_time(distances);
        memcpy(distances, &old, sizeof old);
        return false;
    }
    for (size_t i = 0; i < distances->capacity; i++) {
        struct last_use *entry = &distances->table[i];
        if (entry->time)
            entry->time = count_older(&old, entry->time - 1, false);
    }
    rebuild_time(distances);
    release_time(&old);
    return true;
}

/* Enlarges the profile so that it has an entry for `distance`. */
static bool grow_profile(struct fth_distances *distances, uint64_t distance)
{
    size_t capacity = distances->profile_capacity ? distances->profile_capacity : 1024;
    while (capacity <= distance)
        capacity *= 2;
    uint64_t *profile = realloc(distances->profile, capacity * sizeof *profile);
    if (!profile)
        return false;
    fth_memory_use_large_pages(profile + distances->profile_capacity,
                               (capacity - distances->profile_capacity) * sizeof *profile);
    memset(profile + distances->profile_capacity, 0,
           (capacity - distances->profile_capacity) * sizeof *profile);
    distances->profile = profile;
    distances->profile_capacity = capacity;
    return true;
}

/* A ring of distances that are not counted in the profile yet. Their profile entries were
 * prefetched, and are incremented PENDING accesses later. */
struct pending_counts {
    uint64_t distances[PENDING];
    size_t count;
};

static inline bool add_to_profile(struct fth_distances *distances, struct pending_counts *pending,
                                  uint64_t distance)
{
    if (distance >= distances->profile_capacity && !grow_profile(distances, distance))
        return false;
    if (distance >= distances->profile_count)
        distances->profile_count = (size_t)distance + 1;
    __builtin_prefetch(&distances->profile[distance], 1);
    uint64_t *entry = &pending->distances[pending->count++ % PENDING];
    if (pending->count > PENDING)
        distances->profile[*entry]++;
    *entry = distance;
    return true;
}

static void flush_pending(struct fth_distances *distances, const struct pending_counts *pending)
{
    for (size_t i = 0; i < pending->count && i < PENDING; i++)
        distances->profile[pending->distances[i]]++;
}

/* Prefetches what the following accesses need: first the entry of the hash table and, when that has
 * arrived, the bits and the node that the entry refers to. (This is a macro because GCC 12 removes
 * calls of a function that only prefetches, taking it for one without effect.) */
#define PREFETCH(distances, numbers, left)                                                         \
    do {                                                                                           \
        if ((left) > TABLE_AHEAD)                                                                  \
            __builtin_prefetch(&(distances)->table[hash(distances, (numbers)[TABLE_AHEAD])], 1);   \
        if ((left) > TREE_AHEAD) {                                                                 \
            const uint32_t time = (distances)->table[hash(distances, (numbers)[TREE_AHEAD])].time; \
            const uint32_t word = (time ? time - 1 : 0) / 64;                                      \
            __builtin_prefetch(&(distances)->bits[word], 1);                                       \
            __builtin_prefetch(&(distances)->lowest[word / FANOUT], 1);                            \
        }                                                                                          \
    } while (0)

static inline struct last_use *find(const struct fth_distances *distances, uint64_t number)
{
    size_t at = hash(distances, number);
    while (distances->table[at].time && distances->table[at].number != number)
        at = (at + 1) & (distances->capacity - 1);
    return &distances->table[at];
}

FTH_CLONES
static bool add_numbers(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                        uint64_t *out)
{
    struct pending_counts pending = {.count = 0};
    bool made = true;
    for (size_t i = 0; i < count && made; i++) {
        PREFETCH(distances, numbers + i, count - i);
        if ((distances->used >= distances->capacity / 4 * 3 && !grow_table(distances)) ||
            (distances->now == distances->span && !compact(distances))) {
            made = false;
            break;
        }
        struct last_use *entry = find(distances, numbers[i]);
        uint64_t distance = UINT64_MAX;
        if (!entry->time) {
            entry->number = numbers[i];
            distances->used++;
            distances->fresh++;
        } else {
            /* A repetition of the latest number: its bit stays the last one. */
            distance = entry->time == distances->now
                           ? 0
                           : distances->used - count_older(distances, entry->time - 1, true);
            made = add_to_profile(distances, &pending, distance);
        }
        if (out)
            out[i] = distance;
        if (distance == 0)
            continue;
        set_bit(distances, distances->now);
        entry->time = ++distances->now;
    }
    flush_pending(distances, &pending);
    return made;
}

bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out)
{
    return add_numbers(distances, numbers, count, out);
}

const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh)
{
    *count = distances->profile_count;
    *fresh = distances->fresh;
    return distances->profile;
}
