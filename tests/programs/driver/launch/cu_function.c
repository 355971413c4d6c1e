/* Attributes and parameters of kernels. */
#include "driver_api.h"

static const char ptx[] =
    PTX_HEADER ".visible .entry many(.param .u8 a, .param .u64 b, .param .align 8 .b8 c[20],\n"
               ".param .u32 d) .maxntid 128, 2, 1\n{ .shared .align 4 .b8 s[512]; .reg .b32 %r;\n"
               "mov.u32 %r, s; st.shared.u32 [%r], %r; ret; }\n"
               ".visible .entry plain() { ret; }\n";

int main(void)
{
    static const size_t expected[][2] = {{0, 1}, {8, 8}, {16, 20}, {36, 4}};
    struct function *many, *plain;
    struct module *module;
    const char *name;
    size_t offset, bytes;
    int value;
    start();
    many = load_kernel(ptx, "many");
    CHECK(cuFuncGetModule(&module, many));
    CHECK(cuModuleGetFunction(&plain, module, "plain"));
    CHECK(cuFuncGetName(&name, many));
    ASSERT(strcmp(name, "many") == 0);
    for (size_t i = 0; i < 4; i++) {
        CHECK(cuFuncGetParamInfo(many, i, &offset, &bytes));
        ASSERT(offset == expected[i][0] && bytes == expected[i][1]);
    }
    EXPECT(1, cuFuncGetParamInfo(many, 4, &offset, &bytes));
    EXPECT(1, cuFuncGetParamInfo(plain, 0, &offset, &bytes));
    CHECK(cuFuncGetAttribute(&value, 0, many)); /* threads per block */
    ASSERT(value == 256);
    CHECK(cuFuncGetAttribute(&value, 0, plain));
    ASSERT(value == 1024);
    CHECK(cuFuncGetAttribute(&value, 1, many)); /* static shared memory */
    ASSERT(value == 512);
    CHECK(cuFuncGetAttribute(&value, 4, many)); /* registers */
    ASSERT(value > 0 && value <= 255);
    CHECK(cuFuncGetAttribute(&value, 8, many)); /* the largest dynamic shared memory */
    ASSERT(value == 48 * 1024 - 512);
    CHECK(cuFuncSetAttribute(many, 8, 100000));
    CHECK(cuFuncGetAttribute(&value, 8, many));
    ASSERT(value == 100000);
    EXPECT(1, cuFuncSetAttribute(many, 8, 1 << 20));
    EXPECT(1, cuFuncSetAttribute(many, 1, 4)); /* read only */
    CHECK(cuFuncSetAttribute(many, 9, 50));
    CHECK(cuFuncGetAttribute(&value, 9, many));
    ASSERT(value == 50);
    EXPECT(1, cuFuncSetAttribute(many, 9, 101));
    EXPECT(400, cuFuncGetAttribute(&value, 1, (struct function *)&value));
    return succeed();
}
