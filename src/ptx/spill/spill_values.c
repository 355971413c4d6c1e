/* Decides which registers of the PTX need a register of the machine.
 *
 * Registers that an assembler rather computes again do not:
 *
 * - constants, kernel parameters, and what is computed from them and from special registers that
 *   are the same for all threads of a block: these are immediates, in constant memory, or in
 *   uniform registers
 * - the sum of such a value and another register, a product of 64 bits with such a value, and a
 *   number that is widened to 64 bits: they are computed again from the other register, which stays
 *   live instead
 * - a copy of another register */
#include "ptx/execute/execute.h"
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* Maximum number of instructions that an assembler computes again for one use: a product and a sum,
 * which are one instruction of the machine. */
enum { MAX_STEPS = 2 };

/* What the pass knows about a register of the PTX. */
struct row {
    uint32_t writer; /* the only instruction that writes it, or the last one */
    uint32_t write_count;
    uint32_t root; /* it is computed again from this register; SPILL_NONE: from none */
    uint8_t weight;
    uint8_t steps; /* instructions that compute it from `root`; 0: it is a copy */
    bool is_free;
};

static bool is_integer(unsigned type)
{
    const enum fth_ptx_type known = (enum fth_ptx_type)type;
    return !fth_ptx_type_is_float(known) && known != T_PRED && known != T_B128;
}

/* Returns true for an operand that needs no register. */
static bool is_free(const struct row *rows, int32_t source)
{
    return source < 0 || rows[source].is_free;
}

/* Returns true if the instruction only reads values that need no register. */
static bool has_free_sources(const struct row *rows, const struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < FTH_COUNT(inst->s); i++)
        if (!is_free(rows, inst->s[i]))
            return false;
    return inst->predicate == UINT32_MAX && !inst->predicate_source_count;
}

/* Returns true if the special register has the same value in all threads of a block. */
static bool is_uniform_special(const struct fth_ptx_inst *inst)
{
    static const char *const differ[] = {
        "%tid.x",       "%tid.y",       "%tid.z",       "%laneid",      "%warpid", "%lanemask_eq",
        "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%clock",  "%clock64"};
    for (size_t i = 0; i < FTH_COUNT(differ); i++)
        if (fth_ptx_special_register(differ[i], strlen(differ[i])) == inst->mode)
            return false;
    return true;
}

/* Returns true if the result of the instruction needs no register, given its sources. */
static bool makes_free(const struct row *rows, const struct fth_ptx_inst *inst)
{
    static const char *const bases[] = {"mov", "cvta", "add", "sub", "mul", "mad", "shl",
                                        "shr", "and",  "or",  "xor", "cvt", "min", "max"};
    if (inst->run == fth_ptx_run_special)
        return is_uniform_special(inst);
    if (inst->space == SPACE_ARGUMENT && fth_ptx_is_opcode(inst, "ld"))
        return inst->s[0] < 0;
    if (inst->detail || !has_free_sources(rows, inst))
        return false;
    if (fth_ptx_is_opcode(inst, "mov"))
        return true;
    if (!is_integer(inst->type) || (inst->type2 && !is_integer(inst->type2)))
        return false;
    for (size_t i = 0; i < FTH_COUNT(bases); i++)
        if (fth_ptx_is_opcode(inst, bases[i]))
            return true;
    return false;
}

/* Returns the only register from which the instruction computes its result in a way that is cheap
 * to repeat; -1: there is none. */
static int32_t root_of(const struct row *rows, const struct fth_ptx_inst *inst)
{
    const int32_t a = inst->s[0], b = inst->s[1];
    if (inst->detail || inst->guarded || inst->flags & (F_CC | F_SAT | F_HI) || inst->vector > 1)
        return -1;
    if (fth_ptx_is_opcode(inst, "mov"))
        return inst->run == fth_ptx_run_special || inst->type == T_PRED ? -1 : a;
    if (!is_integer(inst->type))
        return -1;
    if (fth_ptx_is_opcode(inst, "cvta") ||
        (fth_ptx_is_opcode(inst, "cvt") && is_integer(inst->type2) &&
         fth_ptx_type_bytes((enum fth_ptx_type)inst->type) == 8))
        return a;
    if (fth_ptx_is_opcode(inst, "add") || (fth_ptx_is_opcode(inst, "mul") && inst->flags & F_WIDE))
        return is_free(rows, b) ? a : is_free(rows, a) ? b : -1;
    if (fth_ptx_is_opcode(inst, "sub") ||
        (fth_ptx_is_opcode(inst, "shl") && fth_ptx_type_bytes((enum fth_ptx_type)inst->type) == 8))
        return is_free(rows, b) ? a : -1;
    return -1;
}

