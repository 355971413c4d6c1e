/* Tests cp.async.bulk with a mask of bytes. */
#include "check.h"
#include "ptx/ptx_job.h"

#include <stdio.h>

#define HEAD ".version 8.6\n.target sm_100a\n.address_size 64\n"

/* Bit i of the mask stands for the bytes with the number i modulo 16. */
static void masks_select_bytes(void **state)
{
    (void)state;
    static const unsigned masks[] = {0xffff, 0x0000, 0x0001, 0x8000, 0x00f0, 0xa5c3};
    for (size_t i = 0; i < FTH_COUNT(masks); i++) {
        char text[1024];
        struct job job;
        snprintf(text, sizeof text,
                 HEAD
                 ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                 ".shared .align 16 .b8 s[64]; .reg .b16 %%h; .reg .b32 %%r<4>;\n"
                 ".reg .b64 %%rd<3>; ld.param.u64 %%rd0, [in]; ld.param.u64 %%rd1, [out];\n"
                 "mov.u32 %%r0, %%tid.x; cvt.u64.u32 %%rd2, %%r0; add.u64 %%rd2, %%rd0, %%rd2;\n"
                 "ld.global.u8 %%r1, [%%rd2]; mov.u32 %%r2, s; add.u32 %%r2, %%r2, %%r0;\n"
                 "st.shared.u8 [%%r2], %%r1; bar.sync 0; mov.b16 %%h, %u;\n"
                 ".reg .pred p; setp.ne.u32 p, %%r0, 0; @p ret;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%%rd1], [s], 48, %%h;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }",
                 masks[i]);
        job_open(&job, text, 2, 64);
        unsigned char *in = fth_ptx_host(job.machine, job.buffers[0], 64);
        memset(fth_ptx_host(job.machine, job.buffers[1], 64), 0xee, 64);
        for (unsigned k = 0; k < 64; k++)
            in[k] = (unsigned char)(k + 1);
        job.launch.block[0] = 64;
        const unsigned char *out = (const unsigned char *)run_job(&job);
        for (unsigned k = 0; k < 64; k++)
            assert_int_equal(out[k], k < 48 && masks[i] >> k % 16 & 1 ? k + 1 : 0xee);
        job_fini(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(masks_select_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
