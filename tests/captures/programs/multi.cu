// Kernels that are templates of types, sizes and functions, in namespaces.
#include "../../programs/expect.h"
#include <cstdint>
#include <vector>

namespace shapes
{

template <typename T, int N> struct vector {
    T values[N];
    __host__ __device__ T dot(const vector &other) const
    {
        T sum = 0;
        for (int i = 0; i < N; i++)
            sum += values[i] * other.values[i];
        return sum;
    }
};

template <typename T, int N>
__global__ void dots(const vector<T, N> *a, vector<T, N> b, T *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = a[i].dot(b);
}

} // namespace shapes

namespace
{

struct add {
    template <typename T> __host__ __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

struct maximum {
    template <typename T> __host__ __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

} // namespace

template <typename T, unsigned THREADS, typename Operation>
__global__ void reduce(const T *in, T *out, Operation operation)
{
    __shared__ T memory[THREADS];
    memory[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    for (unsigned distance = THREADS / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance)
            memory[threadIdx.x] = operation(memory[threadIdx.x], memory[threadIdx.x + distance]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = memory[0];
}

template <typename T, int N> static void check_dots()
{
    const int count = 100;
    std::vector<shapes::vector<T, N>> host(count);
    std::vector<T> back(count);
    shapes::vector<T, N> factor, *in;
    T *out;
    for (int k = 0; k < N; k++)
        factor.values[k] = (T)(k + 1);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < N; k++)
            host[i].values[k] = (T)(i % 10 + k);
    CHECK(cudaMalloc(&in, count * sizeof(*in)));
    CHECK(cudaMalloc(&out, count * sizeof(T)));
    CHECK(cudaMemcpy(in, host.data(), count * sizeof(*in), cudaMemcpyHostToDevice));
    shapes::dots<<<2, 64>>>(in, factor, out, count);
    CHECK(cudaMemcpy(back.data(), out, count * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        EXPECT(back[i] == host[i].dot(factor));
}

template <typename T, unsigned THREADS, typename Operation>
static void check_reduce(Operation operation)
{
    const unsigned blocks = 3;
    std::vector<T> host(blocks * THREADS), back(blocks);
    T *in, *out;
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (T)(i * 7 % 31);
    CHECK(cudaMalloc(&in, host.size() * sizeof(T)));
    CHECK(cudaMalloc(&out, blocks * sizeof(T)));
    CHECK(cudaMemcpy(in, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    reduce<T, THREADS><<<blocks, THREADS>>>(in, out, operation);
    CHECK(cudaMemcpy(back.data(), out, blocks * sizeof(T), cudaMemcpyDeviceToHost));
    for (unsigned block = 0; block < blocks; block++) {
        T expected = host[block * THREADS];
        for (unsigned i = 1; i < THREADS; i++)
            expected = operation(expected, host[block * THREADS + i]);
        EXPECT(back[block] == expected);
    }
}

int main()
{
    check_dots<float, 3>();
    check_dots<double, 4>();
    check_dots<int16_t, 7>();
    check_reduce<int, 64>(add());
    check_reduce<float, 128>(add());
    check_reduce<double, 256>(maximum());
    check_reduce<uint8_t, 32>(maximum());
    check_reduce<int64_t, 512>(add());
    return finish();
}
