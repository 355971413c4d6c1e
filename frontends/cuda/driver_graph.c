/* Graphs, and the capture of streams into them. The nodes of a graph are executed in the order in
 * which they were added, if that respects their dependencies: a node can only depend on nodes that
 * exist. */
#include "driver.h"

/* A node of a graph. */
struct node {
    struct node *next;
    struct operation operation;
};

struct graph {
    struct graph *next;
    struct node *nodes, **end;
    size_t count;
};

/* A graph that can be launched is a copy of one. */
static struct graph *graphs;

static bool is_graph(const struct graph *graph)
{
    for (const struct graph *at = graphs; at; at = at->next)
        if (at == graph)
            return true;
    return false;
}

static struct graph *make_graph(void)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    graph->end = &graph->nodes;
    graph->next = graphs;
    graphs = graph;
    return graph;
}

int driver_graph_add(struct graph *graph, struct operation *operation)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node) {
        driver_operation_fini(operation);
        return OUT_OF_MEMORY;
    }
    node->operation = *operation;
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    return SUCCESS;
}

static int destroy_graph(struct graph *graph)
{
    struct graph **link = &graphs;
    while (*link && *link != graph)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = graph->next;
    while (graph->nodes) {
        struct node *next = graph->nodes->next;
        driver_operation_fini(&graph->nodes->operation);
        free(graph->nodes);
        graph->nodes = next;
    }
    free(graph);
    return SUCCESS;
}

/* Copies an operation with what it owns. */
static bool copy_operation(const struct operation *from, struct operation *to)
{
    *to = *from;
    if (from->kind != OP_LAUNCH || !from->launch.arguments)
        return true;
    const size_t bytes = from->launch.function->kernel->parameter_bytes;
    to->launch.arguments = malloc(bytes);
    if (to->launch.arguments)
        memcpy(to->launch.arguments, from->launch.arguments, bytes);
    return to->launch.arguments != NULL;
}

static int copy_graph(const struct graph *from, struct graph **out)
{
    struct graph *graph = make_graph();
    if (!graph)
        return OUT_OF_MEMORY;
    for (const struct node *node = from->nodes; node; node = node->next) {
        struct operation operation;
        if (!copy_operation(&node->operation, &operation) ||
            driver_graph_add(graph, &operation) != SUCCESS) {
            destroy_graph(graph);
            return OUT_OF_MEMORY;
        }
    }
    *out = graph;
    return SUCCESS;
}

/* ---- capture ---- */

CU(cuStreamBeginCapture_v2, struct stream *handle, int mode)
{
    LOCK;
    (void)mode;
    const int result = driver_check();
    struct stream *stream = driver_stream(handle);
    if (result != SUCCESS || !stream)
        return result != SUCCESS ? result : INVALID_HANDLE;
    if (stream->capture)
        return ILLEGAL_STATE;
    if ((uintptr_t)handle <= 1)
        return STREAM_CAPTURE_UNSUPPORTED;
    stream->capture = make_graph();
    return stream->capture ? SUCCESS : OUT_OF_MEMORY;
}
ALIAS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

CU(cuStreamEndCapture, struct stream *handle, struct graph **graph)
{
    LOCK;
    const int result = driver_check();
    struct stream *stream = driver_stream(handle);
    if (result != SUCCESS || !stream || !graph)
        return result != SUCCESS ? result : INVALID_HANDLE;
    if (!stream->capture)
        return ILLEGAL_STATE;
    *graph = stream->capture;
    driver_end_capture(*graph);
    return SUCCESS;
}
ALIAS(cuStreamEndCapture_ptsz, cuStreamEndCapture);

CU(cuStreamIsCapturing, struct stream *handle, int *status)
{
    LOCK;
    const struct stream *stream = driver_stream(handle);
    if (!stream || !status)
        return INVALID_HANDLE;
    *status = stream->capture != NULL;
    return driver_check();
}
ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

/* Reports whether the stream is captured. The dependencies of its next node are not known here. */
CU(cuStreamGetCaptureInfo_v3, struct stream *handle, int *status, unsigned long long *id,
   struct graph **graph, const struct node ***dependencies, const void **edges, size_t *count)
{
    LOCK;
    const struct stream *stream = driver_stream(handle);
    if (!stream || !status)
        return INVALID_HANDLE;
    *status = stream->capture != NULL;
    if (id)
        *id = (unsigned long long)(uintptr_t)stream->capture;
    if (graph)
        *graph = stream->capture;
    if (dependencies)
        *dependencies = NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = 0;
    return driver_check();
}
ALIAS(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);

