/* Which buffers an address can point into. The arguments of a launch are known, so an argument that
 * is an address names its allocation. Everything that is computed from it is taken to point into
 * the same allocation. Values that are loaded from global memory have unknown origins. The order of
 * the instructions is ignored: a register has all the origins that any instruction gives it. */
#include "ptx/slice/slice.h"

#include <string.h>

/* The set with the allocation that contains the address, or the empty set. */
static uint64_t origin_of_value(struct fth_slice *slice, uint64_t value)
{
    const struct fth_ptx_memory *memory = slice->run->machine->memory;
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(memory, value);
    if (!found)
        return 0;
    const size_t index = (size_t)(found - memory->allocations);
    for (size_t i = 0; i < slice->allocation_count; i++)
        if (slice->allocations[i] == index)
            return (uint64_t)1 << i;
    if (slice->allocation_count == MAX_SLICE_ALLOCATIONS) {
        slice->full = true;
        return 0;
    }
    slice->allocations[slice->allocation_count] = index;
    return (uint64_t)1 << slice->allocation_count++;
}

uint64_t fth_slice_origins(struct fth_slice *slice, const struct fth_slice_function *function,
                           int32_t row)
{
    if (row == NO_REGISTER)
        return 0;
    return row >= 0 ? function->operands[row].origins
                    : origin_of_value(slice, slice->run->module->pool[~row][0]);
}

bool fth_slice_constant(const struct fth_slice *slice, const struct fth_slice_function *function,
                        int32_t row, uint64_t *value)
{
    if (row == NO_REGISTER)
        return false;
    *value = row >= 0 ? function->operands[row].value : slice->run->module->pool[~row][0];
    return row < 0 || function->operands[row].constant;
}

/* Adds origins to a row. */
static void add(struct fth_slice *slice, struct fth_slice_function *function, uint32_t number,
                uint64_t origins)
{
    struct fth_slice_operand *operand = &function->operands[number];
    slice->changed = slice->changed || origins & ~operand->origins;
    operand->origins |= origins;
}

/* The origins of element e of a kernel argument. */
static uint64_t argument_origin(struct fth_slice *slice, const struct fth_ptx_inst *inst,
                                unsigned e)
{
    const struct fth_ptx_run *run = slice->run;
    const uint64_t bytes = run->kernel->kernel.parameter_bytes;
    const uint64_t at =
        run->module->pool[~inst->s[0]][0] + (uint64_t)inst->offset + (uint64_t)8 * e;
    uint64_t value;
    if (fth_ptx_type_bytes((enum fth_ptx_type)inst->type) != sizeof value || at > bytes ||
        bytes - at < sizeof value)
        return 0;
    memcpy(&value, run->arguments + at, sizeof value);
    return origin_of_value(slice, value);
}

/* The origins of the results of an instruction without memory. */
static uint64_t pure_origins(struct fth_slice *slice, const struct fth_slice_function *function,
                             const struct fth_ptx_inst *inst)
{
    uint64_t origins = 0;
    if (inst->detail) /* a matrix */
        return 0;
    for (size_t i = inst->predicate_source_count; i < FTH_COUNT(inst->s); i++)
        origins |= fth_slice_origins(slice, function, inst->s[i]);
    if (strncmp(inst->opcode, "cvta", 4) == 0 && !(inst->flags & F_TO))
        switch (inst->space) {
        case FTH_SPACE_SHARED:
        case SPACE_CLUSTER: return origins | ORIGIN_SHARED;
        case FTH_SPACE_LOCAL: return origins | ORIGIN_LOCAL;
        case FTH_SPACE_PARAM:
        case SPACE_ARGUMENT: return origins | ORIGIN_ARGUMENT;
        default: return origins;
        }
    return origins;
}

/* Follows addresses through one instruction. */
static void follow(struct fth_slice *slice, struct fth_slice_function *function,
                   const struct fth_ptx_inst *inst)
{
    const unsigned class = function->classes[inst->index];
    uint64_t origins = 0;
    if (class == SLICE_STORE && inst->s[1] != NO_REGISTER) {
        for (size_t i = 1; i < FTH_COUNT(inst->s); i++)
            origins |= fth_slice_origins(slice, function, inst->s[i]);
        uint64_t *places[] = {&slice->param_origins, &slice->local_origins, &slice->shared_origins};
        const bool in[] = {inst->space == FTH_SPACE_PARAM,
                           inst->space == FTH_SPACE_LOCAL || inst->space == FTH_SPACE_GENERIC,
                           inst->space == FTH_SPACE_SHARED || inst->space == SPACE_CLUSTER ||
                               inst->space == FTH_SPACE_GENERIC};
        for (size_t i = 0; i < FTH_COUNT(in); i++)
            if (in[i] && origins & ~*places[i]) {
                *places[i] |= origins;
                slice->changed = true;
            }
        return;
    }
    if (inst->result_is_predicate)
        return;
    if (class == SLICE_PURE && inst->space == SPACE_ARGUMENT &&
        strncmp(inst->opcode, "ld", 2) == 0) {
        for (unsigned e = 0; e < FTH_COUNT(inst->d); e++)
            if (inst->d[e] >= 0)
                add(slice, function, (uint32_t)inst->d[e], argument_origin(slice, inst, e));
        return;
    }
    if (class == SLICE_PURE || class == SLICE_ALWAYS)
        origins = pure_origins(slice, function, inst);
    else if (class == SLICE_LOAD)
        origins = inst->space == FTH_SPACE_PARAM   ? slice->param_origins
                  : inst->space == FTH_SPACE_LOCAL ? slice->local_origins
                  : inst->space == FTH_SPACE_SHARED || inst->space == SPACE_CLUSTER
                      ? slice->shared_origins
                  : inst->space == FTH_SPACE_GENERIC ? slice->local_origins | slice->shared_origins
                                                     : 0;
    for (size_t i = 0; i < FTH_COUNT(inst->d); i++)
        if (inst->d[i] >= 0 && origins)
            add(slice, function, (uint32_t)inst->d[i], origins);
}

