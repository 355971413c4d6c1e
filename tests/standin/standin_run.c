/* The stand-in for NVIDIA's driver: contexts, modules, launches and memory. It translates the calls
 * to a simulated GPU and checks their arguments more strictly than the driver does.
 *
 * It has no modules, memory and launches of its own: those are the simulated GPU's (struct
 * fth_machine_ops), on the PTX engine. A session (src/program/), on which frontends/cuda/ is built,
 * cannot take its place: kernels of fathom read the clock, and the tests compare what they measure
 * with the description of the GPU. Sessions execute kernels without caches and without a clock that
 * the caches determine, and belong to one GPU. Programs that do not measure, such as those of the
 * tests of captures, run with frontends/cuda/ instead of this driver. */
#include "device/sim/sim.h"
#include "driver.h"
#include "ptx/ptx.h"

#include <stdio.h>

EXPORT int cuDeviceGetTexture1DLinearMaxWidth(size_t *texels, int format, unsigned channels,
                                              int device);
int cuDeviceGetTexture1DLinearMaxWidth(size_t *texels, int format, unsigned channels, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS && (format != 3 || channels != 1))
        result = INVALID_VALUE;
    if (result == SUCCESS)
        *texels = (size_t)standin_attribute(69);
    return result;
}

/* ---- contexts and the queue ---- */

enum { MAX_DEVICES = 2 };

struct context {
    int retained;
    const struct fth_machine_ops *ops;
    void *machine;
    int sticky; /* if not SUCCESS: the error that every call returns */
    bool hung;
    unsigned pending; /* how many more times cuStreamQuery returns NOT_READY */
    unsigned long long launches;
    struct module *modules;
};

static struct context contexts[MAX_DEVICES];
/* In the static block of thread-local memory, which is not allocated when a thread first uses it.
 */
static _Thread_local struct context *current __attribute__((tls_model("initial-exec")));
/* Contexts, modules, allocations (device and pinned), textures, streams and events that exist. */
static long live;

/* Returns the number of objects that were not released. Tests look this function up with dlsym. */
EXPORT long standin_live(void);
long standin_live(void)
{
    return live;
}

struct function {
    struct function *next;
    struct module *module;
    const struct fth_ptx_kernel *kernel;
    uint64_t allowed_shared_bytes;
    int carveout_percent;
    bool any_cluster; /* clusters of more than 8 blocks are allowed */
};

struct module {
    struct module *next;
    struct context *context;
    struct fth_machine_module *module;
    struct fth_ptx_module *parsed; /* for the size of each kernel's parameters */
    struct function *functions;
};

static int check(void)
{
    return !standin_initialised() ? NOT_INITIALIZED : !current ? INVALID_CONTEXT : current->sticky;
}

int standin_check(void)
{
    return check();
}

void standin_hang(void)
{
    current->hung = true;
}

void standin_add_live(long change)
{
    live += change;
}

const struct fth_machine_ops *standin_ops(struct context *context, void **machine)
{
    context = context ? context : current;
    *machine = context ? context->machine : NULL;
    return context ? context->ops : NULL;
}

static int fault(int result)
{
    current->sticky = result;
    return result;
}

/* Waits for all queued work, as the driver does in the calls that synchronise. */
int standin_drain(const char *call)
{
    int result = check();
    if (result != SUCCESS)
        return result;
    if (current->hung) {
        fprintf(stderr, "stand-in: %s would wait forever\n", call);
        abort();
    }
    current->pending = 0;
    struct fth_error error = FTH_NO_ERROR;
    if (current->ops->wait(current->machine, 3600, &error) == FTH_OK)
        return SUCCESS;
    char text[sizeof error];
    fprintf(stderr, "stand-in: %s\n", fth_error_text(&error, text, sizeof text));
    return fault(LAUNCH_FAILED);
}

