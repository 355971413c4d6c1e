/* Decides how a sliced launch stores each register: see struct fth_ptx_value. Only the handlers of
 * linear.c read and write linear registers. A register that another instruction reads must always
 * have a row, and one that another instruction writes is never linear. */
#include "ptx/slice/slice.h"

#include "ptx/execute/execute.h"

#include <stdlib.h>
#include <string.h>

static void mark_slots(uint8_t *marks, const struct fth_ptx_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slots[i].row >= 0)
            marks[slots[i].row] |= LINEAR_ROW | LINEAR_NEVER;
}

/* Marks the registers of an instruction that linear.c does not execute. */
static void mark_operands(const struct fth_ptx_module *module,
                          const struct fth_ptx_function *source, const struct fth_ptx_inst *inst,
                          uint8_t *marks)
{
    const struct fth_ptx_operands *operands = inst->operands;
    for (size_t i = 0; i < operands->read_count; i++)
        if (operands->reads[i] < source->register_count)
            marks[operands->reads[i]] |= LINEAR_ROW;
    for (size_t i = 0; i < operands->write_count; i++)
        if (operands->writes[i] < source->register_count)
            marks[operands->writes[i]] |= LINEAR_ROW | LINEAR_NEVER;
    if (inst->control == K_CALL || inst->control == K_CALL_INDIRECT) {
        const struct fth_ptx_call_site *site = &module->calls[inst->target];
        mark_slots(marks, site->arguments, site->argument_count);
        mark_slots(marks, site->results, site->result_count);
    }
}

/* Makes the instruction use a handler of linear.c. */
static void make_linear(struct fth_ptx_inst *inst, fth_ptx_run_function *handler,
                        const uint8_t *marks, const uint64_t *bits)
{
    const unsigned elements = inst->vector ? inst->vector : 1;
    inst->inner = inst->run;
    inst->run = handler;
    if (inst->slice == SLICE_SKIPS) {
        inst->linear = inst->opcode[0] == 's' ? LINEAR_IS_WRITE : 0;
        inst->bytes = (uint16_t)(fth_ptx_type_bytes((enum fth_ptx_type)inst->type) * elements);
    } else if (!inst->result_is_predicate) {
        inst->linear = marks[inst->d[0]];
        inst->result_bit = bits[inst->d[0]];
    }
}

/* Sets the contents of new frames. Registers that no executed instruction uses have no row, too. */
static bool make_frame(const struct fth_ptx_function *source, const uint8_t *marks,
                       struct fth_slice_frame *frame)
{
    frame->values = calloc((size_t)source->register_count + 1, sizeof *frame->values);
    frame->rows = calloc((size_t)source->register_count + 1, sizeof *frame->rows);
    if (!frame->values || !frame->rows)
        return false;
    for (uint32_t i = 0; i < source->register_count; i++) {
        if (!marks[i])
            continue;
        frame->values[i].has_row = true;
        frame->values[i].irregular = marks[i] & LINEAR_NEVER;
        frame->rows[frame->row_count++] = i;
    }
    return true;
}

bool fth_slice_is_executed(const struct fth_ptx_inst *inst)
{
    return (inst->run != fth_ptx_run_nothing && inst->run != fth_ptx_run_prefetch &&
            inst->run != fth_ptx_run_spill) ||
           inst->control == K_CONVERGE;
}

/* Finds the handlers of all instructions, and marks the registers of those that have none. */
static void mark_registers(const struct fth_ptx_module *module,
                           const struct fth_ptx_function *source, const struct fth_ptx_inst *code,
                           fth_ptx_run_function **handlers, uint8_t *marks)
{
    mark_slots(marks, source->arguments, source->argument_count);
    mark_slots(marks, source->results, source->result_count);
    for (size_t pc = 0; pc < source->code_count; pc++) {
        if (!fth_slice_is_executed(&code[pc]))
            continue;
        handlers[pc] = fth_slice_linear_handler(&code[pc]);
        if (!handlers[pc])
            mark_operands(module, source, &code[pc], marks);
    }
}

bool fth_slice_make_linear(const struct fth_ptx_module *module,
                           const struct fth_ptx_function *source,
                           struct fth_slice_function *function)
{
    uint8_t *marks = calloc((size_t)source->register_count + 1, sizeof *marks);
    uint64_t *bits = calloc((size_t)source->register_count + 1, sizeof *bits);
    fth_ptx_run_function **handlers = calloc(source->code_count + 1, sizeof *handlers);
    bool ok = marks && bits && handlers;
    if (ok) {
        mark_registers(module, source, function->code, handlers, marks);
        fth_slice_assign_bits(source, function, marks, bits);
    }
    for (size_t pc = 0; ok && pc < source->code_count; pc++)
        if (handlers[pc])
            make_linear(&function->code[pc], handlers[pc], marks, bits);
    ok = ok && make_frame(source, marks, &function->frame) &&
         fth_slice_find_live(module, source, bits, function);
    free(marks);
    free(bits);
    free(handlers);
    return ok;
}

const struct fth_slice_frame *fth_slice_frame_of(const struct fth_slice *slice,
                                                 const struct fth_ptx_function *function)
{
    return &slice->functions[function - slice->run->module->functions].frame;
}
