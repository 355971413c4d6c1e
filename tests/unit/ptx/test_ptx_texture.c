/* Tests of ptx/: textures and surfaces. The expected values follow from the formulas of the CUDA
 * C++ Programming Guide, "Texture Fetching". */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* The arguments of all kernels here: a texture or surface, a buffer, and coordinates. */
struct arguments {
    uint64_t handle, out;
    float x, y, z;
    int32_t i, j, k;
};

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t texels; /* address of 4 KiB */
    struct arguments arguments;
};

/* Loads a kernel with one instruction, which uses the registers t (the handle), x, y, z (floats),
 * i, j, k (integers), and stores its results in a, b, c, d and p. `head` precedes the kernel. */
static void job_init(struct job *job, const char *head, const char *instruction)
{
    char text[2048];
    struct fth_error error = NO_ERROR;
    snprintf(text, sizeof text,
             HEAD "%s\n.visible .entry k(.param .u64 handle, .param .u64 out, .param .f32 px,"
                  " .param .f32 py, .param .f32 pz, .param .u32 pi, .param .u32 pj, .param .u32 pk)"
                  "{\n.reg .b64 t, o, l; .reg .b32 a, b, c, d, x, y, z, i, j, k; .reg .b16 h<4>;\n"
                  ".reg .pred p;\nld.param.u64 t, [handle]; ld.param.u64 o, [out];\n"
                  "ld.param.f32 x, [px]; ld.param.f32 y, [py]; ld.param.f32 z, [pz];\n"
                  "ld.param.u32 i, [pi]; ld.param.u32 j, [pj]; ld.param.u32 k, [pk];\n"
                  "%s\nst.global.v4.u32 [o], {a, b, c, d}; selp.u32 a, 1, 0, p;\n"
                  "st.global.u32 [o+16], a; ret; }\n",
             head, instruction);
    *job = (struct job){0};
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, 32, &job->arguments.out, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(job->machine, 4096, &job->texels, NULL), FTH_OK);
}

static void job_fini(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

static enum fth_status job_run(struct job *job, struct fth_error *error)
{
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .arguments = &job->arguments,
                                          .argument_bytes = sizeof job->arguments,
                                          .max_instructions = 1000};
    return fth_ptx_run(job->machine, &launch, NULL, error);
}

