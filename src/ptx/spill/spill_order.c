/* An order of the instructions of a block that needs few registers. Assemblers move instructions: a
 * compiler can write all loads of a block first, and ptxas moves them to where they are used if
 * registers are scarce. Whether a kernel spills is therefore decided with the better of two orders:
 * that of the PTX, and one that a greedy list scheduler makes from the end of the block to its
 * start. Of the instructions whose results are not needed by one that is still missing, it takes
 * the one that adds least to the live values. */
#include "ptx/cost/cost.h"
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* Memory and other state that instructions access in an order that must not change. */
enum { STATE_SHARED, STATE_OTHER, STATE_WARP, STATES };

/* What an instruction does to a state. */
enum effect { NONE, READS, WRITES };

/* How the next instruction is chosen, from the end of a block. MIN_GROWTH: the one that adds
 * least to the live values. LATE_LOADS: one that reduces them, such as a load whose users follow,
 * or else the last one of the PTX. */
enum policy { LATE_LOADS, MIN_GROWTH, POLICIES };

struct scheduler {
    struct fth_spill *spill;
    uint32_t *last_writer; /* [operand_count] in the block; SPILL_NONE: none */
    uint32_t *last_reader; /* [operand_count] since the last write: index in `readers` */
    struct reader {
        uint32_t instruction, previous;
    } * readers;
    size_t reader_count, reader_capacity;
    /* Instructions that must precede others: those of instruction i of the block begin at
     * edges[first_edge[i]]. */
    uint32_t *edges, *first_edge;
    size_t edge_count, edge_capacity;
    uint32_t *followers; /* instructions that must follow and are not scheduled yet */
    uint32_t *ready, *candidate;
    uint64_t *live;
    uint32_t state_writer[STATES], state_reader[STATES];
    bool failed;
};

static bool grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t larger = *capacity ? 2 * *capacity : 1024;
    void **array = items, *moved = realloc(*array, larger * size);
    if (!moved)
        return false;
    *array = moved;
    *capacity = larger;
    return true;
}

/* The instruction `before` must precede instruction `i`. */
static void add_edge(struct scheduler *scheduler, uint32_t before, uint32_t i)
{
    if (before == SPILL_NONE || before == i)
        return;
    void *edges = scheduler->edges;
    if (!grow(&edges, scheduler->edge_count, &scheduler->edge_capacity, sizeof *scheduler->edges)) {
        scheduler->failed = true;
        return;
    }
    scheduler->edges = edges;
    scheduler->edges[scheduler->edge_count++] = before;
    scheduler->followers[before]++;
}

/* Adds an instruction to the list of readers that begins at *last. */
static void add_reader(struct scheduler *scheduler, uint32_t *last, uint32_t instruction)
{
    void *readers = scheduler->readers;
    if (!grow(&readers, scheduler->reader_count, &scheduler->reader_capacity,
              sizeof *scheduler->readers)) {
        scheduler->failed = true;
        return;
    }
    scheduler->readers = readers;
    scheduler->readers[scheduler->reader_count] = (struct reader){instruction, *last};
    *last = (uint32_t)scheduler->reader_count++;
}

static void add_readers(struct scheduler *scheduler, uint32_t last, uint32_t i)
{
    for (; scheduler->readers && last != SPILL_NONE; last = scheduler->readers[last].previous)
        add_edge(scheduler, scheduler->readers[last].instruction, i);
}

/* Sets what an instruction does to each state. */
static void find_effects(const struct fth_ptx_inst *inst, enum effect effects[STATES])
{
    const bool is_load = fth_ptx_is_opcode(inst, "ld") || fth_ptx_is_opcode(inst, "ldu");
    memset(effects, 0, STATES * sizeof *effects);
    if (inst->space == SPACE_ARGUMENT || (is_load && inst->flags & F_NC) ||
        (is_load && inst->space == FTH_SPACE_CONST))
        return;
    if (inst->operands->accesses && !inst->detail && !(inst->flags & (F_VOLATILE | F_STRONG))) {
        const enum effect effect = is_load ? READS : WRITES;
        if (inst->space == FTH_SPACE_SHARED || inst->space == FTH_SPACE_GENERIC)
            effects[STATE_SHARED] = effect;
        if (inst->space != FTH_SPACE_SHARED)
            effects[STATE_OTHER] = effect;
        return;
    }
    if (inst->control == K_CONVERGE) {
        effects[STATE_WARP] = WRITES;
        return;
    }
    if (inst->control == K_NONE && !inst->operands->accesses && !inst->operands->drains &&
        inst->async == ASYNC_NONE && inst->operands->write_count && !(inst->flags & F_CC) &&
        !fth_ptx_is_opcode(inst, "wgmma"))
        return;
    for (int i = 0; i < STATES; i++)
        effects[i] = WRITES;
}

