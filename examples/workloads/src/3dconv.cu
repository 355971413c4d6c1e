/* nvcc: -arch=compute_75 -lineinfo */

/* A convolution of a volume with eleven weights: each thread processes one (x, y) in all planes.
 * Each plane takes eleven reads and one write. */
extern "C" __global__ void conv3d(const float *in, float *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    int row = n, plane = n * n, here = plane + y * n + x;
    for (int z = 1; z < n - 1; z++, here += plane) {
        const float *at = in + here;
        out[here] = 2 * at[-plane - row - 1] + 4 * at[-plane - row + 1] + 5 * at[-plane + row - 1] +
                    7 * at[-plane + row + 1] - 3 * at[-row] + 6 * at[0] - 9 * at[row] +
                    2 * at[plane - row - 1] - 8 * at[plane - row + 1] + 10 * at[plane + row - 1] -
                    4 * at[plane + row + 1];
    }
}
