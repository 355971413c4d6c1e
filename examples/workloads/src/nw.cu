/* nvcc: -arch=compute_75 -lineinfo */

/* Optimal alignment of two sequences (Needleman-Wunsch): each element of the table depends on three
 * earlier ones, so the 16 x 16 squares on one diagonal are independent, and so are the elements on
 * one diagonal of a square. A block computes a square in shared memory, with one column per thread.
 * `grow` processes the diagonals up to the longest one, `shrink` the later ones. */
enum { SIDE = 16 };

__device__ void square(const int *score, int *table, int columns, int penalty, int left, int top)
{
    __shared__ int best[SIDE + 1][SIDE + 1];
    __shared__ int match[SIDE][SIDE];
    int thread = threadIdx.x;
    int corner = top * SIDE * columns + left * SIDE; /* where the known row and column meet */
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
