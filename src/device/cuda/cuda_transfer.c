/* Copies by the driver between the GPU's memory and host memory or the memory of another GPU. They
 * are timed by the host's clock, from the call to the completion of the copy. */
#include "device/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CU_STREAM_NON_BLOCKING: the stream does not synchronise with the default stream. */
enum { NON_BLOCKING = 1 };
/* The source holds SENT_BYTE, the destination initially INITIAL_BYTE. After the copies, REGIONS
 * regions of the destination (its start, middle and end) of at most MAX_REGION_BYTES are checked.
 */
enum { SENT_BYTE = 0x5a, INITIAL_BYTE = 0xa5, MAX_REGION_BYTES = 1 << 16, REGIONS = 3 };

/* One direction of a transfer. A transfer has one or two directions, which run at the same time. */
struct direction {
    void *stream;
    void *host;
    bool pinned; /* `host` is pinned memory */
    uint64_t device,
        peer;      /* addresses in this GPU's and the other GPU's memory; 0: not allocated */
    bool outgoing; /* away from this GPU */
};

struct job {
    const struct fth_cuda *cuda;
    const struct fth_transfer *transfer;
    fth_cu_context own_context, peer_context;
    fth_cu_device peer_device;
    bool retained, direct;
    struct direction directions[2];
    size_t count;
};

static enum fth_status check(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                             struct fth_error *error)
{
    return result == 0 ? FTH_OK : fth_cuda_fail(cuda, result, call, error);
}

static bool has_peer(const struct fth_transfer *transfer)
{
    return transfer->kind == FTH_TRANSFER_TO_PEER || transfer->kind == FTH_TRANSFER_PEERS;
}

/* ---- memory ---- */

static enum fth_status alloc_host(const struct job *job, struct direction *direction,
                                  struct fth_error *error)
{
    const size_t bytes = (size_t)job->transfer->bytes;
    direction->pinned = job->transfer->pinned;
    if (direction->pinned)
        return check(job->cuda, job->cuda->host_alloc(&direction->host, bytes), "cuMemAllocHost",
                     error);
    direction->host = malloc(bytes);
    return direction->host
               ? FTH_OK
               : fth_fail(error, FTH_NO_MEMORY, "transfer", NULL, "no memory for %zu bytes", bytes);
}

static void free_host(const struct job *job, const struct direction *direction)
{
    if (direction->host && direction->pinned)
        job->cuda->host_free(direction->host);
    else
        free(direction->host);
}

/* Allocates memory of the GPU that `context` belongs to, and fills it with `byte`. */
static enum fth_status alloc_device(const struct job *job, fth_cu_context context,
                                    unsigned char byte, uint64_t *address, struct fth_error *error)
{
    const size_t bytes = (size_t)job->transfer->bytes;
    enum fth_status status =
        check(job->cuda, job->cuda->context_set(context), "cuCtxSetCurrent", error);
    if (status == FTH_OK)
        status = fth_cuda_alloc(job->cuda, bytes, address, error);
    if (status == FTH_OK)
        status = fth_cuda_fill(job->cuda, *address, byte, bytes, error);
    if (status == FTH_OK)
        status = fth_cuda_synchronize(job->cuda, error);
    if (job->cuda->context_set(job->own_context) != 0 && status == FTH_OK)
        status = fth_fail(error, FTH_UNAVAILABLE, "transfer", NULL, "the context is lost");
    return status;
}

/* Allocates and fills the memory of both ends. */
static enum fth_status alloc_ends(const struct job *job, struct direction *direction,
                                  struct fth_error *error)
{
    const unsigned char own = direction->outgoing ? SENT_BYTE : INITIAL_BYTE;
    const unsigned char other = direction->outgoing ? INITIAL_BYTE : SENT_BYTE;
    FTH_TRY(alloc_device(job, job->own_context, own, &direction->device, error));
    if (has_peer(job->transfer))
        return alloc_device(job, job->peer_context, other, &direction->peer, error);
    FTH_TRY(alloc_host(job, direction, error));
    /* This also makes the operating system allocate the pages. */
    memset(direction->host, other, (size_t)job->transfer->bytes);
    return FTH_OK;
}

