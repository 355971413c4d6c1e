/* Nodes of graphs. Parameters of kernel and copy nodes are translated; the others are the same in
 * the driver. */
#include "cudart.h"

#include <string.h>

static int translate_kernel(const struct fth_kernel_node *kernel,
                            struct fth_cu_kernel_node *translated)
{
    if (!kernel)
        return FTH_INVALID_VALUE;
    *translated = (struct fth_cu_kernel_node){.grid = kernel->grid,
                                              .block = kernel->block,
                                              .shared_bytes = kernel->shared_bytes,
                                              .parameters = kernel->parameters,
                                              .extra = kernel->extra};
    return fth_find_function(kernel->function, &translated->function);
}

FTH_API int cudaGraphAddKernelNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                   struct fth_cu_node *const *nodes, size_t count,
                                   const struct fth_kernel_node *kernel)
{
    struct fth_cu_kernel_node translated;
    int error = fth_enter();
    if (!error)
        error = translate_kernel(kernel, &translated);
    return fth_leave(error ? error
                           : cuGraphAddKernelNode_v2(node, graph, nodes, count, &translated));
}

FTH_API int cudaGraphKernelNodeGetParams(struct fth_cu_node *node, struct fth_kernel_node *kernel)
{
    struct fth_cu_kernel_node driver;
    int error = fth_enter();
    if (!error)
        error = cuGraphKernelNodeGetParams_v2(node, &driver);
    if (!error && !driver.function)
        error = cuKernelGetFunction(&driver.function, driver.kernel);
    if (error)
        return fth_leave(error);
    *kernel = (struct fth_kernel_node){.function = fth_find_host_function(driver.function),
                                       .grid = driver.grid,
                                       .block = driver.block,
                                       .shared_bytes = driver.shared_bytes,
                                       .parameters = driver.parameters,
                                       .extra = driver.extra};
    /* The kernel may be one that the program did not register. The node is then its owner. */
    return fth_leave(fth_register_handle(kernel->function, FTH_ENTRY_FUNCTION, node));
}

FTH_API int cudaGraphKernelNodeSetParams(struct fth_cu_node *node,
                                         const struct fth_kernel_node *kernel)
{
    struct fth_cu_kernel_node translated;
    int error = fth_enter();
    if (!error)
        error = translate_kernel(kernel, &translated);
    return fth_leave(error ? error : cuGraphKernelNodeSetParams_v2(node, &translated));
}

FTH_API int cudaGraphExecKernelNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                             const struct fth_kernel_node *kernel)
{
    struct fth_cu_kernel_node translated;
    int error = fth_enter();
    if (!error)
        error = translate_kernel(kernel, &translated);
    return fth_leave(error ? error : cuGraphExecKernelNodeSetParams_v2(exec, node, &translated));
}

FTH_API int cudaGraphKernelNodeCopyAttributes(struct fth_cu_node *target,
                                              struct fth_cu_node *source)
{
    FTH_FORWARD(cuGraphKernelNodeCopyAttributes(target, source));
}

FTH_API int cudaGraphKernelNodeGetAttribute(struct fth_cu_node *node, int attribute, void *value)
{
    FTH_FORWARD(cuGraphKernelNodeGetAttribute(node, attribute, value));
}

FTH_API int cudaGraphKernelNodeSetAttribute(struct fth_cu_node *node, int attribute,
                                            const void *value)
{
    FTH_FORWARD(cuGraphKernelNodeSetAttribute(node, attribute, value));
}

/* What adds or changes a copy node: the node of a graph or of an executable graph. */
struct copy_target {
    struct fth_cu_node **added; /* or NULL */
    struct fth_cu_graph *graph;
    struct fth_cu_node *const *nodes;
    size_t count;
    struct fth_cu_node *node;
    struct fth_cu_exec *exec; /* or NULL */
};

static int put_copy(const struct copy_target *target, const struct fth_copy_3d *copy)
{
    struct fth_cu_copy_3d translated;
    struct fth_cu_context *context = NULL;
    int error = fth_enter();
    if (!error)
        error = copy ? fth_translate_copy(copy, &translated) : FTH_INVALID_VALUE;
    if (!error)
        error = cuCtxGetCurrent(&context);
    if (error)
        return fth_leave(error);
    if (target->added)
        return fth_leave(cuGraphAddMemcpyNode(target->added, target->graph, target->nodes,
                                              target->count, &translated, context));
    return fth_leave(target->exec ? cuGraphExecMemcpyNodeSetParams(target->exec, target->node,
                                                                   &translated, context)
                                  : cuGraphMemcpyNodeSetParams(target->node, &translated));
}

