/* A kernel that faults: its launch succeeds, and every later call that waits for it returns the
 * same error.
 *
 * usage: cu_fault KIND      address, misaligned, trap or assert */
#include "driver_api.h"

static const char ptx[] = PTX_HEADER
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    ".param .b64 e) .noreturn;\n"
    ".global .align 1 .b8 text[2] = {120, 0};\n"
    ".visible .entry address()\n{ .reg .b64 %d; mov.u64 %d, 64; st.global.u32 [%d], 0; ret; }\n"
    ".visible .entry misaligned(.param .u64 p)\n"
    "{ .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d+2], 0; ret; }\n"
    ".visible .entry trap() { trap; ret; }\n"
    ".visible .entry assert()\n{ .reg .b64 %d; mov.u64 %d, text; cvta.global.u64 %d, %d;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "st.param.b64 [a], %d; st.param.b64 [b], %d; st.param.b32 [c], 7; st.param.b64 [d], %d;\n"
    "st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); } ret; }\n";

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int result;
    } kinds[] = {{"address", 700}, {"misaligned", 716}, {"trap", 719}, {"assert", 710}};
    uint64_t data;
    void *arguments[] = {&data};
    int expected = 0;
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, words[1]) == 0)
            expected = kinds[i].result;
    ASSERT(expected != 0);
    start();
    struct function *kernel = load_kernel(ptx, words[1]);
    CHECK(cuMemAlloc_v2(&data, 64));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    EXPECT(expected, cuCtxSynchronize());
    EXPECT(expected, cuMemFree_v2(data));
    EXPECT(expected, cuMemAlloc_v2(&data, 64));
    return succeed();
}
