/* LRU: the line whose last use is longest ago goes. True LRU, not the tree or bit approximations of
 * hardware. */
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
    .used = fth_order_renew,
    .removed = fth_order_remove,
    .victim = fth_order_victim,
};