/* Runs the kernel and returns the results a, b, c, d and p. */
static const uint32_t *results_of(struct job *job)
{
    struct fth_error error = NO_ERROR;
    if (job_run(job, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    return fth_ptx_host(job->machine, job->arguments.out, 32);
}

static float as_float(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void expect_float(struct job *job, float expected)
{
    const float found = as_float(results_of(job)[0]);
    if (found != expected)
        fail_msg("at (%g, %g, %g), layer %d: %.9g, expected %.9g", (double)job->arguments.x,
                 (double)job->arguments.y, (double)job->arguments.z, job->arguments.i,
                 (double)found, (double)expected);
}

/* Creates a texture of floats: texel number n has the value n * n. */
static void create_floats(struct job *job, enum fth_ptx_geometry geometry, uint64_t width,
                          uint64_t height, uint64_t depth, const struct fth_ptx_sampling *sampling)
{
    struct fth_error error = NO_ERROR;
    float *texels = fth_ptx_host(job->machine, job->texels, 4096);
    for (int n = 0; n < 1024; n++)
        texels[n] = (float)(n * n);
    const struct fth_ptx_image image = {.address = job->texels,
                                        .geometry = geometry,
                                        .format = FTH_TEXEL_F32,
                                        .channels = 1,
                                        .width = width,
                                        .height = height,
                                        .depth = depth};
    if (fth_ptx_texture_create(job->machine, &image, sampling, &job->arguments.handle, &error) !=
        FTH_OK)
        fail_msg("%s", error.cause);
}

/* ---- one dimension ---- */

static void address_modes_select_texels(void **state)
{
    (void)state;
    /* By address mode, for a texture of 4 texels: the texel of each coordinate, -1: the border. */
    static const float at[] = {-1.125f, -0.25f, 0, 0.24f, 0.25f, 0.99f, 1, 1.3f, 2.6f};
    static const int expected[4][9] = {
        [FTH_ADDRESS_WRAP] = {3, 3, 0, 0, 1, 3, 0, 1, 2},
        [FTH_ADDRESS_CLAMP] = {0, 0, 0, 0, 1, 3, 3, 3, 3},
        [FTH_ADDRESS_MIRROR] = {3, 0, 0, 0, 1, 3, 3, 2, 2},
        [FTH_ADDRESS_BORDER] = {-1, -1, 0, 0, 1, 3, -1, -1, -1},
    };
    for (int mode = 0; mode < 4; mode++)
        for (size_t c = 0; c < FTH_COUNT(at); c++) {
            struct job job;
            job_init(&job, "", "tex.1d.v4.f32.f32 {a, b, c, d}, [t, {x}];");
            create_floats(
                &job, FTH_GEOMETRY_1D, 4, 0, 0,
                &(struct fth_ptx_sampling){.address_modes = {(enum fth_ptx_address_mode)mode},
                                           .is_normalized = true,
                                           .border = {-5}});
            job.arguments.x = at[c];
            const int texel = expected[mode][c];
            expect_float(&job, texel < 0 ? -5 : (float)(texel * texel));
            /* The other channels, which the texture does not have, are 0, 0 and 1. */
            const uint32_t *results = results_of(&job);
            assert_int_equal(results[1], 0);
            assert_int_equal(results[2], 0);
            assert_true(as_float(results[3]) == 1);
            job_fini(&job);
        }
}

/* Without normalisation, WRAP and MIRROR count as CLAMP. */
static void coordinates_count_texels(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "", "tex.1d.v4.f32.f32 {a, b, c, d}, [t, x];");
    create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0,
                  &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_WRAP}});
    static const float at[] = {-1e30f, -1, 0.9f, 1, 3.5f, 4, 1e30f};
    static const float expected[] = {0, 0, 0, 1, 9, 9, 9};
    for (size_t c = 0; c < FTH_COUNT(at); c++) {
        job.arguments.x = at[c];
        expect_float(&job, expected[c]);
    }
    const uint32_t nan = 0x7fc00000;
    memcpy(&job.arguments.x, &nan, sizeof nan);
    (void)results_of(&job);
    job_fini(&job);
}

/* The weights have 8 bits. */
static void linear_filtering_interpolates(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "", "tex.1d.v4.f32.f32 {a, b, c, d}, [t, {x}];");
    create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0,
                  &(struct fth_ptx_sampling){
                      .address_modes = {FTH_ADDRESS_BORDER}, .is_linear = true, .border = {16}});
    static const struct {
        float at, value;
    } rows[] = {
        {0.5f, 0},
        {1, 0.5f},
        {1.5f, 1},
        {2, 2.5f},
        {2.75f, 4 + 5 * 0.25f},
        {0, 8},
        {4, 12.5f},
        {5, 16},
        {1.5f + 1.0f / 256, 1 + 3.0f / 256}, /* the smallest weight */
        {1.5f + 0.4f / 256, 1},              /* rounded down */
        {1.5f + 0.6f / 256, 1 + 3.0f / 256}, /* rounded up */
    };
    for (size_t c = 0; c < FTH_COUNT(rows); c++) {
        job.arguments.x = rows[c].at;
        expect_float(&job, rows[c].value);
    }
    job_fini(&job);
}

static void integer_coordinates_are_not_filtered(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "", "tex.1d.v4.f32.s32 {a, b, c, d}|p, [t, {i}];");
    create_floats(
        &job, FTH_GEOMETRY_1D, 4, 0, 0,
        &(struct fth_ptx_sampling){.is_linear = true, .is_normalized = true, .border = {16}});
    for (int i = -2; i < 7; i++) {
        job.arguments.i = i;
        expect_float(&job, i >= 0 && i < 4 ? (float)(i * i) : 0);
        assert_int_equal(results_of(&job)[4], 1); /* resident */
    }
    job_fini(&job);
}

