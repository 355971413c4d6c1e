/* The names of variables in PTX. */
#include "../../../frontends/capture/capture.h"
#include "check.h"

#include <stdio.h>

struct names {
    char text[256];
    size_t left; /* names to accept before the search is ended */
};

static bool add_name(void *user, const char *name, size_t length)
{
    struct names *names = user;
    const size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof names->text - used, "%.*s ", (int)length, name);
    return --names->left > 0;
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *ptx, *names;
    } cases[] = {
        {"", ""},
        {".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 a;", "a "},
        {".visible .global .align 4 .b8 array[16] = {1, 2, 3};\n.const .f32 b = 0f3f800000;",
         "array b "},
        {".global .attribute(.managed) .align 8 .u64 managed;", "managed "},
        {".extern .shared .align 16 .b8 shared[];.extern .const .b32 c;", "c "},
        {".global .align 8 .u64 pointers[2] = {generic(a), b};.global .u32 next;",
         "pointers next "},
        {".global .v4 .f32 vector, second;", "vector "},
        {".entry k(.param .u64 p)\n{\n.reg .u32 r;\n.global .u32 inside;\n}\n.global .u32 after;",
         "after "},
        {".func (.param .b32 r) f(.param .b64 p)\n;.global .u32 g;", "g "},
        {"// .global .u32 no;\n/* .global .u32 no;\n*/.global .u32 yes;", "yes "},
        {".file 1 \"a \\\" .global .u32 no;\"\n.global .b8 $str[2] = {1, 0};", "$str "},
        {".section .debug_str\n{\n.b8 1\n}\n.global .u32 last;", "last "},
        {".global .u32 unfinished", "unfinished "},
        {".global .u32 ", ""},
        {"/* open", ""},
        {"\"open", ""},
        {"}", ""},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct names names = {.left = SIZE_MAX};
        capture_variables(cases[i].ptx, strlen(cases[i].ptx), add_name, &names);
        assert_string_equal(names.text, cases[i].names);
    }
}

static void test_end_of_search(void **state)
{
    (void)state;
    static const char ptx[] = ".global .u32 a;.global .u32 b;.global .u32 c;";
    struct names names = {.left = 2};
    capture_variables(ptx, strlen(ptx), add_name, &names);
    assert_string_equal(names.text, "a b ");
}

/* The text need not end with a NUL. */
static void test_size(void **state)
{
    (void)state;
    static const char ptx[] = ".global .u32 abc;";
    for (size_t size = 0; size < strlen(ptx); size++) {
        struct names names = {.left = SIZE_MAX};
        char *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, ptx, size);
        copy[size] = 'X';
        capture_variables(copy, size, add_name, &names);
        char expected[8] = "";
        for (size_t i = 13; i < size && i < 16; i++)
            strncat(expected, &ptx[i], 1);
        if (expected[0])
            strcat(expected, " ");
        assert_string_equal(names.text, expected);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_end_of_search),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
