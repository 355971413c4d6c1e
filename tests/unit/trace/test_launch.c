/* Tests how launch files, buffers and arguments are read (trace/launch/): tables of texts with what
 * they mean, or with the message that refuses them. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>

static const char kernels[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry one(.param .u64 data, .param .u32 count)\n{\nret;\n}\n"
    ".visible .entry two()\n{\nret;\n}\n";

/* Reads a launch file with these members, after "schema" and "ptx". */
static enum fth_status read_members(const char *members, const char *const *sizes,
                                    size_t size_count, struct fth_launch **launch,
                                    struct fth_error *error)
{
    struct fth_buffer text = {0};
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.allow_files = true, .sizes = sizes, .size_count = size_count);
    write_plain("kernels.ptx", kernels, strlen(kernels));
    fth_buffer_format(&text, "{\"schema\": \"fathom-launch/1\", \"ptx\": \"kernels.ptx\", %s}",
                      members);
    const enum fth_status status =
        fth_launch_read_text("x.json", text.data, text.size, &options, launch, error);
    fth_buffer_fini(&text);
    return status;
}

#define TWO "\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": 1}]"
#define ONE(members, arguments)                                                                    \
    "\"buffers\": {\"b\": \"f32[8]\"}, \"launches\": [{\"kernel\": \"one\", \"grid\": 1, "         \
    "\"block\": 1" members ", \"args\": [" arguments "]}]"

