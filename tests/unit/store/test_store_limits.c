/* Tests of the limits of store/, and of hostile files instead of a store or beside it. Opening
 * never waits for a pipe, and a query always ends. */
#include "hostile.h"

#include <sys/stat.h>

/* ---- limits ---- */

static void endless_queries_end(void **state)
{
    (void)state;
    static const char endless[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
                                  " SELECT count(*) FROM c";
    make_store();
    struct fth_store *store = NULL;
    int64_t number = 0;
    const struct fth_store_options options = FTH_STORE_OPTIONS(.max_bytes = 256 << 10);
    assert_int_equal(fth_store_open(path, &options, &store, NULL), FTH_OK);
    assert_int_equal(store->max_steps, 8 * (256 << 10));
    for (int i = 0; i < 2; i++) {
        struct fth_error error = NO_ERROR;
        const enum fth_status status =
            i ? fth_store_run(store, "test", endless, &error)
              : fth_store_number(store, "test", endless, &number, &error);
        assert_int_equal(status, FTH_INVALID);
        assert_contains(error.cause, "a query takes more than 2097152 steps, which no store of 256 "
                                     "KiB does; nothing was changed. A larger --max-bytes allows");
        /* The next statement may take as many steps again. */
        assert_int_equal(count_runs(store, NULL), 5);
        assert_int_equal(fth_store_number(store, "test", "SELECT 3", &number, NULL), FTH_OK);
        assert_int_equal(number, 3);
    }
    /* A transaction that is stopped is rolled back. */
    assert_int_equal(fth_store_begin(store, "test", NULL), FTH_OK);
    assert_int_equal(fth_store_run(store, "test", "DELETE FROM gpu", NULL), FTH_OK);
    enum fth_status status = fth_store_run(store, "test", endless, NULL);
    assert_int_equal(fth_store_end(store, "test", status, NULL), FTH_INVALID);
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
    /* The limit does not overflow. */
    const struct fth_store_options large = FTH_STORE_OPTIONS(.max_bytes = UINT64_MAX / 4);
    assert_int_equal(fth_store_open(path, &large, &store, NULL), FTH_OK);
    assert_true(store->max_steps == UINT64_MAX);
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
}

static void long_texts_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "UPDATE run SET features = printf('%.1100000c', '1')",
        "UPDATE run SET driver = zeroblob(1100000) WHERE id = 4",
        "UPDATE gpu SET device = printf('%.1100000c', 'x')",
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        make_store();
        run_sql(rows[i]);
        enum fth_status status = fth_store_open(path, &reading, &store, &error);
        if (status == FTH_OK)
            status = fth_store_list(store, false, ignore, NULL, &error);
        assert_int_equal(status, FTH_INVALID);
        assert_contains(error.cause, "a text or a row is longer than the limit of 1048576 bytes");
        fth_store_close(store);
    }
}

static void large_stores_are_refused(void **state)
{
    (void)state;
    struct stat info;
    make_store();
    assert_int_equal(stat(path, &info), 0);
    const uint64_t size = (uint64_t)info.st_size;
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_store_options exact = FTH_STORE_OPTIONS(.max_bytes = size);
    const struct fth_store_options small = FTH_STORE_OPTIONS(.max_bytes = size - 1);
    assert_int_equal(fth_store_open(path, &small, &store, &error), FTH_INVALID);
    assert_contains(error.cause, "the file has 24 KiB, but a store may have at most 24 KiB; raise "
                                 "--max-bytes");
    assert_int_equal(fth_store_open(path, &exact, &store, NULL), FTH_OK);
    assert_int_equal(count_runs(store, NULL), 5);
    /* It does not grow beyond the limit, so it can be opened with it again. */
    error = NO_ERROR;
    assert_int_equal(enroll(store, "c", 1, 100, &error), FTH_IO);
    assert_contains(error.cause,
                    "the store would be larger than 24 KiB (--max-bytes); nothing was");
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
    assert_int_equal(truncate(path, ((off_t)128 << 20) + 1), 0);
    assert_int_equal(fth_store_open(path, NULL, &store, NULL), FTH_INVALID);
    unlink(path);
    const struct fth_store_options tiny = FTH_STORE_OPTIONS(.create = true, .max_bytes = 1);
    error = NO_ERROR;
    assert_int_equal(fth_store_open(path, &tiny, &store, &error), FTH_IO);
    assert_contains(error.cause, "would be larger than 1 B");
}

