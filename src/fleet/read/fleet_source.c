/* The files that measurements are read from, as a sequence of pieces: a whole document, or some
 * lines of a file with one document per line. Large files are read in parts, so the memory needed
 * does not depend on their size. */
#include "fleet/read/fleet_source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char operation[] = "read measurements";

/* Lines that are read at once, in bytes. Chosen: about a hundred records. */
enum { PIECE_BYTES = 1 << 20 };

/* Returns whether a file has one document per line, by its name. */
static bool has_lines(const char *name)
{
    return fth_ends_with(name, ".jsonl") || fth_ends_with(name, ".jsonl.zst");
}

/* ---- the list of files ---- */

static int is_measurement(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return name[0] != '.' &&
           (fth_ends_with(name, ".json") || fth_ends_with(name, ".json.zst") || has_lines(name));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Copies a name to the arena. Bytes that are not UTF-8, which JSON cannot represent, become
 * question marks. */
static const char *copy_name(struct fth_arena *arena, const char *name)
{
    char *copy = fth_arena_text(arena, name);
    for (size_t i = 0, size; copy && copy[i]; i += size) {
        size = fth_utf8_character(copy + i, strlen(copy + i));
        if (size == 0) {
            copy[i] = '?';
            size = 1;
        }
    }
    return copy;
}

static enum fth_status list_folder(struct fth_fleet_source *source, const char *folder,
                                   struct fth_error *error)
{
    struct dirent **entries = NULL;
    struct fth_buffer path = {0};
    const int count = scandir(folder, &entries, is_measurement, by_name);
    if (count < 0)
        return fth_fail(error, FTH_IO, operation, folder, "the folder cannot be read");
    source->files = calloc((size_t)count + 1, sizeof *source->files);
    bool complete = source->files != NULL;
    for (int i = 0; i < count; i++) {
        path.size = 0;
        fth_buffer_format(&path, "%s/%s", folder, entries[i]->d_name);
        if (complete) {
            struct fth_fleet_file *file = &source->files[source->file_count++];
            file->path = path.failed ? NULL : fth_arena_text(&source->arena, path.data);
            file->name = copy_name(&source->arena, entries[i]->d_name);
            complete = file->path && file->name;
        }
        free(entries[i]);
    }
    free(entries);
    fth_buffer_fini(&path);
    return complete ? FTH_OK : fth_no_memory(error, operation, folder);
}

enum fth_status fth_fleet_source_open(struct fth_fleet_source *source, const char *path,
                                      struct fth_error *error)
{
    struct stat state;
    *source = (struct fth_fleet_source){0};
    const bool standard_input = strcmp(path, "-") == 0;
    source->is_folder = !standard_input && stat(path, &state) == 0 && S_ISDIR(state.st_mode);
    if (source->is_folder)
        return list_folder(source, path, error);
    source->files = calloc(1, sizeof *source->files);
    if (!source->files)
        return fth_no_memory(error, operation, path);
    source->file_count = 1;
    source->files[0].path = fth_arena_text(&source->arena, path);
    source->files[0].name = copy_name(&source->arena, standard_input ? "standard input" : path);
    return source->files[0].path && source->files[0].name ? FTH_OK
                                                          : fth_no_memory(error, operation, path);
}

void fth_fleet_source_close(struct fth_fleet_source *source)
{
    fth_zreader_close(source->reader);
    fth_buffer_fini(&source->ahead);
    free(source->files);
    fth_arena_fini(&source->arena);
}

/* ---- pieces ---- */

/* Reads until at least `size` bytes are in `ahead`, or to the end of the file. */
static enum fth_status read_ahead(struct fth_fleet_source *source, size_t size,
                                  struct fth_error *error)
{
    while (!source->at_end && source->ahead.size < size) {
        enum { STEP = 1 << 16 };
        size_t got = 0;
        if (!fth_buffer_reserve(&source->ahead, STEP))
            return fth_no_memory(error, operation, source->files[source->current].path);
        FTH_TRY(fth_zreader_read(source->reader, source->ahead.data + source->ahead.size, STEP,
                                 &got, error));
        source->ahead.size += got;
        source->at_end = got == 0;
    }
    return FTH_OK;
}

/* Reads until `ahead` has a whole line behind its first `size` bytes, or the end of the file. *end
 * gets the size up to the last line break, or up to the end. */
static enum fth_status read_lines(struct fth_fleet_source *source, size_t size, size_t *end,
                                  struct fth_error *error)
{
    const char *path = source->files[source->current].path;
    /* The bytes before `seen` have no line break. */
    for (size_t seen = 0;; seen = source->ahead.size, size = seen + 1) {
        FTH_TRY(read_ahead(source, size, error));
        *end = source->ahead.size;
        while (!source->at_end && *end > seen && source->ahead.data[*end - 1] != '\n')
            (*end)--;
        if (*end > seen || source->at_end)
            return FTH_OK;
        if (source->ahead.size > FTH_FLEET_MAX_DOCUMENT)
            return fth_file_too_large(
                path, FTH_FILE_LIMIT("a line with a measurement", FTH_FLEET_MAX_DOCUMENT), error);
    }
}

/* Moves the first `size` bytes of `ahead` to the piece. */
static enum fth_status take(struct fth_fleet_source *source, size_t size,
                            struct fth_fleet_piece *piece, struct fth_error *error)
{
    fth_buffer_append(&piece->text, source->ahead.data, size);
    if (piece->text.failed)
        return fth_no_memory(error, operation, piece->file->path);
    memmove(source->ahead.data, source->ahead.data + size, source->ahead.size - size);
    source->ahead.size -= size;
    return FTH_OK;
}

/* Returns whether the first line of `ahead` is a whole JSON document. */
static bool begins_with_document(const struct fth_fleet_source *source)
{
    struct fth_json_document document = {0};
    const char *end = memchr(source->ahead.data, '\n', source->ahead.size);
    const size_t size = end ? (size_t)(end - source->ahead.data) : source->ahead.size;
    const bool whole = fth_json_parse("", source->ahead.data, size, &document, NULL) == FTH_OK;
    fth_json_fini(&document);
    return whole;
}

/* Refuses what is in a folder, but not a file: a pipe without a writer would be waited for. */
static enum fth_status check_regular(const struct fth_fleet_source *source,
                                     const struct fth_fleet_file *file, struct fth_error *error)
{
    if (!source->is_folder || fth_file_is_regular(file->path))
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, file->name, "it is not a file");
}

