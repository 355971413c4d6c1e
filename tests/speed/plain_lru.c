/* The cache of plain_lru.h. */
#include "plain_lru.h"

#include <stdlib.h>

struct plain_lru {
    uint64_t sets, ways, clock;
    uint64_t mask; /* sets - 1 if `sets` is a power of two, which avoids a division; otherwise 0 */
    struct {
        uint64_t line, last_use;
    } entries[];
};

struct plain_lru *plain_lru_create(uint64_t sets, uint64_t ways)
{
    struct plain_lru *plain = calloc(1, sizeof *plain + sets * ways * sizeof plain->entries[0]);
    if (!plain)
        return NULL;
    plain->sets = sets;
    plain->ways = ways;
    plain->mask = sets & (sets - 1) ? 0 : sets - 1;
    for (uint64_t i = 0; i < sets * ways; i++)
        plain->entries[i].line = UINT64_MAX;
    return plain;
}

void plain_lru_destroy(struct plain_lru *plain)
{
    free(plain);
}

uint64_t plain_lru_read(struct plain_lru *plain, const uint64_t *lines, size_t count)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t set = plain->mask ? lines[i] & plain->mask : lines[i] % plain->sets;
        uint64_t first = set * plain->ways, end = first + plain->ways, at;
        for (at = first; at < end; at++)
            if (plain->entries[at].line == lines[i])
                break;
        if (at < end) {
            hits++;
        } else {
            at = first;
            for (uint64_t j = first + 1; j < end; j++)
                if (plain->entries[j].last_use < plain->entries[at].last_use)
                    at = j;
            plain->entries[at].line = lines[i];
        }
        plain->entries[at].last_use = ++plain->clock;
    }
    return hits;
}
