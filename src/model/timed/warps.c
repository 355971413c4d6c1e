/* When the warps of the resident blocks issue their accesses.
 *
 * A warp issues its instructions one after the other, at a fixed distance. It stops before the
 * first instruction that needs the result of a load that has not arrived; traces say after how many
 * instructions that is (fth_trace_instruction.wait). Each scheduler of an SM issues one instruction
 * per cycle, so warps also wait for each other. At a barrier, a warp waits for all warps of its
 * block that have not ended. */
#include "model/timed/timed.h"

#include <stdlib.h>

/* Loads of one warp under way whose results are needed at different instructions. Chosen: loads
 * beyond that are combined with the last one, so the warp may wait for them too early. */
enum { MAX_LOADS = 12 };

/* A scheduler prefers the warp that it has issued last. So a warp that need not wait for data goes
 * on at once, even if the scheduler is behind by up to this number of cycles. Fitted to an H200:
 * the longer it is, the more often two loads of a warp that follow each other directly merge. */
enum { MAX_LEAD_CYCLES = 64 };

struct load {
    uint32_t needed; /* instruction of the warp that needs the result */
    uint64_t ready;
};

struct warp {
    struct fth_warp_stream *stream;
    uint32_t issued; /* instructions so far; can wrap around */
    uint8_t load_count;
    bool at_barrier;
    uint32_t phase;   /* barriers before the access that it waits with */
    uint64_t arrival; /* at this barrier */
    struct load loads[MAX_LOADS];
};

struct block {
    uint64_t index; /* in the grid */
    uint32_t sm;
    uint32_t running;       /* warps that have not ended */
    uint32_t waiting;       /* of these, warps at a barrier */
    uint64_t barrier_ready; /* when the last warp has ended, since the last barrier */
    uint64_t end;           /* when the last access of an ended warp was complete */
};

/* What the model needs of an instruction. */
struct facts {
    enum fth_trace_access_kind kind;
    bool is_local; /* accesses local memory */
    uint32_t wait;
};

struct fth_warps {
    struct fth_warps_context context;
    uint32_t warps_per_block;
    uint32_t schedulers;         /* per SM */
    uint64_t *scheduler_free_at; /* [sms][schedulers] */
    struct block *blocks;        /* [slots] */
    struct warp *warps;          /* [slots][warps_per_block] */
    struct facts *facts;         /* [instructions] */
    uint64_t end;
};

enum fth_status fth_warps_create(const struct fth_warps_context *context, struct fth_warps **out,
                                 struct fth_error *error)
{
    struct fth_warps *warps = calloc(1, sizeof *warps);
    const struct fth_setting *setting = context->setting;
    const uint32_t slots = fth_dispatch_slots(context->dispatch);
    const size_t instructions = fth_trace_instruction_count(context->trace);
    *out = warps;
    if (!warps)
        return fth_no_memory(error, "model caches", NULL);
    warps->context = *context;
    warps->warps_per_block = (uint32_t)setting->warps_per_block;
    warps->schedulers = (uint32_t)setting->schedulers;
    warps->scheduler_free_at =
        calloc((size_t)(setting->sms * setting->schedulers), sizeof *warps->scheduler_free_at);
    warps->blocks = calloc(slots, sizeof *warps->blocks);
    warps->warps = calloc((size_t)slots * warps->warps_per_block, sizeof *warps->warps);
    warps->facts = calloc(instructions + 1, sizeof *warps->facts);
    if (!warps->scheduler_free_at || !warps->blocks || !warps->warps || !warps->facts) {
        fth_warps_destroy(warps);
        *out = NULL;
        return fth_no_memory(error, "model caches", NULL);
    }
    for (size_t i = 0; i < instructions; i++) {
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(context->trace, i);
        /* Without a pace, nothing is known; then a result is needed at once. */
        const uint32_t wait = context->has_pace ? instruction->wait : 0;
        warps->facts[i] =
            (struct facts){instruction->kind, (instruction->hints & FTH_TRACE_LOCAL) != 0, wait};
    }
    return FTH_OK;
}

void fth_warps_destroy(struct fth_warps *warps)
{
    if (!warps)
        return;
    free(warps->scheduler_free_at);
    free(warps->blocks);
    free(warps->warps);
    free(warps->facts);
    free(warps);
}

