/* A doubly linked list of slots for each set, newest first: what LRU keeps by use and FIFO by
 * arrival, at the same cost for 4 ways and for 512. The lists are rings through a node of the set
 * itself:
 *
 *   [slots + set] -> newest -> … -> oldest -> [slots + set]
 */
#include "cache/cache.h"

struct fth_order {
    uint32_t newer, older;
};

enum fth_status fth_order_init(struct fth_cache *cache, struct fth_error *error)
{
    cache->policy_state = fth_arena_array(&cache->arena, (size_t)cache->slots + cache->sets,
                                          sizeof(struct fth_order));
    return cache->policy_state ? FTH_OK
                               : fth_fail(error, FTH_NO_MEMORY, "build a cache", "policy",
                                          "out of memory for the order of %u lines", cache->slots);
}

void fth_order_clear(struct fth_cache *cache)
{
    struct fth_order *nodes = cache->policy_state;
    for (uint32_t ring = cache->slots; ring < cache->slots + cache->sets; ring++)
        nodes[ring] = (struct fth_order){ring, ring};
}

void fth_order_add(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    struct fth_order *nodes = cache->policy_state;
    uint32_t ring = cache->slots + set;
    uint32_t second = nodes[ring].older;
    nodes[slot] = (struct fth_order){.newer = ring, .older = second};
    nodes[second].newer = slot;
    nodes[ring].older = slot;
}

void fth_order_remove(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    (void)set;
    struct fth_order *nodes = cache->policy_state;
    struct fth_order node = nodes[slot];
    nodes[node.newer].older = node.older;
    nodes[node.older].newer = node.newer;
}

void fth_order_renew(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    const struct fth_order *nodes = cache->policy_state;
    if (nodes[cache->slots + set].older == slot)
        return;
    fth_order_remove(cache, set, slot);
    fth_order_add(cache, set, slot);
}

uint32_t fth_order_victim(struct fth_cache *cache, uint32_t set)
{
    const struct fth_order *nodes = cache->policy_state;
    uint32_t oldest = nodes[cache->slots + set].newer;
    fth_order_renew(cache, set, oldest);
    return oldest;
}

uint32_t fth_order_list(const struct fth_cache *cache, uint32_t set, uint32_t *slots)
{
    const struct fth_order *nodes = cache->policy_state;
    uint32_t ring = cache->slots + set, count = 0;
    for (uint32_t slot = nodes[ring].older; slot != ring; slot = nodes[slot].older)
        slots[count++] = slot;
    return count;
}
