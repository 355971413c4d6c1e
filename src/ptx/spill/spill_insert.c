/* Adds the chosen accesses to the code of a kernel. Each is an instruction of its own, without
 * operands that the engine reads: it reports an access to observers and moves no data. The costs
 * and operands of the other instructions, which an earlier pass has found, do not change. */
#include "ptx/execute/execute.h"
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* The first and last instruction at which a value is in memory, and its place there. */
struct slot {
    uint32_t value, first, last;
    uint32_t offset;
    uint8_t weight;
};

/* ---- places in local memory ---- */

static int compare_slots(const void *a, const void *b)
{
    const struct slot *left = a, *right = b;
    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return left->value < right->value ? -1 : left->value > right->value;
}

/* A value that is live around a loop keeps its place in all of the loop. */
static void extend(const struct fth_spill *spill, struct slot *slot)
{
    for (uint32_t b = 0; b < spill->block_count; b++) {
        const struct fth_spill_block *block = &spill->blocks[b];
        if (!block->loop_end || slot->first >= block->loop_end || slot->last < block->start ||
            !fth_spill_has(block->live, slot->value))
            continue;
        slot->first = slot->first < block->start ? slot->first : block->start;
        slot->last = slot->last > block->loop_end - 1 ? slot->last : block->loop_end - 1;
    }
}

/* Gives each value a place that no other value has at the same time. `places` has space for `count`
 * of them. Returns the end of the places, counted from 0. */
static uint32_t place(const struct fth_spill *spill, struct slot *slots, struct slot *places,
                      size_t count)
{
    uint32_t end = 0;
    size_t place_count = 0;
    for (size_t i = 0; i < count; i++)
        extend(spill, &slots[i]);
    qsort(slots, count, sizeof *slots, compare_slots);
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = &slots[i];
        const uint32_t bytes = 4u * slot->weight;
        size_t k = 0;
        while (k < place_count &&
               (places[k].weight != slot->weight || places[k].last >= slot->first))
            k++;
        if (k == place_count) {
            slot->offset = (end + bytes - 1) / bytes * bytes;
            end = slot->offset + bytes;
            places[place_count++] = *slot;
        }
        slot->offset = places[k].offset;
        places[k].last = slot->last;
    }
    return end;
}

/* Sets `offsets` of the values that are spilled, from `base` on. Returns the end of their places;
 * UINT32_MAX: memory is exhausted. */
static uint32_t find_offsets(const struct fth_spill *spill, uint32_t base, uint32_t *offsets)
{
    struct slot *slots = calloc((size_t)spill->value_count + 1, sizeof *slots);
    struct slot *places = calloc((size_t)spill->value_count + 1, sizeof *places);
    uint32_t *numbers = calloc((size_t)spill->value_count + 1, sizeof *numbers);
    size_t count = 0;
    uint32_t end = UINT32_MAX;
    for (size_t i = 0; slots && places && numbers && i < spill->access_count; i++) {
        const struct fth_spill_access *access = &spill->accesses[i];
        if (!numbers[access->value]) {
            slots[count] = (struct slot){access->value, access->instruction, access->instruction, 0,
                                         spill->values[access->value].weight};
            numbers[access->value] = (uint32_t)++count;
        }
        struct slot *slot = &slots[numbers[access->value] - 1];
        if (access->instruction < slot->first)
            slot->first = access->instruction;
        if (access->instruction > slot->last)
            slot->last = access->instruction;
    }
    if (slots && places && numbers) {
        end = base + place(spill, slots, places, count);
        for (size_t i = 0; i < count; i++)
            offsets[slots[i].value] = base + slots[i].offset;
    }
    free(slots);
    free(places);
    free(numbers);
    return end;
}

/* Returns the end of the local variables that the assembler keeps in memory. */
static uint32_t end_of_variables(const struct fth_ptx_function *function)
{
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        if (inst->operands->accesses && !inst->operands->in_registers &&
            (inst->space == FTH_SPACE_LOCAL ||
             (inst->space == FTH_SPACE_GENERIC && function->local_bytes)))
            return (uint32_t)(function->local_bytes + 7) / 8 * 8;
    }
    return 0;
}

