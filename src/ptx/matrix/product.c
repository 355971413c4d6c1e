/* Multiplies matrices of any type, and adds a matrix. multiply.c has the rounding of tensor cores.
 */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/execute.h"

#include <math.h>

/* Expands a sparse matrix A from depth / 2 to depth elements per row.
 *
 * The metadata have four bits for each four units of a row: the positions of the two units that are
 * stored. A unit is an element, except that it is two elements of 4 bits or half an element of
 * tf32. The metadata of the rows g and g + 8 are in lanes of the group of four lanes from 4 * g on:
 * in one of them, in two, or in all. With elements of at least 16 bits, a lane has 16 bits of row g
 * and 16 of row g + 8. With smaller ones, it has 32 bits of one of the rows. */
void fth_ptx_expand(const struct fth_ptx_product *product, const uint64_t metadata[LANES],
                    uint64_t *a)
{
    const unsigned width = fth_ptx_element_bits(product->a), depth = product->depth;
    const unsigned units = width == 32 ? 2 * depth : width == 4 ? depth / 2 : depth;
    const unsigned lanes = units / 16; /* that hold the metadata of a row */
    uint64_t stored[MATRIX_MAX_ELEMENTS / 2];
    for (unsigned i = product->rows; i-- > 0;) { /* backwards: the rows become longer */
        memcpy(stored, a + (size_t)i * depth / 2, depth / 2 * sizeof *stored);
        uint64_t *out = a + (size_t)i * depth;
        for (unsigned k = 0; k < depth; k++)
            out[k] = MATRIX_ABSENT;
        for (unsigned u = 0; u < units; u += 4) {
            /* Per row, a lane has the metadata of 16 units, or of 32 if the elements are small. */
            const unsigned lane =
                i % 8 * 4 + product->selector * lanes + (width < 16 ? i / 8 + u / 32 * 2 : u / 16);
            const unsigned shift = width < 16 ? u % 32 : i / 8 * 16 + u % 16;
            const unsigned bits = (unsigned)(metadata[lane] >> shift) & 15;
            for (unsigned n = 0; n < 2; n++) {
                const unsigned to = u + (bits >> (2 * n) & 3), from = u / 2 + n;
                if (width == 32)
                    out[to / 2] = stored[from / 2];
                else if (width == 4)
                    memcpy(out + (size_t)2 * to, stored + (size_t)2 * from, 2 * sizeof *out);
                else
                    out[to] = stored[from];
            }
        }
    }
}

/* ---- arithmetic: each function computes d = a * b + d ---- */

static void multiply_integers(const struct fth_ptx_product *product, const uint64_t *a,
                              const uint64_t *b, uint64_t *d)
{
    const unsigned columns = product->columns;
    const unsigned a_bits = fth_ptx_element_bits(product->a),
                   b_bits = fth_ptx_element_bits(product->b);
    const uint64_t a_sign =
        product->a == ELEMENT_S8 || product->a == ELEMENT_S4 ? 1u << (a_bits - 1) : 0;
    const uint64_t b_sign =
        product->b == ELEMENT_S8 || product->b == ELEMENT_S4 ? 1u << (b_bits - 1) : 0;
    for (unsigned i = 0; i < product->rows; i++)
        for (unsigned j = 0; j < columns; j++) {
            int64_t sum = (int32_t)d[i * columns + j];
            for (unsigned k = 0; k < product->depth; k++) {
                const uint64_t x = a[i * product->depth + k], y = b[j * product->depth + k];
                if (x == MATRIX_ABSENT)
                    continue;
                sum += ((int64_t)(x ^ a_sign) - (int64_t)a_sign) *
                       ((int64_t)(y ^ b_sign) - (int64_t)b_sign);
            }
            if (product->saturate)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i * columns + j] = (uint32_t)sum;
        }
}

/* a and b hold words of 32 elements. */
static void multiply_bits(const struct fth_ptx_product *product, const uint64_t *a,
                          const uint64_t *b, uint64_t *d)
{
    const unsigned columns = product->columns;
    const unsigned words = product->depth / 32;
    for (unsigned i = 0; i < product->rows; i++)
        for (unsigned j = 0; j < columns; j++) {
            uint32_t sum = (uint32_t)d[i * columns + j];
            for (unsigned k = 0; k < words; k++) {
                const uint32_t x = (uint32_t)a[i * words + k], y = (uint32_t)b[j * words + k];
                sum += (uint32_t)__builtin_popcount(product->is_and ? x & y : x ^ y);
            }
            d[i * columns + j] = sum;
        }
}

static void multiply_doubles(const struct fth_ptx_product *product, const uint64_t *a,
                             const uint64_t *b, uint64_t *d)
{
    const unsigned columns = product->columns;
    for (unsigned i = 0; i < product->rows; i++)
        for (unsigned j = 0; j < columns; j++) {
            double sum = as_double(d[i * columns + j]);
            for (unsigned k = 0; k < product->depth; k++)
                sum = fma(as_double(a[i * product->depth + k]),
                          as_double(b[j * product->depth + k]), sum);
            d[i * columns + j] = double_bits(sum);
        }
}