static void free_module(struct module *module)
{
    module->context->ops->unload(module->context->machine, module->module);
    fth_ptx_destroy(module->parsed);
    while (module->functions) {
        struct function *next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    free(module);
}

EXPORT int cuDevicePrimaryCtxRetain(struct context **context, int device);
int cuDevicePrimaryCtxRetain(struct context **context, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result != SUCCESS)
        return result;
    *context = &contexts[device];
    if ((*context)->retained++ > 0)
        return SUCCESS;
    live++;
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    if (fth_sim_machine_create(standin_gpu(), &(*context)->ops, &(*context)->machine, &error) !=
        FTH_OK) {
        fprintf(stderr, "stand-in: %s\n", fth_error_text(&error, text, sizeof text));
        abort();
    }
    return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    LOCKED;
    if (device < 0 || device >= MAX_DEVICES || !contexts[device].retained)
        return INVALID_CONTEXT;
    struct context *context = &contexts[device];
    if (context->hung) {
        fprintf(stderr, "stand-in: cuDevicePrimaryCtxRelease would wait forever\n");
        abort();
    }
    if (--context->retained)
        return SUCCESS;
    live--;
    while (context->modules) {
        struct module *next = context->modules->next;
        free_module(context->modules);
        context->modules = next;
        live--;
    }
    context->ops->close(context->machine);
    if (current == context)
        current = NULL;
    *context = (struct context){.retained = 0};
    return SUCCESS;
}

EXPORT int cuCtxSetCurrent(struct context *context);
int cuCtxSetCurrent(struct context *context)
{
    LOCKED;
    if (!standin_initialised())
        return NOT_INITIALIZED;
    if (context && !context->retained)
        return INVALID_CONTEXT;
    current = context;
    return SUCCESS;
}

EXPORT int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    LOCKED;
    return standin_drain("cuCtxSynchronize");
}

EXPORT int cuStreamQuery(void *stream);
int cuStreamQuery(void *stream)
{
    LOCKED;
    int result = check();
    if (result != SUCCESS)
        return result;
    if (stream)
        return INVALID_HANDLE;
    if (current->hung || (current->pending && current->pending--))
        return NOT_READY;
    return standin_drain("cuStreamQuery");
}

/* ---- modules ---- */

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

static void put_log(const char *log, unsigned count, const int *options, void **values)
{
    char *text = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == JIT_ERROR_LOG)
            text = values[i];
        else if (options[i] == JIT_ERROR_LOG_BYTES)
            size = (size_t)(uintptr_t)values[i];
    if (text && size)
        snprintf(text, size, "%s", log);
}

EXPORT int cuModuleLoadDataEx(struct module **module, const void *image, unsigned count,
                              int *options, void **values);
int cuModuleLoadDataEx(struct module **module, const void *image, unsigned count, int *options,
                       void **values)
{
    LOCKED;
    int result = check();
    if (result != SUCCESS)
        return result;
    if (mode_is("jit", NULL)) {
        put_log("ptxas application ptx input, line 12; fatal : Parsing error near '@'\n"
                "ptxas fatal : Ptx assembly aborted due to errors\n",
                count, options, values);
        return INVALID_PTX;
    }
    struct fth_error error = FTH_NO_ERROR;
    struct module *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->context = current;
    enum fth_status status =
        fth_ptx_read_text("ptx input", image, strlen(image), &made->parsed, &error);
    if (status == FTH_OK)
        status = current->ops->load(current->machine, "ptx input", image, strlen(image),
                                    &made->module, &error);
    if (status != FTH_OK) {
        char text[sizeof error];
        put_log(fth_error_text(&error, text, sizeof text), count, options, values);
        fth_ptx_destroy(made->parsed);
        free(made);
        return status == FTH_NO_MEMORY ? OUT_OF_MEMORY : INVALID_PTX;
    }
    made->next = current->modules;
    current->modules = made;
    *module = made;
    live++;
    return SUCCESS;
}

/* ---- linking: the result is the PTX itself, which cuModuleLoadDataEx compiles ---- */

struct link {
    char *text;
    size_t bytes;
};

EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, struct link **link);
int cuLinkCreate_v2(unsigned count, int *options, void **values, struct link **link)
{
    LOCKED;
    int result = check();
    (void)options;
    (void)values;
    if (result != SUCCESS)
        return result;
    if (count || !(*link = calloc(1, sizeof **link)))
        return INVALID_VALUE;
    live++;
    return SUCCESS;
}

EXPORT int cuLinkAddData_v2(struct link *link, int type, void *data, size_t bytes, const char *name,
                            unsigned count, int *options, void **values);
int cuLinkAddData_v2(struct link *link, int type, void *data, size_t bytes, const char *name,
                     unsigned count, int *options, void **values)
{
    LOCKED;
    (void)options;
    (void)values;
    if (type != 1 || !name || count || link->text || bytes == 0 || ((char *)data)[bytes - 1])
        return INVALID_VALUE;
    if (mode_is("jit", NULL))
        return INVALID_PTX;
    link->text = malloc(bytes);
    if (!link->text)
        return OUT_OF_MEMORY;
    memcpy(link->text, data, bytes);
    link->bytes = bytes;
    return SUCCESS;
}

EXPORT int cuLinkComplete(struct link *link, void **cubin, size_t *bytes);
int cuLinkComplete(struct link *link, void **cubin, size_t *bytes)
{
    LOCKED;
    *cubin = link->text;
    *bytes = link->bytes;
    return link->text ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuLinkDestroy(struct link *link);
int cuLinkDestroy(struct link *link)
{
    LOCKED;
    free(link->text);
    free(link);
    live--;
    return SUCCESS;
}

EXPORT int cuModuleUnload(struct module *module);
int cuModuleUnload(struct module *module)
{
    LOCKED;
    int result = standin_drain("cuModuleUnload");
    if (result != SUCCESS)
        return result;
    struct module **at = &current->modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (!*at)
        return INVALID_HANDLE;
    *at = module->next;
    free_module(module);
    live--;
    return SUCCESS;
}

EXPORT int cuModuleGetFunction(struct function **function, struct module *module, const char *name);
int cuModuleGetFunction(struct function **function, struct module *module, const char *name)
{
    LOCKED;
    int result = check();
    if (result != SUCCESS)
        return result;
    const struct fth_ptx_kernel *kernel = fth_ptx_kernel(module->parsed, name);
    if (!kernel)
        return NOT_FOUND;
    struct function *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    *made = (struct function){module->functions, module, kernel, 48 << 10, -1, false};
    module->functions = made;
    *function = made;
    return SUCCESS;
}

EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, struct module *module,
                                const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, struct module *module, const char *name)
{
    LOCKED;
    int result = check();
    if (result != SUCCESS)
        return result;
    uint64_t size = 0;
    if (current->ops->symbol(current->machine, module->module, name, address, &size, NULL) !=
        FTH_OK)
        return NOT_FOUND;
    *bytes = (size_t)size;
    return SUCCESS;
}

EXPORT int cuFuncSetAttribute(struct function *function, int attribute, int value);
int cuFuncSetAttribute(struct function *function, int attribute, int value)
{
    LOCKED;
    int result = check();
    if (result != SUCCESS)
        return result;
    if (attribute == 8 && value >= 0 && value <= standin_attribute(97))
        function->allowed_shared_bytes = (uint64_t)value;
    else if (attribute == 9 && value >= -1 && value <= 100)
        function->carveout_percent = value;
    else if (attribute == 14 && (value == 0 || value == 1))
        function->any_cluster = value;
    else
        return INVALID_VALUE;
    return SUCCESS;
}

/* The largest parameter block of a kernel in bytes (CUDA C++ Programming Guide). */
enum { MAX_ARGUMENT_BYTES = 32764 };

/* Copies the arguments of a launch, which are passed as pointers to each of them, or as one buffer:
 * extra = {1, address, 2, address of its size, 0}. Returns false if they are passed differently, or
 * if their size is not that of the kernel's parameters. */
