/* nvcc: -arch=compute_75 -lineinfo */

/* Speckle-reducing anisotropic diffusion (Yu and Acton) of an image. moments: the sum and the sum
 * of squares of the pixels, with one atomic per block, in double precision because the variance is
 * a small difference of them. coefficients: the diffusion coefficient of each pixel, small where
 * the image changes by more than its noise. diffuse: one diffusion step. A neighbour outside the
 * image is replaced by the nearest pixel of the edge. */
enum { BLOCK = 256 };

extern "C" __global__ void moments(const float *image, double *sums, int count)
{
    __shared__ double sum[BLOCK], squares[BLOCK];
    int thread = threadIdx.x, here = blockIdx.x * BLOCK + thread;
    double value = here < count ? image[here] : 0;
    sum[thread] = value;
    squares[thread] = value * value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (thread < half) {
            sum[thread] += sum[thread + half];
            squares[thread] += squares[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        atomicAdd(&sums[0], sum[0]);
        atomicAdd(&sums[1], squares[0]);
    }
}

extern "C" __global__ void coefficients(const float *image, const double *sums, float *north,
                                        float *south, float *west, float *east, float *coefficient,
                                        int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    int at = y * n + x;
    double mean = sums[0] / n / n, variance = sums[1] / n / n - mean * mean;
    float noise = (float)(variance / (mean * mean));
    float here = image[at];
    float to_north = image[max(y - 1, 0) * n + x] - here;
    float to_south = image[min(y + 1, n - 1) * n + x] - here;
    float to_west = image[y * n + max(x - 1, 0)] - here;
    float to_east = image[y * n + min(x + 1, n - 1)] - here;
    float gradient =
        (to_north * to_north + to_south * to_south + to_west * to_west + to_east * to_east) /
        (here * here);
    float laplacian = (to_north + to_south + to_west + to_east) / here;
    float spread = 1 + 0.25f * laplacian;
    float change = (0.5f * gradient - laplacian * laplacian / 16) / (spread * spread);
    float c = 1 / (1 + (change - noise) / (noise * (1 + noise)));
    north[at] = to_north;
    south[at] = to_south;
    west[at] = to_west;
    east[at] = to_east;
    coefficient[at] = fminf(fmaxf(c, 0), 1);
}

extern "C" __global__ void diffuse(float *image, const float *north, const float *south,
                                   const float *west, const float *east, const float *coefficient,
                                   int n, float rate)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    int at = y * n + x;
    float here = coefficient[at];
    float below = coefficient[min(y + 1, n - 1) * n + x];
    float right = coefficient[y * n + min(x + 1, n - 1)];
    image[at] +=
        0.25f * rate * (here * (north[at] + west[at]) + below * south[at] + right * east[at]);
}