static const struct {
    const char *members, *cause;
} faults[] = {
    {"\"x\": 1, " TWO, "the document: unknown key 'x'"},
    {"\"size\": {}, " TWO, "the document: unknown key 'size'; did you mean 'sizes'?"},
    {"\"seed\": -1, " TWO, "the document: \"seed\" must be an integer from 0 to 2^53"},
    {"\"seed\": 0.5, " TWO, "the document: \"seed\" must be an integer from 0 to 2^53"},
    {"\"seed\": true, " TWO, "seed: expected a number or an expression such as \"N/32\""},
    {"\"sizes\": 5, " TWO, "sizes: expected an object"},
    {"\"sizes\": {\"1a\": 5}, " TWO, "sizes: '1a' cannot be the name of a size"},
    {"\"sizes\": {\"a-\": 5}, " TWO, "sizes: 'a-' cannot be the name of a size"},
    {"\"sizes\": {\"i\": 5}, " TWO, "sizes: 'i' cannot be the name of a size"},
    {"\"sizes\": {\"N\": []}, " TWO, "sizes.N: expected a number or an expression"},
    {"\"sizes\": {\"N\": \"M\"}, " TWO, "x.json: sizes.N: "},
    {"\"buffers\": [], " TWO, "buffers: expected an object"},
    {"\"buffers\": {\"u8\": \"u8[1]\"}, " TWO, "buffers.u8: 'u8' cannot be the name of a buffer"},
    {"\"buffers\": {\"a b\": \"u8[1]\"}, " TWO,
     "buffers.a b: 'a b' cannot be the name of a buffer"},
    {"\"buffers\": {\"b\": 5}, " TWO, "buffers.b: expected a string such as"},
    {"\"buffers\": {\"b\": \"u9[5]\"}, " TWO, "x.json: buffers.b: unknown type"},
    {"\"buffers\": {\"b\": \"ptr;u8[5]\"}, " TWO, "x.json: buffers.b: unknown type"},
    {"\"buffers\": {\"b\": \"ptru8[5]\"}, " TWO, "x.json: buffers.b: unknown type"},
    {"\"launches\": []", "launches: expected a non-empty array of launches"},
    {"\"launches\": 5", "launches: expected a non-empty array of launches"},
    {"\"about\": 1", "launches: expected a non-empty array of launches"},
    {"\"launches\": [5]", "launches[0]: expected an object"},
    {"\"launches\": [{\"kernel\": 5}]", "launches[0]: \"kernel\" must be a string"},
    {"\"launches\": [{\"grid\": 1}]",
     "x.json: launches[0]: choose one of the kernels of the file: one, two"},
    {"\"launches\": [{\"kernel\": \"two\"}]", "launches[0].grid: expected one to three numbers"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": []}]",
     "launches[0].grid: expected one to three numbers"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": [1, 1, 1, 1]}]",
     "launches[0].grid: expected one to three numbers"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 0}]",
     "launches[0].grid: 0 is not an integer from 1 to 2.14748365e+09"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": [1, 2147483648]}]",
     "launches[0].grid: 2.14748365e+09 is not an integer"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1.5}]",
     "launches[0].grid: 1.5 is not an integer"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": 1025}]",
     "launches[0].block: 1025 is not an integer from 1 to 1024"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": [1, 1, 65]}]",
     "x.json: launches[0]: 65 threads per block along z exceed the limit of 64"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": 1, \"shared\": -1}]",
     "launches[0]: \"shared\" is -1; expected a whole number of bytes from 0 to 2^30"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": 1, \"shared\": 1073741825}]",
     "launches[0]: \"shared\" is 1.07374182e+09; expected"},
    {"\"launches\": [{\"kernel\": \"two\", \"grid\": 1, \"block\": 1, \"args\": 5}]",
     "launches[0].args: expected an array"},
    {ONE("", "\"b\", true"), "launches[0].args[1]: expected a number, a string"},
    {ONE("", "\"b\", 0.5"), "launches[0].args[1]: argument 2 is an integer of 32 bits"},
    {ONE("", "\"b\", \"s33:5\""), "x.json: launches[0].args[1]: unknown type or buffer"},
    {ONE("", "\"b\", \"u32:-1\""),
     "x.json: launches[0].args[1]: the value is not a number of type u32"},
    {ONE("", "\"b\", \"u32[5\""),
     "x.json: launches[0].args[1]: the value is not a number of type u32"},
    {ONE("", "\"b + 9\", \"u32:5\""),
     "x.json: launches[0].args[0]: the offset must be an integer from 0"},
    {ONE("", "\"b + 0.5\", \"u32:5\""), "x.json: launches[0].args[0]: the offset must be"},
    {ONE("", "\"b+(0-1)\", \"u32:5\""), "x.json: launches[0].args[0]: the offset must be"},
    {ONE("", "\"b+\", \"u32:5\""), "x.json: launches[0].args[0]: "},
    {ONE("", "\"b\""), "it takes 2 arguments (u64, u32), but 1 were given"},
    {ONE("", "\"b\", \"b\""), "argument 2 has 8 bytes, but the kernel takes u64, u32"},
    {ONE("", "\"u16:1\", \"u32:1\""), "argument 1 has 2 bytes, but the kernel takes"},
    {"\"launches\": [{\"for\": 5, \"to\": 1, " TWO "}]",
     "launches[0]: \"for\" must be the name of the loop variable"},
    {"\"launches\": [{\"for\": \"i\", \"to\": 1, " TWO "}]",
     "launches[0]: \"for\" must be the name of the loop variable"},
    {"\"launches\": [{\"for\": \"t\", \"too\": 1, " TWO "}]",
     "launches[0]: unknown key 'too'; did you mean 'to'?"},
    {"\"launches\": [{\"for\": \"t\", " TWO "}]", "launches[0]: \"to\" is missing"},
    {"\"launches\": [{\"for\": \"t\", \"to\": 65537, " TWO "}]",
     "launches[0]: \"to\" is missing, or the loop has more than 65536 iterations"},
    {"\"launches\": [{\"for\": \"t\", \"to\": 65536, \"launches\": [{\"for\": \"u\", \"to\": "
     "1, "
     "\"launches\": [{\"for\": \"v\", \"to\": 0, " TWO "}]}]}]",
     "launches[0]: the loops of the file have more than 65536 iterations"},
    {"\"expect\": 5, " TWO, "expect: expected an array"},
    {"\"expect\": [{\"buffer\": \"b\"}], " TWO, "expect[0]: \"buffer\" must name one"},
    {"\"expect\": [{\"sum\": 1}], " ONE("", "\"b\", \"u32:1\""),
     "expect[0]: \"buffer\" must name one of the buffers"},
    {"\"expect\": [{\"buffer\": \"b\", \"sum\": 1}], " ONE("", "\"b\", \"u32:1\""),
     "expect[0]: expected \"file\", or both \"sum\" and \"moment\""},
    {"\"expect\": [{\"buffer\": \"b\", \"moment\": 1}], " ONE("", "\"b\", \"u32:1\""),
     "expect[0]: expected \"file\", or both \"sum\" and \"moment\""},
    {"\"expect\": [{\"buffer\": \"b\", \"sizes\": {\"N\": 1}}], " ONE("", "\"b\", \"u32:1\""),
     "expect[0]: unknown size 'N'"},
    {"\"expect\": [{\"buffers\": \"b\"}], " TWO,
     "expect[0]: unknown key 'buffers'; did you mean 'buffer'?"},
};

