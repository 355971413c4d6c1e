/* The stand-in for NVIDIA's driver: textures, surfaces and arrays. The texels of an array are in
 * the memory of the simulated GPU, in rows. As on a GPU, they are not those of the memory that they
 * were copied from. */
#include "device/machine.h"
#include "driver.h"

/* The numbers of CUarray_format, by enum fth_ptx_texel, and the sizes of a channel. */
static const struct {
    uint64_t number;
    unsigned bytes;
} formats[] = {{0x03, 4}, {0x0a, 4}, {0x20, 4}, {0x01, 1},
               {0x08, 1}, {0x02, 2}, {0x09, 2}, {0x10, 2}};

enum { LAYERED = 1, SURFACE = 2, CUBE = 4, GATHER = 8 };

struct array {
    struct fth_ptx_image image;
    uint64_t row_bytes;
    unsigned flags;
};

static bool find_format(uint64_t number, enum fth_ptx_texel *format)
{
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        if (formats[i].number == number) {
            *format = (enum fth_ptx_texel)i;
            return true;
        }
    return false;
}

/* ---- arrays ---- */

EXPORT int cuArray3DCreate_v2(struct array **array, const void *shape);
int cuArray3DCreate_v2(struct array **array, const void *shape)
{
    LOCKED;
    const uint64_t width = standin_field(shape, 0, 8), height = standin_field(shape, 8, 8),
                   depth = standin_field(shape, 16, 8);
    const unsigned flags = (unsigned)standin_field(shape, 32, 4);
    struct fth_ptx_image image = {.channels = (unsigned)standin_field(shape, 28, 4),
                                  .width = width,
                                  .height = height,
                                  .depth = depth};
    int result = standin_drain("cuArray3DCreate");
    if (result != SUCCESS)
        return result;
    if (!find_format(standin_field(shape, 24, 4), &image.format) || width == 0 ||
        (flags & GATHER && (depth || !height)))
        return INVALID_VALUE;
    if (flags & CUBE)
        image.geometry = flags & LAYERED ? FTH_GEOMETRY_ACUBE : FTH_GEOMETRY_CUBE;
    else if (flags & LAYERED)
        image.geometry = height ? FTH_GEOMETRY_A2D : FTH_GEOMETRY_A1D;
    else
        image.geometry = depth ? FTH_GEOMETRY_3D : height ? FTH_GEOMETRY_2D : FTH_GEOMETRY_1D;
    uint64_t bytes;
    if (fth_ptx_texture_check(&image, NULL, &bytes, NULL) != FTH_OK)
        return INVALID_VALUE;
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    if (ops->alloc(machine, bytes, &image.address, NULL) != FTH_OK)
        return OUT_OF_MEMORY;
    *array = malloc(sizeof **array);
    if (!*array)
        abort();
    **array = (struct array){image, width * image.channels * formats[image.format].bytes, flags};
    standin_add_live(1);
    return SUCCESS;
}

EXPORT int cuArrayDestroy(struct array *array);
int cuArrayDestroy(struct array *array)
{
    LOCKED;
    int result = standin_drain("cuArrayDestroy");
    if (result != SUCCESS)
        return result;
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    ops->free(machine, array->image.address);
    free(array);
    standin_add_live(-1);
    return SUCCESS;
}

/* Finds the address of one side of a CUDA_MEMCPY3D; 0: the side is not supported. */
static uint64_t address_of_side(const void *side, uint64_t row, uint64_t height)
{
    enum { DEVICE = 2, ARRAY = 3 };
    for (size_t i = 0; i < 4; i++) /* offsets */
        if (standin_field(side, 8 * i, 8) != 0)
            return 0;
    const struct array *array;
    memcpy(&array, (const char *)side + 56, sizeof array);
    if (standin_field(side, 32, 4) == ARRAY)
        return array && array->row_bytes == row ? array->image.address : 0;
    return standin_field(side, 32, 4) == DEVICE && standin_field(side, 72, 8) == row &&
                   standin_field(side, 80, 8) == height
               ? standin_field(side, 48, 8)
               : 0;
}

