/* nvcc: -arch=sm_75 */

/* Every atomic of CUDA C on words that all threads update; float sums that are exact in any order;
 * a compare-and-swap loop; atomics whose results are used. */
extern "C" __global__ void atomics_int(unsigned n, const unsigned *in, unsigned *words, int *signs,
                                       unsigned *tickets)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = in[i];
    atomicAdd(&words[0], x);
    atomicSub(&words[1], x);
    atomicMin(&words[2], x);
    atomicMax(&words[3], x);
    atomicAnd(&words[4], x | 0xff);
    atomicOr(&words[5], x & 0xf0f0f0f0);
    atomicXor(&words[6], x);
    atomicInc(&words[7], 16);
    atomicDec(&words[8], 9);
    atomicMin(&signs[0], (int)x);
    atomicMax(&signs[1], (int)x);
    /* The order of the threads is undefined, but each thread gets a different ticket. */
    unsigned ticket = atomicAdd(&words[9], 1u);
    tickets[ticket] = atomicExch(&words[10], i);
    if (atomicCAS(&words[11], 0u, i + 1) == 0)
        words[12] = i;
}

extern "C" __global__ void atomics_wide(unsigned n, const unsigned long long *in,
                                        unsigned long long *words, float *sum, double *sums)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = in[i];
    atomicAdd(&words[0], x);
    atomicMin(&words[1], x);
    atomicMax((long long *)&words[2], (long long)x);
    atomicAnd(&words[3], x | 0xffff0000ull);
    atomicOr(&words[4], x & 0x0f0f0f0f0f0f0f0full);
    atomicXor(&words[5], x);
    atomicAdd(sum, (float)(x % 64) * 0.25f);
    atomicAdd(&sums[0], (double)(x % 1024) * 0.125);
    /* A compare-and-swap loop, because there is no atomic multiplication. */
    unsigned long long *address = (unsigned long long *)&sums[1], old = *address, seen;
    do {
        seen = old;
        old = atomicCAS(address, seen,
                        __double_as_longlong(__longlong_as_double(seen) * (x % 2 ? 2.0 : 0.5)));
    } while (old != seen);
}

/* Atomics on words in shared memory, with and without use of the result. */
extern "C" __global__ void atomics_shared(const unsigned *in, unsigned *out)
{
    __shared__ unsigned low, high, mask, turn, turns;
    __shared__ unsigned long long total;
    __shared__ float exact;
    if (threadIdx.x == 0) {
        low = 0xffffffff;
        high = mask = turn = turns = 0;
        total = 0;
        exact = 0;
    }
    __syncthreads();
    unsigned x = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicMin(&low, x);
    atomicMax(&high, x);
    atomicXor(&mask, x);
    atomicAdd(&total, (unsigned long long)x << 8);
    atomicAdd(&exact, (float)(x & 255));
    unsigned mine = atomicInc(&turn, 1000);
    atomicAdd(&turns, mine); /* each thread gets one of 0, 1, 2, ... */
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *o = out + 8 * blockIdx.x;
        o[0] = low;
        o[1] = high;
        o[2] = mask;
        o[3] = turn;
        o[4] = (unsigned)total;
        o[5] = (unsigned)(total >> 32);
        o[6] = (unsigned)exact;
        o[7] = turns;
    }
}
