/* The pace of a launch: what its warps execute between accesses to global memory. Traces contain
 * only accesses; the pace adds how many instructions, barriers and requests to shared memory lie
 * between them, as sums for each pair of instructions that follow each other. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Returns the place of a step in the hash table, which has a free slot (multiplicative hashing with
 * 2^64 / golden ratio). */
static size_t place_of(const struct fth_pace *pace, uint32_t from, uint32_t to)
{
    const uint64_t key = (uint64_t)from << 32 | to;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (pace->slot_count - 1);
    while (pace->slots[at] && (pace->steps[pace->slots[at] - 1].from != from ||
                               pace->steps[pace->slots[at] - 1].to != to))
        at = (at + 1) & (pace->slot_count - 1);
    return at;
}

/* Makes the hash table at least twice as large as the number of steps. */
static bool reserve(struct fth_pace *pace)
{
    if (2 * (pace->count + 1) <= pace->slot_count)
        return true;
    const size_t count = pace->slot_count ? 2 * pace->slot_count : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(pace->slots);
    pace->slots = slots;
    pace->slot_count = count;
    for (size_t i = 0; i < pace->count; i++)
        slots[place_of(pace, pace->steps[i].from, pace->steps[i].to)] = (uint32_t)i + 1;
    return true;
}

struct fth_pace_step *fth_pace_step(struct fth_pace *pace, uint32_t from, uint32_t to)
{
    if (pace->slot_count) {
        const uint32_t found = pace->slots[place_of(pace, from, to)];
        if (found)
            return &pace->steps[found - 1];
    }
    if (!reserve(pace) ||
        !fth_grow((void **)&pace->steps, pace->count, &pace->capacity, sizeof *pace->steps))
        return NULL;
    pace->slots[place_of(pace, from, to)] = (uint32_t)pace->count + 1;
    pace->steps[pace->count] = (struct fth_pace_step){.from = from, .to = to};
    return &pace->steps[pace->count++];
}

const struct fth_pace_step *fth_pace_find(const struct fth_pace *pace, uint32_t from, uint32_t to)
{
    const uint32_t found = pace->slot_count ? pace->slots[place_of(pace, from, to)] : 0;
    return found ? &pace->steps[found - 1] : NULL;
}

bool fth_pace_add(struct fth_pace *pace, const struct fth_pace *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const struct fth_pace_step *from = &more->steps[i];
        struct fth_pace_step *step = fth_pace_step(pace, from->from, from->to);
        if (!step)
            return false;
        step->count += from->count;
        step->instructions += from->instructions;
        step->barriers += from->barriers;
        step->shared += from->shared;
    }
    return true;
}

void fth_pace_fini(struct fth_pace *pace)
{
    free(pace->steps);
    free(pace->slots);
    *pace = (struct fth_pace){0};
}

/* ---- encoding ---- */

static int compare_steps(const void *a, const void *b)
{
    const struct fth_pace_step *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Numbers are stored plus one, so that FTH_PACE_START and an unknown wait are 0. */
static void put_number(uint32_t number, struct fth_buffer *out)
{
    fth_put_varint(number == UINT32_MAX ? 0 : (uint64_t)number + 1, out);
}

static uint32_t get_number(struct fth_bytes *bytes)
{
    return fth_get_varint32(bytes) - 1;
}

static uint32_t file_number(const uint32_t *ids, uint32_t instruction)
{
    return instruction == FTH_PACE_START ? FTH_PACE_START : ids[instruction];
}

void fth_put_pace(const struct fth_pace *pace, const uint32_t *ids,
                  const struct fth_trace_instruction *instructions, struct fth_buffer *out)
{
    /* The order of the steps depends on the host threads, so they are sorted. */
    if (pace->count)
        qsort(pace->steps, pace->count, sizeof *pace->steps, compare_steps);
    fth_put_varint(pace->count, out);
    for (size_t i = 0; i < pace->count; i++) {
        const struct fth_pace_step *step = &pace->steps[i];
        put_number(file_number(ids, step->from), out);
        put_number(ids[step->to], out);
        put_number(instructions[step->to].wait, out);
        fth_put_varint(step->count, out);
        fth_put_varint(step->instructions, out);
        fth_put_varint(step->barriers, out);
        fth_put_varint(step->shared, out);
    }
}

bool fth_get_pace(struct fth_bytes *bytes, struct fth_trace_instruction *instructions,
                  size_t instruction_count, struct fth_pace *pace)
{
    const uint64_t count = fth_get_varint(bytes);
    for (uint64_t i = 0; i < count && !bytes->failed; i++) {
        const uint32_t from = get_number(bytes), to = get_number(bytes);
        const uint32_t wait = get_number(bytes);
        if (bytes->failed || to >= instruction_count ||
            (from != FTH_PACE_START && from >= instruction_count))
            return false;
        struct fth_pace_step *step = fth_pace_step(pace, from, to);
        bytes->no_memory = !step;
        if (!step)
            return false;
        instructions[to].wait = wait;
        step->count += fth_get_varint(bytes);
        step->instructions += fth_get_varint(bytes);
        step->barriers += fth_get_varint(bytes);
        step->shared += fth_get_varint(bytes);
    }
    return !bytes->failed;
}
