/* Host memory that kernels access: pinned, registered and managed. */
#include "driver_api.h"

enum { COUNT = 64 };

static struct function *add;

/* Lets a kernel add 5 to all integers at an address. */
static void run(uint64_t address)
{
    unsigned value = 5, count = COUNT;
    void *arguments[] = {&address, &value, &count};
    CHECK(cuLaunchKernel(add, 1, 1, 1, COUNT, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
}

static void check(const unsigned *values, unsigned expected)
{
    for (int i = 0; i < COUNT; i++)
        ASSERT(values[i] == expected);
}

int main(void)
{
    unsigned *pinned, *managed, type, is_managed;
    uint64_t address;
    int location;
    start();
    add = load_kernel(PTX_HEADER PTX_ADD, "add");
    CHECK(cuMemHostAlloc((void **)&pinned, sizeof(unsigned[COUNT]), 2));
    memset(pinned, 0, sizeof(unsigned[COUNT]));
    CHECK(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
    run(address);
    check(pinned, 5);
    CHECK(cuPointerGetAttribute(&type, 2, address));
    ASSERT(type == 1);
    EXPECT(1, cuMemFree_v2(address));
    CHECK(cuMemFreeHost(pinned));
    EXPECT_HERE(1, cuMemFreeHost(pinned));

    unsigned *plain = calloc(COUNT + 2, 4);
    ASSERT(plain != NULL);
    EXPECT_HERE(1, cuMemHostGetDevicePointer_v2(&address, plain, 0));
    CHECK(cuMemHostRegister_v2(plain, sizeof(unsigned[COUNT]), 0));
    EXPECT(712, cuMemHostRegister_v2(plain, sizeof(unsigned[COUNT]), 0));
    CHECK(cuMemHostGetDevicePointer_v2(&address, plain, 0));
    run(address);
    check(plain, 5);
    CHECK(cuMemHostUnregister(plain));
    EXPECT(713, cuMemHostUnregister(plain));
    free(plain);

    CHECK(cuMemAllocManaged(&address, sizeof(unsigned[COUNT]), 1));
    EXPECT(1, cuMemAllocManaged(&address, sizeof(unsigned[COUNT]), 0));
    CHECK(cuMemAllocManaged(&address, sizeof(unsigned[COUNT]), 1));
    managed = pointer_to(address);
    memset(managed, 0, sizeof(unsigned[COUNT]));
    run(address);
    check(managed, 5);
    CHECK(cuPointerGetAttribute(&is_managed, 8, address));
    ASSERT(is_managed == 1);
    CHECK(cuMemRangeGetAttribute(&location, 4, 2, address, sizeof(unsigned[COUNT])));
    ASSERT(location == -2); /* no preferred location */
    EXPECT(1, cuMemRangeGetAttribute(&location, 3, 2, address, sizeof(unsigned[COUNT])));
    CHECK(cuMemFree_v2(address));
    return succeed();
}
