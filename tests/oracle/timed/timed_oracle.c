/* The launches and warps of the oracle; see timed_oracle.h. The caches are in timed_memory.c. */
#include "timed_oracle.h"
#include "timed_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    REMEMBERED_LOADS = 12,
    BLOCKS_PER_TURN = 3,
    DEFAULT_GAP = 8,
    LONGEST_SHORT_GAP = 24,
    LEAD = 64 * CYCLE
};

enum event_kind { WARP_ISSUES, SLOT_IS_FREE, DISPATCHER };

struct event {
    uint64_t time;
    enum event_kind kind;
    size_t index; /* of the warp among all warps of all slots, or of the slot */
};

enum { MAX_PLACES = 4 }; /* of an access */
enum { MAX_QUEUE = 32 }; /* the longest queue of the tests */

struct load {
    uint64_t needed, ready;
};

struct warp {
    int64_t last_number;           /* access number of its last access; -1: none */
    uint32_t last;                 /* its instruction; UINT32_MAX: none */
    uint64_t issued, ready;        /* instructions; when it has issued the last access */
    uint64_t age;                  /* warps that started before it */
    bool waits;                    /* for its scheduler, or for room in its queue */
    uint64_t due;                  /* since when it waits */
    uint64_t barriers;             /* due ones, times 65536 */
    uint64_t gap, shared, latency; /* of its next access */
    uint64_t constants;            /* addresses before it that the SM has not begun */
    const struct timed_oracle_access *next;
    struct load loads[REMEMBERED_LOADS];
    size_t load_count;
    bool at_barrier, ended;
};

struct slot {
    uint64_t block, sm, end, barrier_time;
    uint64_t place; /* earlier slots of the SM */
};

struct run {
    const struct timed_gpu *gpu;
    const struct timed_instruction *instructions;
    const struct timed_launch *launch;
    struct timed_memory *memory;
    struct event *events; /* in the order in which they were added */
    size_t event_count;
    uint64_t cycle;     /* the current one */
    struct warp *warps; /* [slots][warps per block] */
    struct slot *slots;
    size_t slot_count;
    uint64_t resident; /* blocks that fit on an SM */
    uint64_t scheduler_free[TIMED_MAX_SMS][8];
    uint64_t constants_free[TIMED_MAX_SMS];
    struct queue {
        uint64_t left[MAX_QUEUE]; /* times at which the last accesses leave, once per place */
        size_t count;
        uint64_t sent; /* number of the last access that sent reads; 0: none */
    } queues[TIMED_MAX_SMS][8];
    uint64_t started;   /* warps */
    size_t *free_slots; /* in the order in which they became free */
    size_t free_count;
    bool dispatching;
    uint64_t next_block, gpc_count, turn_gpc, turn_blocks;
    bool served[TIMED_MAX_SMS]; /* [TPC] in this turn */
    uint64_t end;
};

/* ---- events ---- */

static void add_event(struct run *run, uint64_t time, enum event_kind kind, size_t index)
{
    run->events = realloc(run->events, (run->event_count + 1) * sizeof *run->events);
    if (!run->events)
        abort();
    run->events[run->event_count++] =
        (struct event){time / CYCLE < run->cycle ? run->cycle * CYCLE : time, kind, index};
}

/* Removes the event that happens next: the first one that was added of the earliest cycle. */
static bool take_event(struct run *run, struct event *event)
{
    size_t next = 0;
    if (run->event_count == 0)
        return false;
    for (size_t i = 1; i < run->event_count; i++)
        if (run->events[i].time / CYCLE < run->events[next].time / CYCLE)
            next = i;
    *event = run->events[next];
    run->cycle = event->time / CYCLE;
    run->event_count--;
    memmove(run->events + next, run->events + next + 1,
            (run->event_count - next) * sizeof *run->events);
    return true;
}

/* ---- warps ---- */

