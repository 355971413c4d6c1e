/* A calendar queue: a ring of buckets, one per cycle, each with a list of events. Adding and taking
 * an event take constant time, because almost all events are due within a few thousand cycles.
 * Later ones wait in a list, which is looked through each time half of the ring has passed. */
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
    uint32_t *next;           /* [events] next event of the same bucket, or of the late ones */
    uint64_t *times;          /* [events] */
    uint64_t cycle;           /* the current one */
    uint64_t next_scan;       /* cycle in which the late events are looked through */
    size_t in_ring;
    uint32_t late; /* first one */
};

enum fth_status fth_event_queue_create(uint32_t events, struct fth_event_queue **out,
                                       struct fth_error *error)
{
    struct fth_event_queue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (queue) {
        memset(queue->buckets, 0xff, sizeof queue->buckets);
        queue->late = UINT32_MAX;
        queue->next_scan = RING / 2;
        queue->next = calloc(events, sizeof *queue->next);
        queue->times = calloc(events, sizeof *queue->times);
    }
    if (queue && queue->next && queue->times)
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
    free(queue);
}

void fth_event_queue_add(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    uint64_t cycle = time >> FTH_CYCLE_SHIFT;
    if (cycle < queue->cycle)
        cycle = queue->cycle;
    queue->times[event] = time;
    if (cycle - queue->cycle >= RING) {
        queue->next[event] = queue->late;
        queue->late = event;
        return;
    }
    const uint32_t index = (uint32_t)(cycle % RING);
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

/* Moves late events that are due within the ring into it. The list is in reverse order of arrival;
 * it is reversed first, so that events of one cycle keep this order. */
static void scan_late(struct fth_event_queue *queue)
{
    uint32_t event = queue->late, reversed = UINT32_MAX;
    queue->next_scan = queue->cycle + RING / 2;
    while (event != UINT32_MAX) {
        const uint32_t next = queue->next[event];
        queue->next[event] = reversed;
        reversed = event;
        event = next;
    }
    queue->late = UINT32_MAX;
    while (reversed != UINT32_MAX) {
        const uint32_t next = queue->next[reversed];
        fth_event_queue_add(queue, reversed, queue->times[reversed]);
        reversed = next;
    }
}

/* Returns the cycle of the earliest late event. There is one. */
static uint64_t first_late(const struct fth_event_queue *queue)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t event = queue->late; event != UINT32_MAX; event = queue->next[event])
        if (queue->times[event] >> FTH_CYCLE_SHIFT < first)
            first = queue->times[event] >> FTH_CYCLE_SHIFT;
    return first;
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
    if (!queue->in_ring) {
        if (queue->late == UINT32_MAX)
            return false;
        queue->cycle = first_late(queue);
        scan_late(queue);
    }
    queue->cycle += cycles_to_next(queue);
    if (queue->cycle >= queue->next_scan)
        scan_late(queue);
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

uint32_t fth_event_queue_peek(const struct fth_event_queue *queue)
{
    return queue->buckets[queue->cycle % RING].first;
}

void fth_event_queue_restart(struct fth_event_queue *queue)
{
    queue->cycle = 0;
    queue->next_scan = RING / 2;
}
