// A graph captured from streams that fork and join, launched several times, and updated.
#include "expect.h"

__global__ void scale(float *values, float factor)
{
    values[threadIdx.x] *= factor;
}

__global__ void sum(const float *a, const float *b, float *result)
{
    result[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

static float *a, *b, *result, host[32], back[32];
static cudaStream_t first, second;
static cudaEvent_t fork, join;

static cudaGraph_t capture(float factor)
{
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(first, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaMemcpyAsync(a, host, sizeof(host), cudaMemcpyHostToDevice, first));
    CHECK(cudaMemcpyAsync(b, a, sizeof(host), cudaMemcpyDeviceToDevice, first));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    scale<<<1, 32, 0, first>>>(a, factor);
    scale<<<1, 32, 0, second>>>(b, 3);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    sum<<<1, 32, 0, first>>>(a, b, result);
    CHECK(cudaMemcpyAsync(back, result, sizeof(back), cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    return graph;
}

int main()
{
    CHECK(cudaMalloc(&a, sizeof(host)));
    CHECK(cudaMalloc(&b, sizeof(host)));
    CHECK(cudaMalloc(&result, sizeof(host)));
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    cudaGraph_t graph = capture(2);
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &count));
    EXPECT(count == 6);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT(back[1] == 0);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 32; i++)
            host[i] = i * round;
        CHECK(cudaGraphLaunch(exec, first));
        CHECK(cudaStreamSynchronize(first));
        for (int i = 0; i < 32; i++)
            EXPECT(back[i] == 5 * i * round);
    }
    cudaGraph_t changed = capture(7);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, changed, &info));
    CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaStreamSynchronize(first));
    EXPECT(back[2] == 10 * 6);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(changed));
    return finish();
}
