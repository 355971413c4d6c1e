/* Copies by the driver: from and to the host's memory, and that of another GPU. Timed by the host's
 * clock, from the call to the end of what it asked for. */
#include "device/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CU_STREAM_NON_BLOCKING: does not wait for the default stream. */
enum { NON_BLOCKING = 1 };
/* What is copied; what is there before; and how much is looked at, at the begin, in the middle and
 * at the end. */
enum { SENT = 0x5a, BEFORE = 0xa5, LOOKED_AT = 1 << 16, PLACES = 3 };

/* One way, of which there may be two at a time. */
struct way {
    void *stream;
    void *host;
    bool pinned;           /* that memory */
    uint64_t device, peer; /* memory here, and of the other GPU */
    bool out;              /* away from this GPU */
};

struct job {
    const struct fth_cuda *cuda;
    const struct fth_transfer *transfer;
    fth_cu_context own, other;
    fth_cu_device other_device;
    bool retained, direct;
    struct way ways[2];
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

static enum fth_status alloc_host(const struct job *job, struct way *way, struct fth_error *error)
{
    const size_t bytes = (size_t)job->transfer->bytes;
    way->pinned = job->transfer->pinned;
    if (way->pinned)
        return check(job->cuda, job->cuda->host_alloc(&way->host, bytes), "cuMemAllocHost", error);
    way->host = malloc(bytes);
    return way->host
               ? FTH_OK
               : fth_fail(error, FTH_NO_MEMORY, "transfer", NULL, "no memory for %zu bytes", bytes);
}

static void free_host(const struct job *job, const struct way *way)
{
    if (way->host && way->pinned)
        job->cuda->host_free(way->host);
    else
        free(way->host);
}

/* Device memory of this GPU, or of the other, that holds one byte all over. */
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
    if (job->cuda->context_set(job->own) != 0 && status == FTH_OK)
        status = fth_fail(error, FTH_UNAVAILABLE, "transfer", NULL, "the context is lost");
    return status;
}

static enum fth_status open_way(const struct job *job, struct way *way, struct fth_error *error)
{
    enum fth_status status = check(job->cuda, job->cuda->stream_create(&way->stream, NON_BLOCKING),
                                   "cuStreamCreate", error);
    if (status == FTH_OK)
        status = alloc_device(job, job->own, way->out ? SENT : BEFORE, &way->device, error);
    if (status == FTH_OK && has_peer(job->transfer))
        return alloc_device(job, job->other, way->out ? BEFORE : SENT, &way->peer, error);
    if (status == FTH_OK)
        status = alloc_host(job, way, error);
    if (status == FTH_OK) /* also so that its pages are there */
        memset(way->host, way->out ? BEFORE : SENT, (size_t)job->transfer->bytes);
    return status;
}

static void close_way(const struct job *job, struct way *way)
{
    if (way->stream)
        job->cuda->stream_destroy(way->stream);
    fth_cuda_free(job->cuda, way->device);
    free_host(job, way);
    if (way->peer && job->cuda->context_set(job->other) == 0) {
        fth_cuda_free(job->cuda, way->peer);
        job->cuda->context_set(job->own);
    }
}

/* ---- the other GPU ---- */

/* The how-many-eth of the others, and whether the two reach each other. */
static enum fth_status open_peer(struct job *job, int ordinal, struct fth_error *error)
{
    const struct fth_cuda *cuda = job->cuda;
    const int number = (int)job->transfer->peer + ((int)job->transfer->peer >= ordinal);
    int count = 0, there = 0, back = 0;
    fth_cu_device own;
    if (!cuda->copy_peer || !cuda->peer_can || !cuda->peer_enable)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver has no cuMemcpyPeerAsync: too old");
    enum fth_status status = check(cuda, cuda->device_count(&count), "cuDeviceGetCount", error);
    if (status == FTH_OK && number >= count)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        count == 1 ? "there is no other GPU" : "there are no more GPUs than %d",
                        count);
    if (status == FTH_OK)
        status = check(cuda, cuda->device_get(&own, ordinal), "cuDeviceGet", error);
    if (status == FTH_OK)
        status = check(cuda, cuda->device_get(&job->other_device, number), "cuDeviceGet", error);
    if (status == FTH_OK)
        status = check(cuda, cuda->context_retain(&job->other, job->other_device),
                       "cuDevicePrimaryCtxRetain", error);
    job->retained = status == FTH_OK;
    if (status != FTH_OK)
        return status;
    job->direct = cuda->peer_can(&there, own, job->other_device) == 0 && there &&
                  cuda->peer_can(&back, job->other_device, own) == 0 && back;
    if (!job->direct)
        return FTH_OK;
    /* Where it is enabled already, that is an error, too. */
    cuda->peer_enable(job->other, 0);
    if (cuda->context_set(job->other) == 0)
        cuda->peer_enable(job->own, 0);
    return check(cuda, cuda->context_set(job->own), "cuCtxSetCurrent", error);
}

/* ---- copying ---- */

