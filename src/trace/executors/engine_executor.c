/* The executor for the PTX engine. It needs no GPU and can notify an observer of each access. */
#include "trace/launch/launch.h"

#include <stdlib.h>
#include <string.h>

struct engine {
    struct fth_ptx_machine *machine;
    const struct fth_ptx_observer *observer;
    bool skip_data;
    uint64_t *textures; /* and surfaces of the next run */
    size_t texture_count, texture_capacity;
};

static enum fth_status engine_alloc(void *context, uint64_t bytes, uint64_t *address,
                                    struct fth_error *error)
{
    struct engine *engine = context;
    return fth_ptx_alloc(engine->machine, bytes, address, error);
}

/* Returns the host memory for an address of a kernel; NULL and an error if it is not allocated. */
static void *host(const struct engine *engine, uint64_t address, uint64_t bytes,
                  struct fth_error *error)
{
    void *memory = fth_ptx_host(engine->machine, address, bytes);
    if (!memory)
        fth_fail(error, FTH_INVALID, "copy memory", NULL,
                 "the %llu bytes at 0x%llx are not allocated", (unsigned long long)bytes,
                 (unsigned long long)address);
    return memory;
}

static enum fth_status engine_write(void *context, uint64_t address, const void *data,
                                    uint64_t bytes, struct fth_error *error)
{
    void *memory = host(context, address, bytes, error);
    if (!memory)
        return FTH_INVALID;
    memcpy(memory, data, bytes);
    return FTH_OK;
}

static enum fth_status engine_read(void *context, uint64_t address, void *data, uint64_t bytes,
                                   struct fth_error *error)
{
    const struct engine *engine = context;
    const void *memory = host(engine, address, bytes, error);
    if (!memory)
        return FTH_INVALID;
    if (!fth_ptx_is_exact(engine->machine, address))
        return fth_fail(error, FTH_UNAVAILABLE, "read buffer", NULL,
                        "a trace does not compute the contents of buffers; run the launch");
    memcpy(data, memory, bytes);
    return FTH_OK;
}

static enum fth_status engine_symbol(void *context, const char *name, uint64_t *address,
                                     uint64_t *bytes, struct fth_error *error)
{
    const struct engine *engine = context;
    if (fth_ptx_symbol(engine->machine, name, address, bytes))
        return FTH_OK;
    return fth_fail(error, FTH_NOT_FOUND, "find variable", name, "the module has no such variable");
}

static enum fth_status engine_tensor_map(void *context, const struct fth_ptx_tensor_map *map,
                                         unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                         struct fth_error *error)
{
    (void)context;
    return fth_ptx_tensor_map_encode(map, bytes, error);
}

static enum fth_status engine_texture(void *context, const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                      struct fth_error *error)
{
    struct engine *engine = context;
    void *textures = engine->textures;
    *handle = 0;
    if (!fth_grow(&textures, engine->texture_count, &engine->texture_capacity,
                  sizeof *engine->textures))
        return fth_no_memory(error, "make texture", NULL);
    engine->textures = textures;
    FTH_TRY(sampling ? fth_ptx_texture_create(engine->machine, image, sampling, handle, error)
                     : fth_ptx_surface_create(engine->machine, image, handle, error));
    engine->textures[engine->texture_count++] = *handle;
    return FTH_OK;
}

static void free_textures(struct engine *engine)
{
    while (engine->texture_count)
        fth_ptx_texture_free(engine->machine, engine->textures[--engine->texture_count]);
}

static struct fth_ptx_launch launch_of(const struct engine *engine,
                                       const struct fth_launch_step *step, const void *arguments,
                                       size_t argument_bytes)
{
    return (struct fth_ptx_launch){
        .kernel = step->kernel->name,
        .grid = {step->grid[0], step->grid[1], step->grid[2]},
        .block = {step->block[0], step->block[1], step->block[2]},
        .cluster = {step->cluster[0], step->cluster[1], step->cluster[2]},
        .dynamic_shared_bytes = step->shared_bytes,
        .arguments = arguments,
        .argument_bytes = argument_bytes,
        .skip_data = engine->skip_data,
        .observer = engine->observer};
}

static enum fth_status engine_plan(void *context, const struct fth_launch_step *step,
                                   const void *arguments, size_t argument_bytes, bool *changed,
                                   struct fth_error *error)
{
    struct engine *engine = context;
    const struct fth_ptx_launch launch = launch_of(engine, step, arguments, argument_bytes);
    enum fth_status status = fth_ptx_plan(engine->machine, &launch, changed, error);
    free_textures(engine);
    return status;
}

static bool engine_omits(void *context, uint64_t address)
{
    const struct engine *engine = context;
    return fth_ptx_omit(engine->machine, address);
}

static enum fth_status engine_run(void *context, const struct fth_launch_step *step,
                                  const void *arguments, size_t argument_bytes,
                                  const struct fth_run_options *options,
                                  struct fth_launch_totals *totals, struct fth_error *error)
{
    struct engine *engine = context;
    struct fth_ptx_totals counted = {.fault = FTH_FAULT_NONE};
    struct fth_ptx_launch launch = launch_of(engine, step, arguments, argument_bytes);
    launch.threads = options->threads;
    launch.max_instructions = options->max_instructions;
    launch.log = options->log;
    launch.print = options->print;
    launch.print_user = options->print_user;
    if (!engine->observer) { /* traces ignore them */
        launch.copy_order = options->copy_order;
        launch.copy_seed = options->copy_seed;
        launch.check_async = options->check_async;
        launch.check_races = options->check_races;
    }
    enum fth_status status = fth_ptx_run(engine->machine, &launch, &counted, error);
    free_textures(engine);
    totals->warp_instructions += counted.warp_instructions;
    totals->thread_instructions += counted.thread_instructions;
    return status;
}

static void engine_close(void *context)
{
    struct engine *engine = context;
    fth_ptx_machine_destroy(engine->machine);
    free(engine->textures);
    free(engine);
}

enum fth_status fth_engine_open(const struct fth_ptx_module *module,
                                const struct fth_ptx_observer *observer, bool skip_data,
                                struct fth_executor *executor, struct fth_error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return fth_no_memory(error, "load module", NULL);
    engine->observer = observer;
    engine->skip_data = skip_data;
    enum fth_status status = fth_ptx_machine_create(module, &engine->machine, error);
    if (status != FTH_OK) {
        free(engine);
        return status;
    }
    *executor = (struct fth_executor){
        .context = engine,
        .alloc = engine_alloc,
        .write = engine_write,
        .read = engine_read,
        .symbol = engine_symbol,
        .run = engine_run,
        .plan = skip_data ? engine_plan : NULL,
        .omits = skip_data ? engine_omits : NULL,
        .tensor_map = engine_tensor_map,
        .texture = engine_texture,
        .close = engine_close,
    };
    return FTH_OK;
}
