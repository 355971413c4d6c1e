/* Runs a launch on an executor: allocates and fills the buffers, runs one kernel after the other,
 * and reads the buffers back. */
#include "trace/counters/counters.h"
#include "trace/launch/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t buffer_bytes(const struct fth_launch_buffer *buffer)
{
    return buffer->count * buffer->element->bytes;
}

/* Returns the initial contents of a buffer; the caller frees *out. */
static enum fth_status initial_contents(struct fth_launch *launch, size_t index, void **out,
                                        struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    void *data = calloc(1, buffer_bytes(buffer));
    enum fth_status status = data ? fth_launch_fill(launch, index, data, error)
                                  : fth_no_memory(error, "fill buffer", buffer->name);
    *out = status == FTH_OK ? data : NULL;
    if (status != FTH_OK)
        free(data);
    return status;
}

/* Finds the address of a variable. */
static enum fth_status find_variable(struct fth_launch *launch, struct fth_launch_buffer *buffer,
                                     struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    uint64_t bytes = 0;
    FTH_TRY(executor->symbol(executor->context, buffer->symbol, &buffer->address, &bytes, error));
    if (bytes < buffer_bytes(buffer)) /* only if a driver and the PTX engine disagree */
        return fth_fail(error, FTH_INVALID, "find variable", buffer->symbol,
                        "it has %llu bytes, not %llu", (unsigned long long)bytes,
                        (unsigned long long)buffer_bytes(buffer));
    return FTH_OK;
}

/* Allocates a buffer on the executor, or finds a variable there. */
static enum fth_status allocate(struct fth_launch *launch, struct fth_launch_buffer *buffer,
                                struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    if (buffer->symbol)
        return find_variable(launch, buffer, error);
    if (buffer->is_part)
        return FTH_OK;
    enum fth_status status =
        executor->alloc(executor->context, buffer_bytes(buffer), &buffer->address, error);
    if (status != FTH_OK && buffer->name)
        fth_error_context(error, "buffer '%s'", buffer->name);
    return status;
}

/* Sets the addresses of buffers that are parts of others. */
static void place_parts(struct fth_launch *launch)
{
    for (size_t i = 0; i < launch->buffer_count; i++) {
        struct fth_launch_buffer *buffer = &launch->buffers[i];
        if (buffer->is_part)
            buffer->address = launch->buffers[buffer->whole].address + buffer->part_offset;
    }
}

/* Writes the initial contents of a buffer, unless they do not matter. Files are always read, so
 * that a file that is too short is reported. */
static enum fth_status fill(struct fth_launch *launch, size_t index, struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    void *data = NULL;
    if (buffer->fill == FTH_FILL_MODULE || buffer->is_part)
        return FTH_OK;
    /* Variables are always written, because the module may state other contents. */
    if (!buffer->symbol &&
        (buffer->fill == FTH_FILL_ZERO || (buffer->fill != FTH_FILL_FILE && executor->omits &&
                                           executor->omits(executor->context, buffer->address))))
        return FTH_OK;
    if (buffer->fill == FTH_FILL_MEMORY) /* which can be large: without a copy */
        return executor->write(executor->context, buffer->address, buffer->memory,
                               buffer_bytes(buffer), error);
    enum fth_status status = initial_contents(launch, index, &data, error);
    if (status == FTH_OK)
        status =
            executor->write(executor->context, buffer->address, data, buffer_bytes(buffer), error);
    free(data);
    return status;
}

/* Builds the parameter block of a kernel; the caller frees *out. */
static enum fth_status pack_arguments(const struct fth_launch *launch,
                                      const struct fth_launch_step *step, uint8_t **out,
                                      struct fth_error *error)
{
    const struct fth_ptx_kernel *kernel = step->kernel;
    *out = NULL;
    FTH_TRY(fth_step_check(step, error));
    uint8_t *packed = calloc(1, kernel->parameter_bytes + 1);
    if (!packed)
        return fth_no_memory(error, "launch kernel", kernel->display_name);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < step->argument_count && status == FTH_OK; i++)
        status = fth_argument_pack(launch, &step->arguments[i], kernel->parameters[i].bytes,
                                   packed + kernel->parameters[i].offset, error);
    *out = packed;
    return status;
}

