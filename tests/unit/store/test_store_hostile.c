/* Tests of store/ with hostile and damaged contents: every command either works or refuses the
 * store with a message, without changing it. */
#include "hostile.h"

/* Each function that reads the rows must fail with FTH_INVALID and this cause. */
static void assert_rows_refused(const char *cause)
{
    struct fth_store *store = NULL;
    struct fth_error errors[4] = {NO_ERROR, NO_ERROR, NO_ERROR, NO_ERROR};
    struct fth_identification found;
    char *text = NULL;
    size_t size;
    struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 2, FEATURES);
    assert_int_equal(fth_store_open(path, NULL, &store, &errors[0]), FTH_OK);
    assert_int_equal(fth_store_list(store, true, ignore, NULL, &errors[0]), FTH_INVALID);
    assert_int_equal(fth_store_identify(store, fingerprint, &found, &errors[1]), FTH_INVALID);
    assert_int_equal(fth_store_export(store, &text, &size, &errors[2]), FTH_INVALID);
    assert_int_equal(fth_store_forget(store, "nobody", NULL, &errors[3]), FTH_INVALID);
    for (size_t i = 0; i < FTH_COUNT(errors); i++) {
        assert_contains(errors[i].cause, "a row is invalid; delete it with sqlite3");
        assert_contains(errors[i].cause, cause);
    }
    fth_fingerprint_destroy(fingerprint);
    fth_store_close(store);
}

/* ---- versions and schemas ---- */

static void unknown_versions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *cause;
        enum fth_status status;
    } rows[] = {
        {"PRAGMA user_version = -1",
         "its version is -1, but the versions of fingerprint stores "
         "are 1 to 2; it was not changed",
         FTH_INVALID},
        {"PRAGMA user_version = -2147483648", "its version is -2147483648", FTH_INVALID},
        {"PRAGMA user_version = 0", "its version is 0", FTH_INVALID},
        {"PRAGMA user_version = 3", "a newer fathom created it (version 3", FTH_UNSUPPORTED},
        {"PRAGMA user_version = 2147483647", "(version 2147483647", FTH_UNSUPPORTED},
        {"PRAGMA application_id = 0", "a database of another program", FTH_INVALID},
        /* The tables of version 2 are not those of version 1. */
        {"PRAGMA user_version = 1", "its table 'run' is not that of a fingerprint store",
         FTH_INVALID},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        make_store();
        run_sql(rows[i].sql);
        assert_refused(rows[i].status, rows[i].cause);
    }
    /* A database without tables that belongs to another program or has the mark of a store. */
    unlink(path);
    run_sql("PRAGMA application_id = 7");
    assert_refused(FTH_INVALID, "a database of another program");
    unlink(path);
    run_sql("PRAGMA user_version = -3; PRAGMA application_id = 1718904941");
    assert_refused(FTH_INVALID, "its version is -3");
    unlink(path);
    run_sql("PRAGMA user_version = 1");
    assert_refused(FTH_INVALID, "a database of another program");
}

/* Sets a column of sqlite_master. */
#define SET_SCHEMA(changes)                                                                        \
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET " changes                               \
    "; PRAGMA writable_schema = OFF"

