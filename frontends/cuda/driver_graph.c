/* Graphs: their structure, copies and launches. A graph that can be launched is a copy of another
 * one, in which each node comes after those that it depends on; a launch executes its nodes in this
 * order. */
#include "cuda_driver.h"

#include <stdio.h>

static struct graph *graphs;

/* ---- sets of nodes ---- */

static bool contains(const struct node_set *set, const struct node *node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node)
            return true;
    return false;
}

bool driver_set_add(struct node_set *set, struct node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *grown = set->nodes;
        if (contains(set, nodes[i]))
            continue;
        if (!fth_grow(&grown, set->count, &set->capacity, sizeof(struct node *)))
            return false;
        set->nodes = grown;
        set->nodes[set->count++] = nodes[i];
    }
    return true;
}

void driver_set_fini(struct node_set *set)
{
    free(set->nodes);
    *set = (struct node_set){NULL, 0, 0};
}

static bool remove_from(struct node_set *set, const struct node *node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node) {
            set->nodes[i] = set->nodes[--set->count];
            return true;
        }
    return false;
}

/* ---- graphs ---- */

bool driver_is_graph(const struct graph *graph, bool is_executable)
{
    for (const struct graph *at = graphs; at; at = at->next)
        if (at == graph)
            return at->is_executable == is_executable;
    return false;
}

struct graph *driver_graph_create(void)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    graph->end = &graph->nodes;
    graph->next = graphs;
    graphs = graph;
    return graph;
}

static void free_node(struct node *node)
{
    driver_operation_fini(&node->operation);
    driver_set_fini(&node->before);
    free(node);
}

void driver_graph_destroy(struct graph *graph)
{
    struct graph **link = &graphs;
    while (*link != graph)
        link = &(*link)->next;
    *link = graph->next;
    while (graph->nodes) {
        struct node *next = graph->nodes->next;
        free_node(graph->nodes);
        graph->nodes = next;
    }
    driver_objects_release(graph);
    free(graph);
}

void driver_free_graphs(void)
{
    struct graph *at = graphs;
    while (at) {
        /* Nodes own the graphs that are children. */
        struct graph *const free_now = at->is_child ? NULL : at;
        at = at->next;
        if (free_now) {
            driver_graph_destroy(free_now);
            at = graphs;
        }
    }
}

int driver_graph_add(struct graph *graph, struct operation *operation, struct node *const *before,
                     size_t count, struct node **out)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node || !driver_set_add(&node->before, before, count)) {
        driver_operation_fini(operation);
        free(node);
        return OUT_OF_MEMORY;
    }
    node->operation = *operation;
    node->graph = graph;
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    if (out)
        *out = node;
    return SUCCESS;
}

struct node *driver_graph_find(const struct graph *graph, const struct node *original)
{
    struct node *found = NULL;
    for (struct node *node = graph->nodes; node && !found; node = node->next)
        if (node->original == original)
            found = node;
        else if (node->operation.kind == OP_GRAPH)
            found = driver_graph_find(node->operation.graph, original);
    return found;
}

/* ---- copies ---- */

/* Copies an operation with what it owns. */
static int copy_operation(const struct operation *from, struct operation *to)
{
    *to = *from;
    if (from->kind == OP_GRAPH) {
        const int result = driver_graph_copy(from->graph, &to->graph);
        if (result == SUCCESS)
            to->graph->is_child = true;
        return result;
    }
    if (from->kind == OP_ALLOC)
        driver_reservation_retain(from->reservation);
    if (from->kind != OP_LAUNCH)
        return SUCCESS;
    to->launch.each = NULL;
    if (!from->launch.arguments)
        return SUCCESS;
    const size_t bytes = from->launch.function->kernel->parameter_bytes;
    to->launch.arguments = malloc(bytes);
    if (to->launch.arguments)
        memcpy(to->launch.arguments, from->launch.arguments, bytes);
    return to->launch.arguments ? SUCCESS : OUT_OF_MEMORY;
}

