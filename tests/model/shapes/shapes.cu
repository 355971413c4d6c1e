/* nvcc: -arch=sm_90 */
/* Kernels whose reads share lines and sectors in different ways: stencils, filters, gathers,
   products of matrices, sweeps and copies. The model was tuned on them;
   docs/results/h200/requests.md uses their counters. */
extern "C" __global__ void plus(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    int i = r * w + c;
    out[i] = x[i - w] + x[i + w] + x[i - 1] + x[i + 1] - 4 * x[i];
}
extern "C" __global__ void cross_only(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 2 || r < 1 || c >= w - 2 || r >= h - 1)
        return;
    int i = r * w + c;
    out[i] = x[i - 2] + x[i + 2];
}
extern "C" __global__ void box_u8(unsigned char *out, const unsigned char *__restrict__ x, int w,
                                  int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    const unsigned char *p = x + r * w + c;
    int s = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            s += p[j * w + i];
    out[r * w + c] = s / 9;
}
extern "C" __global__ void conv7(float *out, const float *__restrict__ x,
                                 const float *__restrict__ f, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= w - 6 || r >= h - 6)
        return;
    float s = 0;
    for (int j = 0; j < 7; j++)
        for (int i = 0; i < 7; i++)
            s += x[(r + j) * w + c + i] * f[j * 7 + i];
    out[r * w + c] = s;
}
extern "C" __global__ void near_gather(float *out, const float *__restrict__ x,
                                       const int *__restrict__ shift, int n, int span)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = 0;
    for (int k = 0; k < 4; k++) {
        int j = i + (int)((unsigned)(shift[i] * (2 * k + 1)) % (unsigned)span) - span / 2;
        j = j < 0 ? 0 : j >= n ? n - 1 : j;
        s += x[j];
    }
    out[i] = s;
}
extern "C" __global__ void mul_naive(float *c, const float *__restrict__ a,
                                     const float *__restrict__ b, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int i = 0; i < k; i++)
        s += a[row * k + i] * b[i * n + col];
    c[row * n + col] = s;
}
template <int T> __device__ void mul_tile(float *c, const float *a, const float *b, int n, int k)
{
    __shared__ float ta[T][T + 1], tb[T][T + 1];
    int col = blockIdx.x * T + threadIdx.x, row = blockIdx.y * T + threadIdx.y;
    float s = 0;
    for (int t = 0; t < k; t += T) {
        ta[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < T; i++)
            s += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = s;
}
extern "C" __global__ void mul_tile32(float *c, const float *__restrict__ a,
                                      const float *__restrict__ b, int n, int k)
{
    mul_tile<32>(c, a, b, n, k);
}
extern "C" __global__ void mul_tile8(float *c, const float *__restrict__ a,
                                     const float *__restrict__ b, int n, int k)
{
    mul_tile<8>(c, a, b, n, k);
}
/* 32 x 32 tile, 2 x 2 per thread */
extern "C" __global__ void __launch_bounds__(256)
    mul_reg2(float *c, const float *__restrict__ a, const float *__restrict__ b, int n, int k)
{
    __shared__ float ta[32][33], tb[32][33];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 32, col = blockIdx.x * 32;
    float s[2][2] = {};
    for (int t = 0; t < k; t += 32) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            ta[i / 32][i % 32] = a[(row + i / 32) * k + t + i % 32];
            tb[i / 32][i % 32] = b[(t + i / 32) * n + col + i % 32];
        }
        __syncthreads();
        for (int i = 0; i < 32; i++)
            for (int u = 0; u < 2; u++)
                for (int v = 0; v < 2; v++)
                    s[u][v] += ta[y + 16 * u][i] * tb[i][x + 16 * v];
        __syncthreads();
    }
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++)
            c[(row + y + 16 * u) * n + col + x + 16 * v] = s[u][v];
}
/* 128 x 64 tile, 8 x 4 per thread, float4 loads */
extern "C" __global__ void __launch_bounds__(256)
    mul_reg8(float *c, const float *__restrict__ a, const float *__restrict__ b, int n, int k)
{
    __shared__ float ta[8][132], tb[8][64];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 128, col = blockIdx.x * 64;
    float s[8][4] = {};
    for (int t = 0; t < k; t += 8) {
        float4 v = *(const float4 *)&a[(row + threadIdx.x / 2) * k + t + threadIdx.x % 2 * 4];
        int m = threadIdx.x / 2, l = threadIdx.x % 2 * 4;
        ta[l][m] = v.x;
        ta[l + 1][m] = v.y;
        ta[l + 2][m] = v.z;
        ta[l + 3][m] = v.w;
        if (threadIdx.x < 128)
            *(float4 *)&tb[threadIdx.x / 16][threadIdx.x % 16 * 4] =
                *(const float4 *)&b[(t + threadIdx.x / 16) * n + col + threadIdx.x % 16 * 4];
        __syncthreads();
        for (int i = 0; i < 8; i++)
            for (int u = 0; u < 8; u++)
                for (int w = 0; w < 4; w++)
                    s[u][w] += ta[i][y * 8 + u] * tb[i][x * 4 + w];
        __syncthreads();
    }
    for (int u = 0; u < 8; u++)
        *(float4 *)&c[(row + y * 8 + u) * n + col + x * 4] =
            make_float4(s[u][0], s[u][1], s[u][2], s[u][3]);
}
/* every block reads a whole table in the same order */
extern "C" __global__ void scan_table(float *out, const float4 *__restrict__ x, int n)
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = x[i];
        s += v.x * v.y + v.z * v.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
