/* When the warps of the resident blocks issue their accesses.
 *
 * A warp issues its instructions one after the other, at a fixed distance. It stops before the
 * first instruction that needs the result of a load that has not arrived; traces say after how many
 * instructions that is (fth_trace_instruction.wait). Each scheduler of an SM issues one instruction
 * per cycle, so warps also wait for each other; older ones go first if they need few instructions
 * up to their next access. At a barrier, a warp waits for all warps of its block that have not
 * ended. */
#include "model/timed/timed.h"

#include <stdlib.h>

/* Loads of one warp under way whose results are needed at different instructions. Chosen: loads
 * beyond that are combined with the last one, so the warp may wait for them too early. */
enum { MAX_LOADS = 12 };

/* A warp that need not wait for data goes on at once, even if its scheduler is behind by up to this
 * number of cycles. Fitted to an H200: the longer it is, the more often two loads of a warp that
 * follow each other directly merge. */
enum { MAX_LEAD_CYCLES = 64 };

/* Maximum number of instructions from an access to the next one, with it, for which older warps go
 * first. Fitted to an H200: older blocks advance faster in loops of about ten instructions
 * (docs/results/h200/l1-throughput.md#older-warps-first), but hardly in products of matrices. */
enum { MAX_SHORT_GAP = 24 };

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
    uint32_t slot;
    uint32_t issued;    /* instructions so far; can wrap around */
    uint32_t scheduler; /* index into scheduler_free_at */
    uint16_t sm;
    uint8_t load_count;
    bool at_barrier : 1;
    bool issues_later : 1; /* its scheduler has not issued the instructions up to its next access */
    bool waits : 1;        /* for its scheduler, or for room in its queue */
    uint32_t next;         /* then: the next younger warp that waits, or NO_WARP */
    uint32_t age;          /* warps that were started before it; can wrap around */
    uint64_t due;          /* when its next access would issue if no other warp delayed it */
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
 * to an H200. If there is no room, or the scheduler has not issued the instructions before an
 * access, warps wait with their accesses, and the oldest warp is next. While warps wait, one event
 * per queue is pending, which may belong to any of these warps. */
struct queue {
    uint64_t *left;  /* [queue_accesses] ring of the times at which the last accesses leave */
    uint32_t oldest; /* index of the oldest entry of the ring, which is replaced next */
    uint32_t first_waiting;
};

enum { MAX_PLACES = 4 };

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
    uint32_t started;            /* warps so far; can wrap around */
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

/* Returns when a warp that has issued its last instruction at `now` issues the last of `gap` more
 * if no other warp delays it. They take at least `latency` cycles. */
static uint64_t issue_alone(struct fth_warps *warps, struct warp *warp, uint32_t gap,
                            uint32_t latency, uint64_t now, uint64_t *running)
{
    const uint64_t issue = warps->context.timing->issue;
    warp->issued += gap;
    *running = now + fth_later(gap * issue, (uint64_t)latency * FTH_TICKS_PER_CYCLE);
    return wait_for_loads(warp, warp->issued, *running, issue);
}

/* The same with the delay by other warps, which go first if they were there first. */
static uint64_t issue_in_turn(struct fth_warps *warps, struct warp *warp, uint32_t gap,
                              uint32_t latency, uint64_t now)
{
    const uint64_t cycle = FTH_TICKS_PER_CYCLE;
    uint64_t running;
    const uint64_t at = issue_alone(warps, warp, gap, latency, now, &running);
    uint64_t *free_at = &warps->scheduler_free_at[warp->scheduler];
    *free_at = fth_later(*free_at, now) + gap * cycle;
    const uint64_t lead = at == running ? MAX_LEAD_CYCLES * cycle : 0;
    return *free_at > at + lead ? *free_at - lead : at;
}

