/* Conversions between double and the formats of 8 and 16 bits: f16, bf16, e4m3 and e5m2. The engine
 * computes with f16 and bf16 in double: its 53 significant bits hold sums and products exactly, or
 * closely enough that rounding a second time, to 16 bits, still gives the correctly rounded result
 * (see fused_odd in execute_half.c). */
#include "ptx/engine.h"

#include <math.h>

/* A floating-point format of 8 or 16 bits: a sign, the exponent and the fraction. */
struct format {
    unsigned exponent_bits, fraction_bits;
    bool is_finite; /* there are no infinities: of the numbers with the largest exponent, only the
                     * one whose fraction is all ones is special, a NaN */
    bool saturates; /* values that are too large become the largest finite number */
};

static const struct format formats[] = {
    [FTH_FORMAT_F16] = {5, 10, false, false},
    [FTH_FORMAT_BF16] = {8, 7, false, false},
    [FTH_FORMAT_E4M3] = {4, 3, true, true},
    [FTH_FORMAT_E5M2] = {5, 2, false, true},
};

/* The bits that follow those of the largest finite number: infinity or, without infinities, NaN. */
static uint32_t first_special(const struct format *format)
{
    const uint32_t magnitude = (1u << (format->exponent_bits + format->fraction_bits)) - 1;
    return format->is_finite ? magnitude
                             : magnitude >> format->fraction_bits << format->fraction_bits;
}

static int min_exponent_of(const struct format *format)
{
    return 2 - (1 << (format->exponent_bits - 1));
}

static double to_double(uint32_t bits, const struct format *format)
{
    const unsigned fraction_bits = format->fraction_bits;
    const uint32_t sign = 1u << (format->exponent_bits + fraction_bits);
    const uint32_t magnitude = bits & (sign - 1), special = first_special(format);
    const double factor = bits & sign ? -1 : 1;
    if (magnitude >= special)
        return magnitude > special || format->is_finite ? NAN : factor * INFINITY;
    const uint32_t exponent = magnitude >> fraction_bits;
    const uint32_t fraction = magnitude & ((1u << fraction_bits) - 1);
    const int scale =
        min_exponent_of(format) + (int)(exponent ? exponent - 1 : 0) - (int)fraction_bits;
    return factor * ldexp((double)(exponent ? fraction | 1u << fraction_bits : fraction), scale);
}

/* Rounds a value to the format: R_RN to nearest even, R_RM down, R_RP up, all others toward zero.
 * All bits of a NaN except the sign are 1. */
static uint32_t from_double(double value, enum fth_ptx_rounding rounding,
                            const struct format *format)
{
    const unsigned fraction_bits = format->fraction_bits;
    const uint32_t sign_bit = 1u << (format->exponent_bits + fraction_bits);
    const uint32_t sign = signbit(value) ? sign_bit : 0, special = first_special(format);
    if (isnan(value))
        return sign_bit - 1;
    value = fabs(value);
    if (value == 0)
        return sign;
    if (isinf(value))
        return sign | (format->saturates ? special - 1 : special);
    int exponent;
    frexp(value, &exponent); /* value is in [2^(exponent-1), 2^exponent) */
    const int min_exponent = min_exponent_of(format);
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
    if (bits >= special) {
        bool to_infinity =
            rounding == R_RN || (rounding == R_RM && sign) || (rounding == R_RP && !sign);
        bits = to_infinity && !format->saturates ? special : special - 1;
    }
    return sign | bits;
}

double fth_ptx_half_to_double(uint16_t half)
{
    return to_double(half, &formats[FTH_FORMAT_F16]);
}

double fth_ptx_bfloat_to_double(uint16_t bfloat)
{
    return to_double(bfloat, &formats[FTH_FORMAT_BF16]);
}

uint16_t fth_ptx_half_from_double(double value, enum fth_ptx_rounding rounding)
{
    return (uint16_t)from_double(value, rounding, &formats[FTH_FORMAT_F16]);
}

uint16_t fth_ptx_bfloat_from_double(double value, enum fth_ptx_rounding rounding)
{
    return (uint16_t)from_double(value, rounding, &formats[FTH_FORMAT_BF16]);
}

double fth_ptx_format_to_double(enum fth_ptx_format format, uint32_t bits)
{
    return to_double(bits, &formats[format]);
}

uint32_t fth_ptx_format_from_double(enum fth_ptx_format format, double value)
{
    return from_double(value, R_RN, &formats[format]);
}