/* Finds the next access of a warp: the one with the lowest number after the last one. */
static const struct timed_oracle_access *find_access(const struct run *run, uint64_t block,
                                                     uint64_t warp, int64_t last_number)
{
    const struct timed_oracle_access *found = NULL;
    for (size_t i = 0; i < run->launch->access_count; i++) {
        const struct timed_oracle_access *access = &run->launch->accesses[i];
        if (access->block == block && access->warp == warp &&
            (int64_t)access->number > last_number && (!found || access->number < found->number))
            found = access;
    }
    return found;
}

static const struct timed_pace *find_pace(const struct run *run, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < run->launch->pace_count; i++)
        if (run->launch->pace[i].from == from && run->launch->pace[i].to == to)
            return &run->launch->pace[i];
    return NULL;
}

static uint64_t rounded(uint64_t sum, uint64_t count)
{
    return (2 * sum + count) / (2 * count);
}

/* Opens the barrier of a block if all warps that have not ended wait there. */
static void open_barrier(struct run *run, size_t slot)
{
    const uint64_t per_block = run->launch->warps;
    struct warp *warps = run->warps + slot * per_block;
    size_t waiting = 0;
    for (size_t i = 0; i < per_block; i++) {
        if (!warps[i].ended && !warps[i].at_barrier)
            return;
        waiting += warps[i].at_barrier;
    }
    if (waiting == 0)
        return;
    for (size_t i = 0; i < per_block; i++)
        if (warps[i].at_barrier) {
            warps[i].at_barrier = false;
            add_event(run, run->slots[slot].barrier_time, WARP_ISSUES, slot * per_block + i);
        }
    run->slots[slot].barrier_time = 0;
}

/* Returns when the slot of a block that ends at `end` becomes free. */
static uint64_t find_refill(const struct run *run, const struct slot *slot)
{
    const uint64_t period = timed_ticks(run->gpu->refill_period);
    const uint64_t earliest = slot->end + timed_ticks(run->gpu->refill_cycles);
    const uint64_t gpc = run->gpu->grouped ? run->gpu->gpc[slot->sm] : 0;
    if (period == 0)
        return earliest;
    uint64_t start = gpc * period / run->gpc_count;
    while (start <= earliest)
        start += period;
    return start;
}

static void end_warp(struct run *run, size_t index)
{
    struct warp *warp = &run->warps[index];
    const size_t slot_index = index / run->launch->warps;
    struct slot *slot = &run->slots[slot_index];
    warp->ended = true;
    slot->end = later(slot->end, warp->ready);
    slot->barrier_time = later(slot->barrier_time, warp->ready);
    for (size_t i = 0; i < warp->load_count; i++)
        slot->end = later(slot->end, warp->loads[i].ready);
    run->end = later(run->end, slot->end);
    for (size_t i = 0; i < run->launch->warps; i++)
        if (!run->warps[slot_index * run->launch->warps + i].ended) {
            open_barrier(run, slot_index);
            return;
        }
    add_event(run, find_refill(run, slot), SLOT_IS_FREE, slot_index);
}

/* Returns when the data of all loads that instruction `number` needs has arrived, and forgets
 * them. */
static uint64_t wait_for_loads(struct warp *warp, uint64_t number, uint64_t issue)
{
    uint64_t time = 0;
    size_t kept = 0;
    for (size_t i = 0; i < warp->load_count; i++) {
        if (warp->loads[i].needed <= number)
            time = later(time, warp->loads[i].ready + (number - warp->loads[i].needed) * issue);
        else
            warp->loads[kept++] = warp->loads[i];
    }
    warp->load_count = kept;
    return time;
}

/* Returns the time that a warp takes for warp->gap instructions if it waits for no data. */
static uint64_t find_length(const struct run *run, const struct warp *warp)
{
    return later(warp->gap * timed_ticks(run->gpu->issue_cycles), warp->latency * CYCLE);
}

