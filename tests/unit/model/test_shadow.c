/* Tests why reads miss: the shadow of a cache (model/level/shadow.c), and its use in both models.
 * tests/oracle compares all causes with an independent implementation. */
#include "model/level/level.h"
#include "two_sms.h"

#include <stdio.h>

enum { LINES = 4, LINE = 128 };

static const struct fth_shape shape = {.line_bytes = LINE, .sector_shift = 5};

static struct fth_shadow *create(uint64_t lines)
{
    struct fth_shadow *shadow;
    assert_int_equal(fth_shadow_create(&shape, lines, &shadow, NULL), FTH_OK);
    return shadow;
}

/* Reads sectors of a line that are not in the cache. */
static struct fth_model_misses miss(struct fth_shadow *shadow, uint64_t line, uint64_t sectors,
                                    bool present)
{
    struct fth_model_misses misses = {0};
    fth_shadow_miss(shadow, line * LINE, sectors, sectors, present, &misses);
    fth_shadow_use(shadow, line * LINE, (uint32_t)line, sectors);
    return misses;
}

static void assert_misses(struct fth_model_misses found, struct fth_model_misses expected)
{
    assert_int_equal(found.cold, expected.cold);
    assert_int_equal(found.capacity, expected.capacity);
    assert_int_equal(found.conflict, expected.conflict);
    assert_int_equal(found.coherence, expected.coherence);
    assert_int_equal(found.sector, expected.sector);
}

#define ASSERT_MISSES(found, ...) assert_misses(found, (struct fth_model_misses){__VA_ARGS__})

static void first_reads_are_cold_or_of_a_sector(void **state)
{
    (void)state;
    struct fth_shadow *shadow = create(LINES);
    ASSERT_MISSES(miss(shadow, 1, 3, false), .cold = 2);
    ASSERT_MISSES(miss(shadow, 1, 12, true), .sector = 2);
    /* A line that was replaced: its other sectors have never been there. */
    ASSERT_MISSES(miss(shadow, 2, 1, false), .cold = 1);
    ASSERT_MISSES(miss(shadow, 2, 3, false), .cold = 1, .conflict = 1);
    /* The cache is emptied. */
    fth_shadow_clear(shadow, LINES);
    ASSERT_MISSES(miss(shadow, 1, 1, false), .cold = 1);
    fth_shadow_destroy(shadow);
}

/* After `others` other lines, a line that is missed again would be in a fully associative cache of
 * four lines if there were at most three of them. */
static void distance_separates_capacity_from_conflict(void **state)
{
    (void)state;
    for (uint64_t others = 0; others < 8; others++) {
        struct fth_shadow *shadow = create(LINES);
        miss(shadow, 100, 1, false);
        for (uint64_t repeat = 0; repeat < 20; repeat++) /* repeated uses do not count */
            for (uint64_t i = 0; i < others; i++)
                fth_shadow_use(shadow, i * LINE, (uint32_t)i, 1);
        if (others < LINES)
            ASSERT_MISSES(miss(shadow, 100, 1, false), .conflict = 1);
        else
            ASSERT_MISSES(miss(shadow, 100, 1, false), .capacity = 1);
        fth_shadow_destroy(shadow);
    }
}

/* The fully associative cache replaces the line between the uses of its sectors. Therefore it does
 * not have the first sector either, although it has the line. */
static void capacity_is_that_of_the_sector(void **state)
{
    (void)state;
    struct fth_shadow *shadow = create(LINES);
    miss(shadow, 100, 1, false);
    for (uint64_t i = 0; i < LINES; i++)
        miss(shadow, i, 1, false);
    ASSERT_MISSES(miss(shadow, 100, 2, false), .cold = 1);
    ASSERT_MISSES(miss(shadow, 100, 1, true), .capacity = 1);
    ASSERT_MISSES(miss(shadow, 100, 1, true), .conflict = 1);
    fth_shadow_destroy(shadow);
}

static void removed_sectors_are_coherence_misses(void **state)
{
    (void)state;
    struct fth_shadow *shadow = create(LINES);
    miss(shadow, 1, 3, false);
    fth_shadow_remove(shadow, LINE, 2);
    ASSERT_MISSES(miss(shadow, 1, 3, false), .conflict = 1, .coherence = 1);
    ASSERT_MISSES(miss(shadow, 1, 2, false), .conflict = 1);
    /* Stack distances do not matter. */
    fth_shadow_remove(shadow, LINE, 1);
    for (uint64_t i = 0; i < LINES; i++)
        miss(shadow, 10 + i, 1, false);
    ASSERT_MISSES(miss(shadow, 1, 3, false), .capacity = 1, .coherence = 1);
    /* A line that has never been there. */
    fth_shadow_remove(shadow, UINT64_C(99) * LINE, 1);
    ASSERT_MISSES(miss(shadow, 99, 1, false), .cold = 1);
    fth_shadow_destroy(shadow);
}

