/* Gives loads another operator, as another form of the PTX instruction would have it.
 *
 * The operator "async" stands for cp.async in a pipeline with two buffers in shared memory: each
 * iteration of the loop begins the copies that the next one needs. The warp therefore needs the
 * data one iteration later than now. struct fth_pace has the machine instructions between each two
 * accesses; the shortest loop through the load gives the length of an iteration. If the load is not
 * in a loop, the warp needs the data as soon as before. */
#include "advice/advice_parts.h"

#include <stdlib.h>

/* Parts of fth_trace_instruction: cache operators and bits of the hints. */
enum {
    OP_NONE = 0,
    OP_CA = 1,
    OP_CG = 2,
    OP_NC = 8,
    L1_MASK = 7,
    STRONG = 1 << 8,
    UNIT_MASK = 3 << 9,
    UNIT_COPY = 1 << 9
};

/* Bytes per lane from which cp.async can bypass the L1, which is then the usual form. */
enum { MIN_BYPASS_BYTES = 16 };

/* Machine instructions of a step, on average. */
static uint64_t length_of(const struct fth_pace_step *step)
{
    return (step->instructions + step->count / 2) / step->count;
}

/* Returns the length of the shortest loop through the instruction in machine instructions;
 * UINT64_MAX: there is none. `distances` has an element for each instruction of the trace. */
static uint64_t loop_length(const struct fth_pace *pace, uint32_t instruction, uint64_t *distances,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        distances[i] = UINT64_MAX;
    bool changed = true;
    for (size_t round = 0; round <= count && changed; round++) {
        changed = false;
        for (size_t i = 0; i < pace->count; i++) {
            const struct fth_pace_step *step = &pace->steps[i];
            if (step->from == FTH_PACE_START || step->to == FTH_PACE_END || !step->count)
                continue;
            const uint64_t before = step->from == instruction ? 0 : distances[step->from];
            if (before == UINT64_MAX || before + length_of(step) >= distances[step->to])
                continue;
            distances[step->to] = before + length_of(step);
            changed = true;
        }
    }
    return distances[instruction];
}

/* Returns the length of the shortest loop through the instruction in any launch; UINT64_MAX: there
 * is none, or memory is exhausted, which *ok then tells. */
static uint64_t shortest_loop(const struct fth_trace *trace, uint32_t instruction, bool *ok)
{
    const size_t count = fth_trace_instruction_count(trace);
    uint64_t *distances = calloc(count + 1, sizeof *distances), shortest = UINT64_MAX;
    *ok = distances;
    for (size_t i = 0; i < fth_trace_launch_count(trace) && *ok; i++) {
        const struct fth_pace *pace = fth_trace_pace(trace, i);
        const uint64_t length =
            pace ? loop_length(pace, instruction, distances, count) : UINT64_MAX;
        shortest = length < shortest ? length : shortest;
    }
    free(distances);
    return shortest;
}

/* Makes a copy by cp.async of a load. */
static bool make_async(const struct fth_trace *trace, uint32_t index,
                       struct fth_trace_instruction *instruction)
{
    bool ok;
    const uint64_t length = shortest_loop(trace, index, &ok);
    instruction->hints = (instruction->hints & ~(uint32_t)UNIT_MASK) | UNIT_COPY;
    instruction->hints &= ~FTH_TRACE_STAGED;
    instruction->cache_op = instruction->bytes >= MIN_BYPASS_BYTES ? OP_CG : OP_CA;
    if (length < UINT32_MAX / 2 && instruction->wait < UINT32_MAX / 2)
        instruction->wait += (uint32_t)length;
    return ok;
}

bool fth_edit_operator(const struct fth_trace *trace, const struct fth_edit *edit, uint32_t index,
                       struct fth_trace_instruction *instruction)
{
    static const uint32_t priorities[FTH_EDIT_OPERATORS] = {
        [FTH_EDIT_EVICT_FIRST] = 3, [FTH_EDIT_EVICT_LAST] = 4, [FTH_EDIT_NO_ALLOCATE] = 5};
    /* .relaxed and .acquire exclude the operators. */
    instruction->hints &= ~(uint32_t)(L1_MASK | STRONG);
    instruction->hints |= priorities[edit->load_operator];
    switch (edit->load_operator) {
    case FTH_EDIT_ASYNC: return make_async(trace, index, instruction);
    case FTH_EDIT_NC: instruction->cache_op = OP_NC; break;
    case FTH_EDIT_CG: instruction->cache_op = OP_CG; break;
    default: /* .cg, .cv and .volatile exclude a priority */
        if (instruction->cache_op != OP_CA && instruction->cache_op != OP_NC)
            instruction->cache_op = OP_NONE;
    }
    return true;
}
