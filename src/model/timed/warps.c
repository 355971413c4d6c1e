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

enum {
    HOST_LINE_BYTES = 64, /* on x86-64 and most AArch64 */
    LOADS_PER_LINE = HOST_LINE_BYTES / sizeof(struct load),
    LOADS_IN_FIRST_LINE = 1
};

/* The first load is in the same line of the host's caches as the other members. */
struct warp {
    _Alignas(HOST_LINE_BYTES) struct fth_warp_stream *stream;
    const struct fth_timed_access *access; /* the next one; NULL: the warp has ended */
    uint32_t slot, sm;
    uint32_t issued;    /* instructions so far; can wrap around */
    uint32_t scheduler; /* index into scheduler_free_at */
    uint8_t load_count;
    bool at_barrier;
    bool waits;    /* for room in the queue of its scheduler */
    uint32_t next; /* then: the next younger warp that waits, or NO_WARP */
    uint64_t age;  /* warps that were started before it */
    struct load loads[MAX_LOADS];
};

/* Data of the next events is loaded into the host's caches in steps, because where it is depends on
 * other data: after each event, step i handles the event that is PREPARE_DISTANCE x i behind the
 * one that step 0 handles. */
enum { PREPARE_DISTANCE = 4, PREPARE_EVENTS = 32 };

/* An event that is being prepared. */
struct soon {
    uint32_t event;
    uint32_t lines; /* of its access that go to the L2, one bit per line */
};

/* The accesses of a scheduler that wait for the L1. They are processed in the order in which they
 * were added. An access has one place, and one more for each wavefront of shared memory before it,
 * up to MAX_PLACES: a warp has only some of its reads of shared memory in flight at a time. Fitted
 * to the times of the blocks of a kernel on an H200
 * (docs/results/h200/structure.md#how-blocks-of-an-sm-progress). If there is no room, warps wait
 * with their accesses, and the oldest warp gets the next free place. While warps wait, one event
 * per queue is pending. It is due when a place becomes free, and may belong to any of these warps.
 */
struct queue {
    uint64_t *left;  /* [queue_accesses] ring of the times at which the last accesses leave */
    uint32_t oldest; /* index of the oldest entry of the ring, which is replaced next */
    uint32_t first_waiting;
};

enum { MAX_PLACES = 8 };

enum { NO_WARP = UINT32_MAX };

struct block {
    uint64_t index; /* in the grid */
    uint32_t sm;
    uint32_t running;       /* warps that have not ended */
    uint32_t waiting;       /* of these, warps at a barrier */
    uint64_t barrier_ready; /* when the last warp has arrived there or ended */
    uint64_t end;           /* when the last access of an ended warp was complete */
};

/* What the model needs of an instruction. */
struct facts {
    enum fth_trace_access_kind kind;
    bool is_local;  /* accesses local memory */
    bool continues; /* a further part of another instruction (FTH_TRACE_CONTINUES) */
    uint32_t wait;
};

struct fth_warps {
    struct fth_warps_context context;
    uint32_t warps_per_block;
    uint32_t warp_count;         /* of all slots */
    uint32_t schedulers;         /* per SM */
    uint64_t *scheduler_free_at; /* [sms][schedulers] */
    struct queue *queues;        /* [sms][schedulers] */
    uint64_t *left;              /* [sms][schedulers][queue_accesses] of `queues` */
    uint64_t started;            /* warps so far */
    uint64_t accesses, requests; /* so far; `requests` without further parts of an instruction */
    struct block *blocks;        /* [slots] */
    struct warp *warps;          /* [slots][warps_per_block] */
    struct fth_arena memory;     /* of `warps` */
    struct facts *facts;         /* [instructions] */
    uint64_t *performed;         /* [instructions] accesses so far */
    uint64_t end;
    struct soon soon[PREPARE_EVENTS]; /* ring of the last events of warps that were prepared */
    uint32_t prepared;                /* events so far; wraps around */
};

/* Allocates the warps, aligned to lines of the host's caches. */
static struct warp *allocate_warps(struct fth_warps *warps)
{
    char *memory =
        fth_arena_array(&warps->memory, (size_t)warps->warp_count + 1, sizeof *warps->warps);
    const size_t rest = (uintptr_t)memory % HOST_LINE_BYTES;
    return memory ? (struct warp *)(void *)(memory + (rest ? HOST_LINE_BYTES - rest : 0)) : NULL;
}

