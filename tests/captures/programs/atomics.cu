// Atomic operations whose order is undefined: float sums are rounded differently in each order, and
// the places that a counter hands out differ. A replay need not give the same bits.
#include "../../programs/expect.h"
#include <algorithm>
#include <cmath>
#include <vector>

static const int COUNT = 8192, BINS = 8;

__global__ void add_floats(const float *values, float *sums, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(&sums[i % BINS], values[i]);
}

__global__ void add_doubles(const float *values, double *sum, int count)
{
    __shared__ double block_sum;
    if (threadIdx.x == 0)
        block_sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(&block_sum, (double)values[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(sum, block_sum);
}

// Appends the indices of large values to a list.
__global__ void collect(const float *values, float limit, int *number, int *list, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && values[i] > limit)
        list[atomicAdd(number, 1)] = i;
}

// Multiplication as a loop of compare-and-swap.
__global__ void multiply(float *product, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int *bits = (int *)product, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen,
                        __float_as_int(__int_as_float(seen) * (1.0f + 1.0f / (float)(i + 2))));
    } while (old != seen);
}

int main()
{
    float *values, *sums, *product;
    double *sum;
    int *number, *list;
    CHECK(cudaMallocManaged(&values, COUNT * sizeof(float)));
    CHECK(cudaMallocManaged(&sums, BINS * sizeof(float)));
    CHECK(cudaMallocManaged(&product, sizeof(float)));
    CHECK(cudaMallocManaged(&sum, sizeof(double)));
    CHECK(cudaMallocManaged(&number, sizeof(int)));
    CHECK(cudaMallocManaged(&list, COUNT * sizeof(int)));
    double expected[BINS] = {}, total = 0;
    std::vector<int> large;
    for (int i = 0; i < COUNT; i++) {
        values[i] = 1.0f / (float)(1 + i * 37 % 1000);
        expected[i % BINS] += values[i];
        total += values[i];
        if (values[i] > 0.01f)
            large.push_back(i);
    }
    *product = 1.0f;
    *sum = 0;
    *number = 0;
    std::fill(sums, sums + BINS, 0.0f);
    add_floats<<<COUNT / 256, 256>>>(values, sums, COUNT);
    add_doubles<<<COUNT / 256, 256>>>(values, sum, COUNT);
    collect<<<COUNT / 256, 256>>>(values, 0.01f, number, list, COUNT);
    multiply<<<2, 64>>>(product, 100);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < BINS; i++)
        EXPECT(fabs(sums[i] - expected[i]) < 1e-3 * expected[i]);
    EXPECT(fabs(*sum - total) < 1e-9 * total);
    std::sort(list, list + *number);
    EXPECT(std::vector<int>(list, list + *number) == large);
    EXPECT(fabsf(*product - 51.0f) < 0.01f); // The product of (i + 3) / (i + 2) up to 99.
    return finish();
}
