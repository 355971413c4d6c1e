/* A simulated GPU for tests. It is created from the text of a description and driven through the
 * operations of struct fth_machine_ops. Its kernels walk chains of dependent loads along each path
 * and time themselves. */
#ifndef FTH_TESTS_SIMULATED_H
#define FTH_TESTS_SIMULATED_H

#include "check.h"
#include "device/sim/sim.h"

#include <math.h>
#include <stdio.h>

/* ---- kernels ---- */

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* A kernel that makes `warm` hops along a chain, then `hops` timed hops, and stores the cycles of
 * the timed hops at `out`. Only the first lane of warp `warp` on SM `sm` runs; all other threads
 * exit. LOAD is one hop: it reads the address in %rd1 and replaces it by the next one. */
#define CHASE(NAME, LOAD)                                                                          \
    ".visible .entry " NAME "(.param .u64 start, .param .u64 warm, .param .u64 hops,\n"            \
    "  .param .u64 out, .param .u64 sm, .param .u64 warp, .param .u64 texture)\n{\n"               \
    "  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"                                    \
    "  ld.param.u64 %rd1, [start]; ld.param.u64 %rd2, [warm]; ld.param.u64 %rd3, [hops];\n"        \
    "  ld.param.u64 %rd4, [out]; ld.param.u64 %rd5, [sm]; ld.param.u64 %rd9, [texture];\n"         \
    "  ld.param.u64 %rd10, [warp]; mov.u32 %r3, %tid.x; cvt.u64.u32 %rd11, %r3;\n"                 \
    "  shl.b64 %rd10, %rd10, 5; setp.ne.u64 %p2, %rd10, %rd11; @%p2 exit;\n"                       \
    "  mov.u32 %r1, %smid; cvt.u64.u32 %rd6, %r1; setp.ne.u64 %p1, %rd5, %rd6; @%p1 exit;\n"       \
    "first:\n  setp.eq.u64 %p1, %rd2, 0; @%p1 bra timed;\n"                                        \
    "  " LOAD "\n  sub.u64 %rd2, %rd2, 1; bra first;\n"                                            \
    "timed:\n  add.u64 %rd8, %rd1, 0; mov.u64 %rd7, %clock64;\n"                                   \
    "second:\n  " LOAD "\n  sub.u64 %rd3, %rd3, 1; setp.ne.u64 %p1, %rd3, 0; @%p1 bra second;\n"   \
    "  add.u64 %rd8, %rd1, 0;\n  mov.u64 %rd8, %clock64; sub.u64 %rd7, %rd8, %rd7;\n"              \
    "  st.global.u64 [%rd4], %rd7; ret;\n}\n"

static const char chases[] =
    HEAD ".const .align 256 .b8 bank[65536];\n.extern .shared .align 16 .b8 dynamic[];\n" CHASE(
        "ca", "ld.global.ca.u64 %rd1, [%rd1];") CHASE("cg", "ld.global.cg.u64 %rd1, [%rd1];")
        CHASE("nc", "ld.global.nc.u64 %rd1, [%rd1];")
            CHASE("constant", "ld.const.u64 %rd1, [%rd1];")
                CHASE("texture", "cvt.u32.u64 %r4, %rd1; tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, "
                                 "[%rd9, {%r4}]; cvt.u64.u32 %rd1, %r4;")
                    CHASE("atomic", "atom.global.add.u64 %rd1, [%rd1], 0;");

/* ---- a machine ---- */

struct gpu {
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    uint64_t out;
};

static inline struct fth_gpu *read_gpu(const char *elements, const char *device, const char *noise)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\"%s%s}, "
             "\"noise\": {%s}, \"elements\": {%s}}",
             *device ? ", " : "", device, noise, elements);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

