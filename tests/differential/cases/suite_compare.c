/* Cases for comparisons and selection: PTX ISA, "Comparison and Selection Instructions". The
 * kernels store predicates as bytes. */
#include "../suite.h"

static const char *const equality_operators[] = {"eq", "ne"};
static const char *const signed_operators[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const unsigned_operators[] = {"eq", "ne", "lt", "le", "gt",
                                                 "ge", "lo", "ls", "hi", "hs"};
static const char *const float_operators[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static const struct type {
    const char *name; /* as in the instruction, including .ftz */
    char letter;
    const char *const *operators;
    size_t count;
} types[] = {
    {"b16", 'h', equality_operators, FTH_COUNT(equality_operators)},
    {"b32", 'w', equality_operators, FTH_COUNT(equality_operators)},
    {"b64", 'l', equality_operators, FTH_COUNT(equality_operators)},
    {"u16", 'h', unsigned_operators, FTH_COUNT(unsigned_operators)},
    {"u32", 'w', unsigned_operators, FTH_COUNT(unsigned_operators)},
    {"u64", 'l', unsigned_operators, FTH_COUNT(unsigned_operators)},
    {"s16", 'h', signed_operators, FTH_COUNT(signed_operators)},
    {"s32", 'w', signed_operators, FTH_COUNT(signed_operators)},
    {"s64", 'l', signed_operators, FTH_COUNT(signed_operators)},
    {"f32", 'f', float_operators, FTH_COUNT(float_operators)},
    {"ftz.f32", 'f', float_operators, FTH_COUNT(float_operators)},
    {"f64", 'd', float_operators, FTH_COUNT(float_operators)},
    {"f16", 'H', float_operators, FTH_COUNT(float_operators)},
    {"ftz.f16", 'H', float_operators, FTH_COUNT(float_operators)},
    {"bf16", 'B', float_operators, FTH_COUNT(float_operators)},
};

static void add_setp(struct diff_builder *b)
{
    diff_family(b, "setp", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        const char *one = diff_text(b, "%c%c:p", type->letter, type->letter);
        const char *two = diff_text(b, "%c%c:pp", type->letter, type->letter);
        /* Two results, without and with a third predicate. For f16 and bf16, setp has only one. */
        bool half = type->letter == 'H' || type->letter == 'B';
        const char *combined =
            diff_text(b, "%c%cp:%s", type->letter, type->letter, half ? "p" : "pp");
        for (size_t o = 0; o < type->count; o++)
            diff_op(b, one, "setp.%s.%s", type->operators[o], type->name);
        if (!half)
            diff_add(
                b, &(struct diff_spec){.name = diff_text(b, "setp.ne.%s d|q", type->name),
                                       .signature = two,
                                       .code = diff_text(b, "setp.ne.%s d|q, a, b;", type->name)});
        static const char *const combine[] = {"and", "or", "xor"};
        const char *last = type->count > 2 ? "lt" : "eq";
        for (size_t c = 0; c < FTH_COUNT(combine); c++) {
            diff_op(b, combined, "setp.%s.%s.%s", last, combine[c], type->name);
            diff_add(b, &(struct diff_spec){
                            .name = diff_text(b, "setp.%s.%s.%s !c", last, combine[c], type->name),
                            .signature = combined,
                            .code = diff_text(b, "setp.%s.%s.%s %s, a, b, !c;", last, combine[c],
                                              type->name, half ? "d" : "d|q")});
        }
    }
    /* Pairs of halves: one result per half. */
    static const char *const packed[] = {"f16x2", "ftz.f16x2", "bf16x2"};
    for (size_t t = 0; t < FTH_COUNT(packed); t++)
        for (size_t o = 0; o < FTH_COUNT(float_operators); o++)
            diff_op(b, t < 2 ? "XX:pp" : "YY:pp", "setp.%s.%s", float_operators[o], packed[t]);
    diff_op(b, "XXp:pp", "setp.lt.and.f16x2");
    diff_op(b, "YYp:pp", "setp.geu.or.bf16x2");
}

static void add_set(struct diff_builder *b)
{
    static const char *const combine[] = {"and", "or", "xor"};
    diff_family(b, "set", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        bool half = type->letter == 'H' || type->letter == 'B';
        bool ftz = type->name[0] == 'f' && type->name[1] == 't';
        const char *source = ftz ? type->name + 4 : type->name, *flush = ftz ? ".ftz" : "";
        const char *word = diff_text(b, "%c%c:w", type->letter, type->letter);
        const char *real = diff_text(b, "%c%c:f", type->letter, type->letter);
        for (size_t o = 0; o < type->count; o++) {
            const char *op = type->operators[o];
            diff_op(b, word, "set.%s%s.u32.%s", op, flush, source);
            if (o % 3 == 0 || !half)
                diff_op(b, word, "set.%s%s.s32.%s", op, flush, source);
            if (!half)
                diff_op(b, real, "set.%s%s.f32.%s", op, flush, source);
        }
        const char *last = type->count > 2 ? "ge" : "ne";
        for (size_t c = 0; c < FTH_COUNT(combine) && !half; c++)
            diff_op(b, diff_text(b, "%c%cp:w", type->letter, type->letter), "set.%s.%s%s.u32.%s",
                    last, combine[c], flush, source);
    }
    for (size_t o = 0; o < FTH_COUNT(float_operators); o++) {
        diff_op(b, "HH:H", "set.%s.f16.f16", float_operators[o]);
        diff_op(b, "HH:h", "set.%s.u16.f16", float_operators[o]);
        diff_op(b, "HH:h", "set.%s.ftz.s16.f16", float_operators[o]);
        diff_op(b, "BB:B", "set.%s.bf16.bf16", float_operators[o]);
        diff_op(b, "BB:h", "set.%s.u16.bf16", float_operators[o]);
        diff_op(b, "XX:X", "set.%s.f16x2.f16x2", float_operators[o]);
        diff_op(b, "XX:X", "set.%s.ftz.f16x2.f16x2", float_operators[o]);
        diff_op(b, "YY:Y", "set.%s.bf16x2.bf16x2", float_operators[o]);
    }
}

static void add_selection(struct diff_builder *b)
{
    static const struct {
        const char *name;
        char letter;
    } kinds[] = {{"b16", 'h'}, {"b32", 'w'}, {"b64", 'l'}, {"u16", 'h'}, {"u32", 'w'}, {"u64", 'l'},
                 {"s16", 'h'}, {"s32", 'w'}, {"s64", 'l'}, {"f32", 'f'}, {"f64", 'd'}};
    diff_family(b, "selection", NULL);
    for (size_t k = 0; k < FTH_COUNT(kinds); k++) {
        char x = kinds[k].letter;
        diff_op_as(
            b, &(struct diff_spec){.signature = diff_text(b, "%c%cp:%c", x, x, x), .threads = 384},
            "selp.%s", kinds[k].name);
        static const char *const by[] = {"s32", "f32", "ftz f32"};
        for (size_t s = 0; s < FTH_COUNT(by); s++)
            diff_op_as(
                b,
                &(struct diff_spec){.signature = diff_text(b, "%c%c%c:%c", x, x, s ? 'f' : 'w', x),
                                    .threads = 384},
                s == 2   ? "slct.ftz.%s.f32"
                : s == 1 ? "slct.%s.f32"
                         : "slct.%s.s32",
                kinds[k].name);
    }
}

void diff_add_comparisons(struct diff_builder *builder)
{
    add_setp(builder);
    add_set(builder);
    add_selection(builder);
}
