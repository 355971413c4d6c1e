/* Reads files and folders of measurements. */
#include "fleet/fleet.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char operation[] = "read measurements";

/* Largest description or record that is read; that of gpu_read.c. */
#define MAX_DOCUMENT_BYTES ((size_t)16 * 1024 * 1024)
/* Largest file of records. Chosen: records of a million measurements. */
#define MAX_FILE_BYTES ((size_t)8 * 1024 * 1024 * 1024)

/* Adds the measurement of one document. */
static enum fth_status add_document(struct fth_fleet_builder *builder, const char *file,
                                    const char *path, const char *text, size_t size,
                                    struct fth_error *error)
{
    struct fth_json_document document = {0};
    fth_fleet_builder_reset(builder, file, path);
    enum fth_status status = fth_json_parse(file, text, size, &document, error);
    if (status != FTH_OK)
        return status;
    const char *schema = fth_json_string(fth_json_get(document.root, "schema"));
    if (schema && strcmp(schema, "fathom-gpu/1") == 0)
        status = fth_fleet_add_description(builder, document.root, error);
    else if (schema && strcmp(schema, "fathom-fleet-record/1") == 0)
        status = fth_fleet_add_record(builder, document.root, error);
    else
        status = fth_fail(error, FTH_INVALID, operation, file,
                          "it is neither a GPU description (fathom-gpu/1) nor a measurement "
                          "(fathom-fleet-record/1): its \"schema\" is %s",
                          schema ? schema : "missing");
    fth_json_fini(&document);
    return status;
}

/* Returns whether `name` ends with `end`. */
static bool ends_with(const char *name, const char *end)
{
    const size_t size = strlen(name), end_size = strlen(end);
    return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/* Adds the records of a text with one document per line. Lines that cannot be read become problems.
 */
static enum fth_status add_lines(struct fth_fleet_builder *builder, const char *file,
                                 const char *path, const char *text, size_t size,
                                 struct fth_error *error)
{
    size_t line = 1;
    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        char name[512];
        struct fth_error own = FTH_NO_ERROR;
        snprintf(name, sizeof name, "%s:%zu", path, line);
        if (length && strspn(text + at, " \t\r") < length) {
            const enum fth_status status =
                add_document(builder, name, name, text + at, length, &own);
            if (status != FTH_OK && status != FTH_INVALID)
                return fth_error_move(error, &own);
            if (status != FTH_OK)
                FTH_TRY(fth_fleet_add_problem(builder->fleet, file, own.cause, error));
        }
        at += length + 1;
    }
    return FTH_OK;
}

/* Adds the measurements of a file. */
static enum fth_status add_file(struct fth_fleet_builder *builder, const char *file,
                                const char *path, struct fth_error *error)
{
    struct fth_buffer content = {0};
    const bool lines = ends_with(path, ".jsonl") || ends_with(path, ".jsonl.zst");
    enum fth_status status = fth_file_read(
        path, FTH_FILE_LIMIT("a file of measurements", lines ? MAX_FILE_BYTES : MAX_DOCUMENT_BYTES),
        &content, error);
    const char *text = content.data ? content.data : "";
    if (status == FTH_OK)
        status = lines ? add_lines(builder, file, path, text, content.size, error)
                       : add_document(builder, file, path, text, content.size, error);
    fth_buffer_fini(&content);
    return status;
}

static int is_measurement(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return name[0] != '.' && (ends_with(name, ".json") || ends_with(name, ".json.zst") ||
                              ends_with(name, ".jsonl") || ends_with(name, ".jsonl.zst"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum fth_status add_folder(struct fth_fleet_builder *builder, const char *folder,
                                  const struct fth_log *log, struct fth_error *error)
{
    struct dirent **entries = NULL;
    enum fth_status status = FTH_OK;
    const int count = scandir(folder, &entries, is_measurement, by_name);
    if (count < 0)
        return fth_fail(error, FTH_IO, operation, folder, "the folder cannot be read");
    for (int i = 0; i < count; i++) {
        struct fth_buffer path = {0};
        struct fth_error own = FTH_NO_ERROR;
        fth_buffer_format(&path, "%s/%s", folder, entries[i]->d_name);
        if (status == FTH_OK && fth_log_interrupted(log))
            status = fth_fail(error, FTH_INTERRUPTED, operation, folder, "interrupted");
        if (status == FTH_OK && path.failed)
            status = fth_no_memory(error, operation, folder);
        if (status == FTH_OK) {
            fth_log_progress(log, "reading measurements", (double)i / count);
            status = add_file(builder, entries[i]->d_name, path.data, &own);
            if (status == FTH_NO_MEMORY)
                fth_error_move(error, &own);
            else if (status != FTH_OK)
                status =
                    fth_fleet_add_problem(builder->fleet, entries[i]->d_name, own.cause, error);
        }
        fth_buffer_fini(&path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum fth_status fth_fleet_add_path(struct fth_fleet *fleet, const char *path,
                                   const struct fth_fleet_options *options, struct fth_error *error)
{
    struct fth_fleet_options known;
    struct fth_fleet_builder builder = {.fleet = fleet};
    struct stat status_of_file;
    FTH_TRY(fth_options_read("fth_fleet_options", options, &known, sizeof known, error));
    const bool is_folder = strcmp(path, "-") != 0 && stat(path, &status_of_file) == 0 &&
                           S_ISDIR(status_of_file.st_mode);
    const enum fth_status status = is_folder ? add_folder(&builder, path, known.log, error)
                                             : add_file(&builder, path, path, error);
    fth_fleet_builder_fini(&builder);
    return status;
}
