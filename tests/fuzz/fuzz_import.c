/* Fuzzes the import of traces of other tools (fth_trace_import): tuples as text, and .traceg files.
 * Any input must be rejected with a message or converted. The result goes to /dev/null. */
#define _GNU_SOURCE /* memfd_create */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct fth_error error = FTH_NO_ERROR;
    int file = memfd_create("fuzz", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    enum fth_status status = fth_trace_import(path, "/dev/null", &error);
    if (status != FTH_OK && !error.cause[0])
        abort();
    close(file);
    return 0;
}