/* ---- more dimensions ---- */

static void dimensions_and_layers_select_images(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_geometry geometry;
        uint64_t width, height, depth;
        const char *instruction;
        int texel; /* of x = 1, y = 2, z = 3, i = 2 */
    } rows[] = {
        {FTH_GEOMETRY_2D, 4, 3, 1, "tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}];", 2 * 4 + 1},
        {FTH_GEOMETRY_3D, 4, 3, 5, "tex.3d.v4.f32.f32 {a, b, c, d}, [t, {x, y, z, z}];",
         (3 * 3 + 2) * 4 + 1},
        {FTH_GEOMETRY_A1D, 4, 1, 3, "tex.a1d.v4.f32.f32 {a, b, c, d}, [t, {i, x}];", 2 * 4 + 1},
        {FTH_GEOMETRY_A1D, 4, 1, 2, "tex.a1d.v4.f32.f32 {a, b, c, d}, [t, {i, x}];", 4 + 1},
        {FTH_GEOMETRY_A2D, 4, 3, 3, "tex.a2d.v4.f32.f32 {a, b, c, d}, [t, {i, x, y, y}];",
         (2 * 3 + 2) * 4 + 1},
        {FTH_GEOMETRY_2D, 4, 3, 1, "tex.level.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}], z;",
         2 * 4 + 1},
        {FTH_GEOMETRY_2D, 4, 3, 1,
         "tex.grad.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}], {x, y}, {y, x};", 2 * 4 + 1},
        {FTH_GEOMETRY_2D, 4, 3, 1, "tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}], {1, -1};", 4 + 2},
        {FTH_GEOMETRY_2D, 4, 3, 1, "tex.2d.v4.f32.s32 {a, b, c, d}, [t, {i, 1}];", 4 + 2},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        job_init(&job, "", rows[r].instruction);
        create_floats(&job, rows[r].geometry, rows[r].width, rows[r].height, rows[r].depth,
                      &(struct fth_ptx_sampling){.is_linear = false});
        job.arguments.x = 1;
        job.arguments.y = 2;
        job.arguments.z = 3;
        job.arguments.i = 2;
        expect_float(&job, (float)(rows[r].texel * rows[r].texel));
        job_fini(&job);
    }
}

static void linear_filtering_in_three_dimensions(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "", "tex.3d.v4.f32.f32 {a, b, c, d}, [t, {x, y, z, z}];");
    create_floats(&job, FTH_GEOMETRY_3D, 2, 2, 2, &(struct fth_ptx_sampling){.is_linear = true});
    job.arguments.x = job.arguments.y = job.arguments.z = 1; /* the center: all texels */
    expect_float(&job, (0 + 1 + 4 + 9 + 16 + 25 + 36 + 49) / 8.0f);
    job.arguments.y = 0.5f;
    job.arguments.z = 1.25f;
    expect_float(&job, (0 + 1) / 8.0f + (16 + 25) * 0.375f);
    job_fini(&job);
}

/* The direction selects the face, and coordinates in it (Programming Guide, "Cubemap Textures"). */
static void cubes_select_a_face(void **state)
{
    (void)state;
    static const struct {
        float x, y, z;
        int face, column, row;
    } rows[] = {
        {1, 0.5f, 0.5f, 0, 0, 0},   {-1, 0.5f, 0.5f, 1, 1, 0}, {0.5f, 1, -0.5f, 2, 1, 0},
        {0.5f, -1, -0.5f, 3, 1, 1}, {0.5f, 0.5f, 1, 4, 1, 0},  {0.5f, 0.5f, -1, 5, 0, 0},
        {4, -2, -2, 0, 1, 1},
    };
    for (int layered = 0; layered < 2; layered++)
        for (size_t r = 0; r < FTH_COUNT(rows); r++) {
            struct job job;
            job_init(&job, "",
                     layered ? "tex.acube.v4.f32.f32 {a, b, c, d}, [t, {i, x, y, z}];"
                             : "tex.cube.v4.f32.f32 {a, b, c, d}, [t, {x, y, z, z}];");
            create_floats(&job, layered ? FTH_GEOMETRY_ACUBE : FTH_GEOMETRY_CUBE, 2, 2,
                          layered ? 12 : 6, &(struct fth_ptx_sampling){.is_linear = false});
            job.arguments.x = rows[r].x;
            job.arguments.y = rows[r].y;
            job.arguments.z = rows[r].z;
            job.arguments.i = 1;
            const int layer = 6 * layered + rows[r].face;
            const int texel = (layer * 2 + rows[r].row) * 2 + rows[r].column;
            expect_float(&job, (float)(texel * texel));
            job_fini(&job);
        }
}

