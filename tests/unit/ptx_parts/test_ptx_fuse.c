/* Tests of ptx/fuse/: which multiplications are fused with additions. A case has the body of a
 * kernel and what ptxas 13.0 makes of it for sm_90a, written with fma.rn and instructions with a
 * rounding modifier, which are never fused. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each lane reads its own numbers and writes up to four results to %out. */
#define HEAD                                                                                       \
    ".version 8.4\n.target sm_90a\n.address_size 64\n"                                             \
    ".func (.reg .f32 r) plus(.reg .f32 x) { add.f32 r, x, 0f3FC00001; ret; }\n"                   \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .f32 factor) {\n"                   \
    ".reg .b64 %in, %out, %lane; .reg .b32 %id, %q<8>, %r<9>; .reg .f32 %f<40>, %a<8>;\n"          \
    ".reg .f64 %d<9>; .reg .b16 %h<9>; .reg .pred %p<4>, %always; .shared .b32 word;\n"            \
    "mov.u32 %id, %laneid; mul.wide.u32 %lane, %id, 96;\n"                                         \
    "ld.param.u64 %in, [in]; add.u64 %in, %in, %lane;\n"                                           \
    "ld.param.u64 %out, [out]; add.u64 %out, %out, %lane; ld.param.f32 %a0, [factor];\n"           \
    "ld.global.f32 %f1, [%in]; ld.global.f32 %f2, [%in+4]; ld.global.f32 %f3, [%in+8];\n"          \
    "ld.global.f32 %f10, [%in+12]; ld.global.f32 %f11, [%in+16];\n"                                \
    "ld.global.f64 %d1, [%in+24]; ld.global.f64 %d2, [%in+32]; ld.global.f64 %d3, [%in+40];\n"     \
    "ld.global.b16 %h1, [%in+48]; ld.global.b16 %h2, [%in+50]; ld.global.b16 %h3, [%in+52];\n"     \
    "ld.global.b32 %r1, [%in+56]; ld.global.b32 %r2, [%in+60]; ld.global.b32 %r3, [%in+64];\n"     \
    "and.b32 %q0, %id, 1; setp.eq.u32 %p1, %q0, 0; mov.pred %always, -1;\n"

/* The results of a kernel: 32 lanes with 96 bytes each. */
enum { BYTES = 32 * 96 };

static void fill(uint8_t *in)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        uint8_t *at = in + 96 * (size_t)lane;
        for (unsigned i = 0; i < 6; i++) {
            const float number = (float)(1 + (double)rand() / RAND_MAX);
            memcpy(at + 4 * (size_t)i, &number, sizeof number);
        }
        for (unsigned i = 0; i < 3; i++) {
            const double number = 1 + (double)rand() / RAND_MAX / 3;
            memcpy(at + 24 + 8 * (size_t)i, &number, sizeof number);
        }
        for (unsigned i = 0; i < 12; i++) { /* between 1 and 2 as f16, and positive as bf16 */
            const uint16_t number = (uint16_t)(0x3c00 | (rand() & 0x3ff));
            memcpy(at + 48 + 2 * (size_t)i, &number, sizeof number);
        }
    }
}

static void run(const char *body, uint8_t results[BYTES])
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    char text[8192];
    struct {
        uint64_t in, out;
        float factor;
    } arguments = {.factor = 1.2345678f};
    snprintf(text, sizeof text, "%s%s\nret; }\n", HEAD, body);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s\n%s", body, error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, BYTES, &arguments.in, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, BYTES, &arguments.out, NULL), FTH_OK);
    srand(1);
    fill(fth_ptx_host(machine, arguments.in, BYTES));
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .arguments = &arguments,
                                          .argument_bytes = 20,
                                          .block = {32},
                                          .max_instructions = 1000000};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s\n%s", body, error.cause);
    memcpy(results, fth_ptx_host(machine, arguments.out, BYTES), BYTES);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Copies a body with a rounding modifier in every sum, so that nothing is fused. */
static void add_rounding(const char *body, char *to)
{
    for (; *body; body++) {
        const bool sum = strncmp(body, "add.f", 5) == 0 || strncmp(body, "sub.f", 5) == 0 ||
                         strncmp(body, "add.b", 5) == 0 || strncmp(body, "sub.b", 5) == 0 ||
                         strncmp(body, "add.sat", 7) == 0;
        if (sum) {
            memcpy(to, body, 4);
            memcpy(to + 4, "rn.", 3);
            to += 7;
            body += 3;
        } else {
            *to++ = *body;
        }
    }
    *to = '\0';
}

