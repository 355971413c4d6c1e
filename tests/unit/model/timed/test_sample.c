/* Sampling: when the simulation of a launch stops, and the estimates for the whole launch. */
#include "timed_setup.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE = 8, READS = 80000, ACCESSES = 2 * READS, SLOTS = 100, STEP = ACCESSES / RATE / 16 };
enum { LEAST = 8 }; /* windows that are simulated at least */

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

/* A launch with ACCESSES accesses of one instruction. The trace does not say how often the warps
 * execute it. */
struct launch {
    struct fth_trace *trace;
    struct fth_sampler *sampler;
};

static struct launch begin(unsigned reads, uint64_t blocks)
{
    struct launch launch = {.trace = open_words(reads)};
    assert_int_equal(fth_sampler_create(launch.trace, RATE, &launch.sampler, NULL), FTH_OK);
    fth_sampler_begin(launch.sampler, 0, blocks, SLOTS);
    return launch;
}

static void end(struct launch *launch)
{
    fth_sampler_destroy(launch->sampler);
    fth_trace_close(launch->trace);
}

/* The state after `windows` windows. The L1 receives ten sectors per access. Nine of them hit, and
 * `more` in addition. */
struct counts {
    struct fth_model_counts l1[2];
    struct fth_l2_counts l2[2];
    struct fth_model_misses misses[2];
    uint64_t performed[1];
    struct fth_sample_state state;
};

static struct fth_sample_state *set_counts(struct counts *counts, uint64_t windows, uint64_t more)
{
    const uint64_t accesses = windows * STEP;
    memset(counts, 0, sizeof *counts);
    counts->l1[0].requests[0] = accesses;
    counts->l1[0].sectors[0] = 10 * accesses;
    counts->l1[0].hits[0] = 9 * accesses + more;
    counts->l2[0].counts.sectors[0] = accesses;
    counts->l2[0].counts.hits[0] = accesses / 2;
    counts->l2[0].dram_reads = accesses / 2;
    counts->l2[1].dram_reads = 80; /* of the launch itself */
    counts->performed[0] = accesses;
    counts->state = (struct fth_sample_state){
        .accesses = accesses,
        .ticks = 500 + 3 * accesses,
        .performed = counts->performed,
        .l1 = counts->l1,
        .l2 = counts->l2,
        .use = {.lines = ACCESSES / 4, .allocated_lines = accesses / 2, .dirty_sectors = accesses}};
    return &counts->state;
}

static bool mark(struct launch *launch, const struct fth_sample_state *state)
{
    bool enough = false;
    assert_int_equal(fth_sampler_mark(launch->sampler, state, &enough, NULL), FTH_OK);
    return enough;
}

/* ---- windows ---- */

static void windows_are_accesses(void **state)
{
    (void)state;
    struct counts counts;
    struct launch launch = begin(READS, SLOTS);
    assert_true(fth_sampler_is_due(launch.sampler, 0));
    assert_false(mark(&launch, set_counts(&counts, 0, 0)));
    assert_false(fth_sampler_is_due(launch.sampler, STEP - 1));
    assert_true(fth_sampler_is_due(launch.sampler, STEP));
    end(&launch);
}

static void short_launches_have_no_windows(void **state)
{
    (void)state;
    struct launch launch = begin(49999, SLOTS);
    assert_false(fth_sampler_is_due(launch.sampler, UINT64_C(2) * 49999));
    end(&launch);
}

/* ---- steady launches ---- */

/* Returns after how many windows the simulation of a steady launch stops. */
static uint64_t windows_until_steady(uint64_t blocks)
{
    struct counts counts;
    struct launch launch = begin(READS, blocks);
    uint64_t windows = 0;
    while (!mark(&launch, set_counts(&counts, windows, 0)))
        windows++;
    end(&launch);
    return windows;
}

static void steady_launches_stop(void **state)
{
    (void)state;
    assert_int_equal(windows_until_steady(SLOTS), LEAST);
    assert_int_equal(windows_until_steady(UINT64_C(5) * SLOTS), LEAST);
}

