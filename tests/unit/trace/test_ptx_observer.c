/* Tests what observers of the PTX engine see of accesses: the space, the width, the path to memory
 * and the unit that performs the access. */
#include "check.h"
#include "ptx/async/tensor_map.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"
/* A kernel with the address of a buffer in %rd0, and the addresses of the lane's 16 bytes of the
 * buffer in %rd1 and of shared memory in %r1. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .u64 in) {\n"                                                   \
         ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 m;\n"                              \
         ".reg .pred p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"                                 \
         "ld.param.u64 %rd0, [in]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 16;\n"             \
         "add.u64 %rd1, %rd0, %rd1; shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, "       \
         "%r2;\n" BODY "\nret;\n}\n"

/* The accesses of a launch, as text: one per line. */
struct seen {
    char text[2048];
    uint64_t buffer; /* its address */
};

static bool store_access(void *user, const struct fth_ptx_access *access)
{
    static const char *const spaces[] = {"generic", "global", "shared", "local",
                                         "const",   "param",  "texture"};
    static const char *const kinds[] = {"read", "write", "atomic"};
    static const char *const units[] = {"lanes",       "lane copy", "matrix", "tensor core",
                                        "copy engine", "barrier",   "texture"};
    static const char *const paths[] = {"L1", "L2", "shared", "cluster", "constant"};
    struct seen *seen = user;
    const size_t used = strlen(seen->text);
    if (access->space == FTH_SPACE_PARAM)
        return true;
    snprintf(seen->text + used, sizeof seen->text - used, "%s %s %u by %s via %s of warp %u %x%s%s",
             spaces[access->space], kinds[access->kind], access->bytes, units[access->unit],
             paths[access->path], access->who.warp, access->mask, access->returns ? " returns" : "",
             access->compares ? " compares" : "");
    if (access->destinations) {
        const size_t end = strlen(seen->text);
        snprintf(seen->text + end, sizeof seen->text - end, ", lane 1 to %llu",
                 (unsigned long long)access->destinations[1]);
    }
    strcat(seen->text, "\n"); /* each text below is far shorter than the array */
    return true;
}

static bool store_range(void *user, const struct fth_ptx_range *range)
{
    static const char *const kinds[] = {"loads", "stores", "reduces"};
    struct seen *seen = user;
    const size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used,
             "warp %u %s %llu bytes at %lld, %llu in shared memory%s\n", range->who.warp,
             kinds[range->kind], (unsigned long long)range->bytes,
             (long long)(range->address - seen->buffer), (unsigned long long)range->shared,
             range->outside ? ", outside" : "");
    return true;
}

/* Runs a kernel with one warp, and compares the accesses that the observer sees. The kernel has the
 * address of a buffer as its argument, or a tensor map of the buffer. */
static void check_with(const char *kernel, struct fth_ptx_tensor_map *map, const char *expected)
{
    struct fth_error error = NO_ERROR;
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct seen seen = {{0}, 0};
    unsigned char arguments[FTH_TENSOR_MAP_BYTES];
    char text[1024];
    if (fth_ptx_read_text("test.ptx", kernel, strlen(kernel), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 4096, &seen.buffer, NULL), FTH_OK);
    memcpy(arguments, &seen.buffer, sizeof seen.buffer);
    if (map) {
        map->address = seen.buffer;
        assert_int_equal(fth_ptx_tensor_map_encode(map, arguments, NULL), FTH_OK);
    }
    const struct fth_ptx_observer observer = {
        .user = &seen, .access = store_access, .range = store_range};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {32},
                                          .arguments = arguments,
                                          .argument_bytes =
                                              map ? sizeof arguments : sizeof seen.buffer,
                                          .max_instructions = 100000,
                                          .observer = &observer};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s", fth_error_text(&error, text, sizeof text));
    assert_string_equal(seen.text, expected);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

static void check(const char *kernel, const char *expected)
{
    check_with(kernel, NULL, expected);
}

static void lanes_access_global_memory(void **state)
{
    (void)state;
    check(KERNEL("ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%rd1]; st.global.u32 [%rd1], %r3;\n"
                 "ld.global.cg.u32 %r3, [%rd1]; ld.volatile.global.u32 %r3, [%rd1];\n"
                 "ld.global.nc.u64 %rd2, [%rd1];"),
          "global read 16 by lanes via L1 of warp 0 ffffffff returns\n"
          "global write 4 by lanes via L1 of warp 0 ffffffff\n"
          "global read 4 by lanes via L2 of warp 0 ffffffff returns\n"
          "global read 4 by lanes via L2 of warp 0 ffffffff returns\n"
          "global read 8 by lanes via L1 of warp 0 ffffffff returns\n");
    /* red returns nothing, and neither does atom whose result is dropped. */
    check(KERNEL("atom.global.cas.b32 %r3, [%rd1], 1, 2;"),
          "global atomic 4 by lanes via L2 of warp 0 ffffffff returns compares\n");
    check(KERNEL("red.global.add.u32 [%rd1], 1; atom.global.add.u32 %r3, [%rd1], 1;\n"
                 "atom.global.add.u32 _, [%rd1], 1; red.global.add.v4.f32 [%rd1], "
                 "{0f00000000, 0f00000000, 0f00000000, 0f00000000};"),
          "global atomic 4 by lanes via L2 of warp 0 ffffffff\n"
          "global atomic 4 by lanes via L2 of warp 0 ffffffff returns\n"
          "global atomic 4 by lanes via L2 of warp 0 ffffffff\n"
          "global atomic 16 by lanes via L2 of warp 0 ffffffff\n");
}

