/* Graphs, and the capture of streams into them. A graph that is instantiated is copied in an order
 * that respects the dependencies of its nodes, and executed in this order. */
#include "cuda_driver.h"

/* A graph that can be launched is a copy of one. */
static struct graph *graphs;

bool driver_is_graph(const struct graph *graph)
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

/* The type of a node that executes an operation. */
static int type_of(enum operation_kind kind)
{
    static const int types[] = {
        [OP_EMPTY] = NODE_EMPTY,   [OP_COPY] = NODE_COPY, [OP_FILL] = NODE_FILL,
        [OP_LAUNCH] = NODE_KERNEL, [OP_HOST] = NODE_HOST, [OP_RECORD] = NODE_RECORD};
    return types[kind];
}

int driver_add_dependency(struct node *node, struct node *before)
{
    struct node **grown = realloc(node->before, (node->before_count + 1) * sizeof *grown);
    if (!grown)
        return OUT_OF_MEMORY;
    grown[node->before_count++] = before;
    node->before = grown;
    return SUCCESS;
}

static void free_node(struct node *node)
{
    driver_operation_fini(&node->operation);
    if (node->child)
        (void)driver_destroy_graph(node->child);
    free(node->before);
    free(node->arguments);
    free(node);
}

int driver_add_node(struct node **out, struct graph *graph, struct node *const *before,
                    size_t count, struct operation *operation)
{
    struct node *node = NULL;
    int result = out && driver_is_graph(graph) && (before || !count) ? SUCCESS : INVALID_VALUE;
    if (result == SUCCESS) {
        node = calloc(1, sizeof *node);
        result = node ? SUCCESS : OUT_OF_MEMORY;
    }
    if (result != SUCCESS) {
        driver_operation_fini(operation);
        return result;
    }
    node->operation = *operation;
    node->type = type_of(operation->kind);
    for (size_t i = 0; i < count && result == SUCCESS; i++)
        result = driver_add_dependency(node, before[i]);
    if (result != SUCCESS) {
        free_node(node);
        return result;
    }
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    *out = node;
    return SUCCESS;
}

/* Work of captured streams is executed in the order of the calls: each node depends on the one
 * before it. */
int driver_graph_add(struct graph *graph, struct operation *operation)
{
    struct node *last = graph->nodes, *node;
    while (last && last->next)
        last = last->next;
    return driver_add_node(&node, graph, &last, last != NULL, operation);
}

