/* Tests of f16 and bf16. The references compute in double precision and round once. For the input
 * here, a double represents a product of two halves plus a third half exactly. */
#include "kernel_helpers.h"

#include <math.h>

enum rounding { NEAREST, TOWARD_ZERO, UP, DOWN };

/* Rounds x to `digits` binary digits, of which the last has the value 2^min_exponent or more.
 * Beyond `max`, the result is infinity or `max`, depending on the rounding. */
static double rounded(double x, int digits, int min_exponent, double max, enum rounding rounding)
{
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    int exponent;
    frexp(x, &exponent);
    double unit = ldexp(1, exponent - digits < min_exponent ? min_exponent : exponent - digits);
    double (*const whole[])(double) = {rint, trunc, ceil, floor};
    double result = copysign(whole[rounding](x / unit) * unit, x);
    if (fabs(result) <= max)
        return result;
    bool away = rounding == NEAREST || (rounding == UP && x > 0) || (rounding == DOWN && x < 0);
    return copysign(away ? INFINITY : max, x);
}

static double f16_rounded(double x, enum rounding rounding)
{
    return rounded(x, 11, -24, 65504, rounding);
}

static double bf16_rounded(double x)
{
    return rounded(x, 8, -133, 0x1.fep127, NEAREST);
}

static double f16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

/* Returns the encoding of x, which f16 must represent exactly. */
static uint16_t f16_bits(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    if (isnan(x))
        return 0x7fff;
    if (isinf(x))
        return sign | 0x7c00;
    frexp(x, &exponent);
    if (x == 0 || exponent < -13) /* subnormal */
        return (uint16_t)(sign | (int)ldexp(fabs(x), 24));
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexp(fabs(x), 11 - exponent) - 1024));
}

static double bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static uint16_t bf16_bits(double x)
{
    float value = (float)x;
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    return (uint16_t)(wide >> 16);
}

static void check_halves(const char *what, const uint16_t *got, const uint16_t *want, int count)
{
    for (int i = 0; i < count; i++)
        if (got[i] != want[i] && !(isnan(f16_value(got[i])) && isnan(f16_value(want[i]))))
            fail_msg("%s[%d]: got %.7g (0x%04x), expected %.7g (0x%04x)", what, i,
                     f16_value(got[i]), got[i], f16_value(want[i]), want[i]);
}

static void fill_f16(struct kernel *k, uint16_t *to, int count, float low, float high)
{
    for (int i = 0; i < count; i++) {
        float value;
        fill_f32(k, &value, 1, low, high);
        to[i] = f16_bits(f16_rounded((double)value, NEAREST));
    }
}

static void fill_bf16(struct kernel *k, uint16_t *to, int count, float low, float high)
{
    for (int i = 0; i < count; i++) {
        float value;
        fill_f32(k, &value, 1, low, high);
        to[i] = bf16_bits(bf16_rounded((double)value));
    }
}

static double saturate(double x)
{
    return x > 1 ? 1 : x > 0 ? x : 0; /* 0 for NaN */
}

void kernel_half_scalar(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    static const uint16_t edge_values[][2] = {
        {0x0000, 0x8000}, {0x7c00, 0x3c00}, {0x7c00, 0xfc00}, {0x7e00, 0x3c00}, {0x0001, 0x0001},
        {0x7bff, 0x7bff}, {0x03ff, 0x0001}, {0x0400, 0x8001}, {0x3c00, 0x1000}, {0x0200, 0x3800}};
    load_kernel(k, "halves/halves", "half_scalar");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint16_t *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    uint16_t *out = add_buffer(k, 8 * COUNT * sizeof *out), want[8 * COUNT];
    uint32_t *flags = add_buffer(k, COUNT * sizeof *flags), want_flags[COUNT];
    fill_f16(k, a, COUNT, -4, 4);
    fill_f16(k, b, COUNT, -4, 4);
    for (size_t i = 0; i < FTH_COUNT(edge_values); i++) {
        a[i] = edge_values[i][0];
        b[i] = edge_values[i][1];
    }
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        double x = f16_value(a[i]), y = f16_value(b[i]);
        double exact[8] = {x + y, x - y, x * y, fma(x, y, x), 0, 0, x + y, fma(x, y, y)};
        for (int j = 0; j < 8; j++) {
            double result = f16_rounded(exact[j], NEAREST);
            want[8 * i + j] = f16_bits(j < 6 ? result : saturate(result));
        }
        want[8 * i + 4] = a[i] ^ 0x8000;
        want[8 * i + 5] = b[i] & 0x7fff;
        want_flags[i] = (uint32_t)((x < y) | (x >= y) << 1 | (x == x) << 2 | (x < y || x > y) << 3);
    }
    check_halves("out", out, want, 8 * COUNT);
    CHECK_INTEGERS("flags", flags, want_flags, COUNT);
}

struct half2 {
    uint16_t low, high;
};

