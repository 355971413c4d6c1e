/* What the OpenCL driver reports about a device, as attributes of a GPU description, and the clock
 * that the kernels read. What the driver says about caches is left out: fathom measures them, and
 * drivers often report the wrong level. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sets an attribute. Adds the element if it does not exist. Does nothing if the attribute already
 * has a value from another source. */
static enum fth_status set_attribute(struct fth_gpu *gpu, const char *section,
                                     struct fth_attribute attribute, enum fth_source source,
                                     const char *method, struct fth_error *error)
{
    if (!fth_gpu_section(gpu, section)) {
        struct fth_attribute scope = fth_attribute_make("scope", FTH_TEXT);
        scope.text = strcmp(section, "memory") == 0 ? "gpu" : "sm";
        FTH_TRY(fth_gpu_add_element(gpu, section, error));
        FTH_TRY(fth_gpu_set(gpu, fth_gpu_section(gpu, section), &scope, error));
    }
    const struct fth_attribute *existing = fth_gpu_attribute(gpu, section, attribute.name);
    if (existing && existing->source != FTH_SOURCE_NONE && existing->source != source)
        return FTH_OK;
    attribute.source = source;
    attribute.method = method;
    return fth_gpu_set(gpu, fth_gpu_section(gpu, section), &attribute, error);
}

static enum fth_status set_text(struct fth_gpu *gpu, const char *name, const char *text,
                                const char *method, struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_TEXT);
    attribute.text = text;
    return text[0] ? set_attribute(gpu, "device", attribute, FTH_SOURCE_DRIVER, method, error)
                   : FTH_OK;
}

/* Numbers that are 0 are unknown. */
static enum fth_status set_number(struct fth_gpu *gpu, const char *section, const char *name,
                                  double number, const char *method, struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBER);
    attribute.number = number;
    return number > 0 ? set_attribute(gpu, section, attribute, FTH_SOURCE_DRIVER, method, error)
                      : FTH_OK;
}

/* What the kernels read to find the unit that executes them. */
static const char *unit_source(const struct fth_opencl_device *device)
{
    if (!device->has_unit)
        return "none";
    switch (device->vendor) {
    case FTH_OPENCL_AMD: return "HW_ID";
    case FTH_OPENCL_INTEL_GPU: return "intel_get_slice_id";
    case FTH_OPENCL_NVIDIA: return "%smid";
    case FTH_OPENCL_X86: return "rdtscp";
    case FTH_OPENCL_ARM64: return "getcpu";
    default: return "none";
    }
}

