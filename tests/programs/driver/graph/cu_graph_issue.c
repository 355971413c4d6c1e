/* An executable graph with nodes of all types, whose nodes are changed one after the other. Under
 * 'fathom capture', its nodes are issued one by one, in an order that the dependencies allow. */
#include "driver_api.h"

enum { COUNT = 64, ROWS = 4, PITCH = 256, CLUSTER = 2, COOPERATIVE = 2 };

/* Stores the number of blocks per cluster, one word per block. */
static const char shape_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry shape(.param .u64 data)\n"
    "{\n.reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [data]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_nctaid.x;\n"
    "mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r2; ret;\n}\n";

/* CUgraphNodeParams. */
struct any_node {
    int type, reserved[3];
    union {
        struct fill_node fill;
        struct kernel_node kernel;
        struct {
            int flags, padding;
            struct context *context;
            struct copy_3d copy;
        } copy;
        struct graph *graph;
        struct event *event;
        long long words[29];
    } of;
    long long last;
};

int cuGraphAddEventWaitNode(struct node **node, struct graph *graph, struct node *const *before,
                            size_t count, struct event *event);
int cuGraphKernelNodeSetAttribute(struct node *node, int attribute, const void *value);
int cuGraphInstantiateWithParams(struct graph_exec **exec, struct graph *graph, void *parameters);
int cuGraphExecMemcpyNodeSetParams(struct graph_exec *exec, struct node *node,
                                   const struct copy_3d *copy, struct context *context);
int cuGraphExecHostNodeSetParams(struct graph_exec *exec, struct node *node,
                                 const struct host_node *host);
int cuGraphExecChildGraphNodeSetParams(struct graph_exec *exec, struct node *node,
                                       struct graph *child);
int cuGraphExecEventRecordNodeSetEvent(struct graph_exec *exec, struct node *node,
                                       struct event *event);
int cuGraphExecEventWaitNodeSetEvent(struct graph_exec *exec, struct node *node,
                                     struct event *event);
int cuGraphExecNodeSetParams(struct graph_exec *exec, struct node *node, struct any_node *node_of);
int cuGraphLaunch_ptsz(struct graph_exec *exec, struct stream *stream);

static struct function *add;
static struct context *context;
static uint64_t data, box, shapes;
static unsigned source[COUNT], result[COUNT], seen;
static unsigned long long box_rows[ROWS];

/* Host functions: one fills the source of the copy after it, one looks at the target of the copy
 * before it. */
static void fill_source(void *user)
{
    for (int i = 0; i < COUNT; i++)
        source[i] = *(const unsigned *)user;
}

static void look(void *user)
{
    seen = result[0] + *(const unsigned *)user;
}

static struct kernel_node kernel_of(unsigned *value, void **arguments)
{
    static unsigned count = COUNT;
    arguments[0] = &data;
    arguments[1] = value;
    arguments[2] = &count;
    return (struct kernel_node){
        .function = add, .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .arguments = arguments};
}

static struct copy_3d copy_of(void *host, bool to_host)
{
    struct copy_3d copy = {.source_type = to_host ? DEVICE : HOST,
                           .source_device = to_host ? data : 0,
                           .source_host = to_host ? NULL : host,
                           .source_pitch = sizeof source,
                           .target_type = to_host ? HOST : DEVICE,
                           .target_device = to_host ? 0 : data,
                           .target_host = to_host ? host : NULL,
                           .target_pitch = sizeof source,
                           .width = sizeof source,
                           .height = 1,
                           .depth = 1};
    return copy;
}

/* A graph with one kernel, which is a child of a child, and a fill of rows before it. */
static struct graph *make_child(unsigned value, unsigned byte)
{
    void *arguments[3];
    struct node *node;
    struct graph *inner, *outer;
    const struct kernel_node kernel = kernel_of(&value, arguments);
    const struct fill_node rows = {box, PITCH, byte, 1, 8, ROWS};
    CHECK(cuGraphCreate(&inner, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, inner, NULL, 0, &kernel));
    CHECK(cuGraphCreate(&outer, 0));
    CHECK(cuGraphAddMemsetNode(&node, outer, NULL, 0, &rows, context));
    CHECK(cuGraphAddChildGraphNode(&node, outer, &node, 1, inner));
    CHECK(cuGraphDestroy(inner));
    return outer;
}

enum { PREPARE, UPLOAD, CHILD, KERNEL, RECORD, WAIT, EMPTY, SHAPE, DOWNLOAD, LOOK, BOX, NODES };

