/* Basic blocks, loops and live values. A loop is taken to be the instructions from the target of a
 * backward branch to the branch, as compilers write them. Live values are the solution of the
 * backward data-flow problem of A. Aho et al., "Compilers", section 9.2.5. */
#include "ptx/cost/cost.h"
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* Returns true if the instruction after this one begins another block. */
static bool ends_block(const struct fth_ptx_inst *inst)
{
    return inst->control == K_BRANCH || inst->control == K_BRANCH_TABLE ||
           inst->control == K_EXIT || inst->control == K_RETURN || inst->control == K_TRAP;
}

/* Calls `add` for the instructions that can follow the last one of a block. */
static uint32_t next_instructions(const struct fth_spill *spill, uint32_t last, uint32_t *targets)
{
    const struct fth_ptx_inst *inst = &spill->function->code[last];
    uint32_t count = 0;
    if (inst->control == K_BRANCH)
        targets[count++] = inst->target;
    if (inst->control == K_BRANCH_TABLE)
        for (size_t i = 0; i < spill->module->tables[inst->target].count; i++)
            targets[count++] = spill->module->tables[inst->target].targets[i];
    if ((!ends_block(inst) || inst->guarded) && last + 1 < spill->function->code_count)
        targets[count++] = last + 1;
    return count;
}

/* Returns the maximum number of successors of all blocks together, or of one. */
static size_t count_targets(const struct fth_spill *spill, bool of_one)
{
    size_t all = 0, most = 2;
    for (uint32_t pc = 0; pc < spill->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &spill->function->code[pc];
        const size_t count =
            2 + (inst->control == K_BRANCH_TABLE ? spill->module->tables[inst->target].count : 0);
        all += count;
        most = count > most ? count : most;
    }
    return of_one ? most : all;
}

/* Sets the edges; `block_of` has the number of the block of each instruction. */
static void link_blocks(struct fth_spill *spill, const uint32_t *block_of, uint32_t *targets)
{
    uint32_t next = 0;
    for (uint32_t b = 0; b < spill->block_count; b++) {
        struct fth_spill_block *block = &spill->blocks[b];
        block->first_next = next;
        block->next_count = next_instructions(spill, block->end - 1, targets);
        for (uint32_t i = 0; i < block->next_count; i++) {
            spill->edges[next++] = block_of[targets[i]];
            spill->blocks[block_of[targets[i]]].previous_count++;
        }
    }
    for (uint32_t b = 0; b < spill->block_count; b++) {
        spill->blocks[b].first_previous = next;
        next += spill->blocks[b].previous_count;
        spill->blocks[b].previous_count = 0;
    }
    for (uint32_t b = 0; b < spill->block_count; b++)
        for (uint32_t i = 0; i < spill->blocks[b].next_count; i++) {
            const uint32_t to = spill->edges[spill->blocks[b].first_next + i];
            struct fth_spill_block *target = &spill->blocks[to];
            spill->edges[target->first_previous + target->previous_count++] = b;
            if (to <= b && target->loop_end < spill->blocks[b].end)
                target->loop_end = spill->blocks[b].end;
        }
    for (uint32_t b = 0; b < spill->block_count; b++)
        for (uint32_t i = b; spill->blocks[b].loop_end && i < spill->block_count &&
                             spill->blocks[i].start < spill->blocks[b].loop_end;
             i++)
            spill->blocks[i].depth++;
}

void fth_spill_live_out(const struct fth_spill *spill, const struct fth_spill_block *block,
                        uint64_t *set)
{
    for (uint32_t i = 0; i < block->next_count; i++) {
        const uint64_t *live = spill->blocks[spill->edges[block->first_next + i]].live;
        for (size_t word = 0; word < fth_spill_words(spill); word++)
            set[word] |= live[word];
    }
}

