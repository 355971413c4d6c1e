/* Tests of control flow: loops, branches and calls in which the lanes of a warp diverge. */
#include "kernel_helpers.h"

#include <math.h>

void kernel_grid_stride(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 1000 };
    load_kernel(k, "flow/grid_stride", "grid_stride");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, 3, 96);
    uint32_t want[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        want[i] = in[i] * in[i] + i;
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_stride_down(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 501, STRIDE = 50, THREADS = 50 };
    load_kernel(k, "flow/grid_stride", "stride_down");
    ADD_ARGUMENT(k, int64_t, COUNT);
    ADD_ARGUMENT(k, int64_t, STRIDE);
    int32_t *in = add_buffer(k, COUNT * sizeof *in);
    int64_t *out = add_buffer(k, THREADS * sizeof *out), want[THREADS];
    fill_s32(k, in, COUNT, INT32_MIN, INT32_MAX);
    launch(k, 1, THREADS);
    for (int t = 0; t < THREADS; t++) {
        want[t] = 0;
        for (int i = COUNT - 1 - t; i >= 0; i -= STRIDE)
            want[t] = 3 * want[t] - in[i];
    }
    CHECK_INTEGERS("out", out, want, THREADS);
}

static void check_collatz(struct kernel *k, const char *file)
{
    enum { COUNT = 300 };
    load_kernel(k, file, "collatz");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint32_t *steps = add_buffer(k, COUNT * sizeof *steps);
    uint32_t *odd = add_buffer(k, COUNT * sizeof *odd);
    uint32_t *peaks = add_buffer(k, COUNT * sizeof *peaks);
    launch(k, 5, 64);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t value = i + 1, count = 0, odds = 0, peak = value;
        for (; value != 1; count++) {
            if (value % 2 == 0) {
                value /= 2;
                continue;
            }
            value = 3 * value + 1;
            odds++;
            if (value > peak) {
                peak = value;
                odds += peak % 8 == 0 ? 1 << 16 : 0;
            }
        }
        if (steps[i] != count || odd[i] != odds || peaks[i] != peak)
            fail_msg("%u: got %u, %u, %u; expected %u, %u, %u", i, steps[i], odd[i], peaks[i],
                     count, odds, peak);
    }
}

void kernel_collatz(void **state)
{
    check_collatz(*state, "programs/collatz");
}

static uint32_t interpret(const uint8_t *code, int length, uint32_t value, uint32_t other)
{
    for (int i = 0; i < length; i++) {
        if (code[i] == 0)
            value += other;
        else if (code[i] == 1)
            value = value * 31 + 7;
        else if (code[i] == 2)
            other ^= (uint32_t)((int32_t)value >> 3);
        else if (code[i] == 3 || code[i] == 4) {
            if (code[i] == 3)
                value = other - value;
            other = other << 5 | other >> 27;
        } else if (code[i] == 5)
            value = (int32_t)value < (int32_t)other ? ~value : value;
        else if (code[i] == 6)
            other +=
                (value & 3) * ((value & 3) - 1) / 2 * value; /* sum of j * value, j < value & 3 */
        else if (code[i] == 7)
            return value ^ other;
        else
            value--;
    }
    return value + other;
}

