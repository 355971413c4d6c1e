/* Implements struct fth_machine_ops for a simulated GPU. The PTX engine executes launches, and
 * sim_timing.c observes the execution and computes the time. All modules share one memory. */
#include "device/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "simulate GPU";

/* Maximum number of texels of a linear texture in CUDA, since Fermi. */
#define MAX_TEXELS ((uint64_t)1 << 27)
/* Compute capability, times 10, of a GPU whose description has none: Volta. */
#define DEFAULT_CAPABILITY 70
/* Alignment of the code of a module, in bytes of FTH_PTX_INSTRUCTION_BYTES per instruction. In
 * older architectures, 7 instructions take 64 bytes or 3 take 32. The factors 7 and 3 keep modules
 * aligned to instruction-cache lines there, too. */
#define CODE_ALIGN ((uint64_t)8192 * 7 * 3)

struct fth_machine_module {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t code_base;
    struct fth_machine_module *next;
};

struct sim {
    struct fth_sim_plan plan;
    struct fth_sim_timing timing;
    struct fth_gpu *facts;
    struct fth_ptx_machine *memory;
    struct fth_machine_module *modules;
    uint64_t next_code;
    uint64_t max_instructions; /* of a launch, as in struct fth_ptx_launch */
    struct fth_log log;        /* only `interrupted`, which stops a launch */
    uint64_t *objects;         /* handles of textures and surfaces, for objects_free */
    size_t object_count, object_capacity;
    int64_t marks[2];       /* times of the start mark and the end mark */
    struct fth_error fault; /* of a failed launch; after it, every launch fails */
};

/* ---- facts ---- */

/* Returns the size of the last cache, which the runner has to replace if a request is cold: that of
 * the L2 as the driver reports it, or, if the driver reports none because the device is one of
 * another vendor, the size of the larger one of L2 and L3. No probe sees this figure. */
static uint64_t find_l2_bytes(const struct sim *sim)
{
    const struct fth_sim_plan *plan = &sim->plan;
    if (!fth_sim_is_foreign(sim->facts))
        return (uint64_t)fth_gpu_number(sim->facts, "l2", "size_bytes", 0);
    return plan->l3.size_bytes > plan->l2.size_bytes ? plan->l3.size_bytes : plan->l2.size_bytes;
}

static void get_facts(void *machine, struct fth_machine_facts *facts)
{
    const struct sim *sim = machine;
    const char *text = fth_gpu_text(sim->facts, "device", "compute_capability");
    const char *dot = text ? strchr(text, '.') : NULL;
    *facts = (struct fth_machine_facts){
        .sms = sim->plan.sms,
        .capability = dot ? (unsigned)(strtoul(text, NULL, 10) * 10 + strtoul(dot + 1, NULL, 10))
                          : DEFAULT_CAPABILITY,
        .l2_bytes = find_l2_bytes(sim),
        .memory_bytes = sim->plan.memory_bytes,
        .block_shared_bytes = sim->plan.shared_block_bytes,
        .texels = MAX_TEXELS,
        .steady_clock = true,
        .host_access_is_free = true};
}

static enum fth_status describe(void *machine, struct fth_gpu *gpu, struct fth_error *error)
{
    const struct sim *sim = machine;
    return fth_sim_facts_copy(sim->facts, gpu, error);
}

/* ---- modules ---- */

static void free_module(struct fth_machine_module *module)
{
    fth_ptx_machine_destroy(module->machine);
    fth_ptx_destroy(module->module);
    free(module);
}