static enum fth_status run_step(struct fth_launch *launch, const struct fth_launch_step *step,
                                const struct fth_run_options *options,
                                struct fth_launch_totals *totals, struct fth_error *error)
{
    uint8_t *packed;
    enum fth_status status = pack_arguments(launch, step, &packed, error);
    if (status == FTH_OK)
        status = launch->executor.run(launch->executor.context, step, packed,
                                      step->kernel->parameter_bytes, options, totals, error);
    free(packed);
    return status;
}

/* Lets the executor prepare all steps. */
static enum fth_status plan_steps(const struct fth_launch *launch, struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    bool changed = executor->plan != NULL;
    enum fth_status status = FTH_OK;
    while (changed && status == FTH_OK) {
        changed = false;
        for (size_t i = launch->step_count; i-- > 0 && status == FTH_OK;) {
            const struct fth_launch_step *step = &launch->steps[i];
            uint8_t *packed;
            status = pack_arguments(launch, step, &packed, error);
            if (status == FTH_OK)
                status = executor->plan(executor->context, step, packed,
                                        step->kernel->parameter_bytes, &changed, error);
            free(packed);
            if (status != FTH_OK && launch->step_count > 1)
                fth_error_context(error, "launch %zu of %zu", i + 1, launch->step_count);
        }
    }
    return status;
}

static void close_executor(struct fth_launch *launch)
{
    if (launch->executor.close)
        launch->executor.close(launch->executor.context);
    launch->executor = (struct fth_executor){0};
}

enum fth_status fth_launch_run_on(struct fth_launch *launch, const struct fth_executor *executor,
                                  const struct fth_run_options *options,
                                  struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_launch_totals counted = {0, 0};
    enum fth_status status = FTH_OK;
    close_executor(launch);
    launch->executor = *executor;
    for (size_t i = 0; i < launch->buffer_count && status == FTH_OK; i++)
        status = allocate(launch, &launch->buffers[i], error);
    place_parts(launch);
    if (status == FTH_OK)
        status = plan_steps(launch, error);
    for (size_t i = 0; i < launch->buffer_count && status == FTH_OK; i++)
        status = fill(launch, i, error);
    for (size_t i = 0; i < launch->step_count && status == FTH_OK; i++) {
        launch->running = i;
        status = fth_log_interrupted(options->log)
                     ? fth_fail(error, FTH_INTERRUPTED, "run launches", NULL, "interrupted")
                     : run_step(launch, &launch->steps[i], options, &counted, error);
        launch->steps[i].seconds =
            status == FTH_OK && executor->seconds ? executor->seconds(executor->context) : NAN;
        if (status != FTH_OK && launch->step_count > 1)
            fth_error_context(error, "launch %zu of %zu", i + 1, launch->step_count);
    }
    if (totals)
        *totals = counted;
    return status;
}

static bool count_access(void *user, const struct fth_ptx_access *access)
{
    struct fth_launch *launch = user;
    fth_counters_add(&launch->counters[launch->running], access);
    return true;
}

static bool count_range(void *user, const struct fth_ptx_range *range)
{
    struct fth_launch *launch = user;
    fth_counters_add_range(&launch->counters[launch->running], range);
    return true;
}

enum fth_status fth_launch_add_spills(struct fth_launch *launch, const struct fth_log *log,
                                      struct fth_error *error)
{
    if (launch->no_spills || launch->has_spills)
        return FTH_OK;
    FTH_TRY(fth_ptx_add_spills(launch->module, error));
    launch->has_spills = true;
    for (size_t i = 0; i < launch->step_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < i; k++)
            is_known = is_known || launch->steps[k].kernel == launch->steps[i].kernel;
        if (!is_known)
            fth_ptx_note_spills(launch->steps[i].kernel, log);
    }
    return FTH_OK;
}

