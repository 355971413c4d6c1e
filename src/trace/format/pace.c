/* The pace of a launch: what its warps execute between accesses to global memory. Traces contain
 * only accesses; the pace adds how many instructions, barriers, wavefronts of shared memory and
 * addresses of constants lie between two of them, as sums for each pair of instructions that follow
 * each other in a warp.
 *
 * The recorder finds steps with a hash table. In a file, and in a trace that was read, the steps
 * are sorted by `to` and `from`, and found by a binary search, so that no file can make the search
 * slow. The addresses of constants are in a part of their own (FTH_PART_CONSTANTS), which was added
 * to the format later: older versions of fathom skip it, and older files do not have it. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- collecting steps ---- */

/* The first size of the hash table. Chosen: more than twice the steps of most kernels. */
enum { FIRST_SLOTS = 64 };

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

/* Makes the hash table at least twice as large as the number of steps, with the next one. */
static bool reserve_slots(struct fth_pace *pace)
{
    if (pace->slot_count && pace->count < pace->slot_count / 2)
        return true;
    /* The slots have the index of a step plus one in 32 bits. */
    if (pace->count >= UINT32_MAX / 2)
        return false;
    const size_t count = pace->slot_count ? 2 * pace->slot_count : FIRST_SLOTS;
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
    if (!reserve_slots(pace) ||
        !fth_grow((void **)&pace->steps, pace->count, &pace->capacity, sizeof *pace->steps))
        return NULL;
    pace->slots[place_of(pace, from, to)] = (uint32_t)pace->count + 1;
    pace->steps[pace->count] = (struct fth_pace_step){.from = from, .to = to};
    return &pace->steps[pace->count++];
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
        step->latency_cycles += from->latency_cycles;
        step->barriers += from->barriers;
        step->shared += from->shared;
        step->constants += from->constants;
    }
    return true;
}

void fth_pace_fini(struct fth_pace *pace)
{
    free(pace->steps);
    free(pace->slots);
    *pace = (struct fth_pace){0};
}

/* ---- finding steps ---- */

static int compare_steps(const void *a, const void *b)
{
    const struct fth_pace_step *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

const struct fth_pace_step *fth_pace_find(const struct fth_pace *pace, uint32_t from, uint32_t to)
{
    if (!pace->slot_count)
        return pace->count ? bsearch(&(struct fth_pace_step){.from = from, .to = to}, pace->steps,
                                     pace->count, sizeof *pace->steps, compare_steps)
                           : NULL;
    const uint32_t found = pace->slots[place_of(pace, from, to)];
    return found ? &pace->steps[found - 1] : NULL;
}

/* ---- encoding ---- */

/* Numbers that can be UINT32_MAX (FTH_PACE_START, FTH_PACE_END, an unknown wait) are stored plus
 * one, and this one as 0. */
static void put_number(uint32_t number, struct fth_buffer *out)
{
    fth_put_varint(number == UINT32_MAX ? 0 : (uint64_t)number + 1, out);
}

static uint32_t get_number(struct fth_bytes *bytes)
{
    return fth_get_varint32(bytes) - 1;
}

/* A step with the numbers that the instructions have in the file. */
struct file_step {
    struct fth_pace_step step; /* first, for compare_steps() */
    uint32_t wait;             /* of the instruction `to` */
};

/* Returns the number of an instruction in the file. FTH_PACE_START and FTH_PACE_END, which are the
 * same number, remain. Sets *missing if it is not in the file. */
static uint32_t file_number(const uint32_t *ids, uint32_t instruction, bool *missing)
{
    if (instruction == UINT32_MAX)
        return UINT32_MAX;
    *missing = *missing || ids[instruction] == UINT32_MAX;
    return ids[instruction];
}

/* Returns the steps whose instructions are in the file, in the order of the file. NULL: memory is
 * exhausted. */
static struct file_step *sort_steps(const struct fth_pace *pace, const uint32_t *ids,
                                    const struct fth_trace_instruction *instructions, size_t *count)
{
    struct file_step *steps = calloc(pace->count + 1, sizeof *steps);
    *count = 0;
    for (size_t i = 0; steps && i < pace->count; i++) {
        const struct fth_pace_step *step = &pace->steps[i];
        struct file_step *copy = &steps[*count];
        bool missing = false;
        copy->step = *step;
        copy->step.from = file_number(ids, step->from, &missing);
        copy->step.to = file_number(ids, step->to, &missing);
        copy->wait = step->to == FTH_PACE_END ? UINT32_MAX : instructions[step->to].wait;
        *count += !missing;
    }
    if (steps)
        qsort(steps, *count, sizeof *steps, compare_steps);
    return steps;
}

bool fth_put_pace(const struct fth_pace *pace, size_t launch, const uint32_t *ids,
                  const struct fth_trace_instruction *instructions, struct fth_buffer *out)
{
    size_t count;
    struct file_step *steps = sort_steps(pace, ids, instructions, &count);
    if (!steps)
        return false;
    fth_put_varint(launch, out);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && steps[end].step.to == steps[i].step.to;)
            end++;
        put_number(steps[i].step.to, out);
        put_number(steps[i].wait, out);
        fth_put_varint(end - i, out);
        for (size_t k = i; k < end; k++) {
            const struct fth_pace_step *step = &steps[k].step;
            put_number(step->from, out);
            fth_put_varint(step->count, out);
            fth_put_varint(step->instructions, out);
            fth_put_varint(step->latency_cycles, out);
            fth_put_varint(step->barriers, out);
            fth_put_varint(step->shared, out);
        }
    }
    free(steps);
    return true;
}

