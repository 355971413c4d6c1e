/* Textures and surfaces on arrays with three dimensions and with layers. */
#include "driver_api.h"

/* A kernel that adds 1 to each texel of a texture, and writes the sums to a surface. Thread (x, y)
 * of block z has the texel (x, y, z). `load` and `store`: the coordinates, with x in r1, or four
 * times x in r4, y in r2 and z in r3. */
#define KERNEL(name, geometry, load, store)                                                        \
    ".visible .entry " name "(.param .u64 t, .param .u64 s)\n"                                     \
    "{\n.reg .b32 %r<9>; .reg .b64 %d<3>;\n"                                                       \
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [s];\n"                                              \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; shl.b32 %r4, %r1, 2;\n"      \
    "tex." geometry ".v4.u32.s32 {%r5, %r6, %r7, %r8}, [%d1, " load "]; add.u32 %r5, %r5, 1;\n"    \
    "sust.b." geometry ".b32.trap [%d2, " store "], {%r5}; ret;\n}\n"

static const char ptx[] =
    PTX_HEADER KERNEL("volume", "3d", "{%r1, %r2, %r3, %r3}", "{%r4, %r2, %r3, %r3}")
        KERNEL("images", "a2d", "{%r3, %r1, %r2, %r2}", "{%r3, %r4, %r2, %r2}")
            KERNEL("lines", "a1d", "{%r3, %r1}", "{%r3, %r4}");

enum { LAYERED = 1, SURFACE = 2, MAX_TEXELS = 64 };

static const struct {
    const char *kernel;
    struct array_3d shape;
} cases[] = {
    {"volume", {5, 3, 4, FORMAT_U32, 1, SURFACE}},
    {"images", {4, 2, 7, FORMAT_U32, 1, LAYERED | SURFACE}},
    {"lines", {6, 0, 3, FORMAT_U32, 1, LAYERED | SURFACE}},
};

/* Copies texels to an array, or from it. */
static void copy_texels(const struct array_3d *shape, struct array *array, unsigned *texels,
                        bool is_upload)
{
    const size_t height = shape->height ? shape->height : 1, pitch = shape->width * sizeof *texels;
    struct copy_3d copy = {.source_type = is_upload ? HOST : ARRAY,
                           .source_host = is_upload ? texels : NULL,
                           .source_array = is_upload ? NULL : array,
                           .source_pitch = is_upload ? pitch : 0,
                           .source_height = is_upload ? height : 0,
                           .target_type = is_upload ? ARRAY : HOST,
                           .target_host = is_upload ? NULL : texels,
                           .target_array = is_upload ? array : NULL,
                           .target_pitch = is_upload ? 0 : pitch,
                           .target_height = is_upload ? 0 : height,
                           .width = pitch,
                           .height = height,
                           .depth = shape->depth};
    CHECK(cuMemcpy3D_v2(&copy));
}

int main(void)
{
    struct module *module;
    start();
    CHECK(cuModuleLoadData(&module, ptx));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct array_3d *shape = &cases[i].shape;
        const struct texture sampling = {.address_mode = {1, 1, 1}, .flags = 1};
        const unsigned height = shape->height ? (unsigned)shape->height : 1;
        struct array *from, *to;
        struct function *kernel;
        struct resource resource = {.type = 0};
        unsigned texels[MAX_TEXELS], back[MAX_TEXELS] = {0};
        uint64_t texture, surface;
        for (unsigned k = 0; k < MAX_TEXELS; k++)
            texels[k] = 1000 * k;
        CHECK(cuModuleGetFunction(&kernel, module, cases[i].kernel));
        CHECK(cuArray3DCreate_v2(&from, shape));
        CHECK(cuArray3DCreate_v2(&to, shape));
        copy_texels(shape, from, texels, true);
        resource.of.array = from;
        CHECK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
        resource.of.array = to;
        CHECK(cuSurfObjectCreate(&surface, &resource));
        void *arguments[] = {&texture, &surface};
        CHECK(cuLaunchKernel(kernel, (unsigned)shape->depth, 1, 1, (unsigned)shape->width, height,
                             1, 0, NULL, arguments, NULL));
        copy_texels(shape, to, back, false);
        for (size_t k = 0; k < shape->width * height * shape->depth; k++)
            ASSERT(back[k] == texels[k] + 1);
        CHECK(cuTexObjectDestroy(texture));
        CHECK(cuSurfObjectDestroy(surface));
        CHECK(cuArrayDestroy(from));
        CHECK(cuArrayDestroy(to));
    }
    return succeed();
}
