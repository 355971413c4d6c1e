/* Finds the slot that holds a line. The search itself is in cache.h so that it can be inlined.
 *
 * Narrow sets store eight bits of the hash of each line. The search compares eight of these tags at
 * a time, after which usually at most one way has to be examined. GPUs also have sets of 96, 192
 * and 512 ways. For these there is one hash table over all sets. Slots of the same bucket are
 * chained:
 *
 *   heads[bucket] -> slot -> chain[slot] -> … -> FTH_NO_SLOT
 *
 * With the policy clock, the lookup compares the lines of the row instead.
 *
 * With four buckets per slot, most chains have at most one slot, so the processor predicts their
 * end well. (Open addressing with the same load was slower in experiments: adding a line and
 * removing a line each have one more unpredictable branch.) */
#include "cache/cache.h"

#include <string.h>

unsigned fth_lookup_bits(uint32_t slots)
{
    unsigned bits = 1;
    while ((uint64_t)1 << bits < (uint64_t)slots * 4)
        bits++;
    return bits;
}

void fth_lookup_add(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    const uint64_t line = fth_line_of(cache, slot)->number;
    if (cache->narrow_sets) {
        fth_narrow_set_tag(&cache->narrow_sets[set], slot - fth_set_first(cache, set), line);
        return;
    }
    if (!cache->heads)
        return;
    uint32_t *head = &cache->heads[fth_lookup_hash(line, cache->head_bits)];
    cache->chain[slot] = *head;
    *head = slot;
}

void fth_lookup_remove(struct fth_cache *cache, uint32_t slot)
{
    if (!cache->heads)
        return; /* a tag can stay: the search rejects it because the line number differs */
    uint32_t *link =
        &cache->heads[fth_lookup_hash(fth_line_of(cache, slot)->number, cache->head_bits)];
    while (*link != slot)
        link = &cache->chain[*link];
    *link = cache->chain[slot];
}

void fth_lookup_clear(struct fth_cache *cache)
{
    if (cache->heads) /* every byte of FTH_NO_SLOT is 0xff */
        memset(cache->heads, 0xff, sizeof *cache->heads << cache->head_bits);
}

FTH_CLONES
static void locate_all(const struct fth_cache *cache, const uint64_t *lines, size_t count,
                       struct fth_cache_location *locations)
{
    uint32_t sets[FTH_LOCATE_MAX];
    fth_index_sets(&cache->index, lines, count, sets);
    for (size_t i = 0; i < count; i++)
        locations[i] = (struct fth_cache_location){lines[i], sets[i],
                                                   fth_lookup_find(cache, sets[i], lines[i])};
}

void fth_cache_locate_all(const struct fth_cache *cache, const uint64_t *lines, size_t count,
                          struct fth_cache_location *locations)
{
    locate_all(cache, lines, count, locations);
}
