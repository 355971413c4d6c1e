// A graph made of nodes: kernels, copies, sets, host functions, child graphs.
#include "expect.h"

__device__ int symbol;

__global__ void add(int *value, int summand)
{
    *value += summand;
}

__global__ void store_symbol(const int *value)
{
    symbol = *value;
}

static void increase(void *data)
{
    ++*(int *)data;
}

static void reset(void *data)
{
    *(int *)data = 0;
}

int main()
{
    int *value, host = 0, calls = 0, summand = 5;
    CHECK(cudaMalloc(&value, sizeof(int)));
    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&child, 0));
    cudaGraphNode_t set, kernel, stored, copied, called, inner, nested;
    cudaMemsetParams zero = {};
    zero.dst = value;
    zero.elementSize = 1;
    zero.width = sizeof(int);
    zero.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &zero));
    void *arguments[] = {&value, &summand};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
    int big = 100;
    void *inner_arguments[] = {&value, &big};
    launch.kernelParams = inner_arguments;
    CHECK(cudaGraphAddKernelNode(&inner, child, NULL, 0, &launch));
    CHECK(cudaGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
    void *store_arguments[] = {&value};
    launch.func = (void *)store_symbol;
    launch.kernelParams = store_arguments;
    CHECK(cudaGraphAddKernelNode(&stored, graph, &nested, 1, &launch));
    CHECK(cudaGraphAddMemcpyNodeFromSymbol(&copied, graph, &stored, 1, &host, symbol, sizeof(int),
                                           0, cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {increase, &calls};
    CHECK(cudaGraphAddHostNode(&called, graph, &copied, 1, &function));
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(copied, &type));
    EXPECT(type == cudaGraphNodeTypeMemcpy);
    cudaKernelNodeParams read = {};
    CHECK(cudaGraphKernelNodeGetParams(kernel, &read));
    EXPECT(read.func == (void *)add && read.gridDim.x == 1);
    EXPECT(*(int **)read.kernelParams[0] == value && *(int *)read.kernelParams[1] == 5);
    size_t count = 0;
    CHECK(cudaGraphGetRootNodes(graph, NULL, &count));
    EXPECT(count == 1);
    CHECK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    EXPECT(count == 5);
    cudaGraphNode_t before[2];
    count = 2;
    CHECK(cudaGraphNodeGetDependencies(stored, before, NULL, &count));
    EXPECT(count == 1 && before[0] == nested);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(host == 105 && calls == 1);
    int seven = 7;
    void *changed[] = {&value, &seven};
    launch.func = (void *)add;
    launch.kernelParams = changed;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(host == 107 && calls == 2);
    /* Kernels, copies and fills can be disabled, functions of the host cannot. */
    EXPECT(cudaGraphNodeSetEnabled(exec, called, 0) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(host == 100 && calls == 3);
    /* A node that was added last, but comes first. */
    cudaGraphNode_t last;
    cudaHostNodeParams first = {reset, &calls};
    CHECK(cudaGraphAddHostNode(&last, graph, NULL, 0, &first));
    CHECK(cudaGraphAddDependencies(graph, &last, &set, NULL, 1));
    cudaGraphExec_t ordered;
    CHECK(cudaGraphInstantiate(&ordered, graph, 0));
    CHECK(cudaGraphLaunch(ordered, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(calls == 1 && host == 105);
    CHECK(cudaGraphExecDestroy(ordered));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
    return finish();
}
