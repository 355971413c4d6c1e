/* The CUDA runtime on a driver that records the calls: memory, copies, arrays, textures, graphs,
 * and device properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mock_driver.h"
#include "runtime_calls.h"

#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    (void)state;
    mock_reset();
    (void)cudaGetLastError();
    return 0;
}

static void memory(void **state)
{
    (void)state;
    void *pointer = &pointer;
    assert_int_equal(cudaMalloc(&pointer, 0), 0);
    assert_null(pointer);
    assert_int_equal(cudaFree(NULL), 0);
    assert_int_equal(mock.call_count, mock_count("cuInit") + mock_count("cuCtxSetCurrent") +
                                          mock_count("cuDevicePrimaryCtxRetain"));
    assert_int_equal(cudaMalloc(&pointer, 100), 0);
    assert_int_equal(fth_address(pointer), MOCK_MEMORY);
    assert_int_equal(mock.bytes, 100);
    assert_int_equal(cudaMalloc(NULL, 100), FTH_INVALID_VALUE);
    mock.failing = "cuMemAlloc_v2";
    mock.result = FTH_OUT_OF_MEMORY;
    pointer = &pointer;
    assert_int_equal(cudaMalloc(&pointer, 100), FTH_OUT_OF_MEMORY);
    assert_ptr_equal(pointer, &pointer);
    assert_int_equal(cudaGetLastError(), FTH_OUT_OF_MEMORY);
    struct fth_pitched pitched;
    assert_int_equal(cudaMalloc3D(&pitched, (struct fth_extent){8, SIZE_MAX / 2, 3}),
                     FTH_INVALID_VALUE);
    assert_int_equal(cudaMalloc3D(&pitched, (struct fth_extent){8, 5, 3}), 0);
    assert_int_equal(pitched.width, 8);
    assert_int_equal(pitched.height, 5);
}

static void pointers(void **state)
{
    (void)state;
    struct fth_pointer_attributes attributes;
    int host = 0;
    assert_int_equal(cudaPointerGetAttributes(&attributes, fth_pointer(MOCK_MEMORY)), 0);
    assert_int_equal(attributes.type, 2);
    assert_int_equal(attributes.device, 0);
    assert_ptr_equal(attributes.device_pointer, fth_pointer(MOCK_MEMORY));
    assert_null(attributes.host_pointer);
    assert_int_equal(cudaPointerGetAttributes(&attributes, &host), 0);
    assert_int_equal(attributes.type, 0);
    assert_int_equal(attributes.device, -2);
    assert_null(attributes.device_pointer);
    assert_ptr_equal(attributes.host_pointer, &host);
    assert_int_equal(cudaGetLastError(), 0);
}

static void copies(void **state)
{
    (void)state;
    static const struct {
        int kind;
        const char *call;
    } kinds[] = {{FTH_HOST_TO_DEVICE, "cuMemcpyHtoD_v2"},
                 {FTH_DEVICE_TO_HOST, "cuMemcpyDtoH_v2"},
                 {FTH_DEVICE_TO_DEVICE, "cuMemcpyDtoD_v2"},
                 {FTH_HOST_TO_HOST, "cuMemcpy"},
                 {FTH_BY_ADDRESS, "cuMemcpy"}};
    char target[4] = {0}, source[4] = {0};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        mock_reset();
        assert_int_equal(cudaMemcpy(target, source, 4, kinds[i].kind), 0);
        assert_int_equal(mock_count(kinds[i].call), 1);
        assert_int_equal(mock.target, fth_address(target));
        assert_int_equal(mock.source, fth_address(source));
        assert_int_equal(mock.bytes, 4);
    }
    assert_int_equal(cudaMemcpy(target, source, 4, 5), FTH_INVALID_DIRECTION);
    assert_int_equal(cudaMemcpy(target, source, 0, FTH_HOST_TO_DEVICE), 0);
    assert_int_equal(cudaMemcpyAsync(target, source, 4, FTH_HOST_TO_DEVICE, NULL), 0);
    assert_int_equal(mock_count("cuMemcpyHtoDAsync_v2"), 1);
    assert_int_equal(mock_count("cuStreamSynchronize"), 0);
    assert_int_equal(cudaMemcpyAsync_ptsz(target, source, 4, FTH_HOST_TO_DEVICE, NULL), 0);
    assert_ptr_equal(mock.stream, FTH_PER_THREAD_STREAM);
    assert_int_equal(mock_count("cuStreamSynchronize"), 0);
    assert_int_equal(cudaMemcpy_ptds(target, source, 4, FTH_HOST_TO_DEVICE), 0);
    assert_int_equal(mock_count("cuMemcpyHtoDAsync_v2"), 3);
    assert_int_equal(mock_count("cuStreamSynchronize"), 1);
}

static struct fth_cu_array *make_array(int bits, int channels, int kind)
{
    struct fth_cu_array *array = NULL;
    struct fth_channel channel = cudaCreateChannelDesc(
        bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 2 ? bits : 0, kind);
    return cudaMallocArray(&array, &channel, 16, 8, 2) == 0 ? array : NULL;
}

static void copies_in_two_dimensions(void **state)
{
    (void)state;
    char target[64] = {0}, source[64] = {0};
    assert_int_equal(cudaMemcpy2D(target, 16, source, 8, 8, 4, FTH_DEVICE_TO_HOST), 0);
    assert_int_equal(mock.copy_2d.source_type, FTH_CU_DEVICE);
    assert_int_equal(mock.copy_2d.target_type, FTH_CU_HOST);
    assert_int_equal(mock.copy_2d.source_device, fth_address(source));
    assert_ptr_equal(mock.copy_2d.target_host, target);
    assert_int_equal(mock.copy_2d.target_pitch, 16);
    assert_int_equal(mock.copy_2d.source_pitch, 8);
    assert_int_equal(mock.copy_2d.width, 8);
    assert_int_equal(mock.copy_2d.height, 4);
    assert_int_equal(cudaMemcpy2D(target, 7, source, 8, 8, 4, FTH_DEVICE_TO_HOST),
                     FTH_INVALID_PITCH);
    assert_int_equal(cudaMemcpy2D(target, 8, source, 7, 8, 4, FTH_DEVICE_TO_HOST),
                     FTH_INVALID_PITCH);
    assert_int_equal(cudaMemcpy2D(target, 8, source, 8, 8, 0, FTH_DEVICE_TO_HOST), 0);
    assert_int_equal(mock_count("cuMemcpy2DUnaligned_v2"), 1);
    struct fth_cu_array *array = make_array(32, 1, FTH_CHANNEL_FLOAT);
    assert_int_equal(cudaMemcpy2DToArray(array, 4, 1, source, 8, 8, 4, FTH_HOST_TO_DEVICE), 0);
    assert_int_equal(mock.copy_2d.target_type, FTH_CU_ARRAY);
    assert_ptr_equal(mock.copy_2d.target_array, array);
    assert_int_equal(mock.copy_2d.target_x, 4);
    assert_int_equal(mock.copy_2d.target_y, 1);
    assert_int_equal(mock.copy_2d.source_type, FTH_CU_HOST);
}

static void copies_in_three_dimensions(void **state)
{
    (void)state;
    char memory_1[8] = {0}, memory_2[8] = {0};
    struct fth_copy_3d copy = {
        .source_position = {4, 1, 2},
        .source = {memory_1, 32, 24, 6},
        .target = {memory_2, 40, 24, 7},
        .target_position = {8, 3, 5},
        .extent = {16, 2, 3},
        .kind = FTH_HOST_TO_DEVICE,
    };
    assert_int_equal(cudaMemcpy3D(&copy), 0);
    assert_int_equal(mock.copy_3d.source_x, 4);
    assert_int_equal(mock.copy_3d.source_y, 1);
    assert_int_equal(mock.copy_3d.source_z, 2);
    assert_ptr_equal(mock.copy_3d.source_host, memory_1);
    assert_int_equal(mock.copy_3d.source_pitch, 32);
    assert_int_equal(mock.copy_3d.source_height, 6);
    assert_int_equal(mock.copy_3d.target_x, 8);
    assert_int_equal(mock.copy_3d.target_device, fth_address(memory_2));
    assert_int_equal(mock.copy_3d.target_height, 7);
    assert_int_equal(mock.copy_3d.width, 16);
    /* With an array, positions in it and the width count elements, here of 8 bytes. */
    copy.source_array = make_array(32, 2, FTH_CHANNEL_SIGNED);
    assert_int_equal(cudaMemcpy3D(&copy), FTH_INVALID_VALUE);
    copy.source = (struct fth_pitched){NULL, 0, 0, 0};
    assert_int_equal(cudaMemcpy3D(&copy), 0);
    assert_int_equal(mock.copy_3d.source_type, FTH_CU_ARRAY);
    assert_int_equal(mock.copy_3d.source_x, 32);
    assert_int_equal(mock.copy_3d.target_x, 8);
    assert_int_equal(mock.copy_3d.width, 128);
    struct fth_copy_3d read;
    assert_int_equal(cudaGraphMemcpyNodeGetParams(NULL, &read), 0);
    assert_memory_equal(&read.source_position, &copy.source_position, sizeof(copy.source_position));
    assert_memory_equal(&read.target_position, &copy.target_position, sizeof(copy.target_position));
    assert_memory_equal(&read.extent, &copy.extent, sizeof(copy.extent));
    assert_ptr_equal(read.source_array, copy.source_array);
    assert_ptr_equal(read.target.pointer, memory_2);
    assert_int_equal(read.target.pitch, 40);
    assert_int_equal(read.target.height, 7);
    copy.kind = 7;
    assert_int_equal(cudaMemcpy3D(&copy), FTH_INVALID_DIRECTION);
    assert_int_equal(cudaMemcpy3D(NULL), FTH_INVALID_VALUE);
}

