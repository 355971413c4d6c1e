/* Replays the launches of a capsule in a session: each launch gets the memory that it had in the
 * program, runs in the PTX engine, and its results can be compared with those of the program. A
 * launch does not depend on the launches before it, so any of them can be replayed alone. */
#include "program/replay_parts.h"
#include "program/session_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "replay capsule";

/* Address of the variables that were not captured, and of the engine's own memory. Processes and
 * GPUs have no memory here: see FTH_SESSION_BASE. */
#define REPLAY_BASE 0xb00000000000u

struct fth_replay {
    struct fth_arena arena; /* texts */
    struct fth_replay_launch *launches;
    size_t count, capacity;
    const char *truncated;
};

struct replayer {
    struct fth_replay_options options;
    struct fth_capsule *capsule;
    struct fth_gpu *gpu;
    struct fth_session *session;
    struct fth_replay_module *modules; /* by number - 1 */
    struct fth_replay_memory memory;
    struct fth_kernel_pattern kernels;
    bool stops;     /* at the first launch that fails */
    bool no_spills; /* as in struct fth_launch_options */
    struct fth_replay *replay;
};

/* ---- one launch ---- */

/* Sets *kept to a copy of the text that lives as long as the replay. */
static enum fth_status keep_text(struct fth_replay *replay, const char *text, const char **kept,
                                 struct fth_error *error)
{
    const char *copy = fth_arena_text(&replay->arena, text);
    *kept = copy ? copy : "";
    return copy ? FTH_OK : fth_no_memory(error, operation, NULL);
}

/* Appends why the results can differ, if the kernel shows it. */
static void explain(const struct fth_ptx_module *ptx, const char *kernel, char *text, size_t size)
{
    const struct fth_ptx_atomic_order order = fth_ptx_find_atomic_order(ptx, kernel);
    const size_t used = strlen(text);
    if (order.float_line)
        snprintf(text + used, size - used,
                 "; the kernel adds floating-point numbers atomically, in an order that the GPU "
                 "chooses (line %u of the PTX)",
                 order.float_line);
    else if (order.result_line)
        snprintf(
            text + used, size - used,
            "; the kernel uses the results of atomics, whose order the GPU chooses (line %u of "
            "the PTX)",
            order.result_line);
}

/* Describes a difference. */
static enum fth_status describe(struct fth_replay *replay,
                                const struct fth_replay_difference *found,
                                const struct fth_ptx_module *ptx, const char *kernel,
                                const char **reason, struct fth_error *error)
{
    char text[1024];
    const struct fth_capsule_region *region = found->region;
    int length = snprintf(text, sizeof text,
                          "%llu byte%s, first at 0x%llx: ", (unsigned long long)found->bytes,
                          found->bytes == 1 ? "" : "s", (unsigned long long)found->first);
    const unsigned long long offset = found->first - region->address;
    if (region->kind == FTH_CAPSULE_VARIABLE && region->variable) {
        char name[256];
        fth_demangle(region->variable, FTH_NAME_FULL, name, sizeof name);
        snprintf(text + length, sizeof text - (size_t)length, "byte %llu of variable '%s'", offset,
                 name);
    } else if (region->kind == FTH_CAPSULE_ARRAY) {
        snprintf(text + length, sizeof text - (size_t)length,
                 "byte %llu of the %llu of a CUDA array", offset,
                 (unsigned long long)region->bytes);
    } else {
        snprintf(text + length, sizeof text - (size_t)length, "byte %llu of the %llu at 0x%llx",
                 offset, (unsigned long long)region->bytes, (unsigned long long)region->address);
    }
    explain(ptx, kernel, text, sizeof text);
    return keep_text(replay, text, reason, error);
}

