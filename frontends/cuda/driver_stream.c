/* Streams and events. Work is executed when it is put on a stream, so a stream never has anything
 * to wait for. */
#include "cuda_driver.h"

static struct stream default_stream;
static struct stream *streams;

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
    if (operation->kind == OP_LAUNCH) {
        free(operation->launch.arguments);
        free(operation->launch.each);
    }
    if (operation->kind == OP_GRAPH && operation->graph)
        driver_graph_destroy(operation->graph);
    if (operation->kind == OP_ALLOC)
        driver_reservation_release(operation->reservation);
    operation->kind = OP_EMPTY;
}

static int record(struct event *event)
{
    if (!driver_is_event(event))
        return INVALID_HANDLE;
    event->recorded = true;
    event->time_ns = fth_session_time_ns(driver.session);
    return SUCCESS;
}

int driver_execute(const struct operation *operation)
{
    switch (operation->kind) {
    case OP_COPY: return driver_copy(operation);
    case OP_FILL: return driver_fill(operation);
    case OP_LAUNCH: return driver_launch(operation);
    case OP_GRAPH: return driver_graph_run(operation->graph);
    case OP_RECORD: return record(operation->event);
    case OP_HOST:
        /* It may wait for another thread, which may call this library. */
        driver_unlock(NULL);
        operation->host.function(operation->host.user);
        driver_lock();
        return SUCCESS;
    default: return SUCCESS;
    }
}

/* Adds an operation to the graph that captures the stream. */
static int capture(struct stream *stream, struct operation *operation)
{
    struct node *node = NULL;
    if (stream->capture->is_invalid) {
        driver_operation_fini(operation);
        return STREAM_CAPTURE_INVALIDATED;
    }
    const int result =
        driver_graph_add(stream->capture, operation, stream->last.nodes, stream->last.count, &node);
    if (result != SUCCESS)
        return result;
    driver_set_fini(&stream->last);
    return driver_set_add(&stream->last, &node, 1) ? SUCCESS : OUT_OF_MEMORY;
}

int driver_submit(struct stream *handle, struct operation *operation)
{
    struct stream *stream = driver_stream(handle);
    if (!stream) {
        driver_operation_fini(operation);
        return INVALID_HANDLE;
    }
    if (stream->capture)
        return capture(stream, operation);
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
    driver_set_fini(&stream->last);
    free(stream);
    return SUCCESS;
}

ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

static int check_stream(const struct stream *stream)
{
    const int result = driver_check();
    return result != SUCCESS ? result : driver_stream(stream) ? SUCCESS : INVALID_HANDLE;
}

/* A captured stream has nothing to wait for yet; the attempt spoils the capture. */
CU(cuStreamSynchronize, struct stream *stream)
{
    LOCK;
    const int result = check_stream(stream);
    if (result != SUCCESS || !driver_stream(stream)->capture)
        return result;
    driver_stream(stream)->capture->is_invalid = true;
    return STREAM_CAPTURE_UNSUPPORTED;
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

/* Green contexts are not implemented, so no stream has one. */
CU(cuStreamGetCtx_v2, struct stream *stream, struct context **context, void **green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(stream, context);
}
ALIAS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);

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

CU(cuStreamCopyAttributes, struct stream *to, struct stream *from)
{
    LOCK;
    const int result = check_stream(to);
    return result != SUCCESS ? result : check_stream(from);
}
ALIAS(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes);

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

/* ---- values in memory ---- */

static int write_value(struct stream *stream, uint64_t address, uint64_t value, uint32_t bytes)
{
    struct operation operation = {.kind = OP_FILL};
    operation.fill.address = address;
    operation.fill.value = value;
    operation.fill.element_bytes = bytes;
    operation.fill.width = operation.fill.height = 1;
    const int result = check_stream(stream);
    return result != SUCCESS ? result
           : address % bytes ? INVALID_VALUE
                             : driver_submit(stream, &operation);
}

/* A wait is satisfied by what was written before it, or never: a wait that would block is an
 * error. Conditions (CUstreamWaitValue_flags): 0 at least (the difference, as a signed number, is
 * not negative), 1 equal, 2 a common bit, 3 not all bits. */
static int wait_value(struct stream *stream, uint64_t address, uint64_t value, uint32_t bytes,
                      unsigned flags)
{
    const int result = check_stream(stream);
    const void *memory =
        result == SUCCESS ? fth_session_host(driver.session, address, bytes) : NULL;
    if (result != SUCCESS)
        return result;
    if (!memory || address % bytes)
        return INVALID_VALUE;
    if (driver_stream(stream)->capture)
        return driver_unsupported("the capture of cuStreamWaitValue");
    const uint64_t now = field(memory, 0, bytes);
    const int64_t difference =
        bytes == 4 ? (int32_t)((uint32_t)now - (uint32_t)value) : (int64_t)(now - value);
    const uint64_t all = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    const bool met = (flags & 3) == 0   ? difference >= 0
                     : (flags & 3) == 1 ? now == value
                     : (flags & 3) == 2 ? (now & value) != 0
                                        : (~(now | value) & all) != 0;
    return met ? SUCCESS : driver_unsupported("waiting for a value that is written later");
}

CU(cuStreamWriteValue32_v2, struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
    LOCK;
    (void)flags;
    return write_value(stream, address, value, 4);
}
ALIAS(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2);
ALIAS(cuStreamWriteValue32, cuStreamWriteValue32_v2);

