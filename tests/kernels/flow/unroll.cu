/* nvcc: -arch=sm_75 */

/* A polynomial and a filter, in loops that are unrolled completely, by four with a remainder, and
 * not at all. */
extern "C" __global__ void unroll(int n, int taps, const float *in, const float *filter, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float whole = 0, four = 0, not_at_all = 0;
#pragma unroll
    for (int j = 0; j < 7; j++)
        whole = whole * 0.5f + in[i + j];
#pragma unroll 4
    for (int j = 0; j < taps; j++)
        four += in[i + j] * filter[j];
#pragma unroll 1
    for (int j = taps; j > 0; j--)
        not_at_all += in[i + j - 1] * filter[taps - j];
    out[3 * i] = whole;
    out[3 * i + 1] = four;
    out[3 * i + 2] = not_at_all;
}
