/* Capture of streams, with streams that fork and join by events, and what spoils a capture. */
#include "driver_api.h"

enum { COUNT = 64 };

static struct stream *first, *second;
static struct event *fork_event, *join_event;
static struct function *add;
static uint64_t data, other;
static unsigned value = 1, count = COUNT;

static void launch(uint64_t *address, struct stream *stream)
{
    void *arguments[] = {address, &value, &count};
    CHECK(cuLaunchKernel(add, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments, NULL));
}

static void called(void *user)
{
    ++*(int *)user;
}

static void check_fork(void)
{
    struct graph *graph, *active;
    struct graph_exec *exec;
    struct node *from[8], *to[8], *const *before;
    int status, calls = 0;
    unsigned long long id;
    size_t number = 8, roots = 0, edges = 8, last;
    CHECK(cuStreamBeginCapture_v2(first, 0));
    CHECK(cuMemsetD32Async(data, 10, COUNT, first));
    CHECK(cuEventRecord(fork_event, first));
    CHECK(cuStreamWaitEvent(second, fork_event, 0));
    CHECK(cuStreamIsCapturing(second, &status));
    ASSERT(status == 1);
    launch(&data, first);
    CHECK(cuMemsetD32Async(other, 20, COUNT, second));
    launch(&other, second);
    CHECK(cuEventRecord(join_event, second));
    CHECK(cuStreamWaitEvent(first, join_event, 0));
    CHECK(cuLaunchHostFunc(first, called, &calls));
    CHECK(cuStreamGetCaptureInfo_v2(first, &status, &id, &active, &before, &last));
    ASSERT(status == 1 && last == 1);
    CHECK(cuStreamEndCapture(first, &graph));
    ASSERT(graph == active);
    CHECK(cuStreamIsCapturing(second, &status));
    ASSERT(status == 0);
    CHECK(cuGraphGetNodes(graph, from, &number));
    CHECK(cuGraphGetRootNodes(graph, NULL, &roots));
    CHECK(cuGraphGetEdges_v2(graph, from, to, NULL, &edges));
    ASSERT(number == 5 && roots == 1 && edges == 5);
    ASSERT(calls == 0); /* a capture executes nothing */
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphLaunch(exec, first));
    CHECK(cuGraphLaunch(exec, first));
    CHECK(cuStreamSynchronize(first));
    ASSERT(calls == 2 && all_are(data, 11, COUNT) && all_are(other, 21, COUNT));
    CHECK(cuGraphExecDestroy(exec));
}

/* Ends a capture that a call may have spoiled. */
static void abandon(struct stream *stream)
{
    struct graph *graph;
    const int result = cuStreamEndCapture(stream, &graph);
    ASSERT(result == 0 || result == 901);
    if (result == 0)
        CHECK(cuGraphDestroy(graph));
}

static void check_errors(void)
{
    struct graph *graph;
    int status;
    EXPECT(900, cuStreamBeginCapture_v2(NULL, 0)); /* the default stream */
    EXPECT(401, cuStreamEndCapture(first, &graph));
    CHECK(cuStreamBeginCapture_v2(first, 0));
    EXPECT(401, cuStreamBeginCapture_v2(first, 0));
    abandon(first);
    CHECK(cuStreamBeginCapture_v2(first, 0));
    CHECK(cuEventRecord(fork_event, first));
    EXPECT(907, cuEventQuery(fork_event));
    abandon(first);
    CHECK(cuStreamBeginCapture_v2(first, 0));
    CHECK(cuEventRecord(fork_event, first));
    CHECK(cuStreamWaitEvent(second, fork_event, 0));
    EXPECT(903, cuStreamEndCapture(second, &graph)); /* it did not begin there */
    EXPECT(901, cuStreamEndCapture(first, &graph));
    CHECK(cuStreamBeginCapture_v2(first, 0));
    CHECK(cuEventRecord(fork_event, first));
    CHECK(cuStreamWaitEvent(second, fork_event, 0));
    launch(&data, second);
    EXPECT(904, cuStreamEndCapture(first, &graph)); /* the work of `second` is not joined */
    ASSERT(graph == NULL);
    CHECK(cuStreamIsCapturing(second, &status));
    ASSERT(status == 0);
    CHECK(cuStreamBeginCapture_v2(first, 0));
    EXPECT(900, cuStreamSynchronize(first));
    CHECK(cuStreamIsCapturing(first, &status));
    ASSERT(status == 2);
    EXPECT(901, cuMemsetD32Async(data, 0, COUNT, first));
    EXPECT(901, cuStreamEndCapture(first, &graph));
    /* two captures cannot merge */
    CHECK(cuStreamBeginCapture_v2(first, 0));
    CHECK(cuStreamBeginCapture_v2(second, 0));
    CHECK(cuEventRecord(fork_event, first));
    EXPECT(902, cuStreamWaitEvent(second, fork_event, 0));
    abandon(first);
    abandon(second);
}

