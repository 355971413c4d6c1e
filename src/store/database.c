/* The connection to SQLite: safe modes and limits, errors, statements and transactions. */
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* Limits of SQLite's parser and data, far above what fathom's own statements and rows need: the
 * longest row of a store has about 100 KB. Chosen, not derived. Foreign keys are deleted by an
 * internal trigger, which needs a depth of 1. */
static const struct {
    int limit, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 1 << 20},     /* bytes of a text, a blob or a row */
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 16}, /* bytes of a statement, also in the schema */
    {SQLITE_LIMIT_COLUMN, 64},          /* of a table, an index or a result */
    {SQLITE_LIMIT_EXPR_DEPTH, 100},     /* levels of an expression */
    {SQLITE_LIMIT_COMPOUND_SELECT, 8},  /* terms of a compound SELECT */
    {SQLITE_LIMIT_FUNCTION_ARG, 16},    /* arguments of a function */
    {SQLITE_LIMIT_ATTACHED, 0},         /* attached databases */
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 16}, /* parameters of a statement */
    {SQLITE_LIMIT_TRIGGER_DEPTH, 4},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

/* Steps between two calls of count_steps. Chosen: the calls take less than 1 % of the time. */
enum { STEPS_PER_CALL = 1000 };

/* ---- connecting ---- */

/* SQLite calls this function during a statement, and stops the statement if the result is not 0. */
static int count_steps(void *user)
{
    struct fth_store *store = user;
    store->steps += STEPS_PER_CALL;
    return store->steps > store->max_steps;
}

/* Restricts what a hostile file can make SQLite do (https://sqlite.org/security.html). */
static enum fth_status harden(struct fth_store *store, struct fth_error *error)
{
    sqlite3 *database = store->database;
    sqlite3_extended_result_codes(database, 1);
    sqlite3_busy_timeout(database, (int)store->wait_ms);
    sqlite3_progress_handler(database, STEPS_PER_CALL, count_steps, store);
    for (size_t i = 0; i < FTH_COUNT(limits); i++)
        sqlite3_limit(database, limits[i].limit, limits[i].value);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW /* since SQLite 3.30 */
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
#endif
    return fth_store_run(store, store->format->operation,
                         "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                         "PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON",
                         error);
}

/* Refuses a database whose header says that it has a write-ahead log: SQLite would create one. The
 * header is read through SQLite, because closing another descriptor of the file would release the
 * locks that this process has on it. */
static enum fth_status check_header(struct fth_store *store, struct fth_error *error)
{
    static const char magic[16] = "SQLite format 3";
    enum { WRITE_VERSION = 18, READ_VERSION = 19, WRITE_AHEAD_LOG = 2 };
    unsigned char header[20];
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(store->database, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
        SQLITE_OK)
        return fth_store_fail(store, store->format->operation, error);
    if (!file || !file->pMethods)
        return FTH_OK; /* it is in memory */
    if (file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK ||
        memcmp(header, magic, sizeof magic) != 0)
        return FTH_OK; /* SQLite reports files that it cannot read, and those that are too short */
    if (header[WRITE_VERSION] != WRITE_AHEAD_LOG && header[READ_VERSION] != WRITE_AHEAD_LOG)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                    "it uses a write-ahead log, which fathom does not; it was not changed. To "
                    "convert it, run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'");
}

enum fth_status fth_store_connect(struct fth_store *store, const char *file, int flags,
                                  struct fth_error *error)
{
    if (sqlite3_open_v2(file, &store->database, flags, NULL) != SQLITE_OK)
        return fth_store_fail(store, store->format->operation, error);
    FTH_TRY(check_header(store, error));
    return harden(store, error);
}

void fth_store_disconnect(struct fth_store *store)
{
    sqlite3_close(store->database);
    store->database = NULL;
}

/* ---- errors ---- */

int fth_store_code(const struct fth_store *store)
{
    return store->database ? sqlite3_extended_errcode(store->database) : SQLITE_NOMEM;
}

/* Fails because a limit of fathom was exceeded. */
static enum fth_status fail_limit(const struct fth_store *store, int code, const char *what,
                                  struct fth_error *error)
{
    char size[32];
    fth_size_format((double)store->max_bytes, size, sizeof size);
    if (code == SQLITE_INTERRUPT)
        return fth_fail(error, FTH_INVALID, what, store->path,
                        "a query takes more than %llu steps, which no store of %s does; nothing "
                        "was changed. A larger --max-bytes allows more",
                        (unsigned long long)store->max_steps, size);
    if (code == SQLITE_TOOBIG)
        return fth_fail(error, FTH_INVALID, what, store->path,
                        "a text or a row is longer than the limit of %d bytes, which no run is; "
                        "nothing was changed",
                        sqlite3_limit(store->database, SQLITE_LIMIT_LENGTH, -1));
    return fth_fail(error, FTH_IO, what, store->path,
                    "the disk is full, or the store would be larger than %s (--max-bytes); nothing "
                    "was changed",
                    size);
}

enum fth_status fth_store_fail(const struct fth_store *store, const char *what,
                               struct fth_error *error)
{
    sqlite3 *database = store->database;
    const char *path = store->path;
    const int code = fth_store_code(store);
    const int system = database ? sqlite3_system_errno(database) : 0;
    switch (code & 0xff) {
    case SQLITE_NOMEM: return fth_no_memory(error, what, path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fth_fail(error, FTH_UNAVAILABLE, what, path,
                        "another process keeps it locked; nothing was changed, try again later");
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT: return fail_limit(store, code & 0xff, what, error);
    case SQLITE_NOTADB:
        return fth_fail(error, FTH_INVALID, what, path,
                        "not a %s; the file was not changed, choose another one",
                        store->format->noun);
    case SQLITE_CORRUPT:
        return fth_fail(
            error, FTH_INVALID, what, path,
            "the file is damaged (%s); nothing was changed. %s, or try 'sqlite3 FILE .recover'",
            sqlite3_errmsg(database), store->format->recover_hint);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        if (code == SQLITE_READONLY_ROLLBACK)
            return fth_fail(error, FTH_IO, what, path,
                            "an interrupted change must be undone first, but the file is not "
                            "writable; nothing was changed");
        if (code == SQLITE_READONLY_DIRECTORY)
            return fth_fail(error, FTH_IO, what, path,
                            "its folder is not writable, which a change requires; nothing was "
                            "changed");
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

enum fth_status fth_store_run(struct fth_store *store, const char *what, const char *sql,
                              struct fth_error *error)
{
    store->steps = 0;
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? FTH_OK
               : fth_store_fail(store, what, error);
}

enum fth_status fth_store_prepare(struct fth_store *store, const char *what, const char *sql,
                                  sqlite3_stmt **statement, struct fth_error *error)
{
    store->steps = 0;
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
    if (store->read_only)
        return fth_fail(error, FTH_INVALID, what, store->path, "it was opened for reading only");
    return fth_store_run(store, what, "BEGIN IMMEDIATE", error);
}

enum fth_status fth_store_end(struct fth_store *store, const char *what, enum fth_status status,
                              struct fth_error *error)
{
    if (status == FTH_OK)
        status = fth_store_run(store, what, "COMMIT", error);
    /* After some errors SQLite has rolled back already. */
    store->steps = 0;
    if (status != FTH_OK && !sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

enum fth_status fth_store_number(struct fth_store *store, const char *what, const char *sql,
                                 int64_t *number, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, what, sql, &statement, error));
    enum fth_status status = fth_store_step(store, what, statement, NULL, number, error);
    sqlite3_finalize(statement);
    return status;
}
