// Allocates, copies, launches, copies back.
#include "expect.h"
#include <vector>

__global__ void add(const float *a, const float *b, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main()
{
    const int count = 5000;
    std::vector<float> a(count), b(count), sum(count);
    for (int i = 0; i < count; i++) {
        a[i] = i;
        b[i] = 2 * i + 0.5f;
    }
    float *device_a, *device_b, *device_sum;
    CHECK(cudaMalloc(&device_a, count * sizeof(float)));
    CHECK(cudaMalloc(&device_b, count * sizeof(float)));
    CHECK(cudaMalloc(&device_sum, count * sizeof(float)));
    CHECK(cudaMemcpy(device_a, a.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), count * sizeof(float), cudaMemcpyDefault));
    CHECK(cudaMemset(device_sum, 0xff, count * sizeof(float)));
    add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sum.data(), device_sum, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        EXPECT(sum[i] == 3 * i + 0.5f);
    CHECK(cudaMemcpy(device_a, device_sum, 64, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(a.data(), device_a, 64, cudaMemcpyDefault));
    EXPECT(a[15] == 45.5f);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_sum));
    return finish();
}