static void check_switch(struct kernel *k, const char *file)
{
    enum { COUNT = 150, LENGTH = 24 };
    load_kernel(k, file, "switch_ops");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, int32_t, LENGTH);
    uint8_t *code = add_buffer(k, COUNT * LENGTH);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    for (size_t i = 0; i < COUNT * LENGTH; i++) {
        /* Few instructions 7, which end the program; some that use the default case. */
        code[i] = (uint8_t)fth_rng_below(&k->rng, 9);
        if (code[i] == 7 && fth_rng_below(&k->rng, 4) != 0)
            code[i] = 200;
    }
    launch(k, 3, 64);
    uint32_t want[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        want[i] = interpret(code + i * LENGTH, LENGTH, in[i], i);
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_switch_ops(void **state)
{
    check_switch(*state, "flow/switch_ops");
}

static void check_jump_table(struct kernel *k, const char *file)
{
    enum { COUNT = 200 };
    load_kernel(k, file, "jump_table");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *which = add_buffer(k, COUNT * sizeof *which);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, which, COUNT, 0, 4);
    fill_s32(k, in, COUNT, -10000, 10000);
    launch(k, 2, 128);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int32_t x = in[i], results[5] = {-x, x + 1000, x * x, x + 1000, x ^ 0x55};
        want[i] = results[which[i]] * 2;
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_jump_table(void **state)
{
    check_jump_table(*state, "flow/switch_ops");
}

static int32_t first_repeat(const int32_t *row, int width)
{
    if (row[0] < 0)
        return -1;
    for (int j = 0; j < width; j++)
        for (int i = 0; i < j; i++)
            if (row[i] == row[j])
                return j * 100 + i;
    return -2;
}

void kernel_early_return(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 130, WIDTH = 12 };
    load_kernel(k, "flow/early_return", "early_return");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, int32_t, WIDTH);
    int32_t *in = add_buffer(k, COUNT * WIDTH * sizeof *in);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_s32(k, in, COUNT * WIDTH, -20, 100);
    launch(k, 3, 48); /* one and a half warps */
    for (int i = 0; i < COUNT; i++)
        want[i] = first_repeat(in + i * WIDTH, WIDTH);
    CHECK_INTEGERS("out", out, want, COUNT);
}

/* ---- calls ---- */

struct point {
    double x;
    float y;
    int16_t tag;
};

static struct point point_mix(struct point a, struct point b, float weight)
{
    return (struct point){fma(a.x, (double)weight, b.x), a.y - b.y * weight,
                          (int16_t)(a.tag * 3 + b.tag)};
}

static void check_call_struct(struct kernel *k, const char *file)
{
    enum { COUNT = 100 };
    load_kernel(k, file, "call_struct");
    ADD_ARGUMENT(k, int32_t, COUNT);
    struct point *a = add_buffer(k, COUNT * sizeof *a);
    struct point *b = add_buffer(k, COUNT * sizeof *b);
    struct point *out = add_buffer(k, COUNT * sizeof *out);
    for (int i = 0; i < COUNT; i++) {
        fill_f64(k, &a[i].x, 1, -10, 10);
        fill_f64(k, &b[i].x, 1, -10, 10);
        fill_f32(k, &a[i].y, 1, -10, 10);
        fill_f32(k, &b[i].y, 1, -10, 10);
        fill_bytes(k, &a[i].tag, sizeof a[i].tag);
        fill_bytes(k, &b[i].tag, sizeof b[i].tag);
    }
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        struct point want = point_mix(a[i], b[i], 0.5f);
        if (i % 3 == 0)
            want = point_mix(want, a[i], -2.0f);
        check_f64("x", &out[i].x, &want.x, 1, 0);
        check_f32("y", &out[i].y, &want.y, 1, 0);
        assert_int_equal(out[i].tag, want.tag);
    }
}

void kernel_call_struct(void **state)
{
    check_call_struct(*state, "flow/calls");
}

static int64_t weigh_sorted(const int32_t *in, int sign, int scale)
{
    int32_t list[8];
    int moves = 0;
    for (int size = 0; size < 8; size++) {
        int i = size;
        for (; i > 0 && list[i - 1] > in[size]; i--)
            list[i] = list[i - 1];
        list[i] = in[size];
        moves += size - i;
    }
    int64_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += (int64_t)list[i] * (i + 1);
    return sum * sign * scale + moves;
}

static void check_call_array(struct kernel *k, const char *file)
{
    enum { COUNT = 70 };
    load_kernel(k, file, "call_array");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, 8 * COUNT * sizeof *in);
    int64_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_s32(k, in, 8 * COUNT, -1000000, 1000000);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = weigh_sorted(in + 8 * i, i % 2 ? -1 : 1, 60000 + i);
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_call_array(void **state)
{
    check_call_array(*state, "flow/calls");
}

