/* Decides whether a result counts as equal to the expected one, by the rule of the case (enum
 * diff_compare). */
#include "suite.h"

#include <math.h>
#include <stdlib.h>

static bool is_nan(const struct diff_type_info *f, uint64_t bits)
{
    uint64_t infinity = (uint64_t)((1 << f->exponent_bits) - 1) << f->mantissa_bits;
    uint64_t magnitude = bits & ((UINT64_C(1) << (f->mantissa_bits + f->exponent_bits)) - 1);
    return magnitude > infinity;
}

/* Maps floats to integers: the order is kept, and adjacent floats become adjacent integers. */
static int64_t ordinal(const struct diff_type_info *f, uint64_t bits)
{
    unsigned sign_bit = f->mantissa_bits + f->exponent_bits;
    int64_t magnitude = (int64_t)(bits & ((UINT64_C(1) << sign_bit) - 1));
    return bits >> sign_bit & 1 ? -magnitude : magnitude;
}

/* Returns the value of one unit in the last place of a float of this magnitude. */
static double ulp(enum diff_type type, double value)
{
    const struct diff_type_info *f = diff_type_info(type);
    int min_exponent = 2 - (1 << (f->exponent_bits - 1)), exponent;
    frexp(value, &exponent);
    exponent -= 1;
    return ldexp(1, (exponent < min_exponent ? min_exponent : exponent) - (int)f->mantissa_bits);
}

static bool same_float(const struct diff_case *c, enum diff_type type, uint64_t got,
                       uint64_t expected)
{
    const struct diff_type_info *f = diff_type_info(type);
    if (got == expected)
        return true;
    if (is_nan(f, got) || is_nan(f, expected))
        return is_nan(f, got) && is_nan(f, expected);
    if (c->compare == DIFF_ANY_NAN)
        return false;
    double got_value = diff_decode(type, got), expected_value = diff_decode(type, expected);
    if (c->compare == DIFF_ULP) {
        int64_t ulps_apart = ordinal(f, got) - ordinal(f, expected);
        bool same_sign = (signbit(got_value) != 0) == (signbit(expected_value) != 0);
        return same_sign && (double)llabs(ulps_apart) <= c->tolerance;
    }
    if (!isfinite(got_value) || !isfinite(expected_value))
        return false;
    double scale = c->compare == DIFF_RELATIVE ? fabs(expected_value) : 1,
           rounding = ulp(type, expected_value) / 2;
    return fabs(got_value - expected_value) <= c->tolerance * scale + rounding;
}

bool diff_same(const struct diff_case *c, unsigned result, uint64_t got, uint64_t expected)
{
    enum diff_type type = c->result[result];
    const struct diff_type_info *info = diff_type_info(type);
    if (c->compare == DIFF_EXACT || !info->mantissa_bits)
        return got == expected;
    if (!info->packed)
        return same_float(c, type, got, expected);
    type = type == DIFF_F16X2 ? DIFF_F16 : DIFF_BF16;
    return same_float(c, type, got & 0xffff, expected & 0xffff) &&
           same_float(c, type, got >> 16, expected >> 16);
}
