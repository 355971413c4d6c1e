/* Tests of ptx/parse: line numbers, positions in the source, declarations and their initial values,
 * and operands that the assembler of NVIDIA refuses, too. test_ptx.c has other rejected files. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* A kernel that declares some registers. BODY begins at line 6. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 p) {\n"                                                    \
         ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; " \
         ".reg .f64 %fd<4>;\n" BODY "\nret;\n}\n"

static struct fth_ptx_module *read_valid(const char *text)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    return module;
}

/* Fails unless the text is refused with this cause and this excerpt. */
static void check_refused(const char *text, size_t size, const char *cause, const char *excerpt)
{
    struct fth_error error = NO_ERROR;
    if (!is_refused(text, size, &error))
        fail_msg("accepted: %s", text);
    assert_contains(error.cause, cause);
    if (excerpt)
        assert_string_equal(error.excerpt, excerpt);
}

/* ---- lines ---- */

/* Every way in which a text can contain a line break counts the lines. */
static void errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        unsigned lines; /* line breaks in `before` */
    } rows[] = {
        {"", 0},
        {"\n", 1},
        {"\n\n \n\t\n", 4},
        {"\r\n\r\n", 2},
        {"// comment\n", 1},
        {"// comment /* \n// */ \n", 2},
        {"/* one line */ ", 0},
        {"/* two\nlines */ ", 1},
        {"/*\n\n\n*/\n", 4},
        {"/**\n**/ /***/ /*/\n*/ ", 2},
        {"/* // */ \n", 1},
        {".pragma \"nounroll\";\n", 1},
        {".global .u32 x\n;\n", 2},
        {".global .u32 y[2] = {1,\n/*\n*/ 2};\n", 3},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[512], cause[64];
        int size = snprintf(text, sizeof text, HEAD "%s.frob;\n", rows[i].before);
        snprintf(cause, sizeof cause, "line %u: expected a module directive", 4 + rows[i].lines);
        check_refused(text, (size_t)size, cause, NULL);
    }
    /* The position of a token in its line, and the parts of a long line. */
    check_refused(HEAD "  \t .frob;", strlen(HEAD "  \t .frob;"), "line 4:", "  .frob;\n  ^");
    check_refused("x", 1, "line 1:", "  x\n  ^");
    /* A comment of two characters at the end of the file. */
    check_refused(HEAD "\n/*", strlen(HEAD "\n/*"), "line 5: unterminated comment", "  /*\n  ^");
    fth_ptx_destroy(read_valid(HEAD "//"));
    fth_ptx_destroy(read_valid(HEAD "/**/"));
    char text[400];
    memset(text, 'a', sizeof text);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text, HEAD, strlen(HEAD));
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text + strlen(HEAD), "/* ", 3);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text + 200, "*/.frob", 7);
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_read_text("test.ptx", text, sizeof text, &module, &error),
                     FTH_INVALID);
    const char *caret = strchr(error.excerpt, '\n');
    assert_non_null(caret);
    assert_int_equal(caret - error.excerpt, 2 + 100); /* the line */
    assert_int_equal(strlen(caret), 1 + 2 + 60 + 1);  /* the caret, 60 columns from its start */
    assert_memory_equal(error.excerpt + 2 + 60, ".frob", 5);
}

/* Bytes that a terminal could interpret, and bytes that are not text, do not get into an excerpt.
 * The caret stays below the token. */
static void excerpts_are_printable(void **state)
{
    (void)state;
    static const struct {
        const char *line, *excerpt;
    } rows[] = {
        {"\033[31m.frob;", "  ?[31m.frob;\n  ^"},
        {"/* \302\233 */.frob;", "  /* ? */.frob;\n         ^"},
        {"/* \342\200\256 */.frob;", "  /* ? */.frob;\n         ^"},
        {"/* \303\251\tx */.frob;", "  /* \303\251 x */.frob;\n           ^"},
        {"/* \355\270 */.frob \377;", "  /* ?? */.frob ?;\n          ^"},
        {"/* \177 */.frob\r", "  /* ? */.frob?\n         ^"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[256];
        int size = snprintf(text, sizeof text, HEAD "%s\n", rows[i].line);
        check_refused(text, (size_t)size, "line 4: expected a module directive", rows[i].excerpt);
    }
    /* Beyond the beginning of a file, a NUL is an unexpected character. */
    static char text[8192];
    memset(text, '\n', sizeof text);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text, HEAD, strlen(HEAD));
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text + 6000, "\0.frob", 6);
    check_refused(text, sizeof text, "expected a module directive", "  ?.frob\n  ^");
}

