/* The internal data structures of ptx/ that parsing and execution share: instructions and modules.
 *
 * A register is a row of 32 lanes with 64 bits each, whatever its type. An instruction reads as
 * many of the low bits as its own type has. Immediates are rows as well, in a pool that belongs to
 * the module. An operand is therefore the index of a row: an index >= 0 selects a register of the
 * frame, and a negative index i selects row ~i of the pool. Only predicates are not rows: a
 * predicate is a 32-bit mask with one bit per lane. */
#ifndef FTH_PTX_ENGINE_H
#define FTH_PTX_ENGINE_H

#include "ptx/ptx.h"

#include <string.h>

#define LANES 32
#define FULL_MASK 0xffffffffu

/* Layout of the generic address space. Shared memory, local memory and the arguments of the kernel
 * are windows of WINDOW_BYTES. At the same addresses, each thread sees its own local memory, and
 * each block (or cluster, see CLUSTER_WINDOW) its own shared memory. The address of function i is
 * CODE_WINDOW + 16 * i. Global memory begins at GLOBAL_BASE: the variables of the first module
 * that is loaded, then everything that is added later (fth_ptx_next_address). The values are
 * arbitrary, but the ranges must not overlap, and must be far from zero so that small addresses are
 * invalid. The windows are above all addresses of global memory that a GPU or a host can have (49
 * bits), so that memory can be mapped at an address that it had elsewhere. */
#define SHARED_WINDOW 0x2000000000000u
#define LOCAL_WINDOW 0x2010000000000u
#define PARAM_WINDOW 0x2020000000000u
#define CODE_WINDOW 0x2030000000000u
#define WINDOW_BYTES 0x10000000000u
#define GLOBAL_BASE 0x7f0000000000u
/* Global memory is from this address on and below SHARED_WINDOW, also if another base or host
 * memory is used (fth_ptx_set_base, fth_ptx_map). Offsets in shared memory are smaller, and so are
 * handles of textures that the engine chooses. CUDA's memory pools begin at 0x302000000. */
#define LOWEST_GLOBAL 0x100000000u

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

enum fth_ptx_type {
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
    T_B128, /* a register of this type is two rows */
    T_PRED
};

/* Returns the type that a text such as ".u32" or "u32" names, or T_NONE. */
enum fth_ptx_type fth_ptx_type_find(const char *text, size_t size);
unsigned fth_ptx_type_bytes(enum fth_ptx_type type);
bool fth_ptx_type_is_signed(enum fth_ptx_type type);
bool fth_ptx_type_is_float(
    enum fth_ptx_type type); /* f16, bf16, f32, f64, and the pairs of 16-bit floats */
const char *fth_ptx_type_name(enum fth_ptx_type type); /* "u32"; "" for T_NONE */

enum fth_ptx_rounding { R_NONE, R_RN, R_RZ, R_RM, R_RP, R_RNI, R_RZI, R_RMI, R_RPI, R_RNA };