/* Compares the memory after a launch. */
static enum fth_status verify(struct replayer *replayer, const struct fth_capsule_launch *captured,
                              const struct fth_session_module *module,
                              struct fth_replay_launch *result, struct fth_error *error)
{
    struct fth_replay_difference difference;
    FTH_TRY(fth_replay_memory_compare(&replayer->memory, captured, module, &difference, error));
    result->differing_bytes = difference.bytes;
    result->first_address = difference.first;
    result->outcome = difference.bytes      ? FTH_REPLAY_DIFFERS
                      : difference.compared ? FTH_REPLAY_EXACT
                                            : FTH_REPLAY_NOT_VERIFIED;
    return difference.bytes ? describe(replayer->replay, &difference, module->ptx, captured->kernel,
                                       &result->reason, error)
                            : FTH_OK;
}

/* Runs a launch whose memory is in place. */
static enum fth_status execute(struct replayer *replayer, const struct fth_capsule_launch *captured,
                               const struct fth_session_launch *launch,
                               struct fth_replay_launch *result, struct fth_error *error)
{
    enum fth_ptx_fault fault;
    result->outcome = FTH_REPLAY_FAILED;
    FTH_TRY(fth_replay_lacks_data(&replayer->memory, captured, launch, &result->lacks_data, error));
    FTH_TRY(fth_session_run(replayer->session, launch, &fault, error));
    result->outcome = FTH_REPLAY_RAN;
    if (replayer->options.verifies)
        return verify(replayer, captured, launch->module, result, error);
    fth_replay_memory_keep(&replayer->memory, captured);
    return FTH_OK;
}

/* Runs a kernel of a module that is loaded. */
static enum fth_status run_kernel(struct replayer *replayer,
                                  const struct fth_capsule_launch *captured,
                                  struct fth_session_module *module,
                                  const struct fth_ptx_kernel *kernel,
                                  struct fth_replay_launch *result, struct fth_error *error)
{
    struct fth_session_launch launch = {.module = module,
                                        .kernel = kernel,
                                        .shared_bytes = captured->shared_bytes,
                                        .cooperative = captured->is_cooperative};
    if (captured->parameter_bytes < kernel->parameter_bytes)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the capsule has %zu bytes of parameters, but the kernel takes %zu",
                        captured->parameter_bytes, kernel->parameter_bytes);
    unsigned char *parameters = malloc(kernel->parameter_bytes + 1);
    if (!parameters)
        return fth_no_memory(error, operation, NULL);
    if (kernel->parameter_bytes)
        memcpy(parameters, captured->parameters, kernel->parameter_bytes);
    memcpy(launch.grid, captured->grid, sizeof launch.grid);
    memcpy(launch.block, captured->block, sizeof launch.block);
    memcpy(launch.cluster, captured->cluster, sizeof launch.cluster);
    launch.arguments = parameters;
    enum fth_status status = fth_session_resume(replayer->session, module, error);
    if (status == FTH_OK)
        status = fth_replay_memory_enter(&replayer->memory, captured, module, error);
    if (status == FTH_OK)
        status = fth_replay_tensor_maps(&replayer->memory, captured, module, parameters,
                                        kernel->parameter_bytes, error);
    if (status == FTH_OK)
        status = fth_replay_textures_enter(&replayer->memory, captured, error);
    if (status == FTH_OK)
        status = execute(replayer, captured, &launch, result, error);
    fth_replay_textures_leave(&replayer->memory, captured);
    fth_replay_memory_leave(&replayer->memory);
    fth_session_suspend(replayer->session, module);
    free(parameters);
    return status;
}

/* Replays a launch. FTH_UNSUPPORTED and FTH_UNAVAILABLE before it was run: it is skipped. */
static enum fth_status replay_launch(struct replayer *replayer,
                                     const struct fth_capsule_launch *captured,
                                     struct fth_replay_launch *result, struct fth_error *error)
{
    result->outcome = FTH_REPLAY_SKIPPED;
    if (captured->reason)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "%s", captured->reason);
    FTH_TRY(fth_replay_load(replayer->session, replayer->capsule, replayer->modules,
                            captured->module, error));
    struct fth_session_module *module = replayer->modules[captured->module - 1].loaded;
    const struct fth_ptx_kernel *kernel = fth_session_kernel(module, captured->kernel);
    if (!kernel)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the PTX of its module does not have the kernel");
    return run_kernel(replayer, captured, module, kernel, result, error);
}

