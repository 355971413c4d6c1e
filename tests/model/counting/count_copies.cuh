/* Question copies: loads, cp.async and the copy engine. */
#ifndef COUNT_COPIES_CUH
#define COUNT_COPIES_CUH

#include "count_base.cuh"

enum { C_LDCA, C_LDCG, C_CA4, C_CA8, C_CA16, C_CG16, C_NC };
static const char *copy_names[] = {"ld.ca", "ld.cg", "cp.async.ca.4", "cp.async.ca.8", "cp.async.ca.16", "cp.async.cg.16", "ld.nc"};

// Each block copies 'bytes' bytes, 'repeat' times. Block b starts at b * distance: 0 means that all blocks copy the same bytes.
template <int OP> __global__ void copies(char *p, u32 bytes, u64 distance, int stride, int repeat, u32 *sink)
{
    extern __shared__ __align__(1024) char to[];
    const u32 width = OP == C_CA4 ? 4 : OP == C_CA8 ? 8 : 16, shared = (u32)__cvta_generic_to_shared(to);
    u32 sum = 0;
    for (int r = 0; r < repeat; r++) {
        for (u32 at = threadIdx.x * stride; at < bytes; at += blockDim.x * stride) {
            char *from = p + blockIdx.x * distance + at;
            u32 where = shared + at / stride * width; // no two copies have the same destination: the GPU would drop some of them
            if (OP == C_LDCA)
                sum += access(LDCA, from, 0);
            else if (OP == C_LDCG)
                sum += access(LDCG, from, 0);
            else if (OP == C_NC)
                sum += access(LDNC, from, 0);
            else if (OP == C_CA4)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(where), "l"(from) : "memory");
            else if (OP == C_CA8)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(where), "l"(from) : "memory");
            else if (OP == C_CA16)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(where), "l"(from) : "memory");
            else
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(where), "l"(from) : "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }
    if (sum == 0x9e3779b9)
        *sink = sum;
}

template <int OP> static void run_copies(u32 bytes, u64 distance, int stride, int repeat)
{
    if (!label("copies,%s bytes=%u distance=%llu stride=%d repeat=%d", copy_names[OP], bytes, distance, stride, repeat))
        return;
    check(cudaFuncSetAttribute(copies<OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), "shared memory");
    copies<OP><<<BLOCKS, 512, 65536>>>(buffer, bytes, distance, stride, repeat, sink);
    finish();
}

template <int OP> static void copy_patterns(int width)
{
    run_copies<OP>(65536, 65536, width, 1);
    run_copies<OP>(65536, 65536, width, 2);
    run_copies<OP>(65536, 65536, 32, 1);
    run_copies<OP>(65536, 0, width, 1);
    run_copies<OP>(65536, 0, width, 2);
}

enum { B_LOAD, B_STORE, B_ADD, B_ADDF, B_PREFETCH };
static const char *bulk_names[] = {"bulk.load", "bulk.store", "bulk.add.u32", "bulk.add.f32", "bulk.prefetch.L2"};

__device__ void wait_for_bytes(u32 bar, u32 parity)
{
    asm volatile("{.reg .pred d; again: mbarrier.try_wait.parity.shared::cta.b64 d, [%0], %1; @d bra done; bra again; done: }" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

// The first thread of each block copies 'pieces' pieces of 'piece' bytes.
template <int OP> __global__ void bulk(char *p, u32 piece, int pieces, u64 distance, int repeat)
{
    extern __shared__ __align__(1024) char to[];
    __shared__ u64 barrier;
    u32 where = (u32)__cvta_generic_to_shared(to), bar = (u32)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x)
        return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    u32 parity = 0;
    for (int r = 0; r < repeat; r++)
        for (int k = 0; k < pieces; k++) {
            char *at = p + blockIdx.x * distance + (u64)k * piece;
            if (OP == B_LOAD) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(piece) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(where),
                             "l"(at), "r"(piece), "r"(bar)
                             : "memory");
                wait_for_bytes(bar, parity);
                parity ^= 1;
                continue;
            }
            if (OP == B_STORE)
                asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(at), "r"(where), "r"(piece) : "memory");
            else if (OP == B_ADD)
                asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(at), "r"(where),
                             "r"(piece)
                             : "memory");
            else if (OP == B_ADDF)
                asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(at), "r"(where),
                             "r"(piece)
                             : "memory");
            else
                asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at), "r"(piece) : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        }
}

