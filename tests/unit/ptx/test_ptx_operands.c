/* Tests of ptx/parse that execute what was parsed: constants and constant expressions, predicates,
 * discarded results, scopes, guards and calls. Also tests what observers get to know about the
 * operands of instructions. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* A kernel that declares some registers and stores %r1 and %r2 after its body. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 p) {\n"                                                    \
         ".reg .pred %p<5>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; " \
         ".reg .f64 %fd<4>;\nld.param.u64 %rd0, [p];\n" BODY                                       \
         "\nst.global.v2.u32 [%rd0], {%r1, %r2};\nret;\n}\n"

struct observed {
    char text[2048];
};

/* Runs kernel `k` with `threads` threads. Returns the buffer of 64 words that it gets. */
static void run_kernel(const char *text, uint32_t threads, const struct fth_ptx_observer *observer,
                       uint32_t words[64])
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    uint64_t buffer = 0;
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s\n%s", error.cause, error.excerpt, text);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {threads, 1, 1},
                                          .arguments = &buffer,
                                          .argument_bytes = sizeof buffer,
                                          .observer = observer};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, text);
    memcpy(words, fth_ptx_host(machine, buffer, 256), 256);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Fills a pattern, in which BODY stands for `body`. */
static const char *fill_body(const char *pattern, const char *body, char *text, size_t size)
{
    const char *place = strstr(pattern, "BODY");
    snprintf(text, size, "%.*s%s%s", (int)(place - pattern), pattern, body, place + strlen("BODY"));
    return text;
}

/* ---- constants ---- */

/* Constant expressions as 64-bit operands. The values are those of C. */
static const struct {
    const char *text;
    uint64_t value;
} expressions[] = {
    {"10", 10},
    {"0x1F", 31},
    {"017", 15},
    {"0b101", 5},
    {"7U", 7},
    {"0xffffffffffffffff", UINT64_MAX},
    {"-1", UINT64_MAX},
    {"+3", 3},
    {"~5", ~UINT64_C(5)},
    {"!5", 0},
    {"!0", 1},
    {"- -3", 3},
    {"2 + 3 * 4", 14},
    {"(2 + 3) * 4", 20},
    {"20 - 3 - 4", 13},
    {"100 / 7", 14},
    {"100 % 7", 2},
    {"-100 / 7", (uint64_t)-14},
    {"-100 % 7", (uint64_t)-2},
    {"-100 / -1", 100},
    {"-100 % -1", 0},
    {"0xfffffffffffffff0U / 16", UINT64_C(0x0fffffffffffffff)},
    {"-16 / 16U", UINT64_C(0x0fffffffffffffff)},
    {"0xfffffffffffffff1U % 16", 1},
    {"1 << 4", 16},
    {"1 << 63", UINT64_C(1) << 63},
    {"1 << 64", 0},
    {"-16 >> 2", (uint64_t)-4},
    {"-16 >> 64", UINT64_MAX},
    {"0xfffffffffffffff0U >> 60", 15},
    {"0xfffffffffffffff0U >> 64", 0},
    {"3 < 4", 1},
    {"4 < 4", 0},
    {"4 <= 4", 1},
    {"5 <= 4", 0},
    {"5 > 4", 1},
    {"4 > 4", 0},
    {"4 >= 4", 1},
    {"3 >= 4", 0},
    {"-1 < 1", 1},
    {"-1 < 1U", 0},
    {"-1 > 1U", 1},
    {"4 == 4", 1},
    {"4 == 5", 0},
    {"4 != 5", 1},
    {"4 != 4", 0},
    {"6 & 3", 2},
    {"6 | 3", 7},
    {"6 ^ 3", 5},
    {"6 && 0", 0},
    {"6 && 3", 1},
    {"0 || 0", 0},
    {"0 || 9", 1},
    {"1 | 2 ^ 3 & 4", 1 | (2 ^ (3 & 4))},
    {"1 || 0 && 0", 1},
    {"1 + 2 << 3", 24},
    {"1 == 2 < 3", 1},
    {"5 & 4 == 4", 1},
    {"1 ? 2 : 3", 2},
    {"0 ? 2 : 3", 3},
    {"0 ? 1 : 0 ? 2 : 3", 3},
    {"2 > 1 ? 10 + 1 : 20", 11},
    {"(.s64) -1 < 0", 1},
    {"(.u64) -1 < 0", 0},
    {"(.u64) -16 >> 60", 15},
    {"(-1 < 1U) - 1 < 0", 1}, /* the result of a comparison is signed */
    {"1.5 < 2.0", 1},
    {"2.0 <= 2.0", 1},
    {"2.0 > 2.0", 0},
    {"2.0 >= 2.5", 0},
    {"2.0 == 2", 1},
    {"2.0 != 2", 0},
    {"0.5 ? 4 : 5", 4},
    {"0.0 ? 4 : 5", 5},
    {"1.5 > 1.0", 1},
    {"1.0 > 1.5", 0},
    {"1.0 < 1.0", 0},
    {"1.0 <= 0.5", 0},
    {"1.0 >= 1.0", 1},
    {"1.0 == 1.5", 0},
    {"1.0 != 1.5", 1},
    {"1.5 + 1.5 == 3.0", 1},
    {"1.5 - 1.0 == 0.5", 1},
    {"1.5 * 2.0 == 3.0", 1},
    {"3.0 / 2.0 == 1.5", 1},
    {"-1.5 < 0.0", 1},
    {"+1.5 > 0.0", 1},
    {"1 > 0.5", 1},
    {"18446744073709551615U > 1.0", 1}, /* converted as an unsigned number */
    {"-1 > 1.0", 0},
};

