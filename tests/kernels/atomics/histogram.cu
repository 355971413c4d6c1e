/* nvcc: -arch=sm_75 */

/* A histogram of bytes: atomics on each block's counters in shared memory, then on global ones. */
#define BINS 64

extern "C" __global__ void histogram(unsigned n, const unsigned char *in, unsigned *counts)
{
    __shared__ unsigned mine[BINS];
    for (unsigned i = threadIdx.x; i < BINS; i += blockDim.x)
        mine[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[i] % BINS], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&counts[i], mine[i]);
}
