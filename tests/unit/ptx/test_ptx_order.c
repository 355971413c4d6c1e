/* Tests loads and stores with a memory order (ptx/execute/execute_memory.c): vectors are not
 * divided between blocks that run on different host threads, and the values are those of plain
 * accesses. */
#include "ptx_job.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* Block 0 stores vectors of equal numbers, 1, 2, and so on. Block 1 loads them until it has seen
 * the last one, and counts those whose elements differ. */
static void vectors_are_not_divided(void **state)
{
    (void)state;
    static const struct {
        const char *store, *load, *bits, *elements, *copies;
    } rows[] = {
        {"st.relaxed.gpu.global.v2", "ld.relaxed.gpu.global.v2", "64", "{%a, %b}", "{%n, %n}"},
        {"st.volatile.global.v2", "ld.volatile.global.v2", "64", "{%a, %b}", "{%n, %n}"},
        {"st.release.gpu.global.v2", "ld.acquire.gpu.global.v2", "64", "{%a, %b}", "{%n, %n}"},
        {"st.relaxed.gpu.global.v4", "ld.relaxed.gpu.global.v4", "32", "{%a, %c, %d, %b}",
         "{%n, %n, %n, %n}"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2000];
        struct job job;
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 at, .param .u64 out) {\n"
                      ".reg .pred %%p, %%q; .reg .b32 %%r, %%found; .reg .b64 %%rd<2>;\n"
                      ".reg .b%s %%n, %%a, %%b, %%c, %%d;\n"
                      "ld.param.u64 %%rd0, [at]; ld.param.u64 %%rd1, [out];\n"
                      "mov.u32 %%r, %%ctaid.x; setp.ne.u32 %%p, %%r, 0;\n"
                      "mov.b%s %%n, 0; mov.u32 %%found, 0; @%%p bra read;\n"
                      "next: add.u%s %%n, %%n, 1; %s.b%s [%%rd0], %s;\n"
                      "setp.lt.u%s %%q, %%n, 20000; @%%q bra next; ret;\n"
                      "read: %s.b%s %s, [%%rd0]; setp.ne.u%s %%q, %%a, %%b;\n"
                      "@%%q add.u32 %%found, %%found, 1;\n"
                      "setp.lt.u%s %%q, %%a, 20000; @%%q bra read;\n"
                      "st.global.u32 [%%rd1], %%found; ret;\n}\n",
                 rows[i].bits, rows[i].bits, rows[i].bits, rows[i].store, rows[i].bits,
                 rows[i].copies, rows[i].bits, rows[i].load, rows[i].bits, rows[i].elements,
                 rows[i].bits, rows[i].bits);
        job_open(&job, text, 2, 64);
        job.launch.grid[0] = 2;
        job.launch.threads = 2;
        job.launch.max_instructions = 0;
        const uint32_t *out = run_job(&job);
        if (*out)
            fail_msg("%s: %u divided values", rows[i].load, *out);
        job_fini(&job);
    }
}

/* Copies 16 bytes per thread with accesses of a type, and compares them with those before. */
static void values_are_copied(void **state)
{
    (void)state;
    static const char *const orders[] = {"relaxed.gpu.", "volatile.", "weak."};
    static const struct {
        const char *type, *registers, *elements;
        unsigned bytes; /* of the access */
    } rows[] = {
        {"v2.u8", "b16", "{%v0, %v1}", 2},
        {"v4.s8", "b16", "{%v0, %v1, %v2, %v3}", 4},
        {"v4.u16", "b16", "{%v0, %v1, %v2, %v3}", 8},
        {"v2.s32", "b32", "{%v0, %v1}", 8},
        {"v4.f32", "f32", "{%v0, %v1, %v2, %v3}", 16},
        {"v2.f64", "f64", "{%v0, %v1}", 16},
        {"u32", "b32", "%v0", 4},
        {"s16", "b16", "%v0", 2},
        {"f64", "f64", "%v0", 8},
    };
    enum { THREADS = 40, STRIDE = 16 };
    for (size_t i = 0; i < FTH_COUNT(rows) * FTH_COUNT(orders); i++) {
        const char *order = orders[i % FTH_COUNT(orders)];
        const size_t row = i / FTH_COUNT(orders);
        char text[1000];
        struct job job;
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                      ".reg .%s %%v<4>; .reg .b32 %%r; .reg .b64 %%rd<3>;\n"
                      "ld.param.u64 %%rd0, [in]; ld.param.u64 %%rd1, [out]; mov.u32 %%r, %%tid.x;\n"
                      "mul.wide.u32 %%rd2, %%r, 16; add.u64 %%rd0, %%rd0, %%rd2;\n"
                      "add.u64 %%rd1, %%rd1, %%rd2; ld.%sglobal.%s %s, [%%rd0];\n"
                      "st.%sglobal.%s [%%rd1], %s; ret;\n}\n",
                 rows[row].registers, order, rows[row].type, rows[row].elements, order,
                 rows[row].type, rows[row].elements);
        job_open(&job, text, 2, (size_t)THREADS * STRIDE);
        job.launch.block[0] = THREADS;
        unsigned char *in = fth_ptx_host(job.machine, job.buffers[0], job.buffer_bytes);
        for (size_t byte = 0; byte < job.buffer_bytes; byte++)
            in[byte] = (unsigned char)(7 * byte + 1);
        const unsigned char *out = (const unsigned char *)run_job(&job);
        for (size_t byte = 0; byte < job.buffer_bytes; byte++)
            if (out[byte] != (byte % STRIDE < rows[row].bytes ? in[byte] : 0))
                fail_msg("%s%s: byte %zu is %u", order, rows[row].type, byte, out[byte]);
        job_fini(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_not_divided),
        cmocka_unit_test(values_are_copied),
    };
    return cmocka_run_group_tests_name("ptx_order", tests, NULL, NULL);
}
