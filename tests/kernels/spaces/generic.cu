/* nvcc: -arch=sm_75 */

/* Generic pointers: each thread's index selects whether its pointer refers to global, shared or
 * local memory. The kernel also queries the address space of the pointer. */
__device__ __noinline__ int exchange(int *place, int value)
{
    int old = *place;
    *place = value;
    return old;
}

extern "C" __global__ void generic(int n, int *global, int *out)
{
    __shared__ int shared[64];
    int local[2], i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = 1000 + i;
    local[0] = 2000 + i;
    local[1] = 5;
    __syncthreads();
    if (i >= n)
        return;
    int *place = i % 3 == 0 ? &global[i] : i % 3 == 1 ? &shared[threadIdx.x] : &local[i % 2];
    int old = exchange(place, 7 * i);
    unsigned kind = __isGlobal(place) | __isShared(place) << 1 | __isLocal(place) << 2;
    out[4 * i] = old;
    out[4 * i + 1] = *place + local[1];
    out[4 * i + 2] = shared[threadIdx.x] + local[0];
    out[4 * i + 3] = (int)kind;
}
