/* Cases for the instructions of tensor cores: mma, wmma, wgmma, and the moves of matrices between
 * registers and shared memory. A thread loads its registers from memory, executes the instruction,
 * and stores the registers of the result, so the cases also check which lane holds which element.
 *
 * The elements come from distributions that distinguish rules of alignment and rounding: numbers
 * with close and with very different exponents, powers of two, sums that cancel, single large
 * numbers among small ones, subnormal numbers, infinities and NaNs. */
#include "suite_matrix.h"

const struct diff_element_info diff_elements[ELEMENTS] = {
    [F16] = {"f16", 16, 5, 10, 0},    [BF16] = {"bf16", 16, 8, 7, 0},
    [TF32] = {"tf32", 32, 8, 10, 13}, [E4M3] = {"e4m3", 8, 4, 3, 0},
    [E5M2] = {"e5m2", 8, 5, 2, 0},    [F32] = {"f32", 32, 8, 23, 0},
    [F64] = {"f64", 64, 11, 52, 0},   [S32] = {"s32", 32, 0, 0, 0},
    [S8] = {"s8", 8, 0, 0, 0},        [U8] = {"u8", 8, 0, 0, 0},
    [S4] = {"s4", 4, 0, 0, 0},        [U4] = {"u4", 4, 0, 0, 0},
    [B1] = {"b1", 1, 0, 0, 0},
};

/* ---- elements ---- */

/* Returns the bits of a floating-point number. `group` is the same for elements that are likely to
 * be in one row, and `position` is the place in the row. */
static uint64_t random_float(struct fth_rng *rng, enum diff_element kind,
                             enum diff_distribution distribution, uint64_t group, unsigned position)
{
    const unsigned e = diff_elements[kind].exponent, m = diff_elements[kind].fraction;
    const int bias = (1 << (e - 1)) - 1, wide = e == 4 ? 5 : e == 5 ? 12 : 20;
    const uint64_t bits = fth_rng_next(rng), r = bits >> 40;
    uint64_t sign = bits & 1, fraction = fth_rng_next(rng) & (((uint64_t)1 << m) - 1);
    int exponent = 0;
    switch (distribution) {
    case ANY_BITS:
        return fth_rng_next(rng) & (e + m == 63 ? UINT64_MAX : ((uint64_t)1 << (e + m + 1)) - 1);
    case CLOSE: exponent = (int)(r % 3) - 1; break;
    case POSITIVE:
        exponent = (int)(r % 3) - 1;
        sign = 0;
        break;
    case POWERS:
    case WIDE_POWERS: fraction = 0; /* fall through */
    case WIDE:
        exponent =
            distribution == POWERS ? (int)(r % 5) - 2 : (int)(r % (2u * (unsigned)wide + 1)) - wide;
        break;
    case FEW:
        if (r % 8 >= 3)
            return sign << (e + m);
        exponent = (int)((r >> 8) % (2u * (unsigned)wide + 1)) - wide;
        break;
    case ONE_LARGE:
    case ONE_LARGE_POWER:
        if (distribution == ONE_LARGE_POWER)
            fraction = 0;
        exponent = group % 16 == position % 16 ? wide / 2 : wide / 2 - 5 - (int)(group / 16 % 8);
        break;
    case SUBNORMAL:
        if (r % 4 == 0)
            return sign << (e + m) | fraction;
        exponent = -(int)((r >> 4) % (unsigned)(bias - 1));
        break;
    case HUGE_NUMBERS: exponent = (e > 5 ? 63 : bias) - (int)(r % 3); break;
    default: { /* CANCELLING */
        struct fth_rng pair;
        fth_rng_init(&pair, group * 64 + position / 2);
        fraction = fth_rng_next(&pair) & (((uint64_t)1 << m) - 1);
        exponent = (int)(fth_rng_next(&pair) % 7) - 3;
        sign = position & 1;
        fraction ^= r % 8 == 0;
        break;
    }
    }
    int biased = exponent + bias;
    biased = biased < 0 ? 0 : biased > (1 << e) - 2 ? (1 << e) - 2 : biased;
    return sign << (e + m) | (uint64_t)biased << m | fraction;
}

static uint64_t random_element(struct fth_rng *rng, enum diff_element kind,
                               enum diff_distribution distribution, uint64_t group,
                               unsigned position)
{
    if (diff_elements[kind].exponent)
        return random_float(rng, kind, distribution, group, position) << diff_elements[kind].unused;
    const uint64_t mask = ((uint64_t)1 << diff_elements[kind].bits) - 1;
    /* Integers: any bits, or the largest and smallest numbers. */
    static const uint32_t extremes[] = {0x80000000, 0x7fffffff, 0, 0xffffffff};
    if (distribution % 3 != 1)
        return fth_rng_next(rng) & mask;
    return extremes[fth_rng_below(rng, 4)] >> (32 - diff_elements[kind].bits) & mask;
}

