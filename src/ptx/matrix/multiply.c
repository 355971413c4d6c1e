/* Multiplies matrices of floating-point numbers as the tensor cores of an H200 do.
 *
 * Products are exact. A product has the exponent ea + eb, the sum of the exponents of its factors
 * as they are stored: that of 1.5 * 1.5 is 0, although the product is above 2. All products of a
 * row and a column and the element of C are added in one step, with the exponent E, the largest one
 * among them. Each is truncated toward zero to a multiple of 2^(E - fraction_bits), and the sum of
 * the truncated numbers is exact. docs/results/tensor-cores-h200.md has the experiments.
 *
 * The sum is computed in double, in units of 2^(E - fraction_bits). A product is below 2^(E + 2),
 * so it has at most fraction_bits + 2 bits in this unit, and a sum of 33 addends at most
 * fraction_bits + 8: far less than the 53 bits of a double. */
#include "ptx/matrix/matrix.h"

#include <math.h>
#include <string.h>

/* The exponent of a step is at least this one, whatever the addends are. */
enum { MIN_EXPONENT = -133 };
#define F32_NAN 0x7fffffffu
#define F16_NAN 0x7fffu

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^exponent, which must be the exponent of a normal double. */
static inline double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double truncate(double value)
{
#ifdef __aarch64__
    return __builtin_trunc(value); /* one instruction */
#else
    return (double)(int32_t)value; /* below 2^31: see the beginning of the file */
#endif
}

/* ---- accumulators ---- */

/* An element of C, or a sum, as a number and the exponent that it is stored with. */
struct addend {
    double value;
    int exponent;
};

static struct addend read_accumulator(uint32_t bits, enum fth_ptx_element element)
{
    const bool single = element == ELEMENT_F32;
    const int fraction_bits = single ? 23 : 10, exponent_bits = single ? 8 : 5;
    const uint32_t ones = (1u << exponent_bits) - 1;
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const uint32_t exponent = bits >> fraction_bits & ones;
    const bool negative = bits >> (fraction_bits + exponent_bits) & 1;
    struct addend addend = {.exponent = EXPONENT_OF_ZERO};
    if (exponent == ones) {
        addend.value = fraction ? NAN : negative ? -INFINITY : INFINITY;
    } else if (exponent || fraction) {
        addend.exponent = (int)(exponent ? exponent : 1) - (int)(ones >> 1);
        const double digits = (double)(exponent ? fraction | 1u << fraction_bits : fraction);
        addend.value =
            power_of_two(addend.exponent - fraction_bits) * (negative ? -digits : digits);
    }
    return addend;
}

/* Truncates a number toward zero to an f32 with this many fraction bits. What is too large becomes
 * an infinity, and what is too small +0. */