EXPORT int cuMemcpy3D_v2(const void *copy);
int cuMemcpy3D_v2(const void *copy)
{
    LOCKED;
    const uint64_t side_bytes = 88;
    int result = standin_drain("cuMemcpy3D");
    if (result != SUCCESS)
        return result;
    const uint64_t row = standin_field(copy, 2 * side_bytes, 8),
                   height = standin_field(copy, 2 * side_bytes + 8, 8),
                   depth = standin_field(copy, 2 * side_bytes + 16, 8);
    const uint64_t from = address_of_side(copy, row, height),
                   to = address_of_side((const char *)copy + side_bytes, row, height);
    const uint64_t bytes = row * height * depth;
    if (!from || !to || !bytes)
        return INVALID_VALUE;
    void *machine, *data = malloc(bytes);
    if (!data)
        abort();
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    result = ops->download(machine, data, from, bytes, NULL) == FTH_OK &&
                     ops->upload(machine, to, data, bytes, NULL) == FTH_OK
                 ? SUCCESS
                 : INVALID_VALUE;
    free(data);
    return result;
}

/* ---- textures and surfaces ---- */

/* Reads the image of a CUDA_RESOURCE_DESC: an array or linear memory. */
static bool read_resource(const void *resource, bool surface, struct fth_ptx_image *image)
{
    enum { ARRAY = 0, LINEAR = 2 };
    const struct array *array;
    memcpy(&array, (const char *)resource + 8, sizeof array);
    if (standin_field(resource, 136, 4) != 0)
        return false;
    if (standin_field(resource, 0, 4) == ARRAY) {
        *image = array->image;
        return !surface || array->flags & SURFACE;
    }
    *image = (struct fth_ptx_image){.address = standin_field(resource, 8, 8),
                                    .geometry = FTH_GEOMETRY_1D,
                                    .channels = (unsigned)standin_field(resource, 20, 4),
                                    .is_linear_memory = true};
    const uint64_t bytes = standin_field(resource, 24, 8);
    if (surface || standin_field(resource, 0, 4) != LINEAR || image->address % 512 ||
        !find_format(standin_field(resource, 16, 4), &image->format) || image->channels == 0 ||
        bytes == 0 || bytes % ((uint64_t)image->channels * formats[image->format].bytes))
        return false;
    image->width = bytes / image->channels / formats[image->format].bytes;
    return true;
}

EXPORT int cuTexObjectCreate(uint64_t *texture, const void *resource, const void *sampling,
                             const void *view);
int cuTexObjectCreate(uint64_t *texture, const void *resource, const void *sampling,
                      const void *view)
{
    LOCKED;
    enum { READ_AS_INTEGER = 1, NORMALIZED = 2, SEAMLESS = 0x40 };
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    struct fth_ptx_image image;
    if (view || !read_resource(resource, false, &image))
        return INVALID_VALUE;
    const uint64_t flags = standin_field(sampling, 16, 4);
    const bool narrow = image.format >= FTH_TEXEL_U8 && image.format <= FTH_TEXEL_S16;
    struct fth_ptx_sampling how = {.is_linear = standin_field(sampling, 12, 4) != 0,
                                   .is_normalized = (flags & NORMALIZED) != 0,
                                   .is_seamless = (flags & SEAMLESS) != 0,
                                   .reads_as_floats = narrow && !(flags & READ_AS_INTEGER)};
    for (size_t i = 0; i < 3; i++)
        how.address_modes[i] = (enum fth_ptx_address_mode)standin_field(sampling, 4 * i, 4);
    memcpy(how.border, (const char *)sampling + 40, sizeof how.border);
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    if (ops->object(machine, &image, &how, texture, NULL) != FTH_OK)
        return INVALID_VALUE;
    standin_add_live(1);
    return SUCCESS;
}

EXPORT int cuTexObjectDestroy(uint64_t texture);
int cuTexObjectDestroy(uint64_t texture)
{
    LOCKED;
    int result = standin_drain("cuTexObjectDestroy");
    if (result != SUCCESS)
        return result;
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    ops->texture_free(machine, texture);
    standin_add_live(-1);
    return SUCCESS;
}

EXPORT int cuSurfObjectCreate(uint64_t *surface, const void *resource);
int cuSurfObjectCreate(uint64_t *surface, const void *resource)
{
    LOCKED;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    struct fth_ptx_image image;
    if (!read_resource(resource, true, &image))
        return INVALID_VALUE;
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    if (ops->object(machine, &image, NULL, surface, NULL) != FTH_OK)
        return INVALID_VALUE;
    standin_add_live(1);
    return SUCCESS;
}

EXPORT int cuSurfObjectDestroy(uint64_t surface);
int cuSurfObjectDestroy(uint64_t surface)
{
    LOCKED;
    return cuTexObjectDestroy(surface);
}
