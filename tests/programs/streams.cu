// Streams, events, callbacks and host functions.
#include "expect.h"

__global__ void step(int *value, int factor)
{
    *value = *value * factor + 1;
}

static void set(void *data)
{
    *(int *)data = 5;
}

static void called(cudaStream_t stream, cudaError_t status, void *data)
{
    *(int *)data = stream && status == cudaSuccess ? 6 : -1;
}

int main()
{
    cudaStream_t first, second;
    cudaEvent_t start, middle, stop;
    int least, greatest, *value, host = 0, marks[2] = {0, 0};
    unsigned flags = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetFlags(second, &flags));
    EXPECT(flags == cudaStreamNonBlocking);
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    CHECK(cudaMalloc(&value, sizeof(int)));
    CHECK(cudaMemsetAsync(value, 0, sizeof(int), first));
    CHECK(cudaEventRecord(start, first));
    step<<<1, 1, 0, first>>>(value, 3);
    CHECK(cudaEventRecord(middle, first));
    CHECK(cudaStreamWaitEvent(second, middle, 0));
    step<<<1, 1, 0, second>>>(value, 10);
    CHECK(cudaMemcpyAsync(&host, value, sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaLaunchHostFunc(second, set, &marks[0]));
    CHECK(cudaStreamAddCallback(second, called, &marks[1], 0));
    CHECK(cudaEventRecord(stop, second));
    CHECK(cudaEventSynchronize(stop));
    EXPECT(host == 11 && marks[0] == 5 && marks[1] == 6);
    CHECK(cudaEventQuery(stop));
    CHECK(cudaStreamQuery(first));
    CHECK(cudaStreamSynchronize(first));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds > 0 && milliseconds < 1000);
    EXPECT(cudaEventElapsedTime(&milliseconds, middle, stop) != cudaSuccess);
    EXPECT(cudaGetLastError() != cudaSuccess);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(middle));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(value));
    return finish();
}
