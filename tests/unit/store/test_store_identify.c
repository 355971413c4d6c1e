/* Tests of the decisions of store/identify.c and of the documents of store/exchange.c, at the
 * values where they change.
 *
 * All features of a run have the same value here, so the distance of two runs is their difference
 * in units, whatever the weights are. The unit is 0.0005 of the mean value if the runs of a GPU are
 * equal (stats/nearest.c). */
#include "made_up.h"

#include <math.h>

/* Creates a fingerprint with one run per value. */
static struct fth_fingerprint *make_flat(const double *values, size_t count)
{
    struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, count, FEATURES);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < FEATURES; j++)
            ((double *)fingerprint->runs.items[i].features)[j] = values[i];
    return fingerprint;
}

static void enroll_flat(struct fth_store *store, const char *name, const char *uuid,
                        const double *values, size_t count)
{
    struct fth_fingerprint *fingerprint = make_flat(values, count);
    for (size_t i = 0; i < count; i++)
        fingerprint->runs.items[i].uuid = uuid;
    size_t total = 0;
    assert_int_equal(fth_store_enroll(store, name, fingerprint, &total, NULL), FTH_OK);
    assert_int_equal(total, count);
    fth_fingerprint_destroy(fingerprint);
}

static struct fth_identification identify_flat(struct fth_store *store, const char *uuid,
                                               const double *values, size_t count)
{
    struct fth_identification found;
    struct fth_fingerprint *fingerprint = make_flat(values, count);
    for (size_t i = 0; i < count; i++)
        fingerprint->runs.items[i].uuid = uuid;
    assert_int_equal(fth_store_identify(store, fingerprint, &found, NULL), FTH_OK);
    fth_fingerprint_destroy(fingerprint);
    return found;
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g instead of %.17g", value, expected);
}

/* ---- identification ---- */

/* The unit is 0.5. The limit is its lower bound, 1, because the runs are equal. */
static void a_gpu_at_the_limit_is_identified(void **state)
{
    (void)state;
    static const double same[] = {1000, 1000, 1000};
    static const struct {
        double value, distance;
        bool identified;
    } rows[] = {{1000, 0, true},          {1000.25, 0.5, true},  {999.5, 1, true},
                {1000.5, 1, true},        {1000.75, 1.5, false}, {999.25, 1.5, false},
                {1000.5625, 1.125, false}};
    struct fth_store *store = open_store();
    enroll_flat(store, "a", NULL, same, 3);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_identification found = identify_flat(store, NULL, &rows[i].value, 1);
        assert_true(found.limit_distance == 1);
        assert_int_equal(found.count, 1);
        assert_true(found.candidates[0].distance == rows[i].distance);
        assert_int_equal(found.name != NULL, rows[i].identified);
        if (found.name)
            assert_true(strcmp(found.name, "a") == 0 && !found.reason[0]);
        fth_identification_fini(&found);
        assert_true(!found.candidates && !found.memory && isnan(found.limit_distance));
    }
    const double far = 1001;
    struct fth_identification found = identify_flat(store, NULL, &far, 1);
    assert_string_equal(found.reason,
                        "no enrolled GPU matches: the nearest, 'a', has a distance of "
                        "2, and the limit is 1");
    fth_identification_fini(&found);
    fth_store_close(store);
}

/* Two runs: each is left out in turn, and the other one is the centroid. The unit is 0.0005 of the
 * other one. */
static void the_limit_is_twice_the_quantile_of_the_distances(void **state)
{
    (void)state;
    static const double values[] = {1000, 1010};
    const double first = 10 / (0.0005 * 1010), second = 10 / (0.0005 * 1000);
    struct fth_store *store = open_store();
    enroll_flat(store, "a", NULL, values, 2);
    struct fth_identification found = identify_flat(store, NULL, values, 1);
    assert_close(found.limit_distance, 2 * (first + 0.9 * (second - first)));
    /* The unit is the standard deviation of the two runs, with one degree of freedom. */
    assert_close(found.candidates[0].distance, 5 / sqrt(50));
    fth_identification_fini(&found);
    /* A GPU with one run has no distance of its own, and does not count. It increases the units,
     * because they come from all runs if only one run of each GPU is left. */
    static const double other = 3000;
    enroll_flat(store, "b", NULL, &other, 1);
    found = identify_flat(store, NULL, values, 1);
    assert_true(found.limit_distance == 1);
    assert_string_equal(found.name, "a");
    fth_identification_fini(&found);
    fth_store_close(store);
}

