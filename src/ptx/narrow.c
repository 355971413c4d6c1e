/* Conversions to and from 8-bit floating-point numbers, conversions that saturate, those to tf32,
 * and those that pack integers (PTX ISA, "cvt" and "cvt.pack"):
 *
 *     cvt.rn.satfinite.e4m3x2.f32    d, a, b    two numbers: a becomes the high byte of d
 *     cvt.rn.satfinite.e5m2x2.f16x2  d, a
 *     cvt.rn.f16x2.e4m3x2            d, a
 *     cvt.rn.satfinite.f16.f32       d, a       and to bf16, f16x2, bf16x2
 *     cvt.rz.tf32.f32                d, a
 *     cvt.pack.sat.s16.s32           d, a, b    a becomes the high half of d
 *     cvt.pack.sat.u8.s32.b32        d, a, b, c the low bits of c come above a and b
 *
 * .relu replaces negative numbers by zero, .satfinite infinities and numbers that are too large by
 * the largest finite number. */
#include "ptx/execute/execute.h"
#include "ptx/parse/operand.h"

#include <math.h>

/* The destination types, in the field `mode`. */
enum target { TO_E4M3X2, TO_E5M2X2, TO_F16, TO_BF16, TO_F16X2, TO_BF16X2, TO_TF32 };
/* The source types, in the field `vector`. */
enum source { FROM_F32, FROM_F16X2, FROM_E4M3X2, FROM_E5M2X2 };
/* Modifiers, in the field `flags`. */
enum { RELU = 1, SATURATE = 2 };

/* ---- one number ---- */

/* Rounds a number to tf32: 10 bits of fraction in an f32. */
static uint32_t to_tf32(uint32_t bits, enum fth_ptx_rounding rounding, uint32_t flags)
{
    const bool saturate = flags & SATURATE;
    if (flags & RELU && bits >> 31 && (bits & 0x7fffffff) <= 0x7f800000)
        return 0;
    if ((bits & 0x7fffffff) > 0x7f800000 && rounding != R_RNA)
        return 0x7fffe000; /* .rna keeps a NaN, as on an H200 */
    const uint32_t odd = bits >> 13 & 1;
    if ((bits & 0x7f800000) != 0x7f800000)
        bits += rounding == R_RNA ? 0x1000 : rounding == R_RN ? 0xfff + odd : 0;
    bits &= ~0x1fffu;
    /* An H200 also decrements NaNs. */
    return saturate && (bits & 0x7f800000) == 0x7f800000 ? bits - 0x2000 : bits;
}

/* The largest finite number of a 16-bit format. */
static uint16_t saturated(uint16_t bits, uint16_t infinity)
{
    return (bits & 0x7fff) == infinity ? (uint16_t)((bits & 0x8000) | (infinity - 1)) : bits;
}

static uint32_t convert(double value, enum target target, enum fth_ptx_rounding rounding,
                        uint32_t flags)
{
    if (flags & RELU && value <= 0)
        value = 0; /* also for -0 */
    const bool saturate = flags & SATURATE;
    switch (target) {
    case TO_E4M3X2: return fth_ptx_format_from_double(FTH_FORMAT_E4M3, value);
    case TO_E5M2X2: return fth_ptx_format_from_double(FTH_FORMAT_E5M2, value);
    case TO_F16:
    case TO_F16X2: {
        const uint16_t bits = fth_ptx_half_from_double(value, rounding);
        return saturate ? saturated(bits, 0x7c00) : bits;
    }
    case TO_BF16:
    case TO_BF16X2: {
        const uint16_t bits = fth_ptx_bfloat_from_double(value, rounding);
        return saturate ? saturated(bits, 0x7f80) : bits;
    }
    default: return 0; /* tf32: see to_tf32() */
    }
}

/* ---- lanes ---- */

/* A number of a packed source: the high or the low one. */
static double packed(uint64_t bits, enum source source, bool high)
{
    switch (source) {
    case FROM_F16X2: return fth_ptx_half_to_double((uint16_t)(bits >> (high ? 16 : 0)));
    case FROM_E4M3X2:
        return fth_ptx_format_to_double(FTH_FORMAT_E4M3, (uint8_t)(bits >> (high ? 8 : 0)));
    case FROM_E5M2X2:
        return fth_ptx_format_to_double(FTH_FORMAT_E5M2, (uint8_t)(bits >> (high ? 8 : 0)));
    default: return (double)as_float(bits);
    }
}

