/* nvcc: -arch=sm_75 */

/* One determinant per thread, by LU decomposition with row pivoting in a local array. */
#define N 5

extern "C" __global__ void lu(int n, const double *in, double *out)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n)
        return;
    double m[N][N], determinant = 1;
    for (int i = 0; i < N * N; i++)
        m[i / N][i % N] = in[index * N * N + i];
    for (int column = 0; column < N; column++) {
        int pivot = column;
        for (int i = column + 1; i < N; i++)
            if (fabs(m[i][column]) > fabs(m[pivot][column]))
                pivot = i;
        if (m[pivot][column] == 0) {
            out[index] = 0;
            return;
        }
        if (pivot != column) {
            for (int j = 0; j < N; j++) {
                double swap = m[pivot][j];
                m[pivot][j] = m[column][j];
                m[column][j] = swap;
            }
            determinant = -determinant;
        }
        determinant *= m[column][column];
        for (int i = column + 1; i < N; i++) {
            double factor = m[i][column] / m[column][column];
            for (int j = column + 1; j < N; j++)
                m[i][j] -= factor * m[column][j];
        }
    }
    out[index] = determinant;
}
