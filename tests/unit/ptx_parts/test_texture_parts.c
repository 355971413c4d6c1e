/* Tests the parts of a texture fetch one by one (ptx/texture/): the face of a cube, the texels
 * across its edges, and the weighted sum of texels. */
#include "check.h"
#include "ptx/mufu.h"
#include "ptx/texture/texture.h"

#include <math.h>
#include <stdio.h>

/* ---- faces ---- */

static void expect_face(const float direction[3], unsigned face, double u, double v)
{
    struct fth_ptx_position position = {
        .axes = 3, .at = {direction[0], direction[1], direction[2]}, .face = 9};
    fth_ptx_select_face(&position);
    if (position.face != face || position.axes != 2 || position.at[0] != u || position.at[1] != v)
        fail_msg("(%g, %g, %g): face %u at (%.12g, %.12g), expected %u at (%.12g, %.12g)",
                 (double)direction[0], (double)direction[1], (double)direction[2], position.face,
                 position.at[0], position.at[1], face, u, v);
}

/* Of equal coordinates, z selects the face before y, and y before x. A NaN selects no face and
 * counts as 0 in it. The coordinates keep the sign of small numbers, but not of denormals. */
static void directions_select_a_face(void **state)
{
    (void)state;
    static const double below_half = 0.5 - 0x1p-31;
    static const struct {
        float direction[3];
        unsigned face;
        double u, v;
    } rows[] = {
        {{2, 1, 0.5f}, 0, 0.375, 0.25},
        {{-2, 1, 0.5f}, 1, 0.625, 0.25},
        {{1, 2, 0.5f}, 2, 0.75, 0.625},
        {{1, -2, 0.5f}, 3, 0.75, 0.375},
        {{1, 0.5f, 2}, 4, 0.75, 0.375},
        {{1, 0.5f, -2}, 5, 0.25, 0.375},
        {{1, 0.5f, 1}, 4, 1, 0.25},
        {{1, 0.5f, -1}, 5, 0, 0.25},
        {{0.5f, 1, 1}, 4, 0.75, 0},
        {{0.5f, 1, -1}, 5, 0.25, 0},
        {{1, 1, 0.5f}, 2, 1, 0.75},
        {{1, -1, 0.5f}, 3, 1, 0.25},
        {{1, 1, 1}, 4, 1, 0},
        {{0, 0, 0}, 4, 0.5, 0.5},
        {{NAN, 2, 1}, 2, 0.5, 0.75},
        {{1, NAN, 0.5f}, 0, 0.25, 0.5},
        {{1, 2, NAN}, 2, 0.75, 0.5},
        {{NAN, NAN, -1}, 5, 0.5, 0.5},
        {{NAN, NAN, NAN}, 4, 0.5, 0.5},
        {{1, -1e-20f, 1e-20f}, 0, below_half, 0.5},
        {{1, 1e-20f, -1e-20f}, 0, 0.5, below_half},
        {{1, 1e-40f, 1e-40f}, 0, 0.5, 0.5},
        {{1, 1.5e-38f, 1}, 4, 1, below_half},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++)
        expect_face(rows[r].direction, rows[r].face, rows[r].u, rows[r].v);
}

/* The product with the reciprocal can be above 1, which counts as 1. */
static void coordinates_stay_in_the_face(void **state)
{
    (void)state;
    unsigned above = 0;
    for (float x = 1; x < 2; x += 0x1p-10f) {
        uint32_t bits;
        float reciprocal;
        memcpy(&bits, &x, sizeof bits);
        bits = fth_ptx_mufu_rcp(bits);
        memcpy(&reciprocal, &bits, sizeof reciprocal);
        if (x * reciprocal <= 1)
            continue;
        above++;
        expect_face((float[3]){x, x, x}, 4, 1, 0);
        expect_face((float[3]){-x, -x, x}, 4, 0, 1);
    }
    assert_true(above > 0);
}

/* Computes where a point of a face is: the coordinates are from -1 to 1 (CUDA C++ Programming
 * Guide, "Cubemap Textures"). */