/* Returns a register with elements. */
uint64_t diff_random_register(struct fth_rng *rng, enum diff_element kind,
                              enum diff_distribution distribution, uint64_t group,
                              unsigned position)
{
    const unsigned bits = diff_elements[kind].bits;
    uint64_t value = 0;
    if (kind == B1)
        return fth_rng_next(rng) & 0xffffffff;
    if (bits >= 32)
        return random_element(rng, kind, distribution, group, position);
    for (unsigned e = 0; e < 32 / bits; e++)
        value |= random_element(rng, kind, distribution, group, position + e) << (e * bits);
    return value;
}

/* An accumulator: zero, close to the products, or with a very different exponent. */
uint64_t diff_random_accumulator(struct fth_rng *rng, enum diff_element kind, size_t test)
{
    static const enum diff_distribution choices[] = {CLOSE, WIDE, WIDE_POWERS, ANY_BITS, SUBNORMAL};
    if (test % 6 == 0)
        return 0;
    return diff_random_register(
        rng, kind, kind == S32 ? (test % 3 == 1 ? CLOSE : ANY_BITS) : choices[test % 6 - 1], test,
        0);
}

/* ---- instructions on registers ---- */

/* An instruction with its registers per lane: A, B, C (or D) and, if it is sparse, the metadata,
 * which say which elements of A are not zero. */
struct form {
    const char *words; /* between the opcode and the types */
    enum diff_element a, b, c;
    uint8_t a_count, b_count, c_count;
    const char *tail;     /* after the types, or NULL */
    const char *selector; /* of the threads with the metadata; NULL: not sparse */
};

/* Returns metadata: in each group of 4 bits, two different positions in ascending order. tf32 has
 * only two combinations. */
uint64_t diff_random_metadata(struct fth_rng *rng, enum diff_element kind)
{
    static const uint8_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, halves[] = {0x4, 0xe};
    uint64_t value = 0;
    for (unsigned i = 0; i < 32; i += 4)
        value |=
            (uint64_t)(kind == TF32 ? halves[fth_rng_below(rng, 2)] : pairs[fth_rng_below(rng, 6)])
            << i;
    return value;
}

static void fill_registers(const void *user, struct fth_rng *rng, size_t thread, uint64_t *values)
{
    const struct form *form = user;
    const size_t warp = thread / 32, lane = thread % 32;
    const enum diff_distribution distribution = (enum diff_distribution)(warp % DISTRIBUTIONS);
    const unsigned each = diff_elements[form->a].bits < 32 ? 32 / diff_elements[form->a].bits : 1;
    const unsigned position = (unsigned)(lane % 4) * each;
    for (unsigned i = 0; i < form->a_count; i++)
        *values++ = diff_random_register(rng, form->a, distribution,
                                         (warp * 16 + lane / 4 + (size_t)8 * (i % 2)) * 7919,
                                         position + i / 2 * 4u * each);
    for (unsigned i = 0; i < form->b_count; i++)
        *values++ = diff_random_register(
            rng, form->b,
            distribution >= ONE_LARGE && distribution <= ONE_LARGE_POWER ? POWERS : distribution, 0,
            0);
    for (unsigned i = 0; i < form->c_count; i++)
        *values++ = diff_random_accumulator(rng, form->c, warp / DISTRIBUTIONS);
    if (form->selector)
        *values++ = diff_random_metadata(rng, form->a);
}

/* Appends "{r4,r5,r6}". */
void diff_put_registers(struct fth_buffer *out, const char *name, unsigned first, unsigned count)
{
    fth_buffer_text(out, "{");
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(out, "%s%s%u", i ? "," : "", name, first + i);
    fth_buffer_text(out, "}");
}

/* Takes the text, which then lives as long as the suite. */
const char *diff_keep_text(struct diff_builder *b, struct fth_buffer *text)
{
    const char *kept = text->failed ? NULL : fth_arena_text(diff_arena(b), text->data);
    fth_buffer_fini(text);
    return kept ? kept : diff_text(b, "%s", "");
}

