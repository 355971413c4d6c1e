/* Memory of the GPU, pinned and managed memory, pools, and what a pointer points to. */
#include "cuda_driver.h"

enum { DEVICE_KINDS = 1u << FTH_MEMORY_DEVICE | 1u << FTH_MEMORY_MANAGED };

int driver_allocate(enum fth_session_memory kind, size_t bytes, uint64_t *address)
{
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!address)
        return INVALID_VALUE;
    result = driver_result(fth_session_alloc(driver.session, kind, bytes, address, NULL));
    if (result == SUCCESS)
        fth_session_set_owner(driver.session, *address, driver_current());
    return result;
}

CU(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    LOCK;
    return driver_allocate(FTH_MEMORY_DEVICE, bytes, address);
}

/* Rows begin at multiples of 512 bytes, as on NVIDIA's GPUs. */
CU(cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height,
   unsigned element_bytes)
{
    LOCK;
    if (!pitch || width == 0 || height == 0 || width > SIZE_MAX / 2 ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return INVALID_VALUE;
    *pitch = (width + 511) / 512 * 512;
    if (*pitch > SIZE_MAX / height)
        return OUT_OF_MEMORY;
    return driver_allocate(FTH_MEMORY_DEVICE, *pitch * height, address);
}

static void end_use(uint64_t address);

static int release(uint64_t address, unsigned kinds)
{
    int result = driver_check();
    /* The memory of an allocation node is freed with the graph. */
    if (result != SUCCESS || address == 0 || driver_is_reserved(address))
        return result;
    result = driver_result(fth_session_free(driver.session, address, kinds, NULL));
    if (result == SUCCESS)
        end_use(address);
    return result;
}

CU(cuMemFree_v2, uint64_t address)
{
    LOCK;
    return release(address, DEVICE_KINDS);
}

CU(cuMemAllocManaged, uint64_t *address, size_t bytes, unsigned flags)
{
    LOCK;
    enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2 };
    if (flags != ATTACH_GLOBAL && flags != ATTACH_HOST)
        return INVALID_VALUE;
    return driver_allocate(FTH_MEMORY_MANAGED, bytes, address);
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
    const int result = driver_allocate(FTH_MEMORY_PINNED, bytes, &address);
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
    if (!host || bytes == 0)
        return INVALID_VALUE;
    const int registered = driver_result(fth_session_register(driver.session, host, bytes, NULL));
    if (registered == SUCCESS)
        fth_session_set_owner(driver.session, (uint64_t)(uintptr_t)host, driver_current());
    return registered;
}

ALIAS(cuMemHostRegister, cuMemHostRegister_v2);

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

/* Attributes of a range of managed memory (CUmem_range_attribute): 1 read mostly, 2 the preferred
 * location, 3 the devices that access it, 4 where it was prefetched to last; 5 to 8 are the type
 * and the number of both locations. Hints are not kept, so there are none. */
static int range_attribute(int *values, size_t bytes, int attribute, uint64_t address)
{
    enum { NO_DEVICE_ID = -2 };
    struct fth_session_block block;
    if (!values || bytes < 4 || bytes % 4 || attribute < 1 || attribute > 8 ||
        !fth_session_find(driver.session, address, &block) || block.kind != FTH_MEMORY_MANAGED)
        return INVALID_VALUE;
    const bool is_device = attribute == 2 || attribute == 3 || attribute == 4;
    for (size_t i = 0; i < bytes / 4; i++)
        values[i] = is_device ? NO_DEVICE_ID : 0;
    return SUCCESS;
}

CU(cuMemRangeGetAttribute, void *value, size_t bytes, int attribute, uint64_t address, size_t count)
{
    LOCK;
    const int result = driver_check();
    (void)count;
    return result != SUCCESS ? result : range_attribute(value, bytes, attribute, address);
}

CU(cuMemRangeGetAttributes, void **values, const size_t *sizes, const int *attributes,
   size_t number, uint64_t address, size_t count)
{
    LOCK;
    int result = driver_check();
    (void)count;
    for (size_t i = 0; result == SUCCESS && i < number; i++)
        result = range_attribute(values[i], sizes[i], attributes[i], address);
    return result;
}

/* ---- pools, and allocations in the order of a stream ---- */

/* Attributes of a pool (CUmemPool_attribute): 1 to 3 allow the reuse of memory, 5 and 6 are the
 * memory reserved and its maximum, 7 and 8 the memory in use and its maximum. */
enum { POOL_RESERVED = 5, POOL_USED = 7, POOL_ATTRIBUTES = 32 };

/* There is one pool, and a program can create more. They only differ in their attributes. */
struct pool {
    struct pool *next;
    uint64_t attributes[POOL_ATTRIBUTES];
};
static struct pool default_pool = {NULL, {0, 1, 1, 1}};
static struct pool *pools, *current_pool = &default_pool;

/* Memory that was allocated from a pool. */
struct pool_use {
    struct pool_use *next;
    struct pool *pool; /* NULL: destroyed */
    uint64_t address, bytes;
};
static struct pool_use *pool_uses;

static void add_to_pool(struct pool *pool, int attribute, uint64_t bytes)
{
    uint64_t *const now = &pool->attributes[attribute], *const most = now + 1;
    *now += bytes;
    *most = *now > *most ? *now : *most;
}

