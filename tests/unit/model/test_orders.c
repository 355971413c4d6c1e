/* Models that run with several orders of blocks and accesses: what the intervals contain, and what
 * does not change. */
#include "model/two_sms.h"

#include <math.h>
#include <stdio.h>

static const char *const off[] = {
    "gpu.max_blocks", "1", "l1.size_bytes", "4K", "gpu.timing", "off", NULL};

/* Nine blocks of one warp. Block i reads lines i and i + 2, so its hits depend on whether its SM
 * has executed block i - 2. */
static struct fth_trace *open_neighbours(void)
{
    char tuples[8000];
    size_t size = (size_t)snprintf(tuples, sizeof tuples,
                                   "# kernel neighbours\n# grid 9 1 1\n# block 32 1 1\n");
    for (unsigned i = 0; i < 8 * 9; i++)
        size += (size_t)snprintf(tuples + size, sizeof tuples - size, "%u %u 0 R %u\n", i / 9,
                                 i % 9, (i % 9 + i / 9 % 2 * 2) * 128 + i / 18 * 32);
    return open_tuples(tuples);
}

/* Runs a model of two SMs with one block at a time on each. */
static struct fth_model_result *run_order(const struct fth_trace *trace, const char *timing,
                                          const struct fth_model_options *options)
{
    const char *const sets[] = {"gpu.max_blocks", "1", "l1.size_bytes", "4K", "gpu.timing",
                                timing,           NULL};
    return run(trace, sets, options);
}

static void check_contains(const struct fth_model_interval *interval, double value)
{
    if (isnan(value)) {
        assert_true(isnan(interval->min) && isnan(interval->max));
        return;
    }
    assert_true(interval->min <= value && value <= interval->max);
}

static double sum(const uint64_t by_kind[3])
{
    return (double)(by_kind[0] + by_kind[1] + by_kind[2]);
}

static void check_row(const struct fth_model_intervals *intervals, const struct fth_model_row *row)
{
    check_contains(&intervals->l1_read_hit_ratio, fth_model_hit_ratio(&row->l1, true));
    check_contains(&intervals->l2_hit_ratio, fth_model_hit_ratio(&row->l2, false));
    check_contains(&intervals->l2_read_hit_ratio, fth_model_hit_ratio(&row->l2, true));
    check_contains(&intervals->l2_sectors, sum(row->l2.sectors));
    check_contains(&intervals->dram_read_sectors, (double)row->dram_reads);
    check_contains(&intervals->dram_write_sectors, (double)row->dram_writes);
    check_contains(&intervals->seconds, row->seconds);
}

static const char *const timings[] = {"on", "off"};
static const struct fth_model_options eight = FTH_MODEL_OPTIONS(.orders = 8);

static void intervals_contain_the_plain_values(void **state)
{
    (void)state;
    struct fth_trace *trace = open_neighbours();
    for (size_t t = 0; t < FTH_COUNT(timings); t++) {
        struct fth_model_result *plain = run_order(trace, timings[t], NULL);
        struct fth_model_result *result = run_order(trace, timings[t], &eight);
        const struct fth_model_row *row;
        size_t i = 0;
        assert_int_equal(result->orders, 8);
        for (; (row = fth_model_row(plain, i)); i++) {
            const struct fth_model_row *same = fth_model_row(result, i);
            assert_memory_equal(&row->l1, &same->l1, sizeof row->l1);
            assert_memory_equal(&row->l2, &same->l2, sizeof row->l2);
            check_row(fth_model_intervals(result, i), row);
        }
        assert_null(fth_model_intervals(result, i));
        /* The hits of a block depend on the blocks before it on its SM, in both models. */
        const struct fth_model_interval *hits = &fth_model_intervals(result, 0)->l1_read_hit_ratio;
        assert_true(hits->max > hits->min);
        fth_model_result_destroy(plain);
        fth_model_result_destroy(result);
    }
    fth_trace_close(trace);
}

/* One warp reads different lines: its order is that of its program. */
static void intervals_have_no_width_if_the_order_cannot_matter(void **state)
{
    (void)state;
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n1 0 0 R 4096\n2 0 0 R 0\n3 0 0 W 8192\n");
    for (size_t t = 0; t < FTH_COUNT(timings); t++) {
        struct fth_model_result *result = run_order(trace, timings[t], &eight);
        const struct fth_model_intervals *intervals = fth_model_intervals(result, 0);
        const struct fth_model_interval *const counts[] = {
            &intervals->l1_read_hit_ratio, &intervals->l2_hit_ratio,
            &intervals->l2_read_hit_ratio, &intervals->l2_sectors,
            &intervals->dram_read_sectors, &intervals->dram_write_sectors};
        for (size_t i = 0; i < FTH_COUNT(counts); i++)
            assert_true(counts[i]->min == counts[i]->max);
        /* The SM does not always start at the same time. */
        assert_int_equal(intervals->seconds.max > intervals->seconds.min, t == 0);
        fth_model_result_destroy(result);
    }
    fth_trace_close(trace);
}

