/* Tests of arguments without types, structs as texts, buffers with several dimensions, and
 * variables of the module. The kernel `plain` writes its arguments to a buffer; the name states
 * their types. The name of `bare` does not; it adds 1 to its fourth argument as to a float. `sum`
 * adds `scale` to the numbers of `table`, counts its launches in `hits`, and writes the result.
 * `copy` writes the 24 bytes of its second argument. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>

static const char module[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".const .align 4 .b8 table[16];\n.const .align 4 .f32 scale = 0f40000000;\n"
    ".global .align 4 .u32 hits = 5;\n.const .align 4 .u32 _ZN2ns5limitE;\n"
    ".visible .entry _Z5plainPfifh6__half(.param .u64 to, .param .u32 n, .param .f32 x,\n"
    "    .param .u8 c, .param .align 2 .b8 h[2])\n{\n"
    "    .reg .b64 %rd<2>;\n    .reg .b32 %r<2>;\n    .reg .f32 %f<2>;\n    .reg .b16 %h<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u32 %r1, [n];\n    ld.param.f32 %f1, [x];\n"
    "    ld.param.u8 %h1, [c];\n    ld.param.b16 %h2, [h];\n"
    "    st.global.u32 [%rd1], %r1;\n    st.global.f32 [%rd1+4], %f1;\n"
    "    st.global.u16 [%rd1+8], %h1;\n    st.global.b16 [%rd1+10], %h2;\n    ret;\n}\n"
    ".visible .entry bare(.param .u64 to, .param .u32 n, .param .b32 x, .param .b32 y)\n{\n"
    "    .reg .b64 %rd<3>;\n    .reg .b32 %r<3>;\n    .reg .f32 %f<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    ld.param.u32 %r1, [n];\n    ld.param.b32 %r2, [x];\n    ld.param.b32 %f1, [y];\n"
    "    add.f32 %f2, %f1, 0f3F800000;\n    st.global.u32 [%rd2], %r1;\n"
    "    st.global.b32 [%rd2+4], %r2;\n    st.global.f32 [%rd2+8], %f2;\n    ret;\n}\n"
    ".visible .entry sum(.param .u64 to)\n{\n"
    "    .reg .b64 %rd<2>;\n    .reg .f32 %f<8>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.const.f32 %f1, [scale];\n"
    "    ld.const.f32 %f2, [table];\n    add.f32 %f1, %f1, %f2;\n"
    "    ld.const.f32 %f2, [table+4];\n    add.f32 %f1, %f1, %f2;\n"
    "    ld.const.f32 %f2, [table+8];\n    add.f32 %f1, %f1, %f2;\n"
    "    ld.const.f32 %f2, [table+12];\n    add.f32 %f1, %f1, %f2;\n"
    "    ld.global.u32 %r1, [hits];\n    add.u32 %r1, %r1, 1;\n    st.global.u32 [hits], %r1;\n"
    "    st.global.f32 [%rd1], %f1;\n    ret;\n}\n"
    ".visible .entry copy(.param .u64 to, .param .align 8 .b8 s[24])\n{\n"
    "    .reg .b64 %rd<5>;\n    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [s];\n"
    "    ld.param.u64 %rd3, [s+8];\n    ld.param.u64 %rd4, [s+16];\n"
    "    st.global.u64 [%rd1], %rd2;\n    st.global.u64 [%rd1+8], %rd3;\n"
    "    st.global.u64 [%rd1+16], %rd4;\n    ret;\n}\n";

enum { MAX_ARGUMENTS = 6 };

/* Opens a kernel of the module with these arguments and variables. */
static enum fth_status open_kernel(const char *kernel, const char *const *arguments,
                                   const char *const *variables, struct fth_launch **launch,
                                   struct fth_error *error)
{
    size_t argument_count = 0, variable_count = 0;
    while (arguments && arguments[argument_count])
        argument_count++;
    while (variables && variables[variable_count])
        variable_count++;
    write_plain("k.ptx", module, sizeof module - 1);
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.kernel = kernel, .arguments = arguments,
                           .argument_count = argument_count, .block = {1}, .variables = variables,
                           .variable_count = variable_count);
    return fth_launch_open("k.ptx", &options, launch, error);
}

/* Runs the kernel and returns the values of the buffer with this index as text; the caller frees it
 * with fth_free. */
