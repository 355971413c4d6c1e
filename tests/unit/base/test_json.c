/* Tests the JSON reader, values and writer: what is accepted and rejected, with which message at
 * which position, and the bytes that are written. */
#include "base/json.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* Reads a text and writes it again. The caller frees the result. */
static char *rewrite(const char *text, int digits, bool ascii)
{
    struct fth_json_document document = {0};
    struct fth_buffer out = {0};
    struct fth_error error = NO_ERROR;
    if (fth_json_parse("test", text, strlen(text), &document, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    fth_json_write(&out, document.root, digits, ascii);
    fth_json_fini(&document);
    return out.data;
}

static void values_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *unicode, *ascii; /* `ascii` NULL: as `unicode` */
    } rows[] = {
        {" [ ] ", "[]", NULL},
        {"{\n}\t\r\n", "{}", NULL},
        {"[true, false ,null]", "[true,false,null]", NULL},
        {"{\"a\":{\"b\":[1,{}]},\"c\":\"\"}", "{\"a\":{\"b\":[1,{}]},\"c\":\"\"}", NULL},
        {"[0, -0, 12, 9223372036854775807, -9223372036854775808]",
         "[0,0,12,9223372036854775807,-9223372036854775808]", NULL},
        {"[0.5, -0.0, 1e2, 1E+2, 1e-7, 1.5e300, 1e22, 123456789012345680.0]",
         "[0.5,-0.0,100.0,100.0,9.9999999999999995e-8,1.5000000000000001e300,1e22,1."
         "2345678901234568e17]",
         "[0.5,-0.0,100.0,100.0,1e-7,1.5e300,1e22,1.23456789012e17]"},
        {"[0.1, 0.30000000000000004]", "[0.10000000000000001,0.30000000000000004]", "[0.1,0.3]"},
        {"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001F\\u007f\"]",
         "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001F\x7f\"]", NULL},
        {"[\"\\u00e9\xc3\xa9\"]", "[\"\xc3\xa9\xc3\xa9\"]", "[\"\\u00E9\\u00E9\"]"},
        {"[\"\\u20AC\\ud834\\uDD1E\"]", "[\"\xe2\x82\xac\xf0\x9d\x84\x9e\"]",
         "[\"\\u20AC\\uD834\\uDD1E\"]"},
        {"[\"\\ud800\\udc00\\udbff\\udfff\"]", "[\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"]",
         "[\"\\uD800\\uDC00\\uDBFF\\uDFFF\"]"},
        {"[\"\\uffff\xf4\x8f\xbf\xbf\"]", "[\"\xef\xbf\xbf\xf4\x8f\xbf\xbf\"]",
         "[\"\\uFFFF\\uDBFF\\uDFFF\"]"},
        {"{\"\xc3\xa9\":1}", "{\"\xc3\xa9\":1}", "{\"\\u00E9\":1}"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *unicode = rewrite(rows[i].text, 17, false), *ascii = rewrite(rows[i].text, 12, true);
        assert_string_equal(unicode, rows[i].unicode);
        assert_string_equal(ascii, rows[i].ascii ? rows[i].ascii : rows[i].unicode);
        free(unicode);
        free(ascii);
    }
}

