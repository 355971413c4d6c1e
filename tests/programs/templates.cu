// Kernels that are templates, functions of classes, lambdas and structures as arguments.
#include "expect.h"

struct Scale {
    double factor;
    int offset;
    __device__ double operator()(double x) const { return x * factor + offset; }
};

template <typename T, int N, typename F> __global__ void apply(T *values, F function)
{
    int i = blockIdx.x * N + threadIdx.x;
    values[i] = (T)function(values[i]);
}

namespace inner {
template <bool Reverse> __global__ void fill(int *values, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        values[i] = Reverse ? count - i : i;
}
} // namespace inner

template <typename T> void check(int add)
{
    const int count = 256;
    T *values, host[count];
    int *order, host_order[count];
    CHECK(cudaMalloc(&values, sizeof(host)));
    CHECK(cudaMalloc(&order, sizeof(host_order)));
    for (int i = 0; i < count; i++)
        host[i] = (T)i;
    CHECK(cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice));
    apply<T, 64><<<4, 64>>>(values, Scale{3, add});
    inner::fill<true><<<1, 32>>>(order, count);
    CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host_order, order, sizeof(host_order), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        EXPECT(host[i] == (T)(3 * i + add) && host_order[i] == count - i);
    inner::fill<false><<<1, 128>>>(order, count);
    CHECK(cudaMemcpy(host_order, order, sizeof(host_order), cudaMemcpyDeviceToHost));
    EXPECT(host_order[77] == 77);
    CHECK(cudaFree(values));
    CHECK(cudaFree(order));
}

int main()
{
    check<float>(1);
    check<double>(2);
    check<long long>(-3);
    return finish();
}
