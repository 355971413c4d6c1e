/* store/: fingerprints of GPUs in an SQLite file, and the identification of a GPU by its
 * fingerprint (docs/fingerprints.md).
 *
 *   store_file.c    opening: paths, kinds of files, files beside the store
 *   database.c      the connection to SQLite: limits, errors, statements, transactions
 *   store_schema.c  versions: migration, comparison with the expected schema, consistency
 *   run_rules.c     what a run must look like, and the list of runs
 *   store.c         adding, reading and removing runs
 *   measure_runs.c  measuring runs of a GPU
 *   identify.c      which enrolled GPU a fingerprint belongs to
 *   enrolled.c      the list of enrolled GPUs, and how reliably they are identified
 *   exchange.c      export to JSON, and import
 *   times.c         times as text
 *
 * The database uses a rollback journal, not a write-ahead log. The latter needs memory that is
 * shared between processes, which network file systems do not provide, and home folders of clusters
 * are often on these. Writers take the lock when their transaction begins, and wait for each other.
 *
 * A store can come from somebody else, and is treated as hostile. Nothing in it is used before the
 * schema is known to be fathom's (no views, no triggers) and SQLite has found it consistent. Every
 * row is checked when it is read, and every query is limited in its steps.
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

/* Limits of the members of a run, on import, enrolment, and when a store is read. Chosen, not
 * derived: they reject damaged data. An H200 has 145 features. */
enum {
    FTH_MAX_NAME_BYTES = 64,
    FTH_MAX_TEXT_BYTES = 256, /* device, UUID, driver */
    FTH_MAX_FEATURES = 4096,
    FTH_MAX_RUN_VERSION = 1000000
};
/* The latest time of a run in seconds since 1970: the end of the year 9999, beyond which dates have
 * five digits. */
#define FTH_MAX_TIME INT64_C(253402300799)

/* The members of a run that have a rule, in the order of the columns that fth_store_read selects.
 */
enum fth_run_member {
    FTH_RUN_NAME,
    FTH_RUN_KEY,
    FTH_RUN_DEVICE,
    FTH_RUN_UUID,
    FTH_RUN_DRIVER,
    FTH_RUN_TIME,
    FTH_RUN_VERSION,
    FTH_RUN_MEMBERS /* their number */
};
/* Returns the name of a member, as in documents and in the store. */
const char *fth_run_member_name(enum fth_run_member member);
/* Fails with FTH_INVALID: the member does not satisfy its rule. `where` precedes the name of the
 * member in the cause, such as "runs[3].". */
enum fth_status fth_run_refuse(enum fth_run_member member, const char *where, const char *operation,
                               const char *argument, struct fth_error *error);
/* Checks a member of a run. A key of NULL is valid. The other arguments are those of
 * fth_run_refuse. */
FTH_MUST_USE enum fth_status fth_run_check(const struct fth_run *run, enum fth_run_member member,
                                           const char *where, const char *operation,
                                           const char *argument, struct fth_error *error);
/* Returns a number as the version of a run. If it does not fit, the result is no valid version. */
unsigned fth_run_version(int64_t number);

/* Runs of one name are neighbours. Returns the index after the last run with the name of run
 * `first`. */
size_t fth_runs_end(const struct fth_runs *runs, size_t first);

struct fth_fingerprint {
    struct fth_runs runs; /* their names are NULL */
};

/* ---- database.c ---- */

/* A kind of database file. The functions of database.c, store_schema.c and store_file.c work with
 * any kind; src/fleet/ has another one. */
struct fth_store_format {
    const char *noun;         /* "fingerprint store" */
    const char *operation;    /* of errors: "open fingerprint store" */
    const char *default_file; /* below the user's folder for data */
    const char *create_hint;  /* what creates a file: "enroll a GPU" */
    const char *recover_hint; /* what helps if it is damaged: "Import an export into a new file" */
    uint64_t max_bytes;       /* of the file, unless the caller sets another limit */
    uint32_t application_id;  /* in the header of the file, which tells the kinds apart */
    int version;              /* of the schema */
    /* migrations[i] converts version i to version i + 1. A released migration must never be
     * changed, because existing files were made by it. The first one sets the application id. */
    const char *const *migrations;
};
/* Fingerprints. */
extern const struct fth_store_format fth_fingerprint_format;

