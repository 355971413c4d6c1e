/* nvcc: -arch=sm_90 */
/* Dense matrices: products, factorisations, convolutions. */
#include <mma.h>

extern "C" __global__ void product_naive(float *c, const float *__restrict__ a,
                                         const float *__restrict__ b, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void product_tiled(float *c, const float *__restrict__ a,
                                         const float *__restrict__ b, int n, int k)
{
    __shared__ float ta[16][16], tb[16][17];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        ta[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* A 64 x 64 tile per block, 4 x 4 elements per thread. */
extern "C" __global__ void __launch_bounds__(256)
    product_registers(float *c, const float *__restrict__ a, const float *__restrict__ b, int n,
                      int k)
{
    __shared__ float ta[16][65], tb[16][64];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int t = 0; t < k; t += 16) {
        for (int i = 0; i < 4; i++) {
            ta[x][y + 16 * i] = a[(row + y + 16 * i) * k + t + x];
            tb[threadIdx.x / 64 + 4 * i][threadIdx.x % 64] =
                b[(t + threadIdx.x / 64 + 4 * i) * n + column + threadIdx.x % 64];
        }
        __syncthreads();
        for (int i = 0; i < 16; i++)
            for (int u = 0; u < 4; u++)
                for (int v = 0; v < 4; v++)
                    sum[u][v] += ta[i][y * 4 + u] * tb[i][x * 4 + v];
        __syncthreads();
    }
    for (int u = 0; u < 4; u++)
        *(float4 *)&c[(row + y * 4 + u) * n + column + x * 4] =
            make_float4(sum[u][0], sum[u][1], sum[u][2], sum[u][3]);
}

/* A 16 x 16 tile per warp, straight from global memory. */
extern "C" __global__ void product_wmma(float *c, const half *__restrict__ a,
                                        const half *__restrict__ b, int n, int k)
{
    using namespace nvcuda::wmma;
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16,
        column = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0);
    for (int i = 0; i < k; i += 16) {
        load_matrix_sync(fa, a + row * k + i, k);
        load_matrix_sync(fb, b + i * n + column, n);
        mma_sync(sum, fa, fb, sum);
    }
    store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}

/* Many products of 16 x 16 matrices, one per block. */
extern "C" __global__ void product_batched(float *c, const float *__restrict__ a,
                                           const float *__restrict__ b)
{
    __shared__ float ta[16][17], tb[16][17];
    int at = blockIdx.x * 256 + threadIdx.y * 16 + threadIdx.x;
    ta[threadIdx.y][threadIdx.x] = a[at];
    tb[threadIdx.y][threadIdx.x] = b[at];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 16; i++)
        sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    c[at] = sum;
}

extern "C" __global__ void vector_rows(float *y, const float4 *__restrict__ a,
                                       const float4 *__restrict__ x, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < columns / 4; i += 32) {
        float4 u = a[row * (columns / 4) + i], v = x[i];
        sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

/* y = A^T x: a thread per column, the rows divided among blocks. */
extern "C" __global__ void vector_columns(float *y, const float *__restrict__ a,
                                          const float *__restrict__ x, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int row = blockIdx.y; row < rows; row += gridDim.y)
        sum += a[row * columns + column] * x[row];
    atomicAdd(y + column, sum);
}

/* 3 x 3 convolution of 16 channels to 32, a thread per output. */
extern "C" __global__ void convolve(float *out, const float *__restrict__ x,
                                    const float *__restrict__ weights, int w, int h, int channels)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y,
        filter = blockIdx.z;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    float sum = 0;
    for (int k = 0; k < channels; k++)
        for (int dy = 0; dy < 3; dy++)
            for (int dx = 0; dx < 3; dx++)
                sum += x[(k * h + r + dy - 1) * w + c + dx - 1] *
                       weights[((filter * channels + k) * 3 + dy) * 3 + dx];
    out[(filter * h + r) * w + c] = sum;
}

extern "C" __global__ void image_columns(float *out, const float *__restrict__ x, int w, int h,
                                         int channels)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (pixel >= w * h)
        return;
    int r = pixel / w, c = pixel % w;
    for (int t = 0; t < 9; t++) {
        int y = r + t / 3 - 1, z = c + t % 3 - 1;
        bool inside = y >= 0 && z >= 0 && y < h && z < w;
        out[(channel * 9 + t) * w * h + pixel] = inside ? x[(channel * h + y) * w + z] : 0;
    }
}

/* The update of the rest of the matrix in step `k` of an LU factorisation. */
extern "C" __global__ void lu_step(float *a, int n, int k)
{
    int column = k + 1 + blockIdx.x * blockDim.x + threadIdx.x,
        row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        a[row * n + column] -= a[row * n + k] * a[k * n + column];
}

extern "C" __global__ void path_step(float *d, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        d[row * n + column] = fminf(d[row * n + column], d[row * n + k] + d[k * n + column]);
}

/* Product of a lower triangular matrix with a vector: rows differ in length, so that blocks end at
 * different times. */
extern "C" __global__ void lower_product(float *y, const float *__restrict__ l,
                                         const float *__restrict__ x, int n)
{
    __shared__ float part[8];
    int row = blockIdx.x, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = threadIdx.x; i <= row; i += blockDim.x)
        sum += l[row * n + i] * x[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        y[row] = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}
