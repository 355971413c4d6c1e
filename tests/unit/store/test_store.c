/* Tests of store/: enrolment, identification, export and import with made-up fingerprints, and the
 * safety of the file. Enrolled runs must survive killed processes, concurrent writers and full
 * disks, and files that are damaged or belong to other programs must not be changed. */
#include "folder.h"
#include "noise.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char path[] = "store.db";

/* ---- made-up fingerprints ---- */

enum { FEATURES = 21 };

/* A typical run with features of the current version. */
static const double typical_features[FEATURES] = {1,   32,  32, 80, 40, 28, 450, 600, 470, 480, 690,
                                                  700, 220, 1,  1,  1,  1,  1,   1,   1,   1};

/* Creates a fingerprint of `runs` runs. Each feature is `factor` times the typical value, with a
 * random relative error of at most `noise`. */
static struct fth_fingerprint *make_fingerprint(double factor, double noise, size_t runs,
                                                size_t features)
{
    static struct fth_rng rng = {{1, 2, 3, 4}};
    struct fth_fingerprint *fingerprint = calloc(1, sizeof *fingerprint);
    assert_non_null(fingerprint);
    for (size_t i = 0; i < runs; i++) {
        struct fth_run *run = fth_runs_add(&fingerprint->runs);
        double *values = fth_arena_array(&fingerprint->runs.arena, features, sizeof *values);
        assert_true(run && values);
        for (size_t j = 0; j < features; j++)
            values[j] = typical_features[j % FEATURES] * factor *
                        (1 + noise * (2 * fth_rng_unit(&rng) - 1));
        *run = (struct fth_run){.device = "Made Up",
                                .driver = "1.0",
                                .time = 1700000000 + (int64_t)i,
                                .version = FTH_FEATURES_VERSION,
                                .features = values,
                                .count = features};
    }
    return fingerprint;
}

static struct fth_store *open_store(void)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_store_open(path, true, &store, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return store;
}

static enum fth_status enroll(struct fth_store *store, const char *name, double factor, size_t runs,
                              struct fth_error *error)
{
    struct fth_fingerprint *fingerprint = make_fingerprint(factor, 0.002, runs, FEATURES);
    enum fth_status status = fth_store_enroll(store, name, fingerprint, NULL, error);
    fth_fingerprint_destroy(fingerprint);
    return status;
}

/* Number of runs with a name, or of all runs if the name is NULL. */
struct run_total {
    const char *name;
    size_t runs;
};

static void add_runs(void *user, const struct fth_enrolled *enrolled)
{
    struct run_total *run_total = user;
    if (!run_total->name || strcmp(run_total->name, enrolled->name) == 0)
        run_total->runs += enrolled->runs;
}