/* FTH_UNAVAILABLE: there is not enough memory for the data of the transfer. */
static enum fth_status open_direction(const struct job *job, struct direction *direction,
                                      struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    FTH_TRY(check(job->cuda, job->cuda->stream_create(&direction->stream, NON_BLOCKING),
                  "cuStreamCreate", error));
    if (alloc_ends(job, direction, &fault) == FTH_OK)
        return FTH_OK;
    if (fault.status == FTH_NO_MEMORY)
        fault.status = FTH_UNAVAILABLE;
    return fth_error_move(error, &fault);
}

static void close_direction(const struct job *job, struct direction *direction)
{
    if (direction->stream)
        job->cuda->stream_destroy(direction->stream);
    fth_cuda_free(job->cuda, direction->device);
    free_host(job, direction);
    if (direction->peer && job->cuda->context_set(job->peer_context) == 0) {
        fth_cuda_free(job->cuda, direction->peer);
        job->cuda->context_set(job->own_context);
    }
}

/* ---- the other GPU ---- */

/* Opens the other GPU: `transfer->peer` is its index among all GPUs but this one. Sets job->direct
 * if each of the two GPUs can access the memory of the other. */
static enum fth_status open_peer(struct job *job, int ordinal, struct fth_error *error)
{
    const struct fth_cuda *cuda = job->cuda;
    const int number = (int)job->transfer->peer + ((int)job->transfer->peer >= ordinal);
    int count = 0, there = 0, back = 0;
    fth_cu_device own_device;
    if (!cuda->copy_peer || !cuda->peer_can_access || !cuda->peer_enable)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver is too old: it has no cuMemcpyPeerAsync");
    FTH_TRY(check(cuda, cuda->device_count(&count), "cuDeviceGetCount", error));
    if (number >= count)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        count == 1 ? "there is no other GPU" : "there are only %d GPUs", count);
    FTH_TRY(check(cuda, cuda->device_get(&own_device, ordinal), "cuDeviceGet", error));
    FTH_TRY(check(cuda, cuda->device_get(&job->peer_device, number), "cuDeviceGet", error));
    FTH_TRY(check(cuda, cuda->context_retain(&job->peer_context, job->peer_device),
                  "cuDevicePrimaryCtxRetain", error));
    job->retained = true;
    job->direct = cuda->peer_can_access(&there, own_device, job->peer_device) == 0 && there &&
                  cuda->peer_can_access(&back, job->peer_device, own_device) == 0 && back;
    if (!job->direct)
        return FTH_OK;
    /* The result is ignored: enabling access that is already enabled is an error as well. */
    cuda->peer_enable(job->peer_context, 0);
    if (cuda->context_set(job->peer_context) == 0)
        cuda->peer_enable(job->own_context, 0);
    return check(cuda, cuda->context_set(job->own_context), "cuCtxSetCurrent", error);
}

/* ---- copying ---- */

static enum fth_status start(const struct job *job, const struct direction *direction,
                             struct fth_error *error)
{
    const struct fth_cuda *cuda = job->cuda;
    const size_t bytes = (size_t)job->transfer->bytes;
    if (has_peer(job->transfer))
        return check(cuda,
                     direction->outgoing
                         ? cuda->copy_peer(direction->peer, job->peer_context, direction->device,
                                           job->own_context, bytes, direction->stream)
                         : cuda->copy_peer(direction->device, job->own_context, direction->peer,
                                           job->peer_context, bytes, direction->stream),
                     "cuMemcpyPeerAsync", error);
    if (!job->transfer->pinned)
        return direction->outgoing
                   ? fth_cuda_download(cuda, direction->host, direction->device, bytes, error)
                   : fth_cuda_upload(cuda, direction->device, direction->host, bytes, error);
    return direction->outgoing ? check(cuda,
                                       cuda->copy_from_device(direction->host, direction->device,
                                                              bytes, direction->stream),
                                       "cuMemcpyDtoHAsync", error)
                               : check(cuda,
                                       cuda->copy_to_device(direction->device, direction->host,
                                                            bytes, direction->stream),
                                       "cuMemcpyHtoDAsync", error);
}

static enum fth_status copy_once(const struct job *job, uint32_t *ns, struct fth_error *error)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < job->count; i++)
        FTH_TRY(start(job, &job->directions[i], error));
    for (size_t i = 0; i < job->count; i++)
        FTH_TRY(check(job->cuda, job->cuda->stream_synchronize(job->directions[i].stream),
                      "cuStreamSynchronize", error));
    /* A small copy from pageable memory can still be in flight on the default stream when the call
     * returns. */
    if (!job->transfer->pinned && !has_peer(job->transfer))
        FTH_TRY(fth_cuda_synchronize(job->cuda, error));
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double passed =
        (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    *ns = passed < UINT32_MAX ? (uint32_t)passed : UINT32_MAX;
    return FTH_OK;
}

