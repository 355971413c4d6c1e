/* Graphs: stream capture, structure, instantiation and launch. The nodes are in cudart_node.c. */
#include "cudart.h"

FTH_API int cudaStreamBeginCapture(struct fth_cu_stream *stream, int mode)
{
    FTH_FORWARD(cuStreamBeginCapture_v2(stream, mode));
}

FTH_API int cudaStreamBeginCapture_ptsz(struct fth_cu_stream *stream, int mode)
{
    return cudaStreamBeginCapture(fth_per_thread(stream), mode);
}

FTH_API int cudaStreamBeginCaptureToGraph(struct fth_cu_stream *stream, struct fth_cu_graph *graph,
                                          struct fth_cu_node *const *nodes,
                                          const struct fth_edge *edges, size_t count, int mode)
{
    FTH_FORWARD(cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count, mode));
}

FTH_API int cudaStreamBeginCaptureToGraph_ptsz(struct fth_cu_stream *stream,
                                               struct fth_cu_graph *graph,
                                               struct fth_cu_node *const *nodes,
                                               const struct fth_edge *edges, size_t count, int mode)
{
    return cudaStreamBeginCaptureToGraph(fth_per_thread(stream), graph, nodes, edges, count, mode);
}

FTH_API int cudaStreamEndCapture(struct fth_cu_stream *stream, struct fth_cu_graph **graph)
{
    FTH_FORWARD(cuStreamEndCapture(stream, graph));
}

FTH_API int cudaStreamEndCapture_ptsz(struct fth_cu_stream *stream, struct fth_cu_graph **graph)
{
    return cudaStreamEndCapture(fth_per_thread(stream), graph);
}

FTH_API int cudaStreamIsCapturing(struct fth_cu_stream *stream, int *status)
{
    FTH_FORWARD(cuStreamIsCapturing(stream, status));
}

FTH_API int cudaStreamIsCapturing_ptsz(struct fth_cu_stream *stream, int *status)
{
    return cudaStreamIsCapturing(fth_per_thread(stream), status);
}

FTH_API int cudaStreamGetCaptureInfo(struct fth_cu_stream *stream, int *status,
                                     unsigned long long *id, struct fth_cu_graph **graph,
                                     struct fth_cu_node *const **nodes,
                                     const struct fth_edge **edges, size_t *count)
{
    uint64_t number = 0;
    int error = fth_enter();
    if (!error)
        error = cuStreamGetCaptureInfo_v3(stream, status, &number, graph, nodes, edges, count);
    if (!error && id)
        *id = number;
    return fth_leave(error);
}

FTH_API int cudaStreamGetCaptureInfo_ptsz(struct fth_cu_stream *stream, int *status,
                                          unsigned long long *id, struct fth_cu_graph **graph,
                                          struct fth_cu_node *const **nodes,
                                          const struct fth_edge **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo(fth_per_thread(stream), status, id, graph, nodes, edges, count);
}

FTH_API int cudaStreamUpdateCaptureDependencies(struct fth_cu_stream *stream,
                                                struct fth_cu_node **nodes,
                                                const struct fth_edge *edges, size_t count,
                                                unsigned flags)
{
    FTH_FORWARD(cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags));
}

FTH_API int cudaStreamUpdateCaptureDependencies_ptsz(struct fth_cu_stream *stream,
                                                     struct fth_cu_node **nodes,
                                                     const struct fth_edge *edges, size_t count,
                                                     unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies(fth_per_thread(stream), nodes, edges, count, flags);
}

FTH_API int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    FTH_FORWARD(cuThreadExchangeStreamCaptureMode(mode));
}

FTH_API int cudaGraphCreate(struct fth_cu_graph **graph, unsigned flags)
{
    FTH_FORWARD(cuGraphCreate(graph, flags));
}

FTH_API int cudaGraphDestroy(struct fth_cu_graph *graph)
{
    FTH_FORWARD(cuGraphDestroy(graph));
}

FTH_API int cudaGraphClone(struct fth_cu_graph **clone, struct fth_cu_graph *graph)
{
    FTH_FORWARD(cuGraphClone(clone, graph));
}

FTH_API int cudaGraphNodeFindInClone(struct fth_cu_node **node, struct fth_cu_node *original,
                                     struct fth_cu_graph *clone)
{
    FTH_FORWARD(cuGraphNodeFindInClone(node, original, clone));
}

FTH_API int cudaGraphNodeGetType(struct fth_cu_node *node, int *type)
{
    FTH_FORWARD(cuGraphNodeGetType(node, type));
}

FTH_API int cudaGraphGetNodes(struct fth_cu_graph *graph, struct fth_cu_node **nodes, size_t *count)
{
    FTH_FORWARD(cuGraphGetNodes(graph, nodes, count));
}

FTH_API int cudaGraphGetRootNodes(struct fth_cu_graph *graph, struct fth_cu_node **nodes,
                                  size_t *count)
{
    FTH_FORWARD(cuGraphGetRootNodes(graph, nodes, count));
}

FTH_API int cudaGraphGetEdges(struct fth_cu_graph *graph, struct fth_cu_node **from,
                              struct fth_cu_node **to, struct fth_edge *edges, size_t *count)
{
    FTH_FORWARD(cuGraphGetEdges_v2(graph, from, to, edges, count));
}

