/* Grows, divides and frees the memory of families; see family_pool.h. */
#include "device/runner.h"

#include <stdlib.h>

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

/* ---- requests that one SM executes ---- */

/* Blocks per SM, so that each SM gets at least one, whatever the order in which the GPU distributes
 * the blocks. Chosen, not derived. */
enum { BLOCKS_PER_SM = 4 };

enum fth_status fth_ticket_open(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct fth_ticket_memory));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

void fth_ticket_release(struct fth_runner *runner, void *state)
{
    struct fth_ticket_memory *memory = state;
    fth_zeroed_release(runner, &memory->data);
    fth_zeroed_release(runner, &memory->control);
    free(memory);
}

enum fth_status fth_ticket_lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                                 struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = runner->facts.sms * (runner->facts.concurrent ? BLOCKS_PER_SM : 1);
    return FTH_OK;
}

uint32_t fth_ticket_sm(const struct fth_runner *runner, const struct fth_request *request)
{
    return runner->sms[request->sm == FTH_ANY_SM ? 0 : request->sm];
}

enum fth_status fth_ticket_clear(struct fth_runner *runner, struct fth_ticket_memory *memory,
                                 const struct fth_lowered *lowered, struct fth_error *error)
{
    const uint64_t bytes = FTH_TICKET_BYTES + (1 + lowered->sample_count) * sizeof(uint32_t);
    FTH_TRY(fth_zeroed_grow(runner, &memory->control, bytes, error));
    return runner->ops->fill(runner->machine, memory->control.address, 0, bytes, error);
}

enum fth_status fth_ticket_read(struct fth_runner *runner, const struct fth_ticket_memory *memory,
                                const struct fth_lowered *lowered, uint64_t offset,
                                uint32_t *cycles, struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const uint64_t results = memory->control.address + FTH_TICKET_BYTES;
    uint32_t done = 0;
    FTH_TRY(ops->wait(runner->machine, lowered->time_limit_s, error));
    FTH_TRY(ops->download(runner->machine, &done, results, sizeof done, error));
    if (!done)
        return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                        "no block of the launch was executed by the SM");
    return ops->download(runner->machine, cycles, results + offset,
                         lowered->sample_count * sizeof *cycles, error);
}
