/* When the model with time is used, and its costs. */
#include "timed_setup.h"

static const char *const none[] = {NULL};

/* Returns whether the model with time is used, with the parameters of the simple GPU, `sets`, and
 * a value of gpu.timing. */
static enum fth_status choose(const char *timing, const char *const *sets, bool *timed,
                              struct fth_error *error)
{
    struct fth_model_params *params = make_params(simple_gpu, sets);
    assert_int_equal(fth_model_set(params, "gpu.timing", timing, NULL), FTH_OK);
    const enum fth_status status = fth_timing_choose(params, timed, error);
    fth_model_params_destroy(params);
    return status;
}

static void the_parameter_decides(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    bool timed = false;
    assert_int_equal(choose("on", none, &timed, &error), FTH_OK);
    assert_true(timed);
    assert_int_equal(choose("off", none, &timed, &error), FTH_OK);
    assert_false(timed);
    assert_int_equal(choose("auto", none, &timed, &error), FTH_OK);
    assert_true(timed);
    struct fth_model_params *params = NULL;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    assert_int_not_equal(fth_model_set(params, "gpu.timing", "perhaps", &error), FTH_OK);
    fth_model_params_destroy(params);
}

static void what_is_not_possible_has_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *sets[5], *reason;
    } rows[] = {{{"l1.latency_cycles", "0", NULL}, "a latency or a bandwidth is unknown"},
                {{"l2.latency_cycles", "0", NULL}, "a latency or a bandwidth is unknown"},
                {{"memory.latency_cycles", "0", NULL}, "a latency or a bandwidth is unknown"},
                {{"l2.bytes_per_s", "0", NULL}, "a latency or a bandwidth is unknown"},
                {{"memory.bytes_per_s", "0", NULL}, "a latency or a bandwidth is unknown"},
                {{"gpu.clock_hz", "0", NULL}, "the clock"},
                {{"l2.line_bytes", "64", NULL}, "lines or sectors of L1 and L2"},
                {{"l1.sector_bytes", "64", NULL}, "lines or sectors of L1 and L2"},
                {{"l1.sector_bytes", "2", "l2.sector_bytes", "2", NULL}, "more than 32 sectors"},
                {{"l1.fill_bytes", "64", NULL}, "fetches more than one sector"},
                {{"l2.bypass", "won", NULL}, "bypass the L2"},
                {{"l1.banks", "2", NULL}, "several partitions or banks"},
                {{"l2.partitions", "2", NULL}, "several partitions or banks"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        bool timed = true;
        assert_int_equal(choose("on", rows[i].sets, &timed, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].reason);
        assert_contains(error.cause, "gpu.timing=off");
        assert_int_equal(choose("auto", rows[i].sets, &timed, &error), FTH_OK);
        assert_false(timed);
    }
}

/* The limits are accepted: 32 sectors, a line without sectors, fills of a sector. */
static void what_is_just_possible_is_accepted(void **state)
{
    (void)state;
    static const char *const rows[][7] = {
        {"l1.sector_bytes", "4", "l2.sector_bytes", "4", NULL},
        {"l1.sector_bytes", "0", "l2.sector_bytes", "0", "l1.fill_bytes", "64", NULL},
        {"l1.fill_bytes", "32", NULL}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        bool timed = false;
        assert_int_equal(choose("auto", rows[i], &timed, &error), FTH_OK);
        assert_true(timed);
    }
}

/* With "auto", a parameter that only the model without time has selects this model. */
static void parameters_of_the_other_model_select_it(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"l1.partitions", "1", NULL}, {"l1.partition_bytes", "0", NULL},
        {"l2.banks", "1", NULL},      {"l2.bank_bytes", "0", NULL},
        {"l1.ports", "1", NULL},      {"l2.mshr_sets", "1", NULL},
        {"l1.mshr_size", "4", NULL},  {"l2.mshr_merges", "2", NULL},
        {"l1.latency", "4", NULL},    {"l2.join_rounds", "3", NULL},
        {"l2.latency", "a1", NULL}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        bool timed = true;
        assert_int_equal(choose("auto", rows[i], &timed, &error), FTH_OK);
        assert_false(timed);
        assert_int_equal(choose("on", rows[i], &timed, &error), FTH_OK);
        assert_true(timed);
    }
}

