/* nvcc: -arch=sm_75 */

/* Escape times of the Mandelbrot set: the trip count of the loop differs between lanes. */
extern "C" __global__ void mandelbrot(int width, int height, int most, float x0, float y0,
                                      float step, unsigned short *out)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    float cx = x0 + column * step, cy = y0 + row * step, x = 0, y = 0;
    int i = 0;
    for (; i < most && x * x + y * y < 4; i++) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    out[row * width + column] = (unsigned short)i;
}
