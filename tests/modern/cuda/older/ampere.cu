/* nvcc: -arch=sm_80 -std=c++17 */
/* Ampere: cp.async through the pipeline functions, bf16 and f64 products, hardware reductions and L2 hints. */
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

/* Two stages of a copy; each thread then sums its column. */
extern "C" __global__ void staged_sum(const float4 *x, float4 *out, int batches)
{
    __shared__ float4 stages[2][64];
    int t = threadIdx.x;
    float4 sum = {0, 0, 0, 0};
    __pipeline_memcpy_async(&stages[0][t], &x[t], 16);
    __pipeline_commit();
    for (int batch = 0; batch < batches; batch++) {
        if (batch + 1 < batches)
            __pipeline_memcpy_async(&stages[(batch + 1) % 2][t], &x[(batch + 1) * 64 + t], 16, batch % 3 == 2 ? 4 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 value = stages[batch % 2][63 - t];
        sum = {sum.x + value.x, sum.y - value.y, fmaf(sum.z, 0.5f, value.z), fmaxf(sum.w, value.w)};
        __syncthreads();
    }
    out[t] = sum;
}

extern "C" __global__ void bf16_ampere(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 32, 8, 16, __nv_bfloat16, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, __nv_bfloat16, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, 32, 8, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int k = 0; k < 48; k += 16) {
        wmma::load_matrix_sync(tile_a, a + k, 48);
        wmma::load_matrix_sync(tile_b, b + k, 48);
        wmma::mma_sync(sums, tile_a, tile_b, sums);
    }
    wmma::store_matrix_sync(c, sums, 32, wmma::mem_col_major);
}

extern "C" __global__ void f64_ampere(const double *a, const double *b, double *c)
{
    int t = threadIdx.x;
    double d[2] = {c[t * 2], c[t * 2 + 1]};
    for (int k = 0; k < 4; k++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[0]), "+d"(d[1])
                     : "d"(a[k * 32 + t]), "d"(b[k * 32 + t]));
    c[t * 2] = d[0];
    c[t * 2 + 1] = d[1];
}

extern "C" __global__ void hints(const int *x, int *out)
{
    int t = threadIdx.x, value;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.L2::128B.s32 %0, [%1], %2;" : "=r"(value) : "l"(x + t), "l"(policy));
    unsigned sum = __reduce_add_sync(0xffffffff, value), bits = __reduce_xor_sync(0xffffffff, value);
    int highest = __reduce_max_sync(0xffffffff, value);
    asm volatile("st.global.L2::cache_hint.s32 [%0], %1, %2;" ::"l"(out + t), "r"((int)(sum + bits) + highest + __popc(__match_any_sync(~0u, value % 4))), "l"(policy)
                 : "memory");
}
