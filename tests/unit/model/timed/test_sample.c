/* Sampling: when the simulation of a launch stops, and the estimates for the whole launch. */
#include "timed_setup.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE = 8, ACCESSES = 1600000, SLOTS = 100, STEP = ACCESSES / RATE / 2 };

static struct fth_sampler *begin(uint64_t accesses, uint64_t blocks)
{
    struct fth_sampler *sampler = NULL;
    assert_int_equal(fth_sampler_create(RATE, 1, &sampler, NULL), FTH_OK);
    fth_sampler_begin(sampler, accesses, blocks, SLOTS);
    return sampler;
}

/* ---- windows ---- */

/* Blocks that all run at the same time: windows are accesses. */
static void windows_of_one_wave_are_accesses(void **state)
{
    (void)state;
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    assert_false(fth_sampler_is_due(sampler, STEP - 1, SLOTS));
    assert_true(fth_sampler_is_due(sampler, STEP, SLOTS));
    fth_sampler_destroy(sampler);
}

/* 64 waves: after the first one, windows have 64 / (2 x 8) waves. */
static void windows_of_many_waves_are_waves(void **state)
{
    (void)state;
    const uint64_t warps[3] = {0};
    const struct fth_model_counts l1[2] = {{{0}, {0}, {0}, {0}}};
    const struct fth_l2_counts l2[2] = {{.far_hits = 0}};
    const struct fth_sample_state at = {.accesses = 1, .l1 = l1, .l2 = l2, .warps = warps};
    struct fth_sampler *sampler = begin(ACCESSES, 64 * (uint64_t)SLOTS);
    assert_false(fth_sampler_is_due(sampler, ACCESSES, 2 * (uint64_t)SLOTS - 1));
    assert_true(fth_sampler_is_due(sampler, 0, 2 * (uint64_t)SLOTS));
    assert_false(fth_sampler_mark(sampler, &at));
    assert_false(fth_sampler_is_due(sampler, ACCESSES, 6 * (uint64_t)SLOTS - 1));
    assert_true(fth_sampler_is_due(sampler, 0, 6 * (uint64_t)SLOTS));
    fth_sampler_destroy(sampler);
}

static void short_launches_have_no_windows(void **state)
{
    (void)state;
    struct fth_sampler *sampler = begin(399999, SLOTS);
    assert_false(fth_sampler_is_due(sampler, 399999, SLOTS));
    fth_sampler_destroy(sampler);
}

/* ---- steady launches ---- */

/* The state after `windows` windows. The L1 receives ten sectors per access. Nine of them hit, in
 * the last window some more or less. */
struct counts {
    struct fth_model_counts l1[2];
    struct fth_l2_counts l2[2];
    uint64_t warps[3];
    struct fth_sample_state state;
};

static struct fth_sample_state *set_counts(struct counts *counts, uint64_t windows, int64_t more)
{
    const uint64_t accesses = windows * STEP;
    memset(counts, 0, sizeof *counts);
    counts->l1[0].requests[0] = accesses;
    counts->l1[0].sectors[0] = 10 * accesses;
    counts->l1[0].hits[0] = 9 * accesses + (uint64_t)more;
    counts->l2[0].counts.sectors[0] = accesses;
    counts->l2[0].counts.hits[0] = accesses / 2;
    counts->l2[0].dram_reads = accesses / 2;
    counts->l2[1].dram_reads = 80; /* of the launch itself */
    counts->warps[0] = 2 * accesses;
    counts->state = (struct fth_sample_state){
        .accesses = accesses,
        .loaded = 2 * accesses,
        .ticks = 500 + 3 * accesses,
        .l1 = counts->l1,
        .l2 = counts->l2,
        .warps = counts->warps,
        .use = {.lines = ACCESSES / 4, .allocated_lines = accesses / 2, .dirty_sectors = accesses}};
    return &counts->state;
}

static void steady_launches_stop(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(fth_sampler_mark(sampler, set_counts(&counts, i, 0)), i == 3);
    fth_sampler_destroy(sampler);
}

/* The last window of a launch hits 1 % more of its sectors, of which there are 10 x STEP. */
static void launches_that_change_go_on(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 1, 0)));
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 2, 0)));
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 3, STEP / 10)));
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 4, STEP / 10)));
    assert_true(fth_sampler_mark(sampler, set_counts(&counts, 5, STEP / 10)));
    fth_sampler_destroy(sampler);
}

/* A window without accesses says nothing. */
static void empty_windows_do_not_count(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 2, 0)));
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 3, 0)));
    assert_false(fth_sampler_mark(sampler, set_counts(&counts, 3, 0)));
    fth_sampler_destroy(sampler);
}

/* ---- estimates ---- */

