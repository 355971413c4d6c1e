/* When the warps of the resident blocks issue their accesses.
 *
 * A warp issues its instructions one after the other, at a fixed distance. It stops before the
 * first instruction that needs the result of a load that has not arrived; traces say after how many
 * instructions that is (fth_trace_instruction.wait). Each scheduler of an SM issues one instruction
 * per cycle, so warps also wait for each other; older ones go first if they need few instructions
 * up to their next access. At a barrier, a warp waits for all warps of its block that have not
 * ended. Each SM has a unit for constants, which processes the addresses of loads whose lanes use
 * several addresses one after the other. */
#include "model/timed/event_queue.h"

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
    uint32_t scheduler; /* index into fth_warps.schedulers */
    uint32_t position;  /* among the warps of its scheduler; see struct scheduler */
    uint16_t sm;
    uint8_t load_count;
    bool at_barrier : 1;
    bool issues_later : 1; /* its scheduler has not issued the instructions up to its next access */
    bool waits : 1;        /* for its scheduler, or for room in its queue */
    uint32_t constants;    /* addresses before its next access that the SM has not processed */
    uint64_t from;         /* the earliest time of the first instruction up to its next access */
    struct load loads[MAX_LOADS];
};

/* Data of the next events is loaded into the host's caches in steps, because where it is depends on
 * other data: after each event, step i handles the event that is PREPARE_DISTANCE x i before the
 * last one of fth_event_queue_ahead(). */
enum { PREPARE_DISTANCE = 4 };

/* A scheduler of an SM, and the queue of its accesses that wait for the L1. They are processed in
 * the order in which they were added. An access has one place, and one more for each wavefront of
 * shared memory before it, up to MAX_PLACES: a warp has only some of its reads of shared memory in
 * flight at a time. Fitted to an H200. If there is no room, or the scheduler has not issued the
 * instructions before an access, warps wait with their accesses, and the oldest warp is next. While
 * warps wait, one event per queue is pending, which may belong to any of these warps.
 *
 * Each warp has a position that is higher than those of all older warps of its scheduler, so the
 * oldest warp that waits has the lowest position of those that wait. */
struct scheduler {
    _Alignas(HOST_LINE_BYTES) uint64_t free_at;
    /* Ring of the times at which the last accesses leave. Without a limit: one element, 0. */
    uint64_t *left;
    uint32_t oldest;         /* index of the oldest entry of the ring, which is replaced next */
    uint32_t sent;           /* its last access that sent reads; see fth_timed_l1s_access() */
    uint32_t warps;          /* maximum number of resident warps */
    uint32_t waiting_count;  /* of these, warps that wait */
    uint32_t position_words; /* the number of positions / 64 */
    uint32_t next_position;  /* of the next warp that starts */
    uint32_t *events;        /* [positions] of the warps */
    uint64_t *waiting;       /* [position_words] one bit per position: whether the warp waits */
    uint64_t first_waiting;  /* `waiting`, if it is one word */
};

enum { MAX_PLACES = 4 };

#define NO_POSITION UINT32_MAX

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
    uint32_t warp_count; /* of all slots */
    uint32_t schedulers_per_sm;
    struct scheduler *schedulers; /* [sms][schedulers_per_sm] */
    const uint64_t *storage;      /* [sms] fth_timed_l1s_waits_until() */
    uint64_t *constants_free_at;  /* [sms] of the units for constants */
    uint64_t issue;               /* of the timing */
    uint32_t places;              /* queue_accesses of the timing */
    uint64_t accesses, requests;  /* so far; `requests` without further parts of an instruction */
    struct block *blocks;         /* [slots] */
    struct warp *warps;           /* [slots][warps_per_block] */
    struct fth_arena memory;      /* of `schedulers` and `warps` */
    struct facts *facts;          /* [instructions] */
    uint64_t *performed;          /* [instructions] accesses so far */
    uint64_t end;
};

