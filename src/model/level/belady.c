/* Belady's bound (docs/explore.md): how many accesses of a cache can hit with the best replacement,
 * which knows the future (L. A. Belady, "A Study of Replacement Algorithms for a Virtual-Storage
 * Computer", IBM Systems Journal 5(2), 1966: the algorithm MIN).
 *
 * An access hits if the cache keeps the line from the access before, over a *span* of accesses of
 * the set to other lines. At each of these accesses, the set holds the line that is accessed, and
 * at most ways - 1 others. So a set with W ways can serve a choice of spans if and only if at most
 * W - 1 of them contain any access. To choose as many spans as possible, take them in the order in
 * which they end, and each one that does not exceed this limit (M. Carlisle and E. Lloyd, "On the
 * k-coloring of intervals", Discrete Applied Mathematics 59, 1995). MIN has the same number of
 * hits. Whether an access hits is therefore known at the access itself, and the future is not
 * needed (A. Jain and C. Lin, "Back to the Future", ISCA 2016, use the same idea).
 *
 * The limit is checked with a list of W - 1 ways. Each way has the last access that its last span
 * contains. A span that begins at access p fits a way whose number is at most p; it takes the way
 * with the greatest such number. In this example with W = 3, the accesses 1 to 6 are to the lines
 * a b c b a c. The spans end at 4, 5 and 6, and two ways serve all of them:
 *
 *     b: 2 < 3 < 4          takes a way that is unused, whose number becomes 3
 *     a: 1 < 2 3 4 < 5      takes the other one, whose number becomes 4
 *     c: 3 < 4 5 < 6        takes the first one, because 3 <= 3; its number becomes 5
 *
 * Sectors of a line are fetched and used separately. The bound treats each sector position of a set
 * as a cache of its own with W ways, and the reads, the writes and the atomics separately, as if
 * replacement served only them. A real cache holds the same lines for all of them, so that none of
 * its hit ratios exceeds the bound. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_TABLE_BITS = 8, /* smallest hash table; chosen: small compared with an L1 */
    KINDS = 3           /* enum fth_trace_access_kind */
};

#define NONE UINT32_MAX

/* A way that has served a span. */
struct free_way {
    uint64_t since; /* number of the last access that its span contains */
    /* While the way is free: its own index + 1. After it was taken: index + 1 of an older entry,
     * where the search continues; 0: none. */
    uint32_t older;
};

/* The ways of a set that can keep lines, in ascending order of `since`. */
struct way_list {
    struct free_way *items;
    size_t count, capacity;
    uint64_t unused; /* ways that have not served a span yet */
};

/* The accesses to one sector position of a set. */
struct stream {
    uint64_t accesses; /* accesses that allocate; the number of the last one */
    struct way_list ways[KINDS];
    /* Sectors that were written and are not known to be evicted, and how many of them must have
     * been written back, because a set does not hold more than its ways. */
    uint64_t dirty, written_back;
};

struct fth_belady {
    uint32_t set_count;
    unsigned sectors;     /* per line */
    uint64_t *set_ways;   /* [set_count] */
    struct stream **sets; /* [set_count][sectors]; NULL: not yet used */
    uint64_t *entries;    /* [entry_count]: the lines that were accessed; see entry_at() */
    size_t entry_count, entry_capacity;
    uint32_t *table; /* indices of entries, or NONE; open addressing */
    unsigned table_bits;
    bool failed;
};

/* ---- creation ---- */

static uint32_t *create_table(unsigned bits)
{
    uint32_t *table = malloc(sizeof *table << bits);
    if (table)
        memset(table, 0xff, sizeof *table << bits); /* NONE */
    return table;
}

enum fth_status fth_belady_create(const struct fth_cache *cache, struct fth_belady **out,
                                  struct fth_error *error)
{
    struct fth_belady *belady = calloc(1, sizeof *belady);
    *out = NULL;
    if (!belady)
        return fth_no_memory(error, "model caches", NULL);
    belady->set_count = cache->sets;
    belady->sectors = 1u << (cache->line_shift - cache->sector_shift);
    belady->table_bits = MIN_TABLE_BITS;
    belady->set_ways = calloc(cache->sets, sizeof *belady->set_ways);
    belady->sets = calloc(cache->sets, sizeof(struct stream *));
    belady->table = create_table(MIN_TABLE_BITS);
    if (!belady->set_ways || !belady->sets || !belady->table) {
        fth_belady_destroy(belady);
        return fth_no_memory(error, "model caches", NULL);
    }
    for (uint32_t set = 0; set < cache->sets; set++)
        belady->set_ways[set] = fth_set_first(cache, set + 1) - fth_set_first(cache, set);
    *out = belady;
    return FTH_OK;
}

static void free_set(const struct fth_belady *belady, uint32_t set)
{
    for (unsigned sector = 0; belady->sets[set] && sector < belady->sectors; sector++)
        for (int kind = 0; kind < KINDS; kind++)
            free(belady->sets[set][sector].ways[kind].items);
    free(belady->sets[set]);
}

