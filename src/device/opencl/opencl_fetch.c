/* The family fetch: code of a given length (kernels/opencl/fetch.cl). One program has code of the
 * maximum length, of which a request executes the end. The programs are compiled on first use. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdlib.h>

enum {
    CODE_BYTES = 4, /* of an instruction of straight-line code: s_nop, nop, nopl 0(%rax) */
    /* On a CPU, the clock counts ticks of several cycles, and reading it takes as long as many
     * instructions. The code is therefore executed several times per pass, until a pass has this
     * many instructions or branches. Chosen: about 10 us. */
    CPU_INSTRUCTIONS = 1 << 17,
    CPU_BRANCHES = 1 << 14,
    /* Cycles of an instruction at most, for clocks that overflow. Chosen: 512 cycles per line of 64
     * bytes, more than a miss of the instruction cache takes. */
    MAX_CYCLES = 32,
    MAX_KERNEL_INSTRUCTIONS = 1 << 30 /* of all passes of a request. Chosen: at least a second. */
};
/* Upper bound for one instruction in seconds. Chosen, not derived. */
static const double max_instruction_s = 1e-6;
static const char operation[] = "run experiments";

uint32_t fth_opencl_code_bytes(const struct fth_opencl_device *device)
{
    return device->has_clock && fth_kernels_opencl_has_code(device->vendor, 0) ? CODE_BYTES : 0;
}

static enum fth_status refuse(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "%s", cause);
}

/* ---- programs ---- */

static void release(const struct fth_opencl_device *device, struct fth_opencl_code *code)
{
    if (code->kernel)
        device->cl.kernel_release(code->kernel);
    if (code->program)
        device->cl.program_release(code->program);
    *code = (struct fth_opencl_code){0};
}

void fth_opencl_release_codes(struct fth_opencl_device *device)
{
    for (size_t i = 0; i < FTH_OPENCL_MAX_CODES; i++)
        release(device, &device->codes[i]);
}

/* Finds the kernel for code with a stride; compiles it on first use. */
static enum fth_status find_kernel(struct fth_opencl_device *device, uint64_t stride_bytes,
                                   void **kernel, struct fth_error *error)
{
    struct fth_buffer text = {0};
    for (size_t i = 0; i < FTH_OPENCL_MAX_CODES; i++)
        if (device->codes[i].kernel && device->codes[i].stride_bytes == stride_bytes) {
            *kernel = device->codes[i].kernel;
            return FTH_OK;
        }
    struct fth_opencl_code *code = &device->codes[device->code_count % FTH_OPENCL_MAX_CODES];
    release(device, code);
    code->stride_bytes = stride_bytes;
    enum fth_status status = fth_kernels_opencl_fetch(
        device->vendor, stride_bytes,
        stride_bytes ? FTH_MAX_STRIDED_FETCH / stride_bytes : FTH_MAX_SHORT_FETCH, &text, error);
    if (status == FTH_OK)
        status = fth_opencl_compile(device, &text, &code->program, error);
    fth_buffer_fini(&text);
    if (status == FTH_OK)
        status = fth_opencl_kernel_named(device, code->program, "fth_fetch", &code->kernel, error);
    if (status == FTH_OK)
        device->code_count++;
    else
        release(device, code);
    *kernel = code->kernel;
    return status;
}

/* ---- requests ---- */

/* A request as the kernel executes it. */
struct plan {
    uint32_t bytes, repeats, passes;
    double work_s;
};

static enum fth_status check_request(const struct fth_opencl_device *device,
                                     const struct fth_request *request, struct fth_error *error)
{
    const struct fth_fetch *fetch = &request->fetch;
    if (!fth_kernels_opencl_has_code(device->vendor, fetch->stride_bytes))
        return refuse(error,
                      fetch->stride_bytes
                          ? "only CPUs execute code that consists of branches"
                          : "there is no straight-line code of known length for this device");
    if (!device->has_clock)
        return refuse(error, "the kernels of this device cannot read a clock");
    if (device->clock.bits < 64 &&
        fetch->instructions > (UINT64_C(1) << device->clock.bits) / MAX_CYCLES)
        return refuse(error, "the clock of this device may overflow while it executes this code");
    if (request->sm != FTH_ANY_SM)
        return refuse(error, "OpenCL cannot choose where a work-group runs");
    if (request->carveout_percent >= 0)
        return refuse(error, "OpenCL cannot divide the L1 and shared memory");
    if (fetch->constants.count)
        return refuse(error, "OpenCL devices execute code without constants");
    return FTH_OK;
}

