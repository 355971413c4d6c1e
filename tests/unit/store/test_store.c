/* Tests of store/: enrolment, identification, export and import with made-up fingerprints. */
#include "made_up.h"

#include <errno.h>
#include <limits.h>

/* ---- enrolling and forgetting ---- */

static void check_enrolled(void *user, const struct fth_enrolled *enrolled)
{
    (void)user;
    assert_string_equal(enrolled->name, "a");
    assert_string_equal(enrolled->device, "Made Up");
    assert_null(enrolled->uuid);
    assert_string_equal(enrolled->driver, "1.0");
    assert_int_equal(enrolled->runs, 5);
    assert_string_equal(enrolled->first_time, "2023-11-14T22:13:20Z");
    assert_string_equal(enrolled->last_time, "2023-11-14T22:13:22Z");
}

static void enrolled_runs_are_stored_and_can_be_forgotten(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    struct fth_store *store = NULL;
    assert_int_equal(fth_store_open(path, NULL, &store, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "does not exist yet");
    assert_int_equal(file_count(), 0);

    store = open_store();
    assert_int_equal(enroll(store, "a", 1, 3, NULL), FTH_OK);
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    fth_store_close(store);
    store = open_store();
    assert_int_equal(fth_store_list(store, false, check_enrolled, NULL, NULL), FTH_OK);

    size_t forgotten = 0;
    error = NO_ERROR;
    assert_int_equal(enroll(store, "node7", 1.1, 2, NULL), FTH_OK);
    assert_int_equal(fth_store_forget(store, "node8", &forgotten, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "did you mean 'node7'?");
    assert_int_equal(fth_store_forget(store, "a", &forgotten, NULL), FTH_OK);
    assert_int_equal(forgotten, 5);
    assert_int_equal(count_runs(store, "a"), 0);
    assert_int_equal(count_runs(store, NULL), 2);
    fth_store_close(store);
    fth_store_close(NULL);
}

static void invalid_names_are_refused(void **state)
{
    (void)state;
    static const char long_name[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char *const bad[] = {"", "a\nb", "\033[31m", "\xff", long_name};
    for (size_t i = 0; i < FTH_COUNT(bad); i++)
        assert_int_equal(fth_store_check_name(bad[i], NULL), FTH_INVALID);
    assert_int_equal(fth_store_check_name(long_name + 1, NULL), FTH_OK);
    assert_int_equal(fth_store_check_name("Größe 1; DROP TABLE run", NULL), FTH_OK);
}

/* All runs of a name must come from one GPU. GPUs are compared by UUID if it is known, otherwise by
 * model. */
static void a_name_belongs_to_one_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *name, *device, *uuid, *cause; /* cause NULL: accepted */
    } rows[] = {
        {"a", "H200", "GPU-1", NULL},
        {"a", "H200", "GPU-1", NULL},
        {"a", "H200", "GPU-2", "the name belongs to another GPU, H200 (GPU-1)"},
        {"a", "V100", NULL, "but this is V100 (no UUID)"},
        {"a", "H200", NULL, NULL},
        {"b", "H200", "GPU-1", "is enrolled as 'a'"},
        {"b", "H200", NULL, NULL},
        {"b", "H200", "GPU-2", NULL}, /* the UUID of b was unknown until now */
        {"b", "H200", "GPU-3", "the name belongs to another GPU, H200 (GPU-2)"},
    };
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 2, FEATURES);
        struct fth_error error = NO_ERROR;
        for (size_t j = 0; j < 2; j++) {
            fingerprint->runs.items[j].device = rows[i].device;
            fingerprint->runs.items[j].uuid = rows[i].uuid;
        }
        enum fth_status status = fth_store_enroll(store, rows[i].name, fingerprint, NULL, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INVALID : FTH_OK);
        if (rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
        fth_fingerprint_destroy(fingerprint);
    }
    assert_int_equal(count_runs(store, "a"), 6);
    assert_int_equal(count_runs(store, "b"), 4);
    fth_store_close(store);
}

