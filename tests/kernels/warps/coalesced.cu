/* nvcc: -arch=sm_75 */

/* Cooperative groups: the lanes that are active in a branch, and tiles of a warp. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void coalesced(int n, const int *in, int *places, int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        int leader = group.shfl(i, 0);
        places[i] = (leader * 64 + (int)group.thread_rank()) * 64 + (int)group.size();
    }
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int sum = i < n ? in[i] : 0;
    for (int step = 4; step > 0; step /= 2)
        sum += tile.shfl_xor(sum, step);
    int ragged = tile.any(i >= n);
    if (tile.thread_rank() == 0)
        sums[i / 8] = sum * 2 + ragged;
}
