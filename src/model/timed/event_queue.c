/* A calendar queue: a ring of buckets, one per cycle, each with a list of events. Adding and taking
 * an event take constant time, because almost all events are due within a few thousand cycles.
 * Later ones wait in a heap. They are moved to the ring as soon as it reaches their cycle, before
 * another event of this cycle can be added, so events of one cycle keep their order.
 *
 * A second position in the ring runs ahead of the next event. It lets callers load the data of
 * events into the host's caches before they are due. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Buckets of the ring. Chosen: longer than the latency of memory under full load (about 5,000
     * cycles), short enough to stay in the host's caches. */
    RING = 1 << 13,
    /* Maximum number of events that the second position is ahead. Chosen: processing these events
     * takes several times the latency of the host's memory. */
    MAX_AHEAD = 20
};

struct bucket {
    uint32_t first, last; /* UINT32_MAX: empty */
};

struct event {
    uint64_t time;
    uint32_t next; /* event of the same bucket; UINT32_MAX: none */
};

struct fth_event_queue {
    struct bucket buckets[RING];
    uint64_t used[RING / 64]; /* one bit per bucket that is not empty */
    struct event *events;     /* [events] */
    uint64_t cycle;           /* the current one */
    size_t in_ring;
    /* The second position: the last event that fth_event_queue_ahead() gave, and its cycle.
     * UINT32_MAX: it is before the first event of the cycle. */
    uint32_t ahead;
    uint64_t ahead_cycle;
    uint32_t distance; /* events up to this one, with it */
    uint32_t *late; /* [late_count] a binary heap: event i is due before events 2 i + 1, 2 i + 2 */
    size_t late_count;
    uint64_t *orders; /* [events] numbers the late events in the order in which they were added */
    uint64_t added;   /* late events so far */
};

enum fth_status fth_event_queue_create(uint32_t events, struct fth_event_queue **out,
                                       struct fth_error *error)
{
    struct fth_event_queue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (queue) {
        memset(queue->buckets, 0xff, sizeof queue->buckets);
        queue->ahead = UINT32_MAX;
        queue->events = calloc(events, sizeof *queue->events);
        queue->late = calloc(events, sizeof *queue->late);
        queue->orders = calloc(events, sizeof *queue->orders);
    }
    if (queue && queue->events && queue->late && queue->orders)
        return FTH_OK;
    fth_event_queue_destroy(queue);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

void fth_event_queue_destroy(struct fth_event_queue *queue)
{
    if (!queue)
        return;
    free(queue->events);
    free(queue->late);
    free(queue->orders);
    free(queue);
}

/* ---- late events ---- */

static uint64_t cycle_of(const struct fth_event_queue *queue, uint32_t event)
{
    return queue->events[event].time >> FTH_CYCLE_SHIFT;
}

static bool is_before(const struct fth_event_queue *queue, uint32_t a, uint32_t b)
{
    const uint64_t x = cycle_of(queue, a), y = cycle_of(queue, b);
    return x != y ? x < y : queue->orders[a] < queue->orders[b];
}

static void add_late(struct fth_event_queue *queue, uint32_t event)
{
    size_t at = queue->late_count++;
    queue->orders[event] = queue->added++;
    for (; at && is_before(queue, event, queue->late[(at - 1) / 2]); at = (at - 1) / 2)
        queue->late[at] = queue->late[(at - 1) / 2];
    queue->late[at] = event;
}

/* Removes the late event that is due first. There is one. */
static uint32_t take_late(struct fth_event_queue *queue)
{
    const uint32_t first = queue->late[0], moved = queue->late[--queue->late_count];
    size_t at = 0;
    for (size_t child = 1; child < queue->late_count; child = 2 * at + 1) {
        if (child + 1 < queue->late_count &&
            is_before(queue, queue->late[child + 1], queue->late[child]))
            child++;
        if (!is_before(queue, queue->late[child], moved))
            break;
        queue->late[at] = queue->late[child];
        at = child;
    }
    queue->late[at] = moved;
    return first;
}

/* ---- the ring ---- */

static void add_to_ring(struct fth_event_queue *queue, uint32_t event)
{
    const uint64_t cycle = cycle_of(queue, event);
    const uint32_t index = (uint32_t)(cycle % RING);
    struct bucket *bucket = &queue->buckets[index];
    queue->events[event].next = UINT32_MAX;
    if (bucket->first == UINT32_MAX)
        bucket->first = event;
    else
        queue->events[bucket->last].next = event;
    bucket->last = event;
    queue->used[index / 64] |= UINT64_C(1) << (index % 64);
    queue->in_ring++;
    if (cycle < queue->ahead_cycle)
        queue->distance++;
}

void fth_event_queue_add(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    const uint64_t present = queue->cycle << FTH_CYCLE_SHIFT;
    queue->events[event].time = time > present ? time : present;
    if (cycle_of(queue, event) - queue->cycle < RING)
        add_to_ring(queue, event);
    else
        add_late(queue, event);
}

/* Returns the first cycle from `cycle` on whose bucket is not empty. There is one. */
static uint64_t find_used(const struct fth_event_queue *queue, uint64_t cycle)
{
    const uint64_t start = cycle % RING;
    uint64_t word = start / 64;
    uint64_t bits = queue->used[word] >> (start % 64) << (start % 64);
    while (!bits) {
        word = (word + 1) % (RING / 64);
        bits = queue->used[word];
    }
    return cycle + (word * 64 + (uint64_t)__builtin_ctzll(bits) - start) % RING;
}

bool fth_event_queue_take(struct fth_event_queue *queue, uint32_t *event, uint64_t *time)
{
    if (!queue->in_ring && !queue->late_count)
        return false;
    /* All late events are due after those in the ring. */
    if (queue->in_ring)
        queue->cycle = find_used(queue, queue->cycle);
    else
        queue->cycle = cycle_of(queue, queue->late[0]);
    while (queue->late_count && cycle_of(queue, queue->late[0]) - queue->cycle < RING)
        add_to_ring(queue, take_late(queue));
    const uint32_t index = (uint32_t)(queue->cycle % RING);
    struct bucket *bucket = &queue->buckets[index];
    *event = bucket->first;
    *time = queue->events[*event].time;
    bucket->first = queue->events[*event].next;
    if (bucket->first == UINT32_MAX)
        queue->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
    queue->in_ring--;
    if (queue->distance <= 1) { /* the second position must not be behind */
        queue->ahead = UINT32_MAX;
        queue->ahead_cycle = queue->cycle;
        queue->distance = 0;
    } else {
        queue->distance--;
    }
    return true;
}

bool fth_event_queue_ahead(struct fth_event_queue *queue, uint32_t *event)
{
    if (queue->distance >= MAX_AHEAD || queue->distance >= queue->in_ring)
        return false;
    uint32_t next = UINT32_MAX;
    if (queue->ahead != UINT32_MAX)
        next = queue->events[queue->ahead].next;
    if (next == UINT32_MAX) {
        const bool passed = queue->ahead != UINT32_MAX;
        queue->ahead_cycle = find_used(queue, queue->ahead_cycle + passed);
        next = queue->buckets[queue->ahead_cycle % RING].first;
    }
    queue->ahead = *event = next;
    queue->distance++;
    return true;
}
