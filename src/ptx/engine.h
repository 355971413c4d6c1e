/* What the files of ptx/ share and nobody else sees: modules as they are after reading, and warps
 * while they run.
 *
 * A register is a row of 32 lanes of 64 bits, whatever its type: an instruction reads the low bits
 * that its own type asks for. A predicate is one 32-bit mask. Immediates are rows too, in a pool of
 * the module, so that an operand is always a row: index >= 0 in the frame, ~index in the pool. */
#ifndef FTH_PTX_ENGINE_H
#define FTH_PTX_ENGINE_H

#include "ptx/ptx.h"

#define LANES 32
#define FULL_MASK 0xffffffffu

/* Where the spaces lie in the generic address space. Shared, local and parameter memory are windows
 * that each thread sees its own memory through; allocations follow far above. */
#define SHARED_WINDOW 0x700000000000u
#define LOCAL_WINDOW 0x710000000000u
#define PARAM_WINDOW 0x720000000000u
#define CODE_WINDOW 0x730000000000u
#define WINDOW_BYTES 0x10000000000u
#define GLOBAL_BASE 0x7f0000000000u

/* Inside the engine: the arguments of a kernel, as opposed to those of a call (FTH_SPACE_PARAM),
 * and shared memory of any block of the cluster, as opposed to one's own (FTH_SPACE_SHARED). */
#define SPACE_ARGUMENT 16
#define SPACE_CLUSTER 17

/* In a cluster of several blocks, shared memory of rank r is also seen from (r + 1) *
 * CLUSTER_WINDOW on, in 32 bits as well. */
#define CLUSTER_WINDOW ((uint64_t)1 << 24)
enum { MAX_CLUSTER = 16 };

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
    T_U16X2, /* pairs of integers: add, min and max */
    T_S16X2,
    T_TF32, /* only to convert to */
    T_PRED
};

unsigned type_bytes(enum type type);
bool type_is_signed(enum type type);
bool type_is_float(enum type type); /* F16, BF16, F32, F64, and the pairs */
const char *type_name(enum type type);

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

/* Executes an instruction for the lanes of the mask, which is not empty. */
typedef void run_function(struct warp *warp, const struct inst *inst, uint32_t mask);

/* What needs the scheduler's hand: everything that changes the flow, or waits for other lanes. */
enum control {
    K_NONE,
    K_BRANCH,
    K_BRANCH_TABLE,
    K_CALL,
    K_CALL_INDIRECT,
    K_RETURN,
    K_EXIT,
    K_BARRIER,
    K_CLUSTER,  /* barrier.cluster */
    K_CONVERGE, /* .sync instructions: all lanes of the member mask must be here */
    K_MEET,     /* bar.warp.sync: all lanes of the member mask must be at one, here or elsewhere */
    K_TRAP
};

#define NO_REGISTER INT32_MIN

struct inst {
    run_function *run;
    run_function *inner; /* what `run` calls in between, where it only prepares something */
    const char *opcode;  /* as in the text */
    uint8_t control;
    uint8_t type, type2;
    uint8_t rounding, comparison, boolean, atomic;
    uint8_t space, cache_op, vector, mode;
    bool guarded, guard_negated, negated; /* `negated`: the predicate operand of setp and selp */
    bool gives_predicate;                 /* d[0] and d[1] are predicates */
    uint8_t predicate_sources; /* so many of s[] are predicates, of and.pred and its kin */
    uint32_t flags;
    uint32_t guard;  /* predicate */
    int32_t d[4];    /* destination rows, or predicates where the instruction says so */
    int32_t s[6];    /* source rows; s[0] is the address of a memory access */
    int64_t offset;  /* of an address */
    int64_t offset2; /* of the second address of a copy */
    uint32_t target; /* of a branch or call; index of a table */
    uint32_t predicate, predicate2; /* source predicate; second destination */
    uint32_t index;                 /* in the function */
    uint32_t line;
    uint32_t file, source_line; /* .loc */
    const struct fth_ptx_operands *operands;
};

/* ---- modules ---- */

/* A variable in memory: where its symbol leads. */
struct variable {
    const char *name;
    enum fth_ptx_space space;
    uint64_t address; /* in its space; for LOCAL and function PARAM, in the frame */
    uint64_t bytes;
    uint64_t align;
    uint8_t *data; /* initial contents of `bytes`; NULL: zeros */
};

/* A parameter or result of a function that is called. */
struct slot {
    int32_t row;     /* a register or immediate, or NO_REGISTER: in memory */
    uint64_t offset; /* in the frame's parameter memory */
    uint64_t bytes;
};

