/* wgmma: the four warps of a warpgroup multiply a matrix A of 64 rows with a matrix B in shared
 * memory (PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate operation").
 *
 * Warp w of the group computes the rows 16 * w to 16 * w + 15 of D. The layout of the registers is
 * that of mma (mma.c), for D and for an A in registers. Register r of D has one element: row
 * lane / 4 + 8 * (r / 2 % 2), column r / 4 * 8 + lane % 4 * 2 + r % 2. With f16, it has two.
 *
 * A descriptor says where a matrix is in shared memory:
 *
 *     bits  0-13  start address / 16          bits 32-45  stride offset / 16
 *     bits 16-29  leading offset / 16         bits 62-63  swizzle: none, 128, 64 or 32 bytes
 *
 * A matrix consists of parts of eight rows. The place of element k of row (or column) r:
 *
 *                      in a part                      between parts
 *     none             r % 8 * 16 + k % T             r / 8 * stride + k / T * leading
 *     swizzle of S     r % 8 * S + k                  r / 8 * stride
 *     none, transp.    r % 8 + k % 8 * 16             r / 8 * stride + k / 8 * leading
 *     S, transposed    r % (S / 2) + k % 8 * S        r / (S / 2) * leading + k / 8 * stride
 *
 * where T elements take 16 bytes, and k and r % 8 are in bytes. A swizzle of S bytes exchanges
 * units of 16 bytes: bits 4 and up of the address are combined by exclusive or with the bits from 7
 * on. */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/address.h"

#include <stdio.h>

/* The operands of wgmma.mma_async. */
struct fth_ptx_wgmma {
    struct fth_ptx_detail detail;
    struct fth_ptx_product product; /* of one warp */
    bool transpose_a, transpose_b, negate_a, negate_b;
    int32_t metadata; /* register, for sparse matrices */
    int32_t scale; /* immediate that says whether D is added; NO_REGISTER: inst->predicate does */
    const int32_t *d_rows;
    const int32_t *a_rows; /* four registers with elements, or one with a descriptor */
    const int32_t *b_row;
    unsigned a_count, d_count;
};

enum { ROWS = 16, A_REGISTERS = 4 };

/* ---- matrices in shared memory ---- */

struct layout {
    uint64_t start, leading, stride;
    unsigned span; /* bytes of the swizzle; 16: none */
};

static struct layout decode(uint64_t descriptor)
{
    static const unsigned spans[] = {16, 128, 64, 32};
    return (struct layout){.start = (descriptor & 0x3fff) << 4,
                           .leading = (descriptor >> 16 & 0x3fff) << 4,
                           .stride = (descriptor >> 32 & 0x3fff) << 4,
                           .span = spans[descriptor >> 62]};
}

/* The shared address of byte `k` of row or column r. For transposed matrices, whose elements have
 * 16 bits, k is the number of the element. */
static uint64_t place(const struct layout *layout, bool transposed, uint64_t r, uint64_t k)
{
    const uint64_t span = layout->span;
    uint64_t at = layout->start;
    if (transposed && span == 16)
        at += r / 8 * layout->stride + r % 8 * 2 + k / 8 * layout->leading + k % 8 * 16;
    else if (transposed)
        at += r / (span / 2) * layout->leading + r % (span / 2) * 2 + k / 8 * layout->stride +
              k % 8 * span;
    else if (span == 16)
        at += r / 8 * layout->stride + r % 8 * 16 + k / 16 * layout->leading + k % 16;
    else
        at += r / 8 * layout->stride + r % 8 * span + k;
    return at ^ (at >> 7 & (span / 16 - 1)) << 4;
}

/* The unit in which a matrix is read, in bytes; a swizzle moves it as a whole. */
enum { UNIT = 16 };

/* The address of a unit of a matrix: `count` rows or columns from `first` on with `depth` elements
 * of `bytes` bytes. */
static uint64_t place_of_unit(const struct layout *layout, bool transposed, unsigned first,
                              unsigned count, unsigned depth, unsigned bytes, unsigned unit)
{
    const unsigned per_row = depth * bytes / UNIT, per_column = count / 8;
    return transposed
               ? place(layout, true, first + (uint64_t)8 * (unit % per_column), unit / per_column)
               : place(layout, false, first + unit / per_row, (uint64_t)UNIT * (unit % per_row));
}

