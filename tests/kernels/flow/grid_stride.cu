/* nvcc: -arch=sm_75 */

/* Loops over more elements than there are threads: forwards with the grid's size as stride, and
 * backwards with a stride given as a parameter. */
extern "C" __global__ void grid_stride(unsigned n, const unsigned *in, unsigned *out)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * in[i] + i;
}

extern "C" __global__ void stride_down(long long n, long long stride, const int *in, long long *out)
{
    long long sum = 0, first = n - 1 - threadIdx.x;
    for (long long i = first; i >= 0; i -= stride)
        sum = 3 * sum - in[i];
    out[threadIdx.x] = sum;
}
