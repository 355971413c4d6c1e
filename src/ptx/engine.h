/* The internal data structures of ptx/: parsed modules, and warps during execution.
 *
 * A register is a row of 32 lanes with 64 bits each, whatever its type. An instruction reads as
 * many of the low bits as its own type has. Immediates are rows as well, in a pool that belongs to
 * the module. An operand is therefore the index of a row: an index >= 0 selects a register of the
 * frame, and a negative index i selects row ~i of the pool. Only predicates are not rows: a
 * predicate is a 32-bit mask with one bit per lane. */
#ifndef FTH_PTX_ENGINE_H
#define FTH_PTX_ENGINE_H

#include "ptx/ptx.h"

#define LANES 32
#define FULL_MASK 0xffffffffu

/* Layout of the generic address space. Shared memory, local memory and the arguments of the kernel
 * are windows of WINDOW_BYTES. At the same addresses, each thread sees its own local memory, and
 * each block (or cluster, see CLUSTER_WINDOW) its own shared memory. The address of function i is
 * CODE_WINDOW + 16 * i. Global memory begins at GLOBAL_BASE: the variables of the first module
 * that is loaded, then everything that is added later (fth_ptx_next_address). The values are
 * arbitrary, but the ranges must not overlap, and must be far from zero so that small addresses are
 * invalid. */
#define SHARED_WINDOW 0x700000000000u
#define LOCAL_WINDOW 0x710000000000u
#define PARAM_WINDOW 0x720000000000u
#define CODE_WINDOW 0x730000000000u
#define WINDOW_BYTES 0x10000000000u
#define GLOBAL_BASE 0x7f0000000000u

/* Two further values of enum fth_ptx_space that exist only inside the engine; they are larger than
 * all values of the enum. SPACE_ARGUMENT stands for the arguments of a kernel, whereas
 * FTH_SPACE_PARAM stands for the arguments of a call. SPACE_CLUSTER stands for the shared memory of
 * any block of the cluster, whereas FTH_SPACE_SHARED stands for that of the thread's own block. */
#define SPACE_ARGUMENT 16
#define SPACE_CLUSTER 17

/* In a cluster of several blocks, the shared memory of the block with rank r appears at shared
 * address (r + 1) * CLUSTER_WINDOW, and that of the thread's own block also at 0. The addresses of
 * all 16 blocks fit into 32 bits. 16 blocks is the largest cluster size of CUDA (non-portable,
 * Hopper). */
#define CLUSTER_WINDOW ((uint64_t)1 << 24)
enum { MAX_CLUSTER_BLOCKS = 16 };

/* ---- types and modifiers ---- */

enum type {
    T_NONE,
    T_B8,
    T_B16,
    T_B32,
    T_B64,
    T_U8,
    T_U16,
    T_U32,
    T_U64,
    T_S8,
    T_S16,
    T_S32,
    T_S64,
    T_F16,
    T_F16X2,
    T_BF16,
    T_BF16X2,
    T_F32,
    T_F64,
    T_U16X2, /* pairs of 16-bit integers, for add, min and max */
    T_S16X2,
    T_TF32, /* only as the destination type of cvt */
    T_PRED
};

unsigned type_bytes(enum type type);
bool type_is_signed(enum type type);
bool type_is_float(enum type type);    /* f16, bf16, f32, f64, and the pairs of 16-bit floats */
const char *type_name(enum type type); /* "u32"; "" for T_NONE */

enum rounding { R_NONE, R_RN, R_RZ, R_RM, R_RP, R_RNI, R_RZI, R_RMI, R_RPI, R_RNA };

enum comparison {
    C_NONE,
    C_EQ,
    C_NE,
    C_LT,
    C_LE,
    C_GT,
    C_GE,
    C_LO,
    C_LS,
    C_HI,
    C_HS,
    C_EQU,
    C_NEU,
    C_LTU,
    C_LEU,
    C_GTU,
    C_GEU,
    C_NUM,
    C_NAN
};

/* How two predicates, or the predicates of all threads (bar.red), are combined. B_POPC counts the
 * threads whose predicate is true; only bar.red has it. */
enum boolean { B_NONE, B_AND, B_OR, B_XOR, B_POPC };

enum atomic_op { A_NONE, A_ADD, A_MIN, A_MAX, A_INC, A_DEC, A_AND, A_OR, A_XOR, A_EXCH, A_CAS };

