// Kernels that the program compiles itself with NVRTC, beside kernels of its own, with the runtime
// API.
#include "../expect.h"
#include "nvrtc_compile.h"

enum { COUNT = 64, BLOCK = 32 };

__global__ void add(float *data, float value)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

int main()
{
    float *data, found[COUNT], offset = 0.25f;
    int count = COUNT;
    void *variable, *arguments[] = {&data, &count};
    size_t bytes = 0;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaDeviceProp properties;
    char architecture[32];
    CHECK(cudaGetDeviceProperties(&properties, 0));
    snprintf(architecture, sizeof architecture, "compute_%d%d", properties.major, properties.minor);
    const struct compiled code = compile(architecture, false);
    CHECK(cudaMalloc(&data, sizeof found));
    CHECK(cudaLibraryLoadData(&library, code.code.c_str(), NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, code.floats.c_str()));
    CHECK(cudaLibraryGetGlobal(&variable, &bytes, library, code.offset.c_str()));
    CHECK(cudaMemcpy(variable, &offset, sizeof offset, cudaMemcpyHostToDevice));
    CHECK(cudaLaunchKernel((void *)kernel, dim3(COUNT / BLOCK), dim3(BLOCK), arguments, 0, 0));
    add<<<COUNT / BLOCK, BLOCK>>>(data, 1);
    CHECK(cudaMemcpy(found, data, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(found[i] == 3 * i + 1.25f);
    CHECK(cudaLibraryUnload(library));
    return finish();
}
