/* The nodes of graphs: their types, dependencies and parameters, and nodes that are graphs, events
 * or memory. */
#include "cuda_driver.h"

CU(cuGraphNodeGetType, struct node *node, int *type)
{
    LOCK;
    if (!node || !type)
        return INVALID_VALUE;
    *type = node->type;
    return SUCCESS;
}

/* ---- dependencies ---- */

CU(cuGraphAddDependencies_v2, struct graph *graph, struct node *const *from, struct node *const *to,
   const void *edges, size_t count)
{
    LOCK;
    (void)edges;
    int result = driver_is_graph(graph) ? SUCCESS : INVALID_HANDLE;
    for (size_t i = 0; i < count && result == SUCCESS; i++)
        result = driver_add_dependency(to[i], from[i]);
    return result;
}

static void remove_dependency(struct node *node, const struct node *before)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->before_count; i++)
        if (node->before[i] != before)
            node->before[kept++] = node->before[i];
    node->before_count = kept;
}

CU(cuGraphRemoveDependencies_v2, struct graph *graph, struct node *const *from,
   struct node *const *to, const void *edges, size_t count)
{
    LOCK;
    (void)edges;
    if (!driver_is_graph(graph))
        return INVALID_HANDLE;
    for (size_t i = 0; i < count; i++)
        remove_dependency(to[i], from[i]);
    return SUCCESS;
}

/* Stores what a function returns in an array of the program, if there is room for it. */
struct list {
    struct node **first, **second;
    size_t capacity, count;
};

static void add(struct list *list, struct node *first, struct node *second)
{
    if (list->first && list->count < list->capacity)
        list->first[list->count] = first;
    if (list->second && list->count < list->capacity)
        list->second[list->count] = second;
    list->count++;
}

static void end_list(const struct list *list, size_t *count)
{
    *count = list->first ? FTH_MIN(list->count, list->capacity) : list->count;
}

CU(cuGraphGetRootNodes, struct graph *graph, struct node **nodes, size_t *count)
{
    LOCK;
    if (!driver_is_graph(graph) || !count)
        return INVALID_VALUE;
    struct list list = {.first = nodes, .capacity = *count};
    for (struct node *node = graph->nodes; node; node = node->next)
        if (node->before_count == 0)
            add(&list, node, NULL);
    end_list(&list, count);
    return SUCCESS;
}

CU(cuGraphGetEdges_v2, struct graph *graph, struct node **from, struct node **to, void *edges,
   size_t *count)
{
    LOCK;
    (void)edges;
    if (!driver_is_graph(graph) || !count)
        return INVALID_VALUE;
    struct list list = {.first = from, .second = to, .capacity = *count};
    for (struct node *node = graph->nodes; node; node = node->next)
        for (size_t i = 0; i < node->before_count; i++)
            add(&list, node->before[i], node);
    end_list(&list, count);
    return SUCCESS;
}

CU(cuGraphNodeGetDependencies_v2, struct node *node, struct node **nodes, void *edges,
   size_t *count)
{
    LOCK;
    (void)edges;
    if (!node || !count)
        return INVALID_VALUE;
    struct list list = {.first = nodes, .capacity = *count};
    for (size_t i = 0; i < node->before_count; i++)
        add(&list, node->before[i], NULL);
    end_list(&list, count);
    return SUCCESS;
}

CU(cuGraphNodeFindInClone, struct node **node, struct node *original, struct graph *clone)
{
    LOCK;
    if (!node || !driver_is_graph(clone))
        return INVALID_VALUE;
    *node = driver_find_copy(clone, original);
    return *node ? SUCCESS : INVALID_VALUE;
}

CU(cuGraphNodeSetEnabled, struct graph *executable, struct node *node, unsigned enabled)
{
    LOCK;
    struct node *copy = driver_is_graph(executable) ? driver_find_copy(executable, node) : NULL;
    if (!copy)
        return INVALID_VALUE;
    copy->disabled = !enabled;
    return SUCCESS;
}

CU(cuGraphNodeGetEnabled, struct graph *executable, struct node *node, unsigned *enabled)
{
    LOCK;
    const struct node *copy =
        driver_is_graph(executable) ? driver_find_copy(executable, node) : NULL;
    if (!copy || !enabled)
        return INVALID_VALUE;
    *enabled = !copy->disabled;
    return SUCCESS;
}

/* ---- parameters ---- */

