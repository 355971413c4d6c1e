/* Kernels that reverse 64 values in shared memory, with a barrier and without one. With an
 * argument, the program launches the second one twice, and its launches succeed, too. The script
 * `check` runs it with 'fathom exec --check'. */
#include "driver_api.h"

#define KERNEL(NAME, BARRIER)                                                                      \
    ".visible .entry " NAME "(.param .u64 out)\n"                                                  \
    "{ .shared .align 4 .b8 s[256]; .reg .b32 %r<5>; .reg .b64 %d<3>;\n"                           \
    "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n"                         \
    "st.shared.u32 [%r2], %r1; " BARRIER "xor.b32 %r3, %r2, 252; ld.shared.u32 %r4, [%r3];\n"      \
    "cvt.u64.u32 %d2, %r2; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r4; ret; }\n"

static const char ptx[] = PTX_HEADER KERNEL("_Z4goodPj", "bar.sync 0;\n") KERNEL("_Z3badPj", "\n");

int main(int count, char **words)
{
    (void)words;
    uint64_t out = 0;
    unsigned values[64];
    void *arguments[] = {&out};
    start();
    CHECK(cuMemAlloc_v2(&out, sizeof values));
    struct function *kernel = load_kernel(ptx, count > 1 ? "_Z3badPj" : "_Z4goodPj");
    CHECK(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(values, out, sizeof values));
    for (unsigned i = 0; i < 64 && count == 1; i++)
        ASSERT(values[i] == 63 - i);
    return succeed();
}
