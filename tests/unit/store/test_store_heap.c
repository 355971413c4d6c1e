/* Tests that store/ fails with FTH_NO_MEMORY if SQLite has no memory, and that the store keeps its
 * runs. SQLite gets an allocator that fails from a given allocation on. */
#include "made_up.h"

#include <sqlite3.h>

static size_t allocations, first_failing; /* first_failing 0: none fails */

static void *allocate(int bytes)
{
    if (first_failing && ++allocations >= first_failing)
        return NULL;
    int64_t *block = malloc(sizeof *block + (size_t)bytes);
    if (block)
        *block = bytes;
    return block ? block + 1 : NULL;
}

static void release(void *memory)
{
    if (memory)
        free((int64_t *)memory - 1);
}

static int size_of(void *memory)
{
    return memory ? (int)*((int64_t *)memory - 1) : 0;
}

static void *reallocate(void *memory, int bytes)
{
    void *larger = allocate(bytes);
    if (larger) {
        memcpy(larger, memory, (size_t)(size_of(memory) < bytes ? size_of(memory) : bytes));
        release(memory);
    }
    return larger;
}

static int round_up(int bytes)
{
    return (bytes + 7) & ~7;
}

static int init(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void finish(void *context)
{
    (void)context;
}

/* ---- uses of a store ---- */

static void ignore(void *user, const struct fth_enrolled *enrolled)
{
    (void)enrolled;
    ++*(size_t *)user;
}

static enum fth_status list(struct fth_store *store, struct fth_error *error)
{
    size_t count = 0;
    return fth_store_list(store, true, ignore, &count, error);
}

static enum fth_status export(struct fth_store *store, struct fth_error *error) {
    char *text = NULL; size_t size = 0;
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
    return enroll(store, "new", 1.2, 2, error);
}

static enum fth_status forget(struct fth_store *store, struct fth_error *error)
{
    const enum fth_status status = fth_store_forget(store, "new", NULL, error);
    return status == FTH_NOT_FOUND ? FTH_OK : status;
}

/* Opens the store and uses it; `read_only`: without changing it. */
static enum fth_status use(enum fth_status (*action)(struct fth_store *, struct fth_error *),
                           bool read_only, struct fth_error *error)
{
    const struct fth_store_options options = FTH_STORE_OPTIONS(.read_only = read_only);
    struct fth_store *store = NULL;
    enum fth_status status = fth_store_open(path, &options, &store, error);
    assert_int_equal(store != NULL, status == FTH_OK);
    if (status == FTH_OK)
        status = action(store, error);
    fth_store_close(store);
    return status;
}

/* The runs of a and b stay, and those of other names are complete or absent. */
static void check_store(size_t row, size_t number)
{
    struct fth_store *store = open_store();
    const size_t added = count_runs(store, "new"), imported = count_runs(store, "c");
    if (count_runs(store, "a") != 3 || count_runs(store, "b") != 2 || (added != 0 && added != 2) ||
        imported > 1)
        fail_msg("row %zu, allocation %zu: the store has changed", row, number);
    fth_store_close(store);
}

static void stores_need_the_memory_of_sqlite(void **state)
{
    (void)state;
    static const struct {
        enum fth_status (*action)(struct fth_store *, struct fth_error *);
        bool read_only;
    } rows[] = {{list, false},   {list, true}, {export, true},
                {import, false}, {add, false}, {forget, false}};
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
        size_t failures = 0;
        for (size_t number = 1;; number += 1 + number / 12) {
            struct fth_error error = NO_ERROR;
            allocations = 0;
            first_failing = number;
            const enum fth_status status = use(rows[i].action, rows[i].read_only, &error);
            const bool failed = allocations >= number;
            first_failing = 0;
            if (!failed) {
                assert_int_equal(status, FTH_OK);
                break;
            }
            if (status != FTH_OK && status != FTH_NO_MEMORY)
                fail_msg("row %zu, allocation %zu: status %d: %s", i, number, (int)status,
                         error.cause);
            failures += status != FTH_OK;
            check_store(i, number);
        }
        assert_true(failures > 10);
    }
}

static int configure(void **state)
{
    static const sqlite3_mem_methods methods = {allocate, release, reallocate, size_of,
                                                round_up, init,    finish,     NULL};
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    /* Otherwise small allocations do not reach the allocator. */
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
    return enter_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stores_need_the_memory_of_sqlite),
    };
    return cmocka_run_group_tests_name("store heap", tests, configure, leave_folder);
}
