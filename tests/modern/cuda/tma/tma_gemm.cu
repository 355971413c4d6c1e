/* nvcc: -arch=sm_90a */
/* A matrix product as CUTLASS builds it for Hopper: one producer warp group loads tiles by TMA, two consumer warp groups multiply
 * them with wgmma, stmatrix writes the result to shared memory and TMA stores it. Registers move from producer to consumers. */
#include <cuda.h>
#include <cuda_fp16.h>
#include <stdint.h>

enum { TILE_M = 128, TILE_N = 64, TILE_K = 64, STAGES = 3 };

struct shared {
    __align__(1024) half a[STAGES][TILE_M * TILE_K];
    __align__(1024) half b[STAGES][TILE_N * TILE_K];
    __align__(1024) half c[TILE_M * TILE_N];
    uint64_t full[STAGES], empty[STAGES];
};

extern __shared__ __align__(1024) char memory[];

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void wait(uint64_t *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1, 10000;\n@!done bra again;\n}" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ static void load(const CUtensorMap *map, void *to, uint64_t *barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
                 : "memory");
}

__device__ static uint64_t descriptor(const void *pointer)
{
    return (uint64_t)((shared_address(pointer) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ static void multiply(float (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                   "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
                   "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

__device__ static void produce(shared *s, const CUtensorMap *map_a, const CUtensorMap *map_b, int steps)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 0)
        return;
    for (int step = 0; step < steps; step++) {
        int stage = step % STAGES;
        wait(&s->empty[stage], step / STAGES + 1 & 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&s->full[stage])),
                     "r"((TILE_M + TILE_N) * TILE_K * 2)
                     : "memory");
        load(map_a, s->a[stage], &s->full[stage], step * TILE_K, blockIdx.y * TILE_M);
        load(map_b, s->b[stage], &s->full[stage], step * TILE_K, blockIdx.x * TILE_N);
    }
}

__device__ static void consume(shared *s, const CUtensorMap *map_c, int steps)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    float sums[32] = {};
    for (int step = 0; step < steps; step++) {
        int stage = step % STAGES;
        wait(&s->full[stage], step / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TILE_K; k += 16)
            multiply(sums, descriptor(s->a[stage] + group * 64 * TILE_K + k), descriptor(s->b[stage] + k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % 128 == 0)
            asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(&s->empty[stage])) : "memory");
    }
    /* The tile of C has rows of 128 bytes with the 128-byte swizzle of its map. */
    for (int j = 0; j < 4; j++) {
        unsigned packed[4];
        for (int i = 0; i < 4; i++) {
            half2 pair = __floats2half2_rn(sums[j * 8 + i * 2], sums[j * 8 + i * 2 + 1]);
            packed[i] = *(unsigned *)&pair;
        }
        int row = group * 64 + warp * 16 + lane % 16;
        unsigned offset = row * 128 + (j * 2 + lane / 16) * 16;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         shared_address(s->c) + (offset ^ (offset >> 7 & 7) << 4)),
                     "r"(packed[0]), "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                     : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 256;" ::: "memory");
    if (threadIdx.x == 128) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map_c), "r"(shared_address(s->c)),
                     "r"(blockIdx.x * TILE_N), "r"(blockIdx.y * TILE_M)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

/* C[m][n] = A[m][k] B[n][k]^T. Blocks of 384 threads; dynamic shared memory of sizeof(struct shared). */
extern "C" __global__ void __launch_bounds__(384, 1) gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                                                         const __grid_constant__ CUtensorMap map_c, int k)
{
    shared *s = (shared *)memory;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&s->full[i])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(&s->empty[i])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int steps = (k + TILE_K - 1) / TILE_K;
    if (threadIdx.x < 128)
        produce(s, &map_a, &map_b, steps);
    else
        consume(s, &map_c, steps);
}
