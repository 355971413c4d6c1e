/* A hash table of digests, with open addressing: finds the number that contents have in a capsule.
 * Its words are random already, so one of them selects the place. */
#include "capsule/capsule_parts.h"

#include <stdlib.h>

struct fth_digest_entry {
    struct fth_digest digest;
    uint32_t number; /* 0: the place is free */
};

/* Returns the place of a digest, or the free place where it belongs. */
static struct fth_digest_entry *find(const struct fth_digest_table *table,
                                     const struct fth_digest *digest)
{
    const size_t mask = table->capacity - 1;
    size_t at = (size_t)digest->words[0] & mask;
    while (table->entries[at].number && (table->entries[at].digest.words[0] != digest->words[0] ||
                                         table->entries[at].digest.words[1] != digest->words[1]))
        at = (at + 1) & mask;
    return &table->entries[at];
}

/* Doubles the number of places. Returns false without memory. */
static bool enlarge(struct fth_digest_table *table)
{
    struct fth_digest_table larger = {.count = table->count,
                                      .capacity = table->capacity ? 2 * table->capacity : 1024};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].number)
            *find(&larger, &table->entries[i].digest) = table->entries[i];
    free(table->entries);
    *table = larger;
    return true;
}

uint32_t fth_digest_table_find(const struct fth_digest_table *table,
                               const struct fth_digest *digest)
{
    return table->capacity ? find(table, digest)->number : 0;
}

bool fth_digest_table_add(struct fth_digest_table *table, const struct fth_digest *digest,
                          uint32_t number)
{
    /* At most half of the places are used, so that a search ends soon. */
    if (2 * table->count >= table->capacity && !enlarge(table))
        return false;
    *find(table, digest) = (struct fth_digest_entry){.digest = *digest, .number = number};
    table->count++;
    return true;
}

void fth_digest_table_fini(struct fth_digest_table *table)
{
    free(table->entries);
    *table = (struct fth_digest_table){0};
}
