/* nvcc: -arch=sm_75 */

/* Random numbers: `rng` runs a linear congruential generator and xorshift64* in each thread;
 * `mersenne` runs one Mersenne twister per block, with its state in shared memory. */
extern "C" __global__ void rng(int n, int steps, unsigned long long seed, float *units,
                               unsigned long long *words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned linear = (unsigned)seed + (unsigned)i;
    unsigned long long shift = seed ^ ((unsigned long long)i + 1) * 0x9e3779b97f4a7c15ull;
    float sum = 0;
    for (int j = 0; j < steps; j++) {
        linear = 1664525u * linear + 1013904223u;
        shift ^= shift >> 12;
        shift ^= shift << 25;
        shift ^= shift >> 27;
        sum += (float)(linear >> 8) * (1.0f / 16777216);
    }
    units[i] = sum;
    words[i] = shift * 2685821657736338717ull;
}

#define WORDS 624
#define MIDDLE 397

__device__ unsigned twist(unsigned here, unsigned next, unsigned far)
{
    unsigned mixed = (here & 0x80000000u) | (next & 0x7fffffffu);
    return far ^ mixed >> 1 ^ (mixed & 1 ? 0x9908b0dfu : 0);
}

extern "C" __global__ void mersenne(unsigned seed, unsigned *out)
{
    __shared__ unsigned state[WORDS];
    unsigned t = threadIdx.x, size = blockDim.x;
    if (t == 0) {
        state[0] = seed + blockIdx.x;
        for (unsigned i = 1; i < WORDS; i++)
            state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
    }
    __syncthreads();
    /* The state is updated in three parts, so that no part reads words that it has updated. */
    unsigned ends[4] = {0, WORDS - MIDDLE, 2 * (WORDS - MIDDLE), WORDS};
    for (int part = 0; part < 3; part++) {
        for (unsigned base = ends[part]; base < ends[part + 1]; base += size) {
            unsigned i = base + t, word = 0;
            if (i < ends[part + 1])
                word = twist(state[i], state[(i + 1) % WORDS], state[(i + MIDDLE) % WORDS]);
            __syncthreads();
            if (i < ends[part + 1])
                state[i] = word;
            __syncthreads();
        }
    }
    for (unsigned i = t; i < WORDS; i += size) {
        unsigned y = state[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[blockIdx.x * WORDS + i] = y ^ y >> 18;
    }
}
