/* Pointer chases: one work-item executes the steps of a request one after the other. The arrays of
 * a request lie one after the other in the shared buffer, from multiples of ARRAY_BYTES on. Steps
 * that need several warps, other paths or a finer clock than the device has are unsupported.
 *
 * If the kernels cannot read a clock, the host times whole kernels: the time of a pass is the
 * difference between a kernel with many passes and one without, divided by the passes. The number
 * of passes is increased until the difference is long enough. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Distance of the starts of two arrays is a multiple of this: a large page of a CPU. */
static const uint64_t array_bytes = UINT64_C(2) << 20;
/* Upper bound for one hop in seconds, even if it misses in every TLB. Chosen, not derived. */
#define MAX_HOP_S 10e-6
/* The device times single hops if its clock resolves at least this many cycles. A CPU takes 4
 * cycles for a hit in its first cache. */
#define MAX_HOP_RESOLUTION_CYCLES 4.0
/* Without a clock: minimum difference of the times of two kernels, in nanoseconds, and maximum
 * number of passes. Chosen: a hundred times the scatter of a launch. */
#define MIN_DIFFERENCE_NS 2e6
enum { MAX_HOST_PASSES = 1 << 24 };
static const char operation[] = "run experiments";

/* Indices of words of a step (chase.cl), and the kind that builds a chain in local memory. */
enum { PASSES_WORD = 2, COUNT_WORD = 4, BUILD_LOCAL = 3 };

FTH_PRINTF(2, 3)
static enum fth_status refuse(struct fth_error *error, const char *cause, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, cause);
    vsnprintf(text, sizeof text, cause, arguments);
    va_end(arguments);
    return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "%s", text);
}

/* ---- what the device supports ---- */

static enum fth_status check_kind(const struct fth_opencl_device *device,
                                  const struct fth_step *step, struct fth_error *error)
{
    char resolution[32];
    switch (step->kind) {
    case FTH_STEP_WALK:
    case FTH_STEP_TIME_PASS: return FTH_OK;
    case FTH_STEP_TIME_HOPS:
        if (device->has_clock && device->clock.resolution_cycles <= MAX_HOP_RESOLUTION_CYCLES)
            return FTH_OK;
        fth_format(resolution, sizeof resolution, "%.1f", device->clock.resolution_cycles);
        return refuse(error,
                      "the clock of this device (%s) is too coarse to time single hops: a "
                      "tick has %s cycles",
                      device->clock.source, resolution);
    default:
        return refuse(error, "OpenCL devices execute only the steps walk, time-pass and time-hops");
    }
}

static enum fth_status check_path(const struct fth_opencl_device *device,
                                  const struct fth_step *step, struct fth_error *error)
{
    switch (step->path) {
    case FTH_PATH_CA:
    case FTH_PATH_TEXTURE: return FTH_OK;
    case FTH_PATH_CG:
        return device->has_past ? FTH_OK
                                : refuse(error, "OpenCL has no loads past the first cache here");
    case FTH_PATH_CONSTANT:
    case FTH_PATH_SHARED:
        if (device->is_cpu)
            return refuse(error, "a CPU has no %s memory",
                          step->path == FTH_PATH_SHARED ? "local" : "constant");
        return FTH_OK;
    default:
        return refuse(error, "the path %s is not available with OpenCL", fth_path_name(step->path));
    }
}

static enum fth_status check_request(const struct fth_opencl_device *device,
                                     const struct fth_request *request, struct fth_error *error)
{
    if (request->sm != FTH_ANY_SM && request->sm >= device->units)
        return fth_fail(error, FTH_NOT_FOUND, operation, NULL,
                        "the device has no compute unit with this index");
    if (request->sm != FTH_ANY_SM)
        return refuse(error, "OpenCL cannot choose the compute unit of a work-group");
    if (request->cold)
        return refuse(error, "OpenCL cannot empty the caches");
    for (size_t i = 0; i < request->chase.step_count; i++) {
        const struct fth_step *step = &request->chase.steps[i];
        if (step->warp != 0)
            return refuse(error, "OpenCL devices execute chases with one work-item, not with "
                                 "several warps");
        FTH_TRY(check_kind(device, step, error));
        FTH_TRY(check_path(device, step, error));
        if (step->chain.count > UINT32_MAX || step->passes > UINT32_MAX)
            return refuse(error, "OpenCL devices walk at most 2^32 - 1 elements and passes");
        if (step->reverse && step->path > FTH_PATH_CG)
            return refuse(error, "only chains in global memory can be walked in reverse");
    }
    return FTH_OK;
}

