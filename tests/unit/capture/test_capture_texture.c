/* Textures, surfaces and arrays of a program, with a driver that this file plays. */
#include "../../../frontends/capture/capture.h"
#include "check.h"

/* ---- the rest of the library, and the driver ---- */

static struct {
    uint64_t next_handle; /* of the next texture or surface */
    int result;           /* of the functions of the driver */
    struct {
        uint64_t width, height, depth;
        uint32_t format, channels, flags;
        unsigned char rest[4];
    } shape; /* of all arrays: a CUDA_ARRAY3D_DESCRIPTOR */
    unsigned char copy[200];
    int copies, freed, noted;
    void *context;
} played;

static int create_texture(uint64_t *handle, const void *resource, const void *texture,
                          const void *view)
{
    (void)resource, (void)texture, (void)view;
    *handle = played.next_handle;
    return played.result;
}

static int create_surface(uint64_t *handle, const void *resource)
{
    (void)resource;
    *handle = played.next_handle;
    return played.result;
}

static int destroy(uint64_t handle)
{
    (void)handle;
    return played.result;
}

static int describe_array(void *shape, void *array)
{
    if (!array)
        return INVALID_VALUE;
    memcpy(shape, &played.shape, sizeof played.shape);
    return SUCCESS;
}

static int copy_array(const void *copy)
{
    memcpy(played.copy, copy, sizeof played.copy);
    played.copies++;
    return played.result;
}

static int get_context(void **context)
{
    *context = played.context;
    return SUCCESS;
}

void *capture_real(enum function_index function)
{
    switch (function) {
    case F_cuTexObjectCreate: return (void *)create_texture;
    case F_cuSurfObjectCreate: return (void *)create_surface;
    case F_cuTexObjectDestroy:
    case F_cuSurfObjectDestroy:
    case F_cuArrayDestroy: return (void *)destroy;
    case F_cuArray3DGetDescriptor_v2: return (void *)describe_array;
    case F_cuCtxGetCurrent: return (void *)get_context;
    case F_cuMemcpy3D_v2: return (void *)copy_array;
    default: return NULL;
    }
}

void capture_lock_tables(void)
{
}
void capture_unlock_tables(void)
{
}

void capture_note_allocation(void)
{
    played.noted++;
}

void capture_memory_fini(struct memory *memory)
{
    (void)memory;
    played.freed++;
}

/* The functions under test. */
int cuTexObjectCreate(uint64_t *handle, const void *resource, const void *texture,
                      const void *view);
int cuTexObjectDestroy(uint64_t handle);
int cuSurfObjectCreate(uint64_t *handle, const void *resource);
int cuSurfObjectDestroy(uint64_t handle);
int cuArrayDestroy(void *array);

/* ---- descriptions ---- */

enum { ARRAY = 0, MIPMAPPED = 1, LINEAR = 2, PITCHED = 3, F32 = 0x20, U8 = 0x01, F16 = 0x10 };

struct resource {
    uint32_t type, padding;
    union {
        uint64_t array;
        struct {
            uint64_t address;
            uint32_t format, channels;
            uint64_t width, height, pitch;
        } memory;
        unsigned char reserved[128];
    } of;
    uint32_t flags;
};

struct sampling {
    uint32_t modes[3], filter, flags, anisotropy, rest[4];
    float border[4];
    uint32_t reserved[12];
};

static struct resource array_resource(uint64_t array)
{
    return (struct resource){.type = ARRAY, .of.array = array};
}

static int set_up(void **state)
{
    (void)state;
    memset(&played, 0, sizeof played);
    played.next_handle = 1;
    played.shape.width = 8;
    played.shape.height = 4;
    played.shape.format = F32;
    played.shape.channels = 1;
    return 0;
}

static void create(uint64_t handle, const struct resource *resource,
                   const struct sampling *sampling, const uint32_t *view)
{
    static const struct sampling plain;
    uint64_t created;
    played.next_handle = handle;
    assert_int_equal(cuTexObjectCreate(&created, resource, sampling ? sampling : &plain, view),
                     SUCCESS);
    assert_int_equal(created, handle);
}

/* ---- tests ---- */

