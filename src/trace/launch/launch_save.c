/* Writes the contents of buffers to files, for example as expected results of a launch file. */
#include "trace/launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char operation[] = "save buffers";

static enum fth_status write_file(const char *path, const void *data, size_t bytes,
                                  struct fth_error *error)
{
    struct fth_atomic_file *file = NULL;
    FTH_TRY(fth_atomic_open(path, &file, error));
    enum fth_status status = fth_atomic_write(file, data, bytes, error);
    if (status == FTH_OK)
        return fth_atomic_commit(file, error);
    fth_atomic_abort(file);
    return status;
}

static enum fth_status save_buffer(const struct fth_launch *launch, size_t index,
                                   const char *folder, struct fth_error *error)
{
    struct fth_launch_view view;
    void *values = NULL;
    char path[PATH_MAX];
    FTH_TRY(fth_launch_read_buffer(launch, index, &view, &values, error));
    const int length =
        view.name ? snprintf(path, sizeof path, "%s/%s.bin", folder, view.name)
                  : snprintf(path, sizeof path, "%s/argument-%zu.bin", folder, view.number);
    enum fth_status status =
        length < (int)sizeof path
            ? write_file(path, values, view.count * view.element_bytes, error)
            : fth_fail(error, FTH_INVALID, operation, folder, "the path is too long");
    free(values);
    return status;
}

enum fth_status fth_launch_save(const struct fth_launch *launch, const char *folder,
                                struct fth_error *error)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return fth_fail(error, FTH_IO, operation, folder, "%s", strerror(errno));
    for (size_t i = 0; i < launch->buffer_count; i++)
        FTH_TRY(save_buffer(launch, i, folder, error));
    return FTH_OK;
}
