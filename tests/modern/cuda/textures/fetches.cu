/* nvcc: -arch=sm_90a */
/* Texture fetches at coordinates from memory, one per thread: x, y, z and the layer. */
#include <cuda_runtime.h>

#define FETCH(name, type, call)                                                                      \
    extern "C" __global__ void name(cudaTextureObject_t texture, const float4 *coordinates, type *out) \
    {                                                                                                \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        float4 at = coordinates[i];                                                                  \
        out[i] = call;                                                                               \
    }

FETCH(fetch_1d, float4, tex1D<float4>(texture, at.x))
FETCH(fetch_2d, float4, tex2D<float4>(texture, at.x, at.y))
FETCH(fetch_3d, float4, tex3D<float4>(texture, at.x, at.y, at.z))
FETCH(fetch_a1d, float4, tex1DLayered<float4>(texture, at.x, (int)at.w))
FETCH(fetch_a2d, float4, tex2DLayered<float4>(texture, at.x, at.y, (int)at.w))
FETCH(fetch_cube, float4, texCubemap<float4>(texture, at.x, at.y, at.z))
FETCH(fetch_acube, float4, texCubemapLayered<float4>(texture, at.x, at.y, at.z, (int)at.w))
FETCH(gather_r, float4, tex2Dgather<float4>(texture, at.x, at.y, 0))
FETCH(gather_a, float4, tex2Dgather<float4>(texture, at.x, at.y, 3))
FETCH(integers_1d, uint4, tex1D<uint4>(texture, at.x))
FETCH(integers_2d, uint4, tex2D<uint4>(texture, at.x, at.y))
