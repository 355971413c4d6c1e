/* The nodes of graphs and their parameters. A node's parameters can be set in a graph, and in an
 * executable graph for the node that is a copy of it. */
#include "cuda_driver.h"

static int add(struct node **out, struct graph *graph, struct operation *operation,
               struct node *const *before, size_t count)
{
    bool valid = out && driver_is_graph(graph, false) && (before || !count);
    for (size_t i = 0; valid && i < count; i++)
        valid = before[i] && before[i]->graph == graph;
    if (!valid) {
        driver_operation_fini(operation);
        return INVALID_VALUE;
    }
    return driver_graph_add(graph, operation, before, count, out);
}

/* Returns the node to change: one of a graph, or its copy in an executable graph. */
static struct node *target(struct graph *executable, struct node *node)
{
    return driver_is_graph(executable, true) && node ? driver_graph_find(executable, node) : NULL;
}

/* Replaces the operation of a node by one of the same kind, which it then owns. */
static int replace(struct node *node, struct operation *operation)
{
    if (!node || node->operation.kind != operation->kind) {
        driver_operation_fini(operation);
        return INVALID_VALUE;
    }
    driver_operation_fini(&node->operation);
    node->operation = *operation;
    return SUCCESS;
}

static bool is_kind(const struct node *node, enum operation_kind kind, const void *out)
{
    return node && out && node->operation.kind == kind;
}

/* ---- kernels ---- */

/* Reads CUDA_KERNEL_NODE_PARAMS; version 2 has a CUkernel as well. */
static int read_launch(const void *parameters, bool has_kernel, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_LAUNCH};
    if (!parameters)
        return INVALID_VALUE;
    operation->launch.function = pointer_field(parameters, 0);
    memcpy(operation->launch.grid, (const char *)parameters + 8, 12);
    memcpy(operation->launch.block, (const char *)parameters + 20, 12);
    operation->launch.shared_bytes = field(parameters, 32, 4);
    if (!operation->launch.function && has_kernel)
        operation->launch.function = pointer_field(parameters, 56);
    if (!driver_is_function(operation->launch.function))
        return INVALID_VALUE;
    const int result = driver_check_shape(operation);
    return result != SUCCESS
               ? result
               : driver_take_arguments(operation->launch.function, pointer_field(parameters, 40),
                                       pointer_field(parameters, 48), &operation->launch.arguments);
}

static int add_kernel(struct node **node, struct graph *graph, struct node *const *before,
                      size_t count, const void *parameters, bool has_kernel)
{
    struct operation operation;
    const int result = read_launch(parameters, has_kernel, &operation);
    return result == SUCCESS ? add(node, graph, &operation, before, count) : result;
}

CU(cuGraphAddKernelNode_v2, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    return add_kernel(node, graph, before, count, parameters, true);
}

CU(cuGraphAddKernelNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    return add_kernel(node, graph, before, count, parameters, false);
}

/* Copies what a launch has beside its parameters. */
static void copy_attributes(const struct operation *from, struct operation *to)
{
    memcpy(to->launch.cluster, from->launch.cluster, sizeof to->launch.cluster);
    to->launch.cooperative = from->launch.cooperative;
}

static int set_kernel(struct node *node, const void *parameters, bool has_kernel)
{
    struct operation operation;
    const int result = node ? read_launch(parameters, has_kernel, &operation) : INVALID_VALUE;
    if (result != SUCCESS)
        return result;
    if (node->operation.kind == OP_LAUNCH)
        copy_attributes(&node->operation, &operation);
    return replace(node, &operation);
}

CU(cuGraphKernelNodeSetParams_v2, struct node *node, const void *parameters)
{
    LOCK;
    return set_kernel(node, parameters, true);
}

CU(cuGraphKernelNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    return set_kernel(node, parameters, false);
}

CU(cuGraphExecKernelNodeSetParams_v2, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    return set_kernel(target(executable, node), parameters, true);
}

CU(cuGraphExecKernelNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    return set_kernel(target(executable, node), parameters, false);
}

/* Makes the array of the addresses of the arguments, which the node owns. */
static bool list_arguments(struct operation *operation)
{
    const struct fth_ptx_kernel *kernel = operation->launch.function->kernel;
    if (operation->launch.each || kernel->parameter_count == 0)
        return true;
    operation->launch.each = calloc(kernel->parameter_count, sizeof(void *));
    for (size_t i = 0; operation->launch.each && i < kernel->parameter_count; i++)
        operation->launch.each[i] = operation->launch.arguments + kernel->parameters[i].offset;
    return operation->launch.each != NULL;
}

