/* Tests base/: errors, log, memory, text, random numbers, JSON and shared objects. The expected
 * values are constants; those of the random number generators are published or computed by hand.
 * test_file.c tests files. */
#include "base/json.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

/* ---- error ---- */

static void the_first_error_is_kept(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    char text[1024];
    assert_int_equal(fth_fail(&error, FTH_IO, "write", "a.json", "disk %d is full", 3), FTH_IO);
    assert_int_equal(fth_fail(&error, FTH_INVALID, "read", "b.json", "other"), FTH_INVALID);
    assert_string_equal(fth_error_text(&error, text, sizeof text),
                        "write 'a.json': disk 3 is full");
    fth_error_context(&error, "while saving %s", "x");
    assert_string_equal(error.cause, "while saving x: disk 3 is full");
    assert_int_equal(error.status, FTH_IO);
    /* Without a struct fth_error, only the status is returned. */
    assert_int_equal(fth_fail(NULL, FTH_NO_MEMORY, "x", NULL, "y"), FTH_NO_MEMORY);
    fth_error_context(NULL, "z");
}

static void errors_contain_no_control_characters(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    char text[1024];
    fth_fail(&error, FTH_INVALID, "read", "a\nb\033[31m", "bell \a, delete \177");
    assert_string_equal(fth_error_text(&error, text, sizeof text),
                        "read 'a?b?[31m': bell ?, delete ?");
    /* C1 controls, in UTF-8 and as single bytes, and characters that change the direction. */
    error = NO_ERROR;
    fth_fail(&error, FTH_INVALID, "r\xc2\x9b",
             "\x9b"
             "31m",
             "caf\xc3\xa9 \xe2\x80\xae|\xe2\x81\xa6|");
    assert_string_equal(fth_error_text(&error, text, sizeof text), "r? '?31m': caf\xc3\xa9 ?|?|");
    fth_error_context(&error, "in \xe2\x80\xaa %d", 7);
    assert_string_equal(error.cause, "in ? 7: caf\xc3\xa9 ?|?|");
    /* A text that is cut inside a character. */
    char long_text[600];
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text + sizeof error.cause - 2, "\xc3\xa9", 2);
    long_text[sizeof long_text - 1] = '\0';
    error = NO_ERROR;
    fth_fail(&error, FTH_INVALID, "read", NULL, "%s", long_text);
    assert_int_equal(strlen(error.cause), sizeof error.cause - 1);
    assert_int_equal(error.cause[sizeof error.cause - 2], '?');
    error = NO_ERROR;
    fth_fail(&error, FTH_INVALID, "read", NULL, "%s", long_text);
    fth_error_context(&error, "\xc3\xa9");
    assert_int_equal(strlen(error.cause), sizeof error.cause - 1);
    for (const char *c = error.cause + 2; *c; c++)
        assert_true(*c > 0);
}

static void long_errors_are_truncated(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    char longest[4000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    fth_fail(&error, FTH_INVALID, longest, longest, "%s", longest);
    fth_error_context(&error, "%s", longest);
    assert_int_equal(strlen(error.operation), sizeof error.operation - 1);
    assert_int_equal(strlen(error.argument), sizeof error.argument - 1);
    assert_int_equal(strlen(error.cause), sizeof error.cause - 1);
}

/* ---- log ---- */

static void keep_message(void *user, enum fth_level level, const char *text)
{
    snprintf(user, 64, "%d %s", level, text);
}

static void keep_progress(void *user, const char *what, double fraction)
{
    snprintf(user, 64, "%s %.2f", what, fraction);
}

static void log_calls_the_callbacks(void **state)
{
    (void)state;
    char seen[64] = "";
    struct fth_log log = {keep_message, keep_progress, NULL, seen};
    fth_log_message(&log, FTH_LOG_WARNING, "%s %d", "careful", 7);
    assert_string_equal(seen, "1 careful 7");
    fth_log_message(&log, FTH_LOG_WARNING, "\033[31m\xe2\x80\xae");
    assert_string_equal(seen, "1 ?[31m?");
    fth_log_progress(&log, "l1", 0.5);
    assert_string_equal(seen, "l1 0.50");
    struct fth_log silent = {NULL, NULL, NULL, NULL};
    fth_log_message(&silent, FTH_LOG_ERROR, "x");
    fth_log_message(NULL, FTH_LOG_ERROR, "x");
    fth_log_progress(NULL, "x", 1);
}

/* ---- arena ---- */

static void arena_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct fth_arena arena = {NULL};
    for (size_t i = 1; i < 2000; i++) {
        unsigned char *memory = fth_arena_alloc(&arena, i);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < i; j++)
            assert_int_equal(memory[j], 0);
        memset(memory, 0xff, i);
    }
    assert_non_null(fth_arena_alloc(&arena, 1 << 20));
    assert_string_equal(fth_arena_text(&arena, "text"), "text");
    assert_null(fth_arena_array(&arena, SIZE_MAX / 2, 4));
    assert_null(fth_arena_alloc(&arena, SIZE_MAX));
    fth_arena_fini(&arena);
    assert_null(arena.blocks);
}