/* Replaces the operation of a node, if the new one is of the same kind. */
static int replace(struct node *node, const struct operation *operation)
{
    if (!node || node->operation.kind != operation->kind)
        return INVALID_VALUE;
    driver_operation_fini(&node->operation);
    node->operation = *operation;
    return SUCCESS;
}

static struct node *copy_of(const struct graph *executable, const struct node *node)
{
    return driver_is_graph(executable) ? driver_find_copy(executable, node) : NULL;
}

/* Writes CUDA_KERNEL_NODE_PARAMS. The addresses of the arguments are valid until the node is
 * changed. */
CU(cuGraphKernelNodeGetParams_v2, struct node *node, void *parameters)
{
    LOCK;
    if (!node || node->type != NODE_KERNEL || !parameters)
        return INVALID_VALUE;
    const struct operation *operation = &node->operation;
    const struct fth_ptx_kernel *kernel = operation->launch.function->kernel;
    void **arguments = realloc(node->arguments, (kernel->parameter_count + 1) * sizeof *arguments);
    if (!arguments)
        return OUT_OF_MEMORY;
    node->arguments = arguments;
    for (size_t i = 0; i < kernel->parameter_count; i++)
        arguments[i] = operation->launch.arguments + kernel->parameters[i].offset;
    memset(parameters, 0, 72);
    memcpy(parameters, &operation->launch.function, 8);
    memcpy((char *)parameters + 8, operation->launch.grid, 12);
    memcpy((char *)parameters + 20, operation->launch.block, 12);
    memcpy((char *)parameters + 32, &operation->launch.shared_bytes, 4);
    memcpy((char *)parameters + 40, &arguments, 8);
    return SUCCESS;
}

/* Reads CUDA_MEMSET_NODE_PARAMS. */
static struct operation read_fill(const void *parameters)
{
    struct operation operation = {.kind = OP_FILL};
    operation.fill.address = field(parameters, 0, 8);
    operation.fill.pitch = field(parameters, 8, 8);
    operation.fill.value = (uint32_t)field(parameters, 16, 4);
    operation.fill.element_bytes = (uint32_t)field(parameters, 20, 4);
    operation.fill.width = field(parameters, 24, 8);
    operation.fill.height = field(parameters, 32, 8);
    return operation;
}

CU(cuGraphAddMemsetNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters, struct context *context)
{
    LOCK;
    (void)context;
    if (!parameters)
        return INVALID_VALUE;
    struct operation operation = read_fill(parameters);
    return driver_add_node(node, graph, before, count, &operation);
}

CU(cuGraphMemsetNodeGetParams, const struct node *node, void *parameters)
{
    LOCK;
    if (!node || node->type != NODE_FILL || !parameters)
        return INVALID_VALUE;
    const struct operation *operation = &node->operation;
    const uint64_t place[] = {operation->fill.address, operation->fill.pitch};
    const uint64_t size[] = {operation->fill.width, operation->fill.height};
    memcpy(parameters, place, sizeof place);
    memcpy((char *)parameters + 16, &operation->fill.value, 4);
    memcpy((char *)parameters + 20, &operation->fill.element_bytes, 4);
    memcpy((char *)parameters + 24, size, sizeof size);
    return SUCCESS;
}

CU(cuGraphMemsetNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    const struct operation operation = read_fill(parameters);
    return replace(node, &operation);
}

CU(cuGraphExecMemsetNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters, struct context *context)
{
    LOCK;
    (void)context;
    const struct operation operation = read_fill(parameters);
    return replace(copy_of(executable, node), &operation);
}

CU(cuGraphMemcpyNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    struct operation operation;
    const int result = driver_read_copy(parameters, &operation);
    return result == SUCCESS ? replace(node, &operation) : result;
}

CU(cuGraphExecMemcpyNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters, struct context *context)
{
    LOCK;
    struct operation operation;
    (void)context;
    const int result = driver_read_copy(parameters, &operation);
    return result == SUCCESS ? replace(copy_of(executable, node), &operation) : result;
}

/* Reads CUDA_HOST_NODE_PARAMS. */
static struct operation read_host(const void *parameters)
{
    struct operation operation = {.kind = OP_HOST};
    memcpy(&operation.host.function, parameters, sizeof operation.host.function);
    operation.host.user = pointer_field(parameters, 8);
    return operation;
}

