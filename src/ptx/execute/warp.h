/* The data structures of an execution: machines, and the blocks and warps of a launch. */
#ifndef FTH_PTX_WARP_H
#define FTH_PTX_WARP_H

#include "ptx/engine.h"

/* ---- machines ---- */

/* A range of device memory: one variable, or the result of fth_ptx_alloc. */
struct fth_ptx_allocation {
    uint64_t base, bytes;
    uint8_t *host;
    size_t mapped_bytes; /* size of the mmap'ed host memory; 0: from calloc */
    bool is_borrowed;    /* the host memory belongs to the caller of fth_ptx_map */
    bool is_placed;      /* the caller has chosen the address */
    bool is_counted;     /* it is a part of fth_ptx_memory.used_bytes */
    bool is_constant;
    bool exact; /* sliced launches must keep its contents as a full execution would */
    bool stale; /* a sliced launch may not have written what a full execution would */
    const struct fth_ptx_machine *owner; /* of a variable; NULL for fth_ptx_alloc */
};

struct fth_ptx_memory {
    size_t users;                           /* number of machines */
    uint64_t base;                          /* the address of the first allocation */
    uint64_t capacity_bytes, used_bytes;    /* of fth_ptx_alloc */
    struct fth_ptx_allocation *allocations; /* sorted by base */
    size_t allocation_count, allocation_capacity;
    struct fth_ptx_texture *textures; /* and surfaces (texture/) */
    size_t texture_count, texture_capacity;
    uint64_t heap_address;     /* of the memory for malloc of kernels, */
    struct fth_ptx_heap *heap; /* and its blocks; NULL: no module calls malloc */
};

struct fth_ptx_machine {
    const struct fth_ptx_module *module; /* NULL: only memory */
    struct fth_ptx_memory *memory;
    bool *warned; /* by index of the function: a message said that the output of printf is dropped;
                   * NULL: none */
    struct fth_findings *reported; /* races that were logged (hazard/); NULL: none */
    uint8_t **slice_classes; /* by index of the function: what its instructions do (slice/); NULL:
                              * not known yet */
};

/* Returns the allocation that contains the address, or NULL. */
const struct fth_ptx_allocation *fth_ptx_find_allocation(const struct fth_ptx_memory *memory,
                                                         uint64_t address);

/* ---- execution ---- */

/* A register in a sliced launch. Many registers are linear: thread indices, loop counters, and the
 * addresses that are computed from them. Instructions on linear values need not visit each lane
 * (slice/linear.c). Only as many low bits are valid as the type of the register has. */
struct fth_ptx_value {
    struct fth_ptx_linear linear;
    bool irregular; /* not linear; the row has the values */
    bool has_row;   /* the row has the values, too */
};

/* One activation of a function by some lanes of a warp. */
struct fth_ptx_frame {
    const struct fth_ptx_function *function;
    struct fth_ptx_frame *caller;
    uint32_t return_pc;           /* in the caller */
    uint32_t call;                /* index of the call site that created this frame */
    uint32_t depth;               /* 0 for the kernel */
    uint32_t live;                /* lanes that have not returned */
    uint32_t operand_base;        /* see struct fth_ptx_issue */
    uint64_t local_base;          /* offset of its variables in the local memory of each thread */
    uint64_t local_end;           /* the end of its local memory, which alloca moves */
    uint64_t *rows;               /* [register][lane] */
    struct fth_ptx_value *values; /* [register], in a sliced launch; otherwise NULL: all are rows */
    uint32_t *predicates;
    uint8_t *params; /* [lane][param_bytes] */
};

enum fth_ptx_fragment_state {
    RUNNING,
    AT_BARRIER,        /* waits at a barrier of the block */
    AT_SYNC,           /* waits at a K_CONVERGE instruction */
    AT_WARP_SYNC,      /* waits at a bar.warp.sync */
    AT_CLUSTER_BARRIER /* waits at the barrier of the cluster */
};

/* Lanes of a warp that are at the same instruction of the same frame. A warp that has not diverged
 * consists of one fragment. */