/* Finds what must precede the instruction at `pc`. `i` is its position in the block. */
static void link_instruction(struct scheduler *scheduler, uint32_t pc, uint32_t i)
{
    const struct fth_ptx_operands *operands = scheduler->spill->function->code[pc].operands;
    enum effect effects[STATES];
    scheduler->first_edge[i] = (uint32_t)scheduler->edge_count;
    for (size_t k = 0; k < operands->read_count; k++) {
        add_edge(scheduler, scheduler->last_writer[operands->reads[k]], i);
        add_reader(scheduler, &scheduler->last_reader[operands->reads[k]], i);
    }
    for (size_t k = 0; k < operands->write_count; k++) {
        const uint32_t write = operands->writes[k];
        add_edge(scheduler, scheduler->last_writer[write], i);
        add_readers(scheduler, scheduler->last_reader[write], i);
        scheduler->last_writer[write] = i;
        scheduler->last_reader[write] = SPILL_NONE;
    }
    find_effects(&scheduler->spill->function->code[pc], effects);
    for (int k = 0; k < STATES; k++) {
        if (effects[k] == NONE)
            continue;
        add_edge(scheduler, scheduler->state_writer[k], i);
        if (effects[k] == READS) {
            add_reader(scheduler, &scheduler->state_reader[k], i);
            continue;
        }
        add_readers(scheduler, scheduler->state_reader[k], i);
        scheduler->state_writer[k] = i;
        scheduler->state_reader[k] = SPILL_NONE;
    }
}

static void link_block(struct scheduler *scheduler, const struct fth_spill_block *block)
{
    const struct fth_ptx_function *function = scheduler->spill->function;
    scheduler->edge_count = scheduler->reader_count = 0;
    for (uint32_t pc = block->start; pc < block->end; pc++) {
        const struct fth_ptx_operands *operands = function->code[pc].operands;
        scheduler->followers[pc - block->start] = 0;
        for (size_t k = 0; k < operands->read_count; k++)
            scheduler->last_writer[operands->reads[k]] =
                scheduler->last_reader[operands->reads[k]] = SPILL_NONE;
        for (size_t k = 0; k < operands->write_count; k++)
            scheduler->last_writer[operands->writes[k]] =
                scheduler->last_reader[operands->writes[k]] = SPILL_NONE;
    }
    for (int k = 0; k < STATES; k++)
        scheduler->state_writer[k] = scheduler->state_reader[k] = SPILL_NONE;
    for (uint32_t pc = block->start; pc < block->end; pc++)
        link_instruction(scheduler, pc, pc - block->start);
    scheduler->first_edge[block->end - block->start] = (uint32_t)scheduler->edge_count;
}

/* Returns how many registers more are live before the instruction than after it. */
static int growth_of(const struct scheduler *scheduler, uint32_t pc)
{
    const struct fth_spill *spill = scheduler->spill;
    const struct fth_spill_use *use = &spill->uses[pc];
    const uint32_t *reads = spill->numbers + use->first, *writes = reads + use->read_count;
    int growth = 0;
    for (uint32_t i = 0; i < use->read_count; i++)
        growth += fth_spill_has(scheduler->live, reads[i]) ? 0 : spill->values[reads[i]].weight;
    for (uint32_t i = 0; !use->keeps && i < use->write_count; i++) {
        bool is_read = false; /* it stays live, as the operand of the same instruction */
        for (uint32_t k = 0; k < use->read_count; k++)
            is_read = is_read || reads[k] == writes[i];
        if (!is_read && fth_spill_has(scheduler->live, writes[i]))
            growth -= spill->values[writes[i]].weight;
    }
    return growth;
}

static void take(struct scheduler *scheduler, uint32_t pc)
{
    const struct fth_spill *spill = scheduler->spill;
    const struct fth_spill_use *use = &spill->uses[pc];
    const uint32_t *reads = spill->numbers + use->first, *writes = reads + use->read_count;
    for (uint32_t i = 0; !use->keeps && i < use->write_count; i++)
        fth_spill_remove(scheduler->live, writes[i]);
    for (uint32_t i = 0; i < use->read_count; i++)
        fth_spill_add(scheduler->live, reads[i]);
}

