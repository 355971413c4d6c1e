/* Cases for wgmma: the four warps of a warpgroup multiply a matrix A of 64 rows, in registers or
 * shared memory, with a matrix B in shared memory. A block is one warpgroup. Its threads fill the
 * shared memory with random elements: B begins at address 0, A in the middle. */
#include "suite_matrix.h"

enum { SHARED_BYTES = 32768, A_BEGIN = SHARED_BYTES / 2, SHARED_WORDS = SHARED_BYTES / 4 / 128 };

/* How a matrix is stored, as the descriptor encodes it in bits 62 and 63. */
enum swizzle { PLAIN, SWIZZLE_128, SWIZZLE_64, SWIZZLE_32 };

struct form {
    unsigned columns; /* of B */
    enum diff_element a, b, c;
    bool a_in_registers;
    enum swizzle swizzle;
    bool transpose_a, transpose_b; /* the elements of a column are next to each other */
    bool ignore_d;                 /* scale-d is false: D = A * B */
    bool negate_a, negate_b;
    unsigned advance;     /* bytes that are added to the start addresses */
    const char *selector; /* of the threads with the metadata; NULL: not sparse */
    bool saturate;
};

static unsigned depth_of(const struct form *form)
{
    return (form->selector ? 2u : 1u) * 256 / diff_elements[form->a].bits;
}

static unsigned accumulator_count(const struct form *form)
{
    return form->columns / (form->c == F16 ? 4u : 2u);
}

static void fill(const void *user, struct fth_rng *rng, size_t thread, uint64_t *values)
{
    const struct form *form = user;
    const size_t block = thread / 128;
    const enum diff_distribution distribution = (enum diff_distribution)(block % DISTRIBUTIONS);
    const unsigned word = SHARED_WORDS * (unsigned)(thread % 128);
    const unsigned each = diff_elements[form->a].bits < 32 ? 32 / diff_elements[form->a].bits : 1;
    const bool one_large = distribution == ONE_LARGE || distribution == ONE_LARGE_POWER;
    for (unsigned i = 0; i < SHARED_WORDS; i++) {
        const bool is_a = word + i >= A_BEGIN / 4;
        *values++ = diff_random_register(
            rng, is_a ? form->a : form->b, one_large && !is_a ? POWERS : distribution,
            (block * 64 + (word + i) / 4) * 7919, (word + i) % 4 * each);
    }
    for (unsigned i = 0; i < accumulator_count(form); i++)
        *values++ = diff_random_accumulator(rng, form->c, block / DISTRIBUTIONS);
    for (unsigned i = 0; i < 4; i++)
        *values++ = diff_random_register(rng, form->a, distribution,
                                         (thread / 4 + (size_t)8 * (i % 2)) * 7919,
                                         ((unsigned)(thread % 4) + i / 2 * 4) * each);
    *values++ = diff_random_metadata(rng, form->a);
}

/* Returns the descriptor of a matrix at address 0: the offsets between its parts, and the swizzle.
 */
static uint64_t descriptor(const struct form *form, bool transposed)
{
    static const unsigned spans[] = {
        [PLAIN] = 16, [SWIZZLE_128] = 128, [SWIZZLE_64] = 64, [SWIZZLE_32] = 32};
    const unsigned part = 8 * spans[form->swizzle]; /* bytes of eight rows */
    const bool plain = form->swizzle == PLAIN;
    /* Without a swizzle, the leading offset is that along K, and two parts make 32 bytes of K. With
     * one, a part has all 32 bytes, unless the matrix is transposed: then, two parts make K = 16,
     * and the leading offset is that along the rows. */
    const uint64_t leading = plain ? part : transposed ? 2 * part : 16;
    const uint64_t stride = plain ? 2 * part : part;
    return leading >> 4 << 16 | stride >> 4 << 32 | (uint64_t)form->swizzle << 62;
}

static const char *name_of(struct diff_builder *b, const struct form *form)
{
    static const char *const swizzles[] = {"", " 128B", " 64B", " 32B"};
    return diff_text(
        b, "wgmma n%u %s %s %s%s%s%s%s%s%s%s%s%s%s", form->columns, diff_elements[form->c].name,
        diff_elements[form->a].name, diff_elements[form->b].name,
        form->a_in_registers ? " regs" : "", swizzles[form->swizzle],
        form->transpose_a ? " ta" : "", form->transpose_b ? " tb" : "",
        form->ignore_d ? " nod" : "", form->negate_a ? " -a" : "", form->negate_b ? " -b" : "",
        form->advance ? diff_text(b, " +%u", form->advance) : "", form->saturate ? " sat" : "",
        form->selector ? diff_text(b, " sp%s", form->selector) : "");
}