static void find_rows(const struct fth_ptx_function *function, struct row *rows)
{
    for (uint32_t i = 0; i < function->register_count; i++)
        rows[i] = (struct row){.root = SPILL_NONE, .weight = 1};
    for (size_t i = 0; i < function->wide_count; i++)
        for (uint32_t k = 0; k < function->wide_rows[i].count; k++)
            rows[function->wide_rows[i].first + k].weight = 2;
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        for (size_t i = 0; i < inst->operands->write_count; i++) {
            const uint32_t number = inst->operands->writes[i];
            if (number >= function->register_count)
                continue;
            rows[number].writer = pc;
            rows[number].write_count += inst->guarded ? 2 : 1;
        }
    }
    /* In the order of the PTX, so that the sources of most instructions are known. */
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        for (size_t i = 0; i < inst->operands->write_count; i++) {
            const uint32_t number = inst->operands->writes[i];
            if (number >= function->register_count || rows[number].write_count != 1)
                continue;
            rows[number].is_free = makes_free(rows, inst);
            const int32_t root = rows[number].is_free ? -1 : root_of(rows, inst);
            if (root < 0 || rows[root].write_count != 1)
                continue;
            const bool copies = fth_ptx_is_opcode(inst, "mov");
            if (rows[root].steps == MAX_STEPS && !copies)
                continue; /* it is kept in a register */
            rows[number].root = rows[root].root != SPILL_NONE ? rows[root].root : (uint32_t)root;
            rows[number].steps = (uint8_t)(rows[root].steps + (copies ? 0 : 1));
        }
    }
}

/* Adds a value to those of an instruction, unless it is there already. */
static void add_number(struct fth_spill *spill, uint32_t first, uint16_t *count, uint32_t number)
{
    for (uint32_t i = 0; i < *count; i++)
        if (spill->numbers[first + i] == number)
            return;
    spill->numbers[first + (*count)++] = number;
}

static void find_uses(struct fth_spill *spill, const struct row *rows, const uint32_t *numbers)
{
    const struct fth_ptx_function *function = spill->function;
    uint32_t next = 0;
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        struct fth_spill_use *use = &spill->uses[pc];
        *use = (struct fth_spill_use){.first = next, .keeps = inst->guarded};
        bool computes_again = false;
        for (size_t i = 0; i < inst->operands->write_count; i++) {
            const uint32_t number = inst->operands->writes[i];
            computes_again = computes_again ||
                             (number < function->register_count && rows[number].root != SPILL_NONE);
        }
        /* What is computed again is not computed here. */
        for (size_t i = 0; !computes_again && i < inst->operands->read_count; i++) {
            uint32_t number = inst->operands->reads[i];
            if (number >= function->register_count)
                continue;
            if (rows[number].root != SPILL_NONE) {
                if (rows[number].steps)
                    use->temporary = (uint16_t)(use->temporary + rows[number].weight);
                number = rows[number].root;
            }
            if (numbers[number] != SPILL_NONE)
                add_number(spill, next, &use->read_count, numbers[number]);
        }
        for (size_t i = 0; i < inst->operands->write_count; i++) {
            const uint32_t number = inst->operands->writes[i];
            if (number < function->register_count && numbers[number] != SPILL_NONE)
                add_number(spill, next + use->read_count, &use->write_count, numbers[number]);
        }
        next += use->read_count + use->write_count;
    }
}

bool fth_spill_find_values(struct fth_spill *spill)
{
    const struct fth_ptx_function *function = spill->function;
    struct row *rows = calloc((size_t)function->register_count + 1, sizeof *rows);
    uint32_t *numbers = calloc((size_t)function->register_count + 1, sizeof *numbers);
    size_t operands = 1;
    for (size_t pc = 0; pc < function->code_count; pc++)
        operands +=
            function->code[pc].operands->read_count + function->code[pc].operands->write_count;
    spill->values = calloc((size_t)function->register_count + 1, sizeof *spill->values);
    spill->uses = calloc(function->code_count + 1, sizeof *spill->uses);
    spill->numbers = calloc(operands, sizeof *spill->numbers);
    const bool ok = rows && numbers && spill->values && spill->uses && spill->numbers;
    if (ok) {
        find_rows(function, rows);
        for (uint32_t i = 0; i < function->register_count; i++) {
            numbers[i] = SPILL_NONE;
            if (!rows[i].write_count || rows[i].is_free || rows[i].root != SPILL_NONE)
                continue;
            numbers[i] = spill->value_count;
            spill->values[spill->value_count++] = (struct fth_spill_value){i, rows[i].weight};
        }
        find_uses(spill, rows, numbers);
    }
    free(rows);
    free(numbers);
    return ok;
}