/* Two GPUs whose centroids are `gap` units apart, and a fingerprint `distance` units from the first
 * one. With equal runs, the limit is 1. */
static void the_nearer_of_two_gpus_must_be_clearly_nearer(void **state)
{
    (void)state;
    static const struct {
        double gap, distance;
        const char *name; /* NULL: undecided */
    } rows[] = {
        {1.75, 0.75, "a"},                      /* 0.75 and 1: the margin is 0.143 */
        {1.75, 1, "b"},     {1.78, 0.8, "a"},   /* 0.8 and 0.98: 0.101 */
        {1.78, 0.98, "b"},  {1.78, 0.81, NULL}, /* 0.81 and 0.97: 0.09 */
        {1.78, 0.97, NULL}, {1.9, 0.92, NULL},  /* 0.92 and 0.98: 0.03 */
        {2.2, 0.99, "a"},                       /* the other one is beyond the limit */
        {1, 0, "a"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        /* The unit is 0.0005 of the mean of all runs, and the centroids lie around the mean. */
        const double unit = 0.0005 * 1000;
        const double a = 1000 - rows[i].gap / 2 * unit, b = 1000 + rows[i].gap / 2 * unit;
        const double values[2][3] = {{a, a, a}, {b, b, b}};
        const double value = a + rows[i].distance * unit;
        struct fth_store *store = open_store();
        enroll_flat(store, "b", NULL, values[1], 3);
        enroll_flat(store, "a", NULL, values[0], 3);
        struct fth_identification found = identify_flat(store, NULL, &value, 1);
        assert_true(found.limit_distance == 1);
        if (rows[i].name ? !found.name || strcmp(found.name, rows[i].name) != 0
                         : found.name != NULL)
            fail_msg("row %zu: %s", i, found.name ? found.name : found.reason);
        const char *nearest = rows[i].distance <= rows[i].gap / 2 ? "a" : "b";
        assert_string_equal(found.candidates[0].name, nearest);
        assert_true(found.candidates[0].distance <= found.candidates[1].distance);
        if (!rows[i].name) {
            char reason[128];
            snprintf(reason, sizeof reason, "'%s' (distance %.3g) and '%s' (%.3g) are equally near",
                     nearest, fmin(rows[i].distance, rows[i].gap - rows[i].distance),
                     *nearest == 'a' ? "b" : "a",
                     fmax(rows[i].distance, rows[i].gap - rows[i].distance));
            assert_string_equal(found.reason, reason);
        }
        fth_identification_fini(&found);
        fth_store_close(store);
        unlink(path);
    }
}

/* The median of the measured runs is compared; unknown features are left out. */
static void measured_runs_are_summarised_by_their_median(void **state)
{
    (void)state;
    static const double same[] = {1000, 1000};
    static const double measured[][3] = {{1000.25, 1900, 100}, {NAN, NAN, 1000.25}};
    struct fth_store *store = open_store();
    enroll_flat(store, "a", NULL, same, 2);
    for (size_t i = 0; i < FTH_COUNT(measured); i++) {
        struct fth_identification found = identify_flat(store, NULL, measured[i], 3);
        assert_string_equal(found.name, "a");
        assert_true(found.candidates[0].distance == 0.5);
        fth_identification_fini(&found);
    }
    /* Nothing is known, so nothing can be compared. */
    static const double unknown[] = {NAN, NAN};
    struct fth_identification found = identify_flat(store, NULL, unknown, 2);
    assert_null(found.name);
    assert_true(isnan(found.candidates[0].distance));
    assert_contains(found.reason, "no enrolled GPU has the same number of SMs");
    fth_identification_fini(&found);
    fth_store_close(store);

    struct fth_fingerprint empty = {.runs = {.items = NULL}};
    struct fth_error error = NO_ERROR;
    store = open_store();
    assert_int_equal(fth_store_identify(store, &empty, &found, &error), FTH_INVALID);
    assert_contains(error.cause, "the fingerprint has no runs");
    assert_null(found.memory);
    fth_store_close(store);
}

static void equal_uuids_are_reported(void **state)
{
    (void)state;
    static const double one = 1000, two = 2000, three = 3000;
    struct fth_store *store = open_store();
    enroll_flat(store, "a", "GPU-1", &one, 1);
    enroll_flat(store, "b", "GPU-2", &two, 1);
    enroll_flat(store, "c", NULL, &three, 1);
    static const struct {
        const char *uuid;
        bool same[3];
    } rows[] = {{"GPU-1", {true, false, false}},
                {"GPU-2", {false, true, false}},
                {"GPU-3", {false}},
                {NULL, {false}}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_identification found = identify_flat(store, rows[i].uuid, &one, 1);
        assert_int_equal(found.count, 3);
        for (size_t j = 0; j < 3; j++) {
            const struct fth_candidate *candidate = &found.candidates[j];
            assert_int_equal(candidate->name[0], "abc"[j]); /* the nearest first */
            assert_int_equal(candidate->same_uuid, rows[i].same[j]);
            assert_int_equal(candidate->runs, 1);
            assert_string_equal(candidate->device, "Made Up");
        }
        fth_identification_fini(&found);
    }
    fth_store_close(store);
}

/* GPUs that cannot be compared come last, and have no distance. */
static void other_numbers_of_features_are_not_compared(void **state)
{
    (void)state;
    static const double same[] = {1000, 1000};
    static const char *const names[] = {"a", "m", "z"};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 2, FEATURES + 1 + i % 2);
        if (i == 1)
            enroll_flat(store, names[i], NULL, same, 2);
        else
            assert_int_equal(fth_store_enroll(store, names[i], fingerprint, NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    struct fth_identification found = identify_flat(store, NULL, same, 1);
    assert_string_equal(found.name, "m");
    assert_string_equal(found.candidates[0].name, "m");
    assert_true(found.candidates[0].distance == 0);
    assert_true(isnan(found.candidates[1].distance) && isnan(found.candidates[2].distance));
    fth_identification_fini(&found);
    assert_int_equal(fth_store_forget(store, "m", NULL, NULL), FTH_OK);
    found = identify_flat(store, NULL, same, 1);
    assert_int_equal(found.count, 2);
    assert_true(isnan(found.candidates[0].distance) && isnan(found.candidates[1].distance));
    assert_true(isnan(found.limit_distance));
    assert_contains(found.reason, "no enrolled GPU has the same number of SMs");
    fth_identification_fini(&found);
    /* Another version of the features has another meaning. */
    struct fth_fingerprint *fingerprint = make_flat(same, 2);
    fingerprint->runs.items[0].version = fingerprint->runs.items[1].version = 3;
    assert_int_equal(fth_store_enroll(store, "n", fingerprint, NULL, NULL), FTH_OK);
    fth_fingerprint_destroy(fingerprint);
    found = identify_flat(store, NULL, same, 1);
    assert_null(found.name);
    fth_identification_fini(&found);
    fth_store_close(store);
}

/* ---- leave-one-out ---- */

/* Runs at the limit count as identified; a run between two GPUs does not. */
static void runs_between_two_gpus_are_refused(void **state)
{
    (void)state;
    static const double a[] = {1000, 1000, 1000, 1000}, b[] = {1100, 1100, 1100, 1050};
    struct fth_store *store = open_store();
    enroll_flat(store, "a", NULL, a, 4);
    enroll_flat(store, "b", NULL, b, 4);
    struct fth_runs runs = {.items = NULL};
    size_t found[8];
    assert_int_equal(fth_store_read(store, "test", &runs, NULL), FTH_OK);
    assert_int_equal(fth_runs_end(&runs, 0), 4);
    assert_int_equal(fth_runs_end(&runs, 4), 8);
    assert_int_equal(fth_runs_end(&runs, 6), 8);
    assert_int_equal(fth_leave_one_out(&runs, found, NULL), FTH_OK);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(found[i], i < 4 ? 0 : 4);
    assert_int_equal(found[7], 8);
    fth_runs_fini(&runs);
    fth_store_close(store);
}

struct times {
    const char *name, *first, *last, *driver;
};

static void check_times(void *user, const struct fth_enrolled *enrolled)
{
    const struct times *rows = user;
    const struct times *row = &rows[enrolled->name[0] - 'a'];
    assert_string_equal(enrolled->name, row->name);
    assert_string_equal(enrolled->first_time, row->first);
    assert_string_equal(enrolled->last_time, row->last);
    assert_string_equal(enrolled->driver, row->driver);
    assert_int_equal(enrolled->right + enrolled->wrong + enrolled->refused, 0);
}

/* Times need not ascend with the insertion. The driver is that of the run that was added last. */
static void lists_have_the_first_and_the_last_time(void **state)
{
    (void)state;
    static const int64_t times[2][3] = {{253402300799, 0, 1}, {86400, 172800, 3600}};
    static const struct times rows[] = {
        {"a", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "third"},
        {"b", "1970-01-01T01:00:00Z", "1970-01-03T00:00:00Z", "third"}};
    static const char *const drivers[] = {"first", "second", "third"};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 3, FEATURES);
        for (size_t j = 0; j < 3; j++) {
            fingerprint->runs.items[j].time = times[i][j];
            fingerprint->runs.items[j].driver = drivers[j];
        }
        assert_int_equal(fth_store_enroll(store, rows[i].name, fingerprint, NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    struct times copies[2];
    memcpy(copies, rows, sizeof copies);
    assert_int_equal(fth_store_list(store, false, check_times, copies, NULL), FTH_OK);
    fth_store_close(store);
}

/* ---- documents ---- */

/* A document with one run whose member `changed` has another value; "" removes the member. */
static void write_document(const char *changed, const char *value)
{
    static const struct {
        const char *key, *value;
    } members[] = {{"name", "\"a\""},     {"key", "\"00000001\""},  {"device", "\"d\""},
                   {"uuid", "\"GPU-1\""}, {"driver", "\"580\""},    {"time", "1"},
                   {"version", "2"},      {"features", "[1, null]"}};
    struct fth_buffer text = {0};
    fth_buffer_text(&text, "{\"schema\": \"fathom-fingerprints/1\", \"runs\": [{\"other\": 1");
    for (size_t i = 0; i < FTH_COUNT(members); i++) {
        const char *used = strcmp(members[i].key, changed) == 0 ? value : members[i].value;
        if (*used)
            fth_buffer_format(&text, ", \"%s\": %s", members[i].key, used);
    }
    fth_buffer_text(&text, "}]}\n");
    write_plain("run.json", text.data, text.size);
    fth_buffer_fini(&text);
}

#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16
#define X256 X64 X64 X64 X64

/* Values of one member of a document in which all other members are valid. */
static const struct {
    const char *key, *value, *cause; /* cause NULL: accepted */
} document_rows[] = {
    {"none", "", NULL},
    {"name", "", "runs[0].name: is missing"},
    {"name", "null", "runs[0].name: must be a string"},
    {"name", "\"a\\u0000b\"", "u0000 is not allowed"},
    {"name", "\"\"", "runs[0].name: must be 1 to 64 bytes of printable text"},
    {"name", "\"" X64 "\"", NULL},
    {"name", "\"" X64 "x\"", "runs[0].name: must be 1 to 64 bytes"},
    {"name", "\"\\u0007\"", "runs[0].name: must be 1 to 64 bytes"},
    {"key", "", "runs[0].key: is missing"},
    {"key", "7", "runs[0].key: must be a string"},
    {"key", "\"1234567\"", "runs[0].key: must be 8 to 64 digits, lower-case letters and dashes"},
    {"key", "\"12345-ab\"", NULL},
    {"key", "\"" X64 "\"", NULL},
    {"key", "\"" X64 "x\"", "runs[0].key: must be 8 to 64 digits"},
    {"key", "\"12345678 \"", "runs[0].key: must be 8 to 64 digits"},
    {"device", "", NULL},
    {"device", "\"\"", NULL},
    {"device", "3", "runs[0].device: must be a string"},
    {"device", "\"" X256 "\"", NULL},
    {"device", "\"" X256 "x\"", "runs[0].device: must be at most 256 bytes"},
    {"device", "\"\\u001b\"", "runs[0].device: must be at most 256 bytes of printable text"},
    {"uuid", "", NULL},
    {"uuid", "[]", "runs[0].uuid: must be a string"},
    {"uuid", "\"" X256 "x\"", "runs[0].uuid: must be at most 256 bytes"},
    {"driver", "", NULL},
    {"driver", "{}", "runs[0].driver: must be a string"},
    {"driver", "\"" X256 "x\"", "runs[0].driver: must be at most 256 bytes"},
    {"time", "", "runs[0].time: must be a whole number of seconds"},
    {"time", "1.5", "runs[0].time: must be a whole number of seconds"},
    {"time", "\"1\"", "runs[0].time: must be a whole number of seconds"},
    {"time", "0", NULL},
    {"time", "253402300799", NULL},
    {"time", "253402300800", "runs[0].time: must be a whole number of seconds"},
    {"time", "-1", "runs[0].time: must be a whole number of seconds"},
    {"version", "", "runs[0].version: must be a whole number from 0 to 1000000"},
    {"version", "2.0", "runs[0].version: must be a whole number"},
    {"version", "-1", "runs[0].version: must be a whole number"},
    {"version", "0", NULL},
    {"version", "1000000", NULL},
    {"version", "1000001", "runs[0].version: must be a whole number"},
    {"version", "4294967298", "runs[0].version: must be a whole number"},
    {"features", "", "must be a list of 1 to 4096 numbers"},
    {"features", "{\"0\": 1}", "must be a list of 1 to 4096 numbers"},
    {"features", "[true]", "feature 0 of a run is not a number"},
    {"features", "[null]", NULL},
    {"features", "[-1e308, 5]", NULL},
};

static void each_member_of_a_document_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(document_rows); i++) {
        struct fth_store *store = open_store();
        struct fth_error error = NO_ERROR;
        size_t added = 7;
        write_document(document_rows[i].key, document_rows[i].value);
        struct fth_buffer content = {0};
        struct fth_runs runs = {.items = NULL};
        assert_int_equal(fth_file_read("run.json", FTH_FILE_LIMIT("a file of the test", 1 << 20),
                                       &content, NULL),
                         FTH_OK);
        enum fth_status status =
            fth_exchange_read("run.json", content.data, content.size, &runs, NULL);
        assert_int_equal(status, document_rows[i].cause ? FTH_INVALID : FTH_OK);
        fth_runs_fini(&runs);
        fth_buffer_fini(&content);
        status = fth_store_import(store, "run.json", &added, &error);
        if (status != (document_rows[i].cause ? FTH_INVALID : FTH_OK))
            fail_msg("%s %s: %s", document_rows[i].key, document_rows[i].value, error.cause);
        if (document_rows[i].cause)
            assert_contains(error.cause, document_rows[i].cause);
        assert_int_equal(added, document_rows[i].cause ? 7 : 1);
        assert_int_equal(count_runs(store, NULL), document_rows[i].cause ? 0 : 1);
        fth_store_close(store);
        unlink(path);
    }
    unlink("run.json");
}

/* What is imported is what was exported, number by number. */
static void exports_have_every_member(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    struct fth_store *store = open_store();
    write_document("none", "");
    assert_int_equal(fth_store_import(store, "run.json", NULL, NULL), FTH_OK);
    assert_int_equal(fth_store_export(store, &text, &size, NULL), FTH_OK);
    assert_int_equal(strlen(text), size);
    assert_string_equal(
        text, "{\n  \"schema\": \"fathom-fingerprints/1\",\n  \"runs\": [\n    {\"name\": \"a\", "
              "\"key\": \"00000001\", \"device\": \"d\", \"uuid\": \"GPU-1\", \"driver\": \"580\", "
              "\"time\": 1, \"version\": 2, \"features\": [1,null]}\n  ]\n}\n");
    fth_free(text);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_store_import(store, "nowhere.json", NULL, &error), FTH_NOT_FOUND);
    /* A forgotten run can be imported again, and its GPU can get another UUID. */
    size_t removed = 0;
    assert_int_equal(fth_store_forget(store, "a", &removed, NULL), FTH_OK);
    assert_int_equal(removed, 1);
    write_document("uuid", "\"GPU-2\"");
    assert_int_equal(fth_store_import(store, "run.json", &removed, NULL), FTH_OK);
    assert_int_equal(removed, 1);
    fth_store_close(store);
    unlink("run.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_at_the_limit_is_identified),
        TEST(the_limit_is_twice_the_quantile_of_the_distances),
        TEST(the_nearer_of_two_gpus_must_be_clearly_nearer),
        TEST(measured_runs_are_summarised_by_their_median),
        TEST(equal_uuids_are_reported),
        TEST(other_numbers_of_features_are_not_compared),
        TEST(runs_between_two_gpus_are_refused),
        TEST(lists_have_the_first_and_the_last_time),
        TEST(each_member_of_a_document_is_checked),
        TEST(exports_have_every_member),
    };
    return cmocka_run_group_tests_name("store_identify", tests, enter_folder, leave_folder);
}
