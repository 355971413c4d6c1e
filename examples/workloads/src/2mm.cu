/* nvcc: -arch=compute_75 -lineinfo */

/* D = alpha A B C + beta D as two products, one element per thread. The sums are accumulated in
 * memory, because the compiler must assume that the matrices overlap: each term of a sum takes two
 * reads and one write. */
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