static void the_rest_continues_like_the_last_window(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_sample_estimate whole = {0};
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    for (uint64_t i = 1; i <= 3; i++)
        (void)!fth_sampler_mark(sampler, set_counts(&counts, i, 0));
    fth_sampler_estimate(sampler, counts.l1, counts.l2, &whole);
    assert_int_equal(counts.l1[0].requests[0], ACCESSES);
    assert_int_equal(counts.l1[0].sectors[0], 10 * ACCESSES);
    assert_int_equal(counts.l1[0].hits[0], 9 * ACCESSES);
    assert_int_equal(counts.l2[0].counts.sectors[0], ACCESSES);
    assert_int_equal(counts.l2[0].counts.hits[0], ACCESSES / 2);
    assert_int_equal(counts.l2[0].dram_reads, ACCESSES / 2);
    assert_int_equal(counts.l2[1].dram_reads, 80);
    assert_int_equal(whole.warps[0], ACCESSES);
    assert_int_equal(whole.ticks, 500 + 3 * ACCESSES);
    assert_int_equal(whole.simulated, 3 * STEP);
    /* The launch allocates twice as many lines as fit, so half of its changed sectors are evicted.
     */
    assert_int_equal(counts.l2[1].dram_writes, ACCESSES / 2);
    /* The windows do not differ: the minimum error of 1 point remains. */
    assert_true(fabs(whole.l1_error - 0.01 * 10 * ACCESSES) < 1);
    assert_true(fabs(whole.l2_error - 0.01 * ACCESSES) < 1);
    fth_sampler_destroy(sampler);
}

/* The expected error grows with the difference between the windows: 0.1 % of the sectors here. */
static void differences_are_errors(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_sample_estimate whole = {0};
    struct fth_sampler *sampler = begin(ACCESSES, SLOTS);
    (void)!fth_sampler_mark(sampler, set_counts(&counts, 1, 0));
    (void)!fth_sampler_mark(sampler, set_counts(&counts, 2, 0));
    assert_true(fth_sampler_mark(sampler, set_counts(&counts, 3, STEP / 100)));
    fth_sampler_estimate(sampler, counts.l1, counts.l2, &whole);
    /* 3 of 16 windows were simulated: 14 windows hit STEP / 100 more. */
    const double difference = 14.0 / 16 * 0.001;
    assert_true(fabs(whole.l1_error / (10.0 * ACCESSES) - 0.01 - 3 * difference) < 1e-6);
    fth_sampler_destroy(sampler);
}

/* ---- whole runs ---- */

static struct fth_model_result *run(const struct fth_trace *trace, unsigned sample,
                                    const char *const *sets)
{
    struct fth_model_params *params = make_params(simple_gpu, sets);
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.sample = sample);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return result;
}

static const char *const none[] = {NULL};

/* Two warps read `reads` words each, in order. */
static struct fth_trace *open_words(unsigned reads)
{
    enum { LINE = 40 };
    const size_t capacity = 100 + (size_t)2 * reads * LINE;
    char *tuples = malloc(capacity);
    assert_non_null(tuples);
    size_t size = (size_t)snprintf(tuples, capacity, "# kernel words\n# block 64 1 1\n");
    for (unsigned i = 0; i < reads; i++)
        for (unsigned warp = 0; warp < 2; warp++)
            size += (size_t)snprintf(tuples + size, capacity - size, "%u 0 %u R %u\n", i, warp * 32,
                                     (warp << 28) + 4 * i);
    write_plain("tuples", tuples, size);
    free(tuples);
    struct fth_trace *trace = NULL;
    assert_int_equal(fth_trace_obtain("tuples", NULL, &trace, NULL), FTH_OK);
    return trace;
}

static void estimates_are_close_to_the_counts(void **state)
{
    (void)state;
    struct fth_trace *trace = open_words(200000);
    struct fth_model_result *all = run(trace, 0, none), *some = run(trace, RATE, none);
    const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
    assert_int_equal(all->sample, 0);
    assert_int_equal(some->sample, RATE);
    assert_int_equal(a->simulated_warps, 400000);
    assert_true(b->simulated_warps >= 400000 / RATE && b->simulated_warps < 400000 / 4);
    assert_int_equal(a->warps[0], b->warps[0]);
    assert_true(fabs((double)b->l1.sectors[0] - 400000) < 4000);
    assert_true(fabs((double)b->l1.hits[0] - (double)a->l1.hits[0]) < 4000);
    assert_true(fabs((double)b->dram_reads - (double)a->dram_reads) < 500);
    assert_true(fabs(b->seconds / a->seconds - 1) < 0.01);
    assert_true(fth_model_sample_error(b, 1) >= 0.01 && fth_model_sample_error(b, 1) < 0.03);
    assert_true(fth_model_sample_error(a, 1) == 0);
    fth_model_result_destroy(some);
    /* The L2 keeps its lines, so a part of them would be missing in the next launch. */
    static const char *const warm[] = {"l2.cold", "0", NULL};
    some = run(trace, RATE, warm);
    assert_int_equal(fth_model_row(some, 0)->simulated_warps, 400000);
    fth_model_result_destroy(some);
    fth_model_result_destroy(all);
    fth_trace_close(trace);
}

