/* The queue of events of the model with time: the order in which it returns events. */
#include "../../check.h"
#include "model/timed/event_queue.h"

#define CYCLE ((uint64_t)FTH_TICKS_PER_CYCLE)

enum { RING = FTH_EVENT_RING, AHEAD = FTH_EVENTS_AHEAD, FRONT = FTH_EVENT_FRONT };

static struct fth_event_queue *create(uint32_t events)
{
    struct fth_event_queue *queue = NULL;
    assert_int_equal(fth_event_queue_create(events, &queue, NULL), FTH_OK);
    return queue;
}

static void expect(struct fth_event_queue *queue, uint32_t event, uint64_t time)
{
    uint32_t taken = UINT32_MAX;
    uint64_t at = UINT64_MAX;
    assert_true(fth_event_queue_take(queue, &taken, &at));
    assert_int_equal(taken, event);
    assert_int_equal(at, time);
}

static void expect_empty(struct fth_event_queue *queue)
{
    uint32_t event;
    uint64_t time;
    assert_false(fth_event_queue_take(queue, &event, &time));
}

static void events_are_taken_in_the_order_of_their_cycles(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(4);
    expect_empty(queue);
    fth_event_queue_add(queue, 0, 9 * CYCLE);
    fth_event_queue_add(queue, 1, 3 * CYCLE + 5);
    fth_event_queue_add(queue, 2, 0);
    fth_event_queue_add(queue, 3, 70 * CYCLE);
    expect(queue, 2, 0);
    expect(queue, 1, 3 * CYCLE + 5);
    expect(queue, 0, 9 * CYCLE);
    expect(queue, 3, 70 * CYCLE);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

/* Within a cycle, the order of arrival counts, not the tick. */
static void events_of_a_cycle_are_taken_in_the_order_of_arrival(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(4);
    fth_event_queue_add(queue, 3, 5 * CYCLE + 9);
    fth_event_queue_add(queue, 0, 5 * CYCLE + 1);
    fth_event_queue_add(queue, 2, 5 * CYCLE + CYCLE - 1);
    expect(queue, 3, 5 * CYCLE + 9);
    fth_event_queue_add(queue, 1, 5 * CYCLE);
    expect(queue, 0, 5 * CYCLE + 1);
    expect(queue, 2, 5 * CYCLE + CYCLE - 1);
    expect(queue, 1, 5 * CYCLE);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

static void a_time_that_has_passed_is_the_present(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(3);
    fth_event_queue_add(queue, 0, 100 * CYCLE + 7);
    fth_event_queue_add(queue, 1, 100 * CYCLE + 8);
    expect(queue, 0, 100 * CYCLE + 7);
    fth_event_queue_add(queue, 2, 40 * CYCLE);
    expect(queue, 1, 100 * CYCLE + 8);
    expect(queue, 2, 100 * CYCLE);
    fth_event_queue_destroy(queue);
}

/* Event 1 is beyond the ring when it is added. Event 2 is added later, and is due later, but is
 * within the ring. */
static void late_events_are_not_passed(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(3);
    fth_event_queue_add(queue, 0, 100 * CYCLE);
    fth_event_queue_add(queue, 1, (uint64_t)RING * CYCLE);
    expect(queue, 0, 100 * CYCLE);
    fth_event_queue_add(queue, 2, (uint64_t)(RING + 99) * CYCLE);
    expect(queue, 1, (uint64_t)RING * CYCLE);
    expect(queue, 2, (uint64_t)(RING + 99) * CYCLE);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

/* All three are due in one cycle. The first two are beyond the ring when they are added. */
static void late_events_keep_the_order_of_arrival(void **state)
{
    (void)state;
    const uint64_t due = (uint64_t)(RING + 50) * CYCLE;
    struct fth_event_queue *queue = create(4);
    fth_event_queue_add(queue, 2, due + 2);
    fth_event_queue_add(queue, 1, due + 1);
    fth_event_queue_add(queue, 3, 60 * CYCLE);
    expect(queue, 3, 60 * CYCLE);
    fth_event_queue_add(queue, 0, due);
    expect(queue, 2, due + 2);
    expect(queue, 1, due + 1);
    expect(queue, 0, due);
    fth_event_queue_destroy(queue);
}

/* An event of the list that the queue is compared with. */
struct listed {
    uint64_t time, order;
    bool added;
};

/* Returns the index of the event that is due next, or `count`. */
static size_t find_next(const struct listed *list, size_t count)
{
    size_t next = count;
    for (size_t i = 0; i < count; i++)
        if (list[i].added &&
            (next == count || list[i].time / CYCLE < list[next].time / CYCLE ||
             (list[i].time / CYCLE == list[next].time / CYCLE && list[i].order < list[next].order)))
            next = i;
    return next;
}

/* Up to 200 events at a time, most of them within a few cycles or within the ring, some far later.
 */
static void random_events_are_taken_in_order(void **state)
{
    (void)state;
    enum { EVENTS = 200, STEPS = 40000 };
    static struct listed list[EVENTS];
    static const uint64_t ranges[] = {
        1, 4, 600, RING, RING + 100, (uint64_t)3 * RING, (uint64_t)20 * RING};
    struct fth_event_queue *queue = create(EVENTS);
    struct fth_rng rng;
    uint64_t now = 0, order = 0;
    size_t late = 0;
    fth_rng_init(&rng, 1);
    memset(list, 0, sizeof list);
    for (size_t step = 0; step < STEPS; step++) {
        const size_t event = (size_t)fth_rng_below(&rng, EVENTS);
        if (!list[event].added && fth_rng_below(&rng, 5)) {
            const uint64_t cycles = fth_rng_below(&rng, ranges[fth_rng_below(&rng, 7)]);
            late += cycles >= RING;
            list[event] =
                (struct listed){now + cycles * CYCLE + fth_rng_below(&rng, CYCLE), order++, true};
            fth_event_queue_add(queue, (uint32_t)event, list[event].time);
            continue;
        }
        const size_t next = find_next(list, EVENTS);
        if (next == EVENTS) {
            expect_empty(queue);
            continue;
        }
        expect(queue, (uint32_t)next, list[next].time);
        now = list[next].time / CYCLE * CYCLE;
        list[next].added = false;
    }
    assert_in_range(late, 1000, STEPS);
    fth_event_queue_destroy(queue);
}

/* The events in the front are those that are taken next, in the same order. */
static void the_next_events_are_known(void **state)
{
    (void)state;
    enum { EVENTS = 200 };
    struct fth_event_queue *queue = create(EVENTS);
    assert_int_equal(fth_event_queue_ahead(queue), 0);
    for (uint32_t i = 0; i < EVENTS; i++)
        fth_event_queue_add(queue, i, (uint64_t)(i * 37 % EVENTS / 3) * 50 * CYCLE);
    uint32_t known[EVENTS + AHEAD] = {0}, event;
    uint64_t time;
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(fth_event_queue_take(queue, &event, &time));
        assert_true(i == 0 || event == known[i]);
        const uint32_t ahead = fth_event_queue_ahead(queue);
        assert_int_equal(ahead, FTH_MIN(EVENTS - 1 - i, AHEAD));
        for (uint32_t k = 0; k < ahead; k++)
            known[i + 1 + k] = fth_event_queue_soon(queue, k)->event;
    }
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

/* Events 4 to 6 are added before, among and after events of the front. */
static void events_are_added_to_the_front(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(7);
    for (uint32_t i = 0; i < 4; i++)
        fth_event_queue_add(queue, i, (10 + i * 10) * CYCLE);
    expect(queue, 0, 10 * CYCLE);
    fth_event_queue_soon(queue, 1)->lines = 7;
    fth_event_queue_add(queue, 4, 15 * CYCLE);
    fth_event_queue_add(queue, 5, 20 * CYCLE + 1);
    fth_event_queue_add(queue, 6, 40 * CYCLE + 1);
    assert_int_equal(fth_event_queue_ahead(queue), 5); /* without event 6 */
    assert_int_equal(fth_event_queue_soon(queue, 3)->event, 2);
    assert_int_equal(fth_event_queue_soon(queue, 3)->lines, 7);
    expect(queue, 4, 15 * CYCLE);
    expect(queue, 1, 20 * CYCLE);
    expect(queue, 5, 20 * CYCLE + 1);
    expect(queue, 2, 30 * CYCLE);
    expect(queue, 3, 40 * CYCLE);
    expect(queue, 6, 40 * CYCLE + 1);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

/* More events are added before the last one of the front than the front has places. They move the
 * last events of the front back to the ring: events 2 i + 1, in the same cycle as events 2 i. */
static void a_full_front_gives_events_back(void **state)
{
    (void)state;
    enum { FIRST = 2 * AHEAD, EVENTS = FIRST + 2 * FRONT };
    struct fth_event_queue *queue = create(EVENTS);
    for (uint32_t i = 0; i < FIRST; i++)
        fth_event_queue_add(queue, i, (100 + i / 2) * CYCLE + i);
    expect(queue, 0, 100 * CYCLE);
    for (uint32_t i = FIRST; i < EVENTS; i++)
        fth_event_queue_add(queue, i, 101 * CYCLE);
    expect(queue, 1, 100 * CYCLE + 1);
    expect(queue, 2, 101 * CYCLE + 2);
    expect(queue, 3, 101 * CYCLE + 3);
    for (uint32_t i = FIRST; i < EVENTS; i++)
        expect(queue, i, 101 * CYCLE);
    for (uint32_t i = 4; i < FIRST; i++)
        expect(queue, i, (100 + i / 2) * CYCLE + i);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_events_are_known),
        cmocka_unit_test(events_are_added_to_the_front),
        cmocka_unit_test(a_full_front_gives_events_back),
        cmocka_unit_test(events_are_taken_in_the_order_of_their_cycles),
        cmocka_unit_test(events_of_a_cycle_are_taken_in_the_order_of_arrival),
        cmocka_unit_test(a_time_that_has_passed_is_the_present),
        cmocka_unit_test(late_events_are_not_passed),
        cmocka_unit_test(late_events_keep_the_order_of_arrival),
        cmocka_unit_test(random_events_are_taken_in_order),
    };
    return cmocka_run_group_tests_name("event queue", tests, NULL, NULL);
}
