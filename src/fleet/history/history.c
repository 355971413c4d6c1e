/* The history of a fleet: an SQLite file with one row per measurement. Opens it, adds measurements,
 * and removes old ones.
 *
 * Names of figures, values that are texts, and what is known about GPUs are in the table `text`,
 * each once; measurements refer to them by number. The values of a measurement are bytes
 * (history_values.c). A measurement that is added again is recognised by its key, a hash of its
 * GPU, host, slot, model, driver, board, backend, time, figures and fingerprint. The group, which
 * the user chooses, the name of the file and the flag `simulated` are not part of it. */
#include "fleet/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char open_operation[] = "open fleet history", add_operation[] = "add to fleet history",
                  forget_operation[] = "forget measurements";

/* "fthf" in ASCII. */
#define APPLICATION_ID 0x66746866
/* Default of the largest file. Chosen: 200 measurements of each of 10,000 GPUs. */
#define DEFAULT_MAX_BYTES ((uint64_t)4 << 30)

static const char *const migrations[] = {
    "CREATE TABLE text (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
    "CREATE TABLE measurement (id INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE,"
    " name INTEGER NOT NULL REFERENCES text(id), uuid INTEGER REFERENCES text(id),"
    " host INTEGER REFERENCES text(id), slot INTEGER REFERENCES text(id),"
    " grp INTEGER REFERENCES text(id), model INTEGER REFERENCES text(id),"
    " driver INTEGER REFERENCES text(id), board INTEGER REFERENCES text(id),"
    " backend INTEGER REFERENCES text(id), simulated INTEGER NOT NULL, time INTEGER NOT NULL,"
    " file TEXT NOT NULL, figures BLOB NOT NULL, fingerprint BLOB NOT NULL);"
    "CREATE INDEX measurement_name ON measurement(name, time);"
    "CREATE INDEX measurement_time ON measurement(time);"
    "PRAGMA application_id = 1718904934;",
};
_Static_assert(APPLICATION_ID == 1718904934, "must equal the number in the first migration");

static const struct fth_store_format history_format = {
    .noun = "fleet history",
    .operation = open_operation,
    .default_file = "fathom/fleet.db",
    .create_hint = "run 'fathom fleet add'",
    .recover_hint = "Add the measurements again to a new file",
    .max_bytes = DEFAULT_MAX_BYTES,
    .application_id = APPLICATION_ID,
    .version = (int)FTH_COUNT(migrations),
    .migrations = migrations,
};

/* Maximum length of a text in bytes. Chosen: damaged data is longer. */
enum { MAX_TEXT_BYTES = 4096 };

/* ---- hashes ---- */

/* FNV-1a, 64 bits, continued over several parts. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}
#define HASH_START 0xcbf29ce484222325u

static uint64_t hash_text(const char *text)
{
    const uint64_t hash = hash_bytes(HASH_START, text, strlen(text));
    return hash ^ hash >> 32;
}

/* ---- texts ---- */

