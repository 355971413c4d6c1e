/* nvcc: -arch=sm_75 */

/* Conversions: floats to integers with each rounding mode, with saturation of values out of range;
 * integers to floats; and arithmetic with 8-bit and 16-bit types. */
extern "C" __global__ void float_to_int(int n, const float *in, int *out, long long *wide)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    out[6 * i] = __float2int_rz(x);
    out[6 * i + 1] = __float2int_rn(x);
    out[6 * i + 2] = __float2int_ru(x);
    out[6 * i + 3] = __float2int_rd(x);
    out[6 * i + 4] = (int)__float2uint_rz(x);
    out[6 * i + 5] = (int)__float2uint_rn(x);
    wide[2 * i] = __float2ll_rz(x);
    wide[2 * i + 1] = (long long)__float2ull_rn(x);
}

extern "C" __global__ void int_to_float(int n, const long long *in, float *out, double *wide)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    long long x = in[i];
    out[6 * i] = (float)(int)x;
    out[6 * i + 1] = (float)(unsigned)x;
    out[6 * i + 2] = (float)x;
    out[6 * i + 3] = (float)(unsigned long long)x;
    out[6 * i + 4] = __int2float_rz((int)x);
    out[6 * i + 5] = __ull2float_ru((unsigned long long)x);
    wide[3 * i] = (double)(int)x;
    wide[3 * i + 1] = (double)x;
    wide[3 * i + 2] = __ull2double_rd((unsigned long long)x);
}

extern "C" __global__ void small_types(int n, const signed char *a, const short *b, signed char *c,
                                       short *d, unsigned char *e, unsigned short *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    c[i] = (signed char)(a[i] * 3 - b[i]);
    d[i] = (short)(b[i] / (a[i] | 1) + (b[i] >> 3));
    e[i] = (unsigned char)((unsigned char)a[i] > (unsigned char)(b[i] >> 4) ? a[i] : b[i]);
    f[i] = (unsigned short)((unsigned short)b[i] % 1000 + (unsigned char)a[i] * 257);
}
