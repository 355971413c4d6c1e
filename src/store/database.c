/* The file of a store: opening it, checking that it is one, and bringing it up to date.
 *
 * A new file is made by the same steps that bring an old one up to date, so that each of them is
 * taken every time. */
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char operation[] = "open fingerprint store";

/* How long a process waits for others that are writing; they take milliseconds. */
enum { PATIENCE_MS = 10000 };

/* "fthm", in the file's header where SQLite has a place for it: other programs' databases have
 * something else there. */
#define APPLICATION_ID 0x6674686d

/* From the version of its index to the next. Never changed once released: files were made by them.
 */
static const char *const steps[FTH_STORE_VERSION] = {
    "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, device TEXT, uuid TEXT);"
    "CREATE TABLE run (id INTEGER PRIMARY KEY,"
    " gpu INTEGER NOT NULL REFERENCES gpu(id) ON DELETE CASCADE, driver TEXT,"
    " time INTEGER NOT NULL, version INTEGER NOT NULL, features TEXT NOT NULL);"
    "CREATE INDEX run_gpu ON run(gpu);"
    "PRAGMA application_id = 1718904941;",
    /* A key by which a run that is imported twice is known. */
    "ALTER TABLE run ADD COLUMN key TEXT NOT NULL DEFAULT '';"
    "UPDATE run SET key = lower(hex(randomblob(16)));"
    "CREATE UNIQUE INDEX run_key ON run(key);",
};
_Static_assert(APPLICATION_ID == 1718904941, "as the first step writes it");

/* ---- errors ---- */

enum fth_status fth_store_fail(const struct fth_store *store, const char *what,
                               struct fth_error *error)
{
    sqlite3 *database = store->database;
    const char *path = store->path;
    const int code = database ? sqlite3_extended_errcode(database) : SQLITE_NOMEM;
    const int system = database ? sqlite3_system_errno(database) : 0;
    switch (code & 0xff) {
    case SQLITE_NOMEM: return fth_fail(error, FTH_NO_MEMORY, what, path, "out of memory");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fth_fail(error, FTH_UNAVAILABLE, what, path,
                        "another process keeps it locked; nothing was changed, try again later");
    case SQLITE_FULL:
        return fth_fail(error, FTH_IO, what, path, "the disk is full; nothing was changed");
    case SQLITE_NOTADB:
        return fth_fail(error, FTH_INVALID, what, path,
                        "this is no fingerprint store; it was left as it is, choose another file");
    case SQLITE_CORRUPT:
        return fth_fail(
            error, FTH_INVALID, what, path,
            "it is damaged (%s); nothing was changed. Put it aside and import an export "
            "into a new one, or see what 'sqlite3 FILE .recover' still finds",
            sqlite3_errmsg(database));
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fth_fail(error, FTH_IO, what, path, "it cannot be written; nothing was changed");
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC)
            return fth_fail(error, FTH_IO, what, path,
                            "it could not be written%s%s%s: is the disk or a quota full? Nothing "
                            "was changed",
                            system ? " (" : "", system ? strerror(system) : "", system ? ")" : "");
        /* fall through */
    default:
        return fth_fail(error, FTH_IO, what, path, "%s%s%s; nothing was changed",
                        sqlite3_errmsg(database), system ? ": " : "",
                        system ? strerror(system) : "");
    }
}

/* ---- statements ---- */

enum fth_status fth_store_run(struct fth_store *store, const char *what, const char *sql,
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
    return fth_store_run(store, what, "BEGIN IMMEDIATE", error);
}

