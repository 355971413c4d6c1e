/* Buffers of an OpenCL device, and the chains in the buffer that all requests share.
 *
 * On a CPU, fathom allocates the memory itself and asks the operating system for large pages: with
 * small pages, the set of a physically indexed cache that a line belongs to is random, and the
 * capacity of such a cache is then not visible as a sharp edge. */
#include "device/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Alignment of the memory: the size of a large page on x86-64, and on arm64 with base pages of
 * 4 KiB. */
static const uint64_t page_bytes = UINT64_C(2) << 20;
/* Minimum size of the buffer of the chains. Chosen: enough for most requests, so that it is
 * rarely allocated again. */
static const uint64_t min_bytes = UINT64_C(16) << 20;
/* Links are offsets of 32 bits. */
static const uint64_t max_bytes = UINT64_C(1) << 32;
static const char operation[] = "allocate OpenCL buffer";

/* ---- buffers ---- */

void fth_opencl_release(struct fth_opencl_device *device, struct fth_opencl_buffer *buffer)
{
    if (buffer->memory)
        device->cl.buffer_release(buffer->memory);
    if (buffer->host)
        munmap(buffer->host, (size_t)buffer->host_bytes);
    *buffer = (struct fth_opencl_buffer){0};
}

/* Maps memory of the host that contains `bytes` from a multiple of page_bytes on. Returns their
 * address, NULL: there is none. */
static void *map_host(struct fth_opencl_buffer *buffer, uint64_t bytes)
{
    const uint64_t all = bytes + page_bytes;
    void *mapped = mmap(NULL, (size_t)all, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    buffer->host = mapped;
    buffer->host_bytes = all;
    char *start = mapped;
    start += (page_bytes - (uintptr_t)mapped % page_bytes) % page_bytes;
#ifdef MADV_HUGEPAGE
    (void)madvise(start, (size_t)bytes, MADV_HUGEPAGE); /* without large pages, edges are softer */
#endif
    return start;
}

static enum fth_status create(struct fth_opencl_device *device, struct fth_opencl_buffer *buffer,
                              uint64_t bytes, struct fth_error *error)
{
    fth_cl_int result = 0;
    void *host = device->is_cpu ? map_host(buffer, bytes) : NULL;
    buffer->memory = device->cl.buffer_create(
        device->context,
        host ? FTH_CL_MEM_READ_WRITE | FTH_CL_MEM_USE_HOST_POINTER : FTH_CL_MEM_READ_WRITE,
        (size_t)bytes, host, &result);
    buffer->bytes = bytes;
    if (buffer->memory)
        return FTH_OK;
    fth_opencl_release(device, buffer);
    return fth_opencl_fail(result, "clCreateBuffer", error);
}

/* Finds what links in the buffer of the chains count from. *crosses: links hold the lower 32 bits
 * of addresses, and the buffer crosses a multiple of 4 GiB, so that it cannot be used. */
static enum fth_status find_origin(struct fth_opencl_device *device, bool *crosses,
                                   struct fth_error *error)
{
    uint32_t out[2] = {0};
    const struct fth_opencl_argument arguments[] = {
        {sizeof(void *), &device->memory.memory},
        {sizeof device->memory.bytes, &device->memory.bytes},
        {sizeof(void *), &device->unit.memory}};
    FTH_TRY(fth_opencl_reserve(device, &device->unit, sizeof out, error));
    FTH_TRY(fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_ORIGIN], arguments,
                           FTH_COUNT(arguments), 1, 1, 0, NULL, error));
    FTH_TRY(fth_opencl_read(device, out, device->unit.memory, 0, sizeof out, error));
    device->origin = out[0];
    *crosses = out[1] != 0;
    return FTH_OK;
}

/* Creates the buffer of the chains. A buffer that cannot be used is kept until another one has been
 * created, which then lies elsewhere. */
static enum fth_status create_shared(struct fth_opencl_device *device, uint64_t bytes,
                                     struct fth_error *error)
{
    enum { MAX_ATTEMPTS = 4 };
    struct fth_opencl_buffer rejected[MAX_ATTEMPTS];
    size_t count = 0;
    bool crosses = true;
    enum fth_status status = FTH_OK;
    while (status == FTH_OK && crosses && count < MAX_ATTEMPTS) {
        status = create(device, &device->memory, bytes, error);
        if (status == FTH_OK)
            status = find_origin(device, &crosses, error);
        if (status == FTH_OK && crosses) {
            rejected[count++] = device->memory;
            device->memory = (struct fth_opencl_buffer){0};
        }
    }
    if (status != FTH_OK && !device->hung)
        fth_opencl_release(device, &device->memory);
    for (size_t i = 0; i < count; i++)
        fth_opencl_release(device, &rejected[i]);
    if (status == FTH_OK && crosses)
        return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                        "the driver places the buffer across a multiple of 4 GiB");
    return status;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

