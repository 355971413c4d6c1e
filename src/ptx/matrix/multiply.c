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

/* Vectors that fit into a register of every 64-bit processor. */
typedef double pair __attribute__((vector_size(16)));
typedef int16_t exponent_block __attribute__((vector_size(16)));
#ifdef __aarch64__
typedef int64_t integer_pair __attribute__((vector_size(16)));
#else /* x86-64 converts only to 32 bits; the numbers have fewer: see the beginning of the file */
typedef int32_t integer_pair __attribute__((vector_size(8)));
#endif

/* The columns of D are computed in blocks of this many, which is a divisor of their number. */
enum { BLOCK = 8 };

static inline pair load_pair(const double *from)
{
    pair value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline pair truncate(pair value)
{
    return __builtin_convertvector(__builtin_convertvector(value, integer_pair), pair);
}

/* ---- accumulators ---- */

/* An element of C, or a sum, as a number and the exponent that it is stored with. */
struct addend {
    double value;
    int exponent;
};

static inline struct addend read_single(uint32_t bits)
{
    const uint32_t exponent = bits >> 23 & 0xff;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (struct addend){.value = value,
                           .exponent = exponent == 0xff || bits << 1 == 0
                                           ? EXPONENT_OF_ZERO
                                           : (int)(exponent ? exponent : 1) - 127};
}

static struct addend read_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1f;
    const bool is_special = exponent == 0x1f || (bits & 0x7fff) == 0;
    return (struct addend){.value = fth_ptx_half_to_double(bits),
                           .exponent =
                               is_special ? EXPONENT_OF_ZERO : (exponent ? exponent : 1) - 15};
}

/* Truncates a number toward zero to an f32 with this many fraction bits. What is too large becomes
 * an infinity, and what is too small +0. */
static inline uint32_t truncate_to_single(double value, int result_bits)
{
    const uint64_t bits = bits_of(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 31;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const uint32_t kept = result_bits ? ~((1u << (23 - result_bits)) - 1) : UINT32_MAX;
    if (exponent > 127)
        return sign | 0x7f800000u;
    if (exponent >= -126) {
        const uint32_t fraction = (uint32_t)(bits >> 29 & 0x7fffff);
        return sign | (((uint32_t)(exponent + 127) << 23 | fraction) & kept);
    }
    if (exponent < -149) /* also for 0 */
        return 0;
    /* Subnormal: the implicit one is a digit as well. */
    const uint64_t digits = (bits & 0xfffffffffffff) | (uint64_t)1 << 52;
    const uint32_t result = (uint32_t)(digits >> (-exponent - 97)) & kept;
    return result ? sign | result : 0;
}

static inline uint32_t round_sum(double sum, const struct fth_ptx_addition *addition)
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

/* ---- blocks ---- */

/* Computes the largest exponent of the products of row i and the columns of the block from j on. */
static inline void find_exponents(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                                  unsigned i, unsigned j, int16_t exponents[BLOCK])
{
    exponent_block largest = (exponent_block){0} + (int16_t)MIN_EXPONENT, others;
    for (unsigned k = 0; k < a->depth; k++) {
        /* If a factor is zero, the sum is less than MIN_EXPONENT, but not less than -2^15. */
        memcpy(&others, b->exponents + (size_t)k * b->count + j, sizeof others);
        others += a->exponents[(size_t)k * a->count + i];
        const exponent_block larger = others > largest;
        largest = (others & larger) | (largest & ~larger);
    }
    memcpy(exponents, &largest, sizeof largest);
}

/* Replaces each of sums[], which are the elements of C, by its sum with the products of row i and
 * the columns of the block from j on, in units of 1 / units[]. */
static inline void add_products(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                                unsigned i, unsigned j, const double units[BLOCK],
                                double sums[BLOCK])
{
    const pair u0 = load_pair(units), u1 = load_pair(units + 2), u2 = load_pair(units + 4),
               u3 = load_pair(units + 6);
    pair s0 = truncate(load_pair(sums) * u0), s1 = truncate(load_pair(sums + 2) * u1),
         s2 = truncate(load_pair(sums + 4) * u2), s3 = truncate(load_pair(sums + 6) * u3);
    for (unsigned k = 0; k < a->depth; k++) {
        const double factor = a->values[(size_t)k * a->count + i];
        const double *others = b->values + (size_t)k * b->count + j;
        s0 += truncate(load_pair(others) * factor * u0);
        s1 += truncate(load_pair(others + 2) * factor * u1);
        s2 += truncate(load_pair(others + 4) * factor * u2);
        s3 += truncate(load_pair(others + 6) * factor * u3);
    }
    memcpy(sums, &s0, sizeof s0);
    memcpy(sums + 2, &s1, sizeof s1);
    memcpy(sums + 4, &s2, sizeof s2);
    memcpy(sums + 6, &s3, sizeof s3);
}

/* True if a factor of the block is infinite or NaN. */
static inline bool has_special_factor(const struct fth_ptx_factors *a,
                                      const struct fth_ptx_factors *b, unsigned i, unsigned j)
{
    uint64_t flags; /* BLOCK of them */
    memcpy(&flags, b->special + j, sizeof flags);
    return a->special[i] || flags;
}

/* Computes the elements of D in row i, from column j on. */
static void multiply_block(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                           const struct fth_ptx_addition *addition, unsigned i, unsigned j,
                           const uint32_t c[BLOCK], uint32_t d[BLOCK])
{
    int16_t exponents[BLOCK];
    double units[BLOCK], sums[BLOCK], addends[BLOCK];
    bool is_special = has_special_factor(a, b, i, j);
    find_exponents(a, b, i, j, exponents);
    for (unsigned n = 0; n < BLOCK; n++) {
        const struct addend addend =
            addition->accumulator == ELEMENT_F32 ? read_single(c[n]) : read_half((uint16_t)c[n]);
        const bool finite = isfinite(addend.value);
        const int exponent = addend.exponent > exponents[n] ? addend.exponent : exponents[n];
        exponents[n] = (int16_t)exponent;
        units[n] = power_of_two(addition->fraction_bits - exponent);
        addends[n] = addend.value;
        sums[n] = finite ? addend.value : 0;
        is_special = is_special || !finite;
    }
    add_products(a, b, i, j, units, sums);
    for (unsigned n = 0; n < BLOCK; n++) {
        const double unit = power_of_two(exponents[n] - addition->fraction_bits);
        const uint32_t special = is_special ? special_sum(a, b, i, j + n, addends[n]) : 0;
        d[n] = special ? special_result(special, addition->accumulator)
                       : round_sum(sums[n] * unit, addition);
    }
}

void fth_ptx_multiply(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                      const struct fth_ptx_addition *addition, const uint32_t *c, uint32_t *d)
{
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned j = 0; j < b->count; j += BLOCK) {
            const size_t at = (size_t)i * b->count + j;
            multiply_block(a, b, addition, i, j, c + at, d + at);
        }
}