static void run_narrow(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const enum target target = (enum target)inst->mode;
    const enum source source = (enum source)inst->vector;
    const enum fth_ptx_rounding rounding = (enum fth_ptx_rounding)inst->rounding;
    const uint64_t *ra = row(warp, inst->s[0]);
    const uint64_t *rb = inst->s[1] != NO_REGISTER ? row(warp, inst->s[1]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    const bool single = target == TO_F16 || target == TO_BF16;
    const unsigned width = target <= TO_E5M2X2 ? 8 : 16;
    if (target == TO_TF32) {
        FOR_LANES(mask, rd[lane] = to_tf32((uint32_t)ra[lane], rounding, inst->flags););
        return;
    }
    FOR_LANES(mask, {
        const double high = packed(ra[lane], source, true), low = packed(rb[lane], source, false);
        rd[lane] = single ? convert(high, target, rounding, inst->flags)
                          : (uint64_t)convert(high, target, rounding, inst->flags) << width |
                                convert(low, target, rounding, inst->flags);
    });
}

/* ---- parsing ---- */

static const char *const targets[] = {"e4m3x2", "e5m2x2", "f16", "bf16", "f16x2", "bf16x2", "tf32"};
static const char *const sources[] = {"f32", "f16x2", "e4m3x2", "e5m2x2"};

static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_inst *inst)
{
    static const char *const roundings[] = {"rn", "rz", "rna"};
    static const uint8_t values[] = {R_RN, R_RZ, R_RNA};
    static const char *const modifiers[] = {"relu", "satfinite"};
    const int rounding = fth_ptx_take_one_of(statement, roundings, FTH_COUNT(roundings));
    for (int found; (found = fth_ptx_take_one_of(statement, modifiers, 2)) >= 0;)
        inst->flags |= found == 0 ? RELU : SATURATE;
    const int target = fth_ptx_take_one_of(statement, targets, FTH_COUNT(targets));
    const int source = fth_ptx_take_one_of(statement, sources, FTH_COUNT(sources));
    if (rounding < 0 || target < 0 || source < 0 || statement->next_word != statement->word_count)
        return false;
    inst->rounding = values[rounding];
    inst->mode = (uint8_t)target;
    inst->vector = (uint8_t)source;
    if (source == FROM_E4M3X2 || source == FROM_E5M2X2)
        return target == TO_F16X2 && inst->rounding == R_RN && !(inst->flags & SATURATE);
    if (target <= TO_E5M2X2)
        return inst->rounding == R_RN && inst->flags & SATURATE;
    return source == FROM_F32 && (inst->rounding != R_RNA || target == TO_TF32);
}

bool fth_ptx_is_narrow(const struct fth_ptx_statement *statement)
{
    if (strcmp(statement->base, "cvt") != 0)
        return false;
    struct fth_ptx_statement words = *statement;
    struct fth_ptx_inst inst = {.flags = 0};
    return parse_words(&words, &inst) && (inst.flags & SATURATE || inst.mode == TO_TF32 ||
                                          inst.mode <= TO_E5M2X2 || inst.vector >= FROM_E4M3X2);
}

bool fth_ptx_family_narrow(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                           struct fth_ptx_inst *inst)
{
    const int32_t *to, *from;
    if (!parse_words(statement, inst))
        return fth_ptx_refuse(parser, statement);
    const bool two = inst->vector == FROM_F32 && inst->mode != TO_F16 && inst->mode != TO_BF16 &&
                     inst->mode != TO_TF32;
    if (!fth_ptx_check_operand_count(parser, statement, two ? 3 : 2) ||
        !fth_ptx_take_registers(parser, statement, 0, 1, true, &to))
        return false;
    if (*to < 0)
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    inst->d[0] = *to;
    for (size_t i = 0; i < (two ? 2 : 1); i++) {
        if (!fth_ptx_take_registers(parser, statement, i + 1, 1, false, &from))
            return false;
        inst->s[i] = *from;
    }
    inst->run = run_narrow;
    return true;
}

/* ---- cvt.pack ---- */

/* `mode` is the number of bits of an element; `flags` is 1 if it is signed. */
static uint32_t saturate_integer(int32_t value, unsigned bits, bool is_signed)
{
    const int32_t max = (int32_t)((1u << (bits - is_signed)) - 1), min = is_signed ? -max - 1 : 0;
    value = value > max ? max : value < min ? min : value;
    return (uint32_t)value & ((1u << bits) - 1);
}

static void run_pack(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const unsigned bits = inst->mode;
    const bool is_signed = inst->flags != 0;
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const bool has_rest = inst->s[2] != NO_REGISTER;
    const uint64_t *rc = has_rest ? row(warp, inst->s[2]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, {
        const uint32_t low = saturate_integer((int32_t)rb[lane], bits, is_signed);
        const uint32_t high = saturate_integer((int32_t)ra[lane], bits, is_signed);
        const uint32_t rest = has_rest ? (uint32_t)rc[lane] << 2 * bits : 0;
        rd[lane] = rest | high << bits | low;
    });
}

bool fth_ptx_is_pack(const struct fth_ptx_statement *statement)
{
    return strcmp(statement->base, "cvt") == 0 && fth_ptx_has_word(statement, "pack");
}

bool fth_ptx_family_pack(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                         struct fth_ptx_inst *inst)
{
    static const char *const types[] = {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"};
    const int32_t *rows;
    int type = -1;
    if (!fth_ptx_take_word(statement, "pack") || !fth_ptx_take_word(statement, "sat") ||
        (type = fth_ptx_take_one_of(statement, types, FTH_COUNT(types))) < 0 ||
        !fth_ptx_take_word(statement, "s32") ||
        (type < 6 && !fth_ptx_take_word(statement, "b32")) ||
        statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    const size_t count = type < 6 ? 4 : 3;
    if (!fth_ptx_check_operand_count(parser, statement, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!fth_ptx_take_registers(parser, statement, i, 1, i == 0, &rows))
            return false;
        if (i == 0 && *rows < 0)
            return fth_ptx_refuse_operand(parser, statement, i, "a register");
        *(i == 0 ? &inst->d[0] : &inst->s[i - 1]) = *rows;
    }
    inst->mode = (uint8_t)(2u << type / 2);
    inst->flags = (uint32_t)type % 2;
    inst->run = run_pack;
    return true;
}
