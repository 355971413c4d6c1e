/* Tests that fleets without memory fail with FTH_NO_MEMORY, and that nothing is left (tests/leaks
 * checks that). Each test makes one allocation fail: the first one, then the second one, and so on,
 * until everything succeeds. */
#include "failing.h"
#include "fleet_parts.h"
#include "folder.h"

#include <stdlib.h>

static const char records[] =
    "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"A\", \"model\": \"M\", \"figures\": "
    "{\"l2.latency_ns\": 7, \"l2.ways\": 3}, \"fingerprint\": [1, 2]}\n"
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"M\", \"vbios\": \"v\", "
    "\"max_grid_dims\": [1, 2, 3]}, \"elements\": {\"l2\": {\"latency_ns\": {\"value\": 5}}}}\n"
    "damaged\n";

/* Reads a file, and writes and merges its reference. */
static enum fth_status process(struct fth_error *error)
{
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_reference *reference = NULL, *again = NULL;
    struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 1);
    char *text = NULL;
    size_t size = 0;
    enum fth_status status = fth_fleet_create(&fleet, error);
    if (status == FTH_OK)
        status = fth_fleet_add_path(fleet, "records.jsonl", &options, error);
    if (status == FTH_OK)
        status = fth_fleet_read_groups(fleet, "groups.csv", error);
    if (status == FTH_OK)
        status = fth_fleet_refer(fleet, NULL, &reference, error);
    if (status == FTH_OK)
        status = fth_fleet_reference_text(reference, &text, &size, error);
    if (status == FTH_OK)
        status = fth_reference_read_text("again", text, size, &again, error);
    if (status == FTH_OK)
        status = fth_fleet_reference_merge(again, reference, error);
    fth_free(text);
    text = NULL;
    if (status == FTH_OK)
        status = fth_fleet_records(fleet, &text, &size, error);
    if (status == FTH_OK) {
        assert_int_equal(fleet->measurement_count, 2);
        assert_int_equal(fleet->problem_count, 1);
        assert_int_equal(again->cohort_count, 2); /* only one has a VBIOS */
        assert_int_equal(again->cohorts[0].cohort.gpu_count, 2);
    }
    fth_free(text);
    fth_fleet_reference_destroy(reference);
    fth_fleet_reference_destroy(again);
    fth_fleet_destroy(fleet);
    return status;
}

/* The judgement of GPUs with many measurements. A missing allocation must not make a figure or a
 * GPU "not judged". */
static void judgements_need_every_allocation(void **state)
{
    (void)state;
    enum { GPUS = 4, RUNS = 40 };
    struct fth_fleet *fleet = new_fleet();
    for (int i = 0; i < GPUS * RUNS; i++) {
        char members[200];
        snprintf(members, sizeof members,
                 "\"gpu\": \"%d\", \"host\": \"h\", \"model\": \"M\", \"figures\": "
                 "{\"l2.latency_ns\": %d, \"l2.ways\": %d, \"memory.ecc_uncorrectable\": %d}",
                 i % GPUS, i % GPUS ? 100 + i % 3 : 200, i % GPUS ? 16 : 8, i % GPUS == 1);
        add_record(fleet, "records", members);
    }
    bool failed = true;
    for (size_t number = 1; failed; number++) {
        struct fth_error error = NO_ERROR;
        struct fth_fleet_judgement *judgement = NULL;
        fail_from(number, false);
        const enum fth_status status = fth_fleet_judge(fleet, NULL, &judgement, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status != (failed ? FTH_NO_MEMORY : FTH_OK))
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
        if (!failed) {
            assert_int_equal(judgement->failed, 2);
            assert_int_equal(judgement->healthy, 2);
            assert_true(number > 20);
        }
        fth_fleet_judgement_destroy(judgement);
    }
    fth_fleet_destroy(fleet);
}

static void fleets_need_every_allocation(void **state)
{
    (void)state;
    write_plain("records.jsonl", records, strlen(records));
    write_plain("groups.csv", "n1,r1\n", 6);
    for (size_t number = 1;; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = process(&error);
        if (!has_failed()) {
            assert_int_equal(status, FTH_OK);
            assert_true(number > 50);
            break;
        }
        if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0])
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
    }
    fail_from(0, false);
}

