/* Tests that functions without memory fail with FTH_NO_MEMORY, and that they free what they have
 * allocated until then (tests/leaks checks that).
 *
 * The linker redirects the calls of malloc, calloc and realloc in the library to those of
 * failing.h. Each test makes an allocation fail: the first one, then the second one, and so on,
 * until the tested function succeeds. */
#include "base/json.h"
#include "check.h"
#include "failing.h"
#include "gpu/gpu.h"

#include <stdlib.h>

/* A description with attributes of every kind: numbers, texts, lists, with and without provenance,
 * an unknown one, a reason and a reference. */
static const char description[] =
    "{\"schema\": \"fathom-gpu/1\",\n"
    " \"device\": {\"name\": \"a device with a name of some length\", \"sms\": 2},\n"
    " \"elements\": {\n"
    "  \"l1\": {\"size_bytes\": {\"value\": 16384, \"source\": \"published\", \"reference\": "
    "\"paper, "
    "Table 3\",\n"
    "          \"note\": \"a note that is longer than all texts before it, and than sixty-four "
    "bytes\"},\n"
    "         \"shared_with\": [\"texture\"], \"of_a_later_version\": {\"a\": [1, 2.5, null]},\n"
    "         \"unknown\": {\"line_bytes\": \"a reason\"}},\n"
    "  \"texture\": {\"shared_with\": [\"l1\"], \"set_ways\": [1, 2, 3]}},\n"
    " \"references\": {\"paper\": \"A paper\"}}";

/* Reads the description. Fails the test unless the result is FTH_OK or FTH_NO_MEMORY. */
static enum fth_status read_description(void)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    enum fth_status status =
        fth_gpu_read_text("test", description, strlen(description), NULL, &gpu, &error);
    if (status != FTH_OK &&
        (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0]))
        fail_msg("allocation %zu: status %d, error %d: %s", allocations.fails_at, status,
                 error.status, error.cause);
    assert_int_equal(gpu != NULL, status == FTH_OK);
    fth_gpu_destroy(gpu);
    return status;
}

/* One allocation fails, and then all from one on. */
static void descriptions_need_every_allocation(void **state)
{
    (void)state;
    for (int all_fail = 0; all_fail < 2; all_fail++) {
        size_t number = 0;
        do
            fail_from(++number, all_fail);
        while (read_description() != FTH_OK);
        assert_true(number > 5);
    }
}

/* A large document, with objects of many members, long texts, long numbers and nested lists. */
static void put_large_document(struct fth_buffer *text)
{
    fth_buffer_text(text, "{");
    for (int i = 0; i < 400; i++)
        fth_buffer_format(text, "\"key %d\": [\"%0*d\", {\"a\": %d}], ", i, 10 + i, i, i);
    fth_buffer_format(text, "\"number\": 1.%0300d}", 5);
}

/* Whichever allocation fails, a text is read completely or not at all. */
static void documents_need_every_allocation(void **state)
{
    (void)state;
    struct fth_buffer text = {0}, expected = {0};
    struct fth_json_document document = {0};
    fail_from(0, false);
    put_large_document(&text);
    assert_int_equal(fth_json_parse("test", text.data, text.size, &document, NULL), FTH_OK);
    fth_json_write(&expected, document.root, 17, true);
    fth_json_fini(&document);
    enum fth_status status = FTH_NO_MEMORY;
    size_t number = 0;
    while (status == FTH_NO_MEMORY) {
        struct fth_error error = NO_ERROR;
        struct fth_buffer written = {0};
        fail_from(++number, false);
        status = fth_json_parse("test", text.data, text.size, &document, &error);
        fail_from(0, false);
        assert_int_equal(error.status, status);
        assert_int_equal(error.operation[0] != '\0', status != FTH_OK);
        if (status == FTH_OK) {
            fth_json_write(&written, document.root, 17, true);
            assert_string_equal(written.data, expected.data);
        } else {
            assert_null(document.root);
        }
        fth_buffer_fini(&written);
        fth_json_fini(&document);
    }
    assert_int_equal(status, FTH_OK);
    assert_true(number > 10);
    fth_buffer_fini(&text);
    fth_buffer_fini(&expected);
}

/* A builder checks once, at the end. */
static void built_documents_know_that_they_are_incomplete(void **state)
{
    (void)state;
    for (size_t number = 1, failed = 1; failed; number++) {
        struct fth_json_document document = {0};
        fail_from(number, false);
        struct fth_json *root = fth_json_put(&document, NULL, NULL, FTH_JSON_OBJECT);
        struct fth_json *list = fth_json_put(&document, root, "list", FTH_JSON_LIST);
        for (int i = 0; i < 1000; i++) {
            fth_json_put_integer(&document, list, NULL, i);
            fth_json_put_text(&document, list, NULL, "text");
        }
        failed = has_failed();
        fail_from(0, false);
        assert_int_equal(document.failed, failed);
        if (!failed)
            assert_int_equal(fth_json_count(list), 2000);
        fth_json_fini(&document);
    }
}

/* An invalid text is invalid, whether or not there was memory to parse it, and never has a position
 * before its first line. */
static void invalid_texts_are_told_from_missing_memory(void **state)
{
    (void)state;
    static const char text[] = "{\"a key\": [\"some text\", nothing]}";
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status == FTH_NO_MEMORY; number++) {
        struct fth_json_document document = {0};
        struct fth_error error = NO_ERROR;
        fail_from(number, true);
        status = fth_json_parse("test", text, strlen(text), &document, &error);
        assert_contains(error.cause, status == FTH_NO_MEMORY
                                         ? "out of memory"
                                         : "line 1, column 31, at a key[1]: invalid token");
    }
    assert_int_equal(status, FTH_INVALID);
}

static void written_descriptions_need_memory(void **state)
{
    (void)state;
    struct fth_gpu *gpu = NULL;
    fail_from(0, false);
    assert_int_equal(fth_gpu_read_text("test", description, strlen(description), NULL, &gpu, NULL),
                     FTH_OK);
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status == FTH_NO_MEMORY; number++) {
        char *text = NULL;
        size_t size = 0;
        struct fth_error error = NO_ERROR;
        fail_from(number, true);
        status = fth_gpu_write_text(gpu, &text, &size, &error);
        assert_int_equal(error.operation[0] != '\0', status != FTH_OK);
        fth_free(text);
    }
    assert_int_equal(status, FTH_OK);
    fth_gpu_destroy(gpu);
}

/* The list of the descriptions that come with fathom is complete, or there is none. */
static void catalogues_need_every_allocation(void **state)
{
    (void)state;
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status != FTH_OK; number++) {
        struct fth_catalogue *catalogue = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        status = fth_catalogue_open(&catalogue, &error);
        const bool failed = has_failed();
        fail_from(0, false);
        assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
        assert_int_equal(error.status, status);
        assert_int_equal(catalogue != NULL, status == FTH_OK);
        fth_catalogue_close(catalogue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_need_every_allocation),
        cmocka_unit_test(documents_need_every_allocation),
        cmocka_unit_test(built_documents_know_that_they_are_incomplete),
        cmocka_unit_test(invalid_texts_are_told_from_missing_memory),
        cmocka_unit_test(written_descriptions_need_memory),
        cmocka_unit_test(catalogues_need_every_allocation),
    };
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
