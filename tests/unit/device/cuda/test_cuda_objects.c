/* Tests which calls of the driver create and free textures and surfaces (cuda/cuda_texture.c), with
 * a driver that writes down its arguments. */
#include "check.h"
#include "device/cuda/cuda.h"
#include "ptx/ptx.h"

#include <stdio.h>

static char calls[4096];
static int failing; /* the call that fails, from 1 on; 0: none */
static int made;

FTH_PRINTF(1, 2)
static fth_cu_result note(const char *format, ...)
{
    const size_t used = strlen(calls);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(calls + used, sizeof calls - used, format, arguments);
    va_end(arguments);
    return ++made == failing ? 2 /* out of memory */ : 0;
}

static struct fth_cu_array *array_of(int number)
{
    static char arrays[8];
    return (struct fth_cu_array *)&arrays[number];
}

static int number_of(const void *array)
{
    for (int i = 0; i < 8; i++)
        if (array == (const void *)array_of(i))
            return i;
    return -1;
}

static fth_cu_result create_array(fth_cu_array *array, const struct fth_cu_array_shape *shape)
{
    static int count;
    *array = array_of(count++ % 8);
    return note("array %zux%zux%zu format %x channels %u flags %u\n", shape->width, shape->height,
                shape->depth, (unsigned)shape->format, shape->channels, shape->flags);
}

static fth_cu_result destroy_array(fth_cu_array array)
{
    return note("destroy array%s\n", number_of(array) < 0 ? " ?" : "");
}

static void describe_side(const struct fth_cu_copy_side *side, char *text, size_t size)
{
    assert_true(side->x_bytes == 0 && side->y == 0 && side->z == 0 && !side->host);
    if (side->type == 3) /* CU_MEMORYTYPE_ARRAY */
        snprintf(text, size, "array%s", number_of(side->array) < 0 ? " ?" : "");
    else
        snprintf(text, size, "memory %d at %llu pitch %zu height %zu", side->type,
                 (unsigned long long)side->address, side->pitch_bytes, side->height);
}

static fth_cu_result copy_array(const struct fth_cu_copy *copy)
{
    char from[100], to[100];
    describe_side(&copy->from, from, sizeof from);
    describe_side(&copy->to, to, sizeof to);
    return note("copy %zux%zux%zu from %s to %s\n", copy->width_bytes, copy->height, copy->depth,
                from, to);
}

static void describe_resource(const struct fth_cu_resource *resource, char *text, size_t size)
{
    const void *array;
    memcpy(&array, &resource->address, sizeof array);
    if (resource->type == 0) /* CU_RESOURCE_TYPE_ARRAY */
        snprintf(text, size, "array%s %d %u %zu", number_of(array) < 0 ? " ?" : "",
                 resource->format, resource->channels, resource->bytes);
    else
        snprintf(text, size, "memory %d at %llu format %x channels %u bytes %zu", resource->type,
                 (unsigned long long)resource->address, (unsigned)resource->format,
                 resource->channels, resource->bytes);
}

static fth_cu_result create_texture(uint64_t *texture, const struct fth_cu_resource *resource,
                                    const struct fth_cu_sampling *sampling, const void *view)
{
    char what[100];
    assert_null(view);
    describe_resource(resource, what, sizeof what);
    const fth_cu_result result =
        note("texture on %s modes %d %d %d filter %d flags %u border %g %g %g %g\n", what,
             sampling->address_mode[0], sampling->address_mode[1], sampling->address_mode[2],
             sampling->filter_mode, sampling->flags, (double)sampling->border[0],
             (double)sampling->border[1], (double)sampling->border[2], (double)sampling->border[3]);
    *texture = result == 0 ? 70 : 0;
    return result;
}

static fth_cu_result destroy_texture(uint64_t texture)
{
    return note("destroy texture %llu\n", (unsigned long long)texture);
}

static fth_cu_result create_surface(uint64_t *surface, const struct fth_cu_resource *resource)
{
    char what[100];
    describe_resource(resource, what, sizeof what);
    const fth_cu_result result = note("surface on %s\n", what);
    *surface = result == 0 ? 80 : 0;
    return result;
}

static fth_cu_result destroy_surface(uint64_t surface)
{
    return note("destroy surface %llu\n", (unsigned long long)surface);
}

static const struct fth_cuda driver = {.array_create = create_array,
                                       .array_destroy = destroy_array,
                                       .array_copy = copy_array,
                                       .texture_create = create_texture,
                                       .texture_destroy = destroy_texture,
                                       .surface_create = create_surface,
                                       .surface_destroy = destroy_surface};

static void forget_calls(void)
{
    calls[0] = '\0';
    made = failing = 0;
}

/* The flags of an array: 1 layers, 2 surfaces, 4 cubes, 8 gathers. A dimension that an array does
 * not have is 0. */
