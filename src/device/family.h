/* The families of experiments other than the chase, one file each: what a request of the family
 * must be like, its text, and how it is run. Such a request has the GPU to itself. */
#ifndef FTH_FAMILY_H
#define FTH_FAMILY_H

#include "device/layout.h"

/* Memory for arrays. Those that shall come from memory, not from L2, take one piece after the other
 * of it, round and round: what comes next is what was used longest ago. */
struct fth_pool {
    uint64_t address, bytes;
    uint64_t old[8]; /* smaller ones, from before */
    size_t old_count;
    uint64_t next; /* where the next piece begins */
};

struct fth_stream_memory {
    struct fth_pool pool;
    /* What the last stream left in L2: a cold one what such a stream leaves, any other the memory
     * from its start on. */
    enum fth_stream_kind kind;
    bool flowing;
    uint64_t resident_bytes;
    struct fth_pool control;
    /* Loaded when they are asked for; the last path is that of clusters, widths are 4, 8 and 16
     * bytes. */
    struct fth_machine_module *modules[FTH_STREAM_KINDS][FTH_PATH_COUNT + 1][3];
};

/* The memory of sweeps, and which pattern is in it. */
struct fth_sweep_memory {
    struct fth_pool pool;
    uint64_t control; /* sums and faults */
    uint64_t pattern_bytes;
    unsigned pattern_arrays;
    bool pattern_wide;
    struct fth_machine_module *patterns[2];
    struct fth_sweep_module {
        struct fth_sweep_code code;
        struct fth_machine_module *module;
    } * modules; /* those that were asked for */
    size_t module_count, module_capacity;
};

/* What batch.c keeps of an open machine, as far as families need it. */
struct fth_batch {
    const struct fth_machine_ops *ops;
    void *machine;
    const struct fth_log *log;
    struct fth_machine_facts facts;
    struct fth_layout layout; /* with the module of the chase */
    uint32_t *sms;            /* their numbers */
    size_t sm_count;
    uint64_t bank, bank_origin; /* the constant bank: for the host, and as kernels see it */
    double clock_mhz;
    struct fth_stream_memory stream;
    struct fth_sweep_memory sweep;
    /* Of the operations, by the number of chains; once they were asked. */
    struct fth_machine_module *operate[FTH_OPERATIONS][FTH_MAX_CHAINS + 1];
    struct fth_machine_module
        *modules[FTH_FAMILY_COUNT]; /* of the families, once they were asked */

    /* batch.c's own */
    size_t next_sm;
    uint64_t small; /* memory for census and pace */
    uint64_t control, control_bytes;
    uint64_t flush, flush_bytes;
};

struct fth_family_ops {
    /* As fth_request_check, fth_request_write and fth_request_samples. */
    enum fth_status (*check)(const struct fth_request *request, struct fth_error *error);
    void (*write)(const struct fth_request *request, struct fth_buffer *text);
    uint64_t (*samples)(const struct fth_request *request);
    /* The PTX of its kernels; NULL: it loads them itself. */
    enum fth_status (*text)(struct fth_buffer *ptx, struct fth_error *error);
    /* Runs one request that has been checked; `cycles` has room for its samples and is zeroed. What
     * this GPU cannot do at all is FTH_UNSUPPORTED, what there is no memory for FTH_UNAVAILABLE;
     * these become the status of the answer. Anything else ends the batch. */
    enum fth_status (*run)(struct fth_batch *batch, struct fth_machine_module *module,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error);
    /* The oldest GPUs that its PTX is compiled for, 90 for 9.0, and why others cannot be asked. 0:
     * as for the chase. */
    unsigned min_capability;
    const char *too_old;
};

extern const struct fth_family_ops fth_family_fetch, fth_family_stream, fth_family_cluster,
    fth_family_operate, fth_family_sweep, fth_family_transfer;
/* ---- pool.c ---- */

/* As much as is wanted. What there was is kept until there is no room for both, as what frees
 * memory disturbs what is measured next. Where there is no room at all: FTH_UNAVAILABLE. */
FTH_MUST_USE enum fth_status fth_pool_grow(struct fth_batch *batch, struct fth_pool *pool,
                                           uint64_t want, struct fth_error *error);
/* Where the next so many bytes are. */
uint64_t fth_pool_take(struct fth_pool *pool, uint64_t bytes);
void fth_pool_release(struct fth_batch *batch, struct fth_pool *pool);
/* How large it must be for pieces of that size that are in no cache. */
uint64_t fth_pool_cold_bytes(const struct fth_batch *batch, uint64_t piece);
/* Of an L2 of unknown size the most that there is. */
uint64_t fth_l2_bytes(const struct fth_batch *batch);

/* ---- */

/* Something else runs: L2 does not hold any more what a stream left there. */
void fth_stream_disturb(struct fth_batch *batch);
/* Frees what streams hold of the machine. */
void fth_stream_release(struct fth_batch *batch);
void fth_operate_release(struct fth_batch *batch);
void fth_sweep_release(struct fth_batch *batch);
/* So much of the memory of sweeps, for something else. */
FTH_MUST_USE enum fth_status fth_sweep_reserve(struct fth_batch *batch, uint64_t bytes,
                                               uint64_t *address, struct fth_error *error);
/* Keeps the GPU busy for as long as it takes to queue what comes next, so that what is timed from
 * without begins when the one before it ends, not when the host has asked for it. */
FTH_MUST_USE enum fth_status fth_batch_lead(struct fth_batch *batch, struct fth_error *error);
/* Evicts all but everything from L2. */
FTH_MUST_USE enum fth_status fth_batch_flush(struct fth_batch *batch, struct fth_error *error);
/* What every request is held to: a carve-out that there is. */
FTH_MUST_USE enum fth_status fth_check_carveout(const struct fth_request *request,
                                                struct fth_error *error);
/* NULL for the chase. */
const struct fth_family_ops *fth_family_of(enum fth_family family);

/* A chain written into a buffer of 64 KiB as it must lie in the constant bank. */
void fth_batch_build_constants(const struct fth_batch *batch, const struct fth_chain *chain,
                               uint64_t *bank);

#endif