/* Adds a case for one mma instruction. */
static void add_mma(struct diff_builder *b, const struct form *form)
{
    const bool wide = form->c == F64;
    const unsigned bytes = wide ? 8 : 4, sparse = form->selector ? 1 : 0;
    const unsigned sources = (unsigned)form->a_count + form->b_count + form->c_count + sparse;
    const unsigned c = (unsigned)form->a_count + form->b_count;
    struct fth_buffer code = {0};
    for (unsigned i = 0; i < sources; i++)
        fth_buffer_format(&code,
                          wide ? "ld.global.b64 r%u,[pa+%u];\n" : "ld.global.b32 r%u,[pa+%u];\n", i,
                          bytes * i);
    const char *name = diff_text(b, "mma%s.%s.%s.%s.%s%s%s", sparse ? ".sp" : "", form->words,
                                 diff_elements[form->c].name, diff_elements[form->a].name,
                                 diff_elements[form->b].name, form->tail ? form->tail : "",
                                 sparse ? form->selector : "");
    fth_buffer_format(
        &code, "mma%s.sync.aligned.%s.%s.%s.%s.%s%s ", sparse ? ".sp::ordered_metadata" : "",
        form->words, diff_elements[form->c].name, diff_elements[form->a].name,
        diff_elements[form->b].name, diff_elements[form->c].name, form->tail ? form->tail : "");
    diff_put_registers(&code, "d", 0, form->c_count);
    fth_buffer_text(&code, ", ");
    diff_put_registers(&code, "r", 0, form->a_count);
    fth_buffer_text(&code, ", ");
    diff_put_registers(&code, "r", form->a_count, form->b_count);
    fth_buffer_text(&code, ", ");
    diff_put_registers(&code, "r", c, form->c_count);
    if (sparse)
        fth_buffer_format(&code, ", r%u, %s", sources - 1, form->selector);
    fth_buffer_text(&code, ";\n");
    for (unsigned i = 0; i < form->c_count; i++)
        fth_buffer_format(&code,
                          wide ? "st.global.b64 [pd+%u],d%u;\n" : "st.global.b32 [pd+%u],d%u;\n",
                          bytes * i, i);
    diff_add(b, &(struct diff_spec){.name = name,
                                    .signature = wide ? "l:l" : "w:w",
                                    .registers = diff_text(b, ".reg .b%u r<%u>, d<%u>;", bytes * 8,
                                                           sources, (unsigned)form->c_count),
                                    .code = diff_keep_text(b, &code),
                                    .operand_values = {sources},
                                    .fill_all = fill_registers,
                                    .user = form,
                                    .digest = true,
                                    .threads = (size_t)32 * DISTRIBUTIONS * 8,
                                    .per_thread = form->c_count});
}

