/* Launches of graphs under 'fathom capture' with a driver that the test plays: the order of the
 * nodes, and graphs that must be launched as a whole. */
#include "../../../frontends/capture/capture.h"
#include "check.h"

#include <stdio.h>

int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags);
int cuGraphExecDestroy(void *executable);
int cuGraphExecUpdate_v2(void *executable, void *graph, void *info);
int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node, const void *parameters);
int cuGraphNodeSetEnabled(void *executable, void *node, unsigned enabled);
int cuGraphLaunch(void *executable, void *stream);

/* ---- the driver ---- */

enum { MAX_NODES = 4, FAILED = 700 };

struct fake_graph {
    struct fake_node {
        int type;
        void *context; /* of a kernel */
        int updatable;
        void *function;
    } nodes[MAX_NODES];
    size_t count;
    struct {
        size_t from, to;
    } edges[MAX_NODES];
    size_t edge_count;
};

static char names[][2] = {"a", "b", "c"};
static struct function functions[] = {{.name = names[0], .is_selected = true},
                                      {.name = names[1], .is_selected = true},
                                      {.name = names[2], .is_selected = true}};
static struct {
    char log[512];       /* what was called */
    const char *failing; /* the call that fails */
    bool has_edges_v2;   /* the driver has cuGraphGetEdges_v2 */
    bool is_recording;   /* the stream is captured */
    bool is_full;        /* the capsule is */
    bool is_broken;      /* the capsule cannot be written */
    void *context;       /* the current one */
    uint64_t launches;
} world;

/* Adds a word to the log. Returns the result of the call. */
static int call(const char *word)
{
    const size_t used = strlen(world.log);
    snprintf(world.log + used, sizeof world.log - used, "%s%s", used ? " " : "", word);
    return world.failing && strcmp(world.failing, word) == 0 ? FAILED : SUCCESS;
}

/* As the driver does, these refuse places for no nodes and for no edges. */
static int get_nodes(struct fake_graph *graph, void **nodes, size_t *count)
{
    if (nodes && *count == 0)
        return INVALID_VALUE;
    for (size_t i = 0; nodes && i < graph->count; i++)
        nodes[i] = &graph->nodes[i];
    *count = graph->count;
    return SUCCESS;
}

static int get_edges(struct fake_graph *graph, void **from, void **to, size_t *count)
{
    if (from && *count == 0)
        return INVALID_VALUE;
    for (size_t i = 0; from && i < graph->edge_count; i++) {
        from[i] = &graph->nodes[graph->edges[i].from];
        to[i] = &graph->nodes[graph->edges[i].to];
    }
    *count = graph->edge_count;
    return SUCCESS;
}

static int get_edges_v2(struct fake_graph *graph, void **from, void **to, void *data, size_t *count)
{
    assert_true(!from == !data); /* the data of edges may not be left out */
    return get_edges(graph, from, to, count);
}

static int get_type(const struct fake_node *node, int *type)
{
    *type = node->type;
    return SUCCESS;
}

static int get_kernel(const struct fake_node *node, void *parameters)
{
    memcpy(parameters, &node->function, sizeof node->function);
    memcpy((char *)parameters + 64, &node->context, sizeof node->context);
    return SUCCESS;
}

static int get_attribute(const struct fake_node *node, int attribute, int *value)
{
    *value = attribute == ATTRIBUTE_UPDATABLE ? node->updatable : 0;
    return SUCCESS;
}

static int get_nothing(void *node, void *parameters)
{
    (void)parameters;
    (void)node;
    return SUCCESS;
}

static int instantiate(void **executable, void *graph, uint64_t flags)
{
    (void)flags;
    *executable = graph; /* a handle like any other */
    return SUCCESS;
}

static int change(void *executable, void *node, const void *parameters)
{
    (void)parameters;
    (void)executable;
    (void)node;
    return SUCCESS;
}

static int enable(void *executable, void *node, unsigned enabled)
{
    (void)executable;
    (void)node;
    (void)enabled;
    return SUCCESS;
}

static int destroy(void *executable)
{
    (void)executable;
    return SUCCESS;
}

static int get_context(void **context)
{
    *context = world.context;
    return SUCCESS;
}

static int synchronise(void)
{
    return SUCCESS;
}

static int synchronise_stream(void *stream)
{
    (void)stream;
    return SUCCESS;
}

static int launch_graph(void *executable, void *stream)
{
    (void)executable;
    (void)stream;
    return call("graph");
}

static int launch_host(void *stream, void *function, void *user)
{
    (void)stream;
    (void)function;
    (void)user;
    return call("host");
}

