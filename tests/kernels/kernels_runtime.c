/* Tests of kernels that call functions of the CUDA runtime: malloc, free, printf and assert. */
#include "kernel_helpers.h"

#include "base/base.h"

#include <stdio.h>

void kernel_linked_lists(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "flow/device_calls", "linked_lists");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    for (int repeat = 0; repeat < 3; repeat++) {
        launch(k, 4, 32);
        for (int i = 0; i < COUNT; i++)
            want[i] = (i ? want[i - 1] : 0) + i * i;
        CHECK_INTEGERS("out", out, want, COUNT);
    }
}

static void collect(void *user, const char *text, size_t size)
{
    fth_buffer_append(user, text, size);
}

void kernel_prints(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 70 };
    struct fth_error error = NO_ERROR;
    struct fth_buffer output = {0}, want = {0};
    load_kernel(k, "flow/device_calls", "prints");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *values = add_buffer(k, COUNT * sizeof *values);
    fill_f32(k, values, COUNT, -100, 100);
    const struct fth_ptx_launch launched = {.kernel = "prints",
                                            .grid = {5},
                                            .block = {16},
                                            .arguments = k->arguments,
                                            .argument_bytes = k->info->parameter_bytes,
                                            .print = collect,
                                            .print_user = &output};
    if (fth_ptx_run(k->machine, &launched, NULL, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (int i = 0; i < COUNT; i++)
        fth_buffer_format(&want, "%d of block %u: %.3f %s %5lld%c", i, (unsigned)i / 16,
                          (double)values[i], i % 2 ? "odd" : "even", 1000000000000ll * i, '\n');
    assert_string_equal(output.data, want.data);
    fth_buffer_fini(&output);
    fth_buffer_fini(&want);
}

void kernel_asserts(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 40 };
    struct fth_error error = NO_ERROR;
    load_kernel(k, "flow/device_calls", "asserts");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *values = add_buffer(k, COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    launch(k, 1, COUNT);
    values[34] = COUNT;
    const struct fth_ptx_launch launched = {.kernel = "asserts",
                                            .block = {COUNT},
                                            .arguments = k->arguments,
                                            .argument_bytes = k->info->parameter_bytes};
    assert_int_equal(fth_ptx_run(k->machine, &launched, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "thread (34,0,0): assertion failed: device_calls.cu:");
    assert_contains(error.cause, "asserts(int, const int *): values[threadIdx.x] < n");
}