static void constant_expressions_have_the_values_of_c(void **state)
{
    (void)state;
    static const char pattern[] = KERNEL("mov.b64 %rd1, BODY; mov.b64 {%r1, %r2}, %rd1;");
    for (size_t i = 0; i < FTH_COUNT(expressions); i++) {
        char text[1024];
        uint32_t words[64];
        run_kernel(fill_body(pattern, expressions[i].text, text, sizeof text), 1, NULL, words);
        const uint64_t value = (uint64_t)words[1] << 32 | words[0];
        if (value != expressions[i].value)
            fail_msg("%s is %llx, not %llx", expressions[i].text, (unsigned long long)value,
                     (unsigned long long)expressions[i].value);
    }
}

/* Fails unless an operand with this text is refused with this cause. */
static void check_refused(const char *operand, const char *cause)
{
    static const char pattern[] = KERNEL("mov.b64 %rd1, BODY;");
    char text[1024];
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    fill_body(pattern, operand, text, sizeof text);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) == FTH_OK)
        fail_msg("accepted: %s", operand);
    if (!strstr(error.cause, cause))
        fail_msg("%s: %s", operand, error.cause);
}

static void invalid_constants_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"1 / 0", "division by zero in a constant expression"},
        {"1 % 0", "division by zero in a constant expression"},
        {"1.5 & 2", "the operator does not apply to floating-point operands"},
        {"2 % 1.5", "the operator does not apply to floating-point operands"},
        {"1.5 << 2", "the operator does not apply to floating-point operands"},
        {"1.5 && 1", "the operator does not apply to floating-point operands"},
        {"1.5 >> 2", "the operator does not apply to floating-point operands"},
        {"1.5 | 2", "the operator does not apply to floating-point operands"},
        {"1.5 ^ 2", "the operator does not apply to floating-point operands"},
        {"1.5 || 1", "the operator does not apply to floating-point operands"},
        {"2 & 1.5", "the operator does not apply to floating-point operands"},
        {"1.5 % 2", "the operator does not apply to floating-point operands"},
        {"~1.5", "the operator does not apply to a floating-point operand"},
        {"!1.5", "the operator does not apply to a floating-point operand"},
        {"(.s64) 1.5", "a floating-point value cannot be cast to an integer"},
        {"(.u64 1)", "expected ')'"},
        {"(1 + 2", "expected ')'"},
        {"1 +", "expected an operand"},
        {"1 ? 2", "expected ':'"},
        {"1 ? : 3", "expected an operand"},
        {"()", "expected an operand"},
        {"12ab", "invalid number"},
        {"0x1G", "invalid number"},
        {"0b12", "invalid number"},
        {"0b", "invalid number"},
        {"0x", "invalid number"},
        {"089", "invalid number"},
        {"1.5.5", "invalid number"},
        {"0f3F8000", "invalid number"},
        {"1e", "invalid number"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        check_refused(rows[i][0], rows[i][1]);
    /* Expressions nest at most 64 deep. */
    char nested[160] = "";
    for (int i = 0; i < 63; i++)
        nested[i] = '(';
    nested[63] = '5';
    for (int i = 64; i < 127; i++)
        nested[i] = ')';
    static const char pattern[] = KERNEL("mov.b64 %rd1, BODY; mov.b64 {%r1, %r2}, %rd1;");
    char text[1024];
    uint32_t words[64];
    run_kernel(fill_body(pattern, nested, text, sizeof text), 1, NULL, words);
    assert_int_equal(words[0], 5);
    memmove(nested + 1, nested, 130);
    nested[0] = '(';
    check_refused(nested, "the expression is nested too deeply");
}

