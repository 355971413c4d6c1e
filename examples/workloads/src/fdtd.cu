/* nvcc: -arch=compute_75 -lineinfo */

/* Maxwell's equations in two dimensions on a staggered grid (Yee). Each step updates the two
 * components of the electric field from the magnetic field, and then the magnetic field from them.
 * A source sets the first row. */
extern "C" __global__ void electric_y(const float *source, float *ey, const float *hz, int n, int t)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    if (y == 0)
        ey[x] = source[t];
    else
        ey[y * n + x] -= 0.5f * (hz[y * n + x] - hz[(y - 1) * n + x]);
}

extern "C" __global__ void electric_x(float *ex, const float *hz, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= n || y >= n)
        return;
    ex[y * n + x] -= 0.5f * (hz[y * n + x] - hz[y * n + x - 1]);
}

extern "C" __global__ void magnetic(const float *ex, const float *ey, float *hz, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - 1 || y >= n - 1)
        return;
    int here = y * n + x;
    hz[here] -= 0.7f * (ex[here + 1] - ex[here] + ey[here + n] - ey[here]);
}