const char *fth_history_text(const struct fth_fleet_history *history, int64_t id)
{
    size_t low = 0, high = history->text_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (history->texts[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < history->text_count && history->texts[low].id == id;
    return found ? history->texts[low].text : NULL;
}

/* Returns the slot of a text in the hash table, which must not be empty. */
static uint32_t *find_slot(const struct fth_fleet_history *history, const char *text)
{
    size_t at = (size_t)hash_text(text) & (history->slot_count - 1);
    while (history->by_text[at] && strcmp(history->texts[history->by_text[at] - 1].text, text) != 0)
        at = (at + 1) & (history->slot_count - 1);
    return &history->by_text[at];
}

int64_t fth_history_find(const struct fth_fleet_history *history, const char *text)
{
    const uint32_t index = history->slot_count ? *find_slot(history, text) : 0;
    return index ? history->texts[index - 1].id : 0;
}

/* Doubles the hash table if it is half full. */
static bool grow_slots(struct fth_fleet_history *history)
{
    if (2 * (history->text_count + 1) <= history->slot_count)
        return true;
    const size_t count = history->slot_count ? 2 * history->slot_count : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(history->by_text);
    history->by_text = slots;
    history->slot_count = count;
    for (size_t i = 0; i < history->text_count; i++)
        *find_slot(history, history->texts[i].text) = (uint32_t)(i + 1);
    return true;
}

/* Remembers a text of the file, whose number is greater than all others. */
static bool remember(struct fth_fleet_history *history, int64_t id, const char *text)
{
    const char *copy = fth_arena_text(&history->arena, text);
    if (!copy || !grow_slots(history) ||
        !fth_grow((void **)&history->texts, history->text_count, &history->text_capacity,
                  sizeof *history->texts))
        return false;
    history->texts[history->text_count] = (struct fth_history_text){id, copy};
    *find_slot(history, copy) = (uint32_t)++history->text_count;
    history->last_text = id;
    return true;
}

/* Forgets the texts in memory, for example those of a change that was undone. */
static void drop_texts(struct fth_fleet_history *history)
{
    free(history->texts);
    free(history->by_text);
    fth_arena_fini(&history->arena);
    *history = (struct fth_fleet_history){.store = history->store};
}

/* Reads the text of a row. */
static enum fth_status load_text(struct fth_fleet_history *history, sqlite3_stmt *statement,
                                 struct fth_error *error)
{
    const char *path = fth_store_path(history->store);
    const int64_t id = sqlite3_column_int64(statement, 0);
    if (sqlite3_column_type(statement, 1) != SQLITE_TEXT || id < 1 || id > UINT32_MAX)
        return fth_fail(error, FTH_INVALID, open_operation, path, "text %lld is not a text",
                        (long long)id);
    const char *text = (const char *)sqlite3_column_text(statement, 1);
    if (!text)
        return fth_no_memory(error, open_operation, path);
    const size_t bytes = (size_t)sqlite3_column_bytes(statement, 1);
    if (strlen(text) != bytes || bytes > MAX_TEXT_BYTES)
        return fth_fail(error, FTH_INVALID, open_operation, path,
                        "text %lld has a NUL or more than %d bytes", (long long)id, MAX_TEXT_BYTES);
    return remember(history, id, text) ? FTH_OK : fth_no_memory(error, open_operation, path);
}

enum fth_status fth_history_load_texts(struct fth_fleet_history *history, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum fth_status status =
        fth_store_prepare(history->store, open_operation,
                          "SELECT id, text FROM text WHERE id > ?1 ORDER BY id", &statement, error);
    int code = SQLITE_DONE;
    if (status == FTH_OK)
        sqlite3_bind_int64(statement, 1, history->last_text);
    while (status == FTH_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = load_text(history, statement, error);
    if (status == FTH_OK && code != SQLITE_DONE)
        status = fth_store_fail(history->store, open_operation, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- opening ---- */

enum fth_status fth_fleet_history_default_path(char *path, size_t size, struct fth_error *error)
{
    return fth_store_format_path(&history_format, path, size, error);
}

enum fth_status fth_fleet_history_open(const char *path, const struct fth_store_options *options,
                                       struct fth_fleet_history **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_fleet_history *history = calloc(1, sizeof *history);
    if (!history)
        return fth_no_memory(error, open_operation, path);
    enum fth_status status =
        fth_store_open_format(&history_format, path, options, &history->store, error);
    if (status == FTH_OK)
        status = fth_history_load_texts(history, error);
    if (status == FTH_OK)
        *out = history;
    else
        fth_fleet_history_close(history);
    return status;
}

const char *fth_fleet_history_path(const struct fth_fleet_history *history)
{
    return fth_store_path(history->store);
}

void fth_fleet_history_close(struct fth_fleet_history *history)
{
    if (!history)
        return;
    fth_store_close(history->store);
    drop_texts(history);
    free(history);
}

/* ---- adding ---- */

/* The state of adding a fleet. */
struct adding {
    struct fth_fleet_history *history;
    const struct fth_fleet *fleet;
    sqlite3_stmt *insert_text, *insert;
    int64_t *figure_ids;
    struct fth_buffer figures, fingerprint, name;
    struct fth_error *error;
};

/* Returns the number of a text, which is added if it is new; 0: failed. */
static int64_t find_or_add(void *user, const char *text)
{
    struct adding *adding = user;
    struct fth_fleet_history *history = adding->history;
    const int64_t known = fth_history_find(history, text);
    if (known)
        return known;
    const char *path = fth_store_path(history->store);
    if (strlen(text) > MAX_TEXT_BYTES) {
        fth_fail(adding->error, FTH_INVALID, add_operation, path,
                 "a text is longer than %d bytes: %.40s...", MAX_TEXT_BYTES, text);
        return 0;
    }
    const int64_t id = history->last_text + 1;
    history->store->steps = 0;
    sqlite3_bind_int64(adding->insert_text, 1, id);
    sqlite3_bind_text(adding->insert_text, 2, text, -1, SQLITE_STATIC);
    if (fth_store_step(history->store, add_operation, adding->insert_text, NULL, NULL,
                       adding->error) != FTH_OK)
        return 0;
    if (remember(history, id, text))
        return id;
    fth_no_memory(adding->error, add_operation, path);
    return 0;
}

/* The columns of a measurement that are texts, from parameter 2 on. */
enum { TEXT_COLUMNS = 9, GROUP_COLUMN = 4 };

const char *fth_history_name(const struct fth_fleet_gpu *gpu, const char *host, const char *slot,
                             struct fth_buffer *buffer)
{
    if (gpu->uuid)
        return gpu->uuid;
    if (!host || !slot)
        return gpu->name;
    buffer->size = 0;
    fth_buffer_format(buffer, "%s %s", host, slot);
    return buffer->failed ? NULL : buffer->data;
}

/* Binds the texts of a measurement and continues its hash. Returns false after a failure. */
static bool bind_texts(struct adding *adding, const struct fth_fleet_measurement *measurement,
                       uint64_t *hash)
{
    const struct fth_fleet_gpu *gpu = &adding->fleet->gpus[measurement->gpu];
    const char *host = measurement->host ? measurement->host : gpu->host;
    const char *slot = measurement->slot ? measurement->slot : gpu->slot;
    const char *texts[TEXT_COLUMNS] = {
        fth_history_name(gpu, host, slot, &adding->name),
        gpu->uuid,
        host,
        slot,
        gpu->group,
        gpu->model,
        measurement->driver ? measurement->driver : gpu->driver,
        measurement->board ? measurement->board : gpu->board,
        gpu->backend,
    };
    if (!texts[0]) {
        fth_no_memory(adding->error, add_operation, NULL);
        return false;
    }
    for (int i = 0; i < TEXT_COLUMNS; i++) {
        const int64_t id = texts[i] ? find_or_add(adding, texts[i]) : 0;
        if (texts[i] && id == 0)
            return false;
        if (i != GROUP_COLUMN)
            *hash = hash_bytes(*hash, &id, sizeof id);
        if (id)
            sqlite3_bind_int64(adding->insert, i + 2, id);
        else
            sqlite3_bind_null(adding->insert, i + 2);
    }
    return true;
}

/* Adds one measurement. Returns false after a failure; *added: it is new. */
static bool add_measurement(struct adding *adding, const struct fth_fleet_measurement *measurement,
                            bool *added)
{
    const struct fth_history_encoder encoder = {adding->figure_ids, find_or_add, adding};
    sqlite3_stmt *insert = adding->insert;
    struct fth_store *store = adding->history->store;
    uint64_t hash = HASH_START;
    const int64_t time = measurement->time;
    adding->figures.size = adding->fingerprint.size = 0;
    if (!fth_history_encode(&encoder, measurement, &adding->figures, &adding->fingerprint)) {
        fth_no_memory(adding->error, add_operation, fth_store_path(store)); /* if nothing else */
        return false;
    }
    if (!bind_texts(adding, measurement, &hash))
        return false;
    hash = hash_bytes(hash, &time, sizeof time);
    hash = hash_bytes(hash, adding->figures.data, adding->figures.size);
    hash = hash_bytes(hash, adding->fingerprint.data, adding->fingerprint.size);
    int64_t key;
    memcpy(&key, &hash, sizeof key);
    sqlite3_bind_int64(insert, 1, key);
    sqlite3_bind_int(insert, 11, adding->fleet->gpus[measurement->gpu].simulated);
    sqlite3_bind_int64(insert, 12, time);
    sqlite3_bind_text(insert, 13, measurement->file, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 14, adding->figures.size ? adding->figures.data : "",
                      (int)adding->figures.size, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 15, adding->fingerprint.size ? adding->fingerprint.data : "",
                      (int)adding->fingerprint.size, SQLITE_STATIC);
    store->steps = 0;
    if (fth_store_step(store, add_operation, insert, NULL, NULL, adding->error) != FTH_OK)
        return false;
    *added = sqlite3_changes(store->database) > 0;
    return true;
}

/* Adds all measurements, inside a transaction. Returns false after a failure. */
static bool add_all(struct adding *adding, size_t *added)
{
    const struct fth_fleet *fleet = adding->fleet;
    adding->figure_ids = calloc(fleet->figure_count + 1, sizeof *adding->figure_ids);
    if (!adding->figure_ids) {
        fth_no_memory(adding->error, add_operation, NULL);
        return false;
    }
    for (size_t i = 0; i < fleet->figure_count; i++) {
        adding->figure_ids[i] = find_or_add(adding, fleet->figures[i].name);
        if (adding->figure_ids[i] == 0)
            return false;
    }
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        bool is_new = false;
        if (!add_measurement(adding, &fleet->measurements[i], &is_new))
            return false;
        *added += is_new;
    }
    return true;
}

static enum fth_status add_fleet(struct adding *adding, size_t *added, struct fth_error *error)
{
    struct fth_store *store = adding->history->store;
    FTH_TRY(fth_history_load_texts(adding->history, error));
    FTH_TRY(fth_store_prepare(store, add_operation, "INSERT INTO text (id, text) VALUES (?1, ?2)",
                              &adding->insert_text, error));
    FTH_TRY(fth_store_prepare(
        store, add_operation,
        "INSERT INTO measurement (key, name, uuid, host, slot, grp, model, driver, board, backend,"
        " simulated, time, file, figures, fingerprint) VALUES"
        " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        " ON CONFLICT (key) DO NOTHING",
        &adding->insert, error));
    return add_all(adding, added) ? FTH_OK : adding->error->status;
}

enum fth_status fth_fleet_history_add(struct fth_fleet_history *history,
                                      const struct fth_fleet *fleet, size_t *added,
                                      struct fth_error *error)
{
    struct fth_error own = FTH_NO_ERROR;
    struct adding adding = {.history = history, .fleet = fleet, .error = &own};
    size_t count = 0;
    FTH_TRY(fth_store_begin(history->store, add_operation, error));
    enum fth_status status = add_fleet(&adding, &count, &own);
    sqlite3_finalize(adding.insert_text);
    sqlite3_finalize(adding.insert);
    status = fth_store_end(history->store, add_operation, status, &own);
    free(adding.figure_ids);
    fth_buffer_fini(&adding.figures);
    fth_buffer_fini(&adding.fingerprint);
    fth_buffer_fini(&adding.name);
    if (status != FTH_OK) {
        drop_texts(history);
        return fth_error_move(error, &own);
    }
    if (added)
        *added = count;
    return FTH_OK;
}

/* ---- forgetting ---- */

static enum fth_status forget(struct fth_store *store, int64_t before, struct fth_error *error)
{
    sqlite3_stmt *statement = NULL;
    FTH_TRY(fth_store_prepare(store, forget_operation,
                              "DELETE FROM measurement WHERE time < ?1 AND time > 0", &statement,
                              error));
    sqlite3_bind_int64(statement, 1, before);
    enum fth_status status = fth_store_step(store, forget_operation, statement, NULL, NULL, error);
    sqlite3_finalize(statement);
    return status;
}

enum fth_status fth_fleet_history_forget(struct fth_fleet_history *history, int64_t before,
                                         size_t *removed, struct fth_error *error)
{
    struct fth_store *store = history->store;
    FTH_TRY(fth_store_begin(store, forget_operation, error));
    enum fth_status status = forget(store, before, error);
    const int count = sqlite3_changes(store->database);
    status = fth_store_end(store, forget_operation, status, error);
    if (status == FTH_OK && removed)
        *removed = (size_t)count;
    return status;
}
