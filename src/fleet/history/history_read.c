/* Reads measurements of the history into a fleet, and lists its GPUs. Every row is checked: another
 * program can have written the file. */
#include "fleet/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read fleet history";

/* The columns of a query, in this order. */
enum column {
    NAME,
    UUID,
    HOST,
    SLOT,
    GROUP,
    MODEL,
    DRIVER,
    BOARD,
    BACKEND,
    SIMULATED,
    TIME,
    FILE_NAME,
    FIGURES,
    FINGERPRINT,
    ID
};
static const char columns[] = "name, uuid, host, slot, grp, model, driver, board, backend,"
                              " simulated, time, file, figures, fingerprint, id";

/* The state of a query. */
struct reading {
    struct fth_fleet_history *history;
    struct fth_fleet_history_options selected;
    bool values;
    struct fth_fleet *fleet;
    struct fth_arena arena; /* for one row */
};

/* ---- rows ---- */

static enum fth_status refuse(const struct fth_fleet_history *history, sqlite3_stmt *statement,
                              const char *what, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, operation, fth_store_path(history->store),
                    "measurement %lld: %s is invalid; delete the row with sqlite3, or add all "
                    "measurements again to a new file",
                    (long long)sqlite3_column_int64(statement, ID), what);
}

/* Reads a column that refers to a text. */
static enum fth_status read_text(const struct fth_fleet_history *history, sqlite3_stmt *statement,
                                 enum column column, const char **text, struct fth_error *error)
{
    const int type = sqlite3_column_type(statement, (int)column);
    *text = NULL;
    if (type == SQLITE_NULL && column != NAME)
        return FTH_OK;
    if (type == SQLITE_INTEGER)
        *text = fth_history_text(history, sqlite3_column_int64(statement, (int)column));
    return *text ? FTH_OK : refuse(history, statement, "a reference to a text", error);
}

/* Reads what a row says about the GPU, the time and the file. */
static enum fth_status read_identity(const struct fth_fleet_history *history,
                                     sqlite3_stmt *statement, struct fth_fleet_draft *draft,
                                     struct fth_error *error)
{
    struct fth_fleet_gpu *gpu = &draft->gpu;
    const char **const texts[] = {&gpu->name,  &gpu->uuid,   &gpu->host,  &gpu->slot,   &gpu->group,
                                  &gpu->model, &gpu->driver, &gpu->board, &gpu->backend};
    for (int i = 0; i < (int)FTH_COUNT(texts); i++)
        FTH_TRY(read_text(history, statement, (enum column)i, texts[i], error));
    const int64_t simulated = sqlite3_column_int64(statement, SIMULATED);
    draft->time = sqlite3_column_int64(statement, TIME);
    if (sqlite3_column_type(statement, SIMULATED) != SQLITE_INTEGER || simulated < 0 ||
        simulated > 1)
        return refuse(history, statement, "the column 'simulated'", error);
    if (sqlite3_column_type(statement, TIME) != SQLITE_INTEGER || draft->time < 0 ||
        draft->time > FTH_MAX_TIME)
        return refuse(history, statement, "the time", error);
    if (sqlite3_column_type(statement, FILE_NAME) != SQLITE_TEXT)
        return refuse(history, statement, "the name of the file", error);
    gpu->simulated = simulated != 0;
    draft->file = (const char *)sqlite3_column_text(statement, FILE_NAME);
    draft->path = gpu->name;
    return draft->file ? FTH_OK : fth_no_memory(error, operation, NULL);
}

static enum fth_status read_values(struct reading *reading, sqlite3_stmt *statement,
                                   struct fth_fleet_draft *draft, struct fth_error *error)
{
    const struct fth_fleet_history *history = reading->history;
    if (sqlite3_column_type(statement, FIGURES) != SQLITE_BLOB ||
        sqlite3_column_type(statement, FINGERPRINT) != SQLITE_BLOB)
        return refuse(history, statement, "the type of its values", error);
    const void *figures = sqlite3_column_blob(statement, FIGURES);
    const size_t size = (size_t)sqlite3_column_bytes(statement, FIGURES);
    const void *map = sqlite3_column_blob(statement, FINGERPRINT);
    const size_t map_size = (size_t)sqlite3_column_bytes(statement, FINGERPRINT);
    if ((size && !figures) || (map_size && !map))
        return fth_no_memory(error, operation, NULL);
    if (size && reading->values)
        FTH_TRY(fth_history_decode(history, figures, size, reading->fleet, &reading->arena, draft,
                                   error));
    if (map_size)
        FTH_TRY(fth_history_decode_map(history, map, map_size, &reading->arena, draft, error));
    return FTH_OK;
}

