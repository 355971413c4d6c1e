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
    memset(factors->special, 0, count * sizeof *factors->special);
}

/* Sets an element that is infinite, NaN or absent. */
static void set_special(struct fth_ptx_factors *factors, const struct format *format, size_t at,
                        uint64_t bits)
{
    const uint32_t fractions = (1u << format->fraction) - 1;
    const bool negative = bits >> (format->fraction + format->exponent) & 1;
    factors->kinds[at] = bits == MATRIX_ABSENT                         ? FACTOR_ABSENT
                         : !format->has_infinities || bits & fractions ? FACTOR_NAN
                         : negative                                    ? FACTOR_MINUS_INFINITY
                                                                       : FACTOR_INFINITY;
    factors->values[at] = 0;
    factors->exponents[at] = EXPONENT_OF_ZERO;
    if (bits != MATRIX_ABSENT)
        factors->special[at % factors->count] = true;
}

void fth_ptx_set_factors(struct fth_ptx_factors *factors, enum fth_ptx_element element, unsigned k,
                         const uint64_t *from, size_t stride)
{
    const struct format format = formats[element];
    const unsigned shift = 52u - format.fraction; /* to the fraction of a double */
    const int bias = (1 << (format.exponent - 1)) - 1;
    const uint64_t magnitudes = ((uint64_t)1 << (format.fraction + format.exponent)) - 1;
    const uint64_t ones = magnitudes >> format.fraction;
    /* The smallest magnitude that is not finite. */
    const uint64_t limit = format.has_infinities ? ones << format.fraction : magnitudes;
    /* 2^(1023 - bias) makes a number with the exponent field of the format one of the same value
     * with that of a double. This also holds for subnormal numbers. */
    const uint64_t scale_bits = (uint64_t)(2046 - bias) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    for (unsigned i = 0; i < factors->count; i++) {
        const size_t at = (size_t)k * factors->count + i;
        const uint64_t bits =
            from[i * stride] == MATRIX_ABSENT ? MATRIX_ABSENT : from[i * stride] >> format.ignored;
        const uint64_t magnitude = bits & magnitudes, exponent = magnitude >> format.fraction;
        if (magnitude >= limit) {
            set_special(factors, &format, at, bits);
            continue;
        }
        const uint64_t sign = bits >> (format.fraction + format.exponent) & 1;
        const uint64_t digits = sign << 63 | magnitude << shift;
        double value;
        memcpy(&value, &digits, sizeof value);
        factors->values[at] = value * scale;
        factors->exponents[at] =
            magnitude ? (int16_t)((int)(exponent ? exponent : 1) - bias) : EXPONENT_OF_ZERO;
        factors->kinds[at] = FACTOR_FINITE;
    }
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
