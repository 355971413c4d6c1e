/* Tests parts of base/ that other modules use for texts: positions in source code, UTF-8, JSON
 * documents that are built in memory, paths in JSON, and suggestions. The expected values are
 * written out here. */
#include "base/json.h"
#include "check.h"

#include <math.h>
#include <stdio.h>

static void positions_are_written_with_their_calls(void **state)
{
    (void)state;
    static const struct fth_source_position outer = {.file = "src/kernel.cu", .line = 7};
    static const struct fth_source_position unknown = {.line = 5, .inlined_at = &outer};
    static const struct fth_source_position inner = {
        .file = "helper.h", .line = 2, .inlined_at = &unknown};
    static const char all[] = "helper.h:2, inlined at line 5, inlined at kernel.cu:7";
    char text[80];
    assert_string_equal(fth_source_text(&inner, text, sizeof text), all);
    assert_string_equal(fth_source_text(&outer, text, sizeof text), "kernel.cu:7");
    assert_string_equal(fth_source_text(NULL, text, sizeof text), "");
    for (size_t size = 1; size <= sizeof all; size++) {
        char expected[sizeof all];
        snprintf(expected, size, "%s", all);
        memset(text, 'x', sizeof text);
        assert_ptr_equal(fth_source_text(&inner, text, size), text);
        assert_string_equal(text, expected);
        assert_int_equal(text[size], 'x');
    }
    text[0] = 'x';
    fth_source_text(&inner, text, 0);
    assert_int_equal(text[0], 'x');
    assert_string_equal(fth_source_file(&outer), "kernel.cu");
    assert_string_equal(fth_source_file(&inner), "helper.h");
    assert_null(fth_source_file(&unknown));
    assert_null(fth_source_file(NULL));
}

/* The first and the last character of each length, and sequences that are not valid. */
static void utf8_is_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"\x01", 1},
        {"\x7f", 1},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0}, /* U+D800, a surrogate */
        {"\xed\xbf\xbf", 0}, /* U+DFFF */
        {"\xee\x80\x80", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4}, /* U+10FFFF */
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xc2", 0},
        {"\xe2\x82", 0},
        {"\xe2\x82\x7f", 0},
        {"\xe2\x82\xc0", 0},
        {"\xf0\x9f\x98", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        if (fth_utf8_character(rows[i].text, strlen(rows[i].text)) != rows[i].length)
            fail_msg("row %zu", i);
        char text[16];
        assert_int_equal(fth_utf8_is_valid(rows[i].text), rows[i].length > 0);
        snprintf(text, sizeof text, "a%sz", rows[i].text);
        assert_int_equal(fth_utf8_is_valid(text), rows[i].length > 0);
        if (rows[i].length > 1)
            assert_int_equal(fth_utf8_character(rows[i].text, rows[i].length - 1), 0);
    }
    assert_true(fth_utf8_is_valid(""));
    /* Texts for the terminal: each byte of an invalid sequence takes a column. */
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_text_columns(rows[i].text), rows[i].length ? 1 : strlen(rows[i].text));
}

static void built_documents_are_written(void **state)
{
    (void)state;
    struct fth_json_document document = {0};
    struct fth_buffer out = {0};
    char text[] = "a\"\\\b\f\n\r\t\x01\x1f \x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff";
    struct fth_json *root = fth_json_put(&document, NULL, NULL, FTH_JSON_OBJECT);
    assert_ptr_equal(document.root, root);
    struct fth_json *list = fth_json_put(&document, root, "list", FTH_JSON_LIST);
    fth_json_put_text(&document, root, "text", text);
    fth_json_put_integer(&document, list, NULL, -5);
    fth_json_put_real(&document, list, NULL, 2);
    fth_json_put_real(&document, list, NULL, 0.1234567);
    fth_json_put_real(&document, list, NULL, 1e-7);
    fth_json_put_real(&document, list, NULL, 2.5e+123);
    fth_json_put(&document, list, NULL, FTH_JSON_NULL);
    fth_json_put(&document, list, NULL, FTH_JSON_TRUE);
    fth_json_put(&document, list, NULL, FTH_JSON_FALSE);
    struct fth_json *empty = fth_json_put(&document, list, NULL, FTH_JSON_OBJECT);
    text[0] = 'b'; /* the document has a copy */
    assert_false(document.failed);
    fth_json_write(&out, root, 4, true);
    assert_string_equal(out.data, "{\"list\":[-5,2.0,0.1235,1e-7,2.5e123,null,true,false,{}],"
                                  "\"text\":\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001F \x7f\\u00E9"
                                  "\\u20AC\\uD83D\\uDE00?\"}");
    fth_buffer_fini(&out);
    fth_json_write(&out, root, 17, false);
    assert_contains(out.data, " \x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80?\"}");
    fth_buffer_fini(&out);
    /* A member of an object needs a key. */
    assert_null(fth_json_put_integer(&document, empty, NULL, 1));
    assert_true(document.failed);
    assert_null(fth_json_put_text(&document, list, NULL, "x"));
    assert_null(fth_json_put_real(&document, list, NULL, 1));
    fth_json_fini(&document);
}