int driver_destroy_graph(struct graph *graph)
{
    struct graph **link = &graphs;
    while (*link && *link != graph)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = graph->next;
    while (graph->nodes) {
        struct node *next = graph->nodes->next;
        free_node(graph->nodes);
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

/* Copies a node to the end of a graph. The nodes that it depends on have been copied. */
static int copy_node(struct node *from, struct graph *graph)
{
    struct operation operation;
    if (!copy_operation(&from->operation, &operation))
        return OUT_OF_MEMORY;
    int result = driver_add_node(&from->made, graph, NULL, 0, &operation);
    if (result != SUCCESS)
        return result;
    struct node *made = from->made;
    made->type = from->type;
    made->event = from->event;
    made->disabled = from->disabled;
    made->original = from;
    for (size_t i = 0; i < from->before_count && result == SUCCESS; i++)
        result = driver_add_dependency(made, from->before[i]->made);
    if (result == SUCCESS && from->child)
        result = driver_copy_graph(from->child, &made->child);
    return result;
}

static bool can_copy(const struct node *node)
{
    for (size_t i = 0; i < node->before_count; i++)
        if (!node->before[i]->made)
            return false;
    return !node->made;
}

/* Passes over the nodes and copies those whose dependencies have been copied, until none is left.
 * Most graphs need one pass. */
int driver_copy_graph(struct graph *from, struct graph **out)
{
    struct graph *graph = make_graph();
    int result = graph ? SUCCESS : OUT_OF_MEMORY;
    for (struct node *node = from->nodes; node; node = node->next)
        node->made = NULL;
    while (result == SUCCESS && graph->count < from->count) {
        const size_t before = graph->count;
        for (struct node *node = from->nodes; node && result == SUCCESS; node = node->next)
            if (can_copy(node))
                result = copy_node(node, graph);
        if (result == SUCCESS && graph->count == before)
            result = INVALID_VALUE; /* a cycle */
    }
    if (result == SUCCESS)
        *out = graph;
    else if (graph)
        (void)driver_destroy_graph(graph);
    return result;
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
    return driver_destroy_graph(graph);
}
ALIAS(cuGraphExecDestroy, cuGraphDestroy);

CU(cuGraphClone, struct graph **clone, struct graph *graph)
{
    LOCK;
    return driver_is_graph(graph) && clone ? driver_copy_graph(graph, clone) : INVALID_VALUE;
}

/* Reads CUDA_KERNEL_NODE_PARAMS. */
static int read_launch(const void *parameters, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_LAUNCH};
    operation->launch.function = pointer_field(parameters, 0);
    memcpy(operation->launch.grid, (const char *)parameters + 8, 12);
    memcpy(operation->launch.block, (const char *)parameters + 20, 12);
    operation->launch.shared_bytes = field(parameters, 32, 4);
    if (!operation->launch.function)
        operation->launch.function = pointer_field(parameters, 56);
    if (!driver_is_function(operation->launch.function))
        return INVALID_HANDLE;
    return driver_take_arguments(operation->launch.function, pointer_field(parameters, 40),
                                 pointer_field(parameters, 48), &operation->launch.arguments);
}

CU(cuGraphAddKernelNode_v2, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    struct operation operation;
    const int result = parameters ? read_launch(parameters, &operation) : INVALID_VALUE;
    return result == SUCCESS ? driver_add_node(node, graph, before, count, &operation) : result;
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

struct node *driver_find_copy(const struct graph *executable, const struct node *original)
{
    struct node *copy = executable->nodes;
    while (copy && copy->original != original)
        copy = copy->next;
    return copy;
}

CU(cuGraphExecKernelNodeSetParams_v2, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    return driver_is_graph(executable) ? set_launch(driver_find_copy(executable, node), parameters)
                                       : INVALID_HANDLE;
}

CU(cuGraphAddMemcpyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *copy, struct context *context)
{
    LOCK;
    struct operation operation;
    (void)context;
    const int result = driver_read_copy(copy, &operation);
    return result == SUCCESS ? driver_add_node(node, graph, before, count, &operation) : result;
}

CU(cuGraphAddEmptyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count)
{
    LOCK;
    struct operation operation = {.kind = OP_EMPTY};
    return driver_add_node(node, graph, before, count, &operation);
}

CU(cuGraphGetNodes, struct graph *graph, struct node **nodes, size_t *count)
{
    LOCK;
    if (!driver_is_graph(graph) || !count)
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
    return driver_is_graph(graph) && executable ? driver_copy_graph(graph, executable)
                                                : INVALID_VALUE;
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
    return driver_is_graph(executable) && driver_stream(stream) ? SUCCESS : INVALID_HANDLE;
}
ALIAS(cuGraphUpload_ptsz, cuGraphUpload);

/* Executes the nodes of a graph, or adds them to the graph that captures the stream. */
static int run_graph(const struct graph *executable, const struct stream *stream)
{
    int result = SUCCESS;
    for (const struct node *node = executable->nodes; result == SUCCESS && node;
         node = node->next) {
        struct operation operation;
        if (node->disabled)
            continue;
        if (node->child)
            result = run_graph(node->child, stream);
        else if (!stream->capture)
            result = driver_execute(&node->operation);
        else
            result = copy_operation(&node->operation, &operation)
                         ? driver_graph_add(stream->capture, &operation)
                         : OUT_OF_MEMORY;
    }
    return result;
}

CU(cuGraphLaunch, struct graph *executable, struct stream *handle)
{
    LOCK;
    const int result = driver_check();
    const struct stream *stream = driver_stream(handle);
    if (result != SUCCESS || !driver_is_graph(executable) || !stream)
        return result != SUCCESS ? result : INVALID_HANDLE;
    return run_graph(executable, stream);
}
ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

/* Replaces the contents of an executable graph by those of a graph of the same shape. */
CU(cuGraphExecUpdate_v2, struct graph *executable, struct graph *graph, void *info)
{
    LOCK;
    if (!driver_is_graph(executable) || !driver_is_graph(graph))
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
