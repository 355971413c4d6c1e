/* Comparisons (setp, set, testp) and conversions between types (cvt). A result that the PTX ISA
 * leaves open, such as the payload of a NaN, is the one that an H200 returns (tests/differential).
 *
 * The handlers convert_integer_to_float and convert_float_to_float compute in C and therefore round
 * in the rounding mode of the host. The host rounds to nearest unless fth_ptx_run_rounded has set
 * another mode. */
#include "ptx/execute/execute.h"

#include <math.h>

/* The number 1.0 in these types. */
enum { ONE_F16 = 0x3c00, ONE_BF16 = 0x3f80, ONE_F32 = 0x3f800000 };
/* The canonical NaNs, which an H200 returns where it does not keep the payload of an operand. f16
 * and bf16 have the same one. */
#define NAN_16 0x7fff
#define NAN_F32 0x7fffffff
#define NAN_F64 0x7ff8000000000000u

/* ---- comparisons ---- */

/* Adds to `lanes` the lanes of `mask` for which inst->comparison holds between the rows `ra` and
 * `rb`. The default case is ge, geu or hs. LOAD converts the bits of a register to type T. The
 * variables inst, mask, ra, rb and lanes are those of the caller. */
#define RELATION(T, LOAD)                                                                          \
    do {                                                                                           \
        switch (inst->comparison) {                                                                \
        case C_EQ:                                                                                 \
        case C_EQU: FOR_LANES(mask, TAKE(T, LOAD, x == y)); break;                                 \
        case C_NE:                                                                                 \
        case C_NEU: FOR_LANES(mask, TAKE(T, LOAD, x != y)); break;                                 \
        case C_LT:                                                                                 \
        case C_LTU:                                                                                \
        case C_LO: FOR_LANES(mask, TAKE(T, LOAD, x < y)); break;                                   \
        case C_LE:                                                                                 \
        case C_LEU:                                                                                \
        case C_LS: FOR_LANES(mask, TAKE(T, LOAD, x <= y)); break;                                  \
        case C_GT:                                                                                 \
        case C_GTU:                                                                                \
        case C_HI: FOR_LANES(mask, TAKE(T, LOAD, x > y)); break;                                   \
        default: FOR_LANES(mask, TAKE(T, LOAD, x >= y)); break;                                    \
        }                                                                                          \
    } while (0)
#define TAKE(T, LOAD, EXPRESSION)                                                                  \
    {                                                                                              \
        T x = LOAD(ra[lane]), y = LOAD(rb[lane]);                                                  \
        lanes |= (uint32_t)(EXPRESSION) << lane;                                                   \
    }

#define TO_U16(bits) ((uint16_t)(bits))
#define TO_S16(bits) ((int16_t)(bits))
#define TO_U32(bits) ((uint32_t)(bits))
#define TO_S32(bits) ((int32_t)(bits))
#define TO_U64(bits) ((uint64_t)(bits))
#define TO_S64(bits) ((int64_t)(bits))

static uint32_t compare_integers(const struct fth_ptx_inst *inst, enum fth_ptx_type type,
                                 const uint64_t *ra, const uint64_t *rb, uint32_t mask)
{
    uint32_t lanes = 0;
    switch (type) {
    case T_S16: RELATION(int16_t, TO_S16); break;
    case T_S32: RELATION(int32_t, TO_S32); break;
    case T_S64: RELATION(int64_t, TO_S64); break;
    case T_U16:
    case T_B16: RELATION(uint16_t, TO_U16); break;
    case T_U32:
    case T_B32: RELATION(uint32_t, TO_U32); break;
    default: RELATION(uint64_t, TO_U64); break;
    }
    return lanes;
}

/* A value of any float type as a double, which represents all of them exactly. With .ftz, subnormal
 * f32 and f16 values become zero. */
static inline double load_float(uint64_t bits, enum fth_ptx_type type, uint32_t flags)
{
    switch (type) {
    case T_F16:
        return flags & F_FTZ && (bits & 0x7c00) == 0 ? fth_ptx_half_to_double(bits & 0x8000)
                                                     : fth_ptx_half_to_double((uint16_t)bits);
    case T_BF16: return fth_ptx_bfloat_to_double((uint16_t)bits);
    case T_F32:
        return flags & F_FTZ && (bits & 0x7f800000) == 0 ? (double)as_float(bits & 0x80000000u)
                                                         : (double)as_float(bits);
    default: return as_double(bits);
    }
}

