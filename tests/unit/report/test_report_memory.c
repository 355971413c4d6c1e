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
        } else if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY ||
                   !error.operation[0]) {
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
    write_text("fleet.json",
               "{\"schema\": \"fathom-fleet/2\", \"cohorts\": [{\"figures\": [{\"bins\": "
               "[1]}, {}]}], \"gpus_left_out\": 2, \"gpus\": [{\"verdict\": \"failed\", "
               "\"findings\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}], "
               "\"heat_map\": {\"rows\": [{\"cells\": \"09.\"}]}}");
    static const char *const paths[] = {"model.json",
                                        "series.csv",
                                        "list.json",
                                        "fleet.json",
                                        FTH_SOURCE_ROOT "/data/gpus/gt740m.json",
                                        FTH_SOURCE_ROOT "/tests/replay/l1-h200.zst"};
    for (size_t i = 0; i < FTH_COUNT(paths); i++) {
        write_without_memory(paths[i], false);
        write_without_memory(paths[i], true);
    }
}

/* Shows the points of an exploration: two names, and more rows than one block of memory holds. Each
 * time, one allocation fails. */
static void points_without_memory(const char *format, const struct fth_buffer *points)
{
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = false);
    char *expected = NULL;
    size_t expected_size = 0, number = 0, refused = 0;
    assert_int_equal(fth_report_points(format, points->data, points->size, &options, &expected,
                                       &expected_size, NULL),
                     FTH_OK);
    for (bool failed = true; failed;) {
        char *text = NULL;
        size_t size = 0;
        struct fth_error error = NO_ERROR;
        fail_from(++number, false);
        const enum fth_status status =
            fth_report_points(format, points->data, points->size, &options, &text, &size, &error);
        failed = has_failed();
        fail_from(0, false);
        assert_int_equal(error.status, status);
        assert_int_equal(error.operation[0] != '\0', status != FTH_OK);
        if (status == FTH_OK) {
            assert_string_equal(text, expected);
        } else {
            assert_int_equal(status, FTH_NO_MEMORY);
            assert_null(text);
            refused++;
        }
        fth_free(text);
    }
    assert_true(refused > 5);
    fth_free(expected);
}

static void points_need_every_allocation(void **state)
{
    (void)state;
    struct fth_buffer points = {0};
    fth_buffer_text(&points, "{\"schema\": \"fathom-points/1\", \"studies\": [{\"vary\": "
                             "[{\"names\": [\"l1.size\", \"l1.ways\"]}]}]}\n");
    for (int i = 0; i < 40; i++)
        fth_buffer_format(&points,
                          "{\"point\": %d, \"study\": \"s%d\", \"values\": {\"l1.size\": \"%dK\", "
                          "\"l1.ways\": \"4\"}, \"rows\": [{\"kernel\": \"k%0200d\"}]}\n",
                          i, i, i, i);
    points_without_memory("text", &points);
    points_without_memory("csv", &points);
    fth_buffer_fini(&points);
}

/* Compares two GPUs, or a fleet of both. */
static enum fth_status compare(const struct fth_gpu *const gpus[2], const char *format, bool fleet,
                               char **text, struct fth_error *error)
{
    static const char *const names[] = {"a", "b"};
    const struct fth_compare_options options = FTH_COMPARE_OPTIONS();
    size_t size = 0, count = 0;
    return fleet ? fth_report_fleet(format, &options, gpus, names, 2, text, &size, &count, error)
                 : fth_report_compare(format, &options, gpus, names, text, &size, &count, error);
}

static void compare_without_memory(const struct fth_gpu *const gpus[2], const char *format,
                                   bool fleet)
{
    char *expected = NULL;
    fail_from(0, false);
    assert_int_equal(compare(gpus, format, fleet, &expected, NULL), FTH_OK);
    size_t number = 0;
    for (bool failed = true; failed;) {
        char *text = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(++number, false);
        const enum fth_status status = compare(gpus, format, fleet, &text, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status == FTH_OK)
            assert_string_equal(text, expected);
        else if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0])
            fail_msg("%s, allocation %zu: status %d: %s", format, number, status, error.cause);
        fth_free(text);
    }
    assert_true(number > 3);
    fth_free(expected);
}

/* A description with caches that share storage, whose paragraph is shown once, and with findings
 * about the L2. */
static const char description[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 1}, \"elements\": {"
    "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sets\": 32, \"ways\": 4, "
    "\"policy\": \"lru\", \"shared_with\": [\"texture\"]}, "
    "\"texture\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sets\": 32, \"ways\": 4, "
    "\"policy\": \"lru\", \"shared_with\": [\"l1\"]}, "
    "\"l2\": {\"size_bytes\": 65536, \"prefetched_part\": 0.5, \"periodic\": \"yes\", "
    "\"unknown\": {\"line_bytes\": \"a reason\"}}}}";

/* Writes the description in a format, or as the text of 'fathom dissect'. */
static enum fth_status write_gpu(const struct fth_gpu *gpu, const char *format, char **text,
                                 struct fth_error *error)
{
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = true);
    size_t size = 0;
    return strcmp(format, "dissection") == 0
               ? fth_report_dissection(gpu, &options, text, &size, error)
               : fth_report_gpu(format, gpu, &options, text, &size, error);
}

/* Writes a description. Each time, one allocation fails, as above. */
static void describe_without_memory(const struct fth_gpu *gpu, const char *format)
{
    char *expected = NULL;
    size_t number = 0;
    fail_from(0, false);
    assert_int_equal(write_gpu(gpu, format, &expected, NULL), FTH_OK);
    for (bool failed = true; failed;) {
        char *text = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(++number, false);
        const enum fth_status status = write_gpu(gpu, format, &text, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status == FTH_OK)
            assert_string_equal(text, expected);
        else if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0])
            fail_msg("%s, allocation %zu: status %d: %s", format, number, status, error.cause);
        fth_free(text);
    }
    fth_free(expected);
}

static void descriptions_need_every_allocation(void **state)
{
    (void)state;
    static const char *const formats[] = {"text", "json",      "csv",  "hwloc",
                                          "mt4g", "accel-sim", "gem5", "dissection"};
    struct fth_gpu *gpu = NULL;
    fail_from(0, false);
    assert_int_equal(fth_gpu_read_text("test", description, strlen(description), NULL, &gpu, NULL),
                     FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        describe_without_memory(gpu, formats[i]);
    fth_gpu_destroy(gpu);
}

static void comparisons_need_every_allocation(void **state)
{
    (void)state;
    /* The last three are formats of fleets only. */
    static const char *const formats[] = {"text", "json", "csv", "long", "jsonl", "prometheus"};
    struct fth_gpu *gpus[2] = {NULL, NULL};
    assert_int_equal(
        fth_gpu_read_file(FTH_SOURCE_ROOT "/data/gpus/gt740m.json", NULL, &gpus[0], NULL), FTH_OK);
    assert_int_equal(
        fth_gpu_read_file(FTH_SOURCE_ROOT "/data/gpus/gf840m.json", NULL, &gpus[1], NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        for (int fleet = i >= 3; fleet < 2; fleet++)
            compare_without_memory((const struct fth_gpu *const *)gpus, formats[i], fleet);
    fth_gpu_destroy(gpus[0]);
    fth_gpu_destroy(gpus[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_need_every_allocation),
        cmocka_unit_test(points_need_every_allocation),
        cmocka_unit_test(descriptions_need_every_allocation),
        cmocka_unit_test(comparisons_need_every_allocation),
    };
    return cmocka_run_group_tests_name("report_memory", tests, enter_folder, leave_folder);
}
