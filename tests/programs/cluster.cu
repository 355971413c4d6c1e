// Clusters: by a launch attribute and by an attribute of the kernel, with distributed shared memory.
#include "expect.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void exchange(int *result)
{
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        value = blockIdx.x * 10;
    cluster.sync();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    if (threadIdx.x == 0)
        result[blockIdx.x] = *cluster.map_shared_rank(&value, next);
    cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) rank_of(int *result)
{
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        result[blockIdx.x] = cluster.block_rank() + 10 * cluster.num_blocks();
}

int main()
{
    const int blocks = 8;
    int *result, back[blocks], clusters = 0, size = 0;
    CHECK(cudaMalloc(&result, sizeof(back)));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, exchange, &config));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, exchange, &config));
    EXPECT(clusters > 0 && size >= 8);
    CHECK(cudaLaunchKernelEx(&config, exchange, result));
    CHECK(cudaMemcpy(back, result, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks; i++)
        EXPECT(back[i] == (i / 4 * 4 + (i + 1) % 4) * 10);
    rank_of<<<blocks, 32>>>(result);
    CHECK(cudaMemcpy(back, result, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks; i++)
        EXPECT(back[i] == i % 2 + 20);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, rank_of));
    EXPECT(attributes.requiredClusterWidth == 2);
    return finish();
}
