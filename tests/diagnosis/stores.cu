// Measures stores of single words and atomics on few lines, which explain two pairs that the model predicts badly
// (docs/results/diagnosis-h200.md). Prints CSV (h200-stores.csv): name, parameter, median time of nine launches in microseconds,
// and the number of words that are stored or incremented.
//   transpose_n           naive transposition of n x n words
//   transpose_2048_pad    the same with 2048 x 2048 words and rows of the result that are longer by this number of words
//   store_stride_words    each lane stores a word in a sector of its own; lanes are this number of words apart
//   histogram_B_stride    histogram with B counters that are this number of words apart
//
// compile: nvcc -std=c++17 -O2 -arch=sm_90 stores.cu
#include <algorithm>
#include <cstdio>
#include <vector>
__global__ void transpose_pitch(float *out, const float *in, int n, int pitch)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[(size_t)x * pitch + y + i] = in[(y + i) * n + x];
}
// Each warp stores `count` times; lanes are `stride` words apart, warps and repetitions on other
// sectors of 64 MB (or 16 MB).
__global__ void store_words(float *out, unsigned stride, unsigned count, unsigned mask)
{
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    // 8 * 32 words of a group of consecutive sectors if stride is 8; otherwise the warps fill the
    // gaps between the lanes.
    unsigned gaps = stride / 8;
    for (unsigned i = 0; i < count; i++) {
        unsigned w = warp * count + i;
        unsigned index = w / gaps * (stride * 32) + w % gaps * 8 + lane * stride;
        out[index & mask] = 1.0f;
    }
}
__global__ void histogram(unsigned *count, const unsigned char *data, int n, int stride, int bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&count[(data[i] % bins) * stride], 1u);
}
template <typename F> static float time_us(F run)
{
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> t;
    for (int i = 0; i < 12; i++) {
        float ms;
        cudaEventRecord(a);
        run();
        cudaEventRecord(b);
        cudaEventSynchronize(b);
        cudaEventElapsedTime(&ms, a, b);
        if (i >= 3)
            t.push_back(ms * 1000);
    }
    std::sort(t.begin(), t.end());
    return t[4];
}
int main()
{
    float *in, *out;
    unsigned char *data;
    unsigned *count;
    cudaMalloc(&in, 64 << 20);
    cudaMalloc(&out, 64 << 20);
    cudaMalloc(&data, 4 << 20);
    cudaMalloc(&count, 4 << 20);
    cudaMemset(in, 0, 64 << 20);
    cudaMemset(count, 0, 4 << 20);
    std::vector<unsigned char> h(4 << 20);
    unsigned s = 1;
    for (auto &c : h) {
        s = s * 1664525u + 1013904223u;
        c = s >> 24;
    }
    cudaMemcpy(data, h.data(), h.size(), cudaMemcpyHostToDevice);
    for (int i = 0; i < 2000; i++)
        store_words<<<1056, 256>>>(out, 8, 16, (4 << 20) - 1);
    for (int n : {1024, 1984, 2016, 2048, 2080, 2112})
        printf("transpose_n,%d,%.2f,%d\n", n, time_us([=] {
                   transpose_pitch<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in, n, n);
               }),
               n * n);
    for (int pad : {0, 1, 8, 16, 32, 64, 96, 128, 256, 1024})
        printf("transpose_2048_pad,%d,%.2f,%d\n", pad, time_us([=] {
                   transpose_pitch<<<dim3(64, 64), dim3(32, 8)>>>(out, in, 2048, 2048 + pad);
               }),
               2048 * 2048);
    for (unsigned stride : {8u, 16u, 32u, 64u, 128u, 256u, 512u, 1024u, 2048u, 4096u})
        printf("store_stride_words,%u,%.2f,%d\n", stride,
               time_us([=] { store_words<<<1024, 256>>>(out, stride, 16, (4 << 20) - 1); }),
               1024 * 256 * 16);
    for (int bins : {256, 64, 8, 1})
        for (int stride : {1, 8, 32, 64, 256, 1024})
            printf("histogram_%d_stride,%d,%.2f,%d\n", bins, stride,
                   time_us([=] { histogram<<<1056, 256>>>(count, data, 4 << 20, stride, bins); }),
                   4 << 20);
    printf("end,%d,0,0\n", (int)cudaDeviceSynchronize());
}