static void lanes_copy_past_registers(void **state)
{
    (void)state;
    check(KERNEL("cp.async.ca.shared.global [%r1], [%rd1], 8;\n"
                 "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.wait_all;"),
          "global read 8 by lane copy via L1 of warp 0 ffffffff, lane 1 to 16\n"
          "shared write 8 by lane copy via shared of warp 0 ffffffff\n"
          "global read 16 by lane copy via L2 of warp 0 ffffffff, lane 1 to 16\n"
          "shared write 16 by lane copy via shared of warp 0 ffffffff\n");
}

static void warps_move_matrices(void **state)
{
    (void)state;
    check(KERNEL("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r3,%r4}, [%r1];\n"
                 "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r3,%r4,%r3,%r4};"),
          "shared read 16 by matrix via shared of warp 0 ffff returns\n"
          "shared write 16 by matrix via shared of warp 0 ffffffff\n");
}

/* A copy of 528 bytes is reported as 32 accesses of 16 bytes, and one more. */
static void the_copy_engine_copies_ranges(void **state)
{
    (void)state;
    check(KERNEL("setp.ne.u32 p1, %r0, 0; @p1 ret;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group [%rd0+32], [%r1], 528;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r1], 16;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
          "warp 0 stores 528 bytes at 32, 0 in shared memory\n"
          "shared read 16 by copy engine via shared of warp 0 ffffffff\n"
          "shared read 16 by copy engine via shared of warp 0 1\n"
          "global write 16 by copy engine via L2 of warp 0 ffffffff\n"
          "global write 16 by copy engine via L2 of warp 0 1\n"
          "warp 0 reduces 16 bytes at 0, 0 in shared memory\n"
          "shared read 16 by copy engine via shared of warp 0 1\n"
          "global atomic 16 by copy engine via L2 of warp 0 1\n");
    check(KERNEL("setp.ne.u32 p1, %r0, 0; @p1 ret; mov.u32 %r3, m;\n"
                 "mbarrier.init.shared.b64 [%r3], 1;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], "
                 "[%rd0], 32, [%r3];"),
          "shared atomic 8 by barrier via shared of warp 0 1\n"
          "warp 0 loads 32 bytes at 0, 16 in shared memory\n"
          "global read 16 by copy engine via L2 of warp 0 3\n"
          "shared write 16 by copy engine via shared of warp 0 3\n");
}

/* A tensor of 16 x 4 words, and boxes of 8 x 2 words. */
static void the_copy_engine_copies_rows_of_boxes(void **state)
{
    struct fth_ptx_tensor_map map = {.type = FTH_TENSOR_U32,
                                     .rank = 2,
                                     .sizes = {16, 4},
                                     .strides = {64},
                                     .element_strides = {1, 1},
                                     .box = {8, 2}};
    (void)state;
    /* The first row of the box has 4 elements in the tensor and 4 after it. The second row is
     * outside. */
    check_with(HEAD ".visible .entry k(.param .align 64 .b8 map[128]) {\n"
                    ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 m;\n"
                    ".reg .pred p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
                    "mov.u32 %r0, %tid.x; setp.ne.u32 p1, %r0, 0; @p1 ret;\n"
                    "mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; mov.u32 %r1, 12;\n"
                    "mov.u32 %r2, 3; mbarrier.init.shared.b64 [m], 1;\n"
                    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                    "bytes [s], [%rd0, {%r1, %r2}], [m];\n"
                    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                    "[%rd0, {%r1, %r2}], [s];\nret;\n}\n",
               &map,
               "shared atomic 8 by barrier via shared of warp 0 1\n"
               "warp 0 loads 16 bytes at 240, 0 in shared memory\n"
               "global read 16 by copy engine via L2 of warp 0 1\n"
               "warp 0 loads 16 bytes at 256, 16 in shared memory, outside\n"
               "warp 0 loads 32 bytes at 48, 32 in shared memory, outside\n"
               "shared write 16 by copy engine via shared of warp 0 f\n"
               "warp 0 stores 16 bytes at 240, 0 in shared memory\n"
               "global write 16 by copy engine via L2 of warp 0 1\n"
               "shared read 16 by copy engine via shared of warp 0 f\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_access_global_memory),
        cmocka_unit_test(lanes_copy_past_registers),
        cmocka_unit_test(warps_move_matrices),
        cmocka_unit_test(the_copy_engine_copies_ranges),
        cmocka_unit_test(the_copy_engine_copies_rows_of_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