static void members_are_removed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"a", "{\"b\":2,\"c\":3,\"d\":4}"},
                                          {"b", "{\"a\":1,\"c\":3,\"d\":4}"},
                                          {"c", "{\"a\":1,\"b\":2,\"d\":4}"},
                                          {"x", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        static const char text[] = "{\"a\": 1, \"b\": 2, \"c\": 3}";
        struct fth_json_document document = {0};
        struct fth_buffer out = {0};
        assert_int_equal(fth_json_parse("x", text, strlen(text), &document, NULL), FTH_OK);
        fth_json_remove(document.root, rows[i][0]);
        fth_json_put_integer(&document, document.root, "d", 4);
        fth_json_write(&out, document.root, 17, true);
        assert_string_equal(out.data, rows[i][1]);
        fth_buffer_fini(&out);
        fth_json_fini(&document);
    }
}

static void paths_name_the_place_of_an_error(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": [1, {\"b\\\"x\": [[2], 3]}, \"s:\"], \"c\" : {\"d\":4}, \"e\": \"f\"}";
    static const struct {
        const char *before, *path; /* the error is in front of the text `before` */
    } rows[] = {
        {"{\"a\"", ""},
        {"1, ", "a[0]"},
        {"{\"b", "a[1]"},
        {"[[2]", "a[1].b\\\"x"},
        {"[2]", "a[1].b\\\"x[0]"},
        {"2], 3", "a[1].b\\\"x[0][0]"},
        {", 3]", "a[1].b\\\"x[0]"},
        {"3]}", "a[1].b\\\"x[1]"},
        {"\"s:\"", "a[2]"},
        {", \"c\"", "a"},
        {"\"c\" :", ""},
        {"{\"d\"", "c"},
        {"4}", "c.d"},
        {", \"e\"", "c"},
        {"\"f\"", "e"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_json_path path;
        const char *at = strstr(text, rows[i].before);
        assert_non_null(at);
        fth_json_path_at(text, strlen(text), (size_t)(at - text), &path);
        if (strcmp(path.text, rows[i].path) != 0)
            fail_msg("before %s: %s", rows[i].before, path.text);
    }
    struct fth_json_path path;
    fth_json_path_at("[5", 2, 1000, &path);
    assert_string_equal(path.text, "[0]");
}

static void refusals_name_operation_file_and_path(void **state)
{
    (void)state;
    struct fth_json_path path = {.size = 0};
    struct fth_error error = NO_ERROR;
    assert_string_equal(fth_json_path_text(&path), "the document");
    assert_int_equal(fth_json_refuse(&error, "read x", "file", &path, "is %d", 5), FTH_INVALID);
    assert_string_equal(error.operation, "read x");
    assert_string_equal(error.argument, "file");
    assert_string_equal(error.cause, "the document: is 5");
    assert_int_equal(fth_json_path_key(&path, "a"), 0);
    assert_int_equal(fth_json_path_index(&path, 12), 1);
    const size_t before = fth_json_path_key(&path, "b");
    assert_int_equal(before, 5);
    assert_string_equal(fth_json_path_text(&path), "a[12].b");
    fth_json_path_back(&path, before);
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_json_refuse(&error, "read x", "file", &path, "no %s", "way"), FTH_INVALID);
    assert_string_equal(error.cause, "a[12]: no way");
}

static void sizes_are_rounded_to_hundredths(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } rows[] = {
        {1, "1 B"},
        {0.5, "0.5 B"},
        {-1536, "-1.5 KiB"},
        {1048575, "1024 KiB"},
        {1034.24, "1.01 KiB"},
        {1029, "1 KiB"},
        {1030, "1.01 KiB"},
        {1099511627776, "1 TiB"},
        {1125899906842624, "1 PiB"},
        {1152921504606846976, "1024 PiB"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[40];
        assert_string_equal(fth_size_format(rows[i].bytes, text, sizeof text), rows[i].text);
    }
}

/* The distances are numbers of edits; a beginning of three letters counts as at most two. */
static void distances_count_edits(void **state)
{
    (void)state;
    static const struct {
        const char *word, *other;
        size_t distance;
    } rows[] = {
        {"abc", "abc", 0},        {"abc", "ABC", 0},        {"abc", "abd", 1},
        {"abc", "ab", 1},         {"ab", "abc", 1},         {"abcd", "acbd", 1},
        {"acbd", "abcd", 1},      {"abcd", "badc", 2},      {"abc", "xyz", 3},
        {"ca", "abc", 3},         {"kitten", "sitting", 3}, {"abc", "abcdefghij", 2},
        {"abcdefghij", "abc", 2}, {"ab", "abcdefghij", 8},  {"", "abc", 3},
        {"xabcy", "abc", 2},      {"abcx", "xabc", 2},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        size_t distance = 99;
        assert_string_equal(fth_nearest(rows[i].word, &rows[i].other, 1, &distance), rows[i].other);
        if (distance != rows[i].distance)
            fail_msg("%s, %s: %zu", rows[i].word, rows[i].other, distance);
    }
    /* The first of the nearest words, in both orders. */
    static const char *const words[] = {"aaaa", "abcx", "abcy", "abdd"};
    size_t distance;
    assert_string_equal(fth_nearest("abcd", words, 4, &distance), "abcx");
    assert_int_equal(distance, 1);
    assert_string_equal(fth_nearest("abde", words, 4, &distance), "abdd");
    /* At most a third of the letters, or two, and not all of them. */
    static const char *const long_word[] = {"abcdefghijkl"};
    assert_non_null(fth_suggest("xyzwefghijkl", long_word, 1));
    assert_null(fth_suggest("xyzwvfghijkl", long_word, 1));
    static const char *const short_words[] = {"abcd", "qr"};
    assert_string_equal(fth_suggest("xycd", short_words, 2), "abcd");
    assert_null(fth_suggest("xyzd", short_words, 2));
    assert_null(fth_suggest("ut", &short_words[1], 1));
    assert_non_null(fth_suggest("ur", &short_words[1], 1));
}