static int get_kernel(struct node *node, char *parameters, size_t size)
{
    if (!is_kind(node, OP_LAUNCH, parameters))
        return INVALID_VALUE;
    if (!list_arguments(&node->operation))
        return OUT_OF_MEMORY;
    const uint32_t shared = (uint32_t)node->operation.launch.shared_bytes;
    memset(parameters, 0, size);
    memcpy(parameters, &node->operation.launch.function, 8);
    memcpy(parameters + 8, node->operation.launch.grid, 12);
    memcpy(parameters + 20, node->operation.launch.block, 12);
    memcpy(parameters + 32, &shared, 4);
    memcpy(parameters + 40, &node->operation.launch.each, 8);
    return SUCCESS;
}

CU(cuGraphKernelNodeGetParams_v2, struct node *node, void *parameters)
{
    LOCK;
    return get_kernel(node, parameters, 72);
}

CU(cuGraphKernelNodeGetParams, struct node *node, void *parameters)
{
    LOCK;
    return get_kernel(node, parameters, 56);
}

/* Attributes of launches (CUlaunchAttributeID). Values have 64 bytes. */
enum { COOPERATIVE = 2, CLUSTER_DIMENSION = 4, VALUE_BYTES = 64 };

CU(cuGraphKernelNodeGetAttribute, struct node *node, int attribute, void *value)
{
    LOCK;
    if (!is_kind(node, OP_LAUNCH, value))
        return INVALID_VALUE;
    memset(value, 0, VALUE_BYTES);
    if (attribute == CLUSTER_DIMENSION)
        memcpy(value, node->operation.launch.cluster, sizeof node->operation.launch.cluster);
    if (attribute == COOPERATIVE)
        *(int *)value = node->operation.launch.cooperative;
    return SUCCESS;
}

CU(cuGraphKernelNodeSetAttribute, struct node *node, int attribute, const void *value)
{
    LOCK;
    if (!is_kind(node, OP_LAUNCH, value))
        return INVALID_VALUE;
    if (attribute == CLUSTER_DIMENSION)
        memcpy(node->operation.launch.cluster, value, sizeof node->operation.launch.cluster);
    if (attribute == COOPERATIVE)
        node->operation.launch.cooperative = field(value, 0, 4) != 0;
    return SUCCESS;
}

CU(cuGraphKernelNodeCopyAttributes, struct node *to, struct node *from)
{
    LOCK;
    if (!is_kind(to, OP_LAUNCH, to) || !is_kind(from, OP_LAUNCH, from))
        return INVALID_VALUE;
    copy_attributes(&from->operation, &to->operation);
    return SUCCESS;
}

/* ---- copies ---- */

CU(cuGraphAddMemcpyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *copy, struct context *context)
{
    LOCK;
    struct operation operation;
    (void)context;
    const int result = driver_read_copy(copy, &operation);
    return result == SUCCESS ? add(node, graph, &operation, before, count) : result;
}

static int set_copy(struct node *node, const void *copy)
{
    struct operation operation;
    const int result = driver_read_copy(copy, &operation);
    return result == SUCCESS ? replace(node, &operation) : result;
}

CU(cuGraphMemcpyNodeSetParams, struct node *node, const void *copy)
{
    LOCK;
    return set_copy(node, copy);
}

CU(cuGraphExecMemcpyNodeSetParams, struct graph *executable, struct node *node, const void *copy,
   struct context *context)
{
    LOCK;
    (void)context;
    return set_copy(target(executable, node), copy);
}

CU(cuGraphMemcpyNodeGetParams, struct node *node, void *copy)
{
    LOCK;
    if (!is_kind(node, OP_COPY, copy))
        return INVALID_VALUE;
    memcpy(copy, node->operation.copy, sizeof node->operation.copy);
    return SUCCESS;
}

/* ---- filling ---- */

/* Reads CUDA_MEMSET_NODE_PARAMS. */
static int read_fill(const void *parameters, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_FILL};
    if (!parameters)
        return INVALID_VALUE;
    operation->fill.address = field(parameters, 0, 8);
    operation->fill.pitch = field(parameters, 8, 8);
    operation->fill.value = field(parameters, 16, 4);
    operation->fill.element_bytes = (uint32_t)field(parameters, 20, 4);
    operation->fill.width = field(parameters, 24, 8);
    operation->fill.height = field(parameters, 32, 8);
    const uint32_t bytes = operation->fill.element_bytes;
    return bytes == 1 || bytes == 2 || bytes == 4 ? SUCCESS : INVALID_VALUE;
}