/* Allocates an array that is aligned to lines of the host's caches. NULL: no memory. */
static void *allocate_lines(struct fth_warps *warps, size_t count, size_t bytes)
{
    const size_t lines = (count * bytes + HOST_LINE_BYTES - 1) / HOST_LINE_BYTES;
    char *memory = fth_arena_array(&warps->memory, lines + 1, HOST_LINE_BYTES);
    const size_t rest = (uintptr_t)memory % HOST_LINE_BYTES;
    return memory ? memory + (rest ? HOST_LINE_BYTES - rest : 0) : NULL;
}

/* Returns the number of warps of a block that the scheduler with an index in its SM has. */
static uint32_t warps_of_block(const struct fth_warps *warps, uint32_t index)
{
    return (warps->warps_per_block + warps->schedulers_per_sm - 1 - index) /
           warps->schedulers_per_sm;
}

/* Creates schedulers with empty queues. They have at least twice as many positions as warps, so
 * that positions need not be assigned anew too often. Returns false without memory. */
static bool create_schedulers(struct fth_warps *warps, size_t count)
{
    const uint32_t slots = fth_dispatch_slots(warps->context.dispatch);
    const uint32_t per_sm = warps->schedulers_per_sm;
    const size_t places = warps->places ? warps->places : 1;
    warps->schedulers = allocate_lines(warps, count, sizeof *warps->schedulers);
    uint64_t *left = allocate_lines(warps, count * places, sizeof *left);
    if (!warps->schedulers || !left)
        return false;
    for (uint32_t slot = 0; slot < slots; slot++) {
        const uint32_t first = fth_dispatch_sm(warps->context.dispatch, slot) * per_sm;
        for (uint32_t i = 0; i < per_sm; i++)
            warps->schedulers[first + i].warps += warps_of_block(warps, i);
    }
    for (size_t i = 0; i < count; i++) {
        struct scheduler *scheduler = &warps->schedulers[i];
        const uint32_t words = (scheduler->warps + 31) / 32;
        scheduler->left = left + i * places;
        scheduler->position_words = words;
        scheduler->events =
            fth_arena_array(&warps->memory, (size_t)words * 64, sizeof *scheduler->events);
        scheduler->waiting = words > 1 ? fth_arena_array(&warps->memory, words, sizeof(uint64_t))
                                       : &scheduler->first_waiting;
        if (!scheduler->events || !scheduler->waiting)
            return false;
    }
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
    warps->schedulers_per_sm = (uint32_t)setting->schedulers;
    warps->issue = context->timing->issue;
    warps->places = context->timing->queue_accesses;
    warps->storage = fth_timed_l1s_waits_until(context->l1s);
    const bool has_schedulers =
        create_schedulers(warps, (size_t)(setting->sms * setting->schedulers));
    warps->blocks = calloc(slots, sizeof *warps->blocks);
    warps->warps = allocate_lines(warps, warps->warp_count, sizeof *warps->warps);
    warps->facts = calloc(instructions + 1, sizeof *warps->facts);
    warps->performed = calloc(instructions + 1, sizeof *warps->performed);
    warps->constants_free_at = calloc(setting->sms, sizeof *warps->constants_free_at);
    if (!has_schedulers || !warps->blocks || !warps->warps || !warps->facts || !warps->performed ||
        !warps->constants_free_at) {
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
    free(warps->blocks);
    fth_arena_fini(&warps->memory);
    free(warps->facts);
    free(warps->performed);
    free(warps->constants_free_at);
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

/* Returns how long the instructions up to an access take at least, with it. */
static inline uint64_t shortest_time(const struct fth_warps *warps, uint32_t gap, uint32_t latency)
{
    return fth_later(gap * warps->issue, (uint64_t)latency << FTH_CYCLE_SHIFT);
}

/* Lets the warps of a block go on if all of them have arrived at the barrier. */
static void check_barrier(struct fth_warps *warps, uint32_t slot)
{
    struct block *block = &warps->blocks[slot];
    if (!block->waiting || block->waiting < block->running)
        return;
    for (uint32_t i = 0; i < warps->warps_per_block; i++) {
        const uint32_t event = slot * warps->warps_per_block + i;
        struct warp *warp = &warps->warps[event];
        if (!warp->at_barrier)
            continue;
        warp->at_barrier = false;
        warp->from =
            block->barrier_ready - shortest_time(warps, warp->access->gap, warp->access->latency);
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
 * if no other warp delays it. They take at least the time `running`. */
static inline uint64_t issue_alone(const struct fth_warps *warps, struct warp *warp, uint32_t gap,
                                   uint64_t running, uint64_t now)
{
    warp->issued += gap;
    return wait_for_loads(warp, warp->issued, now + running, warps->issue);
}

/* The same with the delay by other warps, which go first if they were there first. */
static inline uint64_t issue_in_turn(struct fth_warps *warps, struct warp *warp, uint32_t gap,
                                     uint64_t running, uint64_t now)
{
    const uint64_t cycle = FTH_TICKS_PER_CYCLE;
    const uint64_t at = issue_alone(warps, warp, gap, running, now);
    uint64_t *free_at = &warps->schedulers[warp->scheduler].free_at;
    *free_at = fth_later(*free_at, now) + gap * cycle;
    const uint64_t lead = at == now + running ? MAX_LEAD_CYCLES * cycle : 0;
    return *free_at > at + lead ? *free_at - lead : at;
}

/* Returns when a warp wants to issue its next access, after its last instruction at `now`. */
static inline uint64_t issue_access(struct fth_warps *warps, struct warp *warp, uint64_t now)
{
    const uint32_t gap = warp->access->gap;
    const uint64_t running = shortest_time(warps, gap, warp->access->latency);
    warp->issues_later = gap <= MAX_SHORT_GAP;
    const uint64_t at = warp->issues_later ? issue_alone(warps, warp, gap, running, now)
                                           : issue_in_turn(warps, warp, gap, running, now);
    warp->from = at - running;
    return at;
}

/* Ends a warp that has issued the instruction of its last access at `now`. */
static void run_tail(struct fth_warps *warps, struct warp *warp, uint64_t now)
{
    const struct fth_timed_tail tail = fth_streams_tail(warps->context.streams, warp->stream);
    if (tail.gap)
        now =
            issue_in_turn(warps, warp, tail.gap, shortest_time(warps, tail.gap, tail.latency), now);
    end_warp(warps, warp->slot, warp, now);
}

/* Lets a warp wait at a barrier that it reaches at `at`. */
static void arrive(struct fth_warps *warps, struct warp *warp, uint64_t at)
{
    struct block *block = &warps->blocks[warp->slot];
    warp->at_barrier = true;
    block->waiting++;
    block->barrier_ready = at > block->barrier_ready ? at : block->barrier_ready;
    check_barrier(warps, warp->slot);
}

/* Schedules the next access of a warp that has issued its last instruction at `now`. `last`: its
 * last access, or NULL. */
static inline enum fth_status schedule(struct fth_warps *warps, uint32_t event,
                                       const struct fth_timed_access *last, uint64_t now,
                                       struct fth_error *error)
{
    struct warp *warp = &warps->warps[event];
    const uint32_t instruction = last ? last->instruction : FTH_PACE_START;
    FTH_TRY(fth_streams_next(warps->context.streams, warps->blocks[warp->slot].index, warp->stream,
                             last, &warp->access, error));
    if (last)
        fth_streams_drop(last);
    if (!warp->access) {
        run_tail(warps, warp, now);
        return FTH_OK;
    }
    const uint64_t at = issue_access(warps, warp, now);
    warp->constants =
        fth_streams_constants(warps->context.streams, instruction, warp->access->instruction);
    if (warp->access->barrier)
        arrive(warps, warp, at);
    else
        fth_event_queue_add(warps->context.queue, event, at);
    return FTH_OK;
}

/* Returns the additional delay of the start of a warp. Warps of a block that share a scheduler
 * compete for it, so on an H200 they reach their first access at different times: the maximum delay
 * is half of the spread for each warp of the block before this one on the scheduler
 * (docs/results/h200/requests.md#how-close-warps-are). */
static uint64_t start_delay(const struct fth_warps *warps, uint64_t block, uint32_t warp)
{
    const uint64_t most = warp / warps->schedulers_per_sm * warps->context.timing->warp_spread / 2;
    return fth_draw(block, warp + UINT64_C(1)).first * most >> 16;
}

/* Assigns the positions of the warps of a scheduler anew, without gaps. */
static void renumber(struct fth_warps *warps, struct scheduler *scheduler)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scheduler->next_position; i++) {
        const uint32_t event = scheduler->events[i];
        const uint64_t bit = scheduler->waiting[i / 64] >> (i % 64) & 1;
        if (warps->warps[event].position != i) /* it has ended, and another one has its event */
            continue;
        scheduler->waiting[i / 64] ^= bit << (i % 64);
        scheduler->waiting[count / 64] |= bit << (count % 64);
        warps->warps[event].position = count;
        scheduler->events[count++] = event;
    }
    scheduler->next_position = count;
}

/* Returns a position for a warp that starts. */
static uint32_t take_position(struct fth_warps *warps, struct scheduler *scheduler, uint32_t event)
{
    if (scheduler->next_position == scheduler->position_words * 64)
        renumber(warps, scheduler);
    scheduler->events[scheduler->next_position] = event;
    return scheduler->next_position++;
}

enum fth_status fth_warps_start_block(struct fth_warps *warps, uint32_t slot, uint32_t sm,
                                      uint64_t block, uint64_t now, struct fth_error *error)
{
    struct fth_warp_stream *streams = NULL;
    FTH_TRY(fth_streams_open_block(warps->context.streams, block, &streams, error));
    warps->blocks[slot] =
        (struct block){.index = block, .sm = sm, .running = warps->warps_per_block, .end = now};
    for (uint32_t i = 0; i < warps->warps_per_block; i++) {
        struct warp *warp = &warps->warps[slot * warps->warps_per_block + i];
        *warp =
            (struct warp){.stream = &streams[i],
                          .slot = slot,
                          .sm = (uint16_t)sm,
                          .scheduler = sm * warps->schedulers_per_sm + i % warps->schedulers_per_sm,
                          .position = NO_POSITION};
        warp->position = take_position(warps, &warps->schedulers[warp->scheduler],
                                       slot * warps->warps_per_block + i);
    }
    const uint64_t start = now + fth_dispatch_jitter(warps->context.dispatch, block);
    for (uint32_t i = 0; i < warps->warps_per_block; i++)
        FTH_TRY(schedule(warps, slot * warps->warps_per_block + i, NULL,
                         start + i * warps->context.timing->warp_gap + start_delay(warps, block, i),
                         error));
    return FTH_OK;
}

/* ---- the queue of a scheduler ---- */

/* Returns when the scheduler of a warp has issued the instructions up to the next access of the
 * warp if it issues them next; 0: it has issued them before. The warp could issue them as late as
 * just before the access. */
static inline uint64_t issue_now(const struct scheduler *scheduler, const struct warp *warp)
{
    return warp->issues_later ? fth_later(scheduler->free_at, warp->from) +
                                    (uint64_t)warp->access->gap * FTH_TICKS_PER_CYCLE
                              : 0;
}

/* Returns when a warp can issue its next access, ignoring other warps that wait: when the queue has
 * a free place and its scheduler has issued the instructions before the access, which it has at
 * `issued`. */
static inline uint64_t find_room(const struct fth_warps *warps, const struct scheduler *scheduler,
                                 const struct warp *warp, uint64_t issued)
{
    const uint64_t lead = (uint64_t)MAX_LEAD_CYCLES * FTH_TICKS_PER_CYCLE;
    const uint64_t room = fth_later(warps->storage[warp->sm], scheduler->left[scheduler->oldest]);
    return fth_later(room + lead, issued) - lead;
}

/* Records that an access after some wavefronts of shared memory leaves the queue at `left`. */
static inline void add_to_queue(const struct fth_warps *warps, struct scheduler *scheduler,
                                uint32_t wavefronts, uint64_t left)
{
    uint32_t places = FTH_MIN(FTH_MIN(wavefronts, MAX_PLACES - 1) + 1, warps->places);
    for (; places; places--) {
        scheduler->left[scheduler->oldest++] = left;
        if (scheduler->oldest == warps->places)
            scheduler->oldest = 0;
    }
}

/* Lets a warp wait for room. */
static inline void wait_for_room(struct scheduler *scheduler, struct warp *warp)
{
    warp->waits = true;
    scheduler->waiting_count++;
    scheduler->waiting[warp->position / 64] |= UINT64_C(1) << (warp->position % 64);
}

/* Returns the event of the oldest warp that waits. There is one. */
static inline uint32_t find_oldest(const struct scheduler *scheduler)
{
    uint32_t word = 0;
    while (!scheduler->waiting[word])
        word++;
    return scheduler->events[word * 64 + (uint32_t)__builtin_ctzll(scheduler->waiting[word])];
}

/* Ends the waiting of a warp. */
static inline void stop_waiting(struct scheduler *scheduler, struct warp *warp)
{
    warp->waits = false;
    scheduler->waiting_count--;
    scheduler->waiting[warp->position / 64] ^= UINT64_C(1) << (warp->position % 64);
}

/* Performs the next access of a warp and schedules the one after it. `issued`: issue_now(). */
static enum fth_status run_access(struct fth_warps *warps, uint32_t event, uint64_t now,
                                  uint64_t issued, struct fth_error *error)
{
    struct warp *warp = &warps->warps[event];
    struct scheduler *scheduler = &warps->schedulers[warp->scheduler];
    const struct fth_timed_access *access = warp->access;
    const struct facts *facts = &warps->facts[access->instruction];
    struct fth_l1_times times;
    if (issued)
        scheduler->free_at = issued;
    if (facts->is_local)
        fth_streams_place(warps->context.streams, access,
                          fth_local_address(warps->context.setting, warp->sm,
                                            fth_dispatch_place(warps->context.dispatch, warp->slot),
                                            event % warps->warps_per_block));
    if (access->shared)
        fth_timed_l1s_add_shared(warps->context.l1s, warp->sm, access->shared, now);
    if (!fth_timed_l1s_access(warps->context.l1s, warp->sm, access, facts->kind, now,
                              &scheduler->sent, &times))
        return fth_no_memory(error, "model caches", NULL);
    if (facts->kind != FTH_TRACE_WRITE && facts->wait != UINT32_MAX)
        add_load(warp, warp->issued + facts->wait, times.done);
    warps->end = fth_later(warps->end, times.done);
    add_to_queue(warps, scheduler, access->shared, times.left);
    warps->accesses++;
    warps->performed[access->instruction]++;
    warps->requests += !facts->continues;
    /* The warp needs the data of its shared-memory requests, which the L1 processes first. */
    return schedule(warps, event, access, access->shared ? times.begun : now, error);
}

/* The event of warps that wait: the oldest one of the scheduler issues its access. */
static enum fth_status run_oldest(struct fth_warps *warps, uint32_t event, uint64_t now,
                                  struct fth_error *error)
{
    struct scheduler *scheduler = &warps->schedulers[warps->warps[event].scheduler];
    const uint64_t storage = warps->storage[warps->warps[event].sm];
    if (storage > now) { /* a line has begun to wait since the event was added */
        fth_event_queue_add(warps->context.queue, event, storage);
        return FTH_OK;
    }
    const uint32_t oldest = find_oldest(scheduler);
    struct warp *warp = &warps->warps[oldest];
    stop_waiting(scheduler, warp);
    FTH_TRY(run_access(warps, oldest, now, issue_now(scheduler, warp), error));
    if (!scheduler->waiting_count)
        return FTH_OK;
    const uint32_t next = find_oldest(scheduler);
    warp = &warps->warps[next];
    fth_event_queue_add(warps->context.queue, next,
                        find_room(warps, scheduler, warp, issue_now(scheduler, warp)));
    return FTH_OK;
}

/* Lets the unit for constants process the addresses that a warp loads before its access at `now`.
 * Returns how much later than that it has. */
static uint64_t load_constants(const struct fth_warps *warps, struct warp *warp, uint64_t now)
{
    uint64_t *free_at = &warps->constants_free_at[warp->sm];
    *free_at = fth_later(*free_at, warp->from) + warp->constants * warps->context.timing->constant;
    warp->constants = 0;
    return fth_later(*free_at, now) - now;
}

enum fth_status fth_warps_run(struct fth_warps *warps, uint32_t event, uint64_t now,
                              struct fth_error *error)
{
    struct warp *warp = &warps->warps[event];
    struct scheduler *scheduler = &warps->schedulers[warp->scheduler];
    if (warp->waits)
        return run_oldest(warps, event, now, error);
    const uint64_t delay = warp->constants ? load_constants(warps, warp, now) : 0;
    if (delay) {
        warp->from += delay;
        fth_event_queue_add(warps->context.queue, event, now + delay);
        return FTH_OK;
    }
    const uint64_t issued = issue_now(scheduler, warp);
    const uint64_t room = find_room(warps, scheduler, warp, issued);
    if (room <= now && !scheduler->waiting_count)
        return run_access(warps, event, now, issued, error);
    if (!scheduler->waiting_count)
        fth_event_queue_add(warps->context.queue, event, room);
    wait_for_room(scheduler, warp);
    return FTH_OK;
}

/* Begins the preparation of an event, unless it is none of a warp. */
static inline void begin_preparing(const struct fth_warps *warps, struct fth_soon *soon)
{
    if (soon->event >= warps->warp_count)
        return;
    soon->data = &warps->warps[soon->event];
    fth_prefetch(soon->data);
}

/* Prepares the access of a warp. That of a warp that waits was prepared before it began to wait. */
static inline void prepare_warp(struct fth_soon *soon)
{
    const struct warp *warp = soon->data;
    if (!warp)
        return;
    if (warp->waits) {
        soon->data = NULL;
        return;
    }
    fth_prefetch(warp->access);
    for (uint8_t i = LOADS_IN_FIRST_LINE; i < warp->load_count; i += LOADS_PER_LINE)
        fth_prefetch(&warp->loads[i].ready);
}

void fth_warps_prepare(struct fth_warps *warps)
{
    struct fth_event_queue *queue = warps->context.queue;
    const struct fth_timed_l1s *l1s = warps->context.l1s;
    const uint32_t count = fth_event_queue_ahead(queue);
    if (count)
        begin_preparing(warps, fth_event_queue_soon(queue, count - 1));
    if (count > PREPARE_DISTANCE)
        prepare_warp(fth_event_queue_soon(queue, count - 1 - PREPARE_DISTANCE));
    if (count <= 2 * PREPARE_DISTANCE)
        return;
    const struct fth_soon *entry = fth_event_queue_soon(queue, count - 1 - 2 * PREPARE_DISTANCE);
    const struct warp *warp = entry->data;
    if (warp) {
        fth_prefetch(warp->access->next);
        fth_timed_l1s_prepare(l1s, warp->sm, warp->access);
    }
    if (count <= 3 * PREPARE_DISTANCE)
        return;
    struct fth_soon *found = fth_event_queue_soon(queue, count - 1 - 3 * PREPARE_DISTANCE);
    warp = found->data;
    if (warp)
        found->lines = fth_timed_l1s_prepare_sets(l1s, warp->sm, warp->access);
    if (count <= 4 * PREPARE_DISTANCE)
        return;
    entry = fth_event_queue_soon(queue, count - 1 - 4 * PREPARE_DISTANCE);
    warp = entry->data;
    if (warp)
        fth_timed_l1s_prepare_slots(l1s, warp->sm, warp->access, entry->lines);
}
