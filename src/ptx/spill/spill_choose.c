/* Chooses the values that are spilled, block by block in the order of the PTX. When a value needs a
 * register and none is free, the value whose next use is furthest away loses its register. A value
 * that only one instruction writes is stored once, after it. Another one is stored after the
 * instruction of the block that wrote it, or before the instruction for which it loses its
 * register. At the start of a loop, the values that the loop uses first have registers. Where
 * blocks meet, values are stored and loaded so that all paths agree. */
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* Distances of next uses are in instructions. A use behind a loop is this much further away, so
 * that the uses in the loop come first, as in the paper. */
enum { LOOP_DISTANCE = 100000 };
#define NEVER UINT32_MAX

/* The values in registers, and those in memory, where a block begins and ends. */
struct state {
    uint64_t *registers, *memory;
};

struct chooser {
    struct fth_spill *spill;
    struct state *starts, *ends; /* [block_count] */
    uint64_t *sets;              /* of all states */
    uint32_t *entry;    /* [block_count][value_count] distance of the next use from the start */
    uint32_t *next;     /* [value_count] position of the next use in the current block */
    uint32_t *next_use; /* for each element of `numbers`: position of the next use after it */
    uint32_t *writers;  /* [value_count] the only instruction that writes it; SPILL_NONE: several */
    uint32_t *written;  /* [value_count] instruction of the current block that wrote it */
    bool *is_stored;    /* [value_count] of a value with one writer */
    uint32_t *pressure; /* [block_count] */
    uint64_t *set, *placed; /* temporary */
    struct rank {
        uint32_t value, distance;
    } * ranks; /* temporary */
    /* The current block: */
    struct state now;
    uint32_t used; /* registers of the machine */
    bool failed;
};

static uint32_t *entry_of(const struct chooser *chooser, uint32_t block)
{
    return chooser->entry + (size_t)block * chooser->spill->value_count;
}

/* ---- distances ---- */

static uint32_t add_distance(uint32_t a, uint32_t b)
{
    return a == NEVER || a > NEVER - 1 - b ? (a == NEVER ? NEVER : NEVER - 1) : a + b;
}

/* Sets `next` to the distances from the end of a block, counted from its start. */
static void find_after(const struct chooser *chooser, const struct fth_spill_block *block)
{
    const struct fth_spill *spill = chooser->spill;
    for (uint32_t v = 0; v < spill->value_count; v++)
        chooser->next[v] = NEVER;
    for (uint32_t i = 0; i < block->next_count; i++) {
        const uint32_t to = spill->edges[block->first_next + i];
        const uint32_t *entry = entry_of(chooser, to);
        const uint32_t leaves = spill->blocks[to].depth < block->depth ? LOOP_DISTANCE : 0;
        for (uint32_t v = 0; v < spill->value_count; v++) {
            const uint32_t distance =
                fth_spill_has(spill->blocks[to].live, v)
                    ? add_distance(entry[v], block->end - block->start + leaves)
                    : NEVER;
            chooser->next[v] = distance < chooser->next[v] ? distance : chooser->next[v];
        }
    }
}

/* Goes through a block backwards from the distances of find_after, down to those from its start. */
static void go_back(const struct chooser *chooser, const struct fth_spill_block *block)
{
    const struct fth_spill *spill = chooser->spill;
    for (uint32_t at = block->end; at-- > block->start;) {
        const struct fth_spill_use *use = &spill->uses[spill->order[at]];
        const uint32_t writes = use->first + use->read_count;
        for (uint32_t i = writes; i < writes + use->write_count; i++)
            chooser->next_use[i] = chooser->next[spill->numbers[i]];
        for (uint32_t i = writes; !use->keeps && i < writes + use->write_count; i++)
            chooser->next[spill->numbers[i]] = NEVER;
        for (uint32_t i = use->first; i < writes; i++)
            chooser->next_use[i] = chooser->next[spill->numbers[i]];
        for (uint32_t i = use->first; i < writes; i++)
            chooser->next[spill->numbers[i]] = at - block->start;
    }
}