struct fusion {
    const char *body;
    const char *expected; /* NULL: nothing is fused */
};

static void check(const struct fusion *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t got[BYTES], want[BYTES], separate[BYTES];
        char rounded[4096];
        add_rounding(cases[i].body, rounded);
        run(cases[i].body, got);
        run(rounded, separate);
        run(cases[i].expected ? cases[i].expected : rounded, want);
        if (memcmp(got, want, BYTES) != 0)
            fail_msg("other results than expected: %s", cases[i].body);
        if (cases[i].expected && memcmp(got, separate, BYTES) == 0)
            fail_msg("the numbers cannot tell whether this is fused: %s", cases[i].body);
    }
}

#define STORE " st.global.f32 [%out], %f5;"
#define STORE_TWO STORE " st.global.f32 [%out+4], %f7;"
#define STORE_THREE STORE_TWO " st.global.f32 [%out+8], %f8;"

/* ---- types and modifiers ---- */

static void all_types_are_fused(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, "fma.rn.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mul.f64 %d4,%d1,%d2; add.f64 %d5,%d4,%d3; st.global.f64 [%out],%d5;",
         "fma.rn.f64 %d5,%d1,%d2,%d3; st.global.f64 [%out],%d5;"},
        {"mul.f16 %h4,%h1,%h2; add.f16 %h5,%h4,%h3; st.global.b16 [%out],%h5;",
         "fma.rn.f16 %h5,%h1,%h2,%h3; st.global.b16 [%out],%h5;"},
        {"mul.bf16 %h4,%h1,%h2; add.bf16 %h5,%h4,%h3; st.global.b16 [%out],%h5;",
         "fma.rn.bf16 %h5,%h1,%h2,%h3; st.global.b16 [%out],%h5;"},
        {"mul.f16x2 %r4,%r1,%r2; add.f16x2 %r5,%r4,%r3; st.global.b32 [%out],%r5;",
         "fma.rn.f16x2 %r5,%r1,%r2,%r3; st.global.b32 [%out],%r5;"},
        {"mul.bf16x2 %r4,%r1,%r2; add.bf16x2 %r5,%r4,%r3; st.global.b32 [%out],%r5;",
         "fma.rn.bf16x2 %r5,%r1,%r2,%r3; st.global.b32 [%out],%r5;"}};
    check(cases, FTH_COUNT(cases));
}

static void signs_are_exact(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"mul.f32 %f4,%f1,%f2; sub.f32 %f5,%f4,%f3;" STORE,
         "neg.f32 %f6,%f3; fma.rn.f32 %f5,%f1,%f2,%f6;" STORE},
        {"mul.f32 %f4,%f1,%f2; sub.f32 %f5,%f3,%f4;" STORE,
         "neg.f32 %f6,%f1; fma.rn.f32 %f5,%f6,%f2,%f3;" STORE},
        {"mul.f32 %f4,%f1,%f2; neg.f32 %f6,%f4; add.f32 %f5,%f3,%f6;" STORE,
         "neg.f32 %f6,%f1; fma.rn.f32 %f5,%f6,%f2,%f3;" STORE},
        {"mul.f32 %f4,%f1,%f2; neg.f32 %f6,%f4; sub.f32 %f5,%f3,%f6;" STORE,
         "fma.rn.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mul.f32 %f4,%f1,%f2; neg.f32 %f6,%f4; sub.f32 %f5,%f6,%f3;" STORE,
         "neg.f32 %f6,%f1; neg.f32 %f7,%f3; fma.rn.f32 %f5,%f6,%f2,%f7;" STORE},
        {"mul.f64 %d4,%d1,%d2; sub.f64 %d5,%d3,%d4; st.global.f64 [%out],%d5;",
         "neg.f64 %d6,%d1; fma.rn.f64 %d5,%d6,%d2,%d3; st.global.f64 [%out],%d5;"},
        {"mul.f64 %d4,%d1,%d2; sub.f64 %d5,%d4,%d3; st.global.f64 [%out],%d5;",
         "neg.f64 %d6,%d3; fma.rn.f64 %d5,%d1,%d2,%d6; st.global.f64 [%out],%d5;"},
        {"mul.f16 %h4,%h1,%h2; sub.f16 %h5,%h3,%h4; st.global.b16 [%out],%h5;",
         "neg.f16 %h6,%h1; fma.rn.f16 %h5,%h6,%h2,%h3; st.global.b16 [%out],%h5;"},
        {"mul.bf16x2 %r4,%r1,%r2; sub.bf16x2 %r5,%r4,%r3; st.global.b32 [%out],%r5;",
         "neg.bf16x2 %r6,%r3; fma.rn.bf16x2 %r5,%r1,%r2,%r6; st.global.b32 [%out],%r5;"}};
    check(cases, FTH_COUNT(cases));
}

