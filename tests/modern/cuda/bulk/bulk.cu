/* nvcc: -arch=sm_90a */
/* mbarrier with transaction counts, bulk copies in both directions, reductions of bulk copies, prefetches, elect.sync. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void barrier_init(uint64_t *barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ static void expect(uint64_t *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ static void wait(uint64_t *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ static void load(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

__device__ static void store(void *to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

__device__ static void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ static bool elected()
{
    unsigned chosen;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(chosen));
    return chosen;
}

/* Each block copies a tile into shared memory, changes it, and copies it back. */
extern "C" __global__ void bulk_round_trip(const int *x, int *out)
{
    __shared__ __align__(128) int tile[1024];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 32 && elected()) {
        expect(&barrier, sizeof tile);
        load(tile, x + blockIdx.x * 1024, sizeof tile, &barrier);
    }
    wait(&barrier, 0);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        tile[i] = tile[i] * 3 + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        store(out + blockIdx.x * 1024, tile, sizeof tile);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

/* Four stages with a full and an empty barrier each: warp 0 loads, the other three warps sum. */
extern "C" __global__ void bulk_stages(const float *x, float *out, int batches)
{
    __shared__ __align__(128) float stages[4][96];
    __shared__ uint64_t full[4], empty[4];
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 96);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int batch = 0; batch < batches; batch++) {
            if (batch >= 4)
                wait(&empty[batch % 4], batch / 4 + 1 & 1);
            expect(&full[batch % 4], 96 * sizeof(float));
            load(stages[batch % 4], x + batch * 96, 96 * sizeof(float), &full[batch % 4]);
        }
    } else if (threadIdx.x >= 32) {
        float sum = 0;
        for (int batch = 0; batch < batches; batch++) {
            wait(&full[batch % 4], batch / 4 & 1);
            sum = sum * 0.5f + stages[batch % 4][127 - threadIdx.x];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[batch % 4])) : "memory");
        }
        out[threadIdx.x - 32] = sum;
    }
}

#define REDUCE(name, type, operation)                                                                                              \
    extern "C" __global__ void name(const type *x, type *out, int count)                                                           \
    {                                                                                                                              \
        __shared__ __align__(128) char tile[2048];                                                                                 \
        for (int i = threadIdx.x; i < count; i += blockDim.x)                                                                      \
            ((type *)tile)[i] = x[blockIdx.x * count + i];                                                                         \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                               \
        __syncthreads();                                                                                                           \
        if (threadIdx.x == 0) {                                                                                                    \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation " [%0], [%1], %2;" ::"l"(out),            \
                         "r"(shared_address(tile)), "r"(count * (unsigned)sizeof(type))                                            \
                         : "memory");                                                                                              \
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");                                                              \
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                                                              \
        }                                                                                                                          \
    }
REDUCE(reduce_add_u32, unsigned, "add.u32")
REDUCE(reduce_min_s32, int, "min.s32")
REDUCE(reduce_max_u64, unsigned long long, "max.u64")
REDUCE(reduce_xor_b64, unsigned long long, "xor.b64")
REDUCE(reduce_inc_u32, unsigned, "inc.u32")
REDUCE(reduce_add_f32, float, "add.f32")
REDUCE(reduce_add_f64, double, "add.f64")
REDUCE(reduce_add_f16, half, "add.noftz.f16")
REDUCE(reduce_max_bf16, __nv_bfloat16, "max.bf16")

/* Shared memory to the shared memory of the next block of the cluster, with prefetches into the L2 and a manual transaction count. */
extern "C" __global__ void shared_to_shared(const int *x, int *out)
{
    __shared__ __align__(128) int from[128], to[128];
    __shared__ uint64_t barrier;
    unsigned rank, count, next_to, next_barrier;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(next_to) : "r"(shared_address(to)), "r"((rank + 1) % count));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(next_barrier) : "r"(shared_address(&barrier)), "r"((rank + 1) % count));
    if (threadIdx.x == 0) {
        barrier_init(&barrier, blockDim.x);
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(x), "r"(512) : "memory");
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(512) : "memory");
    }
    from[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x] ^ 0x55;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster_sync();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(next_to),
                     "r"(shared_address(from)), "r"(512), "r"(next_barrier)
                     : "memory");
    uint64_t token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared_address(&barrier)) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(shared_address(&barrier)), "l"(token)
                     : "memory");
    out[blockIdx.x * 128 + threadIdx.x] = to[127 - threadIdx.x];
    cluster_sync();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

/* cp.async of 4, 8 and 16 bytes whose completion arrives on an mbarrier. */
extern "C" __global__ void async_arrive(const int *x, int *out)
{
    __shared__ __align__(16) int tile[64 * 7];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        barrier_init(&barrier, blockDim.x);
    __syncthreads();
    int t = threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[t * 4])), "l"(x + t * 4) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 4;" ::"r"(shared_address(&tile[256 + t * 2])), "l"(x + 256 + t * 2) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[384 + t])), "l"(x + 384 + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
    wait(&barrier, 0);
    for (int i = t; i < 64 * 7; i += 64)
        out[i] = tile[64 * 7 - 1 - i];
}

/* The number of pending arrivals of a phase, from the token of each arrival by thread 0. */
extern "C" __global__ void pending(unsigned *out)
{
    __shared__ uint64_t barrier;
    if (threadIdx.x)
        return;
    barrier_init(&barrier, 6);
    for (int i = 0; i < 4; i++) {
        uint64_t token;
        unsigned count;
        if (i % 2)
            asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(token) : "r"(shared_address(&barrier)) : "memory");
        else
            asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared_address(&barrier)) : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
        out[i] = count;
    }
}