static uint32_t depth1(uint32_t x)
{
    return x & 1 ? (x >> 1) * 2654435761u + 1 : (x ^ 0x5bd1e995u) * 2654435761u;
}

static uint32_t depth2(uint32_t x)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < x % 4; i++)
        sum = sum * 5 + depth1(x + i);
    return sum ^ x * 2654435761u;
}

static void check_call_depth(struct kernel *k, const char *file)
{
    enum { COUNT = 200 };
    load_kernel(k, file, "call_depth");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, 4, 64);
    uint32_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i] % 5 == 0 ? depth1(in[i]) : depth2(in[i]);
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_call_depth(void **state)
{
    check_call_depth(*state, "flow/calls");
}

void kernel_indirect(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "flow/indirect", "indirect");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint8_t *which = add_buffer(k, COUNT);
    int32_t *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    for (int i = 0; i < COUNT; i++)
        which[i] = (uint8_t)fth_rng_below(&k->rng, 3);
    fill_s32(k, a, COUNT, -1000, 1000);
    fill_s32(k, b, COUNT, -1000, 1000);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        int32_t results[3] = {2 * a[i] + b[i], a[i] > b[i] ? a[i] - b[i] : b[i] - a[i],
                              (a[i] ^ b[i]) * 17};
        want[i] = results[which[i]];
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

/* ---- loops ---- */

void kernel_mandelbrot(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 30, HEIGHT = 20, MAX = 60 };
    const float x0 = -2.1f, y0 = -1.2f, step = 0.1f;
    load_kernel(k, "programs/mandelbrot", "mandelbrot");
    ADD_ARGUMENT(k, int32_t, WIDTH);
    ADD_ARGUMENT(k, int32_t, HEIGHT);
    ADD_ARGUMENT(k, int32_t, MAX);
    ADD_ARGUMENT(k, float, x0);
    ADD_ARGUMENT(k, float, y0);
    ADD_ARGUMENT(k, float, step);
    uint16_t *out = add_buffer(k, WIDTH * HEIGHT * sizeof *out), want[WIDTH * HEIGHT];
    launch_3d(k, (uint32_t[3]){4, 5, 1}, (uint32_t[3]){8, 4, 1}, 0);
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column++) {
            float cx = fmaf((float)column, step, x0), cy = fmaf((float)row, step, y0);
            float x = 0, y = 0;
            int i = 0;
            for (; i < MAX && x * x + y * y < 4; i++) {
                float next = cx + (x * x - y * y);
                y = fmaf(x + x, y, cy);
                x = next;
            }
            want[row * WIDTH + column] = (uint16_t)i;
        }
    }
    CHECK_INTEGERS("out", out, want, WIDTH * HEIGHT);
}

/* Counts the ways to place queens in row `row` and the later rows, given the columns of the earlier
 * ones. */
static uint32_t place_queens(int n, int *columns, int row)
{
    uint32_t count = 0;
    if (row == n)
        return 1;
    for (columns[row] = 0; columns[row] < n; columns[row]++) {
        bool fits = true;
        for (int i = 0; i < row; i++) {
            int difference = columns[row] - columns[i];
            fits = fits && difference != 0 && difference != row - i && difference != i - row;
        }
        if (fits)
            count += place_queens(n, columns, row + 1);
    }
    return count;
}

void kernel_queens(void **state)
{
    struct kernel *k = *state;
    enum { SIZE = 7 };
    load_kernel(k, "programs/queens", "queens");
    ADD_ARGUMENT(k, int32_t, SIZE);
    uint32_t *out = add_buffer(k, SIZE * SIZE * sizeof *out), want[SIZE * SIZE], total = 0;
    launch(k, SIZE, SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        int columns[SIZE] = {i % SIZE, i / SIZE};
        int difference = columns[0] - columns[1];
        want[i] = difference >= -1 && difference <= 1 ? 0 : place_queens(SIZE, columns, 2);
        total += want[i];
    }
    assert_int_equal(total, 40); /* OEIS A000170 */
    CHECK_INTEGERS("out", out, want, SIZE * SIZE);
}

