/* A capsule with everything that capsules can contain, for several tests: its contents, how it is
 * written, and how it is compared with them. */
#ifndef FTH_TESTS_CAPSULE_EXAMPLE_H
#define FTH_TESTS_CAPSULE_EXAMPLE_H

#include "capsule/capsule_parts.h"
#include "check.h"

#include <stdlib.h>

static const char capsule_path[] = "a.capsule";

/* Sizes of the regions of the example: two chunks of which the second one is incomplete, one chunk,
 * and a few bytes. */
enum { LARGE_BYTES = FTH_CHUNK_BYTES + 1000, CHUNK_BYTES = FTH_CHUNK_BYTES, SMALL_BYTES = 200 };

static const struct fth_capsule_info example_info = {
    .command = "./program --size 3", .gpu = "A GPU", .architecture = 90, .driver_version = 13000};
static const char example_ptx[] = ".version 8.0\n.target sm_90\n";
static const struct fth_capsule_module example_modules[] = {
    {.name = "program", .ptx = example_ptx, .ptx_bytes = sizeof example_ptx - 1},
    {.name = "",
     .reason = "only machine code was loaded",
     .code_bytes = 1234,
     .code = {{UINT64_MAX, 0x1234567890}}},
    {.name = "again", .ptx = example_ptx, .ptx_bytes = sizeof example_ptx - 1}};

static const unsigned char example_parameters[160] = {1, 2, [159] = 255};
static const struct fth_capsule_tensor_map example_maps[] = {{.region = UINT32_MAX,
                                                              .offset = 32,
                                                              .data_type = 7,
                                                              .rank = 2,
                                                              .interleave = 1,
                                                              .swizzle = 2,
                                                              .l2_promotion = 3,
                                                              .fill = 1,
                                                              .address = 0x7f0000000000,
                                                              .sizes = {64, UINT64_MAX},
                                                              .strides = {128},
                                                              .box = {8, 16},
                                                              .element_strides = {1, 2}},
                                                             {.region = 2,
                                                              .offset = 72,
                                                              .is_im2col = true,
                                                              .rank = 5,
                                                              .address = 0x7f0000010000,
                                                              .sizes = {1, 2, 3, 4, 5},
                                                              .strides = {16, 32, 64, 128},
                                                              .box = {1, 1, 1, 1, 1},
                                                              .element_strides = {1, 1, 1, 1, 1},
                                                              .lower_corner = {INT32_MIN, -1, 0},
                                                              .upper_corner = {INT32_MAX, 1, -2},
                                                              .channels_per_pixel = 64,
                                                              .pixels_per_column = 128}};
static const struct fth_capsule_texture example_textures[] = {
    {.handle = 1,
     .resource = FTH_CAPSULE_RESOURCE_ARRAY,
     .region = 4,
     .format = 0x20,
     .channels = 2,
     .width = 5,
     .height = 5,
     .array_flags = 2,
     .address_modes = {0, 1, 3},
     .filter = 1,
     .flags = 2,
     .border = {0x3f800000, 0, UINT32_MAX, 1}},
    {.handle = 1,
     .is_surface = true,
     .resource = FTH_CAPSULE_RESOURCE_ARRAY,
     .region = 4,
     .format = 0x02,
     .channels = 4,
     .width = 5,
     .depth = 5,
     .array_flags = 3},
    {.handle = UINT64_MAX,
     .resource = FTH_CAPSULE_RESOURCE_LINEAR,
     .address = 0x7f0000000000,
     .format = 0x01,
     .channels = 1,
     .width = UINT64_MAX,
     .flags = 1},
    {.resource = FTH_CAPSULE_RESOURCE_PITCHED,
     .address = 0x7f0000100000,
     .format = 0x10,
     .channels = 4,
     .width = 3,
     .height = 2,
     .pitch_bytes = 512}};
/* The images are numbered in the order in which write_example writes them. */
static const struct fth_capsule_region example_regions[] = {
    {.kind = FTH_CAPSULE_DEVICE,
     .address = 0x7f0000100000,
     .bytes = LARGE_BYTES,
     .before = 1,
     .after = 3},
    {.kind = FTH_CAPSULE_HOST, .address = 0x7f0000000000, .bytes = CHUNK_BYTES, .before = 2},
    {.kind = FTH_CAPSULE_VARIABLE,
     .address = 0x7f0000200000,
     .bytes = SMALL_BYTES,
     .variable = "table",
     .after = 4},
    {.kind = FTH_CAPSULE_MANAGED, .address = 0x7f0000000000},
    {.kind = FTH_CAPSULE_ARRAY,
     .address = FTH_CAPSULE_ARRAY_BASE,
     .bytes = SMALL_BYTES,
     .after = 4}};
