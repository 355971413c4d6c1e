/* The stand-in for NVIDIA's driver: host memory that is mapped for the GPU, and managed memory. The
 * simulated GPU has one such allocation at a time. */
#include "device/machine.h"
#include "driver.h"

enum { MAPPED = 2, ATTACHED = 1, TO_HOST = -1 };

/* The allocation; its address is 0 if there is none. Its member `host` is the address that the
 * caller knows for mapped memory. */
static struct fth_host_memory only;

static int allocate(enum fth_residence residence, size_t bytes)
{
    void *machine;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (only.address)
        return INVALID_VALUE;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    const enum fth_status status = ops->host_alloc(machine, residence, bytes, &only, NULL);
    if (status == FTH_OK) {
        standin_add_live(1);
        return SUCCESS;
    }
    only = (struct fth_host_memory){0};
    return status == FTH_UNSUPPORTED ? NOT_SUPPORTED : OUT_OF_MEMORY;
}

static void release(void)
{
    void *machine;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    ops->host_free(machine, &only);
    only = (struct fth_host_memory){0};
    standin_add_live(-1);
}

bool standin_free_mapped(void *memory)
{
    const bool found = only.host && only.host == memory;
    if (found)
        release();
    return found;
}

bool standin_free_managed(uint64_t address)
{
    const bool found = only.address && !only.host && only.address == address;
    if (found)
        release();
    return found;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    LOCKED;
    if (flags != MAPPED)
        return INVALID_VALUE;
    if (mode_is("no-pinned", NULL))
        return NOT_SUPPORTED;
    const int result = allocate(FTH_RESIDES_HOST, bytes);
    if (result == SUCCESS)
        *memory = only.host = &only;
    return result;
}

EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    LOCKED;
    if (flags || !only.host || memory != only.host)
        return INVALID_VALUE;
    *address = only.address;
    return standin_check();
}

EXPORT int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    LOCKED;
    if (flags != ATTACHED)
        return INVALID_VALUE;
    const int result = allocate(FTH_RESIDES_MANAGED, bytes);
    *address = only.address;
    return result;
}

EXPORT int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *stream);
int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *stream)
{
    LOCKED;
    void *machine;
    const int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (stream || only.host || address != only.address)
        return INVALID_VALUE;
    /* The driver's fills do not move the simulated pages, so that they are still on the host. */
    if (device == TO_HOST)
        return SUCCESS;
    const struct fth_machine_ops *ops = standin_ops(NULL, &machine);
    return ops->prefetch(machine, address, bytes, NULL) == FTH_OK ? SUCCESS : NOT_SUPPORTED;
}