static size_t count_runs(struct fth_store *store, const char *name)
{
    struct run_total run_total = {name, 0};
    struct fth_error error = NO_ERROR;
    if (fth_store_list(store, false, add_runs, &run_total, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return run_total.runs;
}

static int remove_store(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

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
    assert_int_equal(fth_store_open(path, false, &store, &error), FTH_NOT_FOUND);
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
    /* Opening the default store creates its folders. */
    struct fth_store *store = NULL;
    char data[256];
    assert_non_null(getcwd(data, sizeof data));
    setenv("XDG_DATA_HOME", data, 1);
    assert_int_equal(fth_store_open(NULL, false, &store, NULL), FTH_NOT_FOUND);
    assert_int_equal(fth_store_open(NULL, true, &store, NULL), FTH_OK);
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

/* a and b can be distinguished. c has a single run and a number of features that no other GPU has,
 * so its run cannot be identified when it is left out. */
static void leave_one_out_counts_right_wrong_and_refused_runs(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 9, NULL), FTH_OK);
    assert_int_equal(enroll(store, "b", 1.02, 9, NULL), FTH_OK);
    struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 1, FEATURES + 1);
    assert_int_equal(fth_store_enroll(store, "c", fingerprint, NULL, NULL), FTH_OK);
    fth_fingerprint_destroy(fingerprint);
    struct fth_enrolled all[3] = {{.runs = 0}};
    assert_int_equal(fth_store_list(store, true, keep_enrolled, all, NULL), FTH_OK);
    assert_int_equal(all[0].right, 9);
    assert_int_equal(all[1].right, 9);
    assert_int_equal(all[2].refused, 1);
    assert_int_equal(all[0].wrong + all[1].wrong + all[2].wrong, 0);

    /* A run of GPU a that is enrolled as b is counted as wrong. */
    assert_int_equal(enroll(store, "b", 1, 1, NULL), FTH_OK);
    assert_int_equal(fth_store_list(store, true, keep_enrolled, all, NULL), FTH_OK);
    assert_int_equal(all[1].runs, 10);
    assert_int_equal(all[1].wrong, 1);
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

    assert_int_equal(fth_store_open("other.db", true, &other, NULL), FTH_OK);
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
        {RUN_BEFORE "{\"name\": \"b\", \"key\": \"00000002\", \"time\": -1}]}", "runs[1].time"},
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

/* ---- files ---- */

static struct fth_buffer read_content(const char *file)
{
    struct fth_buffer content = {0};
    assert_int_equal(fth_file_read(file, 64 << 20, &content, NULL), FTH_OK);
    return content;
}

static void run_sql(const char *file, const char *sql)
{
    sqlite3 *database = NULL;
    char *fault = NULL;
    assert_int_equal(sqlite3_open(file, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &fault) != SQLITE_OK)
        fail_msg("%s", fault);
    sqlite3_close(database);
}

/* Opening the store must fail with that cause and must not change the file. */
static void assert_refused(enum fth_status expected, const char *cause)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    struct fth_buffer before = read_content(path);
    const size_t files = file_count();
    assert_int_equal(fth_store_open(path, true, &store, &error), expected);
    assert_null(store);
    assert_contains(error.cause, cause);
    struct fth_buffer after = read_content(path);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    assert_int_equal(file_count(), files);
    fth_buffer_fini(&before);
    fth_buffer_fini(&after);
}

/* SQL statements that create a store with version 1 of the database schema. */
static const char version_1[] =
    "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, device TEXT, uuid TEXT);"
    "CREATE TABLE run (id INTEGER PRIMARY KEY,"
    " gpu INTEGER NOT NULL REFERENCES gpu(id) ON DELETE CASCADE, driver TEXT,"
    " time INTEGER NOT NULL, version INTEGER NOT NULL, features TEXT NOT NULL);"
    "CREATE INDEX run_gpu ON run(gpu);"
    "PRAGMA application_id = 1718904941; PRAGMA user_version = 1;"
    "INSERT INTO gpu VALUES (1, 'old', 'NVIDIA H200', 'GPU-1'), (2, 'older', NULL, NULL);"
    "INSERT INTO run VALUES (1, 1, '580', 1700000000, 1, '[1,2,null]'),"
    " (2, 1, '580', 1700000001, 1, '[1,2,3]'), (3, 2, NULL, 1600000000, 1, '[4,5,6]');";

static void stores_of_version_1_are_upgraded(void **state)
{
    (void)state;
    run_sql(path, version_1);
    struct fth_store *store = NULL;
    assert_int_equal(fth_store_open(path, false, &store, NULL), FTH_OK);
    struct fth_runs runs = {.items = NULL};
    assert_int_equal(fth_store_read(store, "read", &runs, NULL), FTH_OK);
    assert_int_equal(runs.count, 3);
    assert_string_equal(runs.items[0].name, "old");
    assert_string_equal(runs.items[0].uuid, "GPU-1");
    assert_int_equal(runs.items[1].time, 1700000001);
    assert_true(isnan(runs.items[0].features[2]) && runs.items[1].features[2] == 3);
    assert_string_equal(runs.items[2].name, "older");
    assert_null(runs.items[2].device);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(strlen(runs.items[i].key), 32);
        assert_string_not_equal(runs.items[i].key, runs.items[(i + 1) % 3].key);
    }
    fth_runs_fini(&runs);
    assert_int_equal(enroll(store, "new", 1, 2, NULL), FTH_OK);
    fth_store_close(store);
    /* The upgrade happened once; opening the store again finds the same runs. */
    store = open_store();
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
    run_sql(path, "PRAGMA user_version = 3");
    assert_refused(FTH_UNSUPPORTED,
                   "a newer fathom created it (version 3, this one supports up to 2)");
}

