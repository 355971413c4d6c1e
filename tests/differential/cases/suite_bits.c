/* Cases for instructions on bits: logic, shifts, bit fields, permutes and moves. PTX ISA, "Logic
 * and Shift Instructions", and the integer instructions that count, find or move bits. */
#include "../suite.h"

#include <stdio.h>

/* Shift amounts, some of them beyond the width. */
static const uint64_t amounts_at[] = {0,  1,   2,   7,   8,   15,         16,        17,
                                      31, 32,  33,  47,  48,  62,         63,        64,
                                      65, 127, 128, 255, 256, 0x80000000, 0xffffffff};
static const struct diff_values amounts = {amounts_at, FTH_COUNT(amounts_at)};
/* Positions and lengths of bit fields, some of them beyond the width and beyond the eight bits that
 * the instructions use. */
static const uint64_t fields_at[] = {0, 1, 5, 8, 16, 31, 32, 33, 40, 63, 64, 65, 255, 256, 0x10020};
static const struct diff_values fields = {fields_at, FTH_COUNT(fields_at)};

static void add_logic(struct diff_builder *b)
{
    static const char letters[] = "hwl";
    diff_family(b, "logic", NULL);
    for (size_t w = 0; w < 3; w++) {
        unsigned bits = 16u << w;
        char x = letters[w];
        const char *two = diff_text(b, "%c%c:%c", x, x, x), *one = diff_text(b, "%c:%c", x, x);
        diff_op(b, two, "and.b%u", bits);
        diff_op(b, two, "or.b%u", bits);
        diff_op(b, two, "xor.b%u", bits);
        diff_op(b, one, "not.b%u", bits);
        diff_op(b, one, "cnot.b%u", bits);
    }
    diff_op(b, "pp:p", "and.pred");
    diff_op(b, "pp:p", "or.pred");
    diff_op(b, "pp:p", "xor.pred");
    diff_op(b, "p:p", "not.pred");
    diff_op(b, "p:p", "mov.pred");
    /* All 256 functions of three inputs; the first value of each operand gives every combination of
     * bits. */
    struct fth_buffer code = {0};
    for (unsigned table = 0; table < 256; table++)
        fth_buffer_format(&code, "lop3.b32 j, a, b, c, %u;\nst.global.b32 [pd+%u], j;\n", table,
                          table * 4);
    static const uint64_t a[] = {0xf0f0f0f0, 0x12345678}, bb[] = {0xcccccccc, 0x9abcdef0},
                          c[] = {0xaaaaaaaa, 0x0f1e2d3c};
    static const struct diff_values lists[] = {{a, 2}, {bb, 2}, {c, 2}};
    diff_add(b, &(struct diff_spec){.name = "lop3.b32",
                                    .signature = "www:w",
                                    .code = code.data ? code.data : "",
                                    .values = {&lists[0], &lists[1], &lists[2]},
                                    .threads = 8,
                                    .per_thread = 256});
    fth_buffer_fini(&code);
}

static void add_shifts(struct diff_builder *b)
{
    static const char *const ops[] = {"shl.b", "shr.b", "shr.u", "shr.s"};
    static const char letters[] = "hwl";
    diff_family(b, "shifts", NULL);
    for (size_t w = 0; w < 3; w++)
        for (size_t i = 0; i < FTH_COUNT(ops); i++)
            diff_op_as(
                b,
                &(struct diff_spec){.signature = diff_text(b, "%cw:%c", letters[w], letters[w]),
                                    .values = {[1] = &amounts}},
                "%s%u", ops[i], 16u << w);
    static const char *const funnels[] = {"shf.l.clamp", "shf.l.wrap", "shf.r.clamp", "shf.r.wrap"};
    for (size_t i = 0; i < FTH_COUNT(funnels); i++)
        diff_op_as(b, &(struct diff_spec){.signature = "www:w", .values = {[2] = &amounts}},
                   "%s.b32", funnels[i]);
}