static void put_instruction(struct fth_buffer *code, const struct form *form)
{
    const bool floats = form->c != S32, halves = form->a == F16 || form->a == BF16;
    fth_buffer_format(code, "wgmma.mma_async%s.sync.aligned.m64n%uk%u%s.%s.%s.%s%s ",
                      form->selector ? ".sp" : "", form->columns, depth_of(form),
                      form->saturate ? ".satfinite" : "", diff_elements[form->c].name,
                      diff_elements[form->a].name, diff_elements[form->b].name,
                      form->a == B1 ? ".and.popc" : "");
    diff_put_registers(code, "r", 0, accumulator_count(form));
    fth_buffer_text(code, ", ");
    if (form->a_in_registers)
        diff_put_registers(code, "f", 0, 4);
    else
        fth_buffer_text(code, "da");
    fth_buffer_text(code, ", db, ");
    if (form->selector)
        fth_buffer_format(code, "f4, %s, ", form->selector);
    fth_buffer_text(code, "scale");
    if (floats)
        fth_buffer_format(code, ", %d, %d", form->negate_a ? -1 : 1, form->negate_b ? -1 : 1);
    if (floats && halves && !form->a_in_registers)
        fth_buffer_format(code, ", %d", form->transpose_a);
    if (floats && halves)
        fth_buffer_format(code, ", %d", form->transpose_b);
    fth_buffer_text(code, ";\n");
}

