/* nvcc: -arch=sm_75 */

/* Half precision: scalars and pairs, fused and unfused arithmetic, comparisons, conversions. */
#include <cuda_fp16.h>

extern "C" __global__ void half_scalar(int n, const __half *a, const __half *b, __half *out,
                                       unsigned *flags)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half x = a[i], y = b[i], *o = out + 8 * i;
    o[0] = __hadd(x, y);
    o[1] = __hsub(x, y);
    o[2] = __hmul(x, y);
    o[3] = __hfma(x, y, x);
    o[4] = __hneg(x);
    o[5] = __habs(y);
    o[6] = __hadd_sat(x, y);
    o[7] = __hfma_sat(x, y, y);
    flags[i] = __hlt(x, y) | __hge(x, y) << 1 | __heq(x, x) << 2 | __hne(x, y) << 3;
}

extern "C" __global__ void half_pairs(int n, __half2 scale, const __half2 *x, __half2 *y,
                                      float *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half2 v = __hfma2(scale, x[i], y[i]);
    __half2 w = __hsub2(__hmul2(v, x[i]), y[i]);
    y[i] = __lows2half2(v, w);
    sums[i] = __low2float(v) + __high2float(w);
}

extern "C" __global__ void half_convert(int n, const float *in, __half *halves, float *back,
                                        int *whole)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    halves[4 * i] = __float2half_rn(x);
    halves[4 * i + 1] = __float2half_rz(x);
    halves[4 * i + 2] = __float2half_ru(x);
    halves[4 * i + 3] = __float2half_rd(x);
    back[i] = __half2float(__float2half_rn(x));
    whole[3 * i] = __half2int_rn(__float2half_rn(x));
    whole[3 * i + 1] = __half2int_rz(__float2half_rn(x));
    whole[3 * i + 2] = __half_as_short(__int2half_rn(3 * i - 700));
}