enum fth_ptx_comparison {
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
enum fth_ptx_boolean { B_NONE, B_AND, B_OR, B_XOR, B_POPC };

enum fth_ptx_atomic_op {
    A_NONE,
    A_ADD,
    A_MIN,
    A_MAX,
    A_INC,
    A_DEC,
    A_AND,
    A_OR,
    A_XOR,
    A_EXCH,
    A_CAS
};

enum fth_ptx_flag {
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
    F_WAIT = 1 << 27,
    F_OOB = 1 << 28,
    F_STRONG = 1 << 29 /* the access has a memory order */
};

/* ---- instructions ---- */

struct fth_ptx_warp;
struct fth_ptx_inst;

/* Executes an instruction for the lanes of the mask. The mask is not empty. */
typedef void fth_ptx_run_function(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                  uint32_t mask);

/* Instructions that divergence.c handles itself, because they change the control flow or wait for
 * other threads. All others are K_NONE. */
enum fth_ptx_control {
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
 * fth_ptx_slot, in parameter memory. */
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
struct fth_ptx_inst {
    fth_ptx_run_function *run;
    fth_ptx_run_function
        *inner;         /* the function that `run` calls: for fth_ptx_run_rounded, with the rounding
                         * mode set; for handlers of slice/linear.c, with rows as operands */
    const char *opcode; /* as in the text */
    uint8_t control;
    uint8_t type, type2; /* the types in the opcode, in their order: for cvt, destination and
                          * source; T_NONE: absent */
    uint8_t rounding, comparison, boolean, atomic;
    uint8_t space, cache_op;
    uint8_t l1_priority, l2_priority; /* enum fth_ptx_priority */
    uint16_t l2_bytes;                /* of .L2::64B, .L2::128B and .L2::256B; 0: none */
    uint8_t unit;                     /* enum fth_ptx_unit: what performs its accesses */
    uint8_t vector;                   /* number of elements of a vector operand; 0: none */
    uint8_t mode; /* the variant of the instruction; the meaning depends on the opcode (for shfl:
                   * up, down, bfly or idx; when a special register is read: which one) */
    bool guarded, guard_negated;
    bool negated;                   /* `predicate` is negated */
    bool result_is_predicate;       /* d[0] and d[1] are predicates */
    uint8_t predicate_source_count; /* this many elements at the start of s[] are predicates */
    uint32_t flags;                 /* enum fth_ptx_flag */
    uint32_t guard;                 /* index of the predicate, if `guarded` */
    int32_t d[4];                   /* destination rows or predicates; NO_REGISTER: none */
    int32_t s[6];                   /* source rows or predicates; NO_REGISTER: none. s[0] is the
                                     * address of a memory access */
    int32_t policy;                 /* row of the cache policy; NO_REGISTER: none */
    int64_t offset;                 /* added to the address */
    int64_t offset2;                /* added to the second address of a copy */
    /* Branch: index of the instruction. Call: index of the call site. brx: index of the table.
     * .sync instructions: index in s[] of the member mask. */
    uint32_t target;
    uint32_t predicate;   /* source predicate; UINT32_MAX: none */
    uint32_t predicate2;  /* predicate that is the second destination; UINT32_MAX: none */
    uint32_t index;       /* in the function */
    uint32_t line;        /* in the PTX text */
    uint32_t source_file; /* number of the source file; 0: unknown */
    const struct fth_source_position *source; /* from .loc; NULL: unknown */
    const struct fth_ptx_operands *operands;  /* what it reads and writes, for observers */
    uint8_t async;                            /* enum fth_ptx_async */
    /* Only in the code of a sliced launch (slice/): */
    uint8_t slice;       /* enum fth_ptx_slice_flag */
    uint8_t linear;      /* enum fth_ptx_linear_flag */
    uint64_t result_bit; /* of the result in fth_ptx_warp.needed_elsewhere */
    uint16_t bytes;      /* of an access, per lane; only for handlers of slice/linear.c */
    uint32_t skip_count; /* this many instructions from here on have no effect and no guard */
    const struct fth_ptx_detail
        *detail; /* what does not fit into the fields above; NULL: nothing */
};

/* Returns whether the opcode without its modifiers is `base`. */
static inline bool fth_ptx_is_opcode(const struct fth_ptx_inst *inst, const char *base)
{
    const size_t size = strlen(base);
    return inst->opcode[0] == base[0] && strncmp(inst->opcode, base, size) == 0 &&
           (inst->opcode[size] == '.' || inst->opcode[size] == '\0');
}

/* Instructions whose accesses to memory take place later than the instruction, by what a thread
 * must wait for. The accesses of ASYNC_THREAD belong to the generic proxy, as those of ordinary
 * instructions do; all others belong to the async proxy. */
enum fth_ptx_async {
    ASYNC_NONE,
    ASYNC_THREAD,  /* cp.async: a group of the thread, or an mbarrier */
    ASYNC_COUNTED, /* copies and stores that an mbarrier counts */
    ASYNC_BULK,    /* copies to global memory: a bulk group of the thread */
    ASYNC_MATRIX   /* wgmma.mma_async: a group of the warpgroup */
};

/* The instructions of wgmma other than wgmma.mma_async, in the field `mode`. */
enum { WGMMA_FENCE = 1, WGMMA_COMMIT, WGMMA_WAIT };

/* How an instruction of a sliced launch accesses memory. */
enum fth_ptx_slice_flag {
    SLICE_SKIPS = 1,    /* it moves no data */
    SLICE_READS = 2,    /* the values that it reads are needed */
    SLICE_READS_MAP = 4 /* it reads a tensor map */
};

/* How a handler of slice/linear.c stores its result. `inner` is the usual handler. */
enum fth_ptx_linear_flag {
    LINEAR_ROW = 1,     /* as a row, also if it is linear */
    LINEAR_NEVER = 2,   /* only as a row */
    LINEAR_IS_WRITE = 4 /* it is not a result but a store */
};

/* The operands of an instruction with more registers than d[] and s[] have space for, such as a
 * matrix instruction. A family of such instructions has a struct of its own that begins with this
 * one. It belongs to the arena of the module. */
struct fth_ptx_detail {
    const int32_t *writes, *reads; /* rows; NO_REGISTER and immediates can be among them */
    size_t write_count, read_count;
};

/* ---- modules ---- */

/* A variable in memory. */
struct fth_ptx_variable {
    const char *name;
    enum fth_ptx_type type; /* of its elements */
    enum fth_ptx_space space;
    uint64_t address; /* in its space; for LOCAL and PARAM, the offset in the frame */
    uint64_t bytes;
    uint64_t align;
    bool is_placed;      /* the caller has chosen its address */
    uint8_t *data;       /* the initial contents of the first data_bytes bytes; NULL: none */
    uint64_t data_bytes; /* at most `bytes`; the other bytes are zero at first */
};

/* A parameter or result of a call, on the side of the caller or of the callee. */
struct fth_ptx_slot {
    int32_t row;     /* a register or immediate; NO_REGISTER: in parameter memory */
    uint64_t offset; /* in the frame's parameter memory */
    uint64_t bytes;
};

struct fth_ptx_call_site {
    uint32_t function; /* index; UINT32_MAX: an indirect call */
    uint32_t line;     /* of the function's name in the text of the module, */
    const char *text;  /* and its position there, for errors */
    size_t argument_count, result_count;
    struct fth_ptx_slot *arguments, *results; /* in the caller's frame */
};

/* The labels of a .branchtargets list, as instruction indices. */
struct fth_ptx_branch_table {
    size_t count;
    uint32_t *targets;
};

/* Functions of the CUDA runtime that a kernel can call although the module does not define them. */
enum fth_ptx_builtin {
    BUILTIN_NONE,
    BUILTIN_PRINTF,
    BUILTIN_ASSERT,
    BUILTIN_MALLOC,
    BUILTIN_ALIGNED_MALLOC,
    BUILTIN_FREE
};

/* Machine instructions that a kernel begins with, for none of its PTX: they load the stack pointer
 * and the descriptor of global memory. Observed with ptxas 13.0 for sm_90. */
enum { FTH_PTX_PROLOGUE = 2 };

/* What a part of a function costs a warp that executes it, as estimated from the PTX (cost/). */
struct fth_ptx_cost {
    uint64_t instructions; /* machine instructions */
    uint64_t cycles;       /* sum of the longest chains of dependent instructions of all blocks */
};

/* Consecutive rows. */
struct fth_ptx_rows {
    uint32_t first, count;
};

struct fth_ptx_function {
    const char *name;
    bool is_kernel, has_body;
    enum fth_ptx_builtin builtin;
    struct fth_ptx_kernel kernel;
    struct fth_ptx_inst *code;
    size_t code_count, code_capacity;
    uint32_t register_count, predicate_count;
    /* The registers that are declared with 64 bits or more; a row has 64 of them at most. */
    struct fth_ptx_rows *wide_rows;
    size_t wide_count, wide_capacity;
    uint32_t operand_count; /* register_count + predicate_count; see struct fth_ptx_operands */
    uint64_t local_bytes;   /* per thread and activation: local variables */
    uint64_t param_bytes;   /* per thread and activation: parameters and results of the function and
                             * of its calls */
    uint64_t shared_end;    /* end of the static shared variables that are declared in its body */
    const struct fth_error *unsupported; /* the first instruction that the engine cannot execute;
                                          * NULL: it can execute all of them */
    struct fth_ptx_slot *arguments, *results; /* empty for a kernel; see `kernel` */
    size_t argument_count, result_count;
    /* [code_count + 1] The cost of the code before each instruction. */
    const struct fth_ptx_cost *costs;
};

struct fth_ptx_module {
    struct fth_arena arena;
    const char *name;
    char *text;
    struct fth_ptx_function *functions;
    size_t function_count, function_capacity;
    struct fth_ptx_variable *variables; /* global and constant ones */
    size_t variable_count, variable_capacity;
    uint64_t global_end;     /* end address of the variables */
    uint64_t code_bytes;     /* see fth_ptx_code_bytes */
    uint64_t shared_end;     /* end of the shared variables declared outside of kernels */
    uint64_t dynamic_shared; /* address of dynamic shared memory */
    bool keeps_variables;    /* the target has the modifier debug: variables stay in memory */
    uint64_t (*pool)[LANES]; /* rows of immediates */
    size_t pool_count, pool_capacity;
    struct fth_ptx_call_site *calls;
    size_t call_count, call_capacity;
    struct fth_ptx_branch_table *tables;
    size_t table_count, table_capacity;
};

/* ---- execute_*.c: the choice of the function that executes an instruction ---- */

/* Each sets inst->run (and inst->control) from the opcode without modifiers (`base`), the types,
 * the flags and the operands. Returns false if its file does not implement the instruction. */
bool fth_ptx_select_move(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_integer(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_bits(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_float(struct fth_ptx_inst *inst, const char *base);
/* For f16, bf16 and pairs of them; fth_ptx_select_float calls it. */
bool fth_ptx_select_half(struct fth_ptx_inst *inst, const char *base);
/* A product that fuse/ fuses with a sum, and the signs of both, in the field `mode` of the sum. */
enum fth_ptx_fused_product {
    FUSED_MULTIPLICATION,
    FUSED_APPROXIMATE_DIVISION,
    FUSED_FULL_DIVISION
};
enum fth_ptx_fused_sign { FUSED_NEGATES_PRODUCT = 1, FUSED_NEGATES_ADDEND = 2 };
/* Turns an addition into a product of s[0] and s[1] (or their quotient) plus s[2]; `signs` is a set
 * of enum fth_ptx_fused_sign. */
void fth_ptx_select_fused(struct fth_ptx_inst *inst, enum fth_ptx_fused_product product,
                          uint8_t signs);
void fth_ptx_select_fused_half(struct fth_ptx_inst *inst, uint8_t signs);
bool fth_ptx_select_convert(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_memory(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_atomic(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_address(struct fth_ptx_inst *inst, const char *base);
bool fth_ptx_select_warp(struct fth_ptx_inst *inst, const char *base);

/* ---- special.c ---- */

/* Returns the number of a special register such as %tid.x, or -1. */
int fth_ptx_special_register(const char *name, size_t size);
/* Reads the special register with the number inst->mode. */
fth_ptx_run_function fth_ptx_run_special;
/* Returns true if the special register that the instruction reads is linear, and its value. */
bool fth_ptx_find_linear_special(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                 struct fth_ptx_linear *value);
/* Returns true if the instruction reads the address of dynamic shared memory. */
bool fth_ptx_reads_dynamic_shared(const struct fth_ptx_inst *inst);

/* ---- calls.c ---- */

/* Returns true if the arguments (or results) of a call match those of the function: the same
 * number, each in a register on both sides, or in parameter memory with the same size. */
bool fth_ptx_slots_match(const struct fth_ptx_slot *a, size_t a_count, const struct fth_ptx_slot *b,
                         size_t b_count);

/* ---- runtime/builtin.c ---- */

/* Returns which function of the CUDA runtime this declaration stands for, if any. */
enum fth_ptx_builtin fth_ptx_find_builtin(const struct fth_ptx_function *function);

/* ---- half.c ---- */

double fth_ptx_half_to_double(uint16_t half);
double fth_ptx_bfloat_to_double(uint16_t bfloat);
/* Convert to 16 bits with a single rounding: R_RN, R_RM or R_RP; all others round toward zero. */
uint16_t fth_ptx_half_from_double(double value, enum fth_ptx_rounding rounding);
uint16_t fth_ptx_bfloat_from_double(double value, enum fth_ptx_rounding rounding);

#endif