static void find_distances(struct chooser *chooser)
{
    const struct fth_spill *spill = chooser->spill;
    const size_t row = spill->value_count * sizeof(uint32_t);
    memset(chooser->entry, 0xff, spill->block_count * row);
    /* Each pass carries distances over one more backward edge; nested loops need few of them. */
    bool changed = true;
    for (int pass = 0; changed && pass < 16; pass++) {
        changed = false;
        for (uint32_t b = spill->block_count; b-- > 0;) {
            find_after(chooser, &spill->blocks[b]);
            go_back(chooser, &spill->blocks[b]);
            changed = changed || memcmp(entry_of(chooser, b), chooser->next, row) != 0;
            memcpy(entry_of(chooser, b), chooser->next, row);
        }
    }
}

/* ---- accesses ---- */

static void add_access(struct chooser *chooser, struct fth_spill_access access)
{
    struct fth_spill *spill = chooser->spill;
    if (spill->access_count == spill->access_capacity) {
        const size_t larger = spill->access_capacity ? 2 * spill->access_capacity : 256;
        void *moved = realloc(spill->accesses, larger * sizeof *spill->accesses);
        if (!moved) {
            chooser->failed = true;
            return;
        }
        spill->accesses = moved;
        spill->access_capacity = larger;
    }
    spill->accesses[spill->access_count++] = access;
}

/* Stores a value before an instruction, or where it was written. */
static void store(struct chooser *chooser, uint32_t value, uint32_t instruction)
{
    const uint32_t writer = chooser->writers[value];
    if (writer != SPILL_NONE) {
        if (!chooser->is_stored[value])
            add_access(chooser, (struct fth_spill_access){writer, value, true, true});
        chooser->is_stored[value] = true;
        return;
    }
    const uint32_t written = chooser->written[value];
    add_access(chooser, written != SPILL_NONE
                            ? (struct fth_spill_access){written, value, true, true}
                            : (struct fth_spill_access){instruction, value, true, false});
}

/* Takes registers from values until `limit` or fewer are used. `keep` are not taken. */
static void make_space(struct chooser *chooser, uint32_t limit, const uint32_t *keep,
                       uint32_t keep_count, uint32_t instruction)
{
    const struct fth_spill *spill = chooser->spill;
    while (chooser->used > limit) {
        uint32_t furthest = SPILL_NONE;
        for (size_t word = 0; word < fth_spill_words(spill); word++)
            for (uint64_t left = chooser->now.registers[word]; left; left &= left - 1) {
                const uint32_t v = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
                bool kept = false;
                for (uint32_t i = 0; i < keep_count; i++)
                    kept = kept || keep[i] == v;
                if (!kept && (furthest == SPILL_NONE || chooser->next[v] > chooser->next[furthest]))
                    furthest = v;
            }
        if (furthest == SPILL_NONE)
            return;
        if (chooser->next[furthest] != NEVER && !fth_spill_has(chooser->now.memory, furthest)) {
            store(chooser, furthest, instruction);
            fth_spill_add(chooser->now.memory, furthest);
        }
        fth_spill_remove(chooser->now.registers, furthest);
        chooser->used -= spill->values[furthest].weight;
    }
}

static void put(struct chooser *chooser, uint32_t value)
{
    if (fth_spill_has(chooser->now.registers, value))
        return;
    fth_spill_add(chooser->now.registers, value);
    chooser->used += chooser->spill->values[value].weight;
}

/* Removes the values that no later instruction reads. */
static void drop_unused(struct chooser *chooser, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t value = chooser->spill->numbers[i];
        chooser->next[value] = chooser->next_use[i];
        if (chooser->next[value] == NEVER && fth_spill_has(chooser->now.registers, value)) {
            fth_spill_remove(chooser->now.registers, value);
            chooser->used -= chooser->spill->values[value].weight;
        }
    }
}