/* ---- the code ---- */

struct insertion {
    struct fth_ptx_module *module;
    struct fth_ptx_function *function;
    const struct fth_spill *spill;
    uint32_t *offsets; /* [value_count] */
    uint32_t *places;  /* [code_count + 1] new index of the accesses before each instruction */
    uint32_t *first;   /* [2 * code_count + 1] of the accesses before and after each instruction */
    uint32_t *sorted;  /* accesses, by these */
    struct fth_ptx_inst *code;
    struct fth_ptx_operands *operands;
    struct fth_ptx_cost *costs;
    size_t count;
};

/* Sorts the accesses by where they are inserted, with a counting sort. */
static void sort_accesses(struct insertion *in)
{
    const struct fth_spill *spill = in->spill;
    for (size_t i = 0; i < spill->access_count; i++)
        in->first[2 * (size_t)spill->accesses[i].instruction + spill->accesses[i].is_after + 1]++;
    for (size_t i = 0; i < 2 * in->function->code_count; i++)
        in->first[i + 1] += in->first[i];
    /* Backwards, so that `first` ends with the starts. */
    for (size_t i = 0; i < spill->access_count; i++) {
        const size_t key = 2 * (size_t)spill->accesses[i].instruction + spill->accesses[i].is_after;
        in->sorted[in->first[key]++] = (uint32_t)i;
    }
    for (size_t i = 2 * in->function->code_count; i > 0; i--)
        in->first[i] = in->first[i - 1];
    in->first[0] = 0;
}

static void append(struct insertion *in, const struct fth_ptx_inst *inst,
                   const struct fth_ptx_operands *operands, struct fth_ptx_cost before)
{
    in->code[in->count] = *inst;
    in->code[in->count].index = (uint32_t)in->count;
    in->operands[in->count] = *operands;
    in->operands[in->count].code_offset =
        in->module->code_bytes + in->count * FTH_PTX_INSTRUCTION_BYTES;
    in->code[in->count].operands = &in->operands[in->count];
    in->costs[in->count] = before;
    in->count++;
}

/* Appends an access. `distance`: instructions until a load is used. */
static bool append_access(struct insertion *in, const struct fth_spill_access *access,
                          uint32_t distance, struct fth_ptx_cost before)
{
    const struct fth_ptx_inst *owner = &in->function->code[access->instruction];
    const struct fth_spill_value *value = &in->spill->values[access->value];
    uint32_t *row = fth_arena_array(&in->module->arena, 1, sizeof *row);
    struct fth_ptx_inst inst = {.run = fth_ptx_run_spill,
                                .opcode = access->is_store
                                              ? value->weight == 2 ? "st.local.b64" : "st.local.b32"
                                          : value->weight == 2 ? "ld.local.b64"
                                                               : "ld.local.b32",
                                .type = value->weight == 2 ? T_B64 : T_B32,
                                .space = FTH_SPACE_LOCAL,
                                .offset = in->offsets[access->value],
                                .policy = NO_REGISTER,
                                .predicate = UINT32_MAX,
                                .predicate2 = UINT32_MAX,
                                .line = owner->line,
                                .source_file = owner->source_file,
                                .source = owner->source};
    if (!row)
        return false;
    *row = value->row;
    for (size_t i = 0; i < FTH_COUNT(inst.d); i++)
        inst.d[i] = NO_REGISTER;
    for (size_t i = 0; i < FTH_COUNT(inst.s); i++)
        inst.s[i] = NO_REGISTER;
    const struct fth_ptx_operands operands = {.accesses = true,
                                              .is_spill = true,
                                              .wait = access->is_store ? UINT32_MAX : distance,
                                              .read_count = access->is_store,
                                              .write_count = !access->is_store,
                                              .reads = row,
                                              .writes = row};
    append(in, &inst, &operands, before);
    return true;
}

