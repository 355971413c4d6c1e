/* Computes which registers and predicates each instruction reads and writes. This is done once,
 * when a module has been parsed, so that an observer can model dependences between instructions at
 * low cost. Registers are numbered by their row; the predicates follow. */
#include "ptx/parse/parser.h"

#include <string.h>

static void add_read(struct fth_ptx_operands *operands, uint32_t number)
{
    operands->reads[operands->read_count++] = number;
}

static void add_write(struct fth_ptx_operands *operands, uint32_t number)
{
    operands->writes[operands->write_count++] = number;
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Returns true if the instruction waits until all accesses of the warp in flight are complete.
 * Fences and the wait for asynchronous copies do so by definition. Calls and returns do, because
 * the engine copies their arguments and results without listing them as operands. */
static bool drains(const struct fth_ptx_inst *inst)
{
    return inst->control == K_CALL || inst->control == K_CALL_INDIRECT ||
           inst->control == K_RETURN || begins_with(inst->opcode, "membar") ||
           begins_with(inst->opcode, "fence") || begins_with(inst->opcode, "cp.async.wait");
}

/* Returns true if the instruction accesses memory, so that the observer's `access` callback
 * follows. Loads of kernel arguments are treated like arithmetic. Of the instructions for
 * asynchronous copies, only the copy itself accesses memory; `mode` is set for the others. */
static bool accesses(const struct fth_ptx_inst *inst)
{
    static const char *const starts[] = {"ld.",  "ldu.", "st.",      "atom.",
                                         "red.", "tex.", "cp.async."};
    if (inst->control != K_NONE || inst->space == SPACE_ARGUMENT || drains(inst))
        return false;
    for (size_t i = 0; i < FTH_COUNT(starts); i++)
        if (begins_with(inst->opcode, starts[i]))
            return strcmp(starts[i], "cp.async.") != 0 || inst->mode == 0;
    return false;
}

bool fth_ptx_find_operands(struct fth_ptx_module *module, struct fth_ptx_function *function,
                           uint64_t code_offset)
{
    uint32_t predicates = function->register_count;
    function->operand_count = function->register_count + function->predicate_count;
    struct fth_ptx_operands *all =
        fth_arena_array(&module->arena, function->code_count + 1, sizeof *all);
    if (!all)
        return false;
    for (size_t pc = 0; pc < function->code_count; pc++) {
        struct fth_ptx_inst *inst = &function->code[pc];
        struct fth_ptx_operands *operands = &all[pc];
        operands->code_offset = code_offset + pc * FTH_PTX_INSTRUCTION_BYTES;
        operands->drains = drains(inst);
        operands->accesses = accesses(inst);
        if (inst->guarded)
            add_read(operands, predicates + inst->guard);
        if (inst->predicate != UINT32_MAX)
            add_read(operands, predicates + inst->predicate);
        for (size_t i = 0; i < FTH_COUNT(inst->s); i++)
            if (inst->s[i] >= 0)
                add_read(operands, (i < inst->predicate_source_count ? predicates : 0) +
                                       (uint32_t)inst->s[i]);
        for (size_t i = 0; i < FTH_COUNT(inst->d); i++)
            if (inst->d[i] >= 0)
                add_write(operands,
                          (inst->result_is_predicate ? predicates : 0) + (uint32_t)inst->d[i]);
        if (inst->predicate2 != UINT32_MAX)
            add_write(operands, predicates + inst->predicate2);
        inst->operands = operands;
    }
    return true;
}
