/* Fuzzes the recognition of inputs (fth_trace_input_open) and the import of traces of other tools:
 * tuples as text, and .traceg files. Any input must be rejected with a message or converted. The
 * result goes to /dev/null. Launch files and PTX are not executed. */
#define _GNU_SOURCE /* memfd_create */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Converts a trace of another tool. */
static enum fth_status import(const struct fth_trace_input *input, struct fth_error *error)
{
    struct fth_trace_writer *writer;
    if (input->kind != FTH_INPUT_TUPLES && input->kind != FTH_INPUT_TRACEG)
        return FTH_OK;
    enum fth_status status = fth_trace_writer_create("/dev/null", &writer, error);
    if (status != FTH_OK)
        return status;
    status = input->kind == FTH_INPUT_TUPLES ? fth_tuples_import(input, writer, NULL, error)
                                             : fth_traceg_import(input, writer, NULL, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct fth_error error = FTH_NO_ERROR;
    struct fth_trace_input input;
    int file = memfd_create("fuzz", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    enum fth_status status = fth_trace_input_open(path, NULL, &input, &error);
    if (status == FTH_OK) {
        status = import(&input, &error);
        fth_trace_input_close(&input);
    }
    if (status != FTH_OK && !error.cause[0])
        abort();
    close(file);
    return 0;
}
