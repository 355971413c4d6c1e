/* Tests of kernels with textures and surfaces. */
#include "kernel_helpers.h"

#include <math.h>

/* Allocates texels and adds a texture over them as the next argument. Returns the texels. */
static void *add_sampled(struct kernel *k, struct fth_ptx_image image, size_t texel_bytes,
                         const struct fth_ptx_sampling *sampling)
{
    struct fth_error error = NO_ERROR;
    uint64_t handle;
    const size_t depth = image.depth ? image.depth : 1;
    void *texels =
        alloc_buffer(k, image.width * image.height * depth * texel_bytes, &image.address);
    if (fth_ptx_texture_create(k->machine, &image, sampling, &handle, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    add_argument(k, &handle, sizeof handle);
    return texels;
}

static int limit(int index, int size)
{
    return index < 0 ? 0 : index >= size ? size - 1 : index;
}

/* The weights have 8 bits, so coordinates that are multiples of 1/256 are exact. */
void kernel_sample_bilinear(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 7, HEIGHT = 5, COUNT = 200 };
    load_kernel(k, "spaces/sampling", "sample_bilinear");
    const float *texels = add_sampled(
        k,
        (struct fth_ptx_image){.geometry = FTH_GEOMETRY_2D,
                               .format = FTH_TEXEL_F32,
                               .channels = 1,
                               .width = WIDTH,
                               .height = HEIGHT},
        4,
        &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_CLAMP, FTH_ADDRESS_CLAMP},
                                   .is_linear = true});
    /* Weights are multiples of 1/256. With these texels and coordinates, no result is rounded. */
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        ((float *)texels)[i] = (float)(i * 389 % 2048 - 1024) / 1024;
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *at = add_buffer(k, 2 * COUNT * sizeof *at);
    float *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        at[2 * i] = (float)(i * 37 % 144 - 16) / 16;
        at[2 * i + 1] = (float)(i * 53 % 112 - 16) / 16;
    }
    launch(k, 4, 64);
    for (int i = 0; i < COUNT; i++) {
        const double x = (double)at[2 * i] - 0.5, y = (double)at[2 * i + 1] - 0.5;
        const int left = (int)floor(x), top = (int)floor(y);
        const double right = x - left, bottom = y - top; /* weights */
        double sum = 0;
        for (int corner = 0; corner < 4; corner++) {
            const int dx = corner % 2, dy = corner / 2;
            const double weight = (dx ? right : 1 - right) * (dy ? bottom : 1 - bottom);
            sum +=
                weight * (double)texels[limit(top + dy, HEIGHT) * WIDTH + limit(left + dx, WIDTH)];
        }
        want[i] = (float)sum;
    }
    check_f32("out", out, want, COUNT, 0);
}

void kernel_sample_volume(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 4, HEIGHT = 8, DEPTH = 2, COUNT = 100 };
    load_kernel(k, "spaces/sampling", "sample_volume");
    const int16_t *texels =
        add_sampled(k,
                    (struct fth_ptx_image){.geometry = FTH_GEOMETRY_3D,
                                           .format = FTH_TEXEL_S16,
                                           .channels = 2,
                                           .width = WIDTH,
                                           .height = HEIGHT,
                                           .depth = DEPTH},
                    4, &(struct fth_ptx_sampling){.is_normalized = true}); /* wraps */
    fill_bytes(k, (void *)texels, WIDTH * HEIGHT * DEPTH * 4);
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *at = add_buffer(k, 3 * COUNT * sizeof *at);
    int32_t *out = add_buffer(k, 2 * COUNT * sizeof *out), want[2 * COUNT];
    fill_f32(k, at, 3 * COUNT, -3, 3);
    launch(k, 2, 64);
    static const int sizes[] = {WIDTH, HEIGHT, DEPTH};
    for (int i = 0; i < COUNT; i++) {
        int index[3];
        for (int axis = 0; axis < 3; axis++) {
            const double x = (double)at[3 * i + axis];
            index[axis] = (int)((x - floor(x)) * sizes[axis]);
        }
        const int texel = (index[2] * HEIGHT + index[1]) * WIDTH + index[0];
        for (int c = 0; c < 2; c++)
            want[2 * i + c] = texels[2 * texel + c];
    }
    CHECK_INTEGERS("out", out, want, 2 * COUNT);
}