/* Changes the values that are live after an instruction into those before it. */
static void step_back(const struct fth_spill *spill, uint32_t pc, uint64_t *set)
{
    const struct fth_spill_use *use = &spill->uses[pc];
    const uint32_t *reads = spill->numbers + use->first, *writes = reads + use->read_count;
    for (uint32_t i = 0; !use->keeps && i < use->write_count; i++)
        fth_spill_remove(set, writes[i]);
    for (uint32_t i = 0; i < use->read_count; i++)
        fth_spill_add(set, reads[i]);
}

static void find_live(struct fth_spill *spill, uint64_t *set)
{
    const size_t words = fth_spill_words(spill);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = spill->block_count; b-- > 0;) {
            struct fth_spill_block *block = &spill->blocks[b];
            memset(set, 0, words * sizeof *set);
            fth_spill_live_out(spill, block, set);
            for (uint32_t pc = block->end; pc-- > block->start;)
                step_back(spill, pc, set);
            if (memcmp(set, block->live, words * sizeof *set) != 0) {
                memcpy(block->live, set, words * sizeof *set);
                changed = true;
            }
        }
    }
}

uint32_t fth_spill_pressure(const struct fth_spill *spill, const struct fth_spill_block *block,
                            const uint32_t *order, uint64_t *set)
{
    uint32_t live = 0, most;
    memset(set, 0, fth_spill_words(spill) * sizeof *set);
    fth_spill_live_out(spill, block, set);
    for (uint32_t value = 0; value < spill->value_count; value++)
        live += fth_spill_has(set, value) ? spill->values[value].weight : 0;
    most = live;
    for (uint32_t at = block->end; at-- > block->start;) {
        const struct fth_spill_use *use = &spill->uses[order[at]];
        const uint32_t *reads = spill->numbers + use->first, *writes = reads + use->read_count;
        uint32_t unused = 0; /* results that nothing reads still need a register here */
        for (uint32_t i = 0; i < use->write_count; i++) {
            const uint32_t weight = spill->values[writes[i]].weight;
            if (!fth_spill_has(set, writes[i]))
                unused += weight;
            else if (!use->keeps) {
                live -= weight;
                fth_spill_remove(set, writes[i]);
                unused += weight;
            }
        }
        most = live + unused > most ? live + unused : most;
        for (uint32_t i = 0; i < use->read_count; i++) {
            live += fth_spill_has(set, reads[i]) ? 0 : spill->values[reads[i]].weight;
            fth_spill_add(set, reads[i]);
        }
        most = live + use->temporary > most ? live + use->temporary : most;
    }
    return most;
}

bool fth_spill_find_blocks(struct fth_spill *spill)
{
    const struct fth_ptx_function *function = spill->function;
    const size_t count = function->code_count + 1, words = fth_spill_words(spill);
    bool *leaders = calloc(count, sizeof *leaders);
    uint32_t *block_of = calloc(count, sizeof *block_of);
    uint32_t *targets = calloc(count_targets(spill, true) + 1, sizeof *targets);
    uint64_t *set = calloc(words + 1, sizeof *set);
    spill->blocks = calloc(count, sizeof *spill->blocks);
    spill->edges = calloc(2 * count_targets(spill, false) + 1, sizeof *spill->edges);
    bool ok = leaders && block_of && targets && set && spill->blocks && spill->edges;
    if (ok) {
        fth_ptx_mark_leaders(spill->module, function, leaders);
        for (uint32_t pc = 0; pc < function->code_count; pc++) {
            if (!pc || leaders[pc] || ends_block(&function->code[pc - 1]))
                spill->blocks[spill->block_count++].start = pc;
            spill->blocks[spill->block_count - 1].end = pc + 1;
            block_of[pc] = spill->block_count - 1;
        }
        link_blocks(spill, block_of, targets);
        spill->live = calloc(spill->block_count * words + 1, sizeof *spill->live);
        ok = spill->live != NULL;
    }
    if (ok) {
        for (uint32_t b = 0; b < spill->block_count; b++)
            spill->blocks[b].live = spill->live + b * words;
        find_live(spill, set);
    }
    free(leaders);
    free(block_of);
    free(targets);
    free(set);
    return ok;
}
