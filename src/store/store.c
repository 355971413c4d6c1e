/* Adds runs to a store, reads them, and removes them. A run is a row of the table `run`; its GPU is
 * a row of the table `gpu`, with one name and at most one UUID. */
#include "store/store.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char enroll_operation[] = "enroll", forget_operation[] = "forget";

/* ---- the text form of features and times ---- */

void fth_features_write(const double *features, size_t count, struct fth_buffer *text)
{
    for (size_t i = 0; i < count; i++) {
        char number[40];
        fth_buffer_text(text, i ? "," : "[");
        fth_buffer_text(text, isfinite(features[i])
                                  ? fth_number_format(features[i], number, sizeof number)
                                  : "null");
    }
    fth_buffer_text(text, count ? "]" : "[]");
}

enum fth_status fth_features_read(const struct fth_json *list, const char *operation,
                                  const char *argument, struct fth_runs *runs, struct fth_run *run,
                                  struct fth_error *error)
{
    const size_t count = fth_json_count(list);
    if (count == 0 || count > FTH_MAX_FEATURES)
        return fth_fail(error, FTH_INVALID, operation, argument,
                        "the features of a run must be a list of 1 to %d numbers",
                        FTH_MAX_FEATURES);
    double *features = fth_arena_array(&runs->arena, count, sizeof *features);
    if (!features)
        return fth_no_memory(error, operation, argument);
    size_t i = 0;
    FTH_JSON_EACH_ITEM (value, list) {
        if (!fth_json_is_number(value) && !fth_json_is(value, FTH_JSON_NULL))
            return fth_fail(error, FTH_INVALID, operation, argument,
                            "feature %zu of a run is not a number", i);
        features[i++] = fth_json_is(value, FTH_JSON_NULL) ? (double)NAN : fth_json_double(value);
    }
    run->features = features;
    run->count = count;
    return FTH_OK;
}

enum fth_status fth_time_check(int64_t time, const char *operation, const char *name,
                               struct fth_error *error)
{
    if (time >= 0 && time <= FTH_MAX_TIME)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, name,
                    "according to the clock of the computer, it was measured before 1970 or after "
                    "9999; set the clock and measure again");
}

/* ---- reading ---- */

/* The row that is being read, with where it is for errors. */
struct row {
    const struct fth_store *store;
    const char *operation;
    sqlite3_stmt *statement;
    char where[32];
    struct fth_runs *runs;
    struct fth_error *error;
};

static enum fth_status refuse(const struct row *row, enum fth_run_member member)
{
    return fth_run_refuse(member, row->where, row->operation, row->store->path, row->error);
}

/* Copies a text column. *copy is NULL for an SQL NULL. */
static enum fth_status read_text(const struct row *row, enum fth_run_member member,
                                 const char **copy)
{
    const int type = sqlite3_column_type(row->statement, (int)member);
    *copy = NULL;
    if (type == SQLITE_NULL && member != FTH_RUN_NAME && member != FTH_RUN_KEY)
        return FTH_OK;
    if (type != SQLITE_TEXT)
        return refuse(row, member);
    const char *text = (const char *)sqlite3_column_text(row->statement, (int)member);
    if (text && strlen(text) != (size_t)sqlite3_column_bytes(row->statement, (int)member))
        return refuse(row, member); /* a NUL inside */
    *copy = text ? fth_arena_text(&row->runs->arena, text) : NULL;
    return *copy ? FTH_OK : fth_no_memory(row->error, row->operation, row->store->path);
}

static enum fth_status read_number(const struct row *row, enum fth_run_member member,
                                   int64_t *number)
{
    *number = sqlite3_column_int64(row->statement, (int)member);
    return sqlite3_column_type(row->statement, (int)member) == SQLITE_INTEGER ? FTH_OK
                                                                              : refuse(row, member);
}

