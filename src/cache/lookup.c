/* Which slot holds a line. Narrow sets are searched way by way. GPUs also have sets of 96, 192 and
 * 512 ways, for which there is a hash table over all sets. Slots of the same bucket are chained:
 *
 *   heads[bucket] -> slot -> chain[slot] -> … -> FTH_NO_SLOT
 *
 * With four buckets a slot most chains have one slot or none, so that the processor predicts well
 * where a chain ends. (Open addressing, tried at the same load, was slower: it has to guess once
 * more on adding a line, and once more on removing one.) */
#include "cache/cache.h"

#include <string.h>

unsigned fth_lookup_bits(uint32_t slots)
{
    unsigned bits = 1;
    while ((uint64_t)1 << bits < (uint64_t)slots * 4)
        bits++;
    return bits;
}

/* Fibonacci hashing: 2^64 over the golden ratio spreads consecutive lines evenly (Knuth, The Art of
 * Computer Programming 3, 6.4). */
static inline uint32_t *bucket(const struct fth_cache *cache, uint64_t line)
{
    return cache->heads + (line * 0x9e3779b97f4a7c15u >> (64 - cache->head_bits));
}

/* Looks at every way, without a branch that depends on where the line stands. */
static uint32_t scan(const struct fth_cache *cache, uint32_t set, uint64_t line)
{
    const uint64_t *lines = cache->lines;
    uint32_t found = FTH_NO_SLOT, end = cache->first[set + 1];
    for (uint32_t slot = cache->first[set]; slot < end; slot++)
        found = lines[slot] == line ? slot : found;
    return found;
}

uint32_t fth_lookup_find(const struct fth_cache *cache, uint32_t set, uint64_t line)
{
    if (!cache->heads)
        return scan(cache, set, line);
    uint32_t slot = *bucket(cache, line);
    while (slot != FTH_NO_SLOT && cache->lines[slot] != line)
        slot = cache->chain[slot];
    return slot;
}

void fth_lookup_add(struct fth_cache *cache, uint32_t slot)
{
    if (!cache->heads)
        return;
    uint32_t *head = bucket(cache, cache->lines[slot]);
    cache->chain[slot] = *head;
    *head = slot;
}

void fth_lookup_remove(struct fth_cache *cache, uint32_t slot)
{
    if (!cache->heads)
        return;
    uint32_t *link = bucket(cache, cache->lines[slot]);
    while (*link != slot)
        link = &cache->chain[*link];
    *link = cache->chain[slot];
}

void fth_lookup_clear(struct fth_cache *cache)
{
    if (cache->heads) /* every byte of FTH_NO_SLOT is 0xff */
        memset(cache->heads, 0xff, sizeof *cache->heads << cache->head_bits);
}