static char *run_kernel(const char *device, const char *kernel, const char *const *arguments,
                        const char *const *variables, size_t index)
{
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    char *values = NULL, text[sizeof error];
    const struct fth_run_options options = FTH_RUN_OPTIONS(.device = device);
    if (open_kernel(kernel, arguments, variables, &launch, &error) != FTH_OK ||
        fth_launch_run(launch, &options, NULL, &error) != FTH_OK ||
        fth_launch_show(launch, index, 0, &view, &values, &error) != FTH_OK)
        fail_msg("%s", fth_error_text(&error, text, sizeof text));
    fth_launch_destroy(launch);
    return values;
}

static void numbers_get_the_types_of_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *arguments[MAX_ARGUMENTS], *values;
    } cases[] = {
        {"plain", {"ptr:s32[3]", "-5", "1", "2", "3", NULL}, "-5 1065353216 1107296258"},
        {"plain", {"ptr:u16[6]", "2*3", "1/4", "255", "1.5", NULL}, "6 0 0 16000 255 15872"},
        {"plain", {"ptr:u32[3]", "1", "inf", "2", "-inf", NULL}, "1 2139095040 4227858434"},
        {"plain", {"ptr:f32[3]", "0", "nan", "0", "0", NULL}, "0 nan 0"},
        {"bare", {"ptr:u32[3]", "4000000000", "i32:7", "1", NULL}, "4000000000 7 1073741824"},
        {"bare", {"ptr:s32[3]", "-4", "i32:7", "1", NULL}, "-4 7 1073741824"},
        {"bare", {"ptr:f32[3]", "0", "f32:7", "1", NULL}, "0 7 2"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        char *values = run_kernel(NULL, cases[i].kernel, cases[i].arguments, NULL, 0);
        assert_string_equal(values, cases[i].values);
        fth_free(values);
    }
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *arguments[MAX_ARGUMENTS], *message;
    } cases[] = {
        {"plain", {"5", NULL}, "argument 1 is a pointer (float*); pass a buffer"},
        {"bare", {"5", NULL}, "argument 1 is a pointer; pass a buffer"},
        {"plain", {"null", "0.5", NULL}, "argument 2 is an integer of 32 bits (s32)"},
        {"plain", {"null", "inf", NULL}, "argument 2 is an integer of 32 bits (s32)"},
        {"plain", {"null", "99999999999", NULL}, "argument 2 is an integer of 32 bits (s32)"},
        {"plain", {"null", "1", "1", "-1", NULL}, "argument 4 is an integer of 8 bits (u8)"},
        {"bare", {"null", "1", "5", NULL}, "does not state the type of argument 3"},
        {"copy", {"null", "5", NULL}, "argument 2 is a struct of 24 bytes; pass its members"},
        {"copy", {"null", "{5}", NULL}, "the types of the members of a struct are not known"},
        {"copy", {"null", "{i32:5", NULL}, "expected a struct such as {i32:1,f32:2}"},
        {"copy", {"null", "{i32:5}}", NULL}, "expected a struct such as"},
        {"copy", {"null", "{}", NULL}, "expected a struct such as"},
        {"copy", {"null", "{i32:5,,i32:6}", NULL}, "expected a struct such as"},
        {"copy", {"null", "{{{{{{{{{i32:1}}}}}}}}}", NULL}, "structs can be nested 8 deep"},
        {"copy", {"null", "{f31:5}", NULL}, "unknown type or buffer"},
        {"sum", {"null", "5", NULL}, "the kernel takes only 1 arguments"},
        {"sum", {"ptr:f32[4][0]", NULL}, "an integer from 1 to 2^36"},
        {"sum", {"ptr:f32[4][]", NULL}, "an integer from 1 to 2^36"},
        {"sum", {"ptr:f32[][4]", NULL}, "unexpected '[4]' after the count"},
        {"sum", {"ptr:f32[65536][65536][65536]", NULL}, "exceeds 2^36 elements"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(open_kernel(cases[i].kernel, cases[i].arguments, NULL, &launch, &error),
                         FTH_INVALID);
        assert_null(launch);
        assert_contains(error.cause, cases[i].message);
    }
}

