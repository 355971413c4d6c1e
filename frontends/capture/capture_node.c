/* The nodes of graphs. The driver reports the nodes of a graph, their parameters and what they
 * depend on, but not those of an executable graph, which can change on its own. So they are copied
 * when the executable graph is made, and capture_graph.c changes the copies as the program changes
 * the nodes. Child graphs are part of the list: their nodes follow the node of the child graph. */
#include "capture.h"

/* Returns why a node of this type cannot be issued to a stream; NULL: it can. */
static const char *reason_of(enum node_type type)
{
    switch (type) {
    case NODE_KERNEL:
    case NODE_COPY:
    case NODE_FILL:
    case NODE_HOST:
    case NODE_GRAPH:
    case NODE_EMPTY:
    case NODE_WAIT:
    case NODE_RECORD: return NULL;
    case NODE_SIGNAL_SEMAPHORES:
    case NODE_WAIT_SEMAPHORES: return "its graph uses external semaphores";
    case NODE_ALLOC:
    case NODE_FREE: return "its graph allocates or frees memory";
    case NODE_MEMORY_OPERATIONS: return "its graph has batches of memory operations";
    case NODE_CONDITIONAL: return "its graph has conditional nodes";
    }
    return "its graph has nodes of an unknown type";
}

/* ---- the parameters of nodes ---- */

/* Offsets in CUDA_KERNEL_NODE_PARAMS; version 1 ends before the CUkernel. */
enum {
    KERNEL_FUNCTION = 0,
    KERNEL_GRID = 8,
    KERNEL_BLOCK = 20,
    KERNEL_SHARED = 32,
    KERNEL_PARAMETERS = 40,
    KERNEL_EXTRA = 48,
    KERNEL_KERNEL = 56,
    KERNEL_CONTEXT = 64,
    KERNEL_BYTES = 72
};

/* Copies a launch and its parameters. */
static void set_kernel(struct graph_node *node, const void *from, bool is_version_2)
{
    struct call *call = &node->call;
    call->function = pointer_to(field(from, KERNEL_FUNCTION, 8));
    if (!call->function && is_version_2)
        call->function = pointer_to(field(from, KERNEL_KERNEL, 8));
    memcpy(call->grid, (const char *)from + KERNEL_GRID, sizeof call->grid);
    memcpy(call->block, (const char *)from + KERNEL_BLOCK, sizeof call->block);
    call->shared_bytes = (uint32_t)field(from, KERNEL_SHARED, 4);
    const struct function *function = capture_function(call->function);
    free(node->parameters);
    node->parameter_bytes = function ? function->parameter_bytes : 0;
    node->parameters = calloc(1, node->parameter_bytes + 1);
    node->reason = !function || !node->parameters ? "memory is exhausted" : function->reason;
    if (node->reason)
        return;
    const struct call source = {.parameters = pointer_to(field(from, KERNEL_PARAMETERS, 8)),
                                .extra = pointer_to(field(from, KERNEL_EXTRA, 8))};
    capture_copy_parameters(&source, function, node->parameters);
}

void capture_set_node(struct graph_node *node, const void *parameters, bool is_version_2)
{
    switch (node->type) {
    case NODE_KERNEL: set_kernel(node, parameters, is_version_2); break;
    case NODE_COPY: memcpy(node->bytes, parameters, COPY_BYTES); break;
    case NODE_FILL: memcpy(node->bytes, parameters, FILL_BYTES); break;
    case NODE_HOST: memcpy(node->bytes, parameters, HOST_BYTES); break;
    case NODE_WAIT:
    case NODE_RECORD: memcpy(node->bytes, parameters, sizeof(void *)); break;
    default: break;
    }
}

/* Returns the first word of an attribute of a kernel node; 0 if the driver does not report it. */
static int32_t attribute(void *handle, int index)
{
    _Alignas(8) unsigned char value[ATTRIBUTE_VALUE_BYTES] = {0};
    if (CALL(cuGraphKernelNodeGetAttribute, (void *, int, void *), handle, index, value) != SUCCESS)
        return 0;
    return (int32_t)field(value, 0, 4);
}

