/* nvcc: -arch=sm_90a */
/* Matrix products of a warp group with wgmma: the operands in shared memory in every swizzled layout, A from registers, B by rows
 * and by columns, every element type. A block has one warp group and computes a 64 by 64 tile. */
#include <cuda_fp16.h>
#include <stdint.h>

#define SUMS(c)                                                                                                                    \
    "+" c(d[0]), "+" c(d[1]), "+" c(d[2]), "+" c(d[3]), "+" c(d[4]), "+" c(d[5]), "+" c(d[6]), "+" c(d[7]), "+" c(d[8]),           \
        "+" c(d[9]), "+" c(d[10]), "+" c(d[11]), "+" c(d[12]), "+" c(d[13]), "+" c(d[14]), "+" c(d[15]), "+" c(d[16]),             \
        "+" c(d[17]), "+" c(d[18]), "+" c(d[19]), "+" c(d[20]), "+" c(d[21]), "+" c(d[22]), "+" c(d[23]), "+" c(d[24]),            \
        "+" c(d[25]), "+" c(d[26]), "+" c(d[27]), "+" c(d[28]), "+" c(d[29]), "+" c(d[30]), "+" c(d[31])
#define REGISTERS                                                                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "    \
    "%26, %27, %28, %29, %30, %31}"

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void begin()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ static void finish()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
}

/* A matrix descriptor. The swizzle is 0 for none, and 1, 2, 3 for rows of 128, 64 and 32 bytes. */
__device__ static uint64_t descriptor(unsigned address, unsigned leading, unsigned stride, uint64_t swizzle)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | swizzle << 62;
}

/* Copies 64 rows of WIDTH bytes into a tile with swizzled rows of WIDTH bytes, or without a swizzle (WIDTH is 32) into core
 * matrices of 8 rows of 16 bytes, which follow one another along the rows first. */
template <int WIDTH, bool SWIZZLED> __device__ void fill(char *tile, const char *from, int stride)
{
#pragma unroll 1
    for (int piece = threadIdx.x; piece < 64 * WIDTH / 16; piece += 128) {
        int row = piece / (WIDTH / 16), chunk = piece % (WIDTH / 16);
        unsigned offset = row * WIDTH + chunk * 16;
        if (SWIZZLED)
            offset ^= (offset >> 7 & (WIDTH / 16 - 1)) << 4;
        else
            offset = chunk * 1024 + row / 8 * 128 + row % 8 * 16;
        *(uint4 *)(tile + offset) = *(const uint4 *)(from + row * stride + chunk * 16);
    }
}

/* Element e of the fragment of this thread is at this row and column of the tile. */
__device__ static int row_of(int e)
{
    return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + e / 2 % 2 * 8;
}

__device__ static int column_of(int e)
{
    return e / 4 * 8 + threadIdx.x % 4 * 2 + e % 2;
}

#define MULTIPLY(name, shape, types, constraint, type, tail)                                                                       \
    struct name {                                                                                                                  \
        typedef type sum;                                                                                                          \
        __device__ static void apply(type (&d)[32], uint64_t a, uint64_t b, int accumulate)                                        \
        {                                                                                                                          \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                              \
                         "wgmma.mma_async.sync.aligned." shape "." types " " REGISTERS ", %32, %33, p" tail ";\n}"                 \
                         : SUMS(constraint)                                                                                        \
                         : "l"(a), "l"(b), "r"(accumulate));                                                                       \
        }                                                                                                                          \
    }
MULTIPLY(F16, "m64n64k16", "f32.f16.f16", "f", float, ", 1, 1, 0, 0");
MULTIPLY(F16_NEGATED, "m64n64k16", "f32.f16.f16", "f", float, ", -1, 1, 0, 0");
MULTIPLY(F16_ROWS, "m64n64k16", "f32.f16.f16", "f", float, ", 1, 1, 0, 1");
MULTIPLY(BF16, "m64n64k16", "f32.bf16.bf16", "f", float, ", 1, 1, 0, 0");
MULTIPLY(TF32, "m64n64k8", "f32.tf32.tf32", "f", float, ", 1, 1");
MULTIPLY(E4M3, "m64n64k32", "f32.e4m3.e4m3", "f", float, ", 1, 1");
MULTIPLY(E5M2, "m64n64k32", "f32.e5m2.e4m3", "f", float, ", 1, -1");
MULTIPLY(S8, "m64n64k32", "s32.s8.s8", "r", int, "");
MULTIPLY(U8, "m64n64k32", "s32.u8.s8", "r", int, "");

