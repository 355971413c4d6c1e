/* nvcc: -arch=sm_75 */

/* Dynamic shared memory split into two arrays of different types, plus a static variable. */
extern __shared__ double pool[];

extern "C" __global__ void dynamic_shared(int n, const double *in, double *out, int *ranks)
{
    __shared__ int block_total;
    double *values = pool;
    int *rank = (int *)(pool + blockDim.x);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        block_total = 0;
    values[threadIdx.x] = i < n ? in[i] : 1e300;
    __syncthreads();
    int before = 0;
    for (int j = 0; j < (int)blockDim.x; j++)
        before += values[j] < values[threadIdx.x] ||
                  (values[j] == values[threadIdx.x] && j < (int)threadIdx.x);
    rank[before] = threadIdx.x;
    if (i < n)
        atomicAdd(&block_total, 1);
    __syncthreads();
    if (i < n) {
        out[i] = values[rank[threadIdx.x]];
        ranks[i] = before * 1000 + block_total;
    }
}