static const struct fth_capsule_launch example_launches[] = {
    {.number = 3,
     .kernel = "_Z3addPf",
     .module = 1,
     .grid = {1, 2, 3},
     .block = {4, 5, 6},
     .cluster = {7, 8, 9},
     .shared_bytes = 4096,
     .is_cooperative = true,
     .parameters = example_parameters,
     .parameter_bytes = sizeof example_parameters,
     .regions = example_regions,
     .region_count = FTH_COUNT(example_regions),
     .tensor_maps = example_maps,
     .tensor_map_count = FTH_COUNT(example_maps),
     .textures = example_textures,
     .texture_count = FTH_COUNT(example_textures),
     .has_after = true},
    {.number = 7,
     .kernel = "other",
     .grid = {1, 1, 1},
     .block = {UINT32_MAX, 1, 1},
     .reason = "it uses device-side launches"}};

/* Fills an image of the example: 1 has a pattern, 2 consists of zeros, 3 is 1 with another byte, 4
 * has a pattern. */
static inline void fill_image(uint32_t image, unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = image == 2 ? 0 : (unsigned char)(i * 7 + i / 251 + (image == 4));
    if (image == 3)
        data[size - 1] ^= 1;
}

/* Writes an image in several pieces. */
static inline enum fth_status put_image(struct fth_capsule_writer *writer, uint32_t previous,
                                        const unsigned char *data, size_t size, uint32_t *number,
                                        struct fth_error *error)
{
    FTH_TRY(fth_capsule_begin_image(writer, previous, size, error));
    FTH_TRY(fth_capsule_add_to_image(writer, data, size / 3, error));
    FTH_TRY(fth_capsule_add_to_image(writer, data + size / 3, size - size / 3, error));
    return fth_capsule_end_image(writer, number, error);
}

static inline enum fth_status put_images(struct fth_capsule_writer *writer, uint32_t first,
                                         uint32_t last, struct fth_error *error)
{
    static const size_t sizes[] = {LARGE_BYTES, CHUNK_BYTES, LARGE_BYTES, SMALL_BYTES};
    static const uint32_t previous[] = {0, 0, 1, 0};
    static unsigned char data[LARGE_BYTES];
    for (uint32_t i = first; i <= last; i++) {
        uint32_t number = 0;
        fill_image(i, data, sizes[i - 1]);
        FTH_TRY(put_image(writer, previous[i - 1], data, sizes[i - 1], &number, error));
        assert_int_equal(number, i);
    }
    return FTH_OK;
}

/* Writes what the example contains, without its end. */
static inline enum fth_status put_example(struct fth_capsule_writer *writer,
                                          struct fth_error *error)
{
    static const uint32_t after[] = {3, 0, 4, 0, 4};
    uint32_t number;
    for (uint32_t i = 0; i < FTH_COUNT(example_modules); i++) {
        FTH_TRY(fth_capsule_put_module(writer, &example_modules[i], &number, error));
        assert_int_equal(number, i + 1);
    }
    FTH_TRY(put_images(writer, 1, 2, error));
    FTH_TRY(fth_capsule_put_launch(writer, &example_launches[0], error));
    FTH_TRY(put_images(writer, 3, 4, error));
    FTH_TRY(fth_capsule_put_after(writer, 3, after, FTH_COUNT(after), error));
    return fth_capsule_put_launch(writer, &example_launches[1], error);
}