/* Creates runs with features of version 1, which had three stream features instead of four. */
static struct fth_fingerprint *make_old(double factor, size_t runs)
{
    enum { FIRST_STREAM = 8, STREAMS = 4, OLD_STREAMS = 3 };
    struct fth_fingerprint *fingerprint = make_fingerprint(factor, 0.002, runs, FEATURES);
    for (size_t i = 0; i < runs; i++) {
        struct fth_run *run = &fingerprint->runs.items[i];
        double *values = fth_arena_array(&fingerprint->runs.arena, FEATURES - STREAMS + OLD_STREAMS,
                                         sizeof *values);
        assert_non_null(values);
        for (size_t j = 0; j < FEATURES; j++)
            if (j < FIRST_STREAM)
                values[j] = run->features[j];
            else if (j >= FIRST_STREAM + STREAMS)
                values[j - STREAMS + OLD_STREAMS] = run->features[j];
        for (size_t j = 0; j < OLD_STREAMS; j++) /* values that must be ignored */
            values[FIRST_STREAM + j] = 1e6 * (double)(i + 1);
        run->version = 1;
        run->features = values;
        run->count = FEATURES - STREAMS + OLD_STREAMS;
    }
    return fingerprint;
}

/* Runs of version 1 and of the current version are compared by the features that both have. The old
 * runs stay unchanged in the store. */
static void features_of_version_1_are_still_compared(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double factor;
    } gpus[] = {{"old", 1}, {"older", 1.05}};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(gpus); i++) {
        struct fth_fingerprint *fingerprint = make_old(gpus[i].factor, 5);
        assert_int_equal(fth_store_enroll(store, gpus[i].name, fingerprint, NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    /* Round 0: the store has only old runs. Round 1: it also has runs of the current version. */
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i <= FTH_COUNT(gpus); i++) {
            const bool unknown = i == FTH_COUNT(gpus);
            struct fth_fingerprint *fingerprint =
                make_fingerprint(unknown ? 1.1 : gpus[i].factor, 0.002, 1, FEATURES);
            struct fth_identification found;
            assert_int_equal(fth_store_identify(store, fingerprint, &found, NULL), FTH_OK);
            if (unknown)
                assert_null(found.name);
            else
                assert_string_equal(found.name, gpus[i].name);
            fth_identification_fini(&found);
            fth_fingerprint_destroy(fingerprint);
        }
        assert_int_equal(enroll(store, "old", 1, 3, NULL), FTH_OK);
    }
    struct fth_runs runs = {.items = NULL};
    assert_int_equal(fth_store_read(store, "read", &runs, NULL), FTH_OK);
    size_t found[16];
    assert_int_equal(runs.count, FTH_COUNT(found));
    assert_int_equal(fth_leave_one_out(&runs, found, NULL), FTH_OK);
    for (size_t i = 0; i < runs.count; i++)
        assert_string_equal(runs.items[found[i]].name, runs.items[i].name);
    assert_int_equal(runs.items[0].version, 1);
    assert_int_equal(runs.items[0].count, FEATURES - 1);
    fth_runs_fini(&runs);
    fth_store_close(store);
}

static void other_files_are_refused_and_not_changed(void **state)
{
    (void)state;
    static const char text[] = "my notes\n";
    write_plain(path, text, sizeof text - 1);
    assert_refused(FTH_INVALID, "not a fingerprint store; the file was not changed");
    unlink(path);
    run_sql(path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    assert_refused(FTH_INVALID, "a database of another program; it was not changed");
    unlink(path);
    run_sql(path, "PRAGMA application_id = 7; CREATE TABLE t (x)");
    assert_refused(FTH_INVALID, "a database of another program");
    unlink(path);
    /* An empty file is accepted and becomes a store. */
    write_plain(path, "", 0);
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    fth_store_close(store);

    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_store_open("no/such/folder/x.db", true, &store, &error), FTH_IO);
    assert_contains(error.cause, "No such file or directory");
    error = NO_ERROR;
    assert_int_equal(fth_store_open(".", true, &store, &error), FTH_IO);
    assert_int_equal(fth_store_open("", true, &store, NULL), FTH_INVALID);
    /* The special names of SQLite are ordinary file names here. */
    assert_int_equal(fth_store_open(":memory:", false, &store, NULL), FTH_NOT_FOUND);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    const size_t page = 4096;
    struct fth_store *store = open_store();
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(enroll(store, i % 2 ? "a" : "b", 1, 10, NULL), FTH_OK);
    fth_store_close(store);
    struct fth_buffer good = read_content(path);
    assert_true(good.size > 8 * page);
    /* Pages in the middle are overwritten. */
    struct fth_buffer bad = {0};
    fth_buffer_append(&bad, good.data, good.size);
    memset(bad.data + 2 * page, 0xa5, 4 * page);
    write_plain(path, bad.data, bad.size);
    assert_refused(FTH_INVALID, "the file is damaged");
    /* The end is missing. */
    write_plain(path, good.data, good.size - 3 * page);
    assert_refused(FTH_INVALID, "the file is damaged");
    fth_buffer_fini(&good);
    fth_buffer_fini(&bad);
}

