/* Libraries and kernels, which belong to no context. */
#include "driver_api.h"

static const char ptx[] =
    PTX_HEADER ".visible .global .align 4 .u32 counter = 5;\n"
               ".visible .global .attribute(.managed) .align 4 .u32 shared_counter;\n" PTX_ADD;

int main(void)
{
    struct module *library, *module;
    struct function *kernel, *function;
    struct context *context = start(), *other;
    const char *name;
    unsigned count, value = 2, one = 1;
    uint64_t address, managed;
    size_t offset, bytes;
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuCtxDestroy_v2(other));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLibraryGetKernel(&kernel, library, "add"));
    EXPECT(500, cuLibraryGetKernel(&function, library, "none"));
    CHECK(cuLibraryGetKernelCount(&count, library));
    ASSERT(count == 1);
    CHECK(cuKernelGetName(&name, kernel));
    ASSERT(strcmp(name, "add") == 0);
    CHECK(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
    ASSERT(offset == 8 && bytes == 4);
    CHECK(cuKernelGetFunction(&function, kernel));
    CHECK(cuLibraryGetModule(&module, library));
    CHECK(cuLibraryGetGlobal(&address, &bytes, library, "counter"));
    ASSERT(bytes == 4);
    void *arguments[] = {&address, &value, &one};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASSERT(all_are(address, 9, 1));
    CHECK(cuLibraryGetManaged(&managed, &bytes, library, "shared_counter"));
    ASSERT(bytes == 4);
    *(unsigned *)pointer_to(managed) = 40;
    arguments[0] = &managed;
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    ASSERT(*(const unsigned *)pointer_to(managed) == 42);
    CHECK(cuLibraryUnload(library));
    EXPECT_HERE(400, cuLibraryUnload(library));
    EXPECT_HERE(400, cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    return succeed();
}
