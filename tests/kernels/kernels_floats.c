/* Tests of floats and doubles. Results that IEEE 754 defines must be equal bit for bit. The others
 * must be within the maximum errors that the CUDA C Programming Guide states ("Mathematical
 * Functions"). */
#include "kernel_helpers.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>

/* ---- programs ---- */

void kernel_saxpy(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 500 };
    const float a = 1.7f;
    load_kernel(k, "floats/saxpy", "saxpy");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, float, a);
    float *x = add_buffer(k, COUNT * sizeof *x), *y = add_buffer(k, COUNT * sizeof *y);
    fill_f32(k, x, COUNT, -1, 1);
    fill_f32(k, y, COUNT, -1, 1);
    float *want = copy_to_host(k, y, COUNT * sizeof *y);
    launch(k, 4, 128);
    for (int i = 0; i < COUNT; i++)
        want[i] = fmaf(a, x[i], want[i]);
    check_f32("y", y, want, COUNT, 0);
}

void kernel_spmv(void **state)
{
    struct kernel *k = *state;
    enum { ROWS = 90, COLUMNS = 70, MAX = 12 * ROWS };
    load_kernel(k, "floats/spmv", "spmv");
    ADD_ARGUMENT(k, int32_t, ROWS);
    int32_t *starts = add_buffer(k, (ROWS + 1) * sizeof *starts);
    int32_t *columns = add_buffer(k, MAX * sizeof *columns);
    float *values = add_buffer(k, MAX * sizeof *values);
    float *x = add_buffer(k, COLUMNS * sizeof *x);
    float *y = add_buffer(k, ROWS * sizeof *y), want[ROWS] = {0};
    fill_s32(k, columns, MAX, 0, COLUMNS - 1);
    fill_f32(k, values, MAX, -1, 1);
    fill_f32(k, x, COLUMNS, -1, 1);
    for (int i = 0; i < ROWS; i++) /* each row has 0 to 12 elements */
        starts[i + 1] = starts[i] + (int32_t)fth_rng_below(&k->rng, 13);
    launch(k, 3, 32);
    for (int row = 0; row < ROWS; row++)
        for (int i = starts[row]; i < starts[row + 1]; i++)
            want[row] = fmaf(values[i], x[columns[i]], want[row]);
    check_f32("y", y, want, ROWS, 0);
}

void kernel_kahan(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 64, WIDTH = 21 };
    load_kernel(k, "floats/doubles", "kahan");
    ADD_ARGUMENT(k, int32_t, WIDTH);
    double *in = add_buffer(k, COUNT * WIDTH * sizeof *in);
    double *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_f64(k, in, COUNT * WIDTH, -1, 1);
    for (int i = 0; i < COUNT; i++)
        in[i * WIDTH] = 1e16; /* a plain sum would lose the digits of the small terms */
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        double sum = 0, lost = 0;
        for (int j = 0; j < WIDTH; j++) {
            double term = in[i * WIDTH + j] - lost, next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        want[i] = sum;
    }
    check_f64("out", out, want, COUNT, 0);
}

void kernel_n_body(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 41 };
    const double softening = 0.01;
    load_kernel(k, "floats/doubles", "n_body");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, double, softening);
    double *bodies = add_buffer(k, 4 * COUNT * sizeof *bodies);
    double *out = add_buffer(k, 3 * COUNT * sizeof *out), want[3 * COUNT] = {0};
    fill_f64(k, bodies, 4 * COUNT, 0, 1);
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            double d[3];
            for (int axis = 0; axis < 3; axis++)
                d[axis] = bodies[4 * j + axis] - bodies[4 * i + axis];
            double square = fma(d[2], d[2], fma(d[0], d[0], d[1] * d[1])) + softening;
            double force = bodies[4 * j + 3] / (square * sqrt(square));
            for (int axis = 0; axis < 3; axis++)
                want[3 * i + axis] = fma(force, d[axis], want[3 * i + axis]);
        }
    }
    check_f64("out", out, want, 3 * COUNT, 0);
}

