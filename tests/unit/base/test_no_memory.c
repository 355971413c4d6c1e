/* Tests that functions without memory fail with FTH_NO_MEMORY, and that they free what they have
 * allocated until then (tests/leaks checks that).
 *
 * The linker redirects the calls of malloc, calloc and realloc in the library to those of
 * failing.h, and jansson gets the same functions. Each test makes an allocation fail: the
 * first one, then the second one, and so on, until the tested function succeeds. */
#include "base/json.h"
#include "check.h"
#include "failing.h"
#include "gpu/gpu.h"

#include <stdlib.h>

/* A description with attributes of every kind: numbers, texts, lists, with and without provenance,
 * an unknown one, a reason and a reference. Its texts are of several lengths, because jansson
 * allocates memory for the longest token so far. */
static const char document[] =
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

/* Reads the document. Fails the test unless the result is FTH_OK or FTH_NO_MEMORY. */
static enum fth_status read_document(void)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    enum fth_status status =
        fth_gpu_read_text("test", document, strlen(document), NULL, &gpu, &error);
    if (status != FTH_OK && (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY))
        fail_msg("allocation %zu: status %d, error %d: %s", allocations.fails_at, status,
                 error.status, error.cause);
    assert_int_equal(gpu != NULL, status == FTH_OK);
    fth_gpu_destroy(gpu);
    return status;
}

static void descriptions_need_memory(void **state)
{
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, free);
    size_t number = 0;
    do
        fail_from(++number, true);
    while (read_document() != FTH_OK);
    json_set_alloc_funcs(__real_malloc, free);
    assert_true(number > 50);
}

/* One allocation of the library fails, those of jansson and all later ones succeed. */
static void descriptions_need_every_allocation(void **state)
{
    (void)state;
    size_t number = 0;
    do
        fail_from(++number, false);
    while (read_document() != FTH_OK);
    assert_true(number > 5);
}

/* An invalid text is invalid, whether or not there was memory to parse it, and never has a position
 * before its first line. */
static void invalid_texts_are_told_from_missing_memory(void **state)
{
    (void)state;
    static const char text[] = "{\"a key\": [\"some text\", nothing]}";
    json_set_alloc_funcs(__wrap_malloc, free);
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status == FTH_NO_MEMORY; number++) {
        json_t *root = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, true);
        status = fth_json_parse("test", text, strlen(text), &root, &error);
        assert_contains(error.cause, status == FTH_NO_MEMORY
                                         ? "out of memory"
                                         : "line 1, column 31, at a key[1]: invalid token");
    }
    json_set_alloc_funcs(__real_malloc, free);
    assert_int_equal(status, FTH_INVALID);
}

static void written_descriptions_need_memory(void **state)
{
    (void)state;
    struct fth_gpu *gpu = NULL;
    fail_from(0, false);
    assert_int_equal(fth_gpu_read_text("test", document, strlen(document), NULL, &gpu, NULL),
                     FTH_OK);
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status == FTH_NO_MEMORY; number++) {
        char *text = NULL;
        size_t size = 0;
        fail_from(number, true);
        status = fth_gpu_write_text(gpu, &text, &size, NULL);
        fth_free(text);
    }
    assert_int_equal(status, FTH_OK);
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_need_memory),
        cmocka_unit_test(descriptions_need_every_allocation),
        cmocka_unit_test(invalid_texts_are_told_from_missing_memory),
        cmocka_unit_test(written_descriptions_need_memory),
    };
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
