/* nvcc: -arch=sm_75 */

/* Compaction: `compact` keeps the order of the selected elements and finds their positions with
 * ballots; `aggregate` reserves space in a list shared by all blocks with one atomic per warp. */
extern "C" __global__ void compact(int n, const int *in, int *out, int *counts)
{
    __shared__ int before[33];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned kept = __ballot_sync(0xffffffff, keep);
    if (lane == 0)
        before[warp + 1] = __popc(kept);
    if (threadIdx.x == 0)
        before[0] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned w = 0; w < warps; w++)
            before[w + 1] += before[w];
    __syncthreads();
    if (keep)
        out[blockIdx.x * blockDim.x + before[warp] + __popc(kept & ((1u << lane) - 1))] = in[i];
    if (threadIdx.x == 0)
        counts[blockIdx.x] = before[warps];
}

extern "C" __global__ void aggregate(int n, const int *in, int *count, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] < 0) {
        unsigned active = __activemask(), lane = threadIdx.x % 32;
        int leader = __ffs((int)active) - 1, first = 0;
        if ((int)lane == leader)
            first = atomicAdd(count, __popc(active));
        first = __shfl_sync(active, first, leader);
        out[first + __popc(active & ((1u << lane) - 1))] = i;
    }
}