static enum fth_status describe_identity(struct fth_opencl_device *device, struct fth_gpu *gpu,
                                         struct fth_error *error)
{
    const struct fth_opencl *cl = &device->cl;
    void *of = device->entry.device;
    char driver[64], version[160];
    const uint64_t type = fth_opencl_number(cl, of, FTH_CL_DEVICE_TYPE);
    fth_opencl_text(cl, of, FTH_CL_DRIVER_VERSION, driver, sizeof driver);
    fth_opencl_text(cl, of, FTH_CL_DEVICE_VERSION, version, sizeof version);
    const struct {
        const char *name, *text, *method;
    } texts[] = {
        {"name", device->entry.name, "CL_DEVICE_NAME"},
        {"vendor", fth_opencl_vendor_name(device->entry.vendor), "CL_DEVICE_VENDOR"},
        {"kind",
         type & FTH_CL_TYPE_CPU   ? "cpu"
         : type & FTH_CL_TYPE_GPU ? "gpu"
                                  : "accelerator",
         "CL_DEVICE_TYPE"},
        {"backend", "opencl", "clGetPlatformIDs"},
        {"driver", driver, "CL_DRIVER_VERSION"},
        {"opencl_version", version, "CL_DEVICE_VERSION"},
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        FTH_TRY(set_text(gpu, texts[i].name, texts[i].text, texts[i].method, error));
    return FTH_OK;
}

/* The wavefront or warp size, where an extension of the vendor reports it. */
static enum fth_status describe_warp(struct fth_opencl_device *device, struct fth_gpu *gpu,
                                     struct fth_error *error)
{
    static const struct {
        const char *extension, *method;
        uint32_t what;
    } queries[] = {
        {"cl_amd_device_attribute_query", "CL_DEVICE_WAVEFRONT_WIDTH_AMD",
         FTH_CL_DEVICE_WAVEFRONT_WIDTH_AMD},
        {"cl_nv_device_attribute_query", "CL_DEVICE_WARP_SIZE_NV", FTH_CL_DEVICE_WARP_SIZE_NV}};
    for (size_t i = 0; i < FTH_COUNT(queries); i++)
        if (fth_opencl_has_extension(&device->cl, device->entry.device, queries[i].extension))
            FTH_TRY(set_number(gpu, "device", "warp_size",
                               (double)(uint32_t)fth_opencl_number(
                                   &device->cl, device->entry.device, queries[i].what),
                               queries[i].method, error));
    return FTH_OK;
}

/* The clock of a CPU is measured: drivers report the rate of another clock, or none. */
static enum fth_status describe_clock(struct fth_opencl_device *device, struct fth_gpu *gpu,
                                      struct fth_error *error)
{
    const struct fth_opencl_clock *clock = &device->clock;
    struct fth_attribute mhz = fth_attribute_make("clock_mhz", FTH_NUMBER);
    struct fth_attribute resolution = fth_attribute_make("clock_resolution_cycles", FTH_NUMBER);
    FTH_TRY(set_text(gpu, "clock_source", clock->source, "the clock that the kernels read", error));
    resolution.number = round(10 * clock->resolution_cycles) / 10;
    resolution.samples = clock->samples;
    if (device->has_clock && resolution.number > 0)
        FTH_TRY(set_attribute(gpu, "device", resolution, FTH_SOURCE_MEASURED,
                              "the clock before and after a chain of additions", error));
    if (!device->is_cpu || !device->has_clock)
        return set_number(gpu, "device", "clock_mhz",
                          (double)(uint32_t)fth_opencl_number(&device->cl, device->entry.device,
                                                              FTH_CL_DEVICE_MAX_CLOCK_FREQUENCY),
                          "CL_DEVICE_MAX_CLOCK_FREQUENCY", error);
    mhz.number = round(clock->mhz);
    mhz.samples = clock->samples;
    return set_attribute(gpu, "device", mhz, FTH_SOURCE_MEASURED,
                         "a chain of additions of one cycle each", error);
}

enum fth_status fth_opencl_describe(struct fth_opencl_device *device, struct fth_gpu *gpu,
                                    struct fth_error *error)
{
    const struct fth_opencl *cl = &device->cl;
    void *of = device->entry.device;
    FTH_TRY(describe_identity(device, gpu, error));
    FTH_TRY(set_number(gpu, "device", "sms", device->units, "CL_DEVICE_MAX_COMPUTE_UNITS", error));
    FTH_TRY(set_number(gpu, "device", "max_threads_per_block",
                       (double)fth_opencl_number(cl, of, FTH_CL_DEVICE_MAX_WORK_GROUP_SIZE),
                       "CL_DEVICE_MAX_WORK_GROUP_SIZE", error));
    FTH_TRY(describe_warp(device, gpu, error));
    FTH_TRY(describe_clock(device, gpu, error));
    FTH_TRY(set_text(gpu, "unit_source", unit_source(device),
                     "what the kernels read to find their unit", error));
    if (fth_opencl_code_bytes(device))
        FTH_TRY(set_number(gpu, "device", "instruction_bytes", fth_opencl_code_bytes(device),
                           "the straight-line code that fathom executes", error));
    FTH_TRY(set_number(gpu, "memory", "size_bytes",
                       (double)fth_opencl_number(cl, of, FTH_CL_DEVICE_GLOBAL_MEM_SIZE),
                       "CL_DEVICE_GLOBAL_MEM_SIZE", error));
    FTH_TRY(fth_device_describe_host(gpu, error));
    if (device->is_cpu)
        return FTH_OK;
    const bool amd = strcmp(fth_opencl_vendor_name(device->entry.vendor), "AMD") == 0;
    return set_number(gpu, amd ? "lds" : "shared", "max_block_bytes",
                      (double)device->max_local_bytes, "CL_DEVICE_LOCAL_MEM_SIZE", error);
}