struct call_site {
    uint32_t function; /* UINT32_MAX: by register */
    size_t argument_count, result_count;
    struct slot *arguments, *results; /* in the caller's frame */
};

struct branch_table {
    size_t count;
    uint32_t *targets;
};

/* Functions of the system that a kernel may call without bringing them along. */
enum builtin { BUILTIN_NONE, BUILTIN_PRINTF, BUILTIN_ASSERT };

struct function {
    const char *name;
    bool is_kernel, has_body;
    enum builtin builtin;
    struct fth_ptx_kernel kernel;
    struct inst *code;
    size_t code_count, code_capacity;
    uint32_t register_count, predicate_count;
    uint32_t operand_count; /* numbers that operands have */
    uint64_t local_bytes;
    uint64_t param_bytes; /* the frame's: own parameters and results, and those of calls made */
    uint64_t shared_end;  /* static shared memory used, itself and what it calls */
    struct slot *arguments, *results;
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
    uint64_t global_end; /* the variables lie below */
    uint64_t code_bytes;
    uint64_t shared_end;     /* of the variables that all kernels share */
    uint64_t dynamic_shared; /* where dynamic shared memory begins */
    uint64_t (*pool)[LANES]; /* rows of immediates */
    size_t pool_count, pool_capacity;
    struct call_site *calls;
    size_t call_count, call_capacity;
    struct branch_table *tables;
    size_t table_count, table_capacity;
};

/* ---- machines ---- */

struct allocation {
    uint64_t base, bytes;
    uint8_t *host;
    size_t mapped_bytes; /* of a mapping of its own; 0: from malloc */
    bool is_constant;
    const struct fth_ptx_machine *owner; /* of a variable; NULL: allocated */
};

struct texture {
    uint64_t address, texels; /* 0 texels: freed */
    enum fth_ptx_texel texel;
    unsigned channels;
};

struct memory {
    size_t users;                   /* machines */
    struct allocation *allocations; /* by base */
    size_t allocation_count, allocation_capacity;
    struct texture *textures;
    size_t texture_count, texture_capacity;
};

struct fth_ptx_machine {
    const struct fth_ptx_module *module; /* or NULL */
    struct memory *memory;
};

/* The allocation that holds the address, or NULL. */
const struct allocation *find_allocation(const struct memory *memory, uint64_t address);

/* ---- running ---- */

/* One activation of a function, by some lanes of a warp. */
struct frame {
    const struct function *function;
    struct frame *caller;
    uint32_t return_pc;
    uint32_t call; /* index of the call site */
    uint32_t depth;
    uint32_t live;         /* lanes that have not returned */
    uint32_t operand_base; /* see struct fth_ptx_issue */
    uint64_t local_base;
    uint64_t *rows; /* [register][lane] */
    uint32_t *predicates;
    uint8_t *params; /* [lane][param_bytes]; of a kernel, NULL */
};

enum fragment_state { RUNNING, AT_BARRIER, AT_SYNC, AT_MEETING, AT_CLUSTER };

/* Lanes that are at the same place. A warp that has not diverged has one. */
struct fragment {
    uint32_t pc, mask;
    enum fragment_state state;
    uint32_t barrier;         /* AT_BARRIER: which */
    uint32_t barrier_threads; /* 0: all */
    uint32_t members;         /* AT_SYNC: the lanes that are missing; AT_MEETING: all that meet */
    struct frame *frame;
};

/* Blocks that run together. Without clusters each is one of its own. */
struct cluster {
    struct block *blocks;
    uint32_t count;
    uint32_t phase; /* how often its barrier was complete */
    bool arrived;   /* somebody has come to the barrier since */
    bool news;      /* and nobody has looked yet whether it is complete */
};

struct block {
    struct run *run;
    struct cluster *cluster;
    uint64_t index;
    uint32_t xyz[3];
    uint32_t rank; /* in the cluster */
    uint32_t sm;
    uint8_t *shared;       /* NULL until the first access; see reserve_shared */
    uint64_t shared_bytes; /* 0 until then */
    struct warp *warps;
    uint32_t warp_count;
    uint64_t clock;       /* instructions issued, where nobody keeps time */
    uint64_t arrived[16]; /* threads that bar.arrive has counted at each barrier */
    uint32_t waited_at;   /* the barriers that somebody waits at or has come to, a bit each */
};

