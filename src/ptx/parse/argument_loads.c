/* What a kernel loads from its arguments. PTX states only the size of a parameter that is a struct;
 * the loads show where its members are and which types they have, as far as the kernel uses them.
 */
#include "ptx/engine.h"

#include <string.h>

/* True if the function uses the register as the generic address of global memory. */
static bool is_pointer(const struct fth_ptx_function *function, int32_t row)
{
    static const char opcode[] = "cvta.to.global";
    for (size_t i = 0; i < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[i];
        if (inst->s[0] == row && strncmp(inst->opcode, opcode, sizeof opcode - 1) == 0)
            return true;
    }
    return false;
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
    for (size_t i = 0; function && i < function->code_count; i++) {
        const struct fth_ptx_inst *inst = &function->code[i];
        const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
        const size_t bytes = fth_ptx_type_bytes(type);
        /* A negative row is a constant: the address of the parameter. */
        if (inst->space != SPACE_ARGUMENT || inst->s[0] >= 0 || inst->s[0] == NO_REGISTER ||
            strncmp(inst->opcode, "ld.", 3) != 0)
            continue;
        const uint64_t address = module->pool[~inst->s[0]][0] + (uint64_t)inst->offset;
        for (size_t e = 0; e < (inst->vector ? inst->vector : 1u); e++) {
            const struct fth_ptx_argument_load load = {
                .offset = (size_t)address + e * bytes,
                .bytes = bytes,
                .type = fth_ptx_type_name(type),
                .is_pointer = bytes == sizeof(uint64_t) && is_pointer(function, inst->d[e])};
            count = add_load(loads, count, capacity, &load);
        }
    }
    return count;
}