static void binary_files_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        bool binary;
    } rows[] = {
        {".version\0", 9, true},
        {".version 7.0", 12, false},
        {"\303\251", 2, false},
        {"", 0, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        assert_int_equal(fth_ptx_is_binary(rows[i].data, rows[i].size), rows[i].binary);
        if (rows[i].binary)
            check_refused(rows[i].data, rows[i].size, "this is a binary file, not PTX", "");
    }
}

static void kernels_are_found_without_parsing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names; /* the names are separated by commas */
    } rows[] = {
        {"", ""},
        {".entry", ""},
        {".entry ", ""},
        {".visible .entry k(", "k"},
        {".entry\n\t$a_1%Z\n(\n.param .u64 p)\n{ret;}\n.weak .entry b()", "$a_1%Z,b"},
        {".entry/* name */k()", "k"},
        {".entry // name\nk()", "k"},
        {"/* .entry a */ .entry b() // .entry c\n.entry d()", "b,d"},
        {"/* .entry a", ""},
        {"// .entry a", ""},
        {".entry k / .entry l", "k,l"},
        {".entryk a() .entry.k b()", ""},
        {".func f() { call.uni g; } .entry k", "k"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        /* A copy without a NUL, so that tools find accesses beyond the text. */
        const size_t size = strlen(rows[i].text);
        char *text = malloc(size ? size : 1);
        struct fth_buffer names = {0};
        memcpy(text, rows[i].text, size);
        assert_true(fth_ptx_scan_kernels(text, size, &names));
        free(text);
        for (size_t at = 0; at < names.size; at++)
            if (!names.data[at])
                names.data[at] = at + 1 < names.size ? ',' : '\0';
        assert_string_equal(names.data ? names.data : "", rows[i].names);
        fth_buffer_fini(&names);
    }
}

/* ---- positions in the source ---- */

struct positions {
    char text[1024];
};

static bool store_position(void *user, const struct fth_ptx_access *access)
{
    struct positions *positions = user;
    char text[200] = "none";
    if (access->source)
        fth_source_text(access->source, text, sizeof text);
    size_t used = strlen(positions->text);
    snprintf(positions->text + used, sizeof positions->text - used, "%u %u %s\n", access->line,
             access->source_file, text);
    return true;
}

/* Runs kernel `k` with one thread and returns the buffer of 64 words that it gets. */
static void run_kernel(const char *text, struct fth_ptx_observer *observer, size_t dynamic_shared,
                       uint32_t words[64])
{
    struct fth_ptx_module *module = read_valid(text);
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    uint64_t buffer = 0;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {1, 1, 1},
                                          .block = {1, 1, 1},
                                          .dynamic_shared_bytes = dynamic_shared,
                                          .arguments = &buffer,
                                          .argument_bytes = sizeof buffer,
                                          .observer = observer};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    memcpy(words, fth_ptx_host(machine, buffer, 256), 256);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Calls of inlined functions are found by their positions. Files are declared after the code. */
static void positions_name_files_and_inlined_calls(void **state)
{
    (void)state;
    struct positions positions = {""};
    struct fth_ptx_observer observer = {.user = &positions, .access = store_position};
    uint32_t words[64];
    run_kernel(
        KERNEL("ld.param.u64 %rd1, [p];\n"
               "ld.global.u32 %r1, [%rd1];\n"
               ".loc 1 10 3\nld.global.u32 %r1, [%rd1];\n"
               ".loc 2 5 1, function_name $L__s0, inlined_at 1 10 3\nld.global.u32 %r1, [%rd1];\n"
               ".loc 2 7 1, function_name $L__s1+4, inlined_at 2 5 1\nld.global.u32 %r1, [%rd1];\n"
               /* the same line with another column is another call */
               ".loc 2 5 9, function_name $L__s0, inlined_at 1 11 3\n"
               ".loc 2 7 1, function_name $L__s1, inlined_at 2 5 9\nld.global.u32 %r1, [%rd1];\n"
               ".loc 2 7 1, function_name $L__s1, inlined_at 2 5 1\nld.global.u32 %r1, [%rd1];\n"
               ".loc 7 1 1\nld.global.u32 %r1, [%rd1];\n"
               ".loc 1 0 0\nld.global.u32 %r1, [%rd1];") ".file 2 \"/include/helper.cuh\", "
                                                         "1700000000, 99\n.file 1 \"kernel.cu\"\n",
        &observer, 0, words);
    assert_string_equal(positions.text,
                        "7 0 none\n"
                        "9 1 kernel.cu:10\n"
                        "11 2 helper.cuh:5, inlined at kernel.cu:10\n"
                        "13 2 helper.cuh:7, inlined at helper.cuh:5, inlined at kernel.cu:10\n"
                        "16 2 helper.cuh:7, inlined at helper.cuh:5, inlined at kernel.cu:11\n"
                        "18 2 helper.cuh:7, inlined at helper.cuh:5, inlined at kernel.cu:10\n"
                        "20 7 line 1\n"
                        "22 1 none\n");
}

