/* Reads whole files, with a limit on their size, and creates temporary files. */
#define _GNU_SOURCE /* for O_TMPFILE, statx: glibc before 2.33 does not export stat and fstat */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum fth_status fth_temporary_open(int *fd, struct fth_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return FTH_OK;
    /* The file system may be one without O_TMPFILE. */
    char path[PATH_MAX];
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

enum fth_status fth_file_open_regular(const char *path, int *fd, struct fth_error *error)
{
    struct statx info;
    /* O_NONBLOCK: opening a pipe without a writer does not wait for one. It has no effect on a
     * regular file. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return fth_fail(error, errno == ENOENT ? FTH_NOT_FOUND : FTH_IO, "read", path, "%s",
                        strerror(errno));
    enum fth_status status = FTH_OK;
    if (statx(*fd, "", AT_EMPTY_PATH, STATX_TYPE, &info) != 0)
        status = fth_fail(error, FTH_IO, "read", path, "%s", strerror(errno));
    else if (!S_ISREG(info.stx_mode))
        status = fth_fail(error, FTH_INVALID, "read", path,
                          "it is not a regular file, but a folder, a pipe or a device");
    if (status == FTH_OK)
        return FTH_OK;
    close(*fd);
    *fd = -1;
    return status;
}

enum fth_status fth_file_too_large(const char *name, const struct fth_file_limit *limit,
                                   struct fth_error *error)
{
    char text[32];
    return fth_fail(error, FTH_INVALID, "read", name, "larger than %s, the limit for %s%s%s",
                    fth_size_format((double)limit->bytes, text, sizeof text), limit->subject,
                    limit->option ? "; to raise it, use " : "", limit->option ? limit->option : "");
}

/* Reads all that is left, and closes the reader. */
static enum fth_status read_all(struct fth_zreader *reader, const char *name,
                                const struct fth_file_limit *limit, struct fth_buffer *content,
                                struct fth_error *error)
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
        if (content->size > limit->bytes)
            status = fth_file_too_large(name, limit, error);
    }
    fth_zreader_close(reader);
    return status;
}

enum fth_status fth_file_read(const char *path, const struct fth_file_limit *limit,
                              struct fth_buffer *content, struct fth_error *error)
{
    struct fth_zreader *reader = NULL;
    FTH_TRY(fth_zreader_open(path, &reader, error));
    return read_all(reader, strcmp(path, "-") == 0 ? "standard input" : path, limit, content,
                    error);
}

enum fth_status fth_file_read_open(int fd, const char *name, const struct fth_file_limit *limit,
                                   struct fth_buffer *content, struct fth_error *error)
{
    struct fth_zreader *reader = NULL;
    FTH_TRY(fth_zreader_attach(fd, name, &reader, error));
    return read_all(reader, name, limit, content, error);
}
