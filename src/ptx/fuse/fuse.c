/* Decides which sums are fused with a product, and changes the instructions.
 *
 * ptxas takes the sums in the order of the program, twice: first for the products that have only
 * one use, then for all. If a sum adds two products, it prefers the one with fewer uses, and
 * otherwise the first one. The other product becomes an addend: it is computed, and not fused any
 * more. */
#include "ptx/fuse/fuse.h"

#include "ptx/execute/execute.h"

#include <stdlib.h>

/* ---- decisions ---- */

static bool can_fuse(const struct fth_fuse *fuse, uint32_t product, bool single)
{
    if (product == FUSE_NONE)
        return false;
    const struct fth_fuse_node *node = &fuse->nodes[product];
    return !node->is_blocked && !node->is_addend && (!single || node->uses == 1);
}

/* Chooses the operand of a sum that is fused, with `single` only among products with one use. */
static void choose(struct fth_fuse *fuse, struct fth_fuse_node *sum, bool single)
{
    const bool first = can_fuse(fuse, sum->operands[0], single);
    const bool second = can_fuse(fuse, sum->operands[1], single);
    if (!first && !second)
        return;
    const bool fewer =
        first && second && fuse->nodes[sum->operands[1]].uses < fuse->nodes[sum->operands[0]].uses;
    sum->fused = first && !fewer ? 1 : 2;
    const uint32_t other = sum->operands[2 - sum->fused];
    if (other != FUSE_NONE)
        fuse->nodes[other].is_addend = true;
}

/* Returns true if at least one sum is fused. */
static bool decide(struct fth_fuse *fuse)
{
    bool any = false;
    const size_t count = fuse->function->code_count;
    for (size_t pc = 0; pc < count; pc++)
        if (fuse->nodes[pc].is_sum)
            choose(fuse, &fuse->nodes[pc], true);
    for (size_t pc = 0; pc < count; pc++) {
        struct fth_fuse_node *sum = &fuse->nodes[pc];
        if (!sum->is_sum)
            continue;
        if (!sum->fused)
            choose(fuse, sum, false);
        for (uint8_t k = 0; k < 2; k++) {
            if (sum->operands[k] == FUSE_NONE)
                continue;
            if (sum->fused == k + 1)
                fuse->nodes[sum->operands[k]].is_fused = any = true;
            else
                fuse->nodes[sum->operands[k]].is_needed = true;
        }
    }
    return any;
}

/* ---- changes ---- */

static void remove_instruction(struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < FTH_COUNT(inst->d); i++)
        inst->d[i] = NO_REGISTER;
    for (size_t i = 0; i < FTH_COUNT(inst->s); i++)
        inst->s[i] = NO_REGISTER;
    inst->run = fth_ptx_run_nothing;
}

/* Copies the factors of a product to d[0] and d[1]. */
static void run_keep(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t kept[2][LANES];
    for (size_t i = 0; i < 2; i++)
        if (inst->d[i] >= 0)
            memcpy(kept[i], row(warp, inst->s[i]), sizeof kept[i]);
    for (size_t i = 0; i < 2; i++)
        if (inst->d[i] >= 0) {
            uint64_t *rd = out_row(warp, inst->d[i]);
            FOR_LANES(mask, rd[lane] = kept[i][lane];);
        }
}

/* Copies the factors to d[1] and d[2], and computes the product. */
static void run_keep_and_multiply(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                  uint32_t mask)
{
    for (size_t i = 0; i < 2; i++)
        if (inst->d[i + 1] >= 0) {
            const uint64_t *ra = row(warp, inst->s[i]);
            uint64_t *rd = out_row(warp, inst->d[i + 1]);
            FOR_LANES(mask, rd[lane] = ra[lane];);
        }
    inst->inner(warp, inst, mask);
}

/* Lets a product copy its factors, because they can change before the sums. Constants cannot. */
static void keep_factors(struct fth_fuse *fuse, struct fth_fuse_node *node,
                         struct fth_ptx_inst *inst)
{
    const size_t first = node->is_needed ? 1 : 0;
    inst->d[0] = node->is_needed ? inst->d[0] : NO_REGISTER;
    for (size_t i = 0; i < 2; i++) {
        if (inst->s[i] < 0 || node->constant == i + 1)
            continue;
        node->factors[i] = inst->d[first + i] = (int32_t)fuse->function->register_count++;
    }
    inst->inner = inst->run;
    inst->run = node->is_needed ? run_keep_and_multiply : run_keep;
}

static void change_products(struct fth_fuse *fuse)
{
    for (size_t pc = 0; pc < fuse->function->code_count; pc++) {
        const uint32_t product = fuse->nodes[pc].product;
        struct fth_ptx_inst *inst = &fuse->function->code[pc];
        if (product == FUSE_NONE || !fuse->nodes[product].is_fused)
            continue;
        if (product == pc && fuse->nodes[pc].is_kept)
            keep_factors(fuse, &fuse->nodes[pc], inst);
        else if (!fuse->nodes[product].is_needed)
            remove_instruction(inst);
    }
}

/* Turns a sum into a multiplication and an addition. */
static void change_sum(struct fth_fuse *fuse, const struct fth_fuse_node *node,
                       struct fth_ptx_inst *sum)
{
    const size_t k = node->fused - 1u;
    const uint32_t product = node->operands[k];
    const struct fth_ptx_inst *source = &fuse->function->code[product];
    const bool subtracts = fth_ptx_is_opcode(sum, "sub");
    uint8_t signs = node->operand_negated[k] != (subtracts && k == 1) ? FUSED_NEGATES_PRODUCT : 0;
    if (subtracts && k == 0)
        signs |= FUSED_NEGATES_ADDEND;
    sum->s[2] = sum->s[1 - k];
    sum->s[0] = fuse->nodes[product].factors[0];
    sum->s[1] = fuse->nodes[product].factors[1];
    fth_ptx_select_fused(sum,
                         source->opcode[0] == 'm'   ? FUSED_MULTIPLICATION
                         : source->opcode[4] == 'f' ? FUSED_FULL_DIVISION
                                                    : FUSED_APPROXIMATE_DIVISION,
                         signs);
}

static bool start(struct fth_fuse *fuse)
{
    const struct fth_ptx_function *function = fuse->function;
    const size_t count = (size_t)function->register_count + function->predicate_count;
    fuse->predicates = function->register_count;
    fuse->nodes = calloc(function->code_count + 1, sizeof *fuse->nodes);
    fuse->registers = calloc(count + 1, sizeof *fuse->registers);
    if (!fuse->nodes || !fuse->registers)
        return false;
    for (size_t pc = 0; pc < function->code_count; pc++)
        fuse->nodes[pc].product = fuse->nodes[pc].operands[0] = fuse->nodes[pc].operands[1] =
            FUSE_NONE;
    return true;
}

bool fth_ptx_fuse(struct fth_ptx_module *module, struct fth_ptx_function *function)
{
    if (!fth_fuse_has_work(function))
        return true;
    struct fth_fuse fuse = {.module = module, .function = function};
    const bool ok = start(&fuse);
    if (ok) {
        fth_fuse_count_writes(&fuse);
        fth_fuse_number_blocks(&fuse);
        fth_fuse_find_uses(&fuse);
        if (decide(&fuse)) {
            change_products(&fuse);
            for (size_t pc = 0; pc < function->code_count; pc++)
                if (fuse.nodes[pc].fused)
                    change_sum(&fuse, &fuse.nodes[pc], &function->code[pc]);
        }
    }
    free(fuse.nodes);
    free(fuse.registers);
    return ok;
}
