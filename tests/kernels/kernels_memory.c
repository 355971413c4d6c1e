/* Tests of memory spaces and accesses: tiles in shared memory, parameters, local arrays, constants,
 * global variables, textures, vectors, cache hints, generic pointers, asynchronous copies. */
#include "kernel_helpers.h"

#include <math.h>

static void check_matmul(struct kernel *k, const char *name)
{
    enum { ROWS = 19, COLUMNS = 21, INNER = 27 };
    load_kernel(k, "memory/matmul", name);
    ADD_ARGUMENT(k, int32_t, ROWS);
    ADD_ARGUMENT(k, int32_t, COLUMNS);
    ADD_ARGUMENT(k, int32_t, INNER);
    float *a = add_buffer(k, ROWS * INNER * sizeof *a);
    float *b = add_buffer(k, INNER * COLUMNS * sizeof *b);
    float *c = add_buffer(k, ROWS * COLUMNS * sizeof *c), want[ROWS * COLUMNS] = {0};
    fill_f32(k, a, ROWS * INNER, -1, 1);
    fill_f32(k, b, INNER * COLUMNS, -1, 1);
    launch_3d(k, (uint32_t[3]){3, 3, 1}, (uint32_t[3]){8, 8, 1}, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        for (int j = 0; j < INNER; j++)
            want[i] = fmaf(a[i / COLUMNS * INNER + j], b[j * COLUMNS + i % COLUMNS], want[i]);
    check_f32("c", c, want, ROWS * COLUMNS, 0);
}

void kernel_matmul_naive(void **state)
{
    check_matmul(*state, "matmul_naive");
}

void kernel_matmul_tiled(void **state)
{
    check_matmul(*state, "matmul_tiled");
}

void kernel_transpose(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 37, HEIGHT = 25 };
    load_kernel(k, "memory/transpose", "transpose");
    ADD_ARGUMENT(k, int32_t, WIDTH);
    ADD_ARGUMENT(k, int32_t, HEIGHT);
    double *in = add_buffer(k, WIDTH * HEIGHT * sizeof *in);
    double *out = add_buffer(k, WIDTH * HEIGHT * sizeof *out), want[WIDTH * HEIGHT];
    fill_f64(k, in, WIDTH * HEIGHT, -1, 1);
    launch_3d(k, (uint32_t[3]){3, 2, 1}, (uint32_t[3]){16, 8, 1}, 0);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        want[i % WIDTH * HEIGHT + i / WIDTH] = in[i];
    check_f64("out", out, want, WIDTH * HEIGHT, 0);
}

static float cell(const float *field, int width, int height, int x, int y)
{
    return x >= 0 && x < width && y >= 0 && y < height ? field[y * width + x] : 0;
}

void kernel_stencil(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 21, HEIGHT = 18 };
    const float centre = 0.6f, side = 0.1f;
    load_kernel(k, "memory/stencil", "stencil");
    ADD_ARGUMENT(k, int32_t, WIDTH);
    ADD_ARGUMENT(k, int32_t, HEIGHT);
    ADD_ARGUMENT(k, float, centre);
    ADD_ARGUMENT(k, float, side);
    float *in = add_buffer(k, WIDTH * HEIGHT * sizeof *in);
    float *out = add_buffer(k, WIDTH * HEIGHT * sizeof *out), want[WIDTH * HEIGHT];
    fill_f32(k, in, WIDTH * HEIGHT, -1, 1);
    launch_3d(k, (uint32_t[3]){3, 3, 1}, (uint32_t[3]){8, 8, 1}, 0);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int x = i % WIDTH, y = i / WIDTH;
        float sides = cell(in, WIDTH, HEIGHT, x, y - 1) + cell(in, WIDTH, HEIGHT, x, y + 1) +
                      cell(in, WIDTH, HEIGHT, x - 1, y) + cell(in, WIDTH, HEIGHT, x + 1, y);
        want[i] = fmaf(centre, in[i], side * sides);
    }
    check_f32("out", out, want, WIDTH * HEIGHT, 0);
}

/* ---- parameters ---- */

struct scale {
    int8_t kind;
    double factor[3];
    int16_t shift;
    uint64_t bias;
};

struct view {
    uint64_t in, out; /* device addresses */
    uint32_t count;
};

