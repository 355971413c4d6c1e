/* Arithmetic on f32 and f64, rounded as PTX specifies (IEEE 754), and the fast approximations. An
 * f32 result that is NaN is always the one NaN that the hardware returns. .ftz replaces subnormal
 * operands and results with zero. .sat clamps the result to the range from 0 to 1.
 *
 * The project is compiled with -ffp-contract=off, so that the compiler does not fuse a
 * multiplication with an addition that PTX keeps separate. The operands come from memory, so the
 * compiler cannot compute results in advance, with another rounding mode, either. */
#include "ptx/execute/execute.h"
#include "ptx/mufu.h"

#include <fenv.h>
#include <math.h>

#define NAN_32 0x7fffffffu

/* ---- f32 ---- */

/* An operand as a float, flushed to zero with .ftz. */
static inline float operand_32(uint64_t bits, uint32_t flags)
{
    uint32_t word = (uint32_t)bits;
    if (flags & F_FTZ && (word & 0x7f800000) == 0)
        word &= 0x80000000u;
    return as_float(word);
}

/* The bits of a result, after .sat and .ftz. */
static inline uint32_t result_32(float value, uint32_t flags)
{
    if (flags & F_SAT)
        value = value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
    if (value != value)
        return NAN_32;
    uint32_t word = float_bits(value);
    if (flags & F_FTZ && (word & 0x7f800000) == 0)
        word &= 0x80000000u;
    return word;
}

/* With .ftz, an H200 flushes a result that would be subnormal if it were rounded with an unlimited
 * exponent range. Only a result equal to the smallest normal number, 2^-126, is ambiguous: it may
 * have been rounded up to that. The operation is then repeated with an operand scaled by 2^64, and
 * flush compares this `scaled` result with 2^-62. */
static inline float scale_up(float value)
{
    return value * 0x1p64f;
}

static inline float flush(float value, uint32_t flags, float scaled)
{
    return flags & F_FTZ && fabsf(value) == 0x1p-126f && fabsf(scaled) < 0x1p-62f
               ? copysignf(0, value)
               : value;
}

/* Near the smallest normal number, scaling the smaller factor cannot overflow. */
static inline float fused(float x, float y, float z, uint32_t flags)
{
    float value = fmaf(x, y, z);
    if (!(flags & F_FTZ) || fabsf(value) != 0x1p-126f)
        return value;
    bool first = fabsf(x) < fabsf(y);
    return flush(value, flags, fmaf(first ? scale_up(x) : x, first ? y : scale_up(y), scale_up(z)));
}

static inline float multiply(float x, float y, uint32_t flags)
{
    bool first = fabsf(x) < fabsf(y);
    float value = x * y;
    if (!(flags & F_FTZ) || fabsf(value) != 0x1p-126f)
        return value;
    return flush(value, flags, first ? scale_up(x) * y : x * scale_up(y));
}

static inline float divide(float x, float y, uint32_t flags)
{
    float value = x / y;
    if (!(flags & F_FTZ) || fabsf(value) != 0x1p-126f)
        return value;
    return flush(value, flags, scale_up(x) / y);
}

/* Macros that define handlers for one, two or three operands x, y and z. The flags are the same for
 * all lanes. Instructions without flags have a loop of their own that does not test them. */
#define F32_ONE(NAME, EXPRESSION)                                                                  \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        const uint32_t flags = inst->flags;                                                        \
        FOR_LANES(mask, float x = operand_32(ra[lane], flags);                                     \
                  rd[lane] = result_32(EXPRESSION, flags););                                       \
    }
#define F32_TWO(NAME, EXPRESSION)                                                                  \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        const uint32_t flags = inst->flags;                                                        \
        if (flags == 0)                                                                            \
            FOR_LANES(mask, float x = as_float(ra[lane]); float y = as_float(rb[lane]);            \
                      float z = (EXPRESSION); rd[lane] = z == z ? float_bits(z) : NAN_32;);        \
        else                                                                                       \
            FOR_LANES(mask, float x = operand_32(ra[lane], flags);                                 \
                      float y = operand_32(rb[lane], flags);                                       \
                      rd[lane] = result_32(EXPRESSION, flags););                                   \
    }
