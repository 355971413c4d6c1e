/* Textures and surfaces: what the program passed to create them, and the texels of CUDA arrays.
 *
 * Kernels know a texture by its handle, a 64-bit number. The driver says what an array looks like
 * when a texture of it is created, so it does not matter how the program got the array. An array
 * has no address, and gets one for the capsule. */
#include "capture.h"

static const char operation[] = "capture array";

/* An array that is or was used by a texture or a surface. */
struct array {
    struct array *next;
    uint64_t handle;                  /* a CUarray */
    struct fth_capsule_texture shape; /* only the fields of the array are set */
    uint64_t address, bytes;          /* in the capsule */
    struct memory memory;
};

/* A texture or a surface. Those of several GPUs can have the same handle. */
struct object {
    struct fth_capsule_texture texture;
    const void *context;
    struct array *array; /* NULL: the texels are in linear memory, or `reason` is set */
    const char *reason;  /* why it cannot be captured; NULL: it can */
};

static struct {
    struct object *objects; /* sorted by handle */
    size_t count, capacity;
    struct array *arrays, *dropped; /* those of which `dropped` is the first are freed later */
    uint64_t next_address;
} table = {.next_address = FTH_CAPSULE_ARRAY_BASE};

/* ---- finding objects ---- */

/* Returns the index of the first object whose handle is not lower. */
static size_t lower_bound(uint64_t handle)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table.objects[middle].texture.handle < handle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool capture_is_texture(uint64_t handle)
{
    capture_lock_tables();
    const size_t at = lower_bound(handle);
    const bool found = at < table.count && table.objects[at].texture.handle == handle;
    capture_unlock_tables();
    return found;
}

void capture_texture_bounds(uint64_t *first, uint64_t *last)
{
    capture_lock_tables();
    *first = table.count ? table.objects[0].texture.handle : 1;
    *last = table.count ? table.objects[table.count - 1].texture.handle : 0;
    capture_unlock_tables();
}

static const void *current_context(void)
{
    void *context = NULL;
    return CALL(cuCtxGetCurrent, (void **), &context) == SUCCESS ? context : NULL;
}

size_t capture_textures(uint64_t handle, struct found_texture found[2])
{
    size_t count = 0;
    const void *context = current_context();
    capture_lock_tables();
    for (size_t i = lower_bound(handle);
         i < table.count && count < 2 && table.objects[i].texture.handle == handle; i++) {
        struct array *array = table.objects[i].array;
        if (table.objects[i].context != context)
            continue;
        found[count] = (struct found_texture){.texture = table.objects[i].texture,
                                              .reason = table.objects[i].reason};
        if (array) {
            found[count].memory = &array->memory;
            found[count].array = (struct fth_capsule_region){
                .kind = FTH_CAPSULE_ARRAY, .address = array->address, .bytes = array->bytes};
        }
        count++;
    }
    capture_unlock_tables();
    return count;
}

/* ---- arrays ---- */

/* Returns whether capsules can hold texels of this format. */
static bool has_known_format(const struct fth_capsule_texture *texture)
{
    return fth_capsule_channel_bytes(texture->format) != 0 &&
           (texture->channels == 1 || texture->channels == 2 || texture->channels == 4);
}

static const char unknown_format[] =
    "it uses a texture with a format that the PTX engine does not have";

/* Returns why an array cannot be captured; NULL: it can. */
static const char *fault_of_array(const struct fth_capsule_texture *shape, uint64_t *bytes)
{
    /* CUDA_ARRAY3D_SPARSE and CUDA_ARRAY3D_DEFERRED_MAPPING */
    enum { SPARSE = 0x40, DEFERRED = 0x80 };
    if (!has_known_format(shape))
        return unknown_format;
    if (shape->array_flags & (SPARSE | DEFERRED))
        return "it uses a texture of a sparse array, or of one without memory";
    if (shape->width == 0 || !fth_capsule_array_bytes(shape, bytes) ||
        *bytes > FTH_CAPSULE_MAX_REGION_BYTES)
        return "it uses a texture of an array without a size";
    return NULL;
}

/* Returns the array with a handle and a shape, or NULL. */
static struct array *find_array(uint64_t handle, const struct fth_capsule_texture *shape)
{
    struct array *array = table.arrays;
    while (array &&
           (array->handle != handle || array->shape.width != shape->width ||
            array->shape.height != shape->height || array->shape.depth != shape->depth ||
            array->shape.format != shape->format || array->shape.channels != shape->channels))
        array = array->next;
    return array;
}

/* Returns the array with a handle, which is added if it is not known. NULL: memory is exhausted. */
static struct array *add_array(uint64_t handle, const struct fth_capsule_texture *shape,
                               uint64_t bytes)
{
    /* Chosen: the size of a page of a GPU, to which the driver aligns large allocations. */
    const uint64_t alignment = (uint64_t)2 << 20;
    struct array *array = find_array(handle, shape);
    if (array)
        return array;
    array = calloc(1, sizeof *array);
    if (!array)
        return NULL;
    *array = (struct array){.next = table.arrays,
                            .handle = handle,
                            .shape = *shape,
                            .address = table.next_address,
                            .bytes = bytes};
    array->memory.array = array;
    table.next_address += (bytes + alignment - 1) / alignment * alignment;
    table.arrays = array;
    return array;
}