/* Two and a half of ten waves are a quarter of the launch, which has 16 x RATE windows. */
static void launches_with_many_waves_stop_later(void **state)
{
    (void)state;
    assert_int_equal(windows_until_steady(UINT64_C(10) * SLOTS), 16 * RATE / 4);
}

/* From the ninth window on, a launch hits 5 % more of its sectors, of which there are 10 x STEP per
 * window. The predictions are equal again when three quarters of the simulation are such windows.
 */
static void launches_that_change_go_on(void **state)
{
    (void)state;
    struct counts counts;
    struct launch launch = begin(READS, SLOTS);
    uint64_t windows = 0;
    for (bool enough = false; !enough; windows++) {
        const uint64_t later = windows > LEAST - 1 ? windows - LEAST + 1 : 0;
        enough = mark(&launch, set_counts(&counts, windows, later * STEP / 2));
    }
    assert_in_range(windows - 1, 3 * LEAST, 4 * LEAST);
    end(&launch);
}

/* The hit ratio of the L2 is steady while the L2 receives no reads, but its reads are not. */
static void launches_whose_reads_change_go_on(void **state)
{
    (void)state;
    struct counts counts;
    struct launch launch = begin(READS, SLOTS);
    for (uint64_t i = 0; i <= LEAST; i++) {
        struct fth_sample_state *at = set_counts(&counts, i, 0);
        counts.l2[0].counts.sectors[0] = (i < 6 ? i : 6) * STEP;
        counts.l2[0].counts.hits[0] = counts.l2[0].counts.sectors[0] / 2;
        assert_false(mark(&launch, at));
    }
    end(&launch);
}

/* ---- estimates ---- */

/* Lets a launch become steady, and estimates its counts. `counts` has them afterwards. */
static struct fth_launch_estimate estimate(struct launch *launch, struct counts *counts,
                                           uint64_t more)
{
    for (uint64_t i = 0; i <= LEAST; i++)
        assert_int_equal(mark(launch, set_counts(counts, i, i == LEAST ? more : 0)), i == LEAST);
    struct fth_launch_estimate whole = {.l1 = counts->l1, .l2 = counts->l2};
    fth_sampler_estimate(launch->sampler, &whole);
    return whole;
}

static void the_rest_continues_like_the_last_half(void **state)
{
    (void)state;
    struct counts counts;
    struct launch launch = begin(READS, SLOTS);
    const struct fth_launch_estimate whole = estimate(&launch, &counts, 0);
    assert_int_equal(counts.l1[0].requests[0], ACCESSES);
    assert_int_equal(counts.l1[0].sectors[0], 10 * ACCESSES);
    assert_int_equal(counts.l1[0].hits[0], 9 * ACCESSES);
    assert_int_equal(counts.l2[0].counts.sectors[0], ACCESSES);
    assert_int_equal(counts.l2[0].counts.hits[0], ACCESSES / 2);
    assert_int_equal(counts.l2[0].dram_reads, ACCESSES / 2);
    assert_int_equal(counts.l2[1].dram_reads, 80);
    assert_int_equal(whole.warps[0], ACCESSES);
    assert_int_equal(whole.ticks, 500 + 3 * ACCESSES);
    /* The launch allocates twice as many lines as fit, so half of its changed sectors are evicted.
     */
    assert_int_equal(counts.l2[1].dram_writes, ACCESSES / 2);
    /* The parts do not differ: the minimum error of 1.3 points remains. */
    assert_true(fabs(whole.l1_error - 0.013 * 10 * ACCESSES) < 1);
    assert_true(fabs(whole.l2_error - 0.013 * ACCESSES) < 1);
    end(&launch);
}

/* The expected error grows with the difference between the predictions. The last of eight windows
 * hits 0.2 % more of its sectors. The last quarter, of two windows, predicts that much more for
 * half of the other 120 windows, and the quarters in the middle predict nothing. */
