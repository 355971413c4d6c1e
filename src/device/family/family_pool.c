/* Grows, divides and frees the memory of families; see family_pool.h. */
#include "device/runner.h"

/* Between two uses of the same piece, a cold experiment accesses this many times the size of the
 * L2. With random replacement, exp(-4) of the lines (one in 55) are then still in the L2. */
static const uint64_t cold_l2_sizes = 4;
/* Alignment of the pieces in bytes: that of every allocation (struct fth_machine_ops). */
static const uint64_t piece_alignment = 256;

static void free_old(struct fth_runner *runner, struct fth_pool *pool)
{
    while (pool->old_count)
        runner->ops->free(runner->machine, pool->old[--pool->old_count]);
}

/* The old allocation is kept because the driver apparently clears freed memory in the background.
 * On an H200 this takes about 0.7 TB/s of bandwidth from whatever is measured meanwhile
 * (docs/results/h200.md). */
enum fth_status fth_pool_grow(struct fth_runner *runner, struct fth_pool *pool, uint64_t min_bytes,
                              struct fth_error *error)
{
    if (pool->bytes >= min_bytes)
        return FTH_OK;
    if (pool->old_count == FTH_COUNT(pool->old))
        free_old(runner, pool);
    if (pool->address)
        pool->old[pool->old_count++] = pool->address;
    pool->address = pool->bytes = pool->next = 0;
    if (fth_runner_alloc(runner, min_bytes, &pool->address, NULL) != FTH_OK) {
        free_old(runner, pool);
        pool->address = 0;
        FTH_TRY(fth_runner_alloc(runner, min_bytes, &pool->address, error));
    }
    pool->bytes = min_bytes;
    return FTH_OK;
}

uint64_t fth_pool_take(struct fth_pool *pool, uint64_t bytes)
{
    if (pool->next + bytes > pool->bytes)
        pool->next = 0;
    const uint64_t piece = pool->address + pool->next;
    pool->next += (bytes + piece_alignment - 1) / piece_alignment * piece_alignment;
    return piece;
}

void fth_pool_release(struct fth_runner *runner, struct fth_pool *pool)
{
    free_old(runner, pool);
    if (pool->address)
        runner->ops->free(runner->machine, pool->address);
    *pool = (struct fth_pool){0};
}

/* The pool needs space for the piece itself, for the data accessed between two uses of it, for one
 * more L2 size with which a cold stream may prepare the L2, and for an unused rest at the end that
 * is too small for a piece. */
uint64_t fth_pool_cold_bytes(const struct fth_runner *runner, uint64_t piece)
{
    return 2 * piece + (cold_l2_sizes + 1) * fth_runner_l2_bytes(runner);
}

enum fth_status fth_zeroed_grow(struct fth_runner *runner, struct fth_zeroed *memory,
                                uint64_t min_bytes, struct fth_error *error)
{
    if (memory->bytes >= min_bytes)
        return FTH_OK;
    fth_zeroed_release(runner, memory);
    FTH_TRY(fth_runner_alloc(runner, min_bytes, &memory->address, error));
    memory->bytes = min_bytes;
    return runner->ops->fill(runner->machine, memory->address, 0, min_bytes, error);
}

void fth_zeroed_release(struct fth_runner *runner, struct fth_zeroed *memory)
{
    if (memory->address)
        runner->ops->free(runner->machine, memory->address);
    *memory = (struct fth_zeroed){0};
}
