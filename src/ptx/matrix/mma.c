/* mma: the lanes of a warp multiply matrices that they hold in registers (PTX ISA, "Matrix
 * multiply- accumulate operation using mma instruction").
 *
 *     mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0,d1,d2,d3}, {a0,a1,a2,a3}, {b0,b1},
 *                                                       {c0,c1,c2,c3};
 *
 * A register holds 32 / w elements of w bits that are next to each other in a row of A or in a
 * column of B. Where they are depends on the lane and on the index r of the register:
 *
 *     A   row lane / 4 + 8 * (r % 2), from element (lane % 4 + 4 * (r / 2)) * (32 / w) on
 *     B   column lane / 4, from element (lane % 4 + 4 * r) * (32 / w) on
 *     C   row lane / 4 + 8 * (r / 2), column lane % 4 * 2 + r % 2; an f16 has half a register
 *
 * With 8 rows (m8), A has only the registers with an even index. With f64, a register is one
 * element. */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/execute.h"

#include <math.h>

enum { COLUMNS = 8 };

/* The operands of an mma instruction. */
struct fth_ptx_mma {
    struct fth_ptx_detail detail;
    enum fth_ptx_element a, b, c; /* c: also that of the result */
    unsigned rows, depth;         /* of A */
    bool saturate;                /* .satfinite, for integers */
    bool is_and;                  /* for single bits: .and instead of .xor */
    const int32_t *a_rows, *b_rows, *c_rows, *d_rows;
    unsigned a_count, b_count, c_count;
    bool sparse;       /* half of the elements of A are absent, */
    int32_t metadata;  /* this register says which, */
    unsigned selector; /* and these lanes hold it */
};

/* ---- registers ---- */

/* Copies the elements of A, or of B if `columns`, from the registers to out[index * depth + k]. */
static void gather(struct fth_ptx_warp *warp, const struct fth_ptx_mma *mma, bool columns,
                   unsigned width, unsigned depth, uint64_t *out)
{
    const unsigned count = columns ? mma->b_count : mma->a_count;
    const unsigned each = width < 32 ? 32 / width : 1;
    const uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *values = row(warp, (columns ? mma->b_rows : mma->a_rows)[i]);
        const unsigned r = columns ? 2 * i : mma->rows == 8 ? 2 * i : i;
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t *at = out + (size_t)(lane / 4 + 8 * (r % 2)) * depth +
                           (size_t)(lane % 4 + 4 * (r / 2)) * each;
            for (unsigned e = 0; e < each; e++)
                at[e] = values[lane] >> (e * width) & mask;
        }
    }
}

/* Copies C between registers and out[row * COLUMNS + column]. */
static void gather_c(struct fth_ptx_warp *warp, const struct fth_ptx_mma *mma, uint64_t *out)
{
    for (unsigned i = 0; i < mma->c_count; i++) {
        const uint64_t *values = row(warp, mma->c_rows[i]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t *at = out + (size_t)(lane / 4) * COLUMNS + lane % 4 * 2;
            if (mma->c == ELEMENT_F16) {
                at[8 * i * COLUMNS] = values[lane] & 0xffff;
                at[8 * i * COLUMNS + 1] = values[lane] >> 16 & 0xffff;
            } else {
                at[8 * (i / 2) * COLUMNS + i % 2] = values[lane];
            }
        }
    }
}

static void scatter_d(struct fth_ptx_warp *warp, const struct fth_ptx_mma *mma, const uint64_t *in)
{
    for (unsigned i = 0; i < mma->c_count; i++) {
        if (mma->d_rows[i] < 0) /* "_" */
            continue;
        uint64_t *values = out_row(warp, mma->d_rows[i]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint64_t *at = in + (size_t)(lane / 4) * COLUMNS + lane % 4 * 2;
            values[lane] = mma->c == ELEMENT_F16
                               ? at[8 * i * COLUMNS] | at[8 * i * COLUMNS + 1] << 16
                               : at[8 * (i / 2) * COLUMNS + i % 2];
        }
    }
}

/* ---- arithmetic: each function computes d = a * b + d ---- */

