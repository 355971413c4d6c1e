/* nvcc: -arch=sm_90a */
/* Copies of the copy engine: one copy per block, of a range or of a box of a tensor. */
#include <cuda.h>

#include "helpers.h"

static __shared__ uint64_t barrier;

/* The first thread initialises the mbarrier for `bytes` that arrive. */
__device__ static void prepare(unsigned bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ static void wait()
{
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again;\n}" ::"r"(
                     shared_address(&barrier))
                 : "memory");
}

__device__ static void drain()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ static void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* ---- ranges ---- */

extern "C" __global__ void bulk_load(const char *data, unsigned bytes)
{
    prepare(bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(memory)),
                 "l"(data + (size_t)blockIdx.x * bytes), "r"(bytes), "r"(shared_address(&barrier))
                 : "memory");
    wait();
}

#define BULK_STORE(name, instruction)                                                                                              \
    extern "C" __global__ void name(char *data, unsigned bytes)                                                                    \
    {                                                                                                                              \
        asm volatile(instruction " [%0], [%1], %2;" ::"l"(data + (size_t)blockIdx.x * bytes), "r"(shared_address(memory)), "r"(bytes) : "memory"); \
        drain();                                                                                                                   \
    }
BULK_STORE(bulk_store, "cp.async.bulk.global.shared::cta.bulk_group")
BULK_STORE(bulk_reduce_u32, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32")
BULK_STORE(bulk_reduce_u64, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64")
BULK_STORE(bulk_reduce_f16, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16")
BULK_STORE(bulk_reduce_min, "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32")

/* Every block of the cluster waits for the range; the first one loads it for all. */
extern "C" __global__ void bulk_multicast(const char *data, unsigned bytes, unsigned short blocks)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    prepare(bytes);
    cluster_barrier();
    if (rank == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                         shared_address(memory)),
                     "l"(data), "r"(bytes), "r"(shared_address(&barrier)), "h"(blocks)
                     : "memory");
    if (blocks >> rank & 1)
        wait();
    cluster_barrier();
}

/* Each block copies a range of its shared memory to the next block of the cluster. */
extern "C" __global__ void bulk_to_cluster(unsigned bytes)
{
    unsigned rank, size, to, arrival;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    prepare(bytes);
    cluster_barrier();
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(memory)), "r"((rank + 1) % size));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(arrival) : "r"(shared_address(&barrier)), "r"((rank + 1) % size));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "r"(shared_address(memory)), "r"(bytes), "r"(arrival)
                 : "memory");
    wait();
    cluster_barrier();
}

/* ---- tensors ---- */

#define TENSOR_LOAD(name, rank, coordinates, ...)                                                                                  \
    extern "C" __global__ void name(const __grid_constant__ CUtensorMap map, unsigned bytes, int x, int y, int z)                  \
    {                                                                                                                              \
        prepare(bytes);                                                                                                            \
        asm volatile("cp.async.bulk.tensor." rank                                                                                  \
                     ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2];" ::"r"(       \
                         shared_address(memory)),                                                                                  \
                     "l"(&map), "r"(shared_address(&barrier)), __VA_ARGS__                                                         \
                     : "memory");                                                                                                  \
        wait();                                                                                                                    \
    }
TENSOR_LOAD(tensor_load_1d, "1d", "%3", "r"(x))
TENSOR_LOAD(tensor_load_2d, "2d", "%3, %4", "r"(x), "r"(y))
TENSOR_LOAD(tensor_load_3d, "3d", "%3, %4, %5", "r"(x), "r"(y), "r"(z))

#define TENSOR_STORE(name, instruction)                                                                                            \
    extern "C" __global__ void name(const __grid_constant__ CUtensorMap map, int x, int y)                                         \
    {                                                                                                                              \
        asm volatile(instruction " [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(shared_address(memory)), "r"(x), "r"(y) : "memory");     \
        drain();                                                                                                                   \
    }
TENSOR_STORE(tensor_store_2d, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
TENSOR_STORE(tensor_add_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group")

/* ---- the shared memory of other blocks ---- */

/* Each block of the cluster accesses the memory of the next one. */
#define REMOTE(name, access)                                                                                                       \
    extern "C" __global__ void name(const unsigned *offsets, unsigned unit, unsigned mask, unsigned *out)                          \
    {                                                                                                                              \
        unsigned rank, size, at, a = threadIdx.x, b = 1, c = 2, d = 3;                                                             \
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));                                                               \
        asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));                                                              \
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(memory)), "r"((rank + 1) % size));     \
        at += offsets[threadIdx.x] * unit;                                                                                         \
        cluster_barrier();                                                                                                         \
        if (mask >> threadIdx.x & 1) {                                                                                             \
            access                                                                                                                 \
        }                                                                                                                          \
        cluster_barrier();                                                                                                         \
        out[blockIdx.x * 32 + threadIdx.x] = a ^ b ^ c ^ d;                                                                        \
    }
REMOTE(remote_load_32, asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(a) : "r"(at) : "memory");)
REMOTE(remote_load_128,
       asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");)
REMOTE(remote_store_32, asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(a) : "memory");)
REMOTE(remote_store_128,
       asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");)
REMOTE(remote_atom_add, asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(a) : "r"(at), "r"(b) : "memory");)
