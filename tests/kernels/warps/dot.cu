/* nvcc: -arch=sm_75 */

/* The dot product: each thread sums in a grid-stride loop, each warp sums with a tree of shuffles,
 * and a second tree sums over the warps. dot_xor sums each half-warp with shuffles of width 16. */
__device__ float warp_sum(float value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffff, value, step);
    return value;
}

extern "C" __global__ void dot(int n, const float *a, const float *b, float *sums)
{
    __shared__ float partial[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        sum = warp_sum(sum);
        if (threadIdx.x == 0)
            sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void dot_xor(const double *a, const double *b, double *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = a[i] * b[i];
    for (int step = 1; step < 16; step *= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step, 16);
    sums[i] = sum;
}