/* Appends the accesses with a key of `first`. */
static bool append_accesses(struct insertion *in, size_t key, struct fth_ptx_cost *cost)
{
    for (uint32_t i = in->first[key]; i < in->first[key + 1]; i++) {
        const struct fth_spill_access *access = &in->spill->accesses[in->sorted[i]];
        if (!append_access(in, access, in->first[key + 1] - i, *cost))
            return false;
        cost->instructions++;
    }
    return true;
}

/* Makes branches lead to where their targets are now. */
static bool move_targets(struct insertion *in)
{
    struct fth_ptx_module *module = in->module;
    bool *moved = calloc(module->table_count + 1, sizeof *moved);
    for (size_t i = 0; moved && i < in->count; i++) {
        struct fth_ptx_inst *inst = &in->code[i];
        if (inst->control == K_BRANCH)
            inst->target = in->places[inst->target];
        if (inst->control != K_BRANCH_TABLE || moved[inst->target])
            continue;
        struct fth_ptx_branch_table *table = &module->tables[inst->target];
        for (size_t k = 0; k < table->count; k++)
            table->targets[k] = in->places[table->targets[k]];
        moved[inst->target] = true;
    }
    const bool ok = moved != NULL;
    free(moved);
    return ok;
}

static bool build(struct insertion *in)
{
    struct fth_ptx_function *function = in->function;
    uint64_t added = 0; /* machine instructions */
    sort_accesses(in);
    for (size_t pc = 0; pc < function->code_count; pc++) {
        struct fth_ptx_cost cost = function->costs[pc];
        in->places[pc] = (uint32_t)in->count;
        cost.instructions += added;
        if (!append_accesses(in, 2 * pc, &cost))
            return false;
        append(in, &function->code[pc], function->code[pc].operands, cost);
        const struct fth_ptx_cost next = function->costs[pc + 1];
        cost.instructions += next.instructions - function->costs[pc].instructions;
        cost.cycles = next.cycles;
        if (!append_accesses(in, 2 * pc + 1, &cost))
            return false;
        added = cost.instructions - next.instructions;
    }
    in->costs[in->count] = function->costs[function->code_count];
    in->costs[in->count].instructions += added;
    in->places[function->code_count] = (uint32_t)in->count;
    return move_targets(in);
}

bool fth_spill_insert(struct fth_ptx_module *module, struct fth_ptx_function *function,
                      const struct fth_spill *spill, struct fth_spill_result *result)
{
    const size_t old = function->code_count, total = old + spill->access_count;
    struct insertion in = {.module = module,
                           .function = function,
                           .spill = spill,
                           .offsets = calloc((size_t)spill->value_count + 1, sizeof *in.offsets),
                           .places = calloc(old + 1, sizeof *in.places),
                           .first = calloc(2 * old + 2, sizeof *in.first),
                           .sorted = calloc(spill->access_count + 1, sizeof *in.sorted),
                           .code = calloc(total + 1, sizeof *in.code),
                           .operands =
                               fth_arena_array(&module->arena, total + 1, sizeof *in.operands),
                           .costs = fth_arena_array(&module->arena, total + 1, sizeof *in.costs)};
    const uint32_t base = end_of_variables(function);
    uint32_t end = UINT32_MAX;
    if (in.offsets && in.places && in.first && in.sorted && in.code && in.operands && in.costs)
        end = find_offsets(spill, base, in.offsets);
    const bool ok = end != UINT32_MAX && build(&in);
    if (ok) {
        result->frame_bytes = end - base;
        free(function->code);
        function->code = in.code;
        function->code_count = in.count;
        function->code_capacity = total + 1;
        function->costs = in.costs;
        in.code = NULL;
        /* The kernel is now behind all others, for observers that model its code in memory. */
        module->code_bytes += (in.count * FTH_PTX_INSTRUCTION_BYTES + 127) / 128 * 128;
    }
    free(in.offsets);
    free(in.places);
    free(in.first);
    free(in.sorted);
    free(in.code);
    return ok;
}