/* Creates empty queues. Returns false without memory. */
static bool create_queues(struct fth_warps *warps, size_t count)
{
    const size_t places = warps->context.timing->queue_accesses;
    warps->queues = calloc(count, sizeof *warps->queues);
    warps->left = calloc(count * places + 1, sizeof *warps->left);
    if (!warps->queues || !warps->left)
        return false;
    for (size_t i = 0; i < count; i++)
        warps->queues[i] =
            (struct queue){.left = warps->left + i * places, .first_waiting = NO_WARP};
    return true;
}

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
    warps->warp_count = slots * warps->warps_per_block;
    warps->schedulers = (uint32_t)setting->schedulers;
    warps->scheduler_free_at =
        calloc((size_t)(setting->sms * setting->schedulers), sizeof *warps->scheduler_free_at);
    const bool has_queues = create_queues(warps, (size_t)(setting->sms * setting->schedulers));
    warps->blocks = calloc(slots, sizeof *warps->blocks);
    warps->warps = allocate_warps(warps);
    warps->facts = calloc(instructions + 1, sizeof *warps->facts);
    warps->performed = calloc(instructions + 1, sizeof *warps->performed);
    if (!warps->scheduler_free_at || !has_queues || !warps->blocks || !warps->warps ||
        !warps->facts || !warps->performed) {
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
            (struct facts){.kind = instruction->kind,
                           .is_local = (instruction->hints & FTH_TRACE_LOCAL) != 0,
                           .continues = (instruction->hints & FTH_TRACE_CONTINUES) != 0,
                           .wait = wait};
    }
    return FTH_OK;
}

void fth_warps_destroy(struct fth_warps *warps)
{
    if (!warps)
        return;
    free(warps->scheduler_free_at);
    free(warps->queues);
    free(warps->left);
    free(warps->blocks);
    fth_arena_fini(&warps->memory);
    free(warps->facts);
    free(warps->performed);
    free(warps);
}

uint32_t fth_warps_first_slot_event(const struct fth_warps *warps)
{
    return warps->warp_count;
}

uint64_t fth_warps_accesses(const struct fth_warps *warps)
{
    return warps->accesses;
}

const uint64_t *fth_warps_performed(const struct fth_warps *warps)
{
    return warps->performed;
}