FTH_API int cudaGraphNodeGetDependencies(struct fth_cu_node *node, struct fth_cu_node **nodes,
                                         struct fth_edge *edges, size_t *count)
{
    FTH_FORWARD(cuGraphNodeGetDependencies_v2(node, nodes, edges, count));
}

FTH_API int cudaGraphNodeGetDependentNodes(struct fth_cu_node *node, struct fth_cu_node **nodes,
                                           struct fth_edge *edges, size_t *count)
{
    FTH_FORWARD(cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count));
}

FTH_API int cudaGraphAddDependencies(struct fth_cu_graph *graph, struct fth_cu_node *const *from,
                                     struct fth_cu_node *const *to, const struct fth_edge *edges,
                                     size_t count)
{
    FTH_FORWARD(cuGraphAddDependencies_v2(graph, from, to, edges, count));
}

FTH_API int cudaGraphRemoveDependencies(struct fth_cu_graph *graph, struct fth_cu_node *const *from,
                                        struct fth_cu_node *const *to, const struct fth_edge *edges,
                                        size_t count)
{
    FTH_FORWARD(cuGraphRemoveDependencies_v2(graph, from, to, edges, count));
}

FTH_API int cudaGraphDestroyNode(struct fth_cu_node *node)
{
    FTH_FORWARD(cuGraphDestroyNode(node));
}

FTH_API int cudaGraphInstantiateWithFlags(struct fth_cu_exec **exec, struct fth_cu_graph *graph,
                                          unsigned long long flags)
{
    FTH_FORWARD(cuGraphInstantiateWithFlags(exec, graph, flags));
}

FTH_API int cudaGraphInstantiate(struct fth_cu_exec **exec, struct fth_cu_graph *graph,
                                 unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

FTH_API int cudaGraphInstantiateWithParams(struct fth_cu_exec **exec, struct fth_cu_graph *graph,
                                           struct fth_instantiation *parameters)
{
    FTH_FORWARD(cuGraphInstantiateWithParams(exec, graph, parameters));
}

FTH_API int cudaGraphInstantiateWithParams_ptsz(struct fth_cu_exec **exec,
                                                struct fth_cu_graph *graph,
                                                struct fth_instantiation *parameters)
{
    return cudaGraphInstantiateWithParams(exec, graph, parameters);
}

FTH_API int cudaGraphExecGetFlags(struct fth_cu_exec *exec, unsigned long long *flags)
{
    uint64_t value = 0;
    int error = fth_enter();
    if (!error)
        error = cuGraphExecGetFlags(exec, &value);
    if (!error)
        *flags = value;
    return fth_leave(error);
}

FTH_API int cudaGraphExecUpdate(struct fth_cu_exec *exec, struct fth_cu_graph *graph,
                                struct fth_update_result *result)
{
    FTH_FORWARD(cuGraphExecUpdate_v2(exec, graph, result));
}

FTH_API int cudaGraphUpload(struct fth_cu_exec *exec, struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuGraphUpload(exec, stream));
}

FTH_API int cudaGraphUpload_ptsz(struct fth_cu_exec *exec, struct fth_cu_stream *stream)
{
    return cudaGraphUpload(exec, fth_per_thread(stream));
}

FTH_API int cudaGraphLaunch(struct fth_cu_exec *exec, struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuGraphLaunch(exec, stream));
}

FTH_API int cudaGraphLaunch_ptsz(struct fth_cu_exec *exec, struct fth_cu_stream *stream)
{
    return cudaGraphLaunch(exec, fth_per_thread(stream));
}

FTH_API int cudaGraphExecDestroy(struct fth_cu_exec *exec)
{
    FTH_FORWARD(cuGraphExecDestroy(exec));
}

FTH_API int cudaGraphDebugDotPrint(struct fth_cu_graph *graph, const char *path, unsigned flags)
{
    FTH_FORWARD(cuGraphDebugDotPrint(graph, path, flags));
}

FTH_API int cudaUserObjectCreate(struct fth_cu_object **object, void *pointer,
                                 void (*destroy)(void *), unsigned count, unsigned flags)
{
    FTH_FORWARD(cuUserObjectCreate(object, pointer, destroy, count, flags));
}

FTH_API int cudaUserObjectRetain(struct fth_cu_object *object, unsigned count)
{
    FTH_FORWARD(cuUserObjectRetain(object, count));
}

FTH_API int cudaUserObjectRelease(struct fth_cu_object *object, unsigned count)
{
    FTH_FORWARD(cuUserObjectRelease(object, count));
}

FTH_API int cudaGraphRetainUserObject(struct fth_cu_graph *graph, struct fth_cu_object *object,
                                      unsigned count, unsigned flags)
{
    FTH_FORWARD(cuGraphRetainUserObject(graph, object, count, flags));
}

FTH_API int cudaGraphReleaseUserObject(struct fth_cu_graph *graph, struct fth_cu_object *object,
                                       unsigned count)
{
    FTH_FORWARD(cuGraphReleaseUserObject(graph, object, count));
}

FTH_API int cudaDeviceGraphMemTrim(int device)
{
    FTH_FORWARD(cuDeviceGraphMemTrim(device));
}

FTH_API int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    FTH_FORWARD(cuDeviceGetGraphMemAttribute(device, attribute, value));
}

FTH_API int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    FTH_FORWARD(cuDeviceSetGraphMemAttribute(device, attribute, value));
}