static void other_schemas_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *cause;
    } rows[] = {
        {"CREATE TABLE notes (x)",
         "it has the table 'notes', which a fingerprint store does not have; it was not changed. "
         "Remove it with sqlite3"},
        {"CREATE VIEW v AS SELECT 1", "it has the view 'v'"},
        {"CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM gpu; END",
         "it has the trigger 't'"},
        {"CREATE INDEX gpu_uuid ON gpu(uuid)", "it has the index 'gpu_uuid'"},
        {"ANALYZE", "it has the table 'sqlite_stat1'"},
        {"DROP INDEX run_gpu", "the index 'run_gpu' of a fingerprint store is missing"},
        {"DROP INDEX run_gpu; CREATE INDEX run_gpu ON run(time)",
         "its index 'run_gpu' is not that of a fingerprint store: it has 'time)' instead of "
         "'gpu)'"},
        {"DROP INDEX run_key; CREATE INDEX run_key ON run(key)",
         "it has 'INDEX run_key ON run(key)' instead of 'UNIQUE INDEX run_key"},
        {"DROP INDEX run_gpu; CREATE INDEX run_gpu ON gpu(uuid)", "its index 'run_gpu'"},
        {"DROP TABLE run", "the table 'run' of a fingerprint store is missing"},
        {"DROP TABLE run; DROP TABLE gpu", "the table 'gpu' of a fingerprint store is missing"},
        {"ALTER TABLE gpu ADD COLUMN note TEXT",
         "its table 'gpu' is not that of a fingerprint store: it has 'TEXT, note TEXT)' instead of "
         "'TEXT)'"},
        {"ALTER TABLE gpu DROP COLUMN uuid", "it has 'TEXT)' instead of 'TEXT, uuid TEXT)'"},
        {"ALTER TABLE gpu RENAME COLUMN uuid TO id2", "its table 'gpu'"},
        {"DROP TABLE run; CREATE VIEW run AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + "
         "1"
         " FROM c) SELECT x AS id, 1 AS gpu, 'd' AS driver, 1 AS time, 1 AS version,"
         " '[1]' AS features, 'k' || x AS key FROM c",
         "it has the view 'run'"},
        {SET_SCHEMA("sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = 'gpu'"),
         "its table 'gpu' is not that of a fingerprint store: it has 'UNIQUE, device TEXT, uuid "
         "TEXT)' instead of 'NOT NULL UNIQUE, device"},
        {SET_SCHEMA("sql = sql || ' ' WHERE name = 'gpu'"), "its table 'gpu'"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        make_store();
        run_sql(rows[i].sql);
        assert_refused(FTH_INVALID, rows[i].cause);
    }
    /* SQLite itself finds entries that contradict each other. */
    static const char *const malformed[] = {
        SET_SCHEMA("tbl_name = 'gpu' WHERE name = 'run_gpu'"),
        SET_SCHEMA("sql = 'CREATE TABLE gpu (' WHERE name = 'gpu'"),
        SET_SCHEMA("sql = NULL WHERE name = 'gpu'"),
        SET_SCHEMA("rootpage = 100000 WHERE name = 'gpu'"),
        SET_SCHEMA("rootpage = 2 WHERE name = 'run'"),
        SET_SCHEMA("rootpage = -1 WHERE name = 'run'"),
        SET_SCHEMA("type = NULL, name = NULL"),
        SET_SCHEMA("sql = zeroblob(2000000) WHERE name = 'gpu'"),
    };
    for (size_t i = 0; i < FTH_COUNT(malformed); i++) {
        make_store();
        run_sql(malformed[i]);
        assert_refused(FTH_INVALID, "");
    }
}

/* ---- rows ---- */

static void invalid_rows_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *cause;
    } rows[] = {
        {"UPDATE gpu SET name = x'61' WHERE id = 1", "run 1: name: must be 1 to 64 bytes of"},
        {"UPDATE gpu SET name = '' WHERE id = 2", "run 4: name: must be 1 to 64"},
        {"UPDATE gpu SET name = printf('%.65c', id)", "name: must be 1 to 64"},
        {"UPDATE gpu SET name = 'a' || char(0) || 'b' WHERE id = 1", "name: must be 1 to 64"},
        {"UPDATE gpu SET name = char(27) || '[31m' WHERE id = 1", "name: must be 1 to 64"},
        {"UPDATE gpu SET name = CAST(x'ff' AS TEXT) WHERE id = 1", "name: must be 1 to 64"},
        {"UPDATE gpu SET device = x'00' WHERE id = 1", "device: must be at most 256 bytes"},
        {"UPDATE gpu SET device = printf('%.257c', 'x')", "device: must be at most 256 bytes"},
        {"UPDATE gpu SET uuid = printf('%.257c', 'x')", "uuid: must be at most 256 bytes"},
        {"UPDATE gpu SET uuid = x'41' WHERE id = 1", "uuid: must be at most 256 bytes"},
        {"UPDATE run SET driver = printf('%.257c', 'x')", "driver: must be at most 256 bytes"},
        {"UPDATE run SET driver = x'41'", "run 1: driver: must be at most 256 bytes of printable"},
        {"UPDATE run SET key = '1234567' WHERE id = 3", "run 3: key: must be 8 to 64 digits"},
        {"UPDATE run SET key = printf('%.65c', 'x') WHERE id = 3", "run 3: key: must be 8 to"},
        {"UPDATE run SET key = 'ABCDEFGH' WHERE id = 3", "run 3: key: must be 8 to 64 digits"},
        {"UPDATE run SET key = x'3132333435363738' WHERE id = 3", "run 3: key: must be 8 to"},
        {"UPDATE run SET time = 'yesterday'", "run 1: time: must be a whole number of seconds"},
        {"UPDATE run SET time = 1.5", "time: must be a whole number of seconds"},
        {"UPDATE run SET time = 9e18", "time: must be a whole number of seconds"},
        {"UPDATE run SET time = x'01'", "time: must be a whole number of seconds"},
        {"UPDATE run SET time = -1", "within the years 1970 to 9999"},
        {"UPDATE run SET time = 253402300800", "within the years 1970 to 9999"},
        {"UPDATE run SET version = -1", "version: must be a whole number from 0 to 1000000"},
        {"UPDATE run SET version = 1000001", "version: must be a whole number from 0 to"},
        {"UPDATE run SET version = 4294967298", "version: must be a whole number from 0 to"},
        {"UPDATE run SET version = 'x'", "version: must be a whole number from 0 to 1000000"},
        {"UPDATE run SET features = x'5b315d'", "run 1: features: must be a JSON list"},
        {"UPDATE run SET features = ''", "run 1: features: "},
        {"UPDATE run SET features = '[1' WHERE id = 5", "run 5: features: line 1"},
        {"UPDATE run SET features = '[]'", "must be a list of 1 to 4096 numbers"},
        {"UPDATE run SET features = '{}'", "must be a list of 1 to 4096 numbers"},
        {"UPDATE run SET features = '[' || printf('%.4096c', '1') || ']'", "run 1: features: "},
        {"UPDATE run SET features = '[' || replace(printf('%.4096c', '1'), '1', '1,') || '1]'",
         "must be a list of 1 to 4096 numbers"},
        {"UPDATE run SET features = '[1, \"2\"]'", "feature 1 of a run is not a number"},
        {"UPDATE run SET features = '[NaN]'", "run 1: features: "},
        {"UPDATE run SET features = '[1e999]'", "run 1: features: "},
        {"UPDATE run SET features = '[1]' || char(0)", "run 1: features: "},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        make_store();
        run_sql(rows[i].sql);
        assert_rows_refused(rows[i].cause);
    }
}

