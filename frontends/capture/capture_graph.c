/* Executable graphs: what the program makes them from, and how it changes them. Each has a list of
 * its nodes (capture_node.c), which is brought up to date with every call that changes the
 * executable graph. The program must not use an executable graph in two threads at once, so only
 * the table of them needs a lock. */
#include "capture.h"

#include <stdatomic.h>

enum { BUCKETS = 256 };
static struct executable *buckets[BUCKETS];

/* A graph can be launched by kernels of other graphs. Such kernels only work in a graph. */
static atomic_bool has_device_launches;

static const char lost[] = "the program changed its graph in a way that fathom cannot follow";

static struct executable **bucket_of(const void *handle)
{
    /* The multiplier is 2^64 divided by the golden ratio, as in Knuth's multiplicative hashing. */
    const uint64_t hash = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[hash >> 56];
}

static struct executable *find(const void *handle)
{
    capture_lock_tables();
    struct executable *executable = *bucket_of(handle);
    while (executable && executable->handle != handle)
        executable = executable->next;
    capture_unlock_tables();
    return executable;
}

static void drop(const void *handle)
{
    capture_lock_tables();
    struct executable **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    struct executable *executable = *link;
    if (executable)
        *link = executable->next;
    capture_unlock_tables();
    if (executable)
        capture_nodes_fini(&executable->nodes);
    free(executable);
}

static void add(void *handle, void *graph, uint64_t flags)
{
    enum { DEVICE_LAUNCH = 4 }; /* of CUgraphInstantiate_flags */
    drop(handle);
    struct executable *executable = calloc(1, sizeof *executable);
    if (!executable)
        return;
    executable->handle = handle;
    if (flags & DEVICE_LAUNCH)
        has_device_launches = true;
    (void)CALL(cuCtxGetCurrent, (void **), &executable->context);
    if (!capture_read_graph(graph, &executable->nodes))
        executable->reason = "the driver does not report the nodes of its graph";
    capture_lock_tables();
    struct executable **bucket = bucket_of(handle);
    executable->next = *bucket;
    *bucket = executable;
    capture_unlock_tables();
}

/* Counts the kernels that a launch executes. */
static void count_kernels(struct executable *executable)
{
    executable->kernel_count = 0;
    executable->has_selected = false;
    executable->node_reason = NULL;
    const void *context = NULL;
    for (size_t i = 0; i < executable->nodes.count; i++) {
        const struct graph_node *node = &executable->nodes.items[i];
        if (node->reason)
            executable->node_reason = node->reason;
        if (node->context && context && node->context != context)
            executable->node_reason = "its graph has kernels of several contexts";
        context = node->context ? node->context : context;
        if (node->type != NODE_KERNEL || node->is_disabled)
            continue;
        const struct function *function = capture_function(node->call.function);
        executable->kernel_count++;
        executable->has_selected |= function && function->is_selected;
    }
    executable->is_counted = true;
}

struct executable *capture_executable(const void *handle)
{
    struct executable *executable = find(handle);
    if (!executable)
        return NULL;
    if (!executable->is_counted)
        count_kernels(executable);
    if (has_device_launches && !executable->reason)
        executable->reason = "the program has graphs that kernels of other graphs can launch";
    return executable;
}

/* ---- changes ---- */

/* Returns the node with this handle. NULL: the executable graph is unknown, or it is `lost`. */
static struct graph_node *find_node(void *handle, const void *node)
{
    struct executable *executable = capture_is_expected() ? find(handle) : NULL;
    if (!executable)
        return NULL;
    executable->is_counted = false;
    /* Programs tend to change the nodes in their order. */
    for (size_t i = 0; node && i < executable->nodes.count; i++) {
        const size_t index = (executable->changed + 1 + i) % executable->nodes.count;
        if (executable->nodes.items[index].handle == node) {
            executable->changed = index;
            return &executable->nodes.items[index];
        }
    }
    executable->reason = lost;
    return NULL;
}

static int instantiated(int result, void *const *executable, void *graph, uint64_t flags)
{
    if (result == SUCCESS && capture_is_expected())
        add(*executable, graph, flags);
    return result;
}

static int updated(int result, const void *handle, void *graph)
{
    struct executable *executable =
        result == SUCCESS && capture_is_expected() ? find(handle) : NULL;
    if (executable) {
        executable->is_counted = false;
        if (!capture_replace_nodes(executable->nodes.items, executable->nodes.count, graph))
            executable->reason = lost;
    }
    return result;
}

static int changed(int result, void *executable, const void *handle, enum node_type type,
                   const void *parameters, bool is_version_2)
{
    struct graph_node *node = result == SUCCESS ? find_node(executable, handle) : NULL;
    if (node && node->type == type)
        capture_set_node(node, parameters, is_version_2);
    return result;
}

static int changed_child(int result, void *executable, const void *handle, void *graph)
{
    struct graph_node *node = result == SUCCESS ? find_node(executable, handle) : NULL;
    if (node && !capture_replace_nodes(node + 1, node->descendants, graph))
        find(executable)->reason = lost;
    return result;
}

