/* nvcc: -arch=compute_75 -lineinfo */

/* The temperature of a chip: each step adds to each cell the heat from its power, its neighbours
 * and the air. A block loads 16 x 16 cells into shared memory and updates the inner 14 x 14. A
 * neighbour outside the chip is replaced by the nearest cell of the edge. */
enum { TILE = 16 };

extern "C" __global__ void heat(const float *power, const float *from, float *to, int n, float step,
                                float across, float down, float up, float air)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * (TILE - 2) + threadIdx.x - 1;
    int y = blockIdx.y * (TILE - 2) + threadIdx.y - 1;
    int near_x = min(max(x, 0), n - 1), near_y = min(max(y, 0), n - 1);
    float here = from[near_y * n + near_x];
    tile[threadIdx.y][threadIdx.x] = here;
    __syncthreads();
    bool middle =
        threadIdx.x > 0 && threadIdx.x < TILE - 1 && threadIdx.y > 0 && threadIdx.y < TILE - 1;
    if (!middle || x >= n || y >= n)
        return;
    float west = tile[threadIdx.y][threadIdx.x - 1], east = tile[threadIdx.y][threadIdx.x + 1];
    float north = tile[threadIdx.y - 1][threadIdx.x], south = tile[threadIdx.y + 1][threadIdx.x];
    to[y * n + x] = here + step * (power[y * n + x] + (south + north - 2 * here) * down +
                                   (east + west - 2 * here) * across + (air - here) * up);
}
