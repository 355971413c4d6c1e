/* Contexts. All contexts share the memory of the session. */
#include "cuda_driver.h"

enum { MAX_DEPTH = 64 };

/* The contexts that the thread has pushed; the last one is current. */
static _Thread_local struct context *stack[MAX_DEPTH];
static _Thread_local int depth;

struct context *driver_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

static bool exists(const struct context *context)
{
    if (context == &driver.primary)
        return driver.primary.retained > 0;
    for (const struct context *at = driver.contexts; at; at = at->next)
        if (at == context)
            return true;
    return false;
}

static void make_current(struct context *context)
{
    if (depth == 0)
        depth = 1;
    stack[depth - 1] = context;
    if (!context && depth == 1)
        depth = 0;
}

/* ---- the primary context ---- */

CU(cuDevicePrimaryCtxRetain, struct context **context, int device)
{
    LOCK;
    if (!driver.initialised)
        return NOT_INITIALIZED;
    if (device != 0 || !context)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    driver.primary.is_primary = true;
    driver.primary.retained++;
    if (!driver.primary.id)
        driver.primary.id = driver.next_id++;
    *context = &driver.primary;
    return SUCCESS;
}

CU(cuDevicePrimaryCtxRelease_v2, int device)
{
    LOCK;
    if (device != 0)
        return INVALID_DEVICE;
    if (driver.primary.retained == 0)
        return INVALID_CONTEXT;
    driver.primary.retained--;
    return SUCCESS;
}

CU(cuDevicePrimaryCtxReset_v2, int device)
{
    LOCK;
    if (device != 0)
        return INVALID_DEVICE;
    driver.sticky = SUCCESS;
    return SUCCESS;
}

CU(cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags)
{
    LOCK;
    if (device != 0)
        return INVALID_DEVICE;
    driver.primary.flags = flags;
    return SUCCESS;
}

CU(cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active)
{
    LOCK;
    if (device != 0)
        return INVALID_DEVICE;
    *flags = driver.primary.flags;
    *active = driver.primary.retained > 0;
    return SUCCESS;
}

/* ---- contexts of the program ---- */

CU(cuCtxCreate_v2, struct context **context, unsigned flags, int device)
{
    LOCK;
    if (!driver.initialised)
        return NOT_INITIALIZED;
    if (device != 0 || !context)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    struct context *made = calloc(1, sizeof *made);
    if (!made || depth == MAX_DEPTH) {
        free(made);
        return OUT_OF_MEMORY;
    }
    made->flags = flags;
    made->id = driver.next_id++;
    made->next = driver.contexts;
    driver.contexts = made;
    stack[depth++] = made;
    *context = made;
    return SUCCESS;
}

CU(cuCtxCreate_v4, struct context **context, const void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return cuCtxCreate_v2(context, flags, device);
}

CU(cuCtxCreate_v3, struct context **context, const void *parameters, int count, unsigned flags,
   int device)
{
    (void)parameters;
    (void)count;
    return cuCtxCreate_v2(context, flags, device);
}

CU(cuCtxDestroy_v2, struct context *context)
{
    LOCK;
    struct context **link = &driver.contexts;
    while (*link && *link != context)
        link = &(*link)->next;
    if (!*link)
        return INVALID_CONTEXT;
    *link = context->next;
    if (driver_current() == context)
        depth--;
    free(context);
    return SUCCESS;
}

CU(cuCtxPushCurrent_v2, struct context *context)
{
    LOCK;
    if (!exists(context))
        return INVALID_CONTEXT;
    if (depth == MAX_DEPTH)
        return OUT_OF_MEMORY;
    stack[depth++] = context;
    return SUCCESS;
}

CU(cuCtxPopCurrent_v2, struct context **context)
{
    if (depth == 0)
        return INVALID_CONTEXT;
    depth--;
    if (context)
        *context = stack[depth];
    return SUCCESS;
}

CU(cuCtxSetCurrent, struct context *context)
{
    LOCK;
    if (!driver.initialised)
        return NOT_INITIALIZED;
    if (context && !exists(context))
        return INVALID_CONTEXT;
    make_current(context);
    return SUCCESS;
}

CU(cuCtxGetCurrent, struct context **context)
{
    if (!driver.initialised)
        return NOT_INITIALIZED;
    if (!context)
        return INVALID_VALUE;
    *context = driver_current();
    return SUCCESS;
}

CU(cuCtxGetDevice, int *device)
{
    if (!driver_current())
        return INVALID_CONTEXT;
    *device = 0;
    return SUCCESS;
}

CU(cuCtxGetFlags, unsigned *flags)
{
    if (!driver_current())
        return INVALID_CONTEXT;
    *flags = driver_current()->flags;
    return SUCCESS;
}

CU(cuCtxGetId, struct context *context, unsigned long long *id)
{
    context = context ? context : driver_current();
    if (!context)
        return INVALID_CONTEXT;
    *id = context->id;
    return SUCCESS;
}

CU(cuCtxGetApiVersion, struct context *context, unsigned *version)
{
    (void)context;
    *version = 3020;
    return SUCCESS;
}

CU(cuCtxSynchronize, void)
{
    LOCK;
    return driver_check();
}

/* Limits of CUDA (CUlimit): 0 is the stack of a thread in bytes, 1 the buffer of printf, 2 the heap
 * of malloc. A program can set them; they change nothing. */
CU(cuCtxSetLimit, int limit, size_t value)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (limit < 0 || (size_t)limit >= FTH_COUNT(driver_current()->limits))
        return INVALID_VALUE;
    driver_current()->limits[limit] = value;
    return SUCCESS;
}

CU(cuCtxGetLimit, size_t *value, int limit)
{
    LOCK;
    static const uint64_t defaults[] = {1024, 1 << 20, FTH_PTX_HEAP_BYTES, 2, 2048};
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (limit < 0 || (size_t)limit >= FTH_COUNT(driver_current()->limits))
        return INVALID_VALUE;
    const uint64_t set = driver_current()->limits[limit];
    *value = (size_t)(set ? set : (size_t)limit < FTH_COUNT(defaults) ? defaults[limit] : 0);
    return SUCCESS;
}

CU(cuCtxGetCacheConfig, int *config)
{
    *config = 0;
    return driver_check();
}

CU(cuCtxSetCacheConfig, int config)
{
    (void)config;
    return driver_check();
}

CU(cuCtxGetSharedMemConfig, int *config)
{
    *config = 1; /* banks of four bytes */
    return driver_check();
}

CU(cuCtxSetSharedMemConfig, int config)
{
    (void)config;
    return driver_check();
}

CU(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return driver_check();
}

CU(cuCtxResetPersistingL2Cache, void)
{
    return driver_check();
}

CU(cuCtxEnablePeerAccess, struct context *peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    return PEER_ACCESS_UNSUPPORTED;
}

CU(cuCtxDisablePeerAccess, struct context *peer)
{
    (void)peer;
    return PEER_ACCESS_NOT_ENABLED;
}

CU(cuProfilerStart, void)
{
    return SUCCESS;
}

CU(cuProfilerStop, void)
{
    return SUCCESS;
}