#define F32_THREE(NAME, TARGET, EXPRESSION)                                                        \
    TARGET static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,            \
                            uint32_t mask)                                                         \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        const uint64_t *rc = row(warp, inst->s[2]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        const uint32_t flags = inst->flags;                                                        \
        if (flags == 0)                                                                            \
            FOR_LANES(mask, float x = as_float(ra[lane]); float y = as_float(rb[lane]);            \
                      float z = as_float(rc[lane]); float r = (EXPRESSION);                        \
                      rd[lane] = r == r ? float_bits(r) : NAN_32;);                                \
        else                                                                                       \
            FOR_LANES(mask, float x = operand_32(ra[lane], flags);                                 \
                      float y = operand_32(rb[lane], flags);                                       \
                      float z = operand_32(rc[lane], flags);                                       \
                      rd[lane] = result_32(EXPRESSION, flags););                                   \
    }

F32_TWO(add_f32, x + y)
F32_TWO(sub_f32, x - y)
F32_TWO(mul_f32, multiply(x, y, flags))
F32_TWO(div_f32, divide(x, y, flags))
/* Older x86-64 processors (before 2013) have no FMA instruction. Code compiled for all of them
 * calls the C library once per lane, so FMA_VERSIONS defines a second version of a function, which
 * uses the instruction where the processor has it. DEFINE(name, attributes) defines one version. */
