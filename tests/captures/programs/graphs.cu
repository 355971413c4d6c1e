// Graphs: one recorded from two streams, and one built from nodes of several types, whose nodes are
// changed between launches.
#include "../../programs/expect.h"
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

static const int COUNT = 2048, LAUNCHES = 3, THREADS = 256, BLOCKS = COUNT / THREADS;

__device__ int scale = 3;

__global__ void advance(int *values, int step, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] += step;
}

__global__ void square(const int *values, int *squares, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        squares[i] = values[i] * values[i];
}

__global__ void sum(const int *a, const int *b, int *total, int count)
{
    __shared__ int block_sum;
    if (threadIdx.x == 0)
        block_sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(&block_sum, a[i] + b[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(total, block_sum);
}

__global__ void multiply(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= scale;
}

// Each element becomes the sum of itself and its mirror image, with a barrier of the whole grid.
__global__ void mirror(int *values, int count)
{
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int other = values[count - 1 - i];
    grid.sync();
    values[i] += other;
}

// The same for each block on its own.
__global__ void mirror_blocks(int *values)
{
    int first = blockIdx.x * blockDim.x;
    int other = values[first + blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    values[first + threadIdx.x] += other;
}

// Each block adds the first element of the other block of its cluster.
__global__ void exchange(int *values)
{
    __shared__ int first;
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        first = values[i];
    cluster.sync();
    values[i] += *cluster.map_shared_rank(&first, cluster.block_rank() ^ 1);
    cluster.sync();
}

// A graph recorded from two streams, launched several times.
static void run_recorded()
{
    int *values, *squares, *total, results[LAUNCHES];
    std::vector<int> host(COUNT);
    cudaStream_t first, second;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    for (int i = 0; i < COUNT; i++)
        host[i] = i % 50;
    CHECK(cudaMalloc(&values, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&squares, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemcpy(values, host.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    advance<<<BLOCKS, THREADS, 0, first>>>(values, 1, COUNT);
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    square<<<BLOCKS, THREADS, 0, second>>>(values, squares, COUNT);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaMemsetAsync(total, 0, sizeof(int), first));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    sum<<<BLOCKS, THREADS, 0, first>>>(values, squares, total, COUNT);
    int count = COUNT;
    void *arguments[] = {&squares, &count};
    CHECK(cudaLaunchCooperativeKernel((void *)mirror, dim3(BLOCKS), dim3(THREADS), arguments, 0,
                                      first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int launch = 0; launch < LAUNCHES; launch++) {
        CHECK(cudaGraphLaunch(executable, first));
        CHECK(cudaMemcpyAsync(&results[launch], total, sizeof(int), cudaMemcpyDeviceToHost, first));
        CHECK(cudaStreamSynchronize(first));
    }
    for (int launch = 0; launch < LAUNCHES; launch++) {
        int expected = 0;
        for (int value : host)
            expected += (value + launch + 1) * (value + launch + 2);
        EXPECT(results[launch] == expected);
    }
    std::vector<int> mirrored(COUNT);
    CHECK(cudaMemcpy(mirrored.data(), squares, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        int a = host[i] + LAUNCHES, b = host[COUNT - 1 - i] + LAUNCHES;
        EXPECT(mirrored[i] == a * a + b * b);
    }
    CHECK(cudaGraphExecDestroy(executable));
}

// What the nodes of a graph use.
struct Buffers {
    int *device, *copy;
    int *input, *output; // pinned: a graph copies pageable memory before its host functions run
    int start, calls;
};

static void prepare(void *user)
{
    Buffers *buffers = (Buffers *)user;
    for (int i = 0; i < COUNT; i++)
        buffers->input[i] = buffers->start + i;
    buffers->calls++;
}

static cudaKernelNodeParams kernel(const void *function, void **arguments)
{
    cudaKernelNodeParams launch = {};
    launch.func = (void *)function;
    launch.gridDim = dim3(BLOCKS);
    launch.blockDim = dim3(THREADS);
    launch.kernelParams = arguments;
    return launch;
}

struct Nodes {
    cudaGraphNode_t prepared, filled, uploaded, advanced, child, mirrored, exchanged, copied,
        downloaded;
};

// A host function, a fill, a copy, kernels, a child graph, and copies back, one after the other.
static cudaGraph_t build(Buffers &buffers, int step, Nodes &nodes)
{
    int count = COUNT;
    size_t bytes = COUNT * sizeof(int);
    void *advance_arguments[] = {&buffers.device, &step, &count};
    void *arguments[] = {&buffers.device, &count};
    cudaGraph_t graph, inner;
    cudaGraphNode_t multiplied;
    cudaHostNodeParams function = {prepare, &buffers};
    cudaMemsetParams fill = {};
    fill.dst = buffers.copy;
    fill.value = 0xff;
    fill.elementSize = 1;
    fill.width = bytes / 8;
    fill.height = 4;
    fill.pitch = bytes / 4;
    cudaKernelNodeParams advance_kernel = kernel((void *)advance, advance_arguments);
    cudaKernelNodeParams multiply_kernel = kernel((void *)multiply, arguments);
    cudaKernelNodeParams mirror_kernel = kernel((void *)mirror_blocks, arguments);
    cudaKernelNodeParams exchange_kernel = kernel((void *)exchange, arguments);
    cudaKernelNodeAttrValue value = {};
    CHECK(cudaGraphCreate(&inner, 0));
    CHECK(cudaGraphAddKernelNode(&multiplied, inner, NULL, 0, &multiply_kernel));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddHostNode(&nodes.prepared, graph, NULL, 0, &function));
    CHECK(cudaGraphAddMemsetNode(&nodes.filled, graph, NULL, 0, &fill));
    CHECK(cudaGraphAddMemcpyNode1D(&nodes.uploaded, graph, &nodes.prepared, 1, buffers.device,
                                   buffers.input, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddKernelNode(&nodes.advanced, graph, &nodes.uploaded, 1, &advance_kernel));
    CHECK(cudaGraphAddChildGraphNode(&nodes.child, graph, &nodes.advanced, 1, inner));
    CHECK(cudaGraphAddKernelNode(&nodes.mirrored, graph, &nodes.child, 1, &mirror_kernel));
    CHECK(cudaGraphAddKernelNode(&nodes.exchanged, graph, &nodes.mirrored, 1, &exchange_kernel));
    value.clusterDim.x = 2;
    value.clusterDim.y = value.clusterDim.z = 1;
    CHECK(cudaGraphKernelNodeSetAttribute(nodes.exchanged, cudaLaunchAttributeClusterDimension,
                                          &value));
    cudaGraphNode_t before[] = {nodes.exchanged, nodes.filled};
    cudaMemcpy3DParms rows = {};
    rows.srcPtr = make_cudaPitchedPtr(buffers.device, bytes / 4, bytes / 4, 4);
    rows.dstPtr = make_cudaPitchedPtr(buffers.copy, bytes / 4, bytes / 4, 4);
    rows.extent = make_cudaExtent(bytes / 8, 2, 1);
    rows.kind = cudaMemcpyDeviceToDevice;
    CHECK(cudaGraphAddMemcpyNode(&nodes.copied, graph, before, 2, &rows));
    CHECK(cudaGraphAddMemcpyNode1D(&nodes.downloaded, graph, &nodes.copied, 1, buffers.output,
                                   buffers.copy, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphDestroy(inner));
    return graph;
}

// Launches the graph and compares the results with those of the host.
static void run_built(cudaGraphExec_t executable, Buffers &buffers, int step, bool is_mirrored)
{
    std::vector<int> expected(COUNT);
    int calls = buffers.calls;
    CHECK(cudaMemset(buffers.copy, 0, COUNT * sizeof(int)));
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < COUNT; i++) {
        expected[i] = 3 * (buffers.start + i + step);
        if (is_mirrored)
            expected[i] += 3 * (buffers.start + i - i % THREADS + THREADS - 1 - i % THREADS + step);
    }
    std::vector<int> before = expected;
    for (int i = 0; i < COUNT; i++)
        expected[i] += before[(i / THREADS ^ 1) * THREADS];
    EXPECT(buffers.calls == calls + 1);
    for (int i = 0; i < COUNT; i++) {
        int row = i / (COUNT / 4);
        bool is_filled = i % (COUNT / 4) < COUNT / 8; // the first half of each row
        EXPECT(buffers.output[i] == (!is_filled ? 0 : row < 2 ? expected[i] : -1));
    }
}

// A graph built from nodes, with changes of its nodes between launches.
static void run_changed()
{
    Buffers buffers = {NULL, NULL, NULL, NULL, 5, 0};
    Nodes nodes, others;
    cudaGraphExec_t executable;
    cudaGraphExecUpdateResultInfo info;
    int step = 40, count = COUNT;
    CHECK(cudaMalloc(&buffers.device, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&buffers.copy, COUNT * sizeof(int)));
    CHECK(cudaMallocHost(&buffers.input, COUNT * sizeof(int)));
    CHECK(cudaMallocHost(&buffers.output, COUNT * sizeof(int)));
    cudaGraph_t graph = build(buffers, 10, nodes), other = build(buffers, 70, others);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    run_built(executable, buffers, 10, true);
    buffers.start = 900;
    run_built(executable, buffers, 10, true);
    void *arguments[] = {&buffers.device, &step, &count};
    cudaKernelNodeParams advance_kernel = kernel((void *)advance, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(executable, nodes.advanced, &advance_kernel));
    run_built(executable, buffers, 40, true);
    CHECK(cudaGraphNodeSetEnabled(executable, nodes.mirrored, 0));
    run_built(executable, buffers, 40, false);
    CHECK(cudaGraphNodeSetEnabled(executable, nodes.mirrored, 1));
    CHECK(cudaGraphExecUpdate(executable, other, &info));
    run_built(executable, buffers, 70, true);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
}

int main()
{
    run_recorded();
    run_changed();
    return finish();
}