/* Returns the index in `ready` of the instruction that is taken. */
static uint32_t choose_ready(const struct scheduler *scheduler, const struct fth_spill_block *block,
                             uint32_t ready_count, enum policy policy)
{
    uint32_t best = ready_count - 1;
    int least = INT32_MAX;
    for (uint32_t k = ready_count; k-- > 0;) {
        const int growth = growth_of(scheduler, block->start + scheduler->ready[k]);
        const int key = policy == MIN_GROWTH ? growth : growth < 0 ? growth : 0;
        if (key < least || (policy == LATE_LOADS && key == least &&
                            scheduler->ready[k] > scheduler->ready[best])) {
            least = key;
            best = k;
        }
    }
    return best;
}

/* Sets `candidate` to an order of the instructions of the block. */
static void schedule(struct scheduler *scheduler, const struct fth_spill_block *block,
                     enum policy policy)
{
    const uint32_t count = block->end - block->start;
    uint32_t ready_count = 0;
    link_block(scheduler, block);
    memset(scheduler->live, 0, fth_spill_words(scheduler->spill) * sizeof *scheduler->live);
    fth_spill_live_out(scheduler->spill, block, scheduler->live);
    for (uint32_t i = 0; i < count; i++)
        if (!scheduler->followers[i])
            scheduler->ready[ready_count++] = i;
    for (uint32_t left = count; left-- > 0 && ready_count;) {
        uint32_t best = 0;
        if (left < count - 1)
            best = choose_ready(scheduler, block, ready_count, policy);
        /* The last instruction ends the block. */
        for (uint32_t k = 0; k < ready_count && left == count - 1; k++)
            if (scheduler->ready[k] == count - 1)
                best = k;
        const uint32_t taken = scheduler->ready[best];
        memmove(scheduler->ready + best, scheduler->ready + best + 1,
                (--ready_count - best) * sizeof *scheduler->ready);
        take(scheduler, block->start + taken);
        scheduler->candidate[block->start + left] = block->start + taken;
        for (uint32_t e = scheduler->first_edge[taken]; e < scheduler->first_edge[taken + 1]; e++)
            if (--scheduler->followers[scheduler->edges[e]] == 0)
                scheduler->ready[ready_count++] = scheduler->edges[e];
    }
}

bool fth_spill_find_order(struct fth_spill *spill)
{
    const size_t count = spill->function->code_count + 1,
                 operands = (size_t)spill->function->operand_count + 1,
                 words = fth_spill_words(spill) + 1;
    struct scheduler scheduler = {.spill = spill,
                                  .last_writer = calloc(operands, sizeof(uint32_t)),
                                  .last_reader = calloc(operands, sizeof(uint32_t)),
                                  .first_edge = calloc(count, sizeof(uint32_t)),
                                  .followers = calloc(count, sizeof(uint32_t)),
                                  .ready = calloc(count, sizeof(uint32_t)),
                                  .candidate = calloc(count, sizeof(uint32_t)),
                                  .live = calloc(words, sizeof(uint64_t))};
    uint64_t *set = calloc(words, sizeof *set);
    bool ok = scheduler.last_writer && scheduler.last_reader && scheduler.first_edge &&
              scheduler.followers && scheduler.ready && scheduler.candidate && scheduler.live &&
              set;
    for (uint32_t b = 0; ok && b < spill->block_count; b++) {
        const struct fth_spill_block *block = &spill->blocks[b];
        uint32_t least = fth_spill_pressure(spill, block, spill->order, set);
        for (int policy = 0; ok && policy < POLICIES && least > spill->limit; policy++) {
            schedule(&scheduler, block, (enum policy)policy);
            const uint32_t needed = fth_spill_pressure(spill, block, scheduler.candidate, set);
            ok = !scheduler.failed;
            if (!ok || needed >= least)
                continue;
            least = needed;
            memcpy(spill->order + block->start, scheduler.candidate + block->start,
                   (block->end - block->start) * sizeof *spill->order);
        }
    }
    free(scheduler.last_writer);
    free(scheduler.last_reader);
    free(scheduler.readers);
    free(scheduler.edges);
    free(scheduler.first_edge);
    free(scheduler.followers);
    free(scheduler.ready);
    free(scheduler.candidate);
    free(scheduler.live);
    free(set);
    return ok;
}