/* ---- planning ---- */

static bool is_global(const struct fth_step *step)
{
    return step->path == FTH_PATH_CA || step->path == FTH_PATH_CG;
}

/* Places the arrays of the steps in the shared buffer. */
static void place_arrays(const struct fth_chase *chase, struct fth_opencl_plan *plan)
{
    for (size_t i = 0; i < chase->step_count; i++) {
        const unsigned array = chase->steps[i].chain.array;
        if (!is_global(&chase->steps[i]))
            continue;
        size_t first = 0;
        while (chase->steps[first].chain.array != array)
            first++;
        if (first < i) {
            plan->offsets[i] = plan->offsets[first];
            continue;
        }
        uint64_t bytes = 0;
        for (size_t k = i; k < chase->step_count; k++)
            if (chase->steps[k].chain.array == array &&
                fth_opencl_chain_end(&chase->steps[k].chain) > bytes)
                bytes = fth_opencl_chain_end(&chase->steps[k].chain);
        plan->offsets[i] = plan->memory_bytes;
        /* More than FTH_MAX_STEPS such arrays do not overflow: a chain has at most 2^48 bytes. */
        plan->memory_bytes += (bytes + array_bytes - 1) / array_bytes * array_bytes;
    }
}

static void add_words(struct fth_opencl_plan *plan, uint64_t kind, const struct fth_step *step,
                      uint64_t first, uint64_t sample)
{
    const uint64_t words[FTH_OPENCL_STEP_WORDS] = {kind,
                                                   step->path,
                                                   step->passes,
                                                   first,
                                                   step->chain.count,
                                                   sample,
                                                   step->chain.stride_bytes,
                                                   fth_chain_step(&step->chain) %
                                                       step->chain.count};
    memcpy(plan->words + (size_t)plan->count++ * FTH_OPENCL_STEP_WORDS, words, sizeof words);
}

/* Offset of the element at which a pass begins, from the start of its array. */
static uint64_t first_of(const struct fth_step *step)
{
    const struct fth_chain *chain = &step->chain;
    return step->reverse
               ? chain->start_bytes + (chain->count - 1) * chain->stride_bytes + sizeof(uint64_t)
               : chain->start_bytes;
}

static uint64_t samples_of(const struct fth_step *step)
{
    return step->kind == FTH_STEP_WALK        ? 0
           : step->kind == FTH_STEP_TIME_PASS ? step->passes
                                              : step->passes * step->chain.count;
}

static void make_plan(const struct fth_chase *chase, struct fth_opencl_plan *plan)
{
    static const uint64_t kinds[] = {
        [FTH_STEP_WALK] = 0, [FTH_STEP_TIME_PASS] = 1, [FTH_STEP_TIME_HOPS] = 2};
    *plan = (struct fth_opencl_plan){0};
    place_arrays(chase, plan);
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        const uint64_t end = fth_opencl_chain_end(&step->chain);
        if (step->path == FTH_PATH_CONSTANT && end > plan->constant_bytes)
            plan->constant_bytes = end;
        if (step->path == FTH_PATH_SHARED) {
            plan->local_bytes = end > plan->local_bytes ? end : plan->local_bytes;
            add_words(plan, BUILD_LOCAL, step, step->chain.start_bytes, 0);
        }
    }
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        add_words(plan, kinds[step->kind], step, plan->offsets[i] + first_of(step),
                  plan->sample_count);
        plan->sample_count += samples_of(step);
        plan->hops += (double)step->passes * (double)step->chain.count;
    }
}

/* ---- running ---- */

