/* The stand-in for NVIDIA's driver: copies on streams, events, pinned memory and peer access.
 * Copies that are queued on a stream are executed only when the caller synchronises with it. A
 * caller that does not wait thus finds the destination unchanged. */
#include "device/machine.h"
#include "driver.h"

enum { MAX_QUEUED = 4 }; /* copies per stream */

struct place {
    const struct fth_machine_ops *ops; /* NULL: host memory */
    void *machine;
    uint64_t address;
    void *host;
};

struct copy {
    struct place to, from;
    size_t bytes;
};

struct stream {
    struct copy queue[MAX_QUEUED];
    size_t count;
};

/* ---- streams ---- */

EXPORT int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreate(struct stream **stream, unsigned flags)
{
    LOCKED;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (flags != 1)
        return INVALID_VALUE;
    *stream = standin_unchecked(calloc(1, sizeof **stream));
    if (!*stream)
        abort();
    standin_add_live(1);
    return SUCCESS;
}

static int perform(const struct copy *copy)
{
    unsigned char *bytes = calloc(1, copy->bytes);
    enum fth_status status = FTH_OK;
    if (!bytes)
        abort();
    if (copy->from.ops)
        status = copy->from.ops->download(copy->from.machine, bytes, copy->from.address,
                                          copy->bytes, NULL);
    else
        memcpy(bytes, copy->from.host, copy->bytes);
    if (mode_is("corrupt", NULL))
        bytes[copy->bytes - 1] ^= 1;
    if (status == FTH_OK && copy->to.ops)
        status = copy->to.ops->upload(copy->to.machine, copy->to.address, bytes, copy->bytes, NULL);
    else if (status == FTH_OK)
        memcpy(copy->to.host, bytes, copy->bytes);
    free(bytes);
    return status == FTH_OK ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuStreamSynchronize(struct stream *stream);
int cuStreamSynchronize(struct stream *stream)
{
    LOCKED;
    int result = standin_check();
    for (size_t i = 0; i < stream->count && result == SUCCESS; i++)
        result = perform(&stream->queue[i]);
    stream->count = 0;
    return result;
}

/* Frees a stream or an event. */
static int destroy(void *object)
{
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    free(object);
    standin_add_live(-1);
    return SUCCESS;
}

EXPORT int cuStreamDestroy_v2(struct stream *stream);
int cuStreamDestroy_v2(struct stream *stream)
{
    LOCKED;
    return destroy(stream);
}

/* ---- events, in pairs: every other event created is the end of a timed interval ---- */

struct event {
    bool second;
};

EXPORT int cuEventCreate(struct event **event, unsigned flags);
int cuEventCreate(struct event **event, unsigned flags)
{
    LOCKED;
    static bool second;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (flags)
        return INVALID_VALUE;
    *event = standin_unchecked(calloc(1, sizeof **event));
    if (!*event)
        abort();
    (*event)->second = second;
    second = !second;
    standin_add_live(1);
    return SUCCESS;
}

EXPORT int cuEventDestroy_v2(struct event *event);
int cuEventDestroy_v2(struct event *event)
{
    LOCKED;
    return destroy(event);
}

EXPORT int cuEventRecord(struct event *event, struct stream *stream);
int cuEventRecord(struct event *event, struct stream *stream)
{
    LOCKED;
    int result = standin_check();
    void *machine;
    if (result != SUCCESS)
        return result;
    if (stream)
        return INVALID_VALUE;
    return standin_ops(NULL, &machine)->mark(machine, event->second, NULL) == FTH_OK
               ? SUCCESS
               : INVALID_VALUE;
}

EXPORT int cuEventElapsedTime(float *ms, struct event *begin, struct event *end);
int cuEventElapsedTime(float *ms, struct event *begin, struct event *end)
{
    LOCKED;
    double ns = 0;
    void *machine;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (begin->second || !end->second ||
        standin_ops(NULL, &machine)->marked_ns(machine, &ns, NULL) != FTH_OK)
        return INVALID_VALUE;
    *ms = (float)(ns / 1e6);
    return SUCCESS;
}

/* ---- pinned host memory ---- */

EXPORT int cuMemAllocHost_v2(void **memory, size_t bytes);
int cuMemAllocHost_v2(void **memory, size_t bytes)
{
    LOCKED;
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (mode_is("no-pinned", NULL))
        return NOT_SUPPORTED;
    *memory = standin_unchecked(malloc(bytes));
    if (!*memory)
        return OUT_OF_MEMORY;
    standin_add_live(1);
    return SUCCESS;
}

EXPORT int cuMemFreeHost(void *memory);
int cuMemFreeHost(void *memory)
{
    LOCKED;
    if (standin_free_mapped(memory))
        return standin_check();
    free(memory);
    standin_add_live(-1);
    return standin_check();
}

/* ---- copies ---- */

static struct place on_device(struct context *context, uint64_t address)
{
    struct place place = {.address = address};
    place.ops = standin_ops(context, &place.machine);
    return place;
}

static int queue(struct stream *stream, struct place to, struct place from, size_t bytes)
{
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (!stream || stream->count == MAX_QUEUED || bytes == 0)
        return INVALID_VALUE;
    stream->queue[stream->count++] = (struct copy){to, from, bytes};
    return SUCCESS;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t bytes, struct stream *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t bytes, struct stream *stream)
{
    LOCKED;
    return queue(stream, on_device(NULL, to), (struct place){.host = from}, bytes);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream)
{
    LOCKED;
    return queue(stream, (struct place){.host = to}, on_device(NULL, from), bytes);
}

EXPORT int cuMemcpyPeerAsync(uint64_t to, struct context *to_context, uint64_t from,
                             struct context *from_context, size_t bytes, struct stream *stream);
int cuMemcpyPeerAsync(uint64_t to, struct context *to_context, uint64_t from,
                      struct context *from_context, size_t bytes, struct stream *stream)
{
    LOCKED;
    if (!to_context || !from_context || to_context == from_context)
        return INVALID_CONTEXT;
    return queue(stream, on_device(to_context, to), on_device(from_context, from), bytes);
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct stream *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct stream *stream)
{
    LOCKED;
    int result = standin_check();
    void *machine;
    if (result != SUCCESS)
        return result;
    if (stream)
        return INVALID_VALUE;
    if (mode_is("hang-copy", NULL))
        standin_hang();
    return standin_ops(NULL, &machine)->copy(machine, to, from, bytes, NULL) == FTH_OK
               ? SUCCESS
               : NOT_SUPPORTED;
}

/* ---- peer access ---- */

EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS)
        result = standin_device(peer);
    *can = result == SUCCESS && device != peer;
    return result;
}

EXPORT int cuCtxEnablePeerAccess(struct context *peer, unsigned flags);
int cuCtxEnablePeerAccess(struct context *peer, unsigned flags)
{
    LOCKED;
    enum { ALREADY_ENABLED = 704 };
    static struct context *enabled[4];
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (!peer || flags)
        return INVALID_VALUE;
    for (size_t i = 0; i < FTH_COUNT(enabled); i++) {
        if (enabled[i] == peer)
            return ALREADY_ENABLED;
        if (enabled[i])
            continue;
        enabled[i] = peer;
        return SUCCESS;
    }
    return INVALID_VALUE;
}