static bool copy_arguments(const struct fth_ptx_kernel *kernel, void **each, void **extra,
                           unsigned char bytes[MAX_ARGUMENT_BYTES])
{
    if (kernel->parameter_bytes > MAX_ARGUMENT_BYTES || (each && extra))
        return false;
    if (!kernel->parameter_bytes)
        return !each && !extra;
    if (each) {
        for (size_t i = 0; i < kernel->parameter_count; i++)
            memcpy(bytes + kernel->parameters[i].offset, each[i], kernel->parameters[i].bytes);
        return true;
    }
    /* A buffer must have the layout of the machine code, which differs from that of the PTX if
     * there is a tensor map. */
    for (size_t i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].bytes == 128)
            return false;
    if (!extra || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4] ||
        *(const size_t *)extra[3] != kernel->parameter_bytes)
        return false;
    memcpy(bytes, extra[1], kernel->parameter_bytes);
    return true;
}

static int launch(struct function *function, const unsigned grid[3], const unsigned block[3],
                  const unsigned cluster[3], unsigned shared_bytes, void **each, void **extra)
{
    unsigned long long faulty_launch = 3;
    int result = check();
    if (result != SUCCESS)
        return result;
    const struct fth_ptx_kernel *kernel = function->kernel;
    unsigned char arguments[MAX_ARGUMENT_BYTES];
    if (shared_bytes > function->allowed_shared_bytes ||
        !copy_arguments(kernel, each, extra, arguments) || function->module->context != current)
        return INVALID_VALUE;
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || grid[i] > standin_attribute(5 + i) ||
            block[i] > standin_attribute(2 + i))
            return INVALID_VALUE;
    if ((double)block[0] * block[1] * block[2] > standin_attribute(1))
        return INVALID_VALUE;
    const uint32_t *required = kernel->required_cluster;
    if (required[0] * required[1] * required[2] > 8 && !function->any_cluster)
        return INVALID_CLUSTER_SIZE;
    if (mode_is("hang", NULL)) {
        current->hung = true;
        return SUCCESS;
    }
    current->launches++;
    if (mode_is("lost-later", &faulty_launch) && current->launches >= faulty_launch) {
        /* As on a GPU, a later call reports the fault. */
        current->sticky = LAUNCH_FAILED;
        return SUCCESS;
    }
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status =
        current->ops->launch(current->machine,
                             &(struct fth_machine_launch){
                                 .module = function->module->module,
                                 .kernel = kernel->name,
                                 .blocks = grid[0],
                                 .threads = block[0],
                                 .blocks_yz = {grid[1], grid[2]},
                                 .threads_yz = {block[1], block[2]},
                                 .cluster = cluster[0],
                                 .cluster_yz = {cluster[1], cluster[2]},
                                 .shared_bytes = shared_bytes,
                                 .carveout_percent = function->carveout_percent,
                                 .arguments = arguments,
                                 .argument_bytes = kernel->parameter_bytes,
                             },
                             &error);
    if (status == FTH_UNSUPPORTED)
        return INVALID_CLUSTER_SIZE;
    current->pending = 2;
    if (status != FTH_OK) {
        char text[sizeof error];
        fprintf(stderr, "stand-in: %s\n", fth_error_text(&error, text, sizeof text));
        current->sticky = LAUNCH_FAILED;
    }
    return SUCCESS;
}

EXPORT int cuLaunchKernel(struct function *function, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra);
int cuLaunchKernel(struct function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **extra)
{
    LOCKED;
    if (stream)
        return INVALID_VALUE;
    return launch(function, (unsigned[]){grid_x, grid_y, grid_z},
                  (unsigned[]){block_x, block_y, block_z}, (unsigned[]){0, 0, 0}, shared_bytes,
                  arguments, extra);
}

/* ---- fields of the driver's structures: read at the offsets that the driver's documentation
 * implies, not with the declarations under test ---- */

uint64_t standin_field(const void *descriptor, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)descriptor + offset, bytes);
    return value;
}