/* tld4 returns the texels of an interpolation: bottom left, bottom right, top right, top left. */
static void gathers_return_four_texels(void **state)
{
    (void)state;
    struct job job;
    job_init(&job, "", "tld4.r.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}];");
    create_floats(
        &job, FTH_GEOMETRY_2D, 4, 3, 1,
        &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_CLAMP, FTH_ADDRESS_CLAMP}});
    job.arguments.x = 2;
    job.arguments.y = 1;
    const uint32_t *results = results_of(&job);
    static const int texels[] = {5, 6, 2, 1};
    for (int c = 0; c < 4; c++)
        assert_true(as_float(results[c]) == (float)(texels[c] * texels[c]));
    job_fini(&job);
}

/* ---- formats ---- */

static void formats_are_converted(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_texel format;
        bool floats;
        const char *type;
        uint8_t bytes[8];
        uint32_t expected[4]; /* of texel 1 of two */
    } rows[] = {
        {FTH_TEXEL_U8, false, "u32", {1, 2, 3, 200}, {3, 200, 0, 1}},
        {FTH_TEXEL_S8, false, "s32", {1, 2, 3, 0xff}, {3, 0xffffffff, 0, 1}},
        {FTH_TEXEL_U8, true, "f32", {1, 2, 255, 51}, {0x3f800000, 0x3e4ccccd, 0, 0x3f800000}},
        {FTH_TEXEL_S8, true, "f32", {1, 2, 0x80, 127}, {0xbf800000, 0x3f800000, 0, 0x3f800000}},
        {FTH_TEXEL_U16, false, "u32", {0, 0, 0, 0, 0x34, 0x12, 0xff, 0xff}, {0x1234, 0xffff, 0, 1}},
        {FTH_TEXEL_S16,
         false,
         "s32",
         {0, 0, 0, 0, 0x34, 0x12, 0xff, 0xff},
         {0x1234, 0xffffffff, 0, 1}},
        {FTH_TEXEL_S16,
         true,
         "f32",
         {0, 0, 0, 0, 0xff, 0x7f, 0x01, 0x80},
         {0x3f800000, 0xbf800000, 0, 0x3f800000}},
        {FTH_TEXEL_F16,
         false,
         "f32",
         {0, 0, 0, 0, 0x00, 0x3c, 0x00, 0xc0},
         {0x3f800000, 0xc0000000, 0, 0x3f800000}},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        char instruction[80];
        snprintf(instruction, sizeof instruction, "tex.1d.v4.%s.f32 {a, b, c, d}, [t, {x}];",
                 rows[r].type);
        job_init(&job, "", instruction);
        memcpy(fth_ptx_host(job.machine, job.texels, 8), rows[r].bytes, 8);
        const struct fth_ptx_image image = {
            .address = job.texels, .format = rows[r].format, .channels = 2, .width = 2};
        assert_int_equal(
            fth_ptx_texture_create(job.machine, &image,
                                   &(struct fth_ptx_sampling){.reads_as_floats = rows[r].floats},
                                   &job.arguments.handle, NULL),
            FTH_OK);
        job.arguments.x = 1;
        const uint32_t *results = results_of(&job);
        for (int c = 0; c < 4; c++)
            if (results[c] != rows[r].expected[c])
                fail_msg("row %zu, channel %d: 0x%08x, expected 0x%08x", r, c, results[c],
                         rows[r].expected[c]);
        job_fini(&job);
    }
}

