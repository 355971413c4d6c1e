/* Two kernels that load data into shared memory, each with plain loads (staged) and with cp.async
 * in a pipeline with two buffers (async), for the rule staged_loads (docs/model/hints.md). With
 * -DHOST, a program that measures them: the median of 21 launches with cold caches, in
 * microseconds. */
#include <cuda_pipeline.h>
#include <cstdio>
#include <algorithm>
#define T 32
// c = a b, tiles of 32 x 32
extern "C" __global__ void matmul_staged(float *c, const float *a, const float *b, int n)
{
    __shared__ float s[T][T], t[T][T];
    const int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
extern "C" __global__ void matmul_async(float *c, const float *a, const float *b, int n)
{
    __shared__ float s[2][T][T], t[2][T][T];
    const int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float sum = 0;
    __pipeline_memcpy_async(&s[0][threadIdx.y][threadIdx.x], &a[y * n + threadIdx.x], 4);
    __pipeline_memcpy_async(&t[0][threadIdx.y][threadIdx.x], &b[threadIdx.y * n + x], 4);
    __pipeline_commit();
    for (int k = 0; k < n; k += T) {
        const int now = k / T & 1, next = now ^ 1;
        if (k + T < n) {
            const int ahead = k + T;
            __pipeline_memcpy_async(&s[next][threadIdx.y][threadIdx.x],
                                    &a[y * n + ahead + threadIdx.x], 4);
            __pipeline_memcpy_async(&t[next][threadIdx.y][threadIdx.x],
                                    &b[(ahead + threadIdx.y) * n + x], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += s[now][threadIdx.y][i] * t[now][i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
// Each block of 128 threads sums pieces of 2 KiB that it stages; 16 sums per element
extern "C" __global__ void pieces_staged(float *out, const float4 *in, int pieces)
{
    __shared__ float4 s[128];
    float sum = 0;
    const float4 *from = in + (size_t)blockIdx.x * pieces * 128;
    for (int k = 0; k < pieces; k++) {
        s[threadIdx.x] = from[k * 128 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            const float4 v = s[(threadIdx.x + i * 8) & 127];
            sum += v.x + v.y + v.z + v.w;
        }
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}
extern "C" __global__ void pieces_async(float *out, const float4 *in, int pieces)
{
    __shared__ float4 s[2][128];
    float sum = 0;
    const float4 *from = in + (size_t)blockIdx.x * pieces * 128;
    __pipeline_memcpy_async(&s[0][threadIdx.x], &from[threadIdx.x], 16);
    __pipeline_commit();
    for (int k = 0; k < pieces; k++) {
        if (k + 1 < pieces)
            __pipeline_memcpy_async(&s[k + 1 & 1][threadIdx.x],
                                    &from[(k + 1) * 128 + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            const float4 v = s[k & 1][(threadIdx.x + i * 8) & 127];
            sum += v.x + v.y + v.z + v.w;
        }
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}
#ifdef HOST
/* Returns the median time of a launch. Writing 256 MiB evicts its data from the L2. */
template <class F> static float time_us(F launch)
{
    const int count = 21, bytes = 256 << 20;
    float all[count];
    char *flush;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMalloc(&flush, bytes);
    for (int i = 0; i < count; i++) {
        cudaMemset(flush, i, bytes);
        cudaEventRecord(begin);
        launch();
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&all[i], begin, end);
    }
    cudaFree(flush);
    std::sort(all, all + count);
    return all[count / 2] * 1000;
}

int main()
{
    float *a, *b, *c;
    cudaMalloc(&a, 1 << 28);
    cudaMalloc(&b, 1 << 28);
    cudaMalloc(&c, 1 << 28);
    printf("kernel,size,staged_us,async_us\n");
    for (int n : {256, 512, 1024}) {
        const dim3 grid(n / T, n / T), block(T, T);
        printf("matmul,%d,%.1f,", n, time_us([&] { matmul_staged<<<grid, block>>>(c, a, b, n); }));
        printf("%.1f\n", time_us([&] { matmul_async<<<grid, block>>>(c, a, b, n); }));
    }
    const int shapes[][2] = {{132, 64}, {132, 256}, {264, 64}, {1056, 64}};
    for (auto &shape : shapes) {
        const int blocks = shape[0], pieces = shape[1];
        const float4 *in = (const float4 *)a;
        printf("pieces,%dx%d,%.1f,", blocks, pieces,
               time_us([&] { pieces_staged<<<blocks, 128>>>(c, in, pieces); }));
        printf("%.1f\n", time_us([&] { pieces_async<<<blocks, 128>>>(c, in, pieces); }));
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
#endif
