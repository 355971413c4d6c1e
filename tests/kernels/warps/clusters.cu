/* nvcc: -arch=sm_90 */

/* Clusters: blocks read, write and update each other's shared memory; needs sm_90. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

/* Each of 4 blocks holds 64 bins of a histogram, and every block increments bins of all blocks. */
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_sum(int count, const unsigned *in, unsigned *out)
{
    __shared__ unsigned bins[64];
    cg::cluster_group cluster = cg::this_cluster();
    bins[threadIdx.x] = 0;
    cluster.sync();
    const unsigned *mine = in + (size_t)blockIdx.x * count;
    for (int i = threadIdx.x; i < count; i += 64) {
        unsigned bin = mine[i] % 256;
        atomicAdd(cluster.map_shared_rank(&bins[bin % 64], bin / 64), 1);
    }
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}

/* Each turn passes the values on to the next block of the cluster. Part of the work is done between
 * arriving at the barrier and waiting at it. */
extern "C" __global__ void __cluster_dims__(8, 1, 1)
    cluster_ring(int turns, const int *in, int *out)
{
    __shared__ int slots[2][96];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks(), i = threadIdx.x;
    int value = in[blockIdx.x * 96 + i], extra = 0;
    for (int turn = 0; turn < turns; turn++) {
        int *there = cluster.map_shared_rank(&slots[turn % 2][0], next);
        there[95 - i] = value;
        auto token = cluster.barrier_arrive();
        for (unsigned j = 0; j < i % 7; j++)
            extra = extra * 5 + (int)cluster.block_rank() + turn;
        cluster.barrier_wait(static_cast<decltype(token) &&>(token));
        value = slots[turn % 2][i] * 3 + turn;
    }
    out[blockIdx.x * 96 + i] = value ^ extra;
    cluster.sync();
}

/* A cluster with three dimensions: each block reads the position of every block. */
extern "C" __global__ void __cluster_dims__(2, 2, 2) cluster_cube(unsigned *out)
{
    __shared__ unsigned place;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        place = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z;
    cluster.sync();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (threadIdx.x < cluster.num_blocks()) {
        unsigned *there = cluster.map_shared_rank(&place, threadIdx.x);
        out[block * 8 + threadIdx.x] = *there + 1000 * cluster.query_shared_rank(there) +
                                       10000 * (cluster.block_index().x + 2 * cluster.block_index().y +
                                                4 * cluster.block_index().z) +
                                       100000 * cluster.dim_blocks().y;
    }
    cluster.sync();
}