static void halves_are_packed(void **state)
{
    (void)state;
    struct job job;
    job_init(
        &job, "",
        "tex.1d.v2.f16x2.f32 {a, b}, [t, {x}];\ntex.1d.v4.f16.f32 {h0, h1, h2, h3}, [t, {x}];\n"
        "cvt.u32.u16 c, h0; cvt.u32.u16 d, h3;");
    create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0, &(struct fth_ptx_sampling){.is_linear = false});
    job.arguments.x = 2;
    const uint32_t *results = results_of(&job);
    assert_int_equal(results[0], 0x4400);     /* 4, 0 */
    assert_int_equal(results[1], 0x3c000000); /* 0, 1 */
    assert_int_equal(results[2], 0x4400);
    assert_int_equal(results[3], 0x3c00);
    job_fini(&job);
}

/* ---- references ---- */

static void references_are_bound_by_name(void **state)
{
    (void)state;
    struct job job;
    struct fth_error error = NO_ERROR;
    job_init(&job, ".global .texref image;\n.global .samplerref filter;",
             "tex.1d.v4.f32.f32 {a, b, c, d}, [image, {x}];\n"
             "mov.u64 l, image; tex.1d.v4.f32.f32 {b, i, i, i}, [l, {x}];\n"
             "tex.1d.v4.f32.f32 {c, i, i, i}, [image, filter, {x}];\n"
             "txq.width.b32 d, [image];");
    create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0, &(struct fth_ptx_sampling){.is_linear = false});
    const uint64_t image = job.arguments.handle;
    create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0, &(struct fth_ptx_sampling){.is_linear = true});
    assert_int_equal(job_run(&job, &error), FTH_INVALID);
    assert_contains(error.cause, "is not bound to a texture");
    assert_int_equal(fth_ptx_bind(job.machine, "image", image, NULL), FTH_OK);
    assert_int_equal(fth_ptx_bind(job.machine, "filter", job.arguments.handle, NULL), FTH_OK);
    assert_int_equal(fth_ptx_bind(job.machine, "nothing", image, NULL), FTH_NOT_FOUND);
    job.arguments.x = 2;
    const uint32_t *results = results_of(&job);
    assert_true(as_float(results[0]) == 4);
    assert_true(as_float(results[1]) == 4);
    assert_true(as_float(results[2]) == 2.5f); /* the filter of the sampler */
    assert_int_equal(results[3], 4);
    job_fini(&job);
}

static void queries_describe_textures(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        uint32_t answer;
    } rows[] = {{"txq.width.b32", 4},
                {"txq.height.b32", 3},
                {"txq.depth.b32", 1},
                {"txq.array_size.b32", 2},
                {"txq.channel_data_type.b32", 0x10de},
                {"txq.channel_order.b32", 0x10b0},
                {"txq.normalized_coords.b32", 1},
                {"txq.filter_mode.b32", 1},
                {"txq.addr_mode_0.b32", 3},
                {"txq.addr_mode_1.b32", 4},
                {"txq.num_mipmap_levels.b32", 1}};
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        char instruction[80];
        snprintf(instruction, sizeof instruction, "%s a, [t];", rows[r].query);
        job_init(&job, "", instruction);
        create_floats(
            &job, FTH_GEOMETRY_A2D, 4, 3, 2,
            &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_CLAMP, FTH_ADDRESS_BORDER},
                                       .is_linear = true,
                                       .is_normalized = true});
        assert_int_equal(results_of(&job)[0], rows[r].answer);
        job_fini(&job);
    }
}