/* Adds the number of wrong bytes in the checked regions of the destination to *wrong. */
static enum fth_status count_wrong_bytes(const struct job *job, const struct direction *direction,
                                         uint32_t *wrong, struct fth_error *error)
{
    static unsigned char const none = 0;
    const uint64_t bytes = job->transfer->bytes,
                   size = bytes < MAX_REGION_BYTES ? bytes : (uint64_t)MAX_REGION_BYTES;
    unsigned char *part = malloc((size_t)size);
    enum fth_status status = part ? FTH_OK : fth_no_memory(error, "transfer", NULL);
    const bool on_host = direction->host && direction->outgoing,
               on_peer = direction->peer && direction->outgoing;
    if (status == FTH_OK && on_peer)
        status =
            check(job->cuda, job->cuda->context_set(job->peer_context), "cuCtxSetCurrent", error);
    for (uint64_t i = 0; i < REGIONS && status == FTH_OK; i++) {
        const uint64_t at = (bytes - size) / (REGIONS - 1) * i;
        if (on_host)
            memcpy(part, (const char *)direction->host + at, (size_t)size);
        else
            status = fth_cuda_download(job->cuda, part,
                                       (on_peer ? direction->peer : direction->device) + at,
                                       (size_t)size, error);
        for (uint64_t j = 0; j < size && status == FTH_OK; j++)
            *wrong += (part ? part[j] : none) != SENT_BYTE;
    }
    if (on_peer && job->cuda->context_set(job->own_context) != 0 && status == FTH_OK)
        status = fth_fail(error, FTH_UNAVAILABLE, "transfer", NULL, "the context is lost");
    free(part);
    return status;
}

/* ---- the whole transfer ---- */

static enum fth_status check_supported(const struct fth_cuda *cuda,
                                       const struct fth_transfer *transfer, struct fth_error *error)
{
    if (!cuda->stream_create || !cuda->stream_destroy || !cuda->stream_synchronize ||
        !cuda->context_retain || !cuda->context_set)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver is too old: it has no cuStreamCreate");
    if (transfer->pinned &&
        (!cuda->host_alloc || !cuda->host_free || !cuda->copy_to_device || !cuda->copy_from_device))
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver does not support pinned memory (cuMemAllocHost)");
    if (transfer->kind == FTH_TRANSFER_BOTH && !transfer->pinned)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "copies of pageable memory cannot overlap");
    return FTH_OK;
}

enum fth_status fth_cuda_transfer(const struct fth_cuda *cuda, int ordinal, fth_cu_context context,
                                  const struct fth_transfer *transfer, uint32_t *samples,
                                  struct fth_error *error)
{
    struct job job = {.cuda = cuda, .transfer = transfer, .own_context = context};
    const bool both = transfer->kind == FTH_TRANSFER_BOTH || transfer->kind == FTH_TRANSFER_PEERS;
    const bool in = transfer->kind == FTH_TRANSFER_TO_DEVICE;
    enum fth_status status = check_supported(cuda, transfer, error);
    if (status == FTH_OK && has_peer(transfer))
        status = open_peer(&job, ordinal, error);
    job.count = both ? 2 : 1;
    for (size_t i = 0; i < job.count && status == FTH_OK; i++) {
        job.directions[i].outgoing = !in && i == 0;
        status = open_direction(&job, &job.directions[i], error);
    }
    uint32_t unused = 0, *wrong = &samples[transfer->repeats];
    if (status == FTH_OK)
        status = copy_once(&job, &unused, error);
    for (uint32_t i = 0; i < transfer->repeats && status == FTH_OK; i++)
        status = copy_once(&job, &samples[i], error);
    for (size_t i = 0; i < job.count && status == FTH_OK; i++)
        status = count_wrong_bytes(&job, &job.directions[i], wrong, error);
    samples[transfer->repeats + 1] = job.direct;
    for (size_t i = 0; i < FTH_COUNT(job.directions); i++)
        close_direction(&job, &job.directions[i]);
    if (job.retained)
        cuda->context_release(job.peer_device);
    return status;
}