static enum fth_status load(void *machine, const char *name, const char *ptx, size_t size,
                            struct fth_machine_module **out, struct fth_error *error)
{
    struct sim *sim = machine;
    *out = NULL;
    struct fth_machine_module *module = calloc(1, sizeof *module);
    if (!module)
        return fth_no_memory(error, operation, name);
    enum fth_status status = fth_ptx_read_text_at(
        name, ptx, size, fth_ptx_next_address(sim->memory), &module->module, error);
    if (status == FTH_OK)
        status =
            fth_ptx_machine_create_shared(sim->memory, module->module, &module->machine, error);
    if (status != FTH_OK) {
        free_module(module);
        return status;
    }
    module->code_base = sim->next_code;
    sim->next_code +=
        (fth_ptx_code_bytes(module->module) + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    module->next = sim->modules;
    sim->modules = module;
    *out = module;
    return FTH_OK;
}

static void unload(void *machine, struct fth_machine_module *module)
{
    struct sim *sim = machine;
    struct fth_machine_module **link = &sim->modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = module->next;
    free_module(module);
}

static enum fth_status symbol(void *machine, struct fth_machine_module *module, const char *name,
                              uint64_t *address, uint64_t *bytes, struct fth_error *error)
{
    (void)machine;
    if (fth_ptx_symbol(module->machine, name, address, bytes))
        return FTH_OK;
    return fth_fail(error, FTH_NOT_FOUND, "find variable", name, "not defined in the module");
}

/* ---- memory ---- */

static enum fth_status get_free_bytes(void *machine, uint64_t *bytes, struct fth_error *error)
{
    (void)error;
    *bytes = fth_ptx_free_bytes(((const struct sim *)machine)->memory);
    return FTH_OK;
}

static enum fth_status allocate(void *machine, uint64_t bytes, uint64_t *address,
                                struct fth_error *error)
{
    return fth_ptx_alloc(((struct sim *)machine)->memory, bytes, address, error);
}

static void deallocate(void *machine, uint64_t address)
{
    /* An address that is not allocated has no effect. */
    if (fth_ptx_free(((struct sim *)machine)->memory, address, NULL) != FTH_OK)
        return;
}

static enum fth_status fail_not_allocated(uint64_t address, uint64_t bytes, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "copy to or from device memory", NULL,
                    "%llu bytes at 0x%llx are not allocated completely", (unsigned long long)bytes,
                    (unsigned long long)address);
}

static enum fth_status upload(void *machine, uint64_t address, const void *data, uint64_t bytes,
                              struct fth_error *error)
{
    void *host = fth_ptx_host(((struct sim *)machine)->memory, address, bytes);
    if (!host)
        return fail_not_allocated(address, bytes, error);
    memcpy(host, data, (size_t)bytes);
    return FTH_OK;
}

static enum fth_status download(void *machine, void *data, uint64_t address, uint64_t bytes,
                                struct fth_error *error)
{
    const void *host = fth_ptx_host(((struct sim *)machine)->memory, address, bytes);
    if (!host)
        return fail_not_allocated(address, bytes, error);
    memcpy(data, host, (size_t)bytes);
    return FTH_OK;
}

static enum fth_status fill(void *machine, uint64_t address, unsigned char byte, uint64_t bytes,
                            struct fth_error *error)
{
    if (fth_ptx_fill(((struct sim *)machine)->memory, address, byte, bytes))
        return FTH_OK;
    return fail_not_allocated(address, bytes, error);
}

static enum fth_status make_texture(void *machine, uint64_t address, uint64_t texels,
                                    uint64_t *handle, struct fth_error *error)
{
    struct sim *sim = machine;
    if (texels > MAX_TEXELS)
        return fth_fail(error, FTH_INVALID, "make texture", NULL,
                        "%llu texels exceed the maximum of %llu", (unsigned long long)texels,
                        (unsigned long long)MAX_TEXELS);
    return fth_ptx_texture(sim->memory, address, texels, FTH_TEXEL_U32, 1, handle, error);
}

static void free_texture(void *machine, uint64_t handle)
{
    fth_ptx_texture_free(((struct sim *)machine)->memory, handle);
}

