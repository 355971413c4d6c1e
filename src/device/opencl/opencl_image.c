/* Chases through an image, the path of textures (kernels/opencl/images.cl). The program is compiled
 * on first use: not all devices have images. The chains lie in a buffer, which the image is made
 * of; their links are indices of texels of 32 bits. */
#include "device/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

/* Of OpenCL: cl_image_format and cl_image_desc. */
struct image_format {
    uint32_t order, type;
};
struct image_description {
    uint32_t type;
    size_t width, height, depth, array_size, row_pitch, slice_pitch;
    uint32_t levels, samples;
    void *buffer;
};
enum { ONE_CHANNEL = 0x10B0, UNSIGNED_INT32 = 0x10DC, IMAGE_OF_BUFFER = 0x10F6 };
/* Upper bound for one hop in seconds. Chosen, not derived. */
#define MAX_HOP_S 10e-6
enum { TEXEL_BYTES = 4 };
static const char operation[] = "run experiments";

static enum fth_status refuse(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "%s", cause);
}

void fth_opencl_release_image(struct fth_opencl_device *device)
{
    struct fth_opencl_image *image = &device->image;
    if (image->memory)
        device->cl.buffer_release(image->memory);
    if (image->kernel)
        device->cl.kernel_release(image->kernel);
    if (image->program)
        device->cl.program_release(image->program);
    *image = (struct fth_opencl_image){0};
}

static enum fth_status compile(struct fth_opencl_device *device, struct fth_error *error)
{
    struct fth_buffer text = {0};
    if (device->image.kernel)
        return FTH_OK;
    enum fth_status status = fth_kernels_opencl_image(device->vendor, &text, error);
    if (status == FTH_OK)
        status = fth_opencl_compile(device, &text, &device->image.program, error);
    fth_buffer_fini(&text);
    FTH_TRY(status);
    return fth_opencl_kernel_named(device, device->image.program, "fth_image",
                                   &device->image.kernel, error);
}

/* Makes an image of the first `bytes` of the buffer of texels. */
static enum fth_status make_image(struct fth_opencl_device *device, uint64_t bytes,
                                  struct fth_error *error)
{
    const struct image_format format = {ONE_CHANNEL, UNSIGNED_INT32};
    fth_cl_int result = 0;
    if (device->image.memory && device->image.bytes == bytes)
        return FTH_OK;
    if (device->image.memory)
        device->cl.buffer_release(device->image.memory);
    FTH_TRY(fth_opencl_reserve(device, &device->texels, bytes, error));
    const struct image_description description = {.type = IMAGE_OF_BUFFER,
                                                  .width = (size_t)bytes / TEXEL_BYTES,
                                                  .buffer = device->texels.memory};
    device->image.bytes = bytes;
    device->image.memory = device->cl.image_create(device->context, FTH_CL_MEM_READ_WRITE, &format,
                                                   &description, NULL, &result);
    return device->image.memory ? FTH_OK : fth_opencl_fail(result, "clCreateImage", error);
}

/* Writes the chains of all steps. */
static enum fth_status write_chains(struct fth_opencl_device *device, const struct fth_chase *chase,
                                    uint64_t bytes, struct fth_error *error)
{
    uint32_t *texels = calloc(1, (size_t)bytes);
    if (!texels)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_chain *chain = &chase->steps[i].chain;
        const uint64_t step = fth_chain_step(chain), first = chain->start_bytes / TEXEL_BYTES,
                       stride = chain->stride_bytes / TEXEL_BYTES;
        for (uint64_t k = 0; k < chain->count; k++)
            texels[first + k * stride] =
                (uint32_t)(first + (step == 1 ? k + 1 : (k + step) % chain->count) * stride);
    }
    enum fth_status status =
        fth_opencl_write(device, device->texels.memory, 0, texels, bytes, error);
    free(texels);
    return status;
}

