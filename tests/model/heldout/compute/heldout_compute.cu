/* nvcc: -arch=sm_90 */
/* Kernels with much arithmetic, with local and constant memory, with uneven work, and with
 * footprints near the size of a cache. */

extern "C" __global__ void bodies(float4 *acceleration, const float4 *__restrict__ body, int n)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = body[i];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < n; t += 256) {
        tile[threadIdx.x] = body[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = tile[j].w * r * r * r;
            x += dx * s;
            y += dy * s;
            z += dz * s;
        }
        __syncthreads();
    }
    acceleration[i] = make_float4(x, y, z, 0);
}

extern "C" __global__ void option_prices(float *call, float *put, const float *__restrict__ price,
                                         const float *__restrict__ strike,
                                         const float *__restrict__ years, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (__logf(s / x) + (0.02f + 0.5f * 0.09f) * t) / (0.3f * root), d2 = d1 - 0.3f * root;
    float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f),
          discount = __expf(-0.02f * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1 - n2) - s * (1 - n1);
}

/* Random walks whose visits are counted in an array per thread, which is in local memory. */
extern "C" __global__ void walks(float *out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = 16;
    unsigned state = i * 747796405u + 2891336453u;
    float visits[32];
    for (int k = 0; k < 32; k++)
        visits[k] = 0;
    for (int k = 0; k < steps; k++) {
        state = state * 1664525u + 1013904223u;
        at = (at + (state >> 30)) & 31;
        visits[at] += 1;
    }
    float sum = 0;
    for (int k = 0; k < 32; k++)
        sum += visits[k] * visits[k];
    out[i] = sum;
}

/* More values are live than 32 registers hold. */
extern "C" __global__ void __launch_bounds__(1024, 2)
    spills(float *out, const float *__restrict__ x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[40];
#pragma unroll
    for (int k = 0; k < 40; k++)
        v[k] = x[k * n + i];
#pragma unroll
    for (int r = 0; r < 3; r++)
#pragma unroll
        for (int k = 0; k < 40; k++)
            v[k] = v[k] * v[(k + 7) % 40] + v[(k + 13) % 40];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 40; k++)
        sum += v[k];
    out[i] = sum;
}

__constant__ float table[1024] = {1, 2, 3, 5, 7, 11, 13, 17};

/* A table in constant memory, with the same index for a warp in one lookup and different ones in
 * another. */
extern "C" __global__ void lookups(float *out, const unsigned char *__restrict__ x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[x[i]] * table[blockIdx.x & 1023];
}

/* One stage of a radix-2 Fourier transform, with twiddle factors from memory. */
extern "C" __global__ void fourier_stage(float2 *out, const float2 *__restrict__ x,
                                         const float2 *__restrict__ twiddles, int n, int span)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = i & (span - 1);
    float2 a = x[i], b = x[i + n / 2], t = twiddles[k * (n / 2 / span)];
    float2 c = make_float2(b.x * t.x - b.y * t.y, b.x * t.y + b.y * t.x);
    int at = ((i - k) << 1) + k;
    out[at] = make_float2(a.x + c.x, a.y + c.y);
    out[at + span] = make_float2(a.x - c.x, a.y - c.y);
}

/* Blocks with very different amounts of work, in several waves. */
extern "C" __global__ void uneven(float *out, const float *__restrict__ x,
                                  const int *__restrict__ lengths, int window)
{
    float sum = 0;
    int base = blockIdx.x * 64;
    for (int k = 0; k < lengths[blockIdx.x]; k++)
        sum += x[(base + k * 128 + threadIdx.x) % window];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Persistent blocks: each takes tiles until none is left, at a fixed distance. */
extern "C" __global__ void persistent_tiles(float *out, const float *__restrict__ x, int tiles,
                                            int columns)
{
    __shared__ float tile[32][33];
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        int c = t % (columns / 32) * 32, r = t / (columns / 32) * 32;
        for (int i = threadIdx.x / 32; i < 32; i += 8)
            tile[i][threadIdx.x % 32] = x[(r + i) * columns + c + threadIdx.x % 32];
        __syncthreads();
        float sum = 0;
        for (int i = 0; i < 32; i++)
            sum += tile[threadIdx.x % 32][i];
        for (int i = threadIdx.x / 32; i < 32; i += 8)
            out[(r + i) * columns + c + threadIdx.x % 32] = tile[i][threadIdx.x % 32] / sum;
        __syncthreads();
    }
}

/* Each block reads a part of its own `rounds` times. */
extern "C" __global__ void reread_parts(float *out, const float4 *__restrict__ x, int part,
                                        int rounds)
{
    float sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = threadIdx.x; i < part; i += blockDim.x) {
            float4 v = x[blockIdx.x * part + i];
            sum += v.x + v.y + v.z + v.w;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* The grid reads the whole array `rounds` times; each round begins at another place, so that
 * another SM reads the same line. */
extern "C" __global__ void reread_all(float *out, const float4 *__restrict__ x, int n, int rounds)
{
    float sum = 0;
    int threads = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++)
        for (int i = me; i < n; i += threads) {
            int at = i + r * 5 * 1024;
            float4 v = x[at < n ? at : at - n];
            sum += v.x + v.y + v.z + v.w;
        }
    out[me] = sum;
}