/* each warp re-reads its own rows; the number of passes differs between threads' blocks */
extern "C" __global__ void uneven_rows(float *out, const float *__restrict__ x, int words,
                                       int passes)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *row = x + warp * words;
    float s = 0;
    int p = 1 + (warp * 2654435761u >> 16) % passes;
    for (int k = 0; k < p; k++)
        for (int i = lane; i < words; i += 32)
            s += row[i] * (k + 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
/* each thread walks its own row, of uneven length */
extern "C" __global__ void uneven_threads(float *out, const float *__restrict__ x, int words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int len = 1 + (i * 2654435761u >> 16) % words;
    float s = 0;
    for (int k = 0; k < len; k++)
        s += x[i * words + k];
    out[i] = s;
}
extern "C" __global__ void copy_u8(unsigned char *out, const unsigned char *__restrict__ x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] ^ 1;
}
extern "C" __global__ void copy_u16x2(unsigned short *out, const unsigned short *__restrict__ x,
                                      int n)
{
    int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    unsigned short a = x[i], b = x[i + blockDim.x];
    out[i] = a + 1;
    out[i + blockDim.x] = b + 1;
}
/* pairs of sectors of one warp: a and b are in the same line */
extern "C" __global__ void pairs(unsigned *x, int distance)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, low = i / distance * distance * 2 + i % distance;
    unsigned a = x[low], b = x[low + distance];
    x[low] = a + b;
    x[low + distance] = a - b;
}
extern "C" __global__ void row_sum_u8(int *out, const unsigned char *__restrict__ x, int w)
{
    const unsigned char *row = x + (size_t)blockIdx.x * w;
    int s = 0;
    for (int i = threadIdx.x; i < w; i += blockDim.x)
        s += row[i];
    atomicAdd(&out[blockIdx.x], s);
}
/* each block sweeps its own part several times */
template <int UNROLL, bool SYNC>
__device__ void sweep_part(float *out, const float *__restrict__ x, int words, int rounds)
{
    const float *part = x + (size_t)blockIdx.x * words;
    float s = 0;
    for (int r = 0; r < rounds; r++) {
#pragma unroll UNROLL
        for (int i = threadIdx.x; i < words; i += blockDim.x)
            s += part[i];
        if (SYNC)
            __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void sweep1(float *out, const float *__restrict__ x, int words, int rounds)
{
    sweep_part<1, false>(out, x, words, rounds);
}
extern "C" __global__ void sweep1_sync(float *out, const float *__restrict__ x, int words,
                                       int rounds)
{
    sweep_part<1, true>(out, x, words, rounds);
}
extern "C" __global__ void sweep4(float *out, const float *__restrict__ x, int words, int rounds)
{
    sweep_part<4, false>(out, x, words, rounds);
}
extern "C" __global__ void sweep4_sync(float *out, const float *__restrict__ x, int words,
                                       int rounds)
{
    sweep_part<4, true>(out, x, words, rounds);
}
/* each thread reads its own row */
extern "C" __global__ void thread_rows(float *out, const float *__restrict__ x, int stride,
                                       int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < words; k++)
        s += x[(size_t)i * stride + k];
    out[i] = s;
}
/* blocks sweep windows that overlap */
extern "C" __global__ void windows(float *out, const float *__restrict__ x, int words, int shift,
                                   int window)
{
    float s = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        s += x[(blockIdx.x * shift + i) % window];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
/* each block reads random words of its own part */
extern "C" __global__ void random_part(float *out, const float *__restrict__ x, int words,
                                       int reads)
{
    const float *part = x + (size_t)blockIdx.x * words;
    unsigned a = blockIdx.x * 747796405u + threadIdx.x * 2891336453u + 1;
    float s = 0;
    for (int k = 0; k < reads; k++) {
        a = a * 1664525u + 1013904223u;
        s += part[(a >> 8) % words];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
