/* Estimates how soon a warp needs the result of a load. A warp issues its instructions in order and
 * stalls at the first one that needs a result which has not arrived. How many loads are in flight
 * at the same time therefore depends on how far the first use is from the load.
 *
 * The distance is counted in PTX instructions, from the load to the instruction at which the warp
 * stalls. It assumes what the compilers of GPU code do: within a basic block, they move loads ahead
 * of arithmetic that does not compute an address. So arithmetic on the result does not stall the
 * warp before the end of its basic block, unless an address, a stored value, a branch or a barrier
 * of the block depends on it. Of a conditional branch, only one direction is followed: back to the
 * start of a loop the first time, and otherwise straight on. */
#include "ptx/parse/parser.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of instructions that are followed. Chosen: a warp issues this many in more time
 * than a load takes. */
enum { MAX_DISTANCE = 4096 };

struct wait_scan {
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *function;
    bool *leaders;  /* [code_count] the instruction is the target of a branch */
    bool *depends;  /* [operand_count] the operand depends on the load */
    bool *returned; /* [code_count] the branch back was followed */
    uint32_t committed; /* groups of copies that were committed since a copy */
};

static bool reads_dependent(const struct wait_scan *scan, const struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < inst->operands->read_count; i++)
        if (scan->depends[inst->operands->reads[i]])
            return true;
    return false;
}

static void set_writes(const struct wait_scan *scan, const struct fth_ptx_inst *inst, bool depends)
{
    for (size_t i = 0; i < inst->operands->write_count; i++)
        scan->depends[inst->operands->writes[i]] = depends;
}

/* Returns true if the compiler moves no load across the instruction. */
static bool ends_block(const struct fth_ptx_inst *inst)
{
    return inst->operands->drains ||
           (inst->control != K_NONE && inst->control != K_CONVERGE && inst->control != K_WARP_SYNC);
}

/* Returns the instruction after the one at `pc`, or SIZE_MAX at the end of the thread. */
static size_t next_of(const struct wait_scan *scan, size_t pc)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    if (inst->control == K_EXIT && !inst->guarded)
        return SIZE_MAX;
    if (inst->control != K_BRANCH)
        return pc + 1;
    if (!inst->guarded)
        return inst->target > pc || !scan->returned[pc] ? inst->target : SIZE_MAX;
    return inst->target <= pc && !scan->returned[pc] ? inst->target : pc + 1;
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

/* Returns the distance from the load, or copy, at `start` to the instruction that waits for it;
 * UINT32_MAX: none. */
static uint32_t scan_from(struct wait_scan *scan, size_t start, bool copies)
{
    const struct fth_ptx_function *function = scan->function;
    bool pending = false;
    uint32_t distance = 0;
    memset(scan->depends, 0, function->operand_count * sizeof *scan->depends);
    memset(scan->returned, 0, function->code_count * sizeof *scan->returned);
    scan->committed = 0;
    set_writes(scan, &function->code[start], true);
    for (size_t pc = start + 1; pc < function->code_count && distance < MAX_DISTANCE;) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        distance++;
        if (pending && scan->leaders[pc])
            return distance;
        const bool uses = reads_dependent(scan, inst);
        if (copies && waits_for_copy(scan, inst))
            return distance;
        if (uses && (inst->operands->accesses || ends_block(inst)))
            return distance;
        if (pending && ends_block(inst))
            return distance;
        if (!copies && pc == start) /* the register is loaded again */
            return distance;
        pending = pending || uses;
        set_writes(scan, inst, uses);
        const size_t next = next_of(scan, pc);
        scan->returned[pc] = true;
        pc = next;
    }
    return UINT32_MAX;
}

static void mark_leaders(const struct fth_ptx_module *module,
                         const struct fth_ptx_function *function, bool *leaders)
{
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        if (inst->control == K_BRANCH && inst->target < function->code_count)
            leaders[inst->target] = true;
        if (inst->control == K_BRANCH_TABLE)
            for (size_t i = 0; i < module->tables[inst->target].count; i++)
                if (module->tables[inst->target].targets[i] < function->code_count)
                    leaders[module->tables[inst->target].targets[i]] = true;
    }
}

bool fth_ptx_find_waits(const struct fth_ptx_module *module,
                        const struct fth_ptx_function *function, struct fth_ptx_operands *operands)
{
    struct wait_scan scan = {.module = module,
                             .function = function,
                             .leaders = calloc(function->code_count + 1, sizeof(bool)),
                             .depends = calloc(function->operand_count + 1, sizeof(bool)),
                             .returned = calloc(function->code_count + 1, sizeof(bool))};
    const bool ok = scan.leaders && scan.depends && scan.returned;
    if (ok)
        mark_leaders(module, function, scan.leaders);
    for (size_t pc = 0; pc < function->code_count && ok; pc++) {
        const bool copies = function->code[pc].async == ASYNC_THREAD;
        operands[pc].wait = UINT32_MAX;
        if (operands[pc].accesses && (operands[pc].write_count || copies))
            operands[pc].wait = scan_from(&scan, pc, copies);
    }
    free(scan.leaders);
    free(scan.depends);
    free(scan.returned);
    return ok;
}
