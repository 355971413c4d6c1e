// Thread block clusters of a fixed size and of a size given at the launch, with distributed shared
// memory.
#include "../../programs/expect.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static const int THREADS = 64, BLOCKS = 8, BINS = 128, COUNT = 2048;

// Each block of a cluster keeps a quarter of the bins; its threads add to the bins of every block.
__global__ void __cluster_dims__(4, 1, 1) histogram(const int *values, int count, int *bins)
{
    __shared__ int own[BINS / 4];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < BINS / 4; i += blockDim.x)
        own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int *remote = cluster.map_shared_rank(own, values[i] / (BINS / 4));
        atomicAdd(remote + values[i] % (BINS / 4), 1);
    }
    cluster.sync();
    int first = cluster.block_rank() * (BINS / 4);
    for (int i = threadIdx.x; i < BINS / 4; i += blockDim.x)
        atomicAdd(bins + first + i, own[i]);
}

// Each block hands its tile to the next block of its cluster, as many times as asked.
__global__ void rotate(const float *in, float *out, int rounds)
{
    extern __shared__ float tiles[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tiles[threadIdx.x] = in[i];
    for (int round = 0; round < rounds; round++) {
        float value = tiles[round % 2 * THREADS + threadIdx.x];
        float *target = tiles + (round + 1) % 2 * THREADS + threadIdx.x;
        cluster.sync();
        *cluster.map_shared_rank(target, next) = value + 0.5f;
        cluster.sync();
    }
    out[i] = tiles[rounds % 2 * THREADS + threadIdx.x];
}

static void launch_rotate(const float *in, float *out, int rounds, unsigned blocks_per_cluster)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks_per_cluster;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = 2 * THREADS * sizeof(float);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, rotate, in, out, rounds));
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    int *values, *bins, expected[BINS] = {};
    float *in, *out;
    CHECK(cudaMallocManaged(&values, COUNT * sizeof(int)));
    CHECK(cudaMallocManaged(&bins, BINS * sizeof(int)));
    CHECK(cudaMallocManaged(&in, BLOCKS * THREADS * sizeof(float)));
    CHECK(cudaMallocManaged(&out, BLOCKS * THREADS * sizeof(float)));
    for (int i = 0; i < COUNT; i++)
        expected[values[i] = i * i % 331 % BINS]++;
    CHECK(cudaMemset(bins, 0, BINS * sizeof(int)));
    histogram<<<BLOCKS, THREADS>>>(values, COUNT, bins);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < BINS; i++)
        EXPECT(bins[i] == expected[i]);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        in[i] = (float)i;
    for (int size = 2; size <= 8; size *= 2) {
        launch_rotate(in, out, 3, size);
        for (int i = 0; i < BLOCKS * THREADS; i++) {
            int block = i / THREADS, first = block / size * size;
            int source = first + (block - first + 3 * size - 3) % size;
            EXPECT(out[i] == in[source * THREADS + i % THREADS] + 1.5f);
        }
    }
    return finish();
}