static uint32_t less(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

static void visit_instruction(struct chooser *chooser, uint32_t pc)
{
    struct fth_spill *spill = chooser->spill;
    const struct fth_spill_use *use = &spill->uses[pc];
    const uint32_t *reads = spill->numbers + use->first, *writes = reads + use->read_count;
    uint32_t loaded = 0, results = 0;
    for (uint32_t i = 0; i < use->read_count; i++)
        if (!fth_spill_has(chooser->now.registers, reads[i]))
            loaded += spill->values[reads[i]].weight;
    make_space(chooser, less(spill->limit, loaded + use->temporary), reads, use->read_count, pc);
    for (uint32_t i = 0; i < use->read_count; i++) {
        if (fth_spill_has(chooser->now.registers, reads[i]))
            continue;
        add_access(chooser, (struct fth_spill_access){pc, reads[i], false, false});
        fth_spill_add(chooser->now.memory, reads[i]);
        put(chooser, reads[i]);
    }
    drop_unused(chooser, use->first, use->read_count);
    for (uint32_t i = 0; i < use->write_count; i++)
        if (!fth_spill_has(chooser->now.registers, writes[i]))
            results += spill->values[writes[i]].weight;
    make_space(chooser, less(spill->limit, results), writes, use->write_count, pc);
    for (uint32_t i = 0; i < use->write_count; i++) {
        put(chooser, writes[i]);
        chooser->written[writes[i]] = pc;
        if (chooser->writers[writes[i]] == SPILL_NONE || !chooser->is_stored[writes[i]])
            fth_spill_remove(chooser->now.memory, writes[i]);
        else
            fth_spill_add(chooser->now.memory, writes[i]);
    }
    drop_unused(chooser, use->first + use->read_count, use->write_count);
}

/* ---- the start of a block ---- */

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *left = a, *right = b;
    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    return left->value < right->value ? -1 : left->value > right->value;
}

/* Gives registers to values in the order of `ranks` while there are free ones. */
static void fill(struct chooser *chooser, size_t count, uint32_t limit)
{
    const struct fth_spill *spill = chooser->spill;
    for (size_t i = 0; i < count; i++)
        if (chooser->used + spill->values[chooser->ranks[i].value].weight <= limit)
            put(chooser, chooser->ranks[i].value);
}

/* Returns the registers that are left for values that a loop does not use. `unused` is the weight
 * of these. */
static uint32_t space_beside_loop(const struct chooser *chooser, uint32_t b, uint32_t unused)
{
    const struct fth_spill *spill = chooser->spill;
    uint32_t most = 0;
    for (uint32_t i = b;
         i < spill->block_count && spill->blocks[i].start < spill->blocks[b].loop_end; i++)
        most = chooser->pressure[i] > most ? chooser->pressure[i] : most;
    return less(spill->limit, less(most, unused));
}

/* Chooses the values that have registers where a loop begins. */
static void start_loop(struct chooser *chooser, uint32_t b)
{
    const struct fth_spill *spill = chooser->spill;
    const struct fth_spill_block *block = &spill->blocks[b];
    size_t count = 0, used_count;
    uint32_t unused = 0;
    for (uint32_t v = 0; v < spill->value_count; v++)
        if (fth_spill_has(block->live, v))
            chooser->ranks[count++] = (struct rank){v, entry_of(chooser, b)[v]};
    qsort(chooser->ranks, count, sizeof *chooser->ranks, compare_ranks);
    for (used_count = 0; used_count < count && chooser->ranks[used_count].distance < LOOP_DISTANCE;)
        used_count++;
    for (size_t i = used_count; i < count; i++)
        unused += spill->values[chooser->ranks[i].value].weight;
    fill(chooser, used_count, spill->limit);
    const uint32_t space = space_beside_loop(chooser, b, unused), limit = chooser->used + space;
    memmove(chooser->ranks, chooser->ranks + used_count,
            (count - used_count) * sizeof *chooser->ranks);
    fill(chooser, count - used_count, limit < spill->limit ? limit : spill->limit);
    memcpy(chooser->now.memory, block->live, fth_spill_words(spill) * sizeof *block->live);
    for (uint32_t i = 0; i < block->previous_count; i++) {
        const uint32_t from = spill->edges[block->first_previous + i];
        for (size_t word = 0; from < b && word < fth_spill_words(spill); word++)
            chooser->now.memory[word] &=
                chooser->ends[from].memory[word] | ~chooser->now.registers[word];
    }
    /* What the loop writes is not in memory when it comes back. */
    for (uint32_t pc = block->start; pc < block->loop_end; pc++) {
        const struct fth_spill_use *use = &spill->uses[pc];
        const uint32_t *writes = spill->numbers + use->first + use->read_count;
        for (uint32_t i = 0; i < use->write_count; i++)
            if (fth_spill_has(chooser->now.registers, writes[i]))
                fth_spill_remove(chooser->now.memory, writes[i]);
    }
}

