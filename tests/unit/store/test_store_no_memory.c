/* Tests that store/ fails with FTH_NO_MEMORY if it has no memory, and that nothing is left
 * (tests/leaks checks that). Each use of a store makes one allocation fail: the first one, then the
 * second one, and so on, until everything succeeds. */
#include "failing.h"
#include "made_up.h"

static void ignore(void *user, const struct fth_enrolled *enrolled)
{
    (void)user;
    (void)enrolled;
}

static enum fth_status list(struct fth_store *store, struct fth_error *error)
{
    return fth_store_list(store, true, ignore, NULL, error);
}

static enum fth_status identify(struct fth_store *store, struct fth_error *error)
{
    static const double features[FEATURES] = {1};
    struct fth_run run = {.version = FTH_FEATURES_VERSION, .features = features, .count = FEATURES};
    const struct fth_fingerprint fingerprint = {.runs = {.items = &run, .count = 1}};
    struct fth_identification found;
    const enum fth_status status = fth_store_identify(store, &fingerprint, &found, error);
    assert_true(status == FTH_OK || !found.memory);
    fth_identification_fini(&found);
    return status;
}

static enum fth_status export(struct fth_store *store, struct fth_error *error) {
    char *text = NULL; size_t size;
    const enum fth_status status = fth_store_export(store, &text, &size, error);
    assert_int_equal(text != NULL, status == FTH_OK);
    fth_free(text);
    return status;
}

static enum fth_status import(struct fth_store *store, struct fth_error *error)
{
    return fth_store_import(store, "run.json", NULL, error);
}

static enum fth_status add(struct fth_store *store, struct fth_error *error)
{
    static const double features[FEATURES] = {1};
    struct fth_run run = {.device = "Made Up",
                          .driver = "1.0",
                          .version = FTH_FEATURES_VERSION,
                          .features = features,
                          .count = FEATURES};
    const struct fth_fingerprint fingerprint = {.runs = {.items = &run, .count = 1}};
    return fth_store_enroll(store, "new", &fingerprint, NULL, error);
}

/* The suggestion of a similar name is left out without memory; the answer stays the same. */
static enum fth_status forget(struct fth_store *store, struct fth_error *error)
{
    const enum fth_status status = fth_store_forget(store, "nobody", NULL, error);
    return status == FTH_NOT_FOUND ? FTH_OK : status;
}

/* Opens the store and uses it. */
static enum fth_status use(enum fth_status (*action)(struct fth_store *store,
                                                     struct fth_error *error),
                           struct fth_error *error)
{
    struct fth_store *store = NULL;
    enum fth_status status = fth_store_open(path, NULL, &store, error);
    assert_int_equal(store != NULL, status == FTH_OK);
    if (status == FTH_OK)
        status = action(store, error);
    fth_store_close(store);
    return status;
}

static void every_allocation_is_needed(void **state)
{
    (void)state;
    static const struct {
        enum fth_status (*action)(struct fth_store *store, struct fth_error *error);
        bool optional; /* some allocations are not needed */
    } rows[] = {{list, false},   {identify, false}, {export, false},
                {import, false}, {add, false},      {forget, true}};
    static const char document[] =
        "{\"schema\": \"fathom-fingerprints/1\", \"runs\": [{\"name\": \"c\", \"key\": "
        "\"00000001\", \"device\": \"d\", \"uuid\": \"u\", \"driver\": \"1\", \"time\": 1, "
        "\"version\": 1, \"features\": [1]}]}";
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 3, NULL), FTH_OK);
    assert_int_equal(enroll(store, "b", 1.1, 2, NULL), FTH_OK);
    fth_store_close(store);
    write_plain("run.json", document, sizeof document - 1);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        size_t number = 1;
        for (;; number++) {
            struct fth_error error = NO_ERROR;
            fail_from(number, false);
            const enum fth_status status = use(rows[i].action, &error);
            const bool failed = has_failed();
            fail_from(0, false);
            if (!failed) {
                assert_int_equal(status, FTH_OK);
                break;
            }
            if (status != FTH_NO_MEMORY && !(rows[i].optional && status == FTH_OK))
                fail_msg("row %zu, allocation %zu: status %d: %s", i, number, (int)status,
                         error.cause);
            assert_true(status == FTH_OK || error.operation[0] != '\0');
            assert_null(strstr(error.cause, "invalid"));
        }
        assert_true(number > 5);
    }
    unlink("run.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_allocation_is_needed),
    };
    return cmocka_run_group_tests_name("store-no-memory", tests, enter_folder, leave_folder);
}