uint32_t fth_warps_first_slot_event(const struct fth_warps *warps)
{
    return fth_dispatch_slots(warps->context.dispatch) * warps->warps_per_block;
}

uint64_t fth_warps_end(const struct fth_warps *warps)
{
    return warps->end;
}

/* ---- loads under way ---- */

static void add_load(struct warp *warp, uint32_t needed, uint64_t ready)
{
    if (warp->load_count < MAX_LOADS) {
        warp->loads[warp->load_count++] = (struct load){needed, ready};
        return;
    }
    struct load *last = &warp->loads[MAX_LOADS - 1];
    if ((int32_t)(needed - last->needed) < 0)
        last->needed = needed;
    last->ready = ready > last->ready ? ready : last->ready;
}

/* Returns when the warp can issue instruction `target`, not before `earliest`: after all results
 * that are needed up to there have arrived. Removes these loads. */
static uint64_t wait_for_loads(struct warp *warp, uint32_t target, uint64_t earliest,
                               uint64_t issue)
{
    uint8_t kept = 0;
    for (uint8_t i = 0; i < warp->load_count; i++) {
        const struct load *load = &warp->loads[i];
        const int32_t after = (int32_t)(target - load->needed);
        if (after < 0) {
            warp->loads[kept++] = *load;
            continue;
        }
        const uint64_t at = load->ready + (uint32_t)after * issue;
        earliest = at > earliest ? at : earliest;
    }
    warp->load_count = kept;
    return earliest;
}

/* ---- barriers and ends ---- */

/* Returns the first barrier that warps of a block wait at. It differs among them only with
 * sampling, where the accesses of some warps between two barriers can all be without simulated
 * lines. */
static uint32_t find_first_phase(const struct fth_warps *warps, uint32_t slot)
{
    const struct warp *warp = &warps->warps[(size_t)slot * warps->warps_per_block];
    uint32_t phase = UINT32_MAX;
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        if (warp[i].at_barrier && warp[i].phase < phase)
            phase = warp[i].phase;
    return phase;
}

/* Returns when the last warp has arrived at a barrier, or has ended. */
static uint64_t find_arrival(const struct fth_warps *warps, uint32_t slot, uint32_t phase)
{
    const struct warp *warp = &warps->warps[(size_t)slot * warps->warps_per_block];
    uint64_t arrival = warps->blocks[slot].barrier_ready;
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        if (warp[i].at_barrier && warp[i].phase == phase && warp[i].arrival > arrival)
            arrival = warp[i].arrival;
    return arrival;
}

/* Lets the warps of a block go on if all of them have arrived at the barrier. */
static void check_barrier(struct fth_warps *warps, uint32_t slot)
{
    struct block *block = &warps->blocks[slot];
    if (!block->waiting || block->waiting < block->running)
        return;
    const uint32_t phase = find_first_phase(warps, slot);
    const uint64_t ready = find_arrival(warps, slot, phase);
    for (uint32_t i = 0; i < warps->warps_per_block; i++) {
        const uint32_t event = slot * warps->warps_per_block + i;
        if (!warps->warps[event].at_barrier || warps->warps[event].phase != phase)
            continue;
        warps->warps[event].at_barrier = false;
        fth_event_queue_add(warps->context.queue, event, ready);
        block->waiting--;
    }
    block->barrier_ready = 0;
}

static void end_warp(struct fth_warps *warps, uint32_t slot, const struct warp *warp, uint64_t now)
{
    struct block *block = &warps->blocks[slot];
    block->end = now > block->end ? now : block->end;
    for (uint8_t i = 0; i < warp->load_count; i++)
        block->end = warp->loads[i].ready > block->end ? warp->loads[i].ready : block->end;
    warps->end = block->end > warps->end ? block->end : warps->end;
    /* Other warps of the block may wait at a barrier for this one. */
    block->barrier_ready = now > block->barrier_ready ? now : block->barrier_ready;
    if (--block->running) {
        check_barrier(warps, slot);
        return;
    }
    fth_streams_close_block(warps->context.streams, block->index);
    fth_event_queue_add(warps->context.queue, fth_warps_first_slot_event(warps) + slot,
                        fth_dispatch_ready(warps->context.dispatch, slot, block->end));
}

/* ---- accesses ---- */

/* Lets a warp that has issued its last instruction at `now` issue `gap` more, which take at least
 * `latency` cycles. Returns when it issues the last one. */