static void repeated_misses_have_the_cause_of_the_first(void **state)
{
    (void)state;
    struct fth_shadow *shadow = create(LINES);
    struct fth_model_misses misses = {0};
    miss(shadow, 1, 1, false);
    miss(shadow, 1, 2, true);
    fth_shadow_remove(shadow, LINE, 4);
    fth_shadow_miss_again(shadow, LINE, 3, &misses);
    ASSERT_MISSES(misses, .cold = 1, .sector = 1);
    /* Sectors that are fetched together with others. */
    fth_shadow_remove(shadow, LINE, 1);
    misses = (struct fth_model_misses){0};
    fth_shadow_miss(shadow, LINE, 1, 7, true, &misses);
    ASSERT_MISSES(misses, .coherence = 1);
    misses = (struct fth_model_misses){0};
    fth_shadow_miss_again(shadow, LINE, 7, &misses);
    ASSERT_MISSES(misses, .coherence = 1, .conflict = 1, .sector = 1);
    fth_shadow_destroy(shadow);
}

static void sectors_that_writes_complete_were_there(void **state)
{
    (void)state;
    struct fth_shadow *shadow = create(LINES);
    fth_shadow_use(shadow, LINE, 1, 1);
    fth_shadow_complete(shadow, LINE, 2);
    ASSERT_MISSES(miss(shadow, 1, 7, false), .conflict = 2, .cold = 1);
    fth_shadow_destroy(shadow);
}

/* Lines of 64 sectors, and more lines than the first tables have. */
static void large_caches_and_many_sectors(void **state)
{
    (void)state;
    const struct fth_shape wide = {.line_bytes = UINT64_C(64) * LINE, .sector_shift = 7};
    struct fth_shadow *shadow;
    struct fth_model_misses misses = {0};
    assert_int_equal(fth_shadow_create(&wide, 1000, &shadow, NULL), FTH_OK);
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 5000; i++) {
            const uint64_t sectors = UINT64_C(1) << (i + 7 * (uint64_t)round) % 64 | 1;
            fth_shadow_miss(shadow, i << 13, sectors, sectors, false, &misses);
            fth_shadow_use(shadow, i << 13, (uint32_t)(i % 1000), sectors);
        }
    /* Sector 0 twice per line, and sector i % 64 or (i + 7) % 64, which is 0 for some lines. */
    assert_int_equal(misses.capacity, 5000);
    assert_int_equal(misses.cold, 5000 + (5000 - 79) + (5000 - 78));
    for (uint64_t i = 4000; i < 5000; i++)
        fth_shadow_miss(shadow, i << 13, 1, 1, false, &misses);
    assert_int_equal(misses.conflict, 1000);
    assert_false(fth_shadow_failed(shadow));
    fth_shadow_destroy(shadow);
}

/* ---- models ---- */

/* An L1 of one set with two lines, without and with time. Accesses of one warp: number, block,
 * thread, kind, address. */
static void check_model(const char *tuples, const char *const *sets, struct fth_model_misses l1,
                        struct fth_model_misses l2)
{
    struct fth_trace *trace = open_tuples(tuples);
    for (int timed = 0; timed < 2; timed++)
        for (unsigned threads = 1; threads < 4; threads++) {
            const char *all[32] = {"gpu.timing",      timed ? "on" : "off",
                                   "l1.size_bytes",   "256",
                                   "l1.line_bytes",   "128",
                                   "l1.sector_bytes", "32",
                                   "l1.ways",         "2",
                                   "l1.index",        "mod",
                                   "l1.fill_bytes",   "32",
                                   "l2.line_bytes",   "128",
                                   "l2.fill_bytes",   "32",
                                   "l2.sector_bytes", "32"};
            for (size_t i = 0; sets[i]; i++)
                all[20 + i] = sets[i];
            const struct fth_model_options options =
                FTH_MODEL_OPTIONS(.threads = threads, .diagnose = true);
            struct fth_model_result *result = run(trace, all, &options);
            const struct fth_model_row *row = fth_model_row(result, 0);
            assert_misses(row->l1_misses, l1);
            assert_misses(row->l2_misses, l2);
            fth_model_result_destroy(result);
        }
    fth_trace_close(trace);
}

static void models_find_the_causes(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    /* Three lines in turn, and another sector of the last one. */
    check_model("0 0 0 R 0\n1 0 0 R 128\n2 0 0 R 256\n3 0 0 R 0\n4 0 0 R 32\n", none,
                (struct fth_model_misses){.cold = 3, .capacity = 1, .sector = 1},
                (struct fth_model_misses){.cold = 3, .sector = 1});
}