void kernel_struct_param(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    struct scale scale = {-7, {0.75, -3.5, 11.0625}, 5, 1000000007};
    struct view view = {.count = COUNT};
    load_kernel(k, "spaces/struct_param", "struct_param");
    int32_t *in = alloc_buffer(k, COUNT * sizeof *in, &view.in);
    int64_t *out = alloc_buffer(k, COUNT * sizeof *out, &view.out), want[COUNT];
    fill_s32(k, in, COUNT, -100000, 100000);
    ADD_ARGUMENT(k, uint8_t, 200);
    add_argument(k, &scale, sizeof scale);
    ADD_ARGUMENT(k, int16_t, -300);
    add_argument(k, &view, sizeof view);
    ADD_ARGUMENT(k, bool, true);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        int64_t value = (int64_t)(in[i] * scale.factor[(i + 200) % 3]);
        want[i] = -(value * (1 << scale.shift) + (int64_t)scale.bias + scale.kind) - 300;
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

struct table {
    int32_t size;
    int32_t values[20];
};

void kernel_grid_constant(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 80 };
    struct table table = {.size = 17};
    load_kernel(k, "spaces/grid_constant", "grid_constant");
    fill_s32(k, table.values, 20, 0, 30);
    add_argument(k, &table, sizeof table);
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *keys = add_buffer(k, COUNT * sizeof *keys);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_s32(k, keys, COUNT, 0, 30);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++) {
        int j = 0;
        while (j < table.size && table.values[j] != keys[i])
            j++;
        want[i] = (j < table.size ? j : -1) + table.values[i % 20];
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

/* ---- local and shared memory ---- */

static uint32_t shuffle_hash(const uint8_t *in)
{
    uint8_t order[16];
    uint32_t counts[4] = {0}, hash = 2166136261u;
    for (uint8_t j = 0; j < 16; j++)
        order[j] = j;
    for (int j = 15; j > 0; j--) {
        int i = in[j] % (j + 1);
        uint8_t swap = order[j];
        order[j] = order[i];
        order[i] = swap;
        counts[i % 4] += (uint32_t)i;
    }
    for (int j = 0; j < 16; j++)
        hash = (hash ^ order[order[j]]) * 16777619u;
    return hash ^ counts[hash % 4];
}

void kernel_local_array(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 90 };
    load_kernel(k, "spaces/local_array", "local_array");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint8_t *in = add_buffer(k, 16 * COUNT);
    uint32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_bytes(k, in, 16 * COUNT);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = shuffle_hash(in + 16 * i);
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_dynamic_shared(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100, BLOCK = 32 };
    load_kernel(k, "spaces/dynamic_shared", "dynamic_shared");
    ADD_ARGUMENT(k, int32_t, COUNT);
    double *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    int32_t *ranks = add_buffer(k, COUNT * sizeof *ranks), want_ranks[COUNT];
    double want[COUNT];
    fill_f64(k, in, COUNT, -1, 1);
    in[5] = in[9]; /* equal values in one block; the third is in another block */
    in[70] = in[9];
    launch_3d(k, (uint32_t[3]){4, 1, 1}, (uint32_t[3]){BLOCK, 1, 1},
              BLOCK * (sizeof(double) + sizeof(int32_t)));
    for (int i = 0; i < COUNT; i++) {
        int base = i / BLOCK * BLOCK, end = base + BLOCK < COUNT ? base + BLOCK : COUNT, rank = 0;
        for (int j = base; j < end; j++)
            rank += in[j] < in[i] || (in[j] == in[i] && j < i);
        want_ranks[i] = rank * 1000 + end - base;
        want[base + rank] = in[i];
    }
    CHECK_INTEGERS("ranks", ranks, want_ranks, COUNT);
    check_f64("out", out, want, COUNT, 0);
}

/* ---- variables of a module ---- */

void kernel_constants(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 75, OFFSET = 5000 };
    static const float coefficients[5] = {1.5f, -0.25f, 3.0f, 1e-3f, -7.0f};
    static const int32_t primes[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    static const float weights[3] = {0.5f, -2.0f, 8.0f};
    load_kernel(k, "spaces/constants", "constants");
    int32_t *offset = module_variable(k, "offset", sizeof *offset);
    assert_int_equal(*offset, 0);
    *offset = OFFSET;
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    int32_t *words = add_buffer(k, COUNT * sizeof *words), want_words[COUNT];
    float want[COUNT];
    fill_f32(k, in, COUNT, -3, 3);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++) {
        float sum = 0;
        for (int j = 0; j < 5; j++)
            sum = fmaf(sum, in[i], coefficients[j]);
        want[i] = fmaf(sum, weights[i % 3], coefficients[i % 5]) + 1.25f;
        /* The rows of the entries start at primes[0] and primes[3]; the last entry has no row. */
        int32_t row = i % 3 == 2 ? OFFSET : primes[i % 9 + (i % 3 == 1 ? 3 : 0)];
        want_words[i] = ('A' + i % 26) * 1000 + primes[6 + i % 6] + row + 'x' + i % 3;
    }
    check_f32("out", out, want, COUNT, 0);
    CHECK_INTEGERS("words", words, want_words, COUNT);
    uint32_t *visits = module_variable(k, "visits", sizeof *visits);
    assert_int_equal(*visits, COUNT);
}

