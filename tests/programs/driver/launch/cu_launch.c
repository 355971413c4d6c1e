/* Ways to pass the arguments of a kernel. */
#include "driver_api.h"

static const char ptx[] = PTX_HEADER PTX_ADD
    ".visible .entry mixed(.param .u8 a, .param .align 8 .b8 b[16], .param .u64 out)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
    "ld.param.u8 %r1, [a]; ld.param.u32 %r2, [b+12]; ld.param.u64 %d1, [out];\n"
    "add.u32 %r3, %r1, %r2; st.global.u32 [%d1], %r3; ret; }\n";

int main(void)
{
    uint64_t data;
    unsigned value = 1, count = 100;
    unsigned char small = 7;
    unsigned block[4] = {0, 0, 0, 1000};
    struct module *module;
    struct function *mixed;
    start();
    struct function *add = load_kernel(ptx, "add");
    CHECK(cuFuncGetModule(&module, add));
    CHECK(cuModuleGetFunction(&mixed, module, "mixed"));
    CHECK(cuMemAlloc_v2(&data, 400));
    CHECK(cuMemsetD32_v2(data, 0, 100));
    void *arguments[] = {&data, &value, &count};
    CHECK(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    ASSERT(all_are(data, 1, 100));
    struct {
        uint64_t data;
        unsigned value, count;
    } packed = {data, 2, 100};
    size_t bytes = sizeof packed;
    void *extra[] = {pointer_to(1), &packed, pointer_to(2), &bytes, NULL};
    CHECK(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    ASSERT(all_are(data, 3, 100));
    struct launch_config config = {.grid = {4, 1, 1}, .block = {32, 1, 1}};
    CHECK(cuLaunchKernelEx(&config, add, arguments, NULL));
    ASSERT(all_are(data, 4, 100));
    CHECK(cuLaunchKernelEx(&config, add, NULL, extra));
    ASSERT(all_are(data, 6, 100));
    CHECK(cuLaunchCooperativeKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, arguments));
    ASSERT(all_are(data, 7, 100));
    void *others[] = {&small, block, &data};
    CHECK(cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, NULL, others, NULL));
    ASSERT(all_are(data, 1007, 1));
    /* errors */
    EXPECT_HERE(1, cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, extra));
    EXPECT(400, cuLaunchKernel(NULL, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    EXPECT_HERE(400,
                cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, (struct stream *)&data, arguments, NULL));
    EXPECT_HERE(1, cuLaunchKernelEx(NULL, add, arguments, NULL));
    ASSERT(all_are(data + 4, 7, 99));
    return succeed();
}
