/* Tests of integers: single instructions, 128-bit arithmetic, conversions, operations on the bytes
 * and half-words of a word, division. */
#include "kernel_helpers.h"

#include <fenv.h>
#include <math.h>

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/* ---- bits ---- */

static uint32_t bit_count(uint64_t x)
{
    uint32_t count = 0;
    for (; x; x &= x - 1)
        count++;
    return count;
}

static uint32_t leading_zeros(uint64_t x, int width)
{
    uint32_t count = 0;
    for (int i = width - 1; i >= 0 && !(x >> i & 1); i--)
        count++;
    return count;
}

static uint64_t reversed(uint64_t x, int width)
{
    uint64_t result = 0;
    for (int i = 0; i < width; i++)
        result |= (x >> i & 1) << (width - 1 - i);
    return result;
}

static uint32_t first_set(uint64_t x)
{
    for (uint32_t i = 0; i < 64; i++)
        if (x >> i & 1)
            return i + 1;
    return 0;
}

static int64_t sign_extended(uint64_t x, int width)
{
    return (int64_t)(x << (64 - width)) >> (64 - width);
}

static uint32_t permuted(uint32_t x, uint32_t y, uint32_t selector)
{
    uint64_t bytes = (uint64_t)y << 32 | x;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++)
        result |= (uint32_t)(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return result;
}

/* funnel_left returns the high word of hi:lo << by, funnel_right the low word of hi:lo >> by. */
static uint32_t funnel_left(uint32_t lo, uint32_t hi, uint32_t by)
{
    return (uint32_t)(((uint64_t)hi << 32 | lo) << by >> 32);
}

static uint32_t funnel_right(uint32_t lo, uint32_t hi, uint32_t by)
{
    return (uint32_t)(((uint64_t)hi << 32 | lo) >> by);
}

static uint32_t at_most_32(uint32_t x)
{
    return x < 32 ? x : 32;
}

static void reference_bits(uint32_t x, uint32_t y, uint32_t *o)
{
    int64_t sx = (int32_t)x, sy = (int32_t)y;
    o[0] = bit_count(x);
    o[1] = leading_zeros(x, 32);
    o[2] = (uint32_t)reversed(x, 32);
    o[3] = first_set(x);
    o[4] = (uint32_t)((uint64_t)x * y >> 32);
    o[5] = (uint32_t)(sx * sy >> 32);
    o[6] = (x & 0xffffff) * (y & 0xffffff);
    o[7] = (uint32_t)(sign_extended(x, 24) * sign_extended(y, 24));
    o[8] = permuted(x, y, 0x3715);
    o[9] = permuted(x, y, y & 0x7777);
    o[10] = funnel_left(x, y, y & 31);
    o[11] = funnel_right(x, y, x & 31);
    o[12] = funnel_left(x, y, at_most_32(y & 63));
    o[13] = funnel_right(x, y, at_most_32(x & 63));
    o[14] = x ^ y;
    o[15] = x;
    for (int i = 0; i < 32; i += 8) {
        o[14] += (uint32_t)((int8_t)(x >> i) * (int8_t)(y >> i));
        o[15] += (x >> i & 255) * (y >> i & 255);
    }
    o[16] = x >> 7 & 0x1fff;
    o[17] = (x & ~0xff00u) | (y & 0xff) << 8;
    o[18] = (x > y ? x - y : y - x) + 5;
    o[19] = (uint32_t)(((uint64_t)x + y) >> 1) + (uint32_t)((sx + sy + 1) >> 1);
    o[20] = (uint32_t)((int32_t)(x << 9) >> 21);
    o[21] = (x & ~y) | (~x & (y ^ 0xaaaaaaaau));
}

/* Runs a kernel with the parameters (n, a, b, out) on `count` pairs of integers of `size` bytes:
 * first edge values, then random values. Returns the host pointers to a, b and out. */
