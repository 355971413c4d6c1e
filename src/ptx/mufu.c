/* The special functions of an H200 (the instruction MUFU), bit for bit.
 *
 * The hardware divides the range of the argument into segments and evaluates a polynomial of the
 * second degree in each of them (Oberman and Siu, "A High-Performance Area-Efficient Multifunction
 * Interpolator", 2005). The argument is a fraction of 23 bits. Its upper bits select the segment,
 * the others are the distance d from its start, 0 <= d < 1:
 *
 *     significand = floor(constant + linear * d + quadratic * square(d) + bias)
 *
 * The unit is the last place of the result. struct fth_ptx_mufu_segment stores `constant` in
 * quarters of it, `linear` and `quadratic` in halves.
 *
 * square(d) approximates d * d with 15 bits after the point. The hardware adds the products of two
 * bits of d, the product of two different bits once, with twice its value. It drops all products
 * below 2^-15 before it adds them.
 *
 * lg2, sin and cos have fixed-point results. Their unit is 2^-24, and they keep the fraction of the
 * sum. docs/results/special-functions-h200.md describes how the formula was found. */
#include "ptx/mufu.h"

#include <math.h>
#include <string.h>

enum { FRACTION_BITS = 23, SQUARE_BITS = 15, BIAS_BITS = 17, SUM_BITS = 18 };
#define ONE ((uint32_t)1 << FRACTION_BITS)
#define INFINITE 0x7f800000u
#define NOT_A_NUMBER 0x7fffffffu

/* Returns the truncated square of a distance of `bits` bits, in units of 2^-15. */
static uint32_t square(uint32_t distance, unsigned bits)
{
    const unsigned dropped = 2 * bits - SQUARE_BITS; /* the lowest bits of the exact square */
    uint32_t sum = 0;
    for (unsigned i = dropped - bits; i < bits; i++) {
        if (!(distance >> i & 1))
            continue;
        /* The product with itself, and twice the products with the higher bits from `first` on. */
        const unsigned first = i + i + 2 > dropped ? i + 1 : dropped - 1 - i;
        if (2 * i >= dropped)
            sum += 1u << (2 * i - dropped);
        sum += distance >> first << (first + i + 1 - dropped);
    }
    return sum;
}

/* Evaluates the polynomial at a fraction of 23 bits, of which the upper `index_bits` select the
 * segment. `bias` is in units of 2^-17. The result is in units of 2^-SUM_BITS. */
static int64_t interpolate(const struct fth_ptx_mufu_segment *segments, unsigned index_bits,
                           uint32_t bias, uint32_t fraction)
{
    const unsigned bits = FRACTION_BITS - index_bits;
    const uint32_t distance = fraction & ((1u << bits) - 1);
    const struct fth_ptx_mufu_segment *segment = &segments[fraction >> bits];
    return ((int64_t)segment->constant << 16) + ((int64_t)bias << 1) +
           (int64_t)segment->linear * distance * (1 << (BIAS_BITS - bits)) +
           (int64_t)segment->quadratic * square(distance, bits) * 4;
}

static uint32_t evaluate(const struct fth_ptx_mufu_segment *segments, unsigned index_bits,
                         uint32_t bias, uint32_t fraction)
{
    return (uint32_t)(interpolate(segments, index_bits, bias, fraction) >> SUM_BITS);
}

static bool is_nan(uint32_t x)
{
    return (x & 0x7fffffff) > INFINITE;
}

/* Returns significand * 2^(exponent - 23); the significand has 24 bits, or is 2^24. */
static uint32_t pack(uint32_t sign, int exponent, uint32_t significand)
{
    if (significand >> 24) {
        significand >>= 1;
        exponent++;
    }
    if (exponent < -126)
        return sign;
    return sign | ((uint32_t)(exponent + 126) * ONE + significand);
}

