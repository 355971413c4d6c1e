/* nvcc: -arch=sm_75 -lineinfo */

/* y = a x + y, one element per thread; the last block has fewer elements than threads. */
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
