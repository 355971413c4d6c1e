/* Arrays, textures, surfaces and tensor maps. The texels of an array are in the memory of the GPU,
 * in rows. */
#include "cuda_driver.h"
#include "ptx/async/tensor_map.h"

/* The numbers of CUarray_format, by enum fth_ptx_texel, and the sizes of a channel. */
static const struct {
    uint64_t number;
    unsigned bytes;
} formats[] = {{0x03, 4}, {0x0a, 4}, {0x20, 4}, {0x01, 1},
               {0x08, 1}, {0x02, 2}, {0x09, 2}, {0x10, 2}};

enum { LAYERED = 1, CUBE = 4 };

struct array {
    struct array *next;
    struct fth_ptx_image image;
    uint64_t row_bytes;
    unsigned flags;
};
static struct array *arrays;

static struct array *find_array(uint64_t handle)
{
    for (struct array *at = arrays; at; at = at->next)
        if ((uint64_t)(uintptr_t)at == handle)
            return at;
    return NULL;
}

static bool find_format(uint64_t number, enum fth_ptx_texel *format)
{
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        if (formats[i].number == number) {
            *format = (enum fth_ptx_texel)i;
            return true;
        }
    return false;
}

bool driver_array_side(uint64_t handle, struct copy_side *side)
{
    const struct array *array = find_array(handle);
    if (!array)
        return false;
    const uint64_t height = array->image.height ? array->image.height : 1;
    *side = (struct copy_side){array->image.address, array->row_bytes, array->row_bytes * height};
    return true;
}

/* ---- arrays ---- */

static enum fth_ptx_geometry geometry_of(uint64_t height, uint64_t depth, unsigned flags)
{
    if (flags & CUBE)
        return flags & LAYERED ? FTH_GEOMETRY_ACUBE : FTH_GEOMETRY_CUBE;
    if (flags & LAYERED)
        return height ? FTH_GEOMETRY_A2D : FTH_GEOMETRY_A1D;
    return depth ? FTH_GEOMETRY_3D : height ? FTH_GEOMETRY_2D : FTH_GEOMETRY_1D;
}

static int create_array(struct array **out, struct fth_ptx_image image, uint64_t format,
                        unsigned flags)
{
    uint64_t bytes;
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    image.geometry = geometry_of(image.height, image.depth, flags);
    if (!out || image.width == 0 || !find_format(format, &image.format) ||
        fth_ptx_texture_check(&image, NULL, &bytes, NULL) != FTH_OK)
        return INVALID_VALUE;
    struct array *array = calloc(1, sizeof *array);
    if (!array)
        return OUT_OF_MEMORY;
    result = driver_result(
        fth_session_alloc(driver.session, FTH_MEMORY_DEVICE, bytes, &image.address, NULL));
    if (result != SUCCESS) {
        free(array);
        return result;
    }
    *array = (struct array){arrays, image,
                            image.width * image.channels * formats[image.format].bytes, flags};
    arrays = array;
    *out = array;
    return SUCCESS;
}

CU(cuArray3DCreate_v2, struct array **array, const void *shape)
{
    LOCK;
    const struct fth_ptx_image image = {.width = field(shape, 0, 8),
                                        .height = field(shape, 8, 8),
                                        .depth = field(shape, 16, 8),
                                        .channels = (unsigned)field(shape, 28, 4)};
    return create_array(array, image, field(shape, 24, 4), (unsigned)field(shape, 32, 4));
}

CU(cuArrayCreate_v2, struct array **array, const void *shape)
{
    LOCK;
    const struct fth_ptx_image image = {.width = field(shape, 0, 8),
                                        .height = field(shape, 8, 8),
                                        .channels = (unsigned)field(shape, 20, 4)};
    return create_array(array, image, field(shape, 16, 4), 0);
}

CU(cuArrayDestroy, struct array *array)
{
    LOCK;
    struct array **link = &arrays;
    while (*link && *link != array)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = array->next;
    const int result = driver_result(
        fth_session_free(driver.session, array->image.address, 1u << FTH_MEMORY_DEVICE, NULL));
    free(array);
    return result;
}

CU(cuArray3DGetDescriptor_v2, void *shape, struct array *handle)
{
    LOCK;
    const struct array *array = find_array((uint64_t)(uintptr_t)handle);
    if (!array)
        return INVALID_HANDLE;
    const uint64_t sizes[] = {array->image.width, array->image.height, array->image.depth};
    const uint32_t rest[] = {(uint32_t)formats[array->image.format].number, array->image.channels,
                             array->flags};
    memcpy(shape, sizes, sizeof sizes);
    memcpy((char *)shape + sizeof sizes, rest, sizeof rest);
    return SUCCESS;
}