/* The argument is converted to a fixed-point number with 23 bits after the point; further bits are
 * dropped. The bits of a negative number are inverted, unless the rest is an integer. */
uint32_t fth_ptx_mufu_ex2(uint32_t x)
{
    const int exponent = (int)(x >> FRACTION_BITS & 0xff) - 127;
    const uint32_t significand = (x & (ONE - 1)) | ONE;
    const bool negative = x >> 31;
    if (is_nan(x))
        return NOT_A_NUMBER;
    if (exponent >= 7) /* 128 and more, or infinite; 2^-128 is subnormal */
        return negative ? 0 : INFINITE;
    if (exponent == -127)
        return 127u * ONE;
    int64_t fixed = exponent >= 0    ? (int64_t)significand << exponent
                    : exponent > -24 ? significand >> -exponent
                                     : 0;
    const bool exact = fixed % ONE == 0;
    if (negative)
        fixed = exact ? -fixed : ~fixed;
    const uint32_t fraction = (uint32_t)(fixed & (ONE - 1));
    const int integer = (int)((fixed - fraction) / ONE);
    return pack(0, integer, evaluate(fth_ptx_mufu_ex2_segments, 6, 24456, fraction));
}

uint32_t fth_ptx_mufu_rcp(uint32_t x)
{
    const uint32_t sign = x & 0x80000000u;
    const int exponent = (int)(x >> FRACTION_BITS & 0xff) - 127;
    if (is_nan(x))
        return NOT_A_NUMBER;
    if (exponent == -127)
        return sign | INFINITE;
    if (exponent == 128)
        return sign;
    return pack(sign, -exponent - 1, evaluate(fth_ptx_mufu_rcp_segments, 7, 8092, x & (ONE - 1)));
}

/* The argument of both roots is m * 4^n, with 1 <= m < 4. The first half of the segments is for
 * m < 2. Stores n in `half`. */
static uint32_t evaluate_root(const struct fth_ptx_mufu_segment *segments, uint32_t bias,
                              int exponent, uint32_t fraction, int *half)
{
    const int odd = exponent & 1;
    *half = (exponent - odd) / 2;
    return evaluate(odd ? segments + 64 : segments, 6, bias, fraction);
}

/* 1 / sqrt(x); powers of 4 are exact. */
static uint32_t evaluate_rsqrt(int exponent, uint32_t fraction, int *half)
{
    const uint32_t significand =
        evaluate_root(fth_ptx_mufu_rsqrt_segments, 32766, exponent, fraction, half);
    return exponent % 2 == 0 && fraction == 0 ? 2 * ONE : significand;
}

uint32_t fth_ptx_mufu_rsqrt(uint32_t x)
{
    const uint32_t sign = x & 0x80000000u;
    int half;
    if ((x & 0x7fffffff) < ONE)
        return sign | INFINITE;
    if (is_nan(x) || sign)
        return NOT_A_NUMBER;
    if (x == INFINITE)
        return 0;
    const int exponent = (int)(x >> FRACTION_BITS) - 127;
    const uint32_t significand = evaluate_rsqrt(exponent, x & (ONE - 1), &half);
    return pack(0, -half - 1, significand);
}

uint32_t fth_ptx_mufu_sqrt(uint32_t x)
{
    const uint32_t sign = x & 0x80000000u;
    int half;
    if ((x & 0x7fffffff) < ONE)
        return sign;
    if (is_nan(x) || sign)
        return NOT_A_NUMBER;
    if (x == INFINITE)
        return INFINITE;
    const int exponent = (int)(x >> FRACTION_BITS) - 127;
    const uint32_t significand =
        evaluate_root(fth_ptx_mufu_sqrt_segments, 32767, exponent, x & (ONE - 1), &half);
    return pack(0, half, significand);
}

/* Returns a fixed-point number with `bits` bits after the point; further bits of the significand
 * are dropped. */
