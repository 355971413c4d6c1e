/* A fully associative cache or TLB with LRU replacement, for scripted devices. */
#ifndef FTH_TESTS_LRU_H
#define FTH_TESTS_LRU_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LRU_MAX_ENTRIES = 1024 };

struct lru {
    uint64_t tags[LRU_MAX_ENTRIES]; /* [used] the most recently used first */
    size_t used, entries;
    bool random; /* evict a pseudo-random entry instead of the least recently used one */
    uint32_t state;
};

/* Accesses a line or page, and returns whether it was there. */
static inline bool lru_access(struct lru *lru, uint64_t tag)
{
    size_t at = 0;
    while (at < lru->used && lru->tags[at] != tag)
        at++;
    const bool hit = at < lru->used;
    if (!hit && lru->used < lru->entries)
        lru->used++;
    if (!hit && at == lru->entries) {
        lru->state = lru->state * 1664525 + 1013904223;
        at = lru->random ? (lru->state >> 8) % lru->entries : at - 1;
    }
    memmove(lru->tags + 1, lru->tags, at * sizeof *lru->tags);
    lru->tags[0] = tag;
    return hit;
}

#endif
