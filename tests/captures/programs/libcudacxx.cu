// libcu++: atomic references, barriers with asynchronous copies, a pipeline, and arrays as
// arguments.
#include "../../programs/expect.h"
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/tuple>

namespace cg = cooperative_groups;

static const int THREADS = 128, BLOCKS = 4, STAGES = 2, BATCHES = 6;

__global__ void count(const int *values, int number, int *bins, cuda::std::array<int, 4> limits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= number)
        return;
    size_t bin = 0;
    while (bin < limits.size() && values[i] >= limits[bin])
        bin++;
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(bins[bin]);
    counter.fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device> largest(bins[5]);
    largest.fetch_max(values[i], cuda::memory_order_relaxed);
}

// Each block copies its tile with one asynchronous copy and reverses it.
__global__ void reverse(const int *in, int *out)
{
    __shared__ alignas(16) int tile[THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in + blockIdx.x * THREADS,
                       cuda::aligned_size_t<16>(sizeof(tile)), barrier);
    barrier.arrive_and_wait();
    out[blockIdx.x * THREADS + threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

// Sums batches of values; the copy of a batch overlaps the sum of the one before.
__global__ void accumulate(const int *in, int *out)
{
    __shared__ int tiles[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int batch = 0, fetched = 0; batch < BATCHES; batch++) {
        for (; fetched < BATCHES && fetched < batch + STAGES; fetched++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tiles[fetched % STAGES], in + fetched * THREADS,
                               sizeof(tiles[0]), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += tiles[batch % STAGES][threadIdx.x] * (batch + 1);
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

int main()
{
    const int number = THREADS * BATCHES;
    int *values, *bins, *out;
    CHECK(cudaMallocManaged(&values, number * sizeof(int)));
    CHECK(cudaMallocManaged(&bins, 6 * sizeof(int)));
    CHECK(cudaMallocManaged(&out, number * sizeof(int)));
    for (int i = 0; i < number; i++)
        values[i] = i * 31 % 97;
    cuda::std::array<int, 4> limits = {10, 20, 50, 90};
    CHECK(cudaMemset(bins, 0, 6 * sizeof(int)));
    count<<<(number + 255) / 256, 256>>>(values, number, bins, limits);
    CHECK(cudaDeviceSynchronize());
    int expected[5] = {};
    for (int i = 0; i < number; i++) {
        int bin = 0;
        while (bin < 4 && values[i] >= limits[bin])
            bin++;
        expected[bin]++;
    }
    for (int bin = 0; bin < 5; bin++)
        EXPECT(bins[bin] == expected[bin]);
    EXPECT(bins[5] == 96);
    reverse<<<BLOCKS, THREADS>>>(values, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < BLOCKS * THREADS; i++)
        EXPECT(out[i] == values[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
    accumulate<<<1, THREADS>>>(values, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < THREADS; i++) {
        int sum = 0;
        for (int batch = 0; batch < BATCHES; batch++)
            sum += values[batch * THREADS + i] * (batch + 1);
        EXPECT(out[i] == sum);
    }
    return finish();
}
