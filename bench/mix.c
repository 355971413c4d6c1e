/* See mix.h. */
#include "mix.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#define ZIPF_LINES ((size_t)1 << 20)
#define ZIPF_EXPONENT 0.99
/* An odd number near 2^20 over the golden ratio: multiplying by it modulo 2^20 permutes the lines.
 */
#define SCATTER 648055u

#define STRIDE_LINES ((uint64_t)1 << 20)
#define MATRIX_ROWS 1024
#define ROW_LINES 32 /* 1,024 words of 4 bytes in lines of 128 */
#define COLUMNS_A_LINE 32
#define BROADCAST_REPEATS 64
#define BROADCAST_LINES 16

/* Where the lines of each pattern begin. */
enum { ZIPF_BASE = 0, STRIDE_BASE = 1 << 20, COLUMN_BASE = 1 << 21, BROADCAST_BASE = 1 << 22 };

static uint64_t draw_rank(const double *up_to, struct fth_rng *rng)
{
    double u = fth_rng_unit(rng) * up_to[ZIPF_LINES - 1];
    size_t low = 0, high = ZIPF_LINES - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (up_to[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t column_line(uint64_t step)
{
    uint64_t row = step % MATRIX_ROWS, column = step / MATRIX_ROWS;
    return row * ROW_LINES + column / COLUMNS_A_LINE % ROW_LINES;
}

bool mix_fill(uint64_t *lines, size_t count, uint64_t seed)
{
    double *up_to = calloc(ZIPF_LINES, sizeof *up_to); /* popularity, added up */
    if (!up_to)
        return false;
    double sum = 0;
    for (size_t i = 0; i < ZIPF_LINES; i++)
        up_to[i] = sum += pow((double)(i + 1), -ZIPF_EXPONENT);
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    uint64_t stride = 0, column = 0, broadcast = 0;
    for (size_t i = 0; i < count; i++) {
        switch (fth_rng_below(&rng, 8)) { /* eighths */
        case 0:
        case 1: lines[i] = STRIDE_BASE + stride++ % STRIDE_LINES; break;
        case 2: lines[i] = COLUMN_BASE + column_line(column++); break;
        case 3:
            lines[i] = BROADCAST_BASE + broadcast++ / BROADCAST_REPEATS % BROADCAST_LINES;
            break;
        default: lines[i] = ZIPF_BASE + draw_rank(up_to, &rng) * SCATTER % ZIPF_LINES; break;
        }
    }
    free(up_to);
    return true;
}