void kernel_half_pairs(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    struct half2 scale = {f16_bits(1.5), f16_bits(-0.3330078125)};
    load_kernel(k, "halves/halves", "half_pairs");
    ADD_ARGUMENT(k, int32_t, COUNT);
    add_argument(k, &scale, sizeof scale);
    uint16_t *x = add_buffer(k, 2 * COUNT * sizeof *x), *y = add_buffer(k, 2 * COUNT * sizeof *y);
    float *sums = add_buffer(k, COUNT * sizeof *sums), want_sums[COUNT];
    fill_f16(k, x, 2 * COUNT, -4, 4);
    fill_f16(k, y, 2 * COUNT, -4, 4);
    uint16_t *before = copy_to_host(k, y, 2 * COUNT * sizeof *y), want[2 * COUNT];
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        double v[2], w[2];
        for (int j = 0; j < 2; j++) {
            double s = f16_value(j ? scale.high : scale.low);
            double p = f16_value(x[2 * i + j]), q = f16_value(before[2 * i + j]);
            v[j] = f16_rounded(s * p + q, NEAREST);
            w[j] = f16_rounded(v[j] * p - q, NEAREST); /* the engine fuses mul and sub */
        }
        want[2 * i] = f16_bits(v[0]);
        want[2 * i + 1] = f16_bits(w[0]);
        want_sums[i] = (float)v[0] + (float)w[1];
    }
    check_halves("y", y, want, 2 * COUNT);
    check_f32("sums", sums, want_sums, COUNT, 0);
}

static int32_t as_int(double whole)
{
    return isnan(whole)         ? 0
           : whole >= INT32_MAX ? INT32_MAX
           : whole <= INT32_MIN ? INT32_MIN
                                : (int32_t)whole;
}

void kernel_half_convert(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 120 };
    static const float edge_values[] = {0,        -0.0f, 65504,     65519,  65520,    -65520,
                                        1e6f,     1e-8f, 6e-8f,     -3e-8f, 2.98e-8f, 1e-5f,
                                        INFINITY, NAN,   2049,      2051,   -1e-8f,   6.1e-5f,
                                        0.5f,     -2.5f, -INFINITY, 1e-40f, 70000};
    load_kernel(k, "halves/halves", "half_convert");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *in = add_buffer(k, COUNT * sizeof *in);
    uint16_t *halves = add_buffer(k, 4 * COUNT * sizeof *halves), want[4 * COUNT];
    float *back = add_buffer(k, COUNT * sizeof *back), want_back[COUNT];
    int32_t *whole = add_buffer(k, 3 * COUNT * sizeof *whole), want_whole[3 * COUNT];
    fill_f32(k, in, COUNT, -10, 10);
    memcpy(in, edge_values, sizeof edge_values);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < 4; j++)
            want[4 * i + j] = f16_bits(f16_rounded((double)in[i], (enum rounding)j));
        double half = f16_rounded((double)in[i], NEAREST);
        want_back[i] = (float)half;
        want_whole[3 * i] = as_int(rint(half));
        want_whole[3 * i + 1] = as_int(trunc(half));
        want_whole[3 * i + 2] = (int16_t)f16_bits(f16_rounded(3 * i - 700, NEAREST));
    }
    check_halves("halves", halves, want, 4 * COUNT);
    check_f32("back", back, want_back, COUNT, 0);
    CHECK_INTEGERS("whole", whole, want_whole, 3 * COUNT);
}

void kernel_bf16_axpy(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150 };
    const uint16_t a = bf16_bits(-1.3359375);
    load_kernel(k, "halves/bfloats", "bf16_axpy");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, uint16_t, a);
    uint16_t *x = add_buffer(k, COUNT * sizeof *x), *y = add_buffer(k, COUNT * sizeof *y);
    fill_bf16(k, x, COUNT, -8, 8);
    fill_bf16(k, y, COUNT, -8, 8);
    uint16_t *want = copy_to_host(k, y, COUNT * sizeof *y);
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++)
        want[i] = bf16_bits(bf16_rounded(bf16_value(a) * bf16_value(x[i]) + bf16_value(want[i])));
    CHECK_INTEGERS("y", y, want, COUNT);
}

void kernel_bf16_pairs(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "halves/bfloats", "bf16_pairs");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint16_t *x = add_buffer(k, 2 * COUNT * sizeof *x), *y = add_buffer(k, 2 * COUNT * sizeof *y);
    uint16_t *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    float *back = add_buffer(k, COUNT * sizeof *back), want_back[COUNT];
    fill_bf16(k, x, 2 * COUNT, -8, 8);
    fill_bf16(k, y, 2 * COUNT, -8, 8);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        double v[2], w[2];
        for (int j = 0; j < 2; j++) {
            double p = bf16_value(x[2 * i + j]), q = bf16_value(y[2 * i + j]);
            v[j] = bf16_rounded(p * q);
            w[j] = bf16_rounded(p + q);
            want[4 * i + j] = bf16_bits(v[j] > w[j] ? v[j] : w[j]);
        }
        want[4 * i + 2] = bf16_bits(bf16_rounded((double)((float)w[0] * 1.1f)));
        want[4 * i + 3] = bf16_bits(bf16_rounded((double)((float)v[1] / 3.0f)));
        want_back[i] = (float)bf16_rounded(v[0] - w[0]);
    }
    CHECK_INTEGERS("out", out, want, 4 * COUNT);
    check_f32("back", back, want_back, COUNT, 0);
}