static void faults_of_launch_files_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        if (read_members(faults[i].members, NULL, 0, &launch, &error) == FTH_OK)
            fail_msg("%s is accepted", faults[i].members);
        assert_null(launch);
        if (strncmp(error.cause, faults[i].cause, strlen(faults[i].cause)) != 0 &&
            !strstr(error.cause, faults[i].cause))
            fail_msg("%s: %s", faults[i].members, error.cause);
    }
}

static const char complete[] =
    "\"seed\": 9007199254740992, \"sizes\": {\"N\": 4, \"M\": \"N*2\", \"_k1\": \"M+1\"}, "
    "\"buffers\": {\"a\": \"f32[N*M]=random(-1,M)\", \"c\": \"u32[_k1]=iota\", "
    "\"d\": \"s16[2]=-5\", \"e\": \"u8[3]\", \"f\": \"u64[1]=random\", \"g\": \"f64[2]=i/2\"}, "
    "\"launches\": ["
    "{\"kernel\": \"one\", \"grid\": [2, \"N\"], \"block\": 1024, \"shared\": 1073741824, "
    "\"args\": [\"a\", \"u32:7\"]}, "
    "{\"for\": \"t\", \"from\": 1, \"to\": 3, \"launches\": [{\"kernel\": \"one\", "
    "\"grid\": 2147483647, \"block\": [1, 2, 64], \"args\": [\"c + t*2\", \"s32:t-3\"]}]}, "
    "{\"for\": \"t\", \"to\": 1, \"launches\": [{\"kernel\": \"two\", \"grid\": \"t+1\", "
    "\"block\": 1}]}], "
    "\"expect\": [{\"buffer\": \"c\", \"sum\": 36, \"moment\": \"N*6\", \"relative\": 0.25, "
    "\"absolute\": 0.5, \"sizes\": {\"N\": 4, \"M\": 8}}, "
    "{\"buffer\": \"e\", \"file\": \"data\"}, "
    "{\"buffer\": \"d\", \"sum\": 1, \"moment\": 1, \"sizes\": {\"N\": 4, \"M\": 9}}]";