/* ---- textures ---- */

/* Allocates texels in device memory and adds a texture object over them as the next argument.
 * Returns a host pointer to the texels. */
static void *add_texture(struct kernel *k, uint64_t texels, enum fth_ptx_texel texel_format,
                         unsigned channels)
{
    struct fth_error error = NO_ERROR;
    uint64_t address = 0, handle = 0;
    void *host = alloc_buffer(k, texels * channels * 4, &address);
    assert_int_equal(
        fth_ptx_texture(k->machine, address, texels, texel_format, channels, &handle, &error),
        FTH_OK);
    add_argument(k, &handle, sizeof handle);
    return host;
}

void kernel_texture_float(void **state)
{
    struct kernel *k = *state;
    enum { TEXELS = 50, COUNT = 100 };
    load_kernel(k, "spaces/texture", "texture_float");
    float *texels = add_texture(k, TEXELS, FTH_TEXEL_F32, 1);
    fill_f32(k, texels, TEXELS, -1, 1);
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *index = add_buffer(k, COUNT * sizeof *index);
    float *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_s32(k, index, COUNT, -5, TEXELS + 5);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++)
        want[i] = index[i] >= 0 && index[i] < TEXELS ? texels[index[i]] * 2 : 0;
    check_f32("out", out, want, COUNT, 0);
}

void kernel_texture_int(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 60 };
    load_kernel(k, "spaces/texture", "texture_int");
    int32_t *texels = add_texture(k, COUNT, FTH_TEXEL_S32, 1);
    fill_s32(k, texels, COUNT, -1000, 1000);
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = texels[COUNT - 1 - i] - i;
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_texture_uint4(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 64 };
    load_kernel(k, "spaces/texture", "texture_uint4");
    uint32_t *texels = add_texture(k, COUNT, FTH_TEXEL_U32, 4);
    fill_bytes(k, texels, COUNT * 4 * sizeof *texels);
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        const uint32_t *t = texels + 4 * (i ^ 5);
        want[i] = t[0] + 3 * t[1] + 5 * t[2] + 7 * t[3];
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_texture_float2(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 40 };
    load_kernel(k, "spaces/texture", "texture_float2");
    float *texels = add_texture(k, COUNT, FTH_TEXEL_F32, 2);
    fill_f32(k, texels, 2 * COUNT, -1, 1);
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = texels[2 * i] - texels[2 * i + 1];
    check_f32("out", out, want, COUNT, 0);
}

/* ---- variants of loads and stores ---- */

void kernel_read_only(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 70 };
    load_kernel(k, "memory/read_only", "read_only");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a);
    int16_t *b = add_buffer(k, COUNT * sizeof *b);
    int32_t *c = add_buffer(k, 4 * COUNT * sizeof *c);
    float *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_f32(k, a, COUNT, -1, 1);
    fill_bytes(k, b, COUNT * sizeof *b);
    fill_s32(k, c, 4 * COUNT, -100000, 100000);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = fmaf(a[i], (float)b[COUNT - 1 - i],
                       (float)(c[4 * i] + c[4 * i + 1] - c[4 * i + 2] + c[4 * i + 3]));
    check_f32("out", out, want, COUNT, 0);
}

void kernel_cache_hints(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 50 };
    load_kernel(k, "memory/read_only", "cache_hints");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *a = add_buffer(k, 5 * COUNT * sizeof *a);
    double *b = add_buffer(k, 2 * COUNT * sizeof *b);
    int32_t *c = add_buffer(k, 4 * COUNT * sizeof *c), want[4 * COUNT];
    double *d = add_buffer(k, COUNT * sizeof *d), want_d[COUNT];
    fill_s32(k, a, 5 * COUNT, -1000, 1000);
    fill_f64(k, b, 2 * COUNT, -1, 1);
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        int32_t sum = 0;
        for (int j = 0; j < 5; j++)
            sum += a[j * COUNT + i];
        for (int j = 0; j < 4; j++)
            want[j * COUNT + i] = sum + j;
        want_d[i] = b[i] + b[i] + b[COUNT + i];
    }
    CHECK_INTEGERS("c", c, want, 4 * COUNT);
    check_f64("d", d, want_d, COUNT, 0);
}

