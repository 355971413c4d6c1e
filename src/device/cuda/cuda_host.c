/* Memory of the host that kernels access: pinned memory that is mapped for the GPU, and managed
 * memory, whose pages the driver moves to the processor that accesses them. */
#include "device/cuda/cuda.h"

#include <string.h>

enum {
    MAPPED = 2,   /* CU_MEMHOSTALLOC_DEVICEMAP */
    ATTACHED = 1, /* CU_MEM_ATTACH_GLOBAL: any stream of any GPU can access the memory */
    HOST = -1     /* CU_DEVICE_CPU */
};

static enum fth_status check(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                             struct fth_error *error)
{
    return result == 0 ? FTH_OK : fth_cuda_fail(cuda, result, call, error);
}

static enum fth_status alloc_mapped(const struct fth_cuda *cuda, size_t bytes,
                                    struct fth_host_memory *memory, struct fth_error *error)
{
    if (!cuda->host_map || !cuda->host_address || !cuda->host_free)
        return fth_fail(error, FTH_UNSUPPORTED, "allocate host memory", NULL,
                        "the driver does not support mapped memory (cuMemHostAlloc)");
    FTH_TRY(check(cuda, cuda->host_map(&memory->host, bytes, MAPPED), "cuMemHostAlloc", error));
    enum fth_status status = check(cuda, cuda->host_address(&memory->address, memory->host, 0),
                                   "cuMemHostGetDevicePointer", error);
    if (status == FTH_OK)
        status = fth_cuda_fill(cuda, memory->address, 0, bytes, error);
    if (status == FTH_OK)
        status = fth_cuda_synchronize(cuda, error);
    if (status != FTH_OK)
        cuda->host_free(memory->host);
    return status;
}

static enum fth_status alloc_managed(const struct fth_cuda *cuda, size_t bytes,
                                     struct fth_host_memory *memory, struct fth_error *error)
{
    if (!cuda->managed_alloc || !cuda->prefetch)
        return fth_fail(error, FTH_UNSUPPORTED, "allocate managed memory", NULL,
                        "the driver does not support managed memory (cuMemPrefetchAsync)");
    FTH_TRY(check(cuda, cuda->managed_alloc(&memory->address, bytes, ATTACHED), "cuMemAllocManaged",
                  error));
    enum fth_status status = fth_cuda_fill(cuda, memory->address, 0, bytes, error);
    if (status == FTH_OK)
        status = fth_cuda_prefetch(cuda, memory->address, bytes, HOST, error);
    if (status != FTH_OK)
        fth_cuda_free(cuda, memory->address);
    return status;
}

enum fth_status fth_cuda_host_alloc(const struct fth_cuda *cuda, enum fth_residence residence,
                                    size_t bytes, struct fth_host_memory *memory,
                                    struct fth_error *error)
{
    *memory = (struct fth_host_memory){.residence = residence};
    return residence == FTH_RESIDES_HOST ? alloc_mapped(cuda, bytes, memory, error)
                                         : alloc_managed(cuda, bytes, memory, error);
}

void fth_cuda_host_free(const struct fth_cuda *cuda, const struct fth_host_memory *memory)
{
    if (memory->residence == FTH_RESIDES_HOST)
        cuda->host_free(memory->host);
    else
        fth_cuda_free(cuda, memory->address);
}

enum fth_status fth_cuda_prefetch(const struct fth_cuda *cuda, uint64_t address, size_t bytes,
                                  fth_cu_device device, struct fth_error *error)
{
    FTH_TRY(check(cuda, cuda->prefetch(address, bytes, device, NULL), "cuMemPrefetchAsync", error));
    return fth_cuda_synchronize(cuda, error);
}