static enum fth_status make_object(void *machine, const struct fth_ptx_image *image,
                                   const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                   struct fth_error *error)
{
    struct sim *sim = machine;
    void *objects = sim->objects;
    *handle = 0;
    if (!fth_grow(&objects, sim->object_count, &sim->object_capacity, sizeof *sim->objects))
        return fth_no_memory(error, "make texture", NULL);
    sim->objects = objects;
    FTH_TRY(sampling ? fth_ptx_texture_create(sim->memory, image, sampling, handle, error)
                     : fth_ptx_surface_create(sim->memory, image, handle, error));
    sim->objects[sim->object_count++] = *handle;
    return FTH_OK;
}

static enum fth_status free_objects(void *machine, struct fth_error *error)
{
    (void)error;
    struct sim *sim = machine;
    while (sim->object_count)
        fth_ptx_texture_free(sim->memory, sim->objects[--sim->object_count]);
    return FTH_OK;
}

static enum fth_status tensor_map(void *machine, const struct fth_ptx_tensor_map *map,
                                  unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                  struct fth_error *error)
{
    (void)machine;
    return fth_ptx_tensor_map_encode(map, bytes, error);
}

/* ---- launches ---- */

/* Returns the number of blocks of a grid or a cluster, or of threads of a block, given its x and
 * its y and z dimensions; 0 counts as 1. Returns UINT64_MAX on overflow. */
static uint64_t volume(uint32_t x, const uint32_t more[2])
{
    uint64_t plane = (uint64_t)(x ? x : 1) * (more[0] ? more[0] : 1), z = more[1] ? more[1] : 1;
    return plane > UINT64_MAX / z ? UINT64_MAX : plane * z;
}

/* Executes the launch before it returns. */
static enum fth_status launch(void *machine, const struct fth_machine_launch *launch,
                              struct fth_error *error)
{
    struct sim *sim = machine;
    if (sim->fault.status != FTH_OK)
        return fth_error_move(error, &sim->fault);
    const struct fth_ptx_kernel *kernel = fth_ptx_kernel(launch->module->module, launch->kernel);
    if (!kernel)
        return fth_fail(error, FTH_NOT_FOUND, "launch kernel", launch->kernel,
                        "the module has no kernel of this name");
    uint64_t shared_bytes = kernel->shared_bytes + launch->shared_bytes;
    if (shared_bytes < launch->shared_bytes || shared_bytes > sim->plan.shared_block_bytes)
        return fth_fail(error, FTH_INVALID, "launch kernel", launch->kernel,
                        "%llu bytes of shared memory exceed the maximum of %llu per block",
                        (unsigned long long)shared_bytes,
                        (unsigned long long)sim->plan.shared_block_bytes);
    uint64_t cluster = volume(launch->cluster, launch->cluster_yz);
    for (int i = 0; i < 3 && !launch->cluster && kernel->required_cluster[i]; i++)
        cluster *= kernel->required_cluster[i];
    if (cluster > 1 && (!sim->plan.has_clusters || cluster > FTH_SIM_MAX_CLUSTER))
        return fth_fail(error, FTH_UNSUPPORTED, "launch kernel", launch->kernel,
                        "the GPU does not support clusters of %llu blocks",
                        (unsigned long long)cluster);
    if (cluster > 1 && !fth_sim_places_fit(&sim->timing.places, (uint32_t)cluster))
        return fth_fail(error, FTH_UNSUPPORTED, "launch kernel", launch->kernel,
                        "no GPC has %llu SMs, as a cluster of as many blocks needs",
                        (unsigned long long)cluster);
    struct fth_ptx_observer observer = fth_sim_observer;
    observer.user = &sim->timing;
    const struct fth_ptx_launch run = {
        .kernel = launch->kernel,
        .grid = {launch->blocks, launch->blocks_yz[0], launch->blocks_yz[1]},
        .block = {launch->threads, launch->threads_yz[0], launch->threads_yz[1]},
        .cluster = {launch->cluster, launch->cluster_yz[0], launch->cluster_yz[1]},
        .dynamic_shared_bytes = (size_t)launch->shared_bytes,
        .arguments = launch->arguments,
        .argument_bytes = launch->argument_bytes,
        .threads = 1,
        .sms = sim->plan.sms,
        .max_instructions = sim->max_instructions,
        .copy_order = FTH_COPY_EARLY, /* the observer computes when they are complete */
        .observer = &observer,
        .log = &sim->log};
    const uint64_t threads = volume(launch->threads, launch->threads_yz);
    const uint64_t blocks = volume(launch->blocks, launch->blocks_yz);
    if (threads > (uint64_t)FTH_SIM_MAX_WARPS * 32)
        return fth_fail(error, FTH_INVALID, "launch kernel", launch->kernel,
                        "%llu threads per block exceed the maximum of %d",
                        (unsigned long long)threads, FTH_SIM_MAX_WARPS * 32);
    if (blocks > UINT32_MAX)
        return fth_fail(error, FTH_INVALID, "launch kernel", launch->kernel,
                        "more than 2^32 - 1 blocks");
    fth_sim_timing_launch(&sim->timing, launch->module->code_base, (uint32_t)blocks,
                          (uint32_t)threads, (uint32_t)cluster, shared_bytes,
                          launch->carveout_percent);
    enum fth_status status = fth_ptx_run(launch->module->machine, &run, NULL, &sim->fault);
    if (!fth_sim_timing_finish(&sim->timing)) {
        sim->fault = FTH_NO_ERROR;
        status = fth_no_memory(&sim->fault, operation, launch->kernel);
    }
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &sim->fault);
}

