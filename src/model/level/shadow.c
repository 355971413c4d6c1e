/* Why reads miss: what a cache has held before, and what a fully associative LRU cache of the same
 * size would hold. docs/model/misses.md defines the causes.
 *
 * The shadow of a cache has an entry for each line that the cache has held since it was emptied. A
 * hash table finds the entry of a line. The entries of the lines that were used last, as many as
 * the cache has lines, are in a list in the order of their last uses. These are the lines that the
 * fully associative LRU cache holds: the stack distance of a line is below the capacity if and only
 * if its entry is in the list. Each operation therefore takes constant time.
 *
 * The sectors of a line are bits of masks. Eight sectors share a word, in which each mask has a
 * byte. So the entry of a line of up to eight sectors has one word. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_TABLE_BITS = 8, /* smallest hash table; chosen: small compared with an L1 */
    SECTORS_PER_WORD = 8
};

#define NONE UINT32_MAX
#define UNLISTED (UINT32_MAX - 1)

/* Masks of a line. The last CAUSE_BITS masks are the bits of the cause of the last miss. */
enum mask { FETCHED, REMOVED, HELD, CAUSE, CAUSE_BITS = 3 };

enum cause { COLD, CAPACITY, CONFLICT, COHERENCE, SECTOR };

struct entry {
    uint64_t line;
    uint32_t newer, older; /* neighbours in the list, or NONE; `newer` is UNLISTED: not in it */
};

struct fth_shadow {
    uint64_t lines; /* capacity of the cache */
    size_t words;   /* per entry */
    struct entry *entries;
    uint64_t *masks; /* [entry_count][words] */
    size_t entry_count, entry_capacity, mask_capacity;
    uint32_t *table; /* indices of entries, or NONE; open addressing */
    unsigned table_bits;
    uint32_t newest, oldest; /* ends of the list */
    uint64_t listed;         /* length of the list */
    uint32_t last;           /* the entry that was found last, or NONE */
    bool failed;
};

/* ---- creation ---- */

/* Empties the shadow and frees what it has grown to. */
static bool restart(struct fth_shadow *shadow)
{
    free(shadow->entries);
    free(shadow->masks);
    free(shadow->table);
    shadow->entries = NULL;
    shadow->masks = NULL;
    shadow->entry_count = shadow->entry_capacity = shadow->mask_capacity = 0;
    shadow->newest = shadow->oldest = shadow->last = NONE;
    shadow->listed = 0;
    shadow->table_bits = MIN_TABLE_BITS;
    shadow->table = malloc(((size_t)1 << MIN_TABLE_BITS) * sizeof *shadow->table);
    if (shadow->table)
        memset(shadow->table, 0xff, ((size_t)1 << MIN_TABLE_BITS) * sizeof *shadow->table);
    return shadow->table != NULL;
}

enum fth_status fth_shadow_create(const struct fth_shape *shape, uint64_t lines,
                                  struct fth_shadow **out, struct fth_error *error)
{
    struct fth_shadow *shadow = calloc(1, sizeof *shadow);
    *out = NULL;
    if (!shadow || !restart(shadow)) {
        free(shadow);
        return fth_no_memory(error, "model caches", NULL);
    }
    const uint64_t sectors = shape->line_bytes >> shape->sector_shift;
    shadow->lines = lines;
    shadow->words = (size_t)((sectors + SECTORS_PER_WORD - 1) / SECTORS_PER_WORD);
    *out = shadow;
    return FTH_OK;
}

void fth_shadow_destroy(struct fth_shadow *shadow)
{
    if (!shadow)
        return;
    free(shadow->entries);
    free(shadow->masks);
    free(shadow->table);
    free(shadow);
}

void fth_shadow_clear(struct fth_shadow *shadow, uint64_t lines)
{
    shadow->lines = lines;
    if (!restart(shadow))
        shadow->failed = true;
}

bool fth_shadow_failed(const struct fth_shadow *shadow)
{
    return shadow->failed;
}

/* ---- entries ---- */