void *capture_real(enum function_index function)
{
    switch ((int)function) {
    case F_cuGraphGetNodes: return (void *)get_nodes;
    case F_cuGraphGetEdges: return (void *)get_edges;
    case F_cuGraphGetEdges_v2: return world.has_edges_v2 ? (void *)get_edges_v2 : NULL;
    case F_cuGraphNodeGetType: return (void *)get_type;
    case F_cuGraphKernelNodeGetParams_v2: return (void *)get_kernel;
    case F_cuGraphKernelNodeGetAttribute: return (void *)get_attribute;
    case F_cuGraphHostNodeGetParams: return (void *)get_nothing;
    case F_cuGraphInstantiateWithFlags: return (void *)instantiate;
    case F_cuGraphExecUpdate_v2:
    case F_cuGraphExecKernelNodeSetParams_v2: return (void *)change;
    case F_cuGraphNodeSetEnabled: return (void *)enable;
    case F_cuGraphExecDestroy: return (void *)destroy;
    case F_cuGraphLaunch: return (void *)launch_graph;
    case F_cuLaunchHostFunc: return (void *)launch_host;
    case F_cuCtxGetCurrent: return (void *)get_context;
    case F_cuCtxSynchronize: return (void *)synchronise;
    case F_cuStreamSynchronize: return (void *)synchronise_stream;
    default: return NULL;
    }
}

/* ---- the rest of the capture ---- */

struct options capture_options = {.every = 1};

void capture_lock_tables(void)
{
}

void capture_unlock_tables(void)
{
}

bool capture_is_expected(void)
{
    return capture_options.end == 0 || world.launches < capture_options.end;
}

bool capture_is_recording(void)
{
    return world.is_recording;
}

bool capture_records(void *stream)
{
    (void)stream;
    return world.is_recording;
}

void capture_note_change(void)
{
}

struct function *capture_function(void *handle)
{
    return handle;
}

void capture_copy_parameters(const struct call *from, const struct function *function,
                             unsigned char *block)
{
    (void)from;
    (void)function;
    (void)block;
}

uint64_t capture_take_numbers(uint64_t count)
{
    world.launches += count;
    return world.launches - count;
}

bool capture_is_in_range(uint64_t number)
{
    return number >= capture_options.first &&
           (capture_options.end == 0 || number < capture_options.end);
}

int capture_forward(const struct call *forwarded)
{
    const struct function *function = forwarded->function;
    return call(function->name);
}

struct fth_capsule_writer *capture_begin(void)
{
    static char writer;
    return (struct fth_capsule_writer *)&writer;
}

void capture_end(void)
{
    call("end");
}

void capture_fail(const struct fth_error *error)
{
    (void)error;
}

void capture_report(const char *kind, const char *format, ...)
{
    (void)format;
    call(kind);
}

enum fth_status capture_check_launch(struct fth_capsule_writer *writer,
                                     const struct function *function, const char **reason,
                                     struct fth_error *error)
{
    (void)writer;
    (void)function;
    *reason = world.is_full ? "full" : NULL;
    return world.is_broken ? fth_fail(error, FTH_UNAVAILABLE, "test", NULL, "broken") : FTH_OK;
}

/* A launch that is written has its number in the log and, if its memory is not written, a letter
 * and the reason. */
int capture_write_launch(struct fth_capsule_writer **writer, const struct call *written,
                         struct function *function, uint64_t number, const char *reason)
{
    char word[128];
    assert_true(*writer != NULL && written->function == function);
    snprintf(word, sizeof word, "%s%d%s%s", written->is_launched ? "listed-" : "", (int)number,
             reason ? ":" : "", reason ? reason : "");
    call(word);
    return written->is_launched ? SUCCESS : capture_forward(written);
}

/* ---- tests ---- */

static void reset(void)
{
    memset(&world, 0, sizeof world);
    world.has_edges_v2 = true;
    world.context = &world;
    capture_options = (struct options){.every = 1};
}

static struct fake_graph *kernels(struct fake_graph *graph, size_t count)
{
    *graph = (struct fake_graph){.count = count};
    for (size_t i = 0; i < count; i++)
        graph->nodes[i] = (struct fake_node){.type = NODE_KERNEL, .function = &functions[i]};
    return graph;
}

/* Makes an executable graph, launches it, and compares the log. */
static void expect(struct fake_graph *graph, int result, const char *log)
{
    void *executable;
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, graph, 0), SUCCESS);
    assert_int_equal(cuGraphLaunch(executable, NULL), result);
    assert_string_equal(world.log, log);
    assert_int_equal(cuGraphExecDestroy(executable), SUCCESS);
}

/* c -> b -> a, with both functions that tell the edges, and a cycle. */
static void test_order(void **state)
{
    (void)state;
    struct fake_graph graph;
    for (int i = 0; i < 2; i++) {
        reset();
        world.has_edges_v2 = i == 1;
        kernels(&graph, 3)->edge_count = 2;
        graph.edges[0].from = 1;
        graph.edges[0].to = 0;
        graph.edges[1].from = 2;
        graph.edges[1].to = 1;
        expect(&graph, SUCCESS, "0 c 1 b 2 a end");
    }
    reset();
    graph.edges[1].from = 0;
    graph.edges[1].to = 1;
    expect(&graph, SUCCESS, "graph listed-0:the driver does not report the nodes of its graph end");
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        int type;
        const char *reason;
    } cases[] = {{NODE_SIGNAL_SEMAPHORES, "its graph uses external semaphores"},
                 {NODE_WAIT_SEMAPHORES, "its graph uses external semaphores"},
                 {NODE_ALLOC, "its graph allocates or frees memory"},
                 {NODE_FREE, "its graph allocates or frees memory"},
                 {NODE_MEMORY_OPERATIONS, "its graph has batches of memory operations"},
                 {NODE_CONDITIONAL, "its graph has conditional nodes"},
                 {99, "its graph has nodes of an unknown type"},
                 {NODE_COPY, "the driver does not report the parameters of a node of its graph"}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fake_graph graph;
        char log[256];
        reset();
        kernels(&graph, 1)->count = 2;
        graph.nodes[1] = (struct fake_node){.type = cases[i].type};
        snprintf(log, sizeof log, "graph listed-0:%s end", cases[i].reason);
        expect(&graph, SUCCESS, log);
    }
}