static void read_kernel(struct graph_node *node)
{
    _Alignas(8) unsigned char parameters[KERNEL_BYTES] = {0}, cluster[ATTRIBUTE_VALUE_BYTES] = {0};
    if (CALL(cuGraphKernelNodeGetParams_v2, (void *, void *), node->handle, parameters) !=
        SUCCESS) {
        node->reason = "the driver does not report the parameters of a kernel of its graph";
        return;
    }
    set_kernel(node, parameters, true);
    node->context = pointer_to(field(parameters, KERNEL_CONTEXT, 8));
    if (CALL(cuGraphKernelNodeGetAttribute, (void *, int, void *), node->handle, ATTRIBUTE_CLUSTER,
             cluster) == SUCCESS)
        memcpy(node->call.cluster, cluster, sizeof node->call.cluster);
    node->call.is_cooperative = attribute(node->handle, ATTRIBUTE_COOPERATIVE) != 0;
    node->cluster_policy = attribute(node->handle, ATTRIBUTE_CLUSTER_POLICY);
    node->carveout = attribute(node->handle, ATTRIBUTE_CARVEOUT);
    if (attribute(node->handle, ATTRIBUTE_UPDATABLE) != 0)
        node->reason = "its graph has kernels that can be updated from the GPU";
}

/* Reads the parameters of a node, whose handle and type are set. */
static void read_node(struct graph_node *node)
{
    int result = SUCCESS;
    node->reason = reason_of(node->type);
    switch (node->type) {
    case NODE_KERNEL: read_kernel(node); break;
    case NODE_COPY:
        result = CALL(cuGraphMemcpyNodeGetParams, (void *, void *), node->handle, node->bytes);
        break;
    case NODE_FILL:
        result = CALL(cuGraphMemsetNodeGetParams, (void *, void *), node->handle, node->bytes);
        break;
    case NODE_HOST:
        result = CALL(cuGraphHostNodeGetParams, (void *, void *), node->handle, node->bytes);
        break;
    case NODE_WAIT:
        result = CALL(cuGraphEventWaitNodeGetEvent, (void *, void *), node->handle, node->bytes);
        break;
    case NODE_RECORD:
        result = CALL(cuGraphEventRecordNodeGetEvent, (void *, void *), node->handle, node->bytes);
        break;
    default: break;
    }
    if (result != SUCCESS)
        node->reason = "the driver does not report the parameters of a node of its graph";
}

/* ---- the order of nodes ---- */

/* The nodes and edges of one graph. */
struct structure {
    void **nodes;
    struct place {
        void *handle;
        size_t index;
    } * places;               /* the nodes by their handles */
    void **from, **to;        /* the edges */
    size_t *starts, *targets; /* the nodes that depend on node i: targets[starts[i] …] */
    size_t *pending;          /* per node: on how many nodes that are not listed yet it depends */
    size_t count, edge_count;
};

static int compare_places(const void *a, const void *b)
{
    const uintptr_t left = (uintptr_t)((const struct place *)a)->handle;
    const uintptr_t right = (uintptr_t)((const struct place *)b)->handle;
    return left < right ? -1 : left > right;
}

/* Returns the index of a node; SIZE_MAX: there is none. */
static size_t index_of(const struct structure *structure, void *handle)
{
    const struct place key = {handle, 0};
    const struct place *found =
        bsearch(&key, structure->places, structure->count, sizeof key, compare_places);
    return found ? found->index : SIZE_MAX;
}

/* Reads the edges, or only their number if there is no place for them. An edge can have data in
 * newer versions; without a place for these, the driver may refuse to tell the edges. */
static int get_edges(void *graph, struct structure *structure)
{
    enum { EDGE_BYTES = 8 }; /* the size of CUgraphEdgeData */
    if (!capture_real(F_cuGraphGetEdges_v2))
        return CALL(cuGraphGetEdges, (void *, void **, void **, size_t *), graph, structure->from,
                    structure->to, &structure->edge_count);
    void *data = structure->from ? calloc(structure->edge_count + 1, EDGE_BYTES) : NULL;
    const int result = CALL(cuGraphGetEdges_v2, (void *, void **, void **, void *, size_t *), graph,
                            structure->from, structure->to, data, &structure->edge_count);
    free(data);
    return result;
}

static bool allocate(struct structure *structure)
{
    const size_t nodes = structure->count + 1, edges = structure->edge_count + 1;
    structure->nodes = calloc(nodes, sizeof *structure->nodes);
    structure->places = calloc(nodes, sizeof *structure->places);
    structure->starts = calloc(nodes + 1, sizeof *structure->starts);
    structure->pending = calloc(nodes, sizeof *structure->pending);
    structure->from = calloc(edges, sizeof *structure->from);
    structure->to = calloc(edges, sizeof *structure->to);
    structure->targets = calloc(edges, sizeof *structure->targets);
    return structure->nodes && structure->places && structure->starts && structure->pending &&
           structure->from && structure->to && structure->targets;
}