/* Sets the factors from the elements k of each row with k & mask == choice. */
static void set_factors(struct fth_ptx_factors *factors, enum fth_ptx_element element,
                        const uint64_t *from, unsigned count, unsigned depth, unsigned mask,
                        unsigned choice)
{
    unsigned chosen = 0;
    fth_ptx_factors_init(factors, count, mask ? depth / 2 : depth);
    for (unsigned k = 0; k < depth; k++) {
        if ((k & mask) != choice)
            continue;
        fth_ptx_set_factors(factors, element, chosen++, from + k, depth);
    }
}

static void multiply_floats(const struct fth_ptx_product *product, const uint64_t *a,
                            const uint64_t *b, uint64_t *d)
{
    const unsigned columns = product->columns;
    const bool bytes = product->a == ELEMENT_E4M3 || product->a == ELEMENT_E5M2;
    const struct fth_ptx_addition addition = {
        .fraction_bits = bytes ? 13 : 25, .accumulator = product->c, .result_bits = bytes ? 13 : 0};
    struct fth_ptx_factors x, y;
    uint32_t sums[MATRIX_MAX_ROWS * MATRIX_MAX_COLUMNS];
    const unsigned bit = product->in_halves ? product->depth / 2 : 0; /* of k */
    for (unsigned i = 0; i < product->rows * columns; i++)
        sums[i] = (uint32_t)d[i];
    for (unsigned half = 0; half < (bit ? 2 : 1); half++) {
        set_factors(&x, product->a, a, product->rows, product->depth, bit, bit * half);
        set_factors(&y, product->b, b, columns, product->depth, bit, bit * half);
        fth_ptx_multiply(&x, &y, &addition, sums, sums);
    }
    for (unsigned i = 0; i < product->rows * columns; i++)
        d[i] = sums[i];
}

/* 8-bit numbers are added in two steps with the precision of C, each with half of the elements:
 * those with k % 4 < 2 (of the elements that are stored), then the others. C is added last, by an
 * ordinary addition. */
static void multiply_bytes(const struct fth_ptx_product *product, const uint64_t *a,
                           const uint64_t *b, uint64_t *d)
{
    const unsigned columns = product->columns;
    const unsigned bit = product->sparse ? 4 : 2; /* of k */
    const struct fth_ptx_addition addition = {.fraction_bits = 25, .accumulator = product->c};
    struct fth_ptx_factors x, y;
    uint32_t sums[MATRIX_MAX_ROWS * MATRIX_MAX_COLUMNS] = {0};
    for (unsigned half = 0; half < 2; half++) {
        set_factors(&x, product->a, a, product->rows, product->depth, bit, bit * half);
        set_factors(&y, product->b, b, columns, product->depth, bit, bit * half);
        fth_ptx_multiply(&x, &y, &addition, sums, sums);
    }
    for (unsigned i = 0; i < product->rows * columns; i++)
        if (product->c == ELEMENT_F16) {
            const double sum =
                fth_ptx_half_to_double((uint16_t)sums[i]) + fth_ptx_half_to_double((uint16_t)d[i]);
            d[i] = fth_ptx_half_from_double(sum, R_RN);
        } else {
            const float sum = as_float(sums[i]) + as_float(d[i]);
            d[i] = sum != sum ? 0x7fffffffu : float_bits(sum);
        }
}

void fth_ptx_multiply_add(const struct fth_ptx_product *product, const uint64_t *a,
                          const uint64_t *b, uint64_t *d)
{
    if (product->a == ELEMENT_B1)
        multiply_bits(product, a, b, d);
    else if (product->c == ELEMENT_S32)
        multiply_integers(product, a, b, d);
    else if (product->c == ELEMENT_F64)
        multiply_doubles(product, a, b, d);
    else if (!product->warpgroup && (product->a == ELEMENT_E4M3 || product->a == ELEMENT_E5M2))
        multiply_bytes(product, a, b, d);
    else
        multiply_floats(product, a, b, d);
}

bool fth_ptx_take_metadata(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                           size_t index, struct fth_ptx_product *product, int32_t *row)
{
    const int32_t *metadata, *selector;
    if (!fth_ptx_take_registers(parser, statement, index, 1, false, &metadata) ||
        !fth_ptx_take_registers(parser, statement, index + 1, 1, false, &selector))
        return false;
    /* The metadata of a row are in one, two or four lanes: see fth_ptx_expand(). */
    const unsigned width = fth_ptx_element_bits(product->a), depth = product->depth;
    const uint64_t lanes = (width == 32 ? 2 * depth : width == 4 ? depth / 2 : depth) / 16;
    if (*selector >= 0 || parser->module->pool[~*selector][0] >= 4 / lanes)
        return fth_ptx_refuse_operand(parser, statement, index + 1,
                                      lanes == 4   ? "0"
                                      : lanes == 2 ? "0 or 1"
                                                   : "a number from 0 to 3");
    *row = *metadata;
    product->selector = (unsigned)parser->module->pool[~*selector][0];
    return true;
}