/* True if a matrix is entirely inside of `size` bytes of shared memory. */
static bool is_inside(const struct layout *layout, bool transposed, unsigned first, unsigned count,
                      unsigned depth, unsigned bytes, uint64_t size)
{
    for (unsigned unit = 0; unit < count * depth * bytes / UNIT; unit++)
        if (place_of_unit(layout, transposed, first, count, depth, bytes, unit) + UNIT > size)
            return false;
    return true;
}

/* Reports the accesses to a matrix in shared memory to the observer and to the search for missing
 * waits, in units. Returns false if the observer ends the launch. */
static bool notify(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                   const struct layout *layout, bool transposed, unsigned first, unsigned count,
                   unsigned depth, unsigned bytes)
{
    if (!warp->block->run->sees_accesses)
        return true;
    const unsigned units = count * depth * bytes / UNIT;
    struct fth_ptx_lane_group group = {.space = FTH_SPACE_SHARED, .block = warp->block};
    for (unsigned i = 0; i < units; i += LANES) {
        group.mask = 0;
        for (unsigned lane = 0; lane < LANES && i + lane < units; lane++) {
            group.addresses[lane] =
                place_of_unit(layout, transposed, first, count, depth, bytes, i + lane);
            group.mask |= 1u << lane;
        }
        if (!fth_ptx_notify_access(warp, inst, &group, UNIT, FTH_ACCESS_READ))
            return false;
    }
    return true;
}

/* Copies a matrix from shared memory to out[index * depth + k]: the warp's rows of A, or the
 * columns of B. A skipped instruction copies nothing. Returns false after a fault. */
static bool load_shared(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                        uint64_t descriptor, bool transposed, bool is_a, unsigned count,
                        unsigned width, unsigned depth, uint64_t *out)
{
    const struct layout layout = decode(descriptor);
    const unsigned first = is_a ? warp->index % 4 * ROWS : 0;
    const uint8_t *shared = warp->block->shared;
    const uint64_t size = warp->block->shared_bytes;
    const bool skips = inst->slice & SLICE_SKIPS &&
                       is_inside(&layout, transposed, first, count, depth, width / 8, size);
    for (unsigned i = 0; i < count && !skips; i++)
        for (unsigned k = 0; k < depth; k++) {
            const unsigned bytes = width / 8;
            const uint64_t at =
                place(&layout, transposed, first + i, transposed ? k : (uint64_t)k * bytes);
            uint64_t value = 0;
            if (at + bytes > size) {
                fth_ptx_warp_fault(warp, inst, 0,
                                   "read of %u bytes at 0x%llx, outside the shared memory", bytes,
                                   (unsigned long long)at);
                return false;
            }
            memcpy(&value, shared + at, bytes);
            out[(size_t)i * depth + k] = value;
        }
    /* The four warps of a group read B once, together: the first one reports it. */
    const bool reports = is_a || warp->index % 4 == 0;
    return !reports || notify(warp, inst, &layout, transposed, first, count, depth, width / 8);
}

/* ---- execution ---- */

static void load_registers(struct fth_ptx_warp *warp, const struct fth_ptx_wgmma *wgmma,
                           unsigned width, unsigned depth, uint64_t *out)
{
    const unsigned each = 32 / width;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    for (unsigned r = 0; r < A_REGISTERS; r++) {
        const uint64_t *values = row(warp, wgmma->a_rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < each; e++)
                out[(size_t)(lane / 4 + 8 * (r % 2)) * depth +
                    (size_t)(lane % 4 + 4 * (r / 2)) * each + e] =
                    values[lane] >> (e * width) & mask;
    }
}

