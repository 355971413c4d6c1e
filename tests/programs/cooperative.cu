// Cooperative groups: tiles, and a barrier of the whole grid.
#include "expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void total(const int *values, int *sums, int *result)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, values[grid.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0)
        atomicAdd(&sums[blockIdx.x], sum);
    grid.sync();
    if (grid.thread_rank() == 0)
        for (unsigned i = 0; i < gridDim.x; i++)
            *result += sums[i];
}

int main()
{
    const int blocks = 6, threads = 96;
    int host[blocks * threads], *values, *sums, *result, back = 0, active = 0;
    for (int i = 0; i < blocks * threads; i++)
        host[i] = i;
    CHECK(cudaMalloc(&values, sizeof(host)));
    CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
    CHECK(cudaMalloc(&result, sizeof(int)));
    CHECK(cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sums, 0, blocks * sizeof(int)));
    CHECK(cudaMemset(result, 0, sizeof(int)));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, total, threads, 0));
    EXPECT(active > 0);
    void *arguments[] = {&values, &sums, &result};
    CHECK(cudaLaunchCooperativeKernel((void *)total, dim3(blocks), dim3(threads), arguments, 0, 0));
    CHECK(cudaMemcpy(&back, result, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(back == blocks * threads * (blocks * threads - 1) / 2);
    cudaError_t error = cudaLaunchCooperativeKernel((void *)total, dim3(1 << 20), dim3(threads),
                                                    arguments, 0, 0);
    EXPECT(error == cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == error);
    return finish();
}
