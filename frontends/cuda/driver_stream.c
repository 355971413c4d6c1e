/* Streams and events. Work is executed when it is put on a stream, so a stream never has anything
 * to wait for. */
#include "cuda_driver.h"

static struct stream default_stream;
static struct stream *streams;

struct event {
    struct event *next;
    bool recorded, has_time;
    double time_ns;
    struct graph *capture; /* of the stream on which it was recorded last */
};
static struct event *events;

struct stream *driver_stream(const struct stream *handle)
{
    const uintptr_t number = (uintptr_t)handle;
    if (number <= 2) /* 0: default, 1: legacy, 2: per thread */
        return &default_stream;
    for (struct stream *at = streams; at; at = at->next)
        if (at == handle)
            return at;
    return NULL;
}

/* ---- work ---- */

void driver_operation_fini(struct operation *operation)
{
    if (operation->kind == OP_LAUNCH)
        free(operation->launch.arguments);
    operation->kind = OP_EMPTY;
}

int driver_execute(const struct operation *operation)
{
    switch (operation->kind) {
    case OP_COPY: return driver_copy(operation);
    case OP_FILL: return driver_fill(operation);
    case OP_LAUNCH: return driver_launch(operation);
    case OP_HOST:
        /* It may wait for another thread, which may call this library. */
        driver_unlock(NULL);
        operation->host.function(operation->host.user);
        driver_lock();
        return SUCCESS;
    case OP_RECORD:
        operation->event->recorded = true;
        operation->event->time_ns = fth_session_time_ns(driver.session);
        return SUCCESS;
    default: return SUCCESS;
    }
}

int driver_submit(struct stream *handle, struct operation *operation)
{
    struct stream *stream = driver_stream(handle);
    if (!stream) {
        driver_operation_fini(operation);
        return INVALID_HANDLE;
    }
    if (stream->capture)
        return driver_graph_add(stream->capture, operation);
    const int result = driver_execute(operation);
    driver_operation_fini(operation);
    return result;
}

/* ---- streams ---- */

CU(cuStreamCreateWithPriority, struct stream **stream, unsigned flags, int priority)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    struct stream *made = stream ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return stream ? OUT_OF_MEMORY : INVALID_VALUE;
    *made = (struct stream){.next = streams,
                            .flags = flags,
                            .priority = priority,
                            .id = driver.next_id++,
                            .context = driver_current()};
    streams = made;
    *stream = made;
    return SUCCESS;
}

CU(cuStreamCreate, struct stream **stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CU(cuStreamDestroy_v2, struct stream *stream)
{
    LOCK;
    struct stream **link = &streams;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = stream->next;
    free(stream);
    return SUCCESS;
}

static int check_stream(const struct stream *stream)
{
    const int result = driver_check();
    return result != SUCCESS ? result : driver_stream(stream) ? SUCCESS : INVALID_HANDLE;
}

CU(cuStreamSynchronize, struct stream *stream)
{
    LOCK;
    return check_stream(stream);
}
ALIAS(cuStreamSynchronize_ptsz, cuStreamSynchronize);
ALIAS(cuStreamQuery, cuStreamSynchronize);
ALIAS(cuStreamQuery_ptsz, cuStreamSynchronize);

CU(cuStreamGetPriority, struct stream *stream, int *priority)
{
    LOCK;
    const int result = check_stream(stream);
    if (result == SUCCESS)
        *priority = driver_stream(stream)->priority;
    return result;
}
ALIAS(cuStreamGetPriority_ptsz, cuStreamGetPriority);

CU(cuStreamGetFlags, struct stream *stream, unsigned *flags)
{
    LOCK;
    const int result = check_stream(stream);
    if (result == SUCCESS)
        *flags = driver_stream(stream)->flags;
    return result;
}
ALIAS(cuStreamGetFlags_ptsz, cuStreamGetFlags);

CU(cuStreamGetId, struct stream *stream, unsigned long long *id)
{
    LOCK;
    const int result = check_stream(stream);
    if (result == SUCCESS)
        *id = driver_stream(stream)->id;
    return result;
}
ALIAS(cuStreamGetId_ptsz, cuStreamGetId);

CU(cuStreamGetCtx, struct stream *stream, struct context **context)
{
    LOCK;
    const int result = check_stream(stream);
    if (result == SUCCESS)
        *context =
            driver_stream(stream)->context ? driver_stream(stream)->context : driver_current();
    return result;
}
ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);

CU(cuStreamGetDevice, struct stream *stream, int *device)
{
    LOCK;
    *device = 0;
    return check_stream(stream);
}
ALIAS(cuStreamGetDevice_ptsz, cuStreamGetDevice);

CU(cuStreamAttachMemAsync, struct stream *stream, uint64_t address, size_t bytes, unsigned flags)
{
    LOCK;
    (void)address, (void)bytes, (void)flags;
    return check_stream(stream);
}
ALIAS(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync);

