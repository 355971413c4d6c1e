/* nvcc: -arch=sm_90a -std=c++17 */
/* cuda::barrier, cuda::pipeline and memcpy_async of libcu++ and of cooperative groups, and named barriers. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

/* Threads arrive, do independent work, and wait: out[i] = x[i] + the sum of the values of the block. */
extern "C" __global__ void split_barrier(const int *x, int *out)
{
    __shared__ block_barrier barrier;
    __shared__ int total;
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) {
        init(&barrier, block.size());
        total = 0;
    }
    block.sync();
    int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&total, value);
    block_barrier::arrival_token token = barrier.arrive();
    int squared = value * value;
    barrier.wait(std::move(token));
    out[blockIdx.x * blockDim.x + threadIdx.x] = squared + total;
}

/* Three of four warps leave the barrier one after the other. */
extern "C" __global__ void dropping_barrier(int *out)
{
    __shared__ block_barrier barrier;
    __shared__ int count;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        count = 0;
    }
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        if ((int)threadIdx.x / 32 == round) {
            barrier.arrive_and_drop();
            break;
        }
        atomicAdd(&count, 1);
        barrier.arrive_and_wait();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        *out = count;
}

/* A copy that a barrier completes. */
extern "C" __global__ void barrier_copy(const float *x, float *out, int n)
{
    __shared__ block_barrier barrier;
    __shared__ alignas(16) float tile[512];
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&barrier, block.size());
    block.sync();
    for (int start = blockIdx.x * 512; start < n; start += gridDim.x * 512) {
        cuda::memcpy_async(block, tile, x + start, cuda::aligned_size_t<16>(sizeof(float) * 512), barrier);
        barrier.arrive_and_wait();
        for (int i = threadIdx.x; i < 512; i += blockDim.x)
            out[start + i] = 2 * tile[511 - i];
        block.sync();
    }
}

/* A pipeline of the block with two stages: out[i] = the sum of the values i, i + 128, ... */
extern "C" __global__ void block_pipeline(const float *x, float *out, int batches)
{
    __shared__ float stages[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    cuda::pipeline<cuda::thread_scope_block> pipeline = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int compute = 0, fetch = 0; compute < batches; compute++) {
        for (; fetch < batches && fetch < compute + 2; fetch++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stages[fetch % 2], x + fetch * 128, sizeof(float) * 128, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += stages[compute % 2][127 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

/* Half of the warps produce, the others consume. */
extern "C" __global__ void unified_pipeline(const int *x, int *out, int batches)
{
    __shared__ int stages[4][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 4> state;
    cg::thread_block block = cg::this_thread_block();
    bool producer = threadIdx.x >= 64;
    auto pipeline = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int lane = threadIdx.x % 64, sum = 0;
    for (int batch = 0; batch < batches; batch++) {
        if (producer) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stages[batch % 4][lane], &x[batch * 64 + lane], sizeof(int), pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            sum = sum * 3 + stages[batch % 4][63 - lane];
            pipeline.consumer_release();
        }
    }
    if (!producer)
        out[lane] = sum;
}

/* A pipeline of each thread. */
extern "C" __global__ void thread_pipeline(const int4 *x, int4 *out, int batches)
{
    __shared__ int4 stages[3][64];
    cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
    int4 sum = {0, 0, 0, 0};
    for (int compute = 0, fetch = 0; compute < batches; compute++) {
        for (; fetch < batches && fetch < compute + 3; fetch++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stages[fetch % 3][threadIdx.x], &x[fetch * 64 + threadIdx.x], cuda::aligned_size_t<16>(16), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        int4 value = stages[compute % 3][threadIdx.x];
        sum = {sum.x + value.x, sum.y ^ value.y, sum.z * 5 + value.z, max(sum.w, value.w)};
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

/* Copies of a cooperative group, with a wait for all but the last. */
extern "C" __global__ void group_copy(const int *x, int *out)
{
    __shared__ int first[128], second[128];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, first, x, sizeof(first));
    cg::memcpy_async(block, second, x + 128, sizeof(second));
    cg::wait_prior<1>(block);
    int value = first[127 - threadIdx.x];
    cg::wait(block);
    out[threadIdx.x] = value * 1000 + second[127 - threadIdx.x];
}

/* Two named barriers: a producer warp fills one of two buffers while the consumer warp reads the other. */
extern "C" __global__ void named_barriers(const int *x, int *out, int rounds)
{
    __shared__ int buffers[2][32];
    int lane = threadIdx.x % 32, sum = 0;
    for (int round = 0; round < rounds; round++) {
        int full = 1 + round % 2, empty = 3 + round % 2;
        if (threadIdx.x < 32) {
            if (round >= 2)
                asm volatile("barrier.sync %0, 64;" ::"r"(empty) : "memory");
            buffers[round % 2][lane] = x[round * 32 + lane];
            asm volatile("barrier.arrive %0, 64;" ::"r"(full) : "memory");
        } else {
            asm volatile("barrier.sync %0, 64;" ::"r"(full) : "memory");
            sum = sum * 7 + buffers[round % 2][31 - lane];
            if (round + 2 < rounds)
                asm volatile("barrier.arrive %0, 64;" ::"r"(empty) : "memory");
        }
    }
    if (threadIdx.x >= 32)
        out[lane] = sum;
}

/* Counts and votes over the block. */
extern "C" __global__ void reducing_barriers(const int *x, int *out)
{
    int odd = x[threadIdx.x] & 1;
    out[threadIdx.x] = __syncthreads_count(odd) * 4 + (__syncthreads_and(x[threadIdx.x] >= 0) ? 2 : 0) + (__syncthreads_or(odd) ? 1 : 0);
}