static enum fth_status read_features(const struct row *row, struct fth_run *run)
{
    enum { COLUMN = FTH_RUN_MEMBERS };
    const char *path = row->store->path;
    struct fth_json_document list = {0};
    if (sqlite3_column_type(row->statement, COLUMN) != SQLITE_TEXT)
        return fth_fail(row->error, FTH_INVALID, row->operation, path,
                        "%sfeatures: must be a JSON list", row->where);
    const char *text = (const char *)sqlite3_column_text(row->statement, COLUMN);
    if (!text)
        return fth_no_memory(row->error, row->operation, path);
    const size_t size = (size_t)sqlite3_column_bytes(row->statement, COLUMN);
    struct fth_error own = FTH_NO_ERROR;
    enum fth_status status = fth_json_parse(path, text, size, &list, &own);
    if (status == FTH_OK)
        status = fth_features_read(list.root, row->operation, path, row->runs, run, &own);
    if (status == FTH_INVALID)
        fth_error_context(&own, "%sfeatures", row->where);
    fth_json_fini(&list);
    return status == FTH_OK ? FTH_OK : fth_error_move(row->error, &own);
}

/* Reads and checks all columns of a row. Other programs can have written the store, and SQLite
 * allows a column to have another type than declared. */
static enum fth_status read_columns(const struct row *row, struct fth_run *run)
{
    int64_t version = 0;
    FTH_TRY(read_text(row, FTH_RUN_NAME, &run->name));
    FTH_TRY(read_text(row, FTH_RUN_KEY, &run->key));
    FTH_TRY(read_text(row, FTH_RUN_DEVICE, &run->device));
    FTH_TRY(read_text(row, FTH_RUN_UUID, &run->uuid));
    FTH_TRY(read_text(row, FTH_RUN_DRIVER, &run->driver));
    FTH_TRY(read_number(row, FTH_RUN_TIME, &run->time));
    FTH_TRY(read_number(row, FTH_RUN_VERSION, &version));
    run->version = fth_run_version(version);
    for (int i = 0; i < FTH_RUN_MEMBERS; i++)
        FTH_TRY(fth_run_check(run, (enum fth_run_member)i, row->where, row->operation,
                              row->store->path, row->error));
    return read_features(row, run);
}

static enum fth_status read_run(const struct fth_store *store, const char *operation,
                                sqlite3_stmt *statement, struct fth_runs *runs,
                                struct fth_error *error)
{
    enum { ID = FTH_RUN_MEMBERS + 1 };
    struct fth_error own = FTH_NO_ERROR;
    struct row row = {.store = store,
                      .operation = operation,
                      .statement = statement,
                      .runs = runs,
                      .error = &own};
    struct fth_run *run = fth_runs_add(runs);
    if (!run)
        return fth_no_memory(error, operation, store->path);
    snprintf(row.where, sizeof row.where,
             "run %lld: ", (long long)sqlite3_column_int64(statement, ID));
    enum fth_status status = read_columns(&row, run);
    if (status == FTH_INVALID)
        fth_error_context(&own,
                          "a row is invalid; delete it with sqlite3, or import an export into "
                          "a new file");
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &own);
}

