/* Launches. A launch that is written with the contents of memory waits for the GPU before and after
 * it, and copies the memory that it may access. */
#include "capture.h"

#include <stdatomic.h>

static atomic_uint_least64_t launches; /* that the program has executed so far */

uint64_t capture_take_numbers(uint64_t count)
{
    return atomic_fetch_add(&launches, count);
}

bool capture_is_in_range(uint64_t number)
{
    const struct options *options = &capture_options;
    return number >= options->first && (options->end == 0 || number < options->end) &&
           (number - options->first) % options->every == 0;
}

bool capture_is_expected(void)
{
    return capture_is_active() && (capture_options.end == 0 || launches < capture_options.end);
}

int capture_forward(const struct call *call)
{
    if (call->is_launched)
        return SUCCESS;
    const void *const real = capture_real(call->driver);
    const uint32_t *g = call->grid, *b = call->block;
    if (!real)
        return NOT_SUPPORTED;
    switch (call->driver) {
    case F_cuLaunchKernelEx:
    case F_cuLaunchKernelEx_ptsz:
        return ((int (*)(const void *, void *, void **, void **))real)(
            call->config, call->function, call->parameters, call->extra);
    case F_cuLaunchCooperativeKernel:
    case F_cuLaunchCooperativeKernel_ptsz:
        return ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void *, void **))real)(call->function, g[0], g[1], g[2], b[0],
                                                          b[1], b[2], call->shared_bytes,
                                                          call->stream, call->parameters);
    default:
        return ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void *, void **, void **))real)(
            call->function, g[0], g[1], g[2], b[0], b[1], b[2], call->shared_bytes, call->stream,
            call->parameters, call->extra);
    }
}

void capture_copy_parameters(const struct call *call, const struct function *function,
                             unsigned char *block)
{
    /* extra = {1, the address of a buffer, 2, the address of its size, 0} */
    enum { BUFFER = 1, BUFFER_BYTES = 2 };
    const void *buffer = NULL;
    size_t bytes = 0;
    for (size_t i = 0; call->parameters && i < function->parameter_count; i++)
        memcpy(block + function->parameters[i].offset, call->parameters[i],
               function->parameters[i].bytes);
    for (size_t i = 0; !call->parameters && call->extra && call->extra[i]; i += 2)
        if ((uintptr_t)call->extra[i] == BUFFER)
            buffer = call->extra[i + 1];
        else if ((uintptr_t)call->extra[i] == BUFFER_BYTES)
            bytes = *(const size_t *)call->extra[i + 1];
    if (buffer)
        memcpy(block, buffer, FTH_MIN(bytes, function->parameter_bytes));
}

/* Returns why a launch is written without the contents of memory; NULL: it is written with them. */
static const char *reason_against(const struct function *function,
                                  const struct fth_capsule_writer *writer)
{
    if (function->reason)
        return function->reason;
    if (!function->module)
        return "its module is unknown";
    if (!function->module->has_ptx && !function->module->code_bytes)
        return function->module->reason;
    if (capture_is_recording())
        return "a stream was being captured into a graph, so that fathom could not wait for the "
               "GPU";
    if (capture_options.max_bytes && fth_capsule_exceeds(writer, capture_options.max_bytes))
        return "the capsule has reached its size limit (--limit)";
    return NULL;
}

enum fth_status capture_check_launch(struct fth_capsule_writer *writer,
                                     const struct function *function, const char **reason,
                                     struct fth_error *error)
{
    if (function->module)
        FTH_TRY(capture_write_module(writer, function->module, error));
    *reason = reason_against(function, writer);
    return FTH_OK;
}

/* What is known of a launch while it is written. */
struct writing {
    struct fth_capsule_writer *writer;
    struct function *function;
    uint64_t number;
    unsigned char *parameters;
    struct contents contents;
    bool with_contents;
};

static enum fth_status before_launch(const struct call *call, struct writing *writing,
                                     const char **reason, struct fth_error *error)
{
    const struct function *function = writing->function;
    const char *own_reason = NULL;
    capture_copy_parameters(call, function, writing->parameters);
    capture_free_dropped();
    FTH_TRY(capture_check_launch(writing->writer, function, &own_reason, error));
    *reason = own_reason ? own_reason : *reason;
    FTH_TRY(capture_list_contents(function, writing->parameters, function->parameter_bytes,
                                  &writing->contents, error));
    if (!*reason)
        *reason = writing->contents.reason;
    writing->with_contents = !*reason && !capture_options.is_light && !call->is_launched;
    if (!writing->with_contents) {
        capture_note_change();
        return FTH_OK;
    }
    if (CALL(cuCtxSynchronize, (void)) != SUCCESS) {
        capture_note_change();
        writing->with_contents = false; /* an earlier launch has failed, as this one will */
        *reason = "an earlier launch failed";
        return FTH_OK;
    }
    return capture_write_before(writing->writer, &writing->contents, error);
}

static enum fth_status put_launch(const struct call *call, const struct writing *writing,
                                  const char *reason, struct fth_error *error)
{
    const struct function *function = writing->function;
    struct fth_capsule_launch launch = {.number = writing->number,
                                        .kernel = function->name,
                                        .module = function->module ? function->module->number : 0,
                                        .shared_bytes = call->shared_bytes,
                                        .is_cooperative = call->is_cooperative,
                                        .parameters = writing->parameters,
                                        .parameter_bytes = function->parameter_bytes,
                                        .regions = writing->contents.regions,
                                        .region_count = writing->contents.count,
                                        .tensor_maps = writing->contents.tensor_maps,
                                        .tensor_map_count = writing->contents.tensor_map_count,
                                        .textures = writing->contents.textures,
                                        .texture_count = writing->contents.texture_count,
                                        .reason = reason};
    memcpy(launch.grid, call->grid, sizeof launch.grid);
    memcpy(launch.block, call->block, sizeof launch.block);
    memcpy(launch.cluster, call->cluster, sizeof launch.cluster);
    return fth_capsule_put_launch(writing->writer, &launch, error);
}

