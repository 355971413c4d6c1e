/* nvcc: -arch=compute_75 -lineinfo */

/* y = At (A x). `rows` computes A x with one row per thread: the lanes of a warp read far apart.
 * `columns` multiplies by At with one column of A per thread: the lanes read adjacent words. */
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
