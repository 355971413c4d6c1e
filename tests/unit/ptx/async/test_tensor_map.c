/* Tests of tensor maps: the rules, the encoding, and changes of single fields. */
#include "check.h"
#include "ptx/async/tensor_map.h"

#include <stdlib.h>

/* A map of each mode with all fields set. */
static const struct fth_ptx_tensor_map tile = {.type = FTH_TENSOR_BF16,
                                               .rank = 5,
                                               .address = 0x7f0000200040,
                                               .sizes = {64, 1, 4294967296, 7, 9},
                                               .strides = {128, 256, (1ull << 40) - 16, 0},
                                               .element_strides = {1, 2, 3, 8, 1},
                                               .swizzle = FTH_SWIZZLE_128,
                                               .promotion = FTH_PROMOTION_256,
                                               .fills_with_nan = true,
                                               .box = {64, 256, 1, 2, 3}};
static const struct fth_ptx_tensor_map im2col = {.type = FTH_TENSOR_U8,
                                                 .rank = 4,
                                                 .address = 0x7f0000200040,
                                                 .sizes = {32, 14, 12, 2},
                                                 .strides = {32, 448, 5376},
                                                 .element_strides = {1, 1, 2, 1},
                                                 .interleave = FTH_INTERLEAVE_32,
                                                 .swizzle = FTH_SWIZZLE_32,
                                                 .is_im2col = true,
                                                 .lower = {-128, -1},
                                                 .upper = {127, -12},
                                                 .channels = 224,
                                                 .pixels = 1024};

static void encoded_maps_are_decoded(void **state)
{
    (void)state;
    const struct fth_ptx_tensor_map *const maps[] = {&tile, &im2col};
    for (size_t i = 0; i < 2; i++) {
        unsigned char bytes[FTH_TENSOR_MAP_BYTES];
        struct fth_ptx_tensor_map map;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_ptx_tensor_map_encode(maps[i], bytes, &error), FTH_OK);
        assert_int_equal(fth_ptx_tensor_map_decode(bytes, &map, &error), FTH_OK);
        assert_int_equal(map.type, maps[i]->type);
        assert_int_equal(map.rank, maps[i]->rank);
        assert_int_equal(map.address, maps[i]->address);
        assert_memory_equal(map.sizes, maps[i]->sizes, sizeof map.sizes);
        assert_memory_equal(map.strides, maps[i]->strides, sizeof map.strides);
        assert_memory_equal(map.element_strides, maps[i]->element_strides,
                            sizeof map.element_strides);
        assert_memory_equal(map.box, maps[i]->box, sizeof map.box);
        assert_memory_equal(map.lower, maps[i]->lower, sizeof map.lower);
        assert_memory_equal(map.upper, maps[i]->upper, sizeof map.upper);
        assert_int_equal(map.interleave, maps[i]->interleave);
        assert_int_equal(map.swizzle, maps[i]->swizzle);
        assert_int_equal(map.promotion, maps[i]->promotion);
        assert_int_equal(map.fills_with_nan, maps[i]->fills_with_nan);
        assert_int_equal(map.is_im2col, maps[i]->is_im2col);
        assert_int_equal(map.channels, maps[i]->channels);
        assert_int_equal(map.pixels, maps[i]->pixels);
    }
}

/* The maps above with one change each, and a part of the message. */
static void invalid_maps_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    struct fth_ptx_tensor_map maps[COUNT];
    const char *messages[COUNT];
    size_t count = 0;