static const struct {
    struct fth_ptx_image image;
    const char *calls;
} arrays[] = {
    {{.geometry = FTH_GEOMETRY_1D, .format = FTH_TEXEL_F32, .width = 5, .height = 1, .depth = 1},
     "array 5x0x0 format 20 channels 2 flags 2\n"
     "copy 40x1x1 from memory 2 at 512 pitch 40 height 1 to array\n"},
    {{.geometry = FTH_GEOMETRY_2D, .format = FTH_TEXEL_U8, .width = 5, .height = 3, .depth = 1},
     "array 5x3x0 format 1 channels 2 flags 10\n"
     "copy 10x3x1 from memory 2 at 512 pitch 10 height 3 to array\n"},
    {{.geometry = FTH_GEOMETRY_3D, .format = FTH_TEXEL_S16, .width = 5, .height = 3, .depth = 2},
     "array 5x3x2 format 9 channels 2 flags 2\n"
     "copy 20x3x2 from memory 2 at 512 pitch 20 height 3 to array\n"},
    {{.geometry = FTH_GEOMETRY_A1D, .format = FTH_TEXEL_F16, .width = 5, .height = 1, .depth = 4},
     "array 5x0x4 format 10 channels 2 flags 3\n"
     "copy 20x1x4 from memory 2 at 512 pitch 20 height 1 to array\n"},
    {{.geometry = FTH_GEOMETRY_A2D, .format = FTH_TEXEL_S8, .width = 5, .height = 3, .depth = 4},
     "array 5x3x4 format 8 channels 2 flags 3\n"
     "copy 10x3x4 from memory 2 at 512 pitch 10 height 3 to array\n"},
    {{.geometry = FTH_GEOMETRY_CUBE, .format = FTH_TEXEL_U16, .width = 4, .height = 4, .depth = 6},
     "array 4x4x6 format 2 channels 2 flags 6\n"
     "copy 16x4x6 from memory 2 at 512 pitch 16 height 4 to array\n"},
    {{.geometry = FTH_GEOMETRY_ACUBE,
      .format = FTH_TEXEL_U16,
      .width = 4,
      .height = 4,
      .depth = 12},
     "array 4x4x12 format 2 channels 2 flags 7\n"
     "copy 16x4x12 from memory 2 at 512 pitch 16 height 4 to array\n"},
};

static void geometries_become_arrays(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(arrays); i++) {
        struct fth_cuda_objects objects = {NULL};
        struct fth_ptx_image image = arrays[i].image;
        uint64_t handle;
        image.address = 512;
        image.channels = 2;
        forget_calls();
        assert_int_equal(fth_cuda_object_create(&driver, &objects, &image, NULL, &handle, NULL),
                         FTH_OK);
        assert_int_equal(handle, 80);
        char expected[400];
        snprintf(expected, sizeof expected, "%ssurface on array 0 0 0\n", arrays[i].calls);
        assert_string_equal(calls, expected);
        assert_int_equal(fth_cuda_objects_free(&driver, &objects, true, NULL), FTH_OK);
    }
}

/* The flags of a texture: 1 integers, 2 normalised coordinates, 64 seamless cubes. */
static void samplings_are_passed_on(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_texel format;
        struct fth_ptx_sampling sampling;
        const char *expected;
    } rows[] = {
        {FTH_TEXEL_F32,
         {.is_linear = true, .border = {1, 2, 3, 4}},
         "modes 0 0 0 filter 1 flags 0 border 1 2 3 4"},
        {FTH_TEXEL_F16,
         {.is_normalized = true, .address_modes = {1, 2, 3}},
         "modes 1 2 3 filter 0 flags 2 border 0 0 0 0"},
        {FTH_TEXEL_U8, {.is_seamless = true}, "modes 0 0 0 filter 0 flags 65 border 0 0 0 0"},
        {FTH_TEXEL_U8, {.reads_as_floats = true}, "modes 0 0 0 filter 0 flags 0 border 0 0 0 0"},
        {FTH_TEXEL_S32, {.is_normalized = true}, "modes 0 0 0 filter 0 flags 3 border 0 0 0 0"},
    };
    static const char *const formats[] = {[FTH_TEXEL_F32] = "20 channels 4 bytes 48",
                                          [FTH_TEXEL_F16] = "10 channels 4 bytes 24",
                                          [FTH_TEXEL_U8] = "1 channels 4 bytes 12",
                                          [FTH_TEXEL_S32] = "a channels 4 bytes 48"};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int linear = 0; linear < 2; linear++) {
            struct fth_cuda_objects objects = {NULL};
            const struct fth_ptx_image image = {.address = 1024,
                                                .format = rows[i].format,
                                                .channels = 4,
                                                .width = 3,
                                                .height = 1,
                                                .depth = 1,
                                                .is_linear_memory = linear};
            uint64_t handle;
            char expected[200], what[100];
            forget_calls();
            assert_int_equal(
                fth_cuda_object_create(&driver, &objects, &image, &rows[i].sampling, &handle, NULL),
                FTH_OK);
            assert_int_equal(handle, 70);
            snprintf(what, sizeof what, "memory 2 at 1024 format %s", formats[rows[i].format]);
            snprintf(expected, sizeof expected, "texture on %s %s\n", linear ? what : "array 0 0 0",
                     rows[i].expected);
            assert_contains(calls, expected);
            assert_int_equal(strncmp(calls, "array", 5) == 0, !linear);
            forget_calls();
            assert_int_equal(fth_cuda_objects_free(&driver, &objects, true, NULL), FTH_OK);
            assert_string_equal(calls, linear ? "destroy texture 70\n"
                                              : "destroy texture 70\ndestroy array\n");
        }
}