static inline void load_chases(struct gpu *gpu)
{
    struct fth_error error = NO_ERROR;
    if (gpu->ops->load(gpu->machine, "chases", chases, strlen(chases), &gpu->module, &error) !=
        FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    if (gpu->ops->alloc(gpu->machine, 4096, &gpu->out, &error) != FTH_OK)
        fail_msg("%s", error.cause);
}

static inline void open_gpu(struct gpu *gpu, const char *elements, const char *device,
                            const char *noise)
{
    struct fth_gpu *description = read_gpu(elements, device, noise);
    struct fth_error error = NO_ERROR;
    enum fth_status status = fth_sim_machine_create(description, &gpu->ops, &gpu->machine, &error);
    fth_gpu_destroy(description);
    if (status == FTH_OK)
        load_chases(gpu);
    else
        fail_msg("%s", error.cause);
}

static inline void close_gpu(struct gpu *gpu)
{
    gpu->ops->unload(gpu->machine, gpu->module);
    gpu->ops->close(gpu->machine);
}

struct walk {
    const char *kernel;
    uint64_t start, warm, hops, sm, warp, texture;
    int carveout_percent;
    uint64_t shared_bytes;
    uint32_t blocks; /* 0: sm + 1, so that one block runs on that SM */
};

static inline uint64_t launch_walk(struct gpu *gpu, struct walk walk)
{
    const uint64_t arguments[] = {walk.start, walk.warm, walk.hops,   gpu->out,
                                  walk.sm,    walk.warp, walk.texture};
    const struct fth_machine_launch launch = {.module = gpu->module,
                                              .kernel = walk.kernel,
                                              .blocks =
                                                  walk.blocks ? walk.blocks : (uint32_t)walk.sm + 1,
                                              .threads = 32 * ((uint32_t)walk.warp + 1),
                                              .shared_bytes = walk.shared_bytes,
                                              .carveout_percent = walk.carveout_percent,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    struct fth_error error = NO_ERROR;
    if (gpu->ops->launch(gpu->machine, &launch, &error) != FTH_OK ||
        gpu->ops->wait(gpu->machine, 60, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    uint64_t cycles = 0;
    if (gpu->ops->download(gpu->machine, &cycles, gpu->out, sizeof cycles, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return cycles;
}

/* Returns the cycles per hop: the difference between a walk of 2 * hops and one of hops, divided by
 * hops. The cycles outside the loop cancel out. */
static inline double cycles_per_hop(struct gpu *gpu, struct walk walk)
{
    uint64_t hops = walk.hops;
    double once = (double)launch_walk(gpu, walk);
    walk.hops = 2 * hops;
    return ((double)launch_walk(gpu, walk) - once) / (double)hops;
}

static inline uint64_t allocate(struct gpu *gpu, uint64_t bytes)
{
    uint64_t address;
    struct fth_error error = NO_ERROR;
    if (gpu->ops->alloc(gpu->machine, bytes, &address, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return address;
}

/* Writes a circular chain of `count` elements, `stride` bytes apart, that starts at `address`. */
static inline void write_chain(struct gpu *gpu, uint64_t address, uint64_t count, uint64_t stride)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next = address + (i + 1) % count * stride;
        struct fth_error error = NO_ERROR;
        if (gpu->ops->upload(gpu->machine, address + i * stride, &next, sizeof next, &error) !=
            FTH_OK)
            fail_msg("%s", error.cause);
    }
}

/* Allocates memory for a chain and writes it. Returns the address of its first element. */
static inline uint64_t make_chain(struct gpu *gpu, uint64_t count, uint64_t stride)
{
    uint64_t address = allocate(gpu, count * stride);
    write_chain(gpu, address, count, stride);
    return address;
}

/* Returns the address of the constant bank of the module. */
static inline uint64_t constant_bank(struct gpu *gpu)
{
    uint64_t address, bytes;
    struct fth_error error = NO_ERROR;
    assert_int_equal(gpu->ops->symbol(gpu->machine, gpu->module, "bank", &address, &bytes, &error),
                     FTH_OK);
    assert_int_equal(bytes, 65536);
    return address;
}

/* Asserts that two values differ by at most 0.011. The clock counts whole cycles, so the average of
 * 100 hops can be off by 0.01. */
#define ASSERT_NEAR(value, expected)                                                               \
    do {                                                                                           \
        double value_ = (value), expected_ = (expected);                                           \
        if (fabs(value_ - expected_) > 0.011)                                                      \
            fail_msg("%s is %g, not %g", #value, value_, expected_);                               \
    } while (0)

/* Cycles of an iteration that follow a load if another instruction of the loop uses the loaded
 * value: 1 for that instruction, 4 each for sub and setp, whose results the next instruction
 * needs, and 1 for bra. */
#define LOOP_END (1 + 4 + 4 + 1)

#define L1_16K                                                                                     \
    "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sector_bytes\": 32, "                  \
    "\"latency_cycles\": 33.4}, "
#define L2_64K "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"latency_cycles\": 200.5}, "
#define MEMORY "\"memory\": {\"latency_cycles\": 500.25, \"size_bytes\": 1073741824}"

#endif
