/* nvcc: -arch=compute_75 -lineinfo */

/* The best alignment of two sequences (Needleman and Wunsch): each element of the table is the best
 * of three before it, so that squares of 16 x 16 on one diagonal can be done together, and within a
 * square the elements on one diagonal. One thread a column, in shared memory. `grow` does the
 * diagonals before the longest one and that, `shrink` those behind it. */
enum { SIDE = 16 };

__device__ void square(const int *score, int *table, int columns, int penalty, int left, int top)
{
    __shared__ int best[SIDE + 1][SIDE + 1];
    __shared__ int match[SIDE][SIDE];
    int thread = threadIdx.x;
    int corner = top * SIDE * columns + left * SIDE; /* of the row and column that are known */
    for (int row = 0; row < SIDE; row++)
        match[row][thread] = score[corner + (row + 1) * columns + thread + 1];
    if (thread == 0)
        best[0][0] = table[corner];
    best[thread + 1][0] = table[corner + (thread + 1) * columns];
    best[0][thread + 1] = table[corner + thread + 1];
    __syncthreads();
    for (int diagonal = 0; diagonal < 2 * SIDE - 1; diagonal++) {
        int row = diagonal - thread;
        if (row >= 0 && row < SIDE)
            best[row + 1][thread + 1] =
                max(best[row][thread] + match[row][thread],
                    max(best[row + 1][thread], best[row][thread + 1]) - penalty);
        __syncthreads();
    }
    for (int row = 0; row < SIDE; row++)
        table[corner + (row + 1) * columns + thread + 1] = best[row + 1][thread + 1];
}

extern "C" __global__ void grow(const int *score, int *table, int columns, int penalty,
                                int diagonal)
{
    square(score, table, columns, penalty, blockIdx.x, diagonal - blockIdx.x);
}

extern "C" __global__ void shrink(const int *score, int *table, int columns, int penalty,
                                  int diagonal)
{
    int last = (columns - 1) / SIDE - 1;
    int left = diagonal - last + blockIdx.x;
    square(score, table, columns, penalty, left, diagonal - left);
}