static struct fth_copy_3d copy_of_bytes(void *target, const void *source, size_t bytes, int kind)
{
    return (struct fth_copy_3d){
        .source = {fth_pointer(fth_address(source)), bytes, bytes, 1},
        .target = {target, bytes, bytes, 1},
        .extent = {bytes, 1, 1},
        .kind = kind,
    };
}

static int put_bytes(const struct copy_target *place, void *target, const void *source,
                     size_t bytes, int kind)
{
    struct fth_copy_3d copy = copy_of_bytes(target, source, bytes, kind);
    return put_copy(place, &copy);
}

/* The address of a part of a variable. */
static int find_part(const void *symbol, size_t offset, size_t bytes, void **part)
{
    uint64_t address = 0;
    size_t size = 0;
    int error = fth_enter();
    if (!error)
        error = fth_find_variable(symbol, &address, &size);
    if (!error && (offset > size || bytes > size - offset))
        error = FTH_INVALID_VALUE;
    *part = fth_pointer(address + offset);
    return fth_leave(error);
}

FTH_API int cudaGraphAddMemcpyNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                   struct fth_cu_node *const *nodes, size_t count,
                                   const struct fth_copy_3d *copy)
{
    return put_copy(&(struct copy_target){node, graph, nodes, count, NULL, NULL}, copy);
}

FTH_API int cudaGraphAddMemcpyNode1D(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                     struct fth_cu_node *const *nodes, size_t count, void *target,
                                     const void *source, size_t bytes, int kind)
{
    return put_bytes(&(struct copy_target){node, graph, nodes, count, NULL, NULL}, target, source,
                     bytes, kind);
}

FTH_API int cudaGraphAddMemcpyNodeToSymbol(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                           struct fth_cu_node *const *nodes, size_t count,
                                           const void *symbol, const void *source, size_t bytes,
                                           size_t offset, int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error
                 : cudaGraphAddMemcpyNode1D(node, graph, nodes, count, part, source, bytes, kind);
}

FTH_API int cudaGraphAddMemcpyNodeFromSymbol(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                             struct fth_cu_node *const *nodes, size_t count,
                                             void *target, const void *symbol, size_t bytes,
                                             size_t offset, int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error
                 : cudaGraphAddMemcpyNode1D(node, graph, nodes, count, target, part, bytes, kind);
}

/* Kind of a copy by the types of memory at both ends. */
static int kind_of(const struct fth_cu_copy_3d *copy)
{
    bool from_host = copy->source_type == FTH_CU_HOST, to_host = copy->target_type == FTH_CU_HOST;
    if (copy->source_type == FTH_CU_UNIFIED || copy->target_type == FTH_CU_UNIFIED)
        return FTH_BY_ADDRESS;
    if (from_host)
        return to_host ? FTH_HOST_TO_HOST : FTH_HOST_TO_DEVICE;
    return to_host ? FTH_DEVICE_TO_HOST : FTH_DEVICE_TO_DEVICE;
}

FTH_API int cudaGraphMemcpyNodeGetParams(struct fth_cu_node *node, struct fth_copy_3d *copy)
{
    struct fth_cu_copy_3d driver, unit;
    int error = fth_enter();
    if (!error)
        error = cuGraphMemcpyNodeGetParams(node, &driver);
    if (error)
        return fth_leave(error);
    bool from_host = driver.source_type == FTH_CU_HOST, to_host = driver.target_type == FTH_CU_HOST;
    bool from_array = driver.source_type == FTH_CU_ARRAY,
         to_array = driver.target_type == FTH_CU_ARRAY;
    *copy = (struct fth_copy_3d){
        .source_array = from_array ? driver.source_array : NULL,
        .source_position = {1, driver.source_y, driver.source_z},
        .target_array = to_array ? driver.target_array : NULL,
        .target_position = {1, driver.target_y, driver.target_z},
        .extent = {1, driver.height, driver.depth},
        .kind = kind_of(&driver),
    };
    /* The translation of one element gives the bytes per element. */
    error = fth_translate_copy(copy, &unit);
    if (error)
        return fth_leave(error);
    copy->source_position.x = driver.source_x / unit.source_x;
    copy->target_position.x = driver.target_x / unit.target_x;
    copy->extent.width = driver.width / unit.width;
    if (!from_array)
        copy->source =
            (struct fth_pitched){from_host ? fth_pointer(fth_address(driver.source_host))
                                           : fth_pointer(driver.source_device),
                                 driver.source_pitch, driver.width, driver.source_height};
    if (!to_array)
        copy->target =
            (struct fth_pitched){to_host ? driver.target_host : fth_pointer(driver.target_device),
                                 driver.target_pitch, driver.width, driver.target_height};
    return FTH_SUCCESS;
}

