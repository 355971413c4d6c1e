/* An open OpenCL device: its context, one command queue, the program, launches and copies.
 *
 * The waiting functions of OpenCL have no time limit, so this file polls the event of each command
 * instead, and gives up after a time limit. Every function here waits for its command: a device
 * executes one command at a time.
 *
 * Two failures make the device unusable. The first is a command that exceeds its time limit,
 * because it cannot be stopped. The second is a command that ends with an error. After either, the
 * device is *lost*: every later call fails at once, and the error gives the reason. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A rate that every copy exceeds, in bytes per second, for the time limit. Chosen, not derived. */
#define MIN_COPY_RATE 100e6
/* A wait sleeps between polls, for SLEEP_FRACTION of the time that has passed, and for at least
 * MIN_SLEEP_S and at most MAX_SLEEP_S. It does not poll all the time: the device may be the CPU on
 * which the host polls. Chosen, not derived. */
#define SLEEP_FRACTION (1.0 / 16)
#define MIN_SLEEP_S 20e-6
#define MAX_SLEEP_S 2e-3
/* After an interruption, the command that runs is given this long to end. Chosen: short for a user
 * who waits, and longer than nearly all commands take. */
#define INTERRUPTED_LIMIT_S 2.0
static const char operation[] = "use OpenCL device";
static const char *const kernel_names[] = {
    [FTH_OPENCL_KERNEL_CHASE] = "fth_chase", [FTH_OPENCL_KERNEL_PACE] = "fth_pace",
    [FTH_OPENCL_KERNEL_FACTS] = "fth_facts", [FTH_OPENCL_KERNEL_ORIGIN] = "fth_origin",
    [FTH_OPENCL_KERNEL_PLACE] = "fth_place", [FTH_OPENCL_KERNEL_SHARE] = "fth_share"};

