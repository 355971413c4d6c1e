/* The order of the accesses of a cluster's threads: times of warps and vector clocks. hazard.h
 * describes them.
 *
 * A warp that arrives at a barrier adds what it knows to the clock of the barrier (publish), and a
 * warp that leaves it takes over this clock (learn). Atomic operations, other strong accesses and
 * mbarriers have clocks by address. Fences have no clock of their own: they order strong accesses,
 * through which the threads learn of each other. Where the order is not known, the threads are
 * taken as ordered. */
#include "ptx/hazard/hazard.h"

#include <stdlib.h>

/* ---- creation ---- */

/* Returns the size of the smallest access that an instruction can make to shared memory, or 0 if it
 * makes none. */
static unsigned access_bytes(const struct fth_ptx_inst *inst)
{
    static const char *const starts[] = {"ld.", "st.", "atom.", "red."};
    if (inst->space != FTH_SPACE_SHARED && inst->space != FTH_SPACE_GENERIC &&
        inst->space != SPACE_CLUSTER)
        return 0;
    for (size_t i = 0; i < FTH_COUNT(starts); i++)
        if (strncmp(inst->opcode, starts[i], strlen(starts[i])) == 0)
            return fth_ptx_type_bytes((enum fth_ptx_type)inst->type) *
                   (inst->vector ? inst->vector : 1);
    return 0;
}

/* Returns the size of a unit of shared memory: that of the smallest access, but at most 4 bytes. */
static unsigned unit_bytes(const struct fth_ptx_module *module)
{
    unsigned unit = 4;
    for (size_t f = 0; f < module->function_count; f++)
        for (size_t i = 0; i < module->functions[f].code_count; i++) {
            const unsigned bytes = access_bytes(&module->functions[f].code[i]);
            unit = bytes && bytes < unit ? bytes : unit;
        }
    return unit;
}

struct fth_races *fth_races_create(struct fth_hazards *hazards)
{
    const struct fth_ptx_run *run = hazards->run;
    struct fth_races *races = calloc(1, sizeof *races);
    if (!races)
        return NULL;
    races->hazards = hazards;
    races->unit_bytes = unit_bytes(run->module);
    races->warp_count = hazards->warps_per_block * run->cluster_blocks;
    const size_t count = races->warp_count;
    races->warps = calloc(count, sizeof *races->warps);
    races->clocks = calloc(count * count, sizeof *races->clocks);
    races->barriers = calloc(count * run->cluster_blocks * MAX_BARRIERS, sizeof *races->barriers);
    races->cluster = calloc(count, sizeof *races->cluster);
    races->copies = calloc(count, sizeof *races->copies);
    races->units = calloc(run->cluster_blocks, sizeof *races->units);
    if (races->warps && races->clocks && races->barriers && races->cluster && races->copies &&
        races->units)
        return races;
    fth_races_destroy(races);
    return NULL;
}

void fth_races_destroy(struct fth_races *races)
{
    if (!races)
        return;
    for (size_t i = 0; i < races->warp_count && races->warps; i++)
        free(races->warps[i].known);
    for (size_t i = 0; i < RACE_ADDRESSES; i++)
        free(races->addresses[i]);
    for (size_t rank = 0; rank < races->hazards->run->cluster_blocks && races->units; rank++)
        free(races->units[rank]);
    free(races->warps);
    free(races->clocks);
    free(races->barriers);
    free(races->cluster);
    free(races->copies);
    free(races->units);
    free(races->writes);
    free(races);
}

/* ---- clocks ---- */

static uint32_t warp_index(const struct fth_races *races, const struct fth_ptx_warp *warp)
{
    return warp->block->rank * races->hazards->warps_per_block + warp->index;
}

static uint32_t *clock_of(const struct fth_races *races, uint32_t warp)
{
    return races->clocks + (size_t)warp * races->warp_count;
}

bool fth_race_is_ordered(const struct fth_races *races, const struct fth_race_entry *access,
                         const struct fth_race_entry *own)
{
    const uint32_t warp = own->thread / LANES, other = access->thread / LANES;
    const uint32_t *known = races->warps[warp].known;
    if (access->time < clock_of(races, warp)[other])
        return true;
    return warp == other && known &&
           access->time < known[own->thread % LANES * LANES + access->thread % LANES];
}

/* Adds what the warp knows to a clock, with all its accesses so far. */
static void publish(struct fth_races *races, const struct fth_ptx_warp *warp, uint32_t *clock)
{
    const uint32_t index = warp_index(races, warp), *own = clock_of(races, index);
    for (uint32_t i = 0; i < races->warp_count; i++)
        clock[i] = own[i] > clock[i] ? own[i] : clock[i];
    clock[index] = ++races->warps[index].time;
}

/* Adds a clock to what the warp knows. The element of the warp itself is the time before which all
 * its lanes know the accesses of each other. */
static void learn(struct fth_races *races, const struct fth_ptx_warp *warp, const uint32_t *clock)
{
    uint32_t *own = clock_of(races, warp_index(races, warp));
    for (uint32_t i = 0; i < races->warp_count; i++)
        own[i] = clock[i] > own[i] ? clock[i] : own[i];
}

