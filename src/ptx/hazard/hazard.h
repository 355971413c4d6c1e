/* hazard/: looks for accesses that race with an asynchronous operation in flight, because the
 * kernel lacks a wait, a barrier or a fence.
 *
 *   hazard_state.c      the state of a cluster, and what its warps do
 *   hazard_table.c      the operations in flight, found by the addresses that they access
 *   hazard_access.c     checks each access against them, and across proxies
 *   hazard_registers.c  checks the registers of wgmma
 *   hazard_findings.c   collects the findings of a launch
 *
 * An operation is in flight from its issue until a thread has waited for its group, or for the
 * mbarrier that counts it. It can take place at any time in between, and a GPU can execute the
 * instructions in the same order as the engine. An access to the same bytes in this time is
 * therefore a race.
 *
 * After a wait for a group, only the thread that waited may access the bytes, until it reaches a
 * barrier or another instruction that can inform other threads ("local" below). This rule does not
 * apply to wgmma, which four warps execute together. The threads of a warp count as one thread.
 *
 * Where the order of events is not known, the check assumes the order without a race: it may miss
 * races, but each of its reports is a race. */
#ifndef FTH_PTX_HAZARD_H
#define FTH_PTX_HAZARD_H

#include "ptx/async/async.h"

/* ---- operations ---- */

enum fth_hazard_state {
    HAZARD_IN_FLIGHT,
    HAZARD_COUNTED, /* an mbarrier has counted it, but no thread has waited for the mbarrier */
    HAZARD_LOCAL,   /* only its warp has waited for it */
    HAZARD_GONE
};

/* Bytes that an operation accesses. Shared memory is at address rank << 32 + offset, which is below
 * all global addresses. */
struct fth_hazard_range {
    uint64_t start, end;
    const uint8_t *mbarrier; /* HAZARD_COUNTED: the host address of the mbarrier */
    uint8_t kind;            /* enum fth_ptx_access_kind */
    uint8_t lane;            /* that issued it */
    uint8_t state;           /* enum fth_hazard_state */
};

struct fth_hazard_operation {
    struct fth_hazard_operation *next, *previous;
    const struct fth_ptx_inst *inst;
    struct fth_ptx_warp *warp;
    struct fth_ptx_copy *copy; /* NULL: it is complete, or wgmma */
    uint32_t serial;           /* of wgmma: its number in the warp, from 1 on */
    size_t left;               /* ranges that are not gone */
    size_t range_count;
    struct fth_hazard_range ranges[];
};

/* An entry of the table: a range that accesses some of the 16 bytes of a unit. */
struct fth_hazard_node {
    uint64_t unit;
    struct fth_hazard_operation *operation;
    struct fth_hazard_range *range;
    uint32_t next; /* in the bucket or in the list of free nodes; 0: none */
};

/* ---- findings ---- */

enum fth_hazard_kind {
    HAZARD_ACCESS,
    HAZARD_PROXY,
    HAZARD_EXIT,
    HAZARD_REGISTER_READ,
    HAZARD_REGISTER_WRITE,
    HAZARD_NO_FENCE
};

/* A pair of instructions that race. */
struct fth_finding {
    enum fth_hazard_kind kind;
    const struct fth_ptx_inst *inst, *other;
    uint64_t cluster, order; /* of its first occurrence */
    uint64_t count;
    char text[640];
};

struct fth_findings {
    struct fth_finding *at;
    size_t count, capacity;
};

/* ---- clusters ---- */

/* What is known of a register of a warp. */
struct fth_hazard_register {
    /* wgmma that writes it (or, unless `direct`, whose result was moved there), and that reads it.
     */
    const struct fth_ptx_inst *writer, *reader;
    uint32_t write_serial, read_serial; /* their numbers in the warp */
    bool direct;
    const struct fth_ptx_inst *changed; /* that wrote it since the last wgmma.fence; NULL: none */
};

enum { MAX_GROUPS = 64 }; /* of wgmma whose number is remembered; PTX allows waits for fewer */

struct fth_hazard_warp {
    uint64_t released; /* time of its last instruction that can inform other threads */
    uint64_t fenced;   /* its shared writes before this time are visible to the async proxy */
    size_t local;      /* its ranges that are local */
    /* wgmma: */
    struct fth_hazard_register *registers; /* of the kernel; NULL: not needed yet */
    uint32_t issued, complete;             /* number of the last one issued, and complete */
    uint32_t groups[MAX_GROUPS];           /* `issued` at each commit */
    uint64_t group_count;
    bool has_fence; /* it has executed a wgmma.fence */
};

