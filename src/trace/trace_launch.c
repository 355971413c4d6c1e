/* Traces the launches of a launch file or of the command line: runs them in the PTX engine with a
 * recorder as its observer. */
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdlib.h>

/* The executor that traces: the PTX engine, which it wraps so that each step becomes a launch of
 * the trace. */
struct tracing {
    struct fth_executor engine;
    struct fth_trace_recorder *recorder;
};

static enum fth_status traced_run(void *context, const struct fth_launch_step *step,
                                  const void *arguments, size_t argument_bytes,
                                  const struct fth_run_options *options,
                                  struct fth_launch_totals *totals, struct fth_error *error)
{
    struct tracing *tracing = context;
    struct fth_error engine_error = FTH_NO_ERROR;
    FTH_TRY(fth_trace_recorder_begin(tracing->recorder, step->kernel->name, step->grid, step->block,
                                     options->log, error));
    enum fth_status status = tracing->engine.run(tracing->engine.context, step, arguments,
                                                 argument_bytes, options, totals, &engine_error);
    return fth_trace_recorder_end(tracing->recorder, status,
                                  step->kernel->shared_bytes + step->shared_bytes, &engine_error,
                                  error);
}

static enum fth_status traced_alloc(void *context, uint64_t bytes, uint64_t *address,
                                    struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.alloc(tracing->engine.context, bytes, address, error);
}

static enum fth_status traced_write(void *context, uint64_t address, const void *data,
                                    uint64_t bytes, struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.write(tracing->engine.context, address, data, bytes, error);
}

static enum fth_status traced_read(void *context, uint64_t address, void *data, uint64_t bytes,
                                   struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.read(tracing->engine.context, address, data, bytes, error);
}

static enum fth_status traced_symbol(void *context, const char *name, uint64_t *address,
                                     uint64_t *bytes, struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.symbol(tracing->engine.context, name, address, bytes, error);
}

static enum fth_status traced_tensor_map(void *context, const struct fth_ptx_tensor_map *map,
                                         unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                         struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.tensor_map(tracing->engine.context, map, bytes, error);
}

static enum fth_status traced_texture(void *context, const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                      struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.texture(tracing->engine.context, image, sampling, handle, error);
}

static void traced_close(void *context)
{
    struct tracing *tracing = context;
    tracing->engine.close(tracing->engine.context);
    fth_trace_recorder_destroy(tracing->recorder);
    free(tracing);
}

static enum fth_status traced_plan(void *context, const struct fth_launch_step *step,
                                   const void *arguments, size_t argument_bytes, bool *changed,
                                   struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.plan(tracing->engine.context, step, arguments, argument_bytes, changed,
                                error);
}

static bool traced_omits(void *context, uint64_t address)
{
    struct tracing *tracing = context;
    return tracing->engine.omits(tracing->engine.context, address);
}

static enum fth_status open_tracing(const struct fth_launch *launch,
                                    struct fth_trace_writer *writer, bool skip_data,
                                    struct fth_executor *executor, struct fth_error *error)
{
    struct tracing *tracing = calloc(1, sizeof *tracing);
    if (!tracing)
        return fth_no_memory(error, "trace launch", NULL);
    enum fth_status status = fth_trace_recorder_create(writer, &tracing->recorder, error);
    if (status == FTH_OK)
        status = fth_engine_open(launch->module, fth_trace_recorder_observer(tracing->recorder),
                                 skip_data, &tracing->engine, error);
    if (status != FTH_OK) {
        fth_trace_recorder_destroy(tracing->recorder);
        free(tracing);
        return status;
    }
    *executor = (struct fth_executor){
        .context = tracing,
        .alloc = traced_alloc,
        .write = traced_write,
        .read = traced_read,
        .symbol = traced_symbol,
        .run = traced_run,
        .plan = tracing->engine.plan ? traced_plan : NULL,
        .omits = tracing->engine.omits ? traced_omits : NULL,
        .tensor_map = traced_tensor_map,
        .texture = traced_texture,
        .close = traced_close,
    };
    return FTH_OK;
}

enum fth_status fth_launch_trace_to(struct fth_launch *launch, struct fth_trace_writer *writer,
                                    bool skip_data, const struct fth_run_options *options,
                                    struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_executor executor;
    enum fth_status status = fth_launch_add_spills(launch, options->log, error);
    if (status == FTH_OK)
        status = open_tracing(launch, writer, skip_data, &executor, error);
    if (status == FTH_OK)
        status = fth_launch_run_on(launch, &executor, options, totals, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}

enum fth_status fth_launch_trace(struct fth_launch *launch, const char *path,
                                 const struct fth_run_options *options,
                                 struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_run_options known;
    struct fth_trace_writer *writer;
    FTH_TRY(fth_options_read("fth_run_options", options, &known, sizeof known, error));
    FTH_TRY(fth_trace_writer_create(path, &writer, error));
    /* The caller may read the buffers afterwards. */
    return fth_launch_trace_to(launch, writer, false, &known, totals, error);
}
