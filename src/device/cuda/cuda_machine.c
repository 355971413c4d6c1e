/* Implements struct fth_machine_ops (device/machine.h) with the CUDA driver. A machine is one open
 * GPU. All work goes to the default stream and is therefore executed in the order in which it was
 * requested.
 *
 * The waiting functions of the driver have no time limit, so this file polls the stream instead and
 * gives up after a time limit.
 *
 * Two failures make the machine unusable. The first is a kernel that exceeds the time limit of a
 * wait, because a running kernel cannot be stopped. The second is a sticky error, which every later
 * call in the context returns again. After either, the machine is *lost*: every later call fails at
 * once, and the error gives the reason. */
#include "device/cuda/cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Some functions of the driver, such as cuMemcpyDtoH, first wait for all queued work. Before
 * calling one, this file waits for that work itself, for at most this many seconds. Chosen:
 * longer than any sequence of queued launches should take, and still short for a user who waits. */
#define IMPLICIT_WAIT_LIMIT_S 60.0
/* A wait first polls for SPIN_S seconds without a pause: most launches of an experiment take 10 us
 * to 5 ms, and on an H200 sleeping between polls made the waits of a measurement a fifth longer.
 * After that, a wait sleeps between polls, for SLEEP_FRACTION of the time that has passed, so that
 * it takes at most about this fraction too long, and for at most MAX_SLEEP_S, which is too short
 * for a user to notice. Chosen, not derived. */
#define SPIN_S 10e-3
#define SLEEP_FRACTION (1.0 / 32)
#define MAX_SLEEP_S 2e-3

/* The lowest compute capability with L2 cache hints, as 10 * major + minor: 8.0 (PTX ISA,
 * createpolicy). */
enum { MIN_HINTS_CAPABILITY = 80 };

struct machine {
    struct fth_cuda cuda;
    struct fth_nvml nvml;
    int ordinal;
    fth_cu_device device;
    fth_cu_context context;
    struct fth_machine_facts facts;
    char id[64];
    char work[96]; /* the kernel or copy that was queued last; empty before the first one */
    struct fth_cuda_objects objects;
    struct fth_cuda_ahead *ahead; /* modules that are compiled ahead; NULL: none */
    void *events[2];              /* for `mark`: begin and end; NULL until first used */
    bool queued;    /* a launch, event or copy may not be complete; fills do not count */
    bool hung;      /* a kernel exceeded the time limit and may still be running */
    char lost[256]; /* why the machine is lost; empty if it is not */
};

struct cuda_kernel {
    char *name;
    fth_cu_function function;
    int carveout_percent; /* the current setting; -1: the driver's choice */
};

struct fth_machine_module {
    fth_cu_module module;
    struct cuda_kernel *kernels; /* handles of the kernels that have been launched */
    size_t count, capacity;
};

/* ---- lost machines ---- */

/* Fails if the machine is lost. Otherwise makes the context current for this thread, so that a
 * machine can be used by other threads than the one that opened it. */
static enum fth_status check_usable(const struct machine *machine, struct fth_error *error)
{
    if (machine->lost[0])
        return fth_fail(error, FTH_UNAVAILABLE, "use GPU", machine->id, "it is lost: %s",
                        machine->lost);
    fth_cu_result result = machine->cuda.context_set(machine->context);
    return result == 0 ? FTH_OK : fth_cuda_fail(&machine->cuda, result, "cuCtxSetCurrent", error);
}

static bool is_fatal(fth_cu_result result)
{
    return result != 0 && result != FTH_CU_NOT_READY;
}

static void mark_lost(struct machine *machine, fth_cu_result result)
{
    snprintf(machine->lost, sizeof machine->lost, "%s%s%s%s (error %d)",
             machine->work[0] ? "in or after the " : "", machine->work,
             machine->work[0] ? ": " : "", fth_cuda_text(&machine->cuda, result), result);
}

/* Returns the given status of a driver call. If the call failed, also queries the stream: the query
 * returns a sticky error again, and the machine is then marked as lost. */
