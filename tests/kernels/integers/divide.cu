/* nvcc: -arch=sm_75 */

/* 32-bit and 64-bit division and remainder by values known only at run time, and division by
 * multiplication with a precomputed multiplier. */
extern "C" __global__ void divide(int n, const int *a, const int *b, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = (int)((unsigned)a[i] / (unsigned)b[i]);
    out[4 * i + 3] = (int)((unsigned)a[i] % (unsigned)b[i]);
}

extern "C" __global__ void divide_wide(int n, const long long *a, const long long *b,
                                       long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = (long long)((unsigned long long)a[i] / (unsigned long long)b[i]);
    out[4 * i + 3] = (long long)((unsigned long long)a[i] % (unsigned long long)b[i]);
}

struct divisor {
    unsigned multiplier, shift, divisor;
};

extern "C" __global__ void divide_fast(unsigned n, struct divisor by, const unsigned *in,
                                       uint2 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned quotient = (__umulhi(in[i], by.multiplier) + in[i]) >> by.shift;
    out[i] = make_uint2(quotient, in[i] - quotient * by.divisor);
}