CU(cuArrayGetDescriptor_v2, void *shape, struct array *handle)
{
    LOCK;
    const struct array *array = find_array((uint64_t)(uintptr_t)handle);
    if (!array)
        return INVALID_HANDLE;
    const uint64_t sizes[] = {array->image.width, array->image.height};
    const uint32_t rest[] = {(uint32_t)formats[array->image.format].number, array->image.channels};
    memcpy(shape, sizes, sizeof sizes);
    memcpy((char *)shape + sizeof sizes, rest, sizeof rest);
    return SUCCESS;
}

/* ---- textures and surfaces ---- */

/* Reads a CUDA_RESOURCE_DESC: an array, linear memory or an image in linear memory. */
static bool read_resource(const void *resource, struct fth_ptx_image *image)
{
    enum { ARRAY = 0, LINEAR = 2, PITCHED = 3 };
    const uint64_t type = field(resource, 0, 4);
    if (type == ARRAY) {
        const struct array *array = find_array(field(resource, 8, 8));
        if (array)
            *image = array->image;
        return array != NULL;
    }
    *image = (struct fth_ptx_image){.address = field(resource, 8, 8),
                                    .channels = (unsigned)field(resource, 20, 4)};
    if ((type != LINEAR && type != PITCHED) || image->channels == 0 ||
        !find_format(field(resource, 16, 4), &image->format))
        return false;
    if (type == LINEAR) {
        image->geometry = FTH_GEOMETRY_1D;
        image->is_linear_memory = true;
        image->width = field(resource, 24, 8) / image->channels / formats[image->format].bytes;
    } else {
        image->geometry = FTH_GEOMETRY_2D;
        image->width = field(resource, 24, 8);
        image->height = field(resource, 32, 8);
        image->pitch_bytes = field(resource, 40, 8);
    }
    return true;
}

/* Reads a CUDA_TEXTURE_DESC. */
static struct fth_ptx_sampling read_sampling(const void *sampling,
                                             const struct fth_ptx_image *image)
{
    enum { READ_AS_INTEGER = 1, NORMALIZED = 2, SEAMLESS = 0x40 };
    const uint64_t flags = field(sampling, 16, 4);
    const bool narrow = image->format >= FTH_TEXEL_U8 && image->format <= FTH_TEXEL_S16;
    struct fth_ptx_sampling read = {.is_linear = field(sampling, 12, 4) != 0,
                                    .is_normalized = (flags & NORMALIZED) != 0,
                                    .is_seamless = (flags & SEAMLESS) != 0,
                                    .reads_as_floats = narrow && !(flags & READ_AS_INTEGER)};
    for (size_t i = 0; i < 3; i++)
        read.address_modes[i] = (enum fth_ptx_address_mode)field(sampling, 4 * i, 4);
    memcpy(read.border, (const char *)sampling + 40, sizeof read.border);
    return read;
}

/* The descriptions that a texture or a surface was made from, which a program can ask for. */
enum { RESOURCE_BYTES = 144, SAMPLING_BYTES = 104 };
struct object {
    struct object *next;
    uint64_t handle;
    unsigned char resource[RESOURCE_BYTES], sampling[SAMPLING_BYTES];
};
static struct object *objects;

static int keep_description(uint64_t handle, const void *resource, const void *sampling)
{
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        return OUT_OF_MEMORY;
    object->next = objects;
    object->handle = handle;
    memcpy(object->resource, resource, RESOURCE_BYTES);
    if (sampling)
        memcpy(object->sampling, sampling, SAMPLING_BYTES);
    objects = object;
    return SUCCESS;
}

