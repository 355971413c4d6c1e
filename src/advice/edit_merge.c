/* Removes accesses that a block repeats, as if it kept the data in shared memory: a load of a
 * sector that the block has loaded before, and an atomic on an address that the block has updated
 * before. Lanes are removed one by one. An access without lanes is removed, and the later accesses
 * of its warp get lower numbers.
 *
 * Sectors count, not lines: a load that needs another sector of a line still has to fetch it.
 *
 * What a warp executes between two accesses is known on average for each pair of instructions
 * (struct fth_pace). If the accesses between two others are removed, the steps between them are
 * added. The removed access remains as an instruction that accesses shared memory instead. What
 * such a kernel needs besides, a barrier and a store to shared memory for what it loads, is left
 * out. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "edit trace";

enum {
    SECTOR_BITS = 5,
    /* Fractions in the sums of steps: averages are added in units of 1/256. */
    SCALE = 256
};

/* What a warp has done so far. */
struct warp {
    uint64_t number;          /* of its next access */
    uint32_t last, last_kept; /* instructions; FTH_PACE_START: none yet */
    /* The steps since the last access that was kept, in units of 1/SCALE. */
    uint64_t instructions, latency_cycles, barriers, shared, constants;
};

struct fth_merging {
    const struct fth_trace *trace;
    const struct fth_edit *edit;
    const uint32_t *numbers;
    const struct fth_pace *from; /* of the launch; NULL: unknown */
    struct fth_pace pace;        /* of the accesses that are kept, in units of 1/SCALE */
    bool scaled;                 /* `pace` is still in these units */
    struct fth_seen seen;        /* sectors and addresses of the current blocks */
    struct warp *warps;
    uint64_t first, count, warps_per_block; /* of the current blocks */
    uint64_t dropped;
};

enum fth_status fth_merging_create(const struct fth_trace *trace, size_t launch,
                                   const struct fth_edit *edit, const uint32_t *numbers,
                                   struct fth_merging **out, struct fth_error *error)
{
    struct fth_merging *merge = calloc(1, sizeof *merge);
    *out = NULL;
    if (!merge)
        return fth_no_memory(error, operation, NULL);
    merge->trace = trace;
    merge->edit = edit;
    merge->numbers = numbers;
    merge->from = fth_trace_pace(trace, launch);
    merge->scaled = true;
    merge->warps_per_block = fth_launch_warps(fth_trace_launch_at(trace, launch));
    /* Warps without accesses do not appear in the trace. */
    const struct fth_pace_step *idle =
        merge->from ? fth_pace_find(merge->from, FTH_PACE_START, FTH_PACE_END) : NULL;
    struct fth_pace_step *step =
        idle ? fth_pace_step(&merge->pace, FTH_PACE_START, FTH_PACE_END) : NULL;
    if (step) {
        *step = *idle;
        step->instructions *= SCALE;
        step->latency_cycles *= SCALE;
        step->barriers *= SCALE;
        step->shared *= SCALE;
        step->constants *= SCALE;
    }
    if (idle && !step) {
        fth_merging_destroy(merge);
        return fth_no_memory(error, operation, NULL);
    }
    *out = merge;
    return FTH_OK;
}

void fth_merging_destroy(struct fth_merging *merge)
{
    if (!merge)
        return;
    fth_pace_fini(&merge->pace);
    fth_seen_fini(&merge->seen);
    free(merge->warps);
    free(merge);
}

enum fth_status fth_merging_begin(struct fth_merging *merge, uint64_t first, uint64_t count,
                                  struct fth_error *error)
{
    free(merge->warps);
    merge->warps = calloc((size_t)(count * merge->warps_per_block), sizeof *merge->warps);
    if (!merge->warps)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count * merge->warps_per_block; i++)
        merge->warps[i].last = merge->warps[i].last_kept = FTH_PACE_START;
    merge->first = first;
    merge->count = count;
    fth_seen_clear(&merge->seen);
    return FTH_OK;
}

/* ---- what warps execute ---- */

/* Adds the step from the last access of a warp to the next one, of `instruction`. */
static void advance(const struct fth_merging *merge, struct warp *warp, uint32_t instruction)
{
    const struct fth_pace_step *step =
        merge->from ? fth_pace_find(merge->from, warp->last, instruction) : NULL;
    warp->last = instruction;
    if (!step || !step->count)
        return;
    warp->instructions += step->instructions * SCALE / step->count;
    warp->latency_cycles += step->latency_cycles * SCALE / step->count;
    warp->barriers += step->barriers * SCALE / step->count;
    warp->shared += step->shared * SCALE / step->count;
    warp->constants += step->constants * SCALE / step->count;
}

/* Returns the number of an instruction in the writer. */
static uint32_t number_of(const struct fth_merging *merge, uint32_t instruction)
{
    return instruction == FTH_PACE_START ? instruction : merge->numbers[instruction];
}

/* Ends the steps of a warp at an access that is kept, or at its end. Returns false if memory is
 * exhausted. */
