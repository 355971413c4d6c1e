/* Tests that the HTML page is complete or not written at all, whichever allocation fails, and that
 * everything is freed then (tests/leaks checks that). */
#include "base/json.h"
#include "check.h"
#include "failing.h"
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes the page of one document. Each time, one allocation fails (with `all_fail`, all later ones
 * fail as well): the first one, then the second one, and so on, until none fails. */
static void write_without_memory(const char *path, bool all_fail)
{
    char *expected = NULL;
    size_t expected_size = 0, number = 0;
    struct fth_error error = NO_ERROR;
    if (fth_report_html(&path, 1, NULL, &expected, &expected_size, &error) != FTH_OK)
        fail_msg("%s: %s", path, error.cause);
    for (bool failed = true; failed;) {
        char *text = NULL;
        size_t size = 0;
        error = NO_ERROR;
        fail_from(++number, all_fail);
        enum fth_status status = fth_report_html(&path, 1, NULL, &text, &size, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status == FTH_OK) {
            assert_int_equal(size, expected_size);
            assert_memory_equal(text, expected, size);
        } else if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY) {
            fail_msg("%s, allocation %zu: status %d, error %d: %s", path, number, status,
                     error.status, error.cause);
        } else {
            assert_null(text);
        }
        fth_free(text);
    }
    fth_free(expected);
}

/* A model run with a curve that is shortened. */
static void write_model(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"schema\": \"fathom-model/1\", \"launches\": [], \"l1_curve\": {\"distances\": [",
          file);
    for (int i = 0; i < 400; i++)
        fprintf(file, "%s[%d, %d]", i ? ", " : "", i, 1 + i % 3);
    fputs("]}}\n", file);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void pages_need_every_allocation(void **state)
{
    (void)state;
    write_model("model.json");
    write_text("series.csv", "element,load,index,cycles,result\nl1,0,0,30,hit\nl1,1,5,300,miss\n"
                             "l2,0,1,200,hit\n");
    write_text("list.json", "[{\"point\": 1, \"kernel\": \"k\", \"trace\": \"t\"}]\n");
    static const char *const paths[] = {"model.json", "series.csv", "list.json",
                                        FTH_SOURCE_ROOT "/data/gpus/gt740m.json"};
    for (size_t i = 0; i < FTH_COUNT(paths); i++) {
        write_without_memory(paths[i], false);
        write_without_memory(paths[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_need_every_allocation),
    };
    return cmocka_run_group_tests_name("report_memory", tests, enter_folder, leave_folder);
}