static void locate(unsigned face, double s, double t, double at[3])
{
    const double points[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                                 {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    memcpy(at, points[face], sizeof points[face]);
}

static double distance(const double a[3], const double b[3])
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/* Finds the texel of another face whose center is the nearest to a point of an edge. */
static void find_nearest(unsigned face, const double point[3], int64_t size, int64_t found[3])
{
    double least = INFINITY;
    for (unsigned other = 0; other < 6; other++)
        for (int64_t x = 0; x < size && other != face; x++)
            for (int64_t y = 0; y < size; y++) {
                double center[3];
                locate(other, (2 * (double)x + 1) / (double)size - 1,
                       (2 * (double)y + 1) / (double)size - 1, center);
                if (distance(center, point) < least) {
                    least = distance(center, point);
                    found[0] = x;
                    found[1] = y;
                    found[2] = other;
                }
            }
}

/* The texel across an edge is the one on the other side of the same part of the edge. */
static void edges_lead_to_the_neighbouring_face(void **state)
{
    (void)state;
    for (int64_t size = 1; size <= 4; size++)
        for (unsigned face = 0; face < 6; face++)
            for (int64_t x = -1; x <= size; x++)
                for (int64_t y = -1; y <= size; y++) {
                    const bool out_x = x < 0 || x == size, out_y = y < 0 || y == size;
                    int64_t at[3] = {x, y, 12 + face}, expected[3] = {x, y, face};
                    double point[3];
                    locate(face, fmax(-1, fmin(1, (2 * (double)x + 1) / (double)size - 1)),
                           fmax(-1, fmin(1, (2 * (double)y + 1) / (double)size - 1)), point);
                    if (out_x != out_y)
                        find_nearest(face, point, size, expected);
                    const bool exists = fth_ptx_cross_edge(size, face, at);
                    assert_int_equal(exists, !(out_x && out_y));
                    if (!exists) {
                        assert_int_equal(at[0], -1);
                        continue;
                    }
                    assert_int_equal(at[0], expected[0]);
                    assert_int_equal(at[1], expected[1]);
                    assert_int_equal(at[2], 12 + expected[2]);
                }
}

/* ---- sums ---- */

enum { MAX_ROW_TAPS = 8 };
struct tap {
    uint32_t texel;
    uint16_t weight;
};

static uint32_t sum_of(enum fth_ptx_texel format, const struct tap *rows, size_t count)
{
    struct fth_ptx_taps taps = {.count = count, .corner = -1};
    uint32_t texels[MAX_TAPS];
    for (size_t t = 0; t < MAX_TAPS; t++) {
        taps.weights[t] = rows[t].weight;
        taps.used[t] = rows[t].weight != 0;
        texels[t] = rows[t].texel;
    }
    return fth_ptx_filter(format, &taps, texels);
}

static uint32_t bits_of(double value)
{
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void expect_sum(const char *name, size_t row, uint32_t found, uint32_t expected)
{
    if (found != expected)
        fail_msg("%s, row %zu: 0x%08x, expected 0x%08x", name, row, found, expected);
}

/* 8 bits are widened to 16, or 7 to 15, by a repetition of the bits; the sum is rounded. */
static void integers_are_summed(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_texel format;
        int32_t texels[2];
        uint16_t weights[2];
        int32_t numerator, denominator;
    } rows[] = {
        {FTH_TEXEL_U8, {255, 0}, {256, 0}, 65535, 65535},
        {FTH_TEXEL_U8, {1, 2}, {128, 128}, 386, 65535}, /* 385.5, rounded up */
        {FTH_TEXEL_U8, {1, 2}, {255, 1}, 258, 65535},   /* 257 + 257 / 256 */
        {FTH_TEXEL_U16, {1, 2}, {128, 128}, 2, 65535},
        {FTH_TEXEL_U16, {1, 2}, {129, 127}, 1, 65535},
        {FTH_TEXEL_U16, {65535, 65535}, {100, 156}, 65535, 65535},
        {FTH_TEXEL_S16, {32767, 0}, {256, 0}, 32767, 32767},
        {FTH_TEXEL_S16, {-32768, 0}, {256, 0}, -32767, 32767},
        {FTH_TEXEL_S16, {-32768, 32767}, {128, 128}, 0, 32767},
        {FTH_TEXEL_S16, {-1, -2}, {128, 128}, -1, 32767}, /* half up */
        {FTH_TEXEL_S16, {-1, -2}, {127, 129}, -2, 32767},
        {FTH_TEXEL_S8, {127, 0}, {256, 0}, 32767, 32767},
        {FTH_TEXEL_S8, {64, 0}, {256, 0}, 64 * 256 + 64 * 2 + 1, 32767},
        {FTH_TEXEL_S8, {100, 0}, {256, 0}, 100 * 256 + 100 * 2 + 1, 32767},
        {FTH_TEXEL_S8, {1, 0}, {256, 0}, 256 + 2, 32767},
        {FTH_TEXEL_S8, {0, 0}, {256, 0}, 0, 32767},
        {FTH_TEXEL_S8, {-128, -128}, {128, 128}, -32767, 32767},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        const struct tap taps[MAX_ROW_TAPS] = {{(uint32_t)rows[r].texels[0], rows[r].weights[0]},
                                               {(uint32_t)rows[r].texels[1], rows[r].weights[1]}};
        expect_sum("integers", r, sum_of(rows[r].format, taps, 2),
                   bits_of((double)rows[r].numerator / rows[r].denominator));
    }
}

/* Texels keep four bits more than the format has. The sum is rounded to 24 or 11 digits, ties away
 * from zero. */
static void floats_are_aligned_and_rounded(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_texel format;
        double texels[2];
        uint16_t weights[2];
        double sum;
    } rows[] = {
        {FTH_TEXEL_F32, {1, 3}, {64, 192}, 2.5},
        {FTH_TEXEL_F32, {-1, 3}, {192, 64}, 0},
        {FTH_TEXEL_F32, {-1, -3}, {192, 64}, -1.5},
        {FTH_TEXEL_F32, {1, 0x1p-24}, {128, 128}, 0.5 + 0x1p-24}, /* a tie */
        {FTH_TEXEL_F32, {-1, -0x1p-24}, {128, 128}, -0.5 - 0x1p-24},
        {FTH_TEXEL_F32, {1, 0x1p-25}, {128, 128}, 0.5},
        {FTH_TEXEL_F32, {1, -0x1p-25 - 0x1p-28}, {128, 128}, 0.5}, /* the last bit is cut */
        {FTH_TEXEL_F32, {1, -0x1p-25 - 0x1p-27}, {128, 128}, 0.5 - 0x1p-25},
        {FTH_TEXEL_F32, {0x1p-100, 0x1p120}, {128, 128}, 0x1p119},
        {FTH_TEXEL_F32, {0x1p-60, 0x1p120}, {256, 0}, 0x1p-60}, /* no weight, no alignment */
        {FTH_TEXEL_F32, {0x1p-130, 1}, {128, 128}, 0.5},
        {FTH_TEXEL_F32, {0x1p-130, 0x1p-130}, {128, 128}, 0},
        {FTH_TEXEL_F32, {0x1p-126, 0x1p-126}, {128, 128}, 0x1p-126},
        {FTH_TEXEL_F32, {0x1p-126, 0}, {128, 128}, 0}, /* a denormal */
        {FTH_TEXEL_F16, {1, 3}, {64, 192}, 2.5},
        {FTH_TEXEL_F16, {1, 0x1p-11}, {128, 128}, 0.5 + 0x1p-11},
        {FTH_TEXEL_F16, {1, 0x1p-12}, {128, 128}, 0.5},
        {FTH_TEXEL_F16, {1, -0x1p-12 - 0x1p-15}, {128, 128}, 0.5},
        {FTH_TEXEL_F16, {1, -0x1p-12 - 0x1p-14}, {128, 128}, 0.5 - 0x1p-12},
        /* Multiples of the smallest half, which is not flushed. */
        {FTH_TEXEL_F16, {0x1p-24, 0}, {128, 128}, 0x1p-24},
        {FTH_TEXEL_F16, {0x1p-24, 0}, {127, 129}, 0},
        {FTH_TEXEL_F16, {-0x1p-24, 0}, {128, 128}, -0x1p-24},
        {FTH_TEXEL_F16, {0x1p-24, 0x1p-23}, {129, 127}, 0x1p-24},
        {FTH_TEXEL_F16, {0x1p-20, 0x1p-24}, {128, 128}, 0x9p-24},
        {FTH_TEXEL_F16, {0x1p-14, 0x1p-24}, {128, 128}, 0x1p-15 + 0x1p-24},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        const struct tap taps[MAX_ROW_TAPS] = {{bits_of(rows[r].texels[0]), rows[r].weights[0]},
                                               {bits_of(rows[r].texels[1]), rows[r].weights[1]}};
        expect_sum("floats", r, sum_of(rows[r].format, taps, 2), bits_of(rows[r].sum));
    }
}

/* The image with the smaller exponents is cut two bits below the last bit of the other one, which
 * is 27 bits and the 8 bits of the weight below its largest texel. */
static void images_are_added(void **state)
{
    (void)state;
    static const struct {
        double canceled, other, sum;
    } rows[] = {
        {1, 1, 0.5},
        {1, 0x1p-36, 0x1p-37},
        {1, 0x1p-37, 0},
        {1, -0x1p-36, -0x1p-37},
        {1, -0x1p-37, -0x1p-37}, /* cut downwards */
        {1, -0x1p-100, -0x1p-37},
        {1, 0x1p-100, 0},
        {0x1p-36, 1, 0.5},
        {0x1p-100, 3, 1.5},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        const uint32_t plus = bits_of(rows[r].canceled), minus = bits_of(-rows[r].canceled);
        const uint32_t other = bits_of(rows[r].other);
        const struct tap first[MAX_ROW_TAPS] = {{plus, 64},  {minus, 64}, {plus, 0},   {plus, 0},
                                                {other, 16}, {other, 16}, {other, 32}, {other, 64}};
        const struct tap second[MAX_ROW_TAPS] = {{other, 16}, {other, 16}, {other, 32},
                                                 {other, 64}, {plus, 0},   {plus, 0},
                                                 {plus, 64},  {minus, 64}};
        expect_sum("first image", r, sum_of(FTH_TEXEL_F32, first, 8), bits_of(rows[r].sum));
        expect_sum("second image", r, sum_of(FTH_TEXEL_F32, second, 8), bits_of(rows[r].sum));
    }
}

/* An infinity, a NaN and a negative zero count even where the weight is rounded to 0. */
static void special_numbers_decide_the_sum(void **state)
{
    (void)state;
    static const uint32_t inf = 0x7f800000, negative_inf = 0xff800000, one = 0x3f800000;
    static const uint32_t minus_0 = 0x80000000, nan = 0x7f800001;
    const struct {
        enum fth_ptx_texel format;
        uint32_t texels[3];
        bool used[3];
        uint32_t expected;
    } rows[] = {
        {FTH_TEXEL_F32, {one, one, one}, {true, true, true}, one},
        {FTH_TEXEL_F32, {one, inf, one}, {true, true, true}, inf},
        {FTH_TEXEL_F32, {one, one, inf}, {true, true, true}, inf}, /* the weight is 0 */
        {FTH_TEXEL_F32, {one, one, inf}, {true, true, false}, one},
        {FTH_TEXEL_F32, {negative_inf, one, one}, {true, true, true}, negative_inf},
        {FTH_TEXEL_F32, {negative_inf, inf, one}, {true, true, true}, 0x7fffffff},
        {FTH_TEXEL_F16, {inf, one, negative_inf}, {true, true, true}, 0x7fffe000},
        {FTH_TEXEL_F32, {inf, one, negative_inf}, {true, true, false}, inf},
        {FTH_TEXEL_F32, {nan, one, one}, {true, true, true}, 0x7fffffff},
        {FTH_TEXEL_F16, {nan, inf, one}, {true, true, true}, 0x7fffe000},
        {FTH_TEXEL_F32, {one, one, nan}, {true, true, false}, one},
        {FTH_TEXEL_F32, {minus_0, minus_0, minus_0}, {true, true, true}, minus_0},
        {FTH_TEXEL_F16, {minus_0, minus_0, one}, {true, true, false}, minus_0},
        {FTH_TEXEL_F32, {minus_0, minus_0, 0}, {true, true, true}, 0},
        {FTH_TEXEL_F32, {minus_0, 0, minus_0}, {true, true, true}, 0},
        {FTH_TEXEL_F32,
         {minus_0 | 1, minus_0, minus_0},
         {true, true, true},
         minus_0}, /* denormal */
        {FTH_TEXEL_F32, {1, minus_0, minus_0}, {true, true, true}, 0},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct fth_ptx_taps taps = {.count = 3, .weights = {128, 128, 0}, .corner = -1};
        uint32_t texels[MAX_TAPS] = {0};
        memcpy(taps.used, rows[r].used, sizeof rows[r].used);
        memcpy(texels, rows[r].texels, sizeof rows[r].texels);
        expect_sum("special numbers", r, fth_ptx_filter(rows[r].format, &taps, texels),
                   rows[r].expected);
    }
}

/* ---- CUDA arrays ---- */

/* Offsets that an H200 showed when the memory of an array was also mapped as linear memory
 * (docs/results/textures-h200.md): byte x of row y of image z, relative to the first texel. */
static void texels_of_arrays_are_in_tiles(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_geometry geometry;
        unsigned channels;
        uint64_t width, height, depth;
        uint64_t x, y, z, expected;
    } rows[] = {
        /* in a tile: 16 bytes, then the next row, then two rows below, then to the right */
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 12, 0, 0, 12},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 0, 1, 0, 16},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 0, 2, 0, 32},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 16, 0, 0, 64},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 0, 4, 0, 128},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 32, 0, 0, 256},
        /* blocks of 16 tiles below each other, at most as many as the array has */
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 0, 8, 0, 512},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 64, 0, 0, UINT64_C(16) * 512},
        {FTH_GEOMETRY_2D, 1, 1024, 512, 1, 0, 128, 0, UINT64_C(1024) * 512},
        {FTH_GEOMETRY_2D, 1, 1000, 300, 1, 0, 128, 0, UINT64_C(1008) * 512},
        {FTH_GEOMETRY_2D, 4, 256, 256, 1, 0, 128, 0, UINT64_C(1024) * 512},
        {FTH_GEOMETRY_2D, 2, 512, 64, 1, 64, 0, 0, UINT64_C(8) * 512},
        {FTH_GEOMETRY_2D, 1, 64, 8, 1, 64, 0, 0, 512},
        {FTH_GEOMETRY_2D, 1, 64, 20, 1, 0, 16, 0, UINT64_C(8) * 512},
        {FTH_GEOMETRY_2D, 1, 64, 40, 1, 0, 32, 0, UINT64_C(16) * 512},
        {FTH_GEOMETRY_2D, 1, 64, 70, 1, 0, 64, 0, UINT64_C(32) * 512},
        {FTH_GEOMETRY_2D, 1, 64, 200, 1, 0, 128, 0, UINT64_C(64) * 512},
        /* images behind each other */
        {FTH_GEOMETRY_3D, 1, 64, 32, 16, 0, 0, 1, 512},
        {FTH_GEOMETRY_3D, 1, 64, 32, 16, 64, 0, 0, UINT64_C(16) * 512},
        {FTH_GEOMETRY_3D, 1, 64, 32, 16, 0, 8, 0, UINT64_C(64) * 512},
        {FTH_GEOMETRY_3D, 1, 64, 32, 3, 64, 0, 0, UINT64_C(4) * 512},
        {FTH_GEOMETRY_3D, 1, 256, 128, 32, 0, 0, 16, 2097152},
        /* layers */
        {FTH_GEOMETRY_A2D, 1, 64, 32, 5, 0, 0, 1, 8192},
        {FTH_GEOMETRY_A2D, 1, 100, 30, 5, 0, 0, 4, 57344},
        {FTH_GEOMETRY_A1D, 1, 300, 1, 4, 0, 0, 1, 9728},
        {FTH_GEOMETRY_1D, 1, 4096, 1, 1, 64, 0, 0, 512},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        const struct fth_ptx_image image = {.address = 0x7f0000200000,
                                            .geometry = rows[r].geometry,
                                            .format = FTH_TEXEL_F32,
                                            .channels = rows[r].channels,
                                            .width = rows[r].width,
                                            .height = rows[r].height,
                                            .depth = rows[r].depth,
                                            .pitch_bytes =
                                                UINT64_C(4) * rows[r].channels * rows[r].width};
        const uint64_t first = fth_ptx_texel_address(&image, 0, 0, 0);
        if (fth_ptx_texel_address(&image, rows[r].x, rows[r].y, rows[r].z) - first !=
            rows[r].expected)
            fail_msg("row %zu", r);
    }
}

static void texels_of_linear_memory_are_in_rows(void **state)
{
    (void)state;
    struct fth_ptx_image image = {.address = 4096,
                                  .geometry = FTH_GEOMETRY_2D,
                                  .format = FTH_TEXEL_F32,
                                  .channels = 1,
                                  .width = 10,
                                  .height = 4,
                                  .depth = 1,
                                  .pitch_bytes = 512,
                                  .is_pitched_memory = true};
    assert_int_equal(fth_ptx_texel_address(&image, 8, 3, 0), 4096 + 3 * 512 + 8);
    image.is_pitched_memory = false;
    image.is_linear_memory = true;
    assert_int_equal(fth_ptx_texel_address(&image, 8, 0, 0), 4096 + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_select_a_face),
        cmocka_unit_test(coordinates_stay_in_the_face),
        cmocka_unit_test(edges_lead_to_the_neighbouring_face),
        cmocka_unit_test(integers_are_summed),
        cmocka_unit_test(floats_are_aligned_and_rounded),
        cmocka_unit_test(images_are_added),
        cmocka_unit_test(special_numbers_decide_the_sum),
        cmocka_unit_test(texels_of_arrays_are_in_tiles),
        cmocka_unit_test(texels_of_linear_memory_are_in_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