void kernel_sample_layers(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 3, HEIGHT = 2, LAYERS = 3, COUNT = 60 };
    load_kernel(k, "spaces/sampling", "sample_layers");
    const uint8_t *texels = add_sampled(
        k,
        (struct fth_ptx_image){.geometry = FTH_GEOMETRY_A2D,
                               .format = FTH_TEXEL_U8,
                               .channels = 4,
                               .width = WIDTH,
                               .height = HEIGHT,
                               .depth = LAYERS},
        4,
        &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_BORDER, FTH_ADDRESS_BORDER},
                                   .reads_as_floats = true,
                                   .border = {0.25f, 0.5f, 0.75f, 2}});
    fill_bytes(k, (void *)texels, WIDTH * HEIGHT * LAYERS * 4);
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *at = add_buffer(k, 2 * COUNT * sizeof *at);
    float *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    /* The border's color is rounded to 8 bits. */
    static const float border[] = {64.0f / 255, 127.0f / 255, 191.0f / 255, 1};
    fill_f32(k, at, 2 * COUNT, -1, 4);
    launch(k, 1, 64);
    for (int i = 0; i < COUNT; i++) {
        const int x = (int)floorf(at[2 * i]), y = (int)floorf(at[2 * i + 1]);
        const bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
        for (int c = 0; c < 4; c++)
            want[4 * i + c] =
                inside ? (float)(texels[4 * ((i % 3 * HEIGHT + y) * WIDTH + x) + c] / 255.0)
                       : border[c];
    }
    check_f32("out", out, want, 4 * COUNT, 0);
}

void kernel_gather(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 6, HEIGHT = 4, COUNT = 50 };
    load_kernel(k, "spaces/sampling", "gather");
    const float *texels = add_sampled(
        k,
        (struct fth_ptx_image){.geometry = FTH_GEOMETRY_2D,
                               .format = FTH_TEXEL_F32,
                               .channels = 2,
                               .width = WIDTH,
                               .height = HEIGHT},
        8, &(struct fth_ptx_sampling){.address_modes = {FTH_ADDRESS_CLAMP, FTH_ADDRESS_CLAMP}});
    fill_f32(k, (float *)texels, 2 * WIDTH * HEIGHT, -1, 1);
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *at = add_buffer(k, 2 * COUNT * sizeof *at);
    float *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        at[2 * i] = (float)(i % 14) / 2;
        at[2 * i + 1] = (float)(i % 9) / 2;
    }
    launch(k, 1, 64);
    static const int columns[] = {0, 1, 1, 0}, rows[] = {1, 1, 0, 0};
    for (int i = 0; i < COUNT; i++)
        for (int c = 0; c < 4; c++) {
            const int x = limit((int)floorf(at[2 * i] - 0.5f) + columns[c], WIDTH);
            const int y = limit((int)floorf(at[2 * i + 1] - 0.5f) + rows[c], HEIGHT);
            want[4 * i + c] = texels[2 * (y * WIDTH + x) + 1];
        }
    check_f32("out", out, want, 4 * COUNT, 0);
}

/* Allocates a surface of words and adds it as the next argument. Returns the words. */
static int32_t *add_surface(struct kernel *k, uint64_t width, uint64_t height)
{
    struct fth_error error = NO_ERROR;
    struct fth_ptx_image image = {.geometry = FTH_GEOMETRY_2D,
                                  .format = FTH_TEXEL_S32,
                                  .channels = 1,
                                  .width = width,
                                  .height = height};
    uint64_t handle;
    int32_t *words = alloc_buffer(k, width * height * 4, &image.address);
    assert_int_equal(fth_ptx_surface_create(k->machine, &image, &handle, &error), FTH_OK);
    add_argument(k, &handle, sizeof handle);
    return words;
}

void kernel_add_neighbours(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 13, HEIGHT = 9 };
    load_kernel(k, "spaces/sampling", "add_neighbours");
    int32_t *in = add_surface(k, WIDTH, HEIGHT), *out = add_surface(k, WIDTH, HEIGHT);
    int32_t want[WIDTH * HEIGHT];
    ADD_ARGUMENT(k, int32_t, WIDTH);
    ADD_ARGUMENT(k, int32_t, HEIGHT);
    fill_s32(k, in, WIDTH * HEIGHT, -1000, 1000);
    launch_3d(k, (const uint32_t[]){2, 2, 1}, (const uint32_t[]){8, 8, 1}, 0);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            want[y * WIDTH + x] =
                in[y * WIDTH + limit(x - 1, WIDTH)] + in[y * WIDTH + limit(x + 1, WIDTH)] +
                in[limit(y - 1, HEIGHT) * WIDTH + x] + in[limit(y + 1, HEIGHT) * WIDTH + x];
    CHECK_INTEGERS("out", out, want, WIDTH * HEIGHT);
}
