/* Exact stack distances: of each number in a stream, how many others came since it did (Mattson et
 * al., 1970; counted with a tree over time as Bennett and Kruskal do, 1975).
 *
 * Time is a line of bits of which those are set at which a number came last; the distance is how
 * many are set behind it. A tree over the bits, sixteen branches a node, has for each branch how
 * many are set in those before it:
 *
 *     level 0   a node is 16 words     0  61  120  150 …     of 64 bits
 *     level 1   ... 16 such nodes      0  700  1320 …
 *
 * So what is set up to a time is one number from each level, and the rest is behind it. When a bit
 * is cleared, every branch behind it in its nodes has one less, which is one subtraction for all
 * sixteen without a branch in the program. Setting one at the end of time changes nothing: a branch
 * gets its number when time reaches it. When time is used up, the bits that are set move together,
 * or into twice as many. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { FANOUT_BITS = 4, FANOUT = 1 << FANOUT_BITS, LEAF_BITS = 6 + FANOUT_BITS };
/* Two levels of small counts and at most five of large ones: 2^(10 + 4 + 20) bits. */
enum { LARGE_LEVELS = 5, AHEAD = 48, NEAR = 16, LATER = 16 };

struct place {
    uint64_t number;
    uint32_t time; /* + 1; 0: free */
};

struct small {
    uint16_t before[FANOUT];
};

struct large {
    uint32_t before[FANOUT];
};

struct fth_distances {
    struct place *table;
    size_t capacity, used; /* a power of two */
    unsigned shift;        /* of the hash */
    uint64_t *bits;
    struct small *leaves, *twigs; /* [span >> 10], [span >> 14] */
    struct large *branches[LARGE_LEVELS];
    int levels;         /* of branches: until one node is enough */
    uint32_t span, now; /* bits */
    uint64_t *profile;
    size_t profile_count, profile_capacity;
    uint64_t fresh;
};

static size_t hash(const struct fth_distances *distances, uint64_t number)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> distances->shift);
}

static bool make_time(struct fth_distances *distances, uint32_t span)
{
    distances->span = span;
    distances->bits = calloc(span / 64 + 1, sizeof *distances->bits);
    distances->leaves = calloc((span >> LEAF_BITS) + 1, sizeof *distances->leaves);
    distances->twigs = calloc((span >> (LEAF_BITS + FANOUT_BITS)) + 1, sizeof *distances->twigs);
    bool made = distances->bits && distances->leaves && distances->twigs;
    size_t nodes = span >> (LEAF_BITS + FANOUT_BITS);
    distances->levels = 0;
    for (int level = 0; level < LARGE_LEVELS; level++) {
        distances->levels += nodes > 1;
        nodes >>= FANOUT_BITS;
        distances->branches[level] = calloc(nodes + 1, sizeof *distances->branches[level]);
        made = made && distances->branches[level];
    }
    return made;
}

static void free_time(struct fth_distances *distances)
{
    free(distances->bits);
    free(distances->leaves);
    free(distances->twigs);
    for (int level = 0; level < LARGE_LEVELS; level++)
        free(distances->branches[level]);
}

/* Time reaches another word, of which the one before has `carry`, and perhaps other nodes. */
static void reach(struct fth_distances *distances)
{
    size_t at = distances->now / 64;
    uint32_t carry = at ? (uint32_t)__builtin_popcountll(distances->bits[at - 1]) : 0;
    for (int level = -2; level < distances->levels; level++) {
        const size_t branch = at % FANOUT, node = at / FANOUT;
        if (level < 0) {
            struct small *nodes = level == -2 ? distances->leaves : distances->twigs;
            if (branch) {
                nodes[node].before[branch] = (uint16_t)(nodes[node].before[branch - 1] + carry);
                return;
            }
            carry += node ? nodes[node - 1].before[FANOUT - 1] : 0;
        } else {
            struct large *nodes = distances->branches[level];
            if (branch) {
                nodes[node].before[branch] = nodes[node].before[branch - 1] + carry;
                return;
            }
            carry += node ? nodes[node - 1].before[FANOUT - 1] : 0;
        }
        at = node;
    }
}

static void set(struct fth_distances *distances, uint32_t time)
{
    if (time % 64 == 0)
        reach(distances);
    distances->bits[time / 64] |= UINT64_C(1) << (time % 64);
}

