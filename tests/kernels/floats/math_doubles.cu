/* nvcc: -arch=sm_75 */

/* Double-precision functions of the CUDA math library. */
extern "C" __global__ void math_doubles(int n, const double *a, const double *b, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double x = a[i], y = b[i], *o = out + 8 * i;
    o[0] = exp(x);
    o[1] = log(y);
    o[2] = sin(x);
    o[3] = cos(x);
    o[4] = pow(y, x);
    o[5] = rsqrt(y);
    o[6] = atan(x);
    o[7] = fmod(x, y);
}