#define REFUSED(of, change, message)                                                               \
    do {                                                                                           \
        struct fth_ptx_tensor_map *m = &maps[count];                                               \
        *m = of;                                                                                   \
        change;                                                                                    \
        messages[count++] = message;                                                               \
    } while (0)
    REFUSED(tile, m->type = FTH_TENSOR_TYPE_COUNT, "13 is not the number of an element type");
    REFUSED(tile, m->interleave = (enum fth_ptx_interleave)3, "the interleave layout (3)");
    REFUSED(tile, m->swizzle = (enum fth_ptx_swizzle)4, "the swizzle mode (4)");
    REFUSED(tile, m->promotion = (enum fth_ptx_promotion)4, "the L2 promotion (4)");
    REFUSED(tile, m->rank = 0, "has 0 dimensions; possible are from 1 to 5");
    REFUSED(tile, m->rank = 6, "has 6 dimensions");
    REFUSED(im2col, m->rank = 2, "im2col mode requires from 3 to 5");
    REFUSED(tile, (m->rank = 2, m->interleave = FTH_INTERLEAVE_16),
            "interleaved layouts require from 3 to 5");
    REFUSED(im2col, m->fills_with_nan = true, "elements of type u8 cannot be filled with NaN");
    REFUSED(tile, m->address += 8, "the address 0x7f0000200048 is not a multiple of 16 bytes");
    REFUSED(im2col, m->address += 16, "is not a multiple of 32 bytes");
    REFUSED(tile, m->sizes[4] = 0, "the size of dimension 4 is 0; it must be from 1 to 2^32");
    REFUSED(tile, m->sizes[0] = 4294967297, "the size of dimension 0 is 4294967297");
    REFUSED(tile, m->element_strides[1] = 0, "the element stride of dimension 1 is 0");
    REFUSED(tile, m->element_strides[1] = 9, "it must be from 1 to 8");
    REFUSED(tile, m->strides[3] = 24,
            "the stride of dimension 4 is 24 bytes; it must be a multiple "
            "of 16 and less than 2^40");
    REFUSED(tile, m->strides[0] = 1ull << 40, "the stride of dimension 1 is 1099511627776 bytes");
    REFUSED(tile, m->box[2] = 0, "the box has 0 elements in dimension 2");
    REFUSED(tile, m->box[2] = 257, "it must be from 1 to 256");
    REFUSED(tile, m->box[0] = 4, "a copy has 8 bytes in dimension 0; it must be a multiple of 16");
    REFUSED(tile, m->box[0] = 72,
            "a copy has 144 bytes in dimension 0; with a swizzle of 128 bytes, the maximum is 128");
    REFUSED(im2col, m->lower[1] = -129, "with 4 dimensions, they must be from -128 to 127");
    REFUSED(im2col, m->upper[1] = -15,
            "the corners of dimension 1 are -1 and -1; there must be a pixel between them");
    REFUSED(im2col, m->sizes[0] = INT32_MAX, "are -128 and 2147483774");
    REFUSED(im2col, (m->interleave = FTH_INTERLEAVE_NONE, m->channels = 16, m->upper[1] = -13),
            "the corners of dimension 2 are -1 and -1");
    REFUSED(im2col, m->channels = 0, "a copy has 0 channels per pixel");
    REFUSED(im2col, m->channels = 24, "a copy has 24 bytes per pixel; it must be a multiple of 16");
    REFUSED(im2col, m->channels = 240, "a copy has 245760 bytes; the maximum is 233472");
    REFUSED(tile, (m->box[2] = 256, m->box[3] = 8), "a copy has 4177920 bytes");
    REFUSED(im2col, m->pixels = 1025, "a copy has 1025 pixels per column");
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char bytes[FTH_TENSOR_MAP_BYTES];
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_ptx_tensor_map_encode(&maps[i], bytes, &error), FTH_INVALID);
        assert_contains(error.cause, messages[i]);
    }
}

/* As a kernel does that makes a map itself: it starts with zeros and sets one field after the
 * other. */