static bool store_functions(void *user, const struct fth_ptx_access *access)
{
    struct positions *positions = user;
    for (const struct fth_source_position *at = access->source; at; at = at->inlined_at) {
        const size_t used = strlen(positions->text);
        snprintf(positions->text + used, sizeof positions->text - used, "%s%s",
                 at->function ? at->function : "-", at->inlined_at ? " " : "\n");
    }
    return true;
}

/* The names of inlined functions are in .debug_str: at a label, behind it, or at an offset of the
 * section. The forms of nvcc (a list of bytes) and LLVM (one byte per line, with comments). */
static void positions_name_inlined_functions(void **state)
{
    (void)state;
    static const char strings[] =
        ".section .debug_info {\n$other: .b8 120,0\n.b32 $L__s1\n}\n"
        ".section\t.debug_str\n{\n$L__s0:\n.b8 95,90,49,97,118,0\n"
        "$L__s1: // string offset=6 ; {b, c}\n.b8 98 // b, c }\n.b8 0\n"
        "$L__s2:\t.b8 99,7,100,0\n$end:\n.b8 101\n$empty: .b8 0\n}\n.file 1 \"k.cu\"\n";
    static const struct {
        const char *name, *expected;
    } rows[] = {
        {"$L__s0", "_Z1av -\n"},
        {"$L__s0+3", "av -\n"},
        {"$L__s1", "b -\n"},
        {"$L__s2", "c?d -\n"},     /* control characters do not reach the terminal */
        {".debug_str+6", "b -\n"}, /* behind the six bytes of _Z1av */
        {".debug_str", "_Z1av -\n"},
        {"$end", "e -\n"},
        {"$empty", "- -\n"},
        {"$empty+1", "- -\n"}, /* behind the end of the section */
        {"$L__s0+18446744073709551615", "- -\n"},
        {"$other", "- -\n"}, /* a label of another section */
        {"$L__s", "- -\n"},  /* unknown labels */
        {"$L__s00", "- -\n"},
        {"7", "- -\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct positions positions = {""};
        struct fth_ptx_observer observer = {.user = &positions, .access = store_functions};
        uint32_t words[64];
        char text[2048];
        snprintf(text, sizeof text, "%s.loc 1 5 1, function_name %s, inlined_at 1 9 3\n%s\n%s",
                 HEAD ".entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                      "ld.param.u64 %rd1, [p];\n",
                 rows[i].name, "ld.global.u32 %r1, [%rd1]; ret; }", strings);
        run_kernel(text, &observer, 0, words);
        assert_string_equal(positions.text, rows[i].expected);
    }
}

/* The functions of a chain of calls. A section inside the function is found, too. */
static void functions_follow_the_calls(void **state)
{
    (void)state;
    struct positions positions = {""};
    struct fth_ptx_observer observer = {.user = &positions, .access = store_functions};
    uint32_t words[64];
    run_kernel(KERNEL("ld.param.u64 %rd1, [p];\n"
                      ".loc 1 9 1\n.loc 1 5 1, function_name $a, inlined_at 1 9 1\n"
                      ".loc 1 2 1, function_name $b, inlined_at 1 5 1\n"
                      "ld.global.u32 %r1, [%rd1];\n.loc 1 9 1\nld.global.u32 %r1, [%rd1];\n"
                      ".section .debug_str { $a: .b8 97,0\n$b: .b8 98,0\n}\n"),
               &observer, 0, words);
    assert_string_equal(positions.text, "b a -\n-\n");
}

/* LLVM writes the calls of inlined functions as comments. Other comments are none. */
static void comments_name_inlined_calls(void **state)
{
    (void)state;
    static const struct {
        const char *comment, *expected;
    } rows[] = {
        {"// a.py:5:1 @[ k.py:9:3 ]", "a.py:5, inlined at k.py:9\n"},
        {"//a.py:5:1 @[ a.py:7:2 @[ k.py:9:3 ] ]",
         "a.py:5, inlined at a.py:7, inlined at k.py:9\n"},
        {"// a.py:5:1 @[ other.py:9:3 ]", "a.py:5, inlined at other.py:9\n"}, /* no .file of it */
        {", function_name $a, inlined_at 1 4 1 // a.py:5:1 @[ k.py:9:3 ]",
         "a.py:5, inlined at k.py:4\n"},
        {"", "a.py:5\n"},
        {"// a.py:5:1", "a.py:5\n"},
        {"// a.py:5:2 @[ k.py:9:3 ]", "a.py:5\n"}, /* another column */
        {"// a.py:6:1 @[ k.py:9:3 ]", "a.py:5\n"}, /* another line */
        {"// a.py:5:1 @[ k.py:9 ]", "a.py:5\n"},
        {"// a.py:5:1 @[ :9:3 ]", "a.py:5\n"},
        {"// a.py:5:1 @[ k.py:9:99999999999 ]", "a.py:5\n"},
        {"// a.py:5:1 @[ k\033.py:9:3 ]", "a.py:5\n"},
        {"// a.py:5:1 @[", "a.py:5\n"},
        {"// a.py:5:1 @", "a.py:5\n"},
        {"// @[ k.py:9:3 ]", "a.py:5\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct positions positions = {""};
        struct fth_ptx_observer observer = {.user = &positions, .access = store_position};
        uint32_t words[64];
        char text[1024], expected[200];
        snprintf(text, sizeof text, "%s.loc 2 5 1 %s\n%s",
                 HEAD ".entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                      "ld.param.u64 %rd1, [p];\n",
                 rows[i].comment,
                 "ld.global.u32 %r1, [%rd1]; ret; }\n.file 1 \"/src/k.py\"\n.file 2 \"a.py\"\n");
        run_kernel(text, &observer, 0, words);
        snprintf(expected, sizeof expected, "7 2 %s", rows[i].expected);
        assert_string_equal(positions.text + strcspn(positions.text, " "),
                            expected + strcspn(expected, " "));
    }
}

/* A position of another function is not the call of an inlined function. */
static void positions_belong_to_one_function(void **state)
{
    (void)state;
    struct positions positions = {""};
    struct fth_ptx_observer observer = {.user = &positions, .access = store_position};
    uint32_t words[64];
    run_kernel(HEAD ".entry other() {\n.loc 1 5 1, function_name a, inlined_at 1 1 1\nret;\n}\n"
                    ".entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                    "ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];\n"
                    ".loc 1 9 1, function_name a, inlined_at 1 5 1\n"
                    "ld.global.u32 %r1, [%rd1]; ret; }\n.file 1 \"a.cu\"",
               &observer, 0, words);
    assert_string_equal(positions.text, "9 0 none\n11 1 a.cu:9, inlined at a.cu:5\n");
}

static void source_texts_are_cut(void **state)
{
    (void)state;
    const struct fth_source_position call = {.file = "/a/b/kernel.cu", .line = 7};
    const struct fth_source_position inner = {.file = "helper.h", .line = 2, .inlined_at = &call};
    char text[64];
    assert_string_equal(fth_source_text(&inner, text, sizeof text),
                        "helper.h:2, inlined at kernel.cu:7");
    assert_string_equal(fth_source_text(&inner, text, 14), "helper.h:2, i");
    assert_string_equal(fth_source_text(&inner, text, 1), "");
    assert_string_equal(fth_source_text(NULL, text, sizeof text), "");
    assert_string_equal(fth_source_file(&call), "kernel.cu");
    assert_null(fth_source_file(&(struct fth_source_position){.line = 1}));
    assert_null(fth_source_file(NULL));
}

/* ---- declarations ---- */

static void initial_values_fill_variables(void **state)
{
    (void)state;
    static const struct {
        const char *declaration;
        uint64_t bytes;
        uint32_t words[8];
    } rows[] = {
        {".global .u32 x = 5;", 4, {5}},
        {".global .u32 x[3] = {1, 2, 3};", 12, {1, 2, 3}},
        {".global .u32 x[3] = {1};", 12, {1, 0, 0}},
        {".global .u32 x[3] = {};", 12, {0}},
        {".global .u32 x[2][3] = {{1, 2, 3}, {4, 5, 6}};", 24, {1, 2, 3, 4, 5, 6}},
        /* The braces of short lists leave no gaps, as with NVIDIA's assembler. */
        {".global .u32 x[2][3] = {{1, 2}, {3}};", 24, {1, 2, 3}},
        {".global .u32 x[2][2][2] = {{{1}, {2}}, {{3, 4}}};", 32, {1, 2, 3, 4}},
        {".global .u32 x[] = {1, 2, 3};", 12, {1, 2, 3}},
        {".global .u32 x[][2] = {{1, 2}, {3, 4}};", 16, {1, 2, 3, 4}},
        {".global .v2 .u32 x = {1, 2};", 8, {1, 2}},
        {".global .v2 .u32 x[2] = {{1, 2}, {3, 4}};", 16, {1, 2, 3, 4}},
        {".global .u32 x[2] = {-1, -2147483648};", 8, {0xffffffff, 0x80000000}},
        {".global .f32 x[3] = {1.5, -0.5, 0f40000000};", 12, {0x3fc00000, 0xbf000000, 0x40000000}},
        {".global .f64 x = -1.0;", 8, {0, 0xbff00000}},
        {".global .b8 x[4] = {1, 2, 3, 4};", 4, {0x04030201}},
        /* NVIDIA's assembler does not extend the sign to 128 bits. */
        {".const .align 16 .b128 x[2] = {1, -2};", 32, {1, 0, 0, 0, 0xfffffffe, 0xffffffff, 0, 0}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[256];
        uint64_t address = 0, bytes = 0;
        struct fth_ptx_machine *machine = NULL;
        snprintf(text, sizeof text, HEAD "%s\n", rows[i].declaration);
        struct fth_ptx_module *module = read_valid(text);
        assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
        assert_true(fth_ptx_symbol(machine, "x", &address, &bytes));
        assert_int_equal(bytes, rows[i].bytes);
        assert_memory_equal(fth_ptx_host(machine, address, bytes), rows[i].words, bytes);
        fth_ptx_machine_destroy(machine);
        fth_ptx_destroy(module);
    }
}

/* The memory that the reader needs depends on the number of initial values, not on the size of the
 * variable. */
static void large_variables_can_have_few_initial_values(void **state)
{
    (void)state;
    fth_ptx_destroy(read_valid(HEAD ".global .u64 x[0x1ffffffff] = {1, 2, 3};\n"));
}

/* The end of the shared variables, rounded up to the alignment of dynamic shared memory. */
static void dynamic_shared_memory_is_aligned(void **state)
{
    (void)state;
    static const struct {
        const char *before; /* declarations before the kernel */
        uint32_t address;
    } rows[] = {
        {".extern .shared .b8 d[];", 128},
        {".extern .shared .align 16 .b8 d[];", 128},
        {".extern .shared .align 1024 .b8 d[];", 1024},
        {".extern .shared .align 256 .b8 d[];\n.extern .shared .align 64 .b8 e[];", 256},
        {".extern .shared .align 512 .b8 e[];\n.extern .shared .align 64 .b8 d[];", 512},
        {".extern .shared .align 256 .b8 d[4];", 256},
        {".shared .align 256 .b8 d[];", 256},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[512];
        uint32_t words[64];
        snprintf(text, sizeof text,
                 HEAD "%s\n.entry k(.param .u64 p) { .shared .b32 own; .reg .b32 %%r1; .reg .b64 "
                      "%%rd1; mov.u32 %%r1, d;\nst.shared.u32 [%%r1], 7; ld.param.u64 %%rd1, [p]; "
                      "st.global.u32 [%%rd1], %%r1; ret; }",
                 rows[i].before);
        run_kernel(text, NULL, 16, words);
        assert_int_equal(words[0], rows[i].address);
    }
}

/* ---- what NVIDIA's assembler refuses ---- */

static void rejects_what_the_assembler_rejects(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        /* addresses */
        {KERNEL("ld.u32 [%rd1], [%rd2];"), "line 6: the destination must be a register, not an"},
        {KERNEL("add.s32 [%rd1], %r2, %r3;"), "the destination must be a register, not an address"},
        {KERNEL("atom.global.add.u32 [%rd2], [%rd1], %r2;"), "the destination must be a register"},
        {KERNEL("ld.global.u32 %r1, %rd1;"), "line 6: expected an address in brackets"},
        {KERNEL("ld.global.u32 %r1, 64;"), "expected an address in brackets"},
        {KERNEL("st.global.u32 %rd1, %r1;"), "expected an address in brackets"},
        {KERNEL("red.global.add.u32 %rd1, %r2;"), "expected an address in brackets"},
        {KERNEL("atom.global.add.u32 %r1, %rd1, %r2;"), "expected an address in brackets"},
        {KERNEL("cp.async.ca.shared.global [%r1], %rd1, 4;"), "must be an address in brackets"},
        {KERNEL("add.s32 %r1, [%rd1], 5;"), "an address in brackets is not allowed here"},
        {KERNEL("add.s32 %r1, %r2, [%rd1];"), "an address in brackets is not allowed here"},
        {KERNEL("mov.u32 %r1, [%rd1];"), "an address in brackets is not allowed here"},
        {KERNEL("st.global.u32 [%rd1], [%rd2];"), "an address in brackets is not allowed here"},
        {KERNEL("atom.global.cas.b32 %r1, [%rd1], [%rd2], 1;"), "is not allowed here"},
        {KERNEL("cp.async.wait_group [%rd1];"), "operand 1 of 'cp.async.wait_group' must be a"},
        /* rounding of conversions */
        {KERNEL("cvt.f16.f32 %h1, %f1;"), "'cvt.f16.f32' with these operands is not supported"},
        {KERNEL("cvt.bf16.f32 %h1, %f1;"), "'cvt.bf16.f32' with these"},
        {KERNEL("cvt.f32.f64 %f1, %fd1;"), "'cvt.f32.f64' with these"},
        {KERNEL("cvt.f16.f64 %h1, %fd1;"), "'cvt.f16.f64' with these"},
        {KERNEL("cvt.f32.s32 %f1, %r1;"), "'cvt.f32.s32' with these"},
        {KERNEL("cvt.f64.s64 %fd1, %rd1;"), "'cvt.f64.s64' with these"},
        {KERNEL("cvt.rni.f32.s32 %f1, %r1;"), "'cvt.rni.f32.s32' with these"},
        {KERNEL("cvt.rn.f64.f32 %fd1, %f1;"), "'cvt.rn.f64.f32' with these"},
        {KERNEL("cvt.rn.f32.f16 %f1, %h1;"), "'cvt.rn.f32.f16' with these"},
        {KERNEL("cvt.rn.f32.f32 %f1, %f2;"), "'cvt.rn.f32.f32' with these"},
        {KERNEL("cvt.rni.f16.f32 %h1, %f2;"), "'cvt.rni.f16.f32' with these"},
        /* initial values */
        {HEAD ".global .u32 x = {7};", "expected a number or a name"},
        {HEAD ".global .u32 x[2] = 5;", "expected '{'"},
        {HEAD ".global .u32 x[2] = {1, 2, 3};", "more initial values than the variable has"},
        {HEAD ".global .u32 x[2][3] = {1, 2, 3, 4, 5, 6};", "expected '{'"},
        {HEAD ".global .u32 x[2][3] = {{1, 2, 3, 4}, {5}};", "more initial values than"},
        {HEAD ".global .u32 x[2][2] = {{1, 2}, {3, 4}, {5, 6}};", "more initial values than"},
        {HEAD ".global .u32 x[4] = {{1}, {2}};", "expected a number or a name"},
        {HEAD ".global .u32 x[3] = {1, 2,};", "expected a number or a name"},
        {HEAD ".global .u32 x[3] = {1, 2", "expected '}' before the end of the file"},
        {HEAD ".global .v2 .u32 x[2] = {{1}, {3, 4}};", "expected 2 values of a vector"},
        {HEAD ".global .u32 x[2][] = {{1}};", "expected an integer of at most"},
        {HEAD ".global .u32 x[1][1][1][1][1][1][1][1][1];", "at most 8 dimensions"},
        {HEAD ".global .u32 x[65536][65536][65536];", "the variable is larger than 64 GiB"},
        {HEAD ".global .u64 x[8589934593];", "the variable is larger than 64 GiB"},
        /* files and positions */
        {HEAD ".file 1 kernel.cu\n", "expected the name of a file in quotes"},
        {HEAD ".file x \"kernel.cu\"\n", "expected an integer"},
        {KERNEL(".loc 1 2"), "expected an integer"},
        {KERNEL(".loc 1 2 3, inlined_at 1 2"), "expected an integer"},
        {KERNEL(".loc 1 2 3, frob 1"), "expected 'inlined_at'"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        check_refused(rows[i].text, strlen(rows[i].text), rows[i].cause, NULL);
}

/* Forms that NVIDIA's assembler accepts, next to those above. */
static void accepts_what_the_assembler_accepts(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "ld.global.u32 {%r1}, [%rd1];",
        "cvt.rn.f16.f32 %h1, %f1;",
        "cvt.rz.bf16.f32 %h1, %f1;",
        "cvt.rn.f32.f64 %f1, %fd1;",
        "cvt.f64.f32 %fd1, %f1;",
        "cvt.f32.f16 %f1, %h1;",
        "cvt.f32.bf16 %f1, %h1;",
        "cvt.rn.f32.bf16 %f1, %h1;",
        "cvt.bf16.f16 %h1, %h2;",
        "cvt.rn.bf16.f16 %h1, %h2;",
        "cvt.f32.f32 %f1, %f2;",
        "cvt.rni.f32.f32 %f1, %f2;",
        "cvt.rni.f16.f16 %h1, %h2;",
        "cvt.rn.f32.s32 %f1, %r1;",
        "cvt.rp.f16.s32 %h1, %r1;",
        "cvt.rzi.s32.f32 %r1, %f1;",
        "ld.global.u32 %r1, [%rd1];",
        "ld.global.u32 %r1, [64];",
        "st.global.v2.u32 [%rd1], {%r1, %r2};",
        "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;",
        "red.global.add.u32 [%rd1], %r2;",
        "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];",
        "prefetch.global.L2 [%rd1];",
        "cp.async.ca.shared.global [%r1], [%rd1], 4;",
        "cp.async.wait_group 0;",
    };
    for (size_t i = 0; i < FTH_COUNT(bodies); i++) {
        char text[512];
        static const char pattern[] = KERNEL("BODY");
        const char *place = strstr(pattern, "BODY");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pattern), pattern, bodies[i],
                 place + strlen("BODY"));
        fth_ptx_destroy(read_valid(text));
    }
}

