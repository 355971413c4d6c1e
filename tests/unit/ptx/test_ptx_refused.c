/* Tests of ptx/parse: the complete message for each kind of error, with the caret below the token,
 * and the nearest text that is accepted. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* A kernel whose registers and functions are declared in lines 4 to 6. BODY is line 7. */
#define KERNEL_HEAD                                                                                \
    HEAD                                                                                           \
        ".func (.reg .b32 y) f(.reg .b32 x) { mov.u32 y, x; ret; } .shared .b32 s;\n"              \
        ".visible .entry k(.param .u64 p) {\n"                                                     \
        ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n"

/* A statement. A '^' in `caret` is below the token that the message is about; NULL: the statement
 * is accepted. */
struct row {
    const char *statement, *caret, *cause;
};

static void check_rows(const char *before, const char *after, unsigned line, const struct row *rows,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[2048], cause[200], excerpt[400];
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text, "%s%s%s", before, rows[i].statement, after);
        const bool refused = is_refused(text, strlen(text), &error);
        if (!rows[i].caret) {
            if (refused)
                fail_msg("%s: %s", rows[i].statement, error.cause);
            continue;
        }
        snprintf(cause, sizeof cause, "line %u: %s", line, rows[i].cause);
        snprintf(excerpt, sizeof excerpt, "  %s\n  %s", rows[i].statement, rows[i].caret);
        if (!refused || error.status != FTH_INVALID || strcmp(error.cause, cause) != 0 ||
            strcmp(error.excerpt, excerpt) != 0)
            fail_msg("%s\n%s\n%s", rows[i].statement, error.cause, error.excerpt);
        assert_string_equal(error.operation, "read PTX");
        assert_string_equal(error.argument, "test.ptx");
    }
}

/* ---- declarations ---- */

static const struct row declarations[] = {
    {".global .align 4096 .u32 x;", NULL, NULL},
    {".global .align 1 .u32 x;", NULL, NULL},
    {".global .align 3 .u32 x;", "        ^", "the alignment must be a power of two"},
    {".global .align 0 .u32 x;", "        ^", "the alignment must be a power of two"},
    {".global .align 4097 .u32 x;", "               ^", "expected an integer of at most 4096"},
    {".global .align x .u32 x;", "               ^", "expected an integer of at most 4096"},
    {".global .frob x;", "        ^", "unsupported type or attribute"},
    {".global .v3 .u32 x;", "        ^", "unsupported type or attribute"},
    {".global .u32 5;", "             ^", "expected a type and a name"},
    {".global x;", "        ^", "expected a type and a name"},
    {".global .pred x;", "              ^", "expected a type and a name"},
    {".global .attribute(.managed) .u32 x;", NULL, NULL},
    {".global .u32 x y;", "               ^", "expected ';'"},
    {".global .u32 x, .u32 x;", "                     ^", "'x' is declared twice"},
    {".global .u32 x[2;", "                ^", "expected ']'"},
    {".global .u32 x[1][1][1][1][1][1][1][1];", NULL, NULL},
    {".global .u32 x[1][1][1][1][1][1][1][1][1];", "             ^",
     "an array can have at most 8 dimensions"},
    {".global .b8 x[68719476736];", NULL, NULL},
    {".global .b8 x[68719476737];", "              ^",
     "expected an integer of at most 68719476736"},
    {".global .u32 x[17179869184];", NULL, NULL},
    {".global .u32 x[17179869185];", "             ^", "the variable is larger than 64 GiB"},
    {".global .v2 .u32 x[8589934592];", NULL, NULL},
    {".global .v2 .u32 x[8589934593];", "                 ^", "the variable is larger than 64 GiB"},
    {".global .u32 x[0][99];", NULL, NULL},
    {".extern .global .u32 x;", "                     ^",
     "external variables are not supported: modules are not linked"},
    {".global .u64 x = y;", "                 ^",
     "expected a .global or .const variable or a function"},
    {".global .u32 y; .global .u64 x = y + 4 - 4;", NULL, NULL},
    {".const .u32 y; .global .u64 x = generic(y);", NULL, NULL},
    {".func f() { ret; } .global .u64 x = f;", NULL, NULL},
    {".shared .u32 y; .global .u64 x = y;", "                                 ^",
     "expected a .global or .const variable or a function"},
    {".global .u32 y; .global .u64 x = generic y;", "                                         ^",
     "expected '('"},
    {".global .u32 y; .global .u64 x = generic(y;", "                                          ^",
     "expected ')'"},
    {".global .u32 y; .global .u64 x = y + z;", "                                     ^",
     "expected an integer of at most 9223372036854775807"},
    {".global .u32 x = ;", "                 ^", "expected a number or a name"},
    {".global .u32 x = \"a\";", "                 ^", "expected a number or a name"},
    {".func 5() { ret; }", "      ^", "expected a function name"},
    {".func (.reg .b32 y) { ret; }", "                    ^", "expected a function name"},
    {".func f(.reg .b32 a[2]) { ret; }", "                  ^",
     "a parameter in a register cannot be an array"},
    {".func f(.b32 a) { ret; }", "        ^", "expected '.param'"},
    {".entry k(.reg .b32 a) { ret; }", "         ^", "expected '.param'"},
    {".entry k(.param .b32 a { ret; }", "                       ^", "expected ')'"},
    {".entry k(.param .b32 a, .param .b32 a) { ret; }", "                                    ^",
     "'a' is declared twice"},
    {".entry k() { .reg .v2 .b32 %r; ret; }", "                      ^",
     "vector registers are not supported"},
    {".entry k() { .reg .frob %r; ret; }", "                  ^",
     "expected a supported register type"},
    {".entry k() { .reg .b32 5; ret; }", "                       ^", "expected a register name"},
    {".entry k() { .reg .b32 %r<5; ret; }", "                           ^", "expected '>'"},
    {".entry k() { .reg .b32 %r<100000>; .reg .pred %p<100000>; ret; }", NULL, NULL},
    {".entry k() { .reg .b32 %r<100001>; ret; }", "                          ^",
     "expected an integer of at most 100000"},
    {".entry k() { .reg .b32 %r<99999>, %a, %b; ret; }", "                                      ^",
     "a function can have at most 100000 registers"},
    {".entry k() .pragma \"nounroll\", \"novector\"; .maxntid 64 { ret; }", NULL, NULL},
    {".entry k() .pragma \"nounroll\" .maxntid 64 .minnctapersm 2 { ret; }", NULL, NULL},
    {".file 1 \"a.cu", "        ^", "unterminated string"},
    {".frob", "^", "expected a module directive such as .entry, .func or .global"},
};