static void add_form(struct diff_builder *b, const struct form *form)
{
    const unsigned count = accumulator_count(form);
    struct fth_buffer code = {0};
    fth_buffer_format(
        &code,
        "mov.u32 at, s;\nmad.lo.u32 at, k, %d, at;\nmov.u32 j, 0;\n"
        "LOOP:\nld.global.v4.b32 {t0,t1,t2,t3}, [pa];\nst.shared.v4.b32 [at], {t0,t1,t2,t3};\n"
        "add.u64 pa, pa, 16;\nadd.u32 at, at, 16;\nadd.u32 j, j, 1;\n"
        "setp.lt.u32 more, j, %d;\n@more bra LOOP;\nbar.sync 0;\nfence.proxy.async;\n",
        4 * SHARED_WORDS, SHARED_WORDS / 4);
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(&code, "ld.global.b32 r%u, [pb+%u];\n", i, 4 * i);
    for (unsigned i = 0; i < 4; i++)
        fth_buffer_format(&code, "ld.global.b32 f%u, [pc+%u];\n", i, 4 * i);
    fth_buffer_format(
        &code,
        "ld.global.b32 f4, [pe];\n"
        "mov.u32 at, s;\nadd.u32 at, at, %u;\nshr.u32 at, at, 4;\ncvt.u64.u32 db, at;\n"
        "add.u32 at, at, %d;\ncvt.u64.u32 da, at;\n"
        "or.b64 da, da, 0x%llx;\nor.b64 db, db, 0x%llx;\nsetp.ne.u32 scale, %d, 0;\n"
        "wgmma.fence.sync.aligned;\n",
        form->advance, A_BEGIN / 16, (unsigned long long)descriptor(form, form->transpose_a),
        (unsigned long long)descriptor(form, form->transpose_b), !form->ignore_d);
    put_instruction(&code, form);
    fth_buffer_text(&code, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(&code, "st.global.b32 [pd+%u], r%u;\n", 4 * i, i);
    diff_add(b, &(struct diff_spec){
                    .name = name_of(b, form),
                    .signature = "wwww:w",
                    .registers = diff_text(
                        b,
                        ".shared .align 1024 .b8 s[%d];\n.reg .b32 r<%u>, f<5>, t<4>, at;\n"
                        ".reg .b64 da, db;\n.reg .pred more, scale;",
                        SHARED_BYTES, count),
                    .code = diff_keep_text(b, &code),
                    .operand_values = {SHARED_WORDS, count, 4, 1},
                    .fill_all = fill,
                    .user = form,
                    .digest = true,
                    .threads = (size_t)128 * DISTRIBUTIONS * (form->columns > 64 ? 1 : 2),
                    .per_thread = count});
}

static const struct form forms[] = {
    /* Every number of columns is a multiple of 8 up to 256. */
    {.columns = 8, .a = F16, .b = F16, .c = F32},
    {.columns = 24, .a = F16, .b = F16, .c = F32},
    {.columns = 64, .a = F16, .b = F16, .c = F32},
    {.columns = 136, .a = F16, .b = F16, .c = F32},
    {.columns = 256, .a = F16, .b = F16, .c = F32},
    {.columns = 64, .a = F16, .b = F16, .c = F16},
    {.columns = 256, .a = F16, .b = F16, .c = F16},
    {.columns = 64, .a = BF16, .b = BF16, .c = F32},
    {.columns = 64, .a = TF32, .b = TF32, .c = F32},
    {.columns = 64, .a = E4M3, .b = E4M3, .c = F32},
    {.columns = 64, .a = E5M2, .b = E4M3, .c = F32},
    {.columns = 64, .a = E4M3, .b = E5M2, .c = F32},
    {.columns = 64, .a = E5M2, .b = E5M2, .c = F32},
    {.columns = 64, .a = E4M3, .b = E4M3, .c = F16},
    {.columns = 64, .a = E5M2, .b = E5M2, .c = F16},
    {.columns = 64, .a = S8, .b = S8, .c = S32},
    {.columns = 32, .a = U8, .b = S8, .c = S32},
    {.columns = 48, .a = S8, .b = U8, .c = S32, .saturate = true},
    {.columns = 256, .a = U8, .b = U8, .c = S32},
    {.columns = 64, .a = B1, .b = B1, .c = S32},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .a_in_registers = true},
    {.columns = 64, .a = BF16, .b = BF16, .c = F32, .a_in_registers = true},
    {.columns = 64, .a = TF32, .b = TF32, .c = F32, .a_in_registers = true},
    {.columns = 64, .a = E4M3, .b = E4M3, .c = F32, .a_in_registers = true},
    {.columns = 64, .a = S8, .b = S8, .c = S32, .a_in_registers = true},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .ignore_d = true},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .negate_a = true},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .negate_b = true},
    {.columns = 64, .a = F16, .b = F16, .c = F16, .negate_a = true, .negate_b = true},
    {.columns = 64, .a = S8, .b = S8, .c = S32, .ignore_d = true},
    /* Layouts in shared memory. */
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_128},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_64},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_32},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_128, .advance = 32},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_128, .advance = 96},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .swizzle = SWIZZLE_64, .advance = 32},
    {.columns = 64, .a = TF32, .b = TF32, .c = F32, .swizzle = SWIZZLE_128, .advance = 64},
    {.columns = 64, .a = E4M3, .b = E4M3, .c = F32, .swizzle = SWIZZLE_128, .advance = 32},
    {.columns = 64, .a = S8, .b = U8, .c = S32, .swizzle = SWIZZLE_128},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .transpose_b = true},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .transpose_a = true},
    {.columns = 128, .a = BF16, .b = BF16, .c = F32, .transpose_a = true, .transpose_b = true},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .transpose_b = true, .swizzle = SWIZZLE_128},
    {.columns = 128,
     .a = F16,
     .b = F16,
     .c = F32,
     .transpose_a = true,
     .transpose_b = true,
     .swizzle = SWIZZLE_128},
    {.columns = 128,
     .a = F16,
     .b = F16,
     .c = F32,
     .transpose_a = true,
     .transpose_b = true,
     .swizzle = SWIZZLE_64},
    {.columns = 128,
     .a = F16,
     .b = F16,
     .c = F32,
     .transpose_a = true,
     .transpose_b = true,
     .swizzle = SWIZZLE_32},
    /* Sparse. */
    {.columns = 64, .a = F16, .b = F16, .c = F32, .selector = "0"},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .selector = "1"},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .selector = "0", .a_in_registers = true},
    {.columns = 64, .a = F16, .b = F16, .c = F16, .selector = "0"},
    {.columns = 64, .a = BF16, .b = BF16, .c = F32, .selector = "1"},
    {.columns = 64, .a = TF32, .b = TF32, .c = F32, .selector = "0"},
    {.columns = 64, .a = TF32, .b = TF32, .c = F32, .selector = "1"},
    {.columns = 64, .a = E4M3, .b = E4M3, .c = F32, .selector = "0"},
    {.columns = 64, .a = E4M3, .b = E5M2, .c = F16, .selector = "0"},
    {.columns = 64, .a = S8, .b = S8, .c = S32, .selector = "0"},
    {.columns = 64, .a = F16, .b = F16, .c = F32, .selector = "0", .swizzle = SWIZZLE_128},
};

void diff_add_warpgroup(struct diff_builder *b)
{
    diff_family(b, "warpgroups", NULL);
    for (size_t i = 0; i < FTH_COUNT(forms); i++)
        add_form(b, &forms[i]);
}