/* ---- buffer ---- */

static void buffer_grows(void **state)
{
    (void)state;
    struct fth_buffer buffer = {0};
    for (int i = 0; i < 1000; i++)
        fth_buffer_format(&buffer, "%d,", i);
    fth_buffer_repeat(&buffer, "ab", 3);
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_buffer_take(&buffer, &text, &size, &error), FTH_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(text, "0,1,2,3,", 8);
    assert_string_equal(text + size - 10, "999,ababab");
    fth_free(text);
    assert_null(buffer.data);
}

static void an_empty_buffer_is_an_empty_text(void **state)
{
    (void)state;
    struct fth_buffer buffer = {0};
    char *text = NULL;
    size_t size = 1;
    assert_int_equal(fth_buffer_take(&buffer, &text, &size, NULL), FTH_OK);
    assert_string_equal(text, "");
    assert_int_equal(size, 0);
    fth_free(text);
}

static void a_failed_buffer_stays_failed(void **state)
{
    (void)state;
    struct fth_buffer buffer = {0};
    fth_buffer_text(&buffer, "abc");
    assert_false(fth_buffer_reserve(&buffer, SIZE_MAX / 2));
    fth_buffer_text(&buffer, "def");
    char *text = NULL;
    size_t size;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_buffer_take(&buffer, &text, &size, &error), FTH_NO_MEMORY);
    assert_string_equal(error.cause, "out of memory after 3 bytes");
    fth_buffer_fini(&buffer);
}

/* 0x110000 is above the last code point, so printf reports an error. */
static void a_text_that_cannot_be_formatted_fails_the_buffer(void **state)
{
    (void)state;
    struct fth_buffer buffer = {0};
    char *text = NULL;
    size_t size;
    fth_buffer_format(&buffer, "%d%lc", 7, (wint_t)0x110000);
    assert_true(buffer.failed);
    assert_int_equal(fth_buffer_take(&buffer, &text, &size, NULL), FTH_NO_MEMORY);
    assert_null(text);
    fth_buffer_fini(&buffer);
}

/* ---- random numbers ---- */

static void rng_matches_the_published_generator(void **state)
{
    (void)state;
    /* The values that the reference program of splitmix64 prints for the seed 1234567. */
    struct fth_rng rng;
    fth_rng_init(&rng, 1234567);
    assert_true(rng.state[0] == 6457827717110365317u);
    assert_true(rng.state[1] == 3203168211198807973u);
    assert_true(rng.state[2] == 9817491932198370423u);
    assert_true(rng.state[3] == 4593380528125082431u);
    /* xoshiro256** from the state 1, 2, 3, 4, computed by hand: rotl(2 * 5, 7) * 9, then
     * rotl(0, 7) * 9. */
    rng = (struct fth_rng){{1, 2, 3, 4}};
    assert_true(fth_rng_next(&rng) == 11520);
    assert_true(fth_rng_next(&rng) == 0);
}

static void rng_is_uniform(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    enum { DRAWS = 70000, BOUND = 7 };
    int seen[BOUND] = {0};
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        seen[fth_rng_below(&rng, BOUND)]++;
        double unit = fth_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    /* Chi-square with 6 degrees of freedom: one seed in a thousand exceeds 22.5. */
    double chi = 0, expected = DRAWS / (double)BOUND;
    for (int i = 0; i < BOUND; i++)
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    assert_true(chi < 22.5);
    assert_true(fabs(sum / DRAWS - 0.5) < 0.01);
}