/* Whether a pace has loads of different constants. */
static bool has_constants(const struct fth_pace *pace)
{
    for (size_t i = 0; i < pace->count; i++)
        if (pace->steps[i].constants)
            return true;
    return false;
}

bool fth_put_constants(const struct fth_pace *pace, size_t launch, const uint32_t *ids,
                       const struct fth_trace_instruction *instructions, struct fth_buffer *out)
{
    if (!has_constants(pace))
        return true;
    size_t count, next = 0;
    struct file_step *steps = sort_steps(pace, ids, instructions, &count);
    if (!steps)
        return false;
    fth_put_varint(launch, out);
    for (size_t i = 0; i < count; i++) {
        if (!steps[i].step.constants)
            continue;
        fth_put_varint(i - next, out); /* steps that are left out */
        fth_put_varint(steps[i].step.constants, out);
        next = i + 1;
    }
    free(steps);
    return true;
}

/* Decodes a step to the instruction `to`, and appends it. */
static bool get_step(struct fth_bytes *bytes, uint32_t to, size_t instruction_count,
                     struct fth_pace *pace)
{
    struct fth_pace_step step = {.from = get_number(bytes), .to = to};
    step.count = fth_get_varint(bytes);
    step.instructions = fth_get_varint(bytes);
    step.latency_cycles = fth_get_varint(bytes);
    step.barriers = fth_get_varint(bytes);
    step.shared = fth_get_varint(bytes);
    if (bytes->failed || step.count == 0 ||
        (step.from != FTH_PACE_START && step.from >= instruction_count) ||
        (pace->count && compare_steps(&pace->steps[pace->count - 1], &step) >= 0))
        return false;
    if (!fth_grow((void **)&pace->steps, pace->count, &pace->capacity, sizeof *pace->steps)) {
        bytes->no_memory = true;
        return false;
    }
    pace->steps[pace->count++] = step;
    return true;
}

/* Decodes all steps of a launch, and the `wait` of instructions. */
static bool get_steps(struct fth_bytes *bytes, struct fth_trace_instruction *instructions,
                      size_t instruction_count, struct fth_pace *pace)
{
    while (bytes->at < bytes->end) {
        const uint32_t to = get_number(bytes), wait = get_number(bytes);
        const uint64_t count = fth_get_varint(bytes);
        if (bytes->failed || (to != FTH_PACE_END && to >= instruction_count) || count == 0)
            return false;
        if (to != FTH_PACE_END)
            instructions[to].wait = wait;
        for (uint64_t i = 0; i < count; i++)
            if (!get_step(bytes, to, instruction_count, pace))
                return false;
    }
    return true;
}

/* ---- the paces of a trace ---- */

bool fth_paces_get(struct fth_paces *paces, struct fth_bytes *bytes, size_t launch_count,
                   struct fth_trace_instruction *instructions, size_t instruction_count)
{
    const uint64_t launch = fth_get_varint(bytes);
    if (bytes->failed || launch >= launch_count)
        return false;
    if (paces->count < launch_count) {
        struct fth_pace *items = realloc(paces->items, launch_count * sizeof *items);
        bytes->no_memory = !items;
        if (!items)
            return false;
        memset(items + paces->count, 0, (launch_count - paces->count) * sizeof *items);
        *paces = (struct fth_paces){.items = items, .count = launch_count};
    }
    struct fth_pace *pace = &paces->items[launch];
    return !pace->count && get_steps(bytes, instructions, instruction_count, pace);
}

bool fth_paces_get_constants(struct fth_paces *paces, struct fth_bytes *bytes)
{
    const uint64_t launch = fth_get_varint(bytes);
    if (bytes->failed || launch >= paces->count)
        return false;
    const struct fth_pace *pace = &paces->items[launch];
    for (size_t next = 0; bytes->at < bytes->end; next++) {
        const uint64_t left_out = fth_get_varint(bytes), constants = fth_get_varint(bytes);
        if (bytes->failed || left_out >= pace->count - next || !constants)
            return false;
        next += left_out;
        if (pace->steps[next].constants) /* in an earlier part */
            return false;
        pace->steps[next].constants = constants;
    }
    return true;
}

void fth_paces_fini(struct fth_paces *paces)
{
    for (size_t i = 0; i < paces->count; i++)
        fth_pace_fini(&paces->items[i]);
    free(paces->items);
    *paces = (struct fth_paces){0};
}