static enum fth_status wait_for_all(void *machine, double limit_s, struct fth_error *error)
{
    (void)limit_s;
    const struct sim *sim = machine;
    return sim->fault.status == FTH_OK ? FTH_OK : fth_error_move(error, &sim->fault);
}

static enum fth_status check_usable(void *machine, struct fth_error *error)
{
    return wait_for_all(machine, 0, error);
}

/* ---- time marks and copies ---- */

/* The start mark is the start of the next launch; the end mark is the end of the last one. */
static enum fth_status mark(void *machine, bool end, struct fth_error *error)
{
    (void)error;
    struct sim *sim = machine;
    sim->marks[end] = end ? sim->timing.end : sim->timing.start;
    return FTH_OK;
}

static enum fth_status marked_ns(void *machine, double *ns, struct fth_error *error)
{
    (void)error;
    const struct sim *sim = machine;
    const int64_t passed = sim->marks[1] - sim->marks[0];
    *ns = passed > 0 ? (double)passed / FTH_SIM_CYCLE / sim->plan.clock_mhz * 1e3 : 0;
    return FTH_OK;
}

static enum fth_status copy(void *machine, uint64_t to, uint64_t from, uint64_t bytes,
                            struct fth_error *error)
{
    struct sim *sim = machine;
    void *target = fth_ptx_host(sim->memory, to, bytes);
    const void *source = fth_ptx_host(sim->memory, from, bytes);
    if (!target || !source)
        return fail_not_allocated(target ? from : to, bytes, error);
    if (!fth_sim_timing_copy(&sim->timing, bytes))
        return fth_fail(error, FTH_UNSUPPORTED, "copy within device memory", NULL,
                        "the description has no memory bandwidth");
    memmove(target, source, (size_t)bytes);
    return FTH_OK;
}

static enum fth_status transfer(void *machine, const struct fth_transfer *transfer,
                                uint32_t *samples, struct fth_error *error)
{
    return fth_sim_transfer(&((const struct sim *)machine)->plan.link, transfer, samples, error);
}

/* ---- memory of the host ---- */

static void host_free(void *machine, const struct fth_host_memory *memory)
{
    fth_sim_remote_free(&((struct sim *)machine)->timing.remote);
    deallocate(machine, memory->address);
}

