/* Elements of matrices for the cases in suite_matrix.c and suite_warpgroup.c. */
#ifndef FTH_TESTS_SUITE_MATRIX_H
#define FTH_TESTS_SUITE_MATRIX_H

#include "../suite.h"

/* Types of elements. */
enum diff_element { F16, BF16, TF32, E4M3, E5M2, F32, F64, S32, S8, U8, S4, U4, B1, ELEMENTS };

extern const struct diff_element_info {
    const char *name;
    unsigned bits, exponent, fraction, unused; /* unused: low bits of a register */
} diff_elements[ELEMENTS];

enum diff_distribution {
    ANY_BITS,
    CLOSE,       /* exponents -1 to 1 */
    WIDE,        /* exponents that differ by up to 24 */
    POWERS,      /* powers of two */
    WIDE_POWERS, /* powers of two that differ by up to 24 binary digits */
    FEW,         /* most elements are zero */
    ONE_LARGE,   /* one of 16 elements is larger by 5 to 12 binary digits */
    ONE_LARGE_POWER,
    SUBNORMAL,
    POSITIVE,
    HUGE_NUMBERS, /* close to the largest finite number: sums overflow */
    CANCELLING,   /* neighbours are the same with opposite signs */
    DISTRIBUTIONS
};

/* Returns a register with elements. `group` is the same for elements that are likely to be in one
 * row, and `position` is the place of the first element in the row. */
uint64_t diff_random_register(struct fth_rng *rng, enum diff_element element,
                              enum diff_distribution distribution, uint64_t group,
                              unsigned position);
/* Returns a register of an accumulator: zero, close to the products, or with a very different
 * exponent, depending on `test`. */
uint64_t diff_random_accumulator(struct fth_rng *rng, enum diff_element element, size_t test);
/* Returns metadata of a sparse matrix: in each group of 4 bits, two different positions in
 * ascending order. tf32 has only two combinations. */
uint64_t diff_random_metadata(struct fth_rng *rng, enum diff_element element);

/* Appends "{r4,r5,r6}". */
void diff_put_registers(struct fth_buffer *out, const char *name, unsigned first, unsigned count);
/* Takes the text, which then lives as long as the suite. */
const char *diff_keep_text(struct diff_builder *builder, struct fth_buffer *text);

/* Adds the cases of wgmma. */
void diff_add_warpgroup(struct diff_builder *builder);

#endif
