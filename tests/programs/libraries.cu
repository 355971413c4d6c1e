// Kernels by handle: of the program itself, and of a library loaded from PTX.
#include "expect.h"
#include <cstring>

static const char ptx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 step = 3;
.visible .entry count(.param .u64 address)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<4>;
    ld.param.u64 %rd1, [address];
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [step];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3;
    ret;
}
)";

__global__ void twice(int *value)
{
    *value *= 2;
}

int main()
{
    int *value, host = 10, five = 5;
    CHECK(cudaMalloc(&value, sizeof(int)));
    CHECK(cudaMemcpy(value, &host, sizeof(int), cudaMemcpyHostToDevice));
    cudaLibrary_t library;
    cudaKernel_t count, own;
    unsigned kernels = 0;
    void *step, *arguments[] = {&value};
    size_t bytes = 0;
    CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernelCount(&kernels, library));
    EXPECT(kernels == 1);
    CHECK(cudaLibraryGetKernel(&count, library, "count"));
    CHECK(cudaLaunchKernel((void *)count, dim3(1), dim3(1), arguments, 0, 0));
    CHECK(cudaLibraryGetGlobal(&step, &bytes, library, "step"));
    EXPECT(bytes == 4);
    CHECK(cudaMemcpy(step, &five, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaLaunchKernel((void *)count, dim3(1), dim3(1), arguments, 0, 0));
    CHECK(cudaGetKernel(&own, twice));
    CHECK(cudaLaunchKernel((void *)own, dim3(1), dim3(1), arguments, 0, 0));
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (void *)twice));
    CHECK(cudaLaunchKernel((void *)function, dim3(1), dim3(1), arguments, 0, 0));
    CHECK(cudaMemcpy(&host, value, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(host == 72);
    const char *name = NULL;
    CHECK(cudaFuncGetName(&name, (void *)twice));
    EXPECT(strcmp(name, "_Z5twicePi") == 0);
    size_t offset = 9;
    CHECK(cudaFuncGetParamInfo((void *)twice, 0, &offset, &bytes));
    EXPECT(offset == 0 && bytes == 8);
    EXPECT(cudaLibraryGetKernel(&count, library, "missing") == cudaErrorSymbolNotFound);
    (void)cudaGetLastError();
    CHECK(cudaLibraryUnload(library));
    return finish();
}
