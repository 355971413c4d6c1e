/* Adds up what the code of a function costs a warp (struct fth_ptx_cost).
 *
 * An assembler makes one machine instruction of some pairs of PTX instructions, because machine
 * instructions have more operands than those of PTX. A pair is merged here if the second
 * instruction is the only one that reads the result of the first, and both are in the same basic
 * block (a sequence of instructions without branches and branch targets). The rules are those that
 * ptxas 13.0 applies for sm_90:
 *
 *   shl, mul.lo + add      IMAD, LEA
 *   mul.wide + add.s64     IMAD.WIDE; in any blocks, because an assembler computes the product
 *                          again rather than keeping it
 *   cvt.s64.s32 + add.s64  LEA.HI.X.SX32, in any blocks
 *   add + add              IADD3
 *   logic + logic          LOP3
 *   setp + logic on predicates   ISETP, FSETP, which combine their result with a predicate
 *   neg, abs + arithmetic  the operands of machine instructions have signs
 *   add of a constant      to an address: accesses have an offset
 *   ld.shared              of four words in a row: LDS.128
 *
 * The latencies of dependent instructions form chains. The cycles of a basic block are those from
 * its start to the latest start of any of its instructions, if each one starts as soon as its
 * operands are ready. They leave out accesses to global memory, whose duration depends on caches,
 * and the issue rate of the SM. Results that are not ready at the end of a block are taken as
 * ready. */
#include "ptx/cost/cost.h"
#include "ptx/execute/execute.h"

#include <stdlib.h>

/* ---- groups of instructions ---- */

/* Groups of instructions that can be merged with each other. */
enum group {
    OTHER,
    SUM,
    PRODUCT,
    WIDE_SUM,
    WIDE_PRODUCT,
    WIDENING,
    SHIFT,
    WIDE_SHIFT,
    LOGIC,
    SIGN,
    COMPARE,
    PREDICATE_LOGIC
};