static void writes_remove_lines(void **state)
{
    (void)state;
    static const char *const evict[] = {"l1.bypass", "won", NULL};
    check_model("0 0 0 R 0\n1 0 0 W 4\n2 0 0 R 0\n3 0 0 A 4\n4 0 0 R 0\n", evict,
                (struct fth_model_misses){.cold = 1, .coherence = 2},
                (struct fth_model_misses){.cold = 1});
}

static void sets_cause_conflicts(void **state)
{
    (void)state;
    static const char *const direct[] = {"l1.ways", "1", NULL};
    check_model("0 0 0 R 0\n1 0 0 R 256\n2 0 0 R 0\n", direct,
                (struct fth_model_misses){.cold = 2, .conflict = 1},
                (struct fth_model_misses){.cold = 2});
}

/* The causes are those of the plain order; without the option, there are none. */
static void orders_keep_the_causes(void **state)
{
    (void)state;
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n0 1 0 R 0\n1 0 0 R 128\n");
    static const char *const sets[] = {"l1.sector_bytes", "0", NULL};
    const struct fth_model_options options[] = {
        FTH_MODEL_OPTIONS(.diagnose = true), FTH_MODEL_OPTIONS(.diagnose = true, .orders = 3),
        FTH_MODEL_OPTIONS(.diagnose = true, .bypassed = true), FTH_MODEL_OPTIONS(.orders = 3)};
    for (size_t i = 0; i < FTH_COUNT(options); i++) {
        struct fth_model_result *result = run(trace, sets, &options[i]);
        assert_int_equal(fth_model_row(result, 0)->l1_misses.cold, i < 3 ? 3 : 0);
        fth_model_result_destroy(result);
    }
    fth_trace_close(trace);
}

static void assert_sum(const struct fth_model_misses *misses, const struct fth_model_counts *counts)
{
    assert_int_equal(misses->cold + misses->capacity + misses->conflict + misses->coherence +
                         misses->sector,
                     counts->sectors[FTH_TRACE_READ] - counts->hits[FTH_TRACE_READ]);
}

/* Each read of a workload that misses has one cause, on an H200, with and without time. The option
 * changes nothing else. */
static void check_workload(const struct fth_trace *trace, struct fth_model_params *params)
{
    for (int timed = 0; timed < 2; timed++) {
        struct fth_model_result *plain, *result;
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.threads = 2, .diagnose = true);
        assert_int_equal(fth_model_set(params, "gpu.timing", timed ? "on" : "off", NULL), FTH_OK);
        assert_int_equal(fth_model_run(trace, params, NULL, &plain, NULL), FTH_OK);
        assert_int_equal(fth_model_run(trace, params, &options, &result, NULL), FTH_OK);
        for (size_t i = 0; fth_model_row(result, i); i++) {
            const struct fth_model_row *row = fth_model_row(result, i);
            assert_sum(&row->l1_misses, &row->l1);
            assert_sum(&row->l2_misses, &row->l2);
            assert_memory_equal(&row->l1, &fth_model_row(plain, i)->l1, sizeof row->l1);
            assert_memory_equal(&row->l2, &fth_model_row(plain, i)->l2, sizeof row->l2);
        }
        assert_true(fth_model_row(result, 0)->l1_misses.cold > 0);
        fth_model_result_destroy(plain);
        fth_model_result_destroy(result);
    }
}

static void misses_of_workloads_have_causes(void **state)
{
    (void)state;
    static const char *const names[] = {"hspot"};
    struct fth_catalogue *catalogue;
    struct fth_gpu *gpu;
    struct fth_model_params *params;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    assert_int_equal(fth_model_params_create(gpu, &params, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_trace *trace;
        struct fth_error error = NO_ERROR;
        char path[512];
        snprintf(path, sizeof path, "%s/examples/workloads/%s.json", FTH_SOURCE_ROOT, names[i]);
        if (fth_trace_obtain(path, NULL, &trace, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        check_workload(trace, params);
        fth_trace_close(trace);
    }
    fth_model_params_destroy(params);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_reads_are_cold_or_of_a_sector),
        cmocka_unit_test(distance_separates_capacity_from_conflict),
        cmocka_unit_test(capacity_is_that_of_the_sector),
        cmocka_unit_test(removed_sectors_are_coherence_misses),
        cmocka_unit_test(repeated_misses_have_the_cause_of_the_first),
        cmocka_unit_test(sectors_that_writes_complete_were_there),
        cmocka_unit_test(large_caches_and_many_sectors),
        cmocka_unit_test(models_find_the_causes),
        cmocka_unit_test(writes_remove_lines),
        cmocka_unit_test(sets_cause_conflicts),
        cmocka_unit_test(orders_keep_the_causes),
        cmocka_unit_test(misses_of_workloads_have_causes),
    };
    return cmocka_run_group_tests_name("shadow", tests, enter_folder, leave_folder);
}