static double determinant(const double *in)
{
    double m[5][5], result = 1;
    memcpy(m, in, sizeof m);
    for (int c = 0; c < 5; c++) {
        int pivot = c;
        for (int i = c + 1; i < 5; i++)
            pivot = fabs(m[i][c]) > fabs(m[pivot][c]) ? i : pivot;
        if (m[pivot][c] == 0)
            return 0;
        for (int j = 0; j < 5 && pivot != c; j++) {
            double swap = m[pivot][j];
            m[pivot][j] = m[c][j];
            m[c][j] = swap;
        }
        result = (pivot != c ? -result : result) * m[c][c];
        for (int i = c + 1; i < 5; i++) {
            double factor = m[i][c] / m[c][c];
            for (int j = c + 1; j < 5; j++)
                m[i][j] = fma(-factor, m[c][j], m[i][j]); /* the engine fuses mul and sub */
        }
    }
    return result;
}

void kernel_lu(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 50 };
    load_kernel(k, "floats/lu", "lu");
    ADD_ARGUMENT(k, int32_t, COUNT);
    double *in = add_buffer(k, 25 * COUNT * sizeof *in);
    double *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    fill_f64(k, in, 25 * COUNT, -1, 1);
    for (int i = 0; i < 25; i += 5)
        in[25 + i + 2] = 0; /* the second matrix is singular */
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++)
        want[i] = determinant(in + 25 * i);
    check_f64("out", out, want, COUNT, 0);
}

/* ---- rounding ---- */

enum operation { ADD, MUL, FMA, DIV, SQRT, RCP };

static const int roundings[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};

/* The volatile variables prevent the compiler from moving the operation past the calls of
 * fesetround. */
static double f64_rounded(enum operation operation, int rounding, double a, double b)
{
    volatile double x = a, y = b, result = 0;
    fesetround(rounding);
    switch (operation) {
    case ADD: result = x + y; break;
    case MUL: result = x * y; break;
    case FMA: result = fma(x, y, -x); break;
    case DIV: result = x / y; break;
    case SQRT: result = sqrt(fabs(x)); break;
    case RCP: result = 1 / y; break;
    }
    fesetround(FE_TONEAREST);
    return result;
}

static float f32_rounded(enum operation operation, int rounding, float a, float b)
{
    volatile float x = a, y = b, result = 0;
    fesetround(rounding);
    switch (operation) {
    case ADD: result = x + y; break;
    case MUL: result = x * y; break;
    case FMA: result = fmaf(x, y, -x); break;
    case DIV: result = x / y; break;
    case SQRT: result = sqrtf(fabsf(x)); break;
    case RCP: result = 1 / y; break;
    }
    fesetround(FE_TONEAREST);
    return result;
}

void kernel_double_rounding(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 80 };
    static const double edge_values[][2] = {
        {0, 1},         {1, 0},          {-1, 0},      {0, 0},          {INFINITY, 2},
        {3, -INFINITY}, {NAN, 1},        {1e308, 10},  {-1e308, 1e308}, {5e-324, 3},
        {1e-300, 1e-9}, {1e-310, 7e300}, {1, 0x1p-60}, {-1, 0x1p-60},   {2.5, -2.5}};
    load_kernel(k, "floats/doubles", "double_rounding");
    ADD_ARGUMENT(k, int32_t, COUNT);
    double *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    double *out = add_buffer(k, 20 * COUNT * sizeof *out), want[20 * COUNT];
    fill_f64(k, a, COUNT, -10, 10);
    fill_f64(k, b, COUNT, -10, 10);
    for (size_t i = 0; i < FTH_COUNT(edge_values); i++) {
        a[i] = edge_values[i][0];
        b[i] = edge_values[i][1];
    }
    launch(k, 2, 64);
    for (int i = 0; i < 20 * COUNT; i++)
        want[i] = f64_rounded((enum operation)(i % 20 / 4), roundings[i % 4], a[i / 20], b[i / 20]);
    check_f64("out", out, want, 20 * COUNT, 0);
}

