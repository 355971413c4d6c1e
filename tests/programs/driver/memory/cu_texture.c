/* Textures and surfaces on an array and on linear memory. */
#include "driver_api.h"

/* Reads the texel at thread (x, y) of a texture, writes it to a surface, and to memory. */
static const char ptx[] = PTX_HEADER
    ".visible .entry move(.param .u64 t, .param .u64 s, .param .u64 out)\n"
    "{\n.reg .b32 %r<9>; .reg .b64 %d<6>;\n"
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [s]; ld.param.u64 %d3, [out];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;\n"
    "tex.2d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%d1, {%r1, %r2}];\n"
    "shl.b32 %r7, %r1, 2; sust.b.2d.b32.trap [%d2, {%r7, %r2}], {%r3};\n"
    "mad.lo.u32 %r8, %r2, 4, %r1; mad.wide.u32 %d4, %r8, 4, %d3; st.global.u32 [%d4], %r3;\n"
    "ret;\n}\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 out)\n"
    "{\n.reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;\n"
    "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1}];\n"
    "mad.wide.u32 %d3, %r1, 4, %d2; st.global.u32 [%d3], %r2; ret;\n}\n"
    /* The same with two textures, whose handles are in memory and in a variable. */
    ".visible .global .u64 chosen;\n"
    ".visible .entry follow(.param .u64 list, .param .u64 out)\n"
    "{\n.reg .b32 %r<7>; .reg .b64 %d<6>;\n"
    "ld.param.u64 %d1, [list]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;\n"
    "ld.global.u64 %d1, [%d1+8]; ld.global.u64 %d4, [chosen];\n"
    "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1}];\n"
    "tex.1d.v4.u32.s32 {%r6, %r3, %r4, %r5}, [%d4, {%r1}]; add.u32 %r2, %r2, %r6;\n"
    "mad.wide.u32 %d3, %r1, 4, %d2; st.global.u32 [%d3], %r2; ret;\n}\n";

enum { WIDTH = 4, HEIGHT = 3, TEXELS = WIDTH * HEIGHT };

static void copy_image(const void *host, struct array *array, void *back)
{
    struct copy_2d copy = {.source_type = host ? HOST : ARRAY,
                           .source_host = host,
                           .source_array = host ? NULL : array,
                           .source_pitch = sizeof(unsigned[WIDTH]),
                           .target_type = host ? ARRAY : HOST,
                           .target_host = back,
                           .target_array = host ? array : NULL,
                           .target_pitch = sizeof(unsigned[WIDTH]),
                           .width = sizeof(unsigned[WIDTH]),
                           .height = HEIGHT};
    CHECK(cuMemcpy2D_v2(&copy));
}

