/* nvcc: -arch=sm_75 */

/* A five-point stencil over a tile with a halo; cells outside the field are 0. */
#define TILE 8

extern "C" __global__ void stencil(int width, int height, float centre, float side, const float *in,
                                   float *out)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int x0 = blockIdx.x * TILE - 1, y0 = blockIdx.y * TILE - 1;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        int x = x0 + i % (TILE + 2), y = y0 + i / (TILE + 2);
        tile[i / (TILE + 2)][i % (TILE + 2)] =
            x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0;
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    if (x0 + x < width && y0 + y < height) {
        float sides = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[(y0 + y) * width + x0 + x] = centre * tile[y][x] + side * sides;
    }
}
