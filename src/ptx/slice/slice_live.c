/* Live registers: those that a thread at an instruction can still read before it writes them (the
 * backward data-flow problem of A. Aho et al., "Compilers", section 9.2.5). When the lanes of a
 * warp have diverged, a register that is not live in the others can be overwritten in all lanes.
 *
 * The registers that can be linear have one bit each, the first ones of a function; OTHERS stands
 * for the rest and is always live. */
#include "ptx/slice/slice.h"

#include "ptx/execute/execute.h"

#include <stdlib.h>

#define OTHERS ((uint64_t)1 << 63)
enum { MAX_BITS = 63 };

/* Returns the registers that are live after an instruction. */
static uint64_t live_after(const struct fth_ptx_module *module, const struct fth_ptx_inst *inst,
                           const uint64_t *live)
{
    /* At the end of a function, its results are live, but those are never linear. */
    const bool ends =
        inst->control == K_EXIT || inst->control == K_RETURN || inst->control == K_TRAP;
    const bool jumps = inst->control == K_BRANCH || inst->control == K_BRANCH_TABLE;
    uint64_t after = OTHERS;
    if ((!ends && !jumps) || inst->guarded)
        after |= live[inst->index + 1];
    if (inst->control == K_BRANCH)
        after |= live[inst->target];
    if (inst->control == K_BRANCH_TABLE)
        for (size_t i = 0; i < module->tables[inst->target].count; i++)
            after |= live[module->tables[inst->target].targets[i]];
    return after;
}

/* Returns the registers that are live before an instruction. */
static uint64_t live_before(const struct fth_ptx_inst *inst, const uint64_t *bits,
                            uint32_t registers, uint64_t after)
{
    uint64_t read = 0;
    if (!fth_slice_is_executed(inst))
        return after;
    for (size_t i = 0; i < inst->operands->read_count; i++)
        if (inst->operands->reads[i] < registers)
            read |= bits[inst->operands->reads[i]];
    return (inst->guarded ? after : after & ~inst->result_bit) | read | OTHERS;
}

void fth_slice_assign_bits(const struct fth_ptx_function *source,
                           const struct fth_slice_function *function, const uint8_t *marks,
                           uint64_t *bits)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < source->register_count; i++) {
        const bool has_bit =
            function->operands[i].needed && !(marks[i] & LINEAR_NEVER) && count < MAX_BITS;
        bits[i] = has_bit ? (uint64_t)1 << count++ : OTHERS;
    }
}

bool fth_slice_find_live(const struct fth_ptx_module *module, const struct fth_ptx_function *source,
                         const uint64_t *bits, struct fth_slice_function *function)
{
    uint64_t *live = function->live = calloc(source->code_count + 1, sizeof *live);
    for (bool changed = live != NULL; changed;) {
        changed = false;
        for (size_t pc = source->code_count; pc-- > 0;) {
            const struct fth_ptx_inst *inst = &function->code[pc];
            const uint64_t before =
                live_before(inst, bits, source->register_count, live_after(module, inst, live));
            changed = changed || before != live[pc];
            live[pc] = before;
        }
    }
    return live != NULL;
}

uint64_t fth_slice_live(const struct fth_slice *slice, const struct fth_ptx_function *function,
                        uint32_t pc)
{
    return slice->functions[function - slice->run->module->functions].live[pc];
}
