// Products of matrices: floats with tiles in shared memory, halves with tensor cores.
#include "../../programs/expect.h"
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

namespace wmma = nvcuda::wmma;

static const int N = 96, TILE = 16;

__global__ void gemm(const float *a, const float *b, float *c, int n, float alpha, float beta)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// One warp per tile of the result.
__global__ void gemm_halves(const half *a, const half *b, float *c, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int row = blockIdx.y * 16, column = (blockIdx.x * 2 + threadIdx.x / 32) * 16;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + k * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

int main()
{
    std::vector<float> a(N * N), b(N * N), c(N * N, 2.0f), product(N * N), back(N * N);
    std::vector<half> half_a(N * N), half_b(N * N);
    // Multiples of an eighth, so that every sum is exact.
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i * 7 % 23 - 11) * 0.125f;
        b[i] = (float)(i * 5 % 19 - 9) * 0.25f;
        half_a[i] = __float2half(a[i]);
        half_b[i] = __float2half(b[i]);
    }
    for (int row = 0; row < N; row++)
        for (int k = 0; k < N; k++)
            for (int column = 0; column < N; column++)
                product[row * N + column] += a[row * N + k] * b[k * N + column];
    const size_t bytes = N * N * sizeof(float);
    float *device_a, *device_b, *device_c;
    half *device_half_a, *device_half_b;
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    CHECK(cudaMalloc(&device_half_a, bytes / 2));
    CHECK(cudaMalloc(&device_half_b, bytes / 2));
    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_c, c.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_half_a, half_a.data(), bytes / 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_half_b, half_b.data(), bytes / 2, cudaMemcpyHostToDevice));
    gemm<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(device_a, device_b, device_c, N, 0.5f,
                                                         3.0f);
    CHECK(cudaMemcpy(back.data(), device_c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N * N; i++)
        EXPECT(back[i] == 0.5f * product[i] + 6.0f);
    gemm_halves<<<dim3(N / 32, N / 16), 64>>>(device_half_a, device_half_b, device_c, N);
    CHECK(cudaMemcpy(back.data(), device_c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N * N; i++)
        EXPECT(back[i] == product[i]);
    return finish();
}
