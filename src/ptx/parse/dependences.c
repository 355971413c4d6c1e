/* Computes which registers and predicates each instruction reads and writes. This is done once,
 * when a module has been parsed, so that an observer can model dependences between instructions at
 * low cost. Registers are numbered by their row; the predicates follow. */
#include "ptx/cost/cost.h"
#include "ptx/parse/parser.h"

#include <string.h>

static void add(struct fth_ptx_numbers *numbers, uint32_t number)
{
    if (numbers->count < FTH_COUNT(numbers->at))
        numbers->at[numbers->count++] = number;
}

static void add_rows(struct fth_ptx_numbers *numbers, const int32_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i] >= 0) /* neither absent nor an immediate */
            add(numbers, (uint32_t)rows[i]);
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Returns true if the instruction waits until all accesses of the warp in flight are complete.
 * Fences do so by definition. Calls and returns do, because the engine copies their arguments and
 * results without listing them as operands. */
static bool drains(const struct fth_ptx_inst *inst)
{
    return inst->control == K_CALL || inst->control == K_CALL_INDIRECT ||
           inst->control == K_RETURN || begins_with(inst->opcode, "membar") ||
           begins_with(inst->opcode, "fence");
}

/* Returns true if the instruction accesses memory at once, so that the observer's `access` callback
 * follows. Loads of kernel arguments are treated like arithmetic. Bulk copies access memory
 * later. */
static bool accesses(const struct fth_ptx_inst *inst)
{
    static const char *const starts[] = {"ld.",   "ldu.",   "st.",         "atom.",
                                         "red.",  "tex.",   "tld4.",       "suld.",
                                         "sust.", "sured.", "cp.async.ca", "cp.async.cg"};
    if (inst->control != K_NONE || inst->space == SPACE_ARGUMENT || drains(inst))
        return false;
    for (size_t i = 0; i < FTH_COUNT(starts); i++)
        if (begins_with(inst->opcode, starts[i]))
            return true;
    return false;
}

/* Collects what an instruction reads and writes. The predicates have the numbers from `predicates`
 * on. */
static void collect(const struct fth_ptx_inst *inst, uint32_t predicates,
                    struct fth_ptx_numbers *reads, struct fth_ptx_numbers *writes)
{
    reads->count = writes->count = 0;
    if (inst->guarded)
        add(reads, predicates + inst->guard);
    if (inst->predicate != UINT32_MAX)
        add(reads, predicates + inst->predicate);
    for (size_t i = 0; i < FTH_COUNT(inst->s); i++)
        if (inst->s[i] >= 0)
            add(reads, (i < inst->predicate_source_count ? predicates : 0) + (uint32_t)inst->s[i]);
    for (size_t i = 0; i < FTH_COUNT(inst->d); i++)
        if (inst->d[i] >= 0)
            add(writes, (inst->result_is_predicate ? predicates : 0) + (uint32_t)inst->d[i]);
    if (inst->predicate2 != UINT32_MAX)
        add(writes, predicates + inst->predicate2);
    if (inst->detail) {
        add_rows(reads, inst->detail->reads, inst->detail->read_count);
        add_rows(writes, inst->detail->writes, inst->detail->write_count);
    }
}

/* Returns a copy of the numbers in the arena, or NULL when out of memory. */
static const uint32_t *keep(struct fth_arena *arena, const struct fth_ptx_numbers *numbers)
{
    uint32_t *copy = fth_arena_array(arena, numbers->count + 1, sizeof *copy);
    if (copy)
        memcpy(copy, numbers->at, numbers->count * sizeof *copy);
    return copy;
}

void fth_ptx_list_operands(const struct fth_ptx_module *module,
                           const struct fth_ptx_function *function, const struct fth_ptx_inst *inst,
                           struct fth_ptx_numbers *reads, struct fth_ptx_numbers *writes)
{
    collect(inst, function->register_count, reads, writes);
    if (inst->control == K_CALL || inst->control == K_CALL_INDIRECT) {
        const struct fth_ptx_call_site *site = &module->calls[inst->target];
        for (size_t i = 0; i < site->argument_count; i++)
            add_rows(reads, &site->arguments[i].row, 1);
        for (size_t i = 0; i < site->result_count; i++)
            add_rows(writes, &site->results[i].row, 1);
    }
    for (size_t i = 0; inst->control == K_RETURN && i < function->result_count; i++)
        add_rows(reads, &function->results[i].row, 1);
}

bool fth_ptx_find_operands(struct fth_ptx_module *module, struct fth_ptx_function *function,
                           uint64_t code_offset)
{
    uint32_t predicates = function->register_count;
    struct fth_ptx_numbers reads, writes;
    function->operand_count = function->register_count + function->predicate_count;
    struct fth_ptx_operands *all =
        fth_arena_array(&module->arena, function->code_count + 1, sizeof *all);
    if (!all)
        return false;
    for (size_t pc = 0; pc < function->code_count; pc++) {
        struct fth_ptx_inst *inst = &function->code[pc];
        collect(inst, predicates, &reads, &writes);
        all[pc] =
            (struct fth_ptx_operands){.code_offset = code_offset + pc * FTH_PTX_INSTRUCTION_BYTES,
                                      .accesses = accesses(inst),
                                      .drains = drains(inst),
                                      .read_count = reads.count,
                                      .write_count = writes.count,
                                      .reads = keep(&module->arena, &reads),
                                      .writes = keep(&module->arena, &writes)};
        if (!all[pc].reads || !all[pc].writes)
            return false;
        inst->operands = &all[pc];
    }
    return fth_ptx_find_costs(module, function, all);
}