/* Opens the PTX engine, with an observer that counts if the options ask for it. */
static enum fth_status open_engine(struct fth_launch *launch, bool counts,
                                   struct fth_executor *executor, struct fth_error *error)
{
    if (counts) {
        launch->counters = calloc(launch->step_count + 1, sizeof *launch->counters);
        if (!launch->counters)
            return fth_no_memory(error, "run launches", NULL);
        launch->observer = (struct fth_ptx_observer){
            .user = launch, .parallel = true, .access = count_access, .range = count_range};
    }
    return fth_engine_open(launch->module, counts ? &launch->observer : NULL, false, executor,
                           error);
}

enum fth_status fth_launch_run(struct fth_launch *launch, const struct fth_run_options *options,
                               struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_run_options known;
    struct fth_executor executor;
    close_executor(launch);
    free(launch->counters);
    launch->counters = NULL;
    FTH_TRY(fth_options_read("fth_run_options", options, &known, sizeof known, error));
    if ((unsigned)known.copy_order > FTH_COPY_RANDOM)
        return fth_fail(error, FTH_INVALID, "run launches", NULL, "there is no copy order %d",
                        (int)known.copy_order);
    if (known.device && (known.copy_order || known.check_async || known.check_races))
        return fth_fail(error, FTH_INVALID, "run launches", known.device,
                        "the order of copies and the search for missing waits need the PTX engine");
    FTH_TRY(known.device
                ? fth_device_executor_open(&known, launch->ptx_path, &launch->ptx, &executor, error)
                : open_engine(launch, known.counts, &executor, error));
    return fth_launch_run_on(launch, &executor, &known, totals, error);
}

enum fth_status fth_launch_counter(const struct fth_launch *launch, size_t step, size_t counter,
                                   uint64_t *value, struct fth_error *error)
{
    *value = 0;
    if (!launch->counters)
        return fth_fail(error, FTH_UNAVAILABLE, "read counter", NULL,
                        "the last run did not count; set `counts` in its options");
    if (step >= launch->step_count || counter >= FTH_COUNTER_COUNT)
        return fth_fail(error, FTH_NOT_FOUND, "read counter", NULL,
                        "the launch has %zu steps, and there are %d counters", launch->step_count,
                        (int)FTH_COUNTER_COUNT);
    *value = launch->counters[step].values[counter];
    return FTH_OK;
}

bool fth_launch_was_started(const struct fth_launch *launch)
{
    return launch->executor.close != NULL;
}

double fth_launch_seconds(const struct fth_launch *launch, size_t step)
{
    return launch->executor.close && step < launch->step_count ? launch->steps[step].seconds : NAN;
}

/* ---- reading buffers ---- */

size_t fth_launch_buffer_count(const struct fth_launch *launch)
{
    return launch->buffer_count;
}

/* Reads the first `count` elements of a buffer from the executor; the caller frees *out. */
static enum fth_status fetch(const struct fth_launch *launch,
                             const struct fth_launch_buffer *buffer, uint64_t count, void **out,
                             struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    uint64_t bytes = count * buffer->element->bytes;
    *out = NULL;
    if (!executor->read)
        return fth_fail(error, FTH_UNAVAILABLE, "read buffer", buffer->name,
                        "the launch has not been run yet");
    void *data = malloc(bytes);
    enum fth_status status =
        data ? executor->read(executor->context, buffer->address, data, bytes, error)
             : fth_no_memory(error, "read buffer", buffer->name);
    if (status == FTH_OK)
        *out = data;
    else
        free(data);
    return status;
}

