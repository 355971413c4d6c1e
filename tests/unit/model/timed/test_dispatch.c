/* Which block starts on which SM, and when, after the first wave. */
#include "timed_setup.h"

static const char *const eight_sms[] = {"gpu.sms", "8", "gpu.max_blocks", "2", NULL};

/* A dispatcher with what it was created from. */
struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_timing timing;
    struct fth_dispatch *dispatch;
};

/* Eight SMs in two GPCs of two TPCs each, or without a map. */
static struct fixture begin(uint32_t blocks, bool mapped, const char *mapping)
{
    struct fixture fixture = {.params = make_params(simple_gpu, eight_sms)};
    assert_int_equal(fth_model_set(fixture.params, "gpu.mapping", mapping, NULL), FTH_OK);
    fixture.setting = make_setting(fixture.params, blocks, 1);
    for (uint32_t sm = 0; sm < 8 && mapped; sm++) {
        fixture.params->sm_map.gpc[sm] = (uint16_t)(sm / 4);
        fixture.params->sm_map.tpc[sm] = (uint16_t)(sm / 2);
        fixture.params->sm_map.sms = 8;
    }
    return fixture;
}

static void create(struct fixture *fixture)
{
    assert_int_equal(fth_dispatch_create(fixture->params, &fixture->setting, &fixture->timing,
                                         &fixture->dispatch, NULL),
                     FTH_OK);
}

static void end(struct fixture *fixture)
{
    fth_dispatch_destroy(fixture->dispatch);
    fth_model_params_destroy(fixture->params);
}

static void expect_slot(struct fixture *fixture, uint32_t expected)
{
    uint32_t slot = UINT32_MAX;
    assert_true(fth_dispatch_choose(fixture->dispatch, &slot));
    assert_int_equal(slot, expected);
}

static void expect_none(struct fixture *fixture)
{
    uint32_t slot;
    assert_false(fth_dispatch_choose(fixture->dispatch, &slot));
}

static void slots_follow_the_mapping(void **state)
{
    (void)state;
    struct fixture fixture = begin(100, false, "7,6,5,4,3,2,1,0");
    create(&fixture);
    assert_int_equal(fth_dispatch_slots(fixture.dispatch), 16);
    assert_int_equal(fth_dispatch_sm(fixture.dispatch, 0), 7);
    assert_int_equal(fth_dispatch_sm(fixture.dispatch, 7), 0);
    assert_int_equal(fth_dispatch_sm(fixture.dispatch, 8), 7);
    assert_int_equal(fth_dispatch_place(fixture.dispatch, 7), 0);
    assert_int_equal(fth_dispatch_place(fixture.dispatch, 8), 1);
    end(&fixture);
    fixture = begin(5, false, "rr");
    create(&fixture);
    assert_int_equal(fth_dispatch_slots(fixture.dispatch), 5);
    end(&fixture);
}

/* 65536 SMs with 65536 blocks each, of which the grid has almost enough. */
static void too_many_slots_are_refused(void **state)
{
    (void)state;
    struct fixture fixture = begin(4000000000, false, "rr");
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_set(fixture.params, "gpu.sms", "65536", NULL), FTH_OK);
    assert_int_equal(fth_model_set(fixture.params, "gpu.max_blocks", "65536", NULL), FTH_OK);
    assert_int_equal(fth_model_set(fixture.params, "gpu.max_warps", "65536", NULL), FTH_OK);
    assert_int_equal(fth_model_set(fixture.params, "l1.size_bytes", "512", NULL), FTH_OK);
    fixture.setting = make_setting(fixture.params, 4000000000, 1);
    assert_int_equal(fth_dispatch_create(fixture.params, &fixture.setting, &fixture.timing,
                                         &fixture.dispatch, &error),
                     FTH_INVALID);
    assert_contains(error.cause, "at most 2^28");
    assert_null(fixture.dispatch);
    end(&fixture);
}

