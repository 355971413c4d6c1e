/* nvcc: -arch=sm_75 */

/* Texture objects over linear memory with one, two and four channels; fetches with an index out of
 * range return 0. */
extern "C" __global__ void texture_float(cudaTextureObject_t texture, int n, const int *index,
                                         float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float>(texture, index[i]) * 2;
}

extern "C" __global__ void texture_int(cudaTextureObject_t texture, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<int>(texture, n - 1 - i) - i;
}

extern "C" __global__ void texture_uint4(cudaTextureObject_t texture, int n, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint4 texel = tex1Dfetch<uint4>(texture, i ^ 5);
    out[i] = texel.x + 3 * texel.y + 5 * texel.z + 7 * texel.w;
}

extern "C" __global__ void texture_float2(cudaTextureObject_t texture, int n, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 texel = tex1Dfetch<float2>(texture, i);
    out[i] = texel.x - texel.y;
}
