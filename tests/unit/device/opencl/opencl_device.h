/* Opens devices of the stand-in for libOpenCL.so.1 (tests/standin/standin_opencl.c), which the
 * loader finds through LD_LIBRARY_PATH, and sends chases to them. */
#ifndef FTH_TESTS_OPENCL_DEVICE_H
#define FTH_TESTS_OPENCL_DEVICE_H

#include "check.h"
#include "device/opencl/opencl.h"

#include <stdlib.h>

static inline void set_mode(const char *mode)
{
    setenv("FATHOM_STANDIN_OPENCL", mode, 1);
}

/* Opens a device of the stand-in in the given mode. */
static inline struct fth_device *open_in(const char *mode, const char *id)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    set_mode(mode);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

/* A chain of `count` elements, 64 bytes apart, in the order of the seed. */
static inline struct fth_chain lines(unsigned array, uint64_t count, uint64_t seed)
{
    return (struct fth_chain){.array = array, .stride_bytes = 64, .count = count, .seed = seed};
}

/* Times one cold pass and then one more over a chain. */
static inline struct fth_request two_passes(enum fth_path path, struct fth_chain chain)
{
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, path, chain, 2);
    return request;
}

/* Executes a request, which must have this status and the cause. */
static inline void assert_refused(struct fth_device *device, const struct fth_request *request,
                                  enum fth_status status, const char *cause)
{
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_measure(device, request, 1, &samples, &error), FTH_OK);
    assert_int_equal(samples.status, status);
    assert_contains(samples.cause, cause);
    assert_int_equal(samples.count, 0);
    fth_samples_fini(&samples);
}

/* Executes a request, whose samples must be these. */
static inline void assert_samples(struct fth_device *device, const struct fth_request *request,
                                  const uint32_t *expected, size_t count)
{
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_measure(device, request, 1, &samples, &error), FTH_OK);
    if (samples.status != FTH_OK)
        fail_msg("%s", samples.cause);
    assert_int_equal(samples.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(samples.cycles[i], expected[i]);
    fth_samples_fini(&samples);
}

#endif
