/* Textures and surfaces. A texture that filters, wraps or has several dimensions needs a CUDA
 * array, whose layout only the driver knows. The texels are therefore copied from memory to an
 * array when the object is created. Objects with the same image share the array, so that a kernel
 * can write texels through a surface that a later launch reads through a texture. When the objects
 * are freed, the texels of surfaces are copied back. */
#include "device/cuda/cuda.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* CUresourcetype, CUmemorytype and the flags of textures and arrays, from the driver's
 * documentation. */
enum { RESOURCE_ARRAY = 0, RESOURCE_LINEAR = 2 };
enum { MEMORY_DEVICE = 2, MEMORY_ARRAY = 3 };
enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, SEAMLESS_CUBES = 0x40 };
enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_GATHER = 8 };

struct fth_cuda_object {
    struct fth_cuda_object *next;
    struct fth_ptx_image image;
    fth_cu_array array; /* NULL: the object is on linear memory */
    bool owns_array;    /* the other objects with this array do not */
    bool is_surface;
    uint64_t handle;
};

/* The numbers of CUarray_format, by enum fth_ptx_texel, and the sizes of a channel. */
static const struct {
    int number;
    unsigned bytes;
} formats[] = {{0x03, 4}, {0x0a, 4}, {0x20, 4}, {0x01, 1},
               {0x08, 1}, {0x02, 2}, {0x09, 2}, {0x10, 2}};

static enum fth_status check(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                             struct fth_error *error)
{
    return result == 0 ? FTH_OK : fth_cuda_fail(cuda, result, call, error);
}

static bool is_same_image(const struct fth_ptx_image *a, const struct fth_ptx_image *b)
{
    return a->address == b->address && a->geometry == b->geometry && a->format == b->format &&
           a->channels == b->channels && a->width == b->width && a->height == b->height &&
           a->depth == b->depth && a->is_linear_memory == b->is_linear_memory;
}

/* Copies all texels from memory to the array or back. */
static enum fth_status copy_texels(const struct fth_cuda *cuda, const struct fth_ptx_image *image,
                                   fth_cu_array array, bool back, struct fth_error *error)
{
    const size_t row = (size_t)image->width * image->channels * formats[image->format].bytes;
    const struct fth_cu_copy_side memory = {.type = MEMORY_DEVICE,
                                            .address = image->address,
                                            .pitch_bytes = row,
                                            .height = (size_t)image->height};
    const struct fth_cu_copy_side texels = {.type = MEMORY_ARRAY, .array = array};
    const struct fth_cu_copy copy = {.from = back ? texels : memory,
                                     .to = back ? memory : texels,
                                     .width_bytes = row,
                                     .height = (size_t)image->height,
                                     .depth = (size_t)image->depth};
    return check(cuda, cuda->array_copy(&copy), "cuMemcpy3D", error);
}

/* Creates the array of an object, with the texels of its image. */
static enum fth_status make_array(const struct fth_cuda *cuda, struct fth_cuda_object *object,
                                  struct fth_error *error)
{
    const struct fth_ptx_image *image = &object->image;
    const enum fth_ptx_geometry geometry = image->geometry;
    const bool cube = geometry >= FTH_GEOMETRY_CUBE;
    const bool layers = geometry == FTH_GEOMETRY_A1D || geometry == FTH_GEOMETRY_A2D ||
                        geometry == FTH_GEOMETRY_ACUBE;
    const bool one_row = geometry == FTH_GEOMETRY_1D || geometry == FTH_GEOMETRY_A1D;
    const bool one_image = geometry == FTH_GEOMETRY_1D || geometry == FTH_GEOMETRY_2D;
    const struct fth_cu_array_shape shape = {
        .width = (size_t)image->width,
        .height = one_row ? 0 : (size_t)image->height,
        .depth = one_image ? 0 : (size_t)image->depth,
        .format = formats[image->format].number,
        .channels = image->channels,
        .flags = ARRAY_SURFACE | (layers ? ARRAY_LAYERED : 0u) | (cube ? ARRAY_CUBE : 0u) |
                 (geometry == FTH_GEOMETRY_2D ? ARRAY_GATHER : 0u)};
    FTH_TRY(check(cuda, cuda->array_create(&object->array, &shape), "cuArray3DCreate", error));
    object->owns_array = true;
    return copy_texels(cuda, image, object->array, false, error);
}