/* Writes the chains in constant memory. */
static enum fth_status build_constants(struct fth_opencl_device *device,
                                       const struct fth_chase *chase, uint64_t bytes,
                                       struct fth_error *error)
{
    char *bank = calloc(1, (size_t)bytes);
    if (!bank)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_chain *chain = &chase->steps[i].chain;
        const uint64_t step = fth_chain_step(chain);
        if (chase->steps[i].path != FTH_PATH_CONSTANT)
            continue;
        for (uint64_t k = 0; k < chain->count; k++) {
            const uint64_t next = step == 1 ? k + 1 : (k + step) % chain->count;
            const uint32_t link = (uint32_t)(chain->start_bytes + next * chain->stride_bytes);
            memcpy(bank + chain->start_bytes + k * chain->stride_bytes, &link, sizeof link);
        }
    }
    enum fth_status status =
        fth_opencl_write(device, device->constants.memory, 0, bank, bytes, error);
    free(bank);
    return status;
}

enum fth_status fth_opencl_prepare(struct fth_opencl_device *device, const struct fth_chase *chase,
                                   struct fth_opencl_plan *plan, struct fth_error *error)
{
    make_plan(chase, plan);
    if (plan->local_bytes > device->max_local_bytes)
        return refuse(error, "the request needs more local memory than a work-group can have");
    if (plan->constant_bytes > device->max_constant_bytes)
        return refuse(error, "the request needs more constant memory than a kernel can have");
    FTH_TRY(fth_opencl_reserve(device, &device->memory, plan->memory_bytes ? plan->memory_bytes : 1,
                               error));
    FTH_TRY(fth_opencl_reserve(device, &device->constants, plan->constant_bytes + 1, error));
    FTH_TRY(fth_opencl_reserve(device, &device->steps, sizeof plan->words, error));
    FTH_TRY(fth_opencl_reserve(device, &device->samples,
                               (plan->sample_count + 1) * sizeof(uint64_t), error));
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        bool reverse = false;
        for (size_t k = 0; k < chase->step_count; k++)
            reverse = reverse ||
                      (chase->steps[k].reverse && chase->steps[k].chain.array == step->chain.array);
        if (is_global(step))
            FTH_TRY(fth_opencl_build(device, &step->chain, plan->offsets[i], reverse, error));
    }
    if (plan->constant_bytes)
        FTH_TRY(build_constants(device, chase, plan->constant_bytes, error));
    return fth_opencl_write(device, device->steps.memory, 0, plan->words, sizeof plan->words,
                            error);
}

static enum fth_status launch(struct fth_opencl_device *device, const struct fth_opencl_plan *plan,
                              double *ns, struct fth_error *error)
{
    const struct fth_opencl_argument arguments[] = {
        {sizeof(void *), &device->steps.memory},
        {sizeof plan->count, &plan->count},
        {sizeof(void *), &device->memory.memory},
        {sizeof(void *), &device->constants.memory},
        {(size_t)(plan->local_bytes ? plan->local_bytes : sizeof(uint32_t)), NULL},
        {sizeof(void *), &device->samples.memory},
        {sizeof(void *), &device->unit.memory}};
    return fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_CHASE], arguments,
                          FTH_COUNT(arguments), 1, 1, plan->hops * MAX_HOP_S, ns, error);
}

enum fth_status fth_opencl_collect(const struct fth_opencl_device *device, const uint64_t *ticks,
                                   struct fth_samples *samples, struct fth_error *error)
{
    for (size_t i = 0; i < samples->count; i++) {
        const double cycles = round((double)ticks[i] * device->clock.cycles_per_tick);
        if (cycles > UINT32_MAX)
            return refuse(error, "a pass took more than 2^32 cycles, which a sample cannot hold");
        samples->cycles[i] = (uint32_t)cycles;
    }
    return FTH_OK;
}

/* ---- without a clock ---- */

/* Runs the kernel with `passes` passes of the last step. *ns is its duration. */
static enum fth_status run_passes(struct fth_opencl_device *device,
                                  const struct fth_opencl_plan *plan, uint64_t passes, double *ns,
                                  struct fth_error *error)
{
    const uint64_t place = ((uint64_t)plan->count - 1) * FTH_OPENCL_STEP_WORDS + PASSES_WORD;
    struct fth_opencl_plan longer = *plan;
    longer.hops += (double)passes * (double)plan->words[place - PASSES_WORD + COUNT_WORD];
    FTH_TRY(fth_opencl_write(device, device->steps.memory, place * sizeof passes, &passes,
                             sizeof passes, error));
    const double start = fth_opencl_now_s();
    FTH_TRY(launch(device, &longer, ns, error));
    if (isnan(*ns))
        *ns = (fth_opencl_now_s() - start) * 1e9;
    return FTH_OK;
}

