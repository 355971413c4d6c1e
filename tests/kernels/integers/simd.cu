/* nvcc: -arch=sm_75 */

/* Operations on all bytes or half-words of a 32-bit word at once. */
extern "C" __global__ void simd(int n, const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i], *o = out + 12 * i;
    o[0] = __vmaxs2(x, y);
    o[1] = __vminu4(x, y);
    o[2] = __vadd4(x, y);
    o[3] = __vsub2(x, y);
    o[4] = __vabsdiffu4(x, y);
    o[5] = __vsadu4(x, y);
    o[6] = __vavgu4(x, y);
    o[7] = __vcmpgts4(x, y);
    o[8] = __vaddss2(x, y);
    o[9] = __vsubus4(x, y);
    o[10] = __vseteq4(x, y ^ (x & 0xff00ff));
    o[11] = __vabs2(x);
}
