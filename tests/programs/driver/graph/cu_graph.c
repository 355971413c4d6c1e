/* Graphs that a program builds: nodes of all types, dependencies, and queries. */
#include "driver_api.h"

enum { COUNT = 32 };

static struct graph *graph;
static uint64_t data;
static unsigned host[COUNT];
static int order[8], done;

static void note(void *user)
{
    order[__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST)] = *(const int *)user;
}

static struct node *add_note(int *number, struct node *const *before, size_t count)
{
    struct node *node;
    const struct host_node parameters = {note, number};
    CHECK(cuGraphAddHostNode(&node, graph, before, count, &parameters));
    return node;
}

static void launch(void)
{
    struct graph_exec *exec;
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuGraphExecDestroy(exec));
}

/* The place of a node in the order of the execution. */
static int place_of(int number)
{
    int place = 0;
    while (place < done && order[place] != number)
        place++;
    return place;
}

/* A node that depends on one that is added later is executed after it. */
static void check_order(void)
{
    static int numbers[] = {0, 1, 2, 3};
    struct node *nodes[4], *found[8], *from[8], *to[8];
    struct graph *clone;
    size_t count = 8;
    CHECK(cuGraphCreate(&graph, 0));
    nodes[0] = add_note(&numbers[0], NULL, 0);
    nodes[1] = add_note(&numbers[1], NULL, 0);
    nodes[2] = add_note(&numbers[2], nodes, 1);
    nodes[3] = add_note(&numbers[3], NULL, 0);
    CHECK(cuGraphAddDependencies_v2(graph, &nodes[3], &nodes[0], NULL, 1));
    EXPECT(1, cuGraphAddDependencies_v2(graph, &nodes[3], &nodes[0], NULL, 1));
    EXPECT(1, cuGraphAddDependencies_v2(graph, &nodes[3], &nodes[3], NULL, 1));
    launch();
    ASSERT(done == 4 && place_of(3) < place_of(0) && place_of(0) < place_of(2));
    CHECK(cuGraphGetRootNodes(graph, found, &count));
    ASSERT(count == 2 && found[2] == NULL);
    ASSERT((found[0] == nodes[1] && found[1] == nodes[3]) ||
           (found[0] == nodes[3] && found[1] == nodes[1]));
    count = 8;
    CHECK(cuGraphGetEdges_v2(graph, from, to, NULL, &count));
    ASSERT(count == 2);
    count = 8;
    CHECK(cuGraphNodeGetDependentNodes_v2(nodes[3], found, NULL, &count));
    ASSERT(count == 1 && found[0] == nodes[0]);
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphNodeFindInClone(&found[0], nodes[2], clone));
    ASSERT(found[0] != nodes[2]);
    CHECK(cuGraphDestroy(clone));
    /* a cycle */
    struct graph_exec *exec;
    CHECK(cuGraphAddDependencies_v2(graph, &nodes[2], &nodes[3], NULL, 1));
    EXPECT(1, cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphRemoveDependencies_v2(graph, &nodes[2], &nodes[3], NULL, 1));
    EXPECT(1, cuGraphRemoveDependencies_v2(graph, &nodes[2], &nodes[3], NULL, 1));
    CHECK(cuGraphDestroyNode(nodes[0]));
    done = 0;
    launch();
    ASSERT(done == 3);
    CHECK(cuGraphDestroy(graph));
    EXPECT_HERE(1, cuGraphDestroy(graph));
}

/* Fill, kernel, copy, child graph, event: each depends on the one before it. */
static void check_types(struct context *context, struct function *add)
{
    static const int expected[] = {2, 0, 1, 4, 7, 5};
    unsigned value = 5, count = COUNT;
    void *arguments[] = {&data, &value, &count};
    const struct fill_node fill = {data, 0, 100, 4, COUNT, 1};
    const struct kernel_node kernel = {
        .function = add, .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .arguments = arguments};
    const struct copy_3d copy = {.source_type = DEVICE,
                                 .source_device = data,
                                 .source_pitch = sizeof host,
                                 .target_type = HOST,
                                 .target_host = host,
                                 .target_pitch = sizeof host,
                                 .width = sizeof host,
                                 .height = 1,
                                 .depth = 1};
    struct graph *child, *inside;
    struct event *event, *got_event;
    struct node *nodes[6], *unused;
    struct fill_node got_fill;
    struct kernel_node got_kernel;
    struct copy_3d got_copy;
    size_t number = 1;
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuGraphCreate(&child, 0));
    CHECK(cuGraphAddMemsetNode(&unused, child, NULL, 0, &fill, context));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, context));
    CHECK(cuGraphAddKernelNode_v2(&nodes[1], graph, &nodes[0], 1, &kernel));
    CHECK(cuGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &copy, context));
    CHECK(cuGraphAddChildGraphNode(&nodes[3], graph, &nodes[2], 1, child));
    CHECK(cuGraphDestroy(child)); /* the node has a copy */
    CHECK(cuGraphAddEventRecordNode(&nodes[4], graph, &nodes[3], 1, event));
    CHECK(cuGraphAddEmptyNode(&nodes[5], graph, &nodes[4], 1));
    EXPECT_HERE(1, cuGraphAddEmptyNode(&unused, graph, NULL, 1));
    for (int i = 0; i < 6; i++) {
        int type;
        CHECK(cuGraphNodeGetType(nodes[i], &type));
        ASSERT(type == expected[i]);
    }
    value = 77; /* a node keeps the arguments from when it was added */
    launch();
    ASSERT(all_are(data, 100, COUNT) && host[0] == 105 && host[COUNT - 1] == 105);
    CHECK(cuEventQuery(event));
    CHECK(cuGraphMemsetNodeGetParams(nodes[0], &got_fill));
    ASSERT(got_fill.address == data && got_fill.value == 100 && got_fill.element_bytes == 4 &&
           got_fill.width == COUNT && got_fill.height == 1);
    CHECK(cuGraphKernelNodeGetParams_v2(nodes[1], &got_kernel));
    ASSERT(got_kernel.function == add && got_kernel.block[0] == COUNT);
    ASSERT(*(unsigned *)got_kernel.arguments[1] == 5);
    CHECK(cuGraphMemcpyNodeGetParams(nodes[2], &got_copy));
    ASSERT(got_copy.source_device == data && got_copy.target_host == host &&
           got_copy.target_type == HOST && got_copy.width == sizeof host && got_copy.depth == 1);
    CHECK(cuGraphChildGraphNodeGetGraph(nodes[3], &inside));
    CHECK(cuGraphGetNodes(inside, NULL, &number));
    ASSERT(number == 1);
    EXPECT_HERE(1, cuGraphDestroy(inside));
    CHECK(cuGraphEventRecordNodeGetEvent(nodes[4], &got_event));
    ASSERT(got_event == event);
    EXPECT(1, cuGraphMemsetNodeGetParams(nodes[1], &got_fill)); /* another type */
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct context *context = start();
    CHECK(cuMemAlloc_v2(&data, sizeof(unsigned[COUNT])));
    check_order();
    check_types(context, load_kernel(PTX_HEADER PTX_ADD, "add"));
    return succeed();
}