static bool has_base(const struct fth_ptx_inst *inst, const char *const *bases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fth_ptx_is_opcode(inst, bases[i]))
            return true;
    return false;
}
#define HAS_BASE(inst, ...)                                                                        \
    has_base(inst, (const char *const[]){__VA_ARGS__},                                             \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static enum group group_of(const struct fth_ptx_inst *inst)
{
    const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    const bool is_float = fth_ptx_type_is_float(type);
    const unsigned bytes = fth_ptx_type_bytes(type);
    if (inst->guarded || inst->flags & (F_CC | F_SAT | F_HI))
        return OTHER;
    if (HAS_BASE(inst, "setp"))
        return COMPARE;
    if (HAS_BASE(inst, "and", "or", "xor", "not"))
        return type == T_PRED ? PREDICATE_LOGIC : bytes <= 4 ? LOGIC : OTHER;
    if (HAS_BASE(inst, "neg", "abs"))
        return is_float || (bytes <= 4 && HAS_BASE(inst, "neg")) ? SIGN : OTHER;
    if (is_float)
        return OTHER;
    if (HAS_BASE(inst, "cvt"))
        return type == T_S64 && inst->type2 == T_S32 ? WIDENING : OTHER;
    if (HAS_BASE(inst, "add", "sub"))
        return bytes <= 4 ? SUM : WIDE_SUM;
    if (HAS_BASE(inst, "shl"))
        return bytes <= 4 ? SHIFT : WIDE_SHIFT;
    if (HAS_BASE(inst, "mul"))
        return inst->flags & F_WIDE && bytes == 4 ? WIDE_PRODUCT : bytes <= 4 ? PRODUCT : OTHER;
    return OTHER;
}

/* What the pass knows about a register or predicate. */
struct use {
    uint32_t write_count, read_count;
    uint32_t address_count; /* reads as the address of an access */
    uint32_t wide_count;    /* reads by sums of 64-bit integers */
    uint32_t reader;        /* the last instruction that reads it */
    uint32_t writer;        /* the last instruction that writes it */
};

struct cost_scan {
    const struct fth_ptx_module *module;
    struct fth_ptx_function *function;
    const struct fth_ptx_operands *operands; /* [code_count] */
    enum group *groups;                      /* [code_count] */
    bool *leaders;                           /* [code_count] */
    uint32_t *blocks;                        /* [code_count] number of the basic block, from 1 */
    struct use *uses;                        /* [operand_count] */
    struct fth_ptx_weight *weights;          /* [code_count] */
    bool *merged; /* [code_count] the instruction is merged with one that it reads */
    /* [operand_count] The cycle of the block in which the result is ready, and the block. */
    uint64_t *ready;
    uint32_t *ready_block;
};

bool fth_ptx_ends_block(const struct fth_ptx_inst *inst)
{
    return inst->operands->drains ||
           (inst->control != K_NONE && inst->control != K_CONVERGE && inst->control != K_WARP_SYNC);
}

void fth_ptx_mark_leaders(const struct fth_ptx_module *module,
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

/* ---- instructions that are merged ---- */

/* Returns true if an assembler merges two instructions, of which the second one reads the result of
 * the first. */
static bool can_merge(enum group first, enum group second, const struct fth_ptx_inst *reader)
{
    switch (first) {
    case SUM:
    case PRODUCT:
    case SHIFT: return second == SUM;
    case WIDE_SHIFT: return second == WIDE_SUM;
    case LOGIC: return second == LOGIC;
    case COMPARE: return second == PREDICATE_LOGIC;
    case SIGN:
        if (!fth_ptx_type_is_float((enum fth_ptx_type)reader->type))
            return second == SUM;
        return HAS_BASE(reader, "add", "sub", "mul", "fma", "mad", "min", "max", "setp", "rcp",
                        "sqrt", "rsqrt", "ex2", "lg2", "selp", "div");
    default: return false;
    }
}

/* Finds the reads and writes of all registers, and numbers the basic blocks. */
static void find_uses(struct cost_scan *scan)
{
    uint32_t block = 1;
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        block += scan->leaders[pc] || (pc && fth_ptx_ends_block(inst - 1));
        scan->blocks[pc] = block;
        for (size_t i = 0; i < inst->operands->read_count; i++) {
            struct use *use = &scan->uses[inst->operands->reads[i]];
            use->read_count++;
            use->wide_count += scan->groups[pc] == WIDE_SUM;
            use->reader = pc;
        }
        for (size_t i = 0; i < inst->operands->write_count; i++) {
            scan->uses[inst->operands->writes[i]].write_count++;
            scan->uses[inst->operands->writes[i]].writer = pc;
        }
        if (inst->operands->accesses && inst->s[0] >= 0)
            scan->uses[inst->s[0]].address_count++;
    }
}

/* Returns true if the result of the instruction is only the address of accesses, to which it adds a
 * constant. */
static bool is_offset(const struct cost_scan *scan, const struct fth_ptx_inst *inst)
{
    const struct use *use = &scan->uses[inst->d[0]];
    return (inst->s[0] < 0) != (inst->s[1] < 0) && use->address_count == use->read_count &&
           use->read_count;
}

/* Returns true if the only instruction that writes a register is a product of 64 bits. */
static bool is_wide_product(const struct cost_scan *scan, int32_t source)
{
    return source >= 0 && scan->uses[source].write_count == 1 &&
           scan->groups[scan->uses[source].writer] == WIDE_PRODUCT;
}

/* Merges products of 64 bits, and numbers that are widened to 64 bits, with sums. */
static void merge_wide(struct cost_scan *scan)
{
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        const enum group group = scan->groups[pc];
        if (group == WIDE_SUM &&
            (is_wide_product(scan, inst->s[0]) || is_wide_product(scan, inst->s[1]))) {
            scan->merged[pc] = true;
            scan->weights[pc].instructions = 1;
        } else if ((group == WIDE_PRODUCT || group == WIDENING) && inst->d[0] >= 0) {
            const struct use *use = &scan->uses[inst->d[0]];
            if (use->write_count == 1 && use->read_count && use->wide_count == use->read_count)
                scan->weights[pc] = (struct fth_ptx_weight){0};
        }
    }
}

/* Returns true for a load of one word of shared memory with a register as its address. */
static bool is_shared_word(const struct fth_ptx_inst *inst)
{
    return inst->space == FTH_SPACE_SHARED && inst->operands->accesses && !inst->guarded &&
           inst->vector < 2 && inst->operands->write_count == 1 && inst->s[0] >= 0 &&
           HAS_BASE(inst, "ld") && fth_ptx_type_bytes((enum fth_ptx_type)inst->type) == 4;
}

