/* Measures the speed of the simulated H200, compared with the PTX engine without timing: a pointer
 * chase by one lane, of which most experiments consist, and a launch on all SMs with a single load.
 */
#include "clock.h"
#include "device/sim/sim.h"

#include <stdio.h>
#include <string.h>

static const char chase[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry chase(.param .u64 start, .param .u64 hops, .param .u64 out)\n{\n"
    "    .reg .pred %p<3>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<6>;\n"
    "    mov.u32 %r1, %smid;\n    setp.ne.u32 %p1, %r1, 0;\n    @%p1 exit;\n"
    "    ld.param.u64 %rd1, [start];\n    ld.param.u64 %rd2, [hops];\n"
    "    ld.param.u64 %rd3, [out];\n    mov.u32 %r2, %tid.x;\n"
    "    setp.ne.u32 %p1, %r2, 0;\n    @%p1 exit;\n"
    "again:\n    ld.global.u64 %rd1, [%rd1];\n    sub.u64 %rd2, %rd2, 1;\n"
    "    setp.ne.u64 %p2, %rd2, 0;\n    @%p2 bra again;\n"
    "    st.global.u64 [%rd3], %rd1;\n    ret;\n}\n";

/* HOPS: loads per launch. LINE: stride of the chain in bytes. */
enum { HOPS = 2000000, LINE = 128 };

struct arguments {
    uint64_t start, hops, out;
};

/* Returns millions of hops per second, in the fastest of 3 launches of the simulated GPU; 0 on
 * failure. */
static double simulated(const struct fth_machine_ops *ops, void *machine,
                        struct fth_machine_module *module, struct arguments arguments)
{
    double best = 0;
    for (int round = 0; round < 3; round++) {
        const struct fth_machine_launch launch = {.module = module,
                                                  .kernel = "chase",
                                                  .blocks = 132,
                                                  .threads = 32,
                                                  .carveout_percent = -1,
                                                  .arguments = &arguments,
                                                  .argument_bytes = sizeof arguments};
        double start = now();
        if (ops->launch(machine, &launch, NULL) != FTH_OK)
            return 0;
        double rate = 1e-6 * (double)arguments.hops / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* The same for a chain over `bytes` bytes in the PTX engine without timing. */
static double untimed(uint64_t bytes, uint64_t hops)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct arguments arguments = {.hops = hops};
    double best = 0;
    if (fth_ptx_read_text("bench", chase, strlen(chase), &module, NULL) == FTH_OK &&
        fth_ptx_machine_create(module, &machine, NULL) == FTH_OK &&
        fth_ptx_alloc(machine, bytes, &arguments.start, NULL) == FTH_OK &&
        fth_ptx_alloc(machine, 8, &arguments.out, NULL) == FTH_OK) {
        for (uint64_t at = 0; at < bytes; at += LINE)
            *(uint64_t *)fth_ptx_host(machine, arguments.start + at, 8) =
                arguments.start + (at + LINE) % bytes;
        const struct fth_ptx_launch launch = {.kernel = "chase",
                                              .grid = {132, 1, 1},
                                              .block = {32, 1, 1},
                                              .arguments = &arguments,
                                              .argument_bytes = sizeof arguments,
                                              .threads = 1,
                                              .sms = 132};
        for (int round = 0; round < 3; round++) {
            double start = now();
            if (fth_ptx_run(machine, &launch, NULL, NULL) != FTH_OK)
                break;
            double rate = 1e-6 * (double)hops / (now() - start);
            best = rate > best ? rate : best;
        }
    }
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return best;
}

/* Builds a chain over `bytes` bytes on the simulated GPU, measures it and prints a row. */
static enum fth_status measure(const struct fth_machine_ops *ops, void *machine,
                               struct fth_machine_module *module, struct arguments arguments,
                               const char *where, uint64_t bytes, struct fth_error *error)
{
    for (uint64_t at = 0; at < bytes; at += LINE) {
        uint64_t next = arguments.start + (at + LINE) % bytes;
        FTH_TRY(ops->upload(machine, arguments.start + at, &next, sizeof next, error));
    }
    arguments.hops = HOPS;
    const double rate = simulated(ops, machine, module, arguments),
                 reference = untimed(bytes, HOPS);
    printf(
        "simulated H200, loads from %-6s %6.1f M/s, the engine without timing %6.1f, ratio %.2f\n",
        where, rate, reference, rate / reference);
    return rate > 0 && reference > 0
               ? FTH_OK
               : fth_fail(error, FTH_INCONCLUSIVE, "measure", where, "a launch failed");
}

/* Measures a launch on all SMs with a single load, and prints a row. */
static enum fth_status measure_launch(const struct fth_machine_ops *ops, void *machine,
                                      struct fth_machine_module *module, struct arguments arguments)
{
    arguments.hops = 1;
    const double ms = 1e-3 / simulated(ops, machine, module, arguments);
    const double reference_ms = 1e-3 / untimed(LINE, 1);
    printf("simulated H200, launch on 132 SMs %.3f ms, the engine without timing %.3f ms, ratio "
           "%.2f\n",
           ms, reference_ms, ms / reference_ms);
    return FTH_OK;
}

static enum fth_status measure_all(const struct fth_machine_ops *ops, void *machine,
                                   struct fth_error *error)
{
    const uint64_t max_bytes = (uint64_t)128 << 20;
    struct fth_machine_module *module;
    struct arguments arguments = {0, 0, 0};
    FTH_TRY(ops->load(machine, "bench", chase, strlen(chase), &module, error));
    FTH_TRY(ops->alloc(machine, max_bytes, &arguments.start, error));
    FTH_TRY(ops->alloc(machine, 8, &arguments.out, error));
    FTH_TRY(measure(ops, machine, module, arguments, "L1", 128 << 10, error));
    FTH_TRY(measure(ops, machine, module, arguments, "L2", 8 << 20, error));
    FTH_TRY(measure(ops, machine, module, arguments, "memory", max_bytes, error));
    return measure_launch(ops, machine, module, arguments);
}

int main(void)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    const struct fth_machine_ops *ops = NULL;
    void *machine = NULL;
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_catalogue_open(&catalogue, &error);
    if (status == FTH_OK)
        status = fth_catalogue_read(catalogue, "h200", NULL, &gpu, &error);
    if (status == FTH_OK)
        status = fth_sim_machine_create(gpu, &ops, &machine, &error);
    if (status == FTH_OK)
        status = measure_all(ops, machine, &error);
    if (status != FTH_OK)
        fprintf(stderr, "%s\n", error.cause);
    if (machine)
        ops->close(machine);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return status == FTH_OK ? 0 : 1;
}
