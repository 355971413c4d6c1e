/* nvcc: -arch=sm_90 -lineinfo */
/* Kernels that access shared memory, for the comparison of wavefronts per instruction with a GPU's counters.
 *
 * The pattern kernels have one access each, whose addresses the assembler does not know. Lane l accesses element number
 * l / share * stride (kind 0), (l / share) ^ stride (kind 1) or a pseudo-random number below 1024 (kind 2), of `unit` bytes. */
#include <cuda_fp16.h>

__shared__ uint4 memory[2048];

static __device__ unsigned place(unsigned unit, unsigned share, unsigned stride, unsigned kind)
{
    unsigned lane = threadIdx.x % 32;
    unsigned number = kind == 0 ? lane / share * stride : kind == 1 ? (lane / share) ^ stride : (lane / share * 2654435761u + stride * 40503u) >> 7;
    return (unsigned)__cvta_generic_to_shared(memory) + number % 1024 * unit;
}

#define PATTERN(name, access)                                                                                                      \
    extern "C" __global__ void name(unsigned unit, unsigned share, unsigned stride, unsigned mask, unsigned kind, unsigned *out)   \
    {                                                                                                                              \
        unsigned at = place(unit, share, stride, kind);                                                                            \
        unsigned a = threadIdx.x, b = 1, c = 2, d = 3;                                                                             \
        unsigned long long w = threadIdx.x;                                                                                        \
        if (mask >> (threadIdx.x % 32) & 1) {                                                                                      \
            access                                                                                                                 \
        }                                                                                                                          \
        out[blockIdx.x * blockDim.x + threadIdx.x] = a ^ b ^ c ^ d ^ (unsigned)w ^ (unsigned)(w >> 32);                            \
    }
#define LOAD_1(text) asm volatile(text " %0, [%1];" : "=r"(a) : "r"(at) : "memory");
#define LOAD_W(text) asm volatile(text " %0, [%1];" : "=l"(w) : "r"(at) : "memory");
#define LOAD_2(text) asm volatile(text " {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
#define LOAD_4(text) asm volatile(text " {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
#define STORE_1(text) asm volatile(text " [%0], %1;" ::"r"(at), "r"(a) : "memory");
#define STORE_W(text) asm volatile(text " [%0], %1;" ::"r"(at), "l"(w) : "memory");
#define STORE_4(text) asm volatile(text " [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
#define ATOM_1(text) asm volatile(text " %0, [%1], %2;" : "=r"(a) : "r"(at), "r"(b) : "memory");
#define ATOM_CAS(text) asm volatile(text " %0, [%1], %2, %3;" : "=r"(a) : "r"(at), "r"(b), "r"(c) : "memory");
PATTERN(load_1, LOAD_1("ld.shared.u8"))
PATTERN(load_2, LOAD_1("ld.shared.u16"))
PATTERN(load_4, LOAD_1("ld.shared.u32"))
PATTERN(load_8, LOAD_W("ld.shared.u64"))
PATTERN(load_16, LOAD_4("ld.shared.v4.u32"))
PATTERN(store_2, STORE_1("st.shared.u16"))
PATTERN(store_4, STORE_1("st.shared.u32"))
PATTERN(store_8, STORE_W("st.shared.u64"))
PATTERN(store_16, STORE_4("st.shared.v4.u32"))
PATTERN(atom_add, ATOM_1("atom.shared.add.u32"))
PATTERN(atom_exch, ATOM_1("atom.shared.exch.b32"))
PATTERN(atom_cas, ATOM_CAS("atom.shared.cas.b32"))
PATTERN(red_add, STORE_1("red.shared.add.u32"))
PATTERN(ldmatrix_x1, asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at) : "memory");)
PATTERN(ldmatrix_x2, LOAD_2("ldmatrix.sync.aligned.m8n8.x2.shared.b16"))
PATTERN(ldmatrix_x4, LOAD_4("ldmatrix.sync.aligned.m8n8.x4.shared.b16"))
PATTERN(stmatrix_x4, STORE_4("stmatrix.sync.aligned.m8n8.x4.shared.b16"))

/* ---- kernels of CUDA C ---- */