static void declarations_are_checked(void **state)
{
    (void)state;
    check_rows(HEAD, "\n", 4, declarations, FTH_COUNT(declarations));
}

/* ---- instructions ---- */

static const struct row instructions[] = {
    {"5;", "^", "expected an instruction"},
    {"@5 ret;", " ^", "expected a predicate register as the guard"},
    {"@!%r1 ret;", "  ^", "expected a predicate register as the guard"},
    {"@%nothing ret;", " ^", "expected a predicate register as the guard"},
    {"add.frob %r1, %r2, %r3;", "    ^", "'.frob' of 'add.frob' is not supported"},
    {"averyveryverylongname %r1;", "^",
     "'averyveryverylongname' with these operands is not supported"},
    {"mov.v2.b32 %r1, %r2;", "^", "'mov.v2.b32' with these operands is not supported"},
    {"bra 5;", "    ^", "expected a label"},
    {"bra x;", "    ^", "label 'x' is not defined"},
    {"x: x: ret;", "   ^", "duplicate label"},
    {"x :ret;", NULL, NULL},
    {"bra y; y:ret;", NULL, NULL},
    {"ld.shared::cta.u32 %r1, [s];", NULL, NULL},
    {"ld.shared:cta.u32 %r1, [s];", "          ^",
     "'cta.u32' with these operands is not supported"}, /* a label and an instruction */
    {"t: .branchtargets x, 5;", "                     ^", "expected a label"},
    {"t: .branchtargets x; x: brx.idx %r1, t;", NULL, NULL},
    {"brx.idx %r1, t;", "             ^",
     "expected an index and the name of a .branchtargets list"},
    {"brx.idx [%rd1], t;", "                ^",
     "expected an index and the name of a .branchtargets list"},
    {"brx.idx %r1, s;", "             ^",
     "expected an index and the name of a .branchtargets list"},
    {"brx.idx %r1;", "           ^", "expected ','"},
    {"call (%r1), f, (%r2);", NULL, NULL},
    {"call f, (%r2);", "     ^", "'f' is not a function with these arguments and results"},
    {"call (%r1), f, ();", "            ^",
     "'f' is not a function with these arguments and results"},
    {"call (%r1), f, (1, 2);", "            ^",
     "'f' is not a function with these arguments and results"},
    {"call (%r1, %r2), f, (1);", "                 ^",
     "'f' is not a function with these arguments and results"},
    {".param .b32 q; call (%r1), f, (q);", "                           ^",
     "'f' is not a function with these arguments and results"},
    {"call (%r1), k, (%rd1);", "            ^",
     "'k' is not a function with these arguments and results"},
    {"call (%r1), f, (%p1);", "                ^",
     "expected a register, a number or a .param variable"},
    {"call (%r1), f, (%r1;", "                   ^", "expected ')'"},
    {"call (%r1) f, (%r1);", "           ^", "expected ','"},
    {"call (1), f, (%r1);", "     ^", "a result must be a register or a .param variable"},
    {"call (%tid.x), f, (%r1);", "     ^", "a result must be a register or a .param variable"},
    {"call g, (%r1);", "     ^", "expected a declared function or a register"},
    {"call s, (%r1);", "     ^", "expected a declared function or a register"},
    {"call %p1, (%r1);", "     ^", "expected a declared function or a register"},
    /* operands */
    {"mov.b64 %rd1, {%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0};", "              ^",
     "the vector has too many elements for this instruction"},
    {"mov.b64 %rd1, {%r0, %p1};", "                    ^",
     "a predicate or a register of 128 bits cannot be an element of a vector"},
    {"mov.b64 %rd1, {%r0, %r1;", "                       ^", "expected '}'"},
    {"ld.global.u32 %r1, [%p1];", "                    ^",
     "a predicate or a register of 128 bits cannot be an address"},
    {"ld.global.u32 %r1, [%rd1+%r1];", "                         ^", "expected an integer offset"},
    {"ld.global.u32 %r1, [%rd1+1.5];", "                         ^", "expected an integer offset"},
    {"ld.global.u32 %r1, [%rd1;", "                        ^", "expected ']'"},
    {"ld.global.u32 %r1, [%rd1, %r1];", "^",
     "'ld.global.u32' with these operands is not supported"},
    {"tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, %r1, %r1];",
     "                                                    ^", "expected '{'"},
    {"add.u32 %r1, !%r2, 1;", "              ^",
     "'!' can only be applied to a predicate or a number"},
    {"add.u32 %r1, !5, 1;", NULL, NULL},
    {"setp.lt.u32 %p1|%r1, %r2, 1;", "                ^",
     "expected a predicate register after '|'"},
    {"setp.lt.u32 %p1|_, %r2, 1;", NULL, NULL},
    {"add.u32 %r1, %q, 1;", "             ^", "'%q' is not declared"},
    {"add.u32 %r1, %r8, 1;", "             ^", "'%r8' is not declared"},
    {"add.u32 %r1, %r7, 1;", NULL, NULL},
    {"add.u32 %r1, %r, 1;", "             ^", "'%r' is not declared"},
    {"add.u32 %r1, _, 1;", "             ^", "'_' can only be a destination"},
    {"add.u32 5, %r2, 1;", "        ^", "the destination must be a register"},
    {"add.u32 [%rd1], %r2, 1;", "         ^", "the destination must be a register, not an address"},
    {"mov.b64 {5, %r1}, %rd1;", "        ^", "the destination must be a register"},
    {"ld.global.v2.u32 {%r1, 5}, [%rd1];", "                 ^",
     "the destination must be a register"},
    {"ld.global.v2.u32 %r1, [%rd1];", "                 ^",
     "expected a vector of 2 elements in braces"},
    {"ld.global.v4.u32 {%r1, %r2}, [%rd1];", "                 ^",
     "the vector has 2 elements; this instruction takes 4"},
    {"st.global.v2.u32 [%rd1], {%r1};", "                         ^",
     "the vector has 1 elements; this instruction takes 2"},
    {"and.pred %p1, %p2, !%p3;", "                    ^",
     "a negated or third predicate operand is not supported here"},
    {"and.pred %p1, %p2, %p3, %p0;", "                        ^",
     "a negated or third predicate operand is not supported here"},
    {"and.pred %p1, %p2, %p3;", NULL, NULL},
    {"add.u32 %r1, %r2, %r3, %r4;", "^", "'add.u32' with these operands is not supported"},
    {"add.u32 %r1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;", "                               ^",
     "too many operands"},
};

static void instructions_are_checked(void **state)
{
    (void)state;
    check_rows(KERNEL_HEAD, "\nret; }\n", 7, instructions, FTH_COUNT(instructions));
}

/* Braces nest at most as deep as this: the scope of the module and that of the function count. */
static void braces_nest(void **state)
{
    (void)state;
    size_t deepest = 0;
    for (size_t depth = 1; depth < 200; depth++) {
        char text[1024] = HEAD ".entry k() {";
        struct fth_ptx_module *module = NULL;
        struct fth_error error = NO_ERROR;
        const size_t start = strlen(text);
        memset(text + start, '{', depth);
        snprintf(text + start + depth, sizeof text - start - depth, "ret;");
        memset(text + start + depth + 4, '}', depth + 1);
        if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) == FTH_OK)
            deepest = depth;
        else
            assert_string_equal(error.cause, "line 4: braces are nested too deeply");
        fth_ptx_destroy(module);
    }
    assert_int_equal(deepest, 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_are_checked),
        cmocka_unit_test(instructions_are_checked),
        cmocka_unit_test(braces_nest),
    };
    return cmocka_run_group_tests_name("ptx_refused", tests, NULL, NULL);
}
