/* nvcc: -arch=sm_80 */

/* Asynchronous copies to shared memory (cp.async) with two tiles in turn; needs sm_80. */
#include <cuda_pipeline.h>

extern "C" __global__ void async_copy(int tiles, const int4 *in, int *out)
{
    __shared__ int4 tile[2][32];
    unsigned lane = threadIdx.x;
    const int4 *mine = in + (size_t)blockIdx.x * tiles * 32;
    __pipeline_memcpy_async(&tile[0][lane], &mine[lane], sizeof(int4));
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            __pipeline_memcpy_async(&tile[(i + 1) % 2][lane], &mine[(i + 1) * 32 + lane],
                                    sizeof(int4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        int4 other = tile[i % 2][31 - lane];
        sum = sum * 3 + other.x - other.y + 2 * other.z - other.w;
        __syncthreads();
    }
    out[blockIdx.x * 32 + lane] = sum;
}
