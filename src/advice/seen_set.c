/* A set of the units that blocks have accessed, such as sectors: a hash table with linear probing.
 */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

/* Number of entries at first; maximum size of a table in bytes. Chosen, not derived: the limit
 * leaves room for the model on a small host. */
enum { FIRST_ENTRIES = 1 << 12, MAX_BYTES = 512 << 20 };

/* Returns the entry of a unit of a block, or the free one where it belongs. */
static struct fth_seen_entry *find(const struct fth_seen *seen, uint64_t unit, uint32_t block)
{
    const size_t mask = seen->capacity - 1;
    uint64_t hash = unit * UINT64_C(0x9e3779b97f4a7c15) + block * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 32) * UINT64_C(0x94d049bb133111eb);
    hash ^= hash >> 29;
    size_t at = (size_t)hash & mask;
    while (seen->entries[at].block &&
           (seen->entries[at].unit != unit || seen->entries[at].block != block + 1))
        at = (at + 1) & mask;
    return &seen->entries[at];
}

static enum fth_status grow(struct fth_seen *seen, struct fth_error *error)
{
    struct fth_seen larger = {.capacity = seen->capacity ? 2 * seen->capacity : FIRST_ENTRIES,
                              .count = seen->count};
    if (larger.capacity * sizeof *larger.entries > MAX_BYTES)
        return fth_fail(error, FTH_INVALID, "edit trace", NULL,
                        "a block accesses too many different addresses; the limit is %d MiB of "
                        "memory for them",
                        MAX_BYTES >> 20);
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return fth_no_memory(error, "edit trace", NULL);
    for (size_t i = 0; i < seen->capacity; i++) {
        const struct fth_seen_entry *entry = &seen->entries[i];
        if (entry->block)
            *find(&larger, entry->unit, entry->block - 1) = *entry;
    }
    free(seen->entries);
    *seen = larger;
    return FTH_OK;
}

enum fth_status fth_seen_put(struct fth_seen *seen, uint64_t unit, uint32_t block, uint32_t initial,
                             uint32_t **value, bool *is_new, struct fth_error *error)
{
    if (2 * seen->count >= seen->capacity)
        FTH_TRY(grow(seen, error));
    struct fth_seen_entry *entry = find(seen, unit, block);
    *is_new = !entry->block;
    if (*is_new) {
        *entry = (struct fth_seen_entry){.unit = unit, .block = block + 1, .value = initial};
        seen->count++;
    }
    *value = &entry->value;
    return FTH_OK;
}

void fth_seen_clear(struct fth_seen *seen)
{
    if (seen->count)
        memset(seen->entries, 0, seen->capacity * sizeof *seen->entries);
    seen->count = 0;
}

void fth_seen_fini(struct fth_seen *seen)
{
    free(seen->entries);
    *seen = (struct fth_seen){0};
}