static inline void write_example(void)
{
    struct fth_capsule_writer *writer;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    assert_int_equal(put_example(writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
}

/* ---- comparison ---- */

static inline void compare_module(const struct fth_capsule *capsule, uint32_t number,
                                  const struct fth_capsule_module *expected)
{
    const struct fth_capsule_module *module = fth_capsule_module(capsule, number);
    struct fth_buffer ptx = {0};
    assert_string_equal(module->name, expected->name);
    assert_null(module->ptx);
    assert_int_equal(module->ptx_bytes, expected->ptx_bytes);
    assert_int_equal(module->code_bytes, expected->code_bytes);
    assert_memory_equal(&module->code, &expected->code, sizeof module->code);
    if (expected->ptx) {
        assert_null(module->reason);
        assert_int_equal(fth_capsule_load_ptx(capsule, number, &ptx, NULL), FTH_OK);
        assert_int_equal(ptx.size, expected->ptx_bytes);
        assert_memory_equal(ptx.data, expected->ptx, ptx.size);
    } else {
        struct fth_error error = NO_ERROR;
        assert_string_equal(module->reason, expected->reason);
        assert_int_equal(fth_capsule_load_ptx(capsule, number, &ptx, &error), FTH_UNSUPPORTED);
        assert_contains(error.cause, expected->reason);
    }
    fth_buffer_fini(&ptx);
}

static inline void compare_tensor_map(const struct fth_capsule_tensor_map *map,
                                      const struct fth_capsule_tensor_map *expected)
{
    assert_int_equal(map->region, expected->region);
    assert_int_equal(map->offset, expected->offset);
    assert_int_equal(map->is_im2col, expected->is_im2col);
    assert_int_equal(map->data_type, expected->data_type);
    assert_int_equal(map->rank, expected->rank);
    assert_int_equal(map->interleave, expected->interleave);
    assert_int_equal(map->swizzle, expected->swizzle);
    assert_int_equal(map->l2_promotion, expected->l2_promotion);
    assert_int_equal(map->fill, expected->fill);
    assert_int_equal(map->address, expected->address);
    assert_memory_equal(map->sizes, expected->sizes, sizeof map->sizes);
    assert_memory_equal(map->strides, expected->strides, sizeof map->strides);
    assert_memory_equal(map->box, expected->box, sizeof map->box);
    assert_memory_equal(map->element_strides, expected->element_strides,
                        sizeof map->element_strides);
    assert_memory_equal(map->lower_corner, expected->lower_corner, sizeof map->lower_corner);
    assert_memory_equal(map->upper_corner, expected->upper_corner, sizeof map->upper_corner);
    assert_int_equal(map->channels_per_pixel, expected->channels_per_pixel);
    assert_int_equal(map->pixels_per_column, expected->pixels_per_column);
}

static inline void compare_texture(const struct fth_capsule_texture *texture,
                                   const struct fth_capsule_texture *expected)
{
    assert_int_equal(texture->handle, expected->handle);
    assert_int_equal(texture->is_surface, expected->is_surface);
    assert_int_equal(texture->resource, expected->resource);
    assert_int_equal(texture->region, expected->region);
    assert_int_equal(texture->address, expected->address);
    assert_int_equal(texture->format, expected->format);
    assert_int_equal(texture->channels, expected->channels);
    assert_int_equal(texture->width, expected->width);
    assert_int_equal(texture->height, expected->height);
    assert_int_equal(texture->depth, expected->depth);
    assert_int_equal(texture->array_flags, expected->array_flags);
    assert_int_equal(texture->pitch_bytes, expected->pitch_bytes);
    assert_memory_equal(texture->address_modes, expected->address_modes,
                        sizeof texture->address_modes);
    assert_int_equal(texture->filter, expected->filter);
    assert_int_equal(texture->flags, expected->flags);
    assert_memory_equal(texture->border, expected->border, sizeof texture->border);
}

static inline void compare_regions(const struct fth_capsule_launch *launch,
                                   const struct fth_capsule_launch *expected)
{
    assert_int_equal(launch->region_count, expected->region_count);
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *a = &launch->regions[i], *b = &expected->regions[i];
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->address, b->address);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->before, b->before);
        assert_int_equal(a->after, launch->has_after ? b->after : 0);
        assert_int_equal(a->variable != NULL, b->variable != NULL);
        if (b->variable)
            assert_string_equal(a->variable, b->variable);
    }
}

/* Whether the images after the launch are there is not compared. */
static inline void compare_launch(const struct fth_capsule_launch *launch,
                                  const struct fth_capsule_launch *expected)
{
    assert_int_equal(launch->number, expected->number);
    assert_string_equal(launch->kernel, expected->kernel);
    assert_int_equal(launch->module, expected->module);
    assert_memory_equal(launch->grid, expected->grid, sizeof launch->grid);
    assert_memory_equal(launch->block, expected->block, sizeof launch->block);
    assert_memory_equal(launch->cluster, expected->cluster, sizeof launch->cluster);
    assert_int_equal(launch->shared_bytes, expected->shared_bytes);
    assert_int_equal(launch->is_cooperative, expected->is_cooperative);
    assert_int_equal(launch->parameter_bytes, expected->parameter_bytes);
    if (expected->parameter_bytes)
        assert_memory_equal(launch->parameters, expected->parameters, expected->parameter_bytes);
    assert_int_equal(launch->reason != NULL, expected->reason != NULL);
    if (expected->reason)
        assert_string_equal(launch->reason, expected->reason);
    compare_regions(launch, expected);
    assert_int_equal(launch->tensor_map_count, expected->tensor_map_count);
    for (size_t i = 0; i < launch->tensor_map_count; i++)
        compare_tensor_map(&launch->tensor_maps[i], &expected->tensor_maps[i]);
    assert_int_equal(launch->texture_count, expected->texture_count);
    for (size_t i = 0; i < launch->texture_count; i++)
        compare_texture(&launch->textures[i], &expected->textures[i]);
}

/* Compares an image with fill_image. */
static inline void compare_image(struct fth_capsule *capsule, uint32_t image)
{
    const uint64_t size = fth_capsule_image_bytes(capsule, image);
    unsigned char *data = malloc((size_t)size), *expected = malloc((size_t)size);
    assert_true(data && expected);
    fill_image(image, expected, (size_t)size);
    assert_int_equal(fth_capsule_read_image(capsule, image, 0, size, data, NULL), FTH_OK);
    assert_memory_equal(data, expected, (size_t)size);
    free(data);
    free(expected);
}

#endif
