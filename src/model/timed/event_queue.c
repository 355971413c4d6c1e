/* The parts of the queue of events that are rarely needed; event_queue.h has the others. */
#include "model/timed/event_queue.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_event_queue_create(uint32_t events, struct fth_event_queue **out,
                                       struct fth_error *error)
{
    struct fth_event_queue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (queue) {
        memset(queue->buckets, 0xff, sizeof queue->buckets);
        queue->late_cycle = UINT64_MAX;
        queue->events = calloc(events, sizeof *queue->events);
        queue->late = calloc(events, sizeof *queue->late);
    }
    if (queue && queue->events && queue->late)
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
    free(queue);
}

/* ---- late events ---- */

static bool is_before(const struct fth_late_event *a, const struct fth_late_event *b)
{
    const uint64_t x = a->time >> FTH_CYCLE_SHIFT, y = b->time >> FTH_CYCLE_SHIFT;
    return x != y ? x < y : a->order < b->order;
}

static void set_late_cycle(struct fth_event_queue *queue)
{
    queue->late_cycle = queue->late_count ? queue->late[0].time >> FTH_CYCLE_SHIFT : UINT64_MAX;
}

static void add_late(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    const struct fth_late_event added = {time, queue->added++, event};
    size_t at = queue->late_count++;
    for (; at && is_before(&added, &queue->late[(at - 1) / 2]); at = (at - 1) / 2)
        queue->late[at] = queue->late[(at - 1) / 2];
    queue->late[at] = added;
    set_late_cycle(queue);
}

/* Removes the late event that is due first. There is one. */
static struct fth_late_event take_late(struct fth_event_queue *queue)
{
    const struct fth_late_event first = queue->late[0], moved = queue->late[--queue->late_count];
    size_t at = 0;
    for (size_t child = 1; child < queue->late_count; child = 2 * at + 1) {
        if (child + 1 < queue->late_count &&
            is_before(&queue->late[child + 1], &queue->late[child]))
            child++;
        if (!is_before(&queue->late[child], &moved))
            break;
        queue->late[at] = queue->late[child];
        at = child;
    }
    queue->late[at] = moved;
    set_late_cycle(queue);
    return first;
}

void fth_event_queue_move_late(struct fth_event_queue *queue)
{
    while (queue->late_count && queue->late_cycle - queue->cycle < FTH_EVENT_RING) {
        const struct fth_late_event moved = take_late(queue);
        fth_event_queue_add_to_ring(queue, moved.event, moved.time);
    }
}

bool fth_event_queue_skip(struct fth_event_queue *queue)
{
    if (!queue->late_count)
        return false;
    queue->cycle = queue->front_cycle = queue->late_cycle;
    fth_event_queue_move_late(queue);
    fth_event_queue_fill_front(queue);
    return true;
}

/* ---- the front ---- */

/* Moves the last event of the front back to the beginning of its bucket. */
static void push_back(struct fth_event_queue *queue)
{
    const struct fth_soon *last = fth_event_queue_soon(queue, queue->front_count - 1);
    const uint32_t tick = (uint32_t)last->time % FTH_TICKS_PER_CYCLE;
    queue->front_count--;
    queue->front_cycle = last->time >> FTH_CYCLE_SHIFT;
    const uint32_t index = (uint32_t)queue->front_cycle % FTH_EVENT_RING;
    struct fth_event_bucket *bucket = &queue->buckets[index];
    queue->events[last->event] = (struct fth_event){bucket->first, tick};
    if (bucket->first == FTH_NO_EVENT) {
        bucket->last = last->event;
        queue->used[index / 64] |= UINT64_C(1) << (index % 64);
    }
    bucket->first = last->event;
    queue->in_ring++;
}

/* Inserts an event into the front, before the first one that is due in a later cycle. Moves the
 * events before this place if they are less than half of the front; otherwise, those after it. */
static void insert(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    const uint64_t cycle = time >> FTH_CYCLE_SHIFT;
    const uint32_t half = queue->front_count++ / 2;
    uint32_t before = 0;
    while (before < half && fth_event_queue_soon(queue, before)->time >> FTH_CYCLE_SHIFT <= cycle)
        before++;
    if (before < half) {
        queue->front_first--;
        for (uint32_t i = 0; i < before; i++)
            *fth_event_queue_soon(queue, i) = *fth_event_queue_soon(queue, i + 1);
    } else {
        before = queue->front_count - 1;
        for (; before > half; before--) {
            const struct fth_soon *earlier = fth_event_queue_soon(queue, before - 1);
            if (earlier->time >> FTH_CYCLE_SHIFT <= cycle)
                break;
            *fth_event_queue_soon(queue, before) = *earlier;
        }
    }
    *fth_event_queue_soon(queue, before) = (struct fth_soon){time, event, 0, NULL};
}

void fth_event_queue_add_elsewhere(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    const uint64_t cycle = time >> FTH_CYCLE_SHIFT;
    if (cycle - queue->cycle >= FTH_EVENT_RING) {
        add_late(queue, event, time);
        return;
    }
    if (queue->front_count == FTH_EVENT_FRONT)
        push_back(queue);
    if (cycle < queue->front_cycle)
        insert(queue, event, time);
    else
        fth_event_queue_add_to_ring(queue, event, time);
}