static uint64_t *scheduler_of(struct run *run, size_t index)
{
    const uint64_t sm = run->slots[index / run->launch->warps].sm;
    return &run->scheduler_free[sm][index % run->launch->warps % run->gpu->schedulers];
}

/* Returns when a warp issues the last one of warp->gap instructions, of which the first one follows
 * its last access. `waits`: with the delay by the scheduler. */
static uint64_t find_issue(struct run *run, size_t index, bool waits)
{
    struct warp *warp = &run->warps[index];
    const uint64_t issue = timed_ticks(run->gpu->issue_cycles);
    warp->issued += warp->gap;
    const uint64_t running = warp->ready + find_length(run, warp);
    const uint64_t time = later(running, wait_for_loads(warp, warp->issued, issue));
    if (!waits)
        return time;
    uint64_t *scheduler = scheduler_of(run, index);
    *scheduler = later(*scheduler, warp->ready) + warp->gap * CYCLE;
    if (time > running)
        return later(time, *scheduler);
    return *scheduler > LEAD ? later(time, *scheduler - LEAD) : time;
}

/* Plans the next access of a warp, or ends the warp. */
static void plan(struct run *run, size_t index)
{
    const size_t slot_index = index / run->launch->warps;
    struct slot *slot = &run->slots[slot_index];
    struct warp *warp = &run->warps[index];
    warp->next = find_access(run, slot->block, index % run->launch->warps, warp->last_number);
    const struct timed_pace *pace =
        find_pace(run, warp->last, warp->next ? warp->next->instruction : UINT32_MAX);
    warp->gap = DEFAULT_GAP;
    warp->shared = warp->latency = warp->constants = 0;
    if (pace && pace->count) {
        warp->constants = rounded(pace->constants, pace->count);
        warp->gap = rounded(pace->instructions, pace->count);
        warp->shared = rounded(pace->shared, pace->count);
        warp->latency = rounded(pace->latency_cycles, pace->count);
        if (warp->next && !run->instructions[warp->next->instruction].continues)
            warp->barriers +=
                pace->barriers < pace->count ? pace->barriers * 65536 / pace->count : 65536;
    }
    if (!warp->next) {
        if (pace && pace->count && warp->gap)
            warp->ready = find_issue(run, index, true);
        end_warp(run, index);
        return;
    }
    warp->gap = later(1, warp->gap);
    const bool barrier = warp->barriers >= 65536;
    warp->barriers -= barrier ? 65536 : 0;
    if (run->instructions[warp->next->instruction].continues)
        warp->gap = warp->shared = warp->latency = warp->constants = 0;
    const uint64_t time = find_issue(run, index, warp->gap > LONGEST_SHORT_GAP);
    if (!barrier) {
        add_event(run, time, WARP_ISSUES, index);
        return;
    }
    warp->at_barrier = true;
    slot->barrier_time = later(slot->barrier_time, time);
    open_barrier(run, slot_index);
}

static void start_block(struct run *run, size_t slot, uint64_t block, uint64_t now)
{
    const uint64_t per_block = run->launch->warps;
    const uint64_t mixed =
        (block + 1 + run->gpu->seed * UINT64_C(0x2545F4914F6CDD1D)) * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t delay =
        mixed / (UINT64_C(1) << 48) * timed_ticks(run->gpu->jitter_cycles) / 65536;
    run->slots[slot].block = block;
    run->slots[slot].end = now;
    run->slots[slot].barrier_time = 0;
    for (size_t i = 0; i < per_block; i++) {
        const uint64_t warp =
            (block ^ (i + 1) * UINT64_C(0x2545F4914F6CDD1D)) * UINT64_C(0x9E3779B97F4A7C15);
        uint64_t ready = now + delay + i * timed_ticks(run->gpu->warp_cycles);
        const uint64_t most = i / run->gpu->schedulers * timed_ticks(run->gpu->spread_cycles) / 2;
        ready += warp / (UINT64_C(1) << 48) * most / 65536;
        run->warps[slot * per_block + i] = (struct warp){.last_number = -1,
                                                         .last = UINT32_MAX,
                                                         .age = run->started++,
                                                         .barriers = 65536 / 2,
                                                         .ready = ready};
    }
    for (size_t i = 0; i < per_block; i++)
        plan(run, slot * per_block + i);
}