static void handles_have_types(void **state)
{
    (void)state;
    static const struct {
        const char *instruction;
        bool expected; /* of texture 1 */
    } rows[] = {{"istypep.texref p, t;", true},   {"istypep.samplerref p, t;", true},
                {"istypep.surfref p, t;", false}, {"istypep.texref p, 0;", false},
                {"istypep.texref p, 7;", false},  {"istypep.texref p, o;", true},
                {"istypep.surfref p, o;", false}, {"mov.u64 l, -1; istypep.texref p, l;", false}};
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        job_init(&job, "", rows[r].instruction);
        create_floats(&job, FTH_GEOMETRY_1D, 4, 0, 0,
                      &(struct fth_ptx_sampling){.is_linear = false});
        /* The address of a handle stands for the handle. */
        memcpy(fth_ptx_host(job.machine, job.arguments.out, 8), &job.arguments.handle, 8);
        if (results_of(&job)[4] != rows[r].expected)
            fail_msg("%s", rows[r].instruction);
        job_fini(&job);
    }
}

/* ---- surfaces ---- */

/* Creates a surface of 4 x 3 words, with 2 images or layers: word n has the value n. */
static uint32_t *create_surface(struct job *job, enum fth_ptx_geometry geometry)
{
    uint32_t *words = fth_ptx_host(job->machine, job->texels, 4096);
    for (uint32_t n = 0; n < 1024; n++)
        words[n] = n;
    const bool flat = geometry == FTH_GEOMETRY_1D || geometry == FTH_GEOMETRY_A1D;
    const bool single = geometry == FTH_GEOMETRY_1D || geometry == FTH_GEOMETRY_2D;
    const struct fth_ptx_image image = {.address = job->texels,
                                        .geometry = geometry,
                                        .format = FTH_TEXEL_U32,
                                        .channels = 1,
                                        .width = 4,
                                        .height = flat ? 1 : 3,
                                        .depth = single ? 1 : 2};
    assert_int_equal(fth_ptx_surface_create(job->machine, &image, &job->arguments.handle, NULL),
                     FTH_OK);
    return words;
}

static void surfaces_are_loaded(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_geometry geometry;
        const char *instruction; /* with i = 8, j = 1, k = -4 */
        uint32_t expected;
    } rows[] = {
        {FTH_GEOMETRY_1D, "suld.b.1d.b32.trap {a}, [t, {i}];", 2},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.trap a, [t, {i, j}];", 6},
        {FTH_GEOMETRY_2D, "suld.b.2d.v2.b32.trap {a, b}, [t, {i, j}];", 6},
        {FTH_GEOMETRY_2D, "suld.b.2d.v2.b32.trap {b, a}, [t, {i, j}];", 7},
        {FTH_GEOMETRY_2D, "suld.b.2d.v2.b16.trap {h0, h1}, [t, {i, j}]; cvt.u32.u16 a, h0;", 6},
        {FTH_GEOMETRY_2D, "suld.b.2d.b64.trap l, [t, {i, j}]; shr.u64 l, l, 32; cvt.u32.u64 a, l;",
         7},
        {FTH_GEOMETRY_3D, "suld.b.3d.b32.trap a, [t, {i, j, j, j}];", 12 + 6},
        {FTH_GEOMETRY_A1D, "suld.b.a1d.b32.trap a, [t, {j, i}];", 4 + 2},
        {FTH_GEOMETRY_A2D, "suld.b.a2d.b32.trap a, [t, {j, i, j, j}];", 12 + 6},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.zero a, [t, {k, j}];", 0},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.zero a, [t, {16, j}];", 0},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.zero a, [t, {i, 3}];", 0},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.clamp a, [t, {k, 7}];", 8},
        {FTH_GEOMETRY_2D, "suld.b.2d.b32.clamp a, [t, {400, k}];", 3},
        {FTH_GEOMETRY_2D, "suq.width.b32 a, [t];", 4},
        {FTH_GEOMETRY_3D, "suq.depth.b32 a, [t];", 2},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        job_init(&job, "", rows[r].instruction);
        create_surface(&job, rows[r].geometry);
        job.arguments.i = 8;
        job.arguments.j = 1;
        job.arguments.k = -4;
        const uint32_t found = results_of(&job)[0];
        if (found != rows[r].expected)
            fail_msg("%s: %u, expected %u", rows[r].instruction, found, rows[r].expected);
        job_fini(&job);
    }
}

