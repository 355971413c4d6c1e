/* Cases for floating-point instructions with IEEE 754 rounding: PTX ISA, "Floating Point
 * Instructions". A NaN result of an f32 operation is 0x7fffffff. For abs and neg, the ISA leaves
 * the payload of NaNs open, so any NaN is accepted. */
#include "../suite.h"

#include <math.h>

static const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};
static const char *const endings[] = {"", ".ftz", ".sat", ".ftz.sat"};

/* Products at various distances below the smallest normal number: (1 - x)·(1 + x) = 1 - x², scaled.
 * They show whether .ftz flushes a result that is subnormal only before rounding. */
static void products_near_min_normal(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    double x = ldexp(1, -1 - (int)(thread % 14)) * (thread < 28 ? 1 : fth_rng_unit(rng));
    operands[0] = diff_encode(DIFF_F32, ldexp(1 - x, -63));
    operands[1] = diff_encode(DIFF_F32, ldexp(1 + x, -63));
    operands[2] = thread % 3 == 0 ? 0 : diff_encode(DIFF_F32, ldexp(1, -149 + (int)(thread % 5)));
    if (thread % 4 == 3)
        operands[0] |= 0x80000000;
}

static void add_tiny(struct diff_builder *b)
{
    for (size_t r = 0; r < 4; r++)
        for (size_t e = 0; e < 2; e++) {
            diff_add(b,
                     &(struct diff_spec){
                         .name = diff_text(b, "mul%s%s.f32 tiny", roundings[r], endings[e]),
                         .signature = "fff:f",
                         .fill = products_near_min_normal,
                         .threads = 128,
                         .code = diff_text(b, "mul%s%s.f32 d, a, b;", roundings[r], endings[e])});
            diff_add(
                b, &(struct diff_spec){
                       .name = diff_text(b, "fma%s%s.f32 tiny", roundings[r], endings[e]),
                       .signature = "fff:f",
                       .fill = products_near_min_normal,
                       .threads = 128,
                       .code = diff_text(b, "fma%s%s.f32 d, a, b, c;", roundings[r], endings[e])});
        }
}

static void add_single(struct diff_builder *b)
{
    static const char *const ops[] = {"add", "sub", "mul"};
    diff_family(b, "f32 add sub mul", NULL);
    for (size_t i = 0; i < FTH_COUNT(ops); i++) {
        diff_op(b, "ff:f", "%s.f32", ops[i]);
        diff_op(b, "ff:f", "%s.ftz.f32", ops[i]);
        for (size_t r = 0; r < 4; r++)
            for (size_t e = 0; e < 4; e++)
                diff_op(b, "ff:f", "%s%s%s.f32", ops[i], roundings[r], endings[e]);
    }
    diff_family(b, "f32 fma", NULL);
    for (size_t r = 0; r < 4; r++)
        for (size_t e = 0; e < 4; e++)
            diff_op(b, "fff:f", "fma%s%s.f32", roundings[r], endings[e]);
    diff_op(b, "fff:f", "mad.rn.f32");
    diff_op(b, "fff:f", "mad.rz.ftz.sat.f32");
    add_tiny(b);

    diff_family(b, "f32 div sqrt rcp", NULL);
    for (size_t r = 0; r < 4; r++)
        for (size_t e = 0; e < 2; e++) {
            diff_op(b, "ff:f", "div%s%s.f32", roundings[r], endings[e]);
            diff_op(b, "f:f", "rcp%s%s.f32", roundings[r], endings[e]);
            diff_op(b, "f:f", "sqrt%s%s.f32", roundings[r], endings[e]);
        }
}

static void add_double(struct diff_builder *b)
{
    static const char *const ops[] = {"add", "sub", "mul", "div"};
    diff_family(b, "f64 arithmetic", NULL);
    for (size_t i = 0; i < FTH_COUNT(ops); i++) {
        if (i < 3)
            diff_op(b, "dd:d", "%s.f64", ops[i]);
        for (size_t r = 0; r < 4; r++)
            diff_op_as(b, &(struct diff_spec){.signature = "dd:d", .threads = 900}, "%s%s.f64",
                       ops[i], roundings[r]);
    }
    for (size_t r = 0; r < 4; r++) {
        diff_op_as(b, &(struct diff_spec){.signature = "ddd:d", .threads = 1280}, "fma%s.f64",
                   roundings[r]);
        diff_op(b, "d:d", "rcp%s.f64", roundings[r]);
        diff_op(b, "d:d", "sqrt%s.f64", roundings[r]);
    }
    diff_op(b, "ddd:d", "mad.rn.f64");
}

static void add_simple(struct diff_builder *b)
{
    static const char *const min[] = {"min", "max"};
    diff_family(b, "float min max abs neg", NULL);
    for (size_t i = 0; i < 2; i++) {
        for (size_t e = 0; e < 2; e++) {
            diff_op(b, "ff:f", "%s%s.f32", min[i], endings[e]);
            diff_op(b, "ff:f", "%s%s.NaN.f32", min[i], endings[e]);
            diff_op(b, "ff:f", "%s%s.xorsign.abs.f32", min[i], endings[e]);
            diff_op(b, "ff:f", "%s%s.NaN.xorsign.abs.f32", min[i], endings[e]);
        }
        diff_op(b, "dd:d", "%s.f64", min[i]);
    }
    static const char *const signs[] = {"abs", "neg"};
    for (size_t i = 0; i < 2; i++) {
        for (size_t e = 0; e < 2; e++)
            diff_op(b, "f:f", "%s%s.f32", signs[i], endings[e]);
        diff_op(b, "d:d", "%s.f64", signs[i]);
    }
    diff_op(b, "ff:f", "copysign.f32");
    diff_op(b, "dd:d", "copysign.f64");
    static const char *const classes[] = {"finite",     "infinite", "number",
                                          "notanumber", "normal",   "subnormal"};
    for (size_t i = 0; i < FTH_COUNT(classes); i++) {
        diff_op(b, "f:p", "testp.%s.f32", classes[i]);
        diff_op(b, "d:p", "testp.%s.f64", classes[i]);
    }
}

void diff_add_float(struct diff_builder *builder)
{
    add_single(builder);
    add_double(builder);
    add_simple(builder);
}
