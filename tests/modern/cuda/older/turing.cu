/* nvcc: -arch=sm_75 */
/* Tensor cores of Turing: wmma and the small shapes of mma.sync, with ldmatrix. */
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void wmma_turing(const half *a, const half *b, half *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> sums;
    wmma::fill_fragment(sums, __float2half(0.5f));
    for (int k = 0; k < 64; k += 16) {
        wmma::load_matrix_sync(tile_a, a + k, 64);
        wmma::load_matrix_sync(tile_b, b + k * 16, 16);
        wmma::mma_sync(sums, tile_a, tile_b, sums);
    }
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
}

/* C[16][8] = A[16][8] B[8][8] in f16 with f32 sums. */
extern "C" __global__ void mma_turing(const half *a, const half *b, float *c)
{
    __shared__ __align__(16) half tile_a[16][8], tile_b[8][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 128; i += 32)
        tile_a[i / 8][i % 8] = a[i];
    for (int i = lane; i < 64; i += 32)
        tile_b[i / 8][i % 8] = b[i];
    __syncwarp();
    unsigned x[2], y;
    float d[4] = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(x[0]), "=r"(x[1])
                 : "r"((unsigned)__cvta_generic_to_shared(&tile_a[lane % 16][0])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(y)
                 : "r"((unsigned)__cvta_generic_to_shared(&tile_b[lane % 8][0])));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(y));
    for (int e = 0; e < 4; e++)
        c[(lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2] = d[e];
}

/* The 8 by 8 products of 8-bit and 4-bit integers and of single bits, on fragments. */
extern "C" __global__ void integers_turing(const unsigned *a, const unsigned *b, int *c)
{
    int t = threadIdx.x, d[6] = {};
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[t]), "r"(b[t]));
    asm volatile("mma.sync.aligned.m8n8k32.row.col.satfinite.s32.u4.s4.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[t]), "r"(b[t]));
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[4]), "+r"(d[5])
                 : "r"(a[t]), "r"(b[t]));
    for (int i = 0; i < 6; i++)
        c[t * 6 + i] = d[i];
}

/* The product of four groups of eight lanes, from the time of Volta. */
extern "C" __global__ void quads(const unsigned *a, const unsigned *b, float *c)
{
    int t = threadIdx.x;
    float d[8] = {};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(a[t * 2]), "r"(a[t * 2 + 1]), "r"(b[t * 2]), "r"(b[t * 2 + 1]));
    for (int i = 0; i < 8; i++)
        c[t * 8 + i] = d[i];
}
