/* Versions of the database schema. Migrates older stores, and checks that a store has the schema of
 * its version and is consistent.
 *
 * A new file is created by executing all migrations one after the other, so every migration is
 * tested whenever a store is created. The expected schema of a version comes from the same
 * migrations, executed in memory. */
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* "fthm" in ASCII. SQLite stores it in the header of the file, where it distinguishes a store from
 * the databases of other programs. */
#define APPLICATION_ID 0x6674686d
/* Default of the largest store. Chosen: half of the largest document that is imported, so that
 * stores can be exported and imported again. An H200 with 8 runs takes 20 KB. */
#define DEFAULT_MAX_BYTES ((uint64_t)128 << 20)

static const char *const migrations[FTH_STORE_VERSION] = {
    "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, device TEXT, uuid TEXT);"
    "CREATE TABLE run (id INTEGER PRIMARY KEY,"
    " gpu INTEGER NOT NULL REFERENCES gpu(id) ON DELETE CASCADE, driver TEXT,"
    " time INTEGER NOT NULL, version INTEGER NOT NULL, features TEXT NOT NULL);"
    "CREATE INDEX run_gpu ON run(gpu);"
    "PRAGMA application_id = 1718904941;",
    /* Adds a unique key, by which a run that is imported twice is recognised. */
    "ALTER TABLE run ADD COLUMN key TEXT NOT NULL DEFAULT '';"
    "UPDATE run SET key = lower(hex(randomblob(16)));"
    "CREATE UNIQUE INDEX run_key ON run(key);",
};
_Static_assert(APPLICATION_ID == 1718904941, "must equal the number in the first migration");

const struct fth_store_format fth_fingerprint_format = {
    .noun = "fingerprint store",
    .operation = "open fingerprint store",
    .default_file = "fathom/fingerprints.db",
    .create_hint = "enroll a GPU",
    .recover_hint = "Import an export into a new file",
    .max_bytes = DEFAULT_MAX_BYTES,
    .application_id = APPLICATION_ID,
    .version = FTH_STORE_VERSION,
    .migrations = migrations,
};

/* ---- comparing schemas ---- */

/* One row of sqlite_master: a table, an index, a view or a trigger. */
struct entry {
    const char *type, *name, *table, *sql; /* NULL is "" */
};

/* Returns a column as text; "" for NULL. Sets *failed without memory. */
static const char *column(sqlite3_stmt *statement, int index, bool *failed)
{
    const bool is_null = sqlite3_column_type(statement, index) == SQLITE_NULL;
    const char *text = is_null ? "" : (const char *)sqlite3_column_text(statement, index);
    *failed = *failed || !text;
    return text ? text : "";
}

/* Reads the next row of sqlite_master. *found is false after the last one. */
static enum fth_status next_entry(const struct fth_store *store, sqlite3_stmt *statement,
                                  struct entry *entry, bool *found, struct fth_error *error)
{
    const int code = sqlite3_step(statement);
    *found = code == SQLITE_ROW;
    if (code == SQLITE_DONE)
        return FTH_OK;
    if (code != SQLITE_ROW)
        return fth_store_fail(store, store->format->operation, error);
    bool failed = false;
    *entry = (struct entry){column(statement, 0, &failed), column(statement, 1, &failed),
                            column(statement, 2, &failed), column(statement, 3, &failed)};
    return failed ? fth_no_memory(error, store->format->operation, store->path) : FTH_OK;
}

/* Compares entries in the order of the query: views, triggers and tables before indexes, because a
 * table that differs often has other indexes, too, and is the better explanation. */
static int compare_entries(const struct entry *a, const struct entry *b)
{
    const int types = strcmp(b->type, a->type);
    return types ? types : strcmp(a->name, b->name);
}

/* Reports the first difference between the declarations of a table or an index. */
static enum fth_status fail_different(const struct fth_store *store, const struct entry *found,
                                      const struct entry *expected, struct fth_error *error)
{
    enum { SHOWN = 60 }; /* bytes of each declaration. Chosen. */
    size_t first = 0;
    while (found->sql[first] && found->sql[first] == expected->sql[first])
        first++;
    while (first > 0 && found->sql[first - 1] != ' ' && found->sql[first - 1] != '(')
        first--;
    return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                    "its %s '%s' is not that of a %s: it has '%.*s' instead of '%.*s'; it was not "
                    "changed, choose another file",
                    found->type, found->name, store->format->noun, SHOWN, found->sql + first, SHOWN,
                    expected->sql + first);
}

/* Compares the rows of two queries of sqlite_master. */
static enum fth_status compare_rows(const struct fth_store *store, sqlite3_stmt *found_rows,
                                    const struct fth_store *model, sqlite3_stmt *expected_rows,
                                    struct fth_error *error)
{
    for (;;) {
        struct entry found, expected;
        bool has_found = false, has_expected = false;
        FTH_TRY(next_entry(store, found_rows, &found, &has_found, error));
        FTH_TRY(next_entry(model, expected_rows, &expected, &has_expected, error));
        if (!has_found && !has_expected)
            return FTH_OK;
        const int order = !has_found ? 1 : !has_expected ? -1 : compare_entries(&found, &expected);
        if (order < 0)
            return fth_fail(
                error, FTH_INVALID, store->format->operation, store->path,
                "it has the %s '%s', which a %s does not have; it was not changed. Remove it with "
                "sqlite3, or choose another file",
                found.type, found.name, store->format->noun);
        if (order > 0)
            return fth_fail(
                error, FTH_INVALID, store->format->operation, store->path,
                "the %s '%s' of a %s is missing; it was not changed, choose another file",
                expected.type, expected.name, store->format->noun);
        if (strcmp(found.table, expected.table) != 0 || strcmp(found.sql, expected.sql) != 0)
            return fail_different(store, &found, &expected, error);
    }
}

