/* Arrays, textures and surfaces. The driver has the same objects; this file translates their
 * descriptions. */
#include "cudart.h"

#include <string.h>

/* The normalized kinds of channels have consecutive numbers in the runtime and in the driver, in
 * the same order: unsigned and signed, 8 and 16 bits, 1, 2 and 4 channels. */
enum { FIRST_NORMALIZED = 5, LAST_NORMALIZED = 16 };

int fth_translate_channel(const struct fth_channel *channel, int *format, unsigned *channels)
{
    static const int formats[3][3] = {{FTH_CU_S8, FTH_CU_S16, FTH_CU_S32},
                                      {FTH_CU_U8, FTH_CU_U16, FTH_CU_U32},
                                      {0, FTH_CU_F16, FTH_CU_F32}};
    unsigned count = 0;
    while (count < 4 && channel->bits[count] > 0)
        count++;
    for (unsigned i = count; i < 4; i++)
        if (channel->bits[i] != 0)
            return FTH_INVALID_CHANNEL;
    for (unsigned i = 1; i < count; i++)
        if (channel->bits[i] != channel->bits[0])
            return FTH_INVALID_CHANNEL;
    if (count == 0 || count == 3)
        return FTH_INVALID_CHANNEL;
    *channels = count;
    if (channel->kind >= FIRST_NORMALIZED && channel->kind <= LAST_NORMALIZED) {
        *format = FTH_CU_UNORM8X1 + channel->kind - FIRST_NORMALIZED;
        return FTH_SUCCESS;
    }
    int bits = channel->bits[0], column = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : -1;
    if (column < 0 || channel->kind < FTH_CHANNEL_SIGNED || channel->kind > FTH_CHANNEL_FLOAT)
        return FTH_INVALID_CHANNEL;
    *format = formats[channel->kind][column];
    return *format ? FTH_SUCCESS : FTH_INVALID_CHANNEL;
}

struct fth_channel fth_channel_of(int format, unsigned channels)
{
    static const struct {
        int format, kind, bits;
    } known[] = {
        {FTH_CU_U8, FTH_CHANNEL_UNSIGNED, 8},   {FTH_CU_U16, FTH_CHANNEL_UNSIGNED, 16},
        {FTH_CU_U32, FTH_CHANNEL_UNSIGNED, 32}, {FTH_CU_S8, FTH_CHANNEL_SIGNED, 8},
        {FTH_CU_S16, FTH_CHANNEL_SIGNED, 16},   {FTH_CU_S32, FTH_CHANNEL_SIGNED, 32},
        {FTH_CU_F16, FTH_CHANNEL_FLOAT, 16},    {FTH_CU_F32, FTH_CHANNEL_FLOAT, 32},
    };
    struct fth_channel channel = {.kind = FTH_CHANNEL_UNSIGNED};
    int bits = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].format == format) {
            channel.kind = known[i].kind;
            bits = known[i].bits;
        }
    if (format >= FTH_CU_UNORM8X1 && format <= FTH_CU_SNORM16X4) {
        channel.kind = FIRST_NORMALIZED + format - FTH_CU_UNORM8X1;
        bits = (format - FTH_CU_UNORM8X1) / 3 % 2 == 0 ? 8 : 16;
    }
    for (unsigned i = 0; i < channels && i < 4; i++)
        channel.bits[i] = bits;
    return channel;
}

FTH_API struct fth_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct fth_channel){{x, y, z, w}, kind};
}

