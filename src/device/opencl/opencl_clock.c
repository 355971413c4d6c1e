/* The clock that the kernels read, in core cycles.
 *
 * A CPU's counter has a fixed rate that is not that of the core. The kernel `fth_pace` reads it
 * before and after a chain of additions that take one cycle each, which gives the core cycles per
 * tick. Interruptions only make a run longer, so the shortest run counts. GPUs count core cycles.
 *
 * The driver reports how long a run takes in nanoseconds. The difference between long and short
 * runs, which does not contain the launch, gives the rate of the clock.
 *
 * Without a clock, the host times whole kernels, and cycles are those of the clock rate that the
 * driver reports. */
#include "device/opencl/opencl.h"

#include <math.h>
#include <stdlib.h>

/* Pairs of a short and a long run, after WARM_UPS that are not used, because an idle CPU raises its
 * clock only after some time. LONG_ROUNDS * 1000 additions take 1.3 ms at 3 GHz. Chosen, not
 * derived. */
enum { RUNS = 24, WARM_UPS = 12, LONG_ROUNDS = 4000, SHORT_ROUNDS = 500 };

static const char *source_of(const struct fth_opencl_device *device)
{
    switch (device->vendor) {
    case FTH_OPENCL_AMD: return device->clock.bits == 64 ? "s_memtime" : "SHADER_CYCLES";
    case FTH_OPENCL_INTEL_GPU: return "intel_get_cycle_counter";
    case FTH_OPENCL_NVIDIA: return "%clock64";
    case FTH_OPENCL_X86: return "rdtsc";
    case FTH_OPENCL_ARM64: return "cntvct_el0";
    default: return "host";
    }
}

static enum fth_status read_facts(struct fth_opencl_device *device, struct fth_error *error)
{
    uint32_t facts[7] = {0};
    FTH_TRY(fth_opencl_reserve(device, &device->unit, 64, error));
    const struct fth_opencl_argument arguments[] = {
        {sizeof device->unit.memory, &device->unit.memory}};
    FTH_TRY(fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_FACTS], arguments, 1, 1, 1, 0,
                           NULL, error));
    FTH_TRY(fth_opencl_read(device, facts, device->unit.memory, 0, sizeof facts, error));
    device->has_clock = facts[0] != 0;
    device->clock.bits = facts[1];
    device->has_past = facts[2] != 0;
    device->has_unit = facts[3] != 0;
    device->adds_are_cycles = facts[4] != 0;
    device->has_time = facts[5] != 0;
    device->time_ns = facts[6];
    return FTH_OK;
}

/* One run: the first reading of the clock, the ticks, and the nanoseconds as the driver or else the
 * host reports them. */
struct run {
    uint64_t begin, ticks;
    double ns;
};

static enum fth_status run_pace(struct fth_opencl_device *device, uint32_t rounds, struct run *run,
                                struct fth_error *error)
{
    uint64_t out[3] = {0};
    const struct fth_opencl_argument arguments[] = {
        {sizeof rounds, &rounds}, {sizeof device->unit.memory, &device->unit.memory}};
    FTH_TRY(fth_opencl_write(device, device->unit.memory, 0, out, sizeof out, error));
    const double start = fth_opencl_now_s();
    FTH_TRY(fth_opencl_run(device, device->kernels[FTH_OPENCL_KERNEL_PACE], arguments,
                           FTH_COUNT(arguments), 1, 1, 0, &run->ns, error));
    if (isnan(run->ns))
        run->ns = (fth_opencl_now_s() - start) * 1e9;
    FTH_TRY(fth_opencl_read(device, out, device->unit.memory, 0, sizeof out, error));
    run->begin = out[0];
    run->ticks = out[1] - out[0];
    return FTH_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the runs show. */
struct findings {
    uint64_t min_ticks; /* duration of the fastest long run */
    /* All readings differ by multiples of the quantum. The runs begin at arbitrary times, so that a
     * clock that counts every tick shows a quantum of 1. */
    uint64_t first, quantum;
    double ticks_per_ns[RUNS];
    size_t count;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void add_pair(struct findings *findings, const struct run *less, const struct run *more)
{
    if (more->ticks < findings->min_ticks)
        findings->min_ticks = more->ticks;
    findings->first = findings->first ? findings->first : less->begin;
    findings->quantum = fth_gcd(fth_gcd(findings->quantum, distance(less->begin, findings->first)),
                                distance(more->begin, findings->first));
    findings->quantum = fth_gcd(fth_gcd(findings->quantum, less->ticks), more->ticks);
    if (more->ns > less->ns && more->ticks > less->ticks)
        findings->ticks_per_ns[findings->count++] =
            (double)(more->ticks - less->ticks) / (more->ns - less->ns);
}

enum fth_status fth_opencl_calibrate(struct fth_opencl_device *device, struct fth_error *error)
{
    struct fth_opencl_clock *clock = &device->clock;
    struct findings findings = {.min_ticks = UINT64_MAX};
    FTH_TRY(read_facts(device, error));
    clock->source = device->has_clock ? source_of(device) : "host";
    if (!device->has_clock) {
        clock->mhz = (double)fth_opencl_number(&device->cl, device->entry.device,
                                               FTH_CL_DEVICE_MAX_CLOCK_FREQUENCY);
        clock->cycles_per_tick = clock->mhz > 0 ? clock->mhz / 1e3 : 1; /* a tick is 1 ns */
        clock->mhz = clock->mhz > 0 ? clock->mhz : NAN;
        clock->resolution_cycles = clock->cycles_per_tick;
        return FTH_OK;
    }
    for (int i = -WARM_UPS; i < RUNS; i++) {
        struct run less, more;
        FTH_TRY(run_pace(device, SHORT_ROUNDS, &less, error));
        FTH_TRY(run_pace(device, LONG_ROUNDS, &more, error));
        if (i >= 0)
            add_pair(&findings, &less, &more);
    }
    if (findings.min_ticks == 0 || findings.count == 0)
        return fth_fail(error, FTH_UNSUPPORTED, "calibrate clock", device->id,
                        "the clock of the kernels (%s) does not advance", clock->source);
    qsort(findings.ticks_per_ns, findings.count, sizeof findings.ticks_per_ns[0], compare_numbers);
    clock->cycles_per_tick =
        device->adds_are_cycles ? LONG_ROUNDS * 1e3 / (double)findings.min_ticks : 1;
    clock->mhz = clock->cycles_per_tick * findings.ticks_per_ns[findings.count / 2] * 1e3;
    clock->resolution_cycles = clock->cycles_per_tick * (double)findings.quantum;
    clock->samples = RUNS;
    return FTH_OK;
}
