/* Memory pools, and allocations in the order of a stream. */
#include "driver_api.h"

int main(void)
{
    struct pool *standard, *pool;
    struct stream *stream;
    uint64_t first, second, threshold = 123456, got = 0;
    int properties[22] = {1, 0, 1, 0}, access;
    const int here[] = {1, 0}, elsewhere[] = {1, 1};
    start();
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuDeviceGetDefaultMemPool(&standard, 0));
    EXPECT(101, cuDeviceGetDefaultMemPool(&standard, 1));
    CHECK(cuMemPoolCreate(&pool, properties));
    ASSERT(pool != standard);
    CHECK(cuMemPoolSetAttribute(pool, 4, &threshold));
    CHECK(cuMemPoolGetAttribute(pool, 4, &got));
    ASSERT(got == threshold);
    EXPECT(1, cuMemPoolGetAttribute(pool, 0, &got));
    CHECK(cuMemPoolGetAccess(&access, pool, here));
    ASSERT(access == 3);
    EXPECT(1, cuMemPoolGetAccess(&access, pool, elsewhere));
    CHECK(cuMemAllocAsync(&first, 4096, stream));
    CHECK(cuMemAllocFromPoolAsync(&second, 4096, pool, stream));
    CHECK(cuMemsetD32Async(first, 9, 1024, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoD_v2(second, first, 4096));
    ASSERT(all_are(second, 9, 1024));
    CHECK(cuMemPoolGetAttribute(pool, 7, &got)); /* in use */
    ASSERT(got == 4096);
    CHECK(cuMemFreeAsync(first, stream));
    CHECK(cuMemFreeAsync(second, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemPoolGetAttribute(pool, 7, &got));
    ASSERT(got == 0);
    CHECK(cuMemPoolGetAttribute(pool, 8, &got)); /* the maximum */
    ASSERT(got == 4096);
    EXPECT_HERE(1, cuMemFreeAsync(second, stream));
    CHECK(cuMemPoolDestroy(pool));
    EXPECT_HERE(1, cuMemPoolDestroy(pool));
    EXPECT(1, cuMemPoolDestroy(standard));
    EXPECT_HERE(1, cuMemAllocFromPoolAsync(&second, 4096, pool, stream));
    CHECK(cuStreamDestroy_v2(stream));
    EXPECT_HERE(400, cuMemAllocAsync(&first, 4096, stream));
    return succeed();
}