/* Slot i is on SM i; TPC i / 2 and GPC i / 4. */
static void gpcs_take_turns(void **state)
{
    (void)state;
    struct fixture fixture = begin(8, true, "rr");
    create(&fixture);
    for (uint32_t slot = 0; slot < 8; slot++)
        fth_dispatch_offer(fixture.dispatch, slot);
    /* Each TPC receives at most one block per turn. */
    expect_slot(&fixture, 0);
    expect_slot(&fixture, 2);
    expect_slot(&fixture, 4);
    expect_slot(&fixture, 6);
    expect_slot(&fixture, 1);
    expect_slot(&fixture, 3);
    expect_slot(&fixture, 5);
    expect_slot(&fixture, 7);
    expect_none(&fixture);
    end(&fixture);
}

/* In an order other than the plain one, another GPC can be the first, and the periods of the GPCs
 * begin at other times. */
static void orders_change_the_first_gpc_and_the_periods(void **state)
{
    (void)state;
    bool first_gpcs[2] = {false, false};
    uint64_t phases = 0;
    for (unsigned order = 0; order < 16; order++) {
        struct fixture fixture = begin(8, true, "rr");
        uint32_t slot = 0;
        fixture.timing.refill_period = 60;
        fixture.params->order = order;
        create(&fixture);
        const uint64_t ready = fth_dispatch_ready(fixture.dispatch, 0, 0);
        assert_true(ready <= 60);
        phases |= UINT64_C(1) << ready;
        for (uint32_t i = 0; i < 8; i++)
            fth_dispatch_offer(fixture.dispatch, i);
        assert_true(fth_dispatch_choose(fixture.dispatch, &slot));
        first_gpcs[slot / 4] = true;
        assert_true(order || slot == 0);
        end(&fixture);
    }
    assert_true(first_gpcs[0] && first_gpcs[1]);
    assert_true(__builtin_popcountll(phases) > 4);
}

/* Without TPCs, a GPC receives three blocks per turn. */
static void a_turn_has_three_blocks(void **state)
{
    (void)state;
    struct fixture fixture = begin(8, true, "rr");
    for (uint32_t sm = 0; sm < 8; sm++)
        fixture.params->sm_map.tpc[sm] = (uint16_t)sm;
    create(&fixture);
    static const uint32_t offered[] = {7, 6, 5, 4, 3, 2, 1, 0};
    static const uint32_t expected[] = {3, 2, 1, 7, 6, 5, 0, 4};
    for (size_t i = 0; i < FTH_COUNT(offered); i++)
        fth_dispatch_offer(fixture.dispatch, offered[i]);
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        expect_slot(&fixture, expected[i]);
    expect_none(&fixture);
    end(&fixture);
}

/* A turn continues with slots that are offered later, unless another GPC has been tried. */
static void turns_continue(void **state)
{
    (void)state;
    struct fixture fixture = begin(8, true, "rr");
    create(&fixture);
    fth_dispatch_offer(fixture.dispatch, 0);
    expect_slot(&fixture, 0);
    fth_dispatch_offer(fixture.dispatch, 4); /* the other GPC */
    fth_dispatch_offer(fixture.dispatch, 2); /* the same GPC, another TPC */
    fth_dispatch_offer(fixture.dispatch, 1); /* the same TPC as slot 0 */
    expect_slot(&fixture, 2);
    expect_slot(&fixture, 4);
    expect_slot(&fixture, 1);
    expect_none(&fixture);
    /* The lists of free slots are in order after slots were taken from their middle and end. */
    fth_dispatch_offer(fixture.dispatch, 0);
    fth_dispatch_offer(fixture.dispatch, 3);
    expect_slot(&fixture, 3); /* the turn of GPC 0 still has a block in the TPC of slots 0 and 1 */
    fth_dispatch_offer(fixture.dispatch, 2); /* after slot 0, which is now the last one */
    expect_slot(&fixture, 0);
    expect_slot(&fixture, 2);
    expect_none(&fixture);
    end(&fixture);
}

/* Without a map, all SMs are in one GPC, and each is a TPC: only the order of arrival counts,
 * except that a SM waits for the next turn if it has received a block in this one. */
static void without_a_map_the_order_of_arrival_counts(void **state)
{
    (void)state;
    struct fixture fixture = begin(16, false, "rr");
    create(&fixture);
    static const uint32_t offered[] = {5, 13, 2, 3, 4};
    static const uint32_t expected[] = {5, 2, 3, 13, 4};
    for (size_t i = 0; i < FTH_COUNT(offered); i++)
        fth_dispatch_offer(fixture.dispatch, offered[i]);
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        expect_slot(&fixture, expected[i]);
    expect_none(&fixture);
    end(&fixture);
}

