/* nvcc: -arch=sm_90a */
/* Matrix products with mma.sync, ldmatrix and stmatrix. The tiles arrive by cp.async in three stages. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

enum { TILE_M = 64, TILE_N = 64, TILE_K = 32, STAGES = 3, ROW = TILE_K + 8 };

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void copy16(void *to, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

__device__ static void load_matrices(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ static void load_transposed(unsigned (&r)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row)));
}

__device__ static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned *b, half)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned *b, __nv_bfloat16)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* C[m][n] = A[m][k] B[k][n]. Blocks of four warps; each warp has 32 rows and 32 columns of the 64 by 64 tile. */
template <typename T> __device__ void pipeline(const T *a, const T *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) T tile_a[STAGES][TILE_M][ROW];
    __shared__ __align__(16) T tile_b[STAGES][TILE_K][TILE_N + 8];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
    float sums[2][4][4] = {};
    int steps = (k + TILE_K - 1) / TILE_K;
    auto fetch = [&](int step) {
        if (step < steps) {
            for (int piece = thread; piece < TILE_M * TILE_K / 8; piece += 128) {
                int row = piece / (TILE_K / 8), column = piece % (TILE_K / 8) * 8;
                bool inside = row0 + row < m && step * TILE_K + column < k;
                copy16(&tile_a[step % STAGES][row][column], inside ? &a[(row0 + row) * k + step * TILE_K + column] : a, inside);
            }
            for (int piece = thread; piece < TILE_K * TILE_N / 8; piece += 128) {
                int row = piece / (TILE_N / 8), column = piece % (TILE_N / 8) * 8;
                bool inside = step * TILE_K + row < k && column0 + column < n;
                copy16(&tile_b[step % STAGES][row][column], inside ? &b[(step * TILE_K + row) * n + column0 + column] : b, inside);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(0);
    fetch(1);
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        fetch(step + 2);
        int stage = step % STAGES;
        for (int depth = 0; depth < TILE_K; depth += 16) {
            unsigned registers_a[2][4], registers_b[4][2];
            for (int i = 0; i < 2; i++)
                load_matrices(registers_a[i], &tile_a[stage][warp / 2 * 32 + i * 16 + lane % 16][depth + lane / 16 * 8]);
            for (int j = 0; j < 4; j++)
                load_transposed(registers_b[j], &tile_b[stage][depth + lane % 16][warp % 2 * 32 + j * 8]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    multiply(sums[i][j], registers_a[i], registers_b[j], T());
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++) {
                int row = row0 + warp / 2 * 32 + i * 16 + lane / 4 + e / 2 * 8, column = column0 + warp % 2 * 32 + j * 8 + lane % 4 * 2 + e % 2;
                if (row < m && column < n)
                    c[row * n + column] = sums[i][j][e];
            }
}

extern "C" __global__ void pipeline_f16(const half *a, const half *b, float *c, int m, int n, int k)
{
    pipeline(a, b, c, m, n, k);
}

extern "C" __global__ void pipeline_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int m, int n, int k)
{
    pipeline(a, b, c, m, n, k);
}

/* One warp: 16 by 8 products of every other element type, each kernel with one instruction. a and b hold the fragments. */
#define ONE(name, shape, types, size_a, size_b, type, constraint)                                                                   \
    extern "C" __global__ void name(const unsigned *a, const unsigned *b, type *d)                                                  \
    {                                                                                                                               \
        unsigned x[4] = {}, y[2] = {};                                                                                              \
        type r[4];                                                                                                                  \
        for (int i = 0; i < size_a; i++)                                                                                            \
            x[i] = a[threadIdx.x * size_a + i];                                                                                     \
        for (int i = 0; i < size_b; i++)                                                                                            \
            y[i] = b[threadIdx.x * size_b + i];                                                                                     \
        for (int i = 0; i < 4; i++)                                                                                                 \
            r[i] = d[threadIdx.x * 4 + i];                                                                                          \
        asm volatile("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+" constraint(r[0]), "+" constraint(r[1]), "+" constraint(r[2]), "+" constraint(r[3])                       \
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));                                           \
        for (int i = 0; i < 4; i++)                                                                                                 \
            d[threadIdx.x * 4 + i] = r[i];                                                                                          \
    }
ONE(one_tf32, "m16n8k8", "f32.tf32.tf32.f32", 4, 2, float, "f")
ONE(one_s8, "m16n8k32", "s32.s8.s8.s32", 4, 2, int, "r")
ONE(one_u8_s8, "m16n8k32.satfinite", "s32.u8.s8.s32", 4, 2, int, "r")
ONE(one_s4, "m16n8k64", "s32.s4.s4.s32", 4, 2, int, "r")
ONE(one_e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", 4, 2, float, "f")
ONE(one_e5m2, "m16n8k32", "f32.e5m2.e4m3.f32", 4, 2, float, "f")

extern "C" __global__ void one_b1(const unsigned *a, const unsigned *b, int *d)
{
    int t = threadIdx.x, r[4] = {d[t * 4], d[t * 4 + 1], d[t * 4 + 2], d[t * 4 + 3]};
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
                 : "r"(a[t * 4]), "r"(a[t * 4 + 1]), "r"(a[t * 4 + 2]), "r"(a[t * 4 + 3]), "r"(b[t * 2]), "r"(b[t * 2 + 1]));
    for (int i = 0; i < 4; i++)
        d[t * 4 + i] = r[i];
}

/* Half of A is zero: pairs of every four elements are stored, and the metadata says which. */
extern "C" __global__ void sparse_f16(const unsigned *a, const unsigned *b, const unsigned *metadata, float *d)
{
    int t = threadIdx.x;
    float r[4] = {d[t * 4], d[t * 4 + 1], d[t * 4 + 2], d[t * 4 + 3]};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(a[t * 4]), "r"(a[t * 4 + 1]), "r"(a[t * 4 + 2]), "r"(a[t * 4 + 3]), "r"(b[t * 4]), "r"(b[t * 4 + 1]),
                   "r"(b[t * 4 + 2]), "r"(b[t * 4 + 3]), "r"(metadata[t]));
    for (int i = 0; i < 4; i++)
        d[t * 4 + i] = r[i];
}