/* What comes behind the branch has one less, which a machine does for many at once. */
static inline void lessen_small(struct small *node, uint32_t branch)
{
    for (uint32_t i = 0; i < FANOUT; i++)
        node->before[i] = (uint16_t)(node->before[i] - (i > branch));
}

static inline void lessen_large(struct large *node, uint32_t branch)
{
    for (uint32_t i = 0; i < FANOUT; i++)
        node->before[i] -= i > branch;
}

/* How many bits are set up to `time`; this one is cleared, where that is wanted. */
static inline uint32_t count_older(struct fth_distances *distances, uint32_t time, bool clear)
{
    uint64_t *word = &distances->bits[time / 64];
    uint32_t older = (uint32_t)__builtin_popcountll(*word << (63 - time % 64));
    uint32_t at = time / 64;
    struct small *leaf = &distances->leaves[at / FANOUT];
    older += leaf->before[at % FANOUT];
    if (clear) {
        *word &= ~(UINT64_C(1) << (time % 64));
        lessen_small(leaf, at % FANOUT);
    }
    at /= FANOUT;
    struct small *twig = &distances->twigs[at / FANOUT];
    older += twig->before[at % FANOUT];
    if (clear)
        lessen_small(twig, at % FANOUT);
    for (int level = 0; level < distances->levels; level++) {
        at /= FANOUT;
        struct large *branch = &distances->branches[level][at / FANOUT];
        older += branch->before[at % FANOUT];
        if (clear)
            lessen_large(branch, at % FANOUT);
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
    if (!distances || !distances->table || !make_time(distances, 1 << 12)) {
        fth_distances_destroy(distances);
        return fth_fail(error, FTH_NO_MEMORY, "count distances", NULL, "out of memory");
    }
    *out = distances;
    return FTH_OK;
}

void fth_distances_destroy(struct fth_distances *distances)
{
    if (!distances)
        return;
    free_time(distances);
    free(distances->table);
    free(distances->profile);
    free(distances);
}

/* Twice the table. */
static bool grow_table(struct fth_distances *distances)
{
    struct place *before = distances->table;
    const size_t count = distances->capacity;
    struct place *table = calloc(2 * count, sizeof *table);
    if (!table || distances->used >= UINT32_MAX / 4) {
        free(table);
        return false;
    }
    fth_memory_large(table, 2 * count * sizeof *table);
    distances->table = table;
    distances->capacity = 2 * count;
    distances->shift--;
    for (size_t i = 0; i < count; i++) {
        if (!before[i].time)
            continue;
        size_t at = hash(distances, before[i].number);
        while (table[at].time)
            at = (at + 1) & (distances->capacity - 1);
        table[at] = before[i];
    }
    free(before);
    return true;
}

/* The first `used` bits are set, and with them every branch before the end is full. */
static void fill_time(struct fth_distances *distances)
{
    memset(distances->bits, 0xff, distances->used / 64 * sizeof *distances->bits);
    distances->now = (uint32_t)distances->used;
    if (distances->now % 64)
        distances->bits[distances->now / 64] = (UINT64_C(1) << (distances->now % 64)) - 1;
    const uint32_t end = distances->now;
    for (uint32_t i = 0; i <= end >> 6; i++)
        distances->leaves[i / FANOUT].before[i % FANOUT] = (uint16_t)(i % FANOUT << 6);
    for (uint32_t i = 0; i <= end >> LEAF_BITS; i++)
        distances->twigs[i / FANOUT].before[i % FANOUT] = (uint16_t)(i % FANOUT << LEAF_BITS);
    unsigned width = LEAF_BITS + FANOUT_BITS; /* of a branch, in bits of its number */
    for (int level = 0; level < distances->levels; level++, width += FANOUT_BITS)
        for (uint32_t i = 0; i <= end >> width; i++)
            distances->branches[level][i / FANOUT].before[i % FANOUT] = i % FANOUT << width;
}

/* Moves the bits that are set together, and makes sure that at least as many are free. */
static bool compact(struct fth_distances *distances)
{
    struct fth_distances old = *distances;
    uint32_t span = old.span;
    if (distances->used >= span / 2) {
        if (span >= UINT32_C(1) << 31)
            return false;
        span *= 2;
    }
    if (!make_time(distances, span)) {
        free_time(distances);
        memcpy(distances, &old, sizeof old);
        return false;
    }
    for (size_t i = 0; i < distances->capacity; i++) {
        struct place *place = &distances->table[i];
        if (place->time)
            place->time = count_older(&old, place->time - 1, false);
    }
    fill_time(distances);
    free_time(&old);
    return true;
}

/* Makes room for a distance in the profile. */
static bool reserve(struct fth_distances *distances, uint64_t distance)
{
    size_t capacity = distances->profile_capacity ? distances->profile_capacity : 1024;
    while (capacity <= distance)
        capacity *= 2;
    uint64_t *profile = realloc(distances->profile, capacity * sizeof *profile);
    if (!profile)
        return false;
    fth_memory_large(profile + distances->profile_capacity,
                     (capacity - distances->profile_capacity) * sizeof *profile);
    memset(profile + distances->profile_capacity, 0,
           (capacity - distances->profile_capacity) * sizeof *profile);
    distances->profile = profile;
    distances->profile_capacity = capacity;
    return true;
}

/* Distances that are to be counted, in the order in which they were met: their places in the
 * profile are under way. */
struct later {
    uint64_t distances[LATER];
    size_t count;
};

static inline bool note(struct fth_distances *distances, struct later *later, uint64_t distance)
{
    if (distance >= distances->profile_capacity && !reserve(distances, distance))
        return false;
    if (distance >= distances->profile_count)
        distances->profile_count = (size_t)distance + 1;
    __builtin_prefetch(&distances->profile[distance], 1);
    uint64_t *place = &later->distances[later->count++ % LATER];
    if (later->count > LATER)
        distances->profile[*place]++;
    *place = distance;
    return true;
}

static void note_rest(struct fth_distances *distances, const struct later *later)
{
    for (size_t i = 0; i < later->count && i < LATER; i++)
        distances->profile[later->distances[i]]++;
}

/* What the next ones will need is fetched ahead: the place in the table first, and once that is
 * there, where its time is. (A function that does nothing else is left out by GCC 12, which takes
 * it for one without effect.) */
#define FETCH(distances, numbers, left)                                                            \
    do {                                                                                           \
        if ((left) > AHEAD)                                                                        \
            __builtin_prefetch(&(distances)->table[hash(distances, (numbers)[AHEAD])], 1);         \
        if ((left) > NEAR) {                                                                       \
            const uint32_t time = (distances)->table[hash(distances, (numbers)[NEAR])].time;       \
            const uint32_t word = (time ? time - 1 : 0) / 64;                                      \
            __builtin_prefetch(&(distances)->bits[word], 1);                                       \
            __builtin_prefetch(&(distances)->leaves[word / FANOUT], 1);                            \
        }                                                                                          \
    } while (0)

static inline struct place *find(const struct fth_distances *distances, uint64_t number)
{
    size_t at = hash(distances, number);
    while (distances->table[at].time && distances->table[at].number != number)
        at = (at + 1) & (distances->capacity - 1);
    return &distances->table[at];
}

bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out)
{
    struct later later = {.count = 0};
    bool made = true;
    for (size_t i = 0; i < count && made; i++) {
        FETCH(distances, numbers + i, count - i);
        if ((distances->used >= distances->capacity / 4 * 3 && !grow_table(distances)) ||
            (distances->now == distances->span && !compact(distances))) {
            made = false;
            break;
        }
        struct place *place = find(distances, numbers[i]);
        uint64_t distance = UINT64_MAX;
        if (!place->time) {
            place->number = numbers[i];
            distances->used++;
            distances->fresh++;
        } else {
            /* The newest still is. */
            distance = place->time == distances->now
                           ? 0
                           : distances->used - count_older(distances, place->time - 1, true);
            made = note(distances, &later, distance);
        }
        if (out)
            out[i] = distance;
        if (distance == 0)
            continue;
        set(distances, distances->now);
        place->time = ++distances->now;
    }
    note_rest(distances, &later);
    return made;
}

const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh)
{
    *count = distances->profile_count;
    *fresh = distances->fresh;
    return distances->profile;
}
