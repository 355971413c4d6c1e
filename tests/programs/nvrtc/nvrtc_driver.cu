// Kernels that the program compiles itself with NVRTC, and loads with the driver API: PTX as a
// module and as a library. fathom exec refuses a cubin.
#include "nvrtc_compile.h"

#include <cstring>
#include <cuda.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS) {                                                             \
            const char *name_ = "?";                                                               \
            cuGetErrorName(result_, &name_);                                                       \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { COUNT = 100, BLOCK = 32, BLOCKS = (COUNT + BLOCK - 1) / BLOCK };

/* Launches a kernel, which fills memory with numbers of type T, and checks them. */
template <typename T> static void run(CUfunction function, int factor, float offset)
{
    CUdeviceptr data;
    T found[COUNT];
    int count = COUNT;
    void *arguments[] = {&data, &count};
    CHECK(cuMemAlloc(&data, sizeof found));
    CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH(found, data, sizeof found));
    for (int i = 0; i < COUNT; i++)
        EXPECT(found[i] == (T)((float)(factor * i) + offset));
    CHECK(cuMemFree(data));
}

static void run_module(const struct compiled &code)
{
    const float offset = 0.5f;
    CUmodule module;
    CUfunction floats, longs;
    CUdeviceptr variable, blocks;
    size_t bytes = 0;
    unsigned counted = 0;
    CHECK(cuModuleLoadData(&module, code.code.c_str()));
    CHECK(cuModuleGetFunction(&floats, module, code.floats.c_str()));
    CHECK(cuModuleGetFunction(&longs, module, code.longs.c_str()));
    CHECK(cuModuleGetGlobal(&variable, &bytes, module, code.offset.c_str()));
    EXPECT(bytes == sizeof offset);
    CHECK(cuMemcpyHtoD(variable, &offset, sizeof offset));
    run<float>(floats, 3, offset);
    run<long long>(longs, -2, offset);
    CHECK(cuModuleGetGlobal(&blocks, &bytes, module, code.blocks.c_str()));
    CHECK(cuMemcpyDtoH(&counted, blocks, sizeof counted));
    EXPECT(counted == 2 * BLOCKS);
    CHECK(cuModuleUnload(module));
}

static void run_library(const struct compiled &code)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CHECK(cuLibraryLoadData(&library, code.code.c_str(), NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, code.floats.c_str()));
    CHECK(cuKernelGetFunction(&function, kernel));
    run<float>(function, 3, 0);
    run<float>((CUfunction)kernel, 3, 0);
    CHECK(cuLibraryUnload(library));
}

int main()
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    const struct compiled code = compile("compute_90", false);
    run_module(code);
    run_library(code);
    /* Only machine code: the GPU runs it; fathom says how to make PTX. */
    const struct compiled cubin = compile("sm_90", true);
    const CUresult result = cuModuleLoadData(&module, cubin.code.data());
    EXPECT(result == (getenv("FATHOM_EXEC_GPU") ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS));
    if (result == CUDA_SUCCESS)
        run_module(cubin);
    puts("ok");
    return 0;
}