struct fth_ptx_fragment {
    uint32_t pc, mask;
    enum fth_ptx_fragment_state state;
    uint32_t barrier;         /* AT_BARRIER: index of the barrier */
    uint32_t barrier_threads; /* AT_BARRIER: expected number of threads; 0: the whole block */
    uint32_t awaited; /* AT_SYNC: missing lanes; AT_WARP_SYNC: all lanes of the member mask */
    struct fth_ptx_frame *frame;
};

/* One host thread of a launch. */
struct fth_ptx_worker {
    struct fth_ptx_run *run;
    /* Instructions that its warps have issued since it last checked the limit of the launch and
     * whether the launch is interrupted. */
    uint64_t unchecked;
    struct fth_ptx_frame *spare_frames; /* of the kernel; the next one is `caller` */
};

/* Blocks that run at the same time. Without clusters, each block is a cluster of its own. */
struct fth_ptx_cluster {
    struct fth_ptx_block *blocks;
    uint32_t count;
    struct fth_ptx_worker *worker; /* the host thread that runs it */
    uint32_t phase;                /* number of times that its barrier has completed */
    bool arrived;                  /* a thread has arrived at the barrier in this phase */
    bool
        unchecked_arrival; /* a thread has arrived since the last call of fth_ptx_release_cluster */
    struct fth_ptx_copy *copies, *last_copy; /* asynchronous copies that are not complete, in the
                                              * order of their issue */
    size_t copy_count;
    bool changed; /* an mbarrier has changed, or a copy has been executed, since this was cleared */
    struct fth_rng rng;          /* for FTH_COPY_RANDOM */
    struct fth_hazards *hazards; /* NULL: the launch does not look for missing waits */
};

enum { MAX_BARRIERS = 16 }; /* per block, as in PTX */

struct fth_ptx_block {
    struct fth_ptx_run *run;
    struct fth_ptx_cluster *cluster;
    uint64_t index;
    uint32_t xyz[3];
    uint32_t rank; /* in the cluster */
    uint32_t sm;
    uint8_t *shared;       /* NULL until the first access; see fth_ptx_reserve_shared */
    uint64_t shared_bytes; /* 0 until the first access */
    struct fth_ptx_warp *warps;
    uint32_t warp_count;
    uint64_t clock; /* number of instructions issued; the value of %clock if the observer has no
                     * `clock` callback */
    uint64_t arrived[MAX_BARRIERS]; /* threads that bar.arrive has counted, per barrier */
    struct fth_buffer printed;      /* the output of printf */
    uint32_t active_barriers;       /* bit mask of the barriers with waiting or arrived threads */
};

struct fth_ptx_warp {
    /* The state of the current fragment, for the functions that execute instructions. */
    uint64_t *rows;
    struct fth_ptx_value *values;
    uint32_t *predicates;
    const uint64_t (*pool)[LANES];
    struct fth_ptx_frame *frame;
    uint32_t pc, mask;

    struct fth_ptx_block *block;
    uint32_t index;
    uint32_t existing_lanes;  /* all 32 except in the last warp of a block */
    uint32_t carry;           /* the carry flag of the condition code register, one bit per lane */
    uint32_t cluster_arrived; /* lanes that have arrived at the cluster barrier in this phase */
    struct fth_ptx_fragment fragments[LANES];
    uint32_t fragment_count, current;
    /* In a sliced launch: the registers that fragments other than the current one may still read
     * before they write them. slice/slice_live.c assigns a bit to some of them; the last bit stands
     * for all others. */
    uint64_t needed_elsewhere;
    uint64_t instructions, thread_instructions;
    /* What the warp has executed, as estimated by cost/, without the instructions from `segment` on
     * that the current fragment has executed in a row, if `runs`. */
    struct fth_ptx_cost cost;
    uint32_t segment;
    bool runs;
    uint8_t *local;        /* [lane][local_stride] */
    uint64_t local_bytes;  /* per thread, for all frames together */
    uint64_t local_stride; /* at least local_bytes */
    /* Allocations of earlier accesses, the newest first. Most kernels use no more than eight. */
    const struct fth_ptx_allocation *last_allocations[8];
    uint32_t copy_groups[2][LANES]; /* groups of asynchronous copies that each lane has committed:
                                     * of cp.async, and of cp.async.bulk */
    bool failed;
    bool yields;  /* the current fragment has nothing to do until other warps or copies go on */
    bool blocked; /* all fragments wait */
    int64_t time; /* from the observer's `time` callback, if it has one, in its unit; updated after
                   * the warp has run and after barriers. The warp with the lowest time runs next.
                   */
    struct fth_ptx_issue issue; /* passed to the observer; `who` is set when the block starts */
};

