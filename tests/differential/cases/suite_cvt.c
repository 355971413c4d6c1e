/* Cases for conversions: PTX ISA, "Data Movement and Conversion Instructions: cvt". Eight-bit
 * operands are in 32-bit registers. The upper bits of a source are arbitrary; those of a result
 * must be the zero or sign extension. */
#include "../suite.h"

static const struct type {
    const char *name;
    enum diff_type kind;
    char letter;
    unsigned bits;
    bool is_signed;
} types[] = {
    {"u8", DIFF_I32, 'w', 8, false},   {"s8", DIFF_I32, 'w', 8, true},
    {"u16", DIFF_I16, 'h', 16, false}, {"s16", DIFF_I16, 'h', 16, true},
    {"u32", DIFF_I32, 'w', 32, false}, {"s32", DIFF_I32, 'w', 32, true},
    {"u64", DIFF_I64, 'l', 64, false}, {"s64", DIFF_I64, 'l', 64, true},
    {"f16", DIFF_F16, 'H', 16, true},  {"bf16", DIFF_BF16, 'B', 16, true},
    {"f32", DIFF_F32, 'f', 32, true},  {"f64", DIFF_F64, 'd', 64, true},
};

static const char *const to_integral[] = {".rni", ".rzi", ".rmi", ".rpi"};
static const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};

static bool is_float(const struct type *type)
{
    return type->kind >= DIFF_F16;
}

/* Returns whether an integer type can represent every value of the other. In this case, cvt has no
 * .sat. */
static bool can_represent(const struct type *to, const struct type *from)
{
    if (to->is_signed == from->is_signed)
        return to->bits >= from->bits;
    return to->is_signed && to->bits > from->bits;
}

/* PTX has no conversions between bf16 and 8-bit integers. */
static bool is_unsupported(const struct type *to, const struct type *from)
{
    return (to->kind == DIFF_BF16 && from->bits == 8) || (from->kind == DIFF_BF16 && to->bits == 8);
}

static void convert(struct diff_builder *b, const struct type *to, const struct type *from,
                    const char *modifiers)
{
    struct diff_values values = diff_conversion_edges(diff_arena(b), from->kind, to->kind);
    diff_op_as(b,
               &(struct diff_spec){.signature = diff_text(b, "%c:%c", from->letter, to->letter),
                                   .values = {&values},
                                   .threads = values.count + 64},
               "cvt%s.%s.%s", modifiers, to->name, from->name);
}

static void add_integers(struct diff_builder *b)
{
    diff_family(b, "cvt integer to integer", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++)
        for (size_t f = 0; f < FTH_COUNT(types); f++) {
            if (is_float(&types[t]) || is_float(&types[f]))
                continue;
            convert(b, &types[t], &types[f], "");
            if (!can_represent(&types[t], &types[f]))
                convert(b, &types[t], &types[f], ".sat");
        }
}

static void add_to_float(struct diff_builder *b)
{
    diff_family(b, "cvt integer to float", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++)
        for (size_t f = 0; f < FTH_COUNT(types); f++) {
            if (!is_float(&types[t]) || is_float(&types[f]) || is_unsupported(&types[t], &types[f]))
                continue;
            for (size_t r = 0; r < 4; r++)
                convert(b, &types[t], &types[f], roundings[r]);
            if (types[t].kind != DIFF_BF16)
                convert(b, &types[t], &types[f], ".rn.sat");
        }
}

static void add_to_integer(struct diff_builder *b)
{
    diff_family(b, "cvt float to integer", NULL);
    for (size_t t = 0; t < FTH_COUNT(types); t++)
        for (size_t f = 0; f < FTH_COUNT(types); f++) {
            if (is_float(&types[t]) || !is_float(&types[f]) || is_unsupported(&types[t], &types[f]))
                continue;
            for (size_t r = 0; r < 4; r++) {
                convert(b, &types[t], &types[f], to_integral[r]);
                if (types[f].kind == DIFF_F32)
                    convert(b, &types[t], &types[f], diff_text(b, "%s.ftz", to_integral[r]));
            }
            if (types[f].kind != DIFF_BF16)
                convert(b, &types[t], &types[f], ".rzi.sat");
        }
}

static const struct type *const f16 = &types[8], *const bf16 = &types[9], *const f32 = &types[10],
                                *const f64 = &types[11];
static const char *const endings[] = {"", ".sat", ".ftz", ".ftz.sat"};

/* To a narrower type, with rounding. */
static void add_narrowing(struct diff_builder *b)
{
    for (size_t r = 0; r < 4; r++) {
        for (size_t e = 0; e < 4; e++)
            convert(b, f32, f64, diff_text(b, "%s%s", roundings[r], endings[e]));
        for (size_t e = 0; e < 2; e++)
            convert(b, f16, f64, diff_text(b, "%s%s", roundings[r], endings[e]));
        for (size_t e = 0; e < 4; e++)
            convert(b, f16, f32, diff_text(b, "%s%s", roundings[r], endings[e]));
        convert(b, bf16, f32, roundings[r]);
        convert(b, bf16, f64, roundings[r]);
        convert(b, bf16, f16, roundings[r]);
        convert(b, f16, bf16, roundings[r]);
    }
    static const char *const relu[] = {".rn.relu", ".rz.relu"};
    for (size_t r = 0; r < 2; r++) {
        convert(b, f16, f32, relu[r]);
        convert(b, bf16, f32, relu[r]);
    }
}

/* To a wider type, exact. */
static void add_widening(struct diff_builder *b)
{
    for (size_t e = 0; e < 4; e++) {
        convert(b, f64, f32, endings[e]);
        convert(b, f32, f16, endings[e]);
        if (e < 2)
            convert(b, f64, f16, endings[e]);
    }
    convert(b, f32, bf16, "");
    convert(b, f64, bf16, "");
}

