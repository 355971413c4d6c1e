/* nvcc: -arch=sm_90a -std=c++17 */
/* Clusters: distributed shared memory, barriers of the cluster, copies and arrivals in other blocks, multicast. */
#include <cooperative_groups.h>
#include <cuda.h>
#include <stdint.h>

namespace cg = cooperative_groups;

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static unsigned in_block(unsigned address, unsigned rank)
{
    unsigned mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

__device__ static void barrier_init(uint64_t *barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ static void expect(uint64_t *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ static void wait(uint64_t *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ static void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Each block sums its part; the first block of the cluster adds the sums of the others from their shared memory. */
extern "C" __global__ void cluster_sum(const int *x, int *out)
{
    __shared__ int sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x < cluster.num_blocks()) {
        int part = *cluster.map_shared_rank(&sum, threadIdx.x);
        atomicAdd(&out[blockIdx.x / cluster.num_blocks()], part);
    }
    cluster.sync();
}

/* A histogram whose bins are spread over the blocks of the cluster. */
extern "C" __global__ void cluster_histogram(const unsigned *x, int *out, int n)
{
    __shared__ int bins[64];
    cg::cluster_group cluster = cg::this_cluster();
    int blocks = cluster.num_blocks(), rank = cluster.block_rank();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        bins[i] = 0;
    cluster.sync();
    for (int i = rank * blockDim.x + threadIdx.x; i < n; i += blocks * blockDim.x) {
        unsigned bin = x[i] % (64 * blocks);
        atomicAdd(cluster.map_shared_rank(bins, bin / 64) + bin % 64, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        out[rank * 64 + i] = bins[i];
}

/* Passes values around the ring of blocks with st.async, red.async and remote arrivals. */
extern "C" __global__ void cluster_ring(const unsigned *x, unsigned *out)
{
    __shared__ __align__(16) unsigned box[64], sum;
    __shared__ uint64_t full, added;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks(), t = threadIdx.x;
    if (t == 0) {
        barrier_init(&full, 1);
        barrier_init(&added, 64);
        sum = 0;
        expect(&full, 64 * 4 + 16);
    }
    cluster_sync();
    unsigned value = x[rank * 64 + t], remote_full = in_block(shared_address(&full), next);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(in_block(shared_address(&box[t]), next)),
                 "r"(value), "r"(remote_full)
                 : "memory");
    if (t < 4)
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                         in_block(shared_address(&sum), next)),
                     "r"(value), "r"(remote_full)
                     : "memory");
    wait(&full, 0);
    unsigned received = box[63 - t];
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(shared_address(&added), next)) : "memory");
    wait(&added, 0);
    out[rank * 64 + t] = received + sum;
    cluster_sync();
}

/* Copies shared memory to the next block with a bulk copy. */
extern "C" __global__ void cluster_copy(const int *x, int *out)
{
    __shared__ __align__(128) int from[128], to[128];
    __shared__ uint64_t barrier;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    from[threadIdx.x] = x[rank * 128 + threadIdx.x];
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        expect(&barrier, 512);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster_sync();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
                         in_block(shared_address(to), next)),
                     "r"(shared_address(from)), "r"(in_block(shared_address(&barrier), next))
                     : "memory");
    wait(&barrier, 0);
    out[rank * 128 + threadIdx.x] = to[127 - threadIdx.x];
    cluster_sync();
}

/* The first block of the cluster loads for all blocks in the mask. The others keep their old contents. */
extern "C" __global__ void bulk_multicast(const int *x, int *out, int mask)
{
    __shared__ __align__(128) int tile[128];
    __shared__ uint64_t barrier;
    unsigned rank = cg::this_cluster().block_rank();
    tile[threadIdx.x] = -1;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        if (mask >> rank & 1)
            expect(&barrier, 512);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster_sync();
    if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 512, [%2], %3;" ::"r"(
                         shared_address(tile)),
                     "l"(x), "r"(shared_address(&barrier)), "h"((short)mask)
                     : "memory");
    if (mask >> rank & 1)
        wait(&barrier, 0);
    out[rank * 128 + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/* Each block of the cluster loads one slice of the box and sends it to all: 32 bytes wide, 8 rows each. */
extern "C" __global__ void tensor_multicast(const __grid_constant__ CUtensorMap map, int *out)
{
    __shared__ __align__(128) int tile[4][64];
    __shared__ uint64_t barrier;
    unsigned rank = cg::this_cluster().block_rank();
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        expect(&barrier, sizeof tile);
    }
    cluster_sync();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], "
                     "[%2], %5;" ::"r"(shared_address(tile[rank])),
                     "l"(&map), "r"(shared_address(&barrier)), "r"(0), "r"(rank * 8), "h"((short)15)
                     : "memory");
    wait(&barrier, 0);
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        out[rank * 256 + i] = tile[i / 64][i % 64];
    cluster_sync();
}

/* The special registers of a cluster with two dimensions. */
extern "C" __global__ void cluster_registers(unsigned *out)
{
    unsigned values[8];
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(values[0]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(values[1]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(values[2]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(values[3]));
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(values[4]));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(values[5]));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(values[6]));
    asm volatile("{\n.reg .pred p;\nmov.pred p, %%is_explicit_cluster;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(values[7]));
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x < 8)
        out[block * 8 + threadIdx.x] = values[threadIdx.x];
}

/* The size of the cluster is part of the kernel. */
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_fixed(int *out)
{
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        value = 100 + blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = *cluster.map_shared_rank(&value, cluster.block_rank() ^ 1);
    cluster.sync();
}