/* Many numbers at once are the same as one after the other, whatever the bound. */
static void rng_fills_arrays(void **state)
{
    (void)state;
    static const uint32_t bounds[] = {1, 2, 3, 7, 64, 1000, 1024, 15650, 65537, UINT32_MAX};
    for (size_t i = 0; i < FTH_COUNT(bounds); i++) {
        struct fth_rng one, many;
        uint32_t numbers[1000];
        fth_rng_init(&one, i);
        fth_rng_init(&many, i);
        fth_rng_fill_below(&many, bounds[i], numbers, FTH_COUNT(numbers));
        for (size_t k = 0; k < FTH_COUNT(numbers); k++)
            assert_int_equal(numbers[k], fth_rng_below(&one, bounds[i]));
        assert_memory_equal(&one, &many, sizeof one);
    }
    /* From the state 1, 0, 0, 0, the first numbers are 0, which is below 2^64 mod 3 = 1 and drawn
     * again. */
    struct fth_rng one = {{1, 0, 0, 0}}, many = one;
    uint32_t number = 0;
    fth_rng_fill_below(&many, 3, &number, 1);
    assert_int_equal(number, fth_rng_below(&one, 3));
    assert_memory_equal(&one, &many, sizeof one);
}

/* ---- text ---- */

static void sizes_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"32K", 32768},
        {"32k", 32768},
        {"1.5M", 1572864},
        {"64KiB", 65536},
        {"64 KB", 65536},
        {"2.50K", 2560},
        {"0.5K", 512},
        {"100B", 100},
        {" 7", 7},
        {"15.9990234375P", (1ull << 54) - (1ull << 40)},
        {"18446744073709551615", UINT64_MAX},
        {"16383P", 16383ull << 50},
    };
    for (size_t i = 0; i < FTH_COUNT(good); i++) {
        uint64_t bytes = 1;
        struct fth_error error = NO_ERROR;
        if (fth_size_parse(good[i].text, &bytes, &error) != FTH_OK || bytes != good[i].bytes)
            fail_msg("%s: %s, %llu", good[i].text, error.cause, (unsigned long long)bytes);
    }
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "1.1K",
                                      "1..5K",
                                      "32X",
                                      "32KiBs",
                                      "0x10",
                                      "1e3",
                                      "NaN",
                                      "16384P",
                                      "1.5",
                                      "18446744073709551616",
                                      "1 2",
                                      "."};
    for (size_t i = 0; i < FTH_COUNT(bad); i++) {
        uint64_t bytes;
        struct fth_error error = NO_ERROR;
        if (fth_size_parse(bad[i], &bytes, &error) != FTH_INVALID)
            fail_msg("'%s' was accepted", bad[i]);
        assert_string_equal(error.argument, bad[i]);
    }
}

static void sizes_are_formatted(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1572864, "1.5 MiB"},
        {1310720, "1.25 MiB"},
        {62914560, "60 MiB"},
        {2081, "2.03 KiB"},
        {150754820096, "140.4 GiB"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[32];
        assert_string_equal(fth_size_format(rows[i].bytes, text, sizeof text), rows[i].text);
    }
}

static void the_nearest_word_is_suggested(void **state)
{
    (void)state;
    static const char *const words[] = {"v100",   "p100",      "a100",   "h200",
                                        "gtx780", "rtx2080ti", "devices"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"v10", "v100"},
        {"H20", "h200"},
        {"gtx870", "gtx780"},
        {"rtx2080", "rtx2080ti"},
        {"device", "devices"},
        {"dveices", "devices"},
        {"xyz", NULL},
        {"", NULL},
        {"nothing-like-it", NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const char *nearest = fth_suggest(rows[i].word, words, FTH_COUNT(words));
        if (!rows[i].nearest ? nearest != NULL : !nearest || strcmp(nearest, rows[i].nearest) != 0)
            fail_msg("%s: %s", rows[i].word, nearest ? nearest : "nothing");
    }
    size_t distance;
    assert_string_equal(fth_nearest("nosuch", words, FTH_COUNT(words), &distance), "v100");
    assert_null(fth_nearest("x", words, 0, &distance));
    char long_word[200];
    memset(long_word, 'a', sizeof long_word);
    long_word[199] = '\0';
    assert_null(fth_suggest(long_word, words, FTH_COUNT(words)));
}

