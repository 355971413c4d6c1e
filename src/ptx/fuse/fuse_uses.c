/* Finds the uses of each product.
 *
 * A register that one instruction writes always has the value of this instruction. The value of
 * another register is known only in the block that writes it. If a block reads such a register
 * before it writes it, a product that the register holds at the end of any block counts as used. */
#include "ptx/fuse/fuse.h"

static void block_product(struct fth_fuse *fuse, uint32_t product)
{
    fuse->nodes[product].is_blocked = true;
}

/* Returns the instruction whose result a register holds when instruction `pc` reads it, or
 * FUSE_NONE if it is unknown. */
static uint32_t find_definition(struct fth_fuse *fuse, uint32_t pc, uint32_t number)
{
    struct fth_fuse_register *reg = &fuse->registers[number];
    if (reg->write_count == 1)
        return reg->definition;
    if (reg->definition != FUSE_NONE && fuse->nodes[reg->definition].block == fuse->nodes[pc].block)
        return reg->definition;
    reg->is_exposed = true;
    return FUSE_NONE;
}

/* Returns the product that a row holds, and whether it is negated, or FUSE_NONE. */
static uint32_t find_product(struct fth_fuse *fuse, uint32_t pc, int32_t row, bool *negated)
{
    *negated = false;
    const uint32_t definition = row < 0 ? FUSE_NONE : find_definition(fuse, pc, (uint32_t)row);
    if (definition == FUSE_NONE)
        return FUSE_NONE;
    *negated = fuse->nodes[definition].negated;
    return fuse->nodes[definition].product;
}

/* Returns true if the instruction copies a number of this type, or negates it. */
static bool is_copy(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst, uint32_t product)
{
    const struct fth_ptx_inst *source = &fuse->function->code[product];
    if (inst->d[0] < 0 || inst->vector || fth_fuse_is_guarded(fuse, inst))
        return false;
    if (fth_ptx_is_opcode(inst, "neg"))
        return inst->type == source->type && !(inst->flags & F_FTZ & ~source->flags);
    return fth_ptx_is_opcode(inst, "mov") && inst->type != T_PRED &&
           fth_ptx_type_bytes((enum fth_ptx_type)inst->type) ==
               fth_ptx_type_bytes((enum fth_ptx_type)source->type);
}

/* Returns true if the instruction is a copy of a product, and notes it. */
static bool note_copy(struct fth_fuse *fuse, uint32_t pc)
{
    const struct fth_ptx_inst *inst = &fuse->function->code[pc];
    if (inst->control != K_NONE || inst->detail || inst->predicate_source_count ||
        !(fth_ptx_is_opcode(inst, "mov") || fth_ptx_is_opcode(inst, "neg")))
        return false;
    bool negated;
    const uint32_t product = find_product(fuse, pc, inst->s[0], &negated);
    if (product == FUSE_NONE || !is_copy(fuse, inst, product))
        return false;
    fuse->nodes[pc].product = product;
    fuse->nodes[pc].negated = negated != (inst->opcode[0] == 'n');
    return true;
}

/* Returns true if an instruction after the product, up to `pc` in the same block, or the product
 * itself writes the row. */
static bool is_overwritten(const struct fth_fuse *fuse, uint32_t product, int32_t row)
{
    if (row < 0)
        return false;
    const uint32_t definition = fuse->registers[row].definition;
    return definition != FUSE_NONE && definition >= product &&
           fuse->nodes[definition].block == fuse->nodes[product].block;
}

/* Notes that a sum adds a product. */
static void note_addition(struct fth_fuse *fuse, uint32_t pc, uint32_t product)
{
    struct fth_fuse_node *node = &fuse->nodes[product];
    const struct fth_ptx_inst *sum = &fuse->function->code[pc];
    const struct fth_ptx_inst *source = &fuse->function->code[product];
    node->uses++;
    if (sum->type != source->type || (sum->flags ^ source->flags) & F_FTZ) {
        node->is_blocked = true;
    } else if (fuse->nodes[pc].block != node->block || pc < product) {
        node->is_blocked = node->is_blocked || !node->constant;
        node->is_kept = true;
    } else if (is_overwritten(fuse, product, source->s[0]) ||
               is_overwritten(fuse, product, source->s[1])) {
        node->is_kept = true;
    }
}

