/* The interface of the experiment families other than the chase. Each family has one file, which
 * validates its requests, writes their canonical text and executes them. A request of such a family
 * never shares the GPU with another request. */
#ifndef FTH_FAMILY_H
#define FTH_FAMILY_H

#include "device/layout.h"

/* GPU memory for arrays. Experiments whose data must not be in the L2 use one piece of the pool
 * after the other and start over at its end, so that each takes the least recently used piece. */
struct fth_pool {
    uint64_t address, bytes;
    uint64_t old[8]; /* earlier, smaller allocations that have not been freed yet */
    size_t old_count;
    uint64_t next; /* offset of the next piece */
};

/* State of the stream family. */
struct fth_stream_memory {
    struct fth_pool pool;
    /* What the last stream left in the L2. After a cold stream, the L2 is full of data of that kind
     * of stream. After another one, it holds the first `resident_bytes` of the pool. */
    enum fth_stream_kind last_kind;
    bool last_was_cold;
    uint64_t resident_bytes;
    struct fth_pool control; /* a barrier counter and the time stamps of the blocks */
    /* Modules by kind, path (the last row is for clusters) and vector width (4, 8, 16 bytes). NULL:
     * not loaded yet. */
    struct fth_machine_module *modules[FTH_STREAM_KINDS][FTH_PATH_COUNT + 1][3];
};

/* State of the sweep family. */
struct fth_sweep_memory {
    struct fth_pool pool;
    uint64_t control; /* address of the sums and the count of wrong elements */
    /* The pattern that the arrays hold: bytes per array (0: none), number of arrays including the
     * target, element type. */
    uint64_t pattern_bytes;
    unsigned pattern_arrays;
    bool pattern_wide;
    struct fth_machine_module *patterns[2]; /* modules that write and check it: fp32, fp64 */
    struct fth_sweep_module {
        struct fth_sweep_code code;
        struct fth_machine_module *module;
    } * modules; /* the modules loaded so far */
    size_t module_count, module_capacity;
};

/* An open machine with the state of runner.c and of the families. Modules are loaded when they are
 * first needed; NULL: not loaded yet. */
struct fth_runner {
    const struct fth_machine_ops *ops;
    void *machine;
    const struct fth_log *log;
    struct fth_machine_facts facts;
    struct fth_layout layout; /* its module holds the chase kernels */
    uint32_t *sms;            /* %smid of each SM, ascending */
    size_t sm_count;
    uint64_t bank;        /* address of the constant bank for uploads */
    uint64_t bank_origin; /* its address in the constant space, as kernels see it */
    double clock_mhz;
    struct fth_stream_memory stream;
    struct fth_sweep_memory sweep;
    struct fth_machine_module *operate[FTH_OPERATIONS][FTH_MAX_CHAINS + 1]; /* by chains */
    struct fth_machine_module *modules[FTH_FAMILY_COUNT];

    /* Used by runner.c only. */
    size_t next_sm;                  /* index of the SM for the next request without a fixed SM */
    uint64_t scratch;                /* memory for the results of small kernels */
    uint64_t control, control_bytes; /* memory for tables, requests and samples */
    uint64_t flush, flush_bytes;     /* memory that is read to flush the L2 */
};

struct fth_family_ops {
    /* See fth_request_check, fth_request_write and fth_request_samples. */
    enum fth_status (*check)(const struct fth_request *request, struct fth_error *error);
    void (*write)(const struct fth_request *request, struct fth_buffer *text);
    uint64_t (*samples)(const struct fth_request *request);
    /* Appends the PTX of the family's kernels. NULL: the family loads its modules itself. */
    enum fth_status (*make_ptx)(struct fth_buffer *ptx, struct fth_error *error);
    /* Executes one valid request. `cycles` has space for its samples and is zeroed. `module` holds
     * the kernels of make_ptx. FTH_UNSUPPORTED (this GPU cannot do it) and FTH_UNAVAILABLE (not
     * enough memory) become the status of the answer. Any other failure ends the batch. */
    enum fth_status (*run)(struct fth_runner *runner, struct fth_machine_module *module,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error);
    /* Minimum compute capability of the PTX, 90 for 9.0, and the cause to report for older GPUs.
     * 0: the same as for the chase. */
    unsigned min_capability;
    const char *too_old;
};

extern const struct fth_family_ops fth_family_fetch, fth_family_stream, fth_family_cluster,
    fth_family_operate, fth_family_sweep, fth_family_transfer;
/* NULL for the chase. */
const struct fth_family_ops *fth_family_of(enum fth_family family);

/* ---- pool.c ---- */

/* Ensures that the pool has at least `min_bytes`. The previous allocation is kept unless memory
 * runs out, because freeing memory disturbs the next measurement. FTH_UNAVAILABLE: there is not
 * enough memory. */
FTH_MUST_USE enum fth_status fth_pool_grow(struct fth_runner *runner, struct fth_pool *pool,
                                           uint64_t min_bytes, struct fth_error *error);
/* Returns the address of the next piece of `bytes`; starts over at the end of the pool. */
uint64_t fth_pool_take(struct fth_pool *pool, uint64_t bytes);
/* Frees the memory and empties the pool. */
void fth_pool_release(struct fth_runner *runner, struct fth_pool *pool);
/* The size of a pool in which each new piece of `piece` bytes is no longer in the L2. */
uint64_t fth_pool_cold_bytes(const struct fth_runner *runner, uint64_t piece);
/* The size of the L2; an assumed upper limit of 128 MiB where it is unknown. */
uint64_t fth_l2_bytes(const struct fth_runner *runner);

/* ---- shared by runner.c and the families ---- */

/* To be called before other experiments run: the L2 may then no longer hold what a stream left. */
void fth_stream_invalidate(struct fth_runner *runner);
/* Release the memory and modules of a family. */
void fth_stream_release(struct fth_runner *runner);
void fth_operate_release(struct fth_runner *runner);
void fth_sweep_release(struct fth_runner *runner);
/* Lends `bytes` of the sweeps' memory; what it held is lost. Valid until the next sweep. */
FTH_MUST_USE enum fth_status fth_sweep_reserve(struct fth_runner *runner, uint64_t bytes,
                                               uint64_t *address, struct fth_error *error);
/* Queues a kernel that only waits. It keeps the GPU busy while the host queues the timed work, so
 * that this work starts directly after the delay and not when the host's call arrives. */
FTH_MUST_USE enum fth_status fth_runner_queue_delay(struct fth_runner *runner,
                                                    struct fth_error *error);
/* Queues a launch that evicts almost everything from the L2. */
FTH_MUST_USE enum fth_status fth_runner_flush(struct fth_runner *runner, struct fth_error *error);
/* Checks that a request's carve-out is -1 or a percentage. */
FTH_MUST_USE enum fth_status fth_check_carveout(const struct fth_request *request,
                                                struct fth_error *error);

/* Writes a chain into `bank`, a buffer of 64 KiB with the future contents of the constant bank. */
void fth_runner_build_constants(const struct fth_runner *runner, const struct fth_chain *chain,
                                uint64_t *bank);

#endif
