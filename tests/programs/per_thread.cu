// Compiled for a default stream per thread (nvcc -default-stream per-thread), with several threads.
#include "expect.h"
#include <thread>
#include <vector>

__constant__ int bias;

__global__ void fill(int *values, int seed)
{
    values[threadIdx.x] = seed * 1000 + threadIdx.x + bias;
}

static void work(int seed, bool *fine)
{
    int *values, host[64];
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc(&values, sizeof(host)));
    CHECK(cudaMemset(values, 0, sizeof(host)));
    fill<<<1, 64>>>(values, seed);
    CHECK(cudaEventRecord(event));
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));
    *fine = host[0] == seed * 1000 + 7 && host[63] == seed * 1000 + 70;
    EXPECT(cudaSetDevice(seed + 1) == cudaErrorInvalidDevice);
    CHECK(cudaStreamSynchronize(0));
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaFree(values));
}

int main()
{
    int host_bias = 7;
    CHECK(cudaMemcpyToSymbol(bias, &host_bias, sizeof(int)));
    std::vector<std::thread> threads;
    bool fine[4] = {};
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i, &fine[i]);
    for (auto &thread : threads)
        thread.join();
    for (bool each : fine)
        EXPECT(each);
    return finish();
}
