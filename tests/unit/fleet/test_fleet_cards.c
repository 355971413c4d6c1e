/* Tests of cards that were swapped or moved, and of fingerprints in fleets. */
#include "made_history.h"

enum { SMS = 132 };

/* ---- places ---- */

/* Finds the events of a fleet, which is destroyed. */
static struct fth_card_events events_of(struct fth_fleet *fleet)
{
    struct fth_card_events events;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    if (fth_card_events_find(fleet, &events, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_destroy(fleet);
    return events;
}

static void test_replaced(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node17", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node17", .time = day(2)});
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node18", .time = day(3)});
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 1);
    assert_int_equal(events.items[0].kind, FTH_CARD_REPLACED);
    assert_string_equal(events.items[0].sentence,
                        "node17 slot 0000:00:06.0: GPU-a replaced by GPU-b (2026-11-03); the old "
                        "card is now in node18 slot 0000:00:06.0");
    fth_card_events_fini(&events);

    fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node17", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node17", .time = day(2)});
    events = events_of(fleet);
    assert_int_equal(events.count, 1);
    assert_non_null(strstr(events.items[0].sentence, "has not been seen since"));
    fth_card_events_fini(&events);
}

static void test_moved(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .slot = "0000:00:06.0", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-a", .slot = "0000:00:07.0", .time = day(2)});
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 1);
    assert_int_equal(events.items[0].kind, FTH_CARD_MOVED);
    assert_string_equal(events.items[0].sentence,
                        "GPU-a moved from node1 slot 0000:00:06.0 to node1 slot 0000:00:07.0 "
                        "(2026-11-03)");
    fth_card_events_fini(&events);
}

/* Two cards that exchange their places are both named once. */
static void test_exchanged(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node1", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node2", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node1", .time = day(2)});
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node2", .time = day(2)});
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 2);
    assert_int_equal(events.items[0].kind, FTH_CARD_REPLACED);
    assert_int_equal(events.items[1].kind, FTH_CARD_REPLACED);
    fth_card_events_fini(&events);
}

/* A card that was replaced, came back and then moves is reported each time. */
static void test_moved_later(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node1", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node1", .time = day(2)});
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node1", .time = day(3)});
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node2", .time = day(4)});
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 3);
    assert_int_equal(events.items[0].kind, FTH_CARD_REPLACED);
    assert_int_equal(events.items[1].kind, FTH_CARD_REPLACED);
    assert_int_equal(events.items[2].kind, FTH_CARD_MOVED);
    assert_true(events.items[2].time == day(4));
    fth_card_events_fini(&events);

    fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node1", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node1", .time = day(2)});
    make(fleet, (struct made){.uuid = "GPU-a", .host = "node1", .time = day(3)});
    events = events_of(fleet);
    assert_int_equal(events.count, 2);
    assert_non_null(strstr(events.items[0].sentence, "the old card is in this slot again"));
    fth_card_events_fini(&events);
}

/* Without times, the order is unknown; slices share the slot of their GPU. */
static void test_no_events(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a"});
    make(fleet, (struct made){.uuid = "GPU-b"});
    make(fleet, (struct made){.uuid = "MIG-a", .time = day(1)});
    make(fleet, (struct made){.uuid = "MIG-b", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-c", .host = "node9", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-c", .host = "node9", .time = day(2)});
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 0);
    fth_card_events_fini(&events);
}

/* ---- fingerprints ---- */

/* Approximately normal, with mean 0 and standard deviation 1. */
static double normal(struct fth_rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += fth_rng_unit(rng);
    return sum;
}

/* Makes the map of a chip: latencies that differ by 3 %. */
static void make_chip(uint64_t seed, double *chip)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    for (int i = 0; i < SMS; i++)
        chip[i] = 278 * (1 + 0.03 * normal(&rng));
}

/* Adds measurements of a chip, with the noise that was measured on H200s. */
static void measure(struct fth_fleet *fleet, struct fth_rng *rng, struct made made, int first_day,
                    int count, const double *chip)
{
    for (int i = 0; i < count; i++) {
        double map[SMS];
        for (int j = 0; j < SMS; j++)
            map[j] = chip[j] * (1 + 0.0084 * normal(rng));
        made.time = day(first_day + i);
        made.map = map;
        made.sms = SMS;
        make(fleet, made);
    }
}

/* The distance is about 1 for one chip, whatever the numbers of runs. */
static void test_distance(void **state)
{
    (void)state;
    struct fth_rng rng;
    struct fth_fleet *fleet = new_fleet();
    struct fth_arena arena = {NULL};
    double chip[SMS], noise;
    make_chip(1, chip);
    fth_rng_init(&rng, 2);
    measure(fleet, &rng, (struct made){.uuid = "GPU-a"}, 1, 20, chip);
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    assert_int_equal(fth_card_noise(fleet, &noise, NULL), FTH_OK);
    assert_true(noise > 0.0076 && noise < 0.0092);
    static const size_t splits[] = {1, 5, 10, 19};
    for (size_t i = 0; i < FTH_COUNT(splits); i++) {
        struct fth_card_map a, b;
        const struct fth_history_span before = {fleet, fleet->by_gpu, splits[i]};
        const struct fth_history_span now = {fleet, fleet->by_gpu + splits[i], 20 - splits[i]};
        assert_int_equal(fth_card_map(&before, &arena, &a, NULL), FTH_OK);
        assert_int_equal(fth_card_map(&now, &arena, &b, NULL), FTH_OK);
        assert_int_equal(a.runs, splits[i]);
        const double distance = fth_card_distance(&a, &b, noise);
        assert_true(distance > 0.75 && distance < fth_card_same_limit);
    }
    fth_arena_fini(&arena);
    fth_fleet_destroy(fleet);
}