CU(cuGraphAddHostNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, const void *parameters)
{
    LOCK;
    if (!parameters)
        return INVALID_VALUE;
    struct operation operation = read_host(parameters);
    return driver_add_node(node, graph, before, count, &operation);
}

CU(cuGraphHostNodeGetParams, const struct node *node, void *parameters)
{
    LOCK;
    if (!node || node->type != NODE_HOST || !parameters)
        return INVALID_VALUE;
    memcpy(parameters, &node->operation.host.function, 8);
    memcpy((char *)parameters + 8, &node->operation.host.user, 8);
    return SUCCESS;
}

CU(cuGraphHostNodeSetParams, struct node *node, const void *parameters)
{
    LOCK;
    const struct operation operation = read_host(parameters);
    return replace(node, &operation);
}

CU(cuGraphExecHostNodeSetParams, struct graph *executable, struct node *node,
   const void *parameters)
{
    LOCK;
    const struct operation operation = read_host(parameters);
    return replace(copy_of(executable, node), &operation);
}

/* ---- child graphs ---- */

CU(cuGraphAddChildGraphNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, struct graph *child)
{
    LOCK;
    struct operation operation = {.kind = OP_EMPTY};
    struct graph *copy = NULL;
    int result = driver_is_graph(child) ? driver_copy_graph(child, &copy) : INVALID_VALUE;
    if (result != SUCCESS)
        return result;
    result = driver_add_node(node, graph, before, count, &operation);
    if (result != SUCCESS) {
        (void)driver_destroy_graph(copy);
        return result;
    }
    (*node)->type = NODE_GRAPH;
    (*node)->child = copy;
    return SUCCESS;
}

CU(cuGraphChildGraphNodeGetGraph, struct node *node, struct graph **graph)
{
    LOCK;
    if (!node || node->type != NODE_GRAPH || !graph)
        return INVALID_VALUE;
    *graph = node->child;
    return SUCCESS;
}

CU(cuGraphExecChildGraphNodeSetParams, struct graph *executable, struct node *node,
   struct graph *child)
{
    LOCK;
    struct graph *copy = NULL;
    struct node *place = copy_of(executable, node);
    if (!place || place->type != NODE_GRAPH || !driver_is_graph(child))
        return INVALID_VALUE;
    const int result = driver_copy_graph(child, &copy);
    if (result != SUCCESS)
        return result;
    (void)driver_destroy_graph(place->child);
    place->child = copy;
    return SUCCESS;
}

/* ---- events ---- */

static int add_event(struct node **node, struct graph *graph, struct node *const *before,
                     size_t count, struct event *event, int type)
{
    struct operation operation = {.kind = type == NODE_RECORD ? OP_RECORD : OP_EMPTY,
                                  .event = event};
    const int result = driver_is_event(event)
                           ? driver_add_node(node, graph, before, count, &operation)
                           : INVALID_HANDLE;
    if (result == SUCCESS) {
        (*node)->type = type;
        (*node)->event = event;
    }
    return result;
}

CU(cuGraphAddEventRecordNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, struct event *event)
{
    LOCK;
    return add_event(node, graph, before, count, event, NODE_RECORD);
}

/* The graph is executed when all earlier work has ended, so there is nothing to wait for. */
CU(cuGraphAddEventWaitNode, struct node **node, struct graph *graph, struct node *const *before,
   size_t count, struct event *event)
{
    LOCK;
    return add_event(node, graph, before, count, event, NODE_WAIT);
}

CU(cuGraphEventRecordNodeGetEvent, const struct node *node, struct event **event)
{
    LOCK;
    if (!node || !node->event || !event)
        return INVALID_VALUE;
    *event = node->event;
    return SUCCESS;
}
ALIAS(cuGraphEventWaitNodeGetEvent, cuGraphEventRecordNodeGetEvent);

static int set_event(struct node *node, struct event *event)
{
    if (!node || !node->event || !driver_is_event(event))
        return INVALID_VALUE;
    node->event = node->operation.event = event;
    return SUCCESS;
}

CU(cuGraphEventRecordNodeSetEvent, struct node *node, struct event *event)
{
    LOCK;
    return set_event(node, event);
}
ALIAS(cuGraphEventWaitNodeSetEvent, cuGraphEventRecordNodeSetEvent);

CU(cuGraphExecEventRecordNodeSetEvent, struct graph *executable, struct node *node,
   struct event *event)
{
    LOCK;
    return set_event(copy_of(executable, node), event);
}
ALIAS(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventRecordNodeSetEvent);
