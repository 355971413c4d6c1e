/* nvcc: -arch=sm_75 */

/* Single-precision functions of the CUDA math library in full precision. They contain tables, and
 * slow paths for huge arguments that use local memory. */
extern "C" __global__ void math_floats(int n, const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], y = b[i], *o = out + 12 * i;
    o[0] = sinf(x);
    o[1] = cosf(x);
    o[2] = expf(x);
    o[3] = logf(y);
    o[4] = powf(y, x);
    o[5] = tanf(x);
    o[6] = atan2f(x, y);
    o[7] = tanhf(x);
    o[8] = rsqrtf(y);
    o[9] = cbrtf(x);
    o[10] = log2f(y);
    o[11] = fmodf(x, y);
}