/* ---- the queue of a scheduler ---- */

static struct queue *queue_of(struct run *run, size_t index)
{
    const uint64_t warps = run->launch->warps;
    return &run->queues[run->slots[index / warps].sm][index % warps % run->gpu->schedulers];
}

static void remember(struct queue *queue, uint64_t left)
{
    if (queue->count == MAX_QUEUE)
        memmove(queue->left, queue->left + 1, --queue->count * sizeof *queue->left);
    queue->left[queue->count++] = left;
}

/* Returns when the scheduler has issued the short gap of a warp that is due, if this is next. */
static uint64_t find_end_of_gap(struct run *run, size_t index)
{
    const struct warp *warp = &run->warps[index];
    const uint64_t length = find_length(run, warp);
    const uint64_t start = warp->due > length ? warp->due - length : 0;
    return later(*scheduler_of(run, index), start) + warp->gap * CYCLE;
}

/* Returns when an entry of the queue of a warp is free and its gap is issued. */
static uint64_t find_room(struct run *run, size_t index)
{
    const struct queue *queue = queue_of(run, index);
    const uint64_t places = run->gpu->queue_accesses;
    const uint64_t stalled =
        timed_memory_stalled(run->memory, run->slots[index / run->launch->warps].sm);
    const uint64_t room =
        later(stalled, places && queue->count >= places ? queue->left[queue->count - places] : 0);
    if (run->warps[index].gap > LONGEST_SHORT_GAP)
        return room;
    const uint64_t end = find_end_of_gap(run, index);
    return end < LEAD ? room : later(room, end - LEAD);
}

/* Finds the oldest warp that waits for room in a queue, or returns SIZE_MAX. */
static size_t find_waiting(struct run *run, const struct queue *queue)
{
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < run->slot_count * run->launch->warps; i++)
        if (run->warps[i].waits && queue_of(run, i) == queue &&
            (oldest == SIZE_MAX || run->warps[i].age < run->warps[oldest].age))
            oldest = i;
    return oldest;
}

static void issue_access(struct run *run, size_t index, uint64_t now)
{
    struct warp *warp = &run->warps[index];
    const struct timed_instruction *instruction = &run->instructions[warp->next->instruction];
    const uint64_t warps = run->launch->warps;
    const struct slot *slot = &run->slots[index / warps];
    const uint64_t most[2] = {run->gpu->max_warps, run->resident * warps};
    const struct timed_issue issue = {
        .sm = run->slots[index / warps].sm,
        .base = instruction->local ? oracle_local_memory(&run->gpu->local, most, slot->sm,
                                                         slot->place * warps + index % warps)
                                   : 0,
        .shared = warp->shared,
        .access = warp->next,
        .before = &queue_of(run, index)->sent,
        .instruction = instruction};
    struct timed_l1_times times;
    if (warp->gap <= LONGEST_SHORT_GAP)
        *scheduler_of(run, index) = find_end_of_gap(run, index);
    timed_memory_access(run->memory, &issue, now, &times);
    warp->ready = warp->shared ? times.begun : now;
    for (uint64_t place = 0; place < 1 + warp->shared && place < MAX_PLACES; place++)
        remember(queue_of(run, index), times.left);
    run->end = later(run->end, times.done);
    const uint32_t wait = run->launch->pace_count ? instruction->wait : 0;
    if (instruction->kind != FTH_TRACE_WRITE && wait != UINT32_MAX) {
        const struct load load = {warp->issued + wait, times.done};
        struct load *last = &warp->loads[REMEMBERED_LOADS - 1];
        if (warp->load_count < REMEMBERED_LOADS)
            warp->loads[warp->load_count++] = load;
        else
            *last = (struct load){load.needed < last->needed ? load.needed : last->needed,
                                  later(load.ready, last->ready)};
    }
    warp->last_number = (int64_t)warp->next->number;
    warp->last = warp->next->instruction;
    plan(run, index);
}