static void modifiers_decide(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"mul.rn.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; add.rn.f32 %f5,%f4,%f3;" STORE, NULL},
        {"mul.ftz.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, NULL},
        {"mul.ftz.f32 %f4,%f1,%f2; add.ftz.f32 %f5,%f4,%f3;" STORE,
         "fma.rn.ftz.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mul.sat.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, NULL},
        {"neg.f32 %f9,%f3; mul.f32 %f4,%f1,0f3E123457; add.sat.f32 %f5,%f4,0f3E000000;" STORE,
         "fma.rn.sat.f32 %f5,%f1,0f3E123457,0f3E000000;" STORE},
        {"mul.f32 %f4,%f1,%f2; neg.ftz.f32 %f6,%f4; add.f32 %f5,%f6,%f3;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; fma.rn.f32 %f5,%f3,%f10,%f4;" STORE, NULL}};
    check(cases, FTH_COUNT(cases));
}

/* The quotient is the dividend times MUFU.RCP of the divisor: rcp.approx.ftz here, because the
 * numbers are not scaled. */
static void quotients_are_products(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"div.full.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE,
         "rcp.approx.ftz.f32 %f6,%f2; fma.rn.f32 %f5,%f1,%f6,%f3;" STORE},
        {"div.approx.f32 %f4,%f1,%f2; sub.f32 %f5,%f3,%f4;" STORE,
         "rcp.approx.ftz.f32 %f6,%f2; neg.f32 %f7,%f1; fma.rn.f32 %f5,%f7,%f6,%f3;" STORE},
        {"div.full.ftz.f32 %f4,%f1,%f2; sub.ftz.f32 %f5,%f4,%f3;" STORE,
         "rcp.approx.ftz.f32 %f6,%f2; neg.f32 %f7,%f3; fma.rn.ftz.f32 %f5,%f1,%f6,%f7;" STORE},
        {"mul.f32 %f9,%f2,0f7E800000; mul.f32 %f12,%f1,0f7E800000; div.full.f32 %f4,%f12,%f9;"
         " add.f32 %f5,%f4,%f3;" STORE,
         "rcp.approx.ftz.f32 %f6,%f2; fma.rn.f32 %f5,%f1,%f6,%f3;" STORE},
        {"div.rn.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, NULL},
        {"div.full.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; st.global.f32 [%out+4],%f4;" STORE, NULL}};
    check(cases, FTH_COUNT(cases));
}

/* ---- uses ---- */

static void all_uses_must_be_sums(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; add.f32 %f7,%f4,%f10;" STORE_TWO,
         "fma.rn.f32 %f5,%f1,%f2,%f3; fma.rn.f32 %f7,%f1,%f2,%f10;" STORE_TWO},
        {"mul.f32 %f4,%f1,%f2; mov.b32 %r4,%f4; mov.b32 %f6,%r4; add.f32 %f5,%f6,%f3;" STORE,
         "fma.rn.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; st.global.f32 [%out+4],%f4;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; mul.f32 %f7,%f4,%f10;" STORE_TWO, NULL},
        {"mul.f32 %f4,%f1,%f2; abs.f32 %f6,%f4; add.f32 %f5,%f6,%f3;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; selp.f32 %f6,%f4,0f00000000,%p1; add.f32 %f5,%f6,%f3;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f4;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; mov.f32 %f6,%f4; add.f32 %f5,%f4,%f6;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; neg.f32 %f7,%f4;" STORE_TWO, NULL},
        {"mul.f32 %f4,%f1,%f2; mov.f32 %f5,%f3; @%p1 add.f32 %f5,%f4,%f3;" STORE,
         "mov.f32 %f5,%f3; @%p1 fma.rn.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mul.f32 %f5,%f1,%f2; @%p1 add.f32 %f5,%f5,%f3;" STORE, NULL},
        {"mul.f32 %f5,%f1,%f2; add.f32 %f5,%f5,%f3;" STORE, "fma.rn.f32 %f5,%f1,%f2,%f3;" STORE},
        {"mov.f32 %f4,%f3; @%p1 mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3;" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; call (%f5),plus,(%f4);" STORE, NULL},
        {"mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f3; call (%f7),plus,(%f4);" STORE_TWO, NULL}};
    check(cases, FTH_COUNT(cases));
}

#define TWO_PRODUCTS "mul.f32 %f4,%f1,%f2; mul.f32 %f6,%f10,%f11; "

