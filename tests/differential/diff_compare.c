/* Decides whether a result counts as equal to the expected one, by the rule of the case (enum
 * diff_compare). */
#include "suite.h"

static bool is_nan(const struct diff_type_info *f, uint64_t bits)
{
    uint64_t infinity = (uint64_t)((1 << f->exponent_bits) - 1) << f->mantissa_bits;
    uint64_t magnitude = bits & ((UINT64_C(1) << (f->mantissa_bits + f->exponent_bits)) - 1);
    return magnitude > infinity;
}

static bool same_float(enum diff_type type, uint64_t got, uint64_t expected)
{
    const struct diff_type_info *f = diff_type_info(type);
    return got == expected || (is_nan(f, got) && is_nan(f, expected));
}

bool diff_same(const struct diff_case *c, unsigned result, uint64_t got, uint64_t expected)
{
    enum diff_type type = c->result[result];
    const struct diff_type_info *info = diff_type_info(type);
    if (c->compare == DIFF_EXACT || !info->mantissa_bits)
        return got == expected;
    if (!info->packed)
        return same_float(type, got, expected);
    type = type == DIFF_F16X2 ? DIFF_F16 : DIFF_BF16;
    return same_float(type, got & 0xffff, expected & 0xffff) &&
           same_float(type, got >> 16, expected >> 16);
}
