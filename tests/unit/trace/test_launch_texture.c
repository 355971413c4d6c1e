/* Tests of textures and surfaces in launch files. Each kernel reads one texel at the position that
 * its thread index stands for and writes it to `to`. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD(name)                                                                                 \
    ".visible .entry " name "(.param .u64 p, .param .u64 q)\n{\n"                                  \
    "    .reg .b64 to, object, at;\n    .reg .b32 x, y, a, b, c, d;\n    .reg .f32 fx, fy, fz;\n"  \
    "    ld.param.u64 to, [p];\n    ld.param.u64 object, [q];\n    mov.u32 x, %tid.x;\n"           \
    "    mov.u32 y, %tid.y;\n    cvt.rn.f32.u32 fx, x;\n    cvt.rn.f32.u32 fy, y;\n"               \
    "    mov.f32 fz, 0f3FC00000;\n"                                                                \
    "    mad.lo.u32 a, y, 4, x;\n    mul.wide.u32 at, a, 16;\n    add.u64 to, to, at;\n"
#define TAIL "    st.global.v4.b32 [to], {a, b, c, d};\n    ret;\n}\n"

static const char module[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    /* clang-format off */
    HEAD("tex_1d") "    tex.1d.v4.f32.f32 {a, b, c, d}, [object, {fx}];\n" TAIL
    HEAD("tex_2d") "    tex.2d.v4.f32.f32 {a, b, c, d}, [object, {fx, fy}];\n" TAIL
    HEAD("tex_2d_u32") "    tex.2d.v4.u32.f32 {a, b, c, d}, [object, {fx, fy}];\n" TAIL
    HEAD("tex_3d") "    tex.3d.v4.f32.f32 {a, b, c, d}, [object, {fx, fy, fy, fy}];\n" TAIL
    HEAD("tex_a1d") "    tex.a1d.v4.f32.f32 {a, b, c, d}, [object, {y, fx}];\n" TAIL
    HEAD("tex_a2d") "    tex.a2d.v4.f32.f32 {a, b, c, d}, [object, {y, fx, fx, fx}];\n" TAIL
    HEAD("tex_cube") "    tex.cube.v4.f32.f32 {a, b, c, d}, [object, {fx, fy, fz, fz}];\n" TAIL
    HEAD("tex_acube") "    tex.acube.v4.f32.f32 {a, b, c, d}, [object, {y, fx, fy, fz}];\n" TAIL
    HEAD("fetch_1d") "    tex.1d.v4.f32.s32 {a, b, c, d}, [object, {x}];\n" TAIL
    HEAD("load_2d") "    shl.b32 x, x, 2;\n    suld.b.2d.b32.zero {a}, [object, {x, y}];\n"
                    "    mov.b32 b, 0;\n    mov.b32 c, 0;\n    mov.b32 d, 0;\n" TAIL
    /* clang-format on */
    ;

/* Reads a launch file with one launch of four threads along x and two along y. */
static enum fth_status read_launch(const char *kernel, const char *buffer, const char *object,
                                   struct fth_launch **launch, struct fth_error *error)
{
    char text[1000];
    write_plain("k.ptx", module, sizeof module - 1);
    const int size = snprintf(
        text, sizeof text,
        "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"sizes\": {\"N\": 4}, "
        "\"buffers\": {\"to\": \"f32[32]\", \"a\": \"%s\"}, \"launches\": [{\"kernel\": \"%s\", "
        "\"grid\": 1, \"block\": [4, 2], \"args\": [\"to\", %s]}]}",
        buffer, kernel, object);
    assert_in_range(size, 1, sizeof text - 1);
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = NULL);
    return fth_launch_read_text("l.json", text, (size_t)size, &options, launch, error);
}

