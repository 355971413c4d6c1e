/* nvcc: -arch=sm_75 */

/* Single precision according to IEEE 754: division, square root, reciprocal, subnormals, rounding,
 * minimum and maximum with NaN, comparisons with NaN. */
extern "C" __global__ void float_ieee(int n, const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], y = b[i], *o = out + 20 * i;
    o[0] = x / y;
    o[1] = sqrtf(fabsf(x));
    o[2] = 1 / y;
    o[3] = __fadd_rz(x, y);
    o[4] = __fadd_ru(x, y);
    o[5] = __fadd_rd(x, y);
    o[6] = __fmul_rz(x, y);
    o[7] = __fmul_ru(x, y);
    o[8] = __fmul_rd(x, y);
    o[9] = __fmaf_rz(x, y, -x);
    o[10] = __fmaf_ru(x, y, -x);
    o[11] = __fmaf_rd(x, y, -x);
    o[12] = __fdiv_rz(x, y);
    o[13] = __fdiv_ru(x, y);
    o[14] = __fdiv_rd(x, y);
    o[15] = __fsqrt_rz(fabsf(x));
    o[16] = __fsqrt_ru(fabsf(x));
    o[17] = __fsqrt_rd(fabsf(x));
    o[18] = __frcp_rz(y);
    o[19] = x * y + 1.0f;
}

extern "C" __global__ void float_compare(int n, const float *a, const float *b, float *out,
                                         unsigned *flags)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], y = b[i];
    out[6 * i] = fminf(x, y);
    out[6 * i + 1] = fmaxf(x, y);
    out[6 * i + 2] = __saturatef(x);
    out[6 * i + 3] = copysignf(x, y);
    out[6 * i + 4] = floorf(x) + ceilf(y);
    out[6 * i + 5] = rintf(x) - truncf(y);
    flags[i] = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 |
               (x != y) << 5 | !(x < y) << 6 | !(x >= y) << 7 | (isnan(x) ? 1 << 8 : 0) |
               (isinf(y) ? 1 << 9 : 0) | (signbit(x) ? 1 << 10 : 0) | (isfinite(y) ? 1 << 11 : 0);
}
