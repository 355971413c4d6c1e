/* The families place and share: which unit executes each work-group, and which units share a cache
 * (kernels/opencl/units.cl). Both need kernels that can read the number of their unit. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "run experiments";

/* Clock rate in MHz that is assumed if it is unknown, for the time that a work-group stays. */
#define ASSUMED_MHZ 1000.0
/* Upper bound for the time of an addition, in multiples of a cycle, for the time limit. */
#define MAX_ADD_CYCLES 50.0
/* Upper bounds for a hop, and for one attempt of a work-group to see its turn, in seconds. */
#define MAX_HOP_S 10e-6
#define MAX_ATTEMPT_S 5e-6
/* Attempts of a work-group to see that the other unit has one, and that the other one has finished.
 * On a CPU, an attempt takes some 20 ns, and the system may execute another program on the second
 * core for some milliseconds. On a GPU, it takes about a microsecond. Chosen, not derived. */
enum { CPU_ATTEMPTS = 2000000, GPU_ATTEMPTS = 100000 };
/* Work-groups per unit of a GPU, so that each unit gets one. Those of a CPU run one per thread. */
enum { GROUPS_PER_UNIT = 2 };

static enum fth_status refuse(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_UNSUPPORTED, operation, NULL, "%s", cause);
}

static enum fth_status check_units(const struct fth_opencl_device *device, struct fth_error *error)
{
    return device->has_unit ? FTH_OK
                            : refuse(error, "the kernels of this device cannot read which unit "
                                            "executes them");
}

/* ---- place ---- */

/* What fth_place writes for each work-group. */
struct record {
    uint64_t unit, time, last_unit, unused;
};

/* Rounds of 1000 additions that take at least `ns`. */
static uint32_t rounds_of(const struct fth_opencl_device *device, uint32_t ns)
{
    const double mhz = device->clock.mhz > 0 ? device->clock.mhz : ASSUMED_MHZ;
    return (uint32_t)ceil(ns * mhz / 1e6);
}

/* Writes the samples of each work-group: its unit, and its start after the first one in
 * nanoseconds; UINT32_MAX: unknown. */
static void summarize(const struct fth_opencl_device *device, const struct record *records,
                      uint32_t blocks, uint32_t *samples)
{
    const double mhz = device->clock.mhz > 0 ? device->clock.mhz : ASSUMED_MHZ,
                 tick_ns =
                     device->time_ns ? device->time_ns : device->clock.cycles_per_tick * 1e3 / mhz;
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < blocks; i++)
        first = FTH_MIN(records[i].time, first);
    for (uint32_t i = 0; i < blocks; i++) {
        const double ns = round((double)(records[i].time - first) * tick_ns);
        samples[2 * (size_t)i] = (uint32_t)records[i].unit;
        samples[2 * (size_t)i + 1] =
            device->has_time && ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    }
}

static enum fth_status run_place(struct fth_opencl_device *device,
                                 const struct fth_place_request *place, struct record *records,
                                 struct fth_error *error)
{
    const uint64_t bytes = place->blocks * sizeof *records;
    const uint32_t rounds = rounds_of(device, place->hold_ns),
                   more = rounds_of(device, place->stagger_ns);
    FTH_TRY(fth_opencl_reserve(device, &device->samples, bytes, error));
    const struct fth_opencl_argument arguments[] = {
        {sizeof rounds, &rounds},
        {sizeof more, &more},
        {place->shared_bytes ? (size_t)place->shared_bytes : sizeof(uint32_t), NULL},
        {sizeof(void *), &device->samples.memory}};
    const double work_s =
        1e-9 * place->blocks * MAX_ADD_CYCLES * ((double)place->hold_ns + place->stagger_ns);
    FTH_TRY(fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_PLACE], arguments,
                           FTH_COUNT(arguments), place->blocks, place->threads, work_s, NULL,
                           error));
    return fth_opencl_read(device, records, device->samples.memory, 0, bytes, error);
}

enum fth_status fth_opencl_place(struct fth_opencl_device *device,
                                 const struct fth_request *request, struct fth_samples *samples,
                                 struct fth_error *error)
{
    const struct fth_place_request *place = &request->place;
    FTH_TRY(check_units(device, error));
    if (place->cluster)
        return refuse(error, "OpenCL has no clusters of work-groups");
    if (place->shared_bytes > device->max_local_bytes)
        return refuse(error, "the request needs more local memory than a work-group can have");
    struct record *records = calloc(place->blocks, sizeof *records);
    samples->count = 2 * (size_t)place->blocks;
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    enum fth_status status =
        records && samples->cycles ? FTH_OK : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK)
        status = run_place(device, place, records, error);
    if (status == FTH_OK)
        summarize(device, records, place->blocks, samples->cycles);
    free(records);
    return status;
}

/* ---- share ---- */

/* Words of the state of fth_share, and a turn that says that a work-group gave up. */
enum { STATE_TURN = 2, STATE_MOVED = 3, STATE_WORDS = 8 };
#define ABORTED UINT32_MAX