struct warp {
    /* What handlers use: the state of the fragment that runs. */
    uint64_t *rows;
    uint32_t *predicates;
    const uint64_t (*pool)[LANES];
    struct frame *frame;
    uint32_t pc, mask;

    struct block *block;
    uint32_t index;
    uint32_t exists;     /* lanes that the block's size gives it */
    uint32_t carry;      /* the condition code register, a bit a lane */
    uint32_t at_cluster; /* lanes that have come to the cluster's barrier, which is not complete */
    struct fragment fragments[LANES];
    uint32_t fragment_count, current;
    uint64_t instructions, thread_instructions;
    uint8_t *local; /* [lane][local_bytes] */
    uint64_t local_bytes;
    const struct allocation *near; /* the allocation of the last access */
    bool failed;
    bool blocked; /* nothing of it can run before a barrier is complete */
    int64_t time; /* where the observer keeps time: how far it was after its last turn */
    struct fth_ptx_issue issue; /* the one that is told; who it is stands in it from the start */
};

/* One launch. */
struct run {
    struct fth_ptx_machine *machine;
    const struct fth_ptx_module *module;
    const struct function *kernel;
    const struct fth_ptx_launch *launch;
    const struct fth_ptx_observer *observer;
    uint32_t grid[3], threads[3];
    uint32_t cluster[3], cluster_blocks;
    uint64_t block_count, cluster_count, threads_per_block;
    const uint8_t *arguments;
    uint64_t shared_bytes;
    /* Shared by the host's threads. */
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

/* Fails the launch: "kernel, line N, block (x,y,z), thread (x,y,z): …". */
FTH_PRINTF(4, 5)
void warp_fault(struct warp *warp, const struct inst *inst, int lane, const char *cause, ...);
void out_of_memory(struct run *run);
/* No block begins or goes on any more. */
void stop_run(struct run *run);

/* ---- flow.c ---- */

enum { MAX_BARRIERS = 16 };

struct frame *frame_create(struct warp *warp, const struct function *function,
                           struct frame *caller);
/* Room for the frame's local memory; lanes keep what they have. */
bool reserve_local(struct warp *warp, const struct frame *frame);
uint32_t alive_lanes(const struct warp *warp);
/* Lanes of a fragment that are done; frames that nobody is in any more are freed. */
void do_exit(struct warp *warp, struct fragment *fragment, uint32_t lanes);
/* How long a warp runs before the next one has its turn. Spinning threads see each other's writes
 * after so many instructions. */
#define WARP_TURN 20000u
/* Gives the warp its turn of so many instructions. True where it did anything. */
bool run_warp(struct warp *warp, uint64_t turn);

/* ---- launch.c, barrier.c ---- */

/* The block's shared memory, at its first access; false where there is no room. */
bool reserve_shared(struct block *block);
/* Lets go everyone at a barrier that is complete. True where one was. */
bool release_barriers(struct block *block);
/* The same for the barrier of the cluster. */
bool release_cluster(struct cluster *cluster);
/* Tells the observer that threads of the warp came there or (`waited`) go on. */
void tell_cluster_barrier(struct warp *warp, uint32_t phase, bool waited);
/* Nobody can go on: say who waits for what. */
void report_deadlock(struct cluster *cluster);

/* ---- operands.c ---- */

/* Fills `operands` of every instruction of the function, whose code begins at that offset. */
bool find_operands(struct fth_ptx_module *module, struct function *function, uint64_t code_offset);

/* The number of the lowest lane of a mask. */
static inline int first_lane(uint32_t mask)
{
    return __builtin_ctz(mask);
}

/* ---- assembling: execute_*.c choose the function that executes an instruction ---- */

/* Fills inst->run (and control) from opcode, types and flags; false where there is none. */
bool select_integer(struct inst *inst, const char *base);
bool select_float(struct inst *inst, const char *base);
bool select_half(struct inst *inst, const char *base); /* what is left of the floats */
bool select_convert(struct inst *inst, const char *base);
bool select_memory(struct inst *inst, const char *base);
bool select_warp(struct inst *inst, const char *base);

/* ---- module.c ---- */

bool slots_agree(const struct slot *a, size_t a_count, const struct slot *b, size_t b_count);

/* ---- half.c ---- */

double half_to_double(uint16_t half);
double bfloat_to_double(uint16_t bfloat);
/* Rounded once; R_RN or R_RZ. */
uint16_t half_from_double(double value, enum rounding rounding);
uint16_t bfloat_from_double(double value, enum rounding rounding);

#endif
