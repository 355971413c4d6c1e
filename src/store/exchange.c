/* Exports a store as one JSON document, fathom-fingerprints/1, and imports such documents
 * (docs/fingerprints.md). */
#include "base/json.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char export_operation[] = "export fingerprints",
                  import_operation[] = "import fingerprints";
static const char schema[] = "fathom-fingerprints/1";

/* Largest document that is imported. A store with a thousand GPUs takes about 20 MB. */
static const size_t max_document_bytes = (size_t)256 << 20;

/* ---- export ---- */

static void write_text(struct fth_json_writer *writer, const char *key, const char *text)
{
    if (!text)
        return;
    fth_json_key(writer, key);
    fth_json_text(writer, text);
}

static void write_run(struct fth_json_writer *writer, const struct fth_run *run)
{
    struct fth_buffer features = {0};
    fth_features_write(run->features, run->count, &features);
    fth_json_begin(writer, '{', true);
    write_text(writer, "name", run->name);
    write_text(writer, "key", run->key);
    write_text(writer, "device", run->device);
    write_text(writer, "uuid", run->uuid);
    write_text(writer, "driver", run->driver);
    fth_json_key(writer, "time");
    fth_json_number(writer, (double)run->time);
    fth_json_key(writer, "version");
    fth_json_number(writer, run->version);
    fth_json_key(writer, "features");
    if (features.data)
        fth_json_raw(writer, features.data);
    fth_json_end(writer, '}');
    writer->out->failed = writer->out->failed || features.failed;
    fth_buffer_fini(&features);
}

enum fth_status fth_store_export(struct fth_store *store, char **text, size_t *size,
                                 struct fth_error *error)
{
    struct fth_runs runs = {.items = NULL};
    struct fth_buffer document = {0};
    struct fth_json_writer writer = {.out = &document};
    *text = NULL;
    enum fth_status status = fth_store_read(store, export_operation, &runs, error);
    if (status != FTH_OK)
        goto out;
    fth_json_begin(&writer, '{', false);
    write_text(&writer, "schema", schema);
    fth_json_key(&writer, "runs");
    fth_json_begin(&writer, '[', false);
    for (size_t i = 0; i < runs.count; i++)
        write_run(&writer, &runs.items[i]);
    fth_json_end(&writer, ']');
    fth_json_end(&writer, '}');
    status = fth_buffer_take(&document, text, size, error);
out:
    fth_buffer_fini(&document);
    fth_runs_fini(&runs);
    return status;
}

/* ---- import ---- */

/* The current run of the document, for errors. */
struct location {
    const char *document;
    char where[40]; /* "runs[3]." */
    struct fth_error *error;
};

static enum fth_status refuse(const struct location *location, enum fth_run_member member,
                              const char *cause)
{
    return fth_fail(location->error, FTH_INVALID, import_operation, location->document, "%s%s: %s",
                    location->where, fth_run_member_name(member), cause);
}

static enum fth_status check_member(const struct location *location, const struct fth_run *run,
                                    enum fth_run_member member)
{
    return fth_run_check(run, member, location->where, import_operation, location->document,
                         location->error);
}

/* Reads a string into *text, a member of the run, and checks it. It may be missing unless it is the
 * name or the key. */
static enum fth_status read_text(const struct location *location, const struct fth_json *object,
                                 enum fth_run_member member, struct fth_runs *runs,
                                 const struct fth_run *run, const char **text)
{
    const struct fth_json *value = fth_json_get(object, fth_run_member_name(member));
    if (!value)
        return member == FTH_RUN_NAME || member == FTH_RUN_KEY
                   ? refuse(location, member, "is missing")
                   : FTH_OK;
    const char *found = fth_json_string(value);
    if (!found)
        return refuse(location, member, "must be a string");
    *text = fth_arena_text(&runs->arena, found);
    return *text ? check_member(location, run, member)
                 : fth_no_memory(location->error, import_operation, location->document);
}

