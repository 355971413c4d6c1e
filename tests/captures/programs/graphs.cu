// A graph recorded from two streams, launched three times.
#include "../../programs/expect.h"
#include <vector>

static const int COUNT = 2048, LAUNCHES = 3;

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

int main()
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
    advance<<<COUNT / 256, 256, 0, first>>>(values, 1, COUNT);
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    square<<<COUNT / 256, 256, 0, second>>>(values, squares, COUNT);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaMemsetAsync(total, 0, sizeof(int), first));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    sum<<<COUNT / 256, 256, 0, first>>>(values, squares, total, COUNT);
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
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
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    return finish();
}
