/* Exports a store as one JSON document, fathom-fingerprints/1, and imports such documents
 * (docs/fingerprints.md). */
#include "base/json.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static const char export_operation[] = "export fingerprints",
                  import_operation[] = "import fingerprints";
static const char schema[] = "fathom-fingerprints/1";

/* Largest document that is imported. A store with a thousand GPUs takes about 20 MB. */
static const size_t max_document_bytes = (size_t)256 << 20;
/* Highest version of features that is accepted. Chosen, not derived: it rejects damaged documents.
 */
enum { MAX_VERSION = 1000000 };

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
    for (size_t i = 0; i < runs.count && status == FTH_OK; i++) {
        status = fth_time_check(runs.items[i].time, export_operation, runs.items[i].name, error);
        write_run(&writer, &runs.items[i]);
    }
    if (status != FTH_OK)
        goto out;
    fth_json_end(&writer, ']');
    fth_json_end(&writer, '}');
    fth_buffer_text(&document, "\n");
    status = fth_buffer_take(&document, text, size, error);
out:
    fth_buffer_fini(&document);
    fth_runs_fini(&runs);
    return status;
}

/* ---- import ---- */

/* The current position in the document, for errors. */
struct location {
    const char *document;
    struct fth_json_path path;
    struct fth_error *error;
};

static enum fth_status refuse(const struct location *location, const char *key, const char *cause)
{
    return fth_fail(location->error, FTH_INVALID, import_operation, location->document,
                    "%s%s%s: %s", location->path.text, *key ? "." : "", key, cause);
}

/* Reads a string, which may be missing unless `needed`. *text gets a copy in the arena, or NULL. */
static enum fth_status read_text(const struct location *location, const struct fth_json *object,
                                 const char *key, bool needed, struct fth_runs *runs,
                                 const char **text)
{
    const struct fth_json *value = fth_json_get(object, key);
    *text = NULL;
    if (!value)
        return needed ? refuse(location, key, "is missing") : FTH_OK;
    const char *found = fth_json_string(value);
    if (!found || value->size > 256)
        return refuse(location, key, "must be a string of at most 256 bytes");
    *text = fth_arena_text(&runs->arena, found);
    return *text ? FTH_OK : fth_no_memory(location->error, import_operation, location->document);
}

/* Reads a whole number from 0 to `max`. */
static enum fth_status read_whole(const struct location *location, const struct fth_json *object,
                                  const char *key, int64_t max, int64_t *number)
{
    const struct fth_json *value = fth_json_get(object, key);
    if (!fth_json_is(value, FTH_JSON_INTEGER) || fth_json_integer(value) < 0 ||
        fth_json_integer(value) > max)
        return refuse(location, key, "must be a whole number in the valid range");
    *number = fth_json_integer(value);
    return FTH_OK;
}

static enum fth_status check_name(const struct location *location, const char *name)
{
    struct fth_error error = FTH_NO_ERROR;
    if (fth_store_check_name(name, &error) == FTH_INVALID)
        return refuse(location, "name", "must be 1 to 64 bytes of printable text");
    return fth_error_move(location->error, &error);
}

/* Keys that fathom makes have 32 hexadecimal digits. Other keys are accepted if they have a plain
 * form. */
static enum fth_status check_key(const struct location *location, const char *key)
{
    const size_t digits = key ? strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz-") : 0;
    return key && digits == strlen(key) && digits >= 8 && digits <= 64
               ? FTH_OK
               : refuse(location, "key", "must be 8 to 64 digits, lower-case letters and dashes");
}

static enum fth_status read_run(const struct location *location, const struct fth_json *object,
                                struct fth_runs *runs)
{
    struct fth_run *run = fth_runs_add(runs);
    int64_t version = 0;
    if (!run)
        return fth_no_memory(location->error, import_operation, location->document);
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return refuse(location, "", "must be an object");
    FTH_TRY(read_text(location, object, "name", true, runs, &run->name));
    FTH_TRY(check_name(location, run->name));
    FTH_TRY(read_text(location, object, "key", true, runs, &run->key));
    FTH_TRY(check_key(location, run->key));
    FTH_TRY(read_text(location, object, "device", false, runs, &run->device));
    FTH_TRY(read_text(location, object, "uuid", false, runs, &run->uuid));
    FTH_TRY(read_text(location, object, "driver", false, runs, &run->driver));
    FTH_TRY(read_whole(location, object, "time", FTH_MAX_TIME, &run->time));
    FTH_TRY(read_whole(location, object, "version", MAX_VERSION, &version));
    run->version = (unsigned)version;
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
    fth_json_path_key(&location.path, "runs");
    if (!found || strcmp(found, schema) != 0)
        status =
            fth_fail(error, FTH_INVALID, import_operation, name, "schema: must be '%s'", schema);
    else if (!fth_json_is(list, FTH_JSON_LIST))
        status = refuse(&location, "", "must be a list");
    size_t index = 0;
    FTH_JSON_EACH_ITEM (item, list) {
        if (status != FTH_OK)
            break;
        const size_t before = fth_json_path_index(&location.path, index++);
        status = read_run(&location, item, runs);
        fth_json_path_back(&location.path, before);
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
