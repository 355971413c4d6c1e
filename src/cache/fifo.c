/* FIFO: the line that came first goes, however often it was used since. Fetching one more of its
 * sectors does not make a line new. */
#include "cache/cache.h"

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    return fth_order_init(cache, error);
}

const struct fth_policy fth_policy_fifo = {
    .name = "fifo",
    .init = init,
    .clear = fth_order_clear,
    .added = fth_order_add,
    .removed = fth_order_remove,
    .victim = fth_order_victim,
};
