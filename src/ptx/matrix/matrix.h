/* matrix/: the instructions of the tensor cores.
 *
 *   formats.c   converts elements of matrices to numbers and back
 *   multiply.c  multiplies and adds matrices of floating-point numbers with the rounding of an H200
 *   product.c   multiplies and adds matrices of any type
 *   mma.c       mma: multiplies matrices that the lanes of a warp hold in registers
 *   small_mma.c mma.m8n8k4: the same for four pairs of small matrices
 *   wmma.c      wmma: multiplies matrices in registers, which it loads and stores itself
 *   wgmma.c     wgmma: multiplies matrices of four warps, in shared memory
 *   matrix_move.c  ldmatrix, stmatrix, movmatrix: matrices between registers and shared memory
 *
 * A tensor core rounds differently from all other units: it adds all products of a row and a column
 * in one step and truncates each of them. docs/results/tensor-cores-h200.md describes the
 * experiments from which the rules come. */
#ifndef FTH_PTX_MATRIX_H
#define FTH_PTX_MATRIX_H

#include "ptx/parse/operand.h"

/* The largest matrices of floating-point numbers that one warp multiplies: 32 rows of A (wmma; a
 * warp of wgmma has 16 of the 64 rows), 256 columns of B, and 64 elements in a row of A (8-bit
 * numbers, half of them absent). */
enum { MATRIX_MAX_ROWS = 32, MATRIX_MAX_COLUMNS = 256, MATRIX_MAX_DEPTH = 64 };

/* ---- formats.c ---- */

enum fth_ptx_element {
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_TF32,
    ELEMENT_E4M3,
    ELEMENT_E5M2,
    ELEMENT_F32, /* only as an accumulator */
    ELEMENT_F64,
    ELEMENT_S32, /* only as an accumulator */
    ELEMENT_S8,
    ELEMENT_U8,
    ELEMENT_S4,
    ELEMENT_U4,
    ELEMENT_B1
};

/* Skips the next word of the opcode, such as "f16", and returns true if it names an element. */
bool fth_ptx_take_element(struct fth_ptx_statement *statement, enum fth_ptx_element *element);
unsigned fth_ptx_element_bits(enum fth_ptx_element element); /* in a register; 32 for tf32 */

/* Matrix A, or the transpose of B, as the multiplier reads it: `count` rows of A or columns of B
 * with `depth` elements each. Element k of row or column i has the index k * count + i. */
enum { MATRIX_MAX_FACTORS = MATRIX_MAX_DEPTH * MATRIX_MAX_COLUMNS };
struct fth_ptx_factors {
    unsigned count, depth;
    bool special[MATRIX_MAX_COLUMNS];  /* rows or columns in which an element is infinite or NaN */
    double values[MATRIX_MAX_FACTORS]; /* 0 for infinities and NaNs */
    /* The exponents of the numbers as they are stored, that is, with the smallest exponent of the
     * format for subnormal numbers; EXPONENT_OF_ZERO for zeros, infinities and NaNs. */
    int16_t exponents[MATRIX_MAX_FACTORS];
    int8_t kinds[MATRIX_MAX_FACTORS]; /* enum fth_ptx_factor_kind */
};
/* FACTOR_ABSENT: an element of a sparse matrix that is not stored. It has no product, not even with
 * an infinity. */
enum fth_ptx_factor_kind {
    FACTOR_FINITE,
    FACTOR_INFINITY,
    FACTOR_MINUS_INFINITY,
    FACTOR_NAN,
    FACTOR_ABSENT
};
#define EXPONENT_OF_ZERO (-16384)

void fth_ptx_factors_init(struct fth_ptx_factors *factors, unsigned count, unsigned depth);
/* Sets the elements k of all rows or columns from their bits: that of row or column i is
 * from[i * stride], or MATRIX_ABSENT. */
void fth_ptx_set_factors(struct fth_ptx_factors *factors, enum fth_ptx_element element, unsigned k,
                         const uint64_t *from, size_t stride);
#define MATRIX_ABSENT UINT64_MAX

/* ---- multiply.c ---- */

/* How the multiplier adds. It aligns all products and the accumulator to the largest exponent E
 * among them, truncates each toward zero to a multiple of 2^(E - fraction_bits), adds them exactly,
 * and rounds the sum. */
struct fth_ptx_addition {
    int fraction_bits;
    enum fth_ptx_element accumulator; /* ELEMENT_F32: truncates the sum; ELEMENT_F16: rounds it to
                                       * nearest even */
    int result_bits;                  /* fraction bits of the result that are kept; 0: all */
};

/* Computes D = A * B + C for matrices of floating-point numbers. The number of columns must be a
 * multiple of 8. `c` and `d` hold bits, row by row, and may be the same array. */
void fth_ptx_multiply(const struct fth_ptx_factors *a, const struct fth_ptx_factors *b,
                      const struct fth_ptx_addition *addition, const uint32_t *c, uint32_t *d);

/* ---- product.c ---- */

/* The most elements of a row of A of any type: 128 of 4 bits, half of them absent. */
enum { MATRIX_MAX_ELEMENTS = 128 };

/* A multiplication of matrices. */
struct fth_ptx_product {
    enum fth_ptx_element a, b, c; /* c: also that of the result */
    unsigned rows, columns, depth;
    bool warpgroup;    /* it is that of wgmma, which adds 8-bit numbers in another way than mma */
    bool in_halves;    /* the first and the second half of a row are added in a step each */
    bool saturate;     /* integers do not wrap around */
    bool is_and;       /* single bits are combined by "and" instead of "exclusive or" */
    bool sparse;       /* half of the elements of A are absent, */
    unsigned selector; /* and these lanes hold the metadata, which say which ones */
};

/* Computes d = a * b + d. The arrays hold the bits of the elements: a[row * depth + k],
 * b[column * depth + k], d[row * columns + column]. Single bits are in words of 32. */
void fth_ptx_multiply_add(const struct fth_ptx_product *product, const uint64_t *a,
                          const uint64_t *b, uint64_t *d);
/* Expands a sparse matrix A in place, from depth / 2 to depth elements per row. */
void fth_ptx_expand(const struct fth_ptx_product *product, const uint64_t metadata[LANES],
                    uint64_t *a);
/* Takes two operands from `index` on: the register with the metadata, and the number of the lanes
 * that hold them. */
bool fth_ptx_take_metadata(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                           size_t index, struct fth_ptx_product *product, int32_t *row);

/* ---- mma.c ---- */

fth_ptx_family fth_ptx_family_mma;

/* ---- small_mma.c ---- */

/* Returns true if the statement is a form of mma.m8n8k4 with f16. */
bool fth_ptx_is_small_mma(const struct fth_ptx_statement *statement);
fth_ptx_family fth_ptx_family_small_mma;

/* ---- matrix_move.c ---- */

fth_ptx_family fth_ptx_family_ldmatrix;
fth_ptx_family fth_ptx_family_stmatrix;
fth_ptx_family fth_ptx_family_movmatrix;

/* ---- wmma.c ---- */

fth_ptx_family fth_ptx_family_wmma;

/* ---- wgmma.c ---- */

fth_ptx_family fth_ptx_family_wgmma;
/* Returns the number of rows with descriptors of matrices in shared memory, and these rows. */
size_t fth_ptx_wgmma_descriptors(const struct fth_ptx_inst *inst, int32_t rows[2]);

#endif
