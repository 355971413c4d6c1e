/* nvcc: -arch=sm_90a */
/* Textures of cubes, with and without layers, and fetches with a level of detail or gradients from textures that have only one level.
 * The faces of a cube are also written as a surface. */
#include <cuda_runtime.h>

/* Directions on a grid around the center, with every face. */
__device__ static float3 direction(int i, int n)
{
    return make_float3(2.0f * (i % n) / (n - 1) - 1.0f, 2.0f * (i / n % n) / (n - 1) - 1.0f, 2.0f * (i / n / n) / (n - 1) - 1.0f);
}

extern "C" __global__ void sample_cube(cudaTextureObject_t texture, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 d = direction(i, n);
    if (i < n * n * n)
        out[i] = texCubemap<float4>(texture, d.x, d.y, d.z);
}

extern "C" __global__ void sample_cube_layers(cudaTextureObject_t texture, float4 *out, int n, int layers)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 d = direction(i, n);
    if (i < n * n * n)
        out[i] = texCubemapLayered<float4>(texture, d.x, d.y, d.z, i % layers);
}

extern "C" __global__ void sample_levels(cudaTextureObject_t texture, float4 *out, int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    float x = scale * (i % n) / n, y = scale * (i / n) / n;
    out[i * 2] = tex2DLod<float4>(texture, x, y, 0.25f * (i % 7));
    out[i * 2 + 1] = tex2DGrad<float4>(texture, x, y, make_float2(x * 0.5f, 0.125f), make_float2(0.25f, y));
}

extern "C" __global__ void surface_cube(cudaSurfaceObject_t surface, unsigned *out)
{
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
    surfCubemapwrite((unsigned)(face * 10000 + y * 100 + x), surface, x * 4, y, face, cudaBoundaryModeTrap);
    __syncthreads();
    out[(face * blockDim.y + y) * blockDim.x + x] = surfCubemapread<unsigned>(surface, (x - 1) * 4, y + 1, face, cudaBoundaryModeClamp);
}