FTH_API int cudaGraphMemcpyNodeSetParams(struct fth_cu_node *node, const struct fth_copy_3d *copy)
{
    return put_copy(&(struct copy_target){.node = node}, copy);
}

FTH_API int cudaGraphMemcpyNodeSetParams1D(struct fth_cu_node *node, void *target,
                                           const void *source, size_t bytes, int kind)
{
    return put_bytes(&(struct copy_target){.node = node}, target, source, bytes, kind);
}

FTH_API int cudaGraphMemcpyNodeSetParamsToSymbol(struct fth_cu_node *node, const void *symbol,
                                                 const void *source, size_t bytes, size_t offset,
                                                 int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error : cudaGraphMemcpyNodeSetParams1D(node, part, source, bytes, kind);
}

FTH_API int cudaGraphMemcpyNodeSetParamsFromSymbol(struct fth_cu_node *node, void *target,
                                                   const void *symbol, size_t bytes, size_t offset,
                                                   int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error : cudaGraphMemcpyNodeSetParams1D(node, target, part, bytes, kind);
}

FTH_API int cudaGraphExecMemcpyNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                             const struct fth_copy_3d *copy)
{
    return put_copy(&(struct copy_target){.node = node, .exec = exec}, copy);
}

FTH_API int cudaGraphExecMemcpyNodeSetParams1D(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                               void *target, const void *source, size_t bytes,
                                               int kind)
{
    return put_bytes(&(struct copy_target){.node = node, .exec = exec}, target, source, bytes,
                     kind);
}

FTH_API int cudaGraphExecMemcpyNodeSetParamsToSymbol(struct fth_cu_exec *exec,
                                                     struct fth_cu_node *node, const void *symbol,
                                                     const void *source, size_t bytes,
                                                     size_t offset, int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error
                 : cudaGraphExecMemcpyNodeSetParams1D(exec, node, part, source, bytes, kind);
}

FTH_API int cudaGraphExecMemcpyNodeSetParamsFromSymbol(struct fth_cu_exec *exec,
                                                       struct fth_cu_node *node, void *target,
                                                       const void *symbol, size_t bytes,
                                                       size_t offset, int kind)
{
    void *part = NULL;
    int error = find_part(symbol, offset, bytes, &part);
    return error ? error
                 : cudaGraphExecMemcpyNodeSetParams1D(exec, node, target, part, bytes, kind);
}

FTH_API int cudaGraphAddMemsetNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                   struct fth_cu_node *const *nodes, size_t count,
                                   const struct fth_set_node *set)
{
    struct fth_cu_context *context = NULL;
    int error = fth_enter();
    if (!error)
        error = cuCtxGetCurrent(&context);
    return fth_leave(error ? error : cuGraphAddMemsetNode(node, graph, nodes, count, set, context));
}

FTH_API int cudaGraphMemsetNodeGetParams(struct fth_cu_node *node, struct fth_set_node *set)
{
    FTH_FORWARD(cuGraphMemsetNodeGetParams(node, set));
}

FTH_API int cudaGraphMemsetNodeSetParams(struct fth_cu_node *node, const struct fth_set_node *set)
{
    FTH_FORWARD(cuGraphMemsetNodeSetParams(node, set));
}

FTH_API int cudaGraphExecMemsetNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                             const struct fth_set_node *set)
{
    struct fth_cu_context *context = NULL;
    int error = fth_enter();
    if (!error)
        error = cuCtxGetCurrent(&context);
    return fth_leave(error ? error : cuGraphExecMemsetNodeSetParams(exec, node, set, context));
}

