// The tensor memory accelerator: boxes of a matrix are loaded into shared memory, changed and
// stored.
#include "../../programs/expect.h"
#include <cstdint>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <vector>

static const int WIDTH = 96, HEIGHT = 80, BOX = 32;

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// Adds 1 to the box of each block. Elements outside of the matrix are read as 0 and not written.
__global__ void increase(const __grid_constant__ CUtensorMap in,
                         const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) float box[BOX * BOX];
    __shared__ uint64_t barrier;
    int x = blockIdx.x * BOX, y = blockIdx.y * BOX;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier))
                     : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                         shared_address(&barrier)),
                     "r"((unsigned)sizeof(box))
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(box)),
            "l"(&in), "r"(x), "r"(y), "r"(shared_address(&barrier))
            : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], "
                     "0;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(shared_address(&barrier))
                     : "memory");
    for (int i = threadIdx.x; i < BOX * BOX; i += blockDim.x)
        box[i] += 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::
                "l"(&out),
            "r"(x), "r"(y), "r"(shared_address(box))
            : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

static CUtensorMap describe(float *matrix)
{
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSuccess);
    CUtensorMap map;
    cuuint64_t sizes[2] = {WIDTH, HEIGHT}, strides[1] = {WIDTH * sizeof(float)};
    cuuint32_t box[2] = {BOX, BOX}, steps[2] = {1, 1};
    CUresult result = ((PFN_cuTensorMapEncodeTiled_v12000)function)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sizes, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT(result == CUDA_SUCCESS);
    return map;
}

int main()
{
    const size_t bytes = WIDTH * HEIGHT * sizeof(float);
    std::vector<float> host(WIDTH * HEIGHT), back(host);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        host[i] = (float)(i % 1000);
    float *in, *out;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0, bytes));
    dim3 blocks(WIDTH / BOX, (HEIGHT + BOX - 1) / BOX);
    increase<<<blocks, 128>>>(describe(in), describe(out));
    increase<<<blocks, 128>>>(describe(out), describe(out));
    CHECK(cudaMemcpy(back.data(), out, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT(back[i] == host[i] + 2.0f);
    return finish();
}
