/* store/: fingerprints of GPUs in an SQLite file, and the identification of a GPU by its
 * fingerprint (docs/fingerprints.md).
 *
 *   database.c      the file: opening, checking, migration, errors, transactions
 *   store.c         adding, reading and removing runs
 *   measure_runs.c  measuring runs of a GPU
 *   identify.c      which enrolled GPU a fingerprint belongs to
 *   enrolled.c      the list of enrolled GPUs, and how reliably they are identified
 *   exchange.c      export to JSON, and import
 *
 * The database uses a rollback journal, not a write-ahead log. The latter needs memory that is
 * shared between processes, which network file systems do not provide, and home folders of clusters
 * are often on these. Writers take the lock when their transaction begins, and wait for each other.
 */
#ifndef FTH_STORE_H
#define FTH_STORE_H

#include "base/json.h"
#include "probe/probe.h"

#include <sqlite3.h>

/* ---- runs ---- */

/* One run: one vector of features, measured on one GPU. Texts other than the name may be NULL:
 * unknown.
 */
struct fth_run {
    const char *name; /* of the enrolled GPU */
    const char *key;  /* unique among the runs of all stores; NULL: a new one is made */
    const char *device, *uuid, *driver;
    int64_t time;     /* seconds since 1970, UTC */
    unsigned version; /* of the features */
    const double *features;
    size_t count;
};
/* A list of runs. Those that come from a store are sorted by name, and by insertion within a name.
 */
struct fth_runs {
    struct fth_run *items;
    size_t count, capacity;
    struct fth_arena arena; /* owns all texts and features */
};
void fth_runs_fini(struct fth_runs *runs);
/* Appends an empty run. NULL without memory. The pointer is valid until the next call. */
struct fth_run *fth_runs_add(struct fth_runs *runs);

/* Runs of one name are neighbours. Returns the index after the last run with the name of run
 * `first`. */
size_t fth_runs_end(const struct fth_runs *runs, size_t first);

struct fth_fingerprint {
    struct fth_runs runs; /* their names are NULL */
};

/* ---- database.c ---- */

struct fth_store {
    sqlite3 *database;
    char *path;
};
/* Version of the database schema. */
enum { FTH_STORE_VERSION = 2 };

/* Converts the error of the last SQLite call, and adds what the user can do about it. */
enum fth_status fth_store_fail(const struct fth_store *store, const char *operation,
                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_store_prepare(struct fth_store *store, const char *operation,
                                               const char *sql, sqlite3_stmt **statement,
                                               struct fth_error *error);
/* Executes one step of a statement and resets it. *found gets whether there is a row, and *number
 * the first column of that row, which is a number. Either may be NULL. */
FTH_MUST_USE enum fth_status fth_store_step(struct fth_store *store, const char *operation,
                                            sqlite3_stmt *statement, bool *found, int64_t *number,
                                            struct fth_error *error);
/* Begins a transaction that writes. */
FTH_MUST_USE enum fth_status fth_store_begin(struct fth_store *store, const char *operation,
                                             struct fth_error *error);
/* Ends a transaction: commits if `status` is FTH_OK, otherwise rolls back. Returns `status`, or the
 * failure of the commit. */
FTH_MUST_USE enum fth_status fth_store_end(struct fth_store *store, const char *operation,
                                           enum fth_status status, struct fth_error *error);

/* ---- store.c ---- */

/* Appends all runs of the store to `runs`. */
FTH_MUST_USE enum fth_status fth_store_read(struct fth_store *store, const char *operation,
                                            struct fth_runs *runs, struct fth_error *error);
/* Adds a run, inside a transaction. *added is false if the store has a run with the same key
 * already. */
FTH_MUST_USE enum fth_status fth_store_add(struct fth_store *store, const char *operation,
                                           const struct fth_run *run, bool *added,
                                           struct fth_error *error);
/* Converts features to a JSON list (NAN is null), and back. The features that are read are stored
 * in the arena of `runs`. */
void fth_features_write(const double *features, size_t count, struct fth_buffer *text);
FTH_MUST_USE enum fth_status fth_features_read(const struct fth_json *list, const char *operation,
                                               const char *argument, struct fth_runs *runs,
                                               struct fth_run *run, struct fth_error *error);
/* The latest time of a run in seconds since 1970: the end of the year 9999, beyond which dates have
 * five digits. */
#define FTH_MAX_TIME INT64_C(253402300799)
/* Fails with FTH_INVALID if a time is before 1970 or after the year 9999. `name` is the GPU. */
FTH_MUST_USE enum fth_status fth_time_check(int64_t time, const char *operation, const char *name,
                                            struct fth_error *error);
/* Writes seconds since 1970 as ISO 8601 in UTC, or "?" if the date cannot be represented. */
void fth_time_write(int64_t time, char text[24]);

/* ---- identify.c ---- */

/* Leave-one-out test: identifies each run as if it were not enrolled. found[i] gets the index of
 * the first run of the GPU that run i is identified as, or runs->count if it is not identified.
 * `found` has runs->count elements. */
FTH_MUST_USE enum fth_status fth_leave_one_out(const struct fth_runs *runs, size_t *found,
                                               struct fth_error *error);

/* ---- exchange.c ---- */

/* Reads the runs of a JSON document. `name` is used in errors. */
FTH_MUST_USE enum fth_status fth_exchange_read(const char *name, const char *text, size_t size,
                                               struct fth_runs *runs, struct fth_error *error);

#endif
