/* FIFO: the victim is the line that was allocated first, no matter how often it was accessed since.
 * Fetching another sector of a line does not change its position. */
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
