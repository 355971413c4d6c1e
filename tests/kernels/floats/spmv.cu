/* nvcc: -arch=sm_75 -lineinfo */

/* A sparse matrix (CSR) times a vector, one row per thread; the lengths of the rows differ. */
extern "C" __global__ void spmv(int rows, const int *__restrict__ starts,
                                const int *__restrict__ columns, const float *__restrict__ values,
                                const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
