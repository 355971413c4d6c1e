/* f16 and bf16, by way of double: 53 bits hold every sum, product and conversion of theirs exactly,
 * or so nearly that rounding once more cannot go wrong (see fused_odd in execute_half.c). */
#include "ptx/execute.h"

#include <math.h>

/* A format of 16 bits: how many of them are fraction, and the exponent of 1.0. */
struct format {
    unsigned fraction_bits;
    int bias;
};

static const struct format half_format = {10, 15}, bfloat_format = {7, 127};

static double to_double(uint16_t bits, const struct format *format)
{
    unsigned fraction_bits = format->fraction_bits;
    unsigned exponent_mask = (1u << (15 - fraction_bits)) - 1;
    unsigned exponent = (unsigned)bits >> fraction_bits & exponent_mask;
    unsigned fraction = (unsigned)bits & ((1u << fraction_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == exponent_mask)
        return fraction ? NAN : sign * INFINITY;
    int scale = (exponent ? (int)exponent : 1) - format->bias - (int)fraction_bits;
    double whole = (double)(exponent ? fraction | 1u << fraction_bits : fraction);
    return sign * ldexp(whole, scale);
}

static uint16_t from_double(double value, enum rounding rounding, const struct format *format)
{
    unsigned fraction_bits = format->fraction_bits;
    unsigned exponent_mask = (1u << (15 - fraction_bits)) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(exponent_mask << fraction_bits);
    if (isnan(value))
        return 0x7fff;
    value = fabs(value);
    if (value == 0)
        return sign;
    if (isinf(value))
        return sign | infinity;
    int exponent;
    frexp(value, &exponent); /* value is in [2^(exponent-1), 2^exponent) */
    int lowest = 1 - format->bias;
    int scale = exponent - 1 > lowest ? exponent - 1 : lowest;
    /* In units of the last place, the double is whole but for what is rounded away. */
    double units = ldexp(value, (int)fraction_bits - scale);
    double whole = floor(units), rest = units - whole;
    bool up = rounding == R_RN   ? rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0)
              : rounding == R_RM ? sign && rest > 0
              : rounding == R_RP ? !sign && rest > 0
                                 : false;
    whole += up;
    /* A carry out of the fraction moves into the exponent by itself. */
    uint32_t bits = (uint32_t)whole;
    if (scale > lowest || bits >> fraction_bits)
        bits += (uint32_t)(scale - lowest) << fraction_bits;
    if (bits >= infinity) {
        bool to_infinity =
            rounding == R_RN || (rounding == R_RM && sign) || (rounding == R_RP && !sign);
        bits = to_infinity ? infinity : infinity - 1u;
    }
    return (uint16_t)(sign | bits);
}

double half_to_double(uint16_t half)
{
    return to_double(half, &half_format);
}

double bfloat_to_double(uint16_t bfloat)
{
    return to_double(bfloat, &bfloat_format);
}

uint16_t half_from_double(double value, enum rounding rounding)
{
    return from_double(value, rounding, &half_format);
}

uint16_t bfloat_from_double(double value, enum rounding rounding)
{
    return from_double(value, rounding, &bfloat_format);
}
