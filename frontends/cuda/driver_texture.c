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
    const struct context *context;
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

bool driver_array_shape(uint64_t handle, struct array_shape *shape)
{
    const struct array *array = find_array(handle);
    if (!array)
        return false;
    *shape = (struct array_shape){array->image.address, array->row_bytes,
                                  array->image.height ? array->image.height : 1,
                                  array->image.depth ? array->image.depth : 1};
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
    result = driver_allocate(FTH_MEMORY_DEVICE, (size_t)bytes, &image.address);
    if (result != SUCCESS) {
        free(array);
        return result;
    }
    *array =
        (struct array){arrays, image, image.width * image.channels * formats[image.format].bytes,
                       flags, driver_current()};
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

/* The memory is gone already if its context has been destroyed. */
static int free_array(struct array *array)
{
    const int result = driver_result(
        fth_session_free(driver.session, array->image.address, 1u << FTH_MEMORY_DEVICE, NULL));
    free(array);
    return result;
}

void driver_free_arrays(const struct context *context)
{
    for (struct array **link = &arrays; *link;) {
        struct array *at = *link;
        if (context && at->context != context) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        free_array(at);
    }
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
    return free_array(array);
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
        image->is_pitched_memory = true;
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

/* The sizes of CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC in bytes. */
enum { RESOURCE_BYTES = 144, TEXTURE_BYTES = 104, VIEW_BYTES = 112 };

/* A texture or surface, with what the program passed to create it. */
struct image_object {
    struct image_object *next;
    uint64_t handle;
    bool is_surface;
    unsigned char resource[RESOURCE_BYTES], texture[TEXTURE_BYTES];
};
static struct image_object *image_objects;

static struct image_object **find_object(uint64_t handle, bool is_surface)
{
    struct image_object **link = &image_objects;
    while (*link && ((*link)->handle != handle || (*link)->is_surface != is_surface))
        link = &(*link)->next;
    return link;
}

/* Creates a texture or, if `sampling` is NULL, a surface. */
static int create_object(uint64_t *handle, const void *resource, const void *sampling)
{
    struct fth_ptx_image image;
    struct fth_ptx_machine *const machine = fth_session_machine(driver.session);
    if (!handle || !resource || !read_resource(resource, &image))
        return INVALID_VALUE;
    struct image_object *object = calloc(1, sizeof *object);
    if (!object)
        return OUT_OF_MEMORY;
    object->is_surface = !sampling;
    memcpy(object->resource, resource, RESOURCE_BYTES);
    enum fth_status status;
    if (sampling) {
        const struct fth_ptx_sampling how = read_sampling(sampling, &image);
        memcpy(object->texture, sampling, TEXTURE_BYTES);
        status = fth_ptx_texture_create(machine, &image, &how, handle, NULL);
    } else {
        status = fth_ptx_surface_create(machine, &image, handle, NULL);
    }
    if (status != FTH_OK) {
        free(object);
        return driver_result(status);
    }
    object->handle = *handle;
    object->next = image_objects;
    image_objects = object;
    return SUCCESS;
}

static int destroy_object(uint64_t handle, bool is_surface)
{
    const int result = driver_check();
    struct image_object **link = find_object(handle, is_surface), *object = *link;
    if (result != SUCCESS)
        return result;
    if (!object) /* NVIDIA's driver does not reject textures that do not exist */
        return is_surface ? INVALID_VALUE : SUCCESS;
    *link = object->next;
    free(object);
    fth_ptx_texture_free(fth_session_machine(driver.session), handle);
    return SUCCESS;
}

void driver_free_objects(void)
{
    while (image_objects) {
        struct image_object *next = image_objects->next;
        free(image_objects);
        image_objects = next;
    }
}

CU(cuTexObjectCreate, uint64_t *texture, const void *resource, const void *sampling,
   const void *view)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!sampling)
        return INVALID_VALUE;
    if (view && field(view, 0, 4) != 0)
        return driver_unsupported("a resource view of a texture");
    return create_object(texture, resource, sampling);
}

CU(cuSurfObjectCreate, uint64_t *surface, const void *resource)
{
    LOCK;
    const int result = driver_check();
    return result != SUCCESS ? result : create_object(surface, resource, NULL);
}

CU(cuTexObjectDestroy, uint64_t texture)
{
    LOCK;
    return destroy_object(texture, false);
}

CU(cuSurfObjectDestroy, uint64_t surface)
{
    LOCK;
    return destroy_object(surface, true);
}

CU(cuTexObjectGetResourceDesc, void *resource, uint64_t texture)
{
    LOCK;
    const struct image_object *object = *find_object(texture, false);
    if (!object || !resource)
        return INVALID_VALUE;
    memcpy(resource, object->resource, RESOURCE_BYTES);
    return SUCCESS;
}

CU(cuTexObjectGetTextureDesc, void *sampling, uint64_t texture)
{
    LOCK;
    const struct image_object *object = *find_object(texture, false);
    if (!object || !sampling)
        return INVALID_VALUE;
    memcpy(sampling, object->texture, TEXTURE_BYTES);
    return SUCCESS;
}

/* Textures have no views here, so their description is all zeros. */
CU(cuTexObjectGetResourceViewDesc, void *view, uint64_t texture)
{
    LOCK;
    if (!*find_object(texture, false) || !view)
        return INVALID_VALUE;
    memset(view, 0, VIEW_BYTES);
    return SUCCESS;
}

CU(cuSurfObjectGetResourceDesc, void *resource, uint64_t surface)
{
    LOCK;
    const struct image_object *object = *find_object(surface, true);
    if (!object || !resource)
        return INVALID_VALUE;
    memcpy(resource, object->resource, RESOURCE_BYTES);
    return SUCCESS;
}

/* ---- tensor maps ---- */

/* Sets what both functions of the driver have in common. Returns false for an unknown type. */
static bool set_tensor(struct fth_ptx_tensor_map *map, int type, uint32_t rank, void *address,
                       const uint64_t *sizes, const uint64_t *strides, const uint32_t *steps)
{
    *map = (struct fth_ptx_tensor_map){.rank = rank, .address = (uint64_t)(uintptr_t)address};
    if (!fth_ptx_tensor_type_of_cuda((unsigned)type, &map->type))
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
    return out ? driver_result(fth_ptx_tensor_map_encode(map, out, NULL)) : INVALID_VALUE;
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