/* The two chains as steps of a chase, so that they are built in the same way. */
static struct fth_chase chase_of(const struct fth_share *share)
{
    struct fth_request request = fth_request_make(-1);
    const bool constant = share->path == FTH_PATH_CONSTANT;
    const struct fth_chain own = {.stride_bytes = share->stride_bytes,
                                  .count = share->own,
                                  .seed = share->seed},
                           other = {.array = constant ? 0 : 1,
                                    .start_bytes = constant ? share->own * share->stride_bytes : 0,
                                    .stride_bytes = share->stride_bytes,
                                    .count = share->other,
                                    .seed = share->seed};
    fth_request_add(&request, FTH_STEP_WALK, share->path, own, 1);
    fth_request_add(&request, FTH_STEP_WALK, share->path, other, 1);
    return request.chase;
}

/* The local memory of a work-group. On AMD's GPUs half of the maximum, so that a unit executes at
 * most two at a time and all units get some. The L1 of other GPUs may have the same storage as
 * local memory, which must not make it smaller. */
static size_t local_bytes_of(const struct fth_opencl_device *device)
{
    return device->vendor == FTH_OPENCL_AMD && device->max_local_bytes >= 2 * sizeof(uint32_t)
               ? (size_t)(device->max_local_bytes / 2)
               : sizeof(uint32_t);
}

/* Launches the kernel and reads what it left in its state. */
static enum fth_status run_share(struct fth_opencl_device *device, const struct fth_share *share,
                                 const struct fth_opencl_plan *plan, uint32_t *state,
                                 struct fth_error *error)
{
    const uint32_t attempts = device->is_cpu ? CPU_ATTEMPTS : GPU_ATTEMPTS;
    const uint64_t *own = plan->words, *other = plan->words + FTH_OPENCL_STEP_WORDS;
    const uint32_t words[] = {share->first,
                              share->second,
                              (uint32_t)share->path,
                              0,
                              (uint32_t)own[3],
                              (uint32_t)own[4],
                              (uint32_t)other[3],
                              (uint32_t)other[4],
                              share->rounds,
                              attempts,
                              attempts};
    const uint64_t state_offset = sizeof words;
    FTH_TRY(fth_opencl_reserve(device, &device->samples, share->rounds * sizeof(uint64_t), error));
    FTH_TRY(fth_opencl_reserve(device, &device->unit, 64, error));
    FTH_TRY(fth_opencl_reserve(device, &device->steps, state_offset, error));
    FTH_TRY(fth_opencl_write(device, device->steps.memory, 0, words, sizeof words, error));
    FTH_TRY(fth_opencl_write(device, device->unit.memory, 0, state, STATE_WORDS * sizeof *state,
                             error));
    const size_t local_bytes = local_bytes_of(device);
    const struct fth_opencl_argument arguments[] = {
        {sizeof(void *), &device->steps.memory},     {sizeof(void *), &device->memory.memory},
        {sizeof(void *), &device->constants.memory}, {local_bytes, NULL},
        {sizeof(void *), &device->unit.memory},      {sizeof(void *), &device->samples.memory}};
    const size_t groups = device->is_cpu ? device->units : GROUPS_PER_UNIT * (size_t)device->units;
    const double work_s =
        share->rounds * (2.0 * (double)share->own + (double)share->other) * MAX_HOP_S +
        2.0 * attempts * MAX_ATTEMPT_S;
    FTH_TRY(fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_SHARE], arguments,
                           FTH_COUNT(arguments), groups, 1, work_s, NULL, error));
    return fth_opencl_read(device, state, device->unit.memory, 0, STATE_WORDS * sizeof *state,
                           error);
}

/* Runs the experiment and reads its samples. FTH_UNAVAILABLE: a unit had no work-group, or a
 * work-group moved. */
static enum fth_status read_rounds(struct fth_opencl_device *device, const struct fth_share *share,
                                   uint64_t *ticks, struct fth_error *error)
{
    const struct fth_chase chase = chase_of(share);
    struct fth_opencl_plan plan;
    uint32_t state[STATE_WORDS] = {0};
    FTH_TRY(fth_opencl_prepare(device, &chase, &plan, error));
    FTH_TRY(run_share(device, share, &plan, state, error));
    if (state[STATE_TURN] == ABORTED || state[STATE_TURN] != 2 * share->rounds)
        return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                        "the driver did not execute work-groups on both units at the same time");
    if (state[STATE_MOVED])
        return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                        "the operating system moved a work-group to another core");
    return fth_opencl_read(device, ticks, device->samples.memory, 0, share->rounds * sizeof *ticks,
                           error);
}

enum fth_status fth_opencl_share(struct fth_opencl_device *device,
                                 const struct fth_request *request, struct fth_samples *samples,
                                 struct fth_error *error)
{
    const struct fth_share *share = &request->share;
    FTH_TRY(check_units(device, error));
    if (!device->has_clock)
        return refuse(error, "the kernels of this device cannot read a clock");
    if (share->path == FTH_PATH_CONSTANT && device->is_cpu)
        return refuse(error, "a CPU has no constant memory");
    uint64_t *ticks = calloc(share->rounds, sizeof *ticks);
    samples->count = share->rounds;
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    enum fth_status status =
        ticks && samples->cycles ? FTH_OK : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK)
        status = read_rounds(device, share, ticks, error);
    if (status == FTH_OK)
        status = fth_opencl_collect(device, ticks, samples, error);
    samples->sm = share->first;
    free(ticks);
    return status;
}
