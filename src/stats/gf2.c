/* Linear algebra over GF(2), for hashes whose output bits are XORs (parities) of input bits.
 *
 * Two inputs have the same output under such a hash if and only if they differ by a vector of its
 * kernel. Observed pairs of inputs with the same output therefore span the kernel. The bit
 * masks whose parities are the output bits span the space orthogonal to the kernel. That space
 * determines the hash except for the numbering of its outputs.
 *
 * A vector is a word of 64 bits. A space is stored as a basis in reduced row echelon form: the
 * highest bit of each basis vector (its pivot) is 0 in all others. Equal spaces have equal bases.
 */
#include "stats/stats.h"

static unsigned highest_bit(uint64_t vector)
{
    return 63 - (unsigned)__builtin_clzll(vector);
}

uint64_t fth_gf2_reduce(const struct fth_gf2 *space, uint64_t vector)
{
    for (uint64_t left = vector & space->pivots; left; left = vector & space->pivots)
        vector ^= space->rows[highest_bit(left)];
    return vector;
}

bool fth_gf2_add(struct fth_gf2 *space, uint64_t vector)
{
    vector = fth_gf2_reduce(space, vector);
    if (vector == 0)
        return false;
    unsigned pivot = highest_bit(vector);
    for (uint64_t left = space->pivots; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (space->rows[i] >> pivot & 1)
            space->rows[i] ^= vector;
    }
    space->rows[pivot] = vector;
    space->pivots |= (uint64_t)1 << pivot;
    return true;
}

unsigned fth_gf2_rank(const struct fth_gf2 *space)
{
    return (unsigned)__builtin_popcountll(space->pivots);
}

/* Each bit that is not a pivot gives one vector: the bit itself and the pivots of the rows in which
 * the bit is set. */
void fth_gf2_orthogonal(const struct fth_gf2 *space, unsigned bits, struct fth_gf2 *orthogonal)
{
    *orthogonal = (struct fth_gf2){0};
    for (unsigned bit = 0; bit < bits && bit < 64; bit++) {
        if (space->pivots >> bit & 1)
            continue;
        uint64_t vector = (uint64_t)1 << bit;
        for (uint64_t left = space->pivots; left; left &= left - 1) {
            unsigned pivot = (unsigned)__builtin_ctzll(left);
            if (space->rows[pivot] >> bit & 1)
                vector |= (uint64_t)1 << pivot;
        }
        fth_gf2_add(orthogonal, vector);
    }
}

bool fth_gf2_equal(const struct fth_gf2 *a, const struct fth_gf2 *b)
{
    if (a->pivots != b->pivots)
        return false;
    for (uint64_t left = a->pivots; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (a->rows[i] != b->rows[i])
            return false;
    }
    return true;
}