/* Returns when a warp wants to issue its next access, after its last instruction at `now`. */
static uint64_t issue_access(struct fth_warps *warps, struct warp *warp, uint64_t now)
{
    const struct fth_timed_access *access = warp->access;
    uint64_t running;
    warp->issues_later = access->gap <= MAX_SHORT_GAP;
    if (warp->issues_later)
        return issue_alone(warps, warp, access->gap, access->latency, now, &running);
    return issue_in_turn(warps, warp, access->gap, access->latency, now);
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
                 tail.gap ? issue_in_turn(warps, warp, tail.gap, tail.latency, now) : now);
        return FTH_OK;
    }
    const uint64_t at = issue_access(warps, warp, now);
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

/* Returns the additional delay of the start of a warp. Warps of a block that share a scheduler
 * compete for it, so on an H200 they reach their first access at different times. */
static uint64_t start_delay(const struct fth_warps *warps, uint64_t block, uint32_t warp)
{
    return warps->warps_per_block > warps->schedulers
               ? fth_draw(block, warp + UINT64_C(1)).first * warps->context.timing->warp_spread >>
                     16
               : 0;
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
                          .sm = (uint16_t)sm,
                          .age = warps->started++,
                          .scheduler = sm * warps->schedulers + i % warps->schedulers};
    const uint64_t start = now + fth_dispatch_jitter(warps->context.dispatch, block);
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        FTH_TRY(schedule(warps, slot * warps->warps_per_block + i,
                         start + i * warps->context.timing->warp_gap + start_delay(warps, block, i),
                         error));
    return FTH_OK;
}

/* ---- the queue of a scheduler ---- */

/* Returns when the scheduler of a warp has issued the instructions up to the next access of the
 * warp if it issues them next. The warp could issue them as late as just before the access. */
static uint64_t issue_now(const struct fth_warps *warps, const struct warp *warp)
{
    const struct fth_timed_access *access = warp->access;
    const uint64_t needed = fth_later(access->gap * warps->context.timing->issue,
                                      (uint64_t)access->latency * FTH_TICKS_PER_CYCLE);
    const uint64_t from = warp->due > needed ? warp->due - needed : 0;
    return fth_later(warps->scheduler_free_at[warp->scheduler], from) +
           (uint64_t)access->gap * FTH_TICKS_PER_CYCLE;
}

/* Returns when a warp can issue its next access, ignoring other warps that wait: when the queue has
 * a free place and its scheduler has issued the instructions before the access. */
static uint64_t find_room(const struct fth_warps *warps, const struct queue *queue,
                          const struct warp *warp)
{
    const uint64_t lead = (uint64_t)MAX_LEAD_CYCLES * FTH_TICKS_PER_CYCLE;
    const uint64_t room = warps->context.timing->queue_accesses ? queue->left[queue->oldest] : 0;
    const uint64_t issued = warp->issues_later ? issue_now(warps, warp) : 0;
    return issued > lead ? fth_later(room, issued - lead) : room;
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
    while (*place != NO_WARP && (int32_t)(warps->warps[*place].age - warps->warps[event].age) < 0)
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
    if (warp->issues_later)
        warps->scheduler_free_at[warp->scheduler] = issue_now(warps, warp);
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
    struct warp *warp = &warps->warps[event];
    struct queue *queue = &warps->queues[warp->scheduler];
    const bool waited = warp->waits;
    if (!waited)
        warp->due = now;
    const uint64_t room = find_room(warps, queue, warp);
    if (!waited && (queue->first_waiting != NO_WARP || room > now)) {
        if (queue->first_waiting == NO_WARP)
            fth_event_queue_add(warps->context.queue, event, room);
        wait_for_room(warps, queue, event);
        return FTH_OK;
    }
    FTH_TRY(run_access(warps, waited ? take_oldest(warps, queue) : event, now, error));
    if (waited && queue->first_waiting != NO_WARP)
        fth_event_queue_add(warps->context.queue, queue->first_waiting,
                            find_room(warps, queue, &warps->warps[queue->first_waiting]));
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