static struct fth_launch_view view_of(const struct fth_launch_buffer *buffer)
{
    return (struct fth_launch_view){buffer->name, buffer->number, buffer->element->name,
                                    buffer->element->bytes, buffer->count};
}

enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index, uint64_t max,
                                struct fth_launch_view *view, char **values,
                                struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    *view = view_of(buffer);
    *values = NULL;
    void *data;
    uint64_t shown = max && max < buffer->count ? max : buffer->count;
    FTH_TRY(fetch(launch, buffer, shown, &data, error));
    struct fth_buffer out = {0};
    for (uint64_t i = 0; i < shown; i++) {
        fth_buffer_text(&out, i ? " " : "");
        fth_scalar_format(buffer->element, (uint8_t *)data + i * buffer->element->bytes, &out);
    }
    size_t size;
    enum fth_status status = fth_buffer_take(&out, values, &size, error);
    fth_buffer_fini(&out);
    free(data);
    return status;
}

enum fth_status fth_launch_copy(const struct fth_launch *launch, size_t index,
                                struct fth_launch_view *view, void *memory, size_t size,
                                struct fth_error *error)
{
    static const char operation[] = "read buffer";
    const struct fth_executor *executor = &launch->executor;
    *view = (struct fth_launch_view){0};
    if (index >= launch->buffer_count)
        return fth_fail(error, FTH_NOT_FOUND, operation, NULL, "the launch has %zu buffers",
                        launch->buffer_count);
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    *view = view_of(buffer);
    if (size > buffer_bytes(buffer))
        return fth_fail(error, FTH_INVALID, operation, buffer->name,
                        "it has %llu bytes, fewer than %zu",
                        (unsigned long long)buffer_bytes(buffer), size);
    if (size && !executor->read)
        return fth_fail(error, FTH_UNAVAILABLE, operation, buffer->name,
                        "the launch has not been run yet");
    return size ? executor->read(executor->context, buffer->address, memory, size, error) : FTH_OK;
}

/* Finds a buffer by its name and describes it in *view. */
static enum fth_status find_buffer(const struct fth_launch *launch, const char *name, size_t *index,
                                   struct fth_launch_view *view, struct fth_error *error)
{
    for (*index = 0; *index < launch->buffer_count; (*index)++) {
        const struct fth_launch_buffer *buffer = &launch->buffers[*index];
        *view = view_of(buffer);
        if (buffer->name && strcmp(buffer->name, name) == 0)
            return FTH_OK;
    }
    return fth_fail(error, FTH_NOT_FOUND, "find buffer", name, "there is no buffer of this name");
}

enum fth_status fth_launch_values(const struct fth_launch *launch, const char *name,
                                  struct fth_launch_view *view, void **values,
                                  struct fth_error *error)
{
    size_t index;
    *values = NULL;
    FTH_TRY(find_buffer(launch, name, &index, view, error));
    return fth_launch_read_buffer(launch, index, view, values, error);
}

enum fth_status fth_launch_first_values(struct fth_launch *launch, const char *name,
                                        struct fth_launch_view *view, void **values,
                                        struct fth_error *error)
{
    size_t index;
    *values = NULL;
    FTH_TRY(find_buffer(launch, name, &index, view, error));
    if (launch->buffers[index].fill == FTH_FILL_MODULE)
        return fth_fail(error, FTH_UNAVAILABLE, "read buffer", name,
                        "the module states the initial contents of this variable");
    return initial_contents(launch, index, values, error);
}

enum fth_status fth_launch_read_buffer(const struct fth_launch *launch, size_t index,
                                       struct fth_launch_view *view, void **values,
                                       struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    *view = view_of(buffer);
    return fetch(launch, buffer, buffer->count, values, error);
}

double fth_launch_size(const struct fth_launch *launch, const char *name)
{
    size_t index = fth_scope_find(&launch->scope, name, strlen(name));
    return index < FTH_MAX_VARIABLES ? launch->scope.variables[index].value : 0;
}
