/* Opens the file of a store: finds its path, and refuses what is not a regular file or has files
 * beside it that SQLite should not use. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Default of how long a process waits for another one that is writing. A write takes some
 * milliseconds, so this is generous. */
enum { DEFAULT_WAIT_MS = 10000 };
/* Steps of SQLite's virtual machine that a statement may take per byte of the largest store.
 * Chosen: eight times what reading the shortest rows takes. A processor executes some 50 million
 * steps per second. */
enum { STEPS_PER_BYTE = 8 };

/* ---- path ---- */

enum fth_status fth_store_format_path(const struct fth_store_format *format, char *path,
                                      size_t size, struct fth_error *error)
{
    const char *file = format->default_file;
    /* Relative paths in XDG_DATA_HOME must be ignored (XDG Base Directory Specification 0.8). */
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = -1;
    if (data && data[0] == '/')
        length = snprintf(path, size, "%s/%s", data, file);
    else if (home && home[0] == '/')
        length = snprintf(path, size, "%s/.local/share/%s", home, file);
    if (length < 0)
        return fth_fail(error, FTH_INVALID, format->operation, NULL,
                        "neither XDG_DATA_HOME nor HOME is an absolute path; pass a file name");
    if ((size_t)length >= size)
        return fth_fail(error, FTH_INVALID, format->operation, path, "the path is too long");
    return FTH_OK;
}

enum fth_status fth_store_default_path(char *path, size_t size, struct fth_error *error)
{
    return fth_store_format_path(&fth_fingerprint_format, path, size, error);
}

/* Creates the folders that contain a file. Failures are ignored: opening the file then fails. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return;
    }
}

/* Writes the path that is given to SQLite. */
static enum fth_status choose_path(const struct fth_store_format *format, const char *path,
                                   char *file, size_t size, struct fth_error *error)
{
    if (!path)
        return fth_store_format_path(format, file, size, error);
    if (!*path || strlen(path) > size - 3)
        return fth_fail(error, FTH_INVALID, format->operation, path,
                        "the path is empty or too long");
    /* "./" because SQLite interprets some names specially, such as ":memory:" */
    snprintf(file, size, "%s%s", path[0] == '/' ? "" : "./", path);
    return FTH_OK;
}

/* ---- kinds of files ---- */

/* Fails for a file that cannot be examined; `code`: the error number of the system. */
static enum fth_status fail_missing(const struct fth_store *store, int code,
                                    struct fth_error *error)
{
    const struct fth_store_format *format = store->format;
    if (code == ENOENT)
        return fth_fail(error, FTH_NOT_FOUND, format->operation, store->path,
                        "the store does not exist yet; %s to create it", format->create_hint);
    return fth_fail(error, FTH_NOT_FOUND, format->operation, store->path, "%s", strerror(code));
}

/* Refuses a missing file unless it is to be created, and files that cannot be a store. If the file
 * cannot be examined, SQLite reports why. */
static enum fth_status check_file(const struct fth_store *store, const char *file, bool create,
                                  struct fth_error *error)
{
    struct stat info;
    char size[32], max[32];
    if (stat(file, &info) != 0)
        return create ? FTH_OK : fail_missing(store, errno, error);
    if (!S_ISREG(info.st_mode))
        return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                        "it is a %s, not a regular file; choose another one",
                        S_ISDIR(info.st_mode) ? "folder" : "pipe or device");
    if ((uint64_t)info.st_size > store->max_bytes)
        return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                        "the file has %s, but a store may have at most %s; raise --max-bytes if it "
                        "is a store",
                        fth_size_format((double)info.st_size, size, sizeof size),
                        fth_size_format((double)store->max_bytes, max, sizeof max));
    return FTH_OK;
}

/* Returns whether a journal names a super-journal. SQLite writes one if a transaction changes
 * several databases, which fathom never does. To undo the transaction, it would delete the file of
 * that name, which can be any file. The journal then ends with this number
 * (https://sqlite.org/src/file/src/pager.c, writeSuperJournal). */
static bool names_another_file(const char *journal)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char end[sizeof magic];
    const int fd = open(journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    const off_t size = lseek(fd, 0, SEEK_END);
    const bool found = size >= (off_t)sizeof end &&
                       pread(fd, end, sizeof end, size - (off_t)sizeof end) == sizeof end &&
                       memcmp(end, magic, sizeof end) == 0;
    close(fd);
    return found;
}

/* Checks the files that SQLite uses if they lie beside the store. */
static enum fth_status check_neighbours(const struct fth_store *store, const char *file,
                                        struct fth_error *error)
{
    char real[PATH_MAX], name[PATH_MAX + 16];
    struct stat info;
    if (!realpath(file, real))
        snprintf(real, sizeof real, "%s", file); /* it does not exist yet */
    snprintf(name, sizeof name, "%s-wal", real);
    if (lstat(name, &info) == 0)
        return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                        "a write-ahead log lies beside it (FILE-wal), which fathom does not use; "
                        "to merge it, run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'");
    snprintf(name, sizeof name, "%s-journal", real);
    if (lstat(name, &info) == 0 && (!S_ISREG(info.st_mode) || names_another_file(name)))
        return fth_fail(error, FTH_INVALID, store->format->operation, store->path,
                        "fathom did not write the journal that lies beside it (FILE-journal); "
                        "delete it if the store comes from elsewhere");
    return FTH_OK;
}