enum fth_status fth_store_read(struct fth_store *store, const char *operation,
                               struct fth_runs *runs, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum fth_status status =
        fth_store_prepare(store, operation,
                          "SELECT gpu.name, run.key, gpu.device, gpu.uuid, run.driver, run.time,"
                          " run.version, run.features, run.id"
                          " FROM run JOIN gpu ON gpu.id = run.gpu ORDER BY gpu.name, run.id",
                          &statement, error);
    int code = SQLITE_DONE;
    while (status == FTH_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = read_run(store, operation, statement, runs, error);
    if (status == FTH_OK && code != SQLITE_DONE)
        status = fth_store_fail(store, operation, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- adding ---- */

/* Binds a text to a parameter; NULL becomes an SQL NULL. */
static void bind(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

/* Executes a statement with up to three text parameters. `found` and `number` as in fth_store_step.
 */
static enum fth_status query(struct fth_store *store, const char *operation, const char *sql,
                             const char *const texts[3], bool *found, int64_t *number,
                             struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, operation, sql, &statement, error));
    for (int i = 0; i < 3 && i < sqlite3_bind_parameter_count(statement); i++)
        bind(statement, i + 1, texts[i]);
    enum fth_status status = fth_store_step(store, operation, statement, found, number, error);
    sqlite3_finalize(statement);
    return status;
}

/* Fails if the name belongs to a GPU with another device name or UUID, or the UUID to another name.
 */
static enum fth_status check_gpu(struct fth_store *store, const char *operation,
                                 const struct fth_run *run, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, operation,
                              "SELECT name, device, uuid FROM gpu WHERE (name = ?1 AND"
                              " (device <> ?2 OR uuid <> ?3)) OR (name <> ?1 AND uuid = ?3)",
                              &statement, error));
    enum fth_status status = FTH_OK;
    bind(statement, 1, run->name);
    bind(statement, 2, run->device);
    bind(statement, 3, run->uuid);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        const char *device = (const char *)sqlite3_column_text(statement, 1);
        const char *uuid = (const char *)sqlite3_column_text(statement, 2);
        if (name && strcmp(name, run->name) != 0)
            status = fth_fail(error, FTH_INVALID, operation, run->name,
                              "this GPU, %s, is enrolled as '%s'; use that name or forget it first",
                              run->uuid, name);
        else
            status =
                fth_fail(error, FTH_INVALID, operation, run->name,
                         "the name belongs to another GPU, %s (%s), but this is %s (%s); "
                         "choose another name or forget that GPU first",
                         device ? device : "unknown", uuid ? uuid : "no UUID",
                         run->device ? run->device : "unknown", run->uuid ? run->uuid : "no UUID");
    } else if (code != SQLITE_DONE) {
        status = fth_store_fail(store, operation, error);
    }
    sqlite3_finalize(statement);
    return status;
}

/* Finds the row of the GPU of a run, which is added if it is new. */
static enum fth_status find_gpu(struct fth_store *store, const char *operation,
                                const struct fth_run *run, int64_t *gpu, struct fth_error *error)
{
    const char *const texts[] = {run->name, run->device, run->uuid};
    FTH_TRY(check_gpu(store, operation, run, error));
    FTH_TRY(query(store, operation,
                  "INSERT INTO gpu (name, device, uuid) VALUES (?1, ?2, ?3)"
                  " ON CONFLICT (name) DO UPDATE SET device = coalesce(device, ?2),"
                  " uuid = coalesce(uuid, ?3)",
                  texts, NULL, NULL, error));
    return query(store, operation, "SELECT id FROM gpu WHERE name = ?1", texts, NULL, gpu, error);
}

static enum fth_status insert(struct fth_store *store, const char *operation,
                              const struct fth_run *run, int64_t gpu, struct fth_error *error)
{
    struct fth_buffer features = {0};
    sqlite3_stmt *statement = NULL;
    fth_features_write(run->features, run->count, &features);
    enum fth_status status = FTH_OK;
    if (features.failed) {
        status = fth_no_memory(error, operation, store->path);
        goto out;
    }
    status = fth_store_prepare(store, operation,
                               "INSERT INTO run (gpu, key, driver, time, version, features) VALUES"
                               " (?1, coalesce(?2, lower(hex(randomblob(16)))), ?3, ?4, ?5, ?6)",
                               &statement, error);
    if (status != FTH_OK)
        goto out;
    sqlite3_bind_int64(statement, 1, gpu);
    bind(statement, 2, run->key);
    bind(statement, 3, run->driver);
    sqlite3_bind_int64(statement, 4, run->time);
    sqlite3_bind_int64(statement, 5, run->version);
    bind(statement, 6, features.data);
    status = fth_store_step(store, operation, statement, NULL, NULL, error);
out:
    sqlite3_finalize(statement);
    fth_buffer_fini(&features);
    return status;
}