FTH_API int cudaGraphAddHostNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                 struct fth_cu_node *const *nodes, size_t count,
                                 const struct fth_host_node *host)
{
    FTH_FORWARD(cuGraphAddHostNode(node, graph, nodes, count, host));
}

FTH_API int cudaGraphHostNodeGetParams(struct fth_cu_node *node, struct fth_host_node *host)
{
    FTH_FORWARD(cuGraphHostNodeGetParams(node, host));
}

FTH_API int cudaGraphHostNodeSetParams(struct fth_cu_node *node, const struct fth_host_node *host)
{
    FTH_FORWARD(cuGraphHostNodeSetParams(node, host));
}

FTH_API int cudaGraphExecHostNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                           const struct fth_host_node *host)
{
    FTH_FORWARD(cuGraphExecHostNodeSetParams(exec, node, host));
}

FTH_API int cudaGraphAddChildGraphNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                       struct fth_cu_node *const *nodes, size_t count,
                                       struct fth_cu_graph *child)
{
    FTH_FORWARD(cuGraphAddChildGraphNode(node, graph, nodes, count, child));
}

FTH_API int cudaGraphChildGraphNodeGetGraph(struct fth_cu_node *node, struct fth_cu_graph **graph)
{
    FTH_FORWARD(cuGraphChildGraphNodeGetGraph(node, graph));
}

FTH_API int cudaGraphExecChildGraphNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                                 struct fth_cu_graph *child)
{
    FTH_FORWARD(cuGraphExecChildGraphNodeSetParams(exec, node, child));
}

FTH_API int cudaGraphAddEmptyNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                  struct fth_cu_node *const *nodes, size_t count)
{
    FTH_FORWARD(cuGraphAddEmptyNode(node, graph, nodes, count));
}

FTH_API int cudaGraphAddEventRecordNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                        struct fth_cu_node *const *nodes, size_t count,
                                        struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphAddEventRecordNode(node, graph, nodes, count, event));
}

FTH_API int cudaGraphEventRecordNodeGetEvent(struct fth_cu_node *node, struct fth_cu_event **event)
{
    FTH_FORWARD(cuGraphEventRecordNodeGetEvent(node, event));
}

FTH_API int cudaGraphEventRecordNodeSetEvent(struct fth_cu_node *node, struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphEventRecordNodeSetEvent(node, event));
}

FTH_API int cudaGraphExecEventRecordNodeSetEvent(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                                 struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphExecEventRecordNodeSetEvent(exec, node, event));
}

FTH_API int cudaGraphAddEventWaitNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                      struct fth_cu_node *const *nodes, size_t count,
                                      struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphAddEventWaitNode(node, graph, nodes, count, event));
}

FTH_API int cudaGraphEventWaitNodeGetEvent(struct fth_cu_node *node, struct fth_cu_event **event)
{
    FTH_FORWARD(cuGraphEventWaitNodeGetEvent(node, event));
}

FTH_API int cudaGraphEventWaitNodeSetEvent(struct fth_cu_node *node, struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphEventWaitNodeSetEvent(node, event));
}

FTH_API int cudaGraphExecEventWaitNodeSetEvent(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                               struct fth_cu_event *event)
{
    FTH_FORWARD(cuGraphExecEventWaitNodeSetEvent(exec, node, event));
}

FTH_API int cudaGraphAddMemAllocNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                     struct fth_cu_node *const *nodes, size_t count,
                                     struct fth_alloc_node *alloc)
{
    FTH_FORWARD(cuGraphAddMemAllocNode(node, graph, nodes, count, alloc));
}

FTH_API int cudaGraphMemAllocNodeGetParams(struct fth_cu_node *node, struct fth_alloc_node *alloc)
{
    FTH_FORWARD(cuGraphMemAllocNodeGetParams(node, alloc));
}

FTH_API int cudaGraphAddMemFreeNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                                    struct fth_cu_node *const *nodes, size_t count, void *pointer)
{
    FTH_FORWARD(cuGraphAddMemFreeNode(node, graph, nodes, count, fth_address(pointer)));
}

FTH_API int cudaGraphMemFreeNodeGetParams(struct fth_cu_node *node, void *pointer)
{
    FTH_FORWARD(cuGraphMemFreeNodeGetParams(node, pointer));
}