static void note_sum(struct fth_fuse *fuse, uint32_t pc)
{
    const struct fth_ptx_inst *inst = &fuse->function->code[pc];
    struct fth_fuse_node *node = &fuse->nodes[pc];
    node->is_sum = true;
    for (size_t k = 0; k < 2; k++) {
        node->operands[k] = find_product(fuse, pc, inst->s[k], &node->operand_negated[k]);
        if (node->operands[k] != FUSE_NONE)
            note_addition(fuse, pc, node->operands[k]);
    }
    if (node->operands[0] != FUSE_NONE && node->operands[0] == node->operands[1])
        block_product(fuse, node->operands[0]);
}

static void note_reads(struct fth_fuse *fuse, uint32_t pc, const struct fth_ptx_numbers *reads)
{
    for (size_t i = 0; i < reads->count; i++) {
        if (reads->at[i] >= fuse->predicates)
            continue;
        bool negated;
        const uint32_t product = find_product(fuse, pc, (int32_t)reads->at[i], &negated);
        if (product == FUSE_NONE)
            continue;
        fuse->nodes[product].uses++;
        block_product(fuse, product);
    }
}

/* A guarded instruction leaves the old value in some lanes, so it also needs this value. */
static void note_writes(struct fth_fuse *fuse, uint32_t pc, const struct fth_ptx_numbers *writes)
{
    const bool guarded = fth_fuse_is_guarded(fuse, &fuse->function->code[pc]);
    for (size_t i = 0; i < writes->count; i++) {
        struct fth_fuse_register *reg = &fuse->registers[writes->at[i]];
        if (reg->write_count == 1 || writes->at[i] >= fuse->predicates)
            continue;
        const uint32_t before =
            guarded ? find_definition(fuse, pc, writes->at[i]) : reg->definition;
        if (before != FUSE_NONE) {
            fuse->nodes[before].is_overwritten = fuse->nodes[before].block == fuse->nodes[pc].block;
            if (guarded && fuse->nodes[before].product != FUSE_NONE)
                block_product(fuse, fuse->nodes[before].product);
        }
        reg->definition = pc;
    }
}

/* A product in a register that other blocks read needs its value. */
static void block_exposed(struct fth_fuse *fuse)
{
    for (size_t pc = 0; pc < fuse->function->code_count; pc++) {
        const struct fth_fuse_node *node = &fuse->nodes[pc];
        if (node->product != FUSE_NONE && !node->is_overwritten &&
            fuse->registers[fuse->function->code[pc].d[0]].is_exposed)
            block_product(fuse, node->product);
    }
}

void fth_fuse_find_uses(struct fth_fuse *fuse)
{
    const struct fth_ptx_function *function = fuse->function;
    struct fth_ptx_numbers reads, writes;
    for (uint32_t i = 0; i < fuse->predicates; i++)
        if (fuse->registers[i].write_count != 1)
            fuse->registers[i].definition = FUSE_NONE;
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        struct fth_fuse_node *node = &fuse->nodes[pc];
        fth_ptx_list_operands(fuse->module, function, inst, &reads, &writes);
        if (fth_fuse_is_sum(inst))
            note_sum(fuse, pc);
        else if (!note_copy(fuse, pc))
            note_reads(fuse, pc, &reads);
        if (fth_fuse_is_product(fuse, inst)) {
            node->product = pc;
            node->constant = fth_fuse_find_constant(fuse, inst);
            node->factors[0] = inst->s[0];
            node->factors[1] = inst->s[1];
        }
        note_writes(fuse, pc, &writes);
    }
    block_exposed(fuse);
}