/* A UUID with another chip is reported, at the right time; a UUID with the same chip is not. */
static void test_other_chip(void **state)
{
    (void)state;
    struct fth_rng rng;
    struct fth_fleet *fleet = new_fleet();
    double first[SMS], second[SMS];
    make_chip(1, first);
    make_chip(2, second);
    fth_rng_init(&rng, 3);
    measure(fleet, &rng, (struct made){.uuid = "GPU-a", .host = "node1"}, 1, 6, first);
    measure(fleet, &rng, (struct made){.uuid = "GPU-a", .host = "node1"}, 7, 3, second);
    measure(fleet, &rng, (struct made){.uuid = "GPU-b", .host = "node2"}, 1, 9, first);
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 1);
    assert_int_equal(events.items[0].kind, FTH_CARD_OTHER_CHIP);
    assert_true(events.items[0].time == day(7));
    assert_true(events.items[0].distance > fth_card_other_limit);
    assert_non_null(strstr(events.items[0].sentence, "GPU-a: its fingerprint has changed"));
    fth_card_events_fini(&events);
}

/* 200 cards with 20 measurements each: no chip changes. */
static void test_no_other_chip(void **state)
{
    (void)state;
    struct fth_rng rng;
    struct fth_fleet *fleet = new_fleet();
    char uuid[16];
    fth_rng_init(&rng, 4);
    for (int i = 0; i < 200; i++) {
        double chip[SMS];
        make_chip((uint64_t)i, chip);
        snprintf(uuid, sizeof uuid, "GPU-%d", i);
        measure(fleet, &rng, (struct made){.uuid = uuid, .host = uuid}, 1, 20, chip);
    }
    struct fth_card_events events = events_of(fleet);
    assert_int_equal(events.count, 0);
    fth_card_events_fini(&events);
}

/* A card without a UUID: recognised; undecided, because two cards have the same map; unknown. */
static void test_recognised(void **state)
{
    (void)state;
    static const struct {
        uint64_t chip;
        enum fth_card_event_kind kind;
    } cases[] = {{1, FTH_CARD_RECOGNISED}, {2, FTH_CARD_UNDECIDED}, {9, FTH_CARD_UNKNOWN}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_rng rng;
        struct fth_fleet *fleet = new_fleet();
        double chip[SMS];
        fth_rng_init(&rng, 5);
        make_chip(1, chip);
        measure(fleet, &rng, (struct made){.uuid = "GPU-a", .host = "node1"}, 1, 8, chip);
        make_chip(2, chip);
        measure(fleet, &rng, (struct made){.uuid = "GPU-b", .host = "node2"}, 1, 8, chip);
        measure(fleet, &rng, (struct made){.uuid = "GPU-c", .host = "node3"}, 1, 8, chip);
        make_chip(cases[i].chip, chip);
        measure(fleet, &rng, (struct made){.host = "node7"}, 20, 2, chip);
        struct fth_card_events events = events_of(fleet);
        assert_int_equal(events.count, 1);
        assert_int_equal(events.items[0].kind, cases[i].kind);
        if (cases[i].kind == FTH_CARD_RECOGNISED) {
            assert_string_equal(events.items[0].other, "GPU-a");
            assert_non_null(strstr(events.items[0].sentence, "by its fingerprint, it is GPU-a"));
        }
        fth_card_events_fini(&events);
    }
}

/* The judgement has notes about the cards, and a finding for another chip. */
static void test_judged(void **state)
{
    (void)state;
    struct fth_rng rng;
    struct fth_fleet *fleet = new_fleet(), *last = new_fleet();
    struct fth_fleet_judgement *judgement = NULL;
    double first[SMS], second[SMS];
    make_chip(1, first);
    make_chip(2, second);
    fth_rng_init(&rng, 6);
    measure(fleet, &rng, (struct made){.uuid = "GPU-a", .host = "node1"}, 1, 8, first);
    measure(fleet, &rng, (struct made){.uuid = "GPU-b", .host = "node2"}, 1, 8, first);
    keep(fleet);
    measure(last, &rng, (struct made){.uuid = "GPU-a", .host = "node1"}, 10, 3, second);
    measure(last, &rng, (struct made){.uuid = "GPU-c", .host = "node2"}, 10, 3, first);
    assert_int_equal(fth_fleet_judge(last, NULL, &judgement, NULL), FTH_OK);
    struct fth_fleet_history *history = open_reading();
    assert_int_equal(fth_fleet_judge_history(judgement, history, NULL, NULL), FTH_OK);
    fth_fleet_history_close(history);
    assert_int_equal(judgement->note_count, 2);
    assert_int_equal(judgement->results[0].verdict, FTH_FLEET_SUSPECT);
    assert_string_equal(judgement->results[0].findings[0].figure, "l2.latency_by_sm_cycles");
    assert_non_null(judgement->results[0].cause);
    assert_non_null(strstr(judgement->results[0].cause, "another chip"));
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaced),   cmocka_unit_test(test_moved),
        cmocka_unit_test(test_exchanged),  cmocka_unit_test(test_moved_later),
        cmocka_unit_test(test_no_events),  cmocka_unit_test(test_distance),
        cmocka_unit_test(test_other_chip), cmocka_unit_test(test_no_other_chip),
        cmocka_unit_test(test_recognised), cmocka_unit_test_teardown(test_judged, remove_store),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
