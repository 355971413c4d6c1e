/* GPU memory that families keep from request to request. It only grows.
 *
 * Streams, sweeps and transfers have their arrays in a pool. Experiments whose data must not be in
 * the L2 use one piece of the pool after the other and start over at its end, so that each takes
 * the piece that was used least recently. Other families have memory that is filled with 0.
 *
 * Many of the latter have requests that a block on one SM executes. A launch has blocks for all
 * SMs. The first block that runs on the SM of the request takes a ticket and executes the request;
 * the other blocks end at once. */
#ifndef FTH_FAMILY_POOL_H
#define FTH_FAMILY_POOL_H

#include "device/machine.h"

struct fth_lowered;
struct fth_request;
struct fth_runner;

struct fth_pool {
    uint64_t address, bytes;
    uint64_t old[8]; /* earlier, smaller allocations that have not been freed yet */
    size_t old_count;
    uint64_t next; /* offset of the next piece */
};

/* Ensures that the pool has at least `min_bytes`. The previous allocation is kept unless memory
 * runs out, because freeing memory disturbs the next measurement. FTH_UNAVAILABLE: the GPU has not
 * enough memory. */
FTH_MUST_USE enum fth_status fth_pool_grow(struct fth_runner *runner, struct fth_pool *pool,
                                           uint64_t min_bytes, struct fth_error *error);
/* Returns the address of the next piece of `bytes`; starts over at the end of the pool. */
uint64_t fth_pool_take(struct fth_pool *pool, uint64_t bytes);
/* Frees the memory and empties the pool. */
void fth_pool_release(struct fth_runner *runner, struct fth_pool *pool);
/* The size of a pool in which each new piece of `piece` bytes is no longer in the L2. */
uint64_t fth_pool_cold_bytes(const struct fth_runner *runner, uint64_t piece);

/* Memory that is filled with 0 when it is allocated. All members are 0 at the start. */
struct fth_zeroed {
    uint64_t address, bytes;
};
/* Ensures that the memory has at least `min_bytes`. If it has to grow, its contents become 0. */
FTH_MUST_USE enum fth_status fth_zeroed_grow(struct fth_runner *runner, struct fth_zeroed *memory,
                                             uint64_t min_bytes, struct fth_error *error);
/* Frees the memory, if there is any. */
void fth_zeroed_release(struct fth_runner *runner, struct fth_zeroed *memory);

/* The ticket, in a sector of its own, precedes the results. The first word of the results is not 0
 * if a block has executed the request. */
enum { FTH_TICKET_BYTES = 32 };
/* The state of a family whose requests run on one SM, and the functions `open` and `release` of
 * struct fth_family_ops for it. */
struct fth_ticket_memory {
    struct fth_zeroed data;
    struct fth_zeroed control; /* ticket and results */
};
FTH_MUST_USE enum fth_status fth_ticket_open(struct fth_runner *runner, void **state,
                                             struct fth_error *error);
void fth_ticket_release(struct fth_runner *runner, void *state);
/* Sets the number of blocks. FTH_NOT_FOUND: the GPU has no such SM. */
FTH_MUST_USE enum fth_status fth_ticket_lower(const struct fth_runner *runner,
                                              struct fth_lowered *lowered, struct fth_error *error);
/* Returns the number (%smid) of the SM that executes the request. */
uint32_t fth_ticket_sm(const struct fth_runner *runner, const struct fth_request *request);
/* Clears the ticket, the word that says whether the request was executed, and the samples. */
FTH_MUST_USE enum fth_status fth_ticket_clear(struct fth_runner *runner,
                                              struct fth_ticket_memory *memory,
                                              const struct fth_lowered *lowered,
                                              struct fth_error *error);
/* Waits for the launch and reads the samples, which begin `offset` bytes after the start of the
 * results. FTH_UNAVAILABLE: no block ran on the SM. */
FTH_MUST_USE enum fth_status fth_ticket_read(struct fth_runner *runner,
                                             const struct fth_ticket_memory *memory,
                                             const struct fth_lowered *lowered, uint64_t offset,
                                             uint32_t *cycles, struct fth_error *error);

#endif