/* C[64][64] = A[64][bytes] B[64][bytes]^T; rows are `bytes` long, a multiple of WIDTH. */
template <typename Product, int WIDTH, int SWIZZLE> __device__ void product(const void *a, const void *b, typename Product::sum *c, int bytes)
{
    __shared__ __align__(1024) char tile_a[64 * WIDTH], tile_b[64 * WIDTH];
    typename Product::sum d[32] = {};
#pragma unroll 1
    for (int start = 0; start < bytes; start += WIDTH) {
        fill<WIDTH, SWIZZLE != 0>(tile_a, (const char *)a + start, bytes);
        fill<WIDTH, SWIZZLE != 0>(tile_b, (const char *)b + start, bytes);
        begin();
        for (int step = 0; step < WIDTH; step += 32) {
            unsigned leading = SWIZZLE ? 16 : 1024, stride = SWIZZLE ? 8 * WIDTH : 128;
            Product::apply(d, descriptor(shared_address(tile_a) + step, leading, stride, SWIZZLE),
                           descriptor(shared_address(tile_b) + step, leading, stride, SWIZZLE), start + step);
        }
        finish();
    }
    for (int e = 0; e < 32; e++)
        c[row_of(e) * 64 + column_of(e)] = d[e];
}

#define KERNEL(name, Product, width, swizzle)                                                                                      \
    extern "C" __global__ void __launch_bounds__(128) name(const void *a, const void *b, Product::sum *c, int bytes)               \
    {                                                                                                                              \
        product<Product, width, swizzle>(a, b, c, bytes);                                                                          \
    }
KERNEL(f16_plain, F16, 32, 0)
KERNEL(f16_32, F16, 32, 3)
KERNEL(f16_64, F16, 64, 2)
KERNEL(f16_128, F16, 128, 1)
KERNEL(f16_negated, F16_NEGATED, 128, 1)
KERNEL(bf16_128, BF16, 128, 1)
KERNEL(tf32_128, TF32, 128, 1)
KERNEL(e4m3_64, E4M3, 64, 2)
KERNEL(e5m2_128, E5M2, 128, 1)
KERNEL(s8_128, S8, 128, 1)
KERNEL(u8_plain, U8, 32, 0)

/* C = A[64][16] B[16][64]: the rows of B are 128 bytes and swizzled, and wgmma transposes them. */
extern "C" __global__ void __launch_bounds__(128) f16_rows(const half *a, const half *b, float *c)
{
    __shared__ __align__(1024) char tile_a[64 * 32], tile_b[64 * 128];
    float d[32] = {};
    fill<32, true>(tile_a, (const char *)a, 32);
    for (int piece = threadIdx.x; piece < 16 * 8; piece += 128) {
        unsigned offset = piece * 16;
        *(uint4 *)(tile_b + (offset ^ (offset >> 7 & 7) << 4)) = ((const uint4 *)b)[piece];
    }
    begin();
    F16_ROWS::apply(d, descriptor(shared_address(tile_a), 16, 256, 3), descriptor(shared_address(tile_b), 16, 1024, 1), 0);
    finish();
    for (int e = 0; e < 32; e++)
        c[row_of(e) * 64 + column_of(e)] = d[e];
}

/* A[64][16] comes from registers; the sums are f16. */
extern "C" __global__ void __launch_bounds__(128) f16_registers(const half *a, const half *b, half *c)
{
    __shared__ __align__(1024) char tile_b[64 * 32];
    unsigned x[4], d[16] = {};
    fill<32, true>(tile_b, (const char *)b, 32);
    for (int i = 0; i < 4; i++)
        x[i] = *(const unsigned *)&a[row_of(i * 2 % 4) * 16 + threadIdx.x % 4 * 2 + i / 2 * 8];
    begin();
    for (int step = 0; step < 2; step++)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
                     "%15}, {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
                       "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(descriptor(shared_address(tile_b), 16, 256, 3)), "r"(step));
    finish();
    for (int i = 0; i < 16; i++)
        *(unsigned *)&c[row_of(i * 2) * 64 + column_of(i * 2)] = d[i];
}

/* A has 64 rows of 32 elements of which every second pair is stored. */
extern "C" __global__ void __launch_bounds__(128) f16_sparse(const half *a, const half *b, const unsigned *metadata, float *c)
{
    __shared__ __align__(1024) char tile_a[64 * 32], tile_b[64 * 64];
    float d[32] = {};
    fill<32, true>(tile_a, (const char *)a, 32);
    fill<64, true>(tile_b, (const char *)b, 64);
    begin();
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16 " REGISTERS ", %32, %33, %34, 0, 1, 1, 1, 0, 0;"
                 : SUMS("f")
                 : "l"(descriptor(shared_address(tile_a), 16, 256, 3)), "l"(descriptor(shared_address(tile_b), 16, 512, 2)),
                   "r"(metadata[threadIdx.x]));
    finish();
    for (int e = 0; e < 32; e++)
        c[row_of(e) * 64 + column_of(e)] = d[e];
}