static uint64_t issue_after(struct fth_warps *warps, uint32_t event, uint32_t gap, uint32_t latency,
                            uint64_t now)
{
    const uint64_t issue = warps->context.timing->issue, cycle = FTH_TICKS_PER_CYCLE;
    struct warp *warp = &warps->warps[event];
    const uint32_t sm = warps->blocks[event / warps->warps_per_block].sm;
    warp->issued += gap;
    const uint64_t running = now + (gap * issue > latency * cycle ? gap * issue : latency * cycle);
    const uint64_t at = wait_for_loads(warp, warp->issued, running, issue);
    uint64_t *free_at =
        &warps->scheduler_free_at[sm * warps->schedulers +
                                  event % warps->warps_per_block % warps->schedulers];
    *free_at = (*free_at > now ? *free_at : now) + gap * cycle;
    const uint64_t lead = at == running ? MAX_LEAD_CYCLES * cycle : 0;
    return *free_at > at + lead ? *free_at - lead : at;
}

/* Schedules the next access of a warp that has issued its last instruction at `now`. */
static enum fth_status schedule(struct fth_warps *warps, uint32_t event, uint64_t now,
                                struct fth_error *error)
{
    const struct fth_warps_context *context = &warps->context;
    const uint32_t slot = event / warps->warps_per_block;
    struct block *block = &warps->blocks[slot];
    struct warp *warp = &warps->warps[event];
    const struct fth_timed_access *access = NULL;
    FTH_TRY(fth_streams_peek(context->streams, block->index, warp->stream, &access, error));
    if (!access) {
        const uint64_t end =
            now + fth_streams_skipped(context->streams, block->index, warp->stream);
        const struct fth_timed_tail tail = fth_streams_tail(context->streams, warp->stream);
        end_warp(warps, slot, warp,
                 tail.gap ? issue_after(warps, event, tail.gap, tail.latency, end) : end);
        return FTH_OK;
    }
    const uint64_t at = issue_after(warps, event, access->gap, access->latency, now);
    if (!access->barrier) {
        fth_event_queue_add(context->queue, event, at);
        return FTH_OK;
    }
    warp->at_barrier = true;
    block->waiting++;
    warp->phase = access->phase;
    warp->arrival = at;
    check_barrier(warps, slot);
    return FTH_OK;
}

enum fth_status fth_warps_start_block(struct fth_warps *warps, uint32_t slot, uint32_t sm,
                                      uint64_t block, uint64_t now, struct fth_error *error)
{
    struct fth_warp_stream *streams = NULL;
    FTH_TRY(fth_streams_open_block(warps->context.streams, block, &streams, error));
    warps->blocks[slot] =
        (struct block){.index = block, .sm = sm, .running = warps->warps_per_block, .end = now};
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        warps->warps[slot * warps->warps_per_block + i] = (struct warp){.stream = &streams[i]};
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        FTH_TRY(schedule(warps, slot * warps->warps_per_block + i,
                         now + i * warps->context.timing->warp_gap, error));
    return FTH_OK;
}

enum fth_status fth_warps_run(struct fth_warps *warps, uint32_t event, uint64_t now,
                              struct fth_error *error)
{
    const struct block *block = &warps->blocks[event / warps->warps_per_block];
    struct warp *warp = &warps->warps[event];
    const struct fth_timed_access *access = warp->stream->first;
    const struct facts *facts = &warps->facts[access->instruction];
    uint64_t accepted, done;
    if (facts->is_local)
        fth_streams_place(warp->stream,
                          fth_local_address(warps->context.setting, event / warps->warps_per_block,
                                            event % warps->warps_per_block));
    if (access->shared)
        fth_timed_l1s_add_shared(warps->context.l1s, block->sm, access->shared, now);
    if (!fth_timed_l1s_access(warps->context.l1s, block->sm, access, facts->kind, now, &accepted,
                              &done))
        return fth_no_memory(error, "model caches", NULL);
    if (facts->kind != FTH_TRACE_WRITE && facts->wait != UINT32_MAX)
        add_load(warp, warp->issued + facts->wait, done);
    warps->end = done > warps->end ? done : warps->end;
    if (warps->context.sampler && access->line_count)
        fth_sampler_observe(warps->context.sampler, access->instruction, done - accepted);
    fth_streams_drop(warp->stream);
    return schedule(warps, event, accepted, error);
}