uint64_t fth_warps_requests(const struct fth_warps *warps)
{
    return warps->requests;
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

/* Lets the warps of a block go on if all of them have arrived at the barrier. */
static void check_barrier(struct fth_warps *warps, uint32_t slot)
{
    struct block *block = &warps->blocks[slot];
    if (!block->waiting || block->waiting < block->running)
        return;
    for (uint32_t i = 0; i < warps->warps_per_block; i++) {
        const uint32_t event = slot * warps->warps_per_block + i;
        if (!warps->warps[event].at_barrier)
            continue;
        warps->warps[event].at_barrier = false;
        fth_event_queue_add(warps->context.queue, event, block->barrier_ready);
    }
    block->waiting = 0;
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
    warp->issued += gap;
    const uint64_t running = now + (gap * issue > latency * cycle ? gap * issue : latency * cycle);
    const uint64_t at = wait_for_loads(warp, warp->issued, running, issue);
    uint64_t *free_at = &warps->scheduler_free_at[warp->scheduler];
    *free_at = (*free_at > now ? *free_at : now) + gap * cycle;
    const uint64_t lead = at == running ? MAX_LEAD_CYCLES * cycle : 0;
    return *free_at > at + lead ? *free_at - lead : at;
}

/* Schedules the next access of a warp that has issued its last instruction at `now`. */
static enum fth_status schedule(struct fth_warps *warps, uint32_t event, uint64_t now,
                                struct fth_error *error)
{
    const struct fth_warps_context *context = &warps->context;
    struct warp *warp = &warps->warps[event];
    struct block *block = &warps->blocks[warp->slot];
    const struct fth_timed_access *access = NULL;
    const struct fth_timed_access *last = warp->access;
    FTH_TRY(fth_streams_next(context->streams, block->index, warp->stream, last, &access, error));
    warp->access = access;
    if (last)
        fth_streams_drop(last);
    if (!access) {
        const struct fth_timed_tail tail = fth_streams_tail(context->streams, warp->stream);
        end_warp(warps, warp->slot, warp,
                 tail.gap ? issue_after(warps, event, tail.gap, tail.latency, now) : now);
        return FTH_OK;
    }
    const uint64_t at = issue_after(warps, event, access->gap, access->latency, now);
    if (!access->barrier) {
        fth_event_queue_add(context->queue, event, at);
        return FTH_OK;
    }
    warp->at_barrier = true;
    block->waiting++;
    block->barrier_ready = at > block->barrier_ready ? at : block->barrier_ready;
    check_barrier(warps, warp->slot);
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
        warps->warps[slot * warps->warps_per_block + i] =
            (struct warp){.stream = &streams[i],
                          .slot = slot,
                          .sm = sm,
                          .age = warps->started++,
                          .scheduler = sm * warps->schedulers + i % warps->schedulers};
    const uint64_t start = now + fth_dispatch_jitter(warps->context.dispatch, block);
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        FTH_TRY(schedule(warps, slot * warps->warps_per_block + i,
                         start + i * warps->context.timing->warp_gap, error));
    return FTH_OK;
}

/* ---- the queue of a scheduler ---- */

/* Returns when the queue has a free place, ignoring warps that already wait for one. */
static uint64_t find_room(const struct fth_warps *warps, const struct queue *queue)
{
    return warps->context.timing->queue_accesses ? queue->left[queue->oldest] : 0;
}

/* Records that an access after some wavefronts of shared memory leaves the queue at `left`. */
static void add_to_queue(const struct fth_warps *warps, struct queue *queue, uint32_t wavefronts,
                         uint64_t left)
{
    const uint32_t size = warps->context.timing->queue_accesses;
    const uint32_t places = FTH_MIN(wavefronts, MAX_PLACES - 1) + 1;
    for (uint32_t i = 0; i < FTH_MIN(places, size); i++) {
        queue->left[queue->oldest] = left;
        queue->oldest = queue->oldest + 1 < size ? queue->oldest + 1 : 0;
    }
}

/* Lets a warp wait for room. */
static void wait_for_room(struct fth_warps *warps, struct queue *queue, uint32_t event)
{
    uint32_t *place = &queue->first_waiting;
    while (*place != NO_WARP && warps->warps[*place].age < warps->warps[event].age)
        place = &warps->warps[*place].next;
    warps->warps[event].waits = true;
    warps->warps[event].next = *place;
    *place = event;
}

/* Removes the oldest warp that waits. */
static uint32_t take_oldest(struct fth_warps *warps, struct queue *queue)
{
    const uint32_t event = queue->first_waiting;
    queue->first_waiting = warps->warps[event].next;
    warps->warps[event].waits = false;
    return event;
}

/* Performs the next access of a warp and schedules the one after it. */
static enum fth_status run_access(struct fth_warps *warps, uint32_t event, uint64_t now,
                                  struct fth_error *error)
{
    struct warp *warp = &warps->warps[event];
    const struct fth_timed_access *access = warp->access;
    const struct facts *facts = &warps->facts[access->instruction];
    struct fth_l1_times times;
    if (facts->is_local)
        fth_streams_place(warps->context.streams, access,
                          fth_local_address(warps->context.setting, warp->sm,
                                            fth_dispatch_place(warps->context.dispatch, warp->slot),
                                            event % warps->warps_per_block));
    if (access->shared)
        fth_timed_l1s_add_shared(warps->context.l1s, warp->sm, access->shared, now);
    if (!fth_timed_l1s_access(warps->context.l1s, warp->sm, access, facts->kind, now, &times))
        return fth_no_memory(error, "model caches", NULL);
    if (facts->kind != FTH_TRACE_WRITE && facts->wait != UINT32_MAX)
        add_load(warp, warp->issued + facts->wait, times.done);
    warps->end = fth_later(warps->end, times.done);
    add_to_queue(warps, &warps->queues[warp->scheduler], access->shared, times.left);
    warps->accesses++;
    warps->performed[access->instruction]++;
    warps->requests += !facts->continues;
    /* The warp needs the data of its shared-memory requests, which the L1 processes first. */
    return schedule(warps, event, access->shared ? times.begun : now, error);
}

enum fth_status fth_warps_run(struct fth_warps *warps, uint32_t event, uint64_t now,
                              struct fth_error *error)
{
    const struct warp *warp = &warps->warps[event];
    struct queue *queue = &warps->queues[warp->scheduler];
    const bool waited = warp->waits;
    const uint64_t room = find_room(warps, queue);
    if (!waited && (queue->first_waiting != NO_WARP || room > now)) {
        if (queue->first_waiting == NO_WARP)
            fth_event_queue_add(warps->context.queue, event, room);
        wait_for_room(warps, queue, event);
        return FTH_OK;
    }
    FTH_TRY(run_access(warps, waited ? take_oldest(warps, queue) : event, now, error));
    if (waited && queue->first_waiting != NO_WARP)
        fth_event_queue_add(warps->context.queue, queue->first_waiting, find_room(warps, queue));
    return FTH_OK;
}

/* Returns the event that a step of fth_warps_prepare() handles. */
static struct soon *soon(struct fth_warps *warps, uint32_t step)
{
    return &warps->soon[(warps->prepared - step * PREPARE_DISTANCE) % PREPARE_EVENTS];
}

void fth_warps_prepare(struct fth_warps *warps, uint32_t event)
{
    if (event >= warps->warp_count)
        return;
    const struct fth_timed_l1s *l1s = warps->context.l1s;
    warps->prepared++;
    *soon(warps, 0) = (struct soon){.event = event};
    fth_prefetch(&warps->warps[event]);
    const struct warp *warp = &warps->warps[soon(warps, 1)->event];
    fth_prefetch(warp->access);
    for (uint8_t i = LOADS_IN_FIRST_LINE; i < warp->load_count; i += LOADS_PER_LINE)
        fth_prefetch(&warp->loads[i].ready);
    warp = &warps->warps[soon(warps, 2)->event];
    if (warp->access) {
        fth_prefetch(warp->access->next);
        fth_timed_l1s_prepare(l1s, warp->sm, warp->access);
    }
    warp = &warps->warps[soon(warps, 3)->event];
    if (warp->access)
        soon(warps, 3)->lines = fth_timed_l1s_prepare_sets(l1s, warp->sm, warp->access);
    warp = &warps->warps[soon(warps, 4)->event];
    if (warp->access)
        fth_timed_l1s_prepare_slots(l1s, warp->sm, warp->access, soon(warps, 4)->lines);
}