/* Comparing runs takes time that grows with the square of their number. */
static void too_many_runs_are_not_compared(void **state)
{
    (void)state;
    enum { RUNS = 4942 };
    static const double features[FTH_MAX_FEATURES];
    struct fth_runs runs = {.items = NULL};
    struct fth_error error = NO_ERROR;
    size_t *found = calloc(RUNS, sizeof *found);
    assert_non_null(found);
    for (size_t i = 0; i < RUNS; i++) {
        struct fth_run *run = fth_runs_add(&runs);
        assert_non_null(run);
        *run = (struct fth_run){
            .name = "a", .version = 2, .features = features, .count = FTH_MAX_FEATURES};
    }
    assert_int_equal(fth_leave_one_out(&runs, found, &error), FTH_INVALID);
    assert_contains(error.cause, "comparing 4942 runs takes too long: the square of their number, "
                                 "times the number of features, exceeds 1e+11; distribute");
    /* Every run has another version: one too many, and the maximum. */
    for (size_t i = 0; i < RUNS; i++) {
        runs.items[i].version = (unsigned)i + 2;
        runs.items[i].count = 1;
    }
    error = NO_ERROR;
    runs.count = 1001;
    assert_int_equal(fth_leave_one_out(&runs, found, &error), FTH_INVALID);
    assert_contains(error.cause, "the runs have more than 1000 different versions and numbers of "
                                 "features; distribute");
    runs.count = 1000;
    assert_int_equal(fth_leave_one_out(&runs, found, NULL), FTH_OK);
    free(found);
    fth_runs_fini(&runs);
}

/* SQLite refuses what a store does not need. */
static void connections_are_restricted(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        int64_t number;
    } settings[] = {{"PRAGMA foreign_keys", 1},
                    {"PRAGMA trusted_schema", 0},
                    {"PRAGMA cell_size_check", 1},
                    {"PRAGMA mmap_size", 0}};
    static const struct {
        const char *sql, *cause;
    } statements[] = {
        {"ATTACH 'other.db' AS other", "too many attached databases - max 0"},
        {"SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6"
         " UNION SELECT 7 UNION SELECT 8 UNION SELECT 9",
         "too many terms in compound SELECT"},
        {"SELECT max(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", "too many arguments"},
        {"SELECT ?17", "variable number must be between ?1 and ?16"},
    };
    static const int configurations[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                            {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
                                            {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
#endif
                                            {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(settings); i++) {
        int64_t number = -1;
        assert_int_equal(fth_store_number(store, "test", settings[i].sql, &number, NULL), FTH_OK);
        /* The setting has no value if SQLite was built without memory-mapped files. */
        assert_true(number == settings[i].number || (number == -1 && settings[i].number == 0));
    }
    for (size_t i = 0; i < FTH_COUNT(statements); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_store_run(store, "test", statements[i].sql, &error), FTH_IO);
        assert_contains(error.cause, statements[i].cause);
    }
    for (size_t i = 0; i < FTH_COUNT(configurations); i++) {
        int value = -1;
        sqlite3_db_config(store->database, configurations[i][0], -1, &value);
        assert_int_equal(value, configurations[i][1]);
    }
    fth_store_close(store);
}

/* ---- kinds of files ---- */

static void only_regular_files_are_opened(void **state)
{
    (void)state;
    const struct fth_store_options *const ways[] = {&reading, NULL, &creating};
    static const struct {
        const char *path, *cause;
    } rows[] = {
        {"folder", "it is a folder, not a regular file; choose another one"},
        {"pipe", "it is a pipe or device, not a regular file"},
        {"link", "it is a pipe or device, not a regular file"},
        {"/dev/zero", "it is a pipe or device, not a regular file"},
        {"/dev/null", "it is a pipe or device, not a regular file"},
    };
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("pipe", "link"), 0);
    for (size_t i = 0; i < FTH_COUNT(rows) * FTH_COUNT(ways); i++) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        const size_t row = i / FTH_COUNT(ways);
        assert_int_equal(fth_store_open(rows[row].path, ways[i % FTH_COUNT(ways)], &store, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[row].cause);
    }
    unlink("link");
    unlink("pipe");
    rmdir("folder");
    /* A link to a store is followed. */
    make_store();
    struct fth_store *store = NULL;
    assert_int_equal(symlink(path, "link"), 0);
    assert_int_equal(fth_store_open("link", &reading, &store, NULL), FTH_OK);
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
    unlink("link");
}

static void empty_files_are_no_stores(void **state)
{
    (void)state;
    const struct fth_store_options *const ways[] = {&reading, NULL};
    for (size_t i = 0; i < 2 * FTH_COUNT(ways); i++) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        unlink(path);
        write_plain(path, "", 0);
        if (i % 2) /* a database without tables */
            run_sql("VACUUM");
        assert_int_equal(fth_store_open(path, ways[i / 2], &store, &error), FTH_NOT_FOUND);
        assert_contains(error.cause, "the file is empty; enroll a GPU to create a store in it");
        assert_int_equal(fth_store_open(path, &creating, &store, NULL), FTH_OK);
        fth_store_close(store);
        assert_int_equal(fth_store_open(path, ways[i / 2], &store, NULL), FTH_OK);
        fth_store_close(store);
    }
}