/* Returns what the warp has executed, including the current instruction. */
static inline struct fth_ptx_cost fth_ptx_warp_cost(const struct fth_ptx_warp *warp)
{
    struct fth_ptx_cost cost = warp->cost;
    if (warp->runs) {
        const struct fth_ptx_cost *costs = warp->frame->function->costs;
        cost.instructions += costs[warp->pc + 1].instructions - costs[warp->segment].instructions;
        cost.cycles += costs[warp->pc + 1].cycles - costs[warp->segment].cycles;
    }
    return cost;
}

/* One launch during its execution. */
struct fth_ptx_run {
    struct fth_ptx_machine *machine;
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *kernel;
    const struct fth_ptx_launch *launch;
    const struct fth_ptx_observer *observer;
    uint32_t grid[3];    /* blocks in each dimension */
    uint32_t threads[3]; /* of a block, in each dimension */
    uint32_t cluster[3], cluster_blocks;
    bool cluster_is_explicit; /* the launch or the kernel states the size of a cluster */
    uint64_t block_count, cluster_count, threads_per_block;
    uint32_t row_lanes; /* lanes of a row of threads in a warp; see struct fth_ptx_linear */
    const uint8_t *arguments;
    uint64_t shared_bytes;
    uint64_t max_warp_instructions, max_instructions; /* of one warp; of the launch */
    struct fth_slice *slice;                          /* NULL: everything is executed */
    bool check_async;                                 /* clusters have `hazards` */
    bool has_async;     /* with `check_async`: the module has asynchronous instructions */
    bool has_matrix;    /* one of them, in the kernel, is wgmma.mma_async */
    bool sees_accesses; /* someone is notified of accesses */
    /* Shared by the host threads. */
    uint64_t next_cluster;
    bool stop;
    uint64_t checked_instructions; /* those of all workers that are no longer `unchecked` */
    bool dropped_output;           /* of printf */
    uint64_t warp_instructions, thread_instructions;
    /* The output of printf of clusters that wait for clusters before them (print_order.c). */
    bool can_print; /* the module calls printf */
    struct fth_ptx_output *outputs;
    size_t output_count, output_capacity;
    uint64_t next_output;          /* the first cluster whose output is missing */
    struct fth_findings *findings; /* of clusters that have ended; NULL: none */
    void *lock;                    /* pthread_mutex_t */
    struct fth_error *error;
    enum fth_status status;
    enum fth_ptx_fault fault;
};

static inline const uint64_t *row(const struct fth_ptx_warp *warp, int32_t index)
{
    return index >= 0 ? warp->rows + (size_t)index * LANES : warp->pool[~index];
}

static inline uint64_t *out_row(struct fth_ptx_warp *warp, int32_t index)
{
    return warp->rows + (size_t)index * LANES;
}

/* Returns the index of the lowest lane in a mask that is not 0. */
static inline int first_lane(uint32_t mask)
{
    return __builtin_ctz(mask);
}

/* Stops the launch with the error "line N (OPCODE), block (x,y,z), thread (x,y,z): CAUSE", unless
 * it already has one. The first function is for FTH_FAULT_OTHER. */
FTH_PRINTF(4, 5)
void fth_ptx_warp_fault(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        const char *cause, ...);
FTH_PRINTF(5, 6)
void fth_ptx_warp_fault_of(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                           enum fth_ptx_fault fault, const char *cause, ...);
/* Writes "line N (OPCODE), source FILE:LINE, block (x,y,z), thread (x,y,z)". */
void fth_ptx_warp_place(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        char *text, size_t size);
/* Stops the launch with FTH_NO_MEMORY, unless it already has an error. */
void fth_ptx_run_no_memory(struct fth_ptx_run *run);
/* Makes all host threads stop the execution of the launch. */
void fth_ptx_run_stop(struct fth_ptx_run *run);

