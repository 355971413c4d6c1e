/* nvcc: -arch=compute_75 -lineinfo */

/* A = Q R by the Gram-Schmidt method, for each column k: compute its length, scale it to length 1,
 * and subtract its projection from each later column. */
extern "C" __global__ void length(const float *a, float *r, int n, int k)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    float sum = 0;
    for (int row = 0; row < n; row++)
        sum += a[row * n + k] * a[row * n + k];
    r[k * n + k] = sqrtf(sum);
}

extern "C" __global__ void scale(const float *a, const float *r, float *q, int n, int k)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        q[row * n + k] = a[row * n + k] / r[k * n + k];
}

extern "C" __global__ void subtract(float *a, float *r, const float *q, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column <= k || column >= n)
        return;
    r[k * n + column] = 0;
    for (int row = 0; row < n; row++)
        r[k * n + column] += q[row * n + k] * a[row * n + column];
    for (int row = 0; row < n; row++)
        a[row * n + column] -= q[row * n + k] * r[k * n + column];
}