/* The largest and smallest values that are allowed. */
static void extreme_rows_are_accepted(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "UPDATE gpu SET name = printf('%.64c', 'x') WHERE id = 1",
        "UPDATE gpu SET device = printf('%.256c', 'x'), uuid = printf('%.256c', id)",
        "UPDATE gpu SET device = '', uuid = NULL",
        "UPDATE run SET driver = printf('%.256c', 'x')",
        "UPDATE run SET driver = NULL",
        "UPDATE run SET key = printf('%.8c', id)",
        "UPDATE run SET key = printf('%.63c', 'z') || id",
        "UPDATE run SET time = 0",
        "UPDATE run SET time = 253402300799",
        "UPDATE run SET version = 0",
        "UPDATE run SET version = 1000000",
        "UPDATE run SET version = 1, features = '[1]'",
        "UPDATE run SET features = '[' || replace(printf('%.4095c', '1'), '1', '1,') || '1]'",
        "UPDATE run SET features = '[1e308, -1e308, null, 0, 1e-308]'",
        "UPDATE run SET features = '[' || id || 'e200, -1e308]'",
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_store *store = NULL;
        char *text = NULL;
        size_t size;
        struct fth_runs runs = {.items = NULL};
        make_store();
        run_sql(rows[i]);
        assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
        assert_int_equal(count_runs(store, NULL), 5);
        assert_int_equal(fth_store_list(store, true, ignore, NULL, NULL), FTH_OK);
        assert_int_equal(fth_store_export(store, &text, &size, NULL), FTH_OK);
        assert_int_equal(fth_exchange_read("export", text, size, &runs, NULL), FTH_OK);
        assert_int_equal(runs.count, 5);
        fth_runs_fini(&runs);
        fth_free(text);
        fth_store_close(store);
    }
}

