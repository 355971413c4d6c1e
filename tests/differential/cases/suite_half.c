/* Cases for half precision: f16 and bf16, single and as pairs in a register. PTX ISA, "Half
 * Precision Floating-Point Instructions". */
#include "../suite.h"

static const struct type {
    const char *name;
    char letter;
    bool is_bf16;
} types[] = {
    {"f16", 'H', false}, {"f16x2", 'X', false}, {"bf16", 'B', true}, {"bf16x2", 'Y', true}};

static void add_arithmetic(struct diff_builder *b)
{
    static const char *const ops[] = {"add", "sub", "mul"};
    static const char *const endings[] = {"", ".ftz", ".sat", ".ftz.sat"};
    static const char *const fused[] = {"", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"};
    diff_family(b, "half arithmetic", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        char x = type->letter;
        const char *two = diff_text(b, "%c%c:%c", x, x, x);
        const char *three = diff_text(b, "%c%c%c:%c", x, x, x, x);
        for (size_t i = 0; i < FTH_COUNT(ops); i++) {
            diff_op(b, two, "%s.%s", ops[i], type->name);
            for (size_t e = 0; e < (type->is_bf16 ? 1 : FTH_COUNT(endings)); e++)
                diff_op(b, two, "%s.rn%s.%s", ops[i], endings[e], type->name);
        }
        for (size_t e = 0; e < FTH_COUNT(fused); e++)
            if (!type->is_bf16 || e == 0 || e == 4)
                diff_op(b, three, "fma.rn%s.%s", fused[e], type->name);
    }
}

static void add_simple(struct diff_builder *b)
{
    static const char *const min[] = {"min", "max"}, *const signs[] = {"abs", "neg"};
    static const char *const modes[] = {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"};
    diff_family(b, "half min max abs neg", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        char x = type->letter;
        const char *two = diff_text(b, "%c%c:%c", x, x, x), *one = diff_text(b, "%c:%c", x, x);
        for (size_t i = 0; i < 2; i++)
            for (size_t m = 0; m < FTH_COUNT(modes); m++) {
                diff_op(b, two, "%s%s.%s", min[i], modes[m], type->name);
                if (!type->is_bf16)
                    diff_op(b, two, "%s.ftz%s.%s", min[i], modes[m], type->name);
            }
        for (size_t i = 0; i < 2; i++) {
            diff_op(b, one, "%s.%s", signs[i], type->name);
            if (!type->is_bf16)
                diff_op(b, one, "%s.ftz.%s", signs[i], type->name);
        }
    }
}

static void add_approximations(struct diff_builder *b)
{
    diff_family(b, "half approximate functions", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        const char *one = diff_text(b, "%c:%c", type->letter, type->letter);
        diff_op_as(b, &(struct diff_spec){.signature = one, .threads = 640}, "tanh.approx.%s",
                   type->name);
        diff_op_as(b, &(struct diff_spec){.signature = one, .threads = 640}, "ex2.approx%s.%s",
                   type->is_bf16 ? ".ftz" : "", type->name);
    }
}

/* .oob: the result is 0 if a factor is the NaN of elements outside of a tensor. The factors are all
 * NaNs, and some numbers. */
static void add_outside(struct diff_builder *b)
{
    static const uint64_t numbers[] = {0, 0x8000, 0x3c00, 0x3f80, 0x7c00, 0xff80, 0x7fff, 0xffff};
    static const struct diff_values some = {numbers, FTH_COUNT(numbers)};
    diff_family(b, "half out of bounds", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const bool pair = types[t].letter == 'X' || types[t].letter == 'Y';
        const unsigned bits = types[t].is_bf16 ? 7 : 10;
        const size_t count = (size_t)2 << bits; /* both signs */
        uint64_t *nans = fth_arena_array(diff_arena(b), count, sizeof *nans);
        if (!nans)
            return;
        for (size_t i = 0; i < count; i++) {
            const uint64_t nan = (types[t].is_bf16 ? 0x7f80 : 0x7c00) | i >> 1 | (i & 1) << 15;
            nans[i] = pair ? nan << 16 | 0x3c00 : nan;
        }
        struct diff_values *all = fth_arena_alloc(diff_arena(b), sizeof *all);
        if (!all)
            return;
        *all = (struct diff_values){nans, count};
        const char *signature = diff_text(b, "%c%c%c:%c", types[t].letter, types[t].letter,
                                          types[t].letter, types[t].letter);
        const struct diff_spec first = {
            .signature = signature, .values = {all, &some, &some}, .threads = 4 * count};
        const struct diff_spec second = {
            .name = diff_text(b, "fma.rn.oob.%s b", types[t].name),
            .signature = signature,
            .code = diff_text(b, "fma.rn.oob.%s d, a, b, c;", types[t].name),
            .values = {&some, all, &some},
            .threads = 2 * count};
        diff_op_as(b, &first, "fma.rn.oob.%s", types[t].name);
        diff_op_as(b, &first, "fma.rn.oob.relu.%s", types[t].name);
        diff_add(b, &second);
    }
}

void diff_add_half(struct diff_builder *builder)
{
    add_arithmetic(builder);
    add_simple(builder);
    add_approximations(builder);
    add_outside(builder);
}