/* The nanoseconds of one pass, with `passes` passes per kernel. */
static enum fth_status time_passes(struct fth_opencl_device *device,
                                   const struct fth_opencl_plan *plan, uint64_t passes,
                                   double *difference, struct fth_error *error)
{
    double none = 0, all = 0;
    FTH_TRY(run_passes(device, plan, 0, &none, error));
    FTH_TRY(run_passes(device, plan, passes, &all, error));
    *difference = all - none;
    return FTH_OK;
}

/* Answers a request whose last step, and no other, is timed. The samples are in ticks, which are
 * nanoseconds here. */
static enum fth_status time_by_host(struct fth_opencl_device *device, const struct fth_chase *chase,
                                    const struct fth_opencl_plan *plan, uint64_t *ticks,
                                    struct fth_error *error)
{
    for (size_t i = 0; i < chase->step_count; i++)
        if ((chase->steps[i].kind == FTH_STEP_TIME_PASS) != (i == chase->step_count - 1))
            return refuse(error,
                          "the kernels of this device cannot read a clock; the host can time "
                          "only the last step of a request");
    const uint64_t place = ((uint64_t)plan->count - 1) * FTH_OPENCL_STEP_WORDS, walk = 0;
    uint64_t passes = 1;
    double difference = 0;
    FTH_TRY(fth_opencl_write(device, device->steps.memory, place * sizeof walk, &walk, sizeof walk,
                             error));
    FTH_TRY(time_passes(device, plan, passes, &difference, error));
    while (difference < MIN_DIFFERENCE_NS && passes < MAX_HOST_PASSES) {
        passes *= 2;
        FTH_TRY(time_passes(device, plan, passes, &difference, error));
    }
    for (uint64_t i = 0; i < plan->sample_count; i++) {
        FTH_TRY(time_passes(device, plan, passes, &difference, error));
        ticks[i] = difference > 0 ? (uint64_t)round(difference / (double)passes) : 0;
    }
    return FTH_OK;
}

/* Executes the kernel and reads its samples. */
static enum fth_status read_ticks(struct fth_opencl_device *device, const struct fth_chase *chase,
                                  const struct fth_opencl_plan *plan, uint64_t *ticks,
                                  struct fth_error *error)
{
    for (size_t i = 0; i < chase->step_count; i++)
        if (chase->steps[i].path == FTH_PATH_TEXTURE)
            return fth_opencl_chase_image(device, chase, ticks, error);
    if (!device->has_clock)
        return time_by_host(device, chase, plan, ticks, error);
    FTH_TRY(launch(device, plan, NULL, error));
    return fth_opencl_read(device, ticks, device->samples.memory, 0,
                           plan->sample_count * sizeof *ticks, error);
}

enum fth_status fth_opencl_chase(struct fth_opencl_device *device,
                                 const struct fth_request *request, struct fth_samples *samples,
                                 struct fth_error *error)
{
    struct fth_opencl_plan plan;
    FTH_TRY(check_request(device, request, error));
    FTH_TRY(fth_opencl_prepare(device, &request->chase, &plan, error));
    uint32_t unit = UINT32_MAX;
    /* One element more than needed, so that the size is never 0. */
    uint64_t *ticks = calloc((size_t)plan.sample_count + 1, sizeof *ticks);
    samples->cycles = calloc((size_t)plan.sample_count + 1, sizeof *samples->cycles);
    enum fth_status status =
        ticks && samples->cycles ? FTH_OK : fth_no_memory(error, operation, NULL);
    samples->count = (size_t)plan.sample_count;
    if (status == FTH_OK)
        status = read_ticks(device, &request->chase, &plan, ticks, error);
    if (status == FTH_OK)
        status = fth_opencl_read(device, &unit, device->unit.memory, 0, sizeof unit, error);
    if (status == FTH_OK)
        status = fth_opencl_collect(device, ticks, samples, error);
    samples->sm = unit == UINT32_MAX ? 0 : unit;
    free(ticks);
    return status;
}
