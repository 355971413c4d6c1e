/* Tensor maps, and a kernel that copies a box with one. */
#include "driver_api.h"

/* Copies the box at (x, y) of a tensor to `out`. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry copy(.param .align 64 .b8 map[128], .param .u64 out)\n"
    "{\n.reg .b32 %r<8>; .reg .b64 %d<6>; .reg .pred %p<3>;\n"
    ".shared .align 128 .b8 box[64]; .shared .align 8 .b64 bar;\n"
    "mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [out];\n"
    "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra wait;\n"
    "mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;\n"
    "mbarrier.arrive.expect_tx.shared.b64 %d3, [bar], 64;\n"
    "mov.u32 %r2, 4; mov.u32 %r3, 2;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[box], [%d1, {%r2, %r3}], [bar];\n"
    "wait: bar.sync 0;\n"
    "loop: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra loop;\n"
    "shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5];\n"
    "mad.wide.u32 %d4, %r1, 4, %d2; st.global.u32 [%d4], %r6; ret;\n}\n";

enum { WIDTH = 16, HEIGHT = 8, UINT32 = 2 };

int main(void)
{
    struct {
        _Alignas(64) unsigned char bytes[192];
    } map;
    const uint64_t sizes[] = {WIDTH, HEIGHT}, strides[] = {sizeof(unsigned[WIDTH])};
    const uint32_t box[] = {4, 4}, steps[] = {1, 1}, wide[] = {512, 4};
    unsigned image[HEIGHT][WIDTH], back[4][4];
    uint64_t tensor, out;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            image[y][x] = 100 * y + x;
    start();
    struct function *copy = load_kernel(ptx, "copy");
    CHECK(cuMemAlloc_v2(&tensor, sizeof image));
    CHECK(cuMemAlloc_v2(&out, sizeof back));
    CHECK(cuMemcpyHtoD_v2(tensor, image, sizeof image));
    void *const address = pointer_to(tensor);
    CHECK(cuTensorMapEncodeTiled(&map, UINT32, 2, address, sizes, strides, box, steps, 0, 0, 0, 0));
    void *arguments[] = {&map, &out};
    CHECK(cuLaunchKernel(copy, 1, 1, 1, 16, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(back, out, sizeof back));
    for (unsigned y = 0; y < 4; y++)
        for (unsigned x = 0; x < 4; x++)
            ASSERT(back[y][x] == image[y + 2][x + 4]);
    EXPECT(1, cuTensorMapEncodeTiled(&map, 99, 2, address, sizes, strides, box, steps, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeTiled(&map, UINT32, 2, address, sizes, strides, wide, steps, 0, 0, 0,
                                     0));
    /* NVIDIA's driver does not need the documented alignment of 64 bytes */
    CHECK(cuTensorMapEncodeTiled(map.bytes + 8, UINT32, 2, address, sizes, strides, box, steps, 0,
                                 0, 0, 0));
    return succeed();
}