/* ---- files beside the store ---- */

/* Writes a journal that makes SQLite delete the file `victim` when it undoes the transaction. */
static void write_super_journal(const char *victim)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char journal[1024] = {0};
    const size_t length = strlen(victim);
    uint32_t checksum = 0;
    for (size_t i = 0; i < length; i++)
        checksum = checksum + (unsigned char)victim[i]; /* ASCII */
    memcpy(journal, magic, sizeof magic);
    journal[19] = 6;    /* pages of the database */
    journal[22] = 0x02; /* bytes of a sector: 512 */
    journal[26] = 0x10; /* bytes of a page: 4096 */
    unsigned char *at = journal + 512;
    const uint32_t lock_page = 0x40000000 / 4096 + 1;
    for (int i = 0; i < 4; i++)
        *at++ = (unsigned char)(lock_page >> (24 - 8 * i));
    memcpy(at, victim, length);
    at += length;
    for (int i = 0; i < 4; i++)
        *at++ = (unsigned char)(length >> (24 - 8 * i));
    for (int i = 0; i < 4; i++)
        *at++ = (unsigned char)(checksum >> (24 - 8 * i));
    memcpy(at, magic, sizeof magic);
    write_plain("store.db-journal", journal, (size_t)(at - journal) + sizeof magic);
}

static void foreign_journals_are_refused(void **state)
{
    (void)state;
    static const char cause[] = "fathom did not write the journal that lies beside it";
    char victim[256];
    assert_non_null(getcwd(victim, sizeof victim - 16));
    strcat(victim, "/victim");
    make_store();
    write_plain("victim", "precious", 8);
    write_super_journal(victim);
    assert_refused(FTH_INVALID, cause);
    assert_int_equal(access("victim", F_OK), 0);
    /* The journal of a store that is opened through a link lies beside the target. */
    struct fth_store *store = NULL;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(symlink("../store.db", "folder/link.db"), 0);
    assert_int_equal(fth_store_open("folder/link.db", NULL, &store, NULL), FTH_INVALID);
    assert_int_equal(access("victim", F_OK), 0);
    unlink("folder/link.db");
    rmdir("folder");
    unlink("victim");
    unlink("store.db-journal");

    assert_int_equal(mkfifo("store.db-journal", 0600), 0);
    assert_refused(FTH_INVALID, cause);
    unlink("store.db-journal");
    assert_int_equal(mkdir("store.db-journal", 0700), 0);
    assert_refused(FTH_INVALID, cause);
    rmdir("store.db-journal");
    assert_int_equal(symlink("/dev/zero", "store.db-journal"), 0);
    assert_refused(FTH_INVALID, cause);
    unlink("store.db-journal");
    /* A journal that is not valid is ignored, as SQLite does. */
    static const char *const journals[] = {"", "x", "1234567", "not a journal"};
    for (size_t i = 0; i < FTH_COUNT(journals); i++) {
        write_plain("store.db-journal", journals[i], strlen(journals[i]));
        assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
        assert_int_equal(count_runs(store, NULL), 5);
        fth_store_close(store);
        unlink("store.db-journal");
    }
}

static void write_ahead_logs_are_refused(void **state)
{
    (void)state;
    make_store();
    run_sql("PRAGMA journal_mode = WAL");
    assert_refused(FTH_INVALID, "it uses a write-ahead log, which fathom does not; it was not "
                                "changed. To convert it, run: sqlite3 FILE 'PRAGMA journal_mode");
    run_sql("PRAGMA journal_mode = DELETE");
    /* One of the two bytes in the header is enough. */
    for (size_t i = 18; i < 20; i++) {
        struct fth_buffer content = read_content();
        content.data[i] = 2;
        write_plain(path, content.data, content.size);
        assert_refused(FTH_INVALID, "it uses a write-ahead log");
        content.data[i] = 1;
        write_plain(path, content.data, content.size);
        fth_buffer_fini(&content);
    }
    write_plain("store.db-wal", "x", 1);
    assert_refused(FTH_INVALID, "a write-ahead log lies beside it (FILE-wal), which fathom does");
    unlink("store.db-wal");
    assert_int_equal(mkfifo("store.db-wal", 0600), 0);
    assert_refused(FTH_INVALID, "a write-ahead log lies beside it");
    unlink("store.db-wal");
    struct fth_store *store = open_store();
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(endless_queries_end),          TEST(long_texts_are_refused),
        TEST(large_stores_are_refused),     TEST(too_many_runs_are_not_compared),
        TEST(connections_are_restricted),   TEST(only_regular_files_are_opened),
        TEST(empty_files_are_no_stores),    TEST(foreign_journals_are_refused),
        TEST(write_ahead_logs_are_refused),
    };
    return cmocka_run_group_tests_name("store_limits", tests, enter_folder, leave_folder);
}
