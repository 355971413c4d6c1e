/* Running kernels with the CUDA driver: contexts, modules that the driver compiles from PTX, device
 * memory, textures and launches. */
#include "device/cuda/cuda.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUjit_option and CUfunction_attribute values, from the driver's documentation. */
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { MAX_DYNAMIC_SHARED_BYTES = 8, PREFERRED_CARVEOUT = 9, NON_PORTABLE_CLUSTER = 14 };
/* A CUlaunchAttributeID, and the largest cluster size that every GPU with clusters supports (CUDA
 * C++ Programming Guide, "Thread Block Clusters"). */
enum { CLUSTER_DIMENSION = 4, PORTABLE_CLUSTER = 8 };
/* CUresourcetype, CUarray_format, CU_TRSF_READ_AS_INTEGER. */
enum { LINEAR = 2, UNSIGNED_INT32 = 3, READ_AS_INTEGER = 1 };
/* The maximum dynamic shared memory per block that needs no function attribute (CUDA C++
 * Programming Guide, "Shared Memory"). */
enum { DEFAULT_MAX_SHARED_BYTES = 48 * 1024 };

static enum fth_status check(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                             struct fth_error *error)
{
    return result == 0 ? FTH_OK : fth_cuda_fail(cuda, result, call, error);
}

enum fth_status fth_cuda_context_open(const struct fth_cuda *cuda, int ordinal,
                                      fth_cu_context *context, struct fth_error *error)
{
    *context = NULL;
    if (!cuda->context_retain || !cuda->context_release || !cuda->context_set)
        return fth_cuda_missing("cuDevicePrimaryCtxRetain", error);
    fth_cu_device device;
    FTH_TRY(check(cuda, cuda->device_get(&device, ordinal), "cuDeviceGet", error));
    FTH_TRY(check(cuda, cuda->context_retain(context, device), "cuDevicePrimaryCtxRetain", error));
    enum fth_status status = check(cuda, cuda->context_set(*context), "cuCtxSetCurrent", error);
    if (status != FTH_OK) {
        cuda->context_release(device);
        *context = NULL;
    }
    return status;
}

void fth_cuda_context_close(const struct fth_cuda *cuda, int ordinal, fth_cu_context context)
{
    fth_cu_device device;
    if (!context || cuda->device_get(&device, ordinal) != 0)
        return;
    cuda->context_set(NULL);
    cuda->context_release(device);
}

/* Replaces newlines by semicolons, so that the compiler's log fits into a message. */
static void join_lines(char *log)
{
    char *end = log + strlen(log);
    while (end > log && end[-1] == '\n')
        *--end = '\0';
    for (char *at = log; *at; at++)
        if (*at == '\n')
            *at = ';';
}

enum fth_status fth_cuda_module_load(const struct fth_cuda *cuda, const char *ptx,
                                     fth_cu_module *module, struct fth_error *error)
{
    *module = NULL;
    if (!cuda->module_load || !cuda->module_unload)
        return fth_cuda_missing("cuModuleLoadDataEx", error);
    char log[4096] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    /* The driver expects every value in a void *, also a number. */
    void *values[] = {log, NULL};
    const uintptr_t log_bytes = sizeof log - 1;
    memcpy(&values[1], &log_bytes, sizeof log_bytes);
    fth_cu_result result = cuda->module_load(module, ptx, FTH_COUNT(options), options, values);
    if (result == 0)
        return FTH_OK;
    enum fth_status status = fth_cuda_fail(cuda, result, "cuModuleLoadDataEx", error);
    join_lines(log);
    if (log[0] && error) {
        char cause[sizeof error->cause];
        snprintf(cause, sizeof cause, "%s", error->cause);
        snprintf(error->cause, sizeof error->cause, "%.128s: %.*s", cause,
                 (int)(sizeof error->cause - 132), log);
    }
    return status;
}

void fth_cuda_module_unload(const struct fth_cuda *cuda, fth_cu_module module)
{
    if (module)
        cuda->module_unload(module);
}

enum fth_status fth_cuda_function(const struct fth_cuda *cuda, fth_cu_module module,
                                  const char *name, fth_cu_function *function,
                                  struct fth_error *error)
{
    *function = NULL;
    if (!cuda->module_function)
        return fth_cuda_missing("cuModuleGetFunction", error);
    enum fth_status status =
        check(cuda, cuda->module_function(function, module, name), "cuModuleGetFunction", error);
    if (status != FTH_OK)
        fth_error_context(error, "%s", name);
    return status;
}

enum fth_status fth_cuda_symbol(const struct fth_cuda *cuda, fth_cu_module module, const char *name,
                                uint64_t *address, uint64_t *bytes, struct fth_error *error)
{
    *address = *bytes = 0;
    if (!cuda->module_symbol)
        return fth_cuda_missing("cuModuleGetGlobal", error);
    size_t size = 0;
    enum fth_status status =
        check(cuda, cuda->module_symbol(address, &size, module, name), "cuModuleGetGlobal", error);
    *bytes = size;
    if (status != FTH_OK)
        fth_error_context(error, "%s", name);
    return status;
}