static void run_pairs(struct kernel *k, const char *file, const char *name, int count, size_t size,
                      const void **a, const void **b, void **out, size_t out_bytes)
{
    static const uint64_t edge_values[] = {
        0, 1, UINT64_MAX, INT64_MAX, 1ull << 63, 0x8000000080000000, 0x7fffffff, 0xffffff};
    load_kernel(k, file, name);
    ADD_ARGUMENT(k, int32_t, count);
    size_t bytes = (size_t)count * size;
    unsigned char *x = add_buffer(k, bytes), *y = add_buffer(k, bytes);
    fill_bytes(k, x, bytes);
    fill_bytes(k, y, bytes);
    for (size_t i = 0; i < FTH_COUNT(edge_values); i++) {
        memcpy(x + i * size, &edge_values[i], size < 8 ? size : 8);
        if (i % 2)
            memcpy(y + i * size, &edge_values[FTH_COUNT(edge_values) - 1 - i], size < 8 ? size : 8);
    }
    *a = x;
    *b = y;
    *out = add_buffer(k, (size_t)count * out_bytes);
    launch(k, ((uint32_t)count + 63) / 64, 64);
}

void kernel_bits(void **state)
{
    enum { COUNT = 100, RESULTS = 22 };
    const void *a, *b;
    void *out;
    uint32_t want[RESULTS * COUNT];
    run_pairs(*state, "integers/integers", "bits", COUNT, 4, &a, &b, &out, 4 * RESULTS);
    for (int i = 0; i < COUNT; i++)
        reference_bits(((const uint32_t *)a)[i], ((const uint32_t *)b)[i], want + RESULTS * i);
    CHECK_INTEGERS("out", (uint32_t *)out, want, RESULTS * COUNT);
}

void kernel_wide(void **state)
{
    enum { COUNT = 90, RESULTS = 14 };
    const void *a, *b;
    void *out;
    uint64_t want[RESULTS * COUNT];
    run_pairs(*state, "integers/integers", "wide", COUNT, 8, &a, &b, &out, 8 * RESULTS);
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = ((const uint64_t *)a)[i], y = ((const uint64_t *)b)[i],
                 *o = want + RESULTS * i;
        o[0] = x * y;
        o[1] = (uint64_t)((u128)x * y >> 64);
        o[2] = (uint64_t)((s128)(int64_t)x * (int64_t)y >> 64);
        o[3] = bit_count(x);
        o[4] = leading_zeros(x, 64);
        o[5] = reversed(x, 64);
        o[6] = first_set(x);
        o[7] = x << (y & 63) | y >> (x & 63);
        o[8] = (uint64_t)((int64_t)x >> (y & 63));
        o[9] = (uint64_t)(uint32_t)x * (uint32_t)y + x;
        o[10] = (uint64_t)((int64_t)(int32_t)x * (int32_t)y);
        o[11] = x > y ? x - y : y - x;
        o[12] = (int64_t)x < (int64_t)y ? x : y;
        o[13] = x % 1000003 + y / 12345678901u;
    }
    CHECK_INTEGERS("out", (uint64_t *)out, want, RESULTS * COUNT);
}

/* bfe and bfi bit by bit, as the PTX ISA describes them. */
static uint32_t extracted(uint32_t x, uint32_t start, uint32_t length, bool sign)
{
    uint32_t last = start + length < 32 ? start + length : 32, fill = 0, result = 0;
    if (sign && length > 0)
        fill = x >> (last - 1 < 31 ? last - 1 : 31) & 1;
    for (uint32_t i = 0; i < 32; i++)
        result |= (i < length && start + i < 32 ? x >> (start + i) & 1 : fill) << i;
    return result;
}

static uint32_t inserted(uint32_t field, uint32_t into, uint32_t start, uint32_t length)
{
    for (uint32_t i = 0; i < length && start + i < 32; i++)
        into = (into & ~(1u << (start + i))) | (field >> i & 1) << (start + i);
    return into;
}

void kernel_fields(void **state)
{
    enum { COUNT = 150, RESULTS = 8 };
    const void *a, *b;
    void *out;
    uint32_t want[RESULTS * COUNT];
    run_pairs(*state, "integers/integers", "fields", COUNT, 4, &a, &b, &out, 4 * RESULTS);
    for (int i = 0; i < COUNT; i++) {
        uint32_t x = ((const uint32_t *)a)[i], y = ((const uint32_t *)b)[i],
                 *o = want + RESULTS * i;
        uint32_t start = y & 63, length = y >> 8 & 63, unlike_sign = x >> 31 ? ~x : x;
        o[0] = extracted(x, start, length, false);
        o[1] = extracted(x, start, length, true);
        o[2] = inserted(x, y, start, length);
        o[3] = x ? 31 - leading_zeros(x, 32) : UINT32_MAX;
        o[4] = unlike_sign ? 31 - leading_zeros(unlike_sign, 32) : UINT32_MAX;
        o[5] = y ? leading_zeros(y, 32) : UINT32_MAX;
        o[6] = x ^ y ^ start;
        o[7] = (uint32_t)(sign_extended(x, 24) * sign_extended(y, 24)) + length;
    }
    CHECK_INTEGERS("out", (uint32_t *)out, want, RESULTS * COUNT);
}

