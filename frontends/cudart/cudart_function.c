/* Attributes of kernels, occupancy, and libraries that the program loads itself. */
#include "cudart.h"

/* Finds the function of a kernel in the thread's context. */
static int find(const void *symbol, struct fth_cu_function **function)
{
    int error = fth_enter();
    return error ? error : fth_find_function(symbol, function);
}

FTH_API int cudaFuncGetAttributes(struct fth_function_attributes *attributes, const void *symbol)
{
    struct fth_cu_function *function = NULL;
    int error = attributes ? find(symbol, &function) : FTH_INVALID_VALUE;
    if (error)
        return fth_leave(error);
    /* In the order of the driver's numbers, from 0. */
    int values[16] = {0};
    for (int i = 0; i < 16; i++)
        if (cuFuncGetAttribute(&values[i], i, function))
            values[i] = 0;
    *attributes = (struct fth_function_attributes){
        .max_threads = values[0],
        .shared_bytes = (size_t)values[1],
        .constant_bytes = (size_t)values[2],
        .local_bytes = (size_t)values[3],
        .registers = values[4],
        .ptx_version = values[5],
        .binary_version = values[6],
        .cache_mode = values[7],
        .max_dynamic_shared_bytes = values[8],
        .carveout = values[9],
        .cluster_required = values[10],
        .cluster_width = values[11],
        .cluster_height = values[12],
        .cluster_depth = values[13],
        .large_cluster_allowed = values[14],
        .cluster_policy = values[15],
    };
    return FTH_SUCCESS;
}

FTH_API int cudaFuncSetAttribute(const void *symbol, int attribute, int value)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(error ? error : cuFuncSetAttribute(function, attribute, value));
}

FTH_API int cudaFuncSetCacheConfig(const void *symbol, int config)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(error ? error : cuFuncSetCacheConfig(function, config));
}

/* The width of the banks is fixed since compute capability 5.0. */
FTH_API int cudaFuncSetSharedMemConfig(const void *symbol, int config)
{
    (void)config;
    struct fth_cu_function *function = NULL;
    return fth_leave(find(symbol, &function));
}

FTH_API int cudaFuncGetName(const char **name, const void *symbol)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(error ? error : cuFuncGetName(name, function));
}

FTH_API int cudaFuncGetParamInfo(const void *symbol, size_t index, size_t *offset, size_t *bytes)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(error ? error : cuFuncGetParamInfo(function, index, offset, bytes));
}

FTH_API int cudaGetFuncBySymbol(struct fth_cu_function **function, const void *symbol)
{
    int error = function ? find(symbol, function) : FTH_INVALID_VALUE;
    if (!error)
        error = fth_register_handle(*function, FTH_ENTRY_FUNCTION, symbol);
    return fth_leave(error);
}

FTH_API int cudaGetKernel(struct fth_cu_kernel **kernel, const void *symbol)
{
    int error = kernel ? fth_enter() : FTH_INVALID_VALUE;
    if (!error)
        error = fth_find_kernel(symbol, kernel);
    if (!error)
        error = fth_register_handle(*kernel, FTH_ENTRY_HANDLE, symbol);
    return fth_leave(error);
}

FTH_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *symbol,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned flags)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(error ? error
                           : cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                                 blocks, function, threads, shared_bytes, flags));
}

FTH_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *symbol,
                                                          int threads, size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads,
                                                                  shared_bytes, 0);
}

