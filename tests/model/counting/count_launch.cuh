/* Question launch: code, parameters, constants, textures. */
#ifndef COUNT_LAUNCH_CUH
#define COUNT_LAUNCH_CUH

#include "count_base.cuh"

__global__ void empty(void) {}

template <int N> struct words {
    u32 v[N];
};

// Reads the first 'used' words of a parameter of N words.
template <int N> __global__ void parameter(const __grid_constant__ words<N> w, int used, u32 *sink)
{
    u32 sum = 0;
#pragma unroll 1
    for (int k = 0; k < used; k++)
        sum = sum * 3 + w.v[k];
    if (sum == 0x9e3779b9)
        *sink = sum;
}

__constant__ u32 table[16384];
__global__ void constants(int used, int step, u32 *sink)
{
    u32 sum = 0;
#pragma unroll 1
    for (int k = 0; k < used; k += step)
        sum = sum * 3 + table[k];
    if (sum == 0x9e3779b9)
        *sink = sum;
}

// N instructions in a row, 16 bytes each.
template <int N> __global__ void code(u32 a, u32 b, u32 *sink)
{
    u32 sum = threadIdx.x;
#pragma unroll
    for (int k = 0; k < N; k++)
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(sum) : "r"(a), "r"(b));
    if (sum == 0x9e3779b9)
        *sink = sum;
}

__global__ void fetches(cudaTextureObject_t t, int n, int step, int repeat, u32 *sink)
{
    u32 sum = 0;
    for (int r = 0; r < repeat; r++)
        for (int k = (int)threadIdx.x; k < n; k += (int)blockDim.x)
            sum += tex1Dfetch<u32>(t, (blockIdx.x * n + k) * step);
    if (sum == 0x9e3779b9)
        *sink = sum;
}

template <int N> static void run_code(int blocks)
{
    if (label("code,instructions=%d blocks=%d", N, blocks))
        RUN(code<N>, blocks, 32, 3, 5, sink);
}

template <int N> static void run_parameter(int blocks, int used)
{
    static words<N> w;
    if (label("parameter,words=%d used=%d blocks=%d", N, used, blocks))
        RUN(parameter<N>, blocks, 32, w, used, sink);
}

static void run_constants(int blocks, int used, int step)
{
    if (label("constants,words=%d step=%d blocks=%d", used, step, blocks))
        RUN(constants, blocks, 32, used, step, sink);
}

static void empty_question(void)
{
    int counts[] = {1, 2, 4, 8, 16, 32, 66, 132, 264, 1056, 10560};
    for (int blocks : counts)
        if (label("empty,blocks=%d threads=32", blocks))
            RUN(empty, blocks, 32);
    if (label("empty,blocks=132 threads=1024"))
        RUN(empty, 132, 1024);
}

static void launch_question(void)
{
    int few[] = {132, 16, 1};
    for (int blocks : few) {
        run_code<1>(blocks);
        run_code<64>(blocks);
        run_code<512>(blocks);
        run_code<2048>(blocks);
        run_code<8192>(blocks);
        run_code<32768>(blocks);
        run_parameter<8>(blocks, 8);
        run_parameter<1000>(blocks, 8);
        run_parameter<1000>(blocks, 1000);
        run_parameter<256>(blocks, 256);
        run_constants(blocks, 16, 1);
        run_constants(blocks, 512, 1);
        run_constants(blocks, 4096, 1);
        run_constants(blocks, 16384, 1);
        run_constants(blocks, 16384, 64);
    }
}

static void texture_question(void)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = buffer;
    resource.res.linear.desc = cudaCreateChannelDesc<u32>();
    resource.res.linear.sizeInBytes = 128 << 20;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    check(cudaCreateTextureObject(&texture, &resource, &description, NULL), "texture");
    int texts[][3] = {{4096, 1, 1}, {4096, 1, 2}, {4096, 8, 1}, {4096, 8, 2}, {4096, 32, 1}};
    for (auto &q : texts)
        if (label("fetches,n=%d step=%d repeat=%d", q[0], q[1], q[2]))
            RUN(fetches, BLOCKS, 512, texture, q[0], q[1], q[2], sink);
}

#endif
