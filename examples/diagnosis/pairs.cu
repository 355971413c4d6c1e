/* nvcc: -arch=compute_75 -lineinfo */
// Ten pairs of kernels. The first kernel of a pair has a flaw that costs memory bandwidth or
// latency; the second one computes the same without it. One launch file per pair is beside this
// file. docs/results/diagnosis-h200.md compares the predictions of the model with an H200.

// 1. Transposition of an n x n matrix. The lanes of a warp write words that are n words apart.
extern "C" __global__ void transpose_naive(float *out, const float *in, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[x * n + y + i] = in[(y + i) * n + x];
}

// A tile in shared memory makes both accesses coalesced. COLUMNS is the width of its rows: with 33
// words, the words of a column are in different banks.
template <int COLUMNS>
__device__ void transpose_through_tile(float *out, const float *in, int n)
{
    __shared__ float tile[32][COLUMNS];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_tiled(float *out, const float *in, int n)
{
    transpose_through_tile<33>(out, in, n);
}

// 2. One step of a heat equation on n x n cells. The step needs two of the eight words of a cell.
struct cell {
    float t, next, k, source;
    float x, y, volume, area;
};

extern "C" __global__ void heat_structs(struct cell *c, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int i = y * n + x;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
        return;
    c[i].next = c[i].t + c[i].k * (c[i - 1].t + c[i + 1].t + c[i - n].t + c[i + n].t - 4 * c[i].t);
}

extern "C" __global__ void heat_arrays(float *next, const float *t, const float *k, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int i = y * n + x;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
        return;
    next[i] = t[i] + k[i] * (t[i - 1] + t[i + 1] + t[i - n] + t[i + n] - 4 * t[i]);
}

// 3. Histogram of bytes. All threads increment the same 256 counters in global memory.
extern "C" __global__ void histogram_global(unsigned *count, const unsigned char *data, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&count[data[i]], 1u);
}

// Each block (of 256 threads) has counters of its own, and adds them to those in global memory.
extern "C" __global__ void histogram_shared(unsigned *count, const unsigned char *data, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    atomicAdd(&count[threadIdx.x], mine[threadIdx.x]);
}

// 4. Tiles without padding: the words of a column of the tile are all in the same bank.
extern "C" __global__ void tile_conflicts(float *out, const float *in, int n)
{
    transpose_through_tile<32>(out, in, n);
}

extern "C" __global__ void tile_padded(float *out, const float *in, int n)
{
    transpose_through_tile<33>(out, in, n);
}

// 5. Product of n x n matrices. The lanes of a warp have different rows and the same column.
extern "C" __global__ void product_swapped(float *c, const float *a, const float *b, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void product_coalesced(float *c, const float *a, const float *b, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// 6. Product of a matrix and a vector. Each thread has a row, so a warp reads 32 rows at a time.
extern "C" __global__ void matvec_thread(float *y, const float *a, const float *x, int rows,
                                         int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = 0; k < columns; k++)
        sum += a[row * columns + k] * x[k];
    y[row] = sum;
}

// Each warp has a row.
extern "C" __global__ void matvec_warp(float *y, const float *a, const float *x, int rows,
                                       int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = lane; k < columns; k += 32)
        sum += a[row * columns + k] * x[k];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0)
        y[row] = sum;
}

// 7. Counts the values below each of several limits. A block reads its tile once per limit.
__device__ void count_in_tile(unsigned *below, const float *values, const float *limits,
                              int n_limits, int tile)
{
    __shared__ unsigned count;
    const float *mine = values + (size_t)blockIdx.x * tile;
    for (int l = 0; l < n_limits; l++) {
        float limit = limits[l];
        unsigned sum = 0;
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < tile; i += blockDim.x)
            sum += mine[i] < limit;
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&count, sum);
        __syncthreads();
        if (threadIdx.x == 0)
            below[l * gridDim.x + blockIdx.x] = count;
        __syncthreads();
    }
}

// With a tile of 256 KiB, the L1 no longer has the beginning of the tile at the next limit.
extern "C" __global__ void count_large_tile(unsigned *below, const float *values,
                                            const float *limits, int n_limits)
{
    count_in_tile(below, values, limits, n_limits, 65536);
}

extern "C" __global__ void count_small_tile(unsigned *below, const float *values,
                                            const float *limits, int n_limits)
{
    count_in_tile(below, values, limits, n_limits, 16384);
}

// 8. Sums of the columns of a matrix. Each block has a column, so the lanes of a warp read words
// that are a row apart.
extern "C" __global__ void columns_strided(float *sums, const float *a, int rows, int columns)
{
    __shared__ float part[256];
    int column = blockIdx.x;
    float sum = 0;
    for (int row = threadIdx.x; row < rows; row += blockDim.x)
        sum += a[row * columns + column];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[column] = part[0];
}

// The lanes of a warp have neighbouring columns. Blocks are 32 x 8 threads; each has some rows.
extern "C" __global__ void columns_coalesced(float *sums, const float *a, int rows, int columns)
{
    __shared__ float part[8][32];
    int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int row = blockIdx.y * 8 + threadIdx.y; row < rows; row += gridDim.y * 8)
        sum += a[row * columns + column];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0)
        return;
    for (int i = 1; i < 8; i++)
        sum += part[i][threadIdx.x];
    atomicAdd(&sums[column], sum);
}

// 9. Distance of each signal from each pattern, one block per distance.
__device__ void find_distance(float *distance, const float *signals, const float *patterns,
                              int length, int signal, int pattern, int n_signals)
{
    __shared__ float part[8];
    const float *s = signals + (size_t)signal * length;
    const float *p = patterns + (size_t)pattern * length;
    float sum = 0;
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        sum += fabsf(s[i] - p[i]);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++)
            sum += part[i];
        distance[(size_t)pattern * n_signals + signal] = sum;
    }
}

// All signals are read for one pattern, then again for the next one. They do not fit into the L2.
extern "C" __global__ void distance_rows(float *distance, const float *signals,
                                         const float *patterns, int length)
{
    find_distance(distance, signals, patterns, length, blockIdx.x, blockIdx.y, gridDim.x);
}

// Blocks are numbered in tiles of 8 x 8: eight signals are read for eight patterns.
extern "C" __global__ void distance_tiles(float *distance, const float *signals,
                                          const float *patterns, int length)
{
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int tile = block / 64;
    int tiles_per_row = gridDim.x / 8;
    int signal = tile % tiles_per_row * 8 + block % 8;
    int pattern = tile / tiles_per_row * 8 + block / 8 % 8;
    find_distance(distance, signals, patterns, length, signal, pattern, gridDim.x);
}

// 10. Inverts an image with one byte per pixel. Each thread loads one byte, so that only few bytes
// are in flight at a time.
extern "C" __global__ void invert_bytes(unsigned char *out, const unsigned char *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 255 - in[i];
}

// Each thread loads 16 bytes at once.
extern "C" __global__ void invert_vectors(uint4 *out, const uint4 *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 16)
        return;
    uint4 v = in[i];
    out[i] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
}
