/* Tests the reader of files and folders (fleet/read/). */
#include "fleet_parts.h"
#include "folder.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A description as 'fathom topo --json' writes it, with a UUID. */
static const char description[] =
    "{\n  \"schema\": \"fathom-gpu/1\",\n  \"device\": {\n"
    "    \"name\": {\"value\": \"NVIDIA H200\", \"source\": \"driver\"},\n"
    "    \"uuid\": {\"value\": \"GPU-%s\"},\n    \"pci_bus\": \"0000:00:06.0\",\n"
    "    \"backend\": {\"value\": \"cuda\"},\n    \"driver\": {\"value\": \"580.1\"},\n"
    "    \"board_part_number\": \"692\",\n    \"vbios\": \"96.0\",\n"
    "    \"measured_at\": \"2026-11-18T11:09:37Z\",\n"
    "    \"max_block_dims\": {\"value\": [1024, 1024, 64]},\n    \"sms\": {\"value\": 132},\n"
    "    \"gpc_by_sm\": [0, 1],\n    \"unknown\": {\"chip\": \"not measured\"}\n  },\n"
    "  \"elements\": {\n    \"l2\": {\n"
    "      \"scope\": \"gpu\",\n      \"shared_with\": [\"b\", \"a\"],\n"
    "      \"latency_cycles\": {\"value\": 276.5, \"source\": \"measured\", \"confidence\": 0.5},\n"
    "      \"latency_by_sm_cycles\": {\"value\": [277.9, 283.7]},\n"
    "      \"later\": {\"value\": true}, \"mixed\": [1, \"a\"], \"odd\": {\"source\": \"driver\"}\n"
    "    }\n  }\n}\n";

/* Writes a description with this UUID. */
static void write_description(const char *path, const char *uuid)
{
    char text[2048];
    snprintf(text, sizeof text, description, uuid);
    write_plain(path, text, strlen(text));
}

static enum fth_status add_path(struct fth_fleet *fleet, const char *path, unsigned threads,
                                struct fth_error *error)
{
    struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = threads);
    return fth_fleet_add_path(fleet, path, &options, error);
}

/* Checks the measurement of the description. */
static void check_description(const struct fth_fleet *fleet)
{
    const struct fth_fleet_gpu *gpu = &fleet->gpus[0];
    const struct fth_fleet_measurement *measurement = &fleet->measurements[0];
    assert_string_equal(gpu->name, "GPU-1");
    assert_string_equal(gpu->model, "NVIDIA H200");
    assert_string_equal(gpu->slot, "0000:00:06.0");
    assert_string_equal(gpu->driver, "580.1");
    assert_string_equal(gpu->board, "692 96.0");
    assert_string_equal(gpu->backend, "cuda");
    assert_string_equal(gpu->host, "node-7");
    assert_false(gpu->simulated);
    assert_int_equal(measurement->time, 1795000177);
    assert_int_equal(measurement->fingerprint_count, 2);
    assert_true(measurement->fingerprint[1] == 283.7);
    assert_true(value_of(fleet, 0, "l2.latency_cycles")->number == 276.5);
    assert_true(value_of(fleet, 0, "l2.latency_cycles")->confidence == 0.5F);
    assert_true(isnan(value_of(fleet, 0, "device.sms")->confidence));
    assert_string_equal(value_of(fleet, 0, "device.max_block_dims")->text, "1024, 1024, 64");
    assert_string_equal(value_of(fleet, 0, "l2.shared_with")->text, "a, b");
    static const char *const absent[] = {"device.uuid",
                                         "device.name",
                                         "device.gpc_by_sm",
                                         "device.unknown",
                                         "l2.later",
                                         "l2.mixed",
                                         "l2.odd",
                                         "device.vbios",
                                         "device.measured_at",
                                         "l2.latency_by_sm_cycles"};
    for (size_t i = 0; i < FTH_COUNT(absent); i++)
        assert_null(value_of(fleet, 0, absent[i]));
}

static void descriptions_are_measurements(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    write_description("node-7-GPU-1.json", "1");
    assert_int_equal(add_path(fleet, "node-7-GPU-1.json", 0, &error), FTH_OK);
    assert_int_equal(fleet->measurement_count, 1);
    assert_int_equal(fleet->measurements[0].value_count, 5);
    check_description(fleet);
    fth_fleet_destroy(fleet);
}

