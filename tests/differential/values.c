/* The values of operands: for each type the edge values at which implementations are often wrong
 * (zeros, limits, NaNs, rounding ties), and random samples from a generator with a fixed seed. */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EDGES = 512 };

struct list {
    uint64_t at[MAX_EDGES];
    size_t count;
};

/* Appends a value unless the list contains it already. */
static void push(struct list *list, uint64_t value)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == value)
            return;
    if (list->count < MAX_EDGES)
        list->at[list->count++] = value;
}

static struct diff_values copy_to_arena(struct fth_arena *arena, const struct list *list)
{
    struct diff_values values = {NULL, 0};
    uint64_t *at = fth_arena_array(arena, list->count, sizeof *at);
    if (at) {
        memcpy(at, list->at, list->count * sizeof *at);
        values = (struct diff_values){at, list->count};
    }
    return values;
}

/* ---- floats of all formats ---- */

static enum diff_type half_of(enum diff_type type)
{
    return type == DIFF_F16X2 ? DIFF_F16 : type == DIFF_BF16X2 ? DIFF_BF16 : type;
}

static int bias(const struct diff_type_info *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

double diff_decode(enum diff_type type, uint64_t bits)
{
    const struct diff_type_info *f = diff_type_info(type);
    uint64_t mantissa = bits & ((UINT64_C(1) << f->mantissa_bits) - 1);
    int exponent = (int)(bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1));
    bool negative = bits >> (f->mantissa_bits + f->exponent_bits) & 1;
    double value;
    if (exponent == (1 << f->exponent_bits) - 1)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp((double)mantissa, 1 - bias(f) - (int)f->mantissa_bits);
    else
        value = ldexp((double)(mantissa | UINT64_C(1) << f->mantissa_bits),
                      exponent - bias(f) - (int)f->mantissa_bits);
    return negative ? -value : value;
}

uint64_t diff_encode(enum diff_type type, double value)
{
    const struct diff_type_info *f = diff_type_info(type);
    if (f->mantissa_bits == 0 || f->mantissa_bits > 52)
        return 0;
    uint64_t sign = (uint64_t)(signbit(value) != 0) << (f->mantissa_bits + f->exponent_bits);
    uint64_t infinity = (uint64_t)((1 << f->exponent_bits) - 1) << f->mantissa_bits;
    if (isnan(value))
        return infinity | UINT64_C(1) << (f->mantissa_bits - 1);
    if (isinf(value))
        return sign | infinity;
    int exponent;
    double fraction = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    if (fraction == 0)
        return sign;
    exponent += bias(f) - 1;
    if (exponent >= (1 << f->exponent_bits) - 1)
        return sign | (infinity - 1);
    int keep_bits = (int)f->mantissa_bits + (exponent > 0 ? 0 : exponent - 1);
    if (keep_bits < -1)
        return sign;
    uint64_t mantissa = (uint64_t)floor(ldexp(fraction, keep_bits + 1));
    if (exponent <= 0)
        return sign | mantissa;
    mantissa &= (UINT64_C(1) << f->mantissa_bits) - 1;
    return sign | (uint64_t)exponent << f->mantissa_bits | mantissa;
}

static void float_edges(struct list *list, enum diff_type type)
{
    const struct diff_type_info *f = diff_type_info(type);
    uint64_t one_bit = UINT64_C(1) << f->mantissa_bits;
    uint64_t sign = UINT64_C(1) << (f->mantissa_bits + f->exponent_bits);
    uint64_t infinity = (uint64_t)((1 << f->exponent_bits) - 1) << f->mantissa_bits;
    uint64_t one = (uint64_t)bias(f) << f->mantissa_bits;
    int m = (int)f->mantissa_bits;
    const uint64_t bits[] = {
        0,                                                 /* +0 */
        sign,                                              /* -0 */
        one,                                               /* 1 */
        one | sign,                                        /* -1 */
        1,                                                 /* smallest denormal */
        (one_bit - 1) | sign,                              /* largest denormal, negative */
        one_bit,                                           /* smallest normal */
        infinity - 1,                                      /* largest finite */
        (infinity - 1) | sign,                             /* */
        infinity,                                          /* */
        infinity | sign,                                   /* */
        infinity | one_bit >> 1,                           /* quiet NaN */
        infinity | sign | one_bit >> 1 | 5,                /* quiet NaN with sign and payload */
        infinity | 1,                                      /* signalling NaN */
        one + 1,                                           /* next after 1 */
        one - 1,                                           /* next before 1 */
        diff_encode(type, 0.1),                            /* */
        diff_encode(type, -3.14159265358979323846),        /* */
        diff_encode(type, ldexp(1, m)),                    /* from here on, 1 ulp is at least 1 */
        diff_encode(type, ldexp(1, m) + 1),                /* */
        diff_encode(type, -ldexp(1, -m - 1)),              /* half an ulp of 1: tie */
        diff_encode(type, ldexp(1.5, -m - 1)),             /* more than the tie */
        diff_encode(type, 2.5),                            /* */
        diff_encode(type, 0.5),                            /* */
        diff_encode(type, ldexp(1, bias(f) / 2)),          /* its square almost overflows */
        diff_encode(type, -ldexp(1.25, -bias(f) / 2 - 1)), /* its square is denormal */
        diff_encode(type, ldexp(1, bias(f) - 1)),          /* its double almost overflows */
    };
    for (size_t i = 0; i < FTH_COUNT(bits); i++)
        push(list, bits[i]);
}