void kernel_vectors(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 45 };
    load_kernel(k, "memory/vectors", "vectors");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, 4 * COUNT * sizeof *a), *b = add_buffer(k, 4 * COUNT * sizeof *b);
    uint16_t *c = add_buffer(k, 2 * COUNT * sizeof *c);
    uint8_t *d = add_buffer(k, 4 * COUNT);
    int64_t *e = add_buffer(k, 2 * COUNT * sizeof *e);
    double *f = add_buffer(k, 2 * COUNT * sizeof *f), want_f[2 * COUNT];
    fill_f32(k, a, 4 * COUNT, -1, 1);
    fill_bytes(k, c, 2 * COUNT * sizeof *c);
    fill_bytes(k, e, 2 * COUNT * sizeof *e);
    launch(k, 2, 32);
    float want_b[4 * COUNT];
    uint8_t want_d[4 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        const float *v = a + 4 * i;
        want_b[4 * i] = v[3];
        want_b[4 * i + 1] = v[2] + v[0];
        want_b[4 * i + 2] = v[1] * v[1];
        want_b[4 * i + 3] = v[0];
        for (int j = 0; j < 4; j++)
            want_d[4 * i + j] = (uint8_t)(c[2 * i + j / 2] >> (j % 2 * 8));
        want_f[2 * i] = (double)e[2 * i + 1];
        want_f[2 * i + 1] = (double)e[2 * i];
    }
    check_f32("b", b, want_b, 4 * COUNT, 0);
    CHECK_INTEGERS("d", d, want_d, 4 * COUNT);
    check_f64("f", f, want_f, 2 * COUNT, 0);
}

struct pixel {
    uint8_t red, green, blue, alpha;
    int16_t depth[2];
    float weight;
    int32_t id;
};

void kernel_pixels(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 45 };
    load_kernel(k, "memory/vectors", "pixels");
    ADD_ARGUMENT(k, int32_t, COUNT);
    struct pixel *in = add_buffer(k, COUNT * sizeof *in);
    struct pixel *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    for (int i = 0; i < COUNT; i++) {
        fill_f32(k, &in[i].weight, 1, -1, 1);
        in[i].id &= 0xffff;
    }
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        struct pixel p = in[COUNT - 1 - i];
        struct pixel want = {p.blue,
                             p.green,
                             p.red,
                             p.alpha,
                             {(int16_t)(p.depth[1] - p.depth[0]), p.depth[1]},
                             p.weight * p.alpha,
                             p.id + i};
        CHECK_INTEGERS("pixel", (const uint8_t *)&out[i], (const uint8_t *)&want, sizeof want);
    }
}

void kernel_generic(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "spaces/generic", "generic");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *global = add_buffer(k, COUNT * sizeof *global);
    int32_t *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    fill_s32(k, global, COUNT, 0, 1000);
    int32_t *before = copy_to_host(k, global, COUNT * sizeof *global);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        int32_t shared = 1000 + i, local[2] = {2000 + i, 5};
        int32_t *place = i % 3 == 0 ? &before[i] : i % 3 == 1 ? &shared : &local[i % 2];
        want[4 * i] = *place;
        *place = 7 * i;
        want[4 * i + 1] = *place + local[1];
        want[4 * i + 2] = shared + local[0];
        want[4 * i + 3] = 1 << i % 3;
    }
    CHECK_INTEGERS("out", out, want, 4 * COUNT);
    CHECK_INTEGERS("global", global, before, COUNT);
}

void kernel_async_copy(void **state)
{
    struct kernel *k = *state;
    enum { TILES = 5, BLOCKS = 3 };
    load_kernel(k, "memory/async_copy", "async_copy");
    ADD_ARGUMENT(k, int32_t, TILES);
    int32_t *in = add_buffer(k, BLOCKS * TILES * 32 * 4 * sizeof *in);
    int32_t *out = add_buffer(k, BLOCKS * 32 * sizeof *out), want[BLOCKS * 32] = {0};
    fill_s32(k, in, BLOCKS * TILES * 32 * 4, -1000, 1000);
    launch(k, BLOCKS, 32);
    for (int i = 0; i < BLOCKS * 32; i++) {
        for (int tile = 0; tile < TILES; tile++) {
            const int32_t *v = in + ((i / 32 * TILES + tile) * 32 + 31 - i % 32) * 4;
            want[i] = want[i] * 3 + v[0] - v[1] + 2 * v[2] - v[3];
        }
    }
    CHECK_INTEGERS("out", out, want, BLOCKS * 32);
}

void kernel_inlined(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "memory/inlined", "inlined");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *in = add_buffer(k, COUNT * sizeof *in);
    float *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_f32(k, in, COUNT, -1, 1);
    launch(k, 4, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i] + in[i + 8 < COUNT ? i + 8 : COUNT - 1];
    check_f32("out", out, want, COUNT, 0);
}