/* A surface and a texture of the same texels share the array, whose texels are copied back. */
static void objects_of_one_image_share_an_array(void **state)
{
    (void)state;
    const struct fth_ptx_image image = {.address = 512,
                                        .geometry = FTH_GEOMETRY_2D,
                                        .format = FTH_TEXEL_F32,
                                        .channels = 1,
                                        .width = 4,
                                        .height = 2,
                                        .depth = 1};
    struct fth_ptx_image others[] = {image, image, image, image, image, image, image};
    others[0].address = 1024;
    others[1].geometry = FTH_GEOMETRY_3D;
    others[2].format = FTH_TEXEL_U32;
    others[3].channels = 2;
    others[4].width = 5;
    others[5].height = 3;
    others[6].depth = 2;
    const struct fth_ptx_sampling sampling = {.is_linear = false};
    struct fth_cuda_objects objects = {NULL};
    uint64_t handle;
    forget_calls();
    assert_int_equal(fth_cuda_object_create(&driver, &objects, &image, NULL, &handle, NULL),
                     FTH_OK);
    forget_calls();
    assert_int_equal(fth_cuda_object_create(&driver, &objects, &image, &sampling, &handle, NULL),
                     FTH_OK);
    assert_int_equal(strncmp(calls, "texture", 7), 0);
    forget_calls();
    assert_int_equal(fth_cuda_objects_free(&driver, &objects, true, NULL), FTH_OK);
    assert_string_equal(calls, "destroy texture 70\n"
                               "copy 16x2x1 from array to memory 2 at 512 pitch 16 height 2\n"
                               "destroy surface 80\ndestroy array\n");
    assert_null(objects.first);
    for (size_t i = 0; i < FTH_COUNT(others); i++) {
        forget_calls();
        assert_int_equal(fth_cuda_object_create(&driver, &objects, &image, NULL, &handle, NULL),
                         FTH_OK);
        forget_calls();
        assert_int_equal(
            fth_cuda_object_create(&driver, &objects, &others[i], &sampling, &handle, NULL),
            FTH_OK);
        assert_int_equal(strncmp(calls, "array", 5), 0);
        /* Without the driver, only the memory of the host is freed. */
        forget_calls();
        assert_int_equal(fth_cuda_objects_free(&driver, &objects, false, NULL), FTH_OK);
        assert_string_equal(calls, "");
    }
}

/* Which call fails, and what is freed then. */
static void failures_are_reported(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"cuArray3DCreate", ""},
                                          {"cuMemcpy3D", "destroy array\n"},
                                          {"cuTexObjectCreate", "destroy array\n"},
                                          {"cuSurfObjectCreate", "destroy array\n"}};
    const struct fth_ptx_image image = {.address = 512,
                                        .format = FTH_TEXEL_F32,
                                        .channels = 1,
                                        .width = 4,
                                        .height = 1,
                                        .depth = 1};
    const struct fth_ptx_sampling sampling = {.is_linear = false};
    for (int i = 0; i < (int)FTH_COUNT(rows); i++) {
        struct fth_cuda_objects objects = {NULL};
        struct fth_error error = NO_ERROR;
        uint64_t handle = 5;
        forget_calls();
        failing = i < 3 ? i + 1 : 3;
        assert_int_equal(fth_cuda_object_create(&driver, &objects, &image, i < 3 ? &sampling : NULL,
                                                &handle, &error),
                         FTH_NO_MEMORY);
        assert_string_equal(error.argument, rows[i][0]);
        assert_int_equal(handle, 0);
        forget_calls();
        assert_int_equal(fth_cuda_objects_free(&driver, &objects, true, NULL), FTH_OK);
        assert_string_equal(calls, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometries_become_arrays),
        cmocka_unit_test(samplings_are_passed_on),
        cmocka_unit_test(objects_of_one_image_share_an_array),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