enum flag {
    F_LO = 1 << 0,
    F_HI = 1 << 1,
    F_WIDE = 1 << 2,
    F_SAT = 1 << 3,
    F_FTZ = 1 << 4,
    F_APPROX = 1 << 5,
    F_FULL = 1 << 6,
    F_CC = 1 << 7,
    F_CLAMP = 1 << 8,
    F_WRAP = 1 << 9,
    F_LEFT = 1 << 10,
    F_RIGHT = 1 << 11,
    F_SYNC = 1 << 12,
    F_TO = 1 << 13,
    F_NAN = 1 << 14,
    F_XORSIGN = 1 << 15,
    F_RELU = 1 << 16,
    F_SHIFTAMT = 1 << 17,
    F_VOLATILE = 1 << 18,
    F_NC = 1 << 19,
    F_ABS = 1 << 20,
    F_ARRIVE = 1 << 21,
    F_RED = 1 << 22,
    F_ANY = 1 << 23,
    F_ALL = 1 << 24,
    F_UNI = 1 << 25,
    F_BALLOT = 1 << 26,
    F_WAIT = 1 << 27
};

/* ---- instructions ---- */

struct warp;
struct inst;

/* Executes an instruction for the lanes of the mask. The mask is not empty. */
typedef void run_function(struct warp *warp, const struct inst *inst, uint32_t mask);

/* Instructions that flow.c handles itself, because they change the control flow or wait for other
 * threads. All others are K_NONE. */
enum control {
    K_NONE,
    K_BRANCH,
    K_BRANCH_TABLE,
    K_CALL,
    K_CALL_INDIRECT,
    K_RETURN,
    K_EXIT,
    K_BARRIER,
    K_CLUSTER_BARRIER, /* barrier.cluster */
    K_CONVERGE,        /* other .sync instructions: wait for the member lanes at this instruction */
    K_WARP_SYNC,       /* bar.warp.sync: wait for the member lanes at any bar.warp.sync */
    K_TRAP
};

/* Instead of the index of a row: the operand is absent, or discarded (`_`), or, in struct
 * slot, in parameter memory. */
#define NO_REGISTER INT32_MIN

/* A decoded instruction. assemble.c decides where its operands are stored. Rows are in d[] and s[].
 * Predicates are stored like this:
 *
 *   results         if all are predicates: d[0], and d[1] for the second one (setp p|q);
 *                   `result_is_predicate` is true
 *   second result   if the first result is a register: `predicate2` (shfl d|p)
 *   sources         s[], for logical instructions (and.pred); `predicate_source_count` of them
 *   other sources   `predicate` and `negated` (selp, vote); at most one
 *   guard           `guard` and `guard_negated`
 */
struct inst {
    run_function *run;
    run_function *inner; /* the function that run_rounded calls with the rounding mode set */
    const char *opcode;  /* as in the text */
    uint8_t control;
    uint8_t type, type2; /* the types in the opcode, in their order: for cvt, destination and
                          * source; T_NONE: absent */
    uint8_t rounding, comparison, boolean, atomic;
    uint8_t space, cache_op;
    uint8_t vector; /* number of elements of a vector operand; 0: none */
    uint8_t mode;   /* the variant of the instruction; the meaning depends on the opcode (for shfl:
                     * up, down, bfly or idx; when a special register is read: which one) */
    bool guarded, guard_negated;
    bool negated;                   /* `predicate` is negated */
    bool result_is_predicate;       /* d[0] and d[1] are predicates */
    uint8_t predicate_source_count; /* this many elements at the start of s[] are predicates */
    uint32_t flags;                 /* enum flag */
    uint32_t guard;                 /* index of the predicate, if `guarded` */
    int32_t d[4];                   /* destination rows or predicates; NO_REGISTER: none */
    int32_t s[6];                   /* source rows or predicates; NO_REGISTER: none. s[0] is the
                                     * address of a memory access */
    int64_t offset;                 /* added to the address */
    int64_t offset2;                /* added to the second address of a copy */
    /* Branch: index of the instruction. Call: index of the call site. brx: index of the table.
     * .sync instructions: index in s[] of the member mask. */
    uint32_t target;
    uint32_t predicate;         /* source predicate; UINT32_MAX: none */
    uint32_t predicate2;        /* predicate that is the second destination; UINT32_MAX: none */
    uint32_t index;             /* in the function */
    uint32_t line;              /* in the PTX text */
    uint32_t file, source_line; /* .loc */
    const struct fth_ptx_operands *operands; /* what it reads and writes, for observers */
};

