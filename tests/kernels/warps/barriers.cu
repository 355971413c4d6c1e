/* nvcc: -arch=sm_75 */

/* Numbered barriers: pairs of warps that synchronize separately, and a producer that arrives
 * without waiting. Also barriers that count and vote. */
extern "C" __global__ void named_barriers(const int *in, int *out)
{
    __shared__ int words[128];
    int pair = threadIdx.x / 64, i = blockIdx.x * 128 + threadIdx.x;
    words[threadIdx.x] = in[i];
    if (pair == 0)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    out[i] = words[threadIdx.x ^ 63];
}

extern "C" __global__ void producer(int rounds, const int *in, int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x % 32;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x < 32) {
            words[lane] = in[round * 32 + lane] + round;
            __threadfence_block();
            asm volatile("bar.arrive 3, 64;" ::: "memory"); /* words are written */
            asm volatile("bar.sync 4, 64;" ::: "memory");   /* words are read */
        } else {
            asm volatile("bar.sync 3, 64;" ::: "memory");
            out[round * 32 + lane] = words[31 - lane];
            asm volatile("bar.arrive 4, 64;" ::: "memory");
        }
    }
}

extern "C" __global__ void barrier_votes(int n, const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i < n ? in[i] : 7;
    int count = __syncthreads_count(x % 2);
    int all = __syncthreads_and(x != 3);
    int any = __syncthreads_or(x == 100);
    if (i < n)
        out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}
