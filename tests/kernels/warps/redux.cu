/* nvcc: -arch=sm_80 */

/* Warp-wide sum, minimum, maximum and bitwise reductions in one instruction; needs sm_80. */
extern "C" __global__ void redux(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], *o = out + 9 * i;
    o[0] = __reduce_add_sync(0xffffffff, x);
    o[1] = __reduce_min_sync(0xffffffff, x);
    o[2] = __reduce_max_sync(0xffffffff, x);
    o[3] = __reduce_and_sync(0xffffffff, x | 0xff);
    o[4] = __reduce_or_sync(0xffffffff, x & 0xf0f);
    o[5] = __reduce_xor_sync(0xffffffff, x);
    o[6] = (unsigned)__reduce_min_sync(0xffffffff, (int)x);
    o[7] = (unsigned)__reduce_max_sync(0xffffffff, (int)x);
    o[8] = 0;
    if (threadIdx.x % 32 >= 12)
        o[8] = __reduce_add_sync(0xfffff000, x);
}
