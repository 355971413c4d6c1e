/* A calendar queue: a ring of buckets, one per cycle, each with a list of events. Adding and taking
 * an event take constant time, because almost all events are due within a few thousand cycles.
 * Later ones wait in a heap. They are moved to the ring as soon as it reaches their cycle, before
 * another event of this cycle can be added, so events of one cycle keep their order. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Buckets of the ring. Chosen: longer than the latency of memory under full load (about 5,000
     * cycles), short enough to stay in the host's caches. */
    RING = 1 << 13
};

struct bucket {
    uint32_t first, last; /* UINT32_MAX: empty */
};

struct fth_event_queue {
    struct bucket buckets[RING];
    uint64_t used[RING / 64]; /* one bit per bucket that is not empty */
    uint32_t *next;           /* [events] next event of the same bucket */
    uint64_t *times;          /* [events] */
    uint64_t cycle;           /* the current one */
    size_t in_ring;
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
        queue->next = calloc(events, sizeof *queue->next);
        queue->times = calloc(events, sizeof *queue->times);
        queue->late = calloc(events, sizeof *queue->late);
        queue->orders = calloc(events, sizeof *queue->orders);
    }
    if (queue && queue->next && queue->times && queue->late && queue->orders)
        return FTH_OK;
    fth_event_queue_destroy(queue);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

void fth_event_queue_destroy(struct fth_event_queue *queue)
{
    if (!queue)
        return;
    free(queue->next);
    free(queue->times);
    free(queue->late);
    free(queue->orders);
    free(queue);
}

/* ---- late events ---- */

static uint64_t cycle_of(const struct fth_event_queue *queue, uint32_t event)
{
    return queue->times[event] >> FTH_CYCLE_SHIFT;
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
    const uint32_t index = (uint32_t)(cycle_of(queue, event) % RING);
    struct bucket *bucket = &queue->buckets[index];
    queue->next[event] = UINT32_MAX;
    if (bucket->first == UINT32_MAX)
        bucket->first = event;
    else
        queue->next[bucket->last] = event;
    bucket->last = event;
    queue->used[index / 64] |= UINT64_C(1) << (index % 64);
    queue->in_ring++;
}

void fth_event_queue_add(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    const uint64_t present = queue->cycle << FTH_CYCLE_SHIFT;
    queue->times[event] = time > present ? time : present;
    if (cycle_of(queue, event) - queue->cycle < RING)
        add_to_ring(queue, event);
    else
        add_late(queue, event);
}

/* Returns the number of cycles from the current one to the next bucket that is not empty. There is
 * one. */
static uint64_t cycles_to_next(const struct fth_event_queue *queue)
{
    const uint64_t start = queue->cycle % RING;
    uint64_t word = start / 64;
    uint64_t bits = queue->used[word] >> (start % 64) << (start % 64);
    while (!bits) {
        word = (word + 1) % (RING / 64);
        bits = queue->used[word];
    }
    return (word * 64 + (uint64_t)__builtin_ctzll(bits) - start) % RING;
}

bool fth_event_queue_take(struct fth_event_queue *queue, uint32_t *event, uint64_t *time)
{
    if (!queue->in_ring && !queue->late_count)
        return false;
    /* All late events are due after those in the ring. */
    if (queue->in_ring)
        queue->cycle += cycles_to_next(queue);
    else
        queue->cycle = cycle_of(queue, queue->late[0]);
    while (queue->late_count && cycle_of(queue, queue->late[0]) - queue->cycle < RING)
        add_to_ring(queue, take_late(queue));
    const uint32_t index = (uint32_t)(queue->cycle % RING);
    struct bucket *bucket = &queue->buckets[index];
    *event = bucket->first;
    *time = queue->times[*event];
    bucket->first = queue->next[*event];
    if (bucket->first == UINT32_MAX)
        queue->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
    queue->in_ring--;
    return true;
}