/* ---- all launches ---- */

static bool is_selected(const struct replayer *replayer, const struct fth_capsule_launch *launch)
{
    const struct fth_replay_options *options = &replayer->options;
    return launch->number >= options->first &&
           (options->end == 0 || launch->number < options->end) &&
           fth_kernel_pattern_matches(&replayer->kernels, launch->kernel);
}

/* Returns whether a failure concerns one launch only. */
static bool is_local(enum fth_status status)
{
    return status == FTH_INVALID || status == FTH_UNSUPPORTED || status == FTH_UNAVAILABLE ||
           status == FTH_NOT_FOUND;
}

/* Sets the outcome of a launch that was not run to its end. */
static enum fth_status set_failure(struct fth_replay *replay, struct fth_replay_launch *result,
                                   const struct fth_error *failure, struct fth_error *error)
{
    const bool is_skipped =
        failure->status == FTH_UNSUPPORTED || failure->status == FTH_UNAVAILABLE;
    result->outcome = is_skipped && result->outcome == FTH_REPLAY_SKIPPED ? FTH_REPLAY_SKIPPED
                                                                          : FTH_REPLAY_FAILED;
    return keep_text(replay, failure->cause, &result->reason, error);
}

/* Describes the parameters of a launch, if the caller wants it. */
static enum fth_status describe_parameters(struct replayer *replayer,
                                           const struct fth_capsule_launch *captured,
                                           struct fth_replay_launch *result,
                                           struct fth_error *error)
{
    if (!replayer->options.describes_parameters)
        return FTH_OK;
    const bool is_loaded = fth_replay_load(replayer->session, replayer->capsule, replayer->modules,
                                           captured->module, NULL) == FTH_OK;
    return fth_replay_describe(&replayer->replay->arena, captured,
                               is_loaded ? replayer->modules[captured->module - 1].loaded : NULL,
                               result, error);
}

static enum fth_status add_launch(struct replayer *replayer,
                                  const struct fth_capsule_launch *captured,
                                  struct fth_error *error)
{
    struct fth_replay *replay = replayer->replay;
    struct fth_error failure = FTH_NO_ERROR;
    if (!fth_grow((void **)&replay->launches, replay->count, &replay->capacity,
                  sizeof *replay->launches))
        return fth_no_memory(error, operation, NULL);
    struct fth_replay_launch *result = &replay->launches[replay->count++];
    *result = (struct fth_replay_launch){.number = captured->number,
                                         .shared_bytes = captured->shared_bytes,
                                         .is_cooperative = captured->is_cooperative,
                                         .reason = ""};
    FTH_TRY(keep_text(replay, captured->kernel, &result->kernel, error));
    memcpy(result->grid, captured->grid, sizeof result->grid);
    memcpy(result->block, captured->block, sizeof result->block);
    memcpy(result->cluster, captured->cluster, sizeof result->cluster);
    FTH_TRY(describe_parameters(replayer, captured, result, error));
    const enum fth_status status = replay_launch(replayer, captured, result, &failure);
    if (status == FTH_OK)
        return FTH_OK;
    if (is_local(status))
        FTH_TRY(set_failure(replay, result, &failure, error));
    if (is_local(status) && !(replayer->stops && result->outcome == FTH_REPLAY_FAILED))
        return FTH_OK;
    fth_error_context(&failure, "launch %llu", (unsigned long long)captured->number);
    return fth_error_move(error, &failure);
}

