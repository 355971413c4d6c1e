/* Obtains a trace from any input. A trace of fathom is opened. A launch file or a kernel of a PTX
 * file is run, a capsule is replayed, and a trace of another tool is converted; they write a trace,
 * to the file that the caller names or to a temporary file without a name, which disappears with
 * the trace. */
#include "program/program.h"
#include "ptx/ptx.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <string.h>
#include <unistd.h>

static const char operation[] = "read trace";

/* Starts the trace in the file that the caller names, or in a temporary file: *fd. */
static enum fth_status create_writer(const char *output, int *fd, struct fth_trace_writer **writer,
                                     struct fth_error *error)
{
    *fd = -1;
    if (output)
        return fth_trace_writer_create(output, writer, error);
    FTH_TRY(fth_temporary_open(fd, error));
    return fth_trace_writer_attach(*fd, "temporary trace", writer, error);
}

/* Converts a trace of another tool. Commits the writer, or discards it after a failure. */
static enum fth_status import(const struct fth_trace_input *input, struct fth_trace_writer *writer,
                              const struct fth_log *log, struct fth_error *error)
{
    enum fth_status status = input->kind == FTH_INPUT_TUPLES
                                 ? fth_tuples_import(input, writer, log, error)
                                 : fth_traceg_import(input, writer, log, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}

/* Refuses options that do not apply to capsules. The names are those of the command line. */
static enum fth_status check_capsule_options(const struct fth_trace_input *input,
                                             const struct fth_launch_options *options,
                                             struct fth_error *error)
{
    const char *name = options->size_count ? "set" : fth_launch_ptx_option(options);
    if (name)
        return fth_fail(error, FTH_INVALID, "replay capsule", input->path,
                        "--%s does not apply to capsules; select launches with --kernel and "
                        "--launch",
                        name);
    return FTH_OK;
}

/* Replays a capsule. Commits the writer, or discards it after a failure. */
static enum fth_status replay(const struct fth_trace_input *input,
                              const struct fth_trace_options *options,
                              struct fth_trace_writer *writer, struct fth_error *error)
{
    struct fth_launch_options launch = FTH_LAUNCH_OPTIONS();
    enum fth_status status =
        fth_options_read("fth_launch_options", options->launch, &launch, sizeof launch, error);
    if (status == FTH_OK)
        status = check_capsule_options(input, &launch, error);
    const struct fth_replay_options replayed =
        FTH_REPLAY_OPTIONS(.kernels = launch.kernels, .first = launch.first_launch,
                           .end = launch.end_launch, .log = options->log,
                           .max_memory_bytes = launch.max_memory_bytes,
                           .max_instructions = options->max_instructions);
    if (status == FTH_OK)
        status =
            fth_capsule_trace(input->fd, input->name, &replayed, launch.no_spills, writer, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}

/* Opens a trace that was just written. A pipe or a device cannot be read back; *trace is then NULL.
 */
static enum fth_status open_written(const char *output, int fd, const char *name,
                                    struct fth_trace **trace, struct fth_error *error)
{
    if (!output)
        return fth_trace_attach(fd, name, trace, error);
    if (strcmp(output, "-") == 0 || !fth_file_is_regular(output))
        return FTH_OK;
    return fth_trace_open(output, trace, error);
}

/* True if the trace is written directly, such as to a pipe, so that it cannot be started again. */
static bool is_direct(const char *output)
{
    return output && (strcmp(output, "-") == 0 ||
                      (access(output, F_OK) == 0 && !fth_file_is_regular(output)));
}

/* Traces a launch, at first without the data that its accesses do not depend on. If that turns out
 * to be impossible, or if the caller wants to read the buffers, it is traced in full. *fd is that
 * of create_writer. */
static enum fth_status trace_launch(struct fth_launch *launch,
                                    const struct fth_trace_options *options,
                                    const struct fth_run_options *run, int *fd,
                                    struct fth_error *error)
{
    struct fth_trace_writer *writer;
    if (!options->traced && !is_direct(options->output)) {
        struct fth_error sliced = FTH_NO_ERROR;
        FTH_TRY(create_writer(options->output, fd, &writer, error));
        const enum fth_status status =
            fth_launch_trace_to(launch, writer, true, run, NULL, &sliced);
        if (status != FTH_INCONCLUSIVE)
            return status == FTH_OK ? status : fth_error_move(error, &sliced);
        if (*fd >= 0)
            close(*fd);
    }
    FTH_TRY(create_writer(options->output, fd, &writer, error));
    return fth_launch_trace_to(launch, writer, false, run, NULL, error);
}

/* Writes a trace. *launch is the launch that was run, if there was one; the caller destroys it,
 * also after a failure. */
static enum fth_status write_trace(const struct fth_trace_input *input,
                                   const struct fth_trace_options *options,
                                   struct fth_launch **launch, struct fth_trace **trace,
                                   struct fth_error *error)
{
    const bool is_launch = input->kind == FTH_INPUT_LAUNCH || input->kind == FTH_INPUT_PTX;
    const struct fth_run_options run =
        FTH_RUN_OPTIONS(.threads = options->threads, .log = options->log,
                        .max_instructions = options->max_instructions);
    struct fth_trace_writer *writer = NULL;
    int fd = -1;
    /* The launch is read before the file is created, so that a mistake in it leaves no file. */
    if (is_launch)
        FTH_TRY(fth_launch_open_input(input, options->launch, launch, error));
    enum fth_status status = is_launch ? trace_launch(*launch, options, &run, &fd, error)
                                       : create_writer(options->output, &fd, &writer, error);
    if (status == FTH_OK && input->kind == FTH_INPUT_CAPSULE)
        status = replay(input, options, writer, error);
    else if (status == FTH_OK && !is_launch)
        status = import(input, writer, options->log, error);
    if (status == FTH_OK)
        status = open_written(options->output, fd, input->name, trace, error);
    if (fd >= 0)
        close(fd);
    return status;
}

enum fth_status fth_trace_obtain(const char *path, const struct fth_trace_options *given,
                                 struct fth_trace **trace, struct fth_error *error)
{
    struct fth_trace_options options;
    struct fth_launch *launch = NULL;
    struct fth_trace_input input;
    *trace = NULL;
    FTH_TRY(fth_options_read("fth_trace_options", given, &options, sizeof options, error));
    if (options.traced)
        *options.traced = NULL;
    FTH_TRY(fth_trace_input_open(path, options.log, &input, error));
    enum fth_status status;
    if (input.kind == FTH_INPUT_UNKNOWN && input.binary)
        status = fth_fail(error, FTH_INVALID, operation, input.name,
                          "this is a binary file, neither a trace nor a file with PTX; compile the "
                          "source with 'nvcc -ptx'");
    else if (input.kind == FTH_INPUT_UNKNOWN)
        status =
            fth_fail(error, FTH_INVALID, operation, input.name,
                     "unknown format: neither a trace, nor a launch file, nor a capsule, nor PTX");
    else if (input.kind != FTH_INPUT_TRACE)
        status = write_trace(&input, &options, &launch, trace, error);
    else if (options.output)
        status = fth_fail(error, FTH_INVALID, operation, input.name,
                          "it is already a fathom trace; -o is not needed");
    else
        status = fth_trace_attach(input.fd, input.name, trace, error);
    fth_trace_input_close(&input);
    if (status == FTH_OK && options.traced) {
        *options.traced = launch;
        launch = NULL;
    }
    fth_launch_destroy(launch);
    return status;
}