/* ---- other processes ---- */

/* Calls `child` in a new process, whose exit status is its result. */
static pid_t start_process(int (*child)(int argument), int argument)
{
    fflush(NULL);
    const pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0)
        _exit(child(argument));
    return id;
}

/* Returns the exit status of a process, or the negative number of the signal that ended it. */
static int wait_for_exit(pid_t id)
{
    int status = 0;
    assert_int_equal(waitpid(id, &status, 0), id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Enrolls three runs at a time until it is killed. Writes one byte to the pipe after each
 * enrolment. */
static int enroll_forever(int pipe_end)
{
    struct fth_store *store = NULL;
    for (;;) {
        if (fth_store_open(path, true, &store, NULL) != FTH_OK)
            return 1;
        for (int i = 0; i < 3; i++)
            if (enroll(store, "a", 1, 3, NULL) != FTH_OK || write(pipe_end, "x", 1) != 1)
                return 1;
        fth_store_close(store);
    }
}

static void wait_us(uint64_t us)
{
    const struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

/* A process is killed at random times while it enrolls runs. Afterwards, the store must open and
 * hold only complete enrolments, among them all that the process has acknowledged. */
static void sigkill_leaves_only_complete_enrolments(void **state)
{
    (void)state;
    enum { KILLS = 40 };
    struct fth_rng rng;
    size_t acknowledged = 0, journals = 0;
    fth_rng_init(&rng, 9);
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        char bytes[4096];
        assert_int_equal(pipe(ends), 0);
        const pid_t id = start_process(enroll_forever, ends[1]);
        close(ends[1]);
        /* Kill after zero to three enrolments and a random time, in which more may complete. */
        for (uint64_t left = fth_rng_below(&rng, 4); left > 0; left--)
            acknowledged += read(ends[0], bytes, 1) == 1;
        wait_us(fth_rng_below(&rng, 20000));
        assert_int_equal(kill(id, SIGKILL), 0);
        assert_int_equal(wait_for_exit(id), -SIGKILL);
        ssize_t got;
        while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
            acknowledged += (size_t)got;
        close(ends[0]);
        journals += access("store.db-journal", F_OK) == 0;
        struct fth_store *store = open_store();
        const size_t runs = count_runs(store, "a");
        if (runs % 3 || runs / 3 < acknowledged || runs / 3 > acknowledged + (size_t)i + 1)
            fail_msg("%zu runs after %zu acknowledged enrolments", runs, acknowledged);
        fth_store_close(store);
    }
    print_message("# %d kills, %zu enrolments, %zu journals to roll back\n", KILLS, acknowledged,
                  journals);
    assert_true(acknowledged > 0);
}

static int enroll_often(int writer)
{
    struct fth_store *store = NULL;
    if (fth_store_open(path, true, &store, NULL) != FTH_OK)
        return 1;
    for (int i = 0; i < 25; i++)
        if (enroll(store, i % 2 ? "shared" : writer ? "one" : "two", 1, 2, NULL) != FTH_OK)
            return 2;
    fth_store_close(store);
    return 0;
}

/* Neither process finds an existing file: they may also create it at the same time. */
static void two_processes_can_write_at_once(void **state)
{
    (void)state;
    const pid_t one = start_process(enroll_often, 1), two = start_process(enroll_often, 0);
    assert_int_equal(wait_for_exit(one), 0);
    assert_int_equal(wait_for_exit(two), 0);
    struct fth_store *store = open_store();
    assert_int_equal(count_runs(store, "one"), 26);
    assert_int_equal(count_runs(store, "two"), 26);
    assert_int_equal(count_runs(store, "shared"), 48);
    fth_store_close(store);
}

/* While another process holds the write lock, an enrolment waits until the timeout (here 30 ms) and
 * then fails. Reading is possible. */
static void a_locked_store_is_reported_after_the_timeout(void **state)
{
    (void)state;
    struct fth_store *store = open_store(), *other = open_store();
    struct fth_error error = NO_ERROR;
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    assert_int_equal(fth_store_begin(other, "keep", NULL), FTH_OK);
    sqlite3_busy_timeout(store->database, 30);
    assert_int_equal(enroll(store, "a", 1, 2, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "another process keeps it locked; nothing was changed");
    assert_int_equal(count_runs(store, NULL), 2);
    assert_int_equal(fth_store_end(other, "keep", FTH_OK, NULL), FTH_OK);
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    fth_store_close(other);
    fth_store_close(store);
}

/* ---- a full disk ---- */

/* Enrolls runs until a file would exceed `max_bytes`, which has the same effect as a full disk.
 * Returns 0 if the error is the expected one. */
static int enroll_until_full(int max_bytes)
{
    const struct rlimit limit = {(rlim_t)max_bytes, (rlim_t)max_bytes};
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    enum fth_status status = fth_store_open(path, true, &store, &error);
    for (int i = 0; i < 100 && status == FTH_OK; i++)
        status = enroll(store, "a", 1, 5, &error);
    fth_store_close(store);
    return status == FTH_IO && strstr(error.cause, "is the disk or a quota full?") &&
                   strstr(error.cause, "Nothing was changed")
               ? 0
               : 2;
}

static void full_disk_loses_no_data(void **state)
{
    (void)state;
    static const int limits[] = {0, 4096, 40000, 100000};
    for (size_t i = 0; i < FTH_COUNT(limits); i++) {
        assert_int_equal(wait_for_exit(start_process(enroll_until_full, limits[i])), 0);
        struct fth_store *store = open_store();
        const size_t before = count_runs(store, "a");
        assert_int_equal(before % 5, 0);
        assert_true(limits[i] < 40000 ? before == 0 : before > 0);
        assert_int_equal(enroll(store, "a", 1, 5, NULL), FTH_OK);
        assert_int_equal(count_runs(store, "a"), before + 5);
        fth_store_close(store);
        unlink(path);
    }
}

/* Uses the store as a user without permission to write. Returns 0 if only enrolling fails. */
static int use_read_only_store(int runs)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
    if (fth_store_open(path, false, &store, NULL) != FTH_OK)
        return 2;
    if (count_runs(store, "a") != (size_t)runs)
        return 3;
    if (enroll(store, "a", 1, 5, &error) != FTH_IO ||
        !strstr(error.cause, "the file is not writable"))
        return 4;
    fth_store_close(store);
    return 0;
}

static void read_only_stores_can_be_read(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 5, NULL), FTH_OK);
    fth_store_close(store);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(wait_for_exit(start_process(use_read_only_store, 5)), 0);
}

#define TEST(function) cmocka_unit_test_teardown(function, remove_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(enrolled_runs_are_stored_and_can_be_forgotten),
        TEST(invalid_names_are_refused),
        TEST(a_name_belongs_to_one_gpu),
        TEST(default_path_follows_the_xdg_specification),
        TEST(the_nearest_gpu_is_identified_and_unknown_gpus_are_not),
        TEST(one_run_per_gpu_is_too_few),
        TEST(leave_one_out_counts_right_wrong_and_refused_runs),
        TEST(exported_runs_can_be_imported),
        TEST(invalid_documents_are_refused_completely),
        TEST(stores_of_version_1_are_upgraded),
        TEST(features_of_version_1_are_still_compared),
        TEST(other_files_are_refused_and_not_changed),
        TEST(damaged_files_are_refused),
        TEST(sigkill_leaves_only_complete_enrolments),
        TEST(two_processes_can_write_at_once),
        TEST(a_locked_store_is_reported_after_the_timeout),
        TEST(full_disk_loses_no_data),
        TEST(read_only_stores_can_be_read),
    };
    return cmocka_run_group_tests_name("store", tests, enter_folder, leave_folder);
}
