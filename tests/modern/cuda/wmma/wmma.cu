/* nvcc: -arch=sm_90a */
/* Matrix products with nvcuda::wmma: every element type, the three shapes, both layouts. Each warp computes one tile of C. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

/* C[M][N] = A B, with A and B in the layouts of their fragments. The grid has one warp per tile: x along N, y along M. */
template <int M, int N, int K, typename Element, typename LayoutA, typename LayoutB, typename Stored, typename Sum>
__device__ void product(const Stored *a, const Stored *b, Sum *c, int lda, int ldb, int ldc, int depth)
{
    const bool row_a = __is_same(LayoutA, wmma::row_major);
    const bool row_b = __is_same(LayoutB, wmma::row_major);
    wmma::fragment<wmma::matrix_a, M, N, K, Element, LayoutA> tile_a;
    wmma::fragment<wmma::matrix_b, M, N, K, Element, LayoutB> tile_b;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sums;
    int row = blockIdx.y * M, column = blockIdx.x * N;
    wmma::load_matrix_sync(sums, c + row * ldc + column, ldc, wmma::mem_row_major);
    for (int k = 0; k < depth; k += K) {
        wmma::load_matrix_sync(tile_a, row_a ? a + row * lda + k : a + k * lda + row, lda);
        wmma::load_matrix_sync(tile_b, row_b ? b + k * ldb + column : b + column * ldb + k, ldb);
        if constexpr (__is_same(Element, wmma::precision::tf32)) {
            for (int i = 0; i < tile_a.num_elements; i++)
                tile_a.x[i] = wmma::__float_to_tf32(tile_a.x[i]);
            for (int i = 0; i < tile_b.num_elements; i++)
                tile_b.x[i] = wmma::__float_to_tf32(tile_b.x[i]);
        }
        wmma::mma_sync(sums, tile_a, tile_b, sums);
    }
    wmma::store_matrix_sync(c + row * ldc + column, sums, ldc, wmma::mem_row_major);
}

extern "C" __global__ void f16_f32(const half *a, const half *b, float *c, int n, int k)
{
    product<16, 16, 16, half, wmma::row_major, wmma::col_major>(a, b, c, k, k, n, k);
}

extern "C" __global__ void f16_f16(const half *a, const half *b, half *c, int m, int n, int k)
{
    product<32, 8, 16, half, wmma::col_major, wmma::row_major>(a, b, c, m, n, n, k);
}

extern "C" __global__ void f16_narrow(const half *a, const half *b, float *c, int n, int k)
{
    product<8, 32, 16, half, wmma::row_major, wmma::row_major>(a, b, c, k, n, n, k);
}

extern "C" __global__ void bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int k)
{
    product<16, 16, 16, __nv_bfloat16, wmma::row_major, wmma::row_major>(a, b, c, k, n, n, k);
}

extern "C" __global__ void bf16_wide(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int m, int n, int k)
{
    product<8, 32, 16, __nv_bfloat16, wmma::col_major, wmma::col_major>(a, b, c, m, k, n, k);
}

extern "C" __global__ void tf32(const float *a, const float *b, float *c, int n, int k)
{
    product<16, 16, 8, wmma::precision::tf32, wmma::row_major, wmma::col_major>(a, b, c, k, k, n, k);
}

extern "C" __global__ void s8(const signed char *a, const signed char *b, int *c, int n, int k)
{
    product<16, 16, 16, signed char, wmma::row_major, wmma::col_major>(a, b, c, k, k, n, k);
}

extern "C" __global__ void u8_tall(const unsigned char *a, const unsigned char *b, int *c, int n, int k)
{
    product<32, 8, 16, unsigned char, wmma::row_major, wmma::row_major>(a, b, c, k, n, n, k);
}

extern "C" __global__ void f64(const double *a, const double *b, double *c, int n, int k)
{
    product<8, 8, 4, double, wmma::row_major, wmma::col_major>(a, b, c, k, k, n, k);
}

/* Accumulators stored and loaded by column, and scaled in registers. */
extern "C" __global__ void scaled(const half *a, const half *b, float *c, float alpha, float beta)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums, old;
    wmma::fill_fragment(sums, 0.0f);
    wmma::load_matrix_sync(tile_a, a, 16);
    wmma::load_matrix_sync(tile_b, b, 16);
    wmma::mma_sync(sums, tile_a, tile_b, sums);
    wmma::load_matrix_sync(old, c, 16, wmma::mem_col_major);
    for (int i = 0; i < sums.num_elements; i++)
        sums.x[i] = alpha * sums.x[i] + beta * old.x[i];
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_col_major);
}

/* 4-bit integers and single bits. */
extern "C" __global__ void s4(const void *a, const void *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sums;
    wmma::fill_fragment(sums, 0);
    wmma::load_matrix_sync(tile_a, a, 32);
    wmma::load_matrix_sync(tile_b, b, 32);
    wmma::mma_sync(sums, tile_a, tile_b, sums);
    wmma::store_matrix_sync(c, sums, 8, wmma::mem_row_major);
}

extern "C" __global__ void b1(const void *a, const void *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> sums;
    wmma::fill_fragment(sums, 0);
    wmma::load_matrix_sync(tile_a, a, 128);
    wmma::load_matrix_sync(tile_b, b, 128);
    wmma::bmma_sync(sums, tile_a, tile_b, sums, wmma::experimental::bmmaBitOpAND, wmma::experimental::bmmaAccumulateOpPOPC);
    wmma::store_matrix_sync(c, sums, 8, wmma::mem_row_major);
}
