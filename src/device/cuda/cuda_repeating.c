/* Addresses whose memory repeats (fth_machine_ops.alloc_repeating), with the virtual memory
 * functions of the driver: the same physical memory is mapped to many ranges of addresses. A chain
 * of loads that are far apart then needs little memory. On an H200, freeing 100 GB takes 50 to 70
 * ms, and the next program that opens the GPU waits up to 100 ms longer; mapping and unmapping 4
 * GiB to as many addresses takes 8 ms. */
#include "device/cuda/cuda.h"

/* The period in bytes. Chosen: large enough that the driver maps it quickly (with 32 MiB, mapping
 * 100 GB takes 100 ms), and small compared with the memory of a GPU that needs it. */
static const uint64_t period_bytes = UINT64_C(2) << 30;
/* CUmemAllocationType, CUmemLocationType and CUmemAccess_flags, from the driver's documentation. */
enum { PINNED = 1, ON_DEVICE = 1, READ_AND_WRITE = 3 };

/* Maps new memory to the `count` ranges of one period each that begin at `address`. */
static fth_cu_result map(const struct fth_cuda *cuda, fth_cu_device device, uint64_t address,
                         uint64_t count)
{
    const struct fth_cu_memory_kind kind = {.type = PINNED, .place = {ON_DEVICE, device}};
    unsigned long long handle = 0;
    fth_cu_result result = cuda->physical_create(&handle, period_bytes, &kind, 0);
    if (result != 0)
        return result;
    for (uint64_t i = 0; i < count && result == 0; i++)
        result = cuda->address_map(address + i * period_bytes, period_bytes, 0, handle, 0);
    /* The memory exists until its last mapping is removed. */
    cuda->physical_release(handle);
    return result;
}

static bool is_complete(const struct fth_cuda *cuda)
{
    return cuda->address_reserve && cuda->address_free && cuda->address_map &&
           cuda->address_unmap && cuda->address_access && cuda->physical_create &&
           cuda->physical_release;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + period_bytes - 1) / period_bytes * period_bytes;
}

enum fth_status fth_cuda_repeating_alloc(const struct fth_cuda *cuda, fth_cu_device device,
                                         uint64_t bytes, uint64_t *address, uint64_t *period,
                                         struct fth_error *error)
{
    *address = 0;
    *period = period_bytes;
    if (!is_complete(cuda))
        return fth_cuda_missing("cuMemMap", error);
    if (bytes <= 2 * period_bytes || bytes > UINT64_MAX - period_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "allocate repeating memory", NULL,
                        "the size is not in the range that is supported");
    const uint64_t all = round_up(bytes);
    const struct fth_cu_access access = {{ON_DEVICE, device}, READ_AND_WRITE};
    fth_cu_result result = cuda->address_reserve(address, all, 0, 0, 0);
    if (result != 0)
        return fth_cuda_fail(cuda, result, "cuMemAddressReserve", error);
    result = map(cuda, device, *address, 1);
    if (result == 0)
        result = map(cuda, device, *address + period_bytes, all / period_bytes - 1);
    if (result == 0)
        result = cuda->address_access(*address, all, &access, 1);
    if (result == 0)
        return FTH_OK;
    fth_cuda_repeating_free(cuda, *address, bytes);
    *address = 0;
    return fth_cuda_fail(cuda, result, "cuMemMap", error);
}

void fth_cuda_repeating_free(const struct fth_cuda *cuda, uint64_t address, uint64_t bytes)
{
    if (!address)
        return;
    /* One range after the other: an allocation that has failed has not mapped all of them. */
    for (uint64_t at = 0; at < round_up(bytes); at += period_bytes)
        cuda->address_unmap(address + at, period_bytes);
    cuda->address_free(address, round_up(bytes));
}