/* ---- modules ---- */

/* A variable in memory. */
struct variable {
    const char *name;
    enum fth_ptx_space space;
    uint64_t address; /* in its space; for LOCAL and PARAM, the offset in the frame */
    uint64_t bytes;
    uint64_t align;
    uint8_t *data; /* `bytes` of initial contents; NULL: zeros */
};

/* A parameter or result of a call, on the side of the caller or of the callee. */
struct slot {
    int32_t row;     /* a register or immediate; NO_REGISTER: in parameter memory */
    uint64_t offset; /* in the frame's parameter memory */
    uint64_t bytes;
};

struct call_site {
    uint32_t function; /* index; UINT32_MAX: an indirect call */
    size_t argument_count, result_count;
    struct slot *arguments, *results; /* in the caller's frame */
};

/* The labels of a .branchtargets list, as instruction indices. */
struct branch_table {
    size_t count;
    uint32_t *targets;
};

/* Functions of the CUDA runtime that a kernel can call although the module does not define them. */
enum builtin { BUILTIN_NONE, BUILTIN_PRINTF, BUILTIN_ASSERT };

struct function {
    const char *name;
    bool is_kernel, has_body;
    enum builtin builtin;
    struct fth_ptx_kernel kernel;
    struct inst *code;
    size_t code_count, code_capacity;
    uint32_t register_count, predicate_count;
    uint32_t operand_count; /* register_count + predicate_count; see struct fth_ptx_operands */
    uint64_t local_bytes;   /* per thread and activation: local variables */
    uint64_t param_bytes;   /* per thread and activation: parameters and results of the function and
                             * of its calls */
    uint64_t shared_end;    /* end of the static shared variables that are declared in its body */
    struct slot *arguments, *results; /* empty for a kernel; see `kernel` */
    size_t argument_count, result_count;
};

struct fth_ptx_module {
    struct fth_arena arena;
    const char *name;
    char *text;
    struct function *functions;
    size_t function_count, function_capacity;
    struct variable *variables; /* global and constant ones */
    size_t variable_count, variable_capacity;
    uint64_t global_end;     /* end address of the variables */
    uint64_t code_bytes;     /* see fth_ptx_code_bytes */
    uint64_t shared_end;     /* end of the shared variables declared outside of kernels */
    uint64_t dynamic_shared; /* address of dynamic shared memory */
    uint64_t (*pool)[LANES]; /* rows of immediates */
    size_t pool_count, pool_capacity;
    struct call_site *calls;
    size_t call_count, call_capacity;
    struct branch_table *tables;
    size_t table_count, table_capacity;
};

/* ---- machines ---- */

/* A range of device memory: one variable, or the result of fth_ptx_alloc. */
struct allocation {
    uint64_t base, bytes;
    uint8_t *host;
    size_t mapped_bytes; /* size of the mmap'ed host memory; 0: from calloc */
    bool is_constant;
    const struct fth_ptx_machine *owner; /* of a variable; NULL for fth_ptx_alloc */
};

struct texture {
    uint64_t address, texels; /* 0 texels: freed */
    enum fth_ptx_texel texel_format;
    unsigned channels;
};

struct memory {
    size_t users;                   /* number of machines */
    struct allocation *allocations; /* sorted by base */
    size_t allocation_count, allocation_capacity;
    struct texture *textures;
    size_t texture_count, texture_capacity;
};

struct fth_ptx_machine {
    const struct fth_ptx_module *module; /* NULL: only memory */
    struct memory *memory;
};

/* Returns the allocation that contains the address, or NULL. */
const struct allocation *find_allocation(const struct memory *memory, uint64_t address);

/* ---- execution ---- */

/* One activation of a function by some lanes of a warp. */
struct frame {
    const struct function *function;
    struct frame *caller;
    uint32_t return_pc;    /* in the caller */
    uint32_t call;         /* index of the call site that created this frame */
    uint32_t depth;        /* 0 for the kernel */
    uint32_t live;         /* lanes that have not returned */
    uint32_t operand_base; /* see struct fth_ptx_issue */
    uint64_t local_base;   /* offset of its variables in the local memory of each thread */
    uint64_t *rows;        /* [register][lane] */
    uint32_t *predicates;
    uint8_t *params; /* [lane][param_bytes] */
};

