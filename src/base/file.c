/* Reads whole files and writes files atomically. A file is written under a temporary name in the
 * same folder, flushed to disk and renamed, so a crash or a full disk leaves either the old file or
 * the complete new one. A path that is not a regular file (a pipe, /dev/null) must not be replaced;
 * it is written directly. */
#define _GNU_SOURCE /* for statx: glibc before 2.33 does not export stat and fstat */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fth_atomic_file {
    int fd;
    char *path;           /* final path */
    char *temporary_path; /* NULL: `path` or standard output is written directly */
};

static const char write_operation[] = "write";

static enum fth_status write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return FTH_IO;
        data += done;
        size -= (size_t)done;
    }
    return FTH_OK;
}

/* Returns whether `path` exists and is not a regular file. A rename must not replace it. */
static bool is_special(const char *path)
{
    struct statx info;
    return statx(AT_FDCWD, path, 0, STATX_TYPE, &info) == 0 && !S_ISREG(info.stx_mode);
}

/* Creates a file with an unused name in the folder of `path`. Returns -1 and sets errno on failure;
 * the caller frees *temporary_path in any case. */
static int open_temporary(const char *path, char **temporary_path)
{
    size_t size = strlen(path) + 48;
    *temporary_path = malloc(size);
    if (!*temporary_path) {
        errno = ENOMEM;
        return -1;
    }
    for (unsigned attempt = 0;; attempt++) {
        snprintf(*temporary_path, size, "%s.%ld.%u.part", path, (long)getpid(), attempt);
        int fd = open(*temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST || attempt == 100)
            return fd;
    }
}

enum fth_status fth_atomic_open(const char *path, struct fth_atomic_file **out,
                                struct fth_error *error)
{
    *out = NULL;
    struct fth_atomic_file *file = calloc(1, sizeof *file);
    if (!file)
        return fth_no_memory(error, write_operation, path);
    file->fd = -1;
    if (strcmp(path, "-") == 0) {
        file->path = strdup("standard output");
        file->fd = dup(STDOUT_FILENO);
    } else {
        /* If the path is a symbolic link, its target is replaced, not the link. */
        file->path = realpath(path, NULL);
        if (!file->path)
            file->path = strdup(path);
        if (file->path && is_special(file->path))
            file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
        else if (file->path)
            file->fd = open_temporary(file->path, &file->temporary_path);
    }
    if (file->fd < 0 || !file->path) {
        enum fth_status status =
            file->fd >= 0 || errno == ENOMEM
                ? fth_no_memory(error, write_operation, path)
                : fth_fail(error, FTH_IO, write_operation, path, "%s", strerror(errno));
        free(file->temporary_path); /* there is no such file */
        file->temporary_path = NULL;
        fth_atomic_abort(file);
        return status;
    }
    *out = file;
    return FTH_OK;
}

enum fth_status fth_atomic_attach(int fd, const char *name, struct fth_atomic_file **out,
                                  struct fth_error *error)
{
    *out = NULL;
    struct fth_atomic_file *file = calloc(1, sizeof *file);
    char *path = strdup(name);
    if (!file || !path) {
        free(file);
        free(path);
        return fth_no_memory(error, write_operation, name);
    }
    *file = (struct fth_atomic_file){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .path = path};
    if (file->fd < 0) {
        fth_fail(error, FTH_IO, write_operation, name, "%s", strerror(errno));
        fth_atomic_abort(file);
        return FTH_IO;
    }
    *out = file;
    return FTH_OK;
}

enum fth_status fth_temporary_open(int *fd, struct fth_error *error)
{
    char path[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    snprintf(path, sizeof path, "%s/fathom-XXXXXX", folder);
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0)
        return fth_fail(error, FTH_IO, "create a temporary file in", folder,
                        "%s; set TMPDIR to a writable folder", strerror(errno));
    unlink(path);
    return FTH_OK;
}

bool fth_file_is_regular(const char *path)
{
    struct statx info;
    return statx(AT_FDCWD, path, 0, STATX_TYPE, &info) == 0 && S_ISREG(info.stx_mode);
}

enum fth_status fth_atomic_write(struct fth_atomic_file *file, const void *data, size_t size,
                                 struct fth_error *error)
{
    if (write_all(file->fd, data, size) == FTH_OK)
        return FTH_OK;
    return fth_fail(error, FTH_IO, write_operation, file->path, "%s", strerror(errno));
}

/* Flushes the folder of a file, so that the new name is on disk. Failures are ignored: some file
 * systems cannot flush a folder. */
static void flush_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

enum fth_status fth_atomic_commit(struct fth_atomic_file *file, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (file->temporary_path && fsync(file->fd) != 0)
        status = FTH_IO;
    /* Some file systems report a full disk only when the file is closed. */
    if (close(file->fd) != 0 && errno != EINTR)
        status = FTH_IO;
    file->fd = -1;
    if (status == FTH_OK && file->temporary_path && rename(file->temporary_path, file->path) != 0)
        status = FTH_IO;
    if (status != FTH_OK) {
        status = fth_fail(error, FTH_IO, write_operation, file->path, "%s", strerror(errno));
    } else if (file->temporary_path) {
        flush_folder(file->path);
        free(file->temporary_path);
        file->temporary_path = NULL;
    }
    fth_atomic_abort(file);
    return status;
}

void fth_atomic_abort(struct fth_atomic_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary_path)
        unlink(file->temporary_path);
    free(file->temporary_path);
    free(file->path);
    free(file);
}

enum fth_status fth_file_write(const char *path, const void *data, size_t size,
                               struct fth_error *error)
{
    struct fth_atomic_file *file = NULL;
    enum fth_status status = fth_atomic_open(path, &file, error);
    if (file)
        status = fth_atomic_write(file, data, size, error);
    if (file && status == FTH_OK)
        return fth_atomic_commit(file, error);
    fth_atomic_abort(file);
    return status;
}

/* Reads all that is left, and closes the reader. */
static enum fth_status read_all(struct fth_zreader *reader, const char *name, size_t limit,
                                struct fth_buffer *content, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    while (status == FTH_OK) {
        enum { CHUNK = 64 * 1024 };
        size_t got = 0;
        if (!fth_buffer_reserve(content, CHUNK)) {
            status = fth_no_memory(error, "read", name);
            break;
        }
        status = fth_zreader_read(reader, content->data + content->size, CHUNK, &got, error);
        if (got == 0)
            break;
        content->size += got;
        content->data[content->size] = '\0';
        if (content->size > limit) {
            char text[32];
            status = fth_fail(error, FTH_INVALID, "read", name, "larger than %s",
                              fth_size_format((double)limit, text, sizeof text));
        }
    }
    fth_zreader_close(reader);
    return status;
}

enum fth_status fth_file_read(const char *path, size_t limit, struct fth_buffer *content,
                              struct fth_error *error)
{
    struct fth_zreader *reader = NULL;
    FTH_TRY(fth_zreader_open(path, &reader, error));
    return read_all(reader, strcmp(path, "-") == 0 ? "standard input" : path, limit, content,
                    error);
}

enum fth_status fth_file_read_open(int fd, const char *name, size_t limit,
                                   struct fth_buffer *content, struct fth_error *error)
{
    struct fth_zreader *reader = NULL;
    FTH_TRY(fth_zreader_attach(fd, name, &reader, error));
    return read_all(reader, name, limit, content, error);
}