static const struct {
    const char *text, *cause;
} faults[] = {
    {"", "line 1, column 0: '[' or '{' expected near end of file"},
    {"\n\n 5", "line 3, column 2: '[' or '{' expected near '5'"},
    {"{} {}", "line 1, column 4: end of file expected near '{'"},
    {"[1, 2", "line 1, column 5, at [1]: ']' expected near end of file"},
    {"[1 2]", "line 1, column 4, at [0]: ']' expected near '2'"},
    {"[1,", "line 1, column 3, at [0]: ']' expected near end of file"},
    {"[,]", "line 1, column 2, at [0]: unexpected token near ','"},
    {"{\"a\": {\"b\": [1, 2, x]}}", "line 1, column 20, at a.b[2]: invalid token near 'x'"},
    {"{\"a\": NaN}", "line 1, column 9, at a: invalid token near 'NaN'"},
    {"{\"a\": truest}", "line 1, column 12, at a: invalid token near 'truest'"},
    {"{\"a\\\"q\": {\"b\": }", "at a\\\"q.b: unexpected token near '}'"},
    {"{\"a\": 1,}", "line 1, column 9: string or '}' expected near '}'"},
    {"{\"a\": 1 \"b\": 2}", "line 1, column 11, at b: '}' expected near '\"b\"'"},
    {"{\"a\" 1}", "line 1, column 6: ':' expected near '1'"},
    {"{1: 2}", "line 1, column 2: string or '}' expected near '1'"},
    {"{\"a\": {\"b\": 1,\n \"b\": 2}}",
     "line 2, column 4, at a.b: duplicate object key near '\"b\"'"},
    {"{\"a key of more than twenty bytes\": 1, \"a key of more than twenty bytes\": 1}",
     "duplicate object key"},
    {"{\"a\": [1, {\"c\": 2}, 1e999]}", "at a[2]: real number overflow near '1e999'"},
    {"{\"a\": 123456789012345678901234567890}", "at a: too big integer"},
    {"[9223372036854775808]", "at [0]: too big integer near '9223372036854775808'"},
    {"[-9223372036854775809]", "too big negative integer near '-9223372036854775809'"},
    {"[01]", "line 1, column 2, at [0]: invalid token near '0'"},
    {"[1.]", "line 1, column 3, at [0]: invalid token near '1.'"},
    {"[1e]", "line 1, column 3, at [0]: invalid token near '1e'"},
    {"[-]", "line 1, column 2, at [0]: invalid token near '-'"},
    {"[.5]", "invalid token near '.'"},
    {"[+1]", "invalid token near '+'"},
    {"['a']", "invalid token near '''"},
    {"[\"a\nb\"]", "line 1, column 3, at [0]: unexpected newline near '\"a'"},
    {"[\"a\tb\"]", "line 1, column 3, at [0]: control character 0x9 near '\"a'"},
    {"[\"abc", "line 1, column 5, at [0]: premature end of input near '\"abc'"},
    {"[\"\\x\"]", "line 1, column 4, at [0]: invalid escape near '\"\\x'"},
    {"[\"\\u12G4\"]", "invalid escape near '\"\\u12G'"},
    {"[\"\\ud834\"]", "invalid Unicode '\\uD834' near '\"\\ud834\"'"},
    {"[\"\\uDD1E\"]", "invalid Unicode '\\uDD1E' near '\"\\uDD1E\"'"},
    {"[\"\\ud834\\u0041\"]", "invalid Unicode '\\uD834\\u0041' near '\"\\ud834\\u0041\"'"},
    {"[\"\\ud834\\udbff\"]", "invalid Unicode '\\uD834\\uDBFF' near"},
    {"[\"\\ud834\\ue000\"]", "invalid Unicode '\\uD834\\uE000' near"},
    {"[\"\\udc00\\udc00\"]", "invalid Unicode '\\uDC00' near"},
    {"[\"a\\u0000b\"]", "at [0]: \\u0000 is not allowed near '\"a\\u0000b\"'"},
    {"{\"\\u0000\": 1}", "\\u0000 is not allowed in a key near '\"\\u0000\"'"},
    {"{\"a\": \"\xff\"}", "line 1, column 7, at a: unable to decode byte 0xff near '\"'"},
    {"[\xc0\xaf]", "line 1, column 1: unable to decode byte 0xc0"},
    {"[\"\xed\xa0\x80\"]", "unable to decode byte 0xed"},     /* a surrogate */
    {"[\"\xe0\x80\xaf\"]", "unable to decode byte 0xe0"},     /* longer than needed */
    {"[\"\xf4\x90\x80\x80\"]", "unable to decode byte 0xf4"}, /* beyond U+10FFFF */
    {"[\"\xc3", "unable to decode byte 0xc3"},
    {"[\xc3\xa9\n", "line 1, column 2, at [0]: invalid token near '\xc3\xa9'"},
};

static void faults_have_a_position_and_a_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_json_document document = {0};
        struct fth_error error = NO_ERROR;
        assert_int_equal(
            fth_json_parse("t", faults[i].text, strlen(faults[i].text), &document, &error),
            FTH_INVALID);
        assert_null(document.root);
        if (!strstr(error.cause, faults[i].cause))
            fail_msg("'%s' instead of '%s'", error.cause, faults[i].cause);
    }
}