static bool finish_step(struct fth_merging *merge, struct warp *warp, uint32_t instruction)
{
    if (merge->from) {
        struct fth_pace_step *step = fth_pace_step(&merge->pace, number_of(merge, warp->last_kept),
                                                   number_of(merge, instruction));
        if (!step)
            return false;
        step->count++;
        step->instructions += warp->instructions;
        step->latency_cycles += warp->latency_cycles;
        step->barriers += warp->barriers;
        step->shared += warp->shared;
        step->constants += warp->constants;
    }
    warp->instructions = warp->latency_cycles = warp->barriers = 0;
    warp->shared = warp->constants = 0;
    warp->last_kept = instruction;
    return true;
}

/* ---- accesses ---- */

/* Sets *is_new if a lane accesses a sector, or an atomic an address, for the first time in its
 * block. */
static enum fth_status look_up(struct fth_merging *merge,
                               const struct fth_trace_instruction *instruction, uint64_t address,
                               uint32_t block, bool *is_new, struct fth_error *error)
{
    const bool atomic = instruction->kind == FTH_TRACE_ATOMIC;
    const uint64_t last = address + instruction->bytes - 1;
    uint32_t *value;
    *is_new = false;
    /* The highest bit distinguishes addresses from sectors. */
    if (atomic)
        return fth_seen_put(&merge->seen, address | UINT64_C(1) << 63, block, 0, &value, is_new,
                            error);
    for (uint64_t sector = address >> SECTOR_BITS; sector <= last >> SECTOR_BITS; sector++) {
        bool fresh = false;
        FTH_TRY(fth_seen_put(&merge->seen, sector, block, 0, &value, &fresh, error));
        *is_new = *is_new || fresh;
    }
    return FTH_OK;
}

/* Removes the lanes of an access that repeat what the block has accessed before this access. Lanes
 * that access the same sector at the same time stay: they are one request. */
static enum fth_status remove_lanes(struct fth_merging *merge, struct fth_trace_access *access,
                                    const struct fth_trace_instruction *instruction,
                                    struct fth_error *error)
{
    const uint32_t block = (uint32_t)(access->block - merge->first), mask = access->mask;
    const bool atomic = instruction->kind == FTH_TRACE_ATOMIC;
    uint32_t kept = 0, lane = 0;
    bool fresh[32] = {false};
    for (uint32_t i = 0; i < access->threads; i++)
        FTH_TRY(look_up(merge, instruction, access->addresses[i], block, &fresh[i], error));
    for (uint32_t i = 0; i < access->threads; i++)
        for (uint32_t k = 0; k < i && !atomic && !fresh[i]; k++)
            fresh[i] = fresh[k] &&
                       access->addresses[k] >> SECTOR_BITS == access->addresses[i] >> SECTOR_BITS;
    access->mask = 0;
    for (uint32_t left = mask; left; left &= left - 1, lane++) {
        if (!fresh[lane])
            continue;
        access->addresses[kept++] = access->addresses[lane];
        access->mask |= left & (~left + 1);
    }
    access->threads = kept;
    return FTH_OK;
}

enum fth_status fth_merging_access(struct fth_merging *merge, struct fth_trace_access *access,
                                   struct fth_error *error)
{
    struct warp *warp =
        &merge->warps[(access->block - merge->first) * merge->warps_per_block + access->warp];
    advance(merge, warp, access->instruction);
    if (merge->edit->chosen[access->instruction])
        FTH_TRY(remove_lanes(merge, access,
                             fth_trace_instruction_at(merge->trace, access->instruction), error));
    if (!access->mask) {
        warp->shared += SCALE;
        merge->dropped++;
        return FTH_OK;
    }
    access->number = warp->number++;
    return finish_step(merge, warp, access->instruction) ? FTH_OK
                                                         : fth_no_memory(error, operation, NULL);
}

enum fth_status fth_merging_end(struct fth_merging *merge, struct fth_error *error)
{
    for (size_t i = 0; i < merge->count * merge->warps_per_block; i++) {
        struct warp *warp = &merge->warps[i];
        if (warp->last == FTH_PACE_START)
            continue; /* no accesses */
        advance(merge, warp, FTH_PACE_END);
        if (!finish_step(merge, warp, FTH_PACE_END))
            return fth_no_memory(error, operation, NULL);
    }
    return FTH_OK;
}

const struct fth_pace *fth_merging_pace(struct fth_merging *merge, uint64_t *dropped)
{
    for (size_t i = 0; i < merge->pace.count && merge->scaled; i++) {
        struct fth_pace_step *step = &merge->pace.steps[i];
        step->instructions = (step->instructions + SCALE / 2) / SCALE;
        step->latency_cycles = (step->latency_cycles + SCALE / 2) / SCALE;
        step->barriers = (step->barriers + SCALE / 2) / SCALE;
        step->shared = (step->shared + SCALE / 2) / SCALE;
        step->constants = (step->constants + SCALE / 2) / SCALE;
    }
    merge->scaled = false;
    *dropped = merge->dropped;
    return merge->from ? &merge->pace : NULL;
}
