/* nvcc: -arch=sm_75 */

/* `spin`: a warp waits in a loop for a value that a later warp of its block writes, so both warps
 * must make progress. `lock`: the lanes of a warp acquire a lock one after the other. */
extern "C" __global__ void spin(const int *in, int *out)
{
    __shared__ volatile int flag, value;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (flag == 0)
            ;
        __threadfence_block();
        out[blockIdx.x] = value + 1;
    } else if (threadIdx.x == 40) {
        value = in[blockIdx.x] * 2;
        __threadfence_block();
        flag = 1;
    }
}

extern "C" __global__ void lock(int rounds, int *mutex, volatile long long *state)
{
    for (int i = 0; i < rounds; i++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(mutex, 0, 1) == 0) {
                __threadfence();
                state[0] = state[0] + 1;
                state[1] = state[1] + threadIdx.x;
                __threadfence();
                atomicExch(mutex, 0);
                done = true;
            }
        }
    }
}
