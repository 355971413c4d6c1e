/* Copies in two and three dimensions, between host, memory of the GPU and arrays. */
#include "driver_api.h"

/* An image of 4 x 4 x 4 bytes on the host with its coordinates as values. */
static unsigned char image[4][4][4], back[4][4][4];

static void copy_rectangles(void)
{
    uint64_t device;
    size_t pitch;
    struct stream *stream;
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAllocPitch_v2(&device, &pitch, 4, 4, 4));
    struct copy_2d copy = {.source_type = HOST,
                           .source_host = image[1],
                           .source_pitch = 4,
                           .target_type = DEVICE,
                           .target_device = device,
                           .target_pitch = pitch,
                           .width = 4,
                           .height = 4};
    CHECK(cuMemcpy2D_v2(&copy));
    copy = (struct copy_2d){.source_x = 1,
                            .source_y = 2,
                            .source_type = DEVICE,
                            .source_device = device,
                            .source_pitch = pitch,
                            .target_x = 2,
                            .target_y = 1,
                            .target_type = UNIFIED,
                            .target_device = (uint64_t)(uintptr_t)back[0],
                            .target_pitch = 4,
                            .width = 2,
                            .height = 2};
    CHECK(cuMemcpy2DAsync_v2(&copy, stream));
    CHECK(cuStreamSynchronize(stream));
    ASSERT(back[0][1][2] == image[1][2][1] && back[0][2][3] == image[1][3][2]);
    ASSERT(back[0][0][0] == 0 && back[0][1][1] == 0 && back[0][3][3] == 0);
    copy.target_pitch = 3; /* less than x and the width */
    EXPECT(1, cuMemcpy2D_v2(&copy));
    copy.target_type = 9;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    EXPECT(1, cuMemcpy2D_v2(NULL));
    CHECK(cuMemFree_v2(device));
}

static void copy_boxes(void)
{
    struct array *array;
    struct array_3d shape = {4, 4, 4, FORMAT_U8, 1, 0}, got;
    CHECK(cuArray3DCreate_v2(&array, &shape));
    CHECK(cuArray3DGetDescriptor_v2(&got, array));
    ASSERT(got.width == 4 && got.height == 4 && got.depth == 4 && got.format == FORMAT_U8 &&
           got.channels == 1 && got.flags == 0);
    struct copy_3d copy = {.source_type = HOST,
                           .source_host = image,
                           .source_pitch = 4,
                           .source_height = 4,
                           .target_type = ARRAY,
                           .target_array = array,
                           .width = 4,
                           .height = 4,
                           .depth = 4};
    CHECK(cuMemcpy3D_v2(&copy));
    copy.width = 5;
    EXPECT(1, cuMemcpy3D_v2(&copy)); /* outside of the array */
    memset(back, 0, sizeof back);
    copy = (struct copy_3d){.source_x = 1,
                            .source_y = 1,
                            .source_z = 1,
                            .source_type = ARRAY,
                            .source_array = array,
                            .target_z = 2,
                            .target_type = HOST,
                            .target_host = back,
                            .target_pitch = 4,
                            .target_height = 4,
                            .width = 3,
                            .height = 3,
                            .depth = 2};
    CHECK(cuMemcpy3D_v2(&copy));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 3; x++)
                ASSERT(back[z + 2][y][x] == image[z + 1][y + 1][x + 1]);
    ASSERT(back[0][0][0] == 0 && back[2][3][0] == 0 && back[2][0][3] == 0);
    CHECK(cuArrayDestroy(array));
    EXPECT_HERE(400, cuArrayDestroy(array));
    EXPECT_HERE(1, cuMemcpy3D_v2(&copy));
}

static void copy_rows(void)
{
    struct array *first, *second;
    const struct array_2d shape = {16, 0, FORMAT_U8, 1};
    unsigned char row[16];
    CHECK(cuArrayCreate_v2(&first, &shape));
    CHECK(cuArrayCreate_v2(&second, &shape));
    CHECK(cuMemcpyHtoA_v2(first, 0, image[2], 16));
    CHECK(cuMemcpyAtoA_v2(second, 4, first, 8, 8));
    CHECK(cuMemcpyAtoH_v2(row, second, 4, 8));
    ASSERT(memcmp(row, (unsigned char *)image[2] + 8, 8) == 0);
    EXPECT(1, cuMemcpyHtoA_v2(first, 8, image, 9));
    CHECK(cuArrayDestroy(first));
    CHECK(cuArrayDestroy(second));
}

int main(void)
{
    start();
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++)
                image[z][y][x] = (unsigned char)(1 + x + 4 * y + 16 * z);
    copy_rectangles();
    copy_boxes();
    copy_rows();
    return succeed();
}