static uint32_t from_fixed(uint32_t sign, uint64_t number, int bits)
{
    if (number == 0)
        return sign;
    const int top = 63 - __builtin_clzll(number);
    const uint64_t significand =
        top > FRACTION_BITS ? number >> (top - FRACTION_BITS) : number << (FRACTION_BITS - top);
    return pack(sign, top - bits, (uint32_t)significand);
}

/* The sum of the exponent and the logarithm of the significand, with LOGARITHM_BITS bits after the
 * point. The bits of a negative sum are inverted. */
uint32_t fth_ptx_mufu_lg2(uint32_t x)
{
    enum { LOGARITHM_BITS = 36, UNIT_BITS = 24 };
    if ((x & 0x7fffffff) < ONE)
        return 0x80000000u | INFINITE;
    if (is_nan(x) || x >> 31)
        return NOT_A_NUMBER;
    if (x == INFINITE)
        return INFINITE;
    if (x == 127u * ONE) /* 1 */
        return 0;
    const int64_t exponent = (int64_t)(x >> FRACTION_BITS) - 127;
    const int64_t sum = exponent * ((int64_t)1 << (SUM_BITS + UNIT_BITS)) +
                        interpolate(fth_ptx_mufu_lg2_segments, 6, 6696, x & (ONE - 1));
    const uint64_t number = (uint64_t)(sum < 0 ? ~sum : sum);
    return from_fixed(sum < 0 ? 0x80000000u : 0, number >> (SUM_BITS + UNIT_BITS - LOGARITHM_BITS),
                      LOGARITHM_BITS);
}

/* The sine of a number of revolutions, `quarters` quarters later. The fraction of the number has 25
 * bits, further bits are dropped: the upper two select the quarter. In every second quarter, the
 * other bits are inverted. */
static uint32_t sine(uint32_t x, unsigned quarters, bool odd)
{
    enum { ANGLE_BITS = FRACTION_BITS + 2, SINE_BITS = 37, UNIT_BITS = 24 };
    const int exponent = (int)(x >> FRACTION_BITS & 0xff) - 127;
    const uint32_t significand = (x & (ONE - 1)) | ONE;
    const int shift = exponent - FRACTION_BITS + ANGLE_BITS;
    if ((x & 0x7fffffff) >= INFINITE)
        return NOT_A_NUMBER;
    const uint32_t angle = shift >= ANGLE_BITS + 1 || shift <= -24 ? 0
                           : shift >= 0                            ? significand << shift
                                                                   : significand >> -shift;
    const unsigned quarter = (angle >> FRACTION_BITS) + quarters;
    const uint32_t fraction = (quarter & 1 ? ~angle : angle) & (ONE - 1);
    const int64_t sum = interpolate(fth_ptx_mufu_sin_segments, 6, 0, fraction);
    uint32_t sign = odd ? x & 0x80000000u : 0;
    if (quarter & 2)
        sign ^= 0x80000000u;
    return from_fixed(sign, (uint64_t)sum >> (SUM_BITS + UNIT_BITS - SINE_BITS), SINE_BITS);
}

uint32_t fth_ptx_mufu_sin(uint32_t x)
{
    return sine(x, 0, true);
}

uint32_t fth_ptx_mufu_cos(uint32_t x)
{
    return sine(x, 1, false);
}

/* Below 2^-8, the result is the argument. Up to 8, each octave has segments of equal size. The
 * distance has 17 bits in all of them; lower bits of the significand are dropped. */