/* Lets the SM of a warp process the constants before its access, which is due at `now`. Returns
 * when they are complete, or 0 if there are none. */
static uint64_t process_constants(struct run *run, size_t index, uint64_t now)
{
    struct warp *warp = &run->warps[index];
    uint64_t *unit = &run->constants_free[run->slots[index / run->launch->warps].sm];
    if (warp->constants == 0)
        return 0;
    *unit = later(*unit, now - find_length(run, warp));
    *unit += warp->constants * timed_ticks(run->gpu->constant_cycles);
    warp->constants = 0;
    return *unit;
}

/* A warp wants to issue an access, or waits for room, which there is now. */
static void try_access(struct run *run, size_t index, uint64_t now)
{
    struct queue *queue = queue_of(run, index);
    const size_t oldest = find_waiting(run, queue);
    if (run->warps[index].waits) {
        const uint64_t stalled =
            timed_memory_stalled(run->memory, run->slots[index / run->launch->warps].sm);
        if (stalled > now) {
            add_event(run, stalled, WARP_ISSUES, index);
            return;
        }
        run->warps[oldest].waits = false;
        issue_access(run, oldest, now);
        const size_t next = find_waiting(run, queue);
        if (next != SIZE_MAX)
            add_event(run, find_room(run, next), WARP_ISSUES, next);
        return;
    }
    const uint64_t complete = process_constants(run, index, now);
    if (complete > now) {
        add_event(run, complete, WARP_ISSUES, index);
        return;
    }
    run->warps[index].due = now;
    const uint64_t room = find_room(run, index);
    if (oldest == SIZE_MAX && room <= now) {
        issue_access(run, index, now);
        return;
    }
    run->warps[index].waits = true;
    if (oldest == SIZE_MAX)
        add_event(run, room, WARP_ISSUES, index);
}

/* ---- dispatch ---- */

static uint64_t gpc_of(const struct run *run, size_t slot)
{
    return run->gpu->grouped ? run->gpu->gpc[run->slots[slot].sm] : 0;
}

static uint64_t tpc_of(const struct run *run, size_t slot)
{
    return run->gpu->grouped ? run->gpu->tpc[run->slots[slot].sm] : run->slots[slot].sm;
}

/* Chooses a free slot and removes it from the list. There is one. */
static size_t choose_slot(struct run *run)
{
    for (;;) {
        for (size_t i = 0; run->turn_blocks < BLOCKS_PER_TURN && i < run->free_count; i++) {
            const size_t slot = run->free_slots[i];
            if (gpc_of(run, slot) != run->turn_gpc || run->served[tpc_of(run, slot)])
                continue;
            run->served[tpc_of(run, slot)] = true;
            run->turn_blocks++;
            run->free_count--;
            memmove(run->free_slots + i, run->free_slots + i + 1,
                    (run->free_count - i) * sizeof *run->free_slots);
            return slot;
        }
        run->turn_gpc = (run->turn_gpc + 1) % run->gpc_count;
        run->turn_blocks = 0;
        memset(run->served, 0, sizeof run->served);
    }
}

static bool has_accesses(const struct run *run, uint64_t block)
{
    for (size_t i = 0; i < run->launch->access_count; i++)
        if (run->launch->accesses[i].block == block)
            return true;
    return false;
}

