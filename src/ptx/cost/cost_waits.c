/* Estimates how soon a warp needs the result of a load. A warp issues its instructions in order and
 * stalls at the first one that needs a result which has not arrived. How many loads are in flight
 * at the same time therefore depends on how far the first use is from the load.
 *
 * The distance is counted in machine instructions, from the load to the instruction at which the
 * warp stalls. It assumes what the compilers of GPU code do: within a basic block, they move loads
 * ahead of arithmetic that does not compute an address, and ahead of stores to shared memory. So
 * arithmetic on the result does not stall the warp before the end of its basic block, unless an
 * address, a stored value, a branch or a barrier of the block depends on it. A store of the result
 * to shared memory stalls it after the last load of the block. A fence and a call wait for all
 * loads. Of a conditional branch, only one direction is followed: back to the start of a loop the
 * first time, and otherwise straight on.
 *
 * Also finds the loads whose result is only stored to shared memory. */
#include "ptx/cost/cost.h"

#include <stdlib.h>

/* Maximum number of PTX instructions that are followed. Chosen: a warp takes at least as many
 * cycles for them as a load that misses all caches. */
enum { MAX_DISTANCE = 1024 };

struct wait_scan {
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *function;
    const bool *leaders; /* [code_count] the instruction is the target of a branch */
    /* The arrays below are valid for a load where they have its number, so that they need not be
     * cleared for the next load. */
    uint32_t load;      /* number of the current load, from 1 */
    uint32_t *depends;  /* [operand_count] the operand depends on the load */
    uint32_t *followed; /* [code_count] the branch was followed */
    uint64_t committed; /* groups of copies that were committed since the copy */
};

static bool reads_dependent(const struct wait_scan *scan, const struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < inst->operands->read_count; i++)
        if (scan->depends[inst->operands->reads[i]] == scan->load)
            return true;
    return false;
}

/* Sets whether the results depend on the load. An instruction with a guard keeps the old value in
 * some lanes. */
static void set_writes(const struct wait_scan *scan, const struct fth_ptx_inst *inst, bool depends)
{
    for (size_t i = 0; i < inst->operands->write_count; i++)
        if (depends || !inst->guarded)
            scan->depends[inst->operands->writes[i]] = depends ? scan->load : 0;
}

/* Returns the instruction after the one at `pc`, or SIZE_MAX at the end of the thread, or where the
 * next one is unknown. */
static size_t next_of(const struct wait_scan *scan, size_t pc)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    if ((inst->control == K_EXIT || inst->control == K_RETURN) && !inst->guarded)
        return SIZE_MAX;
    if (inst->control == K_BRANCH_TABLE)
        return SIZE_MAX;
    if (inst->control != K_BRANCH)
        return pc + 1;
    const bool first = scan->followed[pc] != scan->load, back = inst->target <= pc;
    scan->followed[pc] = scan->load;
    if (!inst->guarded)
        return !back || first ? inst->target : SIZE_MAX;
    return back && first ? inst->target : pc + 1;
}

/* Returns true if the warp waits at the instruction for a copy that `scan` follows. */
static bool waits_for_copy(struct wait_scan *scan, const struct fth_ptx_inst *inst)
{
    if (strncmp(inst->opcode, "cp.async.commit_group", 21) == 0)
        scan->committed++;
    if (strncmp(inst->opcode, "cp.async.wait_all", 17) == 0)
        return true;
    return strncmp(inst->opcode, "cp.async.wait_group", 19) == 0 && inst->s[0] < 0 &&
           inst->s[0] != NO_REGISTER && scan->committed > scan->module->pool[~inst->s[0]][0];
}

/* Returns true if the warp waits at the instruction for all accesses. */
static bool waits_for_all(const struct wait_scan *scan, const struct fth_ptx_inst *inst)
{
    return inst->operands->drains &&
           !(scan->function->is_kernel && inst->control == K_RETURN /* the end of the thread */);
}

static bool is_load(const struct fth_ptx_inst *inst)
{
    return inst->space == FTH_SPACE_GLOBAL && fth_ptx_is_opcode(inst, "ld");
}

static bool is_shared_store(const struct fth_ptx_inst *inst)
{
    return inst->space == FTH_SPACE_SHARED && fth_ptx_is_opcode(inst, "st");
}

/* The store to shared memory at `pc` needs the result, `distance` instructions after the load.
 * Returns its distance after the loads of its basic block have been moved ahead of it: those that
 * do not need the result, up to a write to other memory. */
