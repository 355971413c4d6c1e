/* nvcc: -arch=sm_75 */

/* One step of Conway's Game of Life on a torus; one byte per cell. */
extern "C" __global__ void life(unsigned width, unsigned height, const unsigned char *in,
                                unsigned char *out)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                count += in[(y + height + dy) % height * width + (x + width + dx) % width];
    out[y * width + x] = count == 3 || (count == 2 && in[y * width + x]);
}