static const struct form mma_forms[] = {
    {"m16n8k8.row.col", F16, F16, F32, 2, 1, 4, NULL, NULL},
    {"m16n8k16.row.col", F16, F16, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k8.row.col", F16, F16, F16, 2, 1, 2, NULL, NULL},
    {"m16n8k16.row.col", F16, F16, F16, 4, 2, 2, NULL, NULL},
    {"m16n8k8.row.col", BF16, BF16, F32, 2, 1, 4, NULL, NULL},
    {"m16n8k16.row.col", BF16, BF16, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k4.row.col", TF32, TF32, F32, 2, 1, 4, NULL, NULL},
    {"m16n8k8.row.col", TF32, TF32, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k16.row.col", E4M3, E4M3, F32, 2, 1, 4, NULL, NULL},
    {"m16n8k32.row.col", E4M3, E4M3, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k32.row.col", E5M2, E5M2, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k32.row.col", E4M3, E5M2, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k32.row.col", E5M2, E4M3, F32, 4, 2, 4, NULL, NULL},
    {"m16n8k16.row.col", E4M3, E4M3, F16, 2, 1, 2, NULL, NULL},
    {"m16n8k32.row.col", E4M3, E4M3, F16, 4, 2, 2, NULL, NULL},
    {"m16n8k32.row.col", E5M2, E5M2, F16, 4, 2, 2, NULL, NULL},
    {"m16n8k16.row.col", E5M2, E5M2, F32, 2, 1, 4, NULL, NULL},
    {"m8n8k4.row.col", F64, F64, F64, 1, 1, 2, NULL, NULL},
    {"m16n8k4.row.col", F64, F64, F64, 2, 1, 4, NULL, NULL},
    {"m16n8k8.row.col", F64, F64, F64, 4, 2, 4, NULL, NULL},
    {"m16n8k16.row.col", F64, F64, F64, 8, 4, 4, NULL, NULL},
    {"m8n8k16.row.col", S8, S8, S32, 1, 1, 2, NULL, NULL},
    {"m8n8k16.row.col.satfinite", S8, U8, S32, 1, 1, 2, NULL, NULL},
    {"m16n8k16.row.col", U8, S8, S32, 2, 1, 4, NULL, NULL},
    {"m16n8k16.row.col.satfinite", U8, U8, S32, 2, 1, 4, NULL, NULL},
    {"m16n8k32.row.col", S8, S8, S32, 4, 2, 4, NULL, NULL},
    {"m16n8k32.row.col", U8, S8, S32, 4, 2, 4, NULL, NULL},
    {"m16n8k32.row.col.satfinite", S8, U8, S32, 4, 2, 4, NULL, NULL},
    {"m8n8k32.row.col", S4, U4, S32, 1, 1, 2, NULL, NULL},
    {"m16n8k32.row.col", U4, S4, S32, 2, 1, 4, NULL, NULL},
    {"m16n8k64.row.col", S4, S4, S32, 4, 2, 4, NULL, NULL},
    {"m16n8k64.row.col.satfinite", U4, U4, S32, 4, 2, 4, NULL, NULL},
    {"m8n8k128.row.col", B1, B1, S32, 1, 1, 2, ".xor.popc", NULL},
    {"m16n8k128.row.col", B1, B1, S32, 2, 1, 4, ".and.popc", NULL},
    {"m16n8k256.row.col", B1, B1, S32, 4, 2, 4, ".xor.popc", NULL},
    {"m16n8k256.row.col", B1, B1, S32, 4, 2, 4, ".and.popc", NULL},
    {"m8n8k4.row.col", F16, F16, F32, 2, 2, 8, NULL, NULL},
    {"m8n8k4.row.row", F16, F16, F32, 2, 2, 8, NULL, NULL},
    {"m8n8k4.col.col", F16, F16, F32, 2, 2, 8, NULL, NULL},
    {"m8n8k4.col.row", F16, F16, F32, 2, 2, 8, NULL, NULL},
    {"m8n8k4.row.col", F16, F16, F16, 2, 2, 4, NULL, NULL},
    {"m8n8k4.col.row", F16, F16, F16, 2, 2, 4, NULL, NULL},
};

static const struct form sparse_forms[] = {
    {"m16n8k16.row.col", F16, F16, F32, 2, 2, 4, NULL, "0"},
    {"m16n8k16.row.col", F16, F16, F32, 2, 2, 4, NULL, "1"},
    {"m16n8k16.row.col", F16, F16, F32, 2, 2, 4, NULL, "2"},
    {"m16n8k16.row.col", F16, F16, F32, 2, 2, 4, NULL, "3"},
    {"m16n8k32.row.col", F16, F16, F32, 4, 4, 4, NULL, "0"},
    {"m16n8k32.row.col", F16, F16, F32, 4, 4, 4, NULL, "1"},
    {"m16n8k32.row.col", F16, F16, F16, 4, 4, 2, NULL, "0"},
    {"m16n8k16.row.col", BF16, BF16, F32, 2, 2, 4, NULL, "3"},
    {"m16n8k32.row.col", BF16, BF16, F32, 4, 4, 4, NULL, "1"},
    {"m16n8k8.row.col", TF32, TF32, F32, 2, 2, 4, NULL, "0"},
    {"m16n8k8.row.col", TF32, TF32, F32, 2, 2, 4, NULL, "3"},
    {"m16n8k16.row.col", TF32, TF32, F32, 4, 4, 4, NULL, "0"},
    {"m16n8k16.row.col", TF32, TF32, F32, 4, 4, 4, NULL, "1"},
    {"m16n8k64.row.col", E4M3, E4M3, F32, 4, 4, 4, NULL, "0"},
    {"m16n8k64.row.col", E5M2, E4M3, F32, 4, 4, 4, NULL, "0"},
    {"m16n8k32.row.col", S8, S8, S32, 2, 2, 4, NULL, "0"},
    {"m16n8k32.row.col.satfinite", U8, S8, S32, 2, 2, 4, NULL, "1"},
    {"m16n8k64.row.col", S8, U8, S32, 4, 4, 4, NULL, "0"},
    {"m16n8k64.row.col", S4, S4, S32, 2, 2, 4, NULL, "0"},
    {"m16n8k64.row.col", U4, S4, S32, 2, 2, 4, NULL, "1"},
    {"m16n8k128.row.col", S4, U4, S32, 4, 4, 4, NULL, "0"},
};

/* ---- instructions of a warp on memory ---- */

/* Cases of ldmatrix, stmatrix and movmatrix. The addresses of the rows are in an irregular order.
 */
static void add_moves(struct diff_builder *b)
{
    static const char shared[] = ".shared .align 16 .b8 s[2048]; .reg .b32 r<4>; .reg .b32 at;\n";
    static const char address[] = /* of row (lane * 5 + 3) % 32 of the warp */
        "mov.u32 at, s; and.b32 j, k, 31; mad.lo.u32 j, j, 5, 3; and.b32 j, j, 31; "
        "shr.u32 k, k, 5; mad.lo.u32 at, k, 512, at; mad.lo.u32 at, j, 16, at;\n";
    static const char store_all[] = /* 4 words per thread */
        "ld.global.v4.b32 {r0,r1,r2,r3}, [pa]; mov.u32 at, s; mad.lo.u32 at, k, 16, at; "
        "st.shared.v4.b32 [at], {r0,r1,r2,r3}; bar.sync 0;\n";
    static const struct form words = {"", S32, S32, S32, 4, 0, 0, NULL, NULL};
    static const char *const lists[] = {"{r0}", "{r0,r1}", "{r0,r1,r2,r3}"};
    for (unsigned trans = 0; trans < 2; trans++)
        for (unsigned i = 0; i < 3; i++) {
            const char *kind =
                diff_text(b, ".sync.aligned.m8n8.x%u%s.shared.b16", 1u << i, trans ? ".trans" : "");
            struct diff_spec spec = {.signature = "w:w",
                                     .registers = shared,
                                     .operand_values = {4},
                                     .fill_all = fill_registers,
                                     .user = &words,
                                     .threads = 256,
                                     .per_thread = 4};
            spec.name = diff_text(b, "ldmatrix%s", kind);
            spec.code =
                diff_text(b, "%s%sldmatrix%s %s, [at];\nst.global.v4.b32 [pd], {r0,r1,r2,r3};",
                          store_all, address, kind, lists[i]);
            diff_add(b, &spec);
            spec.name = diff_text(b, "stmatrix%s", kind);
            spec.code =
                diff_text(b,
                          "%s%sstmatrix%s [at], %s; bar.sync 0; mov.u32 k, %%tid.x; mov.u32 at, s; "
                          "mad.lo.u32 at, k, 16, at; ld.shared.v4.b32 {r0,r1,r2,r3}, [at];\n"
                          "st.global.v4.b32 [pd], {r0,r1,r2,r3};",
                          store_all, address, kind, lists[i]);
            diff_add(b, &spec);
        }
    diff_add(b, &(struct diff_spec){.signature = "w:w",
                                    .code = "movmatrix.sync.aligned.m8n8.trans.b16 d, a;",
                                    .threads = 256});
}

/* A form of wmma, on matrices in memory: the shape, and the layouts of A and B. */
struct wmma_form {
    const char *shape, *a_layout, *b_layout;
    enum diff_element a, b, c, d;
    unsigned rows, columns, depth;
    uint8_t a_count, b_count, c_count, d_count; /* registers per lane */
    const char *suffix;                         /* of wmma.mma: ".satfinite", ".xor.popc" or "" */
};

static unsigned words_of(unsigned elements, enum diff_element kind)
{
    return elements * diff_elements[kind].bits / 1024; /* 32-bit words per lane */
}

static void fill_memory(const void *user, struct fth_rng *rng, size_t thread, uint64_t *values)
{
    const struct wmma_form *form = user;
    const size_t warp = thread / 32;
    const enum diff_distribution distribution = (enum diff_distribution)(warp % DISTRIBUTIONS);
    const unsigned counts[] = {words_of(form->rows * form->depth, form->a),
                               words_of(form->columns * form->depth, form->b),
                               words_of(form->rows * form->columns, form->c)};
    const enum diff_element types[] = {form->a, form->b, form->c};
    for (unsigned m = 0; m < 3; m++)
        for (unsigned i = 0; i < counts[m]; i++) {
            if (types[m] == F64) { /* two words */
                const uint64_t value = m == 2
                                           ? diff_random_accumulator(rng, F64, warp / DISTRIBUTIONS)
                                           : random_element(rng, F64, distribution, thread, i);
                *values++ = value & 0xffffffff;
                *values++ = value >> 32;
                i++;
            } else {
                *values++ = m == 2
                                ? diff_random_accumulator(rng, types[m], warp / DISTRIBUTIONS)
                                : diff_random_register(rng, types[m], distribution, thread / 4, i);
            }
        }
}

/* Writes the instructions: loads of A, B and C from [x], [y] and [z], the multiplication, and the
 * store of D to [w]. */
static void put_wmma(struct fth_buffer *code, const struct wmma_form *f)
{
    fth_buffer_format(code, "wmma.load.a.sync.aligned.%s.%s.global.%s ", f->a_layout, f->shape,
                      diff_elements[f->a].name);
    diff_put_registers(code, "a", 0, f->a_count);
    fth_buffer_format(code, ", [x], %u;\nwmma.load.b.sync.aligned.%s.%s.global.%s ",
                      f->a_layout[0] == 'r' ? f->depth : f->rows, f->b_layout, f->shape,
                      diff_elements[f->b].name);
    diff_put_registers(code, "b", 0, f->b_count);
    fth_buffer_format(code, ", [y], %u;\nwmma.load.c.sync.aligned.row.%s.global.%s ",
                      f->b_layout[0] == 'r' ? f->columns : f->depth, f->shape,
                      diff_elements[f->c].name);
    diff_put_registers(code, "c", 0, f->c_count);
    const bool integer = f->c == S32, bits = f->a == B1;
    fth_buffer_format(code, ", [z], %u;\nwmma.mma%s.sync.aligned.%s.%s.%s.", f->columns,
                      bits ? f->suffix : "", f->a_layout, f->b_layout, f->shape);
    if (integer || f->a == BF16 || f->a == TF32 || f->a == F64)
        fth_buffer_format(code, "%s.%s.%s.%s%s ", diff_elements[f->d].name,
                          diff_elements[f->a].name, diff_elements[f->b].name,
                          diff_elements[f->c].name, bits ? "" : f->suffix);
    else
        fth_buffer_format(code, "%s.%s%s ", diff_elements[f->d].name, diff_elements[f->c].name,
                          f->suffix);
    diff_put_registers(code, "d", 0, f->d_count);
    fth_buffer_text(code, ", ");
    diff_put_registers(code, "a", 0, f->a_count);
    fth_buffer_text(code, ", ");
    diff_put_registers(code, "b", 0, f->b_count);
    fth_buffer_text(code, ", ");
    diff_put_registers(code, "c", 0, f->c_count);
    fth_buffer_format(code, ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [w], ", f->b_layout,
                      f->shape, diff_elements[f->d].name);
    diff_put_registers(code, "d", 0, f->d_count);
    fth_buffer_format(code, ", %u;\n// [pa] [pb] [pc] [pd]\n",
                      f->b_layout[0] == 'r' ? f->columns : f->rows);
}

static void add_wmma(struct diff_builder *b, const struct wmma_form *f)
{
    const unsigned a_words = words_of(f->rows * f->depth, f->a),
                   b_words = words_of(f->columns * f->depth, f->b),
                   c_words = words_of(f->rows * f->columns, f->c),
                   d_words = words_of(f->rows * f->columns, f->d);
    const bool wide = f->c == F64;
    struct fth_buffer code = {0};
    /* x, y and z point to the matrices of the warp: A, B and C are stored one after the other, each
     * for all warps. */
    fth_buffer_format(&code,
                      "and.b32 k, i, 31;\nmul.wide.u32 x, k, %u;\nsub.u64 x, pa, x;\n"
                      "mul.wide.u32 y, k, %u;\nsub.u64 y, pb, y;\nmul.wide.u32 z, k, %u;\n"
                      "sub.u64 z, pc, z;\nmul.wide.u32 w, k, %u;\nsub.u64 w, pd, w;\n",
                      4 * a_words, 4 * b_words, 4 * c_words, 4 * d_words);
    put_wmma(&code, f);
    const char *size = wide ? "64" : "32";
    diff_add(b,
             &(struct diff_spec){
                 .name = diff_text(b, "wmma.%s.%s.%s.%s.%s.%s.%s%s", f->a_layout, f->b_layout,
                                   f->shape, diff_elements[f->d].name, diff_elements[f->a].name,
                                   diff_elements[f->b].name, diff_elements[f->c].name, f->suffix),
                 .signature = "www:w",
                 .registers = diff_text(b, ".reg .b%s a<%u>, b<%u>, c<%u>, d<%u>; .reg .b64 z, w;",
                                        size, (unsigned)f->a_count, (unsigned)f->b_count,
                                        (unsigned)f->c_count, (unsigned)f->d_count),
                 .code = diff_keep_text(b, &code),
                 .operand_values = {a_words, b_words, c_words},
                 .fill_all = fill_memory,
                 .user = f,
                 .digest = true,
                 .threads = (size_t)32 * DISTRIBUTIONS * 2,
                 .per_thread = d_words});
}

static const struct wmma_form wmma_forms[] = {
    {"m16n16k16", "row", "col", F16, F16, F32, F32, 16, 16, 16, 8, 8, 8, 8, ""},
    {"m16n16k16", "col", "row", F16, F16, F16, F16, 16, 16, 16, 8, 8, 4, 4, ""},
    {"m16n16k16", "row", "row", F16, F16, F32, F16, 16, 16, 16, 8, 8, 8, 4, ""},
    {"m16n16k16", "col", "col", F16, F16, F16, F32, 16, 16, 16, 8, 8, 4, 8, ""},
    {"m32n8k16", "row", "col", F16, F16, F32, F32, 32, 8, 16, 8, 8, 8, 8, ""},
    {"m32n8k16", "col", "row", F16, F16, F16, F16, 32, 8, 16, 8, 8, 4, 4, ""},
    {"m8n32k16", "row", "row", F16, F16, F32, F32, 8, 32, 16, 8, 8, 8, 8, ""},
    {"m8n32k16", "col", "col", F16, F16, F16, F16, 8, 32, 16, 8, 8, 4, 4, ""},
    {"m16n16k16", "row", "col", BF16, BF16, F32, F32, 16, 16, 16, 4, 4, 8, 8, ""},
    {"m32n8k16", "col", "row", BF16, BF16, F32, F32, 32, 8, 16, 8, 2, 8, 8, ""},
    {"m8n32k16", "row", "row", BF16, BF16, F32, F32, 8, 32, 16, 2, 8, 8, 8, ""},
    {"m16n16k8", "row", "col", TF32, TF32, F32, F32, 16, 16, 8, 4, 4, 8, 8, ""},
    {"m16n16k8", "col", "row", TF32, TF32, F32, F32, 16, 16, 8, 4, 4, 8, 8, ""},
    {"m8n8k4", "row", "col", F64, F64, F64, F64, 8, 8, 4, 1, 1, 2, 2, ""},
    {"m8n8k4", "col", "row", F64, F64, F64, F64, 8, 8, 4, 1, 1, 2, 2, ""},
    {"m16n16k16", "row", "col", S8, S8, S32, S32, 16, 16, 16, 2, 2, 8, 8, ""},
    {"m16n16k16", "col", "row", U8, U8, S32, S32, 16, 16, 16, 2, 2, 8, 8, ".satfinite"},
    {"m32n8k16", "row", "col", S8, S8, S32, S32, 32, 8, 16, 4, 1, 8, 8, ""},
    {"m8n32k16", "col", "row", U8, U8, S32, S32, 8, 32, 16, 1, 4, 8, 8, ""},
    {"m8n8k32", "row", "col", S4, S4, S32, S32, 8, 8, 32, 1, 1, 2, 2, ""},
    {"m8n8k32", "row", "col", U4, U4, S32, S32, 8, 8, 32, 1, 1, 2, 2, ".satfinite"},
    {"m8n8k128", "row", "col", B1, B1, S32, S32, 8, 8, 128, 1, 1, 2, 2, ".xor.popc"},
    {"m8n8k128", "row", "col", B1, B1, S32, S32, 8, 8, 128, 1, 1, 2, 2, ".and.popc"},
};

/* ---- which lane holds which element of a matrix of wmma ---- */

static const struct fragment {
    const char *matrix, *shape; /* matrix: "a", "b" or "c" */
    enum diff_element element;
    unsigned rows, columns; /* of this matrix */
    unsigned count;         /* of registers */
} fragments[] = {
    {"a", "m16n16k16", F16, 16, 16, 8},
    {"b", "m16n16k16", F16, 16, 16, 8},
    {"a", "m32n8k16", F16, 32, 16, 8},
    {"b", "m32n8k16", F16, 16, 8, 8},
    {"a", "m8n32k16", F16, 8, 16, 8},
    {"b", "m8n32k16", F16, 16, 32, 8},
    {"a", "m16n16k16", BF16, 16, 16, 4},
    {"b", "m16n16k16", BF16, 16, 16, 4},
    {"a", "m32n8k16", BF16, 32, 16, 8},
    {"b", "m32n8k16", BF16, 16, 8, 2},
    {"a", "m8n32k16", BF16, 8, 16, 2},
    {"b", "m8n32k16", BF16, 16, 32, 8},
    {"a", "m16n16k8", TF32, 16, 8, 4},
    {"b", "m16n16k8", TF32, 8, 16, 4},
    {"a", "m16n16k16", S8, 16, 16, 2},
    {"b", "m16n16k16", S8, 16, 16, 2},
    {"a", "m32n8k16", U8, 32, 16, 4},
    {"b", "m32n8k16", U8, 16, 8, 1},
    {"a", "m8n32k16", S8, 8, 16, 1},
    {"b", "m8n32k16", S8, 16, 32, 4},
    {"a", "m8n8k4", F64, 8, 4, 1},
    {"b", "m8n8k4", F64, 4, 8, 1},
    {"c", "m16n16k16", F16, 16, 16, 4},
    {"c", "m32n8k16", F16, 32, 8, 4},
    {"c", "m8n32k16", F16, 8, 32, 4},
    {"c", "m16n16k16", F32, 16, 16, 8},
    {"c", "m32n8k16", F32, 32, 8, 8},
    {"c", "m8n32k16", F32, 8, 32, 8},
    {"c", "m16n16k8", F32, 16, 16, 8},
    {"c", "m8n8k4", F64, 8, 8, 2},
    {"c", "m16n16k16", S32, 16, 16, 8},
    {"c", "m32n8k16", S32, 32, 8, 8},
    {"c", "m8n32k16", S32, 8, 32, 8},
    {"c", "m8n8k32", S32, 8, 8, 2},
    {"c", "m8n8k128", S32, 8, 8, 2},
    /* With elements of less than a byte, A is stored by rows and B by columns. */
    {"a", "m8n8k32", S4, 8, 32, 1},
    {"b", "m8n8k32", U4, 32, 8, 1},
    {"a", "m8n8k128", B1, 8, 128, 1},
    {"b", "m8n8k128", B1, 128, 8, 1},
};

static void fill_any(const void *user, struct fth_rng *rng, size_t thread, uint64_t *values)
{
    const struct fragment *fragment = user;
    (void)thread;
    for (unsigned i = 0; i < words_of(fragment->rows * fragment->columns, fragment->element); i++)
        values[i] = fth_rng_next(rng) & 0xffffffff;
}

static void add_fragment(struct diff_builder *b, const struct fragment *f, bool by_column)
{
    const unsigned words = words_of(f->rows * f->columns, f->element);
    const bool wide = f->element == F64;
    struct fth_buffer code = {0};
    fth_buffer_format(&code,
                      "and.b32 k, i, 31;\nmul.wide.u32 x, k, %u;\nsub.u64 x, pa, x;\n"
                      "wmma.load.%s.sync.aligned.%s.%s.global.%s ",
                      4 * words, f->matrix, by_column ? "col" : "row", f->shape,
                      diff_elements[f->element].name);
    diff_put_registers(&code, "r", 0, f->count);
    fth_buffer_format(&code, ", [x], %u;\n// [pa]\n", by_column ? f->rows : f->columns);
    for (unsigned i = 0; i < f->count; i++)
        fth_buffer_format(&code, "st.global.b%u [pd+%u], r%u;\n", wide ? 64 : 32,
                          (wide ? 8 : 4) * i, i);
    diff_add(b,
             &(struct diff_spec){
                 .name = diff_text(b, "wmma.load.%s.%s.%s.%s", f->matrix, by_column ? "col" : "row",
                                   f->shape, diff_elements[f->element].name),
                 .signature = wide ? "w:l" : "w:w",
                 .registers = diff_text(b, ".reg .b%u r<%u>;", wide ? 64u : 32u, f->count),
                 .code = diff_keep_text(b, &code),
                 .operand_values = {words},
                 .fill_all = fill_any,
                 .user = f,
                 .threads = 64,
                 .per_thread = f->count});
}

static void add_fragments(struct diff_builder *b)
{
    for (size_t i = 0; i < FTH_COUNT(fragments); i++) {
        const bool small = diff_elements[fragments[i].element].bits < 8;
        if (!small || fragments[i].matrix[0] == 'a')
            add_fragment(b, &fragments[i], false);
        if (!small || fragments[i].matrix[0] == 'b')
            add_fragment(b, &fragments[i], true);
    }
}

void diff_add_matrix(struct diff_builder *b)
{
    diff_family(b, "matrices in registers", NULL);
    for (size_t i = 0; i < FTH_COUNT(mma_forms); i++)
        add_mma(b, &mma_forms[i]);
    diff_family(b, "sparse matrices in registers", NULL);
    for (size_t i = 0; i < FTH_COUNT(sparse_forms); i++)
        add_mma(b, &sparse_forms[i]);
    diff_family(b, "moves of matrices", NULL);
    add_moves(b);
    diff_family(b, "wmma", NULL);
    for (size_t i = 0; i < FTH_COUNT(wmma_forms); i++)
        add_wmma(b, &wmma_forms[i]);
    diff_family(b, "wmma fragments", NULL);
    add_fragments(b);
    diff_add_warpgroup(b);
}