/* ---- calls.c: frames, and the control instructions that create and end them ---- */

/* Creates a frame with zeroed registers. Returns NULL, and stops the launch, when out of memory. */
struct fth_ptx_frame *fth_ptx_frame_create(struct fth_ptx_warp *warp,
                                           const struct fth_ptx_function *function,
                                           struct fth_ptx_frame *caller);
/* Frees the spare frames of a host thread. */
void fth_ptx_frames_free(struct fth_ptx_worker *worker);
/* Enlarges the warp's local memory so that it includes that of the frame. The contents are kept.
 * Returns false, and stops the launch, when out of memory. */
bool fth_ptx_reserve_local(struct fth_ptx_warp *warp, const struct fth_ptx_frame *frame);
/* Returns the host address of a lane's argument or result: in parameter memory, in the pool of
 * immediates, or in a register. */
uint8_t *fth_ptx_slot_place(const struct fth_ptx_warp *warp, const struct fth_ptx_frame *frame,
                            const struct fth_ptx_slot *slot, uint64_t lane);
/* The functions below execute an instruction for `lanes` of `fragment`, which must be the current
 * fragment of the warp. They can add, remove and move fragments. */
/* Ends lanes. Frees frames without lanes, and removes an empty fragment. */
void fth_ptx_run_exit(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment, uint32_t lanes);
void fth_ptx_run_return(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                        uint32_t lanes);
/* Calls the function with this index for all lanes of the fragment that are in `lanes`. */
void fth_ptx_run_call(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                      const struct fth_ptx_inst *inst, uint32_t lanes, uint32_t function_index);
void fth_ptx_run_call_indirect(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                               const struct fth_ptx_inst *inst, uint32_t lanes);

/* ---- divergence.c ---- */

/* Ends the turn of the current fragment, because it waits in a loop for other warps or copies. */
static inline void fth_ptx_yield(struct fth_ptx_warp *warp)
{
    warp->yields = true;
}

/* Adds lanes at an instruction. They join the running fragment at this instruction, if there is
 * one. */
void fth_ptx_add_fragment(struct fth_ptx_warp *warp, struct fth_ptx_frame *frame, uint32_t pc,
                          uint32_t mask);
void fth_ptx_remove_fragment(struct fth_ptx_warp *warp, uint32_t index);
/* Returns the lanes that have not exited. */
uint32_t fth_ptx_alive_lanes(const struct fth_ptx_warp *warp);
/* The number of instructions that a warp runs before the next warp has its turn. A thread that
 * spins sees the writes of other warps after about this many instructions of its own warp.
 * Chosen, not derived. */
#define WARP_TURN 20000u
/* Runs the warp for about `turn` instructions, or until it waits or ends. Returns true if it issued
 * any instruction and does not wait in a loop (fth_ptx_yield). Sets warp->blocked if all its
 * fragments wait. Stops the launch if the warp or the launch has issued too many instructions, or
 * if the user has interrupted the launch. */
bool fth_ptx_warp_run(struct fth_ptx_warp *warp, uint64_t turn);

/* ---- barrier.c ---- */

/* Execute bar and barrier, and barrier.cluster, for `lanes` of the current fragment. */
void fth_ptx_run_barrier(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                         const struct fth_ptx_inst *inst, uint32_t lanes);
void fth_ptx_run_cluster_barrier(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                                 const struct fth_ptx_inst *inst, uint32_t lanes);
/* Releases the threads at all barriers of the block that are complete. Returns true if there was
 * one. */
bool fth_ptx_release_barriers(struct fth_ptx_block *block);
/* The same for the barrier of the cluster. */
bool fth_ptx_release_cluster(struct fth_ptx_cluster *cluster);
/* Stops the launch because no warp of the cluster can continue. The error names a waiting thread
 * and what it waits for. */
void fth_ptx_report_deadlock(struct fth_ptx_cluster *cluster);