/* ---- 128 bits ---- */

void kernel_int128(void **state)
{
    enum { COUNT = 60 };
    const void *a, *b;
    void *out;
    uint64_t want[12 * COUNT];
    run_pairs(*state, "integers/int128", "int128", COUNT, 16, &a, &b, &out, 12 * 8);
    for (int i = 0; i < COUNT; i++) {
        u128 x, y;
        memcpy(&x, (const char *)a + 16 * i, 16);
        memcpy(&y, (const char *)b + 16 * i, 16);
        u128 results[5] = {x + y, x - y, x * y, x >> (unsigned)(y & 127), x << 37 | y >> 91};
        for (int j = 0; j < 5; j++) {
            want[12 * i + 2 * j] = (uint64_t)results[j];
            want[12 * i + 2 * j + 1] = (uint64_t)(results[j] >> 64);
        }
        want[12 * i + 10] = x < y;
        want[12 * i + 11] = (s128)x < (s128)y;
    }
    CHECK_INTEGERS("out", (uint64_t *)out, want, 12 * COUNT);
}

void kernel_carry(void **state)
{
    enum { COUNT = 60 };
    const void *a, *b;
    void *out;
    u128 want[3 * COUNT];
    run_pairs(*state, "integers/int128", "carry", COUNT, 16, &a, &b, &out, 48);
    for (int i = 0; i < COUNT; i++) {
        u128 x, y;
        memcpy(&x, (const char *)a + 16 * i, 16);
        memcpy(&y, (const char *)b + 16 * i, 16);
        want[3 * i] = x + y;
        want[3 * i + 1] = x - y;
        want[3 * i + 2] = (u128)(uint64_t)x * (uint64_t)y;
    }
    CHECK_INTEGERS("out", (uint64_t *)out, (uint64_t *)want, 6 * COUNT);
}

/* ---- conversions ---- */

/* Converts a rounded number to an integer of `bits` bits. Values out of range become the nearest
 * integer of the type. A NaN becomes 0, or 1 << 63 for 64-bit integers (PTX ISA, cvt). */
static uint64_t saturated(double rounded, int bits, bool sign)
{
    double low = sign ? -ldexp(1, bits - 1) : 0, high = ldexp(1, sign ? bits - 1 : bits);
    uint64_t max = sign ? (1ull << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (isnan(rounded))
        return bits == 64 ? 1ull << 63 : 0;
    if (rounded >= high)
        return max;
    if (rounded <= low)
        return sign ? ~max : 0;
    return sign ? (uint64_t)(int64_t)rounded : (uint64_t)rounded;
}

void kernel_float_to_int(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 120 };
    static const float edge_values[] = {
        0.5f,   -0.5f, 1.5f,     2.5f,      -1.5f, 3e9f,          -3e9f,         5e9f,  1e19f,
        -1e19f, 3e19f, INFINITY, -INFINITY, NAN,   2147483520.0f, 2147483648.0f, -0.0f, 1e-40f};
    load_kernel(k, "integers/convert", "float_to_int");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, 6 * COUNT * sizeof *out), want[6 * COUNT];
    uint64_t *wide = add_buffer(k, 2 * COUNT * sizeof *wide), want_wide[2 * COUNT];
    fill_f32(k, in, COUNT, -100, 100);
    fill_f32(k, in + COUNT / 2, COUNT / 2, -1e10f, 1e10f);
    memcpy(in, edge_values, sizeof edge_values);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        double x = in[i];
        want[6 * i] = (uint32_t)saturated(trunc(x), 32, true);
        want[6 * i + 1] = (uint32_t)saturated(rint(x), 32, true);
        want[6 * i + 2] = (uint32_t)saturated(ceil(x), 32, true);
        want[6 * i + 3] = (uint32_t)saturated(floor(x), 32, true);
        want[6 * i + 4] = (uint32_t)saturated(trunc(x), 32, false);
        want[6 * i + 5] = (uint32_t)saturated(rint(x), 32, false);
        want_wide[2 * i] = saturated(trunc(x), 64, true);
        want_wide[2 * i + 1] = saturated(rint(x), 64, false);
    }
    CHECK_INTEGERS("out", out, want, 6 * COUNT);
    CHECK_INTEGERS("wide", wide, want_wide, 2 * COUNT);
}