/* The first channel that each of the eight threads reads. */
static const struct {
    const char *kernel, *buffer, *object;
    float values[8];
} fetches[] = {
    {"tex_1d",
     "f32[8]=iota",
     "{\"texture\": \"a+1\", \"sizes\": [\"N-1\"]}",
     {1, 2, 3, 3, 1, 2, 3, 3}},
    {"tex_1d",
     "f32[8]=iota",
     "{\"texture\": \"a\", \"sizes\": [\"N\"], \"channels\": 2, \"filter\": \"linear\", "
     "\"address\": \"border\", \"border\": [10, 0, 0, 0]}",
     {7.5f, 5.5f, 6.5f, 7.5f, 7.5f, 5.5f, 6.5f, 7.5f}},
    {"tex_2d",
     "u8[6]=51*i",
     "{\"texture\": \"a\", \"sizes\": [3, 2], \"read\": \"floats\"}",
     {0, 0.2F, 0.4F, 0.4F, 0.6F, 0.8F, 1, 1}},
    {"tex_2d",
     "f16[64]=i",
     "{\"texture\": \"a\", \"geometry\": \"2d\", \"sizes\": [4, 4], \"normalized\": true, "
     "\"address\": [\"wrap\", \"border\"]}",
     {0, 0, 0, 0, 0, 0, 0, 0}},
    {"tex_3d",
     "f32[8]=iota",
     "{\"texture\": \"a\", \"sizes\": [2, 2, 2]}",
     {0, 1, 1, 1, 6, 7, 7, 7}},
    {"tex_a1d",
     "u32[6]=1065353216+8388608*i", /* the bits of 2 to the power of i */
     "{\"texture\": \"a\", \"type\": \"f32\", \"geometry\": \"a1d\", \"sizes\": [3, 2]}",
     {1, 2, 4, 4, 8, 16, 32, 32}},
    {"tex_a2d",
     "f32[8]=iota",
     "{\"texture\": \"a\", \"geometry\": \"a2d\", \"sizes\": [2, 2, 2]}",
     {0, 3, 3, 3, 4, 7, 7, 7}},
    {"tex_cube",
     "f32[24]=iota",
     "{\"texture\": \"a\", \"geometry\": \"cube\", \"sizes\": [2], \"normalized\": true}",
     {19, 19, 2, 2, 17, 17, 0, 0}},
    {"tex_acube",
     "f32[48]=iota",
     "{\"texture\": \"a\", \"geometry\": \"acube\", \"sizes\": [2, 2], \"normalized\": true}",
     {19, 19, 2, 2, 41, 41, 24, 24}},
    {"tex_cube",
     "f32[24]=iota",
     "{\"texture\": \"a\", \"geometry\": \"cube\", \"sizes\": [2], \"normalized\": true, "
     "\"filter\": \"linear\", \"seamless\": true}",
     {17.5f, 15.1445312f, 5.25f, 1, 15.4921875f, 13.5859375f, 4.25f, 0.3359375f}},
    {"fetch_1d",
     "f32[8]=iota",
     "{\"texture\": \"a\", \"sizes\": [3], \"linear_memory\": true}",
     {0, 1, 2, 0, 0, 1, 2, 0}},
    {"load_2d",
     "f32[8]=iota",
     "{\"surface\": \"a+1\", \"sizes\": [3, 2]}",
     {1, 2, 3, 0, 4, 5, 6, 0}},
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void kernels_read_textures(void **state)
{
    (void)state;
    static const char *const devices[] = {NULL, "sim:h200"};
    for (size_t i = 0; i < 2 * FTH_COUNT(fetches); i++) {
        const size_t c = i / 2;
        struct fth_launch *launch = NULL;
        struct fth_launch_view view;
        struct fth_error error = NO_ERROR;
        float *values = NULL;
        char text[sizeof error];
        const struct fth_run_options options = FTH_RUN_OPTIONS(.device = devices[i % 2]);
        if (read_launch(fetches[c].kernel, fetches[c].buffer, fetches[c].object, &launch, &error) !=
                FTH_OK ||
            fth_launch_run(launch, &options, NULL, &error) != FTH_OK ||
            fth_launch_values(launch, "to", &view, (void **)&values, &error) != FTH_OK)
            fail_msg("%s: %s", fetches[c].kernel, fth_error_text(&error, text, sizeof text));
        for (size_t t = 0; t < 8; t++)
            if (bits_of(values[4 * t]) != bits_of(fetches[c].values[t]))
                fail_msg("case %zu, thread %zu: %.9g instead of %.9g", c, t, (double)values[4 * t],
                         (double)fetches[c].values[t]);
        free(values);
        fth_launch_destroy(launch);
    }
}

static void wrong_textures_are_refused(void **state)
{
    (void)state;
#define TEXTURE(rest) "{\"texture\": \"a\", " rest "}"
    static const struct {
        const char *object, *message;
    } cases[] = {
        {"{\"texture\": 1}", "\"texture\" must name a buffer"},
        {"{\"surface\": \"i32:1\"}", "\"surface\" must name a buffer, not 'i32:1'"},
        {TEXTURE("\"size\": [4]"), "unknown key 'size'; did you mean 'sizes'?"},
        {"{\"surface\": \"a\", \"sizes\": [4], \"filter\": \"linear\"}", "unknown key 'filter'"},
        {TEXTURE("\"channels\": 1"), "\"sizes\" must be an array of one to three numbers"},
        {TEXTURE("\"sizes\": []"), "\"sizes\" must be an array of one to three numbers"},
        {TEXTURE("\"sizes\": [1, 1, 1, 1]"), "\"sizes\" must be an array of one to three numbers"},
        {TEXTURE("\"sizes\": [4], \"geometry\": \"2d\""), "\"sizes\" must be an array"},
        {TEXTURE("\"sizes\": [4], \"geometry\": \"4d\""),
         "\"geometry\" must be 1d, 2d, 3d, a1d, a2d, cube or acube"},
        {TEXTURE("\"sizes\": [0]"), "0 is not an integer from 1 to 268435456"},
        {TEXTURE("\"sizes\": [1.5]"), "1.5 is not an integer"},
        {TEXTURE("\"sizes\": [65]"), "the texels take 260 bytes, but the buffer has only 256"},
        {"{\"texture\": \"a+1\", \"sizes\": [64]}",
         "the texels take 256 bytes, but the buffer has only 252"},
        {"{\"surface\": \"a+64\", \"sizes\": [1]}", "but the buffer has only 0"},
        {TEXTURE("\"sizes\": [268435456, 268435456, 268435456]"), "do not fit the geometry"},
        {TEXTURE("\"sizes\": [4], \"channels\": 3"), "1, 2 or 4 channels"},
        {TEXTURE("\"sizes\": [4], \"type\": \"f64\""),
         "\"type\" must be u32, s32, f32, u8, s8, u16, s16 or f16"},
        {TEXTURE("\"sizes\": [4], \"address\": \"repeat\""),
         "\"address\" must be wrap, clamp, mirror or border"},
        {TEXTURE("\"sizes\": [4], \"address\": [\"wrap\", \"wrap\", \"wrap\", \"wrap\"]"),
         "\"address\" has more than three modes"},
        {TEXTURE("\"sizes\": [4], \"filter\": true"), "\"filter\" must be nearest or linear"},
        {TEXTURE("\"sizes\": [4], \"read\": \"float\""), "\"read\" must be elements or floats"},
        {TEXTURE("\"sizes\": [4], \"read\": \"floats\""), "only integers of 8 and 16 bits"},
        {TEXTURE("\"sizes\": [4], \"normalized\": 1"), "\"normalized\" must be true or false"},
        {TEXTURE("\"sizes\": [4], \"border\": [1, 2]"), "\"border\" must be an array of four"},
        {TEXTURE("\"sizes\": [4], \"type\": \"u32\", \"filter\": \"linear\""),
         "can only be interpolated"},
        {TEXTURE("\"sizes\": [2, 2], \"linear_memory\": true"), "do not fit the geometry"},
        {TEXTURE("\"sizes\": [4], \"linear_memory\": true, \"filter\": \"linear\""),
         "a texture in linear memory has no filter"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(read_launch("tex_1d", "f32[64]", cases[i].object, &launch, &error),
                         FTH_INVALID);
        assert_null(launch);
        assert_contains(error.cause, cases[i].message);
    }
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(read_launch("tex_1d", "f64[64]", TEXTURE("\"sizes\": [4]"), &launch, &error),
                     FTH_INVALID);
    assert_contains(error.cause, "textures have no type f64");
    error = NO_ERROR;
    assert_int_equal(read_launch("tex_1d", "u8[64]",
                                 "{\"texture\": \"a+2\", \"sizes\": [4], \"type\": \"f32\"}",
                                 &launch, &error),
                     FTH_INVALID);
    assert_contains(error.cause, "the first texel is not aligned to the size of a channel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_read_textures),
        cmocka_unit_test(wrong_textures_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
