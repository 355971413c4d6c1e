/* Changes of graphs and executable graphs: parameters, updates, nodes that are disabled. */
#include "driver_api.h"

enum { COUNT = 32 };

static struct graph *make(struct function *add, uint64_t *data, unsigned fill_value, unsigned value,
                          struct node *nodes[2])
{
    unsigned count = COUNT;
    void *arguments[] = {data, &value, &count};
    const struct fill_node fill = {*data, 0, fill_value, 4, COUNT, 1};
    const struct kernel_node kernel = {
        .function = add, .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .arguments = arguments};
    struct graph *graph;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, NULL));
    CHECK(cuGraphAddKernelNode_v2(&nodes[1], graph, &nodes[0], 1, &kernel));
    return graph;
}

static unsigned run(struct graph_exec *exec, uint64_t data)
{
    unsigned first;
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuMemcpyDtoH_v2(&first, data, 4));
    ASSERT(all_are(data, first, COUNT));
    return first;
}

int main(void)
{
    uint64_t data;
    unsigned count = COUNT, value = 7, enabled;
    struct node *nodes[2], *others[2];
    struct graph_exec *exec, *second;
    struct update_info info;
    start();
    struct function *add = load_kernel(PTX_HEADER PTX_ADD, "add");
    CHECK(cuMemAlloc_v2(&data, sizeof(unsigned[COUNT])));
    struct graph *graph = make(add, &data, 10, 1, nodes);
    struct graph *other = make(add, &data, 50, 5, others);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    ASSERT(run(exec, data) == 11);
    /* parameters of an executable graph */
    void *arguments[] = {&data, &value, &count};
    const struct kernel_node kernel = {
        .function = add, .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .arguments = arguments};
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &kernel));
    ASSERT(run(exec, data) == 17);
    const struct fill_node fill = {data, 0, 20, 4, COUNT, 1};
    CHECK(cuGraphExecMemsetNodeSetParams(exec, nodes[0], &fill, NULL));
    ASSERT(run(exec, data) == 27);
    EXPECT(1, cuGraphExecMemsetNodeSetParams(exec, others[0], &fill, NULL));
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &kernel));
    /* the graph itself has not changed, and then does */
    CHECK(cuGraphInstantiateWithFlags(&second, graph, 0));
    ASSERT(run(second, data) == 11);
    CHECK(cuGraphExecDestroy(second));
    CHECK(cuGraphKernelNodeSetParams_v2(nodes[1], &kernel));
    CHECK(cuGraphMemsetNodeSetParams(nodes[0], &fill));
    CHECK(cuGraphInstantiateWithFlags(&second, graph, 0));
    ASSERT(run(second, data) == 27);
    /* nodes that are disabled */
    CHECK(cuGraphNodeSetEnabled(second, nodes[1], 0));
    CHECK(cuGraphNodeGetEnabled(second, nodes[1], &enabled));
    ASSERT(enabled == 0 && run(second, data) == 20);
    CHECK(cuGraphNodeSetEnabled(second, nodes[1], 1));
    ASSERT(run(second, data) == 27);
    /* updates from another graph */
    CHECK(cuGraphExecUpdate_v2(exec, other, &info));
    ASSERT(info.result == 0 && run(exec, data) == 55);
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &kernel)); /* by the original nodes */
    ASSERT(run(exec, data) == 57);
    CHECK(cuGraphRemoveDependencies_v2(other, &others[0], &others[1], NULL, 1));
    EXPECT(910, cuGraphExecUpdate_v2(exec, other, &info));
    ASSERT(info.result == 2); /* the dependencies differ */
    CHECK(cuGraphDestroyNode(others[1]));
    CHECK(cuGraphAddEmptyNode(&others[1], other, &others[0], 1));
    EXPECT(910, cuGraphExecUpdate_v2(exec, other, &info));
    ASSERT(info.result == 3 && info.node == others[1]); /* the type differs */
    CHECK(cuGraphDestroyNode(others[1]));
    EXPECT(910, cuGraphExecUpdate_v2(exec, other, &info));
    ASSERT(info.result == 2 && run(exec, data) == 57);
    CHECK(cuGraphExecDestroy(exec));
    EXPECT_HERE(1, cuGraphExecDestroy(exec));
    EXPECT_HERE(400, cuGraphLaunch(exec, NULL));
    CHECK(cuGraphExecDestroy(second));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(other));
    return succeed();
}