/* ---- async/async_queue.c: asynchronous copies ---- */

/* Executes the asynchronous copies of the cluster that have been issued. Returns true if there was
 * one. */
bool fth_ptx_copies_run(struct fth_ptx_cluster *cluster);
/* Executes copies because no warp of the cluster can go on: all, or, with FTH_COPY_RANDOM and when
 * looking for missing waits, only one of those that can release a warp. Returns false if there was
 * none. */
bool fth_ptx_copies_release(struct fth_ptx_cluster *cluster);
/* With FTH_COPY_RANDOM: executes a copy, or none. */
void fth_ptx_copies_run_random(struct fth_ptx_cluster *cluster);
/* Frees copies that have not been executed. */
void fth_ptx_copies_free(struct fth_ptx_cluster *cluster);

/* ---- slice/ ---- */

/* Analyses a launch. Sets the flag `exact` of the allocations whose contents its accesses depend
 * on. *out has the code to execute. If the kernel cannot be sliced, *out is NULL, and all
 * allocations become exact. */
FTH_MUST_USE enum fth_status fth_slice_create(struct fth_ptx_run *run, struct fth_slice **out,
                                              struct fth_error *error);
void fth_slice_destroy(struct fth_slice *slice);
/* Returns the code of a function in a sliced launch. */
const struct fth_ptx_inst *fth_slice_code(const struct fth_slice *slice,
                                          const struct fth_ptx_function *function);
/* What a new frame of a function contains in a sliced launch. */
struct fth_slice_frame {
    struct fth_ptx_value *values; /* of all registers */
    uint32_t *rows;               /* the registers whose rows must be zero */
    size_t row_count;
};
const struct fth_slice_frame *fth_slice_frame_of(const struct fth_slice *slice,
                                                 const struct fth_ptx_function *function);
/* Returns the registers that a thread at an instruction may still read before it writes them. */
uint64_t fth_slice_live(const struct fth_slice *slice, const struct fth_ptx_function *function,
                        uint32_t pc);
/* Returns true if some shared memory must be exact. */
bool fth_slice_has_exact_shared(const struct fth_slice *slice);
/* Returns true if a sliced launch may make this access: if it neither needs values that are not
 * exact nor skips a write to exact memory. Shared addresses are offsets into the memory of their
 * block. */
bool fth_slice_allows(const struct fth_slice *slice, const struct fth_ptx_inst *inst,
                      unsigned space, uint64_t address, uint64_t bytes, bool write);

/* ---- hazard/: accesses that race with asynchronous operations or with each other ---- */

struct fth_ptx_copy;
struct fth_ptx_lane_group;

/* Finds out whether the launch looks for races: sets run->check_async, run->has_async and
 * run->has_matrix. */
void fth_hazards_prepare(struct fth_ptx_run *run);
/* Creates the state of a cluster. Returns NULL when out of memory. */
struct fth_hazards *fth_hazards_create(struct fth_ptx_cluster *cluster, uint64_t index);
/* Reports copies that are not complete at the end of the cluster. */
void fth_hazards_end(struct fth_hazards *hazards);
/* Adds the findings of a cluster to those of the launch, and frees the state. */
void fth_hazards_destroy(struct fth_hazards *hazards);
/* Logs the findings of the launch that no earlier launch of the machine had, frees all of them, and
 * returns their number. */
size_t fth_hazards_log(struct fth_ptx_run *run);
/* Takes NULL. */
void fth_findings_destroy(struct fth_findings *findings);

/* The warp issues an instruction for these lanes. */
void fth_hazard_instruction(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            uint32_t lanes);
/* The lanes of a group access memory. An asynchronous instruction does so later: the access belongs
 * to the operation that is issued next. */
void fth_hazard_access(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                       const struct fth_ptx_lane_group *group, unsigned bytes,
                       enum fth_ptx_access_kind kind);
/* The same for a range of one lane. `block` is the owner of shared memory, NULL for global memory.
 */