static enum fth_status note_if_lost(struct machine *machine, enum fth_status status)
{
    if (status == FTH_OK || machine->lost[0] || !machine->cuda.stream_query)
        return status;
    fth_cu_result result = machine->cuda.stream_query(NULL);
    if (is_fatal(result))
        mark_lost(machine, result);
    return status;
}

/* ---- waiting ---- */

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_s(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* Implements `wait`: returns when all queued work is complete. If that takes longer than `limit_s`
 * seconds, or if the work caused an error, fails and marks the machine as lost. */
static enum fth_status wait_queue(void *user, double limit_s, struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    const double start = now_s();
    fth_cu_result result;
    while ((result = machine->cuda.stream_query(NULL)) == FTH_CU_NOT_READY) {
        double passed = now_s() - start;
        if (passed >= limit_s) {
            machine->hung = true;
            /* The last kernel or copy is named, although an earlier one may hang instead. */
            fth_format(machine->lost, sizeof machine->lost,
                       "%s did not complete within %g s and was abandoned",
                       machine->work[0] ? machine->work : "queued work", limit_s);
            return fth_fail(error, FTH_UNAVAILABLE, "use GPU", machine->id, "%s", machine->lost);
        }
        if (passed > SPIN_S)
            sleep_s(fmin(fmin(SLEEP_FRACTION * passed, MAX_SLEEP_S), limit_s - passed));
    }
    machine->queued = false;
    if (result == 0)
        return FTH_OK;
    mark_lost(machine, result);
    return fth_fail(error, FTH_UNAVAILABLE, "use GPU", machine->id, "%s", machine->lost);
}

/* To be called before a driver function that waits for queued work and has no time limit of its
 * own. Waits for that work first, if there is any, for at most IMPLICIT_WAIT_LIMIT_S. */
static enum fth_status wait_if_queued(struct machine *machine, struct fth_error *error)
{
    return machine->queued ? wait_queue(machine, IMPLICIT_WAIT_LIMIT_S, error)
                           : check_usable(machine, error);
}

/* Implements `check`. */
static enum fth_status check(void *user, struct fth_error *error)
{
    return check_usable(user, error);
}

/* ---- facts ---- */

static void facts(void *user, struct fth_machine_facts *facts)
{
    *facts = ((const struct machine *)user)->facts;
}

static enum fth_status describe(void *user, struct fth_gpu *gpu, struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    return fth_cuda_describe(&machine->cuda, machine->device, &machine->nvml, gpu, error);
}

static enum fth_status describe_load(void *user, struct fth_gpu *gpu, struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    return fth_cuda_describe_load(&machine->cuda, machine->device, &machine->nvml, gpu, error);
}

/* ---- modules ---- */

static void unload(void *user, struct fth_machine_module *module)
{
    struct machine *machine = user;
    if (!module)
        return;
    if (module->module && wait_if_queued(machine, NULL) == FTH_OK)
        fth_cuda_module_unload(&machine->cuda, module->module);
    for (size_t i = 0; i < module->count; i++)
        free(module->kernels[i].name);
    free(module->kernels);
    free(module);
}

static enum fth_status load(void *user, const char *name, const char *ptx, size_t size,
                            struct fth_machine_module **module, struct fth_error *error)
{
    struct machine *machine = user;
    *module = NULL;
    FTH_TRY(check_usable(machine, error));
    struct fth_machine_module *made = calloc(1, sizeof *made);
    char *text = made ? malloc(size + 1) : NULL;
    if (!text) {
        free(made);
        return fth_no_memory(error, "load kernels", name);
    }
    memcpy(text, ptx, size);
    text[size] = '\0';
    void *cubin = machine->ahead ? fth_cuda_ahead_take(machine->ahead, ptx, size) : NULL;
    enum fth_status status = FTH_UNAVAILABLE;
    if (cubin)
        status = fth_cuda_module_load(&machine->cuda, cubin, &made->module, NULL);
    free(cubin);
    if (status != FTH_OK)
        status =
            note_if_lost(machine, fth_cuda_module_load(&machine->cuda, text, &made->module, error));
    free(text);
    if (status == FTH_OK) {
        *module = made;
        return FTH_OK;
    }
    fth_error_context(error, "%s", name);
    unload(machine, made);
    return status;
}

/* Implements `load_ahead`. */
static void load_ahead(void *user, const char *ptx, size_t size)
{
    struct machine *machine = user;
    if (check_usable(machine, NULL) != FTH_OK)
        return;
    if (!machine->ahead)
        machine->ahead = fth_cuda_ahead_create(&machine->cuda, machine->context);
    if (machine->ahead)
        fth_cuda_ahead_add(machine->ahead, ptx, size);
}

static enum fth_status symbol(void *user, struct fth_machine_module *module, const char *name,
                              uint64_t *address, uint64_t *bytes, struct fth_error *error)
{
    struct machine *machine = user;
    *address = *bytes = 0;
    FTH_TRY(check_usable(machine, error));
    return note_if_lost(
        machine, fth_cuda_symbol(&machine->cuda, module->module, name, address, bytes, error));
}

/* ---- memory ---- */

static enum fth_status alloc(void *user, uint64_t bytes, uint64_t *address, struct fth_error *error)
{
    struct machine *machine = user;
    *address = 0;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine, fth_cuda_alloc(&machine->cuda, (size_t)bytes, address, error));
}