CU(cuStreamGetCaptureInfo_v2, struct stream *handle, int *status, unsigned long long *id,
   struct graph **graph, const struct node ***dependencies, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(handle, status, id, graph, dependencies, NULL, count);
}
ALIAS(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);

CU(cuThreadExchangeStreamCaptureMode, int *mode)
{
    *mode = 0;
    return SUCCESS;
}

/* ---- graphs that a program builds ---- */

CU(cuGraphCreate, struct graph **graph, unsigned flags)
{
    LOCK;
    if (!graph || flags)
        return INVALID_VALUE;
    *graph = make_graph();
    return *graph ? SUCCESS : OUT_OF_MEMORY;
}

CU(cuGraphDestroy, struct graph *graph)
{
    LOCK;
    return destroy_graph(graph);
}
ALIAS(cuGraphExecDestroy, cuGraphDestroy);

CU(cuGraphClone, struct graph **clone, struct graph *graph)
{
    LOCK;
    return is_graph(graph) && clone ? copy_graph(graph, clone) : INVALID_VALUE;
}

static int add_node(struct node **out, struct graph *graph, struct operation *operation)
{
    if (!out || !is_graph(graph)) {
        driver_operation_fini(operation);
        return INVALID_VALUE;
    }
    struct node **place = graph->end;
    const int result = driver_graph_add(graph, operation);
    if (result == SUCCESS)
        *out = *place;
    return result;
}

/* Reads CUDA_KERNEL_NODE_PARAMS. */
static int read_launch(const void *parameters, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_LAUNCH};
    operation->launch.function = (struct function *)(uintptr_t)field(parameters, 0, 8);
    memcpy(operation->launch.grid, (const char *)parameters + 8, 12);
    memcpy(operation->launch.block, (const char *)parameters + 20, 12);
    operation->launch.shared_bytes = field(parameters, 32, 4);
    if (!operation->launch.function)
        operation->launch.function = (struct function *)(uintptr_t)field(parameters, 56, 8);
    if (!driver_is_function(operation->launch.function))
        return INVALID_HANDLE;
    return driver_take_arguments(
        operation->launch.function, (void **)(uintptr_t)field(parameters, 40, 8),
        (void **)(uintptr_t)field(parameters, 48, 8), &operation->launch.arguments);
}

CU(cuGraphAddKernelNode_v2, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    struct operation operation;
    (void)before, (void)count;
    const int result = parameters ? read_launch(parameters, &operation) : INVALID_VALUE;
    return result == SUCCESS ? add_node(node, graph, &operation) : result;
}

static int set_launch(struct node *node, const void *parameters)
{
    struct operation operation;
    const int result = node && parameters ? read_launch(parameters, &operation) : INVALID_VALUE;
    if (result != SUCCESS)
        return result;
    driver_operation_fini(&node->operation);
    node->operation = operation;
    return SUCCESS;
}

CU(cuGraphKernelNodeSetParams_v2, struct node *node, const void *parameters)
{
    LOCK;
    return set_launch(node, parameters);
}

/* Finds the node of an executable graph that was copied from this one. */
static struct node *find_copy(struct graph *executable, const struct node *original)
{
    for (const struct graph *graph = graphs; graph; graph = graph->next) {
        struct node *copy = executable->nodes;
        for (const struct node *at = graph->nodes; at && copy; at = at->next, copy = copy->next)
            if (at == original)
                return copy;
    }
    return NULL;
}

CU(cuGraphExecKernelNodeSetParams_v2, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    return is_graph(executable) ? set_launch(find_copy(executable, node), parameters)
                                : INVALID_HANDLE;
}

