/* Cases for integer arithmetic: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision
 * Integer Arithmetic Instructions". */
#include "../suite.h"

struct width {
    unsigned bits;
    char letter;
};

static const struct width widths[] = {{16, 'h'}, {32, 'w'}, {64, 'l'}};
static const char signs[] = "us";

static void add_plain(struct diff_builder *b)
{
    static const char *const binary[] = {"add", "sub", "mul.lo", "mul.hi", "min", "max"};
    static const char *const ternary[] = {"mad.lo", "mad.hi", "sad"};
    diff_family(b, "integer arithmetic", NULL);
    for (size_t w = 0; w < FTH_COUNT(widths); w++)
        for (size_t s = 0; s < 2; s++) {
            char x = widths[w].letter;
            const char *two = diff_text(b, "%c%c:%c", x, x, x);
            const char *three = diff_text(b, "%c%c%c:%c", x, x, x, x);
            for (size_t i = 0; i < FTH_COUNT(binary); i++)
                diff_op(b, two, "%s.%c%u", binary[i], signs[s], widths[w].bits);
            for (size_t i = 0; i < FTH_COUNT(ternary); i++)
                diff_op(b, three, "%s.%c%u", ternary[i], signs[s], widths[w].bits);
            if (signs[s] == 's') {
                diff_op(b, diff_text(b, "%c:%c", x, x), "abs.s%u", widths[w].bits);
                diff_op(b, diff_text(b, "%c:%c", x, x), "neg.s%u", widths[w].bits);
            }
        }
    for (size_t s = 0; s < 2; s++) {
        diff_op(b, "hh:w", "mul.wide.%c16", signs[s]);
        diff_op(b, "ww:l", "mul.wide.%c32", signs[s]);
        diff_op(b, "hhw:w", "mad.wide.%c16", signs[s]);
        diff_op(b, "wwl:l", "mad.wide.%c32", signs[s]);
        diff_op(b, "ww:w", "mul24.lo.%c32", signs[s]);
        diff_op(b, "ww:w", "mul24.hi.%c32", signs[s]);
        diff_op(b, "www:w", "mad24.lo.%c32", signs[s]);
        diff_op(b, "www:w", "mad24.hi.%c32", signs[s]);
    }
    diff_op(b, "www:w", "mad24.hi.sat.s32");
    diff_op(b, "ww:w", "add.sat.s32");
    diff_op(b, "ww:w", "min.relu.s32");
    diff_op(b, "ww:w", "max.relu.s32");
    diff_op(b, "ww:w", "sub.sat.s32");
    diff_op(b, "www:w", "mad.hi.sat.s32");
    /* The same register for both operands, and an immediate operand. */
    diff_add(b, &(struct diff_spec){
                    .name = "add.s32 a,a", .signature = "w:w", .code = "add.s32 d, a, a;"});
    diff_add(b, &(struct diff_spec){.name = "sub.s32 immediate",
                                    .signature = "w:w",
                                    .code = "sub.s32 d, a, -2147483648;"});
}

/* The ISA does not define the result of a division by zero. The engine must return the result of
 * the hardware. */
static void add_division(struct diff_builder *b)
{
    static const char *const ops[] = {"div", "rem"};
    diff_family(b, "integer division", NULL);
    for (size_t w = 0; w < FTH_COUNT(widths); w++)
        for (size_t s = 0; s < 2; s++)
            for (size_t i = 0; i < FTH_COUNT(ops); i++) {
                char x = widths[w].letter;
                diff_op(b, diff_text(b, "%c%c:%c", x, x, x), "%s.%c%u", ops[i], signs[s],
                        widths[w].bits);
            }
}

/* d is the low part of the result. q is the high part, which includes the carry. */
static void add_carries(struct diff_builder *b)
{
    static const char *const types[] = {"u32", "s32", "u64", "s64"};
    diff_family(b, "integer carry", NULL);
    for (size_t i = 0; i < FTH_COUNT(types); i++) {
        const char *type = types[i];
        char x = i < 2 ? 'w' : 'l';
        const char *pair = diff_text(b, "%c%c%c%c:%c%c", x, x, x, x, x, x);
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "add.cc.%s addc.%s", type, type),
                                        .signature = pair,
                                        .code = diff_text(b,
                                                          "add.cc.%s d, a, c;\n"
                                                          "addc.%s q, b, e;",
                                                          type, type)});
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "sub.cc.%s subc.%s", type, type),
                                        .signature = pair,
                                        .code = diff_text(b,
                                                          "sub.cc.%s d, a, c;\n"
                                                          "subc.%s q, b, e;",
                                                          type, type)});
        /* The carry out of addc.cc and subc.cc; the next instruction of the chain uses it. */
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "addc.cc.%s chain", type),
                                        .signature = pair,
                                        .code = diff_text(b,
                                                          "add.cc.%s d, a, c;\n"
                                                          "addc.cc.%s d, b, e;\n"
                                                          "addc.%s q, a, e;",
                                                          type, type, type)});
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "subc.cc.%s chain", type),
                                        .signature = pair,
                                        .code = diff_text(b,
                                                          "sub.cc.%s d, a, c;\n"
                                                          "subc.cc.%s d, b, e;\n"
                                                          "subc.%s q, a, e;",
                                                          type, type, type)});
        static const char *const halves[] = {"lo", "hi"};
        for (size_t h = 0; h < 2; h++) {
            /* The carry out of the multiply-add. */
            diff_add(b, &(struct diff_spec){.name = diff_text(b, "mad.%s.cc.%s", halves[h], type),
                                            .signature = pair,
                                            .code = diff_text(b,
                                                              "mad.%s.cc.%s d, a, b, c;\n"
                                                              "addc.%s q, e, 0;",
                                                              halves[h], type, type)});
            /* The carry in of the multiply-add. */
            diff_add(b, &(struct diff_spec){.name = diff_text(b, "madc.%s.%s", halves[h], type),
                                            .signature = pair,
                                            .code = diff_text(b,
                                                              "add.cc.%s d, a, e;\n"
                                                              "madc.%s.%s q, a, b, c;",
                                                              type, halves[h], type)});
            /* Both carries. */
            diff_add(b, &(struct diff_spec){.name = diff_text(b, "madc.%s.cc.%s", halves[h], type),
                                            .signature = pair,
                                            .code = diff_text(b,
                                                              "add.cc.%s d, a, e;\n"
                                                              "madc.%s.cc.%s d, a, b, c;\n"
                                                              "addc.%s q, b, 0;",
                                                              type, halves[h], type, type)});
        }
    }
}

/* Dot products of bytes, and of bytes with 16-bit halves. */
static void add_dot_products(struct diff_builder *b)
{
    static const char *const types[] = {"u32", "s32"};
    diff_family(b, "integer dot product", NULL);
    for (size_t i = 0; i < 4; i++) {
        const char *first = types[i / 2], *second = types[i % 2];
        diff_op(b, "www:w", "dp4a.%s.%s", first, second);
        diff_op(b, "www:w", "dp2a.lo.%s.%s", first, second);
        diff_op(b, "www:w", "dp2a.hi.%s.%s", first, second);
    }
}

void diff_add_integer(struct diff_builder *builder)
{
    add_plain(builder);
    add_division(builder);
    add_carries(builder);
    add_dot_products(builder);
}