/* Returns the lanes for which the comparison holds. With a NaN operand, eq, ne, lt, le, gt and ge
 * are false, and equ, neu, ltu, leu, gtu and geu are true. */
static uint32_t compare_floats(const struct fth_ptx_inst *inst, enum fth_ptx_type type,
                               const uint64_t *ra, const uint64_t *rb, uint32_t mask)
{
    double va[LANES], vb[LANES];
    uint32_t unordered = 0, lanes = 0;
    FOR_LANES(mask, {
        va[lane] = load_float(ra[lane], type, inst->flags);
        vb[lane] = load_float(rb[lane], type, inst->flags);
        unordered |= (uint32_t)(isnan(va[lane]) || isnan(vb[lane])) << lane;
    });
    if (inst->comparison == C_NUM || inst->comparison == C_NAN)
        return inst->comparison == C_NAN ? unordered : ~unordered;
    FOR_LANES(mask, {
        double x = va[lane], y = vb[lane];
        bool holds;
        switch (inst->comparison) {
        case C_EQ:
        case C_EQU: holds = x == y; break;
        case C_NE:
        case C_NEU: holds = x != y; break;
        case C_LT:
        case C_LTU: holds = x < y; break;
        case C_LE:
        case C_LEU: holds = x <= y; break;
        case C_GT:
        case C_GTU: holds = x > y; break;
        default: holds = x >= y; break;
        }
        lanes |= (uint32_t)holds << lane;
    });
    /* equ, neu, ltu, leu, gtu and geu are consecutive in enum fth_ptx_comparison. */
    bool with_nan = inst->comparison >= C_EQU && inst->comparison <= C_GEU;
    return with_nan ? lanes | unordered : lanes & ~unordered;
}

static uint32_t compare(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                        enum fth_ptx_type type, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    return fth_ptx_type_is_float(type) ? compare_floats(inst, type, ra, rb, mask)
                                       : compare_integers(inst, type, ra, rb, mask);
}

/* Combines the result of a comparison with the source predicate, as in setp.lt.and. */
static uint32_t combine(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t lanes)
{
    if (inst->boolean == B_NONE)
        return lanes;
    uint32_t other = source_predicate(warp, inst);
    return inst->boolean == B_AND  ? lanes & other
           : inst->boolean == B_OR ? lanes | other
                                   : lanes ^ other;
}

/* setp.lt.and p|q: q gets the negated comparison, combined with the same source predicate. */
void fth_ptx_set_compared(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask,
                          uint32_t lanes)
{
    uint32_t first = combine(warp, inst, lanes), second = combine(warp, inst, ~lanes);
    set_predicate(warp, inst->d[0], mask, first);
    set_predicate(warp, inst->d[1], mask, second);
}

static void run_setp(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    fth_ptx_set_compared(warp, inst, mask,
                         compare(warp, inst, (enum fth_ptx_type)inst->type, mask));
}

/* set: "true" is 1.0 for a float type and all ones for an integer type. */
static void run_set(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint32_t lanes = combine(warp, inst, compare(warp, inst, (enum fth_ptx_type)inst->type2, mask));
    uint64_t true_value = inst->type == T_F32    ? ONE_F32
                          : inst->type == T_F16  ? ONE_F16
                          : inst->type == T_BF16 ? ONE_BF16
                                                 : UINT32_MAX;
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = lanes >> lane & 1 ? true_value : 0;);
}

/* Compares pairs of 16-bit floats. *first and *second are the lanes for which the comparison of the
 * low and of the high halves holds. */
static void compare_pairs(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          enum fth_ptx_type pair, uint32_t mask, uint32_t *first, uint32_t *second)
{
    uint64_t low[2][LANES], high[2][LANES];
    for (int i = 0; i < 2; i++) {
        const uint64_t *source = row(warp, inst->s[i]);
        FOR_LANES(mask, low[i][lane] = source[lane] & 0xffff;
                  high[i][lane] = source[lane] >> 16 & 0xffff;);
    }
    enum fth_ptx_type half = pair == T_F16X2 ? T_F16 : T_BF16;
    *first = combine(warp, inst, compare_floats(inst, half, low[0], low[1], mask));
    *second = combine(warp, inst, compare_floats(inst, half, high[0], high[1], mask));
}