static void text_is_made_printable(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns;
        const char *result;
    } rows[] = {
        {"plain", 10, "plain"},
        {"a\033[31mb", 10, "a?[31mb"},
        {"caf\xc3\xa9", 10, "caf\xc3\xa9"},
        {"\xff\xfe", 10, "??"},
        {"\xe2\x80\xaexyz", 10, "?xyz"}, /* right-to-left override */
        {"\xc2\x85", 10, "?"},           /* next line, a C1 control character */
        {"abcdef", 4, "abc~"},
        {"abcdef", 6, "abcdef"},
        {"abcdef", 1, "~"},
        {"abcdef", 0, ""},
        {"\xe2\x82", 10, "??"}, /* an incomplete character */
        /* The first and the last of each group of characters that are replaced, and their
         * neighbours. */
        {"\x1f \x7f~", 10, "? ?~"},
        {"\xc2\x80\xc2\x9f\xc2\xa0", 10, "??\xc2\xa0"},
        {"\xd8\x9b\xd8\x9c\xd8\x9d", 10, "\xd8\x9b?\xd8\x9d"},          /* U+061B to U+061D */
        {"\xe1\xa0\x8d\xe1\xa0\x8e", 10, "\xe1\xa0\x8d?"},              /* U+180D, U+180E */
        {"\xe2\x80\x8a\xe2\x80\x8b\xe2\x80\x8f", 10, "\xe2\x80\x8a??"}, /* U+200A, B, F */
        {"\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xa8", 20, "\xe2\x80\x90\xe2\x80\xa7?"},
        {"\xe2\x80\xaa\xe2\x80\xaf\xe2\x80\xb0", 10, "??\xe2\x80\xb0"}, /* U+202A, F, U+2030 */
        {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xaf", 10, "\xe2\x81\xa5??"}, /* U+2065, 6, F */
        {"\xef\xb7\x8f\xef\xb7\x90\xef\xb7\xaf\xef\xb7\xb0", 10, "\xef\xb7\x8f??\xef\xb7\xb0"},
        {"\xef\xbb\xbf\xef\xbf\xb9\xef\xbf\xbb\xef\xbf\xbc", 10, "???\xef\xbf\xbc"},
        {"\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf", 10, "\xef\xbf\xbd??"}, /* U+FFFD, E, F */
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 10, "\xf0\x90\x80\x80?"},  /* U+10000, U+10FFFF */
        {"\xf3\xa0\x80\x80\xf3\xa0\x81\xbf", 10, "??"},                 /* tags */
        /* Overlong forms, surrogates, beyond U+10FFFF. */
        {"\xe0\x80\x9b", 10, "???"},
        {"\xed\xa0\x80", 10, "???"},
        {"\xf4\x90\x80\x80", 10, "????"},
        {"\xe0\xa0\x80\xed\x9f\xbf", 10, "\xe0\xa0\x80\xed\x9f\xbf"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer buffer = {0};
        size_t columns = fth_text_append(&buffer, rows[i].text, rows[i].columns, "~");
        assert_string_equal(buffer.data ? buffer.data : "", rows[i].result);
        assert_int_equal(columns, fth_text_columns(rows[i].result));
        fth_buffer_fini(&buffer);
        char whole[64];
        snprintf(whole, sizeof whole, "%s", rows[i].text);
        fth_make_printable(whole);
        if (fth_text_columns(rows[i].text) <= rows[i].columns)
            assert_string_equal(whole, rows[i].result);
    }
}

/* ---- JSON ---- */

static void numbers_use_the_shortest_text_that_reads_back(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "0"},
        {0.1, "0.1"},
        {0.998, "0.998"},
        {4.3e12, "4300000000000"},
        {9007199254740992.0, "9007199254740992"},
        {1.0 / 3, "0.3333333333333333"},
        {-2.5, "-2.5"},
        {1e300, "1e+300"},
        {5e-324, "4.94065645841247e-324"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[40];
        assert_string_equal(fth_number_format(rows[i].number, text, sizeof text), rows[i].text);
        assert_true(strtod(text, NULL) == rows[i].number);
    }
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    for (int i = 0; i < 10000; i++) {
        uint64_t bits = fth_rng_next(&rng);
        double number;
        memcpy(&number, &bits, sizeof number);
        char text[40];
        if (isfinite(number))
            assert_true(strtod(fth_number_format(number, text, sizeof text), NULL) == number);
    }
}

