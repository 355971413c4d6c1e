/* Conversions between double and the 16-bit formats f16 and bf16. The engine computes with f16 and
 * bf16 in double: its 53 significant bits hold sums and products exactly, or closely enough that
 * rounding a second time, to 16 bits, still gives the correctly rounded result (see fused_odd in
 * execute_half.c). */
#include "ptx/engine.h"

#include <math.h>

/* A 16-bit floating-point format: the number of fraction bits and the exponent bias. */
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
    double integer = (double)(exponent ? fraction | 1u << fraction_bits : fraction);
    return sign * ldexp(integer, scale);
}

/* Rounds a value to the format: R_RN to nearest even, R_RM down, R_RP up, all others toward zero.
 * A NaN becomes 0x7fff. */
static uint16_t from_double(double value, enum fth_ptx_rounding rounding,
                            const struct format *format)
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
    int min_exponent = 1 - format->bias;
    int scale = exponent - 1 > min_exponent ? exponent - 1 : min_exponent;
    /* In units of the last place, the fractional part is what is rounded away. */
    double units = ldexp(value, (int)fraction_bits - scale);
    double integer = floor(units), rest = units - integer;
    bool up = rounding == R_RN   ? rest > 0.5 || (rest == 0.5 && fmod(integer, 2) != 0)
              : rounding == R_RM ? sign && rest > 0
              : rounding == R_RP ? !sign && rest > 0
                                 : false;
    integer += up;
    /* A carry out of the fraction increments the exponent, which is stored in the next bits. */
    uint32_t bits = (uint32_t)integer;
    if (scale > min_exponent || bits >> fraction_bits)
        bits += (uint32_t)(scale - min_exponent) << fraction_bits;
    if (bits >= infinity) {
        bool to_infinity =
            rounding == R_RN || (rounding == R_RM && sign) || (rounding == R_RP && !sign);
        bits = to_infinity ? infinity : infinity - 1u;
    }
    return (uint16_t)(sign | bits);
}

double fth_ptx_half_to_double(uint16_t half)
{
    return to_double(half, &half_format);
}

double fth_ptx_bfloat_to_double(uint16_t bfloat)
{
    return to_double(bfloat, &bfloat_format);
}

uint16_t fth_ptx_half_from_double(double value, enum fth_ptx_rounding rounding)
{
    return from_double(value, rounding, &half_format);
}

uint16_t fth_ptx_bfloat_from_double(double value, enum fth_ptx_rounding rounding)
{
    return from_double(value, rounding, &bfloat_format);
}
