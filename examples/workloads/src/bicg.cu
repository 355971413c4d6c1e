/* nvcc: -arch=compute_75 -lineinfo */

/* The two products of the biconjugate gradient method: s = At r and q = A p. */
extern "C" __global__ void transposed(const float *a, const float *r, float *s, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    s[column] = 0;
    for (int k = 0; k < n; k++)
        s[column] += r[k] * a[k * n + column];
}

extern "C" __global__ void straight(const float *a, const float *p, float *q, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    q[row] = 0;
    for (int k = 0; k < n; k++)
        q[row] += a[row * n + k] * p[k];
}