static void describe_launch(const struct fth_launch *launch, struct fth_buffer *out)
{
    fth_buffer_format(out, "seed %llu\n", (unsigned long long)launch->seed);
    for (size_t i = 0; i < launch->buffer_count; i++) {
        const struct fth_launch_buffer *b = &launch->buffers[i];
        fth_buffer_format(out, "%s %s %llu fill %d", b->name, b->element->name,
                          (unsigned long long)b->count, b->fill);
        if (b->fill == FTH_FILL_RANDOM)
            fth_buffer_format(out, " %g %g %d", b->low, b->high, b->whole_range);
        if (b->fill == FTH_FILL_CONSTANT)
            fth_buffer_format(out, " %llx", (unsigned long long)b->bits);
        fth_buffer_text(out, "\n");
    }
    for (size_t i = 0; i < fth_launch_step_count(launch); i++) {
        const struct fth_launch_step *s = &launch->steps[i];
        fth_buffer_format(out, "%s %u,%u,%u %u,%u,%u %zu:", fth_launch_kernel(launch, i),
                          s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2],
                          s->shared_bytes);
        for (size_t k = 0; k < s->argument_count; k++) {
            const struct fth_launch_argument *a = &s->arguments[k];
            if (a->element)
                fth_buffer_format(out, " %s %llx", a->element->name, (unsigned long long)a->bits);
            else
                fth_buffer_format(out, " %s+%llu", launch->buffers[a->buffer].name,
                                  (unsigned long long)a->offset);
        }
        fth_buffer_text(out, "\n");
    }
    for (size_t i = 0; i < launch->expectation_count; i++) {
        const struct fth_expectation *e = &launch->expectations[i];
        fth_buffer_format(out, "expect %s %s %g %g %g %g\n", launch->buffers[e->buffer].name,
                          e->path ? e->path : "-", e->sum, e->moment, e->relative, e->absolute);
    }
}

