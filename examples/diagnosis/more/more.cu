/* nvcc: -arch=compute_75 -lineinfo */
// Ten further pairs of kernels. The first kernel of a pair has a flaw that costs bandwidth or
// latency of memory; the second one computes the same without it. One launch file per pair is
// beside this file. docs/results/diagnosis-h200.md compares predictions of the model with an H200.

// 1. A scaled copy of an n x n matrix. The lanes of a warp have words that are n words apart.
extern "C" __global__ void scale_columns(float *out, const float *in, float factor, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        out[row * n + column] = factor * in[row * n + column];
}

extern "C" __global__ void scale_rows(float *out, const float *in, float factor, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        out[row * n + column] = factor * in[row * n + column];
}

// 2. Moves particles. The update needs six of the 16 words of a particle.
struct particle {
    float x, y, z, mass;
    float fx, fy, fz, charge;
    float vx, vy, vz, age;
    int id, cell, flags, unused;
};

extern "C" __global__ void move_particles(struct particle *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    p[i].x += dt * p[i].vx;
    p[i].y += dt * p[i].vy;
    p[i].z += dt * p[i].vz;
}

// The coordinates x, y and z of all particles are three arrays that follow each other.
extern "C" __global__ void move_arrays(float *position, const float *velocity, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    position[i] += dt * velocity[i];
    position[n + i] += dt * velocity[n + i];
    position[2 * n + i] += dt * velocity[2 * n + i];
}

// 3. Counts labels from 0 to 63. Small labels are frequent.
extern "C" __global__ void count_labels_global(unsigned *count, const int *label, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&count[label[i]], 1u);
}

// Each of the eight warps of a block has counters of its own in shared memory.
extern "C" __global__ void count_labels_warps(unsigned *count, const int *label, int n)
{
    __shared__ unsigned mine[8][64];
    int warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x)
        mine[i / 64][i % 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[warp][label[i]], 1u);
    __syncthreads();
    if (threadIdx.x >= 64)
        return;
    unsigned sum = 0;
    for (int i = 0; i < 8; i++)
        sum += mine[i][threadIdx.x];
    atomicAdd(&count[threadIdx.x], sum);
}

// 4. Sums of 256 values per block. The active threads read words of shared memory that are 2 * s
// words apart.
extern "C" __global__ void sum_interleaved(float *sums, const float *in)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned s = 1; s < 256; s *= 2) {
        unsigned i = 2 * s * t;
        if (i < 256)
            part[i] += part[i + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

extern "C" __global__ void sum_sequential(float *sums, const float *in)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned s = 128; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

// 5. Transposes matrices of 32 x 32 doubles, one per block. WIDTH is the width of the tile's rows.
template <int WIDTH>
__device__ void transpose_matrix(double *out, const double *in)
{
    __shared__ double tile[32][WIDTH];
    size_t first = (size_t)blockIdx.x * 1024;
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = in[first + i * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        out[first + i * 32 + threadIdx.x] = tile[threadIdx.x][i];
}

extern "C" __global__ void batch_unpadded(double *out, const double *in)
{
    transpose_matrix<32>(out, in);
}

extern "C" __global__ void batch_padded(double *out, const double *in)
{
    transpose_matrix<33>(out, in);
}

// 6. A stencil on n x n x n points.
__device__ void update_point(float *out, const float *in, int n, int x, int y, int z)
{
    int i = (z * n + y) * n + x;
    if (x == 0 || y == 0 || z == 0 || x >= n - 1 || y >= n - 1 || z >= n - 1)
        return;
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] +
                                    in[i + n * n]);
}

// The lanes of a warp have neighbouring z.
extern "C" __global__ void stencil_along_z(float *out, const float *in, int n)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    update_point(out, in, n, blockIdx.z, y, z);
}

extern "C" __global__ void stencil_along_x(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    update_point(out, in, n, x, y, blockIdx.z);
}

// 7. Scalar product. Each block of 256 threads writes its sum.
__device__ void sum_of_block(float *sums, float sum)
{
    __shared__ float part[8];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 8; i++)
        sum += part[i];
    sums[blockIdx.x] = sum;
}

// Each thread has a segment of contiguous values.
extern "C" __global__ void dot_segments(float *sums, const float *a, const float *b, int n)
{
    int length = n / (gridDim.x * blockDim.x);
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * length;
    float sum = 0;
    for (int i = first; i < first + length; i++)
        sum += a[i] * b[i];
    sum_of_block(sums, sum);
}

extern "C" __global__ void dot_strided(float *sums, const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    sum_of_block(sums, sum);
}

// 8. Sums the values of a table at the indices of a list.
__device__ void sum_indexed(float *sums, const float *table, const int *index, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += table[index[i]];
    sum_of_block(sums, sum);
}

// The list is in no particular order.
extern "C" __global__ void gather_shuffled(float *sums, const float *table, const int *index, int n)
{
    sum_indexed(sums, table, index, n);
}

// The list has the same indices in ascending order.
extern "C" __global__ void gather_sorted(float *sums, const float *table, const int *index, int n)
{
    sum_indexed(sums, table, index, n);
}

// 9. Convolution with 31 weights. Each thread reads 31 values from global memory. The input has 30
// values more than the output.
extern "C" __global__ void convolve_global(float *out, const float *in, const float *weight, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int k = 0; k < 31; k++)
        sum += weight[k] * in[i + k];
    out[i] = sum;
}

// Each block (of 256 threads) loads its values and the weights into shared memory first.
extern "C" __global__ void convolve_tile(float *out, const float *in, const float *weight, int n)
{
    __shared__ float tile[256 + 30], w[31];
    int first = blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256 + 30 && first + i < n + 30; i += 256)
        tile[i] = in[first + i];
    if (threadIdx.x < 31)
        w[threadIdx.x] = weight[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 31; k++)
        sum += w[k] * tile[threadIdx.x + k];
    if (first + threadIdx.x < n)
        out[first + threadIdx.x] = sum;
}

// 10. Softmax of the rows of a matrix, one block of 1024 threads per row.
__device__ float maximum_of_block(float value)
{
    __shared__ float part[32];
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[threadIdx.x % 32];
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    return value;
}

__device__ float total_of_block(float value)
{
    __shared__ float part[32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[threadIdx.x % 32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// Reads the row three times. With rows of 128 KiB, those of two blocks are larger than the L1.
extern "C" __global__ void softmax_three_reads(float *out, const float *in, int columns)
{
    const float *row = in + (size_t)blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        largest = fmaxf(largest, row[i]);
    largest = maximum_of_block(largest);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - largest);
    sum = total_of_block(sum);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[(size_t)blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

// Reads the row once and keeps it in registers. Rows have 32 values per thread.
extern "C" __global__ void softmax_one_read(float *out, const float *in, int columns)
{
    const float *row = in + (size_t)blockIdx.x * columns;
    float value[32], largest = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < 32; i++)
        value[i] = row[i * 1024 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 32; i++)
        largest = fmaxf(largest, value[i]);
    largest = maximum_of_block(largest);
#pragma unroll
    for (int i = 0; i < 32; i++) {
        value[i] = expf(value[i] - largest);
        sum += value[i];
    }
    sum = total_of_block(sum);
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[(size_t)blockIdx.x * columns + i * 1024 + threadIdx.x] = value[i] / sum;
}
