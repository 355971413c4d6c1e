/* Which instructions are products and sums, and which ones separate the blocks in which ptxas fuses
 * them. A block ends at a branch, a label, a call, a fence, and at an instruction that ptxas
 * translates to code with branches: a guarded access to memory or a division, for example. */
#include "ptx/fuse/fuse.h"

#include <string.h>

static bool is_one_of(const struct fth_ptx_inst *inst, const char *const *bases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fth_ptx_is_opcode(inst, bases[i]))
            return true;
    return false;
}

/* ---- products and sums ---- */

static bool is_arithmetic(const struct fth_ptx_inst *inst)
{
    return inst->control == K_NONE && !inst->detail && inst->rounding == R_NONE &&
           fth_ptx_type_is_float((enum fth_ptx_type)inst->type) && inst->d[0] >= 0 &&
           !inst->result_is_predicate && inst->s[0] != NO_REGISTER && inst->s[1] != NO_REGISTER;
}

bool fth_fuse_is_sum(const struct fth_ptx_inst *inst)
{
    return (inst->opcode[0] == 'a' || inst->opcode[0] == 's') && is_arithmetic(inst) &&
           (fth_ptx_is_opcode(inst, "add") || fth_ptx_is_opcode(inst, "sub"));
}

/* div.approx and div.full end with a multiplication. */
static bool multiplies(const struct fth_ptx_inst *inst)
{
    if (fth_ptx_is_opcode(inst, "mul"))
        return !(inst->flags & F_SAT);
    return inst->type == T_F32 && (strncmp(inst->opcode, "div.approx", 10) == 0 ||
                                   strncmp(inst->opcode, "div.full", 8) == 0);
}

/* The product of two immediates is a constant for ptxas. */
bool fth_fuse_is_product(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst)
{
    return (inst->opcode[0] == 'm' || inst->opcode[0] == 'd') && is_arithmetic(inst) &&
           multiplies(inst) && (inst->s[0] >= 0 || inst->s[1] >= 0) &&
           !fth_fuse_is_guarded(fuse, inst);
}

bool fth_fuse_has_work(const struct fth_ptx_function *function)
{
    bool product = false, sum = false;
    for (size_t pc = 0; pc < function->code_count && !(product && sum); pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        sum = sum || fth_fuse_is_sum(inst);
        product = product || (is_arithmetic(inst) && multiplies(inst));
    }
    return product && sum;
}

/* ---- constants ---- */

void fth_fuse_count_writes(struct fth_fuse *fuse)
{
    const struct fth_ptx_function *function = fuse->function;
    struct fth_ptx_numbers reads, writes;
    /* A call writes the arguments: no instruction is the only one that does. */
    for (size_t i = 0; i < function->argument_count; i++)
        if (function->arguments[i].row >= 0)
            fuse->registers[function->arguments[i].row].write_count += 2;
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        fth_ptx_list_operands(fuse->module, function, inst, &reads, &writes);
        for (size_t i = 0; i < writes.count; i++) {
            fuse->registers[writes.at[i]].write_count++;
            fuse->registers[writes.at[i]].definition = (uint32_t)pc;
        }
    }
}

bool fth_fuse_is_guarded(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst)
{
    if (!inst->guarded)
        return false;
    const struct fth_fuse_register *guard = &fuse->registers[fuse->predicates + inst->guard];
    if (guard->write_count != 1)
        return true;
    const struct fth_ptx_inst *source = &fuse->function->code[guard->definition];
    if (!fth_ptx_is_opcode(source, "mov") || source->guarded || source->s[0] >= 0 ||
        source->s[0] == NO_REGISTER)
        return true;
    return (fuse->module->pool[~source->s[0]][0] != 0) == inst->guard_negated;
}

/* An immediate, a register that is always the same immediate, or an argument of the kernel. */
static bool is_constant(const struct fth_fuse *fuse, int32_t row)
{
    if (row < 0)
        return true;
    if (fuse->registers[row].write_count != 1)
        return false;
    const struct fth_ptx_inst *source = &fuse->function->code[fuse->registers[row].definition];
    if (source->guarded || source->s[0] >= 0 || source->s[0] == NO_REGISTER ||
        source->s[1] != NO_REGISTER)
        return false;
    return fth_ptx_is_opcode(source, "mov") ||
           (fth_ptx_is_opcode(source, "ld") && source->space == SPACE_ARGUMENT && !source->vector);
}

uint8_t fth_fuse_find_constant(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst)
{
    if (is_constant(fuse, inst->s[1]))
        return 2;
    return inst->opcode[0] == 'm' && is_constant(fuse, inst->s[0]) ? 1 : 0;
}

/* ---- blocks ---- */

/* Returns true if ptxas translates the instruction, without a guard, to code with branches. */
static bool has_branches(const struct fth_ptx_inst *inst)
{
    if (fth_ptx_is_opcode(inst, "div") || fth_ptx_is_opcode(inst, "rem"))
        return inst->type != T_U32 && !multiplies(inst);
    if (fth_ptx_is_opcode(inst, "sqrt") || fth_ptx_is_opcode(inst, "rcp"))
        return inst->rounding != R_NONE;
    if (fth_ptx_is_opcode(inst, "rsqrt"))
        return inst->type == T_F64 && !(inst->flags & F_FTZ);
    return fth_ptx_is_opcode(inst, "membar") || strncmp(inst->opcode, "fence.sc", 8) == 0 ||
           strncmp(inst->opcode, "fence.acq_rel", 13) == 0;
}

/* Returns true if ptxas translates the guarded instruction to a branch around it. Other guarded
 * instructions become selections. */
static bool is_skipped_by_branch(const struct fth_ptx_inst *inst)
{
    static const char *const bases[] = {"ld",  "ldu",      "st",      "atom", "red",
                                        "cp",  "bar",      "barrier", "shfl", "vote",
                                        "tex", "prefetch", "mbarrier"};
    return inst->control != K_NONE || inst->detail || is_one_of(inst, bases, FTH_COUNT(bases));
}

static bool ends_block(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst)
{
    switch (inst->control) {
    case K_BRANCH: return inst->guarded || inst->target != inst->index + 1;
    case K_BRANCH_TABLE:
    case K_CALL:
    case K_CALL_INDIRECT:
    case K_RETURN:
    case K_EXIT:
    case K_TRAP: return true;
    default:
        return (fth_fuse_is_guarded(fuse, inst) && is_skipped_by_branch(inst)) ||
               has_branches(inst);
    }
}

void fth_fuse_number_blocks(struct fth_fuse *fuse)
{
    const struct fth_ptx_function *function = fuse->function;
    struct fth_fuse_node *nodes = fuse->nodes;
    /* First, `block` is 1 where one begins. */
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        const bool ends = ends_block(fuse, inst);
        if (ends && pc + 1 < function->code_count)
            nodes[pc + 1].block = 1;
        if (ends && inst->control == K_BRANCH)
            nodes[inst->target].block = 1;
        if (inst->control != K_BRANCH_TABLE)
            continue;
        const struct fth_ptx_branch_table *table = &fuse->module->tables[inst->target];
        for (size_t i = 0; i < table->count; i++)
            nodes[table->targets[i]].block = 1;
    }
    uint32_t block = 0;
    for (size_t pc = 0; pc < function->code_count; pc++)
        nodes[pc].block = block += nodes[pc].block;
}