enum fth_status fth_store_end(struct fth_store *store, const char *what, enum fth_status status,
                              struct fth_error *error)
{
    if (status == FTH_OK)
        status = fth_store_run(store, what, "COMMIT", error);
    /* Some faults have taken everything back already. */
    if (status != FTH_OK && !sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* The number that a query gives. */
static enum fth_status ask(struct fth_store *store, const char *sql, int64_t *number,
                           struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum fth_status status = fth_store_prepare(store, operation, sql, &statement, error);
    if (status == FTH_OK)
        status = fth_store_step(store, operation, statement, NULL, number, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- what the file is ---- */

/* Inside a transaction: the version of the store, 0 for an empty file; refuses what is none. */
static enum fth_status find_version(struct fth_store *store, int64_t *version,
                                    struct fth_error *error)
{
    int64_t application = 0, tables = 0;
    enum fth_status status = ask(store, "PRAGMA application_id", &application, error);
    if (status == FTH_OK)
        status = ask(store, "PRAGMA user_version", version, error);
    if (status == FTH_OK)
        status = ask(store, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (status != FTH_OK)
        return status;
    const bool is_new = application == 0 && *version == 0 && tables == 0;
    if (application != APPLICATION_ID && !is_new)
        return fth_fail(error, FTH_INVALID, operation, store->path,
                        "this is the database of another program; it was left as it is, choose "
                        "another file");
    if (*version > FTH_STORE_VERSION)
        return fth_fail(error, FTH_UNSUPPORTED, operation, store->path,
                        "a newer fathom made it (version %lld, and this one knows %d); it was left "
                        "as it is, use the newer one",
                        (long long)*version, FTH_STORE_VERSION);
    return FTH_OK;
}

static enum fth_status bring_up_to_date(struct fth_store *store, struct fth_error *error)
{
    enum fth_status status = fth_store_begin(store, operation, error);
    if (status != FTH_OK)
        return status;
    /* Another process may have done it meanwhile. */
    int64_t version = 0;
    status = find_version(store, &version, error);
    for (; status == FTH_OK && version < FTH_STORE_VERSION; version++) {
        char sql[64];
        status = fth_store_run(store, operation, steps[version], error);
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", (int)version + 1);
        if (status == FTH_OK)
            status = fth_store_run(store, operation, sql, error);
    }
    return fth_store_end(store, operation, status, error);
}

/* SQLite's own check, of pages and rows. */
static enum fth_status check(struct fth_store *store, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum fth_status status =
        fth_store_prepare(store, operation, "PRAGMA quick_check(1)", &statement, error);
    if (status == FTH_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        if (found && strcmp(found, "ok") != 0)
            status = fth_fail(error, FTH_INVALID, operation, store->path,
                              "it is damaged (%s); nothing was changed. Put it aside and import an "
                              "export into a new one, or see what 'sqlite3 FILE .recover' still "
                              "finds",
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
    sqlite3_busy_timeout(store->database, PATIENCE_MS);
    enum fth_status status = fth_store_run(
        store, operation, "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; BEGIN", error);
    if (status == FTH_OK)
        status = fth_store_end(store, operation, find_version(store, &version, error), error);
    if (status == FTH_OK && version < FTH_STORE_VERSION)
        status = bring_up_to_date(store, error);
    return status == FTH_OK ? check(store, error) : status;
}

/* ---- where it is ---- */

enum fth_status fth_store_default_path(char *path, size_t size, struct fth_error *error)
{
    static const char file[] = "fathom/fingerprints.db";
    /* A path that is not absolute is to be ignored (XDG Base Directory Specification 0.8). */
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = -1;
    if (data && data[0] == '/')
        length = snprintf(path, size, "%s/%s", data, file);
    else if (home && home[0] == '/')
        length = snprintf(path, size, "%s/.local/share/%s", home, file);
    if (length < 0)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "neither XDG_DATA_HOME nor HOME says where; name a file");
    if ((size_t)length >= size)
        return fth_fail(error, FTH_INVALID, operation, path, "the path is too long");
    return FTH_OK;
}

/* The folders that a file lies in, from the first on that is missing. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return; /* opening the file will tell */
    }
}

enum fth_status fth_store_open(const char *path, bool create, struct fth_store **out,
                               struct fth_error *error)
{
    char place[PATH_MAX] = "";
    enum fth_status status = FTH_OK;
    *out = NULL;
    if (!path)
        status = fth_store_default_path(place, sizeof place, error);
    else if (!*path || strlen(path) > sizeof place - 3)
        status = fth_fail(error, FTH_INVALID, operation, path, "this is no path");
    else /* SQLite takes some names for something else than a file. */
        snprintf(place, sizeof place, "%s%s", path[0] == '/' ? "" : "./", path);
    if (status != FTH_OK)
        return status;
    if (!create && access(place, F_OK) != 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, path ? path : place, "%s",
                        errno == ENOENT ? "there is none yet; enrolling a GPU makes one"
                                        : strerror(errno));
    if (create && !path)
        make_folders(place);
    struct fth_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path ? path : place))) {
        free(store);
        return fth_fail(error, FTH_NO_MEMORY, operation, path, "out of memory");
    }
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(place, &store->database, flags, NULL) != SQLITE_OK)
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