/* Reads CUDA_MEMSET_NODE_PARAMS. */
CU(cuGraphAddMemsetNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters, struct context *context)
{
    LOCK;
    struct operation operation = {.kind = OP_FILL};
    (void)before, (void)count, (void)context;
    operation.fill.address = field(parameters, 0, 8);
    operation.fill.pitch = field(parameters, 8, 8);
    operation.fill.value = (uint32_t)field(parameters, 16, 4);
    operation.fill.element_bytes = (uint32_t)field(parameters, 20, 4);
    operation.fill.width = field(parameters, 24, 8);
    operation.fill.height = field(parameters, 32, 8);
    return add_node(node, graph, &operation);
}

CU(cuGraphAddMemcpyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *copy, struct context *context)
{
    LOCK;
    struct operation operation;
    (void)before, (void)count, (void)context;
    const int result = driver_read_copy(copy, &operation);
    return result == SUCCESS ? add_node(node, graph, &operation) : result;
}

CU(cuGraphAddHostNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    struct operation operation = {.kind = OP_HOST};
    (void)before, (void)count;
    memcpy(&operation.host.function, parameters, sizeof operation.host.function);
    operation.host.user = (void *)(uintptr_t)field(parameters, 8, 8);
    return add_node(node, graph, &operation);
}

CU(cuGraphAddEmptyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count)
{
    LOCK;
    struct operation operation = {.kind = OP_EMPTY};
    (void)before, (void)count;
    return add_node(node, graph, &operation);
}

CU(cuGraphAddDependencies_v2, struct graph *graph, struct node *const *from, struct node *const *to,
   const void *edges, size_t count)
{
    LOCK;
    (void)from, (void)to, (void)edges, (void)count;
    return is_graph(graph) ? SUCCESS : INVALID_HANDLE;
}

CU(cuGraphGetNodes, struct graph *graph, struct node **nodes, size_t *count)
{
    LOCK;
    if (!is_graph(graph) || !count)
        return INVALID_VALUE;
    size_t index = 0;
    for (struct node *node = graph->nodes; nodes && node && index < *count; node = node->next)
        nodes[index++] = node;
    *count = nodes ? index : graph->count;
    return SUCCESS;
}

/* ---- launches ---- */

CU(cuGraphInstantiateWithFlags, struct graph **executable, struct graph *graph,
   unsigned long long flags)
{
    LOCK;
    (void)flags;
    return is_graph(graph) && executable ? copy_graph(graph, executable) : INVALID_VALUE;
}

CU(cuGraphInstantiateWithParams, struct graph **executable, struct graph *graph, void *parameters)
{
    (void)parameters;
    return cuGraphInstantiateWithFlags(executable, graph, 0);
}
ALIAS(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

CU(cuGraphUpload, struct graph *executable, struct stream *stream)
{
    LOCK;
    return is_graph(executable) && driver_stream(stream) ? SUCCESS : INVALID_HANDLE;
}
ALIAS(cuGraphUpload_ptsz, cuGraphUpload);

CU(cuGraphLaunch, struct graph *executable, struct stream *handle)
{
    LOCK;
    int result = driver_check();
    const struct stream *stream = driver_stream(handle);
    if (result == SUCCESS && (!is_graph(executable) || !stream))
        result = INVALID_HANDLE;
    for (const struct node *node = executable->nodes; result == SUCCESS && node;
         node = node->next) {
        struct operation operation;
        if (!stream->capture)
            result = driver_execute(&node->operation);
        else
            result = copy_operation(&node->operation, &operation)
                         ? driver_graph_add(stream->capture, &operation)
                         : OUT_OF_MEMORY;
    }
    return result;
}
ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

/* Replaces the contents of an executable graph by those of a graph of the same shape. */
CU(cuGraphExecUpdate_v2, struct graph *executable, struct graph *graph, void *info)
{
    LOCK;
    if (!is_graph(executable) || !is_graph(graph))
        return INVALID_HANDLE;
    if (info)
        memset(info, 0, 4);
    if (executable->count != graph->count)
        return GRAPH_EXEC_UPDATE_FAILURE;
    struct node *to = executable->nodes;
    for (const struct node *from = graph->nodes; from; from = from->next, to = to->next) {
        struct operation operation;
        if (from->operation.kind != to->operation.kind)
            return GRAPH_EXEC_UPDATE_FAILURE;
        if (!copy_operation(&from->operation, &operation))
            return OUT_OF_MEMORY;
        driver_operation_fini(&to->operation);
        to->operation = operation;
    }
    return SUCCESS;
}