static uint32_t truncate_to_single(double value, int result_bits)
{
    const uint64_t bits = bits_of(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 31;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (value == 0 || exponent < -149)
        return 0;
    if (exponent > 127)
        return sign | 0x7f800000u;
    uint32_t result;
    if (exponent >= -126) {
        result = (uint32_t)(exponent + 127) << 23 | (uint32_t)(bits >> 29 & 0x7fffff);
    } else { /* subnormal: the implicit one is a digit as well */
        const uint64_t digits = (bits & 0xfffffffffffff) | (uint64_t)1 << 52;
        result = (uint32_t)(digits >> (-exponent - 97));
    }
    if (result_bits)
        result &= ~((1u << (23 - result_bits)) - 1);
    return result ? sign | result : 0;
}

static uint32_t round_sum(double sum, const struct fth_ptx_addition *addition)
{
    if (addition->accumulator == ELEMENT_F32)
        return truncate_to_single(sum, addition->result_bits);
    const uint16_t half = fth_ptx_half_from_double(sum, R_RN);
    return half & 0x7fff ? half : 0;
}

/* ---- infinities and NaNs ---- */

static double factor_at(const struct fth_ptx_factors *factors, unsigned k, unsigned i)
{
    const size_t at = (size_t)k * factors->count + i;
    switch (factors->kinds[at]) {
    case FACTOR_FINITE: return factors->values[at];
    case FACTOR_INFINITY: return INFINITY;
    case FACTOR_MINUS_INFINITY: return -INFINITY;
    default: return NAN;
    }
}

/* The element of D, as an f32, if an addend is infinite or NaN; 0 if none is: the element of B with
 * an infinity can meet an absent element of A. */
static uint32_t special_sum(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                            unsigned i, unsigned j, double c)
{
    double sum = isfinite(c) ? 0 : c;
    for (unsigned k = 0; k < a->depth; k++) {
        if (a->kinds[(size_t)k * a->count + i] == FACTOR_ABSENT)
            continue;
        const double product = factor_at(a, k, i) * factor_at(b, k, j);
        if (!isfinite(product))
            sum += product;
    }
    return isnan(sum) ? F32_NAN : sum > 0 ? 0x7f800000u : sum < 0 ? 0xff800000u : 0;
}

static uint32_t special_result(uint32_t single, enum fth_ptx_element accumulator)
{
    if (accumulator == ELEMENT_F32)
        return single;
    return single == F32_NAN ? F16_NAN : (single >> 16 & 0x8000) | 0x7c00;
}

/* ---- rows ---- */

/* Computes the exponent of the step of each element of row i. */
static void find_exponents(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                           unsigned i, int16_t exponents[MATRIX_MAX_COLUMNS])
{
    const unsigned columns = b->count;
    for (unsigned j = 0; j < columns; j++)
        exponents[j] = MIN_EXPONENT;
    for (unsigned k = 0; k < a->depth; k++) {
        const int16_t exponent = a->exponents[(size_t)k * a->count + i];
        const int16_t *others = b->exponents + (size_t)k * columns;
        if (exponent == EXPONENT_OF_ZERO)
            continue;
        for (unsigned j = 0; j < columns; j++) {
            const int16_t sum = (int16_t)(exponent + others[j]);
            exponents[j] = sum > exponents[j] ? sum : exponents[j];
        }
    }
}

/* Adds the products of row i to sums[], in units of 1 / units[]. */
static void add_products(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                         unsigned i, const double units[MATRIX_MAX_COLUMNS],
                         double sums[MATRIX_MAX_COLUMNS])
{
    const unsigned columns = b->count;
    for (unsigned k = 0; k < a->depth; k++) {
        const double factor = a->values[(size_t)k * a->count + i];
        const double *others = b->values + (size_t)k * columns;
        if (factor == 0)
            continue;
        for (unsigned j = 0; j < columns; j++)
            sums[j] += truncate(factor * others[j] * units[j]);
    }
}

void fth_ptx_multiply(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                      const struct fth_ptx_addition *addition, const uint32_t *c, uint32_t *d)
{
    const unsigned columns = b->count;
    for (unsigned i = 0; i < a->count; i++) {
        int16_t exponents[MATRIX_MAX_COLUMNS];
        double units[MATRIX_MAX_COLUMNS], sums[MATRIX_MAX_COLUMNS];
        struct addend addends[MATRIX_MAX_COLUMNS];
        const uint32_t *row_of_c = c + (size_t)i * columns;
        uint32_t *row_of_d = d + (size_t)i * columns;
        find_exponents(a, b, i, exponents);
        for (unsigned j = 0; j < columns; j++) {
            addends[j] = read_accumulator(row_of_c[j], addition->accumulator);
            if (addends[j].exponent > exponents[j])
                exponents[j] = (int16_t)addends[j].exponent;
            units[j] = power_of_two(addition->fraction_bits - exponents[j]);
            sums[j] = trunc(addends[j].value * units[j]);
        }
        add_products(a, b, i, units, sums);
        for (unsigned j = 0; j < columns; j++) {
            const double addend = addends[j].value;
            uint32_t special = 0;
            if (a->special[i] || b->special[j] || !isfinite(addend))
                special = special_sum(a, b, i, j, addend);
            row_of_d[j] = special ? special_result(special, addition->accumulator)
                                  : round_sum(sums[j] / units[j], addition);
        }
    }
}