#if defined(__x86_64__) && defined(__GNUC__)
#define FMA_VERSIONS(NAME, DEFINE)                                                                 \
    DEFINE(NAME##_library, )                                                                       \
    DEFINE(NAME##_hardware, __attribute__((target("fma"))))                                        \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        if (__builtin_cpu_supports("fma"))                                                         \
            NAME##_hardware(warp, inst, mask);                                                     \
        else                                                                                       \
            NAME##_library(warp, inst, mask);                                                      \
    }
#else
#define FMA_VERSIONS(NAME, DEFINE) DEFINE(NAME, )
#endif
#define FMA_F32(NAME, TARGET) F32_THREE(NAME, TARGET, fused(x, y, z, flags))
FMA_VERSIONS(fma_f32, FMA_F32)
F32_ONE(sqrt_f32, sqrtf(x))
F32_ONE(rcp_f32, divide(1.0f, x, flags))

/* ---- f64 ---- */

static inline bool is_nan_64(uint64_t bits)
{
    return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

static inline uint64_t quiet(uint64_t bits)
{
    return bits | 0x0008000000000000u;
}

/* The bits of a result. On the hardware, a NaN operand keeps its payload: the result is this
 * operand, made quiet. If several operands are NaN, `first` is preferred to `second`, and `second`
 * to `third`. An invalid operation on numbers gives 0xfff8000000000000. */
static inline uint64_t result_64(double value, uint64_t first, uint64_t second, uint64_t third)
{
    if (value == value)
        return double_bits(value);
    return is_nan_64(first)    ? quiet(first)
           : is_nan_64(second) ? quiet(second)
           : is_nan_64(third)  ? quiet(third)
                               : 0xfff8000000000000u;
}

BINARY(add_f64, uint64_t, result_64(as_double(a) + as_double(b), b, a, 0))
BINARY(sub_f64, uint64_t, result_64(as_double(a) - as_double(b), b, a, 0))
BINARY(mul_f64, uint64_t, result_64(as_double(a) * as_double(b), b, a, 0))
BINARY(div_f64, uint64_t, result_64(as_double(a) / as_double(b), a, b, 0))
UNARY(sqrt_f64, uint64_t, result_64(sqrt(as_double(a)), a, 0, 0))
UNARY(rcp_f64, uint64_t, result_64(1 / as_double(a), a, 0, 0))
TERNARY(fma_f64, uint64_t, result_64(fma(as_double(a), as_double(b), as_double(c)), b, c, a))

/* ---- directed rounding ---- */

/* The inner function is called through a pointer, so the compiler cannot move floating-point
 * operations across the changes of the rounding mode. */
void fth_ptx_run_rounded(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const int before = fegetround();
    fesetround(inst->rounding == R_RZ   ? FE_TOWARDZERO
               : inst->rounding == R_RM ? FE_DOWNWARD
                                        : FE_UPWARD);
    inst->inner(warp, inst, mask);
    fesetround(before);
}

/* ---- signs, minima and maxima ---- */

/* Minimum and maximum prefer a number to a NaN. Two NaNs give a NaN; with .NaN, one is enough. -0
 * is less than +0. */
static inline bool less_32(float x, float y)
{
    return x < y || (x == y && signbit(x) && !signbit(y));
}

static inline uint32_t min_or_max_32(uint64_t a, uint64_t b, uint32_t flags, bool maximum)
{
    float x = operand_32(a, flags), y = operand_32(b, flags);
    uint32_t sign = 0;
    if (flags & F_XORSIGN) {
        sign = (float_bits(x) ^ float_bits(y)) & 0x80000000u;
        x = fabsf(x);
        y = fabsf(y);
    }
    if (isnan(x) || isnan(y)) {
        if (flags & F_NAN || (isnan(x) && isnan(y)))
            return NAN_32;
        return float_bits(isnan(x) ? y : x) | sign;
    }
    bool first = maximum ? less_32(y, x) : less_32(x, y);
    return float_bits(first ? x : y) | sign;
}

static inline uint64_t min_or_max_64(uint64_t a, uint64_t b, bool maximum)
{
    double x = as_double(a), y = as_double(b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? quiet(b) : isnan(x) ? b : a;
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    bool greater = y < x || (x == y && signbit(y) && !signbit(x));
    return (maximum ? greater : less) ? a : b;
}

BINARY(min_f32, uint64_t, min_or_max_32(a, b, inst->flags, false))
BINARY(max_f32, uint64_t, min_or_max_32(a, b, inst->flags, true))
BINARY(min_f64, uint64_t, min_or_max_64(a, b, false))
BINARY(max_f64, uint64_t, min_or_max_64(a, b, true))

static inline uint32_t sign_32(uint64_t bits, uint32_t flags, bool negate)
{
    uint32_t word = float_bits(operand_32(bits, flags));
    if ((word & 0x7fffffff) > 0x7f800000)
        return NAN_32;
    return negate ? word ^ 0x80000000u : word & 0x7fffffffu;
}
UNARY(abs_f32, uint64_t, sign_32(a, inst->flags, false))
UNARY(neg_f32, uint64_t, sign_32(a, inst->flags, true))
/* The hardware keeps the sign of a NaN. */
UNARY(abs_f64, uint64_t, is_nan_64(a) ? quiet(a) : a & ~((uint64_t)1 << 63))
UNARY(neg_f64, uint64_t, is_nan_64(a) ? quiet(a) : a ^ (uint64_t)1 << 63)
BINARY(copysign_f32, uint32_t, (b & 0x7fffffffu) | (a & 0x80000000u))
BINARY(copysign_f64, uint64_t, (b & ~((uint64_t)1 << 63)) | (a & (uint64_t)1 << 63))

/* ---- approximations, as an H200 computes them ---- */

#define APPROXIMATE(NAME, FUNCTION)                                                                \
    UNARY(NAME, uint32_t, fth_ptx_approx_##FUNCTION(a, inst->flags &F_FTZ))
APPROXIMATE(ex2_f32, ex2)
APPROXIMATE(lg2_f32, lg2)
APPROXIMATE(sin_f32, sin)
APPROXIMATE(cos_f32, cos)
APPROXIMATE(rsqrt_f32, rsqrt)
APPROXIMATE(rcp_approx_f32, rcp)
APPROXIMATE(sqrt_approx_f32, sqrt)
BINARY(div_approx_f32, uint32_t, fth_ptx_approx_div(a, b, inst->flags &F_FTZ))
BINARY(div_full_f32, uint32_t, fth_ptx_full_div(a, b, inst->flags &F_FTZ))

UNARY(tanh_f32, uint32_t, fth_ptx_mufu_tanh(a))

/* The hardware reads the upper word of the operand. The lower word of the result is zero. */
UNARY(rcp_approx_f64, uint64_t, (uint64_t)fth_ptx_mufu_rcp64h((uint32_t)(a >> 32)) << 32)
UNARY(rsqrt_approx_ftz_f64, uint64_t, (uint64_t)fth_ptx_mufu_rsq64h((uint32_t)(a >> 32)) << 32)

/* rsqrt.approx.f64 improves the approximation of the hardware with one step of the third order, as
 * NVIDIA's assembler translates it for sm_90. */
static inline uint64_t rsqrt_64(uint64_t bits)
{
    const double x = as_double(bits);
    if (!(x >= 0))
        return result_64((double)NAN, bits, 0, 0);
    const bool subnormal = x < 0x1p-1022;
    const double scaled = subnormal ? x * 0x1p54 : x;
    const uint32_t high = fth_ptx_mufu_rsq64h((uint32_t)(double_bits(scaled) >> 32));
    const double y = as_double((uint64_t)high << 32);
    if (x == 0 || isinf(x))
        return double_bits(y);
    const double error = fma(scaled, -(y * y), 1);
    const double root = fma(fma(error, 0.375, 0.5), error * y, y);
    return double_bits(subnormal ? root * 0x1p27 : root);
}
UNARY(rsqrt_f64, uint64_t, rsqrt_64(a))

/* ---- sums with a product that fuse/ has fused ---- */

/* The field `mode` of a fused sum: the product times this factor, plus the signs. */
enum { FUSED_PRODUCT_FACTOR = 4 };

/* A NaN keeps its sign: for f32 there is only one NaN, and for f64 see neg_f64. */
#define FUSED_F32(NAME, TARGET)                                                                    \
    TARGET static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,            \
                            uint32_t mask)                                                         \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        const uint64_t *rc = row(warp, inst->s[2]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        const uint32_t flags = inst->flags;                                                        \
        const uint32_t a_sign = inst->mode & FUSED_NEGATES_PRODUCT ? 0x80000000u : 0;              \
        const uint32_t c_sign = inst->mode & FUSED_NEGATES_ADDEND ? 0x80000000u : 0;               \
        if (flags == 0)                                                                            \
            FOR_LANES(mask, float r = fmaf(as_float(ra[lane] ^ a_sign), as_float(rb[lane]),        \
                                           as_float(rc[lane] ^ c_sign));                           \
                      rd[lane] = r == r ? float_bits(r) : NAN_32;);                                \
        else                                                                                       \
            FOR_LANES(mask, float x = operand_32(ra[lane] ^ a_sign, flags);                        \
                      float y = operand_32(rb[lane], flags);                                       \
                      float z = operand_32(rc[lane] ^ c_sign, flags);                              \
                      rd[lane] = result_32(fused(x, y, z, flags), flags););                        \
    }
FMA_VERSIONS(fused_f32, FUSED_F32)

static inline uint32_t fused_quotient(uint32_t a, uint32_t b, uint32_t c,
                                      const struct fth_ptx_inst *inst)
{
    const uint32_t flags = inst->flags;
    fth_ptx_div_factors(&a, &b, inst->mode / FUSED_PRODUCT_FACTOR == FUSED_FULL_DIVISION,
                        flags & F_FTZ);
    a ^= inst->mode & FUSED_NEGATES_PRODUCT ? 0x80000000u : 0;
    c ^= inst->mode & FUSED_NEGATES_ADDEND ? 0x80000000u : 0;
    return result_32(fused(operand_32(a, flags), operand_32(b, flags), operand_32(c, flags), flags),
                     flags);
}
TERNARY(fused_quotient_f32, uint32_t, fused_quotient(a, b, c, inst))

static inline double signed_64(uint64_t bits, bool negate)
{
    return as_double(negate ? bits ^ (uint64_t)1 << 63 : bits);
}
TERNARY(fused_f64, uint64_t,
        result_64(fma(signed_64(a, inst->mode &FUSED_NEGATES_PRODUCT), as_double(b),
                      signed_64(c, inst->mode &FUSED_NEGATES_ADDEND)),
                  b, c, a))

void fth_ptx_select_fused(struct fth_ptx_inst *inst, enum fth_ptx_fused_product product,
                          uint8_t signs)
{
    inst->mode = (uint8_t)(product * FUSED_PRODUCT_FACTOR + signs);
    if (product != FUSED_MULTIPLICATION)
        inst->run = fused_quotient_f32;
    else if (inst->type == T_F32)
        inst->run = signs ? fused_f32 : fma_f32;
    else if (inst->type == T_F64)
        inst->run = signs ? fused_f64 : fma_f64;
    else
        fth_ptx_select_fused_half(inst, signs);
}

/* ---- selection of handlers ---- */

/* The handlers, with the flags that an instruction must and may have. `rounds`: the opcode accepts
 * a rounding modifier. */
static const struct {
    const char *base;
    uint8_t type;
    uint32_t required, allowed;
    uint8_t sources;
    bool rounds;
    fth_ptx_run_function *run;
} handlers[] = {
    {"add", T_F32, 0, F_FTZ | F_SAT, 2, true, add_f32},
    {"sub", T_F32, 0, F_FTZ | F_SAT, 2, true, sub_f32},
    {"mul", T_F32, 0, F_FTZ | F_SAT, 2, true, mul_f32},
    {"fma", T_F32, 0, F_FTZ | F_SAT, 3, true, fma_f32},
    {"mad", T_F32, 0, F_FTZ | F_SAT, 3, true, fma_f32},
    {"div", T_F32, 0, F_FTZ, 2, true, div_f32},
    {"div", T_F32, F_APPROX, F_FTZ, 2, false, div_approx_f32},
    {"div", T_F32, F_FULL, F_FTZ, 2, false, div_full_f32},
    {"rcp", T_F32, 0, F_FTZ, 1, true, rcp_f32},
    {"rcp", T_F32, F_APPROX, F_FTZ, 1, false, rcp_approx_f32},
    {"sqrt", T_F32, 0, F_FTZ, 1, true, sqrt_f32},
    {"sqrt", T_F32, F_APPROX, F_FTZ, 1, false, sqrt_approx_f32},
    {"rsqrt", T_F32, F_APPROX, F_FTZ, 1, false, rsqrt_f32},
    {"ex2", T_F32, F_APPROX, F_FTZ, 1, false, ex2_f32},
    {"lg2", T_F32, F_APPROX, F_FTZ, 1, false, lg2_f32},
    {"sin", T_F32, F_APPROX, F_FTZ, 1, false, sin_f32},
    {"cos", T_F32, F_APPROX, F_FTZ, 1, false, cos_f32},
    {"tanh", T_F32, F_APPROX, 0, 1, false, tanh_f32},
    {"min", T_F32, 0, F_FTZ | F_NAN | F_XORSIGN | F_ABS, 2, false, min_f32},
    {"max", T_F32, 0, F_FTZ | F_NAN | F_XORSIGN | F_ABS, 2, false, max_f32},
    {"abs", T_F32, 0, F_FTZ, 1, false, abs_f32},
    {"neg", T_F32, 0, F_FTZ, 1, false, neg_f32},
    {"copysign", T_F32, 0, 0, 2, false, copysign_f32},
    {"add", T_F64, 0, 0, 2, true, add_f64},
    {"sub", T_F64, 0, 0, 2, true, sub_f64},
    {"mul", T_F64, 0, 0, 2, true, mul_f64},
    {"fma", T_F64, 0, 0, 3, true, fma_f64},
    {"mad", T_F64, 0, 0, 3, true, fma_f64},
    {"div", T_F64, 0, 0, 2, true, div_f64},
    {"rcp", T_F64, 0, 0, 1, true, rcp_f64},
    {"sqrt", T_F64, 0, 0, 1, true, sqrt_f64},
    {"rcp", T_F64, F_APPROX | F_FTZ, 0, 1, false, rcp_approx_f64},
    {"rsqrt", T_F64, F_APPROX | F_FTZ, 0, 1, false, rsqrt_approx_ftz_f64},
    {"rsqrt", T_F64, F_APPROX, 0, 1, false, rsqrt_f64},
    {"min", T_F64, 0, 0, 2, false, min_f64},
    {"max", T_F64, 0, 0, 2, false, max_f64},
    {"abs", T_F64, 0, 0, 1, false, abs_f64},
    {"neg", T_F64, 0, 0, 1, false, neg_f64},
    {"copysign", T_F64, 0, 0, 2, false, copysign_f64},
};

bool fth_ptx_select_float(struct fth_ptx_inst *inst, const char *base)
{
    if (!fth_ptx_type_is_float((enum fth_ptx_type)inst->type))
        return false;
    for (size_t i = 0; i < FTH_COUNT(handlers); i++) {
        if (handlers[i].type != inst->type || strcmp(handlers[i].base, base) != 0 ||
            (inst->flags & handlers[i].required) != handlers[i].required ||
            inst->flags & ~(handlers[i].required | handlers[i].allowed) ||
            !has_operands(inst, handlers[i].sources))
            continue;
        if (!handlers[i].rounds && inst->rounding != R_NONE)
            continue;
        inst->flags &= ~(uint32_t)(F_APPROX | F_FULL);
        inst->run = handlers[i].run;
        if (inst->rounding == R_RZ || inst->rounding == R_RM || inst->rounding == R_RP) {
            inst->inner = inst->run;
            inst->run = fth_ptx_run_rounded;
        }
        return inst->rounding <= R_RP;
    }
    return fth_ptx_select_half(inst, base);
}