/* A text need not end with a NUL, and a NUL in it is a fault wherever it is. */
static void sizes_are_respected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *cause; /* NULL: valid */
    } rows[] = {
        {"[1]]", 3, NULL},
        {"[12]", 3, "line 1, column 3, at [0]: ']' expected near end of file"},
        {"[1\0]", 4, "line 1, column 3, at [0]: ']' expected near a NUL byte"},
        {"[1]\0", 4, "end of file expected near a NUL byte"},
        {"[\"a\0\"]", 6, "control character 0x0 near '\"a'"},
        {"[\"\xc3\xa9", 3, "unable to decode byte 0xc3"},
        {NULL, 0, "'[' or '{' expected near end of file"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_json_document document = {0};
        struct fth_error error = NO_ERROR;
        /* A copy without a NUL behind it: sanitizers notice if more is read. */
        char *exact = malloc(rows[i].size ? rows[i].size : 1);
        assert_non_null(exact);
        if (rows[i].size)
            memcpy(exact, rows[i].text, rows[i].size);
        enum fth_status status =
            fth_json_parse("t", rows[i].text ? exact : NULL, rows[i].size, &document, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INVALID : FTH_OK);
        assert_contains(error.cause, rows[i].cause ? rows[i].cause : "");
        fth_json_fini(&document);
        free(exact);
    }
}

static void values_are_nested_up_to_the_maximum_depth(void **state)
{
    (void)state;
    for (size_t depth = FTH_JSON_MAX_DEPTH; depth <= FTH_JSON_MAX_DEPTH + 1; depth++) {
        struct fth_json_document document = {0};
        struct fth_buffer text = {0}, out = {0};
        struct fth_error error = NO_ERROR;
        fth_buffer_repeat(&text, "[", depth);
        fth_buffer_repeat(&text, "]", depth);
        enum fth_status status = fth_json_parse("t", text.data, text.size, &document, &error);
        if (depth == FTH_JSON_MAX_DEPTH) {
            assert_int_equal(status, FTH_OK);
            fth_json_write(&out, document.root, 17, false);
            assert_string_equal(out.data, text.data);
        } else {
            assert_int_equal(status, FTH_INVALID);
            assert_contains(error.cause, "maximum parsing depth reached near '['");
        }
        fth_json_fini(&document);
        fth_buffer_fini(&text);
        fth_buffer_fini(&out);
    }
}

/* A text of 2^24 bytes can have as many values, which would take a gigabyte. The commas are in a
 * string here, so that the accepted text needs little. */
static void documents_have_a_limit(void **state)
{
    (void)state;
    enum { MAX = 1 << 24 };
    char *text = malloc(MAX + 16);
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    assert_non_null(text);
    for (int extra = 0; extra < 2; extra++) {
        /* The list and each comma count as one value, and so does the document. */
        const size_t commas = MAX - 2 + (size_t)extra;
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
        memcpy(text, "[\"", 2);
        memset(text + 2, ',', commas);
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
        memcpy(text + 2 + commas, "\"]", 2);
        const enum fth_status status = fth_json_parse("t", text, commas + 4, &document, &error);
        assert_int_equal(status, extra ? FTH_INVALID : FTH_OK);
        fth_json_fini(&document);
    }
    assert_string_equal(error.cause, "it has more than 16777216 values, the limit for a document");
    free(text);
}