/* Prefix operators and casts nest at most 64 deep, too. */
static void prefixes_nest(void **state)
{
    (void)state;
    static const char pattern[] = KERNEL("mov.b64 %rd1, BODY; mov.b64 {%r1, %r2}, %rd1;");
    char text[1024];
    uint32_t words[64];
    static const char *const prefixes[] = {"-", "+", "~", "!", "(.s64)", "(.u64)"};
    for (size_t i = 0; i < FTH_COUNT(prefixes); i++)
        for (int count = 63; count <= 64; count++) {
            char prefixed[640] = "";
            for (int k = 0; k < count; k++)
                snprintf(prefixed + strlen(prefixed), sizeof prefixed - strlen(prefixed), "%s ",
                         prefixes[i]);
            snprintf(prefixed + strlen(prefixed), sizeof prefixed - strlen(prefixed), "1");
            if (count == 64)
                check_refused(prefixed, "the expression is nested too deeply");
            else
                run_kernel(fill_body(pattern, prefixed, text, sizeof text), 1, NULL, words);
        }
}

/* Floating-point constants in instructions of several types. */
static void constants_have_the_type_of_the_instruction(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint32_t words[2];
    } rows[] = {
        {"mov.f32 %f1, 0f3FC00000; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x3fc00000, 0}},
        {"mov.f32 %f1, 1.5; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x3fc00000, 0}},
        {"mov.f32 %f1, 15e-1; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x3fc00000, 0}},
        {"mov.f32 %f1, 0.15E+1; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x3fc00000, 0}},
        {"mov.f32 %f1, -(1.0 + 0.5); mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0xbfc00000, 0}},
        {"mov.f32 %f1, 3.0 - 1.0 * 2.0 / 4.0; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x40200000, 0}},
        {"mov.f64 %fd1, 0d3FF8000000000000; mov.b64 {%r1, %r2}, %fd1;", {0, 0x3ff80000}},
        {"mov.f64 %fd1, 0f3FC00000; mov.b64 {%r1, %r2}, %fd1;", {0, 0x3ff80000}},
        {"mov.f64 %fd1, 1.5; mov.b64 {%r1, %r2}, %fd1;", {0, 0x3ff80000}},
        {"add.f32 %f1, 0f3F800000, 2; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0x40400000, 0}},
        {"add.f64 %fd1, 1.0, -2; mov.b64 {%r1, %r2}, %fd1;", {0, 0xbff00000}},
        {"mov.b32 %r1, 0f3FC00000; mov.u32 %r2, 0;", {0x3fc00000, 0}},
        {"add.f16 %h1, 0x3C00, 0x4000; mov.b32 %r1, {%h1, %h1}; mov.u32 %r2, 0;", {0x42004200, 0}},
        {"cvt.rn.f32.s32 %f1, -3; mov.b32 %r1, %f1; mov.u32 %r2, 0;", {0xc0400000, 0}},
        {"setp.lt.f32 %p1, 1.0, 2; selp.u32 %r1, 5, 6, %p1; mov.u32 %r2, 0;", {5, 0}},
        {"set.lt.u32.f32 %r1, 1.0, 2.0; mov.u32 %r2, 0;", {0xffffffff, 0}},
        {"slct.s32.f32 %r1, 7, 8, -1.0; slct.u32.s32 %r2, 7, 8, 0;", {8, 7}},
    };
    static const char pattern[] = KERNEL("BODY");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[1024];
        uint32_t words[64];
        run_kernel(fill_body(pattern, rows[i].body, text, sizeof text), 1, NULL, words);
        if (words[0] != rows[i].words[0] || words[1] != rows[i].words[1])
            fail_msg("%s: %x %x", rows[i].body, words[0], words[1]);
    }
}

/* Bodies that store two words. */
#define COUNT "mov.u32 %r1, 0; mov.u32 %r2, 0; "
static const struct {
    const char *body;
    uint32_t words[2];
} bodies[] = {
    /* predicates */
    {"setp.eq.u32 %p1, 1, 1; setp.eq.u32 %p2, 1, 2; and.pred %p3, %p1, %p2; or.pred %p4, %p1, "
     "%p2; selp.u32 %r1, 1, 0, %p3; selp.u32 %r2, 1, 0, %p4;",
     {0, 1}},
    {"setp.eq.u32 %p1, 1, 1; mov.pred %p2, %p1; not.pred %p3, %p1; selp.u32 %r1, 1, 0, %p2; "
     "selp.u32 %r2, 1, 0, %p3;",
     {1, 0}},
    {"setp.eq.u32 %p1, 1, 1; xor.pred %p3, %p1, %p1; selp.u32 %r1, 1, 2, %p3; selp.u32 %r2, 1, "
     "2, !%p3;",
     {2, 1}},
    {"setp.lt.u32 %p1|%p2, 1, 2; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2;", {1, 0}},
    {"setp.lt.u32 %p1|_, 1, 2; selp.u32 %r1, 1, 0, %p1; mov.u32 %r2, 0;", {1, 0}},
    {"setp.eq.u32 %p3, 1, 1; setp.lt.and.u32 %p1, 1, 2, !%p3; setp.lt.or.u32 %p2, 2, 1, %p3; "
     "selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2;",
     {0, 1}},
    {"setp.lo.u32 %p1, 1, 2; setp.hi.u32 %p2, 1, 2; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, "
     "0, %p2;",
     {1, 0}},
    /* guards, also of instructions that read a special register */
    {COUNT "setp.eq.u32 %p1, 1, 1; @%p1 mov.u32 %r1, 5; @!%p1 mov.u32 %r2, 5;", {5, 0}},
    {COUNT "setp.eq.u32 %p1, 1, 1; @%p1 mov.u32 %r1, %ntid.x; @!%p1 mov.u32 %r2, %ntid.x;", {1, 0}},
    {COUNT "add.u32 %r1, %ntid.x, %ntid.x; mov.u32 %r2, %r1;", {2, 2}},
    /* results that are not needed, and a name that begins with '_' */
    {"st.global.u32 [%rd0+8], 3; atom.global.add.u32 _, [%rd0+8], 4; ld.global.u32 %r1, "
     "[%rd0+8]; mov.u32 %r2, 0;",
     {7, 0}},
    {"st.global.v2.u32 [%rd0+8], {3, 4}; ld.global.v2.u32 {_, %r1}, [%rd0+8]; "
     "ld.global.v2.u32 {%r2, _}, [%rd0+8];",
     {4, 3}},
    {".reg .b32 _x; mov.u32 _x, 9; mov.u32 %r1, _x; mov.u32 %r2, 0;", {9, 0}},
    {"shfl.sync.idx.b32 %r1|%p1, 5, 0, 31, -1; selp.u32 %r2, 1, 0, %p1;", {5, 1}},
    /* vectors and halves */
    {"mov.b64 %rd1, {7, 8}; mov.b64 {%r1, %r2}, %rd1;", {7, 8}},
    {"mov.b32 {%h1, %h2}, 0x00090008; mov.b32 %r1, {%h2, %h1}; mov.u32 %r2, 0;", {0x00080009, 0}},
    /* addresses */
    {"st.global.u32 [%rd0+16], 6; add.u64 %rd1, %rd0, 32; ld.global.u32 %r1, [%rd1-16]; "
     "ld.global.u32 %r2, [%rd1+-16];",
     {6, 6}},
    {"st.global.u32 [%rd0+16], 6; ld.global.u32 %r1, [%rd0+4+8+4]; ld.global.u32 %r2, "
     "[%rd0+20-4];",
     {6, 6}},
    {".shared .u32 s[4]; st.shared.u32 [s+8], 4; mov.u32 %r3, s; add.u32 %r3, %r3, 8; "
     "ld.shared.u32 %r1, [%r3]; ld.u32 %r2, [s+8];",
     {4, 4}},
    {".local .align 4 .b8 l[16]; st.local.u32 [l+4], 11; mov.u64 %rd1, l; ld.local.u32 %r1, "
     "[%rd1+4]; ld.local.u32 %r2, [l+4];",
     {11, 11}},
    /* scopes: a name in braces hides the same name outside, registers and labels */
    {COUNT "mov.u32 %r1, 1; { .reg .b32 %r1; mov.u32 %r1, 2; mov.u32 %r2, %r1; }", {1, 2}},
    {COUNT "{ bra x; mov.u32 %r1, 9; x: add.u32 %r1, %r1, 1; }\n"
           "{ bra x; mov.u32 %r2, 9; x: add.u32 %r2, %r2, 2; }",
     {1, 2}},
    {COUNT "{ { bra outer; } mov.u32 %r1, 9; }\nouter: mov.u32 %r2, 3;", {0, 3}},
    {".reg .b32 %a<3>, %b; mov.u32 %a2, 4; mov.u32 %b, 5; mov.u32 %r1, %a2; mov.u32 %r2, %b;",
     {4, 5}},
    {".reg .b32 %x10; .reg .b32 %x<12>; mov.u32 %x10, 4; mov.u32 %x1, 5; mov.u32 %r1, %x10; "
     "mov.u32 %r2, %x1;",
     {4, 5}},
    /* a table of branches */
    {COUNT "mov.u32 %r3, 1; t: .branchtargets a, b, c; brx.idx %r3, t;\na: mov.u32 %r1, 1; bra "
           "d;\nb: mov.u32 %r1, 2; bra d;\nc: mov.u32 %r1, 3;\nd:",
     {2, 0}},
    /* operands of bits and shifts that are easily exchanged */
    {"sub.s32 %r1, 7, 2; shl.b32 %r2, 1, 4;", {5, 16}},
    {"mad.lo.s32 %r1, 2, 3, 4; bfe.u32 %r2, 0xabcd, 4, 8;", {10, 0xbc}},
    {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x5140; lop3.b32 %r2, 12, 10, 6, 0xE8;",
     {0x55114400, 14}},
};

static void operands_are_placed(void **state)
{
    (void)state;
    static const char pattern[] = KERNEL("BODY");
    for (size_t i = 0; i < FTH_COUNT(bodies); i++) {
        char text[1024];
        uint32_t words[64];
        run_kernel(fill_body(pattern, bodies[i].body, text, sizeof text), 1, NULL, words);
        if (words[0] != bodies[i].words[0] || words[1] != bodies[i].words[1])
            fail_msg("%s: %u %u", bodies[i].body, words[0], words[1]);
    }
}

/* Calls: parameters in registers and in memory, several results, and calls by address. */
static void calls_pass_parameters(void **state)
{
    (void)state;
    static const char text[] = HEAD
        ".func (.reg .b32 q, .reg .b32 r) divide(.reg .b32 a, .reg .b32 b) {\n"
        "div.u32 q, a, b; rem.u32 r, a, b; ret; }\n"
        ".func (.param .align 8 .b8 out[16]) pair(.param .b32 x, .param .align 8 .b8 in[16]) {\n"
        ".reg .b32 %a, %b; ld.param.u32 %a, [x]; ld.param.u32 %b, [in+8]; "
        "st.param.u32 [out], %a; st.param.u32 [out+12], %b; ret; }\n"
        ".func (.reg .b32 s) weigh(.reg .b32 a, .reg .b32 b, .reg .b32 c, .reg .b32 d) {\n"
        "mad.lo.u32 s, b, 10, a; mad.lo.u32 s, c, 100, s; mad.lo.u32 s, d, 1000, s; ret; }\n"
        ".visible .entry k(.param .u64 p) { .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd0, [p];\n"
        "call (%r1, %r2), divide, (17, 5); st.global.v2.u32 [%rd0], {%r1, %r2};\n"
        "mov.u64 %rd1, divide; proto: .callprototype (.reg .b32 _, .reg .b32 _) _ (.reg .b32 "
        "_, .reg .b32 _);\ncall (%r1, %r2), %rd1, (23, 4), proto;\n"
        "st.global.v2.u32 [%rd0+8], {%r1, %r2};\n"
        "{ .param .b32 x; .param .align 8 .b8 in[16]; .param .align 8 .b8 out[16];\n"
        "st.param.u32 [x], 6; st.param.u32 [in+8], 7; call (out), pair, (x, in);\n"
        "ld.param.u32 %r1, [out]; ld.param.u32 %r2, [out+12]; }\n"
        "st.global.v2.u32 [%rd0+16], {%r1, %r2};\n"
        "call (%r1), weigh, (1, 2, 3, 4); st.global.u32 [%rd0+24], %r1; ret; }\n";
    uint32_t words[64];
    run_kernel(text, 1, NULL, words);
    const uint32_t expected[] = {3, 2, 5, 3, 6, 7, 4321};
    assert_memory_equal(words, expected, sizeof expected);
}

/* ---- observers ---- */

static bool store_operands(void *user, const struct fth_ptx_issue *issue)
{
    struct observed *observed = user;
    const struct fth_ptx_operands *operands = issue->operands;
    char line[160];
    int used = snprintf(line, sizeof line, "%llu %s%s%s", (unsigned long long)operands->code_offset,
                        issue->opcode, operands->accesses ? " accesses" : "",
                        operands->drains ? " drains" : "");
    for (unsigned i = 0; i < operands->read_count; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, "%s%u", i ? "," : " reads ",
                         operands->reads[i]);
    for (unsigned i = 0; i < operands->write_count; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, "%s%u", i ? "," : " writes ",
                         operands->writes[i]);
    size_t all = strlen(observed->text);
    snprintf(observed->text + all, sizeof observed->text - all, "%s\n", line);
    return true;
}

/* Registers are numbered from 0: two of 64 bits, four of 32 bits, and one that the parser adds for
 * %tid.x. Predicates follow. The function before the kernel has two
 * instructions (with the ret at its end), padded to 128 bytes. */
static void observers_get_the_operands(void **state)
{
    (void)state;
    struct observed observed = {""};
    const struct fth_ptx_observer observer = {.user = &observed, .issue = store_operands};
    uint32_t words[64];
    run_kernel(HEAD ".func f() { ret; }\n.visible .entry k(.param .u64 p) {\n"
                    ".reg .b64 %rd<2>; .reg .b32 %r<4>; .reg .pred %p<3>;\n"
                    "ld.param.u64 %rd1, [p];\n"
                    "ld.global.v2.u32 {%r0, _}, [%rd1];\n"
                    "add.u32 %r1, %r0, 5;\n"
                    "setp.eq.u32 %p1|%p2, %r1, %r0;\n"
                    "and.pred %p0, %p1, %p2;\n"
                    "@!%p0 selp.u32 %r2, %r0, %r1, %p1;\n"
                    "shfl.sync.idx.b32 %r3|%p0, %r2, 0, 31, -1;\n"
                    "st.global.u32 [%rd1], %r3;\n"
                    "atom.global.add.u32 %r0, [%rd1], %r1;\n"
                    "red.global.add.u32 [%rd1], 1;\n"
                    "membar.gl;\nfence.sc.gpu;\ncall f;\nmov.u32 %r0, %tid.x;\nret;\n}\n",
               1, &observer, words);
    assert_string_equal(observed.text, "128 ld.param.u64 writes 1\n"
                                       "144 ld.global.v2.u32 accesses reads 1 writes 2\n"
                                       "160 add.u32 reads 2 writes 3\n"
                                       "176 setp.eq.u32 reads 3,2 writes 8,9\n"
                                       "192 and.pred reads 8,9 writes 7\n"
                                       "208 selp.u32 reads 7,8,2,3 writes 4\n"
                                       "224 shfl.sync.idx.b32 reads 4 writes 5,7\n"
                                       "240 st.global.u32 accesses reads 1,5\n"
                                       "256 atom.global.add.u32 accesses reads 1,3 writes 2\n"
                                       "272 red.global.add.u32 accesses reads 1\n"
                                       "288 membar.gl drains\n"
                                       "304 fence.sc.gpu drains\n"
                                       "320 call drains\n"
                                       "0 ret drains\n"
                                       "336 mov writes 2\n"
                                       "352 ret drains\n");
}

/* ---- hints ---- */

static bool note_access(void *user, const struct fth_ptx_access *access)
{
    struct observed *observed = user;
    const size_t used = strlen(observed->text);
    if (access->space == FTH_SPACE_GLOBAL)
        snprintf(observed->text + used, sizeof observed->text - used, "%s%d l1 %d l2 %d %u%s\n",
                 access->kind == FTH_ACCESS_READ ? "read " : "write ", (int)access->cache_op,
                 (int)access->hints.l1, (int)access->hints.l2, (unsigned)access->hints.l2_bytes,
                 access->hints.strong ? " strong" : "");
    return true;
}

static bool note_prefetch(void *user, const struct fth_ptx_access *access)
{
    struct observed *observed = user;
    const size_t used = strlen(observed->text);
    snprintf(observed->text + used, sizeof observed->text - used, "prefetch %u l2 %d at %u\n",
             (unsigned)access->hints.prefetch, (int)access->hints.l2,
             (unsigned)(access->addresses[0] % 256));
    return true;
}

/* The numbers of priorities: 1 normal, 2 unchanged, 3 first, 4 last, 5 no_allocate. */
static void observers_get_the_hints(void **state)
{
    (void)state;
    static const char body[] =
        KERNEL("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %rd1, 1.0;\n"
               "createpolicy.fractional.L2::evict_unchanged.b64 %rd2, 1.0;\n"
               "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
               "ld.global.u32 %r3, [%rd0];\n"
               "ld.global.nc.L1::no_allocate.L2::128B.u32 %r3, [%rd0];\n"
               "ld.global.L1::evict_first.u32 %r3, [%rd0];\n"
               "ld.global.cg.L2::cache_hint.L2::256B.u32 %r3, [%rd0], %rd1;\n"
               "ld.relaxed.gpu.global.u32 %r3, [%rd0];\n"
               "st.global.L1::evict_last.L2::cache_hint.u32 [%rd0], %r1, %rd2;\n"
               "prefetch.global.L1 [%rd0];\n"
               "prefetch.global.L2::evict_last [%rd0+64];\n"
               "prefetch.global.L2 [%rd0+9999999];\n");
    static const char accesses[] = "read 0 l1 0 l2 0 0\n"
                                   "read 8 l1 5 l2 0 128\n"
                                   "read 0 l1 3 l2 0 0\n"
                                   "read 2 l1 0 l2 %d 256\n"
                                   "read 0 l1 0 l2 0 0 strong\n"
                                   "write 0 l1 4 l2 %d 0\n";
    static const char prefetches[] = "prefetch 1 l2 0 at 0\n"
                                     "prefetch 2 l2 4 at 64\n"
                                     "prefetch 2 l2 0 at 127\n";
    for (int whole = 0; whole < 2; whole++) {
        struct observed observed = {.text = ""};
        const struct fth_ptx_observer observer = {
            .user = &observed, .access = note_access, .prefetch = whole ? note_prefetch : NULL};
        char expected[1024];
        uint32_t words[64];
        run_kernel(body, 1, &observer, words);
        /* Without the callback for prefetches, policies are not evaluated. */
        int used = snprintf(expected, sizeof expected, accesses, whole ? 4 : 0, whole ? 2 : 0);
        snprintf(expected + used, sizeof expected - (size_t)used, "%swrite 0 l1 0 l2 0 0\n",
                 whole ? prefetches : "");
        assert_string_equal(observed.text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_expressions_have_the_values_of_c),
        cmocka_unit_test(invalid_constants_are_refused),
        cmocka_unit_test(prefixes_nest),
        cmocka_unit_test(constants_have_the_type_of_the_instruction),
        cmocka_unit_test(operands_are_placed),
        cmocka_unit_test(calls_pass_parameters),
        cmocka_unit_test(observers_get_the_operands),
        cmocka_unit_test(observers_get_the_hints),
    };
    return cmocka_run_group_tests_name("ptx_operands", tests, NULL, NULL);
}