struct fth_store {
    const struct fth_store_format *format;
    sqlite3 *database; /* NULL: not connected */
    char *path;        /* of the file, as the user gave it */
    uint64_t max_bytes;
    uint64_t max_steps; /* of SQLite's virtual machine, per statement */
    uint64_t steps;     /* of the current statement, rounded down */
    unsigned wait_ms;   /* how long to wait for another process that writes */
    bool read_only;
};
/* Version of the database schema. */
enum { FTH_STORE_VERSION = 2 };

/* Opens the database file with flags of sqlite3_open_v2, and sets the limits and the safe modes of
 * SQLite. Reads no more than the header. On failure, the store may be connected or not. */
FTH_MUST_USE enum fth_status fth_store_connect(struct fth_store *store, const char *file, int flags,
                                               struct fth_error *error);
/* Closes the database; does nothing if the store is not connected. */
void fth_store_disconnect(struct fth_store *store);
/* Returns the extended result code of the last SQLite call. */
int fth_store_code(const struct fth_store *store);
/* Converts the error of the last SQLite call, and adds what the user can do about it. */
enum fth_status fth_store_fail(const struct fth_store *store, const char *operation,
                               struct fth_error *error);
/* Executes statements that return no rows. */
FTH_MUST_USE enum fth_status fth_store_run(struct fth_store *store, const char *operation,
                                           const char *sql, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_store_prepare(struct fth_store *store, const char *operation,
                                               const char *sql, sqlite3_stmt **statement,
                                               struct fth_error *error);
/* Executes one step of a statement and resets it. *found gets whether there is a row, and *number
 * the first column of that row, which is a number. Either may be NULL. */
FTH_MUST_USE enum fth_status fth_store_step(struct fth_store *store, const char *operation,
                                            sqlite3_stmt *statement, bool *found, int64_t *number,
                                            struct fth_error *error);
/* Executes a query that returns one number. */
FTH_MUST_USE enum fth_status fth_store_number(struct fth_store *store, const char *operation,
                                              const char *sql, int64_t *number,
                                              struct fth_error *error);
/* Begins a transaction that writes. FTH_INVALID: the store was opened for reading. */
FTH_MUST_USE enum fth_status fth_store_begin(struct fth_store *store, const char *operation,
                                             struct fth_error *error);
/* Ends a transaction: commits if `status` is FTH_OK, otherwise rolls back. Returns `status`, or the
 * failure of the commit. */
FTH_MUST_USE enum fth_status fth_store_end(struct fth_store *store, const char *operation,
                                           enum fth_status status, struct fth_error *error);

/* ---- store_file.c ---- */

/* Works as fth_store_open does, for a file of any format. */
FTH_MUST_USE enum fth_status fth_store_open_format(const struct fth_store_format *format,
                                                   const char *path,
                                                   const struct fth_store_options *options,
                                                   struct fth_store **store,
                                                   struct fth_error *error);
/* Works as fth_store_default_path does, for a file of any format. */
FTH_MUST_USE enum fth_status fth_store_format_path(const struct fth_store_format *format,
                                                   char *path, size_t size,
                                                   struct fth_error *error);

/* ---- store_schema.c ---- */

/* Checks that the file is a store whose schema is that of its version, and that it is consistent.
 * *version is 0 for an empty database. Does not change the file. */
FTH_MUST_USE enum fth_status fth_store_examine(struct fth_store *store, int64_t *version,
                                               struct fth_error *error);
/* Converts a store that was examined from an older version, 0 included, to the current one. */
FTH_MUST_USE enum fth_status fth_store_migrate(struct fth_store *store, struct fth_error *error);

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
/* Fails with FTH_INVALID if a time is before 1970 or after the year 9999. `name` is the GPU. */
FTH_MUST_USE enum fth_status fth_time_check(int64_t time, const char *operation, const char *name,
                                            struct fth_error *error);
/* Reads a time such as "2026-11-18T11:09:37Z" as seconds since 1970. False: it has another form. */
bool fth_time_parse(const char *text, int64_t *time);
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