/* Fills a and b with edge values of single precision, followed by random values. */
static void fill_edge_pairs(struct kernel *k, float *a, float *b, size_t count)
{
    static const float edge_values[][2] = {{0, 1},           {1, 0},        {-1, 0},
                                           {0, 0},           {INFINITY, 2}, {3, -INFINITY},
                                           {NAN, 1},         {1, NAN},      {3e38f, 10},
                                           {-3e38f, 3e38f},  {1e-45f, 3},   {1e-38f, 1e-3f},
                                           {1e-40f, 7e37f},  {1, 0x1p-30f}, {-1, 0x1p-30f},
                                           {2.5f, -2.5f},    {0.5f, 1.5f},  {-0.5f, -1.5f},
                                           {1e-40f, 2e-40f}, {0.0f, -0.0f}, {1.1754944e-38f, 0.5f}};
    fill_f32(k, a, count, -10, 10);
    fill_f32(k, b, count, -10, 10);
    for (size_t i = 0; i < FTH_COUNT(edge_values) && i < count; i++) {
        a[i] = edge_values[i][0];
        b[i] = edge_values[i][1];
    }
}

void kernel_float_ieee(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 90, RESULTS = 20 };
    /* The operation of each result except the last, which is x y + 1. */
    static const struct {
        enum operation operation;
        int rounding; /* index in `roundings` */
    } cases[RESULTS - 1] = {{DIV, 0}, {SQRT, 0}, {RCP, 0},  {ADD, 1},  {ADD, 2}, {ADD, 3}, {MUL, 1},
                            {MUL, 2}, {MUL, 3},  {FMA, 1},  {FMA, 2},  {FMA, 3}, {DIV, 1}, {DIV, 2},
                            {DIV, 3}, {SQRT, 1}, {SQRT, 2}, {SQRT, 3}, {RCP, 1}};
    load_kernel(k, "floats/floats", "float_ieee");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *out = add_buffer(k, RESULTS * COUNT * sizeof *out), want[RESULTS * COUNT];
    fill_edge_pairs(k, a, b, COUNT);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < RESULTS - 1; j++)
            want[RESULTS * i + j] =
                f32_rounded(cases[j].operation, roundings[cases[j].rounding], a[i], b[i]);
        want[RESULTS * i + RESULTS - 1] = fmaf(a[i], b[i], 1);
    }
    check_f32("out", out, want, RESULTS * COUNT, 0);
}

/* ---- rounding to integers, minimum, maximum, comparisons ---- */

void kernel_double_pieces(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 70 };
    static const double edge_values[] = {
        0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.7, 1e-310, 4503599627370497.5};
    load_kernel(k, "floats/doubles", "double_pieces");
    ADD_ARGUMENT(k, int32_t, COUNT);
    double *in = add_buffer(k, COUNT * sizeof *in);
    double *out = add_buffer(k, 7 * COUNT * sizeof *out), want[7 * COUNT];
    int64_t *whole = add_buffer(k, 4 * COUNT * sizeof *whole), want_whole[4 * COUNT];
    fill_f64(k, in, COUNT, -1e6, 1e6);
    memcpy(in, edge_values, sizeof edge_values);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        double x = in[i], *w = want + 7 * i;
        w[0] = floor(x);
        w[1] = ceil(x);
        w[2] = trunc(x);
        w[3] = rint(x);
        w[4] = x < 2.5 ? x : 2.5;
        w[5] = fabs(x) > 3.0 ? fabs(x) : 3.0;
        w[6] = copysign(1.0 / x, -x);
        want_whole[4 * i] = (int64_t)x;
        want_whole[4 * i + 1] = (int64_t)rint(x);
        want_whole[4 * i + 2] = ceil(x) > INT32_MAX ? INT32_MAX : (int64_t)ceil(x);
        double narrow = (float)x;
        memcpy(&want_whole[4 * i + 3], &narrow, sizeof narrow);
    }
    check_f64("out", out, want, 7 * COUNT, 0);
    CHECK_INTEGERS("whole", whole, want_whole, 4 * COUNT);
}

/* min and max as PTX defines them: if one operand is NaN, the result is the other one; -0 is less
 * than +0. */
static float ptx_min(float x, float y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) ? y : x;
    return x < y || (x == y && signbit(x)) ? x : y;
}

static float ptx_max(float x, float y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) ? y : x;
    return x > y || (x == y && !signbit(x)) ? x : y;
}