uint32_t fth_ptx_mufu_tanh(uint32_t x)
{
    enum { UNIT_BITS = 24, FIRST_EXPONENT = -8, INDEX_BITS = 6 /* for distances of 17 bits */ };
    static const struct {
        uint8_t dropped_bits, first_segment;
    } octaves[] = {{6, 0},  {6, 1},  {6, 2},  {5, 3},  {5, 5}, {4, 7},
                   {4, 11}, {4, 15}, {3, 19}, {2, 27}, {3, 43}};
    const uint32_t sign = x & 0x80000000u;
    const int octave = (int)(x >> FRACTION_BITS & 0xff) - 127 - FIRST_EXPONENT;
    if (is_nan(x))
        return NOT_A_NUMBER;
    if (octave < 0)
        return x;
    if (octave >= (int)(sizeof octaves / sizeof octaves[0]))
        return sign | 127u * ONE;
    const int64_t sum = interpolate(fth_ptx_mufu_tanh_segments + octaves[octave].first_segment,
                                    INDEX_BITS, 0, (x & (ONE - 1)) >> octaves[octave].dropped_bits);
    return from_fixed(sign, (uint64_t)sum, SUM_BITS + UNIT_BITS);
}

/* ---- the upper words of f64 numbers ---- */

enum { FRACTION_BITS_64H = 20, DROPPED_BITS = FRACTION_BITS - FRACTION_BITS_64H, BIAS_64H = 1023 };
#define ONE_64H ((uint32_t)1 << FRACTION_BITS_64H)
#define INFINITE_64H 0x7ff00000u

/* Returns significand * 2^(exponent - 23), truncated; the significand has 24 bits, or is 2^24. */
static uint32_t pack_64h(uint32_t sign, int exponent, uint32_t significand)
{
    if (significand >> 24) {
        significand >>= 1;
        exponent++;
    }
    if (exponent < 1 - BIAS_64H)
        return sign;
    return sign | ((uint32_t)(exponent + BIAS_64H - 1) * ONE_64H + (significand >> DROPPED_BITS));
}

uint32_t fth_ptx_mufu_rcp64h(uint32_t x)
{
    const uint32_t sign = x & 0x80000000u;
    const int exponent = (int)(x >> FRACTION_BITS_64H & 0x7ff) - BIAS_64H;
    const uint32_t fraction = (x & (ONE_64H - 1)) << DROPPED_BITS;
    if ((x & 0x7fffffff) > INFINITE_64H)
        return NOT_A_NUMBER;
    if (exponent == -BIAS_64H)
        return sign | INFINITE_64H;
    if (exponent == BIAS_64H + 1)
        return sign;
    return pack_64h(sign, -exponent - 1, evaluate(fth_ptx_mufu_rcp_segments, 7, 8092, fraction));
}

uint32_t fth_ptx_mufu_rsq64h(uint32_t x)
{
    const uint32_t sign = x & 0x80000000u;
    int half;
    if ((x & 0x7fffffff) < ONE_64H)
        return sign | INFINITE_64H;
    if ((x & 0x7fffffff) > INFINITE_64H || sign)
        return NOT_A_NUMBER;
    if (x == INFINITE_64H)
        return 0;
    const int exponent = (int)(x >> FRACTION_BITS_64H) - BIAS_64H;
    const uint32_t significand =
        evaluate_rsqrt(exponent, (x & (ONE_64H - 1)) << DROPPED_BITS, &half);
    return pack_64h(0, -half - 1, significand);
}

/* ---- instructions of PTX ---- */

#define TINY 0x00800000u  /* 2^-126, the smallest normal number */
#define LARGE 0x7e800000u /* 2^126: larger numbers have a subnormal reciprocal */
#define SCALE 0x1p24f     /* makes subnormal numbers normal */

static float as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t flush(uint32_t bits)
{
    return bits & INFINITE ? bits : bits & 0x80000000u;
}

/* The product, rounded to nearest, as the instruction FMUL or, if `ftz`, FMUL.FTZ, which flushes
 * results that are subnormal before they are rounded. */
static uint32_t multiply(uint32_t a, uint32_t b, bool ftz)
{
    const double exact = (double)as_float(ftz ? flush(a) : a) * as_float(ftz ? flush(b) : b);
    const float product = ftz && fabs(exact) < 0x1p-126 ? (float)copysign(0, exact) : (float)exact;
    uint32_t bits;
    if (product != product)
        return NOT_A_NUMBER;
    memcpy(&bits, &product, sizeof bits);
    return bits;
}

