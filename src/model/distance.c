/* Exact stack distances: of each number in a stream, how many others came since it did (Mattson et
 * al., 1970; counted with a tree over time as Bennett and Kruskal do, 1975).
 *
 * Time is a line of bits of which those are set at which a number came last. A tree over it, eight
 * branches a node, holds how many are set: the distance is what is set to the right, and one climbs
 * only as high as it takes to find the end of time, so that short distances cost little. When the
 * bits are used up, those that are set move together, or into twice as many. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { LEVELS = 12, FANOUT_BITS = 3, AHEAD = 16, NEAR = 8 };

struct place {
    uint64_t number;
    uint32_t time; /* + 1; 0: free */
};

struct fth_distances {
    struct place *table;
    size_t capacity, used; /* a power of two */
    unsigned shift;        /* of the hash */
    uint64_t *bits;
    uint32_t *counts[LEVELS]; /* counts[i][n]: set bits of node n, 8^(i+1) words wide */
    uint32_t span, now;       /* bits */
    uint32_t *owner;          /* [span] the place in the table that came then */
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
    distances->bits = calloc(span / 64, sizeof *distances->bits);
    distances->owner = malloc(span * sizeof *distances->owner);
    bool made = distances->bits && distances->owner;
    size_t nodes = span / 64;
    for (int level = 0; level < LEVELS; level++) {
        nodes = (nodes >> FANOUT_BITS) + 1;
        distances->counts[level] = calloc(nodes, sizeof *distances->counts[level]);
        made = made && distances->counts[level];
    }
    return made;
}

static void free_time(struct fth_distances *distances)
{
    free(distances->bits);
    free(distances->owner);
    for (int level = 0; level < LEVELS; level++)
        free(distances->counts[level]);
}

static void set(struct fth_distances *distances, uint32_t time)
{
    size_t node = time / 64;
    distances->bits[node] |= UINT64_C(1) << (time % 64);
    for (int level = 0; level < LEVELS && node; level++) {
        node >>= FANOUT_BITS;
        distances->counts[level][node]++;
    }
}

static void unset(struct fth_distances *distances, uint32_t time)
{
    size_t node = time / 64;
    distances->bits[node] &= ~(UINT64_C(1) << (time % 64));
    for (int level = 0; level < LEVELS && node; level++) {
        node >>= FANOUT_BITS;
        distances->counts[level][node]--;
    }
}

/* How many bits are set right of `time`. */
static uint64_t count_newer(const struct fth_distances *distances, uint32_t time)
{
    size_t node = time / 64, last = (distances->now - 1) / 64;
    uint64_t newer =
        (uint64_t)__builtin_popcountll(distances->bits[node] & ~UINT64_C(1) << (time % 64));
    size_t end = node | ((1 << FANOUT_BITS) - 1);
    for (size_t i = node + 1; i <= end && i <= last; i++)
        newer += (uint64_t)__builtin_popcountll(distances->bits[i]);
    for (int level = 0; end < last; level++) {
        node >>= FANOUT_BITS;
        last >>= FANOUT_BITS;
        end = node | ((1 << FANOUT_BITS) - 1);
        for (size_t i = node + 1; i <= end && i <= last; i++)
            newer += distances->counts[level][i];
    }
    return newer;
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

/* Twice the table. Times stay; who came at each is noted anew. */
static bool grow_table(struct fth_distances *distances)
{
    struct place *before = distances->table;
    const size_t count = distances->capacity;
    struct place *table = calloc(2 * count, sizeof *table);
    if (!table || distances->used >= UINT32_MAX / 4) {
        free(table);
        return false;
    }
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
        distances->owner[before[i].time - 1] = (uint32_t)at;
    }
    free(before);
    return true;
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
    distances->now = 0;
    for (uint32_t word = 0; word < old.span / 64; word++)
        for (uint64_t left = old.bits[word]; left; left &= left - 1) {
            const uint32_t owner = old.owner[word * 64 + (uint32_t)__builtin_ctzll(left)];
            distances->owner[distances->now] = owner;
            set(distances, distances->now++);
            distances->table[owner].time = distances->now;
        }
    free_time(&old);
    return true;
}

static bool note(struct fth_distances *distances, uint64_t distance)
{
    if (distance >= distances->profile_capacity) {
        size_t capacity = distances->profile_capacity ? distances->profile_capacity : 1024;
        while (capacity <= distance)
            capacity *= 2;
        uint64_t *profile = realloc(distances->profile, capacity * sizeof *profile);
        if (!profile)
            return false;
        memset(profile + distances->profile_capacity, 0,
               (capacity - distances->profile_capacity) * sizeof *profile);
        distances->profile = profile;
        distances->profile_capacity = capacity;
    }
    if (distance >= distances->profile_count)
        distances->profile_count = (size_t)distance + 1;
    distances->profile[distance]++;
    return true;
}

bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch(&distances->table[hash(distances, numbers[i + AHEAD])], 1);
        if (i + NEAR < count) {
            const uint32_t time = distances->table[hash(distances, numbers[i + NEAR])].time;
            __builtin_prefetch(&distances->bits[(time ? time - 1 : 0) / 64], 1);
            __builtin_prefetch(&distances->counts[0][(time ? time - 1 : 0) / 512], 1);
        }
        if (2 * distances->used >= distances->capacity && !grow_table(distances))
            return false;
        if (distances->now == distances->span && !compact(distances))
            return false;
        size_t at = hash(distances, numbers[i]);
        struct place *place = &distances->table[at];
        while (place->time && place->number != numbers[i]) {
            at = (at + 1) & (distances->capacity - 1);
            place = &distances->table[at];
        }
        uint64_t distance = UINT64_MAX;
        if (!place->time) {
            place->number = numbers[i];
            distances->used++;
            distances->fresh++;
        } else if (place->time == distances->now) {
            distance = 0; /* the newest still is */
        } else {
            distance = count_newer(distances, place->time - 1);
            unset(distances, place->time - 1);
        }
        if (distance != UINT64_MAX && !note(distances, distance))
            return false;
        if (out)
            out[i] = distance;
        if (distance == 0)
            continue;
        set(distances, distances->now);
        distances->owner[distances->now++] = (uint32_t)at;
        place->time = distances->now;
    }
    return true;
}

const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh)
{
    *count = distances->profile_count;
    *fresh = distances->fresh;
    return distances->profile;
}