CU(cuStreamWriteValue64_v2, struct stream *stream, uint64_t address, uint64_t value, unsigned flags)
{
    LOCK;
    (void)flags;
    return write_value(stream, address, value, 8);
}
ALIAS(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2);
ALIAS(cuStreamWriteValue64, cuStreamWriteValue64_v2);

CU(cuStreamWaitValue32_v2, struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
    LOCK;
    return wait_value(stream, address, value, 4, flags);
}
ALIAS(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2);
ALIAS(cuStreamWaitValue32, cuStreamWaitValue32_v2);

CU(cuStreamWaitValue64_v2, struct stream *stream, uint64_t address, uint64_t value, unsigned flags)
{
    LOCK;
    return wait_value(stream, address, value, 8, flags);
}
ALIAS(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2);
ALIAS(cuStreamWaitValue64, cuStreamWaitValue64_v2);

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
    enum { DISABLE_TIMING = 2, INTERPROCESS = 4 };
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (flags > 7 || ((flags & INTERPROCESS) && !(flags & DISABLE_TIMING)))
        return INVALID_VALUE;
    struct event *made = event ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return event ? OUT_OF_MEMORY : INVALID_VALUE;
    made->next = events;
    made->context = driver_current();
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
    driver_set_fini(&event->last);
    free(event);
    return SUCCESS;
}

ALIAS(cuEventDestroy, cuEventDestroy_v2);

/* In a capture, an event only connects streams, unless `external` asks for a node. */
static int put_record(struct event *event, struct stream *handle, bool external)
{
    struct operation operation = {.kind = OP_RECORD, .event = event};
    const int result = driver_check();
    const struct stream *stream = driver_stream(handle);
    if (result != SUCCESS)
        return result;
    if (!driver_is_event(event) || !stream)
        return INVALID_HANDLE;
    if (!stream->capture || external)
        event->capture = NULL;
    else if (stream->capture->is_invalid)
        return STREAM_CAPTURE_INVALIDATED;
    else
        event->capture = stream->capture;
    driver_set_fini(&event->last);
    if (!event->capture)
        return driver_submit(handle, &operation);
    return driver_set_add(&event->last, stream->last.nodes, stream->last.count) ? SUCCESS
                                                                                : OUT_OF_MEMORY;
}

CU(cuEventRecord, struct event *event, struct stream *stream)
{
    LOCK;
    return put_record(event, stream, false);
}
ALIAS(cuEventRecord_ptsz, cuEventRecord);

CU(cuEventRecordWithFlags, struct event *event, struct stream *stream, unsigned flags)
{
    LOCK;
    return flags > 1 ? INVALID_VALUE : put_record(event, stream, flags == 1);
}
ALIAS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

CU(cuEventSynchronize, struct event *event)
{
    LOCK;
    const int result = driver_check();
    return result != SUCCESS         ? result
           : !driver_is_event(event) ? INVALID_HANDLE
           : event->capture          ? CAPTURED_EVENT
                                     : SUCCESS;
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
CU(cuStreamWaitEvent, struct stream *handle, struct event *event, unsigned flags)
{
    LOCK;
    struct operation operation = {.kind = OP_WAIT, .event = event};
    const int result = check_stream(handle);
    struct stream *stream = driver_stream(handle);
    if (result != SUCCESS)
        return result;
    if (!driver_is_event(event))
        return INVALID_HANDLE;
    if (flags > 1)
        return INVALID_VALUE;
    if (flags == 1) /* an event outside of the capture */
        return driver_submit(handle, &operation);
    if (!event->capture) /* it is complete; a capture cannot depend on it */
        return stream->capture ? STREAM_CAPTURE_ISOLATION : SUCCESS;
    if (stream->capture && stream->capture != event->capture)
        return STREAM_CAPTURE_MERGE;
    stream->capture = event->capture;
    return driver_set_add(&stream->last, event->last.nodes, event->last.count) ? SUCCESS
                                                                               : OUT_OF_MEMORY;
}
ALIAS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

/* ---- captures and contexts ---- */

static void leave_capture(struct stream *stream, const struct graph *graph)
{
    if (stream->capture != graph)
        return;
    stream->capture = NULL;
    stream->is_origin = false;
    driver_set_fini(&stream->last);
}

void driver_end_capture(const struct graph *graph)
{
    leave_capture(&default_stream, graph);
    for (struct stream *at = streams; at; at = at->next)
        leave_capture(at, graph);
    for (struct event *at = events; at; at = at->next)
        if (at->capture == graph) {
            at->capture = NULL;
            driver_set_fini(&at->last);
        }
}

bool driver_is_joined(const struct stream *origin)
{
    for (const struct stream *at = streams; at; at = at->next)
        if (at != origin && at->capture == origin->capture && !driver_capture_precedes(at, origin))
            return false;
    return true;
}

void driver_free_streams(const struct context *context)
{
    for (struct stream **link = &streams; *link;) {
        struct stream *at = *link;
        if (context && at->context != context) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        driver_set_fini(&at->last);
        free(at);
    }
    for (struct event **link = &events; *link;) {
        struct event *at = *link;
        if (context && at->context != context) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        driver_set_fini(&at->last);
        free(at);
    }
}