/* Opens the next file. If its name does not end as that of a file of lines, it has one document per
 * line if its first line is a complete document. */
static enum fth_status open_stream(struct fth_fleet_source *source, struct fth_error *error)
{
    const struct fth_fleet_file *file = &source->files[source->current];
    size_t end = 0;
    source->ahead.size = 0;
    source->at_end = false;
    source->line = 1;
    FTH_TRY(check_regular(source, file, error));
    FTH_TRY(fth_zreader_open(file->path, &source->reader, error));
    source->has_lines = has_lines(file->name);
    if (!source->has_lines) {
        FTH_TRY(read_lines(source, 1, &end, error));
        source->has_lines = source->ahead.size && begins_with_document(source);
    }
    return FTH_OK;
}

static void close_stream(struct fth_fleet_source *source)
{
    fth_zreader_close(source->reader);
    source->reader = NULL;
}

/* Reads the next piece of the open file. */
static enum fth_status read_piece(struct fth_fleet_source *source, struct fth_fleet_piece *piece,
                                  struct fth_error *error)
{
    size_t size = 0;
    piece->line = source->has_lines ? source->line : 0;
    if (source->has_lines) {
        FTH_TRY(read_lines(source, PIECE_BYTES, &size, error));
    } else {
        FTH_TRY(read_ahead(source, FTH_FLEET_MAX_DOCUMENT + 1, error));
        size = source->ahead.size;
        if (size > FTH_FLEET_MAX_DOCUMENT)
            return fth_file_too_large(
                piece->file->path, FTH_FILE_LIMIT("a description", FTH_FLEET_MAX_DOCUMENT), error);
    }
    for (size_t i = 0; i < size; i++)
        source->line += source->ahead.data[i] == '\n';
    FTH_TRY(take(source, size, piece, error));
    return FTH_OK;
}

enum fth_status fth_fleet_source_next(struct fth_fleet_source *source,
                                      struct fth_fleet_piece *piece, bool *more,
                                      struct fth_error *error)
{
    const bool opens = !source->reader;
    *more = !opens || source->next < source->file_count;
    if (!*more)
        return FTH_OK;
    if (opens)
        source->current = source->next++;
    piece->file = &source->files[source->current];
    piece->number = source->pieces++;
    piece->line = 0;
    piece->text.size = 0;
    /* A document of a folder is read by the thread that gets the piece. */
    piece->unread = opens && source->is_folder && !has_lines(piece->file->name);
    if (piece->unread)
        return FTH_OK;
    enum fth_status status = opens ? open_stream(source, error) : FTH_OK;
    if (status == FTH_OK)
        status = read_piece(source, piece, error);
    if (status != FTH_OK || (source->at_end && source->ahead.size == 0))
        close_stream(source);
    return status;
}

enum fth_status fth_fleet_piece_read(struct fth_fleet_piece *piece, struct fth_error *error)
{
    if (!piece->unread)
        return FTH_OK;
    if (!fth_file_is_regular(piece->file->path))
        return fth_fail(error, FTH_INVALID, operation, piece->file->path, "it is not a file");
    return fth_file_read(piece->file->path, FTH_FILE_LIMIT("a description", FTH_FLEET_MAX_DOCUMENT),
                         &piece->text, error);
}