static void free_memory(void *user, uint64_t address)
{
    struct machine *machine = user;
    if (address && wait_if_queued(machine, NULL) == FTH_OK)
        fth_cuda_free(&machine->cuda, address);
}

static enum fth_status alloc_repeating(void *user, uint64_t bytes, uint64_t *address,
                                       uint64_t *period, struct fth_error *error)
{
    struct machine *machine = user;
    *address = 0;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine, fth_cuda_repeating_alloc(&machine->cuda, machine->device, bytes,
                                                          address, period, error));
}

static void free_repeating(void *user, uint64_t address, uint64_t bytes)
{
    struct machine *machine = user;
    if (address && wait_if_queued(machine, NULL) == FTH_OK)
        fth_cuda_repeating_free(&machine->cuda, address, bytes);
}

/* Implements `free_bytes`: returns how much memory is free. */
static enum fth_status get_free_bytes(void *user, uint64_t *bytes, struct fth_error *error)
{
    struct machine *machine = user;
    *bytes = 0;
    FTH_TRY(check_usable(machine, error));
    return note_if_lost(machine, fth_cuda_free_bytes(&machine->cuda, bytes, error));
}

static enum fth_status upload(void *user, uint64_t address, const void *data, uint64_t bytes,
                              struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine,
                        fth_cuda_upload(&machine->cuda, address, data, (size_t)bytes, error));
}

static enum fth_status download(void *user, void *data, uint64_t address, uint64_t bytes,
                                struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine,
                        fth_cuda_download(&machine->cuda, data, address, (size_t)bytes, error));
}

static enum fth_status fill(void *user, uint64_t address, unsigned char byte, uint64_t bytes,
                            struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine,
                        fth_cuda_fill(&machine->cuda, address, byte, (size_t)bytes, error));
}

static enum fth_status texture(void *user, uint64_t address, uint64_t texels, uint64_t *handle,
                               struct fth_error *error)
{
    struct machine *machine = user;
    *handle = 0;
    FTH_TRY(check_usable(machine, error));
    return note_if_lost(machine, fth_cuda_texture(&machine->cuda, address, texels, handle, error));
}

static void texture_free(void *user, uint64_t handle)
{
    struct machine *machine = user;
    if (handle && wait_if_queued(machine, NULL) == FTH_OK)
        fth_cuda_texture_destroy(&machine->cuda, handle);
}

static enum fth_status object(void *user, const struct fth_ptx_image *image,
                              const struct fth_ptx_sampling *sampling, uint64_t *handle,
                              struct fth_error *error)
{
    struct machine *machine = user;
    *handle = 0;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine, fth_cuda_object_create(&machine->cuda, &machine->objects, image,
                                                        sampling, handle, error));
}