FTH_API int cudaGraphNodeSetEnabled(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                    unsigned enabled)
{
    FTH_FORWARD(cuGraphNodeSetEnabled(exec, node, enabled));
}

FTH_API int cudaGraphNodeGetEnabled(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                    unsigned *enabled)
{
    FTH_FORWARD(cuGraphNodeGetEnabled(exec, node, enabled));
}

FTH_API int cudaGraphAddNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                             struct fth_cu_node *const *nodes, const struct fth_edge *edges,
                             size_t count, struct fth_node *parameters)
{
    (void)edges;
    if (!parameters)
        return fth_leave(FTH_INVALID_VALUE);
    switch (parameters->type) {
    case FTH_NODE_KERNEL:
        return cudaGraphAddKernelNode(node, graph, nodes, count, &parameters->of.kernel);
    case FTH_NODE_COPY:
        return cudaGraphAddMemcpyNode(node, graph, nodes, count, &parameters->of.copy.copy);
    case FTH_NODE_SET:
        return cudaGraphAddMemsetNode(node, graph, nodes, count, &parameters->of.set);
    case FTH_NODE_HOST:
        return cudaGraphAddHostNode(node, graph, nodes, count, &parameters->of.host);
    case FTH_NODE_GRAPH:
        return cudaGraphAddChildGraphNode(node, graph, nodes, count, parameters->of.child.graph);
    case FTH_NODE_EMPTY: return cudaGraphAddEmptyNode(node, graph, nodes, count);
    case FTH_NODE_WAIT:
        return cudaGraphAddEventWaitNode(node, graph, nodes, count, parameters->of.event);
    case FTH_NODE_RECORD:
        return cudaGraphAddEventRecordNode(node, graph, nodes, count, parameters->of.event);
    case FTH_NODE_ALLOC:
        return cudaGraphAddMemAllocNode(node, graph, nodes, count, &parameters->of.alloc);
    case FTH_NODE_FREE:
        return cudaGraphAddMemFreeNode(node, graph, nodes, count, parameters->of.address);
    default: return fth_refuse("cudaGraphAddNode with this type of node");
    }
}

FTH_API int cudaGraphNodeSetParams(struct fth_cu_node *node, struct fth_node *parameters)
{
    if (!parameters)
        return fth_leave(FTH_INVALID_VALUE);
    switch (parameters->type) {
    case FTH_NODE_KERNEL: return cudaGraphKernelNodeSetParams(node, &parameters->of.kernel);
    case FTH_NODE_COPY: return cudaGraphMemcpyNodeSetParams(node, &parameters->of.copy.copy);
    case FTH_NODE_SET: return cudaGraphMemsetNodeSetParams(node, &parameters->of.set);
    case FTH_NODE_HOST: return cudaGraphHostNodeSetParams(node, &parameters->of.host);
    case FTH_NODE_WAIT: return cudaGraphEventWaitNodeSetEvent(node, parameters->of.event);
    case FTH_NODE_RECORD: return cudaGraphEventRecordNodeSetEvent(node, parameters->of.event);
    default: return fth_refuse("cudaGraphNodeSetParams with this type of node");
    }
}

FTH_API int cudaGraphExecNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                       struct fth_node *parameters)
{
    if (!parameters)
        return fth_leave(FTH_INVALID_VALUE);
    switch (parameters->type) {
    case FTH_NODE_KERNEL:
        return cudaGraphExecKernelNodeSetParams(exec, node, &parameters->of.kernel);
    case FTH_NODE_COPY:
        return cudaGraphExecMemcpyNodeSetParams(exec, node, &parameters->of.copy.copy);
    case FTH_NODE_SET: return cudaGraphExecMemsetNodeSetParams(exec, node, &parameters->of.set);
    case FTH_NODE_HOST: return cudaGraphExecHostNodeSetParams(exec, node, &parameters->of.host);
    case FTH_NODE_GRAPH:
        return cudaGraphExecChildGraphNodeSetParams(exec, node, parameters->of.child.graph);
    case FTH_NODE_WAIT: return cudaGraphExecEventWaitNodeSetEvent(exec, node, parameters->of.event);
    case FTH_NODE_RECORD:
        return cudaGraphExecEventRecordNodeSetEvent(exec, node, parameters->of.event);
    default: return fth_refuse("cudaGraphExecNodeSetParams with this type of node");
    }
}