static void default_path_follows_the_xdg_specification(void **state)
{
    (void)state;
    static const struct {
        const char *data, *home, *path; /* path NULL: refused */
    } rows[] = {
        {"/data", "/home/me", "/data/fathom/fingerprints.db"},
        {NULL, "/home/me", "/home/me/.local/share/fathom/fingerprints.db"},
        {"relative", "/home/me", "/home/me/.local/share/fathom/fingerprints.db"},
        {"", "", NULL},
        {NULL, NULL, NULL},
    };
    const char *old_home = getenv("HOME");
    char *home = old_home ? strdup(old_home) : NULL;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char found[256] = "";
        unsetenv("XDG_DATA_HOME");
        unsetenv("HOME");
        if (rows[i].data)
            setenv("XDG_DATA_HOME", rows[i].data, 1);
        if (rows[i].home)
            setenv("HOME", rows[i].home, 1);
        enum fth_status status = fth_store_default_path(found, sizeof found, NULL);
        assert_int_equal(status, rows[i].path ? FTH_OK : FTH_INVALID);
        if (rows[i].path)
            assert_string_equal(found, rows[i].path);
    }
    /* The path must fit, with the NUL. */
    char fit[sizeof "/d/fathom/fingerprints.db"];
    struct fth_error error = NO_ERROR;
    setenv("XDG_DATA_HOME", "/d", 1);
    assert_int_equal(fth_store_default_path(fit, sizeof fit, NULL), FTH_OK);
    assert_string_equal(fit, "/d/fathom/fingerprints.db");
    assert_int_equal(fth_store_default_path(fit, sizeof fit - 1, &error), FTH_INVALID);
    assert_contains(error.cause, "the path is too long");
    /* Opening the default store creates its folders. */
    struct fth_store *store = NULL;
    char data[256];
    assert_non_null(getcwd(data, sizeof data));
    setenv("XDG_DATA_HOME", data, 1);
    assert_int_equal(fth_store_open(NULL, NULL, &store, NULL), FTH_NOT_FOUND);
    assert_int_equal(fth_store_open(NULL, &creating, &store, NULL), FTH_OK);
    assert_int_equal(access("fathom/fingerprints.db", F_OK), 0);
    assert_contains(fth_store_path(store), "/fathom/fingerprints.db");
    fth_store_close(store);
    unlink("fathom/fingerprints.db");
    rmdir("fathom");
    unsetenv("XDG_DATA_HOME");
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

