/* The primary context, contexts of the program, and the stack of a thread. Destroying a context
 * frees what belongs to it. */
#include "driver_api.h"

static void check_contents(void)
{
    struct context *context;
    struct module *module;
    struct function *function;
    struct stream *stream;
    struct event *event;
    uint64_t address;
    size_t before, after, total;
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuMemGetInfo_v2(&before, &total));
    CHECK(cuMemAlloc_v2(&address, 1 << 20));
    CHECK(cuModuleLoadData(&module, PTX_HEADER PTX_ADD));
    CHECK(cuModuleGetFunction(&function, module, "add"));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuCtxDestroy_v2(context));
    CHECK(cuMemGetInfo_v2(&after, &total)); /* the primary context is current again */
    ASSERT(after >= before); /* NVIDIA's driver also frees what the context itself needed */
    EXPECT_HERE(400, cuStreamSynchronize(stream));
    EXPECT_HERE(400, cuEventSynchronize(event));
    EXPECT_HERE(400, cuModuleUnload(module));
    EXPECT_HERE(201, cuCtxDestroy_v2(context));
    EXPECT_HERE(201, cuCtxPushCurrent_v2(context));
}

int main(void)
{
    struct context *primary, *first, *second, *current;
    int device, active;
    unsigned flags;
    unsigned long long id, other;
    size_t limit;
    uint64_t address;
    EXPECT(3, cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(cuInit(0));
    EXPECT(201, cuMemAlloc_v2(&address, 4)); /* no context */
    EXPECT(201, cuCtxGetDevice(&device));
    CHECK(cuCtxGetCurrent(&current));
    ASSERT(current == NULL);
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ASSERT(!active);
    EXPECT(101, cuDevicePrimaryCtxRetain(&primary, 1));
    CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(cuDevicePrimaryCtxRetain(&current, 0));
    ASSERT(current == primary);
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ASSERT(active);
    CHECK(cuCtxCreate_v2(&first, 4, 0));
    CHECK(cuCtxGetCurrent(&current));
    ASSERT(current == first);
    CHECK(cuCtxGetFlags(&flags));
    ASSERT(flags == 4);
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    CHECK(cuCtxGetId(first, &id));
    CHECK(cuCtxGetId(NULL, &other));
    ASSERT(id != other);
    CHECK(cuCtxPopCurrent_v2(&current));
    ASSERT(current == second);
    CHECK(cuCtxPushCurrent_v2(primary));
    CHECK(cuCtxGetDevice(&device));
    ASSERT(device == 0);
    CHECK(cuCtxSetCurrent(second));
    CHECK(cuCtxSetLimit(0, 4096));
    CHECK(cuCtxGetLimit(&limit, 0));
    ASSERT(limit == 4096);
    CHECK(cuCtxGetLimit(&limit, 2));
    ASSERT(limit == 8 << 20);
    EXPECT(1, cuCtxGetLimit(&limit, 99));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxDestroy_v2(first)); /* below the current one */
    CHECK(cuCtxDestroy_v2(second));
    EXPECT(709, cuCtxSynchronize()); /* the destroyed context is current now */
    CHECK(cuCtxSetCurrent(primary));
    check_contents();
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(cuCtxSynchronize());
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    EXPECT(709, cuCtxSynchronize());
    EXPECT(201, cuDevicePrimaryCtxRelease_v2(0));
    return succeed();
}