static void end_use(uint64_t address)
{
    struct pool_use **link = &pool_uses;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    struct pool_use *use = *link;
    if (!use)
        return;
    *link = use->next;
    if (use->pool) {
        use->pool->attributes[POOL_RESERVED] -= use->bytes;
        use->pool->attributes[POOL_USED] -= use->bytes;
    }
    free(use);
}

static int allocate_from(struct pool *pool, size_t bytes, uint64_t *address)
{
    const int result = driver_allocate(FTH_MEMORY_DEVICE, bytes, address);
    struct pool_use *use = result == SUCCESS ? calloc(1, sizeof *use) : NULL;
    if (!use)
        return result; /* the memory counts for no pool if there is no memory for the record */
    end_use(*address); /* of a context that was destroyed */
    *use = (struct pool_use){pool_uses, pool, *address, bytes};
    pool_uses = use;
    add_to_pool(pool, POOL_RESERVED, bytes);
    add_to_pool(pool, POOL_USED, bytes);
    return SUCCESS;
}

static struct pool **find_pool(const struct pool *pool)
{
    struct pool **link = &pools;
    while (*link && *link != pool)
        link = &(*link)->next;
    return link;
}

static bool is_pool(const struct pool *pool)
{
    return pool == &default_pool || *find_pool(pool);
}

static void destroy_pool(struct pool **link)
{
    struct pool *pool = *link;
    *link = pool->next;
    for (struct pool_use *use = pool_uses; use; use = use->next)
        if (use->pool == pool)
            use->pool = NULL;
    if (current_pool == pool)
        current_pool = &default_pool;
    free(pool);
}

void driver_free_pools(void)
{
    while (pools)
        destroy_pool(&pools);
    while (pool_uses)
        end_use(pool_uses->address);
}

CU(cuDeviceGetDefaultMemPool, struct pool **pool, int device)
{
    if (!pool || device != 0)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    *pool = &default_pool;
    return SUCCESS;
}

CU(cuDeviceGetMemPool, struct pool **pool, int device)
{
    LOCK;
    if (!pool || device != 0)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    *pool = current_pool;
    return SUCCESS;
}

CU(cuDeviceSetMemPool, int device, struct pool *pool)
{
    LOCK;
    if (!is_pool(pool) || device != 0)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    current_pool = pool;
    return SUCCESS;
}

CU(cuMemPoolCreate, struct pool **pool, const void *properties)
{
    LOCK;
    if (!pool || !properties)
        return INVALID_VALUE;
    *pool = calloc(1, sizeof **pool);
    if (!*pool)
        return OUT_OF_MEMORY;
    **pool = (struct pool){pools, {0, 1, 1, 1}};
    pools = *pool;
    return SUCCESS;
}

CU(cuMemPoolDestroy, struct pool *pool)
{
    LOCK;
    struct pool **link = find_pool(pool);
    if (!*link)
        return INVALID_VALUE; /* also for the default pool */
    destroy_pool(link);
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
    if (!pool || !value || attribute < 1 || attribute >= POOL_ATTRIBUTES)
        return INVALID_VALUE;
    pool->attributes[attribute] = field(value, 0, attribute <= 3 ? 4 : 8);
    return SUCCESS;
}

CU(cuMemPoolGetAttribute, struct pool *pool, int attribute, void *value)
{
    if (!pool || !value || attribute < 1 || attribute >= POOL_ATTRIBUTES)
        return INVALID_VALUE;
    memcpy(value, &pool->attributes[attribute], attribute <= 3 ? 4 : 8);
    return SUCCESS;
}

CU(cuMemPoolSetAccess, struct pool *pool, const void *access, size_t count)
{
    (void)pool, (void)access, (void)count;
    return SUCCESS;
}

CU(cuMemPoolGetAccess, int *flags, struct pool *pool, const int *location)
{
    enum { DEVICE_LOCATION = 1, READ_WRITE = 3 };
    if (!flags || !pool || !location)
        return INVALID_VALUE;
    if (location[0] != DEVICE_LOCATION || location[1] != 0)
        return INVALID_VALUE;
    *flags = READ_WRITE;
    return SUCCESS;
}

static int allocate_async(uint64_t *address, size_t bytes, struct pool *pool, struct stream *stream)
{
    const struct stream *on = driver_stream(stream);
    struct operation operation = {.kind = OP_ALLOC};
    size_t size;
    if (!on || !address)
        return on ? INVALID_VALUE : INVALID_HANDLE;
    if (!on->capture)
        return allocate_from(pool, bytes, address);
    const int result = driver_reserve(bytes, &operation.reservation);
    if (result != SUCCESS)
        return result;
    *address = driver_reservation_address(operation.reservation, &size);
    return driver_submit(stream, &operation);
}

CU(cuMemAllocAsync, uint64_t *address, size_t bytes, struct stream *stream)
{
    LOCK;
    return allocate_async(address, bytes, current_pool, stream);
}
ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);

CU(cuMemAllocFromPoolAsync, uint64_t *address, size_t bytes, struct pool *pool,
   struct stream *stream)
{
    LOCK;
    return is_pool(pool) ? allocate_async(address, bytes, pool, stream) : INVALID_VALUE;
}
ALIAS(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);

CU(cuMemFreeAsync, uint64_t address, struct stream *stream)
{
    LOCK;
    const struct stream *on = driver_stream(stream);
    struct operation operation = {.kind = OP_FREE, .freed = address};
    if (!on)
        return INVALID_HANDLE;
    return on->capture ? driver_submit(stream, &operation) : release(address, DEVICE_KINDS);
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
    case 1: *(const void **)value = block->owner; return SUCCESS;
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
