/* nvcc: -arch=sm_90 */
/* Reductions, scans and histograms. */

extern "C" __global__ void reduce_shared(float *out, const float *__restrict__ x, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * 512 + threadIdx.x;
    part[threadIdx.x] = (i < n ? x[i] : 0) + (i + 256 < n ? x[i + 256] : 0);
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

/* As many blocks as fit, each with a grid-stride loop over float4. */
extern "C" __global__ void reduce_shuffle(float *out, const float4 *__restrict__ x, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

/* Sums of columns of a matrix: a warp reads 32 adjacent columns of a row. */
extern "C" __global__ void reduce_columns(float *out, const float *__restrict__ x, int rows,
                                          int columns)
{
    __shared__ float part[8][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int row = blockIdx.y * 8 + threadIdx.y; row < rows; row += gridDim.y * 8)
        sum += x[(size_t)row * columns + column];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0) {
        for (int i = 1; i < 8; i++)
            sum += part[i][threadIdx.x];
        atomicAdd(out + column, sum);
    }
}

extern "C" __global__ void scan_blocks(float *out, float *sums, const float *__restrict__ x)
{
    __shared__ float line[2][512];
    int i = blockIdx.x * 512 + threadIdx.x, from = 0;
    line[0][threadIdx.x] = x[i];
    for (int d = 1; d < 512; d *= 2) {
        __syncthreads();
        float v = line[from][threadIdx.x];
        line[1 - from][threadIdx.x] = threadIdx.x >= d ? v + line[from][threadIdx.x - d] : v;
        from = 1 - from;
    }
    out[i] = line[from][threadIdx.x];
    if (threadIdx.x == 511)
        sums[blockIdx.x] = line[from][511];
}

/* The second half of a scan: adds the sum of all blocks before it to every element of a block. */
extern "C" __global__ void scan_offsets(float *x, const float *__restrict__ sums)
{
    x[blockIdx.x * 512 + threadIdx.x] += blockIdx.x ? sums[blockIdx.x - 1] : 0;
}

extern "C" __global__ void histogram_shared(unsigned *bins, const unsigned *__restrict__ x, int n)
{
    __shared__ unsigned count[256];
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        unsigned v = x[i];
        for (int b = 0; b < 4; b++)
            atomicAdd(&count[v >> 8 * b & 255], 1);
    }
    __syncthreads();
    atomicAdd(bins + threadIdx.x, count[threadIdx.x]);
}

extern "C" __global__ void histogram_global(unsigned *bins, const unsigned *__restrict__ x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(bins + (x[i] & 0xffff), 1);
}

/* A warp per segment; the lengths of the segments vary between 0 and 300. */
extern "C" __global__ void segmented_sum(float *out, const float *__restrict__ x,
                                         const int *__restrict__ offsets, int segments)
{
    int segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (segment >= segments)
        return;
    float sum = 0;
    for (int i = offsets[segment] + lane; i < offsets[segment + 1]; i += 32)
        sum += x[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        out[segment] = sum;
}