/* Each node depends on the one before it. They are added from the last one to the first one. */
static struct graph *make(struct node *nodes[NODES], struct function *shape, struct event *event)
{
    static unsigned first = 100, zero;
    unsigned value = 1;
    void *arguments[3], *shape_arguments[] = {&shapes};
    struct graph *graph, *child = make_child(10, 0x11);
    const struct kernel_node kernel = kernel_of(&value, arguments);
    const struct kernel_node in_clusters = {.function = shape,
                                            .grid = {2 * CLUSTER, 1, 1},
                                            .block = {1, 1, 1},
                                            .arguments = shape_arguments};
    const struct launch_attribute cluster = {.value.cluster = {CLUSTER, 1, 1}};
    const struct launch_attribute cooperative = {.value.cluster = {1}};
    const struct host_node prepare = {fill_source, &first}, after = {look, &zero};
    const struct copy_3d upload = copy_of(source, false), download = copy_of(result, true);
    struct copy_3d rows = copy_of(box_rows, true);
    rows.source_device = box;
    rows.source_pitch = PITCH;
    rows.target_pitch = rows.width = 8;
    rows.height = ROWS;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemcpyNode(&nodes[BOX], graph, NULL, 0, &rows, context));
    CHECK(cuGraphAddHostNode(&nodes[LOOK], graph, NULL, 0, &after));
    CHECK(cuGraphAddMemcpyNode(&nodes[DOWNLOAD], graph, NULL, 0, &download, context));
    CHECK(cuGraphAddKernelNode_v2(&nodes[SHAPE], graph, NULL, 0, &in_clusters));
    CHECK(cuGraphKernelNodeSetAttribute(nodes[SHAPE], CLUSTER_DIMENSION, &cluster.value));
    CHECK(cuGraphAddEmptyNode(&nodes[EMPTY], graph, NULL, 0));
    CHECK(cuGraphAddEventWaitNode(&nodes[WAIT], graph, NULL, 0, event));
    CHECK(cuGraphAddEventRecordNode(&nodes[RECORD], graph, NULL, 0, event));
    CHECK(cuGraphAddKernelNode_v2(&nodes[KERNEL], graph, NULL, 0, &kernel));
    CHECK(cuGraphKernelNodeSetAttribute(nodes[KERNEL], COOPERATIVE, &cooperative.value));
    CHECK(cuGraphAddChildGraphNode(&nodes[CHILD], graph, NULL, 0, child));
    CHECK(cuGraphAddMemcpyNode(&nodes[UPLOAD], graph, NULL, 0, &upload, context));
    CHECK(cuGraphAddHostNode(&nodes[PREPARE], graph, NULL, 0, &prepare));
    for (int i = 1; i < NODES; i++)
        CHECK(cuGraphAddDependencies_v2(graph, &nodes[i - 1], &nodes[i], NULL, 1));
    CHECK(cuGraphDestroy(child));
    return graph;
}

static void run(struct graph_exec *exec, unsigned expected, unsigned long long row)
{
    unsigned found[2 * CLUSTER];
    memset(result, 0, sizeof result);
    memset(box_rows, 0, sizeof box_rows);
    seen = 0;
    CHECK(cuMemsetD8_v2(shapes, 0, sizeof found));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuStreamSynchronize(NULL));
    ASSERT(result[0] == expected && result[COUNT - 1] == expected && seen == expected);
    ASSERT(box_rows[0] == row && box_rows[ROWS - 1] == row);
    CHECK(cuMemcpyDtoH_v2(found, shapes, sizeof found));
    ASSERT(found[0] == CLUSTER && found[2 * CLUSTER - 1] == CLUSTER);
}

/* Changes the nodes of an executable graph with the function for each type. */
static void change(struct graph_exec *exec, struct node *nodes[NODES], struct event *event)
{
    static unsigned first = 200, other[COUNT];
    unsigned value = 2;
    void *arguments[3];
    struct graph *child = make_child(20, 0x22);
    const struct kernel_node kernel = kernel_of(&value, arguments);
    const struct host_node prepare = {fill_source, &first};
    const struct copy_3d upload = copy_of(other, false), again = copy_of(source, false);
    CHECK(cuGraphExecHostNodeSetParams(exec, nodes[PREPARE], &prepare));
    run(exec, 211, 0x1111111111111111);
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[KERNEL], &kernel));
    run(exec, 212, 0x1111111111111111);
    CHECK(cuGraphExecChildGraphNodeSetParams(exec, nodes[CHILD], child));
    run(exec, 222, 0x2222222222222222);
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, nodes[UPLOAD], &upload, context));
    run(exec, 22, 0x2222222222222222);
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, nodes[UPLOAD], &again, context));
    CHECK(cuGraphExecEventRecordNodeSetEvent(exec, nodes[RECORD], event));
    CHECK(cuGraphExecEventWaitNodeSetEvent(exec, nodes[WAIT], event));
    run(exec, 222, 0x2222222222222222);
    CHECK(cuEventQuery(event));
    CHECK(cuGraphNodeSetEnabled(exec, nodes[KERNEL], 0));
    run(exec, 220, 0x2222222222222222);
    CHECK(cuGraphNodeSetEnabled(exec, nodes[KERNEL], 1));
    CHECK(cuGraphDestroy(child));
}