static uint32_t move_store(const struct wait_scan *scan, size_t pc, uint64_t distance)
{
    const struct fth_ptx_function *function = scan->function;
    const struct fth_ptx_cost *costs = function->costs;
    uint64_t moved = distance;
    for (pc++; pc < function->code_count && !scan->leaders[pc]; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        const bool uses = reads_dependent(scan, inst);
        if (fth_ptx_ends_block(inst) || (uses && is_load(inst)) ||
            (inst->operands->accesses && inst->space != FTH_SPACE_SHARED && !is_load(inst)))
            break;
        distance += costs[pc + 1].instructions - costs[pc].instructions;
        if (is_load(inst))
            moved = distance + 1;
        set_writes(scan, inst, uses);
    }
    return (uint32_t)moved;
}

/* Returns the distance from the load, or copy, at `start` to the instruction that waits for it;
 * UINT32_MAX: none. */
static uint32_t scan_from(struct wait_scan *scan, size_t start, bool copies)
{
    const struct fth_ptx_function *function = scan->function;
    const struct fth_ptx_cost *costs = function->costs;
    bool pending = false; /* arithmetic of the current block uses the result */
    uint64_t distance = 0;
    scan->load++;
    scan->committed = 0;
    set_writes(scan, &function->code[start], true);
    size_t pc = start + 1;
    for (unsigned i = 0; i < MAX_DISTANCE && pc < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        if (pending && scan->leaders[pc])
            return (uint32_t)distance;
        distance += costs[pc + 1].instructions - costs[pc].instructions;
        const bool uses = reads_dependent(scan, inst);
        if (uses && is_shared_store(inst))
            return move_store(scan, pc, distance);
        if ((copies ? waits_for_copy(scan, inst) : waits_for_all(scan, inst)) ||
            (uses && (inst->operands->accesses || fth_ptx_ends_block(inst))) ||
            (pending && fth_ptx_ends_block(inst)) ||
            (!copies && pc == start /* the register is loaded again */))
            return (uint32_t)distance;
        pending = pending || uses;
        set_writes(scan, inst, uses);
        pc = next_of(scan, pc);
    }
    return UINT32_MAX;
}

/* How a function uses an operand. */
enum { STORED_TO_SHARED = 1, USED_OTHERWISE = 2 };

/* Sets for each operand how the function uses it. */
static void find_uses(const struct fth_ptx_function *function, unsigned char *uses)
{
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        const bool stores = inst->space == FTH_SPACE_SHARED && fth_ptx_is_opcode(inst, "st");
        for (size_t i = 0; i < inst->operands->read_count; i++) {
            const uint32_t operand = inst->operands->reads[i];
            const bool is_address = inst->s[0] >= 0 && operand == (uint32_t)inst->s[0];
            const bool is_guard = operand >= function->register_count;
            uses[operand] |= stores && !is_address && !is_guard ? STORED_TO_SHARED : USED_OTHERWISE;
        }
    }
}

/* Sets which loads are staged. */
static void find_staged(const struct fth_ptx_function *function, const unsigned char *uses,
                        struct fth_ptx_operands *operands)
{
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        bool staged = inst->space == FTH_SPACE_GLOBAL && fth_ptx_is_opcode(inst, "ld") &&
                      operands[pc].write_count;
        for (size_t i = 0; i < operands[pc].write_count && staged; i++)
            staged = uses[operands[pc].writes[i]] == STORED_TO_SHARED;
        operands[pc].is_staged = staged;
    }
}

bool fth_ptx_find_waits(const struct fth_ptx_module *module,
                        const struct fth_ptx_function *function, const bool *leaders,
                        struct fth_ptx_operands *operands)
{
    struct wait_scan scan = {.module = module,
                             .function = function,
                             .leaders = leaders,
                             .depends = calloc(function->operand_count + 1, sizeof(uint32_t)),
                             .followed = calloc(function->code_count + 1, sizeof(uint32_t))};
    unsigned char *uses = calloc(function->operand_count + 1, 1);
    const bool ok = scan.depends && scan.followed && uses;
    for (size_t pc = 0; pc < function->code_count && ok; pc++) {
        const bool copies = function->code[pc].async == ASYNC_THREAD;
        operands[pc].wait = UINT32_MAX;
        if (operands[pc].accesses && (operands[pc].write_count || copies))
            operands[pc].wait = scan_from(&scan, pc, copies);
    }
    if (ok) {
        find_uses(function, uses);
        find_staged(function, uses, operands);
    }
    free(uses);
    free(scan.depends);
    free(scan.followed);
    return ok;
}