/* Adds a copy of a node. Those before it have been copied. */
static int copy_node(struct node *from, struct graph *graph)
{
    struct operation operation;
    struct node_set before = {NULL, 0, 0};
    struct node *made = NULL;
    int result = copy_operation(&from->operation, &operation);
    if (result != SUCCESS)
        return result;
    for (size_t i = 0; result == SUCCESS && i < from->before.count; i++)
        if (!driver_set_add(&before, &from->before.nodes[i]->copy, 1))
            result = OUT_OF_MEMORY;
    if (result == SUCCESS)
        result = driver_graph_add(graph, &operation, before.nodes, before.count, &made);
    else
        driver_operation_fini(&operation);
    if (made) {
        from->copy = made;
        made->original = from;
        made->is_disabled = from->is_disabled;
    }
    driver_set_fini(&before);
    return result;
}

static bool is_ready(const struct node *node)
{
    bool ready = !node->is_marked;
    for (size_t i = 0; i < node->before.count; i++)
        ready = ready && node->before.nodes[i]->is_marked;
    return ready;
}

/* Lists the nodes of a graph so that each comes after those that it depends on. If no node depends
 * on one that was added later, this is the order in which they were added. Returns how many nodes
 * there are; those of a cycle, and those after them, are missing. */
static size_t sort_nodes(const struct graph *graph, struct node **sorted)
{
    size_t count = 0, before;
    for (struct node *node = graph->nodes; node; node = node->next)
        node->is_marked = false;
    do {
        before = count;
        for (struct node *node = graph->nodes; node; node = node->next)
            if (is_ready(node)) {
                node->is_marked = true;
                sorted[count++] = node;
            }
    } while (count > before && count < graph->count);
    return count;
}

int driver_graph_copy(const struct graph *from, struct graph **out)
{
    struct node **sorted = calloc(from->count + 1, sizeof *sorted);
    struct graph *graph = driver_graph_create();
    int result = sorted && graph && driver_objects_copy(from, graph) ? SUCCESS : OUT_OF_MEMORY;
    const size_t count = result == SUCCESS ? sort_nodes(from, sorted) : 0;
    if (result == SUCCESS && count < from->count)
        result = INVALID_VALUE;
    for (size_t i = 0; result == SUCCESS && i < count; i++)
        result = copy_node(sorted[i], graph);
    free(sorted);
    if (result != SUCCESS && graph)
        driver_graph_destroy(graph);
    *out = result == SUCCESS ? graph : NULL;
    return result;
}

CU(cuGraphCreate, struct graph **graph, unsigned flags)
{
    LOCK;
    if (!graph || flags)
        return INVALID_VALUE;
    *graph = driver_graph_create();
    return *graph ? SUCCESS : OUT_OF_MEMORY;
}

CU(cuGraphDestroy, struct graph *graph)
{
    LOCK;
    if (!driver_is_graph(graph, false) || graph->is_child)
        return INVALID_VALUE;
    driver_end_capture(graph);
    driver_graph_destroy(graph);
    return SUCCESS;
}

CU(cuGraphExecDestroy, struct graph *executable)
{
    LOCK;
    if (!driver_is_graph(executable, true))
        return INVALID_VALUE;
    driver_graph_destroy(executable);
    return SUCCESS;
}

CU(cuGraphClone, struct graph **clone, struct graph *graph)
{
    LOCK;
    return driver_is_graph(graph, false) && clone ? driver_graph_copy(graph, clone) : INVALID_VALUE;
}

CU(cuGraphNodeFindInClone, struct node **node, struct node *original, struct graph *clone)
{
    LOCK;
    if (!node || !original || !driver_is_graph(clone, false))
        return INVALID_VALUE;
    *node = driver_graph_find(clone, original);
    return *node ? SUCCESS : INVALID_VALUE;
}

/* ---- structure ---- */

/* Copies handles to an array of *count elements, if there is one, and sets *count: to how many were
 * copied, or to how many there are. The rest of the array is set to NULL. */
