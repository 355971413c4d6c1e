/* A store as one JSON document, fathom-fingerprints/1, and back (docs/fingerprints.md). */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static const char export_operation[] = "export fingerprints",
                  import_operation[] = "import fingerprints";
static const char schema[] = "fathom-fingerprints/1";

/* Of a document; a store of a thousand GPUs has 20 MB. */
static const size_t max_bytes = (size_t)256 << 20;

/* ---- out ---- */

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
    struct fth_buffer out = {0};
    struct fth_json_writer writer = {.out = &out};
    *text = NULL;
    enum fth_status status = fth_store_read(store, export_operation, &runs, error);
    if (status == FTH_OK) {
        fth_json_begin(&writer, '{', false);
        write_text(&writer, "schema", schema);
        fth_json_key(&writer, "runs");
        fth_json_begin(&writer, '[', false);
        for (size_t i = 0; i < runs.count; i++)
            write_run(&writer, &runs.items[i]);
        fth_json_end(&writer, ']');
        fth_json_end(&writer, '}');
        fth_buffer_text(&out, "\n");
        status = fth_buffer_take(&out, text, size, error);
    }
    fth_buffer_fini(&out);
    fth_runs_fini(&runs);
    return status;
}

/* ---- in ---- */

/* Where in which document we are. */
struct place {
    const char *document;
    struct fth_json_path path;
    struct fth_error *error;
};

static enum fth_status refuse(const struct place *place, const char *key, const char *cause)
{
    return fth_fail(place->error, FTH_INVALID, import_operation, place->document, "%s%s%s: %s",
                    place->path.text, *key ? "." : "", key, cause);
}

/* A text that may be missing, unless `needed`. */
static enum fth_status read_text(const struct place *place, const json_t *object, const char *key,
                                 bool needed, struct fth_runs *runs, const char **text)
{
    const json_t *value = json_object_get(object, key);
    *text = NULL;
    if (!value)
        return needed ? refuse(place, key, "it is missing") : FTH_OK;
    const char *found = json_string_value(value);
    if (!found || strlen(found) != json_string_length(value) || strlen(found) > 256)
        return refuse(place, key, "it is no text of at most 256 bytes");
    *text = fth_arena_text(&runs->arena, found);
    return *text ? FTH_OK
                 : fth_fail(place->error, FTH_NO_MEMORY, import_operation, place->document,
                            "out of memory");
}

/* A whole number from 0 on. */
static enum fth_status read_whole(const struct place *place, const json_t *object, const char *key,
                                  int64_t max, int64_t *number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return refuse(place, key, "it is no whole number, or too large");
    *number = json_integer_value(value);
    return FTH_OK;
}

/* The keys that export writes are 32 digits; others are taken as they are, where they are plain. */
static enum fth_status check_key(const struct place *place, const char *key)
{
    const size_t digits = strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz-");
    return digits == strlen(key) && digits >= 8 && digits <= 64
               ? FTH_OK
               : refuse(place, "key", "it is not 8 to 64 digits, small letters and dashes");
}

static enum fth_status read_run(const struct place *place, const json_t *object,
                                struct fth_runs *runs)
{
    struct fth_run *run = fth_runs_add(runs);
    int64_t version = 0;
    if (!run)
        return fth_fail(place->error, FTH_NO_MEMORY, import_operation, place->document,
                        "out of memory");
    if (!json_is_object(object))
        return refuse(place, "", "it is no object");
    enum fth_status status = read_text(place, object, "name", true, runs, &run->name);
    if (status == FTH_OK && fth_store_check_name(run->name, NULL) != FTH_OK)
        status = refuse(place, "name", "it is no name: 1 to 64 bytes of printable text");
    if (status == FTH_OK)
        status = read_text(place, object, "key", true, runs, &run->key);
    if (status == FTH_OK && run->key)
        status = check_key(place, run->key);
    if (status == FTH_OK)
        status = read_text(place, object, "device", false, runs, &run->device);
    if (status == FTH_OK)
        status = read_text(place, object, "uuid", false, runs, &run->uuid);
    if (status == FTH_OK)
        status = read_text(place, object, "driver", false, runs, &run->driver);
    if (status == FTH_OK) /* the year 9999 */
        status = read_whole(place, object, "time", INT64_C(253402300799), &run->time);
    if (status == FTH_OK)
        status = read_whole(place, object, "version", 1000000, &version);
    run->version = (unsigned)version;
    if (status == FTH_OK)
        status = fth_features_read(json_object_get(object, "features"), import_operation,
                                   place->document, runs, run, place->error);
    return status;
}

enum fth_status fth_exchange_read(const char *name, const char *text, size_t size,
                                  struct fth_runs *runs, struct fth_error *error)
{
    json_t *root = NULL;
    struct place place = {.document = name, .error = error};
    enum fth_status status = fth_json_parse(name, text, size, &root, error);
    if (status != FTH_OK)
        return status;
    const char *found = json_string_value(json_object_get(root, "schema"));
    const json_t *list = json_object_get(root, "runs");
    fth_json_path_key(&place.path, "runs");
    if (!found || strcmp(found, schema) != 0)
        status = fth_fail(error, FTH_INVALID, import_operation, name,
                          "schema: this is no document of '%s'", schema);
    else if (!json_is_array(list))
        status = refuse(&place, "", "it is no list");
    for (size_t i = 0; i < json_array_size(list) && status == FTH_OK; i++) {
        const size_t before = fth_json_path_index(&place.path, i);
        status = read_run(&place, json_array_get(list, i), runs);
        fth_json_path_back(&place.path, before);
    }
    json_decref(root);
    return status;
}

enum fth_status fth_store_import(struct fth_store *store, const char *path, size_t *added,
                                 struct fth_error *error)
{
    struct fth_buffer content = {0};
    struct fth_runs runs = {.items = NULL};
    size_t count = 0;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    enum fth_status status = fth_file_read(path, max_bytes, &content, error);
    if (status == FTH_OK)
        status =
            fth_exchange_read(name, content.data ? content.data : "", content.size, &runs, error);
    if (status == FTH_OK)
        status = fth_store_begin(store, import_operation, error);
    if (status == FTH_OK) {
        for (size_t i = 0; i < runs.count && status == FTH_OK; i++) {
            bool is_new = false;
            status = fth_store_add(store, import_operation, &runs.items[i], &is_new, error);
            count += is_new;
        }
        status = fth_store_end(store, import_operation, status, error);
    }
    if (status == FTH_OK && added)
        *added = count;
    fth_runs_fini(&runs);
    fth_buffer_fini(&content);
    return status;
}
