/* Sampling: which lines are simulated, what warps do meanwhile, and the estimates for all lines. */
#include "timed_setup.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE = 8 };

static const char *const none[] = {NULL};

/* ---- lines ---- */

struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_timing timing;
    struct fth_sampler *sampler;
};

/* The masks of the L1 of an H200 (data/gpus/h200.json). */
static const struct fth_hash_masks h200 = {.set = {100351536384, 58700838784},
                                           .row = {74713711104, 119375897600, 43324316672,
                                                   53409142784, 125390251008, 128395176448,
                                                   67712813568},
                                           .set_count = 2,
                                           .row_count = 7};

static struct fixture begin_with(unsigned rate, const struct fth_hash_masks *masks)
{
    struct fixture fixture = {.params = make_params(simple_gpu, none)};
    fixture.setting = make_setting(fixture.params, 1, 1);
    fixture.setting.l1.masks = masks;
    fixture.setting.l1.row_ways = masks ? 4 : 0;
    fth_timing_read(fixture.params, &fixture.setting, &fixture.timing);
    assert_int_equal(fth_sampler_create(rate, 1, &fixture.sampler, NULL), FTH_OK);
    fth_sampler_begin(fixture.sampler, &fixture.setting, &fixture.timing);
    return fixture;
}

static struct fixture begin(unsigned rate)
{
    return begin_with(rate, NULL);
}

static void end(struct fixture *fixture)
{
    fth_sampler_destroy(fixture->sampler);
    fth_model_params_destroy(fixture->params);
}

static const struct fth_trace_instruction load = {.kind = FTH_TRACE_READ, .bytes = 4};

/* Returns how many lines of an access are simulated. */
static uint32_t count_lines(struct fixture *fixture, uint64_t first, uint64_t step)
{
    const struct fth_compact_access access = {
        .mask = UINT32_MAX, .threads = 32, .first = first, .steps = &step, .affine = true};
    uint32_t runs = 0;
    const struct fth_line_pattern *pattern = fth_sampler_find(fixture->sampler, &access, &load);
    assert_non_null(pattern);
    return fth_sampler_count_lines(fixture->sampler, pattern, first, &runs);
}

/* Of an aligned array, exactly one of N lines is simulated: read in order, or by columns of a
 * matrix with rows of 4 KiB. */
static void one_of_n_lines_is_simulated(void **state)
{
    (void)state;
    for (unsigned rate = 2; rate <= 64; rate *= 2) {
        struct fixture fixture = begin(rate);
        uint32_t rows = 0, columns = 0;
        for (uint64_t i = 0; i < 4096; i++)
            rows += count_lines(&fixture, UINT64_C(1) << 30 | i * 128, 4);
        for (uint64_t i = 0; i < 4096; i++)
            columns += count_lines(&fixture,
                                   UINT64_C(1) << 30 | i / 1024 * 32 * 4096 | i % 32 * 128, 4096);
        assert_int_equal(rows, 4096 / rate);
        assert_int_equal(columns, 4096 * 32 / rate);
        end(&fixture);
    }
}

/* With masks, the lines that are simulated are all lines of some rows, and no others. */
static void lines_of_the_same_row_are_simulated_together(void **state)
{
    (void)state;
    struct fth_cache *cache = NULL;
    const struct fth_cache_config config = {
        .line_bytes = 128, .sets = 4, .ways = 482, .policy = "clock", .masks = &h200};
    assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
    for (unsigned rate = 2; rate <= 64; rate *= 2) {
        struct fixture fixture = begin_with(rate, &h200);
        int simulated[4 * 128];
        uint32_t count = 0;
        memset(simulated, 0xff, sizeof simulated);
        for (uint64_t i = 0; i < 65536; i++) {
            /* Each of the 128 groups of 512 lines is somewhere else. */
            const uint64_t line = i % 512 + i / 512 * 512 * 1048583;
            const uint32_t lines = count_lines(&fixture, line * 128, 4);
            const uint32_t row = fth_row_of(cache, fth_cache_set(cache, line * 128), line);
            assert_true(simulated[row] == -1 || simulated[row] == (int)lines);
            simulated[row] = (int)lines;
            count += lines;
        }
        assert_int_equal(count, 65536 / rate);
        end(&fixture);
    }
    fth_cache_destroy(cache);
}