/* The most elements of a row of A: 128 of 4 bits, half of them absent. (256 single bits are treated
 * as 8 words.) ABSENT marks elements of a sparse matrix that are not stored. */
enum { MAX_ELEMENTS_IN_ROW = 128 };
#define ABSENT UINT64_MAX

/* Expands a sparse matrix A from depth / 2 to depth elements per row.
 *
 * The metadata have four bits for each four units of a row: the positions of the two units that are
 * stored. A unit is an element, except that it is two elements of 4 bits or half an element of
 * tf32. Each lane that holds metadata has those of 16 bits' worth of row lane / 4 (low half) and of
 * row lane / 4 + 8 (high half). A row needs one, two or four lanes of its group of four. */
static void expand(struct fth_ptx_warp *warp, const struct fth_ptx_mma *mma, uint64_t *a)
{
    const uint64_t *metadata = row(warp, mma->metadata);
    const unsigned width = fth_ptx_element_bits(mma->a), depth = mma->depth;
    const unsigned units = width == 32 ? 2 * depth : width == 4 ? depth / 2 : depth;
    const unsigned lanes = units / 16; /* that hold the metadata of a row */
    uint64_t stored[MAX_ELEMENTS_IN_ROW / 2];
    for (unsigned i = mma->rows; i-- > 0;) { /* backwards: the rows become longer */
        memcpy(stored, a + (size_t)i * depth / 2, depth / 2 * sizeof *stored);
        uint64_t *out = a + (size_t)i * depth;
        for (unsigned k = 0; k < depth; k++)
            out[k] = ABSENT;
        for (unsigned u = 0; u < units; u += 4) {
            /* Per row, a lane has the metadata of 16 units, or of 32 if the elements are small. */
            const unsigned lane =
                i % 8 * 4 + mma->selector * lanes + (width < 16 ? i / 8 + u / 32 * 2 : u / 16);
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

static void multiply_integers(const struct fth_ptx_mma *mma, const uint64_t *a, const uint64_t *b,
                              uint64_t *d)
{
    const unsigned a_bits = fth_ptx_element_bits(mma->a), b_bits = fth_ptx_element_bits(mma->b);
    const uint64_t a_sign = mma->a == ELEMENT_S8 || mma->a == ELEMENT_S4 ? 1u << (a_bits - 1) : 0;
    const uint64_t b_sign = mma->b == ELEMENT_S8 || mma->b == ELEMENT_S4 ? 1u << (b_bits - 1) : 0;
    for (unsigned i = 0; i < mma->rows; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            int64_t sum = (int32_t)d[i * COLUMNS + j];
            for (unsigned k = 0; k < mma->depth; k++) {
                const uint64_t x = a[i * mma->depth + k], y = b[j * mma->depth + k];
                if (x == ABSENT)
                    continue;
                sum += ((int64_t)(x ^ a_sign) - (int64_t)a_sign) *
                       ((int64_t)(y ^ b_sign) - (int64_t)b_sign);
            }
            if (mma->saturate)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i * COLUMNS + j] = (uint32_t)sum;
        }
}

/* a and b hold words of 32 elements. */
static void multiply_bits(const struct fth_ptx_mma *mma, const uint64_t *a, const uint64_t *b,
                          uint64_t *d)
{
    const unsigned words = mma->depth / 32;
    for (unsigned i = 0; i < mma->rows; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            uint32_t sum = (uint32_t)d[i * COLUMNS + j];
            for (unsigned k = 0; k < words; k++) {
                const uint32_t x = (uint32_t)a[i * words + k], y = (uint32_t)b[j * words + k];
                sum += (uint32_t)__builtin_popcount(mma->is_and ? x & y : x ^ y);
            }
            d[i * COLUMNS + j] = sum;
        }
}

static void multiply_doubles(const struct fth_ptx_mma *mma, const uint64_t *a, const uint64_t *b,
                             uint64_t *d)
{
    for (unsigned i = 0; i < mma->rows; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            double sum = as_double(d[i * COLUMNS + j]);
            for (unsigned k = 0; k < mma->depth; k++)
                sum = fma(as_double(a[i * mma->depth + k]), as_double(b[j * mma->depth + k]), sum);
            d[i * COLUMNS + j] = double_bits(sum);
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
        for (unsigned i = 0; i < count; i++)
            if (from[i * depth + k] == ABSENT)
                fth_ptx_set_absent(factors, chosen, i);
            else
                fth_ptx_set_factor(factors, element, chosen, i, (uint32_t)from[i * depth + k]);
        chosen++;
    }
}

static void multiply_floats(const struct fth_ptx_mma *mma, const uint64_t *a, const uint64_t *b,
                            uint64_t *d)
{
    const struct fth_ptx_addition addition = {.fraction_bits = 25, .accumulator = mma->c};
    struct fth_ptx_factors x, y;
    uint32_t sums[MATRIX_MAX_ROWS * COLUMNS];
    set_factors(&x, mma->a, a, mma->rows, mma->depth, 0, 0);
    set_factors(&y, mma->b, b, COLUMNS, mma->depth, 0, 0);
    for (unsigned i = 0; i < mma->rows * COLUMNS; i++)
        sums[i] = (uint32_t)d[i];
    fth_ptx_multiply(&x, &y, &addition, sums, sums);
    for (unsigned i = 0; i < mma->rows * COLUMNS; i++)
        d[i] = sums[i];
}

/* 8-bit numbers are added in two steps with the precision of C, each with half of the elements:
 * those with k % 4 < 2 (of the elements that are stored), then the others. C is added last, by an
 * ordinary addition. */
static void multiply_bytes(const struct fth_ptx_mma *mma, const uint64_t *a, const uint64_t *b,
                           uint64_t *d)
{
    const unsigned bit = mma->sparse ? 4 : 2; /* of k */
    const struct fth_ptx_addition addition = {.fraction_bits = 25, .accumulator = mma->c};
    struct fth_ptx_factors x, y;
    uint32_t sums[MATRIX_MAX_ROWS * COLUMNS] = {0};
    for (unsigned half = 0; half < 2; half++) {
        set_factors(&x, mma->a, a, mma->rows, mma->depth, bit, bit * half);
        set_factors(&y, mma->b, b, COLUMNS, mma->depth, bit, bit * half);
        fth_ptx_multiply(&x, &y, &addition, sums, sums);
    }
    for (unsigned i = 0; i < mma->rows * COLUMNS; i++)
        if (mma->c == ELEMENT_F16) {
            const double sum =
                fth_ptx_half_to_double((uint16_t)sums[i]) + fth_ptx_half_to_double((uint16_t)d[i]);
            d[i] = fth_ptx_half_from_double(sum, R_RN);
        } else {
            const float sum = as_float(sums[i]) + as_float(d[i]);
            d[i] = sum != sum ? 0x7fffffffu : float_bits(sum);
        }
}

static void run_mma(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)mask; /* all lanes take part: see select_warp() */
    const struct fth_ptx_mma *mma = (const struct fth_ptx_mma *)inst->detail;
    uint64_t a[MATRIX_MAX_ROWS * MAX_ELEMENTS_IN_ROW], b[COLUMNS * MAX_ELEMENTS_IN_ROW];
    uint64_t d[MATRIX_MAX_ROWS * COLUMNS];
    const bool bits = mma->a == ELEMENT_B1;
    const unsigned depth = bits ? mma->depth / 32 : mma->depth;
    gather(warp, mma, false, bits ? 32 : fth_ptx_element_bits(mma->a),
           mma->sparse ? depth / 2 : depth, a);
    if (mma->sparse)
        expand(warp, mma, a);
    gather(warp, mma, true, bits ? 32 : fth_ptx_element_bits(mma->b), depth, b);
    gather_c(warp, mma, d);
    if (bits)
        multiply_bits(mma, a, b, d);
    else if (mma->c == ELEMENT_S32)
        multiply_integers(mma, a, b, d);
    else if (mma->c == ELEMENT_F64)
        multiply_doubles(mma, a, b, d);
    else if (mma->a == ELEMENT_E4M3 || mma->a == ELEMENT_E5M2)
        multiply_bytes(mma, a, b, d);
    else
        multiply_floats(mma, a, b, d);
    scatter_d(warp, mma, d);
}

/* ---- parsing ---- */

#define ONE(ELEMENT) (1u << (ELEMENT))

/* The instructions: the types of A and B, those of C and D, and the shapes. */
struct form {
    unsigned inputs, outputs; /* sets of enum fth_ptx_element */
    bool mixed;               /* A and B can have different types of `inputs` */
    struct {
        const char *name;
        uint16_t rows, depth;
    } shapes[4];
};

static const struct form forms[] = {
    {ONE(ELEMENT_F16),
     ONE(ELEMENT_F32) | ONE(ELEMENT_F16),
     false,
     {{"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}}},
    {ONE(ELEMENT_BF16), ONE(ELEMENT_F32), false, {{"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}}},
    {ONE(ELEMENT_TF32), ONE(ELEMENT_F32), false, {{"m16n8k4", 16, 4}, {"m16n8k8", 16, 8}}},
    {ONE(ELEMENT_E4M3) | ONE(ELEMENT_E5M2),
     ONE(ELEMENT_F32) | ONE(ELEMENT_F16),
     true,
     {{"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}}},
    {ONE(ELEMENT_F64),
     ONE(ELEMENT_F64),
     false,
     {{"m8n8k4", 8, 4}, {"m16n8k4", 16, 4}, {"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}}},
    {ONE(ELEMENT_S8) | ONE(ELEMENT_U8),
     ONE(ELEMENT_S32),
     true,
     {{"m8n8k16", 8, 16}, {"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}}},
    {ONE(ELEMENT_S4) | ONE(ELEMENT_U4),
     ONE(ELEMENT_S32),
     true,
     {{"m8n8k32", 8, 32}, {"m16n8k32", 16, 32}, {"m16n8k64", 16, 64}}},
    {ONE(ELEMENT_B1),
     ONE(ELEMENT_S32),
     false,
     {{"m8n8k128", 8, 128}, {"m16n8k128", 16, 128}, {"m16n8k256", 16, 256}}},
};

static const struct form sparse_forms[] = {
    {ONE(ELEMENT_F16),
     ONE(ELEMENT_F32) | ONE(ELEMENT_F16),
     false,
     {{"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}}},
    {ONE(ELEMENT_BF16), ONE(ELEMENT_F32), false, {{"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}}},
    {ONE(ELEMENT_TF32), ONE(ELEMENT_F32), false, {{"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}}},
    {ONE(ELEMENT_E4M3) | ONE(ELEMENT_E5M2), ONE(ELEMENT_F32), true, {{"m16n8k64", 16, 64}}},
    {ONE(ELEMENT_S8) | ONE(ELEMENT_U8),
     ONE(ELEMENT_S32),
     true,
     {{"m16n8k32", 16, 32}, {"m16n8k64", 16, 64}}},
    {ONE(ELEMENT_S4) | ONE(ELEMENT_U4),
     ONE(ELEMENT_S32),
     true,
     {{"m16n8k64", 16, 64}, {"m16n8k128", 16, 128}}},
};

/* Parses the words ".sync.aligned.SHAPE.row.col.D.A.B.C" and what can follow them. Returns false,
 * without an error, at the first word that does not fit. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_mma *mma)
{
    enum fth_ptx_element d;
    mma->sparse =
        fth_ptx_take_word(statement, "sp") || fth_ptx_take_word(statement, "sp::ordered_metadata");
    const struct form *list = mma->sparse ? sparse_forms : forms;
    const size_t count = mma->sparse ? FTH_COUNT(sparse_forms) : FTH_COUNT(forms);
    if (!fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned"))
        return false;
    const size_t shape = statement->next_word++; /* it is checked when the types are known */
    if (!fth_ptx_take_word(statement, "row") || !fth_ptx_take_word(statement, "col"))
        return false;
    mma->saturate = fth_ptx_take_word(statement, "satfinite");
    if (!fth_ptx_take_element(statement, &d) || !fth_ptx_take_element(statement, &mma->a) ||
        !fth_ptx_take_element(statement, &mma->b) || !fth_ptx_take_element(statement, &mma->c) ||
        d != mma->c)
        return false;
    if (mma->a == ELEMENT_B1) {
        mma->is_and = fth_ptx_take_word(statement, "and");
        if ((!mma->is_and && !fth_ptx_take_word(statement, "xor")) ||
            !fth_ptx_take_word(statement, "popc"))
            return false;
    }
    if (statement->next_word != statement->word_count ||
        (mma->saturate && (mma->c != ELEMENT_S32 || mma->a == ELEMENT_B1)))
        return false;
    for (size_t f = 0; f < count; f++) {
        const struct form *form = &list[f];
        if (!(form->inputs & ONE(mma->a)) || !(form->inputs & ONE(mma->b)) ||
            !(form->outputs & ONE(mma->c)) || (!form->mixed && mma->a != mma->b))
            continue;
        statement->next_word = shape;
        for (size_t i = 0; i < FTH_COUNT(form->shapes) && form->shapes[i].name; i++)
            if (fth_ptx_take_word(statement, form->shapes[i].name)) {
                mma->rows = form->shapes[i].rows;
                mma->depth = form->shapes[i].depth;
                statement->next_word = statement->word_count;
                return true;
            }
    }
    return false;
}

/* Stores the register with the metadata, and the number of the lanes that hold them. */
static bool take_metadata(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                          struct fth_ptx_mma *mma)
{
    const int32_t *metadata, *selector;
    if (!fth_ptx_take_registers(parser, statement, 4, 1, false, &metadata) ||
        !fth_ptx_take_registers(parser, statement, 5, 1, false, &selector))
        return false;
    /* Units of a row in the metadata of a lane: see expand(). */
    const unsigned width = fth_ptx_element_bits(mma->a);
    const unsigned units = width == 32 ? 2 * mma->depth : width == 4 ? mma->depth / 2 : mma->depth;
    const uint64_t choices = 4 / (units / 16);
    if (*selector >= 0 || parser->module->pool[~*selector][0] >= choices)
        return fth_ptx_refuse_operand(parser, statement, 5,
                                      choices == 1   ? "0"
                                      : choices == 2 ? "0 or 1"
                                                     : "a number from 0 to 3");
    mma->metadata = *metadata;
    mma->selector = (unsigned)parser->module->pool[~*selector][0];
    return true;
}

bool fth_ptx_family_mma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                        struct fth_ptx_inst *inst)
{
    if (fth_ptx_is_small_mma(statement))
        return fth_ptx_family_small_mma(parser, statement, inst);
    struct fth_ptx_mma *mma = fth_arena_alloc(&parser->module->arena, sizeof *mma);
    if (!mma)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *mma = (struct fth_ptx_mma){.rows = 0};
    if (!parse_words(statement, mma))
        return fth_ptx_refuse(parser, statement);
    /* Bits of the matrices, divided by the lanes and by the bits of a register. */
    const unsigned width = fth_ptx_element_bits(mma->a), size = width == 64 ? 64 : 32;
    mma->a_count = mma->rows * mma->depth * width / (LANES * size) / (mma->sparse ? 2 : 1);
    mma->b_count = COLUMNS * mma->depth * width / (LANES * size);
    mma->c_count = mma->rows * COLUMNS / LANES / (mma->c == ELEMENT_F16 ? 2 : 1);
    if (!fth_ptx_check_operand_count(parser, statement, mma->sparse ? 6 : 4) ||
        (mma->sparse && !take_metadata(parser, statement, mma)))
        return false;
    return fth_ptx_take_registers(parser, statement, 0, mma->c_count, true, &mma->d_rows) &&
           fth_ptx_take_registers(parser, statement, 1, mma->a_count, false, &mma->a_rows) &&
           fth_ptx_take_registers(parser, statement, 2, mma->b_count, false, &mma->b_rows) &&
           fth_ptx_take_registers(parser, statement, 3, mma->c_count, false, &mma->c_rows) &&
           fth_ptx_set_detail(parser, statement, 1, &mma->detail, inst) &&
           fth_ptx_converge(parser, run_mma, inst);
}
