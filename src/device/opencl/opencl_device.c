/* The backend opencl: opens a device, and executes the requests of a batch one after the other. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "run experiments";

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    FTH_TRY(fth_opencl_check(state, error));
    return fth_opencl_describe(state, gpu, error);
}

static enum fth_status run_request(struct fth_opencl_device *device,
                                   const struct fth_request *request, struct fth_samples *samples,
                                   struct fth_error *error)
{
    switch (request->family) {
    case FTH_FAMILY_CHASE: return fth_opencl_chase(device, request, samples, error);
    case FTH_FAMILY_FETCH: return fth_opencl_fetch(device, request, samples, error);
    case FTH_FAMILY_SWEEP: return fth_opencl_sweep(device, request, samples, error);
    case FTH_FAMILY_TRANSFER: return fth_opencl_transfer(device, request, samples, error);
    case FTH_FAMILY_PLACE: return fth_opencl_place(device, request, samples, error);
    case FTH_FAMILY_SHARE: return fth_opencl_share(device, request, samples, error);
    default:
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "OpenCL devices do not execute this kind of experiment");
    }
}

/* Executes one request. If only this request cannot be answered, its samples hold the reason. */
static enum fth_status answer(struct fth_opencl_device *device, const struct fth_request *request,
                              struct fth_samples *samples, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = run_request(device, request, samples, &fault);
    samples->status = status;
    samples->cause[0] = '\0';
    if (status == FTH_OK)
        return FTH_OK;
    fth_samples_fini(samples);
    samples->status = status;
    snprintf(samples->cause, sizeof samples->cause, "%.*s", (int)sizeof samples->cause - 1,
             fault.cause);
    const bool only_this = status == FTH_UNSUPPORTED || status == FTH_NOT_FOUND ||
                           (status == FTH_UNAVAILABLE && !device->lost[0]);
    return only_this ? FTH_OK : fth_error_move(error, &fault);
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct fth_opencl_device *device = state;
    for (size_t i = 0; i < count; i++) {
        if (fth_log_interrupted(device->log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(fth_opencl_check(device, error));
        FTH_TRY(answer(device, &requests[i], &samples[i], error));
        samples[i].clock_mhz = device->clock.mhz;
    }
    return FTH_OK;
}

static void close_device(void *state)
{
    struct fth_opencl_device *device = state;
    fth_opencl_stop(device);
    fth_opencl_close(&device->cl);
    free(device);
}

static const struct fth_device_ops device_ops = {
    .describe = describe, .measure = measure, .close = close_device};

/* Finds the device and starts it. */
static enum fth_status start(struct fth_opencl_device *device, const char *selector,
                             bool require_gpu, struct fth_error *error)
{
    struct fth_opencl_entries *entries = malloc(sizeof *entries);
    if (!entries)
        return fth_no_memory(error, "open OpenCL device", selector);
    size_t index = 0;
    enum fth_status status = fth_opencl_find(&device->cl, entries, error);
    if (status == FTH_OK)
        status = fth_opencl_select(entries, selector, &index, error);
    if (status == FTH_OK)
        device->entry = entries->items[index];
    free(entries);
    FTH_TRY(status);
    if (require_gpu &&
        fth_opencl_number(&device->cl, device->entry.device, FTH_CL_DEVICE_TYPE) & FTH_CL_TYPE_CPU)
        return fth_fail(error, FTH_UNAVAILABLE, "open OpenCL device", selector,
                        "it is a CPU; a GPU is required");
    FTH_TRY(fth_opencl_start(device, error));
    return fth_opencl_calibrate(device, error);
}

static enum fth_status open_device(const char *selector, const struct fth_device_options *options,
                                   struct fth_device **device, struct fth_error *error)
{
    char id[sizeof(*device)->id];
    *device = NULL;
    struct fth_opencl_device *made = calloc(1, sizeof *made);
    if (!made)
        return fth_no_memory(error, "open OpenCL device", selector);
    snprintf(id, sizeof id, "opencl:%s", selector);
    snprintf(made->id, sizeof made->id, "%.63s", id);
    made->log = options->log;
    made->time_limit_s = FTH_OPENCL_TIME_LIMIT_S;
    enum fth_status status = fth_opencl_open(&made->cl, error);
    if (status == FTH_OK)
        status = start(made, selector, options->require_gpu, error);
    if (status == FTH_OK)
        return fth_device_create(id, &device_ops, made, device, error);
    close_device(made);
    return status;
}

const struct fth_backend fth_backend_opencl = {.name = "opencl",
                                               .summary =
                                                   "GPUs, CPUs and accelerators, through OpenCL",
                                               .list = fth_opencl_list,
                                               .is_real = true,
                                               .open = open_device};
