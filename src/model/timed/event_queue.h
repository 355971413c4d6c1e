/* The queue of events of the model with time. Its functions are called for each event, so those
 * that handle almost all events are inline; event_queue.c has the others.
 *
 * A calendar queue: a ring of buckets, one per cycle, each with a list of events. Adding and taking
 * an event take constant time, because almost all events are due within a few thousand cycles.
 * Later ones wait in a heap. They are moved to the ring as soon as it reaches their cycle, before
 * another event of this cycle can be added, so events of one cycle keep their order.
 *
 * The events that are due next are in an array, the front. It lets callers load the data of events
 * into the host's caches before they are due. */
#ifndef FTH_MODEL_TIMED_EVENT_QUEUE_H
#define FTH_MODEL_TIMED_EVENT_QUEUE_H

#include "model/timed/timed.h"

enum {
    /* Buckets of the ring. Chosen: longer than the latency of memory under full load (about 5,000
     * cycles), short enough to stay in the host's caches. */
    FTH_EVENT_RING = 1 << 13,
    /* Number of events in the front after each fth_event_queue_take(), if the ring has as many.
     * Chosen: processing these events takes several times the latency of the host's memory. */
    FTH_EVENTS_AHEAD = 20,
    /* Maximum number of events in the front: a power of two. */
    FTH_EVENT_FRONT = 32
};

#define FTH_NO_EVENT UINT32_MAX

struct fth_event_bucket {
    uint32_t first, last; /* first == FTH_NO_EVENT: empty */
};

/* An event in a bucket, whose cycle is that of the bucket. */
struct fth_event {
    uint32_t next; /* event of the same bucket; FTH_NO_EVENT: none */
    uint32_t tick; /* of the cycle */
};

/* An event in the front. */
struct fth_soon {
    uint64_t time;
    uint32_t event;
    uint32_t lines;   /* for the caller; 0 at first */
    const void *data; /* for the caller; NULL at first */
};

/* An event that is due after the end of the ring. */
struct fth_late_event {
    uint64_t time;
    uint64_t order; /* late events that were added before it */
    uint32_t event;
};

/* Events in the order of their times, in whole cycles; events of one cycle in the order in which
 * they were added. An event is a number; each number is in the queue at most once. */
struct fth_event_queue {
    uint64_t cycle; /* the current one */
    /* The cycle of the last event that was moved to the front. Events in the ring are not due
     * earlier, and those of the same cycle were added after those in the front. */
    uint64_t front_cycle;
    uint64_t late_cycle; /* of the first late event; UINT64_MAX: there is none */
    size_t in_ring;
    uint32_t front_first, front_count; /* modulo FTH_EVENT_FRONT, the index of the first event */
    struct fth_event *events;          /* [events] */
    struct fth_soon front[FTH_EVENT_FRONT]; /* a ring */
    uint64_t used[FTH_EVENT_RING / 64];     /* one bit per bucket that is not empty */
    struct fth_event_bucket buckets[FTH_EVENT_RING];
    /* [late_count] a binary heap: event i is due before events 2 i + 1 and 2 i + 2 */
    struct fth_late_event *late;
    size_t late_count;
    uint64_t added; /* late events so far */
};

FTH_MUST_USE enum fth_status fth_event_queue_create(uint32_t events, struct fth_event_queue **queue,
                                                    struct fth_error *error);
void fth_event_queue_destroy(struct fth_event_queue *queue);

/* ---- used by the inline functions ---- */

/* Adds an event that is due before an event of the front, or after the end of the ring. */
void fth_event_queue_add_elsewhere(struct fth_event_queue *queue, uint32_t event, uint64_t time);
/* Moves late events to the ring that are due before its end. */
void fth_event_queue_move_late(struct fth_event_queue *queue);
/* Goes on to the cycle of the first late event. False: there is none. */
bool fth_event_queue_skip(struct fth_event_queue *queue);