EXPORT int cuLaunchKernelEx(const void *config, struct function *function, void **arguments,
                            void **extra);
int cuLaunchKernelEx(const void *config, struct function *function, void **arguments, void **extra)
{
    LOCKED;
    enum { CLUSTER_DIMENSION = 4 };
    unsigned shape[6];
    memcpy(shape, config, sizeof shape);
    const unsigned char *attribute;
    memcpy(&attribute, (const char *)config + 40, sizeof attribute);
    if (standin_field(config, 32, 8) != 0 || standin_field(config, 48, 4) != 1 ||
        standin_field(attribute, 0, 4) != CLUSTER_DIMENSION)
        return INVALID_VALUE;
    unsigned cluster[3];
    memcpy(cluster, attribute + 8, sizeof cluster);
    for (int i = 0; i < 3; i++)
        if (cluster[i] == 0 || cluster[i] > 16 || shape[i] % cluster[i])
            return INVALID_VALUE;
    const unsigned blocks = cluster[0] * cluster[1] * cluster[2];
    if (standin_attribute(75) < 9 || blocks > 16 || (blocks > 8 && !function->any_cluster))
        return INVALID_CLUSTER_SIZE;
    return launch(function, shape, shape + 3, cluster, (unsigned)standin_field(config, 24, 4),
                  arguments, extra);
}

/* ---- memory ---- */

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    LOCKED;
    unsigned long long max = 1 << 20;
    int result = standin_drain("cuMemAlloc");
    if (result != SUCCESS)
        return result;
    if (bytes == 0)
        return INVALID_VALUE;
    if (mode_is("no-memory", &max) && bytes > max)
        return OUT_OF_MEMORY;
    if (current->ops->alloc(current->machine, bytes, address, NULL) != FTH_OK)
        return OUT_OF_MEMORY;
    live++;
    return SUCCESS;
}

EXPORT int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address)
{
    LOCKED;
    int result = standin_drain("cuMemFree");
    if (result != SUCCESS)
        return result;
    if (standin_free_managed(address))
        return SUCCESS;
    current->ops->free(current->machine, address);
    live--;
    return SUCCESS;
}

EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total);
int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    LOCKED;
    unsigned long long max = 1 << 20;
    uint64_t bytes = 0;
    int result = check();
    if (result != SUCCESS)
        return result;
    if (current->ops->free_bytes(current->machine, &bytes, NULL) != FTH_OK)
        return OUT_OF_MEMORY;
    *free = mode_is("no-memory", &max) ? (size_t)max : (size_t)bytes;
    *total = standin_memory_bytes();
    return SUCCESS;
}

EXPORT int cuMemcpyHtoD_v2(uint64_t address, const void *data, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t address, const void *data, size_t bytes)
{
    LOCKED;
    int result = standin_drain("cuMemcpyHtoD");
    if (result != SUCCESS)
        return result;
    return current->ops->upload(current->machine, address, data, bytes, NULL) == FTH_OK
               ? SUCCESS
               : INVALID_VALUE;
}

EXPORT int cuMemcpyDtoH_v2(void *data, uint64_t address, size_t bytes);
int cuMemcpyDtoH_v2(void *data, uint64_t address, size_t bytes)
{
    LOCKED;
    int result = standin_drain("cuMemcpyDtoH");
    if (result != SUCCESS)
        return result;
    return current->ops->download(current->machine, data, address, bytes, NULL) == FTH_OK
               ? SUCCESS
               : INVALID_VALUE;
}

EXPORT int cuMemsetD8_v2(uint64_t address, unsigned char byte, size_t bytes);
int cuMemsetD8_v2(uint64_t address, unsigned char byte, size_t bytes)
{
    LOCKED;
    int result = standin_drain("cuMemsetD8");
    if (result != SUCCESS)
        return result;
    return current->ops->fill(current->machine, address, byte, bytes, NULL) == FTH_OK
               ? SUCCESS
               : INVALID_VALUE;
}