static void channels(void **state)
{
    (void)state;
    static const struct {
        int bits, channels, kind, format;
    } cases[] = {
        {8, 1, 0, 0x08},  {16, 2, 0, 0x09},  {32, 4, 0, 0x0a}, {8, 4, 1, 0x01}, {16, 1, 1, 0x02},
        {32, 2, 1, 0x03}, {16, 4, 2, 0x10},  {32, 1, 2, 0x20}, {8, 1, 5, 0xc0}, {8, 4, 7, 0xc2},
        {16, 1, 8, 0xc3}, {16, 4, 16, 0xcb}, {8, 2, 12, 0xc7},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fth_cu_array *array = make_array(cases[i].bits, cases[i].channels, cases[i].kind);
        assert_non_null(array);
        assert_int_equal(mock.shape.format, cases[i].format);
        assert_int_equal(mock.shape.channels, cases[i].channels);
        assert_int_equal(mock.shape.width, 16);
        assert_int_equal(mock.shape.height, 8);
        assert_int_equal(mock.shape.depth, 0);
        assert_int_equal(mock.shape.flags, 2);
        struct fth_channel channel;
        struct fth_extent extent;
        unsigned flags = 0;
        assert_int_equal(cudaArrayGetInfo(&channel, &extent, &flags, array), 0);
        assert_int_equal(channel.bits[0], cases[i].bits);
        assert_int_equal(channel.bits[1], cases[i].channels > 1 ? cases[i].bits : 0);
        assert_int_equal(channel.bits[3], cases[i].channels > 2 ? cases[i].bits : 0);
        assert_int_equal(channel.kind, cases[i].kind);
        assert_int_equal(flags, 2);
    }
    static const struct fth_channel wrong[] = {
        {{8, 8, 8, 0}, 0},   {{0, 0, 0, 0}, 0},  {{8, 16, 0, 0}, 0},
        {{64, 0, 0, 0}, 0},  {{8, 0, 0, 0}, 2},  {{8, 0, 8, 0}, 0},
        {{32, 0, 0, 0}, 17}, {{-8, 0, 0, 0}, 0}, {{32, 0, 0, 0}, 3},
    };
    struct fth_cu_array *array = NULL;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(cudaMallocArray(&array, &wrong[i], 1, 1, 0), FTH_INVALID_CHANNEL);
}