/* Sets front_cycle to the next cycle whose bucket is not empty. There is one. */
static inline void fth_event_queue_find_used(struct fth_event_queue *queue)
{
    const uint64_t start = queue->front_cycle % FTH_EVENT_RING;
    uint64_t word = start / 64;
    uint64_t bits = queue->used[word] >> (start % 64) << (start % 64);
    while (!bits) {
        word = (word + 1) % (FTH_EVENT_RING / 64);
        bits = queue->used[word];
    }
    queue->front_cycle += (word * 64 + (uint64_t)__builtin_ctzll(bits) - start) % FTH_EVENT_RING;
}

static inline void fth_event_queue_add_to_ring(struct fth_event_queue *queue, uint32_t event,
                                               uint64_t time)
{
    const uint32_t index = (uint32_t)(time >> FTH_CYCLE_SHIFT) % FTH_EVENT_RING;
    struct fth_event_bucket *bucket = &queue->buckets[index];
    queue->events[event] = (struct fth_event){FTH_NO_EVENT, (uint32_t)time % FTH_TICKS_PER_CYCLE};
    if (bucket->first == FTH_NO_EVENT) {
        bucket->first = event;
        queue->used[index / 64] |= UINT64_C(1) << (index % 64);
    } else {
        queue->events[bucket->last].next = event;
    }
    bucket->last = event;
    queue->in_ring++;
}

/* Moves the next event of the ring to the front. There is one, and room in the front. */
static inline void fth_event_queue_pull(struct fth_event_queue *queue)
{
    if (queue->buckets[queue->front_cycle % FTH_EVENT_RING].first == FTH_NO_EVENT)
        fth_event_queue_find_used(queue);
    const uint32_t index = (uint32_t)queue->front_cycle % FTH_EVENT_RING;
    struct fth_event_bucket *bucket = &queue->buckets[index];
    const uint32_t event = bucket->first;
    const struct fth_event pulled = queue->events[event];
    queue->front[(queue->front_first + queue->front_count++) % FTH_EVENT_FRONT] =
        (struct fth_soon){queue->front_cycle << FTH_CYCLE_SHIFT | pulled.tick, event, 0, NULL};
    bucket->first = pulled.next;
    if (pulled.next == FTH_NO_EVENT)
        queue->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
    queue->in_ring--;
}

/* Moves events of the ring to the front until it has one more than FTH_EVENTS_AHEAD. */
static inline void fth_event_queue_fill_front(struct fth_event_queue *queue)
{
    while (queue->front_count <= FTH_EVENTS_AHEAD && queue->in_ring)
        fth_event_queue_pull(queue);
}

/* ---- use ---- */

/* Adds an event. A time that has passed counts as the present one. */
static inline void fth_event_queue_add(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    time = fth_later(time, queue->cycle << FTH_CYCLE_SHIFT);
    const uint64_t cycle = time >> FTH_CYCLE_SHIFT;
    if (cycle >= queue->front_cycle && cycle - queue->cycle < FTH_EVENT_RING)
        fth_event_queue_add_to_ring(queue, event, time);
    else
        fth_event_queue_add_elsewhere(queue, event, time);
}

/* Removes the next event and gives its time in ticks. False: there is none. */
static inline bool fth_event_queue_take(struct fth_event_queue *queue, uint32_t *event,
                                        uint64_t *time)
{
    fth_event_queue_fill_front(queue);
    if (!queue->front_count && !fth_event_queue_skip(queue))
        return false;
    const struct fth_soon *next = &queue->front[queue->front_first++ % FTH_EVENT_FRONT];
    queue->front_count--;
    *event = next->event;
    *time = next->time;
    queue->cycle = next->time >> FTH_CYCLE_SHIFT;
    if (queue->late_cycle - queue->cycle < FTH_EVENT_RING)
        fth_event_queue_move_late(queue);
    return true;
}

/* Returns the number of events in the front, but at most FTH_EVENTS_AHEAD. */
static inline uint32_t fth_event_queue_ahead(const struct fth_event_queue *queue)
{
    return FTH_MIN(queue->front_count, FTH_EVENTS_AHEAD);
}

/* Returns the event that is taken after `before` others, if the front has that many. The entry
 * moves towards the beginning by one place with each event that is taken; events that are added
 * before it move it back. */
static inline struct fth_soon *fth_event_queue_soon(struct fth_event_queue *queue, uint32_t before)
{
    return &queue->front[(queue->front_first + before) % FTH_EVENT_FRONT];
}

#endif