static uint32_t *find_place(const struct fth_shadow *shadow, uint64_t line)
{
    const size_t mask = ((size_t)1 << shadow->table_bits) - 1;
    size_t at = (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - shadow->table_bits));
    while (shadow->table[at] != NONE && shadow->entries[shadow->table[at]].line != line)
        at = (at + 1) & mask;
    return &shadow->table[at];
}

/* Returns the entry of a line, or NONE. */
static uint32_t find(struct fth_shadow *shadow, uint64_t line)
{
    if (shadow->last != NONE && shadow->entries[shadow->last].line == line)
        return shadow->last;
    if (shadow->failed)
        return NONE;
    const uint32_t found = *find_place(shadow, line);
    if (found != NONE)
        shadow->last = found;
    return found;
}

/* Doubles the hash table. */
static bool grow_table(struct fth_shadow *shadow)
{
    const size_t size = (size_t)2 << shadow->table_bits;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, size * sizeof *table);
    free(shadow->table);
    shadow->table = table;
    shadow->table_bits++;
    for (size_t i = 0; i < shadow->entry_count; i++)
        *find_place(shadow, shadow->entries[i].line) = (uint32_t)i;
    return true;
}

/* Returns the entry of a line, which is created if there is none. NONE: out of memory. */
static uint32_t obtain(struct fth_shadow *shadow, uint64_t line)
{
    const uint32_t found = find(shadow, line);
    if (found != NONE || shadow->failed)
        return found;
    if (shadow->entry_count >= UNLISTED ||
        (shadow->entry_count >= (size_t)1 << (shadow->table_bits - 1) && !grow_table(shadow)) ||
        !fth_grow((void **)&shadow->entries, shadow->entry_count, &shadow->entry_capacity,
                  sizeof *shadow->entries) ||
        !fth_grow((void **)&shadow->masks, shadow->entry_count, &shadow->mask_capacity,
                  shadow->words * sizeof *shadow->masks)) {
        shadow->failed = true;
        return NONE;
    }
    const uint32_t entry = (uint32_t)shadow->entry_count;
    *find_place(shadow, line) = entry;
    shadow->entry_count++;
    shadow->entries[entry] = (struct entry){line, UNLISTED, NONE};
    memset(shadow->masks + entry * shadow->words, 0, shadow->words * sizeof *shadow->masks);
    shadow->last = entry;
    return entry;
}

static uint64_t get_mask(const struct fth_shadow *shadow, uint32_t entry, unsigned mask)
{
    uint64_t sectors = 0;
    for (size_t i = 0; i < shadow->words; i++)
        sectors |= (shadow->masks[entry * shadow->words + i] >> 8 * mask & 0xff) << 8 * i;
    return sectors;
}

/* Sets the bits of some sectors in a mask to those of `value`. */
static void set_mask(struct fth_shadow *shadow, uint32_t entry, unsigned mask, uint64_t sectors,
                     uint64_t value)
{
    for (size_t i = 0; i < shadow->words; i++) {
        uint64_t *word = &shadow->masks[entry * shadow->words + i];
        *word &= ~((sectors >> 8 * i & 0xff) << 8 * mask);
        *word |= ((sectors & value) >> 8 * i & 0xff) << 8 * mask;
    }
}

/* ---- the list ---- */

static void unlink_entry(struct fth_shadow *shadow, uint32_t at)
{
    struct entry *entry = &shadow->entries[at];
    if (entry->newer != NONE)
        shadow->entries[entry->newer].older = entry->older;
    else
        shadow->newest = entry->older;
    if (entry->older != NONE)
        shadow->entries[entry->older].newer = entry->newer;
    else
        shadow->oldest = entry->newer;
    entry->newer = UNLISTED;
    shadow->listed--;
}

/* Moves an entry to the front of the list. If the list becomes too long, its last entry leaves it.
 */
static void move_to_front(struct fth_shadow *shadow, uint32_t at)
{
    struct entry *entry = &shadow->entries[at];
    if (shadow->newest == at)
        return;
    if (entry->newer != UNLISTED)
        unlink_entry(shadow, at);
    else
        set_mask(shadow, at, HELD, UINT64_MAX, 0);
    *entry = (struct entry){entry->line, NONE, shadow->newest};
    if (shadow->newest != NONE)
        shadow->entries[shadow->newest].newer = at;
    else
        shadow->oldest = at;
    shadow->newest = at;
    if (++shadow->listed > shadow->lines)
        unlink_entry(shadow, shadow->oldest);
}

