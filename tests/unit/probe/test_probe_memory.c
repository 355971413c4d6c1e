/* Tests that a probe fails with FTH_NO_MEMORY whichever allocation fails, or gives the same figure,
 * confidence included, and that it frees what it has allocated until then (tests/leaks checks
 * that). The device is synthetic: each pass takes 100 cycles and 30 cycles per load, and every
 * other one is longer. */
#include "check.h"
#include "failing.h"
#include "probe/cache/probe_cache.h"
#include "probe/probe.h"

#include <stdlib.h>

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    (void)state, (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_step *timed = &requests[i].chase.steps[requests[i].chase.step_count - 1];
        samples[i].count = fth_request_samples(&requests[i]);
        samples[i].clock_mhz = 1000;
        samples[i].cycles = __real_calloc(samples[i].count, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        samples[i].status = FTH_OK;
        for (size_t k = 0; k < samples[i].count; k++)
            samples[i].cycles[k] = (uint32_t)(100 + 30 * timed->chain.count + k % 2);
    }
    return FTH_OK;
}

static void probes_need_every_allocation(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure};
    static const struct fth_latency_plan plan = {.path = FTH_PATH_CA,
                                                 .carveout_percent = -1,
                                                 .stride_bytes = 128,
                                                 .short_count = 64,
                                                 .long_count = 256};
    struct fth_device device = {.ops = &ops, .id = "synthetic"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_figure expected = {0};
    fail_from(0, false);
    assert_int_equal(fth_probe_latency(&prober, &plan, &expected, NULL), FTH_OK);
    assert_true(expected.confidence > 0.5);
    size_t number = 0;
    for (bool failed = true; failed;) {
        struct fth_figure figure = {0};
        struct fth_error error = NO_ERROR;
        fail_from(++number, false);
        enum fth_status status = fth_probe_latency(&prober, &plan, &figure, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status != FTH_OK) {
            assert_int_equal(status, FTH_NO_MEMORY);
            assert_int_equal(error.status, FTH_NO_MEMORY);
            assert_true(error.operation[0] != '\0');
            continue;
        }
        assert_true(figure.value == expected.value);
        assert_true(figure.confidence == expected.confidence);
    }
    assert_true(number > 4);
}

/* Without memory there are no answers, and fth_answers_fini has nothing to free. */
static void answers_are_empty_without_memory(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure};
    struct fth_device device = {.ops = &ops, .id = "synthetic"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    const struct fth_chain chain = {.stride_bytes = 128, .count = 4};
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain, 1);
    struct fth_answers answers;
    fail_from(1, false);
    assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_NO_MEMORY);
    fail_from(0, false);
    assert_null(answers.items);
    assert_int_equal(answers.count, 0);
    fth_answers_fini(&answers);
}

/* A cache of 4 KiB with lines of 128 bytes, all of which a longer walk evicts: hits take 30 cycles,
 * misses 200. */
static struct {
    size_t left; /* calls until the device fails, once */
} small_cache;

static enum fth_status measure_small_cache(void *state, const struct fth_request *requests,
                                           size_t count, struct fth_samples *samples,
                                           struct fth_error *error)
{
    (void)state;
    if (small_cache.left-- == 0)
        return fth_fail(error, FTH_UNAVAILABLE, "measure", NULL, "the device is gone");
    for (size_t i = 0; i < count; i++) {
        const struct fth_chase *chase = &requests[i].chase;
        const struct fth_chain *chain = &chase->steps[chase->step_count - 1].chain;
        const bool warm = chase->step_count > 1 && chain->count * chain->stride_bytes <= 4096;
        samples[i].count = fth_request_samples(&requests[i]);
        samples[i].clock_mhz = 1000;
        samples[i].cycles = __real_calloc(samples[i].count, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        samples[i].status = FTH_OK;
        for (size_t k = 0; k < samples[i].count; k++)
            samples[i].cycles[k] = warm ? 30 : 200;
    }
    return FTH_OK;
}

/* The device fails at each of the calls of the search for a size, which then ends. */
static void every_failure_ends_the_search_for_a_size(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_small_cache};
    struct fth_device device = {.ops = &ops, .id = "synthetic"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    const struct fth_capacity_plan plan = {.path = FTH_PATH_CA,
                                           .carveout_percent = -1,
                                           .stride_bytes = 128,
                                           .smallest_bytes = 1024,
                                           .largest_bytes = 65536,
                                           .hit_cycles = 30,
                                           .miss_cycles = 200,
                                           .evidence = true,
                                           .disturbed = true};
    struct fth_capacity capacity;
    enum fth_status status = FTH_UNAVAILABLE;
    size_t calls = 0;
    for (; status != FTH_OK; calls++) {
        struct fth_error error = NO_ERROR;
        small_cache.left = calls;
        status = fth_probe_capacity(&prober, &plan, &capacity, &error);
        assert_int_equal(error.status, status);
        assert_int_equal(status == FTH_UNAVAILABLE, status != FTH_OK);
    }
    assert_true(calls > 5);
    assert_int_equal(capacity.fits_bytes, 4096);
    assert_int_equal(capacity.misses_bytes, 4096 + 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_need_every_allocation),
        cmocka_unit_test(answers_are_empty_without_memory),
        cmocka_unit_test(every_failure_ends_the_search_for_a_size),
    };
    return cmocka_run_group_tests_name("probe-memory", tests, NULL, NULL);
}