static int put_nodes(struct node *const *found, size_t number, struct node **nodes, void *edges,
                     size_t *count)
{
    if (!count)
        return INVALID_VALUE;
    const size_t copied = nodes ? FTH_MIN(number, *count) : 0;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < copied ? found[i] : NULL;
    if (edges)
        memset(edges, 0, 8 * copied); /* CUgraphEdgeData: full dependencies */
    *count = nodes ? copied : number;
    return SUCCESS;
}

static int put_where(struct graph *graph, bool (*is_wanted)(const struct node *, const void *),
                     const void *user, struct node **nodes, void *edges, size_t *count)
{
    struct node_set found = {NULL, 0, 0};
    int result = SUCCESS;
    for (struct node *node = graph->nodes; node; node = node->next)
        if (is_wanted(node, user) && !driver_set_add(&found, &node, 1))
            result = OUT_OF_MEMORY;
    if (result == SUCCESS)
        result = put_nodes(found.nodes, found.count, nodes, edges, count);
    driver_set_fini(&found);
    return result;
}

static bool is_any(const struct node *node, const void *user)
{
    (void)user;
    return node != NULL;
}

static bool is_root(const struct node *node, const void *user)
{
    (void)user;
    return node->before.count == 0;
}

static bool depends_on(const struct node *node, const void *user)
{
    return contains(&node->before, user);
}

CU(cuGraphGetNodes, struct graph *graph, struct node **nodes, size_t *count)
{
    LOCK;
    return driver_is_graph(graph, false) ? put_where(graph, is_any, NULL, nodes, NULL, count)
                                         : INVALID_VALUE;
}

CU(cuGraphGetRootNodes, struct graph *graph, struct node **nodes, size_t *count)
{
    LOCK;
    return driver_is_graph(graph, false) ? put_where(graph, is_root, NULL, nodes, NULL, count)
                                         : INVALID_VALUE;
}

CU(cuGraphNodeGetDependencies_v2, struct node *node, struct node **nodes, void *edges,
   size_t *count)
{
    LOCK;
    return node ? put_nodes(node->before.nodes, node->before.count, nodes, edges, count)
                : INVALID_VALUE;
}