static void surfaces_are_stored(void **state)
{
    (void)state;
    static const struct {
        const char *instruction;
        uint32_t index, expected; /* the word that changes; UINT32_MAX: none */
    } rows[] = {
        {"sust.b.2d.b32.trap [t, {i, j}], {100};", 6, 100},
        {"sust.b.2d.b32.clamp [t, {k, 99}], 100;", 8, 100},
        {"sust.b.2d.b32.zero [t, {k, j}], 100;", UINT32_MAX, 0},
        {"sust.b.2d.b8.trap [t, {9, j}], {h0};", 6, 6 | 0x3400},
        {"sured.b.add.2d.u32.trap [t, {i, j}], 10;", 6, 16},
        {"sured.b.min.2d.s32.trap [t, {i, j}], -1;", 6, 0xffffffff},
        {"sured.b.max.2d.u32.zero [t, {k, j}], 99;", UINT32_MAX, 0},
        {"sured.b.or.2d.b32.clamp [t, {i, j}], 9;", 6, 15},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        char text[160];
        snprintf(text, sizeof text, "mov.u16 h0, 0x1234; %s", rows[r].instruction);
        job_init(&job, "", text);
        const uint32_t *words = create_surface(&job, FTH_GEOMETRY_2D);
        job.arguments.i = 8;
        job.arguments.j = 1;
        job.arguments.k = -4;
        (void)results_of(&job);
        for (uint32_t n = 0; n < 24; n++)
            if (words[n] != (n == rows[r].index ? rows[r].expected : n))
                fail_msg("%s: word %u is %u", rows[r].instruction, n, words[n]);
        job_fini(&job);
    }
}

/* Appends the lanes of an atomic access. */
static bool add_lanes(void *user, const struct fth_ptx_access *access)
{
    uint32_t *lanes = user;
    if (access->kind == FTH_ACCESS_ATOMIC)
        *lanes = *lanes << 8 | access->mask;
    return true;
}

static void lanes_outside_of_a_surface_access_nothing(void **state)
{
    (void)state;
    struct job job;
    /* The rows have 16 bytes. */
    job_init(&job, "",
             "mov.u32 a, %tid.x; shl.b32 a, a, 3; sured.b.add.2d.u32.zero [t, {a, 0}], 1;"
             "add.u32 a, a, 16; sured.b.add.2d.u32.zero [t, {a, 0}], 1;");
    create_surface(&job, FTH_GEOMETRY_2D);
    uint32_t lanes = 0;
    const struct fth_ptx_observer observer = {.user = &lanes, .access = add_lanes};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {4},
                                          .arguments = &job.arguments,
                                          .argument_bytes = sizeof job.arguments,
                                          .observer = &observer};
    assert_int_equal(fth_ptx_run(job.machine, &launch, NULL, NULL), FTH_OK);
    assert_int_equal(lanes, 0x3);
    job_fini(&job);
}

/* ---- faults ---- */

