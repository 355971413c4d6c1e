/* hazard/: looks for accesses that race with an asynchronous operation in flight, because the
 * kernel lacks a wait, a barrier or a fence, and for accesses of two threads to shared memory that
 * race with each other.
 *
 *   hazard_state.c      the state of a cluster, and what its warps do
 *   hazard_table.c      the operations in flight, found by the addresses that they access
 *   hazard_access.c     checks each access against them, and across proxies
 *   hazard_registers.c  checks the registers of wgmma
 *   hazard_findings.c   collects the findings of a launch
 *   race_clock.c        which accesses of other threads a thread knows of
 *   race_access.c       checks each access to shared memory against those of other threads
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
    HAZARD_NO_FENCE,
    HAZARD_RACE /* between two threads; the order of the two instructions does not matter */
};

/* How far apart the threads of a race are; later ones need stronger barriers. */
enum fth_race_scope { RACE_NONE, RACE_IN_WARP, RACE_IN_BLOCK, RACE_IN_CLUSTER };

/* A pair of instructions that race. */
struct fth_finding {
    enum fth_hazard_kind kind;
    enum fth_race_scope scope; /* the farthest of all occurrences */
    const struct fth_ptx_inst *inst, *other;
    uint64_t cluster, order; /* of its first occurrence */
    uint64_t count;
    char text[800];
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
    struct fth_races *races; /* NULL: the launch does not look for races between threads */
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

/* Returns the instruction in the code of the function, which outlives the copies that handlers make
 * of it. */
const struct fth_ptx_inst *fth_hazard_original(const struct fth_ptx_warp *warp,
                                               const struct fth_ptx_inst *inst);
/* Returns what a thread must do before it accesses the bytes of the range. */
const char *fth_hazard_missing(const struct fth_hazard_operation *operation,
                               const struct fth_hazard_range *range);

/* ---- hazard_registers.c ---- */

/* Checks the registers of an instruction of the kernel, and follows moves between registers. */
void fth_hazard_registers(struct fth_hazards *hazards, struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst);

/* ---- hazard_findings.c ---- */

/* Counts a finding that the cluster has already, and returns it. Returns NULL if it has not. */
struct fth_finding *fth_hazard_repeat(struct fth_hazards *hazards, enum fth_hazard_kind kind,
                                      const struct fth_ptx_inst *inst,
                                      const struct fth_ptx_inst *other);
/* Reports a finding at a place, and returns it. `other` is the second instruction that takes part,
 * or NULL. Returns NULL when out of memory. */
FTH_PRINTF(7, 8)
struct fth_finding *fth_hazard_report(struct fth_hazards *hazards, enum fth_hazard_kind kind,
                                      const struct fth_ptx_warp *warp,
                                      const struct fth_ptx_inst *inst, int lane,
                                      const struct fth_ptx_inst *other, const char *text, ...);

/* ---- races between threads ----
 *
 * Two accesses are ordered if a chain of barriers, of other instructions that synchronise, and of
 * instructions of the same thread leads from one to the other. Two accesses of different threads to
 * the same bytes that are not ordered race, if at least one writes and not both are strong (atomic,
 * volatile, or with a memory order such as .relaxed).
 *
 * Each warp has a time, which advances whenever the warp synchronises, and a vector clock (Mattern,
 * 1988): for each warp, the time before which it knows all accesses. Towards other warps, the
 * threads of a warp count as one thread. Among the threads of a warp, only synchronisation orders.
 * Per unit of shared memory, the last accesses are kept (FastTrack, Flanagan and Freund, 2009). */

struct fth_race_entry {
    const struct fth_ptx_inst *inst; /* NULL: none */
    uint32_t time;                   /* of the warp */
    uint32_t thread : 29;            /* index of the warp * LANES + lane */
    uint32_t strong : 1;
    uint32_t repeats : 2; /* enum fth_race_repeats */
};

/* Whether another thread wrote the same bytes before a write, without being ordered, and the write
 * did not change them. A read of one of these threads is no race with the write of another one. */
enum fth_race_repeats {
    REPEATS_NONE,
    REPEATS_IN_WARP, /* a thread of the same warp, with the same instruction */
    REPEATS_ANY
};

enum { RACE_READERS = 2 };

/* The last accesses to a unit of shared memory. Strong writes are kept beside the last plain one,
 * with which they can still race. */
struct fth_race_unit {
    struct fth_race_entry writer, atomic, readers[RACE_READERS];
};

/* A write that races if it changes the contents of the unit. This is known when the instruction has
 * been executed. */
struct fth_race_write {
    struct fth_race_unit *unit;
    const struct fth_ptx_block *block; /* owner of the shared memory */
    uint64_t offset;
    uint8_t before[4]; /* the contents of the unit */
    struct fth_race_entry other, own;
    bool other_reads;
};

struct fth_race_warp {
    uint32_t time;
    uint32_t *known; /* [lane][lane]: the time before which a lane knows the accesses of another
                      * one; NULL: no lanes have synchronised without the others */
};

/* The number of clocks for addresses through which threads synchronise. Addresses that share one
 * are taken as the same, which can hide a race. Chosen, not derived. */
enum { RACE_ADDRESSES = 1024 };

struct fth_races {
    struct fth_hazards *hazards;
    unsigned unit_bytes;
    uint32_t warp_count; /* of all blocks */
    struct fth_race_warp *warps;
    /* Vector clocks have warp_count elements. */
    uint32_t *clocks;   /* of the warps */
    uint32_t *barriers; /* of the threads that have arrived at each barrier of each block */
    uint32_t *cluster;  /* of those that have arrived at the barrier of the cluster */
    uint32_t *copies;   /* of those that have issued asynchronous copies */
    uint32_t *addresses[RACE_ADDRESSES]; /* NULL: not used yet */
    struct fth_race_unit **units;        /* by rank, then by unit; NULL: no accesses yet */
    struct fth_race_write *writes;       /* of the last instruction */
    size_t write_count, write_capacity;
};

/* ---- race_clock.c ---- */

/* Returns NULL when out of memory. */
struct fth_races *fth_races_create(struct fth_hazards *hazards);
/* Takes NULL. */
void fth_races_destroy(struct fth_races *races);
/* Returns true if the thread of `own` knows of the access. */
bool fth_race_is_ordered(const struct fth_races *races, const struct fth_race_entry *access,
                         const struct fth_race_entry *own);
/* The warp issues an instruction for these lanes. */
void fth_race_instruction(struct fth_races *races, const struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst, uint32_t lanes);
/* A lane makes its accesses known to those that read this host address, or learns of theirs. */
void fth_race_publish(struct fth_races *races, const struct fth_ptx_warp *warp,
                      const uint8_t *address);
void fth_race_learn(struct fth_races *races, const struct fth_ptx_warp *warp,
                    const uint8_t *address);
/* A thread has waited for the mbarrier at a host address. */
void fth_race_wait(struct fth_races *races, const struct fth_ptx_warp *warp,
                   const uint8_t *mbarrier);

/* ---- race_access.c ---- */

/* The lanes of a group access memory. */
void fth_race_access(struct fth_races *races, const struct fth_ptx_warp *warp,
                     const struct fth_ptx_inst *inst, const struct fth_ptx_lane_group *group,
                     unsigned bytes, enum fth_ptx_access_kind kind);
/* Reports the writes of the last instruction that race. */
void fth_race_check_writes(struct fth_races *races);

#endif
