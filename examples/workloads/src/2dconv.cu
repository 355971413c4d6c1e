/* nvcc: -arch=compute_75 -lineinfo */

/* A convolution of an image with nine weights, one pixel per thread; the border is not written.
 * Each thread executes nine reads and one write. */
extern "C" __global__ void conv2d(const float *in, float *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    const float *up = in + (y - 1) * n + x, *row = up + n, *down = row + n;
    out[y * n + x] = 0.2f * up[-1] + 0.5f * up[0] - 0.8f * up[1] - 0.3f * row[-1] + 0.6f * row[0] -
                     0.9f * row[1] + 0.4f * down[-1] + 0.7f * down[0] + 0.1f * down[1];
}