/* To an integral value of the same type. */
static void add_integral(struct diff_builder *b)
{
    const struct type *same[] = {f16, f32, f64, bf16};
    for (size_t s = 0; s < FTH_COUNT(same); s++) {
        bool plain = same[s]->kind != DIFF_F32;
        for (size_t r = 0; r < 4; r++) {
            struct diff_values values =
                diff_conversion_edges(diff_arena(b), same[s]->kind, DIFF_I32);
            size_t variants = plain ? 2 : 4;
            if (same[s]->kind == DIFF_BF16)
                variants = 1;
            for (size_t e = 0; e < variants; e++)
                diff_op_as(b,
                           &(struct diff_spec){
                               .signature = diff_text(b, "%c:%c", same[s]->letter, same[s]->letter),
                               .values = {&values},
                               .threads = values.count + 64},
                           "cvt%s%s.%s.%s", to_integral[r], endings[e], same[s]->name,
                           same[s]->name);
        }
        for (size_t e = 1; e < (plain ? 2 : 4); e++)
            if (same[s]->kind != DIFF_BF16)
                convert(b, same[s], same[s], endings[e]);
    }
}

/* Two floats to a pair of halves, and to tf32 (19 bits). */
static void add_pairs(struct diff_builder *b)
{
    struct diff_values to_half = diff_conversion_edges(diff_arena(b), DIFF_F32, DIFF_F16);
    struct diff_values to_bf16 = diff_conversion_edges(diff_arena(b), DIFF_F32, DIFF_BF16);
    for (size_t r = 0; r < 2; r++)
        for (size_t e = 0; e < 2; e++) {
            const char *end = e ? ".relu" : "";
            diff_op_as(b,
                       &(struct diff_spec){
                           .signature = "ff:X", .values = {&to_half, &to_half}, .threads = 768},
                       "cvt%s%s.f16x2.f32", roundings[r], end);
            diff_op_as(b,
                       &(struct diff_spec){
                           .signature = "ff:Y", .values = {&to_bf16, &to_bf16}, .threads = 768},
                       "cvt%s%s.bf16x2.f32", roundings[r], end);
        }
    diff_op_as(b, &(struct diff_spec){.signature = "f:w", .values = {&to_half}},
               "cvt.rna.tf32.f32");
}

static void add_floats(struct diff_builder *b)
{
    diff_family(b, "cvt float to float", NULL);
    add_narrowing(b);
    add_widening(b);
    add_integral(b);
    add_pairs(b);
}

/* Conversions with 8-bit floating-point numbers, tf32 and .satfinite. */
static void add_small(struct diff_builder *b)
{
    static const char *const eights[] = {"e4m3x2", "e5m2x2"}, *const relus[] = {"", ".relu"};
    static const char *const modes[] = {"rn", "rz"};
    diff_family(b, "cvt with small floats", NULL);
    for (size_t t = 0; t < 2; t++)
        for (size_t r = 0; r < 2; r++) {
            diff_op(b, "ff:h", "cvt.rn.satfinite%s.%s.f32", relus[r], eights[t]);
            diff_op(b, "X:h", "cvt.rn.satfinite%s.%s.f16x2", relus[r], eights[t]);
            diff_op(b, "h:X", "cvt.rn%s.f16x2.%s", relus[r], eights[t]);
        }
    for (size_t n = 0; n < 2; n++)
        for (size_t r = 0; r < 2; r++) {
            diff_op(b, "f:H", "cvt.%s%s.satfinite.f16.f32", modes[n], relus[r]);
            diff_op(b, "f:B", "cvt.%s%s.satfinite.bf16.f32", modes[n], relus[r]);
            diff_op(b, "ff:X", "cvt.%s%s.satfinite.f16x2.f32", modes[n], relus[r]);
            diff_op(b, "ff:Y", "cvt.%s%s.satfinite.bf16x2.f32", modes[n], relus[r]);
            diff_op(b, "f:f", "cvt.%s%s.tf32.f32", modes[n], relus[r]);
        }
    diff_op(b, "f:f", "%s", "cvt.rna.satfinite.tf32.f32");
}

/* Conversions that saturate integers and pack them. */
static void add_packed(struct diff_builder *b)
{
    static const char *const elements[] = {"u2", "s2", "u4", "s4", "u8", "s8"};
    static const uint64_t numbers[] = {
        0,   1,   2,     3,      4,          7,        8,          15,        16,  127,
        128, 255, 256,   0x7fff, 0x8000,     0xffff,   0x10000,    ~0u,       ~1u, ~2u,
        ~7u, ~8u, ~127u, ~128u,  0xffff8000, ~0x8000u, 0x80000000, 0x7fffffff};
    static const struct diff_values integers = {numbers, FTH_COUNT(numbers)};
    const struct diff_spec three = {.signature = "www:w", .values = {&integers, &integers}};
    const struct diff_spec two = {.signature = "ww:w", .values = {&integers, &integers}};
    diff_family(b, "cvt.pack", NULL);
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        diff_op_as(b, &three, "cvt.pack.sat.%s.s32.b32", elements[i]);
    diff_op_as(b, &two, "cvt.pack.sat.u16.s32");
    diff_op_as(b, &two, "cvt.pack.sat.s16.s32");
}

void diff_add_conversions(struct diff_builder *builder)
{
    add_integers(builder);
    add_to_float(builder);
    add_to_integer(builder);
    add_floats(builder);
    add_small(builder);
    add_packed(builder);
}