/* Captures into a graph that exists, and changes what the next node depends on. */
static void check_to_graph(void)
{
    struct graph *graph, *same;
    struct node *root, *extra, *nodes[4];
    size_t number = 4;
    int last = 0, type;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddEmptyNode(&root, graph, NULL, 0));
    CHECK(cuGraphAddEmptyNode(&extra, graph, NULL, 0));
    CHECK(cuStreamBeginCaptureToGraph(first, graph, &root, NULL, 1, 0));
    CHECK(cuStreamUpdateCaptureDependencies_v2(first, &extra, NULL, 1, 0));
    launch(&data, first);
    CHECK(cuStreamEndCapture(first, &same));
    ASSERT(same == graph);
    CHECK(cuGraphGetNodes(graph, nodes, &number));
    ASSERT(number == 3);
    for (int i = 0; i < 3; i++) {
        CHECK(cuGraphNodeGetType(nodes[i], &type));
        if (type == 0) /* a kernel */
            last = i;
    }
    number = 4;
    CHECK(cuGraphNodeGetDependencies_v2(nodes[last], nodes, NULL, &number));
    ASSERT(number == 2 && nodes[0] != nodes[1] && nodes[2] == NULL);
    CHECK(cuGraphDestroy(graph));
}

/* Allocates and frees memory during a capture. */
static void check_memory(void)
{
    struct graph *graph;
    struct graph_exec *exec;
    uint64_t temporary;
    CHECK(cuStreamBeginCapture_v2(first, 2)); /* does not restrict other calls */
    CHECK(cuMemAllocAsync(&temporary, sizeof(unsigned[COUNT]), first));
    CHECK(cuMemsetD32Async(temporary, 30, COUNT, first));
    launch(&temporary, first);
    CHECK(cuMemcpyDtoD_v2(other, other, 4)); /* not in the capture */
    void *arguments[] = {&temporary, &value, &count};
    CHECK(cuLaunchKernel(add, 1, 1, 1, COUNT, 1, 1, 0, first, arguments, NULL));
    CHECK(cuMemcpyDtoDAsync_v2(other, temporary, sizeof(unsigned[COUNT]), first));
    CHECK(cuMemFreeAsync(temporary, first));
    CHECK(cuStreamEndCapture(first, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphLaunch(exec, first));
    CHECK(cuStreamSynchronize(first));
    ASSERT(all_are(other, 32, COUNT));
    CHECK(cuGraphExecDestroy(exec));
    EXPECT_HERE(1, cuMemsetD32_v2(temporary, 0, 1));
}

int main(void)
{
    start();
    add = load_kernel(PTX_HEADER PTX_ADD, "add");
    CHECK(cuStreamCreate(&first, 1));
    CHECK(cuStreamCreate(&second, 1));
    CHECK(cuEventCreate(&fork_event, 2));
    CHECK(cuEventCreate(&join_event, 2));
    CHECK(cuMemAlloc_v2(&data, sizeof(unsigned[COUNT])));
    CHECK(cuMemAlloc_v2(&other, sizeof(unsigned[COUNT])));
    check_fork();
    check_errors();
    check_to_graph();
    check_memory();
    return succeed();
}