static void objects_are_described(void **state)
{
    (void)state;
    struct found_texture found[2];
    const struct resource array = array_resource(0x1000);
    const struct resource linear = {
        .type = LINEAR,
        .of.memory = {.address = 0x7000, .format = F16, .channels = 4, .width = 800}};
    const struct resource pitched = {.type = PITCHED,
                                     .of.memory = {.address = 0x8000,
                                                   .format = U8,
                                                   .channels = 1,
                                                   .width = 100,
                                                   .height = 7,
                                                   .pitch = 512}};
    const struct sampling sampling = {
        .modes = {0, 1, 3}, .filter = 1, .flags = 2, .anisotropy = 1, .border = {1.0f}};
    played.shape.depth = 6;
    played.shape.flags = 1;
    create(5, &array, &sampling, NULL);
    create(9, &linear, NULL, NULL);
    create(3, &pitched, NULL, NULL);
    assert_int_equal(played.noted, 3);
    assert_int_equal(capture_textures(5, found), 1);
    const struct fth_capsule_texture *texture = &found[0].texture;
    assert_null(found[0].reason);
    assert_non_null(found[0].memory);
    assert_int_equal(found[0].array.kind, FTH_CAPSULE_ARRAY);
    assert_true(found[0].array.address >= FTH_CAPSULE_ARRAY_BASE);
    assert_int_equal(found[0].array.bytes, 8 * 4 * 6 * 4);
    assert_false(texture->is_surface);
    assert_int_equal(texture->width, 8);
    assert_int_equal(texture->height, 4);
    assert_int_equal(texture->depth, 6);
    assert_int_equal(texture->array_flags, 1);
    assert_int_equal(texture->address_modes[2], 3);
    assert_int_equal(texture->filter, 1);
    assert_int_equal(texture->flags, 2);
    assert_int_equal(texture->border[0], 0x3f800000);
    assert_int_equal(capture_textures(9, found), 1);
    assert_null(found[0].memory);
    assert_int_equal(texture->resource, FTH_CAPSULE_RESOURCE_LINEAR);
    assert_int_equal(texture->address, 0x7000);
    assert_int_equal(texture->width, 100); /* texels of 8 bytes */
    assert_int_equal(capture_textures(3, found), 1);
    assert_int_equal(texture->resource, FTH_CAPSULE_RESOURCE_PITCHED);
    assert_int_equal(texture->width, 100);
    assert_int_equal(texture->height, 7);
    assert_int_equal(texture->pitch_bytes, 512);
    uint64_t first, last;
    capture_texture_bounds(&first, &last);
    assert_int_equal(first, 3);
    assert_int_equal(last, 9);
    assert_true(capture_is_texture(5));
    assert_false(capture_is_texture(4));
    for (uint64_t handle = 1; handle < 10; handle++)
        assert_int_equal(cuTexObjectDestroy(handle), SUCCESS);
    assert_false(capture_is_texture(5));
    capture_texture_bounds(&first, &last);
    assert_true(first > last);
    assert_int_equal(cuArrayDestroy((void *)0x1000), SUCCESS);
    capture_free_dropped_arrays();
}

/* A texture and a surface of one array with the same handle. */
static void textures_and_surfaces_are_apart(void **state)
{
    (void)state;
    struct found_texture found[2];
    const struct resource array = array_resource(0x1000);
    uint64_t handle;
    create(1, &array, NULL, NULL);
    assert_int_equal(cuSurfObjectCreate(&handle, &array), SUCCESS);
    assert_int_equal(capture_textures(1, found), 2);
    assert_true(found[0].texture.is_surface != found[1].texture.is_surface);
    assert_ptr_equal(found[0].memory, found[1].memory);
    create(1, &array, NULL, NULL); /* the driver has forgotten the first one */
    assert_int_equal(capture_textures(1, found), 2);
    assert_int_equal(cuSurfObjectDestroy(1), SUCCESS);
    assert_int_equal(capture_textures(1, found), 1);
    assert_false(found[0].texture.is_surface);
    assert_int_equal(cuTexObjectDestroy(1), SUCCESS);
    assert_int_equal(capture_textures(1, found), 0);
    /* What the driver refuses is no object. */
    played.result = INVALID_VALUE;
    assert_int_equal(cuSurfObjectCreate(&handle, &array), INVALID_VALUE);
    assert_int_equal(capture_textures(1, found), 0);
    assert_int_equal(cuArrayDestroy((void *)0x1000), INVALID_VALUE);
    capture_free_dropped_arrays();
}