/* A description in memory gives the same measurement as its document. */
static void descriptions_in_memory_are_measurements(void **state)
{
    (void)state;
    struct fth_fleet *from_gpu = new_fleet(), *from_text = new_fleet();
    struct fth_gpu *gpu = NULL;
    char *text = NULL, *records[2] = {NULL, NULL};
    size_t size = 0;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    assert_int_equal(fth_fleet_add_gpu(from_gpu, gpu, "file", NULL), FTH_OK);
    assert_int_equal(add_text(from_text, "file", text, NULL), FTH_OK);
    assert_true(from_gpu->measurements[0].value_count > 50);
    assert_int_equal(fth_fleet_records(from_gpu, &records[0], &size, NULL), FTH_OK);
    assert_int_equal(fth_fleet_records(from_text, &records[1], &size, NULL), FTH_OK);
    assert_string_equal(records[0], records[1]);
    fth_free(text);
    fth_free(records[0]);
    fth_free(records[1]);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    fth_fleet_destroy(from_gpu);
    fth_fleet_destroy(from_text);
}

static void values_of_simulated_gpus_are_recognised(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    assert_int_equal(add_text(fleet, "a",
                              "{\"schema\": \"fathom-gpu/1\", \"device\": {\"backend\": "
                              "\"simulated\"}, \"elements\": {}}",
                              NULL),
                     FTH_OK);
    assert_int_equal(add_text(fleet, "b",
                              "{\"schema\": \"fathom-gpu/1\", \"device\": {\"sms\": {\"value\": 4, "
                              "\"source\": \"simulated\"}}, \"elements\": {}}",
                              NULL),
                     FTH_OK);
    assert_true(fleet->gpus[0].simulated && fleet->gpus[1].simulated);
    fth_fleet_destroy(fleet);
}

static void files_of_other_kinds_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {"", "it is empty"},
        {"hello", "line 1, column 5: '[' or '{' expected near 'hello'"},
        {"{\n\"schema\": \"fathom-gpu/1\"", "line 2, column 24"},
        {"{}", "its \"schema\" is missing"},
        {"{\"schema\": \"fathom-gpu/9\"}", "its \"schema\" is fathom-gpu/9"},
        {"{\"schema\": \"fathom-gpu/1\"}", "device: expected an object"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {}}", "elements: expected an object"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {}, \"elements\": {\"l2\": 1}}",
         "l2: expected an object"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"uuid\": 7}, \"elements\": {}}",
         "device.uuid: expected a string"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"measured_at\": \"now\"}, "
         "\"elements\": {}}",
         "'now' is not a time"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {}, \"elements\": "
         "{\"l2\": {\"latency_ns\": \"fast\"}}}",
         "l2.latency_ns: expected a number of at least 0"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_fleet *fleet = new_fleet();
        struct fth_error error = NO_ERROR;
        write_plain("other.json", cases[i].text, strlen(cases[i].text));
        assert_int_equal(add_path(fleet, "other.json", 1, &error), FTH_INVALID);
        assert_contains(error.cause, cases[i].cause);
        assert_string_equal(error.argument, "other.json");
        assert_null(fth_fleet_problem_at(fleet, 0, NULL));
        fth_fleet_destroy(fleet);
    }
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    assert_int_equal(add_path(fleet, "nothing", 1, &error), FTH_NOT_FOUND);
    char name[200];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char text[400];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"%s\": 1}, \"elements\": {}}", name);
    assert_int_equal(add_text(fleet, "file", text, NULL), FTH_INVALID);
    fth_fleet_destroy(fleet);
}

/* Lines that are damaged become one problem, with their number; the other lines are read. A file
 * without a suffix has lines if its first line is a document. */
static void damaged_lines_are_problems(void **state)
{
    (void)state;
    static const char text[] = "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"A\"}\n"
                               "\n"
                               "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": 5}\r\n"
                               "{\"schema\": \"fathom-fleet-rec\n"
                               "  \t\n"
                               "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"B\"}";
    static const char *const paths[] = {"part.jsonl", "part"};
    for (size_t i = 0; i < FTH_COUNT(paths); i++) {
        struct fth_fleet *fleet = new_fleet();
        struct fth_error error = NO_ERROR;
        const char *file = NULL;
        write_plain(paths[i], text, strlen(text));
        assert_int_equal(add_path(fleet, paths[i], 2, &error), FTH_OK);
        assert_int_equal(fleet->measurement_count, 2);
        assert_string_equal(fleet->gpus[1].uuid, "B");
        assert_string_equal(fth_fleet_problem_at(fleet, 0, &file),
                            "2 lines cannot be read; the first is line 3: gpu: expected a string");
        assert_string_equal(file, paths[i]);
        assert_null(fth_fleet_problem_at(fleet, 1, NULL));
        fth_fleet_destroy(fleet);
    }
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    write_plain("bad.jsonl", "\n\nx\n", 4);
    assert_int_equal(add_path(fleet, "bad.jsonl", 1, &error), FTH_INVALID);
    assert_contains(error.cause, "line 3, column 1");
    error = NO_ERROR;
    write_plain("blank.jsonl", "\n\n", 2);
    assert_int_equal(add_path(fleet, "blank.jsonl", 1, &error), FTH_INVALID);
    assert_contains(error.cause, "no measurement");
    fth_fleet_destroy(fleet);
}