static int shape_of(const struct fth_channel *channel, struct fth_extent extent, unsigned flags,
                    struct fth_cu_array_shape *shape)
{
    *shape = (struct fth_cu_array_shape){
        .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    if (!channel)
        return FTH_INVALID_VALUE;
    return fth_translate_channel(channel, &shape->format, &shape->channels);
}

FTH_API int cudaMalloc3DArray(struct fth_cu_array **array, const struct fth_channel *channel,
                              struct fth_extent extent, unsigned flags)
{
    struct fth_cu_array_shape shape;
    int error = fth_enter();
    if (!error)
        error = shape_of(channel, extent, flags, &shape);
    return fth_leave(error ? error : cuArray3DCreate_v2(array, &shape));
}

FTH_API int cudaMallocArray(struct fth_cu_array **array, const struct fth_channel *channel,
                            size_t width, size_t height, unsigned flags)
{
    return cudaMalloc3DArray(array, channel, (struct fth_extent){width, height, 0}, flags);
}

FTH_API int cudaMallocMipmappedArray(struct fth_cu_mipmap **mipmap,
                                     const struct fth_channel *channel, struct fth_extent extent,
                                     unsigned levels, unsigned flags)
{
    struct fth_cu_array_shape shape;
    int error = fth_enter();
    if (!error)
        error = shape_of(channel, extent, flags, &shape);
    return fth_leave(error ? error : cuMipmappedArrayCreate(mipmap, &shape, levels));
}

FTH_API int cudaGetMipmappedArrayLevel(struct fth_cu_array **array,
                                       const struct fth_cu_mipmap *mipmap, unsigned level)
{
    FTH_FORWARD(cuMipmappedArrayGetLevel(array, mipmap, level));
}

FTH_API int cudaFreeArray(struct fth_cu_array *array)
{
    int error = fth_enter();
    if (!error && array)
        error = cuArrayDestroy(array);
    return fth_leave(error);
}

FTH_API int cudaFreeMipmappedArray(struct fth_cu_mipmap *mipmap)
{
    int error = fth_enter();
    if (!error && mipmap)
        error = cuMipmappedArrayDestroy(mipmap);
    return fth_leave(error);
}

FTH_API int cudaArrayGetInfo(struct fth_channel *channel, struct fth_extent *extent,
                             unsigned *flags, struct fth_cu_array *array)
{
    struct fth_cu_array_shape shape;
    int error = fth_enter();
    if (!error)
        error = cuArray3DGetDescriptor_v2(&shape, array);
    if (error)
        return fth_leave(error);
    if (channel)
        *channel = fth_channel_of(shape.format, shape.channels);
    if (extent)
        *extent = (struct fth_extent){shape.width, shape.height, shape.depth};
    if (flags)
        *flags = shape.flags;
    return FTH_SUCCESS;
}

FTH_API int cudaGetChannelDesc(struct fth_channel *channel, const struct fth_cu_array *array)
{
    return cudaArrayGetInfo(channel, NULL, NULL, fth_pointer(fth_address(array)));
}

static int translate_resource(const struct fth_resource *resource,
                              struct fth_cu_resource *translated)
{
    memset(translated, 0, sizeof(*translated));
    translated->type = resource->type;
    translated->flags = resource->flags;
    switch (resource->type) {
    case FTH_RESOURCE_ARRAY: translated->of.array = resource->of.array; return FTH_SUCCESS;
    case FTH_RESOURCE_MIPMAP: translated->of.mipmap = resource->of.mipmap; return FTH_SUCCESS;
    case FTH_RESOURCE_LINEAR:
        translated->of.linear.address = fth_address(resource->of.linear.pointer);
        translated->of.linear.bytes = resource->of.linear.bytes;
        return fth_translate_channel(&resource->of.linear.channel, &translated->of.linear.format,
                                     &translated->of.linear.channels);
    case FTH_RESOURCE_PITCHED:
        translated->of.pitched.address = fth_address(resource->of.pitched.pointer);
        translated->of.pitched.width = resource->of.pitched.width;
        translated->of.pitched.height = resource->of.pitched.height;
        translated->of.pitched.pitch = resource->of.pitched.pitch;
        return fth_translate_channel(&resource->of.pitched.channel, &translated->of.pitched.format,
                                     &translated->of.pitched.channels);
    default: return FTH_INVALID_VALUE;
    }
}

static void resource_of(const struct fth_cu_resource *driver, struct fth_resource *resource)
{
    memset(resource, 0, sizeof(*resource));
    resource->type = driver->type;
    resource->flags = driver->flags;
    if (driver->type == FTH_RESOURCE_ARRAY) {
        resource->of.array = driver->of.array;
    } else if (driver->type == FTH_RESOURCE_MIPMAP) {
        resource->of.mipmap = driver->of.mipmap;
    } else if (driver->type == FTH_RESOURCE_LINEAR) {
        resource->of.linear.pointer = fth_pointer(driver->of.linear.address);
        resource->of.linear.channel =
            fth_channel_of(driver->of.linear.format, driver->of.linear.channels);
        resource->of.linear.bytes = driver->of.linear.bytes;
    } else {
        resource->of.pitched.pointer = fth_pointer(driver->of.pitched.address);
        resource->of.pitched.channel =
            fth_channel_of(driver->of.pitched.format, driver->of.pitched.channels);
        resource->of.pitched.width = driver->of.pitched.width;
        resource->of.pitched.height = driver->of.pitched.height;
        resource->of.pitched.pitch = driver->of.pitched.pitch;
    }
}

/* Read modes of a texture. */
enum { READ_ELEMENTS = 0, READ_NORMALIZED = 1 };

static struct fth_cu_texture translate_texture(const struct fth_texture *texture)
{
    struct fth_cu_texture translated = {
        .filter_mode = texture->filter_mode,
        .max_anisotropy = texture->max_anisotropy,
        .mipmap_filter_mode = texture->mipmap_filter_mode,
        .mipmap_bias = texture->mipmap_bias,
        .min_mipmap_level = texture->min_mipmap_level,
        .max_mipmap_level = texture->max_mipmap_level,
    };
    memcpy(translated.address_mode, texture->address_mode, sizeof(translated.address_mode));
    memcpy(translated.border, texture->border, sizeof(translated.border));
    translated.flags =
        (texture->read_mode == READ_ELEMENTS ? FTH_CU_READ_AS_INTEGER : 0u) |
        (texture->normalized ? FTH_CU_NORMALIZED : 0u) | (texture->srgb ? FTH_CU_SRGB : 0u) |
        (texture->no_trilinear_optimization ? FTH_CU_NO_TRILINEAR_OPTIMIZATION : 0u) |
        (texture->seamless_cubemap ? FTH_CU_SEAMLESS_CUBEMAP : 0u);
    return translated;
}

FTH_API int cudaCreateTextureObject(uint64_t *object, const struct fth_resource *resource,
                                    const struct fth_texture *texture,
                                    const struct fth_resource_view *view)
{
    struct fth_cu_resource translated;
    int error = fth_enter();
    if (!error && (!object || !resource || !texture))
        error = FTH_INVALID_VALUE;
    if (!error)
        error = translate_resource(resource, &translated);
    if (error)
        return fth_leave(error);
    struct fth_cu_texture description = translate_texture(texture);
    return fth_leave(cuTexObjectCreate(object, &translated, &description, view));
}

FTH_API int cudaDestroyTextureObject(uint64_t object)
{
    int error = fth_enter();
    if (!error && object)
        error = cuTexObjectDestroy(object);
    return fth_leave(error);
}

FTH_API int cudaGetTextureObjectResourceDesc(struct fth_resource *resource, uint64_t object)
{
    struct fth_cu_resource driver;
    int error = fth_enter();
    if (!error)
        error = cuTexObjectGetResourceDesc(&driver, object);
    if (!error)
        resource_of(&driver, resource);
    return fth_leave(error);
}

FTH_API int cudaGetTextureObjectTextureDesc(struct fth_texture *texture, uint64_t object)
{
    struct fth_cu_texture driver;
    int error = fth_enter();
    if (!error)
        error = cuTexObjectGetTextureDesc(&driver, object);
    if (error)
        return fth_leave(error);
    *texture = (struct fth_texture){
        .filter_mode = driver.filter_mode,
        .read_mode = driver.flags & FTH_CU_READ_AS_INTEGER ? READ_ELEMENTS : READ_NORMALIZED,
        .srgb = (driver.flags & FTH_CU_SRGB) != 0,
        .normalized = (driver.flags & FTH_CU_NORMALIZED) != 0,
        .max_anisotropy = driver.max_anisotropy,
        .mipmap_filter_mode = driver.mipmap_filter_mode,
        .mipmap_bias = driver.mipmap_bias,
        .min_mipmap_level = driver.min_mipmap_level,
        .max_mipmap_level = driver.max_mipmap_level,
        .no_trilinear_optimization = (driver.flags & FTH_CU_NO_TRILINEAR_OPTIMIZATION) != 0,
        .seamless_cubemap = (driver.flags & FTH_CU_SEAMLESS_CUBEMAP) != 0,
    };
    memcpy(texture->address_mode, driver.address_mode, sizeof(texture->address_mode));
    memcpy(texture->border, driver.border, sizeof(texture->border));
    return FTH_SUCCESS;
}

FTH_API int cudaGetTextureObjectResourceViewDesc(struct fth_resource_view *view, uint64_t object)
{
    FTH_FORWARD(cuTexObjectGetResourceViewDesc(view, object));
}

FTH_API int cudaCreateSurfaceObject(uint64_t *object, const struct fth_resource *resource)
{
    struct fth_cu_resource translated;
    int error = fth_enter();
    if (!error)
        error = object && resource ? translate_resource(resource, &translated) : FTH_INVALID_VALUE;
    return fth_leave(error ? error : cuSurfObjectCreate(object, &translated));
}

FTH_API int cudaDestroySurfaceObject(uint64_t object)
{
    int error = fth_enter();
    if (!error && object)
        error = cuSurfObjectDestroy(object);
    return fth_leave(error);
}

FTH_API int cudaGetSurfaceObjectResourceDesc(struct fth_resource *resource, uint64_t object)
{
    struct fth_cu_resource driver;
    int error = fth_enter();
    if (!error)
        error = cuSurfObjectGetResourceDesc(&driver, object);
    if (!error)
        resource_of(&driver, resource);
    return fth_leave(error);
}
