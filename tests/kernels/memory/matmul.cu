/* nvcc: -arch=sm_75 */

/* The matrix product, naive and with tiles in shared memory; any matrix size is allowed. */
#define TILE 8

extern "C" __global__ void matmul_naive(int m, int n, int k, const float *a, const float *b,
                                        float *c)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled(int m, int n, int k, const float *a, const float *b,
                                        float *c)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int tile = 0; tile < k; tile += TILE) {
        left[y][x] = row < m && tile + x < k ? a[row * k + tile + x] : 0;
        right[y][x] = column < n && tile + y < k ? b[(tile + y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
