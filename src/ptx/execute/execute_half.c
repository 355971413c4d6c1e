/* Arithmetic on f16, bf16 and pairs of them. It is done in double, and the result is rounded. */
#include "ptx/execute/execute.h"
#include "ptx/mufu.h"

#include <math.h>

/* The conversions and constants of a 16-bit format. */
struct half_kind {
    double (*to_double)(uint16_t bits);
    uint16_t (*from_double)(double value, enum fth_ptx_rounding rounding);
    uint16_t exponent_mask;
    double min_normal; /* smallest positive normal number */
};

static const struct half_kind halves = {fth_ptx_half_to_double, fth_ptx_half_from_double, 0x7c00,
                                        0x1p-14};
static const struct half_kind bfloats = {fth_ptx_bfloat_to_double, fth_ptx_bfloat_from_double,
                                         0x7f80, 0x1p-126};

/* x * y + z. If a double does not hold the result exactly, it is rounded to odd, so that the second
 * rounding, to far fewer bits, can distinguish a tie from a value next to it (Boldo and Melquiond,
 * 2008). */
static double fused_odd(double x, double y, double z)
{
    double product = x * y; /* exact: at most 22 significant bits */
    double sum = product + z;
    if (!isfinite(sum))
        return sum;
    double of_z = sum - product;
    double error = (product - (sum - of_z)) + (z - of_z); /* Knuth's two-sum */
    if (error != 0 && (double_bits(sum) & 1) == 0)
        sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return sum;
}

/* With .ftz, a subnormal number becomes a zero with the same sign. */
static uint16_t flush(uint16_t bits, const struct half_kind *kind, uint32_t flags)
{
    return flags & F_FTZ && (bits & kind->exponent_mask) == 0 ? bits & 0x8000 : bits;
}

/* The NaN that stands for an element outside of a tensor, with any sign: with .oob, the result of
 * fma is 0 if a factor is this NaN (PTX ISA, "fma"). The value is that of an H200, for f16 and
 * bf16. */
enum { OOB_NAN = 0x7ff7 };

enum half_operation { ADD, SUB, MUL, FMA, MIN, MAX, ABS, NEG, EX2, TANH };
/* The field `mode` has the operation, plus the signs of a fused sum times this factor. */
enum { FUSED_SIGN_FACTOR = 16 };

/* A number is preferred to a NaN, unless .NaN is given; two NaNs give a NaN. -0 is less than +0. */
static uint16_t min_or_max(uint16_t a, uint16_t b, const struct half_kind *kind, uint32_t flags,
                           bool maximum)
{
    uint16_t sign = 0;
    if (flags & F_XORSIGN) {
        sign = (a ^ b) & 0x8000;
        a &= 0x7fff;
        b &= 0x7fff;
    }
    double x = kind->to_double(a), y = kind->to_double(b);
    if (isnan(x) || isnan(y)) {
        if (flags & F_NAN || (isnan(x) && isnan(y)))
            return 0x7fff;
        return (uint16_t)((isnan(x) ? b : a) | sign);
    }
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    return (uint16_t)((less != maximum ? a : b) | sign);
}

/* Computes a special function in f32. */
static double special(uint32_t (*function)(uint32_t x), double x)
{
    const float argument = (float)x;
    uint32_t bits;
    memcpy(&bits, &argument, sizeof bits);
    bits = function(bits);
    float result;
    memcpy(&result, &bits, sizeof result);
    return (double)result;
}

static uint16_t compute(enum half_operation operation, const struct half_kind *kind, uint32_t flags,
                        uint16_t a, uint16_t b, uint16_t c)
{
    if (flags & F_OOB && ((a & 0x7fff) == OOB_NAN || (b & 0x7fff) == OOB_NAN))
        return 0;
    a = flush(a, kind, flags);
    b = flush(b, kind, flags);
    c = flush(c, kind, flags);
    double x = kind->to_double(a), y = kind->to_double(b), z = kind->to_double(c), value;
    switch (operation) {
    case ADD: value = x + y; break;
    case SUB: value = x - y; break;
    case MUL: value = x * y; break;
    case FMA: value = fused_odd(x, y, z); break;
    case EX2: value = special(fth_ptx_mufu_ex2, x); break;
    case TANH: value = special(fth_ptx_mufu_tanh, x); break;
    case MIN: return min_or_max(a, b, kind, flags, false);
    case MAX: return min_or_max(a, b, kind, flags, true);
    case ABS: return isnan(x) ? 0x7fff : a & 0x7fff;
    default: return isnan(x) ? 0x7fff : a ^ 0x8000;
    }
    if (flags & F_SAT)
        value = value > 0 ? fmin(value, 1) : 0;
    if (flags & F_RELU && value < 0)
        value = 0;
    /* .ftz flushes results that are subnormal before they are rounded. */
    if (flags & F_FTZ && fabs(value) < kind->min_normal)
        value = copysign(0, value);
    uint16_t result = kind->from_double(value, R_RN);
    /* The special functions are truncated to the type; infinite results stay infinite. */
    if ((operation == EX2 || operation == TANH) && result != kind->exponent_mask)
        result = kind->from_double(value, R_RZ);
    if (flags & F_RELU && result == 0x8000)
        result = 0;
    return flush(result, kind, flags);
}