static enum fth_status read_row(struct reading *reading, sqlite3_stmt *statement,
                                struct fth_error *error)
{
    struct fth_fleet_draft draft = {.file = ""};
    FTH_TRY(read_identity(reading->history, statement, &draft, error));
    FTH_TRY(read_values(reading, statement, &draft, error));
    enum fth_status status = fth_fleet_add(reading->fleet, &draft, error);
    fth_arena_fini(&reading->arena);
    return status;
}

/* ---- queries ---- */

/* Writes the query of the selected measurements. The texts are parameters. */
static void write_query(const struct fth_fleet_history_options *selected, struct fth_buffer *sql)
{
    fth_buffer_format(sql, "SELECT %s FROM measurement WHERE 1", columns);
    if (selected->gpu)
        fth_buffer_text(sql, " AND name = ?1");
    if (selected->host)
        fth_buffer_text(sql, " AND host = ?2");
    if (selected->from)
        fth_buffer_text(sql, " AND time >= ?3");
    if (selected->until)
        fth_buffer_text(sql, " AND time < ?4");
    if (selected->gpu && selected->newest) {
        struct fth_buffer inner = *sql;
        *sql = (struct fth_buffer){0};
        fth_buffer_format(sql, "SELECT * FROM (%s ORDER BY time DESC, id DESC LIMIT %u)",
                          inner.data ? inner.data : "", selected->newest);
        sql->failed = sql->failed || inner.failed;
        fth_buffer_fini(&inner);
    }
    fth_buffer_text(sql, " ORDER BY name, time, id");
}

/* Reads the selected measurements. If there is a limit per GPU, a GPU is selected. */
static enum fth_status read_selected(struct reading *reading, struct fth_error *error)
{
    struct fth_store *store = reading->history->store;
    const struct fth_fleet_history_options *selected = &reading->selected;
    struct fth_buffer sql = {0};
    sqlite3_stmt *statement = NULL;
    write_query(selected, &sql);
    enum fth_status status = sql.failed
                                 ? fth_no_memory(error, operation, NULL)
                                 : fth_store_prepare(store, operation, sql.data, &statement, error);
    fth_buffer_fini(&sql);
    if (status != FTH_OK)
        return status;
    if (selected->gpu)
        sqlite3_bind_int64(statement, 1, fth_history_find(reading->history, selected->gpu));
    if (selected->host)
        sqlite3_bind_int64(statement, 2, fth_history_find(reading->history, selected->host));
    if (selected->from)
        sqlite3_bind_int64(statement, 3, selected->from);
    if (selected->until)
        sqlite3_bind_int64(statement, 4, selected->until);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && status == FTH_OK)
        status = read_row(reading, statement, error);
    if (status == FTH_OK && code != SQLITE_DONE)
        status = fth_store_fail(store, operation, error);
    sqlite3_finalize(statement);
    fth_arena_fini(&reading->arena);
    return status;
}

/* Reads the names of all GPUs into `names`, a list in which each ends with a NUL. */
static enum fth_status read_names(struct fth_fleet_history *history, struct fth_buffer *names,
                                  struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(history->store, operation,
                              "SELECT DISTINCT name FROM measurement ORDER BY name", &statement,
                              error));
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = fth_history_text(history, sqlite3_column_int64(statement, 0));
        if (name)
            fth_buffer_append(names, name, strlen(name) + 1);
    }
    enum fth_status status =
        code == SQLITE_DONE ? FTH_OK : fth_store_fail(history->store, operation, error);
    sqlite3_finalize(statement);
    return names->failed ? fth_no_memory(error, operation, NULL) : status;
}

/* Reads the newest measurements of each GPU, one GPU after the other. */
static enum fth_status read_newest(struct reading *reading, struct fth_error *error)
{
    struct fth_buffer names = {0};
    enum fth_status status = read_names(reading->history, &names, error);
    for (size_t at = 0; status == FTH_OK && at < names.size; at += strlen(names.data + at) + 1) {
        reading->selected.gpu = names.data + at;
        status = read_selected(reading, error);
    }
    fth_buffer_fini(&names);
    return status;
}