static enum fth_status objects_free(void *user, struct fth_error *error)
{
    struct machine *machine = user;
    const enum fth_status status = machine->objects.first ? wait_if_queued(machine, error) : FTH_OK;
    const enum fth_status freed =
        fth_cuda_objects_free(&machine->cuda, &machine->objects, status == FTH_OK, error);
    return status == FTH_OK ? note_if_lost(machine, freed) : status;
}

static enum fth_status tensor_map(void *user, const struct fth_ptx_tensor_map *map,
                                  unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                  struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    return note_if_lost(machine, fth_cuda_tensor_map(&machine->cuda, map, bytes, error));
}

/* ---- launches ---- */

/* Finds a kernel's handle, which is looked up only once. */
static enum fth_status find_kernel(const struct machine *machine, struct fth_machine_module *module,
                                   const char *name, struct cuda_kernel **kernel,
                                   struct fth_error *error)
{
    for (size_t i = 0; i < module->count; i++)
        if (strcmp(module->kernels[i].name, name) == 0) {
            *kernel = &module->kernels[i];
            return FTH_OK;
        }
    struct cuda_kernel made = {.carveout_percent = -1};
    void *kernels = module->kernels;
    if (!fth_grow(&kernels, module->count, &module->capacity, sizeof made))
        return fth_no_memory(error, "launch", name);
    module->kernels = kernels;
    FTH_TRY(fth_cuda_function(&machine->cuda, module->module, name, &made.function, error));
    made.name = strdup(name);
    if (!made.name)
        return fth_no_memory(error, "launch", name);
    *kernel = &module->kernels[module->count++];
    **kernel = made;
    return FTH_OK;
}

static enum fth_status launch_kernel(struct machine *machine,
                                     const struct fth_machine_launch *launch,
                                     struct fth_error *error)
{
    if (launch->shared_bytes > UINT32_MAX)
        return fth_fail(error, FTH_INVALID, "launch", launch->kernel, "too much shared memory");
    struct cuda_kernel *kernel = NULL;
    FTH_TRY(find_kernel(machine, launch->module, launch->kernel, &kernel, error));
    if (launch->carveout_percent != kernel->carveout_percent) {
        FTH_TRY(
            fth_cuda_carveout(&machine->cuda, kernel->function, launch->carveout_percent, error));
        kernel->carveout_percent = launch->carveout_percent;
    }
    snprintf(machine->work, sizeof machine->work, "kernel '%.64s'", launch->kernel);
    const struct fth_cuda_launch shape = {
        .grid = {launch->blocks, launch->blocks_yz[0], launch->blocks_yz[1]},
        .block = {launch->threads, launch->threads_yz[0], launch->threads_yz[1]},
        .cluster = {launch->cluster, launch->cluster_yz[0], launch->cluster_yz[1]},
        .requires_large_cluster = launch->requires_large_cluster,
        .dynamic_shared_bytes = (unsigned)launch->shared_bytes,
        .arguments = launch->arguments,
        .argument_bytes = launch->argument_bytes,
        .parameters = launch->parameters,
        .parameter_count = launch->parameter_count,
    };
    FTH_TRY(fth_cuda_launch(&machine->cuda, kernel->function, &shape, error));
    machine->queued = true;
    return FTH_OK;
}

static enum fth_status launch(void *user, const struct fth_machine_launch *launch,
                              struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    return note_if_lost(machine, launch_kernel(machine, launch, error));
}

/* ---- timing, copies and transfers ---- */

/* Implements `mark`: queues the event that marks the start (`end` is false) or the end of the timed
 * work. */
static enum fth_status mark(void *user, bool end, struct fth_error *error)
{
    struct machine *machine = user;
    const struct fth_cuda *cuda = &machine->cuda;
    FTH_TRY(check_usable(machine, error));
    if (!cuda->event_create || !cuda->event_destroy || !cuda->event_record || !cuda->event_elapsed)
        return fth_fail(error, FTH_UNSUPPORTED, "time", machine->id,
                        "the driver is too old: it lacks event functions such as cuEventRecord");
    fth_cu_result result = 0;
    if (!machine->events[end])
        result = cuda->event_create(&machine->events[end], 0);
    if (result == 0)
        result = cuda->event_record(machine->events[end], NULL);
    /* Set even if the call failed; this costs at most one unnecessary wait. */
    machine->queued = true;
    return result == 0
               ? FTH_OK
               : note_if_lost(machine,
                              fth_cuda_fail(cuda, result, "cuEventCreate or cuEventRecord", error));
}