static void integer_edges(struct list *list, unsigned width)
{
    uint64_t all = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    uint64_t min = UINT64_C(1) << (width - 1), half = UINT64_C(1) << width / 2;
    const uint64_t values[] = {0,
                               1,
                               2,
                               3,
                               7,
                               10,
                               0x7f,
                               0x80,
                               0xff,
                               half - 1,
                               half,
                               half + 1,
                               min - 2,
                               min - 1,
                               min,
                               min + 1,
                               all,
                               all - 1,
                               all - 2,
                               all - 9,
                               all - 0x7f,
                               all - 0xff,
                               all / 3,
                               all / 3 * 2,
                               UINT64_C(0x123456789abcdef1),
                               UINT64_C(0xfedcba987654321d)};
    for (size_t i = 0; i < FTH_COUNT(values); i++)
        push(list, values[i] & all);
}

static void edges(struct list *list, enum diff_type type)
{
    const struct diff_type_info *info = diff_type_info(type);
    if (type == DIFF_PRED) {
        push(list, 0);
        push(list, 1);
    } else if (info->packed) {
        struct list halves = {.count = 0};
        float_edges(&halves, half_of(type));
        for (size_t i = 0; i < halves.count; i++)
            push(list, halves.at[i] | halves.at[(i * 7 + 3) % halves.count] << 16);
    } else if (info->mantissa_bits) {
        float_edges(list, type);
    } else if (info->bytes) {
        integer_edges(list, info->bytes * 8);
    }
}

struct diff_values diff_edges(struct fth_arena *arena, enum diff_type type)
{
    struct list list = {.count = 0};
    edges(&list, type);
    return copy_to_arena(arena, &list);
}

/* ---- conversions ---- */

static void push_around(struct list *list, enum diff_type type, double value)
{
    static const double signs[] = {1, -1};
    for (size_t s = 0; s < 2; s++) {
        uint64_t bits = diff_encode(type, signs[s] * value);
        push(list, bits);
        if (value != 0) {
            push(list, bits - 1);
            push(list, bits + 1);
        }
    }
}

struct diff_values diff_conversion_edges(struct fth_arena *arena, enum diff_type from,
                                         enum diff_type to)
{
    const struct diff_type_info *source = diff_type_info(from), *target = diff_type_info(to);
    struct list list = {.count = 0};
    edges(&list, from);
    if (source->mantissa_bits && !source->packed && !target->mantissa_bits) {
        /* Float to integer: values near the limits of integer types, and ties. */
        static const int powers[] = {0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 52, 63, 64};
        for (size_t i = 0; i < FTH_COUNT(powers); i++) {
            double power = ldexp(1, powers[i]);
            push_around(&list, from, power);
            push_around(&list, from, power + 0.5);
            push_around(&list, from, power - 0.5);
        }
        static const double ties[] = {0.25, 0.75, 1.25, 2.5, 3.5, 3.75, 100.5, 101.5, 1000.49};
        for (size_t i = 0; i < FTH_COUNT(ties); i++)
            push_around(&list, from, ties[i]);
    } else if (source->mantissa_bits && !source->packed && !target->packed &&
               source->mantissa_bits > target->mantissa_bits) {
        /* Wide to narrow float: values between two adjacent floats of the target type, namely a
         * quarter of the way, the tie, and the neighbours of the tie. */
        struct list limits = {.count = 0};
        float_edges(&limits, to);
        for (size_t i = 0; i < limits.count; i++) {
            double low = diff_decode(to, limits.at[i]), high = diff_decode(to, limits.at[i] + 1);
            if (!isfinite(low))
                continue;
            if (!isfinite(high)) /* as if the range did not end here */
                high = low + (low - diff_decode(to, limits.at[i] - 1));
            double tie = low + (high - low) / 2;
            push(&list, diff_encode(from, low));
            push(&list, diff_encode(from, low + (high - low) / 4));
            push(&list, diff_encode(from, tie));
            push(&list, diff_encode(from, tie) + 1);
            push(&list, diff_encode(from, tie) - 1);
        }
    } else if (!source->mantissa_bits && source->bytes >= 2) {
        /* Integers of many lengths, at and near the rounding ties for the target's mantissa. */
        for (unsigned bit = 8; bit < source->bytes * 8; bit += 5) {
            uint64_t top = UINT64_C(1) << bit;
            unsigned drop = bit > target->mantissa_bits ? bit - target->mantissa_bits : 0;
            uint64_t tie = drop ? UINT64_C(1) << (drop - 1) : 0;
            uint64_t mask =
                source->bytes == 8 ? UINT64_MAX : (UINT64_C(1) << source->bytes * 8) - 1;
            push(&list, (top + tie) & mask);
            push(&list, (top + 3 * tie) & mask);
            push(&list, (top + tie + 1) & mask);
            push(&list, (top + tie - 1) & mask);
            push(&list, (0 - top - tie) & mask);
            push(&list, (2 * top - 1) & mask);
        }
    }
    return copy_to_arena(arena, &list);
}