void kernel_int_to_float(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "integers/convert", "int_to_float");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int64_t *in = add_buffer(k, COUNT * sizeof *in);
    float *out = add_buffer(k, 6 * COUNT * sizeof *out), want[6 * COUNT];
    double *wide = add_buffer(k, 3 * COUNT * sizeof *wide), want_wide[3 * COUNT];
    fill_bytes(k, in, COUNT * sizeof *in);
    in[0] = INT64_MIN;
    in[1] = -1;
    in[2] = 16777217;
    in[3] = 0;
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        volatile int64_t x = in[i]; /* keeps the conversions between calls of fesetround */
        want[6 * i] = (float)(int32_t)x;
        want[6 * i + 1] = (float)(uint32_t)x;
        want[6 * i + 2] = (float)x;
        want[6 * i + 3] = (float)(uint64_t)x;
        want_wide[3 * i] = (double)(int32_t)x;
        want_wide[3 * i + 1] = (double)x;
        volatile float narrow;
        volatile double rounded;
        fesetround(FE_TOWARDZERO);
        narrow = (float)(int32_t)x;
        want[6 * i + 4] = narrow;
        fesetround(FE_UPWARD);
        narrow = (float)(uint64_t)x;
        want[6 * i + 5] = narrow;
        fesetround(FE_DOWNWARD);
        rounded = (double)(uint64_t)x;
        want_wide[3 * i + 2] = x ? rounded : 0; /* clang converts 0 to -0 here */
        fesetround(FE_TONEAREST);
    }
    check_f32("out", out, want, 6 * COUNT, 0);
    check_f64("wide", wide, want_wide, 3 * COUNT, 0);
}

void kernel_small_types(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "integers/convert", "small_types");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int8_t *a = add_buffer(k, COUNT);
    int16_t *b = add_buffer(k, COUNT * sizeof *b);
    uint8_t *c = add_buffer(k, COUNT), want_c[COUNT];
    uint16_t *d = add_buffer(k, COUNT * sizeof *d), want_d[COUNT];
    uint8_t *e = add_buffer(k, COUNT), want_e[COUNT];
    uint16_t *f = add_buffer(k, COUNT * sizeof *f), want_f[COUNT];
    fill_bytes(k, a, COUNT);
    fill_bytes(k, b, COUNT * sizeof *b);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        want_c[i] = (uint8_t)(a[i] * 3 - b[i]);
        want_d[i] = (uint16_t)(b[i] / (a[i] | 1) + (b[i] >> 3));
        want_e[i] = (uint8_t)((uint8_t)a[i] > (uint8_t)(b[i] >> 4) ? a[i] : b[i]);
        want_f[i] = (uint16_t)((uint16_t)b[i] % 1000 + (uint8_t)a[i] * 257);
    }
    CHECK_INTEGERS("c", c, want_c, COUNT);
    CHECK_INTEGERS("d", d, want_d, COUNT);
    CHECK_INTEGERS("e", e, want_e, COUNT);
    CHECK_INTEGERS("f", f, want_f, COUNT);
}

/* ---- bytes and half-words of a word ---- */

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

