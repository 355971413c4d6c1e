/* Why reads miss: what a cache has held before, and what a fully associative LRU cache of the same
 * size would hold. docs/model/misses.md defines the causes.
 *
 * The shadow of a cache has an entry for each line that the cache has held since it was emptied. A
 * hash table finds the entry of a line. The last uses of the lines that were used last, as many as
 * the cache has lines, are in a queue. These are the lines that the fully associative LRU cache
 * holds: the stack distance of a line is below the capacity if and only if its last use is in the
 * queue. The queue also contains uses of these lines before the last one, which are removed when
 * they are found. Each operation therefore takes constant time on average.
 *
 * The sectors of a line are bits of masks. Eight sectors share a word, in which each mask has a
 * byte. So the entry of a line of up to eight sectors has one word. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_TABLE_BITS = 8, /* smallest hash table; chosen: small compared with an L1 */
    /* Size of the queue, divided by the lines of the cache. Chosen: with more, old uses are removed
     * less often, and the queue takes more memory. */
    QUEUE_FACTOR = 4,
    USES_AHEAD = 16, /* chosen: 16 uses take longer than the latency of the host's memory */
    SECTORS_PER_WORD = 8
};

#define NONE UINT32_MAX
#define UNUSED UINT64_MAX

/* Masks of a line. The last CAUSE_BITS masks are the bits of the cause of the last miss. */
enum mask { FETCHED, REMOVED, HELD, CAUSE, CAUSE_BITS = 3 };

enum cause { COLD, CAPACITY, CONFLICT, COHERENCE, SECTOR };

struct entry {
    uint64_t line;
    uint64_t last_use; /* its number; UNUSED: it is not in the queue */
    uint64_t masks[];  /* [words] */
};

struct fth_shadow {
    uint64_t lines;     /* capacity of the cache */
    size_t words;       /* per entry */
    uint64_t *entries;  /* [entry_count], each of sizeof(struct entry) and its masks */
    size_t entry_words; /* size of an entry */
    size_t entry_count, entry_capacity;
    uint32_t *table;                      /* indices of entries, or NONE; open addressing */
    unsigned table_bits, most_table_bits; /* log2 of its length, and of that of its memory */
    /* Entries in the order of their uses. Use n is at queue[n & queue_mask]. The uses from `first`
     * to `end` - 1 are in the queue; `held_lines` of them are the last ones of their entries. */
    uint32_t *queue;
    uint64_t queue_mask, first, end, held_lines;
    /* Entries by the slots of their lines in the cache, modulo the length. They may be outdated. */
    uint32_t *by_slot;
    uint32_t slot_mask;
    uint32_t last; /* the entry that was found last, or NONE */
    bool failed;
};

static struct entry *entry_at(const struct fth_shadow *shadow, uint32_t index)
{
    return (struct entry *)(void *)(shadow->entries + index * shadow->entry_words);
}

/* ---- creation ---- */

/* Returns the smallest power of two that is at least `number`. */
static uint64_t round_up(uint64_t number)
{
    uint64_t power = 1;
    while (power < number)
        power *= 2;
    return power;
}

/* Allocates indices, on large pages if there are many, because they are used in random order. */
static uint32_t *allocate_indices(size_t count)
{
    uint32_t *indices = malloc(count * sizeof *indices);
    if (indices)
        fth_memory_use_large_pages(indices, count * sizeof *indices);
    return indices;
}

static uint32_t *create_indices(size_t count)
{
    uint32_t *indices = allocate_indices(count);
    if (indices)
        memset(indices, 0xff, count * sizeof *indices); /* NONE */
    return indices;
}

static void free_arrays(struct fth_shadow *shadow)
{
    free(shadow->entries);
    free(shadow->table);
    free(shadow->queue);
    free(shadow->by_slot);
}

/* Creates an empty shadow. */
static bool start(struct fth_shadow *shadow, uint64_t lines)
{
    const uint64_t uses = round_up(QUEUE_FACTOR * lines), slots = round_up(2 * lines);
    const size_t words = shadow->words;
    free_arrays(shadow);
    *shadow = (struct fth_shadow){.lines = lines,
                                  .words = words,
                                  .entry_words = sizeof(struct entry) / sizeof(uint64_t) + words,
                                  .table_bits = MIN_TABLE_BITS,
                                  .most_table_bits = MIN_TABLE_BITS,
                                  .queue_mask = uses - 1,
                                  .slot_mask = (uint32_t)(slots - 1),
                                  .last = NONE};
    shadow->table = create_indices((size_t)1 << MIN_TABLE_BITS);
    shadow->queue = allocate_indices((size_t)uses);
    shadow->by_slot = create_indices((size_t)slots);
    return shadow->table && shadow->queue && shadow->by_slot;
}