static void add_fields(struct diff_builder *b)
{
    diff_family(b, "bit fields", NULL);
    for (size_t w = 0; w < 2; w++) {
        unsigned bits = 32u << w;
        char x = w ? 'l' : 'w';
        for (size_t s = 0; s < 2; s++) {
            diff_op_as(b,
                       &(struct diff_spec){.signature = diff_text(b, "%cww:%c", x, x),
                                           .values = {NULL, &fields, &fields}},
                       "bfe.%c%u", "us"[s], bits);
            diff_op(b, diff_text(b, "%c:w", x), "bfind.%c%u", "us"[s], bits);
            diff_op(b, diff_text(b, "%c:w", x), "bfind.shiftamt.%c%u", "us"[s], bits);
        }
        diff_op_as(b,
                   &(struct diff_spec){.signature = diff_text(b, "%c%cww:%c", x, x, x),
                                       .values = {NULL, NULL, &fields, &fields}},
                   "bfi.b%u", bits);
        diff_op(b, diff_text(b, "%c:%c", x, x), "brev.b%u", bits);
        diff_op(b, diff_text(b, "%c:w", x), "popc.b%u", bits);
        diff_op(b, diff_text(b, "%c:w", x), "clz.b%u", bits);
    }
    static const char *const modes[] = {"clamp", "wrap"};
    for (size_t m = 0; m < 2; m++) {
        for (size_t s = 0; s < 2; s++)
            diff_op_as(b, &(struct diff_spec){.signature = "ww:w", .values = {[1] = &amounts}},
                       "szext.%s.%c32", modes[m], "us"[s]);
        diff_op_as(b, &(struct diff_spec){.signature = "ww:w", .values = {&amounts, &amounts}},
                   "bmsk.%s.b32", modes[m]);
    }
    /* Find the n-th set bit. The ISA requires a base below 32. */
    static const uint64_t base[] = {0, 1, 7, 16, 31};
    static const uint64_t offset[] = {0, 1, 2, 5, 31, 32, 33, 0xffffffff, 0xfffffffe, 0xffffffe0};
    static const struct diff_values bases = {base, FTH_COUNT(base)},
                                    offsets = {offset, FTH_COUNT(offset)};
    diff_op_as(b, &(struct diff_spec){.signature = "www:w", .values = {NULL, &bases, &offsets}},
               "fns.b32");
}

static void add_permutes(struct diff_builder *b)
{
    static const char *const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    static const uint64_t selectors_at[] = {0x3210, 0x7654, 0x0123, 0x4567,  0x0000,    0x7777,
                                            0x5140, 0x8888, 0xffff, 0xb3a2,  0x91c8,    0x1,
                                            0x2,    0x3,    0x4,    0xf3210, 0x80000000};
    static const struct diff_values selectors = {selectors_at, FTH_COUNT(selectors_at)};
    diff_family(b, "permutes", NULL);
    for (size_t i = 0; i < FTH_COUNT(modes); i++)
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "prmt.b32%s", modes[i]),
                                        .signature = "www:w",
                                        .code = diff_text(b, "prmt.b32%s d, a, b, c;", modes[i]),
                                        .values = {NULL, NULL, &selectors}});
    diff_op(b, "h:h", "mov.b16");
    diff_op(b, "w:w", "mov.b32");
    diff_op(b, "l:l", "mov.b64");
    diff_op(b, "w:w", "mov.u32");
    diff_op(b, "l:l", "mov.s64");
    diff_op(b, "f:f", "mov.f32");
    diff_op(b, "d:d", "mov.f64");
    static const struct diff_spec packs[] = {
        {.name = "mov.b32 pack", .signature = "hh:w", .code = "mov.b32 d, {a, b};"},
        {.name = "mov.b64 pack", .signature = "ww:l", .code = "mov.b64 d, {a, b};"},
        {.name = "mov.b64 pack4", .signature = "hhhh:l", .code = "mov.b64 d, {a, b, c, e};"},
        {.name = "mov.b32 unpack", .signature = "w:hh", .code = "mov.b32 {d, q}, a;"},
        {.name = "mov.b64 unpack", .signature = "l:ww", .code = "mov.b64 {d, q}, a;"},
        {.name = "mov.b64 unpack4",
         .signature = "l:hh",
         .code = "mov.b64 {m0, d, m1, q}, a;",
         .registers = ".reg .b16 m0, m1;"},
        {.name = "mov.b64 unpack sink", .signature = "l:w", .code = "mov.b64 {_, d}, a;"},
    };
    for (size_t i = 0; i < FTH_COUNT(packs); i++)
        diff_add(b, &packs[i]);
}

void diff_add_bits(struct diff_builder *builder)
{
    add_logic(builder);
    add_shifts(builder);
    add_fields(builder);
    add_permutes(builder);
}