CU(cuGraphAddMemsetNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters, struct context *context)
{
    LOCK;
    struct operation operation;
    (void)context;
    const int result = read_fill(parameters, &operation);
    return result == SUCCESS ? add(node, graph, &operation, before, count) : result;
}

static int set_fill(struct node *node, const void *parameters)
{
    struct operation operation;
    const int result = read_fill(parameters, &operation);
    return result == SUCCESS ? replace(node, &operation) : result;
}

CU(cuGraphMemsetNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    return set_fill(node, parameters);
}

CU(cuGraphExecMemsetNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters, struct context *context)
{
    LOCK;
    (void)context;
    return set_fill(target(executable, node), parameters);
}

CU(cuGraphMemsetNodeGetParams, struct node *node, void *parameters)
{
    LOCK;
    if (!is_kind(node, OP_FILL, parameters))
        return INVALID_VALUE;
    const struct operation *operation = &node->operation;
    const uint32_t words[] = {(uint32_t)operation->fill.value, operation->fill.element_bytes};
    memcpy(parameters, &operation->fill.address, 8);
    memcpy((char *)parameters + 8, &operation->fill.pitch, 8);
    memcpy((char *)parameters + 16, words, sizeof words);
    memcpy((char *)parameters + 24, &operation->fill.width, 8);
    memcpy((char *)parameters + 32, &operation->fill.height, 8);
    return SUCCESS;
}

/* ---- host functions ---- */

/* Reads CUDA_HOST_NODE_PARAMS. */
static int read_host(const void *parameters, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_HOST};
    if (!parameters)
        return INVALID_VALUE;
    memcpy(&operation->host.function, parameters, sizeof operation->host.function);
    operation->host.user = pointer_field(parameters, 8);
    return operation->host.function ? SUCCESS : INVALID_VALUE;
}

CU(cuGraphAddHostNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    struct operation operation;
    const int result = read_host(parameters, &operation);
    return result == SUCCESS ? add(node, graph, &operation, before, count) : result;
}

CU(cuGraphHostNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    struct operation operation;
    const int result = read_host(parameters, &operation);
    return result == SUCCESS ? replace(node, &operation) : result;
}

CU(cuGraphExecHostNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    struct operation operation;
    const int result = read_host(parameters, &operation);
    return result == SUCCESS ? replace(target(executable, node), &operation) : result;
}

CU(cuGraphHostNodeGetParams, struct node *node, void *parameters)
{
    LOCK;
    if (!is_kind(node, OP_HOST, parameters))
        return INVALID_VALUE;
    memcpy(parameters, &node->operation.host.function, 8);
    memcpy((char *)parameters + 8, &node->operation.host.user, 8);
    return SUCCESS;
}

/* ---- empty nodes, and child graphs ---- */

CU(cuGraphAddEmptyNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count)
{
    LOCK;
    struct operation operation = {.kind = OP_EMPTY};
    return add(node, graph, &operation, before, count);
}

/* Makes the operation for a child graph: a copy of the graph. */
static int read_child(const struct graph *child, struct operation *operation)
{
    *operation = (struct operation){.kind = OP_GRAPH};
    if (!driver_is_graph(child, false))
        return INVALID_VALUE;
    const int result = driver_graph_copy(child, &operation->graph);
    if (result == SUCCESS)
        operation->graph->is_child = true;
    return result;
}

CU(cuGraphAddChildGraphNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, struct graph *child)
{
    LOCK;
    struct operation operation;
    const int result = read_child(child, &operation);
    return result == SUCCESS ? add(node, graph, &operation, before, count) : result;
}

CU(cuGraphChildGraphNodeGetGraph, struct node *node, struct graph **graph)
{
    LOCK;
    if (!is_kind(node, OP_GRAPH, graph))
        return INVALID_VALUE;
    *graph = node->operation.graph;
    return SUCCESS;
}

CU(cuGraphExecChildGraphNodeSetParams, struct graph *executable, struct node *node,
   struct graph *child)
{
    LOCK;
    struct operation operation;
    const int result = read_child(child, &operation);
    return result == SUCCESS ? replace(target(executable, node), &operation) : result;
}

/* ---- events ---- */

static int add_event(struct node **node, struct graph *graph, struct node *const *before,
                     size_t count, struct event *event, enum operation_kind kind)
{
    struct operation operation = {.kind = kind, .event = event};
    return driver_is_event(event) ? add(node, graph, &operation, before, count) : INVALID_VALUE;
}