/* ---- accesses ---- */

static void count(struct fth_model_misses *misses, enum cause cause, uint64_t sectors)
{
    uint64_t *const members[] = {[COLD] = &misses->cold,
                                 [CAPACITY] = &misses->capacity,
                                 [CONFLICT] = &misses->conflict,
                                 [COHERENCE] = &misses->coherence,
                                 [SECTOR] = &misses->sector};
    *members[cause] += (uint64_t)__builtin_popcountll(sectors);
}

void fth_shadow_miss(struct fth_shadow *shadow, uint64_t line, uint64_t missed, uint64_t fetched,
                     bool present, struct fth_model_misses *misses)
{
    const uint32_t entry = fetched ? obtain(shadow, line) : find(shadow, line);
    const bool known = entry != NONE;
    const bool listed = known && shadow->entries[entry].newer != UNLISTED;
    const uint64_t all = missed | fetched;
    const uint64_t seen = known ? get_mask(shadow, entry, FETCHED) : 0;
    const uint64_t removed = known ? get_mask(shadow, entry, REMOVED) : 0;
    const uint64_t held = listed ? get_mask(shadow, entry, HELD) : 0;
    uint64_t by_cause[SECTOR + 1] = {0};
    by_cause[present ? SECTOR : COLD] = all & ~seen;
    by_cause[COHERENCE] = all & seen & removed;
    by_cause[CONFLICT] = all & seen & ~removed & held;
    by_cause[CAPACITY] = all & seen & ~removed & ~held;
    for (enum cause cause = COLD; cause <= SECTOR; cause++) {
        if (misses)
            count(misses, cause, by_cause[cause] & missed);
        for (unsigned bit = 0; known && by_cause[cause] && bit < CAUSE_BITS; bit++)
            set_mask(shadow, entry, CAUSE + bit, by_cause[cause],
                     (unsigned)cause >> bit & 1 ? UINT64_MAX : 0);
    }
}

void fth_shadow_miss_again(struct fth_shadow *shadow, uint64_t line, uint64_t sectors,
                           struct fth_model_misses *misses)
{
    const uint32_t entry = find(shadow, line);
    uint64_t bits[CAUSE_BITS] = {0};
    for (unsigned bit = 0; entry != NONE && bit < CAUSE_BITS; bit++)
        bits[bit] = get_mask(shadow, entry, CAUSE + bit);
    for (enum cause cause = COLD; cause <= SECTOR; cause++) {
        uint64_t these = sectors;
        for (unsigned bit = 0; bit < CAUSE_BITS; bit++)
            these &= (unsigned)cause >> bit & 1 ? bits[bit] : ~bits[bit];
        count(misses, cause, these);
    }
}

void fth_shadow_complete(struct fth_shadow *shadow, uint64_t line, uint64_t sectors)
{
    const uint32_t entry = find(shadow, line);
    if (entry == NONE)
        return;
    set_mask(shadow, entry, FETCHED, sectors, UINT64_MAX);
    set_mask(shadow, entry, REMOVED, sectors, 0);
    if (shadow->entries[entry].newer != UNLISTED)
        set_mask(shadow, entry, HELD, sectors, UINT64_MAX);
}

void fth_shadow_use(struct fth_shadow *shadow, uint64_t line, uint64_t sectors)
{
    const uint32_t entry = obtain(shadow, line);
    if (entry == NONE)
        return;
    move_to_front(shadow, entry);
    for (size_t i = 0; i < shadow->words; i++) {
        uint64_t *word = &shadow->masks[entry * shadow->words + i];
        const uint64_t here = sectors >> 8 * i & 0xff;
        *word = (*word | here << 8 * FETCHED | here << 8 * HELD) & ~(here << 8 * REMOVED);
    }
}

void fth_shadow_remove(struct fth_shadow *shadow, uint64_t line, uint64_t sectors)
{
    const uint32_t entry = find(shadow, line);
    if (entry != NONE)
        set_mask(shadow, entry, REMOVED, sectors, UINT64_MAX);
}
