/* nvcc: -arch=sm_75 */

/* Textures with two and three dimensions and with layers, and surfaces. */
extern "C" __global__ void sample_bilinear(cudaTextureObject_t texture, int n, const float2 *at,
                                           float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

extern "C" __global__ void sample_volume(cudaTextureObject_t texture, int n, const float3 *at,
                                         int2 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex3D<int2>(texture, at[i].x, at[i].y, at[i].z);
}

extern "C" __global__ void sample_layers(cudaTextureObject_t texture, int n, const float2 *at,
                                         float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2DLayered<float4>(texture, at[i].x, at[i].y, i % 3);
}

extern "C" __global__ void gather(cudaTextureObject_t texture, int n, const float2 *at, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex2Dgather<float4>(texture, at[i].x, at[i].y, 1);
}

/* Adds the four neighbours of each element; those outside are the nearest ones inside. */
extern "C" __global__ void add_neighbours(cudaSurfaceObject_t in, cudaSurfaceObject_t out,
                                          int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int sum = surf2Dread<int>(in, 4 * (x - 1), y, cudaBoundaryModeClamp) +
              surf2Dread<int>(in, 4 * (x + 1), y, cudaBoundaryModeClamp) +
              surf2Dread<int>(in, 4 * x, y - 1, cudaBoundaryModeClamp) +
              surf2Dread<int>(in, 4 * x, y + 1, cudaBoundaryModeClamp);
    /* Threads outside of the surface write nothing. */
    surf2Dwrite(sum, out, 4 * x, y, cudaBoundaryModeZero);
    if (x == width && y == height)
        surf2Dwrite(sum, out, -4, 0, cudaBoundaryModeZero);
}