static void load_d(struct fth_ptx_warp *warp, const struct fth_ptx_wgmma *wgmma, uint64_t *d)
{
    const unsigned columns = wgmma->product.columns;
    for (unsigned r = 0; r < wgmma->d_count; r++) {
        const uint64_t *values = row(warp, wgmma->d_rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++)
            if (wgmma->product.c == ELEMENT_F16) {
                uint64_t *at = d + (size_t)(lane / 4 + 8 * (r % 2)) * columns +
                               (size_t)8 * (r / 2) + (size_t)2 * (lane % 4);
                at[0] = values[lane] & 0xffff;
                at[1] = values[lane] >> 16 & 0xffff;
            } else {
                d[(size_t)(lane / 4 + 8 * (r / 2 % 2)) * columns + (size_t)8 * (r / 4) +
                  (size_t)2 * (lane % 4) + r % 2] = (uint32_t)values[lane];
            }
    }
}

static void store_d(struct fth_ptx_warp *warp, const struct fth_ptx_wgmma *wgmma, const uint64_t *d)
{
    const unsigned columns = wgmma->product.columns;
    for (unsigned r = 0; r < wgmma->d_count; r++) {
        if (wgmma->d_rows[r] < 0)
            continue;
        uint64_t *values = out_row(warp, wgmma->d_rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++)
            if (wgmma->product.c == ELEMENT_F16) {
                const uint64_t *at = d + (size_t)(lane / 4 + 8 * (r % 2)) * columns +
                                     (size_t)8 * (r / 2) + (size_t)2 * (lane % 4);
                values[lane] = at[0] | at[1] << 16;
            } else {
                values[lane] = d[(size_t)(lane / 4 + 8 * (r / 2 % 2)) * columns +
                                 (size_t)8 * (r / 4) + (size_t)2 * (lane % 4) + r % 2];
            }
    }
}

/* Changes the signs of the elements. */
static void negate(uint64_t *elements, size_t count, enum fth_ptx_element element)
{
    const uint64_t sign = (uint64_t)1 << (fth_ptx_element_bits(element) - 1);
    for (size_t i = 0; i < count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the caller has loaded them. */
        elements[i] ^= sign;
}

static void run_wgmma(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)mask; /* all lanes take part */
    const struct fth_ptx_wgmma *wgmma = (const struct fth_ptx_wgmma *)inst->detail;
    const struct fth_ptx_product *product = &wgmma->product;
    const bool bits = product->a == ELEMENT_B1;
    const unsigned width = bits ? 32 : fth_ptx_element_bits(product->a);
    const unsigned depth = bits ? product->depth / 32 : product->depth;
    const unsigned stored = product->sparse ? depth / 2 : depth;
    uint64_t a[ROWS * MATRIX_MAX_DEPTH], d[ROWS * MATRIX_MAX_COLUMNS] = {0};
    uint64_t b[MATRIX_MAX_COLUMNS * MATRIX_MAX_DEPTH];
    if (!warp->block->shared && !fth_ptx_reserve_shared(warp->block))
        return;
    if (wgmma->a_count == A_REGISTERS && !(inst->slice & SLICE_SKIPS))
        load_registers(warp, wgmma, width, stored, a);
    if (wgmma->a_count != A_REGISTERS &&
        !load_shared(warp, inst, row(warp, wgmma->a_rows[0])[0], wgmma->transpose_a, true, ROWS,
                     width, stored, a))
        return;
    if (!load_shared(warp, inst, row(warp, *wgmma->b_row)[0], wgmma->transpose_b, false,
                     product->columns, width, depth, b) ||
        inst->slice & SLICE_SKIPS)
        return;
    if (wgmma->negate_a)
        negate(a, (size_t)ROWS * stored, product->a);
    if (product->sparse)
        fth_ptx_expand(product, row(warp, wgmma->metadata), a);
    if (wgmma->negate_b)
        negate(b, (size_t)product->columns * depth, product->b);
    const bool adds = wgmma->scale == NO_REGISTER ? source_predicate(warp, inst) & 1
                                                  : row(warp, wgmma->scale)[0] != 0;
    if (warp->block->run->check_async)
        fth_hazard_matrix(warp, inst, wgmma->d_rows, wgmma->d_count, wgmma->a_rows,
                          wgmma->a_count == A_REGISTERS ? A_REGISTERS : 0, adds);
    if (adds)
        load_d(warp, wgmma, d);
    fth_ptx_multiply_add(product, a, b, d);
    store_d(warp, wgmma, d);
}