static int set_event(struct node *node, struct event *event, enum operation_kind kind)
{
    struct operation operation = {.kind = kind, .event = event};
    return driver_is_event(event) ? replace(node, &operation) : INVALID_VALUE;
}

static int get_event(const struct node *node, struct event **event, enum operation_kind kind)
{
    if (!is_kind(node, kind, event))
        return INVALID_VALUE;
    *event = node->operation.event;
    return SUCCESS;
}

/* The functions for nodes that record an event, and for nodes that wait for one. */
#define EVENT_NODE(name, kind)                                                                     \
    CU(cuGraphAddEvent##name##Node, struct node **node, struct graph *graph,                       \
       struct node *const *before, size_t count, struct event *event)                              \
    {                                                                                              \
        LOCK;                                                                                      \
        return add_event(node, graph, before, count, event, kind);                                 \
    }                                                                                              \
    CU(cuGraphEvent##name##NodeSetEvent, struct node *node, struct event *event)                   \
    {                                                                                              \
        LOCK;                                                                                      \
        return set_event(node, event, kind);                                                       \
    }                                                                                              \
    CU(cuGraphExecEvent##name##NodeSetEvent, struct graph *executable, struct node *node,          \
       struct event *event)                                                                        \
    {                                                                                              \
        LOCK;                                                                                      \
        return set_event(target(executable, node), event, kind);                                   \
    }                                                                                              \
    CU(cuGraphEvent##name##NodeGetEvent, struct node *node, struct event **event)                  \
    {                                                                                              \
        LOCK;                                                                                      \
        return get_event(node, event, kind);                                                       \
    }

EVENT_NODE(Record, OP_RECORD)
EVENT_NODE(Wait, OP_WAIT)

/* ---- memory ---- */

/* Offsets in CUDA_MEM_ALLOC_NODE_PARAMS. */
enum { ALLOC_SIZE = 104, ALLOC_ADDRESS = 112, ALLOC_BYTES = 120 };

CU(cuGraphAddMemAllocNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, void *parameters)
{
    LOCK;
    struct operation operation = {.kind = OP_ALLOC};
    size_t bytes;
    if (!parameters)
        return INVALID_VALUE;
    int result = driver_reserve((size_t)field(parameters, ALLOC_SIZE, 8), &operation.reservation);
    if (result != SUCCESS)
        return result;
    const uint64_t address = driver_reservation_address(operation.reservation, &bytes);
    result = add(node, graph, &operation, before, count);
    if (result == SUCCESS)
        memcpy((char *)parameters + ALLOC_ADDRESS, &address, sizeof address);
    return result;
}

CU(cuGraphMemAllocNodeGetParams, struct node *node, void *parameters)
{
    LOCK;
    size_t bytes = 0;
    const uint32_t of_device[] = {1, 0, 1, 0}; /* pinned memory of device 0 */
    if (!is_kind(node, OP_ALLOC, parameters))
        return INVALID_VALUE;
    const uint64_t address = driver_reservation_address(node->operation.reservation, &bytes);
    memset(parameters, 0, ALLOC_BYTES);
    memcpy(parameters, of_device, sizeof of_device);
    memcpy((char *)parameters + ALLOC_SIZE, &bytes, sizeof bytes);
    memcpy((char *)parameters + ALLOC_ADDRESS, &address, sizeof address);
    return SUCCESS;
}

CU(cuGraphAddMemFreeNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, uint64_t address)
{
    LOCK;
    struct operation operation = {.kind = OP_FREE, .freed = address};
    return driver_is_reserved(address) ? add(node, graph, &operation, before, count)
                                       : INVALID_VALUE;
}

CU(cuGraphMemFreeNodeGetParams, struct node *node, uint64_t *address)
{
    LOCK;
    if (!is_kind(node, OP_FREE, address))
        return INVALID_VALUE;
    *address = node->operation.freed;
    return SUCCESS;
}

/* ---- nodes of any type ---- */

/* The types of nodes (CUgraphNodeType). */
enum {
    TYPE_KERNEL = 0,
    TYPE_COPY = 1,
    TYPE_FILL = 2,
    TYPE_HOST = 3,
    TYPE_GRAPH = 4,
    TYPE_EMPTY = 5,
    TYPE_WAIT = 6,
    TYPE_RECORD = 7,
    TYPE_ALLOC = 10,
    TYPE_FREE = 11
};

CU(cuGraphNodeGetType, struct node *node, int *type)
{
    LOCK;
    static const int types[] = {
        [OP_EMPTY] = TYPE_EMPTY,   [OP_COPY] = TYPE_COPY,   [OP_FILL] = TYPE_FILL,
        [OP_LAUNCH] = TYPE_KERNEL, [OP_HOST] = TYPE_HOST,   [OP_RECORD] = TYPE_RECORD,
        [OP_WAIT] = TYPE_WAIT,     [OP_GRAPH] = TYPE_GRAPH, [OP_ALLOC] = TYPE_ALLOC,
        [OP_FREE] = TYPE_FREE};
    if (!node || !type)
        return INVALID_VALUE;
    *type = types[node->operation.kind];
    return SUCCESS;
}

CU(cuGraphNodeSetEnabled, struct graph *executable, struct node *node, unsigned enabled)
{
    LOCK;
    struct node *found = target(executable, node);
    if (!found || (found->operation.kind != OP_LAUNCH && found->operation.kind != OP_COPY &&
                   found->operation.kind != OP_FILL))
        return INVALID_VALUE;
    found->is_disabled = !enabled;
    return SUCCESS;
}

CU(cuGraphNodeGetEnabled, struct graph *executable, struct node *node, unsigned *enabled)
{
    LOCK;
    const struct node *found = target(executable, node);
    if (!found || !enabled)
        return INVALID_VALUE;
    *enabled = !found->is_disabled;
    return SUCCESS;
}

/* Offsets in CUgraphNodeParams: the parameters, and those of a copy, which come after flags and a
 * context. */
enum { NODE_PARAMETERS = 16, NODE_COPY = 32 };

CU(cuGraphAddNode_v2, struct node **node, struct graph *graph, struct node *const *before,
   const void *edges, size_t count, void *parameters)
{
    (void)edges;
    if (!parameters)
        return INVALID_VALUE;
    char *const at = (char *)parameters + NODE_PARAMETERS;
    const uint64_t word = field(at, 0, 8);
    switch ((int)field(parameters, 0, 4)) {
    case TYPE_KERNEL: return cuGraphAddKernelNode_v2(node, graph, before, count, at);
    case TYPE_COPY:
        return cuGraphAddMemcpyNode(node, graph, before, count, (char *)parameters + NODE_COPY,
                                    NULL);
    case TYPE_FILL: return cuGraphAddMemsetNode(node, graph, before, count, at, NULL);
    case TYPE_HOST: return cuGraphAddHostNode(node, graph, before, count, at);
    case TYPE_GRAPH: return cuGraphAddChildGraphNode(node, graph, before, count, pointer_to(word));
    case TYPE_EMPTY: return cuGraphAddEmptyNode(node, graph, before, count);
    case TYPE_WAIT: return cuGraphAddEventWaitNode(node, graph, before, count, pointer_to(word));
    case TYPE_RECORD:
        return cuGraphAddEventRecordNode(node, graph, before, count, pointer_to(word));
    case TYPE_ALLOC: return cuGraphAddMemAllocNode(node, graph, before, count, at);
    case TYPE_FREE: return cuGraphAddMemFreeNode(node, graph, before, count, word);
    default: break;
    }
    LOCK;
    return driver_unsupported("cuGraphAddNode with this type of node");
}

CU(cuGraphAddNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, void *parameters)
{
    return cuGraphAddNode_v2(node, graph, before, NULL, count, parameters);
}

static int set_any(struct node *node, const void *parameters)
{
    struct operation operation;
    if (!node || !parameters)
        return INVALID_VALUE;
    const char *const at = (const char *)parameters + NODE_PARAMETERS;
    struct event *const event = pointer_field(at, 0);
    switch ((int)field(parameters, 0, 4)) {
    case TYPE_KERNEL: return set_kernel(node, at, true);
    case TYPE_COPY: return set_copy(node, (const char *)parameters + NODE_COPY);
    case TYPE_FILL: return set_fill(node, at);
    case TYPE_HOST: {
        const int result = read_host(at, &operation);
        return result == SUCCESS ? replace(node, &operation) : result;
    }
    case TYPE_GRAPH: {
        const int result = read_child(pointer_field(at, 0), &operation);
        return result == SUCCESS ? replace(node, &operation) : result;
    }
    case TYPE_WAIT: return set_event(node, event, OP_WAIT);
    case TYPE_RECORD: return set_event(node, event, OP_RECORD);
    default: return driver_unsupported("setting the parameters of this type of node");
    }
}

CU(cuGraphNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    return set_any(node, parameters);
}

CU(cuGraphExecNodeSetParams, struct graph *executable, struct node *node, const void *parameters)
{
    LOCK;
    return set_any(target(executable, node), parameters);
}