static uint32_t scale(uint32_t x, float factor, bool ftz)
{
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    return multiply(x, bits, ftz);
}

static bool is_subnormal(uint32_t x)
{
    return (x & 0x7fffffff) < TINY;
}

/* The comparison is false for NaNs. */
static bool is_huge(uint32_t x)
{
    return (x & 0x7fffffff) > LARGE && !is_nan(x);
}

/* Below -126, the square of the result for half the argument. */
uint32_t fth_ptx_approx_ex2(uint32_t x, bool ftz)
{
    if (ftz || !(as_float(x) < -126.0f))
        return fth_ptx_mufu_ex2(x);
    const uint32_t root = fth_ptx_mufu_ex2(scale(x, 0.5f, false));
    return multiply(root, root, false);
}

uint32_t fth_ptx_approx_rcp(uint32_t x, bool ftz)
{
    if (ftz)
        return fth_ptx_mufu_rcp(x);
    const float factor = is_huge(x) ? 0.25f : is_subnormal(x) ? SCALE : 1.0f;
    return scale(fth_ptx_mufu_rcp(scale(x, factor, false)), factor, false);
}

uint32_t fth_ptx_approx_rsqrt(uint32_t x, bool ftz)
{
    if (ftz || !is_subnormal(x))
        return fth_ptx_mufu_rsqrt(x);
    return scale(fth_ptx_mufu_rsqrt(scale(x, SCALE, false)), 0x1p12f, false);
}

uint32_t fth_ptx_approx_sqrt(uint32_t x, bool ftz)
{
    if (ftz || !is_subnormal(x))
        return fth_ptx_mufu_sqrt(x);
    return scale(fth_ptx_mufu_sqrt(scale(x, SCALE, false)), 0x1p-12f, false);
}

uint32_t fth_ptx_approx_lg2(uint32_t x, bool ftz)
{
    if (ftz || !is_subnormal(x))
        return fth_ptx_mufu_lg2(x);
    const float sum = as_float(fth_ptx_mufu_lg2(scale(x, SCALE, false))) - 24.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return sum == sum ? bits : NOT_A_NUMBER;
}

/* The product with 1 / (2 * pi), rounded to zero: the number of revolutions. */
static uint32_t revolutions(uint32_t x, bool ftz)
{
    if (ftz)
        x = flush(x);
    const double product = (double)as_float(x) * (double)0x1.45f306p-3f; /* exact */
    float rounded = (float)product;
    if (fabs((double)rounded) > fabs(product))
        rounded = nextafterf(rounded, 0);
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

uint32_t fth_ptx_approx_sin(uint32_t x, bool ftz)
{
    return fth_ptx_mufu_sin(revolutions(x, ftz));
}

uint32_t fth_ptx_approx_cos(uint32_t x, bool ftz)
{
    return fth_ptx_mufu_cos(revolutions(x, ftz));
}

void fth_ptx_div_factors(uint32_t *x, uint32_t *y, bool full, bool ftz)
{
    if (full && is_huge(*y)) {
        *x = scale(*x, 0.25f, ftz);
        *y = scale(*y, 0.25f, ftz);
    }
    if (!ftz && is_subnormal(*y)) {
        *x = scale(*x, SCALE, false);
        *y = scale(*y, SCALE, false);
    }
    *y = fth_ptx_mufu_rcp(*y);
}

uint32_t fth_ptx_approx_div(uint32_t x, uint32_t y, bool ftz)
{
    fth_ptx_div_factors(&x, &y, false, ftz);
    return multiply(x, y, ftz);
}

uint32_t fth_ptx_full_div(uint32_t x, uint32_t y, bool ftz)
{
    fth_ptx_div_factors(&x, &y, true, ftz);
    return multiply(x, y, ftz);
}