/* Many damaged lines are counted. */
static void many_damaged_lines_are_counted(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    char text[2048] = "{\"schema\": \"fathom-fleet-record/1\"}\n";
    for (int i = 0; i < 50; i++)
        strcat(text, "x\n");
    write_plain("many.jsonl", text, strlen(text));
    assert_int_equal(add_path(fleet, "many.jsonl", 2, NULL), FTH_OK);
    assert_int_equal(fleet->problem_count, 1);
    assert_contains(fth_fleet_problem_at(fleet, 0, NULL),
                    "50 lines cannot be read; the first is line 2, column 1");
    /* The same file again is another problem, and so is a single line. */
    assert_int_equal(add_path(fleet, "many.jsonl", 2, NULL), FTH_OK);
    write_plain("many.jsonl", text, strlen(text) - (size_t)2 * 49);
    assert_int_equal(add_path(fleet, "many.jsonl", 2, NULL), FTH_OK);
    assert_int_equal(fleet->problem_count, 3);
    assert_contains(fth_fleet_problem_at(fleet, 1, NULL), "50 lines cannot");
    assert_true(strncmp(fth_fleet_problem_at(fleet, 2, NULL), "line 2, column 1", 16) == 0);
    fth_fleet_destroy(fleet);
}

enum { FILES = 60, LINES = 3000 };

/* Writes a folder with descriptions, damaged files, records and a file of another kind. */
static void write_folder(void)
{
    mkdir("fleet", 0700);
    for (int i = 0; i < FILES; i++) {
        char path[64], uuid[16];
        snprintf(path, sizeof path, "fleet/%02d.json", i);
        snprintf(uuid, sizeof uuid, "%d", i);
        if (i % 10 == 3)
            write_plain(path, "{", 1);
        else
            write_description(path, uuid);
    }
    FILE *file = fopen("fleet/05-records.jsonl", "w");
    assert_non_null(file);
    for (int i = 0; i < LINES; i++)
        fprintf(file,
                "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"R%d\", \"figures\": "
                "{\"new.figure_%d\": %s%d}, \"texts\": {\"device.long\": \"%0500d\"}}\n",
                i, i % 7, i % 100 == 50 ? "x" : "", i, i);
    fclose(file);
    write_plain("fleet/notes.txt", "x", 1);
    write_plain("fleet/.hidden.json", "x", 1);
    mkdir("fleet/sub.json", 0700);
    assert_int_equal(mkfifo("fleet/tail.jsonl", 0600), 0);
}

/* The result does not depend on the number of threads. */
static void threads_give_the_same_fleet(void **state)
{
    (void)state;
    char *first = NULL;
    write_folder();
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct fth_fleet *fleet = new_fleet();
        struct fth_error error = NO_ERROR;
        char *text = NULL;
        size_t size = 0;
        const char *file = NULL;
        assert_int_equal(add_path(fleet, "fleet", threads, &error), FTH_OK);
        assert_int_equal(fleet->measurement_count, FILES - FILES / 10 + LINES - LINES / 100);
        assert_int_equal(fleet->problem_count, FILES / 10 + 1 + 2);
        assert_contains(fth_fleet_problem_at(fleet, 0, &file), "line 1, column 1");
        assert_string_equal(file, "03.json");
        assert_contains(fth_fleet_problem_at(fleet, 1, &file),
                        "30 lines cannot be read; the first is line 51, column");
        assert_string_equal(file, "05-records.jsonl");
        for (size_t i = 0; i < 2; i++) {
            assert_string_equal(fth_fleet_problem_at(fleet, fleet->problem_count - 2 + i, &file),
                                "it is not a file");
            assert_string_equal(file, i ? "tail.jsonl" : "sub.json");
        }
        assert_string_equal(fleet->measurements[0].file, "00.json");
        assert_int_equal(fth_fleet_records(fleet, &text, &size, &error), FTH_OK);
        if (first)
            assert_string_equal(first, text);
        else
            first = text;
        for (size_t i = 0; i < 7; i++) {
            char name[32];
            snprintf(name, sizeof name, "new.figure_%zu", i);
            assert_int_equal(fth_fleet_figure_find(fleet, name),
                             fth_fleet_figure_find(fleet, "new.figure_0") + i + (i > 0));
        }
        if (first != text)
            fth_free(text);
        fth_fleet_destroy(fleet);
    }
    fth_free(first);
}