uint64_t fth_ptx_half_min_max(enum fth_ptx_type type, uint64_t a, uint64_t b, bool maximum)
{
    const bool pair = type == T_F16X2 || type == T_BF16X2;
    const struct half_kind *kind = type == T_F16 || type == T_F16X2 ? &halves : &bfloats;
    uint64_t result = min_or_max((uint16_t)a, (uint16_t)b, kind, 0, maximum);
    if (pair)
        result |= (uint64_t)min_or_max((uint16_t)(a >> 16), (uint16_t)(b >> 16), kind, 0, maximum)
                  << 16;
    return result;
}

static void run_half(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    const uint64_t *rb = inst->s[1] != NO_REGISTER ? row(warp, inst->s[1]) : ra;
    const uint64_t *rc = inst->s[2] != NO_REGISTER ? row(warp, inst->s[2]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    bool pair = inst->type == T_F16X2 || inst->type == T_BF16X2;
    const struct half_kind *kind =
        inst->type == T_F16 || inst->type == T_F16X2 ? &halves : &bfloats;
    enum half_operation operation = (enum half_operation)(inst->mode % FUSED_SIGN_FACTOR);
    /* The signs of a product and an addend that fuse/ has fused. */
    const unsigned signs = inst->mode / FUSED_SIGN_FACTOR;
    const uint64_t a_sign = signs & FUSED_NEGATES_PRODUCT ? 0x80008000u : 0;
    const uint64_t c_sign = signs & FUSED_NEGATES_ADDEND ? 0x80008000u : 0;
    FOR_LANES(mask, {
        uint64_t a = ra[lane] ^ a_sign, b = rb[lane], c = rc[lane] ^ c_sign;
        uint64_t result =
            compute(operation, kind, inst->flags, (uint16_t)a, (uint16_t)b, (uint16_t)c);
        if (pair)
            result |= (uint64_t)compute(operation, kind, inst->flags, (uint16_t)(a >> 16),
                                        (uint16_t)(b >> 16), (uint16_t)(c >> 16))
                      << 16;
        rd[lane] = result;
    });
}

bool fth_ptx_select_half(struct fth_ptx_inst *inst, const char *base)
{
    static const struct {
        const char *base;
        uint8_t operation, sources;
        uint32_t allowed;
    } handlers[] = {{"add", ADD, 2, F_FTZ | F_SAT},
                    {"sub", SUB, 2, F_FTZ | F_SAT},
                    {"mul", MUL, 2, F_FTZ | F_SAT},
                    {"fma", FMA, 3, F_FTZ | F_SAT | F_RELU | F_OOB},
                    {"min", MIN, 2, F_FTZ | F_NAN | F_XORSIGN | F_ABS},
                    {"max", MAX, 2, F_FTZ | F_NAN | F_XORSIGN | F_ABS},
                    {"abs", ABS, 1, F_FTZ},
                    {"neg", NEG, 1, F_FTZ},
                    {"ex2", EX2, 1, F_FTZ | F_APPROX},
                    {"tanh", TANH, 1, F_APPROX}};
    if (inst->type < T_F16 || inst->type > T_BF16X2)
        return false;
    for (size_t i = 0; i < FTH_COUNT(handlers); i++)
        if (strcmp(handlers[i].base, base) == 0 && !(inst->flags & ~handlers[i].allowed) &&
            inst->rounding <= R_RN && has_operands(inst, handlers[i].sources)) {
            inst->mode = handlers[i].operation;
            inst->run = run_half;
            return true;
        }
    return false;
}

void fth_ptx_select_fused_half(struct fth_ptx_inst *inst, uint8_t signs)
{
    inst->mode = (uint8_t)(FMA + FUSED_SIGN_FACTOR * signs);
    inst->run = run_half;
}