/* Returns the clock of a host address, or NULL when out of memory. */
static uint32_t *address_clock(struct fth_races *races, const uint8_t *address)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)address / 4 * 0x9e3779b97f4a7c15u;
    uint32_t **clock = &races->addresses[mixed >> 32 & (RACE_ADDRESSES - 1)];
    if (!*clock)
        *clock = calloc(races->warp_count, sizeof **clock);
    if (!*clock)
        fth_hazards_fail(races->hazards);
    return *clock;
}

void fth_race_publish(struct fth_races *races, const struct fth_ptx_warp *warp,
                      const uint8_t *address)
{
    uint32_t *clock = address_clock(races, address);
    if (clock)
        publish(races, warp, clock);
}

void fth_race_learn(struct fth_races *races, const struct fth_ptx_warp *warp,
                    const uint8_t *address)
{
    const uint32_t *clock = address_clock(races, address);
    if (clock)
        learn(races, warp, clock);
}

void fth_race_wait(struct fth_races *races, const struct fth_ptx_warp *warp,
                   const uint8_t *mbarrier)
{
    fth_race_learn(races, warp, mbarrier);
    learn(races, warp, races->copies);
}

/* ---- lanes of a warp ---- */

/* Some lanes of a warp learn what all of them know. */
static void join_lanes(struct fth_race_warp *warp, uint32_t lanes)
{
    uint32_t joined[LANES] = {0};
    for (uint32_t left = lanes; left; left &= left - 1)
        for (int i = 0; i < LANES; i++) {
            const uint32_t time = warp->known[first_lane(left) * LANES + i];
            joined[i] = time > joined[i] ? time : joined[i];
        }
    warp->time++;
    for (uint32_t left = lanes; left; left &= left - 1)
        joined[first_lane(left)] = warp->time;
    for (uint32_t left = lanes; left; left &= left - 1)
        memcpy(&warp->known[(size_t)first_lane(left) * LANES], joined, sizeof joined);
}

static void sync_lanes(struct fth_races *races, const struct fth_ptx_warp *warp, uint32_t lanes)
{
    const uint32_t index = warp_index(races, warp);
    struct fth_race_warp *state = &races->warps[index];
    if ((lanes & warp->existing_lanes) == warp->existing_lanes) {
        clock_of(races, index)[index] = ++state->time;
        return;
    }
    if (!state->known)
        state->known = calloc((size_t)LANES * LANES, sizeof *state->known);
    if (state->known)
        join_lanes(state, lanes & warp->existing_lanes);
    else
        fth_hazards_fail(races->hazards);
}

/* Lanes synchronise with the lanes of their member masks at an instruction of a frame. */
static void sync_members(struct fth_races *races, const struct fth_ptx_warp *warp,
                         const struct fth_ptx_frame *frame, const struct fth_ptx_inst *inst,
                         uint32_t lanes)
{
    const int32_t operand = inst->s[inst->target];
    const uint64_t *members =
        operand >= 0 ? frame->rows + (size_t)operand * LANES : warp->pool[~operand];
    while (lanes) {
        const uint32_t mask = (uint32_t)members[first_lane(lanes)];
        for (uint32_t left = lanes; left; left &= left - 1)
            if ((uint32_t)members[first_lane(left)] == mask)
                lanes &= ~(1u << first_lane(left));
        sync_lanes(races, warp, mask);
    }
}

/* ---- instructions ---- */

void fth_race_instruction(struct fth_races *races, const struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst, uint32_t lanes)
{
    fth_race_check_writes(races);
    if (inst->control == K_CONVERGE)
        sync_members(races, warp, warp->frame, inst, lanes);
    if (inst->async || strncmp(inst->opcode, "cp.async", 8) == 0)
        publish(races, warp, races->copies);
}

void fth_hazard_warp_sync(const struct fth_ptx_warp *warp, const struct fth_ptx_fragment *fragment)
{
    struct fth_races *races = warp->block->cluster->hazards->races;
    const struct fth_ptx_frame *frame = fragment->frame;
    if (races)
        sync_members(races, warp, frame, &frame->function->code[fragment->pc - 1], fragment->mask);
}

static uint32_t *barrier_clock(const struct fth_races *races, const struct fth_ptx_block *block,
                               uint32_t barrier)
{
    return races->barriers + ((size_t)block->rank * MAX_BARRIERS + barrier) * races->warp_count;
}

void fth_hazard_barrier_arrive(const struct fth_ptx_warp *warp, uint32_t barrier)
{
    struct fth_races *races = warp->block->cluster->hazards->races;
    if (races)
        publish(races, warp, barrier_clock(races, warp->block, barrier));
}

void fth_hazard_barrier_leave(const struct fth_ptx_warp *warp, uint32_t barrier)
{
    struct fth_races *races = warp->block->cluster->hazards->races;
    if (races)
        learn(races, warp, barrier_clock(races, warp->block, barrier));
}

void fth_hazard_barrier_end(const struct fth_ptx_block *block, uint32_t barrier)
{
    const struct fth_races *races = block->cluster->hazards->races;
    if (races)
        memset(barrier_clock(races, block, barrier), 0,
               races->warp_count * sizeof *races->barriers);
}

void fth_hazard_cluster_arrive(const struct fth_ptx_warp *warp)
{
    struct fth_races *races = warp->block->cluster->hazards->races;
    if (races)
        publish(races, warp, races->cluster);
}

void fth_hazard_cluster_leave(const struct fth_ptx_warp *warp)
{
    struct fth_races *races = warp->block->cluster->hazards->races;
    if (races)
        learn(races, warp, races->cluster);
}