size_t fth_ptx_wgmma_descriptors(const struct fth_ptx_inst *inst, int32_t rows[2])
{
    const struct fth_ptx_wgmma *wgmma = (const struct fth_ptx_wgmma *)inst->detail;
    rows[0] = *wgmma->b_row;
    rows[1] = wgmma->a_rows[0];
    return wgmma->a_count == A_REGISTERS ? 1 : 2;
}

/* ---- parsing ---- */

/* The number of elements in a row of A that are stored, in bytes. */
enum { ROW_BYTES = 32, MAX_COLUMNS = 256 };

/* Parses a shape such as "m64n128k16". The number of elements k must take ROW_BYTES, or twice as
 * many in a sparse matrix. */
static bool parse_shape(const struct fth_ptx_word *word, struct fth_ptx_product *product)
{
    const unsigned width = fth_ptx_element_bits(product->a);
    product->depth = (product->sparse ? 2u : 1u) * ROW_BYTES * 8 / width;
    /* Integers have fewer sizes above 32 columns: only multiples of 16. */
    const bool integers = product->c == ELEMENT_S32;
    for (unsigned n = 8; n <= MAX_COLUMNS; n += 8) {
        char name[24];
        const int size = snprintf(name, sizeof name, "m64n%uk%u", n, product->depth);
        if ((size_t)size == word->size && memcmp(name, word->start, word->size) == 0) {
            product->columns = n;
            return !(integers && n > 32 && n % 16);
        }
    }
    return false;
}