static struct object **find_object(uint64_t handle)
{
    struct object **link = &objects;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

CU(cuTexObjectGetResourceDesc, void *resource, uint64_t handle)
{
    LOCK;
    const struct object *object = *find_object(handle);
    if (object && resource)
        memcpy(resource, object->resource, RESOURCE_BYTES);
    return object && resource ? SUCCESS : INVALID_VALUE;
}
ALIAS(cuSurfObjectGetResourceDesc, cuTexObjectGetResourceDesc);

CU(cuTexObjectGetTextureDesc, void *sampling, uint64_t handle)
{
    LOCK;
    const struct object *object = *find_object(handle);
    if (object && sampling)
        memcpy(sampling, object->sampling, SAMPLING_BYTES);
    return object && sampling ? SUCCESS : INVALID_VALUE;
}

CU(cuTexObjectCreate, uint64_t *texture, const void *resource, const void *sampling,
   const void *view)
{
    LOCK;
    struct fth_ptx_image image;
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!texture || !resource || !sampling || !read_resource(resource, &image))
        return INVALID_VALUE;
    if (view && field(view, 0, 4) != 0)
        return driver_unsupported("a resource view of a texture");
    const struct fth_ptx_sampling how = read_sampling(sampling, &image);
    result = driver_result(
        fth_ptx_texture_create(fth_session_machine(driver.session), &image, &how, texture, NULL));
    return result == SUCCESS ? keep_description(*texture, resource, sampling) : result;
}

CU(cuSurfObjectCreate, uint64_t *surface, const void *resource)
{
    LOCK;
    struct fth_ptx_image image;
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!surface || !resource || !read_resource(resource, &image))
        return INVALID_VALUE;
    result = driver_result(
        fth_ptx_surface_create(fth_session_machine(driver.session), &image, surface, NULL));
    return result == SUCCESS ? keep_description(*surface, resource, NULL) : result;
}

CU(cuTexObjectDestroy, uint64_t object)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    fth_ptx_texture_free(fth_session_machine(driver.session), object);
    struct object **link = find_object(object), *found = *link;
    if (found) {
        *link = found->next;
        free(found);
    }
    return SUCCESS;
}
ALIAS(cuSurfObjectDestroy, cuTexObjectDestroy);

/* ---- tensor maps ---- */

/* Sets what both functions of the driver have in common. Returns false for an unknown type. */
static bool set_tensor(struct fth_ptx_tensor_map *map, int type, uint32_t rank, void *address,
                       const uint64_t *sizes, const uint64_t *strides, const uint32_t *steps)
{
    /* CUtensorMapDataType, in its order. */
    static const char *const names[] = {"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                        "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"};
    *map = (struct fth_ptx_tensor_map){.rank = rank, .address = (uint64_t)(uintptr_t)address};
    if (type < 0 || (size_t)type >= FTH_COUNT(names) ||
        !fth_ptx_tensor_type_find(names[type], &map->type))
        return false;
    for (uint32_t i = 0; i < rank && i < FTH_TENSOR_MAX_RANK; i++) {
        map->sizes[i] = sizes[i];
        map->element_strides[i] = steps[i];
        if (i > 0)
            map->strides[i - 1] = strides[i - 1];
    }
    return true;
}

static int encode(void *out, struct fth_ptx_tensor_map *map, int interleave, int swizzle,
                  int promotion, int fill)
{
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    map->interleave = (enum fth_ptx_interleave)interleave;
    map->swizzle = (enum fth_ptx_swizzle)swizzle;
    map->promotion = (enum fth_ptx_promotion)promotion;
    map->fills_with_nan = fill == 1;
    return (uintptr_t)out % 64 == 0 ? driver_result(fth_ptx_tensor_map_encode(map, out, NULL))
                                    : INVALID_VALUE;
}

CU(cuTensorMapEncodeTiled, void *out, int type, uint32_t rank, void *address, const uint64_t *sizes,
   const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
   int promotion, int fill)
{
    LOCK;
    struct fth_ptx_tensor_map map;
    if (!out || !set_tensor(&map, type, rank, address, sizes, strides, steps))
        return INVALID_VALUE;
    for (uint32_t i = 0; i < rank && i < FTH_TENSOR_MAX_RANK; i++)
        map.box[i] = box[i];
    return encode(out, &map, interleave, swizzle, promotion, fill);
}

CU(cuTensorMapEncodeIm2col, void *out, int type, uint32_t rank, void *address,
   const uint64_t *sizes, const uint64_t *strides, const int *lower, const int *upper,
   uint32_t channels, uint32_t pixels, const uint32_t *steps, int interleave, int swizzle,
   int promotion, int fill)
{
    LOCK;
    struct fth_ptx_tensor_map map;
    if (!out || !set_tensor(&map, type, rank, address, sizes, strides, steps))
        return INVALID_VALUE;
    for (uint32_t i = 0; i + 2 < rank && i < FTH_TENSOR_MAX_RANK - 2; i++) {
        map.lower[i] = lower[i];
        map.upper[i] = upper[i];
    }
    map.is_im2col = true;
    map.channels = channels;
    map.pixels = pixels;
    return encode(out, &map, interleave, swizzle, promotion, fill);
}
