/* printf of a kernel, in the order of the program's own output. */
#include "driver_api.h"

static const char ptx[] =
    PTX_HEADER ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
               ".global .align 1 .b8 text[10] = {118, 97, 108, 117, 101, 32, 37, 117, 10, 0};\n"
               ".visible .entry say(.param .u32 value)\n"
               "{ .local .align 8 .b8 v[8]; .reg .b32 %r<3>; .reg .b64 %d<4>;\n"
               "ld.param.u32 %r1, [value]; st.local.u32 [v], %r1;\n"
               "mov.u64 %d1, text; cvta.global.u64 %d1, %d1;\n"
               "mov.u64 %d2, v; cvta.local.u64 %d2, %d2;\n"
               "{ .param .b64 x; .param .b64 y; .param .b32 i;\n"
               "st.param.b64 [x], %d1; st.param.b64 [y], %d2;\n"
               "call (i), vprintf, (x, y); }\nret; }\n";

int main(void)
{
    unsigned value = 12;
    void *arguments[] = {&value};
    start();
    struct function *say = load_kernel(ptx, "say");
    printf("before, ");
    CHECK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    value = 13;
    CHECK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    return succeed();
}