static enum fth_status host_alloc(void *machine, enum fth_residence residence, uint64_t bytes,
                                  struct fth_host_memory *memory, struct fth_error *error)
{
    struct sim *sim = machine;
    *memory = (struct fth_host_memory){.residence = residence};
    FTH_TRY(fth_sim_remote_check(&sim->plan, residence, error));
    FTH_TRY(allocate(machine, bytes, &memory->address, error));
    enum fth_status status = fth_sim_remote_alloc(&sim->timing.remote, &sim->plan, residence,
                                                  memory->address, bytes, error);
    if (status != FTH_OK) {
        deallocate(machine, memory->address);
        return status;
    }
    status = fill(machine, memory->address, 0, bytes, error);
    if (status != FTH_OK)
        host_free(machine, memory);
    return status;
}

static enum fth_status prefetch(void *machine, uint64_t address, uint64_t bytes,
                                struct fth_error *error)
{
    (void)address;
    (void)bytes;
    (void)error;
    fth_sim_remote_prefetch(&((struct sim *)machine)->timing.remote);
    return FTH_OK;
}

/* ---- creation and destruction ---- */

static void close_machine(void *machine)
{
    struct sim *sim = machine;
    if (!sim)
        return;
    while (sim->modules)
        unload(sim, sim->modules);
    fth_ptx_machine_destroy(sim->memory);
    fth_sim_timing_fini(&sim->timing);
    fth_sim_plan_fini(&sim->plan);
    fth_gpu_destroy(sim->facts);
    free(sim->objects);
    free(sim);
}

static const struct fth_machine_ops sim_ops = {.facts = get_facts,
                                               .describe = describe,
                                               .load = load,
                                               .unload = unload,
                                               .symbol = symbol,
                                               .alloc = allocate,
                                               .free = deallocate,
                                               .free_bytes = get_free_bytes,
                                               .upload = upload,
                                               .download = download,
                                               .fill = fill,
                                               .texture = make_texture,
                                               .texture_free = free_texture,
                                               .object = make_object,
                                               .objects_free = free_objects,
                                               .tensor_map = tensor_map,
                                               .launch = launch,
                                               .wait = wait_for_all,
                                               .check = check_usable,
                                               .mark = mark,
                                               .marked_ns = marked_ns,
                                               .copy = copy,
                                               .transfer = transfer,
                                               .host_alloc = host_alloc,
                                               .host_free = host_free,
                                               .prefetch = prefetch,
                                               .close = close_machine};

enum fth_status fth_sim_machine_create(const struct fth_gpu *gpu,
                                       const struct fth_machine_ops **ops, void **machine,
                                       struct fth_error *error)
{
    *machine = NULL;
    *ops = &sim_ops;
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return fth_no_memory(error, operation, NULL);
    sim->fault = FTH_NO_ERROR;
    enum fth_status status = fth_sim_check_description(gpu, error);
    if (status == FTH_OK)
        status = fth_sim_plan_init(&sim->plan, gpu, error);
    if (status == FTH_OK)
        status = fth_sim_check_plan(&sim->plan, error);
    if (status == FTH_OK)
        status = fth_sim_timing_init(&sim->timing, &sim->plan, error);
    if (status == FTH_OK)
        status = fth_sim_facts_create(gpu, &sim->plan, &sim->facts, error);
    if (status == FTH_OK)
        status = fth_ptx_machine_create(NULL, &sim->memory, error);
    if (status != FTH_OK) {
        close_machine(sim);
        return status;
    }
    fth_ptx_set_capacity(sim->memory, sim->plan.memory_bytes);
    *machine = sim;
    return FTH_OK;
}

void fth_sim_set_limit(void *machine, uint64_t max_instructions, const struct fth_log *log)
{
    struct sim *sim = machine;
    sim->max_instructions = max_instructions;
    if (log)
        sim->log = (struct fth_log){.interrupted = log->interrupted, .user = log->user};
}