static enum fth_status start(const struct job *job, const struct way *way, struct fth_error *error)
{
    const struct fth_cuda *cuda = job->cuda;
    const size_t bytes = (size_t)job->transfer->bytes;
    if (has_peer(job->transfer))
        return check(
            cuda,
            way->out
                ? cuda->copy_peer(way->peer, job->other, way->device, job->own, bytes, way->stream)
                : cuda->copy_peer(way->device, job->own, way->peer, job->other, bytes, way->stream),
            "cuMemcpyPeerAsync", error);
    if (!job->transfer->pinned)
        return way->out ? fth_cuda_download(cuda, way->host, way->device, bytes, error)
                        : fth_cuda_upload(cuda, way->device, way->host, bytes, error);
    return way->out ? check(cuda, cuda->copy_out(way->host, way->device, bytes, way->stream),
                            "cuMemcpyDtoHAsync", error)
                    : check(cuda, cuda->copy_in(way->device, way->host, bytes, way->stream),
                            "cuMemcpyHtoDAsync", error);
}

static enum fth_status copy_once(const struct job *job, uint32_t *ns, struct fth_error *error)
{
    struct timespec from, to;
    enum fth_status status = FTH_OK;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < job->count && status == FTH_OK; i++)
        status = start(job, &job->ways[i], error);
    for (size_t i = 0; i < job->count && status == FTH_OK; i++)
        status = check(job->cuda, job->cuda->stream_wait(job->ways[i].stream),
                       "cuStreamSynchronize", error);
    /* Small ones of pageable memory may still be on their way, on the default stream. */
    if (status == FTH_OK && !job->transfer->pinned && !has_peer(job->transfer))
        status = fth_cuda_synchronize(job->cuda, error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double passed =
        (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    *ns = passed < UINT32_MAX ? (uint32_t)passed : UINT32_MAX;
    return status;
}

/* Counts the bytes that did not arrive, as far as one looks. */
static enum fth_status look(const struct job *job, const struct way *way, uint32_t *wrong,
                            struct fth_error *error)
{
    static unsigned char const none = 0;
    const uint64_t bytes = job->transfer->bytes,
                   size = bytes < LOOKED_AT ? bytes : (uint64_t)LOOKED_AT;
    unsigned char *part = malloc((size_t)size);
    enum fth_status status =
        part ? FTH_OK : fth_fail(error, FTH_NO_MEMORY, "transfer", NULL, "out of memory");
    const bool on_host = way->host && way->out, on_peer = way->peer && way->out;
    if (status == FTH_OK && on_peer)
        status = check(job->cuda, job->cuda->context_set(job->other), "cuCtxSetCurrent", error);
    for (uint64_t i = 0; i < PLACES && status == FTH_OK; i++) {
        const uint64_t at = (bytes - size) / (PLACES - 1) * i;
        if (on_host)
            memcpy(part, (const char *)way->host + at, (size_t)size);
        else
            status = fth_cuda_download(job->cuda, part, (on_peer ? way->peer : way->device) + at,
                                       (size_t)size, error);
        for (uint64_t j = 0; j < size && status == FTH_OK; j++)
            *wrong += (part ? part[j] : none) != SENT;
    }
    if (on_peer && job->cuda->context_set(job->own) != 0 && status == FTH_OK)
        status = fth_fail(error, FTH_UNAVAILABLE, "transfer", NULL, "the context is lost");
    free(part);
    return status;
}

/* ---- all of it ---- */

static enum fth_status refuse(const struct fth_cuda *cuda, const struct fth_transfer *transfer,
                              struct fth_error *error)
{
    if (!cuda->stream_create || !cuda->stream_destroy || !cuda->stream_wait ||
        !cuda->context_retain || !cuda->context_set)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver has no cuStreamCreate: too old");
    if (transfer->pinned &&
        (!cuda->host_alloc || !cuda->host_free || !cuda->copy_in || !cuda->copy_out))
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the driver has no pinned memory (cuMemAllocHost)");
    if (transfer->kind == FTH_TRANSFER_BOTH && !transfer->pinned)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "a copy of pageable memory ends before the next one begins");
    return FTH_OK;
}

enum fth_status fth_cuda_transfer(const struct fth_cuda *cuda, int ordinal, fth_cu_context context,
                                  const struct fth_transfer *transfer, uint32_t *samples,
                                  struct fth_error *error)
{
    struct job job = {.cuda = cuda, .transfer = transfer, .own = context};
    const bool both = transfer->kind == FTH_TRANSFER_BOTH || transfer->kind == FTH_TRANSFER_PEERS;
    const bool in = transfer->kind == FTH_TRANSFER_TO_DEVICE;
    enum fth_status status = refuse(cuda, transfer, error);
    if (status == FTH_OK && has_peer(transfer))
        status = open_peer(&job, ordinal, error);
    job.count = both ? 2 : 1;
    for (size_t i = 0; i < job.count && status == FTH_OK; i++) {
        job.ways[i].out = !in && i == 0;
        status = open_way(&job, &job.ways[i], error);
    }
    uint32_t unused = 0, *wrong = &samples[transfer->repeats];
    if (status == FTH_OK)
        status = copy_once(&job, &unused, error);
    for (uint32_t i = 0; i < transfer->repeats && status == FTH_OK; i++)
        status = copy_once(&job, &samples[i], error);
    for (size_t i = 0; i < job.count && status == FTH_OK; i++)
        status = look(&job, &job.ways[i], wrong, error);
    samples[transfer->repeats + 1] = job.direct;
    for (size_t i = 0; i < FTH_COUNT(job.ways); i++)
        close_way(&job, &job.ways[i]);
    if (job.retained)
        cuda->context_release(job.other_device);
    return status;
}