/* Creates the texture or surface on the array or on the memory of the object. */
static enum fth_status make_handle(const struct fth_cuda *cuda, struct fth_cuda_object *object,
                                   const struct fth_ptx_sampling *sampling, struct fth_error *error)
{
    const struct fth_ptx_image *image = &object->image;
    const bool linear = image->is_linear_memory;
    const struct fth_cu_resource resource = {
        .type = linear ? RESOURCE_LINEAR : RESOURCE_ARRAY,
        .address = linear ? image->address : (uint64_t)(uintptr_t)object->array,
        .format = linear ? formats[image->format].number : 0,
        .channels = linear ? image->channels : 0,
        .bytes =
            linear ? (size_t)image->width * image->channels * formats[image->format].bytes : 0};
    if (!sampling)
        return check(cuda, cuda->surface_create(&object->handle, &resource), "cuSurfObjectCreate",
                     error);
    const bool floats = image->format == FTH_TEXEL_F32 || image->format == FTH_TEXEL_F16 ||
                        sampling->reads_as_floats;
    struct fth_cu_sampling how = {.filter_mode = sampling->is_linear,
                                  .flags = (floats ? 0u : READ_AS_INTEGER) |
                                           (sampling->is_normalized ? NORMALIZED_COORDINATES : 0u) |
                                           (sampling->is_seamless ? SEAMLESS_CUBES : 0u)};
    for (int i = 0; i < 3; i++)
        how.address_mode[i] = (int)sampling->address_modes[i];
    memcpy(how.border, sampling->border, sizeof how.border);
    return check(cuda, cuda->texture_create(&object->handle, &resource, &how, NULL),
                 "cuTexObjectCreate", error);
}

enum fth_status fth_cuda_object_create(const struct fth_cuda *cuda,
                                       struct fth_cuda_objects *objects,
                                       const struct fth_ptx_image *image,
                                       const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                       struct fth_error *error)
{
    _Static_assert(sizeof(struct fth_cu_array_shape) == 40 && sizeof(struct fth_cu_copy) == 200,
                   "the layout of the driver's structures");
    *handle = 0;
    if (!cuda->texture_create || !cuda->texture_destroy || !cuda->surface_create ||
        !cuda->surface_destroy || !cuda->array_create || !cuda->array_destroy || !cuda->array_copy)
        return fth_cuda_missing("cuArray3DCreate", error);
    struct fth_cuda_object *object = calloc(1, sizeof *object);
    if (!object)
        return fth_no_memory(error, "make texture", NULL);
    object->image = *image;
    object->is_surface = sampling == NULL;
    for (const struct fth_cuda_object *other = objects->first; other; other = other->next)
        if (is_same_image(&other->image, image))
            object->array = other->array;
    object->next = objects->first;
    objects->first = object; /* fth_cuda_objects_free frees it, also after a failure below */
    if (!object->array && !image->is_linear_memory)
        FTH_TRY(make_array(cuda, object, error));
    FTH_TRY(make_handle(cuda, object, sampling, error));
    *handle = object->handle;
    return FTH_OK;
}

enum fth_status fth_cuda_objects_free(const struct fth_cuda *cuda, struct fth_cuda_objects *objects,
                                      bool usable, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (const struct fth_cuda_object *object = objects->first; object && usable;
         object = object->next) {
        if (object->is_surface && object->handle && status == FTH_OK)
            status = copy_texels(cuda, &object->image, object->array, true, error);
        if (object->handle && object->is_surface)
            cuda->surface_destroy(object->handle);
        else if (object->handle)
            cuda->texture_destroy(object->handle);
    }
    while (objects->first) {
        struct fth_cuda_object *object = objects->first;
        objects->first = object->next;
        if (usable && object->owns_array)
            cuda->array_destroy(object->array);
        free(object);
    }
    return status;
}
