/* nvcc: -arch=sm_90 */
/* Copies and transpositions, in various layouts. */
#include <cuda.h>
#include <cuda_pipeline.h>

extern "C" __global__ void transpose_padded(float *out, const float *__restrict__ x, int rows,
                                            int columns)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * columns + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_naive(float *out, const float *__restrict__ x, int rows,
                                           int columns)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    out[c * rows + r] = x[r * columns + c];
}

extern "C" __global__ void copy_strided(float *out, const float *__restrict__ x, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i * stride];
}

extern "C" __global__ void copy_vectors(float4 *out, const float4 *__restrict__ x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = x[i];
}

/* A copy whose source is not aligned to sectors. */
extern "C" __global__ void copy_shifted(float *out, const float *__restrict__ x, int n, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i + shift];
}

extern "C" __global__ void copy_bytes(unsigned char *out, const unsigned char *__restrict__ x,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i];
}

struct particle {
    float x, y, z, vx, vy, vz, mass, charge, age, type;
};

extern "C" __global__ void move_structs(particle *p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    p[i].x += p[i].vx * dt;
    p[i].y += p[i].vy * dt;
    p[i].z += p[i].vz * dt;
}

extern "C" __global__ void move_arrays(float *x, float *y, float *z, const float *__restrict__ vx,
                                       const float *__restrict__ vy, const float *__restrict__ vz,
                                       int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    x[i] += vx[i] * dt;
    y[i] += vy[i] * dt;
    z[i] += vz[i] * dt;
}

/* Writes 8 of each 32 bytes. */
extern "C" __global__ void write_parts(float2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i * 4] = make_float2(i, -i);
}

/* Colour to grey: three bytes in, one byte out. */
extern "C" __global__ void grey(unsigned char *out, const uchar3 *__restrict__ x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uchar3 v = x[i];
    out[i] = (v.x * 77 + v.y * 150 + v.z * 29) >> 8;
}

/* cp.async copies the tiles, in two stages. */
extern "C" __global__ void copy_async(float4 *out, const float4 *__restrict__ x, int tiles)
{
    __shared__ float4 buffer[2][256];
    int first = blockIdx.x, stage = 0;
    if (first < tiles)
        __pipeline_memcpy_async(&buffer[0][threadIdx.x], &x[first * 256 + threadIdx.x], 16);
    __pipeline_commit();
    for (int tile = first; tile < tiles; tile += gridDim.x) {
        int next = tile + gridDim.x;
        if (next < tiles)
            __pipeline_memcpy_async(&buffer[1 - stage][threadIdx.x], &x[next * 256 + threadIdx.x],
                                    16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = buffer[stage][255 - threadIdx.x];
        out[tile * 256 + 255 - threadIdx.x] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
        __syncthreads();
        stage = 1 - stage;
    }
}

/* A 64 x 32 tile per block by the copy engine (TMA), in and out. */
extern "C" __global__ void copy_tiles(const __grid_constant__ CUtensorMap in,
                                      const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) float tile[32 * 64];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned at = (unsigned)__cvta_generic_to_shared(tile),
             bar = (unsigned)__cvta_generic_to_shared(&barrier);
    int x = blockIdx.x * 64, y = blockIdx.y * 32;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8192;" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(at),
                     "l"(&in), "r"(x), "r"(y), "r"(bar)
                     : "memory");
    }
    __syncthreads();
    asm volatile(
        "{\n .reg .pred p;\n"
        "again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n @!p bra again;\n}" ::"r"(bar)
        : "memory");
    for (int i = threadIdx.x; i < 2048; i += blockDim.x)
        tile[i] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                &out),
            "r"(x), "r"(y), "r"(at)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
