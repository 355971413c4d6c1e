/* STREAM's kernels over long arrays, and copies within the device. The driver times each of them.
 * Each kind of sweep is a program of its own (kernels/opencl/arrays.cl), which also has the kernels
 * that write the arrays and check the result. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdlib.h>

/* A rate that every kernel exceeds, for the time limit. Chosen, not derived. */
static const double min_bytes_per_s = 1e7;
static const char operation[] = "run experiments";
enum { LANES = 32, SUMS_BYTES = FTH_SWEEP_SUMS * 4 };
/* Work-groups per compute unit, and work-items per group, of the kernels that write and check
 * arrays on a GPU. Chosen: enough to use the memory's bandwidth. */
enum { GROUPS_PER_UNIT = 8, GROUP_ITEMS = 64 };
/* What the target holds before a sweep, as coefficients: no result has this value, and it is exact
 * in fp32. */
static const uint64_t other_coefficients[3] = {0, 0, 12345678};
static const uint64_t x_coefficients[3] = {1, 0, 0}, y_coefficients[3] = {0, 1, 0};

enum kernel { KERNEL_SWEEP, KERNEL_WRITE, KERNEL_CHECK, KERNEL_TOTAL, KERNELS };
static const char *const kernel_names[KERNELS] = {"fth_sweep", "fth_write", "fth_check",
                                                  "fth_total"};

struct fth_opencl_sweep_program {
    struct fth_sweep_code code;
    void *program;
    void *kernels[KERNELS];
};

/* ---- programs ---- */

static void release(const struct fth_opencl_device *device,
                    struct fth_opencl_sweep_program *program)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (program->kernels[i])
            device->cl.kernel_release(program->kernels[i]);
    if (program->program)
        device->cl.program_release(program->program);
}

void fth_opencl_release_sweeps(struct fth_opencl_device *device)
{
    for (size_t i = 0; i < device->sweep_count && !device->hung; i++)
        release(device, &device->sweeps[i]);
    free(device->sweeps);
    device->sweeps = NULL;
    device->sweep_count = device->sweep_capacity = 0;
}

static bool same_code(const struct fth_sweep_code *a, const struct fth_sweep_code *b)
{
    return a->kind == b->kind && a->wide == b->wide && a->vector_bytes == b->vector_bytes &&
           a->unroll == b->unroll && a->lanes == b->lanes && a->hinted == b->hinted;
}

static enum fth_status compile(struct fth_opencl_device *device,
                               struct fth_opencl_sweep_program *made, struct fth_error *error)
{
    struct fth_buffer text = {0};
    enum fth_status status = fth_kernels_opencl_sweep(device->vendor, &made->code, &text, error);
    if (status == FTH_OK)
        status = fth_opencl_compile(device, &text, &made->program, error);
    fth_buffer_fini(&text);
    for (size_t i = 0; i < KERNELS && status == FTH_OK; i++)
        status = fth_opencl_kernel_named(device, made->program, kernel_names[i], &made->kernels[i],
                                         error);
    return status;
}

/* Finds the program of a sweep; compiles it on first use. */
static enum fth_status find_program(struct fth_opencl_device *device,
                                    const struct fth_sweep_code *code,
                                    struct fth_opencl_sweep_program *found, struct fth_error *error)
{
    for (size_t i = 0; i < device->sweep_count; i++)
        if (same_code(&device->sweeps[i].code, code)) {
            *found = device->sweeps[i];
            return FTH_OK;
        }
    void *sweeps = device->sweeps;
    if (!fth_grow(&sweeps, device->sweep_count, &device->sweep_capacity, sizeof *device->sweeps))
        return fth_no_memory(error, operation, NULL);
    device->sweeps = sweeps;
    *found = (struct fth_opencl_sweep_program){.code = *code};
    enum fth_status status = compile(device, found, error);
    if (status == FTH_OK)
        device->sweeps[device->sweep_count++] = *found;
    else
        release(device, found);
    return status;
}

/* ---- arrays ---- */

static double work_s(uint64_t bytes)
{
    return 3 * (double)bytes / min_bytes_per_s;
}

/* A sweep that runs. */
struct sweep_run {
    struct fth_opencl_device *device;
    const struct fth_sweep *sweep;
    struct fth_opencl_sweep_program program;
};

