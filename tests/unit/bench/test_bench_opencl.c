/* Tests how many loads the bench latency executes on an OpenCL GPU: a hop in memory takes about
 * 0.5 us there. The device only counts them. */
#include "check.h"
#include "device/device.h"
#include "fathom/benches.h"

#include <stdio.h>
#include <stdlib.h>

/* Loads that take a minute at 0.5 us each. */
static const double max_loads = 120e6;

struct counts {
    double loads;
    size_t requests;
};

static enum fth_status count_loads(void *state, const struct fth_request *requests, size_t count,
                                   struct fth_samples *samples, struct fth_error *error)
{
    struct counts *counts = state;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_chase *chase = &requests[i].chase;
        const size_t size = (size_t)fth_request_samples(&requests[i]);
        samples[i] = (struct fth_samples){.clock_mhz = 1000, .count = size};
        samples[i].cycles = calloc(size, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        for (size_t k = 0; k < chase->step_count; k++) {
            const struct fth_step *step = &chase->steps[k];
            counts->loads += (double)step->passes * (double)step->chain.count;
            for (size_t j = 0; j < size; j++)
                samples[i].cycles[j] = (uint32_t)(10 * step->chain.count);
        }
        counts->requests++;
    }
    return FTH_OK;
}

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    (void)state;
    struct fth_attribute backend = fth_attribute_make("backend", FTH_TEXT),
                         kind = fth_attribute_make("kind", FTH_TEXT),
                         size = fth_attribute_make("size_bytes", FTH_NUMBER);
    backend.text = "opencl";
    kind.text = "gpu";
    size.number = 64.0 * (1 << 30);
    FTH_TRY(fth_gpu_set(gpu, &gpu->device, &backend, error));
    FTH_TRY(fth_gpu_set(gpu, &gpu->device, &kind, error));
    FTH_TRY(fth_gpu_add_element(gpu, "memory", error));
    return fth_gpu_set(gpu, fth_gpu_section(gpu, "memory"), &size, error);
}

static void close_device(void *state)
{
    (void)state;
}

static void latency_of_a_gpu_takes_a_minute_at_most(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {
        .describe = describe, .measure = count_loads, .close = close_device};
    static const char *const names[] = {"latency"};
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.names = names, .count = 1);
    struct counts counts = {0};
    struct fth_device *device = NULL;
    struct fth_bench *bench = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_create("counting", &ops, &counts, &device, &error), FTH_OK);
    if (fth_bench_create(device, &options, &bench, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    printf("# %.0f loads in %zu requests\n", counts.loads, counts.requests);
    assert_true(counts.loads > 0 && counts.loads < max_loads);
    assert_true(counts.requests > 100 && counts.requests < 400);
    fth_bench_destroy(bench);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_of_a_gpu_takes_a_minute_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
