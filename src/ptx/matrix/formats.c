/* The formats of the elements of matrices. */
#include "ptx/matrix/matrix.h"

#include <string.h>

unsigned fth_ptx_element_bits(enum fth_ptx_element element)
{
    static const uint8_t bits[] = {
        [ELEMENT_F16] = 16, [ELEMENT_BF16] = 16, [ELEMENT_TF32] = 32, [ELEMENT_E4M3] = 8,
        [ELEMENT_E5M2] = 8, [ELEMENT_F32] = 32,  [ELEMENT_F64] = 64,  [ELEMENT_S32] = 32,
        [ELEMENT_S8] = 8,   [ELEMENT_U8] = 8,    [ELEMENT_S4] = 4,    [ELEMENT_U4] = 4,
        [ELEMENT_B1] = 1,
    };
    return bits[element];
}

/* A format of floating-point numbers: the bits below the first one of the fraction that the tensor
 * core ignores, the bits of the fraction, and those of the exponent. e4m3 has no infinities: all
 * ones are a NaN, and the largest exponent also belongs to finite numbers. */
struct format {
    uint8_t ignored, fraction, exponent;
    bool has_infinities;
};

static const struct format formats[] = {
    [ELEMENT_F16] = {0, 10, 5, true},   [ELEMENT_BF16] = {0, 7, 8, true},
    [ELEMENT_TF32] = {13, 10, 8, true}, [ELEMENT_E4M3] = {0, 3, 4, false},
    [ELEMENT_E5M2] = {0, 2, 5, true},
};

void fth_ptx_factors_init(struct fth_ptx_factors *factors, unsigned count, unsigned depth)
{
    factors->count = count;
    factors->depth = depth;
    factors->any_special = false;
    memset(factors->special, 0, count * sizeof *factors->special);
}

void fth_ptx_set_factor(struct fth_ptx_factors *factors, enum fth_ptx_element element, unsigned k,
                        unsigned i, uint32_t bits)
{
    const struct format *format = &formats[element];
    const size_t at = (size_t)k * factors->count + i;
    bits >>= format->ignored;
    const uint32_t ones = (1u << format->exponent) - 1, fractions = (1u << format->fraction) - 1;
    const uint32_t fraction = bits & fractions, exponent = bits >> format->fraction & ones;
    const bool negative = bits >> (format->fraction + format->exponent) & 1;
    factors->kinds[at] = FACTOR_FINITE;
    if (exponent == ones && (format->has_infinities || fraction == fractions)) {
        factors->kinds[at] = !format->has_infinities || fraction ? FACTOR_NAN
                             : negative                          ? FACTOR_MINUS_INFINITY
                                                                 : FACTOR_INFINITY;
        factors->values[at] = 0;
        factors->exponents[at] = EXPONENT_OF_ZERO;
        factors->special[i] = factors->any_special = true;
        return;
    }
    const int unbiased = (int)(exponent ? exponent : 1) - (int)(ones >> 1);
    const uint32_t digits = exponent ? fraction | 1u << format->fraction : fraction;
    /* 2^n as a double: n + 1023 is its exponent field. It is never subnormal. */
    const uint64_t power = (uint64_t)(unbiased - format->fraction + 1023) << 52;
    double unit;
    memcpy(&unit, &power, sizeof unit);
    factors->values[at] = (negative ? -unit : unit) * (double)digits;
    factors->exponents[at] = digits ? (int16_t)unbiased : EXPONENT_OF_ZERO;
}

void fth_ptx_set_absent(struct fth_ptx_factors *factors, unsigned k, unsigned i)
{
    const size_t at = (size_t)k * factors->count + i;
    factors->values[at] = 0;
    factors->exponents[at] = EXPONENT_OF_ZERO;
    factors->kinds[at] = FACTOR_ABSENT;
}

bool fth_ptx_take_element(struct fth_ptx_statement *statement, enum fth_ptx_element *element)
{
    static const char *const names[] = {
        [ELEMENT_F16] = "f16",   [ELEMENT_BF16] = "bf16", [ELEMENT_TF32] = "tf32",
        [ELEMENT_E4M3] = "e4m3", [ELEMENT_E5M2] = "e5m2", [ELEMENT_F32] = "f32",
        [ELEMENT_F64] = "f64",   [ELEMENT_S32] = "s32",   [ELEMENT_S8] = "s8",
        [ELEMENT_U8] = "u8",     [ELEMENT_S4] = "s4",     [ELEMENT_U4] = "u4",
        [ELEMENT_B1] = "b1",
    };
    const int found = fth_ptx_take_one_of(statement, names, FTH_COUNT(names));
    if (found >= 0)
        *element = (enum fth_ptx_element)found;
    return found >= 0;
}