/* Two GPUs have textures with the same handle. */
static void contexts_are_apart(void **state)
{
    (void)state;
    struct found_texture found[2], other[2];
    const struct resource first = array_resource(0x1000), second = array_resource(0x2000);
    create(1, &first, NULL, NULL);
    played.context = &played;
    assert_int_equal(capture_textures(1, other), 0);
    create(1, &second, NULL, NULL);
    assert_int_equal(capture_textures(1, other), 1);
    played.context = NULL;
    assert_int_equal(capture_textures(1, found), 1);
    assert_true(found[0].memory != other[0].memory);
    assert_int_equal(cuTexObjectDestroy(1), SUCCESS);
    assert_int_equal(capture_textures(1, found), 0);
    played.context = &played;
    assert_int_equal(capture_textures(1, found), 1);
    assert_int_equal(cuTexObjectDestroy(1), SUCCESS);
    assert_int_equal(cuArrayDestroy((void *)0x1000) + cuArrayDestroy((void *)0x2000), SUCCESS);
    capture_free_dropped_arrays();
}

static void what_cannot_be_captured_has_a_reason(void **state)
{
    (void)state;
    static const uint32_t no_view[28], view[28] = {1};
    const struct resource memory = {.type = LINEAR,
                                    .of.memory = {.address = 0x7000, .format = F32, .channels = 1}};
    struct resource three = memory, compressed = memory, unknown = memory;
    three.of.memory.channels = 3;
    compressed.of.memory.format = 0x91;
    unknown.type = 4;
    const struct resource mipmapped = {.type = MIPMAPPED, .of.array = 0x1000};
    const struct resource no_array = array_resource(0), array = array_resource(0x2000);
    const struct sampling srgb = {.flags = 0x10}, anisotropic = {.anisotropy = 16};
    const struct {
        const struct resource *resource;
        const struct sampling *sampling;
        const uint32_t *view;
        uint32_t array_flags;
        const char *reason; /* NULL: none */
    } rows[] = {
        {&memory, NULL, NULL, 0, NULL},
        {&array, NULL, no_view, 0, NULL},
        {&array, NULL, view, 0, "a resource view"},
        {&array, &srgb, NULL, 0, "sRGB"},
        {&array, &anisotropic, NULL, 0, "anisotropic"},
        {&array, NULL, NULL, 0x40, "a sparse array"},
        {&array, NULL, NULL, 0x80, "without memory"},
        {&mipmapped, NULL, NULL, 0, "a mipmapped array"},
        {&no_array, NULL, NULL, 0, "the driver does not describe"},
        {&three, NULL, NULL, 0, "a format"},
        {&compressed, NULL, NULL, 0, "a format"},
        {&unknown, NULL, NULL, 0, "an unknown kind of resource"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct found_texture found[2];
        played.shape.flags = rows[i].array_flags;
        create(7, rows[i].resource, rows[i].sampling, rows[i].view);
        assert_int_equal(capture_textures(7, found), 1);
        assert_int_equal(found[0].reason != NULL, rows[i].reason != NULL);
        if (rows[i].reason)
            assert_contains(found[0].reason, rows[i].reason);
    }
    assert_int_equal(cuTexObjectDestroy(7), SUCCESS);
    assert_int_equal(cuArrayDestroy((void *)0x2000), SUCCESS);
    capture_free_dropped_arrays();
}

static void arrays_are_forgotten(void **state)
{
    (void)state;
    struct found_texture found[2], again[2];
    const struct resource array = array_resource(0x1000);
    create(1, &array, NULL, NULL);
    create(2, &array, NULL, NULL);
    assert_int_equal(capture_textures(1, found) + capture_textures(2, again), 2);
    assert_ptr_equal(found[0].memory, again[0].memory);
    assert_int_equal(found[0].array.address, again[0].array.address);
    assert_int_equal(cuArrayDestroy((void *)0x1000), SUCCESS);
    assert_int_equal(played.freed, 0); /* a launch may still use it */
    capture_free_dropped_arrays();
    assert_int_equal(played.freed, 1);
    assert_int_equal(capture_textures(1, again), 1);
    assert_contains(again[0].reason, "an array that was destroyed");
    assert_null(again[0].memory);
    /* Another array with the same handle has another place in the capsule. */
    create(1, &array, NULL, NULL);
    assert_int_equal(capture_textures(1, again), 1);
    assert_null(again[0].reason);
    assert_true(again[0].array.address >= found[0].array.address + found[0].array.bytes);
    /* So has an array of another shape whose destruction was not noticed. */
    played.shape.width = 100;
    create(2, &array, NULL, NULL);
    assert_int_equal(capture_textures(2, found), 1);
    assert_int_equal(found[0].array.bytes, 1600);
    assert_true(found[0].array.address >= again[0].array.address + again[0].array.bytes);
    assert_int_equal(cuTexObjectDestroy(1) + cuTexObjectDestroy(2), SUCCESS);
    assert_int_equal(cuArrayDestroy((void *)0x1000), SUCCESS);
    capture_free_dropped_arrays();
    assert_int_equal(played.freed, 3);
}

/* An array is read in pieces: whole images, or rows of one. */
static void arrays_are_read_in_pieces(void **state)
{
    (void)state;
    static const struct {
        uint64_t height, depth; /* rows have 32 bytes */
        size_t buffer;
        struct {
            uint64_t y, z, rows, images;
        } pieces[6]; /* up to the first one without rows */
    } cases[] = {
        {0, 0, 1000, {{0, 0, 1, 1}}},
        {4, 0, 1000, {{0, 0, 4, 1}}},
        {4, 0, 128, {{0, 0, 4, 1}}},
        {4, 0, 127, {{0, 0, 3, 1}, {3, 0, 1, 1}}},
        {0, 5, 64, {{0, 0, 1, 2}, {0, 2, 1, 2}, {0, 4, 1, 1}}},
        {4, 5, 300, {{0, 0, 4, 2}, {0, 2, 4, 2}, {0, 4, 4, 1}}},
        {4, 2, 100, {{0, 0, 3, 1}, {3, 0, 1, 1}, {0, 1, 3, 1}, {3, 1, 1, 1}}},
    };
    static unsigned char buffer[1000];
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct found_texture found[2];
        struct fth_error error = NO_ERROR;
        const struct resource array = array_resource(0x1000);
        played.shape.height = cases[i].height;
        played.shape.depth = cases[i].depth;
        create(1, &array, NULL, NULL);
        assert_int_equal(capture_textures(1, found), 1);
        uint64_t from = 0;
        for (size_t k = 0; cases[i].pieces[k].rows; k++) {
            size_t bytes = cases[i].buffer;
            assert_int_equal(
                capture_read_array(found[0].memory->array, from, buffer, &bytes, &error), FTH_OK);
            const uint64_t rows = cases[i].pieces[k].rows, images = cases[i].pieces[k].images;
            const uint64_t expected[][2] = {{0, 0},
                                            {8, cases[i].pieces[k].y},
                                            {16, cases[i].pieces[k].z},
                                            {56, 0x1000},
                                            {128, (uint64_t)(uintptr_t)buffer},
                                            {160, 32},
                                            {168, rows},
                                            {176, 32},
                                            {184, rows},
                                            {192, images}};
            for (size_t j = 0; j < FTH_COUNT(expected); j++)
                assert_int_equal(field(played.copy, expected[j][0], 8), expected[j][1]);
            assert_int_equal(field(played.copy, 32, 4), 3);
            assert_int_equal(field(played.copy, 120, 4), 1);
            assert_int_equal(bytes, 32 * rows * images);
            from += bytes;
        }
        assert_int_equal(from, found[0].array.bytes);
        size_t few = 31;
        assert_int_equal(capture_read_array(found[0].memory->array, 0, buffer, &few, &error),
                         FTH_UNSUPPORTED);
        assert_int_equal(cuTexObjectDestroy(1), SUCCESS);
        assert_int_equal(cuArrayDestroy((void *)0x1000), SUCCESS);
        capture_free_dropped_arrays();
    }
}