/* Maximum number of instructions between loads that are merged. Chosen: the loop over a tile, which
 * compilers unroll, has fewer. */
enum { MAX_GAP = 256 };

/* Returns true if the instruction writes the register. */
static bool writes(const struct fth_ptx_inst *inst, int32_t row)
{
    for (size_t i = 0; i < inst->operands->write_count; i++)
        if (inst->operands->writes[i] == (uint32_t)row)
            return true;
    return false;
}

/* Merges loads of four consecutive words of shared memory, at a multiple of 16 bytes, that are in
 * the same block and have the same register as their address. */
static void merge_shared(struct cost_scan *scan)
{
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc], *other = inst;
        uint32_t words[4] = {0}, count = 0; /* the load of each word */
        if (!is_shared_word(inst) || scan->merged[pc])
            continue;
        for (uint32_t at = pc; at - pc < MAX_GAP && at < scan->function->code_count &&
                               scan->blocks[at] == scan->blocks[pc] && count < 4 &&
                               (at == pc || !writes(other, inst->s[0]));
             at++) {
            other = &scan->function->code[at];
            const uint64_t word = (uint64_t)(other->offset - (inst->offset & ~(int64_t)15)) / 4;
            if (!is_shared_word(other) || scan->merged[at] || other->s[0] != inst->s[0] ||
                other->offset % 4 || word > 3 || words[word])
                continue;
            words[word] = at + 1;
            count++;
        }
        for (uint32_t i = 0; count == 4 && i < 4; i++) {
            scan->merged[words[i] - 1] = true;
            if (words[i] - 1 != pc)
                scan->weights[words[i] - 1].instructions = 0;
        }
    }
}

/* Maximum number of instructions from a division to the end of its loop. Chosen: as MAX_GAP. */
enum { MAX_LOOP = 1024 };

/* Returns true if the divisor does not change in the loop that the instruction is in, so that an
 * assembler computes its reciprocal once. */
static bool has_fixed_divisor(const struct cost_scan *scan, uint32_t pc)
{
    const int32_t divisor = scan->function->code[pc].s[1];
    for (uint32_t at = pc; at - pc < MAX_LOOP && at < scan->function->code_count; at++) {
        const struct fth_ptx_inst *inst = &scan->function->code[at];
        if (inst->control == K_BRANCH && inst->target <= pc)
            return divisor < 0 ||
                   (scan->uses[divisor].write_count == 1 &&
                    (scan->uses[divisor].writer < inst->target || scan->uses[divisor].writer > at));
    }
    return false;
}

/* Reduces the weight of divisions of 32-bit integers whose divisor does not change. */
static void reduce_divisions(struct cost_scan *scan)
{
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        const bool divides = HAS_BASE(inst, "div"), is_signed = inst->type == T_S32;
        if ((inst->type != T_U32 && !is_signed) || (!divides && !HAS_BASE(inst, "rem")) ||
            !has_fixed_divisor(scan, pc))
            continue;
        /* Measured as those of cost_table.c, with the same divisor in all instructions. */
        scan->weights[pc] = divides
                                ? (struct fth_ptx_weight){is_signed ? 12 : 9, is_signed ? 62 : 59}
                                : (struct fth_ptx_weight){is_signed ? 10 : 8, is_signed ? 62 : 57};
    }
}

/* Merges instructions with those that read their results. */
static void merge(struct cost_scan *scan)
{
    const struct fth_ptx_weight none = {0};
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        const enum group group = scan->groups[pc];
        if (group == OTHER || inst->operands->write_count != 1)
            continue;
        const struct use *use = &scan->uses[inst->operands->writes[0]];
        if (use->write_count != 1)
            continue;
        if ((group == SUM || group == WIDE_SUM) && is_offset(scan, inst)) {
            scan->weights[pc] = none;
            continue;
        }
        const struct fth_ptx_inst *reader = &scan->function->code[use->reader];
        if (use->read_count != 1 || use->reader <= pc || scan->merged[use->reader] ||
            (scan->merged[pc] && group != SIGN) || scan->blocks[use->reader] != scan->blocks[pc] ||
            !can_merge(group, scan->groups[use->reader], reader))
            continue;
        scan->merged[use->reader] = true;
        if (group == COMPARE)
            scan->weights[use->reader] = none;
        else
            scan->weights[pc] = none;
    }
}

