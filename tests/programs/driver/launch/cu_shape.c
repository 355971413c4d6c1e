/* Shapes of launches: limits, shared memory, clusters, cooperative launches. */
#include "driver_api.h"

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n"
    /* Writes to the last word of the dynamic shared memory, and the size of the cluster to `out`.
     */
    ".visible .entry k(.param .u64 out)\n{ .reg .b32 %r<6>; .reg .b64 %d; .reg .pred %p;\n"
    "ld.param.u64 %d, [out]; mov.u32 %r1, %dynamic_smem_size; mov.u32 %r2, dynamic;\n"
    "add.u32 %r3, %r2, %r1; setp.eq.u32 %p, %r1, 0; @%p bra skip; st.shared.u32 [%r3+-4], %r1;\n"
    "skip: mov.u32 %r4, %cluster_nctaid.x; st.global.u32 [%d], %r4; st.global.u32 [%d+4], %r1;\n"
    "ret; }\n"
    ".visible .entry few() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry exact() .reqntid 8, 4 { ret; }\n"
    ".visible .entry paired() .reqnctapercluster 2, 1, 1 { ret; }\n";

static struct function *k;
static void *arguments[1];

static int launch(unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_z,
                  unsigned shared)
{
    return cuLaunchKernel(k, grid_x, grid_y, 1, block_x, 1, block_z, shared, NULL, arguments, NULL);
}

static int launch_clusters(unsigned grid, unsigned cluster)
{
    struct launch_attribute attribute = {.id = CLUSTER_DIMENSION, .value.cluster = {cluster, 1, 1}};
    const struct launch_config config = {
        .grid = {grid, 1, 1}, .block = {32, 1, 1}, .attributes = &attribute, .attribute_count = 1};
    return cuLaunchKernelEx(&config, k, arguments, NULL);
}

int main(void)
{
    struct module *module;
    struct function *few, *paired, *exact;
    uint64_t out;
    unsigned result[2];
    start();
    k = load_kernel(ptx, "k");
    CHECK(cuFuncGetModule(&module, k));
    CHECK(cuModuleGetFunction(&few, module, "few"));
    CHECK(cuModuleGetFunction(&paired, module, "paired"));
    CHECK(cuModuleGetFunction(&exact, module, "exact"));
    CHECK(cuMemAlloc_v2(&out, 8));
    arguments[0] = &out;
    CHECK(launch(1, 1, 1024, 1, 0));
    EXPECT(1, launch(1, 1, 1025, 1, 0));
    EXPECT(1, launch(1, 1, 32, 65, 0)); /* at most 64 in z */
    EXPECT(1, launch(1, 1, 512, 3, 0)); /* 1536 threads */
    EXPECT(1, launch(0, 1, 32, 1, 0));
    EXPECT(1, launch(1, 65536, 32, 1, 0));
    EXPECT(1, launch(1, 1, 0, 1, 0));
    CHECK(cuLaunchKernel(few, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(few, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuLaunchKernel(exact, 1, 1, 1, 8, 4, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(exact, 1, 1, 1, 4, 8, 1, 0, NULL, NULL, NULL));
    /* dynamic shared memory */
    CHECK(launch(1, 1, 32, 1, 48 << 10));
    EXPECT(1, launch(1, 1, 32, 1, (48 << 10) + 16));
    CHECK(cuFuncSetAttribute(k, 8, 200 << 10));
    CHECK(launch(1, 1, 32, 1, 200 << 10));
    CHECK(cuMemcpyDtoH_v2(result, out, 8));
    ASSERT(result[0] == 1 && result[1] == 200 << 10);
    EXPECT(1, launch(1, 1, 32, 1, (200 << 10) + 16));
    /* clusters */
    CHECK(launch_clusters(8, 4));
    CHECK(cuMemcpyDtoH_v2(result, out, 8));
    ASSERT(result[0] == 4);
    EXPECT(912, launch_clusters(6, 4));   /* the grid is not a multiple */
    EXPECT(912, launch_clusters(16, 16)); /* more than 8 blocks */
    CHECK(cuFuncSetAttribute(k, 14, 1));
    CHECK(launch_clusters(16, 16));
    CHECK(cuLaunchKernel(paired, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(912, cuLaunchKernel(paired, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    /* all blocks of a cooperative launch must fit: 2 of 1024 threads per SM */
    CHECK(cuLaunchCooperativeKernel(k, 264, 1, 1, 1024, 1, 1, 0, NULL, arguments));
    EXPECT(720, cuLaunchCooperativeKernel(k, 265, 1, 1, 1024, 1, 1, 0, NULL, arguments));
    CHECK(cuCtxSynchronize()); /* none of these errors persists */
    return succeed();
}