/* Chooses the values that have registers at the start of another block: those that have one at the
 * end of all blocks before it, then those that have one at the end of some. */
static void start_block(struct chooser *chooser, uint32_t b)
{
    const struct fth_spill *spill = chooser->spill;
    const struct fth_spill_block *block = &spill->blocks[b];
    const size_t words = fth_spill_words(spill);
    size_t count = 0;
    uint32_t known = 0;
    memset(chooser->set, 0, words * sizeof *chooser->set);
    memcpy(chooser->now.memory, block->live, words * sizeof *block->live);
    memcpy(chooser->placed, block->live, words * sizeof *block->live);
    for (uint32_t i = 0; i < block->previous_count; i++) {
        const uint32_t from = spill->edges[block->first_previous + i];
        if (from >= b)
            continue;
        known++;
        for (size_t word = 0; word < words; word++) {
            const struct state *end = &chooser->ends[from];
            chooser->set[word] |= end->registers[word];
            chooser->placed[word] &= end->registers[word];
            chooser->now.memory[word] &= end->memory[word] | ~end->registers[word];
        }
    }
    if (!known) {
        memset(chooser->now.memory, 0, words * sizeof *chooser->now.memory);
        return;
    }
    for (int of_all = 1; of_all >= 0; of_all--) {
        count = 0;
        for (uint32_t v = 0; v < spill->value_count; v++)
            if (fth_spill_has(block->live, v) && fth_spill_has(chooser->set, v) &&
                fth_spill_has(chooser->placed, v) == (of_all == 1))
                chooser->ranks[count++] = (struct rank){v, entry_of(chooser, b)[v]};
        qsort(chooser->ranks, count, sizeof *chooser->ranks, compare_ranks);
        fill(chooser, count, spill->limit);
    }
}

static void visit_block(struct chooser *chooser, uint32_t b)
{
    const struct fth_spill *spill = chooser->spill;
    const struct fth_spill_block *block = &spill->blocks[b];
    const size_t bytes = fth_spill_words(spill) * sizeof(uint64_t);
    memset(chooser->now.registers, 0, bytes);
    chooser->used = 0;
    if (block->loop_end)
        start_loop(chooser, b);
    else
        start_block(chooser, b);
    memcpy(chooser->starts[b].registers, chooser->now.registers, bytes);
    memcpy(chooser->starts[b].memory, chooser->now.memory, bytes);
    for (uint32_t v = 0; v < spill->value_count; v++)
        chooser->written[v] = SPILL_NONE;
    find_after(chooser, block);
    go_back(chooser, block);
    for (uint32_t at = block->start; at < block->end; at++)
        visit_instruction(chooser, spill->order[at]);
    memcpy(chooser->ends[b].registers, chooser->now.registers, bytes);
    memcpy(chooser->ends[b].memory, chooser->now.memory, bytes);
}

/* ---- where blocks meet ---- */

/* Adds the accesses from the end of one block to the start of another. They are at the start of the
 * second block if it is outside of a loop of the first one, or follows no other block. */