static void one_of_two_products_is_fused(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {TWO_PRODUCTS "add.f32 %f5,%f4,%f6;" STORE,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6;" STORE},
        {TWO_PRODUCTS "add.f32 %f5,%f6,%f4;" STORE,
         "mul.rn.f32 %f4,%f1,%f2; fma.rn.f32 %f5,%f10,%f11,%f4;" STORE},
        {TWO_PRODUCTS "add.f32 %f5,%f4,%f6; st.global.f32 [%out+4],%f4;" STORE,
         "mul.rn.f32 %f4,%f1,%f2; fma.rn.f32 %f5,%f10,%f11,%f4; st.global.f32 [%out+4],%f4;" STORE},
        /* A product with one use comes first, also if its sum comes later. */
        {TWO_PRODUCTS "add.f32 %f7,%f6,%f3; add.f32 %f5,%f4,%f6;" STORE_TWO,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6; add.rn.f32 %f7,%f6,%f3;" STORE_TWO},
        {TWO_PRODUCTS "add.f32 %f5,%f6,%f4; add.f32 %f7,%f6,%f3;" STORE_TWO,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6; add.rn.f32 %f7,%f6,%f3;" STORE_TWO},
        /* An addend is not fused any more, but has been fused before. */
        {TWO_PRODUCTS "add.f32 %f5,%f4,%f6; add.f32 %f7,%f4,%f3; add.f32 %f8,%f6,%f3;" STORE_THREE,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6; fma.rn.f32 %f7,%f1,%f2,%f3;"
         " add.rn.f32 %f8,%f6,%f3;" STORE_THREE},
        {TWO_PRODUCTS "add.f32 %f8,%f6,%f3; add.f32 %f7,%f4,%f3; add.f32 %f5,%f4,%f6;" STORE_THREE,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6; fma.rn.f32 %f7,%f1,%f2,%f3;"
         " fma.rn.f32 %f8,%f10,%f11,%f3;" STORE_THREE},
        /* The product with fewer uses is fused. */
        {TWO_PRODUCTS "add.f32 %f5,%f4,%f6; add.f32 %f7,%f4,%f3; add.f32 %f8,%f4,%f10;"
                      " add.f32 %f9,%f6,%f3; st.global.f32 [%out+12],%f9;" STORE_THREE,
         "mul.rn.f32 %f4,%f1,%f2; fma.rn.f32 %f5,%f10,%f11,%f4; add.rn.f32 %f7,%f4,%f3;"
         " add.rn.f32 %f8,%f4,%f10; fma.rn.f32 %f9,%f10,%f11,%f3;"
         " st.global.f32 [%out+12],%f9;" STORE_THREE}};
    check(cases, FTH_COUNT(cases));
}

/* ---- blocks ---- */

#define PRODUCT "mul.f32 %f4,%f1,%f2; "
#define SUM "add.f32 %f5,%f4,%f3;" STORE
#define FUSED "fma.rn.f32 %f5,%f1,%f2,%f3;" STORE

static void blocks_end_fusion(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {PRODUCT "@%p1 bra L; st.global.u32 [%out+4],%r1; L: " SUM, NULL},
        {PRODUCT "@%p1 bra L; " SUM " L:", NULL},
        {PRODUCT "@%p1 exit; " SUM, NULL},
        {PRODUCT "call (%f9),plus,(%f3); " SUM, NULL},
        {PRODUCT "@%p1 st.global.u32 [%out+4],%r1; " SUM, NULL},
        {PRODUCT "@%p1 ld.global.u32 %r4,[%in]; " SUM, NULL},
        {PRODUCT "membar.gl; " SUM, NULL},
        {PRODUCT "div.rn.f32 %f9,%f3,%f10; " SUM, NULL},
        {PRODUCT "rem.s32 %r4,%r1,10; " SUM, NULL},
        {PRODUCT "bar.sync 0; " SUM, FUSED},
        {PRODUCT "shfl.sync.bfly.b32 %r4,%r1,1,31,-1; " SUM, FUSED},
        {PRODUCT "@%p1 add.u32 %r4,%r1,1; " SUM, FUSED},
        {PRODUCT "@%always st.global.u32 [%out+4],%r1; " SUM, "st.global.u32 [%out+4],%r1;" FUSED},
        {PRODUCT "rem.u32 %r4,%r1,10; " SUM, FUSED},
        {PRODUCT "L: " SUM, FUSED},
        {PRODUCT "bra L; L: " SUM, FUSED}};
    check(cases, FTH_COUNT(cases));
}

/* The same with a constant factor, for which other blocks do not matter. */
static void constant_factors_are_fused_everywhere(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {"mul.f32 %f4,%f1,0f3F9E0653; @%p1 bra L; st.global.u32 [%out+4],%r1; L: " SUM,
         "@%p1 bra L; st.global.u32 [%out+4],%r1; L: fma.rn.f32 %f5,%f1,0f3F9E0653,%f3;" STORE},
        {"mov.f32 %f9,0f3F9E0653; mul.f32 %f4,%f9,%f1; @%p1 st.global.u32 [%out+4],%r1; " SUM,
         "@%p1 st.global.u32 [%out+4],%r1; fma.rn.f32 %f5,%f1,0f3F9E0653,%f3;" STORE},
        {"mul.f32 %f4,%f1,%a0; neg.f32 %f6,%f4; @%p1 bra L; st.global.u32 [%out+4],%r1;"
         " L: sub.f32 %f5,%f3,%f6;" STORE,
         "@%p1 bra L; st.global.u32 [%out+4],%r1; L: fma.rn.f32 %f5,%f1,%a0,%f3;" STORE},
        {"div.full.f32 %f4,%f1,0f3F9E0653; @%p1 st.global.u32 [%out+4],%r1; " SUM,
         "@%p1 st.global.u32 [%out+4],%r1; mov.f32 %f9,0f3F9E0653; rcp.approx.ftz.f32 %f6,%f9;"
         " fma.rn.f32 %f5,%f1,%f6,%f3;" STORE},
        {"mul.f32 %f4,%f1,0f3F9E0653; @%p1 bra L; mul.f32 %f7,%f4,%f10; st.global.f32 [%out+4],%f7;"
         " L: " SUM,
         NULL},
        {"mul.f32 %f4,%f1,%f1; @%p1 st.global.u32 [%out+4],%r1; " SUM, NULL}};
    check(cases, FTH_COUNT(cases));
}

