/* The rate of the SM clock, measured against the GPU's nanosecond timer during the warm-up and
 * after a batch, unless the batches since the last measurement were short (MIN_CYCLES); if the
 * clock never changes (simulated GPUs), only once at the start. The rate at the start of a batch is
 * that of the last measurement before it. docs/measuring.md describes the method. */
#include "device/runner.h"

#include <math.h>

enum {
    CLOCK_CYCLES = 50000, /* duration of a clock measurement: 25 us at 2 GHz. Both ends are aligned
                             to ticks of the timer, so this is long enough although the timer of
                             some GPUs ticks only every 1 us */
    DELAY_CYCLES = 40000, /* duration of the delay kernel, during which the host queues the timed
                             work: 20 us at 2 GHz; a driver call takes 2 to 5 us, and there are at
                             most a few */
    WARM_UP_CYCLES = 200000, /* duration of one warm-up round: 100 us at 2 GHz */
    WARM_UP_ROUNDS = 1000    /* maximum number of rounds: 0.1 s in total */
};
/* Two measurements of the clock that differ by more than clock_tolerance (relative) mean that it
 * changed during a batch. Two that differ by at most warm_up_tolerance mean that it has settled
 * during the warm-up. Chosen, not derived: they separate noise from a change of the clock. */
static const double clock_tolerance = 0.01, warm_up_tolerance = 0.002;

/* The clock is measured after a batch if the samples since the last measurement add up to
 * MIN_CYCLES, which is 1 ms at 2 GHz, or after MAX_BATCHES batches. Chosen, not derived: a
 * measurement takes 45 us on an H200, so that short batches would otherwise take up to twice as
 * long; and every change of the clock is still noticed. */
enum { MIN_CYCLES = 2000000, MAX_BATCHES = 16 };

/* Queues the kernel `pace`, which waits for `cycles` cycles, and reads the SM clock and the
 * nanosecond timer before and after. */
static enum fth_status launch_pace(struct fth_runner *runner, uint64_t cycles,
                                   struct fth_error *error)
{
    const uint64_t arguments[] = {runner->scratch, cycles};
    return fth_runner_launch(runner,
                             (struct fth_machine_launch){.kernel = "pace",
                                                         .blocks = 1,
                                                         .threads = 1,
                                                         .arguments = arguments,
                                                         .argument_bytes = sizeof arguments},
                             error);
}

/* Measures the SM clock in MHz; NAN: the timer did not advance. */
static enum fth_status measure_clock(struct fth_runner *runner, uint64_t cycles, double *mhz,
                                     struct fth_error *error)
{
    uint64_t stamps[4] = {0};
    FTH_TRY(launch_pace(runner, cycles, error));
    FTH_TRY(runner->ops->wait(runner->machine, FTH_MIN_TIME_LIMIT_S, error));
    FTH_TRY(runner->ops->download(runner->machine, stamps, runner->scratch, sizeof stamps, error));
    *mhz = stamps[3] > stamps[1]
               ? (double)(stamps[2] - stamps[0]) * 1e3 / (double)(stamps[3] - stamps[1])
               : NAN;
    runner->unclocked_cycles = runner->unclocked_batches = 0;
    return FTH_OK;
}

/* An idle GPU lowers its clock, and takes some time under load to raise it again. The clock has
 * settled when two measurements agree. */
enum fth_status fth_runner_warm_up(struct fth_runner *runner, struct fth_error *error)
{
    double last = NAN, mhz = NAN;
    for (int i = 0; i < WARM_UP_ROUNDS; i++) {
        FTH_TRY(measure_clock(runner, WARM_UP_CYCLES, &mhz, error));
        if (runner->facts.steady_clock || fabs(mhz - last) <= warm_up_tolerance * mhz)
            break;
        if (i == WARM_UP_ROUNDS - 1)
            fth_log_message(runner->log, FTH_LOG_WARNING,
                            "the GPU's clock has not settled: %.0f, then %.0f MHz", last, mhz);
        last = mhz;
    }
    runner->clock_mhz = mhz;
    return FTH_OK;
}

enum fth_status fth_runner_check_clock(struct fth_runner *runner, uint64_t cycles, double *mean_mhz,
                                       struct fth_error *error)
{
    const double before = runner->clock_mhz;
    runner->unclocked_cycles += cycles;
    runner->unclocked_batches++;
    if (!runner->facts.steady_clock &&
        (runner->unclocked_cycles >= MIN_CYCLES || runner->unclocked_batches >= MAX_BATCHES))
        FTH_TRY(measure_clock(runner, CLOCK_CYCLES, &runner->clock_mhz, error));
    if (fabs(runner->clock_mhz - before) > clock_tolerance * before)
        fth_log_message(runner->log, FTH_LOG_WARNING,
                        "the GPU's clock changed from %.0f to %.0f MHz during the measurement",
                        before, runner->clock_mhz);
    *mean_mhz = (before + runner->clock_mhz) / 2;
    return FTH_OK;
}

/* A simulated GPU needs no delay, because the calls of the host take no time there. */
enum fth_status fth_runner_queue_delay(struct fth_runner *runner, struct fth_error *error)
{
    return runner->facts.host_access_is_free ? FTH_OK : launch_pace(runner, DELAY_CYCLES, error);
}
