/* Occupancy, with the limits of an H200: 2048 threads, 32 blocks and 228 KiB of shared memory per
 * SM, of which each block takes 1 KiB more than it uses. */
#include "driver_api.h"

static size_t shared_of(int threads)
{
    return 64 * (size_t)threads;
}

int main(void)
{
    int blocks, grid, block, clusters;
    size_t bytes;
    struct launch_attribute attribute = {.id = CLUSTER_DIMENSION, .value.cluster = {4, 1, 1}};
    const struct launch_config config = {
        .grid = {264, 1, 1}, .block = {1024, 1, 1}, .attributes = &attribute, .attribute_count = 1};
    start();
    struct function *empty = load_kernel(PTX_HEADER ".visible .entry empty() { ret; }\n", "empty");
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 1024, 0));
    ASSERT(blocks == 2);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 32, 0));
    ASSERT(blocks == 32);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 33, 0));
    ASSERT(blocks == 32); /* two warps per block */
    CHECK(cuFuncSetAttribute(empty, 8, 100 << 10));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 128, 75 << 10));
    ASSERT(blocks == 3);
    EXPECT(1, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    EXPECT(400, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0));
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, NULL, 0, 0));
    ASSERT(block == 1024 && grid == 264);
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, NULL, 0, 96));
    ASSERT(block <= 96 && block % 32 == 0);
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, shared_of, 0, 0));
    ASSERT(block > 0 && grid >= 132);
    struct function *few =
        load_kernel(PTX_HEADER ".visible .entry few() .maxntid 16, 8, 1 { ret; }\n", "few");
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, few, NULL, 0, 0));
    ASSERT(block == 128 && grid == 16 * 132);
    CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, empty, 2, 1024));
    /* NVIDIA's driver may give less, as the caches take the rest */
    ASSERT(bytes == 100 << 10 || (!is_exec() && bytes > 0 && bytes < 100 << 10));
    EXPECT(1, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, empty, 0, 1024));
    CHECK(cuOccupancyMaxActiveClusters(&clusters, empty, &config));
    ASSERT(clusters > 0 && clusters <= 66);
    return succeed();
}