/* The lines that are copied are those that are counted, at their addresses. */
static void simulated_lines_are_copied(void **state)
{
    (void)state;
    struct fixture fixture = begin(RATE);
    const uint64_t step = 4096, first = 12 * 128 + 8;
    const struct fth_compact_access access = {
        .mask = UINT32_MAX, .threads = 32, .first = first, .steps = &step, .affine = true};
    const struct fth_line_pattern *pattern = fth_sampler_find(fixture.sampler, &access, &load);
    struct fth_timed_access *copy = calloc(1, sizeof *copy + 32 * sizeof(struct fth_timed_line) +
                                                  64 * sizeof(struct fth_cache_run));
    assert_non_null(copy);
    uint32_t runs = 0;
    copy->line_count = (uint16_t)fth_sampler_count_lines(fixture.sampler, pattern, first, &runs);
    assert_int_equal(copy->line_count, 32 / RATE);
    assert_int_equal(runs, 32 / RATE);
    fth_sampler_copy_lines(fixture.sampler, pattern, first, copy);
    for (uint32_t i = 0; i < copy->line_count; i++) {
        const struct fth_timed_line *line = &copy->lines[i];
        assert_int_equal((line->line - UINT64_C(12) * 128) % step, 0);
        assert_int_equal(line->sectors, 1);
        assert_int_equal(fth_streams_runs(copy)[line->run].from, 8);
    }
    free(copy);
    end(&fixture);
}

/* ---- times ---- */

/* A load that is needed two instructions later takes its average latency. */
static void skipped_loads_take_the_average_latency(void **state)
{
    (void)state;
    struct fixture fixture = begin(RATE);
    struct fth_skip skip = {0};
    const struct fth_timed_access step = {.gap = 3, .latency = 1, .shared = 2, .barrier = true};
    struct fth_timed_access taken;
    fth_sampler_observe(fixture.sampler, 0, 100 * CYCLE);
    fth_skip_advance(&skip, &step, 2 * CYCLE);
    assert_int_equal(skip.elapsed, 6 * CYCLE);
    fth_skip_load(&skip, fixture.sampler, 0, 2);
    fth_skip_advance(&skip, &step, 2 * CYCLE);
    /* Needed by instruction 5, which is 106 cycles after the start; instruction 6 follows. */
    assert_int_equal(skip.elapsed, 108 * CYCLE);
    fth_skip_take(&skip, &taken);
    assert_int_equal(taken.gap, 6);
    assert_int_equal(taken.latency, 108);
    assert_int_equal(taken.shared, 4);
    assert_true(taken.barrier);
    assert_int_equal(taken.phase, 2);
    assert_int_equal(skip.elapsed, 0);
    end(&fixture);
}

/* ---- counts ---- */