/* The last write of ordinary instructions to a unit of shared memory. */
struct fth_hazard_write {
    const struct fth_ptx_inst *inst; /* NULL: none */
    uint64_t time;
    uint32_t warp; /* index in `warps` */
};

struct fth_hazards {
    struct fth_ptx_cluster *cluster;
    struct fth_ptx_run *run;
    uint64_t index;
    uint64_t time;   /* advances with each instruction that can inform other threads */
    bool has_failed; /* out of memory; nothing is checked any more */
    struct fth_hazard_operation *operations, *last_operation;
    size_t operation_count;
    size_t counted_count; /* ranges in the state HAZARD_COUNTED */
    /* The accesses of the asynchronous instruction that is being issued. */
    struct fth_hazard_range *fresh;
    size_t fresh_count, fresh_capacity;
    uint32_t *buckets; /* NULL until there is an operation */
    struct fth_hazard_node *nodes;
    size_t node_count, node_capacity; /* node 0 is not used */
    uint32_t free_node;
    uint32_t warps_per_block;
    struct fth_hazard_warp *warps;    /* of all blocks */
    struct fth_hazard_write **writes; /* by rank, then by unit; NULL: no writes yet */
    struct fth_findings findings;
};

enum { HAZARD_UNIT = 16 };

/* Stops the launch because memory is exhausted. */
void fth_hazards_fail(struct fth_hazards *hazards);

static inline struct fth_hazard_warp *hazard_warp(struct fth_hazards *hazards,
                                                  const struct fth_ptx_warp *warp)
{
    return &hazards->warps[warp->block->rank * hazards->warps_per_block + warp->index];
}

/* ---- hazard_table.c ---- */

/* Adds an access to those of the instruction that is being issued. */
void fth_hazard_add_fresh(struct fth_hazards *hazards, const struct fth_hazard_range *range);
/* Creates an operation with the accesses of the instruction that is being issued. Returns NULL if
 * there are none. */
struct fth_hazard_operation *fth_hazard_create(struct fth_hazards *hazards,
                                               struct fth_ptx_warp *warp,
                                               const struct fth_ptx_inst *inst, uint32_t serial);
/* Advances the ranges of these lanes, or only those that are read, to a later state. Frees the
 * operation when all its ranges are gone. */
void fth_hazard_advance(struct fth_hazards *hazards, struct fth_hazard_operation *operation,
                        uint32_t lanes, bool only_reads, enum fth_hazard_state state);
/* Ends the ranges that the mbarrier has counted, because a thread has waited for it. */
void fth_hazard_end_counted(struct fth_hazards *hazards, const uint8_t *mbarrier);
/* Ends the local ranges of the warp, because others can know of its waits. */
void fth_hazard_end_local(struct fth_hazards *hazards, const struct fth_ptx_warp *warp);
/* Returns the first entry of the unit of 16 bytes, or of what follows `node` in the same unit;
 * NULL: there is none. */
const struct fth_hazard_node *fth_hazard_find(const struct fth_hazards *hazards, uint64_t unit,
                                              const struct fth_hazard_node *node);

/* ---- hazard_access.c ---- */

/* Returns the address of shared memory in struct fth_hazard_range. */
static inline uint64_t hazard_shared(const struct fth_ptx_block *block, uint64_t offset)
{
    return (uint64_t)block->rank << 32 | (offset & UINT32_MAX);
}

/* Returns what a thread must do before it accesses the bytes of the range. */
const char *fth_hazard_missing(const struct fth_hazard_operation *operation,
                               const struct fth_hazard_range *range);

/* ---- hazard_registers.c ---- */

/* Checks the registers of an instruction of the kernel, and follows moves between registers. */
void fth_hazard_registers(struct fth_hazards *hazards, struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst);

/* ---- hazard_findings.c ---- */

/* Reports a finding at a place. `other` is the second instruction that takes part, or NULL. */
FTH_PRINTF(7, 8)
void fth_hazard_report(struct fth_hazards *hazards, enum fth_hazard_kind kind,
                       const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                       const struct fth_ptx_inst *other, const char *text, ...);

#endif