static struct fth_timing read_timing(const char *const *sets)
{
    struct fth_model_params *params = make_params(simple_gpu, sets);
    const struct fth_setting setting = make_setting(params, 1, 1);
    struct fth_timing timing;
    fth_timing_read(params, &setting, &timing);
    fth_model_params_destroy(params);
    return timing;
}

static void costs_are_in_ticks(void **state)
{
    (void)state;
    static const char *const sets[] = {"time.issue_cycles",
                                       "2.5",
                                       "time.port_cycles",
                                       "1.1",
                                       "time.join_cycles",
                                       "7",
                                       "time.join_reads",
                                       "3",
                                       "time.merge_cycles",
                                       "34",
                                       "time.store_merge_cycles",
                                       "30",
                                       "time.block_cycles",
                                       "0.5",
                                       "time.start_cycles",
                                       "300",
                                       "time.jitter_cycles",
                                       "100",
                                       "time.warp_cycles",
                                       "8",
                                       "time.refill_cycles",
                                       "260",
                                       "time.refill_period_cycles",
                                       "150",
                                       "time.launch_ns",
                                       "2000",
                                       "l2.far_latency_cycles",
                                       "26",
                                       "gpu.clock_hz",
                                       "2e9",
                                       NULL};
    const struct fth_timing timing = read_timing(sets);
    assert_int_equal(timing.issue, 2.5 * CYCLE);
    assert_int_equal(timing.l1_hit, 10 * CYCLE);
    assert_int_equal(timing.l1_cycle, CYCLE);
    assert_int_equal(timing.port, 4506); /* 1.1 x 4096 = 4505.6 */
    assert_int_equal(timing.to_join, 7 * CYCLE);
    assert_int_equal(timing.to_l2, 3 * CYCLE);
    assert_int_equal(timing.to_far, 3 * CYCLE / 2);
    assert_int_equal(timing.from_far, 9 * CYCLE / 2);
    assert_int_equal(timing.to_memory, 80 * CYCLE);
    assert_int_equal(timing.join_reads, 3);
    assert_int_equal(timing.read_merge, 34 * CYCLE);
    assert_int_equal(timing.store_merge, 30 * CYCLE);
    assert_int_equal(timing.block_gap, CYCLE / 2);
    assert_int_equal(timing.start_spread, 300 * CYCLE);
    assert_int_equal(timing.block_jitter, 100 * CYCLE);
    assert_int_equal(timing.warp_gap, 8 * CYCLE);
    assert_int_equal(timing.refill, 260 * CYCLE);
    assert_int_equal(timing.refill_period, 150 * CYCLE);
    assert_int_equal(timing.launch, 4000 * CYCLE);
}

/* 32 bytes at 64 bytes per cycle on each of two sides, and at 90 % of 40 bytes per cycle. */
static void bandwidths_become_times_of_sectors(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "l2.bytes_per_s",      "128e9", "l2.sides", "2", "memory.bytes_per_s", "40e9",
        "time.memory_percent", "80",    NULL};
    const struct fth_timing timing = read_timing(sets);
    assert_int_equal(timing.l2_sector, CYCLE / 2);
    assert_int_equal(timing.mem_sector, CYCLE);
    assert_int_equal(read_timing(none).l2_sector, 1); /* at least one tick */
    assert_int_equal(read_timing(none).mem_sector, 1);
}

/* The join unit is at most half of the latency away; times are never negative. */
static void costs_have_limits(void **state)
{
    (void)state;
    static const char *const sets[] = {"time.join_cycles",
                                       "125",
                                       "memory.latency_cycles",
                                       "15",
                                       "l2.far_latency_cycles",
                                       "19",
                                       NULL};
    const struct fth_timing timing = read_timing(sets);
    assert_int_equal(timing.to_join, 10 * CYCLE);
    assert_int_equal(timing.to_l2, 0);
    assert_int_equal(timing.to_memory, 0);
    assert_int_equal(timing.to_far, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parameter_decides),
        cmocka_unit_test(what_is_not_possible_has_a_reason),
        cmocka_unit_test(what_is_just_possible_is_accepted),
        cmocka_unit_test(parameters_of_the_other_model_select_it),
        cmocka_unit_test(costs_are_in_ticks),
        cmocka_unit_test(bandwidths_become_times_of_sectors),
        cmocka_unit_test(costs_have_limits),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
