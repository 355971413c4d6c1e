/* Reads the files that a launch names: PTX, contents of buffers and expected results. A launch file
 * may come from someone else, so it can by default only read files below its own folder. Pipes and
 * devices are refused, because they could block or never end. */
#define _GNU_SOURCE /* for realpath, which allocates its result */
#include "trace/launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns whether `path` lies below `folder`. Both are absolute, without links and "..". */
static bool is_below(const char *path, const char *folder)
{
    const size_t size = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/';
}

/* Checks that the launch may read a file. A file that does not exist is reported when it is opened.
 */
static enum fth_status check_place(const struct fth_launch *launch, const char *path,
                                   struct fth_error *error)
{
    if (launch->allow_files)
        return FTH_OK;
    const char *slash = strrchr(launch->path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - launch->path) + 1 : 1,
             slash ? launch->path : ".");
    char *place = realpath(folder, NULL), *file = place ? realpath(path, NULL) : NULL;
    enum fth_status status = FTH_OK;
    if (file && !is_below(file, place))
        status = fth_fail(error, FTH_INVALID, "read", path,
                          "it is outside of the folder of the launch file; to allow this, use "
                          "--allow-files");
    else if (!file && errno == ENOMEM)
        status = fth_no_memory(error, "read", path);
    free(place);
    free(file);
    return status;
}

/* Opens a file that the launch may read; the caller closes *fd. */
static enum fth_status open_file(const struct fth_launch *launch, const char *path, int *fd,
                                 struct fth_error *error)
{
    *fd = -1;
    FTH_TRY(check_place(launch, path, error));
    return fth_file_open_regular(path, fd, error);
}

enum fth_status fth_launch_read_file(const struct fth_launch *launch, const char *path,
                                     const struct fth_file_limit *limit, struct fth_buffer *content,
                                     struct fth_error *error)
{
    int fd;
    FTH_TRY(open_file(launch, path, &fd, error));
    enum fth_status status = fth_file_read_open(fd, path, limit, content, error);
    close(fd);
    return status;
}

enum fth_status fth_launch_read_data(const struct fth_launch *launch, const char *path, void *data,
                                     uint64_t size, uint64_t *got, struct fth_error *error)
{
    struct fth_zreader *reader = NULL;
    char chunk[64 * 1024];
    int fd;
    *got = 0;
    FTH_TRY(open_file(launch, path, &fd, error));
    enum fth_status status = fth_zreader_attach(fd, path, &reader, error);
    while (status == FTH_OK && *got < size) {
        const uint64_t left = size - *got;
        size_t read = 0;
        status = data ? fth_zreader_read(reader, (char *)data + *got, (size_t)left, &read, error)
                      : fth_zreader_read(reader, chunk, (size_t)FTH_MIN(left, sizeof chunk), &read,
                                         error);
        *got += read;
        if (read == 0)
            break;
    }
    fth_zreader_close(reader);
    close(fd);
    return status;
}
