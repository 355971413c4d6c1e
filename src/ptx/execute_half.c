/* f16 and bf16 arithmetic, and pairs of them: through double and rounded once. */
#include "ptx/execute.h"

#include <math.h>

/* What is the same for f16 and bf16. */
struct kind {
    double (*come)(uint16_t bits);
    uint16_t (*go)(double value, enum rounding rounding);
    uint16_t exponent; /* mask */
    double min;        /* normal number */
};

static const struct kind halves = {half_to_double, half_from_double, 0x7c00, 0x1p-14};
static const struct kind bfloats = {bfloat_to_double, bfloat_from_double, 0x7f80, 0x1p-126};

/* x * y + z, rounded to odd where a double does not hold it: so the last rounding, to far fewer
 * bits, sees which side of a tie it is on (Boldo and Melquiond, 2008). */
static double fused_odd(double x, double y, double z)
{
    double product = x * y; /* exact: 22 bits at most */
    double sum = product + z;
    if (!isfinite(sum))
        return sum;
    double of_z = sum - product;
    double error = (product - (sum - of_z)) + (z - of_z); /* Knuth's two-sum */
    if (error != 0 && (double_bits(sum) & 1) == 0)
        sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return sum;
}

static uint16_t flush(uint16_t bits, const struct kind *kind, uint32_t flags)
{
    return flags & F_FTZ && (bits & kind->exponent) == 0 ? bits & 0x8000 : bits;
}

enum operation { ADD, SUB, MUL, FMA, MIN, MAX, ABS, NEG, EX2, TANH };

static uint16_t extreme(uint16_t a, uint16_t b, const struct kind *kind, uint32_t flags,
                        bool maximum)
{
    uint16_t sign = 0;
    if (flags & F_XORSIGN) {
        sign = (a ^ b) & 0x8000;
        a &= 0x7fff;
        b &= 0x7fff;
    }
    double x = kind->come(a), y = kind->come(b);
    if (isnan(x) || isnan(y)) {
        if (flags & F_NAN || (isnan(x) && isnan(y)))
            return 0x7fff;
        return (uint16_t)((isnan(x) ? b : a) | sign);
    }
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    return (uint16_t)((less != maximum ? a : b) | sign);
}

static uint16_t compute(enum operation operation, const struct kind *kind, uint32_t flags,
                        uint16_t a, uint16_t b, uint16_t c)
{
    a = flush(a, kind, flags);
    b = flush(b, kind, flags);
    c = flush(c, kind, flags);
    double x = kind->come(a), y = kind->come(b), z = kind->come(c), value;
    switch (operation) {
    case ADD: value = x + y; break;
    case SUB: value = x - y; break;
    case MUL: value = x * y; break;
    case FMA: value = fused_odd(x, y, z); break;
    case EX2: value = exp2(x); break;
    case TANH: value = tanh(x); break;
    case MIN: return extreme(a, b, kind, flags, false);
    case MAX: return extreme(a, b, kind, flags, true);
    case ABS: return isnan(x) ? 0x7fff : a & 0x7fff;
    default: return isnan(x) ? 0x7fff : a ^ 0x8000;
    }
    if (flags & F_SAT)
        value = value > 0 ? fmin(value, 1) : 0;
    if (flags & F_RELU && value < 0)
        value = 0;
    /* Flushed where it is subnormal before it is rounded. */
    if (flags & F_FTZ && fabs(value) < kind->min)
        value = copysign(0, value);
    /* The hardware cuts subnormal results of ex2 off. */
    bool cut = operation == EX2 && value < kind->min;
    uint16_t result = kind->go(value, cut ? R_RZ : R_RN);
    if (flags & F_RELU && result == 0x8000)
        result = 0;
    return flush(result, kind, flags);
}

static void run_half(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    const uint64_t *rb = inst->s[1] != NO_REGISTER ? row(warp, inst->s[1]) : ra;
    const uint64_t *rc = inst->s[2] != NO_REGISTER ? row(warp, inst->s[2]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    bool pair = inst->type == T_F16X2 || inst->type == T_BF16X2;
    const struct kind *kind = inst->type == T_F16 || inst->type == T_F16X2 ? &halves : &bfloats;
    enum operation operation = (enum operation)inst->mode;
    FOR_LANES(mask, {
        uint64_t a = ra[lane], b = rb[lane], c = rc[lane];
        uint64_t result =
            compute(operation, kind, inst->flags, (uint16_t)a, (uint16_t)b, (uint16_t)c);
        if (pair)
            result |= (uint64_t)compute(operation, kind, inst->flags, (uint16_t)(a >> 16),
                                        (uint16_t)(b >> 16), (uint16_t)(c >> 16))
                      << 16;
        rd[lane] = result;
    });
}

bool select_half(struct inst *inst, const char *base)
{
    static const struct {
        const char *base;
        uint8_t operation, sources;
        uint32_t allowed;
    } list[] = {{"add", ADD, 2, F_FTZ | F_SAT},
                {"sub", SUB, 2, F_FTZ | F_SAT},
                {"mul", MUL, 2, F_FTZ | F_SAT},
                {"fma", FMA, 3, F_FTZ | F_SAT | F_RELU},
                {"min", MIN, 2, F_FTZ | F_NAN | F_XORSIGN | F_ABS},
                {"max", MAX, 2, F_FTZ | F_NAN | F_XORSIGN | F_ABS},
                {"abs", ABS, 1, F_FTZ},
                {"neg", NEG, 1, F_FTZ},
                {"ex2", EX2, 1, F_FTZ | F_APPROX},
                {"tanh", TANH, 1, F_APPROX}};
    if (inst->type < T_F16 || inst->type > T_BF16X2)
        return false;
    for (size_t i = 0; i < FTH_COUNT(list); i++)
        if (strcmp(list[i].base, base) == 0 && !(inst->flags & ~list[i].allowed) &&
            inst->rounding <= R_RN && has_operands(inst, list[i].sources)) {
            inst->mode = list[i].operation;
            inst->run = run_half;
            return true;
        }
    return false;
}