static void fields_are_replaced_one_by_one(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_tensor_field field;
        unsigned index;
        uint64_t value;
    } steps[] = {
        {FTH_TENSOR_ADDRESS, 0, 0x1000},
        {FTH_TENSOR_RANK, 0, 2},
        {FTH_TENSOR_BOX, 0, 64},
        {FTH_TENSOR_BOX, 1, 256},
        {FTH_TENSOR_SIZE, 0, 100},
        {FTH_TENSOR_SIZE, 1, 4294967296},
        {FTH_TENSOR_STRIDE, 0, 0x123450},
        {FTH_TENSOR_ELEMENT_STRIDE, 0, 1},
        {FTH_TENSOR_ELEMENT_STRIDE, 1, 2},
        {FTH_TENSOR_TYPE, 0, FTH_TENSOR_F16},
        {FTH_TENSOR_INTERLEAVE, 0, 0},
        {FTH_TENSOR_FILL, 0, 1},
        {FTH_TENSOR_SWIZZLE, 0, FTH_SWIZZLE_128},
    };
    unsigned char bytes[FTH_TENSOR_MAP_BYTES] = {0};
    struct fth_ptx_tensor_map map;
    struct fth_error error = NO_ERROR;
    for (size_t i = 0; i < FTH_COUNT(steps); i++)
        assert_int_equal(fth_ptx_tensor_map_replace(bytes, steps[i].field, steps[i].index,
                                                    steps[i].value, &error),
                         FTH_OK);
    assert_int_equal(fth_ptx_tensor_map_decode(bytes, &map, &error), FTH_OK);
    assert_int_equal(map.address, 0x1000);
    assert_int_equal(map.rank, 2);
    assert_int_equal(map.box[0], 64);
    assert_int_equal(map.box[1], 256);
    assert_int_equal(map.sizes[0], 100);
    assert_int_equal(map.sizes[1], 4294967296);
    assert_int_equal(map.strides[0], 0x123450);
    assert_int_equal(map.element_strides[0], 1);
    assert_int_equal(map.element_strides[1], 2);
    assert_int_equal(map.type, FTH_TENSOR_F16);
    assert_int_equal(map.interleave, FTH_INTERLEAVE_NONE);
    assert_true(map.fills_with_nan);
    assert_int_equal(map.swizzle, FTH_SWIZZLE_128);
    assert_false(map.is_im2col);
    /* A rule is checked when the map is used, not when a field is replaced. */
    assert_int_equal(fth_ptx_tensor_map_replace(bytes, FTH_TENSOR_RANK, 0, 3, &error), FTH_OK);
    assert_int_equal(fth_ptx_tensor_map_decode(bytes, &map, &error), FTH_INVALID);
    assert_contains(error.cause, "the size of dimension 2 is 0");
}

static void impossible_replacements_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_tensor_field field;
        unsigned index;
        uint64_t value;
        const char *message;
    } steps[] = {
        {FTH_TENSOR_RANK, 0, 6, "the new rank is 6; the maximum is 5"},
        {FTH_TENSOR_RANK, 1, 1, "the rank has no element 1"},
        {FTH_TENSOR_STRIDE, 4, 16, "the stride has no element 4"},
        {FTH_TENSOR_BOX, 0, 65600, "the new box is 65600"},
        {FTH_TENSOR_TYPE, 0, 13, "the new type is 13"},
        {FTH_TENSOR_SWIZZLE, 0, 4, "the new swizzle mode is 4"},
    };
    unsigned char bytes[FTH_TENSOR_MAP_BYTES], before[FTH_TENSOR_MAP_BYTES];
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_tensor_map_encode(&tile, before, &error), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(steps); i++) {
        memcpy(bytes, before, sizeof bytes);
        error = NO_ERROR;
        assert_int_equal(fth_ptx_tensor_map_replace(bytes, steps[i].field, steps[i].index,
                                                    steps[i].value, &error),
                         FTH_INVALID);
        assert_contains(error.cause, steps[i].message);
        assert_memory_equal(bytes, before, sizeof bytes);
    }
}

static void other_bytes_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[FTH_TENSOR_MAP_BYTES] = {0};
    struct fth_ptx_tensor_map map;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_tensor_map_decode(bytes, &map, &error), FTH_INVALID);
    assert_contains(error.cause, "the bytes are not a tensor map");
    bytes[FTH_TENSOR_MAP_BYTES - 1] = 1;
    error = NO_ERROR;
    assert_int_equal(fth_ptx_tensor_map_replace(bytes, FTH_TENSOR_RANK, 0, 1, &error), FTH_INVALID);
    assert_contains(error.cause, "the bytes are not a tensor map, and they are not all 0");
}

static void types_have_names_and_sizes(void **state)
{
    (void)state;
    enum fth_ptx_tensor_type type;
    assert_true(fth_ptx_tensor_type_find("tf32.ftz", &type));
    assert_int_equal(type, FTH_TENSOR_TF32_FTZ);
    assert_int_equal(fth_ptx_tensor_type_bytes(type), 4);
    assert_false(fth_ptx_tensor_type_find("e4m3", &type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_maps_are_decoded),
        cmocka_unit_test(invalid_maps_are_refused),
        cmocka_unit_test(fields_are_replaced_one_by_one),
        cmocka_unit_test(impossible_replacements_are_refused),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(types_have_names_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