/* Empties a shadow whose capacity stays the same. It keeps its memory, because a short launch would
 * take less time than allocating it. `by_slot` keeps its content, which may be outdated anyway. */
static void empty(struct fth_shadow *shadow)
{
    shadow->table_bits = MIN_TABLE_BITS;
    memset(shadow->table, 0xff, sizeof *shadow->table << MIN_TABLE_BITS); /* NONE */
    shadow->entry_count = 0;
    shadow->first = shadow->end = shadow->held_lines = 0;
    shadow->last = NONE;
}

enum fth_status fth_shadow_create(const struct fth_shape *shape, uint64_t lines,
                                  struct fth_shadow **out, struct fth_error *error)
{
    struct fth_shadow *shadow = calloc(1, sizeof *shadow);
    const uint64_t sectors = shape->line_bytes >> shape->sector_shift;
    *out = NULL;
    if (!shadow)
        return fth_no_memory(error, "model caches", NULL);
    shadow->words = (size_t)((sectors + SECTORS_PER_WORD - 1) / SECTORS_PER_WORD);
    if (!start(shadow, lines)) {
        fth_shadow_destroy(shadow);
        return fth_no_memory(error, "model caches", NULL);
    }
    *out = shadow;
    return FTH_OK;
}

void fth_shadow_destroy(struct fth_shadow *shadow)
{
    if (!shadow)
        return;
    free_arrays(shadow);
    free(shadow);
}

void fth_shadow_clear(struct fth_shadow *shadow, uint64_t lines)
{
    if (shadow->failed)
        return;
    if (lines == shadow->lines)
        empty(shadow);
    else
        shadow->failed = !start(shadow, lines);
}

bool fth_shadow_failed(const struct fth_shadow *shadow)
{
    return shadow->failed;
}

/* ---- entries ---- */

/* Returns the index in the table at which the search for a line begins. */
static size_t first_place(const struct fth_shadow *shadow, uint64_t line)
{
    return (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - shadow->table_bits));
}

static uint32_t *find_place(const struct fth_shadow *shadow, uint64_t line)
{
    const size_t mask = ((size_t)1 << shadow->table_bits) - 1;
    size_t at = first_place(shadow, line);
    while (shadow->table[at] != NONE && entry_at(shadow, shadow->table[at])->line != line)
        at = (at + 1) & mask;
    return &shadow->table[at];
}

/* Returns the entry of a line, or NONE. */
static uint32_t find(struct fth_shadow *shadow, uint64_t line)
{
    if (shadow->last != NONE && entry_at(shadow, shadow->last)->line == line)
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
    const unsigned bits = shadow->table_bits + 1;
    if (bits > shadow->most_table_bits) {
        uint32_t *table = create_indices((size_t)1 << bits);
        if (!table)
            return false;
        free(shadow->table);
        shadow->table = table;
        shadow->most_table_bits = bits;
    } else {
        memset(shadow->table, 0xff, sizeof *shadow->table << bits); /* NONE */
    }
    shadow->table_bits = bits;
    for (size_t i = 0; i < shadow->entry_count; i++)
        *find_place(shadow, entry_at(shadow, (uint32_t)i)->line) = (uint32_t)i;
    return true;
}

/* Returns the entry of a line, which is created if there is none. NONE: out of memory. */
static uint32_t obtain(struct fth_shadow *shadow, uint64_t line)
{
    const uint32_t found = find(shadow, line);
    if (found != NONE || shadow->failed)
        return found;
    const size_t bytes = shadow->entry_words * sizeof *shadow->entries;
    const size_t capacity = shadow->entry_capacity;
    if (shadow->entry_count >= NONE ||
        (shadow->entry_count >= (size_t)1 << (shadow->table_bits - 1) && !grow_table(shadow)) ||
        !fth_grow((void **)&shadow->entries, shadow->entry_count, &shadow->entry_capacity, bytes)) {
        shadow->failed = true;
        return NONE;
    }
    if (shadow->entry_capacity != capacity)
        fth_memory_use_large_pages(shadow->entries, shadow->entry_capacity * bytes);
    const uint32_t entry = (uint32_t)shadow->entry_count;
    *find_place(shadow, line) = entry;
    shadow->entry_count++;
    memset(entry_at(shadow, entry), 0, shadow->entry_words * sizeof *shadow->entries);
    entry_at(shadow, entry)->line = line;
    entry_at(shadow, entry)->last_use = UNUSED;
    shadow->last = entry;
    return entry;
}

static uint64_t get_mask(const struct fth_shadow *shadow, uint32_t entry, unsigned mask)
{
    uint64_t sectors = 0;
    for (size_t i = 0; i < shadow->words; i++)
        sectors |= (entry_at(shadow, entry)->masks[i] >> 8 * mask & 0xff) << 8 * i;
    return sectors;
}