/* Executes the migrations from one version to another. */
static enum fth_status execute_migrations(struct fth_store *store, int64_t from, int64_t to,
                                          struct fth_error *error)
{
    for (int64_t version = from; version < to; version++)
        FTH_TRY(fth_store_run(store, store->format->operation, store->format->migrations[version],
                              error));
    return FTH_OK;
}

/* Checks that the database has exactly the tables and indexes of a store of this version. */
static enum fth_status check_schema(struct fth_store *store, int64_t version,
                                    struct fth_error *error)
{
    static const char query[] =
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type DESC, name";
    struct fth_store model = {.format = store->format,
                              .path = store->path,
                              .max_bytes = store->max_bytes,
                              .max_steps = store->max_steps};
    sqlite3_stmt *found_rows = NULL, *expected_rows = NULL;
    enum fth_status status = fth_store_connect(
        &model, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, error);
    if (status != FTH_OK)
        goto out;
    status = execute_migrations(&model, 0, version, error);
    if (status != FTH_OK)
        goto out;
    status = fth_store_prepare(&model, store->format->operation, query, &expected_rows, error);
    if (status != FTH_OK)
        goto out;
    status = fth_store_prepare(store, store->format->operation, query, &found_rows, error);
    if (status != FTH_OK)
        goto out;
    status = compare_rows(store, found_rows, &model, expected_rows, error);
out:
    sqlite3_finalize(found_rows);
    sqlite3_finalize(expected_rows);
    fth_store_disconnect(&model);
    return status;
}

/* ---- checking the file ---- */

/* Finds the version of the store, inside a transaction; 0 for an empty database. Fails for
 * databases of other programs, of newer versions of fathom, and of no version of fathom. */
static enum fth_status find_version(struct fth_store *store, int64_t *version,
                                    struct fth_error *error)
{
    int64_t application = 0, tables = 0;
    FTH_TRY(fth_store_number(store, store->format->operation, "PRAGMA application_id", &application,
                             error));
    FTH_TRY(
        fth_store_number(store, store->format->operation, "PRAGMA user_version", version, error));
    FTH_TRY(fth_store_number(store, store->format->operation, "SELECT count(*) FROM sqlite_master",
                             &tables, error));
    if (application == 0 && *version == 0 && tables == 0)
        return FTH_OK;
    if (application != (int64_t)store->format->application_id)
        return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                        "this is a database of another program; it was not changed, choose another "
                        "file");
    if (*version > store->format->version)
        return fth_fail(
            error, FTH_UNSUPPORTED, store->format->operation, store->path,
            "a newer fathom created it (version %lld, this one supports up to %d); it was "
            "not changed, use the newer fathom",
            (long long)*version, store->format->version);
    if (*version < 1)
        return fth_fail(
            error, FTH_INVALID, store->format->operation, store->path,
            "its version is %lld, but the versions of %ss are 1 to %d; it was not changed, "
            "choose another file",
            (long long)*version, store->format->noun, store->format->version);
    return FTH_OK;
}

/* Executes a check of SQLite. The file is damaged if the check returns a row with another text than
 * `good`. */
static enum fth_status check(struct fth_store *store, const char *sql, const char *good,
                             struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, store->format->operation, sql, &statement, error));
    enum fth_status status = FTH_OK;
    bool failed = false;
    const int code = sqlite3_step(statement);
    const char *text = code == SQLITE_ROW ? column(statement, 0, &failed) : good;
    if (failed)
        status = fth_no_memory(error, store->format->operation, store->path);
    else if (strcmp(text, good) != 0)
        status = fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                          "the file is damaged (%s); nothing was changed. %s, or try "
                          "'sqlite3 FILE .recover'",
                          text, store->format->recover_hint);
    else if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = fth_store_fail(store, store->format->operation, error);
    sqlite3_finalize(statement);
    return status;
}

static enum fth_status examine(struct fth_store *store, int64_t *version, struct fth_error *error)
{
    FTH_TRY(find_version(store, version, error));
    if (*version > 0)
        FTH_TRY(check_schema(store, *version, error));
    /* Pages, rows, and that the indexes agree with the tables. */
    FTH_TRY(check(store, "PRAGMA integrity_check(1)", "ok", error));
    return check(store,
                 "SELECT 'row ' || rowid || ' of ' || \"table\" || ' refers to no row of ' ||"
                 " parent FROM pragma_foreign_key_check",
                 "", error);
}

enum fth_status fth_store_examine(struct fth_store *store, int64_t *version,
                                  struct fth_error *error)
{
    FTH_TRY(fth_store_run(store, store->format->operation, "BEGIN", error));
    return fth_store_end(store, store->format->operation, examine(store, version, error), error);
}

/* ---- migrating ---- */

/* Inside a transaction. Another process may have migrated the file in the meantime. */
static enum fth_status migrate(struct fth_store *store, struct fth_error *error)
{
    int64_t version = 0;
    char sql[64];
    FTH_TRY(find_version(store, &version, error));
    FTH_TRY(execute_migrations(store, version, store->format->version, error));
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", store->format->version);
    FTH_TRY(fth_store_run(store, store->format->operation, sql, error));
    return check_schema(store, store->format->version, error);
}

enum fth_status fth_store_migrate(struct fth_store *store, struct fth_error *error)
{
    FTH_TRY(fth_store_begin(store, store->format->operation, error));
    return fth_store_end(store, store->format->operation, migrate(store, error), error);
}
