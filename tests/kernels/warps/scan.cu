/* nvcc: -arch=sm_75 */

/* Inclusive scans: Hillis and Steele's algorithm in shared memory, and a scan with shuffles in each
 * warp, to which the totals of the preceding warps are added. */
extern "C" __global__ void scan_block(int n, const int *in, int *out)
{
    extern __shared__ int both[];
    int *from = both, *to = both + blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    from[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        int value = from[threadIdx.x];
        if (threadIdx.x >= step)
            value += from[threadIdx.x - step];
        to[threadIdx.x] = value;
        __syncthreads();
        int *swap = from;
        from = to;
        to = swap;
    }
    if (i < n)
        out[i] = from[threadIdx.x];
}

extern "C" __global__ void scan_warp(int n, const unsigned long long *in, unsigned long long *out)
{
    __shared__ unsigned long long totals[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = i < n ? in[i] : 0;
    for (unsigned step = 1; step < 32; step *= 2) {
        unsigned long long other = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step)
            sum += other;
    }
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
    for (unsigned w = 0; w < warp; w++)
        sum += totals[w];
    if (i < n)
        out[i] = sum;
}
