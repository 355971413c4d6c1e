/* The patterns of mix.h. */
#include "mix.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#define ZIPF_LINES ((size_t)1 << 20)
#define ZIPF_EXPONENT 0.99
/* An odd number near 2^20 divided by the golden ratio. Multiplication by it modulo 2^20 permutes
 * the lines, so that popular lines are not adjacent. */
#define SCATTER 648055u

#define STRIDE_LINES ((uint64_t)1 << 20)
#define MATRIX_ROWS 1024
#define ROW_LINES 32 /* 1,024 words of 4 bytes in lines of 128 */
#define COLUMNS_PER_LINE 32
#define BROADCAST_REPEATS 64
#define BROADCAST_LINES 16

/* The first line of each pattern. */
enum { ZIPF_BASE = 0, STRIDE_BASE = 1 << 20, COLUMN_BASE = 1 << 21, BROADCAST_BASE = 1 << 22 };

/* Draws a rank by popularity, 0 for the most popular line, with a binary search in the cumulative
 * weights. */
static uint64_t draw_rank(const double *cumulative, struct fth_rng *rng)
{
    double u = fth_rng_unit(rng) * cumulative[ZIPF_LINES - 1];
    size_t low = 0, high = ZIPF_LINES - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Returns the line of the word that the column walk reads in its step `step`. */
static uint64_t column_line(uint64_t step)
{
    uint64_t row = step % MATRIX_ROWS, column = step / MATRIX_ROWS;
    return row * ROW_LINES + column / COLUMNS_PER_LINE % ROW_LINES;
}

bool mix_fill(uint64_t *lines, size_t count, uint64_t seed)
{
    /* [i]: sum of the weights of the ranks 0 to i */
    double *cumulative = calloc(ZIPF_LINES, sizeof *cumulative);
    if (!cumulative)
        return false;
    double sum = 0;
    for (size_t i = 0; i < ZIPF_LINES; i++)
        cumulative[i] = sum += pow((double)(i + 1), -ZIPF_EXPONENT);
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    uint64_t stride = 0, column = 0, broadcast = 0;
    for (size_t i = 0; i < count; i++) {
        switch (fth_rng_below(&rng, 8)) { /* one eighth of the references per case */
        case 0:
        case 1: lines[i] = STRIDE_BASE + stride++ % STRIDE_LINES; break;
        case 2: lines[i] = COLUMN_BASE + column_line(column++); break;
        case 3:
            lines[i] = BROADCAST_BASE + broadcast++ / BROADCAST_REPEATS % BROADCAST_LINES;
            break;
        default: lines[i] = ZIPF_BASE + draw_rank(cumulative, &rng) * SCATTER % ZIPF_LINES; break;
        }
    }
    free(cumulative);
    return true;
}