enum fragment_state {
    RUNNING,
    AT_BARRIER,        /* waits at a barrier of the block */
    AT_SYNC,           /* waits at a K_CONVERGE instruction */
    AT_WARP_SYNC,      /* waits at a bar.warp.sync */
    AT_CLUSTER_BARRIER /* waits at the barrier of the cluster */
};

/* Lanes of a warp that are at the same instruction of the same frame. A warp that has not diverged
 * consists of one fragment. */
struct fragment {
    uint32_t pc, mask;
    enum fragment_state state;
    uint32_t barrier;         /* AT_BARRIER: index of the barrier */
    uint32_t barrier_threads; /* AT_BARRIER: expected number of threads; 0: the whole block */
    uint32_t awaited; /* AT_SYNC: missing lanes; AT_WARP_SYNC: all lanes of the member mask */
    struct frame *frame;
};

/* Blocks that run at the same time. Without clusters, each block is a cluster of its own. */
struct cluster {
    struct block *blocks;
    uint32_t count;
    uint32_t phase;         /* number of times that its barrier has completed */
    bool arrived;           /* a thread has arrived at the barrier in this phase */
    bool unchecked_arrival; /* a thread has arrived since the last call of release_cluster */
};

enum { MAX_BARRIERS = 16 }; /* per block, as in PTX */

struct block {
    struct run *run;
    struct cluster *cluster;
    uint64_t index;
    uint32_t xyz[3];
    uint32_t rank; /* in the cluster */
    uint32_t sm;
    uint8_t *shared;       /* NULL until the first access; see reserve_shared */
    uint64_t shared_bytes; /* 0 until the first access */
    struct warp *warps;
    uint32_t warp_count;
    uint64_t clock; /* number of instructions issued; the value of %clock if the observer has no
                     * `clock` callback */
    uint64_t arrived[MAX_BARRIERS]; /* threads that bar.arrive has counted, per barrier */
    uint32_t active_barriers;       /* bit mask of the barriers with waiting or arrived threads */
};

struct warp {
    /* The state of the current fragment, for the functions that execute instructions. */
    uint64_t *rows;
    uint32_t *predicates;
    const uint64_t (*pool)[LANES];
    struct frame *frame;
    uint32_t pc, mask;

    struct block *block;
    uint32_t index;
    uint32_t existing_lanes;  /* all 32 except in the last warp of a block */
    uint32_t carry;           /* the carry flag of the condition code register, one bit per lane */
    uint32_t cluster_arrived; /* lanes that have arrived at the cluster barrier in this phase */
    struct fragment fragments[LANES];
    uint32_t fragment_count, current;
    uint64_t instructions, thread_instructions;
    uint8_t *local;                           /* [lane][local_bytes] */
    uint64_t local_bytes;                     /* per thread, for all frames together */
    const struct allocation *last_allocation; /* the allocation of the last access */
    bool failed;
    bool blocked; /* all fragments wait */
    int64_t time; /* from the observer's `time` callback, if it has one, in its unit; updated after
                   * the warp has run and after barriers. The warp with the lowest time runs next.
                   */
    struct fth_ptx_issue issue; /* passed to the observer; `who` is set when the block starts */
};

/* One launch during its execution. */
struct run {
    struct fth_ptx_machine *machine;
    const struct fth_ptx_module *module;
    const struct function *kernel;
    const struct fth_ptx_launch *launch;
    const struct fth_ptx_observer *observer;
    uint32_t grid[3];    /* blocks in each dimension */
    uint32_t threads[3]; /* of a block, in each dimension */
    uint32_t cluster[3], cluster_blocks;
    uint64_t block_count, cluster_count, threads_per_block;
    const uint8_t *arguments;
    uint64_t shared_bytes;
    /* Shared by the host threads. */
    uint64_t next_cluster;
    bool stop;
    uint64_t warp_instructions, thread_instructions;
    void *lock; /* pthread_mutex_t */
    struct fth_error *error;
    enum fth_status status;
};