enum fth_status fth_opencl_reserve(struct fth_opencl_device *device,
                                   struct fth_opencl_buffer *buffer, uint64_t bytes,
                                   struct fth_error *error)
{
    const bool shared = buffer == &device->memory;
    if (buffer->bytes >= bytes && buffer->memory)
        return FTH_OK;
    /* Links have 32 bits; arrays have none. */
    const uint64_t max =
        shared ? FTH_MIN(max_bytes, device->max_buffer_bytes) : device->max_buffer_bytes;
    if (bytes > max) {
        char needed[32], limit[32];
        return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                        "the request needs %s of memory; a buffer of this device has at most %s",
                        fth_size_format((double)bytes, needed, sizeof needed),
                        fth_size_format((double)max, limit, sizeof limit));
    }
    uint64_t size = shared ? min_bytes : 4096;
    while (size < bytes)
        size *= 2;
    FTH_TRY(fth_opencl_check(device, error));
    fth_opencl_release(device, buffer);
    if (!shared)
        return create(device, buffer, FTH_MIN(size, max), error);
    device->built_count = 0;
    if (size <= max && create_shared(device, size, NULL) == FTH_OK)
        return FTH_OK;
    FTH_TRY(fth_opencl_check(device, error));
    return create_shared(device, FTH_MIN(round_up(bytes, page_bytes), max), error);
}

/* ---- chains ---- */

uint64_t fth_opencl_chain_end(const struct fth_chain *chain)
{
    return chain->start_bytes + chain->stride_bytes * chain->count;
}

static void set_link(char *array, const struct fth_chain *chain, uint64_t element,
                     uint64_t target_bytes, size_t place)
{
    const uint32_t link = (uint32_t)target_bytes;
    memcpy(array + element * chain->stride_bytes + place, &link, sizeof link);
}

/* Bytes from the link of an element to its link for walking in reverse. */
enum { REVERSE_BYTES = 8 };

/* Writes the links of a chain without a seed to `array`, the chain's first element, which is at
 * `offset` in the buffer. A chain in memory order is not closed, so that chains that overlap have
 * the same links: its last element links to where the next one would be. */
static void write_steps(char *array, const struct fth_chain *chain, uint64_t offset, bool reverse)
{
    const uint64_t stride = chain->stride_bytes, count = chain->count,
                   step = fth_chain_step(chain) % count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t next = fth_chain_step(chain) == 1 ? i + 1 : (i + step) % count;
        set_link(array, chain, i, offset + next * stride, 0);
        if (reverse)
            set_link(array, chain, i, offset + i * stride - stride + REVERSE_BYTES, REVERSE_BYTES);
    }
}

/* The same for a chain with a seed. The links are computed first and then written in the order of
 * the memory, which may be write-combined. */
static enum fth_status write_shuffled(char *array, const struct fth_chain *chain, uint64_t offset,
                                      struct fth_error *error)
{
    const size_t count = (size_t)chain->count;
    uint32_t *order = calloc(count, sizeof *order), *next = calloc(count, sizeof *next);
    if (order && next) {
        fth_chain_order(chain, order);
        for (size_t i = 0; i < count; i++)
            next[order[i]] = order[i + 1 < count ? i + 1 : 0];
        for (size_t i = 0; i < count; i++)
            set_link(array, chain, i, offset + next[i] * chain->stride_bytes, 0);
    }
    enum fth_status status = order && next ? FTH_OK : fth_no_memory(error, "build chain", NULL);
    free(order);
    free(next);
    return status;
}

static bool same_chain(const struct fth_chain *a, const struct fth_chain *b)
{
    return a->start_bytes == b->start_bytes && a->stride_bytes == b->stride_bytes &&
           a->count == b->count && fth_chain_step(a) == fth_chain_step(b) && a->seed == b->seed;
}

/* Whether the buffer still holds the chain. */
static bool is_built(const struct fth_opencl_device *device, const struct fth_opencl_built *wanted)
{
    for (size_t i = 0; i < device->built_count; i++) {
        const struct fth_opencl_built *built = &device->built[i];
        if (built->offset == wanted->offset && same_chain(&built->chain, &wanted->chain) &&
            (built->reverse || !wanted->reverse))
            return true;
    }
    return false;
}

/* Forgets the chains that overlap a new one. Chains of one request that overlap have the same
 * links, so that building one does not destroy the other; building it again does no harm. */
static void forget_overlapping(struct fth_opencl_device *device,
                               const struct fth_opencl_built *wanted)
{
    const uint64_t start = wanted->offset + wanted->chain.start_bytes,
                   end = wanted->offset + fth_opencl_chain_end(&wanted->chain);
    size_t kept = 0;
    for (size_t i = 0; i < device->built_count; i++) {
        const struct fth_opencl_built *built = &device->built[i];
        if (built->offset + built->chain.start_bytes >= end ||
            built->offset + fth_opencl_chain_end(&built->chain) <= start)
            device->built[kept++] = *built;
    }
    device->built_count = kept;
}

enum fth_status fth_opencl_build(struct fth_opencl_device *device, const struct fth_chain *chain,
                                 uint64_t offset, bool reverse, struct fth_error *error)
{
    const struct fth_opencl_built wanted = {*chain, offset, reverse};
    if (is_built(device, &wanted))
        return FTH_OK;
    const uint64_t start = offset + chain->start_bytes;
    char *data = NULL;
    forget_overlapping(device, &wanted);
    const uint64_t bytes = fth_opencl_chain_end(chain) - chain->start_bytes;
    FTH_TRY(fth_opencl_map(device, device->memory.memory, start, bytes, &data, error));
    enum fth_status status = FTH_OK;
    if (chain->seed)
        status = write_shuffled(data, chain, start + device->origin, error);
    else
        write_steps(data, chain, start + device->origin, reverse);
    enum fth_status unmapped = fth_opencl_unmap(device, device->memory.memory, data, bytes,
                                                status == FTH_OK ? error : NULL);
    status = status == FTH_OK ? unmapped : status;
    if (status == FTH_OK && device->built_count < FTH_COUNT(device->built))
        device->built[device->built_count++] = wanted;
    return status;
}