static enum fth_status read_whole(const struct location *location, const struct fth_json *object,
                                  enum fth_run_member member, int64_t *number)
{
    const struct fth_json *value = fth_json_get(object, fth_run_member_name(member));
    *number = fth_json_integer(value);
    return fth_json_is(value, FTH_JSON_INTEGER)
               ? FTH_OK
               : fth_run_refuse(member, location->where, import_operation, location->document,
                                location->error);
}

static enum fth_status read_run(const struct location *location, const struct fth_json *object,
                                struct fth_runs *runs)
{
    struct fth_run *run = fth_runs_add(runs);
    int64_t version = 0;
    if (!run)
        return fth_no_memory(location->error, import_operation, location->document);
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return fth_fail(location->error, FTH_INVALID, import_operation, location->document,
                        "runs[%zu]: must be an object", runs->count - 1);
    FTH_TRY(read_text(location, object, FTH_RUN_NAME, runs, run, &run->name));
    FTH_TRY(read_text(location, object, FTH_RUN_KEY, runs, run, &run->key));
    FTH_TRY(read_text(location, object, FTH_RUN_DEVICE, runs, run, &run->device));
    FTH_TRY(read_text(location, object, FTH_RUN_UUID, runs, run, &run->uuid));
    FTH_TRY(read_text(location, object, FTH_RUN_DRIVER, runs, run, &run->driver));
    FTH_TRY(read_whole(location, object, FTH_RUN_TIME, &run->time));
    FTH_TRY(check_member(location, run, FTH_RUN_TIME));
    FTH_TRY(read_whole(location, object, FTH_RUN_VERSION, &version));
    run->version = fth_run_version(version);
    FTH_TRY(check_member(location, run, FTH_RUN_VERSION));
    return fth_features_read(fth_json_get(object, "features"), import_operation, location->document,
                             runs, run, location->error);
}

enum fth_status fth_exchange_read(const char *name, const char *text, size_t size,
                                  struct fth_runs *runs, struct fth_error *error)
{
    struct fth_json_document document = {0};
    struct location location = {.document = name, .error = error};
    FTH_TRY(fth_json_parse(name, text, size, &document, error));
    enum fth_status status = FTH_OK;
    const char *found = fth_json_string(fth_json_get(document.root, "schema"));
    const struct fth_json *list = fth_json_get(document.root, "runs");
    if (!found || strcmp(found, schema) != 0)
        status =
            fth_fail(error, FTH_INVALID, import_operation, name, "schema: must be '%s'", schema);
    else if (!fth_json_is(list, FTH_JSON_LIST))
        status = fth_fail(error, FTH_INVALID, import_operation, name, "runs: must be a list");
    size_t index = 0;
    FTH_JSON_EACH_ITEM (item, list) {
        if (status != FTH_OK)
            break;
        snprintf(location.where, sizeof location.where, "runs[%zu].", index++);
        status = read_run(&location, item, runs);
    }
    fth_json_fini(&document);
    return status;
}

enum fth_status fth_store_import(struct fth_store *store, const char *path, size_t *added,
                                 struct fth_error *error)
{
    struct fth_buffer content = {0};
    struct fth_runs runs = {.items = NULL};
    size_t count = 0;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    enum fth_status status = fth_file_read(
        path, FTH_FILE_LIMIT("exported fingerprints", max_document_bytes), &content, error);
    if (status != FTH_OK)
        goto out;
    status = fth_exchange_read(name, content.data ? content.data : "", content.size, &runs, error);
    if (status != FTH_OK)
        goto out;
    status = fth_store_begin(store, import_operation, error);
    if (status != FTH_OK)
        goto out;
    for (size_t i = 0; i < runs.count && status == FTH_OK; i++) {
        bool is_new = false;
        status = fth_store_add(store, import_operation, &runs.items[i], &is_new, error);
        count += is_new;
    }
    status = fth_store_end(store, import_operation, status, error);
    if (status == FTH_OK && added)
        *added = count;
out:
    fth_runs_fini(&runs);
    fth_buffer_fini(&content);
    return status;
}
