/* Tests how device/opencl/ reports what a device cannot do, and failures of a device and its
 * driver. The stand-in for libOpenCL.so.1 causes the failures. */
#include "opencl_device.h"

#include <stdio.h>

/* ---- requests that the device cannot execute ---- */

static void says_what_it_cannot_do(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    const struct fth_request good = two_passes(FTH_PATH_CA, lines(0, 4, 0));
    struct fth_request request = good;
    request.sm = 60;
    assert_refused(device, &request, FTH_NOT_FOUND, "no compute unit with this index");
    request.sm = 59;
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot choose the compute unit");
    request = good;
    request.cold = true;
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot empty the caches");
    request = good;
    request.chase.steps[0].warp = 1;
    assert_refused(device, &request, FTH_UNSUPPORTED, "with one work-item");
    request = two_passes(FTH_PATH_READONLY, lines(0, 4, 0));
    assert_refused(device, &request, FTH_UNSUPPORTED, "the path readonly is not available");
    request = two_passes(FTH_PATH_SHARED, lines(0, 1025, 0));
    assert_refused(device, &request, FTH_UNSUPPORTED, "more local memory");
    request = good;
    fth_request_add(&request, FTH_STEP_WRITE, FTH_PATH_CA, lines(0, 4, 0), 1);
    assert_refused(device, &request, FTH_UNSUPPORTED, "only the steps walk, time-pass");
    request = good;
    request.chase.steps[0].chain.stride_bytes = UINT64_C(1) << 30;
    assert_refused(device, &request, FTH_UNAVAILABLE,
                   "needs 4 GiB of memory; a buffer of this device has at most 1 GiB");
    request = fth_request_make(-1);
    request.family = FTH_FAMILY_BRANCH;
    request.branch = (struct fth_branch){.stride = FTH_FETCH_BLOCK, .count = 1, .passes = 1};
    assert_refused(device, &request, FTH_UNSUPPORTED, "do not execute this kind of experiment");
    assert_samples(device, &good, (uint32_t[]){400, 16}, 2);
    fth_device_close(device);

    device = open_in("cpu", "opencl:0");
    request = two_passes(FTH_PATH_CG, lines(0, 4, 0));
    assert_refused(device, &request, FTH_UNSUPPORTED, "no loads past the first cache");
    request = two_passes(FTH_PATH_SHARED, lines(0, 4, 0));
    assert_refused(device, &request, FTH_UNSUPPORTED, "a CPU has no local memory");
    fth_device_close(device);
}

static void a_device_without_the_memory_answers_other_requests(void **state)
{
    (void)state;
    struct fth_device *device = open_in("no-memory:4194304", "opencl:0");
    const struct fth_request large = two_passes(FTH_PATH_CA, lines(0, 1 << 17, 0)),
                             small = two_passes(FTH_PATH_CA, lines(0, 64, 0));
    assert_refused(device, &large, FTH_UNAVAILABLE, "CL_MEM_OBJECT_ALLOCATION_FAILURE (error -4)");
    assert_samples(device, &small, (uint32_t[]){6400, 256}, 2);
    fth_device_close(device);
}

/* ---- devices that cannot be opened ---- */

static void says_why_a_device_cannot_be_opened(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {"none", FTH_UNAVAILABLE, "the OpenCL library finds no device; install"},
        {"empty", FTH_UNAVAILABLE, "the OpenCL library finds no device; install"},
        {"broken", FTH_UNAVAILABLE, "CL_OUT_OF_RESOURCES (error -5)"},
        {"busy", FTH_UNAVAILABLE, "CL_DEVICE_NOT_AVAILABLE (error -2)"},
        {"build", FTH_UNSUPPORTED,
         "CL_BUILD_PROGRAM_FAILURE (error -11): kernels.cl:7:5: error: unknown instruction"},
        {"no-memory:100", FTH_UNAVAILABLE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {"stopped", FTH_UNSUPPORTED, "the clock of the kernels (s_memtime) does not advance"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fth_device *device = NULL;
        struct fth_error error = NO_ERROR;
        set_mode(rows[i].mode);
        assert_int_equal(fth_device_open("opencl:0", NULL, &device, &error), rows[i].status);
        assert_null(device);
        assert_contains(error.cause, rows[i].cause);
    }
}

/* ---- devices that fail ---- */

/* Every later request and description fails, and the error contains the reason. */
static void assert_lost(struct fth_device *device, const char *reason)
{
    const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 4, 0));
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "it is lost: ");
    assert_contains(error.cause, reason);
    fth_samples_fini(&samples);
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, gpu, NULL), FTH_UNAVAILABLE);
    fth_gpu_destroy(gpu);
}

static void a_kernel_that_fails_makes_the_device_unusable(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 4, 0));
    struct fth_samples samples[2] = {{0}};
    struct fth_error error = NO_ERROR;
    const struct fth_request requests[] = {request, request};
    set_mode("lost");
    assert_int_equal(fth_device_measure(device, requests, 2, samples, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "a kernel failed: CL_OUT_OF_RESOURCES (error -5)");
    assert_int_equal(samples[0].status, FTH_UNAVAILABLE);
    assert_int_equal(samples[1].status, FTH_UNAVAILABLE);
    assert_lost(device, "CL_OUT_OF_RESOURCES");
    fth_samples_fini(&samples[0]);
    fth_samples_fini(&samples[1]);
    fth_device_close(device);
}

static bool interrupted(void *user)
{
    return ++*(int *)user > 3;
}

static void a_kernel_that_hangs_is_abandoned(void **state)
{
    (void)state;
    int calls = 0;
    const struct fth_log log = {.interrupted = interrupted, .user = &calls};
    for (int by_user = 0; by_user < 2; by_user++) {
        const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 4, 0));
        struct fth_samples samples = {0};
        struct fth_error error = NO_ERROR;
        struct fth_device *device = NULL;
        set_mode("hang");
        assert_int_equal(fth_device_open("opencl:0", by_user ? &log : NULL, &device, &error),
                         FTH_OK);
        struct fth_opencl_device *opened = device->state;
        assert_true(opened->time_limit_s >= 3);
        if (!by_user)
            opened->time_limit_s = 1;
        calls = 0;
        assert_int_equal(fth_device_measure(device, &request, 1, &samples, &error),
                         by_user ? FTH_INTERRUPTED : FTH_UNAVAILABLE);
        assert_contains(error.cause,
                        by_user ? "a kernel did not complete within 2 s and was abandoned"
                                : "a kernel did not complete within 1 s and was abandoned");
        calls = -1000; /* the user does not interrupt the following calls */
        assert_lost(device, "did not complete within");
        fth_samples_fini(&samples);
        fth_device_close(device); /* releases nothing: the stand-in would abort */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_cannot_do),
        cmocka_unit_test(a_device_without_the_memory_answers_other_requests),
        cmocka_unit_test(says_why_a_device_cannot_be_opened),
        cmocka_unit_test(a_kernel_that_fails_makes_the_device_unusable),
        cmocka_unit_test(a_kernel_that_hangs_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
