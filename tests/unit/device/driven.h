/* The CUDA machine on top of the stand-ins for NVIDIA's libraries (tests/standin), which the loader
 * finds through LD_LIBRARY_PATH, and kernels for it. */
#ifndef FTH_TESTS_DRIVEN_H
#define FTH_TESTS_DRIVEN_H

#include "check.h"
#include "device/cuda/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>

static const struct fth_machine_ops *const ops = &fth_cuda_machine_ops;

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".global .align 8 .u64 counter = 40;\n"
    ".const .align 8 .u64 table[8];\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    /* out[i] = in[i] + plus + counter */
    ".visible .entry add(.param .u64 out, .param .u64 in, .param .u64 plus)\n"
    "{\n"
    "  .reg .u64 %a<8>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %a0, [out]; ld.param.u64 %a1, [in]; ld.param.u64 %a2, [plus];\n"
    "  mov.u32 %r0, %tid.x; mul.wide.u32 %a3, %r0, 8;\n"
    "  add.u64 %a0, %a0, %a3; add.u64 %a1, %a1, %a3;\n"
    "  ld.global.u64 %a4, [%a1]; ld.global.u64 %a5, [counter];\n"
    "  add.u64 %a4, %a4, %a2; add.u64 %a4, %a4, %a5; st.global.u64 [%a0], %a4;\n"
    "  ret;\n"
    "}\n"
    /* out[i] = texel i */
    ".visible .entry fetch(.param .u64 out, .param .u64 from)\n"
    "{\n"
    "  .reg .u64 %a<4>; .reg .u32 %r<8>;\n"
    "  ld.param.u64 %a0, [out]; ld.param.u64 %a1, [from];\n"
    "  mov.u32 %r0, %tid.x; mul.wide.u32 %a3, %r0, 4; add.u64 %a0, %a0, %a3;\n"
    "  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%a1, {%r0}];\n"
    "  st.global.u32 [%a0], %r1;\n"
    "  ret;\n"
    "}\n"
    /* out[i] = value + small + i, where i is the index of the thread in the grid. The parameters
     * have different sizes. */
    ".visible .entry number(.param .u32 value, .param .u64 out, .param .u8 small)\n"
    "{\n"
    "  .reg .u64 %a<4>; .reg .u32 %r<16>;\n"
    "  ld.param.u32 %r0, [value]; ld.param.u64 %a0, [out]; ld.param.u8 %r10, [small];\n"
    "  mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y;\n"
    "  mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mov.u32 %r2, %ntid.z; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mul.wide.u32 %a1, %r1, 4; add.u64 %a0, %a0, %a1;\n"
    "  add.u32 %r0, %r0, %r10; add.u32 %r0, %r0, %r1; st.global.u32 [%a0], %r0;\n"
    "  ret;\n"
    "}\n"
    /* Stores 77 at offset `at` of the dynamic shared memory, loads it and writes it to out[0]. */
    ".visible .entry keep(.param .u64 out, .param .u64 at)\n"
    "{\n"
    "  .reg .u64 %a<4>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %a0, [out]; ld.param.u64 %a1, [at];\n"
    "  mov.u64 %a2, dynamic; add.u64 %a2, %a2, %a1; mov.u32 %r0, 77;\n"
    "  st.shared.u32 [%a2], %r0; ld.shared.u32 %r1, [%a2]; st.global.u32 [%a0], %r1;\n"
    "  ret;\n"
    "}\n";

/* Selects the behaviour of the stand-ins; tests/standin/standin.h lists the modes. */
static inline void set_mode(const char *mode)
{
    setenv("FATHOM_STANDIN", mode, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static inline void *open_machine(const char *device_id)
{
    struct fth_error error = NO_ERROR;
    struct fth_cuda cuda;
    int ordinal = -1;
    void *machine = NULL;
    if (fth_cuda_open_named(device_id, &cuda, &ordinal, &error) != FTH_OK ||
        fth_cuda_machine_create(&cuda, ordinal, device_id, &machine, &error) != FTH_OK)
        fail_msg("%s: %s", device_id, error.cause);
    return machine;
}

/* Closes the machine, and asserts that no context, module, allocation or texture of the stand-in
 * driver is left. */
static inline void close_machine(void *machine)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(driver);
    long (*live)(void);
    void *address = dlsym(driver, "standin_live");
    assert_non_null(address);
    memcpy(&live, &address, sizeof live);
    ops->close(machine);
    assert_int_equal(live(), 0);
    dlclose(driver);
}

static inline struct fth_machine_module *load(void *machine)
{
    struct fth_machine_module *module = NULL;
    struct fth_error error = NO_ERROR;
    if (ops->load(machine, "test", ptx, strlen(ptx), &module, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return module;
}

static inline uint64_t alloc(void *machine, uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(ops->alloc(machine, bytes, &address, NULL), FTH_OK);
    assert_int_equal(address % 256, 0);
    return address;
}

/* Launches one block. Every argument has 8 bytes. */
static inline enum fth_status launch(void *machine, struct fth_machine_module *module,
                                     const char *kernel, uint32_t threads,
                                     const uint64_t *arguments, size_t count,
                                     struct fth_error *error)
{
    return ops->launch(machine,
                       &(struct fth_machine_launch){.module = module,
                                                    .kernel = kernel,
                                                    .blocks = 1,
                                                    .threads = threads,
                                                    .carveout_percent = -1,
                                                    .arguments = arguments,
                                                    .argument_bytes = 8 * count},
                       error);
}

#endif
