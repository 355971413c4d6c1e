/* The SQLite file of a store: opens it, checks that it is a store, and migrates it from older
 * versions.
 *
 * A new file is created by executing all migrations one after the other, so every migration is
 * tested whenever a store is created. */
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char operation[] = "open fingerprint store";

/* How long a process waits for another one that is writing, in milliseconds. A write takes some
 * milliseconds, so this is generous. */
enum { BUSY_TIMEOUT_MS = 10000 };

/* "fthm" in ASCII. SQLite stores it in the header of the file, where it distinguishes a store from
 * the databases of other programs. */
#define APPLICATION_ID 0x6674686d

/* migrations[i] converts version i to version i + 1. A released migration must never be changed,
 * because existing files were made by it. */
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

/* ---- errors ---- */

enum fth_status fth_store_fail(const struct fth_store *store, const char *what,
                               struct fth_error *error)
{
    sqlite3 *database = store->database;
    const char *path = store->path;
    const int code = database ? sqlite3_extended_errcode(database) : SQLITE_NOMEM;
    const int system = database ? sqlite3_system_errno(database) : 0;
    switch (code & 0xff) {
    case SQLITE_NOMEM: return fth_no_memory(error, what, path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fth_fail(error, FTH_UNAVAILABLE, what, path,
                        "another process keeps it locked; nothing was changed, try again later");
    case SQLITE_FULL:
        return fth_fail(error, FTH_IO, what, path, "the disk is full; nothing was changed");
    case SQLITE_NOTADB:
        return fth_fail(error, FTH_INVALID, what, path,
                        "not a fingerprint store; the file was not changed, choose another one");
    case SQLITE_CORRUPT:
        return fth_fail(
            error, FTH_INVALID, what, path,
            "the file is damaged (%s); nothing was changed. Import an export into a new file, or "
            "try 'sqlite3 FILE .recover'",
            sqlite3_errmsg(database));
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fth_fail(error, FTH_IO, what, path, "the file is not writable; nothing was changed");
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC)
            return fth_fail(
                error, FTH_IO, what, path,
                "writing failed%s%s%s; is the disk or a quota full? Nothing was changed",
                system ? " (" : "", system ? strerror(system) : "", system ? ")" : "");
        /* fall through */
    default:
        return fth_fail(error, FTH_IO, what, path, "%s%s%s; nothing was changed",
                        sqlite3_errmsg(database), system ? ": " : "",
                        system ? strerror(system) : "");
    }
}

/* ---- statements ---- */

/* Executes statements that return no rows. */
static enum fth_status run_sql(struct fth_store *store, const char *what, const char *sql,
                               struct fth_error *error)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? FTH_OK
               : fth_store_fail(store, what, error);
}

enum fth_status fth_store_prepare(struct fth_store *store, const char *what, const char *sql,
                                  sqlite3_stmt **statement, struct fth_error *error)
{
    return sqlite3_prepare_v2(store->database, sql, -1, statement, NULL) == SQLITE_OK
               ? FTH_OK
               : fth_store_fail(store, what, error);
}