/* ---- sums ---- */

/* Returns the cycle of its block in which the instruction can start, and sets when its results are
 * ready. */
static uint64_t start_of(struct cost_scan *scan, uint32_t pc)
{
    const struct fth_ptx_operands *operands = &scan->operands[pc];
    uint64_t start = 0;
    for (size_t i = 0; i < operands->read_count; i++) {
        const uint32_t read = operands->reads[i];
        if (scan->ready_block[read] == scan->blocks[pc] && scan->ready[read] > start)
            start = scan->ready[read];
    }
    for (size_t i = 0; i < operands->write_count; i++) {
        scan->ready_block[operands->writes[i]] = scan->blocks[pc];
        scan->ready[operands->writes[i]] = start + scan->weights[pc].cycles;
    }
    return start;
}

/* Computes the costs from the weights. */
static void add_up(struct cost_scan *scan, struct fth_ptx_cost *costs)
{
    uint64_t latest = 0; /* start of an instruction of the current block, in cycles */
    costs[0] = (struct fth_ptx_cost){0};
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        if (pc && scan->blocks[pc] != scan->blocks[pc - 1])
            latest = 0;
        const uint64_t start = start_of(scan, pc);
        costs[pc + 1] = costs[pc];
        costs[pc + 1].instructions += scan->weights[pc].instructions;
        costs[pc + 1].cycles += start > latest ? start - latest : 0;
        latest = start > latest ? start : latest;
    }
}

bool fth_ptx_find_costs(struct fth_ptx_module *module, struct fth_ptx_function *function,
                        struct fth_ptx_operands *operands)
{
    const size_t count = function->code_count + 1,
                 operand_count = (size_t)function->operand_count + 1;
    struct cost_scan scan = {.module = module,
                             .function = function,
                             .operands = operands,
                             .groups = calloc(count, sizeof *scan.groups),
                             .leaders = calloc(count, sizeof *scan.leaders),
                             .blocks = calloc(count, sizeof *scan.blocks),
                             .uses = calloc(operand_count, sizeof *scan.uses),
                             .weights = calloc(count, sizeof *scan.weights),
                             .merged = calloc(count, sizeof *scan.merged),
                             .ready = calloc(operand_count, sizeof *scan.ready),
                             .ready_block = calloc(operand_count, sizeof *scan.ready_block)};
    struct fth_ptx_cost *costs = fth_arena_array(&module->arena, count, sizeof *costs);
    bool ok = costs && scan.groups && scan.leaders && scan.blocks && scan.uses && scan.weights &&
              scan.merged && scan.ready && scan.ready_block &&
              fth_ptx_find_registers(module, function, operands);
    if (ok) {
        fth_ptx_mark_leaders(module, function, scan.leaders);
        ok = fth_ptx_find_removed(module, function, scan.leaders, operands);
    }
    if (ok) {
        for (size_t pc = 0; pc < function->code_count; pc++) {
            if (!operands[pc].in_registers && !operands[pc].is_removed)
                scan.weights[pc] = fth_ptx_weigh(&function->code[pc]);
            scan.weights[pc].instructions += operands[pc].parts.count == 2;
            scan.groups[pc] = group_of(&function->code[pc]);
        }
        find_uses(&scan);
        reduce_divisions(&scan);
        merge_wide(&scan);
        merge_shared(&scan);
        for (size_t pc = 0; pc < function->code_count; pc++) {
            const bool is_part = scan.merged[pc] && is_shared_word(&function->code[pc]);
            operands[pc].is_merged = is_part && !scan.weights[pc].instructions;
            operands[pc].begins_merged = is_part && scan.weights[pc].instructions;
        }
        merge(&scan);
        add_up(&scan, costs);
        function->costs = costs;
        ok = fth_ptx_find_waits(module, function, scan.leaders, operands);
    }
    free(scan.groups);
    free(scan.leaders);
    free(scan.blocks);
    free(scan.uses);
    free(scan.weights);
    free(scan.merged);
    free(scan.ready);
    free(scan.ready_block);
    return ok;
}