int capture_write_launch(struct fth_capsule_writer **writer, const struct call *call,
                         struct function *function, uint64_t number, const char *reason)
{
    struct fth_error error = FTH_NO_ERROR;
    if (!*writer)
        return capture_forward(call);
    unsigned char *parameters = calloc(1, function->parameter_bytes + 1);
    struct writing writing = {
        .writer = *writer, .function = function, .number = number, .parameters = parameters};
    enum fth_status status = parameters ? before_launch(call, &writing, &reason, &error)
                                        : fth_no_memory(&error, "capture launch", NULL);
    const int result = capture_forward(call);
    if (status == FTH_OK && result == SUCCESS) {
        status = put_launch(call, &writing, reason, &error);
        /* If the launch fails, the program finds out as it would without a capture. */
        if (status == FTH_OK && writing.with_contents && CALL(cuCtxSynchronize, (void)) == SUCCESS)
            status = capture_write_after(*writer, number, &writing.contents, &error);
    }
    if (status != FTH_OK) {
        capture_fail(&error);
        *writer = NULL;
    }
    capture_contents_fini(&writing.contents);
    free(parameters);
    return result;
}

static int launch(const struct call *call)
{
    /* What a stream records is executed when the graph is launched. */
    if (capture_is_recording() && capture_records(call->stream))
        return capture_forward(call);
    const uint64_t number = capture_take_numbers(1);
    struct function *function = NULL;
    struct fth_capsule_writer *writer = capture_begin();
    if (!writer)
        return capture_forward(call);
    int result;
    if (capture_is_in_range(number))
        function = capture_function(call->function);
    if (function && function->is_selected) {
        result = capture_write_launch(&writer, call, function, number, NULL);
        capture_end();
    } else {
        capture_end();
        capture_note_change();
        result = capture_forward(call);
    }
    return result;
}

/* ---- the functions of the driver ---- */

/* `null` is the stream that NULL stands for. */
#define LAUNCH_FUNCTIONS(suffix, null)                                                             \
    WRAP(cuLaunchKernel##suffix, void *function, unsigned grid_x, unsigned grid_y,                 \
         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                    \
         unsigned shared_bytes, void *stream, void **parameters, void **extra)                     \
    {                                                                                              \
        return launch(&(struct call){.driver = F_cuLaunchKernel##suffix,                           \
                                     .function = function,                                         \
                                     .grid = {grid_x, grid_y, grid_z},                             \
                                     .block = {block_x, block_y, block_z},                         \
                                     .shared_bytes = shared_bytes,                                 \
                                     .stream = stream ? stream : pointer_to(null),                 \
                                     .parameters = parameters,                                     \
                                     .extra = extra});                                             \
    }                                                                                              \
    WRAP(cuLaunchCooperativeKernel##suffix, void *function, unsigned grid_x, unsigned grid_y,      \
         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                    \
         unsigned shared_bytes, void *stream, void **parameters)                                   \
    {                                                                                              \
        return launch(&(struct call){.driver = F_cuLaunchCooperativeKernel##suffix,                \
                                     .function = function,                                         \
                                     .grid = {grid_x, grid_y, grid_z},                             \
                                     .block = {block_x, block_y, block_z},                         \
                                     .shared_bytes = shared_bytes,                                 \
                                     .is_cooperative = true,                                       \
                                     .stream = stream ? stream : pointer_to(null),                 \
                                     .parameters = parameters});                                   \
    }                                                                                              \
    WRAP(cuLaunchKernelEx##suffix, const void *config, void *function, void **parameters,          \
         void **extra)                                                                             \
    {                                                                                              \
        struct call call = {.driver = F_cuLaunchKernelEx##suffix,                                  \
                            .function = function,                                                  \
                            .parameters = parameters,                                              \
                            .extra = extra,                                                        \
                            .config = config};                                                     \
        if (!config)                                                                               \
            return capture_forward(&call);                                                         \
        read_config(config, &call);                                                                \
        call.stream = call.stream ? call.stream : pointer_to(null);                                \
        return launch(&call);                                                                      \
    }

/* Reads a CUlaunchConfig. */
static void read_config(const void *config, struct call *call)
{
    memcpy(call->grid, config, 12);
    memcpy(call->block, (const char *)config + 12, 12);
    call->shared_bytes = (uint32_t)field(config, 24, 4);
    call->stream = pointer_to(field(config, 32, 8));
    const char *attributes = pointer_to(field(config, 40, 8));
    const uint64_t count = attributes ? field(config, 48, 4) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *attribute = attributes + i * ATTRIBUTE_BYTES;
        if (field(attribute, 0, 4) == ATTRIBUTE_COOPERATIVE)
            call->is_cooperative = field(attribute, ATTRIBUTE_VALUE, 4) != 0;
        else if (field(attribute, 0, 4) == ATTRIBUTE_CLUSTER)
            memcpy(call->cluster, attribute + ATTRIBUTE_VALUE, sizeof call->cluster);
    }
}

LAUNCH_FUNCTIONS(, 0)
LAUNCH_FUNCTIONS(_ptsz, STREAM_PER_THREAD)