/* Keys of an object with many members: some are prefixes of others, some differ in one bit. */
static void make_key(unsigned number, char key[64])
{
    if (number % 3 == 0)
        snprintf(key, 64, "%.*s", (int)(number % 60),
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    else
        snprintf(key, 64, "%c%u\xc3%c", 'a' + number % 2, number * 7919 % 1000,
                 (char)(0x80 + number % 64));
}

/* Compares an object of any size with a plain list of its keys. */
static void members_are_found_by_their_keys(void **state)
{
    (void)state;
    for (unsigned size = 0; size < 200; size += 1 + size / 4) {
        struct fth_json_document document = {0};
        struct fth_json *root = fth_json_put(&document, NULL, NULL, FTH_JSON_OBJECT);
        char keys[200][64];
        bool present[200] = {false};
        for (unsigned i = 0; i < size; i++) {
            make_key(i, keys[i]);
            bool known = false;
            for (unsigned j = 0; j < i; j++)
                known = known || (present[j] && strcmp(keys[i], keys[j]) == 0);
            assert_int_equal(fth_json_get(root, keys[i]) != NULL, known);
            if (!known)
                fth_json_put_integer(&document, root, keys[i], i);
            present[i] = !known;
        }
        for (unsigned round = 0; round <= size; round++) { /* remove the members, one by one */
            const struct fth_json *member = fth_json_members(root);
            for (unsigned i = 0; i < size; i++) {
                if (!present[i])
                    continue;
                assert_string_equal(member->key, keys[i]);
                assert_int_equal(fth_json_integer(fth_json_get(root, keys[i])), i);
                member = member->next;
            }
            assert_null(member);
            assert_null(fth_json_get(root, "no such key"));
            const unsigned victim = round * 37 % (size ? size : 1);
            if (size && present[victim]) {
                fth_json_remove(root, keys[victim]);
                assert_null(fth_json_get(root, keys[victim]));
                present[victim] = false;
            }
        }
        assert_false(document.failed);
        fth_json_fini(&document);
    }
}

/* Objects with many members also reject duplicate keys, at the second one. */
static void large_objects_reject_duplicate_keys(void **state)
{
    (void)state;
    struct fth_buffer text = {0};
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    fth_buffer_text(&text, "{");
    for (int i = 0; i < 1000; i++)
        fth_buffer_format(&text, "\"k%d\": %d,\n", i, i);
    fth_buffer_text(&text, "\"k500\": 1}");
    assert_int_equal(fth_json_parse("t", text.data, text.size, &document, &error), FTH_INVALID);
    assert_contains(error.cause, "line 1001, column 6, at k500: duplicate object key near");
    fth_buffer_fini(&text);
}

/* Functions accept values of any kind, and values that do not exist. */
static void other_kinds_are_empty(void **state)
{
    (void)state;
    static const char text[] =
        "{\"list\": [1], \"text\": \"a\", \"real\": 1.5, \"object\": {\"a\": 1}}";
    struct fth_json_document document = {0};
    assert_int_equal(fth_json_parse("t", text, strlen(text), &document, NULL), FTH_OK);
    const struct fth_json *list = fth_json_get(document.root, "list");
    const struct fth_json *string = fth_json_get(document.root, "text");
    const struct fth_json *object = fth_json_get(document.root, "object");
    assert_int_equal(fth_json_count(list), 1);
    assert_int_equal(fth_json_integer(fth_json_item(list, 0)), 1);
    assert_null(fth_json_item(list, 1));
    assert_null(fth_json_get(list, "a"));
    assert_null(fth_json_members(list));
    assert_null(fth_json_items(object));
    assert_int_equal(fth_json_count(object), 0);
    assert_null(fth_json_string(list));
    assert_string_equal(fth_json_string(string), "a");
    assert_int_equal(fth_json_integer(string), 0);
    assert_true(fth_json_double(string) == 0);
    assert_true(fth_json_double(fth_json_get(document.root, "real")) == 1.5);
    assert_int_equal(fth_json_integer(fth_json_get(document.root, "real")), 0);
    assert_null(fth_json_get(NULL, "a"));
    assert_null(fth_json_items(NULL));
    assert_null(fth_json_string(NULL));
    assert_false(fth_json_is_number(NULL));
    fth_json_remove(document.root, "absent");
    fth_json_fini(&document);
}

/* A second text is read into the same document; values of the first one stay valid. */
static void documents_can_be_joined(void **state)
{
    (void)state;
    struct fth_json_document document = {0};
    struct fth_buffer out = {0};
    assert_int_equal(fth_json_parse("t", "{\"a\": 1}", 8, &document, NULL), FTH_OK);
    struct fth_json *first = document.root;
    assert_int_equal(fth_json_parse("t", "[2, 3]", 6, &document, NULL), FTH_OK);
    fth_json_attach(&document, first, "b", document.root);
    fth_json_write(&out, first, 17, false);
    assert_string_equal(out.data, "{\"a\":1,\"b\":[2,3]}");
    fth_json_fini(&document);
    fth_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_and_written),
        cmocka_unit_test(faults_have_a_position_and_a_message),
        cmocka_unit_test(sizes_are_respected),
        cmocka_unit_test(values_are_nested_up_to_the_maximum_depth),
        cmocka_unit_test(documents_have_a_limit),
        cmocka_unit_test(members_are_found_by_their_keys),
        cmocka_unit_test(large_objects_reject_duplicate_keys),
        cmocka_unit_test(other_kinds_are_empty),
        cmocka_unit_test(documents_can_be_joined),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