/* Implements `marked_ns`: waits for all queued work and returns the time between the two events. */
static enum fth_status marked_ns(void *user, double *ns, struct fth_error *error)
{
    struct machine *machine = user;
    float ms = 0;
    FTH_TRY(wait_if_queued(machine, error));
    fth_cu_result result = machine->cuda.event_elapsed(&ms, machine->events[0], machine->events[1]);
    *ns = 1e6 * (double)ms;
    return result == 0 ? FTH_OK
                       : note_if_lost(machine, fth_cuda_fail(&machine->cuda, result,
                                                             "cuEventElapsedTime", error));
}

/* Implements `copy`: queues a copy within the memory of the GPU. */
static enum fth_status copy(void *user, uint64_t to, uint64_t from, uint64_t bytes,
                            struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(check_usable(machine, error));
    if (!machine->cuda.copy_on_device)
        return fth_fail(error, FTH_UNSUPPORTED, "copy", machine->id,
                        "the driver is too old: it has no cuMemcpyDtoDAsync");
    snprintf(machine->work, sizeof machine->work, "copy of %llu bytes within the GPU",
             (unsigned long long)bytes);
    fth_cu_result result = machine->cuda.copy_on_device(to, from, (size_t)bytes, NULL);
    machine->queued = true; /* even if the call failed, as in `mark` */
    return result == 0 ? FTH_OK
                       : note_if_lost(machine, fth_cuda_fail(&machine->cuda, result,
                                                             "cuMemcpyDtoDAsync", error));
}

/* Implements `transfer`: copies between the GPU and the host or another GPU, and times each copy.
 * struct fth_transfer in device/device.h describes the samples. */
static enum fth_status transfer(void *user, const struct fth_transfer *transfer, uint32_t *samples,
                                struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(machine, fth_cuda_transfer(&machine->cuda, machine->ordinal,
                                                   machine->context, transfer, samples, error));
}

/* ---- memory of the host ---- */

static enum fth_status host_alloc(void *user, enum fth_residence residence, uint64_t bytes,
                                  struct fth_host_memory *memory, struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(
        machine, fth_cuda_host_alloc(&machine->cuda, residence, (size_t)bytes, memory, error));
}

static void host_free(void *user, const struct fth_host_memory *memory)
{
    struct machine *machine = user;
    if (wait_if_queued(machine, NULL) == FTH_OK)
        fth_cuda_host_free(&machine->cuda, memory);
}

static enum fth_status prefetch(void *user, uint64_t address, uint64_t bytes,
                                struct fth_error *error)
{
    struct machine *machine = user;
    FTH_TRY(wait_if_queued(machine, error));
    return note_if_lost(
        machine, fth_cuda_prefetch(&machine->cuda, address, (size_t)bytes, machine->device, error));
}

/* ---- opening and closing ---- */

static void close_machine(void *user)
{
    struct machine *machine = user;
    if (!machine)
        return;
    fth_nvml_close(&machine->nvml);
    if (machine->queued)
        wait_queue(machine, IMPLICIT_WAIT_LIMIT_S, NULL);
    if (machine->hung && machine->ahead)
        return; /* a compilation could wait for the kernel, too; its thread uses the machine */
    fth_cuda_ahead_destroy(machine->ahead);
    objects_free(machine, NULL);
    /* If a kernel hangs, the driver calls below could wait for it. They are then omitted, and the
     * resources are released when the process ends. */
    if (!machine->hung) {
        for (size_t i = 0; i < FTH_COUNT(machine->events); i++)
            if (machine->events[i] && check_usable(machine, NULL) == FTH_OK)
                machine->cuda.event_destroy(machine->events[i]);
        fth_cuda_context_close(&machine->cuda, machine->ordinal, machine->context);
        fth_cuda_close(&machine->cuda);
    }
    free(machine);
}