/* Members are placed as in C, also those of structs in structs. */
static void structs_are_texts(void **state)
{
    (void)state;
    static const char *const nested[] = {"ptr:u8[24]=9", "{u8:1, {u16:2, i32:-1}, f64:0}", NULL};
    static const char *const buffers[] = {
        "ptr:u64[3]", "{ptr:f32[2][2]=random(3,3), u8:1,ptr:u16[5]=min(i,3)}", NULL};
    static const char *const wanted[] = {"3 3 3 3", "0 1 2 3 3"};
    char *values = run_kernel(NULL, "copy", nested, NULL, 0);
    assert_string_equal(values, "1 0 0 0 2 0 0 0 255 255 255 255 0 0 0 0 0 0 0 0 0 0 0 0");
    fth_free(values);
    for (size_t i = 0; i < 2; i++) {
        values = run_kernel(NULL, "copy", buffers, NULL, i + 1);
        assert_string_equal(values, wanted[i]);
        fth_free(values);
    }
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    assert_int_equal(open_kernel("copy", buffers, NULL, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_launch_show(launch, 2, 0, &view, &values, &error), FTH_OK);
    fth_free(values);
    assert_string_equal(view.name, "argument-2.2");
    assert_int_equal(view.count, 5);
    assert_int_equal(fth_launch_save(launch, "saved", &error), FTH_OK);
    assert_int_equal(remove("saved/argument-1.bin"), 0);
    assert_int_equal(remove("saved/argument-2.1.bin"), 0);
    assert_int_equal(remove("saved/argument-2.2.bin"), 0);
    fth_launch_destroy(launch);
}

/* ---- variables ---- */

static const char *const devices[] = {NULL, "sim:h200"};

static void variables_have_contents(void **state)
{
    (void)state;
    static const char *const to[] = {"ptr:f32[1]", NULL};
    static const struct {
        const char *variables[4], *sum;
        const char *shown[3]; /* contents of the variables afterwards; NULL: not compared */
    } cases[] = {
        {{NULL}, "2", {NULL}},
        {{"scale", "hits", NULL}, "2", {"2", "6"}},
        {{"table=f32[4]=iota", NULL}, "8", {"0 1 2 3"}},
        {{"table=f32[2][2]=1", "scale=0.5", NULL}, "4.5", {"1 1 1 1", "0.5"}},
        {{"table=f32[]=i*i", "hits=i32:-3", NULL}, "16", {"0 1 4 9", "-2"}},
        {{"table=f32[2]=10", "scale=f32:-1", "hits=-7", NULL}, "19", {"10 10", "-1", "-6"}},
        {{"scale=zero", "table=u8[16]", "hits=7", NULL}, "0", {"0", NULL, "8"}},
        {{"table=e5m2[]=zero", "ns::limit=9", NULL}, "2", {NULL, "9"}},
    };
    for (size_t d = 0; d < FTH_COUNT(devices); d++)
        for (size_t i = 0; i < FTH_COUNT(cases); i++) {
            char *values = run_kernel(devices[d], "sum", to, cases[i].variables, 0);
            assert_string_equal(values, cases[i].sum);
            fth_free(values);
            for (size_t k = 0; k < 3; k++) {
                if (!cases[i].shown[k])
                    continue;
                values = run_kernel(devices[d], "sum", to, cases[i].variables, k + 1);
                assert_string_equal(values, cases[i].shown[k]);
                fth_free(values);
            }
        }
}

static void wrong_variables_are_refused(void **state)
{
    (void)state;
    static const char *const to[] = {"ptr:f32[1]", NULL};
    static const struct {
        const char *variables[3];
        enum fth_status status;
        const char *message;
    } cases[] = {
        {{"tabel=f32[4]", NULL}, FTH_NOT_FOUND, "no such variable; did you mean 'table'?"},
        {{"xyzzy=1", NULL}, FTH_NOT_FOUND, "choose one of the variables of the PTX file: table"},
        {{"table=1", NULL}, FTH_INVALID, "states only the size of this variable, 16 bytes"},
        {{"table=f32[5]", NULL}, FTH_INVALID, "room for 4 elements of type f32, not for 5"},
        {{"table=f64[3]=1", NULL}, FTH_INVALID, "room for 2 elements of type f64, not for 3"},
        {{"hits=f64[]", NULL}, FTH_INVALID, "room for 0 elements of type f64"},
        {{"hits=0.5", NULL}, FTH_INVALID, "is not zero, iota, random"},
        {{"hits=1", "hits", NULL}, FTH_INVALID, "the variable is given twice"},
        {{"table=f32[4]=file:none", NULL}, FTH_NOT_FOUND, "No such file"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        const enum fth_status status = open_kernel("sum", to, cases[i].variables, &launch, &error);
        if (status == FTH_OK) /* the value is computed when the launch runs */
            assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), cases[i].status);
        else
            assert_int_equal(status, cases[i].status);
        if (status != FTH_OK)
            assert_contains(error.cause, cases[i].message);
        fth_launch_destroy(launch);
    }
}