/* The fragments of an f16 product go through stmatrix and movmatrix before they are stored. */
extern "C" __global__ void stores(const half *a, const half *b, half *c, half *transposed, unsigned *moved)
{
    __shared__ __align__(16) half tile_a[16][24], tile_b[16][24], tile_c[16][24], tile_t[16][24];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) {
        tile_a[i / 16][i % 16] = a[i];
        tile_b[i / 16][i % 16] = b[i];
    }
    __syncwarp();
    unsigned x[4], y[2][2], z[2][2] = {};
    load_matrices(x, &tile_a[lane % 16][lane / 16 * 8]);
    for (int j = 0; j < 2; j++) {
        load_transposed(y[j], &tile_b[lane % 16][j * 8]);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                     : "+r"(z[j][0]), "+r"(z[j][1])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
    }
    unsigned to = shared_address(&tile_c[lane % 16][lane / 16 * 8]), across = shared_address(&tile_t[lane % 16][lane / 16 * 8]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(z[0][0]), "r"(z[0][1]), "r"(z[1][0]),
                 "r"(z[1][1])
                 : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(across), "r"(z[0][0]), "r"(z[0][1]),
                 "r"(z[1][0]), "r"(z[1][1])
                 : "memory");
    __syncwarp();
    for (int i = lane; i < 256; i += 32) {
        c[i] = tile_c[i / 16][i % 16];
        transposed[i] = tile_t[i / 16][i % 16];
    }
    unsigned across_lanes;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(across_lanes) : "r"(z[0][0]));
    moved[lane] = across_lanes;
}