void kernel_simd(void **state)
{
    enum { COUNT = 100, RESULTS = 12 };
    const void *a, *b;
    void *out;
    uint32_t want[RESULTS * COUNT] = {0};
    run_pairs(*state, "integers/simd", "simd", COUNT, 4, &a, &b, &out, 4 * RESULTS);
    for (int i = 0; i < COUNT; i++) {
        uint32_t x = ((const uint32_t *)a)[i], y = ((const uint32_t *)b)[i],
                 *o = want + RESULTS * i;
        for (int s = 0; s < 32; s += 16) {
            int p = (int16_t)(x >> s), q = (int16_t)(y >> s);
            o[0] |= (uint32_t)(uint16_t)(p > q ? p : q) << s;
            o[3] |= (uint32_t)(uint16_t)(p - q) << s;
            o[8] |= (uint32_t)(uint16_t)clamp(p + q, INT16_MIN, INT16_MAX) << s;
            o[11] |= (uint32_t)(uint16_t)(p < 0 ? -p : p) << s;
        }
        for (int s = 0; s < 32; s += 8) {
            int p = x >> s & 255, q = y >> s & 255, r = (y ^ (x & 0xff00ff)) >> s & 255;
            o[1] |= (uint32_t)(p < q ? p : q) << s;
            o[2] |= (uint32_t)((p + q) & 255) << s;
            o[4] |= (uint32_t)(p > q ? p - q : q - p) << s;
            o[5] += (uint32_t)(p > q ? p - q : q - p);
            o[6] |= (uint32_t)((p + q + 1) / 2) << s;
            o[7] |= ((int8_t)p > (int8_t)q ? 255u : 0) << s;
            o[9] |= (uint32_t)clamp(p - q, 0, 255) << s;
            o[10] |= (p == r ? 1u : 0) << s;
        }
    }
    CHECK_INTEGERS("out", (uint32_t *)out, want, RESULTS * COUNT);
}

/* ---- division ---- */

void kernel_divide(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150 };
    load_kernel(k, "integers/divide", "divide");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    int32_t *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    fill_s32(k, a, COUNT, INT32_MIN, INT32_MAX);
    fill_s32(k, b, COUNT, -100000, -1);
    fill_s32(k, b + COUNT / 2, COUNT / 2, 1, 100000);
    a[0] = INT32_MIN;
    b[0] = 1;
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++) {
        want[4 * i] = a[i] / b[i];
        want[4 * i + 1] = a[i] % b[i];
        want[4 * i + 2] = (int32_t)((uint32_t)a[i] / (uint32_t)b[i]);
        want[4 * i + 3] = (int32_t)((uint32_t)a[i] % (uint32_t)b[i]);
    }
    CHECK_INTEGERS("out", out, want, 4 * COUNT);
}

void kernel_divide_wide(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100 };
    load_kernel(k, "integers/divide", "divide_wide");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int64_t *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    int64_t *out = add_buffer(k, 4 * COUNT * sizeof *out), want[4 * COUNT];
    fill_bytes(k, a, COUNT * sizeof *a);
    fill_bytes(k, b, COUNT * sizeof *b);
    for (int i = 0; i < COUNT; i++) /* divisors of all magnitudes, none is 0 */
        b[i] = b[i] >> (i % 60) | 1;
    a[0] = INT64_MIN;
    b[0] = 1;
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        want[4 * i] = a[i] / b[i];
        want[4 * i + 1] = a[i] % b[i];
        want[4 * i + 2] = (int64_t)((uint64_t)a[i] / (uint64_t)b[i]);
        want[4 * i + 3] = (int64_t)((uint64_t)a[i] % (uint64_t)b[i]);
    }
    CHECK_INTEGERS("out", out, want, 4 * COUNT);
}

struct divisor {
    uint32_t multiplier, shift, divisor;
};

void kernel_divide_fast(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 100, BY = 641, SHIFT = 10 /* 2^10 >= 641 */ };
    /* Granlund and Montgomery, "Division by invariant integers using multiplication", 1994. The
     * kernel's sum does not overflow because the numbers are below 2^31. */
    struct divisor by = {(uint32_t)(((1ull << 32) * ((1u << SHIFT) - BY)) / BY + 1), SHIFT, BY};
    load_kernel(k, "integers/divide", "divide_fast");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    add_argument(k, &by, sizeof by);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, 2 * COUNT * sizeof *out), want[2 * COUNT];
    fill_s32(k, (int32_t *)in, COUNT, 0, INT32_MAX);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        want[2 * i] = in[i] / BY;
        want[2 * i + 1] = in[i] % BY;
    }
    CHECK_INTEGERS("out", out, want, 2 * COUNT);
}
