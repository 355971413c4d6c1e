/* slice/: finds the instructions of a kernel that its memory accesses depend on, so that a launch
 * that is only observed can skip all other arithmetic and data.
 *
 *   slice_classes.c    what an instruction does: arithmetic, load, store, copy, ...
 *   slice_origins.c    which buffers an address can point into, and which registers are constants
 *   slice.c            works backwards from addresses, guards and control flow, and makes the code
 *                      that is executed
 *   slice_registers.c  which registers can be linear in the lane
 *   slice_live.c       which of them a thread can still read
 *   linear.c           executes instructions on linear registers
 *   slice_check.c      checks each access of that code
 *
 * The slice is a prediction: PTX does not say which buffer an address points into. The prediction
 * divides memory into exact memory, whose contents are those of a full execution, and other memory,
 * whose contents are not computed. Every access of the launch is checked against it: an instruction
 * whose result is needed must read exact memory, and an instruction that is skipped must not write
 * it. If an access breaks this rule, the launch ends with FTH_INCONCLUSIVE, and the caller runs it
 * in full. A launch that ends without this status therefore made the same accesses as a full
 * execution. mbarriers are exempt: only the instructions for mbarriers and the completion of copies
 * change them, and both are always executed. */
#ifndef FTH_PTX_SLICE_H
#define FTH_PTX_SLICE_H

#include "ptx/execute/warp.h"

/* ---- slice_classes.c ---- */

enum fth_slice_class {
    SLICE_PURE,      /* its only effect is on its results */
    SLICE_PRODUCT,   /* wgmma.mma_async: the same, but it reads shared memory */
    SLICE_ALWAYS,    /* always executed, with all its operands */
    SLICE_CONTROL,   /* the same; changes the control flow or waits */
    SLICE_LOAD,      /* the address is s[0] */
    SLICE_TEXTURE,   /* loads from any global memory */
    SLICE_STORE,     /* the address is s[0]; all other operands are data */
    SLICE_ATOMIC,    /* the same, and a load */
    SLICE_COPY,      /* cp.async from global to shared memory; no operand is data */
    SLICE_BULK,      /* cp.async.bulk and cp.reduce.async.bulk; no operand is data */
    SLICE_TENSOR,    /* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor; the same */
    SLICE_SPILL,     /* a spilled register: neither data nor operands are needed */
    SLICE_TENSORMAP, /* changes a tensor map in memory; always executed */
    SLICE_UNKNOWN    /* the kernel is executed in full */
};
/* Returns the classes of the instructions of a function; the machine keeps them. NULL: memory is
 * exhausted. */
const uint8_t *fth_slice_classes(struct fth_ptx_machine *machine, size_t function);

/* ---- slice_origins.c ---- */

/* A set of places that an address can point into: bit i is allocation i of struct fth_slice. An
 * empty set means that nothing is known. */
#define MAX_SLICE_ALLOCATIONS 61
#define ORIGIN_ARGUMENT ((uint64_t)1 << 61) /* the arguments of the kernel */
#define ORIGIN_SHARED ((uint64_t)1 << 62)
#define ORIGIN_LOCAL ((uint64_t)1 << 63)
#define ORIGIN_GLOBAL (ORIGIN_ARGUMENT - 1) /* all allocations */

/* What the analysis knows about a register or predicate of a function. */
struct fth_slice_operand {
    uint64_t origins;
    uint64_t value; /* if `constant` */
    uint32_t definitions;
    bool constant;
    bool needed;
};

struct fth_slice_function {
    bool reachable;
    const uint8_t *classes;             /* of its instructions: enum fth_slice_class */
    struct fth_slice_operand *operands; /* by number: see struct fth_ptx_operands */
    struct fth_ptx_inst *code;          /* what is executed */
    struct fth_slice_frame frame;       /* the registers at the start */
    uint64_t *live;                     /* by instruction: see fth_slice_live */
};

/* Bytes of shared memory that must be exact. */
struct fth_slice_range {
    uint64_t start, end;
};
enum { MAX_SLICE_RANGES = 32 };

struct fth_slice {
    struct fth_ptx_run *run;
    struct fth_slice_function *functions;      /* by index in the module */
    size_t allocations[MAX_SLICE_ALLOCATIONS]; /* indices in the memory */
    size_t allocation_count;
    uint64_t param_origins, local_origins, shared_origins; /* of addresses that are stored there */
    bool changed;                                          /* by the current pass */
    bool full;                                             /* the kernel is executed in full */
    /* Memory that must be exact, besides the allocations with the flag `exact`. */
    bool param, local, shared; /* all of it */
    struct fth_slice_range ranges[MAX_SLICE_RANGES];
    size_t range_count;
};

/* Returns true if the call can be one of this function: all functions with as many arguments and
 * results can be the target of an indirect call. */
bool fth_slice_may_call(const struct fth_slice *slice, const struct fth_ptx_call_site *site,
                        size_t function);
/* Finds the origins of all registers of the reachable functions. */
void fth_slice_find_origins(struct fth_slice *slice);
/* Returns the origins of a row, which can also be the address of a variable. */
uint64_t fth_slice_origins(struct fth_slice *slice, const struct fth_slice_function *function,
                           int32_t row);
/* Returns true, and the value, if the row is a constant. */
bool fth_slice_constant(const struct fth_slice *slice, const struct fth_slice_function *function,
                        int32_t row, uint64_t *value);

/* ---- linear.c, slice_registers.c ---- */

/* True if an instruction of a slice reads or writes registers. A .sync instruction without effect
 * still waits for the lanes of its member mask. */
bool fth_slice_is_executed(const struct fth_ptx_inst *inst);
/* Returns the function that executes the instruction on linear registers, or NULL. */
fth_ptx_run_function *fth_slice_linear_handler(const struct fth_ptx_inst *inst);
/* Makes the code of a function use these handlers, and sets function->frame. Returns false if
 * memory is exhausted. */
bool fth_slice_make_linear(const struct fth_ptx_module *module,
                           const struct fth_ptx_function *source,
                           struct fth_slice_function *function);

/* ---- slice_live.c ---- */

/* Sets the bits of all registers. `marks` are those of the registers (enum fth_ptx_linear_flag). */
void fth_slice_assign_bits(const struct fth_ptx_function *source,
                           const struct fth_slice_function *function, const uint8_t *marks,
                           uint64_t *bits);
/* Sets function->live. Returns false if memory is exhausted. */
bool fth_slice_find_live(const struct fth_ptx_module *module, const struct fth_ptx_function *source,
                         const uint64_t *bits, struct fth_slice_function *function);

/* slice.c and slice_check.c: the functions that execution calls are in execute/warp.h. */

#endif