/* Removes the arrays with a handle. A launch may be reading them, so they are freed later. */
static void drop_array(uint64_t handle)
{
    capture_lock_tables();
    for (struct array **link = &table.arrays; *link;) {
        struct array *array = *link;
        if (array->handle != handle) {
            link = &array->next;
            continue;
        }
        for (size_t i = 0; i < table.count; i++)
            if (table.objects[i].array == array) {
                table.objects[i].array = NULL;
                table.objects[i].reason = "it uses a texture of an array that was destroyed";
            }
        *link = array->next;
        array->next = table.dropped;
        table.dropped = array;
    }
    capture_unlock_tables();
}

void capture_free_dropped_arrays(void)
{
    capture_lock_tables();
    struct array *dropped = table.dropped;
    table.dropped = NULL;
    capture_unlock_tables();
    while (dropped) {
        struct array *next = dropped->next;
        capture_memory_fini(&dropped->memory);
        free(dropped);
        dropped = next;
    }
}

/* Writes a field of a structure of the API. */
static void set_field(void *structure, size_t offset, uint64_t value, size_t bytes)
{
    memcpy((char *)structure + offset, &value, bytes);
}

enum fth_status capture_read_array(const struct array *array, uint64_t from, void *buffer,
                                   size_t *bytes, struct fth_error *error)
{
    /* Offsets in CUDA_MEMCPY3D; its size, and CUmemorytype. */
    enum { Y = 8, Z = 16, FROM_TYPE = 32, FROM_ARRAY = 56, TO_TYPE = 120, TO_HOST = 128 };
    enum { TO_PITCH = 160, TO_HEIGHT = 168, WIDTH = 176, HEIGHT = 184, DEPTH = 192 };
    enum { HOST = 1, ARRAY = 3 };
    const uint64_t height = array->shape.height ? array->shape.height : 1,
                   depth = array->shape.depth ? array->shape.depth : 1;
    const uint64_t row_bytes = array->bytes / height / depth;
    const uint64_t row = from / row_bytes, y = row % height, z = row / height;
    const uint64_t max_rows = *bytes / row_bytes;
    /* As many whole images as fit, or else as many rows. */
    const uint64_t images =
        y == 0 && max_rows >= height ? FTH_MIN(depth - z, max_rows / height) : 1;
    const uint64_t rows = FTH_MIN(height - y, max_rows);
    unsigned char copy[COPY_BYTES] = {0};
    if (max_rows == 0)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "a row of an array has more than %zu bytes", *bytes);
    set_field(copy, Y, y, 8);
    set_field(copy, Z, z, 8);
    set_field(copy, FROM_TYPE, ARRAY, 4);
    set_field(copy, FROM_ARRAY, array->handle, 8);
    set_field(copy, TO_TYPE, HOST, 4);
    set_field(copy, TO_HOST, (uint64_t)(uintptr_t)buffer, 8);
    set_field(copy, TO_PITCH, row_bytes, 8);
    set_field(copy, TO_HEIGHT, rows, 8);
    set_field(copy, WIDTH, row_bytes, 8);
    set_field(copy, HEIGHT, rows, 8);
    set_field(copy, DEPTH, images, 8);
    *bytes = (size_t)(row_bytes * rows * images);
    const int result = CALL(cuMemcpy3D_v2, (const void *), copy);
    return result == SUCCESS
               ? FTH_OK
               : fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                          "cuMemcpy3D of %zu bytes of an array returned %d", *bytes, result);
}

/* ---- objects ---- */

/* Reads the array of a CUDA_RESOURCE_DESC. */
static void read_array(const void *resource, struct object *object)
{
    unsigned char shape[40]; /* CUDA_ARRAY3D_DESCRIPTOR */
    struct fth_capsule_texture *texture = &object->texture;
    const uint64_t handle = field(resource, 8, 8);
    uint64_t bytes;
    if (CALL(cuArray3DGetDescriptor_v2, (void *, void *), shape, pointer_to(handle)) != SUCCESS) {
        object->reason = "it uses a texture of an array that the driver does not describe";
        return;
    }
    texture->width = field(shape, 0, 8);
    texture->height = field(shape, 8, 8);
    texture->depth = field(shape, 16, 8);
    texture->format = (uint32_t)field(shape, 24, 4);
    texture->channels = (uint32_t)field(shape, 28, 4);
    texture->array_flags = (uint32_t)field(shape, 32, 4);
    object->reason = fault_of_array(texture, &bytes);
    if (object->reason)
        return;
    capture_lock_tables();
    object->array = add_array(handle, texture, bytes);
    capture_unlock_tables();
    if (!object->array)
        object->reason = "there was not enough memory to remember its arrays";
}

