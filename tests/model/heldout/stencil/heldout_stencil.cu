/* nvcc: -arch=sm_90 */
/* Stencils on grids of two and three dimensions, and filters of images. */

extern "C" __global__ void five_points(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    int i = r * w + c;
    out[i] = 0.6f * x[i] + 0.1f * (x[i - 1] + x[i + 1] + x[i - w] + x[i + w]);
}

/* A star with radius 4. */
extern "C" __global__ void wide_star(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 4 || r < 4 || c >= w - 4 || r >= h - 4)
        return;
    int i = r * w + c;
    float sum = x[i];
    for (int d = 1; d <= 4; d++)
        sum += (x[i - d] + x[i + d] + x[i - d * w] + x[i + d * w]) / (2 * d);
    out[i] = sum;
}

/* Seven points; a thread goes through z and keeps the planes below and above in registers. */
extern "C" __global__ void seven_points(float *out, const float *__restrict__ x, int w, int h,
                                        int depth)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    int plane = w * h, i = plane + r * w + c;
    float below = x[i - plane], here = x[i];
    for (int z = 1; z < depth - 1; z++, i += plane) {
        float above = x[i + plane];
        out[i] = 0.4f * here + 0.1f * (below + above + x[i - 1] + x[i + 1] + x[i - w] + x[i + w]);
        below = here;
        here = above;
    }
}

/* 27 points in small cubic blocks. */
extern "C" __global__ void box_points(float *out, const float *__restrict__ x, int w, int h,
                                      int depth)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (c < 1 || r < 1 || z < 1 || c >= w - 1 || r >= h - 1 || z >= depth - 1)
        return;
    float sum = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                sum += x[((z + dz) * h + r + dy) * w + c + dx];
    out[(z * h + r) * w + c] = sum / 27;
}

/* Five points with the tile and its edges in shared memory. */
extern "C" __global__ void tiled_points(float *out, const float *__restrict__ x, int w, int h)
{
    __shared__ float tile[18][34];
    int left = blockIdx.x * 32 - 1, top = blockIdx.y * 16 - 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 512) {
        int c = min(max(left + i % 34, 0), w - 1), r = min(max(top + i / 34, 0), h - 1);
        tile[i / 34][i % 34] = x[r * w + c];
    }
    __syncthreads();
    int c = threadIdx.x + 1, r = threadIdx.y + 1;
    out[(top + r) * w + left + c] = 0.6f * tile[r][c] + 0.1f * (tile[r][c - 1] + tile[r][c + 1] +
                                                                tile[r - 1][c] + tile[r + 1][c]);
}

extern "C" __global__ void blur_rows(float *out, const float *__restrict__ x, int w)
{
    __shared__ float line[256 + 16];
    int c = blockIdx.x * 256 + threadIdx.x, base = blockIdx.y * w;
    line[threadIdx.x + 8] = x[base + c];
    if (threadIdx.x < 8) {
        line[threadIdx.x] = x[base + max(c - 8, 0)];
        line[threadIdx.x + 264] = x[base + min(c + 256, w - 1)];
    }
    __syncthreads();
    float sum = 0;
    for (int d = 0; d <= 16; d++)
        sum += line[threadIdx.x + d];
    out[base + c] = sum / 17;
}

extern "C" __global__ void blur_columns(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int d = -8; d <= 8; d++)
        sum += x[min(max(r + d, 0), h - 1) * w + c];
    out[r * w + c] = sum / 17;
}

extern "C" __global__ void bilateral(float *out, const float *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    float centre = x[r * w + c], sum = 0, weights = 0;
    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -3; dx <= 3; dx++) {
            float v = x[min(max(r + dy, 0), h - 1) * w + min(max(c + dx, 0), w - 1)];
            float weight = __expf(-(v - centre) * (v - centre) * 8 - (dx * dx + dy * dy) * 0.1f);
            sum += weight * v;
            weights += weight;
        }
    out[r * w + c] = sum / weights;
}

/* Edges of an image of bytes. */
extern "C" __global__ void sobel(unsigned char *out, const unsigned char *__restrict__ x, int w,
                                 int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1)
        return;
    const unsigned char *p = x + r * w + c;
    int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w];
    int gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1];
    out[r * w + c] = min(abs(gx) + abs(gy), 255);
}

/* Enlarges an image with sixteen fetches per pixel. */
extern "C" __global__ void bicubic(float *out, cudaTextureObject_t image, int w, float scale)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    float x = c * scale, y = r * scale, fx = x - floorf(x), fy = y - floorf(y), sum = 0;
    float wx[4] = {(1 - fx) * (1 - fx) * (1 - fx) / 6, (4 - 6 * fx * fx + 3 * fx * fx * fx) / 6, 0,
                   fx * fx * fx / 6};
    float wy[4] = {(1 - fy) * (1 - fy) * (1 - fy) / 6, (4 - 6 * fy * fy + 3 * fy * fy * fy) / 6, 0,
                   fy * fy * fy / 6};
    wx[2] = 1 - wx[0] - wx[1] - wx[3];
    wy[2] = 1 - wy[0] - wy[1] - wy[3];
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            sum += wx[i] * wy[j] * tex2D<float>(image, floorf(x) + i - 0.5f, floorf(y) + j - 0.5f);
    out[r * w + c] = sum;
}
