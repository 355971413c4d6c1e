/* nvcc: -arch=compute_75 -lineinfo */

/* The covariance (a sum, not divided by n) of each pair of columns of a table. */
extern "C" __global__ void means(const float *data, float *mean, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    mean[column] = 0;
    for (int row = 0; row < n; row++)
        mean[column] += data[row * n + column];
    mean[column] /= n;
}

extern "C" __global__ void centre(float *data, const float *mean, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    data[row * n + column] -= mean[column];
}

extern "C" __global__ void covariances(const float *data, float *result, int n)
{
    int one = blockIdx.x * blockDim.x + threadIdx.x;
    if (one >= n)
        return;
    for (int other = one; other < n; other++) {
        float *sum = result + one * n + other;
        *sum = 0;
        for (int row = 0; row < n; row++)
            *sum += data[row * n + one] * data[row * n + other];
        result[other * n + one] = *sum;
    }
}