static void dispatch(struct run *run, uint64_t now)
{
    const bool sparse = run->launch->blocks > run->slot_count &&
                        run->launch->blocks / 16 > run->launch->access_count;
    while (sparse && run->next_block < run->launch->blocks && !has_accesses(run, run->next_block))
        run->next_block++;
    run->dispatching = run->next_block < run->launch->blocks && run->free_count > 0;
    if (!run->dispatching)
        return;
    const size_t slot = choose_slot(run);
    add_event(run, now + timed_ticks(run->gpu->dispatch_cycles), DISPATCHER, 0);
    start_block(run, slot, run->next_block++, now);
}

static void free_slot(struct run *run, size_t slot, uint64_t now)
{
    run->free_slots[run->free_count++] = slot;
    if (!run->dispatching)
        add_event(run, now, DISPATCHER, 0);
    run->dispatching = true;
}

/* ---- launches ---- */

static void run_events(struct run *run)
{
    struct event event;
    while (take_event(run, &event))
        switch (event.kind) {
        case WARP_ISSUES: try_access(run, event.index, event.time); break;
        case SLOT_IS_FREE: free_slot(run, event.index, event.time); break;
        case DISPATCHER: dispatch(run, event.time); break;
        }
}

/* Returns when an SM starts its first block. */
static uint64_t first_start(const struct timed_gpu *gpu, uint64_t sm)
{
    const uint64_t tpc = gpu->grouped ? gpu->tpc[sm] : sm;
    const uint64_t mixed =
        (tpc + 1 + gpu->seed * UINT64_C(0x2545F4914F6CDD1D)) * UINT64_C(0x9E3779B97F4A7C15);
    return mixed / (UINT64_C(1) << 48) * timed_ticks(gpu->start_cycles) / 65536;
}

static void run_launch(const struct timed_gpu *gpu, const struct timed_instruction *instructions,
                       const struct timed_launch *launch, struct timed_memory *memory,
                       struct timed_oracle_result *result)
{
    struct run run = {.gpu = gpu, .instructions = instructions, .launch = launch, .memory = memory};
    uint64_t resident = gpu->max_warps / launch->warps;
    resident = resident < gpu->max_blocks ? resident : gpu->max_blocks;
    run.resident = resident;
    run.slot_count = (size_t)(resident * gpu->sms);
    if (run.slot_count > launch->blocks)
        run.slot_count = (size_t)launch->blocks;
    run.slots = calloc(run.slot_count, sizeof *run.slots);
    run.free_slots = calloc(run.slot_count, sizeof *run.free_slots);
    run.warps = calloc(run.slot_count * (size_t)launch->warps, sizeof *run.warps);
    if (!run.slots || !run.free_slots || !run.warps)
        abort();
    run.gpc_count = 1;
    for (uint64_t sm = 0; gpu->grouped && sm < gpu->sms; sm++)
        run.gpc_count = later(run.gpc_count, gpu->gpc[sm] + 1u);
    timed_memory_begin(memory, result);
    for (size_t slot = 0; slot < run.slot_count; slot++)
        run.slots[slot].sm = gpu->sm_of_block[slot % gpu->mapped];
    for (size_t slot = 0; slot < run.slot_count; slot++) {
        uint64_t start = first_start(gpu, run.slots[slot].sm);
        for (size_t other = 0; other < slot; other++)
            if (run.slots[other].sm == run.slots[slot].sm) {
                start += timed_ticks(gpu->block_cycles);
                run.slots[slot].place++;
            }
        start_block(&run, slot, slot, start);
    }
    run.next_block = run.slot_count;
    run_events(&run);
    result->ticks = run.end + timed_ticks(gpu->launch_ns * gpu->clock_hz / 1e9);
    free(run.slots);
    free(run.free_slots);
    free(run.warps);
    free(run.events);
}

void timed_oracle_run(const struct timed_gpu *gpu, const struct timed_instruction *instructions,
                      const struct timed_launch *launches, size_t count,
                      struct timed_oracle_result *results)
{
    struct timed_memory *memory = timed_memory_create(gpu);
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count; i++)
        run_launch(gpu, instructions, &launches[i], memory, &results[i]);
    timed_memory_destroy(memory);
}
