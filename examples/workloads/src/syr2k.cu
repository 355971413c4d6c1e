/* nvcc: -arch=compute_75 -lineinfo */

/* C = alpha (A Bt + B At) + beta C, one element per thread. */
extern "C" __global__ void syr2k(const float *a, const float *b, float *c, int n, float alpha,
                                 float beta)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    float *sum = c + row * n + column;
    *sum *= beta;
    for (int k = 0; k < n; k++)
        *sum += alpha * (a[row * n + k] * b[column * n + k] + b[row * n + k] * a[column * n + k]);
}
