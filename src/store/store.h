/* store/: fingerprints of GPUs in an SQLite file, and which of them a GPU is.
 *
 *   database.c     the file: opening, checking, bringing up to date, errors, transactions
 *   store.c        runs in, runs out           fingerprint.c  runs of the GPU at hand
 *   identify.c     which one it is             list.c         which there are, how well they are
 * told exchange.c     JSON out and in
 *
 * A rollback journal, not a write-ahead log: the latter needs shared memory between processes,
 * which the network file systems that home folders of clusters lie on do not have. Writers take the
 * lock at their beginning and wait for each other.
 */
#ifndef FTH_STORE_H
#define FTH_STORE_H

#include "probe/probe.h"

#include <sqlite3.h>

/* ---- runs ---- */

/* One run of one GPU. Texts may be NULL where they are not known, but for the name. */
struct fth_run {
    const char *name; /* under which it is enrolled */
    const char *key;  /* tells it from all other runs, in other stores too; NULL: a new one */
    const char *device, *uuid, *driver;
    int64_t time;     /* seconds since 1970, UTC */
    unsigned version; /* of the features */
    const double *features;
    size_t count;
};
/* Sorted by name, each with its time, as they were added. */
struct fth_runs {
    struct fth_run *items;
    size_t count, capacity;
    struct fth_arena arena; /* of all texts and features */
};
void fth_runs_fini(struct fth_runs *runs);
/* Room for one more, empty; NULL where there is no memory. */
struct fth_run *fth_runs_add(struct fth_runs *runs);

/* Runs of one name are neighbours: the end of those that begin at `first`. */
size_t fth_runs_end(const struct fth_runs *runs, size_t first);

struct fth_fingerprint {
    struct fth_runs runs; /* without names */
};

/* ---- database.c ---- */

struct fth_store {
    sqlite3 *database;
    char *path;
};
enum { FTH_STORE_VERSION = 2 };

/* The error of the last call, with what to do about it. */
enum fth_status fth_store_fail(const struct fth_store *store, const char *operation,
                               struct fth_error *error);
/* Statements without a result. */
FTH_MUST_USE enum fth_status fth_store_run(struct fth_store *store, const char *operation,
                                           const char *sql, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_store_prepare(struct fth_store *store, const char *operation,
                                               const char *sql, sqlite3_stmt **statement,
                                               struct fth_error *error);
/* Steps once and resets: *found tells whether there was a row, whose first number goes to *number
 * (either may be NULL). */
FTH_MUST_USE enum fth_status fth_store_step(struct fth_store *store, const char *operation,
                                            sqlite3_stmt *statement, bool *found, int64_t *number,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_store_begin(struct fth_store *store, const char *operation,
                                             struct fth_error *error);
/* Commits where `status` is fine, else takes everything back; returns what came of it. */
FTH_MUST_USE enum fth_status fth_store_end(struct fth_store *store, const char *operation,
                                           enum fth_status status, struct fth_error *error);

/* ---- store.c ---- */

/* All runs there are. */
FTH_MUST_USE enum fth_status fth_store_read(struct fth_store *store, const char *operation,
                                            struct fth_runs *runs, struct fth_error *error);
/* Inside a transaction: adds a run unless one with its key is there, which *added tells. */
FTH_MUST_USE enum fth_status fth_store_add(struct fth_store *store, const char *operation,
                                           const struct fth_run *run, bool *added,
                                           struct fth_error *error);
/* A row of features as JSON text, and back (into the arena of `runs`). */
void fth_features_write(const double *features, size_t count, struct fth_buffer *text);
FTH_MUST_USE enum fth_status fth_features_read(const json_t *list, const char *operation,
                                               const char *argument, struct fth_runs *runs,
                                               struct fth_run *run, struct fth_error *error);
/* Any text; ISO 8601. */
void fth_time_write(int64_t time, char text[24]);

/* ---- identify.c ---- */

/* For each run, the first run of the GPU that it would be identified as if it were not enrolled
 * itself; the number of runs where it would be refused. `found` has room for all. */
FTH_MUST_USE enum fth_status fth_leave_one_out(const struct fth_runs *runs, size_t *found,
                                               struct fth_error *error);

/* ---- exchange.c ---- */

/* The runs of a document; `name` stands for the file. */
FTH_MUST_USE enum fth_status fth_exchange_read(const char *name, const char *text, size_t size,
                                               struct fth_runs *runs, struct fth_error *error);

#endif