void fth_belady_destroy(struct fth_belady *belady)
{
    if (!belady)
        return;
    for (uint32_t set = 0; belady->sets && set < belady->set_count; set++)
        free_set(belady, set);
    free(belady->set_ways);
    free(belady->sets);
    free(belady->entries);
    free(belady->table);
    free(belady);
}

/* Empties a set, which is in use. */
static void clear_set(const struct fth_belady *belady, uint32_t set)
{
    for (unsigned sector = 0; sector < belady->sectors; sector++) {
        struct stream *stream = &belady->sets[set][sector];
        stream->accesses = stream->dirty = stream->written_back = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            stream->ways[kind].count = 0;
            stream->ways[kind].unused = belady->set_ways[set] - 1;
        }
    }
}

void fth_belady_clear(struct fth_belady *belady)
{
    for (uint32_t set = 0; set < belady->set_count; set++)
        if (belady->sets[set])
            clear_set(belady, set);
    memset(belady->table, 0xff, sizeof *belady->table << belady->table_bits);
    belady->entry_count = 0;
}

bool fth_belady_failed(const struct fth_belady *belady)
{
    return belady->failed;
}

/* Returns the streams of a set, or NULL without memory. */
static struct stream *streams_of(struct fth_belady *belady, uint32_t set)
{
    if (!belady->sets[set]) {
        belady->sets[set] = calloc(belady->sectors, sizeof **belady->sets);
        if (belady->sets[set])
            clear_set(belady, set);
    }
    return belady->sets[set];
}

/* ---- lines ---- */

/* An entry has the number of the line and, for each sector, a word: 0 if the cache does not hold
 * the sector; otherwise its last access, and in the lowest bit whether it was written. */
static uint64_t make_word(uint64_t access, bool dirty)
{
    return (access + 1) << 1 | dirty;
}

/* Returns the number of the last access. The word must not be 0. */
static uint64_t access_of(uint64_t word)
{
    return (word >> 1) - 1;
}

static uint64_t *entry_at(const struct fth_belady *belady, uint32_t index)
{
    return belady->entries + (size_t)index * (1 + belady->sectors);
}

static uint32_t *find_place(const struct fth_belady *belady, uint64_t line)
{
    const size_t mask = ((size_t)1 << belady->table_bits) - 1;
    size_t at = (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - belady->table_bits));
    while (belady->table[at] != NONE && *entry_at(belady, belady->table[at]) != line)
        at = (at + 1) & mask;
    return &belady->table[at];
}

static bool grow_table(struct fth_belady *belady)
{
    uint32_t *table = create_table(belady->table_bits + 1);
    if (!table)
        return false;
    free(belady->table);
    belady->table = table;
    belady->table_bits++;
    for (size_t i = 0; i < belady->entry_count; i++)
        *find_place(belady, *entry_at(belady, (uint32_t)i)) = (uint32_t)i;
    return true;
}

/* Returns the entry of a line, which is created if there is none. NONE: out of memory. */
static uint32_t obtain_entry(struct fth_belady *belady, uint64_t line)
{
    const uint32_t found = *find_place(belady, line);
    const size_t bytes = (1 + belady->sectors) * sizeof *belady->entries;
    if (found != NONE)
        return found;
    if (belady->entry_count >= NONE ||
        (belady->entry_count >= (size_t)1 << (belady->table_bits - 1) && !grow_table(belady)) ||
        !fth_grow((void **)&belady->entries, belady->entry_count, &belady->entry_capacity, bytes))
        return NONE;
    const uint32_t entry = (uint32_t)belady->entry_count++;
    *find_place(belady, line) = entry;
    memset(entry_at(belady, entry), 0, bytes);
    *entry_at(belady, entry) = line;
    return entry;
}

/* ---- ways ---- */

/* Returns the index + 1 of the way with the greatest `since` that is not above `point` and that is
 * not taken; 0: none. Ways that are passed on the way get a shorter path (path halving). */
static uint32_t find_way(const struct way_list *list, uint64_t point)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (list->items[middle].since <= point)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = (uint32_t)low;
    while (at && list->items[at - 1].older != at) {
        const uint32_t next = list->items[at - 1].older;
        if (next)
            list->items[at - 1].older = list->items[next - 1].older;
        at = next;
    }
    return at;
}

/* Makes space for one more way: removes those that are taken if they are at least half of the list,
 * or grows it. */
static bool make_room(struct way_list *list)
{
    size_t left = 0;
    if (list->count < list->capacity)
        return true;
    for (size_t i = 0; i < list->count; i++)
        left += list->items[i].older == i + 1;
    if (left > list->capacity / 2 || !list->capacity)
        return fth_grow((void **)&list->items, list->count, &list->capacity, sizeof *list->items);
    left = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].older == i + 1) {
            list->items[left].since = list->items[i].since;
            list->items[left].older = (uint32_t)left + 1;
            left++;
        }
    list->count = left;
    return true;
}