/* Warns of launches whose results may be wrong or missing, once for each kernel and cause. */
static void warn(const struct replayer *replayer)
{
    const struct fth_replay *replay = replayer->replay;
    const struct fth_replay_launch *last = &replay->launches[replay->count - 1];
    const bool is_missing = replayer->stops && last->outcome == FTH_REPLAY_SKIPPED;
    char name[FTH_NAME_BYTES];
    if (!is_missing && !last->lacks_data)
        return;
    for (size_t i = 0; i + 1 < replay->count; i++) {
        const struct fth_replay_launch *launch = &replay->launches[i];
        if (launch->lacks_data == last->lacks_data && launch->outcome == last->outcome &&
            strcmp(launch->kernel, last->kernel) == 0)
            return;
    }
    (void)fth_demangle(last->kernel, FTH_NAME_SHORT, name, sizeof name);
    if (is_missing)
        fth_log_message(replayer->options.log, FTH_LOG_WARNING,
                        "%s is left out from launch %llu on: %s", name,
                        (unsigned long long)last->number, last->reason);
    else
        fth_log_message(replayer->options.log, FTH_LOG_WARNING,
                        "%s: its addresses or its control flow depend on data that the capsule "
                        "does not contain; they are those of memory with zeros. Capture the kernel "
                        "with its memory",
                        name);
}