CU(cuStreamGetAttribute, struct stream *stream, int attribute, void *value)
{
    LOCK;
    (void)attribute;
    memset(value, 0, 64);
    return check_stream(stream);
}
ALIAS(cuStreamGetAttribute_ptsz, cuStreamGetAttribute);

CU(cuStreamSetAttribute, struct stream *stream, int attribute, const void *value)
{
    LOCK;
    (void)attribute, (void)value;
    return check_stream(stream);
}
ALIAS(cuStreamSetAttribute_ptsz, cuStreamSetAttribute);

CU(cuLaunchHostFunc, struct stream *stream, void (*function)(void *), void *user)
{
    LOCK;
    struct operation operation = {.kind = OP_HOST};
    const int result = check_stream(stream);
    operation.host.function = function;
    operation.host.user = user;
    return result != SUCCESS ? result
           : function        ? driver_submit(stream, &operation)
                             : INVALID_VALUE;
}
ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

CU(cuStreamAddCallback, struct stream *stream,
   void (*callback)(struct stream *stream, int status, void *user), void *user, unsigned flags)
{
    int result;
    {
        LOCK;
        result = check_stream(stream);
        if (result == SUCCESS && (!callback || flags))
            result = INVALID_VALUE;
        if (result == SUCCESS && driver_stream(stream)->capture)
            result = STREAM_CAPTURE_UNSUPPORTED;
    }
    if (result == SUCCESS)
        callback(stream, SUCCESS, user);
    return result;
}
ALIAS(cuStreamAddCallback_ptsz, cuStreamAddCallback);

/* Values in memory: a wait is satisfied by what was written before it, or never. */
CU(cuStreamWriteValue32_v2, struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
    LOCK;
    struct operation operation = {.kind = OP_FILL};
    (void)flags;
    operation.fill.address = address;
    operation.fill.value = value;
    operation.fill.element_bytes = 4;
    operation.fill.width = operation.fill.height = 1;
    const int result = check_stream(stream);
    return result != SUCCESS ? result : driver_submit(stream, &operation);
}
ALIAS(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2);

/* ---- events ---- */

bool driver_is_event(const struct event *event)
{
    for (const struct event *at = events; at; at = at->next)
        if (at == event)
            return true;
    return false;
}

CU(cuEventCreate, struct event **event, unsigned flags)
{
    LOCK;
    const int result = driver_check();
    enum { DISABLE_TIMING = 2 };
    if (result != SUCCESS)
        return result;
    struct event *made = event ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return event ? OUT_OF_MEMORY : INVALID_VALUE;
    made->next = events;
    made->has_time = !(flags & DISABLE_TIMING);
    events = made;
    *event = made;
    return SUCCESS;
}

CU(cuEventDestroy_v2, struct event *event)
{
    LOCK;
    struct event **link = &events;
    while (*link && *link != event)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = event->next;
    free(event);
    return SUCCESS;
}

CU(cuEventRecord, struct event *event, struct stream *stream)
{
    LOCK;
    struct operation operation = {.kind = OP_RECORD, .event = event};
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!driver_is_event(event) || !driver_stream(stream))
        return INVALID_HANDLE;
    event->capture = driver_stream(stream)->capture;
    /* In a capture, an event only connects streams. */
    return event->capture ? SUCCESS : driver_submit(stream, &operation);
}
ALIAS(cuEventRecord_ptsz, cuEventRecord);

CU(cuEventRecordWithFlags, struct event *event, struct stream *stream, unsigned flags)
{
    (void)flags;
    return cuEventRecord(event, stream);
}
ALIAS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

CU(cuEventSynchronize, struct event *event)
{
    LOCK;
    const int result = driver_check();
    return result != SUCCESS ? result : driver_is_event(event) ? SUCCESS : INVALID_HANDLE;
}
ALIAS(cuEventQuery, cuEventSynchronize);

CU(cuEventElapsedTime, float *milliseconds, struct event *start, struct event *end)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!driver_is_event(start) || !driver_is_event(end) || !start->recorded || !end->recorded ||
        !start->has_time || !end->has_time)
        return INVALID_HANDLE;
    *milliseconds = (float)((end->time_ns - start->time_ns) / 1e6);
    return SUCCESS;
}
ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);

/* A stream that waits for an event of a captured stream becomes a part of the capture. */
CU(cuStreamWaitEvent, struct stream *stream, struct event *event, unsigned flags)
{
    LOCK;
    (void)flags;
    const int result = check_stream(stream);
    if (result != SUCCESS)
        return result;
    if (!driver_is_event(event))
        return INVALID_HANDLE;
    if (event->capture)
        driver_stream(stream)->capture = event->capture;
    return SUCCESS;
}
ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

void driver_end_capture(const struct graph *graph)
{
    if (default_stream.capture == graph)
        default_stream.capture = NULL;
    for (struct stream *at = streams; at; at = at->next)
        if (at->capture == graph)
            at->capture = NULL;
    for (struct event *at = events; at; at = at->next)
        if (at->capture == graph)
            at->capture = NULL;
}
