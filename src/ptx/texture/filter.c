/* The weighted sum of texels, as an H200 computes it (docs/ptx.md, "Textures and surfaces").
 *
 * Floats: the four texels of an image are aligned to the one with the largest exponent. They keep
 * four more bits than their format has, and what lies below is cut. The sum of the products is
 * exact. In three dimensions, the sums of the two images are added. The result is rounded to the
 * precision of the format once, ties away from zero.
 *
 * Integers of 8 bits are widened to 16, and the sum is rounded to 16 bits. */
#include "ptx/texture/texture.h"

#include <float.h>
#include <math.h>

enum {
    FRACTION_BITS = 8,        /* of a weight */
    FLOAT_BIAS = 127,         /* of the exponent of a float */
    FLOAT_MANTISSA_BITS = 23, /* without the leading 1 */
    TAPS_PER_IMAGE = 4
};

/* Divides by a power of 2 and rounds down. */
static int64_t shift_down(int64_t value, unsigned bits)
{
    return value < 0 ? ~(~value >> bits) : value >> bits;
}

/* ---- integers ---- */

static float filter_integers(enum fth_ptx_texel format, const struct fth_ptx_taps *taps,
                             const uint32_t texels[MAX_TAPS])
{
    int64_t sum = 0;
    for (size_t t = 0; t < taps->count; t++) {
        const int32_t texel = (int32_t)texels[t];
        sum += (int64_t)(format == FTH_TEXEL_S16 && texel < -INT16_MAX ? -INT16_MAX : texel) *
               taps->weights[t];
    }
    switch (format) {
    case FTH_TEXEL_U8:
        sum *= 257; /* widens 8 bits to 16 */
        break;
    case FTH_TEXEL_S8: /* widens 7 bits to 15 and cuts the last digits of the third term */
        sum = shift_down(129 * sum + 16 * shift_down(sum, 12) + 64, 7);
        return (float)((double)(sum < -INT16_MAX ? -INT16_MAX : sum) / INT16_MAX);
    default: break;
    }
    sum = shift_down(sum + (1 << (FRACTION_BITS - 1)), FRACTION_BITS);
    return (float)((double)sum / (format == FTH_TEXEL_S16 ? INT16_MAX : UINT16_MAX));
}

/* ---- floats ---- */

/* A format of floats. */
struct precision {
    int aligned_bits; /* of an aligned texel, after the leading bit */
    int digits;       /* of a result */
    int min_exponent; /* of the last digit of a result */
};

/* A sum of texels: value * 2^exponent. */
struct sum {
    int64_t value;
    int exponent;
};

static int exponent_of(uint32_t bits)
{
    return (int)(bits >> FLOAT_MANTISSA_BITS & UINT8_MAX);
}

/* Adds the texels of one image. Denormals count as 0. */
static struct sum add_image(const struct precision *precision, const uint16_t *weights,
                            const uint32_t *texels, size_t count)
{
    int max = 0;
    for (size_t t = 0; t < count; t++)
        if (weights[t] && exponent_of(texels[t]) > max)
            max = exponent_of(texels[t]);
    struct sum sum = {0, max - FLOAT_BIAS - precision->aligned_bits - FRACTION_BITS};
    for (size_t t = 0; t < count; t++) {
        const uint64_t mantissa =
            (texels[t] & ((1u << FLOAT_MANTISSA_BITS) - 1)) | 1u << FLOAT_MANTISSA_BITS;
        const int exponent = exponent_of(texels[t]);
        const int cut = FLOAT_MANTISSA_BITS + max - exponent; /* from aligned_bits more */
        if (!weights[t] || !exponent || cut >= 64)
            continue;
        const int64_t aligned = (int64_t)((mantissa << precision->aligned_bits) >> cut);
        sum.value += (texels[t] >> 31 ? -aligned : aligned) * weights[t];
    }
    return sum;
}

/* Adds the sums of two images. The smaller one is cut two bits below the last bit of the larger
 * one. */
static struct sum add_sums(struct sum a, struct sum b)
{
    if (a.exponent < b.exponent) {
        const struct sum larger = b;
        b = a;
        a = larger;
    }
    const int distance = a.exponent - b.exponent;
    const int64_t aligned = shift_down(4 * b.value, distance < 63 ? (unsigned)distance : 63);
    return (struct sum){4 * a.value + aligned, a.exponent - 2};
}

/* Rounds to the precision of the format, ties away from zero. */
static float round_sum(const struct precision *precision, struct sum sum)
{
    uint64_t size = sum.value < 0 ? (uint64_t)-sum.value : (uint64_t)sum.value;
    int digits = 0;
    while (digits < 64 && size >> digits)
        digits++;
    int cut = digits - precision->digits;
    if (sum.exponent + cut < precision->min_exponent)
        cut = precision->min_exponent - sum.exponent;
    if (cut > 0) {
        cut = cut < 63 ? cut : 63;
        size = (size + ((uint64_t)1 << (cut - 1))) >> cut;
        sum.exponent += cut;
    }
    float result = (float)ldexp((double)size, sum.exponent);
    if (result < FLT_MIN && precision->min_exponent < -24)
        result = 0;
    return sum.value < 0 ? -result : result;
}

/* Finds out if infinities or NaNs decide the result, or negative zeros. */
static bool filter_specials(const struct fth_ptx_taps *taps, const uint32_t texels[MAX_TAPS],
                            uint32_t nan, uint32_t *result)
{
    bool infinite[2] = {false, false}, is_nan = false; /* infinite: +, - */
    bool is_negative_zero = true;
    for (size_t t = 0; t < taps->count; t++) {
        if (taps->used[t] && (texels[t] >> 31 == 0 || exponent_of(texels[t])))
            is_negative_zero = false;
        if (!taps->used[t] || exponent_of(texels[t]) != UINT8_MAX)
            continue;
        if (texels[t] << (32 - FLOAT_MANTISSA_BITS))
            is_nan = true;
        else
            infinite[texels[t] >> 31] = true;
    }
    if (is_nan || (infinite[0] && infinite[1]))
        *result = nan;
    else if (infinite[0] || infinite[1])
        *result = infinite[0] ? 0x7f800000 : 0xff800000;
    else if (is_negative_zero)
        *result = 0x80000000;
    else
        return false;
    return true;
}

uint32_t fth_ptx_filter(enum fth_ptx_texel format, const struct fth_ptx_taps *taps,
                        const uint32_t texels[MAX_TAPS])
{
    static const struct precision f32 = {27, 24, -126 - 23}, f16 = {14, 11, -24};
    const bool is_half = format == FTH_TEXEL_F16;
    const struct precision *precision = is_half ? &f16 : &f32;
    uint32_t special;
    if (format != FTH_TEXEL_F32 && !is_half)
        return float_bits(filter_integers(format, taps, texels));
    if (filter_specials(taps, texels, is_half ? 0x7fffe000 : 0x7fffffff, &special))
        return special;
    const bool has_two_images = taps->count > TAPS_PER_IMAGE;
    struct sum sum =
        add_image(precision, taps->weights, texels, has_two_images ? TAPS_PER_IMAGE : taps->count);
    if (has_two_images)
        sum = add_sums(sum, add_image(precision, taps->weights + TAPS_PER_IMAGE,
                                      texels + TAPS_PER_IMAGE, taps->count - TAPS_PER_IMAGE));
    return float_bits(round_sum(precision, sum));
}
