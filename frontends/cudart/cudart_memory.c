/* Allocations: device, pitched, managed, pinned and stream-ordered memory, and what is known about
 * an address. */
#include "cudart.h"

/* The rows of a pitched allocation may be read in elements of this many bytes. */
#define PITCH_ELEMENT_BYTES 4

FTH_API int cudaMalloc(void **pointer, size_t bytes)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error && !pointer)
        error = FTH_INVALID_VALUE;
    if (!error && bytes > 0)
        error = cuMemAlloc_v2(&address, bytes);
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error)
        error = pointer ? cuMemAllocManaged(&address, bytes, flags) : FTH_INVALID_VALUE;
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error && (!pointer || !pitch))
        error = FTH_INVALID_VALUE;
    if (!error && width > 0 && height > 0)
        error = cuMemAllocPitch_v2(&address, pitch, width, height, PITCH_ELEMENT_BYTES);
    else if (!error)
        *pitch = 0;
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaMalloc3D(struct fth_pitched *pitched, struct fth_extent extent)
{
    if (!pitched || (extent.depth > 0 && extent.height > SIZE_MAX / extent.depth))
        return fth_leave(FTH_INVALID_VALUE);
    int error = cudaMallocPitch(&pitched->pointer, &pitched->pitch, extent.width,
                                extent.height * extent.depth);
    pitched->width = extent.width;
    pitched->height = extent.height;
    return error;
}

FTH_API int cudaFree(void *pointer)
{
    int error = fth_enter();
    if (!error && pointer)
        error = cuMemFree_v2(fth_address(pointer));
    return fth_leave(error);
}

FTH_API int cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    int error = fth_enter();
    if (!error && !pointer)
        error = FTH_INVALID_VALUE;
    if (!error && bytes == 0)
        *pointer = NULL;
    else if (!error)
        error = cuMemHostAlloc(pointer, bytes, flags);
    return fth_leave(error);
}

FTH_API int cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, 0);
}

FTH_API int cudaFreeHost(void *pointer)
{
    int error = fth_enter();
    if (!error && pointer)
        error = cuMemFreeHost(pointer);
    return fth_leave(error);
}

FTH_API int cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    FTH_FORWARD(cuMemHostRegister_v2(pointer, bytes, flags));
}

FTH_API int cudaHostUnregister(void *pointer)
{
    FTH_FORWARD(cuMemHostUnregister(pointer));
}

FTH_API int cudaHostGetDevicePointer(void **device_pointer, void *pointer, unsigned flags)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error)
        error = cuMemHostGetDevicePointer_v2(&address, pointer, flags);
    if (!error)
        *device_pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaHostGetFlags(unsigned *flags, void *pointer)
{
    FTH_FORWARD(cuMemHostGetFlags(flags, pointer));
}

FTH_API int cudaMemGetInfo(size_t *available, size_t *total)
{
    FTH_FORWARD(cuMemGetInfo_v2(available, total));
}

/* Types of memory in cudaPointerAttributes that the driver does not have, and the device of memory
 * that belongs to none. */
enum { UNREGISTERED = 0, MANAGED = 3, NO_DEVICE = -2 };

FTH_API int cudaPointerGetAttributes(struct fth_pointer_attributes *attributes, const void *pointer)
{
    int error = fth_enter();
    if (!error && !attributes)
        error = FTH_INVALID_VALUE;
    if (error)
        return fth_leave(error);
    unsigned type = 0, managed = 0;
    int ordinal = 0;
    uint64_t address = fth_address(pointer), device = 0;
    void *host = NULL;
    if (cuPointerGetAttribute(&type, FTH_CU_POINTER_TYPE, address)) {
        *attributes = (struct fth_pointer_attributes){
            .type = UNREGISTERED, .device = NO_DEVICE, .host_pointer = fth_pointer(address)};
        return FTH_SUCCESS;
    }
    /* The driver does not answer where the value does not exist, as the host pointer of device
     * memory. */
    (void)cuPointerGetAttribute(&managed, FTH_CU_POINTER_MANAGED, address);
    (void)cuPointerGetAttribute(&ordinal, FTH_CU_POINTER_ORDINAL, address);
    (void)cuPointerGetAttribute(&device, FTH_CU_POINTER_DEVICE, address);
    (void)cuPointerGetAttribute(&host, FTH_CU_POINTER_HOST, address);
    *attributes = (struct fth_pointer_attributes){.type = managed ? MANAGED : (int)type,
                                                  .device = ordinal,
                                                  .device_pointer = fth_pointer(device),
                                                  .host_pointer = host};
    return FTH_SUCCESS;
}

FTH_API int cudaMemAdvise(const void *pointer, size_t bytes, int advice,
                          struct fth_location location)
{
    FTH_FORWARD(cuMemAdvise_v2(fth_address(pointer), bytes, advice, location));
}

FTH_API int cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct fth_location location,
                                 unsigned flags, struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuMemPrefetchAsync_v2(fth_address(pointer), bytes, location, flags, stream));
}

FTH_API int cudaMemPrefetchAsync_ptsz(const void *pointer, size_t bytes,
                                      struct fth_location location, unsigned flags,
                                      struct fth_cu_stream *stream)
{
    return cudaMemPrefetchAsync(pointer, bytes, location, flags, fth_per_thread(stream));
}