enum fth_status fth_store_step(struct fth_store *store, const char *what, sqlite3_stmt *statement,
                               bool *found, int64_t *number, struct fth_error *error)
{
    const int code = sqlite3_step(statement);
    enum fth_status status = FTH_OK;
    if (found)
        *found = code == SQLITE_ROW;
    if (number && code == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = fth_store_fail(store, what, error);
    sqlite3_reset(statement);
    return status;
}

enum fth_status fth_store_begin(struct fth_store *store, const char *what, struct fth_error *error)
{
    return run_sql(store, what, "BEGIN IMMEDIATE", error);
}

enum fth_status fth_store_end(struct fth_store *store, const char *what, enum fth_status status,
                              struct fth_error *error)
{
    if (status == FTH_OK)
        status = run_sql(store, what, "COMMIT", error);
    /* After some errors SQLite has rolled back already. */
    if (status != FTH_OK && !sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Executes a query that returns one number. */
static enum fth_status query_number(struct fth_store *store, const char *sql, int64_t *number,
                                    struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, operation, sql, &statement, error));
    enum fth_status status = fth_store_step(store, operation, statement, NULL, number, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- checking and migrating the file ---- */

/* Finds the version of the store, inside a transaction; 0 for an empty file. Fails for databases of
 * other programs and of newer versions of fathom. */
static enum fth_status find_version(struct fth_store *store, int64_t *version,
                                    struct fth_error *error)
{
    int64_t application = 0, tables = 0;
    FTH_TRY(query_number(store, "PRAGMA application_id", &application, error));
    FTH_TRY(query_number(store, "PRAGMA user_version", version, error));
    FTH_TRY(query_number(store, "SELECT count(*) FROM sqlite_master", &tables, error));
    const bool is_new = application == 0 && *version == 0 && tables == 0;
    if (application != APPLICATION_ID && !is_new)
        return fth_fail(error, FTH_INVALID, operation, store->path,
                        "this is a database of another program; it was not changed, choose another "
                        "file");
    if (*version > FTH_STORE_VERSION)
        return fth_fail(
            error, FTH_UNSUPPORTED, operation, store->path,
            "a newer fathom created it (version %lld, this one supports up to %d); it was "
            "not changed, use the newer fathom",
            (long long)*version, FTH_STORE_VERSION);
    return FTH_OK;
}

static enum fth_status migrate(struct fth_store *store, struct fth_error *error)
{
    FTH_TRY(fth_store_begin(store, operation, error));
    /* Another process may have migrated the file in the meantime. */
    int64_t version = 0;
    enum fth_status status = find_version(store, &version, error);
    for (; status == FTH_OK && version < FTH_STORE_VERSION; version++) {
        char sql[64];
        status = run_sql(store, operation, migrations[version], error);
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", (int)version + 1);
        if (status == FTH_OK)
            status = run_sql(store, operation, sql, error);
    }
    return fth_store_end(store, operation, status, error);
}

/* Runs SQLite's consistency check of pages and rows. */
static enum fth_status check(struct fth_store *store, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum fth_status status =
        fth_store_prepare(store, operation, "PRAGMA quick_check(1)", &statement, error);
    if (status == FTH_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        if (found && strcmp(found, "ok") != 0)
            status =
                fth_fail(error, FTH_INVALID, operation, store->path,
                         "the file is damaged (%s); nothing was changed. Import an export into a "
                         "new file, or try 'sqlite3 FILE .recover'",
                         found);
    } else if (status == FTH_OK) {
        status = fth_store_fail(store, operation, error);
    }
    sqlite3_finalize(statement);
    return status;
}

static enum fth_status prepare(struct fth_store *store, struct fth_error *error)
{
    int64_t version = 0;
    sqlite3_extended_result_codes(store->database, 1);
    sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS);
    enum fth_status status = run_sql(
        store, operation, "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; BEGIN", error);
    if (status == FTH_OK)
        status = fth_store_end(store, operation, find_version(store, &version, error), error);
    if (status == FTH_OK && version < FTH_STORE_VERSION)
        status = migrate(store, error);
    return status == FTH_OK ? check(store, error) : status;
}

/* ---- path ---- */

enum fth_status fth_store_default_path(char *path, size_t size, struct fth_error *error)
{
    static const char file[] = "fathom/fingerprints.db";
    /* Relative paths in XDG_DATA_HOME must be ignored (XDG Base Directory Specification 0.8). */
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = -1;
    if (data && data[0] == '/')
        length = snprintf(path, size, "%s/%s", data, file);
    else if (home && home[0] == '/')
        length = snprintf(path, size, "%s/.local/share/%s", home, file);
    if (length < 0)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "neither XDG_DATA_HOME nor HOME is an absolute path; pass a file name");
    if ((size_t)length >= size)
        return fth_fail(error, FTH_INVALID, operation, path, "the path is too long");
    return FTH_OK;
}

/* Creates the folders that contain a file. Failures are ignored: opening the file then fails. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return;
    }
}

enum fth_status fth_store_open(const char *path, bool create, struct fth_store **out,
                               struct fth_error *error)
{
    char file_path[PATH_MAX] = "";
    enum fth_status status = FTH_OK;
    *out = NULL;
    if (!path)
        status = fth_store_default_path(file_path, sizeof file_path, error);
    else if (!*path || strlen(path) > sizeof file_path - 3)
        status = fth_fail(error, FTH_INVALID, operation, path, "the path is empty or too long");
    else /* "./" because SQLite interprets some names specially, such as ":memory:" */
        snprintf(file_path, sizeof file_path, "%s%s", path[0] == '/' ? "" : "./", path);
    if (status != FTH_OK)
        return status;
    if (!create && access(file_path, F_OK) != 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, path ? path : file_path, "%s",
                        errno == ENOENT ? "the store does not exist yet; enroll a GPU to create it"
                                        : strerror(errno));
    if (create && !path)
        make_folders(file_path);
    struct fth_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path ? path : file_path))) {
        free(store);
        return fth_no_memory(error, operation, path);
    }
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(file_path, &store->database, flags, NULL) != SQLITE_OK)
        status = fth_store_fail(store, operation, error);
    else
        status = prepare(store, error);
    if (status == FTH_OK)
        *out = store;
    else
        fth_store_close(store);
    return status;
}

const char *fth_store_path(const struct fth_store *store)
{
    return store->path;
}

void fth_store_close(struct fth_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->database);
    free(store->path);
    free(store);
}
