/* Cases for the approximate functions. The f16 and bf16 functions are in suite_half.c. */
#include "../suite.h"

#include <math.h>
#include <string.h>

/* Returns the bits of a float. */
static uint64_t single(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Edge values of floats: zeros, limits, denormals, NaNs, multiples of pi and others. */
static const uint64_t specials[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00005, 0x7f800001, 0x3f800001,
    0x3f7fffff, 0x3f000000, 0xbf000000, 0x40000000, 0x40490fdb, 0xc0490fdb, 0x3fc90fdb, 0xbfc90fdb,
    0x40c90fda, 0x3dcccccd, 0x33800000, 0xb3800000, 0x3f490fdb, 0x4016cbe4, 0x3a800000, 0x38d1b717,
};

/* Returns a random float of either sign, at most 1, and as small as about 2^-powers. */
static uint64_t scaled(struct fth_rng *rng, uint64_t powers)
{
    int exponent = (int)fth_rng_below(rng, powers);
    return single(ldexp(2 * fth_rng_unit(rng) - 1, -exponent));
}

static uint64_t uniform(struct fth_rng *rng, double low, double high)
{
    return single(low + (high - low) * fth_rng_unit(rng));
}

/* Angles: the edge values, then a uniform distribution in [-range, range] and some small angles. */
static void angle(struct fth_rng *rng, size_t thread, uint64_t *operands, double range)
{
    if (thread < FTH_COUNT(specials))
        operands[0] = specials[thread];
    else if (thread % 8 == 0)
        operands[0] = scaled(rng, 24);
    else
        operands[0] = uniform(rng, -range, range);
}

static void one_turn(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    angle(rng, thread, operands, 6.2831850);
}

static void fifty_turns(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    angle(rng, thread, operands, 314.159);
}

static void exponents(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    static const double edges[] = {127,  127.99999, 128,  128.00001, -126, -126.00001, -149, -149.5,
                                   -150, -150.1,    -151, 1.5,       -1.5, 0.5,        3,    1e-3};
    if (thread < FTH_COUNT(specials))
        operands[0] = specials[thread];
    else if (thread - FTH_COUNT(specials) < FTH_COUNT(edges))
        operands[0] = single(edges[thread - FTH_COUNT(specials)]);
    else
        operands[0] = thread % 2 ? uniform(rng, -2, 2) : uniform(rng, -152, 130);
}

/* The edge values, then positive floats: half of them with any exponent, the others near 1. */
static void magnitudes(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    if (thread < FTH_COUNT(specials))
        operands[0] = specials[thread];
    else if (thread % 2)
        operands[0] = uniform(rng, 0.45, 2.2);
    else
        operands[0] = fth_rng_next(rng) >> 33; /* positive */
}

static void small_arguments(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    if (thread < FTH_COUNT(specials))
        operands[0] = specials[thread];
    else if (thread % 4 == 0)
        operands[0] = scaled(rng, 30);
    else
        operands[0] = uniform(rng, -6, 6);
}

/* Quotients with |b| in [2^-126, 2^126] or not finite. */
static void quotients(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    size_t edges = FTH_COUNT(specials);
    operands[0] = thread < edges * edges ? specials[thread / edges] : diff_random(rng, DIFF_F32);
    operands[1] = thread < edges * edges ? specials[thread % edges] : diff_random(rng, DIFF_F32);
    uint64_t exponent = operands[1] >> 23 & 0xff;
    if (exponent < 1 || (exponent > 252 && exponent < 255))
        operands[1] = (operands[1] & 0x807fffff) | (100 + thread % 50) << 23;
}

/* Quotients with |b| in (2^126, 2^128), for which div.approx returns 0 or NaN. */
static void large_divisors(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    operands[0] = thread < FTH_COUNT(specials) ? specials[thread] : diff_random(rng, DIFF_F32);
    operands[1] = (diff_random(rng, DIFF_F32) & 0x807fffff) | (253 + thread % 2) << 23 | 1;
}

/* `end` is "" or ".ftz". */
static void add_divisions(struct diff_builder *b, const char *end)
{
    diff_op_as(b, &(struct diff_spec){.signature = "ff:f", .fill = quotients, .threads = 1280},
               "div.approx%s.f32", end);
    /* "For 2^126 < |b| < 2^128, if a is infinity, div.approx.f32 returns NaN, otherwise 0." */
    diff_add(b, &(struct diff_spec){.name = diff_text(b, "div.approx%s.f32 great", end),
                                    .signature = "ff:f",
                                    .code = diff_text(b, "div.approx%s.f32 d, a, b;", end),
                                    .fill = large_divisors,
                                    .threads = 256});
    diff_op_as(b, &(struct diff_spec){.signature = "ff:f"}, "div.full%s.f32", end);
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .threads = 512}, "rcp.approx%s.f32", end);
}

static void add_roots(struct diff_builder *b, const char *end)
{
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = magnitudes, .threads = 512},
               "sqrt.approx%s.f32", end);
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = magnitudes, .threads = 512},
               "rsqrt.approx%s.f32", end);
}

static void add_trigonometric(struct diff_builder *b, const char *end)
{
    static const char *const trigonometric[] = {"sin", "cos"};
    for (size_t t = 0; t < 2; t++) {
        diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = one_turn, .threads = 512},
                   "%s.approx%s.f32", trigonometric[t], end);
        diff_add(b, &(struct diff_spec){
                        .name = diff_text(b, "%s.approx%s.f32 far", trigonometric[t], end),
                        .signature = "f:f",
                        .code = diff_text(b, "%s.approx%s.f32 d, a;", trigonometric[t], end),
                        .fill = fifty_turns,
                        .threads = 512});
    }
}

static void add_logarithms(struct diff_builder *b, const char *end)
{
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = magnitudes, .threads = 512},
               "lg2.approx%s.f32", end);
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = exponents, .threads = 512},
               "ex2.approx%s.f32", end);
}

static void add_doubles(struct diff_builder *b)
{
    static const char *const functions[] = {"rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"};
    for (size_t i = 0; i < FTH_COUNT(functions); i++)
        diff_op_as(b, &(struct diff_spec){.signature = "d:d", .threads = 512}, "%s.f64",
                   functions[i]);
}

void diff_add_approximations(struct diff_builder *b)
{
    static const char *const endings[] = {"", ".ftz"};
    diff_family(b, "approximate functions", NULL);
    for (size_t e = 0; e < FTH_COUNT(endings); e++) {
        add_divisions(b, endings[e]);
        add_roots(b, endings[e]);
        add_trigonometric(b, endings[e]);
        add_logarithms(b, endings[e]);
    }
    diff_op_as(b, &(struct diff_spec){.signature = "f:f", .fill = small_arguments, .threads = 512},
               "tanh.approx.f32");
    add_doubles(b);
}