bool fth_slice_may_call(const struct fth_slice *slice, const struct fth_ptx_call_site *site,
                        size_t function)
{
    const struct fth_ptx_function *callee = &slice->run->module->functions[function];
    return slice->functions[function].reachable &&
           (site->function == UINT32_MAX || site->function == function) &&
           callee->argument_count == site->argument_count &&
           callee->result_count == site->result_count;
}

/* Follows the arguments and results of a call that are in registers. */
static void follow_call(struct fth_slice *slice, struct fth_slice_function *caller,
                        const struct fth_ptx_inst *inst)
{
    const struct fth_ptx_module *module = slice->run->module;
    const struct fth_ptx_call_site *site = &module->calls[inst->target];
    for (size_t f = 0; f < module->function_count; f++) {
        const struct fth_ptx_function *function = &module->functions[f];
        struct fth_slice_function *callee = &slice->functions[f];
        if (!fth_slice_may_call(slice, site, f))
            continue;
        for (size_t i = 0; i < site->argument_count; i++)
            if (function->arguments[i].row >= 0)
                add(slice, callee, (uint32_t)function->arguments[i].row,
                    fth_slice_origins(slice, caller, site->arguments[i].row));
        for (size_t i = 0; i < site->result_count; i++)
            if (site->results[i].row >= 0)
                add(slice, caller, (uint32_t)site->results[i].row,
                    fth_slice_origins(slice, callee, function->results[i].row));
    }
}

/* Counts the definitions of each register, so that constants can be recognised. */
static void count_definitions(const struct fth_ptx_module *module,
                              struct fth_slice_function *function,
                              const struct fth_ptx_function *source)
{
    for (size_t pc = 0; pc < source->code_count; pc++) {
        const struct fth_ptx_inst *inst = &source->code[pc];
        const struct fth_ptx_operands *operands = inst->operands;
        for (size_t i = 0; i < operands->write_count && !operands->is_spill; i++)
            function->operands[operands->writes[i]].definitions++;
        if (inst->control != K_CALL && inst->control != K_CALL_INDIRECT)
            continue;
        const struct fth_ptx_call_site *site = &module->calls[inst->target];
        for (size_t i = 0; i < site->result_count; i++)
            if (site->results[i].row >= 0)
                function->operands[site->results[i].row].definitions += 2;
    }
    for (size_t i = 0; i < source->argument_count; i++)
        if (source->arguments[i].row >= 0)
            function->operands[source->arguments[i].row].definitions += 2;
}

/* Sets *value to the result of an instruction, if that is a constant or the sum of two. */
static bool compute_constant(const struct fth_slice *slice,
                             const struct fth_slice_function *function,
                             const struct fth_ptx_inst *inst, uint64_t *value)
{
    uint64_t other = 0;
    if (fth_ptx_reads_dynamic_shared(inst)) {
        *value = slice->run->module->dynamic_shared;
        return true;
    }
    const bool is_mov = strncmp(inst->opcode, "mov.", 4) == 0;
    const bool is_add =
        strncmp(inst->opcode, "add.s", 5) == 0 || strncmp(inst->opcode, "add.u", 5) == 0;
    if ((!is_mov && !is_add) || inst->run == fth_ptx_run_special ||
        !fth_slice_constant(slice, function, inst->s[0], value) ||
        (is_add && !fth_slice_constant(slice, function, inst->s[1], &other)))
        return false;
    *value += other;
    if (fth_ptx_type_bytes((enum fth_ptx_type)inst->type) == 4)
        *value = (uint32_t)*value;
    return true;
}

/* Recognises a register whose only definition is a constant. */
static void find_constant(struct fth_slice *slice, struct fth_slice_function *function,
                          const struct fth_ptx_inst *inst)
{
    uint64_t value;
    if (inst->guarded || inst->result_is_predicate || inst->vector || inst->d[0] < 0)
        return;
    struct fth_slice_operand *result = &function->operands[inst->d[0]];
    if (result->definitions != 1 || result->constant ||
        !compute_constant(slice, function, inst, &value))
        return;
    result->value = value;
    result->constant = slice->changed = true;
}

void fth_slice_find_origins(struct fth_slice *slice)
{
    const struct fth_ptx_module *module = slice->run->module;
    for (size_t f = 0; f < module->function_count; f++)
        if (slice->functions[f].reachable)
            count_definitions(module, &slice->functions[f], &module->functions[f]);
    do {
        slice->changed = false;
        for (size_t f = 0; f < module->function_count; f++) {
            const struct fth_ptx_function *source = &module->functions[f];
            for (size_t pc = 0; slice->functions[f].reachable && pc < source->code_count; pc++) {
                const struct fth_ptx_inst *inst = &source->code[pc];
                if (inst->control == K_CALL || inst->control == K_CALL_INDIRECT)
                    follow_call(slice, &slice->functions[f], inst);
                else
                    follow(slice, &slice->functions[f], inst);
                find_constant(slice, &slice->functions[f], inst);
            }
        }
    } while (slice->changed);
}