/* The sums use the factors as they were when the product was computed. */
static void factors_can_be_overwritten(void **state)
{
    (void)state;
    static const struct fusion cases[] = {
        {PRODUCT "mov.f32 %f1,%f10; mov.f32 %f2,%f11; " SUM, FUSED},
        {"mul.f32 %f4,%f1,0f3F9E0653; mov.f32 %f1,%f10; @%p1 bra L; mov.f32 %f1,%f11; L: " SUM,
         "fma.rn.f32 %f5,%f1,0f3F9E0653,%f3;" STORE},
        /* The product is computed as well. */
        {TWO_PRODUCTS "mov.f32 %f10,%f1; mov.f32 %f11,%f1; add.f32 %f8,%f6,%f3;"
                      " add.f32 %f7,%f4,%f3; add.f32 %f5,%f4,%f6;" STORE_THREE,
         "mul.rn.f32 %f6,%f10,%f11; fma.rn.f32 %f5,%f1,%f2,%f6; fma.rn.f32 %f7,%f1,%f2,%f3;"
         " fma.rn.f32 %f8,%f10,%f11,%f3;" STORE_THREE},
        /* A loop that writes the register of the product in each iteration. */
        {"mov.u32 %q1,0; mov.f32 %f5,%f3; L: mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f5;"
         " add.rn.f32 %f1,%f5,%f10; add.u32 %q1,%q1,1; setp.lt.u32 %p2,%q1,5; @%p2 bra L;" STORE,
         "mov.u32 %q1,0; mov.f32 %f5,%f3; L: fma.rn.f32 %f5,%f1,%f2,%f5;"
         " add.rn.f32 %f1,%f5,%f10; add.u32 %q1,%q1,1; setp.lt.u32 %p2,%q1,5; @%p2 bra L;" STORE},
        /* The next iteration reads the register before it writes it. */
        {"mov.u32 %q1,0; mov.f32 %f5,%f3; mov.f32 %f4,%f2; L: mul.rn.f32 %f5,%f5,%f4;"
         " mul.f32 %f4,%f1,%f2; add.f32 %f5,%f4,%f5; add.u32 %q1,%q1,1;"
         " setp.lt.u32 %p2,%q1,5; @%p2 bra L;" STORE,
         NULL}};
    check(cases, FTH_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_are_fused),
        cmocka_unit_test(signs_are_exact),
        cmocka_unit_test(modifiers_decide),
        cmocka_unit_test(quotients_are_products),
        cmocka_unit_test(all_uses_must_be_sums),
        cmocka_unit_test(one_of_two_products_is_fused),
        cmocka_unit_test(blocks_end_fusion),
        cmocka_unit_test(constant_factors_are_fused_everywhere),
        cmocka_unit_test(factors_can_be_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