/* What fathom would refuse to read, it does not write. */
static void invalid_runs_are_not_enrolled(void **state)
{
    (void)state;
    char long_text[258];
    memset(long_text, 'x', 257);
    long_text[257] = '\0';
    const struct {
        struct fth_run run;
        const char *cause;
    } rows[] = {
        {{.device = long_text}, "device: must be at most 256 bytes of printable text"},
        {{.device = "\033[31m"}, "device: must be at most 256 bytes of printable text"},
        {{.uuid = long_text}, "uuid: must be"},
        {{.driver = long_text}, "driver: must be"},
        {{.key = "x"}, "key: must be"},
        {{.time = INT64_MAX}, "before 1970 or after 9999"},
        {{.time = INT64_MIN}, "before 1970 or after 9999"},
        {{.version = 1000001}, "version: must be"},
    };
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 1, FEATURES);
        struct fth_run *run = &fingerprint->runs.items[0];
        struct fth_error error = NO_ERROR;
        const double *features = run->features;
        *run = rows[i].run;
        run->features = features;
        run->count = FEATURES;
        assert_int_equal(fth_store_enroll(store, "a", fingerprint, NULL, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        assert_int_equal(count_runs(store, NULL), 0);
        run->device = long_text + 1;
        run->uuid = run->driver = run->key = NULL;
        run->time = 0;
        run->version = FTH_FEATURES_VERSION;
        assert_int_equal(fth_store_enroll(store, "a", fingerprint, NULL, NULL), FTH_OK);
        assert_int_equal(fth_store_forget(store, "a", NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    fth_store_close(store);
}

/* A GPU with very many SMs has more features than a store holds. */
static void runs_with_too_many_features_are_not_enrolled(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        enum fth_status status;
    } rows[] = {{0, FTH_INVALID}, {1, FTH_OK}, {4096, FTH_OK}, {4097, FTH_INVALID}};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_fingerprint *fingerprint = make_fingerprint(1, 0, 1, 4097);
        struct fth_error error = NO_ERROR;
        fingerprint->runs.items[0].count = rows[i].count;
        assert_int_equal(fth_store_enroll(store, "a", fingerprint, NULL, &error), rows[i].status);
        if (rows[i].status != FTH_OK)
            assert_contains(error.cause, " features, but a store holds 1 to 4096 per run");
        fth_fingerprint_destroy(fingerprint);
    }
    assert_int_equal(count_runs(store, NULL), 2);
    fth_store_close(store);
}

/* ---- consistency ---- */

static void inconsistent_stores_are_refused(void **state)
{
    (void)state;
    /* NULL in a NOT NULL column: the declaration is changed for the time of the update. */
    make_store();
    run_sql(SET_SCHEMA("sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = 'gpu'"));
    run_sql("UPDATE gpu SET name = NULL WHERE id = 1");
    run_sql(SET_SCHEMA("sql = replace(sql, 'name TEXT UNIQUE', 'name TEXT NOT NULL UNIQUE')"
                       " WHERE name = 'gpu'"));
    assert_refused(FTH_INVALID,
                   "the file is damaged (NULL value in gpu.name); nothing was changed");
    /* The index of the keys points to other rows than the table has. */
    make_store();
    run_sql(SET_SCHEMA("sql = replace(sql, 'run(key)', 'run(driver)'), sql = 'CREATE INDEX run_key"
                       " ON run(driver)' WHERE name = 'run_key'"));
    run_sql("REINDEX run_key");
    run_sql(SET_SCHEMA("sql = 'CREATE UNIQUE INDEX run_key ON run(key)' WHERE name = 'run_key'"));
    assert_refused(FTH_INVALID, "the file is damaged (row 1 missing from index run_key)");
    /* Runs without a GPU. */
    make_store();
    run_sql("DELETE FROM gpu WHERE id = 1");
    assert_refused(FTH_INVALID, "the file is damaged (row 1 of run refers to no row of gpu)");
}

/* No change of a single byte crashes, and no truncated store is accepted with fewer runs. */
static void damaged_bytes_are_refused_or_harmless(void **state)
{
    (void)state;
    make_store();
    struct fth_buffer good = read_content();
    size_t refused = 0, tried = 0;
    for (size_t i = 0; i < good.size; i += i < 200 ? 1 : 97) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        const char kept = good.data[i];
        good.data[i] = (char)(kept ^ (i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x80 : 0x01));
        unlink(path); /* overwriting a file takes much longer on some file systems */
        write_plain(path, good.data, good.size);
        good.data[i] = kept;
        enum fth_status status = fth_store_open(path, &reading, &store, &error);
        if (status == FTH_OK)
            status = fth_store_list(store, true, ignore, NULL, &error);
        if (status != FTH_OK && !error.cause[0])
            fail_msg("byte %zu: no message", i);
        refused += status != FTH_OK;
        tried++;
        fth_store_close(store);
    }
    print_message("# %zu of %zu changed bytes refused\n", refused, tried);
    assert_true(refused > 0 && refused < tried);
    /* SQLite treats a file of one byte as empty. */
    for (size_t size = 2; size < good.size; size += size < 200 ? 1 : 509) {
        unlink(path);
        write_plain(path, good.data, size);
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_store_open(path, &creating, &store, &error) == FTH_OK)
            fail_msg("%zu bytes were accepted", size);
        assert_int_not_equal(strlen(error.cause), 0);
    }
    fth_buffer_fini(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unknown_versions_are_refused),    TEST(other_schemas_are_refused),
        TEST(invalid_rows_are_refused),        TEST(extreme_rows_are_accepted),
        TEST(invalid_runs_are_not_enrolled),   TEST(runs_with_too_many_features_are_not_enrolled),
        TEST(inconsistent_stores_are_refused), TEST(damaged_bytes_are_refused_or_harmless),
    };
    return cmocka_run_group_tests_name("store_hostile", tests, enter_folder, leave_folder);
}