static void intervals_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 3, 64};
    struct fth_trace *trace = open_neighbours();
    struct fth_model_result *expected = run_order(trace, "on", &eight);
    for (size_t i = 0; i < FTH_COUNT(threads); i++) {
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.orders = 8, .threads = threads[i]);
        struct fth_model_result *result = run_order(trace, "on", &options);
        assert_memory_equal(fth_model_intervals(result, 0), fth_model_intervals(expected, 0),
                            sizeof(struct fth_model_intervals));
        fth_model_result_destroy(result);
    }
    fth_model_result_destroy(expected);
    fth_trace_close(trace);
}

/* A single run has no intervals. Curves and the counts with the L1s off are those of the plain
 * order. */
static void other_options_keep_their_meaning(void **state)
{
    (void)state;
    static const struct fth_model_options once = FTH_MODEL_OPTIONS(.orders = 1);
    static const struct fth_model_options all =
        FTH_MODEL_OPTIONS(.orders = 3, .bypassed = true, .curves = true);
    static const struct fth_model_options plain_all =
        FTH_MODEL_OPTIONS(.bypassed = true, .curves = true);
    struct fth_trace *trace = open_neighbours();
    struct fth_model_result *result = run_order(trace, "on", &once);
    assert_null(fth_model_intervals(result, 0));
    assert_int_equal(result->orders, 0);
    fth_model_result_destroy(result);
    result = run_order(trace, "on", &all);
    struct fth_model_result *plain = run_order(trace, "on", &plain_all);
    assert_memory_equal(&result->rows[0].bypassed, &plain->rows[0].bypassed,
                        sizeof plain->rows[0].bypassed);
    assert_int_equal(fth_model_curve(result, 2)->fresh, fth_model_curve(plain, 2)->fresh);
    fth_model_result_destroy(result);
    fth_model_result_destroy(plain);
    fth_trace_close(trace);
}

static bool interrupt(void *user)
{
    (void)user;
    return true;
}

static void failures_are_reported(void **state)
{
    (void)state;
    const struct fth_log log = {.interrupted = interrupt};
    const struct {
        struct fth_model_options options;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {FTH_MODEL_OPTIONS(.orders = 1001), FTH_INVALID, "at most 1000"},
        {FTH_MODEL_OPTIONS(.orders = 4, .log = &log), FTH_INTERRUPTED, "interrupted"},
    };
    struct fth_trace *trace = open_neighbours();
    struct fth_model_params *params =
        make_params((const char *const[]){"gpu.max_blocks", "1", "l1.size_bytes", "4K", NULL});
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_model_run(trace, params, &rows[i].options, &result, &error),
                         rows[i].status);
        assert_null(result);
        assert_contains(error.cause, rows[i].cause);
    }
    fth_model_params_destroy(params);
    fth_trace_close(trace);
}

/* Without time: the first wave stays, and in later ones the SMs exchange their blocks. */
static void later_waves_are_shuffled(void **state)
{
    (void)state;
    enum { SMS = 8, WAVES = 5 };
    struct fth_model_params *params = make_params(off);
    struct fth_setting setting = {.sms = SMS, .blocks_at_once = 1, .blocks = (uint64_t)SMS * WAVES};
    unsigned moved = 0;
    for (params->order = 0; params->order < 4; params->order++) {
        struct fth_placement *placement = NULL;
        uint32_t seen[WAVES] = {0};
        assert_int_equal(fth_placement_create(params, &setting, &placement, NULL), FTH_OK);
        for (uint64_t block = 0; block < setting.blocks; block++) {
            uint64_t wave = 0;
            const uint32_t sm = fth_placement_sm(placement, block, &wave);
            assert_int_equal(wave, block / SMS);
            seen[wave] |= 1u << sm;
            if (wave == 0 || params->order == 0)
                assert_int_equal(sm, block % SMS);
            moved += sm != block % SMS;
        }
        for (size_t wave = 0; wave < WAVES; wave++)
            assert_int_equal(seen[wave], (1u << SMS) - 1);
        fth_placement_destroy(placement);
    }
    assert_true(moved > 3 * SMS);
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_contain_the_plain_values),
        cmocka_unit_test(intervals_have_no_width_if_the_order_cannot_matter),
        cmocka_unit_test(intervals_do_not_depend_on_the_threads),
        cmocka_unit_test(other_options_keep_their_meaning),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(later_waves_are_shuffled),
    };
    return cmocka_run_group_tests_name("orders", tests, enter_folder, leave_folder);
}