static void differences_are_errors(void **state)
{
    (void)state;
    struct counts counts;
    struct launch launch = begin(READS, SLOTS);
    const struct fth_launch_estimate whole = estimate(&launch, &counts, STEP / 50);
    const double difference = 60.0 / 128 * 0.002;
    assert_true(fabs(whole.l1_error / (10.0 * ACCESSES) - 0.013 - 3 * difference) < 2e-5);
    end(&launch);
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

static void estimates_are_close_to_the_counts(void **state)
{
    (void)state;
    struct fth_trace *trace = open_words(200000);
    struct fth_model_result *all = run(trace, 0, none), *some = run(trace, RATE, none);
    const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
    assert_int_equal(all->sample, 0);
    assert_int_equal(some->sample, RATE);
    assert_int_equal(a->simulated_warps, 400000);
    assert_true(b->simulated_warps >= 400000 / RATE / 2 && b->simulated_warps < 400000 / RATE);
    assert_int_equal(a->warps[0], b->warps[0]);
    assert_true(fabs((double)b->l1.sectors[0] - 400000) < 4000);
    assert_true(fabs((double)b->l1.hits[0] - (double)a->l1.hits[0]) < 4000);
    assert_true(fabs((double)b->dram_reads - (double)a->dram_reads) < 500);
    assert_true(fabs(b->seconds / a->seconds - 1) < 0.01);
    assert_true(fth_model_sample_error(b, 1) >= 0.013 && fth_model_sample_error(b, 1) < 0.03);
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
    struct launch launch = begin(READS, SLOTS);
    for (uint64_t i = 0; i <= LEAST; i++) {
        struct fth_sample_state *at = set_counts(&counts, i, 0);
        const uint64_t accesses = i * STEP, cold = accesses / 3, capacity = accesses / 7;
        counts.misses[0] = (struct fth_model_misses){
            .cold = cold, .capacity = capacity, .sector = accesses - cold - capacity};
        counts.l2[0].misses =
            (struct fth_model_misses){.conflict = accesses / 2 - i, .coherence = i};
        counts.l2[0].counts.hits[0] = accesses - accesses / 2;
        at->l1_misses = counts.misses;
        (void)mark(&launch, at);
    }
    struct fth_launch_estimate whole = {
        .l1 = counts.l1, .l2 = counts.l2, .l1_misses = counts.misses};
    fth_sampler_estimate(launch.sampler, &whole);
    const struct fth_model_misses *l1 = &counts.misses[0], *l2 = &counts.l2[0].misses;
    assert_int_equal(l1->cold + l1->capacity + l1->sector,
                     counts.l1[0].sectors[0] - counts.l1[0].hits[0]);
    assert_int_equal(l1->conflict + l1->coherence, 0);
    /* The numbers of the last half are rounded, and those of the other windows are estimated. */
    assert_true(llabs((long long)l1->cold - ACCESSES / 3) < 32LL * RATE);
    assert_true(llabs((long long)l1->capacity - ACCESSES / 7) < 32LL * RATE);
    assert_int_equal(l2->conflict + l2->coherence,
                     counts.l2[0].counts.sectors[0] - counts.l2[0].counts.hits[0]);
    assert_true(l2->coherence > LEAST && l2->conflict > ACCESSES / 2 - 200);
    end(&launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_of_misses_sum_up),
        cmocka_unit_test(windows_are_accesses),
        cmocka_unit_test(short_launches_have_no_windows),
        cmocka_unit_test(steady_launches_stop),
        cmocka_unit_test(launches_that_change_go_on),
        cmocka_unit_test(launches_with_many_waves_stop_later),
        cmocka_unit_test(launches_whose_reads_change_go_on),
        cmocka_unit_test(the_rest_continues_like_the_last_half),
        cmocka_unit_test(differences_are_errors),
        cmocka_unit_test(estimates_are_close_to_the_counts),
        cmocka_unit_test(short_launches_are_simulated_completely),
        cmocka_unit_test(impossible_samples_are_refused),
    };
    return cmocka_run_group_tests_name("sample", tests, enter_folder, leave_folder);
}