/* Misses are multiplied, sectors are exact: 3 of the sampled sectors missed. */
static void counts_are_estimated(void **state)
{
    (void)state;
    struct fixture fixture = begin(RATE);
    struct fth_model_counts l1[2] = {{.requests = {5}, .sectors = {20}, .hits = {17}}};
    struct fth_l2_counts l2[2] = {{.counts = {.sectors = {3}, .hits = {1}}, .dram_reads = 2},
                                  {.dram_reads = 80 + 1}};
    struct fth_sample_errors errors = {-1, -1};
    for (uint64_t i = 0; i < 50; i++)
        count_lines(&fixture, i * 128, 4);
    for (uint64_t i = 0; i < 3; i++)
        fth_sampler_count(fixture.sampler, FTH_MODEL_L1, 0, 1, 1, 0);
    fth_sampler_estimate(fixture.sampler, l1, l2, 80, &errors);
    assert_int_equal(l1[0].sectors[0], 50 * 4);
    assert_int_equal(l1[0].hits[0], 50 * 4 - 3 * RATE);
    assert_int_equal(l2[0].counts.sectors[0], 3 * RATE);
    assert_int_equal(l2[0].counts.hits[0], RATE);
    assert_int_equal(l2[0].dram_reads, 2 * RATE);
    assert_int_equal(l2[1].dram_reads, 80 + RATE);
    /* All misses are in one group of 16: the sum of squares is 9 - 9 / 16. */
    assert_true(fabs(errors.l1 - RATE * sqrt((9 - 9.0 / 16) * 16 / 15 * 7 / 8)) < 1e-9);
    assert_true(errors.l2 == 0);
    end(&fixture);
}

/* ---- whole runs ---- */

static struct fth_model_result *run(const struct fth_trace *trace, unsigned sample)
{
    struct fth_model_params *params = make_params(simple_gpu, none);
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.sample = sample);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return result;
}

/* Two warps read 256 lines twice, which fit into the L1: the second time hits. */
static struct fth_trace *open_twice(void)
{
    static char tuples[1 << 16];
    size_t size = (size_t)snprintf(tuples, sizeof tuples, "# kernel twice\n# block 64 1 1\n");
    for (unsigned i = 0; i < 512; i++)
        for (unsigned warp = 0; warp < 2; warp++)
            size += (size_t)snprintf(tuples + size, sizeof tuples - size, "%u 0 %u R %u\n", i,
                                     warp * 32, (i % 256 + warp * 256) * 128);
    write_plain("tuples", tuples, size);
    struct fth_trace *trace = NULL;
    assert_int_equal(fth_trace_obtain("tuples", NULL, &trace, NULL), FTH_OK);
    return trace;
}

static void estimates_are_close_to_the_counts(void **state)
{
    (void)state;
    struct fth_trace *trace = open_twice();
    struct fth_model_result *all = run(trace, 0);
    assert_int_equal(all->sample, 0);
    for (unsigned sample = 2; sample <= 16; sample *= 2) {
        struct fth_model_result *some = run(trace, sample);
        const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
        assert_int_equal(some->sample, sample);
        assert_int_equal(a->l1.hits[0], 512);
        assert_int_equal(b->l1.hits[0], 512);
        assert_int_equal(a->warps[0], b->warps[0]);
        assert_int_equal(a->l1.sectors[0], b->l1.sectors[0]);
        assert_int_equal(a->l2.sectors[0], b->l2.sectors[0]);
        assert_int_equal(a->dram_reads, b->dram_reads);
        assert_true(fth_model_sample_error(b, 1) < 0.05);
        assert_true(fth_model_sample_error(a, 1) == 0);
        assert_true(b->seconds > 0.5 * a->seconds && b->seconds < 2 * a->seconds);
        fth_model_result_destroy(some);
    }
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
        {{"gpu.sms", "1"}, 3, false, "power of two"},
        {{"gpu.sms", "1"}, 128, false, "power of two"},
        {{"gpu.timing", "off"}, 8, false, "with time"},
        {{"gpu.sms", "1"}, 8, true, "need all lines"},
        {{"l1.size_bytes", "1K"}, 64, false, "too small"},
    };
    struct fth_trace *trace = open_twice();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_n_lines_is_simulated),
        cmocka_unit_test(lines_of_the_same_row_are_simulated_together),
        cmocka_unit_test(simulated_lines_are_copied),
        cmocka_unit_test(skipped_loads_take_the_average_latency),
        cmocka_unit_test(counts_are_estimated),
        cmocka_unit_test(estimates_are_close_to_the_counts),
        cmocka_unit_test(impossible_samples_are_refused),
    };
    return cmocka_run_group_tests_name("sample", tests, enter_folder, leave_folder);
}