/* ---- launch files ---- */

static enum fth_status read_file(const char *rest, struct fth_launch **launch,
                                 struct fth_error *error)
{
    char text[1000];
    write_plain("k.ptx", module, sizeof module - 1);
    const int size = snprintf(text, sizeof text,
                              "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"sizes\": "
                              "{\"N\": 4}, \"buffers\": {\"to\": \"u32[8]\"}, %s}",
                              rest);
    assert_in_range(size, 1, sizeof text - 1);
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = NULL);
    return fth_launch_read_text("l.json", text, (size_t)size, &options, launch, error);
}

#define LAUNCH(kernel, args)                                                                       \
    "\"launches\": [{\"kernel\": \"" kernel "\", \"grid\": 1, \"block\": 1, \"args\": " args "}]"

static void launch_files_have_all_of_them(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        uint32_t words[6];
    } cases[] = {
        {LAUNCH("plain", "[\"to\", \"N*2\", 0.5, 1, 2]"), {8, 0x3f000000, 0x40000001}},
        {LAUNCH("copy", "[\"to\", [\"u8:1\", [\"i32:2\", [\"u16:N\"]], \"null\"]]"), {1, 2, 4}},
        {LAUNCH("copy", "[\"to\", \"{u8:1,{i32:2,{u16:N}},null}\"]"), {1, 2, 4}},
        {"\"variables\": {\"table\": \"f32[N]=N\", \"scale\": 1, \"hits\": null}, " LAUNCH(
             "sum", "[\"to\"]"),
         {0x41880000}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_launch *launch = NULL;
        struct fth_launch_view view;
        struct fth_error error = NO_ERROR;
        void *values = NULL;
        char text[sizeof error];
        if (read_file(cases[i].rest, &launch, &error) != FTH_OK ||
            fth_launch_run(launch, NULL, NULL, &error) != FTH_OK ||
            fth_launch_values(launch, "to", &view, &values, &error) != FTH_OK)
            fail_msg("%s", fth_error_text(&error, text, sizeof text));
        assert_memory_equal(values, cases[i].words, sizeof cases[i].words);
        fth_free(values);
        fth_launch_destroy(launch);
    }
}

static void wrong_launch_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *message;
    } cases[] = {
        {"\"variables\": 5, " LAUNCH("sum", "[\"to\"]"), "variables: expected an object"},
        {"\"variables\": {\"table\": []}, " LAUNCH("sum", "[\"to\"]"),
         "variables.table: expected a string such as \"f32[64]=random\", a number or null"},
        {"\"variables\": {\"hits\": \"x\"}, " LAUNCH("sum", "[\"to\"]"), "variables.hits"},
        {LAUNCH("sum", "[true]"), "expected a number, a string"},
        {LAUNCH("sum", "[7]"), "launches[0].args[0]"},
        {LAUNCH("copy", "[\"to\", \"ptr:f32[4]\"]"), "unknown type or buffer"},
        {LAUNCH("copy", "[\"to\", [[[[[[[[[\"i32:1\"]]]]]]]]]]"), "structs can be nested 8 deep"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_not_equal(read_file(cases[i].rest, &launch, &error), FTH_OK);
        assert_null(launch);
        assert_contains(error.cause, cases[i].message);
    }
}

/* The initial contents of a variable are known only if the launch sets them. */
static void first_values_of_variables(void **state)
{
    (void)state;
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    float *values = NULL;
    assert_int_equal(
        read_file("\"variables\": {\"table\": \"f32[N]=iota\", \"hits\": null}, " LAUNCH(
                      "sum", "[\"to\"]"),
                  &launch, &error),
        FTH_OK);
    assert_int_equal(fth_launch_first_values(launch, "table", &view, (void **)&values, &error),
                     FTH_OK);
    assert_float_equal(values[3], 3, 0);
    fth_free(values);
    assert_int_equal(fth_launch_first_values(launch, "hits", &view, (void **)&values, &error),
                     FTH_UNAVAILABLE);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_get_the_types_of_parameters),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(structs_are_texts),
        cmocka_unit_test(variables_have_contents),
        cmocka_unit_test(wrong_variables_are_refused),
        cmocka_unit_test(launch_files_have_all_of_them),
        cmocka_unit_test(wrong_launch_files_are_refused),
        cmocka_unit_test(first_values_of_variables),
    };
    return cmocka_run_group_tests_name("launch_values", tests, enter_folder, leave_folder);
}
