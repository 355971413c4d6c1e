// Attributes of kernels, dynamic shared memory, and occupancy.
#include "expect.h"

__global__ void __launch_bounds__(256) fixed(float *out)
{
    __shared__ float values[1024];
    values[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = values[255 - threadIdx.x];
}

__global__ void dynamic(int *out, int count)
{
    extern __shared__ int values[];
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        values[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        out[i] = values[count - 1 - i];
}

int main()
{
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, fixed));
    EXPECT(attributes.sharedSizeBytes == 4096 && attributes.maxThreadsPerBlock == 256);
    CHECK(cudaFuncSetCacheConfig(fixed, cudaFuncCachePreferL1));
    int blocks = 0, least = 0, best = 0, per_sm = 0, shared = 0, limit = 0;
    CHECK(cudaDeviceGetAttribute(&per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fixed, 256, 0));
    EXPECT(blocks >= 1 && blocks * 256 <= per_sm);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &best, dynamic, 0, 0));
    EXPECT(best >= 32 && best <= 1024 && least > 0);
    const int count = 25000, bytes = count * (int)sizeof(int);
    EXPECT(bytes > 48 * 1024 && bytes <= limit);
    CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic, 128, bytes));
    EXPECT(blocks == shared / (bytes + 1024));
    size_t available = 0;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, dynamic, 2, 128));
    EXPECT(available > 0 && available <= (size_t)shared);
    static int back[count];
    int *out;
    CHECK(cudaMalloc(&out, bytes));
    dynamic<<<1, 128, bytes>>>(out, count);
    CHECK(cudaMemcpy(back, out, bytes, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == count - 1 && back[count - 1] == 0);
    dynamic<<<1, 128, limit + 1024>>>(out, count);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFree(out));
    return finish();
}
