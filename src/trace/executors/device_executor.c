/* The executor for devices: a GPU, whose driver compiles the PTX file, or a simulated GPU. Each
 * launch is waited for before the next one starts, so that an error can be attributed to its
 * launch. Launches on a GPU are timed. Launches on a simulated GPU are not: the simulator models
 * arithmetic only roughly, so its times would be meaningless for arbitrary kernels. */
#include "device/machine.h"
#include "trace/launch/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds after which a launch is considered hung, unless the options say otherwise. Chosen: the
 * limit of the launches of fathom's own experiments (FTH_MIN_TIME_LIMIT_S in device/runner.h), many
 * times the duration of the longest workload in examples/. */
#define MAX_LAUNCH_S 3.0
struct device {
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    uint64_t *allocations; /* addresses, to be freed at the end */
    size_t count, capacity;
    bool timed;     /* the device's timestamps are meaningful: it is a GPU */
    double seconds; /* duration of the last launch; NAN: not measured */
};

static enum fth_status device_alloc(void *context, uint64_t bytes, uint64_t *address,
                                    struct fth_error *error)
{
    struct device *device = context;
    void *allocations = device->allocations;
    *address = 0;
    if (!fth_grow(&allocations, device->count, &device->capacity, sizeof *device->allocations))
        return fth_no_memory(error, "allocate memory", NULL);
    device->allocations = allocations;
    FTH_TRY(device->ops->alloc(device->machine, bytes, address, error));
    device->allocations[device->count++] = *address;
    return device->ops->fill(device->machine, *address, 0, bytes, error);
}

static enum fth_status device_write(void *context, uint64_t address, const void *data,
                                    uint64_t bytes, struct fth_error *error)
{
    struct device *device = context;
    return device->ops->upload(device->machine, address, data, bytes, error);
}

static enum fth_status device_read(void *context, uint64_t address, void *data, uint64_t bytes,
                                   struct fth_error *error)
{
    struct device *device = context;
    return device->ops->download(device->machine, data, address, bytes, error);
}

static enum fth_status device_symbol(void *context, const char *name, uint64_t *address,
                                     uint64_t *bytes, struct fth_error *error)
{
    struct device *device = context;
    return device->ops->symbol(device->machine, device->module, name, address, bytes, error);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Waits for the launch. Adds the option that raises the limit to the error if the limit was
 * reached.
 */
static enum fth_status wait_for_launch(struct device *device, double limit_s,
                                       struct fth_error *error)
{
    const double start = now_s();
    enum fth_status status = device->ops->wait(device->machine, limit_s, error);
    if (status != FTH_OK && now_s() - start >= limit_s)
        fth_error_context(error, "the time limit, which --max-seconds raises, was reached");
    return status;
}

static enum fth_status launch_timed(struct device *device, const struct fth_machine_launch *launch,
                                    double limit_s, struct fth_error *error)
{
    double ns = NAN;
    device->seconds = NAN;
    if (device->timed)
        FTH_TRY(device->ops->mark(device->machine, false, error));
    FTH_TRY(device->ops->launch(device->machine, launch, error));
    if (device->timed)
        FTH_TRY(device->ops->mark(device->machine, true, error));
    FTH_TRY(wait_for_launch(device, limit_s, error));
    if (device->timed)
        FTH_TRY(device->ops->marked_ns(device->machine, &ns, error));
    device->seconds = ns / 1e9;
    return FTH_OK;
}

/* Returns true if the kernel requires clusters of more than 8 blocks, the largest size that all
 * GPUs with clusters support (CUDA C++ Programming Guide, "Thread Block Clusters"). */
static bool requires_large_cluster(const struct fth_ptx_kernel *kernel)
{
    const uint32_t *size = kernel->required_cluster;
    return (uint64_t)size[0] * size[1] * size[2] > 8;
}

static enum fth_status device_run(void *context, const struct fth_launch_step *step,
                                  const void *arguments, size_t argument_bytes,
                                  const struct fth_run_options *options,
                                  struct fth_launch_totals *totals, struct fth_error *error)
{
    (void)totals; /* devices do not count instructions */
    struct device *device = context;
    const struct fth_machine_launch launch = {.module = device->module,
                                              .kernel = step->kernel->name,
                                              .blocks = step->grid[0],
                                              .threads = step->block[0],
                                              .blocks_yz = {step->grid[1], step->grid[2]},
                                              .threads_yz = {step->block[1], step->block[2]},
                                              .cluster = step->cluster[0],
                                              .cluster_yz = {step->cluster[1], step->cluster[2]},
                                              .requires_large_cluster =
                                                  requires_large_cluster(step->kernel),
                                              .shared_bytes = step->shared_bytes,
                                              .carveout_percent = -1,
                                              .arguments = arguments,
                                              .argument_bytes = argument_bytes,
                                              .parameters = step->kernel->parameters,
                                              .parameter_count = step->kernel->parameter_count};
    enum fth_status status = launch_timed(
        device, &launch, options->max_seconds > 0 ? options->max_seconds : MAX_LAUNCH_S, error);
    const enum fth_status freed =
        device->ops->objects_free(device->machine, status == FTH_OK ? error : NULL);
    status = status == FTH_OK ? freed : status;
    if (status != FTH_OK)
        fth_error_context(error, "kernel '%s', grid %ux%ux%u, block %ux%ux%u",
                          step->kernel->display_name, step->grid[0], step->grid[1], step->grid[2],
                          step->block[0], step->block[1], step->block[2]);
    return status;
}

static enum fth_status device_tensor_map(void *context, const struct fth_ptx_tensor_map *map,
                                         unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                         struct fth_error *error)
{
    struct device *device = context;
    return device->ops->tensor_map(device->machine, map, bytes, error);
}

static enum fth_status device_texture(void *context, const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                      struct fth_error *error)
{
    struct device *device = context;
    return device->ops->object(device->machine, image, sampling, handle, error);
}

static double device_seconds(void *context)
{
    return ((const struct device *)context)->seconds;
}

static void device_close(void *context)
{
    struct device *device = context;
    for (size_t i = 0; i < device->count; i++)
        device->ops->free(device->machine, device->allocations[i]);
    if (device->module)
        device->ops->unload(device->machine, device->module);
    if (device->machine)
        device->ops->close(device->machine);
    free(device->allocations);
    free(device);
}

enum fth_status fth_device_executor_open(const struct fth_run_options *options,
                                         const char *ptx_name, const struct fth_buffer *ptx,
                                         struct fth_executor *executor, struct fth_error *error)
{
    const struct fth_device_options how =
        FTH_DEVICE_OPTIONS(.log = options->log, .max_instructions = options->max_instructions);
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return fth_no_memory(error, "load module", ptx_name);
    enum fth_status status =
        fth_machine_open(options->device, &how, &device->ops, &device->machine, error);
    if (status == FTH_OK) {
        struct fth_machine_facts facts;
        device->ops->facts(device->machine, &facts);
        device->timed = facts.concurrent;
        status = device->ops->load(device->machine, ptx_name, ptx->data, ptx->size, &device->module,
                                   error);
    }
    if (status != FTH_OK) {
        device_close(device);
        return status;
    }
    *executor = (struct fth_executor){
        .context = device,
        .alloc = device_alloc,
        .write = device_write,
        .read = device_read,
        .symbol = device_symbol,
        .run = device_run,
        .tensor_map = device_tensor_map,
        .texture = device_texture,
        .close = device_close,
        .seconds = device_seconds,
    };
    return FTH_OK;
}
