/* Memory of the GPU, pinned and managed memory, pools, and what a pointer points to. */
#include "cuda_driver.h"

enum { DEVICE_KINDS = 1u << FTH_MEMORY_DEVICE | 1u << FTH_MEMORY_MANAGED };

static int allocate(enum fth_session_memory kind, size_t bytes, uint64_t *address)
{
    struct fth_error error = FTH_NO_ERROR;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!address)
        return INVALID_VALUE;
    return driver_result(fth_session_alloc(driver.session, kind, bytes, address, &error));
}

CU(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    LOCK;
    return allocate(FTH_MEMORY_DEVICE, bytes, address);
}

/* Rows begin at multiples of 512 bytes, as on NVIDIA's GPUs. */
CU(cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height,
   unsigned element_bytes)
{
    LOCK;
    (void)element_bytes;
    if (!pitch || width > SIZE_MAX / 2)
        return INVALID_VALUE;
    *pitch = (width + 511) / 512 * 512;
    if (height && *pitch > SIZE_MAX / height)
        return OUT_OF_MEMORY;
    return allocate(FTH_MEMORY_DEVICE, *pitch * height, address);
}

static int release(uint64_t address, unsigned kinds)
{
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    return address == 0 ? SUCCESS
                        : driver_result(fth_session_free(driver.session, address, kinds, NULL));
}

CU(cuMemFree_v2, uint64_t address)
{
    LOCK;
    return release(address, DEVICE_KINDS);
}

CU(cuMemAllocManaged, uint64_t *address, size_t bytes, unsigned flags)
{
    LOCK;
    (void)flags;
    return allocate(FTH_MEMORY_MANAGED, bytes, address);
}

CU(cuMemGetInfo_v2, size_t *free, size_t *total)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    *free = (size_t)fth_session_free_bytes(driver.session);
    *total = (size_t)fth_gpu_number(driver.gpu, "memory", "size_bytes", 141e9);
    return SUCCESS;
}

CU(cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address)
{
    LOCK;
    struct fth_session_block block;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!fth_session_find(driver.session, address, &block))
        return NOT_FOUND;
    if (base)
        *base = block.address;
    if (bytes)
        *bytes = (size_t)block.bytes;
    return SUCCESS;
}

/* ---- pinned memory ---- */

CU(cuMemHostAlloc, void **host, size_t bytes, unsigned flags)
{
    LOCK;
    uint64_t address = 0;
    (void)flags;
    if (!host)
        return INVALID_VALUE;
    const int result = allocate(FTH_MEMORY_PINNED, bytes, &address);
    *host = pointer_to(address);
    return result;
}

CU(cuMemAllocHost_v2, void **host, size_t bytes)
{
    return cuMemHostAlloc(host, bytes, 0);
}

CU(cuMemFreeHost, void *host)
{
    LOCK;
    return release((uint64_t)(uintptr_t)host, 1u << FTH_MEMORY_PINNED);
}

CU(cuMemHostGetDevicePointer_v2, uint64_t *address, void *host, unsigned flags)
{
    LOCK;
    struct fth_session_block block;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (flags || !fth_session_find(driver.session, (uint64_t)(uintptr_t)host, &block))
        return INVALID_VALUE;
    *address = (uint64_t)(uintptr_t)host;
    return SUCCESS;
}

CU(cuMemHostGetFlags, unsigned *flags, void *host)
{
    LOCK;
    struct fth_session_block block;
    if (!fth_session_find(driver.session, (uint64_t)(uintptr_t)host, &block))
        return INVALID_VALUE;
    *flags = 2; /* mapped */
    return driver_check();
}

CU(cuMemHostRegister_v2, void *host, size_t bytes, unsigned flags)
{
    LOCK;
    struct fth_session_block block;
    const int result = driver_check();
    (void)flags;
    if (result != SUCCESS)
        return result;
    if (fth_session_find(driver.session, (uint64_t)(uintptr_t)host, &block))
        return ALREADY_REGISTERED;
    return driver_result(fth_session_register(driver.session, host, bytes, NULL));
}

CU(cuMemHostUnregister, void *host)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    return fth_session_free(driver.session, (uint64_t)(uintptr_t)host, 1u << FTH_MEMORY_REGISTERED,
                            NULL) == FTH_OK
               ? SUCCESS
               : NOT_REGISTERED;
}

/* ---- managed memory: it is plain memory, so hints have no effect ---- */

CU(cuMemPrefetchAsync, uint64_t address, size_t bytes, int device, struct stream *stream)
{
    (void)address, (void)bytes, (void)device, (void)stream;
    return driver_check();
}
ALIAS(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);

CU(cuMemPrefetchAsync_v2, uint64_t address, size_t bytes, uint64_t location, unsigned flags,
   struct stream *stream)
{
    (void)address, (void)bytes, (void)location, (void)flags, (void)stream;
    return driver_check();
}
ALIAS(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);

CU(cuMemAdvise, uint64_t address, size_t bytes, int advice, int device)
{
    (void)address, (void)bytes, (void)advice, (void)device;
    return driver_check();
}

CU(cuMemAdvise_v2, uint64_t address, size_t bytes, int advice, uint64_t location)
{
    (void)address, (void)bytes, (void)advice, (void)location;
    return driver_check();
}

/* ---- pools, and allocations in the order of a stream ---- */

/* There is one pool, and a program can create more, which do not differ from it. */
struct pool {
    uint64_t attributes[32];
};
static struct pool default_pool;

