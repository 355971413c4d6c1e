/* The driver API in C: a module from PTX text, launches with an array of parameters and with a
 * buffer of them, and a variable of the module. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .global .align 4 .f32 offset = 0f3F800000;\n" /* 1 */
    ".visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u32 count)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .f32 %f<5>;\n"
    "    .reg .u32 %r<5>;\n"
    "    .reg .u64 %d<4>;\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "    ld.param.u32 %r4, [count];\n"
    "    setp.ge.u32 %p, %r1, %r4;\n"
    "    @%p bra end;\n"
    "    ld.param.u64 %d1, [x];\n"
    "    ld.param.u64 %d2, [y];\n"
    "    mul.wide.u32 %d3, %r1, 4;\n"
    "    add.u64 %d1, %d1, %d3;\n"
    "    add.u64 %d2, %d2, %d3;\n"
    "    ld.param.f32 %f1, [factor];\n"
    "    ld.global.f32 %f2, [%d1];\n"
    "    ld.global.f32 %f3, [%d2];\n"
    "    ld.global.f32 %f4, [offset];\n"
    "    fma.rn.f32 %f3, %f1, %f2, %f3;\n"
    "    add.f32 %f3, %f3, %f4;\n"
    "    st.global.f32 [%d2], %f3;\n"
    "end:\n"
    "    ret;\n"
    "}\n";

static void check(CUresult result, const char *call)
{
    const char *text = "unknown error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    printf("%s: %s\n", call, text);
    exit(1);
}
#define CHECK(call) check(call, #call)

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction axpy;
    CUdeviceptr x, y, offset;
    size_t bytes;
    float host[COUNT], back[COUNT], factor = 2.0f, three = 3.0f;
    unsigned count = COUNT;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&axpy, module, "axpy"));
    CHECK(cuModuleGetGlobal(&offset, &bytes, module, "offset"));
    CHECK(cuMemAlloc(&x, sizeof(host)));
    CHECK(cuMemAlloc(&y, sizeof(host)));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    CHECK(cuMemcpyHtoD(x, host, sizeof(host)));
    CHECK(cuMemsetD32(y, 0, COUNT));
    void *parameters[] = {&x, &y, &factor, &count};
    CHECK(cuLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuMemcpyHtoD(offset, &three, sizeof(three)));
    struct {
        CUdeviceptr x, y;
        float factor;
        unsigned count;
    } buffer = {x, y, 0.5f, COUNT / 2};
    size_t size = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuMemcpyDtoH(back, y, sizeof(back)));
    for (int i = 0; i < COUNT; i++) {
        float expected = i < COUNT / 2 ? 2.5f * (float)i + 4.0f : 2.0f * (float)i + 1.0f;
        if (back[i] != expected) {
            printf("element %d is %g, not %g\n", i, back[i], expected);
            return 1;
        }
    }
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    puts("ok");
    return 0;
}
