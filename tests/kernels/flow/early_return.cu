/* nvcc: -arch=sm_75 */

/* Threads return at different depths of a loop nest while others continue. */
extern "C" __global__ void early_return(int n, int width, const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (in[i * width] < 0) {
        out[i] = -1;
        return;
    }
    for (int j = 0; j < width; j++) {
        for (int k = 0; k < j; k++) {
            if (in[i * width + j] == in[i * width + k]) {
                out[i] = j * 100 + k;
                return;
            }
        }
    }
    out[i] = -2;
}
