// Cooperative groups: reductions and scans in tiles, coalesced groups, labelled partitions, grid
// barriers.
#include "../../programs/expect.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <vector>

namespace cg = cooperative_groups;

static const int THREADS = 128, BLOCKS = 8, COUNT = THREADS * BLOCKS;

__global__ void tiles(const int *in, int *sums, int *prefixes)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = cg::reduce(tile, in[i], cg::plus<int>());
    if (tile.thread_rank() == 0)
        sums[i / 16] = sum;
    prefixes[i] = cg::inclusive_scan(tile, in[i]);
}

// The threads with an odd value form a group; its first thread adds the number of them.
__global__ void odd(const int *in, int *number, int *ranks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ranks[i] = -1;
    if (in[i] % 2) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(number, (int)active.size());
        ranks[i] = active.thread_rank() + 100 * active.shfl(in[i], 0);
    }
}

__global__ void labels(const int *in, int *sizes)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto same = cg::labeled_partition(warp, in[i] % 5);
    sizes[i] = same.size();
}

// Sums all values in rounds, with a barrier of the grid after each.
__global__ void halve(int *values, int count)
{
    cg::grid_group grid = cg::this_grid();
    for (int distance = count / 2; distance > 0; distance /= 2) {
        for (int i = grid.thread_rank(); i < distance; i += grid.size())
            values[i] += values[i + distance];
        grid.sync();
    }
}

static void check_warps(const int *in, const int *ranks, int odds, const int *sizes)
{
    int expected = 0;
    for (int first = 0; first < COUNT; first += 32) {
        int rank = 0, leader = 0, labelled[5] = {};
        for (int i = first; i < first + 32; i++) {
            labelled[in[i] % 5]++;
            if (in[i] % 2 && rank == 0)
                leader = in[i];
            EXPECT(ranks[i] == (in[i] % 2 ? rank++ + 100 * leader : -1));
        }
        expected += rank;
        for (int i = first; i < first + 32; i++)
            EXPECT(sizes[i] == labelled[in[i] % 5]);
    }
    EXPECT(odds == expected);
}

int main()
{
    int *in, *sums, *prefixes, *number, *ranks, *sizes, total = 0, count = COUNT;
    CHECK(cudaMallocManaged(&in, COUNT * sizeof(int)));
    CHECK(cudaMallocManaged(&sums, COUNT / 16 * sizeof(int)));
    CHECK(cudaMallocManaged(&prefixes, COUNT * sizeof(int)));
    CHECK(cudaMallocManaged(&number, sizeof(int)));
    CHECK(cudaMallocManaged(&ranks, COUNT * sizeof(int)));
    CHECK(cudaMallocManaged(&sizes, COUNT * sizeof(int)));
    for (int i = 0; i < COUNT; i++)
        total += in[i] = i * 13 % 41;
    *number = 0;
    tiles<<<BLOCKS, THREADS>>>(in, sums, prefixes);
    odd<<<BLOCKS, THREADS>>>(in, number, ranks);
    labels<<<BLOCKS, THREADS>>>(in, sizes);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0, sum = 0; i < COUNT; i++) {
        sum = i % 16 == 0 ? in[i] : sum + in[i];
        EXPECT(prefixes[i] == sum);
        EXPECT(i % 16 != 15 || sums[i / 16] == sum);
    }
    check_warps(in, ranks, *number, sizes);
    void *arguments[] = {&in, &count};
    CHECK(cudaLaunchCooperativeKernel((void *)halve, dim3(4), dim3(THREADS), arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(in[0] == total);
    return finish();
}