/* Sets the bits of some sectors in a mask to those of `value`. */
static void set_mask(struct fth_shadow *shadow, uint32_t entry, unsigned mask, uint64_t sectors,
                     uint64_t value)
{
    for (size_t i = 0; i < shadow->words; i++) {
        uint64_t *word = &entry_at(shadow, entry)->masks[i];
        *word &= ~((sectors >> 8 * i & 0xff) << 8 * mask);
        *word |= ((sectors & value) >> 8 * i & 0xff) << 8 * mask;
    }
}

/* ---- the queue ---- */

/* Removes all uses but the last one of each entry from the queue. */
static void compact(struct fth_shadow *shadow)
{
    uint64_t kept = shadow->end;
    for (uint64_t use = shadow->end; use-- > shadow->first;) {
        const uint32_t at = shadow->queue[use & shadow->queue_mask];
        if (entry_at(shadow, at)->last_use != use)
            continue;
        entry_at(shadow, at)->last_use = --kept;
        shadow->queue[kept & shadow->queue_mask] = at;
    }
    shadow->first = kept;
}

/* Removes the entry that was used least recently. */
static void remove_oldest(struct fth_shadow *shadow)
{
    for (;;) {
        const uint64_t use = shadow->first++;
        struct entry *entry = entry_at(shadow, shadow->queue[use & shadow->queue_mask]);
        if (entry->last_use == use) {
            entry->last_use = UNUSED;
            shadow->held_lines--;
            return;
        }
    }
}

/* Adds a use of an entry to the queue. */
static void add_use(struct fth_shadow *shadow, uint32_t at)
{
    struct entry *entry = entry_at(shadow, at);
    if (entry->last_use + 1 == shadow->end && entry->last_use != UNUSED)
        return;
    if (shadow->end - shadow->first > shadow->queue_mask)
        compact(shadow);
    if (entry->last_use == UNUSED) {
        set_mask(shadow, at, HELD, UINT64_MAX, 0);
        shadow->held_lines++;
    }
    shadow->queue[shadow->end & shadow->queue_mask] = at;
    entry->last_use = shadow->end++;
    if (shadow->held_lines <= shadow->lines)
        return;
    /* The entries at the front of the queue are rarely in the host's caches. */
    if (shadow->end - shadow->first > USES_AHEAD)
        __builtin_prefetch(
            entry_at(shadow, shadow->queue[(shadow->first + USES_AHEAD) & shadow->queue_mask]));
    remove_oldest(shadow);
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
    const bool listed = known && entry_at(shadow, entry)->last_use != UNUSED;
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
    if (entry_at(shadow, entry)->last_use != UNUSED)
        set_mask(shadow, entry, HELD, sectors, UINT64_MAX);
}

/* Returns the entry of a line that is in this slot of the cache, or NONE without memory. A line
 * that has just been allocated is the one that was found last; this avoids loading the entry of the
 * line that was in the slot before. */
static uint32_t obtain_in_slot(struct fth_shadow *shadow, uint64_t line, uint32_t slot)
{
    if (shadow->failed)
        return NONE;
    uint32_t *known = &shadow->by_slot[slot & shadow->slot_mask];
    if (shadow->last != NONE && entry_at(shadow, shadow->last)->line == line)
        *known = shadow->last;
    else if (*known >= shadow->entry_count || entry_at(shadow, *known)->line != line)
        *known = obtain(shadow, line);
    return *known;
}

void fth_shadow_use(struct fth_shadow *shadow, uint64_t line, uint32_t slot, uint64_t sectors)
{
    const uint32_t entry = obtain_in_slot(shadow, line, slot);
    if (entry == NONE)
        return;
    add_use(shadow, entry);
    for (size_t i = 0; i < shadow->words; i++) {
        uint64_t *word = &entry_at(shadow, entry)->masks[i];
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

/* ---- preparation ---- */

/* Returns where the index of the entry of a line probably is. */
static const uint32_t *likely_place(const struct fth_shadow *shadow, uint64_t line, uint32_t slot)
{
    return slot == FTH_NO_SLOT ? &shadow->table[first_place(shadow, line)]
                               : &shadow->by_slot[slot & shadow->slot_mask];
}

void fth_shadow_prepare(const struct fth_shadow *shadow, uint64_t line, uint32_t slot)
{
    __builtin_prefetch(likely_place(shadow, line, slot));
}

void fth_shadow_prepare_entry(const struct fth_shadow *shadow, uint64_t line, uint32_t slot)
{
    const uint32_t entry = *likely_place(shadow, line, slot);
    if (entry < shadow->entry_count)
        __builtin_prefetch(entry_at(shadow, entry));
}
