/* Memory for the arrays of streams and sweeps: it grows, and is gone over piece by piece. */
#include "device/family.h"

/* Where its size is not known, L2 is taken for the largest there is. What a cold experiment goes
 * over was last used so many sizes of L2 ago: of an L2 that replaces at random, one line in 55
 * would still be there. */
static const uint64_t unknown_l2_bytes = UINT64_C(128) << 20, sizes_between = 4;

static void free_old(struct fth_batch *batch, struct fth_pool *pool)
{
    while (pool->old_count)
        batch->ops->free(batch->machine, pool->old[--pool->old_count]);
}

/* What there was is kept: it seems that a driver cleans memory that is freed, which on an H200
 * takes 0.66 TB/s from whatever is measured then, for as long as it takes. */
enum fth_status fth_pool_grow(struct fth_batch *batch, struct fth_pool *pool, uint64_t want,
                              struct fth_error *error)
{
    if (pool->bytes >= want)
        return FTH_OK;
    if (pool->old_count == FTH_COUNT(pool->old))
        free_old(batch, pool);
    if (pool->address)
        pool->old[pool->old_count++] = pool->address;
    pool->address = pool->bytes = pool->next = 0;
    enum fth_status status = batch->ops->alloc(batch->machine, want, &pool->address, NULL);
    struct fth_error fault = FTH_NO_ERROR;
    if (status != FTH_OK) {
        free_old(batch, pool);
        pool->address = 0;
        status = batch->ops->alloc(batch->machine, want, &pool->address, &fault);
    }
    if (status == FTH_OK)
        pool->bytes = want;
    return status == FTH_OK ? FTH_OK
                            : fth_fail(error, status == FTH_NO_MEMORY ? FTH_UNAVAILABLE : status,
                                       fault.operation, fault.argument, "%s", fault.cause);
}

uint64_t fth_pool_take(struct fth_pool *pool, uint64_t bytes)
{
    if (pool->next + bytes > pool->bytes)
        pool->next = 0;
    const uint64_t piece = pool->address + pool->next;
    pool->next += (bytes + 255) / 256 * 256;
    return piece;
}

void fth_pool_release(struct fth_batch *batch, struct fth_pool *pool)
{
    free_old(batch, pool);
    if (pool->address)
        batch->ops->free(batch->machine, pool->address);
    *pool = (struct fth_pool){0};
}

uint64_t fth_l2_bytes(const struct fth_batch *batch)
{
    return batch->facts.l2_bytes ? batch->facts.l2_bytes : unknown_l2_bytes;
}

/* Room for itself, for what goes before it, and at the end for a piece that is left out. */
uint64_t fth_pool_cold_bytes(const struct fth_batch *batch, uint64_t piece)
{
    return 2 * piece + (sizes_between + 1) * fth_l2_bytes(batch);
}