static void paths_that_are_too_long_are_refused(void **state)
{
    (void)state;
    char name[PATH_MAX];
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    memset(name, 'x', sizeof name);
    name[PATH_MAX - 2] = '\0';
    assert_int_equal(fth_store_open(name, NULL, &store, &error), FTH_INVALID);
    assert_contains(error.cause, "the path is empty or too long");
    name[PATH_MAX - 3] = '\0';
    error = NO_ERROR;
    assert_int_equal(fth_store_open(name, NULL, &store, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, strerror(ENAMETOOLONG));
    error = NO_ERROR;
    assert_int_equal(fth_store_open(name, &creating, &store, &error), FTH_IO);
}

/* ---- identification ---- */

static void identify(struct fth_store *store, double factor, size_t features,
                     struct fth_identification *found)
{
    struct fth_fingerprint *fingerprint = make_fingerprint(factor, 0.002, 3, features);
    struct fth_error error = NO_ERROR;
    if (fth_store_identify(store, fingerprint, found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fingerprint_destroy(fingerprint);
}

static void the_nearest_gpu_is_identified_and_unknown_gpus_are_not(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    struct fth_identification found;
    struct fth_error error = NO_ERROR;
    struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 2, FEATURES);
    assert_int_equal(fth_store_identify(store, fingerprint, &found, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "no GPU is enrolled");
    fth_fingerprint_destroy(fingerprint);

    assert_int_equal(enroll(store, "a", 1, 10, NULL), FTH_OK);
    assert_int_equal(enroll(store, "b", 1.02, 10, NULL), FTH_OK);
    fingerprint = make_fingerprint(1, 0.002, 10, FEATURES + 7); /* a GPU with more SMs */
    assert_int_equal(fth_store_enroll(store, "c", fingerprint, NULL, NULL), FTH_OK);
    fth_fingerprint_destroy(fingerprint);

    identify(store, 1, FEATURES, &found);
    assert_string_equal(found.name, "a");
    assert_int_equal(found.count, 3);
    assert_string_equal(found.candidates[1].name, "b");
    assert_string_equal(found.candidates[2].name, "c");
    assert_true(found.candidates[0].distance < found.limit_distance);
    assert_true(found.candidates[1].distance > found.limit_distance);
    assert_true(isnan(found.candidates[2].distance));
    assert_int_equal(found.candidates[0].runs, 10);
    fth_identification_fini(&found);

    identify(store, 1.02, FEATURES, &found);
    assert_string_equal(found.name, "b");
    fth_identification_fini(&found);
    identify(store, 1, FEATURES + 7, &found);
    assert_string_equal(found.name, "c");
    fth_identification_fini(&found);

    identify(store, 1.05, FEATURES, &found);
    assert_null(found.name);
    assert_contains(found.reason, "the nearest, 'b', has ");
    fth_identification_fini(&found);
    identify(store, 1, FEATURES + 1, &found);
    assert_null(found.name);
    assert_contains(found.reason, "no enrolled GPU has the same number of SMs");
    fth_identification_fini(&found);

    /* The same GPU is enrolled with two names. */
    assert_int_equal(enroll(store, "twin", 1, 10, NULL), FTH_OK);
    identify(store, 1, FEATURES, &found);
    assert_null(found.name);
    assert_contains(found.reason, "are equally near");
    fth_identification_fini(&found);
    fth_store_close(store);
}

static void one_run_per_gpu_is_too_few(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    struct fth_identification found;
    assert_int_equal(enroll(store, "a", 1, 1, NULL), FTH_OK);
    assert_int_equal(enroll(store, "b", 2, 1, NULL), FTH_OK);
    identify(store, 1, FEATURES, &found);
    assert_null(found.name);
    assert_true(isnan(found.limit_distance));
    assert_contains(found.reason, "enroll more");
    fth_identification_fini(&found);
    fth_store_close(store);
}

/* Stores the entry of the GPU named a, b or c in element 0, 1 or 2 of the array `user`. */
static void keep_enrolled(void *user, const struct fth_enrolled *enrolled)
{
    struct fth_enrolled *all = user;
    struct fth_enrolled *target = &all[enrolled->name[0] - 'a'];
    *target = *enrolled;
}

/* a and b can be distinguished. c has two runs, each with a number of features that no other run
 * has, so they cannot be identified when they are left out. */
static void leave_one_out_counts_right_wrong_and_refused_runs(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 9, NULL), FTH_OK);
    assert_int_equal(enroll(store, "b", 1.02, 9, NULL), FTH_OK);
    for (size_t i = 1; i <= 2; i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 1, FEATURES + i);
        assert_int_equal(fth_store_enroll(store, "c", fingerprint, NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    struct fth_enrolled all[3] = {{.runs = 0}};
    assert_int_equal(fth_store_list(store, true, keep_enrolled, all, NULL), FTH_OK);
    assert_int_equal(all[0].right, 9);
    assert_int_equal(all[1].right, 9);
    assert_int_equal(all[2].refused, 2);
    assert_int_equal(all[0].wrong + all[1].wrong + all[2].wrong, 0);

    /* Runs of GPU a that are enrolled as b are counted as wrong. */
    assert_int_equal(enroll(store, "b", 1, 2, NULL), FTH_OK);
    assert_int_equal(fth_store_list(store, true, keep_enrolled, all, NULL), FTH_OK);
    assert_int_equal(all[1].runs, 11);
    assert_int_equal(all[1].wrong, 2);
    assert_int_equal(all[1].right + all[1].refused, 9);
    fth_store_close(store);
}

/* ---- documents ---- */

static void exported_runs_can_be_imported(void **state)
{
    (void)state;
    struct fth_store *store = open_store(), *other = NULL;
    char *text = NULL, *again = NULL;
    size_t size, again_size, added = 0;
    assert_int_equal(enroll(store, "a", 1, 3, NULL), FTH_OK);
    struct fth_fingerprint *fingerprint = make_fingerprint(2, 0, 2, FEATURES);
    ((double *)fingerprint->runs.items[0].features)[3] = NAN;
    fingerprint->runs.items[0].uuid = fingerprint->runs.items[1].uuid = "GPU-1";
    assert_int_equal(fth_store_enroll(store, "b \"quoted\"", fingerprint, NULL, NULL), FTH_OK);
    fth_fingerprint_destroy(fingerprint);
    assert_int_equal(fth_store_export(store, &text, &size, NULL), FTH_OK);
    write_plain("export.json", text, size);

    assert_int_equal(fth_store_open("other.db", &creating, &other, NULL), FTH_OK);
    assert_int_equal(fth_store_import(other, "export.json", &added, NULL), FTH_OK);
    assert_int_equal(added, 5);
    assert_int_equal(fth_store_export(other, &again, &again_size, NULL), FTH_OK);
    assert_string_equal(again, text);
    /* A second import skips the runs that the store already has. */
    assert_int_equal(fth_store_import(other, "export.json", &added, NULL), FTH_OK);
    assert_int_equal(added, 0);
    assert_int_equal(count_runs(other, NULL), 5);
    fth_store_close(other);
    fth_store_close(store);
    fth_free(text);
    fth_free(again);
    unlink("other.db");
    unlink("export.json");
}

/* A run that an import would refuse is refused when it is stored, and when it is exported. */
static void times_before_1970_and_after_9999_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t time;
        enum fth_status status;
    } rows[] = {{INT64_MIN, FTH_INVALID},
                {-1, FTH_INVALID},
                {0, FTH_OK},
                {FTH_MAX_TIME, FTH_OK},
                {FTH_MAX_TIME + 1, FTH_INVALID},
                {INT64_MAX, FTH_INVALID}};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0.002, 1, FEATURES);
        struct fth_error error = NO_ERROR;
        char name[16], text[24];
        snprintf(name, sizeof name, "clock-%zu", i);
        fingerprint->runs.items[0].time = rows[i].time;
        assert_int_equal(fth_store_enroll(store, name, fingerprint, NULL, &error), rows[i].status);
        assert_int_equal(fth_time_check(rows[i].time, "x", "y", NULL), rows[i].status);
        if (rows[i].status != FTH_OK)
            assert_contains(error.cause, "before 1970 or after 9999; set the clock");
        fth_time_write(rows[i].time, text);
        if (rows[i].status == FTH_OK)
            assert_string_equal(text,
                                rows[i].time ? "9999-12-31T23:59:59Z" : "1970-01-01T00:00:00Z");
        fth_fingerprint_destroy(fingerprint);
    }
    char *document = NULL;
    size_t size, added = 0;
    struct fth_store *other = NULL;
    assert_int_equal(fth_store_export(store, &document, &size, NULL), FTH_OK);
    write_plain("export.json", document, size);
    assert_int_equal(fth_store_open("other.db", &creating, &other, NULL), FTH_OK);
    assert_int_equal(fth_store_import(other, "export.json", &added, NULL), FTH_OK);
    assert_int_equal(added, 2);
    fth_free(document);
    fth_store_close(other);
    fth_store_close(store);
    unlink("other.db");
    unlink("export.json");
    unlink(path);
}

