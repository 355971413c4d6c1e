/* Launches of kernels and host functions.
 *
 * A kernel call kernel<<<grid, block, shared, stream>>>(...) pushes its configuration, and the
 * kernel's host function pops it and launches. The host function keeps what __cudaGetKernel returns
 * and passes it to __cudaLaunchKernel. Here that is the address of the host function itself, so
 * that a module that cannot be loaded fails each launch.
 */
#include "cudart.h"

/* Attributes of a device: maximum extents of a block and of a grid. */
enum { MAX_BLOCK_X = 2, MAX_GRID_X = 5, MAX_BLOCK_THREADS = 1 };

FTH_API unsigned __cudaPushCallConfiguration(struct fth_dim3 grid, struct fth_dim3 block,
                                             size_t shared_bytes, void *stream)
{
    struct fth_thread *thread = fth_thread();
    if (thread->configuration_count == FTH_MAX_CONFIGURATIONS)
        return (unsigned)fth_leave(FTH_OUT_OF_MEMORY);
    thread->configurations[thread->configuration_count++] =
        (struct fth_configuration){grid, block, shared_bytes, stream};
    return 0;
}

FTH_API int __cudaPopCallConfiguration(struct fth_dim3 *grid, struct fth_dim3 *block,
                                       size_t *shared_bytes, void *stream)
{
    struct fth_thread *thread = fth_thread();
    if (thread->configuration_count == 0)
        return fth_leave(FTH_MISSING_CONFIGURATION);
    const struct fth_configuration *top = &thread->configurations[--thread->configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *(void **)stream = top->stream;
    return FTH_SUCCESS;
}

/* The driver answers a wrong block or grid like any other wrong argument; the runtime has an error
 * of its own for it. */
static bool configuration_fits(struct fth_dim3 grid, struct fth_dim3 block)
{
    const unsigned sizes[] = {block.x, block.y, block.z, grid.x, grid.y, grid.z};
    const int attributes[] = {MAX_BLOCK_X, MAX_BLOCK_X + 1, MAX_BLOCK_X + 2,
                              MAX_GRID_X,  MAX_GRID_X + 1,  MAX_GRID_X + 2};
    int device = 0, limit = 0;
    if (cuCtxGetDevice(&device))
        return true;
    for (int i = 0; i < 6; i++)
        if (sizes[i] == 0 || (!cuDeviceGetAttribute(&limit, attributes[i], device) && limit > 0 &&
                              sizes[i] > (unsigned)limit))
            return false;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return cuDeviceGetAttribute(&limit, MAX_BLOCK_THREADS, device) || limit <= 0 ||
           threads <= (uint64_t)limit;
}

struct fth_cu_launch fth_translate_launch(const struct fth_launch *launch)
{
    return (struct fth_cu_launch){
        .grid = launch->grid,
        .block = launch->block,
        .shared_bytes = (unsigned)launch->shared_bytes,
        .stream = launch->stream,
        .attributes = launch->attributes,
        .attribute_count = launch->attribute_count,
    };
}

/* Finds the kernel and checks the configuration. */
static int prepare(const void *symbol, struct fth_dim3 grid, struct fth_dim3 block,
                   size_t shared_bytes, struct fth_cu_function **function)
{
    int error = fth_enter();
    if (!error)
        error = fth_find_function(symbol, function);
    /* These are the results of the runtime of CUDA 13.0 on an H200. */
    if (error == FTH_INVALID_DEVICE_FUNCTION)
        error = FTH_INVALID_HANDLE;
    if (!error && (!configuration_fits(grid, block) || shared_bytes > UINT32_MAX))
        error = FTH_INVALID_VALUE;
    return error;
}

FTH_API int cudaLaunchKernel(const void *symbol, struct fth_dim3 grid, struct fth_dim3 block,
                             void **arguments, size_t shared_bytes, struct fth_cu_stream *stream)
{
    struct fth_cu_function *function = NULL;
    int error = prepare(symbol, grid, block, shared_bytes, &function);
    if (!error)
        error = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                               (unsigned)shared_bytes, stream, arguments, NULL);
    return fth_leave(error);
}

FTH_API int cudaLaunchKernel_ptsz(const void *symbol, struct fth_dim3 grid, struct fth_dim3 block,
                                  void **arguments, size_t shared_bytes,
                                  struct fth_cu_stream *stream)
{
    return cudaLaunchKernel(symbol, grid, block, arguments, shared_bytes, fth_per_thread(stream));
}

FTH_API int __cudaGetKernel(const void **kernel, const void *symbol)
{
    *kernel = symbol;
    return FTH_SUCCESS;
}

FTH_API int __cudaLaunchKernel(const void *kernel, struct fth_dim3 grid, struct fth_dim3 block,
                               void **arguments, size_t shared_bytes, struct fth_cu_stream *stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

FTH_API int __cudaLaunchKernel_ptsz(const void *kernel, struct fth_dim3 grid, struct fth_dim3 block,
                                    void **arguments, size_t shared_bytes,
                                    struct fth_cu_stream *stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, fth_per_thread(stream));
}

FTH_API int cudaLaunchCooperativeKernel(const void *symbol, struct fth_dim3 grid,
                                        struct fth_dim3 block, void **arguments,
                                        size_t shared_bytes, struct fth_cu_stream *stream)
{
    struct fth_cu_function *function = NULL;
    int error = prepare(symbol, grid, block, shared_bytes, &function);
    if (!error)
        error = cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                          block.z, (unsigned)shared_bytes, stream, arguments);
    return fth_leave(error);
}

FTH_API int cudaLaunchCooperativeKernel_ptsz(const void *symbol, struct fth_dim3 grid,
                                             struct fth_dim3 block, void **arguments,
                                             size_t shared_bytes, struct fth_cu_stream *stream)
{
    return cudaLaunchCooperativeKernel(symbol, grid, block, arguments, shared_bytes,
                                       fth_per_thread(stream));
}

static int launch_extended(const struct fth_launch *launch, const void *symbol, void **arguments,
                           struct fth_cu_stream *stream)
{
    struct fth_cu_function *function = NULL;
    int error = prepare(symbol, launch->grid, launch->block, launch->shared_bytes, &function);
    if (error)
        return fth_leave(error);
    struct fth_cu_launch translated = fth_translate_launch(launch);
    translated.stream = stream;
    return fth_leave(cuLaunchKernelEx(&translated, function, arguments, NULL));
}

FTH_API int cudaLaunchKernelExC(const struct fth_launch *launch, const void *symbol,
                                void **arguments)
{
    if (!launch)
        return fth_leave(FTH_INVALID_VALUE);
    return launch_extended(launch, symbol, arguments, launch->stream);
}

FTH_API int cudaLaunchKernelExC_ptsz(const struct fth_launch *launch, const void *symbol,
                                     void **arguments)
{
    if (!launch)
        return fth_leave(FTH_INVALID_VALUE);
    return launch_extended(launch, symbol, arguments, fth_per_thread(launch->stream));
}

FTH_API int cudaLaunchHostFunc(struct fth_cu_stream *stream, void (*function)(void *), void *data)
{
    FTH_FORWARD(cuLaunchHostFunc(stream, function, data));
}

FTH_API int cudaLaunchHostFunc_ptsz(struct fth_cu_stream *stream, void (*function)(void *),
                                    void *data)
{
    return cudaLaunchHostFunc(fth_per_thread(stream), function, data);
}