static void launch_files_are_read_completely(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "seed 9007199254740992\na f32 32 fill 1 -1 8 0\nc u32 9 fill 2\nd s16 2 fill 3 fffb\n"
        "e u8 3 fill 0\nf u64 1 fill 1 0 1 1\ng f64 2 fill 5\n"
        "one 2,4,1 1024,1,1 1073741824: a+0 u32 7\n"
        "one 2147483647,1,1 1,2,64 0: c+2 s32 fffffffe\n"
        "one 2147483647,1,1 1,2,64 0: c+4 s32 ffffffff\n"
        "two 1,1,1 1,1,1 0:\n"
        "expect c - 36 24 0.25 0.5\nexpect e data 0 0 0 0\n",
        /* N=3 M=4: the sizes of the first expectation differ. */
        "seed 9007199254740992\na f32 12 fill 1 -1 4 0\nc u32 5 fill 2\nd s16 2 fill 3 fffb\n"
        "e u8 3 fill 0\nf u64 1 fill 1 0 1 1\ng f64 2 fill 5\n"
        "one 2,3,1 1024,1,1 1073741824: a+0 u32 7\n"
        "one 2147483647,1,1 1,2,64 0: c+2 s32 fffffffe\n"
        "one 2147483647,1,1 1,2,64 0: c+4 s32 ffffffff\n"
        "two 1,1,1 1,1,1 0:\n"
        "expect e data 0 0 0 0\n",
    };
    static const char *const sizes[] = {"N=5", "M=N+1", "N=3"};
    for (size_t i = 0; i < 2; i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        struct fth_buffer out = {0};
        if (read_members(complete, sizes, i * 3, &launch, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        describe_launch(launch, &out);
        assert_string_equal(out.data, expected[i]);
        assert_null(fth_launch_kernel(launch, fth_launch_step_count(launch)));
        fth_buffer_fini(&out);
        fth_launch_destroy(launch);
    }
    static const char *const wrong[] = {"K=5", "N", "i=5"};
    for (size_t i = 0; i < FTH_COUNT(wrong); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(read_members(complete, &wrong[i], 1, &launch, &error), FTH_INVALID);
        assert_string_equal(error.argument, wrong[i]);
        assert_string_equal(error.cause, "expected NAME=VALUE with the name of a size in 'x.json'");
    }
}

/* Eight nested loops are allowed. */
static void loops_are_nested_up_to_a_limit(void **state)
{
    (void)state;
    for (int depth = 8; depth <= 9; depth++) {
        struct fth_buffer text = {0};
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        for (int i = 0; i < depth; i++)
            fth_buffer_format(&text, "\"launches\": [{\"for\": \"t%d\", \"to\": 1, ", i);
        fth_buffer_text(&text, TWO);
        for (int i = 0; i < depth; i++)
            fth_buffer_text(&text, "}]");
        assert_int_equal(read_members(text.data, NULL, 0, &launch, &error),
                         depth == 8 ? FTH_OK : FTH_INVALID);
        if (depth == 9)
            assert_contains(error.cause, "more than 8 nested loops");
        else
            assert_int_equal(fth_launch_step_count(launch), 1);
        fth_launch_destroy(launch);
        fth_buffer_fini(&text);
    }
    struct fth_launch *launch = NULL;
    assert_int_equal(read_members("\"launches\": [{\"for\": \"t\", \"to\": 65536, \"launches\": "
                                  "[{\"for\": \"u\", \"to\": 0, " TWO "}]}]",
                                  NULL, 0, &launch, NULL),
                     FTH_OK);
    assert_int_equal(fth_launch_step_count(launch), 0);
    fth_launch_destroy(launch);
}

static void buffers_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause; /* NULL: it is accepted */
    } rows[] = {
        {"f32[1]=1.5", NULL},
        {"ptr:f32[1]=1.5", NULL},
        {"u8[68719476736]", NULL},
        {"u8[68719476737]", "an integer from 1 to 2^36"},
        {"u8[0]", "an integer from 1 to 2^36"},
        {"u8[1.5]", "an integer from 1 to 2^36"},
        {"u8[5", "an integer from 1 to 2^36"},
        {"u8", "an integer from 1 to 2^36"},
        {"u8[x]", "an integer from 1 to 2^36: "},
        {"u8[]", "the brackets may be empty only with =file:PATH; give a count"},
        {"u8[]=5", "the brackets may be empty only with =file:PATH; give a count"},
        {"u8[5]5", "unexpected '5' after the count; the contents follow '='"},
        {"u8[5]=256", NULL}, /* an expression, which is evaluated later */
        {"u8[5]=random(1,2)", NULL},
        {"u8[5]=random(2,2)", NULL},
        {"u8[5]=random(1.5,2)", NULL},
        {"u8[5]=random(1.5,1.75)", "no integer lies between LOW and HIGH"},
        {"f32[5]=random(1.5,1.75)", NULL},
        {"u8[5]=random(2,1)", "LOW must not be greater than HIGH"},
        {"u64[5]=random(0,9007199254740992)", NULL},
        {"u64[5]=random(0,9007199254740994)", "one of them exceeds 2^53"},
        {"s64[5]=random(0-9007199254740994,0)", "one of them exceeds 2^53"},
        {"f64[5]=random(0,9007199254740994)", NULL},
        {"u8[5]=random(1)", "expected random or random(LOW,HIGH)"},
        {"u8[5]=random(1,2", "expected random or random(LOW,HIGH)"},
        {"u8[5]=random(1,2)x", "expected random or random(LOW,HIGH)"},
        {"u8[5]=random(x,2)", "x"},
        {"u8[5]=random(1,x)", "x"},
        {"u8[5]=nothing", "'nothing' is not zero, iota, random, random(LOW,HIGH), file:PATH"},
        {"u16[2]=file:four", NULL},
        {"u16[]=file:four", NULL},
        {"u16[3]=file:four", "the file holds only 2 elements of this type"},
        {"u64[]=file:four", "the file holds only 0 elements of this type"},
        {"u8[1]=file:none", "No such file"},
    };
    write_plain("four", "abcd", 4);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(read_members(TWO, NULL, 0, &launch, NULL), FTH_OK);
        const enum fth_status status = fth_launch_add_buffer(launch, "b", rows[i].text, &error);
        if (!rows[i].cause ? status != FTH_OK
                           : status == FTH_OK || !strstr(error.cause, rows[i].cause))
            fail_msg("%s: %s", rows[i].text, error.cause);
        assert_int_equal(launch->buffer_count, status == FTH_OK);
        if (strcmp(rows[i].text, "u16[]=file:four") == 0)
            assert_int_equal(launch->buffers[0].count, 2);
        fth_launch_destroy(launch);
    }
}

