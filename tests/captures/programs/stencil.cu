// Heat on a plate: iterations of a stencil between two buffers, with a halo in shared memory.
#include "../../programs/expect.h"
#include <cmath>
#include <utility>
#include <vector>

static const int WIDTH = 80, HEIGHT = 64, TILE = 16, STEPS = 12;

__global__ void step(const float *from, float *to, int width, int height, float rate)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int column = threadIdx.x + 1, row = threadIdx.y + 1;
    const float *centre = from + y * width + x;
    tile[row][column] = *centre;
    if (threadIdx.x == 0 && x > 0)
        tile[row][0] = centre[-1];
    if (threadIdx.x == TILE - 1 && x < width - 1)
        tile[row][TILE + 1] = centre[1];
    if (threadIdx.y == 0 && y > 0)
        tile[0][column] = centre[-width];
    if (threadIdx.y == TILE - 1 && y < height - 1)
        tile[TILE + 1][column] = centre[width];
    __syncthreads();
    float value = tile[row][column];
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        value += rate * (tile[row][column - 1] + tile[row][column + 1] + tile[row - 1][column] +
                         tile[row + 1][column] - 4.0f * value);
    to[y * width + x] = value;
}

static void step_on_host(const std::vector<float> &from, std::vector<float> &to, float rate)
{
    to = from;
    for (int y = 1; y < HEIGHT - 1; y++)
        for (int x = 1; x < WIDTH - 1; x++) {
            const float *centre = &from[y * WIDTH + x];
            to[y * WIDTH + x] = *centre + rate * (centre[-1] + centre[1] + centre[-WIDTH] +
                                                  centre[WIDTH] - 4.0f * *centre);
        }
}

int main()
{
    const size_t bytes = WIDTH * HEIGHT * sizeof(float);
    const float rate = 0.2f;
    std::vector<float> host(WIDTH * HEIGHT), other(host), back(host);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            host[y * WIDTH + x] = y == 0 ? 100.0f : (float)((x * 3 + y * 5) % 17);
    float *from, *to;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemcpy(from, host.data(), bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < STEPS; i++) {
        step<<<dim3(WIDTH / TILE, HEIGHT / TILE), dim3(TILE, TILE)>>>(from, to, WIDTH, HEIGHT,
                                                                      rate);
        std::swap(from, to);
        step_on_host(host, other, rate);
        std::swap(host, other);
    }
    CHECK(cudaMemcpy(back.data(), from, bytes, cudaMemcpyDeviceToHost));
    // The device fuses multiplications and additions, the host may not.
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT(fabsf(back[i] - host[i]) < 1e-3f);
    return finish();
}