static enum fth_status replay_all(struct replayer *replayer, struct fth_error *error)
{
    const size_t count = fth_capsule_launch_count(replayer->capsule);
    for (size_t i = 0; i < count; i++) {
        const struct fth_capsule_launch *launch = fth_capsule_launch(replayer->capsule, i);
        if (!is_selected(replayer, launch))
            continue;
        if (fth_log_interrupted(replayer->options.log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(add_launch(replayer, launch, error));
        warn(replayer);
    }
    return FTH_OK;
}

/* ---- the start ---- */

/* Reads the description of the GPU of the capsule, or that of an H200 if it is not in the
 * catalogue. It determines how many SMs a kernel finds. */
static enum fth_status find_gpu(const char *wanted, struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_catalogue *catalogue;
    FTH_TRY(fth_catalogue_open(&catalogue, error));
    enum fth_status status = FTH_OK;
    bool found = false;
    for (size_t i = 0; i < fth_catalogue_count(catalogue) && status == FTH_OK && !found; i++) {
        status = fth_catalogue_read(catalogue, fth_catalogue_name(catalogue, i), NULL, gpu, error);
        const char *name = status == FTH_OK ? fth_gpu_text(*gpu, "device", "name") : NULL;
        found = name && strcmp(name, wanted) == 0;
        if (!found) {
            fth_gpu_destroy(*gpu);
            *gpu = NULL;
        }
    }
    if (status == FTH_OK && !found)
        status = fth_catalogue_read(catalogue, "h200", NULL, gpu, error);
    fth_catalogue_close(catalogue);
    return status;
}

/* Returns the size of the memory of this machine in bytes. */
static uint64_t machine_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : UINT64_MAX;
}

static enum fth_status start(struct replayer *replayer, struct fth_trace_writer *trace,
                             struct fth_error *error)
{
    const struct fth_replay_options *options = &replayer->options;
    FTH_TRY(fth_kernel_pattern_init(&replayer->kernels, options->kernels, error));
    FTH_TRY(find_gpu(fth_capsule_info(replayer->capsule)->gpu, &replayer->gpu, error));
    replayer->modules =
        calloc((size_t)fth_capsule_module_count(replayer->capsule) + 1, sizeof *replayer->modules);
    replayer->replay = calloc(1, sizeof *replayer->replay);
    if (!replayer->modules || !replayer->replay)
        return fth_no_memory(error, operation, NULL);
    if (fth_capsule_is_truncated(replayer->capsule))
        replayer->replay->truncated =
            "the program ended before the capsule was complete; it has the launches until then";
    const struct fth_session_options session = {.gpu = replayer->gpu,
                                                .base = REPLAY_BASE,
                                                .trace = trace,
                                                .no_spills = replayer->no_spills,
                                                .max_instructions = options->max_instructions,
                                                .log = options->log,
                                                .print = options->print,
                                                .print_user = options->print_user};
    FTH_TRY(fth_session_create(&session, &replayer->session, error));
    /* Before the variables of modules, which come and go. */
    FTH_TRY(fth_session_reserve_workspace(replayer->session, error));
    replayer->memory = (struct fth_replay_memory){
        .session = replayer->session,
        .capsule = replayer->capsule,
        .max_bytes = options->max_memory_bytes ? options->max_memory_bytes : machine_bytes()};
    return fth_replay_memory_init(&replayer->memory, error);
}

static void finish(struct replayer *replayer)
{
    if (replayer->memory.session)
        fth_replay_memory_fini(&replayer->memory);
    fth_session_destroy(replayer->session);
    free(replayer->modules);
    fth_gpu_destroy(replayer->gpu);
    fth_kernel_pattern_fini(&replayer->kernels);
    fth_capsule_close(replayer->capsule);
    fth_replay_destroy(replayer->replay);
}

enum fth_status fth_capsule_replay(const char *path, const struct fth_replay_options *given,
                                   struct fth_replay **replay, struct fth_error *error)
{
    struct replayer replayer = {.stops = false};
    *replay = NULL;
    FTH_TRY(fth_options_read("fth_replay_options", given, &replayer.options,
                             sizeof replayer.options, error));
    FTH_TRY(fth_capsule_open(path, &replayer.capsule, error));
    enum fth_status status = start(&replayer, NULL, error);
    if (status == FTH_OK)
        status = replay_all(&replayer, error);
    if (status == FTH_OK) {
        *replay = replayer.replay;
        replayer.replay = NULL;
    }
    finish(&replayer);
    return status;
}

/* Returns the number of launches that ran. */
static size_t count_runs(const struct fth_replay *replay)
{
    size_t count = 0;
    for (size_t i = 0; i < replay->count; i++)
        count += replay->launches[i].outcome != FTH_REPLAY_SKIPPED;
    return count;
}

enum fth_status fth_capsule_trace(int fd, const char *path,
                                  const struct fth_replay_options *options, bool no_spills,
                                  struct fth_trace_writer *writer, struct fth_error *error)
{
    struct replayer replayer = {.options = *options, .stops = true, .no_spills = no_spills};
    FTH_TRY(fth_capsule_attach(fd, path, &replayer.capsule, error));
    enum fth_status status = start(&replayer, writer, error);
    if (status == FTH_OK)
        status = replay_all(&replayer, error);
    if (status == FTH_OK && replayer.replay->truncated)
        fth_log_message(options->log, FTH_LOG_WARNING, "%s", replayer.replay->truncated);
    if (status == FTH_OK && replayer.replay->count == 0)
        status = fth_fail(error, FTH_NOT_FOUND, operation, path, "no launch is selected");
    else if (status == FTH_OK && count_runs(replayer.replay) == 0)
        status = fth_fail(error, FTH_NOT_FOUND, operation, path,
                          "none of the %zu selected launches can be replayed; 'fathom run' says "
                          "why",
                          replayer.replay->count);
    finish(&replayer);
    return status;
}

/* ---- results ---- */

void fth_replay_destroy(struct fth_replay *replay)
{
    if (!replay)
        return;
    fth_arena_fini(&replay->arena);
    free(replay->launches);
    free(replay);
}

size_t fth_replay_launch_count(const struct fth_replay *replay)
{
    return replay->count;
}

const struct fth_replay_launch *fth_replay_launch_at(const struct fth_replay *replay, size_t index)
{
    return index < replay->count ? &replay->launches[index] : NULL;
}

const char *fth_replay_truncated(const struct fth_replay *replay)
{
    return replay->truncated;
}

const char *fth_replay_outcome_name(enum fth_replay_outcome outcome)
{
    static const char *const names[] = {"ran",          "exact",   "differs",
                                        "not verified", "skipped", "failed"};
    return (size_t)outcome < FTH_COUNT(names) ? names[outcome] : "unknown";
}
