/* Traces launches twice: without the data that no access depends on, and in full. Both traces must
 * have the same bytes, and the instruction counts must be the same.
 *
 * usage: test_slices            the workloads of examples/workloads/, with small sizes; prints TAP
 *        test_slices FILE...    these launch files */
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *size;
} workloads[] = {{"2dconv", "N=100"},  {"2mm", "N=70"},   {"3dconv", "N=37"}, {"atax", "N=300"},
                 {"atax-32", "N=100"}, {"bicg", "N=300"}, {"bp", "N=1024"},   {"cfd", "N=1000"},
                 {"corr", "N=64"},     {"covar", "N=64"}, {"fdtd", "N=64"},   {"gesummv", "N=100"},
                 {"gramschm", "N=20"}, {"hspot", "N=64"}, {"mvt", "N=300"},   {"nw", "N=128"},
                 {"srad", "N=80"},     {"syr2k", "N=70"}, {"syrk", "N=70"}};

/* Returns the bytes of the trace; the caller frees them. NULL: the launch cannot be traced so. */
static void *trace(struct fth_launch *launch, bool skip_data, off_t *size,
                   struct fth_launch_totals *totals, struct fth_error *error)
{
    /* One host thread, so that blocks do not compete for locks in a random order. */
    const struct fth_run_options options = FTH_RUN_OPTIONS(.threads = 1);
    struct fth_trace_writer *writer;
    int fd = -1;
    void *bytes = NULL;
    *size = 0;
    if (fth_temporary_open(&fd, error) == FTH_OK &&
        fth_trace_writer_attach(fd, "trace", &writer, error) == FTH_OK &&
        fth_launch_trace_to(launch, writer, skip_data, &options, totals, error) == FTH_OK) {
        *size = lseek(fd, 0, SEEK_END);
        bytes = malloc((size_t)*size);
        if (bytes && pread(fd, bytes, (size_t)*size, 0) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

/* Compares the traces of a launch file. *refused: it can only be traced in full. */
static bool check(const char *path, const char *size, bool *refused)
{
    struct fth_launch *launch = NULL;
    struct fth_error error = FTH_NO_ERROR, sliced_error = FTH_NO_ERROR;
    struct fth_launch_totals full_totals, totals;
    off_t full_size = 0, sliced_size = 0;
    void *full = NULL, *sliced = NULL;
    bool same = false;
    char text[600];
    if (fth_launch_read(path, &size, size ? 1 : 0, &launch, &error) == FTH_OK) {
        full = trace(launch, false, &full_size, &full_totals, &error);
        sliced = trace(launch, true, &sliced_size, &totals, &sliced_error);
    }
    if (!full)
        printf("# %s\n", fth_error_text(&error, text, sizeof text));
    else if (sliced)
        same = full_size == sliced_size && memcmp(full, sliced, (size_t)full_size) == 0 &&
               memcmp(&full_totals, &totals, sizeof totals) == 0;
    *refused = !sliced && sliced_error.status == FTH_INCONCLUSIVE;
    const bool read = full != NULL;
    free(full);
    free(sliced);
    fth_launch_destroy(launch);
    return same || (read && *refused);
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? (size_t)argc - 1 : FTH_COUNT(workloads);
    bool fine = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        char path[512];
        if (argc > 1)
            snprintf(path, sizeof path, "%s", argv[i + 1]);
        else
            snprintf(path, sizeof path, "%s/examples/workloads/%s.json", FTH_SOURCE_ROOT,
                     workloads[i].name);
        bool refused;
        const bool same = check(path, argc > 1 ? NULL : workloads[i].size, &refused);
        printf("%s %zu - %s%s\n", same ? "ok" : "not ok", i + 1, path,
               refused ? " (only in full)" : "");
        fine = fine && same;
    }
    return fine ? 0 : 1;
}