static void find_facts(struct machine *machine)
{
    const struct fth_cuda *cuda = &machine->cuda;
    const fth_cu_device device = machine->device;
    size_t memory = 0;
    int shared = fth_cuda_attribute(cuda, device, FTH_CU_BLOCK_SHARED_OPTIN);
    if (shared <= 0)
        shared = fth_cuda_attribute(cuda, device, FTH_CU_BLOCK_SHARED);
    if (cuda->device_memory(&memory, device) != 0)
        memory = 0;
    machine->facts = (struct fth_machine_facts){
        .sms = (uint32_t)fth_cuda_attribute(cuda, device, FTH_CU_SMS),
        .capability = (unsigned)(10 * fth_cuda_attribute(cuda, device, FTH_CU_MAJOR) +
                                 fth_cuda_attribute(cuda, device, FTH_CU_MINOR)),
        .l2_bytes = (uint64_t)fth_cuda_attribute(cuda, device, FTH_CU_L2_BYTES),
        .memory_bytes = memory,
        .block_shared_bytes = (uint64_t)shared,
        .texels = fth_cuda_texels(cuda, device), /* maximum of a linear texture */
        /* All resident blocks make progress, so they can wait for each other. A simulated GPU
         * executes them one after the other. */
        .concurrent = true,
    };
    machine->facts.hints = machine->facts.capability >= MIN_HINTS_CAPABILITY;
}

/* Creates the context, and opens NVML meanwhile. */
static enum fth_status open_driver(struct machine *machine, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_nvml_opening opening;
    fth_nvml_open_begin(&opening);
    enum fth_status status =
        fth_cuda_context_open(&machine->cuda, machine->ordinal, &machine->context, error);
    if (fth_nvml_open_end(&opening, &machine->nvml, &fault) != FTH_OK && status == FTH_OK)
        status = fth_error_move(error, &fault);
    return status;
}

enum fth_status fth_cuda_machine_create(struct fth_cuda *cuda, int ordinal, const char *id,
                                        void **machine, struct fth_error *error)
{
    *machine = NULL;
    struct machine *made = calloc(1, sizeof *made);
    if (!made) {
        fth_cuda_close(cuda); /* this function owns *cuda, also on failure */
        return fth_no_memory(error, "open GPU", id);
    }
    made->cuda = *cuda;
    made->ordinal = ordinal;
    snprintf(made->id, sizeof made->id, "%s", id);
    enum fth_status status = FTH_OK;
    if (!cuda->stream_query)
        status = fth_fail(error, FTH_UNSUPPORTED, "open GPU", id,
                          "the driver is too old: it has no cuStreamQuery");
    fth_cu_result result = cuda->device_get(&made->device, ordinal);
    if (status == FTH_OK && result != 0)
        status = fth_cuda_fail(cuda, result, "cuDeviceGet", error);
    if (status == FTH_OK)
        status = open_driver(made, error);
    if (status != FTH_OK) {
        close_machine(made);
        return status;
    }
    find_facts(made);
    *machine = made;
    return FTH_OK;
}

const struct fth_machine_ops fth_cuda_machine_ops = {
    .facts = facts,
    .describe = describe,
    .describe_load = describe_load,
    .load = load,
    .unload = unload,
    .load_ahead = load_ahead,
    .symbol = symbol,
    .alloc = alloc,
    .free = free_memory,
    .alloc_repeating = alloc_repeating,
    .free_repeating = free_repeating,
    .free_bytes = get_free_bytes,
    .upload = upload,
    .download = download,
    .fill = fill,
    .texture = texture,
    .texture_free = texture_free,
    .object = object,
    .objects_free = objects_free,
    .tensor_map = tensor_map,
    .launch = launch,
    .wait = wait_queue,
    .check = check,
    .mark = mark,
    .marked_ns = marked_ns,
    .copy = copy,
    .transfer = transfer,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .prefetch = prefetch,
    .close = close_machine,
};
