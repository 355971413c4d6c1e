/* nvcc: -arch=compute_75 -lineinfo */

/* y = At (A x): a thread a row of A for the inner product, whose lanes read far apart, then a
 * thread a column for the outer, whose lanes read side by side. */
extern "C" __global__ void rows(const float *a, const float *x, float *tmp, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    for (int k = 0; k < n; k++)
        tmp[row] += a[row * n + k] * x[k];
}

extern "C" __global__ void columns(const float *a, const float *tmp, float *y, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    for (int k = 0; k < n; k++)
        y[column] += a[k * n + column] * tmp[k];
}