static void structure_fini(struct structure *structure)
{
    free(structure->nodes);
    free(structure->places);
    free(structure->starts);
    free(structure->pending);
    free(structure->from);
    free(structure->to);
    free(structure->targets);
}

/* Lists per node those that depend on it: counts them, adds the counts up, and fills the lists from
 * their ends. */
static bool link_nodes(struct structure *structure)
{
    for (size_t i = 0; i < structure->count; i++)
        structure->places[i] = (struct place){structure->nodes[i], i};
    qsort(structure->places, structure->count, sizeof *structure->places, compare_places);
    for (size_t i = 0; i < structure->edge_count; i++) {
        const size_t from = index_of(structure, structure->from[i]);
        const size_t to = index_of(structure, structure->to[i]);
        if (from == SIZE_MAX || to == SIZE_MAX)
            return false;
        structure->starts[from]++;
        structure->pending[to]++;
    }
    for (size_t i = 1; i <= structure->count; i++)
        structure->starts[i] += structure->starts[i - 1];
    for (size_t i = 0; i < structure->edge_count; i++) {
        const size_t from = index_of(structure, structure->from[i]);
        structure->targets[--structure->starts[from]] = index_of(structure, structure->to[i]);
    }
    return true;
}

static bool read_structure(void *graph, struct structure *structure)
{
    if (CALL(cuGraphGetNodes, (void *, void **, size_t *), graph, NULL, &structure->count) !=
            SUCCESS ||
        get_edges(graph, structure) != SUCCESS || !allocate(structure))
        return false;
    /* The driver refuses places for no nodes or no edges. */
    return (structure->count == 0 || CALL(cuGraphGetNodes, (void *, void **, size_t *), graph,
                                          structure->nodes, &structure->count) == SUCCESS) &&
           (structure->edge_count == 0 || get_edges(graph, structure) == SUCCESS) &&
           link_nodes(structure);
}

/* Adds a node and, if it is a child graph, the nodes of this. */
static bool add_node(struct graph_nodes *nodes, void *handle)
{
    void *items = nodes->items, *child = NULL;
    struct graph_node node = {.handle = handle};
    int type = -1;
    if (CALL(cuGraphNodeGetType, (void *, int *), handle, &type) != SUCCESS ||
        !fth_grow(&items, nodes->count, &nodes->capacity, sizeof node))
        return false;
    nodes->items = items;
    node.type = (enum node_type)type;
    read_node(&node);
    const size_t index = nodes->count++;
    nodes->items[index] = node;
    if (node.type != NODE_GRAPH)
        return true;
    if (CALL(cuGraphChildGraphNodeGetGraph, (void *, void **), handle, &child) != SUCCESS ||
        !capture_read_graph(child, nodes))
        return false;
    nodes->items[index].descendants = nodes->count - 1 - index;
    return true;
}

/* Nodes that depend on none, or only on those that are listed, are listed in the order in which
 * they were added to the graph. One pass is enough if none depends on a node that was added later.
 */
bool capture_read_graph(void *graph, struct graph_nodes *nodes)
{
    static const size_t is_listed = SIZE_MAX; /* instead of the number of pending nodes */
    struct structure structure = {.count = 0};
    bool ok = read_structure(graph, &structure);
    size_t listed = 0, before;
    do {
        before = listed;
        for (size_t i = 0; ok && i < structure.count; i++) {
            if (structure.pending[i] != 0)
                continue;
            structure.pending[i] = is_listed;
            ok = add_node(nodes, structure.nodes[i]);
            listed++;
            for (size_t j = structure.starts[i]; j < structure.starts[i + 1]; j++)
                structure.pending[structure.targets[j]]--;
        }
    } while (ok && listed > before && listed < structure.count);
    ok = ok && listed == structure.count;
    structure_fini(&structure);
    return ok;
}

void capture_nodes_fini(struct graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        free(nodes->items[i].parameters);
    free(nodes->items);
    *nodes = (struct graph_nodes){.count = 0};
}

bool capture_replace_nodes(struct graph_node *nodes, size_t count, void *graph)
{
    struct graph_nodes found = {.count = 0};
    bool ok = capture_read_graph(graph, &found) && found.count == count;
    for (size_t i = 0; ok && i < count; i++)
        ok = found.items[i].type == nodes[i].type &&
             found.items[i].descendants == nodes[i].descendants;
    for (size_t i = 0; ok && i < count; i++) {
        const struct graph_node replaced = nodes[i];
        nodes[i] = found.items[i];
        nodes[i].handle = replaced.handle;
        nodes[i].is_disabled = replaced.is_disabled;
        found.items[i] = replaced;
    }
    capture_nodes_fini(&found);
    return ok;
}