/* Whether a way can serve a span from the access `point` up to now, the access after `last`. */
static bool fits(const struct way_list *list, uint64_t point, uint64_t last)
{
    return point == last || list->unused || find_way(list, point);
}

/* If a way can serve the span, takes it. A span without accesses needs none. */
static bool take_way(struct fth_belady *belady, struct way_list *list, uint64_t point,
                     uint64_t last)
{
    if (point == last)
        return true;
    const uint32_t found = find_way(list, point);
    if (!found && !list->unused)
        return false;
    if (found)
        list->items[found - 1].older = found - 1;
    else
        list->unused--;
    if (!make_room(list)) {
        belady->failed = true;
        return false;
    }
    list->items[list->count] = (struct free_way){last, (uint32_t)list->count + 1};
    list->count++;
    return true;
}

/* ---- written sectors ---- */

/* Notes that a written sector was evicted. Returns whether it is written back now: not if it is one
 * of those that were counted before. */
static bool evict_dirty(struct stream *stream)
{
    stream->dirty--;
    if (!stream->written_back)
        return true;
    stream->written_back--;
    return false;
}

/* Notes that a sector is written. Returns whether one is written back, because the set cannot hold
 * all of them. */
static bool add_dirty(struct stream *stream, uint64_t ways)
{
    if (++stream->dirty - stream->written_back <= ways)
        return false;
    stream->written_back++;
    return true;
}

/* ---- accesses ---- */

/* Processes the access to one of its sectors. `stays`: the cache holds the sector afterwards, even
 * if it has not held it before. Returns whether it hits. */
static bool access_sector(struct fth_belady *belady, const struct fth_belady_access *access,
                          bool stays, struct stream *stream, uint64_t *last, bool *written_back)
{
    const bool known = *last != 0;
    const bool hit = access->merges || (known && take_way(belady, &stream->ways[access->kind],
                                                          access_of(*last), stream->accesses));
    bool dirty = *last & 1;
    if (dirty && !hit) {
        *written_back |= evict_dirty(stream);
        dirty = false;
    }
    stream->accesses += access->allocates;
    if (!known && !stays)
        return hit;
    if (access->dirties && !dirty) {
        *written_back |= add_dirty(stream, belady->set_ways[access->set]);
        dirty = true;
    }
    *last = make_word(stream->accesses, dirty);
    return hit;
}

uint32_t fth_belady_access(struct fth_belady *belady, struct fth_belady_access *access)
{
    struct stream *streams = streams_of(belady, access->set);
    const uint32_t index = streams ? obtain_entry(belady, access->line) : NONE;
    access->hits = access->written_back = 0;
    if (index == NONE) {
        belady->failed = true;
        return 0;
    }
    uint64_t *last = entry_at(belady, index) + 1;
    bool stays = access->allocates;
    for (unsigned i = 0; access->adds && !stays && i < belady->sectors; i++)
        stays = last[i] != 0;
    for (uint64_t left = access->sectors; left; left &= left - 1) {
        const unsigned sector = (unsigned)__builtin_ctzll(left);
        bool written_back = false;
        if (access_sector(belady, access, stays, &streams[sector], &last[sector], &written_back))
            access->hits |= left & (0 - left);
        if (written_back)
            access->written_back |= left & (0 - left);
    }
    /* After a read, a cache holds all sectors of the fill, from this miss or an earlier one. */
    for (uint64_t left = access->fills & ~access->sectors; left; left &= left - 1) {
        const unsigned sector = (unsigned)__builtin_ctzll(left);
        last[sector] = make_word(++streams[sector].accesses, last[sector] & 1);
    }
    return index;
}

bool fth_belady_holds_line(const struct fth_belady *belady, uint32_t set, uint64_t line)
{
    const uint32_t index = *find_place(belady, line);
    if (index == NONE)
        return false;
    const uint64_t *last = entry_at(belady, index) + 1;
    bool held = false;
    for (unsigned i = 0; i < belady->sectors && !held; i++) {
        const struct stream *stream = &belady->sets[set][i];
        held = last[i] && fits(&stream->ways[FTH_TRACE_READ], access_of(last[i]), stream->accesses);
    }
    return held;
}

uint64_t fth_belady_drop(struct fth_belady *belady, uint32_t set, uint64_t line)
{
    const uint32_t index = *find_place(belady, line);
    uint64_t dropped = 0;
    for (unsigned i = 0; index != NONE && i < belady->sectors; i++) {
        uint64_t *last = entry_at(belady, index) + 1 + i;
        struct stream *stream = &belady->sets[set][i];
        dropped |= (uint64_t)(*last != 0) << i;
        stream->dirty -= *last & 1;
        if (stream->written_back > stream->dirty)
            stream->written_back = stream->dirty;
        *last = 0;
    }
    return dropped;
}
