/* Linking of PTX, and the log of errors. */
#include "driver_api.h"

static const char ptx[] = PTX_HEADER PTX_ADD;

int main(void)
{
    enum { PTX = 1, ERROR_LOG = 5, ERROR_BYTES = 6 };
    struct link *link;
    struct module *module;
    struct function *add;
    void *image;
    size_t bytes;
    char log[512] = "?";
    const int options[] = {ERROR_LOG, ERROR_BYTES};
    void *values[] = {log, pointer_to(sizeof log)};
    uint64_t data;
    unsigned value = 6, count = 32;
    void *arguments[] = {&data, &value, &count};
    start();
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
    CHECK(cuLinkComplete(link, &image, &bytes)); /* nothing to link */
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleUnload(module));
    CHECK(cuLinkDestroy(link));
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
    CHECK(cuLinkAddData_v2(link, PTX, ptx, sizeof ptx, "ptx", 0, NULL, NULL));
    EXPECT_HERE(801, cuLinkAddData_v2(link, PTX, ptx, sizeof ptx, "ptx", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &image, &bytes));
    ASSERT(bytes > 0);
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(link)); /* the module has a copy */
    EXPECT_HERE(400, cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAlloc_v2(&data, 128));
    CHECK(cuMemsetD32_v2(data, 1, 32));
    CHECK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    ASSERT(all_are(data, 7, 32));
    CHECK(cuModuleUnload(module));
    CHECK(cuModuleLoadDataEx(&module, ptx, 2, options, values));
    ASSERT((log[0] == '\0' && values[1] == NULL) || !is_exec());
    values[1] = pointer_to(sizeof log);
    EXPECT(218, cuModuleLoadDataEx(&module, PTX_HEADER "nonsense\n", 2, options, values));
    ASSERT(strstr(log, "line 4") && ((uintptr_t)values[1] == strlen(log) || !is_exec()));
    return succeed();
}
