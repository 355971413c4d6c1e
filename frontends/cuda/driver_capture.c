/* Capture of streams: the work that a program puts on a stream becomes nodes of a graph. Each
 * stream of a capture has a set of nodes that its next one depends on: the last one of the stream,
 * and those of the events that it has waited for since. */
#include "cuda_driver.h"

/* States of a capture (CUstreamCaptureStatus). */
enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

static int begin(struct stream *handle, struct graph *graph, struct node *const *before,
                 size_t count, int mode)
{
    const int result = driver_check();
    struct stream *stream = driver_stream(handle);
    if (result != SUCCESS || !stream)
        return result != SUCCESS ? result : INVALID_HANDLE;
    if (mode < 0 || mode > 2)
        return INVALID_VALUE;
    if (stream->capture)
        return ILLEGAL_STATE;
    if ((uintptr_t)handle <= 1)
        return STREAM_CAPTURE_UNSUPPORTED;
    struct graph *const target = graph ? graph : driver_graph_create();
    if (!target || !driver_set_add(&stream->last, before, count))
        return OUT_OF_MEMORY;
    target->is_captured_into = graph != NULL;
    target->is_invalid = false;
    stream->capture = target;
    stream->is_origin = true;
    return SUCCESS;
}

CU(cuStreamBeginCapture_v2, struct stream *stream, int mode)
{
    LOCK;
    return begin(stream, NULL, NULL, 0, mode);
}
ALIAS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

CU(cuStreamBeginCapture, struct stream *stream)
{
    LOCK;
    return begin(stream, NULL, NULL, 0, 0);
}
ALIAS(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

CU(cuStreamBeginCaptureToGraph, struct stream *stream, struct graph *graph,
   struct node *const *before, const void *edges, size_t count, int mode)
{
    LOCK;
    (void)edges;
    if (!driver_is_graph(graph, false) || (count && !before))
        return INVALID_VALUE;
    return begin(stream, graph, before, count, mode);
}
ALIAS(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph);

/* Ends a capture that failed. */
static int discard(struct graph *captured, int result)
{
    driver_end_capture(captured);
    if (!captured->is_captured_into)
        driver_graph_destroy(captured);
    return result;
}

CU(cuStreamEndCapture, struct stream *handle, struct graph **graph)
{
    LOCK;
    const int result = driver_check();
    const struct stream *stream = driver_stream(handle);
    if (result != SUCCESS || !stream)
        return result != SUCCESS ? result : INVALID_HANDLE;
    struct graph *captured = stream->capture;
    if (!graph)
        return INVALID_VALUE;
    *graph = NULL;
    if (!captured)
        return ILLEGAL_STATE;
    if (!stream->is_origin) {
        captured->is_invalid = true;
        return STREAM_CAPTURE_UNMATCHED;
    }
    if (captured->is_invalid)
        return discard(captured, STREAM_CAPTURE_INVALIDATED);
    if (!driver_is_joined(stream))
        return discard(captured, STREAM_CAPTURE_UNJOINED);
    driver_end_capture(captured);
    *graph = captured;
    return SUCCESS;
}
ALIAS(cuStreamEndCapture_ptsz, cuStreamEndCapture);

static int state_of(const struct stream *stream)
{
    return !stream->capture              ? CAPTURE_NONE
           : stream->capture->is_invalid ? CAPTURE_INVALIDATED
                                         : CAPTURE_ACTIVE;
}

CU(cuStreamIsCapturing, struct stream *handle, int *status)
{
    LOCK;
    const struct stream *stream = driver_stream(handle);
    const int result = driver_check();
    if (result != SUCCESS || !stream || !status)
        return result != SUCCESS ? result : status ? INVALID_HANDLE : INVALID_VALUE;
    *status = state_of(stream);
    return SUCCESS;
}
ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

/* *edges becomes NULL: all dependencies are full ones. */
CU(cuStreamGetCaptureInfo_v3, struct stream *handle, int *status, unsigned long long *id,
   struct graph **graph, struct node *const **before, const void **edges, size_t *count)
{
    LOCK;
    const struct stream *stream = driver_stream(handle);
    const int result = driver_check();
    if (result != SUCCESS || !stream || !status)
        return result != SUCCESS ? result : status ? INVALID_HANDLE : INVALID_VALUE;
    *status = state_of(stream);
    if (*status != CAPTURE_ACTIVE)
        return SUCCESS;
    if (id)
        *id = (unsigned long long)(uintptr_t)stream->capture;
    if (graph)
        *graph = stream->capture;
    if (before)
        *before = stream->last.nodes;
    if (edges)
        *edges = NULL;
    if (count)
        *count = stream->last.count;
    return SUCCESS;
}
ALIAS(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);

CU(cuStreamGetCaptureInfo_v2, struct stream *stream, int *status, unsigned long long *id,
   struct graph **graph, struct node *const **before, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, before, NULL, count);
}
ALIAS(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);

CU(cuStreamGetCaptureInfo, struct stream *stream, int *status, unsigned long long *id)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}
ALIAS(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo);

CU(cuStreamUpdateCaptureDependencies_v2, struct stream *handle, struct node *const *before,
   const void *edges, size_t count, unsigned flags)
{
    LOCK;
    enum { REPLACE = 1 };
    struct stream *stream = driver_stream(handle);
    const int result = driver_check();
    (void)edges;
    if (result != SUCCESS || !stream)
        return result != SUCCESS ? result : INVALID_HANDLE;
    if (!stream->capture)
        return ILLEGAL_STATE;
    if (flags > REPLACE || (count && !before))
        return INVALID_VALUE;
    if (flags == REPLACE)
        driver_set_fini(&stream->last);
    return driver_set_add(&stream->last, before, count) ? SUCCESS : OUT_OF_MEMORY;
}
ALIAS(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2);

CU(cuStreamUpdateCaptureDependencies, struct stream *stream, struct node *const *before,
   size_t count, unsigned flags)
{
    return cuStreamUpdateCaptureDependencies_v2(stream, before, NULL, count, flags);
}
ALIAS(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies);

/* The mode only says which calls are errors during a capture. */
CU(cuThreadExchangeStreamCaptureMode, int *mode)
{
    static _Thread_local int current;
    if (!mode || *mode < 0 || *mode > 2)
        return INVALID_VALUE;
    const int before = current;
    current = *mode;
    *mode = before;
    return SUCCESS;
}

/* ---- streams that join ---- */

/* Marks the nodes of a set, and all that they depend on. */
static bool mark_before(const struct graph *graph, const struct node_set *set)
{
    struct node_set pending = {NULL, 0, 0};
    for (struct node *node = graph->nodes; node; node = node->next)
        node->is_marked = false;
    bool done = driver_set_add(&pending, set->nodes, set->count);
    while (done && pending.count) {
        struct node *node = pending.nodes[--pending.count];
        if (node->is_marked)
            continue;
        node->is_marked = true;
        for (size_t i = 0; done && i < node->before.count; i++)
            if (!node->before.nodes[i]->is_marked)
                done = driver_set_add(&pending, &node->before.nodes[i], 1);
    }
    driver_set_fini(&pending);
    return done;
}

bool driver_capture_precedes(const struct stream *stream, const struct stream *origin)
{
    if (!mark_before(origin->capture, &origin->last))
        return false;
    for (size_t i = 0; i < stream->last.count; i++)
        if (!stream->last.nodes[i]->is_marked)
            return false;
    return true;
}