/* Parses ".mma_async.sync.aligned.SHAPE.D.A.B" after ".mma_async". */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_product *product)
{
    product->sparse = fth_ptx_take_word(statement, "sp");
    if (!fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned"))
        return false;
    const size_t shape = statement->next_word++;
    product->saturate = fth_ptx_take_word(statement, "satfinite");
    if (!fth_ptx_take_element(statement, &product->c) ||
        !fth_ptx_take_element(statement, &product->a) ||
        !fth_ptx_take_element(statement, &product->b))
        return false;
    const enum fth_ptx_element a = product->a, b = product->b, c = product->c;
    const bool halves = a == ELEMENT_F16 || a == ELEMENT_E4M3 || a == ELEMENT_E5M2;
    bool ok = a == b && (a == ELEMENT_F16 || a == ELEMENT_BF16 || a == ELEMENT_TF32);
    if (a == ELEMENT_E4M3 || a == ELEMENT_E5M2)
        ok = b == ELEMENT_E4M3 || b == ELEMENT_E5M2;
    ok = ok && (c == ELEMENT_F32 || (c == ELEMENT_F16 && halves)) && !product->saturate;
    if (a == ELEMENT_S8 || a == ELEMENT_U8)
        ok = (b == ELEMENT_S8 || b == ELEMENT_U8) && c == ELEMENT_S32;
    if (a == ELEMENT_B1) {
        product->is_and = fth_ptx_take_word(statement, "and");
        ok = b == ELEMENT_B1 && c == ELEMENT_S32 && product->is_and && !product->sparse &&
             fth_ptx_take_word(statement, "popc");
    }
    if (!ok || statement->next_word != statement->word_count)
        return false;
    if (!parse_shape(&statement->words[shape], product)) {
        statement->next_word = shape;
        return false;
    }
    return true;
}

/* Takes an operand that must be one of two immediates. *value is true for the second one. */
static bool take_choice(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t index, int64_t first, int64_t second, bool *value)
{
    char expected[48];
    const struct fth_ptx_operand *operand = &statement->operands[index];
    snprintf(expected, sizeof expected, "%lld or %lld", (long long)first, (long long)second);
    if (index >= statement->operand_count || operand->kind != OPERAND_ROW || operand->row >= 0)
        return fth_ptx_refuse_operand(parser, statement, index, expected);
    const int64_t given = (int32_t)parser->module->pool[~operand->row][0];
    *value = given == second;
    return given == first || given == second ||
           fth_ptx_refuse_operand(parser, statement, index, expected);
}

/* Takes the operand that says whether D is added: a predicate or an immediate. */
static bool take_scale(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                       size_t index, struct fth_ptx_wgmma *wgmma, struct fth_ptx_inst *inst)
{
    const struct fth_ptx_operand *operand = &statement->operands[index];
    if (index < statement->operand_count && operand->kind == OPERAND_PREDICATE) {
        inst->predicate = operand->predicate;
        inst->negated = operand->negated;
        wgmma->scale = NO_REGISTER;
        return true;
    }
    if (index >= statement->operand_count || operand->kind != OPERAND_ROW)
        return fth_ptx_refuse_operand(parser, statement, index, "a predicate");
    wgmma->scale = operand->row;
    return true;
}

static bool parse_mma_async(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                            struct fth_ptx_inst *inst)
{
    struct fth_ptx_wgmma *wgmma = fth_arena_alloc(&parser->module->arena, sizeof *wgmma);
    if (!wgmma)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *wgmma = (struct fth_ptx_wgmma){.product = {.rows = ROWS, .warpgroup = true}};
    struct fth_ptx_product *product = &wgmma->product;
    if (!parse_words(statement, product))
        return fth_ptx_refuse(parser, statement);
    const bool floats = product->c != ELEMENT_S32;
    const bool halves = product->a == ELEMENT_F16 || product->a == ELEMENT_BF16;
    wgmma->a_count = statement->operands[1].kind == OPERAND_VECTOR ? A_REGISTERS : 1;
    wgmma->d_count = product->columns / (product->c == ELEMENT_F16 ? 4 : 2);
    size_t next = 3 + (product->sparse ? 2 : 0);
    if (!fth_ptx_take_registers(parser, statement, 0, wgmma->d_count, true, &wgmma->d_rows) ||
        !fth_ptx_take_registers(parser, statement, 1, wgmma->a_count, false, &wgmma->a_rows) ||
        !fth_ptx_take_registers(parser, statement, 2, 1, false, &wgmma->b_row) ||
        (product->sparse &&
         !fth_ptx_take_metadata(parser, statement, 3, product, &wgmma->metadata)) ||
        !take_scale(parser, statement, next++, wgmma, inst))
        return false;
    if (floats && (!take_choice(parser, statement, next++, 1, -1, &wgmma->negate_a) ||
                   !take_choice(parser, statement, next++, 1, -1, &wgmma->negate_b)))
        return false;
    if (halves && wgmma->a_count == 1 &&
        !take_choice(parser, statement, next++, 0, 1, &wgmma->transpose_a))
        return false;
    if (halves && !take_choice(parser, statement, next++, 0, 1, &wgmma->transpose_b))
        return false;
    inst->async = ASYNC_MATRIX;
    return fth_ptx_check_operand_count(parser, statement, next) &&
           fth_ptx_set_detail(parser, statement, 1, &wgmma->detail, inst) &&
           fth_ptx_converge(parser, run_wgmma, inst);
}

bool fth_ptx_family_wgmma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    static const char *const others[] = {"fence", "commit_group", "wait_group"};
    if (fth_ptx_take_word(statement, "mma_async")) {
        inst->unit = FTH_UNIT_TENSOR_CORE;
        return parse_mma_async(parser, statement, inst);
    }
    /* The engine executes the multiplications at once, so fences and waits have nothing to do; only
     * the search for missing waits looks at them. */
    const int other = fth_ptx_take_one_of(statement, others, FTH_COUNT(others));
    if (other < 0 || !fth_ptx_take_word(statement, "sync") ||
        !fth_ptx_take_word(statement, "aligned"))
        return fth_ptx_refuse(parser, statement);
    inst->mode = (uint8_t)(WGMMA_FENCE + other);
    if (other == 2) {
        const int32_t *groups; /* an immediate: how many groups need not be complete */
        if (!fth_ptx_check_operand_count(parser, statement, 1) ||
            !fth_ptx_take_registers(parser, statement, 0, 1, false, &groups))
            return false;
        inst->s[0] = *groups;
    }
    return fth_ptx_check_operand_count(parser, statement, other == 2 ? 1 : 0) &&
           fth_ptx_converge(parser, fth_ptx_run_nothing, inst);
}