void kernel_float_compare(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 60 };
    load_kernel(k, "floats/floats", "float_compare");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *out = add_buffer(k, 6 * COUNT * sizeof *out), want[6 * COUNT];
    uint32_t *flags = add_buffer(k, COUNT * sizeof *flags), want_flags[COUNT];
    fill_edge_pairs(k, a, b, COUNT);
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        float x = a[i], y = b[i], *w = want + 6 * i;
        w[0] = ptx_min(x, y);
        w[1] = ptx_max(x, y);
        w[2] = x > 1 ? 1 : x > 0 ? x : 0; /* 0 for NaN */
        w[3] = copysignf(x, y);
        w[4] = floorf(x) + ceilf(y);
        w[5] = rintf(x) - truncf(y);
        bool facts[12] = {x<y, x <= y, x> y, x >= y,   x == y,   x != y,     !(x < y),
                          !(x >= y),         isnan(x), isinf(y), signbit(x), isfinite(y)};
        want_flags[i] = 0;
        for (int j = 0; j < 12; j++)
            want_flags[i] |= (uint32_t)facts[j] << j;
    }
    check_f32("out", out, want, 6 * COUNT, 0);
    CHECK_INTEGERS("flags", flags, want_flags, COUNT);
}

/* ---- functions ---- */

/* The Programming Guide states errors relative to the correctly rounded result. The tests compute
 * it in double precision and round to float, which is correct except in very rare cases. */
struct f32_function {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
    int argument; /* argument of `one`: 0 for a, 1 for b */
    uint32_t ulps;
};

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double power(double exponent, double base)
{
    return pow(base, exponent);
}

void kernel_math_floats(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100, RESULTS = 12 };
    static const struct f32_function functions[RESULTS] = {
        {"sinf", sin, NULL, 0, 2},     {"cosf", cos, NULL, 0, 2},   {"expf", exp, NULL, 0, 2},
        {"logf", log, NULL, 1, 1},     {"powf", NULL, power, 0, 4}, {"tanf", tan, NULL, 0, 4},
        {"atan2f", NULL, atan2, 0, 3}, {"tanhf", tanh, NULL, 0, 2}, {"rsqrtf", rsqrt, NULL, 1, 2},
        {"cbrtf", cbrt, NULL, 0, 1},   {"log2f", log2, NULL, 1, 1}, {"fmodf", NULL, fmod, 0, 0}};
    static const float edge_values[][2] = {{0, 1},          {1e5f, 1e-5f},   {-2e6f, 3},
                                           {1e10f, 1e-40f}, {3e38f, 3e38f},  {-100, 0.5f},
                                           {88.5f, 1.5f},   {-103, 1.0001f}, {1e-40f, 1e-30f},
                                           {0.5f, 2},       {33, 10},        {90, 0.1f}};
    load_kernel(k, "floats/math_floats", "math_floats");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *out = add_buffer(k, RESULTS * COUNT * sizeof *out);
    fill_f32(k, a, COUNT, -20, 20);
    fill_f32(k, b, COUNT, 0.01f, 20);
    for (size_t i = 0; i < FTH_COUNT(edge_values); i++) {
        a[i] = edge_values[i][0];
        b[i] = edge_values[i][1];
    }
    launch(k, 4, 32);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < RESULTS; j++) {
            const struct f32_function *f = &functions[j];
            float want = (float)(f->one ? f->one((double)(f->argument ? b : a)[i])
                                        : f->two((double)a[i], (double)b[i]));
            char what[64];
            snprintf(what, sizeof what, "%s(%.9g, %.9g)", f->name, (double)a[i], (double)b[i]);
            check_f32(what, &out[RESULTS * i + j], &want, 1, f->ulps);
        }
    }
}

static long double rsqrt_long(long double x)
{
    return 1 / sqrtl(x);
}

static long double power_long(long double exponent, long double base)
{
    return powl(base, exponent);
}