void fth_hazard_access_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                             const struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                             enum fth_ptx_access_kind kind);
/* A copy is issued with the accesses that have been reported for it. */
void fth_hazard_issue(struct fth_ptx_copy *copy);
/* How a copy became complete. */
enum fth_ptx_completion {
    COMPLETION_FORCED,  /* nobody has waited for it */
    COMPLETION_COUNTED, /* an mbarrier has counted it */
    COMPLETION_WAITED   /* its thread has waited for it */
};
/* Lanes of a copy are complete. */
void fth_hazard_complete(const struct fth_ptx_copy *copy, uint32_t lanes,
                         enum fth_ptx_completion completion);
/* The mbarrier at a host address counts the copy of one lane or, for cp.async.mbarrier.arrive, the
 * copies that the lane has issued before. */
void fth_hazard_count(const struct fth_ptx_copy *copy, int lane, const uint8_t *mbarrier);
/* A thread has waited for the mbarrier at a host address. */
void fth_hazard_wait(const struct fth_ptx_warp *warp, const uint8_t *mbarrier);
/* The threads of these lanes have waited until the sources were read. */
void fth_hazard_read(const struct fth_ptx_copy *copy, uint32_t lanes);
/* wgmma.mma_async is issued with the accesses that have been reported for it. D and, if `a_count`
 * is not 0, A are in these registers; `adds`: D is read, too. */
void fth_hazard_matrix(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                       const int32_t *d_rows, size_t d_count, const int32_t *a_rows, size_t a_count,
                       bool adds);

/* Threads of the warp arrive at a barrier of the block, and continue after it. Only with
 * run->check_async. */
void fth_hazard_barrier_arrive(const struct fth_ptx_warp *warp, uint32_t barrier);
void fth_hazard_barrier_leave(const struct fth_ptx_warp *warp, uint32_t barrier);
/* All threads that wait at a barrier of the block continue. */
void fth_hazard_barrier_end(const struct fth_ptx_block *block, uint32_t barrier);
/* The same for the barrier of the cluster. */
void fth_hazard_cluster_arrive(const struct fth_ptx_warp *warp);
void fth_hazard_cluster_leave(const struct fth_ptx_warp *warp);
/* The lanes of a fragment have waited at the bar.warp.sync before its next instruction. */
void fth_hazard_warp_sync(const struct fth_ptx_warp *warp, const struct fth_ptx_fragment *fragment);

/* ---- runtime/: the functions of the CUDA runtime ---- */

/* Executes a call of a function for `lanes` of the current fragment. */
void fth_ptx_run_builtin(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                         enum fth_ptx_builtin builtin, uint32_t lanes);
/* Passes on the output of the blocks of a cluster that has ended, as soon as all clusters before it
 * have ended. */
void fth_ptx_print_cluster(const struct fth_ptx_cluster *cluster, uint64_t index);
/* Passes on all output that still waits, at the end of the launch. */
void fth_ptx_print_rest(struct fth_ptx_run *run);
/* Creates the description of a heap at this address. Returns NULL when out of memory. */
struct fth_ptx_heap *fth_ptx_heap_create(uint64_t address, uint64_t bytes);
void fth_ptx_heap_destroy(struct fth_ptx_heap *heap);

/* ---- ptx_launch.c ---- */

/* Stops a sliced launch with FTH_INCONCLUSIVE, unless it already has an error, because it made an
 * access that fth_slice_allows() refuses. */
void fth_ptx_run_inconclusive(struct fth_ptx_warp *warp);

/* Counts instructions that warps of the host thread have issued. Once in WARP_TURN instructions,
 * stops the launch if it has issued too many or if the user has interrupted it. */
void fth_ptx_worker_count(struct fth_ptx_worker *worker, uint64_t issued);
/* Allocates the block's shared memory, at its first access. Returns false, and stops the launch,
 * when out of memory. */
bool fth_ptx_reserve_shared(struct fth_ptx_block *block);

/* ---- schedule/clusters.c ---- */

/* Runs clusters until none is left. Each host thread executes this function; only one has a log. */
void fth_ptx_run_clusters(struct fth_ptx_run *run, const struct fth_log *log);
/* Runs all clusters of the grid at the same time, in one host thread. */
void fth_ptx_run_all_clusters(struct fth_ptx_run *run);

#endif