static void calls_have_at_most_64_arguments(void **state)
{
    (void)state;
    for (int arguments = 64; arguments <= 66; arguments++) {
        struct fth_buffer text = {0};
        struct fth_ptx_module *module = NULL;
        struct fth_error error = NO_ERROR;
        fth_buffer_text(&text, ".version 7.0\n.target sm_70\n.address_size 64\n.func f(");
        for (int i = 0; i < arguments; i++)
            fth_buffer_format(&text, "%s.reg .b32 a%d", i ? ", " : "", i);
        fth_buffer_text(&text, ") { ret; }\n.entry k() {\ncall f, (");
        for (int i = 0; i < arguments; i++)
            fth_buffer_format(&text, "%s%d", i ? ", " : "", i);
        fth_buffer_text(&text, "); ret; }\n");
        assert_int_equal(fth_ptx_read_text("test.ptx", text.data, text.size, &module, &error),
                         arguments == 64 ? FTH_OK : FTH_INVALID);
        if (arguments > 64)
            assert_contains(error.cause, "at most 64 arguments");
        fth_ptx_destroy(module);
        fth_buffer_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_at_most_64_arguments),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(excerpts_are_printable),
        cmocka_unit_test(binary_files_are_recognised),
        cmocka_unit_test(kernels_are_found_without_parsing),
        cmocka_unit_test(positions_name_files_and_inlined_calls),
        cmocka_unit_test(positions_name_inlined_functions),
        cmocka_unit_test(functions_follow_the_calls),
        cmocka_unit_test(comments_name_inlined_calls),
        cmocka_unit_test(positions_belong_to_one_function),
        cmocka_unit_test(source_texts_are_cut),
        cmocka_unit_test(initial_values_fill_variables),
        cmocka_unit_test(large_variables_can_have_few_initial_values),
        cmocka_unit_test(dynamic_shared_memory_is_aligned),
        cmocka_unit_test(rejects_what_the_assembler_rejects),
        cmocka_unit_test(accepts_what_the_assembler_accepts),
    };
    return cmocka_run_group_tests_name("ptx_parse", tests, NULL, NULL);
}
