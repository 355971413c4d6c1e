/* nvcc: -arch=sm_75 */

/* Solutions of the n queens problem for each placement of the first two queens: a search with an
 * explicit stack, in which the lanes are at different depths. */
extern "C" __global__ void queens(int n, unsigned *out)
{
    unsigned all = (1u << n) - 1, free[12], columns[12], left[12], right[12], count = 0;
    int first = threadIdx.x, second = blockIdx.x, depth = 0;
    columns[0] = 1u << first | 1u << second;
    left[0] = (1u << first) << 2 | (1u << second) << 1;
    right[0] = (1u << first) >> 2 | (1u << second) >> 1;
    free[0] = all & ~(columns[0] | left[0] | right[0]);
    int apart = first - second;
    if (apart >= -1 && apart <= 1) {
        out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
        return;
    }
    while (depth >= 0) {
        unsigned bit = free[depth] & -free[depth];
        if (bit == 0) {
            depth--;
            continue;
        }
        free[depth] ^= bit;
        if (depth == n - 3) {
            count++;
            continue;
        }
        columns[depth + 1] = columns[depth] | bit;
        left[depth + 1] = (left[depth] | bit) << 1;
        right[depth + 1] = (right[depth] | bit) >> 1;
        depth++;
        free[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = count;
}