/* Blocks of 32 x 8 threads transpose tiles of 32 x 32 elements. */
template <typename T, int COLUMNS> static __device__ void transpose(const T *in, T *out, unsigned n)
{
    __shared__ T tile[32][COLUMNS];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (unsigned i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (unsigned i = 0; i < 32; i += 8)
        out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
#define TRANSPOSE(name, type, columns)                                                                                             \
    extern "C" __global__ void name(const float *in, float *out, unsigned n)                                                       \
    {                                                                                                                              \
        transpose<type, columns>((const type *)in, (type *)out, n);                                                                \
    }
TRANSPOSE(transpose_plain, float, 32)
TRANSPOSE(transpose_padded, float, 33)
TRANSPOSE(transpose_f64, double, 32)
TRANSPOSE(transpose_f64_padded, double, 33)
TRANSPOSE(transpose_u16, unsigned short, 32)
TRANSPOSE(transpose_u16_padded, unsigned short, 34)
TRANSPOSE(transpose_float4, float4, 32)

/* A tree with strides of 2, 4, ...: divergent warps, conflicts that grow. 256 threads. */
extern "C" __global__ void reduce_strided(const float *in, float *out, unsigned n)
{
    __shared__ float sums[256];
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned step = 1; step < 256; step *= 2) {
        unsigned at = 2 * step * t;
        if (at < 256)
            sums[at] += sums[at + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = sums[0];
}

/* Each thread adds numbers from `in`, as integers, to bins that depend on them. */
extern "C" __global__ void histogram(const float *in, float *out, unsigned n)
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned value = (unsigned)in[i];
        atomicAdd(&bins[value * 7 % 64], value);
    }
    __syncthreads();
    if (threadIdx.x < 64)
        out[blockIdx.x * 64 + threadIdx.x] = (float)bins[threadIdx.x];
}

/* Tiles of 16 x 16; 16 x 16 threads. The first matrix is read by columns. */
extern "C" __global__ void product(const float *in, float *out, unsigned n)
{
    __shared__ float a[16][16], b[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (unsigned k = 0; k < n; k += 16) {
        a[x][y] = in[row * n + k + x];
        b[y][x] = in[(k + y) * n + column];
        __syncthreads();
#pragma unroll 1
        for (unsigned i = 0; i < 16; i++)
            sum += a[i][y] * b[i][x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}

/* Diagonals of a tile of 17 x 17: partial warps whose lanes are 16 words apart. 16 threads. */
extern "C" __global__ void diagonals(const float *in, float *out, unsigned n)
{
    __shared__ float tile[17][17];
    unsigned t = threadIdx.x;
    for (unsigned i = 0; i < 17; i++)
        tile[i][t + 1] = in[(blockIdx.x * 17 + i) * n + t];
    tile[t + 1][0] = 0;
    __syncthreads();
    for (unsigned m = 0; m < 16; m++) {
        if (t <= m)
            tile[t + 1][m - t + 1] = fmaxf(tile[t][m - t], fmaxf(tile[t + 1][m - t], tile[t][m - t + 1]));
        __syncthreads();
    }
    out[blockIdx.x * 16 + t] = tile[16][t + 1];
}

/* Structs of 12 bytes, and pairs of words: 128 threads. */
extern "C" __global__ void structs(const float *in, float *out, unsigned n)
{
    struct point {
        float x, y, z;
    };
    __shared__ point points[128];
    __shared__ float2 pairs[128];
    unsigned t = threadIdx.x;
    points[t] = point{in[t], in[t + n], in[t + 2 * n]};
    pairs[t] = make_float2(in[t + 1], in[t + 2]);
    __syncthreads();
    unsigned other = (t * 5 + n) % 128;
    point p = points[other];
    float2 q = pairs[other ^ 3];
    out[blockIdx.x * 128 + t] = p.x * p.y + p.z * q.x + q.y;
}

/* For times: each thread loads 4096 words in a loop, at a distance of n words from lane to lane. 512 threads. */
extern "C" __global__ void loop(const float *in, float *out, unsigned n)
{
    __shared__ unsigned words[1024];
    unsigned t = threadIdx.x, at = t % 32 * n % 1024, sum = 0;
    words[t] = words[t + 512] = in[0] == 77 ? 1 : 0;
    __syncthreads();
#pragma unroll 4
    for (unsigned i = 0; i < 4096; i++) {
        unsigned value;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"((unsigned)__cvta_generic_to_shared(words + (at + 32 * i & 1023))) : "memory");
        sum += value;
    }
    out[blockIdx.x * 512 + t] = (float)sum;
}

#ifdef MAIN
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#define ENTRY(name) {#name, (void *)name}
static const struct { const char *name; void *function; } kernels[] = {
    ENTRY(load_1), ENTRY(load_2), ENTRY(load_4), ENTRY(load_8), ENTRY(load_16), ENTRY(store_2), ENTRY(store_4), ENTRY(store_8),
    ENTRY(store_16), ENTRY(atom_add), ENTRY(atom_exch), ENTRY(atom_cas), ENTRY(red_add), ENTRY(ldmatrix_x1), ENTRY(ldmatrix_x2),
    ENTRY(ldmatrix_x4), ENTRY(stmatrix_x4), ENTRY(transpose_plain), ENTRY(transpose_padded), ENTRY(transpose_f64),
    ENTRY(transpose_f64_padded), ENTRY(transpose_u16), ENTRY(transpose_u16_padded), ENTRY(transpose_float4), ENTRY(reduce_strided),
    ENTRY(histogram), ENTRY(product), ENTRY(diagonals), ENTRY(structs), ENTRY(loop)};

/* usage: shared LIST    each line: KERNEL GX GY BX BY followed by five numbers (pattern kernels) or by n */
int main(int count, char **words)
{
    FILE *list = fopen(words[1], "r");
    char line[256], name[64];
    float *in, *out;
    const size_t elements = 1 << 24;
    if (count != 2 || !list || cudaMalloc(&in, elements * 4) || cudaMalloc(&out, elements * 4))
        return 1;
    std::vector<float> host(elements);
    for (size_t i = 0; i < elements; i++)
        host[i] = (float)(i % 97);
    cudaMemcpy(in, host.data(), elements * 4, cudaMemcpyHostToDevice);
    while (fgets(line, sizeof line, list)) {
        unsigned g[2], b[2], v[5] = {0};
        const int read = sscanf(line, "%63s %u %u %u %u %u %u %u %u %u", name, &g[0], &g[1], &b[0], &b[1], &v[0], &v[1], &v[2], &v[3], &v[4]);
        void *function = nullptr;
        for (auto &kernel : kernels)
            if (!strcmp(kernel.name, name))
                function = kernel.function;
        if (!function || read < 6)
            return 2;
        void *pattern[] = {&v[0], &v[1], &v[2], &v[3], &v[4], &out}, *real[] = {&in, &out, &v[0]};
        if (cudaLaunchKernel(function, dim3(g[0], g[1]), dim3(b[0], b[1]), read == 10 ? pattern : real, 0, 0) || cudaDeviceSynchronize()) {
            fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
            return 3;
        }
    }
    return 0;
}
#endif