enum fth_status fth_cuda_carveout(const struct fth_cuda *cuda, fth_cu_function function,
                                  int percent, struct fth_error *error)
{
    if (!cuda->function_set)
        return fth_cuda_missing("cuFuncSetAttribute", error);
    return check(cuda, cuda->function_set(function, PREFERRED_CARVEOUT, percent),
                 "cuFuncSetAttribute", error);
}

enum fth_status fth_cuda_free_bytes(const struct fth_cuda *cuda, uint64_t *bytes,
                                    struct fth_error *error)
{
    *bytes = 0;
    if (!cuda->memory_info)
        return fth_cuda_missing("cuMemGetInfo", error);
    size_t free = 0, total;
    enum fth_status status = check(cuda, cuda->memory_info(&free, &total), "cuMemGetInfo", error);
    *bytes = free;
    return status;
}

enum fth_status fth_cuda_alloc(const struct fth_cuda *cuda, size_t bytes, uint64_t *address,
                               struct fth_error *error)
{
    *address = 0;
    if (!cuda->memory_alloc || !cuda->memory_free)
        return fth_cuda_missing("cuMemAlloc", error);
    enum fth_status status = check(cuda, cuda->memory_alloc(address, bytes), "cuMemAlloc", error);
    uint64_t free;
    if (status == FTH_NO_MEMORY && fth_cuda_free_bytes(cuda, &free, NULL) == FTH_OK) {
        char asked_text[32], free_text[32];
        fth_error_context(error, "%s requested, %s free",
                          fth_size_format((double)bytes, asked_text, sizeof asked_text),
                          fth_size_format((double)free, free_text, sizeof free_text));
    }
    return status;
}

void fth_cuda_free(const struct fth_cuda *cuda, uint64_t address)
{
    if (address)
        cuda->memory_free(address);
}

enum fth_status fth_cuda_upload(const struct fth_cuda *cuda, uint64_t address, const void *data,
                                size_t bytes, struct fth_error *error)
{
    if (!cuda->memory_upload)
        return fth_cuda_missing("cuMemcpyHtoD", error);
    return check(cuda, cuda->memory_upload(address, data, bytes), "cuMemcpyHtoD", error);
}

enum fth_status fth_cuda_download(const struct fth_cuda *cuda, void *data, uint64_t address,
                                  size_t bytes, struct fth_error *error)
{
    if (!cuda->memory_download)
        return fth_cuda_missing("cuMemcpyDtoH", error);
    return check(cuda, cuda->memory_download(data, address, bytes), "cuMemcpyDtoH", error);
}

enum fth_status fth_cuda_fill(const struct fth_cuda *cuda, uint64_t address, unsigned char byte,
                              size_t bytes, struct fth_error *error)
{
    if (!cuda->memory_fill)
        return fth_cuda_missing("cuMemsetD8", error);
    return check(cuda, cuda->memory_fill(address, byte, bytes), "cuMemsetD8", error);
}

enum fth_status fth_cuda_texture(const struct fth_cuda *cuda, uint64_t address, uint64_t texels,
                                 uint64_t *texture, struct fth_error *error)
{
    *texture = 0;
    if (!cuda->texture_create || !cuda->texture_destroy)
        return fth_cuda_missing("cuTexObjectCreate", error);
    _Static_assert(sizeof(struct fth_cu_resource) == 144 &&
                       offsetof(struct fth_cu_resource, flags) == 136 &&
                       sizeof(struct fth_cu_sampling) == 104,
                   "the layout of the driver's structures");
    const struct fth_cu_resource resource = {.type = LINEAR,
                                             .address = address,
                                             .format = UNSIGNED_INT32,
                                             .channels = 1,
                                             .bytes = (size_t)texels * sizeof(uint32_t)};
    const struct fth_cu_sampling sampling = {.flags = READ_AS_INTEGER};
    return check(cuda, cuda->texture_create(texture, &resource, &sampling, NULL),
                 "cuTexObjectCreate", error);
}

void fth_cuda_texture_destroy(const struct fth_cuda *cuda, uint64_t texture)
{
    if (texture)
        cuda->texture_destroy(texture);
}

/* The arguments of a launch in the two forms that the driver takes: a pointer to each argument, or
 * all of them in one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE,
 * CU_LAUNCH_PARAM_END). The buffer has the layout of the parameters in the machine code. This is
 * the one in the PTX, unless a parameter is aligned to more than 16 bytes, as a tensor map is: on
 * an H200, it begins at an offset of 48 bytes then. */
