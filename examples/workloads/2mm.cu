/* nvcc: -arch=compute_75 -lineinfo */

/* D = alpha A B C + beta D in two products, one thread an element. Sums grow in memory, as they do
 * where nobody has promised the compiler that the matrices do not overlap: two reads and a write an
 * element of the sum. */
extern "C" __global__ void product(const float *a, const float *b, float *tmp, int n, float alpha)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    float *sum = tmp + row * n + column;
    *sum = 0;
    for (int k = 0; k < n; k++)
        *sum += alpha * a[row * n + k] * b[k * n + column];
}

extern "C" __global__ void product_add(const float *tmp, const float *c, float *d, int n,
                                       float beta)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    float *sum = d + row * n + column;
    *sum *= beta;
    for (int k = 0; k < n; k++)
        *sum += tmp[row * n + k] * c[k * n + column];
}