FTH_API int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *symbol, int blocks,
                                                      int threads)
{
    struct fth_cu_function *function = NULL;
    int error = find(symbol, &function);
    return fth_leave(
        error ? error : cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

FTH_API int cudaOccupancyMaxPotentialClusterSize(int *size, const void *symbol,
                                                 const struct fth_launch *launch)
{
    struct fth_cu_function *function = NULL;
    int error = launch ? find(symbol, &function) : FTH_INVALID_VALUE;
    if (error)
        return fth_leave(error);
    struct fth_cu_launch translated = fth_translate_launch(launch);
    return fth_leave(cuOccupancyMaxPotentialClusterSize(size, function, &translated));
}

FTH_API int cudaOccupancyMaxActiveClusters(int *clusters, const void *symbol,
                                           const struct fth_launch *launch)
{
    struct fth_cu_function *function = NULL;
    int error = launch ? find(symbol, &function) : FTH_INVALID_VALUE;
    if (error)
        return fth_leave(error);
    struct fth_cu_launch translated = fth_translate_launch(launch);
    return fth_leave(cuOccupancyMaxActiveClusters(clusters, function, &translated));
}

FTH_API int cudaLibraryLoadData(struct fth_cu_library **library, const void *code, int *options,
                                void **values, unsigned count, int *library_options,
                                void **library_values, unsigned library_count)
{
    FTH_FORWARD(cuLibraryLoadData(library, code, options, values, count, library_options,
                                  library_values, library_count));
}

FTH_API int cudaLibraryLoadFromFile(struct fth_cu_library **library, const char *path, int *options,
                                    void **values, unsigned count, int *library_options,
                                    void **library_values, unsigned library_count)
{
    FTH_FORWARD(cuLibraryLoadFromFile(library, path, options, values, count, library_options,
                                      library_values, library_count));
}

FTH_API int cudaLibraryUnload(struct fth_cu_library *library)
{
    fth_forget_handles(library);
    FTH_FORWARD(cuLibraryUnload(library));
}

FTH_API int cudaLibraryGetKernel(struct fth_cu_kernel **kernel, struct fth_cu_library *library,
                                 const char *name)
{
    int error = kernel ? fth_enter() : FTH_INVALID_VALUE;
    if (!error)
        error = cuLibraryGetKernel(kernel, library, name);
    if (!error)
        error = fth_register_handle(*kernel, FTH_ENTRY_HANDLE, library);
    return fth_leave(error);
}

FTH_API int cudaLibraryGetKernelCount(unsigned *count, struct fth_cu_library *library)
{
    FTH_FORWARD(cuLibraryGetKernelCount(count, library));
}

FTH_API int cudaLibraryEnumerateKernels(struct fth_cu_kernel **kernels, unsigned count,
                                        struct fth_cu_library *library)
{
    unsigned existing = 0;
    int error = fth_enter();
    if (!error)
        error = cuLibraryGetKernelCount(&existing, library);
    if (!error)
        error = cuLibraryEnumerateKernels(kernels, count, library);
    for (unsigned i = 0; i < count && i < existing && !error; i++)
        error = fth_register_handle(kernels[i], FTH_ENTRY_HANDLE, library);
    return fth_leave(error);
}

static int get_variable(int (*get)(uint64_t *, size_t *, struct fth_cu_library *, const char *),
                        void **pointer, size_t *bytes, struct fth_cu_library *library,
                        const char *name)
{
    uint64_t address = 0;
    size_t size = 0;
    int error = fth_enter();
    if (!error)
        error = get(&address, &size, library, name);
    if (!error && pointer)
        *pointer = fth_pointer(address);
    if (!error && bytes)
        *bytes = size;
    return fth_leave(error);
}

FTH_API int cudaLibraryGetGlobal(void **pointer, size_t *bytes, struct fth_cu_library *library,
                                 const char *name)
{
    return get_variable(cuLibraryGetGlobal, pointer, bytes, library, name);
}

FTH_API int cudaLibraryGetManaged(void **pointer, size_t *bytes, struct fth_cu_library *library,
                                  const char *name)
{
    return get_variable(cuLibraryGetManaged, pointer, bytes, library, name);
}

FTH_API int cudaKernelSetAttributeForDevice(struct fth_cu_kernel *kernel, int attribute, int value,
                                            int device)
{
    FTH_FORWARD(cuKernelSetAttribute(attribute, value, kernel, device));
}