static void run_set_pair(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint32_t first, second;
    compare_pairs(warp, inst, (enum fth_ptx_type)inst->type2, mask, &first, &second);
    uint64_t true_value = inst->type == T_F16X2    ? ONE_F16
                          : inst->type == T_BF16X2 ? ONE_BF16
                                                   : 0xffff;
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = (first >> lane & 1 ? true_value : 0) |
                               (second >> lane & 1 ? true_value << 16 : 0););
}

/* setp.eq.f16x2 p|q: p for the low half, q for the high one. */
static void run_setp_pair(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint32_t first, second;
    compare_pairs(warp, inst, (enum fth_ptx_type)inst->type, mask, &first, &second);
    set_predicate(warp, inst->d[0], mask, first);
    set_predicate(warp, inst->d[1], mask, second);
}

/* The values of inst->mode for testp; modifiers.c assigns them. */
enum { FINITE = 1, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };

/* testp: tests the class of a float. Zero counts as normal (PTX ISA, testp). */
static void run_testp(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint32_t lanes = 0;
    FOR_LANES(mask, {
        int class =
            inst->type == T_F32 ? fpclassify(as_float(ra[lane])) : fpclassify(as_double(ra[lane]));
        bool holds = inst->mode == FINITE         ? class != FP_NAN && class != FP_INFINITE
                     : inst->mode == INFINITE     ? class == FP_INFINITE
                     : inst->mode == NUMBER       ? class != FP_NAN
                     : inst->mode == NOT_A_NUMBER ? class == FP_NAN
                     : inst->mode == NORMAL       ? class == FP_NORMAL || class == FP_ZERO
                                                  : class == FP_SUBNORMAL;
        lanes |= (uint32_t)holds << lane;
    });
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* ---- conversions ---- */

/* The integer of type `type` in the low bits of `bits`, sign-extended or zero-extended to 64 bits.
 */
static inline uint64_t load_integer(uint64_t bits, enum fth_ptx_type type)
{
    switch (type) {
    case T_S8: return (uint64_t)(int8_t)bits;
    case T_S16: return (uint64_t)(int16_t)bits;
    case T_S32: return (uint64_t)(int32_t)bits;
    case T_U8:
    case T_B8: return (uint8_t)bits;
    case T_U16:
    case T_B16: return (uint16_t)bits;
    case T_U32:
    case T_B32: return (uint32_t)bits;
    default: return bits;
    }
}

/* Clamps a 64-bit integer to the range of type `to`. `is_signed`: the value is a signed number. */
static uint64_t clamp_integer(uint64_t value, bool is_signed, enum fth_ptx_type to)
{
    unsigned bits = 8 * fth_ptx_type_bytes(to);
    bool negative = is_signed && (int64_t)value < 0;
    if (fth_ptx_type_is_signed(to)) {
        int64_t max = (int64_t)(UINT64_MAX >> (65 - bits)), min = -max - 1;
        if (!negative && value > (uint64_t)max)
            return (uint64_t)max;
        return negative && (int64_t)value < min ? (uint64_t)min : value;
    }
    uint64_t max = UINT64_MAX >> (64 - bits);
    return negative ? 0 : value > max ? max : value;
}

static void run_integer_to_integer(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                   uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type to = (enum fth_ptx_type)inst->type, from = (enum fth_ptx_type)inst->type2;
    FOR_LANES(mask, {
        uint64_t value = load_integer(ra[lane], from);
        if (inst->flags & F_SAT)
            value = clamp_integer(value, fth_ptx_type_is_signed(from), to);
        rd[lane] = load_integer(value, to);
    });
}

/* Separate handlers for the most frequent conversions. */
UNARY(cvt_u64_u32, uint32_t, a)
UNARY(cvt_s64_s32, int32_t, a)
UNARY(cvt_u32_u64, uint64_t, (uint32_t)a)

static inline double round_integral(double value, enum fth_ptx_rounding rounding)
{
    switch (rounding) {
    case R_RNI: return rint(value);
    case R_RMI: return floor(value);
    case R_RPI: return ceil(value);
    default: return trunc(value);
    }
}

/* Converts a double with an integral value to an integer, clamped to the range of type `to`. As on
 * an H200, a NaN becomes 0; but a NaN that comes from f64 or is converted to 64 bits becomes the
 * integer of type `to` in which only the highest bit is set. */
static uint64_t to_integer(double value, enum fth_ptx_type to, enum fth_ptx_type from)
{
    unsigned bits = 8 * fth_ptx_type_bytes(to);
    bool is_signed = fth_ptx_type_is_signed(to);
    if (isnan(value)) {
        if (bits < 64 && from != T_F64)
            return 0;
        return is_signed ? UINT64_MAX << (bits - 1) : (uint64_t)1 << (bits - 1);
    }
    double limit = ldexp(1, (int)bits - (is_signed ? 1 : 0));
    if (value >= limit)
        return UINT64_MAX >> (64 - bits) >> is_signed;
    if (is_signed)
        return (uint64_t)(value < -limit ? (int64_t)(UINT64_MAX << (bits - 1)) : (int64_t)value);
    return value <= 0 ? 0 : (uint64_t)value;
}

static void run_float_to_integer(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                 uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type to = (enum fth_ptx_type)inst->type, from = (enum fth_ptx_type)inst->type2;
    FOR_LANES(mask, {
        double value = load_float(ra[lane], from, inst->flags);
        rd[lane] =
            to_integer(round_integral(value, (enum fth_ptx_rounding)inst->rounding), to, from);
    });
}

/* A 64-bit integer as a double. If 53 bits do not hold it, it is rounded to odd, so that rounding a
 * second time, to fewer bits, gives the correctly rounded result. */
static double integer_to_double_odd(uint64_t value, bool is_signed)
{
    bool negative = is_signed && (int64_t)value < 0;
    uint64_t magnitude = negative ? -value : value;
    int shift = 0;
    while (magnitude >> 53) {
        magnitude = magnitude >> 1 | (magnitude & 1);
        shift++;
    }
    double result = ldexp((double)magnitude, shift);
    return negative ? -result : result;
}

static void convert_integer_to_float(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                     uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type to = (enum fth_ptx_type)inst->type, from = (enum fth_ptx_type)inst->type2;
    bool is_signed = fth_ptx_type_is_signed(from);
    FOR_LANES(mask, {
        uint64_t value = load_integer(ra[lane], from);
        if (inst->flags & F_SAT) /* the result is 0 or 1 */
            value = clamp_integer(value, is_signed, T_U64) > 0;
        bool as_signed = is_signed && !(inst->flags & F_SAT);
        if (to == T_F32)
            rd[lane] = value ? float_bits(as_signed ? (float)(int64_t)value : (float)value) : 0;
        else
            /* Compilers may convert 0 by a subtraction, which is -0 if it is rounded down. */
            rd[lane] = value ? double_bits(as_signed ? (double)(int64_t)value : (double)value) : 0;
    });
}

static void run_integer_to_half(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type from = (enum fth_ptx_type)inst->type2;
    enum fth_ptx_rounding rounding = (enum fth_ptx_rounding)inst->rounding;
    FOR_LANES(mask, {
        double value =
            integer_to_double_odd(load_integer(ra[lane], from), fth_ptx_type_is_signed(from));
        if (inst->flags & F_SAT)
            value = value > 0;
        rd[lane] = inst->type == T_F16 ? fth_ptx_half_from_double(value, rounding)
                                       : fth_ptx_bfloat_from_double(value, rounding);
    });
}

/* The bits of a value as a float of type `to`, after .sat and .relu. f16 and bf16 are rounded as
 * `rounding` says, f32 in the current rounding mode of the host. */
static inline uint64_t store_float(double value, enum fth_ptx_type to,
                                   enum fth_ptx_rounding rounding, uint32_t flags)
{
    if (flags & F_SAT)
        value = value > 0 ? fmin(value, 1) : 0;
    if (flags & F_RELU && !(value > 0))
        value = isnan(value) ? value : 0;
    switch (to) {
    case T_F16: return fth_ptx_half_from_double(value, rounding);
    case T_BF16: return fth_ptx_bfloat_from_double(value, rounding);
    case T_F32: {
        if (isnan(value))
            return NAN_F32;
        /* .ftz flushes a value that is subnormal after it is rounded to 24 bits with an unlimited
         * exponent range. The factor 2^64 keeps the rounded value out of the subnormal range of
         * float; 2^-62 is the smallest normal f32, 2^-126, times this factor. */
        bool flushed = flags & F_FTZ && fabsf((float)(value * 0x1p64)) < 0x1p-62f;
        return float_bits(flushed ? copysignf(0, signbit(value) ? -1.0f : 1.0f) : (float)value);
    }
    default: return isnan(value) ? NAN_F64 : double_bits(value);
    }
}

/* The number of bits of a float type, and of its fraction. */
struct layout {
    unsigned bits, fraction;
};

static struct layout layout_of(enum fth_ptx_type type)
{
    return type == T_F16    ? (struct layout){16, 10}
           : type == T_BF16 ? (struct layout){16, 7}
           : type == T_F32  ? (struct layout){32, 23}
                            : (struct layout){64, 52};
}

/* Converts a NaN between float types, as an H200 does. A conversion from f64 or to f64 makes the
 * NaN quiet and keeps as much of its payload as type `to` holds; with .ftz, an f32 source is first
 * replaced by NAN_F32, so its payload is lost. A conversion from bf16 to f32 only shifts the bits.
 * All other conversions give the canonical NaN of type `to`. */
static uint64_t convert_nan(uint64_t bits, enum fth_ptx_type to, enum fth_ptx_type from,
                            uint32_t flags)
{
    bool kept = from == T_F64 || to == T_F64 || (from == T_BF16 && to == T_F32);
    if (from == T_F32 && flags & F_FTZ)
        bits = NAN_F32;
    if (!kept) /* the case of f64 is never used: a conversion to f64 keeps the NaN */
        return to == T_F32 ? NAN_F32 : to == T_F64 ? NAN_F64 : NAN_16;
    const struct layout in = layout_of(from), out = layout_of(to);
    uint64_t sign = bits >> (in.bits - 1) & 1;
    uint64_t fraction = bits << (64 - in.fraction) >> (64 - in.fraction);
    fraction <<= 52 - in.fraction;
    if (from != T_BF16 || to == T_F64)
        fraction |= (uint64_t)1 << 51; /* quiet */
    uint64_t exponent = (UINT64_MAX << out.fraction) & (UINT64_MAX >> (65 - out.bits));
    return sign << (out.bits - 1) | exponent | fraction >> (52 - out.fraction);
}

static void convert_float_to_float(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                   uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type to = (enum fth_ptx_type)inst->type, from = (enum fth_ptx_type)inst->type2;
    enum fth_ptx_rounding rounding = (enum fth_ptx_rounding)inst->rounding;
    /* .ftz flushes an f32 source, but not if it is converted to f16 (as on an H200). store_float
     * flushes an f32 result. */
    uint32_t load_flags = from == T_F32 && to != T_F16 ? inst->flags : 0;
    FOR_LANES(mask, {
        double value = load_float(ra[lane], from, load_flags);
        if (isnan(value) && !(inst->flags & F_SAT)) {
            rd[lane] = convert_nan(ra[lane], to, from, inst->flags);
            continue;
        }
        if (rounding >= R_RNI) /* .rni, .rzi, .rmi or .rpi */
            value = round_integral(value, rounding);
        /* Without a rounding modifier, the conversion is exact, and R_RN has no effect. */
        rd[lane] = store_float(value, to, rounding == R_NONE ? R_RN : rounding, inst->flags);
    });
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the high half of d. */
static void run_floats_to_pair(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                               uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    enum fth_ptx_type half = inst->type == T_F16X2 ? T_F16 : T_BF16;
    enum fth_ptx_rounding rounding = (enum fth_ptx_rounding)inst->rounding;
    FOR_LANES(mask, rd[lane] =
                        store_float((double)as_float(ra[lane]), half, rounding, inst->flags) << 16 |
                        store_float((double)as_float(rb[lane]), half, rounding, inst->flags););
}

/* ---- selection of handlers ---- */

/* Returns true if the rounding modifier of a conversion to a float type is valid. A conversion that
 * can be inexact needs one; an exact conversion has none, except to round to an integral value or
 * with bf16 (as NVIDIA's assembler requires). */
static bool rounding_fits(enum fth_ptx_type to, enum fth_ptx_type from,
                          enum fth_ptx_rounding rounding)
{
    const unsigned to_bytes = fth_ptx_type_bytes(to), from_bytes = fth_ptx_type_bytes(from);
    const bool integral = rounding >= R_RNI; /* .rni, .rzi, .rmi or .rpi */
    if (!fth_ptx_type_is_float(from) || to_bytes < from_bytes)
        return rounding != R_NONE && !integral;
    if (integral)
        return to_bytes == from_bytes;
    return rounding == R_NONE || to == T_BF16 || from == T_BF16;
}

/* fth_ptx_select_convert for cvt. inst->run may be set even if the result is false. */
static bool select_cvt(struct fth_ptx_inst *inst)
{
    if (inst->rounding == R_RNA)
        return false; /* only to tf32: see narrow.c */
    enum fth_ptx_type to = (enum fth_ptx_type)inst->type, from = (enum fth_ptx_type)inst->type2;
    uint32_t flags = inst->flags;
    /* The types that follow T_F64 in enum fth_ptx_type (pairs of integers, tf32, predicates) are
     * rejected.
     */
    if (flags & ~(uint32_t)(F_SAT | F_FTZ | F_RELU) || to > T_F64 || from > T_F64)
        return false;
    if (to == T_F16X2 || to == T_BF16X2) {
        inst->run = run_floats_to_pair;
        return from == T_F32 && (inst->rounding == R_RN || inst->rounding == R_RZ) &&
               has_operands(inst, 2);
    }
    if (from == T_NONE || from == T_F16X2 || from == T_BF16X2 || !has_operands(inst, 1))
        return false;
    bool directed = inst->rounding == R_RZ || inst->rounding == R_RM || inst->rounding == R_RP;
    bool integral = inst->rounding >= R_RNI; /* .rni, .rzi, .rmi or .rpi */
    if (!fth_ptx_type_is_float(to) && !fth_ptx_type_is_float(from)) {
        bool plain = !(flags & F_SAT);
        inst->run = plain && to == T_U64 && from == T_U32   ? cvt_u64_u32
                    : plain && to == T_S64 && from == T_S32 ? cvt_s64_s32
                    : plain && to == T_U32 && from == T_U64 ? cvt_u32_u64
                                                            : run_integer_to_integer;
        return inst->rounding == R_NONE;
    }
    if (!fth_ptx_type_is_float(to)) {
        inst->run = run_float_to_integer;
        return integral;
    }
    inst->run = fth_ptx_type_is_float(from)   ? convert_float_to_float
                : to == T_F16 || to == T_BF16 ? run_integer_to_half
                                              : convert_integer_to_float;
    if (directed && inst->run != run_integer_to_half) {
        inst->inner = inst->run;
        inst->run = fth_ptx_run_rounded;
    }
    return rounding_fits(to, from, (enum fth_ptx_rounding)inst->rounding);
}

bool fth_ptx_select_convert(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "cvt") == 0)
        return select_cvt(inst);
    bool pair = inst->type == T_F16X2 || inst->type == T_BF16X2;
    /* For set, the source type decides: set.eq.u32.f16x2, too, writes a pair of 16-bit results. */
    bool source_pair = inst->type2 == T_F16X2 || inst->type2 == T_BF16X2;
    /* There is a source predicate (UINT32_MAX: none) exactly if there is a boolean operator. */
    bool sources_fit = inst->s[0] != NO_REGISTER && inst->s[1] != NO_REGISTER &&
                       inst->s[2] == NO_REGISTER &&
                       (inst->boolean != B_NONE) == (inst->predicate != UINT32_MAX);
    /* B_POPC is for bar.red only (engine.h). */
    bool modifiers_fit = !(inst->flags & ~(uint32_t)F_FTZ) && inst->boolean != B_POPC;
    if (strcmp(base, "setp") == 0) {
        inst->run = pair ? run_setp_pair : run_setp;
        return sources_fit && modifiers_fit && inst->result_is_predicate &&
               inst->comparison != C_NONE;
    }
    if (strcmp(base, "set") == 0) {
        inst->run = source_pair ? run_set_pair : run_set;
        return sources_fit && modifiers_fit && inst->d[0] >= 0 && !inst->result_is_predicate &&
               inst->type2 != T_NONE && inst->comparison != C_NONE;
    }
    if (strcmp(base, "testp") == 0) {
        inst->run = run_testp;
        return inst->result_is_predicate && has_sources(inst, 1) && inst->mode != 0 &&
               (inst->type == T_F32 || inst->type == T_F64);
    }
    return false;
}