/* Runs fth_write or fth_check over an array, or fth_total. */
static enum fth_status run_over(const struct sweep_run *run, enum kernel kernel,
                                const struct fth_opencl_buffer *array,
                                const uint64_t coefficients[3], struct fth_error *error)
{
    struct fth_opencl_device *device = run->device;
    const uint64_t count = run->sweep->bytes / (run->sweep->wide ? 8 : 4);
    struct fth_opencl_argument arguments[6];
    size_t used = 0;
    if (kernel != KERNEL_TOTAL)
        arguments[used++] = (struct fth_opencl_argument){sizeof(void *), &array->memory};
    arguments[used++] = (struct fth_opencl_argument){sizeof count, &count};
    for (size_t i = 0; i < 3; i++)
        arguments[used++] = (struct fth_opencl_argument){sizeof coefficients[i], &coefficients[i]};
    if (kernel != KERNEL_WRITE)
        arguments[used++] = (struct fth_opencl_argument){sizeof(void *), &device->unit.memory};
    const size_t groups = (size_t)device->units * (device->is_cpu ? 1 : GROUPS_PER_UNIT);
    return fth_opencl_run(device, run->program.kernels[kernel], arguments, used, groups,
                          device->is_cpu ? 1 : GROUP_ITEMS, work_s(run->sweep->bytes), NULL, error);
}

/* Allocates the arrays and writes them. The target gets other values than the result has, so that
 * the check finds elements that were not written. */
static enum fth_status prepare(const struct sweep_run *run, struct fth_error *error)
{
    struct fth_opencl_device *device = run->device;
    const unsigned arrays = fth_sweep_arrays(run->sweep->kind);
    for (size_t i = 0; i < FTH_COUNT(device->arrays); i++)
        FTH_TRY(fth_opencl_reserve(device, &device->arrays[i],
                                   i == 1 && arrays < 3 ? 1 : run->sweep->bytes, error));
    FTH_TRY(fth_opencl_reserve(device, &device->sums, SUMS_BYTES, error));
    FTH_TRY(run_over(run, KERNEL_WRITE, &device->arrays[0], x_coefficients, error));
    if (arrays == 3)
        FTH_TRY(run_over(run, KERNEL_WRITE, &device->arrays[1], y_coefficients, error));
    return run_over(run, KERNEL_WRITE, &device->arrays[2], other_coefficients, error);
}

/* Counts the wrong elements after a sweep. For a read, *wrong is 1 if the sum of all words is
 * wrong, otherwise 0. */
static enum fth_status count_wrong(const struct sweep_run *run, uint32_t *wrong,
                                   struct fth_error *error)
{
    struct fth_opencl_device *device = run->device;
    const bool reads = run->sweep->kind == FTH_SWEEP_READ;
    uint64_t coefficients[3];
    *wrong = 0;
    fth_sweep_coefficients(run->sweep->kind, coefficients);
    FTH_TRY(fth_opencl_write(device, device->unit.memory, 0, wrong, sizeof *wrong, error));
    FTH_TRY(run_over(run, reads ? KERNEL_TOTAL : KERNEL_CHECK, &device->arrays[2], coefficients,
                     error));
    FTH_TRY(fth_opencl_read(device, wrong, device->unit.memory, 0, sizeof *wrong, error));
    if (!reads)
        return FTH_OK;
    uint32_t *sums = calloc(1, SUMS_BYTES);
    if (!sums)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status =
        fth_opencl_read(device, sums, device->sums.memory, 0, SUMS_BYTES, error);
    for (size_t i = 0; i < FTH_SWEEP_SUMS; i++)
        *wrong += sums[i];
    *wrong = *wrong != 0;
    free(sums);
    return status;
}

/* ---- sweeps ---- */

static uint32_t sample_of(double ns)
{
    return ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
}

/* The nanoseconds that the driver reports, or else those that the host has measured since `start`.
 */
static double duration_of(double ns, double start)
{
    return isnan(ns) ? (fth_opencl_now_s() - start) * 1e9 : ns;
}

