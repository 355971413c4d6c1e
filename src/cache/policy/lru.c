/* LRU: the victim is the line that was not accessed for the longest time. This is true LRU,
 * unlike the approximations of hardware that use a tree (see plru.c) or one bit per line. */
#include "cache/cache.h"

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    return fth_order_init(cache, error);
}

const struct fth_policy fth_policy_lru = {
    .name = "lru",
    .init = init,
    .clear = fth_order_clear,
    .added = fth_order_add,
    .used = fth_order_move_to_front,
    .removed = fth_order_remove,
    .victim = fth_order_victim,
};