static void json_writer_indents_and_escapes(void **state)
{
    (void)state;
    struct fth_buffer out = {0};
    struct fth_json_writer json = {.out = &out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "text");
    fth_json_text(&json, "a \"b\" \\ \n \001\037 \177 é");
    fth_json_key(&json, "flat");
    fth_json_begin(&json, '{', true);
    fth_json_key(&json, "list");
    fth_json_begin(&json, '[', false);
    fth_json_number(&json, 1);
    fth_json_number(&json, NAN);
    fth_json_bool(&json, true);
    fth_json_null(&json);
    fth_json_end(&json, ']');
    fth_json_key(&json, "raw");
    fth_json_raw(&json, "[1,2]");
    fth_json_end(&json, '}');
    fth_json_key(&json, "empty");
    fth_json_begin(&json, '{', false);
    fth_json_end(&json, '}');
    fth_json_key(&json, "tall");
    fth_json_begin(&json, '[', false);
    fth_json_text(&json, "x");
    fth_json_begin(&json, '[', true);
    fth_json_end(&json, ']');
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    assert_string_equal(out.data, "{\n"
                                  "  \"text\": \"a \\\"b\\\" \\\\ \\n \\u0001\\u001f \\u007f é\",\n"
                                  "  \"flat\": {\"list\": [1, null, true, null], \"raw\": [1,2]},\n"
                                  "  \"empty\": {},\n"
                                  "  \"tall\": [\n"
                                  "    \"x\",\n"
                                  "    []\n"
                                  "  ]\n"
                                  "}\n");
    struct fth_json_document document = {0};
    assert_int_equal(fth_json_parse("test", out.data, out.size, &document, NULL), FTH_OK);
    fth_json_fini(&document);
    fth_buffer_fini(&out);
}

static void json_paths_have_a_maximum_length(void **state)
{
    (void)state;
    struct fth_json_path path = {.size = 0};
    for (int i = 0; i < 100; i++)
        fth_json_path_key(&path, "segment");
    assert_int_equal(path.size, strlen(path.text));
    assert_true(path.size < sizeof path.text);
    char deep[1000];
    memset(deep, '[', sizeof deep);
    fth_json_path_at(deep, sizeof deep, sizeof deep, &path);
    assert_true(path.size < sizeof path.text);
    fth_json_path_at("{\"unclosed", 10, 10, &path);
    fth_json_path_at("{\"a\\", 4, 100, &path);
}

/* ---- shared objects ---- */

struct maths {
    double (*cosine)(double);
    double (*nothing)(double);
};

static void functions_are_found_in_shared_objects(void **state)
{
    (void)state;
    static const char *const sonames[] = {"libnothing-of-the-kind.so.9", "libm.so.6", NULL};
    static const struct fth_dl_symbol symbols[] = {
        {{"cos_v9", "cos"}, offsetof(struct maths, cosine), false},
        {{"no_such_function"}, offsetof(struct maths, nothing), true},
    };
    struct maths maths;
    void *handle = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_dl_open(sonames, symbols, 2, &maths, &handle, &error), FTH_OK);
    assert_true(maths.cosine(0) == 1);
    assert_null(maths.nothing);
    fth_dl_close(handle);

    static const struct fth_dl_symbol required[] = {
        {{"no_such_function"}, offsetof(struct maths, nothing), false}};
    assert_int_equal(fth_dl_open(sonames + 1, required, 1, &maths, &handle, &error),
                     FTH_UNSUPPORTED);
    assert_contains(error.cause, "it has no function no_such_function");
    assert_null(handle);

    error = NO_ERROR;
    static const char *const absent[] = {"libnothing-of-the-kind.so.9", NULL};
    assert_int_equal(fth_dl_open(absent, symbols, 2, &maths, &handle, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.argument, "libnothing-of-the-kind.so.9");
    assert_string_equal(error.cause, "cannot open shared object file: No such file or directory");
    fth_dl_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_is_kept),
        cmocka_unit_test(errors_contain_no_control_characters),
        cmocka_unit_test(long_errors_are_truncated),
        cmocka_unit_test(log_calls_the_callbacks),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(buffer_grows),
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(a_failed_buffer_stays_failed),
        cmocka_unit_test(a_text_that_cannot_be_formatted_fails_the_buffer),
        cmocka_unit_test(rng_matches_the_published_generator),
        cmocka_unit_test(rng_is_uniform),
        cmocka_unit_test(rng_fills_arrays),
        cmocka_unit_test(sizes_are_parsed),
        cmocka_unit_test(sizes_are_formatted),
        cmocka_unit_test(the_nearest_word_is_suggested),
        cmocka_unit_test(text_is_made_printable),
        cmocka_unit_test(numbers_use_the_shortest_text_that_reads_back),
        cmocka_unit_test(json_writer_indents_and_escapes),
        cmocka_unit_test(json_paths_have_a_maximum_length),
        cmocka_unit_test(functions_are_found_in_shared_objects),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
