/* Tests files of studies (explore/spec.c): what they may contain, and the message for everything
 * else. */
#include "explore/explore.h"
#include "folder.h"

#include <sys/stat.h>

static struct fth_exploration *create(void)
{
    struct fth_model_params *params = NULL;
    struct fth_exploration *exploration = NULL;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    assert_int_equal(fth_explore_create(params, &exploration, NULL), FTH_OK);
    fth_model_params_destroy(params);
    return exploration;
}

/* Reads a file with this text. */
static enum fth_status read_spec(struct fth_exploration *exploration, const char *text,
                                 struct fth_error *error)
{
    write_plain("spec.json", text, strlen(text));
    return fth_explore_read(exploration, "spec.json", NULL, NULL, error);
}

/* Writes a text into a buffer: a study whose axis has `count` values. */
static const char *study_with_values(size_t count)
{
    static char text[4096];
    size_t size =
        (size_t)snprintf(text, sizeof text,
                         "{\"schema\": \"fathom-exploration/1\", \"studies\": [{\"name\": "
                         "\"a\", \"traces\": [\"tuples\"], \"vary\": {\"l1.ways\": [");
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%zu", i ? ", " : "", i + 1);
    snprintf(text + size, sizeof text - size, "]}}]}");
    return text;
}

#define HEAD "{\"schema\": \"fathom-exploration/1\", \"studies\": ["
#define STUDY HEAD "{\"name\": \"a\", \"traces\": [\"tuples\"]"

static void malformed_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"[]", "schema: must be fathom-exploration/1"},
        {"{\"schema\": \"fathom-exploration/2\"}", "schema: must be fathom-exploration/1"},
        {"{\"schema\": \"fathom-exploration/1\"}", "studies: must be a list with at least one"},
        {HEAD "]}", "studies: must be a list with at least one"},
        {HEAD "1]}", "each study must be an object with a name and a list of traces"},
        {HEAD "{\"traces\": []}]}", "each study must be an object with a name"},
        {HEAD "{\"name\": \"\", \"traces\": []}]}", "each study must be an object with a name"},
        {HEAD "{\"name\": \"a\"}]}", "each study must be an object with a name"},
        {HEAD "{\"name\": \"a\", \"traces\": \"tuples\"}]}", "and a list of traces"},
        {HEAD "{\"name\": \"a\", \"traces\": [1]}]}", "a: traces must be strings"},
        {STUDY ", \"varies\": {}}]}", "varies: unknown key"},
        {STUDY ", \"set\": []}]}", "set: must be an object"},
        {STUDY ", \"set\": {\"l1.ways\": true}}]}", "l1.ways: must be a string or a number"},
        {STUDY ", \"set\": {\"l1.weys\": 1}}]}", "no such parameter"},
        {STUDY ", \"vary\": []}]}", "vary: must be an object"},
        {STUDY ", \"vary\": {\"l1.ways\": 4}}]}", "l1.ways: must be a list of at most 64 values"},
        {STUDY ", \"vary\": {\"l1.ways\": [4, null]}}]}",
         "l1.ways: its values must be strings or numbers"},
        {HEAD "{\"name\": \"a\", \"traces\": [\"missing\"]}]}", "No such file or directory"},
        {HEAD "{\"name\": \"a\", \"traces\": [\"pipe\"]}]}", "not a regular file"},
        {HEAD "{\"name\": \"a\", \"traces\": [\"/dev/zero\"]}]}", "not a regular file"},
        {HEAD "{\"name\": \"a\", \"traces\": [\"tuples none\"]}]}", "none"},
    };
    write_plain("tuples", "0 0 0 R 4\n", 10);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = NO_ERROR;
        char text[600];
        /* The values of settings are checked when the plan is made. */
        if (read_spec(exploration, rows[i].text, &error) == FTH_OK &&
            fth_plan_complete(exploration, &error) == FTH_OK)
            fail_msg("accepted: %s", rows[i].text);
        assert_contains(fth_error_text(&error, text, sizeof text), rows[i].cause);
        fth_explore_destroy(exploration);
    }
}

static void an_axis_has_at_most_64_values(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 63, 64, 65};
    for (size_t i = 0; i < FTH_COUNT(counts); i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = NO_ERROR;
        const enum fth_status status = read_spec(exploration, study_with_values(counts[i]), &error);
        if (counts[i] <= 64) {
            assert_int_equal(status, FTH_OK);
            assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
            assert_int_equal(exploration->points, counts[i]);
            /* The last value is there, too. */
            char last[8];
            snprintf(last, sizeof last, "%zu", counts[i]);
            assert_string_equal(exploration->studies[0].axes[0].values[counts[i] - 1], last);
        } else {
            assert_int_equal(status, FTH_INVALID);
            assert_contains(error.cause, "at most 64 values");
        }
        fth_explore_destroy(exploration);
    }
}

/* Settings of all studies come first, then those of the study; texts and numbers are the same. */
static void studies_contain_what_the_file_says(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"fathom-exploration/1\", \"set\": {\"gpu.sms\": 8, \"l1.ways\": \"2\"},"
        " \"studies\": ["
        "{\"name\": \"first\", \"about\": \"x\", \"traces\": [\"tuples\", \"tuples kernel\"],"
        " \"set\": {\"l1.ways\": 4}, \"vary\": {\"l1.size_bytes\": [\"8K\", 16384],"
        " \"l2.partitions+l2.banks\": [\"1+1\", \"4+2\"]}, \"l1_off\": true},"
        "{\"name\": \"second\", \"traces\": [\"./tuples\"], \"l1_off\": false}]}";
    struct fth_exploration *exploration = create();
    struct fth_model_params *params = NULL;
    struct fth_point point;
    struct fth_error error = NO_ERROR;
    if (read_spec(exploration, text, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
    assert_int_equal(exploration->points, 2 * 2 * 2 + 1);
    assert_int_equal(exploration->input_count, 1);
    const struct fth_study *first = NULL, *second = NULL;
    for (size_t i = 0; i < exploration->study_count; i++) {
        first =
            strcmp(exploration->studies[i].name, "first") == 0 ? &exploration->studies[i] : first;
        second =
            strcmp(exploration->studies[i].name, "second") == 0 ? &exploration->studies[i] : second;
    }
    assert_true(first && second);
    assert_true(first->l1_off);
    assert_false(second->l1_off);
    assert_null(first->kernels[0]);
    assert_string_equal(first->kernels[1], "kernel");
    fth_point_at(exploration, first->first, &point);
    assert_int_equal(fth_point_params(exploration, &point, &params, &error), FTH_OK);
    assert_string_equal(fth_model_value(params, FTH_KEY_SMS, NULL), "8");
    assert_string_equal(fth_model_value(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_WAYS), NULL),
                        "4");
    fth_model_params_destroy(params);
    fth_point_at(exploration, second->first, &point);
    assert_int_equal(fth_point_params(exploration, &point, &params, &error), FTH_OK);
    assert_string_equal(fth_model_value(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_WAYS), NULL),
                        "2");
    fth_model_params_destroy(params);
    fth_explore_destroy(exploration);
}

static void presets_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_explore_preset(exploration, "rdg", ".", NULL, NULL, &error),
                     FTH_NOT_FOUND);
    assert_contains(error.cause, "available: rdgc");
    assert_string_equal(fth_explore_preset_at(0), "rdgc");
    assert_null(fth_explore_preset_at(1));
    fth_explore_destroy(exploration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(an_axis_has_at_most_64_values),
        cmocka_unit_test(studies_contain_what_the_file_says),
        cmocka_unit_test(presets_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests_name("spec", tests, enter_folder, leave_folder);
}