static void test_kernels_as_a_whole(void **state)
{
    (void)state;
    struct fake_graph graph;
    void *executable;
    reset();
    kernels(&graph, 2);
    graph.nodes[0].context = &graph;
    graph.nodes[1].context = &functions;
    expect(&graph, SUCCESS,
           "graph listed-0:its graph has kernels of several contexts "
           "listed-1:its graph has kernels of several contexts end");
    reset();
    kernels(&graph, 1)->nodes[0].updatable = 1;
    expect(&graph, SUCCESS,
           "graph listed-0:its graph has kernels that can be updated from the GPU end");
    reset();
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, kernels(&graph, 1), 0), SUCCESS);
    world.context = &graph;
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(
        world.log, "graph listed-0:its graph belongs to another context than the current one end");
    reset();
    capture_options.is_light = true;
    expect(&graph, SUCCESS, "graph listed-0 end");
    reset();
    world.is_full = true;
    expect(&graph, SUCCESS,
           "graph listed-0:no kernel of its graph can be captured with the contents of memory end");
    reset();
    world.is_broken = true;
    expect(&graph, SUCCESS, "graph end");
}

/* A failure of the first node leaves the graph to the driver; one of a later node is passed on. */
static void test_failures(void **state)
{
    (void)state;
    struct fake_graph graph;
    reset();
    world.failing = "a";
    expect(kernels(&graph, 2), SUCCESS,
           "0 a note graph listed-0:the nodes of its graph could not be issued one by one "
           "listed-1:the nodes of its graph could not be issued one by one end");
    reset();
    world.failing = "b";
    expect(&graph, FAILED, "0 a 1 b note end");
    reset();
    world.failing = "graph";
    capture_options.is_light = true;
    expect(&graph, FAILED, "graph end");
}

static void test_selection(void **state)
{
    (void)state;
    struct fake_graph graph;
    void *executable;
    reset();
    kernels(&graph, 3)->nodes[1].type = NODE_HOST;
    capture_options.first = 3;
    capture_options.end = 4;
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, &graph, 0), SUCCESS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, "graph a host 3 c end graph");
    /* what a stream records is not a launch */
    capture_options.end = 0;
    world.is_recording = true;
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_int_equal(world.launches, 4);
    reset();
    functions[0].is_selected = functions[2].is_selected = false;
    expect(&graph, SUCCESS, "graph");
    functions[0].is_selected = functions[2].is_selected = true;
    /* the graph is destroyed, and unknown */
    reset();
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, "note graph");
}

static void test_changes(void **state)
{
    (void)state;
    static const char lost[] = "graph listed-0:the program changed its graph in a way that fathom "
                               "cannot follow listed-1:the program changed its graph in a way that "
                               "fathom cannot follow end";
    struct fake_graph graph, other;
    void *executable, *parameters[9] = {&functions[2]};
    reset();
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, kernels(&graph, 2), 0), SUCCESS);
    cuGraphExecKernelNodeSetParams_v2(executable, &graph.nodes[0], parameters);
    cuGraphNodeSetEnabled(executable, &graph.nodes[1], 0);
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, "0 c end");
    cuGraphExecUpdate_v2(executable, kernels(&other, 2), NULL);
    cuGraphNodeSetEnabled(executable, &graph.nodes[1], 1); /* by the original node */
    world.log[0] = '\0';
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, "1 a 2 b end");
    reset();
    cuGraphExecUpdate_v2(executable, kernels(&other, 1), NULL);
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, lost);
    reset();
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, &graph, 0), SUCCESS);
    cuGraphExecKernelNodeSetParams_v2(executable, &other.nodes[0], parameters);
    assert_int_equal(cuGraphLaunch(executable, NULL), SUCCESS);
    assert_string_equal(world.log, lost);
    assert_int_equal(cuGraphExecDestroy(executable), SUCCESS);
}

/* This concerns all graphs that are launched later, so it is the last test. */
static void test_device_launches(void **state)
{
    (void)state;
    enum { DEVICE_LAUNCH = 4 };
    struct fake_graph graph, other;
    void *executable;
    reset();
    kernels(&other, 1);
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, &other, DEVICE_LAUNCH), SUCCESS);
    expect(kernels(&graph, 1), SUCCESS,
           "graph listed-0:the program has graphs that kernels of other graphs can launch end");
    assert_int_equal(cuGraphExecDestroy(executable), SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_kernels_as_a_whole),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_device_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
