/* nvcc: -arch=sm_90a */
/* Textures and surfaces through objects: one to three dimensions, layers, gathers. The sampling modes belong to the objects,
 * which the launch files describe. Each thread reads or writes one point. */
#include <cuda_runtime.h>

/* Coordinates from below 0 to above 1, or in texels from -extent to 2 extent. */
__device__ static float coordinate(int i, int count, float scale)
{
    return (3.0f * i / count - 1.0f) * scale;
}

extern "C" __global__ void linear_1d(cudaTextureObject_t texture, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float4>(texture, i - 2);
}

extern "C" __global__ void sample_1d(cudaTextureObject_t texture, float4 *out, int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1D<float4>(texture, coordinate(i, n, scale));
}

extern "C" __global__ void sample_2d(cudaTextureObject_t texture, float4 *out, int n, float scale_x, float scale_y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n)
        out[i] = tex2D<float4>(texture, coordinate(i % n, n, scale_x), coordinate(i / n, n, scale_y));
}

extern "C" __global__ void sample_3d(cudaTextureObject_t texture, float4 *out, int n, float scale_x, float scale_y, float scale_z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n * n)
        out[i] = tex3D<float4>(texture, coordinate(i % n, n, scale_x), coordinate(i / n % n, n, scale_y), coordinate(i / n / n, n, scale_z));
}

extern "C" __global__ void sample_layers_1d(cudaTextureObject_t texture, float4 *out, int n, float scale, int layers)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * layers)
        out[i] = tex1DLayered<float4>(texture, coordinate(i % n, n, scale), i / n);
}

extern "C" __global__ void sample_layers_2d(cudaTextureObject_t texture, float4 *out, int n, float scale_x, float scale_y, int layers)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n * layers)
        out[i] = tex2DLayered<float4>(texture, coordinate(i % n, n, scale_x), coordinate(i / n % n, n, scale_y), i / n / n);
}

extern "C" __global__ void gather_2d(cudaTextureObject_t texture, float4 *out, int n, float scale_x, float scale_y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    float x = coordinate(i % n, n, scale_x), y = coordinate(i / n, n, scale_y);
    float4 first = tex2Dgather<float4>(texture, x, y, 0), last = tex2Dgather<float4>(texture, x, y, 3);
    out[i * 2] = first;
    out[i * 2 + 1] = last;
}

/* Integers are read as they are. */
extern "C" __global__ void integers_2d(cudaTextureObject_t texture, uint4 *out, int n, float scale_x, float scale_y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n)
        out[i] = tex2D<uint4>(texture, coordinate(i % n, n, scale_x), coordinate(i / n, n, scale_y));
}

/* Reads and writes of surfaces; x counts bytes. Points outside are 0, or those at the edge. */
extern "C" __global__ void surface_1d(cudaSurfaceObject_t surface, unsigned *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        surf1Dwrite((unsigned)(i * 7 + 1), surface, i * 4, cudaBoundaryModeZero);
    __syncthreads();
    out[i * 2] = surf1Dread<unsigned>(surface, (i - 4) * 4, cudaBoundaryModeZero);
    out[i * 2 + 1] = surf1Dread<unsigned>(surface, (i - 4) * 4, cudaBoundaryModeClamp);
}

extern "C" __global__ void surface_2d(cudaSurfaceObject_t surface, uint2 *out, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite(make_uint2(x * 100 + y, x ^ y), surface, x * 8, y, cudaBoundaryModeTrap);
    __syncthreads();
    int i = y * blockDim.x + x;
    out[i * 2] = surf2Dread<uint2>(surface, (x - 2) * 8, y - 2, cudaBoundaryModeZero);
    out[i * 2 + 1] = surf2Dread<uint2>(surface, (x - 2) * 8, y - 2, cudaBoundaryModeClamp);
}

extern "C" __global__ void surface_3d(cudaSurfaceObject_t surface, unsigned short *out, int width, int height, int depth)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x < width && y < height && z < depth)
        surf3Dwrite((unsigned short)(x * 100 + y * 10 + z), surface, x * 2, y, z, cudaBoundaryModeTrap);
    __syncthreads();
    out[(z * blockDim.y + y) * blockDim.x + x] = surf3Dread<unsigned short>(surface, (x - 1) * 2, y - 1, z - 1, cudaBoundaryModeClamp);
}

extern "C" __global__ void surface_layers(cudaSurfaceObject_t surface, uint4 *out, int layers)
{
    int x = threadIdx.x, y = threadIdx.y;
    for (int layer = 0; layer < layers; layer++)
        surf2DLayeredwrite(make_uint4(x, y, layer, x * y), surface, x * 16, y, layer, cudaBoundaryModeTrap);
    __syncthreads();
    for (int layer = 0; layer < layers; layer++)
        out[(layer * blockDim.y + y) * blockDim.x + x] =
            surf2DLayeredread<uint4>(surface, (blockDim.x - 1 - x) * 16, y, layer, cudaBoundaryModeTrap);
}