static void folders_need_every_allocation(void **state)
{
    (void)state;
    bool failed = true;
    static const char description[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"M\"}, \"elements\": {}}";
    write_plain("node-GPU-1.json", description, strlen(description));
    for (size_t number = 1; failed; number++) {
        struct fth_error error = NO_ERROR;
        struct fth_fleet *fleet = new_fleet();
        struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 1);
        fail_from(number, false);
        const enum fth_status status = fth_fleet_add_path(fleet, ".", &options, &error);
        failed = has_failed();
        fail_from(0, false);
        if (!failed) {
            assert_int_equal(status, FTH_OK);
            assert_string_equal(fleet->gpus[0].host, "node");
        } else if (status != FTH_NO_MEMORY)
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
        fth_fleet_destroy(fleet);
    }
}

static const char gone[] =
    "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"B\", \"model\": \"M\", \"figures\": "
    "{\"l2.latency_ns\": 7}}\n";

/* Judges a measurement with its history, reads the newest measurement of its GPU, and finds what is
 * missing. */
static enum fth_status use_history(struct fth_fleet_history *history, struct fth_error *error)
{
    const struct fth_fleet_history_options newest =
        FTH_FLEET_HISTORY_OPTIONS(.gpu = "A", .newest = 1);
    struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 1);
    const struct fth_fleet_expect_options expected =
        FTH_FLEET_EXPECT_OPTIONS(.gpus = 100, .hosts = "hosts.txt", .history = history);
    bool complete = true;
    struct fth_fleet *fleet = NULL, *read = NULL;
    struct fth_fleet_judgement *judgement = NULL;
    enum fth_status status = fth_fleet_create(&fleet, error);
    if (status == FTH_OK)
        status = fth_fleet_create(&read, error);
    if (status == FTH_OK)
        status = fth_fleet_history_read(history, &newest, read, error);
    if (status == FTH_OK)
        assert_int_equal(read->measurement_count, 1);
    if (status == FTH_OK)
        status = fth_fleet_add_path(fleet, "records.jsonl", &options, error);
    if (status == FTH_OK)
        status = fth_fleet_judge(fleet, NULL, &judgement, error);
    if (status == FTH_OK)
        status = fth_fleet_judge_history(judgement, history, NULL, error);
    if (status == FTH_OK)
        status = fth_fleet_expect(judgement, &expected, &complete, error);
    if (status == FTH_OK) {
        assert_false(complete);
        assert_int_equal(judgement->missing_count,
                         2); /* a host of the list, a GPU of the history */
    }
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(read);
    fth_fleet_destroy(fleet);
    return status;
}

static void histories_need_every_allocation(void **state)
{
    (void)state;
    const struct fth_store_options creating = FTH_STORE_OPTIONS(.create = true);
    struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 1);
    struct fth_fleet *fleet = new_fleet();
    struct fth_fleet_history *history = NULL;
    bool failed = true;
    write_plain("records.jsonl", records, strlen(records));
    assert_int_equal(fth_fleet_add_path(fleet, "records.jsonl", &options, NULL), FTH_OK);
    assert_int_equal(fth_fleet_history_open("fleet.db", &creating, &history, NULL), FTH_OK);
    assert_int_equal(fth_fleet_history_add(history, fleet, NULL, NULL), FTH_OK);
    fth_fleet_destroy(fleet);
    fleet = new_fleet();
    write_plain("gone.jsonl", gone, strlen(gone));
    assert_int_equal(fth_fleet_add_path(fleet, "gone.jsonl", &options, NULL), FTH_OK);
    assert_int_equal(fth_fleet_history_add(history, fleet, NULL, NULL), FTH_OK);
    write_plain("hosts.txt", "node9\n", 6);
    for (size_t number = 1; failed; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = use_history(history, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status != (failed ? FTH_NO_MEMORY : FTH_OK))
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
    }
    fth_fleet_history_close(history);
    fth_fleet_destroy(fleet);
    remove("fleet.db");
    remove("gone.jsonl");
    remove("hosts.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judgements_need_every_allocation),
        cmocka_unit_test(fleets_need_every_allocation),
        cmocka_unit_test(folders_need_every_allocation),
        cmocka_unit_test(histories_need_every_allocation),
    };
    return cmocka_run_group_tests_name("fleet-no-memory", tests, enter_folder, leave_folder);
}