void kernel_math_doubles(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 60, RESULTS = 8 };
    /* The references are long double, because the C library's double functions can be wrong by 1
     * ulp. */
    static const struct {
        const char *name;
        long double (*one)(long double);
        long double (*two)(long double, long double);
        int argument;
        uint64_t ulps;
    } functions[RESULTS] = {{"exp", expl, NULL, 0, 1},       {"log", logl, NULL, 1, 1},
                            {"sin", sinl, NULL, 0, 2},       {"cos", cosl, NULL, 0, 2},
                            {"pow", NULL, power_long, 0, 2}, {"rsqrt", rsqrt_long, NULL, 1, 1},
                            {"atan", atanl, NULL, 0, 2},     {"fmod", NULL, fmodl, 0, 0}};
    static const double edge_values[][2] = {{0, 1},         {1e6, 1e-5},    {-3e9, 3},
                                            {1e22, 1e-310}, {-700, 0.5},    {709.5, 1.01},
                                            {-740, 1.0001}, {1e-300, 1e300}};
    load_kernel(k, "floats/math_doubles", "math_doubles");
    ADD_ARGUMENT(k, int32_t, COUNT);
    double *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    double *out = add_buffer(k, RESULTS * COUNT * sizeof *out);
    fill_f64(k, a, COUNT, -20, 20);
    fill_f64(k, b, COUNT, 0.01, 20);
    for (size_t i = 0; i < FTH_COUNT(edge_values); i++) {
        a[i] = edge_values[i][0];
        b[i] = edge_values[i][1];
    }
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < RESULTS; j++) {
            double want =
                (double)(functions[j].one
                             ? functions[j].one((long double)(functions[j].argument ? b : a)[i])
                             : functions[j].two((long double)a[i], (long double)b[i]));
            char what[80];
            snprintf(what, sizeof what, "%s(%.17g, %.17g)", functions[j].name, a[i], b[i]);
            check_f64(what, &out[RESULTS * i + j], &want, 1, functions[j].ulps);
        }
    }
}

/* Returns the value of one ulp of a float of magnitude x. */
static double ulp(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 24);
}

void kernel_fast_math(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 80, RESULTS = 10 };
    static const char *const names[RESULTS] = {"__fdividef", "x / y",  "sqrtf",  "rsqrtf", "__expf",
                                               "__logf",     "__sinf", "__cosf", "__powf", "exp2f"};
    load_kernel(k, "floats/fast_math", "fast_math");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *out = add_buffer(k, RESULTS * COUNT * sizeof *out);
    fill_f32(k, a, COUNT, -3.14f,
             3.14f); /* the range for which errors of __sinf and __cosf are stated */
    fill_f32(k, b, COUNT, 0.01f, 20);
    launch(k, 3, 32);
    for (int i = 0; i < COUNT; i++) {
        double x = a[i], y = b[i];
        double want[RESULTS] = {x / y,  x / y,  sqrt(y), 1 / sqrt(y), exp(x),
                                log(y), sin(x), cos(x),  pow(y, x),   exp2(x)};
        /* __powf(y, x) is exp2f(x * __log2f(y)). Its error includes that of the exponent: x times
         * the error of __log2f plus the rounding of the product. */
        double log_error = y > 0.5 && y < 2 ? 0x1p-21 : 2 * ulp(log2(y));
        double power_error = fabs(x) * log_error + ulp(x * log2(y));
        double bounds[RESULTS] = {2 * ulp(want[0]),
                                  2 * ulp(want[1]),
                                  1 * ulp(want[2]),
                                  2 * ulp(want[3]),
                                  (2 + floor(fabs(1.173 * x))) * ulp(want[4]),
                                  y >= 0.5 && y <= 2 ? exp2(-21.41) : 3 * ulp(want[5]),
                                  exp2(-21.41),
                                  exp2(-21.19),
                                  2 * ulp(want[8]) + want[8] * power_error,
                                  2 * ulp(want[9])};
        for (int j = 0; j < RESULTS; j++) /* plus half an ulp: `want` is not rounded to float */
            check_near(names[j], (size_t)i, (double)out[RESULTS * i + j], want[j],
                       bounds[j] + ulp(want[j]) / 2);
    }
}

static float flush_subnormal(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

void kernel_flush(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 64 };
    load_kernel(k, "floats/fast_math", "flush");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *out = add_buffer(k, 5 * COUNT * sizeof *out), want[5 * COUNT];
    fill_edge_pairs(k, a, b, COUNT);
    for (int i = 32; i < COUNT; i++) { /* values near the smallest normal number */
        a[i] *= 1e-38f;
        b[i] *= i % 2 ? 1e-38f : 0.5f;
    }
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++) {
        float x = flush_subnormal(a[i]), y = flush_subnormal(b[i]), *w = want + 5 * i;
        w[0] = flush_subnormal(x + y);
        w[1] = flush_subnormal(x * y);
        w[2] = flush_subnormal(x + w[1]);
        w[3] = ptx_max(x, y);
        w[4] = x < y ? 1 : 2;
    }
    check_f32("out", out, want, 5 * COUNT, 0);
}