CU(cuGraphNodeGetDependencies, struct node *node, struct node **nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CU(cuGraphNodeGetDependentNodes_v2, struct node *node, struct node **nodes, void *edges,
   size_t *count)
{
    LOCK;
    return node ? put_where(node->graph, depends_on, node, nodes, edges, count) : INVALID_VALUE;
}

CU(cuGraphNodeGetDependentNodes, struct node *node, struct node **nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CU(cuGraphGetEdges_v2, struct graph *graph, struct node **from, struct node **to, void *edges,
   size_t *count)
{
    LOCK;
    size_t number = 0;
    if (!driver_is_graph(graph, false) || !count || !from != !to)
        return INVALID_VALUE;
    for (struct node *node = graph->nodes; node; node = node->next)
        for (size_t i = 0; i < node->before.count; i++, number++)
            if (from && number < *count) {
                from[number] = node->before.nodes[i];
                to[number] = node;
            }
    for (size_t i = number; from && i < *count; i++)
        from[i] = to[i] = NULL;
    *count = from ? FTH_MIN(number, *count) : number;
    if (edges)
        memset(edges, 0, 8 * *count);
    return SUCCESS;
}

CU(cuGraphGetEdges, struct graph *graph, struct node **from, struct node **to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CU(cuGraphAddDependencies_v2, struct graph *graph, struct node *const *from, struct node *const *to,
   const void *edges, size_t count)
{
    LOCK;
    (void)edges;
    if (!driver_is_graph(graph, false) || (count && (!from || !to)))
        return INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!from[i] || !to[i] || from[i] == to[i] || from[i]->graph != graph ||
            to[i]->graph != graph || contains(&to[i]->before, from[i]))
            return INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!driver_set_add(&to[i]->before, &from[i], 1))
            return OUT_OF_MEMORY;
    return SUCCESS;
}

CU(cuGraphAddDependencies, struct graph *graph, struct node *const *from, struct node *const *to,
   size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CU(cuGraphRemoveDependencies_v2, struct graph *graph, struct node *const *from,
   struct node *const *to, const void *edges, size_t count)
{
    LOCK;
    (void)edges;
    if (!driver_is_graph(graph, false) || (count && (!from || !to)))
        return INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!to[i] || !remove_from(&to[i]->before, from[i]))
            return INVALID_VALUE;
    return SUCCESS;
}

CU(cuGraphRemoveDependencies, struct graph *graph, struct node *const *from, struct node *const *to,
   size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CU(cuGraphDestroyNode, struct node *node)
{
    LOCK;
    if (!node)
        return INVALID_VALUE;
    struct graph *graph = node->graph;
    struct node **link = &graph->nodes;
    while (*link && *link != node)
        link = &(*link)->next;
    if (!*link)
        return INVALID_VALUE;
    for (struct node *at = graph->nodes; at; at = at->next)
        remove_from(&at->before, node);
    *link = node->next;
    if (graph->end == &node->next)
        graph->end = link;
    graph->count--;
    free_node(node);
    return SUCCESS;
}

/* Writes the nodes and edges of a graph in the language of Graphviz. */
CU(cuGraphDebugDotPrint, struct graph *graph, const char *path, unsigned flags)
{
    LOCK;
    (void)flags;
    if (!driver_is_graph(graph, false) || !path)
        return INVALID_VALUE;
    FILE *file = fopen(path, "w");
    if (!file)
        return FILE_NOT_FOUND;
    fputs("digraph graph_1 {\n", file);
    for (const struct node *node = graph->nodes; node; node = node->next) {
        fprintf(file, "n%p [label=\"%s\"];\n", (const void *)node,
                node->operation.kind == OP_LAUNCH ? node->operation.launch.function->kernel->name
                                                  : "node");
        for (size_t i = 0; i < node->before.count; i++)
            fprintf(file, "n%p -> n%p;\n", (const void *)node->before.nodes[i], (const void *)node);
    }
    fputs("}\n", file);
    return fclose(file) == 0 ? SUCCESS : UNKNOWN;
}

/* ---- launches ---- */

CU(cuGraphInstantiateWithFlags, struct graph **executable, struct graph *graph,
   unsigned long long flags)
{
    LOCK;
    if (!driver_is_graph(graph, false) || !executable)
        return INVALID_VALUE;
    const int result = driver_graph_copy(graph, executable);
    if (result != SUCCESS)
        return result;
    (*executable)->is_executable = true;
    (*executable)->flags = flags;
    return SUCCESS;
}

CU(cuGraphInstantiateWithParams, struct graph **executable, struct graph *graph, void *parameters)
{
    enum { INSTANTIATED = 0, FAILED = 1 };
    if (!parameters)
        return INVALID_VALUE;
    const int result = cuGraphInstantiateWithFlags(executable, graph, field(parameters, 0, 8));
    const uint32_t state = result == SUCCESS ? INSTANTIATED : FAILED;
    memset((char *)parameters + 16, 0, 8); /* the node with the error */
    memcpy((char *)parameters + 24, &state, sizeof state);
    return result;
}
ALIAS(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

CU(cuGraphInstantiate_v2, struct graph **executable, struct graph *graph, struct node **failed,
   char *log, size_t log_bytes)
{
    if (failed)
        *failed = NULL;
    if (log && log_bytes)
        log[0] = '\0';
    return cuGraphInstantiateWithFlags(executable, graph, 0);
}
ALIAS(cuGraphInstantiate, cuGraphInstantiate_v2);

CU(cuGraphExecGetFlags, struct graph *executable, unsigned long long *flags)
{
    LOCK;
    if (!driver_is_graph(executable, true) || !flags)
        return INVALID_VALUE;
    *flags = executable->flags;
    return SUCCESS;
}

CU(cuGraphUpload, struct graph *executable, struct stream *stream)
{
    LOCK;
    return driver_is_graph(executable, true) && driver_stream(stream) ? SUCCESS : INVALID_VALUE;
}
ALIAS(cuGraphUpload_ptsz, cuGraphUpload);

int driver_graph_run(const struct graph *graph)
{
    int result = SUCCESS;
    for (const struct node *node = graph->nodes;
         result == SUCCESS && driver.sticky == SUCCESS && node; node = node->next)
        if (!node->is_disabled)
            result = driver_execute(&node->operation);
    return result;
}

/* In a capture, the graph becomes a child graph. */
CU(cuGraphLaunch, struct graph *executable, struct stream *handle)
{
    LOCK;
    const int result = driver_check();
    const struct stream *stream = driver_stream(handle);
    struct operation operation = {.kind = OP_GRAPH};
    if (result != SUCCESS)
        return result;
    if (!driver_is_graph(executable, true) || !stream)
        return INVALID_HANDLE;
    if (!stream->capture)
        return driver_graph_run(executable);
    const int copied = driver_graph_copy(executable, &operation.graph);
    if (copied != SUCCESS)
        return copied;
    operation.graph->is_child = true;
    return driver_submit(handle, &operation);
}
ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

/* ---- updates ---- */

/* Why an executable graph could not be updated (CUgraphExecUpdateResult). */
enum { UPDATED = 0, TOPOLOGY_CHANGED = 2, TYPE_CHANGED = 3 };

/* Checks that a graph has the nodes and dependencies of another one. Both are sorted. */
static int compare(const struct graph *executable, const struct graph *graph,
                   const struct node **different)
{
    const struct node *left = executable->nodes, *right = graph->nodes;
    *different = NULL;
    if (executable->count != graph->count)
        return TOPOLOGY_CHANGED;
    for (; left; left = left->next, right = right->next) {
        *different = right->original;
        if (left->before.count != right->before.count)
            return TOPOLOGY_CHANGED;
        if (left->operation.kind != right->operation.kind)
            return TYPE_CHANGED;
    }
    *different = NULL;
    return UPDATED;
}

/* Replaces the contents of an executable graph by those of a graph of the same structure, and
 * matches their nodes by their order. */
static int update(struct graph *executable, const struct graph *graph, uint32_t *state,
                  const struct node **different)
{
    struct graph *sorted = NULL;
    const int result = driver_graph_copy(graph, &sorted);
    if (result != SUCCESS)
        return result;
    *state = (uint32_t)compare(executable, sorted, different);
    struct node *from = sorted->nodes;
    for (struct node *to = executable->nodes; *state == UPDATED && to; to = to->next) {
        const struct operation replaced = to->operation;
        to->operation = from->operation;
        from->operation = replaced;
        from = from->next;
    }
    driver_graph_destroy(sorted);
    return *state == UPDATED ? SUCCESS : GRAPH_EXEC_UPDATE_FAILURE;
}

CU(cuGraphExecUpdate_v2, struct graph *executable, struct graph *graph, void *info)
{
    LOCK;
    uint32_t state = 1;
    const struct node *different = NULL;
    if (!driver_is_graph(executable, true) || !driver_is_graph(graph, false) || !info)
        return INVALID_VALUE;
    const int result = update(executable, graph, &state, &different);
    memset(info, 0, 24);
    memcpy(info, &state, sizeof state);
    memcpy((char *)info + 8, &different, sizeof different);
    return result;
}

CU(cuGraphExecUpdate, struct graph *executable, struct graph *graph, const struct node **different,
   uint32_t *state)
{
    LOCK;
    if (!driver_is_graph(executable, true) || !driver_is_graph(graph, false) || !state ||
        !different)
        return INVALID_VALUE;
    *state = 1;
    return update(executable, graph, state, different);
}