template <int OP> static void run_bulk(u32 piece, int pieces, u64 distance, int repeat, u32 offset)
{
    if (!label("bulk,%s piece=%u pieces=%d distance=%llu repeat=%d offset=%u", bulk_names[OP], piece, pieces, distance, repeat, offset))
        return;
    check(cudaFuncSetAttribute(bulk<OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), "shared memory");
    bulk<OP><<<BLOCKS, 32, 65536>>>(buffer + offset, piece, pieces, distance, repeat);
    finish();
}

// The first thread of each block copies boxes of 32 x 32 words of a matrix of 'columns' words per row.
__global__ void boxes(const __grid_constant__ CUtensorMap map, int count, int same, int store, int repeat)
{
    extern __shared__ __align__(1024) char to[];
    __shared__ u64 barrier;
    u32 where = (u32)__cvta_generic_to_shared(to), bar = (u32)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x)
        return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    u32 parity = 0;
    for (int r = 0; r < repeat; r++)
        for (int k = 0; k < count; k++) {
            int x = k * 32, y = same ? 0 : blockIdx.x * 32;
            if (store == 0) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar) : "memory");
                asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                                 where),
                             "l"(&map), "r"(x), "r"(y), "r"(bar)
                             : "memory");
                wait_for_bytes(bar, parity);
                parity ^= 1;
                continue;
            }
            if (store == 1)
                asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y),
                             "r"(where)
                             : "memory");
            else
                asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                             "r"(x), "r"(y), "r"(where)
                             : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        }
}

typedef CUresult (*encode_fn)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                              const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static void run_boxes(int count, int same, int store, int repeat, int promotion)
{
    static encode_fn encode;
    cudaDriverEntryPointQueryResult found;
    if (!encode)
        check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found), "entry point");
    CUtensorMap map;
    cuuint64_t size[2] = {512, 132 * 32}, pitch[1] = {2048};
    cuuint32_t box[2] = {32, 32}, step[2] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, buffer, size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, (CUtensorMapL2promotion)promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
        fprintf(stderr, "count: cuTensorMapEncodeTiled failed\n");
        return;
    }
    if (!label("boxes,%s count=%d same=%d repeat=%d promotion=%d", store == 0 ? "load" : store == 1 ? "store" : "add", count, same, repeat,
               promotion))
        return;
    boxes<<<BLOCKS, 32, 8192>>>(map, count, same, store, repeat);
    finish();
}

static void copies_question(void)
{
    copy_patterns<C_LDCA>(4);
    copy_patterns<C_LDCG>(4);
    copy_patterns<C_CA4>(4);
    copy_patterns<C_CA16>(16);
    copy_patterns<C_CG16>(16);
    run_copies<C_CA8>(65536, 65536, 8, 1);
    run_copies<C_CA8>(65536, 65536, 8, 2);
    run_copies<C_NC>(65536, 65536, 4, 2);
}

static void bulk_question(void)
{
    u32 pieces[] = {16, 64, 128, 1024, 16384};
    for (u32 piece : pieces)
        run_bulk<B_LOAD>(piece, 64 * 1024 / piece > 64 ? 64 : 64 * 1024 / piece, 65536, 1, 0);
    run_bulk<B_LOAD>(16384, 4, 65536, 2, 0);
    run_bulk<B_LOAD>(16384, 4, 0, 1, 0);
    run_bulk<B_LOAD>(16384, 4, 0, 2, 0);
    run_bulk<B_LOAD>(1024, 16, 65536, 1, 16);
    run_bulk<B_STORE>(16384, 4, 65536, 1, 0);
    run_bulk<B_STORE>(16384, 4, 65536, 2, 0);
    run_bulk<B_STORE>(1024, 16, 65536, 1, 16);
    run_bulk<B_STORE>(16, 64, 65536, 1, 0);
}

static void bulk_more(void)
{
    run_bulk<B_ADD>(16384, 4, 65536, 1, 0);
    run_bulk<B_ADD>(16, 64, 65536, 1, 0);
    run_bulk<B_ADD>(16384, 4, 0, 1, 0);
    run_bulk<B_ADDF>(16384, 4, 65536, 1, 0);
    run_bulk<B_PREFETCH>(16384, 4, 65536, 1, 0);
    run_boxes(16, 0, 0, 1, 0);
    run_boxes(16, 0, 0, 2, 0);
    run_boxes(16, 1, 0, 1, 0);
    run_boxes(16, 1, 0, 2, 0);
    run_boxes(16, 0, 0, 1, 2);
    run_boxes(16, 0, 0, 1, 3);
    run_boxes(16, 0, 1, 1, 0);
    run_boxes(16, 0, 2, 1, 0);
}

#endif
