/* nvcc: -arch=compute_75 -lineinfo */

/* y = alpha A x + beta B x, a thread a row. Both sums grow in memory, and for all the compiler
 * knows one may be part of the other, so each is read again: eight accesses a column. */
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