struct packed_arguments {
    void **each;  /* NULL: `extra` has them */
    void **extra; /* points to `words`, or NULL */
    size_t bytes;
    void *words[5];
};

/* The caller frees packed->each. */
static enum fth_status pack_arguments(const struct fth_cuda_launch *launch,
                                      struct packed_arguments *packed, struct fth_error *error)
{
    static const uintptr_t pointer = 1, size = 2;
    *packed = (struct packed_arguments){.bytes = launch->argument_bytes};
    if (launch->parameters && launch->parameter_count) {
        packed->each = calloc(launch->parameter_count, sizeof *packed->each);
        if (!packed->each)
            return fth_no_memory(error, "launch kernel", NULL);
        for (size_t i = 0; i < launch->parameter_count; i++)
            packed->each[i] = (char *)launch->arguments + launch->parameters[i].offset;
    } else if (launch->argument_bytes) {
        memcpy(&packed->words[0], &pointer, sizeof pointer);
        memcpy(&packed->words[1], &launch->arguments, sizeof launch->arguments);
        memcpy(&packed->words[2], &size, sizeof size);
        packed->words[3] = &packed->bytes;
        packed->extra = packed->words;
    }
    return FTH_OK;
}

/* `shape` has the dimensions of the grid, of a block and of a cluster. */
static enum fth_status launch_clusters(const struct fth_cuda *cuda, fth_cu_function function,
                                       const struct fth_cuda_launch *launch,
                                       const unsigned shape[9], struct fth_error *error)
{
    _Static_assert(sizeof(struct fth_cu_launch_attribute) == 72 &&
                       offsetof(struct fth_cu_launch_attribute, cluster) == 8 &&
                       sizeof(struct fth_cu_launch_config) == 56 &&
                       offsetof(struct fth_cu_launch_config, stream) == 32,
                   "the layout of the driver's structures");
    if (!cuda->launch_ex)
        return fth_cuda_missing("cuLaunchKernelEx", error);
    struct fth_cu_launch_attribute attribute = {.id = CLUSTER_DIMENSION,
                                                .cluster = {shape[6], shape[7], shape[8]}};
    const struct fth_cu_launch_config config = {.grid = {shape[0], shape[1], shape[2]},
                                                .block = {shape[3], shape[4], shape[5]},
                                                .shared_bytes = launch->dynamic_shared_bytes,
                                                .attributes = &attribute,
                                                .attribute_count = 1};
    struct packed_arguments packed;
    FTH_TRY(pack_arguments(launch, &packed, error));
    const fth_cu_result result = cuda->launch_ex(&config, function, packed.each, packed.extra);
    free(packed.each);
    return check(cuda, result, "cuLaunchKernelEx", error);
}

enum fth_status fth_cuda_launch(const struct fth_cuda *cuda, fth_cu_function function,
                                const struct fth_cuda_launch *launch, struct fth_error *error)
{
    if (!cuda->launch)
        return fth_cuda_missing("cuLaunchKernel", error);
    if (launch->dynamic_shared_bytes > DEFAULT_MAX_SHARED_BYTES) {
        if (!cuda->function_set)
            return fth_cuda_missing("cuFuncSetAttribute", error);
        FTH_TRY(check(cuda,
                      cuda->function_set(function, MAX_DYNAMIC_SHARED_BYTES,
                                         (int)launch->dynamic_shared_bytes),
                      "cuFuncSetAttribute", error));
    }
    unsigned shape[9];
    for (int i = 0; i < 3; i++) {
        shape[i] = launch->grid[i] ? launch->grid[i] : 1;
        shape[3 + i] = launch->block[i] ? launch->block[i] : 1;
        shape[6 + i] = launch->cluster[i] ? launch->cluster[i] : 1;
    }
    const unsigned blocks = shape[6] * shape[7] * shape[8];
    if (blocks > PORTABLE_CLUSTER || launch->requires_large_cluster) {
        if (!cuda->function_set)
            return fth_cuda_missing("cuFuncSetAttribute", error);
        FTH_TRY(check(cuda, cuda->function_set(function, NON_PORTABLE_CLUSTER, 1),
                      "cuFuncSetAttribute", error));
    }
    if (blocks > 1)
        return launch_clusters(cuda, function, launch, shape, error);
    struct packed_arguments packed;
    FTH_TRY(pack_arguments(launch, &packed, error));
    const fth_cu_result result =
        cuda->launch(function, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5],
                     launch->dynamic_shared_bytes, NULL, packed.each, packed.extra);
    free(packed.each);
    return check(cuda, result, "cuLaunchKernel", error);
}

enum fth_status fth_cuda_synchronize(const struct fth_cuda *cuda, struct fth_error *error)
{
    if (!cuda->synchronize)
        return fth_cuda_missing("cuCtxSynchronize", error);
    return check(cuda, cuda->synchronize(), "cuCtxSynchronize", error);
}