/* Textures whose handles are not arguments. */
static void handles_in_memory(struct module *module, uint64_t linear, uint64_t out)
{
    const uint64_t handles[] = {0, linear};
    unsigned doubled[TEXELS];
    uint64_t list, chosen;
    size_t bytes;
    struct function *follow;
    CHECK(cuModuleGetFunction(&follow, module, "follow"));
    CHECK(cuMemAlloc_v2(&list, sizeof handles));
    CHECK(cuMemcpyHtoD_v2(list, handles, sizeof handles));
    CHECK(cuModuleGetGlobal_v2(&chosen, &bytes, module, "chosen"));
    CHECK(cuMemcpyHtoD_v2(chosen, &linear, sizeof linear));
    void *arguments[] = {&list, &out};
    CHECK(cuLaunchKernel(follow, 1, 1, 1, TEXELS, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(doubled, out, sizeof doubled));
    for (unsigned i = 0; i < TEXELS; i++)
        ASSERT(doubled[i] == 2 * (100 + i));
    CHECK(cuMemFree_v2(list));
}

static const struct array_3d shape = {WIDTH, HEIGHT, 0, FORMAT_U32, 1, 2};

/* The same objects with other texels, and then an array in place of another one. */
static void other_texels(struct function *move, void **arguments, unsigned *image,
                         struct array *from, struct array **to)
{
    uint64_t *surface = arguments[1];
    struct resource resource = {.type = 0};
    unsigned back[TEXELS];
    image[3] = 7;
    copy_image(image, from, NULL);
    CHECK(cuLaunchKernel(move, 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL, arguments, NULL));
    copy_image(NULL, *to, back);
    ASSERT(memcmp(back, image, sizeof back) == 0);
    CHECK(cuSurfObjectDestroy(*surface));
    CHECK(cuArrayDestroy(*to));
    CHECK(cuArray3DCreate_v2(to, &shape));
    resource.of.array = *to;
    CHECK(cuSurfObjectCreate(surface, &resource));
    image[3] = 103;
    copy_image(image, from, NULL);
    CHECK(cuLaunchKernel(move, 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL, arguments, NULL));
    copy_image(NULL, *to, back);
    ASSERT(memcmp(back, image, sizeof back) == 0);
}

int main(void)
{
    struct array *from, *to;
    struct function *fetch;
    struct module *module;
    struct resource resource = {.type = 0}, got;
    struct texture sampling = {.address_mode = {1, 1, 1}, .flags = 1}, got_sampling;
    unsigned image[TEXELS], back[TEXELS];
    uint64_t texture, surface, linear, out;
    for (unsigned i = 0; i < TEXELS; i++)
        image[i] = 100 + i;
    start();
    struct function *move = load_kernel(ptx, "move");
    CHECK(cuFuncGetModule(&module, move));
    CHECK(cuModuleGetFunction(&fetch, module, "fetch"));
    CHECK(cuArray3DCreate_v2(&from, &shape));
    CHECK(cuArray3DCreate_v2(&to, &shape));
    CHECK(cuMemAlloc_v2(&out, sizeof image));
    copy_image(image, from, NULL);
    resource.of.array = from;
    CHECK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
    CHECK(cuTexObjectGetResourceDesc(&got, texture));
    ASSERT(got.type == 0 && got.of.array == from);
    CHECK(cuTexObjectGetTextureDesc(&got_sampling, texture));
    ASSERT(got_sampling.address_mode[0] == 1 && got_sampling.flags == 1);
    resource.of.array = to;
    CHECK(cuSurfObjectCreate(&surface, &resource));
    void *arguments[] = {&texture, &surface, &out};
    CHECK(cuLaunchKernel(move, 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(back, out, sizeof back));
    ASSERT(memcmp(back, image, sizeof image) == 0);
    memset(back, 0, sizeof back);
    copy_image(NULL, to, back);
    ASSERT(memcmp(back, image, sizeof image) == 0);
    other_texels(move, arguments, image, from, &to);
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuTexObjectDestroy(texture)); /* NVIDIA's driver ignores a second time */
    EXPECT_HERE(1, cuTexObjectGetResourceDesc(&got, texture));
    CHECK(cuSurfObjectDestroy(surface));
    /* linear memory */
    resource = (struct resource){.type = 2};
    resource.of.linear.address = out;
    resource.of.linear.format = FORMAT_U32;
    resource.of.linear.channels = 1;
    resource.of.linear.bytes = sizeof image;
    CHECK(cuTexObjectCreate(&linear, &resource, &sampling, NULL));
    CHECK(cuMemAlloc_v2(&surface, sizeof image));
    void *linear_arguments[] = {&linear, &surface};
    CHECK(cuLaunchKernel(fetch, 1, 1, 1, TEXELS, 1, 1, 0, NULL, linear_arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(back, surface, sizeof back));
    ASSERT(memcmp(back, image, sizeof image) == 0);
    handles_in_memory(module, linear, surface);
    resource.of.array = NULL;
    resource.type = 0;
    EXPECT_HERE(1, cuTexObjectCreate(&texture, &resource, &sampling, NULL));
    EXPECT_HERE(1, cuTexObjectCreate(&texture, &resource, NULL, NULL));
    return succeed();
}