static void numbers_fit_their_types(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
        bool fits;
        uint64_t bits;
        const char *written;
    } rows[] = {
        {"u8", "255", true, 0xff, "255"},
        {"u8", "256", false, 0, NULL},
        {"u8", "-1", false, 0, NULL},
        {"b8", "0x10", true, 0x10, "16"},
        {"s8", "-128", true, 0x80, "-128"},
        {"s8", "-129", false, 0, NULL},
        {"i8", "255", true, 0xff, "-1"},
        {"s16", "-32768", true, 0x8000, "-32768"},
        {"u16", "65536", false, 0, NULL},
        {"i32", "-2147483648", true, 0x80000000, "-2147483648"},
        {"s32", "-2147483649", false, 0, NULL},
        {"u32", "4294967295", true, 0xffffffff, "4294967295"},
        {"u32", "4294967296", false, 0, NULL},
        {"u64", "18446744073709551615", true, UINT64_MAX, "18446744073709551615"},
        {"s64", "-9223372036854775808", true, UINT64_C(1) << 63, "-9223372036854775808"},
        {"f32", "1.5", true, 0x3fc00000, "1.5"},
        {"f64", "-2", true, 0xc000000000000000, "-2"},
        {"f32", "1.5x", false, 0, NULL},
        {"f32", "", false, 0, NULL},
        {"u32", "x", false, 0, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t bits = 0;
        struct fth_buffer out = {0};
        const struct fth_scalar_type *type =
            fth_scalar_type_find(rows[i].type, strlen(rows[i].type));
        if (fth_scalar_parse(type, rows[i].text, &bits) != rows[i].fits)
            fail_msg("%s:%s", rows[i].type, rows[i].text);
        if (!rows[i].fits)
            continue;
        assert_true(bits == rows[i].bits);
        fth_scalar_format(type, &bits, &out);
        assert_string_equal(out.data, rows[i].written);
        assert_true(fth_scalar_to_double(type, &bits) == strtod(rows[i].written, NULL));
        fth_buffer_fini(&out);
    }
    assert_null(fth_scalar_type_find("u8", 1));
    assert_null(fth_scalar_type_find("u128", 4));
    assert_ptr_equal(fth_scalar_type_find("i16:5", 3), fth_scalar_type_find("s16", 3));
}

static void doubles_become_numbers_of_a_type(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double value;
        bool fits;
        uint64_t bits;
    } rows[] = {
        {"u8", 255, true, 255},
        {"u8", 256, false, 0},
        {"u8", 0, true, 0},
        {"u8", -1, false, 0},
        {"s8", -128, true, 0x80},
        {"s8", -129, false, 0},
        {"s8", 255, true, 0xff},
        {"u8", 1.5, false, 0},
        {"s32", -1, true, 0xffffffff},
        {"u64", 0x1p63, true, UINT64_C(1) << 63},
        {"u64", 0x1p64, false, 0},
        {"s64", -0x1p63, true, UINT64_C(1) << 63},
        {"f32", 1.5, true, 0x3fc00000},
        {"f64", 1.5, true, 0x3ff8000000000000},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t bits = 0;
        const struct fth_scalar_type *type =
            fth_scalar_type_find(rows[i].type, strlen(rows[i].type));
        if (fth_scalar_from_double(type, rows[i].value, &bits) != rows[i].fits ||
            (rows[i].fits && bits != rows[i].bits))
            fail_msg("%s:%g", rows[i].type, rows[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_launch_files_are_refused),
        cmocka_unit_test(launch_files_are_read_completely),
        cmocka_unit_test(loops_are_nested_up_to_a_limit),
        cmocka_unit_test(buffers_are_parsed),
        cmocka_unit_test(numbers_fit_their_types),
        cmocka_unit_test(doubles_become_numbers_of_a_type),
    };
    return cmocka_run_group_tests_name("launch", tests, enter_folder, leave_folder);
}
