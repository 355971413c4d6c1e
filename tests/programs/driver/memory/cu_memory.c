/* Memory of the GPU: allocation, pitch, exhaustion, ranges and pointers. */
#include "driver_api.h"

int main(void)
{
    struct context *context = start(), *owner;
    uint64_t first, second, base, value;
    size_t before, after, total, pitch, bytes;
    CHECK(cuMemGetInfo_v2(&before, &total));
    ASSERT(before <= total);
    EXPECT(1, cuMemAlloc_v2(&first, 0));
    EXPECT(1, cuMemAlloc_v2(NULL, 16));
    EXPECT(2, cuMemAlloc_v2(&first, total + 1));
    CHECK(cuMemAlloc_v2(&first, 1000));
    CHECK(cuMemAlloc_v2(&second, 1 << 20));
    ASSERT(first % 256 == 0 && second % 256 == 0 && first != second);
    CHECK(cuMemGetInfo_v2(&after, &total));
    ASSERT(before - after >= 1000 + (1 << 20));
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, second + 77));
    ASSERT(base == second && bytes == 1 << 20);
    EXPECT(500, cuMemGetAddressRange_v2(&base, &bytes, 64));
    EXPECT(1, cuMemFree_v2(second + 256));
    CHECK(cuMemFree_v2(second));
    EXPECT(1, cuMemFree_v2(second));
    CHECK(cuMemFree_v2(0));
    CHECK(cuMemAllocPitch_v2(&second, &pitch, 1000, 7, 4));
    ASSERT(pitch >= 1000 && pitch % 256 == 0);
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, second + 6 * pitch));
    ASSERT(base == second && bytes >= 7 * pitch);
    EXPECT(1, cuMemAllocPitch_v2(&base, &pitch, 1000, 7, 3));
    /* attributes of pointers */
    unsigned type, managed;
    int ordinal;
    void *host;
    CHECK(cuPointerGetAttribute(&type, 2, first));
    ASSERT(type == 2);
    CHECK(cuPointerGetAttribute(&owner, 1, first));
    ASSERT(owner == context);
    CHECK(cuPointerGetAttribute(&ordinal, 9, first + 8));
    ASSERT(ordinal == 0);
    CHECK(cuPointerGetAttribute(&value, 11, first + 8)); /* start of the range */
    ASSERT(value == first);
    EXPECT(1, cuPointerGetAttribute(&host, 4, first)); /* no host pointer */
    EXPECT(1, cuPointerGetAttribute(&type, 2, (uint64_t)(uintptr_t)&type));
    const int attributes[] = {2, 8, 9};
    void *values[] = {&type, &managed, &ordinal};
    CHECK(cuPointerGetAttributes(3, attributes, values, (uint64_t)(uintptr_t)&type));
    ASSERT(type == 0 && managed == 0);
    CHECK(cuPointerGetAttributes(3, attributes, values, first));
    ASSERT(type == 2 && managed == 0 && ordinal == 0);
    CHECK(cuMemFree_v2(first));
    CHECK(cuMemFree_v2(second));
    CHECK(cuMemGetInfo_v2(&after, &total));
    ASSERT(before == after);
    return succeed();
}
