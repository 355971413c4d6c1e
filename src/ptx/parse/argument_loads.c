/* What a kernel loads from its arguments. PTX states only the size of a parameter that is a struct;
 * the loads show where its members are, and the instructions that use the loaded values which types
 * they have. */
#include "ptx/engine.h"

#include <string.h>

/* Returns whether the instruction loads from a constant offset in the arguments. A negative row is
 * a constant: the address of the parameter. */
static bool is_argument_load(const struct fth_ptx_inst *inst)
{
    return inst->space == SPACE_ARGUMENT && inst->s[0] < 0 && inst->s[0] != NO_REGISTER &&
           strncmp(inst->opcode, "ld.", 3) == 0;
}

/* Returns the offset in the arguments that such an instruction loads first. */
static uint64_t first_offset(const struct fth_ptx_module *module, const struct fth_ptx_inst *inst)
{
    return module->pool[~inst->s[0]][0] + (uint64_t)inst->offset;
}

/* Returns whether the instruction gives another result for a signed number than for an unsigned
 * one. Compilers also add, multiply and compare unsigned numbers for equality as signed ones. */
static bool depends_on_sign(const struct fth_ptx_inst *inst)
{
    static const char *const opcodes[] = {"cvt.", "div.", "rem.", "shr.",     "min.",
                                          "max.", "abs.", "neg.", "mul.wide", "mad.wide"};
    for (size_t i = 0; i < FTH_COUNT(opcodes); i++)
        if (strncmp(inst->opcode, opcodes[i], strlen(opcodes[i])) == 0)
            return true;
    return strncmp(inst->opcode, "setp.", 5) == 0 && inst->comparison >= C_LT &&
           inst->comparison <= C_GE;
}

/* Returns whether the first source of the instruction is an address in global memory. */
static bool is_access(const struct fth_ptx_inst *inst)
{
    static const char *const opcodes[] = {"ld.", "st.", "atom.", "red."};
    for (size_t i = 0; i < FTH_COUNT(opcodes); i++)
        if (strncmp(inst->opcode, opcodes[i], strlen(opcodes[i])) == 0)
            return true;
    return false;
}

/* Notes what an instruction tells about a load whose value is its source `operand`. */
static void note_use(const struct fth_ptx_inst *inst, size_t operand,
                     struct fth_ptx_argument_load *load)
{
    static const char to_global[] = "cvta.to.global";
    const bool is_conversion = strncmp(inst->opcode, "cvt.", 4) == 0;
    const enum fth_ptx_type type = (enum fth_ptx_type)(is_conversion ? inst->type2 : inst->type);
    if (operand == 0 && is_access(inst)) {
        const bool is_global = inst->space == FTH_SPACE_GLOBAL || inst->space == FTH_SPACE_GENERIC;
        load->is_pointer = load->is_pointer || (is_global && load->bytes == sizeof(uint64_t));
        return;
    }
    if (load->bytes == sizeof(uint64_t) &&
        strncmp(inst->opcode, to_global, sizeof to_global - 1) == 0)
        load->is_pointer = true;
    if (fth_ptx_type_bytes(type) != load->bytes)
        return;
    if (load->type[0] == 'b' && load->type[1] != 'f' && fth_ptx_type_is_float(type))
        load->type = fth_ptx_type_name(type);
    else if (fth_ptx_type_is_signed(type) && !fth_ptx_type_is_float(type) && depends_on_sign(inst))
        load->is_signed = true;
}

/* Maximum number of registers with loaded values whose uses are noted. Chosen, not derived. */
enum { MAX_ROWS = 1024, FILTER_BITS = 1 << 14 };

/* The registers that hold loaded values. */
struct rows {
    struct {
        int32_t row;
        uint32_t load; /* its index */
    } items[MAX_ROWS];
    size_t count;
    uint64_t filter[FILTER_BITS / 64]; /* a bit per register, modulo FILTER_BITS */
};

/* Enters the registers that hold the loads. */
static void find_rows(const struct fth_ptx_module *module, const struct fth_ptx_function *function,
                      const struct fth_ptx_argument_load *loads, size_t count, struct rows *rows)
{
    for (size_t i = 0; i < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[i];
        if (!is_argument_load(inst))
            continue;
        const uint64_t address = first_offset(module, inst);
        const size_t bytes = fth_ptx_type_bytes((enum fth_ptx_type)inst->type);
        for (size_t e = 0; e < (inst->vector ? inst->vector : 1u); e++)
            for (size_t k = 0; k < count && inst->d[e] >= 0 && rows->count < MAX_ROWS; k++) {
                if (loads[k].offset != address + e * bytes || loads[k].bytes != bytes)
                    continue;
                const uint32_t bit = (uint32_t)inst->d[e] % FILTER_BITS;
                rows->items[rows->count].row = inst->d[e];
                rows->items[rows->count++].load = (uint32_t)k;
                rows->filter[bit / 64] |= (uint64_t)1 << bit % 64;
            }
    }
}

/* Notes how the function uses the loads. */
static void note_uses(const struct fth_ptx_function *function, const struct rows *rows,
                      struct fth_ptx_argument_load *loads)
{
    for (size_t i = 0; i < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[i];
        for (size_t k = inst->predicate_source_count; k < FTH_COUNT(inst->s); k++) {
            const uint32_t bit = (uint32_t)inst->s[k] % FILTER_BITS;
            if (inst->s[k] < 0 || !(rows->filter[bit / 64] >> bit % 64 & 1))
                continue;
            for (size_t r = 0; r < rows->count; r++)
                if (rows->items[r].row == inst->s[k])
                    note_use(inst, k, &loads[rows->items[r].load]);
        }
    }
}

/* Adds a load in the order of the offsets, unless there is one at the same offset or no space. */
static size_t add_load(struct fth_ptx_argument_load *loads, size_t count, size_t capacity,
                       const struct fth_ptx_argument_load *load)
{
    size_t at = 0;
    while (at < count && loads[at].offset < load->offset)
        at++;
    if (count == capacity || (at < count && loads[at].offset == load->offset))
        return count;
    memmove(&loads[at + 1], &loads[at], (count - at) * sizeof *loads);
    loads[at] = *load;
    return count + 1;
}

size_t fth_ptx_argument_loads(const struct fth_ptx_module *module,
                              const struct fth_ptx_kernel *kernel,
                              struct fth_ptx_argument_load *loads, size_t capacity)
{
    const struct fth_ptx_function *function = NULL;
    size_t count = 0;
    for (size_t i = 0; i < module->function_count; i++)
        if (&module->functions[i].kernel == kernel)
            function = &module->functions[i];
    if (!function)
        return 0;
    for (size_t i = 0; i < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[i];
        const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
        const size_t bytes = fth_ptx_type_bytes(type);
        for (size_t e = 0; is_argument_load(inst) && e < (inst->vector ? inst->vector : 1u); e++) {
            const struct fth_ptx_argument_load load = {
                .offset = (size_t)first_offset(module, inst) + e * bytes,
                .bytes = bytes,
                .type = fth_ptx_type_name(type)};
            count = add_load(loads, count, capacity, &load);
        }
    }
    struct rows rows = {.count = 0};
    find_rows(module, function, loads, count, &rows);
    note_uses(function, &rows, loads);
    return count;
}