/* Words of up to 63 letters are compared. */
static void long_words_are_not_compared(void **state)
{
    (void)state;
    char word[65], other[65];
    const char *const others[] = {other};
    for (size_t length = 63; length <= 64; length++) {
        memset(word, 'a', length);
        memset(other, 'a', length);
        word[length] = other[length] = '\0';
        word[0] = 'b';
        size_t distance;
        fth_nearest(word, others, 1, &distance);
        assert_true(distance == (length == 63 ? 1 : SIZE_MAX));
    }
}

/* A number of bits below a bound of 3 * 2^62 is accepted only from 2^62 on: about one quarter is
 * drawn again. The results have the same distribution, so the counts of the thirds are similar. */
static void random_numbers_below_a_bound_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 30000 };
    struct fth_rng rng;
    size_t counts[3] = {0};
    fth_rng_init(&rng, 7);
    for (int i = 0; i < DRAWS; i++) {
        const uint64_t number = fth_rng_below(&rng, UINT64_C(3) << 62);
        assert_true(number < UINT64_C(3) << 62);
        counts[number >> 62]++;
    }
    for (size_t i = 0; i < 3; i++) /* 5 standard deviations of 82 */
        assert_in_range(counts[i], DRAWS / 3 - 410, DRAWS / 3 + 410);
}

/* The first line of a text, and the rest. */
static void lines_end_at_spaces_and_marks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns;
        const char *line;
        size_t width;
    } rows[] = {
        {"", 5, "", 0},
        {"short", 5, "short", 5},
        {"short word", 5, "short", 5},
        {"two  words", 9, "two", 3},
        {"two words", 4, "two", 3},
        {"äöü ß", 4, "äöü", 3},
        {"unbroken", 5, "unbro", 5},
        {"max_threads", 6, "max_", 4},
        {"a_threads", 8, "a_thread", 8}, /* the mark is near the beginning */
        {"ä\xff", 1, "ä", 1},
        {"5 (4.5 to 6)", 10, "5", 1}, /* a remark stays on one line */
        {"5 (4.5 to 6) x", 12, "5 (4.5 to 6)", 12},
        {"5 (4.5 to 6)", 6, "5 (4.5", 6}, /* which is too long here */
        {"a (which is as long as a sentence is)", 20, "a (which is as long", 19},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        size_t width = 99;
        const size_t bytes = fth_text_line(rows[i].text, rows[i].columns, &width);
        if (bytes != strlen(rows[i].line) || strncmp(rows[i].text, rows[i].line, bytes) != 0)
            fail_msg("%s: %.*s", rows[i].text, (int)bytes, rows[i].text);
        assert_int_equal(width, rows[i].width);
    }
}

static void paragraphs_are_wrapped(void **state)
{
    (void)state;
    static const struct {
        const char *lead, *text;
        size_t columns;
        const char *result;
    } rows[] = {
        {"", "", 9, "\n"},
        {"– ", "one two three", 9, "– one two\n  three\n"},
        {"", "one  twothree\x1b", 4, "one\ntwothree?\n"},
        {"", "ääää öööö", 9, "ääää öööö\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer out = {0};
        fth_text_wrap(&out, rows[i].lead, rows[i].text, rows[i].columns);
        assert_string_equal(out.data, rows[i].result);
        fth_buffer_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_written_with_their_calls),
        cmocka_unit_test(utf8_is_recognised),
        cmocka_unit_test(built_documents_are_written),
        cmocka_unit_test(members_are_removed),
        cmocka_unit_test(paths_name_the_place_of_an_error),
        cmocka_unit_test(refusals_name_operation_file_and_path),
        cmocka_unit_test(sizes_are_rounded_to_hundredths),
        cmocka_unit_test(distances_count_edits),
        cmocka_unit_test(long_words_are_not_compared),
        cmocka_unit_test(random_numbers_below_a_bound_are_uniform),
        cmocka_unit_test(lines_end_at_spaces_and_marks),
        cmocka_unit_test(paragraphs_are_wrapped),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
