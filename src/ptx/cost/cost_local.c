/* Decides which accesses to local memory an assembler turns into accesses to registers.
 *
 * Compilers put a variable of a thread into local memory if its address is taken or if it is an
 * array. NVIDIA's assembler then moves it to registers if it knows the position of every access.
 * The rule here is: the local variables of a function are in registers if every use of their
 * address is the address of a load or store at a constant offset. If the address is used in any
 * other way (it is added to a register, stored or passed to a function, or it depends on the path
 * that a thread took), all of them are in local memory. docs/ptx.md has a comparison of the rule
 * with ptxas. */
#include "ptx/cost/cost.h"
#include "ptx/execute/execute.h"

#include <stdlib.h>

struct local_scan {
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *function;
    /* [operand_count] Instructions that write the register; whether it has the address of a local
     * variable, plus a constant. */
    uint32_t *write_counts;
    bool *is_address;
    int local_base; /* number of the special register with the address of the variables */
};

static bool is_address(const struct local_scan *scan, int32_t row)
{
    return row >= 0 && scan->is_address[row];
}

/* Returns true for a load or store whose address is `s[0]`. */
static bool is_plain_access(const struct fth_ptx_inst *inst)
{
    return inst->operands->accesses && !(inst->flags & F_VOLATILE) &&
           (inst->space == FTH_SPACE_LOCAL || inst->space == FTH_SPACE_GENERIC) &&
           (fth_ptx_is_opcode(inst, "ld") || fth_ptx_is_opcode(inst, "st"));
}

/* Returns true if the result is the address of a local variable plus a constant. */
static bool makes_address(const struct local_scan *scan, const struct fth_ptx_inst *inst)
{
    if (inst->guarded || inst->control != K_NONE || inst->operands->write_count != 1)
        return false;
    if (inst->run == fth_ptx_run_special)
        return inst->mode == scan->local_base;
    if (fth_ptx_is_opcode(inst, "mov") || fth_ptx_is_opcode(inst, "cvta"))
        return inst->vector == 0 && is_address(scan, inst->s[0]);
    if (fth_ptx_is_opcode(inst, "add"))
        return (is_address(scan, inst->s[0]) && inst->s[1] < 0) ||
               (is_address(scan, inst->s[1]) && inst->s[0] < 0);
    return fth_ptx_is_opcode(inst, "sub") && is_address(scan, inst->s[0]) && inst->s[1] < 0;
}

/* Returns true if the instruction reads an address from an operand that is not the address of an
 * access. */
static bool reads_address(const struct local_scan *scan, const struct fth_ptx_inst *inst)
{
    const bool accesses = is_plain_access(inst);
    for (size_t i = 0; i < inst->operands->read_count; i++) {
        const uint32_t read = inst->operands->reads[i];
        if (scan->is_address[read] && !(accesses && inst->s[0] == (int32_t)read))
            return true;
    }
    for (size_t i = 1; accesses && i < FTH_COUNT(inst->s); i++)
        if (is_address(scan, inst->s[i])) /* it is stored */
            return true;
    if (inst->control != K_CALL && inst->control != K_CALL_INDIRECT)
        return false;
    const struct fth_ptx_call_site *site = &scan->module->calls[inst->target];
    for (size_t i = 0; i < site->argument_count; i++)
        if (is_address(scan, site->arguments[i].row))
            return true;
    return false;
}

/* Finds the registers with addresses. A register is added at most once, so this ends. */
static void find_addresses(struct local_scan *scan)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t pc = 0; pc < scan->function->code_count; pc++) {
            const struct fth_ptx_inst *inst = &scan->function->code[pc];
            if (!makes_address(scan, inst) || scan->is_address[inst->operands->writes[0]])
                continue;
            scan->is_address[inst->operands->writes[0]] = changed = true;
        }
    }
}

/* Returns true if all uses of the addresses are accesses at constant offsets. */
static bool has_constant_offsets(const struct local_scan *scan)
{
    for (size_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        const bool makes = makes_address(scan, inst);
        if (makes && scan->write_counts[inst->operands->writes[0]] > 1)
            return false;
        if (!makes && reads_address(scan, inst))
            return false;
    }
    return true;
}

bool fth_ptx_find_registers(const struct fth_ptx_module *module,
                            const struct fth_ptx_function *function,
                            struct fth_ptx_operands *operands)
{
    if (!function->local_bytes || module->keeps_variables)
        return true;
    const size_t count = (size_t)function->operand_count + 1;
    struct local_scan scan = {.module = module,
                              .function = function,
                              .write_counts = calloc(count, sizeof *scan.write_counts),
                              .is_address = calloc(count, sizeof *scan.is_address),
                              .local_base = fth_ptx_special_register("%local_base", 11)};
    const bool ok = scan.write_counts && scan.is_address;
    for (size_t pc = 0; pc < function->code_count && ok; pc++)
        for (size_t i = 0; i < operands[pc].write_count; i++)
            scan.write_counts[operands[pc].writes[i]]++;
    if (ok)
        find_addresses(&scan);
    const bool constant = ok && has_constant_offsets(&scan);
    for (size_t pc = 0; pc < function->code_count && constant; pc++)
        operands[pc].in_registers =
            is_plain_access(&function->code[pc]) && is_address(&scan, function->code[pc].s[0]);
    free(scan.write_counts);
    free(scan.is_address);
    return ok;
}