static enum fth_status load(struct reading *reading, struct fth_error *error)
{
    FTH_TRY(fth_history_load_texts(reading->history, error));
    return reading->selected.newest && !reading->selected.gpu ? read_newest(reading, error)
                                                              : read_selected(reading, error);
}

enum fth_status fth_history_load(struct fth_fleet_history *history,
                                 const struct fth_fleet_history_options *options, bool values,
                                 struct fth_fleet *fleet, struct fth_error *error)
{
    struct reading reading = {.history = history, .values = values, .fleet = fleet};
    FTH_TRY(fth_options_read("fth_fleet_history_options", options, &reading.selected,
                             sizeof reading.selected, error));
    /* In one transaction, so that texts and measurements belong together. */
    FTH_TRY(fth_store_run(history->store, operation, "BEGIN", error));
    return fth_store_end(history->store, operation, load(&reading, error), error);
}

enum fth_status fth_fleet_history_read(struct fth_fleet_history *history,
                                       const struct fth_fleet_history_options *options,
                                       struct fth_fleet *fleet, struct fth_error *error)
{
    return fth_history_load(history, options, true, fleet, error);
}

/* ---- the list of GPUs ---- */

/* All GPUs of a history, with texts that the history owns. */
struct gpu_list {
    struct fth_fleet_history_gpu *items;
    size_t count, capacity;
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_gpus(const void *a, const void *b)
{
    const struct fth_fleet_history_gpu *x = a, *y = b;
    int order = compare_texts(x->host, y->host);
    if (!order)
        order = compare_texts(x->slot, y->slot);
    return order ? order : strcmp(x->name, y->name);
}

/* Adds a row to the list. The rows of a GPU follow each other, the newest last. */
static enum fth_status list_row(struct gpu_list *list, const struct fth_fleet_draft *draft,
                                struct fth_error *error)
{
    struct fth_fleet_history_gpu *gpu = list->count ? &list->items[list->count - 1] : NULL;
    if (!gpu || gpu->name != draft->gpu.name) {
        if (!fth_grow((void **)&list->items, list->count, &list->capacity, sizeof *list->items))
            return fth_no_memory(error, operation, NULL);
        gpu = &list->items[list->count++];
        *gpu = (struct fth_fleet_history_gpu){.name = draft->gpu.name, .first_time = draft->time};
    }
    const char *const texts[] = {draft->gpu.uuid, draft->gpu.host, draft->gpu.slot,
                                 draft->gpu.model, draft->gpu.driver};
    const char **const members[] = {&gpu->uuid, &gpu->host, &gpu->slot, &gpu->model, &gpu->driver};
    for (size_t i = 0; i < FTH_COUNT(members); i++)
        if (texts[i])
            *members[i] = texts[i];
    gpu->last_time = draft->time;
    gpu->measurements++;
    return FTH_OK;
}

static enum fth_status list_gpus(struct fth_fleet_history *history, struct gpu_list *list,
                                 struct fth_error *error)
{
    struct fth_buffer sql = {0};
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_history_load_texts(history, error));
    fth_buffer_format(&sql, "SELECT %s FROM measurement ORDER BY name, time, id", columns);
    enum fth_status status =
        sql.failed ? fth_no_memory(error, operation, NULL)
                   : fth_store_prepare(history->store, operation, sql.data, &statement, error);
    fth_buffer_fini(&sql);
    int code = SQLITE_DONE;
    while (status == FTH_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct fth_fleet_draft draft = {.file = ""};
        status = read_identity(history, statement, &draft, error);
        if (status == FTH_OK)
            status = list_row(list, &draft, error);
    }
    if (status == FTH_OK && code != SQLITE_DONE)
        status = fth_store_fail(history->store, operation, error);
    sqlite3_finalize(statement);
    return status;
}

enum fth_status fth_fleet_history_list(struct fth_fleet_history *history,
                                       void (*each)(void *user,
                                                    const struct fth_fleet_history_gpu *gpu),
                                       void *user, struct fth_error *error)
{
    struct gpu_list list = {0};
    FTH_TRY(fth_store_run(history->store, operation, "BEGIN", error));
    enum fth_status status =
        fth_store_end(history->store, operation, list_gpus(history, &list, error), error);
    if (status == FTH_OK && list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_gpus);
    for (size_t i = 0; status == FTH_OK && i < list.count; i++)
        each(user, &list.items[i]);
    free(list.items);
    return status;
}