CU(cuDeviceGetDefaultMemPool, struct pool **pool, int device)
{
    if (!pool || device != 0)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    *pool = &default_pool;
    return SUCCESS;
}
ALIAS(cuDeviceGetMemPool, cuDeviceGetDefaultMemPool);

CU(cuDeviceSetMemPool, int device, struct pool *pool)
{
    (void)pool;
    return device ? INVALID_DEVICE : SUCCESS;
}

CU(cuMemPoolCreate, struct pool **pool, const void *properties)
{
    (void)properties;
    *pool = calloc(1, sizeof **pool);
    return *pool ? SUCCESS : OUT_OF_MEMORY;
}

CU(cuMemPoolDestroy, struct pool *pool)
{
    if (pool != &default_pool)
        free(pool);
    return SUCCESS;
}

CU(cuMemPoolTrimTo, struct pool *pool, size_t bytes)
{
    (void)pool, (void)bytes;
    return SUCCESS;
}

/* Attributes 1 to 3 are of 32 bits, the others of 64 (CUmemPool_attribute). */
CU(cuMemPoolSetAttribute, struct pool *pool, int attribute, const void *value)
{
    if (attribute < 1 || attribute >= (int)FTH_COUNT(pool->attributes))
        return INVALID_VALUE;
    pool->attributes[attribute] = field(value, 0, attribute <= 3 ? 4 : 8);
    return SUCCESS;
}

CU(cuMemPoolGetAttribute, struct pool *pool, int attribute, void *value)
{
    if (attribute < 1 || attribute >= (int)FTH_COUNT(pool->attributes))
        return INVALID_VALUE;
    memcpy(value, &pool->attributes[attribute], attribute <= 3 ? 4 : 8);
    return SUCCESS;
}

CU(cuMemPoolSetAccess, struct pool *pool, const void *access, size_t count)
{
    (void)pool, (void)access, (void)count;
    return SUCCESS;
}

CU(cuMemAllocAsync, uint64_t *address, size_t bytes, struct stream *stream)
{
    LOCK;
    (void)stream;
    return allocate(FTH_MEMORY_DEVICE, bytes, address);
}
ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);

CU(cuMemAllocFromPoolAsync, uint64_t *address, size_t bytes, struct pool *pool,
   struct stream *stream)
{
    (void)pool;
    return cuMemAllocAsync(address, bytes, stream);
}
ALIAS(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);

CU(cuMemFreeAsync, uint64_t address, struct stream *stream)
{
    LOCK;
    (void)stream;
    return release(address, DEVICE_KINDS);
}
ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

/* ---- pointers ---- */

/* The attributes of a pointer (CUpointer_attribute). Returns NOT_SUPPORTED for unknown ones. */
static int pointer_attribute(void *value, int attribute, const struct fth_session_block *block,
                             uint64_t address)
{
    enum { HOST_TYPE = 1, DEVICE_TYPE = 2 };
    const bool of_gpu = block->kind == FTH_MEMORY_DEVICE;
    switch (attribute) {
    case 1: *(struct context **)value = &driver.primary; return SUCCESS;
    case 2:
        *(unsigned *)value = of_gpu || block->kind == FTH_MEMORY_MANAGED ? DEVICE_TYPE : HOST_TYPE;
        return SUCCESS;
    case 3: *(uint64_t *)value = address; return SUCCESS;
    case 4: /* no host pointer for the memory of the GPU */
        *(void **)value = of_gpu ? NULL : pointer_to(address);
        return of_gpu ? INVALID_VALUE : SUCCESS;
    case 6: *(int *)value = 0; return SUCCESS; /* sync memory operations */
    case 7: *(unsigned long long *)value = block->address; return SUCCESS; /* buffer id */
    case 8: *(unsigned *)value = block->kind == FTH_MEMORY_MANAGED; return SUCCESS;
    case 9: *(int *)value = 0; return SUCCESS; /* device */
    case 11: *(uint64_t *)value = block->address; return SUCCESS;
    case 12: *(size_t *)value = (size_t)block->bytes; return SUCCESS;
    case 13: *(unsigned *)value = 1; return SUCCESS; /* mapped */
    default: return NOT_SUPPORTED;
    }
}

CU(cuPointerGetAttribute, void *value, int attribute, uint64_t address)
{
    LOCK;
    struct fth_session_block block;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!value || !fth_session_find(driver.session, address, &block))
        return INVALID_VALUE;
    return pointer_attribute(value, attribute, &block, address);
}

/* Unknown pointers have zeros as attributes. */
CU(cuPointerGetAttributes, unsigned count, const int *attributes, void **values, uint64_t address)
{
    LOCK;
    static const unsigned char sizes[] = {0, 8, 4, 8, 8, 16, 4, 8, 4, 4, 4, 8, 8, 4};
    struct fth_session_block block;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    const bool found = fth_session_find(driver.session, address, &block);
    for (unsigned i = 0; i < count; i++) {
        const size_t size = (size_t)attributes[i] < sizeof sizes ? sizes[attributes[i]] : 8;
        if (!found || pointer_attribute(values[i], attributes[i], &block, address) != SUCCESS)
            memset(values[i], 0, size);
        if (!found && attributes[i] == 9)
            *(int *)values[i] = -2; /* cudaInvalidDeviceId */
    }
    return SUCCESS;
}

CU(cuPointerSetAttribute, const void *value, int attribute, uint64_t address)
{
    (void)value, (void)attribute, (void)address;
    return driver_check();
}
