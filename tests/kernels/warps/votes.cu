/* nvcc: -arch=sm_75 */

/* Votes and matches among all lanes of a warp, and among the lanes that take a branch. */
extern "C" __global__ void votes(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], *o = out + 9 * i;
    o[0] = __ballot_sync(0xffffffff, x & 1);
    o[1] = __any_sync(0xffffffff, x % 64 == 0);
    o[2] = __all_sync(0xffffffff, x % 64 != 0);
    o[3] = __match_any_sync(0xffffffff, x % 5);
    int same;
    o[4] = __match_all_sync(0xffffffff, x >> (blockIdx.x % 2 ? 31 : 0), &same);
    o[5] = same;
    o[6] = __activemask();
    o[7] = o[8] = 0;
    unsigned some = __ballot_sync(0xffffffff, x % 3 == 0);
    if (x % 3 == 0) {
        o[7] = __ballot_sync(some, x & 2);
        o[8] = __match_any_sync(some, (unsigned long long)x % 4 << 40);
    }
    __syncwarp();
}

/* Shuffles: by an index per lane, within segments of the warp, and among a subset of the lanes. */
extern "C" __global__ void shuffles(const int *in, int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int x = in[i], *o = out + 6 * i;
    o[0] = __shfl_sync(0xffffffff, x, x & 31);
    o[1] = __shfl_sync(0xffffffff, x, lane + 3, 8);
    o[2] = __shfl_up_sync(0xffffffff, x, 2, 8);
    o[3] = __shfl_down_sync(0xffffffff, x, 5, 16);
    o[4] = __shfl_xor_sync(0xffffffff, x, 9);
    o[5] = -1;
    if (lane < 20)
        o[5] = __shfl_sync(0x000fffff, x, 19 - (int)lane);
}

/* Groups of lanes that vote separately: groups of eight lanes with one mask per group, all in the
 * same instruction; and the odd lanes in one branch, the even lanes in the other. */
extern "C" __global__ void parts(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned x = in[i], mine = 0xffu << (lane & 24), *o = out + 7 * i;
    int same;
    o[0] = __ballot_sync(mine, x & 1);
    o[1] = __any_sync(mine, x % 16 == 0);
    o[2] = __all_sync(mine, x % 8 != 0);
    o[3] = __match_any_sync(mine, x % 3);
    o[4] = __match_all_sync(mine, x % 2, &same);
    o[4] += same;
    o[5] = __shfl_sync(mine, x, x % 8, 8);
    if (lane % 2)
        o[6] = __shfl_xor_sync(0xaaaaaaaa, x, 2) + __ballot_sync(0xaaaaaaaa, x & 4);
    else
        o[6] = __shfl_xor_sync(0x55555555, x, 4) * 3;
}

/* Lanes that synchronize with each other at different instructions. */
extern "C" __global__ void meet(const int *in, int *out)
{
    __shared__ int word[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 5) {
        word[warp] = in[i] * 3;
        __syncwarp();
        out[i] = -1;
    } else {
        int x = in[i] % 7;
        __syncwarp();
        out[i] = word[warp] + x;
    }
}

/* Masks that contain lanes that have exited: the remaining lanes do not wait for them. */
extern "C" __global__ void left(int n, const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned yes = __ballot_sync(0xffffffff, in[i] & 1);
    __syncwarp();
    out[i] = yes + __shfl_sync(0xffffffff, in[i], 3);
}
