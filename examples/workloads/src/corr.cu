/* nvcc: -arch=compute_75 -lineinfo */

/* The correlation of each pair of columns of a table: column means, standard deviations, the
 * normalised table, and the products of its columns, with one row of the result per thread. */
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

extern "C" __global__ void deviations(const float *data, const float *mean, float *deviation, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    deviation[column] = 0;
    for (int row = 0; row < n; row++) {
        float apart = data[row * n + column] - mean[column];
        deviation[column] += apart * apart;
    }
    deviation[column] = sqrtf(deviation[column] / n);
    if (deviation[column] <= 0.005f) /* the column is nearly constant */
        deviation[column] = 1;
}

extern "C" __global__ void normalise(float *data, const float *mean, const float *deviation, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    data[row * n + column] =
        (data[row * n + column] - mean[column]) / (sqrtf((float)n) * deviation[column]);
}

extern "C" __global__ void correlate(const float *data, float *result, int n)
{
    int one = blockIdx.x * blockDim.x + threadIdx.x;
    if (one >= n)
        return;
    result[one * n + one] = 1;
    for (int other = one + 1; other < n; other++) {
        float *sum = result + one * n + other;
        *sum = 0;
        for (int row = 0; row < n; row++)
            *sum += data[row * n + one] * data[row * n + other];
        result[other * n + one] = *sum;
    }
}