static void textures(void **state)
{
    (void)state;
    struct fth_resource resource = {.type = FTH_RESOURCE_PITCHED}, read_resource;
    resource.of.pitched.pointer = fth_pointer(MOCK_MEMORY);
    resource.of.pitched.channel = cudaCreateChannelDesc(16, 16, 0, 0, FTH_CHANNEL_UNSIGNED);
    resource.of.pitched.width = 20;
    resource.of.pitched.height = 10;
    resource.of.pitched.pitch = 256;
    struct fth_texture texture = {.address_mode = {1, 2, 3},
                                  .filter_mode = 1,
                                  .read_mode = 1,
                                  .srgb = 1,
                                  .border = {0.5F, 1, 2, 3},
                                  .normalized = 1,
                                  .max_anisotropy = 4,
                                  .mipmap_filter_mode = 1,
                                  .mipmap_bias = 0.25F,
                                  .min_mipmap_level = 1,
                                  .max_mipmap_level = 6,
                                  .seamless_cubemap = 1},
                       read_texture;
    uint64_t object = 0;
    assert_int_equal(cudaCreateTextureObject(&object, &resource, &texture, NULL), 0);
    assert_int_equal(object, 7);
    assert_int_equal(mock.resource.of.pitched.address, MOCK_MEMORY);
    assert_int_equal(mock.resource.of.pitched.format, FTH_CU_U16);
    assert_int_equal(mock.resource.of.pitched.channels, 2);
    assert_int_equal(mock.resource.of.pitched.pitch, 256);
    assert_int_equal(mock.texture.flags, 0x02 | 0x10 | 0x40);
    assert_int_equal(mock.texture.address_mode[2], 3);
    assert_int_equal(cudaGetTextureObjectResourceDesc(&read_resource, object), 0);
    assert_memory_equal(&read_resource, &resource, sizeof(resource));
    assert_int_equal(cudaGetTextureObjectTextureDesc(&read_texture, object), 0);
    assert_memory_equal(&read_texture, &texture, sizeof(texture));
    resource = (struct fth_resource){.type = FTH_RESOURCE_LINEAR};
    resource.of.linear.channel = cudaCreateChannelDesc(32, 0, 0, 0, FTH_CHANNEL_FLOAT);
    resource.of.linear.bytes = 4096;
    texture = (struct fth_texture){.no_trilinear_optimization = 1};
    assert_int_equal(cudaCreateTextureObject(&object, &resource, &texture, NULL), 0);
    assert_int_equal(mock.resource.of.linear.bytes, 4096);
    assert_int_equal(mock.texture.flags, 0x01 | 0x20);
    resource.type = 4;
    assert_int_equal(cudaCreateTextureObject(&object, &resource, &texture, NULL),
                     FTH_INVALID_VALUE);
}