/* What the kernel reads, and the bytes of the image. */
struct image_plan {
    uint64_t words[FTH_MAX_STEPS * FTH_OPENCL_STEP_WORDS], bytes, samples;
    double hops;
};

static void make_plan(const struct fth_chase *chase, struct image_plan *plan)
{
    *plan = (struct image_plan){.bytes = TEXEL_BYTES};
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        const uint64_t end = fth_opencl_chain_end(&step->chain);
        const uint64_t words[FTH_OPENCL_STEP_WORDS] = {
            (uint64_t)(step->kind == FTH_STEP_TIME_PASS), step->path,        step->passes,
            step->chain.start_bytes / TEXEL_BYTES,        step->chain.count, plan->samples};
        memcpy(plan->words + i * FTH_OPENCL_STEP_WORDS, words, sizeof words);
        plan->bytes = end > plan->bytes ? end : plan->bytes;
        plan->samples += step->kind == FTH_STEP_TIME_PASS ? step->passes : 0;
        plan->hops += (double)step->passes * (double)step->chain.count;
    }
}

/* Refuses what images do not support. The steps have been checked like those of other paths. */
static enum fth_status check_image(const struct fth_opencl_device *device,
                                   const struct fth_chase *chase, struct fth_error *error)
{
    const struct fth_opencl *cl = &device->cl;
    void *of = device->entry.device;
    if (!cl->image_create || !fth_opencl_number(cl, of, FTH_CL_DEVICE_IMAGE_SUPPORT))
        return refuse(error, "the device has no images");
    if (!device->has_clock)
        return refuse(error, "the kernels of this device cannot read a clock");
    const uint64_t max_texels = fth_opencl_number(cl, of, FTH_CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        if (step->path != FTH_PATH_TEXTURE)
            return refuse(error, "all steps of a request use images, or none");
        if (step->kind != FTH_STEP_WALK && step->kind != FTH_STEP_TIME_PASS)
            return refuse(error, "images have only the steps walk and time-pass");
        if (step->chain.stride_bytes % TEXEL_BYTES || step->chain.start_bytes % TEXEL_BYTES)
            return refuse(error, "elements of an image are multiples of 4 bytes apart");
        if (fth_opencl_chain_end(&step->chain) / TEXEL_BYTES > max_texels)
            return refuse(error, "the request needs a larger image than the device can have");
    }
    return FTH_OK;
}

enum fth_status fth_opencl_chase_image(struct fth_opencl_device *device,
                                       const struct fth_chase *chase, uint64_t *ticks,
                                       struct fth_error *error)
{
    struct image_plan plan;
    const uint32_t count = (uint32_t)chase->step_count;
    FTH_TRY(check_image(device, chase, error));
    make_plan(chase, &plan);
    FTH_TRY(compile(device, error));
    FTH_TRY(make_image(device, plan.bytes, error));
    FTH_TRY(write_chains(device, chase, plan.bytes, error));
    FTH_TRY(fth_opencl_reserve(device, &device->steps, sizeof plan.words, error));
    FTH_TRY(
        fth_opencl_reserve(device, &device->samples, (plan.samples + 1) * sizeof *ticks, error));
    FTH_TRY(
        fth_opencl_write(device, device->steps.memory, 0, plan.words, sizeof plan.words, error));
    const struct fth_opencl_argument arguments[] = {{sizeof(void *), &device->steps.memory},
                                                    {sizeof count, &count},
                                                    {sizeof(void *), &device->image.memory},
                                                    {sizeof(void *), &device->samples.memory},
                                                    {sizeof(void *), &device->unit.memory}};
    FTH_TRY(fth_opencl_run(device, device->image.kernel, arguments, FTH_COUNT(arguments), 1, 1,
                           plan.hops * MAX_HOP_S, NULL, error));
    return fth_opencl_read(device, ticks, device->samples.memory, 0, plan.samples * sizeof *ticks,
                           error);
}