/* Changes nodes with the function for all types. */
static void change_any(struct graph_exec *exec, struct node *nodes[NODES], struct event *event)
{
    unsigned value = 3;
    void *arguments[3];
    struct graph *child = make_child(30, 0x33);
    struct any_node any = {.type = 0, .of.kernel = kernel_of(&value, arguments)};
    CHECK(cuGraphExecNodeSetParams(exec, nodes[KERNEL], &any));
    any = (struct any_node){.type = 4, .of.graph = child};
    CHECK(cuGraphExecNodeSetParams(exec, nodes[CHILD], &any));
    any = (struct any_node){.type = 7, .of.event = event};
    CHECK(cuGraphExecNodeSetParams(exec, nodes[RECORD], &any));
    any = (struct any_node){.type = 1, .of.copy.copy = copy_of(source, false)};
    any.of.copy.copy.width = sizeof source / 2;
    memset(source, 0, sizeof source);
    CHECK(cuMemcpyHtoD_v2(data, source, sizeof source));
    CHECK(cuGraphExecNodeSetParams(exec, nodes[UPLOAD], &any));
    CHECK(cuGraphLaunch_ptsz(exec, NULL));
    CHECK(cuStreamSynchronize(NULL));
    ASSERT(result[0] == 233 && result[COUNT / 2 - 1] == 233 && result[COUNT / 2] == 33);
    ASSERT(box_rows[0] == 0x3333333333333333);
    CHECK(cuGraphDestroy(child));
}

/* Fills with elements of each size, one row and several. */
static void check_fills(void)
{
    static const struct fill_node fills[] = {
        {0, 0, 0xab, 1, 5, 1},   {8, 0, 0x1234, 2, 3, 1},   {16, 0, 0x89abcdef, 4, 1, 1},
        {32, 32, 0x77, 1, 3, 2}, {96, 32, 0x4321, 2, 2, 2}, {160, 32, 0xfedcba98, 4, 1, 2}};
    static const struct {
        int offset;
        unsigned char byte;
    } expected[] = {{0, 0xab},   {4, 0xab},   {5, 0},     {8, 0x34},  {13, 0x12},  {14, 0},
                    {16, 0xef},  {19, 0x89},  {20, 0},    {34, 0x77}, {35, 0},     {66, 0x77},
                    {67, 0},     {96, 0x21},  {99, 0x43}, {100, 0},   {131, 0x43}, {132, 0},
                    {160, 0x98}, {195, 0xfe}, {196, 0}};
    enum { FILLS = sizeof fills / sizeof *fills };
    unsigned char found[256];
    unsigned value = 0;
    void *arguments[3];
    struct node *node = NULL;
    struct graph *graph;
    struct graph_exec *exec;
    const struct kernel_node kernel = kernel_of(&value, arguments);
    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < FILLS; i++) {
        struct fill_node fill = fills[i];
        fill.address += data;
        CHECK(cuGraphAddMemsetNode(&node, graph, &node, node != NULL, &fill, context));
    }
    CHECK(cuGraphAddKernelNode_v2(&node, graph, &node, 1, &kernel)); /* adds 0 */
    struct {
        unsigned long long flags;
        struct stream *stream;
        struct node *failed;
        int state;
    } parameters = {0, NULL, NULL, -1};
    CHECK(cuGraphInstantiateWithParams(&exec, graph, &parameters));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemsetD8_v2(data, 0, sizeof found));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuMemcpyDtoH_v2(found, data, sizeof found));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ASSERT(found[expected[i].offset] == expected[i].byte);
    CHECK(cuGraphExecDestroy(exec));
}

int main(void)
{
    struct node *nodes[NODES], *others[NODES];
    struct graph_exec *exec;
    struct event *event, *other_event;
    struct update_info info;
    context = start();
    add = load_kernel(PTX_HEADER PTX_ADD, "add");
    struct function *shape = load_kernel(shape_ptx, "shape");
    CHECK(cuMemAlloc_v2(&data, sizeof source));
    CHECK(cuMemAlloc_v2(&box, PITCH * ROWS));
    CHECK(cuMemAlloc_v2(&shapes, sizeof(unsigned[2 * CLUSTER])));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuEventCreate(&other_event, 0));
    struct graph *graph = make(nodes, shape, event), *other = make(others, shape, event);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    run(exec, 111, 0x1111111111111111);
    run(exec, 111, 0x1111111111111111);
    change(exec, nodes, other_event);
    change_any(exec, nodes, event);
    CHECK(cuGraphExecUpdate_v2(exec, other, &info));
    run(exec, 111, 0x1111111111111111);
    check_fills();
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(other));
    return succeed();
}