static void faults_of_textures_and_surfaces(void **state)
{
    (void)state;
    static const struct {
        const char *instruction, *cause;
        bool is_surface;
    } rows[] = {
        {"tex.1d.v4.f32.f32 {a, b, c, d}, [77, {x}];", "0x4d is not a texture", false},
        {"suld.b.2d.b32.trap a, [t, {i, j}];", "0x1 is not a surface", false},
        {"tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}];", "0x1 is not a texture", true},
        {"tex.3d.v4.f32.f32 {a, b, c, d}, [t, {x, y, z, z}];",
         "the texture has not the geometry of the instruction", false},
        {"suld.b.1d.b32.trap a, [t, {i}];", "the surface has not the geometry", true},
        {"suld.b.2d.b32.trap a, [t, {16, j}];",
         "byte 16 of row 0 of image 0 is outside of the surface", true},
        {"sust.b.2d.b32.trap [t, {i, -1}], 5;",
         "byte 0 of row -1 of image 0 is outside of the surface", true},
        {"suld.b.2d.b32.trap a, [t, {2, j}];", "access of 4 bytes at byte 2 of a row of 16", true},
        /* refused when the kernel is launched */
        {"suld.p.2d.v4.b32.trap {a, b, c, d}, [t, {i, j}];", "'.p' of 'suld.p", true},
        {"tex.2dms.v4.f32.s32 {a, b, c, d}, [t, {i, i, j, j}];", "'.2dms' of", false},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct job job;
        struct fth_error error = NO_ERROR;
        job_init(&job, "", rows[r].instruction);
        if (rows[r].is_surface)
            create_surface(&job, FTH_GEOMETRY_2D);
        else
            create_floats(&job, FTH_GEOMETRY_2D, 4, 3, 1,
                          &(struct fth_ptx_sampling){.is_linear = false});
        assert_int_equal(job_run(&job, &error), FTH_INVALID);
        assert_contains(error.cause, rows[r].cause);
        job_fini(&job);
    }
}

static void invalid_textures_are_refused(void **state)
{
    (void)state;
    const struct fth_ptx_sampling nearest = {.is_linear = false}, linear = {.is_linear = true},
                                  floats = {.reads_as_floats = true};
    struct job job;
    uint64_t handle;
    job_init(&job, "", "");
    const uint64_t at = job.texels;
    const struct {
        struct fth_ptx_image image;
        const struct fth_ptx_sampling *sampling;
        const char *cause;
    } rows[] = {
        {{.address = at, .channels = 3, .width = 4}, &nearest, "1, 2 or 4 channels"},
        {{.address = at, .channels = 1}, &nearest, "allocated memory for all texels"},
        {{.address = at, .channels = 1, .width = 1025},
         &nearest,
         "allocated memory for all texels"},
        {{.address = at, .channels = 1, .width = UINT64_MAX}, &nearest, "allocated memory"},
        {{.address = at, .channels = 1, .width = 4, .pitch_bytes = 12},
         &nearest,
         "allocated memory"},
        {{.address = at, .channels = 1, .width = 4, .height = 2}, &nearest, "do not fit"},
        {{.address = at, .geometry = FTH_GEOMETRY_CUBE, .channels = 1, .width = 4, .height = 4},
         &nearest,
         "do not fit"},
        {{.address = at + 2, .channels = 1, .width = 4}, &nearest, "must be multiples of the size"},
        {{.address = at, .channels = 1, .width = 4}, &linear, "can only be interpolated"},
        {{.address = at, .channels = 1, .width = 4}, &floats, "8 and 16 bits"},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(
            fth_ptx_texture_create(job.machine, &rows[r].image, rows[r].sampling, &handle, &error),
            FTH_INVALID);
        assert_contains(error.cause, rows[r].cause);
    }
    job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_modes_select_texels),
        cmocka_unit_test(coordinates_count_texels),
        cmocka_unit_test(linear_filtering_interpolates),
        cmocka_unit_test(integer_coordinates_are_not_filtered),
        cmocka_unit_test(dimensions_and_layers_select_images),
        cmocka_unit_test(linear_filtering_in_three_dimensions),
        cmocka_unit_test(cubes_select_a_face),
        cmocka_unit_test(gathers_return_four_texels),
        cmocka_unit_test(formats_are_converted),
        cmocka_unit_test(halves_are_packed),
        cmocka_unit_test(references_are_bound_by_name),
        cmocka_unit_test(queries_describe_textures),
        cmocka_unit_test(handles_have_types),
        cmocka_unit_test(surfaces_are_loaded),
        cmocka_unit_test(surfaces_are_stored),
        cmocka_unit_test(lanes_outside_of_a_surface_access_nothing),
        cmocka_unit_test(faults_of_textures_and_surfaces),
        cmocka_unit_test(invalid_textures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