static enum fth_status time_launch(const struct sweep_run *run, double *ns, struct fth_error *error)
{
    struct fth_opencl_device *device = run->device;
    const struct fth_sweep *sweep = run->sweep;
    const uint64_t vectors = sweep->bytes / sweep->vector_bytes;
    const struct fth_opencl_argument arguments[] = {{sizeof(void *), &device->arrays[0].memory},
                                                    {sizeof(void *), &device->arrays[1].memory},
                                                    {sizeof(void *), &device->arrays[2].memory},
                                                    {sizeof vectors, &vectors},
                                                    {sizeof(void *), &device->sums.memory}};
    if (sweep->kind == FTH_SWEEP_READ) { /* so that in the end they are those of the last launch */
        static const uint32_t zeros[FTH_SWEEP_SUMS];
        FTH_TRY(fth_opencl_write(device, device->sums.memory, 0, zeros, sizeof zeros, error));
    }
    const double start = fth_opencl_now_s();
    FTH_TRY(fth_opencl_run(device, run->program.kernels[KERNEL_SWEEP], arguments,
                           FTH_COUNT(arguments), sweep->blocks, sweep->threads,
                           work_s(sweep->bytes), ns, error));
    *ns = duration_of(*ns, start);
    return FTH_OK;
}

static enum fth_status check_sweep(const struct fth_opencl_device *device,
                                   const struct fth_request *request, struct fth_error *error)
{
    if (request->cold)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "OpenCL cannot empty the caches");
    if (request->sweep.threads >
        fth_opencl_number(&device->cl, device->entry.device, FTH_CL_DEVICE_MAX_WORK_GROUP_SIZE))
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "a work-group of this device has fewer work-items");
    if (request->sweep.wide &&
        !fth_opencl_has_extension(&device->cl, device->entry.device, "cl_khr_fp64"))
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "the device has no fp64");
    return FTH_OK;
}

enum fth_status fth_opencl_sweep(struct fth_opencl_device *device,
                                 const struct fth_request *request, struct fth_samples *samples,
                                 struct fth_error *error)
{
    const struct fth_sweep *sweep = &request->sweep;
    const struct fth_sweep_code code = {.kind = sweep->kind,
                                        .wide = sweep->wide,
                                        .vector_bytes = sweep->vector_bytes,
                                        .unroll = sweep->unroll,
                                        .lanes = FTH_MIN(sweep->threads, (uint32_t)LANES),
                                        .hinted = sweep->hinted};
    struct sweep_run run = {.device = device, .sweep = sweep};
    double ns = NAN;
    FTH_TRY(check_sweep(device, request, error));
    FTH_TRY(find_program(device, &code, &run.program, error));
    FTH_TRY(prepare(&run, error));
    samples->count = (size_t)sweep->repeats + 1;
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    if (!samples->cycles)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(time_launch(&run, &ns, error));
    for (uint32_t i = 0; i < sweep->repeats; i++) {
        FTH_TRY(time_launch(&run, &ns, error));
        samples->cycles[i] = sample_of(ns);
    }
    return count_wrong(&run, &samples->cycles[sweep->repeats], error);
}

/* ---- copies ---- */

enum fth_status fth_opencl_transfer(struct fth_opencl_device *device,
                                    const struct fth_request *request, struct fth_samples *samples,
                                    struct fth_error *error)
{
    const struct fth_transfer *transfer = &request->transfer;
    /* The copy has the arrays and the check of the sweep that copies. */
    const struct fth_sweep sweep = {.kind = FTH_SWEEP_COPY, .bytes = transfer->bytes};
    const struct fth_sweep_code code = {
        .kind = sweep.kind, .vector_bytes = 16, .unroll = 4, .lanes = device->is_cpu ? 1 : LANES};
    struct sweep_run run = {.device = device, .sweep = &sweep};
    double ns = NAN;
    if (transfer->kind != FTH_TRANSFER_WITHIN)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "with OpenCL, only copies within the device are measured");
    if (transfer->bytes % sizeof(float) != 0)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "with OpenCL, only copies of whole words of 4 bytes are measured");
    FTH_TRY(find_program(device, &code, &run.program, error));
    FTH_TRY(prepare(&run, error));
    void *from = device->arrays[0].memory, *to = device->arrays[2].memory;
    samples->count = (size_t)transfer->repeats + 2;
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    if (!samples->cycles)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_opencl_copy(device, from, to, transfer->bytes, &ns, error));
    for (uint32_t i = 0; i < transfer->repeats; i++) {
        const double start = fth_opencl_now_s();
        FTH_TRY(fth_opencl_copy(device, from, to, transfer->bytes, &ns, error));
        samples->cycles[i] = sample_of(duration_of(ns, start));
    }
    return count_wrong(&run, &samples->cycles[transfer->repeats], error);
}