static void kernel_nodes(void **state)
{
    (void)state;
    static char host[1];
    static const char code[] = "code";
    void **handle = __cudaRegisterFatBinary(fth_pointer(fth_address(code)));
    __cudaRegisterFunction(handle, host, host, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
    struct fth_kernel_node node = {.function = host,
                                   .grid = {1, 2, 3},
                                   .block = {4, 5, 6},
                                   .shared_bytes = 7},
                           read;
    assert_int_equal(cudaGraphAddKernelNode(NULL, NULL, NULL, 0, &node), 0);
    assert_ptr_equal(mock.code, code);
    assert_memory_equal(&mock.node.block, &node.block, sizeof(node.block));
    assert_int_equal(mock.node.shared_bytes, 7);
    assert_int_equal(cudaGraphKernelNodeGetParams(NULL, &read), 0);
    assert_ptr_equal(read.function, host);
    assert_memory_equal(&read.grid, &node.grid, sizeof(node.grid));
    node.function = code;
    assert_int_equal(cudaGraphAddKernelNode(NULL, NULL, NULL, 0, &node),
                     FTH_INVALID_DEVICE_FUNCTION);
    __cudaUnregisterFatBinary(handle);
}

static void device_properties(void **state)
{
    (void)state;
    struct fth_device_properties properties;
    assert_int_equal(cudaGetDeviceProperties(&properties, 0), 0);
    assert_string_equal(properties.name, "a device");
    assert_int_equal(properties.memory_bytes, (size_t)1 << 36);
    assert_int_equal(properties.sm_count, 1016);
    assert_int_equal(properties.major, 1075);
    assert_int_equal(properties.shared_per_block, 1008);
    assert_int_equal(properties.max_grid[2], 1007);
    assert_int_equal(properties.multinode_ipc, 1143);
    /* The driver does not know this one. */
    assert_int_equal(properties.stream_priorities, 0);
    assert_int_equal(cudaGetDeviceProperties(&properties, 1), FTH_INVALID_DEVICE);
    assert_int_equal(cudaGetDeviceProperties(NULL, 0), FTH_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory, set_up),
        cmocka_unit_test_setup(pointers, set_up),
        cmocka_unit_test_setup(copies, set_up),
        cmocka_unit_test_setup(copies_in_two_dimensions, set_up),
        cmocka_unit_test_setup(copies_in_three_dimensions, set_up),
        cmocka_unit_test_setup(channels, set_up),
        cmocka_unit_test_setup(textures, set_up),
        cmocka_unit_test_setup(kernel_nodes, set_up),
        cmocka_unit_test_setup(device_properties, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