static void gpcs_accept_blocks_once_per_period(void **state)
{
    (void)state;
    struct fixture fixture = begin(8, true, "rr");
    fixture.timing = (struct fth_timing){.refill = 260, .refill_period = 100};
    create(&fixture);
    static const struct {
        uint32_t slot;
        uint64_t end, ready;
    } rows[] = {{0, 0, 300},  {0, 39, 300}, {0, 40, 400},  {0, 139, 400},  {4, 0, 350},
                {4, 89, 350}, {4, 90, 450}, {7, 190, 550}, {3, 1000, 1300}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_dispatch_ready(fixture.dispatch, rows[i].slot, rows[i].end),
                         rows[i].ready);
    fixture.timing.refill = 0;
    assert_int_equal(fth_dispatch_ready(fixture.dispatch, 4, 0), 50);
    fixture.timing.refill_period = 0;
    assert_int_equal(fth_dispatch_ready(fixture.dispatch, 4, 123), 123);
    end(&fixture);
}

/* All SMs start within a time, the SMs of a TPC together. The next block of an SM follows later. */
static void sms_start_within_a_time(void **state)
{
    (void)state;
    uint64_t first[8];
    for (int seed = 1; seed <= 2; seed++) {
        struct fixture fixture = begin(16, true, "rr");
        bool differ = false, same = true;
        assert_int_equal(fth_model_set(fixture.params, "gpu.seed", seed == 1 ? "1" : "2", NULL),
                         FTH_OK);
        fixture.timing = (struct fth_timing){.start_spread = 1000, .block_gap = 7};
        create(&fixture);
        for (uint32_t slot = 0; slot < 8; slot++) {
            const uint64_t start = fth_dispatch_start(fixture.dispatch, slot);
            assert_in_range(start, 0, 999);
            assert_int_equal(start, fth_dispatch_start(fixture.dispatch, slot / 2 * 2));
            assert_int_equal(fth_dispatch_start(fixture.dispatch, slot + 8), start + 7);
            differ = differ || start != fth_dispatch_start(fixture.dispatch, 0);
            same = same && seed == 2 && start == first[slot];
            first[slot] = start;
        }
        assert_true(differ);
        assert_false(same); /* the order depends on the seed */
        end(&fixture);
    }
}

/* Each block starts later than it is placed, by up to the given time, which depends on the seed. */
static void blocks_start_at_different_times(void **state)
{
    (void)state;
    enum { BLOCKS = 1000 };
    uint64_t first[BLOCKS];
    for (int seed = 1; seed <= 2; seed++) {
        struct fixture fixture = begin(16, true, "rr");
        uint64_t sum = 0, same = 0;
        assert_int_equal(fth_model_set(fixture.params, "gpu.seed", seed == 1 ? "1" : "2", NULL),
                         FTH_OK);
        fixture.timing = (struct fth_timing){.block_jitter = 1000};
        create(&fixture);
        for (uint64_t block = 0; block < BLOCKS; block++) {
            const uint64_t jitter = fth_dispatch_jitter(fixture.dispatch, block);
            assert_in_range(jitter, 0, 999);
            sum += jitter;
            same += seed == 2 && jitter == first[block];
            first[block] = jitter;
        }
        assert_in_range(sum / BLOCKS, 450, 550);
        assert_in_range(same, 0, 20);
        end(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_follow_the_mapping),
        cmocka_unit_test(too_many_slots_are_refused),
        cmocka_unit_test(gpcs_take_turns),
        cmocka_unit_test(orders_change_the_first_gpc_and_the_periods),
        cmocka_unit_test(a_turn_has_three_blocks),
        cmocka_unit_test(turns_continue),
        cmocka_unit_test(without_a_map_the_order_of_arrival_counts),
        cmocka_unit_test(gpcs_accept_blocks_once_per_period),
        cmocka_unit_test(sms_start_within_a_time),
        cmocka_unit_test(blocks_start_at_different_times),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