static void failures_of_copies_are_reported(void **state)
{
    (void)state;
    struct found_texture found[2];
    struct fth_error error = NO_ERROR;
    const struct resource array = array_resource(0x1000);
    unsigned char buffer[128];
    size_t bytes = sizeof buffer;
    create(1, &array, NULL, NULL);
    assert_int_equal(capture_textures(1, found), 1);
    played.result = 700;
    assert_int_equal(capture_read_array(found[0].memory->array, 0, buffer, &bytes, &error),
                     FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "cuMemcpy3D of 128 bytes of an array returned 700");
    (void)cuTexObjectDestroy(1);
    (void)cuArrayDestroy((void *)0x1000);
    capture_free_dropped_arrays();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(objects_are_described, set_up),
        cmocka_unit_test_setup(textures_and_surfaces_are_apart, set_up),
        cmocka_unit_test_setup(contexts_are_apart, set_up),
        cmocka_unit_test_setup(what_cannot_be_captured_has_a_reason, set_up),
        cmocka_unit_test_setup(arrays_are_forgotten, set_up),
        cmocka_unit_test_setup(arrays_are_read_in_pieces, set_up),
        cmocka_unit_test_setup(failures_of_copies_are_reported, set_up),
    };
    return cmocka_run_group_tests_name("capture_texture", tests, NULL, NULL);
}