/* ---- opening ---- */

/* Limits the growth of the file. */
static enum fth_status limit_growth(struct fth_store *store, struct fth_error *error)
{
    int64_t page_bytes = 0;
    char sql[64];
    FTH_TRY(
        fth_store_number(store, store->format->operation, "PRAGMA page_size", &page_bytes, error));
    /* SQLite ignores a limit of 0 pages. */
    const uint64_t pages = store->max_bytes / (uint64_t)page_bytes;
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %llu",
             (unsigned long long)(pages > 0 ? pages : 1));
    return fth_store_run(store, store->format->operation, sql, error);
}

static enum fth_status open_for_writing(struct fth_store *store, const char *file, bool create,
                                        struct fth_error *error)
{
    int64_t version = 0;
    FTH_TRY(fth_store_connect(store, file,
                              SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), error));
    FTH_TRY(fth_store_examine(store, &version, error));
    if (version == 0 && !create)
        return fth_fail(error, FTH_NOT_FOUND, store->format->operation, store->path,
                        "the file is empty; %s to create a store in it",
                        store->format->create_hint);
    FTH_TRY(limit_growth(store, error));
    return version < store->format->version ? fth_store_migrate(store, error) : FTH_OK;
}

/* Opens the file without changing it, if possible: an interrupted change must be undone first, and
 * a store of an older version must be migrated, so that its runs get keys that stay. */
static enum fth_status open_for_reading(struct fth_store *store, const char *file,
                                        struct fth_error *error)
{
    struct fth_error own = FTH_NO_ERROR;
    int64_t version = 0;
    FTH_TRY(fth_store_connect(store, file, SQLITE_OPEN_READONLY, error));
    enum fth_status status =
        fth_store_number(store, store->format->operation, "PRAGMA user_version", &version, &own);
    if (status != FTH_OK && fth_store_code(store) != SQLITE_READONLY_ROLLBACK)
        return fth_error_move(error, &own);
    if (status == FTH_OK)
        FTH_TRY(fth_store_examine(store, &version, error));
    if (status == FTH_OK && version == store->format->version)
        return FTH_OK;
    fth_store_disconnect(store);
    store->read_only = false;
    FTH_TRY(open_for_writing(store, file, false, error));
    fth_store_disconnect(store);
    store->read_only = true;
    return fth_store_connect(store, file, SQLITE_OPEN_READONLY, error);
}

static enum fth_status open_file(struct fth_store *store, const char *file, bool create,
                                 struct fth_error *error)
{
    FTH_TRY(check_file(store, file, create, error));
    FTH_TRY(check_neighbours(store, file, error));
    return store->read_only ? open_for_reading(store, file, error)
                            : open_for_writing(store, file, create, error);
}

enum fth_status fth_store_open(const char *path, const struct fth_store_options *options,
                               struct fth_store **store, struct fth_error *error)
{
    return fth_store_open_format(&fth_fingerprint_format, path, options, store, error);
}

enum fth_status fth_store_open_format(const struct fth_store_format *format, const char *path,
                                      const struct fth_store_options *options,
                                      struct fth_store **out, struct fth_error *error)
{
    struct fth_store_options known;
    char file[PATH_MAX] = "";
    *out = NULL;
    FTH_TRY(fth_options_read("fth_store_options", options, &known, sizeof known, error));
    if (known.create && known.read_only)
        return fth_fail(error, FTH_INVALID, format->operation, path,
                        "the options 'create' and 'read_only' exclude each other");
    FTH_TRY(choose_path(format, path, file, sizeof file, error));
    if (known.create && !path)
        make_folders(file);
    struct fth_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path ? path : file))) {
        free(store);
        return fth_no_memory(error, format->operation, path);
    }
    store->format = format;
    store->read_only = known.read_only;
    store->wait_ms = known.wait_ms ? known.wait_ms : DEFAULT_WAIT_MS;
    store->max_bytes = known.max_bytes ? known.max_bytes : format->max_bytes;
    store->max_steps = store->max_bytes > UINT64_MAX / STEPS_PER_BYTE
                           ? UINT64_MAX
                           : STEPS_PER_BYTE * store->max_bytes;
    enum fth_status status = open_file(store, file, known.create, error);
    if (status == FTH_OK)
        *out = store;
    else
        fth_store_close(store);
    return status;
}

const char *fth_store_path(const struct fth_store *store)
{
    return store->path;
}

void fth_store_close(struct fth_store *store)
{
    if (!store)
        return;
    fth_store_disconnect(store);
    free(store->path);
    free(store);
}
