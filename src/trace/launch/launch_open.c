/* Opens a launch file or a PTX file, whichever the input is, for the commands and callers that
 * accept both. */
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <string.h>

const char *fth_launch_ptx_option(const struct fth_launch_options *options)
{
    static const uint32_t none[3] = {0, 0, 0};
    const struct {
        const char *name;
        bool given;
    } others[] = {
        {"entry", options->kernel != NULL},
        {"grid", memcmp(options->grid, none, sizeof none) != 0},
        {"block", memcmp(options->block, none, sizeof none) != 0},
        {"cluster", options->cluster != NULL},
        {"shared", options->shared_bytes != 0},
        {"arg", options->argument_count != 0},
        {"seed", options->seed != NULL},
        {"variable", options->variable_count != 0},
    };
    for (size_t i = 0; i < FTH_COUNT(others); i++)
        if (others[i].given)
            return others[i].name;
    return NULL;
}

/* Refuses options that only apply to PTX files. The names are those of the command line. */
static enum fth_status check_launch_file(const struct fth_trace_input *input,
                                         const struct fth_launch_options *options,
                                         struct fth_error *error)
{
    const char *name = fth_launch_ptx_option(options);
    if (name)
        return fth_fail(error, FTH_INVALID, "read launch file", input->path,
                        "--%s only applies to PTX files; a launch file contains this setting",
                        name);
    return FTH_OK;
}

/* Refuses options that only apply to capsules. */
static enum fth_status check_capsule_options(const struct fth_trace_input *input,
                                             const struct fth_launch_options *options,
                                             struct fth_error *error)
{
    const char *name = options->kernels                               ? "kernel"
                       : options->first_launch || options->end_launch ? "launch"
                       : options->max_memory_bytes                    ? "max-memory"
                                                                      : NULL;
    return name ? fth_fail(error, FTH_INVALID, "launch", input->path,
                           "--%s only applies to capsules%s", name,
                           options->kernels ? "; --entry selects a kernel of a PTX file" : "")
                : FTH_OK;
}

/* Sets the shape that the options state. Dimensions that are 0 are not stated. */
static enum fth_status set_shape(struct fth_launch *launch,
                                 const struct fth_launch_options *options, struct fth_error *error)
{
    struct fth_launch_shape shape = FTH_LAUNCH_SHAPE(.shared_bytes = options->shared_bytes);
    const bool has_block = options->block[0] || options->block[1] || options->block[2];
    for (int i = 0; i < 3; i++) {
        shape.grid[i] = options->grid[i] ? options->grid[i] : 1;
        shape.block[i] = options->block[i] ? options->block[i] : 1;
    }
    if (!has_block)
        shape.block[0] = 32;
    launch->has_shape = has_block || options->grid[0];
    if (options->cluster)
        memcpy(shape.cluster, options->cluster, sizeof shape.cluster);
    return fth_launch_set_shape(launch, &shape, error);
}

static enum fth_status open_ptx(const struct fth_trace_input *input,
                                const struct fth_launch_options *options,
                                struct fth_launch **launch, struct fth_error *error)
{
    struct fth_buffer content = {0};
    if (options->size_count)
        return fth_fail(error, FTH_INVALID, "read PTX", input->path,
                        "--set only applies to launch files");
    enum fth_status status = fth_trace_input_read(input, FTH_PTX_LIMIT, &content, error);
    if (status == FTH_OK)
        status =
            fth_launch_create_text(input->path, &content, options->kernel, options->all_kernels,
                                   options->seed ? *options->seed : 1, launch, error);
    for (size_t i = 0; i < options->argument_count && status == FTH_OK; i++)
        status = fth_launch_argument(*launch, options->arguments[i], error);
    if (status == FTH_OK)
        status = fth_launch_use_memory(*launch, options, error);
    for (size_t i = 0; i < options->variable_count && status == FTH_OK; i++)
        status = fth_launch_variable(*launch, options->variables[i], error);
    if (status == FTH_OK)
        status = set_shape(*launch, options, error);
    fth_buffer_fini(&content);
    return status;
}

static enum fth_status open_launch_file(const struct fth_trace_input *input,
                                        const struct fth_launch_options *options,
                                        struct fth_launch **launch, struct fth_error *error)
{
    struct fth_buffer content = {0};
    FTH_TRY(check_launch_file(input, options, error));
    enum fth_status status = fth_trace_input_read(input, FTH_LAUNCH_FILE_LIMIT, &content, error);
    if (status == FTH_OK)
        status =
            fth_launch_read_text(input->path, content.data, content.size, options, launch, error);
    fth_buffer_fini(&content);
    return status;
}

enum fth_status fth_launch_open_input(const struct fth_trace_input *input,
                                      const struct fth_launch_options *given,
                                      struct fth_launch **launch, struct fth_error *error)
{
    struct fth_launch_options options;
    *launch = NULL;
    FTH_TRY(fth_options_read("fth_launch_options", given, &options, sizeof options, error));
    FTH_TRY(check_capsule_options(input, &options, error));
    enum fth_status status = input->kind == FTH_INPUT_LAUNCH
                                 ? open_launch_file(input, &options, launch, error)
                                 : open_ptx(input, &options, launch, error);
    if (status == FTH_OK && *launch) {
        (*launch)->no_spills = options.no_spills;
        return FTH_OK;
    }
    fth_launch_destroy(*launch);
    *launch = NULL;
    return status;
}

enum fth_status fth_launch_open(const char *path, const struct fth_launch_options *options,
                                struct fth_launch **launch, struct fth_error *error)
{
    struct fth_trace_input input;
    *launch = NULL;
    FTH_TRY(fth_trace_input_open(path, NULL, &input, error));
    enum fth_status status;
    switch (input.kind) {
    case FTH_INPUT_TRACE:
    case FTH_INPUT_TUPLES:
    case FTH_INPUT_TRACEG:
        status = fth_fail(error, FTH_INVALID, "launch", input.name,
                          "it is a trace; expected a PTX file or a launch file");
        break;
    case FTH_INPUT_CAPSULE:
        status = fth_fail(error, FTH_UNSUPPORTED, "launch", input.name,
                          "it is a capsule; name the file instead of passing it on standard input");
        break;
    default: status = fth_launch_open_input(&input, options, launch, error); break;
    }
    fth_trace_input_close(&input);
    return status;
}
