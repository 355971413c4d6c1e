/* Copies of ranges, and filling memory. */
#include "driver_api.h"

int main(void)
{
    struct stream *stream;
    struct context *context = start();
    uint64_t first, second;
    size_t pitch;
    unsigned char bytes[256], back[256];
    unsigned short halves[8];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc_v2(&first, 256));
    CHECK(cuMemAlloc_v2(&second, 256));
    CHECK(cuMemcpyHtoD_v2(first, bytes, 256));
    CHECK(cuMemcpyDtoD_v2(second, first + 1, 255));
    CHECK(cuMemcpyDtoH_v2(back, second, 255));
    ASSERT(memcmp(back, bytes + 1, 255) == 0);
    CHECK(cuMemcpyHtoDAsync_v2(second, bytes, 256, stream));
    CHECK(cuMemcpyDtoHAsync_v2(back, second, 256, stream));
    CHECK(cuStreamSynchronize(stream));
    ASSERT(memcmp(back, bytes, 256) == 0);
    CHECK(cuMemcpy((uint64_t)(uintptr_t)back, first + 16, 16));
    ASSERT(memcmp(back, bytes + 16, 16) == 0);
    CHECK(cuMemcpyPeer(second, context, first + 32, context, 32));
    CHECK(cuMemcpyDtoH_v2(back, second, 32));
    ASSERT(memcmp(back, bytes + 32, 32) == 0);
    CHECK(cuMemcpyDtoH_v2(back, first, 0));
    /* ranges that are not inside an allocation */
    EXPECT(1, cuMemcpyHtoD_v2(first, bytes, 257));
    EXPECT(1, cuMemcpyDtoH_v2(back, first + 255, 2));
    EXPECT(1, cuMemcpyHtoD_v2(0, bytes, 4));
    EXPECT(1, cuMemsetD8_v2(first, 0, 257));
    EXPECT_HERE(400, cuMemcpyHtoDAsync_v2(first, bytes, 4, (struct stream *)bytes));
    /* filling */
    CHECK(cuMemsetD8_v2(first, 0xab, 16));
    CHECK(cuMemsetD16_v2(first + 4, 0x1234, 2));
    CHECK(cuMemcpyDtoH_v2(halves, first, 16));
    ASSERT(halves[1] == 0xabab && halves[2] == 0x1234 && halves[3] == 0x1234 &&
           halves[4] == 0xabab);
    EXPECT(1, cuMemsetD32_v2(first + 2, 0, 1));
    CHECK(cuMemFree_v2(first));
    EXPECT_HERE(1, cuMemcpyDtoH_v2(back, first, 4));
    CHECK(cuMemAllocPitch_v2(&first, &pitch, 40, 3, 4));
    CHECK(cuMemsetD8_v2(first, 0, 3 * pitch));
    CHECK(cuMemsetD2D32_v2(first + 4, pitch, 7, 2, 3));
    for (size_t i = 0; i < 3; i++) {
        unsigned row[4];
        CHECK(cuMemcpyDtoH_v2(row, first + i * pitch, sizeof row));
        ASSERT(row[0] == 0 && row[1] == 7 && row[2] == 7 && row[3] == 0);
    }
    return succeed();
}