/* Reads a CUDA_RESOURCE_DESC. */
static void read_resource(const void *resource, struct object *object)
{
    enum { MIPMAPPED = 1 }; /* the other values of CUresourcetype are those of capsules */
    struct fth_capsule_texture *texture = &object->texture;
    texture->resource = (enum fth_capsule_resource)field(resource, 0, 4);
    if ((int)texture->resource == MIPMAPPED) {
        object->reason = "it uses a texture of a mipmapped array, which the PTX engine does not "
                         "have";
        return;
    }
    if (texture->resource == FTH_CAPSULE_RESOURCE_ARRAY) {
        read_array(resource, object);
        return;
    }
    texture->address = field(resource, 8, 8);
    texture->format = (uint32_t)field(resource, 16, 4);
    texture->channels = (uint32_t)field(resource, 20, 4);
    texture->width = field(resource, 24, 8);
    if (!has_known_format(texture)) {
        object->reason = unknown_format;
    } else if (texture->resource == FTH_CAPSULE_RESOURCE_LINEAR) {
        /* The size is stated in bytes. */
        texture->width /= (uint64_t)fth_capsule_channel_bytes(texture->format) * texture->channels;
    } else if (texture->resource == FTH_CAPSULE_RESOURCE_PITCHED) {
        texture->height = field(resource, 32, 8);
        texture->pitch_bytes = field(resource, 40, 8);
    } else {
        object->reason = "it uses a texture with an unknown kind of resource";
    }
}

/* Reads a CUDA_TEXTURE_DESC and the first field of a CUDA_RESOURCE_VIEW_DESC. */
static void read_sampling(const void *sampling, const void *view, struct object *object)
{
    enum { SRGB = 0x10 }; /* CU_TRSF_SRGB */
    struct fth_capsule_texture *texture = &object->texture;
    for (size_t i = 0; i < 3; i++)
        texture->address_modes[i] = (uint32_t)field(sampling, 4 * i, 4);
    texture->filter = (uint32_t)field(sampling, 12, 4);
    texture->flags = (uint32_t)field(sampling, 16, 4);
    memcpy(texture->border, (const char *)sampling + 40, sizeof texture->border);
    if (object->reason)
        return;
    if (texture->flags & SRGB)
        object->reason = "it uses a texture with sRGB colors, which the PTX engine does not have";
    else if (field(sampling, 20, 4) > 1)
        object->reason = "it uses a texture with an anisotropic filter, which the PTX engine does "
                         "not have";
    else if (view && field(view, 0, 4) != 0)
        object->reason = "it uses a texture with a resource view, which the PTX engine does not "
                         "have";
}

static void add_object(const struct object *object)
{
    capture_lock_tables();
    void *objects = table.objects;
    if (fth_grow(&objects, table.count, &table.capacity, sizeof *table.objects)) {
        table.objects = objects;
        const size_t at = lower_bound(object->texture.handle);
        memmove(table.objects + at + 1, table.objects + at,
                (table.count - at) * sizeof *table.objects);
        table.objects[at] = *object;
        table.count++;
    }
    capture_unlock_tables();
    /* A word that was no handle can be one now. */
    capture_note_allocation();
}

static void drop_object(uint64_t handle, bool is_surface)
{
    const void *context = current_context();
    capture_lock_tables();
    for (size_t i = lower_bound(handle);
         i < table.count && table.objects[i].texture.handle == handle; i++)
        if (table.objects[i].texture.is_surface == is_surface &&
            table.objects[i].context == context) {
            memmove(table.objects + i, table.objects + i + 1,
                    (table.count - i - 1) * sizeof *table.objects);
            table.count--;
            break;
        }
    if (table.count == 0) {
        free(table.objects);
        table.objects = NULL;
        table.capacity = 0;
    }
    capture_unlock_tables();
}

/* ---- the functions of the driver ---- */

WRAP(cuTexObjectCreate, uint64_t *handle, const void *resource, const void *texture,
     const void *view)
{
    const int result =
        CALL(cuTexObjectCreate, (uint64_t *, const void *, const void *, const void *), handle,
             resource, texture, view);
    if (result == SUCCESS) {
        struct object object = {.texture.handle = *handle, .context = current_context()};
        read_resource(resource, &object);
        read_sampling(texture, view, &object);
        drop_object(*handle, false); /* of an earlier context at the same address */
        add_object(&object);
    }
    return result;
}

WRAP(cuTexObjectDestroy, uint64_t handle)
{
    drop_object(handle, false);
    return CALL(cuTexObjectDestroy, (uint64_t), handle);
}

WRAP(cuSurfObjectCreate, uint64_t *handle, const void *resource)
{
    const int result = CALL(cuSurfObjectCreate, (uint64_t *, const void *), handle, resource);
    if (result == SUCCESS) {
        struct object object = {.texture = {.handle = *handle, .is_surface = true},
                                .context = current_context()};
        read_resource(resource, &object);
        drop_object(*handle, true);
        add_object(&object);
    }
    return result;
}

WRAP(cuSurfObjectDestroy, uint64_t handle)
{
    drop_object(handle, true);
    return CALL(cuSurfObjectDestroy, (uint64_t), handle);
}

WRAP(cuArrayDestroy, void *array)
{
    drop_array((uint64_t)(uintptr_t)array);
    return CALL(cuArrayDestroy, (void *), array);
}
