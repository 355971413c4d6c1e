/* spill/: estimates which registers of a kernel an assembler spills to local memory.
 *
 * PTX has any number of registers. NVIDIA's assembler (ptxas) has those of the machine, or fewer if
 * a directive of the kernel limits them. If the values that are live at the same time do not fit,
 * it stores some of them to local memory and loads them again before they are used. PTX does not
 * show this, so this pass predicts it: it finds out how many registers the kernel needs at least,
 * and inserts loads and stores into the kernels that need clearly more than they have. These
 * instructions are reported to observers as accesses to local memory. They move no data: the
 * registers of the engine keep their values.
 *
 *   spill_limit.c    the registers per thread that directives leave to a kernel
 *   spill_values.c   which registers of the PTX need a register of the machine
 *   spill_live.c     basic blocks, and the values that are live where they begin
 *   spill_order.c    an order of the instructions of a block that needs few registers
 *   spill_choose.c   which values are stored and loaded, and where
 *   spill_insert.c   adds these accesses to the code of the kernel
 *
 * The choice follows M. Braun and S. Hack, "Register Spilling and Live-Range Splitting for SSA-Form
 * Programs" (CC 2009): of the values in registers, the one whose next use is furthest away is
 * spilled (L. Belady's MIN), and values that a loop does not use are spilled before it. */
#ifndef FTH_PTX_SPILL_H
#define FTH_PTX_SPILL_H

#include "ptx/engine.h"

#define SPILL_NONE UINT32_MAX

/* A register of the PTX that needs a register of the machine while it is live. */
struct fth_spill_value {
    uint32_t row;
    uint8_t weight; /* registers of the machine: 1 or 2 */
};

/* Values that an instruction reads and writes; the numbers are in `numbers` of struct fth_spill,
 * first those that it reads. */
struct fth_spill_use {
    uint32_t first;
    uint16_t read_count, write_count;
    uint16_t temporary; /* registers of the machine for values that are computed again here */
    bool keeps;         /* it has a guard, so that the old values of its results stay live */
};

struct fth_spill_block {
    uint32_t start, end;                     /* instructions */
    uint32_t first_next, next_count;         /* successors, in `edges` */
    uint32_t first_previous, previous_count; /* predecessors, in `edges` */
    uint32_t depth;                          /* loops that contain it */
    uint32_t loop_end; /* of a block that begins a loop: the end of its last instruction */
    uint64_t *live;    /* values that are live at its start, one bit each */
};

/* An access to local memory that the assembler adds. */
struct fth_spill_access {
    uint32_t instruction; /* that it belongs to */
    uint32_t value;
    bool is_store;
    bool is_after; /* it follows the instruction */
};

struct fth_spill {
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *function;
    uint32_t limit; /* registers of the machine for values */
    struct fth_spill_value *values;
    uint32_t value_count;
    struct fth_spill_use *uses; /* by instruction */
    uint32_t *numbers;
    struct fth_spill_block *blocks;
    uint64_t *live; /* sets of all blocks */
    uint32_t block_count;
    uint32_t *edges;
    uint32_t *order; /* the instructions of each block in the order of the estimate */
    struct fth_spill_access *accesses;
    size_t access_count, access_capacity;
};

/* What the pass estimates of a kernel. */
struct fth_spill_result {
    uint32_t limit;                   /* registers per thread */
    uint32_t written, scheduled;      /* registers needed in the order of the PTX, and at least */
    uint32_t stores, loads;           /* instructions that are inserted */
    uint32_t store_bytes, load_bytes; /* of these, per thread */
    uint32_t frame_bytes;             /* of local memory */
};

/* ---- spill_limit.c ---- */

/* Returns the registers per thread that the directives of a kernel leave to it. */
uint32_t fth_spill_limit(const struct fth_ptx_kernel *kernel);

/* ---- spill_values.c ---- */

/* Sets the values and uses. Returns false when out of memory. */
bool fth_spill_find_values(struct fth_spill *spill);

/* ---- spill_live.c ---- */

/* Sets the blocks with their live values. Returns false when out of memory. */
bool fth_spill_find_blocks(struct fth_spill *spill);
/* Returns the words of a set of values. */
static inline size_t fth_spill_words(const struct fth_spill *spill)
{
    return ((size_t)spill->value_count + 63) / 64;
}
static inline bool fth_spill_has(const uint64_t *set, uint32_t value)
{
    return set[value / 64] >> value % 64 & 1;
}
static inline void fth_spill_add(uint64_t *set, uint32_t value)
{
    set[value / 64] |= (uint64_t)1 << value % 64;
}
static inline void fth_spill_remove(uint64_t *set, uint32_t value)
{
    set[value / 64] &= ~((uint64_t)1 << value % 64);
}
/* Adds the values that are live at the end of a block. */
void fth_spill_live_out(const struct fth_spill *spill, const struct fth_spill_block *block,
                        uint64_t *set);
/* Returns the registers of the machine that a block needs in the order `order` of its
 * instructions. `set` has space for a set of values. */
uint32_t fth_spill_pressure(const struct fth_spill *spill, const struct fth_spill_block *block,
                            const uint32_t *order, uint64_t *set);

/* ---- spill_order.c ---- */

/* Sets `order` of the blocks that exceed the limit in the order of the PTX. Returns false when out
 * of memory. */
bool fth_spill_find_order(struct fth_spill *spill);

/* ---- spill_choose.c ---- */

/* Sets the accesses. Returns false when out of memory. */
bool fth_spill_choose(struct fth_spill *spill);

/* ---- spill_insert.c ---- */

/* Adds the accesses to the code of the function. Returns false when out of memory. */
bool fth_spill_insert(struct fth_ptx_module *module, struct fth_ptx_function *function,
                      const struct fth_spill *spill, struct fth_spill_result *result);

/* ---- spill.c ---- */

/* Estimates the spills of a kernel. `limit`: registers per thread; 0: those of its directives. If
 * `inserts`, changes its code. Returns false when out of memory. */
bool fth_spill_kernel(struct fth_ptx_module *module, struct fth_ptx_function *function,
                      uint32_t limit, bool inserts, struct fth_spill_result *result);

#endif
