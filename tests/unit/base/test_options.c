/* Options of public functions, which begin with their size: options of older and newer versions of
 * the headers, and every function that takes options. */
#include "folder.h"

#include "base/base.h"

#include <math.h>

/* Options as a program knows them. */
struct known_options {
    size_t size;
    const char *text;
    double number;
};
/* The same options in a newer version. */
struct newer_options {
    struct known_options first;
    uint64_t added[2];
};

static enum fth_status read_known(const void *given, struct known_options *known,
                                  struct fth_error *error)
{
    return fth_options_read("known_options", given, known, sizeof *known, error);
}

static void missing_options_are_zero(void **state)
{
    (void)state;
    struct known_options known = {7, "old", 7};
    assert_int_equal(read_known(NULL, &known, NULL), FTH_OK);
    assert_int_equal(known.size, sizeof known);
    assert_null(known.text);
    assert_true(known.number == 0);
}

static void options_of_an_older_version_are_completed(void **state)
{
    (void)state;
    const struct known_options given = {offsetof(struct known_options, number), "text", 5};
    struct known_options known;
    assert_int_equal(read_known(&given, &known, NULL), FTH_OK);
    assert_int_equal(known.size, sizeof known);
    assert_string_equal(known.text, "text");
    assert_true(known.number == 0); /* not a part of what the caller passed */
}

static void options_of_a_newer_version_are_accepted_if_unused(void **state)
{
    (void)state;
    struct newer_options given = {.first = {sizeof given, "text", 5}};
    struct known_options known;
    struct fth_error error = NO_ERROR;
    assert_int_equal(read_known(&given, &known, &error), FTH_OK);
    assert_int_equal(known.size, sizeof known);
    assert_true(known.number == 5);
    given.added[1] = 1;
    assert_int_equal(read_known(&given, &known, &error), FTH_INVALID);
    assert_string_equal(error.argument, "known_options");
    assert_contains(error.cause, "the program needs a newer library");
}

static void a_missing_size_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof size; size += 7) {
        const struct known_options given = {size, "text", 5};
        struct known_options known;
        struct fth_error error = NO_ERROR;
        assert_int_equal(read_known(&given, &known, &error), FTH_INVALID);
        assert_contains(error.cause, "initialise it with the size of the struct");
    }
}

/* ---- every function ---- */

/* Checks the status and the error of a call with options whose size is 0. */
static void check_refused(const char *name, enum fth_status status, struct fth_error *error)
{
    if (status != FTH_INVALID || strcmp(error->operation, "read options") != 0)
        fail_msg("%s: status %d, %s", name, (int)status, error->cause);
    assert_string_equal(error->argument, name);
    *error = NO_ERROR;
}

static struct fth_gpu *read_gpu(void)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "gtx980", NULL, &gpu, NULL), FTH_OK);
    fth_catalogue_close(catalogue);
    return gpu;
}

static void reports_read_the_size(void **state)
{
    (void)state;
    static const struct fth_report_options no_size = {.utf8 = true};
    static const struct fth_compare_options no_compare_size = {.all = true};
    const char name[] = "fth_report_options";
    struct fth_gpu *gpu = read_gpu();
    const struct fth_gpu *const gpus[2] = {gpu, gpu};
    const char *const names[2] = {"a", "b"};
    const struct fth_table table = {0};
    const struct fth_series series = {.element = "l1"};
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    char *text;
    size_t size, count;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    check_refused(name, fth_report_gpu("text", gpu, &no_size, &text, &size, &error), &error);
    check_refused(name, fth_report_table("text", &table, &no_size, &text, &size, &error), &error);
    check_refused(name, fth_report_bench("text", NULL, &no_size, &text, &size, &error), &error);
    check_refused(name, fth_report_dissection(gpu, &no_size, &text, &size, &error), &error);
    check_refused(name, fth_report_series(&series, &no_size, &text, &size, &error), &error);
    check_refused(name,
                  fth_report_model("json", FTH_MODEL_VIEW_PARAMETERS, NULL, params, &no_size, &text,
                                   &size, &error),
                  &error);
    check_refused(
        "fth_compare_options",
        fth_report_compare("text", &no_compare_size, gpus, names, &text, &size, &count, &error),
        &error);
    check_refused(
        "fth_compare_options",
        fth_report_fleet("text", &no_compare_size, gpus, names, 2, &text, &size, &count, &error),
        &error);
    fth_model_params_destroy(params);
    fth_gpu_destroy(gpu);
}

static void measurements_read_the_size(void **state)
{
    (void)state;
    static const struct fth_discover_options discover = {.only = "l1"};
    static const struct fth_dissect_options dissect = {.only = "l1"};
    static const struct fth_bench_options bench = {.thorough = true};
    struct fth_device *device = NULL;
    struct fth_gpu *gpu = NULL;
    struct fth_bench *results = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_open("sim:gtx980", NULL, &device, NULL), FTH_OK);
    check_refused("fth_discover_options", fth_discover(device, &discover, &gpu, &error), &error);
    assert_null(gpu);
    check_refused("fth_dissect_options", fth_dissect(device, &dissect, &gpu, &error), &error);
    assert_null(gpu);
    check_refused("fth_bench_options", fth_bench_create(device, &bench, &results, &error), &error);
    assert_null(results);
    fth_device_close(device);
}

static void launches_and_models_read_the_size(void **state)
{
    (void)state;
    static const struct fth_run_options run = {.threads = 1};
    static const struct fth_launch_shape shape = {.grid = {1, 1, 1}};
    static const struct fth_model_options model = {.threads = 1};
    static const struct fth_explore_options explore = {.threads = 1};
    static const char path[] = FTH_SOURCE_ROOT "/tests/kernels/floats/saxpy.ptx";
    struct fth_launch *launch = NULL;
    struct fth_model_params *params = NULL;
    struct fth_model_result *result = NULL;
    struct fth_exploration *exploration = NULL;
    struct fth_explore_outcome outcome;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_launch_create(path, NULL, 1, &launch, NULL), FTH_OK);
    check_refused("fth_launch_shape", fth_launch_set_shape(launch, &shape, &error), &error);
    check_refused("fth_run_options", fth_launch_run(launch, &run, NULL, &error), &error);
    check_refused("fth_run_options", fth_launch_trace(launch, "a.trace", &run, NULL, &error),
                  &error);
    assert_int_equal(file_count(), 0);
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    check_refused("fth_model_options", fth_model_run(NULL, params, &model, &result, &error),
                  &error);
    assert_int_equal(fth_explore_create(params, &exploration, NULL), FTH_OK);
    check_refused("fth_explore_options", fth_explore_run(exploration, &explore, &outcome, &error),
                  &error);
    assert_null(outcome.text);
    fth_explore_destroy(exploration);
    fth_model_params_destroy(params);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_options_are_zero),
        cmocka_unit_test(options_of_an_older_version_are_completed),
        cmocka_unit_test(options_of_a_newer_version_are_accepted_if_unused),
        cmocka_unit_test(a_missing_size_is_refused),
        cmocka_unit_test(reports_read_the_size),
        cmocka_unit_test(measurements_read_the_size),
        cmocka_unit_test(launches_and_models_read_the_size),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