enum fth_status fth_store_add(struct fth_store *store, const char *operation,
                              const struct fth_run *run, bool *added, struct fth_error *error)
{
    bool found = false;
    int64_t gpu = 0;
    *added = false;
    FTH_TRY(fth_time_check(run->time, operation, run->name, error));
    for (int i = 0; i < FTH_RUN_MEMBERS; i++)
        FTH_TRY(fth_run_check(run, (enum fth_run_member)i, "", operation, run->name, error));
    if (run->count == 0 || run->count > FTH_MAX_FEATURES)
        return fth_fail(error, FTH_INVALID, operation, run->name,
                        "a run has %zu features, but a store holds 1 to %d per run", run->count,
                        FTH_MAX_FEATURES);
    if (run->key)
        FTH_TRY(query(store, operation, "SELECT 1 FROM run WHERE key = ?1",
                      (const char *const[]){run->key, NULL, NULL}, &found, NULL, error));
    if (found)
        return FTH_OK;
    *added = true;
    FTH_TRY(find_gpu(store, operation, run, &gpu, error));
    return insert(store, operation, run, gpu, error);
}

/* ---- enrolling and forgetting ---- */

static enum fth_status count_runs(struct fth_store *store, const char *operation, const char *name,
                                  int64_t *count, struct fth_error *error)
{
    return query(store, operation,
                 "SELECT count(*) FROM run JOIN gpu ON gpu.id = run.gpu WHERE gpu.name = ?1",
                 (const char *const[]){name, NULL, NULL}, NULL, count, error);
}

enum fth_status fth_store_enroll(struct fth_store *store, const char *name,
                                 const struct fth_fingerprint *fingerprint, size_t *total,
                                 struct fth_error *error)
{
    int64_t count = 0;
    FTH_TRY(fth_store_check_name(name, error));
    FTH_TRY(fth_store_begin(store, enroll_operation, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fingerprint->runs.count && status == FTH_OK; i++) {
        struct fth_run run = fingerprint->runs.items[i];
        bool added;
        run.name = name;
        status = fth_store_add(store, enroll_operation, &run, &added, error);
    }
    if (status == FTH_OK)
        status = count_runs(store, enroll_operation, name, &count, error);
    status = fth_store_end(store, enroll_operation, status, error);
    if (status == FTH_OK && total)
        *total = (size_t)count;
    return status;
}

/* Reports an unknown name, and the most similar one. */
static enum fth_status fail_unknown(struct fth_store *store, const char *name,
                                    struct fth_error *error)
{
    struct fth_runs runs = {.items = NULL};
    enum fth_status status = fth_store_read(store, forget_operation, &runs, error);
    /* After a failure, the last run can be incomplete. */
    const char **names =
        status == FTH_OK && runs.count > 0 ? calloc(runs.count, sizeof *names) : NULL;
    size_t count = 0;
    for (size_t i = 0; names && i < runs.count; i = fth_runs_end(&runs, i))
        names[count++] = runs.items[i].name;
    const char *nearest = names ? fth_suggest(name, names, count) : NULL;
    if (status == FTH_OK)
        status = fth_fail(error, FTH_NOT_FOUND, forget_operation, name,
                          nearest ? "no GPU with this name is enrolled; did you mean '%s'?"
                                  : "no GPU with this name is enrolled",
                          nearest);
    free(names);
    fth_runs_fini(&runs);
    return status;
}

enum fth_status fth_store_forget(struct fth_store *store, const char *name, size_t *runs,
                                 struct fth_error *error)
{
    int64_t count = 0;
    bool found = false;
    const char *const texts[] = {name, NULL, NULL};
    FTH_TRY(fth_store_begin(store, forget_operation, error));
    enum fth_status status = query(store, forget_operation, "SELECT 1 FROM gpu WHERE name = ?1",
                                   texts, &found, NULL, error);
    if (status == FTH_OK && !found)
        status = fail_unknown(store, name, error);
    if (status == FTH_OK)
        status = count_runs(store, forget_operation, name, &count, error);
    if (status == FTH_OK)
        status = query(store, forget_operation, "DELETE FROM gpu WHERE name = ?1", texts, NULL,
                       NULL, error);
    status = fth_store_end(store, forget_operation, status, error);
    if (status == FTH_OK && runs)
        *runs = (size_t)count;
    return status;
}
