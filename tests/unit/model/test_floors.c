/* Time floors, the bottleneck, and the bytes that are moved per level. */
#include "check.h"
#include "model/model.h"

#include <math.h>

/* 2 SMs of 4 schedulers at 1 kHz; the L1s read 64 B/s, the L2 32 B/s, memory 16 B/s. */
static struct fth_model_params *make_params(void)
{
    static const char *const sets[][2] = {{"gpu.sms", "2"},          {"gpu.schedulers", "4"},
                                          {"gpu.clock_hz", "1000"},  {"l1.bytes_per_s", "64"},
                                          {"l2.bytes_per_s", "32"},  {"memory.bytes_per_s", "16"},
                                          {"l1.sector_bytes", "32"}, {"l2.sector_bytes", "32"}};
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(sets); i++)
        assert_int_equal(fth_model_set(params, sets[i][0], sets[i][1], &error), FTH_OK);
    return params;
}

static void each_unit_has_its_floor(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params();
    const struct fth_model_row row = {.l1 = {.sectors = {6, 0, 0}},
                                      .l2 = {.sectors = {3, 2, 1}},
                                      .dram_reads = 2,
                                      .dram_writes = 1,
                                      .l1_read_sectors_per_sm = 3,
                                      .wavefronts_per_sm = 5000,
                                      .warp_instructions_per_sm = 28000,
                                      .seconds = (double)NAN};
    struct fth_model_floors floors;
    fth_model_floors(&row, params, &floors);
    assert_float_equal(floors.seconds[FTH_LIMIT_L1], 3, 1e-9);
    assert_float_equal(floors.seconds[FTH_LIMIT_L2], 6, 1e-9);
    assert_float_equal(floors.seconds[FTH_LIMIT_MEMORY], 6, 1e-9);
    assert_float_equal(floors.seconds[FTH_LIMIT_SHARED], 5, 1e-9);
    assert_float_equal(floors.seconds[FTH_LIMIT_ISSUE], 7, 1e-9);
    assert_true(isnan(floors.seconds[FTH_LIMIT_NONE]));
    assert_true(isnan(floors.seconds[FTH_LIMIT_LATENCY]));
    assert_int_equal(floors.longest, FTH_LIMIT_ISSUE);
    assert_int_equal(floors.bottleneck, FTH_LIMIT_ISSUE);
    fth_model_params_destroy(params);
}

/* The bottleneck is latency if the longest floor is less than half of the time. */
static void a_kernel_far_above_its_floor_waits(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params();
    struct fth_model_row row = {.wavefronts_per_sm = 1000, .warp_instructions_per_sm = (double)NAN};
    struct fth_model_floors floors;
    row.seconds = 2;
    fth_model_floors(&row, params, &floors);
    assert_true(isnan(floors.seconds[FTH_LIMIT_ISSUE]));
    assert_int_equal(floors.bottleneck, FTH_LIMIT_SHARED);
    row.seconds = 2.01;
    fth_model_floors(&row, params, &floors);
    assert_int_equal(floors.longest, FTH_LIMIT_SHARED);
    assert_int_equal(floors.bottleneck, FTH_LIMIT_LATENCY);
    fth_model_params_destroy(params);
}

static void limits_have_names(void **state)
{
    (void)state;
    assert_null(fth_model_limit_name(FTH_LIMIT_NONE));
    assert_string_equal(fth_model_limit_name(FTH_LIMIT_SHARED), "shared");
    assert_string_equal(fth_model_limit_name(FTH_LIMIT_LATENCY), "latency");
    assert_null(fth_model_limit_name(FTH_LIMITS));
}

static void moved_bytes_are_compared_with_used_ones(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params();
    const struct fth_model_row row = {
        .l1 = {.sectors = {8, 4, 4}},
        .l2 = {.sectors = {2, 1, 1}},
        .dram_reads = 2,
        .dram_writes = 1,
        .demand = {.used_bytes = {128, 64, 64}, .touched_bytes = {16, 1000, 1000}}};
    const struct fth_model_row idle = {.launches = 1};
    struct fth_model_traffic traffic;
    fth_model_traffic(&row, params, &traffic);
    assert_int_equal(traffic.l1_bytes, 512);
    assert_int_equal(traffic.l2_bytes, 128);
    assert_int_equal(traffic.memory_bytes, 96);
    assert_float_equal(traffic.l1_efficiency, 0.5, 1e-9);
    assert_float_equal(traffic.l2_efficiency, 2, 1e-9);
    assert_float_equal(traffic.memory_efficiency, 0.25, 1e-9);
    fth_model_traffic(&idle, params, &traffic);
    assert_true(isnan(traffic.l1_efficiency) && isnan(traffic.memory_efficiency));
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_unit_has_its_floor),
        cmocka_unit_test(a_kernel_far_above_its_floor_waits),
        cmocka_unit_test(limits_have_names),
        cmocka_unit_test(moved_bytes_are_compared_with_used_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
