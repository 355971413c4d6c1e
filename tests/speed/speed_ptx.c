/* Measures the speed of the PTX engine with a loop of fused multiply-adds and loads in which all
 * lanes are active, on one core and on all cores, compared with the same loop compiled for the
 * host. */
#include "clock.h"
#include "ptx/ptx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With a = in + thread: for (i = 0; i < n; i++) { x = a[0]; s = x * s + x; y = a[1]; s = y * s + x;
 * s = x * s + y; s = y * s + y; } */
static const char loop[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry loop(.param .u64 in, .param .u64 out, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<12>;\n    .reg .b64 %rd<12>;\n    .reg .f32 %f<4>;\n"
    "    ld.param.u64 %rd1, [in];\n    ld.param.u64 %rd2, [out];\n    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %tid.x;\n    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n"
    "    mad.lo.s32 %r5, %r3, %r4, %r2;\n"
    "    mul.wide.u32 %rd3, %r5, 4;\n    add.s64 %rd4, %rd1, %rd3;\n    add.s64 %rd5, %rd2, %rd3;\n"
    "    mov.f32 %f1, 0f00000000;\n    mov.u32 %r6, 0;\n"
    "again:\n"
    "    ld.global.f32 %f2, [%rd4];\n    fma.rn.f32 %f1, %f2, %f1, %f2;\n"
    "    ld.global.f32 %f3, [%rd4+4];\n    fma.rn.f32 %f1, %f3, %f1, %f2;\n"
    "    fma.rn.f32 %f1, %f2, %f1, %f3;\n    fma.rn.f32 %f1, %f3, %f1, %f3;\n"
    "    add.s32 %r6, %r6, 1;\n    setp.lt.u32 %p1, %r6, %r1;\n    @%p1 bra again;\n"
    "    st.global.f32 [%rd5], %f1;\n    ret;\n}\n";

/* TIMES: iterations of the loop per thread. INSTRUCTIONS: PTX instructions per iteration. */
enum { BLOCKS = 64, THREADS = 256, TIMES = 400, INSTRUCTIONS = 9 };

/* Returns millions of thread instructions per second, in the fastest of 5 rounds. `threads`: host
 * threads; 0: one per core. */
static double measure(struct fth_ptx_machine *machine, const void *arguments, size_t bytes,
                      unsigned threads)
{
    double best = 0;
    for (int round = 0; round < 5; round++) {
        struct fth_ptx_launch launch = {.kernel = "loop",
                                        .grid = {BLOCKS, 1, 1},
                                        .block = {THREADS, 1, 1},
                                        .arguments = arguments,
                                        .argument_bytes = bytes,
                                        .threads = threads};
        struct fth_ptx_totals totals;
        double start = now();
        if (fth_ptx_run(machine, &launch, &totals, NULL) != FTH_OK)
            return 0;
        double rate = 1e-6 * (double)totals.thread_instructions / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Does the same work in C, one GPU thread after the other. Returns the rate in the same unit, as if
 * each iteration had INSTRUCTIONS instructions. */
static double native(const float *in, float *out)
{
    double best = 0;
    for (int round = 0; round < 5; round++) {
        double start = now();
        for (int thread = 0; thread < BLOCKS * THREADS; thread++) {
            const volatile float *a = in + thread;
            float s = 0;
            for (int i = 0; i < TIMES; i++) {
                float x = a[0];
                s = fmaf(x, s, x);
                float y = a[1];
                s = fmaf(y, s, x);
                s = fmaf(x, s, y);
                s = fmaf(y, s, y);
            }
            out[thread] = s;
        }
        double rate = 1e-6 * BLOCKS * THREADS * TIMES * INSTRUCTIONS / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

int main(void)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    uint64_t in = 0, out = 0, bytes = sizeof(float) * ((size_t)BLOCKS * THREADS + 1);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_ptx_read_text("bench", loop, strlen(loop), &module, &error);
    if (status == FTH_OK)
        status = fth_ptx_machine_create(module, &machine, &error);
    if (status == FTH_OK)
        status = fth_ptx_alloc(machine, bytes, &in, &error);
    if (status == FTH_OK)
        status = fth_ptx_alloc(machine, bytes, &out, &error);
    if (status != FTH_OK) {
        fprintf(stderr, "%s\n", error.cause);
        return 1;
    }
    float *values = fth_ptx_host(machine, in, bytes), *results = fth_ptx_host(machine, out, bytes);
    for (int i = 0; i <= BLOCKS * THREADS; i++)
        values[i] = 1.0f / (float)(2 + i % 7);
    struct {
        uint64_t in, out;
        uint32_t n;
    } arguments = {in, out, TIMES};
    static float expected[BLOCKS * THREADS];
    double reference = native(values, expected);
    double one = measure(machine, &arguments, 20, 1), all = measure(machine, &arguments, 20, 0);
    bool same = true;
    for (int i = 0; i < BLOCKS * THREADS; i++)
        same = same && results[i] == expected[i];
    printf(
        "PTX engine: %.0f M thread instructions/s on one core, %.0f on all; the loop compiled for "
        "the host: %.0f, ratio %.2f; results %s\n",
        one, all, reference, one / reference, same ? "equal" : "DIFFER");
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return same ? 0 : 1;
}