FTH_API int cudaMemRangeGetAttribute(void *value, size_t value_bytes, int attribute,
                                     const void *pointer, size_t bytes)
{
    FTH_FORWARD(cuMemRangeGetAttribute(value, value_bytes, attribute, fth_address(pointer), bytes));
}

FTH_API int cudaMemRangeGetAttributes(void **values, size_t *sizes, int *attributes, size_t count,
                                      const void *pointer, size_t bytes)
{
    FTH_FORWARD(
        cuMemRangeGetAttributes(values, sizes, attributes, count, fth_address(pointer), bytes));
}

FTH_API int cudaMallocAsync(void **pointer, size_t bytes, struct fth_cu_stream *stream)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error && bytes > 0)
        error = cuMemAllocAsync(&address, bytes, stream);
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaMallocAsync_ptsz(void **pointer, size_t bytes, struct fth_cu_stream *stream)
{
    return cudaMallocAsync(pointer, bytes, fth_per_thread(stream));
}

FTH_API int cudaMallocFromPoolAsync(void **pointer, size_t bytes, struct fth_cu_pool *pool,
                                    struct fth_cu_stream *stream)
{
    uint64_t address = 0;
    int error = fth_enter();
    if (!error && bytes > 0)
        error = cuMemAllocFromPoolAsync(&address, bytes, pool, stream);
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaMallocFromPoolAsync_ptsz(void **pointer, size_t bytes, struct fth_cu_pool *pool,
                                         struct fth_cu_stream *stream)
{
    return cudaMallocFromPoolAsync(pointer, bytes, pool, fth_per_thread(stream));
}

FTH_API int cudaFreeAsync(void *pointer, struct fth_cu_stream *stream)
{
    int error = fth_enter();
    if (!error && pointer)
        error = cuMemFreeAsync(fth_address(pointer), stream);
    return fth_leave(error);
}

FTH_API int cudaFreeAsync_ptsz(void *pointer, struct fth_cu_stream *stream)
{
    return cudaFreeAsync(pointer, fth_per_thread(stream));
}

FTH_API int cudaMemPoolCreate(struct fth_cu_pool **pool,
                              const struct fth_pool_properties *properties)
{
    FTH_FORWARD(cuMemPoolCreate(pool, properties));
}

FTH_API int cudaMemPoolDestroy(struct fth_cu_pool *pool)
{
    FTH_FORWARD(cuMemPoolDestroy(pool));
}

FTH_API int cudaMemPoolTrimTo(struct fth_cu_pool *pool, size_t bytes)
{
    FTH_FORWARD(cuMemPoolTrimTo(pool, bytes));
}

FTH_API int cudaMemPoolGetAttribute(struct fth_cu_pool *pool, int attribute, void *value)
{
    FTH_FORWARD(cuMemPoolGetAttribute(pool, attribute, value));
}

FTH_API int cudaMemPoolSetAttribute(struct fth_cu_pool *pool, int attribute, void *value)
{
    FTH_FORWARD(cuMemPoolSetAttribute(pool, attribute, value));
}

FTH_API int cudaMemPoolGetAccess(int *flags, struct fth_cu_pool *pool,
                                 struct fth_location *location)
{
    FTH_FORWARD(cuMemPoolGetAccess(flags, pool, location));
}

FTH_API int cudaMemPoolSetAccess(struct fth_cu_pool *pool, const struct fth_access *access,
                                 size_t count)
{
    FTH_FORWARD(cuMemPoolSetAccess(pool, access, count));
}

FTH_API int cudaDeviceGetDefaultMemPool(struct fth_cu_pool **pool, int device)
{
    FTH_FORWARD(cuDeviceGetDefaultMemPool(pool, device));
}

FTH_API int cudaDeviceGetMemPool(struct fth_cu_pool **pool, int device)
{
    FTH_FORWARD(cuDeviceGetMemPool(pool, device));
}

FTH_API int cudaDeviceSetMemPool(int device, struct fth_cu_pool *pool)
{
    FTH_FORWARD(cuDeviceSetMemPool(device, pool));
}

/* The pools of a location: only devices have one. */
FTH_API int cudaMemGetDefaultMemPool(struct fth_cu_pool **pool, struct fth_location *location,
                                     int type)
{
    (void)type;
    if (!location || location->type != FTH_LOCATION_DEVICE)
        return fth_leave(FTH_NOT_SUPPORTED);
    return cudaDeviceGetDefaultMemPool(pool, location->id);
}

FTH_API int cudaMemGetMemPool(struct fth_cu_pool **pool, struct fth_location *location, int type)
{
    (void)type;
    if (!location || location->type != FTH_LOCATION_DEVICE)
        return fth_leave(FTH_NOT_SUPPORTED);
    return cudaDeviceGetMemPool(pool, location->id);
}

FTH_API int cudaMemSetMemPool(struct fth_location *location, int type, struct fth_cu_pool *pool)
{
    (void)type;
    if (!location || location->type != FTH_LOCATION_DEVICE)
        return fth_leave(FTH_NOT_SUPPORTED);
    return cudaDeviceSetMemPool(location->id, pool);
}
