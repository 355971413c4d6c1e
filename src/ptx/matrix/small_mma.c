/* mma.m8n8k4 with f16, the first form of mma: four pairs of matrices at a time.
 *
 * Pair q is in the lanes 4 * q to 4 * q + 3 and 4 * q + 16 to 4 * q + 19. In the table, t is the
 * number of a lane in its group of 4, h is 1 for the lanes from 16 on, and i is the index of the
 * element in the lane:
 *
 *     A   .row: element i of row t + 4 * h; .col: element t of row i + 4 * h
 *     B   .row: element t of column i + 4 * h; .col: element i of column t + 4 * h
 *     C   f16: row t + 4 * h, column i
 *         f32: row t % 2 + i / 2 % 2 * 2 + 4 * h, column i / 4 * 4 + t / 2 * 2 + i % 2
 *
 * An H200 executes it with ordinary f32 arithmetic, not on its tensor cores. */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/execute.h"

#include <math.h>

enum { SIZE = 8, DEPTH = 4 };

struct fth_ptx_small_mma {
    struct fth_ptx_detail detail;
    bool a_by_column, b_by_row;
    bool halves; /* C and D are f16 */
    const int32_t *a_rows, *b_rows, *c_rows, *d_rows;
};

/* ---- execution ---- */

/* The place of element i of the lane in the matrix D. */
static unsigned place(bool halves, unsigned lane, unsigned i)
{
    const unsigned t = lane % 4, h = lane / 16;
    if (halves)
        return (t + 4 * h) * SIZE + i;
    return (t % 2 + i / 2 % 2 * 2 + 4 * h) * SIZE + i / 4 * 4 + t / 2 * 2 + i % 2;
}

static uint16_t half_of(const uint64_t *values, unsigned lane, unsigned i)
{
    return (uint16_t)(values[lane] >> (16 * (i % 2)));
}

static float product_sum(const float *a, const float *b, unsigned first)
{
    return fmaf(a[first + 1], b[first + 1], a[first] * b[first]); /* the product is exact */
}

/* Returns a row times a column plus c, as an H200 computes it. */
static uint32_t multiply(const float a[DEPTH], const float b[DEPTH], uint32_t c, bool halves)
{
    float sum = 0;
    if (halves) {
        sum = product_sum(a, b, 0) + (float)fth_ptx_half_to_double((uint16_t)c);
        return fth_ptx_half_from_double(sum + product_sum(a, b, 2), R_RN);
    }
    for (unsigned k = 0; k < DEPTH; k++)
        sum = fmaf(a[k], b[k], sum);
    sum += as_float(c);
    return sum != sum ? 0x7fffffff : float_bits(sum);
}

/* Multiplies pair q. */
static void multiply_pair(struct fth_ptx_warp *warp, const struct fth_ptx_small_mma *mma,
                          unsigned q, uint32_t d[SIZE * SIZE])
{
    float a[SIZE][DEPTH], b[SIZE][DEPTH];
    for (unsigned n = 0; n < 8; n++) {
        const unsigned t = n % 4, h = n / 4, lane = 4 * q + t + 16 * h;
        for (unsigned i = 0; i < DEPTH; i++) {
            const uint16_t x = half_of(row(warp, mma->a_rows[i / 2]), lane, i);
            const uint16_t y = half_of(row(warp, mma->b_rows[i / 2]), lane, i);
            a[(mma->a_by_column ? i : t) + 4 * h][mma->a_by_column ? t : i] =
                (float)fth_ptx_half_to_double(x);
            b[(mma->b_by_row ? i : t) + 4 * h][mma->b_by_row ? t : i] =
                (float)fth_ptx_half_to_double(y);
        }
        for (unsigned i = 0; i < SIZE; i++)
            d[place(mma->halves, lane, i)] = mma->halves
                                                 ? half_of(row(warp, mma->c_rows[i / 2]), lane, i)
                                                 : (uint32_t)row(warp, mma->c_rows[i])[lane];
    }
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned j = 0; j < SIZE; j++)
            d[i * SIZE + j] = multiply(a[i], b[j], d[i * SIZE + j], mma->halves);
}

static void run_small_mma(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)mask; /* all lanes take part */
    const struct fth_ptx_small_mma *mma = (const struct fth_ptx_small_mma *)inst->detail;
    uint32_t d[4][SIZE * SIZE];
    for (unsigned q = 0; q < 4; q++)
        multiply_pair(warp, mma, q, d[q]);
    for (unsigned r = 0; r < (mma->halves ? SIZE / 2 : SIZE); r++) {
        if (mma->d_rows[r] < 0) /* "_" */
            continue;
        uint64_t *values = out_row(warp, mma->d_rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint32_t *from = d[lane / 4 % 4];
            values[lane] = mma->halves ? from[place(true, lane, 2 * r)] |
                                             from[place(true, lane, 2 * r + 1)] << 16
                                       : from[place(false, lane, r)];
        }
    }
}

/* ---- parsing ---- */

/* Parses ".sync.aligned.m8n8k4.LAYOUT.LAYOUT.D.f16.f16.C". */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_small_mma *mma)
{
    static const char *const layouts[] = {"row", "col"}, *const types[] = {"f32", "f16"};
    if (!fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned") ||
        !fth_ptx_take_word(statement, "m8n8k4"))
        return false;
    const int a = fth_ptx_take_one_of(statement, layouts, 2);
    const int b = fth_ptx_take_one_of(statement, layouts, 2);
    const int d = fth_ptx_take_one_of(statement, types, 2);
    mma->a_by_column = a == 1;
    mma->b_by_row = b == 0;
    mma->halves = d == 1;
    return a >= 0 && b >= 0 && d >= 0 && fth_ptx_take_word(statement, "f16") &&
           fth_ptx_take_word(statement, "f16") && fth_ptx_take_word(statement, types[d]) &&
           statement->next_word == statement->word_count;
}

bool fth_ptx_is_small_mma(const struct fth_ptx_statement *statement)
{
    struct fth_ptx_statement words = *statement;
    struct fth_ptx_small_mma mma;
    return parse_words(&words, &mma);
}

bool fth_ptx_family_small_mma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                              struct fth_ptx_inst *inst)
{
    struct fth_ptx_small_mma *mma = fth_arena_alloc(&parser->module->arena, sizeof *mma);
    if (!mma)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    if (!parse_words(statement, mma))
        return fth_ptx_refuse(parser, statement);
    const size_t count = mma->halves ? SIZE / 2 : SIZE;
    return fth_ptx_check_operand_count(parser, statement, 4) &&
           fth_ptx_take_registers(parser, statement, 0, count, true, &mma->d_rows) &&
           fth_ptx_take_registers(parser, statement, 1, 2, false, &mma->a_rows) &&
           fth_ptx_take_registers(parser, statement, 2, 2, false, &mma->b_rows) &&
           fth_ptx_take_registers(parser, statement, 3, count, false, &mma->c_rows) &&
           fth_ptx_set_detail(parser, statement, 1, &mma->detail, inst) &&
           fth_ptx_converge(parser, run_small_mma, inst);
}