/* The beginning of a document with one valid run. */
#define RUN_BEFORE                                                                                 \
    "{\"schema\": \"fathom-fingerprints/1\", \"runs\": [{\"name\": \"a\", \"key\": \"00000001\", " \
    "\"time\": 1, \"version\": 1, \"features\": [1]}, "

/* A document with an error adds no runs, not even the valid ones before the error. */
static void invalid_documents_are_refused_completely(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"", "end of file"},
        {"[]", "schema"},
        {"{\"schema\": \"fathom-gpu/1\", \"runs\": []}", "fathom-fingerprints/1"},
        {"{\"schema\": \"fathom-fingerprints/1\"}", "runs: must be a list"},
        {RUN_BEFORE "3]}", "runs[1]: must be an object"},
        {RUN_BEFORE "{}]}", "runs[1].name: is missing"},
        {RUN_BEFORE "{\"name\": 3}]}", "runs[1].name"},
        {RUN_BEFORE "{\"name\": \"\"}]}", "runs[1].name: must be 1 to 64 bytes"},
        {RUN_BEFORE "{\"name\": \"b\"}]}", "runs[1].key: is missing"},
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"1\"}]}", "runs[1].key"},
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"00000002\", \"time\": -1}]}",
         "runs[1].time: must be a whole number of seconds within the years 1970 to 9999"},
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"00000002\", \"time\": 1, \"version\": 1.5}]}",
         "runs[1].version"},
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"00000002\", \"time\": 1, \"version\": 1, "
                    "\"features\": []}]}",
         "1 to 4096 numbers"},
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"00000002\", \"time\": 1, \"version\": 1, "
                    "\"features\": [1, \"x\"]}]}",
         "feature 1 of a run is not a number"},
        {RUN_BEFORE "{\"name\": \"a\", \"device\": \"x\", \"key\": \"00000002\", \"time\": 1, "
                    "\"version\": 1, \"features\": [1]}, {\"name\": \"a\", \"device\": \"y\", "
                    "\"key\": \"00000003\", \"time\": 1, \"version\": 1, \"features\": [1]}]}",
         "the name belongs to another GPU"},
    };
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        write_plain("bad.json", rows[i].text, strlen(rows[i].text));
        if (fth_store_import(store, "bad.json", NULL, &error) != FTH_INVALID)
            fail_msg("row %zu was accepted", i);
        assert_contains(error.cause, rows[i].cause);
        assert_int_equal(count_runs(store, NULL), 0);
    }
    unlink("bad.json");
    fth_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(enrolled_runs_are_stored_and_can_be_forgotten),
        TEST(invalid_names_are_refused),
        TEST(a_name_belongs_to_one_gpu),
        TEST(default_path_follows_the_xdg_specification),
        TEST(paths_that_are_too_long_are_refused),
        TEST(the_nearest_gpu_is_identified_and_unknown_gpus_are_not),
        TEST(one_run_per_gpu_is_too_few),
        TEST(leave_one_out_counts_right_wrong_and_refused_runs),
        TEST(exported_runs_can_be_imported),
        TEST(times_before_1970_and_after_9999_are_refused),
        TEST(invalid_documents_are_refused_completely),
    };
    return cmocka_run_group_tests_name("store", tests, enter_folder, leave_folder);
}