double fth_opencl_now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_s(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* ---- lost devices ---- */

enum fth_status fth_opencl_check(const struct fth_opencl_device *device, struct fth_error *error)
{
    if (device->lost[0])
        return fth_fail(error, FTH_UNAVAILABLE, operation, device->id, "it is lost: %s",
                        device->lost);
    return FTH_OK;
}

static enum fth_status lose(const struct fth_opencl_device *device, enum fth_status status,
                            struct fth_error *error)
{
    return fth_fail(error, status, operation, device->id, "%s", device->lost);
}

/* ---- waiting ---- */

/* Marks the device as lost because a command does not end. */
static enum fth_status abandon(struct fth_opencl_device *device, const char *what, double passed,
                               bool interrupted, struct fth_error *error)
{
    device->hung = true;
    fth_format(device->lost, sizeof device->lost,
               "%s did not complete within %g s and was abandoned", what, round(passed));
    return lose(device, interrupted ? FTH_INTERRUPTED : FTH_UNAVAILABLE, error);
}

/* Waits for the command of an event. */
static enum fth_status wait_event(struct fth_opencl_device *device, void *event, const char *what,
                                  double limit_s, struct fth_error *error)
{
    const double start = fth_opencl_now_s();
    fth_cl_int state = 1, result = device->cl.queue_flush(device->queue);
    double interrupted_s = INFINITY;
    while (result == 0 && (result = device->cl.event_info(event, FTH_CL_EVENT_STATUS, sizeof state,
                                                          &state, NULL)) == 0) {
        if (state <= 0)
            break;
        const double passed = fth_opencl_now_s() - start;
        if (isinf(interrupted_s) && fth_log_interrupted(device->log))
            interrupted_s = passed;
        if (passed >= limit_s || passed - interrupted_s >= INTERRUPTED_LIMIT_S)
            return abandon(device, what, passed, passed < limit_s, error);
        sleep_s(fmin(fmax(SLEEP_FRACTION * passed, MIN_SLEEP_S), MAX_SLEEP_S));
    }
    if (result == 0)
        result = state;
    if (result == 0)
        return FTH_OK;
    const char *name = fth_opencl_error_name(result);
    snprintf(device->lost, sizeof device->lost, "%s failed: %s (error %d)", what,
             name ? name : "unknown error", result);
    return lose(device, FTH_UNAVAILABLE, error);
}

/* The nanoseconds of a completed command, NAN if the driver does not report them. */
static double duration_of(const struct fth_opencl_device *device, void *event)
{
    uint64_t start = 0, end = 0;
    if (device->cl.event_profile(event, FTH_CL_PROFILING_START, sizeof start, &start, NULL) != 0 ||
        device->cl.event_profile(event, FTH_CL_PROFILING_END, sizeof end, &end, NULL) != 0 ||
        end <= start)
        return NAN;
    return (double)(end - start);
}

/* Waits for the command that a function of OpenCL has queued with the given result, and releases
 * its event. */
static enum fth_status finish(struct fth_opencl_device *device, fth_cl_int result, void *event,
                              const char *call, const char *what, double work_s, double *ns,
                              struct fth_error *error)
{
    if (ns)
        *ns = NAN;
    if (result != 0)
        return fth_opencl_fail(result, call, error);
    enum fth_status status = wait_event(device, event, what, device->time_limit_s + work_s, error);
    if (status == FTH_OK && ns)
        *ns = duration_of(device, event);
    if (!device->hung)
        device->cl.event_release(event);
    return status;
}

/* ---- commands ---- */

enum fth_status fth_opencl_run(struct fth_opencl_device *device, void *kernel,
                               const struct fth_opencl_argument *arguments, size_t argument_count,
                               size_t groups, size_t threads, double work_s, double *ns,
                               struct fth_error *error)
{
    FTH_TRY(fth_opencl_check(device, error));
    for (size_t i = 0; i < argument_count; i++) {
        fth_cl_int result =
            device->cl.kernel_argument(kernel, (uint32_t)i, arguments[i].bytes, arguments[i].value);
        if (result != 0)
            return fth_opencl_fail(result, "clSetKernelArg", error);
    }
    const size_t all = groups * threads;
    void *event = NULL;
    fth_cl_int result =
        device->cl.enqueue_kernel(device->queue, kernel, 1, NULL, &all, &threads, 0, NULL, &event);
    return finish(device, result, event, "clEnqueueNDRangeKernel", "a kernel", work_s, ns, error);
}

static double copy_s(uint64_t bytes)
{
    return (double)bytes / MIN_COPY_RATE;
}

/* Copies between host and device go through memory of their own. If fathom stops waiting for a
 * copy, the driver may still access this memory, which is therefore not freed. */
static enum fth_status make_stage(uint64_t bytes, void **stage, struct fth_error *error)
{
    *stage = malloc((size_t)bytes);
    return *stage ? FTH_OK : fth_no_memory(error, "copy", NULL);
}

static void free_stage(const struct fth_opencl_device *device, void *stage)
{
    if (!device->hung)
        free(stage);
}

enum fth_status fth_opencl_write(struct fth_opencl_device *device, void *memory, uint64_t offset,
                                 const void *data, uint64_t bytes, struct fth_error *error)
{
    void *event = NULL, *stage = NULL;
    FTH_TRY(fth_opencl_check(device, error));
    FTH_TRY(make_stage(bytes, &stage, error));
    memcpy(stage, data, (size_t)bytes);
    fth_cl_int result = device->cl.enqueue_write(device->queue, memory, 0, (size_t)offset,
                                                 (size_t)bytes, stage, 0, NULL, &event);
    const enum fth_status status = finish(device, result, event, "clEnqueueWriteBuffer",
                                          "a copy to the device", copy_s(bytes), NULL, error);
    free_stage(device, stage);
    return status;
}

enum fth_status fth_opencl_read(struct fth_opencl_device *device, void *data, void *memory,
                                uint64_t offset, uint64_t bytes, struct fth_error *error)
{
    void *event = NULL, *stage = NULL;
    FTH_TRY(fth_opencl_check(device, error));
    FTH_TRY(make_stage(bytes, &stage, error));
    fth_cl_int result = device->cl.enqueue_read(device->queue, memory, 0, (size_t)offset,
                                                (size_t)bytes, stage, 0, NULL, &event);
    const enum fth_status status = finish(device, result, event, "clEnqueueReadBuffer",
                                          "a copy from the device", copy_s(bytes), NULL, error);
    if (status == FTH_OK)
        memcpy(data, stage, (size_t)bytes);
    free_stage(device, stage);
    return status;
}

enum fth_status fth_opencl_copy(struct fth_opencl_device *device, void *from, void *to,
                                uint64_t bytes, double *ns, struct fth_error *error)
{
    void *event = NULL;
    FTH_TRY(fth_opencl_check(device, error));
    fth_cl_int result =
        device->cl.enqueue_copy(device->queue, from, to, 0, 0, (size_t)bytes, 0, NULL, &event);
    return finish(device, result, event, "clEnqueueCopyBuffer", "a copy within the device",
                  copy_s(bytes), ns, error);
}

enum fth_status fth_opencl_map(struct fth_opencl_device *device, void *memory, uint64_t offset,
                               uint64_t bytes, char **data, struct fth_error *error)
{
    void *event = NULL;
    fth_cl_int result = 0;
    FTH_TRY(fth_opencl_check(device, error));
    *data = device->cl.enqueue_map(device->queue, memory, 0, FTH_CL_MAP_READ | FTH_CL_MAP_WRITE,
                                   (size_t)offset, (size_t)bytes, 0, NULL, &event, &result);
    return finish(device, result, event, "clEnqueueMapBuffer", "mapping a buffer", copy_s(bytes),
                  NULL, error);
}

enum fth_status fth_opencl_unmap(struct fth_opencl_device *device, void *memory, void *data,
                                 uint64_t bytes, struct fth_error *error)
{
    void *event = NULL;
    FTH_TRY(fth_opencl_check(device, error));
    fth_cl_int result = device->cl.enqueue_unmap(device->queue, memory, data, 0, NULL, &event);
    return finish(device, result, event, "clEnqueueUnmapMemObject", "unmapping a buffer",
                  copy_s(bytes), NULL, error);
}

/* ---- the program ---- */

/* Fails with the log of the compiler, from its first error on. */
static enum fth_status fail_build(struct fth_opencl_device *device, void *program,
                                  fth_cl_int result, struct fth_error *error)
{
    enum { MAX_LOG = 1 << 20 };
    void *of = device->entry.device;
    size_t size = 0;
    if (device->cl.program_log(program, of, FTH_CL_BUILD_LOG, 0, NULL, &size) != 0 ||
        size > MAX_LOG)
        size = 0;
    char *log = size ? calloc(1, size + 1) : NULL;
    if (log && device->cl.program_log(program, of, FTH_CL_BUILD_LOG, size, log, NULL) != 0)
        log[0] = '\0';
    const char *text = log ? strstr(log, "error") : NULL;
    while (text && text > log && text[-1] != '\n') /* the whole line */
        text--;
    for (char *end = log; end && (end = strchr(end, '\n')); end++) /* one line for the message */
        *end = ' ';
    for (size_t length = log ? strlen(log) : 0; length > 0 && log[length - 1] == ' '; length--)
        log[length - 1] = '\0';
    if (!text)
        text = log && log[0] ? log : "the driver gives no reason";
    const char *name = fth_opencl_error_name(result);
    enum fth_status status =
        fth_fail(error, result == FTH_CL_OUT_OF_HOST_MEMORY ? FTH_NO_MEMORY : FTH_UNSUPPORTED,
                 "compile OpenCL kernels", device->entry.name, "%s (error %d): %.300s",
                 name ? name : "unknown error", result, text);
    free(log);
    return status;
}

enum fth_status fth_opencl_compile(struct fth_opencl_device *device, const struct fth_buffer *text,
                                   void **program, struct fth_error *error)
{
    const char *source = text->data;
    fth_cl_int result = 0;
    FTH_TRY(fth_opencl_check(device, error));
    *program = device->cl.program_create(device->context, 1, &source, &text->size, &result);
    if (!*program)
        return fth_opencl_fail(result, "clCreateProgramWithSource", error);
    /* The second option is for NVIDIA's GPUs (nvidia.cl). */
    result = device->cl.program_build(*program, 1, &device->entry.device,
                                      "-cl-std=CL1.2 -DFTH_ORIGIN_IN_LINKS", NULL, NULL);
    if (result == 0)
        return FTH_OK;
    enum fth_status status = fail_build(device, *program, result, error);
    device->cl.program_release(*program);
    *program = NULL;
    return status;
}

static enum fth_status build(struct fth_opencl_device *device, enum fth_opencl_vendor vendor,
                             struct fth_error *error)
{
    struct fth_buffer text = {0};
    enum fth_status status = fth_kernels_opencl(vendor, &text, error);
    if (status == FTH_OK)
        status = fth_opencl_compile(device, &text, &device->program, error);
    fth_buffer_fini(&text);
    device->vendor = vendor;
    return status;
}

/* The prelude for the device: CPUs by the processor of this computer, others by the vendor. */
static enum fth_opencl_vendor prelude_of(const struct fth_opencl_device *device)
{
    const char *vendor = fth_opencl_vendor_name(device->entry.vendor);
    if (device->is_cpu) {
#if defined(__x86_64__)
        return FTH_OPENCL_X86;
#elif defined(__aarch64__)
        return FTH_OPENCL_ARM64;
#else
        return FTH_OPENCL_OTHER;
#endif
    }
    return strcmp(vendor, "AMD") == 0      ? FTH_OPENCL_AMD
           : strcmp(vendor, "Intel") == 0  ? FTH_OPENCL_INTEL_GPU
           : strcmp(vendor, "NVIDIA") == 0 ? FTH_OPENCL_NVIDIA
                                           : FTH_OPENCL_OTHER;
}

/* Builds the program for the vendor. If its compiler does not accept the vendor's instructions,
 * which is so with implementations that are not the vendor's own, builds it without them. */
static enum fth_status build_any(struct fth_opencl_device *device, struct fth_error *error)
{
    struct fth_error first = FTH_NO_ERROR, second = FTH_NO_ERROR;
    const enum fth_opencl_vendor vendor = prelude_of(device);
    enum fth_status status = build(device, vendor, &first);
    if (status != FTH_UNSUPPORTED || vendor == FTH_OPENCL_OTHER)
        return status == FTH_OK ? FTH_OK : fth_error_move(error, &first);
    if (build(device, FTH_OPENCL_OTHER, &second) != FTH_OK)
        return fth_error_move(error, &first);
    fth_log_message(device->log, FTH_LOG_WARNING,
                    "%s: the OpenCL compiler does not accept the vendor's instructions, so that "
                    "the kernels cannot read a clock (%.200s)",
                    device->id, first.cause);
    return FTH_OK;
}

enum fth_status fth_opencl_kernel_named(struct fth_opencl_device *device, void *program,
                                        const char *name, void **kernel, struct fth_error *error)
{
    fth_cl_int result = 0;
    *kernel = device->cl.kernel_create(program, name, &result);
    return *kernel ? FTH_OK : fth_opencl_fail(result, "clCreateKernel", error);
}

/* ---- start and stop ---- */

static void read_limits(struct fth_opencl_device *device)
{
    const struct fth_opencl *cl = &device->cl;
    void *of = device->entry.device;
    device->is_cpu = (fth_opencl_number(cl, of, FTH_CL_DEVICE_TYPE) & FTH_CL_TYPE_CPU) != 0;
    device->units = (uint32_t)fth_opencl_number(cl, of, FTH_CL_DEVICE_MAX_COMPUTE_UNITS);
    device->units = device->units ? device->units : 1;
    device->max_buffer_bytes = fth_opencl_number(cl, of, FTH_CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    device->max_constant_bytes = fth_opencl_number(cl, of, FTH_CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    device->max_local_bytes = fth_opencl_number(cl, of, FTH_CL_DEVICE_LOCAL_MEM_SIZE);
}

enum fth_status fth_opencl_start(struct fth_opencl_device *device, struct fth_error *error)
{
    fth_cl_int result = 0;
    read_limits(device);
    device->context =
        device->cl.context_create(NULL, 1, &device->entry.device, NULL, NULL, &result);
    if (!device->context)
        return fth_opencl_fail(result, "clCreateContext", error);
    device->queue = device->cl.queue_create(device->context, device->entry.device,
                                            FTH_CL_QUEUE_PROFILING, &result);
    if (!device->queue)
        return fth_opencl_fail(result, "clCreateCommandQueue", error);
    FTH_TRY(build_any(device, error));
    for (size_t i = 0; i < FTH_COUNT(kernel_names); i++)
        FTH_TRY(fth_opencl_kernel_named(device, device->program, kernel_names[i],
                                        &device->kernels[i], error));
    return FTH_OK;
}

void fth_opencl_stop(struct fth_opencl_device *device)
{
    fth_opencl_release_sweeps(device);
    if (device->hung)
        return;
    for (size_t i = 0; i < FTH_COUNT(device->kernels); i++)
        if (device->kernels[i])
            device->cl.kernel_release(device->kernels[i]);
    fth_opencl_release_image(device);
    fth_opencl_release_codes(device);
    struct fth_opencl_buffer *buffers[] = {
        &device->texels,    &device->memory,   &device->constants, &device->steps,
        &device->samples,   &device->unit,     &device->sums,      &device->arrays[0],
        &device->arrays[1], &device->arrays[2]};
    for (size_t i = 0; i < FTH_COUNT(buffers); i++)
        fth_opencl_release(device, buffers[i]);
    if (device->program)
        device->cl.program_release(device->program);
    if (device->queue)
        device->cl.queue_release(device->queue);
    if (device->context)
        device->cl.context_release(device->context);
}