/* Counts the calls of the log; interrupts after `limit` of them. */
struct watch {
    atomic_int asked;
    int limit;
    atomic_int progress;
    double last;
};

static bool interrupted(void *user)
{
    struct watch *watch = user;
    return atomic_fetch_add(&watch->asked, 1) >= watch->limit;
}

static void progress(void *user, const char *what, double fraction)
{
    struct watch *watch = user;
    assert_non_null(what);
    assert_true(fraction >= watch->last && fraction <= 1);
    watch->last = fraction;
    watch->progress++;
}

static void reading_can_be_watched_and_interrupted(void **state)
{
    (void)state;
    for (int limit = 0; limit <= 1000; limit += 10) {
        struct watch watch = {.limit = limit};
        const struct fth_log log = {
            .progress = progress, .interrupted = interrupted, .user = &watch};
        struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 2, .log = &log);
        struct fth_fleet *fleet = new_fleet();
        struct fth_error error = NO_ERROR;
        const enum fth_status status = fth_fleet_add_path(fleet, "fleet", &options, &error);
        if (status == FTH_OK) {
            assert_true(limit > FILES && watch.progress >= FILES);
            fth_fleet_destroy(fleet);
            return;
        }
        assert_int_equal(status, FTH_INTERRUPTED);
        assert_int_equal(fleet->measurement_count, 0);
        assert_int_equal(fleet->problem_count, 0);
        fth_fleet_destroy(fleet);
    }
    fail_msg("it never ends");
}

static void groups_belong_to_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } wrong[] = {
        {"n1\n", "line 1: expected HOST,GROUP"},
        {"n1,\n", "line 1: expected HOST,GROUP"},
        {",r1\n", "line 1: expected HOST,GROUP"},
        {"a,b\n1,2,3\n", "line 2: expected"},
        {"a,b\na,c\n", "line 2: host a is already in group b"},
    };
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    add_record(fleet, "a", "\"gpu\": \"A\", \"host\": \"n1\"");
    add_record(fleet, "b", "\"gpu\": \"B\", \"host\": \"n2\", \"group\": \"old\"");
    add_record(fleet, "c", "\"gpu\": \"C\"");
    write_plain("groups.csv", "host,group\r\n# comment\nn1,r1\r\nn3,r3\n", 35);
    assert_int_equal(fth_fleet_read_groups(fleet, "groups.csv", &error), FTH_OK);
    add_record(fleet, "d", "\"gpu\": \"D\", \"host\": \"n3\"");
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    assert_string_equal(fleet->gpus[0].group, "r1");
    assert_string_equal(fleet->gpus[1].group, "old");
    assert_null(fleet->gpus[2].group);
    assert_string_equal(fleet->gpus[3].group, "r3");
    fth_fleet_destroy(fleet);
    for (size_t i = 0; i < FTH_COUNT(wrong); i++) {
        fleet = new_fleet();
        error = NO_ERROR;
        write_plain("groups.csv", wrong[i].text, strlen(wrong[i].text));
        assert_int_equal(fth_fleet_read_groups(fleet, "groups.csv", &error), FTH_INVALID);
        assert_contains(error.cause, wrong[i].cause);
        fth_fleet_destroy(fleet);
    }
    fleet = new_fleet();
    write_plain("groups.csv", "a,b\0", 4);
    assert_int_equal(fth_fleet_read_groups(fleet, "groups.csv", NULL), FTH_INVALID);
    assert_int_equal(fth_fleet_read_groups(fleet, "missing.csv", NULL), FTH_NOT_FOUND);
    fth_fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_measurements),
        cmocka_unit_test(descriptions_in_memory_are_measurements),
        cmocka_unit_test(values_of_simulated_gpus_are_recognised),
        cmocka_unit_test(files_of_other_kinds_are_refused),
        cmocka_unit_test(damaged_lines_are_problems),
        cmocka_unit_test(many_damaged_lines_are_counted),
        cmocka_unit_test(threads_give_the_same_fleet),
        cmocka_unit_test(reading_can_be_watched_and_interrupted),
        cmocka_unit_test(groups_belong_to_hosts),
    };
    return cmocka_run_group_tests_name("fleet-read", tests, enter_folder, leave_folder);
}