/* Reads CUgraphNodeParams. */
static int changed_any(int result, void *executable, const void *handle, const void *parameters)
{
    /* Offsets: the parameters, and those of a copy, which come after flags and a context. */
    enum { PARAMETERS = 16, COPY = 32 };
    const enum node_type type = result == SUCCESS ? (enum node_type)field(parameters, 0, 4) : 0;
    const char *at = (const char *)parameters + (type == NODE_COPY ? COPY : PARAMETERS);
    if (result == SUCCESS && type == NODE_GRAPH)
        return changed_child(result, executable, handle, pointer_to(field(at, 0, 8)));
    return changed(result, executable, handle, type, at, true);
}

/* ---- the functions of the driver ---- */

#define INSTANTIATE(name)                                                                          \
    WRAP(name, void **executable, void *graph, void **failed, char *log, size_t log_bytes)         \
    {                                                                                              \
        return instantiated(CALL(name, (void **, void *, void **, char *, size_t), executable,     \
                                 graph, failed, log, log_bytes),                                   \
                            executable, graph, 0);                                                 \
    }
INSTANTIATE(cuGraphInstantiate)
INSTANTIATE(cuGraphInstantiate_v2)

WRAP(cuGraphInstantiateWithFlags, void **executable, void *graph, uint64_t flags)
{
    return instantiated(
        CALL(cuGraphInstantiateWithFlags, (void **, void *, uint64_t), executable, graph, flags),
        executable, graph, flags);
}

/* CUDA_GRAPH_INSTANTIATE_PARAMS begins with the flags. */
#define INSTANTIATE_WITH(name)                                                                     \
    WRAP(name, void **executable, void *graph, void *parameters)                                   \
    {                                                                                              \
        const int result = CALL(name, (void **, void *, void *), executable, graph, parameters);   \
        return instantiated(result, executable, graph, parameters ? field(parameters, 0, 8) : 0);  \
    }
INSTANTIATE_WITH(cuGraphInstantiateWithParams)
INSTANTIATE_WITH(cuGraphInstantiateWithParams_ptsz)

WRAP(cuGraphExecDestroy, void *executable)
{
    drop(executable);
    return CALL(cuGraphExecDestroy, (void *), executable);
}

WRAP(cuGraphExecUpdate, void *executable, void *graph, void **node, int *state)
{
    return updated(
        CALL(cuGraphExecUpdate, (void *, void *, void **, int *), executable, graph, node, state),
        executable, graph);
}

WRAP(cuGraphExecUpdate_v2, void *executable, void *graph, void *info)
{
    return updated(CALL(cuGraphExecUpdate_v2, (void *, void *, void *), executable, graph, info),
                   executable, graph);
}

#define SET_PARAMETERS(name, type, is_version_2)                                                   \
    WRAP(name, void *executable, void *node, const void *parameters)                               \
    {                                                                                              \
        return changed(CALL(name, (void *, void *, const void *), executable, node, parameters),   \
                       executable, node, type, parameters, is_version_2);                          \
    }
SET_PARAMETERS(cuGraphExecKernelNodeSetParams, NODE_KERNEL, false)
SET_PARAMETERS(cuGraphExecKernelNodeSetParams_v2, NODE_KERNEL, true)
SET_PARAMETERS(cuGraphExecHostNodeSetParams, NODE_HOST, false)

#define SET_IN_CONTEXT(name, type)                                                                 \
    WRAP(name, void *executable, void *node, const void *parameters, void *context)                \
    {                                                                                              \
        return changed(CALL(name, (void *, void *, const void *, void *), executable, node,        \
                            parameters, context),                                                  \
                       executable, node, type, parameters, false);                                 \
    }
SET_IN_CONTEXT(cuGraphExecMemcpyNodeSetParams, NODE_COPY)
SET_IN_CONTEXT(cuGraphExecMemsetNodeSetParams, NODE_FILL)

#define SET_EVENT(name, type)                                                                      \
    WRAP(name, void *executable, void *node, void *event)                                          \
    {                                                                                              \
        return changed(CALL(name, (void *, void *, void *), executable, node, event), executable,  \
                       node, type, &event, false);                                                 \
    }
SET_EVENT(cuGraphExecEventRecordNodeSetEvent, NODE_RECORD)
SET_EVENT(cuGraphExecEventWaitNodeSetEvent, NODE_WAIT)

WRAP(cuGraphExecChildGraphNodeSetParams, void *executable, void *node, void *graph)
{
    return changed_child(
        CALL(cuGraphExecChildGraphNodeSetParams, (void *, void *, void *), executable, node, graph),
        executable, node, graph);
}

WRAP(cuGraphExecNodeSetParams, void *executable, void *node, void *parameters)
{
    return changed_any(
        CALL(cuGraphExecNodeSetParams, (void *, void *, void *), executable, node, parameters),
        executable, node, parameters);
}

WRAP(cuGraphNodeSetEnabled, void *executable, void *node, unsigned enabled)
{
    const int result =
        CALL(cuGraphNodeSetEnabled, (void *, void *, unsigned), executable, node, enabled);
    struct graph_node *found = result == SUCCESS ? find_node(executable, node) : NULL;
    if (found)
        found->is_disabled = !enabled;
    return result;
}