static inline const uint64_t *row(const struct warp *warp, int32_t index)
{
    return index >= 0 ? warp->rows + (size_t)index * LANES : warp->pool[~index];
}

static inline uint64_t *out_row(struct warp *warp, int32_t index)
{
    return warp->rows + (size_t)index * LANES;
}

/* Returns the index of the lowest lane in a mask that is not 0. */
static inline int first_lane(uint32_t mask)
{
    return __builtin_ctz(mask);
}

/* Stops the launch with the error "line N (OPCODE), block (x,y,z), thread (x,y,z): CAUSE", unless
 * it already has one. */
FTH_PRINTF(4, 5)
void warp_fault(struct warp *warp, const struct inst *inst, int lane, const char *cause, ...);
/* Stops the launch with FTH_NO_MEMORY, unless it already has an error. */
void out_of_memory(struct run *run);
/* Makes all host threads stop the execution of the launch. */
void stop_run(struct run *run);

/* ---- flow.c ---- */

/* Creates a frame with zeroed registers. Returns NULL, and stops the launch, when out of memory. */
struct frame *frame_create(struct warp *warp, const struct function *function,
                           struct frame *caller);
/* Enlarges the warp's local memory so that it includes that of the frame. The contents are kept.
 * Returns false, and stops the launch, when out of memory. */
bool reserve_local(struct warp *warp, const struct frame *frame);
/* Returns the lanes that have not exited. */
uint32_t alive_lanes(const struct warp *warp);
/* Ends lanes of `fragment`, which must be the current fragment of the warp. Frees frames without
 * lanes, and removes an empty fragment. */
void do_exit(struct warp *warp, struct fragment *fragment, uint32_t lanes);
/* The number of instructions that a warp runs before the next warp has its turn. A thread that
 * spins sees the writes of other warps after about this many instructions of its own warp.
 * Heuristic. */
#define WARP_TURN 20000u
/* Runs the warp for about `turn` instructions, or until it waits or ends. Returns true if it issued
 * any instruction. */
bool run_warp(struct warp *warp, uint64_t turn);

/* ---- launch.c, barrier.c ---- */

/* Allocates the block's shared memory, at its first access. Returns false, and stops the launch,
 * when out of memory. */
bool reserve_shared(struct block *block);
/* Releases the threads at all barriers of the block that are complete. Returns true if there was
 * one. */
bool release_barriers(struct block *block);
/* The same for the barrier of the cluster. */
bool release_cluster(struct cluster *cluster);
/* Notifies the observer that threads of the warp have arrived at the cluster barrier or, if
 * `waited`, continue after it. */
void notify_cluster_barrier(struct warp *warp, uint32_t phase, bool waited);
/* Stops the launch because no warp of the cluster can continue. The error names a waiting thread
 * and what it waits for. */
void report_deadlock(struct cluster *cluster);

/* ---- operands.c ---- */

/* Sets `operands` of every instruction of the function. `code_offset` is the offset of the
 * function's code in the code of the module, in bytes. Returns false when out of memory. */
bool find_operands(struct fth_ptx_module *module, struct function *function, uint64_t code_offset);

/* ---- execute_*.c: the choice of the function that executes an instruction ---- */

/* Each sets inst->run (and inst->control) from the opcode without modifiers (`base`), the types,
 * the flags and the operands. Returns false if its file does not implement the instruction. */
bool select_integer(struct inst *inst, const char *base);
bool select_float(struct inst *inst, const char *base);
bool select_half(struct inst *inst, const char *base); /* called by select_float */
bool select_convert(struct inst *inst, const char *base);
bool select_memory(struct inst *inst, const char *base);
bool select_warp(struct inst *inst, const char *base);

/* ---- module.c ---- */

/* Returns true if the arguments (or results) of a call match those of the function: the same
 * number, each in a register on both sides, or in parameter memory with the same size. */
bool slots_match(const struct slot *a, size_t a_count, const struct slot *b, size_t b_count);

/* ---- half.c ---- */

double half_to_double(uint16_t half);
double bfloat_to_double(uint16_t bfloat);
/* Convert to 16 bits with a single rounding: R_RN, R_RM or R_RP; all others round toward zero. */
uint16_t half_from_double(double value, enum rounding rounding);
uint16_t bfloat_from_double(double value, enum rounding rounding);

#endif
