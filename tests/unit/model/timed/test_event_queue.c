/* The queue of events of the model with time: the order in which it returns events. */
#include "../../check.h"
#include "model/timed/timed.h"

#define CYCLE ((uint64_t)FTH_TICKS_PER_CYCLE)

/* Cycles that the queue keeps in buckets; later events are handled separately. */
enum { RING = 8192 };

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

/* The events that the queue gives ahead are those that it returns later, in the same order. */
static void events_are_given_ahead(void **state)
{
    (void)state;
    enum { EVENTS = 200, AHEAD = 20 };
    struct fth_event_queue *queue = create(EVENTS);
    uint32_t given[EVENTS], count = 0, event;
    assert_false(fth_event_queue_ahead(queue, &event));
    for (uint32_t i = 0; i < EVENTS; i++)
        fth_event_queue_add(queue, i, (uint64_t)(i * 37 % EVENTS / 3) * 50 * CYCLE);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t time;
        while (fth_event_queue_ahead(queue, &event))
            given[count++] = event;
        assert_int_equal(count, i + AHEAD < EVENTS ? i + AHEAD : EVENTS);
        assert_true(fth_event_queue_take(queue, &event, &time));
        assert_int_equal(event, given[i]);
    }
    assert_false(fth_event_queue_ahead(queue, &event));
    fth_event_queue_destroy(queue);
}

/* Event 3 is added before events that were already given; event 4 comes after them. */
static void added_events_do_not_disturb_those_ahead(void **state)
{
    (void)state;
    struct fth_event_queue *queue = create(6);
    uint32_t event = UINT32_MAX;
    fth_event_queue_add(queue, 0, 10 * CYCLE);
    fth_event_queue_add(queue, 1, 20 * CYCLE);
    fth_event_queue_add(queue, 2, 30 * CYCLE);
    while (fth_event_queue_ahead(queue, &event))
        continue;
    assert_int_equal(event, 2);
    expect(queue, 0, 10 * CYCLE);
    fth_event_queue_add(queue, 3, 15 * CYCLE);
    assert_false(fth_event_queue_ahead(queue, &event));
    fth_event_queue_add(queue, 4, 30 * CYCLE + 1);
    assert_true(fth_event_queue_ahead(queue, &event));
    assert_int_equal(event, 4);
    expect(queue, 3, 15 * CYCLE);
    expect(queue, 1, 20 * CYCLE);
    expect(queue, 2, 30 * CYCLE);
    expect(queue, 4, 30 * CYCLE + 1);
    /* Everything that was given is taken; the next event is given again. */
    fth_event_queue_add(queue, 5, (RING + 40) * CYCLE);
    assert_false(fth_event_queue_ahead(queue, &event)); /* it is beyond the ring */
    expect(queue, 5, (RING + 40) * CYCLE);
    expect_empty(queue);
    fth_event_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_given_ahead),
        cmocka_unit_test(added_events_do_not_disturb_those_ahead),
        cmocka_unit_test(events_are_taken_in_the_order_of_their_cycles),
        cmocka_unit_test(events_of_a_cycle_are_taken_in_the_order_of_arrival),
        cmocka_unit_test(a_time_that_has_passed_is_the_present),
        cmocka_unit_test(late_events_are_not_passed),
        cmocka_unit_test(late_events_keep_the_order_of_arrival),
        cmocka_unit_test(random_events_are_taken_in_order),
    };
    return cmocka_run_group_tests_name("event queue", tests, NULL, NULL);
}