static void short_launches_are_simulated_completely(void **state)
{
    (void)state;
    struct fth_trace *trace = open_words(500);
    struct fth_model_result *all = run(trace, 0, none), *some = run(trace, RATE, none);
    const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
    assert_int_equal(b->simulated_warps, 1000);
    assert_int_equal(a->l1.hits[0], b->l1.hits[0]);
    assert_true(a->seconds == b->seconds);
    assert_true(fth_model_sample_error(b, 2) == 0);
    fth_model_result_destroy(some);
    fth_model_result_destroy(all);
    fth_trace_close(trace);
}

static void impossible_samples_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *set[2];
        unsigned sample;
        bool curves;
        const char *cause;
    } rows[] = {
        {{"gpu.sms", "1"}, 128, false, "from 2 to 64"},
        {{"gpu.timing", "off"}, 8, false, "with time"},
        {{"gpu.sms", "1"}, 8, true, "need all accesses"},
    };
    struct fth_trace *trace = open_words(10);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const char *const sets[] = {rows[i].set[0], rows[i].set[1], NULL};
        struct fth_model_params *params = make_params(simple_gpu, sets);
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.sample = rows[i].sample, .curves = rows[i].curves);
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_model_run(trace, params, &options, &result, &error), FTH_INVALID);
        assert_null(result);
        assert_contains(error.cause, rows[i].cause);
        fth_model_params_destroy(params);
    }
    fth_trace_close(trace);
}

/* The causes of misses are estimated, too. Their sum is the estimated number of misses, although
 * none of the parts is an integer. */
static void causes_of_misses_sum_up(void **state)
{
    (void)state;
    struct counts counts;
    struct fth_model_misses l1[2] = {{0}};
    struct fth_sample_estimate whole = {.l1_misses = l1};
    struct fth_sampler *sampler = begin(ACCESSES + 7, SLOTS);
    for (uint64_t i = 1; i <= 3; i++) {
        struct fth_sample_state *at = set_counts(&counts, i, 0);
        const uint64_t accesses = i * STEP, cold = accesses / 3, capacity = accesses / 7;
        l1[0] = (struct fth_model_misses){
            .cold = cold, .capacity = capacity, .sector = accesses - cold - capacity};
        counts.l2[0].misses =
            (struct fth_model_misses){.conflict = accesses / 2 - i, .coherence = i};
        counts.l2[0].counts.hits[0] = accesses - accesses / 2;
        at->l1_misses = l1;
        (void)!fth_sampler_mark(sampler, at);
    }
    fth_sampler_estimate(sampler, counts.l1, counts.l2, &whole);
    assert_int_equal(l1[0].cold + l1[0].capacity + l1[0].sector,
                     counts.l1[0].sectors[0] - counts.l1[0].hits[0]);
    assert_int_equal(l1[0].conflict + l1[0].coherence, 0);
    /* The numbers of the last window are rounded, and those of 2 * RATE windows are estimated. */
    assert_true(llabs((long long)l1[0].cold - (ACCESSES + 7) / 3) < 2LL * RATE);
    assert_true(llabs((long long)l1[0].capacity - (ACCESSES + 7) / 7) < 2LL * RATE);
    const struct fth_model_misses *l2 = &counts.l2[0].misses;
    assert_int_equal(l2->conflict + l2->coherence,
                     counts.l2[0].counts.sectors[0] - counts.l2[0].counts.hits[0]);
    assert_true(l2->coherence > 3 && l2->conflict > ACCESSES / 2 - 200);
    fth_sampler_destroy(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_of_misses_sum_up),
        cmocka_unit_test(windows_of_one_wave_are_accesses),
        cmocka_unit_test(windows_of_many_waves_are_waves),
        cmocka_unit_test(short_launches_have_no_windows),
        cmocka_unit_test(steady_launches_stop),
        cmocka_unit_test(launches_that_change_go_on),
        cmocka_unit_test(empty_windows_do_not_count),
        cmocka_unit_test(the_rest_continues_like_the_last_window),
        cmocka_unit_test(differences_are_errors),
        cmocka_unit_test(estimates_are_close_to_the_counts),
        cmocka_unit_test(short_launches_are_simulated_completely),
        cmocka_unit_test(impossible_samples_are_refused),
    };
    return cmocka_run_group_tests_name("sample", tests, enter_folder, leave_folder);
}