void kernel_unroll(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100, TAPS = 11 };
    load_kernel(k, "flow/unroll", "unroll");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, int32_t, TAPS);
    float *in = add_buffer(k, (COUNT + TAPS) * sizeof *in);
    float *filter = add_buffer(k, TAPS * sizeof *filter);
    float *out = add_buffer(k, 3 * COUNT * sizeof *out), want[3 * COUNT] = {0};
    fill_f32(k, in, COUNT + TAPS, -1, 1);
    fill_f32(k, filter, TAPS, -1, 1);
    launch(k, 4, 32);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < 7; j++)
            want[3 * i] = fmaf(want[3 * i], 0.5f, in[i + j]);
        for (int j = 0; j < TAPS; j++)
            want[3 * i + 1] = fmaf(in[i + j], filter[j], want[3 * i + 1]);
        for (int j = TAPS; j > 0; j--)
            want[3 * i + 2] = fmaf(in[i + j - 1], filter[TAPS - j], want[3 * i + 2]);
    }
    check_f32("out", out, want, FTH_COUNT(want), 0);
}

struct limits {
    int32_t low, high;
};

void kernel_debug(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 170, BLOCK = 64 };
    struct limits limits = {-40, 60};
    load_kernel(k, "flow/debug", "debug");
    ADD_ARGUMENT(k, int32_t, COUNT);
    add_argument(k, &limits, sizeof limits);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, -100, 100);
    launch(k, 3, BLOCK);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        want[i] = 0;
        for (int j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j / BLOCK != i / BLOCK)
                continue;
            int32_t value = j < COUNT ? in[j] : 0;
            want[i] += value < limits.low ? limits.low : value > limits.high ? limits.high : value;
        }
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

/* ---- indices and clocks ---- */

struct extent {
    uint32_t x, y, z;
};

void kernel_grid3d(void **state)
{
    struct kernel *k = *state;
    static const uint32_t grid[3] = {2, 3, 2}, block[3] = {5, 3, 4};
    struct extent size = {9, 8, 7};
    load_kernel(k, "flow/grid3d", "grid3d");
    add_argument(k, &size, sizeof size);
    uint32_t *out = add_buffer(k, 9 * 8 * 7 * sizeof *out), want[9 * 8 * 7];
    launch_3d(k, grid, block, 0);
    for (uint32_t z = 0, i = 0; z < size.z; z++) {
        for (uint32_t y = 0; y < size.y; y++) {
            for (uint32_t x = 0; x < size.x; x++, i++) {
                uint32_t b = (z / block[2] * grid[1] + y / block[1]) * grid[0] + x / block[0];
                uint32_t t = (z % block[2] * block[1] + y % block[1]) * block[0] + x % block[0];
                want[i] = b << 16 | t << 8 | 3;
            }
        }
    }
    CHECK_INTEGERS("out", out, want, FTH_COUNT(want));
}

void kernel_clocks(void **state)
{
    struct kernel *k = *state;
    enum { THREADS = 40, ROUNDS = 10 };
    load_kernel(k, "flow/grid3d", "clocks");
    ADD_ARGUMENT(k, int32_t, ROUNDS);
    uint32_t *out = add_buffer(k, THREADS * sizeof *out), want[THREADS];
    int64_t *elapsed = add_buffer(k, THREADS * sizeof *elapsed);
    launch(k, 1, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        want[i] = i;
        for (int j = 0; j < ROUNDS; j++)
            want[i] = want[i] * 1664525u + 1013904223u;
        if (elapsed[i] <= 0)
            fail_msg("thread %u: the clock advanced by %lld", i, (long long)elapsed[i]);
    }
    CHECK_INTEGERS("out", out, want, THREADS);
}

/* ---- nvcc's code generator for sm_100 and later ---- */

void kernel_newer(void **state)
{
    static void (*const checks[])(struct kernel *, const char *) = {
        check_collatz,    check_switch,     check_jump_table,
        check_call_depth, check_call_array, check_call_struct};
    for (size_t i = 0; i < FTH_COUNT(checks); i++)
        checks[i](*state, "flow/newer");
}
