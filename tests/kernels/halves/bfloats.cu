/* nvcc: -arch=sm_80 */

/* bf16: scalars, pairs and conversions. sm_80 has bf16 multiply-add instructions; sm_90 adds
 * further ones. */
#include <cuda_bf16.h>

extern "C" __global__ void bf16_axpy(int n, __nv_bfloat16 a, const __nv_bfloat16 *x,
                                     __nv_bfloat16 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void bf16_pairs(int n, const __nv_bfloat162 *x, const __nv_bfloat162 *y,
                                      __nv_bfloat162 *out, float *back)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __nv_bfloat162 v = __hmul2(x[i], y[i]), w = __hadd2(x[i], y[i]);
    out[2 * i] = __hmax2(v, w);
    out[2 * i + 1] = __floats2bfloat162_rn(__low2float(w) * 1.1f, __high2float(v) / 3.0f);
    back[i] = __low2float(__hsub2(v, w));
}