static void connect(struct chooser *chooser, uint32_t from, uint32_t to)
{
    const struct fth_spill *spill = chooser->spill;
    const struct fth_spill_block *before = &spill->blocks[from], *after = &spill->blocks[to];
    const bool at_start =
        before->next_count > 1 && (after->depth < before->depth || after->previous_count == 1);
    const uint32_t instruction = at_start ? after->start : before->end - 1;
    const struct state *end = &chooser->ends[from], *start = &chooser->starts[to];
    for (size_t word = 0; word < fth_spill_words(spill); word++) {
        const uint64_t live = after->live[word];
        uint64_t loads = live & start->registers[word] & ~end->registers[word];
        uint64_t stores =
            live & ~start->registers[word] & end->registers[word] & ~end->memory[word];
        if (at_start) {
            loads &= ~chooser->placed[word];
            chooser->placed[word] |= loads;
        }
        for (; loads; loads &= loads - 1)
            add_access(chooser, (struct fth_spill_access){instruction,
                                                          (uint32_t)(word * 64) +
                                                              (uint32_t)__builtin_ctzll(loads),
                                                          false, false});
        for (; stores; stores &= stores - 1)
            store(chooser, (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(stores), instruction);
    }
}

static void connect_blocks(struct chooser *chooser)
{
    const struct fth_spill *spill = chooser->spill;
    for (uint32_t v = 0; v < spill->value_count; v++)
        chooser->written[v] = SPILL_NONE;
    for (uint32_t b = 0; b < spill->block_count; b++) {
        memset(chooser->placed, 0, fth_spill_words(spill) * sizeof *chooser->placed);
        for (uint32_t i = 0; i < spill->blocks[b].previous_count; i++)
            connect(chooser, spill->edges[spill->blocks[b].first_previous + i], b);
    }
}

static void find_writers(const struct chooser *chooser)
{
    const struct fth_spill *spill = chooser->spill;
    uint32_t *counts = chooser->written; /* not in use yet */
    for (uint32_t pc = 0; pc < spill->function->code_count; pc++) {
        const struct fth_spill_use *use = &spill->uses[pc];
        for (uint32_t i = 0; i < use->write_count; i++) {
            const uint32_t value = spill->numbers[use->first + use->read_count + i];
            chooser->writers[value] = counts[value]++ ? SPILL_NONE : pc;
        }
    }
}

static void choose(struct chooser *chooser)
{
    struct fth_spill *spill = chooser->spill;
    find_writers(chooser);
    for (uint32_t b = 0; b < spill->block_count; b++)
        chooser->pressure[b] =
            fth_spill_pressure(spill, &spill->blocks[b], spill->order, chooser->set);
    find_distances(chooser);
    for (uint32_t b = 0; b < spill->block_count; b++)
        visit_block(chooser, b);
    connect_blocks(chooser);
}

bool fth_spill_choose(struct fth_spill *spill)
{
    const size_t values = (size_t)spill->value_count + 1, blocks = (size_t)spill->block_count + 1,
                 words = fth_spill_words(spill) + 1;
    size_t numbers = 1;
    for (size_t pc = 0; pc < spill->function->code_count; pc++)
        numbers += spill->uses[pc].read_count + spill->uses[pc].write_count;
    struct chooser chooser = {.spill = spill,
                              .starts = calloc(blocks, sizeof(struct state)),
                              .ends = calloc(blocks, sizeof(struct state)),
                              .sets = calloc((4 * blocks + 2) * words, sizeof(uint64_t)),
                              .entry = calloc(blocks * values, sizeof(uint32_t)),
                              .next = calloc(values, sizeof(uint32_t)),
                              .next_use = calloc(numbers, sizeof(uint32_t)),
                              .writers = calloc(values, sizeof(uint32_t)),
                              .written = calloc(values, sizeof(uint32_t)),
                              .is_stored = calloc(values, sizeof(bool)),
                              .pressure = calloc(blocks, sizeof(uint32_t)),
                              .set = calloc(words, sizeof(uint64_t)),
                              .placed = calloc(words, sizeof(uint64_t)),
                              .ranks = calloc(values, sizeof(struct rank))};
    const bool ok = chooser.starts && chooser.ends && chooser.sets && chooser.entry &&
                    chooser.next && chooser.next_use && chooser.writers && chooser.written &&
                    chooser.is_stored && chooser.pressure && chooser.set && chooser.placed &&
                    chooser.ranks;
    if (ok) {
        uint64_t *sets = chooser.sets;
        chooser.now = (struct state){sets, sets + words};
        sets += 2 * words;
        for (size_t b = 0; b < spill->block_count; b++, sets += 4 * words) {
            chooser.starts[b] = (struct state){sets, sets + words};
            chooser.ends[b] = (struct state){sets + 2 * words, sets + 3 * words};
        }
        choose(&chooser);
    }
    free(chooser.starts);
    free(chooser.ends);
    free(chooser.sets);
    free(chooser.entry);
    free(chooser.next);
    free(chooser.next_use);
    free(chooser.writers);
    free(chooser.written);
    free(chooser.is_stored);
    free(chooser.pressure);
    free(chooser.set);
    free(chooser.placed);
    free(chooser.ranks);
    return ok && !chooser.failed;
}
