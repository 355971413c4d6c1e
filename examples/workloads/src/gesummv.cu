/* nvcc: -arch=compute_75 -lineinfo */

/* y = alpha A x + beta B x, one row per thread. Both sums are accumulated in memory, because the
 * compiler must assume that the arrays overlap. This makes eight accesses per column. */
extern "C" __global__ void gesummv(const float *a, const float *b, const float *x, float *tmp,
                                   float *y, int n, float alpha, float beta)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    for (int k = 0; k < n; k++) {
        tmp[row] += a[row * n + k] * x[k];
        y[row] += b[row * n + k] * x[k];
    }
    y[row] = alpha * tmp[row] + beta * y[row];
}
