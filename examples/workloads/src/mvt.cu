/* nvcc: -arch=compute_75 -lineinfo */

/* x1 += A y1 and x2 += At y2. */
extern "C" __global__ void straight(const float *a, const float *y1, float *x1, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    for (int k = 0; k < n; k++)
        x1[row] += a[row * n + k] * y1[k];
}

extern "C" __global__ void transposed(const float *a, const float *y2, float *x2, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    for (int k = 0; k < n; k++)
        x2[column] += a[k * n + column] * y2[k];
}
