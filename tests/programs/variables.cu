// Variables of a module: __device__, __constant__ and __managed__, with and without initial values.
#include "expect.h"

__device__ int counter = 40;
__device__ float table[8];
__constant__ float weights[4] = {1, 2, 3, 4};
static __constant__ int shift;
__managed__ int total = 7;
__managed__ double pair[2];

namespace deep {
__device__ unsigned long long hash;
}

__global__ void use()
{
    int i = threadIdx.x;
    table[i] = weights[i % 4] + shift;
    atomicAdd(&counter, 1);
    atomicAdd(&total, i);
    if (i == 0) {
        deep::hash = 0x123456789abcULL;
        pair[1] = pair[0] * 2;
    }
}

__global__ void add(int *value)
{
    *value += 1000;
}

int main()
{
    EXPECT(total == 7);
    pair[0] = 1.25;
    int host_shift = 10, host_counter = 0;
    CHECK(cudaMemcpyToSymbol(shift, &host_shift, sizeof(int)));
    float two = 20;
    CHECK(cudaMemcpyToSymbol(weights, &two, sizeof(float), sizeof(float)));
    use<<<1, 8>>>();
    CHECK(cudaDeviceSynchronize());
    float host_table[8];
    CHECK(cudaMemcpyFromSymbol(host_table, table, sizeof(host_table)));
    CHECK(cudaMemcpyFromSymbol(&host_counter, counter, sizeof(int)));
    EXPECT(host_table[0] == 11 && host_table[5] == 30 && host_table[7] == 14);
    EXPECT(host_counter == 48);
    EXPECT(total == 7 + 28 && pair[1] == 2.5);
    add<<<1, 1>>>(&total);
    CHECK(cudaDeviceSynchronize());
    EXPECT(total == 1035);
    unsigned long long *hash, host_hash = 0;
    CHECK(cudaGetSymbolAddress((void **)&hash, deep::hash));
    CHECK(cudaMemcpy(&host_hash, hash, sizeof(host_hash), cudaMemcpyDeviceToHost));
    EXPECT(host_hash == 0x123456789abcULL);
    size_t bytes = 0;
    CHECK(cudaGetSymbolSize(&bytes, table));
    EXPECT(bytes == 32);
    EXPECT(cudaMemcpyToSymbol(weights, &two, 4, 16) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    return finish();
}