/* ---- random samples ---- */

static uint64_t random_float(struct fth_rng *rng, enum diff_type type)
{
    const struct diff_type_info *f = diff_type_info(type);
    unsigned m = f->mantissa_bits;
    uint64_t bits = fth_rng_next(rng) >> (63 - m - f->exponent_bits);
    uint64_t rest = bits & ~((uint64_t)((1 << f->exponent_bits) - 1) << m);
    uint64_t exponent;
    switch (fth_rng_below(rng, 4)) {
    case 0: return bits;
    case 1: /* small exponents: denormals and the smallest normals */
        exponent = fth_rng_below(rng, 4);
        break;
    default: { /* near 1, where sums and products are rounded */
        uint64_t spread =
            2u * m + 6 < (1u << f->exponent_bits) - 2 ? 2u * m + 6 : (1u << f->exponent_bits) - 2;
        exponent = (uint64_t)bias(f) + fth_rng_below(rng, spread) - spread / 2;
        break;
    }
    }
    return rest | exponent << m;
}

uint64_t diff_random(struct fth_rng *rng, enum diff_type type)
{
    const struct diff_type_info *info = diff_type_info(type);
    if (type == DIFF_PRED)
        return fth_rng_below(rng, 2);
    if (info->packed) {
        uint64_t low = random_float(rng, half_of(type));
        return low | random_float(rng, half_of(type)) << 16;
    }
    if (info->mantissa_bits)
        return random_float(rng, type);
    /* Integers with any number of significant bits. */
    uint64_t bits = fth_rng_next(rng) >> (64 - info->bytes * 8);
    if (fth_rng_below(rng, 2))
        bits >>= fth_rng_below(rng, (uint64_t)info->bytes * 8);
    return bits;
}

/* Sets c to about -(a·b): an unfused multiply-add would lose all digits of the result. */
static void make_cancellation(struct fth_rng *rng, const enum diff_type *type, uint64_t *operands)
{
    const struct diff_type_info *info = diff_type_info(type[2]);
    double product = diff_decode(type[0], operands[0]) * diff_decode(type[1], operands[1]);
    if (!isfinite(product) || product == 0 || info->packed)
        return;
    operands[2] = diff_encode(type[2], -product) ^ fth_rng_below(rng, 3);
}

void diff_sample(struct fth_rng *rng, const enum diff_type *type, const struct diff_values *values,
                 const bool *given, unsigned operands, size_t threads, uint64_t *at)
{
    size_t cross_product = operands ? 1 : 0;
    for (unsigned o = 0; o < operands; o++)
        cross_product *= values[o].count;
    bool floats = operands == 3;
    for (unsigned o = 0; o < operands; o++)
        floats =
            floats && diff_type_info(type[o])->mantissa_bits && !diff_type_info(type[o])->packed;
    for (size_t t = 0; t < threads; t++) {
        uint64_t *thread_operands = at + t * DIFF_OPERANDS;
        bool edge = t < cross_product && (cross_product <= threads || t < threads * 2 / 3);
        /* A random element of the cross product if there are not enough threads for all. */
        uint64_t index =
            cross_product <= threads ? t : fth_rng_below(rng, cross_product ? cross_product : 1);
        for (unsigned o = 0; o < operands; o++) {
            size_t count = values[o].count ? values[o].count : 1;
            if (edge && values[o].count)
                thread_operands[o] = values[o].at[index % count];
            else if (given[o] && values[o].count)
                thread_operands[o] = values[o].at[fth_rng_below(rng, count)];
            else
                thread_operands[o] = diff_random(rng, type[o]);
            index /= count;
        }
        if (!edge && floats && t % 2)
            make_cancellation(rng, type, thread_operands);
    }
}
