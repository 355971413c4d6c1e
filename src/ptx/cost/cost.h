/* cost/: estimates what PTX costs a warp: how many machine instructions an assembler makes of it,
 * how long chains of dependent instructions take, and how soon a warp needs the result of a load.
 *
 * The engine itself has no notion of time. It passes these estimates to observers, which add up
 * what a warp executes between two accesses.
 *
 *   cost_table.c   machine instructions and latency of each PTX instruction
 *   cost_find.c    instructions that an assembler merges with others; the sums for each function
 *   cost_local.c   local variables that an assembler keeps in registers
 *   cost_loads.c   loads that an assembler removes or makes narrower
 *   cost_waits.c   the distance from a load to the first use of its result */
#ifndef FTH_PTX_COST_H
#define FTH_PTX_COST_H

#include "ptx/engine.h"

/* ---- cost_table.c ---- */

/* What a PTX instruction becomes if an assembler merges it with no other. */
struct fth_ptx_weight {
    uint32_t instructions; /* machine instructions that a warp issues */
    uint32_t cycles;       /* from its issue until another instruction can use the result */
};
struct fth_ptx_weight fth_ptx_weigh(const struct fth_ptx_inst *inst);

/* ---- cost_find.c ---- */

/* Sets `costs` of a function, and `wait` of the operands of its instructions. The instructions have
 * their operands already. Returns false when out of memory. */
bool fth_ptx_find_costs(struct fth_ptx_module *module, struct fth_ptx_function *function,
                        struct fth_ptx_operands *operands);
/* Sets leaders[i] if instruction i is the target of a branch. */
void fth_ptx_mark_leaders(const struct fth_ptx_module *module,
                          const struct fth_ptx_function *function, bool *leaders);
/* Returns true if instructions after this one are not in the same basic block. */
bool fth_ptx_ends_block(const struct fth_ptx_inst *inst);

/* ---- cost_local.c ---- */

/* Sets `in_registers` of the operands of all instructions. Returns false when out of memory. */
bool fth_ptx_find_registers(const struct fth_ptx_module *module,
                            const struct fth_ptx_function *function,
                            struct fth_ptx_operands *operands);

/* ---- cost_loads.c ---- */

/* Sets `is_removed` and `parts` of the operands of all instructions. Returns false when out of
 * memory. */
bool fth_ptx_find_removed(const struct fth_ptx_module *module,
                          const struct fth_ptx_function *function, const bool *leaders,
                          struct fth_ptx_operands *operands);

/* ---- cost_waits.c ---- */

/* Sets `wait` and `is_staged` of the operands of all instructions. The function has its costs.
 * Returns false when out of memory. */
bool fth_ptx_find_waits(const struct fth_ptx_module *module,
                        const struct fth_ptx_function *function, const bool *leaders,
                        struct fth_ptx_operands *operands);

#endif