static enum fth_status plan_request(const struct fth_opencl_device *device,
                                    const struct fth_fetch *fetch, struct plan *plan,
                                    struct fth_error *error)
{
    const uint64_t wanted = fetch->stride_bytes ? CPU_BRANCHES : CPU_INSTRUCTIONS,
                   repeats = device->is_cpu && fetch->instructions < wanted
                                 ? wanted / fetch->instructions
                                 : 1;
    if (fetch->passes > MAX_KERNEL_INSTRUCTIONS / (fetch->instructions * repeats))
        return refuse(error, "the passes of this code would take too long");
    *plan = (struct plan){
        .bytes = (uint32_t)(fetch->instructions *
                            (fetch->stride_bytes ? fetch->stride_bytes : CODE_BYTES)),
        .repeats = (uint32_t)repeats,
        .passes = (uint32_t)fetch->passes,
        .work_s = (double)(fetch->passes * repeats * fetch->instructions) * max_instruction_s};
    return FTH_OK;
}

/* Executes the kernel and reads the ticks of its passes, and the unit. */
static enum fth_status run_code(struct fth_opencl_device *device, const struct fth_fetch *fetch,
                                const struct plan *plan, uint64_t *ticks, uint32_t *unit,
                                struct fth_error *error)
{
    void *kernel = NULL;
    FTH_TRY(find_kernel(device, fetch->stride_bytes, &kernel, error));
    FTH_TRY(fth_opencl_reserve(device, &device->samples, plan->passes * sizeof *ticks, error));
    const struct fth_opencl_argument arguments[] = {{sizeof plan->bytes, &plan->bytes},
                                                    {sizeof plan->repeats, &plan->repeats},
                                                    {sizeof plan->passes, &plan->passes},
                                                    {sizeof(void *), &device->samples.memory},
                                                    {sizeof(void *), &device->unit.memory}};
    FTH_TRY(fth_opencl_run(device, kernel, arguments, FTH_COUNT(arguments), 1, 1, plan->work_s,
                           NULL, error));
    FTH_TRY(fth_opencl_read(device, ticks, device->samples.memory, 0, plan->passes * sizeof *ticks,
                            error));
    return fth_opencl_read(device, unit, device->unit.memory, 0, sizeof *unit, error);
}

enum fth_status fth_opencl_fetch(struct fth_opencl_device *device,
                                 const struct fth_request *request, struct fth_samples *samples,
                                 struct fth_error *error)
{
    const struct fth_fetch *fetch = &request->fetch;
    struct plan plan = {0};
    uint32_t unit = UINT32_MAX;
    FTH_TRY(check_request(device, request, error));
    FTH_TRY(plan_request(device, fetch, &plan, error));
    uint64_t *ticks = calloc((size_t)fetch->passes, sizeof *ticks);
    samples->cycles = calloc((size_t)fetch->passes, sizeof *samples->cycles);
    samples->count = (size_t)fetch->passes;
    enum fth_status status =
        ticks && samples->cycles ? FTH_OK : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK)
        status = run_code(device, fetch, &plan, ticks, &unit, error);
    for (size_t i = 0; status == FTH_OK && i < samples->count; i++) {
        const double cycles =
            round((double)ticks[i] * device->clock.cycles_per_tick / plan.repeats);
        if (cycles > UINT32_MAX)
            status = refuse(error, "a pass took more than 2^32 cycles, which a sample cannot hold");
        else
            samples->cycles[i] = (uint32_t)cycles;
    }
    samples->sm = unit == UINT32_MAX ? 0 : unit;
    free(ticks);
    return status;
}
