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

enum { COLUMNS = 8 };

/* The operands of an mma instruction. */
struct fth_ptx_mma {
    struct fth_ptx_detail detail;
    struct fth_ptx_product product;
    const int32_t *a_rows, *b_rows, *c_rows, *d_rows;
    unsigned a_count, b_count, c_count;
    int32_t metadata; /* register, for sparse matrices */
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
        const unsigned r = columns ? 2 * i : mma->product.rows == 8 ? 2 * i : i;
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
            uint64_t *at = out + (size_t)(lane / 4) * COLUMNS + (size_t)2 * (lane % 4);
            if (mma->product.c == ELEMENT_F16) {
                at[(size_t)8 * i * COLUMNS] = values[lane] & 0xffff;
                at[(size_t)8 * i * COLUMNS + 1] = values[lane] >> 16 & 0xffff;
            } else {
                at[(size_t)8 * (i / 2) * COLUMNS + i % 2] = values[lane];
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
            const uint64_t *at = in + (size_t)(lane / 4) * COLUMNS + (size_t)2 * (lane % 4);
            values[lane] = mma->product.c == ELEMENT_F16
                               ? at[(size_t)8 * i * COLUMNS] | at[(size_t)8 * i * COLUMNS + 1] << 16
                               : at[(size_t)8 * (i / 2) * COLUMNS + i % 2];
        }
    }
}

/* ---- execution ---- */

static void run_mma(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)mask; /* all lanes take part: see fth_ptx_converge() */
    const struct fth_ptx_mma *mma = (const struct fth_ptx_mma *)inst->detail;
    const struct fth_ptx_product *product = &mma->product;
    uint64_t a[MATRIX_MAX_ROWS * MATRIX_MAX_ELEMENTS], b[COLUMNS * MATRIX_MAX_ELEMENTS];
    uint64_t d[MATRIX_MAX_ROWS * COLUMNS];
    const bool bits = product->a == ELEMENT_B1;
    const unsigned depth = bits ? product->depth / 32 : product->depth;
    gather(warp, mma, false, bits ? 32 : fth_ptx_element_bits(product->a),
           product->sparse ? depth / 2 : depth, a);
    if (product->sparse)
        fth_ptx_expand(product, row(warp, mma->metadata), a);
    gather(warp, mma, true, bits ? 32 : fth_ptx_element_bits(product->b), depth, b);
    gather_c(warp, mma, d);
    fth_ptx_multiply_add(product, a, b, d);
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
    mma->product.sparse =
        fth_ptx_take_word(statement, "sp") || fth_ptx_take_word(statement, "sp::ordered_metadata");
    const struct form *list = mma->product.sparse ? sparse_forms : forms;
    const size_t count = mma->product.sparse ? FTH_COUNT(sparse_forms) : FTH_COUNT(forms);
    if (!fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned"))
        return false;
    const size_t shape = statement->next_word++; /* it is checked when the types are known */
    /* nvcc writes .satfinite before the layouts, the documentation after them. */
    const bool early = fth_ptx_take_word(statement, "satfinite");
    if (!fth_ptx_take_word(statement, "row") || !fth_ptx_take_word(statement, "col"))
        return false;
    mma->product.saturate = fth_ptx_take_word(statement, "satfinite") || early;
    if (!fth_ptx_take_element(statement, &d) || !fth_ptx_take_element(statement, &mma->product.a) ||
        !fth_ptx_take_element(statement, &mma->product.b) ||
        !fth_ptx_take_element(statement, &mma->product.c) || d != mma->product.c)
        return false;
    if (mma->product.a == ELEMENT_B1) {
        mma->product.is_and = fth_ptx_take_word(statement, "and");
        if ((!mma->product.is_and && !fth_ptx_take_word(statement, "xor")) ||
            !fth_ptx_take_word(statement, "popc"))
            return false;
    }
    if (statement->next_word != statement->word_count ||
        (mma->product.saturate && (mma->product.c != ELEMENT_S32 || mma->product.a == ELEMENT_B1)))
        return false;
    for (size_t f = 0; f < count; f++) {
        const struct form *form = &list[f];
        if (!(form->inputs & ONE(mma->product.a)) || !(form->inputs & ONE(mma->product.b)) ||
            !(form->outputs & ONE(mma->product.c)) ||
            (!form->mixed && mma->product.a != mma->product.b))
            continue;
        statement->next_word = shape;
        for (size_t i = 0; i < FTH_COUNT(form->shapes) && form->shapes[i].name; i++)
            if (fth_ptx_take_word(statement, form->shapes[i].name)) {
                mma->product.rows = form->shapes[i].rows;
                mma->product.depth = form->shapes[i].depth;
                statement->next_word = statement->word_count;
                return true;
            }
    }
    return false;
}

bool fth_ptx_family_mma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                        struct fth_ptx_inst *inst)
{
    if (fth_ptx_is_small_mma(statement))
        return fth_ptx_family_small_mma(parser, statement, inst);
    struct fth_ptx_mma *mma = fth_arena_alloc(&parser->module->arena, sizeof *mma);
    if (!mma)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *mma = (struct fth_ptx_mma){.product = {.columns = COLUMNS}};
    if (!parse_words(statement, mma))
        return fth_ptx_refuse(parser, statement);
    /* Bits of the matrices, divided by the lanes and by the bits of a register. */
    const unsigned width = fth_ptx_element_bits(mma->product.a), size = width == 64 ? 64 : 32;
    mma->a_count = mma->product.rows * mma->product.depth * width / (LANES * size) /
                   (mma->product.sparse ? 2 : 1);
    mma->b_count = COLUMNS * mma->product.depth * width / (LANES * size);
    mma->c_count = mma->product.rows * COLUMNS / LANES / (mma->product.c == ELEMENT_F16 ? 2 : 1);
    if (!fth_ptx_check_operand_count(parser, statement, mma->product.sparse ? 6 : 4) ||
        (mma->product.sparse &&
         !fth_ptx_take_metadata(parser, statement, 4, &mma->product, &mma->metadata)))
        return false;
    return fth_ptx_take_registers(parser, statement, 0, mma->c_count, true, &mma->d_rows) &&
           fth_ptx_take_registers(parser, statement, 1, mma->a_count, false, &mma->a_rows) &&
           fth_ptx_take_registers(parser, statement, 2, mma->b_count, false, &mma->b_rows) &&
           fth_ptx_take_registers(parser, statement, 3, mma->c_count, false, &mma->c_rows) &&
           fth_ptx_set_detail(parser, statement, 1, &mma->detail, inst) &&
           fth_ptx_converge(parser, run_mma, inst);
}
